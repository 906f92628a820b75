--
-- What a filter tells of itself, and what it would take: bloom_info, bloom_layers, bloom_cardinality,
-- bloom_fpr, bloom_sizing.
--
\set ECHO none
\pset format unaligned \pset footer off
SET client_min_messages = warning;
\echo '-- bloom_info: one row a filter'
SELECT i.* FROM (VALUES (1, bloom_new()), (2, bloom_add(bloom_new(10, 0.001), '{a,b,c}'::text[])),
	(3, bloom_add(bloom_new(20, 0.05), '00000000-0000-0000-0000-000000000001'::uuid)),
	(4, bloom_new(20, 0.05, true)), (5, NULL)) AS v(n, f),
	LATERAL (SELECT kind, items, capacity, fpr, round(fpr_now::numeric, 6), bits, bits_set, round(fill::numeric, 3),
		layers, bytes, counting, window_width, slices FROM bloom_info(f)) AS i ORDER BY n;
\echo '-- grown: the sum of the layers'
SELECT i.items = l.items AS items, i.capacity = l.capacity AS capacity,
	i.bits = l.bits AS bits,
	i.bits_set = l.bits_set AS bits_set,
	i.layers = l.layers AS layers, i.bytes = 4 + 16 + 16 * i.layers + l.bytes AS bytes,
	i.bytes = octet_length(f::bytea) + 4 AS stored,
	abs(i.fill - i.bits_set / i.bits::float8) < 1e-12 AS fill, i.fpr_now = bloom_fpr(f) AS fpr_now, i.fpr = 0.01 AS fpr,
	abs(1 - i.fpr_now - l.passes) < 1e-12 AS layers_err_independently
FROM bloom_add(bloom_add(bloom_new(100), ARRAY(SELECT generate_series(1, 150))),
	ARRAY(SELECT generate_series(1, 2000))) f, bloom_info(f) i,
	(SELECT sum(items) AS items, sum(capacity) AS capacity, sum(bits) AS bits, sum(bits_set) AS bits_set,
		count(*) AS layers, sum(bytes) AS bytes,
		exp(sum(ln(1 - fpr_now))) AS passes
	FROM bloom_layers(bloom_add(bloom_add(bloom_new(100), ARRAY(SELECT generate_series(1, 150))),
		ARRAY(SELECT generate_series(1, 2000))))) l;
\echo '-- of a stored value, in one query with others'
CREATE TABLE seen (user_id int, items bloom);
INSERT INTO seen SELECT u, bloom_agg(i) FROM generate_series(1, 5) u, generate_series(1, (10 ^ u)::int) i GROUP BY u;
INSERT INTO seen VALUES (6, NULL);
\echo '-- The largest are stored out of line; headers come first, so that not all of a value need be read.'
SELECT user_id, i.kind, i.items, i.capacity, i.layers, i = bloom_info(copy) AS like_copy,
	bloom_cardinality(seen.items) = bloom_cardinality(copy) AS cardinality,
	bloom_fpr(seen.items) = bloom_fpr(copy) AS rate,
	(SELECT array_agg(l.items) FROM bloom_layers(seen.items) l) AS of_layers
FROM seen, bloom_info(seen.items) i, LATERAL (SELECT seen.items::text::bloom AS copy) c ORDER BY user_id;
DROP TABLE seen;

\echo '-- bloom_layers: one row a layer, oldest first'
SELECT layer, items, capacity, fpr > 0 AND fpr < 0.01 AS fpr, bits, bits_set > 0 AND bits_set < bits AS bits_set,
	abs(fill - bits_set / bits::float8) < 1e-12 AS fill,
	hashes, blocks, bytes = bits / 8 AS bytes, slice
FROM bloom_layers(bloom_add(bloom_add(bloom_new(100), ARRAY(SELECT generate_series(1, 130))),
	ARRAY(SELECT generate_series(101, 260))));
SELECT layer, items, capacity, fpr BETWEEN 0.009 AND 0.01 AS fpr, fpr_now, bits_set, fill
	FROM bloom_layers(bloom_new(1000, 0.01));
