--
-- What a feed does: an item that was shown to a user in the last width is not shown again, however
-- the exposure was written.  Older exposures, and rows that are not exposures, do not count.
--
SET client_min_messages = error;
SET TimeZone = 'America/New_York';
\set VERBOSITY terse
\pset tuples_only on
\pset format unaligned
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
SELECT current_setting('server_version_num')::int >= 150000 AS has_merge,
	EXISTS (SELECT FROM pg_available_extensions WHERE name = 'citext') AS has_citext \gset

-- Feeds for all types of users and items, with triggers and without, alternately with a row per
-- item and a row per page; all names must be quoted.
\if :has_citext
CREATE EXTENSION citext;
\else
CREATE DOMAIN citext AS text;
\endif
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN user_name AS text CHECK (VALUE <> '') CHECK (VALUE IS NOT NULL);
CREATE DOMAIN item_id AS bigint CHECK (VALUE > 0);
CREATE TABLE kinds (n serial, trigger boolean, paged boolean, user_type text, item_type text,
	users text[] DEFAULT '{1,2}',
	items text[] DEFAULT '{10,20,30,40}');
INSERT INTO kinds (trigger, paged, user_type, item_type, users, items)
SELECT trigger, (m + t) % 2 = 0, user_type, item_type, users, CASE
	WHEN item_type = 'uuid' THEN ARRAY(SELECT md5(n::text)::uuid::text FROM generate_series(1,
		4) AS n)
	WHEN item_type = 'bytea' THEN '{"\\x","\\x00","\\x01","\\xff"}'
		WHEN item_type ~ 'int|item' THEN '{10,20,30,40}'::text[] ELSE '{"{a,b}","",NULL x,"\""}' END
