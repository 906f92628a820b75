-- Forget what the last take() returned and nobody saw: those of the items that it returned, if no
-- call has added, merged or confirmed anything since then.  Returns them.
CREATE OR REPLACE FUNCTION {feed}.take_back(user_id {user_type}, items {item_type}[])
RETURNS {item_type}[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_variable
BEGIN
	PERFORM {feed}.lock(take_back.user_id);
	items := (SELECT bloomexp.among(take_back.items{item_collate}, f.recent[1 : f.pending])
		FROM {feed}.filters AS f WHERE f.user_id {=} take_back.user_id{collate});
	IF cardinality(items) > 0 THEN
		UPDATE {feed}.filters AS f SET
			pending = f.pending - cardinality(take_back.items),
			recent = bloomexp.new_hashes(f.recent, bloomexp.hashes(take_back.items{item_collate}))
		WHERE f.user_id {=} take_back.user_id{collate};
		IF NOT FOUND THEN
			PERFORM bloomexp.row_not_written({filters_literal});
		END IF;
	END IF;
	RETURN coalesce(items, ARRAY[]::{item_type}[]);
END
{$};
