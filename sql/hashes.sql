--
-- The hashes of items, as which a feed keeps the newest items.
--
-- bloom_hashes: a hash for each item that is not NULL, in order
SELECT bloom_hashes('{1,2,-1}'::bigint[]);
SELECT bloom_hashes('{1,NULL,2,NULL,-1}'::bigint[]) = bloom_hashes('{1,2,-1}'::bigint[]) AS same;
-- Repetitions stay.
SELECT cardinality(bloom_hashes('{1,2,1}'::bigint[]));
-- An item has one hash, whatever its type within its kind.
SELECT bloom_hashes('{1,-1}'::smallint[]) = bloom_hashes('{1,-1}'::bigint[]) AS smallint;
SELECT bloom_hashes('{1,-1}'::integer[]) = bloom_hashes('{1,-1}'::bigint[]) AS integer;
SELECT bloom_hashes('{a,b}'::varchar[]) = bloom_hashes('{a,b}'::text[]) AS varchar;
SELECT bloom_hashes('{a,b}'::char(3)[]) = bloom_hashes('{a,b}'::text[]) AS char;
-- Equal bytes have equal hashes, as a text or as a bytea.
SELECT bloom_hashes('{a,bc}'::text[]) = bloom_hashes('{"\\x61","\\x6263"}'::bytea[]) AS bytea;
SELECT bloom_hashes(ARRAY[uuid_send(u)]) = bloom_hashes(ARRAY[u]) AS uuid
FROM CAST('00112233-4455-6677-8899-aabbccddeeff' AS uuid) AS u;
-- The empty text has the hash 0.
SELECT bloom_hashes('{""}'::text[]);
-- A NULL array has a NULL result, and an empty array an empty one.
SELECT bloom_hashes(NULL::bigint[]) IS NULL AS of_null;
SELECT bloom_hashes('{}'::bigint[]);
SELECT bloom_hashes('{NULL,NULL}'::text[]);
-- More items than a batch
SELECT bloom_hashes(array_agg(i)) = array_agg(h) AS same
FROM generate_series(1, 2000) AS i, LATERAL unnest(bloom_hashes(ARRAY[i])) AS h;
-- Subscripts begin with 1.
SELECT array_dims(bloom_hashes('[5:7]={1,2,3}'::int[]));
-- Values that cannot be items are refused.
SELECT bloom_hashes('{1.5}'::numeric[]);
SELECT bloom_hashes('{{1,2},{3,4}}'::int[]);

-- bloom_add_hashes: the same filter as of the items, of each kind
SELECT bloom_add_hashes(NULL, 'integer', bloom_hashes(a)) = bloom_add(NULL, a) AS same
FROM CAST('{1,2,3}' AS bigint[]) AS a;
SELECT bloom_add_hashes(NULL, 'text', bloom_hashes(a)) = bloom_add(NULL, a) AS same
FROM CAST('{a,b,c}' AS text[]) AS a;
SELECT bloom_add_hashes(NULL, 'bytea', bloom_hashes(a)) = bloom_add(NULL, a) AS same
FROM CAST('{"\\x01","\\x02"}' AS bytea[]) AS a;
SELECT bloom_add_hashes(NULL, 'uuid', bloom_hashes(a)) = bloom_add(NULL, a) AS same
FROM CAST('{00112233-4455-6677-8899-aabbccddeeff}' AS uuid[]) AS a;
-- The kind is that of bloom_info().
SELECT kind, items FROM bloom_info(bloom_add_hashes(NULL, 'uuid', '{1,2}'));
-- A filter grows as by bloom_add.
SELECT bloom_add_hashes(f, 'integer', bloom_hashes(b)) = bloom_add(f, b) AS same
FROM (SELECT array_agg(i) AS a, array_agg(i + 300) AS b FROM generate_series(1, 500) AS i) AS i,
	bloom_add(NULL, a) AS f;
-- A counting filter counts.
SELECT bloom_remove(f, 7) @> 7 AS still, bloom_remove(bloom_remove(f, 7), 7) @> 7 AS gone
FROM bloom_add_hashes(bloom_new(counting => true), 'integer', bloom_hashes('{7,7}'::int[])) AS f;
-- No hashes change nothing.
SELECT bloom_add_hashes(f, 'integer', NULL) = f AS by_null,
	bloom_add_hashes(f, 'integer', '{}') = f AS by_none
