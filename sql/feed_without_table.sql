--
-- Feeds without a table of exposures: an item that was shown in the last width is not shown again,
-- whoever reported it, when, and how often.
-- Older exposures, and calls without items, do not count.
--
SET client_min_messages = error;
SET TimeZone = 'America/New_York';
\set VERBOSITY terse
\set SHOW_CONTEXT never
\pset tuples_only on
\pset format unaligned
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'citext') AS has_citext \gset

-- Types of users and items, with windows and for ever, below names that must be quoted, by every
-- call.
\if :has_citext
CREATE EXTENSION citext;
\else
CREATE DOMAIN citext AS text;
\endif
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE "of ""{$}"" '" AS ENUM ('a', 'b');
CREATE DOMAIN user_name AS text CHECK (VALUE <> '') CHECK (VALUE IS NOT NULL);
CREATE DOMAIN item_id AS bigint CHECK (VALUE > 0);
CREATE TABLE kinds (n serial, width interval, user_type text, item_type text, users text[],
	items text[]);
INSERT INTO kinds (width, user_type, item_type, users, items)
SELECT width, user_type, item_type, users, CASE
	WHEN item_type = 'uuid' THEN ARRAY(SELECT md5(n::text)::uuid::text FROM generate_series(1,
		5) AS n)
	WHEN item_type = 'bytea' THEN '{"\\x","\\x00","\\x01","\\xff","\\xfe"}'
		WHEN item_type ~ 'int|item' THEN '{10,20,30,40,50}'::text[] ELSE
			'{"{a,b}","",NULL x,"\"",é}' END
