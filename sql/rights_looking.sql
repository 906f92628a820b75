--
-- Who only looks calls nothing that others wrote: bloom_untracked(), a dry run.
--
SET client_min_messages = warning;
CREATE ROLE regress_bloomexp_mallory;
CREATE SCHEMA mallory AUTHORIZATION regress_bloomexp_mallory;
CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom);

SET SESSION AUTHORIZATION regress_bloomexp_mallory;
CREATE FUNCTION mallory.trap(anyelement) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	RAISE WARNING 'sprung by %', current_user;
	RETURN true;
END
$$;
CREATE DOMAIN mallory.d AS int CHECK (mallory.trap(VALUE));
CREATE TYPE mallory.mood AS ENUM ('sad', 'ok');
CREATE DOMAIN mallory.mood_domain AS mallory.mood CHECK (mallory.trap(VALUE));
CREATE FUNCTION mallory.to_mood(bigint) RETURNS mallory.mood LANGUAGE plpgsql AS $$ BEGIN RAISE 'a planted cast was called'; END $$;
CREATE FUNCTION mallory.of_mood(mallory.mood) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'a planted cast was called'; END $$;

-- The trap works: even NULL is checked.
\set VERBOSITY terse
SELECT NULL::mallory.d;
\set VERBOSITY default
\set SHOW_CONTEXT never

-- A domain of users, over one of ours and over an enum, in either table or both
CREATE TABLE mallory.exposures (user_id mallory.d, item_id bigint, shown_at timestamptz);
CREATE TABLE mallory.seen (user_id int PRIMARY KEY, items bloom);
CREATE TABLE mallory.domain_seen (user_id mallory.d PRIMARY KEY, items bloom);
CREATE TABLE mallory.moods (user_id mallory.mood_domain, item_id bigint, shown_at timestamptz);
CREATE TABLE mallory.mood_seen (user_id mallory.mood_domain PRIMARY KEY, items bloom);
CREATE TRIGGER track AFTER INSERT ON mallory.exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at');
CREATE TRIGGER track_domain AFTER INSERT ON mallory.exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('domain_seen', 'items', 'user_id', 'item_id', 'time=shown_at');
CREATE TRIGGER track_mood AFTER INSERT ON mallory.moods REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('mood_seen', 'items', 'user_id', 'item_id', 'time=shown_at');
RESET SESSION AUTHORIZATION;
SELECT * FROM bloom_untracked('mallory.exposures');
SELECT * FROM bloom_untracked('mallory.moods');
CALL bloom_rebuild('mallory.seen', dry_run => true);
CALL bloom_rebuild('mallory.domain_seen', dry_run => true);
CALL bloom_rebuild('mallory.mood_seen', dry_run => true);
CALL bloom_rebuild('seen', source => 'mallory.exposures', user_column => 'user_id', item_column => 'item_id', time_column => 'shown_at', dry_run => true);
-- (users who are there, and would be checked if they were written)
CREATE TABLE mallory.views (user_id bigint, item_id bigint, shown_at timestamptz);
INSERT INTO mallory.views VALUES (1, 1, now());
CALL bloom_rebuild('mallory.domain_seen', source => 'mallory.views', user_column => 'user_id', item_column => 'item_id', time_column => 'shown_at', dry_run => true);
-- a column of a table that is otherwise ours
CREATE TABLE exposures (user_id mallory.d, item_id bigint, shown_at timestamptz);
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at');
SELECT * FROM bloom_untracked('exposures');
CALL bloom_rebuild('seen', dry_run => true);
DROP TABLE exposures;

-- A cast that does not exist yet, or not any more, is refused by its types.
CREATE TABLE exposures (user_id mallory.mood, item_id bigint, shown_at timestamptz);
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at');
SELECT problem FROM bloom_untracked('exposures');
SET SESSION AUTHORIZATION regress_bloomexp_mallory;
CREATE CAST (mallory.mood AS bigint) WITH FUNCTION mallory.of_mood(mallory.mood) AS IMPLICIT;
CREATE CAST (bigint AS mallory.mood) WITH FUNCTION mallory.to_mood(bigint) AS IMPLICIT;
RESET SESSION AUTHORIZATION;
SELECT problem FROM bloom_untracked('exposures');
INSERT INTO exposures VALUES ('ok', 1, now());
CALL bloom_rebuild('seen');
-- ... and an enum in both tables by its owner
CREATE TABLE moods_seen (user_id mallory.mood PRIMARY KEY, items bloom);
CREATE TRIGGER track_moods AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('moods_seen', 'items', 'user_id', 'item_id', 'time=shown_at');
SELECT trigger_name, problem FROM bloom_untracked('exposures');
SELECT bloom_take('moods_seen', 'ok'::text, '{1}'::bigint[]);
CALL bloom_rebuild('moods_seen');

-- A mallory who has our privileges is trusted.
DROP TRIGGER track ON exposures;
CREATE ROLE regress_bloomexp_owner;
GRANT CREATE ON SCHEMA public TO regress_bloomexp_owner;
GRANT USAGE ON SCHEMA mallory TO regress_bloomexp_owner;
ALTER TABLE exposures OWNER TO regress_bloomexp_owner;
ALTER TABLE moods_seen OWNER TO regress_bloomexp_owner;
SELECT trigger_name, problem FROM bloom_untracked('exposures');
GRANT regress_bloomexp_owner TO regress_bloomexp_mallory;
SELECT trigger_name, problem FROM bloom_untracked('exposures');

-- A type of users that cannot be had by any cast
CREATE TABLE points (user_id point, item_id bigint, shown_at timestamptz);
CREATE TRIGGER track AFTER INSERT ON points REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at');
SELECT problem FROM bloom_untracked('points');

-- Many triggers that differ keep nobody busy who looks: no longer than a few times what it took to create them.
CREATE TABLE many (user_id bigint, item_id bigint, shown_at timestamptz);
DO $$
DECLARE
	began timestamptz := clock_timestamp();
	created interval;
	n bigint;
BEGIN
	FOR i IN 1 .. 500 LOOP
		EXECUTE format('CREATE TRIGGER track%s AFTER INSERT ON many REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT '
			'EXECUTE FUNCTION bloom_track(''seen'', ''items'', ''user_id'', ''item_id'', ''time=shown_at'', ''fpr=0.0%1$s'')', i);
	END LOOP;
	created := clock_timestamp() - began;
	began := clock_timestamp();
	SELECT count(*) INTO n FROM bloom_untracked('many') WHERE problem LIKE 'triggers % define the filters differently%';
	RAISE WARNING '% triggers, %', n, CASE WHEN clock_timestamp() - began < 3 * created THEN 'in time' ELSE 'too slow' END;
END $$;

DROP TABLE many, points, exposures, moods_seen, seen;
DROP OWNED BY regress_bloomexp_mallory, regress_bloomexp_owner CASCADE;
DROP ROLE regress_bloomexp_mallory, regress_bloomexp_owner;
