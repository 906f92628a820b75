--
-- Row-level security: the policies of doc/security-guide.md with bloom_track() and bloom_rebuild(), which run with the
-- rights of the caller, and what goes wrong without them.
--
SET client_min_messages = warning;
\set VERBOSITY terse

CREATE ROLE regress_bloomexp_app;
CREATE ROLE regress_bloomexp_job;
CREATE ROLE regress_bloomexp_night BYPASSRLS;
CREATE TABLE users (user_id bigint PRIMARY KEY, tenant integer NOT NULL);
INSERT INTO users VALUES (1, 7), (2, 7), (3, 8), (4, 8), (5, 7);
CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL, shown_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX ON exposures (user_id, shown_at);
CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom);
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
GRANT SELECT ON users TO regress_bloomexp_app;
GRANT INSERT ON exposures TO regress_bloomexp_app;
GRANT SELECT, INSERT, UPDATE ON seen TO regress_bloomexp_app;
GRANT SELECT ON exposures TO regress_bloomexp_job, regress_bloomexp_night;
GRANT SELECT, INSERT, UPDATE, DELETE ON seen TO regress_bloomexp_job, regress_bloomexp_night;
INSERT INTO exposures VALUES (1, 1), (2, 1), (3, 1);
CREATE VIEW state AS SELECT user_id, bloom_contains_each(items, '{1,2,3,4,5,6}'::bigint[]) AS "1 to 6" FROM seen;

ALTER TABLE seen ENABLE ROW LEVEL SECURITY;
SET app.tenant = 7;

-- No policy: an error when writing, and no filter when reading, so that everything seems fresh.
SET ROLE regress_bloomexp_app;
INSERT INTO exposures VALUES (1, 2);
SELECT '{1,2}'::bigint[] - (SELECT items FROM seen WHERE user_id = 1) AS fresh;
RESET ROLE;

-- For SELECT and INSERT: new users only.
CREATE POLICY app_select ON seen FOR SELECT TO regress_bloomexp_app
	USING (EXISTS (SELECT FROM users AS u WHERE u.user_id = seen.user_id AND u.tenant = current_setting('app.tenant')::integer));
CREATE POLICY app_insert ON seen FOR INSERT TO regress_bloomexp_app
	WITH CHECK (EXISTS (SELECT FROM users AS u WHERE u.user_id = seen.user_id AND u.tenant = current_setting('app.tenant')::integer));
SET ROLE regress_bloomexp_app;
INSERT INTO seen AS f (user_id, items) VALUES (1, bloom_add(NULL, 2))
ON CONFLICT (user_id) DO UPDATE SET items = bloom_add(f.items, 2);
-- (by the trigger, too: in PostgreSQL 15.20 the same, in 15.15 and 18.3 one of its own)
DO $$
BEGIN
	INSERT INTO exposures VALUES (1, 2);
	RAISE 'an exposure was lost';
EXCEPTION WHEN insufficient_privilege THEN
	RAISE WARNING 'refused';
END
$$;
INSERT INTO exposures VALUES (5, 2);
RESET ROLE;
SELECT * FROM state ORDER BY user_id;

-- For INSERT and UPDATE, but not for SELECT: neither.
CREATE POLICY app_update ON seen FOR UPDATE TO regress_bloomexp_app
	USING (EXISTS (SELECT FROM users AS u WHERE u.user_id = seen.user_id AND u.tenant = current_setting('app.tenant')::integer));
DROP POLICY app_select ON seen;
DELETE FROM seen WHERE user_id = 5;
SET ROLE regress_bloomexp_app;
INSERT INTO exposures VALUES (1, 3);
INSERT INTO exposures VALUES (5, 3);
RESET ROLE;

-- For all three, or one for all: the tenant's users, old and new, and nobody else's.
DROP POLICY app_insert ON seen;
DROP POLICY app_update ON seen;
CREATE POLICY app ON seen TO regress_bloomexp_app
	USING (EXISTS (SELECT FROM users AS u WHERE u.user_id = seen.user_id AND u.tenant = current_setting('app.tenant')::integer));
SET ROLE regress_bloomexp_app;
INSERT INTO exposures VALUES (1, 4), (5, 4);
INSERT INTO exposures VALUES (3, 4);
INSERT INTO exposures VALUES (1, 5), (4, 5);
INSERT INTO seen AS f (user_id, items) VALUES (2, bloom_add(NULL, 6))
ON CONFLICT (user_id) DO UPDATE SET items = bloom_add(f.items, 6);
SELECT user_id FROM seen ORDER BY user_id;
SELECT '{1,4,7}'::bigint[] - (SELECT items FROM seen WHERE user_id = 1) AS own,
	'{1,4,7}'::bigint[] - (SELECT items FROM seen WHERE user_id = 3) AS others;
-- A session without a tenant gets an error, not an empty filter, because '' is no integer.
RESET app.tenant;
SELECT '{1,4,7}'::bigint[] - (SELECT items FROM seen WHERE user_id = 1) AS own;
INSERT INTO exposures VALUES (1, 5);
\connect -
SET client_min_messages = warning;
SET ROLE regress_bloomexp_app;
SELECT '{1,4,7}'::bigint[] - (SELECT items FROM seen WHERE user_id = 1) AS own;
RESET ROLE;
SELECT * FROM state ORDER BY user_id;

