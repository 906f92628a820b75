--
-- The row of a user in a feed: the newest items exactly, in "recent", and a filter of what is
-- older.  What only two sessions can show is in test/specs.  Times that must lie in the past are
-- written into the row.
--
SET client_min_messages = error;
SET TimeZone = 'UTC';
\set VERBOSITY terse
\set SHOW_CONTEXT never
\pset format unaligned
\pset tuples_only on
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE INDEX ON exposures (user_id, shown_at);
-- Slices of five years, so that none begins while this runs, before December of 2029.
SELECT bloomexp.create_feed('seen', fpr => 1e-7, width => '10950 days');
SELECT bloomexp.create_feed('ever', fpr => 1e-7, width => NULL);
SELECT bloomexp.create_feed('shown', 'exposures', fpr => 1e-7);
-- Where the slice of now began, and the one before it.
CREATE FUNCTION slice(ago integer) RETURNS timestamptz LANGUAGE sql AS $$
	SELECT bloomexp.slice_start(now() - ago * interval '1825 days', '10950 days', 6)
$$;
CREATE FUNCTION numbers(first int, last int) RETURNS bigint[] LANGUAGE sql AS $$
	SELECT ARRAY(SELECT generate_series(first, last)::bigint) $$;
-- What of some items is in "recent" and what in "items", how many are pending, and how many slices
-- ago "recent" began.
CREATE FUNCTION stored(u bigint, VARIADIC candidates bigint[]) RETURNS text LANGUAGE sql AS $$
	SELECT format('recent %s, items %s, %s pending, %s slices ago',
		ARRAY(SELECT i FROM unnest(f.recent) WITH ORDINALITY AS h(hash, n)
			JOIN unnest(candidates) AS i ON bloomexp.hashes(ARRAY[i]) = ARRAY[h.hash] ORDER BY h.n),
		ARRAY(SELECT i FROM unnest(candidates) AS i WHERE bloom_contains(f.items, i)),
		f.pending, extract(day FROM slice(0) - f.since)::integer / 1825)
	FROM seen.filters AS f WHERE f.user_id = u
$$;

--
-- Items are in "recent", the newest first.
--
SELECT seen.add(1, '{1,2}', slice(0));
SELECT seen.add(1, '{3}', now());
SELECT stored(1, 1, 2, 3, 4);
-- They are the hashes by which a filter knows the items.
SELECT bloom_add_hashes(NULL, 'integer', recent) = bloom_add(NULL, '{3,1,2}'::bigint[]) AS same
FROM seen.filters WHERE user_id = 1;

--
-- 1. All of "recent" lies in one slice.  A new slice ends the old one first.
--
-- An item that is shown again in a new slice counts from its new time: it is in both.
SELECT seen.add(2, '{1,2}', slice(1));
SELECT seen.add(2, '{2,3}', slice(0));
SELECT stored(2, 1, 2, 3, 4);
-- So it stays when the old slice has left the window.
SELECT i, bloom_contains(bloom_expire(seen.current(2), slice(0) + interval '10951 days'), i)
FROM generate_series(1, 3) AS i;
-- take() ends it, too, and a batch.
SELECT seen.add(3, '{1}', slice(1));
SELECT seen.take(3, '{1,2}');
SELECT stored(3, 1, 2, 3, 4);
SELECT seen.add(4, '{1}', slice(1));
SELECT seen.add_batch('{4,4}', '{1,2}', ARRAY[now(), now()]);
SELECT stored(4, 1, 2, 3, 4);
-- A late item goes into the filter, at its time, and nothing else moves.
SELECT seen.add(2, '{4}', slice(2));
SELECT stored(2, 1, 2, 3, 4);
SELECT bloom_contains(bloom_expire(seen.current(2), slice(0) + interval '9124 days'), 4) AS before,
	bloom_contains(bloom_expire(seen.current(2), slice(0) + interval '9126 days'), 4) AS after;
-- ... unless it was shown again since then.
SELECT seen.add(2, '{3}', slice(1));
SELECT stored(2, 1, 2, 3, 4);
-- A batch that begins a slice, and is late.
SELECT seen.add(5, '{1}', slice(2));
SELECT seen.add_batch('{5,5,5}', '{1,2,3}', ARRAY[slice(0), slice(1), slice(2)]);
SELECT stored(5, 1, 2, 3, 4);
-- One of two slices, for a user of that slice, and for a new one.
SELECT seen.add_batch('{1,1,7,7}', '{4,5,4,5}', ARRAY[slice(0), slice(1), slice(0), slice(1)]);
SELECT stored(1, 3, 4, 5), stored(7, 3, 4, 5);
-- Slice by slice, the oldest first, whatever the planner does: each has its exact size.
SET enable_nestloop = off;
SELECT seen.add_batch(array_fill(16::bigint, ARRAY[50]), numbers(1, 50),
	ARRAY(SELECT slice(n % 5) FROM generate_series(1, 50) AS n));
RESET enable_nestloop;
SELECT seen.add(17, ARRAY(SELECT i FROM unnest(numbers(1, 50)) AS i WHERE i % 5 = k), slice(k))
FROM generate_series(4, 0, -1) AS k;
SELECT f.items = g.items AS items, f.recent = g.recent AS recent, f.since = g.since AS since
FROM seen.filters AS f, seen.filters AS g WHERE f.user_id = 16 AND g.user_id = 17;
-- A row that only lock() has made has no slice yet.
SELECT seen.lock(8), seen.lock(9);
SELECT seen.add_batch('{8}', '{1}', ARRAY[now()]), seen.add(9, '{1}');
SELECT stored(8, 1), stored(9, 1);
-- Reading leaves out "recent" when its slice has left the window, and no write expires by the
-- clock.
SELECT seen.add(6, '{1,2}', slice(0));
UPDATE seen.filters SET since = slice(7) WHERE user_id = 6;
SELECT seen.unseen(6, '{1,2,3}');
SELECT seen.contains(6, 1);
SELECT bloom_contains(seen.current(6), 1::bigint);
SELECT seen.take(6, '{1}');
SELECT stored(6, 1, 2, 3);
-- The oldest slice of the window is in it, as a whole.
UPDATE seen.filters SET since = slice(6), items = NULL WHERE user_id = 6;
SELECT seen.unseen(6, '{1,2,3}');

--
-- 2. Borders of slices are those of the filter, whatever clocks do.
--
SELECT bloomexp.create_feed('summer', width => '30 days', fpr => 1e-7);
-- Let its functions take times of any age.
DO $$ BEGIN
	EXECUTE replace(pg_get_functiondef('summer.add'::regproc),
		'clock_timestamp() - interval ''720:00:00''', '''-infinity''');
	EXECUTE replace(pg_get_functiondef('summer.add_batch'::regproc),
		'present, settings) AS p',
		'(SELECT max(t) FROM unnest(shown_at) AS t), settings) AS p');
	EXECUTE replace(pg_get_functiondef('summer.add_batch'::regproc),
		'present - interval ''720:00:00''', '''-infinity''');
