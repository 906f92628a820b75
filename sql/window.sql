--
-- Sliding windows: into which slice an item goes, how long it stays; the aggregate and unions.  What is refused is
-- in sql/items.sql, and sixty days of nightly work are in test/t/004_false_positive_rate.pl.
--
\set ECHO none
\pset format unaligned \pset footer off
SET client_min_messages = warning;
SET TimeZone = 'UTC';
CREATE FUNCTION pg_temp.slices(f bloom) RETURNS text LANGUAGE sql AS
$$SELECT string_agg(to_char(timestamptz '2000-01-01 00:00+00' + slice * w, 'YYYY-MM-DD HH24:MI') || ': ' || l.items,
	', ' ORDER BY layer)
	FROM bloom_layers(f) l, (SELECT window_width / slices AS w FROM bloom_info(f)) AS i$$;

\echo '-- Making one'
SELECT kind, items, capacity, fpr, fpr_now, layers, bytes, counting, window_width, slices
FROM unnest(ARRAY[bloom_window('30 days'), bloom_window('36 hours', 3, 0.001),
	bloom_window(width => '90 minutes', slices => 1000, fpr => 0.5),
	bloom_window('1 microsecond', 1)]) f, bloom_info(f);
SELECT bloom_window('30 days')::text, bloom_window('30 days')::bytea::bloom = bloom_window('720 hours') AS same;
SELECT bloom_window('30 days') @> 1 AS contains, bloom_cardinality(bloom_window('30 days')),
	bloom_fpr(bloom_window('30 days')), '{1,2}'::int[] - bloom_window('30 days') AS all_stay,
	(SELECT count(*) FROM bloom_layers(bloom_window('30 days'))) AS layers;

\echo '-- Adding: each item into the slice of its time, to the microsecond; late and early ones too'
CREATE TABLE w (name text, f bloom);
INSERT INTO w SELECT 'six', bloom_add_at(bloom_add_at(bloom_add_at(bloom_add_at(bloom_add_at(bloom_window('6 days', 6),
	1, '2024-03-05 23:59:59.999999+00'), 2, '2024-03-06 00:00+00'), 3, '2024-03-06 23:59:59.999999+00'), 5,
		'2024-03-09 12:00+00'), 4, '2024-03-01 12:00+00');
SELECT pg_temp.slices(f), bloom_contains_each(f, '{1,2,3,4,5,6}'::int[]) FROM w;
\echo '-- before 2000, and as far as times go'
SELECT slice FROM bloom_layers(bloom_add_at(bloom_add_at(bloom_add_at(bloom_window('6 days'), 1,
	'1999-12-31 23:59:59.999999+00'), 2, '1999-12-31 00:00+00'), 3, '1999-12-30 23:59:59.999999+00'));
SELECT slice FROM bloom_layers(bloom_add_at(bloom_add_at(bloom_window('1 microsecond', 1), 1, '4714-11-24 00:00+00 BC'),
	2, '294276-12-31 23:59:59.999999+00'));
\echo '-- a width that can''t be cut into equal slices: they are rounded up'
SELECT slice FROM bloom_layers(bloom_add_at(bloom_add_at(bloom_window('10 microseconds', 3), 1,
	'2000-01-01 00:00:00.000003+00'), 2, '2000-01-01 00:00:00.000004+00'));
\echo '-- the time zone of the session plays no part, nor does that of the time'
SET TimeZone = 'Asia/Kathmandu';
SELECT bloom_add_at(bloom_window('6 days'), 1, '2024-03-06 05:44:59+05:45')
	= bloom_add_at(bloom_window('6 days'), 1, '2024-03-05 23:59:59+00') AS same;
