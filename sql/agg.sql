--
-- bloom_agg(): one filter of the items of all rows, sized for the distinct ones.  Its bytes do not
-- depend on the plan: serial or parallel, hashed or sorted, in any order of rows.
--

-- Four kinds of items in three forms: with the default rate, with a rate, and with headroom too.
-- The result is what bloom_add() makes of an empty filter of that room.
CREATE TABLE items (i int, t text, u uuid, b bytea);
INSERT INTO items
	SELECT i, i, lpad(i::text, 32, '0')::uuid, i::text::bytea FROM generate_series(1, 3) i;

SELECT bloom_agg(i) = bloom_add(bloom_new(3), array_agg(i)) AS same FROM items;
SELECT bloom_agg(i, 0.001) = bloom_add(bloom_new(3, 0.001), array_agg(i)) AS same FROM items;
SELECT bloom_agg(i, 0.001, 1) = bloom_add(bloom_new(6, 0.001), array_agg(i)) AS same FROM items;
SELECT kind, items, capacity, fpr, layers
FROM bloom_info((SELECT bloom_agg(i, 0.001, 1) FROM items));

SELECT bloom_agg(t) = bloom_add(bloom_new(3), array_agg(t)) AS same FROM items;
SELECT bloom_agg(t, 0.001) = bloom_add(bloom_new(3, 0.001), array_agg(t)) AS same FROM items;
SELECT bloom_agg(t, 0.001, 1) = bloom_add(bloom_new(6, 0.001), array_agg(t)) AS same FROM items;
SELECT kind, items, capacity, fpr, layers
FROM bloom_info((SELECT bloom_agg(t, 0.001, 1) FROM items));

SELECT bloom_agg(u) = bloom_add(bloom_new(3), array_agg(u)) AS same FROM items;
SELECT bloom_agg(u, 0.001) = bloom_add(bloom_new(3, 0.001), array_agg(u)) AS same FROM items;
SELECT bloom_agg(u, 0.001, 1) = bloom_add(bloom_new(6, 0.001), array_agg(u)) AS same FROM items;
SELECT kind, items, capacity, fpr, layers
FROM bloom_info((SELECT bloom_agg(u, 0.001, 1) FROM items));

SELECT bloom_agg(b) = bloom_add(bloom_new(3), array_agg(b)) AS same FROM items;
SELECT bloom_agg(b, 0.001) = bloom_add(bloom_new(3, 0.001), array_agg(b)) AS same FROM items;
SELECT bloom_agg(b, 0.001, 1) = bloom_add(bloom_new(6, 0.001), array_agg(b)) AS same FROM items;
SELECT kind, items, capacity, fpr, layers
FROM bloom_info((SELECT bloom_agg(b, 0.001, 1) FROM items));
DROP TABLE items;

-- the narrower types
SELECT bloom_agg(i::smallint) = bloom_agg(i::bigint) AS same FROM generate_series(1, 1000) i;
SELECT bloom_agg(i) = bloom_agg(i::bigint) AS same FROM generate_series(1, 1000) i;
SELECT bloom_agg(i::text::varchar) = bloom_agg(i::text) AS same FROM generate_series(1, 1000) i;
SELECT bloom_agg(i::text::char(9)) = bloom_agg(i::text) AS same FROM generate_series(1, 1000) i;

-- the empty text, whose hash is 0: once, and again and again
SELECT n, items, f @> '' AS contained
FROM unnest('{1,2,1000}'::int[]) n,
	LATERAL (SELECT bloom_agg(t) AS f FROM generate_series(1, n), unnest('{"",a}'::text[]) t) AS a,
	bloom_info(f)
ORDER BY n;

-- without an item there is no filter, whatever the parameters are
SELECT bloom_agg(i) FROM generate_series(1, 0) i;
SELECT bloom_agg(i::text, 0.1) FROM generate_series(1, 0) i;
SELECT bloom_agg(i, NULL, -1) FROM generate_series(1, 0) i;
SELECT bloom_agg(i) FILTER (WHERE i < 0) FROM generate_series(1, 1000) i;

