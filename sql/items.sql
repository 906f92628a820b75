--
-- What can be an item, and what cannot; other arguments that are refused.
--
-- There are four kinds: integer, text, uuid and bytea.  Equal values of a kind are one item,
-- whatever type they come in; a value of another kind is an error and never a silent "not seen".
--

--
-- Integers: smallint, integer and bigint are one kind
--
CREATE TEMP TABLE one AS SELECT bloom_add(NULL, 7) AS f;
SELECT bloom_add(NULL, 7::smallint) = f AS same FROM one;
SELECT bloom_add(NULL, 7::bigint) = f AS same FROM one;
SELECT bloom_add(NULL, ARRAY[7]::smallint[]) = f AS same FROM one;
SELECT bloom_add(NULL, ARRAY[7]) = f AS same FROM one;
SELECT bloom_add(NULL, ARRAY[7]::bigint[]) = f AS same FROM one;
SELECT bloom_add(NULL, ARRAY[7, 7, 7]) = f AS same FROM one;
SELECT f @> 7::smallint AS has_7, f @> 8::smallint AS has_8 FROM one;
SELECT f @> 7 AS has_7, f @> 8 AS has_8 FROM one;
SELECT f @> 7::bigint AS has_7, f @> 8::bigint AS has_8 FROM one;
DROP TABLE one;

-- with the sign, and up to both ends
CREATE TEMP TABLE ends AS
	SELECT i
	FROM unnest('{-9223372036854775808,-32768,-1,0,1,32767,9223372036854775807}'::bigint[]) i;
SELECT i, bloom_add(NULL, i) = bloom_add(NULL, ARRAY[i]) AS same FROM ends ORDER BY i;
SELECT i, ARRAY(SELECT i FROM ends ORDER BY i) - bloom_add(NULL, i) AS others FROM ends ORDER BY i;
SELECT '{-32768,-1,0,32767}'::smallint[] - bloom_add(NULL, '{-32768,-1}'::bigint[]) AS others;
SELECT '{-32768,-1,0,32767}'::int[] - bloom_add(NULL, '{-32768,-1}'::smallint[]) AS others;
DROP TABLE ends;

--
-- Text: text, varchar and char(n), by the bytes; char(n) without its trailing blanks
--
CREATE TEMP TABLE one AS SELECT bloom_add(NULL, 'ab'::text) AS f;
SELECT bloom_add(NULL, 'ab'::varchar) = f AS same FROM one;
SELECT bloom_add(NULL, 'ab'::varchar(9)) = f AS same FROM one;
SELECT bloom_add(NULL, 'ab'::char(2)) = f AS same FROM one;
SELECT bloom_add(NULL, 'ab'::char(5)) = f AS same FROM one;
SELECT bloom_add(NULL, 'ab'::char(2) COLLATE "C") = f AS same FROM one;
SELECT bloom_add(NULL, ARRAY['ab']) = f AS same FROM one;
SELECT bloom_add(NULL, ARRAY['ab']::varchar[]) = f AS same FROM one;
SELECT bloom_add(NULL, ARRAY['ab']::varchar(9)[]) = f AS same FROM one;
SELECT bloom_add(NULL, ARRAY['ab']::char(2)[]) = f AS same FROM one;
SELECT bloom_add(NULL, ARRAY['ab', 'ab ']::char(5)[]) = f AS same FROM one;
SELECT f @> 'ab'::text AS as_text, f @> 'ab'::varchar AS as_varchar, f @> 'ab'::char(5) AS as_char
FROM one;
SELECT f @> 'AB'::text AS upper_case FROM one;
SELECT f @> 'ab '::text AS as_text, f @> 'ab '::varchar AS as_varchar FROM one;
DROP TABLE one;

-- blanks count in text and varchar, and so do blanks before and within
SELECT ARRAY['a', 'a ', ' a', 'a b', '', ' ']::varchar[] - bloom_add(NULL, 'a '::text) AS others;
SELECT ARRAY['a', 'a ', ' a', 'a b', '', ' ']::char(3)[] - bloom_add(NULL, 'a'::text) AS others;
SELECT ARRAY['a', 'a ', ' a', 'a b', '', ' ']::text[] - bloom_add(NULL, ARRAY['', ' a']::char(3)[])
	AS others;

-- no normal form, and no end at a backslash
SELECT bloom_add(NULL, E'\xc3\xa9'::text) @> E'\xc3\xa9' AS same;
SELECT bloom_add(NULL, E'\xc3\xa9'::text) @> E'e\xcc\x81' AS other_normal_form;
SELECT bloom_add(NULL, 'a\b'::text) @> 'a' AS up_to_backslash;

