--
-- Adding, one item and many, and growing: a filter that outgrows its room gets one more layer.
-- The promised rate holds at every moment, and the bytes stay within a bound.
--

-- the added items are contained, and nothing else
CREATE TABLE first AS SELECT bloom_add(NULL, '{1,2,3}'::int[]) AS f;
SELECT bloom_contains_all(f, '{1,2,3}'::int[]) FROM first;
SELECT bloom_contains_any(f, '{0,4,5,6}'::int[]) FROM first;

-- every way of adding makes the same filter
SELECT bloom_add(NULL, '{3,2,1,2,3,NULL}'::bigint[]) = f AS same FROM first;
SELECT bloom_add(bloom_add(bloom_add(NULL, 3), 1), 2) = f AS same FROM first;
SELECT bloom_add(bloom_add(NULL, 3), '{1,2}'::smallint[]) = f AS same FROM first;
SELECT bloom_add(bloom_new(), '{1,2,3}'::int[]) = f AS same FROM first;
SELECT bloom_add(bloom_new(100, 0.01, false), '{1,2,3}'::int[]) = f AS same FROM first;
DROP TABLE first;

-- a new filter is like that of bloom_new(), with room for 100 items at 1%, or for all items of the
-- first add if these are more
SELECT kind, items, capacity, fpr, layers FROM bloom_info(bloom_add(NULL, 1));
SELECT kind, items, capacity, fpr, layers
FROM bloom_info(bloom_add(NULL, ARRAY(SELECT generate_series(1, 5000))));
-- an existing filter keeps its capacity and rate
SELECT kind, items, capacity, fpr, layers
FROM bloom_info(bloom_add(bloom_new(500, 0.001), '{a,b,a}'::text[]));

-- as an aggregate function would, a fold over many rows
CREATE AGGREGATE pg_temp.fold(bigint) (SFUNC = bloom_add, STYPE = bloom);
CREATE TABLE folded AS SELECT pg_temp.fold(i) AS f FROM generate_series(1, 1000) i;
SELECT bloom_contains_all(f, ARRAY(SELECT generate_series(1, 1000))) FROM folded;
SELECT layers > 1 AS has_grown FROM folded, bloom_info(f);
DROP TABLE folded;

-- the same as one array
CREATE TABLE at_once AS SELECT bloom_add(NULL, array_agg(i)) AS f FROM generate_series(1, 1000) i;
SELECT bloom_contains_all(f, ARRAY(SELECT generate_series(1, 1000))) FROM at_once;
SELECT layers FROM at_once, bloom_info(f);
DROP TABLE at_once;

-- the same items again, in all orders and numbers, need no room: repetitions are not items
CREATE TABLE repeated AS
	SELECT bloom_add(bloom_new(100), ARRAY(SELECT i % 100 FROM generate_series(1, 5000) i)) AS f;
SELECT items, capacity, layers FROM repeated, bloom_info(f);
SELECT bloom_add(f, ARRAY(SELECT i % 100 FROM generate_series(1, 50) i)) = f AS same FROM repeated;
DROP TABLE repeated;

-- layers: full to the last item, then one more
SELECT layers, items, capacity
FROM bloom_info(bloom_add(bloom_new(100, 1e-6), ARRAY(SELECT generate_series(1, 99))));
SELECT layers, items, capacity
FROM bloom_info(bloom_add(bloom_new(100, 1e-6), ARRAY(SELECT generate_series(1, 100))));
SELECT layers, items, capacity
FROM bloom_info(bloom_add(bloom_new(100, 1e-6), ARRAY(SELECT generate_series(1, 101))));

-- one array fills the room that is left, and one new layer takes all the rest
SELECT layer, items, capacity
FROM bloom_layers(bloom_add(bloom_add(bloom_new(100, 1e-6), ARRAY(SELECT generate_series(1, 90))),
							ARRAY(SELECT generate_series(81, 2000))));

-- each layer is asked
SELECT bool_and(f @> i) AS all_of_them
FROM bloom_add(bloom_add(bloom_new(10), ARRAY(SELECT generate_series(1, 50))),
			   ARRAY(SELECT generate_series(51, 500))) AS f,
	generate_series(1, 500) i;

-- The rate that a filter can reach is the sum of those that its layers can reach, and within the
-- promise.  However far a filter has grown, part of the promise is left for the next layer.
CREATE FUNCTION pg_temp.grow(filter bloom, factor float8, upto int) RETURNS bloom
LANGUAGE plpgsql AS $$
DECLARE
	n int := 0;
	m int;
