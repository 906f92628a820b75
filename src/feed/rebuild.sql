-- Build all filters again from the exposures of the last {width}, or those of "users", in
-- batches that commit.  Call it in autocommit mode, once per day or more often; with parts => 2
-- in two sessions, part => 1 and part => 2.  It waits for "pause" after each batch.  The result:
-- exposures read, filters built, their bytes, and filters removed because their users have no
-- exposure left.  dry_run => true reports the same and changes nothing.
CREATE OR REPLACE PROCEDURE {feed}.rebuild(
	users {user_type}[] DEFAULT NULL, part integer DEFAULT 1, parts integer DEFAULT 1,
	pause interval DEFAULT '0', overlap interval DEFAULT '10 minutes',
	dry_run boolean DEFAULT false, allow_empty boolean DEFAULT false,
	INOUT exposures bigint DEFAULT 0, INOUT filters bigint DEFAULT 0,
	INOUT bytes bigint DEFAULT 0, INOUT ended bigint DEFAULT 0)
LANGUAGE plpgsql AS {$}	-- no SET and no SECURITY DEFINER: with them it could not commit
DECLARE
	batch record;
	these {user_type}[];
	busy {user_type}[] := ARRAY[]::{user_type}[];	-- users whose rows were locked: one by one, afterwards
	next_user integer := 1;
	failures integer := 0;
BEGIN
	IF users IS NOT NULL THEN
		users := ARRAY(SELECT u.u FROM pg_catalog.unnest(users) AS u(u));	-- whatever its bounds are
	END IF;
	BEGIN
		COMMIT;
	EXCEPTION WHEN invalid_transaction_termination THEN	-- always, in a block: the message tells whether a transaction is open
		IF SQLERRM OPERATOR(pg_catalog.=) 'invalid transaction termination' THEN
			RAISE EXCEPTION 'rebuild() cannot run inside a transaction block'
				USING ERRCODE = 'active_sql_transaction', HINT = 'Call it in autocommit mode: it commits batch by batch.';
		END IF;
	END;
	SELECT NULL::{user_type} AS after INTO batch;
	LOOP
		IF users IS NOT NULL THEN
			these := users[next_user : next_user OPERATOR(pg_catalog.+) 999];
		END IF;
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;	-- whatever the session's default is
		SELECT * INTO batch FROM {feed}.rebuild_batch(these, part, parts, overlap, dry_run, allow_empty, batch.after);
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
		exposures := exposures OPERATOR(pg_catalog.+) batch.exposures;
		filters := filters OPERATOR(pg_catalog.+) batch.filters;
		bytes := bytes OPERATOR(pg_catalog.+) batch.bytes;
		ended := ended OPERATOR(pg_catalog.+) batch.ended;
		busy := busy OPERATOR(pg_catalog.||) batch.busy;
		next_user := next_user OPERATOR(pg_catalog.+) 1000;
		EXIT WHEN users IS NULL AND batch.after IS NULL OR next_user OPERATOR(pg_catalog.>) pg_catalog.cardinality(users);
		PERFORM pg_catalog.pg_sleep_for(pause);
	END LOOP;

	-- The busy ones, holding nothing while it waits for one.  In a deadlock the rebuild gives
	-- way and tries again.
	WHILE NOT dry_run AND pg_catalog.cardinality(busy) OPERATOR(pg_catalog.>) 0 LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		these := busy[1:1];
		busy := busy[2:];
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		SELECT * INTO batch FROM {feed}.rebuild_batch(these, part, parts, overlap, dry_run, allow_empty, NULL::{user_type});
		COMMIT;
		IF batch.again OR pg_catalog.cardinality(batch.busy) OPERATOR(pg_catalog.>) 0 THEN
			busy := busy OPERATOR(pg_catalog.||) these;
			failures := failures OPERATOR(pg_catalog.+) 1;
			IF failures OPERATOR(pg_catalog.>) 3000 THEN	-- of 0.1 s each, without a success
				RAISE WARNING 'filters of % users were not rebuilt in %, because others kept their rows locked', pg_catalog.cardinality(busy), {filters_literal};
				EXIT;
			END IF;
		ELSE
			failures := 0;
		END IF;
	END LOOP;
END
{$};
