-- All that a user was shown in the window, as one filter.  What functions of bloomexp get at the
-- end, here and below: the width and slices of the window, the kind of the items, and the target
-- rate.
CREATE OR REPLACE FUNCTION {feed}.current(user_id {user_type}) RETURNS {bloom}
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET row_security = off AS {$}	-- an error if row security would hide rows
BEGIN
	RETURN (
		SELECT bloomexp.expire(bloomexp.fold(f.items, f.recent, f.since,
			{width}, {slices}, {item_kind}, {fpr}), now())
		FROM {feed}.filters AS f WHERE f.user_id {=} current.user_id{collate});
END
{$};
