--
-- What the schemas of real applications share: made readers, their feeds as the application asks
-- for them today and with a filter beside it, and the checks that both give the same answer.  First
-- file of a run, with :scale: 1 is 200,000 items and readers with up to 50,000 read ones.  Each
-- application then has a session of its own: its file with the schema, check.sql, and
-- bench/pages/pages.sql where it is measured.
--
-- Tables, columns, keys and the shape of the queries are facts from the public sources that each
-- file names, as far as the feed needs them; names that the feed does not use are left out.  What
-- is in the tables is made.
--
CREATE EXTENSION bloomexp;

CREATE TABLE size AS SELECT (200000 * :scale)::int AS items, (600 * sqrt(:scale))::int AS others;

-- Readers who are measured: how many items they have read, and which.  "newest" is what a feed
-- shows first.
CREATE TABLE reader (me int PRIMARY KEY, items int, history text);
INSERT INTO reader
SELECT row_number() OVER (ORDER BY n, history), (n * :scale)::int, history
FROM (VALUES (0, 'none'), (100, 'newest'), (100, 'spread'), (1000, 'newest'), (1000, 'spread'),
	(10000, 'newest'), (10000, 'spread'), (50000, 'newest'), (50000, 'spread')) AS v (n, history);

-- What they and some others have read: the nth item of the feed, counted from the oldest.  The
-- spread ones are in no order, because a hash of their number chooses them.
CREATE TABLE reading AS
SELECT me, s.items - n AS nth FROM size AS s, reader AS r, generate_series(0, r.items - 1) AS n
	WHERE history = 'newest'
UNION ALL
SELECT me, nth FROM reader AS r, LATERAL (
	SELECT nth FROM size AS s, generate_series(1, s.items) AS nth ORDER BY hashint8extended(nth, me)
		LIMIT r.items) AS read
WHERE history = 'spread'
UNION ALL
SELECT DISTINCT 100 + other, 1 + (hashint8extended(n, other) & 2147483647)::int % s.items
	FROM size AS s,
	generate_series(1, s.others) AS other, generate_series(1, 300) AS n;
CREATE INDEX ON reading (nth);
ANALYZE reading;

-- A feed: a query with the reader's key as $1, whose first column is the item, and %limit% at its
-- end.  "today" is what the application does, "not in" and "not exists" the same by other exact
-- ways, and "filter" with a filter.  "exact" is asked for the answer where today's statement only
-- brings what the application needs to find it.  Others are the same feed with the filter asked in
-- a worse way.
CREATE TABLE feed (app text, method text, query text, PRIMARY KEY (app, method));

-- How an application writes its reader's key; what it knows of it is an expression with $1.
CREATE TABLE app (
	app text PRIMARY KEY,
	readers int[],			-- who reads there
	key text,				-- SQL expression of the key of reader $1
	-- SQL statement by which the reader with the key $1 has read the items $2
	mark text,
	rebuild text,
	exact_bytes text,		-- bytes of what reader $1 has read, in exact rows with their indexes
	filter_bytes text		-- ... in the filter's row
);

CREATE FUNCTION key_of(app app, me int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	key text;
BEGIN
	EXECUTE 'SELECT ' || app.key INTO key USING me;
	RETURN key;
END
$$;

-- The statement that brings a page, or all of the feed.  Prepared ones are named app, method and
-- extent.
CREATE FUNCTION statement(app app, method text, me int, extent text DEFAULT 'page') RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	prepared text := concat_ws(' ', app.app, method, extent);
	written text;
BEGIN
	IF EXISTS (SELECT FROM pg_prepared_statements WHERE name = prepared) THEN
		RETURN format('EXECUTE %I(%L)', prepared, key_of(app, me));
	END IF;
	-- written out for each reader by the application
	EXECUTE format('SELECT %I.%I($1)', app.app, method) INTO written USING key_of(app, me);
	RETURN replace(written, '%limit%', CASE extent WHEN 'page' THEN 'LIMIT 50' ELSE '' END);
END
$$;

CREATE VIEW preparation AS
SELECT app, format('PREPARE %I %s', concat_ws(' ', app, method, extent),
	replace(query, '%limit%', CASE extent WHEN 'page' THEN 'LIMIT 50' ELSE '' END)) AS command
FROM feed, unnest('{page,all}'::text[]) AS extent;

-- The items of a statement, in their order, as texts.
CREATE FUNCTION items_of(statement text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	line record;
	items text[] := '{}';
BEGIN
	FOR line IN EXECUTE statement LOOP
		items := items || line.id::text;
	END LOOP;
	RETURN items;
END
$$;

-- Compare a reader's answer with the exact one.  It has no exposed item.  Of the other items at
-- most the share p is missing, give or take chance: four standard deviations for the items that are
-- asked, and a quarter of p, because a filter's own rate depends on its items.  Exactly the false
-- positives are missing, so the filter's answer is the exact one without them and in its order,
-- both in full and on the first page.  NOT IN and NOT EXISTS give the exact answer.
CREATE FUNCTION judge(app app, me int, p float8 DEFAULT 0.01,
	OUT exposed bigint, OUT missing_as_promised boolean, OUT same boolean, OUT page boolean,
	OUT other_ways boolean)
LANGUAGE plpgsql AS $$
DECLARE
	exact text[] := items_of(statement(app,
		CASE WHEN EXISTS (SELECT FROM feed AS f WHERE f.app = judge.app.app
			AND method = 'exact') THEN 'exact' ELSE 'today' END, me, 'all'));
	ours text[] := items_of(statement(app, 'filter', me, 'all'));
	without_false_positives text[];
	n int := cardinality(exact);
BEGIN
	SELECT count(*) INTO exposed FROM (SELECT unnest(ours) EXCEPT SELECT unnest(exact)) AS wrong;
	missing_as_promised := n - cardinality(ours) BETWEEN 0 AND 1.25 * n * p + 4 * sqrt(n * p);
	EXECUTE format('SELECT COALESCE(array_agg(id
		ORDER BY place) FILTER (WHERE NOT %I.contains($2, id)), ''{}'')
		FROM unnest($1) WITH ORDINALITY AS e (id, place)', app.app)
		INTO without_false_positives USING exact, key_of(app, me);
	same := ours = without_false_positives;
	page := items_of(statement(app, 'filter', me)) = without_false_positives[:50];
	other_ways := (SELECT bool_and(items_of(statement(judge.app, method, me, 'all')) = exact)
		FROM feed AS f
		WHERE f.app = judge.app.app AND method LIKE 'not %');
END
$$;

-- A reader reads the page: the next one has none of its items.  Returns how many it has.
CREATE FUNCTION read_page(app app, me int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	page text[] := items_of(statement(app, 'filter', me));
BEGIN
	EXECUTE app.mark USING key_of(app, me), page;
	RETURN (SELECT count(*) FROM unnest(items_of(statement(app, 'filter', me))) AS id
		WHERE id = ANY (page));
END
$$;
