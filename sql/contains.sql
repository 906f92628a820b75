--
-- Tests of items: every way gives the same answer, and a page of an ordered feed has the plan
-- that the documents promise.  test/t/004_false_positive_rate.pl counts how often an answer is
-- wrong.
--
CREATE TABLE ids AS SELECT n FROM generate_series(1::bigint, 20000) n;
CREATE TABLE filters (name text, f bloom);
INSERT INTO filters SELECT 'small', bloom_agg(n) FROM ids WHERE n <= 50;
INSERT INTO filters SELECT 'large', bloom_agg(n) FROM ids WHERE n <= 10000;
INSERT INTO filters SELECT 'loose', bloom_agg(n, 0.2) FROM ids WHERE n <= 5000;
INSERT INTO filters
	SELECT 'grown', bloom_add(bloom_add(bloom_new(3000, 0.1),
										array_agg(n) FILTER (WHERE n <= 4000)),
							  array_agg(n))
	FROM ids WHERE n <= 9000;
INSERT INTO filters VALUES ('empty', bloom_new()), ('none', NULL);
ANALYZE ids, filters;

-- what was added is contained
CREATE TABLE answers AS
	SELECT name, n, bloom_contains(f, n) AS contained FROM filters, ids WHERE n % 4 = 0;
SELECT name, bool_and(contained) FROM answers WHERE n <= 50 GROUP BY name ORDER BY name;

-- the operators say the same as bloom_contains(), of each item
SELECT name, count(*) FROM filters JOIN answers USING (name)
WHERE f @> n IS DISTINCT FROM contained GROUP BY name;
SELECT name, count(*) FROM filters JOIN answers USING (name)
WHERE n <@ f IS DISTINCT FROM contained GROUP BY name;

-- and so do arrays of one item
SELECT name, count(*) FROM filters JOIN answers USING (name)
WHERE bloom_contains_any(f, ARRAY[n]) IS DISTINCT FROM contained GROUP BY name;
SELECT name, count(*) FROM filters JOIN answers USING (name)
WHERE bloom_contains_all(f, ARRAY[n]) IS DISTINCT FROM contained GROUP BY name;

-- and one array of all items, in no order
CREATE TABLE arrays AS
	SELECT name, array_agg(n ORDER BY n % 97, n) AS items,
		array_agg(contained ORDER BY n % 97, n) AS contained,
		array_agg(n ORDER BY n % 97, n) FILTER (WHERE NOT contained) AS remaining
	FROM answers GROUP BY name;
SELECT name FROM filters JOIN arrays USING (name)
WHERE bloom_contains_each(f, items) IS DISTINCT FROM contained;
SELECT name FROM filters JOIN arrays USING (name)
WHERE ARRAY(SELECT bloom_exclude(items, f)) IS DISTINCT FROM remaining;
SELECT name FROM filters JOIN arrays USING (name)
WHERE items - f IS DISTINCT FROM remaining;
DROP TABLE answers, arrays;

-- row by row, as the condition of a join, also with a filter that is stored out of line
SELECT name, pg_column_size(f) > 3000 AS out_of_line FROM filters ORDER BY name;
SELECT name FROM filters
WHERE ARRAY(SELECT n FROM ids WHERE NOT f @> n ORDER BY n)
	IS DISTINCT FROM ARRAY(SELECT n FROM ids ORDER BY n) - f;
SELECT name FROM filters
WHERE ARRAY(SELECT n FROM ids WHERE NOT n <@ f ORDER BY n)
	IS DISTINCT FROM ARRAY(SELECT n FROM ids ORDER BY n) - f;

-- the filters in turn: what a call site has cached of one filter must not be used for the next
SELECT n, string_agg(name, ' ' ORDER BY name) AS contained_in
FROM ids, filters WHERE f @> n AND n IN (7, 77, 4500, 7777, 9500) GROUP BY n ORDER BY n;

-- not even if that has changed in between
DO $$
DECLARE
	candidate bigint;
	times int := 0;
BEGIN
	FOR candidate IN SELECT n FROM ids WHERE n > 15000 ORDER BY n LIMIT 100 LOOP
		IF NOT (SELECT f @> candidate FROM filters WHERE name = 'large') THEN
			UPDATE filters SET f = bloom_add(f, candidate) WHERE name = 'large';
			times := times + 1;
		END IF;
		IF NOT (SELECT f @> candidate FROM filters WHERE name = 'large') THEN
			RAISE EXCEPTION 'lost %', candidate;
		END IF;
	END LOOP;
	RAISE NOTICE 'changed many times: %', times > 90;
