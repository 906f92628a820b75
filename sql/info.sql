--
-- The state of a filter, and the size that one would have: bloom_info, bloom_layers,
-- bloom_cardinality, bloom_fpr, bloom_sizing, bloom_capacity.
--
--
-- bloom_info: one row a filter
--
\x on
SELECT * FROM bloom_info(bloom_new());
SELECT * FROM bloom_info(bloom_new(20, 0.05, true));
SELECT * FROM bloom_info(NULL);
\x off
SELECT kind, items, capacity, fpr, bits, bits_set, layers, bytes
FROM bloom_info(bloom_add(bloom_new(10, 0.001), '{a,b,c}'::text[]));
SELECT kind, items, capacity, fpr, bits, bits_set, layers, bytes
FROM bloom_info(bloom_add(bloom_new(20, 0.05), '00000000-0000-0000-0000-000000000001'::uuid));
SELECT round(fill::numeric, 3) AS fill, round(fpr_now::numeric, 6) AS fpr_now
FROM bloom_info(bloom_add(bloom_new(10, 0.001), '{a,b,c}'::text[]));
SELECT round(fill::numeric, 3) AS fill, round(fpr_now::numeric, 6) AS fpr_now
FROM bloom_info(bloom_add(bloom_new(20, 0.05), '00000000-0000-0000-0000-000000000001'::uuid));

-- of a filter that has grown: the sum of the layers
CREATE TEMP TABLE grown AS
	SELECT bloom_add(bloom_add(bloom_new(100), ARRAY(SELECT generate_series(1, 150))),
					 ARRAY(SELECT generate_series(1, 2000))) AS f;
SELECT layers = (SELECT count(*) FROM bloom_layers(f)) AS layers FROM grown, bloom_info(f);
SELECT items = (SELECT sum(items) FROM bloom_layers(f)) AS items FROM grown, bloom_info(f);
SELECT capacity = (SELECT sum(capacity) FROM bloom_layers(f)) AS capacity FROM grown, bloom_info(f);
SELECT bits = (SELECT sum(bits) FROM bloom_layers(f)) AS bits FROM grown, bloom_info(f);
SELECT bits_set = (SELECT sum(bits_set) FROM bloom_layers(f)) AS bits_set FROM grown, bloom_info(f);
SELECT bytes = 4 + 16 + 16 * layers + (SELECT sum(bytes) FROM bloom_layers(f)) AS bytes
FROM grown, bloom_info(f);
SELECT bytes = octet_length(f::bytea) + 4 AS as_stored FROM grown, bloom_info(f);
SELECT abs(fill - bits_set / bits::float8) < 1e-12 AS fill FROM grown, bloom_info(f);
SELECT fpr, fpr_now = bloom_fpr(f) AS fpr_now FROM grown, bloom_info(f);

-- the layers err independently
SELECT abs(1 - fpr_now - (SELECT exp(sum(ln(1 - fpr_now))) FROM bloom_layers(f))) < 1e-12 AS right
FROM grown, bloom_info(f);
DROP TABLE grown;

-- Of stored values.  The largest are out of line; headers come first, so that not all of a value
-- need be read.
CREATE TEMP TABLE seen (user_id int, items bloom);
INSERT INTO seen
	SELECT u, bloom_agg(i)
	FROM generate_series(1, 5) u, generate_series(1, (10 ^ u)::int) i GROUP BY u;
INSERT INTO seen VALUES (6, NULL);
SELECT user_id, i.kind, i.items, i.capacity, i.layers
FROM seen, bloom_info(items) i ORDER BY user_id;
-- the same as of a copy, which is read in one piece
SELECT user_id, i = bloom_info(seen.items::text::bloom) AS info
FROM seen, bloom_info(items) i ORDER BY user_id;
SELECT user_id, bloom_cardinality(items) = bloom_cardinality(items::text::bloom) AS estimate
FROM seen ORDER BY user_id;
SELECT user_id, bloom_fpr(items) = bloom_fpr(items::text::bloom) AS rate
FROM seen ORDER BY user_id;
SELECT user_id, layer, l.items FROM seen, bloom_layers(items) l ORDER BY user_id, layer;
DROP TABLE seen;

--
-- bloom_layers: one row a layer, oldest first
--
CREATE TEMP TABLE grown AS
	SELECT bloom_add(bloom_add(bloom_new(100), ARRAY(SELECT generate_series(1, 130))),
					 ARRAY(SELECT generate_series(101, 260))) AS f;
