	feed text,
	exposures regclass DEFAULT NULL,
	user_column text DEFAULT 'user_id',	-- over a table
	item_column text DEFAULT 'item_id',	-- over a table
	time_column text DEFAULT 'shown_at',	-- over a table
	width interval DEFAULT '30 days',
	fpr double precision DEFAULT 0.01,
	headroom double precision DEFAULT 0.2,	-- over a table
	slices integer DEFAULT NULL,	-- without a table
	mode text DEFAULT 'trigger',	-- over a table
	"where" text DEFAULT NULL,	-- over a table
	user_type regtype DEFAULT NULL,	-- without a table
	item_type regtype DEFAULT NULL	-- without a table