SET TimeZone = 'UTC';
\echo '-- arrays: the same as one by one where the order is that of the times, and what has left the window by'
\echo '-- then is not kept'
SELECT name, bloom_add_at(bloom_window('6 days', 6), '{5,2,1,4,3,NULL,3}'::int[],
	ARRAY['2024-03-09 12:00+00', '2024-03-06 00:00+00', '2024-03-05 23:59:59.999999+00',
	'2024-03-01 12:00+00', '2024-03-06 23:59:59.999999+00', NULL, '2024-03-02 00:00+00']::timestamptz[]) AS f
		INTO TEMP many FROM w;
SELECT pg_temp.slices(f), bloom_contains_each(f, '{1,2,3,4,5,6}'::int[]) FROM many;
\echo '-- all kinds'
SELECT (bloom_info(t)).kind, t @> 'a' AS a, (bloom_info(v)).kind, '{a,b,"c  "}'::char(3)[] - v AS left_over,
	(bloom_info(b)).kind, b @> '\x02'::bytea AS has_2, (bloom_info(g)).kind, g @> u AS has_u
FROM (VALUES ('00000000-0000-0000-0000-000000000002'::uuid)) AS i(u),
	bloom_add_at(bloom_window('6 days'), 'a'::text, '2024-03-05') t,
	bloom_add_at(bloom_window('6 days'), '{a,c}'::varchar[], ARRAY['2024-03-05', '2024-03-01']::timestamptz[]) v,
	bloom_add_at(bloom_window('6 days'), '\x02'::bytea, '2024-03-05') b,
	bloom_add_at(bloom_window('6 days'), u, '2024-03-05') g;
\echo '-- an item that is contained for as long already changes nothing; one that must stay longer does'
SELECT bloom_add_at(f, 2, '2024-03-06 13:00+00') = f AS same_slice,
	bloom_add_at(f, 2, '2024-03-01 13:00+00') = f AS older, bloom_add_at(f, 2, '2024-03-07 00:00+00') = f AS newer,
	bloom_add_at(f, NULL::int, '2024-03-07 00:00+00') = f AS null_item,
	bloom_add_at(f, '{2,NULL}'::int[], ARRAY['2024-03-06', NULL]::timestamptz[]) = f AS array,
	bloom_add_at(f, NULL::int[], NULL) = f AS null_array, bloom_add_at(f, '{}'::int[], '{}') = f AS empty_array
FROM w;

\echo '-- Forgetting: contained for `width` after the last exposure, forgotten at the latest one slice later'
SELECT at, pg_temp.slices(e), bloom_contains_each(e, '{1,2,3,4,5}'::int[]) AS contained
FROM w, unnest('{2024-03-01 00:00+00,2024-03-07 12:00+00,2024-03-07 23:59:59.999999+00,2024-03-08 00:00+00,
		2024-03-11 23:59:59.999999+00,2024-03-12 00:00+00,2024-03-13 00:00+00,2024-03-16 00:00+00,2030-01-01
			00:00+00}'::timestamptz[]) at,
	bloom_expire(f, at) e;
\echo '-- what lies before the floor is ignored from now on, and only that; time does not go back'
SELECT pg_temp.slices(e) AS expired, pg_temp.slices(bloom_add_at(e, 7, '2024-03-06 11:59:59.999999+00'))
	AS before_floor, pg_temp.slices(bloom_add_at(e, 7, '2024-03-06 12:00+00')) AS at_floor,
	pg_temp.slices(bloom_add_at(e, '{7,8}'::int[], '{2024-03-01 00:00+00,2025-01-01 00:00+00}')) AS old_and_future,
	bloom_expire(e, '2024-03-12 11:00+00') = e AS earlier, bloom_expire(e, '2024-03-12 12:00+00') = e AS same
FROM w, bloom_expire(f, '2024-03-12 12:00+00') e;
\echo '-- the same for many at once'
SELECT pg_temp.slices(bloom_add_at(e, '{7,8}'::int[], '{2024-03-06 11:59:59.999999+00,2024-03-06 11:59:59.999999+00}'))
	= pg_temp.slices(e) AS before_floor,
	bloom_contains_each(bloom_add_at(e, '{7,8}'::int[], '{2024-03-06 11:59:59.999999+00,2024-03-06 12:00+00}'),
		'{7,8}'::int[]) AS around_floor
