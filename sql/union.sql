--
-- Uniting: a filter that contains all that either contains.  Like shapes become one layer if the items
-- of both fit, unlike ones stand side by side; the promised rate is the sum of both.
--
\set ECHO none
\pset format unaligned \pset footer off
SET client_min_messages = warning;

CREATE TABLE f (name text PRIMARY KEY, f bloom, items int[]);
INSERT INTO f SELECT name, bloom_agg(i, p), array_agg(i)
FROM (VALUES ('one', 1, 1, 0.01), ('small', 1, 100, 0.01), ('other', 51, 150, 0.01), ('far', 1001, 1100, 0.01),
	('strict', 2001, 2100, 0.0001),
	('large', 5001, 10000, 0.01), ('loose', 301, 400, 0.4)) AS v(name, low, high, p), generate_series(low, high) i
GROUP BY name;
INSERT INTO f SELECT 'grown', bloom_add(bloom_add(bloom_new(100), items[1:150]), items), items
	FROM (SELECT array_agg(i) AS items FROM generate_series(20001, 21000) i) AS i;
INSERT INTO f VALUES ('empty', bloom_new(100), '{}'), ('none', NULL, '{}');

\echo '-- Of every pair: nothing is lost, each item that is in neither is contained with the sum of the rates at most.'
CREATE TABLE unions AS SELECT a.name AS a, b.name AS b, a.f AS fa, b.f AS fb, a.items || b.items AS items,
	a.f | b.f AS f, b.f | a.f AS reverse FROM f a, f b;
SELECT count(*), count(f) AS not_null,
	string_agg(a || ' | ' || b, ', ') FILTER (WHERE NOT bloom_contains_all(f, items)
		OR NOT bloom_contains_all(reverse, items)) AS lost,
	string_agg(a || ' | ' || b, ', ') FILTER (WHERE fa IS NOT NULL AND fb IS NOT NULL
		AND (bloom_info(f)).fpr <> least(1, (bloom_info(fa)).fpr + (bloom_info(fb)).fpr)) AS promises_no_sum,
	string_agg(a || ' | ' || b, ', ') FILTER (WHERE bloom_fpr(f) > (bloom_info(f)).fpr * 1.05) AS beyond_promise
FROM unions;
SELECT count(*), string_agg(format('%s | %s: %s', a, b, errors), ', ')
	FILTER (WHERE errors > 100000 * fpr + 3 * sqrt(100000 * fpr)) AS beyond_promise,
	string_agg(format('%s | %s: %s', a, b, errors), ', ')
	FILTER (WHERE abs(errors - 100000 * now) > 4 * sqrt(100000 * now)) AS not_as_it_says
FROM (SELECT a, b, (bloom_info(f)).fpr, bloom_fpr(f) AS now,
		100000 - cardinality(ARRAY(SELECT generate_series(-100000, -1)) - f) AS errors FROM unions
	WHERE (a, b) IN (('small', 'other'), ('small', 'far'), ('small', 'large'), ('large', 'grown'), ('loose', 'strict'),
		('grown', 'grown'), ('loose', 'loose'))) AS e;

\echo '-- What it looks like.  With itself: unchanged but for the promise; with nothing: unchanged.'
SELECT count(*), string_agg(a, ', ') FILTER (WHERE i.layers <> ia.layers) AS other_layers,
	string_agg(a, ', ') FILTER (WHERE i.bits_set <> ia.bits_set OR i.items <> ia.items) AS other_bits,
	string_agg(a, ', ') FILTER (WHERE bloom_cardinality(f) <> bloom_cardinality(fa)) AS other_estimate
FROM unions, bloom_info(f) AS i, bloom_info(fa) AS ia WHERE a = b AND f IS NOT NULL;
SELECT count(*), string_agg(a, ', ') FILTER (WHERE f <> fa OR reverse <> fa) AS changed FROM unions
	WHERE b = 'none' AND fa IS NOT NULL;
\echo '-- Where one contains the other, its count of items stays: it is exact, and an estimate that is too high'
\echo '-- again and again would fill the layer.'
SELECT count(*), bool_and((bloom_info(whole | part)).items = items) AS whole_first,
	bool_and((bloom_info(part | whole)).items = items) AS part_first
