--
-- What changes under a feed that was made: types and times of columns, exposures that are kept for
-- too short a time, users who have no place in a row, and the table of filters.
--
\pset format unaligned
\set VERBOSITY terse

-- A column changes its type while this session has plans for it; what it inserts goes into the
-- filters, be it few items or more than "recent" has room for.
CREATE TABLE exposures (user_id integer NOT NULL, item_id integer NOT NULL,
	shown_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX ON exposures (user_id, shown_at, item_id);
SELECT bloomexp.create_feed('seen', 'exposures');
SELECT bloomexp.create_feed('untracked', 'exposures', trigger => false);
INSERT INTO exposures SELECT 1, item FROM generate_series(1, 300) AS item;
INSERT INTO exposures SELECT 1, item FROM generate_series(301, 600) AS item;
INSERT INTO exposures VALUES (1, 601);
SELECT seen.unseen(1, '{1,300,301,600,601,602}'), untracked.unseen(1, '{1,300,301,600,601,602}');
ALTER TABLE exposures ALTER item_id TYPE bigint;
INSERT INTO exposures SELECT 1, item FROM generate_series(1001, 1300) AS item;
INSERT INTO exposures VALUES (1, 1301), (1, 5000000000);
SELECT seen.unseen(1, '{1,1001,1300,1301,1302}'), untracked.unseen(1, '{1,1001,1300,1301,1302}');
SELECT seen.contains(1, 1301), untracked.contains(1, 1301);
-- items too large for the type in the script are still in the filters; such users are an error, so
-- nothing is lost silently
INSERT INTO exposures SELECT 1, 5000000000 + n FROM generate_series(1, 300) AS n;
ALTER TABLE exposures ALTER user_id TYPE bigint;
INSERT INTO exposures VALUES (1, 1401);
INSERT INTO exposures SELECT 1, item FROM generate_series(2001, 2300) AS item;
SELECT seen.unseen(1, '{1401,1402,2001,2300}'), untracked.unseen(1, '{1401,1402,2001,2300}');
INSERT INTO exposures VALUES (5000000000, 1401);
SELECT feed, problems FROM bloomexp.feeds();
SELECT bloomexp.feed_sql('seen', 'exposures') AS script \gset
:script
SELECT bloomexp.feed_sql('untracked', 'exposures', trigger => false) AS script \gset
:script
INSERT INTO exposures SELECT 1, 5000000000 + n FROM generate_series(1, 300) AS n;
INSERT INTO exposures VALUES (5000000000, 1401);
SELECT seen.unseen(1, '{5000000000,5000000001,5000000300,1401,1402}'),
	untracked.unseen(5000000000, '{1401,1402}');
SELECT feed, problems FROM bloomexp.feeds();
DROP SCHEMA seen, untracked CASCADE;

-- The user column becomes bigint, then text, whose length is checked, then uuid.  If the present
-- users cannot be cast to the new type, the table of filters must be emptied first.
CREATE TABLE by_user (user_id text NOT NULL, item_id integer NOT NULL,
	shown_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX ON by_user (user_id, shown_at, item_id);
SELECT bloomexp.create_feed('seen', 'by_user');
INSERT INTO by_user VALUES ('7', 1);
ALTER TABLE by_user ALTER user_id TYPE bigint USING user_id::bigint;
SELECT problems FROM bloomexp.feeds();
SELECT bloomexp.feed_sql('seen', 'by_user') AS script \gset
:script
INSERT INTO by_user VALUES (7, 2);
SELECT seen.unseen(7, '{1,2,3}'), problems FROM bloomexp.feeds();
ALTER TABLE by_user ALTER user_id TYPE text;
SELECT bloomexp.feed_sql('seen', 'by_user') AS script \gset
:script
INSERT INTO by_user VALUES (repeat('7', 2001), 3);
INSERT INTO by_user VALUES ('7', 3);
SELECT seen.unseen('7', '{1,2,3,4}'), problems FROM bloomexp.feeds();
ALTER TABLE by_user ALTER user_id TYPE uuid USING lpad(user_id, 32, '0')::uuid;
\set VERBOSITY default
\set SHOW_CONTEXT never
DO $$ BEGIN EXECUTE bloomexp.feed_sql('seen', 'by_user'); END $$;
\set VERBOSITY terse
TRUNCATE seen.filters;
DO $$ BEGIN EXECUTE bloomexp.feed_sql('seen', 'by_user'); END $$;
CALL seen.rebuild();
SELECT seen.unseen(lpad('7', 32, '0')::uuid, '{1,2,3,4}'), problems FROM bloomexp.feeds();
DROP TABLE by_user;
DROP SCHEMA seen CASCADE;

-- If items change their kind, that is an error, before they become hashes that no lookup finds.
TRUNCATE exposures;
ALTER TABLE exposures ALTER item_id TYPE uuid
	USING lpad(item_id::text, 32, '0')::uuid;
SELECT bloomexp.create_feed('seen', 'exposures');
ALTER TABLE exposures ALTER item_id TYPE text;
INSERT INTO exposures VALUES (1, '00000000-0000-0000-0000-000000000001');
SELECT seen.unseen(1, '{00000000-0000-0000-0000-000000000001,
	00000000-0000-0000-0000-000000000002}');
INSERT INTO exposures VALUES (1, 'no uuid');
DROP TABLE exposures;
DROP SCHEMA seen CASCADE;

-- A time column with a zone, or without one, west and east of UTC.
SET TimeZone = 'America/New_York';
CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL,
	shown_at timestamp NOT NULL DEFAULT (now() AT TIME ZONE 'UTC'));
CREATE INDEX ON exposures (user_id, shown_at, item_id);
SELECT bloomexp.create_feed('seen', 'exposures', width => '1 hour');
SELECT bloomexp.create_feed('untracked', 'exposures', width => '1 hour', trigger => false);
INSERT INTO exposures VALUES (1, 1, DEFAULT), (1, 2, now() AT TIME ZONE 'UTC' - interval '2 hours');
CALL untracked.rebuild();
SELECT seen.unseen(1, '{1,2,3}'), untracked.unseen(1, '{1,2,3}');
ALTER TABLE exposures ALTER shown_at DROP DEFAULT,
	ALTER shown_at TYPE timestamptz USING shown_at AT TIME ZONE 'UTC',
	ALTER shown_at SET DEFAULT now();
INSERT INTO exposures VALUES (1, 3, DEFAULT), (1, 4, now() - interval '2 hours');
SELECT seen.unseen(1, '{1,2,3,4}'), untracked.unseen(1, '{1,2,3,4}');
SET TimeZone = 'Asia/Tokyo';
INSERT INTO exposures VALUES (1, 5, DEFAULT), (1, 6, now() - interval '2 hours');
SELECT seen.unseen(1, '{3,4,5,6}'), untracked.unseen(1, '{3,4,5,6}');
CALL untracked.rebuild(overlap => '0');
SELECT untracked.unseen(1, '{3,4,5,6}');
ALTER TABLE exposures ALTER shown_at DROP DEFAULT,
	ALTER shown_at TYPE timestamp USING shown_at AT TIME ZONE 'UTC',
	ALTER shown_at SET DEFAULT now() AT TIME ZONE 'UTC';
INSERT INTO exposures VALUES (1, 7, DEFAULT), (1, 8, now() AT TIME ZONE 'UTC' - interval '2 hours');
SELECT seen.unseen(1, '{5,6,7,8}'), untracked.unseen(1, '{5,6,7,8}');
CALL seen.rebuild();
SELECT seen.unseen(1, '{1,2,3,4,5,6,7,8}');
SELECT feed, problems FROM bloomexp.feeds();
RESET TimeZone;
DROP TABLE exposures;
DROP SCHEMA seen, untracked CASCADE;

-- Exposures that are kept for 10 of 30 days: a rebuild would forget what was shown before that.
CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL,
	shown_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX ON exposures (user_id, shown_at, item_id);
SELECT bloomexp.create_feed('seen', 'exposures');
SELECT bloomexp.create_feed('untracked', 'exposures', trigger => false);
INSERT INTO exposures
SELECT user_id, user_id * 1000 + day, now() - day * interval '1 day'
FROM generate_series(1, 200) AS user_id, generate_series(0, 29) AS day;
CALL seen.rebuild();
CALL untracked.rebuild();
DELETE FROM exposures WHERE shown_at < now() - interval '10 days';
CALL seen.rebuild();
CALL untracked.rebuild();
SELECT seen.unseen(7, '{7000,7009,7011,7029}'), untracked.unseen(7, '{7000,7009,7011,7029}');
-- a dry run counts the loss, and does not stop
CALL seen.rebuild(dry_run => true);
CALL seen.rebuild(allow_removed => true);
SELECT seen.unseen(7, '{7000,7009,7011,7029}');
-- Items that have left the window since the last rebuild are no loss: here 15 of 30 days, in
-- filters that are 15 days old.
INSERT INTO exposures
SELECT user_id, user_id * 1000 + day, now() - day * interval '1 day'
FROM generate_series(1, 200) AS user_id, generate_series(10, 29) AS day;
CALL seen.rebuild();
UPDATE seen.filters SET filled_until = now() - interval '15 days';
DELETE FROM exposures WHERE shown_at < now() - interval '15 days';
CALL seen.rebuild();
-- One user cannot stop a rebuild, whatever was taken for that user and not shown.
SELECT cardinality(seen.take(1, ARRAY(SELECT generate_series(1000001, 1010000))));
CALL seen.rebuild();
DROP SCHEMA seen, untracked CASCADE;

-- Users whose ids are too long for a row do not stop a rebuild: a warning says that they have no
-- filter.
DROP TABLE exposures;
CREATE TABLE exposures (user_id text NOT NULL, item_id bigint NOT NULL,
	shown_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX ON exposures (left(user_id, 100));
INSERT INTO exposures
SELECT string_agg(md5(concat(k, n)), ''), 7 FROM generate_series(1, 2) AS k,
	generate_series(1, 100) AS n GROUP BY k
UNION ALL SELECT 'user ' || n, n FROM generate_series(1, 3) AS n;
SET client_min_messages = error;	-- not about the index
SELECT bloomexp.create_feed('seen', 'exposures');
SELECT bloomexp.create_feed('untracked', 'exposures', trigger => false);
RESET client_min_messages;
CALL seen.rebuild();
CALL untracked.rebuild();
SELECT array_agg(DISTINCT user_id) AS users FROM exposures \gset
CALL untracked.rebuild(users => :'users');
SELECT count(*), max(length(user_id)) FROM seen.filters;
SELECT DISTINCT untracked.unseen(user_id, '{7,8}') FROM exposures WHERE item_id = 7;
INSERT INTO exposures SELECT user_id, 8 FROM exposures WHERE item_id = 7;
-- nor if they can be compressed
CREATE TABLE long_names AS SELECT repeat('a', 100000) AS name;
INSERT INTO exposures SELECT name, 8 FROM long_names;
DROP TABLE long_names;
DROP SCHEMA seen, untracked CASCADE;
DROP TABLE exposures;

-- The table of filters itself.
CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL,
	shown_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX ON exposures (user_id, shown_at, item_id);
SELECT bloomexp.create_feed('seen', 'exposures');
SELECT bloomexp.create_feed('alone');
SELECT feed, problems FROM bloomexp.feeds();
ALTER TABLE seen.filters RENAME user_id TO id;
ALTER TABLE alone.filters RENAME since TO began;
SELECT feed, problems FROM bloomexp.feeds();
ALTER TABLE seen.filters RENAME id TO user_id;
ALTER TABLE alone.filters RENAME began TO since;
ALTER TABLE seen.filters DROP CONSTRAINT filters_pkey;
SELECT feed, problems FROM bloomexp.feeds();
ALTER TABLE seen.filters ADD PRIMARY KEY (user_id);
SELECT feed, problems FROM bloomexp.feeds();
-- a crash would empty it, which may be intended for a feed without a table
ALTER TABLE seen.filters SET UNLOGGED;
ALTER TABLE alone.filters SET UNLOGGED;
SELECT feed, problems FROM bloomexp.feeds();
ALTER TABLE seen.filters SET LOGGED;
ALTER TABLE alone.filters SET LOGGED;
-- functions have the former name of the schema
ALTER SCHEMA seen RENAME TO shown;
ALTER SCHEMA alone RENAME TO "by itself";
SELECT feed, command, problems FROM bloomexp.feeds();
ALTER SCHEMA shown RENAME TO seen;
SELECT bloomexp.feed_sql('by itself') AS script \gset
:script
SELECT "by itself".take(1, '{1,2}', 1);
SELECT feed, problems FROM bloomexp.feeds();
ALTER SCHEMA "by itself" RENAME TO alone;
SELECT bloomexp.feed_sql('alone') AS script \gset
:script
-- what is set for a function, as well as its text
ALTER FUNCTION seen.track RESET timezone;
ALTER FUNCTION seen.lock STRICT;
ALTER FUNCTION alone.take SET work_mem = '1GB';
ALTER FUNCTION alone.lock IMMUTABLE;
ALTER FUNCTION alone.unseen PARALLEL UNSAFE;
SELECT feed, problems, edited FROM bloomexp.feeds();
SELECT bloomexp.feed_sql('seen', 'exposures') AS script \gset
:script
SELECT bloomexp.feed_sql('alone') AS script \gset
:script
SELECT feed, problems, edited FROM bloomexp.feeds();
-- ... but not what a name says
SELECT bloomexp.create_feed('SET role = STABLE');
SELECT feed, problems, edited FROM bloomexp.feeds() WHERE feed LIKE 'SET%';
DROP SCHEMA "SET role = STABLE" CASCADE;
-- users whom no rebuild has reached
INSERT INTO exposures VALUES (1, 1), (2, 2);
SELECT users, never_filled, oldest_filled_until IS NULL AS never FROM seen.health;
CALL seen.rebuild(users => '{1}');
SELECT users, never_filled, oldest_filled_until IS NULL AS never FROM seen.health;
DROP SCHEMA seen, alone CASCADE;
DROP TABLE exposures;

-- The type of users moves to another schema, or gets another name.  Functions of feeds name it.
CREATE SCHEMA moved;
CREATE TYPE color AS ENUM ('red', 'blue');
CREATE TABLE exposures (user_id color, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE INDEX ON exposures (user_id, shown_at);
SELECT bloomexp.create_feed('seen', 'exposures');
SELECT bloomexp.create_feed('alone', user_type => 'color');
INSERT INTO exposures VALUES ('red', 1);
SELECT alone.add('red', '{1}');
ALTER TYPE color SET SCHEMA moved;
ALTER TYPE moved.color RENAME TO shade;
SELECT feed, command, problems FROM bloomexp.feeds();
\c -
SELECT alone.unseen('red', '{1,2}');
SELECT bloomexp.feed_sql('seen', 'exposures') AS script \gset
:script
SELECT bloomexp.feed_sql('alone', user_type => 'moved.shade') AS script \gset
:script
SELECT feed, problems FROM bloomexp.feeds();
SELECT seen.unseen('red', '{1,2}'), alone.unseen('red', '{1,2}');
DROP SCHEMA seen, alone CASCADE;
DROP TABLE exposures;
DROP SCHEMA moved CASCADE;

-- A table that is restored, or another one, numbers its columns differently.
CREATE TABLE exposures (user_id bigint, old bigint, item_id bigint,
	shown_at timestamptz DEFAULT now());
CREATE INDEX ON exposures (user_id, shown_at);
ALTER TABLE exposures DROP old;
SELECT bloomexp.create_feed('seen', 'exposures');
INSERT INTO exposures VALUES (1, 1);
CREATE TABLE restored (LIKE exposures INCLUDING ALL, other bigint);
INSERT INTO restored TABLE exposures;
ALTER TABLE exposures RENAME TO former;
ALTER TABLE restored RENAME TO exposures;
-- a column was renamed since ...
ALTER TABLE exposures RENAME item_id TO post_id;
SELECT bloomexp.feed_sql('seen', 'exposures', item_column => 'post_id') AS script \gset
:script
SELECT seen.unseen(1, '{1,2}');
-- ... and now the feed knows the columns of this table
SELECT bloomexp.feed_sql('seen', 'exposures', item_column => 'other') AS script \gset
:script
DROP SCHEMA seen CASCADE;
-- but a column that was added beside the former one is a different column
SELECT bloomexp.create_feed('seen', 'exposures', item_column => 'post_id');
INSERT INTO exposures (user_id, post_id) VALUES (1, 1);
CREATE TABLE restored (LIKE exposures INCLUDING ALL);
DROP TABLE former;
ALTER TABLE exposures RENAME TO former;
ALTER TABLE restored RENAME TO exposures;
SELECT bloomexp.feed_sql('seen', 'exposures', item_column => 'other') AS script \gset
:script
DROP SCHEMA seen CASCADE;
DROP TABLE exposures, former;

-- Filters are a heap, whatever new tables are by default.
CREATE ACCESS METHOD regress_bloomexp_heap TYPE TABLE HANDLER heap_tableam_handler;
SET default_table_access_method = regress_bloomexp_heap;
SELECT bloomexp.create_feed('alone');
RESET default_table_access_method;
SELECT amname FROM pg_class JOIN pg_am ON pg_am.oid = relam
WHERE pg_class.oid = 'alone.filters'::regclass;
DROP SCHEMA alone CASCADE;
DROP ACCESS METHOD regress_bloomexp_heap;

-- A new version of a collation orders users in another way than their index.
CREATE COLLATION german (provider = icu, locale = 'de');
CREATE TABLE exposures (user_id text COLLATE german, item_id bigint,
	shown_at timestamptz DEFAULT now());
CREATE INDEX ON exposures (user_id, shown_at);
SELECT bloomexp.create_feed('seen', 'exposures');
SELECT problems FROM bloomexp.feeds();
UPDATE pg_collation SET collversion = '1' WHERE collname = 'german';
SELECT regexp_replace(p, 'version [0-9.]+ now', 'version N now')
FROM bloomexp.feeds() AS f, unnest(f.problems) AS p;
SET client_min_messages = warning;
REINDEX TABLE seen.filters;
REINDEX TABLE public.exposures;
ALTER COLLATION public.german REFRESH VERSION;
RESET client_min_messages;
SELECT problems FROM bloomexp.feeds();
DROP SCHEMA seen CASCADE;
DROP TABLE exposures;
DROP COLLATION german;

-- Plans that were made while the table of filters was small must suit a large one.
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE INDEX ON exposures (user_id, shown_at);
SELECT bloomexp.create_feed('tracked', 'exposures');
SELECT bloomexp.create_feed('untracked', 'exposures', trigger => false);
SELECT bloomexp.create_feed('alone');
INSERT INTO tracked.filters (user_id) VALUES (0);
INSERT INTO untracked.filters (user_id) VALUES (0);
INSERT INTO alone.filters (user_id) VALUES (0);
VACUUM ANALYZE tracked.filters, untracked.filters, alone.filters;
CREATE PROCEDURE pg_temp.call_all(n integer) LANGUAGE plpgsql AS $$
DECLARE
	feed text;
BEGIN
	FOREACH feed IN ARRAY '{tracked,untracked,alone}'::text[] LOOP
		EXECUTE format('SELECT count(%1$I.unseen(0, %2$L)), count(%1$I.current(0)), '
			'count(%1$I.take(0, %2$L)), count(%1$I.take_back(0, %2$L)) '
			'FROM generate_series(1, $1)', feed, '{1,2}') USING n;
	END LOOP;
	FOR i IN 1 .. n LOOP
		PERFORM alone.add(0, ARRAY[10 * n + i]);
	END LOOP;
	FOR i IN 1 .. n LOOP
		INSERT INTO exposures VALUES (0, 10 * n + i);
		PERFORM alone.add_batch('{0,0}', ARRAY[20 * n + i, 30 * n + i],
			ARRAY[now(), now() - interval '10 days']);
	END LOOP;
END
$$;
CALL pg_temp.call_all(10);	-- now the plans are generic
INSERT INTO tracked.filters (user_id) SELECT generate_series(1, 20000);
INSERT INTO untracked.filters (user_id) SELECT generate_series(1, 20000);
INSERT INTO alone.filters (user_id) SELECT generate_series(1, 20000);
SELECT pg_stat_force_next_flush();	-- what comes is counted from 0
BEGIN;
CALL pg_temp.call_all(10);
SELECT relid::regclass AS scanned FROM pg_stat_xact_user_tables
WHERE relname = 'filters' AND seq_scan > 0;
ROLLBACK;
DROP SCHEMA tracked, untracked, alone CASCADE;
DROP TABLE exposures;

-- Two functions of the name that rebuild() calls.
CREATE TABLE exposures (user_id text, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE INDEX ON exposures (user_id, shown_at);
SELECT bloomexp.create_feed('seen', 'exposures');
INSERT INTO exposures VALUES ('1', 1), ('01', 1);
CREATE FUNCTION seen.rebuild_batch() RETURNS void LANGUAGE sql BEGIN ATOMIC END;
SELECT problems FROM bloomexp.feeds();
CALL seen.rebuild();
DROP FUNCTION seen.rebuild_batch();

-- A trigger that can keep a rebuild from removing rows.
CREATE FUNCTION pg_temp.keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER keep BEFORE DELETE ON seen.filters FOR EACH ROW EXECUTE FUNCTION pg_temp.keep();
SELECT problems FROM bloomexp.feeds();
DROP TRIGGER keep ON seen.filters;

-- Two users become one.
ALTER TABLE exposures ALTER user_id TYPE bigint USING user_id::bigint;
DO $$ BEGIN EXECUTE bloomexp.feed_sql('seen', 'exposures'); END $$;
DROP SCHEMA seen CASCADE;
DROP TABLE exposures;

-- The same width in other units is the same argument.
SELECT bloomexp.create_feed('seen', width => '30 days');
SELECT bloomexp.feed_sql('seen', width => '720 hours') AS script \gset
:script
DROP SCHEMA seen CASCADE;
