-- The filter of a user as of now: the stored one and the exposures since it was filled.
CREATE OR REPLACE FUNCTION {feed}.current(user_id {user_type}) RETURNS {bloom}.bloom
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS {$}
<<v>>
DECLARE
	main {bloom}.bloom;
	filled_until timestamp with time zone;
	since timestamp with time zone := {begin};
	rest_fpr double precision := {fpr};
	rest {bloom}.bloom;
BEGIN
	SELECT f.items, f.filled_until INTO main, filled_until FROM {feed}.filters AS f WHERE f.user_id {=} current.user_id{collate};
	IF main IS NOT NULL AND filled_until OPERATOR(pg_catalog.>) since THEN
		since := filled_until;
		rest_fpr := {rest_fpr};	-- together with {stored_fpr} of the stored filter: {fpr}
	ELSE
		main := NULL;	-- it would say nothing about the whole width
	END IF;
	SELECT {bloom}.bloom_agg({item}, v.rest_fpr) INTO rest
	FROM {exposures} AS e{elements}
	WHERE {user} {=} current.user_id{collate} AND {exposed};
	RETURN CASE WHEN main IS NULL THEN rest WHEN rest IS NULL THEN main ELSE {bloom}.bloom_union(main, rest) END;
END
{$};

-- The candidates that were not shown to a user, in their order.
CREATE OR REPLACE FUNCTION {feed}.unseen(user_id {user_type}, candidates {item_type}[]) RETURNS {item_type}[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
BEGIN
	RETURN {bloom}.bloom_exclude_array(candidates, {feed}.current(user_id));
END
{$};

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
{lock_user}
	-- a new statement, and so a new snapshot
	RETURN {bloom}.bloom_exclude_array(candidates, {feed}.current(user_id), wanted);
END
{$};

