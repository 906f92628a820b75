-- The first candidates that were not shown to a user, without repetitions, as many as wanted
-- (NULL: all).  Other calls for the user wait until the transaction ends.  Insert them as
-- exposures in the same statement or transaction: nothing else remembers them.
CREATE OR REPLACE FUNCTION {feed}.take(user_id {user_type}, candidates {item_type}[], wanted integer DEFAULT NULL) RETURNS {item_type}[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
BEGIN
	IF pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.<>) 'read committed' THEN
		RAISE EXCEPTION 'take() needs isolation level READ COMMITTED'
			USING ERRCODE = 'feature_not_supported',
				DETAIL = 'A snapshot from before the lock does not show what the request before has taken.',
				HINT = 'Call it in a transaction of its own, with SET TRANSACTION ISOLATION LEVEL READ COMMITTED.';
	END IF;
	PERFORM pg_catalog.pg_advisory_xact_lock({lock} OPERATOR(pg_catalog.#) {user_hash}::bigint);
	-- a new statement, and so a new snapshot
	RETURN {bloom}.bloom_exclude_array(candidates, {feed}.current(user_id), wanted);
END
{$};

