-- One row per user: the newest items exactly, and a filter of the others.  "recent" has the
-- 64-bit hashes by which the filter knows them, the newest first, all of one slice of the window.
-- It comes last, and grows at its front, so that an update logs what is new and no more.
CREATE TABLE IF NOT EXISTS {feed}.filters (
	user_id {user_column} PRIMARY KEY,
	since timestamp with time zone,	-- when the slice of "recent" began
	items {bloom},	-- what was shown before, came late, or more than 247 at once
	pending integer NOT NULL DEFAULT 0,	-- so many of "recent" the last take returned, unconfirmed
	recent bigint[] NOT NULL DEFAULT ARRAY[]::bigint[]
) WITH (fillfactor = 70, toast_tuple_target = 2040);	-- HOT updates; longer rows go into TOAST
