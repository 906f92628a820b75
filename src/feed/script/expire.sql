-- Remove users whose last exposure has left the window.  This saves disk space, and changes no
-- answer.  Each batch commits, so call it in autocommit mode, once a day or less often.  It sleeps
-- for "pause" after each batch.  Calls for a user who is being removed wait until the batch
-- commits.  If more than 1,000 users, and more than a fifth of all, have expired, the clock may be
-- wrong: then it raises an error and removes nobody, unless allow_removed => true.  The caller also
-- needs EXECUTE on expire_batch().
CREATE OR REPLACE PROCEDURE {feed}.expire(pause interval DEFAULT '0',
	allow_removed boolean DEFAULT false, INOUT removed bigint DEFAULT 0)
LANGUAGE plpgsql AS {$}	-- no SET and no SECURITY DEFINER: with them it could not commit
BEGIN
	-- Keep the extension from being dropped before the procedure runs, and check that it exists.
	LOCK TABLE bloomexp.new_rows IN ACCESS SHARE MODE;
	IF NOT EXISTS (
		SELECT FROM pg_catalog.pg_depend AS d
		JOIN pg_catalog.pg_extension AS x ON x.oid OPERATOR(pg_catalog.=) d.refobjid
		WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
			AND d.objid OPERATOR(pg_catalog.=) 'bloomexp.new_rows'::pg_catalog.regclass
			AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
			AND d.deptype OPERATOR(pg_catalog.=) 'e'
			AND x.extname OPERATOR(pg_catalog.=) 'bloomexp') THEN
		RAISE EXCEPTION 'extension "bloomexp" was dropped'
			USING ERRCODE = 'object_not_in_prerequisite_state';
	END IF;
	CALL bloomexp.expire_filters({expire_batch_literal}, NULL::{user_type}, pause, allow_removed,
		removed);
END
{$};
