--
-- Sliding windows: into which slice an item goes, how long it stays; the aggregate and unions.
-- What is refused is in sql/items.sql, and sixty days of nightly work are in
-- test/t/004_false_positive_rate.pl.
--
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';
SET IntervalStyle = 'postgres';
-- the beginning of each layer's slice, and its items
CREATE FUNCTION pg_temp.slices(f bloom) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(to_char(timestamptz '2000-01-01 00:00+00' + slice * w, 'YYYY-MM-DD HH24:MI')
			|| ': ' || l.items, ', ' ORDER BY layer)
	FROM bloom_layers(f) l, (SELECT window_width / slices AS w FROM bloom_info(f)) AS i
$$;

--
-- Making one
--
SELECT kind, items, capacity, fpr, fpr_now, layers, bytes, counting, window_width, slices
FROM bloom_info(bloom_window('30 days'));
SELECT window_width, slices, fpr FROM bloom_info(bloom_window('36 hours', 3, 0.001));
SELECT window_width, slices, fpr
FROM bloom_info(bloom_window(width => '90 minutes', slices => 1000, fpr => 0.5));
SELECT window_width, slices, fpr FROM bloom_info(bloom_window('1 microsecond', 1));
SELECT bloom_window('30 days');
SELECT bloom_window('30 days')::bytea::bloom = bloom_window('720 hours') AS same;

-- it is empty
SELECT bloom_window('30 days') @> 1 AS contains;
SELECT bloom_cardinality(bloom_window('30 days'));
SELECT bloom_fpr(bloom_window('30 days'));
SELECT '{1,2}'::int[] - bloom_window('30 days') AS minus;
SELECT count(*) FROM bloom_layers(bloom_window('30 days'));

--
-- Adding: each item into the slice of its time, to the microsecond; late and early ones too
--
CREATE TEMP TABLE six (f bloom);
INSERT INTO six VALUES (bloom_window('6 days', 6));
UPDATE six SET f = bloom_add_at(f, 1, '2024-03-05 23:59:59.999999+00');
UPDATE six SET f = bloom_add_at(f, 2, '2024-03-06 00:00+00');
UPDATE six SET f = bloom_add_at(f, 3, '2024-03-06 23:59:59.999999+00');
UPDATE six SET f = bloom_add_at(f, 5, '2024-03-09 12:00+00');
UPDATE six SET f = bloom_add_at(f, 4, '2024-03-01 12:00+00');
SELECT pg_temp.slices(f) FROM six;
SELECT bloom_contains_each(f, '{1,2,3,4,5,6}'::int[]) FROM six;

-- before 2000
SELECT slice
FROM bloom_add_at(bloom_window('6 days'), 1, '1999-12-31 23:59:59.999999+00') AS f, bloom_layers(f);
SELECT slice
FROM bloom_add_at(bloom_window('6 days'), 1, '1999-12-31 00:00+00') AS f, bloom_layers(f);
SELECT slice
FROM bloom_add_at(bloom_window('6 days'), 1, '1999-12-30 23:59:59.999999+00') AS f, bloom_layers(f);

-- as far as times go
SELECT slice FROM bloom_layers(bloom_add_at(
	bloom_add_at(bloom_window('1 microsecond', 1), 1, '4714-11-24 00:00+00 BC'),
	2, '294276-12-31 23:59:59.999999+00'));

-- a width that cannot be cut into equal slices: they are rounded up
SELECT slice FROM bloom_layers(bloom_add_at(
	bloom_window('10 microseconds', 3), 1, '2000-01-01 00:00:00.000003+00'));
SELECT slice FROM bloom_layers(bloom_add_at(
	bloom_window('10 microseconds', 3), 1, '2000-01-01 00:00:00.000004+00'));

-- the time zone of the session plays no part, nor does that of the time
SET TimeZone = 'Asia/Kathmandu';
SELECT bloom_add_at(bloom_window('6 days'), 1, '2024-03-06 05:44:59+05:45')
	= bloom_add_at(bloom_window('6 days'), 1, '2024-03-05 23:59:59+00') AS same;
SET TimeZone = 'UTC';

