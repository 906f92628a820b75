-- All that a user was shown, as one filter.  What functions of bloomexp get at the end, here and
-- below: the kind of the items, the target rate, and the capacity of a first layer.
CREATE OR REPLACE FUNCTION {feed}.current(user_id {user_type}) RETURNS {bloom}
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET row_security = off AS {$}	-- an error if row security would hide rows
BEGIN
	RETURN (
		SELECT bloomexp.fold(f.items, f.recent, {item_kind}, {fpr}, cardinality(f.recent))
		FROM {feed}.filters AS f WHERE f.user_id {=} current.user_id{collate});
END
{$};