-- NULL is no item
SELECT bloom_agg(NULL::bigint) FROM generate_series(1, 3) i;
SELECT bloom_agg(NULL::text, 0.1) FROM generate_series(1, 3) i;
SELECT bloom_agg(NULL::uuid, 0.1, 1) FROM generate_series(1, 3) i;
SELECT bloom_agg(CASE WHEN i % 3 = 0 THEN i END)
	= bloom_agg(i) FILTER (WHERE i % 3 = 0) AS same FROM generate_series(1, 1000) i;

-- one row of many, repetitions, and another order
SELECT bloom_agg(i) FILTER (WHERE i = 2) = bloom_add(bloom_new(1), 2) AS same
FROM generate_series(1, 1000) i;
SELECT bloom_agg(i % 50) = bloom_agg(DISTINCT i % 50) AS same FROM generate_series(1, 1000) i;
SELECT bloom_agg(i ORDER BY i DESC) = bloom_agg(i ORDER BY i % 7) AS same
FROM generate_series(1, 1000) i;

-- groups
CREATE TABLE groups AS
	SELECT i % 4 AS g, bloom_agg(i / 100 * 4 + i % 4) AS f
	FROM generate_series(0, 999) i GROUP BY 1;
SELECT g, items, capacity FROM groups, bloom_info(f) ORDER BY g;
SELECT g, f @> g AS own FROM groups ORDER BY g;
SELECT g, f @> (g + 1) AS other FROM groups ORDER BY g;
DROP TABLE groups;

-- a window: all rows so far
CREATE TABLE frames AS
	SELECT i, bloom_agg(i) OVER (ORDER BY i) AS f,
		bloom_agg(i) OVER (ORDER BY i ROWS 1 PRECEDING) AS last_two
	FROM generate_series(1, 5) i;
SELECT i, items FROM frames, bloom_info(f) ORDER BY i;
SELECT i, f @> i AS own, f @> (i + 1) AS next FROM frames ORDER BY i;

-- a moving frame, without the items that have left it
SELECT i, items FROM frames, bloom_info(last_two) ORDER BY i;
SELECT i, last_two @> (i - 2) AS has_left FROM frames ORDER BY i;
DROP TABLE frames;

-- the same filter for each row of a partition
SELECT count(*), bool_and(f = (SELECT bloom_agg(j, 0.02, 0.5) FROM generate_series(1, 300) j
							   WHERE j % 3 = w.i % 3)) AS same
FROM (SELECT i, bloom_agg(i, 0.02, 0.5) OVER (PARTITION BY i % 3) AS f
	  FROM generate_series(1, 300) i) AS w;

-- a parameter must not be NULL, and must be the same in all rows
SELECT bloom_agg(i, NULL) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, 0.01, NULL) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, CASE WHEN i < 3 THEN 0.01 END) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, 0.01, CASE WHEN i < 3 THEN 0.2 END) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, 0.01 * i) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, 0.01, i) FROM generate_series(1, 3) i;
-- also where the item is NULL
SELECT bloom_agg(NULL::int, 0.01 * i) FROM generate_series(1, 3) i;
-- but each group may have its own
SELECT g, fpr
FROM (SELECT i % 2, bloom_agg(i, 0.01 * (1 + i % 2)) FROM generate_series(1, 9) i GROUP BY 1)
	AS a (g, f), bloom_info(f)
ORDER BY g;

-- an invalid parameter, also in a later row
SELECT bloom_agg(NULL::int, 0) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, CASE WHEN i < 3 THEN 0.01 ELSE 'NaN' END) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, 0.01, -0.1) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, 0.01, 'NaN') FROM generate_series(1, 3) i;
SELECT bloom_agg(i, 0.01, 1001) FROM generate_series(1, 3) i;

--
-- The size
--

-- for distinct items
CREATE TABLE sized AS SELECT bloom_agg(i % 1000) AS f FROM generate_series(1, 50000) i;
SELECT items, capacity FROM sized, bloom_info(f);
SELECT bits = (bloom_sizing(1000, 0.01)).bits AS right_size FROM sized, bloom_info(f);
SELECT bloom_cardinality(f) BETWEEN 985 AND 1015 AS near FROM sized;
DROP TABLE sized;

