-- Build filters again from the exposures of the window, in batches that commit: of all users, of
-- those with "after" < id <= "upto", or of "users".  Call it in autocommit mode, once
-- a day or more often; several sessions can share the users by ranges.  It waits for "pause"
-- after each batch, and reports after a second, and then every ten, up to which user all are
-- done: after a stop, continue with after => that one.  The result: exposures read, filters
-- built, their bytes, and filters removed because their users have no exposure left.  It stops
-- before these are more than 100 and more than a fifth of the filters that it has looked at, and
-- before so many lose more than half of what should still be in the exposures, unless
-- allow_removed => true.  dry_run => true counts the same and changes nothing.  Filters count as
-- filled up to "overlap" before the oldest open transaction.  Who calls it needs EXECUTE on
-- rebuild_step(), too.
CREATE OR REPLACE PROCEDURE {feed}.rebuild(
	users {user_type}[] DEFAULT NULL, after {user_type} DEFAULT NULL, upto {user_type} DEFAULT NULL,
	pause interval DEFAULT '0', overlap interval DEFAULT '10 minutes',
	dry_run boolean DEFAULT false, allow_removed boolean DEFAULT false,
	INOUT exposures bigint DEFAULT 0, INOUT filters bigint DEFAULT 0,
	INOUT bytes bigint DEFAULT 0, INOUT removed bigint DEFAULT 0)
LANGUAGE plpgsql AS {$}	-- no SET and no SECURITY DEFINER: with them it could not commit
DECLARE
	busy {user_type}[];	-- users whose rows were locked: one by one, at the end
	progress pg_catalog.jsonb;
	wait interval;
BEGIN
	PERFORM bloomexp.require_autocommit('rebuild()');
	LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;	-- whatever the session's default is
		SELECT s.after, s.busy, s.progress, s.wait INTO after, busy, progress, wait
		FROM {feed}.rebuild_step(users, after, upto, overlap, dry_run, allow_removed,
			busy, progress) AS s;
		COMMIT;
		EXIT WHEN wait IS NULL;
		PERFORM pg_catalog.pg_sleep_for(wait), pg_catalog.pg_sleep_for(pause);
	END LOOP;
	SELECT p.exposures, p.filters, p.bytes, p.removed INTO exposures, filters, bytes, removed
	FROM pg_catalog.jsonb_to_record(progress)
		AS p(exposures bigint, filters bigint, bytes bigint, removed bigint);
END
{$};
