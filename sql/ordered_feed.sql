--
-- A page of an ordered feed: the filter is asked row by row, below all joins, until the page is full.  What the
-- documents promise of its plan, and of those that look similar.
--
\pset format unaligned \pset footer off
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE authors (id int PRIMARY KEY, name text);
CREATE TABLE posts (id bigint PRIMARY KEY, author int NOT NULL, published timestamptz NOT NULL);
CREATE TABLE feed_seen (user_id bigint PRIMARY KEY, items bloom);
INSERT INTO authors SELECT n, 'author ' || n FROM generate_series(0, 999) AS n;
INSERT INTO posts SELECT n, n % 1000, '2026-01-01 00:00+00'::timestamptz + n * interval '1 minute' FROM generate_series(1, 20000) AS n;
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
		AND below ? 'Relation Name' AND NOT below @> '{"Parent Relationship": "InitPlan"}' AND NOT below @> '{"Parent Relationship": "SubPlan"}'
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
	('key of another table', 'SELECT p.id, a.name FROM authors AS me CROSS JOIN posts AS p JOIN authors AS a ON a.id = p.author
		WHERE me.id = 1 AND NOT (SELECT items FROM feed_seen WHERE user_id = me.id) @> p.id ORDER BY p.published DESC LIMIT 50'),
	('key by a subquery', 'SELECT p.id, a.name FROM posts AS p JOIN authors AS a ON a.id = p.author
		WHERE NOT (SELECT items FROM feed_seen WHERE user_id = (SELECT me.id FROM authors AS me WHERE me.id = 1)) @> p.id
		ORDER BY p.published DESC LIMIT 50');

-- The filter is found once and asked below the joins, except where a LEFT JOIN comes after them or each row looks it up.
SELECT name, pg_temp.asked_above(pg_temp.plan(query)) AS asked_above, pg_temp.found_by(query) AS found_by FROM feeds;

-- It is also read once: beyond the pages of the scan itself, the page of the feed takes those of one row and one filter.
-- (If each of the 5,050 rows read it, that would be 20,000 and more.)
SELECT operator, pg_temp.pages(format('SELECT id FROM posts WHERE NOT %s ORDER BY published DESC LIMIT 50', condition)) -
	pg_temp.pages('SELECT id FROM posts ORDER BY published DESC LIMIT 1 OFFSET 5049') BETWEEN 1 AND 30 AS read_once
FROM (VALUES ('@>', '(SELECT items FROM feed_seen WHERE user_id = 1) @> id'),
	('<@', 'id <@ (SELECT items FROM feed_seen WHERE user_id = 1)')) AS v (operator, condition);

-- So it is in the plan of a prepared statement, custom or generic.
PREPARE page (bigint) AS SELECT p.id FROM posts AS p JOIN authors AS a ON a.id = p.author
	WHERE NOT (SELECT items FROM feed_seen WHERE user_id = $1) @> p.id ORDER BY p.published DESC LIMIT 50;
SET plan_cache_mode = force_custom_plan;
SELECT pg_temp.asked_above(pg_temp.plan('EXECUTE page(1)')) AS asked_above, pg_temp.found_by('EXECUTE page(1)') AS found_by;
SET plan_cache_mode = force_generic_plan;
SELECT pg_temp.asked_above(pg_temp.plan('EXECUTE page(1)')) AS asked_above, pg_temp.found_by('EXECUTE page(1)') AS found_by;
RESET plan_cache_mode;

-- The answer: nothing that was read, and of the rest all but the false positives, in order.
CREATE FUNCTION pg_temp.feed(me bigint) RETURNS bigint[] LANGUAGE sql AS $$
	SELECT array_agg(id) FROM (
		SELECT p.id FROM posts AS p WHERE NOT (SELECT items FROM feed_seen WHERE user_id = me) @> p.id
		ORDER BY p.published DESC) AS page
$$;
SELECT me, cardinality(feed) BETWEEN unread * 0.98 AND unread AS up_to_false_positives,
	feed = ARRAY(SELECT id FROM posts WHERE NOT COALESCE(items @> id, false) ORDER BY published DESC) AS in_order,
	EXISTS (SELECT FROM unnest(feed) AS id WHERE (me = 1 AND id > 15000) OR (me = 2 AND id % 3 = 0)) AS read_one
FROM (VALUES (1, 15000), (2, 13334)) AS users (me, unread) JOIN feed_seen ON user_id = me, pg_temp.feed(me) AS feed;
-- a user without a row, or without a filter in it, gets everything: NULL is an empty filter
SELECT me, cardinality(pg_temp.feed(me)) FROM (VALUES (3), (4)) AS users (me);
SELECT NULL::bloom @> 7 AS contained, NOT NULL::bloom @> 7 AS shown, NOT (SELECT items FROM feed_seen WHERE user_id = 3) @> 7 AS shown_without_row;
-- an item that is NULL is not shown
SELECT count(*) FROM (VALUES (NULL::bigint)) AS v (id) WHERE NOT (SELECT items FROM feed_seen WHERE user_id = 3) @> id;

--
-- Row estimates
--

-- Estimated and actual rows of a query.
CREATE FUNCTION pg_temp.rows_of(query text, OUT estimated int, OUT actual int, OUT error text) LANGUAGE plpgsql AS $$
BEGIN
	estimated := pg_temp.plan(query) ->> 'Plan Rows';
	EXECUTE format('SELECT count(*) FROM (%s) AS q', query) INTO actual;
	error := CASE WHEN estimated BETWEEN 0.8 * actual AND 1.25 * actual + 20 THEN 'small' ELSE 'large' END;
END
$$;
SELECT items AS known FROM feed_seen WHERE user_id = 2 \gset

-- A filter that is known when the statement is planned is asked for the items of the statistics.
SELECT name, error
FROM (VALUES
	('contained', 'SELECT FROM posts WHERE %s @> id'),
	('not contained', 'SELECT FROM posts WHERE NOT %s @> id'),
	('contained, <@', 'SELECT FROM posts WHERE id <@ %s'),
	('not contained, <@', 'SELECT FROM posts WHERE NOT id <@ %s')) AS q (name, query),
	pg_temp.rows_of(format(query, quote_literal(:'known') || '::bloom'));
SELECT estimated, actual FROM pg_temp.rows_of('SELECT FROM posts WHERE NOT NULL::bloom @> id');
SELECT error FROM pg_temp.rows_of('SELECT FROM posts WHERE bloom_add(NULL, 5) @> id');
SELECT error FROM pg_temp.rows_of('SELECT FROM posts WHERE NOT bloom_add(NULL, 5) @> id');
-- with it, a join
SELECT error FROM pg_temp.rows_of(format('SELECT FROM posts AS p JOIN authors AS a ON a.id = p.author WHERE %L::bloom @> p.id', :'known'));

-- One that a subquery finds is not known then: 1% of the rows are contained, and 99% are not.  For a feed that is right:
-- the plan that needs few rows is the one to take.
SELECT estimated, actual FROM pg_temp.rows_of('SELECT FROM posts WHERE NOT (SELECT items FROM feed_seen WHERE user_id = 2) @> id');
SELECT estimated, actual FROM pg_temp.rows_of('SELECT FROM posts WHERE (SELECT items FROM feed_seen WHERE user_id = 2) @> id');
SELECT estimated, actual FROM pg_temp.rows_of('SELECT FROM posts, feed_seen WHERE user_id = 2 AND NOT items @> id');

-- The four kinds, by both operators.
SELECT oprname, oprleft::regtype, oprright::regtype, oprrest, oprjoin
FROM pg_operator WHERE oprname IN ('@>', '<@') AND 'bloom'::regtype IN (oprleft, oprright) ORDER BY 1, oprleft::regtype::text, oprright::regtype::text;
CREATE TABLE texts AS SELECT 'item ' || n AS id FROM generate_series(1, 2000) AS n;
ANALYZE texts;
SELECT bloom_agg(id) AS known FROM texts WHERE right(id, 1) < '5' \gset
SELECT error FROM pg_temp.rows_of(format('SELECT FROM texts WHERE %L::bloom @> id', :'known'));
SELECT error FROM pg_temp.rows_of(format('SELECT FROM texts WHERE NOT id <@ %L::bloom', :'known'));
-- a filter of another kind is an error when the statement is planned, as when it runs
EXPLAIN (COSTS OFF) SELECT FROM texts WHERE bloom_add(NULL, 5) @> id;

-- a text that looks like an array is an item like others if it comes from a row, so that one row stops nobody's feed
CREATE TABLE keys AS SELECT CASE WHEN n % 2 = 0 THEN '{a,b}' ELSE 'a' || n END AS id, n % 2 = 1 AS plain FROM generate_series(1, 1000) AS n;
ANALYZE keys;
SELECT count(*) FROM keys WHERE plain AND bloom_add(NULL, 'a7'::text) @> id;
SELECT count(*) FROM keys WHERE bloom_add(NULL, 'a7'::text) @> id;
SELECT id FROM keys WHERE NOT (SELECT known FROM (SELECT bloom_add(NULL, '{a7,a1}'::text[]) AS known OFFSET 0) AS seen) @> id ORDER BY id COLLATE "C" DESC LIMIT 1;

DROP TABLE authors, posts, feed_seen, feeds, texts, keys;

--
-- The second check of doc/expire.md: candidates that the filter drops are looked up in the exposures, and only they.
-- The result must be that of NOT EXISTS, in order and with duplicates, however often the filter is wrong.
--
SET TimeZone = 'UTC';

-- Users 1 to 3 saw 100 items each in 50 days, of which 30 count; user 3 saw them twice.  User 4 is new.
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz);
INSERT INTO exposures
SELECT u, u * 1000 + n, timestamptz '2024-03-01 00:00+00' - n * interval '12 hours' FROM generate_series(1, 3) u, generate_series(1, 100) n;
INSERT INTO exposures SELECT user_id, item_id, shown_at - interval '1 hour' FROM exposures WHERE user_id = 3;
CREATE INDEX ON exposures (user_id, item_id, shown_at);
VACUUM ANALYZE exposures;

-- Filters that err a lot: of what counts, of all that was ever seen, and a window, which knows some of the old ones still.
CREATE TABLE filters (user_id bigint, kind text, items bloom);
INSERT INTO filters SELECT user_id, 'rebuilt', bloom_agg(item_id, 0.2) FROM exposures WHERE shown_at >= '2024-01-31 00:00+00' GROUP BY user_id;
INSERT INTO filters SELECT user_id, 'stale', bloom_agg(item_id, 0.2) FROM exposures GROUP BY user_id;
INSERT INTO filters SELECT user_id, 'window', bloom_expire(bloom_window_agg(item_id, shown_at, '30 days', 6, 0.2), '2024-03-01 00:00+00') FROM exposures GROUP BY user_id;
INSERT INTO filters VALUES (4, 'none', NULL);

-- Candidates in no order, some twice: seen of late, seen long ago, never seen.
CREATE TABLE candidates AS
SELECT user_id, array_agg(c ORDER BY (c * 7919 + twice * 31) % 1009, twice) AS items
FROM generate_series(1, 4) AS user_id, LATERAL (
	SELECT user_id * 1000 + n AS c, twice FROM generate_series(1, 200) n, generate_series(1, 1 + (n % 5 = 0)::int) twice) AS s
GROUP BY user_id;

PREPARE second_check (bigint, bigint[], bloom) AS
SELECT c.item_id
FROM unnest($2, bloom_contains_each($3, $2)) WITH ORDINALITY AS c (item_id, hit, nth)
WHERE NOT c.hit
	OR NOT EXISTS (
		SELECT FROM exposures AS e
		WHERE e.user_id = $1 AND e.item_id = c.item_id AND e.shown_at >= timestamptz '2024-01-31 00:00+00'
		OFFSET 0)
ORDER BY c.nth;

CREATE TABLE results (user_id bigint, kind text, candidates bigint, hits bigint, plain bigint[], checked bigint[], exact bigint[], lookups numeric);
CREATE FUNCTION lookups(plan json) RETURNS numeric LANGUAGE sql AS $$
	WITH RECURSIVE nodes (node) AS (
		SELECT plan -> 0 -> 'Plan'
		UNION ALL
		SELECT json_array_elements(node -> 'Plans') FROM nodes
	)
	SELECT sum((node ->> 'Actual Loops')::numeric) FROM nodes WHERE node ->> 'Relation Name' = 'exposures'
$$;
DO $$
DECLARE
	r record;
	item bigint;
	checked bigint[];
	plan json;
BEGIN
	FOR r IN SELECT f.user_id, f.kind, f.items AS f, c.items AS c FROM filters f JOIN candidates c USING (user_id) ORDER BY 1, 2 LOOP
		checked := '{}';
		FOR item IN EXECUTE format('EXECUTE second_check (%L, %L, %L)', r.user_id, r.c, r.f) LOOP
			checked := checked || item;
		END LOOP;
		EXECUTE format('EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, FORMAT JSON) EXECUTE second_check (%L, %L, %L)', r.user_id, r.c, r.f) INTO plan;
		INSERT INTO results
		SELECT r.user_id, r.kind, cardinality(r.c), cardinality(r.c) - cardinality(r.c - r.f), r.c - r.f, checked,
			ARRAY(SELECT item_id FROM unnest(r.c) WITH ORDINALITY AS c (item_id, nth)
				WHERE NOT EXISTS (SELECT FROM exposures e WHERE e.user_id = r.user_id AND e.item_id = c.item_id AND shown_at >= '2024-01-31 00:00+00') ORDER BY nth),
			lookups(plan);
	END LOOP;
END
$$;

-- The plain filter drops what it should not; the second check lets all of that through again, and nothing else.
SELECT user_id, kind, candidates, cardinality(exact) AS exact, cardinality(plain) < cardinality(exact) AS plain_drops_more, plain <@ exact AS plain_lets_none_through,
	checked = exact AS same
FROM results ORDER BY user_id, kind;
-- No candidate is looked up but those that the filter drops.
SELECT user_id, kind, hits < candidates AS some_spared, coalesce(lookups, 0) = hits AS only_hits_looked_up FROM results ORDER BY user_id, kind;
-- Texts, and a whole table of candidates in one statement.
SELECT count(*), bool_and(checked = exact) AS same, sum(cardinality(plain)) < sum(cardinality(exact)) AS plain_drops_more
FROM (SELECT user_id, bloom_agg(item_id::text, 0.2) AS f FROM exposures WHERE shown_at >= '2024-01-31 00:00+00' GROUP BY user_id) AS f
RIGHT JOIN (SELECT user_id, items::text[] AS items FROM candidates) AS s USING (user_id),
	LATERAL (SELECT array_agg(c.item_id ORDER BY nth) AS checked
		FROM unnest(s.items, bloom_contains_each(f, s.items)) WITH ORDINALITY AS c (item_id, hit, nth)
		WHERE NOT c.hit OR NOT EXISTS (SELECT FROM exposures e WHERE e.user_id = s.user_id AND e.item_id::text = c.item_id AND e.shown_at >= '2024-01-31 00:00+00' OFFSET 0)) AS checked,
	LATERAL (SELECT array_agg(c.item_id ORDER BY nth) AS exact FROM unnest(s.items) WITH ORDINALITY AS c (item_id, nth)
		WHERE NOT EXISTS (SELECT FROM exposures e WHERE e.user_id = s.user_id AND e.item_id::text = c.item_id AND e.shown_at >= '2024-01-31 00:00+00')) AS exact,
	LATERAL (SELECT s.items - f AS plain) AS plain;
-- NULL among the candidates stays, as with NOT EXISTS; no candidates, none left.
SELECT items AS f FROM filters WHERE user_id = 1 AND kind = 'rebuilt' \gset
EXECUTE second_check (1, '{NULL,1001,7,1001,NULL}', :'f');
EXECUTE second_check (1, '{}', NULL);
DEALLOCATE second_check;
DROP TABLE exposures, filters, candidates, results;
DROP FUNCTION lookups;