FROM w, bloom_expire(f, '2024-03-12 12:00+00') e;
\echo '-- a wrong clock, once: later items are not lost, and the wrong one is forgotten in its time'
SELECT pg_temp.slices(e), e @> 9 AS has_9, e @> 10 AS has_10
FROM w, bloom_expire(bloom_add_at(bloom_add_at(f, 9, '2124-01-01'), 10, '2024-03-11 01:00+00'),
	'2024-03-12 12:00+00') e;
\echo '-- NULL, long ago, and a window wider than all of time'
SELECT bloom_expire(NULL, now()) IS NULL AS of_null,
	bloom_expire(f, '4714-11-24 00:00+00 BC') = f AS long_ago,
	bloom_expire(bloom_add_at(bloom_window('106000000 days'), 1, '2024-03-01'), '2024-03-12') @> 1 AS kept FROM w;
\echo '-- an UPDATE that changes nothing keeps the value where it is'
SELECT bool_and(bloom_expire(bloom_expire(f, at), at) = bloom_expire(f, at)) AS twice_as_once
	FROM w, generate_series('2024-02-01'::timestamptz, '2024-04-01', '7 hours') at;
\echo '-- the guarantee, for items shown all along (an aggregate keeps all of them): never forgotten before its'
\echo '-- time, never kept a slice longer'
WITH shown AS (SELECT i, timestamptz '2024-01-01 00:00+00' + i * interval '5 hours 7 minutes' AS at
	FROM generate_series(1, 300) i),
	filled AS (SELECT bloom_window_agg(i, at, '10 days', slices, 1e-7) AS f, slices
		FROM shown, unnest('{1,3,10,240}'::int[]) slices GROUP BY slices)
SELECT slices, count(*) FILTER (WHERE now_at - at <= '10 days') AS inside,
	count(*) FILTER (WHERE now_at - at <= '10 days' AND NOT e @> i) AS lost,
	count(*) FILTER (WHERE now_at - at > interval '10 days' + interval '10 days' / slices) AS outside,
	count(*) FILTER (WHERE now_at - at > interval '10 days' + interval '10 days' / slices AND e @> i) AS kept_too_long
FROM filled, generate_series('2024-01-15 00:00+00'::timestamptz, '2024-03-20', '17 hours') now_at,
	LATERAL (SELECT bloom_expire(f, now_at) AS e OFFSET 0) AS e, shown
WHERE at <= now_at GROUP BY slices ORDER BY slices;

\echo '-- Some of the slices: those that begin at or after a time, and before another one'
SELECT pg_temp.slices(bloom_window(f, '2024-03-05 00:00+00', '2024-03-09 00:00+00', NULL)) AS both_at_a_start,
	pg_temp.slices(bloom_window(f, '2024-03-05 00:00:00.000001+00', '2024-03-09 00:00:00.000001+00', NULL)) AS just_after,
	bloom_window(f, NULL, NULL, NULL) = f AND bloom_window(f, '-infinity', 'infinity', NULL) = f AS all_of_it,
	(bloom_info(bloom_window(f, '2024-03-06 00:00+00', '2024-03-06 00:00+00', NULL))).layers AS none,
	(bloom_info(bloom_window(f, '2024-03-09 00:00+00', '2024-03-01 00:00+00', NULL))).layers AS turned,
	bloom_window(NULL, now(), now(), NULL) IS NULL AS of_null
