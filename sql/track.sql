--
-- The trigger that adds new exposures to the filters of their users
--
SET client_min_messages = warning;

CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT '2026-01-10 12:00+00');
CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom);
CREATE TABLE recent (user_id bigint PRIMARY KEY, items bloom NOT NULL);
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
CREATE TRIGGER track_recent AFTER INSERT ON exposures REFERENCING NEW TABLE AS "newer ""rows"""
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('recent', 'items', 'user_id', 'item_id', 'time=shown_at', 'width=7 days', 'slices=7', 'fpr=0.001');

-- Is every exposure in both filters, and how many others are?
CREATE VIEW state AS
	SELECT count(*) AS users, sum((bloom_info(s.items)).items) AS items, sum((bloom_info(r.items)).items) AS recent,
		(SELECT count(*) FROM exposures AS e LEFT JOIN seen AS f USING (user_id) LEFT JOIN recent AS g USING (user_id)
		 WHERE user_id IS NOT NULL AND item_id IS NOT NULL AND NOT (f.items @> item_id AND g.items @> item_id)) AS missing
	FROM seen AS s FULL JOIN recent AS r USING (user_id);

-- one row, many rows, many users
INSERT INTO exposures VALUES (1, 11);
INSERT INTO exposures VALUES (1, 12), (2, 21), (1, 13), (2, 22), (1, 12);
INSERT INTO exposures SELECT u, u * 1000 + n FROM generate_series(1, 50) AS u, generate_series(1, u) AS n;
TABLE state;
-- COPY
COPY exposures (item_id, user_id) FROM STDIN;
7	101
8	101
7	102
\.
TABLE state;
-- none
INSERT INTO exposures SELECT 1, 1 WHERE false;
COPY exposures FROM STDIN;
\.
TABLE state;
-- no user, no item
INSERT INTO exposures VALUES (NULL, 1), (1, NULL), (NULL, NULL), (103, NULL);
TABLE state;
-- INSERT ... ON CONFLICT: the rows that came in
CREATE UNIQUE INDEX once ON exposures (user_id, item_id) WHERE user_id > 100;
INSERT INTO exposures VALUES (101, 7), (101, 9) ON CONFLICT DO NOTHING;
TABLE state;
INSERT INTO exposures VALUES (101, 7), (101, 10) ON CONFLICT (user_id, item_id) WHERE user_id > 100 DO UPDATE SET shown_at = excluded.shown_at;
TABLE state;
DROP INDEX once;
-- an INSERT within a statement, and one in a function
WITH w AS (INSERT INTO exposures VALUES (104, 1) RETURNING user_id) INSERT INTO exposures SELECT user_id, 2 FROM w;
DO $$ BEGIN FOR i IN 3 .. 9 LOOP INSERT INTO exposures VALUES (104, i); END LOOP; END $$;
TABLE state;
-- a transaction that fails leaves nothing
BEGIN;
INSERT INTO exposures VALUES (105, 1);
ROLLBACK;
TABLE state;

-- What filters of new users are like: room for 100, or for all that came at once
TRUNCATE exposures, seen, recent;
INSERT INTO exposures SELECT u, n FROM (VALUES (1, 1), (2, 1000)) AS v (u, m), generate_series(1, m) AS n;
SELECT s.user_id, i.items, i.capacity, i.fpr, i.layers, w.items, w.fpr, w.window_width, w.slices
FROM seen AS s JOIN recent AS r USING (user_id), bloom_info(s.items) AS i, bloom_info(r.items) AS w ORDER BY 1;
-- A filter that is there keeps its own rate and window; one that is NULL is started.
INSERT INTO seen VALUES (3, bloom_new(5000, 0.0001)), (4, NULL);
INSERT INTO recent VALUES (3, bloom_window('30 days', 3, 0.0001));
INSERT INTO exposures VALUES (3, 1), (4, 1);
SELECT s.user_id, i.items, i.capacity, i.fpr, i.layers, w.items, w.fpr, w.window_width, w.slices
FROM seen AS s JOIN recent AS r USING (user_id), bloom_info(s.items) AS i, bloom_info(r.items) AS w WHERE user_id > 2 ORDER BY 1;
-- A rate is kept to its last digit, whatever the session says.
SET extra_float_digits = -15;
CREATE TRIGGER track_exactly AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'fpr=0.0123456789012345678');
ALTER TABLE exposures DISABLE TRIGGER track;
INSERT INTO exposures VALUES (5, 1);
RESET extra_float_digits;
SELECT (bloom_info(items)).fpr = 0.0123456789012345678::float8 AS exact FROM seen WHERE user_id = 5;
DROP TRIGGER track_exactly ON exposures;
ALTER TABLE exposures ENABLE TRIGGER track;
-- Each item goes into the slice of its time; those before the window are left out.
TRUNCATE exposures, seen, recent;
INSERT INTO exposures SELECT 1, n, '2026-01-10 12:00+00'::timestamptz - n * interval '1 day' FROM generate_series(0, 6) AS n;
UPDATE recent SET items = bloom_expire(items, '2026-01-14 12:00+00');
INSERT INTO exposures VALUES (1, 10, '2026-01-01 12:00+00'), (1, 11, '2026-01-09 12:00+00');
SELECT bloom_contains_each(items, ARRAY(SELECT generate_series(0, 11))) FROM recent;

