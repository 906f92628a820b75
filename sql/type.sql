--
-- The type by itself: its text, its bytes, its storage, its equality.
-- What the bytes mean is tested elsewhere; here they only have to be kept.  At the end are values that take long.
--
\set ECHO none
\pset format unaligned \pset footer off
SET client_min_messages = warning;

\echo '-- Text form: hexadecimal digits, with or without \\x.  Version 1, no kind yet, one layer, a reserved'
\echo '-- field, fpr 0.01; one word, one probe, capacity 1; 64 bits unset'
SELECT bloom_new(1);
SELECT bloom_new(1)::text::bloom = bloom_new(1) AS same,
	'01000100000000007b14ae47e17a843f010000080100000000000000000000000000000000000000'::bloom
		= bloom_new(1) AS without_x,
	'\x01000100000000007B14AE47E17A843F010000080100000000000000000000000000000000000000'::bloom
		= bloom_new(1) AS upper_case,
	bloom_new(1)::text = bloom_new(1)::bytea::text AS like_bytea;

\echo '-- What comes in goes out again, whatever is in it.'
SELECT count(*), bool_and(f::text::bloom = f) AS text, bool_and(f::bytea::bloom = f) AS bytea,
	bool_and(bloom(bloom_send(f)) = f) AS binary
FROM (VALUES (bloom_new()), (bloom_new(5, 0.5)), (bloom_add(NULL, 1)), (bloom_add(NULL, ''::text)),
	(bloom_add(bloom_new(3, 0.0001), ARRAY['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'])),
	((SELECT bloom_agg(i) FROM generate_series(1, 40000) i)),
	(bloom_add(bloom_new(10, 0.01, true), 7)),
	(bloom_new(100) | bloom_new(400) | bloom_new(500))) AS v(f);

CREATE FUNCTION pg_temp.complaint(value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	RETURN value::bloom;
EXCEPTION WHEN invalid_text_representation OR invalid_binary_representation OR feature_not_supported THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' ', SQLSTATE, SQLERRM, '-', detail, nullif(hint, ''));
END
$$;
\echo '-- digits alone are not enough: every input passes the validator, which names what is wrong'
SELECT value, pg_temp.complaint(value)
FROM unnest(ARRAY['', '\x', 'x', 'zz', '\x0', '\X01', '\x01\x02', '01 02', '{1,2,3}', '\x010g', E'\\x01\xc3\xa901',
	'\x00', '\x01', '\x02',
	'\xff000100000000007b14ae47e17a843f', bloom_new(1)::text || '00', left(bloom_new(1)::text, -2),
	overlay(bloom_new(1)::text PLACING '01' FROM 11 FOR 2)]) AS value;
SELECT 'zz'::bloom;
SELECT decode('01', 'hex')::bloom;			-- the casts are the same door
SELECT bloom(bytea '');

