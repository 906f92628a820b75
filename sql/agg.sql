--
-- bloom_agg(): one filter of the items of all rows, sized for the distinct ones.  The plan does not show in
-- its bytes: serial or parallel, hashed or sorted, in any order of rows.
--
\set ECHO none
\pset format unaligned \pset footer off
SET client_min_messages = warning;

\echo '-- Three forms of four kinds'
SELECT kind, items, capacity, fpr, layers, f = CASE kind WHEN 'integer' THEN bloom_add(empty, '{1,2,3}'::int[])
	WHEN 'text' THEN bloom_add(empty, '{1,2,3}'::text[])
	WHEN 'uuid' THEN bloom_add(empty, uuids) ELSE bloom_add(empty, '{1,2,3}'::bytea[]) END AS as_added
FROM (SELECT array_agg(u) AS uuids, ARRAY[bloom_agg(i), bloom_agg(i, 0.001), bloom_agg(i, 0.001, 1), bloom_agg(t),
	bloom_agg(t, 0.001), bloom_agg(t, 0.001, 1),
	bloom_agg(u), bloom_agg(u, 0.001), bloom_agg(u, 0.001, 1), bloom_agg(b), bloom_agg(b, 0.001),
			bloom_agg(b, 0.001, 1)] AS filters
	FROM generate_series(1, 3) i, LATERAL (SELECT i::text, lpad(i::text, 32, '0')::uuid, i::text::bytea) AS l(t, u, b))
		AS a,
	unnest(filters) WITH ORDINALITY AS u(f, n), bloom_info(f), bloom_new(capacity, fpr) AS empty ORDER BY n;
\echo '-- the narrower types'
SELECT bloom_agg(i::smallint) = bloom_agg(i::bigint) AS smallint,
	bloom_agg(i) = bloom_agg(i::bigint) AS integer,
	bloom_agg(i::text::varchar) = bloom_agg(i::text) AS varchar, bloom_agg(i::text::char(9)) = bloom_agg(i::text) AS char
FROM generate_series(1, 1000) i;

\echo '-- the empty text, whose hash is 0: once, and again and again'
SELECT n, items, f @> '' AS has_it
FROM unnest('{1,2,1000}'::int[]) n, LATERAL (SELECT bloom_agg(t)
	FROM generate_series(1, n), unnest('{"",a}'::text[]) t) AS a(f), bloom_info(f) ORDER BY n;

\echo '-- Which rows count: NULL items do not, and without an item there is no filter, whatever the parameters'
\echo '-- are'
SELECT bloom_agg(i) IS NULL AS no_rows,
	bloom_agg(i::text, 0.1) IS NULL AS fpr, bloom_agg(i, NULL, -1) IS NULL AS wrong
	FROM generate_series(1, 0) i;
SELECT bloom_agg(NULL::bigint) IS NULL AS only_nulls,
	bloom_agg(NULL::text, 0.1) IS NULL AS text,
	bloom_agg(NULL::uuid, 0.1, 1) IS NULL AS uuid
FROM generate_series(1, 3) i;
SELECT bloom_agg(CASE WHEN i % 3 = 0 THEN i END) = bloom_agg(i) FILTER (WHERE i % 3 = 0) AS filter,
	bloom_agg(i % 50) = bloom_agg(DISTINCT i % 50) AS distinct,
	bloom_agg(i ORDER BY i DESC) = bloom_agg(i ORDER BY i % 7) AS order_by,
	bloom_agg(i) FILTER (WHERE i < 0) IS NULL AS none_left,
	bloom_agg(i) FILTER (WHERE i = 2) = bloom_add(bloom_new(1), 2) AS one
FROM generate_series(1, 1000) i;
\echo '-- groups'
SELECT g, (bloom_info(f)).items, (bloom_info(f)).capacity, f @> g AS own, f @> (g + 1) AS other
FROM (SELECT i % 4 AS g, bloom_agg(i / 100 * 4 + i % 4) AS f FROM generate_series(0, 999) i GROUP BY 1) AS groups
	ORDER BY g;
\echo '-- a window: all so far, and all but those that have left the frame again'
SELECT i, (bloom_info(f)).items AS so_far, f @> i AS own, f @> (i + 1) AS next, (bloom_info(g)).items AS in_frame,
	g @> (i - 2) AS has_left
FROM (SELECT i, bloom_agg(i) OVER (ORDER BY i) AS f, bloom_agg(i) OVER (ORDER BY i ROWS 1 PRECEDING) AS g
	FROM generate_series(1, 5) i) AS w;
SELECT count(*), bool_and(f = (SELECT bloom_agg(j, 0.02, 0.5) FROM generate_series(1, 300) j WHERE j % 3 = w.i % 3))
	AS same
