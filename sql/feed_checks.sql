--
-- What is refused when a feed is made: all that is wrong in one error, each with what to do, and
-- nothing is changed.
--
SET client_min_messages = warning;
\set SHOW_CONTEXT never
\pset format unaligned
\pset tuples_only
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
CREATE ROLE regress_bloomexp_owner;
CREATE ROLE regress_bloomexp_stranger;
DO $$ BEGIN
	EXECUTE format('GRANT CREATE ON DATABASE %I TO regress_bloomexp_owner', current_database());
END $$;
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz, shown boolean,
	day date, name text,
	at timestamp, tags text[], point point);
CREATE INDEX ON exposures (user_id, shown_at);
CREATE VIEW objects AS SELECT (SELECT count(*) FROM pg_class
	WHERE relnamespace <> 'pg_toast'::regnamespace) AS relations,
	(SELECT count(*) FROM pg_proc) AS functions, (SELECT count(*) FROM pg_namespace
		WHERE nspname !~ '^pg_') AS schemas,
	(SELECT count(*) FROM pg_trigger) AS triggers;
CREATE TABLE before AS TABLE objects;
TRUNCATE before;
INSERT INTO before TABLE objects;

-- Arguments; all at once.
SELECT bloomexp.create_feed('pg_seen', 'exposures', 'viewer', 'point', 'day', '-1 day', 1, 0,
	true, 'name');
SELECT bloomexp.create_feed(NULL, 'exposures');
SELECT bloomexp.create_feed('seen', 'exposures', trigger => NULL);
SELECT bloomexp.create_feed('seen', 'missing');
-- a table that is not found is not taken for an omitted argument
SELECT bloomexp.create_feed('seen', NULL);
SELECT bloomexp.feed_sql('seen', to_regclass('missing'));
SELECT bloomexp.create_feed('seen', 4711);
SELECT bloomexp.create_feed('', 'exposures');
SELECT bloomexp.create_feed(repeat('s', 64), 'exposures', width => '1000 years 1 day');
SELECT bloomexp.create_feed(E'se\nen', 'exposures', fpr => 'NaN');
-- what belongs to feeds without a table
SELECT bloomexp.create_feed('seen', 'exposures', slices => 6, user_type => 'bigint',
	item_type => 'bigint');
SELECT bloomexp.create_feed('seen', 'exposures', capacity => 300);
SELECT bloomexp.create_feed('seen', 'exposures', width => NULL);
-- limits that are allowed
BEGIN;
SELECT bloomexp.create_feed(repeat('s', 63), 'exposures', width => '1000 years', fpr => 0.000001);
SELECT bloomexp.create_feed('t', 'exposures', width => '1 second', fpr => 0.5);
INSERT INTO exposures VALUES (1, 1, now());
ROLLBACK;

-- Columns and their types.
SELECT bloomexp.create_feed('seen', 'exposures', 'tags', 'shown', 'user_id');
SELECT bloomexp.create_feed('seen', 'exposures', 'point', 'xmin', 'ctid', "where" => 'missing');
SELECT bloomexp.create_feed('seen', 'exposures', 'objects', 'exposures');
-- Virtual columns came with PostgreSQL 18; the catalog of any release can name one.
BEGIN;
UPDATE pg_attribute SET attgenerated = 'v' WHERE attrelid = 'exposures'::regclass
	AND attname = 'name';
SELECT bloomexp.create_feed('seen', 'exposures', item_column => 'name');
ROLLBACK;
CREATE DOMAIN point_domain AS point;
CREATE TYPE pair AS (a int, b int);
CREATE DOMAIN tag_list AS text[];
CREATE TABLE shown (user_id point_domain, item_id point_domain[], shown_at timestamptz, pair pair,
	document json,
	jsons jsonb[], lists tag_list[], times timestamptz[], flags boolean[]);