\echo '-- Soft errors: from PostgreSQL 16 on a caller may ask instead of failing.'
CREATE FUNCTION pg_temp.is_valid(value text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('server_version_num')::int >= 160000 THEN
		EXECUTE 'SELECT pg_input_is_valid($1, ''bloom'')' INTO STRICT value USING value;
		RETURN value::boolean;
	END IF;
	PERFORM value::bloom;
	RETURN true;
EXCEPTION WHEN invalid_text_representation OR invalid_binary_representation OR feature_not_supported THEN
	-- a hard error: not what pg_input_is_valid may end with
	RETURN CASE WHEN current_setting('server_version_num')::int < 160000 THEN false END;
END
$$;
SELECT value, pg_temp.is_valid(value)
FROM (VALUES (1, bloom_new(1)::text), (2, ''), (3, '0'), (4, 'zz'), (5, '\x02'), (6, '\x01'),
	(7, bloom_new(1)::text || '00'))
	AS v(n, value)
ORDER BY n;

\echo '-- bytea: there and back by explicit casts only, because few bytes are a filter'
SELECT pg_typeof(bloom_new(1)::bytea), length(bloom_new(1)::bytea),
	bloom_new(1)::bytea = bloom_send(bloom_new(1)) AS send_is_cast,
	CAST(CAST(bloom_new(7) AS bytea) AS bloom) = bloom_new(7) AS same;
CREATE TABLE filters (id int PRIMARY KEY, f bloom, b bytea);
\set VERBOSITY terse
INSERT INTO filters VALUES (1, ''::bytea);			-- no assignment cast
INSERT INTO filters (id, b) VALUES (1, bloom_new(1));
SELECT 'a'::text || length(bloom_new(1));			-- no implicit cast
SELECT bloom_new(1)::int;
\set VERBOSITY default

\echo '-- Equality is that of the bytes'
SELECT a = b AS eq, a <> b AS ne, (bloom_hash(a) = bloom_hash(b)) = (a = b) AS hash_agrees,
	(bloom_hash_extended(a, 5) = bloom_hash_extended(b, 5)) = (a = b) AS extended_agrees
FROM (VALUES
	(bloom_new(100), bloom_new(100)),
	(bloom_new(100), bloom_new(101)),
	(bloom_new(100), bloom_new(100, 0.02)),
	(bloom_new(100), bloom_new(100, 0.02)),
	(bloom_new(100), bloom_new(100, 0.01, true)),
	(bloom_add(NULL, 1), bloom_add(NULL, 1::smallint)),
	(bloom_add(NULL, 1), bloom_add(NULL, 2)),
	(bloom_add(NULL, ARRAY[1, 2]), bloom_add(bloom_add(NULL, 2), 1)),
	(bloom_add(NULL, '1'::text), bloom_add(NULL, '1'::bytea))) AS v(a, b);
\echo '-- NULL is not equal, and not unequal'
SELECT bloom_new() = NULL AS eq, NULL <> bloom_new() AS ne, bloom_new() IS DISTINCT FROM NULL AS is_distinct;
\echo '-- the seed of the extended hash matters, and seed 0 gives the plain hash, as partitions and large joins'
\echo '-- want it'
SELECT bloom_hash_extended(f, 0) = bloom_hash_extended(f, 1) AS same,
	(bloom_hash_extended(f, 0) & 4294967295) = (bloom_hash(f)::bigint & 4294967295) AS lower_half
FROM bloom_add(NULL, 1) f;
\echo '-- of one TOASTed value: lengths are compared first, then the bytes'
INSERT INTO filters (id, f) SELECT n, bloom_agg(i)
	FROM generate_series(1, 4) n, generate_series(1, (100 ^ n / 100)::int) i GROUP BY n;
INSERT INTO filters VALUES (5, NULL), (6, bloom_new()), (7, bloom_new(1000, 0.001) | bloom_new(10, 0.1));
SELECT array_agg(a.id ORDER BY a.id) AS equal, count(*) FILTER (WHERE a.id <> b.id) AS others FROM filters a, filters b
	WHERE (a.f = b.f) IS TRUE;
SELECT f FROM filters ORDER BY f;

\echo '-- so that GROUP BY, DISTINCT, hash joins and hash indexes work; test/t/010_movement.pl has REPLICA'
\echo '-- IDENTITY FULL'
CREATE TABLE many (id int, f bloom);
INSERT INTO many SELECT i, bloom_add(NULL, i % 10) FROM generate_series(1, 200) i;
INSERT INTO many VALUES (0, NULL), (-1, NULL);
CREATE INDEX many_f ON many USING hash (f);
ANALYZE many;
SELECT times, count(*) AS filters FROM (SELECT count(*) AS times FROM many GROUP BY f) AS g GROUP BY times
	ORDER BY times;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SET enable_seqscan = off;
SELECT count(*) AS pairs, (SELECT count(*) FROM many WHERE f = bloom_add(NULL, 3)) AS by_index FROM many a
	JOIN many b ON a.f = b.f;
RESET enable_mergejoin;
RESET enable_nestloop;
RESET enable_seqscan;
DROP TABLE many;

\echo '-- Storage: out of line and never compressed, because bits do not compress'
SELECT attname, attstorage FROM pg_attribute WHERE attrelid = 'filters'::regclass AND attname IN ('f', 'b')
ORDER BY 1 DESC;
\echo '-- Even an empty filter, all zeros, is as long on disk as it says; a short one has a length word of one'
\echo '-- byte.'
TRUNCATE filters;
INSERT INTO filters (id, f) VALUES (1, bloom_new(10)), (2, bloom_new(90)), (3, bloom_new(10000)),
	(4, bloom_new(1000000));
SELECT id, octet_length(f::bytea) + 4 = (bloom_info(f)).bytes AS bytes_are_right,
	pg_column_size(f) - octet_length(f::bytea) AS overhead
FROM filters ORDER BY id;
SELECT reltoastrelid::regclass AS toast FROM pg_class WHERE oid = 'filters'::regclass \gset
SELECT count(DISTINCT chunk_id) AS values_out_of_line,
	sum(length(chunk_data)) = (SELECT sum(octet_length(f::bytea)) FROM filters WHERE id >= 3) AS of_full_length
FROM :toast;
DROP TABLE filters;

\echo '-- A value compared with itself is not read: an add that changes nothing returns the stored value, and'
\echo '-- the rebuild of a feed compares the two.'
CREATE TABLE compared AS SELECT bloom_agg(i) AS f FROM generate_series(1, 100000) i;
CREATE FUNCTION pg_temp.blocks_read(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
END $$;
SELECT pg_temp.blocks_read('SELECT f <> f, f = f FROM compared')
	= pg_temp.blocks_read('SELECT f IS NULL FROM compared') AS not_read,
	pg_temp.blocks_read($$SELECT f <> ('\x' || encode(f::bytea, 'hex'))::bloom
		FROM compared$$) > 10 AS read_where_it_must_be,
	(SELECT f = ('\x' || encode(f::bytea, 'hex'))::bloom FROM compared) AS equal;
DROP TABLE compared;

\echo '-- ANALYZE reads and compares no filters of more than 1 kB, which lie out of line.'
CREATE DOMAIN analyzed_items AS bloom;
CREATE TABLE analyzed (toasted bloom, inline bloom, of_domain analyzed_items, no_filter bloom, padding text)
WITH (toast_tuple_target = 128);
ALTER TABLE analyzed ALTER inline SET STORAGE plain, ALTER padding SET STORAGE plain;
INSERT INTO analyzed (toasted, inline, of_domain, padding)
SELECT bloom_new(2000), CASE WHEN i % 4 > 0 THEN bloom_new(10) END, bloom_new(2000), repeat('x', 1000)
	FROM generate_series(1, 100) AS i;

BEGIN;
SELECT oid AS rows, reltoastrelid AS values, pg_stat_get_xact_blocks_fetched(oid) AS rows_before,
	pg_stat_get_xact_blocks_fetched(reltoastrelid) AS values_before
FROM pg_class WHERE oid = 'analyzed'::regclass \gset
ANALYZE analyzed;
SELECT pg_stat_get_xact_blocks_fetched(:rows) > :rows_before AS reads_rows,
	pg_stat_get_xact_blocks_fetched(:values) > :values_before AS reads_values;
COMMIT;
SELECT attname, null_frac, avg_width, n_distinct, most_common_vals IS NULL AS no_values,
	histogram_bounds IS NULL AS no_bounds
FROM pg_stats WHERE tablename = 'analyzed' AND attname <> 'padding' ORDER BY attname;
DROP TABLE analyzed;
DROP DOMAIN analyzed_items;

\echo '-- Values with as many layers as there can be, each of which says that it has room: valid, and made to keep the'
\echo '-- server busy.  What is done with them has results.'
\pset tuples_only on
CREATE FUNCTION pg_temp.little(number bigint, bytes int) RETURNS text LANGUAGE sql AS
'SELECT string_agg(lpad(to_hex((number >> (8 * i)) & 255), 2, $$0$$), $$$$ ORDER BY i)
	FROM generate_series(0, bytes - 1) i';
-- Each layer has one bit set, and a capacity of its own.
CREATE FUNCTION pg_temp.many_layers(n int, words int, hashes int, capacity int, fpr float8, per_slice int,
	first_bit int DEFAULT 0) RETURNS bloom LANGUAGE sql AS $$
SELECT decode('01' || CASE WHEN per_slice > 0 THEN '21' ELSE '01' END || pg_temp.little(n, 2) || '00000000'
	|| (SELECT string_agg(substring(encode(float8send(fpr), 'hex') FROM 15 - 2 * i FOR 2), '' ORDER BY i)
		FROM generate_series(0, 7) i)
	|| CASE WHEN per_slice > 0 THEN pg_temp.little(6::bigint * 86400000000, 8) || '0000000000000080'
		|| pg_temp.little(6, 4) || '00000000' ELSE '' END
	|| (SELECT string_agg(pg_temp.little((hashes::bigint << 26) | words, 4)
		|| pg_temp.little(capacity + i % (capacity / 4), 4)
			|| pg_temp.little(capacity + i % (capacity / 4) - 1, 4) || '01000000'
			|| CASE WHEN per_slice > 0 THEN pg_temp.little(8000 + i / per_slice, 8) ELSE '' END, '' ORDER BY i)
				FROM generate_series(0, n - 1) i)
	|| (SELECT string_agg(repeat('00', (i + first_bit) % (8 * words)) || '01'
		|| repeat('00', 8 * words - 1 - (i + first_bit) % (8 * words)), '' ORDER BY i)
		FROM generate_series(0, n - 1) i), 'hex')::bloom
$$;
CREATE TABLE hostile AS
SELECT name, pg_temp.many_layers(4095, words, hashes, capacity, fpr, 0) AS f,
	pg_temp.many_layers(4095, words, hashes, capacity, fpr, 0, 7) AS g
FROM (VALUES ('many probes', 64, 63, 150, 0.9::float8), ('small', 2, 63, 10, 0.9), ('one probe', 64, 1, 2000, 0.9),
	('low rate', 64, 30, 90, 0.01)) AS v (name, words, hashes, capacity, fpr);
\echo '-- one item, a few, and those of a page, which find room or make one more layer'
SELECT name, one @> 1 AS one, (bloom_info(one)).layers, bloom_contains_all(few, '{1,2,3}'::int[]) AS few,
	(bloom_info(few)).layers
FROM hostile, bloom_add(f, 1) AS one, bloom_add(f, '{1,2,3}'::int[]) AS few;
SELECT name, bloom_contains_all(page, ARRAY(SELECT generate_series(1, 300))) AS page, (bloom_info(page)).layers
FROM hostile, bloom_add(f, ARRAY(SELECT generate_series(1, 300))) AS page WHERE name <> 'low rate';
\echo '-- tests, and what describes'
SELECT name, f @> 1 AS contained, cardinality(ARRAY(SELECT generate_series(1, 1000)) - f) AS remaining,
	(bloom_info(f)).items, round(bloom_fpr(f)::numeric, 6) AS fpr, bloom_cardinality(f),
	(SELECT sum((l).items) FROM (SELECT bloom_layers(f) AS l LIMIT 100) AS l) AS items_of_100_layers
FROM hostile;
\echo '-- unions: with itself, of two, and of many'
SELECT name, (bloom_info(f | f)).layers AS itself, (bloom_info(f | bloom_add(NULL, 1))).layers AS small FROM hostile;
CREATE FUNCTION pg_temp.layers_of_union(a bloom, b bloom) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN (bloom_info(a | b)).layers;
EXCEPTION WHEN program_limit_exceeded THEN
	RETURN SQLERRM;
END
$$;
SELECT name, pg_temp.layers_of_union(f, g), (SELECT (bloom_info(bloom_union_agg(h))).layers
	FROM (VALUES (f), (f), (f)) AS v (h)) AS agg FROM hostile;

\echo '-- windows: as many slices, and as many layers of one slice'
SELECT per_slice, one @> 1 AS one, (bloom_info(one)).layers,
	bloom_contains_all(few, ARRAY(SELECT generate_series(1, 50))) AS few,
	(bloom_info(bloom_expire(f, '2022-01-01 00:00+00'))).layers AS expired, pg_temp.layers_of_union(f, f)
FROM (SELECT per_slice, pg_temp.many_layers(4000, 64, 63, 150, 0.9, per_slice) AS f
	FROM unnest('{1,40,4000}'::int[]) AS per_slice) AS f,
	bloom_add_at(f, 1, '2000-01-01 00:00+00'::timestamptz + 8000 * interval '1 day') AS one,
	bloom_add_at(f, ARRAY(SELECT generate_series(1, 50)),
		ARRAY(SELECT '2000-01-01 00:00+00'::timestamptz + (8000 + i % 6) * interval '1 day' FROM generate_series(1, 50) i))
		AS few
ORDER BY per_slice;
DROP TABLE hostile;
