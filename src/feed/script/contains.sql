-- Whether an item was shown to a user; up to {fpr} of the other items are taken for shown.
CREATE OR REPLACE FUNCTION {feed}.contains(user_id {user_type}, item {item_type}) RETURNS boolean
LANGUAGE plpgsql STABLE{parallel_safe} SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
BEGIN
	RETURN {bloom}.bloom_contains({feed}.current(user_id), item);
END
{$};