-- What changes nothing writes nothing: the row stays where it is.
TRUNCATE exposures, seen, recent;
INSERT INTO exposures SELECT 1, n FROM generate_series(1, 100) AS n;
CREATE TABLE before AS SELECT s.ctid AS s, r.ctid AS r FROM seen AS s, recent AS r;
INSERT INTO exposures VALUES (1, 1), (1, 100);
SELECT b.s = s.ctid AS seen_untouched, b.r = r.ctid AS recent_untouched FROM before AS b, seen AS s, recent AS r;
INSERT INTO exposures VALUES (1, 101);
SELECT b.s = s.ctid AS seen_untouched, b.r = r.ctid AS recent_untouched FROM before AS b, seen AS s, recent AS r;
-- (a later time is a change to a window)
UPDATE before AS b SET s = s.ctid, r = r.ctid FROM seen AS s, recent AS r;
INSERT INTO exposures VALUES (1, 1, '2026-01-15');
SELECT b.s = s.ctid AS seen_untouched, b.r = r.ctid AS recent_untouched FROM before AS b, seen AS s, recent AS r;
-- ... and what changes a filter of a user writes one new version of it.
CREATE TABLE writes (n int);
CREATE FUNCTION count_writes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO writes VALUES (1); RETURN NULL; END $$;
CREATE TRIGGER count_writes AFTER INSERT OR UPDATE ON seen FOR EACH ROW EXECUTE FUNCTION count_writes();
INSERT INTO exposures SELECT u, n FROM generate_series(1, 10) AS u, generate_series(201, 220) AS n;
SELECT count(*) FROM writes;
INSERT INTO exposures SELECT u, n FROM generate_series(1, 10) AS u, generate_series(221, 240) AS n;
SELECT count(*) FROM writes;
DROP VIEW state;
DROP TABLE exposures, seen, recent, before, writes;
DROP FUNCTION count_writes;

--
-- Items and users of all types, names of all sorts
--