FROM (VALUES (1, interval '30 days'), (2, NULL)) AS m (m, width), (VALUES
	(1, 'bigint', 'bigint', '{1,-9223372036854775808,3}'::text[]), (2, 'integer', 'text',
		'{1,2,3}'),
	(3, 'smallint', 'smallint', '{1,2,3}'),
	(4, 'uuid', 'uuid', ARRAY[repeat('0', 32), repeat('f', 32), repeat('f0', 16)]),
	(5, 'text', 'integer', '{'''',"{$}",c}'), (6, 'name', 'bytea', '{a,A,b}'), (7, 'mood',
		'varchar(9)', '{sad,happy,ok}'),
	(8, 'citext', 'item_id', '{a,b,c}'), (9, 'user_name', 'text', '{a,b,c}'), (10, 'varchar(5)',
		'varchar', '{a,b,c}'),
	(11, 'char(5)', 'char(6)', '{abc,abcde,x}'), (12, 'numeric(9,2)', 'bigint', '{1.50,2,3}'),
	(13, 'date', 'text', '{2020-01-01,infinity,2021-01-01}'),
	(14, 'bit(3)', 'bigint', '{101,010,111}'), (15, '"of ""{$}"" ''"', 'bigint', '{a,b,NULL}'),
	(16, 'timestamptz', 'uuid', '{2020-01-01 UTC,2021-01-01 UTC,infinity}')) AS t (t, user_type,
		item_type, users)
ORDER BY m, t;
CREATE FUNCTION feed_of(n int) RETURNS text LANGUAGE sql AS $$
	SELECT rpad('{feed}$feed$ "$1" ''{"}\ e.%I', 61, '$') || lpad(n::text, 2, '0')
$$;
SELECT count(bloomexp.create_feed(feed_of(n), user_type => user_type::regtype,
	item_type => item_type::regtype,
	width => width, fpr => 1e-7)) AS feeds FROM kinds;

-- A call of a function, with users and items by their numbers; {u1} is a user, {i3} an item,
-- {1,3} an array of items.
CREATE FUNCTION call(k kinds, call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
	m text;
BEGIN
	FOR m IN SELECT DISTINCT r[1] FROM regexp_matches(call, '\{[ui]?[\d,]*\}', 'g') AS r LOOP
		call := replace(call, m, CASE WHEN m ~ 'u' THEN format('%L::%s', k.users[substr(m, 3,
			1)::int], k.user_type)
			WHEN m ~ 'i' THEN format('%L::%s', k.items[substr(m, 3, 1)::int], k.item_type)
			ELSE format('%L::%s[]', ARRAY(SELECT k.items[i] FROM unnest(m::int[]) AS i),
				k.item_type) END);
	END LOOP;
	EXECUTE format('SELECT (%I.%s)::text', feed_of(k.n), call) INTO answer;
	-- items by their numbers
	RETURN CASE WHEN answer ~ '^\{' THEN ARRAY(SELECT array_position(k.items, btrim(item))
		FROM unnest(answer::text[]) WITH ORDINALITY AS a (item, nth)
			ORDER BY nth)::text ELSE answer END;
END
$$;
-- The answers of all feeds; an answer that only a few feeds give comes with their names.
CREATE FUNCTION all_call(call text) RETURNS TABLE (answer text, of bigint, who text)
	LANGUAGE sql AS $$
	SELECT a, count(*), CASE WHEN count(*) < 9 THEN string_agg(concat_ws(' ', user_type, item_type,
		width), ', '
		ORDER BY n) END
	FROM (SELECT *, call(kinds, call) AS a FROM kinds WHERE users[3] IS NOT NULL
		OR call !~ 'u3' OFFSET 0) AS k GROUP BY a
		ORDER BY a
$$;
SELECT c.call, a.* FROM unnest(ARRAY[
	$$unseen({u1}, {1,2,3,4,5})$$, $$add({u1}, {1,3})$$,
		$$add({u2}, {1}, now() - interval '29 days')$$,
	$$unseen({u1}, {5,4,3,2,1,5})$$, $$unseen({u2}, {1,2,3,4,5})$$,
		$$take({u2}, {1,2,2,3,4,5}, 2)$$,
	$$take({u2}, {1,2,3,4,5})$$, $$take({u3}, {1}, 0)$$, $$contains({u1}, {i3})$$,
		$$contains({u1}, {i2})$$,
	$$contains({u3}, {i2})$$, $$current({u1}) @> {i3}$$, $$lock({u1})$$,
	$$add_batch(ARRAY[{u3}, {u1}, {u3}], {5,5,4}, ARRAY[now(), now(), now()])$$,
		$$unseen({u3}, {1,2,3,4,5})$$,
	$$merge({u1}, {u3})$$, $$unseen({u3}, {1,2,3,4,5})$$, $$current({u1}) IS NULL$$,
		$$forget({u2})$$, $$forget({u2})$$,
	$$unseen({u2}, {1,2,3,4,5})$$]) WITH ORDINALITY AS c (call, n), all_call(c.call) AS a;
\if :has_citext
SELECT call(kinds, 'add({u1}, {1})'), call(kinds, 'take(''A'', {1,2})') FROM kinds
	WHERE user_type = 'citext';
\endif
-- PREPARE knows the types, and literals need no cast.
SELECT feed_of(1) AS feed \gset
PREPARE of_bigint AS SELECT :"feed".unseen($1, $2), :"feed".take($1, $2, $3), :"feed".contains($1,
	$4);
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'of_bigint';
SELECT feed_of(2) AS feed \gset
SELECT :"feed".take(7, '{a,b}', 1), :"feed".take(7, ARRAY['a','b'], 1), :"feed".contains(7, 'a'),
	:"feed".contains(7, 'c');
-- The views, the procedure, and the command that makes each again.
SELECT format('SELECT users, above_fpr, expired FROM %I.health', feed_of(n)) AS sql FROM kinds
	WHERE n = 5 \gexec
SELECT format('SELECT users, above_fpr FROM %I.health', feed_of(n)) AS sql FROM kinds
	WHERE n = 25 \gexec
SELECT format('CALL %I.expire()', feed_of(n)) AS sql FROM kinds WHERE width IS NOT NULL
	AND n % 5 = 0 \gexec
SELECT regexp_replace(command, '''.*?'',', '…,'), problems FROM bloomexp.feeds() JOIN kinds
	ON feed = feed_of(n)
	WHERE n < 17 OR n > 31 ORDER BY n;
CREATE FUNCTION execute(command text) RETURNS text
	LANGUAGE plpgsql AS $$ BEGIN EXECUTE command; RETURN 'done'; END $$;
CREATE FUNCTION returned(command text) RETURNS text
	LANGUAGE plpgsql AS $$ DECLARE answer text; BEGIN EXECUTE command
	INTO answer; RETURN answer; END $$;
SELECT execute(returned(command)), count(*), count(*) FILTER (WHERE problems = '{}') AS well
	FROM bloomexp.feeds() GROUP BY 1;
SELECT * FROM all_call('unseen({u3}, {1,2,3,4,5})');
SELECT execute(format('DROP SCHEMA %I CASCADE', feed)), count(*) FROM bloomexp.feeds() GROUP BY 1;

-- Arguments that fit no feed: one error lists all that is wrong, and nothing is made.
\set VERBOSITY default
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz);
CREATE INDEX ON exposures (user_id);
SELECT bloomexp.create_feed('seen', 'exposures', user_type => 'text', item_type => 'text',
	slices => 6);
SELECT bloomexp.create_feed('seen', user_column => 'u', item_column => 'i', time_column => 't',
	trigger => false, "where" => 'w');
SELECT bloomexp.create_feed('seen', 'exposures', width => NULL);
SELECT bloomexp.create_feed('seen', width => NULL, slices => 6);
SELECT bloomexp.create_feed('seen', width => '-1 day', slices => 0, fpr => 1, capacity => 0);
SELECT bloomexp.create_feed('seen', capacity => 100000001);
SET client_min_messages = notice;
SELECT bloomexp.feed_sql('seen', capacity => 1000) IS NOT NULL AS made;
SET client_min_messages = error;
SELECT bloomexp.create_feed('seen', width => '1 month', slices => 1001, fpr => 'NaN');
SELECT bloomexp.create_feed('seen', user_type => 'point', item_type => 'numeric');
SELECT bloomexp.create_feed('seen', user_type => 'record');
SELECT bloomexp.create_feed('seen', user_type => 'bigint[]', item_type => 'text[]');
SELECT bloomexp.create_feed('seen', user_type => 'missing');
SELECT bloomexp.create_feed('seen', user_type => 0, item_type => 0);
SELECT bloomexp.create_feed('seen', user_type => 4711);
SELECT bloomexp.create_feed('seen', item_type => 4711);
SELECT bloomexp.create_feed('seen', fpr => NULL);
SELECT bloomexp.create_feed('public');
\set newline '\n\nSELECT 1;'
CREATE TYPE :"newline" AS ENUM ('a');
CREATE DOMAIN of_newline AS :"newline";
SELECT bloomexp.create_feed('seen', user_type => 'of_newline');
SELECT count(*) FROM bloomexp.feeds();
\set VERBOSITY terse
DROP TABLE exposures;
DROP DOMAIN of_newline;
DROP TYPE :"newline";

-- What is shown, and what is not: NULL, nothing, repetitions, times.
SELECT bloomexp.create_feed('seen', fpr => 1e-7), bloomexp.create_feed('ever', width => NULL,
	fpr => 1e-7);
SELECT seen.add_batch('{1,1,NULL,1,1,1,1,1,1}', '{1,1,2,NULL,4,5,6,7,8}',
	ARRAY[now(), now() - interval '1 day', now(), now(), NULL, 'infinity', '-infinity',
		now() - interval '720:01',
		now() - interval '719:59']);
SELECT ever.add_batch('{1,1,NULL,1,1,1,1,1,1}', '{1,1,2,NULL,4,5,6,7,8}',
	ARRAY[now(), now() - interval '1 day', now(), now(), NULL, 'infinity', '-infinity',
		now() - interval '720:01',
		now() - interval '719:59']);
SELECT seen.unseen(1, '{1,2,3,4,5,6,7,8,9}'), ever.unseen(1, '{1,2,3,4,5,6,7,8,9}');
SELECT seen.add(2, NULL), seen.add(2, '{}'), seen.add(NULL, '{1}'), seen.add(2, '{1}', NULL),
	seen.add(2, '{NULL}'),
	seen.add_batch(NULL, NULL, NULL), seen.add_batch('{}', '{}', '{}'),
	ever.add(2, NULL), ever.add(2, '{}'), ever.add(NULL, '{1}'), ever.add(2, '{1}', NULL),
		ever.add(2, '{NULL}');
SELECT seen.unseen(NULL, '{1}'), seen.take(NULL, '{1,1}'), seen.take(NULL, '{1}'),
	seen.current(NULL) IS NULL AS current, seen.contains(NULL, 1), seen.contains(1, NULL),
		seen.lock(NULL),
	seen.forget(NULL),
	seen.merge(NULL, 1), seen.merge(1, NULL), seen.merge(1, 1), seen.unseen(1, NULL), seen.take(3,
		NULL),
	seen.take(3, '{}'), seen.take(3, '{NULL}'), seen.merge(8, 9), ever.merge(8, 9);
SELECT user_id, items, recent FROM seen.filters WHERE user_id IS DISTINCT FROM 1;
SELECT user_id, items, recent FROM ever.filters WHERE user_id IS DISTINCT FROM 1;
-- a batch may have any dimensions
SELECT seen.add(4, '{{1,2},{3,4}}');
SELECT seen.add_batch('{{5,6}}', '{{7},{8}}', ARRAY[now(), now()]);
SELECT seen.unseen(5, '{7,8}'), seen.unseen(6, '{7,8}');
\set VERBOSITY default
SELECT seen.add_batch('{1,2}', '{1}', ARRAY[now()]);
SELECT seen.add_batch('{1}', '{1}', '{}');
SELECT seen.add_batch('{1}', NULL, ARRAY[now()]);
\set VERBOSITY terse
SELECT seen.take(1, '{1,2}', -1);
-- Late is late, whatever the time zones.
SELECT bloomexp.create_feed('half', width => '182 days', slices => 3, fpr => 1e-7);
CREATE FUNCTION edges() RETURNS TABLE (shown bigint[], zone text) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH zone IN ARRAY '{Europe/Berlin,America/Los_Angeles,Australia/Lord_Howe,UTC}'::text[] LOOP
		PERFORM set_config('TimeZone', zone, true);
		PERFORM half.add(1, '{1}', (now() AT TIME ZONE 'UTC' - interval '4367:59') AT TIME ZONE
			'UTC'),
			half.add(1, '{2}', (now() AT TIME ZONE 'UTC' - interval '4368:01') AT TIME ZONE 'UTC');
		shown := half.unseen(1, '{1,2}');
		PERFORM half.forget(1);
		RETURN NEXT;
	END LOOP;
END
$$;
SELECT * FROM edges();
DROP FUNCTION edges;
DROP SCHEMA half CASCADE;

-- Twice is once: bytes and layers stay, whatever comes again, in which order and how.
CREATE TABLE stream AS SELECT n, 10 + n % 20 AS u, (n * 7919) % 100000 AS i,
	now() - (n * 37 % 700) * interval '1 hour' AS t FROM generate_series(1::bigint, 4000) AS n;
SELECT seen.add_batch(array_agg(u ORDER BY n), array_agg(i ORDER BY n), array_agg(t ORDER BY n)),
	ever.add_batch(array_agg(u ORDER BY n), array_agg(i ORDER BY n), array_agg(t ORDER BY n))
		FROM stream;
CREATE TABLE once AS SELECT f.*, e.items AS ever FROM seen.filters AS f
	JOIN ever.filters AS e USING (user_id);
SELECT sum(cardinality(seen.unseen(u, items))) AS lost_seen, sum(cardinality(ever.unseen(u,
	items))) AS lost_ever
	FROM (SELECT u, array_agg(i) AS items FROM stream GROUP BY u) AS s;
SELECT seen.add_batch(array_agg(u ORDER BY i), array_agg(i ORDER BY i), array_agg(t ORDER BY i)),
	ever.add_batch(array_agg(u ORDER BY i), array_agg(i ORDER BY i), array_agg(t ORDER BY i))
		FROM stream;
SELECT count(seen.add(u, ARRAY[i], t)), count(ever.add(u, ARRAY[i], t)) FROM stream;
SELECT count(*), count(*) FILTER (WHERE o IS DISTINCT FROM ROW(f.*, e.items)) AS others
	FROM seen.filters AS f
	JOIN ever.filters AS e USING (user_id) JOIN once AS o USING (user_id);
-- What is taken late in a transaction is shown when it is taken, not when the transaction began.
SELECT bloomexp.create_feed('short', width => '0.6 seconds');
BEGIN;
SELECT pg_sleep(0.3), short.take(1, '{1}'), short.add(2, '{1}');
SELECT user_id, since > now() AS after_begin FROM short.filters ORDER BY 1;
COMMIT;
DROP SCHEMA short CASCADE;
-- A newer time prolongs, an older one does not.
SELECT seen.add(7, '{1}', now() - interval '20 days'), seen.add(7, '{1}', now()),
	seen.add(7, '{1}', now() - interval '20 days');
SELECT bloom_expire(seen.current(7), now() + interval '29 days') @> 1 AS prolonged,
	bloom_expire(seen.current(7), now() + interval '36 days') @> 1 AS for_ever;
DROP TABLE once, stream;
DROP SCHEMA seen, ever CASCADE;

-- Slices.  Days pass by the times of what is added: the test is the owner, and does what take()
-- and add_batch() do with the times of now.
CREATE FUNCTION at(day float8) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
	SELECT '2025-01-01 UTC'::timestamptz + day * interval '24 hours' $$;
SELECT bloomexp.create_feed('seen');
-- Let its functions take times of any age.
CREATE PROCEDURE let_old_times_in() LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE replace(pg_get_functiondef('seen.add'::regproc),
		'clock_timestamp() - interval ''720:00:00''', '''-infinity''');
	EXECUTE replace(pg_get_functiondef('seen.add_batch'::regproc),
		'present, settings) AS p',
		'(SELECT max(t) FROM unnest(shown_at) AS t), settings) AS p');
	EXECUTE replace(pg_get_functiondef('seen.add_batch'::regproc),
		'present - interval ''720:00:00''', '''-infinity''');
END
$$;
CALL let_old_times_in();
CREATE PROCEDURE show(u bigint, day float8, VARIADIC items bigint[]) LANGUAGE sql AS $$
	SELECT seen.add_batch(array_fill(u, ARRAY[cardinality(items)]), items,
		array_fill(at(day), ARRAY[cardinality(items)])) $$;
-- both columns as one filter, which has not expired, and their bytes
CREATE VIEW stored AS SELECT user_id, bloomexp.fold(f.items, f.recent,
		bloomexp.make_row_settings('integer', 0.01, '30 days', 6), f.since) AS items,
	coalesce(pg_column_size(f.items), 0) + pg_column_size(f.recent) AS bytes
	FROM seen.filters AS f;
CREATE FUNCTION remembered(u bigint, day float8, VARIADIC candidates bigint[]) RETURNS bigint[]
	LANGUAGE sql AS $$
	SELECT array_agg(i ORDER BY i) FROM stored, unnest(candidates) AS i
	WHERE user_id = u AND bloom_expire(items, at(day)) @> i $$;
-- the slices of "items", as days, and "since"
CREATE FUNCTION slices(u bigint, OUT items float8[], OUT since float8) LANGUAGE sql AS $$
	SELECT ARRAY(SELECT DISTINCT extract(epoch FROM slice_start - at(0)) / 86400 AS d
			FROM bloom_layers(f.items) ORDER BY d),
		extract(epoch FROM f.since - at(0)) / 86400
	FROM seen.filters AS f WHERE user_id = u
$$;
-- 2025-01-01 is day 1 of a slice of five days
CALL show(1, 0, 1);
SELECT * FROM slices(1);
CALL show(1, 3.9, 2);
SELECT * FROM slices(1);
CALL show(1, 4.1, 3);
SELECT * FROM slices(1);
-- late items go into the slice of their time, and nothing else moves
CALL show(1, 0.5, 4);
CALL show(1, -10, 5);
SELECT * FROM slices(1);
SELECT remembered(1, 19, 1, 2, 3, 4, 5, 6), remembered(1, 26, 1, 2, 3, 4, 5, 6), remembered(1, 33,
	1, 2, 3, 4, 5, 6),
	remembered(1, 35, 1, 2, 3, 4, 5, 6), remembered(1, 40, 1, 2, 3, 4, 5, 6);
-- a batch that begins a slice and is late, too
SELECT seen.add_batch('{1,1,1}', '{7,8,9}', ARRAY[at(3), at(10), at(4.5)]);
SELECT * FROM slices(1);
SELECT remembered(1, 36, 1, 2, 3, 7, 8, 9);
-- a row of lock() alone, and a user who comes back after a year
SELECT seen.lock(2);
CALL show(2, 0, 1);
CALL show(2, 365, 2);
SELECT * FROM slices(2);
CALL show(2, 371, 3);
SELECT * FROM slices(2);
SELECT remembered(2, 371, 1, 2, 3), remembered(2, 0, 1, 2, 3);

-- times in the future, by the calls
SELECT seen.add(4, '{1}', now() - interval '28 days'),
	seen.add(4, '{2}', now() + interval '1 year');
SELECT seen.take(4, '{1,2,3,4}', 1), seen.add(4, '{5}'), seen.add(4, '{6}',
	now() + interval '2 years');
SELECT seen.unseen(4, '{1,2,3,4,5,6}'), since <= now() AS since FROM seen.filters WHERE user_id = 4;
SELECT bloom_expire(seen.current(4), now() + interval '40 days') @> 6 AS in_two_years,
	bloom_expire(seen.current(4), now() + interval '40 days') @> 2 AS in_one_year;
TRUNCATE seen.filters;

-- Three months of pages of ten for 20 users of 300 items in 30 days, of whom every second gets a
-- tenth a week late; then 4 users of 10,000.  The rate, the bytes and the layers of the fullest
-- moment, and 0 lost; more than ten slices are closed.
CREATE TABLE shown (u bigint, i bigint, at timestamptz);
CREATE PROCEDURE pages(users int, pages_per_day int, first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR day IN first .. last LOOP
		FOR page IN 0 .. pages_per_day - 1 LOOP
			EXECUTE 'WITH page AS (
					INSERT INTO shown
					SELECT u, (u::bigint * 7919 + ($2 * $3 + $4) * 10 + n) * 104729,
						at($2 + $4 / $3::float8
							- CASE WHEN u % 2 = 1 AND n = 0 AND $2 >= 7 THEN 7 ELSE 0 END)
					FROM generate_series(1, $1) AS u, generate_series(0, 9) AS n RETURNING *)
				SELECT seen.add_batch(array_agg(page.u), array_agg(page.i), array_agg(page.at))
				FROM page' USING users, day, pages_per_day, page;
		END LOOP;
	END LOOP;
END
$$;
-- users, exposures lost, the largest row, the rate of all and of the worst user, and layers;
-- within limits, or what is not
CREATE FUNCTION within(value numeric, most numeric) RETURNS text LANGUAGE sql AS $$ SELECT CASE
	WHEN value <= most THEN 'at most ' || most ELSE value || ' instead of ' || most END $$;
CREATE FUNCTION judged(day float8, most_bytes int, most_layers int) RETURNS TABLE (n_users bigint,
	lost bigint,
	"row" text, rate text, worst text, now text, target float8, n_layers text) LANGUAGE sql AS $$
	WITH own AS (SELECT u, array_agg(DISTINCT i) AS items FROM shown
		WHERE shown.at >= at(judged.day - 30) GROUP BY u),
	never AS (SELECT array_agg(-n) AS items FROM generate_series(1::bigint, 20000) AS n),
	found AS (SELECT s.bytes AS stored, i.*, cardinality(own.items - f.filter) AS lost,
		1 - cardinality(never.items - f.filter) / 20000.0::float8 AS rate
		FROM stored AS s JOIN own ON u = user_id, never, LATERAL bloom_expire(s.items,
			at(judged.day)) AS f (filter),
			LATERAL bloom_info(f.filter) AS i)
	SELECT count(*), sum(f.lost), within(max(f.stored), most_bytes), within(avg(f.rate)::numeric,
		0.012),
		within(max(f.rate)::numeric, 0.014), within(max(f.fpr_now)::numeric, 0.013),
		max(f.fpr), within(max(f.layers), most_layers) FROM found AS f
$$;
CALL pages(20, 1, 0, 29);
SELECT * FROM judged(30, 1500, 21);
-- ten visitors of 20 items each become each user: what is added later has the rate of one
SELECT count(seen.add_batch(array_fill(1000 + u, ARRAY[20]),
	ARRAY(SELECT -1000000000 * v - u * 100 - n FROM generate_series(1, 20) AS n),
	array_fill(at(20 + v), ARRAY[20]))), count(seen.merge(1000 + u, u))
FROM generate_series(1::bigint, 10) AS v, generate_series(1, 20) AS u;
CALL pages(20, 1, 30, 90);
SELECT * FROM judged(91, 1600, 21);
TRUNCATE shown, seen.filters;
CALL pages(4, 33, 0, 35);
SELECT * FROM judged(36, 30000, 28);
-- What a page of ten writes then, but for images of 8 kB pages: only "recent".
CREATE FUNCTION wal(call text) RETURNS int LANGUAGE plpgsql
	AS $$ DECLARE plan json; BEGIN EXECUTE 'EXPLAIN (ANALYZE, WAL, FORMAT json) ' || call
	INTO plan; RETURN plan -> 0 -> 'Plan' ->> 'WAL Bytes'; END $$;
SELECT seen.add_batch(array_fill(99::bigint, ARRAY[10000]), ARRAY(SELECT generate_series(1::bigint,
	10000)),
	ARRAY(SELECT now() - n * interval '4 minutes' FROM generate_series(1, 10000) AS n));
SELECT within(percentile_disc(0.5) WITHIN GROUP
	(ORDER BY wal(format('SELECT seen.add(99, ARRAY(SELECT generate_series(%s::bigint, %s)))',
		20000 + 10 * n,
	20009 + 10 * n))), 500)
FROM generate_series(1, 9) AS n;
TRUNCATE shown, seen.filters;

-- The script again: rows and grants stay; other types, widths or slices are refused, another
-- rate is for what is added then.
DROP SCHEMA seen CASCADE;
SELECT bloomexp.create_feed('seen', fpr => 0.1);
CALL let_old_times_in();
CREATE VIEW stored AS SELECT user_id, bloomexp.fold(f.items, f.recent,
		bloomexp.make_row_settings('integer', 0.1, '30 days', 6), f.since) AS items
	FROM seen.filters AS f;
CREATE ROLE regress_bloomexp_app;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC;
GRANT USAGE ON SCHEMA seen TO regress_bloomexp_app;
GRANT EXECUTE ON FUNCTION seen.take TO regress_bloomexp_app;
GRANT EXECUTE ON FUNCTION seen.unseen TO regress_bloomexp_app WITH GRANT OPTION;
CALL show(1, 0, 1, 2, 3);
CALL show(1, 3, 4);
CREATE VIEW state AS SELECT (SELECT array_agg(f ORDER BY user_id)::text
	FROM seen.filters AS f) AS rows,
	(SELECT nspacl::text FROM pg_namespace WHERE nspname = 'seen') AS schema,
	(SELECT array_agg(ROW(p.oid, p.proacl)::text ORDER BY p.oid) FROM pg_proc AS p
		WHERE pronamespace = 'seen'::regnamespace) AS functions,
	(SELECT array_agg(ROW(c.oid, c.relacl, c.reloptions)::text ORDER BY c.oid) FROM pg_class AS c
		WHERE relnamespace = 'seen'::regnamespace) AS relations;
CREATE TABLE state_before AS TABLE state;
SELECT returned(command) AS script FROM bloomexp.feeds() \gset
:script
SELECT s = b AS same FROM state AS s, state_before AS b;
DROP TABLE state_before;
SELECT :'script' = bloomexp.feed_sql('seen', fpr => 0.1) AS same;
SELECT bloomexp.create_feed('seen');
\set VERBOSITY default
SELECT bloomexp.feed_sql('seen', item_type => 'text');
SELECT bloomexp.feed_sql('seen', user_type => 'int');
SELECT bloomexp.feed_sql('seen', width => '31 days');
SELECT bloomexp.feed_sql('seen', width => NULL);
SELECT bloomexp.feed_sql('seen', slices => 7);
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz);
CREATE INDEX ON exposures (user_id);
SELECT bloomexp.feed_sql('seen', 'exposures');
SELECT bloomexp.create_feed('table', 'exposures');
SELECT bloomexp.feed_sql('table');
-- a script of another kind that was made elsewhere
SELECT replace(bloomexp.feed_sql('elsewhere', slices => 7), 'elsewhere', 'seen') AS script \gset
SELECT execute(:'script');
\set VERBOSITY terse
DROP SCHEMA "table" CASCADE;
DROP TABLE exposures;
SELECT bloomexp.feed_sql('seen', fpr => 0.001) AS script \gset
:script
SELECT command, problems FROM bloomexp.feeds();
-- rates of the filter, and of its layers: what is added has the new one, in a layer of its own
CREATE VIEW rates AS SELECT user_id, (bloom_info(f.items)).fpr AS items,
	ARRAY(SELECT format('%s: %s%s', (extract(epoch FROM slice_start - at(0)) / 86400)::int, l.items,
		CASE
		WHEN l.fpr > 0.001 THEN '!' END) FROM bloom_layers(f.items) AS l
		ORDER BY slice_start, l.layer) AS slices FROM seen.filters AS f;
