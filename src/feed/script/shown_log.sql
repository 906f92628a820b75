-- What a user was shown: the stored filter, and the hashes of the exposures since it was filled.
-- The other functions call it.
CREATE OR REPLACE FUNCTION {feed}.shown(user_id {user_type}, OUT filled {bloom}, OUT rest bigint[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET row_security = off	-- an error if row security would hide rows
SET timezone = 'UTC' AS {$}	-- whatever type the time column gets
#variable_conflict use_variable
DECLARE
	since timestamp with time zone := {window_start};
	filled_until timestamp with time zone;
BEGIN
	PERFORM bloomexp.require_trusted({exposures_literal});	-- not its partitions: often called
	SELECT f.items, f.filled_until INTO filled, filled_until
	FROM {feed}.filters AS f WHERE f.user_id {=} shown.user_id{collate};
	IF filled IS NOT NULL AND filled_until > since THEN
		since := filled_until;
	ELSE
		filled := NULL;	-- the whole width is read
	END IF;
	SELECT bloomexp.hashes(array_agg({item}{item_collate})) INTO rest
	FROM {exposures} AS e{elements}
	WHERE {user} {=} shown.user_id{collate} AND {exposed};
END
{$};
