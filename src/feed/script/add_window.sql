-- Items were shown to a user, now or at another time; a time in the future counts as now.
CREATE OR REPLACE FUNCTION {feed}.add(user_id {user_type}, items {item_type}[],
	shown_at timestamp with time zone DEFAULT pg_catalog.clock_timestamp()) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
BEGIN
	IF user_id IS NOT NULL AND cardinality(bloomexp.hashes(items{item_collate})) > 0
		AND shown_at >= clock_timestamp() - interval {hours} THEN
		PERFORM {feed}.remember(user_id, items, ARRAY[shown_at]);
	END IF;
END
{$};
