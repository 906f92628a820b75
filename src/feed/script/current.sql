-- All that a user was shown, as one filter.
CREATE OR REPLACE FUNCTION {feed}.current(user_id {user_type}) RETURNS {bloom}
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
BEGIN
	RETURN (
		SELECT CASE WHEN f.recent = ARRAY[]::bigint[] THEN f.items
			ELSE bloomexp.add_hashes(coalesce(f.items, bloomexp.new(cardinality(f.recent), {fpr}, false)),
				{item_kind}, f.recent) END
		FROM {feed}.filters AS f WHERE f.user_id {=} current.user_id{collate});
END
{$};
