--
-- Golden values: fixed inputs make fixed bytes, in every release and on every machine.  Do not
-- change expected/golden.out to match a difference: stored filters would lose their items.  Only
-- other sizes and numbers of layers are harmless to stored filters, and these must be intended.
-- test/t/001_format.pl runs this file as well and hands the values to a reader that was written
-- from doc/internals/format.md alone.
--
\pset format unaligned

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
CREATE FUNCTION aggregate_at(kind text, items text[], times timestamptz[],
							 width interval, slices integer, fpr float8) RETURNS bloom
LANGUAGE sql AS $$
	SELECT CASE kind
		WHEN 'integer' THEN
			(SELECT bloom_window_agg(item::bigint, at, width, slices, fpr)
			 FROM unnest(items, times) e (item, at))
		WHEN 'text' THEN
			(SELECT bloom_window_agg(item, at, width, slices, fpr)
			 FROM unnest(items, times) e (item, at))
		WHEN 'uuid' THEN
			(SELECT bloom_window_agg(item::uuid, at, width, slices, fpr)
			 FROM unnest(items, times) e (item, at))
		WHEN 'bytea' THEN
			(SELECT bloom_window_agg(item::bytea, at, width, slices, fpr)
			 FROM unnest(items, times) e (item, at))
	END
$$;

-- n times at equal intervals, which begin before 2000
CREATE FUNCTION some_times(n integer, pause interval) RETURNS timestamptz[]
LANGUAGE sql AS $$
	SELECT array_agg(timestamptz '1999-12-30 21:00+00' + i * pause ORDER BY i)
	FROM generate_series(1, n) i
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

-- filters that are small enough to look at
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
	 '{00000000-0000-0000-0000-000000000000,123e4567-e89b-12d3-a456-426614174000,'
	 'ffffffff-ffff-ffff-ffff-ffffffffffff}',
	 3, 0.01),
	('bytea', 'bytea', '{\\x,\\x00,\\x0000,\\xff,\\x0123456789abcdef}', 5, 0.01),
	('text as bytea', 'bytea', '{\\x,\\x61,\\x6170706c65}', 5, 0.01),
	('room for more', 'integer', '{1}', 20, 0.01)
) spec (name, kind, items, capacity, fpr);

-- bytes of every length up to two chunks of the hash and a rest
INSERT INTO golden
SELECT 'lengths 0 to 33', 'bytea', items, bloom_add(bloom_new(34), items::bytea[])
FROM (SELECT array_agg(substr(sha256('a') || sha256('b'), 1, length)::text ORDER BY length)
	  FROM generate_series(0, 33) length) lengths (items);

-- layers, grown one by one
INSERT INTO golden
SELECT 'grown ' || kind, kind, some_items(kind, 3),
	add_one_by_one(bloom_new(1, 0.02), kind, some_items(kind, 3))
FROM unnest('{integer,text,uuid,bytea}'::text[]) kind;

-- layers side by side after a union, and filters of one shape in one layer
INSERT INTO golden
SELECT 'union of two layers', 'integer', '{1,2,3,4,5,6,7,8,9,10,42}'::text[],
	(SELECT filter FROM golden WHERE name = 'ten') |
	(SELECT filter FROM golden WHERE name = 'one');
INSERT INTO golden
SELECT 'union in one layer', 'integer', '{1,2,3}'::text[],
	bloom_union_agg(bloom_add(bloom_new(10), i))
FROM generate_series(1, 3) i;

-- counting filters
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

-- windowed filters: slices before and after 2000, and a floor
INSERT INTO golden
SELECT 'window ' || kind, kind, some_items(kind, 4),
	aggregate_at(kind, some_items(kind, 4), some_times(4, '9 hours'), '1 day', 1, 0.1)
FROM unnest('{integer,text,uuid,bytea}'::text[]) kind;
INSERT INTO golden
SELECT 'window, expired', kind, items[3:], bloom_expire(filter, '2000-01-02 21:00+00')
FROM golden WHERE name = 'window text';
INSERT INTO golden
SELECT 'window of a union', 'text', array_append(items, 'a'),
	bloom_expire(filter, '2000-01-02 06:00+00') |
	bloom_add_at(bloom_expire(bloom_window('1 day', 1, 0.5), '2000-01-02 04:00+00'),
				 'a'::text, '2000-01-01 04:00+00')
FROM golden WHERE name = 'window, expired';
INSERT INTO golden
SELECT 'window, 1,000 slices', 'integer', some_items('integer', 2),
	aggregate_at('integer', some_items('integer', 2), some_times(2, '11 hours'),
				 '36 hours', 1000, 0.1);
INSERT INTO golden
SELECT 'window, two slices', 'integer', '{1,2}'::text[],
	bloom_add_at(bloom_add_at(bloom_window('1 day', 6, 0.5), 1, times[1]), 2, times[2])