CALL let_old_times_in();
CALL show(1, 4, 5);
TABLE rates;
CALL show(1, 8, 6, 7);
TABLE rates;
SELECT seen.add_batch('{1,1,1}', '{8,9,10}', ARRAY[at(13), at(9), at(2)]);
TABLE rates;
SELECT remembered(1, 13, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);

-- Two rows become one: all that one of them had, at a rate of at most the sum, until a slice
-- begins.
TRUNCATE seen.filters;
CALL show(1, 0, 1, 2);
CALL show(1, 5, 3);
CALL show(2, 0, 4);
CALL show(2, 9, 5);
CALL show(2, 2, 2);
SELECT seen.merge(1, 2);
SELECT seen.merge(7, 2);
SELECT seen.merge(2, 3);
TABLE rates;
SELECT remembered(3, 9, 1, 2, 3, 4, 5, 6);
CALL show(3, 15, 6);
TABLE rates;
SELECT remembered(3, 15, 1, 2, 3, 4, 5, 6);

-- CALL expire(): who was shown nothing in the last width, and nobody else.
TRUNCATE seen.filters;
SELECT count(seen.add(u, ARRAY[u], now() - u * interval '24 hours'))
	FROM generate_series(1::bigint, 45) AS u;
SELECT seen.lock(100);
SELECT users, expired BETWEEN 11 AND 16 AS some FROM seen.health;
-- some of them belong to a slice that is in the window in part
SELECT count(*) AS out_of_slices FROM seen.filters
	WHERE since IS NULL OR since <= now() - interval '840 hours' \gset
