--- add alone
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
		WHERE e.user_id IS NOT NULL AND e.item IS NOT NULL
{in_window}
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
	ELSE	-- lock() may have made the row
		DELETE FROM {feed}.filters AS f WHERE f.user_id {=} into_user{collate} AND {filter_stored} IS NULL;
	END IF;
	DELETE FROM {feed}.filters AS f WHERE f.user_id {=} from_user{collate};
END
{$};

--- remember_shown
		-- Nearly always the user has a row.
		UPDATE {feed}.filters AS f SET items = {bloom}.bloom_add(coalesce(f.items, {bloom}.bloom_new(fpr => {fpr})), shown.items)
		WHERE f.user_id {=} shown.user_id{collate};
		CONTINUE WHEN FOUND;
		INSERT INTO {feed}.filters AS f (user_id, items)
		VALUES (shown.user_id, {bloom}.bloom_add({bloom}.bloom_new(fpr => {fpr}), shown.items))
		ON CONFLICT ON CONSTRAINT filters_pkey
		DO UPDATE SET items = {bloom}.bloom_add(coalesce(f.items, {bloom}.bloom_new(fpr => {fpr})), shown.items);
{require_found}
--- remember_shown windowed
		-- Nearly always all times are in the slice of the calls before.  Only "recent" is written
		-- then, a few hundred bytes, however much the user has seen.
		UPDATE {feed}.filters AS f SET recent = {bloom}.bloom_add_at(f.recent, shown.items, shown.times)
		WHERE f.user_id {=} shown.user_id{collate} AND f.since <= shown.oldest AND f.since > shown.newest - interval {slice_hours};
		IF NOT FOUND THEN
			PERFORM {feed}.remember(shown.user_id, shown.items, shown.times);
		END IF;

--- remember windowed
-- Add items, each with its time, and another filter to the filter of a user: at a new slice, for
-- late items, and for a new user.  The other functions call it, and nobody else needs to.
CREATE OR REPLACE FUNCTION {feed}.remember(
	user_id {user_type}, items {item_type}[], times timestamp with time zone[], filter {bloom}.bloom DEFAULT NULL)
RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_column
DECLARE
	whole {bloom}.bloom;	-- of all slices
	slice timestamp with time zone;	-- start of the newest one that has begun
BEGIN
	IF remember.user_id IS NOT NULL THEN
		PERFORM {feed}.lock(remember.user_id);
		-- Which slices have left the window is what the times say that come in, not the clock; see
		-- bloom_add_at().
		SELECT {bloom}.bloom_union({bloom}.bloom_union(f.items, f.recent), remember.filter) INTO whole
		FROM {feed}.filters AS f WHERE f.user_id {=} remember.user_id{collate};
		-- What is added has the rate of this script.  An older one can have had another, and that of
		-- a union is the sum.
		whole := coalesce({bloom}.bloom_with_fpr(whole, {fpr}), {bloom}.bloom_window({width}, {slices}, {fpr}));
		whole := {bloom}.bloom_add_at(whole, remember.items, times);
		slice := (SELECT coalesce(max(l.slice_start) FILTER (WHERE l.slice_start <= clock_timestamp()), min(l.slice_start))
			FROM {bloom}.bloom_layers(whole) AS l);
		UPDATE {feed}.filters AS f
		SET items = {bloom}.bloom_window(whole, NULL, slice, NULL), recent = {bloom}.bloom_window(whole, slice, NULL, NULL), since = slice
		WHERE f.user_id {=} remember.user_id{collate};
{require_found}
	END IF;
END
{$};

--- in_window windowed
			AND e.shown_at >= present - interval {hours}

--- add_filter plain
		-- What is added later has the rate of this script: that of a union is the sum.
		UPDATE {feed}.filters AS f SET items = {bloom}.bloom_with_fpr({bloom}.bloom_union(f.items, filter), {fpr})
		WHERE f.user_id {=} into_user{collate};
{require_found}
--- add_filter windowed
		PERFORM {feed}.remember(into_user, ARRAY[]::{item_type}[], ARRAY[]::timestamp with time zone[], filter);
