-- One batch of a rebuild: the users after "after", about a thousand of them, or "these".  It
-- reports how far it came (NULL: to the end) and the users whose rows were locked by others;
-- "again" says that a lock stopped it, and it did nothing.
CREATE OR REPLACE FUNCTION {feed}.rebuild_batch(
	these {user_type}[], part integer, parts integer, overlap interval, dry_run boolean, allow_empty boolean,
	INOUT after {user_base_type},
	OUT exposures bigint, OUT filters bigint, OUT bytes bigint, OUT ended bigint,
	OUT busy {user_type}[], OUT again boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off
SET lock_timeout = '100ms'	-- shorter than deadlock_timeout: it is the rebuild that gives way
SET plan_cache_mode = force_custom_plan AS {$}
#variable_conflict use_variable	-- columns are named with their tables, and exposures may have any others
DECLARE
	since timestamp with time zone := {begin};
	was_after {user_base_type} := after;
	upto {user_base_type};
	mine {user_type}[];	-- users whose rows are locked here
	filled timestamp with time zone;
	shown {user_type}[];	-- users with exposures, and their filters
	built {bloom}.bloom[];
	others {user_type}[];	-- of these, users whose rows are not locked here
	gone {user_type}[];	-- users whose rows are locked here, without exposures
BEGIN
	again := false;

	-- Where the batch ends: at a user whose hash is divisible by 1,000.  The filters know most
	-- users; the rest is a walk over the index of exposures.  Which users of the batch belong to
	-- a part is said by their own hashes, and not by the ends of batches: those move while users
	-- come and go, and each user must be of one part, whenever the sessions of the others run.
	IF these IS NULL THEN
		SELECT f.user_id INTO upto FROM {feed}.filters AS f
		WHERE {filters_in_range} AND (pg_catalog.hashtext(f.user_id::text) OPERATOR(pg_catalog.%) 1000) OPERATOR(pg_catalog.=) 0
		ORDER BY f.user_id LIMIT 1;
		IF upto IS NULL THEN
			WITH RECURSIVE walk(u) AS (
				(SELECT {user} FROM {exposures} AS e WHERE {exposures_in_range} AND {user} IS NOT NULL ORDER BY {user} LIMIT 1)
				UNION ALL
				SELECT (SELECT {user} FROM {exposures} AS e WHERE {user} {>} w.u ORDER BY {user} LIMIT 1)
				FROM walk AS w
				WHERE w.u IS NOT NULL AND (pg_catalog.hashtext(w.u::text) OPERATOR(pg_catalog.%) 1000) OPERATOR(pg_catalog.<>) 0)
			SELECT w.u INTO upto FROM walk AS w
			WHERE w.u IS NULL OR (pg_catalog.hashtext(w.u::text) OPERATOR(pg_catalog.%) 1000) OPERATOR(pg_catalog.=) 0;
		END IF;
		after := upto;
	END IF;

	-- Lock the rows that nobody else has locked.  To wait for others while these are locked
	-- could deadlock, so only who locks a single row waits.
	IF dry_run THEN
		mine := ARRAY(SELECT f.user_id FROM {feed}.filters AS f WHERE {filters_in_batch});
	ELSIF pg_catalog.cardinality(these) OPERATOR(pg_catalog.=) 1 THEN
		mine := ARRAY(SELECT f.user_id FROM {feed}.filters AS f WHERE {filters_in_batch} FOR UPDATE);
	ELSE
		mine := ARRAY(SELECT f.user_id FROM {feed}.filters AS f WHERE {filters_in_batch} FOR UPDATE SKIP LOCKED);
	END IF;

	-- All exposures before this time are in the next statement's snapshot: read it first.
	filled := LEAST(pg_catalog.clock_timestamp(), {bloom}.bloom_oldest_transaction(),
		(SELECT pg_catalog.min(p.prepared) FROM pg_catalog.pg_prepared_xacts AS p WHERE p.database OPERATOR(pg_catalog.=) pg_catalog.current_database()))
		OPERATOR(pg_catalog.-) overlap;

	-- The limit is for users without a row, of whom a batch can have any number.
	SELECT pg_catalog.array_agg(b.user_id), pg_catalog.array_agg(b.items), coalesce(pg_catalog.sum(b.exposures), 0),
		pg_catalog.count(*), coalesce(pg_catalog.sum(pg_catalog.pg_column_size(b.items)), 0)
	INTO shown, built, exposures, filters, bytes
	FROM (
		SELECT {user} AS user_id, pg_catalog.count(*) AS exposures, {built} AS items
		FROM {exposures} AS e{elements}	-- after a change of these columns, apply what bloom_feed_sql() returns
		WHERE {exposures_in_batch} AND {exposed}
		GROUP BY {user} ORDER BY {user} LIMIT 20000) AS b;
	IF filters OPERATOR(pg_catalog.=) 20000 AND these IS NULL THEN
		after := shown[20000];
		mine := ARRAY(SELECT m.u FROM pg_catalog.unnest(mine) AS m(u) WHERE m.u {<=} after{collate});
	END IF;
	gone := ARRAY(SELECT m.u FROM pg_catalog.unnest(mine) AS m(u)
		WHERE NOT EXISTS (SELECT FROM pg_catalog.unnest(shown) AS s(u) WHERE s.u {=} m.u{collate}));
	ended := pg_catalog.cardinality(gone);

	-- What finds nothing for anybody has not understood something: it changes nothing.
	IF exposures OPERATOR(pg_catalog.=) 0 AND (ended OPERATOR(pg_catalog.>) 0 OR after IS NULL) AND NOT dry_run AND NOT allow_empty
		AND NOT EXISTS (SELECT FROM {exposures} AS e{elements} WHERE {exposed}) THEN
		RAISE EXCEPTION 'no exposure since % in %', since, {exposures_literal}
			USING ERRCODE = 'no_data_found', DETAIL = 'No filter was removed.',
				HINT = 'If that is right, call the rebuild with allow_empty => true, which removes all filters.';
	END IF;
	IF dry_run THEN
		RETURN;
	END IF;

	-- The rows that are locked here: ON CONFLICT finds each.  A filter that did not change is
	-- written once a day, to say that it was rebuilt.
	INSERT INTO {feed}.filters AS f (user_id, items, filled_until)
	SELECT s.u, s.i, filled FROM ROWS FROM (pg_catalog.unnest(shown), pg_catalog.unnest(built)) AS s(u, i)
	WHERE EXISTS (SELECT FROM pg_catalog.unnest(mine) AS m(u) WHERE m.u {=} s.u{collate})
	ON CONFLICT (user_id) DO UPDATE SET items = excluded.items, filled_until = excluded.filled_until
	WHERE f.items OPERATOR({bloom}.=) excluded.items IS NOT TRUE
		OR f.filled_until OPERATOR(pg_catalog.>) (filled OPERATOR(pg_catalog.-) interval '1 day') IS NOT TRUE;
	IF ended OPERATOR(pg_catalog.>) 0 THEN
		DELETE FROM {feed}.filters AS f WHERE f.user_id {=} ANY (gone{collate});
	END IF;

	-- The rows that are not: make one for users who had none.  Who has got one since the
	-- snapshot, or is getting one now, is busy, like those whose rows others have locked.
	IF filters OPERATOR(pg_catalog.>) (pg_catalog.cardinality(mine) OPERATOR(pg_catalog.-) ended) THEN
		others := ARRAY(SELECT s.u FROM pg_catalog.unnest(shown) AS s(u)
			WHERE NOT EXISTS (SELECT FROM pg_catalog.unnest(mine) AS m(u) WHERE m.u {=} s.u{collate}));
		BEGIN
			WITH added AS (
				INSERT INTO {feed}.filters (user_id, items, filled_until)
				SELECT s.u, s.i, filled FROM ROWS FROM (pg_catalog.unnest(shown), pg_catalog.unnest(built)) AS s(u, i)
				WHERE EXISTS (SELECT FROM pg_catalog.unnest(others) AS o(u) WHERE o.u {=} s.u{collate})
					AND NOT EXISTS (SELECT FROM {feed}.filters AS f WHERE f.user_id {=} s.u{collate})
				ORDER BY s.u
				ON CONFLICT (user_id) DO NOTHING RETURNING user_id)
			SELECT pg_catalog.array_agg(o.u) INTO busy FROM pg_catalog.unnest(others) AS o(u)
			WHERE NOT EXISTS (SELECT FROM added AS a WHERE a.user_id {=} o.u{collate});
		EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
			busy := others;
		END;
	END IF;
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
	after := was_after;
	again := true;
END
{$};

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
	IF (part OPERATOR(pg_catalog.>=) 1 AND part OPERATOR(pg_catalog.<=) parts AND overlap OPERATOR(pg_catalog.>=) '0'::interval) IS NOT TRUE THEN
		RAISE EXCEPTION 'part must be from 1 to parts, and overlap not negative' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	BEGIN
		COMMIT;
	EXCEPTION WHEN invalid_transaction_termination THEN	-- always: the message tells why
		IF SQLERRM OPERATOR(pg_catalog.=) 'invalid transaction termination' THEN
			RAISE EXCEPTION 'rebuild() cannot run inside a transaction block'
				USING ERRCODE = 'active_sql_transaction', HINT = 'Call it in autocommit mode: it commits batch by batch.';
		END IF;
	END;
	SELECT NULL::{user_base_type} AS after INTO batch;
	LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;	-- whatever the session's default is: the first of a transaction
		IF users IS NOT NULL THEN
			these := users[next_user : next_user OPERATOR(pg_catalog.+) 999];
		END IF;
		SELECT * INTO batch FROM {feed}.rebuild_batch(these, part, parts, overlap, dry_run, allow_empty, batch.after);
		COMMIT;
		IF batch.again THEN
			failures := failures OPERATOR(pg_catalog.+) 1;
			IF failures OPERATOR(pg_catalog.>) 600 THEN
				RAISE EXCEPTION 'rebuild of %: tables stayed locked by others', {filters_literal}
					USING ERRCODE = 'lock_not_available', HINT = 'Batches before this one are done. Look into pg_locks, and call it again.';
			END IF;
			PERFORM pg_catalog.pg_sleep(0.5);
			CONTINUE;
		END IF;
		failures := 0;
		exposures := exposures OPERATOR(pg_catalog.+) coalesce(batch.exposures, 0);
		filters := filters OPERATOR(pg_catalog.+) coalesce(batch.filters, 0);
		bytes := bytes OPERATOR(pg_catalog.+) coalesce(batch.bytes, 0);
		ended := ended OPERATOR(pg_catalog.+) coalesce(batch.ended, 0);
		busy := busy OPERATOR(pg_catalog.||) batch.busy;
		next_user := next_user OPERATOR(pg_catalog.+) 1000;
		EXIT WHEN users IS NULL AND batch.after IS NULL OR next_user OPERATOR(pg_catalog.>) pg_catalog.cardinality(users);
		PERFORM pg_catalog.pg_sleep_for(pause);
	END LOOP;

	-- The busy ones, holding nothing while it waits for one.  Whoever deadlocks with a writer
	-- gives way and comes back.
	WHILE NOT dry_run AND pg_catalog.cardinality(busy) OPERATOR(pg_catalog.>) 0 LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		these := busy[1:1];
		busy := busy[2:];
		SELECT * INTO batch FROM {feed}.rebuild_batch(these, part, parts, overlap, dry_run, allow_empty, NULL);
		COMMIT;
		IF batch.again OR pg_catalog.cardinality(batch.busy) OPERATOR(pg_catalog.>) 0 THEN
			busy := busy OPERATOR(pg_catalog.||) these;
			failures := failures OPERATOR(pg_catalog.+) 1;
			IF failures OPERATOR(pg_catalog.>) 1200 THEN
				RAISE WARNING 'filters of % users were not rebuilt in %, because others kept their rows locked', pg_catalog.cardinality(busy), {filters_literal};
				EXIT;
			END IF;
		END IF;
	END LOOP;
END
{$};
