--
-- A page of an ordered feed: the filter is asked row by row, below all joins, until the page is full.  What the
-- documents promise of its plan, and of those that look similar.
--
\set ECHO none
\pset format unaligned \pset tuples_only on
SET client_min_messages = warning;
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
