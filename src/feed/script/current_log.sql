-- All that a user was shown, as one filter: the stored one, and the exposures since it was filled.
CREATE OR REPLACE FUNCTION {feed}.current(user_id {user_type}) RETURNS {bloom}
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
BEGIN
	RETURN (
		SELECT bloomexp.fold(s.filled, s.rest, {item_kind}, {fpr}, cardinality(s.rest))
		FROM {feed}.shown(user_id) AS s);
END
{$};
