	PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hash_array_extended(ARRAY[user_id{collate}], {lock}));
