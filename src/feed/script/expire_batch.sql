-- One batch of expire(): the next 10,000 users after "after".  "removed" counts those of all
-- batches.  Returns the last user of the batch, NULL after the last batch.
CREATE OR REPLACE FUNCTION {feed}.expire_batch(INOUT after {user_type}, allow_removed boolean,
	INOUT removed bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
	SELECT b.after, b.removed
	FROM bloomexp.expire_batch({filters_literal}, after, allow_removed, removed,
		{width}, {slices}) AS b
{$};