BEGIN
	WHILE n < upto LOOP
		m := least(upto, greatest(n + 1, (n * factor)::int));
		filter := bloom_add(filter, ARRAY(SELECT generate_series(n + 1, m)));
		n := m;
	END LOOP;
	RETURN filter;
END
$$;
CREATE TABLE grown AS
	SELECT room, p, factor, l.*
	FROM (VALUES
			(1, 0.01),
			(100, 0.01),
			(1000, 0.01),
			(100, 0.0001),
			(100, 0.3),
			(299, 0.01),
			(300, 0.01)
		) AS v (room, p),
		unnest('{1.01,1.3,10}'::numeric[]) AS factor,
		bloom_layers(pg_temp.grow(bloom_new(room, p), factor, 100000)) l;
SELECT p, room, factor, count(*) AS layers FROM grown GROUP BY p, room, factor ORDER BY 1, 2, 3;
SELECT p, room, factor, sum(fpr) AS beyond_promise
FROM grown GROUP BY p, room, factor HAVING sum(fpr) > p;
SELECT p, room, factor, sum(fpr) AS wasteful
FROM grown GROUP BY p, room, factor HAVING sum(fpr) <= p / 2;
SELECT p, room, factor, layer, items, capacity FROM grown WHERE items > capacity;
SELECT p, room, factor, sum(items) AS miscounted
FROM grown GROUP BY p, room, factor
HAVING sum(items) NOT BETWEEN 100000 * (1 - p * 1.2) AND 100000;
DROP TABLE grown;

--
-- One item at a time
--

-- After each item: the rate now, and the bytes in relation to the optimum, -n ln p / (ln 2)^2 / 8.
-- A counting filter ends when it is full.  Filters with different `apart` have no item in common.
CREATE FUNCTION pg_temp.one_at_a_time(room int, p float8, apart int, upto int,
									  counting boolean DEFAULT false)
RETURNS TABLE (n int, rate float8, ratio float8, layers int) LANGUAGE plpgsql AS $$
DECLARE
	filter bloom := bloom_new(room, p, counting);
	base int := apart * 1000000;
	optimum float8 := -ln(p) / ln(2) ^ 2 / 8;
BEGIN
	FOR i IN 1 .. upto LOOP
		filter := bloom_add(filter, base + i);
		IF NOT filter @> base + i THEN
			RAISE EXCEPTION 'lost % at once', i;
		END IF;
		n := i;
		rate := bloom_fpr(filter);
		ratio := (octet_length(filter::bytea) + 4) / (i * optimum);
		layers := get_byte(filter::bytea, 2) + 256 * get_byte(filter::bytea, 3);
		RETURN NEXT;
	END LOOP;
	IF NOT bloom_contains_all(filter, ARRAY(SELECT generate_series(base + 1, base + upto))) THEN
		RAISE EXCEPTION 'lost an item';
	END IF;
EXCEPTION WHEN program_limit_exceeded THEN
END
$$;

-- the promise at every step, and the bytes
CREATE TABLE steps AS SELECT * FROM pg_temp.one_at_a_time(100, 0.01, 0, 10000) WHERE n > 100;
SELECT count(*), max(layers) AS layers FROM steps;
SELECT max(rate) <= 0.01 AS promise_kept FROM steps;
SELECT max(ratio) <= 4 AS at_most FROM steps;
SELECT avg(ratio) <= 2.6 AS on_average FROM steps;
DROP TABLE steps;
SELECT p, max(ratio) <= 4 AS at_most
FROM unnest('{0.1,0.001,0.0001}'::float8[]) p, pg_temp.one_at_a_time(100, p, 5, 5000)
WHERE n > 100 GROUP BY p ORDER BY p;

-- The rate now, from the fill, varies by chance around the expected one, so test the mean of twenty
-- filters, with a margin of 1%.  A careless count of items shows at high rates, where many items
-- find all of their bits set, and must be counted all the same.
SELECT room, p, max(rate) <= p * 1.01 AS promise_kept
FROM (SELECT room, p, n, avg(rate) AS rate
	  FROM unnest('{100,1000}'::int[]) room, unnest('{0.9,0.5,0.1,0.02,0.01,0.001}'::float8[]) p,
		  generate_series(1, 20) apart, pg_temp.one_at_a_time(room, p, apart, 2500)
	  WHERE n % 5 = 0
	  GROUP BY room, p, n) AS mean
GROUP BY room, p ORDER BY room, p;

-- at rates next to 1 a layer is full long before its capacity
SELECT p, max(rate) <= p AS promise_kept
FROM unnest('{0.7,0.85,0.9,0.95,0.99}'::float8[]) p, pg_temp.one_at_a_time(1000, p, 0, 6000)
GROUP BY p ORDER BY p;

