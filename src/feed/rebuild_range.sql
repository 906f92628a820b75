	IF (part OPERATOR(pg_catalog.>=) 1 AND part OPERATOR(pg_catalog.<=) parts AND overlap OPERATOR(pg_catalog.>=) '0'::interval
		AND dry_run IS NOT NULL AND allow_empty IS NOT NULL AND coalesce(pg_catalog.cardinality(these), 0) OPERATOR(pg_catalog.<=) 1000) IS NOT TRUE THEN
		RAISE EXCEPTION 'invalid argument of a rebuild'
			USING ERRCODE = 'invalid_parameter_value', DETAIL = 'part must be from 1 to parts, overlap not negative, and nothing NULL but users.';
	END IF;
	IF pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.<>) 'read committed' THEN
		RAISE EXCEPTION 'rebuild_batch() needs isolation level READ COMMITTED' USING ERRCODE = 'feature_not_supported';
	END IF;

	-- The end of the batch: the next user whose hash is divisible by {users_per_batch}; with several
	-- parts, of those with a filter that a rebuild has filled.  The hash says to which part the
	-- batch belongs, and only a rebuild adds or removes such users, in its own batches, so all
	-- sessions agree.  What comes after the last one is a batch of part 1, and so is everything
	-- the first time.
	IF these IS NULL THEN
		SELECT f.user_id INTO upto FROM {feed}.filters AS f
		WHERE {filters_in_batch}
			AND (parts OPERATOR(pg_catalog.=) 1 OR f.filled_until IS NOT NULL)
			AND (pg_catalog.hashtext(f.user_id::text) OPERATOR(pg_catalog.%) {users_per_batch}) OPERATOR(pg_catalog.=) 0
		ORDER BY f.user_id LIMIT 1;
		after := upto;
		IF coalesce(pg_catalog.abs(pg_catalog.hashtext(upto::text) OPERATOR(pg_catalog./) {users_per_batch}) OPERATOR(pg_catalog.%) parts, 0)
			OPERATOR(pg_catalog.<>) (part OPERATOR(pg_catalog.-) 1) THEN
			RETURN;
		END IF;
	END IF;
