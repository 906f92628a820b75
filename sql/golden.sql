--
-- Golden values: fixed inputs make fixed bytes, in every release and on every
-- machine. A difference here is no reason to change expected/golden.out: stored
-- filters would lose their items. Other sizes and layers are harmless to stored
-- filters, but must be meant. test/t/001_format.pl runs this file as well and
-- hands the values to a reader that was written from doc/internals/format.md alone.
--
\pset format unaligned \pset footer off
\set ECHO none
CREATE TABLE golden (
	name text PRIMARY KEY,
	kind text NOT NULL,
	items text[] NOT NULL,		-- every item that the filter contains
	filter bloom NOT NULL
);

CREATE FUNCTION add_items(filter bloom, kind text, items text[]) RETURNS bloom
LANGUAGE sql AS $$
	SELECT CASE kind
		WHEN 'integer' THEN bloom_add(filter, items::bigint[])
		WHEN 'text' THEN bloom_add(filter, items)
		WHEN 'uuid' THEN bloom_add(filter, items::uuid[])
		WHEN 'bytea' THEN bloom_add(filter, items::bytea[])
	END
$$;

CREATE FUNCTION add_one_by_one(filter bloom, kind text, items text[]) RETURNS bloom
LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. cardinality(items) LOOP
		filter := add_items(filter, kind, items[i:i]);
	END LOOP;
	RETURN filter;
END
$$;

-- each item into the slice of its time
CREATE FUNCTION aggregate_at(kind text, items text[], times timestamptz[], width interval, slices integer, fpr float8)
RETURNS bloom LANGUAGE sql AS $$
	SELECT CASE kind
		WHEN 'integer' THEN (SELECT bloom_window_agg(item::bigint, at, width, slices, fpr)
			FROM unnest(items, times) e (item, at))
		WHEN 'text' THEN (SELECT bloom_window_agg(item, at, width, slices, fpr) FROM unnest(items, times) e (item, at))
		WHEN 'uuid' THEN (SELECT bloom_window_agg(item::uuid, at, width, slices, fpr) FROM unnest(items, times) e (item, at))
		WHEN 'bytea' THEN (SELECT bloom_window_agg(item::bytea, at, width, slices, fpr)
			FROM unnest(items, times) e (item, at))
	END
$$;

-- n times, one every so often, which begin before 2000
CREATE FUNCTION some_times(n integer, pause interval) RETURNS timestamptz[]
LANGUAGE sql AS $$
	SELECT array_agg(timestamptz '1999-12-30 21:00+00' + i * pause ORDER BY i) FROM generate_series(1, n) i
$$;

-- the first n of an endless row of items
CREATE FUNCTION some_items(kind text, n integer) RETURNS text[]
LANGUAGE sql AS $$
	SELECT array_agg(CASE kind
		WHEN 'integer' THEN (7199254740993000000 + i * 4194304::bigint)::text
		WHEN 'text' THEN 'item ' || i
		WHEN 'uuid' THEN md5(i::text)::uuid::text
		WHEN 'bytea' THEN sha256(i::text::bytea)::text
	END ORDER BY i)
	FROM generate_series(1, n) i
$$;

-- Small enough to look at.
INSERT INTO golden
SELECT name, kind, items::text[],
	add_items(bloom_new(capacity, fpr), kind, items::text[])
FROM (VALUES
	('one', 'integer', '{42}', 1, 0.01),
	('ten', 'integer', '{1,2,3,4,5,6,7,8,9,10}', 10, 0.01),
	('rate 1/2', 'integer', '{1,2,3,4,5,6,7,8,9,10}', 10, 0.5),
	('rate 1e-4', 'integer', '{1,2,3,4,5,6,7,8,9,10}', 10, 0.0001),
	('rate 1e-9', 'integer', '{1,2,3,4,5,6,7,8,9,10}', 10, 1e-9),
	('extremes', 'integer',
	 '{0,-1,1,-32768,32767,-2147483648,2147483647,-9223372036854775808,9223372036854775807}',
	 9, 0.01),
	('text', 'text', '{"",a,apple,"one chunk of 16.","17 bytes of text:"}', 5, 0.01),
	('empty text', 'text', '{""}', 1, 0.01),
	('uuid', 'uuid',
	 '{00000000-0000-0000-0000-000000000000,123e4567-e89b-12d3-a456-426614174000,ffffffff-ffff-ffff-ffff-ffffffffffff}',
	 3, 0.01),
	('bytea', 'bytea', '{\\x,\\x00,\\x0000,\\xff,\\x0123456789abcdef}', 5, 0.01),
	('text as bytea', 'bytea', '{\\x,\\x61,\\x6170706c65}', 5, 0.01),
	('room for more', 'integer', '{1}', 20, 0.01)
) spec (name, kind, items, capacity, fpr);