--
-- Adding items that the filter contains changes nothing, and costs nothing: the result is the same
-- TOASTed value as before, and an UPDATE copies its pointer.
--
CREATE TABLE seen (user_id int PRIMARY KEY, items bloom);
INSERT INTO seen VALUES
	(1, bloom_add(NULL, ARRAY(SELECT generate_series(1, 10000)))),
	(2, bloom_add(NULL, ARRAY[1, 2]));
SELECT reltoastrelid::regclass AS toast FROM pg_class WHERE oid = 'seen'::regclass \gset
SELECT array_agg(DISTINCT chunk_id) AS before FROM :toast \gset

UPDATE seen SET items = bloom_add(items, 77);
SELECT array_agg(DISTINCT chunk_id) = :'before' AS untouched FROM :toast;
SELECT items @> 77 AS added FROM seen WHERE user_id = 2;
UPDATE seen SET items = bloom_add(items, ARRAY[78, 79, NULL]) WHERE user_id = 1;
SELECT array_agg(DISTINCT chunk_id) = :'before' AS untouched FROM :toast;
UPDATE seen SET items = bloom_add(items, ARRAY[]::int[]);
SELECT array_agg(DISTINCT chunk_id) = :'before' AS untouched FROM :toast;
UPDATE seen SET items = bloom_add(items, NULL::int);
SELECT array_agg(DISTINCT chunk_id) = :'before' AS untouched FROM :toast;
UPDATE seen SET items = items | NULL;
SELECT array_agg(DISTINCT chunk_id) = :'before' AS untouched FROM :toast;

-- a new item makes a new value, which shows that the check can fail
UPDATE seen SET items = bloom_add(items, 1000001);
SELECT array_agg(DISTINCT chunk_id) = :'before' AS untouched FROM :toast;
SELECT user_id, items @> 1000001 AS added FROM seen ORDER BY user_id;
DROP TABLE seen;

-- a change of a copy does not change the original
DO $$
DECLARE
	f bloom := bloom_new(2);
	g bloom := f;
BEGIN
	g := bloom_add(g, 1);
	RAISE NOTICE 'f has 1: %, g has 1: %', f @> 1, g @> 1;
END
$$;

-- More items at once than a blocked layer has room for: the items that fill the old layer, and
-- those of the new one, are each spread over all blocks of their layer.
CREATE TABLE blocks AS
	SELECT kept, more,
		bloom_add(built, ARRAY(SELECT generate_series(kept + 1, kept + more)::bigint)) AS f
	FROM (VALUES (25000, 10000), (25000, 25000), (40000, 40000)) AS v (kept, more),
		LATERAL (SELECT bloom_agg(n, 0.01, 0.2) AS built FROM generate_series(1, kept) AS n) AS b;
SELECT kept, more, layers FROM blocks, bloom_info(f) ORDER BY kept, more;
SELECT kept, more, bloom_contains_all(f, ARRAY(SELECT generate_series(1, kept + more)))
FROM blocks ORDER BY kept, more;
SELECT kept, more,
	100000 - cardinality(ARRAY(SELECT generate_series(1000001, 1100000)) - f)
		<= 1000 + 4 * sqrt(1000) AS promise_kept
FROM blocks ORDER BY kept, more;
DROP TABLE blocks;

-- A layer that claims more items than its shape can hold takes no further item: the value would be
-- refused when it is read again.
SELECT count(bloom_add(f, ARRAY(SELECT generate_series(1, n)::bigint))::bytea::bloom) AS read_again
FROM CAST('\x0101020000000000e27a14ae47e1ca3f'
		  '01000014050000000500000013000000010000400b000000090000000a000000'
		  '0680924488084cab0000000000aa6813' AS bloom) AS f,
	generate_series(1, 30) AS n;

--
-- Counting filters: what was added can be taken out again
--
CREATE FUNCTION pg_temp.counting(capacity bigint) RETURNS bloom LANGUAGE sql AS $$
	SELECT bloom_new(capacity, 0.01, counting => true)
$$;

-- of every kind
SELECT f @> 1 AS before, bloom_remove(f, 1) @> 1 AS after
FROM bloom_add(pg_temp.counting(100), 1) f;
SELECT f @> 'a' AS before, bloom_remove(f, 'a'::text) @> 'a' AS after
FROM bloom_add(pg_temp.counting(100), 'a'::text) f;
SELECT f @> '\x01'::bytea AS before, bloom_remove(f, '\x01'::bytea) @> '\x01'::bytea AS after
FROM bloom_add(pg_temp.counting(100), '\x01'::bytea) f;
SELECT f @> u AS before, bloom_remove(f, u) @> u AS after
FROM CAST('00000000-0000-0000-0000-000000000001' AS uuid) u, bloom_add(pg_temp.counting(100), u) f;

