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
DO $$ BEGIN
	EXECUTE format('GRANT CREATE ON DATABASE %I TO regress_bloomexp_owner, regress_bloomexp_evil',
		current_database());
END $$;
CREATE SCHEMA shop AUTHORIZATION regress_bloomexp_owner;
GRANT USAGE ON SCHEMA shop TO PUBLIC;
SET ROLE regress_bloomexp_owner;
CREATE TABLE shop.exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE TABLE shop.pages (user_id text, item_id text[],
	shown_at timestamp DEFAULT (now() AT TIME ZONE 'UTC'));
CREATE INDEX ON shop.exposures (user_id, shown_at);
CREATE INDEX ON shop.pages (user_id, shown_at);
SELECT bloomexp.create_feed('seen', 'shop.exposures');
SELECT bloomexp.create_feed('untracked', 'shop.exposures', trigger => false);
SELECT bloomexp.create_feed('pages', 'shop.pages');
RESET ROLE;

-- All belongs to who made the feed, nothing to PUBLIC, and what runs as the owner has a
-- search_path of its own.
SELECT array_agg(DISTINCT pg_get_userbyid(o)) FROM (SELECT relowner FROM pg_class
	WHERE relnamespace IN ('seen'::regnamespace, 'untracked'::regnamespace)
	UNION ALL SELECT proowner FROM pg_proc WHERE pronamespace IN ('seen'::regnamespace,
		'untracked'::regnamespace)) AS o (o);
SELECT proname, prosecdef, array_to_string(ARRAY(SELECT c FROM unnest(proconfig) AS c
	WHERE c ~ 'search_path'), ' '),
	count(*) FROM pg_proc
WHERE pronamespace IN ('seen'::regnamespace, 'untracked'::regnamespace, 'pages'::regnamespace)
GROUP BY 1, 2, 3 ORDER BY 1;
SELECT count(*) FROM pg_proc WHERE pronamespace IN ('seen'::regnamespace, 'untracked'::regnamespace)
	AND has_function_privilege('regress_bloomexp_app', oid, 'EXECUTE');

-- An application: it inserts and asks, and neither reads nor changes filters.
GRANT INSERT ON shop.exposures, shop.pages TO regress_bloomexp_app;
SET ROLE regress_bloomexp_app;
INSERT INTO shop.exposures VALUES (1, 1), (2, 1);
INSERT INTO shop.pages VALUES ('a', '{x}');
SELECT seen.unseen(1, '{1}');
RESET ROLE;
GRANT USAGE ON SCHEMA seen, untracked, pages TO regress_bloomexp_app;
SET ROLE regress_bloomexp_app;
SELECT seen.unseen(1, '{1}');
SELECT seen.current(1);
SELECT untracked.take(1, '{1}');
RESET ROLE;
GRANT EXECUTE ON FUNCTION seen.unseen, seen.take, seen.current, untracked.unseen, untracked.take,
	untracked.current, pages.take TO regress_bloomexp_app;
SET ROLE regress_bloomexp_app;
SELECT seen.unseen(1, '{1,2}'), seen.take(1, '{1,2}'), untracked.unseen(1, '{1,2}'),
	untracked.take(1, '{1,2}'), seen.current(1) @> 1, untracked.current(1) @> 1,
	pages.take('a', '{x,y}');
SELECT * FROM seen.filters;
UPDATE seen.filters SET items = NULL;
DELETE FROM untracked.filters;
INSERT INTO seen.filters VALUES (9, NULL);
SELECT seen.rebuild_batch('{1}', NULL, NULL, 250, false, true, ROW(0, 0, 0, 0, 0, 0, 0));
CALL seen.rebuild();
SELECT seen.track();
CREATE TABLE mine (user_id bigint, item_id bigint, shown_at timestamptz);
RESET ROLE;

-- A scheduler: EXECUTE of the rebuild and its batches, and nothing else.
GRANT USAGE ON SCHEMA seen, untracked TO regress_bloomexp_cron;
GRANT EXECUTE ON PROCEDURE seen.rebuild, untracked.rebuild TO regress_bloomexp_cron;
SET ROLE regress_bloomexp_cron;
CALL seen.rebuild();
RESET ROLE;
GRANT EXECUTE ON FUNCTION seen.rebuild_batch, untracked.rebuild_batch TO regress_bloomexp_cron;
SET ROLE regress_bloomexp_cron;
CALL seen.rebuild();
CALL untracked.rebuild(dry_run => true);
SELECT seen.unseen(1, '{1}');
TABLE seen.filters;
-- whatever range is given beside users, no filter goes whose exposures were not read
SELECT counts FROM seen.rebuild_batch('{1}', 1, NULL, 250, false, true, ROW(0, 0, 0, 0, 0, 0, 0));
RESET ROLE;
SELECT seen.unseen(1, '{1}');

-- Others' functions, operators and tables, in front of all that is ours: in their own schema, in
-- that of temporary tables, and as the session's settings find them.
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
	-- a function like each of ours and like those of the server that scripts call, for types that
	-- fit better
	FOR p IN
		SELECT DISTINCT proname, arguments FROM pg_proc,
			LATERAL (VALUES (replace(oidvectortypes(proargtypes), 'anyarray', 'bigint[]')),
			(replace(oidvectortypes(proargtypes), 'anyarray', 'text[]')),
			(regexp_replace(oidvectortypes(proargtypes), 'any(array|nonarray|element)', 'text')),
			(regexp_replace(oidvectortypes(proargtypes), 'any(array|nonarray|element)', 'bigint')),
			(oidvectortypes(proargtypes))) AS a (arguments)
		WHERE (proname ~ '^bloom_' OR pronamespace = 'pg_catalog'::regnamespace
			AND proname IN ('now', 'clock_timestamp', 'array_agg', 'unnest', 'min', 'count', 'sum',
				'cardinality',
			'current_setting',
			'pg_column_size', 'pg_sleep', 'pg_sleep_for', 'current_database', 'array_fill',
				'format', 'lower', 'position',
			'substring', 'to_regclass', 'to_regnamespace', 'pg_has_role', 'aclexplode',
				'acldefault',
			'array_to_string', 'quote_ident', 'pg_get_userbyid', 'bit_or', 'max', 'string_agg',
				'octet_length',
			'generate_series', 'md5', 'replace', 'quote_literal', 'hashtext', 'to_regtype',
			'array_position', 'pg_advisory_xact_lock', 'jsonb_each', 'jsonb_set',
			'jsonb_object_keys', 'regexp_replace'))
			AND NOT '{internal,cstring,"\"any\""}'::regtype[]::oid[] && proargtypes::oid[]
	LOOP
		BEGIN
			EXECUTE format('CREATE FUNCTION %I.%I(%s) RETURNS bigint LANGUAGE plpgsql AS %L', place,
				p.proname, p.arguments,
				'BEGIN PERFORM public.caught(); RETURN NULL; END');
			planted := planted + 1;
		EXCEPTION WHEN duplicate_function OR invalid_function_definition
			OR invalid_parameter_value THEN
		END;
	END LOOP;
	FOR p IN
		SELECT name, t, f
		FROM unnest('{=,>,>=,<,<=,<>,-,+,/,||,%,&,&&,<@,->,->>,?}'::text[])
			WITH ORDINALITY AS o(name, f),
			unnest('{bigint,integer,smallint,oid,name,text,timestamptz,interval,public.bloom,
				anyelement,boolean,timestamp,
				bigint[],oid[],numeric,jsonb}'::text[]) AS t
	LOOP
		EXECUTE
			format('CREATE FUNCTION %I.operator_%s(%s, %3$s) RETURNS boolean '
				'LANGUAGE plpgsql AS %4$L', place, p.f, p.t,
			'BEGIN PERFORM public.caught(); RETURN NULL; END');
		EXECUTE
			format('CREATE OPERATOR %I.%s (LEFTARG = %s, RIGHTARG = %3$s, '
				'FUNCTION = %1$I.operator_%4$s)', place, p.name,
			p.t, p.f);
		planted := planted + 1;
	END LOOP;
	EXECUTE
		format('CREATE TABLE %I.filters (user_id bigint PRIMARY KEY, items public.bloom, '
			'filled_until timestamptz, pending integer, recent bigint[])',
		place);
	EXECUTE
		format('CREATE TABLE %I.new_rows (user_id bigint, item_id bigint, shown_at timestamptz)',
		place);
	EXECUTE
		format('CREATE TABLE %I.exposures (user_id bigint, item_id bigint, shown_at timestamptz)',
		place);
	RETURN planted;
