--
-- Who may do what: the roles of doc/security-guide.md.  Each can do its work, and not that of the others.
--
SET client_min_messages = warning;
\set VERBOSITY terse

CREATE ROLE regress_bloomexp_app;
CREATE ROLE regress_bloomexp_job;
CREATE ROLE regress_bloomexp_reader;
CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL, shown_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX ON exposures (user_id, shown_at);
CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom);
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
INSERT INTO exposures VALUES (1, 11), (2, 21);

GRANT INSERT ON exposures TO regress_bloomexp_app;
GRANT SELECT, INSERT, UPDATE ON seen TO regress_bloomexp_app;
GRANT SELECT ON exposures TO regress_bloomexp_job;
GRANT SELECT, INSERT, UPDATE, DELETE ON seen TO regress_bloomexp_job;
GRANT SELECT ON seen TO regress_bloomexp_reader;

-- The application reads filters, and adds in both ways, for users with and without a filter.
SET ROLE regress_bloomexp_app;
SELECT '{11,12}'::bigint[] - (SELECT items FROM seen WHERE user_id = 1) AS fresh;
INSERT INTO exposures VALUES (1, 12), (3, 31);
INSERT INTO seen AS f (user_id, items) SELECT u, bloom_add(NULL, 13) FROM generate_series(1, 4, 3) AS u
ON CONFLICT (user_id) DO UPDATE SET items = bloom_add(f.items, 13);
SELECT user_id, bloom_contains_each(items, '{11,12,13}'::bigint[]) FROM seen ORDER BY user_id;
-- It neither reads exposures nor deletes anything nor rebuilds.
SELECT count(*) FROM exposures;
DELETE FROM exposures;
DELETE FROM seen;
TRUNCATE seen;
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
RESET ROLE;

-- The job rebuilds: user 4 has no exposure and loses the filter, and 2 and 5 get one.
UPDATE seen SET items = NULL WHERE user_id = 2;
ALTER TABLE exposures DISABLE TRIGGER track;
INSERT INTO exposures VALUES (5, 51);
ALTER TABLE exposures ENABLE TRIGGER track;
SET ROLE regress_bloomexp_job;
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
SELECT user_id, bloom_contains_each(items, '{11,12,13,21,31,51}'::bigint[]) FROM seen ORDER BY user_id;
-- It writes no exposures.
INSERT INTO exposures VALUES (6, 61);
UPDATE exposures SET item_id = 0;
DELETE FROM exposures;
RESET ROLE;

-- Who reads can exclude, ask and watch.
SET ROLE regress_bloomexp_reader;
SELECT '{21,22}'::bigint[] - (SELECT items FROM seen WHERE user_id = 2) AS fresh;
SELECT sum((bloom_info(items)).items) FROM seen;
INSERT INTO seen VALUES (7, bloom_new());
UPDATE seen SET items = bloom_add(items, 22);
DELETE FROM seen;
SELECT FROM seen FOR UPDATE;
SELECT count(*) FROM exposures;
INSERT INTO exposures VALUES (7, 71);
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
RESET ROLE;

-- Each privilege is needed: without it the work fails.
CREATE FUNCTION without(privilege text, rel regclass, who regrole, work text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text;
BEGIN
	EXECUTE format('REVOKE %s ON %s FROM %s', privilege, rel, who);
	EXECUTE format('SET LOCAL ROLE %s', who);
	BEGIN
		EXECUTE work;
		message := 'it worked';
	EXCEPTION WHEN insufficient_privilege THEN
		message := SQLERRM;
	END;
	RESET ROLE;
	EXECUTE format('GRANT %s ON %s TO %s', privilege, rel, who);
	RETURN message;
END
$$;
SELECT privilege, rel, without(privilege, rel, 'regress_bloomexp_app', 'INSERT INTO exposures VALUES (8, 81)')
FROM (VALUES ('INSERT', 'exposures'::regclass), ('SELECT', 'seen'), ('INSERT', 'seen'), ('UPDATE', 'seen')) AS p (privilege, rel);
-- (a CALL commits, so it can't be in a function)
SELECT format('REVOKE %s ON %s FROM regress_bloomexp_job', privilege, rel), 'SET ROLE regress_bloomexp_job',
	$$CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at')$$, 'RESET ROLE',
	format('GRANT %s ON %s TO regress_bloomexp_job', privilege, rel)
FROM (VALUES ('SELECT', 'exposures'), ('SELECT', 'seen'), ('INSERT', 'seen'), ('UPDATE', 'seen'), ('DELETE', 'seen')) AS p (privilege, rel)
\gexec

DROP FUNCTION without;
DROP TABLE exposures, seen;
DROP ROLE regress_bloomexp_app, regress_bloomexp_job, regress_bloomexp_reader;
