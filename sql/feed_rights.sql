--
-- Who may do what with a feed, and whose code runs with whose rights.
--
SET client_min_messages = error;
\set VERBOSITY terse
\set SHOW_CONTEXT never
\pset format unaligned
\pset tuples_only
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
CREATE ROLE regress_bloomexp_owner;
CREATE ROLE regress_bloomexp_app;
CREATE ROLE regress_bloomexp_cron;
CREATE ROLE regress_bloomexp_evil;
DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO regress_bloomexp_owner, regress_bloomexp_evil', current_database()); END $$;
CREATE SCHEMA shop AUTHORIZATION regress_bloomexp_owner;
GRANT USAGE ON SCHEMA shop TO PUBLIC;
SET ROLE regress_bloomexp_owner;
CREATE TABLE shop.exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE TABLE shop.pages (user_id text, item_id text[], shown_at timestamp DEFAULT (now() AT TIME ZONE 'UTC'));
CREATE INDEX ON shop.exposures (user_id, shown_at);
CREATE INDEX ON shop.pages (user_id, shown_at);
SELECT bloom_create_feed('seen', 'shop.exposures');
SELECT bloom_create_feed('log', 'shop.exposures', mode => 'log');
SELECT bloom_create_feed('pages', 'shop.pages');
RESET ROLE;

-- All belongs to who made the feed, nothing to PUBLIC, and what runs as the owner has a search_path of its own.
SELECT array_agg(DISTINCT pg_get_userbyid(o)) FROM (SELECT relowner FROM pg_class WHERE relnamespace IN ('seen'::regnamespace, 'log'::regnamespace)
	UNION ALL SELECT proowner FROM pg_proc WHERE pronamespace IN ('seen'::regnamespace, 'log'::regnamespace)) AS o (o);
SELECT proname, prosecdef, array_to_string(ARRAY(SELECT c FROM unnest(proconfig) AS c WHERE c ~ 'search_path'), ' '), count(*) FROM pg_proc
WHERE pronamespace IN ('seen'::regnamespace, 'log'::regnamespace, 'pages'::regnamespace) GROUP BY 1, 2, 3 ORDER BY 1;
SELECT count(*) FROM pg_proc WHERE pronamespace IN ('seen'::regnamespace, 'log'::regnamespace) AND has_function_privilege('regress_bloomexp_app', oid, 'EXECUTE');

-- An application: it inserts and asks, and neither reads nor changes filters.
GRANT INSERT ON shop.exposures, shop.pages TO regress_bloomexp_app;
SET ROLE regress_bloomexp_app;
INSERT INTO shop.exposures VALUES (1, 1), (2, 1);
INSERT INTO shop.pages VALUES ('a', '{x}');
SELECT seen.unseen(1, '{1}');
RESET ROLE;
GRANT USAGE ON SCHEMA seen, log, pages TO regress_bloomexp_app;
SET ROLE regress_bloomexp_app;
SELECT seen.unseen(1, '{1}');
SELECT seen.current(1);
SELECT log.take(1, '{1}');
RESET ROLE;
GRANT EXECUTE ON FUNCTION seen.unseen, seen.take, seen.current, log.unseen, log.take, log.current, pages.take TO regress_bloomexp_app;
SET ROLE regress_bloomexp_app;
SELECT seen.unseen(1, '{1,2}'), seen.take(1, '{1,2}'), log.unseen(1, '{1,2}'), log.take(1, '{1,2}'), seen.current(1) @> 1, log.current(1) @> 1, pages.take('a', '{x,y}');
SELECT * FROM seen.filters;
UPDATE seen.filters SET items = NULL;
DELETE FROM log.filters;
INSERT INTO seen.filters VALUES (9, NULL);
SELECT seen.rebuild_batch('{1}', NULL, '0', false, true, NULL, 0, 0);
CALL seen.rebuild();
SELECT seen.track();
CREATE TABLE mine (user_id bigint, item_id bigint, shown_at timestamptz);
RESET ROLE;

-- A scheduler: EXECUTE of the rebuild and its batches, and nothing else.
GRANT USAGE ON SCHEMA seen, log TO regress_bloomexp_cron;
GRANT EXECUTE ON PROCEDURE seen.rebuild, log.rebuild TO regress_bloomexp_cron;
GRANT EXECUTE ON FUNCTION seen.rebuild_batch, log.rebuild_batch TO regress_bloomexp_cron;
SET ROLE regress_bloomexp_cron;
CALL seen.rebuild();
CALL log.rebuild(dry_run => true);
SELECT seen.unseen(1, '{1}');
RESET ROLE;