SELECT bloomexp.create_feed('seen', 'shown');
SELECT bloomexp.create_feed('seen', 'shown', 'pair', 'jsons');
SELECT bloomexp.create_feed('seen', 'shown', 'document', 'document');
SELECT bloomexp.create_feed('seen', 'shown', 'lists', 'lists', 'times', "where" => 'flags');
DROP TABLE shown;
SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'citext') AS has_citext \gset
\if :has_citext
CREATE EXTENSION citext;
\else
CREATE TYPE citext AS ENUM ();
\endif
CREATE TABLE shown (user_id bigint PRIMARY KEY, item_id citext, shown_at timestamptz);
SELECT bloomexp.create_feed('seen', 'shown');
DROP TABLE shown;
CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE shown (user_id text COLLATE any_case PRIMARY KEY, item_id text COLLATE any_case,
	shown_at timestamptz);
SELECT bloomexp.create_feed('seen', 'shown');
ALTER TABLE shown ALTER item_id TYPE text COLLATE "C";
-- Users are compared as their column compares them.
SELECT bloomexp.create_feed('seen', 'shown');
SELECT bloomexp.create_feed('untracked', 'shown', trigger => false);
INSERT INTO shown VALUES ('Ann', 'a', now())
RETURNING seen.unseen('aNN', '{a,b}'), seen.take('BOB', '{a,b}');
SELECT seen.unseen('aNN', '{a,b}'), untracked.unseen('aNN', '{a,b}'),
	untracked.take('ANN', '{a,b}');
CALL seen.rebuild();
UPDATE shown SET user_id = 'ANN';
CALL seen.rebuild();
SELECT user_id, seen.unseen('ann', '{a,b}') FROM seen.filters;
DROP SCHEMA seen, untracked CASCADE;
DROP TABLE shown;

-- Relations.
CREATE TEMP TABLE temporary (LIKE exposures);
CREATE SEQUENCE sequence;
CREATE VIEW view AS TABLE exposures;
CREATE TABLE parts (LIKE exposures) PARTITION BY HASH (user_id);
CREATE TABLE part PARTITION OF parts FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE INDEX ON parts (user_id);
-- (the name of the schema of temporary tables has a number)
SELECT replace(p, pg_my_temp_schema()::regnamespace::text, 'pg_temp')
FROM pg_roles AS r,
	bloomexp.check_table('{"exposures": "temporary", "trigger": true}', r.oid) AS p
WHERE r.rolname = current_user;
SELECT bloomexp.create_feed('seen', 'sequence');
SELECT bloomexp.create_feed('seen', 'exposures_user_id_shown_at_idx', trigger => false);
SELECT bloomexp.create_feed('seen', 'view');
SELECT bloomexp.create_feed('seen', 'part');
CREATE TABLE "new
line" (LIKE exposures);
SELECT bloomexp.create_feed('seen', E'"new\nline"');
SELECT bloomexp.create_feed('seen', 'exposures', E'user\u0001');
DROP TABLE "new
line";
-- Triggers of these names that are not its own.  Names are cut after 63 bytes.
CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER update_seen AFTER UPDATE ON part FOR EACH STATEMENT EXECUTE FUNCTION other();
SELECT bloomexp.create_feed('seen', 'parts');
-- ... and one that is there by the time the script is applied
DROP TRIGGER update_seen ON part;
SELECT bloomexp.feed_sql('seen', 'parts') AS script \gset
CREATE TRIGGER update_seen AFTER UPDATE ON part FOR EACH STATEMENT EXECUTE FUNCTION other();
\set VERBOSITY terse
SELECT set_config('my.script', :'script', false) ~ 'CREATE';
DO $$ BEGIN EXECUTE current_setting('my.script'); END $$;
\set VERBOSITY default
BEGIN;
SELECT bloomexp.create_feed(repeat('s', 62) || '1', 'exposures');
SELECT bloomexp.create_feed(repeat('s', 62) || '2', 'exposures');
ROLLBACK;
-- Filled by a subscription.
SET client_min_messages = error;
CREATE SUBSCRIPTION regress_bloomexp CONNECTION 'host=nowhere' PUBLICATION p WITH (connect = false);
INSERT INTO pg_subscription_rel SELECT oid, 'exposures'::regclass, 'r' FROM pg_subscription
	WHERE subname = 'regress_bloomexp';
