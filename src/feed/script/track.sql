-- Add the exposures of a statement to the rows of their users.
CREATE OR REPLACE FUNCTION {feed}.track() RETURNS pg_catalog.trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC' AS {$}	-- whatever type the time column gets
#variable_conflict use_variable
DECLARE
	since timestamp with time zone := {window_start};
	n_left bigint;
BEGIN
	PERFORM bloomexp.require_trusted(TG_RELID);
	-- Lock the rows, even if nothing is new, because a rebuild waits for that, and only then look.
	-- In the order of users, so that two statements do not deadlock.
	INSERT INTO {feed}.filters AS f (user_id)
	SELECT DISTINCT {user}{collate} FROM new_rows AS e{elements} WHERE {exposed} ORDER BY 1
	ON CONFLICT (user_id) DO UPDATE SET pending = f.pending WHERE false;

	WITH n AS MATERIALIZED (
		SELECT {user}{collate} AS user_id,
			bloomexp.hashes(array_agg({item}{item_collate})) AS hashes
		FROM new_rows AS e{elements} WHERE {exposed}
		GROUP BY 1),
	written AS (
		UPDATE {feed}.filters AS f SET
			items = bloomexp.items_after(f.items, f.recent, n.hashes,
				{item_kind}, {fpr}, {capacity}),
			pending = 0,
			recent = bloomexp.recent_after(f.recent, n.hashes)
		FROM n
		WHERE f.user_id {=} n.user_id AND bloomexp.row_changes(0, f.recent, n.hashes)
		RETURNING 1)
	SELECT (SELECT count(*) FROM n) - count(*) INTO n_left FROM written;
	-- Rows that were not written have all of it already, or something keeps them away.
	IF n_left > 0 AND EXISTS (
		SELECT FROM (
			SELECT {user}{collate} AS user_id, array_agg({item}) AS items
			FROM new_rows AS e{elements} WHERE {exposed}
			GROUP BY 1) AS n
		LEFT JOIN {feed}.filters AS f ON f.user_id {=} n.user_id
		WHERE cardinality(bloomexp.exclude(n.items{item_collate}, f.items, f.recent)) > 0) THEN
		PERFORM bloomexp.row_not_written({filters_literal});
	END IF;
	RETURN NULL;
END
{$};
