--
-- What an application's tables, arguments and roles may be, and what must not come of it.
--
\set VERBOSITY terse
SET client_min_messages = error;

-- Columns that are called like variables of the generated functions.
CREATE TABLE hostile (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now(),
	since timestamptz DEFAULT 'infinity', these bigint[] DEFAULT '{0}', upto bigint DEFAULT 0, was_after bigint DEFAULT 0,
	rest_fpr float8 DEFAULT 1, empty text, shown text, users bigint[], v int, e int, i int, f int, filled int, parts int, part int);
CREATE INDEX ON hostile (user_id, shown_at, item_id);
SELECT bloom_create_feed('h_trigger', 'hostile');
SELECT bloom_create_feed('h_log', 'hostile', mode => 'log');
INSERT INTO hostile (user_id, item_id) SELECT u, n FROM generate_series(1, 300) AS u, generate_series(1, 5) AS n;
SELECT h_trigger.unseen(7, '{1,5,6}'), h_log.unseen(7, '{1,5,6}');
CALL h_trigger.rebuild();
CALL h_log.rebuild();
SELECT h_trigger.unseen(7, '{1,5,6}'), h_log.unseen(7, '{1,5,6}'), (SELECT count(*) FROM h_trigger.filters);

-- Arguments of rebuilds.
CALL h_trigger.rebuild(dry_run => NULL);
CALL h_trigger.rebuild(allow_empty => NULL);
CALL h_trigger.rebuild(overlap => '-1 day');
CALL h_trigger.rebuild(part => 3, parts => 2);
SELECT h_trigger.rebuild_batch(ARRAY(SELECT g FROM generate_series(1, 1001) AS g), 1, 1, '0', false, false, NULL);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT h_trigger.rebuild_batch('{1}', 1, 1, '0', false, false, NULL);
ROLLBACK;
CALL h_trigger.rebuild(users => '[5:6]={1,2}');
SELECT count(*) FROM h_trigger.filters;

-- A row that is kept away from the table of filters is an error, not an item that is taken twice.
CREATE FUNCTION keep_away() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER keep_away BEFORE INSERT ON h_trigger.filters FOR EACH ROW EXECUTE FUNCTION keep_away();
SELECT h_trigger.take(1000, '{1,2}', 1);
INSERT INTO hostile (user_id, item_id) VALUES (1000, 1);
DROP TRIGGER keep_away ON h_trigger.filters;
CREATE TRIGGER keep_away BEFORE UPDATE ON h_trigger.filters FOR EACH ROW EXECUTE FUNCTION keep_away();
SELECT h_trigger.take(1, '{77}');
INSERT INTO hostile (user_id, item_id) VALUES (1, 77);
DROP TRIGGER keep_away ON h_trigger.filters;
DROP FUNCTION keep_away();

-- A trigger of others' table does not run with the rights of the feed's owner.
CREATE ROLE regress_bloomexp_hostile;
GRANT USAGE ON SCHEMA h_trigger TO regress_bloomexp_hostile;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA h_trigger TO regress_bloomexp_hostile;
GRANT TEMP ON DATABASE :"DBNAME" TO regress_bloomexp_hostile;
SET ROLE regress_bloomexp_hostile;
CREATE TEMP TABLE mine (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE TRIGGER t AFTER INSERT ON mine REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION h_trigger.track();
\set VERBOSITY sqlstate
INSERT INTO mine VALUES (1, 99);
\set VERBOSITY terse
DROP TABLE mine;
RESET ROLE;
SELECT h_trigger.unseen(1, '{99}');

-- Rights by default reach nothing of a feed.
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO regress_bloomexp_hostile;
ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO regress_bloomexp_hostile;
SELECT bloom_create_feed('h_default', 'hostile');
SELECT has_table_privilege('regress_bloomexp_hostile', 'h_default.filters', 'SELECT, INSERT, UPDATE, DELETE, TRIGGER') AS filters,
	has_table_privilege('regress_bloomexp_hostile', 'h_default.health', 'SELECT') AS health,
	(SELECT count(*) FROM pg_proc WHERE pronamespace = 'h_default'::regnamespace AND has_function_privilege('regress_bloomexp_hostile', oid, 'EXECUTE')) AS routines;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM regress_bloomexp_hostile;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON FUNCTIONS FROM regress_bloomexp_hostile;

-- A child table, a level of a domain, and a schema that belong to others.
CREATE TABLE hostile_child () INHERITS (hostile);
ALTER TABLE hostile_child OWNER TO regress_bloomexp_hostile;
CREATE SCHEMA hostile AUTHORIZATION regress_bloomexp_hostile;
SET ROLE regress_bloomexp_hostile;
CREATE DOMAIN hostile.d AS bigint;
RESET ROLE;
CREATE DOMAIN d AS hostile.d;
CREATE DOMAIN dd AS d NOT NULL;
CREATE TABLE of_domains (user_id dd, item_id bigint, shown_at timestamptz);
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT bloom_create_feed('h_child', 'hostile');
SELECT bloom_create_feed('h_domains', 'of_domains');
\set VERBOSITY terse
DROP TABLE hostile_child;

-- A comment that is no call of ours is not listed.
CREATE SCHEMA h_comment;
COMMENT ON SCHEMA h_comment IS 'bloomexp 1.0: SELECT 1; DROP TABLE hostile; --';
SELECT feed, owner = current_user AS mine, version, command FROM bloom_feeds() WHERE feed LIKE 'h\_%' ORDER BY feed;

-- A feed with slices is no feed without, and types keep their length.
SELECT bloom_feed_sql('h_trigger', 'hostile', slices => 10);
CREATE TABLE lengths (user_id char(3), item_id char(4), shown_at timestamp);
CREATE INDEX ON lengths (user_id);
SELECT bloom_create_feed('h_lengths', 'lengths');
INSERT INTO lengths VALUES ('abc', 'wxyz', now() AT TIME ZONE 'UTC');
SELECT h_lengths.take('abc', '{wxyz,next}', 1);
CALL h_lengths.rebuild();
SELECT h_lengths.unseen('abc', '{wxyz,next}');

DROP SCHEMA h_trigger, h_log, h_default, h_lengths, h_comment CASCADE;
DROP TABLE hostile, of_domains, lengths;
DROP DOMAIN dd, d;
DROP SCHEMA hostile CASCADE;
REVOKE TEMP ON DATABASE :"DBNAME" FROM regress_bloomexp_hostile;
DROP ROLE regress_bloomexp_hostile;
