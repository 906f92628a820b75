--
-- What a page costs each reader of the application :app: every statement of its feed in turn, in
-- :rounds rounds, with all data in memory.  Statements are prepared where the application's can be.
-- Times are those of the server, from the statement to its last row.
--
CREATE TABLE IF NOT EXISTS timing (app text, me int, round int, method text, ms float8);
CREATE TABLE IF NOT EXISTS pages (app text, me int, method text, pages int);

CREATE OR REPLACE FUNCTION page_ms(statement text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	start timestamptz := clock_timestamp();
	line record;
BEGIN
	FOR line IN EXECUTE statement LOOP
	END LOOP;
	RETURN 1000 * extract(epoch FROM clock_timestamp() - start);
END
$$;

-- Every other round is backwards.  The first ones do not count: plans are chosen in them.
CREATE OR REPLACE PROCEDURE measure(name text, me int, rounds int) LANGUAGE plpgsql AS $$
DECLARE
	app app := (SELECT a FROM app AS a WHERE a.app = name);
	methods text[] := ARRAY(
		SELECT 'today' UNION SELECT method FROM feed AS f WHERE f.app = name AND method <> 'exact');
	method text;
	ms float8;
	plan json;
BEGIN
	FOR round IN -5 .. rounds LOOP
		FOREACH method IN ARRAY methods LOOP
			ms := page_ms(statement(app, method, me));
			INSERT INTO timing SELECT name, me, round, method, ms WHERE round > 0;
		END LOOP;
		methods := ARRAY(SELECT m FROM unnest(methods) WITH ORDINALITY AS u (m, place)
			ORDER BY place DESC);
	END LOOP;
	FOREACH method IN ARRAY methods LOOP
		EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) '
		|| statement(app, method, me) INTO plan;
		INSERT INTO pages SELECT name, me, method, (root ->> 'Shared Hit Blocks')::int
			+ (root ->> 'Shared Read Blocks')::int
		FROM (VALUES (plan -> 0 -> 'Plan')) AS p (root);
	END LOOP;
END
$$;

VACUUM ANALYZE;
SELECT format('CALL measure(%L, %s, %s)', app, me, :rounds)
FROM app, unnest(readers) AS me WHERE app = :'app' ORDER BY me
\gexec