SELECT expired = :out_of_slices AS as_told FROM seen.health;
SELECT sum(cardinality(seen.unseen(u, ARRAY[u]))) FROM generate_series(1, 29) AS u;
BEGIN;
CALL seen.expire();
ROLLBACK;
CALL seen.expire() \gset
SELECT :removed = :out_of_slices AS removed, users + :removed AS before, expired FROM seen.health;
SELECT sum(cardinality(seen.unseen(u, ARRAY[u]))) FROM generate_series(1, 29) AS u;
-- without the users whose slices may have ended or not, depending on the day of the test
DELETE FROM seen.filters WHERE user_id >= 30;
-- If the clock was behind for a while, "since" can be older than items in the filter.
UPDATE seen.filters SET since = '2000-01-01', recent = '{}',
	items = (SELECT bloom_window_agg(1::bigint, now(), '30 days', 6, 0.01))
WHERE user_id = 1;
CALL seen.expire();
SELECT seen.contains(1, 1), expired FROM seen.health;
-- A clock that is ahead is not believed at once.
SELECT seen.add_batch(array_agg(u), array_agg(u), array_agg(at(u % 3)))
	FROM generate_series(1001::bigint, 2500) AS u;
CALL seen.expire();
SELECT * FROM seen.expire_batch(NULL, NULL, 0);
CALL seen.expire('1 ms', allow_removed => true);
SELECT users, expired FROM seen.health;
-- ... and empty rows do not count as such users
SELECT count(seen.lock(u)) FROM generate_series(20001::bigint, 21500) AS u;
CALL seen.expire();
-- ... but rows that somebody has loaded without "since" have something to lose
INSERT INTO seen.filters (user_id, items) SELECT 3000, bloom_window_agg(u, now(), '30 days', 6,
	0.01)
	FROM generate_series(1::bigint, 9) AS u;
