--
-- Adding, one item and many, and growing: a filter that outgrows its room gets one more layer.
-- The promised rate holds at every moment, and the bytes stay within a bound.
--
\set ECHO none
\pset format unaligned \pset footer off
SET client_min_messages = warning;

\echo '-- What is added is contained, by any way, and by any way it is the same filter'
SELECT count(DISTINCT f::text) AS filters, bool_and(bloom_contains_all(f, '{1,2,3}'::int[])) AS all_of_them,
	bool_or(bloom_contains_any(f, '{0,4,5,6}'::int[])) AS any_other
FROM (VALUES (bloom_add(NULL, '{1,2,3}'::int[])), (bloom_add(NULL, '{3,2,1,2,3,NULL}'::bigint[])),
	(bloom_add(bloom_add(bloom_add(NULL, 3), 1), 2)), (bloom_add(bloom_add(NULL, 3), '{1,2}'::smallint[])),
	(bloom_add(bloom_new(), '{1,2,3}'::int[])), (bloom_add(bloom_new(100, 0.01, false), '{1,2,3}'::int[]))) AS v(f);
\echo '-- a new filter is one as by bloom_new(), with room for 100 items at 1%, or as many as there are at once;'
\echo '-- one that is there keeps its capacity and rate'
SELECT i.kind, i.items, i.capacity, i.fpr, i.layers
FROM (VALUES (1, bloom_add(NULL, 1)), (2, bloom_add(NULL, ARRAY(SELECT generate_series(1, 5000)))),
	(3, bloom_add(bloom_new(500, 0.001), '{a,b,a}'::text[]))) AS v(n, f), bloom_info(f) i ORDER BY n;

\echo '-- As an aggregate function would, a fold over many rows; then the same as one array.'
CREATE AGGREGATE pg_temp.fold(bigint) (SFUNC = bloom_add, STYPE = bloom);
SELECT bloom_contains_all(fold, items) AND bloom_contains_all(many, items) AS no_false_negative,
	(bloom_info(fold)).layers > 1 AS has_grown, (bloom_info(many)).layers AS layers
FROM (SELECT pg_temp.fold(i) AS fold, bloom_add(NULL, array_agg(i)) AS many, array_agg(i) AS items
	FROM generate_series(1, 1000) i) AS f;

\echo '-- The same items again, in all orders and numbers, need no room: repetitions are not items.'
SELECT bloom_add(f, ARRAY(SELECT i % 100 FROM generate_series(1, 5000) i)) AS one_pass INTO TEMP once
	FROM bloom_new(100) f;
SELECT items, capacity, layers, bloom_add(one_pass, ARRAY(SELECT i % 100 FROM generate_series(1, 50) i))
	= one_pass AS unchanged
FROM once, bloom_info(one_pass);

\echo '-- Layers: full to the last item, then one more'
SELECT n, layers, items, capacity
FROM unnest('{99,100,101}'::int[]) n, bloom_info(bloom_add(bloom_new(100, 1e-6), ARRAY(SELECT generate_series(1, n))))
	AS info
ORDER BY n;
\echo '-- One array fills the room that is left, and one new layer takes all the rest.'
SELECT layer, items, capacity
FROM bloom_layers(bloom_add(bloom_add(bloom_new(100, 1e-6), ARRAY(SELECT generate_series(1, 90))),
	ARRAY(SELECT generate_series(81, 2000))));
\echo '-- Each layer is asked.'
SELECT bool_and(f @> i) AS all_of_them
FROM (SELECT bloom_add(bloom_add(bloom_new(10), ARRAY(SELECT generate_series(1, 50))),
	ARRAY(SELECT generate_series(51, 500))) AS f) AS v,
	generate_series(1, 500) i;