END
$$;
DROP TABLE filters, ids;

-- One or two lookups in a large stored filter need not read all of it; many lookups should.  The
-- answers are the same.  The filters: one layer in blocks, several layers of which some have
-- blocks, many layers, and a compressed one.
CREATE TABLE large (name text, f bloom);
INSERT INTO large SELECT 'blocks', bloom_agg(i) FROM generate_series(1, 100000) i;
INSERT INTO large
	SELECT 'layers', bloom_add(bloom_add(bloom_new(1000), ARRAY(SELECT generate_series(1, 2000))),
							   ARRAY(SELECT generate_series(2001, 60000)));
INSERT INTO large
	SELECT 'many layers', bloom_union_agg(bloom_add(bloom_new(10 + i, 0.00001), i))
	FROM generate_series(1, 1000) i;
INSERT INTO large VALUES
	('empty', bloom_new(100000)),
	('room', bloom_add(bloom_new(100000), ARRAY(SELECT generate_series(1, 10000))));
ALTER TABLE large ALTER f SET STORAGE extended;
INSERT INTO large VALUES
	('compressed', bloom_add(bloom_new(100000), ARRAY(SELECT generate_series(1, 500))));
SELECT name, pg_column_size(f) > 3000 AS out_of_line,
	pg_column_size(f) < octet_length(f::bytea) AS compressed,
	(bloom_info(f)).layers > 100 AS many_layers
FROM large ORDER BY name;

-- one lookup
SELECT name, f @> 500 AS has_500 FROM large ORDER BY name;
SELECT name, f @> -1 AS has_minus_1 FROM large ORDER BY name;
SELECT name, f @> NULL::int AS has_null FROM large ORDER BY name;

-- a few lookups: the same as in the value in one piece, and as an array
SELECT name, ARRAY(
	SELECT i FROM unnest('{1,77,500,1000,1999,5000,50000,100000,100001,123456}'::int[]) i
	WHERE (f @> i) IS DISTINCT FROM (f::bytea::bloom @> i)) AS unlike_whole
FROM large ORDER BY name;
SELECT name, ARRAY(
	SELECT i FROM unnest('{1,77,500,1000,1999,5000,50000,100000,100001,123456}'::int[]) i
	WHERE (f @> i) IS DISTINCT FROM (bloom_contains_each(f, ARRAY[i]))[1]) AS unlike_array
FROM large ORDER BY name;

-- many lookups
SELECT name FROM large
WHERE ARRAY(SELECT i FROM generate_series(1, 3000) i WHERE NOT f @> i)
	IS DISTINCT FROM ARRAY(SELECT generate_series(1, 3000)) - f;

-- arrays of a few candidates, of which only some blocks are needed, against the value in one piece
CREATE TABLE candidates AS
	SELECT n, ARRAY[n * 997, n * 997 + 1, NULL, n * 7, n * 997] AS c FROM generate_series(0, 100) n;
SELECT name, count(*), min(n) FROM large, candidates
WHERE c - f IS DISTINCT FROM c - f::bytea::bloom
GROUP BY name;
SELECT name, count(*), min(n) FROM large, candidates
WHERE ARRAY(SELECT bloom_exclude(c, f)) IS DISTINCT FROM c - f::bytea::bloom
GROUP BY name;
SELECT name, count(*), min(n) FROM large, candidates
WHERE bloom_contains_each(f, c) IS DISTINCT FROM bloom_contains_each(f::bytea::bloom, c)
GROUP BY name;
SELECT name, count(*), min(n) FROM large, candidates
WHERE bloom_contains_any(f, c) IS DISTINCT FROM bloom_contains_any(f::bytea::bloom, c)
GROUP BY name;
SELECT name, count(*), min(n) FROM large, candidates
WHERE bloom_contains_all(f, c) IS DISTINCT FROM bloom_contains_all(f::bytea::bloom, c)
GROUP BY name;

-- there are arrays of which all, and arrays of which none are contained
SELECT DISTINCT name FROM large, candidates WHERE c - f = '{}' ORDER BY name;
SELECT DISTINCT name FROM large, candidates WHERE c - f = array_remove(c, NULL) ORDER BY name;

SELECT f @> 'a' FROM large WHERE name = 'blocks';
DROP TABLE large, candidates;

-- Any, all and each: a repost counts as seen if its source was.  A NULL item is not contained, so
-- not all of them are.
SELECT items, bloom_contains_any(f, items) AS any, bloom_contains_all(f, items) AS all,
	bloom_contains_each(f, items) AS each