FROM bloom_add(NULL, 1) AS f;
SELECT bloom_add_hashes(NULL, 'integer', '{}') IS NULL AS of_null;
-- Nor do hashes that the filter has already: a large filter is returned as its TOAST pointer, of
-- which pg_column_size() does not count a length word.
CREATE TEMP TABLE filled AS SELECT bloom_agg(i) AS f FROM generate_series(1, 10000) AS i;
SELECT pg_column_size(g) = pg_column_size(f) AS untouched
FROM filled, LATERAL (SELECT bloom_hashes('{1,2}'::int[]) AS h) AS h,
	LATERAL (SELECT bloom_add_hashes(f, 'integer', h) AS g) AS g;
-- A filter holds one kind of items.
SELECT bloom_add_hashes(bloom_add(NULL, 1), 'text', '{1}');
-- There are four kinds.
SELECT bloom_add_hashes(NULL, 'bigint', '{1}');
SELECT bloom_add_hashes(NULL, 'none', '{1}');
SELECT bloom_add_hashes(NULL, NULL, '{1}');
-- Hashes must not be NULL, and must be an array of one dimension.
SELECT bloom_add_hashes(NULL, 'integer', '{1,NULL}');
SELECT bloom_add_hashes(NULL, 'integer', '{{1,2},{3,4}}');
-- A windowed filter needs a time.
SELECT bloom_add_hashes(bloom_window('1 day'), 'integer', '{1}');

-- bloom_add_hashes_at: the same filter as of the items
SELECT bloom_add_hashes_at(f, 'integer', bloom_hashes(a), '2024-03-01 12:00+00', false)
	= bloom_add_at(f, a, array_fill(timestamptz '2024-03-01 12:00+00', ARRAY[3])) AS same
FROM bloom_window('6 days') AS f, CAST('{1,2,3}' AS int[]) AS a;
-- and so in a slice that has layers, before others and after them
SELECT at, bloom_add_hashes_at(f, 'integer', bloom_hashes(a), at, false)
	= bloom_add_at(f, a, array_fill(at, ARRAY[cardinality(a)])) AS same
FROM (SELECT bloom_window_agg(i, timestamptz '2024-03-01 00:00+00' + i * interval '1 hour',
		'6 days', 6, 0.01) AS f
	FROM generate_series(0, 140) AS i) AS f,
	(SELECT array_agg(i) AS a FROM generate_series(100, 400) AS i) AS a,
	unnest('{2024-02-01 00:00+00,2024-03-01 00:00+00,2024-03-04 12:00+00,
		2024-03-08 00:00+00}'::timestamptz[]) AS at;
-- Repetitions count once.
SELECT items FROM bloom_window('6 days') AS f,
	bloom_info(bloom_add_hashes_at(f, 'text', '{1,2,1}', '2024-03-01', false));
-- A new newest slice drops those that have left the window, also if it gets no more items.
CREATE TEMP TABLE windowed AS
SELECT bloom_window_agg(i, timestamptz '2024-03-01 00:00+00' + i * interval '1 day',
	'6 days', 6, 0.01) AS f
FROM generate_series(0, 6) AS i;
SELECT final, array_agg(slice_start AT TIME ZONE 'UTC' ORDER BY layer) AS slices
FROM windowed, unnest('{f,t}'::bool[]) AS final,
	bloom_layers(bloom_add_hashes_at(f, 'integer', '{1}', '2024-03-10 00:00+00', final))
GROUP BY final;
-- An item that is shown again stays for another window, although its old slice goes.
SELECT bloom_contains_each(g, '{0,1,2,3,4}'::int[])
FROM windowed, bloom_hashes('{0,1}'::int[]) AS h,
	bloom_add_hashes_at(f, 'integer', h, '2024-03-10 00:00+00', true) AS g;
-- The last hashes of a slice get a layer of exactly their number.
SELECT final, items, capacity
FROM windowed, unnest('{f,t}'::bool[]) AS final,
	bloom_hashes(ARRAY(SELECT generate_series(1001, 1010))) AS h,
	bloom_layers(bloom_add_hashes_at(f, 'integer', h, '2024-03-08 00:00+00', final))
WHERE slice_start = '2024-03-08 00:00+00';
-- A slice that has layers already keeps its share of the rate.
SELECT final, count(*) AS layers, sum(fpr) <= 0.01 / 7 AS kept
FROM unnest('{f,t}'::bool[]) AS final, bloom_window('6 days') AS e,
	bloom_hashes(ARRAY(SELECT generate_series(1, 300))) AS few,
	bloom_hashes(ARRAY(SELECT generate_series(1001, 1900))) AS more,
	bloom_add_hashes_at(e, 'integer', few, '2024-03-08 00:00+00', false) AS f,
	bloom_add_hashes_at(f, 'integer', more, '2024-03-08 00:00+00', final) AS g,
	bloom_layers(g)