-- a text of more than 64 kB, TOASTed and compressed where it stands, is one item like others
CREATE TEMP TABLE texts (t text, b bytea, a text[]);
ALTER TABLE texts ALTER b SET STORAGE external;
INSERT INTO texts
	SELECT t, t::bytea, ARRAY['x', t] FROM (SELECT repeat('0123456789', 10000) AS t) AS r;
INSERT INTO texts SELECT t || '!', b || '!', a || '!'::text FROM texts;
SELECT bloom_agg(t) = bloom_add(bloom_new(2), array_agg(t)) AS same FROM texts;
SELECT bloom_agg(b) = bloom_add(bloom_new(2), array_agg(b)) AS same FROM texts;
SELECT length(t), bloom_add(NULL, t) @> t AS contained FROM texts ORDER BY 1;
SELECT length(t), bloom_add(NULL, b) @> b AS contained FROM texts ORDER BY 1;
SELECT length(t), bloom_add(NULL, a) @> a[2] AS contained FROM texts ORDER BY 1;
SELECT length(t), bloom_add(NULL, t) @> left(t, -1) AS shorter FROM texts ORDER BY 1;
SELECT length(t), bloom_add(NULL, t) @> (t || '?') AS longer FROM texts ORDER BY 1;
SELECT length(t), cardinality(a - bloom_add(NULL, t)) AS others FROM texts ORDER BY 1;
DROP TABLE texts;

--
-- uuid and bytea
--
SELECT bloom_add(NULL, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid)
	= bloom_add(NULL, '{A0EEBC999C0B4EF8BB6D6BB9BD380A11}'::uuid) AS same;