-- Arrays: the same as adding one item after another in the order of their times.  Items that have
-- left the window by the last time are not kept.
CREATE TEMP TABLE from_array AS
	SELECT bloom_add_at(bloom_window('6 days', 6), array_agg(item), array_agg(at)) AS f
	FROM (VALUES
		(5, '2024-03-09 12:00+00'::timestamptz),
		(2, '2024-03-06 00:00+00'),
		(1, '2024-03-05 23:59:59.999999+00'),
		(4, '2024-03-01 12:00+00'),
		(3, '2024-03-06 23:59:59.999999+00'),
		(NULL, NULL),
		(3, '2024-03-02 00:00+00')
	) AS v (item, at);
SELECT pg_temp.slices(f) FROM from_array;
SELECT bloom_contains_each(f, '{1,2,3,4,5,6}'::int[]) FROM from_array;
DROP TABLE from_array;

-- all kinds
SELECT (bloom_info(f)).kind, f @> 'a' AS contains
FROM bloom_add_at(bloom_window('6 days'), 'a'::text, '2024-03-05') f;
SELECT (bloom_info(f)).kind, '{a,b,"c  "}'::char(3)[] - f AS minus
FROM bloom_add_at(bloom_window('6 days'), '{a,c}'::varchar[], '{2024-03-05,2024-03-01}') f;
SELECT (bloom_info(f)).kind, f @> '\x02'::bytea AS contains
FROM bloom_add_at(bloom_window('6 days'), '\x02'::bytea, '2024-03-05') f;
SELECT (bloom_info(f)).kind, f @> u AS contains
FROM CAST('00000000-0000-0000-0000-000000000002' AS uuid) u,
	bloom_add_at(bloom_window('6 days'), u, '2024-03-05') f;

-- an item that is contained for as long already changes nothing
SELECT bloom_add_at(f, 2, '2024-03-06 13:00+00') = f AS same FROM six;
SELECT bloom_add_at(f, 2, '2024-03-01 13:00+00') = f AS same FROM six;
SELECT bloom_add_at(f, '{2,NULL}'::int[], ARRAY['2024-03-06', NULL]::timestamptz[]) = f AS same
FROM six;
-- an item that must stay longer changes the filter
SELECT bloom_add_at(f, 2, '2024-03-07 00:00+00') = f AS same FROM six;

-- NULL changes nothing, either
SELECT bloom_add_at(f, NULL::int, '2024-03-07 00:00+00') = f AS same FROM six;
SELECT bloom_add_at(f, NULL::int[], NULL) = f AS same FROM six;
SELECT bloom_add_at(f, '{}'::int[], '{}') = f AS same FROM six;

--
-- Forgetting: contained for the width after the last exposure, forgotten at the latest one slice
-- later
--
CREATE TEMP TABLE expired AS
	SELECT at, bloom_expire(f, at) AS f
	FROM six, unnest(ARRAY[
		'2024-03-01 00:00+00',
		'2024-03-07 12:00+00',
		'2024-03-07 23:59:59.999999+00',
		'2024-03-08 00:00+00',
		'2024-03-11 23:59:59.999999+00',
		'2024-03-12 00:00+00',
		'2024-03-13 00:00+00',
		'2024-03-16 00:00+00',
		'2030-01-01 00:00+00']::timestamptz[]) at;
SELECT at, bloom_contains_each(f, '{1,2,3,4,5}'::int[]) FROM expired ORDER BY at;
SELECT at, pg_temp.slices(f) FROM expired ORDER BY at;
DROP TABLE expired;

-- the guarantee, for items shown all along, of which an aggregate keeps all
CREATE TEMP TABLE shown AS
	SELECT i, timestamptz '2024-01-01 00:00+00' + i * interval '5 hours 7 minutes' AS at
	FROM generate_series(1, 300) i;
CREATE TEMP TABLE filled AS
	SELECT slices, bloom_window_agg(i, at, '10 days', slices, 1e-7) AS f
	FROM shown, unnest('{1,3,10,240}'::int[]) slices GROUP BY slices;
