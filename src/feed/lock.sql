	-- an advisory lock of the feed's number and the hash of the user
	PERFORM pg_catalog.pg_advisory_xact_lock(({lock})::bigint OPERATOR(pg_catalog.#) {user_hash}::bigint);
