--
-- Plans are kept for the session, until something changes that the statements depend on.
--
SET client_min_messages = warning;
-- (PostgreSQL 13 does not tell which plans it keeps)
SELECT current_setting('server_version_num')::int < 140000 AS too_old \gset
\if :too_old
\quit
\endif

CREATE SCHEMA shop;
CREATE TABLE shop.exposures (user_id bigint, item_id bigint) WITH (autovacuum_enabled = off);
CREATE TABLE shop.seen (user_id bigint PRIMARY KEY, items bloom, others bloom) WITH (autovacuum_enabled = off);
CREATE TRIGGER track AFTER INSERT ON shop.exposures REFERENCING NEW TABLE AS n
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
CREATE VIEW filters AS SELECT user_id, bloom_contains_each(items, '{1,2,3,4,5,6,7,8}'::int[]) FROM shop.seen;
-- What is kept: one entry a trigger, or a column of filters.  When a trigger is read, that is told.
CREATE VIEW kept AS SELECT count(*) AS kept FROM pg_backend_memory_contexts WHERE name = 'bloomexp plans';
\set VERBOSITY terse
BEGIN;
SET LOCAL client_min_messages = debug1;
INSERT INTO shop.exposures VALUES (1, 1);
INSERT INTO shop.exposures VALUES (1, 2), (2, 2);
INSERT INTO shop.exposures VALUES (2, 3);
COMMIT;
-- The plans of this session's triggers from above went with them.
TABLE kept;
-- Nobody inserted anything: no plan is made, though there is no valid one.
GRANT SELECT ON shop.seen TO PUBLIC;
BEGIN;
SET LOCAL client_min_messages = debug1;
INSERT INTO shop.exposures SELECT 1, 1 WHERE false;
-- many rows are planned for themselves
INSERT INTO shop.exposures SELECT 3, n FROM generate_series(1, 5000) AS n;
INSERT INTO shop.exposures VALUES (1, 2);
COMMIT;
TABLE kept;
TABLE filters;
-- a plan for a small table is none for a large one
BEGIN;
INSERT INTO shop.seen SELECT n, bloom_new() FROM generate_series(1001, 4000) AS n;
SET LOCAL client_min_messages = debug1;
INSERT INTO shop.exposures VALUES (1, 1);
INSERT INTO shop.exposures VALUES (1, 1);
COMMIT;
TABLE kept;
DELETE FROM shop.seen;

