	IF (overlap >= '0'::interval AND dry_run IS NOT NULL AND allow_removed IS NOT NULL
		AND n_examined IS NOT NULL AND n_ended IS NOT NULL AND coalesce(cardinality(wanted), 0) <= 1000) IS NOT TRUE THEN
		RAISE EXCEPTION 'invalid argument of a rebuild'
			USING ERRCODE = 'invalid_parameter_value', DETAIL = 'overlap must not be negative, and nothing NULL but users, after and upto.';
	END IF;
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'rebuild_batch() needs isolation level READ COMMITTED' USING ERRCODE = 'feature_not_supported';
	END IF;
{trusted}
