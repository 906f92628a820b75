--
-- Tests of items: every way gives the same answer, and a page of an ordered feed has the plan that the documents
-- promise.  test/t/004_false_positive_rate.pl counts how often an answer is wrong.
--
\set ECHO none
\pset format unaligned \pset footer off
SET client_min_messages = warning;

CREATE TABLE ids AS SELECT n FROM generate_series(1::bigint, 20000) n;

\echo '-- All ways of asking are one'
CREATE TABLE filters AS
	SELECT 'small' AS name, bloom_agg(n) AS f FROM ids WHERE n <= 50
	UNION ALL SELECT 'large', bloom_agg(n) FROM ids WHERE n <= 10000
	UNION ALL SELECT 'loose', bloom_agg(n, 0.2) FROM ids WHERE n <= 5000
	UNION ALL SELECT 'grown', bloom_add(bloom_add(bloom_new(3000, 0.1), array_agg(n) FILTER (WHERE n <= 4000)),
		array_agg(n))
		FROM ids WHERE n <= 9000
	UNION ALL SELECT 'empty', bloom_new()
	UNION ALL SELECT 'none', NULL;
CREATE FUNCTION pg_temp.answers(f bloom, items bigint[]) RETURNS TABLE (way text, answer boolean[]) LANGUAGE sql AS $$
	SELECT 'contains', array_agg(bloom_contains(f, i) ORDER BY n) FROM unnest(items) WITH ORDINALITY u(i, n)
	UNION ALL SELECT '@>', array_agg(f @> i ORDER BY n) FROM unnest(items) WITH ORDINALITY u(i, n)
	UNION ALL SELECT '<@', array_agg(i <@ f ORDER BY n) FROM unnest(items) WITH ORDINALITY u(i, n)
	UNION ALL SELECT 'any', array_agg(bloom_contains_any(f, ARRAY[i]) ORDER BY n)
		FROM unnest(items) WITH ORDINALITY u(i, n)
	UNION ALL SELECT 'all', array_agg(bloom_contains_all(f, ARRAY[i]) ORDER BY n)
		FROM unnest(items) WITH ORDINALITY u(i, n)
	UNION ALL SELECT 'each', bloom_contains_each(f, items)
	UNION ALL SELECT 'exclude', array_agg(survivor IS NULL ORDER BY n) FROM unnest(items) WITH ORDINALITY u(i, n)
		LEFT JOIN bloom_exclude(items, f) survivor ON survivor = i
	UNION ALL SELECT 'minus', array_agg(survivor IS NULL ORDER BY n) FROM unnest(items) WITH ORDINALITY u(i, n)
		LEFT JOIN unnest(items - f) survivor ON survivor = i
$$;
\echo '-- how many answers, and which differ from those of bloom_contains()'
SELECT count(*), string_agg(way || ' of ' || name, ', ') FILTER (WHERE answer IS DISTINCT FROM expected) AS others
FROM filters, (SELECT array_agg(n ORDER BY n % 97, n) AS items FROM ids WHERE n % 4 = 0) AS i,
	LATERAL (SELECT *, first_value(answer) OVER () AS expected FROM pg_temp.answers(f, items)) AS a;

\echo '-- Row by row, with a filter that is stored out of line: the condition of a join.'
ANALYZE ids;
ANALYZE filters;
SELECT string_agg(name, ', ' ORDER BY name) FILTER (WHERE pg_column_size(f) > 3000) AS out_of_line,
	string_agg(name, ', ') FILTER (WHERE ARRAY(SELECT n FROM ids WHERE NOT f @> n ORDER BY n) <> items - f) AS "@>",
	string_agg(name, ', ') FILTER (WHERE ARRAY(SELECT n FROM ids WHERE NOT n <@ f ORDER BY n) <> items - f) AS "<@"
FROM filters, (SELECT array_agg(n ORDER BY n) AS items FROM ids) AS i;
\echo '-- the filters in turn: what one call knows of its last filter must not answer for the next one'
SELECT n, string_agg(name, ' ' ORDER BY name) AS contained_in
FROM ids, filters WHERE f @> n AND n IN (7, 77, 4500, 7777, 9500) GROUP BY n ORDER BY n;
\echo '-- ... not even if it has changed in between'
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
	RAISE WARNING 'changed many times: %', times > 90;
