-- Return the first "wanted" distinct candidates that a user was not shown (NULL: all of them).
{#remembers}
-- These items count as shown from now on.  The user's row stays locked until the transaction ends,
-- so no other call can take the same items.
{/remembers}
{#untracked}
-- Other calls of take() and lock() for the user wait until the transaction ends.  Insert the
-- returned items as exposures in the same statement or transaction: nothing else remembers them.
{/untracked}
CREATE OR REPLACE FUNCTION {feed}.take(user_id {user_type}, candidates {item_type}[],
	wanted integer DEFAULT NULL) RETURNS {item_type}[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off	-- a plan that is made while the table is small must suit a large one
SET row_security = off AS {$}	-- an error if row security would hide rows
{#untracked}
BEGIN
	PERFORM {feed}.lock(user_id);
	-- Lock the exposures before the next statement takes its snapshot: to an older snapshot a table
	-- that ALTER TABLE has rewritten is empty.
	PERFORM bloomexp.require_trusted({exposures_literal});
	RETURN (
		SELECT bloomexp.exclude_first(candidates{item_collate}, f.items, wanted, f.recent)
		FROM {feed}.shown(user_id) AS f);
END
{/untracked}
{#remembers}
#variable_conflict use_variable
DECLARE
	old_items {feed}.filters.items%TYPE;	-- an error if the extension was dropped
	old_recent bigint[];
{#alone}
	old_since timestamp with time zone;
	present timestamp with time zone;
{/alone}
	taken {item_type}[];
	new_hashes bigint[];
BEGIN
	-- Lock the row, and read the version that is locked.  This must be the first statement: if the
	-- extension was dropped, it must fail before any function of bloomexp is called.
	SELECT f.items, f.recent{#alone}, f.since{/alone}
	INTO old_items, old_recent{#alone}, old_since{/alone}
	FROM {feed}.filters AS f
	WHERE f.user_id {=} take.user_id{collate}
{#alone}
		-- On Citus this must find no row, so that lock() below locks the row by an INSERT: a move
		-- of the shard waits for an INSERT, but not for row locks.
		AND current_setting('citus.shard_count', true) IS NULL
{/alone}
	FOR NO KEY UPDATE;
	IF NOT FOUND THEN	-- a new user or NULL{#alone}, or any user on Citus{/alone}
		PERFORM {feed}.lock(take.user_id);
		SELECT f.items, f.recent{#alone}, f.since{/alone}
		INTO old_items, old_recent{#alone}, old_since{/alone}
		FROM {feed}.filters AS f WHERE f.user_id {=} take.user_id{collate};
	END IF;
	-- The lock of the table keeps the extension from being dropped now, so from here on functions
	-- of bloomexp may be called.
	DECLARE
		settings CONSTANT bloomexp.row_settings :=
			{settings};
	BEGIN
{#alone}
		present := clock_timestamp();	-- after the lock, so not before others' additions
		taken := bloomexp.exclude_first(candidates{item_collate},
			bloomexp.items_at(old_items, present, settings), wanted,
			bloomexp.recent_at(old_recent, old_since, present, settings));
{/alone}
{#tracked}
		taken := bloomexp.exclude_first(candidates{item_collate}, old_items, wanted, old_recent);
{/tracked}
		IF cardinality(taken) > 0 AND take.user_id IS NOT NULL THEN
			new_hashes := bloomexp.hashes(taken{item_collate});
			UPDATE {feed}.filters AS f SET
{#alone}
				since = bloomexp.since_after(f.recent, new_hashes, settings,
					f.since, present, present),
{/alone}
				items = bloomexp.items_after(f.items, f.recent, new_hashes, settings{#alone},
					f.since, present, present{/alone}),
				-- "taken" has no item twice, and none that is in "recent".  So its hashes become
				-- the first ones of "recent".  If there are too many, they go into "items", and
				-- none is pending.
				pending = CASE WHEN cardinality(taken) <= 247 THEN cardinality(taken) ELSE 0 END,
				recent = bloomexp.recent_after(f.recent, new_hashes, settings{#alone},
					f.since, present, present{/alone})
			WHERE f.user_id {=} take.user_id{collate};
			IF NOT FOUND THEN
				PERFORM bloomexp.row_not_written({filters_literal});
			END IF;
		END IF;
		RETURN taken;
	END;
END
{/remembers}
{$};