SELECT expired FROM seen.health;
CALL seen.expire();
SELECT seen.take(3000, '{9,10}');
-- a fifth and less goes without
SELECT count(seen.add(u, ARRAY[u])) FROM generate_series(1001::bigint, 7000) AS u;
SELECT seen.add_batch(array_agg(u), array_agg(u), array_agg(at(u % 3)))
	FROM generate_series(10001::bigint, 11100) AS u;
CALL seen.expire();
-- Batches go on after the last user: no row is read twice.
TRUNCATE seen.filters;
INSERT INTO seen.filters (user_id, since, recent)
SELECT u, at(0), ARRAY[u] FROM generate_series(1, 25000) AS u;
SELECT * FROM seen.expire_batch(NULL, true, 0);
SELECT * FROM seen.expire_batch(10000, true, 10000);
SELECT min(user_id), count(*) FROM seen.filters;
SELECT * FROM seen.expire_batch(20000, true, 20000);
INSERT INTO seen.filters (user_id, since, recent)
SELECT u, at(0), ARRAY[u] FROM generate_series(1, 25000) AS u;
CALL seen.expire(allow_removed => true);
SELECT count(*) FROM seen.filters;
-- what never forgets has nothing to expire
SELECT bloomexp.create_feed('ever', width => NULL);
SELECT count(*) FROM pg_proc WHERE pronamespace = 'ever'::regnamespace AND proname ~ 'expire';
TRUNCATE seen.filters;

