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
	written {user_type}[];
	n_users bigint;
BEGIN
	PERFORM bloomexp.require_same_length(
		cardinality(user_ids), cardinality(items), cardinality(shown_at));
	SELECT array_agg(b.user_id), array_agg(b.item), array_agg(LEAST(b.at, present))
	INTO user_ids, items, shown_at
	FROM ROWS FROM (unnest(user_ids), unnest(items), unnest(shown_at)) AS b(user_id, item, at)
	WHERE b.user_id IS NOT NULL AND b.item IS NOT NULL AND b.at >= present - interval {hours};

	-- A row is locked before it is looked at, and rows in the order of users, so that batches do
	-- not deadlock.  Nearly always all is of the slice of "recent", which has room for what is new.
	WITH incoming AS (
		SELECT b.user_id{collate} AS user_id,
			bloomexp.slice_start(max(b.at), {width}, {slices}) AS slice,
			bloomexp.slice_start(min(b.at), {width}, {slices}) AS first_slice,
			bloomexp.new_hashes(bloomexp.hashes(array_agg(b.item{item_collate})),
				ARRAY[]::bigint[]) AS hashes
		FROM ROWS FROM (unnest(user_ids), unnest(items), unnest(shown_at))
			AS b(user_id, item, at)
		GROUP BY 1
		ORDER BY 1),
	changed AS (
		INSERT INTO {feed}.filters AS f (user_id, since, recent)
		SELECT i.user_id, i.slice,
			CASE WHEN i.slice = i.first_slice AND cardinality(i.hashes) <= {max_recent}
				THEN i.hashes ELSE ARRAY[]::bigint[] END
		FROM incoming AS i
		ON CONFLICT (user_id) DO UPDATE SET
			pending = 0,
			recent = bloomexp.new_hashes(excluded.recent, f.recent) || f.recent
			WHERE f.since = excluded.since AND NOT excluded.recent <@ f.recent
				AND cardinality(f.recent) + cardinality(excluded.recent) <= {max_recent}
		RETURNING f.user_id, cardinality(f.recent) > 0 AS has_items)
	SELECT array_agg(c.user_id), (SELECT count(*) FROM incoming) INTO written, n_users
	FROM changed AS c WHERE c.has_items;
	-- An older snapshot can show a row that others have removed since then: that is an error.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM FROM {feed}.filters AS f WHERE f.user_id {=} ANY (user_ids{collate}) FOR UPDATE;
	END IF;

	-- The others go the long way, unless their rows have all of it and nothing is pending.
	IF cardinality(written) = n_users THEN
		RETURN;
	END IF;
	FOR shown IN
		SELECT s.user_id, s.items, s.times
		FROM (
			SELECT b.user_id{collate} AS user_id, array_agg(b.item) AS items,
				array_agg(b.at) AS times, min(b.at) AS oldest, max(b.at) AS newest
			FROM ROWS FROM (unnest(user_ids), unnest(items), unnest(shown_at))
				AS b(user_id, item, at)
			WHERE NOT EXISTS (
				SELECT FROM unnest(written) AS w(user_id) WHERE w.user_id {=} b.user_id{collate})
			GROUP BY 1) AS s
		LEFT JOIN {feed}.filters AS f ON f.user_id {=} s.user_id	-- no row: remember() fails
		WHERE (f.since = bloomexp.slice_start(s.oldest, {width}, {slices})
			AND f.since = bloomexp.slice_start(s.newest, {width}, {slices})
			AND f.pending = 0 AND bloomexp.hashes(s.items{item_collate}) <@ f.recent) IS NOT TRUE
	LOOP
		PERFORM {feed}.remember(shown.user_id, shown.items, shown.times, false);
	END LOOP;
END
{$};
