--
-- Tests of items: every way gives the same answer.  test/t/004_false_positive_rate.pl counts how often it is wrong.
--
\set ECHO none
\pset format unaligned \pset footer off
SET client_min_messages = warning;

CREATE TABLE ids AS SELECT n FROM generate_series(1::bigint, 20000) n;

\echo '-- All ways of asking are one'
CREATE TABLE filters AS
	SELECT 'small' AS name, bloom_agg(n) AS f FROM ids WHERE n <= 50
	UNION ALL SELECT 'large', bloom_agg(n) FROM ids WHERE n <= 10000
	UNION ALL SELECT 'loose', bloom_agg(n, 0.2) FROM ids WHERE n <= 5000
	UNION ALL SELECT 'grown', bloom_add(bloom_add(bloom_new(3000, 0.1), array_agg(n) FILTER (WHERE n <= 4000)),
		array_agg(n))
		FROM ids WHERE n <= 9000
	UNION ALL SELECT 'empty', bloom_new()
	UNION ALL SELECT 'none', NULL;
CREATE FUNCTION pg_temp.answers(f bloom, items bigint[]) RETURNS TABLE (way text, answer boolean[]) LANGUAGE sql AS $$
	SELECT 'contains', array_agg(bloom_contains(f, i) ORDER BY n) FROM unnest(items) WITH ORDINALITY u(i, n)
	UNION ALL SELECT '@>', array_agg(f @> i ORDER BY n) FROM unnest(items) WITH ORDINALITY u(i, n)
	UNION ALL SELECT '<@', array_agg(i <@ f ORDER BY n) FROM unnest(items) WITH ORDINALITY u(i, n)
	UNION ALL SELECT 'any', array_agg(bloom_contains_any(f, ARRAY[i]) ORDER BY n)
		FROM unnest(items) WITH ORDINALITY u(i, n)
	UNION ALL SELECT 'all', array_agg(bloom_contains_all(f, ARRAY[i]) ORDER BY n)
		FROM unnest(items) WITH ORDINALITY u(i, n)
	UNION ALL SELECT 'each', bloom_contains_each(f, items)
	UNION ALL SELECT 'exclude', array_agg(survivor IS NULL ORDER BY n) FROM unnest(items) WITH ORDINALITY u(i, n)
		LEFT JOIN bloom_exclude(items, f) survivor ON survivor = i
	UNION ALL SELECT 'minus', array_agg(survivor IS NULL ORDER BY n) FROM unnest(items) WITH ORDINALITY u(i, n)
		LEFT JOIN unnest(items - f) survivor ON survivor = i
$$;
\echo '-- how many answers, and which differ from those of bloom_contains()'
SELECT count(*), string_agg(way || ' of ' || name, ', ') FILTER (WHERE answer IS DISTINCT FROM expected) AS others
FROM filters, (SELECT array_agg(n ORDER BY n % 97, n) AS items FROM ids WHERE n % 4 = 0) AS i,
	LATERAL (SELECT *, first_value(answer) OVER () AS expected FROM pg_temp.answers(f, items)) AS a;

\echo '-- Row by row, with a filter that is stored out of line: the condition of a join.'
ANALYZE ids;
ANALYZE filters;
SELECT string_agg(name, ', ' ORDER BY name) FILTER (WHERE pg_column_size(f) > 3000) AS out_of_line,
	string_agg(name, ', ') FILTER (WHERE ARRAY(SELECT n FROM ids WHERE NOT f @> n ORDER BY n) <> items - f) AS "@>",
	string_agg(name, ', ') FILTER (WHERE ARRAY(SELECT n FROM ids WHERE NOT n <@ f ORDER BY n) <> items - f) AS "<@"
FROM filters, (SELECT array_agg(n ORDER BY n) AS items FROM ids) AS i;
\echo '-- the filters in turn: what one call knows of its last filter must not answer for the next one'
SELECT n, string_agg(name, ' ' ORDER BY name) AS contained_in
FROM ids, filters WHERE f @> n AND n IN (7, 77, 4500, 7777, 9500) GROUP BY n ORDER BY n;
\echo '-- ... not even if it has changed in between'
DO $$
DECLARE
	candidate bigint;
	times int := 0;
BEGIN
	FOR candidate IN SELECT n FROM ids WHERE n > 15000 ORDER BY n LIMIT 100 LOOP
		IF NOT (SELECT f @> candidate FROM filters WHERE name = 'large') THEN
			UPDATE filters SET f = bloom_add(f, candidate) WHERE name = 'large';
			times := times + 1;
		END IF;
		IF NOT (SELECT f @> candidate FROM filters WHERE name = 'large') THEN
			RAISE EXCEPTION 'lost %', candidate;
		END IF;
	END LOOP;
	RAISE WARNING 'changed many times: %', times > 90;
END
$$;
\echo '-- A look or two into a large stored filter need not read all of it, many looks should; the answers are'
\echo '-- the same. Of one layer in blocks, of several of which some have blocks, of many layers, and compressed.'
CREATE TABLE large (name text, f bloom);
INSERT INTO large SELECT 'blocks', bloom_agg(i) FROM generate_series(1, 100000) i;
INSERT INTO large SELECT 'layers', bloom_add(bloom_add(bloom_new(1000), ARRAY(SELECT generate_series(1, 2000))),
	ARRAY(SELECT generate_series(2001, 60000)));