FROM (VALUES (1, true), (2, false)) AS m (m, trigger), (VALUES
	(1, 'bigint', 'bigint', '{1,-9223372036854775808}'::text[]), (2, 'integer', 'text', '{1,2}'),
	(3, 'smallint', 'smallint', '{1,2}'),
	(4, 'uuid', 'uuid',
		'{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff}'),
	(5, 'text', 'integer', '{'''',"{$}"}'), (6, 'text COLLATE "C"', 'bytea', '{a,A}'),
	(7, 'mood', 'varchar(9)', '{sad,happy}'),
	(8, 'citext', 'item_id', '{a,b}'), (9, 'user_name', 'text', '{a,b}'), (10, 'varchar(5)',
		'varchar', '{a,b}'),
	(11, 'char(5)', 'char(6)', '{abc,abcde}'), (12, 'numeric(9,2)', 'bigint', '{1.50,2}'),
	(13, 'date', 'text', '{2020-01-01,infinity}'), (14, 'bit(3)', 'bigint', '{101,010}')) AS t (t,
		user_type, item_type,
	users);

-- Names of 63 bytes; those of feeds have 56, after which triggers are called, and differ in the
-- last one.
CREATE FUNCTION name_of(prefix text, n int) RETURNS text LANGUAGE sql AS $$
	SELECT prefix || lpad(n::text, 2, '0') || rpad('{feed}$feed$ "$1" ''{"}\ e.%I', 60, '$')
$$;
CREATE FUNCTION feed_of(n int) RETURNS text LANGUAGE sql AS $$
	SELECT rpad('{feed}$feed$ "$1" ''{"}\ e.%I', 54, '$') || lpad(n::text, 2, '0')
$$;
CREATE PROCEDURE make(INOUT made int DEFAULT 0) LANGUAGE plpgsql AS $$
DECLARE
	k kinds;
BEGIN
	FOR k IN SELECT * FROM kinds LOOP
		EXECUTE format('CREATE TABLE %I (%I %s, %I %s%s, %I timestamptz DEFAULT now())',
			name_of('T', k.n), name_of('u', k.n),
			k.user_type, name_of('i', k.n), k.item_type,
			CASE WHEN k.paged THEN '[]' ELSE '' END, name_of('t', k.n));
		EXECUTE format('CREATE INDEX ON %I (%I, %I)', name_of('T', k.n), name_of('u', k.n),
			name_of('t', k.n));
		PERFORM bloomexp.create_feed(feed_of(k.n), format('%I', name_of('T', k.n))::regclass,
			name_of('u', k.n),
			name_of('i', k.n), name_of('t', k.n), trigger => k.trigger);
		made := made + 1;
	END LOOP;
END
$$;
-- Show some items, by their numbers, to the first or second user of each.
CREATE PROCEDURE show(u int, VARIADIC numbers int[]) LANGUAGE plpgsql AS $$
DECLARE
	k kinds;
BEGIN
	FOR k IN SELECT * FROM kinds LOOP
		EXECUTE format('INSERT INTO %I SELECT $1::%s, %s', name_of('T', k.n), k.user_type, CASE
			WHEN k.paged THEN format('$2::%s[]', k.item_type) ELSE format('unnest($2)::%s',
				k.item_type) END)
		USING k.users[u], ARRAY(SELECT k.items[i] FROM unnest(numbers) AS i);
	END LOOP;
END
$$;
-- Which items a user gets, by their numbers.
CREATE FUNCTION got(k kinds, function text, u text, more text DEFAULT '') RETURNS int[]
	LANGUAGE plpgsql AS $$
DECLARE
	answer text[];
BEGIN
	EXECUTE format('SELECT %I.%I($1::%s, $2::%s[]%s)::text[]', feed_of(k.n), function, k.user_type,
		k.item_type, more)
		INTO answer USING u, k.items;
	RETURN ARRAY(SELECT array_position(k.items, item)
		FROM unnest(answer) WITH ORDINALITY AS a (item, nth) ORDER BY nth);
END
$$;
CREATE VIEW results AS SELECT trigger, paged, first, second, taken, count(*),
	string_agg(concat(user_type, ' ', item_type), ', ' ORDER BY n)
FROM (SELECT *, got(kinds, 'unseen', users[1]) AS first, got(kinds, 'unseen', users[2]) AS second,
	got(kinds, 'take', users[2], ', 2') AS taken FROM kinds OFFSET 0) AS k
GROUP BY trigger, paged, first, second, taken ORDER BY trigger, paged, 6;
CALL make();
CALL show(1, 1, 3);
CALL show(2, 1);
TABLE results;
-- After a rebuild: what was taken and not inserted is free again.
\o /dev/null
SELECT format('CALL %I.rebuild()', feed_of(n)) FROM kinds \gexec
\o
CALL show(2, 4);
SELECT trigger, first, second, taken, sum(count) FROM results GROUP BY 1, 2, 3, 4 ORDER BY 1, 5;
\if :has_citext
SELECT trigger, got(kinds, 'unseen', upper(users[1])), count(*) FROM kinds
	WHERE user_type = 'citext' GROUP BY 1, 2
	ORDER BY 1;
\endif
-- The commands that make them again.  DROP SCHEMA undoes them.
SELECT count(*), string_agg(concat_ws(' ', trigger, user_type, item_type, command),
	E'\n') FILTER (WHERE command <> format('SELECT bloomexp.feed_sql(%L, %L, '
	'user_column => %L, item_column => %L, time_column => %L%s);',
	feed_of(n), format('public.%I', name_of('T', n)),
	name_of('u', n), name_of('i', n), name_of('t', n),
	CASE WHEN trigger THEN '' ELSE ', trigger => false' END)) AS others
FROM kinds JOIN bloomexp.feeds() ON feed = feed_of(n);
CREATE FUNCTION execute(command text) RETURNS text
	LANGUAGE plpgsql AS $$ BEGIN EXECUTE command; RETURN 'done'; END $$;
SELECT execute(format('DROP SCHEMA %I CASCADE', feed_of(n))), count(*) FROM kinds GROUP BY 1;
SELECT count(*) FROM pg_trigger;
SELECT execute(format('DROP TABLE %I', name_of('T', n))), count(*) FROM kinds GROUP BY 1;

-- The width, whatever the time zones of writers, rebuilds and readers: a timestamp is UTC.  182
-- days ago clocks mostly had another time in Berlin and Los Angeles.
CREATE TABLE zoned (user_id int, item_id int, shown_at timestamptz);
CREATE TABLE plain (user_id int, item_id int, shown_at timestamp);
CREATE INDEX ON zoned (user_id);
CREATE INDEX ON plain (user_id);
SELECT count(bloomexp.create_feed(format('%s_%s_%s', kind, name, width), name::regclass,
	trigger => kind = 'tracked', width => width * interval '1 day')) AS feeds
FROM (VALUES ('tracked'), ('untracked')) AS k (kind), (VALUES ('zoned'), ('plain')) AS n (name),
	(VALUES (30), (182)) AS w (width);
CREATE FUNCTION ago(days int, more interval) RETURNS timestamp LANGUAGE sql AS $$
	SELECT now() AT TIME ZONE 'UTC' - days * interval '1 day' - more $$;
CREATE VIEW widths AS SELECT f.* FROM (VALUES
	('30', ARRAY[tracked_zoned_30.unseen(30, '{1,2}'), tracked_plain_30.unseen(30, '{1,2}'),
		untracked_zoned_30.unseen(30, '{1,2}'), untracked_plain_30.unseen(30, '{1,2}')]),
	('182', ARRAY[tracked_zoned_182.unseen(182, '{1,2}'), tracked_plain_182.unseen(182, '{1,2}'),
		untracked_zoned_182.unseen(182, '{1,2}'), untracked_plain_182.unseen(182, '{1,2}')]))
	AS f (width, unseen);
-- 1 was shown half an hour less than the width ago, 2 an hour more
CREATE FUNCTION insert_at_edges() RETURNS void LANGUAGE sql AS $$
	TRUNCATE tracked_zoned_30.filters, tracked_plain_30.filters, tracked_zoned_182.filters,
		tracked_plain_182.filters,
		plain, zoned;
	INSERT INTO plain SELECT d, 1, ago(d, '-30 minutes') FROM unnest('{30,182}'::int[]) AS d
		UNION ALL SELECT d, 2, ago(d, '1 hour') FROM unnest('{30,182}'::int[]) AS d;
	INSERT INTO zoned SELECT user_id, item_id, shown_at AT TIME ZONE 'UTC' FROM plain
$$;
CREATE VIEW rebuilds AS SELECT format('CALL %I.rebuild()', feed) FROM bloomexp.feeds();
CREATE VIEW wrong AS SELECT * FROM widths WHERE unseen <> '{{2},{2},{2},{2}}';
SET TimeZone = 'Europe/Berlin';
SELECT insert_at_edges() \g /dev/null
TABLE wrong;
\o /dev/null
TABLE rebuilds \gexec
\o
TABLE wrong;
SET TimeZone = 'America/Los_Angeles';
TABLE wrong;
\o /dev/null
TABLE rebuilds \gexec
\o
TABLE wrong;
SELECT insert_at_edges() \g /dev/null
TABLE wrong;
SET TimeZone = 'UTC';
TABLE widths;
SET TimeZone = 'America/New_York';
DROP VIEW rebuilds, wrong;
SELECT execute(format('DROP SCHEMA %I CASCADE', feed)), count(*) FROM bloomexp.feeds() GROUP BY 1;
DROP TABLE zoned, plain;

-- Which rows are exposures and which are not: NULL, times before and after all others, pages
-- without items, a condition.
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now(),
	shown boolean);
CREATE TABLE pages (user_id bigint, item_id bigint[], shown_at timestamptz DEFAULT now(),
	shown boolean);
CREATE INDEX ON exposures (user_id);
CREATE INDEX ON pages (user_id);
SELECT count(bloomexp.create_feed(concat(kind, '_', name), name::regclass,
	trigger => kind = 'tracked', "where" => 'shown')) AS feeds
FROM (VALUES ('tracked'), ('untracked')) AS k (kind), (VALUES ('exposures'), ('pages')) AS n (name);
INSERT INTO exposures SELECT u, i, t, s FROM (VALUES
	(1, 1, now(), true), (1, 2, now(), false), (1, 3, now(), NULL), (1, 4, NULL, true), (NULL, 5,
		now(), true),
	(1, NULL, now(), true),
	(1, 6, 'infinity', true), (1, 7, '-infinity', true), (1, 8, now() + interval '1 year', true),
	(1, 9, now() - interval '29 days', true)) AS v (u, i, t, s);
INSERT INTO pages SELECT user_id, CASE item_id WHEN 1 THEN '{NULL,1,NULL,1}'::bigint[] WHEN 6 THEN
	'{{6},{NULL}}'
	ELSE ARRAY[item_id] END, shown_at, shown FROM exposures;
INSERT INTO pages VALUES (1, '{}', now(), true), (1, NULL, now(), true), (1, '{NULL}', now(), true),
	(2, '{NULL}', now(), true), (2, '{}', now(), true);
CREATE VIEW unseen AS SELECT n, tracked_exposures.unseen(n, c) AS tracked_exposures,
	untracked_exposures.unseen(n, c) AS untracked_exposures,
	tracked_pages.unseen(n, c) AS tracked_pages, untracked_pages.unseen(n, c) AS untracked_pages
FROM (SELECT n, ARRAY(SELECT generate_series(1::bigint, 9)) AS c FROM generate_series(1,
	2) AS n) AS u;
TABLE unseen;
SELECT command FROM bloomexp.feeds() WHERE feed = 'untracked_pages';
SELECT format('CALL %I.rebuild()', feed) FROM bloomexp.feeds() ORDER BY feed \gexec
TABLE unseen;
SELECT count(*), count(user_id) FROM (TABLE tracked_exposures.filters
	UNION ALL TABLE tracked_pages.filters) AS f;
-- Rows that an update makes exposures.  Rows that it makes none are forgotten by the next rebuild.
UPDATE exposures SET shown = item_id <> 1 WHERE item_id IN (1, 2);
UPDATE pages SET shown = NOT item_id @> '{1}' WHERE item_id && '{1,2}';
TABLE unseen;
CALL tracked_exposures.rebuild(users => '{1}');
CALL untracked_pages.rebuild(users => '{1}');
SELECT tracked_exposures, untracked_pages FROM unseen WHERE n = 1;
DROP VIEW unseen;
SELECT execute(format('DROP SCHEMA %I CASCADE', feed)), count(*) FROM bloomexp.feeds() GROUP BY 1;
DROP TABLE exposures, pages;

-- Statements that write exposures.
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now(),
	PRIMARY KEY (user_id, item_id));
SELECT bloomexp.create_feed('seen', 'exposures');
INSERT INTO exposures SELECT 1, i, now() - interval '40 days' FROM generate_series(1, 4) AS i;
SELECT seen.unseen(1, '{1,2,3,4,5,6}');
INSERT INTO exposures VALUES (1, 1), (1, 5) ON CONFLICT (user_id, item_id) DO UPDATE
	SET shown_at = excluded.shown_at;
INSERT INTO exposures VALUES (1, 2) ON CONFLICT DO NOTHING;
\if :has_merge
MERGE INTO exposures AS e USING (VALUES (1, 3), (1, 6)) AS v (u, i) ON user_id = u AND item_id = i
WHEN MATCHED THEN UPDATE SET shown_at = now() WHEN NOT MATCHED THEN INSERT VALUES (u, i);
\else
INSERT INTO exposures VALUES (1, 3), (1, 6) ON CONFLICT (user_id, item_id) DO UPDATE
	SET shown_at = now();
\endif
COPY exposures (user_id, item_id) FROM stdin;
1	7
2	7
\.
WITH a AS (INSERT INTO exposures VALUES (3, 1) RETURNING user_id),
	b AS (UPDATE exposures SET user_id = 4 WHERE item_id = 4 RETURNING 1),
	c AS (UPDATE exposures SET shown_at = now() WHERE user_id = 2 RETURNING 1)
SELECT seen.unseen(user_id, '{1}') AS as_before FROM a;
UPDATE exposures SET user_id = 3 WHERE user_id = 2;
SELECT u, seen.unseen(u, '{1,2,3,4,5,6,7,8}') FROM generate_series(1, 4) AS u;
-- An exposure that is rolled back was not shown.  A filter of another kind is an error for its
-- readers, until a rebuild.
BEGIN;
INSERT INTO exposures VALUES (1, 8);
SAVEPOINT s;
INSERT INTO exposures VALUES (1, 9);
ROLLBACK TO s;
SELECT seen.unseen(1, '{8,9}');
COMMIT;
SELECT seen.unseen(1, '{8,9}');
UPDATE seen.filters SET items = bloom_add(NULL, 'a text'::text) WHERE user_id = 3;
INSERT INTO exposures VALUES (3, 9);
SELECT seen.unseen(3, '{1,7,9}');
CALL seen.rebuild(users => '{3}');
SELECT seen.unseen(3, '{1,7,9}');
-- If something suppresses the write of a filter, that is an error, not an item that is taken twice.
CREATE RULE lost AS ON INSERT TO seen.filters DO INSTEAD NOTHING;
INSERT INTO exposures VALUES (5, 9);
SELECT seen.take(5, '{1,2}', 1);
DROP RULE lost ON seen.filters;
DISCARD PLANS;	-- one that is nothing is kept for ever
CREATE FUNCTION keep_away() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER keep_away BEFORE UPDATE ON seen.filters FOR EACH ROW EXECUTE FUNCTION keep_away();
INSERT INTO exposures VALUES (3, 77);
SELECT seen.take(3, '{77}');
DROP TRIGGER keep_away ON seen.filters;
SELECT seen.take(3, '{77}');
CREATE TRIGGER keep_away BEFORE UPDATE OR DELETE ON seen.filters
	FOR EACH ROW EXECUTE FUNCTION keep_away();
SELECT seen.take_back(3, '{77}');
DELETE FROM exposures WHERE user_id = 3;
CALL seen.rebuild(users => '{3}', allow_removed => true);
DROP FUNCTION keep_away CASCADE;
CALL seen.rebuild(users => '{3}', allow_removed => true);
DROP SCHEMA seen CASCADE;
DROP TABLE exposures;

-- Partitions, of two levels, and tables that inherit.
CREATE TABLE exposures (user_id bigint, item_id bigint,
	shown_at timestamptz DEFAULT now()) PARTITION BY RANGE (shown_at);
CREATE TABLE late PARTITION OF exposures FOR VALUES
	FROM ('2020-01-01 00:00+00') TO (MAXVALUE) PARTITION BY LIST (user_id);
CREATE TABLE late_1 PARTITION OF late FOR VALUES IN (1);
CREATE TABLE late_2 (shown_at timestamptz DEFAULT now(), gone int, item_id bigint, user_id bigint);
ALTER TABLE late_2 DROP gone;
ALTER TABLE late ATTACH PARTITION late_2 DEFAULT;
CREATE TABLE early PARTITION OF exposures FOR VALUES FROM (MINVALUE) TO ('2020-01-01 00:00+00');
CREATE INDEX ON exposures (user_id, shown_at);
SELECT bloomexp.create_feed('seen', 'exposures'),
	bloomexp.create_feed('untracked', 'exposures', trigger => false);
CREATE VIEW unseen AS SELECT u, seen.unseen(u, '{1,2,3,4,5,6,7,8}'), untracked.unseen(u,
	'{1,2,3,4,5,6,7,8}') AS untracked
	FROM generate_series(1, 2) AS u;
INSERT INTO exposures VALUES (1, 1), (2, 1);
INSERT INTO late VALUES (1, 2), (2, 2);
INSERT INTO late_1 VALUES (1, 3);
INSERT INTO late_2 (user_id, item_id) VALUES (2, 4);
COPY late_2 (user_id, item_id) FROM stdin;
2	5
\.
INSERT INTO exposures VALUES (1, 6, '2019-12-31'), (2, 6, '2019-12-31');
TABLE unseen;
UPDATE exposures SET shown_at = now() WHERE user_id = 1 AND item_id = 6;
UPDATE exposures SET shown_at = now() - interval '29 days', item_id = 7 WHERE user_id = 2
	AND item_id = 6;
TABLE unseen;
-- MERGE moves a row to another partition: the trigger sees it if the MERGE can insert.
\if :has_merge
INSERT INTO exposures VALUES (1, 8, '2019-12-31');
MERGE INTO exposures AS e USING (VALUES (1, 8)) AS v (u, i) ON e.user_id = u AND e.item_id = i
WHEN MATCHED THEN UPDATE SET shown_at = now() WHEN NOT MATCHED AND false THEN INSERT DEFAULT VALUES;
\else
INSERT INTO exposures VALUES (1, 8);
\endif
SELECT seen.unseen(1, '{8,9}'), untracked.unseen(1, '{8,9}');
-- A partition that comes later needs the script again, as monitoring says.  Then only that
-- partition is locked.
CREATE TABLE late_3 PARTITION OF late FOR VALUES IN (3);
SELECT untracked FROM seen.health;
INSERT INTO late_3 VALUES (3, 1);
SELECT problems FROM bloomexp.feeds() WHERE feed = 'seen';
SELECT bloomexp.feed_sql('seen', 'exposures') AS script \gset
BEGIN;
:script
SELECT DISTINCT relation::regclass AS locked FROM pg_locks
	WHERE pid = pg_backend_pid() AND relation >= 16384
	AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
	AND relation IN (SELECT oid FROM pg_class WHERE relkind IN ('r', 'p')
		AND relnamespace <> 'seen'::regnamespace);
COMMIT;
INSERT INTO late_3 VALUES (3, 2);
SELECT seen.unseen(3, '{1,2}'), untracked FROM seen.health;
CALL seen.rebuild();
SELECT seen.unseen(3, '{1,2}');
ALTER TABLE late DISABLE TRIGGER insert_seen;
ALTER TABLE late_1 ENABLE REPLICA TRIGGER insert_seen;
ALTER TABLE late_2 ENABLE ALWAYS TRIGGER insert_seen;
DROP TRIGGER update_seen ON late_3;
SELECT h.untracked, l.untracked FROM seen.health AS h, untracked.health AS l;
SELECT unnest(problems) FROM bloomexp.feeds() WHERE feed = 'seen';
:script
SELECT untracked, problems, (SELECT tgenabled FROM pg_trigger
	WHERE tgrelid = 'late_2'::regclass AND tgname = 'insert_seen') AS late_2 FROM seen.health,
		bloomexp.feeds()
	WHERE feed = 'seen';
-- A rebuild reads the rows that an attached table brings along.
CREATE TABLE late_4 (LIKE late);
INSERT INTO late_4 (user_id, item_id, shown_at) VALUES (4, 40, now());
ALTER TABLE late ATTACH PARTITION late_4 FOR VALUES IN (4);
SELECT untracked FROM seen.health;
CALL seen.rebuild(users => '{4}');
SELECT seen.unseen(4, '{40,41}');
DROP VIEW unseen;
DROP SCHEMA seen, untracked CASCADE;
DROP TABLE exposures;
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE TABLE child (extra int DEFAULT 1) INHERITS (exposures);
CREATE INDEX ON exposures (user_id);
SELECT bloomexp.create_feed('seen', 'exposures');
INSERT INTO exposures VALUES (1, 1);
INSERT INTO child VALUES (1, 2, DEFAULT), (1, 3, '2000-01-01');
UPDATE exposures SET shown_at = now() WHERE item_id = 3;
SELECT seen.unseen(1, '{1,2,3,4}');
CALL seen.rebuild();
SELECT seen.unseen(1, '{1,2,3,4}');
-- a child's child that comes later
CREATE TABLE grandchild () INHERITS (child);
SELECT untracked, problems FROM seen.health, bloomexp.feeds();
SELECT bloomexp.feed_sql('seen', 'exposures') AS script \gset
:script
INSERT INTO grandchild VALUES (1, 4);
SELECT seen.unseen(1, '{4,5}'), untracked, problems FROM seen.health, bloomexp.feeds();
DROP TABLE grandchild;
DROP SCHEMA seen CASCADE;

-- A view, which has no triggers: other names, a condition, a second key.
CREATE VIEW shown AS SELECT user_id AS viewer, item_id AS post, shown_at AS at FROM exposures
	UNION ALL
	SELECT user_id, -item_id, shown_at FROM child WHERE extra = 1;
SELECT bloomexp.create_feed('seen', 'shown', 'viewer', 'post', 'at', trigger => false);
SELECT seen.unseen(1, '{1,2,-2,-1}');
CALL seen.rebuild(overlap => '0');
INSERT INTO child VALUES (1, 1);
SELECT seen.unseen(1, '{1,2,-2,-1}'), users, untracked FROM seen.health;
DROP SCHEMA seen CASCADE;
DROP TABLE exposures CASCADE;

-- unseen, current, take
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE INDEX ON exposures (user_id);
SELECT bloomexp.create_feed('seen', 'exposures'),
	bloomexp.create_feed('untracked', 'exposures', trigger => false);
SELECT reloptions FROM pg_class
WHERE oid IN ('seen.filters'::regclass, 'untracked.filters'::regclass);
INSERT INTO exposures VALUES (1, 1), (1, 2);
CREATE FUNCTION call(feed text, arguments text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE format('SELECT %I.%s', feed, arguments) INTO answer;
	RETURN COALESCE(answer, 'NULL');
EXCEPTION WHEN OTHERS THEN
	RETURN sqlerrm;
END
$$;
SELECT arguments, call('seen', arguments) AS seen,
	call('untracked', arguments) AS untracked FROM unnest(ARRAY[
	$$unseen(1, '{2,5,1,NULL,5,3}')$$, $$unseen(1, '{}')$$, $$unseen(1, NULL)$$,
	$$unseen(NULL, '{1}')$$,
	$$unseen(9, '{1,1}')$$, $$unseen(1, '{{1,3},{4,2}}')$$,
	$$current(1) @> 2$$, $$current(9) @> 1$$, $$current(NULL)$$,
	$$take(9, '{2,5,1,NULL,5,3}', 3)$$, $$take(1, '{2,5,1,NULL,5,3}', 0)$$,
	$$take(1, '{2,5,1,NULL,5,3}', -1)$$,
	$$take(1, '{}', 3)$$, $$take(1, NULL, 3)$$,
	$$contains(1, 2)$$, $$contains(1, 3)$$, $$contains(1, NULL)$$, $$contains(8, 1)$$,
		$$contains(NULL, 1)$$, $$lock(1)$$,
	$$lock(8)$$, $$lock(NULL)$$,
	$$take(NULL, '{5}', 3)$$, $$take(1, '{1,2}')$$, $$take(1, '{2,5,1,NULL,5,3}', 1)$$,
	$$take(1, '{2,5,1,NULL,5,3}', NULL)$$]) AS arguments;
-- with triggers a feed remembers what is taken, without them what is inserted
SELECT seen.unseen(1, '{1,3,5,7}'), untracked.unseen(1, '{1,3,5,7}');
INSERT INTO exposures (user_id, item_id) SELECT 1, unnest(seen.take(1, '{1,3,5,7,9,11}',
	1)) RETURNING item_id;
INSERT INTO exposures (user_id, item_id) SELECT 1, unnest(untracked.take(1, '{1,3,5,7,9,11}',
	2)) RETURNING item_id;
SELECT seen.unseen(1, '{1,3,5,7}'), untracked.unseen(1, '{1,3,5,7}');
-- Parameters need no cast, and a feed query row by row finds the filter once.
PREPARE page AS SELECT array_agg(id ORDER BY id) FROM generate_series(1, 8) AS id
	WHERE NOT (SELECT untracked.current($1)) @> id;
EXECUTE page (1);
BEGIN;
SET LOCAL track_functions = 'all';
SELECT count(*) FROM generate_series(1, 1000) AS id WHERE NOT (SELECT untracked.current(1)) @> id;
SELECT pg_stat_get_xact_function_calls('untracked.current(bigint)'::regprocedure) AS calls;
ROLLBACK;
PREPARE page_array AS SELECT seen.unseen($1, $2), seen.contains($1, $3), seen.lock($1);
EXECUTE page_array ('1', '{7,8}', '7');
-- for a new user lock() makes a row without a filter
SELECT user_id, items FROM seen.filters WHERE user_id NOT IN (1, 9);

-- Rebuilds: what they find, and what they write.
TRUNCATE exposures, seen.filters, untracked.filters;
CALL seen.rebuild();
CALL seen.rebuild(users => '{1}');
CALL seen.rebuild(dry_run => true);
INSERT INTO exposures SELECT u, i FROM generate_series(1, 5000) AS u, generate_series(1, 3) AS i;
INSERT INTO exposures VALUES (5000, 4, now() - interval '31 days');
DELETE FROM seen.filters WHERE user_id > 2;
INSERT INTO seen.filters (user_id, items) VALUES (9001, bloom_add(NULL, 1)), (9002, NULL);
UPDATE seen.filters SET items = bloom_add(items, 77) WHERE user_id = 1;
CREATE VIEW state AS SELECT md5(string_agg(concat_ws(' ', ctid, xmin, user_id, items::bytea,
	recent, pending, filled_until), ',' ORDER BY user_id)) AS state FROM seen.filters;
SELECT state FROM state \gset
CALL seen.rebuild(dry_run => true);
SELECT state = :'state' AS unchanged FROM state;
-- some users, also without exposures, without a filter, or listed twice, in an array that does not
-- begin at 1
CALL seen.rebuild(users => '[2001:2006]={1,3,3,9001,9003,NULL}');
SELECT user_id, seen.unseen(user_id, '{1,2,3,4,77}') FROM seen.filters ORDER BY 1;
CALL seen.rebuild(users => '{}');
-- by ranges, in any order: the last range builds the filters that the others have left out
CALL seen.rebuild(users => '{2501,3500}');
CALL seen.rebuild(after => 4000);
CALL seen.rebuild(upto => 2500, pause => '1 millisecond');
SELECT count(*), min(user_id) FILTER (WHERE user_id > 2500) AS next FROM seen.filters;
CALL seen.rebuild(after => 2500, upto => 4000, dry_run => true);
CALL seen.rebuild(after => 2500, upto => 4000);
CALL seen.rebuild(after => 4000, upto => 2500);
SELECT count(*), count(*) FILTER (WHERE bloom_contains_all(items, '{1,2,3}'::bigint[])
	AND NOT items @> 4) AS right
	FROM seen.filters;
-- a second one writes nothing
SELECT state FROM state \gset
CALL seen.rebuild();
SELECT state = :'state' AS unchanged FROM state;
-- ... except filters that have lost their date, or have changed
UPDATE seen.filters SET filled_until = now() - interval '25 hours' WHERE user_id = 1;
UPDATE seen.filters SET filled_until = NULL WHERE user_id = 2;
UPDATE seen.filters SET items = NULL WHERE user_id = 3;
INSERT INTO exposures VALUES (4, 4);
DELETE FROM exposures WHERE user_id = 5;
CREATE TABLE before AS SELECT user_id, ctid AS place FROM seen.filters;
CALL seen.rebuild();
SELECT array_agg(user_id ORDER BY user_id) FROM seen.filters AS f FULL
	JOIN before AS b USING (user_id)
	WHERE f.ctid IS DISTINCT FROM place;
SELECT filled_until > now() - interval '1 minute' AS just_now, filled_until < now() AS before
	FROM seen.filters WHERE user_id = 1;
-- without triggers a filter counts as filled until "overlap" before that
CALL untracked.rebuild(users => '{1}');
SELECT filled_until < now() - interval '9 minutes' AS overlap,
	filled_until > now() - interval '11 minutes' AS no_more
	FROM untracked.filters WHERE user_id = 1;
TRUNCATE untracked.filters;
-- of rows that triggers made, and no rebuild has filled, a batch takes the first
BEGIN;
INSERT INTO seen.filters (user_id) SELECT generate_series(10001, 15000);
SELECT after, counts
FROM seen.rebuild_batch(NULL, 10000, NULL, 250, true, false, ROW(0, 0, 0, 0, 0, 0, 0));
ROLLBACK;
-- Because of users without a row, a batch can end before the rows that it has locked.  It leaves
-- these rows as they are.
BEGIN;
DELETE FROM seen.filters WHERE user_id <> 20;
SELECT after, (counts).filters, (counts).removed
FROM seen.rebuild_batch(NULL, NULL, NULL, 1, false, false, ROW(0, 0, 0, 0, 0, 0, 0));
SELECT count(*) AS users, bool_or(user_id = 20) AS kept FROM seen.filters;
ROLLBACK;
-- A rebuild stops before it removes many filters: from a table that was truncated and has a row
-- again; with a retention that is too short.
CREATE TABLE kept AS TABLE exposures;
TRUNCATE exposures;
INSERT INTO exposures VALUES (1, 1);
CALL seen.rebuild();
SELECT count(*) FROM seen.filters;
CALL seen.rebuild(after => 4000);
SELECT array_agg(u) AS users FROM generate_series(4001, 4150) AS u \gset
CALL seen.rebuild(users => :'users');
CALL seen.rebuild(dry_run => true);
SELECT count(*) FROM seen.filters;
INSERT INTO exposures SELECT * FROM kept WHERE user_id BETWEEN 2 AND 3900;
CALL seen.rebuild();
-- batches before that one are done; up to a fifth, and up to 100, are removed; rows without a
-- filter do not count
SELECT count(*), max(user_id) FROM seen.filters;
INSERT INTO exposures SELECT * FROM kept WHERE user_id BETWEEN 3901 AND 4100;
UPDATE seen.filters SET items = NULL WHERE user_id > 4100 AND user_id <= 4990;
CALL seen.rebuild();
SELECT count(*) FROM seen.filters;
DELETE FROM exposures WHERE user_id > 4000;
CALL seen.rebuild(after => 3950);
DELETE FROM exposures WHERE user_id > 3850;
CALL seen.rebuild(after => 3800);
CALL seen.rebuild(after => 3800, allow_removed => true);
TRUNCATE exposures;
INSERT INTO exposures TABLE kept;
CALL seen.rebuild();
DROP TABLE kept;

-- A row that a constraint refuses stops nobody else, whether it is there or not.
DELETE FROM seen.filters WHERE user_id IN (3, 4);
UPDATE seen.filters SET filled_until = NULL;
ALTER TABLE seen.filters ADD CONSTRAINT refused CHECK (user_id NOT IN (2, 3)) NOT VALID;
CALL seen.rebuild();
SELECT array_agg(user_id) AS stale FROM seen.filters WHERE filled_until IS NULL;
SELECT count(*) FROM seen.filters WHERE user_id IN (3, 4);
ALTER TABLE seen.filters DROP CONSTRAINT refused;
CALL seen.rebuild(users => '{2,3}');
-- Rows that triggers have written count for the safety stop, even before the first rebuild.  Items
-- that visitors only took do not, so visitors cannot stop rebuilds.
BEGIN;
DELETE FROM exposures WHERE user_id > 10;
TRUNCATE seen.filters;
INSERT INTO exposures SELECT u, 1 FROM generate_series(100001, 100300) AS u;
DELETE FROM exposures WHERE user_id > 100000;
SAVEPOINT before;
SELECT seen.rebuild_batch(NULL, NULL, NULL, 1000, false, false, ROW(0, 0, 0, 0, 0, 0, 0));
ROLLBACK TO before;
TRUNCATE seen.filters;
SELECT count(seen.take(u, '{1,2}', 1)) FROM generate_series(100001, 100300) AS u;
SELECT (counts).removed, (counts).examined, (counts).lost
FROM seen.rebuild_batch(NULL, NULL, NULL, 1000, false, false, ROW(0, 0, 0, 0, 0, 0, 0));
ROLLBACK;

-- Nobody has an exposure: that is an error, unless it is said to be right.
TRUNCATE exposures;
CALL seen.rebuild();
CALL seen.rebuild(users => '{1,2,3}');
CALL untracked.rebuild(dry_run => true);
SELECT state <> :'state' AS changed, (SELECT count(*) FROM seen.filters) FROM state;
CALL seen.rebuild(allow_removed => true);
SELECT count(*) FROM seen.filters;
INSERT INTO exposures VALUES (1, 1, now() - interval '31 days');
CALL untracked.rebuild();
-- not in a transaction, of users or a range, and under any isolation level
BEGIN;
CALL seen.rebuild();
ROLLBACK;
CALL seen.rebuild(users => '{1}', after => 1);
CALL seen.rebuild(users => '{1}', upto => 1);
CALL untracked.rebuild(overlap => '-1 second');
CALL untracked.rebuild(overlap => NULL);
CALL seen.rebuild(dry_run => NULL);
CALL seen.rebuild(allow_removed => NULL);
SELECT seen.rebuild_batch(ARRAY(SELECT generate_series(1, 1001)), NULL, NULL, 250,
	false, false, ROW(0, 0, 0, 0, 0, 0, 0));
SELECT seen.rebuild_batch('{1}', NULL, NULL, 0, false, false, ROW(0, 0, 0, 0, 0, 0, 0));
SELECT seen.rebuild_batch('{1}', NULL, NULL, 250, false, NULL, ROW(0, 0, 0, 0, 0, 0, 0));
SELECT seen.rebuild_batch('{1}', NULL, NULL, 250, false, false, NULL);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT seen.rebuild_batch('{1}', NULL, NULL, 250, false, false, ROW(0, 0, 0, 0, 0, 0, 0));
ROLLBACK;
INSERT INTO exposures VALUES (1, 1);
SET default_transaction_isolation = 'serializable';
CALL seen.rebuild();
RESET default_transaction_isolation;
-- an interval that is not negative by comparison, in which a month is 30 days, but whose
-- subtraction leads into the future
CALL untracked.rebuild(overlap => '-1200 months 36000 days');
SELECT filled_until <= now() AS past FROM untracked.filters;
DO $$
DECLARE a bigint = 0; b bigint = 0; c bigint = 0; d bigint = 0;
BEGIN
	CALL untracked.rebuild(exposures => a, filters => b, bytes => c, removed => d);
	RAISE '% exposures, % filters', a, b;
END $$;
SELECT users, fpr_target_max, above_fpr, untracked, oldest_filled_until IS NULL AS never
	FROM seen.health UNION ALL
	SELECT users, fpr_target_max, above_fpr, untracked, oldest_filled_until IS NULL
	FROM untracked.health;

-- Other columns may have any names: also those of the functions' variables and parameters.  A
-- batch without an end in sight is cut.
CREATE TABLE odd (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now(),
	since timestamptz DEFAULT 'infinity',
	wanted bigint[] DEFAULT '{}', batch_from bigint DEFAULT 9999, batch_to bigint DEFAULT -1,
	n_examined bigint DEFAULT 9999, n_removed bigint DEFAULT 9999,
	after bigint DEFAULT 9999, upto bigint DEFAULT -1, filled timestamptz, locked bigint[],
		unlocked bigint[], main int,
	recent bigint[], pending int DEFAULT 9, rest int, fresh bigint[],
	allow_removed boolean DEFAULT true, shown int, built int, overlap interval,
		dry_run boolean DEFAULT true, "user" int,
	users bigint[], item int, items int, e int, f int, v int, i int);
CREATE INDEX ON odd (user_id);
SELECT bloomexp.create_feed('odd_seen', 'odd'),
	bloomexp.create_feed('odd_untracked', 'odd', trigger => false);
INSERT INTO odd VALUES (1, 1), (1, 2);
SELECT odd_seen.unseen(1, '{1,2,3}'), odd_untracked.unseen(1, '{1,2,3}'),
	odd_untracked.take(1, '{1,2,3}');
CALL odd_seen.rebuild();
CALL odd_untracked.rebuild(overlap => '0');
SELECT odd_seen.unseen(1, '{1,2,3}'), odd_untracked.unseen(1, '{1,2,3}');
DROP SCHEMA odd_seen CASCADE;
INSERT INTO odd SELECT u, 1 FROM generate_series(2, 25000) AS u;
CALL odd_untracked.rebuild();
SELECT count(*) = (SELECT count(DISTINCT user_id) FROM odd) AS all FROM odd_untracked.filters;
-- A batch with more users than it takes is cut, and the next one begins there.
DELETE FROM odd_untracked.filters WHERE user_id < 20000;
CALL odd_untracked.rebuild();
SELECT count(*) = (SELECT count(DISTINCT user_id) FROM odd) AS all FROM odd_untracked.filters;
SELECT array_agg(u) AS users FROM generate_series(1, 2500) AS u \gset
TRUNCATE odd_untracked.filters;
-- The number of bytes is not shown: it depends on the plan by the length of a header.
CALL odd_untracked.rebuild(users => :'users') \gset
\echo :exposures :filters :removed
SELECT count(*) = (SELECT count(DISTINCT user_id) FROM odd WHERE user_id <= 2500) AS all
	FROM odd_untracked.filters;
DROP SCHEMA odd_untracked CASCADE;
DROP TABLE odd;

-- The script again: settings change, filters and grants stay.
CREATE ROLE regress_bloomexp_app;
GRANT USAGE ON SCHEMA seen TO regress_bloomexp_app;
GRANT EXECUTE ON FUNCTION seen.unseen, seen.take TO regress_bloomexp_app;
SELECT bloomexp.feed_sql('seen', 'exposures', width => '7 days', fpr => 0.001) AS script \gset
:script
:script
INSERT INTO exposures VALUES (1, 3, now() - interval '8 days'), (2, 3, DEFAULT);
SELECT seen.unseen(1, '{1,2,3}'), seen.unseen(2, '{1,2,3}'), (bloom_info(seen.current(2))).fpr,
	has_function_privilege('regress_bloomexp_app', 'seen.take(bigint, bigint[], int)',
		'EXECUTE') AS granted;
SELECT feed, owner = current_user AS mine, version, command, problems
FROM bloomexp.feeds() ORDER BY 1;
SELECT bloomexp.create_feed('seen', 'exposures');
-- Arguments come back as they were given, and make the same script; a name may look like
-- settings, or be one.
CREATE TABLE "width = NULL" ("NULL" bigint, "-- kind: over a table" bigint,
	"at => now()" timestamptz, " " boolean);
CREATE INDEX ON "width = NULL" ("NULL");
SELECT bloomexp.create_feed('x SECURITY DEFINER , slices => 5', '"width = NULL"', 'NULL',
	'-- kind: over a table',
	'at => now()', '1 month', 0.00001, "where" => ' '),
	bloomexp.create_feed('bloomexp 1.0.0', 'exposures', width => '720:00:00');
SELECT command FROM bloomexp.feeds()
WHERE feed IN ('x SECURITY DEFINER , slices => 5', 'bloomexp 1.0.0') ORDER BY 1;
CREATE FUNCTION script(call text) RETURNS text
	LANGUAGE plpgsql AS $$ DECLARE script text; BEGIN EXECUTE call
	INTO script; RETURN script; END $$;
SELECT script(command) = bloomexp.feed_sql('x SECURITY DEFINER , slices => 5', '"width = NULL"',
	'NULL',
	'-- kind: over a table', 'at => now()', '1 month', 0.00001, "where" => ' ') AS same, problems
FROM bloomexp.feeds() WHERE feed = 'x SECURITY DEFINER , slices => 5';
DROP TABLE "width = NULL" CASCADE;
DROP SCHEMA "x SECURITY DEFINER , slices => 5", "bloomexp 1.0.0" CASCADE;
-- Whether a feed has triggers cannot change: neither a new script nor one from before a change is
-- taken.
SELECT bloomexp.feed_sql('seen', 'exposures', trigger => false);
SELECT replace(bloomexp.feed_sql('later', 'exposures', trigger => false),
	'later', 'seen') AS script \gset
SELECT execute(:'script');
SELECT problems FROM bloomexp.feeds() WHERE feed = 'seen';
-- What is wrong with a feed, each in turn.
CREATE FUNCTION after(change text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	found text[];
BEGIN
	EXECUTE change;
	RAISE EXCEPTION USING ERRCODE = 'ZZZZZ', MESSAGE =
		(SELECT string_agg(concat_ws(' ', feed, nullif(version, '1.0.0'), problems), E'\n'
			ORDER BY feed) FROM bloomexp.feeds());
EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
	RETURN QUERY SELECT regexp_split_to_table(sqlerrm, E'\n');
END
$$;
SELECT change, after FROM unnest(ARRAY['ALTER TABLE exposures RENAME item_id TO item',
	'ALTER TABLE exposures RENAME TO views', 'DROP TABLE exposures CASCADE',
	'ALTER TABLE exposures DISABLE TRIGGER USER',
		'ALTER TABLE exposures ENABLE REPLICA TRIGGER update_seen',
	$$DROP FUNCTION seen.unseen;
		CREATE OR REPLACE FUNCTION untracked.take(user_id bigint, candidates bigint[],
			wanted integer DEFAULT NULL)
			RETURNS bigint[] LANGUAGE plpgsql AS 'BEGIN RETURN candidates; END';
		CREATE FUNCTION untracked.unseen(candidates bigint[]) RETURNS bigint[]
			LANGUAGE sql AS 'SELECT candidates';
		SET LOCAL quote_all_identifiers = on$$,
	$$ALTER FUNCTION seen.take SECURITY INVOKER; ALTER PROCEDURE seen.rebuild SECURITY DEFINER;
		ALTER FUNCTION untracked.take RESET search_path;
		UPDATE pg_proc AS l SET prosrc = u.prosrc FROM pg_proc AS u
			WHERE l.oid = 'untracked.lock'::regproc AND u.oid = 'untracked.unseen'::regproc$$,
	'DROP TABLE untracked.filters CASCADE; DROP VIEW seen.health; CREATE TABLE seen.unseen ()',
	$$ALTER TABLE untracked.filters RENAME TO part;
		CREATE TABLE untracked.filters (LIKE untracked.part) PARTITION BY HASH (user_id)$$,
	$$DROP TRIGGER insert_seen ON exposures;
		CREATE TRIGGER insert_seen AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
			FOR EACH STATEMENT WHEN (false) EXECUTE FUNCTION seen.track()$$,
	$$UPDATE pg_proc SET prosrc = replace(prosrc, '"1.0.0"', '"0.9"')
		WHERE oid = 'seen.settings'::regproc$$,
	'ALTER TABLE exposures ALTER item_id TYPE text']) WITH ORDINALITY AS c (change, n),
		after(change) ORDER BY n;
-- A feed in which only comments and blanks were changed is reported as edited, without problems.
BEGIN;
SELECT execute(replace(replace(pg_get_functiondef('seen.take'::regproc), 'BEGIN', '-- ours
BEGIN'), '  ', ' '));
SELECT feed, problems, edited FROM bloomexp.feeds() ORDER BY 1;
ROLLBACK;
-- Other functions in the schema of a feed take no time.
BEGIN;
SELECT execute(format('CREATE FUNCTION seen.f%s() RETURNS void LANGUAGE sql AS ''SELECT %s''', n,
	n)), count(*)
