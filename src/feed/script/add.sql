-- Items were shown to a user, now or at another time: a batch of one user.
CREATE OR REPLACE FUNCTION {feed}.add(user_id {user_type}, items {item_type}[],
	shown_at timestamp with time zone DEFAULT pg_catalog.clock_timestamp()) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
DECLARE
	n integer := coalesce(cardinality(items), 0);
BEGIN
	PERFORM {feed}.add_batch(array_fill(user_id, ARRAY[n]),
		coalesce(items, ARRAY[]::{item_type}[]), array_fill(shown_at, ARRAY[n]));
END
{$};