INSERT INTO large SELECT 'many layers', bloom_union_agg(bloom_add(bloom_new(10 + i, 0.00001), i))
	FROM generate_series(1, 1000) i;
INSERT INTO large VALUES ('empty', bloom_new(100000)),
	('room', bloom_add(bloom_new(100000), ARRAY(SELECT generate_series(1, 10000))));
ALTER TABLE large ALTER f SET STORAGE extended;
INSERT INTO large VALUES ('compressed', bloom_add(bloom_new(100000), ARRAY(SELECT generate_series(1, 500))));
SELECT string_agg(name, ', ' ORDER BY name) FILTER (WHERE pg_column_size(f) > 3000) AS out_of_line,
	string_agg(name, ', ') FILTER (WHERE pg_column_size(f) < octet_length(f::bytea)) AS compressed,
	string_agg(name, ', ') FILTER (WHERE (bloom_info(f)).layers > 100) AS many_layers FROM large;
SELECT name, f @> 500 AS has_500, f @> -1 AS has_other, f @> NULL::int AS has_null,
	ARRAY(SELECT i FROM unnest('{1,77,500,1000,1999,5000,50000,100000,100001,123456}'::int[]) i
		WHERE (f @> i) <> (f::bytea::bloom @> i) OR (f @> i) <> (bloom_contains_each(f, ARRAY[i]))[1]) AS unlike,
	ARRAY(SELECT i FROM generate_series(1, 3000) i WHERE NOT f @> i)
		= ARRAY(SELECT generate_series(1, 3000)) - f AS by_row
FROM large ORDER BY name;
\echo '-- arrays of a few candidates, of which only some blocks are needed, against the value in one piece: which'
\echo '-- differ'
SELECT count(*), string_agg(name || ' -', ', ') FILTER (WHERE c - f <> c - whole) AS minus,
	string_agg(name || ' rows', ', ') FILTER (WHERE ARRAY(SELECT bloom_exclude(c, f)) <> c - whole) AS rows,
	string_agg(name || ' each', ', ') FILTER (WHERE bloom_contains_each(f, c) <> bloom_contains_each(whole, c)) AS each,
	string_agg(name || ' any', ', ') FILTER (WHERE bloom_contains_any(f, c) <> bloom_contains_any(whole, c)) AS any,
	string_agg(name || ' all', ', ') FILTER (WHERE bloom_contains_all(f, c) <> bloom_contains_all(whole, c)) AS all,
	string_agg(DISTINCT name, ', ') FILTER (WHERE c - f = '{}') AS some_contain_all,
	string_agg(DISTINCT name, ', ') FILTER (WHERE c - f = array_remove(c, NULL)) AS some_contain_none
FROM large, LATERAL (SELECT f::bytea::bloom) AS w(whole), generate_series(0, 100) n,
	LATERAL (SELECT ARRAY[n * 997, n * 997 + 1, NULL, n * 7, n * 997] AS c) AS c;
SELECT f @> 'a' FROM large WHERE name = 'blocks';
DROP TABLE large;

\echo '-- any, all and each: a repost counts as seen if its source was.  A NULL item is not contained, so not all'
\echo '-- of them are.'
SELECT items, bloom_contains_any(f, items) AS any, bloom_contains_all(f, items) AS all,
	bloom_contains_each(f, items) AS each
FROM bloom_add(NULL, ARRAY['a', 'b', 'c']) f, (VALUES ('{a,b}'::text[]), ('{a,x}'), ('{x,a}'), ('{x,y}'), ('{}'),
	('{b,b,x,b}'), ('{c}'), ('{x}'), ('{a,NULL}'), ('{NULL,b,a}'), ('{NULL}'), ('{NULL,x}')) AS v(items);
\echo '-- more than one batch, with the only hit or miss at its ends: the places that are wrong'
SELECT count(*), string_agg(at::text, ' ') FILTER (WHERE NOT bloom_contains_any(one, items)) AS any,
	string_agg(at::text, ' ') FILTER (WHERE bloom_contains_any(bloom_add(bloom_new(100, 1e-6), at + 5000), items)) AS none,
	string_agg(at::text, ' ') FILTER (WHERE bloom_contains_all(others, items)) AS all_but_one,
	string_agg(at::text, ' ') FILTER (WHERE array_positions(bloom_contains_each(one, items), true) <> ARRAY[at]) AS each
FROM (SELECT array_agg(i ORDER BY i) AS items FROM generate_series(1, 2000) i) AS i,
	unnest('{1,2,511,512,513,1024,1025,1999,2000}'::int[]) at,
	LATERAL (SELECT bloom_add(bloom_new(100, 1e-6), at) AS one,
		bloom_add(bloom_new(2000, 1e-6), array_remove(items, at)) AS others
		OFFSET 0) AS f;
DROP TABLE filters, ids;

\echo '-- The empty text is an item like any other, although its hash is 0: 1% of 500 filters err on it, not half'
\echo '-- of them'
SELECT count(*) FILTER (WHERE f @> ''::text) < 20 AS text, count(*) FILTER (WHERE b @> ''::bytea) < 20 AS bytea
FROM (SELECT bloom_agg(g || ' ' || i) AS f, bloom_agg((g || ' ' || i)::bytea) AS b
	FROM generate_series(1, 500) g, generate_series(1, 300) i GROUP BY g) AS filters;