SELECT layer, capacity, bits * 4 = bytes * 8 AS counters FROM bloom_layers(bloom_new(1000, 0.01, true));
SELECT blocks > 500 AS many_blocks, bits % blocks = 0 AS equal_blocks,
	bits / blocks BETWEEN 15000 AND 16000 AS about_one_chunk FROM bloom_layers(bloom_new(1000000));
SELECT count(*) FROM bloom_layers(NULL);

\echo '-- bloom_cardinality: an estimate from the bits, which does not mind how often an item was added'
SELECT bloom_cardinality(NULL) AS none, bloom_cardinality(bloom_new()) AS empty,
	bloom_cardinality(bloom_add(NULL, 1)) AS one,
	bloom_cardinality(bloom_add(bloom_add(NULL, 1), ARRAY[1, 1, 1])) AS still_one;
\echo '-- also where the probes of an item meet in one place'
SELECT min(bloom_cardinality(f)), max(bloom_cardinality(f))
	FROM (SELECT bloom_agg(i) AS f FROM generate_series(1, 500) i GROUP BY i) AS g;
SELECT count(*), string_agg(format('%s of %s at %s', estimate, n, p), ', ')
	FILTER (WHERE abs(estimate - n) > greatest(2, 0.03 * n)) AS beyond_3_percent
FROM unnest('{5,20,100,1000,10000,100000}'::int[]) n, unnest('{0.1,0.01,0.0001}'::float8[]) p,
	LATERAL (SELECT bloom_cardinality(bloom_agg(i, p)) AS estimate FROM generate_series(1, n) i) AS a;
\echo '-- half empty, just full, overfull by ORing, grown'
SELECT count(*), string_agg(format('%s of %s', estimate, n), ', ')
	FILTER (WHERE abs(estimate - n) > greatest(2, 0.03 * n)) AS beyond_3_percent
FROM unnest('{50,500,1000,1500,5000}'::int[]) n,
	bloom_cardinality(bloom_add(bloom_new(1000), ARRAY(SELECT generate_series(1, n)))) AS estimate;
\echo '-- In a union an item that is in both counts once as long as the bits lie in one layer.'
SELECT abs(bloom_cardinality(a | b) - 600) < 20 AS merged
FROM bloom_add(bloom_new(1000), ARRAY(SELECT generate_series(1, 400))) a,
	bloom_add(bloom_new(1000), ARRAY(SELECT generate_series(201, 600))) b;
\echo '-- A filter whose bits are all set does not show how many items it has, but the result is still a number.'
SELECT bloom_cardinality(f) > 0 AS some, bloom_fpr(f) AS rate
FROM (SELECT (substr(v, 1, 24) || '\x40000000'::bytea || '\x40000000'::bytea || '\xffffffffffffffff'::bytea)::bloom AS f
	FROM (SELECT set_byte(set_byte(bloom_add(bloom_new(1), 1)::bytea, 20, 64), 24, 64) AS v) AS raw) AS full_up;

\echo '-- bloom_fpr: the rate now, rising from 0 to the promise'
SELECT bloom_fpr(NULL) AS none, bloom_fpr(bloom_new()) AS empty;
SELECT n, rate > lag(rate, 1, 0::float8) OVER (ORDER BY n) AS rising, rate <= 0.01 * 1.05 AS within_promise
FROM unnest('{1,250,500,750,900,1000}'::int[]) n,
	bloom_fpr(bloom_add(bloom_new(1000), ARRAY(SELECT generate_series(1, n)))) rate ORDER BY n;
SELECT count(*), string_agg(format('%s at %s: %s', n, p, now), ', ')
	FILTER (WHERE now NOT BETWEEN p * 0.5 AND p * 1.05) AS other
FROM unnest('{0.1,0.01,0.001}'::float8[]) p, unnest('{300,3000,30000,100000}'::int[]) n,
	LATERAL (SELECT bloom_fpr(bloom_agg(i, p)) AS now FROM generate_series(1, n) i) AS a;

