--
-- Counting filters: what was added can be taken out again
--
\pset format unaligned \pset footer off

CREATE FUNCTION pg_temp.counting(capacity bigint) RETURNS bloom LANGUAGE sql AS
	$$SELECT bloom_new(capacity, 0.01, 0, counting => true)$$;

-- four bits a position in place of one
SELECT c.bits = p.bits AS same_positions, c.bytes - 36 = 4 * (p.bytes - 36) AS four_times, c.counting, p.counting
FROM bloom_info(pg_temp.counting(1000)) c, bloom_info(bloom_new(1000)) p;

-- it holds what was added and answers as any other
SELECT bloom_contains_all(f, items) AS no_false_negative, cardinality(items - f) AS survivors,
	(bloom_info(f)).items BETWEEN 995 AND 1000 AS counted
FROM (SELECT array_agg(i) AS items, bloom_add(pg_temp.counting(1000), array_agg(i)) AS f FROM generate_series(1, 1000) i) AS c;

-- out again, one by one and many at once, for every kind
SELECT f @> 1 AS before, bloom_remove(f, 1) @> 1 AS after, bloom_remove(f, 1) @> 2 AS other
FROM bloom_add(pg_temp.counting(100), ARRAY[1, 2]) f;
SELECT bloom_remove(f, 'a'::text) @> 'a' AS after FROM bloom_add(pg_temp.counting(100), 'a'::text) f;
SELECT bloom_remove(f, '\x01'::bytea) @> '\x01'::bytea AS after FROM bloom_add(pg_temp.counting(100), '\x01'::bytea) f;
SELECT bloom_remove(f, u) @> u AS after
FROM (VALUES ('00000000-0000-0000-0000-000000000001'::uuid)) AS v(u), bloom_add(pg_temp.counting(100), u) f;

-- all out leaves nothing behind, not one bit
SELECT bits_set, items, fpr_now
FROM (SELECT bloom_remove(bloom_add(pg_temp.counting(1000), array_agg(i)), array_agg(i)) AS f FROM generate_series(1, 1000) i) AS c,
	bloom_info(f);

-- every add counts: twice in needs twice out
SELECT bloom_remove(f, 7) @> 7 AS once, bloom_remove(bloom_remove(f, 7), 7) @> 7 AS twice,
	bloom_remove(f, ARRAY[7, 7]) @> 7 AS both
FROM bloom_add(bloom_add(pg_temp.counting(100), 7), 7) f;
SELECT bloom_remove(bloom_add(pg_temp.counting(100), ARRAY[7, 7]), 7) @> 7 AS once;

-- a counter stays at 15: then the item stays, too
SELECT bloom_remove(bloom_add(pg_temp.counting(100), array_agg(7)), array_agg(7)) @> 7 AS stays FROM generate_series(1, 15);
SELECT bloom_remove(bloom_add(pg_temp.counting(100), array_agg(7)), array_agg(7)) @> 7 AS stays FROM generate_series(1, 14);

-- what is not contained is not taken out
SELECT bloom_remove(f, 8) = f AS untouched FROM bloom_add(pg_temp.counting(100), 7) f;

-- NULL: nothing to take out, or nothing to take it from
SELECT bloom_remove(NULL, 1) IS NULL AS no_filter, bloom_remove(f, NULL::bigint) = f AS no_item,
	bloom_remove(f, NULL::bigint[]) = f AS no_items, bloom_remove(f, ARRAY[NULL, 7]) @> 7 AS null_among_them
FROM bloom_add(pg_temp.counting(100), 7) f;

-- it has one layer and is full one day; what it contains already needs no room
SELECT bloom_add(pg_temp.counting(100), array_agg(i)) FROM generate_series(1, 200) i;
SELECT (bloom_info(bloom_add(f, ARRAY[1, 2, 3]))).layers
FROM (SELECT bloom_add(pg_temp.counting(100), array_agg(i)) AS f FROM generate_series(1, 100) i) AS c;

-- unions add the counters, and fit in one layer or not at all
SELECT bloom_remove(f | f, 7) @> 7 AS once, bloom_remove(f | f, ARRAY[7, 7]) @> 7 AS twice
FROM bloom_add(pg_temp.counting(100), 7) f;
SELECT pg_temp.counting(100) | pg_temp.counting(1000);
SELECT pg_temp.counting(100) | bloom_new(100);

-- other filters can't forget, and wrong kinds are told
SELECT bloom_remove(bloom_add(NULL, 7), 7);
SELECT bloom_remove(bloom_add(pg_temp.counting(100), 7), 'a'::text);
SELECT bloom_remove(bloom_add(pg_temp.counting(100), 7), ARRAY['a']);

-- in and out
SELECT f::text::bloom = f AS text, f::bytea::bloom = f AS bytea FROM bloom_add(pg_temp.counting(100), 7) f;

-- full in time: items that it takes for contained are not counted, and at high rates they are many
CREATE FUNCTION pg_temp.fill(f bloom) RETURNS bloom LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 5000 LOOP
		f := bloom_add(f, i);
	END LOOP;
	RETURN f;
EXCEPTION WHEN program_limit_exceeded THEN
	RETURN f;
END $$;
SELECT p, avg(bloom_fpr(f)) <= p * 1.01 AS promise_kept
FROM unnest('{0.9,0.5,0.3,0.1,0.01}'::float8[]) p, generate_series(1, 10) seed,
	LATERAL pg_temp.fill(bloom_new(1000, p, seed, counting => true)) f
GROUP BY p ORDER BY p;

-- Items come and go: what is counted then is held to the bits, and neither the rate nor
-- the room drifts.
CREATE FUNCTION pg_temp.churn(p float8, seed integer, OUT taken bigint, OUT rate float8) LANGUAGE plpgsql AS $$
DECLARE
	f bloom := bloom_add(bloom_new(1000, p, seed, counting => true), ARRAY(SELECT generate_series(1, 800)));
	oldest bigint := 1;
	newest bigint := 800;
BEGIN
	FOR i IN 1 .. 500 LOOP
		f := bloom_remove(f, ARRAY(SELECT generate_series(oldest, oldest + 99)));
		f := bloom_add(f, ARRAY(SELECT generate_series(newest + 1, newest + 100)));
		oldest := oldest + 100;
		newest := newest + 100;
	END LOOP;
	BEGIN
		LOOP
			f := bloom_add(f, newest + 1);
			newest := newest + 1;
		END LOOP;
	EXCEPTION WHEN program_limit_exceeded THEN
		NULL;
	END;
	IF NOT bloom_contains_all(f, ARRAY(SELECT generate_series(oldest, newest))) THEN
		RAISE 'an item is missing';
	END IF;
	taken := newest - oldest + 1;
	rate := bloom_fpr(f);
END $$;
SELECT p, avg(rate) <= p * 1.02 AS promise_kept, max(rate) <= p * 1.15 AS by_each, min(taken) > 950 AS room_kept, max(taken) < 1050 AS no_more
FROM unnest('{0.1,0.05,0.01,0.001}'::float8[]) p, generate_series(1, 4) seed, pg_temp.churn(p, seed)
GROUP BY p ORDER BY p;