\echo '-- What can be reached at the most is the sum of what the layers can reach, and within the promise;'
\echo '-- however far a filter has grown, there is something left for the next layer.'
CREATE FUNCTION pg_temp.grow(filter bloom, factor float8, upto int) RETURNS bloom LANGUAGE plpgsql AS $$
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
SELECT room, p, array_agg(layers ORDER BY factor) AS layers, bool_and(within_promise AND within_room) AS within,
	bool_and(not_wasteful) AS not_wasteful, bool_and(items) AS items
FROM (SELECT room, p, factor, count(*) AS layers, sum(fpr) <= p AS within_promise, sum(fpr) > p / 2 AS not_wasteful,
		bool_and(items <= capacity) AS within_room, sum(items) BETWEEN 100000 * (1 - p * 1.2) AND 100000 AS items
	FROM (VALUES (1, 0.01), (100, 0.01), (1000, 0.01), (100, 0.0001), (100, 0.3), (299, 0.01), (300, 0.01)) AS v(room, p),
		(VALUES (1.01), (1.3), (10)) AS w(factor),
		bloom_layers(pg_temp.grow(bloom_new(room, p), factor, 100000)) l
	GROUP BY room, p, factor) AS grown
GROUP BY room, p ORDER BY p, room;

\echo '-- One item at a time, from 100: the promise at every step, and the bytes'
-- After each item: the rate now, and bytes by the optimum, -n ln p / (ln 2)^2 / 8.  A counting filter ends when it is
-- full.  Of filters that are `apart` none has items of another.
CREATE FUNCTION pg_temp.one_at_a_time(room int, p float8, apart int, upto int, counting boolean DEFAULT false)
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
SELECT count(*), max(rate) <= 0.01 AS promise_kept, max(ratio) <= 4 AS at_most_4, avg(ratio) <= 2.6 AS mean_at_most_2_6,
	max(layers) AS layers
FROM pg_temp.one_at_a_time(100, 0.01, 0, 10000) WHERE n > 100;
SELECT count(DISTINCT p), string_agg(DISTINCT p::text, ', ') FILTER (WHERE n > 100 AND ratio > 4) AS beyond_4
FROM unnest('{0.1,0.001,0.0001}'::float8[]) p, pg_temp.one_at_a_time(100, p, 5, 5000);
\echo '-- The rate now, from the fill, is the expected one give or take chance: so the mean of twenty filters'
\echo '-- counts, with 1% for what chance is left.  High rates are where a careless count of items shows: an item'
\echo '-- that finds its bits set is one, too, and at rates next to 1 a layer is full long before its capacity.'
SELECT count(*), string_agg(format('%s of %s: %s', p, room, max), ', ') FILTER (WHERE max > p * 1.01) AS beyond_promise
FROM (SELECT room, p, max(rate)
	FROM (SELECT room, p, n, avg(rate) AS rate
		FROM (VALUES (100), (1000)) AS v(room), unnest('{0.9,0.5,0.1,0.02,0.01,0.001}'::float8[]) p,
			generate_series(1, 20) apart,
			pg_temp.one_at_a_time(room, p, apart, 2500)
		WHERE n % 5 = 0
		GROUP BY room, p, n) AS mean
	GROUP BY room, p) AS worst;
SELECT count(DISTINCT p), string_agg(DISTINCT p::text, ', ') FILTER (WHERE rate > p) AS beyond_promise
FROM unnest('{0.7,0.85,0.9,0.95,0.99}'::float8[]) p, pg_temp.one_at_a_time(1000, p, 0, 6000);
\echo '-- Adding what is there already changes nothing, and costs nothing'
CREATE TABLE seen (user_id int PRIMARY KEY, items bloom);
INSERT INTO seen VALUES (1, bloom_add(NULL, ARRAY(SELECT generate_series(1, 10000)))),
	(2, bloom_add(NULL, ARRAY[1, 2]));