-- Another type of the users.  (The view is in the way.)
DROP VIEW filters;
ALTER TABLE shop.seen ALTER user_id TYPE text;
INSERT INTO shop.exposures VALUES (1, 1);
ALTER TABLE shop.exposures ALTER user_id TYPE text;
ALTER TABLE shop.seen ALTER user_id TYPE bigint USING user_id::bigint;
INSERT INTO shop.exposures VALUES ('1', 2);
ALTER TABLE shop.exposures ALTER user_id TYPE bigint USING user_id::bigint;
CREATE VIEW filters AS SELECT user_id, bloom_contains_each(items, '{1,2,3,4,5,6,7,8}'::int[]) FROM shop.seen;
TABLE filters;
-- ... which is rolled back
BEGIN;
SAVEPOINT s;
DROP VIEW filters;
ALTER TABLE shop.seen ALTER user_id TYPE text;
INSERT INTO shop.exposures VALUES (1, 3);
ROLLBACK TO s;
INSERT INTO shop.exposures VALUES (1, 4);
COMMIT;
TABLE filters;
-- new arguments, another name
CREATE OR REPLACE TRIGGER track AFTER INSERT ON shop.exposures REFERENCING NEW TABLE AS n
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'others', 'user_id', 'item_id');
INSERT INTO shop.exposures VALUES (1, 5);
ALTER TRIGGER track ON shop.exposures RENAME TO tracking;
INSERT INTO shop.exposures VALUES (1, 6);
SELECT bloom_contains_each(others, '{1,2,3,4,5,6,7,8}'::int[]) FROM shop.seen;
CREATE OR REPLACE TRIGGER tracking AFTER INSERT ON shop.exposures REFERENCING NEW TABLE AS other
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
INSERT INTO shop.exposures VALUES (1, 7);
TABLE filters;
-- columns that change their names
ALTER TABLE shop.seen RENAME items TO removed;
ALTER TABLE shop.seen RENAME others TO items;
INSERT INTO shop.exposures VALUES (1, 8);
SELECT bloom_contains_each(items, '{1,2,3,4,5,6,7,8}'::int[]) FROM shop.seen;
ALTER TABLE shop.seen RENAME items TO others;
ALTER TABLE shop.seen RENAME removed TO items;
ALTER TABLE shop.exposures RENAME item_id TO id;
INSERT INTO shop.exposures VALUES (1, 8);
ALTER TABLE shop.exposures RENAME id TO item_id;
-- the key is lost, and comes back
ALTER TABLE shop.seen DROP CONSTRAINT seen_pkey;
INSERT INTO shop.exposures VALUES (1, 8);
CREATE UNIQUE INDEX ON shop.seen (user_id);
INSERT INTO shop.exposures VALUES (1, 8);
TABLE filters;
-- another table of the same name
DROP VIEW filters;
DROP TABLE shop.seen;
INSERT INTO shop.exposures VALUES (1, 1);
CREATE TABLE shop.seen (user_id numeric PRIMARY KEY, items bloom) WITH (autovacuum_enabled = off);
INSERT INTO shop.exposures VALUES (1, 1);
ALTER TABLE shop.seen RENAME TO seen_before;
CREATE TABLE shop.seen (user_id text PRIMARY KEY, items bloom) WITH (autovacuum_enabled = off);
INSERT INTO shop.exposures VALUES (1, 2);
SELECT 'seen' AS filters, user_id::text, bloom_contains_each(items, '{1,2}'::int[]) FROM shop.seen
UNION ALL SELECT 'seen_before', user_id::text, bloom_contains_each(items, '{1,2}'::int[]) FROM shop.seen_before;
DROP TABLE shop.seen_before;
-- Tables that move, by themselves and with their schema: the filters are where the exposures are.
CREATE SCHEMA other;
CREATE TABLE other.seen (user_id text PRIMARY KEY, items bloom);
ALTER TABLE shop.exposures SET SCHEMA other;
INSERT INTO other.exposures VALUES (1, 3);
ALTER SCHEMA shop RENAME TO sold;
ALTER SCHEMA other RENAME TO shop;
INSERT INTO shop.exposures VALUES (1, 4);
ALTER SCHEMA sold RENAME TO other;
INSERT INTO shop.exposures VALUES (1, 5);
SELECT 'shop' AS filters, bloom_contains_each(items, '{1,2,3,4,5}'::int[]) FROM shop.seen
UNION ALL SELECT 'other', bloom_contains_each(items, '{1,2,3,4,5}'::int[]) FROM other.seen;
-- the extension moves
CREATE SCHEMA "the ""extension""";
ALTER EXTENSION bloomexp SET SCHEMA "the ""extension""";
INSERT INTO shop.exposures VALUES (1, 6);
ALTER SCHEMA "the ""extension""" RENAME TO shelf;
INSERT INTO shop.exposures VALUES (1, 7);
ALTER EXTENSION bloomexp SET SCHEMA public;
DROP SCHEMA shelf;
INSERT INTO shop.exposures VALUES (1, 8);
SELECT bloom_contains_each(items, '{1,2,3,4,5,6,7,8}'::int[]) FROM shop.seen;
-- What the statements name they name wholly: another search_path is no other type.
CREATE DOMAIN id AS text;
CREATE DOMAIN other.id AS int CHECK (false);
ALTER TABLE shop.seen ALTER user_id TYPE id;
INSERT INTO shop.exposures VALUES (2, 1);
SET search_path = other;
INSERT INTO shop.exposures VALUES (2, 2);
RESET search_path;
SELECT user_id, bloom_contains_each(items, '{1,2,3,4,5,6,7,8}'::int[]) FROM shop.seen ORDER BY 1;