FROM w;
\echo '-- cut anywhere, the two parts are all of it, each item in one of them, and they are windows with the same'
\echo '-- past'
SELECT count(*), bool_and(pg_temp.slices(older | newer) IS NOT DISTINCT FROM pg_temp.slices(e)) AS united,
	bool_and(NOT (older @> i AND newer @> i) AND (older @> i OR newer @> i) = e @> i) AS once,
	bool_and((bloom_info(older)).expired_before = (bloom_info(e)).expired_before
		AND bloom_add_at(newer, 9, '2024-02-20') = newer) AS same_floor
FROM w, bloom_expire(f, '2024-03-08') e, generate_series('2024-02-28'::timestamptz, '2024-03-12', '4 hours') at,
	bloom_window(e, NULL, at, NULL) older, bloom_window(e, at, NULL, NULL) newer, generate_series(1, 5) i;
\set VERBOSITY terse
\echo '-- Parts of one window keep its rate, in any order and with nothing in one of them; windows with a slice'
\echo '-- in common add theirs up.'
SELECT (bloom_info(older | newer)).fpr AS parts, (bloom_info(newer | older)).fpr AS turned,
	(bloom_info(bloom_window('30 days') | newer)).fpr AS empty,
	(bloom_info(older | e)).fpr AS overlap
FROM (SELECT bloom_add_at(bloom_window('30 days'), '{1,2}'::int[], '{2024-03-01,2024-03-09}') AS e) AS f,
	bloom_window(e, NULL, '2024-03-05', NULL) AS older, bloom_window(e, '2024-03-05', NULL, NULL) AS newer;
SELECT bloom_window(bloom_new(), now(), NULL, NULL);
\echo '-- Another target rate is for what is added later: the value stays valid and complete, however full it is.'
SELECT count(*), bool_and(g::text::bloom = g AND (bloom_info(g)).fpr = t AND items - g = '{}') AS valid,
	bool_and(added::text::bloom = added AND items - added = '{}' AND more - added = '{}') AS goes_on
FROM unnest('{0.9,0.1,0.01,1e-5}'::float8[]) AS p, unnest('{0.9,0.1,0.001,1e-7}'::float8[]) AS t,
	generate_series(2, 6) AS k,
	LATERAL (SELECT array_agg(i) AS items, array_agg(i + 100000) AS more,
		array_agg(timestamptz '2024-01-01 00:00+00' + i * interval '1 hour') AS times
		FROM generate_series(1, (3 ^ k)::int) AS i) AS i,
	LATERAL (SELECT bloom_add_at(bloom_window('40 days', 6, p), items, times) AS f UNION ALL
		SELECT bloom_window_agg(x, y, '40 days', 6, p) FROM unnest(items, times) AS e (x, y)
		UNION ALL SELECT a | b FROM bloom_add_at(bloom_window('40 days', 6, p), items, times) AS a,
			bloom_add_at(bloom_window('40 days', 6, p), more, times) AS b) AS f,
	bloom_window(f, NULL, NULL, t) AS g, bloom_add_at(g, more, times) AS added;
SELECT bloom_window(bloom_window('30 days'), NULL, NULL, 0.1) = bloom_window('30 days', 6, 0.1) AS set,
	bloom_window(bloom_window('30 days'), NULL, NULL, 0.01) = bloom_window('30 days') AS same;
SELECT bloom_window(bloom_window('30 days'), NULL, NULL, 0);
SELECT bloom_window(bloom_add(bloom_new(fpr => 0.2), 7), NULL, NULL, 0.01) @> 7 AS kept,
	bloom_fpr(bloom_add(bloom_window(bloom_add(bloom_new(fpr => 0.2), 7), NULL, NULL, 0.01),
		(SELECT array_agg(i) FROM generate_series(1, 5000) AS i))) < 0.2 AS plain;
\set VERBOSITY default

\echo '-- The aggregate'
CREATE TABLE exposures AS SELECT i % 5 AS user_id, i % 40 * 7 AS item,
	timestamptz '2024-03-01 00:00+00' + i * interval '37 minutes' AS shown_at FROM generate_series(1, 800) i;
