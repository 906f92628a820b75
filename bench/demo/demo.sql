--
-- The demo: a stream of exposures fills a feed without a table, and an indexed table for comparison
-- with exact SQL.  Candidates are excluded and every answer is judged; pages are taken.  "make
-- demo" runs this file in psql.  Variables: p, the target rate; csv, the name of a CSV file on
-- standard input, or not set; columns, those of the file; at, the time of a row of it.
--
SET client_min_messages = warning;
CREATE EXTENSION bloomexp;
SELECT setseed(0.5) \g /dev/null

--
-- Exposures.  Our own: 20,000 users of whom the median saw 150 items and the
-- busiest thousands (Zipf-Mandelbrot), in pages of ten over 29 days.  Ids are like
-- snowflakes: milliseconds, then 22 bits.
--
SELECT clock_timestamp() AS start \gset
\if :{?csv}
\echo reading :csv
\set type text
CREATE TABLE loaded (:columns);
\copy loaded FROM pstdin WITH (FORMAT csv, HEADER, FORCE_NULL (user_id, item_id, shown_at))
\set loaded :ROW_COUNT
CREATE TABLE events AS
-- without a time: now
SELECT user_id, item_id, CASE WHEN isfinite(:at) THEN :at ELSE now() END AS shown_at
FROM loaded WHERE user_id <> '' AND item_id <> '';
SELECT :loaded - :ROW_COUNT AS skipped, :loaded > :ROW_COUNT AS skips,
	:ROW_COUNT = 0 AS nothing \gset
DROP TABLE loaded;
\if :skips
\echo '  ' :skipped of :loaded rows have no user or no item and are skipped
\endif
\if :nothing
\set SHOW_CONTEXT never
DO $$BEGIN RAISE EXCEPTION 'bloomexp: the file holds no exposures'; END$$;
\endif
\else
\echo making 5 million exposures
\set type bigint
CREATE TABLE events AS
SELECT rank * 7919 % 20000 + 1 AS user_id,
	((410000000000 + item * 5171) << 22) | (item * 2654435761 & 4194303) AS item_id,
	now() - interval '29 days' * (((nth + 9) / 10 + rank * 7) * 0.618034 % 1) AS shown_at
FROM generate_series(1, 5000) AS nth,
	generate_series(1, least(20000, 10000 * (150.0::float8 / nth) ^ (1 / 0.7)
		- 70)::bigint) AS rank,
	-- a walk through the catalogue, for each user with a stride of their own: 500,009 is a prime
	LATERAL (SELECT (rank * 7907 + nth * (rank * 48271 % 500008 + 1)) % 500009) AS walk (item);
\endif
SELECT round(extract(epoch FROM clock_timestamp() - :'start')::numeric, 1) AS seconds \gset
\echo '  ' :seconds s

--
-- The stream: the same batches of 100,000 events, in the order of time, for the feed and for the
-- table.
--
\echo putting them in the order of time
SELECT clock_timestamp() AS start \gset
CREATE TABLE stream AS
SELECT (row_number() OVER (ORDER BY shown_at) - 1) / 100000 AS batch, * FROM events;
CREATE INDEX ON stream (batch);
DROP TABLE events;
VACUUM (ANALYZE) stream;
SELECT round(extract(epoch FROM clock_timestamp() - :'start')::numeric, 1) AS seconds \gset
\echo '  ' :seconds s
-- an item that is older than the window would not be remembered
SELECT greatest(interval '30 days', age + interval '1 day') AS width,
	age + interval '1 day' > interval '30 days' AS is_wider,
	extract(day FROM age + interval '1 day') AS days, extract(day FROM age) AS age
FROM (SELECT now() - min(shown_at) AS age FROM stream) AS oldest \gset
\if :is_wider
\echo '  ' window: :days days instead of 30, because the oldest exposure is :age days old
\endif
SELECT bloomexp.create_feed('seen', user_type => :'type', item_type => :'type', width => :'width',
	fpr => :p) \g /dev/null
