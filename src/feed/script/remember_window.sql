-- Add items to what a user was shown, with the time of each, or one for all.  The other functions
-- that add call it.
CREATE OR REPLACE FUNCTION {feed}.remember(user_id {user_type}, items {item_type}[],
	shown_at timestamp with time zone[]) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_variable
DECLARE
	hashes bigint[] := bloomexp.hashes(items{item_collate});
	present timestamp with time zone;
BEGIN
	PERFORM {feed}.lock(remember.user_id);
	present := clock_timestamp();	-- after the lock: not before what others have added
	UPDATE {feed}.filters AS f SET
		since = bloomexp.since_after(f.recent, f.since, hashes, shown_at, present,
			{width}, {slices}),
		items = bloomexp.items_after(f.items, f.recent, f.since, hashes, shown_at, present,
			{width}, {slices}, {item_kind}, {fpr}),
		pending = 0,
		recent = bloomexp.recent_after(f.recent, f.since, hashes, shown_at, present,
			{width}, {slices})
	WHERE f.user_id {=} remember.user_id{collate}
		AND bloomexp.row_changes(f.items, f.pending, f.recent, f.since, hashes, shown_at, present,
			{width}, {slices}, {item_kind}, {fpr});
	-- Nothing is new, or something keeps the row away.
	IF NOT FOUND AND (
		SELECT bloomexp.row_changes(f.items, f.pending, f.recent, f.since, hashes, shown_at, present,
			{width}, {slices}, {item_kind}, {fpr})
		FROM {feed}.filters AS f WHERE f.user_id {=} remember.user_id{collate}) IS NOT FALSE THEN
		PERFORM bloomexp.row_not_written({filters_literal});
	END IF;
END
{$};
