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

-- The first candidates that were not shown to a user, without repetitions, as many as wanted
-- (NULL: all).  They are added to the filter at once, and the row stays locked until the
-- transaction ends, so that no other call takes the same.{insert_taken}
CREATE OR REPLACE FUNCTION {feed}.take(user_id {user_type}, candidates {item_type}[], wanted integer DEFAULT NULL) RETURNS {item_type}[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_column
DECLARE
	filter {bloom}.bloom;
	taken {item_type}[];
BEGIN
	SELECT {filter_now} INTO filter FROM {feed}.filters AS f WHERE f.user_id {=} take.user_id{collate} FOR NO KEY UPDATE;
	IF NOT FOUND THEN
		PERFORM {feed}.lock(take.user_id);
		SELECT {filter_now} INTO filter FROM {feed}.filters AS f WHERE f.user_id {=} take.user_id{collate};
	END IF;
	taken := {bloom}.bloom_exclude_array(candidates, filter, wanted);
	IF cardinality(taken) > 0 AND take.user_id IS NOT NULL THEN
{add_taken}
	END IF;
	RETURN taken;
END
{$};
