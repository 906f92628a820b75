--
-- Excluding: the candidates that a filter does not contain, in their order, with their duplicates
-- and of their type; as rows, as an array, against one filter or several.
--
CREATE TABLE seen (user_id int PRIMARY KEY, items bloom);
INSERT INTO seen VALUES
	(1, bloom_add(NULL, '{20,40,60}'::int[])),
	(2, bloom_add(bloom_new(5000, 1e-7), ARRAY(SELECT generate_series(1, 5000)))),
	(3, bloom_new()),
	(4, NULL);

-- order and duplicates stay, NULLs do not
SELECT * FROM bloom_exclude('{50,20,10,NULL,30,10,40,50,NULL,60,70}'::int[],
							(SELECT items FROM seen WHERE user_id = 1));
-- the same as an array, and by the operator
SELECT bloom_exclude_array('{50,20,10,NULL,30,10,40,50,NULL,60,70}'::int[], items)
FROM seen WHERE user_id = 1;
SELECT '{50,20,10,NULL,30,10,40,50,NULL,60,70}'::int[] - items AS minus FROM seen WHERE user_id = 1;

-- a filter that contains all, an empty one and none
SELECT user_id, ARRAY(SELECT bloom_exclude('{50,20,10,NULL,30,10}'::int[], items)) AS rows
FROM seen WHERE user_id > 1 ORDER BY user_id;
SELECT user_id, bloom_exclude_array('{50,20,10,NULL,30,10}'::int[], items)
FROM seen WHERE user_id > 1 ORDER BY user_id;
SELECT user_id, '{50,20,10,NULL,30,10}'::int[] - items AS minus
FROM seen WHERE user_id > 1 ORDER BY user_id;

-- the element type stays: the column's type, and in each value its own, which array_send() has
CREATE DOMAIN item_id AS int;
CREATE DOMAIN slug AS varchar(10);
CREATE FUNCTION pg_temp.left_over(candidates anyarray, filter bloom, OUT type regtype,
								  OUT row_type regtype, OUT remaining text, OUT typed boolean)
LANGUAGE sql AS $$
	SELECT pg_typeof(candidates - filter), pg_typeof(c), candidates - filter,
		array_send(candidates - filter) = array_send(candidates[:1])
			AND array_send(ARRAY[c]) = array_send(candidates[:1])
	FROM bloom_exclude(candidates, filter) c
$$;
SELECT * FROM pg_temp.left_over('{1,2}'::smallint[], bloom_add(NULL, 2));
SELECT * FROM pg_temp.left_over('{1,2}'::int[], bloom_add(NULL, 2));
SELECT * FROM pg_temp.left_over('{1,2}'::bigint[], bloom_add(NULL, 2));
SELECT * FROM pg_temp.left_over('{1,2}'::item_id[], bloom_add(NULL, 2));
SELECT * FROM pg_temp.left_over('{a,b}'::text[], bloom_add(NULL, 'b'::text));
SELECT * FROM pg_temp.left_over('{a,b}'::varchar[], bloom_add(NULL, 'b'::text));
SELECT * FROM pg_temp.left_over('{a,b}'::char(3)[], bloom_add(NULL, 'b'::text));
SELECT * FROM pg_temp.left_over('{a,b}'::slug[], bloom_add(NULL, 'b'::text));
SELECT * FROM pg_temp.left_over('{"\\x01","\\x02"}'::bytea[], bloom_add(NULL, '\x02'::bytea));
SELECT * FROM pg_temp.left_over(ARRAY[lpad('1', 32, '0'), lpad('2', 32, '0')]::uuid[],
								bloom_add(NULL, lpad('2', 32, '0')::uuid));

-- an empty result, too, knows its type
SELECT '{2}'::item_id[] - f AS nothing, pg_typeof('{2}'::item_id[] - f) FROM bloom_add(NULL, 2) f;
SELECT array_append('{2}'::smallint[] - f, 3::smallint) AS goes_on FROM bloom_add(NULL, 2) f;