FROM generate_series(1, 2000) AS n GROUP BY 1;
SET LOCAL statement_timeout = '10s';
SELECT problems FROM bloomexp.feeds() WHERE feed = 'seen';
ROLLBACK;
-- Another collation of users is one of their filters, too: they are compared by it.
CREATE TABLE by_text (user_id text COLLATE "C", item_id bigint, shown_at timestamptz);
CREATE INDEX ON by_text (user_id);
SELECT bloomexp.create_feed('by_text', 'by_text');
ALTER TABLE by_text ALTER user_id TYPE text COLLATE "POSIX";
SELECT problems FROM bloomexp.feeds() WHERE feed = 'by_text';
SELECT execute(bloomexp.feed_sql('by_text', 'by_text'));
SELECT attcollation::regcollation, problems FROM pg_attribute, bloomexp.feeds()
WHERE attrelid = 'by_text.filters'::regclass AND attname = 'user_id' AND feed = 'by_text';
DROP SCHEMA by_text CASCADE;
DROP TABLE by_text;
-- A feed without triggers reads the exposures that it has not stored.
INSERT INTO exposures VALUES (1, 4);
CALL untracked.rebuild(overlap => '0');
INSERT INTO exposures VALUES (1, 5);
SELECT untracked.unseen(1, '{1,2,3,4,5}'), bloom_contains_each((SELECT items FROM untracked.filters
	WHERE user_id = 1),
	'{4,5}'::bigint[]) AS stored;
