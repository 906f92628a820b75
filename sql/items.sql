--
-- What can be an item, and what can't; other arguments that are refused.
--
-- There are four kinds: integer, text, uuid and bytea.  Equal values of a kind are one item, whatever
-- type they come in; a value of another kind is an error and never a silent "not seen".
--
\set ECHO none
\pset format unaligned \pset footer off
SET client_min_messages = warning;
-- Calls, one after each semicolon, that must fail: each error with its SQLSTATE, of how many, and of which if of few.
CREATE FUNCTION pg_temp.refused(calls text, context text DEFAULT '') RETURNS TABLE (error text, of bigint, which text)
LANGUAGE plpgsql AS $$
DECLARE
	call text;
	errors text[];
	tried text[];
	detail text;
	hint text;
BEGIN
	FOR call IN SELECT btrim(c, E' \n\t') FROM regexp_split_to_table(calls, ';\s') AS c WHERE c ~ '\S' LOOP
		tried := tried || call;
		BEGIN
			EXECUTE format('SELECT %s %s', call, context);
			errors := errors || 'none'::text;
		EXCEPTION WHEN undefined_function THEN
			errors := errors || 'no such function'::text;
		WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
			errors := errors || concat_ws(' ', SQLSTATE, SQLERRM,
				CASE WHEN SQLERRM !~ '^capacity of' THEN nullif(detail, '') END, nullif(hint, ''));
		END;
	END LOOP;
	RETURN QUERY SELECT e, count(*), CASE WHEN count(*) < 3 THEN string_agg(c, ', ' ORDER BY n) END
	FROM unnest(errors, tried) WITH ORDINALITY AS u (e, c, n) GROUP BY e ORDER BY min(n);
END
$$;

\echo '-- Integers: smallint, integer and bigint are one kind'
SELECT count(DISTINCT f::text) AS filters, bool_and(f @> 7::smallint AND f @> 7 AND f @> 7::bigint) AS has_7,
	bool_or(f @> 8::smallint OR f @> 8 OR f @> 8::bigint) AS has_8
FROM (VALUES (bloom_add(NULL, 7::smallint)), (bloom_add(NULL, 7)), (bloom_add(NULL, 7::bigint)),
	(bloom_add(NULL, ARRAY[7]::smallint[])), (bloom_add(NULL, ARRAY[7])), (bloom_add(NULL, ARRAY[7]::bigint[])),
	(bloom_add(NULL, ARRAY[7, 7, 7]))) AS v(f);
\echo '-- with the sign, and up to both ends'
SELECT i, bloom_add(NULL, i) = bloom_add(NULL, ARRAY[i]) AS scalar_is_array,
	'{-9223372036854775808,-32768,-1,0,1,32767,9223372036854775807}'::bigint[] - bloom_add(NULL, i) AS others
FROM unnest('{-9223372036854775808,-32768,-1,0,1,32767,9223372036854775807}'::bigint[]) i;
SELECT '{-32768,-1,0,32767}'::smallint[] - bloom_add(NULL, '{-32768,-1}'::bigint[]) AS smallint,
	'{-32768,-1,0,32767}'::int[] - bloom_add(NULL, '{-32768,-1}'::smallint[]) AS integer;

\echo '-- Text: text, varchar and char(n), by the bytes; char(n) without its trailing blanks'
SELECT count(DISTINCT f::text) AS filters,
	bool_and(f @> 'ab'::text AND f @> 'ab'::varchar AND f @> 'ab'::char(5)) AS has_ab,
	bool_or(f @> 'ab '::text OR f @> 'AB'::text OR f @> 'ab '::varchar) AS has_other
FROM (VALUES (bloom_add(NULL, 'ab'::text)), (bloom_add(NULL, 'ab'::varchar)), (bloom_add(NULL, 'ab'::varchar(9))),
	(bloom_add(NULL, 'ab'::char(2))), (bloom_add(NULL, 'ab'::char(5))), (bloom_add(NULL, 'ab'::char(2) COLLATE "C")),
	(bloom_add(NULL, ARRAY['ab'])), (bloom_add(NULL, ARRAY['ab']::varchar[])),
	(bloom_add(NULL, ARRAY['ab']::varchar(9)[])),
	(bloom_add(NULL, ARRAY['ab']::char(2)[])), (bloom_add(NULL, ARRAY['ab', 'ab ']::char(5)[]))) AS v(f);
