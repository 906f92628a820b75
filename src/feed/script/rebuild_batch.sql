-- One batch of a rebuild: the "wanted" users, or the next ones after "after", up to "upto".  It
-- returns how far it came (NULL: to the end) and the users whose rows others have locked;
-- "again" says that a lock stopped it, and it did nothing.
CREATE OR REPLACE FUNCTION {feed}.rebuild_batch(
	wanted {user_type}[], INOUT after {user_type}, upto {user_type},
	overlap interval, dry_run boolean, allow_removed boolean,
	INOUT n_examined bigint, INOUT n_removed bigint,	-- filters, with those of the batches before
	INOUT n_halved bigint DEFAULT 0,	-- filters that lose more than half too early
	OUT n_exposures bigint, OUT n_filters bigint, OUT n_bytes bigint,
	OUT busy {user_type}[], OUT again boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET row_security = off	-- an error if row security would hide rows
SET timezone = 'UTC'	-- whatever type the time column gets
SET lock_timeout = '100ms'	-- less than deadlock_timeout, 1 s by default: the rebuild gives way
SET plan_cache_mode = force_custom_plan AS {$}	-- each batch has other bounds
#variable_conflict use_variable
DECLARE
	since timestamp with time zone := {window_start};
	batch_from {user_type} := after;
	batch_to {user_type};
	batch_name text := CASE WHEN after IS NULL THEN '(none)' ELSE concat(after) END;
	prepared boolean;
	filled timestamp with time zone;
	n_before bigint := n_removed;
	locked {user_type}[];	-- users whose rows are locked here
	built record;	-- users with exposures, and their filters
	too_long text[];	-- how ids of these begin that have no place in a row
	unlocked {user_type}[];	-- users with exposures whose rows are not locked here
	without_exposures {user_type}[];	-- users whose rows are locked here
BEGIN
	PERFORM bloomexp.require_batch(cardinality(wanted));
	PERFORM bloomexp.require_trusted(t) FROM bloomexp.tables_of({exposures_literal}) AS t;
	busy := ARRAY[]::{user_type}[];
	again := false;
	-- The 250th filter from here ends the batch.  If there are not so many, as at first, the
	-- 2,000th user with exposures does: a walk over the index finds it, whatever the planner knows.
	IF wanted IS NULL THEN
		batch_to := (SELECT f.user_id FROM {feed}.filters AS f
			WHERE (batch_from IS NULL OR f.user_id {>} batch_from{collate})
				AND (upto IS NULL OR f.user_id {<=} upto{collate})
			ORDER BY f.user_id OFFSET 249 LIMIT 1);
		IF batch_to IS NULL THEN
			WITH RECURSIVE walk(u, n) AS (
				(SELECT {user}, 1 FROM {exposures} AS e
				WHERE {user} IS NOT NULL AND (batch_from IS NULL OR {user} {>} batch_from{collate})
				ORDER BY {user} LIMIT 1)
				UNION ALL
				SELECT (SELECT {user} FROM {exposures} AS e WHERE {user} {>} w.u
					ORDER BY {user} LIMIT 1), w.n + 1
				FROM walk AS w
				WHERE w.u IS NOT NULL AND w.n < 2000 AND (upto IS NULL OR w.u {<=} upto{collate}))
			SELECT w.u INTO batch_to FROM walk AS w
			WHERE w.n = 2000 AND (upto IS NULL OR w.u {<=} upto{collate});
		END IF;
		after := batch_to;
		batch_to := coalesce(batch_to, upto);
	END IF;

	-- Lock the rows that nobody else has locked.  To wait for others while these are locked
	-- could deadlock, so only who locks a single row waits.
	IF dry_run THEN
		locked := ARRAY(SELECT f.user_id FROM {feed}.filters AS f
			WHERE (wanted IS NULL OR f.user_id {=} ANY (wanted{collate}))
			AND (batch_from IS NULL OR f.user_id {>} batch_from{collate})
			AND (batch_to IS NULL OR f.user_id {<=} batch_to{collate}));
	ELSIF cardinality(wanted) = 1 THEN
		locked := ARRAY(SELECT f.user_id FROM {feed}.filters AS f
			WHERE (wanted IS NULL OR f.user_id {=} ANY (wanted{collate}))
			AND (batch_from IS NULL OR f.user_id {>} batch_from{collate})
			AND (batch_to IS NULL OR f.user_id {<=} batch_to{collate}) FOR UPDATE);
	ELSE
		locked := ARRAY(SELECT f.user_id FROM {feed}.filters AS f
			WHERE (wanted IS NULL OR f.user_id {=} ANY (wanted{collate}))
			AND (batch_from IS NULL OR f.user_id {>} batch_from{collate})
			AND (batch_to IS NULL OR f.user_id {<=} batch_to{collate}) FOR UPDATE SKIP LOCKED);
	END IF;

	-- All exposures before this time are in the next statement's snapshot: read it first.
	filled := LEAST(clock_timestamp(), bloomexp.oldest_transaction());
	-- an interval that equals 0 can move a time: '-12 months 360 days'
	filled := LEAST(filled, filled - overlap);
	-- When a prepared transaction began cannot be known: while there is one, no time moves on.
	-- After the line above, which sees those that are prepared in between.
	prepared := EXISTS (
		SELECT FROM pg_prepared_xacts AS p WHERE p.database = current_database());

	-- The limit is for users without a row, of whom a batch can have any number.
	SELECT array_agg(b.user_id) AS users, array_agg(b.items) AS filters,
		coalesce(sum(b.n), 0) AS n_exposures, count(*) AS n_filters,
		coalesce(sum(octet_length(b.items::bytea) + 4), 0) AS n_bytes
	INTO built
	FROM (
		SELECT {user} AS user_id, count(*) AS n, bloomexp.agg({item}, {fpr}) AS items
		FROM {exposures} AS e{elements}
		WHERE (wanted IS NULL OR {user} {=} ANY (wanted{collate}))
			AND (batch_from IS NULL OR {user} {>} batch_from{collate})
			AND (batch_to IS NULL OR {user} {<=} batch_to{collate})
			AND {exposed}
		GROUP BY {user} ORDER BY {user}
		LIMIT CASE WHEN wanted IS NULL THEN 2000 END) AS b;
	n_exposures := built.n_exposures;
	n_filters := built.n_filters;
	n_bytes := built.n_bytes;
	IF wanted IS NULL AND n_filters = 2000 THEN
		after := built.users[2000];
		locked := ARRAY(SELECT l.u FROM unnest(locked) AS l(u) WHERE l.u {<=} after{collate});
	END IF;
	-- A user whose id has no place in a row stops nobody.
	too_long := ARRAY(SELECT left(concat(s.u), 40) FROM unnest(built.users) AS s(u)
		WHERE {bytes_of}(s.u) > 2000);
	IF cardinality(too_long) > 0 THEN
		n_filters := n_filters - cardinality(too_long);
		RAISE WARNING USING MESSAGE = concat('no filter in ', {filters_literal},
				' for users whose ids have more than 2,000 bytes: ', cardinality(too_long)),
			DETAIL = concat('One of these ids begins with "', too_long[1], '".');
	END IF;
	without_exposures := ARRAY(SELECT l.u FROM unnest(locked) AS l(u)
		WHERE NOT EXISTS (SELECT FROM unnest(built.users) AS s(u) WHERE s.u {=} l.u{collate}));
	n_examined := n_examined + cardinality(locked);
	-- rows that lock() or take() made have no filter to lose
	n_removed := n_removed + (
		SELECT count(*) FROM {feed}.filters AS f
		WHERE f.user_id {=} ANY (without_exposures{collate})
			AND (f.items IS NOT NULL OR cardinality(f.recent) > 0));
	-- Who loses more than half of what is not too old.
	n_halved := n_halved + (
		SELECT count(*)
		FROM {feed}.filters AS f
		LEFT JOIN ROWS FROM (unnest(built.users), unnest(built.filters)) AS s(u, i)
			ON s.u {=} f.user_id{collate}
		WHERE f.user_id {=} ANY (locked{collate})
			AND bloomexp.items_to_keep(f.items, f.filled_until, {width})
				> 2 * bloomexp.cardinality(s.i));

	-- If nobody has an exposure in the window, or many users have none left, a table, its
	-- retention or a clock may be wrong: change nothing.
	IF NOT dry_run AND NOT allow_removed THEN
		IF (n_removed > n_before OR after IS NULL) AND n_exposures = 0
			AND NOT EXISTS (SELECT FROM {exposures} AS e{elements} WHERE {exposed}) THEN
			PERFORM bloomexp.no_exposures({exposures_literal}, {width}, since);
		END IF;
		PERFORM bloomexp.require_few_losses({filters_literal}, {exposures_literal}, {width}, since,
			batch_name, n_examined, n_before, n_removed, n_halved);
	END IF;
	IF dry_run THEN
		RETURN;
	END IF;

	-- The rows that are locked here: ON CONFLICT finds each.  A filter that did not change is
	-- written once a day, to say that it was rebuilt.
	INSERT INTO {feed}.filters AS f (user_id, items, filled_until)
	SELECT s.u, s.i, CASE WHEN NOT prepared THEN filled END
	FROM ROWS FROM (unnest(built.users), unnest(built.filters)) AS s(u, i)
	WHERE EXISTS (SELECT FROM unnest(locked) AS l(u) WHERE l.u {=} s.u{collate})
	ON CONFLICT (user_id) DO UPDATE SET
		items = excluded.items,
		filled_until = CASE WHEN prepared THEN f.filled_until ELSE excluded.filled_until END,
		pending = 0, recent = ARRAY[]::bigint[]
	WHERE cardinality(f.recent) > 0 OR bloomexp.eq(f.items, excluded.items) IS NOT TRUE
		OR f.filled_until > filled - interval '1 day' IS NOT TRUE;
	IF cardinality(without_exposures) > 0 THEN
		DELETE FROM {feed}.filters AS f WHERE f.user_id {=} ANY (without_exposures{collate});
		IF EXISTS (SELECT FROM {feed}.filters AS f
			WHERE f.user_id {=} ANY (without_exposures{collate})) THEN
			PERFORM bloomexp.row_not_written({filters_literal});
		END IF;
	END IF;

	-- The rows that are not: make one for users who had none.  Users who have got one
	-- since the snapshot, or are getting one now, are busy, as are those with locked rows.
	IF n_filters > cardinality(locked) - cardinality(without_exposures) THEN
		unlocked := ARRAY(SELECT s.u FROM unnest(built.users) AS s(u)
			WHERE {bytes_of}(s.u) <= 2000
				AND NOT EXISTS (SELECT FROM unnest(locked) AS l(u) WHERE l.u {=} s.u{collate}));
		BEGIN
			WITH added AS (
				INSERT INTO {feed}.filters (user_id, items, filled_until)
				SELECT s.u, s.i, CASE WHEN NOT prepared THEN filled END
				FROM ROWS FROM (unnest(built.users), unnest(built.filters)) AS s(u, i)
				WHERE EXISTS (SELECT FROM unnest(unlocked) AS o(u) WHERE o.u {=} s.u{collate})
					AND NOT EXISTS (
						SELECT FROM {feed}.filters AS f WHERE f.user_id {=} s.u{collate})
				ORDER BY s.u
				ON CONFLICT (user_id) DO NOTHING RETURNING user_id)
			SELECT array_agg(o.u) INTO busy FROM unnest(unlocked) AS o(u)
			WHERE NOT EXISTS (SELECT FROM added AS a WHERE a.user_id {=} o.u{collate});
		EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
			busy := unlocked;
		END;
	END IF;
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
	after := batch_from;
	again := true;
END
{$};
