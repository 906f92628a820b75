-- Return whether an item was shown to a user.  The answer is always right for an item that was
-- shown.  For an item that was not shown, it is "true" with a probability of up to {fpr}.
{#alone}
-- After merge() the rates of both users add up.
{/alone}
CREATE OR REPLACE FUNCTION {feed}.contains(user_id {user_type}, item {item_type}) RETURNS boolean
LANGUAGE plpgsql STABLE{parallel} SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS {$}
BEGIN
	RETURN CASE WHEN item IS NOT NULL
		THEN cardinality({feed}.unseen(user_id, ARRAY[item])) = 0 END;
END
{$};