-- headroom: room for further items
CREATE TABLE rooms AS
	SELECT headroom, f, bloom_add(f, ARRAY(SELECT generate_series(1, capacity))) AS full_up
	FROM (SELECT headroom, bloom_agg(i, 0.01, headroom) AS f
		  FROM unnest('{0,0.1,0.2,0.5,1,10}'::float8[]) headroom, generate_series(1, 1000) i
		  GROUP BY headroom) AS a, bloom_info(f);
SELECT headroom, items, capacity, layers FROM rooms, bloom_info(f) ORDER BY headroom;
-- not one layer more while they fit
SELECT headroom, layers FROM rooms, bloom_info(full_up) ORDER BY headroom;
SELECT headroom, layers
FROM rooms, bloom_info(bloom_add(full_up, ARRAY(SELECT -i FROM generate_series(1, 200) i)))
ORDER BY headroom;
-- full, it has all of them and keeps its promise
SELECT headroom, bloom_contains_all(full_up, ARRAY(SELECT generate_series(1, capacity)))
FROM rooms, bloom_info(f) ORDER BY headroom;
SELECT headroom, bloom_fpr(full_up) <= 0.01 * 1.05 AS promise_kept FROM rooms ORDER BY headroom;
DROP TABLE rooms;

-- In bits at most 1.03 times the optimum, -n ln p / (ln 2)^2, beside the 40 bytes of the headers:
-- for every n from 300 on.
CREATE TABLE sizes AS
	SELECT n, p, (bytes * 8 - 320) / (-n * ln(p) / ln(2) ^ 2) AS ratio
	FROM unnest('{0.1,0.05,0.02,0.01,0.001,0.0001}'::float8[]) p,
		(SELECT generate_series(300, 1000)
		 UNION SELECT (300 * 1.1 ^ i)::bigint FROM generate_series(1, 140) i) AS s (n),
		bloom_sizing(n, p);
SELECT count(*), min(ratio) > 0.9 AS plausible FROM sizes;
SELECT n, p, ratio FROM sizes WHERE ratio > 1.03;
DROP TABLE sizes;

-- the aggregate takes what the calculator says
CREATE TABLE made AS
	SELECT n, p, bloom_agg(i, p) AS f
	FROM unnest('{300,301,350,433,512,700,3650,10000,40000}'::int[]) n,
		unnest('{0.1,0.01,0.001,0.0001}'::float8[]) p, LATERAL generate_series(1, n) i
	GROUP BY n, p;
SELECT count(*) FROM made;
SELECT n, p, i.bytes, s.bytes AS calculated
FROM made, bloom_info(f) i, bloom_sizing(n, p) s WHERE i.bytes <> s.bytes;
SELECT n, p, bytes FROM made, bloom_info(f) WHERE bytes <> octet_length(f::bytea) + 4;
SELECT n, p, items FROM made, bloom_info(f) WHERE items <> n;
SELECT n, p, bytes FROM made, bloom_info(f)
WHERE (bytes * 8 - 320) / (-n * ln(p) / ln(2) ^ 2) > 1.03;
DROP TABLE made;

--
-- Plans: the same bytes from all of them
--
CREATE TABLE exposures (user_id int, item_id bigint, slug text, guid uuid, bytes bytea);
INSERT INTO exposures
	SELECT u, i, 'item-' || i, lpad(i::text, 32, '0')::uuid, int8send(i)
	FROM generate_series(1, 40) u,
		LATERAL (SELECT (u * 7919 + n * 104729) % (u * 60)
				 FROM generate_series(1, u * 50) n) AS l (i);
INSERT INTO exposures SELECT user_id, NULL FROM generate_series(1, 41) user_id;
ANALYZE exposures;
CREATE VIEW filters AS
	SELECT user_id, bloom_agg(item_id) AS a, bloom_agg(item_id, 0.001) AS b,
		bloom_agg(item_id, 0.03, 0.2) AS c, bloom_agg(slug, 0.01) AS d, bloom_agg(guid) AS e,
		bloom_agg(bytes, 0.05, 1) AS f
	FROM exposures GROUP BY user_id;
