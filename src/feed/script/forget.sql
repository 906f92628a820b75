-- Remove everything that is stored about a user.
CREATE OR REPLACE FUNCTION {feed}.forget(user_id {user_type}) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
BEGIN
	PERFORM bloomexp.forget_user({filters_literal}, user_id);
END
{$};
