-- Forget what the last take() returned and nobody saw: those of the items that it returned, if
-- they are no exposures, and none has come since then.  Returns them.
CREATE OR REPLACE FUNCTION {feed}.take_back(user_id {user_type}, items {item_type}[])
RETURNS {item_type}[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET row_security = off	-- an error if row security would hide rows
SET timezone = 'UTC' AS {$}	-- whatever type the time column gets
#variable_conflict use_variable
DECLARE
	since timestamp with time zone := {window_start};
	exposed bigint[];
	r record;	-- the row as it will be, and the items
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM bloomexp.not_read_committed('take_back()');
	END IF;
	PERFORM bloomexp.require_trusted(t) FROM bloomexp.tables_of({exposures_literal}) AS t;
	PERFORM {feed}.lock(take_back.user_id);
	-- After the lock, in a statement of its own: it sees what others have committed before.
	SELECT bloomexp.hashes(array_agg({item}{item_collate})) INTO exposed
	FROM {exposures} AS e{elements} WHERE {user} {=} take_back.user_id{collate} AND {exposed};
	SELECT n.* INTO r FROM {feed}.filters AS f,
		bloomexp.take_back_from_row(f.pending, f.recent,
			bloomexp.exclude(take_back.items{item_collate}, NULL, exposed)) AS n
	WHERE f.user_id {=} take_back.user_id{collate};
	UPDATE {feed}.filters AS f SET pending = r.pending, recent = r.recent
	WHERE f.user_id {=} take_back.user_id{collate} AND cardinality(r.items) > 0;
	IF NOT FOUND AND cardinality(r.items) > 0 THEN
		PERFORM bloomexp.row_not_written({filters_literal});
	END IF;
	RETURN coalesce(r.items, ARRAY[]::{item_type}[]);
END
{$};