SELECT bloomexp.create_feed('seen', 'exposures');
-- ... a partition, too, and one that is filled since the feed is there
INSERT INTO pg_subscription_rel SELECT oid, 'part'::regclass, 'r' FROM pg_subscription
	WHERE subname = 'regress_bloomexp';
DROP TRIGGER update_seen ON part;
SELECT bloomexp.create_feed('seen', 'parts');
SET client_min_messages = warning;
SELECT bloomexp.feed_sql('seen', 'parts', trigger => false) IS NULL;
SET client_min_messages = error;
DELETE FROM pg_subscription_rel WHERE srrelid = 'part'::regclass;
SELECT bloomexp.create_feed('seen', 'parts');
INSERT INTO pg_subscription_rel SELECT oid, 'part'::regclass, 'r' FROM pg_subscription
	WHERE subname = 'regress_bloomexp';
SELECT h.untracked, f.problems FROM seen.health AS h, bloomexp.feeds() AS f;
DELETE FROM pg_subscription_rel WHERE srrelid = 'part'::regclass;
DROP SCHEMA seen CASCADE;
ALTER SUBSCRIPTION regress_bloomexp SET (slot_name = NONE);
DROP SUBSCRIPTION regress_bloomexp;
SET client_min_messages = warning;

-- Foreign tables and materialized views: a trigger on their parent would break inserts, and what a
-- feed without triggers reads there comes late.
CREATE FOREIGN DATA WRAPPER nowhere;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
CREATE TABLE spread (LIKE exposures) PARTITION BY RANGE (shown_at);
CREATE INDEX ON spread (user_id);
CREATE FOREIGN TABLE remote PARTITION OF spread FOR VALUES FROM (MINVALUE)
	TO ('2020-01-01') SERVER nowhere;
CREATE TABLE heirs (LIKE exposures INCLUDING INDEXES);
CREATE FOREIGN TABLE remote_heir () INHERITS (heirs) SERVER nowhere;
CREATE MATERIALIZED VIEW copies AS TABLE exposures;
CREATE UNIQUE INDEX ON copies (user_id, item_id);
CREATE VIEW view_of_copies AS SELECT * FROM view UNION ALL TABLE copies;
SELECT bloomexp.create_feed('seen', 'spread');
SELECT bloomexp.create_feed('seen', 'heirs');
SELECT bloomexp.create_feed('seen', 'remote');
SELECT bloomexp.feed_sql('seen', name::regclass, trigger => false) IS NULL
	FROM unnest('{spread,heirs,copies,view_of_copies,view,exposures}'::text[]) AS name;
DROP FOREIGN DATA WRAPPER nowhere CASCADE;
DROP TABLE spread, heirs;
DROP MATERIALIZED VIEW copies CASCADE;

-- A unique key of user and item, in any order: an upsert must set the time, and the hint is a
-- statement that does. Other keys are no matter.
SET client_min_messages = notice;
CREATE TABLE "up's" (item_id bigint, "the user" uuid,
	at timestamp DEFAULT (now() AT TIME ZONE 'UTC'),
	UNIQUE (item_id, "the user"));
CREATE INDEX ON "up's" ("the user");
SELECT bloomexp.create_feed('ups', '"up''s"', user_column => 'the user', time_column => 'at');
PREPARE page AS INSERT INTO public."up's" ("the user", item_id, at) SELECT $1, item,
	now() AT TIME ZONE 'UTC'
	FROM unnest(ups.take($1, $2, 10)) AS item ON CONFLICT ("the user", item_id) DO UPDATE
		SET at = excluded.at
	RETURNING item_id;
INSERT INTO "up's" VALUES (7, '00000000-0000-0000-0000-000000000001', '2020-01-01');
EXECUTE page ('00000000-0000-0000-0000-000000000001', '{7,8}');
SELECT count(*) FROM "up's" WHERE at > '2020-01-01';
DEALLOCATE page;
CREATE TABLE keyed (user_id bigint, item_id bigint, shown_at timestamptz, page bigint[],
	PRIMARY KEY (user_id, item_id, shown_at), UNIQUE (user_id, page), UNIQUE (user_id, shown_at));