-- a filter that is lost, older than the width, or without a date or with a future one, makes reads
-- slower but never wrong: 2 was not shown
UPDATE untracked.filters SET items = NULL;
SELECT untracked.unseen(1, '{1,2,3,4,5}');
UPDATE untracked.filters SET items = bloom_add(NULL, 2::bigint), filled_until = NULL;
SELECT untracked.unseen(1, '{1,2,3,4,5}');
UPDATE untracked.filters SET filled_until = now() - interval '31 days';
SELECT untracked.unseen(1, '{1,2,3,4,5}');
UPDATE untracked.filters SET filled_until = now() + interval '1 hour';
SELECT untracked.unseen(1, '{1,2,3,4,5}'), untracked.take(1, '{1,2,3,4,5}', 1);
UPDATE untracked.filters SET filled_until = 'infinity';
SELECT untracked.unseen(1, '{1,2,3,4,5}'), untracked.contains(1, 2);
-- ... until a rebuild, which sets the date right even if the filter stays as it is; also if its
-- overlap is longer than that of the last one
CALL untracked.rebuild();
UPDATE untracked.filters SET filled_until = 'infinity';
SELECT filled_ahead FROM untracked.health;
CALL untracked.rebuild();
SELECT filled_ahead, max(filled_until) > now() - interval '1 hour' AS recent
FROM untracked.health, untracked.filters GROUP BY 1;
CALL untracked.rebuild(overlap => '2 hours');
SELECT max(filled_until) < now() - interval '2 hours' AS earlier FROM untracked.filters;
TRUNCATE untracked.filters;
SELECT untracked.unseen(1, '{1,2,3,4,5}');
-- The schema is renamed: the script again, and no trigger twice.
ALTER SCHEMA seen RENAME TO viewed;
SELECT bloomexp.feed_sql('viewed', 'exposures') AS script \gset
:script
INSERT INTO exposures VALUES (1, 8);
SELECT viewed.unseen(1, '{4,8,9}'), untracked,
	(SELECT count(*) FROM pg_trigger WHERE tgrelid = 'exposures'::regclass) AS triggers, problems
	FROM viewed.health, bloomexp.feeds() WHERE feed = 'viewed';