\echo '-- blanks count in text and varchar, and so do blanks before and within'
SELECT ARRAY['a', 'a ', ' a', 'a b', '', ' ']::varchar[] - bloom_add(NULL, 'a '::text) AS varchar,
	ARRAY['a', 'a ', ' a', 'a b', '', ' ']::char(3)[] - bloom_add(NULL, 'a'::text) AS char,
	ARRAY['a', 'a ', ' a', 'a b', '', ' ']::text[] - bloom_add(NULL, ARRAY['', ' a']::char(3)[]) AS text;
\echo '-- no normal form, no case folding, no end at a backslash'
SELECT bloom_add(NULL, E'\xc3\xa9'::text) @> E'e\xcc\x81' AS other_normal_form,
	bloom_add(NULL, E'\xc3\xa9'::text) @> E'\xc3\xa9' AS same,
	bloom_add(NULL, 'a\b'::text) @> 'a' AS up_to_backslash;
\echo '-- A text of more than 64 kB, TOASTed and compressed where it stands, is one item like others.'
CREATE TABLE texts (t text, b bytea, a text[]);
ALTER TABLE texts ALTER b SET STORAGE external;
INSERT INTO texts SELECT t, t::bytea, ARRAY['x', t] FROM (SELECT repeat('0123456789', 10000) AS t) AS r;
INSERT INTO texts SELECT t || '!', b || '!', a || '!'::text FROM texts;
SELECT bloom_agg(t) = bloom_add(bloom_new(2), array_agg(t)) AS aggregate,
	bloom_agg(b) = bloom_add(bloom_new(2), array_agg(b)) AS of_bytes,
	bool_and(bloom_add(NULL, t) @> t AND bloom_add(NULL, b) @> b AND bloom_add(NULL, a) @> a[2]) AS contained,
	bool_or(bloom_add(NULL, t) @> left(t, -1) OR bloom_add(NULL, t) @> (t || '?')) AS shorter_or_longer,
	array_agg(array_length(a - bloom_add(NULL, t), 1)) AS others
FROM texts;
DROP TABLE texts;