GROUP BY final;
-- Late hashes are added to a slice even after its last ones.
SELECT bloom_add_at(g, 77, '2024-03-08 00:00+00') @> 77 AS added
FROM windowed, bloom_add_hashes_at(f, 'integer', '{1}', '2024-03-08 00:00+00', true) AS g;
-- What was shown before the time up to which the filter was expired is ignored.
SELECT bloom_add_hashes_at(e, 'integer', '{1}', '2024-02-01 00:00+00', true) = e AS ignored
FROM windowed, bloom_expire(f, '2024-03-08 00:00+00') AS e;
-- but not if its kind is wrong
SELECT bloom_add_hashes_at(e, 'text', '{1}', '2024-02-01 00:00+00', true)
FROM windowed, bloom_expire(f, '2024-03-08 00:00+00') AS e;
-- No hashes change nothing.
SELECT bloom_add_hashes_at(f, 'integer', NULL, now(), true) = f AS by_null,
	bloom_add_hashes_at(f, 'integer', '{}', now(), true) = f AS by_none
FROM windowed;
-- There must be a windowed filter, a kind, a finite time, and whether it is the last one.
SELECT bloom_add_hashes_at(NULL, 'integer', '{1}', now(), true);
SELECT bloom_add_hashes_at(bloom_new(), 'integer', '{1}', now(), true);
SELECT bloom_add_hashes_at(f, NULL, '{1}', now(), true) FROM windowed;
SELECT bloom_add_hashes_at(f, 'name', '{1}', now(), true) FROM windowed;
SELECT bloom_add_hashes_at(f, 'text', '{1}', now(), true) FROM windowed;
SELECT bloom_add_hashes_at(f, 'integer', '{1}', NULL, true) FROM windowed;
SELECT bloom_add_hashes_at(f, 'integer', '{1}', 'infinity', true) FROM windowed;
SELECT bloom_add_hashes_at(f, 'integer', '{1}', now(), NULL) FROM windowed;
SELECT bloom_add_hashes_at(f, 'integer', '{1,NULL}', now(), true) FROM windowed;
SELECT bloom_add_hashes_at(f, 'integer', '{{1},{2}}', now(), true) FROM windowed;

-- The forms of exclude that also leave out hashes, exactly
CREATE TEMP TABLE page AS
SELECT '{5,4,3,2,1,NULL,5}'::int[] AS c, bloom_add(NULL, 4) AS f, bloom_hashes('{1,3}'::int[]) AS h;
SELECT bloom_exclude(c, f, h) FROM page;
SELECT bloom_exclude_array(c, f, h) FROM page;
SELECT bloom_exclude_first(c, f, NULL, h) FROM page;
SELECT bloom_exclude_first(c, f, 1, h) FROM page;
-- of every kind
SELECT bloom_exclude_array('{a,"",b}'::text[], NULL, bloom_hashes('{a}'::text[]));
SELECT bloom_exclude_array('{"\\x01","\\x02"}'::bytea[], NULL, bloom_hashes('{"\\x02"}'::bytea[]));
SELECT bloom_exclude_array(ARRAY[u, lpad('1', 32, '0')::uuid], NULL, bloom_hashes(ARRAY[u]))
FROM CAST('00112233-4455-6677-8899-aabbccddeeff' AS uuid) AS u;
-- The hash 0 is one, and is not there where it was not put.
SELECT bloom_exclude_array('{a,"",b}'::text[], NULL, '{0}'::bigint[]) AS with_it,
	bloom_exclude_array('{a,"",b}'::text[], NULL, '{1}'::bigint[]) AS without;
-- No hashes leave out nothing.
SELECT bloom_exclude_array(c, f, NULL) AS by_null, bloom_exclude_array(c, f, '{}') AS by_none,
	bloom_exclude_first(c, f, NULL, NULL) AS of_first,
	ARRAY(SELECT bloom_exclude(c, f, NULL::bigint[])) AS of_rows
FROM page;
-- NULL candidates have a NULL result.
SELECT bloom_exclude_array(NULL::int[], NULL, '{1}'::bigint[]) IS NULL AS array_of_null,
	bloom_exclude_first(NULL::int[], NULL, 1, '{1}'::bigint[]) IS NULL AS first_of_null,
	ARRAY(SELECT bloom_exclude(NULL::int[], NULL::bloom, '{1}'::bigint[])) AS rows_of_null,
	bloom_exclude_array('{}'::int[], NULL, '{1}'::bigint[]) AS of_none;