END
$$;
\echo '-- A look or two into a large stored filter need not read all of it, many looks should; the answers are'
\echo '-- the same. Of one layer in blocks, of several of which some have blocks, of many layers, and compressed.'
CREATE TABLE large (name text, f bloom);
INSERT INTO large SELECT 'blocks', bloom_agg(i) FROM generate_series(1, 100000) i;
INSERT INTO large SELECT 'layers', bloom_add(bloom_add(bloom_new(1000), ARRAY(SELECT generate_series(1, 2000))),
	ARRAY(SELECT generate_series(2001, 60000)));
INSERT INTO large SELECT 'many layers', bloom_union_agg(bloom_add(bloom_new(10 + i, 0.00001), i))
	FROM generate_series(1, 1000) i;
INSERT INTO large VALUES ('empty', bloom_new(100000)),
	('room', bloom_add(bloom_new(100000), ARRAY(SELECT generate_series(1, 10000))));
ALTER TABLE large ALTER f SET STORAGE extended;
INSERT INTO large VALUES ('compressed', bloom_add(bloom_new(100000), ARRAY(SELECT generate_series(1, 500))));
SELECT string_agg(name, ', ' ORDER BY name) FILTER (WHERE pg_column_size(f) > 3000) AS out_of_line,
	string_agg(name, ', ') FILTER (WHERE pg_column_size(f) < octet_length(f::bytea)) AS compressed,
	string_agg(name, ', ') FILTER (WHERE (bloom_info(f)).layers > 100) AS many_layers FROM large;
SELECT name, f @> 500 AS has_500, f @> -1 AS has_other, f @> NULL::int AS has_null,
	ARRAY(SELECT i FROM unnest('{1,77,500,1000,1999,5000,50000,100000,100001,123456}'::int[]) i
		WHERE (f @> i) <> (f::bytea::bloom @> i) OR (f @> i) <> (bloom_contains_each(f, ARRAY[i]))[1]) AS unlike,
	ARRAY(SELECT i FROM generate_series(1, 3000) i WHERE NOT f @> i)
		= ARRAY(SELECT generate_series(1, 3000)) - f AS by_row
FROM large ORDER BY name;
\echo '-- arrays of a few candidates, of which only some blocks are needed, against the value in one piece: which'
\echo '-- differ'
SELECT count(*), string_agg(name || ' -', ', ') FILTER (WHERE c - f <> c - whole) AS minus,
	string_agg(name || ' rows', ', ') FILTER (WHERE ARRAY(SELECT bloom_exclude(c, f)) <> c - whole) AS rows,
	string_agg(name || ' each', ', ') FILTER (WHERE bloom_contains_each(f, c) <> bloom_contains_each(whole, c)) AS each,
	string_agg(name || ' any', ', ') FILTER (WHERE bloom_contains_any(f, c) <> bloom_contains_any(whole, c)) AS any,
	string_agg(name || ' all', ', ') FILTER (WHERE bloom_contains_all(f, c) <> bloom_contains_all(whole, c)) AS all,
	string_agg(DISTINCT name, ', ') FILTER (WHERE c - f = '{}') AS some_contain_all,
	string_agg(DISTINCT name, ', ') FILTER (WHERE c - f = array_remove(c, NULL)) AS some_contain_none
FROM large, LATERAL (SELECT f::bytea::bloom) AS w(whole), generate_series(0, 100) n,
	LATERAL (SELECT ARRAY[n * 997, n * 997 + 1, NULL, n * 7, n * 997] AS c) AS c;
SELECT f @> 'a' FROM large WHERE name = 'blocks';
DROP TABLE large;

\echo '-- any, all and each: a repost counts as seen if its source was.  A NULL item is not contained, so not all'
\echo '-- of them are.'
SELECT items, bloom_contains_any(f, items) AS any, bloom_contains_all(f, items) AS all,
	bloom_contains_each(f, items) AS each
FROM bloom_add(NULL, ARRAY['a', 'b', 'c']) f, (VALUES ('{a,b}'::text[]), ('{a,x}'), ('{x,a}'), ('{x,y}'), ('{}'),
	('{b,b,x,b}'), ('{c}'), ('{x}'), ('{a,NULL}'), ('{NULL,b,a}'), ('{NULL}'), ('{NULL,x}')) AS v(items);
