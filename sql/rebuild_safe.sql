--
-- What bloom_rebuild() must not evaluate, and when it must refuse.  (What others do while it runs: test/specs/rebuild_meanwhile.spec.)
--
SET client_min_messages = warning;
SET timezone = 'UTC';
\set SHOW_CONTEXT never

CREATE ROLE regress_bloomexp_owner;
CREATE ROLE regress_bloomexp_job;
CREATE SCHEMA safe;
GRANT USAGE, CREATE ON SCHEMA safe TO regress_bloomexp_owner;
GRANT USAGE ON SCHEMA safe TO regress_bloomexp_job;

--
-- Users are read by their type's input function, never by casts: the owner of a type can make a cast to its arrays.
--
SET ROLE regress_bloomexp_owner;
CREATE TYPE safe.mood AS ENUM ('sad', 'o''k, \ {fine}', '$1 %1$s %%', 'NULL', '');
CREATE TABLE safe.felt (mood safe.mood, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE TABLE safe.felt_seen (mood safe.mood PRIMARY KEY, items bloom);
INSERT INTO safe.felt SELECT m, n FROM unnest(enum_range(NULL::safe.mood)) WITH ORDINALITY AS m (m, n);
INSERT INTO safe.felt_seen SELECT m FROM unnest(enum_range(NULL::safe.mood)) AS m WHERE m <> 'sad';
CREATE FUNCTION safe.trap(text[]) RETURNS safe.mood[] LANGUAGE plpgsql AS $$ BEGIN RAISE 'cast as %', current_user; END $$;
CREATE CAST (text[] AS safe.mood[]) WITH FUNCTION safe.trap(text[]);
RESET ROLE;
CALL bloom_rebuild('safe.felt_seen', 'items', 'safe.felt', 'mood', 'item_id', 'shown_at', dry_run => true);
CALL bloom_rebuild('safe.felt_seen', 'items', 'safe.felt', 'mood', 'item_id', 'shown_at', batch_size => 2);
CREATE VIEW felt_state AS SELECT mood, items @> item_id AS has FROM safe.felt LEFT JOIN safe.felt_seen USING (mood) ORDER BY mood;
SELECT * FROM felt_state;
UPDATE safe.felt_seen SET items = NULL;
CALL bloom_rebuild('safe.felt_seen', 'items', 'safe.felt', 'mood', 'item_id', 'shown_at',
	users => enum_range(NULL::safe.mood)::text::text[], start_after => 'sad', batch_size => 1);
SELECT * FROM felt_state;
-- and whatever strings mean in the session
SET standard_conforming_strings = off;
SET backslash_quote = off;
SET escape_string_warning = off;
UPDATE safe.felt_seen SET items = NULL;
CALL bloom_rebuild('safe.felt_seen', 'items', 'safe.felt', 'mood', 'item_id', 'shown_at', batch_size => 2);
CALL bloom_rebuild('safe.felt_seen', 'items', 'safe.felt', 'mood', 'item_id', 'shown_at', users => enum_range(NULL::safe.mood)::text::text[]);
CREATE TRIGGER track AFTER INSERT ON safe.felt REFERENCING NEW TABLE AS n FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('felt_seen', 'items', 'mood', 'item_id', 'time=shown_at');
UPDATE safe.felt_seen SET items = NULL;
CALL bloom_rebuild('safe.felt_seen');
RESET standard_conforming_strings;
RESET backslash_quote;
RESET escape_string_warning;
SELECT * FROM felt_state;
DROP VIEW felt_state;
DROP TABLE safe.felt, safe.felt_seen;
DROP CAST (text[] AS safe.mood[]);
DROP FUNCTION safe.trap;
DROP TYPE safe.mood;

-- Names and conditions that look like parts of the statements
CREATE TABLE safe."%1$L %%" ("$1 %s" text, "%4$s" int, "%" timestamptz DEFAULT now());
CREATE TABLE safe."$1 %1$s" ("%2$L" text PRIMARY KEY, "%I" bloom);
INSERT INTO safe."%1$L %%" VALUES ('%1$L', 1), ('$1', 2), ('%', 3), ('\', 4), ('''', 5), ('"', 6), ('%5$s', 7);
CALL bloom_rebuild('safe."$1 %1$s"', source => 'safe."%1$L %%"', user_column => '$1 %s', item_column => '%4$s', time_column => '%',
	target_user_column => '%2$L', condition => '"$1 %s" NOT IN (''%3$s'', ''$2'', ''%5$s'')', batch_size => 2);
SELECT "%2$L", "%I" @> "%4$s" AS has FROM safe."$1 %1$s" FULL JOIN safe."%1$L %%" ON "%2$L" = "$1 %s" ORDER BY "%4$s";
DROP TABLE safe."%1$L %%", safe."$1 %1$s";

--
-- A dry run only looks: no CHECK of a domain is evaluated.
--
CREATE TYPE safe.mood AS ENUM ('sad', 'ok');
CREATE FUNCTION safe.check_mood(safe.mood) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'checked as %', current_user; END $$;
CREATE DOMAIN safe.some_mood AS safe.mood;
CREATE TABLE safe.felt (mood safe.some_mood, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE TABLE safe.felt_seen (mood safe.some_mood PRIMARY KEY, items bloom);
ALTER DOMAIN safe.some_mood ADD CHECK (safe.check_mood(VALUE)) NOT VALID;
\set VERBOSITY terse
CALL bloom_rebuild('safe.felt_seen', 'items', 'safe.felt', 'mood', 'item_id', 'shown_at', dry_run => true);
\set VERBOSITY default
DROP TABLE safe.felt, safe.felt_seen;
DROP DOMAIN safe.some_mood;
DROP FUNCTION safe.check_mood;
DROP TYPE safe.mood;

--
-- Policies are an error wherever they hide, here in a function that no planner looks into.
--
CREATE TABLE safe.exposures (user_id int, item_id int, shown_at timestamptz DEFAULT now());
CREATE TABLE safe.seen (user_id int PRIMARY KEY, items bloom);
INSERT INTO safe.exposures SELECT u, i FROM generate_series(1, 3) AS u, generate_series(1, 5) AS i;
CREATE FUNCTION safe.behind() RETURNS SETOF safe.exposures LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN QUERY SELECT * FROM safe.exposures; END $$;
CREATE VIEW safe.shown AS SELECT * FROM safe.behind();
GRANT SELECT ON safe.exposures, safe.shown TO regress_bloomexp_job;
GRANT SELECT, INSERT, UPDATE, DELETE ON safe.seen TO regress_bloomexp_job;
CREATE VIEW filters AS SELECT user_id, (bloom_info(items)).items FROM safe.seen ORDER BY user_id;
CALL bloom_rebuild('safe.seen', 'items', 'safe.shown', 'user_id', 'item_id', 'shown_at');
SELECT * FROM filters;
ALTER TABLE safe.exposures ENABLE ROW LEVEL SECURITY;
CREATE POLICY only_1 ON safe.exposures USING (user_id = 1);
SET ROLE regress_bloomexp_job;
CALL bloom_rebuild('safe.seen', 'items', 'safe.shown', 'user_id', 'item_id', 'shown_at', dry_run => true);
CALL bloom_rebuild('safe.seen', 'items', 'safe.shown', 'user_id', 'item_id', 'shown_at');
CALL bloom_rebuild('safe.seen', 'items', 'safe.shown', 'user_id', 'item_id', 'shown_at', users => '{2}');
RESET ROLE;
SELECT * FROM filters;
DROP POLICY only_1 ON safe.exposures;
ALTER TABLE safe.exposures DISABLE ROW LEVEL SECURITY;
DROP VIEW filters;

-- It leaves the caller's settings as they are, also for what follows in a block.
CREATE PROCEDURE tell_settings() LANGUAGE plpgsql AS $$
BEGIN
	RAISE WARNING '%', (SELECT string_agg(name || '=' || setting, ', ' ORDER BY name) FROM pg_settings
		WHERE name IN ('row_security', 'datestyle', 'extra_float_digits', 'jit', 'lock_timeout', 'transaction_isolation', 'search_path', 'enable_sort'));
END
$$;
SET jit = on;
SET datestyle = 'German';
SET default_transaction_isolation = 'serializable';
DO $$
BEGIN
	CALL tell_settings();
	CALL bloom_rebuild('safe.seen', 'items', 'safe.exposures', 'user_id', 'item_id', 'shown_at');
	CALL tell_settings();
	CALL bloom_rebuild('safe.seen', 'items', 'safe.exposures', 'user_id', 'item_id', 'shown_at', dry_run => true);
	CALL tell_settings();
END
$$;
SET row_security = off;
CALL bloom_rebuild('safe.seen', 'items', 'safe.exposures', 'user_id', 'item_id', 'shown_at');
SHOW row_security;
RESET row_security;
RESET jit;
RESET datestyle;
RESET default_transaction_isolation;
DROP PROCEDURE tell_settings;

--
-- Who may not change filters keeps no rebuild away.
--
ALTER TABLE safe.seen ADD nick text, ADD second bloom;
REVOKE ALL ON safe.seen FROM regress_bloomexp_job;
GRANT SELECT, INSERT, DELETE, UPDATE (nick, user_id) ON safe.seen TO regress_bloomexp_job;
SET ROLE regress_bloomexp_job;
CALL bloom_rebuild('safe.seen', 'items', 'safe.exposures', 'user_id', 'item_id', 'shown_at');
CALL bloom_rebuild('safe.seen', 'items', 'safe.exposures', 'user_id', 'item_id', 'shown_at', part => 1, parts => 2);
RESET ROLE;
GRANT UPDATE (second) ON safe.seen TO regress_bloomexp_job;
SET ROLE regress_bloomexp_job;
CALL bloom_rebuild('safe.seen', 'items', 'safe.exposures', 'user_id', 'item_id', 'shown_at');
CALL bloom_rebuild('safe.seen', 'second', 'safe.exposures', 'user_id', 'item_id', 'shown_at');
RESET ROLE;
ALTER TABLE safe.seen DROP second;
ALTER TABLE safe.seen DROP nick;

--
-- It commits, so it refuses to start where it can't.
--
CREATE PROCEDURE rebuild(dry_run boolean DEFAULT false) LANGUAGE plpgsql AS $$
BEGIN
	CALL bloom_rebuild('safe.seen', 'items', 'safe.exposures', 'user_id', 'item_id', 'shown_at', dry_run => dry_run);
END
$$;
CREATE PROCEDURE rebuild_and_set() LANGUAGE plpgsql SET work_mem = '1MB' AS $$ BEGIN CALL rebuild(); END $$;
CREATE FUNCTION rebuild_in_function(dry_run boolean) RETURNS void LANGUAGE plpgsql AS $$ BEGIN CALL rebuild(dry_run); END $$;
TRUNCATE safe.seen;
BEGIN;
CALL bloom_rebuild('safe.seen', 'items', 'safe.exposures', 'user_id', 'item_id', 'shown_at');
ROLLBACK;
\set VERBOSITY terse
BEGIN;
CALL rebuild(true);
ROLLBACK;
BEGIN;
DO $$ BEGIN CALL rebuild(); END $$;
ROLLBACK;
BEGIN;
SAVEPOINT one;
CALL rebuild();
ROLLBACK;
SELECT 1 \; CALL rebuild();
CALL rebuild() \; SELECT 1;
CALL rebuild(true) \; CALL rebuild();
SELECT rebuild_in_function(false);
SELECT rebuild_in_function(true);
CALL rebuild_and_set();
DO $$ BEGIN CALL rebuild(); EXCEPTION WHEN division_by_zero THEN NULL; END $$;
DO $$ BEGIN EXECUTE 'CALL rebuild(true)'; END $$;
-- (nothing of it stays behind)
DO $$ BEGIN PERFORM rebuild_in_function(false); EXCEPTION WHEN invalid_transaction_termination THEN RAISE WARNING '%, search_path %', sqlerrm, current_setting('search_path'); END $$;
SELECT count(*) FROM safe.seen;
-- ... and where it can
DO $$ BEGIN CALL rebuild(true); CALL rebuild(); COMMIT; CALL rebuild(); END $$;
SELECT count(*) FROM safe.seen;
\set VERBOSITY default
DROP PROCEDURE rebuild, rebuild_and_set;
DROP FUNCTION rebuild_in_function;

DROP SCHEMA safe CASCADE;
DROP OWNED BY regress_bloomexp_owner, regress_bloomexp_job;
DROP ROLE regress_bloomexp_owner, regress_bloomexp_job;
