	PERFORM pg_catalog.pg_advisory_xact_lock(({lock})::bigint OPERATOR(pg_catalog.#) {user_hash}::bigint);