-- Whatever keeps the trigger from writing is an error under policies, also where PostgreSQL is silent.
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER keep BEFORE UPDATE ON seen FOR EACH ROW EXECUTE FUNCTION keep();
SET app.tenant = 7;
SET ROLE regress_bloomexp_app;
INSERT INTO exposures VALUES (1, 4), (2, 3);
INSERT INTO exposures VALUES (1, 4);
RESET ROLE;
INSERT INTO exposures VALUES (2, 3);
DROP TRIGGER keep ON seen;
-- No error: a counting filter, which each add changes, and windows for what is older than they are or shown again.
CREATE TABLE recent (user_id bigint PRIMARY KEY, items bloom);
CREATE TRIGGER track_recent AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('recent', 'items', 'user_id', 'item_id', 'time=shown_at', 'slices=6');
ALTER TABLE recent ENABLE ROW LEVEL SECURITY;
CREATE POLICY app ON recent TO regress_bloomexp_app USING (true);
GRANT SELECT, INSERT, UPDATE ON recent TO regress_bloomexp_app;
UPDATE seen SET items = bloom_add(bloom_new(100, counting => true), 1) WHERE user_id = 2;
SET ROLE regress_bloomexp_app;
INSERT INTO exposures VALUES (2, 3, now() - interval '10 days');
INSERT INTO exposures VALUES (2, 3, now()), (2, 4, now() - interval '100 days');
RESET ROLE;
SELECT f.user_id, f."1 to 6", bloom_contains_each(recent.items, '{1,2,3,4,5,6}'::bigint[]) AS recent FROM state AS f JOIN recent USING (user_id);
-- The newer exposure of a contained item counts.
CREATE TRIGGER keep BEFORE UPDATE ON recent FOR EACH ROW EXECUTE FUNCTION keep();
SET ROLE regress_bloomexp_app;
INSERT INTO exposures VALUES (2, 3, now() + interval '10 days');
RESET ROLE;
DROP TABLE recent;
DROP TRIGGER track_recent ON exposures;

--
-- The rebuild
--
-- 1 to 5 have exposures now and 6 only old ones; all filters hold item 6, which nobody was shown.
CREATE FUNCTION reset_filters() RETURNS bigint LANGUAGE sql AS $$
	DELETE FROM exposures;
	DELETE FROM seen;
	INSERT INTO exposures SELECT u, 1, now() - CASE WHEN u = 6 THEN interval '40 days' ELSE '1 day' END FROM generate_series(1, 6) AS u;
	UPDATE seen SET items = bloom_add(items, 6);
	SELECT count(*) FROM seen;
$$;
SELECT reset_filters() AS filters;

-- Filters that policies may hide from the job would stay as they are, or fail halfway: an error, whatever the policies say.
SET ROLE regress_bloomexp_job;
\set VERBOSITY default
\set SHOW_CONTEXT never
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
\set VERBOSITY terse
RESET ROLE;
CREATE POLICY job_all ON seen TO regress_bloomexp_job USING (true);
SET ROLE regress_bloomexp_job;
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', dry_run => true);
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', users => '{1}');
RESET ROLE;
SELECT * FROM state ORDER BY user_id;
ALTER TABLE seen DISABLE ROW LEVEL SECURITY;

-- Exposures that the job may not see: their users would lose what they saw, so it is refused, and so is a dry run.
ALTER TABLE exposures ENABLE ROW LEVEL SECURITY;
CREATE POLICY job_some ON exposures FOR SELECT TO regress_bloomexp_job USING (user_id = 1);
-- (views: one with the rights of its owner, to whom the policy applies, and one to whom it does not)
CREATE VIEW own_view AS SELECT * FROM exposures;
ALTER VIEW own_view OWNER TO regress_bloomexp_job;
CREATE VIEW all_view AS SELECT * FROM exposures;
GRANT SELECT ON all_view TO regress_bloomexp_job;
SET ROLE regress_bloomexp_job;
\set VERBOSITY default
\set SHOW_CONTEXT never
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
\set VERBOSITY terse
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', dry_run => true);
CALL bloom_rebuild('seen', 'items', 'own_view', 'user_id', 'item_id', 'shown_at');
CALL bloom_rebuild('seen', 'items', 'own_view', 'user_id', 'item_id', 'shown_at', dry_run => true);
RESET ROLE;
SELECT * FROM state ORDER BY user_id;
SET ROLE regress_bloomexp_job;
CALL bloom_rebuild('seen', 'items', 'all_view', 'user_id', 'item_id', 'shown_at');
RESET ROLE;
DROP VIEW own_view, all_view;
SELECT * FROM state ORDER BY user_id;
-- It does not disturb a role to which no policy applies.
SELECT reset_filters() AS filters;
ALTER TABLE seen ENABLE ROW LEVEL SECURITY;
SET ROLE regress_bloomexp_night;
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
RESET ROLE;
SELECT * FROM state ORDER BY user_id;

-- An owner, too, but not if policies are forced on it.
SELECT reset_filters() AS filters;
ALTER TABLE exposures OWNER TO regress_bloomexp_job;
ALTER TABLE seen OWNER TO regress_bloomexp_job;
DROP POLICY job_all ON seen;
DROP POLICY job_some ON exposures;
SET ROLE regress_bloomexp_job;
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
RESET ROLE;
SELECT * FROM state ORDER BY user_id;
ALTER TABLE exposures FORCE ROW LEVEL SECURITY;
SET ROLE regress_bloomexp_job;
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
RESET ROLE;
SELECT * FROM state ORDER BY user_id;

DROP FUNCTION reset_filters;
DROP VIEW state;
DROP TABLE users, exposures, seen;
DROP ROLE regress_bloomexp_app, regress_bloomexp_job, regress_bloomexp_night;