CREATE TEMP TABLE expired AS
	SELECT slices, now_at, bloom_expire(f, now_at) AS f
	FROM filled,
		generate_series('2024-01-15 00:00+00'::timestamptz, '2024-03-20', '17 hours') now_at;
-- never forgotten before its time
SELECT slices, count(*), count(*) FILTER (WHERE NOT f @> i) AS lost
FROM expired, shown WHERE at BETWEEN now_at - interval '10 days' AND now_at
GROUP BY slices ORDER BY slices;
-- never kept more than one slice longer
SELECT slices, count(*), count(*) FILTER (WHERE f @> i) AS kept_too_long
FROM expired, shown WHERE at < now_at - interval '10 days' - interval '10 days' / slices
GROUP BY slices ORDER BY slices;
DROP TABLE shown, filled, expired;

-- what lies before the floor is ignored from now on, and only that
CREATE TEMP TABLE expired AS SELECT bloom_expire(f, '2024-03-12 12:00+00') AS f FROM six;
SELECT pg_temp.slices(f) FROM expired;
SELECT pg_temp.slices(bloom_add_at(f, 7, '2024-03-06 11:59:59.999999+00')) FROM expired;
SELECT pg_temp.slices(bloom_add_at(f, 7, '2024-03-06 12:00+00')) FROM expired;
-- the same for many at once
SELECT pg_temp.slices(bloom_add_at(f, '{7,8}'::int[], '{2024-03-01 00:00+00,2025-01-01 00:00+00}'))
FROM expired;
SELECT pg_temp.slices(bloom_add_at(f, '{7,8}'::int[],
	'{2024-03-06 11:59:59.999999+00,2024-03-06 11:59:59.999999+00}')) = pg_temp.slices(f) AS same
FROM expired;
SELECT bloom_contains_each(bloom_add_at(f, '{7,8}'::int[],
	'{2024-03-06 11:59:59.999999+00,2024-03-06 12:00+00}'), '{7,8}'::int[])
FROM expired;

-- time does not go back
SELECT bloom_expire(f, '2024-03-12 11:00+00') = f AS same FROM expired;
SELECT bloom_expire(f, '2024-03-12 12:00+00') = f AS same FROM expired;
DROP TABLE expired;

-- expired twice is expired once, so that an UPDATE that changes nothing keeps the value where it is
SELECT count(*) AS differ
FROM six, generate_series('2024-02-01'::timestamptz, '2024-04-01', '7 hours') at
WHERE bloom_expire(bloom_expire(f, at), at) <> bloom_expire(f, at);

-- a wrong clock, once: later items are not lost, and the wrong one is forgotten in its time
CREATE TEMP TABLE wrong_clock AS
	SELECT bloom_expire(bloom_add_at(bloom_add_at(f, 9, '2124-01-01'), 10, '2024-03-11 01:00+00'),
						'2024-03-12 12:00+00') AS f
	FROM six;
SELECT pg_temp.slices(f) FROM wrong_clock;
SELECT f @> 9 AS has_9, f @> 10 AS has_10 FROM wrong_clock;
DROP TABLE wrong_clock;

-- NULL, and a window wider than all of time
SELECT bloom_expire(NULL, now());
SELECT bloom_expire(f, '2024-03-12') @> 1 AS kept
FROM bloom_add_at(bloom_window('106000000 days'), 1, '2024-03-01') AS f;

-- long ago drops nothing, but is a floor
SELECT bloom_expire(f, '4714-11-24 00:00+00 BC') = f AS same FROM six;
SELECT pg_temp.slices(bloom_expire(f, '4714-11-24 00:00+00 BC')) FROM six;

--
-- Rates
--
-- the union of windows that follow one another keeps the rate of a single window, in either order,
-- and also if one of them is empty
CREATE TEMP TABLE cut AS
	SELECT bloom_add_at(w, '{1,2}'::int[], '{2024-03-01,2024-03-09}') AS whole,
		bloom_add_at(w, 1, '2024-03-01') AS older, bloom_add_at(w, 2, '2024-03-09') AS newer
	FROM bloom_window('30 days') AS w;
