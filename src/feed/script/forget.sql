-- Remove all that is stored about a user.
CREATE OR REPLACE FUNCTION {feed}.forget(user_id {user_type}) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET row_security = off AS {$}	-- an error if row security would hide rows
BEGIN
	-- Fails if an older snapshot does not show the row that there is.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM {feed}.lock(forget.user_id);
	END IF;
	DELETE FROM {feed}.filters AS f WHERE f.user_id {=} forget.user_id{collate};
	IF NOT FOUND THEN
		-- While this waited, others may have removed the row and made another: a new snapshot.
		DELETE FROM {feed}.filters AS f WHERE f.user_id {=} forget.user_id{collate};
		IF NOT FOUND AND EXISTS (
			SELECT FROM {feed}.filters AS f WHERE f.user_id {=} forget.user_id{collate}) THEN
			PERFORM bloomexp.row_not_written({filters_literal});
		END IF;
	END IF;
END
{$};