END
$$;
CREATE TEMP TABLE opens_the_schema ();
SELECT evil.plant('evil') > 100, evil.plant((SELECT nspname FROM pg_namespace
	WHERE oid = pg_my_temp_schema())) > 100;
CREATE DOMAIN evil.uuid AS pg_catalog.uuid CHECK (VALUE IS NULL);
CREATE DOMAIN evil.bytea AS pg_catalog.bytea CHECK (VALUE IS NULL);
RESET ROLE;
CREATE DOMAIN pg_temp.date AS pg_catalog.date CHECK (VALUE IS NULL);
SET ROLE regress_bloomexp_owner;
CREATE TABLE shop.typed (user_id uuid, item_id bytea, shown_at timestamptz DEFAULT now());
CREATE TABLE shop.dated (user_id pg_catalog.date, item_id uuid[],
	shown_at timestamptz DEFAULT now());
CREATE INDEX ON shop.typed (user_id);
CREATE INDEX ON shop.dated (user_id);
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
-- ... and nothing of a feed falls into one, whoever it runs for: who inserts, asks, rebuilds,
-- makes a feed
SET ROLE regress_bloomexp_evil;
INSERT INTO shop.exposures VALUES (1, 3), (3, 3);
INSERT INTO shop.pages VALUES ('a', '{z}');
SELECT seen.unseen(1, '{1,2,3,4}') AS a, untracked.unseen(1, '{1,2,3,4}') AS b, seen.take(1,
	'{3,4}') AS c,
	untracked.take(1, '{3,4}') AS d, pages.take('a', '{x,z,w}') AS e;
CALL seen.rebuild(upto => 1);
CALL seen.rebuild(after => 1);
CALL untracked.rebuild(overlap => '0');
SELECT untracked.unseen(1, '{1,2,3,4}'), seen.current(3) IS NULL;
RESET ROLE;
CALL seen.rebuild();
CALL seen.rebuild(users => pg_catalog.array_fill(1::bigint, '{1001}'));
CALL untracked.rebuild();
SELECT users, untracked FROM seen.health;
SET ROLE regress_bloomexp_owner;
SELECT bloomexp.create_feed('another', 'shop.exposures');
SELECT feed FROM bloomexp.feeds() WHERE feed::text ~ 'another';
SELECT bloomexp.feed_sql('another_untracked', 'shop.exposures', trigger => false) AS script \gset
:script
SELECT another.unseen(1, '{1,2,3,4}'), another_untracked.unseen(1, '{1,2,3,4}');
DROP SCHEMA another, another_untracked CASCADE;
-- ... nor into a type that they have made, in a schema before pg_catalog or as a temporary one
SELECT bloomexp.feed_sql('typed', 'shop.typed') AS script \gset
:script
SELECT bloomexp.feed_sql('dated', 'shop.dated', trigger => false) AS script \gset
:script
RESET ROLE;
RESET ALL;
SET client_min_messages = error;
SELECT count(*) FROM evil.filters;
SELECT n.nspname, string_agg(DISTINCT t.typnamespace::regnamespace::text, ', ') AS types
FROM pg_namespace AS n, LATERAL (SELECT unnest(p.proargtypes) FROM pg_proc AS p
	WHERE p.pronamespace = n.oid UNION
	SELECT a.atttypid FROM pg_attribute AS a, pg_class AS c
	WHERE c.oid = a.attrelid AND c.relnamespace = n.oid AND a.attname = 'user_id') AS u (type)
		JOIN pg_type AS t ON t.oid = u.type
WHERE n.nspname IN ('typed', 'dated') GROUP BY 1 ORDER BY 1;
DROP SCHEMA typed, dated CASCADE;
-- Nobody else can have rows tracked, not even a role with EXECUTE on all functions.
SET ROLE regress_bloomexp_evil;
CREATE TABLE evil.mine (user_id bigint, item_id bigint, shown_at timestamptz);
CREATE TRIGGER mine AFTER INSERT ON evil.mine REFERENCING NEW TABLE
	AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION seen.track();
SET ROLE regress_bloomexp_owner;
GRANT EXECUTE ON FUNCTION seen.take TO regress_bloomexp_app;
RESET ROLE;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA seen TO regress_bloomexp_evil;
SET ROLE regress_bloomexp_evil;
CREATE TRIGGER mine AFTER INSERT ON evil.mine REFERENCING NEW TABLE
	AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION seen.track();
INSERT INTO evil.mine VALUES (1, 99);
RESET ROLE;
SELECT seen.unseen(1, '{99}');
-- ... nor does track() work for a trigger of others, whose transition table has the deleted rows,
-- or which has none: then its name must not find their view, whose code would run as the owner.
CREATE FUNCTION with_trigger(trigger text, statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TRIGGER mine %s EXECUTE FUNCTION seen.track()', trigger);
	EXECUTE statement;
	RAISE 'it runs';
EXCEPTION WHEN OTHERS THEN	-- and the trigger is gone
	RETURN sqlerrm;
END
$$;
GRANT TRIGGER, UPDATE, DELETE, TRUNCATE ON shop.exposures TO regress_bloomexp_evil;
SET ROLE regress_bloomexp_evil;
DROP TABLE pg_temp.new_rows;
CREATE FUNCTION pg_temp.code() RETURNS bigint LANGUAGE plpgsql AS
	'BEGIN PERFORM public.caught(); RETURN 1; END';
CREATE TEMP VIEW new_rows AS SELECT pg_temp.code() AS user_id, 88::bigint AS item_id,
	now() AS shown_at;
GRANT SELECT ON new_rows TO PUBLIC;
SELECT user_id FROM new_rows;
SELECT t, statement, with_trigger(t, statement) FROM (VALUES
	('AFTER DELETE ON shop.exposures REFERENCING OLD TABLE AS new_rows FOR EACH STATEMENT',
		'DELETE FROM shop.exposures'),
	('AFTER DELETE ON shop.exposures', 'DELETE FROM shop.exposures WHERE false'),
	('AFTER TRUNCATE ON shop.exposures', 'TRUNCATE shop.exposures'),
	('AFTER INSERT ON shop.exposures FOR EACH ROW', 'INSERT INTO shop.exposures VALUES (1, 77)'),
	('BEFORE INSERT ON shop.exposures FOR EACH ROW', 'INSERT INTO shop.exposures VALUES (1, 77)'),
	('AFTER INSERT ON shop.exposures', 'INSERT INTO shop.exposures VALUES (1, 77)'),
	('AFTER UPDATE ON shop.exposures', 'UPDATE shop.exposures SET item_id = 77 WHERE false'),
	('BEFORE UPDATE ON shop.exposures', 'UPDATE shop.exposures SET item_id = 77')
) AS v(t, statement);
-- the view is in nobody's way
INSERT INTO shop.exposures VALUES (1, 76);
SELECT seen.unseen(1, '{76,77,88}');
RESET ROLE;
DELETE FROM shop.exposures WHERE item_id = 76;
REVOKE TRIGGER, UPDATE, DELETE, TRUNCATE ON shop.exposures FROM regress_bloomexp_evil;
DROP FUNCTION with_trigger;
DROP VIEW pg_temp.new_rows;
-- monitoring says who may call it
SELECT problems FROM bloomexp.feeds() WHERE feed = 'seen';
REVOKE EXECUTE ON FUNCTION seen.track FROM regress_bloomexp_evil;
SELECT problems FROM bloomexp.feeds() WHERE feed = 'seen';

-- Feeds without a table: nothing for PUBLIC, EXECUTE of single functions and no more for others,
-- and nobody's names but ours.
SET ROLE regress_bloomexp_owner;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO PUBLIC;
SELECT bloomexp.create_feed('alone'), bloomexp.create_feed('ever', user_type => 'text',
	item_type => 'text', width => NULL);
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON SCHEMAS FROM PUBLIC;
SELECT alone.add(1, '{1,2}'), ever.add('a', '{x}');
RESET ROLE;
SELECT array_agg(DISTINCT pg_get_userbyid(o)) FROM (SELECT relowner FROM pg_class
	WHERE relnamespace IN ('alone'::regnamespace, 'ever'::regnamespace)
	UNION ALL SELECT proowner FROM pg_proc WHERE pronamespace IN ('alone'::regnamespace,
		'ever'::regnamespace)) AS o (o);
SELECT n.nspname, has_schema_privilege('regress_bloomexp_evil', n.oid, 'USAGE, CREATE') AS schema,
	ARRAY(SELECT p.proname FROM pg_proc AS p WHERE pronamespace = n.oid
		AND has_function_privilege('regress_bloomexp_evil', p.oid, 'EXECUTE')) AS functions,
	ARRAY(SELECT c.relname FROM pg_class AS c WHERE relnamespace = n.oid AND relkind IN ('r', 'v')
		AND has_table_privilege('regress_bloomexp_evil', c.oid,
		'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')) AS relations
FROM pg_namespace AS n WHERE nspname IN ('alone', 'ever') ORDER BY 1;
-- What runs as the owner has a search_path of its own; what has none is the procedure, which
-- commits, and runs as who calls it.
SELECT string_agg(DISTINCT proname, ', ' ORDER BY proname), prosecdef, proconfig FROM pg_proc
	WHERE pronamespace IN ('alone'::regnamespace, 'ever'::regnamespace) GROUP BY 2, 3 ORDER BY 2, 3;
GRANT USAGE ON SCHEMA alone, ever TO regress_bloomexp_evil;
-- what a role may do with EXECUTE of one routine of each feed and nothing else; the others, and
-- the tables, stay closed
CREATE FUNCTION tried(call text) RETURNS text LANGUAGE plpgsql SECURITY INVOKER
	SET search_path = evil, pg_temp,
	pg_catalog, public AS $$
DECLARE answer text;
BEGIN
	EXECUTE call INTO answer;
	RETURN answer;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END
$$;
CREATE PROCEDURE attack() LANGUAGE plpgsql AS $$
DECLARE
	calls constant text[] := ARRAY[
		'current',
			'SELECT alone.current(1) OPERATOR(public.@>) 1::bigint, ever.current(''a'') IS NULL',
		'unseen', 'SELECT ROW(alone.unseen(1, ''{1,2,3}''), ever.unseen(''a'', ''{x,y}''))',
		'contains', 'SELECT ROW(alone.contains(1, 1), ever.contains(''a'', ''x''))',
		'take', 'SELECT ROW(alone.take(1, ''{1,2,3,4}'', 1), ever.take(''a'', ''{x,y,z}'', 1))',
		'add',
			'SELECT ROW(alone.add(1, ''{5}''), alone.add(9, ''{5}''), ever.add(''a'', ''{u,v}''))',
		'add_batch',
			'SELECT ROW(alone.add_batch(''{1,8}'', ''{6,6}'',
				ARRAY[''-infinity'', pg_catalog.now()]),
			ever.add_batch(''{a}'', ''{w}'', ARRAY[pg_catalog.now()]))',
		'lock', 'SELECT ROW(alone.lock(1), alone.lock(10), ever.lock(''b''))',
		'merge', 'SELECT ROW(alone.merge(8, 1), ever.merge(''b'', ''a''))',
		'take_back', 'SELECT ROW(alone.take_back(1, ''{3}''), ever.take_back(''a'', ''{x}''))',
		'forget', 'SELECT ROW(alone.forget(9), ever.forget(''c''))',
		'expire_batch', 'SELECT alone.expire_batch(NULL, true, 0)',
		'settings', 'SELECT ROW(alone.settings() IS NULL, ever.settings() IS NULL)'];
	granted text;
	f record;
	others text[];
	answer text;
