-- Record a batch of events: user i was shown item i at time i.  Events can come in any order and
-- any number of times.  An event with a NULL is ignored.
{#window}
-- A time in the future counts as now.  An event that has left the window is ignored.
{/window}
CREATE OR REPLACE FUNCTION {feed}.add_batch(user_ids {user_type}[], items {item_type}[],
	shown_at timestamp with time zone[]) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off	-- a plan that is made while the table is small must suit a large one
SET row_security = off AS {$}	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
	settings CONSTANT bloomexp.row_settings :=
		{settings};
	present timestamp with time zone := clock_timestamp();
	new_hashes bigint[] := bloomexp.hashes_with_nulls(items{item_collate});
	remaining {user_type}[];
	addition record;	-- items that a user was shown in one slice
BEGIN
	-- Lock the rows of all users in the order of their ids, so that batches do not deadlock.  The
	-- same statement adds the items of each user whose events are one page: the items of one slice,
	-- which is not older than the slice of the row.  Such items are added at the start of their
	-- slice, so it does not matter that the clock was read before the lock.  Users with several
	-- pages have no hashes in "page": the statement only makes or locks their rows.
	WITH page AS MATERIALIZED (
		SELECT p.user_id, p.since, p.recent
		FROM bloomexp.pages(user_ids{collate}, new_hashes, shown_at, present, settings) AS p),
	written AS (
		INSERT INTO {feed}.filters AS f (user_id, since, recent)
		SELECT p.user_id, p.since, p.recent FROM page AS p ORDER BY p.user_id
		ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET
			since = bloomexp.since_after(f.recent, excluded.recent, settings,
				f.since, excluded.since, excluded.since),
			items = bloomexp.items_after(f.items, f.recent, excluded.recent, settings,
				f.since, excluded.since, excluded.since),
			pending = 0,
			recent = bloomexp.recent_after(f.recent, excluded.recent, settings,
				f.since, excluded.since, excluded.since)
		WHERE (f.since > excluded.since) IS NOT TRUE	-- the page is not late
			AND bloomexp.row_changes(f.items, f.pending, f.recent, excluded.recent, settings,
				f.since, excluded.since, excluded.since)
		RETURNING f.user_id)
	SELECT array_agg(p.user_id) INTO remaining FROM page AS p
	WHERE cardinality(p.recent) = 0
		OR NOT EXISTS (SELECT FROM written AS w WHERE w.user_id {=} p.user_id);
	-- This raises an error if an older snapshot shows a row that others have removed since.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM FROM {feed}.filters AS f WHERE f.user_id {=} ANY (user_ids{collate}) FOR UPDATE;
	END IF;
	IF remaining IS NULL THEN
		RETURN;
	END IF;

	-- Add the events of the remaining users: one user after another, one slice at a time, the
	-- oldest first.  "page" has one row per user, so group the events again.  The rows are locked,
	-- so call add() only if it will change the row: most of a batch that is repeated changes
	-- nothing.
	FOR addition IN
		SELECT b.user_id{collate} AS user_id, array_agg(b.item) AS items,
			max(b.shown_at) AS shown_at
		FROM ROWS FROM (unnest(user_ids), unnest(items), unnest(shown_at))
			AS b(user_id, item, shown_at)
		JOIN unnest(remaining) AS r(user_id) ON r.user_id {=} b.user_id{collate}
{#window}
		WHERE b.item IS NOT NULL AND b.shown_at >= present - interval {hours}
{/window}
{#forever}
		WHERE b.item IS NOT NULL AND b.shown_at IS NOT NULL
{/forever}
		GROUP BY 1{#window},
			bloomexp.slice_start(LEAST(b.shown_at, present), {width}, {slices}){/window}
		ORDER BY 1, 3
	LOOP
		IF (SELECT bloomexp.row_changes(f.items, f.pending, f.recent,
				bloomexp.hashes(addition.items{item_collate}), settings,
				f.since, addition.shown_at, present)
			FROM {feed}.filters AS f WHERE f.user_id {=} addition.user_id) IS NOT FALSE THEN
			PERFORM {feed}.add(addition.user_id, addition.items, addition.shown_at);
		END IF;
	END LOOP;
END
{$};
