CREATE TABLE IF NOT EXISTS {feed}.filters (
	user_id {user_column_type} PRIMARY KEY,
	items {bloom}.bloom,
	filled_until timestamp with time zone	-- the filter has all exposures before this time
) WITH (fillfactor = 50, toast_tuple_target = 8160);	-- room for HOT updates; filters of up to 8 kB stay in their row{retyped}