\echo '-- bloom_sizing: the calculator.  The rate to expect when full is within the promise, and from 1,000 items'
\echo '-- on only growth''s share is left of it.'
SELECT p, count(*), bool_and(expected_fpr <= p) AS kept,
	bool_and(expected_fpr > p * 0.9) FILTER (WHERE capacity >= 1000) AS near,
	bool_and(hashes BETWEEN -log(2, p::numeric) * 0.8 - 2 AND -log(2, p::numeric) + 2) FILTER (WHERE capacity >= 1000)
		AS hashes
FROM generate_series(1, 4000, 7) capacity, unnest('{0.1,0.01,0.0001}'::float8[]) p, bloom_sizing(capacity, p)
GROUP BY p ORDER BY p;
SELECT * FROM bloom_sizing(1, 0.5);
\echo '-- It says what bloom_new makes.'
SELECT bool_and((bits, bytes) = ((bloom_info(bloom_new(capacity, p))).bits,
	octet_length(bloom_new(capacity, p)::bytea) + 4)) AS as_made,
	bool_and(bytes = 36 + bits / 8) AS bytes, bool_and(expected_fpr <= p AND (expected_fpr > p * 0.2 OR bits <= 256))
		AS rate, count(*)
FROM unnest('{1,2,3,5,10,33,100,299,300,1234,5000,50000}'::bigint[]) capacity,
	unnest('{0.2,0.05,0.01,0.001,1e-6,1e-9}'::float8[]) p, bloom_sizing(capacity, p);
\echo '-- a hundred million items at 1%: 114 MiB, in no more than a moment and without making them'
SELECT bytes BETWEEN 119000000 AND 124000000 AS about_114_mib, hashes FROM bloom_sizing(100000000, 0.01);

\echo '-- bloom_capacity: the inverse'
SELECT * FROM bloom_capacity(4428, 0.01);
SELECT 	bool_and(s.bytes <= b AND (s.bits, s.hashes, s.expected_fpr) = (c.bits, c.hashes, c.expected_fpr)) AS fits,
	bool_and(c.capacity IN (100, 4294967295) OR (SELECT bytes FROM bloom_sizing(c.capacity + 1, p)) > b) AS and_no_more
FROM unnest('{0.9,0.1,0.01,0.0001,1e-9}'::float8[]) p,
	unnest('{52,100,180,190,1000,4427,4428,4429,32804,33000,100000,10000000,500000000}'::bigint[]) b,
	bloom_capacity(b, p) c, bloom_sizing(c.capacity, p) s;
\echo '-- a filter for 100 items or fewer has a stricter first layer, so 101 can take less'
SELECT c.capacity FROM bloom_sizing(100, 0.01) s, bloom_capacity(s.bytes - 8, 0.01) c;
SELECT bloom_capacity(9223372036854775807, 0.01) = bloom_capacity(500 * 1024 * 1024, 0.01) AS limited;

\echo '-- The limit that the detail names is the limit: so many are good, and one more is not.'
CREATE FUNCTION pg_temp.limit_at(p float8, OUT of_500_mib numeric, OUT one_more text, OUT is_named boolean,
	OUT hint text) LANGUAGE plpgsql AS $$
DECLARE
	most bigint := (bloom_capacity(500 * 1024 * 1024, p)).capacity;
	detail text;
BEGIN
	of_500_mib := round((bloom_sizing(most, p)).bytes / (500 * 1024 * 1024.0), 4);
	PERFORM bloom_sizing(most + 1, p);
EXCEPTION WHEN program_limit_exceeded THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	one_more := SQLSTATE;
	is_named := most::text = ANY (string_to_array(rtrim(detail, '.'), ' '));
END
$$;
SELECT p, l.* FROM unnest('{0.1,0.01,0.0001,1e-9}'::float8[]) p, pg_temp.limit_at(p) l;

\echo '-- the smallest and the greatest rate'
SELECT capacity, p, (SELECT bool_and(f @> i) FROM bloom_add(bloom_new(capacity, p), ARRAY[1, 2, 3]) f,
	generate_series(1, 3) i) AS works,
	bloom_fpr(bloom_add(bloom_new(capacity, p), ARRAY(SELECT generate_series(1, 50)))) <= p * 1.05 AS promise_kept
FROM (VALUES (1, 1e-9), (100, 1e-9), (1, 0.5), (100, 0.999999), (1, 0.99)) AS v(capacity, p);