END $$;
SET TimeZone = 'Europe/Berlin';
-- In March a slice of 120 hours begins at one o'clock and ends at two.
SELECT bloomexp.slice_start('2025-03-30 12:00', '30 days', 6) AS start,
	bloomexp.slice_start('2025-03-30 12:00', '30 days', 6) + interval '120 hours' AS finish;
SELECT summer.add_batch('{1}', '{1}', ARRAY['2025-03-29 12:00'::timestamptz]);
SELECT since FROM summer.filters;
-- It is the slice of the filter that "recent" becomes.
SELECT summer.add_batch('{1}', '{2}', ARRAY['2025-04-20 12:00'::timestamptz]);
SELECT slice_start, items FROM bloom_layers((SELECT items FROM summer.filters));
-- To the microsecond, both ways: what comes just before the border is late.
SELECT bloomexp.slice_start('2025-04-20 12:00', '30 days', 6) AS border \gset
SELECT summer.add_batch('{2}', '{1}', ARRAY[:'border'::timestamptz]);
SELECT summer.add_batch('{2}', '{2}', ARRAY[:'border'::timestamptz - interval '1 microsecond']);
SELECT cardinality(recent), since = :'border' FROM summer.filters WHERE user_id = 2;
SELECT summer.add_batch('{2}', '{3}', ARRAY[:'border'::timestamptz + interval '119:59:59.999999']);
SELECT cardinality(recent), since = :'border' FROM summer.filters WHERE user_id = 2;
SELECT summer.add_batch('{2}', '{4}', ARRAY[:'border'::timestamptz + interval '120 hours']);
SELECT cardinality(recent), since = :'border' FROM summer.filters WHERE user_id = 2;
-- A width that cannot be cut into equal slices: they are rounded up.
SELECT bloomexp.slice_start('2000-01-01 00:00:00.000007+00', '10 microseconds', 3)
	= '2000-01-01 00:00:00.000004+00' AS same;
-- Before 2000 they are the same.
SELECT bloomexp.slice_start('1999-12-31 23:59:59.999999+00', '6 days', 6) 
	= '1999-12-31 00:00+00' AS same;
SET TimeZone = 'UTC';
DROP SCHEMA summer CASCADE;

--
-- 3. Times in the future count as now.
--
SELECT seen.add(10, '{1}', 'infinity');
SELECT stored(10, 1, 2, 3);
SELECT seen.add_batch('{11}', '{1}', ARRAY[now() + interval '100 years']);
SELECT stored(11, 1, 2, 3);
SELECT seen.add_batch('{13}', '{1}', '{infinity}');
SELECT stored(13, 1, 2, 3);
SELECT seen.add_batch('{12,12,12}', '{1,2,3}',
	ARRAY[now() + interval '100 years', slice(1), 'infinity']);
SELECT stored(12, 1, 2, 3);
-- They are forgotten as what was shown now.
SELECT bloom_contains(bloom_expire(seen.current(12), now() + interval '40 years'), 3) AS for_ever;
-- A "since" ahead of the clock is set back, and what was added stays.
UPDATE seen.filters SET since = slice(-20) WHERE user_id = 12;
SELECT seen.unseen(12, '{1,2,3,4}');
SELECT seen.add(12, '{4}');
SELECT stored(12, 1, 2, 3, 4);
SELECT seen.unseen(12, '{1,2,3,4}');
UPDATE seen.filters SET since = slice(-20) WHERE user_id = 12;
SELECT seen.take(12, '{4,5}');
SELECT stored(12, 1, 2, 3, 4, 5);
UPDATE seen.filters SET since = slice(-20) WHERE user_id = 12;
SELECT seen.add_batch('{12}', '{6}', ARRAY[now()]);
SELECT stored(12, 1, 2, 3, 4, 5, 6);
-- "since" is never NULL where "recent" has something.
SELECT count(*) FROM seen.filters WHERE since IS NULL AND cardinality(recent) > 0;

--
-- 4. The row is locked before anything is decided, whether or not something is new.
--
SELECT seen.add(15, '{1}');
SELECT ever.add(15, '{1}');
INSERT INTO exposures VALUES (15, 1);
CREATE VIEW locked AS SELECT (SELECT xmax = pg_current_xact_id()::xid FROM seen.filters
		WHERE user_id = 15) AS seen,
	(SELECT xmax = pg_current_xact_id()::xid FROM ever.filters WHERE user_id = 15) AS ever,
	(SELECT xmax = pg_current_xact_id()::xid FROM shown.filters WHERE user_id = 15) AS shown;
BEGIN;
SELECT seen.unseen(15, '{1}'), ever.unseen(15, '{1}'), shown.unseen(15, '{1}');
TABLE locked;
SELECT seen.add(15, '{1}');
SELECT ever.add(15, '{1}');
INSERT INTO exposures VALUES (15, 1);
TABLE locked;
ROLLBACK;
BEGIN;
SELECT seen.add_batch('{15}', '{1}', ARRAY[now()]);
SELECT ever.add_batch('{15}', '{1}', ARRAY[now()]);
UPDATE exposures SET shown_at = now() WHERE user_id = 15;
TABLE locked;
ROLLBACK;
BEGIN;
SELECT seen.take(15, '{1}');
SELECT ever.take(15, '{1}');
SELECT shown.take(15, '{1}');
TABLE locked;
ROLLBACK;
BEGIN;
SELECT seen.take_back(15, '{1}');
SELECT ever.take_back(15, '{1}');
SELECT shown.take_back(15, '{1}');
TABLE locked;
ROLLBACK;
DROP VIEW locked;
-- Functions that lock are volatile: each statement of theirs sees what has committed before it.
SELECT p.proname, p.provolatile, count(*) FROM pg_proc AS p
WHERE p.pronamespace IN ('seen'::regnamespace, 'ever'::regnamespace, 'shown'::regnamespace)
	AND p.provolatile <> 'v' GROUP BY 1, 2 ORDER BY 1;

