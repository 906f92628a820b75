--
-- Tests of items: every way gives the same answer.  test/t/004_false_positive_rate.pl counts how often it is wrong.
--
\pset format unaligned \pset footer off
SET client_min_messages = warning;

CREATE TABLE ids AS SELECT n FROM generate_series(1::bigint, 20000) n;

--
-- All ways of asking are one
--

CREATE TABLE filters AS
	SELECT 'small' AS name, bloom_agg(n) AS f FROM ids WHERE n <= 50
	UNION ALL SELECT 'large', bloom_agg(n) FROM ids WHERE n <= 10000
	UNION ALL SELECT 'loose', bloom_agg(n, 0.2) FROM ids WHERE n <= 5000
	UNION ALL SELECT 'grown', bloom_add(bloom_add(bloom_new(3000, 0.1), array_agg(n) FILTER (WHERE n <= 4000)), array_agg(n))
		FROM ids WHERE n <= 9000
	UNION ALL SELECT 'empty', bloom_new()
	UNION ALL SELECT 'none', NULL;
CREATE FUNCTION pg_temp.answers(f bloom, items bigint[]) RETURNS TABLE (way text, answer boolean[]) LANGUAGE sql AS $$
	SELECT 'contains', array_agg(bloom_contains(f, i) ORDER BY n) FROM unnest(items) WITH ORDINALITY u(i, n)
	UNION ALL SELECT '@>', array_agg(f @> i ORDER BY n) FROM unnest(items) WITH ORDINALITY u(i, n)
	UNION ALL SELECT '<@', array_agg(i <@ f ORDER BY n) FROM unnest(items) WITH ORDINALITY u(i, n)
	UNION ALL SELECT 'any', array_agg(bloom_contains_any(f, ARRAY[i]) ORDER BY n) FROM unnest(items) WITH ORDINALITY u(i, n)
	UNION ALL SELECT 'all', array_agg(bloom_contains_all(f, ARRAY[i]) ORDER BY n) FROM unnest(items) WITH ORDINALITY u(i, n)
	UNION ALL SELECT 'each', bloom_contains_each(f, items)
	UNION ALL SELECT 'exclude', array_agg(survivor IS NULL ORDER BY n) FROM unnest(items) WITH ORDINALITY u(i, n)
		LEFT JOIN bloom_exclude(items, f) survivor ON survivor = i
	UNION ALL SELECT 'minus', array_agg(survivor IS NULL ORDER BY n) FROM unnest(items) WITH ORDINALITY u(i, n)
		LEFT JOIN unnest(items - f) survivor ON survivor = i
$$;
SELECT name, count(*) AS ways, count(DISTINCT answer) AS answers
FROM filters, (SELECT array_agg(n ORDER BY n % 97, n) AS items FROM ids WHERE n % 4 = 0) AS i, pg_temp.answers(f, items)
GROUP BY name ORDER BY name;

-- Row by row, with a filter that is stored out of line: the condition of a join.
ANALYZE ids;
ANALYZE filters;
SELECT name, pg_column_size(f) > 3000 AS out_of_line,
	(SELECT array_agg(n ORDER BY n) FROM ids WHERE NOT f @> n) = (SELECT array_agg(n ORDER BY n) FROM ids) - f AS not_contains,
	(SELECT array_agg(n ORDER BY n) FROM ids WHERE NOT n <@ f) = (SELECT array_agg(n ORDER BY n) FROM ids) - f AS not_contained
