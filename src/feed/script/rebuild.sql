-- Build filters again from the exposures: the filters of all users, of "users", or of the users
-- with "after" < id <= "upto".  Each batch commits, so call it in autocommit mode, once a day or
-- more often.  Several sessions can share the users by ranges.  It sleeps for "pause" after each
-- batch.  After one second, and then every ten seconds, a notice says up to which user it is done.
-- To continue an interrupted rebuild, pass that user as "after".
--
-- It returns the number of exposures that it has read, the number of filters that it has built,
-- their bytes, and the number of filters that it has removed because their users have no exposure
-- left.  dry_run => true returns the same numbers, and changes nothing.
--
-- It stops with an error if the window has no exposure.  It also stops before it removes too many
-- filters, or before too many lose more than half of the items that the exposures should still
-- have.  "Too many" means more than 100, and more than a fifth of the filters examined so far.
-- allow_removed => true turns these checks off.
{#untracked}
--
-- It sets filled_until to the start of the oldest open transaction, less "overlap".
{/untracked}
--
-- The caller also needs EXECUTE on rebuild_batch().
CREATE OR REPLACE PROCEDURE {feed}.rebuild(
	users {user_type}[] DEFAULT NULL, after {user_type} DEFAULT NULL, upto {user_type} DEFAULT NULL,
	pause interval DEFAULT '0',{#untracked} overlap interval DEFAULT '10 minutes',{/untracked}
	dry_run boolean DEFAULT false, allow_removed boolean DEFAULT false,
	INOUT exposures bigint DEFAULT 0, INOUT filters bigint DEFAULT 0,
	INOUT bytes bigint DEFAULT 0, INOUT removed bigint DEFAULT 0)
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
	CALL bloomexp.rebuild_filters({rebuild_batch_literal}, {filters_literal},
{#tracked}
		users, after, upto, pause, true, NULL, dry_run, allow_removed,
{/tracked}
{#untracked}
		users, after, upto, pause, false, overlap, dry_run, allow_removed,
{/untracked}
		exposures, filters, bytes, removed);
END
{$};
