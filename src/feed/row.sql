-- What a call does to the row of a user, once the row is locked.  The scripts of feeds read and
-- write the row; these functions touch no table.
--
-- "recent" has the hashes of the newest items, the newest first, and "items" is the filter of what
-- is older.  In a feed with a window all of "recent" lies in the slice that began at "since"; in
-- others (width is NULL) "since" is NULL.  The newest "pending" of them are those of the last
-- take, as long as nothing has confirmed them.
--
-- What all of them take: the kind of the items, the width and the slices of the window, the target
-- rate, and the capacity of a first layer.

CREATE FUNCTION bloomexp.max_recent() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT 247 $$;

COMMENT ON FUNCTION bloomexp.max_recent() IS
'how many hashes a row has at most: 2,000 bytes with the header of the array';

CREATE FUNCTION bloomexp.fold(
	items @extschema@.bloom, hashes bigint[],
	since timestamp with time zone,	-- when they were shown
	final boolean,	-- no more will come for this slice
	kind text, width interval, slices integer, fpr double precision, capacity bigint)
RETURNS @extschema@.bloom
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
	SELECT CASE WHEN pg_catalog.cardinality(hashes) OPERATOR(pg_catalog.=) 0 THEN items
		WHEN width IS NULL THEN bloomexp.add_hashes(bloomexp.with_fpr(
			coalesce(items, bloomexp.new(capacity, fpr, false)), fpr), kind, hashes)
		ELSE bloomexp.add_hashes_at(bloomexp.with_fpr(
			coalesce(items, bloomexp.window(width, slices, fpr)), fpr),
			kind, hashes, since, final) END
$$;

COMMENT ON FUNCTION bloomexp.fold(@extschema@.bloom, bigint[], timestamp with time zone, boolean,
	text, interval, integer, double precision, bigint) IS
'the filter of a row, made if it is NULL, with hashes more; what is added has the target rate fpr, '
'whatever the filter had before';

CREATE FUNCTION bloomexp.add_to_row(
	INOUT since timestamp with time zone,
	INOUT items @extschema@.bloom,	-- comes back NULL if it stays as it was
	INOUT pending integer, INOUT recent bigint[],
	added anyarray, shown_at timestamp with time zone[],	-- shown_at counts if there is a window
	taken boolean,	-- by a take
	kind text, width interval, slices integer, fpr double precision, capacity bigint,
	OUT changed boolean)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
	max_recent constant integer := bloomexp.max_recent();
	present constant timestamp with time zone := clock_timestamp();	-- a later time counts as now
	filter items%TYPE := items;
	slice timestamp with time zone;	-- of the newest time
	late added%TYPE;
	with_late items%TYPE;
	late_at timestamp with time zone[];
	repeats boolean;	-- some of what is pending
	fresh bigint[];