FROM (SELECT i, bloom_agg(i, 0.02, 0.5) OVER (PARTITION BY i % 3) AS f FROM generate_series(1, 300) i) AS w;

\echo '-- Parameters'
SELECT bloom_agg(i, NULL) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, 0.01, NULL) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, CASE WHEN i < 3 THEN 0.01 END) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, 0.01, CASE WHEN i < 3 THEN 0.2 END) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, 0.01 * i) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, 0.01, i) FROM generate_series(1, 3) i;
\echo '-- The same holds if the item is NULL.  An fpr that is wrong by itself is that, in a later row, too.'
SELECT bloom_agg(NULL::int, 0.01 * i) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, CASE WHEN i < 3 THEN 0.01 ELSE 'NaN' END) FROM generate_series(1, 3) i;
\echo '-- each group its own'
SELECT i % 2 AS g, (bloom_info(bloom_agg(i, 0.01 * (1 + i % 2)))).fpr FROM generate_series(1, 9) i GROUP BY 1
	ORDER BY 1;
SELECT bloom_agg(NULL::int, 0) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, 0.01, -0.1) FROM generate_series(1, 3) i;
\set VERBOSITY terse
SELECT bloom_agg(i, 0.01, 'NaN') FROM generate_series(1, 3) i;
SELECT bloom_agg(i, 0.01, 1001) FROM generate_series(1, 3) i;
\set VERBOSITY default

\echo '-- The size: for distinct items, with the headroom asked for, and within the bound'
SELECT items, capacity, bits = (bloom_sizing(1000, 0.01)).bits AS right_size,
	bloom_cardinality(f) BETWEEN 985 AND 1015 AS estimate
FROM (SELECT bloom_agg(i % 1000) AS f FROM generate_series(1, 50000) i) AS a, bloom_info(f);
\echo '-- headroom: room for so many more, and not one layer more while they fit'
SELECT headroom, i.items, i.capacity, i.layers, within.layers AS within,
	(bloom_info(bloom_add(full_up, ARRAY(SELECT -i FROM generate_series(1, 200) i)))).layers AS beyond,
	bloom_contains_all(full_up, ARRAY(SELECT generate_series(1, i.capacity))) AS no_false_negative,
	bloom_fpr(full_up) <= 0.01 * 1.05 AS promise_kept
FROM unnest('{0,0.1,0.2,0.5,1,10}'::float8[]) headroom,
	LATERAL (SELECT bloom_agg(i, 0.01, headroom) AS f FROM generate_series(1, 1000) i) AS a, bloom_info(f) i,
	LATERAL (SELECT bloom_add(f, ARRAY(SELECT generate_series(1, i.capacity)))) AS b(full_up), bloom_info(full_up) within
ORDER BY headroom;
\echo '-- In bits at most 1.03 times the optimum, -n ln p / (ln 2)^2, and 40 bytes: for every n from 300 on.'
CREATE FUNCTION pg_temp.size_ratio(n bigint, p float8, OUT ratio float8) LANGUAGE sql
AS 'SELECT (bytes * 8 - 320) / (-n * ln(p) / ln(2) ^ 2) FROM bloom_sizing(n, p)';
SELECT count(*), min(ratio) > 0.9 AS plausible,
	string_agg(format('%s at %s: %s', n, p, ratio), ', ') FILTER (WHERE ratio > 1.03) AS too_large
FROM unnest('{0.1,0.05,0.02,0.01,0.001,0.0001}'::float8[]) p,
	(SELECT generate_series(300, 1000) UNION SELECT (300 * 1.1 ^ i)::bigint FROM generate_series(1, 140) i) AS s(n),
	pg_temp.size_ratio(n, p) AS ratio;
\echo '-- The calculator is what the aggregate does; for a grown filter the bound is that of growth.'
SELECT n, p, bytes = octet_length(f::bytea) + 4 AS as_calculated, items = n AS counts,
	(bytes * 8 - 320) / (-n * ln(p) / ln(2) ^ 2) <= 1.03 AS within_bound
FROM unnest('{300,301,350,433,512,700,3650,10000,40000}'::int[]) n, unnest('{0.1,0.01,0.001,0.0001}'::float8[]) p,
	LATERAL (SELECT bloom_agg(i, p) AS f FROM generate_series(1, n) i) AS a, bloom_info(f)
WHERE bytes <> octet_length(f::bytea) + 4 OR items <> n OR bytes <> (bloom_sizing(n, p)).bytes
	OR (bytes * 8 - 320) / (-n * ln(p) / ln(2) ^ 2) > 1.03;

