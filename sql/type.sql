--
-- The type by itself: its text, its bytes, its storage, its equality.  What the bytes mean is
-- tested elsewhere; here they only have to be kept.  At the end are values that take long.
--

-- Text form: hexadecimal digits.  Version 1, no kind yet, one layer, a reserved field, fpr 0.01;
-- one word, one probe, capacity 1; 64 bits unset
SELECT bloom_new(1);
SELECT bloom_new(1)::text = bloom_new(1)::bytea::text AS like_bytea;
SELECT bloom_new(1)::text::bloom = bloom_new(1) AS same;

-- with or without \x, in lower or upper case
SELECT '01000100000000007b14ae47e17a843f010000080100000000000000000000000000000000000000'::bloom
	= bloom_new(1) AS same;
SELECT '\x01000100000000007B14AE47E17A843F010000080100000000000000000000000000000000000000'::bloom
	= bloom_new(1) AS same;

-- what comes in goes out again, whatever is in it
CREATE TEMP TABLE samples (name text, f bloom);
INSERT INTO samples VALUES
	('empty', bloom_new()),
	('small', bloom_new(5, 0.5)),
	('integer', bloom_add(NULL, 1)),
	('empty text', bloom_add(NULL, ''::text)),
	('layers', bloom_add(bloom_new(3, 0.0001), '{a,b,c,d,e,f,g,h,i,j}'::text[])),
	('large', (SELECT bloom_agg(i) FROM generate_series(1, 40000) i)),
	('counting', bloom_add(bloom_new(10, 0.01, true), 7)),
	('union', bloom_new(100) | bloom_new(400) | bloom_new(500));
SELECT name, f::text::bloom = f AS as_text FROM samples ORDER BY name;
SELECT name, f::bytea::bloom = f AS as_bytea FROM samples ORDER BY name;
SELECT name, bloom(bloom_send(f)) = f AS as_binary FROM samples ORDER BY name;
DROP TABLE samples;

-- what is no text of bytes
SELECT 'zz'::bloom;
\echo :LAST_ERROR_SQLSTATE
SELECT 'x'::bloom;
SELECT '\x0'::bloom;
SELECT '\X01'::bloom;
SELECT '\x01\x02'::bloom;
SELECT '01 02'::bloom;
SELECT '{1,2,3}'::bloom;
SELECT '\x010g'::bloom;
SELECT E'\\x01\xc3\xa901'::bloom;

-- digits are not enough: every input passes the validator, which says what is wrong
SELECT ''::bloom;
\echo :LAST_ERROR_SQLSTATE
SELECT '\x'::bloom;
SELECT '\x00'::bloom;
SELECT '\x01'::bloom;
SELECT (bloom_new(1)::text || '00')::bloom;
SELECT left(bloom_new(1)::text, -2)::bloom;
SELECT overlay(bloom_new(1)::text PLACING '01' FROM 11 FOR 2)::bloom;
SELECT '\x02'::bloom;
\echo :LAST_ERROR_SQLSTATE
SELECT '\xff000100000000007b14ae47e17a843f'::bloom;

-- also that of the casts
SELECT decode('01', 'hex')::bloom;
SELECT bloom(bytea '');

