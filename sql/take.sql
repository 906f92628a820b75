--
-- bloom_take(): candidates that are taken and remembered in one statement
--
SET client_min_messages = warning;
SET timezone = 'UTC';
\set SHOW_CONTEXT never

CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom);

-- The first that were not taken before, in order and once.  A user needs no row.
SELECT bloom_take('seen', 42, '{30,10,30,20,10,40}'::bigint[], 3);
SELECT bloom_take('seen', 42, '{30,10,50,NULL,40,50}'::bigint[], 1);
SELECT '{10,20,30,40,50}'::bigint[] - items AS not_taken FROM seen WHERE user_id = 42;
-- all of them
SELECT bloom_take('seen', 42, '{30,10,50,NULL,40,50,60}'::bigint[]);
SELECT bloom_take('seen', 42, '{30,10,50,NULL,40,50,60}'::bigint[]);
-- those of others are theirs
SELECT bloom_take('seen', 43, '{30,10,20}'::bigint[], wanted => 2);
-- within one statement, each call knows what the ones before took
SELECT bloom_take('seen', 44, ARRAY(SELECT generate_series(1::bigint, n * 3)), 2) FROM generate_series(1, 4) AS n;
SELECT bloom_take('seen', 44, ARRAY(SELECT generate_series(1::bigint, 9))), bloom_take('seen', 44, ARRAY(SELECT generate_series(1::bigint, 10)));

-- Nothing taken is nothing written.
SELECT ctid AS before FROM seen WHERE user_id = 42 \gset
SELECT bloom_take('seen', 42, '{10,20}'::bigint[]), bloom_take('seen', 42, '{}'::bigint[]), bloom_take('seen', 42, '{70,80}'::bigint[], 0),
	bloom_take('seen', 42, '{NULL,NULL}'::bigint[]), bloom_take('seen', 42, NULL::bigint[]) AS "null";
SELECT ctid = :'before' AS untouched FROM seen WHERE user_id = 42;
SELECT bloom_take('seen', 45, '{}'::bigint[]), bloom_take('seen', 45, '{1}'::bigint[], 0);
SELECT count(*) FROM seen WHERE user_id = 45;
SELECT bloom_take('seen', 42, '{10}'::bigint[]) AS none, bloom_take('seen', 47, ARRAY(SELECT generate_series(1::bigint, 300)), 2) AS two,
	bloom_take('seen', 42, '{10}'::bigint[]) AS none, cardinality(bloom_take('seen', 48, ARRAY(SELECT generate_series(1::bigint, 300)))) AS many;
-- a row without a filter
INSERT INTO seen VALUES (46, NULL);
SELECT bloom_take('seen', 46, '{1,2}'::bigint[], 1), bloom_take('seen', 46, '{1,2}'::bigint[]);

-- What is rolled back was not taken.
BEGIN;
SELECT bloom_take('seen', 42, '{70,80}'::bigint[], 1);
SAVEPOINT s;
SELECT bloom_take('seen', 42, '{70,80}'::bigint[], 1);
ROLLBACK TO s;
SELECT bloom_take('seen', 42, '{70,80}'::bigint[], 1);
ROLLBACK;
SELECT bloom_take('seen', 42, '{70,80}'::bigint[], 1);

-- A filter of another kind, and wrong arguments.
SELECT bloom_take('seen', 42, '{a,b}'::text[]);
SELECT bloom_take('seen', 42, '{1.5}'::numeric[]);
SELECT bloom_take('seen', 42, '{{1,2},{3,4}}'::bigint[]);
SELECT bloom_take('seen', 42, '1 2'::int2vector);
SELECT bloom_take('seen', 42, '{1}'::bigint[], -1);
SELECT bloom_take(NULL, 42, '{1}'::bigint[]);
SELECT bloom_take('seen', NULL::bigint, '{1}'::bigint[]);
SELECT bloom_take('seen', 'me', '{1}'::bigint[]);
SELECT bloom_take('seen', 42, '{1}'::bigint[], filter_column => 'user_id');
SELECT bloom_take('seen', 42, '{1}'::bigint[], filter_column => 'nothing');
SELECT bloom_take('no_such_table', 42, '{1}'::bigint[]);
SELECT bloom_take(0::oid::regclass, 42, '{1}'::bigint[]);
CREATE VIEW seen_view AS SELECT * FROM seen;
SELECT bloom_take('seen_view', 42, '{1}'::bigint[]);