SELECT user_id, pg_temp.slices(f), (bloom_info(f)).items, (bloom_info(f)).window_width, (bloom_info(f)).slices,
	bloom_contains_all(f, array_agg(item)) AS contained
FROM exposures JOIN (SELECT user_id, bloom_window_agg(item, shown_at, '6 days', 6, 0.01) AS f FROM exposures
	GROUP BY user_id) AS g USING (user_id) GROUP BY user_id, f ORDER BY user_id;
\echo '-- the same bytes in any order, with repetitions, and as added by array to an empty filter of the same'
\echo '-- rooms'
SELECT 	bloom_window_agg(item, shown_at, '6 days', 6, 0.01 ORDER BY shown_at)
		= bloom_window_agg(item, shown_at, '6 days', 6, 0.01 ORDER BY item, shown_at DESC) AS other_order,
	bloom_window_agg(item, shown_at, '144:00', 6, 0.01) = (SELECT bloom_window_agg(item, shown_at, '6 days', 6, 0.01)
		FROM (TABLE exposures UNION ALL TABLE exposures) AS twice) AS twice
FROM exposures;
\echo '-- an item counts at its newest time only; old ones are not ignored, they go at the next expiry'
SELECT pg_temp.slices(f), pg_temp.slices(bloom_expire(f, '2024-03-12 12:00+00')) AS expired
FROM (SELECT bloom_window_agg(item, at, '6 days', 6, 0.01) AS f
	FROM (VALUES (1, timestamptz '2024-03-01 00:00+00'), (1, '2024-03-07 00:00+00'), (2, '2023-03-01 00:00+00'),
	(3, '2024-03-08 00:00+00'),
	(NULL, NULL), (NULL, 'infinity'), (1, '2024-03-05 00:00+00')) AS v(item, at)) AS g;
SELECT bloom_window_agg(item, shown_at, '6 days', 6, 0.01) FILTER (WHERE false) IS NULL AS of_none,
	bloom_window_agg(NULL::bigint, shown_at, '6 days', 6, 0.01) IS NULL AS of_nulls,
	(bloom_info(bloom_window_agg(item::text, shown_at, '6 days', 6, 0.01))).kind,
	(bloom_info(bloom_window_agg(md5(item::text)::uuid, shown_at, '6 days', 6, 0.01))).kind,
	(bloom_info(bloom_window_agg(int4send(item), shown_at, '6 days', 6, 0.01))).kind
FROM exposures;
\echo '-- in a window frame, where the state goes on after each result'
SELECT count(*), bool_and(f @> item) AS contained, bool_and(f = bloom_window_agg) AS same
FROM (SELECT item, shown_at, bloom_window_agg(item, shown_at, '6 days', 6, 0.01) OVER (ORDER BY shown_at) AS f
	FROM exposures WHERE user_id = 1) AS s,
	LATERAL (SELECT bloom_window_agg(item, shown_at, '6 days', 6, 0.01) FROM exposures e
		WHERE user_id = 1 AND e.shown_at <= s.shown_at) AS anew;
\echo '-- parallel: the same bytes'
CREATE TABLE many_exposures AS SELECT i % 3 AS user_id, (i * 7919) % 20011 AS item,
	timestamptz '2024-03-01 00:00+00' + (i * 48271 % 100000) * interval '25 seconds' AS shown_at
	FROM generate_series(1::bigint, 60000) i;
ANALYZE many_exposures;
CREATE TABLE serial AS SELECT user_id, bloom_window_agg(item, shown_at, '30 days', 6, 0.01) AS f FROM many_exposures
	GROUP BY user_id;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT user_id, bloom_window_agg(item, shown_at, '30 days', 6, 0.01) AS f FROM many_exposures
	GROUP BY user_id;
