-- The first candidates that a user was not shown, without repetitions, as many as wanted (NULL:
-- all).  Other calls for the user wait until the transaction ends.  Insert them as exposures in
-- the same statement or transaction: nothing else remembers them.
CREATE OR REPLACE FUNCTION {feed}.take(user_id {user_type}, candidates {item_type}[],
	wanted integer DEFAULT NULL) RETURNS {item_type}[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
BEGIN
	PERFORM {feed}.lock(user_id);
	RETURN (	-- a new statement, and so a new snapshot
		SELECT bloomexp.exclude_first(candidates{item_collate}, s.filled, wanted, s.rest)
		FROM {feed}.shown(user_id) AS s);
END
{$};