-- If something suppresses a write, that is an error, not an item that is shown twice.
CREATE RULE lost AS ON INSERT TO seen.filters DO INSTEAD NOTHING;
SELECT seen.add(5, '{1}');
SELECT seen.take(5, '{1,2}', 1);
DROP RULE lost ON seen.filters;
DISCARD PLANS;	-- one that is nothing is kept for ever
INSERT INTO seen.filters (user_id) VALUES (5);
CREATE FUNCTION keep_away() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER keep_away BEFORE UPDATE ON seen.filters FOR EACH ROW EXECUTE FUNCTION keep_away();
CREATE TRIGGER keep_new_away BEFORE INSERT ON seen.filters FOR EACH ROW WHEN (NEW.user_id = 6)
	EXECUTE FUNCTION keep_away();
CREATE TRIGGER keep_away BEFORE INSERT OR UPDATE
	ON ever.filters FOR EACH ROW EXECUTE FUNCTION keep_away();
SELECT seen.add(5, '{2}');
SELECT seen.take(5, '{3}');
SELECT ever.add(5, '{2}');
SELECT ever.take(5, '{3}');
SELECT seen.add_batch('{5}', '{2}', ARRAY[now()]);
SELECT seen.add_batch('{6}', '{2}', ARRAY[now()]);
SELECT ever.add_batch('{6}', '{2}', ARRAY[now()]);
DROP FUNCTION keep_away CASCADE;
SELECT seen.unseen(5, '{1,2,3}'), ever.unseen(5, '{1,2,3}');
-- What is not taken back, removed or merged is an error, too.
SELECT seen.take(5, '{3}');
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON seen.filters
	FOR EACH ROW WHEN (OLD.user_id = 5) EXECUTE FUNCTION keep();