SELECT count(*), bool_and(s.f = p.f) AS same FROM serial s
	JOIN (SELECT user_id, bloom_window_agg(item, shown_at, '30 days', 6, 0.01) AS f FROM many_exposures
	GROUP BY user_id) p USING (user_id);
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
DROP TABLE serial, many_exposures;
\echo '-- bytes: with 6 slices at most 1.5 times the optimum of one layer, for exposures spread evenly over the'
\echo '-- window, wherever its slices begin'
SELECT p, array_agg(bytes ORDER BY n) AS bytes, bool_and(bytes / (-n * ln(p) / ln(2) ^ 2 / 8) <= 1.5) AS held,
	max(layers) AS layers
FROM (SELECT n, p, max(octet_length(f::bytea) + 4) AS bytes, max((bloom_info(f)).layers) AS layers
	FROM unnest('{3000,5000,10000}'::int[]) n, unnest('{0.01,0.001,0.0001}'::float8[]) p,
		generate_series(0, 4) AS start_day,
		LATERAL (SELECT bloom_window_agg(i, timestamptz '2000-01-01 07:00+00' + start_day * interval '1 day'
			+ i * interval '30 days' / n, '30 days', 6, p) AS f FROM generate_series(1, n) i) AS g
	GROUP BY n, p) AS largest
GROUP BY p ORDER BY p DESC;
\echo '-- as many layers as a value may have, and no memory spent on more'
SELECT (bloom_info(bloom_window_agg(i, timestamptz '2024-01-01 00:00+00' + i * interval '1 second', '1 second', 1,
	0.01))).layers FROM generate_series(1, 4096) i;
SELECT (bloom_info(bloom_add_at(bloom_window('1 second', 1), array_agg(i),
	array_agg(timestamptz '2024-01-01 00:00+00' + i * interval '1 second')))).layers FROM generate_series(1, 100000) i;

\echo '-- Unions: slice by slice'
SELECT pg_temp.slices(a | b) AS ab, pg_temp.slices(b | a) AS ba, (bloom_info(a | b)).fpr,
	bloom_contains_each(a | b, '{1,2,3,4,5,11,12,13,14}'::int[]),
	pg_temp.slices(bloom_expire(a, '2024-03-12 12:00+00') | b) AS one_expired,
	pg_temp.slices(bloom_add_at(bloom_expire(a, '2024-03-12 12:00+00') | b, 7, '2024-03-01 00:00+00')) AS earlier_floor,
	pg_temp.slices(bloom_add_at(bloom_expire(a, '2024-03-12 12:00+00') | bloom_expire(b, '2024-03-13 12:00+00'), 7,
		'2024-03-01 00:00+00')) AS still_ignored
FROM (SELECT f AS a FROM w) AS a,
	bloom_add_at(bloom_window('6 days', 6), '{11,12,13,14}'::int[],
		'{2024-03-03 00:00+00,2024-03-06 00:00+00,2024-03-06 00:00+00,2024-03-20 00:00+00}') b;
\echo '-- layers of one shape with room become one'
SELECT (bloom_info(a | a)).layers = (bloom_info(a)).layers AS merged,
	bloom_contains_all(a | a, '{1,2,3,4,5}'::int[]) AS contained FROM (SELECT f AS a FROM w) AS a;
SELECT bloom_union_agg(g) @> 5 AS contained, (bloom_info(bloom_union_agg(g))).slices
FROM (SELECT f AS g FROM w UNION ALL SELECT bloom_add_at(bloom_window('6 days', 6), i, '2024-03-03')
	FROM generate_series(20, 30) i) AS g;
SELECT ARRAY(SELECT bloom_exclude('{1,2,20,30}'::int[], f, bloom_add(NULL, 20))) AS with_a_plain_one FROM w;

