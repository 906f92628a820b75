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
SET plan_cache_mode = force_custom_plan AS {$}	-- each batch has other bounds
#variable_conflict use_variable
DECLARE
	since timestamp with time zone := {window_start};
	batch_from {user_type} := after;
	batch_name text := CASE WHEN after IS NULL THEN '(none)' ELSE concat(after) END;
	batch_to {user_type};
	filled timestamp with time zone;
	n_before bigint := n_removed;
	prepared boolean;
	yesterday timestamp with time zone;
BEGIN
	PERFORM bloomexp.require_batch(cardinality(wanted));
	PERFORM bloomexp.require_trusted(t) FROM bloomexp.tables_of({exposures_literal}) AS t;
	busy := ARRAY[]::{user_type}[];
	again := false;
	-- Citus sends statements to the shards as they are, so only filters that are written or
	-- removed are counted; a dry run counts all.

	-- The next user whose hash is divisible by 16,000 ends the batch: a count would have to
	-- bring all these users here.
	IF wanted IS NULL THEN
		SELECT f.user_id INTO batch_to FROM {feed}.filters AS f
		WHERE (batch_from IS NULL OR f.user_id {>} batch_from{collate})
				AND (upto IS NULL OR f.user_id {<=} upto{collate})
			AND mod(hashtext(concat(f.user_id)), 16000) = 0
		ORDER BY f.user_id LIMIT 1;
		after := batch_to;
		batch_to := coalesce(batch_to, upto);
	END IF;
	n_exposures := (SELECT count(*) FROM {exposures} AS e{elements}
		WHERE (wanted IS NULL OR {user} {=} ANY (wanted{collate}))
			AND (batch_from IS NULL OR {user} {>} batch_from{collate})
			AND (batch_to IS NULL OR {user} {<=} batch_to{collate}) AND {exposed});
	-- Who loses more than half of what is not too old.
	SELECT n_examined + count(*), n_removed + count(f.items) FILTER (WHERE s.user_id IS NULL),
		n_halved + count(*) FILTER (WHERE bloomexp.items_to_keep(f.items, f.filled_until, {width})
			> 2 * coalesce(s.n, 0))
	INTO n_examined, n_removed, n_halved
	FROM {feed}.filters AS f
	LEFT JOIN (
		SELECT {user} AS user_id, count(DISTINCT {item}{item_collate}) AS n
		FROM {exposures} AS e{elements}
		WHERE (wanted IS NULL OR {user} {=} ANY (wanted{collate}))
			AND (batch_from IS NULL OR {user} {>} batch_from{collate})
			AND (batch_to IS NULL OR {user} {<=} batch_to{collate})
			AND {exposed}
		GROUP BY {user}) AS s ON s.user_id {=} f.user_id
	WHERE (wanted IS NULL OR f.user_id {=} ANY (wanted{collate}))
		AND (batch_from IS NULL OR f.user_id {>} batch_from{collate})
		AND (batch_to IS NULL OR f.user_id {<=} batch_to{collate});

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
		SELECT count(*), coalesce(sum(octet_length(b.items::bytea) + 4), 0)
		INTO n_filters, n_bytes
		FROM (
			SELECT {user} AS user_id, bloomexp.agg({item}, {fpr}) AS items
			FROM {exposures} AS e{elements}
			WHERE (wanted IS NULL OR {user} {=} ANY (wanted{collate}))
			AND (batch_from IS NULL OR {user} {>} batch_from{collate})
			AND (batch_to IS NULL OR {user} {<=} batch_to{collate})
			AND {exposed}
			GROUP BY {user}) AS b;
		RETURN;
	END IF;

	-- All exposures before this time are in the next statement's snapshots: read it first.
	-- While a transaction is prepared, no time moves on: when it began cannot be known.
	SELECT LEAST(clock_timestamp(), to_timestamp(min(
			CASE WHEN n.success THEN split_part(n.result, ' ', 1)::double precision END))),
		bool_or(n.success AND split_part(n.result, ' ', 2) = 'prepared'), bool_and(n.success)
	INTO STRICT filled, prepared, again
	FROM run_command_on_all_nodes({oldest_literal}) AS n;
	IF again IS NOT TRUE THEN
		RAISE EXCEPTION 'could not read the oldest transaction of each node'
			USING ERRCODE = 'connection_failure', HINT = 'Batches before this one are done. '
				'Call the rebuild again when all nodes can be reached.';
	END IF;
	again := false;
	-- an interval that equals 0 can move a time: '-12 months 360 days'
	filled := LEAST(filled, filled - overlap);

	yesterday := filled - interval '1 day';	-- unchanged filters are written once a day
	INSERT INTO {feed}.filters AS f (user_id, items, filled_until)
	SELECT {user}, bloomexp.agg({item}, {fpr}), CASE WHEN NOT prepared THEN filled END
	FROM {exposures} AS e{elements}
	WHERE (wanted IS NULL OR {user} {=} ANY (wanted{collate}))
			AND (batch_from IS NULL OR {user} {>} batch_from{collate})
			AND (batch_to IS NULL OR {user} {<=} batch_to{collate})
			AND {exposed} AND {bytes_of}({user}) <= 2000	-- who has no place in a row
	GROUP BY {user}
	ON CONFLICT (user_id) DO UPDATE SET
		items = excluded.items,
		filled_until = CASE WHEN prepared THEN f.filled_until ELSE excluded.filled_until END,
		pending = 0, recent = ARRAY[]::bigint[]
	WHERE bloomexp.eq(f.items, excluded.items) IS NOT TRUE
		OR f.filled_until > yesterday IS NOT TRUE;
	GET DIAGNOSTICS n_filters = ROW_COUNT;
	IF n_removed > n_before THEN
		DELETE FROM {feed}.filters AS f
		WHERE (wanted IS NULL OR f.user_id {=} ANY (wanted{collate}))
			AND (batch_from IS NULL OR f.user_id {>} batch_from{collate})
			AND (batch_to IS NULL OR f.user_id {<=} batch_to{collate})
			AND NOT EXISTS (
				SELECT FROM {exposures} AS e{elements} WHERE {user} {=} f.user_id AND {exposed});
	END IF;
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
	after := batch_from;
	again := true;
END
{$};
