-- Whether an item was shown to a user; up to {fpr} of the other items are taken for shown.
CREATE OR REPLACE FUNCTION {feed}.contains(user_id {user_type}, item {item_type}) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
BEGIN
	RETURN CASE WHEN item IS NOT NULL
		THEN cardinality({feed}.unseen(user_id, ARRAY[item])) = 0 END;
END
{$};
