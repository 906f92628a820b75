-- One batch of expire(): looks at the next 10,000 users after "after", and removes those who have
-- expired.  Returns in "after" the last user of the batch, or NULL if it was the last batch, and
-- adds the number of removed users to "removed".
CREATE OR REPLACE FUNCTION {feed}.expire_batch(INOUT after {user_type}, allow_removed boolean,
	INOUT removed bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
BEGIN
	SELECT b.after, b.removed INTO after, removed
	FROM bloomexp.expire_batch({filters_literal}, after, allow_removed, removed,
		{width}, {slices}) AS b;
END
{$};