-- Which column is whose: the primary key.
CREATE TABLE two_keys (tenant integer, user_id bigint, items bloom, PRIMARY KEY (tenant, user_id));
SELECT bloom_take('two_keys', 42, '{1}'::bigint[]);
CREATE TABLE no_filter (user_id bigint PRIMARY KEY);
SELECT bloom_take('no_filter', 42, '{1}'::bigint[]);
DROP TABLE two_keys, no_filter;
-- ... and of more than one column of filters, the one that is named
CREATE TABLE two (user_id bigint PRIMARY KEY, clicked bloom, shown bloom);
SELECT bloom_take('two', 42, '{1}'::bigint[]);
SELECT bloom_take('two', 42, '{1,2}'::bigint[], 1, 'shown'), bloom_take('two', 42, '{1,2,3}'::bigint[], 2, 'clicked');
SELECT '{1,2,3}'::bigint[] - shown AS not_shown, '{1,2,3}'::bigint[] - clicked AS not_clicked FROM two;
-- ... or the only one that triggers feed
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('two', 'shown', 'user_id', 'item_id', 'fpr=0.001');
SELECT bloom_take('two', 43, '{1,2}'::bigint[]);
SELECT (bloom_info(shown)).fpr, clicked FROM two WHERE user_id = 43;
CREATE TRIGGER track_clicked AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('two', 'clicked', 'user_id', 'item_id');
SELECT bloom_take('two', 43, '{1,2}'::bigint[]);
DROP TABLE two, exposures;

-- Users of any type, given as theirs, as one like it, or as a literal.
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE DOMAIN account AS integer CHECK (VALUE > 0);
CREATE FUNCTION take_as(user_type text, VARIADIC users text[]) RETURNS TABLE (taken bigint[]) LANGUAGE plpgsql AS $$
DECLARE
	given text;
BEGIN
	EXECUTE format('CREATE TABLE typed (user_id %s PRIMARY KEY, items bloom)', user_type);
	FOREACH given IN ARRAY users LOOP
		EXECUTE format('SELECT bloom_take(''typed'', %s, ''{1,2,3,4,5}''::bigint[], 1)', given) INTO taken;
		RETURN NEXT;
	END LOOP;
	DROP TABLE typed;