ALTER SCHEMA viewed RENAME TO seen;
-- Ids that have become too small.
DROP SCHEMA seen, untracked CASCADE;
ALTER TABLE exposures ALTER user_id TYPE int, ALTER item_id TYPE smallint;
SELECT bloomexp.create_feed('seen', 'exposures');
INSERT INTO exposures VALUES (1, 8);
ALTER TABLE exposures ALTER user_id TYPE bigint, ALTER item_id TYPE bigint;
SELECT bloomexp.feed_sql('seen', 'exposures') AS script \gset
:script
INSERT INTO exposures VALUES (1, 9), (3000000000, 100000);
SELECT seen.unseen(1, '{8,9,10}'), seen.unseen(3000000000, '{9,100000}'), seen.take(1, '{8,10}');
SELECT count(*) FROM pg_proc WHERE pronamespace = 'seen'::regnamespace;
-- A collation of the callers' is not the column's.
DROP SCHEMA seen CASCADE;
TRUNCATE exposures;
ALTER TABLE exposures ALTER user_id TYPE text COLLATE "C";
SELECT bloomexp.create_feed('seen', 'exposures'),
	bloomexp.create_feed('untracked', 'exposures', trigger => false);
INSERT INTO exposures VALUES ('a', 1);
CREATE TABLE users (id text COLLATE "POSIX");
INSERT INTO users VALUES ('a');
SELECT seen.unseen(id, '{1,2}'), untracked.unseen(id, '{1,2}'),
	seen.take(id, '{1,3}'), untracked.take(id, '{1,3}')