\echo '-- uuid and bytea'
SELECT bloom_add(NULL, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid)
	= bloom_add(NULL, '{A0EEBC999C0B4EF8BB6D6BB9BD380A11}'::uuid) AS one,
	ARRAY['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '00000000-0000-0000-0000-000000000000']::uuid[]
		- bloom_add(NULL, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid) AS others;
SELECT '{"\\x","\\x00","\\x0000","\\x01","\\xff"}'::bytea[] - bloom_add(NULL, '\x00'::bytea) AS others,
	bloom_add(NULL, ''::bytea) @> ''::bytea AS empty;

\echo '-- Items of every length, mixed and sorted, in arrays of several batches: what is kept is kept byte by'
\echo '-- byte, wherever it stood, and an item alone is what it is in an array.'
CREATE TABLE lengths AS SELECT i, repeat(chr(97 + i % 26), i * 37 % 211) || i AS t FROM generate_series(1, 1500) AS i;
SELECT array_send(all_t - f) = array_send(kept_t) AS text, array_send(all_v - f) = array_send(kept_v) AS varchar,
	array_send(all_c - f) = array_send(kept_c) AS char, array_send(all_b - g) = array_send(kept_b) AS bytea,
	pg_column_size(all_t - f) = pg_column_size(kept_t) AS size, cardinality(kept_t) AS kept
FROM (SELECT bloom_add(bloom_new(1500, 1e-9), array_agg(t) FILTER (WHERE i % 7 < 3)) AS f,
		bloom_add(bloom_new(1500, 1e-9), array_agg(t::bytea) FILTER (WHERE i % 7 < 3)) AS g,
		array_agg(t ORDER BY i) AS all_t, array_agg(t ORDER BY i) FILTER (WHERE i % 7 >= 3) AS kept_t,
		array_agg(t::varchar ORDER BY -i) AS all_v, array_agg(t::varchar ORDER BY -i) FILTER (WHERE i % 7 >= 3) AS kept_v,
		array_agg(t::char(230) ORDER BY i) AS all_c, array_agg(t::char(230) ORDER BY i) FILTER (WHERE i % 7 >= 3) AS kept_c,
		array_agg(t::bytea ORDER BY length(t), i) AS all_b,
		array_agg(t::bytea ORDER BY length(t), i) FILTER (WHERE i % 7 >= 3) AS kept_b
	FROM lengths) AS arrays;
SELECT bool_and(f @> t AND g @> t::bytea AND h @> t) AS contained
FROM (SELECT bloom_add(bloom_new(1500), array_agg(t)) AS f, bloom_add(bloom_new(1500), array_agg(t::bytea)) AS g,
	bloom_agg(t) AS h
	FROM lengths) AS filters, lengths;
DROP TABLE lengths;

\echo '-- Domains: over items, over arrays, over domains'
CREATE DOMAIN item_id AS bigint CHECK (VALUE > 0);
CREATE DOMAIN small_id AS smallint;
CREATE DOMAIN post_id AS item_id;
CREATE DOMAIN slug AS varchar(20);
CREATE DOMAIN code AS char(4);
CREATE DOMAIN guid AS uuid;
CREATE DOMAIN blob AS bytea;
CREATE DOMAIN id_list AS item_id[] CHECK (cardinality(VALUE) < 5);
CREATE DOMAIN price AS numeric;
SELECT bloom_add(NULL, 7::item_id) = f AS item_id, bloom_add(NULL, 7::small_id) = f AS small_id,
	bloom_add(NULL, 7::post_id) = f AS post_id, bloom_add(NULL, ARRAY[7]::item_id[]) = f AS item_ids,
	bloom_add(NULL, ARRAY[7]::small_id[]) = f AS small_ids, bloom_add(NULL, ARRAY[7]::post_id[]) = f AS post_ids,
	bloom_add(NULL, '{7}'::id_list) = f AS id_list, f @> 7::post_id AND 7::item_id <@ f AS contained
FROM bloom_add(NULL, 7) f;
SELECT bloom_add(NULL, 'ab'::slug) = f AS slug, bloom_add(NULL, 'ab'::code) = f AS code,
	bloom_add(NULL, ARRAY['ab']::slug[]) = f AS slugs, bloom_add(NULL, ARRAY['ab', 'ab  ']::code[]) = f AS codes
FROM bloom_add(NULL, 'ab'::text) f;
SELECT bloom_add(NULL, ARRAY[lpad('7', 32, '0')]::guid[]) @> lpad('7', 32, '0')::guid AS guid,
	bloom_add(NULL, ARRAY['\x07']::blob[]) @> '\x07'::blob AS blob;
SELECT bloom_agg(i::item_id) = bloom_add(bloom_new(9), array_agg(i::post_id)) AS aggregate FROM generate_series(1, 9) i;

\echo '-- Types that are no items: an error that says what to do, also if the first item is NULL, and for an'
\echo '-- empty array, so that what is wrong shows before the day of the first item.  For one item the parser'
\echo '-- finds no function.'
SELECT * FROM pg_temp.refused($$
	bloom_contains(NULL, '{}'::jsonb); bloom_new() @> now(); bloom_add(NULL, 1.5); bloom_add(bloom_new(), 1::float8);
	bloom_add(NULL, 'a'::name); bloom_add(NULL, 1::oid); bloom_add(NULL, 1::price);
	bloom_add_at(bloom_window('1 day'), now(), now()); bloom_remove(bloom_new(counting => true), ROW(1, 'a'));
	bloom_agg(current_date); bloom_agg(true, 0.01, 0.2); bloom_agg(NULL::numeric, 0.01);
	bloom_window_agg(1.5, now(), '1 day', 6, 0.01); bloom_add(NULL, ARRAY[7]::price[]);
	bloom_contains_any(bloom_new(), ARRAY[1.5::float8]); bloom_contains_all(NULL, '{}'::jsonb[]);
	bloom_contains_each(NULL, ARRAY[date '2026-01-31']); bloom_exclude(ARRAY[true], bloom_new());
	bloom_exclude(ARRAY[interval '1 day'], bloom_new(), bloom_new()); ARRAY[time '12:00'] - bloom_new();
	'{}'::numeric[] - NULL::bloom$$);

\echo '-- citext needs a cast, with which it loses its blindness for case; what asks for one item takes it as'
\echo '-- text.'
SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'citext') AS has_citext \gset
\if :has_citext
CREATE EXTENSION citext;
\else
CREATE TYPE citext AS ENUM ('ab', 'AB');
CREATE CAST (citext AS text) WITH INOUT AS IMPLICIT;
\endif
SELECT bloom_add(NULL, 'ab'::citext::text) @> 'AB'::citext AS one_item;
SELECT * FROM pg_temp.refused($$
	bloom_add(NULL, 'ab'::citext); bloom_add(NULL, ARRAY['ab']::citext[]); bloom_agg('ab'::citext)$$);