\echo '-- Nobody expires: an add that moves the present on drops the slices that have left the window.'
CREATE TABLE days (day int, slices int, layers int, fpr float8, bytes int, lost int, old int);
CREATE FUNCTION pg_temp.on_day(day int, hour int DEFAULT 12) RETURNS timestamptz LANGUAGE sql AS
$$SELECT timestamptz '2024-01-01 00:00+00' + day * interval '1 day' + hour * interval '1 hour'$$;
CREATE FUNCTION pg_temp.items_of(day int) RETURNS int[]
	LANGUAGE sql AS 'SELECT array_agg(day * 1000 + i) FROM generate_series(1, 10 + day % 40) i';
-- add the items of each of some days, some of them twice; after each count what is lost of the last week, and what is
-- left of two weeks ago
CREATE FUNCTION pg_temp.live(f bloom, days int[]) RETURNS bloom LANGUAGE plpgsql AS $$
DECLARE
	d int;
BEGIN
	FOREACH d IN ARRAY days LOOP
		f := bloom_add_at(f, pg_temp.items_of(d), array_fill(pg_temp.on_day(d), ARRAY[cardinality(pg_temp.items_of(d))]));
		f := bloom_add_at(f, d * 1000 + 999, pg_temp.on_day(d, 18));
		INSERT INTO days SELECT d, (SELECT count(DISTINCT slice) FROM bloom_layers(f)), i.layers, bloom_fpr(f), i.bytes,
			(SELECT count(*) FROM generate_series(d - 7, d) o, unnest(pg_temp.items_of(o)) item
				WHERE o = ANY (days) AND NOT f @> item),
			(SELECT count(*) FILTER (WHERE f @> item) FROM unnest(pg_temp.items_of(d - 14)) item)
		FROM bloom_info(f) i;
	END LOOP;
	RETURN f;
END
$$;
-- a year, day by day
CREATE FUNCTION pg_temp.report() RETURNS TABLE (days bigint, slices int, layers int, p_kept bool, bytes int,
	lost bigint, old bigint) LANGUAGE sql AS
'WITH d AS (DELETE FROM days RETURNING *)
	SELECT count(*), max(slices), max(layers), max(fpr) <= 0.01, max(bytes), sum(lost), sum(old) FROM d';
SELECT expired_before FROM pg_temp.live(bloom_window('7 days', 7), ARRAY(SELECT generate_series(0, 364))) f,
	bloom_info(f);
SELECT * FROM pg_temp.report();
SELECT (bloom_info(pg_temp.live(bloom_window('7 days', 1), ARRAY(SELECT generate_series(0, 99))))).expired_before;
SELECT slices, layers, lost, old > 0 AS old FROM pg_temp.report();
\echo '-- one wrong time far in the future drops nothing, stays, and keeps no later item out and no older one in;'
\echo '-- nor does one that is there first'
SELECT f @> 5 AS wrong_one, (bloom_info(f)).expired_before
FROM (SELECT pg_temp.live(bloom_add_at(pg_temp.live(bloom_window('7 days', 7), ARRAY(SELECT generate_series(0, 30))), 5,
	'2124-01-01'),
	ARRAY(SELECT generate_series(31, 100))) AS f OFFSET 0) AS f;
SELECT days, slices, lost, old FROM pg_temp.report();
SELECT f @> 5 AS wrong_one FROM (SELECT pg_temp.live(bloom_add_at(bloom_window('7 days', 7), 5, '2124-01-01'),
	ARRAY(SELECT generate_series(0, 30))) AS f OFFSET 0) AS f;
SELECT days, slices, lost, old FROM pg_temp.report();
\echo '-- A wrong time in an array with other times does no harm, either.'
SELECT pg_temp.slices(bloom_add_at(f, '{9,8,7}'::int[], '{2124-01-01,2024-01-09 10:00+00,2024-01-03 10:00+00}'))
FROM (SELECT bloom_add_at(bloom_window('7 days', 7), '{1,2,3}'::int[],
	'{2024-01-01 10:00+00,2024-01-02 10:00+00,2024-01-08 10:00+00}') AS f) AS f;