-- every element as it was, for values of all lengths and so of all alignments
CREATE TABLE texts AS
	SELECT n, array_agg(t ORDER BY i) AS c,
		bloom_add(bloom_new(100, 1e-7), array_agg(t) FILTER (WHERE (i * n) % 3 = 0)) AS f,
		coalesce(array_agg(t ORDER BY i) FILTER (WHERE (i * n) % 3 <> 0), '{}') AS kept
	FROM generate_series(1, 40) n, generate_series(1, n) i,
		LATERAL (SELECT repeat(chr(97 + i % 26), (i * n) % 11) || i) AS t (t)
	GROUP BY n;
SELECT count(*) FROM texts;
SELECT n FROM texts WHERE c - f <> kept;
SELECT n FROM texts WHERE (c - f)::text <> kept::text;
SELECT n FROM texts WHERE cardinality(c - f) <> cardinality(kept);
SELECT n FROM texts WHERE ARRAY(SELECT bloom_exclude(c, f)) <> kept;
DROP TABLE texts;

-- texts come from rows: short ones have a length word of one byte, long ones are TOASTed
CREATE TABLE slugs (n int, s text);
INSERT INTO slugs VALUES
	(1, 'short'),
	(2, repeat('0123456789', 2000)),
	(3, repeat('9', 100000)),
	(4, '');
SELECT n, ARRAY(SELECT length(t) FROM unnest(c - bloom_add(NULL, s)) t) AS lengths
FROM slugs, (SELECT array_agg(s ORDER BY n) AS c FROM slugs) AS c ORDER BY n;
SELECT n, ARRAY(SELECT length(t) FROM bloom_exclude(c, bloom_add(NULL, s)) t) AS lengths
FROM slugs, (SELECT array_agg(s ORDER BY n) AS c FROM slugs) AS c ORDER BY n;
DROP TABLE slugs;

-- many candidates, for every length around that of a batch, and with NULLs
CREATE TABLE batches AS
	SELECT n, array_agg(i ORDER BY i % 101, i) AS c,
		array_agg(CASE WHEN i % 7 > 0 THEN i END ORDER BY i % 101, i) AS with_nulls,
		coalesce(array_agg(i ORDER BY i % 101, i) FILTER (WHERE i % 7 >= 3), '{}') AS kept
	FROM unnest('{1,2,510,511,512,513,514,1023,1024,1025,1536,5000}'::int[]) n,
		generate_series(1, n) i
	GROUP BY n;
SELECT bloom_add(bloom_new(5000, 1e-7),
				 ARRAY(SELECT i FROM generate_series(1, 5000) i WHERE i % 7 < 3)) AS filter \gset
SELECT n, cardinality(c - :'filter'::bloom) AS kept FROM batches ORDER BY n;
SELECT n FROM batches WHERE c - :'filter'::bloom IS DISTINCT FROM kept;
SELECT n FROM batches WHERE ARRAY(SELECT bloom_exclude(c, :'filter')) IS DISTINCT FROM kept;
SELECT n FROM batches WHERE with_nulls - :'filter'::bloom IS DISTINCT FROM kept;
DROP TABLE batches;

--
-- The first distinct ones, as many as are wanted
--
SELECT wanted, bloom_exclude_first('{50,20,10,NULL,30,10,40,50,NULL,60,70}'::int[], items, wanted)
FROM seen, unnest('{0,1,2,3,4,5,2147483647,NULL}'::int[]) wanted
WHERE user_id = 1 ORDER BY wanted;
SELECT wanted, bloom_exclude_first('{50,20,10,NULL,30,10,40,50,NULL,60,70}'::int[], NULL, wanted)
FROM unnest('{0,1,2,3,4,5,2147483647,NULL}'::int[]) wanted ORDER BY wanted;

-- of no candidates, of NULL, and of NULLs
SELECT bloom_exclude_first('{}'::text[], bloom_new(), 3);
SELECT bloom_exclude_first(NULL::uuid[], bloom_new(), 3);
SELECT bloom_exclude_first('{NULL}'::int[], NULL, NULL);