BEGIN
	items := NULL;
	changed := false;

	-- A new slice ends the old one first: what is shown again is then added again.  The newest time
	-- decides.  But no slice begins in the future: if "recent" has such a one, a clock was ahead.
	IF width IS NOT NULL THEN
		slice := (SELECT bloomexp.slice_start(LEAST(max(t.at), present), width, slices)
			FROM unnest(shown_at) AS t(at));
		slice := LEAST(GREATEST(since, slice), bloomexp.slice_start(present, width, slices));
		IF since IS DISTINCT FROM slice THEN
			IF cardinality(recent) > 0 THEN
				items := bloomexp.fold(filter, recent, since, true, kind, width, slices, fpr,
					capacity);
				filter := items;
			END IF;
			since := slice;
			pending := 0;
			recent := '{}';
			changed := true;
		END IF;
	END IF;
	repeats := pending > 0 AND bloomexp.hashes(added) && recent[1:pending];

	-- What is late goes into the filter, at its time, unless it was shown again since then.
	IF width IS NOT NULL THEN
		SELECT array_agg(s.item) FILTER (WHERE s.at < slice),
			array_agg(s.at) FILTER (WHERE s.at < slice),
			array_agg(s.item) FILTER (WHERE s.at >= slice)
		INTO late, late_at, added
		FROM (SELECT i.item, LEAST(i.at, present) AS at
			FROM ROWS FROM (unnest(added), unnest(shown_at)) AS i(item, at)) AS s
		WHERE s.item IS NOT NULL
			AND (s.at >= slice OR NOT bloomexp.hashes(ARRAY[s.item]) && recent);
		IF late IS NOT NULL THEN
			with_late := bloomexp.add_at(
				bloomexp.with_fpr(coalesce(filter, bloomexp.window(width, slices, fpr)), fpr),
				late, late_at);
			IF bloomexp.eq(filter, with_late) IS NOT TRUE THEN	-- a batch can come again
				filter := with_late;
				items := filter;
				pending := 0;
				changed := true;
			END IF;
		END IF;
	END IF;

	fresh := coalesce(bloomexp.new_hashes(bloomexp.hashes(added), recent), '{}');
	IF cardinality(fresh) = 0 AND (taken OR NOT repeats) THEN
		RETURN;
	END IF;
	-- When "recent" is full, it goes into the filter; so does what alone would fill it.
	IF cardinality(recent) + cardinality(fresh) > max_recent THEN
		items := bloomexp.fold(filter, recent, since, false, kind, width, slices, fpr, capacity);
		recent := '{}';
		IF cardinality(fresh) > max_recent THEN
			items := bloomexp.fold(items, fresh, since, false, kind, width, slices, fpr, capacity);
			fresh := '{}';
		END IF;
	END IF;
	pending := CASE WHEN taken THEN cardinality(fresh) ELSE 0 END;
	recent := fresh || recent;
	changed := true;
END
$$;

COMMENT ON FUNCTION bloomexp.add_to_row(timestamp with time zone, @extschema@.bloom, integer,
	bigint[], anyarray, timestamp with time zone[], boolean, text, interval, integer,
	double precision, bigint) IS
'the row of a user after items were shown, each at its time, and whether it differs from before';

CREATE FUNCTION bloomexp.take_back_from_row(
	INOUT pending integer, INOUT recent bigint[], INOUT items anyarray)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
	kept bigint[];
BEGIN
	items := ARRAY(
		SELECT i.item
		FROM unnest(bloomexp.exclude_first(items, NULL, NULL, NULL)) WITH ORDINALITY AS i(item, n)
		WHERE bloomexp.hashes(ARRAY[i.item]) <@ recent[1:pending] ORDER BY i.n);
	kept := bloomexp.new_hashes(recent[1:pending], bloomexp.hashes(items));
	recent := kept || recent[pending + 1 :];
	pending := cardinality(kept);
END
$$;

COMMENT ON FUNCTION bloomexp.take_back_from_row(integer, bigint[], anyarray) IS
'the row of a user without those of the items that are pending, and these items';

CREATE FUNCTION bloomexp.merge_rows(
	INOUT since timestamp with time zone, INOUT items @extschema@.bloom, INOUT recent bigint[],
	other_since timestamp with time zone, other_items @extschema@.bloom, other_recent bigint[],
	kind text, width interval, slices integer, fpr double precision, capacity bigint)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
	older bigint[] := '{}';
	older_since timestamp with time zone;
BEGIN
	-- What is added later has the rate of the feed: that of a union is the sum.
	items := bloomexp.with_fpr(bloomexp."union"(items, other_items), fpr);
	-- The newer slice stays exact, and the older one goes into the filter.
	IF since < other_since OR since IS NULL AND other_since IS NOT NULL THEN
		older := recent;
		older_since := since;
		since := other_since;
		recent := other_recent;
	ELSIF since > other_since THEN
		older := other_recent;
		older_since := other_since;
	ELSE
		recent := recent || bloomexp.new_hashes(other_recent, recent);
	END IF;
	items := bloomexp.fold(items, older, older_since, true, kind, width, slices, fpr, capacity);
	IF cardinality(recent) > bloomexp.max_recent() THEN
		items := bloomexp.fold(items, recent, since, false, kind, width, slices, fpr, capacity);
		recent := '{}';
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.merge_rows(timestamp with time zone, @extschema@.bloom, bigint[],
	timestamp with time zone, @extschema@.bloom, bigint[], text, interval, integer,
	double precision, bigint) IS
'the row of a user who was shown what another user was, too';