\echo '-- who comes once a month: the last visit but one stays until the next'
SELECT pg_temp.slices(f) FROM (SELECT pg_temp.live(bloom_window('7 days', 7),
	ARRAY(SELECT generate_series(0, 364, 30))) AS f OFFSET 0) AS f;
SELECT * FROM pg_temp.report();
\echo '-- two days in a month: the second one shows that the first was right'
SELECT pg_temp.slices(f) FROM (SELECT pg_temp.live(bloom_window('7 days', 7),
	ARRAY(SELECT d FROM generate_series(0, 364) d WHERE d % 30 < 2)) AS f OFFSET 0) AS f;
SELECT array_agg(day ORDER BY day) AS days, array_agg(slices ORDER BY day) AS slices, sum(lost) AS lost FROM days
	WHERE day BETWEEN 90 AND 151;
SELECT * FROM pg_temp.report();
\echo '-- late ones go into their slices, whatever the present is, until the present moves on'
SELECT pg_temp.slices(late) AS late, pg_temp.slices(bloom_add_at(late, 6, '2024-03-10 01:00+00')) AS same_day,
	pg_temp.slices(bloom_add_at(late, 7, '2024-03-11 01:00+00')) AS next_day
FROM (SELECT bloom_add_at(bloom_add_at(bloom_window('7 days', 7), '{1,2}'::int[],
	'{2024-03-09 00:00+00,2024-03-10 00:00+00}'),
	'{3,4,5}'::int[], '{2024-02-01 00:00+00,2024-03-04 00:00+00,2024-03-09 23:00+00}') AS late) AS late;
\echo '-- a year in one array: what has left the window at its end is not kept; all of it stays in an aggregate,'
\echo '-- which knows all rows'
SELECT pg_temp.slices(bloom_add_at(bloom_window('3 days', 3), array_agg(d), array_agg(pg_temp.on_day(d)))) AS added,
	(bloom_info(bloom_window_agg(d, pg_temp.on_day(d), '3 days', 3, 0.01))).layers AS aggregated
		FROM generate_series(0, 364) d;
DROP TABLE days;

DROP TABLE exposures, w;

\echo '-- A slice whose bits say nothing (all are set) and that claims 64 items a bit does not make the next one'
\echo '-- huge.'
SELECT (bloom_info(f)).items, (bloom_info(f)).bytes,
	(bloom_info(bloom_add_at(f, 1, '2026-01-10 12:00+00'))).bytes AS after_one_more
FROM (SELECT ('\x012101000000000095d626e80b2e113e00100000000000000000000000000080e803000000000000'
	'100000040000010000000100000400000700000000000000' || repeat('ff', 128))::bloom) AS v (f);

\echo '-- What bloom_info() and bloom_layers() tell of times: nothing without a window, none before the first'
\echo '-- bloom_expire(), and the infinite ones where a timestamptz ends.'
SET timezone = 'UTC';
SELECT (bloom_info(bloom_new())).expired_before AS plain, (bloom_info(bloom_window('6 days'))).expired_before AS never,
	(bloom_info(bloom_expire(bloom_window('6 days'), '2026-01-10 12:00+00'))).expired_before AS once,
	(bloom_info(bloom_expire(bloom_window('6 days'), '4714-11-25 00:00+00 BC'))).expired_before AS early;
SELECT slice, slice_start
FROM bloom_layers(bloom_add_at(bloom_add_at(bloom_add_at(bloom_window('6 days'), 1, '2026-01-10 12:00+00'), 2,
	'1999-12-31 12:00+00'),
	3, '4714-11-24 00:00+00 BC'));
SELECT (SELECT slice_start FROM bloom_layers(bloom_new())) AS plain,
	(SELECT slice_start FROM bloom_layers(bloom_add_at(bloom_window('106000000 days', 1), 1, '1999-01-01 00:00+00')))
		AS before_all;
RESET timezone;