\echo '-- Plans: the same bytes from all of them'
CREATE TABLE exposures (user_id int, item_id bigint, slug text, guid uuid, bytes bytea);
INSERT INTO exposures SELECT u, i, 'item-' || i, lpad(i::text, 32, '0')::uuid, int8send(i)
FROM generate_series(1, 40) u, LATERAL (SELECT (u * 7919 + n * 104729) % (u * 60)
	FROM generate_series(1, u * 50) n) AS l(i);
INSERT INTO exposures SELECT user_id, NULL FROM generate_series(1, 41) user_id;
ANALYZE exposures;
CREATE VIEW filters AS SELECT user_id, bloom_agg(item_id) AS a, bloom_agg(item_id, 0.001) AS b,
	bloom_agg(item_id, 0.03, 0.2) AS c, bloom_agg(slug, 0.01) AS d, bloom_agg(guid) AS e, bloom_agg(bytes, 0.05, 1) AS f
	FROM exposures GROUP BY user_id;
CREATE VIEW filter AS SELECT bloom_agg(item_id) AS a, bloom_agg(item_id, 0.001) AS b,
	bloom_agg(item_id, 0.03, 0.2) AS c, bloom_agg(slug, 0.01) AS d, bloom_agg(guid) AS e, bloom_agg(bytes, 0.05, 1) AS f
	FROM exposures;
CREATE FUNCTION pg_temp.plan_of(query text, OUT modes jsonb, OUT strategies jsonb) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
	modes := jsonb_path_query_array(plan::jsonb, 'strict $.**."Partial Mode"');
	strategies := jsonb_path_query_array(plan::jsonb, 'strict $.**.Strategy');
END
$$;
\echo '-- serial and hashed'
SET max_parallel_workers_per_gather = 0;
SET enable_sort = off;
SELECT * FROM pg_temp.plan_of('SELECT * FROM filters');
CREATE TABLE hashed AS SELECT * FROM filters;
CREATE TABLE serial AS SELECT * FROM filter;
RESET enable_sort;
SELECT count(*), count(a) AS filters, (SELECT count(*) FROM exposures JOIN hashed USING (user_id)
	WHERE NOT (a @> item_id AND e @> guid)) AS lost FROM hashed;
\echo '-- serial and sorted, the rows of a group in another order'
SET enable_hashagg = off;
SELECT * FROM pg_temp.plan_of('SELECT * FROM filters');
SELECT count(*) AS unlike FROM filters s FULL JOIN hashed h USING (user_id) WHERE s IS DISTINCT FROM h;
RESET enable_hashagg;
\echo '-- Parallel: states are made in several processes, sent as bytes and combined.'
SET max_parallel_workers_per_gather = 3;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
ALTER TABLE exposures SET (parallel_workers = 3);
SELECT * FROM pg_temp.plan_of('SELECT * FROM filter');
SELECT count(*) AS unlike FROM filter p, serial s WHERE p IS DISTINCT FROM s;
SET parallel_leader_participation = off;
SELECT count(*) AS unlike FROM filter p, serial s WHERE p IS DISTINCT FROM s;
RESET parallel_leader_participation;
SET enable_sort = off;
SELECT * FROM pg_temp.plan_of('SELECT * FROM filters');
SELECT count(*) AS unlike FROM filters p FULL JOIN hashed h USING (user_id) WHERE p IS DISTINCT FROM h;
RESET enable_sort;
SET enable_hashagg = off;
SELECT * FROM pg_temp.plan_of('SELECT * FROM filters');
SELECT count(*) AS unlike FROM filters p FULL JOIN hashed h USING (user_id) WHERE p IS DISTINCT FROM h;
RESET enable_hashagg;
\echo '-- An fpr that differs is found where it differs: within a process, or where two meet.'
\set VERBOSITY terse
SELECT bloom_agg(item_id, CASE WHEN user_id < 40 THEN 0.01 ELSE 0.02 END) FROM exposures;
\set VERBOSITY default
\echo '-- a group without items in one process, or in all'
SELECT bloom_agg(item_id) FILTER (WHERE user_id = 2) = (SELECT a FROM hashed WHERE user_id = 2) AS in_few_rows,
	bloom_agg(item_id) FILTER (WHERE user_id > 40) IS NULL AS in_none
FROM exposures;
DROP VIEW filters, filter;
DROP TABLE exposures, hashed, serial;

\echo '-- Items that set no further bit are counted as well, even if somebody has chosen them: what the aggregate'
\echo '-- makes is a value.'
CREATE TABLE chosen AS
SELECT i FROM generate_series(1, 100000) i WHERE bloom_add(bloom_new(300, 0.9), 1) @> i LIMIT 300;
SELECT items, bits_set < 5 AS few_bits, f::text::bloom = f AS is_a_value
FROM (SELECT bloom_agg(i, 0.9) AS f FROM chosen) a, bloom_info(f);
DROP TABLE chosen;
