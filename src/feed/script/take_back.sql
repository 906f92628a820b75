-- Forget what the last take() returned and nobody saw: those of the items that it returned, unless
{#alone}
-- something has been added, merged or confirmed since.  Returns these items.
{/alone}
{#tracked}
-- they are exposures, or an exposure has been added since.  Returns these items.
{/tracked}
{#untracked}
-- something remembers them.  take() itself remembers nothing, so this returns no item.
{/untracked}
CREATE OR REPLACE FUNCTION {feed}.take_back(user_id {user_type}, items {item_type}[])
RETURNS {item_type}[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{#tracked}
SET row_security = off	-- an error if row security would hide rows
SET timezone = 'UTC'	-- whatever type the time column gets
{/tracked}
AS {$}
#variable_conflict use_variable
{#tracked}
DECLARE
	exposed bigint[];
{/tracked}
BEGIN
{#tracked}
	PERFORM bloomexp.require_read_committed('take_back()');
	PERFORM bloomexp.require_trusted(t) FROM bloomexp.tables_of({exposures_literal}) AS t;
	PERFORM {feed}.lock(take_back.user_id);
	-- After the lock, in a statement of its own: it sees what others committed before.
	exposed := ARRAY(
		SELECT bloomexp.hash({item}{item_collate})
		FROM {exposures} AS e{elements}
		WHERE {user} {=} take_back.user_id{collate}
			AND {exposed});
	items := bloomexp.exclude(take_back.items{item_collate}, NULL, exposed);
{/tracked}
{#alone}
	PERFORM {feed}.lock(take_back.user_id);
{/alone}
	items := (
		SELECT bloomexp.among(take_back.items{item_collate}, f.recent[1 : f.pending])
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