-- Bytes of every length up to two chunks of the hash and a rest.
INSERT INTO golden
SELECT 'lengths 0 to 33', 'bytea', items, bloom_add(bloom_new(34), items::bytea[])
FROM (SELECT array_agg(substr(sha256('a') || sha256('b'), 1, length)::text ORDER BY length)
	  FROM generate_series(0, 33) length) lengths (items);

-- Layers: grown one by one, and side by side after a union.
INSERT INTO golden
SELECT 'grown ' || kind, kind, some_items(kind, 3),
	add_one_by_one(bloom_new(1, 0.02), kind, some_items(kind, 3))
FROM unnest('{integer,text,uuid,bytea}'::text[]) kind;

INSERT INTO golden
SELECT 'union of two layers', 'integer', '{1,2,3,4,5,6,7,8,9,10,42}'::text[],
	(SELECT filter FROM golden WHERE name = 'ten') |
	(SELECT filter FROM golden WHERE name = 'one');
INSERT INTO golden
SELECT 'union in one layer', 'integer', '{1,2,3}'::text[],
	bloom_union_agg(bloom_add(bloom_new(10), i))
FROM generate_series(1, 3) i;

-- Counting filters.
INSERT INTO golden
SELECT 'counting', 'integer', '{1,2}'::text[],
	bloom_add(bloom_new(2, 0.01, true), '{1,2,2,2}'::bigint[]);
INSERT INTO golden
SELECT 'counting, one removed', 'integer', '{2}'::text[],
	bloom_remove(filter, '{1,2}'::bigint[])
FROM golden WHERE name = 'counting';
INSERT INTO golden
SELECT 'counting to the limit', 'text', '{again}'::text[],
	bloom_add(bloom_new(1, 0.01, true), array_fill('again'::text, '{20}'));

-- Windowed filters: slices before and after 2000, and a floor.
INSERT INTO golden
SELECT 'window ' || kind, kind, some_items(kind, 4),
	aggregate_at(kind, some_items(kind, 4), some_times(4, '9 hours'), '1 day', 1, 0.1)
FROM unnest('{integer,text,uuid,bytea}'::text[]) kind;
INSERT INTO golden
SELECT 'window, expired', kind, items[3:], bloom_expire(filter, '2000-01-02 21:00+00')
FROM golden WHERE name = 'window text';
INSERT INTO golden
SELECT 'window of a union', 'text', array_append(items, 'a'), bloom_expire(filter, '2000-01-02 06:00+00') |
	bloom_add_at(bloom_expire(bloom_window('1 day', 1, 0.5), '2000-01-02 04:00+00'), 'a'::text, '2000-01-01 04:00+00')
FROM golden WHERE name = 'window, expired';
INSERT INTO golden
SELECT 'window, 1,000 slices', 'integer', some_items('integer', 2),
	aggregate_at('integer', some_items('integer', 2), some_times(2, '11 hours'), '36 hours', 1000, 0.1);
INSERT INTO golden
SELECT 'window, two slices', 'integer', '{1,2}'::text[],
	bloom_add_at(bloom_add_at(bloom_window('1 day', 6, 0.5), 1, times[1]), 2, times[2])
FROM some_times(2, '1 hour') AS times;
\set ECHO all

SELECT name, filter FROM golden ORDER BY name COLLATE "C";

-- An empty filter knows no kind.
SELECT bloom_new(1), bloom_new(1, 0.01, true) AS counting;
SELECT bloom_window('30 days') AS "window";

-- Positions that an item sets, of the m there are.
SELECT kind, item, bits, array_agg(i ORDER BY i) AS positions
FROM (VALUES
	('integer', '0', 1000), ('integer', '42', 1000),
	('integer', '-9223372036854775808', 1000), ('integer', '42', 50000),
	('text', '', 1000), ('text', '42', 1000), ('text', 'a text of more than two chunks of the hash', 1000),
	('uuid', '123e4567-e89b-12d3-a456-426614174000', 1000),
	('bytea', '\x', 1000), ('bytea', '\x2a00000000000000', 1000)
) one (kind, item, capacity),
	LATERAL (SELECT add_items(bloom_new(capacity, 0.01), kind, ARRAY[item])::bytea) made (bytes),
	LATERAL (SELECT (length(bytes) - 32) * 8) size (bits),
	LATERAL generate_series(0, bits - 1) i
WHERE get_bit(bytes, 32 * 8 + i) = 1
GROUP BY kind, item, capacity, bits
ORDER BY kind, item, capacity;

\set ECHO none
-- Too large to look at. The last ones are blocked.
CREATE TABLE large AS SELECT * FROM golden LIMIT 0;

INSERT INTO large
SELECT format('%s of %s at %s', n, kind, fpr), kind, some_items(kind, n),
	add_items(bloom_new(n, fpr), kind, some_items(kind, n))
FROM (VALUES
	('integer', 300, 0.01), ('text', 299, 0.01), ('uuid', 1000, 0.001), ('bytea', 1000, 0.5),
	('integer', 3650, 0.01), ('text', 3650, 0.0001)
) spec (kind, n, fpr);