-- Soft errors: from PostgreSQL 16 on a caller may ask instead of failing.  A hard error, which
-- pg_input_is_valid() must not end with, is NULL here.
CREATE FUNCTION pg_temp.is_valid(value text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	valid boolean;
BEGIN
	IF current_setting('server_version_num')::int >= 160000 THEN
		EXECUTE 'SELECT pg_input_is_valid($1, ''bloom'')' INTO STRICT valid USING value;
		RETURN valid;
	END IF;
	PERFORM value::bloom;
	RETURN true;
EXCEPTION
	WHEN invalid_text_representation OR invalid_binary_representation OR feature_not_supported THEN
		RETURN CASE WHEN current_setting('server_version_num')::int < 160000 THEN false END;
END
$$;
SELECT pg_temp.is_valid(bloom_new(1)::text);
SELECT pg_temp.is_valid('');
SELECT pg_temp.is_valid('0');
SELECT pg_temp.is_valid('zz');
SELECT pg_temp.is_valid('\x02');
SELECT pg_temp.is_valid('\x01');
SELECT pg_temp.is_valid(bloom_new(1)::text || '00');

-- bytea: there and back
SELECT pg_typeof(bloom_new(1)::bytea), length(bloom_new(1)::bytea);
SELECT bloom_new(1)::bytea = bloom_send(bloom_new(1)) AS same;
SELECT CAST(CAST(bloom_new(7) AS bytea) AS bloom) = bloom_new(7) AS same;

-- by explicit casts only, because few bytes are a filter
CREATE TEMP TABLE filters (id int PRIMARY KEY, f bloom, b bytea);
\set VERBOSITY terse
INSERT INTO filters VALUES (1, ''::bytea);
INSERT INTO filters (id, b) VALUES (1, bloom_new(1));
SELECT length(bloom_new(1));
SELECT bloom_new(1)::int;
\set VERBOSITY default

--
-- Equality is that of the bytes
--
CREATE TEMP TABLE pairs (name text, a bloom, b bloom);
INSERT INTO pairs VALUES
	('empty', bloom_new(100), bloom_new(100)),
	('other capacity', bloom_new(100), bloom_new(101)),
	('other rate', bloom_new(100), bloom_new(100, 0.02)),
	('counting', bloom_new(100), bloom_new(100, 0.01, true)),
	('item of another type', bloom_add(NULL, 1), bloom_add(NULL, 1::smallint)),
	('item of another kind', bloom_add(NULL, '1'::text), bloom_add(NULL, '1'::bytea)),
	('other item', bloom_add(NULL, 1), bloom_add(NULL, 2)),
	('other order', bloom_add(NULL, ARRAY[1, 2]), bloom_add(bloom_add(NULL, 2), 1));
SELECT name, a = b AS eq, a <> b AS ne FROM pairs ORDER BY name;

-- and so are the hashes
SELECT name, bloom_hash(a) = bloom_hash(b) AS hash FROM pairs ORDER BY name;
SELECT name, bloom_hash_extended(a, 5) = bloom_hash_extended(b, 5) AS extended
FROM pairs ORDER BY name;
DROP TABLE pairs;

-- the seed of the extended hash matters, and seed 0 gives the plain hash, as partitions and large
-- joins want it
SELECT bloom_hash_extended(f, 0) = bloom_hash_extended(f, 1) AS same FROM bloom_add(NULL, 1) f;
SELECT (bloom_hash_extended(f, 0) & 4294967295) = (bloom_hash(f)::bigint & 4294967295) AS lower_half
FROM bloom_add(NULL, 1) f;

-- NULL is not equal, and not unequal
SELECT bloom_new() = NULL AS eq, NULL <> bloom_new() AS ne;
SELECT bloom_new() IS DISTINCT FROM NULL AS is_distinct;

-- of TOASTed values lengths are compared first, then the bytes
INSERT INTO filters (id, f)
	SELECT n, bloom_agg(i)
	FROM generate_series(1, 4) n, generate_series(1, (100 ^ n / 100)::int) i GROUP BY n;
INSERT INTO filters VALUES
	(5, NULL),
	(6, bloom_new()),
	(7, bloom_new(1000, 0.001) | bloom_new(10, 0.1));
SELECT a.id, b.id FROM filters a, filters b WHERE a.f = b.f ORDER BY 1, 2;

-- the order is that of the bytes, as bytea has it
SELECT bool_and((a.f < b.f) = (a.f::bytea < b.f::bytea)
		AND (a.f <= b.f) = (a.f::bytea <= b.f::bytea)
		AND (a.f > b.f) = (a.f::bytea > b.f::bytea)
		AND (a.f >= b.f) = (a.f::bytea >= b.f::bytea)
		AND (bloom_cmp(a.f, b.f) = 0) = (a.f = b.f)) AS order
FROM filters a, filters b WHERE a.f IS NOT NULL AND b.f IS NOT NULL;
SELECT array_agg(id ORDER BY f, id) = array_agg(id ORDER BY f::bytea, id) AS sorted FROM filters;

-- GROUP BY, DISTINCT, hash indexes and joins work, sorted and hashed; test/t/010_movement.pl has
-- REPLICA IDENTITY FULL
CREATE TEMP TABLE many (id int, f bloom);
INSERT INTO many SELECT i, bloom_add(NULL, i % 10) FROM generate_series(1, 200) i;
INSERT INTO many VALUES (0, NULL), (-1, NULL);
CREATE INDEX many_f ON many USING hash (f);
ANALYZE many;
SELECT times, count(*) AS filters
FROM (SELECT count(*) AS times FROM many GROUP BY f) AS g GROUP BY times ORDER BY times;
SELECT count(*) FROM (SELECT DISTINCT f FROM many) AS d;
SET enable_seqscan = off;
SELECT count(*) FROM many WHERE f = bloom_add(NULL, 3);
RESET enable_seqscan;
SET enable_mergejoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM many a JOIN many b ON a.f = b.f;
SELECT count(*) FROM many a JOIN many b ON a.f = b.f;
RESET enable_mergejoin;
SET enable_hashjoin = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM many a JOIN many b ON a.f = b.f;
SELECT count(*) FROM many a JOIN many b ON a.f = b.f;
RESET enable_hashjoin;
RESET enable_nestloop;
SELECT count(DISTINCT f), count(DISTINCT many.*) FROM many;
SELECT count(*) FROM many a WHERE (a.id, a.f) IN (SELECT id, f FROM many);
SELECT max(n) FROM (SELECT row_number() OVER (PARTITION BY f) AS n FROM many) AS w;
DROP TABLE many;

--
-- Storage: out of line and never compressed, because bits do not compress
--
SELECT attname, attstorage FROM pg_attribute
WHERE attrelid = 'filters'::regclass AND attname IN ('f', 'b') ORDER BY attname;

-- even an empty filter, all zeros, is as long on disk as it says
TRUNCATE filters;
INSERT INTO filters (id, f) VALUES
	(1, bloom_new(10)),
	(2, bloom_new(90)),
	(3, bloom_new(10000)),
	(4, bloom_new(1000000));
SELECT id, octet_length(f::bytea) + 4 = bytes AS right FROM filters, bloom_info(f) ORDER BY id;

-- a short one has a length word of one byte, a longer one of four, one out of line none
SELECT id, pg_column_size(f) - octet_length(f::bytea) AS overhead FROM filters ORDER BY id;
SELECT reltoastrelid::regclass AS toast FROM pg_class WHERE oid = 'filters'::regclass \gset
SELECT count(DISTINCT chunk_id),
	sum(length(chunk_data))
		= (SELECT sum(octet_length(f::bytea)) FROM filters WHERE id >= 3) AS of_full_length
FROM :toast;
DROP TABLE filters;

-- A value compared with itself is not read: an add that changes nothing returns the stored value,
-- and the rebuild of a feed compares the two.
CREATE TABLE compared AS SELECT bloom_agg(i) AS f FROM generate_series(1, 100000) i;
CREATE FUNCTION pg_temp.blocks_read(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
	plan := plan -> 0 -> 'Plan';
	RETURN (plan ->> 'Shared Hit Blocks')::bigint + (plan ->> 'Shared Read Blocks')::bigint;
END
$$;
SELECT pg_temp.blocks_read('SELECT f IS NULL FROM compared') AS of_the_row \gset
SELECT pg_temp.blocks_read('SELECT f = f FROM compared') = :of_the_row AS not_read;
SELECT pg_temp.blocks_read('SELECT f <> f FROM compared') = :of_the_row AS not_read;

-- where it must be read it is
SELECT pg_temp.blocks_read($$
	SELECT f <> ('\x' || encode(f::bytea, 'hex'))::bloom FROM compared$$) > 10 AS read;
SELECT f = ('\x' || encode(f::bytea, 'hex'))::bloom AS equal FROM compared;
DROP TABLE compared;

-- ANALYZE reads and compares no filters of more than 1 kB, which lie out of line
CREATE DOMAIN analyzed_items AS bloom;
CREATE TABLE analyzed (
	toasted bloom,
	inline bloom,
	of_domain analyzed_items,
	no_filter bloom,
	padding text
) WITH (toast_tuple_target = 128);
ALTER TABLE analyzed ALTER inline SET STORAGE plain, ALTER padding SET STORAGE plain;
INSERT INTO analyzed (toasted, inline, of_domain, padding)
	SELECT bloom_new(2000), CASE WHEN i % 4 > 0 THEN bloom_new(10) END, bloom_new(2000),
		repeat('x', 1000)
	FROM generate_series(1, 100) AS i;

BEGIN;
SELECT oid AS rows, reltoastrelid AS values,
	pg_stat_get_xact_blocks_fetched(oid) AS rows_before,
	pg_stat_get_xact_blocks_fetched(reltoastrelid) AS values_before
FROM pg_class WHERE oid = 'analyzed'::regclass \gset
ANALYZE analyzed;
SELECT pg_stat_get_xact_blocks_fetched(:rows) > :rows_before AS reads_rows;
SELECT pg_stat_get_xact_blocks_fetched(:values) > :values_before AS reads_values;
COMMIT;
SELECT attname, null_frac, avg_width, n_distinct, most_common_vals IS NULL AS no_values,
	histogram_bounds IS NULL AS no_bounds
FROM pg_stats WHERE tablename = 'analyzed' AND attname <> 'padding' ORDER BY attname;
DROP TABLE analyzed;
DROP DOMAIN analyzed_items;

--
-- Values with as many layers as there can be, each of which says that it has room: valid, and made
-- to keep the server busy.  What is done with them has results.
--
CREATE FUNCTION pg_temp.little(number bigint, bytes int) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(lpad(to_hex((number >> (8 * i)) & 255), 2, '0'), '' ORDER BY i)
	FROM generate_series(0, bytes - 1) i
$$;
-- each layer has one bit set, and a capacity of its own
CREATE FUNCTION pg_temp.many_layers(n int, words int, hashes int, capacity int, fpr float8,
									per_slice int, first_bit int DEFAULT 0) RETURNS bloom
LANGUAGE sql AS $$
	SELECT decode(
		-- the header
		CASE WHEN per_slice > 0 THEN '0121' ELSE '0101' END || pg_temp.little(n, 2) || '00000000'
		|| (SELECT string_agg(substring(encode(float8send(fpr), 'hex') FROM 15 - 2 * i FOR 2), ''
							  ORDER BY i)
			FROM generate_series(0, 7) i)
		-- that of the window
		|| CASE WHEN per_slice > 0 THEN pg_temp.little(6::bigint * 86400000000, 8)
			|| '0000000000000080' || pg_temp.little(6, 4) || '00000000' ELSE '' END
		-- those of the layers
		|| (SELECT string_agg(
				pg_temp.little((hashes::bigint << 26) | words, 4)
				|| pg_temp.little(capacity + i % (capacity / 4), 4)
				|| pg_temp.little(capacity + i % (capacity / 4) - 1, 4)
				|| '01000000'
				|| CASE WHEN per_slice > 0 THEN pg_temp.little(8000 + i / per_slice, 8) ELSE '' END,
				'' ORDER BY i)
			FROM generate_series(0, n - 1) i)
		-- and the bits
		|| (SELECT string_agg(repeat('00', (i + first_bit) % (8 * words)) || '01'
				|| repeat('00', 8 * words - 1 - (i + first_bit) % (8 * words)), '' ORDER BY i)
			FROM generate_series(0, n - 1) i), 'hex')::bloom
$$;
CREATE TEMP TABLE hostile AS
	SELECT name, pg_temp.many_layers(4095, words, hashes, capacity, fpr, 0) AS f,
		pg_temp.many_layers(4095, words, hashes, capacity, fpr, 0, 7) AS g
	FROM (VALUES
		('many probes', 64, 63, 150, 0.9::float8),
		('small', 2, 63, 10, 0.9),
		('one probe', 64, 1, 2000, 0.9),
		('low rate', 64, 30, 90, 0.01)
	) AS v (name, words, hashes, capacity, fpr);

-- one item, a few, and those of a page, which find room or make one more layer
SELECT name, one @> 1 AS contained, layers
FROM hostile, bloom_add(f, 1) AS one, bloom_info(one) ORDER BY name;
SELECT name, bloom_contains_all(few, '{1,2,3}'::int[]) AS contained, layers
FROM hostile, bloom_add(f, '{1,2,3}'::int[]) AS few, bloom_info(few) ORDER BY name;
SELECT name, bloom_contains_all(page, ARRAY(SELECT generate_series(1, 300))) AS contained, layers
FROM hostile, bloom_add(f, ARRAY(SELECT generate_series(1, 300))) AS page, bloom_info(page)
WHERE name <> 'low rate' ORDER BY name;

-- tests
SELECT name, f @> 1 AS contained FROM hostile ORDER BY name;
SELECT name, cardinality(ARRAY(SELECT generate_series(1, 1000)) - f) AS remaining
FROM hostile ORDER BY name;

-- what describes
SELECT name, items, round(fpr_now::numeric, 6) AS fpr_now FROM hostile, bloom_info(f) ORDER BY name;
SELECT name, bloom_cardinality(f) FROM hostile ORDER BY name;
SELECT name, (SELECT sum((l).items) FROM (SELECT bloom_layers(f) AS l LIMIT 100) AS l)
FROM hostile ORDER BY name;

-- a union with itself, with a small one, and of many
SELECT name, layers FROM hostile, bloom_info(f | f) ORDER BY name;
SELECT name, layers FROM hostile, bloom_info(f | bloom_add(NULL, 1)) ORDER BY name;
SELECT name, (SELECT (bloom_info(bloom_union_agg(h))).layers FROM (VALUES (f), (f), (f)) AS v (h))
FROM hostile ORDER BY name;
-- with another one, whose layers have a bit each too
SELECT name, layers FROM hostile, bloom_info(f | g) ORDER BY name;
DROP TABLE hostile;

-- windows: as many slices, and as many layers of one slice
CREATE TEMP TABLE hostile AS
	SELECT per_slice, pg_temp.many_layers(4000, 64, 63, 150, 0.9, per_slice) AS f
	FROM unnest('{1,40,4000}'::int[]) AS per_slice;
SELECT per_slice, one @> 1 AS contained, layers
FROM hostile,
	bloom_add_at(f, 1, timestamptz '2000-01-01 00:00+00' + 8000 * interval '1 day') AS one,
	bloom_info(one)
ORDER BY per_slice;
SELECT per_slice, bloom_contains_all(few, items) AS contained
FROM hostile,
	(SELECT array_agg(i) AS items,
		array_agg(timestamptz '2000-01-01 00:00+00' + (8000 + i % 6) * interval '1 day') AS times
	 FROM generate_series(1, 50) i) AS i,
	bloom_add_at(f, items, times) AS few
ORDER BY per_slice;
SELECT per_slice, layers FROM hostile, bloom_info(bloom_expire(f, '2022-01-01 00:00+00'))
ORDER BY per_slice;
SELECT per_slice, layers FROM hostile, bloom_info(f | f) ORDER BY per_slice;
DROP TABLE hostile;