BEGIN
	FOR n IN 1 .. array_length(calls, 1) BY 2 LOOP
		FOR f IN SELECT p.oid::regprocedure AS name FROM pg_proc AS p
			WHERE p.proname = calls[n] AND pronamespace IN ('alone'::regnamespace,
				'ever'::regnamespace) LOOP
			EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO regress_bloomexp_evil', f.name);
		END LOOP;
		SET LOCAL ROLE regress_bloomexp_evil;
		answer := tried(calls[n + 1]);
		others := '{}';
		FOR m IN 1 .. array_length(calls, 1) BY 2 LOOP
			IF m <> n AND tried(calls[m + 1]) !~ '^permission denied for function' THEN
				others := others || calls[m];
			END IF;
		END LOOP;
		others := others || ARRAY(SELECT t FROM unnest(ARRAY['TABLE alone.filters',
			'TABLE alone.health', 'TABLE ever.health',
				'UPDATE alone.filters SET items = NULL', 'DELETE FROM ever.filters',
					'DROP FUNCTION alone.forget',
				'CREATE TABLE alone.mine ()']) AS t
			WHERE tried(t) !~ '^permission denied for|^must be owner');
		RESET ROLE;
		RAISE INFO '%: %, others: %', calls[n], answer, others;
		FOR f IN SELECT p.oid::regprocedure AS name FROM pg_proc AS p
			WHERE p.proname = calls[n] AND pronamespace IN ('alone'::regnamespace,
				'ever'::regnamespace) LOOP
			EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM regress_bloomexp_evil', f.name);
		END LOOP;
	END LOOP;
END
$$;
SET search_path = pg_catalog, public;
CALL public.attack();
GRANT EXECUTE ON PROCEDURE alone.expire TO regress_bloomexp_evil;
SET ROLE regress_bloomexp_evil;
CALL alone.expire();
RESET ROLE;
GRANT EXECUTE ON FUNCTION alone.expire_batch TO regress_bloomexp_evil;
SET ROLE regress_bloomexp_evil;
SET search_path = evil, pg_temp, pg_catalog, public;
CALL alone.expire();
SET ROLE regress_bloomexp_owner;
SELECT alone.unseen(1, '{1,2,3,4,5,6,7,8}'), alone.take(1, '{8,9}', 1), ever.unseen('a',
	'{u,v,w,x,y,z}');
CALL alone.expire();
SELECT users, expired FROM alone.health;
SELECT users FROM ever.health;
SELECT bloomexp.feed_sql('another') AS script \gset
:script
SELECT another.take(1, '{1}');
SELECT feed, problems FROM bloomexp.feeds();
RESET ROLE;
RESET search_path;
DROP SCHEMA another, alone, ever CASCADE;
-- A schema or a type of another role could run code as the owner.
SET ROLE regress_bloomexp_evil;
CREATE SCHEMA mine;
CREATE TYPE evil.kind AS ENUM ('a');
GRANT USAGE ON TYPE evil.kind TO PUBLIC;
GRANT ALL ON SCHEMA mine TO regress_bloomexp_owner;
SET ROLE regress_bloomexp_owner;
\set VERBOSITY default
SELECT bloomexp.create_feed('mine');
SELECT bloomexp.create_feed('of_kind', user_type => 'evil.kind');
-- ... nor the operators by which users are compared
RESET ROLE;
CREATE TYPE shop.level AS ENUM ('a', 'b');
CREATE DOMAIN shop.rank AS shop.level;
CREATE FUNCTION evil.cmp(shop.level, shop.level) RETURNS integer
	LANGUAGE internal IMMUTABLE AS 'enum_cmp';
CREATE FUNCTION evil.eq(shop.level, shop.level) RETURNS boolean
	LANGUAGE internal IMMUTABLE AS 'enum_eq';
CREATE FUNCTION evil.lt(shop.level, shop.level) RETURNS boolean
	LANGUAGE internal IMMUTABLE AS 'enum_lt';
CREATE OPERATOR evil.= (LEFTARG = shop.level, RIGHTARG = shop.level, FUNCTION = evil.eq);
CREATE OPERATOR evil.< (LEFTARG = shop.level, RIGHTARG = shop.level, FUNCTION = evil.lt);
CREATE OPERATOR CLASS shop.levels DEFAULT FOR TYPE shop.level USING btree
	AS OPERATOR 1 evil.<, OPERATOR 3 evil.=, FUNCTION 1 evil.cmp(shop.level, shop.level);
SET ROLE regress_bloomexp_owner;
SELECT bloomexp.create_feed('of_level', user_type => 'shop.level');
-- ... nor those that somebody made who could still create there: one for a domain fits better
-- than ours
SELECT set_config('my.script', bloomexp.feed_sql('of_rank', 'shop.exposures'), false) IS NULL;
RESET ROLE;
DROP OPERATOR CLASS shop.levels USING btree;
CREATE FUNCTION evil.eq(shop.rank, shop.level) RETURNS boolean
	LANGUAGE internal IMMUTABLE AS 'enum_eq';