-- what is refused, also where nothing is wanted
SELECT bloom_exclude_first(NULL::int[], NULL, -1);
SELECT bloom_exclude_first('1 2'::int2vector, NULL, 1);
SELECT bloom_exclude_first('{{1,2},{3,4}}'::int[], NULL, 1);
SELECT bloom_exclude_first('{1.5}'::numeric[], NULL, 1);
SELECT bloom_exclude_first('{a}'::text[], bloom_add(NULL, 1), 0);

-- items are equal by the same rules as everywhere: char(n) has no trailing blanks, text has
SELECT bloom_exclude_first('{a,"a ",b,a,A,""}'::text[], bloom_add(NULL, 'b'::text), NULL);
SELECT bloom_exclude_first('{a,"a ",b,a,A,""}'::char(3)[], bloom_add(NULL, 'b'::text), NULL)::text[]
	AS of_char;
SELECT pg_typeof(bloom_exclude_first('{a}'::slug[], bloom_add(NULL, 'b'::text), 1));
SELECT bloom_exclude_first('{1,2,1}'::smallint[], bloom_add(NULL, 2), NULL);
SELECT bloom_exclude_first('{1,2,-1,4294967297,1}'::bigint[], bloom_add(NULL, 2), NULL);
SELECT bloom_exclude_first('{"\\x01","\\x","\\x0100","\\x01"}'::bytea[], NULL, NULL);
SELECT bloom_exclude_first(
	ARRAY[lpad('1', 32, '0'), lpad('2', 32, '0'), lpad('1', 32, '0')]::uuid[], NULL, 2);

-- the same as by SQL, for numbers around those of a batch and lengths of all alignments, with
-- repetitions near and far
CREATE TABLE candidates AS
	SELECT array_agg(i ORDER BY n) AS c, array_agg(repeat('x', i % 11) || i ORDER BY n) AS texts
	FROM (SELECT n, (n * n) % 2999 AS i FROM generate_series(1, 6000) n) AS i;
CREATE TABLE expected AS
	SELECT wanted, array_agg(i ORDER BY n) AS kept,
		array_agg(repeat('x', i % 11) || i ORDER BY n) AS kept_texts
	FROM unnest('{1,31,32,63,64,65,127,128,255,256,257,511,512,1000,5000}'::int[]) wanted,
		candidates,
		LATERAL (SELECT i, min(n) AS n FROM unnest(c) WITH ORDINALITY u (i, n)
				 WHERE i = 0 OR i % 7 >= 3 GROUP BY i ORDER BY 2 LIMIT wanted) AS k
	GROUP BY wanted;
SELECT bloom_add(bloom_new(5000, 1e-7), array_agg(i)) AS filter,
	bloom_add(bloom_new(5000, 1e-7), array_agg(repeat('x', i % 11) || i)) AS of_texts
FROM generate_series(1, 3000) i WHERE i % 7 < 3 \gset
SELECT wanted, cardinality(bloom_exclude_first(c, :'filter', wanted)) AS kept
FROM candidates, expected ORDER BY wanted;
SELECT wanted FROM candidates, expected
WHERE bloom_exclude_first(c, :'filter', wanted) IS DISTINCT FROM kept;
SELECT wanted FROM candidates, expected
WHERE bloom_exclude_first(texts, :'of_texts', wanted) IS DISTINCT FROM kept_texts;
DROP TABLE candidates, expected;

-- no more candidates are tested than needed: in a large filter each test reads a chunk, through the
-- index of the TOAST table
CREATE TABLE large (f bloom);
INSERT INTO large SELECT bloom_add(bloom_new(4000000), ARRAY(SELECT generate_series(1, 100)));
CREATE FUNCTION pg_temp.look_for(wanted int, OUT kept int, OUT chunks_read bigint)
LANGUAGE plpgsql AS $$
DECLARE
	toast oid := (SELECT reltoastrelid FROM pg_class WHERE oid = 'large'::regclass);
	before bigint := (SELECT idx_scan FROM pg_stat_xact_all_tables WHERE relid = toast);
BEGIN
	SELECT cardinality(bloom_exclude_first(ARRAY(SELECT generate_series(51, 450)), f, wanted))
	INTO kept FROM large;
	SELECT idx_scan - before INTO chunks_read FROM pg_stat_xact_all_tables WHERE relid = toast;