CREATE TABLE exposures (user_id :type NOT NULL, item_id :type NOT NULL,
	shown_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX ON exposures (user_id, shown_at, item_id);

\echo streaming them into seen.add_batch(), and into the table
CREATE TABLE runs (what text, way text, seconds float8, wal float8);
CREATE PROCEDURE run(what text, way text, statement text) LANGUAGE plpgsql AS $$
DECLARE
	start timestamptz := clock_timestamp();
	wal pg_lsn := pg_current_wal_insert_lsn();
BEGIN
	EXECUTE statement;
	INSERT INTO runs VALUES (what, way, extract(epoch FROM clock_timestamp() - start),
		pg_current_wal_insert_lsn() - wal);
	COMMIT;
END
$$;
-- in between what autovacuum does in the weeks that pass here in seconds; and how far it has come
\pset format unaligned
\pset tuples_only on
SELECT unnest(ARRAY[
	format('CALL run(''stream'', ''feed'', ''SELECT seen.add_batch(array_agg(user_id),
		array_agg(item_id), array_agg(shown_at)) FROM stream WHERE batch = %s'')', nth),
	format('CALL run(''stream'', ''exact'', ''INSERT INTO exposures
		SELECT user_id, item_id, shown_at FROM stream WHERE batch = %s'')', nth),
	'VACUUM seen.filters',
	CASE WHEN nth % 5 = 4 THEN format('SELECT ''   %s million''', round((nth + 1) / 10.0, 1)) END])
FROM generate_series(0, (SELECT max(batch) FROM stream)) AS nth \gexec
\pset tuples_only off
\pset format aligned
VACUUM (ANALYZE) exposures, seen.filters;
SELECT sum(seconds) FILTER (WHERE way = 'feed') AS feed_s,
	sum(seconds) FILTER (WHERE way = 'exact') AS exact_s,
	(SELECT count(*) FROM stream) AS events
FROM runs \gset
SELECT format('feed %s s, table %s s', round(:feed_s::numeric, 1),
	round(:exact_s::numeric, 1)) AS seconds \gset
\echo '  ' :seconds
SELECT count(*) AS users, sum(n) AS items, avg(n) AS mean, max(n) AS most,
	percentile_disc(0.5) WITHIN GROUP (ORDER BY n) AS median,
	pg_total_relation_size('seen.filters') / count(*) AS feed_disk,
	pg_total_relation_size('exposures') / count(*) AS exact_disk
FROM (SELECT count(DISTINCT item_id) AS n FROM exposures GROUP BY user_id) AS seen_by \gset

--
-- Candidates: for 2,000 users up to 150 items that they saw and 350 from the whole
-- catalogue, in no order.  The arrays are stored plain.
--
\echo choosing candidates for up to 2,000 users
SELECT clock_timestamp() AS start \gset
CREATE TABLE catalogue AS
SELECT row_number() OVER () AS nth, item_id
FROM (SELECT DISTINCT item_id FROM exposures ORDER BY item_id) AS items;
CREATE TABLE own AS
SELECT DISTINCT user_id, item_id FROM exposures
JOIN (SELECT user_id FROM (SELECT DISTINCT user_id FROM exposures ORDER BY user_id) AS users
	ORDER BY random() LIMIT 2000) AS sample USING (user_id);
CREATE INDEX ON own (user_id, item_id);
CREATE TABLE candidates (user_id :type, items :type[]);
ALTER TABLE candidates ALTER items SET STORAGE EXTERNAL;
ANALYZE catalogue, own;
INSERT INTO candidates
SELECT user_id, array_agg(item_id ORDER BY luck)
FROM (
	SELECT DISTINCT ON (user_id, item_id) user_id, item_id, luck
	FROM (
		SELECT user_id, item_id, luck, row_number() OVER (PARTITION BY user_id ORDER BY luck) AS nth
		FROM (SELECT *, random() AS luck FROM own) AS shuffled
		UNION ALL
		SELECT user_id, item_id, luck, 1
		FROM (
			SELECT user_id, random() AS luck,
				1 + floor(random() * (SELECT count(*) FROM catalogue))::bigint AS nth
			FROM (SELECT DISTINCT user_id FROM own) AS sample, generate_series(1, 350)
		) AS dice
		JOIN catalogue USING (nth)
	) AS drawn
	WHERE nth <= 150
	ORDER BY user_id, item_id, luck
) AS chosen
GROUP BY user_id;
VACUUM (ANALYZE) candidates;
SELECT round(extract(epoch FROM clock_timestamp() - :'start')::numeric, 1) AS seconds \gset
\echo '  ' :seconds s

