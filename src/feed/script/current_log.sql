-- All that a user was shown, as one filter: the stored one, and the exposures since it was filled.
CREATE OR REPLACE FUNCTION {feed}.current(user_id {user_type}) RETURNS {bloom}
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
DECLARE
	filled {bloom};
	rest bigint[];
BEGIN
	SELECT s.filled, s.rest INTO filled, rest FROM {feed}.shown(user_id) AS s;
	RETURN CASE WHEN rest IS NULL THEN filled
		ELSE bloomexp.add_hashes(coalesce(filled, bloomexp.new(cardinality(rest), {fpr}, false)),
			{item_kind}, rest) END;
END
{$};
