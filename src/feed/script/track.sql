-- Add the exposures of a statement to the rows of their users.
CREATE OR REPLACE FUNCTION {feed}.track() RETURNS pg_catalog.trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC' AS {$}	-- whatever type the time column gets
#variable_conflict use_variable
DECLARE
	since timestamp with time zone := {window_start};
	written {user_type}[];
	n_users bigint;
BEGIN
	PERFORM bloomexp.require_trusted(TG_RELID);
	-- A row is locked before it is looked at, even if nothing is new: a rebuild waits for it.  In
	-- the order of users, so that two statements do not deadlock.  Nearly always "recent" has room.
	WITH incoming AS (
		SELECT {user}{collate} AS user_id,
			bloomexp.new_hashes(bloomexp.hashes(array_agg({item}{item_collate})),
				ARRAY[]::bigint[]) AS hashes
		FROM new_rows AS e{elements} WHERE {exposed}
		GROUP BY 1
		ORDER BY 1),
	changed AS (
		INSERT INTO {feed}.filters AS f (user_id, recent)
		SELECT i.user_id,
			CASE WHEN cardinality(i.hashes) <= {max_recent}
				THEN i.hashes ELSE ARRAY[]::bigint[] END
		FROM incoming AS i
		ON CONFLICT (user_id) DO UPDATE SET
			pending = 0,
			recent = bloomexp.new_hashes(excluded.recent, f.recent) || f.recent
			WHERE NOT excluded.recent <@ f.recent
				AND cardinality(f.recent) + cardinality(excluded.recent) <= {max_recent}
		RETURNING f.user_id, cardinality(f.recent) > 0 AS has_items)
	SELECT array_agg(c.user_id), (SELECT count(*) FROM incoming) INTO written, n_users
	FROM changed AS c WHERE c.has_items;
	-- An older snapshot can show a row that a rebuild has removed since then: that is an error.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM FROM {feed}.filters AS f
		WHERE f.user_id {=} ANY (ARRAY(	-- no join: with a unique key it stops at the first row
			SELECT {user}{collate} FROM new_rows AS e{elements} WHERE {exposed}))
		FOR UPDATE;
	END IF;

	-- The others go the long way, unless their rows have all of it.
	IF cardinality(written) = n_users THEN
		RETURN NULL;
	END IF;
	PERFORM {feed}.remember(s.user_id, s.items, false)
	FROM (
		SELECT {user}::{user_type}{collate} AS user_id,
			array_agg({item})::{item_type}[] AS items
		FROM new_rows AS e{elements}
		WHERE {exposed} AND NOT EXISTS (
			SELECT FROM unnest(written) AS w(user_id) WHERE w.user_id {=} {user}{collate})
		GROUP BY 1) AS s
	LEFT JOIN {feed}.filters AS f ON f.user_id {=} s.user_id	-- no row: remember() fails
	WHERE (bloomexp.hashes(s.items{item_collate}) <@ f.recent) IS NOT TRUE;
	RETURN NULL;
END
{$};