SELECT layer, items, capacity, bits, hashes, blocks, slice FROM grown, bloom_layers(f);
SELECT layer, fpr > 0 AND fpr < 0.01 AS fpr FROM grown, bloom_layers(f);
SELECT layer, bits_set > 0 AND bits_set < bits AS bits_set FROM grown, bloom_layers(f);
SELECT layer, abs(fill - bits_set / bits::float8) < 1e-12 AS fill FROM grown, bloom_layers(f);
SELECT layer, bytes = bits / 8 AS bytes FROM grown, bloom_layers(f);
DROP TABLE grown;

-- of an empty filter, a counting one, and none
SELECT layer, items, capacity, fpr_now, bits_set, fill FROM bloom_layers(bloom_new(1000, 0.01));
SELECT fpr BETWEEN 0.009 AND 0.01 AS fpr FROM bloom_layers(bloom_new(1000, 0.01));
SELECT layer, capacity, bits * 4 = bytes * 8 AS counters
FROM bloom_layers(bloom_new(1000, 0.01, true));
SELECT count(*) FROM bloom_layers(NULL);

-- a large one is cut into blocks of about a chunk
SELECT blocks > 500 AS many, bits % blocks = 0 AS equal,
	bits / blocks BETWEEN 15000 AND 16000 AS size
FROM bloom_layers(bloom_new(1000000));

--
-- bloom_cardinality: an estimate from the bits, which does not mind how often an item was added
--
SELECT bloom_cardinality(NULL);
SELECT bloom_cardinality(bloom_new());
SELECT bloom_cardinality(bloom_add(NULL, 1));
SELECT bloom_cardinality(bloom_add(bloom_add(NULL, 1), ARRAY[1, 1, 1]));

-- also where the probes of an item meet in one place
SELECT bloom_cardinality, count(*)
FROM (SELECT bloom_cardinality(bloom_agg(i)) FROM generate_series(1, 500) i GROUP BY i) AS c
GROUP BY 1;

-- within 3% of filters that are just full
SELECT n, p, abs(estimate - n) <= greatest(2, 0.03 * n) AS near
FROM unnest('{5,20,100,1000,10000,100000}'::int[]) n, unnest('{0.1,0.01,0.0001}'::float8[]) p,
	LATERAL (SELECT bloom_cardinality(bloom_agg(i, p)) AS estimate
			 FROM generate_series(1, n) i) AS a
ORDER BY n, p;
-- of filters that are nearly empty, half empty, just full, and grown
SELECT n, abs(estimate - n) <= greatest(2, 0.03 * n) AS near
FROM unnest('{50,500,1000,1500,5000}'::int[]) n,
	bloom_cardinality(bloom_add(bloom_new(1000), ARRAY(SELECT generate_series(1, n)))) AS estimate
ORDER BY n;
-- and of a union, in which an item that is in both counts once as long as the bits lie in one layer
SELECT abs(bloom_cardinality(a | b) - 600) < 20 AS near
FROM bloom_add(bloom_new(1000), ARRAY(SELECT generate_series(1, 400))) a,
	bloom_add(bloom_new(1000), ARRAY(SELECT generate_series(201, 600))) b;

-- a filter whose bits are all set does not show how many items it has, but there is still a number
CREATE TEMP TABLE full_up AS
	SELECT (substr(v, 1, 20) || '\x400000004000000040000000ffffffffffffffff')::bloom AS f
	FROM CAST(bloom_add(bloom_new(1), 1) AS bytea) AS v;
SELECT bloom_cardinality(f) > 0 AS some FROM full_up;
SELECT bloom_fpr(f) FROM full_up;
DROP TABLE full_up;

--
-- bloom_fpr: the rate now, rising from 0 to the promise
--
SELECT bloom_fpr(NULL);
SELECT bloom_fpr(bloom_new());
SELECT n, rate > lag(rate, 1, 0::float8) OVER (ORDER BY n) AS rises,
	rate <= 0.01 * 1.05 AS within_promise
FROM unnest('{1,250,500,750,900,1000}'::int[]) n,
	bloom_fpr(bloom_add(bloom_new(1000), ARRAY(SELECT generate_series(1, n)))) rate
ORDER BY n;
SELECT p, n, now BETWEEN p * 0.5 AND p * 1.05 AS near
FROM unnest('{0.1,0.01,0.001}'::float8[]) p, unnest('{300,3000,30000,100000}'::int[]) n,
	LATERAL (SELECT bloom_fpr(bloom_agg(i, p)) AS now FROM generate_series(1, n) i) AS a
ORDER BY p, n;

--
-- bloom_sizing: the calculator
--
SELECT * FROM bloom_sizing(1, 0.5);
CREATE TEMP TABLE sizes AS
	SELECT * FROM generate_series(1, 4000, 7) capacity, unnest('{0.1,0.01,0.0001}'::float8[]) p,
		bloom_sizing(capacity, p);