END
$$;
SELECT * FROM pg_temp.look_for(0);
SELECT * FROM pg_temp.look_for(10);
SELECT * FROM pg_temp.look_for(50);
SELECT * FROM pg_temp.look_for(NULL);
DROP TABLE large;

-- in PL/pgSQL, and of an array that was changed in place
DO $$
DECLARE
	candidates bigint[] := '{1,2,3,2}';
BEGIN
	candidates[5] := 9;
	RAISE NOTICE '%', bloom_exclude_first(candidates, bloom_add(NULL, 1), 3);
END
$$;

--
-- Several filters: seen, served, banned
--
CREATE FUNCTION pg_temp.f(VARIADIC items int[]) RETURNS bloom LANGUAGE sql AS $$
	SELECT bloom_add(NULL, items)
$$;
CREATE TABLE recalled AS SELECT '{5,4,3,2,1,2,3}'::int[] AS c;
SELECT c - pg_temp.f(1) - pg_temp.f(2) AS one_by_one FROM recalled;
SELECT ARRAY(SELECT bloom_exclude(c, pg_temp.f(1), pg_temp.f(2))) AS two FROM recalled;
SELECT ARRAY(SELECT bloom_exclude(c, pg_temp.f(1), pg_temp.f(2), pg_temp.f(4, 5))) AS three
FROM recalled;

-- one that is NULL or empty contains nothing
SELECT ARRAY(SELECT bloom_exclude(c, pg_temp.f(1), NULL, pg_temp.f(2), NULL)) AS with_nulls
FROM recalled;
SELECT ARRAY(SELECT bloom_exclude(c, NULL, NULL::bloom)) AS only_nulls FROM recalled;
SELECT ARRAY(SELECT bloom_exclude(c, NULL)) AS untyped_null FROM recalled;
SELECT ARRAY(SELECT bloom_exclude(c, bloom_new(), bloom_new(5000))) AS empty_ones FROM recalled;

-- as an array
SELECT ARRAY(SELECT bloom_exclude(c, VARIADIC ARRAY[pg_temp.f(1), pg_temp.f(2)])) AS of_two
FROM recalled;
SELECT ARRAY(SELECT bloom_exclude(c, VARIADIC ARRAY[pg_temp.f(1)])) AS of_one FROM recalled;
SELECT ARRAY(SELECT bloom_exclude(c, VARIADIC '{}'::bloom[])) AS of_none FROM recalled;
SELECT * FROM bloom_exclude(ARRAY[1, 2], VARIADIC ARRAY[[bloom_new()], [bloom_new()]]);

-- VARIADIC NULL needs a type: it may be one filter or several
\set VERBOSITY terse
SELECT bloom_exclude('{1,2}'::int[], VARIADIC NULL);
\set VERBOSITY default
SELECT ARRAY(SELECT bloom_exclude('{1,2}'::int[], VARIADIC NULL::bloom[])) AS several;
SELECT ARRAY(SELECT bloom_exclude('{1,2}'::int[], VARIADIC bloom_add(NULL, 1))) AS one;

-- by an operator, which has no call site that says VARIADIC
CREATE OPERATOR pg_temp.!- (LEFTARG = anyarray, RIGHTARG = bloom[], FUNCTION = bloom_exclude);
SELECT c OPERATOR(pg_temp.!-) ARRAY[pg_temp.f(1), NULL, pg_temp.f(2)] AS rows FROM recalled;
DROP TABLE recalled;

-- of unlike shapes and kinds of bits
SELECT * FROM bloom_exclude(
	ARRAY(SELECT generate_series(1, 10)),
	bloom_add(bloom_new(10, 0.0001), 1),
	bloom_add(bloom_new(20, 0.001), 2),
	bloom_add(bloom_new(10, 0.00001), 3),
	bloom_add(bloom_new(5000, 0.00001), 4),
	bloom_add(bloom_new(10, 0.0001, true), 5),
	(SELECT bloom_agg(i, 0.00001) FROM generate_series(6, 50000) i WHERE i <> 8));