\echo '-- more than one batch, with the only hit or miss at its ends: the places that are wrong'
SELECT count(*), string_agg(at::text, ' ') FILTER (WHERE NOT bloom_contains_any(one, items)) AS any,
	string_agg(at::text, ' ') FILTER (WHERE bloom_contains_any(bloom_add(bloom_new(100, 1e-6), at + 5000), items)) AS none,
	string_agg(at::text, ' ') FILTER (WHERE bloom_contains_all(others, items)) AS all_but_one,
	string_agg(at::text, ' ') FILTER (WHERE array_positions(bloom_contains_each(one, items), true) <> ARRAY[at]) AS each
FROM (SELECT array_agg(i ORDER BY i) AS items FROM generate_series(1, 2000) i) AS i,
	unnest('{1,2,511,512,513,1024,1025,1999,2000}'::int[]) at,
	LATERAL (SELECT bloom_add(bloom_new(100, 1e-6), at) AS one,
		bloom_add(bloom_new(2000, 1e-6), array_remove(items, at)) AS others
		OFFSET 0) AS f;
DROP TABLE filters, ids;

\echo '-- The empty text is an item like any other, although its hash is 0: 1% of 500 filters err on it, not half'
\echo '-- of them'
SELECT count(*) FILTER (WHERE f @> ''::text) < 20 AS text, count(*) FILTER (WHERE b @> ''::bytea) < 20 AS bytea
FROM (SELECT bloom_agg(g || ' ' || i) AS f, bloom_agg((g || ' ' || i)::bytea) AS b
	FROM generate_series(1, 500) g, generate_series(1, 300) i GROUP BY g) AS filters;

\echo '-- A page of an ordered feed: the filter is asked row by row, below all joins, until the page is full.'
\pset tuples_only on
SET max_parallel_workers_per_gather = 0;
CREATE TABLE authors (id int PRIMARY KEY, name text);
CREATE TABLE posts (id bigint PRIMARY KEY, author int NOT NULL, published timestamptz NOT NULL);
CREATE TABLE feed_seen (user_id bigint PRIMARY KEY, items bloom);
INSERT INTO authors SELECT n, 'author ' || n FROM generate_series(0, 999) AS n;
INSERT INTO posts SELECT n, n % 1000, '2026-01-01 00:00+00'::timestamptz + n * interval '1 minute'
	FROM generate_series(1, 20000) AS n;
CREATE INDEX posts_published ON posts (published);
-- 1 has read the newest posts, 2 every third one, 4 has a row without a filter, 3 has none
INSERT INTO feed_seen
	SELECT 1, bloom_agg(n) FROM generate_series(15001, 20000) AS n
	UNION ALL SELECT 2, bloom_agg(n) FROM generate_series(3, 20000, 3) AS n
	UNION ALL SELECT 4, NULL;
VACUUM ANALYZE authors, posts, feed_seen;
SELECT user_id, pg_relation_size(reltoastrelid) > 0 AND pg_column_size(items) > 5000 AS out_of_line
FROM feed_seen, pg_class WHERE relname = 'feed_seen' ORDER BY user_id;

-- A plan, and its nodes.
CREATE FUNCTION pg_temp.plan(query text, options text DEFAULT 'COSTS') RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE format('EXPLAIN (FORMAT JSON, %s) %s', options, query) INTO plan;
	RETURN plan::jsonb -> 0 -> 'Plan';
END
$$;
CREATE FUNCTION pg_temp.nodes(plan jsonb) RETURNS SETOF jsonb LANGUAGE sql AS $$
	WITH RECURSIVE tree (node) AS (
		SELECT plan UNION ALL SELECT child FROM tree, jsonb_array_elements(node -> 'Plans') AS child)
	SELECT node FROM tree
