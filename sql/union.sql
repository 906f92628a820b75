--
-- Uniting: a filter that contains all that either contains.  Like shapes become one layer if the
-- items of both fit, unlike ones stand side by side; the promised rate is the sum of both.
--
CREATE TEMP TABLE filters (name text PRIMARY KEY, f bloom, items int[]);
INSERT INTO filters
	SELECT name, bloom_agg(i, p), array_agg(i)
	FROM (VALUES
		('one', 1, 1, 0.01),
		('small', 1, 100, 0.01),
		('other', 51, 150, 0.01),
		('far', 1001, 1100, 0.01),
		('strict', 2001, 2100, 0.0001),
		('large', 5001, 10000, 0.01),
		('loose', 301, 400, 0.4)
	) AS v (name, low, high, p), generate_series(low, high) i
	GROUP BY name;
INSERT INTO filters
	SELECT 'grown', bloom_add(bloom_add(bloom_new(100), items[1:150]), items), items
	FROM (SELECT array_agg(i) AS items FROM generate_series(20001, 21000) i) AS i;
INSERT INTO filters VALUES ('empty', bloom_new(), '{}'), ('none', NULL, '{}');

CREATE TEMP TABLE unions AS
	SELECT a.name AS a, b.name AS b, a.f AS fa, b.f AS fb, a.items || b.items AS items,
		a.f | b.f AS f, b.f | a.f AS reverse
	FROM filters a, filters b;

-- only of two NULLs there is no union
SELECT count(*) FROM unions;
SELECT a, b FROM unions WHERE f IS NULL;

-- nothing is lost
SELECT a, b FROM unions WHERE NOT bloom_contains_all(f, items);
SELECT a, b FROM unions WHERE NOT bloom_contains_all(reverse, items);

-- the promise is the sum
SELECT a, b, i.fpr, ia.fpr AS of_a, ib.fpr AS of_b
FROM unions, bloom_info(f) i, bloom_info(fa) ia, bloom_info(fb) ib
WHERE fa IS NOT NULL AND fb IS NOT NULL AND i.fpr <> least(1, ia.fpr + ib.fpr);

-- and is kept, by what the union says
SELECT a, b, fpr, fpr_now FROM unions, bloom_info(f) WHERE bloom_fpr(f) > fpr * 1.05;

-- and by what is found of 100,000 items that are in neither
CREATE TEMP TABLE errors AS
	SELECT a, b, fpr, fpr_now,
		100000 - cardinality(ARRAY(SELECT generate_series(-100000, -1)) - f) AS found
	FROM unions, bloom_info(f)
	WHERE (a, b) IN (('small', 'other'), ('small', 'far'), ('small', 'large'), ('large', 'grown'),
					 ('loose', 'strict'), ('grown', 'grown'), ('loose', 'loose'));
SELECT a, b, found <= 100000 * fpr + 3 * sqrt(100000 * fpr) AS promise_kept
FROM errors ORDER BY a, b;
SELECT a, b, abs(found - 100000 * fpr_now) <= 4 * sqrt(100000 * fpr_now) AS as_it_says
FROM errors ORDER BY a, b;
DROP TABLE errors;

-- with itself a filter is unchanged but for the promise
SELECT a, i.layers, ia.layers AS of_a FROM unions, bloom_info(f) i, bloom_info(fa) ia
WHERE a = b AND i.layers <> ia.layers;
SELECT a, i.bits_set, ia.bits_set AS of_a FROM unions, bloom_info(f) i, bloom_info(fa) ia
WHERE a = b AND i.bits_set <> ia.bits_set;
SELECT a, i.items, ia.items AS of_a FROM unions, bloom_info(f) i, bloom_info(fa) ia
WHERE a = b AND i.items <> ia.items;
SELECT a, bloom_cardinality(f), bloom_cardinality(fa) FROM unions
WHERE a = b AND bloom_cardinality(f) <> bloom_cardinality(fa);

-- with NULL it is unchanged
SELECT a, f = fa AS same, reverse = fa AS reverse FROM unions WHERE b = 'none' ORDER BY a;

-- Where one contains the other, its count of items stays: it is exact, and an estimate that is
-- too high again and again would fill the layer.
CREATE TEMP TABLE parts AS
	SELECT bloom_add(bloom_new(1000), ARRAY(SELECT generate_series(apart, apart + 499))) AS whole,
		bloom_add(bloom_new(1000), ARRAY(SELECT generate_series(apart, apart + 99))) AS part
	FROM generate_series(1000, 40000, 1000) apart;
