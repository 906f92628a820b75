--
-- What others wrote is not called by who only reads a condition: not in the caller's name, nor in that of any owner.
--
SET client_min_messages = warning;
CREATE ROLE regress_bloomexp_mallory;
CREATE ROLE regress_bloomexp_writer;
CREATE SCHEMA mallory AUTHORIZATION regress_bloomexp_mallory;
CREATE TABLE secret (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE TABLE secret_seen (user_id bigint PRIMARY KEY, items bloom);
GRANT SELECT, INSERT ON secret TO regress_bloomexp_writer;

SET SESSION AUTHORIZATION regress_bloomexp_mallory;
CREATE FUNCTION mallory.trap(anyelement) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RAISE WARNING 'sprung by %', current_user;
	RETURN true;
END
$$;
CREATE FUNCTION mallory.leak(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	PERFORM set_config('search_path', 'mallory, pg_catalog', false);
	RETURN mallory.trap($1);
END
$$;
CREATE DOMAIN mallory.d AS int CHECK (mallory.trap(VALUE));
CREATE DOMAIN mallory.leaking AS int CHECK (mallory.leak(VALUE));
CREATE DOMAIN mallory.checked_text AS text COLLATE "C" CHECK (mallory.trap(VALUE));
CREATE DOMAIN mallory.innocent AS int;
CREATE TYPE mallory.row_of AS (n int, d mallory.d);
CREATE TYPE mallory.row_of_row AS (n int, r mallory.row_of);
CREATE TYPE mallory.plain AS (n int, t text);
CREATE DOMAIN mallory.row_domain AS mallory.plain CHECK (mallory.trap(VALUE));
CREATE TYPE mallory.range_of AS RANGE (subtype = mallory.checked_text);
-- (its multirange is called so from PostgreSQL 14 on)
CREATE TYPE mallory.plain_range AS RANGE (subtype = text, collation = "C");
CREATE TYPE mallory.mood AS ENUM ('sad', 'ok');
CREATE TABLE mallory.exposures (user_id bigint, item_id bigint, shown_at timestamptz, d mallory.d, ds mallory.d[], i mallory.innocent, mood mallory.mood);
CREATE TABLE mallory.seen (user_id bigint PRIMARY KEY, items bloom);

-- The trap works, where plain SQL goes into it.
\set VERBOSITY terse
SELECT '{1}'::mallory.d[];
-- Who looks at a trigger, of whatever form
CREATE FUNCTION pg_temp.look(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	problem text;
BEGIN
	EXECUTE format('CREATE TRIGGER track AFTER INSERT ON mallory.exposures REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION '
		'bloom_track(''seen'', ''items'', ''user_id'', ''item_id'', %L)', 'condition=' || condition);
	SELECT split_part(u.problem, E'\n', 1) INTO problem FROM bloom_untracked('mallory.exposures') AS u;
	DROP TRIGGER track ON mallory.exposures;
	RETURN problem;
END
$$;
SELECT pg_temp.look($$ '{1}'::mallory.d[] IS NULL $$);
SELECT pg_temp.look($$ '{1}'::mallory.d[] IS NULL $$);
SELECT pg_temp.look($$ '1'::mallory.d IS NULL $$);
SELECT pg_temp.look($$ mallory.d '1' IS NULL $$);
SELECT pg_temp.look($$ mallory.d('1') IS NULL $$);
SELECT pg_temp.look($$ mallory._d('{1}') IS NULL $$);
SELECT pg_temp.look($$ CAST('{1}' AS mallory.innocent[]) IS NULL $$);
SELECT pg_temp.look($$ '(1,1)'::mallory.row_of IS NULL $$);
SELECT pg_temp.look($$ '{"(1,1)"}'::mallory.row_of[] IS NULL $$);
SELECT pg_temp.look($$ '(1,"(1,1)")'::mallory.row_of_row IS NULL $$);
SELECT pg_temp.look($$ '(1,a)'::mallory.row_domain IS NULL $$);
SELECT pg_temp.look($$ ROW(1, '1')::mallory.row_of IS NULL $$);
SELECT pg_temp.look($$ '[a,b)'::mallory.range_of IS NULL $$);
SELECT pg_temp.look($$ '{"[a,b)"}'::mallory.range_of[] IS NULL $$);
SELECT pg_temp.look($$ '(1,2,"{1}",,)'::mallory.exposures IS NULL $$);
DO $$
BEGIN
	IF current_setting('server_version_num')::int >= 140000 THEN
		RAISE WARNING '%', pg_temp.look('''{[a,b)}''::mallory.multirange_of IS NULL');
	ELSE
		RAISE WARNING 'condition must not have a constant of type mallory.multirange_of';
	END IF;
END
$$;
-- ... and where the parser finds the type by itself
SELECT pg_temp.look($$ ds = '{1}' $$);
SELECT pg_temp.look($$ ds IN ('{1}', '{2}') $$);
SELECT pg_temp.look($$ ds BETWEEN '{1}' AND '{2}' $$);
SELECT pg_temp.look($$ ds = CASE WHEN item_id > 0 THEN '{1}' ELSE '{2}' END $$);
SELECT pg_temp.look($$ ds = COALESCE('{1}', ds) $$);
SELECT pg_temp.look($$ ARRAY['1', d] IS NULL $$);
SELECT pg_temp.look($$ ds = ANY (ARRAY[ds, '{1}']) $$);
-- What reads nothing calls nothing.
SELECT pg_temp.look($$ NULL::mallory.d IS NULL AND NULL::mallory.d[] IS NULL AND NULL::mallory.row_of IS NULL AND 1::mallory.d IS NULL
	AND ARRAY[1]::mallory.d[] IS NULL AND ARRAY[1, user_id]::mallory.d[] IS NULL AND ROW(1, 1)::mallory.row_of IS NULL
	AND (CASE WHEN user_id = 1 THEN 1 ELSE 2 END)::mallory.d IS NULL AND 1::mallory.d IN (1, 2) AND 1::mallory.d BETWEEN 0 AND 2 $$);
-- Constants of other types, and those that are compared to a domain, are as before.
SELECT pg_temp.look($$ d = '5' AND d IN ('5', '6') AND i = '7' AND ds[1] = '8' $$);
SELECT pg_temp.look($$ mood = 'ok' AND mood IN ('ok', 'sad') AND mood = ANY ('{ok,sad}') AND mallory.mood('ok') = mood $$);
SELECT pg_temp.look($$ '(1,a)'::mallory.plain = ROW(1, 'a')::mallory.plain AND '[a,b)'::mallory.plain_range @> 'a'::text $$);
SELECT pg_temp.look($$ 'x' IS NOT NULL AND interval '1' day > '2 hours' AND date('2026-01-02') > '2026-01-01' AND '3.14'::numeric(3, 1) > 3 $$);

-- Nothing temporary, which another session does not have.
CREATE FUNCTION pg_temp.f(bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
CREATE TYPE pg_temp.mood AS ENUM ('sad', 'ok');
SELECT pg_temp.look($$ pg_temp.f(item_id) $$);
SELECT pg_temp.look($$ 'ok'::pg_temp.mood IS NULL $$);
SELECT pg_temp.look($$ 'ok'::mood IS NULL $$);

-- The argument of a rebuild
CALL bloom_rebuild('mallory.seen', source => 'pg_catalog.pg_stat_activity', user_column => 'pid', item_column => 'usename', time_column => 'backend_start',
	target_user_column => 'user_id', condition => $$ '{1}'::mallory.d[] IS NOT NULL $$, dry_run => true);

-- The argument of a trigger on a table of somebody else's, which a third one writes
RESET SESSION AUTHORIZATION;
GRANT TRIGGER ON secret TO regress_bloomexp_mallory;
GRANT SELECT, INSERT, UPDATE ON mallory.seen TO regress_bloomexp_writer;
GRANT USAGE ON SCHEMA mallory TO regress_bloomexp_writer;
SET SESSION AUTHORIZATION regress_bloomexp_mallory;
CREATE TRIGGER track AFTER INSERT ON secret REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION
	bloom_track('mallory.seen', 'items', 'user_id', 'item_id', 'time=shown_at', 'condition=''{1}''::mallory.d[] IS NOT NULL');
SET SESSION AUTHORIZATION regress_bloomexp_writer;
INSERT INTO secret VALUES (1, 1);
RESET SESSION AUTHORIZATION;
DROP TRIGGER track ON secret;

-- The argument of a trigger of mallory's own, at which a superuser looks, whose settings stay
CREATE FUNCTION mallory.now() RETURNS timestamptz LANGUAGE sql AS 'SELECT NULL::timestamptz';
CREATE TRIGGER track AFTER INSERT ON mallory.exposures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION
	bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at', 'condition=''{1}''::mallory.leaking[] IS NOT NULL');
SELECT relation, trigger_name, problem FROM bloom_untracked('mallory.exposures');
SHOW search_path;
SELECT now() IS NOT NULL AS is_ours;
RESET search_path;
CALL bloom_rebuild('mallory.seen', dry_run => true);
RESET search_path;
SELECT bloom_take('mallory.seen', 1, '{1}'::bigint[]);
SHOW search_path;

DROP TABLE secret, secret_seen;
DROP OWNED BY regress_bloomexp_mallory, regress_bloomexp_writer CASCADE;
DROP ROLE regress_bloomexp_mallory, regress_bloomexp_writer;
