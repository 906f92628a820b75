-- One row per user.  "recent" comes last and grows at its front, so that the WAL of an update has
-- the new hashes and little more.
CREATE TABLE IF NOT EXISTS {feed}.filters (
	user_id {user_column} CONSTRAINT filters_pkey PRIMARY KEY,
{#window}
	since timestamp with time zone,	-- start of the slice of "recent"
{/window}
{#forever}
	since timestamp with time zone,	-- always NULL: this feed never forgets
{/forever}
{#table}
	filled_until timestamp with time zone,	-- "items" has all exposures from before this time
{/table}
	items {bloom},	-- filter of all items that are not in "recent"
	pending integer NOT NULL DEFAULT 0,	-- how many of the newest items are taken, not confirmed
	recent bigint[] NOT NULL DEFAULT ARRAY[]::bigint[]	-- hashes of the newest items, up to 247
) WITH (fillfactor = 70, toast_tuple_target = 2040);	-- for HOT updates, with the filter in TOAST