FROM filters ORDER BY name;
-- the filters in turn: what one call knows of its last filter must not answer for the next one
SELECT n, string_agg(name, ' ' ORDER BY name) AS contained_in
FROM ids, filters WHERE f @> n AND n IN (7, 77, 4500, 7777, 9500) GROUP BY n ORDER BY n;
-- ... not even if it has changed in between
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
-- A look or two into a large stored filter need not read all of it, many looks should; the answers are the same.  Of one
-- layer in blocks, of several of which some have blocks, of many layers, and compressed.
CREATE TABLE large (name text, f bloom);
INSERT INTO large SELECT 'blocks', bloom_agg(i) FROM generate_series(1, 100000) i;
INSERT INTO large SELECT 'layers', bloom_add(bloom_add(bloom_new(1000), ARRAY(SELECT generate_series(1, 2000))), ARRAY(SELECT generate_series(2001, 60000)));
INSERT INTO large SELECT 'many layers', bloom_union_agg(bloom_add(bloom_new(10 + i, 0.00001), i)) FROM generate_series(1, 1000) i;
INSERT INTO large VALUES ('empty', bloom_new(100000)), ('room', bloom_add(bloom_new(100000), ARRAY(SELECT generate_series(1, 10000))));
ALTER TABLE large ALTER f SET STORAGE extended;
INSERT INTO large VALUES ('compressed', bloom_add(bloom_new(100000), ARRAY(SELECT generate_series(1, 500))));
SELECT name, pg_column_size(f) > 3000 AS out_of_line, pg_column_size(f) < octet_length(f::bytea) AS compressed, (bloom_info(f)).layers > 100 AS many_layers,
	f @> 500 AS has_500, f @> -1 AS has_other, f @> NULL::int AS has_null,
	(SELECT count(*) FROM unnest('{1,77,500,1000,1999,5000,50000,100000,100001,123456}'::int[]) i WHERE (f @> i) <> (f::bytea::bloom @> i)
		OR (f @> i) <> (bloom_contains_each(f, ARRAY[i]))[1]) AS unlike
FROM large ORDER BY name;
SELECT name, ARRAY(SELECT i FROM generate_series(1, 3000) i WHERE NOT f @> i) = ARRAY(SELECT generate_series(1, 3000)) - f AS same FROM large ORDER BY name;
-- arrays of a few candidates, of which only some blocks are needed, against the value in one piece
SELECT name, count(*), bool_and(c - f = c - whole) AS minus, bool_and(ARRAY(SELECT bloom_exclude(c, f)) = c - whole) AS rows,
	bool_and(bloom_contains_each(f, c) = bloom_contains_each(whole, c)) AS each,
	bool_and(bloom_contains_any(f, c) = bloom_contains_any(whole, c)) AS any, bool_and(bloom_contains_all(f, c) = bloom_contains_all(whole, c)) AS all,
	bool_or(c - f = '{}') AS some_all, bool_or(c - f = c) AS some_none
FROM large, LATERAL (SELECT f::bytea::bloom) AS w(whole), generate_series(0, 100) n, LATERAL (SELECT ARRAY[n * 997, n * 997 + 1, NULL, n * 7, n * 997] AS c) AS c
GROUP BY name ORDER BY name;
SELECT f @> 'a' FROM large WHERE name = 'blocks';
DROP TABLE large;

--
-- any, all and each: a repost counts as seen if its source was
--

-- A NULL item is not contained, so not all of them are.
SELECT items, bloom_contains_any(f, items) AS any, bloom_contains_all(f, items) AS all, bloom_contains_each(f, items) AS each
FROM bloom_add(NULL, ARRAY['a', 'b', 'c']) f, (VALUES ('{a,b}'::text[]), ('{a,x}'), ('{x,a}'), ('{x,y}'), ('{}'), ('{b,b,x,b}'), ('{c}'), ('{x}'),
	('{a,NULL}'), ('{NULL,b,a}'), ('{NULL}'), ('{NULL,x}')) AS v(items);
-- more than one batch, with the only hit or miss at its ends
SELECT at, bloom_contains_any(bloom_add(bloom_new(100, 1e-6), at), items) AS any,
	bloom_contains_any(bloom_add(bloom_new(100, 1e-6), at + 5000), items) AS none,
	bloom_contains_all(bloom_add(bloom_new(2000, 1e-6), array_remove(items, at)), items) AS all_but_one,
	(SELECT array_agg(n) FROM unnest(bloom_contains_each(bloom_add(bloom_new(100, 1e-6), at), items)) WITH ORDINALITY u(hit, n) WHERE hit) AS each
FROM (SELECT array_agg(i ORDER BY i) AS items FROM generate_series(1, 2000) i) AS i, unnest('{1,2,511,512,513,1024,1025,1999,2000}'::int[]) at
ORDER BY at;
DROP TABLE filters, ids;

-- The empty text is an item like any other, although its hash is 0: 1% of 500 filters err on it, not half of them
SELECT count(*) FILTER (WHERE f @> ''::text) < 20 AS text, count(*) FILTER (WHERE b @> ''::bytea) < 20 AS bytea
FROM (SELECT bloom_agg(g || ' ' || i) AS f, bloom_agg((g || ' ' || i)::bytea) AS b
	FROM generate_series(1, 500) g, generate_series(1, 300) i GROUP BY g) AS filters;