SELECT (bloom_info(older | newer)).fpr FROM cut;
SELECT (bloom_info(newer | older)).fpr FROM cut;
SELECT (bloom_info(bloom_window('30 days') | newer)).fpr FROM cut;
-- the rates of windows with a slice in common add up
SELECT (bloom_info(older | whole)).fpr FROM cut;
DROP TABLE cut;

-- another rate
SELECT bloom_with_fpr(bloom_window('30 days'), 0.1) = bloom_window('30 days', 6, 0.1) AS same;
SELECT bloom_with_fpr(bloom_window('30 days'), 0.01) = bloom_window('30 days') AS same;
SELECT bloom_with_fpr(f, 0) FROM six;

-- a new rate is for items that are added later: the value stays valid and complete, however full
CREATE TEMP TABLE rates AS
	SELECT p, t, name, f, items, more, times, bloom_with_fpr(f, t) AS g
	FROM unnest('{0.9,0.1,0.01,1e-5}'::float8[]) AS p,
		unnest('{0.9,0.1,0.001,1e-7}'::float8[]) AS t,
		generate_series(2, 6) AS k,
		LATERAL (SELECT array_agg(i) AS items, array_agg(i + 100000) AS more,
					 array_agg(timestamptz '2024-01-01 00:00+00' + i * interval '1 hour') AS times
				 FROM generate_series(1, (3 ^ k)::int) AS i) AS i,
		LATERAL (SELECT 'added', bloom_add_at(bloom_window('40 days', 6, p), items, times)
				 UNION ALL
				 SELECT 'aggregated', bloom_window_agg(x, y, '40 days', 6, p)
				 FROM unnest(items, times) AS e (x, y)
				 UNION ALL
				 SELECT 'united', bloom_add_at(bloom_window('40 days', 6, p), items, times)
					 | bloom_add_at(bloom_window('40 days', 6, p), more, times)) AS f (name, f);
SELECT count(*) FROM rates;
SELECT p, t, name, cardinality(items) FROM rates WHERE g::text::bloom <> g;
SELECT p, t, name, cardinality(items) FROM rates WHERE (bloom_info(g)).fpr <> t;
SELECT p, t, name, cardinality(items) FROM rates WHERE items - g <> '{}';
-- and goes on
ALTER TABLE rates ADD added bloom;
UPDATE rates SET added = bloom_add_at(g, more, times);
SELECT p, t, name, cardinality(items) FROM rates WHERE added::text::bloom <> added;
SELECT p, t, name, cardinality(items) FROM rates WHERE (items || more) - added <> '{}';
DROP TABLE rates;

--
-- The aggregate
--
CREATE TEMP TABLE exposures AS
	SELECT i % 5 AS user_id, i % 40 * 7 AS item,
		timestamptz '2024-03-01 00:00+00' + i * interval '37 minutes' AS shown_at
	FROM generate_series(1, 800) i;
CREATE TEMP TABLE users AS
	SELECT user_id, bloom_window_agg(item, shown_at, '6 days', 6, 0.01) AS f
	FROM exposures GROUP BY user_id;
SELECT user_id, items, window_width, slices FROM users, bloom_info(f) ORDER BY user_id;
SELECT user_id, pg_temp.slices(f) FROM users ORDER BY user_id;
SELECT user_id, bool_and(f @> item) FROM users JOIN exposures USING (user_id)
GROUP BY user_id ORDER BY user_id;
DROP TABLE users;

-- the same bytes in any order, and with repetitions
SELECT bloom_window_agg(item, shown_at, '6 days', 6, 0.01 ORDER BY shown_at)
	= bloom_window_agg(item, shown_at, '6 days', 6, 0.01 ORDER BY item, shown_at DESC) AS same
FROM exposures;
SELECT bloom_window_agg(item, shown_at, '6 days', 6, 0.01)
	= (SELECT bloom_window_agg(item, shown_at, '144:00', 6, 0.01) FROM exposures) AS same
FROM (TABLE exposures UNION ALL TABLE exposures) AS twice;