CREATE UNIQUE INDEX ON keyed (user_id, item_id) WHERE shown_at < '2020-01-01';
SELECT bloomexp.feed_sql('seen', 'keyed') IS NULL, bloomexp.feed_sql('seen', 'keyed',
	item_column => 'page') IS NULL;
CREATE UNIQUE INDEX ON keyed (user_id, item_id) INCLUDE (shown_at);
SELECT bloomexp.feed_sql('seen', 'keyed', trigger => false) IS NULL;
SET client_min_messages = warning;
DROP SCHEMA ups CASCADE;
DROP TABLE "up's", keyed;

-- The schema: it may be there if it is empty and one's own.
CREATE SCHEMA seen;
CREATE DOMAIN seen.something AS int;
SELECT bloomexp.create_feed('seen', 'exposures');
DROP DOMAIN seen.something;
BEGIN;
SELECT bloomexp.create_feed('seen', 'exposures');
SAVEPOINT made;
SELECT bloomexp.feed_sql('seen', 'exposures', trigger => false);
ROLLBACK TO made;
SELECT bloomexp.create_feed('seen', 'exposures');
ROLLBACK;
-- what a new script leaves out has its default again, and a notice says so
BEGIN;
SET LOCAL client_min_messages = notice;
SELECT bloomexp.create_feed('seen', 'exposures', width => '90 days');
SELECT bloomexp.feed_sql('seen', 'exposures', width => '60 days') IS NULL;
SELECT bloomexp.feed_sql('seen', 'exposures', fpr => 0.001) IS NULL;
SELECT bloomexp.feed_sql('seen', 'exposures', fpr => 0.001, width => '90 days') IS NULL;
-- a feed of another role, whatever is granted, and one of whose schema the owner has no longer
-- CREATE
CREATE SCHEMA given;
GRANT CREATE, USAGE ON SCHEMA seen, given TO regress_bloomexp_stranger;
SET LOCAL ROLE regress_bloomexp_stranger;
SELECT bloomexp.create_feed('given');
RESET ROLE;
REVOKE CREATE ON SCHEMA given FROM regress_bloomexp_stranger;
SELECT problems FROM bloomexp.feeds() WHERE feed = 'given';
SAVEPOINT made;
SELECT bloomexp.feed_sql('given') IS NULL;
ROLLBACK TO made;
SET LOCAL ROLE regress_bloomexp_stranger;
SELECT bloomexp.feed_sql('seen') IS NULL;
ROLLBACK;
ALTER SCHEMA seen OWNER TO regress_bloomexp_stranger;
SELECT bloomexp.create_feed('seen', 'exposures');
DROP SCHEMA seen;

-- An index that a rebuild needs; any that begins with the user does, but no partial one.
CREATE TABLE shown (LIKE exposures);
CREATE INDEX ON shown (shown_at, user_id);
CREATE INDEX ON shown (user_id) WHERE shown;
CREATE INDEX ON shown USING hash (user_id);
BEGIN;
SELECT bloomexp.create_feed('seen', 'shown');
SELECT bloomexp.feed_sql('untracked', 'shown', item_column => 'tags', trigger => false) IS NULL;
CREATE INDEX ON shown (user_id, item_id);
SELECT bloomexp.create_feed('untracked', 'shown', trigger => false);
ROLLBACK;
CREATE TABLE split (LIKE exposures) PARTITION BY RANGE (shown_at);
SELECT bloomexp.feed_sql('seen', 'split') IS NULL;
-- A default in the time zone of the session, or of another place, although the feed reads UTC.  Any
-- default is taken for one, unless it is written as UTC.
CREATE TABLE local (user_id bigint PRIMARY KEY, item_id bigint, shown_at timestamp DEFAULT now());
SELECT bloomexp.feed_sql('seen', 'local') IS NULL;
ALTER TABLE local ALTER shown_at SET DEFAULT date_trunc('second', clock_timestamp());
SELECT bloomexp.feed_sql('seen', 'local') IS NULL;
ALTER TABLE local ALTER shown_at SET DEFAULT now()::timestamp(0);
SELECT bloomexp.feed_sql('seen', 'local') IS NULL;
ALTER TABLE local ALTER shown_at SET DEFAULT 'now'::text::timestamp;
SELECT bloomexp.feed_sql('seen', 'local') IS NULL;
ALTER TABLE local ALTER shown_at SET DEFAULT now() AT TIME ZONE 'America/New_York';
SELECT bloomexp.feed_sql('seen', 'local') IS NULL;
ALTER TABLE local ALTER shown_at SET DEFAULT now() AT TIME ZONE 'UTC';
SELECT bloomexp.feed_sql('seen', 'local') IS NULL;
ALTER TABLE local ALTER shown_at SET DEFAULT date_trunc('second', timezone('utc', now()));
SELECT bloomexp.feed_sql('seen', 'local') IS NULL;
DROP TABLE shown, split, local;