SELECT ARRAY['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '00000000-0000-0000-0000-000000000000']::uuid[]
	- bloom_add(NULL, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid) AS others;
SELECT '{"\\x","\\x00","\\x0000","\\x01","\\xff"}'::bytea[] - bloom_add(NULL, '\x00'::bytea)
	AS others;
SELECT bloom_add(NULL, ''::bytea) @> ''::bytea AS empty;

-- Items of every length, mixed and sorted, in arrays of several batches: what is kept is kept byte
-- by byte, wherever it stood.
CREATE TEMP TABLE lengths AS
	SELECT i, repeat(chr(97 + i % 26), i * 37 % 211) || i AS t FROM generate_series(1, 1500) AS i;
CREATE FUNCTION pg_temp.kept(candidates anyarray, kept anyarray, seen anyarray,
							 OUT number int, OUT same boolean, OUT size boolean)
LANGUAGE sql AS $$
	SELECT cardinality(kept), array_send(candidates - filter) = array_send(kept),
		pg_column_size(candidates - filter) = pg_column_size(kept)
	FROM bloom_add(bloom_new(1500, 1e-9), seen) AS filter
$$;
SELECT k.*
FROM (SELECT array_agg(t ORDER BY i), array_agg(t ORDER BY i) FILTER (WHERE i % 7 >= 3),
		  array_agg(t) FILTER (WHERE i % 7 < 3)
	  FROM lengths) AS l (a, b, c), pg_temp.kept(a, b, c) AS k;
SELECT k.*
FROM (SELECT array_agg(t ORDER BY -i), array_agg(t ORDER BY -i) FILTER (WHERE i % 7 >= 3),
		  array_agg(t) FILTER (WHERE i % 7 < 3)
	  FROM (SELECT i, t::varchar FROM lengths) AS l) AS l (a, b, c), pg_temp.kept(a, b, c) AS k;
SELECT k.*
FROM (SELECT array_agg(t ORDER BY i), array_agg(t ORDER BY i) FILTER (WHERE i % 7 >= 3),
		  array_agg(t) FILTER (WHERE i % 7 < 3)
	  FROM (SELECT i, t::char(230) FROM lengths) AS l) AS l (a, b, c), pg_temp.kept(a, b, c) AS k;
SELECT k.*
FROM (SELECT array_agg(t ORDER BY length(t), i),
		  array_agg(t ORDER BY length(t), i) FILTER (WHERE i % 7 >= 3),
		  array_agg(t) FILTER (WHERE i % 7 < 3)
	  FROM (SELECT i, t::bytea FROM lengths) AS l) AS l (a, b, c), pg_temp.kept(a, b, c) AS k;

-- an item alone is what it is in an array
SELECT count(*) FROM lengths
WHERE (SELECT bloom_add(bloom_new(1500), array_agg(t)) FROM lengths) @> t;
SELECT count(*) FROM lengths
WHERE (SELECT bloom_add(bloom_new(1500), array_agg(t::bytea)) FROM lengths) @> t::bytea;
SELECT count(*) FROM lengths WHERE (SELECT bloom_agg(t) FROM lengths) @> t;
DROP TABLE lengths;

--
-- Domains: over items, over arrays, over domains
--
CREATE DOMAIN item_id AS bigint CHECK (VALUE > 0);
CREATE DOMAIN small_id AS smallint;
CREATE DOMAIN post_id AS item_id;
CREATE DOMAIN slug AS varchar(20);
CREATE DOMAIN code AS char(4);
CREATE DOMAIN guid AS uuid;
CREATE DOMAIN blob AS bytea;
CREATE DOMAIN id_list AS item_id[] CHECK (cardinality(VALUE) < 5);
CREATE DOMAIN price AS numeric;
SELECT bloom_add(NULL, 7::item_id) = bloom_add(NULL, 7) AS same;
SELECT bloom_add(NULL, 7::small_id) = bloom_add(NULL, 7) AS same;
SELECT bloom_add(NULL, 7::post_id) = bloom_add(NULL, 7) AS same;
SELECT bloom_add(NULL, ARRAY[7]::item_id[]) = bloom_add(NULL, 7) AS same;
SELECT bloom_add(NULL, ARRAY[7]::small_id[]) = bloom_add(NULL, 7) AS same;
SELECT bloom_add(NULL, ARRAY[7]::post_id[]) = bloom_add(NULL, 7) AS same;
SELECT bloom_add(NULL, '{7}'::id_list) = bloom_add(NULL, 7) AS same;
SELECT bloom_add(NULL, 7) @> 7::post_id AS contains;
SELECT 7::item_id <@ bloom_add(NULL, 7) AS contained;
SELECT bloom_add(NULL, 'ab'::slug) = bloom_add(NULL, 'ab'::text) AS same;
SELECT bloom_add(NULL, 'ab'::code) = bloom_add(NULL, 'ab'::text) AS same;
SELECT bloom_add(NULL, ARRAY['ab']::slug[]) = bloom_add(NULL, 'ab'::text) AS same;
SELECT bloom_add(NULL, ARRAY['ab', 'ab  ']::code[]) = bloom_add(NULL, 'ab'::text) AS same;
SELECT bloom_add(NULL, ARRAY[lpad('7', 32, '0')]::guid[]) @> lpad('7', 32, '0')::guid AS contains;
SELECT bloom_add(NULL, ARRAY['\x07']::blob[]) @> '\x07'::blob AS contains;
SELECT bloom_agg(i::item_id) = bloom_add(bloom_new(9), array_agg(i::post_id)) AS same
FROM generate_series(1, 9) i;

--
-- Types that are no items: an error that says what to do
--
SELECT bloom_add(NULL, 1.5);
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_add(bloom_new(), 1::float8);
SELECT bloom_add(NULL, 'a'::name);
SELECT bloom_add(NULL, 1::oid);
SELECT bloom_add(NULL, 1::price);
SELECT bloom_add(NULL, ARRAY[7]::price[]);
SELECT bloom_add_at(bloom_window('1 day'), now(), now());
SELECT bloom_remove(bloom_new(counting => true), ROW(1, 'a'));
SELECT bloom_agg(current_date);
SELECT bloom_agg(true, 0.01, 0.2);
SELECT bloom_window_agg(1.5, now(), '1 day', 6, 0.01);
SELECT bloom_contains_any(bloom_new(), ARRAY[1.5::float8]);
SELECT bloom_contains_each(NULL, ARRAY[date '2026-01-31']);
SELECT bloom_exclude(ARRAY[true], bloom_new());
SELECT bloom_exclude(ARRAY[interval '1 day'], bloom_new(), bloom_new());
SELECT ARRAY[time '12:00'] - bloom_new();

-- also if the first item is NULL, and for an empty array, so that a mistake shows before the first
-- real item comes
SELECT bloom_agg(NULL::numeric, 0.01);
SELECT bloom_contains_all(NULL, '{}'::jsonb[]);
SELECT '{}'::numeric[] - NULL::bloom;

-- for one item the parser finds no function
\set VERBOSITY terse
SELECT bloom_contains(NULL, '{}'::jsonb);
SELECT bloom_new() @> now();
\set VERBOSITY default

-- citext needs a cast, with which it loses its blindness for case; not every server has it
SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'citext') AS has_citext \gset
\if :has_citext
CREATE EXTENSION citext;
\else
CREATE TYPE citext AS ENUM ('ab', 'AB');
CREATE CAST (citext AS text) WITH INOUT AS IMPLICIT;
\endif
SELECT bloom_add(NULL, 'ab'::citext);
SELECT bloom_add(NULL, ARRAY['ab']::citext[]);
SELECT bloom_agg('ab'::citext);
-- what asks for one item takes it as text
SELECT bloom_add(NULL, 'ab'::citext::text) @> 'ab'::citext AS same_case;
SELECT bloom_add(NULL, 'ab'::citext::text) @> 'AB'::citext AS other_case;
\if :has_citext
DROP EXTENSION citext;
\else
DROP CAST (citext AS text);
DROP TYPE citext;
\endif

