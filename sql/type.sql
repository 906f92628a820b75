--
-- The type by itself: its text, its bytes, its storage, its equality.
-- What the bytes mean is tested elsewhere; here they only have to be kept.
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
	bool_and(bloom_in(bloom_send(f)) = f) AS binary
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
SELECT bloom_in(bytea '');

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
	(bloom_hash(a, 5) = bloom_hash(b, 5)) = (a = b) AS extended_agrees
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
SELECT bloom_hash(f, 0) = bloom_hash(f, 1) AS same,
	(bloom_hash(f, 0) & 4294967295) = (bloom_hash(f)::bigint & 4294967295) AS lower_half
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