DO $$ BEGIN DROP EXTENSION IF EXISTS citext; DROP TYPE IF EXISTS citext CASCADE; END $$;

\echo '-- Collations: text is compared byte by byte, so a collation under which other bytes can be equal is'
\echo '-- refused.'
SELECT bloom_add(NULL, 'ab'::text COLLATE "C") = bloom_add(NULL, 'ab'::text) AS scalar,
	bloom_add(NULL, ARRAY['ab' COLLATE "C"]) = bloom_add(NULL, 'ab'::text) AS array,
	bloom_add(NULL, 'ab'::text COLLATE "C") @> ('ab' COLLATE "POSIX") AS contains;
CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION blinder (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
CREATE TABLE blind_text (t text COLLATE blind, u text COLLATE blinder, v varchar COLLATE blind, a text[] COLLATE blind,
	f bloom);
CREATE DOMAIN blind_domain AS text COLLATE blind;
INSERT INTO blind_text VALUES ('ab', 'ab', 'ab', '{ab}', bloom_add(NULL, 'ab'::text));
SELECT * FROM pg_temp.refused($$
	bloom_add(f, t); bloom_add(f, v); bloom_add(f, a); bloom_add(NULL, 'ab'::blind_domain);
	bloom_add(NULL, ARRAY['ab']::blind_domain[]); f @> t; t <@ f; bloom_contains_any(f, a); bloom_contains_all(f, a);
	bloom_contains_each(f, a); bloom_exclude(a, f); ARRAY(SELECT bloom_exclude(a, f, f)); a - f; bloom_agg(t);
	bloom_add_at(bloom_window('1 day'), t, now()); bloom_window_agg(t, now(), '1 day', 6, 0.01)$$, 'FROM blind_text');
\echo '-- Of two such collations neither wins, and the server can''t say which one applies.'
SELECT * FROM pg_temp.refused($$
	bloom_add(NULL, t || u); f @> (t || u); ARRAY[t, u] - f; bloom_agg(t || u)$$, 'FROM blind_text');
\echo '-- the way out that the hint names, and values that are no text although their neighbour is'
SELECT bloom_add(f, t COLLATE "C") @> 'ab' AS scalar, f @> (t COLLATE "C") AS contains, a COLLATE "C" - f AS minus,
	bloom_agg(t COLLATE "C") OVER () @> 'ab' AS agg,
	bloom_add(NULL, length(t)) @> 2 AS integer, bloom_add(NULL, t::bytea) @> 'ab'::bytea AS bytea,
	ARRAY[length(t)] - NULL::bloom AS integers
FROM blind_text;
DROP TABLE blind_text;
DROP DOMAIN blind_domain;
DROP COLLATION blind, blinder;

\echo '-- A filter remembers its kind: in every function that takes items, also an empty array, whose type is'
\echo '-- wrong.'
SELECT * FROM pg_temp.refused($$
	bloom_add(f, 'a'::text); bloom_add(f, ARRAY['1']); bloom_contains(f, '1'); f @> '1'::varchar; '1'::char(1) <@ f;
	bloom_contains_any(f, ARRAY['1']); bloom_contains_all(f, ARRAY['1']); bloom_contains_each(f, ARRAY['1']);
	bloom_exclude(ARRAY['1'], f); bloom_exclude(ARRAY['1'], bloom_add(NULL, '1'::text), f); ARRAY['1'] - f;
	bloom_add_at(bloom_add_at(bloom_window('1 day'), 1, '2026-01-01'), 'a'::text, '2026-01-01');
	bloom_remove(bloom_add(bloom_new(counting => true), 1), 'a'::text); '{}'::text[] - f; bloom_add(f, '{}'::text[]);
	f @> '{1}'; bloom_add(f, u); bloom_add(f, '\x01'::bytea); '\x01'::bytea <@ f;
	bloom_add(NULL, 'a'::text) @> 1; bloom_add(NULL, '\x01'::bytea) @> '\x01'::text; bloom_add(NULL, u) @> u::text$$,
	$$FROM bloom_add(NULL, 1) AS f, CAST('00000000-0000-0000-0000-000000000001' AS uuid) AS u$$);
\echo '-- A filter that nothing was ever added to has no kind yet; the first item gives it one, an empty array'
\echo '-- doesn''t.'
SELECT (bloom_info(bloom_new())).kind AS of_new, (bloom_info(bloom_add(bloom_new(), '{}'::text[]))).kind AS of_none,
	(bloom_info(bloom_add(bloom_new(), NULL::text))).kind AS of_null,
	bloom_new() @> 1 OR bloom_new() @> 'a' OR bloom_new() @> '\x01'::bytea AS contains,
	'{1,2}'::int[] - bloom_new() AS integers, '{a,b}'::text[] - bloom_new() AS texts;
SELECT array_agg((bloom_info(f)).kind ORDER BY i) AS kinds
	FROM (VALUES (1, bloom_add(bloom_new(), 1)), (2, bloom_add(bloom_new(), 'a'::text)),
	(3, bloom_add(bloom_new(), '00000000-0000-0000-0000-000000000001'::uuid)),
	(4, bloom_add(bloom_new(), ''::bytea))) AS v(i, f);

\echo '-- Shapes of arrays'
SELECT bloom_add(NULL, '{}'::int[]) IS NULL AS nothing_to_add,
	bloom_add(bloom_new(), '{}'::int[]) = bloom_new() AS nothing_added,
	'{}'::int[] - bloom_new() AS minus, bloom_contains_any(bloom_new(), '{}'::int[]) AS any_of_none,
	bloom_contains_all(bloom_new(), '{}'::int[]) AS all_of_none,
	bloom_contains_each(bloom_new(), '{}'::int[]) AS each_of_none,
	(SELECT count(*) FROM bloom_exclude('{}'::int[], bloom_new())) AS rows;
\echo '-- another lower bound is as good; a result begins at 1'
SELECT bloom_add(NULL, '[-3:-1]={1,2,3}'::int[]) = bloom_add(NULL, '{3,2,1}'::int[]) AS add,
	'[5:8]={1,2,3,4}'::int[] - bloom_add(NULL, 3) AS minus, '[0:1]={1,2}'::bigint[] - NULL::bloom AS minus_none,
	bloom_contains_each(bloom_add(NULL, 3), '[0:1]={3,4}'::int[]) AS each,
	'[3:3]={3}'::int[] - bloom_add(NULL, 3) AS nothing_left;
\echo '-- only NULLs, and NULLs in all places; one byte of the null bitmap and more'
SELECT bloom_add(NULL, '{NULL,NULL}'::int[]) IS NULL AS add, '{NULL}'::text[] - bloom_new() AS minus,
	'{NULL,a,NULL,NULL,b,c,d,NULL,e,NULL,f,NULL}'::text[] - bloom_add(NULL,
		'{NULL,b,NULL,e,NULL,NULL,NULL,NULL,NULL,c}'::text[]) AS text,
	'{NULL,1,NULL,NULL,2,3,4,NULL,5,NULL,6,NULL}'::smallint[] - bloom_add(NULL,
		'{NULL,2,NULL,5,NULL,NULL,NULL,NULL,NULL,3}'::bigint[]) AS smallint;
\echo '-- one dimension only'
SELECT * FROM pg_temp.refused($$
	bloom_add(NULL, '{{1,2},{3,4}}'::int[]); bloom_contains_any(NULL, '{{1}}'::int[]);
	bloom_contains_all(bloom_new(), '{{1}}'::int[]); bloom_contains_each(bloom_new(), '{{1}}'::int[]);
	bloom_exclude('{{1}}'::int[], bloom_new()); bloom_exclude('{{1}}'::int[], VARIADIC '{}'::bloom[]);
	'{{{1}}}'::int[] - NULL::bloom$$);
\echo '-- expanded arrays, as PL/pgSQL keeps them'
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
	RAISE WARNING 'survivors: %, %', items - filter, '{0,1,10,11}'::int[] - filter;
END
$$;

\echo '-- NULL: a NULL filter is an empty one, a NULL item is no item'
SELECT bloom_add(NULL, NULL::bigint) IS NULL AS add, bloom_add(NULL, NULL::text) IS NULL AS text,
	bloom_add(NULL, NULL::uuid) IS NULL AS uuid, bloom_add(NULL, NULL::bytea) IS NULL AS bytea,
	bloom_add(NULL, NULL::int[]) IS NULL AS array, bloom_union(NULL, NULL) IS NULL AS union;
SELECT bloom_add(f, NULL::bigint) = f AS add, bloom_add(f, NULL::text) = f AS other_kind,
	bloom_add(f, NULL::int[]) = f AS array, bloom_add(f, '{NULL}'::int[]) = f AS array_of_null,
	f | NULL = f AS union, NULL | f = f AS union_other
FROM bloom_add(NULL, 1) f;
\echo '-- contains'
SELECT bloom_contains(NULL, 1) AS none, bloom_contains(NULL, NULL::bigint) AS both,
	bloom_contains(f, NULL::bigint) AS item,
	NULL::bloom @> 1 AS "@>", NULL::bloom @> NULL::bigint AS both, f @> NULL::bigint AS item,
	1 <@ NULL::bloom AS "<@", NULL::bigint <@ NULL::bloom AS both, NULL::bigint <@ f AS item
FROM bloom_add(NULL, 1) f;
\echo '-- any, all and each: NULL for NULL instead of an array; a NULL item is not contained'
SELECT bloom_contains_any(f, NULL::int[]) AS any, bloom_contains_all(f, NULL::int[]) AS all,
	bloom_contains_each(f, NULL::int[]) AS each,
	bloom_contains_any(f, '{NULL}'::int[]) AS any_null, bloom_contains_all(f, '{NULL}'::int[]) AS all_null,
	bloom_contains_each(f, '{NULL}'::int[]) AS each_null
FROM (VALUES (NULL), (bloom_new()), (bloom_add(NULL, 1))) AS v(f);
SELECT bloom_contains_any(f, '{NULL,1}'::int[]) AS any, bloom_contains_all(f, '{NULL,1}'::int[]) AS all,
	bloom_contains_each(f, '{NULL,1,NULL,2}'::int[]) AS each, bloom_contains_all(f, '{}'::int[]) AS all_of_none
FROM (VALUES (NULL), (bloom_new()), (bloom_add(NULL, 1))) AS v(f);
\echo '-- exclude: NULL candidates are dropped'
SELECT '{1,NULL,2}'::int[] - f AS minus, bloom_exclude_array('{1,NULL,2}'::int[], f) AS array,
	ARRAY(SELECT bloom_exclude('{1,NULL,2}'::int[], f)) AS set,
		ARRAY(SELECT bloom_exclude('{1,NULL,2}'::int[], f, NULL, f)) AS variadic,
	NULL::int[] - f AS minus_null, bloom_exclude_array(NULL::int[], f) AS array_null,
	ARRAY(SELECT bloom_exclude(NULL::int[], f)) AS set_null,
		ARRAY(SELECT bloom_exclude(NULL::int[], f, f)) AS variadic_null
FROM (VALUES (NULL), (bloom_new()), (bloom_add(NULL, 1))) AS v(f);
SELECT ARRAY(SELECT bloom_exclude('{1,NULL,2}'::int[], VARIADIC NULL::bloom[])) AS null_array,
	ARRAY(SELECT bloom_exclude('{1,NULL,2}'::int[], VARIADIC '{}'::bloom[])) AS empty_array,
	ARRAY(SELECT bloom_exclude('{1,NULL,2}'::int[], VARIADIC ARRAY[NULL, NULL]::bloom[])) AS array_of_nulls;
\echo '-- Other arguments: NULL is a mistake, and there is an error rather than a smaller filter than asked for.'
\echo '-- The detail of a capacity depends on libm in its last digits: sql/info.sql looks at it.'
SELECT * FROM pg_temp.refused($$
	bloom_new(NULL); bloom_new(10, NULL); bloom_new(counting => NULL); bloom_sizing(NULL, 0.01); bloom_sizing(10, NULL);
	bloom_capacity(NULL, 0.01); bloom_capacity(100, NULL);
	bloom_new(0); bloom_new(-9223372036854775808); bloom_sizing(0, 0.01); bloom_new(9223372036854775807);
	bloom_new(4294967296, 0.9); bloom_new(500000000, 0.01); bloom_new(200000000, 0.01, true);
	bloom_add(bloom_new(100000000, 1e-9), 1); bloom_capacity(43, 0.01);
	bloom_new(100, 0); bloom_new(100, 9.99e-10); bloom_new(100, 1); bloom_new(100, -0.01); bloom_new(100, 'NaN');
	bloom_new(100, 'Infinity'); bloom_new(100, 1e-300); bloom_sizing(100, 'NaN'); bloom_capacity(100, 0)$$);
\echo '-- Windows: their width and slices, times, no time, and as many layers as there may be'
SELECT * FROM pg_temp.refused($$
	bloom_window('1 month'); bloom_window('0'); bloom_window('-1 day'); bloom_window('2147483647 days');
	bloom_window('30 days', 0); bloom_window('30 days', 1001); bloom_window('1 year 30 days');
	bloom_window('30 days', 6, 0); bloom_window(NULL); bloom_window('30 days', NULL); bloom_window('30 days', 6, NULL);
	bloom_add_at(NULL, 1, now()); bloom_add_at(bloom_new(), 1, now()); bloom_add_at(f, 1, NULL);
	bloom_add_at(f, 1, 'infinity'); bloom_add_at(f, 1, '-infinity');
	bloom_add_at(f, '{1,2}'::int[], ARRAY[now(), NULL]); bloom_add_at(f, '{1,2}'::int[], '{now,infinity}');
	bloom_add_at(f, '{1,2}'::int[], NULL); bloom_add_at(f, '{1,2}'::int[], ARRAY[now()]);
	bloom_add_at(f, '{1,2}'::int[], ARRAY[[now()], [now()]]); bloom_add_at(NULL, '{1}'::int[], ARRAY[now()]);
	bloom_add_at(f, '{a}'::text[], ARRAY[now()]); bloom_add_at(f, '{1.5}'::numeric[], ARRAY[now()]);
	bloom_add(f, 1); bloom_add(f, '{1}'::int[]); bloom_remove(f, 1);
	bloom_expire(bloom_new(), now()); bloom_expire(f, NULL); bloom_expire(f, 'infinity'); bloom_expire(f, '-infinity');
	f | bloom_new(); f | bloom_window('6 days', 5); bloom_new() | f; f | bloom_window('7 days', 6);
	(SELECT bloom_window_agg(i, now() + i * interval '1 second', '1 second', 1, 0.01)
		FROM generate_series(1, 100000) i);
	(SELECT bloom_add_at(bloom_add_at(bloom_window('1 second', 1), 0, now() + interval '1 year'), array_agg(i),
		array_agg(now() + i * interval '1 second')) FROM generate_series(1, 100000) i)$$,
	$$FROM bloom_add_at(bloom_window('6 days'), 1, '2024-03-05') AS f$$);
SELECT * FROM pg_temp.refused($$
	bloom_window_agg(item, NULL, '6 days', 6, 0.01); bloom_window_agg(item, 'infinity', '6 days', 6, 0.01);
	bloom_window_agg(item, now(), '6 days', 0, 0.01); bloom_window_agg(item, now(), NULL, 6, 0.01);
	bloom_window_agg(item, now(), '6 days', NULL, 0.01); bloom_window_agg(item, now(), '6 days', 6, NULL);
	bloom_window_agg(item, now(), item * interval '1 day', 6, 0.01); bloom_window_agg(item, now(), '6 days', item, 0.01);
	bloom_window_agg(item, now(), '6 days', 6, 1.0 / item); bloom_window_agg(item, now(), '1 month', 6, 0.01);
	bloom_window_agg(item, now(), '6 days', 6, 1.0)$$, 'FROM generate_series(8, 9) AS item');

DROP DOMAIN id_list, post_id, item_id, small_id, slug, code, guid, blob, price;

\echo '-- Items without a type, and texts that look like arrays.'
\echo '-- What changes a filter, or makes one, takes no parameter or literal without a type, whatever is in it:'
\echo '-- that is PostgreSQL''s error.'
CREATE FUNCTION pg_temp.sqlstate_of(call text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'PREPARE p AS SELECT ' || call;
	RETURN 'taken';
EXCEPTION WHEN ambiguous_function OR indeterminate_datatype OR datatype_mismatch THEN
	RETURN 'refused';
END
$$;
SELECT pg_temp.sqlstate_of(call), count(*),
	string_agg(call, ', ') FILTER (WHERE pg_temp.sqlstate_of(call) = 'taken') AS which
FROM unnest(ARRAY['bloom_add(NULL, $1)', 'bloom_add(bloom_new(), $1)',
	'bloom_add_at(bloom_window(''1 day''), $1, now())',
	'bloom_add_at(bloom_window(''1 day''), $1, $2)', 'bloom_remove(bloom_new(counting => true), $1)', 'bloom_agg($1)',
	'bloom_agg($1, 0.01)', 'bloom_agg($1, 0.01, 0.2)', 'bloom_window_agg($1, now(), ''1 day'', 6, 0.01)',
	'bloom_add(bloom_new(), ''{1,2}'')']) AS call GROUP BY 1;
\echo '-- with a type it is what the type says, and the other parameters need none'
PREPARE p AS SELECT (bloom_info(bloom_add(NULL, $1::bigint))).kind, (bloom_info(bloom_add($2, $1))).items;
EXECUTE p(42301, NULL);
DEALLOCATE p;
PREPARE p AS SELECT bloom_add($1, $2::text[]) @> 'a', bloom_add_at(bloom_window('1 day'), $3::uuid, $4) @> $3,
	bloom_remove($1, $2::text[]);
EXECUTE p(NULL, '{a,b}', '00000000-0000-0000-0000-000000000001', now());
DEALLOCATE p;

\echo '-- For what asks, an item without a type is text.'
PREPARE ask AS SELECT bloom_new() @> $1 AS empty, bloom_add(NULL, '{a}'::text) @> $1 AS same,
	bloom_add(NULL, '{a}'::text) @> '{a}' AS literal,
	'{a}' <@ NULL::bloom AS of_null, bloom_contains(bloom_add(NULL, '{}'::text), '{}') AS function;
EXECUTE ask('{a}');
DEALLOCATE ALL;

\echo '-- A text is one text, whatever it looks like and wherever it comes from: what the planner folds, what it'
\echo '-- does not, a parameter whose value it knows or not, a row, a variable.  The function is immutable: its'
\echo '-- answer must not depend on that.'
CREATE TABLE texts (t text, f bloom, w bloom, k bloom);
INSERT INTO texts SELECT t, bloom_add(NULL, t), bloom_add_at(bloom_window('1 day'), t, '2026-01-01'),
	bloom_add(bloom_new(counting => true), t)
FROM unnest(ARRAY['{a}', '{}', ' {a,b} ', '{"a": 1}', '[1]', '']) AS t;
SELECT t, f @> t AS added, w @> t AS added_at, k @> t AS counted, bloom_remove(k, t) @> t AS removed,
	f @> 'a' AS element FROM texts ORDER BY t COLLATE "C";
PREPARE ask (text) AS SELECT bloom_add(NULL, $1) @> $1 AS added,
	bloom_add_at(bloom_window('1 day'), $1, '2026-01-01') @> $1 AS added_at,
	bloom_remove(bloom_add(bloom_new(counting => true), $1), $1) @> $1 AS removed,
	(SELECT count(*) FROM texts WHERE f @> $1) AS rows;
SET plan_cache_mode = force_generic_plan;
EXECUTE ask('{"a": 1}');
SET plan_cache_mode = force_custom_plan;
EXECUTE ask('{"a": 1}');

RESET plan_cache_mode;
DEALLOCATE ALL;
DROP TABLE texts;
