--
-- The commands of bloom_untracked() are SQL that whoever looks may execute: no name that others chose becomes a part of it, nor does
-- a trigger of theirs come onto other tables.
--
SET client_min_messages = warning;
CREATE ROLE regress_bloomexp_mallory;
CREATE ROLE regress_bloomexp_owner;
CREATE SCHEMA mallory AUTHORIZATION regress_bloomexp_mallory;

SET SESSION AUTHORIZATION regress_bloomexp_mallory;
CREATE FUNCTION mallory.trap() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'sprung by %', current_user; END $$;
CREATE FUNCTION mallory.f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
-- The name of a partition is the payload, and columns and triggers are such that a longer prefix would be cut off within it.
CREATE TABLE mallory.exposures (user_id int, item_id bigint, shown_at timestamptz, cccccccccccccccccccccccccccccccccccccccccccccccccccc int) PARTITION BY RANGE (user_id);
CREATE TABLE mallory." EXECUTE FUNCTION mallory.f(); SELECT mallory.trap();--" PARTITION OF mallory.exposures FOR VALUES FROM (0) TO (10);
CREATE TABLE mallory.p2 PARTITION OF mallory.exposures FOR VALUES FROM (10) TO (20);
CREATE TABLE mallory.seen (user_id int PRIMARY KEY, items bloom);
CREATE TRIGGER tu AFTER UPDATE OF cccccccccccccccccccccccccccccccccccccccccccccccccccc ON mallory." EXECUTE FUNCTION mallory.f(); SELECT mallory.trap();--"
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
CREATE TRIGGER several AFTER INSERT OR UPDATE ON mallory." EXECUTE FUNCTION mallory.f(); SELECT mallory.trap();--"
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
CREATE TRIGGER before BEFORE INSERT ON mallory." EXECUTE FUNCTION mallory.f(); SELECT mallory.trap();--"
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
CREATE CONSTRAINT TRIGGER constr AFTER INSERT ON mallory." EXECUTE FUNCTION mallory.f(); SELECT mallory.trap();--" DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
RESET SESSION AUTHORIZATION;
\x
SELECT * FROM bloom_untracked('mallory.exposures');
\x
SELECT command FROM bloom_untracked('mallory.exposures') \gexec
-- A trigger that works, with names of the same kind, is put onto the others, and nothing else happens.
SET SESSION AUTHORIZATION regress_bloomexp_mallory;
DROP TRIGGER tu ON mallory." EXECUTE FUNCTION mallory.f(); SELECT mallory.trap();--";
DROP TRIGGER several ON mallory." EXECUTE FUNCTION mallory.f(); SELECT mallory.trap();--";
DROP TRIGGER before ON mallory." EXECUTE FUNCTION mallory.f(); SELECT mallory.trap();--";
DROP TRIGGER constr ON mallory." EXECUTE FUNCTION mallory.f(); SELECT mallory.trap();--";
CREATE TRIGGER " AFTER INSERT ON mallory.p2; SELECT mallory.trap();--" AFTER INSERT ON mallory." EXECUTE FUNCTION mallory.f(); SELECT mallory.trap();--"
	REFERENCING NEW TABLE AS "n FOR EACH STATEMENT EXECUTE FUNCTION mallory.f(); SELECT mallory"
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'condition=cccccccccccccccccccccccccccccccccccccccccccccccccccc::text <> '');
	SELECT mallory.trap();--''');
RESET SESSION AUTHORIZATION;
SELECT command FROM bloom_untracked('mallory.exposures') WHERE command IS NOT NULL ORDER BY relation;
SELECT command FROM bloom_untracked('mallory.exposures') \gexec
SELECT tgrelid::regclass, tgname, proname FROM pg_trigger JOIN pg_proc AS p ON p.oid = tgfoid WHERE tgrelid::regclass::text ~ '^mallory' ORDER BY 1;
DROP TABLE mallory.exposures;

-- The owner of one partition has no say in the others.
GRANT USAGE ON SCHEMA mallory TO regress_bloomexp_owner;
GRANT CREATE ON SCHEMA public TO regress_bloomexp_owner;
SET SESSION AUTHORIZATION regress_bloomexp_owner;
CREATE TABLE exposures (user_id int, item_id bigint, shown_at timestamptz) PARTITION BY RANGE (user_id);
CREATE TABLE exposures_1 PARTITION OF exposures FOR VALUES FROM (10) TO (20);
CREATE TABLE seen (user_id int PRIMARY KEY, items bloom);
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
RESET SESSION AUTHORIZATION;
CREATE TABLE mallory.part PARTITION OF exposures FOR VALUES FROM (0) TO (10);
ALTER TABLE mallory.part OWNER TO regress_bloomexp_mallory;
SET SESSION AUTHORIZATION regress_bloomexp_mallory;
CREATE TRIGGER track AFTER INSERT ON mallory.part REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('mallory.seen', 'items', 'user_id', 'item_id');
CREATE TRIGGER track_when AFTER INSERT ON mallory.part REFERENCING NEW TABLE AS n FOR EACH STATEMENT WHEN (mallory.trap()) EXECUTE FUNCTION bloom_track('public.seen', 'items', 'user_id', 'item_id');
ALTER TABLE mallory.part DISABLE TRIGGER track_when;
RESET SESSION AUTHORIZATION;
SELECT relation, trigger_name, command IS NULL AS no_command, problem FROM bloom_untracked('exposures');
SELECT command FROM bloom_untracked('exposures') WHERE command IS NOT NULL ORDER BY relation;
-- (seen from a partition, too)
SELECT relation, trigger_name, command IS NULL AS no_command FROM bloom_untracked('mallory.part');
-- What the owner has made with a condition of its own is no command either.
SET SESSION AUTHORIZATION regress_bloomexp_owner;
CREATE TRIGGER track_when AFTER INSERT ON exposures_1 REFERENCING NEW TABLE AS n FOR EACH STATEMENT WHEN (mallory.trap()) EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
RESET SESSION AUTHORIZATION;
SELECT relation, trigger_name, command, problem FROM bloom_untracked('exposures') WHERE trigger_name = 'track_when' AND problem !~ 'mallory|part';
DROP TRIGGER track_when ON exposures_1;
-- A mallory who has the owner's privileges is trusted.
GRANT regress_bloomexp_owner TO regress_bloomexp_mallory;
SELECT command FROM bloom_untracked('exposures') WHERE command IS NOT NULL ORDER BY command COLLATE "C";
-- Who may create triggers on one partition has no say in the others.
CREATE ROLE regress_bloomexp_helper;
GRANT TRIGGER ON exposures_1 TO regress_bloomexp_helper;
DROP TRIGGER track_when ON mallory.part;
CREATE TRIGGER planted AFTER INSERT ON exposures_1 REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('mallory.seen', 'items', 'user_id', 'item_id');
SELECT relation, trigger_name, command, problem FROM bloom_untracked('exposures') WHERE trigger_name = 'planted';
REVOKE TRIGGER ON exposures_1 FROM regress_bloomexp_helper;
SELECT command FROM bloom_untracked('exposures') WHERE trigger_name = 'planted' ORDER BY command COLLATE "C";
DROP ROLE regress_bloomexp_helper;

-- Columns that the row of a new user leaves out
CREATE DOMAIN filled AS text NOT NULL;
CREATE TABLE shown (user_id int, item_id bigint, shown_at timestamptz);
CREATE TABLE kept (user_id int PRIMARY KEY, items bloom, today bloom, name text DEFAULT '' NOT NULL, id bigint GENERATED ALWAYS AS IDENTITY, twice int GENERATED ALWAYS AS (user_id * 2) STORED NOT NULL);
CREATE TRIGGER track AFTER INSERT ON shown REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('kept', 'items', 'user_id', 'item_id', 'live=today');
SELECT * FROM bloom_untracked('shown');
ALTER TABLE kept ADD region text NOT NULL;
SELECT trigger_name, command, problem FROM bloom_untracked('shown');
\set VERBOSITY terse
INSERT INTO shown VALUES (1, 1, now());
CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.region := 'here'; RETURN NEW; END $$;
CREATE TRIGGER fill BEFORE INSERT ON kept FOR EACH ROW EXECUTE FUNCTION fill();
SELECT problem FROM bloom_untracked('shown');
INSERT INTO shown VALUES (1, 1, now());
-- (a trigger comes too late for a domain)
ALTER TABLE kept ALTER region TYPE filled, ALTER region DROP NOT NULL;
SELECT problem FROM bloom_untracked('shown');
INSERT INTO shown VALUES (2, 1, now());
\set VERBOSITY default
ALTER TABLE kept ALTER region SET DEFAULT 'nowhere';
SELECT problem FROM bloom_untracked('shown');
INSERT INTO shown VALUES (2, 1, now());

-- A command does not spread a mistake.
CREATE TABLE split (user_id int, item_id bigint) PARTITION BY LIST (user_id);
CREATE TABLE split_1 PARTITION OF split DEFAULT;
CREATE TRIGGER track AFTER INSERT ON split REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('kept', 'items', 'user_id', 'item', 'live=today');
SELECT * FROM bloom_untracked('split');

-- Who looks keeps no lock.
BEGIN;
SELECT count(*) FROM bloom_untracked('shown');
SELECT relation::regclass, mode FROM pg_locks WHERE relation IN ('shown'::regclass, 'kept'::regclass);
COMMIT;
DROP TABLE split;

-- Whatever backslashes mean to the session (PostgreSQL 19 knows no other strings), which has no plan yet
\c -
SET client_min_messages = warning;
DO $$
BEGIN
	IF current_setting('server_version_num')::int < 190000 THEN
		SET standard_conforming_strings = off;
		SET escape_string_warning = off;
	END IF;
END
$$;
SELECT bloom_take('kept', 2, '{1}'::bigint[]);
INSERT INTO shown VALUES (2, 1, now());
SELECT * FROM bloom_untracked('shown');
RESET standard_conforming_strings;
RESET escape_string_warning;

DROP TABLE shown, kept;
DROP FUNCTION fill;
DROP DOMAIN filled;
DROP TABLE exposures, seen;
DROP OWNED BY regress_bloomexp_mallory, regress_bloomexp_owner CASCADE;
DROP ROLE regress_bloomexp_mallory, regress_bloomexp_owner;
