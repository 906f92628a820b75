{#alone}
-- Forget items of the last take() that the user never saw, and return the items that were
-- forgotten.  It forgets none if add() or add_batch() has since recorded a new item, or an item of
-- that take(), or if merge() has changed the row.
{/alone}
{#tracked}
-- Forget items of the last take() that the user never saw, and return the items that were
-- forgotten.  It forgets no item that is an exposure, and none at all if another exposure has been
-- added since.
{/tracked}
{#untracked}
-- Return no item: without triggers take() remembers nothing that this function could forget.
{/untracked}
CREATE OR REPLACE FUNCTION {feed}.take_back(user_id {user_type}, items {item_type}[])
RETURNS {item_type}[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{#remembers}
SET enable_seqscan = off	-- a plan that is made while the table is small must suit a large one
{/remembers}
{#tracked}
SET jit = off	-- enable_seqscan makes plans without an index look expensive
{/tracked}
SET row_security = off	-- an error if row security would hide rows
{#tracked}
SET timezone = 'UTC'	-- right even if the time column changes its type
{/tracked}
AS {$}
{#untracked}
BEGIN
	RETURN ARRAY[]::{item_type}[];
END
{/untracked}
{#remembers}
#variable_conflict use_variable
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
	forgotten {item_type}[] := items;	-- narrowed down below
{#tracked}
	exposed_hashes bigint[];
{/tracked}
BEGIN
{#tracked}
	PERFORM bloomexp.require_read_committed('take_back()');
	PERFORM {feed}.lock(take_back.user_id);
	PERFORM bloomexp.require_trusted({exposures_literal});
	PERFORM bloomexp.require_trusted(t, missing_ok => true)
	FROM bloomexp.tables_of({exposures_literal}) AS t;
	-- A statement after the lock, which sees what others have committed before.
	exposed_hashes := ARRAY(
		SELECT bloomexp.hash({item}{item_collate})
		FROM {exposures} AS e{elements}
		WHERE {user} {=} take_back.user_id{collate}
			AND {is_exposure}
			AND {time} >= (now() - interval {width}){utc});
	forgotten := bloomexp.exclude(forgotten{item_collate}, NULL, exposed_hashes);
{/tracked}
{#alone}
	PERFORM {feed}.lock(take_back.user_id);
{/alone}
	forgotten := (
		SELECT bloomexp.among(forgotten{item_collate}, f.recent[1 : f.pending])
		FROM {feed}.filters AS f WHERE f.user_id {=} take_back.user_id{collate});
	IF cardinality(forgotten) > 0 THEN
		UPDATE {feed}.filters AS f SET
			pending = f.pending - cardinality(forgotten),
			recent = bloomexp.new_hashes(f.recent, bloomexp.hashes(forgotten{item_collate}))
		WHERE f.user_id {=} take_back.user_id{collate};
		IF NOT FOUND THEN
			PERFORM bloomexp.row_not_written({filters_literal});
		END IF;
	END IF;
	RETURN coalesce(forgotten, ARRAY[]::{item_type}[]);
END
{/remembers}
{$};
