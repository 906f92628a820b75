-- The candidates that a user was not shown, in their order.
CREATE OR REPLACE FUNCTION {feed}.unseen(user_id {user_type}, candidates {item_type}[])
RETURNS {item_type}[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
BEGIN
	RETURN (
		SELECT bloomexp.exclude(candidates{item_collate}, s.filled, s.rest)
		FROM {feed}.shown(user_id) AS s);
END
{$};
