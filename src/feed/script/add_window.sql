-- Items were shown to a user, now or at another time; a time in the future counts as now.
CREATE OR REPLACE FUNCTION {feed}.add(user_id {user_type}, items {item_type}[],
	shown_at timestamp with time zone DEFAULT pg_catalog.clock_timestamp()) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_variable
DECLARE
	hashes bigint[] := bloomexp.hashes(items{item_collate});
	present timestamp with time zone;
BEGIN
	-- The window is of days of 24 hours, where clocks change, too.
	IF (add.user_id IS NOT NULL AND cardinality(hashes) > 0
		AND shown_at >= clock_timestamp() - interval {hours}) IS NOT TRUE THEN
		RETURN;	-- nobody, nothing, or what has left the window already
	END IF;
	PERFORM {feed}.lock(add.user_id);
	present := clock_timestamp();	-- after the lock: not before what others have added
	IF (SELECT bloomexp.row_changes(f.items, f.pending, f.recent, f.since, hashes, shown_at,
			present, {width}, {slices}, {item_kind}, {fpr})
		FROM {feed}.filters AS f WHERE f.user_id {=} add.user_id{collate}) IS NOT FALSE THEN
		UPDATE {feed}.filters AS f SET
			since = bloomexp.since_after(f.recent, f.since, hashes, shown_at, present,
				{width}, {slices}),
			items = bloomexp.items_after(f.items, f.recent, f.since, hashes, shown_at, present,
				{width}, {slices}, {item_kind}, {fpr}),
			pending = 0,
			recent = bloomexp.recent_after(f.recent, f.since, hashes, shown_at, present,
				{width}, {slices})
		WHERE f.user_id {=} add.user_id{collate};
		IF NOT FOUND THEN
			PERFORM bloomexp.row_not_written({filters_literal});
		END IF;
	END IF;
END
{$};