END
$$;
SELECT take_as('integer', '7', '''7''', '7::bigint', '7::smallint', '7::numeric');
SELECT take_as('text', '''a''', '''a''::text', '''a''::varchar', '''a''::char(3)', '''a''::name');
SELECT take_as('char(5)', '''a''', '''a''::text', '''a  ''');
SELECT take_as('uuid', '''6ecd8c99-4036-403d-bf84-cf8400f67836''', '''6ecd8c99-4036-403d-bf84-cf8400f67836''::uuid');
SELECT take_as('mood', '''sad''', '''sad''::mood');
SELECT take_as('account', '7', '7::account', '''7''');
SELECT take_as('account', '0');
SELECT take_as('integer', '7::bigint * 1000000000');
SELECT take_as('timestamptz', '''2026-01-01 00:00+00''', '''2026-01-01 01:00+01''::timestamptz');
DROP FUNCTION take_as;
DROP TYPE mood;
DROP DOMAIN account;

-- Items of each kind and type; what comes back is of the candidates' type.
CREATE TABLE kinds (user_id text PRIMARY KEY, items bloom);
SELECT pg_typeof(t), t FROM bloom_take('kinds', 'int2', '{1,2,1}'::smallint[], 2) AS t;
SELECT pg_typeof(t), t FROM bloom_take('kinds', 'int2', '{2,3}'::integer[], 2) AS t;
SELECT pg_typeof(t), t FROM bloom_take('kinds', 'text', '{a,"b c",a,""}'::text[], 3) AS t;
SELECT pg_typeof(t), t FROM bloom_take('kinds', 'text', '{a,"b c",d}'::varchar[], 3) AS t;
SELECT pg_typeof(t), t FROM bloom_take('kinds', 'text', '{a,d,e}'::char(3)[], 3) AS t;
SELECT pg_typeof(t), t FROM bloom_take('kinds', 'uuid', '{6ecd8c99-4036-403d-bf84-cf8400f67836,6ecd8c99-4036-403d-bf84-cf8400f67837}'::uuid[], 1) AS t;
SELECT pg_typeof(t), t FROM bloom_take('kinds', 'bytea', '{"\\x00","\\x","\\x00"}'::bytea[]) AS t;
SELECT user_id, i.kind, i.items FROM kinds, bloom_info(kinds.items) AS i ORDER BY 1;
DROP TABLE kinds;

-- All candidates are looked at in batches; repetitions are far apart.
SELECT cardinality(t) AS taken, t[1] AS first, t[1200] AS last
FROM bloom_take('seen', 50, ARRAY(SELECT n % 5000 + 1 FROM generate_series(0::bigint, 20000) AS n), 1200) AS t;
SELECT cardinality(t) > 3700 AS taken, t[1] FROM bloom_take('seen', 50, ARRAY(SELECT n % 5000 + 1 FROM generate_series(0::bigint, 20000) AS n)) AS t;
SELECT cardinality(t) FROM bloom_take('seen', 50, ARRAY(SELECT generate_series(1::bigint, 5000))) AS t;

-- A filter of any shape goes on as it is: counting, windowed, large and out of line.
INSERT INTO seen VALUES (60, bloom_new(100, 0.001, 7, true)), (61, bloom_window('30 days', 6)),
	(62, (SELECT bloom_agg(n) FROM generate_series(1::bigint, 300000) AS n));
SELECT user_id, bloom_take('seen', user_id, '{1,2,1,300001,300002}'::bigint[], 2), bloom_take('seen', user_id, '{1,2,1,300001,300002}'::bigint[], 2) FROM generate_series(60, 62) AS user_id;
SELECT user_id, counting, window_width, slices, layers FROM seen, bloom_info(items) WHERE user_id >= 60 ORDER BY 1;
SELECT bloom_contains_each(bloom_remove(items, 1), '{1,2,300001}'::bigint[]) FROM seen WHERE user_id = 60;
-- what a window takes is shown now
SELECT bloom_contains(bloom_expire(items, now() + interval '29 days'), 1), bloom_contains(bloom_expire(items, now() + interval '36 days'), 1) FROM seen WHERE user_id = 61;
-- ... and not forgotten at once where the window has gone ahead
UPDATE seen SET items = bloom_expire(items, now() + interval '90 days') WHERE user_id = 61;
SELECT bloom_take('seen', 61, '{1,2}'::bigint[], 1), bloom_take('seen', 61, '{1,2}'::bigint[], 1), bloom_take('seen', 61, '{1,2}'::bigint[]);
SELECT bloom_contains_each(bloom_expire(items, now() + interval '90 days'), '{1,2,3}'::bigint[]) FROM seen WHERE user_id = 61;

-- What a trigger defines.  A definition that comes, changes or goes is known at the next call.
CREATE TABLE defined (user_id bigint PRIMARY KEY, items bloom, today bloom);
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE FUNCTION started() RETURNS TABLE (filter text, fpr double precision, capacity bigint, width interval, slices integer) LANGUAGE sql AS $$
	DELETE FROM defined;
	SELECT bloom_take('defined', 1, '{1,2,3}'::bigint[], 1, 'items');
	SELECT CASE WHEN d.today IS NULL THEN 'items' ELSE 'today' END, i.fpr, i.capacity, i.window_width, i.slices
	FROM defined AS d, bloom_info(COALESCE(d.today, d.items)) AS i;
$$;
SELECT * FROM started();
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('defined', 'items', 'user_id', 'item_id', 'fpr=0.05');
SELECT * FROM started();
DROP TRIGGER track ON exposures;
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('defined', 'items', 'user_id', 'item_id', 'time=shown_at', 'slices=6', 'width=12 days');
SELECT * FROM started();
DROP TRIGGER track ON exposures;
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('defined', 'items', 'user_id', 'item_id', 'time=shown_at', 'live=today', 'slices=6');
SELECT * FROM started();
-- candidates of another kind do not start a filter which no exposure could go into
SELECT bloom_take('defined', 2, '{1,2,3}'::text[], 1);
SELECT count(*) FROM defined WHERE user_id = 2;
-- two exposure tables, which differ in what is no matter here
CREATE TABLE clicks (who bigint, what bigint, at timestamptz DEFAULT now());
CREATE TRIGGER track AFTER INSERT ON clicks REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('defined', 'items', 'who', 'what', 'time=at', 'live=today', 'slices=6', 'target_user_column=user_id', 'condition=what > 0');
DROP TRIGGER track ON exposures;
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('defined', 'items', 'user_id', 'item_id', 'live=today', 'time=shown_at', 'slices=6', 'target_user_column=user_id');
SELECT * FROM started();
-- ... and in what is one
DROP TRIGGER track ON clicks;
CREATE TRIGGER track AFTER INSERT ON clicks REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('defined', 'items', 'who', 'what', 'target_user_column=user_id', 'fpr=0.02');
SELECT bloom_take('defined', 1, '{1,2,3}'::bigint[], 1);
DROP TABLE clicks;

-- With a live column both filters are asked, and the small one takes.
TRUNCATE defined;
INSERT INTO defined SELECT 1, bloom_agg(n) FROM generate_series(1::bigint, 4) AS n;
SELECT bloom_take('defined', 1, '{1,2,3,4,5,6,7,8}'::bigint[], 2), bloom_take('defined', 1, '{1,2,3,4,5,6,7,8}'::bigint[], 1);
SELECT bloom_cardinality(items) AS items, bloom_cardinality(today) AS today, '{4,5,6,7,8}'::bigint[] - items - today AS left FROM defined;
ALTER TABLE defined ALTER items SET NOT NULL;
SELECT bloom_take('defined', 1, '{1,2,3,4,5,6,7,8}'::bigint[], 2);
ALTER TABLE defined ALTER items DROP NOT NULL, DROP COLUMN today;
SELECT bloom_take('defined', 1, '{1,2,3,4,5,6,7,8}'::bigint[], 2);
DROP TABLE exposures, defined;

-- A live column is none to take by, and triggers that differ in the width of no window agree.
CREATE TABLE defined (user_id bigint PRIMARY KEY, items bloom, today bloom);
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('defined', 'items', 'user_id', 'item_id', 'live=today');
CREATE TRIGGER track_again AFTER UPDATE ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('defined', 'items', 'user_id', 'item_id', 'width=7 days', ' live = today');
SELECT bloom_take('defined', 1, '{1,2,3}'::bigint[], 1, 'today');
SELECT bloom_take('defined', 1, '{1,2,3}'::bigint[], 1, 'items');

-- Who may not define filters is not asked, but one is told of him; the next call knows who is a member of what.
CREATE ROLE regress_bloomexp_feeds;
CREATE ROLE regress_bloomexp_logger;
ALTER TABLE defined OWNER TO regress_bloomexp_feeds;
ALTER TABLE exposures OWNER TO regress_bloomexp_logger;
SELECT bloom_take('defined', 1, '{1,2,3}'::bigint[], 1, 'items');
SELECT relation, trigger_name, problem FROM bloom_untracked('exposures');
GRANT regress_bloomexp_feeds TO regress_bloomexp_logger;
SELECT bloom_take('defined', 1, '{1,2,3}'::bigint[], 1, 'items');
SELECT relation, trigger_name, problem FROM bloom_untracked('exposures');
DROP TABLE defined, exposures;
DROP ROLE regress_bloomexp_feeds, regress_bloomexp_logger;

-- The check of a user can be anybody's code, and come here again.
CREATE TABLE "by code" (user_id bigint PRIMARY KEY, items bloom);
CREATE FUNCTION check_by_taking(what integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	GRANT SELECT ON checked TO PUBLIC;
	PERFORM bloom_take('"by code"', 7::bigint, '{1,2,3}'::bigint[], 1);
	RETURN true;
END
$$;
CREATE DOMAIN checked_integer AS integer CHECK (check_by_taking(VALUE));
CREATE TABLE checked (user_id checked_integer PRIMARY KEY, items bloom);
SELECT bloom_take('checked', 1, '{1,2,3}'::bigint[], 1);
SELECT bloom_take('checked', 1, '{1,2,3}'::bigint[], 1);
SELECT 'by code' AS filters, user_id::int, '{1,2,3}'::bigint[] - items AS left FROM "by code"
UNION ALL SELECT 'checked', user_id::int, '{1,2,3}'::bigint[] - items FROM checked ORDER BY 1;
DROP TABLE checked, "by code";
DROP DOMAIN checked_integer;
DROP FUNCTION check_by_taking;
-- Rows are compared by the operators of whatever they consist of: they are no users.
CREATE TYPE pair AS (a integer, b integer);
CREATE TABLE composite (user_id pair PRIMARY KEY, items bloom);
SELECT bloom_take('composite', '(1,2)', '{1,2,3}'::bigint[], 1);
DROP TABLE composite;
DROP TYPE pair;

-- The collation of the candidates is theirs, not that of the user.
CREATE TABLE names (name text COLLATE "C" PRIMARY KEY, items bloom);
CREATE TABLE candidates (item text COLLATE "POSIX");
INSERT INTO names VALUES ('u');
INSERT INTO candidates VALUES ('a');
SELECT bloom_take('names', n.name, ARRAY[c.item]) FROM names AS n, candidates AS c;
DROP TABLE candidates;

-- Arrays are no users.
CREATE TABLE arrays (user_ids integer[] PRIMARY KEY, items bloom);
SELECT bloom_take('arrays', '{1,2}'::integer[], '{1,2,3}'::bigint[], 1);
DROP TABLE names, arrays;

-- The table changes under a session that has plans.
CREATE TABLE changing (user_id integer PRIMARY KEY, items bloom);
SELECT bloom_take('changing', 1, '{1,2,3,4,5,6}'::bigint[], 1);
ALTER TABLE changing ALTER user_id TYPE text;
SELECT bloom_take('changing', 1, '{1,2,3,4,5,6}'::bigint[], 1), bloom_take('changing', 'x', '{1,2,3,4,5,6}'::bigint[], 1);
CREATE SCHEMA elsewhere;
ALTER TABLE changing SET SCHEMA elsewhere;
SELECT bloom_take('elsewhere.changing', 1, '{1,2,3,4,5,6}'::bigint[], 1);
ALTER SCHEMA elsewhere RENAME TO there;
SELECT bloom_take('there.changing', 1, '{1,2,3,4,5,6}'::bigint[], 1);
ALTER TABLE there.changing RENAME user_id TO "User";
SELECT bloom_take('there.changing', 1, '{1,2,3,4,5,6}'::bigint[], 1);
ALTER TABLE there.changing DROP CONSTRAINT changing_pkey;
SELECT bloom_take('there.changing', 1, '{1,2,3,4,5,6}'::bigint[], 1);
ALTER TABLE there.changing ADD PRIMARY KEY ("User");
SELECT bloom_take('there.changing', 1, '{1,2,3,4,5,6}'::bigint[], 1);
SET client_min_messages = error;
DROP SCHEMA there CASCADE;
SET client_min_messages = warning;

-- A partitioned table of filters.
CREATE TABLE parted (user_id bigint PRIMARY KEY, items bloom) PARTITION BY HASH (user_id);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SELECT user_id, bloom_take('parted', user_id, '{1,2,3}'::bigint[], 1), bloom_take('parted', user_id, '{1,2,3}'::bigint[], 1) FROM generate_series(1, 4) AS user_id;
SELECT count(*), count(DISTINCT tableoid) FROM parted;
-- a partition is as its whole is
SELECT user_id, bloom_take('parted_0', user_id, '{1,2,3,4}'::bigint[], 1) FROM generate_series(1, 4) AS user_id;
DROP TABLE parted;

-- Triggers of the table: one that takes for the same table itself, and one that keeps rows as they are.
CREATE TABLE watched (user_id bigint PRIMARY KEY, items bloom);
CREATE FUNCTION take_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.user_id > 0 THEN
		PERFORM bloom_take('watched', -NEW.user_id, '{1,2,3,4}'::bigint[], 1);
	END IF;
	RETURN NEW;
END
$$;
CREATE TRIGGER take_again BEFORE INSERT OR UPDATE ON watched FOR EACH ROW EXECUTE FUNCTION take_again();
SELECT bloom_take('watched', 1, '{1,2,3,4}'::bigint[], 1), bloom_take('watched', 1, '{1,2,3,4}'::bigint[], 1);
SELECT user_id, '{1,2,3,4}'::bigint[] - items AS left FROM watched ORDER BY 1;
DROP TRIGGER take_again ON watched;
CREATE FUNCTION keep_as_it_is() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER keep BEFORE INSERT OR UPDATE ON watched FOR EACH ROW EXECUTE FUNCTION keep_as_it_is();
SELECT bloom_take('watched', 1, '{1,2,3,4}'::bigint[], 1);
SELECT bloom_take('watched', 2, '{1,2,3,4}'::bigint[], 1);
DROP TABLE watched;
DROP FUNCTION take_again, keep_as_it_is;

-- Rights are those of the caller.
CREATE ROLE regress_bloomexp_taker;
CREATE TABLE rights (user_id bigint PRIMARY KEY, items bloom);
SET ROLE regress_bloomexp_taker;
SELECT bloom_take('rights', 1, '{1,2}'::bigint[], 1);
RESET ROLE;
GRANT UPDATE ON rights TO regress_bloomexp_taker;
SET ROLE regress_bloomexp_taker;
SELECT bloom_take('rights', 1, '{1,2}'::bigint[], 1);
RESET ROLE;
GRANT SELECT ON rights TO regress_bloomexp_taker;
SET ROLE regress_bloomexp_taker;
SELECT bloom_take('rights', 1, '{1,2}'::bigint[], 1);
RESET ROLE;
GRANT INSERT ON rights TO regress_bloomexp_taker;
SET ROLE regress_bloomexp_taker;
SELECT bloom_take('rights', 1, '{1,2}'::bigint[], 1), bloom_take('rights', 1, '{1,2}'::bigint[], 1);
RESET ROLE;
-- Policies: own rows, new and old; rows of others, new and old, are errors.
INSERT INTO rights VALUES (2, bloom_new());
ALTER TABLE rights ENABLE ROW LEVEL SECURITY;
SET ROLE regress_bloomexp_taker;
SELECT bloom_take('rights', 1, '{1,2,3}'::bigint[], 1);
RESET ROLE;
CREATE POLICY own ON rights USING (user_id = 1 OR user_id = 3);
SET ROLE regress_bloomexp_taker;
SELECT bloom_take('rights', 1, '{1,2,3}'::bigint[], 1), bloom_take('rights', 3, '{1,2,3}'::bigint[], 1);
\set VERBOSITY sqlstate
SELECT bloom_take('rights', 2, '{1,2,3}'::bigint[], 1);
SELECT bloom_take('rights', 4, '{1,2,3}'::bigint[], 1);
\set VERBOSITY default
RESET ROLE;
-- for SELECT and INSERT only: a row can be started, but not changed
DROP POLICY own ON rights;
CREATE POLICY reads ON rights FOR SELECT USING (true);
CREATE POLICY inserts ON rights FOR INSERT WITH CHECK (true);
SET ROLE regress_bloomexp_taker;
SELECT bloom_take('rights', 5, '{1,2,3}'::bigint[], 1);
DO $$
BEGIN
	PERFORM bloom_take('rights', 1, '{1,2,3,4}'::bigint[], 1);
	RAISE 'an item was taken and not remembered';
EXCEPTION WHEN insufficient_privilege OR triggered_action_exception THEN
	RAISE WARNING 'refused';
END
$$;
RESET ROLE;
SELECT user_id, '{1,2,3,4}'::bigint[] - items AS left FROM rights ORDER BY 1;
DROP TABLE rights;
DROP ROLE regress_bloomexp_taker;

-- In a transaction that may only read, nothing can be taken.
BEGIN READ ONLY;
SELECT bloom_take('seen', 42, '{1}'::bigint[]);
ROLLBACK;
DROP VIEW seen_view;
DROP TABLE seen;
