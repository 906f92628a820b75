--- rebuild table
-- Build filters again from the exposures of the last {width}, in batches that commit: of all
-- users, of those with "after" < id <= "upto", or of "users".  Call it in autocommit mode, once
-- a day or more often; several sessions can share the users by ranges.  It waits for "pause"
-- after each batch, and reports after a second, and then every ten, up to which user all are
-- done: after a stop, continue with after => that one.  The result: exposures read, filters
-- built, their bytes, and filters removed because their users have no exposure left.  It stops
-- before these are more than 100 and more than a fifth of the filters that it has looked at,
-- unless allow_removed => true.  dry_run => true counts the same and changes nothing.
CREATE OR REPLACE PROCEDURE {feed}.rebuild(
	users {user_type}[] DEFAULT NULL, after {user_type} DEFAULT NULL, upto {user_type} DEFAULT NULL,
	pause interval DEFAULT '0', overlap interval DEFAULT '10 minutes',
	dry_run boolean DEFAULT false, allow_removed boolean DEFAULT false,
	INOUT exposures bigint DEFAULT 0, INOUT filters bigint DEFAULT 0,
	INOUT bytes bigint DEFAULT 0, INOUT ended bigint DEFAULT 0)
LANGUAGE plpgsql AS {$}	-- no SET and no SECURITY DEFINER: with them it could not commit
DECLARE
	batch pg_catalog.record;
	wanted {user_type}[];
	busy {user_type}[] := ARRAY[]::{user_type}[];	-- users whose rows were locked: one by one, afterwards
	next_user integer := 1;
	examined bigint := 0;
	failures integer := 0;
	reported timestamp with time zone := pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) interval '9 seconds';
	give_up timestamp with time zone;	-- unless a user is done before
BEGIN
	IF users IS NOT NULL THEN
		IF after IS NOT NULL OR upto IS NOT NULL THEN
			RAISE EXCEPTION 'a rebuild takes either users or a range of them' USING ERRCODE = 'invalid_parameter_value';
		END IF;
		users := ARRAY(SELECT u.u FROM pg_catalog.unnest(users) AS u(u));	-- the same with subscripts from 1 on
	END IF;
{needs_autocommit}
	LOOP
		wanted := users[next_user : next_user OPERATOR(pg_catalog.+) 999];
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;	-- whatever the session's default is
		SELECT * INTO batch FROM {feed}.rebuild_batch(wanted, upto, overlap, dry_run, allow_removed, rebuild.after, examined, ended);
		COMMIT;
		IF batch.again THEN
			failures := failures OPERATOR(pg_catalog.+) 1;
			IF failures OPERATOR(pg_catalog.>) 600 THEN	-- of 0.6 s each
				RAISE EXCEPTION 'rebuild of %: tables stayed locked by others', {filters_literal}
					USING ERRCODE = 'lock_not_available', HINT = 'Batches before this one are done. Look into pg_locks, and call it again.';
			END IF;
			PERFORM pg_catalog.pg_sleep(0.5);
			CONTINUE;
		END IF;
		failures := 0;
		after := batch.after;
		examined := batch.n_examined;
		ended := batch.n_ended;
		exposures := exposures OPERATOR(pg_catalog.+) batch.n_exposures;
		filters := filters OPERATOR(pg_catalog.+) batch.n_filters;
		bytes := bytes OPERATOR(pg_catalog.+) batch.n_bytes;
		busy := busy OPERATOR(pg_catalog.||) batch.busy;
		next_user := next_user OPERATOR(pg_catalog.+) 1000;
		EXIT WHEN users IS NULL AND after IS NULL OR next_user OPERATOR(pg_catalog.>) pg_catalog.cardinality(users);
		IF after IS NOT NULL AND pg_catalog.clock_timestamp() OPERATOR(pg_catalog.>) (reported OPERATOR(pg_catalog.+) interval '10 seconds') THEN
			RAISE NOTICE 'rebuild of %: done up to user %, but for % whose rows were locked', {filters_literal}, after, pg_catalog.cardinality(busy);
			reported := pg_catalog.clock_timestamp();
		END IF;
		PERFORM pg_catalog.pg_sleep_for(pause);
	END LOOP;

	-- The busy ones, holding nothing while it waits for one.  In a deadlock the rebuild gives way
	-- and tries again.  It sleeps in between, because PostgreSQL reports a cancel that arrives with
	-- a lock timeout as the lock timeout, and that is caught here.
	give_up := pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) interval '5 minutes';
	WHILE NOT dry_run AND pg_catalog.cardinality(busy) OPERATOR(pg_catalog.>) 0 LOOP
		wanted := busy[1:1];
		busy := busy[2:];
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		SELECT * INTO batch FROM {feed}.rebuild_batch(wanted, upto, overlap, dry_run, allow_removed, NULL::{user_type}, examined, ended);
		COMMIT;
		IF batch.again OR pg_catalog.cardinality(batch.busy) OPERATOR(pg_catalog.>) 0 THEN
			busy := busy OPERATOR(pg_catalog.||) wanted;
			IF pg_catalog.clock_timestamp() OPERATOR(pg_catalog.>) give_up THEN
				RAISE WARNING 'filters of % users were not rebuilt in %, because others kept their rows locked', pg_catalog.cardinality(busy), {filters_literal};
				EXIT;
			END IF;
			PERFORM pg_catalog.pg_sleep(0.4 OPERATOR(pg_catalog./) pg_catalog.cardinality(busy));
		ELSE
			examined := batch.n_examined;
			ended := batch.n_ended;
			give_up := pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) interval '5 minutes';
		END IF;
	END LOOP;
END
{$};
