-- Add items to what a user was shown.  The other functions that add call it.
CREATE OR REPLACE FUNCTION {feed}.remember(user_id {user_type}, items {item_type}[])
RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_variable
DECLARE
	hashes bigint[] := bloomexp.hashes(items{item_collate});
BEGIN
	PERFORM {feed}.lock(remember.user_id);
	UPDATE {feed}.filters AS f SET
		items = bloomexp.items_after(f.items, f.recent, hashes, {item_kind}, {fpr}, {capacity}),
		pending = 0,
		recent = bloomexp.recent_after(f.recent, hashes)
	WHERE f.user_id {=} remember.user_id{collate}
		AND bloomexp.row_changes(f.pending, f.recent, hashes);
	-- Nothing is new, or something keeps the row away.
	IF NOT FOUND AND (
		SELECT bloomexp.row_changes(f.pending, f.recent, hashes)
		FROM {feed}.filters AS f WHERE f.user_id {=} remember.user_id{collate}) IS NOT FALSE THEN
		PERFORM bloomexp.row_not_written({filters_literal});
	END IF;
END
{$};