--
-- 5. Whatever is in "recent" is not added again, and what brings nothing new writes nothing.
--
CREATE FUNCTION version(feed text, u bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	version text;
BEGIN
	EXECUTE format('SELECT concat_ws('' '', ctid, xmin) FROM %I.filters WHERE user_id = $1', feed)
	INTO version USING u;
	RETURN version;
END
$$;
SELECT seen.add(20, '{1,2,3}');
SELECT ever.add(20, '{1,2,3}');
INSERT INTO exposures VALUES (20, 1), (20, 2), (20, 3);
SELECT version('seen', 20) AS seen, version('ever', 20) AS ever, version('shown', 20) AS shown \gset
SELECT seen.add(20, '{3,2,2}');
SELECT seen.add_batch('{20,20}', '{1,1}', ARRAY[now(), now()]);
SELECT seen.take(20, '{1,2,3}');
SELECT seen.lock(20);
SELECT version('seen', 20) = :'seen' AS unchanged;
SELECT ever.add(20, '{3,2,2}');
SELECT ever.add_batch('{20,20}', '{1,1}', ARRAY[now(), now()]);
SELECT ever.take(20, '{1,2,3}');
SELECT version('ever', 20) = :'ever' AS unchanged;
INSERT INTO exposures VALUES (20, 3), (20, 1), (20, 1);
UPDATE exposures SET shown_at = now() WHERE user_id = 20;
SELECT shown.take(20, '{1,2,3}');
SELECT version('shown', 20) = :'shown' AS unchanged;
-- What is new among it is added, once.
SELECT seen.add(20, '{3,4,4}');
SELECT stored(20, 1, 2, 3, 4);
-- What is late again writes nothing, either, nor do more items than "recent" takes.
SELECT seen.add(20, '{9}', slice(1)), ever.add(20, numbers(1001, 1300));
SELECT seen.add(20, numbers(1001, 1300));
SELECT version('seen', 20) AS seen, version('ever', 20) AS ever \gset
SELECT seen.add(20, '{9}', slice(1));
SELECT seen.add_batch('{20,20}', '{9,4}', ARRAY[slice(1), slice(2)]);
SELECT seen.add(20, numbers(1001, 1300)), ever.add(20, numbers(1001, 1300));
SELECT seen.add_batch(array_fill(20::bigint, ARRAY[300]), numbers(1001, 1300),
		array_fill(now(), ARRAY[300])),
	ever.add_batch(array_fill(20::bigint, ARRAY[300]), numbers(1001, 1300),
		array_fill(now(), ARRAY[300]));
SELECT version('seen', 20) = :'seen' AS seen, version('ever', 20) = :'ever' AS ever;
-- ... nor if "recent" has some of so many.
SELECT seen.add(u, numbers(1, 100)), ever.add(u, numbers(1, 100)) FROM generate_series(21, 22) AS u;
INSERT INTO exposures SELECT 22, unnest(numbers(1, 100));
CREATE FUNCTION many() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM seen.add(21, numbers(1, 300)), ever.add(21, numbers(1, 300));
	PERFORM seen.add_batch(array_fill(22::bigint, ARRAY[300]), numbers(1, 300),
			array_fill(now(), ARRAY[300])),
		ever.add_batch(array_fill(22::bigint, ARRAY[300]), numbers(1, 300),
			array_fill(now(), ARRAY[300]));
	INSERT INTO exposures SELECT 22, unnest(numbers(1, 300));
	RETURN concat_ws(' ', version('seen', 21), version('ever', 21), version('seen', 22),
		version('ever', 22), version('shown', 22));
END
$$;
SELECT many() AS many \gset
SELECT many() = :'many' AS unchanged;
SELECT cardinality(recent), bloom_cardinality(items) BETWEEN 190 AND 210 AS of_200
FROM seen.filters WHERE user_id IN (21, 22);

--
-- 6. take_back() forgets only what is pending: what the last take returned and nothing confirmed.
--
SELECT seen.add(30, '{1}');
SELECT seen.take(30, '{1,2,3,4}');
SELECT stored(30, 1, 2, 3, 4);
-- It returns the items in the order of its argument, once each, and no others.
SELECT seen.take_back(30, '{3,1,2,2,9,NULL}');
SELECT stored(30, 1, 2, 3, 4);
SELECT seen.unseen(30, '{1,2,3,4}');
-- At most once.
SELECT seen.take_back(30, '{2,3}');
-- What is left of the take can be taken back still.
SELECT seen.take_back(30, '{4}');
SELECT seen.unseen(30, '{1,2,3,4}');
-- The take before the last cannot.
SELECT seen.take(30, '{2}');
SELECT seen.take(30, '{3}');
SELECT seen.take_back(30, '{2,3}');
-- What was added was not taken.
SELECT seen.add(31, '{1}');
SELECT seen.take_back(31, '{1}');
-- An add that repeats one of them confirms all.
SELECT seen.take(32, '{1,2}');
SELECT seen.add(32, '{2}');
SELECT seen.take_back(32, '{1,2}');
SELECT seen.unseen(32, '{1,2}');
-- ... a late one, too,
SELECT seen.take(33, '{1,2}');
SELECT seen.add(33, '{2}', slice(1));
SELECT seen.take_back(33, '{1,2}');
-- ... one that brings anything new,
SELECT seen.take(34, '{1,2}');
SELECT seen.add(34, '{3}');
SELECT seen.take_back(34, '{1,2}');
-- ... a late one, too,
SELECT seen.take(35, '{1,2}');
SELECT seen.add(35, '{3}', slice(1));
SELECT seen.take_back(35, '{1,2}');
-- ... a batch, be it repeated, new or late,
SELECT seen.take(u, '{1,2}') FROM generate_series(36, 38) AS u;
SELECT seen.add_batch('{36,37,38}', '{2,3,3}', ARRAY[now(), now(), slice(1)]);
SELECT seen.take_back(u, '{1,2}') FROM generate_series(36, 38) AS u;
-- ... another take that takes something, but not one that takes nothing,
SELECT seen.take(39, '{1,2}');
SELECT seen.take(39, '{1,2}');
SELECT seen.take_back(39, '{1}');
-- ... a fold,
SELECT cardinality(seen.take(40, ARRAY(SELECT generate_series(1001, 1246))));
SELECT seen.take(40, '{1,2}');
SELECT cardinality(recent) AS recent, pending FROM seen.filters WHERE user_id = 40;
SELECT seen.take_back(40, '{1001,1246}');
SELECT seen.take_back(40, '{1,2}');
-- ... the end of the slice,
SELECT seen.take(41, '{1,2}');
UPDATE seen.filters SET since = slice(1) WHERE user_id = 41;
SELECT seen.add(41, '{1}');
SELECT seen.take_back(41, '{1,2}');
-- ... and a merge, on both sides.
SELECT seen.take(42, '{1,2}');
SELECT seen.take(43, '{3,4}');
SELECT seen.merge(43, 42);
SELECT seen.take_back(42, '{1,2,3,4}');
SELECT seen.unseen(42, '{1,2,3,4,5}');
-- A take that is too large for "recent" cannot be taken back.
SELECT cardinality(seen.take(44, ARRAY(SELECT generate_series(1, 300))));
SELECT seen.take_back(44, '{1,2}');
SELECT seen.unseen(44, '{1,2,1000}');
-- There is nothing to take back for a NULL user, a user without a row, or no items.
SELECT seen.take_back(NULL, '{1}');
SELECT seen.take_back(32, NULL);
SELECT seen.take_back(32, '{}');
SELECT seen.take_back(45, '{1}');
-- The same where nothing is forgotten.
SELECT ever.take(30, '{1,2}');
SELECT ever.take_back(30, '{2,2}');
SELECT ever.take_back(30, '{2}');
SELECT ever.take(u, '{1,2}') FROM generate_series(34, 36) AS u;
SELECT ever.add(34, '{3}');
SELECT ever.add_batch('{35,36}', '{3,2}', ARRAY[now(), now()]);
SELECT ever.take_back(u, '{1,2,3}') FROM generate_series(34, 36) AS u;
-- ... and by a batch of so many items that a row does not hold them.
SELECT ever.add(37, numbers(1, 300));
SELECT ever.take(37, '{1001,1002}');
SELECT ever.add_batch(array_fill(37::bigint, ARRAY[301]), '{1002}' || numbers(1, 300),
	array_fill(now(), ARRAY[301]));
SELECT ever.take_back(37, '{1001,1002}');
-- ... and by what is late, or by so many exposures.
SELECT seen.add(47, '{9}', slice(1)), seen.take(47, '{1001}'), shown.take(48, '{1001}');
SELECT seen.add_batch('{47,47}', '{1001,9}', ARRAY[now(), slice(1)]);
INSERT INTO exposures SELECT 48, unnest(numbers(1, 300));
SELECT seen.take_back(47, '{1001}'), shown.take_back(48, '{1001}');
-- So does such a take, which leaves nothing pending.
SELECT cardinality(ever.take(38, numbers(1, 300))), cardinality(seen.take(46, numbers(1, 300)));
SELECT pending FROM ever.filters WHERE user_id = 38 UNION ALL
SELECT pending FROM seen.filters WHERE user_id = 46;
-- Over a table exposures confirm: those of other items, too.
SELECT shown.take(34, '{1,2}');
INSERT INTO exposures VALUES (34, 3);
SELECT pending FROM shown.filters WHERE user_id = 34;
SELECT shown.take_back(34, '{1,2,3}');
SELECT ever.add(30, '{1}');
SELECT ever.take_back(30, '{1}');
SELECT ever.take(31, '{1,2}');
SELECT ever.add_batch('{31}', '{1}', ARRAY[now()]);
SELECT ever.take_back(31, '{2}');
-- Over a table it looks into the exposures.
SELECT shown.take(30, '{1,2,3}');
SELECT shown.take_back(30, '{1}');
SELECT shown.unseen(30, '{1,2,3}');
INSERT INTO exposures VALUES (30, 2);
SELECT shown.take_back(30, '{2,3}');
-- ... so that what a page inserts is confirmed, and what it left out is free.
INSERT INTO exposures SELECT 31, item FROM unnest(shown.take(31, '{1,2,3}', 2)) AS item;
SELECT shown.take_back(31, '{1,2}');
SELECT shown.take(32, '{1,2}');
INSERT INTO exposures VALUES (32, 1);
SELECT shown.take_back(32, '{1,2}');
-- A rebuild leaves nothing to take back.
SELECT shown.take(33, '{1,2}');
INSERT INTO exposures VALUES (33, 9, now() - interval '1 day');
UPDATE shown.filters SET pending = 2 WHERE user_id = 33;
CALL shown.rebuild(users => '{33}') \g /dev/null
SELECT pending, recent FROM shown.filters WHERE user_id = 33;
SELECT shown.take_back(33, '{1,2}');
SELECT shown.unseen(33, '{1,2,9}');

--
-- 7. A take that takes nothing writes nothing; what it returns is what was free.
--
SELECT seen.take(50, '{1,2,2,NULL,3}', 2);
SELECT version('seen', 50) AS seen \gset
SELECT seen.take(50, '{2,1}', 1);
SELECT seen.take(50, '{3}', 0);
SELECT seen.take(50, '{}');
SELECT seen.take(50, NULL);
SELECT version('seen', 50) = :'seen' AS unchanged;
SELECT seen.take(50, '{1,2,3,4}', 1);

--
-- 8. Storage: "recent" lies in the row, at most 2,000 bytes of it, and rows are small enough for
--    four of them on a page.
--
SELECT c.relnamespace::regnamespace AS feed, c.reloptions, a.attname, a.attstorage
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
WHERE c.relname = 'filters' AND a.attname IN ('items', 'recent') ORDER BY 1, 3;
-- A script that is applied again sets it back.
ALTER TABLE seen.filters ALTER recent SET STORAGE EXTENDED;
SELECT bloomexp.feed_sql('seen', fpr => 1e-7, width => '10950 days') AS script \gset
:script
SELECT attstorage FROM pg_attribute
WHERE attrelid = 'seen.filters'::regclass AND attname = 'recent';
-- One by one, in pages, by batches, and over a table.
SELECT count(seen.add(60, ARRAY[i])) FROM generate_series(1, 247) AS i;
SELECT count(seen.take(61, ARRAY(SELECT generate_series(10 * p + 1, 10 * p + 10))))
FROM generate_series(0, 23) AS p;
SELECT seen.add_batch(array_fill(62::bigint, '{247}'), ARRAY(SELECT generate_series(1, 247)),
	array_fill(now(), '{247}'));
SELECT count(ever.add(60, ARRAY[i])) FROM generate_series(1, 247) AS i;
SELECT ever.add_batch(array_fill(62::bigint, '{247}'), ARRAY(SELECT generate_series(1, 247)),
	array_fill(now(), '{247}'));
INSERT INTO exposures SELECT 60, generate_series(1, 247);
CREATE VIEW full_rows AS
	SELECT 'seen' AS feed, user_id, items, recent FROM seen.filters
	WHERE user_id BETWEEN 60 AND 69
	UNION ALL SELECT 'ever', user_id, items, recent FROM ever.filters
	WHERE user_id BETWEEN 60 AND 69
	UNION ALL SELECT 'shown', user_id, items, recent FROM shown.filters
	WHERE user_id = 60;
SELECT feed, user_id, items IS NULL AS exact, cardinality(recent), pg_column_size(recent)
FROM full_rows ORDER BY 1, 2;
-- The next ones are alone in "recent", and what was in it is in the filter.
SELECT seen.add(60, '{1000}');
SELECT seen.take(61, ARRAY(SELECT generate_series(1001, 1010)));
SELECT seen.add_batch('{62}', '{1000}', ARRAY[now()]);
SELECT ever.add(60, '{1000}');
SELECT ever.add_batch('{62}', '{1000}', ARRAY[now()]);
INSERT INTO exposures VALUES (60, 1000);
SELECT feed, user_id, (bloom_info(items)).items, cardinality(recent) FROM full_rows ORDER BY 1, 2;
SELECT cardinality(seen.unseen(60, a)) AS seen, cardinality(ever.unseen(60, a)) AS ever,
	cardinality(shown.unseen(60, a)) AS shown
FROM (SELECT ARRAY(SELECT generate_series(1::bigint, 247))) AS i(a);
-- More than "recent" holds goes into the filter at once.
SELECT seen.add(63, ARRAY(SELECT generate_series(1, 248)));
SELECT ever.add(63, ARRAY(SELECT generate_series(1, 248)));
SELECT seen.add_batch(array_fill(64::bigint, '{248}'), ARRAY(SELECT generate_series(1, 248)),
	array_fill(now(), '{248}'));
SELECT ever.add_batch(array_fill(64::bigint, '{248}'), ARRAY(SELECT generate_series(1, 248)),
	array_fill(now(), '{248}'));
INSERT INTO exposures SELECT 63, generate_series(1, 248);
SELECT cardinality(seen.unseen(63, a)) AS seen, cardinality(seen.unseen(64, a)) AS seen_batch,
	cardinality(ever.unseen(63, a)) AS ever, cardinality(ever.unseen(64, a)) AS ever_batch,
	cardinality(shown.unseen(63, a)) AS shown
FROM (SELECT ARRAY(SELECT generate_series(1::bigint, 250))) AS i(a);
SELECT max(pg_column_size(recent)) <= 2000 AS within FROM (
	SELECT recent FROM seen.filters UNION ALL SELECT recent FROM ever.filters
	UNION ALL SELECT recent FROM shown.filters) AS f;

--
-- 9. A slice that ends has its exact size: that of a filter that was built at once.
--
SELECT count(seen.add(70, ARRAY[i], slice(1))) FROM generate_series(1, 240) AS i;
SELECT seen.add(70, '{1000}', slice(0));
SELECT l.items, l.bytes = (SELECT b.bytes FROM bloom_layers((SELECT bloom_window_agg(i, slice(1),
		'10950 days', 6, 1e-7) FROM generate_series(1, 240) AS i)) AS b) AS exact
FROM seen.filters AS f, bloom_layers(f.items) AS l WHERE f.user_id = 70;
-- So has one that ends after a fold: its second layer.
SELECT count(seen.add(71, ARRAY[i], slice(1))) FROM generate_series(1, 300) AS i;
SELECT seen.add(71, '{1000}', slice(0));
SELECT count(*) AS layers, sum(l.items) AS items, sum(l.capacity) < 600 AS no_more
FROM seen.filters AS f, bloom_layers(f.items) AS l WHERE f.user_id = 71;
-- A first layer without a window is for "capacity" items, for those who come so far.
SELECT bloomexp.create_feed('sized', width => NULL, capacity => 3650);
SELECT sized.add(1, ARRAY(SELECT generate_series(1, 247)));
SELECT sized.add(2, ARRAY(SELECT generate_series(1, 248)));
SELECT user_id, items IS NULL AS exact, (bloom_info(items)).capacity >= 3650 AS for_capacity
FROM sized.filters ORDER BY 1;
DROP SCHEMA sized CASCADE;

--
-- 10. unseen() and take() answer the same with and without a row, for NULL, and for repetitions;
--     unseen() and current() agree.
--
SELECT seen.lock(80);
CREATE VIEW answers AS SELECT u, seen.unseen(u, c), seen.take(u, c, 0) AS nothing
FROM (VALUES (80::bigint), (81), (NULL)) AS v(u), (VALUES ('{3,1,NULL,3,2}'::bigint[])) AS c(c);
TABLE answers;
SELECT u, seen.unseen(u, '{}'), seen.unseen(u, NULL) FROM (VALUES (80), (81), (NULL)) AS v(u);
SELECT u, ever.unseen(u, '{3,1,NULL,3,2}'), ever.take(u, '{3,1,NULL,3,2}', 2)
FROM (VALUES (80), (81), (NULL)) AS v(u);
SELECT shown.lock(80);
SELECT u, shown.unseen(u, '{3,1,NULL,3,2}'), shown.take(u, '{3,1,NULL,3,2}', 2)
FROM (VALUES (80), (81), (NULL)) AS v(u);
SELECT u, seen.take(u, '{3,1,NULL,3,2}', 2) FROM (VALUES (80), (81), (NULL)) AS v(u);
SELECT u, seen.take(u, '{3,1,NULL,3,2}') FROM (VALUES (80), (81), (NULL)) AS v(u);
SELECT count(*) FROM seen.filters WHERE user_id IS NULL;
-- For rows of all shapes, at the time of now.
CREATE TABLE shapes AS
SELECT row_number() OVER () + 100 AS user_id, since, items, recent
FROM (VALUES (0), (1), (5), (6), (7), (9)) AS a(ago), LATERAL (VALUES (slice(a.ago))) AS s(since),
	(VALUES (NULL), (bloom_add_at(bloom_window('10950 days', 6, 1e-7), '{1,2}'::bigint[],
		ARRAY[slice(1), slice(8)]))) AS i(items),
	(VALUES (bloomexp.hashes('{2,3}'::bigint[])), (ARRAY[]::bigint[])) AS r(recent);
INSERT INTO seen.filters (user_id, since, items, recent) TABLE shapes;
SELECT count(*), count(*) FILTER (WHERE seen.unseen(user_id, '{1,2,3,4}')
	IS DISTINCT FROM '{1,2,3,4}'::bigint[] - seen.current(user_id)) AS disagree,
	count(DISTINCT seen.unseen(user_id, '{1,2,3,4}')) AS answers
FROM shapes;
-- take() takes the items that unseen() has returned.
SELECT count(*) FROM (
	SELECT seen.unseen(user_id, '{1,2,3,4}') AS before, seen.take(user_id, '{1,2,3,4}') AS taken
	FROM shapes OFFSET 0) AS t
WHERE before <> taken;

--
-- 11. merge() folds the older "since" and keeps the newer, both ways.
--
SELECT seen.add(90, '{1,2}', slice(1));
SELECT seen.add(91, '{2,3}', slice(0));
SELECT seen.merge(90, 91);
SELECT stored(91, 1, 2, 3, 4);
SELECT seen.add(92, '{1,2}', slice(0));
SELECT seen.add(93, '{2,3}', slice(1));
SELECT seen.merge(92, 93);
SELECT stored(93, 1, 2, 3, 4);
-- Each item stays as long as the time at which it was shown says.
SELECT i, bloom_contains(bloom_expire(seen.current(91), later), i) AS u91,
	bloom_contains(bloom_expire(seen.current(93), later), i) AS u93
FROM generate_series(1, 3) AS i, (SELECT slice(0) + interval '10951 days') AS l(later);
-- Of the same slice, both are exact, and nothing is there twice.
SELECT seen.add(94, '{1,2}', slice(0));
SELECT seen.add(95, '{2,3}', slice(0));
SELECT seen.merge(94, 95);
SELECT stored(95, 1, 2, 3, 4);
-- Rows of lock() alone, either side.
SELECT seen.lock(96);
SELECT seen.merge(96, 95);
SELECT stored(95, 1, 2, 3, 4);
SELECT seen.merge(95, 97);
SELECT stored(97, 1, 2, 3, 4);
SELECT user_id FROM seen.filters WHERE user_id IN (90, 92, 94, 95, 96);
-- More than "recent" holds goes into the filter.
SELECT seen.add(98, ARRAY(SELECT generate_series(1, 200)), slice(0));
SELECT seen.add(99, ARRAY(SELECT generate_series(101, 300)), slice(0));
SELECT seen.merge(98, 99);
SELECT cardinality(recent), (bloom_info(items)).items FROM seen.filters WHERE user_id = 99;
SELECT seen.unseen(99, '{1,150,300,301}');
-- Where nothing is forgotten.
SELECT ever.add(90, '{1,2}');
SELECT ever.add(91, '{2,3}');
SELECT ever.merge(90, 91);
SELECT user_id, cardinality(recent), ever.unseen(91, '{1,2,3,4}') FROM ever.filters
WHERE user_id IN (90, 91);

--
-- 12. "items" alone is not the memory: current() is all of it.
--
SELECT seen.add(200, '{1}', slice(1));
SELECT seen.add(200, '{2}', slice(0));
SELECT i, bloom_contains((SELECT items FROM seen.filters WHERE user_id = 200), i) AS items,
	bloom_contains(seen.current(200), i) AS current, seen.contains(200, i)
FROM generate_series(1, 3) AS i;
SELECT ever.add(200, '{2}');
INSERT INTO exposures VALUES (200, 2);
SELECT bloom_contains(ever.current(200), 2::bigint) AS ever,
	bloom_contains(shown.current(200), 2::bigint) AS shown;
-- Its rate is that of the feed.
SELECT (bloom_info(seen.current(200))).fpr AS seen, (bloom_info(ever.current(200))).fpr AS ever,
	(bloom_info(shown.current(200))).fpr AS shown;
-- A user who was shown nothing has none.
SELECT seen.lock(201);
SELECT seen.current(201) IS NULL AS locked, seen.current(202) IS NULL AS without_row;

--
-- A filter that was expired by hand takes late items in a slice that is partly in the window.
--
SELECT seen.add(210, '{1}', slice(5)), seen.add(210, '{2}');
UPDATE seen.filters SET items = bloom_expire(items, now()) WHERE user_id = 210;
SELECT seen.add(210, '{3}', now() - interval '10949 days');
SELECT seen.unseen(210, '{1,2,3,4}');
-- If something suppresses a write, that is an error, even if the filter has the items with an older
-- time.
SELECT seen.add(220, '{1}', slice(1)), seen.add(220, '{2}');
CREATE FUNCTION keep_away() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER keep_away BEFORE UPDATE ON seen.filters FOR EACH ROW EXECUTE FUNCTION keep_away();
SELECT seen.add(220, '{1}');
SELECT seen.add_batch('{220}', '{1}', ARRAY[now()]);
DROP FUNCTION keep_away CASCADE;
SELECT seen.add(220, '{1}');
-- The rate of a union is the sum; what is added later has that of the feed.
SELECT seen.add(211, '{1}', slice(2)), seen.add(211, '{2}', slice(1));
SELECT seen.add(212, '{3}', slice(2)), seen.add(212, '{4}', slice(1));
SELECT ever.add(211, numbers(1, 300)), ever.add(212, numbers(301, 600));
SELECT seen.merge(211, 212), ever.merge(211, 212);
SELECT (bloom_info(s.items)).fpr AS seen, (bloom_info(e.items)).fpr AS ever
FROM seen.filters AS s JOIN ever.filters AS e USING (user_id) WHERE user_id = 212;

--
-- The functions of the row, by themselves.
--
CREATE FUNCTION forever(capacity bigint DEFAULT 100) RETURNS bloomexp.row_settings
	LANGUAGE sql AS $$ SELECT bloomexp.make_row_settings('integer', 0.01, capacity => capacity) $$;
CREATE FUNCTION windowed(width interval, slices integer DEFAULT 6, fpr float8 DEFAULT 0.01)
	RETURNS bloomexp.row_settings
	LANGUAGE sql AS $$ SELECT bloomexp.make_row_settings('integer', fpr, width, slices) $$;
-- Without a window: new hashes come first, each once; what does not fit goes into the filter.
SELECT bloomexp.recent_after('{1,2}', '{3,2,4,3}', forever());
SELECT bloomexp.recent_after('{}', '{}', forever()),
	bloomexp.recent_after(NULL, '{1}', forever()), bloomexp.recent_after('{1}', NULL, forever());
SELECT cardinality(bloomexp.recent_after(numbers(1, 240), numbers(235, 247), forever())) AS full,
	bloomexp.recent_after(numbers(1, 240), numbers(235, 248), forever()) AS too_long,
	cardinality(bloomexp.recent_after(numbers(1, 3), numbers(1, 247), forever())) AS some_known,
	bloomexp.recent_after(numbers(1, 3), numbers(1, 248), forever()) AS too_many_alone;
SELECT bloomexp.items_after(NULL, numbers(1, 240), numbers(235, 247), forever(100))
		IS NULL AS kept,
	bloomexp.items_after(NULL, numbers(1, 240), numbers(235, 248), forever(240))
		= bloom_add_hashes(bloom_new(240, 0.01), 'integer', numbers(1, 240)) AS folded,
	bloomexp.items_after(NULL, numbers(1, 3), numbers(3, 251), forever(300))
		= bloom_add_hashes(bloom_new(300, 0.01), 'integer', numbers(4, 251)) AS too_many_alone;
-- whether it makes a difference
CREATE FUNCTION changes(pending integer, recent bigint[], hashes bigint[],
	items bloom DEFAULT NULL) RETURNS boolean LANGUAGE sql AS $$
	SELECT bloomexp.row_changes(items, pending, recent, hashes, forever(300)) $$;
SELECT changes(0, '{1,2}', '{2}') AS known,
	changes(0, '{1,2}', '{3}') AS new,
	changes(1, '{1,2}', '{2}') AS not_pending,
	changes(1, '{1,2}', '{1}') AS pending,
	changes(0, '{1}', '{}') AS none,
	changes(NULL, NULL, '{1}') AS no_row;
-- so many that they go into the filter, which may have them
SELECT changes(0, '{1}', numbers(1, 300)) AS new,
	changes(0, '{1}', numbers(1, 300), bloom_add_hashes(NULL, 'integer', numbers(2, 299)))
		AS one_new,
	changes(0, '{1}', numbers(1, 300), bloom_add_hashes(NULL, 'integer', numbers(2, 300))) AS known,
	changes(1, '{1}', numbers(1, 300), bloom_add_hashes(NULL, 'integer', numbers(1, 300)))
		AS pending;
-- One way for a few hashes and one for many: the same result.
SELECT count(*) FILTER (WHERE bloomexp.recent_after(r.recent, a.added, forever()) IS DISTINCT FROM
	(SELECT array_agg(x ORDER BY part, n) FROM (
		SELECT x, 1 AS part, min(n) AS n FROM unnest(a.added) WITH ORDINALITY AS u(x, n)
		WHERE x <> ALL (r.recent) GROUP BY x
		UNION ALL SELECT x, 2, n FROM unnest(r.recent) WITH ORDINALITY AS u(x, n)) AS s)) AS others
FROM (SELECT ARRAY(SELECT (n * 7919 % 977)::bigint FROM generate_series(1, 200) AS n)) AS r(recent),
	LATERAL (SELECT ARRAY(SELECT (n * 104729 % 1009)::bigint FROM generate_series(k, k + k) AS n)
		AS added FROM generate_series(1, 40) AS k) AS a;
-- With a window: the newer slice is that of "recent" afterwards, but none is ahead of the clock.
CREATE FUNCTION after(recent bigint[], since integer, hashes bigint[], shown integer,
	OUT since_after integer, OUT recent_after bigint[], OUT in_filter text, OUT changes boolean)
LANGUAGE sql AS $$
	SELECT (SELECT extract(day FROM slice(0) - s.since)::integer / 1825
			FROM bloomexp.since_after($1, $3, windowed('10950 days'), slice($2), slice($4), now())
				AS s(since)),
		bloomexp.recent_after($1, $3, windowed('10950 days'), slice($2), slice($4), now()),
		(SELECT string_agg(format('%s %s ago', l.items,
			extract(day FROM slice(0) - l.slice_start)::integer / 1825), ', ' ORDER BY l.layer)
		FROM bloom_layers(bloomexp.items_after(NULL, $1, $3,
			windowed('10950 days', fpr => 1e-7), slice($2), slice($4), now())) AS l),
		bloomexp.row_changes(NULL, 0, $1, $3, windowed('10950 days', fpr => 1e-7),
			slice($2), slice($4), now())
$$;
SELECT * FROM after('{1,2}', 0, '{2,3}', 0);
SELECT * FROM after('{1,2}', 1, '{2,3}', 0);
SELECT * FROM after('{1,2}', 0, '{2,3}', 1);
SELECT * FROM after('{1,2}', 0, '{2,1}', 1);
SELECT * FROM after('{1,2}', -3, '{2,3}', 0);
SELECT * FROM after('{1,2}', -3, '{2,3}', 1);
SELECT * FROM after('{1,2}', 0, '{3}', -3);
SELECT * FROM after('{}', NULL, '{3}', 2);
SELECT * FROM after('{1}', 2, '{}', NULL);
SELECT * FROM after('{}', NULL, '{}', NULL);
-- A time without hashes begins a slice.
SELECT * FROM after('{1}', 2, '{}', 1);
SELECT * FROM after('{1}', 2, '{}', 3);
SELECT * FROM after('{1}', -3, '{}', 3);
SELECT * FROM after('{}', NULL, '{}', 1);
SELECT * FROM after(NULL, NULL, '{1}', 0);
SELECT since_after, recent_after, in_filter FROM after(numbers(1, 240), 0, numbers(241, 250), 0);
SELECT since_after, recent_after, in_filter FROM after(numbers(1, 10), 1, numbers(1, 300), 0);
SELECT since_after, recent_after, in_filter FROM after('{1,2}', 0, numbers(1, 300), 0);
SELECT since_after, recent_after, in_filter FROM after('{}', NULL, numbers(1, 300), -3);
-- All of a row as one filter.
SELECT bloomexp.fold(NULL, numbers(1, 5), forever())
		= bloom_add_hashes(bloom_new(5, 0.01), 'integer', numbers(1, 5)) AS plain,
	bloomexp.fold(NULL, numbers(1, 5), windowed('10950 days'), slice(1))
		= bloom_add_hashes_at(bloom_window('10950 days', 6, 0.01), 'integer', numbers(1, 5),
			slice(1), true) AS windowed,
	bloomexp.fold(bloom_new(), '{}', forever()) = bloom_new() AS nothing,
	bloomexp.fold(NULL, NULL, windowed('10950 days'), slice(1)) AS no_row;
-- Items whose hashes are among others.
SELECT bloomexp.among('{c,a,NULL,b,c}'::text[], bloomexp.hashes('{c,b,d}'::text[])),
	bloomexp.among('{a}'::text[], NULL), bloomexp.among(NULL::text[], '{1}');
-- Arguments that these functions refuse.
SELECT bloomexp.fold(bloom_window('1 day', 2, 0.01), '{1}', forever());
SELECT bloomexp.fold(bloom_new(), '{1}', windowed('1 day', 2), now());
SELECT bloomexp.fold(bloom_add(NULL, 'a'::text), '{1}', forever());
SELECT bloomexp.fold(NULL, '{1}', bloomexp.make_row_settings('number', 0.01, capacity => 1));
SELECT bloomexp.fold(NULL, '{1}', bloomexp.make_row_settings('integer', NULL, capacity => 1));
SELECT bloomexp.fold(NULL, '{1}', bloomexp.make_row_settings('integer', 0.01, '1 day'));
SELECT bloomexp.fold(NULL, '{1}', bloomexp.make_row_settings('integer', 0.01));
SELECT bloomexp.fold(NULL, '{1}', NULL);
SELECT bloomexp.fold(NULL, '{1}', windowed('1 day', 2), NULL);
SELECT bloomexp.fold(NULL, '{1}', windowed('1 day', 2), 'infinity');
SELECT bloomexp.fold(NULL, '{1}', windowed('-1 day', 2), now());
SELECT bloomexp.recent_after('{1}', '{{1}}', forever());
-- a row that no feed writes
SELECT bloomexp.recent_after('{{1}}', '{2}', forever());
SELECT bloomexp.recent_after('{1,NULL}', '{2}', forever());
SELECT bloomexp.recent_after(numbers(1, 248), '{2}', forever());
SELECT bloomexp.items_after(NULL, numbers(1, 248), '{2}', forever());
SELECT bloomexp.recent_at(numbers(1, 248), NULL, now(), forever());
SELECT bloomexp.recent_at('{{1}}', NULL, now(), forever());
SELECT bloomexp.row_changes(NULL, 0, numbers(1, 248), '{2}', forever());
SELECT bloomexp.row_changes(NULL, 2, '{1}', '{2}', forever());
SELECT bloomexp.row_changes(NULL, -1, '{1}', '{2}', forever());
SELECT bloomexp.row_changes(NULL, 1, '{1}', '{2}', forever());
SELECT bloomexp.recent_after('{1}', '{NULL}', forever());
CREATE FUNCTION recent_with(since timestamptz, shown_at timestamptz, present timestamptz,
	width interval DEFAULT '30 days') RETURNS bigint[] LANGUAGE sql AS $$
	SELECT bloomexp.recent_after('{1}', '{2,3}', windowed(width), since, shown_at, present) $$;
SELECT recent_with(now(), NULL, now());
SELECT recent_with(now(), '-infinity', now());
SELECT recent_with(NULL, now(), now());
SELECT recent_with('infinity', now(), now());
SELECT recent_with(now(), now(), NULL);
SELECT recent_with(now(), now(), now(), NULL);
SELECT recent_with(now(), now(), now(), '1 month');
-- What a row says at a time.
SELECT bloomexp.recent_at('{1}', slice(0), now(), windowed('10950 days')) AS now,
	bloomexp.recent_at('{1}', slice(6), now(), windowed('10950 days')) AS oldest,
	bloomexp.recent_at('{1}', slice(7), now(), windowed('10950 days')) AS expired,
	bloomexp.recent_at('{1}', NULL, now(), windowed('10950 days')) AS no_slice,
	bloomexp.recent_at('{1}', NULL, NULL, forever()) AS forever;
SELECT bloomexp.items_at(bloom_add(NULL, 1), NULL, forever()) = bloom_add(NULL, 1) AS forever,
	bloomexp.items_at(NULL, now(), windowed('1 day')) AS none,
	bloomexp.items_at(w.w, now(), windowed('1 day')) = bloom_expire(w.w, now()) AS windowed
FROM (SELECT bloom_add_at(bloom_window('1 day', 6, 0.01), 1, now() - interval '2 days')) AS w(w);
SELECT bloomexp.items_at(bloom_new(), now(), windowed('1 day'));
-- A clock that was ahead and is right again makes nobody forget: neither the item of ten days ago
-- leaves, nor do current() and contains() differ.  Both future slices confirm each other.
CREATE FUNCTION ahead(hashes bigint[], shown_at timestamptz, OUT row_changes boolean,
	OUT items_after bloom, OUT recent_after bigint[], OUT since_after timestamptz)
LANGUAGE sql AS $$
	SELECT bloomexp.row_changes(i.items, 0, '{3}', $1, windowed('30 days'),
			now() + interval '50 days', $2, now()),
		bloomexp.items_after(i.items, '{3}', $1, windowed('30 days'),
			now() + interval '50 days', $2, now()),
		bloomexp.recent_after('{3}', $1, windowed('30 days'),
			now() + interval '50 days', $2, now()),
		bloomexp.since_after('{3}', $1, windowed('30 days'), now() + interval '50 days', $2, now())
	FROM (SELECT bloom_add_hashes_at(bloom_add_hashes_at(bloom_window('30 days', 6, 0.01),
		'integer', '{1}', now() - interval '10 days', false),
		'integer', '{2}', now() + interval '45 days', false)) AS i(items) $$;
SELECT a.row_changes, a.recent_after, a.since_after <= now() AS set_back,
	(SELECT count(*) FROM bloom_layers(bloomexp.items_at(a.items_after, now(),
		windowed('30 days')))) AS layers
FROM ahead('{4}', now()) AS a;
SELECT count(*) AS layers
FROM bloom_layers(bloomexp.fold((SELECT bloom_add_hashes_at(bloom_add_hashes_at(
	bloom_window('30 days', 6, 0.01), 'integer', '{1}', now() - interval '10 days', false),
	'integer', '{2}', now() + interval '45 days', false)), '{3}', windowed('30 days'),
	now() + interval '50 days', now()));
DROP FUNCTION ahead;
-- A batch becomes pages: each user once, in order, with distinct items of one slice.
SELECT * FROM bloomexp.pages('{3,1,1,2,1,NULL,4,5}'::int[], '{9,7,8,5,7,1,NULL,6}',
	ARRAY[slice(0), slice(0), slice(0), slice(0), slice(0), slice(0), slice(0), NULL],
	now(), windowed('10950 days'));
SELECT user_id, since = slice(1) AS since, recent FROM bloomexp.pages('{1,1,2,2,3}'::int[],
	'{1,2,1,2,1}', ARRAY[slice(1), slice(1), slice(1), slice(0), slice(8)],
	now(), windowed('10950 days'));
SELECT user_id, since, cardinality(recent) FROM bloomexp.pages(array_cat(array_fill(1, ARRAY[300]),
	array_fill(2, ARRAY[300])),
	array_cat(numbers(1, 300), array_cat(numbers(1, 247), numbers(1, 53))),
	array_fill(now(), ARRAY[600]), now(), forever());
-- by the collation of the users
SELECT user_id, recent FROM bloomexp.pages('{b,B,a,b}'::text[] COLLATE "C", '{1,2,3,4}',
	array_fill(now(), ARRAY[4]), now(), forever());
SELECT * FROM bloomexp.pages('[7:8]={1,2}'::int[], '[0:1]={1,2}', NULL, now(), forever());
SELECT * FROM bloomexp.pages('{1}'::int[], '{1,2}', ARRAY[now()], now(), forever());
SELECT * FROM bloomexp.pages(NULL::int[], NULL, NULL, now(), forever());
SELECT * FROM bloomexp.pages('{1}'::int[], '{1}', ARRAY[now()], NULL, forever());
SELECT count(*) FROM bloomexp.pages('{"(0,0)"}'::point[], '{1}', ARRAY[now()], now(), forever());
SELECT bloomexp.hashes_with_nulls('{{1,NULL},{2,3}}'::int[]), bloomexp.hashes('{1,NULL,2}'::int[]),
	bloomexp.hash(1), bloomexp.hash('a'::text) = bloomexp.hash('a'::bpchar) AS text;

DROP VIEW answers, full_rows;
DROP SCHEMA seen, ever, shown CASCADE;
DROP TABLE exposures, shapes;
DROP FUNCTION slice, stored, version(text, bigint), numbers, many, changes, after,
	recent_with, forever, windowed;