CREATE VIEW filter AS
	SELECT bloom_agg(item_id) AS a, bloom_agg(item_id, 0.001) AS b,
		bloom_agg(item_id, 0.03, 0.2) AS c, bloom_agg(slug, 0.01) AS d, bloom_agg(guid) AS e,
		bloom_agg(bytes, 0.05, 1) AS f
	FROM exposures;
CREATE FUNCTION pg_temp.plan_of(query text, OUT modes jsonb, OUT strategies jsonb)
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
	modes := jsonb_path_query_array(plan::jsonb, 'strict $.**."Partial Mode"');
	strategies := jsonb_path_query_array(plan::jsonb, 'strict $.**.Strategy');
END
$$;

-- serial and hashed
SET max_parallel_workers_per_gather = 0;
SET enable_sort = off;
SELECT * FROM pg_temp.plan_of('SELECT * FROM filters');
CREATE TABLE hashed AS SELECT * FROM filters;
CREATE TABLE serial AS SELECT * FROM filter;
RESET enable_sort;
SELECT count(*), count(a) AS filters FROM hashed;
SELECT count(*) AS lost FROM exposures JOIN hashed USING (user_id) WHERE NOT a @> item_id;
SELECT count(*) AS lost FROM exposures JOIN hashed USING (user_id) WHERE NOT e @> guid;

-- serial and sorted, the rows of a group in another order
SET enable_hashagg = off;
SELECT * FROM pg_temp.plan_of('SELECT * FROM filters');
SELECT user_id FROM filters s FULL JOIN hashed h USING (user_id) WHERE s IS DISTINCT FROM h;
RESET enable_hashagg;

-- parallel: states are made in several processes, sent as bytes and combined
SET max_parallel_workers_per_gather = 3;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
ALTER TABLE exposures SET (parallel_workers = 3);
SELECT * FROM pg_temp.plan_of('SELECT * FROM filter');
SELECT count(*) AS unlike FROM filter p, serial s WHERE p IS DISTINCT FROM s;
-- by the workers alone
SET parallel_leader_participation = off;
SELECT count(*) AS unlike FROM filter p, serial s WHERE p IS DISTINCT FROM s;
RESET parallel_leader_participation;

-- parallel and hashed
SET enable_sort = off;
SELECT * FROM pg_temp.plan_of('SELECT * FROM filters');
SELECT user_id FROM filters p FULL JOIN hashed h USING (user_id) WHERE p IS DISTINCT FROM h;
RESET enable_sort;

-- parallel and sorted
SET enable_hashagg = off;
SELECT * FROM pg_temp.plan_of('SELECT * FROM filters');
SELECT user_id FROM filters p FULL JOIN hashed h USING (user_id) WHERE p IS DISTINCT FROM h;
RESET enable_hashagg;

-- an fpr that differs is found where it differs: within a process, or where two meet
\set VERBOSITY terse
SELECT bloom_agg(item_id, CASE WHEN user_id < 40 THEN 0.01 ELSE 0.02 END) FROM exposures;
\set VERBOSITY default

-- without items in one process, or in all
SELECT bloom_agg(item_id) FILTER (WHERE user_id = 2)
	= (SELECT a FROM hashed WHERE user_id = 2) AS same FROM exposures;
SELECT bloom_agg(item_id) FILTER (WHERE user_id > 40) FROM exposures;

DROP VIEW filters, filter;
DROP TABLE exposures, hashed, serial;

-- Items that set no further bit are counted as well, even if somebody has chosen many such items:
-- the result is still a valid value.
CREATE TABLE chosen AS
	SELECT bloom_agg(i, 0.9) AS f
	FROM (SELECT i FROM generate_series(1, 100000) i
		  WHERE bloom_add(bloom_new(300, 0.9), 1) @> i LIMIT 300) AS items;
SELECT items, bits_set < 5 AS few_bits FROM chosen, bloom_info(f);
SELECT f::text::bloom = f AS is_a_value FROM chosen;
DROP TABLE chosen;
