CREATE TABLE IF NOT EXISTS {feed}.filters (
	user_id {user_column_type} PRIMARY KEY,
	items {bloom}.bloom,	-- of the slices before "since"
	recent {bloom}.bloom,	-- of the slices since then: all that most calls write
	since timestamp with time zone	-- when the slice began in which the user was last shown something
) WITH (fillfactor = 80, toast_tuple_target = 4080);	-- two versions of a row in a page: an update logs what it changes; longer rows have "items" elsewhere