-- the same as one filter after the other, whichever comes first, and as their union
CREATE TABLE two AS
	SELECT (SELECT bloom_agg(i) FROM generate_series(1, 3000) i) AS a,
		(SELECT bloom_agg(i, 0.1) FROM generate_series(2000, 4000) i) AS b,
		(SELECT array_agg(i ORDER BY i % 13, i) FROM generate_series(1, 10000) i) AS c;
SELECT ARRAY(SELECT bloom_exclude(c, a, b)) = c - a - b AS same FROM two;
SELECT ARRAY(SELECT bloom_exclude(c, b, a)) = c - a - b AS same FROM two;
SELECT ARRAY(SELECT bloom_exclude(c, a, b)) = c - (a | b) AS same FROM two;
DROP TABLE two;

--
-- Packed: integers of 8 bytes, in little-endian byte order
--
SELECT bloom_exclude_packed('\x'
	'0500000000000000'
	'fbffffffffffffff'
	'0000000000000001'
	'0500000000000000'
	'ffffffffffffff7f', f)
FROM bloom_add(NULL, '{4,-5,72057594037927936}'::bigint[]) f;
SELECT bloom_exclude_packed('\x0400000000000000', f) FROM bloom_add(NULL, 4) f;
SELECT bloom_exclude_packed('', f) FROM bloom_add(NULL, 4) f;
SELECT bloom_exclude_packed('\x0400000000000000', NULL);
SELECT bloom_exclude_packed('\x0400000000000000', bloom_new());
SELECT bloom_exclude_packed(NULL, f) FROM bloom_add(NULL, 4) f;

-- what is refused
SELECT bloom_exclude_packed('\x04', bloom_new());
SELECT bloom_exclude_packed('\x04000000000000000500000000', NULL);
SELECT bloom_exclude_packed('\x0400000000000000', bloom_add(NULL, 'a'::text));

-- the same as arrays, for every length around that of a batch; from a row with a short length
-- word, and from one that is compressed
CREATE FUNCTION pg_temp.pack(items bigint[]) RETURNS bytea LANGUAGE sql AS $$
	SELECT coalesce(string_agg(substring(int8send(i) FROM 8 - b FOR 1), '' ORDER BY n, b), '')
	FROM unnest(items) WITH ORDINALITY u (i, n), generate_series(0, 7) b
$$;
CREATE TABLE packed (n int, c bigint[], p bytea);
INSERT INTO packed
	SELECT n, c, pg_temp.pack(c)
	FROM unnest('{0,1,2,10,511,512,513,1024,1025,3000}'::int[]) n,
		LATERAL (SELECT coalesce(array_agg(i * 4194304 % 1000000007 - 500 ORDER BY i % 101, i),
								 '{}')
				 FROM generate_series(1::bigint, n) i) AS c (c);
SELECT bloom_agg(i) AS filter FROM packed, unnest(c[:800]) i \gset
SELECT n, octet_length(bloom_exclude_packed(p, :'filter')) / 8 AS kept FROM packed ORDER BY n;
SELECT n FROM packed
WHERE bloom_exclude_packed(p, :'filter')
	IS DISTINCT FROM pg_temp.pack(c - :'filter'::bloom);

-- by a filter that counts
SELECT bloom_add(bloom_new(1000, counting => true), c[:800]) AS filter
FROM packed WHERE n = 3000 \gset
SELECT n, octet_length(bloom_exclude_packed(p, :'filter')) / 8 AS kept FROM packed ORDER BY n;
SELECT n FROM packed
WHERE bloom_exclude_packed(p, :'filter')
	IS DISTINCT FROM pg_temp.pack(c - :'filter'::bloom);
DROP TABLE packed;

--
-- Where bloom_exclude() can stand
--
CREATE TABLE recall (user_id int, candidates int[]);
INSERT INTO recall VALUES
	(1, '{10,20,30,40}'),
	(2, '{4999,5000,5001,5002}'),
	(4, '{1,2}'),
	(5, '{7}'),
	(6, NULL),
	(1, '{60}'),
	(3, '{}');

-- LATERAL, over stored candidates; it is run again for every row
SELECT user_id, c FROM recall LEFT JOIN seen USING (user_id),
	LATERAL bloom_exclude(candidates, items) WITH ORDINALITY e (c, n)