SELECT p, count(*) FROM sizes GROUP BY p ORDER BY p;

-- the rate to expect when full is within the promise
SELECT p, capacity, expected_fpr FROM sizes WHERE expected_fpr > p;
-- and from 1,000 items on only the share for growth is left of the promise
SELECT p, capacity, expected_fpr FROM sizes WHERE capacity >= 1000 AND expected_fpr <= p * 0.9;
-- with about the probes of the optimum
SELECT p, capacity, hashes FROM sizes
WHERE capacity >= 1000
	AND hashes NOT BETWEEN -log(2, p::numeric) * 0.8 - 2 AND -log(2, p::numeric) + 2;
DROP TABLE sizes;

-- it says what bloom_new() makes
CREATE TEMP TABLE made AS
	SELECT s.*, capacity, p, bloom_new(capacity, p) AS f
	FROM unnest('{1,2,3,5,10,33,100,299,300,1234,5000,50000}'::bigint[]) capacity,
		unnest('{0.2,0.05,0.01,0.001,1e-6,1e-9}'::float8[]) p, bloom_sizing(capacity, p) s;
SELECT count(*) FROM made;
SELECT capacity, p, bits FROM made WHERE bits <> (bloom_info(f)).bits;
SELECT capacity, p, bytes FROM made WHERE bytes <> octet_length(f::bytea) + 4;
SELECT capacity, p, bytes FROM made WHERE bytes <> 36 + bits / 8;
SELECT capacity, p, expected_fpr FROM made
WHERE expected_fpr > p OR (expected_fpr <= p * 0.2 AND bits > 256);
DROP TABLE made;

-- a hundred million items at 1%: 114 MiB, in no more than a moment and without making them
SELECT bytes BETWEEN 119000000 AND 124000000 AS about_114_mib, hashes
FROM bloom_sizing(100000000, 0.01);

--
-- bloom_capacity: the inverse
--
SELECT * FROM bloom_capacity(4428, 0.01);
CREATE TEMP TABLE room AS
	SELECT b, p, c.*
	FROM unnest('{52,100,180,190,1000,4427,4428,4429,32804,33000,100000,10000000,500000000}'
				::bigint[]) b,
		unnest('{0.9,0.1,0.01,0.0001,1e-9}'::float8[]) p, bloom_capacity(b, p) c;
SELECT count(*) FROM room;
-- that many items fit
SELECT b, p, capacity, bytes FROM room WHERE bytes > b;
-- with the bits, hashes, bytes and rate that bloom_sizing() says
SELECT b, p, capacity, room.bits, room.hashes, room.bytes, room.expected_fpr
FROM room, bloom_sizing(capacity, p) s
WHERE (room.bits, room.hashes, room.bytes, room.expected_fpr) IS DISTINCT FROM s;
-- and no more: but a filter for 100 items or fewer has a stricter first layer, so that 101 can
-- take less
SELECT b, p, capacity, bytes FROM room
WHERE capacity NOT IN (100, 4294967295) AND (bloom_sizing(capacity + 1, p)).bytes <= b;
SELECT c.capacity FROM bloom_sizing(100, 0.01) s, bloom_capacity(s.bytes - 8, 0.01) c;
DROP TABLE room;

-- a value has 500 MiB at most
SELECT bloom_capacity(9223372036854775807, 0.01) = bloom_capacity(500 * 1024 * 1024, 0.01) AS same;

-- The limit in the detail of the error is exact: that many items are accepted, and one more is not.
CREATE FUNCTION pg_temp.limit_at(p float8, OUT of_500_mib numeric, OUT one_more text,
								 OUT is_named boolean, OUT hint text)
LANGUAGE plpgsql AS $$
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
SELECT * FROM pg_temp.limit_at(0.1);
SELECT * FROM pg_temp.limit_at(0.01);
SELECT * FROM pg_temp.limit_at(0.0001);
SELECT * FROM pg_temp.limit_at(1e-9);

-- the smallest and the greatest rate: such filters work, and keep their promise
SELECT capacity, p,
	bloom_contains_all(bloom_add(bloom_new(capacity, p), ARRAY[1, 2, 3]), ARRAY[1, 2, 3])
FROM (VALUES (1, 1e-9), (100, 1e-9), (1, 0.5), (1, 0.99), (100, 0.999999)) AS v (capacity, p);
SELECT capacity, p,
	bloom_fpr(bloom_add(bloom_new(capacity, p), ARRAY(SELECT generate_series(1, 50)))) <= p * 1.05
		AS promise_kept
FROM (VALUES (1, 1e-9), (100, 1e-9), (1, 0.5), (1, 0.99), (100, 0.999999)) AS v (capacity, p);