--
-- Judge every candidate by the exposures themselves.  The candidates of one user share a filter and
-- its luck, so the error is taken over users.
--
\echo checking every candidate against the exposures
SELECT clock_timestamp() AS start \gset
CREATE TABLE verdicts AS
SELECT c.user_id, v.*
FROM candidates AS c,
	LATERAL (
		SELECT count(own.item_id) AS exposed,
			count(*) FILTER (WHERE own.item_id IS NOT NULL
				AND left_over.item_id IS NOT NULL) AS let_through,
			count(*) FILTER (WHERE own.item_id IS NULL) AS fresh,
			count(*) FILTER (WHERE own.item_id IS NULL AND left_over.item_id IS NULL) AS dropped
		FROM unnest(c.items) AS every (item_id)
		LEFT JOIN unnest(seen.unseen(c.user_id, c.items)) AS left_over (item_id) USING (item_id)
		LEFT JOIN own ON own.user_id = c.user_id AND own.item_id = every.item_id
	) AS v;
SELECT sum(exposed) AS exposed, sum(let_through) AS let_through, sum(fresh) AS fresh,
	coalesce(sum(dropped) / nullif(sum(fresh), 0), 0) AS fpr
FROM verdicts \gset
SELECT coalesce(1.96 * sqrt(sum((dropped - :fpr * fresh) ^ 2)) / nullif(:fresh, 0), 0) AS error
	FROM verdicts \gset
SELECT round(extract(epoch FROM clock_timestamp() - :'start')::numeric, 1) AS seconds \gset
\echo '  ' :seconds s

--
-- Pages of ten for each user, in turn: by the feed, by exact SQL, and the first ten candidates,
-- which is what reading them takes.  The log has no images of 8 kB pages in three rounds, and those
-- after a checkpoint in another.
--
\echo taking pages
SELECT clock_timestamp() AS start \gset
CREATE FUNCTION first_ten(who :type, candidates :type[]) RETURNS :type[] LANGUAGE plpgsql AS
	'BEGIN RETURN candidates[1:10]; END';
CREATE FUNCTION take_exact(who :type, candidates :type[],
	width interval DEFAULT :'width') RETURNS :type[] LANGUAGE plpgsql AS
	'DECLARE page candidates%TYPE;
	BEGIN
		WITH page AS (
			INSERT INTO exposures (user_id, item_id)
			SELECT who, item FROM unnest(candidates) AS c (item)
			WHERE item NOT IN (SELECT e.item_id FROM exposures AS e WHERE e.user_id = who
				AND e.shown_at > now() - width)
			LIMIT 10 RETURNING item_id)
		SELECT array_agg(item_id) INTO page FROM page;
		RETURN page;
	END';
