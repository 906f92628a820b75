-- Forget what the last take() returned and nobody saw: those of the items that it returned, if no
-- call has added, merged or confirmed anything since then.  Returns them.
CREATE OR REPLACE FUNCTION {feed}.take_back(user_id {user_type}, items {item_type}[])
RETURNS {item_type}[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_variable
DECLARE
	r record;	-- the row as it will be, and the items
BEGIN
	PERFORM {feed}.lock(take_back.user_id);
	SELECT n.* INTO r FROM {feed}.filters AS f,
		bloomexp.take_back_from_row(f.pending, f.recent, take_back.items{item_collate}) AS n
	WHERE f.user_id {=} take_back.user_id{collate};
	UPDATE {feed}.filters AS f SET pending = r.pending, recent = r.recent
	WHERE f.user_id {=} take_back.user_id{collate} AND cardinality(r.items) > 0;
	IF NOT FOUND AND cardinality(r.items) > 0 THEN
		PERFORM bloomexp.row_not_written({filters_literal});
	END IF;
	RETURN coalesce(r.items, ARRAY[]::{item_type}[]);
END
{$};
