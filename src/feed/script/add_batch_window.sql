-- A batch of a stream, in any order and any number of times: each of the users was shown the item
-- at the same place of "items", at the time there.  NULL is nobody, nothing and never; a time in
-- the future counts as now, and what has left the window already does not count.
CREATE OR REPLACE FUNCTION {feed}.add_batch(user_ids {user_type}[], items {item_type}[],
	shown_at timestamp with time zone[]) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_variable
DECLARE
	present timestamp with time zone := clock_timestamp();
	shown record;
BEGIN
	IF cardinality(user_ids) IS DISTINCT FROM cardinality(items)
		OR cardinality(items) IS DISTINCT FROM cardinality(shown_at) THEN
		RAISE EXCEPTION 'arrays of users, items and times must be of the same length'
			USING ERRCODE = 'array_subscript_error',
			DETAIL = concat('The lengths are ', cardinality(user_ids), ', ',
				cardinality(items), ' and ', cardinality(shown_at), '.');
	END IF;
	SELECT array_agg(b.user_id), array_agg(b.item), array_agg(LEAST(b.at, present))
	INTO user_ids, items, shown_at
	FROM ROWS FROM (unnest(user_ids), unnest(items), unnest(shown_at)) AS b(user_id, item, at)
	WHERE b.user_id IS NOT NULL AND b.item IS NOT NULL AND b.at >= present - interval {hours};

	-- All rows are locked before one is looked at, in the order of users: batches do not deadlock.
	INSERT INTO {feed}.filters AS f (user_id)
	SELECT DISTINCT b.user_id{collate} FROM unnest(user_ids) AS b(user_id) ORDER BY 1
	ON CONFLICT (user_id) DO UPDATE SET pending = f.pending WHERE false;
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		-- an error if a row that the snapshot shows was removed: a new one has nothing of it
		PERFORM FROM {feed}.filters AS f WHERE f.user_id {=} ANY (user_ids{collate}) FOR NO KEY UPDATE;
	END IF;

	FOR shown IN
		SELECT s.user_id, s.items, s.times, f.pending,
			f.since = bloomexp.slice_start(s.oldest, {width}, {slices})
				AND f.since = bloomexp.slice_start(s.newest, {width}, {slices}) AS of_slice,
			cardinality(f.recent) + cardinality(s.items) <= {max_recent} AS fits,
			bloomexp.hashes(
				bloomexp.exclude_first(s.items{item_collate}, NULL, NULL, f.recent)) AS fresh
		FROM (
			SELECT b.user_id{collate} AS user_id, array_agg(b.item) AS items,
				array_agg(b.at) AS times, min(b.at) AS oldest, max(b.at) AS newest
			FROM ROWS FROM (unnest(user_ids), unnest(items), unnest(shown_at))
				AS b(user_id, item, at)
			GROUP BY 1) AS s
		JOIN {feed}.filters AS f ON f.user_id {=} s.user_id
	LOOP
		IF shown.of_slice AND shown.fits AND cardinality(shown.fresh) > 0 THEN	-- nearly always
			UPDATE {feed}.filters AS f SET pending = 0, recent = shown.fresh || f.recent
			WHERE f.user_id {=} shown.user_id{collate};
			CONTINUE WHEN FOUND;
		END IF;
		CONTINUE WHEN shown.of_slice AND cardinality(shown.fresh) = 0 AND shown.pending = 0;
		PERFORM {feed}.remember(shown.user_id, shown.items, shown.times, false);
	END LOOP;
END
{$};
