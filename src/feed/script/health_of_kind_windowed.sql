,
	pg_catalog.count(*) FILTER (WHERE coalesce(f.since OPERATOR(pg_catalog.<=) (current_timestamp
		OPERATOR(pg_catalog.-) interval {hours} OPERATOR(pg_catalog.-) interval {slice_hours}), true)) AS expired	-- by expire()
