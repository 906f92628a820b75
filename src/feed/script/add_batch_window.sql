-- A batch of a stream, in any order and any number of times: each of the users was shown the item
-- at the same place of "items", at the time there.  NULL is nobody, nothing and never; a time in
-- the future counts as now, and what has left the window already does not count.
CREATE OR REPLACE FUNCTION {feed}.add_batch(user_ids {user_type}[], items {item_type}[],
	shown_at timestamp with time zone[]) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_variable
DECLARE
	present timestamp with time zone := clock_timestamp();
	oldest timestamp with time zone := present - interval {hours};
	n_users bigint;
	written {user_type}[];
BEGIN
	PERFORM bloomexp.require_same_length(
		cardinality(user_ids), cardinality(items), cardinality(shown_at));
	-- This locks a row before it looks at it, and the rows in the order of users, so that batches
	-- do not deadlock.  It adds up to 247 items of a user, if all are of one slice that is not
	-- older than that of the row.
	WITH incoming AS MATERIALIZED (
		SELECT b.user_id{collate} AS user_id,
			bloomexp.slice_start(LEAST(min(b.at), present), {width}, {slices}) AS first_slice,
			bloomexp.slice_start(LEAST(max(b.at), present), {width}, {slices}) AS last_slice,
			-- each once; none if they are more than 247
			bloomexp.recent_after(ARRAY[]::bigint[],
				bloomexp.hashes(array_agg(b.item{item_collate}))) AS hashes
		FROM ROWS FROM (unnest(user_ids), unnest(items), unnest(shown_at)) AS b(user_id, item, at)
		WHERE b.user_id IS NOT NULL AND b.item IS NOT NULL AND b.at >= oldest
		GROUP BY 1 ORDER BY 1),
	changed AS (
		INSERT INTO {feed}.filters AS f (user_id, since, recent)
		SELECT i.user_id, CASE WHEN i.first_slice = i.last_slice THEN i.last_slice END,
			CASE WHEN i.first_slice = i.last_slice THEN i.hashes ELSE ARRAY[]::bigint[] END
		FROM incoming AS i
		ON CONFLICT (user_id) DO UPDATE SET
			since = excluded.since,
			items = bloomexp.items_after(f.items, f.recent, f.since, excluded.recent,
				excluded.since, excluded.since, {width}, {slices}, {item_kind}, {fpr}),
			pending = 0,
			recent = bloomexp.recent_after(f.recent, f.since, excluded.recent,
				excluded.since, excluded.since, {width}, {slices})
		-- CASE, because what is of several slices has no "since", which row_changes() needs
		WHERE CASE WHEN f.since <= excluded.since THEN
			bloomexp.row_changes(f.items, f.pending, f.recent, f.since, excluded.recent,
				excluded.since, excluded.since, {width}, {slices}, {item_kind}, {fpr}) END
		-- without items a row was only made, or only began a slice
		RETURNING f.user_id, cardinality(f.recent) > 0 AS has_items)
	SELECT array_agg(c.user_id), (SELECT count(*) FROM incoming) INTO written, n_users
	FROM changed AS c WHERE c.has_items;
	-- Fails if an older snapshot shows a row that others have removed since.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM FROM {feed}.filters AS f WHERE f.user_id {=} ANY (user_ids{collate}) FOR UPDATE;
	END IF;

	-- The others one by one, slice by slice, the oldest first, if that changes something.  No join:
	-- it could come in another order, or read all filters.
	IF cardinality(written) = n_users THEN
		RETURN;
	END IF;
	PERFORM {feed}.add(s.user_id, s.items, s.at)
	FROM (
		SELECT b.user_id{collate} AS user_id, array_agg(b.item) AS items, max(b.at) AS at
		FROM ROWS FROM (unnest(user_ids), unnest(items), unnest(shown_at)) AS b(user_id, item, at)
		WHERE b.user_id IS NOT NULL AND b.item IS NOT NULL AND b.at >= oldest
			AND NOT EXISTS (SELECT FROM unnest(written) AS w(user_id)
				WHERE w.user_id {=} b.user_id{collate})
		GROUP BY 1, bloomexp.slice_start(LEAST(b.at, present), {width}, {slices})
		ORDER BY 1, 3) AS s
	WHERE (SELECT bloomexp.row_changes(f.items, f.pending, f.recent, f.since,
			bloomexp.hashes(s.items{item_collate}), s.at, present,
			{width}, {slices}, {item_kind}, {fpr})
		FROM {feed}.filters AS f WHERE f.user_id {=} s.user_id) IS NOT FALSE;
END
{$};