CREATE SCHEMA "sch""ema";
CREATE SCHEMA other;
CREATE DOMAIN "do main" AS varchar(20) CHECK (value <> '');
-- (not every server is built with ICU)
SELECT count(*) > 0 AS icu FROM pg_collation WHERE collprovider = 'i' \gset
\if :icu
CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
\else
CREATE COLLATION ignore_case FROM "C";
\endif
CREATE FUNCTION types(user_type text, target_user_type text, item_type text, a text, b text) RETURNS TABLE (users bigint, contained bigint)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE other."ex po" ("us er" %s, "item''s" %s, "%%time" timestamp DEFAULT now())', user_type, item_type);
	EXECUTE format('CREATE TABLE "sch""ema"."%%I" ("us""er" %s PRIMARY KEY, "f $1" bloom, "%%w" bloom)', target_user_type);
	CREATE TRIGGER "tr ack" AFTER INSERT ON other."ex po" REFERENCING NEW TABLE AS "n ew" FOR EACH STATEMENT
		EXECUTE FUNCTION bloom_track('"sch""ema" . "%I"', 'f $1', 'us er', 'item''s', 'target_user_column=us"er');
	CREATE TRIGGER "tr ack2" AFTER INSERT ON other."ex po" REFERENCING NEW TABLE AS "n ew" FOR EACH STATEMENT
		EXECUTE FUNCTION bloom_track('"sch""ema"."%I"', '%w', 'us er', 'item''s', 'time=%time', 'slices=6', 'target_user_column=us"er');
	FOR i IN 1 .. 2 LOOP
		EXECUTE format('INSERT INTO other."ex po" VALUES (%1$L, %1$L), (%1$L, %2$L), (%2$L, %2$L)', a, b);
	END LOOP;
	RETURN QUERY EXECUTE format('SELECT count(*), sum(cardinality(array_positions(bloom_contains_each("f $1", i) || bloom_contains_each("%%w", i), true)))::bigint
		FROM "sch""ema"."%%I", CAST(%L AS %s[]) AS i', ARRAY[a, b], CASE WHEN item_type IN ('smallint', 'uuid', 'bytea') THEN item_type ELSE CASE WHEN a = '1' AND item_type = 'bigint' THEN 'bigint' ELSE 'text' END END);
	DROP TABLE other."ex po", "sch""ema"."%I";
END
$$;
SELECT user_type, target_user_type, item_type, CASE WHEN n < 11 OR :'icu' THEN t.users ELSE 1 END AS users, CASE WHEN n < 11 OR :'icu' THEN contained ELSE 4 END AS contained
FROM (VALUES (1, 'bigint', 'bigint', 'bigint', '1', '2'), (2, 'smallint', 'numeric', 'smallint', '1', '2'),
		(3, 'text', 'text', 'text', 'a', E'b''"\\,{}'), (4, 'char(5)', 'char(5)', 'char(5)', 'a', 'b'), (5, 'varchar', 'char(5)', 'varchar(7)', 'a', 'b'),
		(6, '"do main"', '"do main"', '"do main"', 'a', 'b'), (7, 'uuid', 'uuid', 'uuid', '6ecd8c99-4036-403d-bf84-cf8400f67836', '6ecd8c99-4036-403d-bf84-cf8400f67837'),
		(8, 'bytea', 'bytea', 'bytea', '\x00', '\x01'), (9, 'date', 'timestamp', 'text', '2026-01-01', '2026-01-02'),
		(10, 'text COLLATE "C"', 'text COLLATE "POSIX"', 'name', 'a', 'A'), (11, 'text', 'text COLLATE ignore_case', 'text', 'a', 'A')) AS v (n, user_type, target_user_type, item_type, a, b),
	types(user_type, target_user_type, item_type, a, b) AS t
ORDER BY n;
DROP FUNCTION types;

--
-- No search_path leads it astray: not to another table, not to another function or operator.
--

CREATE TABLE exposures (user_id text, item_id bigint);
CREATE TABLE seen (user_id text PRIMARY KEY, items bloom);
-- (even the transition table has the name)
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS seen
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
CREATE TABLE other.seen (user_id text PRIMARY KEY, items bloom);
CREATE FUNCTION other.trap(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked'; END $$;
CREATE FUNCTION other.trap(int, int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked'; END $$;
CREATE OPERATOR other.= (LEFTARG = text, RIGHTARG = text, FUNCTION = other.trap);
CREATE OPERATOR other.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = other.trap);
CREATE OPERATOR other.= (LEFTARG = int, RIGHTARG = int, FUNCTION = other.trap);
CREATE OPERATOR other.< (LEFTARG = int, RIGHTARG = int, FUNCTION = other.trap);
CREATE FUNCTION other.cardinality(bigint[]) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked'; END $$;
CREATE FUNCTION other.format(text, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked'; END $$;
CREATE FUNCTION other.bloom_new(int, float8) RETURNS bloom LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked'; END $$;
SET search_path = other, pg_catalog;
INSERT INTO public.exposures VALUES ('a', 1), ('b', 2);
SET search_path = '';
INSERT INTO public.exposures VALUES ('a', 3), ('c', 4);
RESET search_path;
SELECT user_id, bloom_contains_each(items, '{1,2,3,4}'::int[]) FROM seen ORDER BY 1;
SELECT count(*) FROM other.seen;
-- Names are names.
INSERT INTO exposures VALUES ('''); DROP TABLE seen; --', 5);
SELECT count(*) FROM seen;

-- It has the rights of who writes, no more.
CREATE ROLE regress_bloomexp_writer;
GRANT INSERT ON exposures TO regress_bloomexp_writer;
SET ROLE regress_bloomexp_writer;
\set VERBOSITY terse
INSERT INTO exposures VALUES ('d', 1);
\set VERBOSITY default
RESET ROLE;
GRANT SELECT, INSERT, UPDATE (items) ON seen TO regress_bloomexp_writer;
SET ROLE regress_bloomexp_writer;
INSERT INTO exposures VALUES ('d', 1);
INSERT INTO exposures VALUES ('d', 2);
RESET ROLE;
SELECT bloom_contains_each(items, '{1,2}'::int[]) FROM seen WHERE user_id = 'd';
DROP TABLE exposures, seen;
DROP ROLE regress_bloomexp_writer;

--
-- Mistakes
--

CREATE TABLE exposures (user_id bigint, item_id bigint, score numeric, shown_at timestamptz);
CREATE TABLE seen (user_id bigint, items bloom, other text);
CREATE FUNCTION mistake(arguments text, clauses text DEFAULT 'AFTER INSERT ON exposures REFERENCING NEW TABLE AS n FOR EACH STATEMENT')
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE format('CREATE TRIGGER t %s EXECUTE FUNCTION bloom_track(%s)', clauses, arguments);
	INSERT INTO exposures VALUES (1, 1, 1.5, now());
	UPDATE exposures SET user_id = 2;
	RAISE 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(E'\n', sqlstate || ' ' || sqlerrm, nullif(detail, ''), nullif(hint, ''));
END
$$;
\set good '''''''seen'''', ''''items'''', ''''user_id'''', ''''item_id'''''''
\pset tuples_only
SELECT mistake(:good);
ALTER TABLE seen ADD UNIQUE (user_id, other);
CREATE UNIQUE INDEX ON seen (user_id) WHERE user_id > 0;
CREATE UNIQUE INDEX ON seen ((user_id + 1));
ALTER TABLE seen ADD CONSTRAINT late UNIQUE (user_id) DEFERRABLE;
SELECT mistake(:good);
ALTER TABLE seen DROP CONSTRAINT late, ADD PRIMARY KEY (user_id);
SELECT mistake(:good);
SELECT mistake(:good, 'AFTER UPDATE ON exposures REFERENCING NEW TABLE AS n FOR EACH STATEMENT');
SELECT mistake(:good, 'AFTER UPDATE ON exposures REFERENCING OLD TABLE AS o FOR EACH STATEMENT');
SELECT mistake(:good, 'AFTER INSERT ON exposures REFERENCING NEW TABLE AS n FOR EACH ROW');
SELECT mistake(:good, 'AFTER INSERT ON exposures FOR EACH STATEMENT');
SELECT mistake(:good, 'BEFORE INSERT ON exposures FOR EACH STATEMENT');
SELECT mistake('');
SELECT mistake('''seen'', ''items'', ''user_id''');
SELECT mistake('''nobody'', ''items'', ''user_id'', ''item_id''');
SELECT mistake('''no body'', ''items'', ''user_id'', ''item_id''');
SELECT mistake('''pg_tables'', ''items'', ''user_id'', ''item_id''');
SELECT mistake('''pg_catalog.pg_tables'', ''items'', ''user_id'', ''item_id''');
SELECT mistake('''seen'', ''nothing'', ''user_id'', ''item_id''');
SELECT mistake('''seen'', ''ctid'', ''user_id'', ''item_id''');
SELECT mistake('''seen'', ''other'', ''user_id'', ''item_id''');
SELECT mistake('''seen'', ''items'', ''user'', ''item_id''');
SELECT mistake('''seen'', ''items'', ''user_id'', ''item''');
SELECT mistake('''seen'', ''items'', ''user_id'', ''score''');
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''time=shown''');
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''target_user_column=uid''');
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''time=shown_at'', ''color=blue''');
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''Time=shown_at''');
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''shown_at''');
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''time=shown_at'', ''time=shown_at''');
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''time=score''');
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''slices=6''');
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''time=shown_at'', ''slices=6'', ''headroom=0.5''');
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''time=shown_at'', ''slices=0''');
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''time=shown_at'', ''slices=''');
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''headroom=-1''');
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''width=0 days''');
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''fpr=2''');
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''fpr=1%''');
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''time=shown_at'', ''slices=6'', ''width=1 month''');
-- (a number would be seconds)
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''width=30''');
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''headroom=20%''');
-- (blanks mean nothing)
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''time = shown_at'', '' condition = item_id IS NOT NULL''');
-- users who are not to be compared
CREATE TABLE seen_by_uuid (id uuid PRIMARY KEY, items bloom);
SELECT mistake('''seen_by_uuid'', ''items'', ''user_id'', ''item_id'', ''target_user_column=id''');
DROP TABLE seen_by_uuid;
INSERT INTO seen VALUES (1, bloom_new());
SELECT mistake('''seen'', ''items'', ''user_id'', ''item_id'', ''time=shown_at'', ''slices=6''');
UPDATE seen SET items = bloom_window('30 days');
SELECT mistake(:good);
UPDATE seen SET items = bloom_add(NULL, 'text'::text);
SELECT mistake(:good);
\pset tuples_only
SELECT bloom_track();
DROP FUNCTION mistake;
DROP TABLE exposures, seen;