-- Roles: who makes a feed must own the exposures, and nobody else may decide what their names
-- mean.
SET ROLE regress_bloomexp_owner;
SELECT bloomexp.create_feed('seen', 'exposures');
RESET ROLE;
GRANT SELECT (user_id), TRIGGER ON exposures TO regress_bloomexp_owner;
SET ROLE regress_bloomexp_owner;
SELECT bloomexp.create_feed('seen', 'exposures');
RESET ROLE;
CREATE SCHEMA shop;
CREATE DOMAIN shop.id AS bigint;
CREATE DOMAIN shop.ids AS shop.id[];
CREATE TABLE shop.exposures (user_id shop.id PRIMARY KEY, item_id shop.ids, shown_at timestamptz);
ALTER TABLE shop.exposures OWNER TO regress_bloomexp_owner;
-- a superuser for somebody's table, and for one in a stranger's schema, with a stranger's type
SELECT bloomexp.create_feed('seen', 'shop.exposures');
-- ... and who is only a member of that role can become it
ALTER ROLE regress_bloomexp_stranger NOINHERIT;
GRANT regress_bloomexp_owner TO regress_bloomexp_stranger;
CREATE SCHEMA seen AUTHORIZATION regress_bloomexp_stranger;
GRANT USAGE ON SCHEMA shop TO regress_bloomexp_stranger;
SET ROLE regress_bloomexp_stranger;
SELECT bloomexp.create_feed('seen', 'shop.exposures');
RESET ROLE;
DROP SCHEMA seen;
REVOKE regress_bloomexp_owner FROM regress_bloomexp_stranger;
ALTER SCHEMA shop OWNER TO regress_bloomexp_stranger;
ALTER DOMAIN shop.id OWNER TO regress_bloomexp_stranger;
ALTER DOMAIN shop.ids OWNER TO regress_bloomexp_stranger;
SELECT bloomexp.create_feed('seen', 'shop.exposures');
CREATE TABLE shop.plain (user_id bigint PRIMARY KEY, item_id bigint, shown_at timestamptz);
SELECT bloomexp.create_feed('seen', 'shop.plain');
-- A child of one's own table, and a domain over somebody's domain.
CREATE DOMAIN id AS shop.id NOT NULL;
CREATE TABLE parent (user_id id PRIMARY KEY, item_id bigint, shown_at timestamptz);
CREATE TABLE shop.child () INHERITS (parent);
ALTER TABLE shop.child OWNER TO regress_bloomexp_owner;
SELECT bloomexp.create_feed('seen', 'parent');
DROP TABLE parent CASCADE;
DROP DOMAIN id;
GRANT USAGE ON SCHEMA shop TO regress_bloomexp_owner;
SET ROLE regress_bloomexp_owner;
SELECT bloomexp.create_feed('seen', 'shop.exposures');
RESET ROLE;
ALTER SCHEMA shop OWNER TO regress_bloomexp_owner;
ALTER DOMAIN shop.id OWNER TO regress_bloomexp_owner;
ALTER DOMAIN shop.ids OWNER TO regress_bloomexp_owner;
GRANT CREATE ON SCHEMA shop TO regress_bloomexp_stranger, PUBLIC;
SET ROLE regress_bloomexp_owner;
SELECT bloomexp.create_feed('seen', 'shop.exposures');
REVOKE CREATE ON SCHEMA shop FROM regress_bloomexp_stranger, PUBLIC;
RESET ROLE;
DO $$ BEGIN
	EXECUTE format('REVOKE CREATE ON DATABASE %I FROM regress_bloomexp_owner', current_database());