-- An empty result goes on, and has its type.
SELECT pg_typeof(r), r || 7::smallint
FROM bloom_exclude_array('{1}'::smallint[], NULL, bloom_hashes('{1}'::int[])) AS r;
-- As many hashes as you like, with repetitions, against batches: the same as by SQL
SELECT n, bloom_exclude_array(c, NULL, h) = kept AS minus,
	ARRAY(SELECT bloom_exclude(c, NULL::bloom, h)) = kept AS rows,
	bloom_exclude_first(c, NULL, NULL, h) = distinct_ones AS first
FROM unnest('{1,2,3,10,100,250,511,512,513,2000}'::int[]) AS n,
	LATERAL (SELECT bloom_hashes(array_agg(i * 7) || array_agg(i * 7)) AS h
		FROM generate_series(1, n) AS i) AS h,
	(SELECT array_agg(i % 1500 ORDER BY i) AS c FROM generate_series(1, 3000) AS i) AS c,
	LATERAL (SELECT array_agg(i ORDER BY p) AS kept,
			array_agg(i ORDER BY p) FILTER (WHERE p <= 1500) AS distinct_ones
		FROM unnest(c) WITH ORDINALITY AS u (i, p) WHERE i = 0 OR i % 7 > 0 OR i > n * 7) AS k;
-- Hashes that are alike in their low or high bits, as somebody could choose them, are told
-- apart.
SELECT count(*), bool_and(bloom_exclude_array(c, NULL, alike) = c) AS others_stay,
	bool_and(bloom_exclude_array(c, NULL, alike || bloom_hashes(c)) = '{}') AS these_go