SELECT reltoastrelid::regclass AS toast FROM pg_class WHERE oid = 'seen'::regclass \gset
SELECT array_agg(DISTINCT chunk_id) AS before FROM :toast \gset
UPDATE seen SET items = bloom_add(items, 77);
UPDATE seen SET items = bloom_add(items, ARRAY[78, 79, NULL]) WHERE user_id = 1;
UPDATE seen SET items = bloom_add(items, ARRAY[]::int[]);
UPDATE seen SET items = bloom_add(items, NULL::int);
UPDATE seen SET items = items | NULL;
\echo '-- the same TOASTed value as before: the UPDATEs have copied its pointer'
SELECT array_agg(DISTINCT chunk_id) = :'before' AS untouched,
	(SELECT items @> 77 FROM seen WHERE user_id = 2) AS added
FROM :toast;
\echo '-- A new item makes a new value, which shows that the check can fail.'
UPDATE seen SET items = bloom_add(items, 1000001);
SELECT array_agg(DISTINCT chunk_id) = :'before' AS untouched FROM :toast;
SELECT user_id, items @> 1000001 AS added FROM seen ORDER BY 1;

\echo '-- a value that a statement makes of another is not the other'
DO $$
DECLARE
	f bloom := bloom_new(2);
	g bloom := f;
BEGIN
	g := bloom_add(g, 1);
	IF f @> 1 OR NOT g @> 1 THEN
		RAISE EXCEPTION 'a copy has changed';
	END IF;
END
$$;
DROP TABLE seen;

\echo '-- Many items at once, past the room of layers that are cut into blocks: those that the old layer has room'
\echo '-- for and those of the new one are spread over all blocks of theirs.'
SELECT kept, more, (bloom_info(f)).layers, 100000 - cardinality(others - f) <= 1000 + 4 * sqrt(1000) AS promise_kept,
	bloom_contains_all(f, ARRAY(SELECT n::bigint FROM generate_series(1, kept + more) AS n)) AS all_contained
FROM (VALUES (25000, 10000), (25000, 25000), (40000, 40000)) AS v (kept, more),
	LATERAL (SELECT bloom_agg(n, 0.01, 0.2) AS built FROM generate_series(1, kept) AS n) AS b,
	LATERAL (SELECT bloom_add(built, ARRAY(SELECT n::bigint FROM generate_series(kept + 1, kept + more) AS n))
		AS f OFFSET 0) AS a,
	(SELECT array_agg(n::bigint) AS others FROM generate_series(1000001, 1100000) AS n) AS o;

\echo '-- A layer that claims more items than such a shape can hold takes no further one: the value would be'
\echo '-- refused where it is read again.'
SELECT count(bloom_add(f, ARRAY(SELECT generate_series(1, n)::bigint))::bytea::bloom) AS read_again
FROM (SELECT ('\x0101020000000000e27a14ae47e1ca3f01000014050000000500000013000000010000400b000000090000000a000000'
	'0680924488084cab0000000000aa6813')::bloom) AS v (f),
	generate_series(1, 30) AS n;

\echo '-- Counting filters: what was added can be taken out again'
CREATE FUNCTION pg_temp.counting(capacity bigint) RETURNS bloom LANGUAGE sql AS
	$$SELECT bloom_new(capacity, 0.01, counting => true)$$;

\echo '-- out again, for every kind'
SELECT f @> 1 AS before, bloom_remove(f, 1) @> 1 AS after,
	bloom_remove(f, 1) @> 2 AS other,
	bloom_remove(t, 'a'::text) @> 'a' AS text,
	bloom_remove(b, '\x01'::bytea) @> '\x01'::bytea AS bytea, bloom_remove(g, u) @> u AS uuid
FROM (VALUES ('00000000-0000-0000-0000-000000000001'::uuid)) AS v(u), bloom_add(pg_temp.counting(100), ARRAY[1, 2]) f,
	bloom_add(pg_temp.counting(100), 'a'::text) t, bloom_add(pg_temp.counting(100), '\x01'::bytea) b,
	bloom_add(pg_temp.counting(100), u) g;
