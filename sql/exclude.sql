--
-- Excluding: the candidates that a filter does not contain, in their order, with their duplicates and
-- of their type; as rows, as an array, against one filter or several.
--
\set ECHO none
\pset format unaligned \pset footer off
SET client_min_messages = warning;
CREATE TABLE seen (user_id int PRIMARY KEY, items bloom);
INSERT INTO seen VALUES (1, bloom_add(NULL, '{20,40,60}'::int[])),
	(2, bloom_add(bloom_new(5000, 1e-7), ARRAY(SELECT generate_series(1, 5000)))),
	(3, bloom_new()), (4, NULL);

\echo '-- Order, duplicates, NULLs, type'
SELECT * FROM bloom_exclude('{50,20,10,NULL,30,10,40,50,NULL,60}'::int[], (SELECT items FROM seen WHERE user_id = 1));
SELECT user_id, ARRAY(SELECT bloom_exclude(c, items)) AS rows, bloom_exclude_array(c, items) AS array,
	c - items AS minus
FROM seen, (SELECT '{50,20,10,NULL,30,10,40,50,NULL,60}'::int[] AS c) AS c ORDER BY user_id;

\echo '-- the element type stays: the column''s type, and in each value its own (array_send() has it)'
CREATE DOMAIN item_id AS int;
CREATE DOMAIN slug AS varchar(10);
CREATE FUNCTION pg_temp.left_over(c anyarray, f bloom, OUT type regtype, OUT row_type regtype, OUT left_over text,
	OUT typed boolean) LANGUAGE sql AS $$
	SELECT pg_typeof(c - f), pg_typeof(e), c - f,
		array_send(c - f) = array_send(c[:1]) AND array_send(ARRAY[e]) = array_send(c[:1]) FROM bloom_exclude(c, f) e
$$;
SELECT o.* FROM bloom_add(NULL, 2) f, bloom_add(NULL, 'b'::text) g, bloom_add(NULL, '\x02'::bytea) h,
	bloom_add(NULL, '00000000-0000-0000-0000-000000000002'::uuid) u, LATERAL (
	SELECT * FROM pg_temp.left_over('{1,2}'::smallint[], f)
	UNION ALL SELECT * FROM pg_temp.left_over('{1,2}'::int[], f)
	UNION ALL SELECT * FROM pg_temp.left_over('{1,2}'::bigint[], f)
	UNION ALL SELECT * FROM pg_temp.left_over('{1,2}'::item_id[], f)
	UNION ALL SELECT * FROM pg_temp.left_over('{a,b}'::text[], g)
	UNION ALL SELECT * FROM pg_temp.left_over('{a,b}'::varchar[], g)
	UNION ALL SELECT * FROM pg_temp.left_over('{a,b}'::char(3)[], g)
	UNION ALL SELECT * FROM pg_temp.left_over('{a,b}'::slug[], g)
	UNION ALL SELECT * FROM pg_temp.left_over('{"\\x01","\\x02"}'::bytea[], h)
	UNION ALL SELECT * FROM pg_temp.left_over(ARRAY[lpad('1', 32, '0'), lpad('2', 32, '0')]::uuid[], u)) AS o;
\echo '-- an empty result, too, knows its type'
SELECT pg_typeof('{2}'::item_id[] - f), '{2}'::item_id[] - f AS nothing,
	array_append('{2}'::smallint[] - f, 3::smallint) AS goes_on FROM bloom_add(NULL, 2) f;

\echo '-- Every element as it was, for values of all lengths and so of all alignments.'
SELECT bool_and(c - f = kept AND ARRAY(SELECT bloom_exclude(c, f)) = kept AND (c - f)::text = kept::text
	AND array_length(c - f, 1) IS NOT DISTINCT FROM array_length(kept, 1)) AS same, count(*)
FROM (SELECT n, array_agg(t ORDER BY i) AS c,
		bloom_add(bloom_new(100, 1e-7), array_agg(t) FILTER (WHERE (i * n) % 3 = 0)) AS f,
		coalesce(array_agg(t ORDER BY i) FILTER (WHERE (i * n) % 3 <> 0), '{}') AS kept
	FROM generate_series(1, 40) n, generate_series(1, n) i,
		LATERAL (SELECT repeat(chr(97 + i % 26), (i * n) % 11) || i) AS t(t)
	GROUP BY n) AS s;
