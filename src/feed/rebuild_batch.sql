-- One batch of a rebuild: the users after "after", about 250 of them, or "these".  It
-- reports how far it came (NULL: to the end) and the users whose rows were locked by others;
-- "again" says that a lock stopped it, and it did nothing.
CREATE OR REPLACE FUNCTION {feed}.rebuild_batch(
	these {user_type}[], part integer, parts integer, overlap interval, dry_run boolean, allow_empty boolean,
	INOUT after {user_type},
	OUT exposures bigint, OUT filters bigint, OUT bytes bigint, OUT ended bigint,
	OUT busy {user_type}[], OUT again boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off
SET lock_timeout = '100ms'	-- less than deadlock_timeout, 1 s by default: it is the rebuild that gives way
SET plan_cache_mode = force_custom_plan AS {$}	-- each batch has other bounds; and an error if row security would hide rows
#variable_conflict use_column
<<v>>
DECLARE
	since timestamp with time zone := {begin};
	was_after {user_type} := after;
	upto {user_type};
	mine {user_type}[];	-- users whose rows are locked here
	filled timestamp with time zone;
	shown {user_type}[];	-- users with exposures, and their filters
	built {bloom}.bloom[];
	others {user_type}[];	-- of these, users whose rows are not locked here
	gone {user_type}[];	-- users whose rows are locked here, without exposures
BEGIN
	again := false;
	exposures := 0;
	filters := 0;
	bytes := 0;
	ended := 0;
{rebuild_range}

	-- A trigger can have made any number of rows that no rebuild has filled: lock the first of
	-- them only.
	IF these IS NULL AND parts OPERATOR(pg_catalog.>) 1 THEN
		upto := coalesce((SELECT f.user_id FROM {feed}.filters AS f WHERE {filters_in_batch} ORDER BY f.user_id OFFSET 1999 LIMIT 1), upto);
		after := upto;
	END IF;

	-- If no filter ends the batch, as at first, the 2,000th user from here does: a walk over
	-- the index finds it, whatever the planner knows of the table.
	IF these IS NULL AND upto IS NULL THEN
		WITH RECURSIVE walk(u, n) AS (
			(SELECT {user}, 1 FROM {exposures} AS e
			WHERE {user} IS NOT NULL AND (v.was_after IS NULL OR {user} {>} v.was_after{collate}) ORDER BY {user} LIMIT 1)
			UNION ALL
			SELECT (SELECT {user} FROM {exposures} AS e WHERE {user} {>} w.u ORDER BY {user} LIMIT 1), w.n OPERATOR(pg_catalog.+) 1
			FROM walk AS w
			WHERE w.u IS NOT NULL AND w.n OPERATOR(pg_catalog.<) 2000)
		SELECT w.u INTO upto FROM walk AS w WHERE w.n OPERATOR(pg_catalog.=) 2000;
		after := upto;
	END IF;

	-- Lock the rows that nobody else has locked.  To wait for others while these are locked
	-- could deadlock, so only who locks a single row waits.
	IF dry_run THEN
		mine := ARRAY(
			SELECT f.user_id FROM {feed}.filters AS f
			WHERE {filters_in_batch});
	ELSIF pg_catalog.cardinality(these) OPERATOR(pg_catalog.=) 1 THEN
		mine := ARRAY(
			SELECT f.user_id FROM {feed}.filters AS f WHERE f.user_id {=} these[1]{collate} FOR UPDATE);
	ELSE
		mine := ARRAY(
			SELECT f.user_id FROM {feed}.filters AS f
			WHERE {filters_in_batch} FOR UPDATE SKIP LOCKED);
	END IF;

	-- All exposures before this time are in the next statement's snapshot: read it first.
	filled := LEAST(pg_catalog.clock_timestamp(), {bloom}.bloom_oldest_transaction(),
		(SELECT pg_catalog.min(p.prepared) FROM pg_catalog.pg_prepared_xacts AS p WHERE p.database OPERATOR(pg_catalog.=) pg_catalog.current_database()));
	filled := LEAST(filled, filled OPERATOR(pg_catalog.-) overlap);	-- '-12 months 360 days' is not negative

	-- The limit is for users without a row, of whom a batch can have any number.
	SELECT pg_catalog.array_agg(b.user_id), pg_catalog.array_agg(b.items), coalesce(pg_catalog.sum(b.exposures), 0),
		pg_catalog.count(*), coalesce(pg_catalog.sum(pg_catalog.octet_length(b.items::bytea) OPERATOR(pg_catalog.+) 4), 0)
	INTO shown, built, exposures, filters, bytes
	FROM (
		SELECT {user} AS user_id, pg_catalog.count(*) AS exposures, {built} AS items
		FROM {exposures} AS e{elements}	-- after a change of these columns, apply what bloom_feed_sql() returns
		WHERE {exposures_in_batch}
			AND {exposed}
		GROUP BY {user} ORDER BY {user} LIMIT 2000) AS b;
	IF filters OPERATOR(pg_catalog.=) 2000 AND these IS NULL THEN
		after := shown[2000];
		mine := ARRAY(SELECT m.u FROM pg_catalog.unnest(mine) AS m(u) WHERE m.u {<=} after{collate});
	END IF;
	gone := ARRAY(SELECT m.u FROM pg_catalog.unnest(mine) AS m(u)
		WHERE NOT EXISTS (SELECT FROM pg_catalog.unnest(shown) AS s(u) WHERE s.u {=} m.u{collate}));
	ended := pg_catalog.cardinality(gone);

	-- If nobody has an exposure in the window, the table or a clock is wrong: change nothing.
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
	-- written once per day, to say that it was rebuilt.
	INSERT INTO {feed}.filters AS f (user_id, items, filled_until)
	SELECT s.u, s.i, filled FROM ROWS FROM (pg_catalog.unnest(shown), pg_catalog.unnest(built)) AS s(u, i)
	WHERE EXISTS (SELECT FROM pg_catalog.unnest(mine) AS m(u) WHERE m.u {=} s.u{collate})
	ON CONFLICT (user_id) DO UPDATE SET items = excluded.items, filled_until = excluded.filled_until
	WHERE f.items OPERATOR({bloom}.=) excluded.items IS NOT TRUE
		OR f.filled_until OPERATOR(pg_catalog.>) (filled OPERATOR(pg_catalog.-) interval '1 day') IS NOT TRUE;
	IF ended OPERATOR(pg_catalog.>) 0 THEN
		DELETE FROM {feed}.filters AS f WHERE f.user_id {=} ANY (gone{collate});
	END IF;

	-- The rows that are not: make one for users who had none.  Users who have got one
	-- since the snapshot, or are getting one now, are busy, like those whose rows others have
	-- locked.
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