$$;
-- The tables that are joined before the filter is asked.
CREATE FUNCTION pg_temp.asked_above(plan jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(below ->> 'Relation Name', ' ' ORDER BY below ->> 'Relation Name')
	FROM pg_temp.nodes(plan) AS asking, pg_temp.nodes(asking) AS below
	WHERE concat(asking ->> 'Filter', asking ->> 'Join Filter') ~ '@>|<@'
		AND below ? 'Relation Name' AND NOT below @> '{"Parent Relationship": "InitPlan"}'
			AND NOT below @> '{"Parent Relationship": "SubPlan"}'
$$;
-- How the filter is found, and how often.
CREATE FUNCTION pg_temp.found_by(query text) RETURNS text LANGUAGE sql AS $$
	SELECT format('%s, %s', COALESCE(node ->> 'Parent Relationship', 'join'), (node ->> 'Actual Loops')::int)
	FROM pg_temp.nodes(pg_temp.plan(query, 'ANALYZE, TIMING OFF')) AS node WHERE node ->> 'Relation Name' = 'feed_seen'
$$;
CREATE FUNCTION pg_temp.pages(query text) RETURNS int LANGUAGE sql AS $$
	SELECT (plan ->> 'Shared Hit Blocks')::int + (plan ->> 'Shared Read Blocks')::int
	FROM pg_temp.plan(query, 'ANALYZE, BUFFERS, TIMING OFF') AS plan
$$;

CREATE TABLE feeds (name text, query text);
INSERT INTO feeds VALUES
	('recommended', 'SELECT p.id, a.name FROM posts AS p JOIN authors AS a ON a.id = p.author
		WHERE NOT (SELECT items FROM feed_seen WHERE user_id = 1) @> p.id ORDER BY p.published DESC LIMIT 50'),
	('<@', 'SELECT p.id, a.name FROM posts AS p JOIN authors AS a ON a.id = p.author
		WHERE NOT p.id <@ (SELECT items FROM feed_seen WHERE user_id = 1) ORDER BY p.published DESC LIMIT 50'),
	('LEFT JOIN as last', 'SELECT p.id, a.name FROM posts AS p JOIN authors AS a ON a.id = p.author
		LEFT JOIN feed_seen AS s ON s.user_id = 1
		WHERE NOT s.items @> p.id ORDER BY p.published DESC LIMIT 50'),
	('LEFT JOIN as first', 'SELECT p.id, a.name FROM posts AS p LEFT JOIN feed_seen AS s ON s.user_id = 1
		JOIN authors AS a ON a.id = p.author
		WHERE NOT s.items @> p.id ORDER BY p.published DESC LIMIT 50'),
	('key of another table', 'SELECT p.id, a.name FROM authors AS me CROSS JOIN posts AS p
		JOIN authors AS a ON a.id = p.author
		WHERE me.id = 1 AND NOT (SELECT items FROM feed_seen WHERE user_id = me.id) @> p.id
			ORDER BY p.published DESC LIMIT 50'),
	('key by a subquery', 'SELECT p.id, a.name FROM posts AS p JOIN authors AS a ON a.id = p.author
		WHERE NOT (SELECT items FROM feed_seen WHERE user_id = (SELECT me.id FROM authors AS me WHERE me.id = 1)) @> p.id
		ORDER BY p.published DESC LIMIT 50');

\echo '-- The filter is found once and asked below the joins, except where a LEFT JOIN comes after them or each'
\echo '-- row looks it up.'
SELECT name, pg_temp.asked_above(pg_temp.plan(query)) AS asked_above, pg_temp.found_by(query) AS found_by FROM feeds;

\echo '-- It is also read once: beyond the pages of the scan itself, the page of the feed takes those of one row'
\echo '-- and one filter. If each of the 5,050 rows read it, that would be 20,000 and more.'
SELECT operator, pg_temp.pages(format('SELECT id FROM posts WHERE NOT %s ORDER BY published DESC LIMIT 50',
	condition)) -
	pg_temp.pages('SELECT id FROM posts ORDER BY published DESC LIMIT 1 OFFSET 5049') BETWEEN 1 AND 30 AS read_once
FROM (VALUES ('@>', '(SELECT items FROM feed_seen WHERE user_id = 1) @> id'),
	('<@', 'id <@ (SELECT items FROM feed_seen WHERE user_id = 1)')) AS v (operator, condition);

\echo '-- So it is in the plan of a prepared statement, custom or generic.'
PREPARE page (bigint) AS SELECT p.id FROM posts AS p JOIN authors AS a ON a.id = p.author
	WHERE NOT (SELECT items FROM feed_seen WHERE user_id = $1) @> p.id ORDER BY p.published DESC LIMIT 50;
SET plan_cache_mode = force_custom_plan;
SELECT pg_temp.asked_above(pg_temp.plan('EXECUTE page(1)')) AS asked_above,
	pg_temp.found_by('EXECUTE page(1)') AS found_by;
SET plan_cache_mode = force_generic_plan;
SELECT pg_temp.asked_above(pg_temp.plan('EXECUTE page(1)')) AS asked_above,
	pg_temp.found_by('EXECUTE page(1)') AS found_by;
RESET plan_cache_mode;

\echo '-- The answer: nothing that was read, and of the rest all but the false positives, in order.'
CREATE FUNCTION pg_temp.feed(me bigint) RETURNS bigint[] LANGUAGE sql AS $$
	SELECT array_agg(id) FROM (
		SELECT p.id FROM posts AS p WHERE NOT (SELECT items FROM feed_seen WHERE user_id = me) @> p.id
		ORDER BY p.published DESC) AS page
$$;
SELECT me, cardinality(feed) BETWEEN unread * 0.98 AND unread AS up_to_false_positives,
	feed = ARRAY(SELECT id FROM posts WHERE NOT COALESCE(items @> id, false) ORDER BY published DESC) AS in_order,
	EXISTS (SELECT FROM unnest(feed) AS id WHERE (me = 1 AND id > 15000) OR (me = 2 AND id % 3 = 0)) AS read_one
FROM (VALUES (1, 15000), (2, 13334)) AS users (me, unread) JOIN feed_seen ON user_id = me, pg_temp.feed(me) AS feed;
\echo '-- a user without a row, or without a filter in it, gets everything: NULL is an empty filter'
SELECT me, cardinality(pg_temp.feed(me)) FROM (VALUES (3), (4)) AS users (me);
\echo '-- an item that is NULL is not shown'
SELECT count(*) FROM (VALUES (NULL::bigint)) AS v (id) WHERE NOT (SELECT items FROM feed_seen WHERE user_id = 3) @> id;

\echo '-- Row estimates'
-- Estimated and actual rows of a query.
CREATE FUNCTION pg_temp.rows_of(query text, OUT estimated int, OUT actual int, OUT error text) LANGUAGE plpgsql AS $$
BEGIN
	estimated := pg_temp.plan(query) ->> 'Plan Rows';
	EXECUTE format('SELECT count(*) FROM (%s) AS q', query) INTO actual;
	error := CASE WHEN estimated BETWEEN 0.8 * actual AND 1.25 * actual + 20 THEN 'small' ELSE 'large' END;
END
$$;
SELECT items AS known FROM feed_seen WHERE user_id = 2 \gset

\echo '-- A filter that is known when the statement is planned is asked for the items of the statistics.'
CREATE TABLE texts AS SELECT 'item ' || n AS id FROM generate_series(1, 2000) AS n;
ANALYZE texts;
SELECT bloom_agg(id) AS known_texts FROM texts WHERE right(id, 1) < '5' \gset
SELECT query, error
FROM (VALUES
	('SELECT FROM posts WHERE %s @> id', :'known'),
	('SELECT FROM posts WHERE NOT %s @> id', :'known'),
	('SELECT FROM posts WHERE id <@ %s', :'known'),
	('SELECT FROM posts WHERE NOT id <@ %s', :'known'),
	('SELECT FROM texts WHERE %s @> id', :'known_texts'),
	('SELECT FROM texts WHERE NOT id <@ %s', :'known_texts'),
	('SELECT FROM posts AS p JOIN authors AS a ON a.id = p.author WHERE %s @> p.id', :'known'),
	('SELECT FROM posts WHERE NOT %s @> id', NULL),
	('SELECT FROM posts WHERE bloom_add(NULL, 5) @> id', ''),
	('SELECT FROM posts WHERE NOT bloom_add(NULL, 5) @> id', '')) AS q (query, filter),
	pg_temp.rows_of(format(query, quote_nullable(filter) || '::bloom'));
\echo '-- One that a subquery finds is not known then: 1% of the rows are contained, and 99% are not.  For a feed'
\echo '-- that is right: the plan that needs few rows is the one to take.'
SELECT query, estimated, actual
FROM (VALUES
	('SELECT FROM posts WHERE NOT (SELECT items FROM feed_seen WHERE user_id = 2) @> id'),
	('SELECT FROM posts WHERE (SELECT items FROM feed_seen WHERE user_id = 2) @> id'),
	('SELECT FROM posts, feed_seen WHERE user_id = 2 AND NOT items @> id')) AS q (query), pg_temp.rows_of(query);
\echo '-- a filter of another kind is an error when the statement is planned, as when it runs'
EXPLAIN (COSTS OFF) SELECT FROM texts WHERE bloom_add(NULL, 5) @> id;

DROP TABLE authors, posts, feed_seen, feeds, texts;

\echo '-- The recheck of doc/query.md: candidates that the filter contains are looked up in the exposures, and'
\echo '-- only they. The result must be that of NOT EXISTS, in order and with duplicates, however often the'
\echo '-- filter is wrong.'
SET TimeZone = 'UTC';

\echo '-- A user saw 100 items in 50 days, of which 30 count.'
CREATE TABLE exposures AS SELECT n AS item_id, timestamptz '2024-03-01 00:00+00' - n * interval '12 hours' AS shown_at
	FROM generate_series(1::bigint, 100) n;
CREATE INDEX ON exposures (item_id, shown_at);
VACUUM ANALYZE exposures;
-- Filters that err a lot: of what counts, of all that was ever seen, and a window, which knows some of the old ones
-- still.
CREATE TABLE filters AS
	SELECT 'rebuilt' AS kind, bloom_agg(item_id, 0.2) AS f FROM exposures WHERE shown_at >= '2024-01-31 00:00+00'
	UNION ALL SELECT 'stale', bloom_agg(item_id, 0.2) FROM exposures
	UNION ALL SELECT 'window', bloom_expire(bloom_window_agg(item_id, shown_at, '30 days', 6, 0.2), '2024-03-01 00:00+00')
		FROM exposures
	UNION ALL SELECT 'none', NULL;
PREPARE recheck (bigint[], bloom) AS
SELECT c.item_id
FROM unnest($1, bloom_contains_each($2, $1)) WITH ORDINALITY AS c (item_id, hit, n)
WHERE c.hit IS NOT TRUE
	OR NOT EXISTS (SELECT FROM exposures AS e WHERE e.item_id = c.item_id AND e.shown_at >= '2024-01-31 00:00+00' OFFSET 0)
ORDER BY c.n;
CREATE FUNCTION pg_temp.recheck(c bigint[], f bloom, OUT checked bigint[], OUT lookups numeric) LANGUAGE plpgsql AS $$
DECLARE
	item bigint;
	call text := format('EXECUTE recheck (%L, %L)', c, f);
BEGIN
	FOR item IN EXECUTE call LOOP
		checked := checked || item;
	END LOOP;
	SELECT sum((node ->> 'Actual Loops')::numeric) INTO lookups
	FROM pg_temp.nodes(pg_temp.plan(call, 'ANALYZE, TIMING OFF')) AS node WHERE node ->> 'Relation Name' = 'exposures';
END
$$;
\echo '-- Candidates in no order, some twice: seen of late, seen long ago, never seen, and NULL.'
SELECT kind, cardinality(c), cardinality(exact) AS exact, cardinality(c - f) AS plain,
	c - f <@ exact AS plain_lets_none_through, checked = exact AS same,
	coalesce(lookups, 0) = cardinality(array_remove(c, NULL)) - cardinality(c - f) AS only_hits_looked_up
FROM filters, (SELECT array_agg(n ORDER BY (n * 7919 + twice * 31) % 1009, twice) || '{NULL,1,NULL}' AS c
	FROM generate_series(1::bigint, 200) n, generate_series(1, 1 + (n % 5 = 0)::int) twice) AS c,
	LATERAL (SELECT array_agg(i ORDER BY n) AS exact FROM unnest(c) WITH ORDINALITY AS u (i, n)
		WHERE NOT EXISTS (SELECT FROM exposures AS e WHERE e.item_id = i AND shown_at >= '2024-01-31 00:00+00')) AS e,
	pg_temp.recheck(c, f) ORDER BY kind;
DEALLOCATE recheck;
DROP TABLE exposures, filters;