\echo '-- The texts come from rows: short ones have a length word of one byte, long ones are TOASTed.'
CREATE TABLE slugs (n int, s text);
INSERT INTO slugs VALUES (1, 'short'), (2, repeat('0123456789', 2000)), (3, repeat('9', 100000)), (4, '');
SELECT n, (SELECT array_agg(length(o) ORDER BY ord)
	FROM unnest(c - bloom_add(NULL, s)) WITH ORDINALITY u(o, ord)) AS lengths,
	(SELECT array_agg(length(o)) FROM bloom_exclude(c, bloom_add(NULL, s)) o) AS rows
FROM slugs, (SELECT array_agg(s ORDER BY n) AS c FROM slugs) AS c ORDER BY n;
DROP TABLE slugs;

\echo '-- Batches: many candidates, for every length around a batch''s, and with NULLs.'
SELECT count(*), bool_and(c - f = kept) AS minus, bool_and(ARRAY(SELECT bloom_exclude(c, f)) = kept) AS rows,
	bool_and(with_nulls - f = kept) AS with_nulls
FROM unnest('{1,2,510,511,512,513,514,1023,1024,1025,1536,5000}'::int[]) n,
	bloom_add(bloom_new(5000, 1e-7), ARRAY(SELECT i FROM generate_series(1, 5000) i WHERE i % 7 < 3)) f,
	LATERAL (SELECT array_agg(i ORDER BY i % 101, i) AS c,
		array_agg(CASE WHEN i % 7 > 0 THEN i END ORDER BY i % 101, i) AS with_nulls,
		coalesce(array_agg(i ORDER BY i % 101, i) FILTER (WHERE i % 7 >= 3), '{}') AS kept
	FROM generate_series(1, n) i) AS c;

\echo '-- The first distinct ones, as many as are wanted'
SELECT wanted, bloom_exclude_first(c, f, wanted) AS some, bloom_exclude_first(c, NULL, wanted) AS without_filter
FROM (SELECT '{50,20,10,NULL,30,10,40,50,NULL,60,70}'::int[] AS c, items AS f FROM seen WHERE user_id = 1) AS c,
	unnest('{0,1,2,3,4,5,2147483647,NULL}'::int[]) WITH ORDINALITY w(wanted, n) ORDER BY n;
SELECT bloom_exclude_first('{}'::text[], bloom_new(), 3) AS none,
	bloom_exclude_first(NULL::uuid[], bloom_new(), 3) IS NULL AS of_null,
	bloom_exclude_first('{NULL}'::int[], NULL, NULL) AS only_null;
SELECT bloom_exclude_first(NULL::int[], NULL, -1);
SELECT bloom_exclude_first('1 2'::int2vector, NULL, 1);
\set VERBOSITY terse
SELECT bloom_exclude_first('{{1,2},{3,4}}'::int[], NULL, 1);
SELECT bloom_exclude_first('{1.5}'::numeric[], NULL, 1);
SELECT bloom_exclude_first('{a}'::text[], bloom_add(NULL, 1), 0);
\set VERBOSITY default
\echo '-- what is one item is as everywhere: char(n) has no trailing blanks, text has'
SELECT bloom_exclude_first('{a,"a ",b,a,A,""}'::text[], f, NULL) AS text,
	bloom_exclude_first('{a,"a ",b,a,A,""}'::char(3)[], f, NULL)::text[] AS char,
	pg_typeof(bloom_exclude_first('{a}'::slug[], f, 1)) AS domain
FROM bloom_add(NULL, 'b'::text) AS f;
SELECT bloom_exclude_first('{1,2,1}'::smallint[], f, NULL) AS smallint,
	bloom_exclude_first('{1,2,-1,4294967297,1}'::bigint[], f, NULL) AS bigint,
	bloom_exclude_first('{"\\x01","\\x","\\x0100","\\x01"}'::bytea[], NULL, NULL) AS bytea,
	bloom_exclude_first(ARRAY[lpad('1', 32, '0'), lpad('2', 32, '0'), lpad('1', 32, '0')]::uuid[], NULL, 2) AS uuid
FROM bloom_add(NULL, 2) AS f;
\echo '-- the same as by SQL, for numbers around those of a batch and lengths of all alignments, with repetitions'
\echo '-- near and far'
SELECT count(*), bool_and(bloom_exclude_first(c, f, wanted) IS NOT DISTINCT FROM kept) AS integers,
	bool_and(bloom_exclude_first(t, g, wanted) IS NOT DISTINCT FROM kept_texts) AS texts