--
-- Which rows are exposures: those with a time, if the trigger knows its column, and for which the condition is true
--

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz, kind text, mood mood, read boolean, "o'n" varchar(20), n int);
CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom);
CREATE TABLE recent (user_id bigint PRIMARY KEY, items bloom);
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at');
CREATE TRIGGER track_recent AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('recent', 'items', 'user_id', 'item_id', 'time=shown_at', 'slices=6', 'condition=kind IN (''read'', ''like'') AND NOT read');
INSERT INTO exposures VALUES (1, 1, now(), 'read', 'ok', false), (1, 2, now(), 'skip', 'ok', false), (1, 3, NULL, 'read', 'ok', false),
	(1, 4, now(), NULL, 'ok', false), (1, 5, now(), 'like', 'ok', NULL), (1, 6, now(), 'like', 'ok', false),
	(2, 1, NULL, 'read', 'ok', false), (3, 1, now(), 'skip', 'ok', false);
SELECT user_id, bloom_contains_each(s.items, '{1,2,3,4,5,6}'::int[]) AS seen, bloom_contains_each(r.items, '{1,2,3,4,5,6}'::int[]) AS recent
FROM seen AS s FULL JOIN recent AS r USING (user_id) ORDER BY user_id;

-- Any expression over the columns.  With each of these the trigger adds the rows that the condition, in a query, finds.
CREATE TABLE conditions (n serial, condition text);
COPY conditions (condition) FROM STDIN;
true
null
read
read IS NOT TRUE
kind = 'read'
kind = ANY ('{read,like}')
kind IN ('read', 'like') OR n > 1 AND NOT read
n + 1 * 2 - 3 = n - 1 AND - n < 0
mood = 'ok'
mood > 'sad'::public.mood
"o'n" = 'it''s'
"o'n" = E'back\\\\slash\\\\'
"o'n" ~ '\\\\'
"o'n" ~~* '%I%' COLLATE "C"
e.kind LIKE 'r%' -- a comment
upper(kind) || '!' = 'READ!'
shown_at >= '2026-01-02 10:00'
extract(hour from shown_at AT TIME ZONE 'UTC') = 11
shown_at AT TIME ZONE 'UTC' > '2026-01-03 00:00'::timestamp - interval '13 hours 30 minutes'
CASE WHEN n > 1 THEN read ELSE kind = 'read' END
(n, kind) < (2, 'read')
n::numeric / 2 > 0.5
n BETWEEN SYMMETRIC 2 AND 1
COALESCE(n, 0) = greatest(n, 2)
('{"n": 2}'::jsonb ->> 'n')::integer = n
array_length(string_to_array(kind, 'e'), 1) = 2
kind SIMILAR TO '(read|like)'
\.
TRUNCATE exposures;
INSERT INTO exposures
SELECT 1, row_number() OVER (), '2026-01-01 23:00+00'::timestamptz + n * interval '6 hours', k, m, r, o, n
FROM generate_series(1, 3) AS n, unnest('{read,skip,like,NULL}'::text[]) AS k, unnest('{sad,ok,NULL}'::mood[]) AS m, unnest('{t,f,NULL}'::bool[]) AS r,
	unnest(ARRAY['it''s', E'back\\slash\\', NULL]) AS o;
CREATE FUNCTION compare(condition text) RETURNS TABLE (exposures bigint, of bigint, missing bigint, others bigint) LANGUAGE plpgsql
SET timezone = 'UTC' SET standard_conforming_strings = on AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT count(*) FILTER (WHERE exposed), count(*), count(*) FILTER (WHERE exposed AND contained IS NOT TRUE),
		count(*) FILTER (WHERE NOT exposed AND contained)
		FROM (SELECT (%s ) IS TRUE AS exposed, items @> item_id AS contained FROM exposures AS e LEFT JOIN seen USING (user_id)) AS x',
		condition || E'\n');
