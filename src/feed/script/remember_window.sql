-- Add items, each with its time, to what a user was shown; "taken" are those of a take().  The
-- other functions call it: at a new slice, for late items, and when "recent" is full.
CREATE OR REPLACE FUNCTION {feed}.remember(user_id {user_type}, items {item_type}[],
	shown_at timestamp with time zone[], taken boolean) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_variable
DECLARE
	present timestamp with time zone := clock_timestamp();	-- a later time counts as now
	slice timestamp with time zone;	-- start of the newest one
	f record;	-- the row
	fresh bigint[];	-- hashes of what is new in this slice
	late {item_type}[];	-- items of slices before
	late_at timestamp with time zone[];
	older {bloom};
	confirmed boolean;
	changed boolean := false;
BEGIN
	PERFORM {feed}.lock(user_id);
	SELECT r.since, coalesce(r.items, bloomexp.window({width}, {slices}, {fpr})) AS items, r.pending, r.recent
	INTO f FROM {feed}.filters AS r WHERE r.user_id {=} remember.user_id{collate};

	-- The newest time decides, and not the clock.  But no slice begins in the future: if "recent"
	-- has such a one, a clock was ahead.
	slice := LEAST(bloomexp.slice_start(present, {width}, {slices}), GREATEST(f.since,
		bloomexp.slice_start((SELECT max(LEAST(t.at, present)) FROM unnest(shown_at) AS t(at)), {width}, {slices})));

	-- A new slice ends the old one first: what is shown again is then added again.
	IF f.since IS DISTINCT FROM slice THEN
		IF cardinality(f.recent) > 0 THEN
			f.items := bloomexp.add_hashes_at(bloomexp.with_fpr(f.items, {fpr}), {item_kind}, f.recent, f.since, true);
		END IF;
		f.since := slice;
		f.pending := 0;
		f.recent := ARRAY[]::bigint[];
		changed := true;
	END IF;

	confirmed := NOT taken AND f.pending > 0
		AND bloomexp.hashes(items{item_collate}) && f.recent[1:f.pending];
	SELECT bloomexp.hashes(bloomexp.exclude_first(
			array_agg(s.item{item_collate}) FILTER (WHERE s.at >= slice), NULL, NULL, f.recent)),
		array_agg(s.item) FILTER (WHERE s.at < slice), array_agg(s.at) FILTER (WHERE s.at < slice)
	INTO fresh, late, late_at
	FROM (SELECT i.item, LEAST(i.at, present) AS at
		FROM ROWS FROM (unnest(items), unnest(shown_at)) AS i(item, at)) AS s
	WHERE s.item IS NOT NULL AND s.at IS NOT NULL
		AND (s.at >= slice OR NOT bloomexp.hashes(ARRAY[s.item{item_collate}]) && f.recent);
	fresh := coalesce(fresh, ARRAY[]::bigint[]);

	-- What is late goes into the filter, at its time.
	IF late IS NOT NULL THEN
		older := bloomexp.add_at(bloomexp.with_fpr(f.items, {fpr}), late{item_collate}, late_at);
		IF NOT bloomexp.eq(older, f.items) THEN
			f.items := older;
			f.pending := 0;
			changed := true;
		END IF;
	END IF;

	-- When "recent" is full, it goes into the filter, too; so does what alone would fill it.
	IF cardinality(f.recent) + cardinality(fresh) > {max_recent} THEN
		f.items := bloomexp.add_hashes_at(bloomexp.with_fpr(f.items, {fpr}), {item_kind}, f.recent, slice, false);
		f.pending := 0;
		f.recent := ARRAY[]::bigint[];
		changed := true;
		IF cardinality(fresh) > {max_recent} THEN
			f.items := bloomexp.add_hashes_at(f.items, {item_kind}, fresh, slice, false);
			fresh := ARRAY[]::bigint[];
		END IF;
	END IF;
	IF cardinality(fresh) > 0 OR confirmed THEN
		f.pending := CASE WHEN taken THEN cardinality(fresh) ELSE 0 END;
		f.recent := fresh || f.recent;
		changed := true;
	END IF;

	IF changed THEN
		UPDATE {feed}.filters AS r
		SET since = f.since, items = f.items, pending = f.pending, recent = f.recent
		WHERE r.user_id {=} remember.user_id{collate};
		IF NOT FOUND THEN
			RAISE EXCEPTION USING MESSAGE = 'could not write the row of a user in ' || {filters_literal},
				HINT = 'Look for triggers and rules on this table.';
		END IF;
	END IF;
END
{$};
