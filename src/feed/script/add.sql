{#window}
-- Record that items were shown to a user, now or at another time.  A time in the future counts as
-- now.
{/window}
{#forever}
-- Record that items were shown to a user.  The time makes no difference: this feed never forgets.
{/forever}
CREATE OR REPLACE FUNCTION {feed}.add(user_id {user_type}, items {item_type}[],
	shown_at timestamp with time zone DEFAULT pg_catalog.clock_timestamp()) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off	-- a plan that is made while the table is small must suit a large one
SET row_security = off AS {$}	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
	settings CONSTANT bloomexp.row_settings :=
		{settings};
	new_hashes bigint[] := bloomexp.hashes(items{item_collate});
	present timestamp with time zone;
BEGIN
	IF add.user_id IS NULL OR shown_at IS NULL OR coalesce(cardinality(new_hashes), 0) = 0 THEN
		RETURN;	-- no user, no time or no item
{#window}
	-- the days of the window have 24 hours, even if clocks change
	ELSIF shown_at < clock_timestamp() - interval {hours} THEN
		RETURN;	-- it has left the window already
{/window}
	END IF;
	PERFORM {feed}.lock(add.user_id);
	present := clock_timestamp();	-- after the lock, so not before others' additions
	IF (SELECT bloomexp.row_changes(f.items, f.pending, f.recent, new_hashes, settings,
			f.since, shown_at, present)
		FROM {feed}.filters AS f WHERE f.user_id {=} add.user_id{collate}) IS NOT FALSE THEN
		UPDATE {feed}.filters AS f SET
			since = bloomexp.since_after(f.recent, new_hashes, settings,
				f.since, shown_at, present),
			items = bloomexp.items_after(f.items, f.recent, new_hashes, settings,
				f.since, shown_at, present),
			pending = 0,
			recent = bloomexp.recent_after(f.recent, new_hashes, settings,
				f.since, shown_at, present)
		WHERE f.user_id {=} add.user_id{collate};
		IF NOT FOUND THEN
			PERFORM bloomexp.row_not_written({filters_literal});
		END IF;
	END IF;
END
{$};