END
$$;
CREATE FUNCTION apply(condition text) RETURNS TABLE (exposures bigint, of bigint, missing bigint, others bigint) LANGUAGE plpgsql AS $$
BEGIN
	DROP TRIGGER IF EXISTS track ON exposures;
	EXECUTE format('CREATE TRIGGER track AFTER UPDATE ON exposures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
		EXECUTE FUNCTION bloom_track(''seen'', ''items'', ''user_id'', ''item_id'', ''fpr=0.000000001'', %L)', 'condition=' || condition);
	TRUNCATE seen;
	UPDATE exposures SET user_id = user_id;
	RETURN QUERY SELECT * FROM compare(condition);
END
$$;
-- under settings that would read or write a constant otherwise
SET timezone = 'America/Los_Angeles';
SET datestyle = 'German';
SET intervalstyle = 'sql_standard';
SET extra_float_digits = -15;
-- (PostgreSQL 19 knows no other strings)
DO $$
BEGIN
	IF current_setting('server_version_num')::int < 190000 THEN
		SET standard_conforming_strings = off;
		SET escape_string_warning = off;
	END IF;
END
$$;
SELECT n, a.* FROM conditions, apply(condition) AS a ORDER BY n;
RESET ALL;
SET client_min_messages = warning;

-- Mistakes, and what could let a condition say more than that
CREATE FUNCTION mistake(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
	detail text;
BEGIN
	RETURN apply(condition)::text;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(E'\n', sqlstate || ' ' || sqlerrm, nullif(detail, ''), nullif(hint, ''));
END
$$;
\pset tuples_only
SELECT mistake('');
SELECT mistake('kind =');
SELECT mistake('true) OR (true');
SELECT mistake('true; DROP TABLE seen');
SELECT mistake('true FROM exposures');
SELECT mistake('true AS other');
SELECT mistake('true, true');
SELECT mistake('DISTINCT true');
SELECT mistake('true INTO other');
SELECT mistake('true LIMIT 1');
SELECT mistake('true UNION SELECT true');
SELECT mistake('*');
SELECT mistake('e.*');
SELECT mistake('kind');
SELECT mistake('n');
SELECT mistake('kinds = ''read''');
SELECT mistake('f.items IS NULL');
SELECT mistake('ctid IS NOT NULL');
SELECT mistake('e IS NOT NULL');
SELECT mistake('n = $1');
SELECT mistake('EXISTS (SELECT FROM seen)');
SELECT mistake('count(*) > 1');
SELECT mistake('generate_series(1, n) = 1');
SELECT mistake('random() < 0.5');
SELECT mistake('shown_at <= now()');
SELECT mistake('shown_at::date = ''2026-01-02''');
SELECT mistake('n IS DISTINCT FROM 1');
SELECT mistake('NULLIF(n, 1) = 2');
SELECT mistake('CASE n WHEN 1 THEN true END');
-- a name from elsewhere needs its schema
SELECT mistake('mood = ''ok''::mood');
SELECT split_part(mistake('nothing(n)'), E'\n', 1);
SELECT mistake('mood = ''angry''');
\pset tuples_only
-- where it is wrong
DROP FUNCTION mistake;
DROP TRIGGER track ON exposures;
CREATE TRIGGER track AFTER UPDATE ON exposures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'condition=read AND kind = unread AND true');
\set SHOW_CONTEXT never
UPDATE exposures SET user_id = user_id;
\set SHOW_CONTEXT errors
-- It is evaluated as the writer.
CREATE FUNCTION whose(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE WARNING 'evaluated as %', current_user; RETURN true; END $$;
DROP TRIGGER track ON exposures;
CREATE TRIGGER track AFTER UPDATE ON exposures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'condition=public.whose(kind)');
CREATE ROLE regress_bloomexp_writer;
GRANT SELECT, UPDATE ON exposures TO regress_bloomexp_writer;
GRANT SELECT, INSERT, UPDATE ON seen TO regress_bloomexp_writer;
SET ROLE regress_bloomexp_writer;
\set VERBOSITY terse
UPDATE exposures SET user_id = user_id WHERE item_id = 1;
\set VERBOSITY default
RESET ROLE;
DROP OWNED BY regress_bloomexp_writer;
DROP ROLE regress_bloomexp_writer;
DROP FUNCTION apply, compare, whose;
DROP TABLE exposures, seen, recent, conditions;
DROP TYPE mood;

--
-- Partitions
--

CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at date) PARTITION BY RANGE (shown_at);
CREATE TABLE exposures_1 PARTITION OF exposures FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE other."exposures 2" PARTITION OF exposures FOR VALUES FROM ('2026-02-01') TO ('2026-03-01') PARTITION BY HASH (user_id);
CREATE TABLE exposures_2_1 PARTITION OF other."exposures 2" FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom) PARTITION BY HASH (user_id);
CREATE TABLE seen_1 PARTITION OF seen FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE seen_2 PARTITION OF seen FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SELECT * FROM bloom_untracked('exposures');
CREATE TRIGGER "track me" AFTER INSERT ON exposures REFERENCING NEW TABLE AS "new rows"
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('public.seen', 'items', 'user_id', 'item_id');
INSERT INTO exposures VALUES (1, 1, '2026-01-01'), (2, 2, '2026-02-01');
-- straight into a partition: the trigger of its parent does not see it
INSERT INTO exposures_1 VALUES (1, 3, '2026-01-01');
INSERT INTO exposures_2_1 VALUES (2, 3, '2026-02-01');
SELECT user_id, bloom_contains_each(items, '{1,2,3}'::int[]) FROM seen ORDER BY 1;
SELECT * FROM bloom_untracked('exposures');
SELECT command FROM bloom_untracked('exposures') \gexec
SELECT * FROM bloom_untracked('exposures');
INSERT INTO exposures_1 VALUES (1, 4, '2026-01-01');
INSERT INTO exposures_2_1 VALUES (2, 4, '2026-02-01');
INSERT INTO other."exposures 2" VALUES (2, 5, '2026-02-01');
INSERT INTO exposures VALUES (1, 6, '2026-01-01'), (2, 6, '2026-02-01');
SELECT user_id, bloom_contains_each(items, '{1,2,3,4,5,6}'::int[]) FROM seen ORDER BY 1;
-- a new partition, a disabled trigger, a second trigger
CREATE TABLE exposures_3 PARTITION OF exposures FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
ALTER TABLE exposures_1 DISABLE TRIGGER "track me";
ALTER TABLE exposures_2_1 ENABLE REPLICA TRIGGER "track me";
SELECT * FROM bloom_untracked('exposures');
SELECT command FROM bloom_untracked('exposures') \gexec
SELECT count(*) FROM bloom_untracked('exposures');
CREATE TRIGGER again AFTER INSERT ON exposures_3 REFERENCING NEW TABLE AS n
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('public.seen', 'items', 'user_id', 'item_id', 'fpr=0.001');
-- (it lacks four, and both triggers feed one column)
SELECT * FROM bloom_untracked('exposures');
-- of one partition alone, of a table without any
SELECT * FROM bloom_untracked('exposures_3');
SELECT * FROM bloom_untracked('seen_1');
SELECT * FROM bloom_untracked(NULL);
-- triggers that fail, or whose rebuild would
DROP TRIGGER again ON exposures_3;
\a
\set untracked 'SELECT relation, trigger_name, problem FROM bloom_untracked(\'exposures\');'
ALTER TABLE exposures RENAME item_id TO item;
:untracked
ALTER TABLE exposures RENAME item TO item_id;
ALTER TABLE seen RENAME TO seen_before;
:untracked
ALTER TABLE seen_before RENAME TO seen;
DROP TABLE seen;
CREATE TABLE seen (user_id bigint, items bloom);
SELECT relation, problem FROM bloom_untracked('exposures_1');
ALTER TABLE seen ADD PRIMARY KEY (user_id);
SELECT relation, problem FROM bloom_untracked('exposures_1');
\a
DROP TABLE exposures, seen;
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz);
CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom, others bloom);
CREATE FUNCTION problem(argument text, clauses text DEFAULT 'REFERENCING NEW TABLE AS n FOR EACH STATEMENT', column_name text DEFAULT 'items')
RETURNS TABLE (trigger_name name, problem text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TRIGGER t AFTER INSERT ON exposures %s EXECUTE FUNCTION bloom_track(''seen'', %L, ''user_id'', ''item_id'', %L)',
		clauses, column_name, argument);
	RETURN QUERY SELECT u.trigger_name, u.problem FROM bloom_untracked('exposures') AS u;
	DROP TRIGGER t ON exposures;
