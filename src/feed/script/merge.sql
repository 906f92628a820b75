-- Add what from_user was shown to into_user, and forget from_user: for a visitor who signs in.
CREATE OR REPLACE FUNCTION {feed}.merge(from_user {user_type}, into_user {user_type})
RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET row_security = off AS {$}	-- an error if row security would hide rows
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
BEGIN
	PERFORM bloomexp.merge_users({filters_literal}, from_user, into_user,
		{settings});
END
{$};
