	IF (part OPERATOR(pg_catalog.>=) 1 AND part OPERATOR(pg_catalog.<=) parts AND overlap OPERATOR(pg_catalog.>=) '0'::interval
		AND dry_run IS NOT NULL AND allow_empty IS NOT NULL AND coalesce(pg_catalog.cardinality(these), 0) OPERATOR(pg_catalog.<=) 1000) IS NOT TRUE THEN
		RAISE EXCEPTION 'invalid argument of a rebuild'
			USING ERRCODE = 'invalid_parameter_value', DETAIL = 'part must be from 1 to parts, overlap not negative, and nothing NULL but users.';
	END IF;
	IF pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.<>) 'read committed' THEN
		RAISE EXCEPTION 'rebuild_batch() needs isolation level READ COMMITTED' USING ERRCODE = 'feature_not_supported';
	END IF;
