	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'lock() and take() need isolation level READ COMMITTED'
			USING ERRCODE = 'feature_not_supported',
				DETAIL = 'A snapshot from before the lock does not show what the request before has taken.',
				HINT = 'Call them in a transaction with SET TRANSACTION ISOLATION LEVEL READ COMMITTED.';
	END IF;
