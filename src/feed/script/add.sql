-- Items were shown to a user; when does not matter.
CREATE OR REPLACE FUNCTION {feed}.add(user_id {user_type}, items {item_type}[],
	shown_at timestamp with time zone DEFAULT pg_catalog.clock_timestamp()) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_variable
DECLARE
	hashes bigint[] := bloomexp.hashes(items{item_collate});
BEGIN
	IF (add.user_id IS NOT NULL AND cardinality(hashes) > 0) IS NOT TRUE OR shown_at IS NULL THEN
		RETURN;	-- nobody, nothing or never
	END IF;
	PERFORM {feed}.lock(add.user_id);
	IF (SELECT bloomexp.row_changes(f.items, f.pending, f.recent, hashes,
			{item_kind}, {fpr}, {capacity})
		FROM {feed}.filters AS f WHERE f.user_id {=} add.user_id{collate}) IS NOT FALSE THEN
		UPDATE {feed}.filters AS f SET
			items = bloomexp.items_after(f.items, f.recent, hashes,
				{item_kind}, {fpr}, {capacity}),
			pending = 0,
			recent = bloomexp.recent_after(f.recent, hashes)
		WHERE f.user_id {=} add.user_id{collate};
		IF NOT FOUND THEN
			PERFORM bloomexp.row_not_written({filters_literal});
		END IF;
	END IF;
END
{$};