CREATE OPERATOR shop.= (LEFTARG = shop.rank, RIGHTARG = shop.level, FUNCTION = evil.eq);
ALTER OPERATOR shop.= (shop.rank, shop.level) OWNER TO regress_bloomexp_evil;
CREATE OPERATOR shop.<> (LEFTARG = shop.level, RIGHTARG = shop.level, FUNCTION = evil.lt);
ALTER OPERATOR shop.<> (shop.level, shop.level) OWNER TO regress_bloomexp_evil;
SET ROLE regress_bloomexp_owner;
SELECT bloomexp.create_feed('of_rank', 'shop.exposures');
RESET ROLE;
DROP OPERATOR shop.= (shop.rank, shop.level);
SET ROLE regress_bloomexp_owner;
SELECT bloomexp.create_feed('of_rank', 'shop.exposures');
\set VERBOSITY terse
DO $$ BEGIN EXECUTE current_setting('my.script'); END $$;
RESET ROLE;
DROP OPERATOR shop.<> (shop.level, shop.level);
DROP OPERATOR evil.= (shop.level, shop.level), evil.< (shop.level, shop.level);
DROP FUNCTION evil.cmp, evil.eq(shop.level, shop.level), evil.eq(shop.rank, shop.level), evil.lt;
DROP DOMAIN shop.rank;
DROP TYPE shop.level;
DROP SCHEMA mine;

-- The rights of others in schemas whose names begin so.
CREATE FUNCTION of_others() RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(concat_ws(' ', n.nspname, o.name, a.grantee::regrole,
		a.privilege_type), ', '), 'none')
	FROM (SELECT pronamespace, proname::text, proacl, proowner, 'f' FROM pg_proc
		UNION ALL SELECT relnamespace, relname, relacl, relowner, 'r' FROM pg_class
			WHERE relkind IN ('r', 'v')
		UNION ALL SELECT oid, NULL, nspacl, nspowner, 'n' FROM pg_namespace) AS o (schema, name,
			acl, owner, kind)
		JOIN pg_namespace AS n ON n.oid = o.schema
		CROSS JOIN aclexplode(coalesce(o.acl, acldefault(o.kind::"char", o.owner))) AS a
	WHERE n.nspname ~ '^by_default' AND a.grantee <> o.owner
$$;
-- Default privileges of any kind give nobody a right: neither when a feed is made, nor when
-- functions for other types come later.
SET ROLE regress_bloomexp_owner;
CREATE TABLE shop.small (user_id integer, item_id integer, shown_at timestamptz DEFAULT now());
CREATE INDEX ON shop.small (user_id);
CREATE SCHEMA by_default_untracked;
ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO regress_bloomexp_evil WITH GRANT OPTION;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO regress_bloomexp_app, PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
-- ... nor, statement by statement, while a script runs, or when it has stopped and is applied
-- again
SELECT bloomexp.feed_sql('by_default_half', 'shop.small') AS script \gset
SELECT split_part(:'script', 'CREATE OR REPLACE VIEW', 1) AS half \gset
:half
SET ROLE regress_bloomexp_evil;
CREATE FUNCTION by_default_half.take() RETURNS integer LANGUAGE sql AS 'SELECT 1';
CREATE TRIGGER mine AFTER INSERT ON by_default_half.filters EXECUTE FUNCTION
	suppress_redundant_updates_trigger();
SET ROLE regress_bloomexp_owner;
:script
SELECT of_others();
DROP SCHEMA by_default_half CASCADE;
ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON ROUTINES TO regress_bloomexp_evil WITH GRANT OPTION;
ALTER DEFAULT PRIVILEGES IN SCHEMA by_default_untracked
	GRANT ALL ON ROUTINES TO regress_bloomexp_app;
ALTER DEFAULT PRIVILEGES IN SCHEMA by_default_untracked
	GRANT SELECT ON TABLES TO regress_bloomexp_app;
SELECT bloomexp.create_feed('by_default', 'shop.small'),
	bloomexp.create_feed('by_default_untracked', 'shop.small', trigger => false);
SELECT of_others();
ALTER TABLE shop.small ALTER user_id TYPE bigint, ALTER item_id TYPE bigint;
SELECT bloomexp.feed_sql('by_default', 'shop.small') AS script \gset
:script
SELECT bloomexp.feed_sql('by_default_untracked', 'shop.small', trigger => false) AS script \gset
BEGIN;
:script
COMMIT;
SELECT of_others();
-- ... nor when a script makes a table or view again
DROP VIEW by_default_untracked.health;
:script
DROP TABLE by_default.filters CASCADE;
SELECT bloomexp.feed_sql('by_default', 'shop.small') AS script \gset
:script
SELECT of_others();
-- What was granted stays, and what is on functions and tables of the user's own.
CREATE FUNCTION by_default.mine() RETURNS integer LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION by_default.take(text) RETURNS integer LANGUAGE sql AS 'SELECT 1';
CREATE TABLE by_default.notes (n integer);
GRANT USAGE ON SCHEMA by_default TO PUBLIC;
GRANT EXECUTE ON FUNCTION by_default.unseen TO regress_bloomexp_app;
GRANT EXECUTE ON FUNCTION by_default.current TO regress_bloomexp_app WITH GRANT OPTION;
GRANT SELECT (user_id) ON by_default.filters TO regress_bloomexp_cron;
CREATE TEMP VIEW acls AS SELECT p.oid, p.proacl FROM pg_proc AS p
	WHERE p.pronamespace = 'by_default'::regnamespace
	UNION ALL SELECT c.oid, c.relacl FROM pg_class AS c
		WHERE c.relnamespace = 'by_default'::regnamespace UNION ALL
		SELECT n.oid, n.nspacl FROM pg_namespace AS n WHERE n.nspname = 'by_default'
	UNION ALL SELECT a.attrelid, a.attacl FROM pg_attribute AS a
		WHERE a.attrelid = 'by_default.filters'::regclass AND a.attacl IS NOT NULL;
CREATE TEMP TABLE acls_before AS TABLE acls;
SELECT bloomexp.feed_sql('by_default', 'shop.small') AS script \gset
:script
SELECT (SELECT count(*) FROM acls) > 15 AS some,
	(SELECT count(*) FROM (TABLE acls EXCEPT TABLE acls_before) AS a) AS changed,
	(SELECT count(*) FROM (TABLE acls_before EXCEPT TABLE acls) AS b) AS lost;
-- But PUBLIC has EXECUTE of no function of the feed again, as after a dump without privileges.
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA by_default TO PUBLIC;
SELECT unnest(problems) FROM bloomexp.feeds() WHERE feed = 'by_default' LIMIT 1;
:script
SELECT problems FROM bloomexp.feeds() WHERE feed = 'by_default';
SELECT p.oid::regprocedure FROM pg_proc AS p, aclexplode(p.proacl) AS a
WHERE p.pronamespace = 'by_default'::regnamespace AND a.grantee = 0 ORDER BY 1;
-- Nor of functions that its owner has changed in the script.
SELECT replace(bloomexp.feed_sql('by_hand', 'shop.small'), E'\nBEGIN\n', E'\nBEGIN\n\tNULL;\n')
	AS script \gset
:script
SELECT cardinality(edited) > 5 AS edited FROM bloomexp.feeds() WHERE feed = 'by_hand';
SELECT p.oid::regprocedure FROM pg_proc AS p, aclexplode(p.proacl) AS a
WHERE p.pronamespace = 'by_hand'::regnamespace AND a.grantee <> p.proowner ORDER BY 1;
SELECT count(*) FROM pg_proc AS p
WHERE p.pronamespace = 'by_hand'::regnamespace AND p.proacl IS NULL;
DROP SCHEMA by_hand CASCADE;
-- A function of somebody else by such a name, with its own owner's rights, is not the script's: it
-- stays as it is, and in nobody's way.
RESET ROLE;
CREATE FUNCTION by_default.take(uuid) RETURNS integer SECURITY DEFINER LANGUAGE sql AS 'SELECT 1';
SET ROLE regress_bloomexp_owner;
SELECT bloomexp.feed_sql('by_default', 'shop.small') AS script \gset
:script
SELECT p.proacl IS NULL AS as_it_was, (SELECT count(*) FROM pg_depend AS d
	WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'x') AS depends
FROM pg_proc AS p WHERE p.oid = 'by_default.take(uuid)'::regprocedure;
SELECT count(*) FROM pg_proc AS p WHERE p.pronamespace = 'by_default'::regnamespace AND p.prosecdef
	AND NOT EXISTS (SELECT FROM pg_depend AS d
		WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'x');