FROM bloom_add(NULL, ARRAY['a', 'b', 'c']) f,
	(VALUES
		('{a,b}'::text[]),
		('{a,x}'),
		('{x,a}'),
		('{x,y}'),
		('{}'),
		('{b,b,x,b}'),
		('{c}'),
		('{x}'),
		('{a,NULL}'),
		('{NULL,b,a}'),
		('{NULL}'),
		('{NULL,x}')
	) AS v (items);

-- more than one batch, with the only hit or miss at its ends
CREATE TABLE batches AS
	SELECT at, items,
		bloom_add(bloom_new(100, 1e-6), at) AS one,
		bloom_add(bloom_new(100, 1e-6), at + 5000) AS none,
		bloom_add(bloom_new(2000, 1e-6), array_remove(items, at)) AS all_but_one
	FROM unnest('{1,2,511,512,513,1024,1025,1999,2000}'::int[]) at,
		(SELECT array_agg(i ORDER BY i) AS items FROM generate_series(1, 2000) i) AS i;
SELECT at, bloom_contains_any(one, items) FROM batches ORDER BY at;
SELECT at, bloom_contains_any(none, items) FROM batches ORDER BY at;
SELECT at, bloom_contains_all(all_but_one, items) FROM batches ORDER BY at;
SELECT at, array_positions(bloom_contains_each(one, items), true) FROM batches ORDER BY at;
DROP TABLE batches;

-- the empty text is an item like any other, although its hash is 0: 1% of 500 filters err on it,
-- not half of them
SELECT count(*) FILTER (WHERE f @> ''::text) < 20 AS few
FROM (SELECT bloom_agg(g || ' ' || i) AS f
	  FROM generate_series(1, 500) g, generate_series(1, 300) i GROUP BY g) AS filters;
SELECT count(*) FILTER (WHERE f @> ''::bytea) < 20 AS few
FROM (SELECT bloom_agg((g || ' ' || i)::bytea) AS f
	  FROM generate_series(1, 500) g, generate_series(1, 300) i GROUP BY g) AS filters;

--
-- A page of an ordered feed: the filter is asked row by row, below all joins, until the page is
-- full.
--
SET max_parallel_workers_per_gather = 0;
CREATE TABLE authors (id int PRIMARY KEY, name text);
CREATE TABLE posts (id bigint PRIMARY KEY, author int NOT NULL, published timestamptz NOT NULL);
CREATE TABLE feed_seen (user_id bigint PRIMARY KEY, items bloom);
INSERT INTO authors SELECT n, 'author ' || n FROM generate_series(0, 999) AS n;
INSERT INTO posts
	SELECT n, n % 1000, '2026-01-01 00:00+00'::timestamptz + n * interval '1 minute'
	FROM generate_series(1, 20000) AS n;
CREATE INDEX posts_published ON posts (published);
-- 1 has read the newest posts, 2 every third one, 4 has a row without a filter, 3 has none
INSERT INTO feed_seen SELECT 1, bloom_agg(n) FROM generate_series(15001, 20000) AS n;
INSERT INTO feed_seen SELECT 2, bloom_agg(n) FROM generate_series(3, 20000, 3) AS n;
INSERT INTO feed_seen VALUES (4, NULL);
VACUUM ANALYZE authors, posts, feed_seen;
SELECT user_id, pg_column_size(items) > 5000 AS out_of_line FROM feed_seen ORDER BY user_id;

CREATE FUNCTION pg_temp.plan(query text, options text DEFAULT 'COSTS') RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE format('EXPLAIN (FORMAT JSON, %s) %s', options, query) INTO plan;
	RETURN plan::jsonb -> 0 -> 'Plan';
END
$$;
CREATE FUNCTION pg_temp.nodes(plan jsonb) RETURNS SETOF jsonb LANGUAGE sql AS $$
	WITH RECURSIVE tree (node) AS (
		SELECT plan
		UNION ALL
		SELECT child FROM tree, jsonb_array_elements(node -> 'Plans') AS child)
	SELECT node FROM tree
