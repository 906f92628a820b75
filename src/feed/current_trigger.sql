-- The filter of a user as of now.
CREATE OR REPLACE FUNCTION {feed}.current(user_id {user_type}) RETURNS {bloom}.bloom
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
BEGIN
	RETURN (SELECT {filter_now} FROM {feed}.filters AS f WHERE f.user_id {=} current.user_id{collate});
END
{$};

-- The candidates that were not shown to a user, in their order.
CREATE OR REPLACE FUNCTION {feed}.unseen(user_id {user_type}, candidates {item_type}[]) RETURNS {item_type}[]
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
BEGIN
	RETURN {bloom}.bloom_exclude_array(candidates,
		(SELECT {filter_now} FROM {feed}.filters AS f WHERE f.user_id {=} unseen.user_id{collate}));
END
{$};