END
$$;
SELECT * FROM problem('fpr=0.001');
SELECT * FROM problem('fpr=2');
SELECT * FROM problem('slices=6');
SELECT * FROM problem('shown_at');
SELECT * FROM problem('condition=item_id >');
SELECT * FROM problem('condition=item > 1');
SELECT * FROM problem('fpr=0.001', 'FOR EACH ROW');
SELECT * FROM problem('fpr=0.001', 'REFERENCING NEW TABLE AS n FOR EACH ROW');
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS n
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at');
SELECT * FROM problem('time=shown_at');
SELECT * FROM problem('width=1 day');
SELECT * FROM problem('width=1 day', column_name => 'others');
DROP FUNCTION problem;
DROP TABLE exposures, seen;
DROP SCHEMA other CASCADE;
DROP SCHEMA "sch""ema";
DROP DOMAIN "do main";
DROP COLLATION ignore_case;

--
-- Rows that are changed: a trigger of its own, because PostgreSQL allows one event to a transition table
--

CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz, PRIMARY KEY (user_id, item_id));
CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom);
CREATE TABLE recent (user_id bigint PRIMARY KEY, items bloom);
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS n
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
CREATE TRIGGER track_recent AFTER INSERT ON exposures REFERENCING NEW TABLE AS n
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('recent', 'items', 'user_id', 'item_id', 'time=shown_at', 'slices=6');
-- both filters, the one with a window as it will be on February 5, and what is in them
CREATE FUNCTION contents() RETURNS TABLE (user_id bigint, seen boolean[], recent boolean[]) LANGUAGE sql AS $$
	SELECT user_id, bloom_contains_each(s.items, '{1,2,3,4}'::int[]),
		bloom_contains_each(bloom_expire(r.items, '2026-02-05 12:00+00'), '{1,2,3,4}'::int[])
	FROM public.seen AS s FULL JOIN public.recent AS r USING (user_id) ORDER BY 1