$$;
-- the tables that are joined before the filter is asked; how it is found, and how often
CREATE FUNCTION pg_temp.asks(query text, OUT above text, OUT found_by text, OUT times int)
LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb := pg_temp.plan(query, 'ANALYZE, TIMING OFF');
BEGIN
	SELECT string_agg(below ->> 'Relation Name', ' ' ORDER BY below ->> 'Relation Name') INTO above
	FROM pg_temp.nodes(plan) AS asking, pg_temp.nodes(asking) AS below
	WHERE concat(asking ->> 'Filter', asking ->> 'Join Filter') ~ '@>|<@'
		AND below ? 'Relation Name'
		AND NOT below @> '{"Parent Relationship": "InitPlan"}'
		AND NOT below @> '{"Parent Relationship": "SubPlan"}';
	SELECT node ->> 'Parent Relationship', node ->> 'Actual Loops' INTO STRICT found_by, times
	FROM pg_temp.nodes(plan) AS node
	WHERE node ->> 'Relation Name' = 'feed_seen';
END
$$;

-- with a subquery the filter is found once, and tested below the join with the authors
SELECT * FROM pg_temp.asks($$
	SELECT p.id, a.name FROM posts AS p JOIN authors AS a ON a.id = p.author
	WHERE NOT (SELECT items FROM feed_seen WHERE user_id = 1) @> p.id
	ORDER BY p.published DESC LIMIT 50$$);
SELECT * FROM pg_temp.asks($$
	SELECT p.id, a.name FROM posts AS p JOIN authors AS a ON a.id = p.author
	WHERE NOT p.id <@ (SELECT items FROM feed_seen WHERE user_id = 1)
	ORDER BY p.published DESC LIMIT 50$$);
-- also if the key comes by a subquery
SELECT * FROM pg_temp.asks($$
	SELECT p.id, a.name FROM posts AS p JOIN authors AS a ON a.id = p.author
	WHERE NOT (SELECT items FROM feed_seen
			   WHERE user_id = (SELECT me.id FROM authors AS me WHERE me.id = 1)) @> p.id
	ORDER BY p.published DESC LIMIT 50$$);
-- with a LEFT JOIN, above the joins that stand before it
SELECT * FROM pg_temp.asks($$
	SELECT p.id, a.name FROM posts AS p JOIN authors AS a ON a.id = p.author
	LEFT JOIN feed_seen AS s ON s.user_id = 1
	WHERE NOT s.items @> p.id
	ORDER BY p.published DESC LIMIT 50$$);
SELECT * FROM pg_temp.asks($$
	SELECT p.id, a.name FROM posts AS p LEFT JOIN feed_seen AS s ON s.user_id = 1
	JOIN authors AS a ON a.id = p.author
	WHERE NOT s.items @> p.id
	ORDER BY p.published DESC LIMIT 50$$);
-- with the key of another table each row looks it up
SELECT * FROM pg_temp.asks($$
	SELECT p.id, a.name FROM authors AS me CROSS JOIN posts AS p
	JOIN authors AS a ON a.id = p.author
	WHERE me.id = 1 AND NOT (SELECT items FROM feed_seen WHERE user_id = me.id) @> p.id
	ORDER BY p.published DESC LIMIT 50$$);

-- It is also read once: beyond the pages of the scan itself, the page of the feed takes those of
-- one row and one filter.  If each of the 5,050 rows read it, that would be 20,000 and more.
CREATE FUNCTION pg_temp.pages(query text) RETURNS int LANGUAGE sql AS $$
	SELECT (plan ->> 'Shared Hit Blocks')::int + (plan ->> 'Shared Read Blocks')::int
	FROM pg_temp.plan(query, 'ANALYZE, BUFFERS, TIMING OFF') AS plan
$$;
SELECT pg_temp.pages('SELECT id FROM posts ORDER BY published DESC LIMIT 1 OFFSET 5049') AS scanned
\gset
SELECT pg_temp.pages($$
	SELECT id FROM posts WHERE NOT (SELECT items FROM feed_seen WHERE user_id = 1) @> id
	ORDER BY published DESC LIMIT 50$$) - :scanned BETWEEN 1 AND 30 AS once;
SELECT pg_temp.pages($$
	SELECT id FROM posts WHERE NOT id <@ (SELECT items FROM feed_seen WHERE user_id = 1)
	ORDER BY published DESC LIMIT 50$$) - :scanned BETWEEN 1 AND 30 AS once;

-- the same in the plan of a prepared statement, custom or generic
PREPARE page (bigint) AS
	SELECT p.id FROM posts AS p JOIN authors AS a ON a.id = p.author
	WHERE NOT (SELECT items FROM feed_seen WHERE user_id = $1) @> p.id
	ORDER BY p.published DESC LIMIT 50;
