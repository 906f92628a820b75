--
-- The exact query of the README in its forms, for a reader of the newest posts, and what it does
-- when the reader's exposures do not fit into work_mem.  Variables: posts, rounds.
--
SET client_min_messages = warning;
CREATE TABLE posts (id bigint PRIMARY KEY, title text, published timestamptz NOT NULL);
CREATE INDEX ON posts (published);
INSERT INTO posts SELECT n, 'Post ' || n, now() - n * interval '1 minute'
	FROM generate_series(1, :posts) AS n;

-- Reader 42 has seen the 10,000 newest; reader 7 the 1,000 newest, after 100,000 of the old ones;
-- two hundred more have seen 1,000 each.
CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL,
	shown_at timestamptz NOT NULL DEFAULT now());
INSERT INTO exposures SELECT 42, n, now() - n * interval '2 minutes'
	FROM generate_series(1, 10000) AS n;
INSERT INTO exposures SELECT 7, n, now() - CASE WHEN n > 1000 THEN n
	ELSE n + 300000 END * interval '2 seconds'
FROM generate_series(1, :posts) AS n WHERE n NOT BETWEEN 1001 AND 101000 ORDER BY 3;
INSERT INTO exposures SELECT u, n * 7, now() - n * interval '20 minutes'
	FROM generate_series(101, 300) AS u, generate_series(1, 1000) AS n;
CREATE INDEX ON exposures (user_id, shown_at, item_id);
SELECT bloomexp.create_feed('shown', 'exposures') \g /dev/null
CALL shown.rebuild() \g /dev/null
VACUUM ANALYZE;
SET work_mem = '4MB';

CREATE TABLE forms (nth serial, form text, statement text);
INSERT INTO forms (form, statement)
SELECT form, 'SELECT p.id, p.title FROM posts AS p WHERE ' || condition || '
	ORDER BY p.published DESC LIMIT 20'
FROM (VALUES
	('NOT IN (SELECT nullif(e.item_id, NULL) …)',
		'p.id NOT IN (SELECT nullif(e.item_id, NULL) FROM exposures AS e WHERE e.user_id = 42
		AND e.shown_at >= now() - interval ''30 days'')'),
	('NOT IN (SELECT e.item_id …)',
		'p.id NOT IN (SELECT e.item_id FROM exposures AS e WHERE e.user_id = 42
		AND e.shown_at >= now() - interval ''30 days'')'),
	('NOT EXISTS', 'NOT EXISTS (SELECT FROM exposures AS e WHERE e.user_id = 42
		AND e.shown_at >= now() - interval ''30 days'' AND e.item_id = p.id)'),
	('filter', 'NOT (SELECT shown.current(42)) @> p.id')) AS v (form, condition);
CREATE TABLE timing (form text, indexes text, ms float8, plan text);

CREATE FUNCTION ms(statement text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	start timestamptz := clock_timestamp();
	line record;
	ids bigint[];
BEGIN
	FOR line IN EXECUTE statement LOOP
		ids := ids || line.id;
	END LOOP;
	IF cardinality(ids) <> 20 THEN
		RAISE 'a wrong page: %', ids;
	END IF;
	RETURN 1000 * extract(epoch FROM clock_timestamp() - start);
END
$$;

-- How a statement excludes, by its plan.
CREATE FUNCTION way(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		plan := plan || line;
	END LOOP;
	RETURN substring(plan
		FROM 'hashed SubPlan|(?:Nested Loop|Hash|Merge)(?: Right)? Anti Join|@>|SubPlan');
END
$$;

-- The forms take turns; the index that NOT EXISTS likes best is there in the second half.  The
-- first rounds do not count.
CREATE PROCEDURE measure(index text, rounds int) LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO timing SELECT form, index, ms(statement), way(statement)
	FROM generate_series(-1, rounds) AS round, forms WHERE round > 0 OR ms(statement) IS NULL
	ORDER BY round, nth * (round % 2 * 2 - 1);
END
$$;
CALL measure('one', :rounds);
CREATE INDEX ON exposures (user_id, item_id);
VACUUM ANALYZE exposures;
CALL measure('two', :rounds);
DROP INDEX exposures_user_id_item_id_idx;

-- From how many exposures on the planner does not hash them any more, in the default work_mem.
CREATE FUNCTION not_in(exposures int, skip text) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT p.id FROM posts AS p WHERE p.published < now() - interval %L
		AND p.id NOT IN (
		SELECT nullif(e.item_id, NULL)
			FROM (SELECT item_id FROM exposures WHERE user_id = 7 LIMIT %s) AS e)
			ORDER BY p.published DESC LIMIT 20', skip, exposures)
$$;
CREATE FUNCTION hashed_up_to() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	hashed int := 1000;
	other int := 299999;
BEGIN
	WHILE other - hashed > 1 LOOP
		IF way(not_in((hashed + other) / 2, '0')) = 'hashed SubPlan' THEN
			hashed := (hashed + other) / 2;
		ELSE
			other := (hashed + other) / 2;
		END IF;
	END LOOP;
	RETURN hashed;
END
$$;
CREATE TABLE fits AS SELECT hashed_up_to() AS exposures;
CREATE TABLE beyond AS SELECT skips, exposures + more AS exposures, way(statement) AS plan,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY ms(statement)) AS ms
FROM fits, (VALUES (1, 'none', '1001 minutes'), (2, '1,000', '1 minute')) AS s (nth, skips, since),
(VALUES (0), (1)) AS m (more),
	not_in(exposures + more, since) AS statement, generate_series(1, 3) AS round
GROUP BY skips, s.nth, exposures, more, statement ORDER BY s.nth, more;