FROM generate_series(1000, 40000, 1000) apart,
	LATERAL (SELECT bloom_add(bloom_new(1000), ARRAY(SELECT generate_series(apart, apart + 499))) AS whole,
	bloom_add(bloom_new(1000), ARRAY(SELECT generate_series(apart, apart + 99))) AS part) AS f,
		LATERAL (SELECT items FROM bloom_info(whole)) AS i;
\echo '-- Layers are merged with those of the other filter, never with one another.  No function makes a filter'
\echo '-- of two layers that could be.'
SELECT (bloom_info(twins | bloom_new(400))).layers AS twins_first,
	(bloom_info(bloom_new(400) | twins)).layers AS twins_second, (bloom_info(twins | twins)).layers AS twice,
	twins @> 1 AND twins @> 2 AS no_false_negative
FROM (SELECT bloom_add(bloom_new(100), 1)::bytea AS a, bloom_add(bloom_new(100), 2)::bytea AS b) AS ab,
	LATERAL (SELECT (set_byte(substr(a, 1, 16), 2, 2) || substr(a, 17, 16) || substr(b, 17, 16)
		|| substr(a, 33) || substr(b, 33))::bloom AS twins) AS t;

\echo '-- A union goes on growing.  Its promise is the sum still.'
SELECT count(*), string_agg(a || ' | ' || b, ', ') FILTER (WHERE NOT bloom_contains_all(g, u.items || added)) AS lost,
	string_agg(a || ' | ' || b, ', ') FILTER (WHERE (bloom_info(g)).fpr <> (bloom_info(u.f)).fpr) AS other_promise,
	string_agg(a || ' | ' || b, ', ') FILTER (WHERE bloom_fpr(g) > (bloom_info(g)).fpr * 1.05) AS beyond_promise
FROM unions u, (SELECT array_agg(-i) AS added FROM generate_series(1, 20000) i) AS i, bloom_add(u.f, added) g
WHERE (a, b) IN (('small', 'large'), ('grown', 'loose'), ('far', 'small'), ('empty', 'one'));
\echo '-- also one whose layers have used up all that was promised'
SELECT layers, bloom_contains_all(f, ARRAY(SELECT generate_series(1, 9000))) AS no_false_negative,
	fpr_now <= fpr AS promise_kept
FROM bloom_add(bloom_new(1000, 0.3) | bloom_new(1200, 0.3) | bloom_new(1500, 0.3),
	ARRAY(SELECT generate_series(1, 9000))) f, bloom_info(f);
\echo '-- again and again, and each filter twice'
DO $$
DECLARE
	filter bloom := bloom_add(NULL, ARRAY(SELECT generate_series(1, 60)));
	today bloom;
BEGIN
	FOR day IN 1 .. 30 LOOP
		today := bloom_add(NULL, ARRAY(SELECT generate_series(day * 60 + 1, day * 60 + 60)));
		filter := filter | today | today;
	END LOOP;
	RAISE WARNING 'all of them: %, no more than promised: %',
	bloom_contains_all(filter, ARRAY(SELECT generate_series(1, 1860))), bloom_fpr(filter) <= (bloom_info(filter)).fpr;
END
$$;

\echo '-- What can''t be united'
SELECT bloom_add(NULL, 1) | bloom_add(NULL, 'a'::text);
SELECT bloom_new() | bloom_new(counting => true);
\echo '-- counting filters have one layer: they unite only if one is enough'
SELECT bloom_new(100, counting => true) | bloom_new(200, counting => true);
SELECT layers, items BETWEEN 3 AND 4 AS items, counting, bloom_contains_all(f, '{1,2,3}'::int[]) AS no_false_negative
FROM (SELECT bloom_add(bloom_new(100, counting => true), '{1,2}'::int[]) | bloom_add(bloom_new(100, counting => true),
	'{2,3}'::int[]) AS f) AS u, bloom_info(f);
\echo '-- An empty filter has no kind that could differ.'
SELECT (bloom_info(bloom_new() | bloom_add(NULL, 'a'::text))).kind,
	(bloom_info(bloom_add(NULL, 1) | bloom_new(7))).kind;

