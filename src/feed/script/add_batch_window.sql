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
	newest timestamp with time zone := bloomexp.slice_start(present, {width}, {slices});
	slice timestamp with time zone;
	n bigint;
	n_written bigint := 0;
BEGIN
	PERFORM bloomexp.require_same_length(
		cardinality(user_ids), cardinality(items), cardinality(shown_at));
	-- Lock the rows, in the order of users, so that batches do not deadlock, and only then look.
	INSERT INTO {feed}.filters AS f (user_id)
	SELECT DISTINCT s.user_id{collate}
	FROM ROWS FROM (unnest(user_ids), unnest(items), unnest(shown_at)) AS s(user_id, item, at)
	WHERE s.user_id IS NOT NULL AND s.item IS NOT NULL AND s.at >= oldest
	ORDER BY 1
	ON CONFLICT (user_id) DO UPDATE SET pending = f.pending WHERE false;

	FOR slice IN	-- the oldest first
		SELECT DISTINCT bloomexp.slice_start(LEAST(s.at, present), {width}, {slices})
		FROM unnest(shown_at) AS s(at) WHERE s.at >= oldest ORDER BY 1
	LOOP
		UPDATE {feed}.filters AS f SET
			since = LEAST(GREATEST(f.since, slice), newest),
			items = bloomexp.items_after(f.items, f.recent, f.since, n.hashes, slice, newest,
				{item_kind}, {width}, {slices}, {fpr}),
			pending = 0,
			recent = bloomexp.recent_after(f.recent, f.since, n.hashes, slice, newest)
		FROM (
			SELECT s.user_id{collate} AS user_id,
				bloomexp.hashes(array_agg(s.item{item_collate})) AS hashes
			FROM ROWS FROM (unnest(user_ids), unnest(items), unnest(shown_at))
				AS s(user_id, item, at)
			WHERE s.item IS NOT NULL AND s.at >= oldest
				AND bloomexp.slice_start(LEAST(s.at, present), {width}, {slices}) = slice
			GROUP BY 1 ORDER BY 1) AS n	-- in order, as the rows lie in the table
		WHERE f.user_id {=} n.user_id
			AND bloomexp.row_changes(f.items, f.pending, f.recent, f.since, n.hashes, slice, newest,
				{item_kind}, {width}, {slices}, {fpr});
		GET DIAGNOSTICS n = ROW_COUNT;
		n_written := n_written + n;
	END LOOP;
	-- Rows that were not written have all of it already, or something keeps them away.
	IF n_written < cardinality(user_ids) AND EXISTS (
		SELECT FROM (
			SELECT s.user_id{collate} AS user_id, array_agg(s.item) AS items
			FROM ROWS FROM (unnest(user_ids), unnest(items), unnest(shown_at))
				AS s(user_id, item, at)
			WHERE s.user_id IS NOT NULL AND s.item IS NOT NULL AND s.at >= oldest
			GROUP BY 1) AS n
		LEFT JOIN {feed}.filters AS f ON f.user_id {=} n.user_id
		WHERE cardinality(bloomexp.exclude(n.items{item_collate}, f.items, f.recent)) > 0) THEN
		PERFORM bloomexp.row_not_written({filters_literal});
	END IF;
END
{$};