$$;
INSERT INTO exposures SELECT 1, n, '2025-12-20' FROM generate_series(1, 3) AS n;
SELECT * FROM contents();
-- a new filter forgets what is old; and what is shown again is no new row
UPDATE seen SET items = NULL;
INSERT INTO exposures VALUES (1, 1, '2026-01-20') ON CONFLICT (user_id, item_id) DO UPDATE SET shown_at = excluded.shown_at;
SELECT * FROM contents();
CREATE TRIGGER track_again AFTER UPDATE ON exposures REFERENCING NEW TABLE AS n OLD TABLE AS o
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
CREATE TRIGGER track_recent_again AFTER UPDATE ON exposures REFERENCING NEW TABLE AS n
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('recent', 'items', 'user_id', 'item_id', 'time=shown_at', 'slices=6');
INSERT INTO exposures VALUES (1, 1, '2026-01-20'), (1, 4, '2026-01-20'), (2, 1, '2026-01-20')
	ON CONFLICT (user_id, item_id) DO UPDATE SET shown_at = excluded.shown_at;
SELECT * FROM contents();
INSERT INTO exposures VALUES (1, 2, '2026-01-21') ON CONFLICT DO NOTHING;
INSERT INTO exposures VALUES (1, 2, '2026-01-21') ON CONFLICT (user_id, item_id) DO UPDATE SET shown_at = excluded.shown_at WHERE false;
SELECT * FROM contents();
UPDATE exposures SET shown_at = '2026-01-21' WHERE item_id = 2;
SELECT * FROM contents();
-- another user: it is in both
UPDATE exposures SET user_id = 3, shown_at = '2026-01-22' WHERE user_id = 1 AND item_id = 3;
UPDATE exposures SET shown_at = now() WHERE false;
SELECT * FROM contents();
DROP FUNCTION contents;
DROP TABLE exposures, seen, recent;
-- partitions: an update may move a row to another one
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at date, UNIQUE (user_id, item_id, shown_at)) PARTITION BY RANGE (shown_at);
CREATE TABLE exposures_1 PARTITION OF exposures FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE exposures_2 PARTITION OF exposures FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom);
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS n
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
CREATE TRIGGER track_again AFTER UPDATE ON exposures REFERENCING NEW TABLE AS n
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
SELECT * FROM bloom_untracked('exposures');
SELECT command FROM bloom_untracked('exposures') \gexec
SELECT * FROM bloom_untracked('exposures');
ALTER TABLE exposures_1 DISABLE TRIGGER track_again;
DROP TRIGGER track ON exposures_2;
SELECT * FROM bloom_untracked('exposures');
SELECT command FROM bloom_untracked('exposures') \gexec
INSERT INTO exposures VALUES (1, 1, '2026-01-05'), (1, 2, '2026-01-05'), (1, 3, '2026-01-05'), (1, 4, '2026-01-05');
DELETE FROM seen;
UPDATE exposures SET shown_at = '2026-02-05' WHERE item_id = 1;
UPDATE exposures_1 SET shown_at = '2026-01-06' WHERE item_id = 2;
INSERT INTO exposures_1 VALUES (1, 3, '2026-01-05') ON CONFLICT (user_id, item_id, shown_at) DO UPDATE SET shown_at = excluded.shown_at;
SELECT bloom_contains_each(items, '{1,2,3,4}'::int[]) FROM seen;
-- A partition may have its columns in another order: they go by name.
CREATE TABLE exposures_3 (kind text, shown_at date NOT NULL, gone int, item_id bigint, user_id bigint);
ALTER TABLE exposures ADD kind text;
ALTER TABLE exposures_3 DROP gone;
ALTER TABLE exposures ATTACH PARTITION exposures_3 FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
CREATE TABLE read (user_id bigint PRIMARY KEY, items bloom);
CREATE TRIGGER track_read AFTER INSERT ON exposures REFERENCING NEW TABLE AS n
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('read', 'items', 'user_id', 'item_id', 'time=shown_at', 'condition=kind = ''read''');
CREATE TRIGGER track_read AFTER INSERT ON exposures_3 REFERENCING NEW TABLE AS n
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('read', 'items', 'user_id', 'item_id', 'time=shown_at', 'condition=kind = ''read''');
INSERT INTO exposures (user_id, item_id, shown_at, kind) VALUES (1, 1, '2026-03-05', 'read'), (1, 2, '2026-03-05', 'skip');
INSERT INTO exposures_3 (user_id, item_id, shown_at, kind) VALUES (1, 3, '2026-03-05', 'read'), (1, 4, '2026-03-05', 'skip');
SELECT bloom_contains_each(items, '{1,2,3,4}'::int[]) FROM read;
CALL bloom_rebuild('read', at => '2026-03-10');
SELECT bloom_contains_each(items, '{1,2,3,4}'::int[]) FROM read;
DROP TABLE exposures_3, read;
DROP TRIGGER track_read ON exposures;
-- Updates alone are not enough.
DROP TRIGGER track ON exposures;
DROP TRIGGER track ON exposures_1;
DROP TRIGGER track ON exposures_2;
SELECT * FROM bloom_untracked('exposures');
DROP TABLE exposures, seen;