-- others stay
SELECT bloom_remove(f, 1) @> 2 AS other FROM bloom_add(pg_temp.counting(100), ARRAY[1, 2]) f;

-- all out leaves nothing behind, not one bit
SELECT bits_set, items, fpr_now
FROM (SELECT bloom_remove(bloom_add(pg_temp.counting(1000), array_agg(i)), array_agg(i)) AS f
	  FROM generate_series(1, 1000) i) AS c,
	bloom_info(f);

-- every add counts: twice in needs twice out
CREATE TABLE twice AS SELECT bloom_add(bloom_add(pg_temp.counting(100), 7), 7) AS f;
SELECT bloom_remove(f, 7) @> 7 AS once FROM twice;
SELECT bloom_remove(bloom_remove(f, 7), 7) @> 7 AS twice FROM twice;
SELECT bloom_remove(f, ARRAY[7, 7]) @> 7 AS both FROM twice;
SELECT bloom_remove(bloom_add(pg_temp.counting(100), ARRAY[7, 7]), 7) @> 7 AS once_of_array;
DROP TABLE twice;

-- a counter stays at 15: then the item stays, too
SELECT bloom_remove(bloom_add(pg_temp.counting(100), items), items) @> 7 AS stays
FROM array_fill(7, ARRAY[14]) AS items;
SELECT bloom_remove(bloom_add(pg_temp.counting(100), items), items) @> 7 AS stays
FROM array_fill(7, ARRAY[15]) AS items;

-- what is not contained is not taken out
SELECT bloom_remove(f, 8) = f AS same FROM bloom_add(pg_temp.counting(100), 7) f;
-- NULL: nothing to take out, or nothing to take it from
SELECT bloom_remove(NULL, 1);
SELECT bloom_remove(f, NULL::bigint) = f AS same FROM bloom_add(pg_temp.counting(100), 7) f;
SELECT bloom_remove(f, NULL::bigint[]) = f AS same FROM bloom_add(pg_temp.counting(100), 7) f;
SELECT bloom_remove(f, ARRAY[NULL, 7]) @> 7 AS after FROM bloom_add(pg_temp.counting(100), 7) f;

-- there is one layer, which is full one day; what it contains already needs no room
SELECT bloom_add(pg_temp.counting(100), array_agg(i)) FROM generate_series(1, 200) i;
SELECT (bloom_info(bloom_add(f, ARRAY[1, 2, 3]))).layers
FROM (SELECT bloom_add(pg_temp.counting(100), array_agg(i)) AS f
	  FROM generate_series(1, 100) i) AS c;

-- unions add the counters
SELECT bloom_remove(f | f, 7) @> 7 AS once FROM bloom_add(pg_temp.counting(100), 7) f;
SELECT bloom_remove(f | f, ARRAY[7, 7]) @> 7 AS twice FROM bloom_add(pg_temp.counting(100), 7) f;

-- other filters cannot forget
SELECT bloom_remove(bloom_add(NULL, 7), 7);

-- it is full in time, although it does not count the items that it takes for contained, which are
-- many at high rates
SELECT p, avg(rate) <= p * 1.01 AS promise_kept
FROM unnest('{0.9,0.5,0.3,0.1,0.01}'::float8[]) p, generate_series(1, 10) apart,
	LATERAL (SELECT rate FROM pg_temp.one_at_a_time(1000, p, apart, 5000, counting => true)
			 ORDER BY n DESC LIMIT 1) AS full_up
GROUP BY p ORDER BY p;

-- Items come and go: what is counted then is held to the bits, and neither the rate nor the room
-- drifts.
CREATE FUNCTION pg_temp.churn(p float8, apart integer, OUT taken bigint, OUT rate float8)
LANGUAGE plpgsql AS $$
DECLARE
	f bloom := bloom_new(1000, p, counting => true);
	oldest bigint := apart * 1000000;
	newest bigint := oldest + 799;
BEGIN
	f := bloom_add(f, ARRAY(SELECT generate_series(oldest, newest)));
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
END
$$;
CREATE TABLE churned AS
	SELECT p, apart, taken, rate
	FROM unnest('{0.1,0.05,0.01,0.001}'::float8[]) p, generate_series(1, 4) apart,
		pg_temp.churn(p, apart);
SELECT p, avg(rate) <= p * 1.02 AS on_average, max(rate) <= p * 1.15 AS at_worst
FROM churned GROUP BY p ORDER BY p;
SELECT p, apart, taken FROM churned WHERE taken NOT BETWEEN 951 AND 1049;
DROP TABLE churned;