SELECT seen.take_back(5, '{3}');
SELECT seen.forget(5);
SELECT seen.merge(5, 6);
CREATE TRIGGER keep BEFORE DELETE ON ever.filters FOR EACH ROW EXECUTE FUNCTION keep();
SELECT ever.add(5, '{3}');
SELECT ever.merge(5, 6);
DROP FUNCTION keep CASCADE;
SELECT seen.take_back(5, '{3}');
UPDATE seen.filters SET since = since - interval '100 days';
CREATE RULE keep AS ON DELETE TO seen.filters WHERE OLD.user_id = 5 DO INSTEAD NOTHING;
CALL seen.expire(allow_removed => true);
SELECT seen.forget(5);
DROP RULE keep ON seen.filters;
CALL seen.expire(allow_removed => true);
-- A user who no longer exists can be forgotten: forget() inserts no row for that.
CREATE TABLE people (id bigint PRIMARY KEY);
INSERT INTO people VALUES (5), (6);
DELETE FROM seen.filters WHERE user_id NOT IN (SELECT id FROM people);
ALTER TABLE seen.filters ADD FOREIGN KEY (user_id) REFERENCES people ON DELETE CASCADE;
SELECT seen.add(6, '{1}');
BEGIN;
DELETE FROM people WHERE id = 6;
SELECT seen.forget(6), seen.forget(77);
COMMIT;
INSERT INTO people VALUES (6);
SELECT seen.add(6, '{1}');
BEGIN ISOLATION LEVEL REPEATABLE READ;
DELETE FROM people WHERE id = 6;
SELECT seen.forget(6), seen.forget(77);
COMMIT;
SELECT seen.unseen(6, '{1}');
DROP TABLE people CASCADE;
-- A user whom no index takes is refused, by an error of a class that concerns one event alone.
SELECT bloomexp.create_feed('named', user_type => 'text');
DO $$
DECLARE
	id text := (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 100) AS i);