\echo '-- bloom_union_agg()'
SELECT bloom_contains_all(u, array_agg(i)) AS no_false_negative, round((bloom_info(u)).fpr::numeric, 4) AS fpr,
	(bloom_info(u)).fpr >= bloom_fpr(u) AS promise_kept
FROM (SELECT bloom_union_agg(f) AS u FROM f) AS u, f, unnest(items) i GROUP BY u;
SELECT bloom_union_agg(f) FILTER (WHERE false) IS NULL AS no_rows,
	bloom_union_agg(f) FILTER (WHERE name = 'none') IS NULL AS only_null,
	bloom_union_agg(f) FILTER (WHERE name IN ('none', 'small'))
		= min(f::text) FILTER (WHERE name = 'small')::bloom AS alone FROM f;
\echo '-- The result is the one of a | b | c: it and its states are made by the operator''s function.'
SELECT aggtransfn = oprcode AS rows, aggcombinefn = oprcode AS states, aggtranstype::regtype AS state, aggfinalfn
FROM pg_aggregate, pg_operator
WHERE aggfnoid = 'bloom_union_agg'::regproc AND oprname = '|' AND oprleft = 'bloom'::regtype;
\echo '-- each slice of a window keeps its layer'
SELECT layers, slices FROM (SELECT bloom_union_agg(bloom_add_at(bloom_window('500 days', 500), n,
	'2026-01-01Z'::timestamptz + n * interval '24 hours')) FROM generate_series(1, 500) n) AS u(f), bloom_info(f);
\echo '-- what cannot be united'
SELECT bloom_union_agg(f) FROM (VALUES (bloom_window('6 days')), (bloom_new())) AS v (f);
\echo '-- as many layers as a value can have, and one more'
SELECT layers, bloom_contains_all(f, ARRAY(SELECT generate_series(1, 4096))) AS no_false_negative
FROM (SELECT bloom_union_agg(f) AS f FROM (SELECT bloom_agg(i, 0.0001) AS f FROM generate_series(1, 4096) n,
	LATERAL (VALUES (n), (-n)) AS v (i) GROUP BY n) AS full_filters) AS u, bloom_info(f);
SELECT (bloom_info(bloom_union_agg(f))).layers
	FROM (SELECT bloom_agg(i, 0.0001) AS f FROM generate_series(1, 4097) n, LATERAL (VALUES (n), (-n)) AS v (i)
	GROUP BY n) AS full_filters;
\echo '-- A union knows a full layer again: with itself it becomes no larger.'
SELECT layers, bits = (bloom_info(f)).bits AND bits_set = (bloom_info(f)).bits_set AS same
FROM (SELECT bloom_union_agg(f) AS f FROM (SELECT bloom_agg(n * 100 + i, 0.0001) AS f
	FROM generate_series(1, 200) n, generate_series(1, 100) i GROUP BY n) AS full_filters) AS u, bloom_info(f | f);

\echo '-- Parallel: in which order processes meet is chance, so bytes may differ, but no item is lost and the'
\echo '-- promise is the same.'
CREATE TABLE users (user_id int, f bloom) WITH (parallel_workers = 3);
INSERT INTO users SELECT u, bloom_agg(u * 100 + i, 0.0001) FROM generate_series(1, 300) u, generate_series(0, u % 40) i
	GROUP BY u;
ANALYZE users;
CREATE VIEW all_users AS SELECT bloom_union_agg(f) AS f FROM users;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE united AS SELECT 'serial' AS plan, f FROM all_users;
SET max_parallel_workers_per_gather = 3;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
DO $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) SELECT f FROM all_users' INTO plan;
	RAISE WARNING '%', jsonb_path_query_array(plan::jsonb, 'strict $.**."Partial Mode"');
END
$$;
INSERT INTO united SELECT 'parallel', f FROM all_users;
SET parallel_leader_participation = off;
INSERT INTO united SELECT 'workers only', f FROM all_users;
SELECT plan, (SELECT count(*) FROM users u, generate_series(0, user_id % 40) i
	WHERE NOT united.f @> user_id * 100 + i) AS lost,
	round((bloom_info(f)).fpr::numeric, 6) AS promise, bloom_fpr(f) <= (bloom_info(f)).fpr AS kept