END $$;
SET ROLE regress_bloomexp_owner;
\set VERBOSITY terse
SELECT bloomexp.create_feed('seen', 'shop.exposures');
\set VERBOSITY default
RESET ROLE;
CREATE SCHEMA seen AUTHORIZATION regress_bloomexp_owner;
-- who can create in the schema of the extension does not matter
GRANT CREATE ON SCHEMA public TO PUBLIC;
SET ROLE regress_bloomexp_owner;
BEGIN;
SELECT bloomexp.create_feed('seen', 'shop.exposures');
ROLLBACK;
RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;

-- Policies that would hide exposures.
ALTER TABLE shop.exposures ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SET ROLE regress_bloomexp_owner;
SELECT bloomexp.create_feed('seen', 'shop.exposures');
ALTER TABLE shop.exposures NO FORCE ROW LEVEL SECURITY;
SELECT bloomexp.create_feed('seen', 'shop.exposures');
RESET ROLE;

-- Nothing is left of what was refused.
DROP SCHEMA seen CASCADE;
DROP SCHEMA shop CASCADE;
DROP TABLE temporary, parts;
DROP VIEW view;
DROP SEQUENCE sequence;
DROP FUNCTION other;
DROP COLLATION any_case;
DROP DOMAIN point_domain;
DROP TYPE pair;
DO $$ BEGIN DROP EXTENSION IF EXISTS citext; DROP TYPE IF EXISTS citext; END $$;
SELECT o.relations - b.relations, o.functions - b.functions, o.schemas - b.schemas,
	o.triggers - b.triggers
	FROM objects AS o, before AS b;

DROP VIEW objects;
DROP TABLE exposures, before;
DROP ROLE regress_bloomexp_owner, regress_bloomexp_stranger;

-- Parts of a template can be for feeds with a flag.  An unknown name or flag is an error, and so
-- is a part that is not closed.
SELECT bloomexp.fill_template('{feed}.lock({user_type})', '{}',
	'{"feed": "{a}", "user_type": "int"}');
SELECT bloomexp.fill_template('{feeds}.lock(user_id)', '{}', '{"feed": "seen"}');
SELECT bloomexp.fill_template('{feed .lock(user_id)', '{}', '{"feed": "seen"}');
SELECT bloomexp.fill_template('{}.lock(user_id)', '{}', '{"feed": "seen"}');
SELECT bloomexp.fill_template(E'{#a}\na\n{/a}\nb{#b}b{/b}{#a}, {#b}b{/b}a{/a}',
	'{"a": true, "b": false}', '{}');
SELECT bloomexp.fill_template('{#a}a{/a}', '{"b": true}', '{}');
SELECT bloomexp.fill_template('{#a}a{/b}', '{"a": false, "b": true}', '{}');
-- The list of the script has each template that there is, and no other.
CREATE VIEW listed AS SELECT m[1] AS name
FROM pg_proc AS p,
	regexp_matches(p.prosrc, '\(''(\w+)'', (?:NULL|''\w+'')\)', 'g') AS m
WHERE p.oid = 'bloomexp.feed_script'::regproc;
SELECT l.name FROM listed AS l
WHERE l.name NOT IN (SELECT t.name FROM bloomexp.feed_templates() AS t);
SELECT t.name FROM bloomexp.feed_templates() AS t WHERE t.name NOT IN (TABLE listed);
DROP VIEW listed;
-- Times of exposures are compared in UTC, whatever the session has: each function says so that
-- reads them, of a feed or for one.
SELECT t.name FROM bloomexp.feed_templates() AS t
WHERE t.text ~ '{(time|utc|exposed)}' AND t.text !~ 'SET timezone = ''UTC''' ORDER BY 1;
SELECT p.oid::regprocedure FROM pg_proc AS p
WHERE p.pronamespace = 'bloomexp'::regnamespace AND 'exposed' = ANY (p.proargnames)
	AND (lower(p.proconfig::text) ~ 'timezone=utc') IS NOT TRUE;