SELECT (bloom_info(whole | part)).items, count(*) FROM parts GROUP BY 1;
SELECT (bloom_info(part | whole)).items, count(*) FROM parts GROUP BY 1;
DROP TABLE parts;

-- Layers are merged with those of the other filter, never with one another.  No function makes a
-- filter of two layers that could be.
CREATE TEMP TABLE twins AS
	SELECT (set_byte(substr(a, 1, 16), 2, 2) || substr(a, 17, 16) || substr(b, 17, 16)
			|| substr(a, 33) || substr(b, 33))::bloom AS f
	FROM CAST(bloom_add(bloom_new(100), 1) AS bytea) AS a,
		CAST(bloom_add(bloom_new(100), 2) AS bytea) AS b;
SELECT f @> 1 AS has_1, f @> 2 AS has_2 FROM twins;
SELECT (bloom_info(f | bloom_new(400))).layers FROM twins;
SELECT (bloom_info(bloom_new(400) | f)).layers FROM twins;
SELECT (bloom_info(f | f)).layers FROM twins;
DROP TABLE twins;

-- a union goes on growing: nothing is lost, and its promise is the sum still
CREATE TEMP TABLE added AS
	SELECT a, b, unions.items || more AS items, f, bloom_add(f, more) AS grown
	FROM unions, (SELECT array_agg(-i) AS more FROM generate_series(1, 20000) i) AS i
	WHERE (a, b) IN (('small', 'large'), ('grown', 'loose'), ('far', 'small'), ('empty', 'one'));
SELECT a, b, bloom_contains_all(grown, items) FROM added ORDER BY a, b;
SELECT a, b, (bloom_info(grown)).fpr = (bloom_info(f)).fpr AS same FROM added ORDER BY a, b;
SELECT a, b, bloom_fpr(grown) <= (bloom_info(f)).fpr * 1.05 AS promise_kept
FROM added ORDER BY a, b;
DROP TABLE added;

-- also one whose layers have used up all that was promised
CREATE TEMP TABLE used_up AS
	SELECT bloom_add(bloom_new(1000, 0.3) | bloom_new(1200, 0.3) | bloom_new(1500, 0.3),
					 ARRAY(SELECT generate_series(1, 9000))) AS f;
SELECT layers, fpr_now <= fpr AS promise_kept FROM used_up, bloom_info(f);
SELECT bloom_contains_all(f, ARRAY(SELECT generate_series(1, 9000))) FROM used_up;
DROP TABLE used_up;

-- again and again, and each filter twice
DO $$
DECLARE
	filter bloom := bloom_add(NULL, ARRAY(SELECT generate_series(1, 60)));
	today bloom;
BEGIN
	FOR day IN 1 .. 30 LOOP
		today := bloom_add(NULL, ARRAY(SELECT generate_series(day * 60 + 1, day * 60 + 60)));
		filter := filter | today | today;
	END LOOP;
	RAISE NOTICE 'all of them: %',
		bloom_contains_all(filter, ARRAY(SELECT generate_series(1, 1860)));
	RAISE NOTICE 'no more than promised: %', bloom_fpr(filter) <= (bloom_info(filter)).fpr;
END
$$;

-- what cannot be united
SELECT bloom_add(NULL, 1) | bloom_add(NULL, 'a'::text);
SELECT bloom_new() | bloom_new(counting => true);

-- an empty filter has no kind that could differ
SELECT (bloom_info(bloom_new() | bloom_add(NULL, 'a'::text))).kind;
SELECT (bloom_info(bloom_add(NULL, 1) | bloom_new(7))).kind;

-- counting filters have one layer: they unite only if one is enough
SELECT bloom_new(100, counting => true) | bloom_new(200, counting => true);
CREATE TEMP TABLE counting AS
	SELECT bloom_add(bloom_new(100, counting => true), '{1,2}'::int[])
		| bloom_add(bloom_new(100, counting => true), '{2,3}'::int[]) AS f;
SELECT layers, items BETWEEN 3 AND 4 AS items, counting FROM counting, bloom_info(f);
SELECT bloom_contains_all(f, '{1,2,3}'::int[]) FROM counting;
DROP TABLE counting;