SET plan_cache_mode = force_custom_plan;
SELECT * FROM pg_temp.asks('EXECUTE page(1)');
SET plan_cache_mode = force_generic_plan;
SELECT * FROM pg_temp.asks('EXECUTE page(1)');
RESET plan_cache_mode;
DEALLOCATE page;

-- nothing that was read is shown again
CREATE FUNCTION pg_temp.feed(me bigint) RETURNS bigint[] LANGUAGE sql AS $$
	SELECT array_agg(id)
	FROM (SELECT p.id FROM posts AS p
		  WHERE NOT (SELECT items FROM feed_seen WHERE user_id = me) @> p.id
		  ORDER BY p.published DESC) AS page
$$;
SELECT count(*) FROM unnest(pg_temp.feed(1)) AS id WHERE id > 15000;
SELECT count(*) FROM unnest(pg_temp.feed(2)) AS id WHERE id % 3 = 0;
-- of the rest all but the false positives
SELECT cardinality(pg_temp.feed(1)) BETWEEN 0.98 * 15000 AND 15000 AS nearly_all;
SELECT cardinality(pg_temp.feed(2)) BETWEEN 0.98 * 13334 AND 13334 AS nearly_all;
-- in order
SELECT user_id, pg_temp.feed(user_id)
	= ARRAY(SELECT id FROM posts WHERE NOT items @> id ORDER BY published DESC) AS in_order
FROM feed_seen WHERE user_id < 3 ORDER BY user_id;
-- a user without a row, or without a filter in it, gets everything: NULL is an empty filter
SELECT cardinality(pg_temp.feed(3));
SELECT cardinality(pg_temp.feed(4));
-- an item that is NULL is not shown
SELECT count(*) FROM (VALUES (NULL::bigint)) AS v (id)
WHERE NOT (SELECT items FROM feed_seen WHERE user_id = 3) @> id;

--
-- Row estimates
--
CREATE FUNCTION pg_temp.rows_of(query text, OUT estimated int, OUT actual int)
LANGUAGE plpgsql AS $$
BEGIN
	estimated := pg_temp.plan(query) ->> 'Plan Rows';
	EXECUTE format('SELECT count(*) FROM (%s) AS q', query) INTO actual;