FROM united ORDER BY plan DESC;

DROP VIEW all_users;
DROP TABLE f, unions, users, united;

\echo '-- Layers of unlike sizes err independently: what bloom_fpr() says is what happens, and no more than the'
\echo '-- sum'
CREATE FUNCTION pg_temp.one_by_one(f bloom, first int, last int) RETURNS bloom LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		f := bloom_add(f, i);
	END LOOP;
	RETURN f;
END $$;
SELECT p, avg(rate) <= 2 * p AS within_the_sum, abs(avg(rate) / avg(says) - 1) < 0.02 AS as_said
FROM unnest('{0.3,0.1}'::float8[]) p, generate_series(1000000, 20000000, 1000000) apart,
	LATERAL (SELECT pg_temp.one_by_one(bloom_new(1000, p) | bloom_new(1200, p), apart + 1, apart + 2200) AS f) AS u,
	LATERAL (SELECT bloom_fpr(f) AS says, 1 - cardinality(ARRAY(SELECT generate_series(100001, 120000)) - f) / 20000.0
		AS rate) AS m
GROUP BY p ORDER BY p;

\echo '-- Rates next to 1: a union promises no less than either filter, so that what is valid stays valid'
SELECT u.fpr < 1 AS below_1, u.fpr >= (bloom_info(f)).fpr AS no_less,
	(f | f)::text::bloom = f | f AS can_be_restored
FROM (VALUES ('\x0101010000000000ffffffffffffef3f010000100010000000100000040000000000004008000003'::bloom)) AS v (f),
	bloom_info(f | f) AS u;

CREATE FUNCTION pg_temp.little_endian(bytes bytea) RETURNS bytea LANGUAGE sql AS $$
	SELECT string_agg(substr(bytes, i, 1), '' ORDER BY i DESC) FROM generate_series(1, length(bytes)) AS i
$$;
-- a filter of one layer of a word, with as many items as are credible at most
CREATE FUNCTION pg_temp.fullest(fpr float8, hashes int, bits bytea, OUT f bloom) LANGUAGE plpgsql AS $$
DECLARE
	low int := 0;
	high int := 4096;
	items int;
BEGIN
	WHILE low < high LOOP
		items := (low + high + 1) / 2;
		BEGIN
			f := '\x0101010000000000'::bytea || pg_temp.little_endian(float8send(fpr))
				|| pg_temp.little_endian(int4send(hashes << 26 | 1)) ||
				pg_temp.little_endian(int4send(4096)) || pg_temp.little_endian(int4send(items)) || pg_temp.little_endian(int4send(
					(SELECT count(*)::int FROM generate_series(0, 63) AS b WHERE get_bit(bits, b) = 1))) || bits;
			low := items;
		EXCEPTION WHEN invalid_binary_representation THEN
			high := items - 1;
		END;
	END LOOP;
END
$$;
CREATE FUNCTION pg_temp.can_be_restored(f bloom) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	RETURN f::text::bloom = f;
EXCEPTION WHEN invalid_binary_representation THEN
	RETURN false;
END
$$;
DO $$ BEGIN PERFORM setseed(0.5); END $$;
CREATE TEMPORARY TABLE near_1 AS
SELECT hashes, pg_temp.fullest(fpr, hashes, bits) AS f
FROM generate_series(1, 60) AS n, LATERAL (SELECT
	CASE WHEN n % 3 = 0 THEN random() ELSE 1 - (1 + n % 4) * 2::float8 ^ -53 END AS fpr, 1 + n % 8 AS hashes,
	int8send((random() * 2::float8 ^ 60)::bigint & (random() * 2::float8 ^ 60)::bigint & CASE
		WHEN n % 2 = 0 THEN (random() * 2::float8 ^ 60)::bigint ELSE -1 END) AS bits) AS r;
SELECT count(*) > 1000 AS pairs, count(*) FILTER (WHERE NOT pg_temp.can_be_restored(a.f | b.f)) AS cannot_be_restored
FROM near_1 AS a, near_1 AS b WHERE a.f IS NOT NULL AND b.f IS NOT NULL;
