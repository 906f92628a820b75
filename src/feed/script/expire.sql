-- Remove users whose last exposure has left the window, in batches that commit.  Call it in
-- autocommit mode, once a day or less often: it saves disk and changes no answer.  If they are
-- more than 1,000 and more than a fifth of all, a clock may be wrong, and it removes nobody,
-- unless allow_removed => true.  It waits for "pause" after each batch.  Calls for a user who is
-- being removed wait until the batch commits.  Who calls it needs EXECUTE on expire_batch(), too.
CREATE OR REPLACE PROCEDURE {feed}.expire(pause interval DEFAULT '0',
	allow_removed boolean DEFAULT false, INOUT removed bigint DEFAULT 0)
LANGUAGE plpgsql AS {$}	-- no SET and no SECURITY DEFINER: with them it could not commit
DECLARE
	after {user_type};	-- all users up to this one are done
BEGIN
	PERFORM bloomexp.require_autocommit('expire()');
	removed := 0;
	LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;	-- whatever the session's default is
		SELECT b.after, b.removed INTO after, removed
		FROM {feed}.expire_batch(after, allow_removed, removed) AS b;
		COMMIT;
		EXIT WHEN after IS NULL;
		PERFORM pg_catalog.pg_sleep_for(pause);
	END LOOP;
END
{$};