RESET ROLE;
DROP FUNCTION by_default.take(uuid);
SET ROLE regress_bloomexp_owner;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON SCHEMAS FROM regress_bloomexp_evil;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM regress_bloomexp_app, PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON ROUTINES FROM regress_bloomexp_evil;
DROP VIEW acls;
DROP SCHEMA by_default, by_default_untracked CASCADE;
RESET ROLE;

-- What others write into a schema is data: what bloomexp.feeds() returns is about their schema
-- alone, has only literals, and it runs nothing and continues.
SET ROLE regress_bloomexp_evil;
DO $$
DECLARE
	forged text;
	n integer := 0;
BEGIN
	FOREACH forged IN ARRAY ARRAY[
		'{"exposures": "shop.exposures", "width": "1 second", "feed": "seen"}',
		'{"exposures": "shop.exposures\u0027);DROP TABLE shop.exposures;--"}',
		'{"exposures": "shop.exposures", "user_column": "\u0027);DROP TABLE shop.exposures;--\\"}',
		'{"exposures": "shop.exposures", "fpr": "0.1);DROP TABLE shop.exposures;--"}',
		'{"exposures": "a.b.c.d"}',
		'{"exposures": "shop.exposures", "trigger": "false);--", "where": "\"\u0027"}',
		'{"user_type": "text(9)"}', '{"fpr": "NaN"}',
		'{"exposures": "1; DROP TABLE shop.exposures"}',
		'{"trigger": "\u001b[2K\u001b[Gall is well"}', '{"where": "' || repeat('x', 30000) || '"}',
		'[1]', '{"fpr": {"fpr": [0.1]}}', '{"capacity": "many"}',
		'{"trigger": "\u009b2Jall is well"}', '{"trigger": "\u202etrue"}',
		'{"exposures": "y;alter/**/role/**/regress_bloomexp_evil/**/superuser;--"}',
		'{"exposures": "'
			|| 'shop.\"y;alter/**/role/**/regress_bloomexp_evil/**/superuser;--\"' || '"}',
		repeat('[', 5000) || repeat(']', 5000),
		'{}, "functions": {"take": ["", "", [1e131071]]}', '{}, "functions": {'
			|| (SELECT string_agg(format('"f%s": ["", "", []]', i), ', ')
				FROM generate_series(1, 51) AS i) || '}',
		'{"fpr": [1e131071]}', '{"fpr": {"fpr": ["0.1"]}}']
	LOOP
		n := n + 1;
		EXECUTE format('CREATE SCHEMA forged_%s', n);
		EXECUTE format('CREATE FUNCTION forged_%s.settings() RETURNS jsonb LANGUAGE sql AS %L', n,
			format(E'\nSELECT \'{"version": "1.0.0", '
				'"fixed_arguments": "bigint, bigint, 30 days in 6 slices", '
				'"functions": {"take": "me"}, "arguments": %s}\'::pg_catalog.jsonb\n', forged));
	END LOOP;
END
$$;
CREATE FUNCTION pg_temp.settings() RETURNS jsonb
LANGUAGE sql AS
	E'SELECT \'{"version": "1.0.0", "arguments": {}, "functions": {}}\'::pg_catalog.jsonb';
-- ... and no feed if it has control characters, or is so long that no feed has it
SELECT bloomexp.feed_sql('forged_10') IS NULL;
SELECT bloomexp.feed_sql('forged_11') IS NULL;
SELECT bloomexp.feed_sql('forged_15') IS NULL;
SELECT bloomexp.feed_sql('forged_16') IS NULL;
RESET ROLE;
-- (From PostgreSQL 16 on a name that is none has a command, too.)
SELECT feed, command FROM bloomexp.feeds() WHERE owner = 'regress_bloomexp_evil'
	AND feed NOT IN ('forged_2', 'forged_9')
	ORDER BY 1;
-- A remedy does not say to drop what belongs to the owner of a schema.
SET ROLE regress_bloomexp_owner;
CREATE SCHEMA offices;
CREATE FUNCTION offices.login(text) RETURNS text LANGUAGE sql AS 'SELECT $1';
GRANT ALL ON SCHEMA offices TO regress_bloomexp_evil;
SET ROLE regress_bloomexp_evil;
CREATE FUNCTION offices.settings() RETURNS jsonb LANGUAGE sql AS
	E'SELECT \'{"version": "1.0.0", "arguments": {}, "functions": {}}\'::pg_catalog.jsonb';
RESET ROLE;
SELECT p FROM bloomexp.feeds('offices'), unnest(problems) AS p WHERE p ~ 'login';
DROP SCHEMA offices CASCADE;
CREATE FUNCTION run(command text) RETURNS text
	LANGUAGE plpgsql AS $$ BEGIN EXECUTE command; RETURN 'done'; EXCEPTION
	WHEN OTHERS THEN RETURN sqlerrm; END $$;
SELECT DISTINCT run(command) FROM bloomexp.feeds()
	WHERE owner = 'regress_bloomexp_evil' AND command IS NOT NULL AND feed NOT IN ('forged_2',
		'forged_9') ORDER BY 1;
SELECT bool_and(run(command) = 'invalid name syntax') IS NOT FALSE FROM bloomexp.feeds()
	WHERE feed IN ('forged_2', 'forged_9') AND command IS NOT NULL;
SELECT to_regclass('shop.exposures'), cardinality(problems), command FROM bloomexp.feeds()
	WHERE feed = 'seen';
DROP FUNCTION run;
-- A comment on the schema is not taken for its settings.
COMMENT ON SCHEMA seen IS 'bloomexp 1.0.0: SELECT bloomexp.feed_sql(''seen'', ''pg_class'');';
SELECT command FROM bloomexp.feeds() WHERE feed = 'seen';
COMMENT ON SCHEMA seen IS 'of team x';
SELECT bloomexp.feed_sql('seen', 'shop.exposures') IS NULL
	FROM (SELECT set_config('role', 'regress_bloomexp_owner', false)) AS r;
RESET ROLE;
-- Nobody can put a function beside those that users call: its default would be evaluated.
SELECT bloomexp.create_feed('alone', user_type => 'uuid');
SELECT set_config('my.script', bloomexp.feed_sql('trapped'), false) IS NULL;
GRANT CREATE ON SCHEMA public TO regress_bloomexp_evil;
SET ROLE regress_bloomexp_evil;
CREATE FUNCTION evil.trap() RETURNS text LANGUAGE plpgsql AS
	'BEGIN PERFORM public.caught(); RETURN NULL; END';
CREATE FUNCTION bloomexp.feed_sql(x text DEFAULT evil.trap()) RETURNS text
	LANGUAGE sql AS 'SELECT evil.trap()';
CREATE FUNCTION feed_sql(x text DEFAULT evil.trap()) RETURNS text
	LANGUAGE sql AS 'SELECT evil.trap()';
ALTER FUNCTION feed_sql(text) SET SCHEMA bloomexp;
DROP FUNCTION feed_sql(text);
-- A function with the name of ours in the schema of the extension is not called, not even one that
-- was made when its owner could still create there.
CREATE FUNCTION bloom_add(bloom, bigint[]) RETURNS bloom
	LANGUAGE sql AS 'SELECT evil.trap()::bloom';
RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM regress_bloomexp_evil;
DO $$ BEGIN EXECUTE current_setting('my.script'); END $$;
SELECT trapped.add(1, '{1}');
SELECT trapped.take(1, '{1,2}');
SELECT problems FROM bloomexp.feeds() WHERE feed = 'alone';
DROP ROUTINE bloom_add(bloom, bigint[]);
DROP SCHEMA alone, trapped CASCADE;
-- In the schema bloomexp nobody can: a function there could fit better than ours.
SET ROLE regress_bloomexp_evil;
CREATE FUNCTION bloomexp.lock(bigint) RETURNS void LANGUAGE sql AS '';
RESET ROLE;
SELECT nspacl::text ~ '=UC?/' AND nspacl::text !~ ',=[^/]*C' AS for_public FROM pg_namespace
WHERE nspname = 'bloomexp';

