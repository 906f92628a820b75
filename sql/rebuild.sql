--
-- The nightly rebuild
--
SET client_min_messages = warning;
SET timezone = 'UTC';
\set SHOW_CONTEXT never

CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz);
CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom);
CREATE TABLE recent (user_id bigint PRIMARY KEY, items bloom NOT NULL, rebuilt_at timestamptz);
-- 1 to 10 were shown an item a day, 60 of them, the last one today; 11 to 13 only old ones
INSERT INTO exposures
SELECT u, u * 1000 + n, now() - n * interval '1 day'
FROM generate_series(1, 13) AS u, generate_series(CASE WHEN u > 10 THEN 40 ELSE 0 END, 59) AS n;
CREATE INDEX ON exposures (user_id);
-- Filters with nothing to do with them: of 2, 11 and 12; NULL for 3; of 99, whom nobody knows
INSERT INTO seen VALUES (2, bloom_add(NULL, -1)), (11, bloom_add(NULL, -1)), (12, NULL), (3, NULL), (99, bloom_add(NULL, -1));
INSERT INTO recent SELECT user_id, bloom_window('30 days') FROM seen;

-- Does a filter have the items 0 to 29 days old, all of them, and how many that it should not have?
CREATE FUNCTION state(filters regclass) RETURNS TABLE (users text, complete boolean, others bigint, fpr float8, layers int, headroom numeric)
LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT string_agg(user_id::text, '','' ORDER BY user_id),
		bool_and(bloom_contains_all(f.items, ARRAY(SELECT item_id FROM exposures AS e WHERE e.user_id = f.user_id AND shown_at > now() - interval ''30 days''))),
		sum((f.items @> -1)::int + cardinality(array_positions(bloom_contains_each(f.items,
			ARRAY(SELECT item_id FROM exposures AS e WHERE e.user_id = f.user_id AND shown_at < now() - interval ''36 days'')), true))),
		max(i.fpr), max(i.layers), max(i.capacity::numeric / i.items)
		FROM %s AS f, bloom_info(f.items) AS i', filters);
END
$$;

CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
SELECT * FROM state('seen');
-- again, in other batches: nothing to write
CREATE TABLE before AS SELECT user_id, ctid AS at FROM seen;
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', batch_size => 1);
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', batch_size => 3, pause => '1 millisecond');
SELECT count(*) FROM seen JOIN before USING (user_id) WHERE seen.ctid <> at;
-- another rate, headroom, width
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', '30 days', 0.001, 1);
SELECT * FROM state('seen');
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', width => '1 month 20 days');
SELECT users FROM state('seen');
-- NULL is the default, of the column of the filters the only one that there is
CALL bloom_rebuild('seen', NULL, 'exposures', 'user_id', 'item_id', 'shown_at', NULL, NULL, NULL);
SELECT * FROM state('seen');
-- a rate is kept to its last digit, whatever the session says
SET extra_float_digits = -15;
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', fpr => 0.0123456789012345678);
RESET extra_float_digits;
SELECT DISTINCT (bloom_info(items)).fpr = 0.0123456789012345678::float8 AS exact FROM seen;
-- as of another day
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', at => now() + interval '29 days 12 hours');
SELECT count(*), sum((bloom_info(items)).items) FROM seen;
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', at => now() + interval '31 days');
SELECT count(*) FROM seen;
-- windows
CALL bloom_rebuild('recent', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', slices => 6, fpr => 0.000001, rebuilt_at_column => 'rebuilt_at');
SELECT users, complete, others, fpr FROM state('recent');
SELECT DISTINCT window_width, slices, rebuilt_at > now() - interval '1 minute' AS just_now FROM recent, bloom_info(items);
-- (the filter knows its window: what is older is not added)
SELECT bloom_add_at(items, -2, now() - interval '31 days') @> -2 AS old, bloom_add_at(items, -2, now() - interval '29 days') @> -2 AS new FROM recent WHERE user_id = 1;
CREATE TABLE before_2 AS SELECT user_id, rebuilt_at FROM recent;
CALL bloom_rebuild('recent', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', '30 days', 0.001, slices => 3, rebuilt_at_column => 'rebuilt_at', batch_size => 5);
SELECT DISTINCT window_width, slices, fpr, r.rebuilt_at > b.rebuilt_at AS later FROM recent AS r JOIN before_2 AS b USING (user_id), bloom_info(items);

-- start_after: those behind, new ones and those that go
TRUNCATE seen;
INSERT INTO seen SELECT u, bloom_add(NULL, -1) FROM generate_series(5, 13, 2) AS u;
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', start_after => '7', batch_size => 2);
SELECT user_id, items @> -1 AS old FROM seen ORDER BY 1;
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', start_after => '99');

-- dry_run tells, and leaves everything as it is.  (With 30 slices each day has one, whichever day it is.)
SET client_min_messages = notice;
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', dry_run => true);
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', slices => 30, dry_run => true);
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', batch_size => 4, pause => '1 hour', dry_run => true);
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', batch_size => 4, pause => '-1 hour', dry_run => true);
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', start_after => '9', dry_run => true);
-- As a row it is one of the transaction's, sees what that has written, and sets nothing for it.
BEGIN;
SET LOCAL datestyle = german;
DELETE FROM exposures WHERE user_id = 1;
SELECT exposures, filters, bytes, others, seconds BETWEEN 0 AND 60 AS quick, current_setting('row_security') AS row_security, current_setting('datestyle') AS datestyle
FROM bloom_dry_run('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
SELECT seconds > 3600 AS slow, current_setting('row_security') AS row_security FROM bloom_dry_run('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', users => '{2,3}', pause => '1 hour', dry_run => false);
ROLLBACK;
SELECT bloom_dry_run(NULL);
SELECT user_id, items @> -1 AS old FROM seen ORDER BY 1;
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
SELECT sum((bloom_info(items)).bytes) AS as_promised FROM seen;
SET client_min_messages = warning;

-- A table that tells more of a user than the filter keeps its rows.
CREATE TABLE users (name text DEFAULT 'new', user_id bigint PRIMARY KEY, items bloom);
INSERT INTO users SELECT 'u' || u, u, bloom_add(NULL, -1) FROM generate_series(1, 13, 2) AS u;
CALL bloom_rebuild('users', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', batch_size => 4);
SELECT user_id, name, (bloom_info(items)).items FROM users ORDER BY 1;
ALTER TABLE users DROP COLUMN name;
CALL bloom_rebuild('users', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
SELECT count(*) FROM users;
DROP TABLE users, before, before_2;

-- NULL users, items and times are no exposures; a NULL user has no filter.
INSERT INTO exposures VALUES (NULL, 1, now()), (1, NULL, now()), (98, NULL, now()), (98, 1, NULL);
CREATE TABLE keyed (user_id bigint UNIQUE, items bloom);
INSERT INTO keyed VALUES (NULL, bloom_add(NULL, -1)), (NULL, NULL);
CALL bloom_rebuild('keyed', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', batch_size => 4);
SELECT count(*), count(user_id), min(user_id), max(user_id) FROM keyed;
DROP TABLE keyed;
DELETE FROM exposures WHERE user_id IS NULL OR item_id IS NULL OR shown_at IS NULL;

--
-- Tables, views, partitions, types and names of all sorts
--

CREATE SCHEMA "sch""ema";
CREATE TABLE "sch""ema"."%I" ("us""er" text, "item's" text, "%time" date) PARTITION BY RANGE ("%time");
CREATE TABLE "sch""ema".part_1 PARTITION OF "sch""ema"."%I" FOR VALUES FROM (MINVALUE) TO ('2026-01-05');
CREATE TABLE "sch""ema".part_2 PARTITION OF "sch""ema"."%I" FOR VALUES FROM ('2026-01-05') TO (MAXVALUE);
INSERT INTO "sch""ema"."%I" SELECT u, 'item ' || n, '2026-01-01'::date + n
FROM unnest(ARRAY['a', '''; DROP TABLE "sch""ema"."%I"; --', 'NULL', '{}', '"', '\', 'a b', '']) AS u, generate_series(0, 9) AS n;
CREATE VIEW "sch""ema"."vi ew" AS SELECT "us""er"::varchar AS "who?", upper("item's") AS "WHAT", "%time"::timestamp AS "when" FROM "sch""ema"."%I";
CREATE TABLE "sch""ema"."%L" ("us er" text PRIMARY KEY, "$1" bloom) PARTITION BY HASH ("us er");
CREATE TABLE "sch""ema".f_1 PARTITION OF "sch""ema"."%L" FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE "sch""ema".f_2 PARTITION OF "sch""ema"."%L" FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO "sch""ema"."%L" VALUES ('old one', NULL), ('NULL', NULL);
SET search_path = 'sch"ema', public;
CALL public.bloom_rebuild('"%L"', '$1', '"%I"', 'us"er', 'item''s', '%time', '5 days', target_user_column => 'us er', at => '2026-01-10', batch_size => 2);
RESET search_path;
SELECT "us er", bloom_contains_each("$1", '{item 3,item 4,item 9,ITEM 9}'::text[]) FROM "sch""ema"."%L" ORDER BY "us er" COLLATE "C";
CALL bloom_rebuild('"sch""ema"."%L"', '$1', '"sch""ema"."vi ew"', 'who?', 'WHAT', 'when', '5 days', target_user_column => 'us er', at => '2026-01-10', slices => 5);
SELECT count(*), bool_and(bloom_contains_each("$1", '{item 9,ITEM 4,ITEM 9}'::text[]) = '{f,t,t}') AS good FROM "sch""ema"."%L";
CALL bloom_rebuild('"sch""ema"."%L"', '$1', '"sch""ema"."%I"', 'us"er', 'item''s', '%time', '5 days', target_user_column => 'us er', at => '2026-01-10', start_after => '''; DROP TABLE "sch""ema"."%I"; --');
SELECT count(*) FROM "sch""ema"."%I";
DROP SCHEMA "sch""ema" CASCADE;

-- users of many types
CREATE FUNCTION add_users(user_type text, target_user_type text, samples text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS e, f;
	EXECUTE format('CREATE TABLE e (user_id %s, item_id uuid DEFAULT gen_random_uuid(), shown_at timestamptz DEFAULT now())', user_type);
	EXECUTE format('CREATE TABLE f (user_id %s PRIMARY KEY, items bloom)', target_user_type);
	EXECUTE format('INSERT INTO e SELECT unnest(%1$L::%2$s[])', samples || samples, split_part(user_type, ' COLLATE', 1));
	EXECUTE format('INSERT INTO f VALUES (%L)', samples[1]);
END
$$;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN positive AS int CHECK (value > 0);
\set rebuild 'CALL bloom_rebuild(''f'', ''items'', ''e'', ''user_id'', ''item_id'', ''shown_at'', batch_size => 2);'
\set result 'SELECT count(DISTINCT f.user_id) AS users, count(*) AS exposures, count(*) FILTER (WHERE items @> item_id) AS contained FROM e LEFT JOIN f ON f.user_id::text = e.user_id::text COLLATE "C";'
SELECT add_users('integer', 'bigint', '{3,1,2,-1,2147483647}');
:rebuild :result
SELECT add_users('bigint', 'numeric', '{3,1,2,-1,2147483648}');
:rebuild :result
SELECT add_users('text', 'bigint', '{3,1,2,10}');
:rebuild :result
SELECT add_users('bigint', 'text', '{3,1,2,10}');
:rebuild :result
SELECT add_users('uuid', 'uuid', '{6ecd8c99-4036-403d-bf84-cf8400f67836,6ecd8c99-4036-403d-bf84-cf8400f67837,00000000-0000-0000-0000-000000000000}');
:rebuild :result
SELECT add_users('varchar(10)', 'char(10)', '{a,b,"c d",B,_}');
:rebuild :result
SELECT add_users('mood', 'mood', '{happy,sad,ok}');
:rebuild :result
SELECT add_users('positive', 'positive', '{3,1,2,7,5}');
:rebuild :result
SELECT add_users('bytea', 'bytea', '{"\\\\x00","\\\\x","\\\\x5c"}');
:rebuild :result
SELECT add_users('timestamptz', 'timestamptz', '{2026-01-01,infinity,-infinity}');
:rebuild :result
SELECT add_users('text COLLATE "POSIX"', 'text COLLATE "C"', '{b,a,B,A,_}');
:rebuild :result
-- names that the statements use themselves
CREATE TABLE fresh (LIKE f INCLUDING ALL);
ALTER TABLE e RENAME TO locked;
CALL bloom_rebuild('fresh', 'items', 'locked', 'user_id', 'item_id', 'shown_at');
SELECT count(*) FROM fresh;
DROP TABLE locked, f, fresh;
DROP FUNCTION add_users;
DROP TYPE mood, positive;

--
-- What the triggers say need not be said again.
--

CREATE TABLE shown ("us'er" bigint, "it\000em" bigint, "at=" timestamptz DEFAULT now(), kind text) PARTITION BY LIST (kind);
CREATE TABLE shown_1 PARTITION OF shown FOR VALUES IN ('read', 'skip');
CREATE TABLE shown_2 PARTITION OF shown DEFAULT;
CREATE TABLE filters (uid bigint PRIMARY KEY, items bloom, recent bloom);
CREATE TRIGGER track AFTER INSERT ON shown REFERENCING NEW TABLE AS n FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('filters', 'items', 'us''er', 'it\000em', 'time=at=', 'target_user_column=uid', 'fpr=0.001', 'headroom=1', 'width=10 days', 'condition=kind <> ''skip''');
CREATE TRIGGER track_recent AFTER INSERT ON shown REFERENCING NEW TABLE AS n FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('filters', 'recent', 'us''er', 'it\000em', 'time=at=', 'target_user_column=uid', 'slices=5', 'width=20 days', 'fpr=0.00001');
-- (only a partition of it feeds the other column, and is as good)
CREATE TABLE other_filters (uid bigint PRIMARY KEY, items bloom);
CREATE TRIGGER track_other AFTER INSERT ON shown_1 REFERENCING NEW TABLE AS n FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('public.other_filters', 'items', 'us''er', 'it\000em', 'time=at=', 'target_user_column=uid');
INSERT INTO shown SELECT 1, d, now() - d * interval '1 day', k FROM generate_series(1, 35) AS d, unnest('{read,skip,NULL}'::text[]) AS k
	WHERE (d % 2 = 0) = (k IS NOT DISTINCT FROM 'read');
INSERT INTO shown VALUES (2, 36, NULL, 'read'), (3, 36, now(), 'skip');
UPDATE filters SET items = bloom_add(NULL, -1), recent = bloom_window('1 day');
CREATE FUNCTION state() RETURNS TABLE (filter text, uid bigint, items text, fpr float8, room numeric, width interval, slices int) LANGUAGE sql AS $$
	SELECT f.filter, f.uid, (SELECT string_agg(n::text, ' ' ORDER BY n) FROM generate_series(1, 36) AS n WHERE f.items @> n),
		i.fpr, round(i.capacity::numeric / i.items), i.window_width, i.slices
	FROM (SELECT 'items' AS filter, uid, items FROM filters UNION ALL SELECT 'recent', uid, recent FROM filters
		  UNION ALL SELECT 'other', uid, items FROM other_filters) AS f, bloom_info(f.items) AS i WHERE f.items IS NOT NULL ORDER BY 1, 2
$$;
CALL bloom_rebuild('filters');
CALL bloom_rebuild('filters', 'items');
CALL bloom_rebuild('filters', 'recent');
CALL bloom_rebuild('other_filters');
SELECT * FROM state();
-- Parameters of the call come first.
CALL bloom_rebuild('filters', 'items', fpr => 0.00001, headroom => 0, width => '5 days', condition => 'kind = ''skip''');
CALL bloom_rebuild('filters', 'recent', slices => 2);
SELECT * FROM state() WHERE filter <> 'other';
CREATE VIEW latest AS SELECT "us'er" AS who, "it\000em" AS what, "at=" AS "when" FROM shown WHERE "at=" > now() - interval '60 hours';
CALL bloom_rebuild('filters', 'items', 'latest', 'who', 'what', 'when', condition => 'true');
SELECT * FROM state() WHERE filter = 'items';
-- (the condition is that of the table)
CALL bloom_rebuild('filters', 'items', 'latest', 'who', 'what', 'when');
CALL bloom_rebuild('filters', 'items', condition => 'kind = unread');
CALL bloom_rebuild('filters', 'items', condition => 'true) OR (true');
CALL bloom_rebuild('filters', 'items', condition => '');
-- Triggers that disagree
CREATE TRIGGER another AFTER INSERT ON shown_2 REFERENCING NEW TABLE AS n FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('filters', 'items', 'us''er', 'it\000em', 'time=at=', 'target_user_column=uid', 'headroom=1', 'width=10 days');
CALL bloom_rebuild('filters', 'items');
CALL bloom_rebuild('filters', 'items', fpr => 0.01);
CALL bloom_rebuild('filters', 'items', fpr => 0.01, condition => 'kind = ''read''');
DROP TRIGGER another ON shown_2;
CREATE TABLE elsewhere (LIKE shown);
CREATE TRIGGER another AFTER INSERT ON elsewhere REFERENCING NEW TABLE AS n FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('filters', 'items', 'us''er', 'it\000em', 'time=at=', 'target_user_column=uid', 'fpr=0.001', 'headroom=1', 'width=10 days', 'condition=kind <> ''skip''');
CALL bloom_rebuild('filters', 'items');
CALL bloom_rebuild('filters', 'items', 'shown');
DROP TABLE elsewhere;
-- A trigger with a mistake, if it is for this column
CREATE TRIGGER another AFTER INSERT ON shown_2 REFERENCING NEW TABLE AS n FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('filters', 'items', 'us''er', 'it\000em', 'at=');
CREATE TRIGGER no_table AFTER INSERT ON shown_2 REFERENCING NEW TABLE AS n FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('nobody', 'items', 'us''er', 'it\000em');
CREATE TRIGGER no_name AFTER INSERT ON shown_2 REFERENCING NEW TABLE AS n FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('no body', 'items', 'us''er', 'it\000em');
CREATE TRIGGER no_schema AFTER INSERT ON shown_2 REFERENCING NEW TABLE AS n FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('nowhere.filters', 'items', 'us''er', 'it\000em');
CREATE TRIGGER no_arguments AFTER INSERT ON shown_2 REFERENCING NEW TABLE AS n FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track();
CALL bloom_rebuild('filters', 'items');
CALL bloom_rebuild('filters', 'recent');
DROP TRIGGER another ON shown_2;
CALL bloom_rebuild('filters', 'items');
-- A trigger that does not know the time, and none at all
DROP TRIGGER track_other ON shown_1;
CREATE TRIGGER track_other AFTER INSERT ON shown_1 REFERENCING NEW TABLE AS n FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('other_filters', 'items', 'us''er', 'it\000em', 'target_user_column=uid');
CALL bloom_rebuild('other_filters');
CALL bloom_rebuild('other_filters', time_column => 'at=');
DROP TRIGGER track_other ON shown_1;
CALL bloom_rebuild('other_filters', user_column => 'us''er');
-- A name that is too long is cut, as everywhere.
ALTER TABLE other_filters RENAME items TO xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx;
CREATE TRIGGER track_other AFTER INSERT ON shown_1 REFERENCING NEW TABLE AS n FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('other_filters', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxyz', 'us''er', 'it\000em', 'time=at=', 'target_user_column=uid');
CALL bloom_rebuild('other_filters');
DROP TRIGGER track_other ON shown_1;
ALTER TABLE other_filters RENAME xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx TO items;
-- A stranger's trigger is not asked.
CREATE ROLE regress_bloomexp_stranger;
CREATE SCHEMA strange AUTHORIZATION regress_bloomexp_stranger;
GRANT SELECT, INSERT, UPDATE, DELETE ON other_filters TO regress_bloomexp_stranger;
SET ROLE regress_bloomexp_stranger;
CREATE TABLE strange.shown AS SELECT 1::bigint AS uid, 1::bigint AS item, now() AS at;
CREATE FUNCTION strange.trap(bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'a stranger''s function was called'; END $$;
CREATE TRIGGER track AFTER INSERT ON strange.shown REFERENCING NEW TABLE AS n FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('public.other_filters', 'items', 'uid', 'item', 'time=at', 'condition=strange.trap(item)');
RESET ROLE;
CALL bloom_rebuild('other_filters');
CALL bloom_rebuild('other_filters', 'items', 'shown', 'us''er', 'it\000em', 'at=', target_user_column => 'uid');
SELECT * FROM state() WHERE filter = 'other';
SELECT current_user AS me \gset
GRANT :"me" TO regress_bloomexp_stranger;
CALL bloom_rebuild('other_filters');
DROP SCHEMA strange CASCADE;
DROP OWNED BY regress_bloomexp_stranger;
DROP ROLE regress_bloomexp_stranger;

--
-- Some users only
--

TRUNCATE shown, filters;
DROP TRIGGER track_recent ON shown;
INSERT INTO shown SELECT u, u * 100 + n, now(), 'read' FROM generate_series(1, 6) AS u, generate_series(1, 3) AS n;
DELETE FROM filters WHERE uid IN (2, 5);
DELETE FROM shown WHERE "us'er" IN (1, 4) OR "it\000em" % 100 = 1;
UPDATE filters SET recent = NULL;
CREATE VIEW changed AS SELECT uid, items @> uid * 100 + 1 AS gone, items @> uid * 100 + 2 AS there FROM filters ORDER BY 1;
-- one with an item less, one whose row is missing, one without exposures, one whom nobody knows; not 4, 5 and 6
CALL bloom_rebuild('filters', 'items', users => '{3,2,1,2,NULL,77}');
SELECT * FROM changed;
CALL bloom_rebuild('filters', 'items', users => '{}');
CALL bloom_rebuild('filters', 'items', users => '{ 04 ,5}', start_after => '4');
SELECT * FROM changed;
SET client_min_messages = notice;
CALL bloom_rebuild('filters', 'items', users => '{4,6,77}', dry_run => true);
CALL bloom_rebuild('filters', 'items', users => '{4,6,77}', batch_size => 1);
SET client_min_messages = warning;
SELECT * FROM changed;
\set VERBOSITY sqlstate
CALL bloom_rebuild('filters', 'items', users => '{six}');
\set VERBOSITY default
ALTER TABLE filters DROP COLUMN recent CASCADE;
CALL bloom_rebuild('filters', users => '{1,6}');
SELECT * FROM changed;
DROP FUNCTION state();
DROP TABLE shown, filters, other_filters CASCADE;

--
-- Several sessions share one rebuild.
--

CREATE TABLE shared (user_id bigint PRIMARY KEY, items bloom);
CREATE FUNCTION difference(OUT filters bigint, OUT others bigint) LANGUAGE sql AS $$
	SELECT count(*), count(*) FILTER (WHERE (s.items = w.items) IS NOT TRUE) FROM shared AS s FULL JOIN seen AS w USING (user_id)
$$;
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
-- 1 has no row, 2 and 3 an old filter, 11 and 99 nothing in the window.
INSERT INTO shared SELECT u, bloom_add(NULL, -1) FROM unnest('{2,3,11,99}'::int[]) AS u;
SET client_min_messages = notice;
CALL bloom_rebuild('shared', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', part => 2, parts => 3, dry_run => true);
CALL bloom_rebuild('shared', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', part => 1, parts => 3, batch_size => 2);
CALL bloom_rebuild('shared', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', part => 2, parts => 3, batch_size => 1);
SELECT others > 0 AS incomplete FROM difference();
CALL bloom_rebuild('shared', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', part => 3, parts => 3, batch_size => 1);
SET client_min_messages = warning;
SELECT * FROM difference();
-- the same through a view, whose exposures are all read
CREATE VIEW all_of_them AS SELECT * FROM exposures;
TRUNCATE shared;
DO $$ BEGIN FOR p IN 1 .. 4 LOOP CALL bloom_rebuild('shared', 'items', 'all_of_them', 'user_id', 'item_id', 'shown_at', part => p, parts => 4, batch_size => p); END LOOP; END $$;
SELECT * FROM difference();
-- more parts than users
TRUNCATE shared;
DO $$ BEGIN FOR p IN 1 .. 100 LOOP CALL bloom_rebuild('shared', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', part => p, parts => 100); END LOOP; END $$;
SELECT * FROM difference();
-- A part goes on where it stopped, and NULL is the default.
TRUNCATE shared;
CALL bloom_rebuild('shared', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', part => 1, parts => 2);
CREATE TEMPORARY TABLE first_part AS SELECT user_id FROM shared;
TRUNCATE shared;
CALL bloom_rebuild('shared', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', part => 1, parts => 2, start_after => '5', batch_size => 1);
SELECT count(*) > 0 AS some, bool_and(user_id > 5) AS behind, count(*) = (SELECT count(*) FROM first_part WHERE user_id > 5) AS all_of_them
FROM shared JOIN first_part USING (user_id);
CALL bloom_rebuild('shared', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', part => NULL, parts => NULL);
SELECT * FROM difference();
DROP VIEW all_of_them;
DROP FUNCTION difference;
DROP TABLE shared, first_part;

-- Users who are equal but not alike are one user, in one part: each filter is written once.
CREATE TABLE writes (u numeric);
CREATE FUNCTION log_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO writes VALUES (NEW.u); RETURN NULL; END $$;
CREATE TABLE alike (u numeric, i int, t timestamptz DEFAULT now());
CREATE TABLE alike_seen (u numeric PRIMARY KEY, f bloom, at timestamptz);
CREATE TRIGGER log AFTER INSERT OR UPDATE ON alike_seen FOR EACH ROW EXECUTE FUNCTION log_write();
INSERT INTO alike SELECT u + s, n FROM generate_series(1, 20) AS u, unnest('{0,0.0,0.00}'::numeric[]) WITH ORDINALITY AS s (s, n);
CREATE INDEX ON alike (u);
DO $$ BEGIN FOR p IN 1 .. 5 LOOP CALL bloom_rebuild('alike_seen', 'f', 'alike', 'u', 'i', 't', part => p, parts => 5, batch_size => 3, rebuilt_at_column => 'at'); END LOOP; END $$;
SELECT count(*), count(DISTINCT u), (SELECT bool_and(bloom_contains_all(f, '{1,2,3}'::int[])) FROM alike_seen) AS complete FROM writes;
TRUNCATE writes, alike_seen;
INSERT INTO alike_seen SELECT u + 0.000 FROM generate_series(1, 20, 2) AS u;
TRUNCATE writes;
DO $$ BEGIN FOR p IN 1 .. 5 LOOP CALL bloom_rebuild('alike_seen', 'f', 'alike', 'u', 'i', 't', part => p, parts => 5, batch_size => 3, rebuilt_at_column => 'at'); END LOOP; END $$;
SELECT count(*), count(DISTINCT u), (SELECT bool_and(bloom_contains_all(f, '{1,2,3}'::int[])) FROM alike_seen) AS complete FROM writes;
DROP TABLE alike, alike_seen;
CREATE TABLE alike (u float8, i int, t timestamptz DEFAULT now());
CREATE TABLE alike_seen (u float8 PRIMARY KEY, f bloom);
INSERT INTO alike VALUES (0, 1), ('-0', 2), ('NaN', 3), ('-inf', 4), ('inf', 5);
DO $$ BEGIN FOR p IN 1 .. 3 LOOP CALL bloom_rebuild('alike_seen', 'f', 'alike', 'u', 'i', 't', part => p, parts => 3); END LOOP; END $$;
SELECT count(*) FILTER (WHERE f @> i) AS contained, count(*) AS of, count(DISTINCT u) AS users FROM alike LEFT JOIN alike_seen USING (u);
DROP TABLE alike, alike_seen, writes;
DROP FUNCTION log_write;
-- A type that has no hash function can do without, but not in parts.
CREATE TABLE hashless (u money, i int, t timestamptz DEFAULT now());
CREATE TABLE hashless_seen (u money PRIMARY KEY, f bloom);
INSERT INTO hashless VALUES (1, 1), (2, 2);
CALL bloom_rebuild('hashless_seen', 'f', 'hashless', 'u', 'i', 't');
\set VERBOSITY terse
CALL bloom_rebuild('hashless_seen', 'f', 'hashless', 'u', 'i', 't', part => 1, parts => 2);
\set VERBOSITY default
SELECT count(*) FROM hashless_seen;
DROP TABLE hashless, hashless_seen;

--
-- Users are found by a walk along an index, where there is one, and by all exposures otherwise.
--

CREATE TABLE walked (u text COLLATE "C", v varchar, i int, t timestamptz);
CREATE TABLE walked_seen (u text COLLATE "C" PRIMARY KEY, f bloom);
\set walks 'CALL bloom_rebuild(\'walked_seen\', \'f\', :\'source\', :\'user\', \'i\', \'t\', target_user_column => \'u\', dry_run => true);'
CREATE VIEW walked_view AS SELECT * FROM walked;
CREATE INDEX walked_1 ON walked (i, u);
CREATE INDEX walked_2 ON walked (u) WHERE i > 0;
CREATE INDEX walked_3 ON walked USING hash (u);
CREATE INDEX walked_4 ON walked (u COLLATE "POSIX");
CREATE INDEX walked_5 ON walked (u text_pattern_ops);
CREATE INDEX walked_6 ON walked (lower(u));
CREATE INDEX walked_7 ON walked (v);
SET client_min_messages = debug1;
\set source walked
\set user u
:walks
\set user v
:walks
\set user u
\set source walked_view
:walks
SET client_min_messages = warning;
CREATE INDEX walked_8 ON walked (u DESC, i);
SET client_min_messages = debug1;
\set source walked
:walks
\set source walked_view
:walks
\set source walked
SET client_min_messages = warning;
-- what inherits has indexes of its own, and so have partitions
CREATE TABLE walked_child () INHERITS (walked);
SET client_min_messages = debug1;
:walks
SET client_min_messages = warning;
DROP TABLE walked_child;
DROP TABLE walked CASCADE;
CREATE TABLE walked (u text COLLATE "C", i int, t timestamptz DEFAULT now()) PARTITION BY RANGE (t);
CREATE TABLE walked_1 PARTITION OF walked FOR VALUES FROM (MINVALUE) TO ('2020-01-01');
CREATE TABLE walked_2 PARTITION OF walked DEFAULT;
CREATE INDEX ON walked (u);
SET client_min_messages = debug1;
:walks
\set source walked_1
:walks
SET client_min_messages = warning;
DROP TABLE walked;
CREATE TABLE walked (u text COLLATE "C", i int, t timestamptz DEFAULT now());
CREATE INDEX ON walked (u);
-- Every user is found, in all batches; and it is one look each, whatever the statistics say.
INSERT INTO walked SELECT 'u' || u, n, now() - interval '40 days' FROM generate_series(1, 60) AS u, generate_series(1, 200) AS n;
ANALYZE walked;
INSERT INTO walked SELECT 'u' || u, n FROM generate_series(11, 60) AS u, generate_series(1, 40) AS n;
CREATE SEQUENCE looks;
CREATE FUNCTION look(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN nextval('looks') > 0; END $$;
CALL bloom_rebuild('walked_seen', 'f', 'walked', 'u', 'i', 't', condition => 'public.look(i)', batch_size => 7);
SELECT count(*), sum((bloom_info(f)).items), (SELECT last_value - 50 * 40 FROM looks) AS looks FROM walked_seen;
ALTER SEQUENCE looks RESTART;
TRUNCATE walked_seen;
DO $$ BEGIN FOR p IN 1 .. 3 LOOP CALL bloom_rebuild('walked_seen', 'f', 'walked', 'u', 'i', 't', condition => 'public.look(i)', batch_size => 7, part => p, parts => 3); END LOOP; END $$;
SELECT count(*), sum((bloom_info(f)).items), (SELECT last_value - 50 * 40 FROM looks) AS looks FROM walked_seen;
DROP SEQUENCE looks;
DROP FUNCTION look;
DROP TABLE walked, walked_seen;

-- Integers of different lengths are compared as they are, so that the index is used.  (The others of a pair are cast.)
CREATE DOMAIN long AS bigint;
SET enable_seqscan = off;
CREATE FUNCTION by_index(integer) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF pg_stat_get_xact_numscans('walked'::regclass) > current_setting('test.scans')::bigint THEN
		RAISE WARNING 'the exposures are read from end to end';
	END IF;
	RETURN true;
END
$$;
DO $$
DECLARE
	types text[];
	result record;
BEGIN
	FOREACH types SLICE 1 IN ARRAY '{{bigint,bigint},{smallint,integer},{integer,bigint},{bigint,integer},{long,integer},{integer,long},{numeric,bigint},{integer,numeric}}'::text[] LOOP
		EXECUTE format('CREATE TABLE walked (u %s, i int, t timestamptz DEFAULT now())', types[1]);
		EXECUTE format('CREATE TABLE walked_seen (u %s PRIMARY KEY, f bloom)', types[2]);
		CREATE INDEX ON walked (u);
		INSERT INTO walked SELECT u, u * 100 + n FROM generate_series(-7, 7) AS u, generate_series(1, 3) AS n;
		INSERT INTO walked_seen SELECT u, bloom_add(NULL, -1) FROM generate_series(-9, 9, 2) AS u;
		PERFORM set_config('test.scans', pg_stat_get_xact_numscans('walked'::regclass)::text, false);
		CALL bloom_rebuild('walked_seen', 'f', 'walked', 'u', 'i', 't', batch_size => 4,
			condition => CASE WHEN 'numeric' = ANY (types) THEN NULL ELSE 'public.by_index(i)' END);
		SELECT count(*) AS users, bool_and(f = (SELECT bloom_agg(i, 0.01, 0.2) FROM walked AS e WHERE e.u = s.u)) AS complete INTO result FROM walked_seen AS s;
		RAISE WARNING '% in exposures, % in filters: % users, complete %', types[1], types[2], result.users, result.complete;
		DROP TABLE walked, walked_seen;
	END LOOP;
END
$$;
DROP FUNCTION by_index;
RESET enable_seqscan;
DROP DOMAIN long;
-- In parts, and users whom the filters' column cannot hold
CREATE TABLE walked (u bigint, i int, t timestamptz DEFAULT now());
CREATE TABLE walked_seen (u int PRIMARY KEY, f bloom);
CREATE INDEX ON walked (u);
INSERT INTO walked SELECT u, u FROM generate_series(1, 50) AS u;
DO $$ BEGIN FOR p IN 1 .. 3 LOOP CALL bloom_rebuild('walked_seen', 'f', 'walked', 'u', 'i', 't', part => p, parts => 3, batch_size => 4); END LOOP; END $$;
SELECT count(*), bool_and(f @> u) AS complete FROM walked_seen;
INSERT INTO walked VALUES (3000000000, 1);
\set VERBOSITY sqlstate
CALL bloom_rebuild('walked_seen', 'f', 'walked', 'u', 'i', 't', batch_size => 4);
\set VERBOSITY default
SELECT count(*), bool_and(f @> u) AS complete FROM walked_seen;
DROP TABLE walked, walked_seen;


--
-- No search_path and no setting leads it astray.
--

CREATE SCHEMA other;
CREATE TABLE other.seen (LIKE seen INCLUDING ALL);
CREATE FUNCTION other.trap(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked'; END $$;
CREATE FUNCTION other.trap(int, int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked'; END $$;
CREATE FUNCTION other.trap(text[], text[]) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked'; END $$;
CREATE OPERATOR other.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = other.trap);
CREATE OPERATOR other.> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = other.trap);
CREATE OPERATOR other.= (LEFTARG = int, RIGHTARG = int, FUNCTION = other.trap);
CREATE OPERATOR other.< (LEFTARG = int, RIGHTARG = int, FUNCTION = other.trap);
CREATE OPERATOR other.= (LEFTARG = text[], RIGHTARG = text[], FUNCTION = other.trap);
CREATE FUNCTION other.cardinality(text[]) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked'; END $$;
CREATE FUNCTION other.now() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked'; END $$;
CREATE FUNCTION other.bloom_rebuild_agg(bigint, float8, float8) RETURNS bloom LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked'; END $$;
SET search_path = other, pg_catalog;
SET default_transaction_isolation = 'serializable';
SET intervalstyle = 'sql_standard';
SET datestyle = 'German';
SET timezone = 'America/Los_Angeles';
SET extra_float_digits = -15;
CALL public.bloom_rebuild('public.seen', 'items', 'public.exposures', 'user_id', 'item_id', 'shown_at', batch_size => 3, pause => '0.001 s', rebuilt_at_column => NULL);
CALL public.bloom_rebuild('public.recent', 'items', 'public.exposures', 'user_id', 'item_id', 'shown_at', slices => 6, fpr => 0.000001, rebuilt_at_column => 'rebuilt_at', at => pg_catalog.now());
RESET ALL;
SET client_min_messages = warning;
SET timezone = 'UTC';
SELECT users, complete, others FROM state('seen');
SELECT users, complete, others, fpr FROM state('recent');
SELECT count(*) FROM other.seen;
DROP SCHEMA other CASCADE;

-- the rights are the caller's
CREATE ROLE regress_bloomexp_rebuilder;
GRANT SELECT, INSERT, UPDATE ON seen TO regress_bloomexp_rebuilder;
SET ROLE regress_bloomexp_rebuilder;
\set VERBOSITY terse
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
RESET ROLE;
GRANT SELECT ON exposures TO regress_bloomexp_rebuilder;
SET ROLE regress_bloomexp_rebuilder;
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
RESET ROLE;
GRANT DELETE ON seen TO regress_bloomexp_rebuilder;
SET ROLE regress_bloomexp_rebuilder;
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
RESET ROLE;
DROP OWNED BY regress_bloomexp_rebuilder;
DROP ROLE regress_bloomexp_rebuilder;
\set VERBOSITY default

--
-- Progress, for other sessions to see
--

CREATE TABLE progress (line serial, name text);
CREATE FUNCTION look() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	INSERT INTO progress (name) SELECT query FROM pg_stat_activity AS a
	WHERE pid = pg_backend_pid() AND NOT EXISTS (SELECT FROM progress WHERE name = a.query);
	RETURN true;
END
$$;
CREATE VIEW looking AS SELECT * FROM exposures WHERE look();
CALL bloom_rebuild('seen', 'items', 'looking', 'user_id', 'item_id', 'shown_at', batch_size => 4);
SELECT name FROM progress ORDER BY line;
SELECT query LIKE 'bloom_rebuild%' AS left_behind FROM pg_stat_activity WHERE pid = pg_backend_pid();
DROP VIEW looking;
DROP FUNCTION look;
DROP TABLE progress;

--
-- Mistakes
--

\set VERBOSITY terse
BEGIN;
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
ROLLBACK;
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'shown_at', 'shown_at');
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'user_id');
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', rebuilt_at_column => 'rebuilt_at');
DO $$ BEGIN CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at'); EXCEPTION WHEN OTHERS THEN RAISE; END $$;
\set VERBOSITY default
CALL bloom_rebuild('exposures', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
CALL bloom_rebuild('seen', 'item', 'exposures', 'user_id', 'item_id', 'shown_at');
CALL bloom_rebuild('seen', 'user_id', 'exposures', 'user_id', 'item_id', 'shown_at');
CALL bloom_rebuild('seen', 'items', 'exposures', 'user', 'item_id', 'shown_at', target_user_column => 'user_id');
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item', 'shown_at');
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown');
CALL bloom_rebuild('nothing', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
CALL bloom_rebuild('pg_tables', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
CREATE TABLE keyless AS TABLE seen;
CALL bloom_rebuild('keyless', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
DROP TABLE keyless;
CREATE TABLE strict (user_id bigint PRIMARY KEY, items bloom NOT NULL, name text);
CALL bloom_rebuild('strict', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
DROP TABLE strict;
CREATE TABLE two (user_id bigint PRIMARY KEY, items bloom, others bloom);
-- None of these may take the filters away.
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', '0 days');
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', '-1 day');
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', at => 'infinity');
CALL bloom_rebuild(NULL, 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
CALL bloom_rebuild('seen');
CALL bloom_rebuild('seen', user_column => 'user_id', time_column => 'shown_at');
CALL bloom_rebuild('two', source => 'exposures', user_column => 'user_id', item_column => 'item_id', time_column => 'shown_at');
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', fpr => 1);
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', headroom => -1);
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', slices => 0);
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', '1 month', slices => 6);
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', batch_size => 0);
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', batch_size => NULL);
\set VERBOSITY sqlstate
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', start_after => 'x');
\set VERBOSITY default
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', parts => 0);
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', part => 1, parts => 1001);
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', part => 0, parts => 2);
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', part => 3, parts => 2);
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', part => 2);
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', users => '{1}', part => 1, parts => 2);
SELECT * FROM state('seen');
DROP FUNCTION state;
DROP TABLE exposures, seen, recent, two;

--
-- Users travel as texts: whatever the session's settings, each text is the user again.  One a batch, so that a wrong one
-- would be skipped or come twice.
--
CREATE TABLE by_float (u float8, i int, t timestamptz);
CREATE TABLE seen_by_float (u float8 PRIMARY KEY, f bloom);
INSERT INTO by_float VALUES (0.1::float8 + 0.2::float8, 1, now()), (7, 2, now()), (1e-300, 3, now());
CREATE TABLE by_time (u timestamptz, i int, t timestamptz);
CREATE TABLE seen_by_time (u timestamptz PRIMARY KEY, f bloom);
INSERT INTO by_time VALUES ('2026-02-01 12:00:00.123456+00', 1, now()), ('2026-01-02 12:00+00', 2, now());
SET extra_float_digits = 0;
SET datestyle = 'SQL, DMY';
SET timezone = 'Asia/Kolkata';
CALL bloom_rebuild('seen_by_float', 'f', 'by_float', 'u', 'i', 't', batch_size => 1);
CALL bloom_rebuild('seen_by_float', 'f', 'by_float', 'u', 'i', 't', batch_size => 1);
CALL bloom_rebuild('seen_by_time', 'f', 'by_time', 'u', 'i', 't', batch_size => 1);
RESET extra_float_digits;
RESET datestyle;
RESET timezone;
SELECT count(*) FILTER (WHERE f @> i) AS float_users, count(*) AS of FROM by_float LEFT JOIN seen_by_float USING (u);
SELECT count(*) FILTER (WHERE f @> i) AS time_users, count(*) AS of FROM by_time LEFT JOIN seen_by_time USING (u);
DROP TABLE by_float, seen_by_float, by_time, seen_by_time;
