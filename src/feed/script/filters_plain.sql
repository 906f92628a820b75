CREATE TABLE IF NOT EXISTS {feed}.filters (
	user_id {user_column_type} PRIMARY KEY,
	items {bloom}.bloom
) WITH (fillfactor = 80, toast_tuple_target = 8160);	-- room for HOT updates; filters of up to 8 kB stay in their row