-- A user has one row: tables that inherit from the filters could hold another.
CREATE TABLE exposures (user_id bigint, item_id bigint);
CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom);
CREATE TABLE seen_child () INHERITS (seen);
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS n
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
INSERT INTO exposures VALUES (1, 1);
DROP TABLE seen_child;
-- The table stays the same one when its schema is renamed and another comes to bear the name, and so after another change of type.
CREATE SCHEMA feed;
ALTER TABLE exposures SET SCHEMA feed;
ALTER TABLE seen SET SCHEMA feed;
INSERT INTO feed.exposures SELECT i, i FROM generate_series(1, 100) i;
ALTER SCHEMA feed RENAME TO moved;
CREATE SCHEMA feed;
CREATE TABLE feed.seen (user_id bigint PRIMARY KEY, items bloom);
INSERT INTO moved.exposures SELECT i, 1000 + i FROM generate_series(1, 100) i;
INSERT INTO moved.exposures SELECT i, 1000 + i FROM generate_series(101, 200) i;
SELECT count(*) FILTER (WHERE bloom_contains(items, user_id)), count(*) FILTER (WHERE bloom_contains(items, 1000 + user_id)) FROM moved.seen;
SELECT count(*) FROM feed.seen;
ALTER TABLE moved.exposures SET SCHEMA public;
ALTER TABLE moved.seen SET SCHEMA public;
DROP TABLE feed.seen;
DROP SCHEMA feed, moved;
ALTER TABLE exposures ALTER item_id TYPE integer;
INSERT INTO exposures SELECT i, 2000 + i FROM generate_series(1, 100) i;
SELECT count(*) FILTER (WHERE bloom_contains(items, (2000 + user_id)::int)) FROM seen;
-- Users whose filters differ in their seeds each get their own positions.
TRUNCATE seen;
INSERT INTO seen SELECT i, bloom_new(1000, 0.01, i % 7) FROM generate_series(1, 50) i;
INSERT INTO exposures SELECT i, j FROM generate_series(1, 100) i, generate_series(1, 20) j;
SELECT count(*), count(*) FILTER (WHERE bloom_contains_all(items, ARRAY(SELECT generate_series(1, 20)))) FROM seen;
DROP TABLE exposures, seen;
-- A column that stores another user than it is given would lose the exposures.
CREATE TABLE exposures (user_id numeric, item_id bigint);
CREATE TABLE seen (user_id numeric(6, 0) PRIMARY KEY, items bloom);
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS n
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
INSERT INTO exposures VALUES (1.4, 1);
INSERT INTO exposures VALUES (1, 1);
INSERT INTO exposures VALUES (1.4, 2);
SELECT user_id, bloom_contains_each(items, '{1,2}'::bigint[]) FROM seen;
DROP TABLE exposures, seen;
-- An index by another collation takes other users for the same, so it does not tell them apart.
CREATE TABLE exposures (user_id text COLLATE "C", item_id bigint);
CREATE TABLE seen (user_id text COLLATE "C", items bloom);
CREATE UNIQUE INDEX ON seen (user_id COLLATE "POSIX");
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS n
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
INSERT INTO exposures VALUES ('a', 1);
DROP TABLE exposures, seen;
-- What a trigger of the filters writes while they are written is lost neither for one user nor for many.
CREATE TABLE exposures (user_id bigint, item_id bigint);
CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom);
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS n
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id');
CREATE FUNCTION show_more() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() < 6 THEN
		INSERT INTO exposures SELECT u, 1000 * pg_trigger_depth() + NEW.user_id FROM generate_series(1, 8) AS u;
	END IF;
	RETURN NULL;
END
$$;
CREATE TRIGGER show_more AFTER INSERT OR UPDATE ON seen FOR EACH ROW EXECUTE FUNCTION show_more();
INSERT INTO exposures VALUES (1, 1);
INSERT INTO exposures SELECT u, 2 FROM generate_series(1, 8) AS u;
SELECT count(*) > 100 AS nested, count(*) FILTER (WHERE (items @> item_id) IS NOT TRUE) AS missing FROM exposures LEFT JOIN seen USING (user_id);
DROP TABLE exposures, seen;
DROP FUNCTION show_more;
-- The types of columns can change between the time when a statement is written and the time when it is executed.
CREATE TABLE exposures (user_id bigint, item_id bigint);
CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom);
CREATE FUNCTION execute(command text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE command; END $$;
CREATE FUNCTION alter_seen(command text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM execute(command); RETURN true; END $$;
INSERT INTO seen SELECT u, bloom_add(NULL, 1) FROM generate_series(1, 8) AS u;
CREATE PROCEDURE try_with(command text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format($trigger$CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS n FOR EACH STATEMENT
		EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', %L)$trigger$, format('condition=public.alter_seen(%L)', command));
	FOR users IN REVERSE 8..1 BY 7 LOOP
		BEGIN
			INSERT INTO exposures SELECT u, 1 FROM generate_series(1, users) AS u;
			RAISE 'written';
		EXCEPTION WHEN OTHERS THEN
			RAISE WARNING '%: %', users, SQLERRM;
		END;
	END LOOP;
	DROP TRIGGER track ON exposures;
END
$$;
CALL try_with('ALTER TABLE seen ALTER items TYPE bytea USING items::bytea');
CALL try_with('ALTER TABLE seen RENAME items TO others');
CALL try_with('ALTER TABLE seen ALTER user_id TYPE text');
CALL try_with('ALTER TABLE seen ALTER user_id TYPE integer');
DROP PROCEDURE try_with;
DROP FUNCTION alter_seen, execute;
DROP TABLE exposures, seen;
