-- Remove all that is stored about a user.
CREATE OR REPLACE FUNCTION {feed}.forget(user_id {user_type}) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET row_security = off AS {$}	-- an error if row security would hide rows
BEGIN
	PERFORM {feed}.lock(forget.user_id);	-- waits, and finds a row that others have just made
	DELETE FROM {feed}.filters AS f WHERE f.user_id {=} forget.user_id{collate};
	IF NOT FOUND AND forget.user_id IS NOT NULL THEN
		PERFORM bloomexp.row_not_written({filters_literal});
	END IF;
END
{$};
