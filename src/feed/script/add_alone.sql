-- Items were shown to a user, now or at another time.
CREATE OR REPLACE FUNCTION {feed}.add(user_id {user_type}, items {item_type}[], shown_at timestamp with time zone DEFAULT pg_catalog.clock_timestamp()) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
BEGIN
	IF items IS NOT NULL THEN
		PERFORM {feed}.add_batch(array_fill(user_id, ARRAY[cardinality(items)]), items, array_fill(shown_at, ARRAY[cardinality(items)]));
	END IF;
END
{$};

-- A batch of a stream, in any order and any number of times: each of the users was shown the item
-- at the same place of "items", at the time there.  NULL is none; a time in the future is now.
CREATE OR REPLACE FUNCTION {feed}.add_batch(user_ids {user_type}[], items {item_type}[], shown_at timestamp with time zone[]) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_variable
DECLARE
	present timestamp with time zone := clock_timestamp();
	shown record;
BEGIN
	IF cardinality(user_ids) IS DISTINCT FROM cardinality(items) OR cardinality(items) IS DISTINCT FROM cardinality(shown_at) THEN
		RAISE EXCEPTION 'arrays of users, items and times must be of the same length'
			USING ERRCODE = 'array_subscript_error', DETAIL = format('The lengths are %s, %s and %s.', cardinality(user_ids), cardinality(items), cardinality(shown_at));
	END IF;
	FOR shown IN	-- in the order of users, so that two batches do not deadlock
		SELECT e.user_id, array_agg(e.item) AS items, array_agg(e.shown_at) AS times, min(e.shown_at) AS oldest, max(e.shown_at) AS newest
		FROM (SELECT b.user_id{collate} AS user_id, b.item, LEAST(b.shown_at, present) AS shown_at
			FROM ROWS FROM (unnest(user_ids), unnest(items), unnest(shown_at)) AS b(user_id, item, shown_at) WHERE b.shown_at IS NOT NULL) AS e
		WHERE e.user_id IS NOT NULL AND e.item IS NOT NULL{in_window}
		GROUP BY e.user_id ORDER BY e.user_id
	LOOP
{remember_shown}
	END LOOP;
END
{$};

-- Remove all that is stored about a user.
CREATE OR REPLACE FUNCTION {feed}.forget(user_id {user_type}) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
BEGIN
	DELETE FROM {feed}.filters AS f WHERE f.user_id {=} forget.user_id{collate};
END
{$};

-- What one user was shown was shown to another, too, and the first is forgotten: a visitor signs in.
CREATE OR REPLACE FUNCTION {feed}.merge(from_user {user_type}, into_user {user_type}) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
DECLARE
	filter {bloom}.bloom;
BEGIN
	IF (from_user {=} into_user{collate}) IS NOT FALSE THEN
		RETURN;
	END IF;
	-- in the order of users, so that two calls do not deadlock
	PERFORM {feed}.lock(u.u) FROM (SELECT u.u FROM unnest(ARRAY[from_user, into_user]) AS u(u) ORDER BY u.u{collate} OFFSET 0) AS u;
	SELECT {filter_stored} INTO filter FROM {feed}.filters AS f WHERE f.user_id {=} from_user{collate};
	IF filter IS NOT NULL THEN
{add_filter}
	END IF;
	DELETE FROM {feed}.filters AS f WHERE f.user_id {=} from_user{collate};
END
{$};