-- Under any settings the script is the same, and so are the objects that it makes and what they do.
SET ROLE regress_bloomexp_owner;
CREATE TABLE shop."odd\\'" ("u'\n" bytea, "i\" bigint, at timestamp, "yes?" boolean DEFAULT true);
CREATE INDEX ON shop."odd\\'" ("u'\n");
SELECT set_config('my.script', bloomexp.feed_sql('set', 'shop."odd\\''"', 'u''\n', 'i\', 'at',
	'1 month 2 days 03:00:00',
	0.0123456789012, NULL, true, 'yes?'), false) ~ 'CREATE' AS script,
	bloomexp.create_feed('as_usual', 'shop."odd\\''"', 'u''\n', 'i\', 'at',
		'1 month 2 days 03:00:00', 0.0123456789012, NULL, true, 'yes?');
SELECT set_config('my.commands', string_agg(command, ' ' ORDER BY feed), false)
FROM bloomexp.feeds() WHERE feed = 'as_usual';
RESET ROLE;
SET plpgsql.variable_conflict = 'use_variable'; SET plpgsql.extra_errors = 'all';
	SET plpgsql.check_asserts
	= off; SET check_function_bodies = off;
SET ROLE regress_bloomexp_owner;
-- PostgreSQL 19 has standard strings only.
DO $$ BEGIN
	SET standard_conforming_strings = off; SET escape_string_warning = off;
EXCEPTION WHEN feature_not_supported THEN
END $$;
SET backslash_quote = off; SET quote_all_identifiers = on; SET array_nulls = off;
	SET transform_null_equals = on;
SET IntervalStyle = 'iso_8601'; SET DateStyle = 'SQL, DMY'; SET TimeZone = 'Asia/Kathmandu';
	SET bytea_output
	= 'escape'; SET extra_float_digits = -15; SET default_transaction_isolation = 'serializable';
SET search_path = '';
SELECT bloomexp.feed_sql('set', E'shop."odd\\\\''"', E'u''\\n', E'i\\', 'at', 'P1M2DT3H',
	0.0123456789012, NULL, true, 'yes?') = current_setting('my.script') AS same_script;
SELECT string_agg(command, ' ' ORDER BY feed) = current_setting('my.commands') AS same_command,
	string_agg(problems::text, ' ') FROM bloomexp.feeds() WHERE feed = 'as_usual';
DO $$ BEGIN EXECUTE current_setting('my.script'); END $$;
INSERT INTO shop."odd\\'" SELECT pg_catalog.int4send(u), i, now() AT TIME ZONE 'UTC'
	FROM generate_series(1, 300) AS u, generate_series(1, 2) AS i;
CALL "set".rebuild(after => pg_catalog.int4send(200), dry_run => true);
CALL "set".rebuild(users => ARRAY[pg_catalog.int4send(1), pg_catalog.int4send(300)]);
SELECT "set".take(pg_catalog.int4send(1), '{1,3,4}', 1), "set".contains(pg_catalog.int4send(1), 3),
	"set".unseen(pg_catalog.int4send(1), '{2,3,4}');
SELECT problems FROM bloomexp.feeds() WHERE feed = 'set';
DROP FUNCTION "set".lock;
SELECT problems FROM bloomexp.feeds() WHERE feed = 'set';
RESET ROLE;
RESET ALL;
SET client_min_messages = error;
SELECT problems FROM bloomexp.feeds() WHERE feed = 'set';
SELECT (SELECT count(*) FROM "set".filters AS s
		JOIN as_usual.filters AS a USING (user_id, recent)) AS alike,
	(bloom_info("set".current(int4send(2)))).fpr;
DROP SCHEMA "set", as_usual CASCADE;

-- The owner of each table, of its children and of theirs is checked where they are read: when a
-- script is applied, and when a rebuild reads.
SET ROLE regress_bloomexp_owner;
SELECT set_config('my.script', bloomexp.feed_sql('applied', 'shop.exposures', trigger => false),
	false) ~ 'CREATE';
RESET ROLE;
DO $$ BEGIN EXECUTE current_setting('my.script'); END $$;
SET ROLE regress_bloomexp_owner;
CREATE TABLE shop.old () INHERITS (shop.exposures);
CREATE TABLE shop.older () INHERITS (shop.old);
RESET ROLE;
ALTER TABLE shop.older OWNER TO regress_bloomexp_evil;
SET ROLE regress_bloomexp_owner;
DO $$ BEGIN EXECUTE current_setting('my.script'); END $$;
SET ROLE regress_bloomexp_cron;
CALL seen.rebuild();
CALL untracked.rebuild(dry_run => true);
RESET ROLE;
SELECT problems[1] FROM bloomexp.feeds() WHERE feed = 'untracked';
DROP TABLE shop.old CASCADE;
-- ... and of what a view reads, but not of what a materialized one has read
CREATE TABLE evil.events (user_id bigint, item_id bigint, shown_at timestamptz);
ALTER TABLE evil.events OWNER TO regress_bloomexp_evil;
GRANT SELECT ON evil.events TO regress_bloomexp_owner;
SET ROLE regress_bloomexp_owner;
CREATE TABLE shop.events (LIKE evil.events);
CREATE VIEW shop.viewed AS SELECT * FROM shop.events;
CREATE VIEW shop.viewed_twice AS SELECT * FROM shop.viewed;
CREATE MATERIALIZED VIEW shop.copied AS SELECT * FROM evil.events;
SELECT bloomexp.feed_sql('copied', 'shop.copied', trigger => false) IS NOT NULL AS of_a_copy;
SELECT bloomexp.create_feed('viewed', 'shop.viewed_twice', trigger => false);
SELECT set_config('my.script', bloomexp.feed_sql('viewed', 'shop.viewed_twice', trigger => false),
	false) ~ 'CREATE';
CREATE OR REPLACE VIEW shop.viewed AS SELECT * FROM evil.events;
SELECT bloomexp.feed_sql('viewed', 'shop.viewed_twice', trigger => false);
DO $$ BEGIN EXECUTE current_setting('my.script'); END $$;
CALL viewed.rebuild(allow_removed => true);
DROP SCHEMA viewed CASCADE;
DROP MATERIALIZED VIEW shop.copied;
DROP VIEW shop.viewed_twice, shop.viewed;
DROP TABLE shop.events;
RESET ROLE;
DROP TABLE evil.events;
-- ... and of all that a type consists of, in a view or a foreign table; and of what the planner
-- evaluates: constants in the CHECK of a table, the predicate of an index, a partition key
SET ROLE regress_bloomexp_evil;
CREATE FUNCTION evil.least() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 0::bigint';
CREATE FUNCTION evil.valid(bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
CREATE DOMAIN evil.theirs AS bigint CHECK (evil.valid(value));
CREATE TYPE evil.letter AS ENUM ('a', 'b');	-- has no code
GRANT USAGE ON SCHEMA evil TO regress_bloomexp_owner;
RESET ROLE;
CREATE FOREIGN DATA WRAPPER nothing;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
GRANT USAGE ON FOREIGN SERVER nowhere TO regress_bloomexp_owner;
SET ROLE regress_bloomexp_owner;
CREATE DOMAIN shop.checked AS bigint CHECK (evil.valid(value));
CREATE TYPE shop.pair AS (id shop.checked);
CREATE TYPE shop.pair_of_theirs AS (id evil.theirs);
CREATE TYPE shop.reach AS RANGE (SUBTYPE = shop.checked);
CREATE TABLE shop.plain (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE INDEX ON shop.plain (user_id, shown_at);
CREATE VIEW shop.by_domain AS
	SELECT user_id, item_id::shop.checked::bigint AS item_id, shown_at FROM shop.plain;
CREATE VIEW shop.by_array AS
	SELECT user_id, (('{' || item_id || '}')::shop.checked[])[1]::bigint AS item_id, shown_at
	FROM shop.plain;
CREATE VIEW shop.by_composite AS
	SELECT user_id, ((('(' || item_id || ')')::shop.pair).id)::bigint AS item_id, shown_at
	FROM shop.plain;
CREATE VIEW shop.by_composite_of_theirs AS
	SELECT user_id, ((('(' || item_id || ')')::shop.pair_of_theirs).id)::bigint AS item_id, shown_at
	FROM shop.plain;
CREATE VIEW shop.by_range AS
	SELECT user_id, lower(('[' || item_id || ',)')::shop.reach)::bigint AS item_id, shown_at
	FROM shop.plain;
CREATE FOREIGN TABLE shop.by_foreign_array (user_id bigint, item_id shop.checked[],
	shown_at timestamptz) SERVER nowhere;
CREATE TABLE shop.by_index (LIKE shop.plain INCLUDING ALL);
CREATE INDEX ON shop.by_index (user_id) WHERE item_id > evil.least();
CREATE TABLE shop.by_check (LIKE shop.plain INCLUDING ALL, CHECK (item_id > evil.least()));
CREATE TABLE shop.by_child (LIKE shop.plain INCLUDING ALL);
CREATE TABLE shop.child (CHECK (item_id > evil.least())) INHERITS (shop.by_child);
CREATE TABLE shop.by_partition_key (LIKE shop.plain)
	PARTITION BY LIST ((item_id > evil.least()));
CREATE TABLE shop.by_key_above PARTITION OF shop.by_partition_key DEFAULT;
CREATE TABLE shop.by_statistics (LIKE shop.plain INCLUDING ALL);
CREATE STATISTICS shop.of_items ON ((item_id > evil.least())) FROM shop.by_statistics;
CREATE FUNCTION shop.from_check() RETURNS bigint LANGUAGE sql STABLE
	BEGIN ATOMIC SELECT item_id FROM shop.by_check LIMIT 1; END;
CREATE VIEW shop.by_body AS
	SELECT user_id, shop.from_check() AS item_id, shown_at FROM shop.plain;
CREATE VIEW shop.by_enum AS
	SELECT user_id, item_id, shown_at FROM shop.plain WHERE 'a'::evil.letter = ANY ('{b}');
CREATE FUNCTION pg_temp.problems_of(exposures text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	problems text;
BEGIN
	PERFORM bloomexp.create_feed('used', exposures::regclass, trigger => false);
	DROP SCHEMA used CASCADE;
	RETURN 'none';
EXCEPTION WHEN object_not_in_prerequisite_state THEN
	GET STACKED DIAGNOSTICS problems = PG_EXCEPTION_DETAIL;
	RETURN regexp_replace(problems, 'belongs to role regress_bloomexp_evil, who could .*?:',
		'could run code:', 'g');
END $$;
SELECT exposures, pg_temp.problems_of('shop.' || exposures)
FROM unnest('{plain,by_domain,by_array,by_composite,by_composite_of_theirs,by_range,
	by_foreign_array,by_index,by_check,by_child,by_partition_key,by_key_above,by_statistics,
	by_body,by_enum}'::text[]) AS exposures;
RESET ROLE;
ALTER TABLE shop.by_partition_key OWNER TO regress_bloomexp_evil;
SET ROLE regress_bloomexp_owner;
SELECT pg_temp.problems_of('shop.by_key_above');
RESET ROLE;
ALTER TABLE shop.by_partition_key OWNER TO regress_bloomexp_owner;
SET ROLE regress_bloomexp_owner;
DROP VIEW shop.by_domain, shop.by_array, shop.by_composite, shop.by_composite_of_theirs,
	shop.by_range, shop.by_body, shop.by_enum;
DROP FUNCTION shop.from_check;
DROP FOREIGN TABLE shop.by_foreign_array;
DROP TABLE shop.plain, shop.by_index, shop.by_check, shop.child, shop.by_child,
	shop.by_partition_key, shop.by_statistics;
DROP TYPE shop.pair, shop.pair_of_theirs, shop.reach;
DROP DOMAIN shop.checked;
RESET ROLE;
DROP FOREIGN DATA WRAPPER nothing CASCADE;
DROP DOMAIN evil.theirs;
DROP TYPE evil.letter;
DROP FUNCTION evil.least, evil.valid;

-- A script stops at a schema that another role has made since, and at a table in it.
SET ROLE regress_bloomexp_owner;
SELECT set_config('my.script', bloomexp.feed_sql('later', 'shop.exposures'), false) IS NULL;
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
DROP TABLE later.filters;
-- ... and at a function, which would stay theirs when it is replaced
CREATE FUNCTION later.take(bigint, bigint[], integer) RETURNS bigint[] LANGUAGE sql AS 'SELECT $2';
ALTER FUNCTION later.take OWNER TO regress_bloomexp_evil;
SET ROLE regress_bloomexp_owner;
DO $$ BEGIN EXECUTE current_setting('my.script'); END $$;
RESET ROLE;
DROP SCHEMA later CASCADE;
-- ... for superusers, too, though they have the rights of all
SELECT set_config('my.script', bloomexp.feed_sql('later'), false) IS NULL;
SET ROLE regress_bloomexp_evil;
CREATE SCHEMA later;
CREATE TABLE later.filters (user_id bigint PRIMARY KEY, items bloom, recent bloom,
	since timestamptz);
RESET ROLE;
DO $$ BEGIN EXECUTE current_setting('my.script'); END $$;
DROP SCHEMA later CASCADE;

-- ... and at a schema in which others can create
SELECT set_config('my.script', bloomexp.feed_sql('later'), false) IS NULL;
CREATE SCHEMA later;
GRANT CREATE ON SCHEMA later TO regress_bloomexp_evil;
DO $$ BEGIN EXECUTE current_setting('my.script'); END $$;
REVOKE CREATE ON SCHEMA later FROM regress_bloomexp_evil;
-- ... but not at one that anybody can create in where the extension is
SELECT n.nspname AS of_extension FROM pg_extension AS x JOIN pg_namespace AS n
	ON n.oid = x.extnamespace
WHERE x.extname = 'bloomexp' \gset
GRANT CREATE ON SCHEMA :"of_extension" TO regress_bloomexp_evil;
DO $$ BEGIN EXECUTE current_setting('my.script'); END $$;
REVOKE CREATE ON SCHEMA :"of_extension" FROM regress_bloomexp_evil;
SELECT count(*) AS applied FROM later.filters;
DROP SCHEMA later CASCADE;

-- A role is looked up by its very name: this one is neither unknown nor the other.
CREATE ROLE "Regress_bloomexp_owner";
SET ROLE "Regress_bloomexp_owner";
SELECT bloomexp.create_feed('later');
RESET ROLE;
DO $$ BEGIN
	EXECUTE format('GRANT CREATE ON DATABASE %I TO "Regress_bloomexp_owner"', current_database());
END $$;
SET ROLE "Regress_bloomexp_owner";
SELECT bloomexp.create_feed('later');
RESET ROLE;
CREATE FUNCTION later.take(bigint, integer[]) RETURNS integer[] LANGUAGE sql AS 'SELECT $2';
ALTER FUNCTION later.take(bigint, integer[]) OWNER TO regress_bloomexp_evil;
SELECT owner, problems FROM bloomexp.feeds() WHERE feed = 'later';
DROP FUNCTION later.take(bigint, integer[]);
DROP OWNED BY "Regress_bloomexp_owner" CASCADE;
DROP ROLE "Regress_bloomexp_owner";

-- Text that others write in place of a number gets into a command only as a literal.
SELECT bloomexp.feed_options('{"fpr": "1); DROP TABLE x; --", "slices": "6 ", "capacity": "10"}');
SELECT bloomexp.feed_options('{"fpr": 1e-7, "width": null, "capacity": 3650}');
-- Columns with the names of variables count for nothing, in the exposures and in filters.
CREATE TABLE named (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now(),
	since timestamptz, items bigint[], r text, exposed bigint[], pending int, recent bigint[],
	written bigint[], n_users bigint, filled_until timestamptz);
SELECT bloomexp.create_feed('of_named', 'named'),
	bloomexp.create_feed('untracked_of_named', 'named', trigger => false),
	bloomexp.create_feed('ever', width => NULL), bloomexp.create_feed('month');
INSERT INTO named (user_id, item_id) SELECT 2, unnest(of_named.take(2, '{1,2,3}', 2));
SELECT of_named.take_back(2, '{1,2}'), of_named.unseen(2, '{1,2,3}');
DO $$
DECLARE
	feed name;
BEGIN
	FOREACH feed IN ARRAY '{of_named,untracked_of_named,ever,month}'::name[] LOOP
		EXECUTE format('ALTER TABLE %I.filters ADD taken bigint[] NOT NULL DEFAULT $t${}$t$,
			ADD r text, ADD at timestamptz, ADD shown_at timestamptz[], ADD visitor text,
			ADD from_user bigint, ADD into_user bigint, ADD user_ids bigint[], ADD shown text,
			ADD written bigint[], ADD n_users bigint, ADD removed bigint, ADD after bigint,
			ADD exposed bigint[], ADD hashes bigint[], ADD present timestamptz,
			ADD candidates bigint[], ADD wanted int, ADD item bigint', feed);
	END LOOP;
END $$;
INSERT INTO named (user_id, item_id) SELECT 1, unnest(of_named.take(1, '{1,2,3}', 2));
SELECT of_named.take_back(1, '{1,2}'), of_named.unseen(1, '{1,2,3}'),
	untracked_of_named.take_back(1, '{1,2}'), untracked_of_named.unseen(1, '{1,2,3}');
CALL of_named.rebuild();
CALL untracked_of_named.rebuild();
SELECT of_named.unseen(1, '{1,2,3}'), untracked_of_named.unseen(1, '{1,2,3}');
SELECT ever.take(1, '{1,2,3}', 2), month.take(1, '{1,2,3}', 2);
SELECT ever.take_back(1, '{2}'), month.take_back(1, '{2}');
SELECT ever.take(1, '{1,2,3}', 1), month.take(1, '{1,2,3}', 1);
SELECT ever.add(1, '{4}'), month.add(1, '{4}'), ever.add_batch('{1,2}', '{5,9}', '{now,now}'),
	month.add_batch('{1,2}', '{5,9}', '{now,now}');
SELECT ever.merge(2, 1), month.merge(2, 1);
SELECT ever.unseen(1, '{1,2,3,4,5,9}'), month.unseen(1, '{1,2,3,4,5,9}');
CALL month.expire();
SELECT ever.forget(1), month.forget(1);
SELECT ever.unseen(1, '{1,2}'), month.unseen(1, '{1,2}');
DROP SCHEMA of_named, untracked_of_named, ever, month CASCADE;
DROP TABLE named;

-- The loops of rebuild() and expire() run with the rights of their caller.  They commit, so they
-- cannot be made with a search_path.  Here a session calls them that finds names of others first,
-- and has not called them before: no batch runs code of others, and the search_path of the session
-- stays as it is.
SET ROLE regress_bloomexp_owner;
CREATE TABLE shop.many (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE INDEX ON shop.many (user_id);
SELECT bloomexp.create_feed('many', 'shop.many');
SELECT bloomexp.create_feed('untracked_many', 'shop.many', trigger => false);
SELECT bloomexp.create_feed('expired');
INSERT INTO shop.many SELECT generate_series(1, 1500), 1;
INSERT INTO expired.filters (user_id) SELECT generate_series(1, 12000);
SELECT array_agg(u) AS users FROM generate_series(1, 1500) AS u \gset
SET ROLE regress_bloomexp_evil;
CREATE SCHEMA front;
GRANT USAGE ON SCHEMA front TO PUBLIC;
CREATE FUNCTION front.ran() RETURNS boolean LANGUAGE plpgsql AS
	'BEGIN PERFORM public.caught(); RETURN true; END';
DO $$
DECLARE
	name text;
	n integer := 0;
	operands record;
BEGIN
	FOREACH name IN ARRAY '{text,name,varchar,record,jsonb,oid,regclass,bool,int4,int8,float8,
		numeric,interval,timestamptz,void}'::text[]
	LOOP
		EXECUTE format('CREATE DOMAIN front.%I AS pg_catalog.%I CHECK (front.ran())', name,
			CASE WHEN name IN ('record', 'void') THEN 'text' ELSE name END);
	END LOOP;
	FOREACH name IN ARRAY ARRAY['format(text, text)', 'format(text, text, text)',
		'format(text, VARIADIC anyarray)', 'concat(VARIADIC anyarray)', 'concat(text, text)',
		'now()', 'clock_timestamp()', 'cardinality(anyarray)', 'cardinality(bigint[])',
		'array_length(bigint[], integer)', 'pg_sleep(double precision)', 'pg_sleep_for(interval)',
		'require_autocommit(text)', 'unnest(bigint[])']
	LOOP
		EXECUTE format('CREATE FUNCTION front.%I(%s RETURNS boolean LANGUAGE plpgsql AS %L',
			split_part(name, '(', 1), substr(name, position('(' IN name) + 1),
			'BEGIN RETURN front.ran(); END');
	END LOOP;
	FOR operands IN
		SELECT o.name, t.l, t.r FROM unnest('{=,<>,<,>,<=,>=,+,-,*,/,||}'::text[]) AS o(name),
			(VALUES ('bigint', 'bigint'), ('bigint', 'integer'), ('integer', 'bigint'),
				('integer', 'integer'), ('timestamptz', 'timestamptz'), ('timestamptz', 'interval'),
				('interval', 'interval'), ('double precision', 'double precision'),
				('numeric', 'integer'), ('numeric', 'numeric'), ('text', 'text'),
				('boolean', 'boolean'), ('bigint[]', 'bigint[]'), ('bigint[]', 'bigint')) AS t(l, r)
	LOOP
		n := n + 1;
		EXECUTE format('CREATE FUNCTION front.operator_%s(%s, %s) RETURNS boolean '
			'LANGUAGE plpgsql AS %L', n, operands.l, operands.r, 'BEGIN RETURN front.ran(); END');
		EXECUTE format('CREATE OPERATOR front.%s (LEFTARG = %s, RIGHTARG = %s, '
			'FUNCTION = front.operator_%s)', operands.name, operands.l, operands.r, n);
	END LOOP;
END
$$;
\c -
SET client_min_messages = error;
SET search_path = front, pg_temp, pg_catalog;
-- the traps work
SELECT 'a'::text;
SELECT 1::pg_catalog.int8 > 2::pg_catalog.int8;
SELECT now();
CALL many.rebuild();
SHOW search_path;
CALL many.rebuild(users => :'users');
-- ... long enough for a notice
CALL many.rebuild(after => 0, pause => '300 milliseconds', allow_removed => true);
CALL untracked_many.rebuild(upto => 1400, overlap => '0');
CALL expired.expire(pause => '1 millisecond');
SHOW search_path;
DO $$ DECLARE a bigint; b bigint; c bigint; d bigint; BEGIN
	CALL many.rebuild(exposures => a, filters => b, bytes => c, removed => d);
	RAISE INFO '% %', b, current_setting('search_path');
	CALL expired.expire(removed => a);
	RAISE INFO '% %', a, current_setting('search_path');
END $$;
-- ... and when they stop
CALL many.rebuild(users => '{1}', after => 1);
BEGIN;
CALL expired.expire();
ROLLBACK;
SHOW search_path;
RESET search_path;
DROP SCHEMA front, many, untracked_many, expired CASCADE;
DROP TABLE shop.many;

-- A table that was dropped, as a partition beside a rebuild can be, runs nothing.
SET ROLE regress_bloomexp_owner;
SELECT bloomexp.require_trusted(NULL, missing_ok => true);
SELECT bloomexp.require_trusted(4711);
SELECT bloomexp.require_trusted(4711, missing_ok => true);

-- A role cannot lock a table that it cannot read.
RESET ROLE;
CREATE TABLE shop.secrets (key int, value int);
SET ROLE regress_bloomexp_owner;
BEGIN;
SELECT bloomexp.require_trusted('shop.secrets');
SELECT mode FROM pg_locks WHERE relation = 'shop.secrets'::regclass;
ROLLBACK;
RESET ROLE;
GRANT SELECT (value) ON shop.secrets TO regress_bloomexp_owner;
SET ROLE regress_bloomexp_owner;
BEGIN;
SELECT bloomexp.require_trusted('shop.secrets');
SELECT mode FROM pg_locks WHERE relation = 'shop.secrets'::regclass;
ROLLBACK;

-- Row-level security that comes later: owners are above it; where it would count, that is an
-- error, and nothing is read by halves.
ALTER TABLE shop.exposures ENABLE ROW LEVEL SECURITY;
CREATE POLICY policy ON shop.exposures USING (item_id <> 1) WITH CHECK (true);
CALL seen.rebuild();
SELECT seen.unseen(1, '{1,2,3}'), untracked.unseen(1, '{1,2,3}');
ALTER TABLE shop.exposures FORCE ROW LEVEL SECURITY;
CALL seen.rebuild();
SELECT untracked.unseen(1, '{1,2,3}');
SELECT untracked.take(1, '{1,2,3}');
INSERT INTO shop.exposures VALUES (1, 5);
SELECT seen.unseen(1, '{1,2,3,5}');
RESET ROLE;
SET row_security = on;
SELECT untracked.unseen(1, '{1,2,3}');

DROP SCHEMA seen, untracked, pages, shop CASCADE;
DROP FUNCTION caught, of_others CASCADE;
DROP SCHEMA evil CASCADE;
DROP OWNED BY regress_bloomexp_owner, regress_bloomexp_app, regress_bloomexp_cron,
	regress_bloomexp_evil CASCADE;
DROP ROLE regress_bloomexp_owner, regress_bloomexp_app, regress_bloomexp_cron,
	regress_bloomexp_evil;
