-- One batch of a rebuild: the users after "after", about 16,000 of them, or "these".  Citus
-- sends it to the shards as it is, so a rebuild counts only the filters that it has written
-- or removed; a dry run counts all.  It reports how far it came (NULL: to the end); "again"
-- says that a lock stopped it, and it did nothing.  Without Citus it has "busy" users.
CREATE OR REPLACE FUNCTION {feed}.rebuild_batch(
	these {user_type}[], part integer, parts integer, overlap interval, dry_run boolean, allow_empty boolean,
	INOUT after {user_type},
	OUT exposures bigint, OUT filters bigint, OUT bytes bigint, OUT ended bigint,
	OUT busy {user_type}[], OUT again boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan AS {$}
#variable_conflict use_column
<<v>>
DECLARE
	since timestamp with time zone := {begin};
	was_after {user_type} := after;
	upto {user_type};
	filled timestamp with time zone;
	yesterday timestamp with time zone;
BEGIN
	again := false;
	filters := 0;
	ended := 0;
{rebuild_range}

	-- If nobody has an exposure in the window, the table or a clock is wrong: change nothing.
	IF NOT dry_run AND NOT allow_empty THEN
		PERFORM FROM {exposures} AS e{elements} WHERE {exposed} LIMIT 1;
		IF NOT FOUND THEN
			RAISE EXCEPTION 'no exposure since % in %', since, {exposures_literal}
				USING ERRCODE = 'no_data_found', DETAIL = 'No filter was removed.',
					HINT = 'If that is right, call the rebuild with allow_empty => true, which removes all filters.';
		END IF;
	END IF;
	IF dry_run THEN
		SELECT coalesce(pg_catalog.sum(b.exposures), 0), pg_catalog.count(*), coalesce(pg_catalog.sum(pg_catalog.octet_length(b.items::bytea) OPERATOR(pg_catalog.+) 4), 0)
		INTO exposures, filters, bytes
		FROM (
			SELECT {user} AS user_id, pg_catalog.count(*) AS exposures, {built} AS items
			FROM {exposures} AS e{elements} WHERE {exposures_in_batch} AND {exposed} GROUP BY {user}) AS b;
		SELECT pg_catalog.count(*) INTO ended FROM {feed}.filters AS f
		WHERE {filters_in_batch} AND NOT EXISTS (SELECT FROM {exposures} AS e{elements} WHERE {user} {=} f.user_id AND {exposed});
		RETURN;
	END IF;

	-- All exposures before this time are in the next statement's snapshots: read it first.
	SELECT LEAST(pg_catalog.clock_timestamp(), pg_catalog.to_timestamp(pg_catalog.min(n.result::double precision))) INTO STRICT filled
	FROM pg_catalog.run_command_on_all_nodes({oldest_literal}) AS n;
	filled := LEAST(filled, filled OPERATOR(pg_catalog.-) overlap);	-- '-12 months 360 days' is not negative

	yesterday := filled OPERATOR(pg_catalog.-) interval '1 day';	-- unchanged filters are written once per day
	INSERT INTO {feed}.filters AS f (user_id, items, filled_until)
	SELECT {user}, {built}, v.filled FROM {exposures} AS e{elements}	-- after a change of these columns, apply what bloom_feed_sql() returns
	WHERE {exposures_in_batch} AND {exposed} GROUP BY {user}
	ON CONFLICT (user_id) DO UPDATE SET items = excluded.items, filled_until = excluded.filled_until
	WHERE f.items OPERATOR({bloom}.=) excluded.items IS NOT TRUE
		OR f.filled_until OPERATOR(pg_catalog.>) yesterday IS NOT TRUE;
	GET DIAGNOSTICS filters = ROW_COUNT;
	DELETE FROM {feed}.filters AS f
	WHERE {filters_in_batch} AND NOT EXISTS (SELECT FROM {exposures} AS e{elements} WHERE {user} {=} f.user_id AND {exposed});
	GET DIAGNOSTICS ended = ROW_COUNT;
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
	after := was_after;
	again := true;
END
{$};