--
-- Collations: text is compared byte by byte
--
SELECT bloom_add(NULL, 'ab'::text COLLATE "C") = bloom_add(NULL, 'ab'::text) AS same;
SELECT bloom_add(NULL, ARRAY['ab' COLLATE "C"]) = bloom_add(NULL, 'ab'::text) AS same;
SELECT bloom_add(NULL, 'ab'::text COLLATE "C") @> ('ab' COLLATE "POSIX") AS contains;

-- so a collation under which other bytes can be equal is refused
CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION blinder (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
CREATE DOMAIN blind_domain AS text COLLATE blind;
CREATE TEMP TABLE blind_text (
	t text COLLATE blind,
	u text COLLATE blinder,
	v varchar COLLATE blind,
	a text[] COLLATE blind,
	f bloom
);
INSERT INTO blind_text VALUES ('ab', 'ab', 'ab', '{ab}', bloom_add(NULL, 'ab'::text));
SELECT bloom_add(f, t) FROM blind_text;
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_add(f, v) FROM blind_text;
SELECT bloom_add(f, a) FROM blind_text;
SELECT bloom_add(NULL, 'ab'::blind_domain);
SELECT bloom_add(NULL, ARRAY['ab']::blind_domain[]);
SELECT f @> t FROM blind_text;
SELECT t <@ f FROM blind_text;
SELECT NULL::bloom @> t FROM blind_text;
SELECT bloom_contains_any(f, a) FROM blind_text;
SELECT bloom_contains_all(f, a) FROM blind_text;
SELECT bloom_contains_each(f, a) FROM blind_text;
SELECT bloom_exclude(a, f) FROM blind_text;
SELECT ARRAY(SELECT bloom_exclude(a, f, f)) FROM blind_text;
SELECT a - f FROM blind_text;
SELECT bloom_agg(t) FROM blind_text;
SELECT bloom_add_at(bloom_window('1 day'), t, now()) FROM blind_text;
SELECT bloom_window_agg(t, now(), '1 day', 6, 0.01) FROM blind_text;

-- of two such collations neither wins, and the server cannot say which one applies
SELECT bloom_add(NULL, t || u) FROM blind_text;
\echo :LAST_ERROR_SQLSTATE
SELECT f @> (t || u) FROM blind_text;
SELECT ARRAY[t, u] - f FROM blind_text;
SELECT bloom_agg(t || u) FROM blind_text;

-- the way out that the hint names
SELECT bloom_add(f, t COLLATE "C") @> 'ab' AS contains FROM blind_text;
SELECT f @> (t COLLATE "C") AS contains FROM blind_text;
SELECT a COLLATE "C" - f AS minus FROM blind_text;
SELECT bloom_agg(t COLLATE "C") @> 'ab' AS contains FROM blind_text;

-- values that are not text, although they are computed from one
SELECT bloom_add(NULL, length(t)) @> 2 AS contains FROM blind_text;
SELECT bloom_add(NULL, t::bytea) @> 'ab'::bytea AS contains FROM blind_text;
SELECT ARRAY[length(t)] - NULL::bloom AS minus FROM blind_text;
DROP TABLE blind_text;
DROP DOMAIN blind_domain;
DROP COLLATION blind, blinder;

--
-- A filter remembers its kind: in every function that takes items
--
SELECT bloom_add(bloom_add(NULL, 1), 'a'::text);
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_add(bloom_add(NULL, 1), ARRAY['1']);
SELECT bloom_contains(bloom_add(NULL, 1), '1');
SELECT bloom_add(NULL, 1) @> '1'::varchar;
SELECT bloom_add(NULL, 1) @> '{1}';
SELECT '1'::char(1) <@ bloom_add(NULL, 1);
SELECT bloom_contains_any(bloom_add(NULL, 1), ARRAY['1']);
SELECT bloom_contains_all(bloom_add(NULL, 1), ARRAY['1']);
SELECT bloom_contains_each(bloom_add(NULL, 1), ARRAY['1']);
SELECT bloom_exclude(ARRAY['1'], bloom_add(NULL, 1));
SELECT bloom_exclude(ARRAY['1'], bloom_add(NULL, '1'::text), bloom_add(NULL, 1));
SELECT ARRAY['1'] - bloom_add(NULL, 1);
SELECT bloom_add_at(bloom_add_at(bloom_window('1 day'), 1, '2026-01-01'), 'a'::text, '2026-01-01');
SELECT bloom_remove(bloom_add(bloom_new(counting => true), 1), 'a'::text);

-- also an empty array, whose type is wrong
SELECT '{}'::text[] - bloom_add(NULL, 1);
SELECT bloom_add(bloom_add(NULL, 1), '{}'::text[]);

-- of the other kinds
SELECT bloom_add(bloom_add(NULL, 1), '00000000-0000-0000-0000-000000000001'::uuid);
SELECT bloom_add(bloom_add(NULL, 1), '\x01'::bytea);
SELECT '\x01'::bytea <@ bloom_add(NULL, 1);
SELECT bloom_add(NULL, 'a'::text) @> 1;
SELECT bloom_add(NULL, '\x01'::bytea) @> '\x01'::text;
SELECT bloom_add(NULL, '00000000-0000-0000-0000-000000000001'::uuid)
	@> '00000000-0000-0000-0000-000000000001'::text;

-- a filter that nothing was ever added to has no kind yet, and an empty array gives it none
SELECT (bloom_info(bloom_new())).kind;
SELECT (bloom_info(bloom_add(bloom_new(), '{}'::text[]))).kind;
SELECT (bloom_info(bloom_add(bloom_new(), NULL::text))).kind;
SELECT bloom_new() @> 1 AS integer, bloom_new() @> 'a' AS text, bloom_new() @> ''::bytea AS bytea;
SELECT '{1,2}'::int[] - bloom_new() AS integers, '{a,b}'::text[] - bloom_new() AS texts;

-- the first item gives it one
SELECT (bloom_info(bloom_add(bloom_new(), 1))).kind;
SELECT (bloom_info(bloom_add(bloom_new(), 'a'::text))).kind;
SELECT (bloom_info(bloom_add(bloom_new(), '00000000-0000-0000-0000-000000000001'::uuid))).kind;
SELECT (bloom_info(bloom_add(bloom_new(), ''::bytea))).kind;

--
-- Shapes of arrays
--

-- empty
SELECT bloom_add(NULL, '{}'::int[]);
SELECT bloom_add(bloom_new(), '{}'::int[]) = bloom_new() AS same;
SELECT '{}'::int[] - bloom_new() AS minus;
SELECT bloom_contains_any(bloom_new(), '{}'::int[]);
SELECT bloom_contains_all(bloom_new(), '{}'::int[]);
SELECT bloom_contains_each(bloom_new(), '{}'::int[]);
SELECT count(*) FROM bloom_exclude('{}'::int[], bloom_new());

-- another lower bound is as good; a result begins at 1, but for bloom_contains_each()
SELECT bloom_add(NULL, '[-3:-1]={1,2,3}'::int[]) = bloom_add(NULL, '{3,2,1}'::int[]) AS same;
SELECT '[5:8]={1,2,3,4}'::int[] - bloom_add(NULL, 3) AS minus;
SELECT '[0:1]={1,2}'::bigint[] - NULL::bloom AS minus;
SELECT '[3:3]={3}'::int[] - bloom_add(NULL, 3) AS minus;
SELECT bloom_contains_each(bloom_add(NULL, 3), '[0:1]={3,4}'::int[]);

-- only NULLs, and NULLs in all places; one byte of the null bitmap and more
SELECT bloom_add(NULL, '{NULL,NULL}'::int[]);
SELECT '{NULL}'::text[] - bloom_new() AS minus;
SELECT '{NULL,a,NULL,NULL,b,c,d,NULL,e,NULL,f,NULL}'::text[]
	- bloom_add(NULL, '{NULL,b,NULL,e,NULL,NULL,NULL,NULL,NULL,c}'::text[]) AS minus;
SELECT '{NULL,1,NULL,NULL,2,3,4,NULL,5,NULL,6,NULL}'::smallint[]
	- bloom_add(NULL, '{NULL,2,NULL,5,NULL,NULL,NULL,NULL,NULL,3}'::bigint[]) AS minus;

-- one dimension only
SELECT bloom_add(NULL, '{{1,2},{3,4}}'::int[]);
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_contains_any(NULL, '{{1}}'::int[]);
SELECT bloom_contains_all(bloom_new(), '{{1}}'::int[]);
SELECT bloom_contains_each(bloom_new(), '{{1}}'::int[]);
SELECT bloom_exclude('{{1}}'::int[], bloom_new());
SELECT bloom_exclude('{{1}}'::int[], VARIADIC '{}'::bloom[]);
SELECT '{{{1}}}'::int[] - NULL::bloom;

-- expanded arrays, as PL/pgSQL keeps them
DO $$
DECLARE
	items int[] := '{}';
	filter bloom;
BEGIN
	FOR i IN 1 .. 10 LOOP
		items := items || i;
		items[1] := 0;
		filter := bloom_add(filter, items);
	END LOOP;
	RAISE NOTICE 'remaining: %, %', items - filter, '{0,1,10,11}'::int[] - filter;
END
$$;

--
-- NULL: a NULL filter is an empty one, a NULL item is no item
--
SELECT bloom_add(NULL, NULL::bigint);
SELECT bloom_add(NULL, NULL::text);
SELECT bloom_add(NULL, NULL::uuid);
SELECT bloom_add(NULL, NULL::bytea);
SELECT bloom_add(NULL, NULL::int[]);
SELECT bloom_union(NULL, NULL);
CREATE TEMP TABLE filters (name text, f bloom);
INSERT INTO filters VALUES ('none', NULL), ('empty', bloom_new()), ('of 1', bloom_add(NULL, 1));
SELECT bloom_add(f, NULL::bigint) = f AS same FROM filters WHERE name = 'of 1';
SELECT bloom_add(f, NULL::text) = f AS same FROM filters WHERE name = 'of 1';
SELECT bloom_add(f, NULL::int[]) = f AS same FROM filters WHERE name = 'of 1';
SELECT bloom_add(f, '{NULL}'::int[]) = f AS same FROM filters WHERE name = 'of 1';
SELECT f | NULL = f AS same, NULL | f = f AS other_way FROM filters WHERE name = 'of 1';

-- contains: NULL for a NULL item, false for a NULL filter
SELECT name, bloom_contains(f, 1) AS has_1, bloom_contains(f, NULL::bigint) AS has_null
FROM filters;
SELECT name, f @> 1 AS has_1, f @> NULL::bigint AS has_null FROM filters;
SELECT name, 1 <@ f AS has_1, NULL::bigint <@ f AS has_null FROM filters;

-- any, all and each: NULL for NULL instead of an array; a NULL item is not contained
SELECT name, bloom_contains_any(f, NULL::int[]) AS any, bloom_contains_all(f, NULL::int[]) AS all,
	bloom_contains_each(f, NULL::int[]) AS each FROM filters;
SELECT name, bloom_contains_any(f, '{NULL}'::int[]) AS any,
	bloom_contains_all(f, '{NULL}'::int[]) AS all,
	bloom_contains_each(f, '{NULL}'::int[]) AS each FROM filters;
SELECT name, bloom_contains_any(f, '{NULL,1}'::int[]) AS any,
	bloom_contains_all(f, '{NULL,1}'::int[]) AS all,
	bloom_contains_each(f, '{NULL,1,NULL,2}'::int[]) AS each FROM filters;
SELECT name, bloom_contains_all(f, '{}'::int[]) FROM filters;

-- exclude: NULL candidates are dropped
SELECT name, '{1,NULL,2}'::int[] - f AS minus FROM filters;
SELECT name, bloom_exclude_array('{1,NULL,2}'::int[], f) FROM filters;
SELECT name, ARRAY(SELECT bloom_exclude('{1,NULL,2}'::int[], f)) AS rows FROM filters;
SELECT name, ARRAY(SELECT bloom_exclude('{1,NULL,2}'::int[], f, NULL, f)) AS rows FROM filters;
SELECT ARRAY(SELECT bloom_exclude('{1,NULL,2}'::int[], VARIADIC NULL::bloom[])) AS rows;
SELECT ARRAY(SELECT bloom_exclude('{1,NULL,2}'::int[], VARIADIC '{}'::bloom[])) AS rows;
SELECT ARRAY(SELECT bloom_exclude('{1,NULL,2}'::int[], VARIADIC '{NULL,NULL}'::bloom[])) AS rows;

-- of NULL in place of candidates
SELECT name, NULL::int[] - f AS minus FROM filters;
SELECT name, bloom_exclude_array(NULL::int[], f) FROM filters;
SELECT name, ARRAY(SELECT bloom_exclude(NULL::int[], f)) AS rows FROM filters;
SELECT name, ARRAY(SELECT bloom_exclude(NULL::int[], f, f)) AS rows FROM filters;
DROP TABLE filters;

--
-- Other arguments: NULL is a mistake, and there is an error rather than a smaller filter than
-- asked for
--
SELECT bloom_new(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_new(10, NULL);
SELECT bloom_new(counting => NULL);
SELECT bloom_sizing(NULL, 0.01);
SELECT bloom_sizing(10, NULL);
SELECT bloom_capacity(NULL, 0.01);
SELECT bloom_capacity(100, NULL);

SELECT bloom_new(0);
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_new(-9223372036854775808);
SELECT bloom_sizing(0, 0.01);
SELECT bloom_capacity(43, 0.01);
\echo :LAST_ERROR_SQLSTATE

-- the detail depends on libm in its last digits: sql/info.sql looks at it, and at the hint
\set VERBOSITY terse
SELECT bloom_new(9223372036854775807);
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_new(4294967296, 0.9);
SELECT bloom_new(500000000, 0.01);
SELECT bloom_new(200000000, 0.01, true);
SELECT bloom_add(bloom_new(100000000, 1e-9), 1);
\set VERBOSITY default

SELECT bloom_new(100, 0);
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_new(100, 1);
SELECT bloom_new(100, -0.01);
SELECT bloom_new(100, 'NaN');
SELECT bloom_new(100, 'Infinity');
SELECT bloom_sizing(100, 'NaN');
SELECT bloom_capacity(100, 0);
SELECT bloom_new(100, 9.99e-10);
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_new(100, 1e-300);

--
-- Windows
--

-- width, slices, rate
SELECT bloom_window('1 month');
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_window('1 year 30 days');
SELECT bloom_window('0');
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_window('-1 day');
SELECT bloom_window('2147483647 days');
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_window('30 days', 0);
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_window('30 days', 1001);
SELECT bloom_window('30 days', 6, 0);
SELECT bloom_window(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_window('30 days', NULL);
SELECT bloom_window('30 days', 6, NULL);

CREATE TEMP TABLE windowed AS SELECT bloom_add_at(bloom_window('6 days'), 1, '2024-03-05') AS f;

-- items with a time need a window, and a window needs items with a time
SELECT bloom_add_at(NULL, 1, now());
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_add_at(NULL, '{1}'::int[], ARRAY[now()]);
SELECT bloom_add_at(bloom_new(), 1, now());
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_add(f, 1) FROM windowed;
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_add(f, '{1}'::int[]) FROM windowed;
SELECT bloom_remove(f, 1) FROM windowed;
\echo :LAST_ERROR_SQLSTATE

-- the time
SELECT bloom_add_at(f, 1, NULL) FROM windowed;
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_add_at(f, 1, 'infinity') FROM windowed;
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_add_at(f, 1, '-infinity') FROM windowed;
SELECT bloom_add_at(f, '{1,2}'::int[], ARRAY[now(), NULL]) FROM windowed;
SELECT bloom_add_at(f, '{1,2}'::int[], '{now,infinity}') FROM windowed;
SELECT bloom_add_at(f, '{1,2}'::int[], NULL) FROM windowed;
SELECT bloom_add_at(f, '{1,2}'::int[], ARRAY[now()]) FROM windowed;
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_add_at(f, '{1,2}'::int[], ARRAY[[now()], [now()]]) FROM windowed;
\echo :LAST_ERROR_SQLSTATE

-- the kind of item
SELECT bloom_add_at(f, '{a}'::text[], ARRAY[now()]) FROM windowed;
SELECT bloom_add_at(f, '{1.5}'::numeric[], ARRAY[now()]) FROM windowed;

-- expiring
SELECT bloom_expire(bloom_new(), now());
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_expire(f, NULL) FROM windowed;
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_expire(f, 'infinity') FROM windowed;
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_expire(f, '-infinity') FROM windowed;

-- unions
SELECT f | bloom_new() FROM windowed;
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_new() | f FROM windowed;
SELECT f | bloom_window('6 days', 5) FROM windowed;
\echo :LAST_ERROR_SQLSTATE
SELECT f | bloom_window('7 days', 6) FROM windowed;
DROP TABLE windowed;

-- layers
SELECT bloom_window_agg(i, now() + i * interval '1 second', '1 second', 1, 0.01)
FROM generate_series(1, 100000) i;
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_add_at(bloom_add_at(bloom_window('1 second', 1), 0, now() + interval '1 year'),
					array_agg(i), array_agg(now() + i * interval '1 second'))
FROM generate_series(1, 100000) i;

-- the aggregate
SELECT bloom_window_agg(i, NULL, '6 days', 6, 0.01) FROM generate_series(8, 9) i;
SELECT bloom_window_agg(i, 'infinity', '6 days', 6, 0.01) FROM generate_series(8, 9) i;
SELECT bloom_window_agg(i, now(), '1 month', 6, 0.01) FROM generate_series(8, 9) i;
SELECT bloom_window_agg(i, now(), '6 days', 0, 0.01) FROM generate_series(8, 9) i;
SELECT bloom_window_agg(i, now(), '6 days', 6, 1.0) FROM generate_series(8, 9) i;
SELECT bloom_window_agg(i, now(), NULL, 6, 0.01) FROM generate_series(8, 9) i;
SELECT bloom_window_agg(i, now(), '6 days', NULL, 0.01) FROM generate_series(8, 9) i;
SELECT bloom_window_agg(i, now(), '6 days', 6, NULL) FROM generate_series(8, 9) i;
SELECT bloom_window_agg(i, now(), i * interval '1 day', 6, 0.01) FROM generate_series(8, 9) i;
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_window_agg(i, now(), '6 days', i, 0.01) FROM generate_series(8, 9) i;
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_window_agg(i, now(), '6 days', 6, 1.0 / i) FROM generate_series(8, 9) i;
\echo :LAST_ERROR_SQLSTATE

DROP DOMAIN id_list, post_id, item_id, small_id, slug, code, guid, blob, price;

--
-- Items without a type, and texts that look like arrays
--

-- What changes a filter, or makes one, takes no parameter or literal without a type, whatever is
-- in it: that is an error of PostgreSQL's.
\set VERBOSITY terse
PREPARE p AS SELECT bloom_add(NULL, $1);
PREPARE p AS SELECT bloom_add(bloom_new(), $1);
PREPARE p AS SELECT bloom_add_at(bloom_window('1 day'), $1, now());
PREPARE p AS SELECT bloom_add_at(bloom_window('1 day'), $1, $2);
PREPARE p AS SELECT bloom_remove(bloom_new(counting => true), $1);
PREPARE p AS SELECT bloom_agg($1);
PREPARE p AS SELECT bloom_agg($1, 0.01);
PREPARE p AS SELECT bloom_agg($1, 0.01, 0.2);
PREPARE p AS SELECT bloom_window_agg($1, now(), '1 day', 6, 0.01);
SELECT bloom_add(bloom_new(), '{1,2}');
\set VERBOSITY default

-- with a type it is what the type says, and the other parameters need none
PREPARE p AS SELECT kind, items FROM bloom_info(bloom_add($2, $1::bigint));
EXECUTE p(42301, NULL);
DEALLOCATE p;
PREPARE p AS SELECT bloom_add($1, $2::text[]) @> 'a' AS contains;
EXECUTE p(NULL, '{a,b}');
DEALLOCATE p;
PREPARE p AS SELECT bloom_add_at(bloom_window('1 day'), $1::uuid, $2) @> $1 AS contains;
EXECUTE p('00000000-0000-0000-0000-000000000001', now());
DEALLOCATE p;
PREPARE p AS SELECT bloom_remove($1, $2::text[]);
EXECUTE p(NULL, '{a,b}');
DEALLOCATE p;

-- for what asks, an item without a type is text
PREPARE p AS SELECT bloom_new() @> $1 AS empty, bloom_add(NULL, '{a}'::text) @> $1 AS same;
EXECUTE p('{a}');
DEALLOCATE p;
SELECT bloom_add(NULL, '{a}'::text) @> '{a}' AS contains;
SELECT '{a}' <@ NULL::bloom AS contained;
SELECT bloom_contains(bloom_add(NULL, '{}'::text), '{}');

-- A text is one text, whatever it looks like and wherever it comes from: what the planner folds,
-- what it does not, a parameter whose value it knows or not, a row, a variable.  The function is
-- immutable: its answer must not depend on that.
CREATE TEMP TABLE texts (t text, f bloom, w bloom, k bloom);
INSERT INTO texts
	SELECT t, bloom_add(NULL, t), bloom_add_at(bloom_window('1 day'), t, '2026-01-01'),
		bloom_add(bloom_new(counting => true), t)
	FROM unnest(ARRAY['{a}', '{}', ' {a,b} ', '{"a": 1}', '[1]', '']) AS t;
SELECT t, f @> t AS contained, f @> 'a' AS element FROM texts ORDER BY t COLLATE "C";
SELECT t, w @> t AS contained FROM texts ORDER BY t COLLATE "C";
SELECT t, k @> t AS contained, bloom_remove(k, t) @> t AS after FROM texts ORDER BY t COLLATE "C";

PREPARE added (text) AS SELECT bloom_add(NULL, $1) @> $1 AS contained;
PREPARE added_at (text) AS
	SELECT bloom_add_at(bloom_window('1 day'), $1, '2026-01-01') @> $1 AS contained;
PREPARE removed (text) AS
	SELECT bloom_remove(bloom_add(bloom_new(counting => true), $1), $1) @> $1 AS after;
PREPARE in_rows (text) AS SELECT count(*) FROM texts WHERE f @> $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE added('{"a": 1}');
EXECUTE added_at('{"a": 1}');
EXECUTE removed('{"a": 1}');
EXECUTE in_rows('{"a": 1}');
SET plan_cache_mode = force_custom_plan;
EXECUTE added('{"a": 1}');
EXECUTE added_at('{"a": 1}');
EXECUTE removed('{"a": 1}');
EXECUTE in_rows('{"a": 1}');
RESET plan_cache_mode;
DEALLOCATE ALL;
DROP TABLE texts;