FROM users;
CALL untracked.rebuild(users => ARRAY['a' COLLATE "POSIX"]);
CALL seen.rebuild(users => ARRAY['a' COLLATE "POSIX"]);

DROP SCHEMA seen, untracked CASCADE;
-- Workers of a parallel plan answer as the leader does.
CREATE TABLE shows (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE INDEX ON shows (user_id, shown_at, item_id);
SELECT bloomexp.create_feed('shown', 'shows'), bloomexp.create_feed('seen');
INSERT INTO shows SELECT 1, n FROM generate_series(1, 300) AS n;
INSERT INTO shows VALUES (1, 301);
SELECT count(seen.add(1, ARRAY[n])) FROM generate_series(1, 301) AS n;
CREATE TABLE posts WITH (parallel_workers = 2) AS
SELECT id FROM generate_series(1::bigint, 1000) AS id;
CREATE VIEW answers AS
SELECT count(*) FILTER (WHERE shown.contains(1, id)) AS shown_contains,
	count(*) FILTER (WHERE shown.unseen(1, ARRAY[id]) = '{}') AS shown_excludes,
	count(*) FILTER (WHERE shown.current(1) @> id) AS shown_filter,
	count(*) FILTER (WHERE seen.contains(1, id)) AS seen_contains,
	count(*) FILTER (WHERE seen.unseen(1, ARRAY[id]) = '{}') AS seen_excludes,
	count(*) FILTER (WHERE seen.current(1) @> id) AS seen_filter
FROM posts;
SELECT * FROM answers;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
EXPLAIN (COSTS OFF) SELECT * FROM answers;
SELECT * FROM answers;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET parallel_leader_participation;
DROP VIEW answers;
DROP TABLE posts;
DROP SCHEMA shown, seen CASCADE;
DROP TABLE shows;
SELECT (SELECT count(*) FROM pg_trigger) AS triggers,
	(SELECT count(*) FROM bloomexp.feeds()) AS feeds,
	(SELECT count(*) FROM pg_depend WHERE refobjid = 'exposures'::regclass
		AND deptype = 'n') AS dependents;

DROP VIEW results;
DROP TABLE exposures, users, before, kinds CASCADE;
DROP DOMAIN item_id, user_name;
DROP TYPE mood;
DROP FUNCTION after, name_of, feed_of, execute, insert_at_edges, ago, call, script;
DROP PROCEDURE make, show;
DO $$ BEGIN DROP EXTENSION IF EXISTS citext; DROP DOMAIN IF EXISTS citext; END $$;
DROP ROLE regress_bloomexp_app;