-- an item counts at its newest time only; old ones are not ignored, they go at the next expiry
CREATE TEMP TABLE newest AS
	SELECT bloom_window_agg(item, at, '6 days', 6, 0.01) AS f
	FROM (VALUES
		(1, timestamptz '2024-03-01 00:00+00'),
		(1, '2024-03-07 00:00+00'),
		(2, '2023-03-01 00:00+00'),
		(3, '2024-03-08 00:00+00'),
		(NULL, NULL),
		(NULL, 'infinity'),
		(1, '2024-03-05 00:00+00')
	) AS v (item, at);
SELECT pg_temp.slices(f) FROM newest;
SELECT pg_temp.slices(bloom_expire(f, '2024-03-12 12:00+00')) FROM newest;
DROP TABLE newest;

-- of no items, and of the other kinds
SELECT bloom_window_agg(item, shown_at, '6 days', 6, 0.01) FROM exposures WHERE false;
SELECT bloom_window_agg(NULL::bigint, shown_at, '6 days', 6, 0.01) FROM exposures;
SELECT (bloom_info(bloom_window_agg(item::text, shown_at, '6 days', 6, 0.01))).kind FROM exposures;
SELECT (bloom_info(bloom_window_agg(md5(item::text)::uuid, shown_at, '6 days', 6, 0.01))).kind
FROM exposures;
SELECT (bloom_info(bloom_window_agg(int4send(item), shown_at, '6 days', 6, 0.01))).kind
FROM exposures;

-- in a window frame, where the state goes on after each result
CREATE TEMP TABLE frames AS
	SELECT item, shown_at,
		bloom_window_agg(item, shown_at, '6 days', 6, 0.01) OVER (ORDER BY shown_at) AS f
	FROM exposures WHERE user_id = 1;
SELECT count(*) FROM frames;
SELECT shown_at, item FROM frames WHERE NOT f @> item;
SELECT shown_at FROM frames
WHERE f <> (SELECT bloom_window_agg(item, shown_at, '6 days', 6, 0.01) FROM exposures e
			WHERE user_id = 1 AND e.shown_at <= frames.shown_at);
DROP TABLE frames;

-- parallel: the same bytes
CREATE TABLE many_exposures AS
	SELECT i % 3 AS user_id, (i * 7919) % 20011 AS item,
		timestamptz '2024-03-01 00:00+00' + (i * 48271 % 100000) * interval '25 seconds' AS shown_at
	FROM generate_series(1::bigint, 60000) i;
ANALYZE many_exposures;
CREATE TABLE serial AS
	SELECT user_id, bloom_window_agg(item, shown_at, '30 days', 6, 0.01) AS f
	FROM many_exposures GROUP BY user_id;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
CREATE VIEW parallel AS
	SELECT user_id, bloom_window_agg(item, shown_at, '30 days', 6, 0.01) AS f
	FROM many_exposures GROUP BY user_id;
EXPLAIN (COSTS OFF) SELECT * FROM parallel;
SELECT user_id, serial.f = parallel.f AS same
FROM serial FULL JOIN parallel USING (user_id) ORDER BY user_id;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
DROP VIEW parallel;
DROP TABLE serial, many_exposures;

-- bytes: with 6 slices at most 1.5 times the optimum of one layer, for exposures spread evenly over
-- the window, wherever its slices begin
CREATE TEMP TABLE largest AS
	SELECT p, n, max(octet_length(f::bytea) + 4) AS bytes, max((bloom_info(f)).layers) AS layers
	FROM unnest('{3000,5000,10000}'::int[]) n, unnest('{0.01,0.001,0.0001}'::float8[]) p,
		generate_series(0, 4) AS start_day,
		LATERAL (SELECT bloom_window_agg(i, timestamptz '2000-01-01 07:00+00'
					 + start_day * interval '1 day' + i * interval '30 days' / n,
					 '30 days', 6, p) AS f
				 FROM generate_series(1, n) i) AS g
	GROUP BY p, n;
SELECT p, n, layers, bytes FROM largest ORDER BY p, n;
SELECT p, n, bytes / (-n * ln(p) / ln(2) ^ 2 / 8) <= 1.5 AS at_most FROM largest ORDER BY p, n;
DROP TABLE largest;

