-- Add the exposures of a statement to the rows of their users.
CREATE OR REPLACE FUNCTION {feed}.track() RETURNS pg_catalog.trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC' AS {$}	-- whatever type the time column gets
#variable_conflict use_variable
DECLARE
	since timestamp with time zone := {window_start};
	n_users bigint;
	written {user_type}[];
BEGIN
	PERFORM bloomexp.require_trusted(TG_RELID);
	-- This locks a row before it looks at it, even if nothing is new, because a rebuild waits for
	-- that, and the rows in the order of users, so that two statements do not deadlock.  It adds
	-- what fits into "recent" of a row without others.
	WITH n AS MATERIALIZED (
		SELECT {user}{collate} AS user_id,
			bloomexp.recent_after(ARRAY[]::bigint[],
				bloomexp.hashes(array_agg({item}{item_collate}))) AS hashes
		FROM new_rows AS e{elements} WHERE {exposed}
		GROUP BY 1 ORDER BY 1),
	changed AS (
		INSERT INTO {feed}.filters AS f (user_id, recent)
		SELECT n.user_id, n.hashes FROM n
		ON CONFLICT (user_id) DO UPDATE SET
			items = bloomexp.items_after(f.items, f.recent, excluded.recent,
				{item_kind}, {fpr}, {capacity}),
			pending = 0,
			recent = bloomexp.recent_after(f.recent, excluded.recent)
		WHERE bloomexp.row_changes(0, f.recent, excluded.recent)
		RETURNING f.user_id, cardinality(f.recent) > 0 AS has_items)
	SELECT array_agg(c.user_id), (SELECT count(*) FROM n) INTO written, n_users
	FROM changed AS c WHERE c.has_items;

	-- The others one by one, unless their rows have all of it.
	IF cardinality(written) = n_users THEN
		RETURN NULL;
	END IF;
	PERFORM {feed}.remember(n.user_id, n.items)
	FROM (
		SELECT {user}::{user_type}{collate} AS user_id, array_agg({item})::{item_type}[] AS items
		FROM new_rows AS e{elements}
		WHERE {exposed} AND NOT EXISTS (SELECT FROM unnest(written) AS w(user_id)
			WHERE w.user_id {=} {user}{collate})
		GROUP BY 1) AS n
	LEFT JOIN {feed}.filters AS f ON f.user_id {=} n.user_id
	WHERE cardinality(bloomexp.exclude(n.items{item_collate}, f.items, f.recent)) > 0;
	RETURN NULL;
END
{$};