FROM (SELECT array_agg(i) AS c FROM generate_series(1, 600) AS i) AS c,
	LATERAL (SELECT array_agg(h # (n << shift)) AS alike
		FROM unnest('{0,20,50}'::int[]) AS shift, unnest(bloom_hashes(c)) AS h,
			generate_series(1::bigint, 5) AS n
		GROUP BY shift) AS a;
-- Candidates that are among the hashes are not looked up in the filter: in a large filter each
-- lookup would read a chunk.
CREATE TEMP TABLE large_filter (f bloom);
INSERT INTO large_filter
SELECT bloom_add(bloom_new(4000000), ARRAY(SELECT generate_series(1, 100)));
CREATE FUNCTION pg_temp.chunks_read(hashes bigint[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	toast oid := (SELECT reltoastrelid FROM pg_class WHERE oid = 'large_filter'::regclass);
	before bigint := (SELECT idx_scan FROM pg_stat_xact_all_tables WHERE relid = toast);
	candidates int[] := ARRAY(SELECT generate_series(51, 150));
	n int := (SELECT cardinality(bloom_exclude_array(candidates, f, hashes)) FROM large_filter);
BEGIN
	RETURN n || ' of '
		|| (SELECT idx_scan FROM pg_stat_xact_all_tables WHERE relid = toast) - before;
END
$$;
SELECT pg_temp.chunks_read(NULL);
SELECT pg_temp.chunks_read(bloom_hashes(ARRAY(SELECT generate_series(101, 140))));
DROP TABLE large_filter;
-- In PL/pgSQL, where arrays are expanded and changed in place
DO $$
DECLARE
	recent bigint[] := bloom_hashes('{1,2,3}'::int[]);
BEGIN
	recent[2] := (bloom_hashes('{9}'::int[]))[1];
	RAISE NOTICE '%', bloom_exclude_array('{1,2,3,9}'::int[], NULL, recent);
	RAISE NOTICE '%', bloom_add_hashes(NULL, 'integer', recent) = bloom_add(NULL, '{1,9,3}'::int[]);
END
$$;
-- The planner is told of the candidates' number.
CREATE FUNCTION pg_temp.estimated_rows(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' -> 'Plan Rows';
END
$$;
SELECT pg_temp.estimated_rows(
	$$SELECT * FROM bloom_exclude('{1,2,3,4,5}'::int[], NULL::bloom, '{1}'::bigint[])$$);
-- A hash is no NULL, hashes are a list, and wanted is not negative.
SELECT bloom_exclude('{1}'::int[], NULL::bloom, '{NULL}'::bigint[]);
SELECT bloom_exclude_array('{1}'::int[], NULL, '{{1},{2}}'::bigint[]);
SELECT bloom_exclude_first('{1}'::int[], NULL, -1, '{1}'::bigint[]);
-- A filter holds one kind of items, whatever the hashes are of.
SELECT bloom_exclude_array('{1}'::int[], bloom_add(NULL, 'a'::text), '{1}'::bigint[]);
-- A third argument without a type could be hashes or a filter.
\set VERBOSITY terse
SELECT bloom_exclude('{1}'::int[], NULL::bloom, NULL);
\set VERBOSITY default

-- bloom_slice_start: the start of the slice of a time
SELECT bloom_slice_start('2024-03-01 12:34:56+00', '6 days', 6) AT TIME ZONE 'UTC';
-- which is that of a filter's slices, before 2000 and after, for widths that are no multiple, too
SELECT width, slices, count(*),
	bool_and(bloom_slice_start(at, width, slices) = l.slice_start) AS same,
	bool_and(bloom_slice_start(at, width, slices) <= at) AS before
FROM (VALUES (interval '6 days', 6), ('30 days', 7), ('1 hour', 60), ('1 day 1 microsecond', 1000),
		('12 seconds', 5)) AS w (width, slices),
	unnest('{1970-01-01 00:00+00,1999-12-31 23:59:59.999999+00,2000-01-01 00:00+00,
		2000-01-01 00:00:00.000001+00,2024-03-31 01:30+00,2024-10-27 02:00+01,0044-03-15 BC,
		9999-12-31}'::timestamptz[]) AS at,
	bloom_layers(bloom_add_at(bloom_window(width, slices), 1, at)) AS l
GROUP BY width, slices ORDER BY width;
-- The time zone plays no part, nor do days of 23 hours.
SET timezone = 'Europe/Berlin';
SELECT bloom_slice_start('2024-03-31 12:00', '5 days', 1) AT TIME ZONE 'UTC' AS start;
SELECT count(DISTINCT bloom_slice_start(at, '5 days', 1))
FROM generate_series(timestamptz '2024-03-30 00:00+00', '2024-04-03 23:59+00', '1 minute') AS at;
RESET timezone;
-- At the ends of time there is none, as bloom_layers() says.
SELECT bloom_slice_start('4714-11-24 00:00+00 BC', '1000000 days', 1) AS start, slice_start
FROM bloom_layers(bloom_add_at(bloom_window('1000000 days', 1), 1, '4714-11-24 00:00+00 BC'));
-- NULL for NULL
SELECT bloom_slice_start(NULL, '1 day', 1) IS NULL AS time,
	bloom_slice_start(now(), NULL, 1) IS NULL AS width,
	bloom_slice_start(now(), '1 day', NULL) IS NULL AS slices;
-- A window that cannot be has no slices.
SELECT bloom_slice_start(now(), '0 days', 6);
SELECT bloom_slice_start(now(), '-1 day', 6);
SELECT bloom_slice_start(now(), '1 month', 6);
SELECT bloom_slice_start(now(), '1 day', 0);
SELECT bloom_slice_start(now(), '1 day', 1001);
SELECT bloom_slice_start('infinity', '1 day', 6);
SELECT bloom_slice_start('-infinity', '1 day', 6);
DROP TABLE filled, windowed, page;

-- What a row of a feed has not yet: in order, each once.
SELECT bloomexp.new_hashes('{3,1,3,2,2,4}', '{1,9,4}');
SELECT bloomexp.new_hashes('{}', '{1}') AS nothing,
	bloomexp.new_hashes('{1,1}', '{1}') AS all_known,
	bloomexp.new_hashes('{1,1}', '{}') AS none_known, bloomexp.new_hashes(NULL, '{1}') AS unknown;
SELECT bloomexp.new_hashes(a, b) = ARRAY(SELECT x FROM unnest(a) WITH ORDINALITY AS u(x, n)
	WHERE x <> ALL (b) GROUP BY x ORDER BY min(n)) AS as_by_sql
FROM (SELECT ARRAY(SELECT i * i % 7919 FROM generate_series(1::bigint, 9000) AS i) AS a,
	ARRAY(SELECT i * i % 7919 FROM generate_series(3000::bigint, 4000) AS i) AS b) AS arrays;
SELECT bloomexp.new_hashes('{1,NULL}', '{}');
SELECT bloomexp.new_hashes('{1}', '{{1},{2}}');
-- oldest_slice: when the oldest slice began that bloom_expire() keeps
SELECT count(*) AS times, bool_and(oldest = bloomexp.oldest_slice(at, '30 days', 6)) AS same
FROM (
	SELECT bloom_add_at(bloom_window('30 days', 6), array_agg(d),
		array_agg(timestamptz '2026-01-01 00:00+00' + d * interval '1 day'))
	FROM generate_series(1, 33) AS d) AS w(f),
	generate_series(timestamptz '2026-02-03 00:00+00', '2026-03-04 00:00+00', '7 hours') AS at,
	LATERAL (SELECT min(slice_start) FROM bloom_layers(bloom_expire(f, at))) AS l(oldest);
