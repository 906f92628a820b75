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
-- transaction ends, so that no other call takes the same.  Insert them as exposures in the
-- same statement or transaction: a rebuild knows the exposures only.
CREATE OR REPLACE FUNCTION {feed}.take(user_id {user_type}, candidates {item_type}[], wanted integer DEFAULT NULL) RETURNS {item_type}[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_column
DECLARE
	filter {bloom}.bloom;
	taken {item_type}[];
BEGIN
	FOR tries IN 1 .. 100 LOOP
		SELECT {filter_now} INTO filter FROM {feed}.filters AS f WHERE f.user_id {=} take.user_id{collate} FOR NO KEY UPDATE;
		EXIT WHEN FOUND OR take.user_id IS NULL;	-- nobody has a row
		IF tries OPERATOR(pg_catalog.=) 100 THEN	-- FOUND after a loop says only that it ran
			RAISE EXCEPTION 'could not make a row of a user in %', {filters_literal} USING HINT = 'Look for triggers and rules on this table.';
		END IF;
		INSERT INTO {feed}.filters (user_id) VALUES (take.user_id) ON CONFLICT (user_id) DO NOTHING;
	END LOOP;
	taken := {bloom}.bloom_exclude_array(candidates, filter, wanted);
	IF pg_catalog.cardinality(taken) OPERATOR(pg_catalog.>) 0 AND take.user_id IS NOT NULL THEN
		UPDATE {feed}.filters AS f SET items = {add_taken} WHERE f.user_id {=} take.user_id{collate};
		IF NOT FOUND THEN
			RAISE EXCEPTION 'could not add exposures to the filter of a user in %', {filters_literal}
				USING HINT = 'Look for triggers and rules on this table.';
		END IF;
	END IF;
	RETURN taken;
END
{$};

