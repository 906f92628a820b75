-- Return what a user was shown: the stored filter, and the hashes of the exposures since it was
-- filled.  current(), unseen() and take() call this function.
CREATE OR REPLACE FUNCTION {feed}.shown(user_id {user_type}, OUT items {bloom}, OUT recent bigint[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off	-- a plan that is made while the table is small must suit a large one
SET jit = off	-- enable_seqscan makes plans without an index look expensive
SET row_security = off	-- an error if row security would hide rows
SET timezone = 'UTC' AS {$}	-- right even if the time column changes its type
#variable_conflict use_variable
DECLARE
	read_from timestamp with time zone := now() - interval {width};
	stored_until timestamp with time zone;	-- filled_until of the row
BEGIN
	-- This names the column "items" before any function of bloomexp is called: if the extension was
	-- dropped, it is an error.
	SELECT f.items, f.filled_until INTO items, stored_until
	FROM {feed}.filters AS f WHERE f.user_id {=} shown.user_id{collate};
	-- Ignore a filter with a filled_until ahead of the clock: the clock was wrong at its rebuild.
	IF items IS NOT NULL AND stored_until > read_from AND stored_until <= now() THEN
		read_from := stored_until;
	ELSE
		items := NULL;
	END IF;
	PERFORM bloomexp.require_trusted({exposures_literal});	-- not its partitions, to save time
	recent := ARRAY(
		SELECT bloomexp.hash({item}{item_collate})
		FROM {exposures} AS e{elements}
		WHERE {user} {=} shown.user_id{collate}
			AND {is_exposure}
			AND {time} >= read_from{utc});
	PERFORM bloomexp.require_not_rewritten({exposures_literal});
END
{$};
