--- read
{current}

-- The candidates that were not shown to a user, in their order.
CREATE OR REPLACE FUNCTION {feed}.unseen(user_id {user_type}, candidates {item_type}[]) RETURNS {item_type}[]
LANGUAGE plpgsql {stable} SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
BEGIN
	RETURN {bloom}.bloom_exclude_array(candidates,
		{unseen_filter});
END
{$};

-- The first candidates that were not shown to a user, without repetitions, as many as wanted
-- (NULL: all).
{how_taken}
{insert_taken}
CREATE OR REPLACE FUNCTION {feed}.take(user_id {user_type}, candidates {item_type}[], wanted integer DEFAULT NULL) RETURNS {item_type}[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
{take}
{$};

-- Whether an item was shown to a user; up to {fpr} of the other items are taken for shown.
CREATE OR REPLACE FUNCTION {feed}.contains(user_id {user_type}, item {item_type}) RETURNS boolean
LANGUAGE plpgsql {stable} SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
BEGIN
	RETURN {bloom}.bloom_contains({feed}.current(user_id), item);
END
{$};

--- stable
STABLE PARALLEL SAFE
--- stable log
STABLE

--- current
-- The filter of a user as of now.
CREATE OR REPLACE FUNCTION {feed}.current(user_id {user_type}) RETURNS {bloom}.bloom
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
BEGIN
	RETURN (SELECT {filter_now} FROM {feed}.filters AS f WHERE f.user_id {=} current.user_id{collate});
END
{$};

--- current log
-- The filter of a user as of now: the stored one and the exposures since it was filled.
CREATE OR REPLACE FUNCTION {feed}.current(user_id {user_type}) RETURNS {bloom}.bloom
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS {$}
#variable_conflict use_variable
DECLARE
	main {bloom}.bloom;
	main_until timestamp with time zone;
	since timestamp with time zone := {window_start};
	rest_fpr double precision := {fpr};
	rest {bloom}.bloom;
BEGIN
	SELECT f.items, f.filled_until INTO main, main_until FROM {feed}.filters AS f WHERE f.user_id {=} current.user_id{collate};
	IF main IS NOT NULL AND main_until > since THEN
		since := main_until;
		rest_fpr := {rest_fpr};	-- together with {stored_fpr} of the stored filter: {fpr}
	ELSE
		main := NULL;	-- the whole width is read below
	END IF;
	SELECT {bloom}.bloom_agg({item}, rest_fpr) INTO rest
	FROM {exposures} AS e{elements}
	WHERE {user} {=} current.user_id{collate} AND {exposed};
	RETURN CASE WHEN main IS NULL THEN rest WHEN rest IS NULL THEN main ELSE {bloom}.bloom_union(main, rest) END;
END
{$};

--- unseen_filter
(SELECT {filter_now} FROM {feed}.filters AS f WHERE f.user_id {=} unseen.user_id{collate})
--- unseen_filter log
{feed}.current(user_id)

--- how_taken
-- They are added to the filter at once, and the row stays locked until the transaction ends, so
-- that no other call takes the same.
--- how_taken log
-- Other calls for the user wait until the transaction ends.
--- insert_taken trigger
-- Insert them as exposures in the same statement or transaction: a rebuild knows the exposures only.
--- insert_taken log
-- Insert them as exposures in the same statement or transaction: nothing else remembers them.

--- take
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
	taken := {bloom}.bloom_exclude_first(candidates, filter, wanted);
	IF cardinality(taken) > 0 AND take.user_id IS NOT NULL THEN
{add_taken}
	END IF;
	RETURN taken;
END

--- take log
BEGIN
	PERFORM {feed}.lock(user_id);
	-- a new statement, and so a new snapshot
	RETURN {bloom}.bloom_exclude_first(candidates, {feed}.current(user_id), wanted);
END

--- add_taken
		UPDATE {feed}.filters AS f SET items = {bloom}.bloom_add(coalesce(filter, {bloom}.bloom_new(fpr => {fpr})), taken)
		WHERE f.user_id {=} take.user_id{collate};
{require_found}
--- add_taken windowed
		DECLARE
			at timestamp with time zone := clock_timestamp();	-- after the lock: never before what is in the filter
			times timestamp with time zone[] := array_fill(at, ARRAY[cardinality(taken)]);
		BEGIN
			UPDATE {feed}.filters AS f SET recent = {bloom}.bloom_add_at(f.recent, taken, times)
			WHERE f.user_id {=} take.user_id{collate} AND f.since <= at AND f.since > at - interval {slice_hours};
			IF NOT FOUND THEN
				PERFORM {feed}.remember(take.user_id, taken, times);
			END IF;
		END;

--- filter_now
f.items
--- filter_now windowed
{bloom}.bloom_expire({filter_stored}, current_timestamp)
--- filter_stored
f.items
--- filter_stored windowed
{bloom}.bloom_union(f.items, f.recent)

--- window_start table
(now() AT TIME ZONE 'UTC' - interval {width}) AT TIME ZONE 'UTC'
--- exposed table
{user} IS NOT NULL AND {item} IS NOT NULL{where} AND {time} >= {since}