INSERT INTO large
SELECT 'grown one by one', 'integer', some_items('integer', 2000),
	add_one_by_one(NULL, 'integer', some_items('integer', 2000));
INSERT INTO large
SELECT 'grown by hundreds', 'text', some_items('text', 2000),
	(SELECT add_items(add_items(add_items(NULL, 'text', items[1:100]), 'text', items[101:1500]),
					  'text', items[1501:2000])
	 FROM (SELECT some_items('text', 2000)) i (items));
INSERT INTO large
SELECT 'counting uuids', 'uuid', some_items('uuid', 500),
	bloom_add(bloom_new(500, 0.01, true), some_items('uuid', 500)::uuid[]);

INSERT INTO large
SELECT 'aggregated', 'integer', array_agg(i::text), bloom_agg(i) FROM generate_series(1, 5000) i;
INSERT INTO large
SELECT 'aggregated with headroom', 'text', array_agg(i::text), bloom_agg(i::text, 0.001, 0.2)
FROM generate_series(1, 5000) i;
INSERT INTO large
SELECT 'blocked', 'integer', array_agg(i::text), bloom_agg(i) FROM generate_series(1, 60000) i;
INSERT INTO large
SELECT 'blocked, rate 1e-4', 'text', array_agg(i::text), bloom_agg(i::text, 0.0001)
FROM generate_series(1, 15000) i;
INSERT INTO large
SELECT 'blocked and counting', 'integer', array_agg(i::text),
	bloom_add(bloom_new(30000, 0.01, true), array_agg(i))
FROM generate_series(1, 30000) i;

-- a month of 20 items a day: added one by one and expired each night, all at once, by the aggregate
CREATE FUNCTION kept_nightly(filter bloom, items text[], times timestamptz[]) RETURNS bloom
LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. cardinality(items) LOOP
		filter := bloom_add_at(filter, items[i]::bigint, times[i]);
		IF i % 20 = 0 THEN
			filter := bloom_expire(filter, times[i]);
		END IF;
	END LOOP;
	RETURN filter;
END
$$;

INSERT INTO large
SELECT 'window kept nightly', 'integer', items[201:], kept_nightly(bloom_window('30 days', 6, 0.01), items, times)
FROM some_items('integer', 800) items, some_times(800, '72 minutes') times;
INSERT INTO large
SELECT 'window at once', 'uuid', items, bloom_add_at(bloom_window('30 days', 6, 0.001), items::uuid[], times)
FROM some_items('uuid', 600) items, some_times(600, '72 minutes') times;
INSERT INTO large
SELECT 'window aggregated', 'text', items, aggregate_at('text', items, times, '30 days', 6, 0.01)
FROM some_items('text', 3000) items, some_times(3000, '14 minutes') times;
INSERT INTO large
SELECT 'window, blocked', 'integer', items, aggregate_at('integer', items, times, '30 days', 2, 0.0001)
FROM some_items('integer', 30000) items, some_times(30000, '1 minute') times;
\set ECHO all

SELECT name, layers, bytes, bits_set, md5(filter::text)
FROM large, LATERAL bloom_info(filter)
ORDER BY name COLLATE "C";

INSERT INTO golden SELECT * FROM large;

-- Sizes: bits/probes of a filter for n items at rate p. They must not depend on
-- the machine either, or the same items would make unlike bytes.
CREATE FUNCTION sizing(n bigint, p float8) RETURNS text
LANGUAGE sql AS $$
	SELECT bits || '/' || hashes FROM bloom_sizing(n, p)
	WHERE n * -ln(p) < 1.95e9	-- what fits in 500 MiB
$$;

SELECT n, sizing(n, 0.5) AS "0.5", sizing(n, 0.1) AS "0.1", sizing(n, 0.05) AS "0.05",
	sizing(n, 0.02) AS "0.02", sizing(n, 0.01) AS "0.01", sizing(n, 0.001) AS "0.001",
	sizing(n, 0.0001) AS "0.0001", sizing(n, 1e-6) AS "1e-6", sizing(n, 1e-9) AS "1e-9"
FROM unnest('{1,2,3,4,5,6,7,8,9,10,12,15,20,30,40,50,70,99,100,101,150,200,299,300,301,
	500,700,1000,1500,2000,3000,3650,5000,7000,10000,15000,20000,26000,28000,50000,100000,
	200000,500000,1000000,2000000,5000000,10000000,20000000,50000000,100000000,200000000,
	400000000}'::bigint[]) n;

SELECT p, md5(string_agg(sizing(n, p), ' ' ORDER BY n)) AS "n = 1 to 1,000"
FROM generate_series(1, 1000) n, unnest('{0.1,0.01,0.001,0.0001}'::float8[]) p
GROUP BY p ORDER BY p DESC;