--
-- bloom_union_agg()
--
CREATE TEMP TABLE united AS SELECT bloom_union_agg(f) AS f FROM filters;
SELECT name, bloom_contains_all(united.f, items) FROM united, filters ORDER BY name;
SELECT round(fpr::numeric, 4) AS fpr, fpr_now <= fpr AS promise_kept FROM united, bloom_info(f);
DROP TABLE united;

-- of nothing, of NULL, and of one
SELECT bloom_union_agg(f) FROM filters WHERE false;
SELECT bloom_union_agg(f) FROM filters WHERE name = 'none';
SELECT bloom_union_agg(f) = (SELECT f FROM filters WHERE name = 'small') AS same
FROM filters WHERE name IN ('none', 'small');

-- the result is the one of a | b | c: it and its states are made by the operator's function
SELECT aggtransfn = oprcode AS rows, aggcombinefn = oprcode AS states,
	aggtranstype::regtype AS state, aggfinalfn
FROM pg_aggregate, pg_operator
WHERE aggfnoid = 'bloom_union_agg'::regproc AND oprname = '|' AND oprleft = 'bloom'::regtype;

-- each slice of a window keeps its layer
SELECT layers, slices
FROM (SELECT bloom_union_agg(bloom_add_at(bloom_window('500 days', 500), n,
										  '2026-01-01Z'::timestamptz + n * interval '24 hours'))
	  FROM generate_series(1, 500) n) AS u (f), bloom_info(f);

-- what cannot be united
SELECT bloom_union_agg(f) FROM (VALUES (bloom_window('6 days')), (bloom_new())) AS v (f);

-- as many layers as a value can have, and one more
CREATE TEMP TABLE full_filters AS
	SELECT n, bloom_agg(i, 0.0001) AS f
	FROM generate_series(1, 4097) n, LATERAL (VALUES (n), (-n)) AS v (i) GROUP BY n;
SELECT layers, bloom_contains_all(f, ARRAY(SELECT generate_series(1, 4096)))
FROM (SELECT bloom_union_agg(f) AS f FROM full_filters WHERE n <= 4096) AS u, bloom_info(f);
SELECT bloom_union_agg(f) FROM full_filters;
DROP TABLE full_filters;

-- a union knows a full layer again: with itself it becomes no larger
CREATE TEMP TABLE united AS
	SELECT bloom_union_agg(f) AS f
	FROM (SELECT bloom_agg(n * 100 + i, 0.0001) AS f
		  FROM generate_series(1, 200) n, generate_series(1, 100) i GROUP BY n) AS full_filters;
SELECT layers FROM united, bloom_info(f | f);
SELECT u.bits = i.bits AS bits, u.bits_set = i.bits_set AS bits_set
FROM united, bloom_info(f) i, bloom_info(f | f) u;
DROP TABLE united;

-- Parallel: in which order processes meet is chance, so bytes may differ, but no item is lost and
-- the promise is the same.
CREATE TABLE users (user_id int, f bloom) WITH (parallel_workers = 3);
INSERT INTO users
	SELECT u, bloom_agg(u * 100 + i, 0.0001)
	FROM generate_series(1, 300) u, generate_series(0, u % 40) i
	GROUP BY u;
ANALYZE users;
CREATE VIEW all_users AS SELECT bloom_union_agg(f) AS f FROM users;
SET max_parallel_workers_per_gather = 0;
CREATE TEMP TABLE serial AS SELECT f FROM all_users;
SET max_parallel_workers_per_gather = 3;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT f FROM all_users;
CREATE TEMP TABLE parallel AS SELECT f FROM all_users;
SET parallel_leader_participation = off;
CREATE TEMP TABLE by_workers AS SELECT f FROM all_users;
CREATE TEMP TABLE united AS
	SELECT 'serial' AS plan, f FROM serial
	UNION ALL SELECT 'parallel', f FROM parallel
	UNION ALL SELECT 'workers only', f FROM by_workers;
SELECT plan, (SELECT count(*) FROM users, generate_series(0, user_id % 40) i
			  WHERE NOT united.f @> user_id * 100 + i) AS lost
FROM united ORDER BY plan;
SELECT plan, round(fpr::numeric, 6) AS fpr, fpr_now <= fpr AS promise_kept
FROM united, bloom_info(f) ORDER BY plan;
DROP VIEW all_users;
DROP TABLE filters, unions, users, serial, parallel, by_workers, united;