BEGIN
	PERFORM named.add_batch(ARRAY['a', id], '{1,1}', ARRAY[now(), now()]);
EXCEPTION WHEN check_violation THEN
	PERFORM named.add_batch(ARRAY['a', repeat('x', 2000)], '{1,1}', ARRAY[now(), now()]);
END $$;
SELECT left(user_id, 3), named.unseen(user_id, '{1,2}') FROM named.filters ORDER BY 1;
SELECT named.lock(repeat('x', 2001)), named.take(repeat('x', 2001), '{1}');
DROP SCHEMA named CASCADE;

-- Merged into a user who was away: what the other one was shown stays when expire() comes.
SELECT bloomexp.create_feed('away');
SELECT away.add(1, '{1}'), away.add(2, '{2}');
UPDATE away.filters SET since = since - interval '1200 hours' WHERE user_id = 1;
SELECT away.merge(2, 1);
CALL away.expire();
SELECT away.contains(1, 2);
-- ... so many items, too, that none of them is in "recent"
SELECT away.add(3, '{3}');
UPDATE away.filters SET since = since - interval '1200 hours' WHERE user_id = 3;
SELECT away.add(4, ARRAY(SELECT generate_series(1001::bigint, 1300)));
SELECT away.merge(4, 3);
CALL away.expire();
SELECT cardinality(away.unseen(3, ARRAY(SELECT generate_series(1001::bigint, 1300)))) AS lost;
-- Visitors who sign in, one after another, do not add up their rates for what comes later.
TRUNCATE ever.filters;
SELECT count(ever.add(v, ARRAY[v, v + 1, v + 2])), count(ever.merge(v, 1))
	FROM generate_series(1000, 1079) AS v;
SELECT count(ever.add(1, ARRAY(SELECT i + 10 * page FROM generate_series(10001, 10010) AS i)))
FROM generate_series(1, 200) AS page;
SELECT fpr_target_max, fpr_max < 0.02 AS near_it FROM ever.health;
SELECT count(*) AS lost FROM generate_series(1000, 1081) AS i WHERE NOT ever.contains(1, i);
DROP SCHEMA away, seen, ever CASCADE;
DROP TABLE kinds CASCADE;
DROP TABLE shown;
DROP ROUTINE IF EXISTS feed_of, execute, returned, call, all_call, at, show, let_old_times_in,
	remembered, slices, pages, within, judged, wal CASCADE;
DROP TYPE mood, "of ""{$}"" '";
DROP DOMAIN user_name, item_id;
DO $$ BEGIN DROP EXTENSION IF EXISTS citext; DROP DOMAIN IF EXISTS citext; END $$;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM PUBLIC;
DROP OWNED BY regress_bloomexp_app CASCADE;
DROP ROLE regress_bloomexp_app;
