-- Add the exposures of a statement to the rows of their users.
CREATE OR REPLACE FUNCTION {feed}.track() RETURNS pg_catalog.trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC' AS {$}	-- whatever type the time column gets
#variable_conflict use_variable
DECLARE
	since timestamp with time zone := {window_start};
	missing record;
BEGIN
	PERFORM bloomexp.require_trusted(TG_RELID);
	-- This locks a row before it looks at it, even if nothing is new, because a rebuild waits for
	-- that; and the rows in the order of users, so that two statements do not deadlock.  What is
	-- pending needs no confirmation (0): take_back() looks into the exposures.
	INSERT INTO {feed}.filters AS f (user_id, recent)
	SELECT {user}{collate}, bloomexp.recent_after(ARRAY[]::bigint[],
		bloomexp.hashes(array_agg({item}{item_collate})))
	FROM new_rows AS e{elements} WHERE {exposed}
	GROUP BY 1 ORDER BY 1
	ON CONFLICT (user_id) DO UPDATE SET
		items = bloomexp.items_after(f.items, f.recent, excluded.recent,
			{item_kind}, {fpr}, {capacity}),
		pending = 0,
		recent = bloomexp.recent_after(f.recent, excluded.recent)
	WHERE bloomexp.row_changes(f.items, 0, f.recent, excluded.recent,
		{item_kind}, {fpr}, {capacity});
	-- Fails if an older snapshot shows a row that a rebuild has removed since.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM FROM {feed}.filters AS f
		WHERE f.user_id {=} ANY (ARRAY(	-- no join: with a unique key it stops at the first row
			SELECT {user}{collate} FROM new_rows AS e{elements} WHERE {exposed}))
		FOR UPDATE;
	END IF;
	-- What is missing: users with more than 247 items, and what something has suppressed above,
	-- which is an error if it does so here.  No join: the planner does not know how many rows are
	-- new, and could read all filters.
	FOR missing IN
		SELECT s.user_id::{user_type} AS user_id, s.hashes
		FROM (
			SELECT {user}{collate} AS user_id,
				bloomexp.hashes(array_agg({item}{item_collate})) AS hashes
			FROM new_rows AS e{elements} WHERE {exposed}
			GROUP BY 1) AS s
		WHERE (SELECT bloomexp.row_changes(f.items, 0, f.recent, s.hashes,
				{item_kind}, {fpr}, {capacity})
			FROM {feed}.filters AS f WHERE f.user_id {=} s.user_id) IS NOT FALSE
	LOOP
		UPDATE {feed}.filters AS f SET
			items = bloomexp.items_after(f.items, f.recent, missing.hashes,
				{item_kind}, {fpr}, {capacity}),
			pending = 0,
			recent = bloomexp.recent_after(f.recent, missing.hashes)
		WHERE f.user_id {=} missing.user_id{collate};
		IF NOT FOUND THEN
			PERFORM bloomexp.row_not_written({filters_literal});
		END IF;
	END LOOP;
	RETURN NULL;
END
{$};