-- Layers of unlike sizes err independently: what bloom_fpr() says is what happens, and no more
-- than the sum.
CREATE FUNCTION pg_temp.one_by_one(f bloom, first int, last int) RETURNS bloom
LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		f := bloom_add(f, i);
	END LOOP;
	RETURN f;
END
$$;
CREATE TEMP TABLE measured AS
	SELECT p, bloom_fpr(f) AS says,
		1 - cardinality(ARRAY(SELECT generate_series(100001, 120000)) - f) / 20000.0 AS rate
	FROM unnest('{0.3,0.1}'::float8[]) p, generate_series(1000000, 20000000, 1000000) apart,
		pg_temp.one_by_one(bloom_new(1000, p) | bloom_new(1200, p), apart + 1, apart + 2200) AS f;
SELECT p, avg(rate) <= 2 * p AS within_the_sum FROM measured GROUP BY p ORDER BY p;
SELECT p, abs(avg(rate) / avg(says) - 1) < 0.02 AS as_it_says FROM measured GROUP BY p ORDER BY p;
DROP TABLE measured;

-- rates next to 1: a union promises no less than either filter, so that what is valid stays valid
CREATE TEMP TABLE next_to_1 (f bloom);
INSERT INTO next_to_1 VALUES
	('\x0101010000000000ffffffffffffef3f010000100010000000100000040000000000004008000003');
SELECT u.fpr >= i.fpr AS no_less, u.fpr < 1 AS below_1
FROM next_to_1, bloom_info(f) AS i, bloom_info(f | f) AS u;
SELECT (f | f)::text::bloom = f | f AS valid FROM next_to_1;
DROP TABLE next_to_1;

-- of all pairs of such filters, filled as far as is credible
CREATE FUNCTION pg_temp.little_endian(bytes bytea) RETURNS bytea LANGUAGE sql AS $$
	SELECT string_agg(substr(bytes, i, 1), '' ORDER BY i DESC)
	FROM generate_series(1, length(bytes)) AS i
$$;
-- a filter of one layer of a word, with as many items as are credible at most
CREATE FUNCTION pg_temp.fullest(fpr float8, hashes int, bits bytea, OUT f bloom)
LANGUAGE plpgsql AS $$
DECLARE
	low int := 0;
	high int := 4096;
	items int;
	bits_set int := (SELECT count(*) FROM generate_series(0, 63) AS b WHERE get_bit(bits, b) = 1);
BEGIN
	WHILE low < high LOOP
		items := (low + high + 1) / 2;
		BEGIN
			f := '\x0101010000000000'::bytea
				|| pg_temp.little_endian(float8send(fpr))
				|| pg_temp.little_endian(int4send(hashes << 26 | 1))
				|| pg_temp.little_endian(int4send(4096))
				|| pg_temp.little_endian(int4send(items))
				|| pg_temp.little_endian(int4send(bits_set))
				|| bits;
			low := items;
		EXCEPTION WHEN invalid_binary_representation THEN
			high := items - 1;
		END;
	END LOOP;
END
$$;
CREATE FUNCTION pg_temp.is_valid(f bloom) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	RETURN f::text::bloom = f;
EXCEPTION WHEN invalid_binary_representation THEN
	RETURN false;
END
$$;
SELECT setseed(0.5);
CREATE TEMP TABLE fullest AS
	SELECT n, pg_temp.fullest(fpr, hashes, bits) AS f
	FROM generate_series(1, 60) AS n,
		LATERAL (SELECT
			CASE WHEN n % 3 = 0 THEN random() ELSE 1 - (1 + n % 4) * 2::float8 ^ -53 END AS fpr,
			1 + n % 8 AS hashes,
			int8send((random() * 2::float8 ^ 60)::bigint
				& (random() * 2::float8 ^ 60)::bigint
				& CASE WHEN n % 2 = 0 THEN (random() * 2::float8 ^ 60)::bigint ELSE -1 END) AS bits
		) AS r;
SELECT count(*) > 1000 AS many FROM fullest a, fullest b WHERE a.f IS NOT NULL AND b.f IS NOT NULL;
SELECT a.n, b.n, a.f, b.f FROM fullest a, fullest b
WHERE a.f IS NOT NULL AND b.f IS NOT NULL AND NOT pg_temp.is_valid(a.f | b.f);
DROP TABLE fullest;