FROM some_times(2, '1 hour') AS times;

SELECT name, filter FROM golden ORDER BY name COLLATE "C";

-- an empty filter knows no kind
SELECT bloom_new(1);
SELECT bloom_new(1, 0.01, true) AS counting;
SELECT bloom_window('30 days') AS "window";

-- positions that an item sets, of the m there are
SELECT kind, item, bits, array_agg(i ORDER BY i) AS positions
FROM (VALUES
	('integer', '0', 1000),
	('integer', '42', 1000),
	('integer', '-9223372036854775808', 1000),
	('integer', '42', 50000),
	('text', '', 1000),
	('text', '42', 1000),
	('text', 'a text of more than two chunks of the hash', 1000),
	('uuid', '123e4567-e89b-12d3-a456-426614174000', 1000),
	('bytea', '\x', 1000),
	('bytea', '\x2a00000000000000', 1000)
) one (kind, item, capacity),
	LATERAL (SELECT add_items(bloom_new(capacity, 0.01), kind, ARRAY[item])::bytea) made (bytes),
	LATERAL (SELECT (length(bytes) - 32) * 8) size (bits),
	LATERAL generate_series(0, bits - 1) i
WHERE get_bit(bytes, 32 * 8 + i) = 1
GROUP BY kind, item, capacity, bits
ORDER BY kind, item, capacity;

-- filters that are too large to look at
CREATE TABLE large AS SELECT * FROM golden LIMIT 0;

INSERT INTO large
SELECT format('%s of %s at %s', n, kind, fpr), kind, some_items(kind, n),
	add_items(bloom_new(n, fpr), kind, some_items(kind, n))
