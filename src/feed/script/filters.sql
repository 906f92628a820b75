-- One row per user.  "recent" is the last column and grows at its front, so the WAL of an update
-- has little more than the new hashes.  The storage parameters leave room for HOT updates, and move
-- filters into TOAST.
CREATE TABLE IF NOT EXISTS {feed}.filters (
	user_id {user_column} CONSTRAINT filters_pkey PRIMARY KEY,
{#window}
	since timestamp with time zone,	-- start of the time slice of "recent"
{/window}
{#forever}
	since timestamp with time zone,	-- always NULL: this feed never forgets
{/forever}
{#table}
	filled_until timestamp with time zone,	-- "items" has all exposures from before this time
{/table}
	items {bloom},	-- filter of all items that are not in "recent"
	pending integer NOT NULL DEFAULT 0,	-- number of unconfirmed items of the last take()
	recent bigint[] NOT NULL DEFAULT ARRAY[]::bigint[]	-- hashes of the newest items, up to 247
) USING heap WITH (fillfactor = 70, toast_tuple_target = 2040);
