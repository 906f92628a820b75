,
	pg_catalog.min(f.filled_until) AS oldest_filled_until,	-- the oldest rebuild of a filter
	0::bigint AS untracked