FROM (VALUES
	('integer', 300, 0.01),
	('text', 299, 0.01),
	('uuid', 1000, 0.001),
	('bytea', 1000, 0.5),
	('integer', 3650, 0.01),
	('text', 3650, 0.0001)
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
SELECT 'aggregated', 'integer', array_agg(i::text), bloom_agg(i)
FROM generate_series(1, 5000) i;
INSERT INTO large
SELECT 'aggregated with headroom', 'text', array_agg(i::text), bloom_agg(i::text, 0.001, 0.2)
FROM generate_series(1, 5000) i;

-- these are so large that they are blocked
INSERT INTO large
SELECT 'blocked', 'integer', array_agg(i::text), bloom_agg(i)
FROM generate_series(1, 60000) i;
INSERT INTO large
SELECT 'blocked, rate 1e-4', 'text', array_agg(i::text), bloom_agg(i::text, 0.0001)
FROM generate_series(1, 15000) i;
INSERT INTO large
SELECT 'blocked and counting', 'integer', array_agg(i::text),
	bloom_add(bloom_new(30000, 0.01, true), array_agg(i))
FROM generate_series(1, 30000) i;

-- a month of 20 items a day: added one by one and expired each night, all at once, aggregated
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
SELECT 'window kept nightly', 'integer', items[201:],
	kept_nightly(bloom_window('30 days', 6, 0.01), items, times)
FROM some_items('integer', 800) items, some_times(800, '72 minutes') times;
INSERT INTO large
SELECT 'window at once', 'uuid', items,
	bloom_add_at(bloom_window('30 days', 6, 0.001), items::uuid[], times)
FROM some_items('uuid', 600) items, some_times(600, '72 minutes') times;
INSERT INTO large
SELECT 'window aggregated', 'text', items,
	aggregate_at('text', items, times, '30 days', 6, 0.01)
FROM some_items('text', 3000) items, some_times(3000, '14 minutes') times;
INSERT INTO large
SELECT 'window, blocked', 'integer', items,
	aggregate_at('integer', items, times, '30 days', 2, 0.0001)
FROM some_items('integer', 30000) items, some_times(30000, '1 minute') times;

SELECT name, layers, bytes, bits_set, md5(filter::text)
FROM large, LATERAL bloom_info(filter)
ORDER BY name COLLATE "C";

INSERT INTO golden SELECT * FROM large;

-- Choices of writers, by the rules of doc/internals/writers.md: the room, rate and size of filters
-- that grow, count, expire or are united, for rates and shapes of every sort.  The digest is of the
-- filters after each of several steps.
CREATE TABLE choices (name text, nth serial, filter bloom);

-- what grows, item by item
CREATE FUNCTION grown(capacity integer, fpr float8, n integer) RETURNS SETOF bloom
LANGUAGE plpgsql AS $$
DECLARE
	filter bloom := bloom_new(capacity, fpr);
BEGIN
	FOR i IN 1 .. n LOOP
		filter := bloom_add(filter, i);
		IF i % (n / 8) = 0 THEN
			RETURN NEXT filter;
		END IF;
	END LOOP;
END
$$;

INSERT INTO choices (name, filter)
SELECT format('grown at %s', p), grown(capacity, p, n)
FROM (SELECT c, p, c * CASE WHEN p > 0.05 THEN 5 ELSE 3 END + 200
	  FROM unnest('{1,100,101,333,1000}'::integer[]) c,
		unnest('{0.99,0.8,0.5,0.1,0.01,1e-6}'::float8[]) p) growth (capacity, p, n);

-- what is filled by two arrays, the second of which repeats items
INSERT INTO choices (name, filter)
SELECT format('twice: %s of %s into %s at %s', first, n, capacity, p),
	bloom_add(bloom_add(bloom_new(capacity, p), ARRAY(SELECT generate_series(1, first))),
			  ARRAY(SELECT i / 2 FROM generate_series(2, 2 * n + 1) i))
FROM (VALUES
	(1000, 0.9, 150, 300),
	(1000, 0.1, 400, 850),
	(300, 0.01, 250, 250),
	(50000, 0.1, 20000, 45000),
	(30000, 0.01, 29000, 46000),
	(8000, 1e-9, 7900, 12500),
	(500, 0.01, 500, 1700),
	(500, 1e-4, 500, 510)
) twice (capacity, p, first, n);

-- what counts: items come, some of them more than once, and go
CREATE FUNCTION come_and_gone(capacity integer, fpr float8) RETURNS SETOF bloom
LANGUAGE plpgsql AS $$
DECLARE
	filter bloom := bloom_new(capacity, fpr, counting => true);
	live integer[] := '{}';
BEGIN
	FOR i IN 1 .. 1200 LOOP
		IF cardinality(live) > 0 AND (cardinality(live) > 0.7 * capacity OR i % 7 < 2) THEN
			filter := bloom_remove(filter, live[1]);
			live := live[2:];
		ELSE
			live := live || i * i % (3 * capacity);
			filter := bloom_add(filter, live[cardinality(live)]);
		END IF;
		IF i % 5 = 0 THEN
			RETURN NEXT filter;
		END IF;
	END LOOP;
END
$$;

INSERT INTO choices (name, filter)
SELECT format('counting: %s at %s', capacity, p), come_and_gone(capacity, p)
FROM (VALUES
	(1, 0.01),
	(50, 0.3),
	(100, 0.01),
	(500, 0.05),
	(700, 1e-4),
	(50000, 0.01)
) counting (capacity, p);

-- windows: thirty days of exposures one by one, some of them late or early, expired each night;
-- all in one call; aggregated
CREATE FUNCTION kept(slices integer, fpr float8, per_day integer) RETURNS SETOF bloom
LANGUAGE plpgsql AS $$
DECLARE
	width interval := '12 days 1 microsecond';
	filter bloom := bloom_window(width, slices, fpr);
	items integer[] := ARRAY(
		SELECT (i * 7919) % (15 * per_day) FROM generate_series(1, 30 * per_day) i);
	times timestamptz[] := ARRAY(
		SELECT timestamptz '2000-01-02 00:00+00' + i * interval '1 day' / per_day
			+ CASE i % 31 WHEN 0 THEN (i % 8 - 4) * interval '1 day' ELSE interval '0' END
		FROM generate_series(1, 30 * per_day) i);
BEGIN
	FOR i IN 1 .. cardinality(items) LOOP
		filter := bloom_add_at(filter, items[i], times[i]);
		IF i % per_day = 0 THEN
			filter := bloom_expire(filter, times[i]);
			RETURN NEXT filter;
		END IF;
	END LOOP;
	RETURN NEXT bloom_add_at(bloom_window(width, slices, fpr), items, times);
	RETURN NEXT bloom_window_agg(item, at, width, slices, fpr)
		FROM unnest(items, times) e (item, at);
END
$$;

INSERT INTO choices (name, filter)
SELECT format('window: %s slices at %s', slices, p), kept(slices, p, per_day)
FROM (VALUES
	(6, 0.01, 60),
	(6, 0.5, 100),
	(1, 0.1, 150),
	(3, 0.001, 40),
	(30, 0.9, 30)
) windows (slices, p, per_day);

-- windows as narrow or as wide as can be, with times from the first to the last: alone, together,
-- expired, aggregated
CREATE FUNCTION at_the_ends(width interval, slices integer) RETURNS SETOF bloom
LANGUAGE plpgsql AS $$
DECLARE
	times timestamptz[] := ARRAY[
		'4714-11-24 00:00+0 BC', '4714-11-24 00:00:00.000001+0 BC',
		'1999-12-31 23:59:59.999999+0', '2000-01-01 00:00+0', '2024-02-29 12:00+0',
		'294276-12-31 23:59:59.999998+0', '294276-12-31 23:59:59.999999+0'];
	added bloom := bloom_add_at(bloom_window(width, slices), '{1,2,3,4,5,6,7}'::integer[], times);
BEGIN
	RETURN QUERY SELECT bloom_add_at(bloom_window(width, slices), 1, at) FROM unnest(times) at;
	RETURN QUERY SELECT bloom_expire(added, at) FROM unnest(times) at;
	RETURN QUERY VALUES (added), (added | bloom_expire(added, times[5]));
	RETURN QUERY SELECT bloom_window_agg(item, at, width, slices, 0.01)
		FROM unnest(times) WITH ORDINALITY e (at, item);
END
$$;

INSERT INTO choices (name, filter)
SELECT format('window of %s', width), at_the_ends(width::interval, slices)
FROM unnest(ARRAY[
		'1 microsecond', '2 microseconds', '999 microseconds', '1001 microseconds', '30 days',
		'106751990 days', '106751991 days 04:00:54.775806', '106751991 days 04:00:54.775807'
	]) width,
	unnest('{1,2,3,999,1000}'::integer[]) slices;

-- unions of one shape, with items of which none, some or all are the other's, and of two shapes
CREATE TABLE parts AS
SELECT c, p, low, bloom_add(bloom_new(c, p), ARRAY(SELECT generate_series(low, high))) AS filter
FROM unnest('{100,101,1000,30000}'::integer[]) c, unnest('{0.01,0.1,0.4}'::float8[]) p,
	LATERAL (VALUES
		(1, 10),
		(5, 10),
		(1, c / 2),
		(c / 2, c),
		(1, c),
		(c, 2 * c - 1),
		(1, 3 * c)
	) range (low, high)
WHERE c < 2000 OR p = 0.01;

INSERT INTO choices (name, filter)
SELECT CASE WHEN a.c = b.c AND a.p = b.p THEN 'union: one shape' ELSE 'union: two shapes' END,
	a.filter | b.filter
FROM parts a JOIN parts b
	ON a.c = b.c AND a.p = b.p
	OR a.c + b.c < 2000 AND a.p + b.p < 0.2 AND a.low + b.low > 50
ORDER BY a.c, a.p, a.low, a.filter::text, b.c, b.p, b.low, b.filter::text;

-- unions of unions
INSERT INTO choices (name, filter)
SELECT 'union: of unions', a.filter | b.filter
FROM choices a JOIN parts b ON b.p < 0.2 AND (a.nth + b.low) % 11 = 0
WHERE a.name = 'union: one shape' AND a.nth % 7 = 0 AND bloom_fpr(a.filter) < 0.3
ORDER BY a.nth, b.c, b.p, b.low, b.filter::text;

-- unions whose rates sum up to 1
INSERT INTO choices (name, filter)
SELECT 'union: rates next to 1', a | b
FROM (SELECT bloom_new(c, 0.6) FROM generate_series(99, 101) c
	  UNION ALL SELECT bloom_add(bloom_new(100, 0.4), 1)) x (a),
	(SELECT bloom_new(c, 0.6) FROM generate_series(99, 101) c
	 UNION ALL SELECT bloom_new(10, 0.9999999999999999)) y (b)
ORDER BY a::text, b::text;

-- unions of counting filters, as long as the items of both fit
INSERT INTO choices (name, filter)
SELECT 'union: counting', a | b
FROM unnest('{1,50,700,40000}'::integer[]) c,
	unnest('{0.01,0.6}'::float8[]) p,
	unnest('{1,3,10}'::integer[]) part,
	bloom_add(bloom_new(c, p, counting => true),
			  ARRAY(SELECT generate_series(1, (c + part - 1) / part))) a,
	bloom_add(bloom_new(c, p, counting => true),
			  ARRAY(SELECT i % greatest(c / part, 1) FROM generate_series(0, 2 * c) i)) b
WHERE (bloom_info(a)).items + (bloom_info(b)).items <= c
ORDER BY c, p, part;

-- unions of windows
INSERT INTO choices (name, filter)
SELECT 'union: windows', a.filter | b.filter
FROM choices a JOIN choices b USING (name)
WHERE name ~ '^window: ' AND a.nth % 7 = 0 AND b.nth % 5 = 0
ORDER BY a.nth, b.nth;

SELECT name, count(*), max((bloom_info(filter)).layers) AS layers,
	md5(string_agg(filter::text, ' ' ORDER BY nth))
FROM choices
GROUP BY name
ORDER BY name COLLATE "C";
DROP TABLE large, choices, parts;

-- Sizes: bits/probes of a filter for n items at rate p.  They must not depend on the machine
-- either, or the same items would make unlike bytes.
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

-- and of all small ones
SELECT p, md5(string_agg(sizing(n, p), ' ' ORDER BY n)) AS "n = 1 to 1,000"
FROM generate_series(1, 1000) n, unnest('{0.1,0.01,0.001,0.0001}'::float8[]) p
GROUP BY p
ORDER BY p DESC;