-- Several tables of exposures, one of filters: a plan each, and none for triggers that are gone.
CREATE TABLE other.exposures (item_id text, user_id bigint);
CREATE TRIGGER track AFTER INSERT ON other.exposures REFERENCING NEW TABLE AS n
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('shop.seen', 'items', 'user_id', 'item_id');
TRUNCATE shop.seen;
ALTER TABLE shop.exposures ALTER item_id TYPE text;
INSERT INTO shop.exposures VALUES (1, 'a');
INSERT INTO other.exposures VALUES ('b', 1);
INSERT INTO shop.exposures VALUES (1, 'c');
INSERT INTO other.exposures VALUES ('d', 1);
SELECT bloom_contains_each(items, '{a,b,c,d,e}'::text[]) FROM shop.seen;
TABLE kept;
DROP TRIGGER track ON other.exposures;
ALTER TABLE shop.seen ADD CHECK (user_id <> '0');
INSERT INTO shop.exposures VALUES (1, 'e');
TABLE kept;

-- A call within a call of the same trigger, for which the plan is made invalid: it has one for itself.  And another
-- trigger, which frees what is invalid, leaves what is in use.
CREATE TRIGGER track AFTER INSERT ON other.exposures REFERENCING NEW TABLE AS n
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('shop.seen', 'items', 'user_id', 'item_id');
CREATE FUNCTION repeat_to_2() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF new.user_id = '1' THEN
		GRANT SELECT ON shop.seen TO PUBLIC;
		INSERT INTO shop.exposures VALUES (2, 'again');
		INSERT INTO other.exposures VALUES ('again', 3);
		RAISE WARNING 'kept: %', (SELECT kept FROM public.kept);
		REVOKE SELECT ON shop.seen FROM PUBLIC;
		BEGIN
			INSERT INTO shop.exposures VALUES (0, 'never');
		EXCEPTION WHEN check_violation THEN
			RAISE WARNING '%', sqlerrm;
		END;
	END IF;
	RETURN NULL;
END
$$;
CREATE TRIGGER repeat_to_2 AFTER UPDATE ON shop.seen FOR EACH ROW EXECUTE FUNCTION repeat_to_2();
INSERT INTO shop.exposures VALUES (1, 'f');
INSERT INTO shop.exposures VALUES (1, 'g'), (2, 'g');
SELECT user_id, bloom_contains_each(items, '{a,b,c,d,e,f,g,again,never}'::text[]) FROM shop.seen ORDER BY 1;
-- ... and an error that is caught leaves a plan that can be used, and freed.
DROP TRIGGER repeat_to_2 ON shop.seen;
DROP TRIGGER track ON other.exposures;
INSERT INTO shop.exposures VALUES (0, 'never');
BEGIN;
SET LOCAL client_min_messages = debug1;
INSERT INTO shop.exposures VALUES (2, 'h');
INSERT INTO shop.exposures VALUES (2, 'i');
COMMIT;
SELECT user_id, bloom_contains_each(items, '{again,h,i,j}'::text[]) FROM shop.seen ORDER BY 1;
TABLE kept;
DROP TABLE shop.exposures, shop.seen;
CREATE TABLE shop.exposures (user_id bigint, item_id bigint) WITH (autovacuum_enabled = off);
CREATE TABLE shop.seen (user_id bigint PRIMARY KEY, items bloom) WITH (autovacuum_enabled = off);
CREATE TRIGGER track AFTER INSERT ON shop.exposures REFERENCING NEW TABLE AS n
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
INSERT INTO shop.exposures VALUES (1, 1);
TABLE kept;
\set VERBOSITY default
DROP VIEW kept;
DROP FUNCTION repeat_to_2;
DROP DOMAIN id;
DROP SCHEMA shop, other CASCADE;