ORDER BY user_id, n;

-- in the SELECT list, cut off early
SELECT bloom_exclude(ARRAY(SELECT generate_series(4990, 5100)), items) AS c
FROM seen WHERE user_id = 2 OFFSET 1 LIMIT 2;

-- and beside another set
SELECT user_id, bloom_exclude(candidates, items) AS c, generate_series(1, 2) AS n
FROM recall LEFT JOIN seen USING (user_id) WHERE user_id <= 2 ORDER BY user_id, c, n;

-- a cursor that goes back and forth, and one that is left in the middle
BEGIN;
DECLARE survivors SCROLL CURSOR FOR
	SELECT c FROM seen, bloom_exclude('{10,20,30,40,50}'::int[], items) c WHERE user_id = 1;
FETCH 2 FROM survivors;
FETCH PRIOR FROM survivors;
FETCH ALL FROM survivors;
FETCH ABSOLUTE 1 FROM survivors;
DECLARE left_open CURSOR FOR SELECT bloom_exclude(ARRAY['x', 'y', 'z'], NULL::bloom);
FETCH 1 FROM left_open;
COMMIT;

-- in a join, where it is scanned again for each row of the outer side
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT i, array_agg(c ORDER BY c)
FROM generate_series(1, 3) i
	JOIN bloom_exclude('{1,2,3,20}'::int[], (SELECT items FROM seen WHERE user_id = 1)) c ON c >= i
GROUP BY i ORDER BY i;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;

-- in PL/pgSQL, where arrays are expanded and the loop can be left
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
	RAISE NOTICE '%', kept;
END
$$;

-- of an array that was changed in place, so that it has no flat form any longer
DO $$
DECLARE
	candidates bigint[] := ARRAY(SELECT generate_series(1, 6));
	seen_items bloom := bloom_add(NULL, '{2,40}'::bigint[]);
BEGIN
	RAISE NOTICE 'array, twice: % %', candidates - seen_items, candidates - seen_items;
	candidates[4] := 40;
	candidates[5] := NULL;
	candidates[7] := 70;
	RAISE NOTICE 'array: %', candidates - seen_items;
	RAISE NOTICE 'rows: %', ARRAY(SELECT bloom_exclude(candidates, seen_items));
END
$$;
DO $$
DECLARE
	titles text[] := '{a,b,c}';
BEGIN
	titles[2] := 'long ' || repeat('b', 20);
	RAISE NOTICE '%', titles - bloom_add(NULL, 'c'::text);
	RAISE NOTICE '%', titles - bloom_add(NULL, titles[1:2]);
END
$$;

-- the planner knows that there are no more rows than candidates
CREATE FUNCTION pg_temp.estimated_rows(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN jsonb_path_query_first(plan::jsonb,
		'strict $.**?(@."Function Name" == "bloom_exclude" || @."Node Type" == "ProjectSet")
		."Plan Rows"');
END
$$;
SELECT pg_temp.estimated_rows($$
	SELECT * FROM bloom_exclude('{1,2,3,4,5}'::int[], NULL::bloom)$$);
SELECT pg_temp.estimated_rows($$
	SELECT * FROM seen, bloom_exclude(ARRAY[1, 2, user_id], items, items)$$);
SELECT pg_temp.estimated_rows($$
	SELECT * FROM bloom_exclude('{a,b,c}'::text[], bloom_new(), bloom_new())$$);
SELECT pg_temp.estimated_rows($$
	SELECT bloom_exclude('{1,2,3,4,5,6,7}'::int[], bloom_new())$$);
SELECT pg_temp.estimated_rows($$
	SELECT * FROM bloom_exclude(NULL::int[], bloom_new())$$);
-- of an array that is not known it is 10, as for unnest()
SELECT pg_temp.estimated_rows($$
	SELECT * FROM bloom_exclude((SELECT array_agg(i) FROM generate_series(1, 9) i), bloom_new())$$);

-- a type that only looks like an array is not taken
SELECT '1 2'::int2vector - bloom_new();

DROP TABLE seen, recall;
DROP DOMAIN item_id, slug;