-- Others' functions, operators and tables, in front of all that is ours: in their own schema, in that of temporary tables,
-- and as the session's settings find them.
CREATE FUNCTION caught() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
	IF current_user <> 'regress_bloomexp_evil' THEN
		RAISE 'code of others runs';
	END IF;
END
$$;
SET ROLE regress_bloomexp_evil;
CREATE SCHEMA evil;
CREATE FUNCTION evil.plant(place text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	p record;
	planted bigint := 0;
BEGIN
	-- a function like each of ours and like those of the server that scripts call, for types that fit better
	FOR p IN
		SELECT DISTINCT proname, arguments FROM pg_proc, LATERAL (VALUES (replace(oidvectortypes(proargtypes), 'anyarray', 'bigint[]')),
			(regexp_replace(oidvectortypes(proargtypes), 'any(array|nonarray|element)', 'text')), (oidvectortypes(proargtypes))) AS a (arguments)
		WHERE (proname ~ '^bloom_' OR pronamespace = 'pg_catalog'::regnamespace AND proname IN ('now', 'clock_timestamp', 'array_agg', 'unnest', 'min', 'count', 'sum', 'cardinality', 'current_setting',
			'hash_array_extended', 'pg_advisory_xact_lock', 'pg_column_size', 'hashtext', 'hashint8', 'pg_sleep', 'pg_sleep_for', 'current_database', 'array_fill', 'coalesce'))
			AND NOT '{internal,cstring,"\"any\""}'::regtype[]::oid[] && proargtypes::oid[]
	LOOP
		BEGIN
			EXECUTE format('CREATE FUNCTION %I.%I(%s) RETURNS bigint LANGUAGE plpgsql AS ''BEGIN PERFORM public.caught(); RETURN NULL; END''', place, p.proname, p.arguments);
			planted := planted + 1;
		EXCEPTION WHEN duplicate_function OR invalid_function_definition OR invalid_parameter_value THEN
		END;
	END LOOP;
	FOR p IN
		SELECT name, t, f FROM unnest('{=,>,>=,<=,<>,-,+,||,%,&}'::text[]) WITH ORDINALITY AS o (name, f), unnest('{bigint,integer,text,timestamptz,interval,public.bloom,anyelement,timestamp}'::text[]) AS t
	LOOP
		EXECUTE format('CREATE FUNCTION %I.operator_%s(%s, %s) RETURNS boolean LANGUAGE plpgsql AS ''BEGIN PERFORM public.caught(); RETURN NULL; END''', place, p.f, p.t, p.t);
		EXECUTE format('CREATE OPERATOR %I.%s (LEFTARG = %s, RIGHTARG = %3$s, FUNCTION = %1$I.operator_%4$s)', place, p.name, p.t, p.f);
		planted := planted + 1;
	END LOOP;
	EXECUTE format('CREATE TABLE %I.filters (user_id bigint PRIMARY KEY, items public.bloom, filled_until timestamptz)', place);
	EXECUTE format('CREATE TABLE %I.new_rows (user_id bigint, item_id bigint, shown_at timestamptz)', place);
	EXECUTE format('CREATE TABLE %I.exposures (user_id bigint, item_id bigint, shown_at timestamptz)', place);
	RETURN planted;
END
$$;
CREATE TEMP TABLE opens_the_schema ();
SELECT evil.plant('evil') > 100, evil.plant((SELECT nspname FROM pg_namespace WHERE oid = pg_my_temp_schema())) > 100;
RESET ROLE;
GRANT USAGE ON SCHEMA evil TO PUBLIC;
GRANT regress_bloomexp_app, regress_bloomexp_cron TO regress_bloomexp_evil;
SET search_path = evil, pg_temp, pg_catalog, public;
SET plpgsql.variable_conflict = 'use_variable';
SET check_function_bodies = off;
SET plpgsql.extra_errors = 'all';
-- the traps work
SELECT bloom_contains(public.bloom_new(), 1::bigint);
SELECT 1::bigint OPERATOR(evil.=) 1::bigint;
-- ... and nothing of a feed falls into one, whoever it runs for: who inserts, asks, rebuilds, makes a feed
SET ROLE regress_bloomexp_evil;
INSERT INTO shop.exposures VALUES (1, 3), (3, 3);
INSERT INTO shop.pages VALUES ('a', '{z}');
SELECT seen.unseen(1, '{1,2,3,4}') AS a, log.unseen(1, '{1,2,3,4}') AS b, seen.take(1, '{3,4}') AS c, log.take(1, '{3,4}') AS d, pages.take('a', '{x,z,w}') AS e;
CALL seen.rebuild(upto => 1);
CALL seen.rebuild(after => 1);
CALL log.rebuild(overlap => '0');
SELECT log.unseen(1, '{1,2,3,4}'), seen.current(3) IS NULL;
RESET ROLE;
CALL seen.rebuild();
CALL seen.rebuild(users => pg_catalog.array_fill(1::bigint, '{1001}'));
CALL log.rebuild();
SELECT users, untracked FROM seen.health;
SET ROLE regress_bloomexp_owner;
SELECT public.bloom_create_feed('another', 'shop.exposures');
SELECT feed FROM public.bloom_feeds() WHERE feed::text ~ 'another';
SELECT public.bloom_feed_sql('another_log', 'shop.exposures', mode => 'log') AS script \gset
:script
SELECT another.unseen(1, '{1,2,3,4}'), another_log.unseen(1, '{1,2,3,4}');
DROP SCHEMA another, another_log CASCADE;
RESET ROLE;
RESET ALL;
SET client_min_messages = error;
SELECT count(*) FROM evil.filters;
-- Nobody else has their rows tracked: not even by whom all functions were granted to, which rights by default do not do.
SET ROLE regress_bloomexp_evil;
CREATE TABLE evil.mine (user_id bigint, item_id bigint, shown_at timestamptz);
CREATE TRIGGER mine AFTER INSERT ON evil.mine REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION seen.track();
SET ROLE regress_bloomexp_owner;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO regress_bloomexp_evil;
ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO regress_bloomexp_evil;
SELECT bloom_create_feed('by_default', 'shop.exposures');
SELECT has_table_privilege('regress_bloomexp_evil', 'by_default.filters', 'SELECT, INSERT, UPDATE, DELETE, TRIGGER') AS filters,
	has_table_privilege('regress_bloomexp_evil', 'by_default.health', 'SELECT') AS health,
	(SELECT count(*) FROM pg_proc WHERE pronamespace = 'by_default'::regnamespace AND has_function_privilege('regress_bloomexp_evil', oid, 'EXECUTE')) AS routines;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM regress_bloomexp_evil;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON FUNCTIONS FROM regress_bloomexp_evil;
DROP SCHEMA by_default CASCADE;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA seen TO regress_bloomexp_evil;
SET ROLE regress_bloomexp_evil;
CREATE TRIGGER mine AFTER INSERT ON evil.mine REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION seen.track();
INSERT INTO evil.mine VALUES (1, 99);
RESET ROLE;
SELECT seen.unseen(1, '{99}');

-- A script stops at a schema that another role has made since, and at a table in it.
SET ROLE regress_bloomexp_owner;
SELECT set_config('my.script', bloom_feed_sql('later', 'shop.exposures'), false) IS NULL;
SET ROLE regress_bloomexp_evil;
CREATE SCHEMA later;
GRANT ALL ON SCHEMA later TO regress_bloomexp_owner;
SET ROLE regress_bloomexp_owner;
DO $$ BEGIN EXECUTE current_setting('my.script'); END $$;
RESET ROLE;
ALTER SCHEMA later OWNER TO regress_bloomexp_owner;
CREATE TABLE later.filters (user_id bigint PRIMARY KEY, items bloom, filled_until timestamptz);
ALTER TABLE later.filters OWNER TO regress_bloomexp_evil;
SET ROLE regress_bloomexp_owner;
DO $$ BEGIN EXECUTE current_setting('my.script'); END $$;
RESET ROLE;
DROP SCHEMA later CASCADE;

-- Row-level security that comes later: owners are above it; where it would count, that is an error, and nothing is read by halves.
SET ROLE regress_bloomexp_owner;
ALTER TABLE shop.exposures ENABLE ROW LEVEL SECURITY;
CREATE POLICY policy ON shop.exposures USING (item_id <> 1) WITH CHECK (true);
CALL seen.rebuild();
SELECT seen.unseen(1, '{1,2,3}'), log.unseen(1, '{1,2,3}');
ALTER TABLE shop.exposures FORCE ROW LEVEL SECURITY;
CALL seen.rebuild();
SELECT log.unseen(1, '{1,2,3}');
SELECT log.take(1, '{1,2,3}');
INSERT INTO shop.exposures VALUES (1, 5);
SELECT seen.unseen(1, '{1,2,3,5}');
RESET ROLE;
SET row_security = on;
SELECT log.unseen(1, '{1,2,3}');
DROP SCHEMA seen, log, pages, shop CASCADE;
DROP FUNCTION caught CASCADE;
DROP SCHEMA evil CASCADE;
DROP OWNED BY regress_bloomexp_owner, regress_bloomexp_app, regress_bloomexp_cron, regress_bloomexp_evil CASCADE;
DROP ROLE regress_bloomexp_owner, regress_bloomexp_app, regress_bloomexp_cron, regress_bloomexp_evil;