-- as many layers as a value may have, and no memory spent on more
SELECT layers
FROM (SELECT bloom_window_agg(i, timestamptz '2024-01-01 00:00+00' + i * interval '1 second',
							  '1 second', 1, 0.01) AS f
	  FROM generate_series(1, 4096) i) AS a, bloom_info(f);
SELECT layers
FROM (SELECT bloom_add_at(bloom_window('1 second', 1), array_agg(i),
						  array_agg(timestamptz '2024-01-01 00:00+00' + i * interval '1 second'))
	  FROM generate_series(1, 100000) i) AS a (f), bloom_info(f);

--
-- Unions: slice by slice
--
CREATE TEMP TABLE two AS
	SELECT f AS a, bloom_add_at(bloom_window('6 days', 6), '{11,12,13,14}'::int[],
		'{2024-03-03 00:00+00,2024-03-06 00:00+00,2024-03-06 00:00+00,2024-03-20 00:00+00}') AS b
	FROM six;
SELECT pg_temp.slices(a | b) FROM two;
SELECT pg_temp.slices(b | a) FROM two;
SELECT (bloom_info(a | b)).fpr FROM two;
SELECT bloom_contains_each(a | b, '{1,2,3,4,5,11,12,13,14}'::int[]) FROM two;

-- of one that is expired; the earlier floor counts
SELECT pg_temp.slices(bloom_expire(a, '2024-03-12 12:00+00') | b) FROM two;
SELECT pg_temp.slices(bloom_add_at(bloom_expire(a, '2024-03-12 12:00+00') | b,
								   7, '2024-03-01 00:00+00'))
FROM two;
-- what both ignore is ignored still
SELECT pg_temp.slices(bloom_add_at(bloom_expire(a, '2024-03-12 12:00+00')
								   | bloom_expire(b, '2024-03-13 12:00+00'),
								   7, '2024-03-01 00:00+00'))
FROM two;
DROP TABLE two;

-- layers of one shape with room become one
SELECT (bloom_info(f | f)).layers = (bloom_info(f)).layers AS merged FROM six;
SELECT bloom_contains_all(f | f, '{1,2,3,4,5}'::int[]) FROM six;

-- the aggregate
SELECT bloom_union_agg(f) @> 5 AS has_5, bloom_union_agg(f) @> 25 AS has_25,
	(bloom_info(bloom_union_agg(f))).slices
FROM (SELECT f FROM six
	  UNION ALL SELECT bloom_add_at(bloom_window('6 days', 6), i, '2024-03-03')
	  FROM generate_series(20, 30) i) AS g;

-- beside a filter that is no window
SELECT bloom_exclude('{1,2,20,30}'::int[], f, bloom_add(NULL, 20)) FROM six;

--
-- Nobody expires: an add that moves the present on drops the slices that have left the window.
--
CREATE FUNCTION pg_temp.on_day(day int, hour int DEFAULT 12) RETURNS timestamptz LANGUAGE sql AS $$
	SELECT timestamptz '2024-01-01 00:00+00' + day * interval '1 day' + hour * interval '1 hour'
$$;
CREATE FUNCTION pg_temp.items_of(day int) RETURNS int[] LANGUAGE sql AS $$
	SELECT array_agg(day * 1000 + i) FROM generate_series(1, 10 + day % 40) i
$$;
-- Add the items of each of some days, and one more; after each count what is lost of the last
-- week, and what is left of two weeks ago.
CREATE TEMP TABLE days (day int, slices int, layers int, fpr float8, bytes int, lost int, old int);
CREATE FUNCTION pg_temp.live(f bloom, days int[]) RETURNS bloom LANGUAGE plpgsql AS $$
DECLARE
	d int;
BEGIN
	FOREACH d IN ARRAY days LOOP
		f := bloom_add_at(f, pg_temp.items_of(d),
						  array_fill(pg_temp.on_day(d), ARRAY[cardinality(pg_temp.items_of(d))]));
		f := bloom_add_at(f, d * 1000 + 999, pg_temp.on_day(d, 18));
		INSERT INTO days
			SELECT d, (SELECT count(DISTINCT slice) FROM bloom_layers(f)), i.layers, bloom_fpr(f),
				i.bytes,
				(SELECT count(*) FROM generate_series(d - 7, d) o, unnest(pg_temp.items_of(o)) item
				 WHERE o = ANY (days) AND NOT f @> item),
				(SELECT count(*) FROM unnest(pg_temp.items_of(d - 14)) item WHERE f @> item)
			FROM bloom_info(f) i;
	END LOOP;
	RETURN f;