END
$$;
CREATE FUNCTION pg_temp.estimate(query text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN estimated BETWEEN 0.8 * actual AND 1.25 * actual + 20 THEN 'good'
		ELSE format('%s in place of %s', estimated, actual) END
	FROM pg_temp.rows_of(query)
$$;
CREATE TABLE texts AS SELECT 'item ' || n AS id FROM generate_series(1, 2000) AS n;
ANALYZE texts;
SELECT items AS known FROM feed_seen WHERE user_id = 2 \gset
SELECT bloom_agg(id) AS known_texts FROM texts WHERE right(id, 1) < '5' \gset

-- A filter that is known when the statement is planned is asked for the items of the statistics.
SELECT pg_temp.estimate(format('SELECT FROM posts WHERE bloom %L @> id', :'known'));
SELECT pg_temp.estimate(format('SELECT FROM posts WHERE NOT bloom %L @> id', :'known'));
SELECT pg_temp.estimate(format('SELECT FROM posts WHERE id <@ bloom %L', :'known'));
SELECT pg_temp.estimate(format('SELECT FROM posts WHERE NOT id <@ bloom %L', :'known'));
SELECT pg_temp.estimate(format('SELECT FROM texts WHERE bloom %L @> id', :'known_texts'));
SELECT pg_temp.estimate(format('SELECT FROM texts WHERE NOT id <@ bloom %L', :'known_texts'));
SELECT pg_temp.estimate(format('
	SELECT FROM posts AS p JOIN authors AS a ON a.id = p.author WHERE bloom %L @> p.id', :'known'));
SELECT pg_temp.estimate('SELECT FROM posts WHERE NOT NULL::bloom @> id');
SELECT pg_temp.estimate('SELECT FROM posts WHERE bloom_add(NULL, 5) @> id');
SELECT pg_temp.estimate('SELECT FROM posts WHERE NOT bloom_add(NULL, 5) @> id');

-- One that a subquery finds is not known then: 1% of the rows are contained, and 99% are not.
-- For a feed that is right: the plan that needs few rows is the one to take.
SELECT * FROM pg_temp.rows_of($$
	SELECT FROM posts WHERE NOT (SELECT items FROM feed_seen WHERE user_id = 2) @> id$$);
SELECT * FROM pg_temp.rows_of($$
	SELECT FROM posts WHERE (SELECT items FROM feed_seen WHERE user_id = 2) @> id$$);
SELECT * FROM pg_temp.rows_of($$
	SELECT FROM posts, feed_seen WHERE user_id = 2 AND NOT items @> id$$);

-- a filter of another kind is an error when the statement is planned, as when it runs
EXPLAIN (COSTS OFF) SELECT FROM texts WHERE bloom_add(NULL, 5) @> id;

DROP TABLE authors, posts, feed_seen, texts;

--
-- The recheck of doc/query.md: candidates that the filter contains are looked up in the exposures,
-- and only they.  The result must be that of NOT EXISTS, in order and with duplicates, however
-- often the filter is wrong.
--
SET TimeZone = 'UTC';

-- a user saw 100 items in 50 days, of which 30 count
CREATE TABLE exposures AS
	SELECT n AS item_id, timestamptz '2024-03-01 00:00+00' - n * interval '12 hours' AS shown_at
	FROM generate_series(1::bigint, 100) n;
CREATE INDEX ON exposures (item_id, shown_at);
VACUUM ANALYZE exposures;

-- filters that err a lot: of the items that count, of all items ever seen, and a window, which
-- still has some of the old items
CREATE TABLE filters (kind text, f bloom);
INSERT INTO filters
	SELECT 'rebuilt', bloom_agg(item_id, 0.2) FROM exposures
	WHERE shown_at >= '2024-01-31 00:00+00';
INSERT INTO filters SELECT 'stale', bloom_agg(item_id, 0.2) FROM exposures;
INSERT INTO filters
	SELECT 'window', bloom_expire(bloom_window_agg(item_id, shown_at, '30 days', 6, 0.2),
								  '2024-03-01 00:00+00')
	FROM exposures;
INSERT INTO filters VALUES ('none', NULL);

-- candidates in no order, some twice: seen of late, seen long ago, never seen, and NULL
CREATE TABLE candidates AS
	SELECT array_agg(n ORDER BY (n * 7919 + twice * 31) % 1009, twice) || '{NULL,1,NULL}' AS c
	FROM generate_series(1::bigint, 200) n, generate_series(1, 1 + (n % 5 = 0)::int) twice;

PREPARE recheck (bigint[], bloom) AS
	SELECT c.item_id
	FROM unnest($1, bloom_contains_each($2, $1)) WITH ORDINALITY AS c (item_id, hit, n)
	WHERE c.hit IS NOT TRUE
		OR NOT EXISTS (SELECT FROM exposures AS e
					   WHERE e.item_id = c.item_id AND e.shown_at >= '2024-01-31 00:00+00' OFFSET 0)
	ORDER BY c.n;
CREATE FUNCTION pg_temp.recheck(c bigint[], f bloom, OUT checked bigint[], OUT lookups numeric)
LANGUAGE plpgsql AS $$
DECLARE
	item bigint;
	call text := format('EXECUTE recheck (%L, %L)', c, f);
BEGIN
	FOR item IN EXECUTE call LOOP
		checked := checked || item;
	END LOOP;
	SELECT coalesce(sum((node ->> 'Actual Loops')::numeric), 0) INTO lookups
	FROM pg_temp.nodes(pg_temp.plan(call, 'ANALYZE, TIMING OFF')) AS node
	WHERE node ->> 'Relation Name' = 'exposures';
END
$$;
CREATE TABLE rechecked AS
	SELECT * FROM filters, candidates, LATERAL pg_temp.recheck(c, f),
		LATERAL (SELECT array_agg(i ORDER BY n) AS exact
				 FROM unnest(c) WITH ORDINALITY AS u (i, n)
				 WHERE NOT EXISTS (SELECT FROM exposures AS e
								   WHERE e.item_id = i AND shown_at >= '2024-01-31 00:00+00')) AS e;

SELECT kind, checked = exact AS same FROM rechecked ORDER BY kind;
SELECT kind, lookups = cardinality(array_remove(c, NULL)) - cardinality(c - f) AS only_hits
FROM rechecked ORDER BY kind;
-- without the recheck fewer are left than should be, and none of those that count; without a
-- filter all are
SELECT kind, cardinality(c) AS candidates, cardinality(exact) AS exact, cardinality(c - f) AS left
FROM rechecked ORDER BY kind;
SELECT kind, c - f <@ exact AS none_that_counts FROM rechecked ORDER BY kind;

DEALLOCATE recheck;
DROP TABLE exposures, filters, candidates, rechecked;
