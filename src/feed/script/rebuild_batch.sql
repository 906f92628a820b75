--- rebuild_batch table
-- One batch of a rebuild: the "wanted" users, or the next ones after "after", up to "upto".  It
-- returns how far it came (NULL: to the end) and the users whose rows others have locked;
-- "again" says that a lock stopped it, and it did nothing.
CREATE OR REPLACE FUNCTION {feed}.rebuild_batch(
	wanted {user_type}[], upto {user_type}, overlap interval, dry_run boolean, allow_removed boolean,
	INOUT after {user_type},
	INOUT n_examined bigint, INOUT n_ended bigint,	-- filters that it has looked at and removed, with those of the batches before
	OUT n_exposures bigint, OUT n_filters bigint, OUT n_bytes bigint,
	OUT busy {user_type}[], OUT again boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET row_security = off	-- an error if row security would hide rows
{batch_lock_timeout}
SET plan_cache_mode = force_custom_plan AS {$}	-- each batch has other bounds
#variable_conflict use_variable
DECLARE
	since timestamp with time zone := {window_start};
	batch_from {user_type} := after;
	batch_to {user_type};
	filled timestamp with time zone;
	n_before bigint := n_ended;
{batch_variables}
BEGIN
	IF (overlap >= '0'::interval AND dry_run IS NOT NULL AND allow_removed IS NOT NULL
		AND n_examined IS NOT NULL AND n_ended IS NOT NULL AND coalesce(cardinality(wanted), 0) <= 1000) IS NOT TRUE THEN
		RAISE EXCEPTION 'invalid argument of a rebuild'
			USING ERRCODE = 'invalid_parameter_value', DETAIL = 'overlap must not be negative, and nothing NULL but users, after and upto.';
	END IF;
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'rebuild_batch() needs isolation level READ COMMITTED' USING ERRCODE = 'feature_not_supported';
	END IF;
{require_trusted}
	again := false;
{batch}
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
	after := batch_from;
	again := true;
END
{$};

--- exposures_in_batch table
(wanted IS NULL OR {user} {=} ANY (wanted{collate}))
			AND (batch_from IS NULL OR {user} {>} batch_from{collate}) AND (batch_to IS NULL OR {user} {<=} batch_to{collate})
--- filters_in_batch table
(wanted IS NULL OR f.user_id {=} ANY (wanted{collate}))
			AND (batch_from IS NULL OR f.user_id {>} batch_from{collate}) AND (batch_to IS NULL OR f.user_id {<=} batch_to{collate})

--- removal_checks
	-- If nobody has an exposure in the window, or many users have none left, a table, its
	-- retention or a clock may be wrong: change nothing.
	IF NOT dry_run AND NOT allow_removed AND (n_ended > n_before OR after IS NULL) THEN
		IF n_exposures = 0 AND NOT EXISTS (SELECT FROM {exposures} AS e{elements} WHERE {exposed}) THEN
			RAISE EXCEPTION 'no exposure of the last % in %', {width}, {exposures_literal}
				USING ERRCODE = 'no_data_found', DETAIL = format('There is none since %s. No filter was removed.', since),
					HINT = 'If that is right, call the rebuild with allow_removed => true, which removes all filters.';
		END IF;
		IF n_ended > 100 AND n_ended > n_examined / 5 THEN
			RAISE EXCEPTION 'rebuild would remove % of % filters of %', n_ended, n_examined, {filters_literal}
				USING ERRCODE = 'object_not_in_prerequisite_state',
					DETAIL = format('Their users have no exposure since %s. Of these, %s are removed already; the batch after user %s changed nothing.', since, n_before, coalesce(batch_from::text, '(none)')),
					HINT = 'If that is right, call the rebuild with allow_removed => true.';
		END IF;
	END IF;

--- batch_lock_timeout table
SET lock_timeout = '100ms'	-- less than deadlock_timeout, 1 s by default: it is the rebuild that gives way
--- batch_lock_timeout citus

--- batch_variables table
	locked {user_type}[];	-- users whose rows are locked here
	shown {user_type}[];	-- users with exposures, and their filters
	built {bloom}.bloom[];
	unlocked {user_type}[];	-- of these, users whose rows are not locked here
	without_exposures {user_type}[];	-- users whose rows are locked here
--- batch_variables citus
	yesterday timestamp with time zone;

--- batch table
	-- The 250th filter from here ends the batch.  If there are not so many, as at first, the
	-- 2,000th user with exposures does, whom a walk over the index finds whatever the planner knows.
	IF wanted IS NULL THEN
		batch_to := (SELECT f.user_id FROM {feed}.filters AS f
			WHERE (batch_from IS NULL OR f.user_id {>} batch_from{collate}) AND (upto IS NULL OR f.user_id {<=} upto{collate})
			ORDER BY f.user_id OFFSET 249 LIMIT 1);
		IF batch_to IS NULL THEN
			WITH RECURSIVE walk(u, n) AS (
				(SELECT {user}, 1 FROM {exposures} AS e
				WHERE {user} IS NOT NULL AND (batch_from IS NULL OR {user} {>} batch_from{collate}) ORDER BY {user} LIMIT 1)
				UNION ALL
				SELECT (SELECT {user} FROM {exposures} AS e WHERE {user} {>} w.u ORDER BY {user} LIMIT 1), w.n + 1
				FROM walk AS w
				WHERE w.u IS NOT NULL AND w.n < 2000 AND (upto IS NULL OR w.u {<=} upto{collate}))
			SELECT w.u INTO batch_to FROM walk AS w WHERE w.n = 2000 AND (upto IS NULL OR w.u {<=} upto{collate});
		END IF;
		after := batch_to;
		batch_to := coalesce(batch_to, upto);
	END IF;

	-- Lock the rows that nobody else has locked.  To wait for others while these are locked
	-- could deadlock, so only who locks a single row waits.
	IF dry_run THEN
		locked := ARRAY(SELECT f.user_id FROM {feed}.filters AS f
			WHERE {filters_in_batch});
	ELSIF cardinality(wanted) = 1 THEN
		locked := ARRAY(SELECT f.user_id FROM {feed}.filters AS f
			WHERE {filters_in_batch} FOR UPDATE);
	ELSE
		locked := ARRAY(SELECT f.user_id FROM {feed}.filters AS f
			WHERE {filters_in_batch} FOR UPDATE SKIP LOCKED);
	END IF;

	-- All exposures before this time are in the next statement's snapshot: read it first.
	filled := LEAST(clock_timestamp(), {bloom}.bloom_oldest_transaction(),
		(SELECT min(p.prepared) FROM pg_prepared_xacts AS p WHERE p.database = current_database()));
	filled := LEAST(filled, filled - overlap);	-- an interval that equals 0 can move a time: '-12 months 360 days'

	-- The limit is for users without a row, of whom a batch can have any number.
	SELECT array_agg(b.user_id), array_agg(b.items), coalesce(sum(b.n), 0), count(*), coalesce(sum(octet_length(b.items::bytea) + 4), 0)
	INTO shown, built, n_exposures, n_filters, n_bytes
	FROM (
		SELECT {user} AS user_id, count(*) AS n, {bloom}.bloom_agg({item}, {stored_fpr}, {headroom}) AS items
		FROM {exposures} AS e{elements}	-- after a change of these columns, apply what bloom_feed_sql() returns
		WHERE {exposures_in_batch}
			AND {exposed}
		GROUP BY {user} ORDER BY {user} LIMIT 2000) AS b;
	IF n_filters = 2000 AND wanted IS NULL THEN
		after := shown[2000];
		locked := ARRAY(SELECT l.u FROM unnest(locked) AS l(u) WHERE l.u {<=} after{collate});
	END IF;
	without_exposures := ARRAY(SELECT l.u FROM unnest(locked) AS l(u)
		WHERE NOT EXISTS (SELECT FROM unnest(shown) AS s(u) WHERE s.u {=} l.u{collate}));
	n_examined := n_examined + cardinality(locked);
	-- rows that lock() or take() made have no filter to lose
	n_ended := n_ended + (SELECT count(f.items) FROM {feed}.filters AS f WHERE f.user_id {=} ANY (without_exposures{collate}));

{removal_checks}
	IF dry_run THEN
		RETURN;
	END IF;

	-- The rows that are locked here: ON CONFLICT finds each.  A filter that did not change is
	-- written once a day, to say that it was rebuilt.
	INSERT INTO {feed}.filters AS f (user_id, items, filled_until)
	SELECT s.u, s.i, filled FROM ROWS FROM (unnest(shown), unnest(built)) AS s(u, i)
	WHERE EXISTS (SELECT FROM unnest(locked) AS l(u) WHERE l.u {=} s.u{collate})
	ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET items = excluded.items, filled_until = excluded.filled_until
	WHERE f.items OPERATOR({bloom}.=) excluded.items IS NOT TRUE OR f.filled_until > (filled - interval '1 day') IS NOT TRUE;
	IF cardinality(without_exposures) > 0 THEN
		DELETE FROM {feed}.filters AS f WHERE f.user_id {=} ANY (without_exposures{collate});
	END IF;

	-- The rows that are not: make one for users who had none.  Users who have got one
	-- since the snapshot, or are getting one now, are busy, as are those with locked rows.
	IF n_filters > cardinality(locked) - cardinality(without_exposures) THEN
		unlocked := ARRAY(SELECT s.u FROM unnest(shown) AS s(u)
			WHERE NOT EXISTS (SELECT FROM unnest(locked) AS l(u) WHERE l.u {=} s.u{collate}));
		BEGIN
			WITH added AS (
				INSERT INTO {feed}.filters (user_id, items, filled_until)
				SELECT s.u, s.i, filled FROM ROWS FROM (unnest(shown), unnest(built)) AS s(u, i)
				WHERE EXISTS (SELECT FROM unnest(unlocked) AS o(u) WHERE o.u {=} s.u{collate})
					AND NOT EXISTS (SELECT FROM {feed}.filters AS f WHERE f.user_id {=} s.u{collate})
				ORDER BY s.u
				ON CONFLICT ON CONSTRAINT filters_pkey DO NOTHING RETURNING user_id)
			SELECT array_agg(o.u) INTO busy FROM unnest(unlocked) AS o(u)
			WHERE NOT EXISTS (SELECT FROM added AS a WHERE a.user_id {=} o.u{collate});
		EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
			busy := unlocked;
		END;
	END IF;

--- batch citus
	-- Citus sends statements to the shards as they are, so only filters that are written or
	-- removed are counted; a dry run counts all.

	-- The next user whose hash is divisible by 16,000 ends the batch: a count would have to
	-- bring all these users here.
	IF wanted IS NULL THEN
		SELECT f.user_id INTO batch_to FROM {feed}.filters AS f
		WHERE (batch_from IS NULL OR f.user_id {>} batch_from{collate}) AND (upto IS NULL OR f.user_id {<=} upto{collate})
			AND (hashtext(f.user_id::text) % 16000) = 0
		ORDER BY f.user_id LIMIT 1;
		after := batch_to;
		batch_to := coalesce(batch_to, upto);
	END IF;
	n_exposures := (SELECT count(*) FROM {exposures} AS e{elements} WHERE {exposures_in_batch} AND {exposed});
	SELECT n_examined + count(*), n_ended + count(f.items) FILTER (WHERE NOT EXISTS (SELECT FROM {exposures} AS e{elements} WHERE {user} {=} f.user_id AND {exposed}))
	INTO n_examined, n_ended
	FROM {feed}.filters AS f WHERE {filters_in_batch};

{removal_checks}
	IF dry_run THEN
		SELECT count(*), coalesce(sum(octet_length(b.items::bytea) + 4), 0)
		INTO n_filters, n_bytes
		FROM (
			SELECT {user} AS user_id, {bloom}.bloom_agg({item}, {stored_fpr}, {headroom}) AS items
			FROM {exposures} AS e{elements} WHERE {exposures_in_batch} AND {exposed} GROUP BY {user}) AS b;
		RETURN;
	END IF;

	-- All exposures before this time are in the next statement's snapshots: read it first.
	SELECT LEAST(clock_timestamp(), to_timestamp(min(CASE WHEN n.success THEN n.result::double precision END))), bool_and(n.success)
	INTO STRICT filled, again
	FROM run_command_on_all_nodes({oldest_literal}) AS n;
	IF again IS NOT TRUE THEN
		RAISE EXCEPTION 'could not read the oldest transaction of each node'
			USING ERRCODE = 'connection_failure', HINT = 'Batches before this one are done. Call the rebuild again when all nodes can be reached.';
	END IF;
	again := false;
	filled := LEAST(filled, filled - overlap);	-- an interval that equals 0 can move a time: '-12 months 360 days'

	yesterday := filled - interval '1 day';	-- unchanged filters are written once a day
	INSERT INTO {feed}.filters AS f (user_id, items, filled_until)
	SELECT {user}, {bloom}.bloom_agg({item}, {stored_fpr}, {headroom}), filled FROM {exposures} AS e{elements}	-- after a change of these columns, apply what bloom_feed_sql() returns
	WHERE {exposures_in_batch} AND {exposed} GROUP BY {user}
	ON CONFLICT (user_id) DO UPDATE SET items = excluded.items, filled_until = excluded.filled_until
	WHERE f.items OPERATOR({bloom}.=) excluded.items IS NOT TRUE OR f.filled_until > yesterday IS NOT TRUE;
	GET DIAGNOSTICS n_filters = ROW_COUNT;
	IF n_ended > n_before THEN
		DELETE FROM {feed}.filters AS f
		WHERE {filters_in_batch} AND NOT EXISTS (SELECT FROM {exposures} AS e{elements} WHERE {user} {=} f.user_id AND {exposed});
	END IF;