END
$$;

-- a year, day by day: nothing is lost, little that is old is left, and the filter stays small
CREATE TEMP TABLE year AS
	SELECT pg_temp.live(bloom_window('7 days', 7), ARRAY(SELECT generate_series(0, 364))) AS f;
SELECT count(*) AS days, sum(lost) AS lost, sum(old) AS old FROM days;
SELECT max(slices) AS slices, max(layers) AS layers, max(bytes) AS bytes FROM days;
SELECT max(fpr) <= 0.01 AS promise_kept FROM days;
SELECT expired_before FROM year, bloom_info(f);
TRUNCATE days;
DROP TABLE year;

-- with one slice, of which two can be there
CREATE TEMP TABLE hundred_days AS
	SELECT pg_temp.live(bloom_window('7 days', 1), ARRAY(SELECT generate_series(0, 99))) AS f;
SELECT count(*) AS days, sum(lost) AS lost, sum(old) > 0 AS old FROM days;
SELECT max(slices) AS slices, max(layers) AS layers FROM days;
SELECT expired_before FROM hundred_days, bloom_info(f);
TRUNCATE days;
DROP TABLE hundred_days;

-- one wrong time far in the future drops nothing, and stays; later items are still added, and old
-- ones still leave
CREATE TEMP TABLE wrong AS
	SELECT pg_temp.live(bloom_window('7 days', 7), ARRAY(SELECT generate_series(0, 30))) AS f;
UPDATE wrong SET f = bloom_add_at(f, 5, '2124-01-01');
UPDATE wrong SET f = pg_temp.live(f, ARRAY(SELECT generate_series(31, 100)));
SELECT f @> 5 AS wrong_one, (bloom_info(f)).expired_before FROM wrong;
SELECT count(*) AS days, max(slices) AS slices, sum(lost) AS lost, sum(old) AS old FROM days;
TRUNCATE days;
DROP TABLE wrong;

-- nor does one that is there first
CREATE TEMP TABLE wrong AS
	SELECT pg_temp.live(bloom_add_at(bloom_window('7 days', 7), 5, '2124-01-01'),
						ARRAY(SELECT generate_series(0, 30))) AS f;
SELECT f @> 5 AS wrong_one FROM wrong;
SELECT count(*) AS days, max(slices) AS slices, sum(lost) AS lost, sum(old) AS old FROM days;
TRUNCATE days;
DROP TABLE wrong;

-- a wrong time in an array with other times does no harm, either
SELECT pg_temp.slices(bloom_add_at(f, '{9,8,7}'::int[],
								   '{2124-01-01,2024-01-09 10:00+00,2024-01-03 10:00+00}'))
FROM bloom_add_at(bloom_window('7 days', 7), '{1,2,3}'::int[],
				  '{2024-01-01 10:00+00,2024-01-02 10:00+00,2024-01-08 10:00+00}') AS f;

-- a user who comes once a month: the visit before the last stays until the next visit
SELECT pg_temp.slices(pg_temp.live(bloom_window('7 days', 7),
								   ARRAY(SELECT generate_series(0, 364, 30))));
SELECT count(*) AS days, sum(lost) AS lost, sum(old) AS old FROM days;
SELECT max(slices) AS slices, max(layers) AS layers, max(bytes) AS bytes FROM days;
SELECT max(fpr) <= 0.01 AS promise_kept FROM days;
TRUNCATE days;

-- two days in a month: the second one shows that the first was right
SELECT pg_temp.slices(pg_temp.live(bloom_window('7 days', 7), ARRAY(
	SELECT d FROM generate_series(0, 364) d WHERE d % 30 < 2)));
