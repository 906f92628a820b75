-- One batch of a rebuild: the "wanted" users, or those after "after", about 16,000 of them, up to
-- "upto".  Citus sends it to the shards as it is, so a rebuild counts only the filters that it has
-- written or removed; a dry run counts all.  It returns how far it came (NULL: to the end);
-- "again" says that a lock stopped it, and it did nothing.  Without Citus it has "busy" users.
CREATE OR REPLACE FUNCTION {feed}.rebuild_batch(
	wanted {user_type}[], upto {user_type}, overlap interval, dry_run boolean, allow_removed boolean,
	INOUT after {user_type},
	INOUT n_examined bigint, INOUT n_ended bigint,	-- filters that it has looked at and removed, with those of the batches before
	OUT n_exposures bigint, OUT n_filters bigint, OUT n_bytes bigint,
	OUT busy {user_type}[], OUT again boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET row_security = off	-- an error if row security would hide rows
SET plan_cache_mode = force_custom_plan AS {$}	-- each batch has other bounds
#variable_conflict use_variable
DECLARE
	since timestamp with time zone := {begin};
	batch_from {user_type} := after;
	batch_to {user_type};
	filled timestamp with time zone;
	yesterday timestamp with time zone;
	n_before bigint := n_ended;
BEGIN
{rebuild_checks}
	again := false;
	n_filters := 0;

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
	filled := LEAST(filled, filled - overlap);	-- '-12 months 360 days' is not negative

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
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
	after := batch_from;
	again := true;
END
{$};