CREATE UNLOGGED TABLE pages (way text, user_id :type, items :type[]);
CREATE PROCEDURE run_pages(what text) LANGUAGE plpgsql AS $$
BEGIN
	CALL run(what, 'none', 'INSERT INTO pages SELECT ''none'', user_id, first_ten(user_id, items)
		FROM candidates');
	CALL run(what, 'feed', 'INSERT INTO pages SELECT ''feed'', user_id,
		seen.take(user_id, items, 10) FROM candidates');
	CALL run(what, 'exact', 'INSERT INTO pages SELECT ''exact'', user_id, take_exact(user_id, items)
		FROM candidates');
END
$$;
CALL run_pages('page');
CALL run_pages('page');
CALL run_pages('page');
ALTER SYSTEM SET full_page_writes = on;
SELECT pg_reload_conf(), pg_sleep(0.5) \g /dev/null
CHECKPOINT;
CALL run_pages('page with images');
SELECT round(extract(epoch FROM clock_timestamp() - :'start')::numeric, 1) AS seconds \gset
\echo '  ' :seconds s
WITH medians AS (
	SELECT what, way, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS seconds,
		percentile_cont(0.5) WITHIN GROUP (ORDER BY wal) AS wal
	FROM runs GROUP BY what, way
)
SELECT 1000.0::float8 / n * (max(seconds) FILTER (WHERE way = 'feed')
		- max(seconds) FILTER (WHERE way = 'none')) AS feed_ms,
	1000.0::float8 / n * (max(seconds) FILTER (WHERE way = 'exact')
		- max(seconds) FILTER (WHERE way = 'none')) AS exact_ms,
	max(wal) FILTER (WHERE way = 'feed') / n AS feed_wal,
	max(wal) FILTER (WHERE way = 'exact') / n AS exact_wal,
	(SELECT max(wal) FILTER (WHERE way = 'feed') / n FROM medians
		WHERE what LIKE '%images') AS feed_images,
	(SELECT max(wal) FILTER (WHERE way = 'exact') / n FROM medians
		WHERE what LIKE '%images') AS exact_images
FROM medians, (SELECT count(*) AS n FROM candidates) AS c WHERE what = 'page' GROUP BY n \gset
-- Of the items that the feed gave, those that the user had seen in the stream or on an earlier
-- page.
SELECT count(*) AS taken,
	count(*) - count(DISTINCT (pages.user_id, item)) FILTER (WHERE own.item_id IS NULL) AS again
FROM pages CROSS JOIN unnest(items) AS item LEFT JOIN own ON own.user_id = pages.user_id
AND own.item_id = item
WHERE way = 'feed' \gset

\echo
\pset footer off
CREATE FUNCTION shown(value float8) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN value < 10 AND value <> round(value) THEN round(value::numeric, 3)::text
		ELSE to_char(value, 'FM999,999,990') END
$$;
CREATE FUNCTION compared(more float8, less float8) RETURNS text LANGUAGE sql AS $$
	SELECT shown(more) || CASE WHEN less > 0 AND more > less
		THEN format(' (%s times)', round((more / less)::numeric, 1)) ELSE '' END
$$;
CREATE FUNCTION counted(number float8, what text) RETURNS text LANGUAGE sql AS $$
	SELECT format('%s %s%s', shown(number), what, CASE WHEN number <> 1 THEN 's' END)
$$;
-- With few pages a time can be less than that of reading them varies by.
SELECT CASE WHEN :feed_ms < 0.0005 THEN 'too short to measure' ELSE shown(:feed_ms) END AS feed_ms,
	CASE WHEN :exact_ms < 0.0005 THEN 'too short to measure'
		ELSE compared(:exact_ms, CASE WHEN :feed_ms >= 0.0005 THEN :feed_ms END) END AS exact_ms
	\gset
SELECT what AS " ", bloomexp, "for comparison"
FROM (VALUES
	(1, 'users', shown(:users), format('they saw %s: mean %s, median %s, at most %s',
		counted(:items, 'item'), to_char(:mean, 'FM999,999,990.0'), shown(:median),
		shown(:most))),
	(2, 'bytes per user on disk', shown(:feed_disk),
		'table and index: ' || compared(:exact_disk, :feed_disk)),
	(3, 'events per second of the stream', shown(:events / :feed_s),
		'INSERT into table and index: ' || shown(:events / :exact_s)),
	(4, 'ms to take and remember ten', :'feed_ms',
		'hashed NOT IN, INSERT: ' || :'exact_ms'),
	(5, 'bytes of WAL per page', shown(:feed_wal), compared(:exact_wal, :feed_wal)),
	(6, 'bytes of WAL with page images', shown(:feed_images),
		compared(:exact_images, :feed_images)),
	(7, 'exposed items let through', shown(:let_through),
		format('of %s', counted(:exposed, 'exposed candidate'))),
	(8, 'false positives', CASE WHEN :fresh = 0 THEN 'none to judge'
			ELSE format('%s%% ± %s', round(:fpr * 100, 3), round((:error * 100)::numeric, 3)) END,
		format('of %s; target rate: %s%%', counted(:fresh, 'unexposed candidate'), :p * 100)),
	(9, 'items that came again', shown(:again), format('of %s taken', counted(:taken, 'item')))
) AS report (line, what, bloomexp, "for comparison")
ORDER BY line;
\echo 'Measured in the server, in one session that does not wait for the disk; times vary from run'
\echo 'to run.  doc/benchmarks.md has the figures of clients of a server with fsync on.'

SELECT :let_through + :again > 0 OR :fpr > 1.2 * :p + :error AS wrong \gset
\if :wrong
\set SHOW_CONTEXT never
DO $$BEGIN RAISE EXCEPTION 'bloomexp: an answer is wrong'; END$$;
\endif