\echo '-- all out leaves nothing behind, not one bit'
SELECT bits_set, items, fpr_now
FROM (SELECT bloom_remove(bloom_add(pg_temp.counting(1000), array_agg(i)), array_agg(i)) AS f
	FROM generate_series(1, 1000) i) AS c,
	bloom_info(f);

\echo '-- every add counts: twice in needs twice out'
SELECT bloom_remove(f, 7) @> 7 AS once,
	bloom_remove(bloom_remove(f, 7), 7) @> 7 AS twice,
	bloom_remove(f, ARRAY[7, 7]) @> 7 AS both,
	bloom_remove(bloom_add(pg_temp.counting(100), ARRAY[7, 7]), 7) @> 7 AS once_of_array
FROM bloom_add(bloom_add(pg_temp.counting(100), 7), 7) f;
\echo '-- a counter stays at 15: then the item stays, too'
SELECT n, bloom_remove(bloom_add(pg_temp.counting(100), items), items) @> 7 AS stays
FROM unnest('{14,15}'::int[]) n, LATERAL (SELECT array_fill(7, ARRAY[n])) AS a(items) ORDER BY n;
\echo '-- what is not contained is not taken out; NULL: nothing to take out, or nothing to take it from'
SELECT bloom_remove(f, 8) = f AS other,
	bloom_remove(NULL, 1) IS NULL AS no_filter,
	bloom_remove(f, NULL::bigint) = f AS no_item,
	bloom_remove(f, NULL::bigint[]) = f AS no_items, bloom_remove(f, ARRAY[NULL, 7]) @> 7 AS null_among_them
FROM bloom_add(pg_temp.counting(100), 7) f;
\echo '-- it has one layer and is full one day; what it contains already needs no room'
SELECT bloom_add(pg_temp.counting(100), array_agg(i)) FROM generate_series(1, 200) i;
SELECT (bloom_info(bloom_add(f, ARRAY[1, 2, 3]))).layers
FROM (SELECT bloom_add(pg_temp.counting(100), array_agg(i)) AS f FROM generate_series(1, 100) i) AS c;
\echo '-- unions add the counters'
SELECT bloom_remove(f | f, 7) @> 7 AS once,
	bloom_remove(f | f, ARRAY[7, 7]) @> 7 AS twice
FROM bloom_add(pg_temp.counting(100), 7) f;
\echo '-- other filters can''t forget'
SELECT bloom_remove(bloom_add(NULL, 7), 7);
\echo '-- full in time: items that it takes for contained are not counted, and at high rates they are many'
SELECT count(*), string_agg(p::text, ', ') FILTER (WHERE avg > p * 1.01) AS beyond_promise
FROM (SELECT p, avg(rate)
	FROM unnest('{0.9,0.5,0.3,0.1,0.01}'::float8[]) p, generate_series(1, 10) apart,
		LATERAL (SELECT rate FROM pg_temp.one_at_a_time(1000, p, apart, 5000, counting => true)
			ORDER BY n DESC LIMIT 1) AS full_up
	GROUP BY p) AS mean;
\echo '-- Items come and go: what is counted then is held to the bits, and neither the rate nor the room drifts.'
CREATE FUNCTION pg_temp.churn(p float8, apart integer, OUT taken bigint, OUT rate float8) LANGUAGE plpgsql AS $$
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
END $$;
SELECT count(*), string_agg(format('%s: mean %s, worst %s', p, mean, worst), ', ')
	FILTER (WHERE mean > p * 1.02 OR worst > p * 1.15) AS beyond_promise,
	string_agg(format('%s: %s to %s', p, least, most), ', ') FILTER (WHERE least <= 950 OR most >= 1050) AS other_room
FROM (SELECT p, avg(rate) AS mean, max(rate) AS worst, min(taken) AS least, max(taken) AS most
	FROM unnest('{0.1,0.05,0.01,0.001}'::float8[]) p, generate_series(1, 4) apart, pg_temp.churn(p, apart)
	GROUP BY p) AS churned;