SELECT day, slices, lost FROM days WHERE day BETWEEN 90 AND 151 ORDER BY day;
SELECT count(*) AS days, sum(lost) AS lost, sum(old) AS old FROM days;
SELECT max(slices) AS slices, max(layers) AS layers, max(bytes) AS bytes FROM days;
SELECT max(fpr) <= 0.01 AS promise_kept FROM days;
DROP TABLE days;

-- late items go into their slices, whatever the present is, until it moves on
CREATE TEMP TABLE late AS
	SELECT bloom_add_at(
		bloom_add_at(bloom_window('7 days', 7), '{1,2}'::int[],
					 '{2024-03-09 00:00+00,2024-03-10 00:00+00}'),
		'{3,4,5}'::int[], '{2024-02-01 00:00+00,2024-03-04 00:00+00,2024-03-09 23:00+00}') AS f;
SELECT pg_temp.slices(f) FROM late;
SELECT pg_temp.slices(bloom_add_at(f, 6, '2024-03-10 01:00+00')) FROM late;
SELECT pg_temp.slices(bloom_add_at(f, 7, '2024-03-11 01:00+00')) FROM late;
DROP TABLE late;

-- a year in one array: what has left the window at its end is not kept
SELECT pg_temp.slices(bloom_add_at(bloom_window('3 days', 3), array_agg(d),
								   array_agg(pg_temp.on_day(d))))
FROM generate_series(0, 364) d;
-- all of it stays in an aggregate, which knows all rows
SELECT (bloom_info(bloom_window_agg(d, pg_temp.on_day(d), '3 days', 3, 0.01))).layers
FROM generate_series(0, 364) d;

DROP TABLE exposures, six;

-- a slice whose bits say nothing (all are set) and that claims 64 items a bit does not make the
-- next one huge
CREATE TEMP TABLE full_up AS
	SELECT ('\x012101000000000095d626e80b2e113e00100000000000000000000000000080e803000000000000'
			'100000040000010000000100000400000700000000000000' || repeat('ff', 128))::bloom AS f;
SELECT items, bytes FROM full_up, bloom_info(f);
SELECT bytes FROM full_up, bloom_info(bloom_add_at(f, 1, '2026-01-10 12:00+00'));
DROP TABLE full_up;

--
-- Times in bloom_info() and bloom_layers()
--

-- nothing without a window, and none before the first bloom_expire()
SELECT expired_before FROM bloom_info(bloom_new());
SELECT expired_before FROM bloom_info(bloom_window('6 days'));
SELECT expired_before FROM bloom_info(bloom_expire(bloom_window('6 days'), '2026-01-10 12:00+00'));
SELECT slice_start FROM bloom_layers(bloom_new());
SELECT slice, slice_start
FROM bloom_layers(bloom_add_at(bloom_window('6 days'), 1, '2026-01-10 12:00+00'));
SELECT slice, slice_start
FROM bloom_layers(bloom_add_at(bloom_window('6 days'), 1, '1999-12-31 12:00+00'));
SELECT slice, slice_start
FROM bloom_layers(bloom_add_at(bloom_window('6 days'), 1, '4714-11-24 00:00+00 BC'));

-- the infinite ones where a timestamptz ends
SELECT expired_before
FROM bloom_info(bloom_expire(bloom_window('6 days'), '4714-11-25 00:00+00 BC'));
SELECT slice_start
FROM bloom_layers(bloom_add_at(bloom_window('106000000 days', 1), 1, '1999-01-01 00:00+00'));
-- The layers of many slices do not run out: from half of them on they are large.
DO $$
DECLARE
	f bloom := bloom_window('1000 days', 1000, 0.01);
BEGIN
	FOR round IN 1..12 LOOP
		f := bloom_add_at(f, array_agg(round * 100000 + s * 17 + i),
			array_agg(timestamptz '2026-01-01' - s * interval '1 day'))
		FROM generate_series(0, 998) AS s, generate_series(1, 17) AS i;
	END LOOP;
	RAISE NOTICE '% missing, at most 3,500 layers: %', (SELECT count(*)
		FROM generate_series(1, 12) AS r, generate_series(1, 999 * 17, 97) AS i
		WHERE NOT bloom_contains(f, r * 100000 + i)), (bloom_info(f)).layers <= 3500;
END
$$;
