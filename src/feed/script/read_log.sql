-- The filter of a user as of now: the stored one and the exposures since it was filled.
CREATE OR REPLACE FUNCTION {feed}.current(user_id {user_type}) RETURNS {bloom}.bloom
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS {$}
#variable_conflict use_variable
DECLARE
	main {bloom}.bloom;
	main_until timestamp with time zone;
	since timestamp with time zone := {begin};
	rest_fpr double precision := {fpr};
	rest {bloom}.bloom;
BEGIN
	SELECT f.items, f.filled_until INTO main, main_until FROM {feed}.filters AS f WHERE f.user_id {=} current.user_id{collate};
	IF main IS NOT NULL AND main_until > since THEN
		since := main_until;
		rest_fpr := {rest_fpr};	-- together with {stored_fpr} of the stored filter: {fpr}
	ELSE
		main := NULL;	-- it would say nothing about the whole width
	END IF;
	SELECT {bloom}.bloom_agg({item}, rest_fpr) INTO rest
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
	PERFORM {feed}.lock(user_id);
	-- a new statement, and so a new snapshot
	RETURN {bloom}.bloom_exclude_array(candidates, {feed}.current(user_id), wanted);
END
{$};