FROM unnest('{1,31,32,63,64,65,127,128,255,256,257,511,512,1000,5000}'::int[]) wanted,
	(SELECT bloom_add(bloom_new(5000, 1e-7), array_agg(i)) AS f,
		bloom_add(bloom_new(5000, 1e-7), array_agg(repeat('x', i % 11) || i)) AS g FROM generate_series(1, 3000) i
		WHERE i % 7 < 3) AS f,
	(SELECT array_agg(i ORDER BY n) AS c, array_agg(repeat('x', i % 11) || i ORDER BY n) AS t
		FROM (SELECT n, (n * n) % 2999 AS i FROM generate_series(1, 6000) n) AS i) AS c,
	LATERAL (SELECT array_agg(i ORDER BY n) AS kept, array_agg(repeat('x', i % 11) || i ORDER BY n) AS kept_texts
	FROM (SELECT i, min(n) AS n FROM unnest(c) WITH ORDINALITY u(i, n) WHERE i = 0 OR i % 7 >= 3 GROUP BY i
		ORDER BY 2 LIMIT wanted) AS k) AS k;
\echo '-- no more candidates are tested than are needed: of a large filter each reads a chunk, by the index of'
\echo '-- its TOAST table'
CREATE TABLE large (f bloom);
INSERT INTO large SELECT bloom_add(bloom_new(4000000), ARRAY(SELECT generate_series(1, 100)));
CREATE FUNCTION pg_temp.chunks_read(wanted int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	toast oid := (SELECT reltoastrelid FROM pg_class WHERE oid = 'large'::regclass);
	before bigint := (SELECT idx_scan FROM pg_stat_xact_all_tables WHERE relid = toast);
	n int := (SELECT cardinality(bloom_exclude_first(ARRAY(SELECT generate_series(51, 450)), f, wanted)) FROM large);
BEGIN
	RETURN n || ' of ' || (SELECT idx_scan FROM pg_stat_xact_all_tables WHERE relid = toast) - before;
END
$$;
SELECT pg_temp.chunks_read(0), pg_temp.chunks_read(10), pg_temp.chunks_read(50), pg_temp.chunks_read(NULL);
DROP TABLE large;
\echo '-- in PL/pgSQL, and of an array that was changed in place'
DO $$
DECLARE
	candidates bigint[] := '{1,2,3,2}';
BEGIN
	candidates[5] := 9;
	RAISE WARNING '%', bloom_exclude_first(candidates, bloom_add(NULL, 1), 3);
END
$$;

\echo '-- Several filters: seen, served, banned'
CREATE FUNCTION pg_temp.f(VARIADIC items int[]) RETURNS bloom LANGUAGE sql AS 'SELECT bloom_add(NULL, items)';
SELECT ARRAY(SELECT bloom_exclude(c, pg_temp.f(1), pg_temp.f(2))) AS two,
	ARRAY(SELECT bloom_exclude(c, pg_temp.f(1), pg_temp.f(2), pg_temp.f(4, 5))) AS three,
	ARRAY(SELECT bloom_exclude(c, pg_temp.f(1), NULL, pg_temp.f(2), NULL)) AS with_nulls,
	ARRAY(SELECT bloom_exclude(c, NULL, NULL::bloom)) AS only_nulls,
	ARRAY(SELECT bloom_exclude(c, NULL)) AS untyped_null,
	ARRAY(SELECT bloom_exclude(c, bloom_new(), bloom_new(5000))) AS empty_ones,
	ARRAY(SELECT bloom_exclude(c, VARIADIC ARRAY[pg_temp.f(1), pg_temp.f(2)])) AS as_array,
	ARRAY(SELECT bloom_exclude(c, VARIADIC ARRAY[pg_temp.f(1)])) AS array_of_one,
	ARRAY(SELECT bloom_exclude(c, VARIADIC '{}'::bloom[])) AS array_of_none,
	c - pg_temp.f(1) - pg_temp.f(2) AS one_by_one
FROM (SELECT '{5,4,3,2,1,2,3}'::int[] AS c) AS c;
\echo '-- of unlike shapes and kinds of bits'
SELECT ARRAY(SELECT bloom_exclude(ARRAY(SELECT generate_series(1, 10)), bloom_add(bloom_new(10, 0.0001), 1),
	bloom_add(bloom_new(20, 0.001), 2),
	bloom_add(bloom_new(10, 0.00001), 3), bloom_add(bloom_new(5000, 0.00001), 4),
	bloom_add(bloom_new(10, 0.0001, true), 5),
	(SELECT bloom_agg(i, 0.00001) FROM generate_series(6, 50000) i WHERE i <> 8)));
\echo '-- the same as one filter after the other, whichever comes first'
SELECT ARRAY(SELECT bloom_exclude(c, a, b)) = c - a - b AS ab,
	ARRAY(SELECT bloom_exclude(c, b, a)) = c - a - b AS ba,
	ARRAY(SELECT bloom_exclude(c, a, b)) = c - (a | b) AS like_union
FROM (SELECT bloom_agg(i) AS a FROM generate_series(1, 3000) i) AS a,
	(SELECT bloom_agg(i, 0.1) AS b FROM generate_series(2000, 4000) i) AS b,
	(SELECT array_agg(i ORDER BY i % 13, i) AS c FROM generate_series(1, 10000) i) AS c;

\echo '-- Packed: integers of 8 bytes, the lowest first'
CREATE FUNCTION pg_temp.pack(items bigint[]) RETURNS bytea LANGUAGE sql AS
'SELECT coalesce(string_agg(substring(int8send(i) FROM 8 - b FOR 1), $$$$ ORDER BY n, b), $$$$)
	FROM unnest(items) WITH ORDINALITY u(i, n), generate_series(0, 7) b';
SELECT bloom_exclude_packed('\x0500000000000000fbffffffffffffff00000000000000010500000000000000ffffffffffffff7f',
	f) AS some,
	bloom_exclude_packed('\x0400000000000000', f) AS none, bloom_exclude_packed('', f) AS of_none,
	bloom_exclude_packed('\x0400000000000000', NULL) AS by_none,
	bloom_exclude_packed('\x0400000000000000', bloom_new()) AS by_empty,
	bloom_exclude_packed(NULL, f) IS NULL AS of_null
FROM bloom_add(NULL, '{4,-5,72057594037927936}'::bigint[]) f;
\echo '-- the same as arrays, for every length around a batch''s; from a row with a short length word, from one'
\echo '-- that is compressed, and by one that counts'
CREATE TABLE packed (n int, c bigint[], p bytea);
INSERT INTO packed SELECT n, c, pg_temp.pack(c)
FROM unnest('{0,1,2,10,511,512,513,1024,1025,3000}'::int[]) n,
	LATERAL (SELECT coalesce(array_agg(i * 4194304 % 1000000007 - 500 ORDER BY i % 101, i), '{}')
	FROM generate_series(1::bigint, n) i) AS c(c);
SELECT name, count(*), bool_and(bloom_exclude_packed(p, f) = pg_temp.pack(c - f)) AS same,
	sum(octet_length(bloom_exclude_packed(p, f)) / 8) AS survivors
FROM packed, (SELECT 'plain' AS name, bloom_agg(i) AS f FROM packed, unnest(c[:800]) i
	UNION ALL SELECT 'counting', bloom_add(bloom_new(1000, counting => true), c[:800]) FROM packed WHERE n = 3000) AS f
GROUP BY name ORDER BY name;
DROP TABLE packed;
SELECT bloom_exclude_packed('\x04', bloom_new());
SELECT bloom_exclude_packed('\x04000000000000000500000000', NULL);
SELECT bloom_exclude_packed('\x0400000000000000', bloom_add(NULL, 'a'::text));

\echo '-- Where it can stand: LATERAL, over stored candidates; it is run again for every row'
CREATE TABLE recall (user_id int, candidates int[]);
INSERT INTO recall VALUES (1, '{10,20,30,40}'), (2, '{4999,5000,5001,5002}'), (4, '{1,2}'), (5, '{7}'), (6, NULL),
	(1, '{60}'), (3, '{}');
SELECT user_id, c FROM recall LEFT JOIN seen USING (user_id),
	LATERAL bloom_exclude(candidates, items) WITH ORDINALITY e(c, n)
ORDER BY user_id, n;
\echo '-- in the SELECT list, cut off early, and beside another set'
SELECT bloom_exclude(ARRAY(SELECT generate_series(4990, 5100)), items) AS c FROM seen
	WHERE user_id = 2 OFFSET 1 LIMIT 2;
SELECT user_id, bloom_exclude(candidates, items) AS c, generate_series(1, 2) AS n
FROM recall LEFT JOIN seen USING (user_id) WHERE user_id <= 2 ORDER BY user_id, c, n;
\echo '-- a cursor that goes back and forth, and one that is left in the middle'
BEGIN;
DECLARE survivors SCROLL CURSOR FOR SELECT c FROM seen, bloom_exclude('{10,20,30,40,50}'::int[], items) c
	WHERE user_id = 1;
FETCH 2 FROM survivors;
FETCH PRIOR FROM survivors;
FETCH ALL FROM survivors;
FETCH ABSOLUTE 1 FROM survivors;
DECLARE left_open CURSOR FOR SELECT bloom_exclude(ARRAY['x', 'y', 'z'], NULL::bloom);
FETCH 1 FROM left_open;
COMMIT;
\echo '-- in a join, rescanned: for each row of the outer side'
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT i, array_agg(c ORDER BY c) FROM generate_series(1, 3) i
	JOIN bloom_exclude('{1,2,3,20}'::int[], (SELECT items FROM seen WHERE user_id = 1)) c ON c >= i
GROUP BY i ORDER BY i;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
\echo '-- in PL/pgSQL, where arrays are expanded and the loop can be left'
DO $$
DECLARE
	c int;
	candidates int[] := '{1}';
	kept int[];
BEGIN
	FOR i IN 1 .. 3 LOOP
		candidates := candidates || i * 10;
		FOR c IN SELECT bloom_exclude(candidates, items) FROM seen WHERE user_id = 1 LOOP
			kept := kept || c;
			EXIT WHEN c = 10;
		END LOOP;
	END LOOP;
	RAISE WARNING '%', kept;
END
$$;
\echo '-- and an array that was changed in place, so that it has no flat form any longer'
DO $$
DECLARE
	candidates bigint[] := ARRAY(SELECT generate_series(1, 6));
	seen_items bloom := bloom_add(NULL, '{2,40}'::bigint[]);
	titles text[] := '{a,b,c}';
BEGIN
	RAISE WARNING '% %', candidates - seen_items, candidates - seen_items;
	candidates[4] := 40;
	candidates[5] := NULL;
	candidates[7] := 70;
	RAISE WARNING '% %', candidates - seen_items, (SELECT array_agg(c) FROM bloom_exclude(candidates, seen_items) c);
	titles[2] := 'long ' || repeat('b', 20);
	RAISE WARNING '%', titles - bloom_add(NULL, 'c'::text);
	RAISE WARNING '%', titles - bloom_add(NULL, titles[1:2]);
END
$$;

\echo '-- The planner is told that no more rows come than there are candidates'
CREATE FUNCTION pg_temp.estimated_rows(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN jsonb_path_query_first(plan::jsonb,
		'strict $.**?(@."Function Name" == "bloom_exclude" || @."Node Type" == "ProjectSet")."Plan Rows"');
END
$$;
SELECT query, pg_temp.estimated_rows(query)
FROM unnest(ARRAY[$$SELECT * FROM bloom_exclude('{1,2,3,4,5}'::int[], NULL::bloom)$$,
	$$SELECT * FROM seen, bloom_exclude(ARRAY[1, 2, user_id], items, items)$$,
	$$SELECT * FROM bloom_exclude((SELECT array_agg(i) FROM generate_series(1, 9) i), bloom_new())$$,
	$$SELECT * FROM bloom_exclude('{a,b,c}'::text[], bloom_new(), bloom_new())$$,
	$$SELECT * FROM bloom_exclude(NULL::int[], bloom_new())$$,
	$$SELECT bloom_exclude('{1,2,3,4,5,6,7}'::int[], bloom_new())$$]) query;

DROP TABLE seen, recall;
DROP DOMAIN item_id, slug;

\echo '-- Shapes of arrays that are not taken'
SELECT * FROM bloom_exclude(ARRAY[1, 2], VARIADIC ARRAY[[bloom_new()], [bloom_new()]]);
SELECT '1 2'::int2vector - bloom_new();

\echo '-- An operator of several filters, which has no call site that says VARIADIC'
CREATE OPERATOR pg_temp.!- (LEFTARG = anyarray, RIGHTARG = bloom[], FUNCTION = bloom_exclude);
SELECT '{3,1,2,3}'::int[] OPERATOR(pg_temp.!-) ARRAY[bloom_add(NULL, 1), NULL, bloom_add(NULL, 2)];
\echo '-- VARIADIC NULL needs a type: it may be one filter or several'
SELECT bloom_exclude('{1,2}'::int[], VARIADIC NULL);
SELECT ARRAY(SELECT bloom_exclude('{1,2}'::int[], VARIADIC NULL::bloom[])) AS several,
	ARRAY(SELECT bloom_exclude('{1,2}'::int[], VARIADIC bloom_add(NULL, 1))) AS one;
