--
-- The demo: exposures, a feed of them, candidates filtered by it and without it, a count of what
-- went wrong, and pages taken.  "make demo" runs this file in psql.  Variables: p, the target
-- rate; csv, the name of a CSV file on standard input, or not set; columns, those of the file;
-- at, the time of a row of it.
--
SET client_min_messages = warning;
CREATE EXTENSION bloomexp;
SELECT setseed(0.5) \g /dev/null

--
-- Exposures.  Our own: 20,000 users of whom the median saw 150 items and the
-- busiest thousands (Zipf-Mandelbrot), in the order in which a log would have
-- them, all users mixed.  Ids are like snowflakes: milliseconds, then 22 bits.
--
SELECT clock_timestamp() AS start \gset
\if :{?csv}
\echo reading :csv
\set type text
CREATE TABLE loaded (:columns);
\copy loaded FROM pstdin WITH (FORMAT csv, HEADER, FORCE_NULL (user_id, item_id, shown_at))
\set loaded :ROW_COUNT
CREATE TABLE exposures AS
SELECT user_id, item_id, CASE WHEN isfinite(:at) THEN :at ELSE now() END AS shown_at	-- without a time: now
FROM loaded WHERE user_id <> '' AND item_id <> '';
SELECT :loaded - :ROW_COUNT AS skipped, :loaded > :ROW_COUNT AS skips, :ROW_COUNT = 0 AS nothing \gset
DROP TABLE loaded;
\if :skips
\echo '  ' :skipped of :loaded rows have no user or no item and are skipped
\endif
\if :nothing
\set SHOW_CONTEXT never
DO $$BEGIN RAISE EXCEPTION 'the file holds no exposures'; END$$;
\endif
\else
\echo making 5 million exposures
\set type bigint
CREATE TABLE exposures AS
SELECT rank * 7919 % 20000 + 1 AS user_id,
	((410000000000 + item * 5171) << 22) | (item * 2654435761 & 4194303) AS item_id,
	now() - interval '29 days' * (nth * 0.618034 % 1) AS shown_at
FROM generate_series(1, 5000) AS nth,
	generate_series(1, least(20000, 10000 * (150.0::float8 / nth) ^ (1 / 0.7) - 70)::bigint) AS rank,
	-- a walk through the catalogue, for each user with a stride of their own: 500,009 is a prime
	LATERAL (SELECT (rank * 7907 + nth * (rank * 48271 % 500008 + 1)) % 500009) AS walk (item);
\endif
VACUUM (ANALYZE) exposures;
SELECT round(extract(epoch FROM clock_timestamp() - :'start')::numeric, 1) AS seconds \gset
\echo '  ' :seconds s

--
-- The feed, beside what PostgreSQL needs to read and group the rows at all.  The index is for the
-- rebuild, and for the ways without a filter.
--
\echo indexing them
SELECT clock_timestamp() AS start \gset
CREATE INDEX ON exposures (user_id, item_id, shown_at);
VACUUM exposures;
SELECT round(extract(epoch FROM clock_timestamp() - :'start')::numeric, 1) AS seconds \gset
\echo '  ' :seconds s

\echo counting the exposures of each user
SELECT clock_timestamp() AS start \gset
CREATE TABLE counts AS
SELECT user_id, count(*) FROM exposures GROUP BY user_id;
SELECT round(extract(epoch FROM clock_timestamp() - :'start')::numeric, 2) AS count_s \gset
\echo '  ' :count_s s

-- Before PostgreSQL 15 everybody may create functions there, which a feed refuses.
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
SELECT greatest(interval '30 days', now() - min(shown_at) + interval '1 day') AS width FROM exposures \gset
\echo building a filter for each user: bloom_create_feed(), CALL seen.rebuild()
SELECT clock_timestamp() AS start \gset
SELECT bloom_create_feed('seen', 'exposures', width => :'width', fpr => :p) \g /dev/null
CALL seen.rebuild() \g /dev/null
SELECT round(extract(epoch FROM clock_timestamp() - :'start')::numeric, 2) AS build_s \gset
\echo '  ' :build_s s
VACUUM (ANALYZE) seen.filters;

--
-- Candidates: for 2,000 users up to 300 items that they saw and 700 from the
-- whole catalogue, in no order.  The arrays are stored plain.
--
\echo choosing candidates for up to 2,000 users
SELECT clock_timestamp() AS start \gset
CREATE TABLE catalogue AS
SELECT row_number() OVER () AS nth, item_id
FROM (SELECT DISTINCT item_id FROM exposures ORDER BY item_id) AS items;
CREATE TABLE sample AS
SELECT user_id FROM (SELECT user_id FROM seen.filters ORDER BY user_id) AS users ORDER BY random() LIMIT 2000;
ANALYZE catalogue, sample;
CREATE TABLE candidates AS
SELECT user_id, array_agg(item_id) AS items FROM exposures GROUP BY user_id WITH NO DATA;
ALTER TABLE candidates ALTER items SET STORAGE EXTERNAL;
INSERT INTO candidates
SELECT user_id, array_agg(item_id ORDER BY luck)
FROM (
	SELECT DISTINCT ON (user_id, item_id) user_id, item_id, luck
	FROM (
		SELECT user_id, item_id, luck, row_number() OVER (PARTITION BY user_id ORDER BY luck) AS nth
		FROM (
			SELECT user_id, item_id, random() AS luck
			FROM (SELECT DISTINCT user_id, item_id FROM sample JOIN exposures USING (user_id)) AS own
		) AS shuffled
		UNION ALL
		SELECT user_id, item_id, luck, 1
		FROM (
			SELECT user_id, random() AS luck,
				1 + floor(random() * (SELECT count(*) FROM catalogue))::bigint AS nth
			FROM sample, generate_series(1, 700)
		) AS dice
		JOIN catalogue USING (nth)
	) AS drawn
	WHERE nth <= 300
	ORDER BY user_id, item_id, luck
) AS chosen
GROUP BY user_id;
VACUUM (ANALYZE) candidates;
SELECT round(extract(epoch FROM clock_timestamp() - :'start')::numeric, 1) AS seconds \gset
\echo '  ' :seconds s

--
-- Filter them, one statement per user as in a feed: by the filter, and by the exposures in the two
-- ways that are best.  The answers are counted.
--
CREATE FUNCTION by_filter(who :type, candidates :type[]) RETURNS bigint LANGUAGE plpgsql AS
	'BEGIN RETURN cardinality(seen.unseen(who, candidates)); END';
CREATE FUNCTION by_not_exists(who :type, candidates :type[]) RETURNS bigint LANGUAGE plpgsql AS
	'BEGIN RETURN (SELECT count(*) FROM unnest(candidates) AS u (item_id)
		WHERE NOT EXISTS (SELECT FROM exposures AS e WHERE e.user_id = who AND e.item_id = u.item_id)); END';
CREATE FUNCTION by_not_in(who :type, candidates :type[]) RETURNS bigint LANGUAGE plpgsql AS
	'BEGIN RETURN (SELECT count(*) FROM unnest(candidates) AS u (item_id)
		WHERE item_id NOT IN (SELECT e.item_id FROM exposures AS e WHERE e.user_id = who)); END';

-- In turn, and the best of three.
\echo filtering them by seen.unseen(), by NOT EXISTS and by a hashed NOT IN
CREATE TABLE runs (way text, seconds float8, kept bigint);
DO $$
DECLARE
	way text;
	start timestamptz;
	kept bigint;
BEGIN
	FOR i IN 1..3 LOOP
		FOREACH way IN ARRAY '{by_filter,by_not_exists,by_not_in}'::text[] LOOP
			start := clock_timestamp();
			EXECUTE format('SELECT sum(%I(user_id, items)) FROM candidates', way) INTO kept;
			INSERT INTO runs VALUES (way, extract(epoch FROM clock_timestamp() - start), kept);
		END LOOP;
	END LOOP;
END
$$;
SELECT min(seconds) FILTER (WHERE way = 'by_filter') AS filter_s, min(kept) FILTER (WHERE way = 'by_filter') AS filter_kept,
	min(seconds) FILTER (WHERE way = 'by_not_exists') AS exists_s, min(seconds) FILTER (WHERE way = 'by_not_in') AS in_s,
	min(kept) FILTER (WHERE way <> 'by_filter') AS kept, count(DISTINCT kept) FILTER (WHERE way <> 'by_filter') > 1 AS differ
FROM runs \gset
SELECT format('%s, %s and %s ms', round(:filter_s * 1000), round(:exists_s * 1000), round(:in_s * 1000)) AS ms \gset
\echo '  ' :ms

--
-- Judge every candidate by the exposures themselves.
--
\echo checking every candidate against the exposures
SELECT clock_timestamp() AS start \gset
CREATE TABLE verdicts AS
SELECT c.user_id, v.*
FROM candidates AS c,
	LATERAL (
		SELECT count(*) FILTER (WHERE own.item_id IS NOT NULL) AS exposed,
			count(*) FILTER (WHERE own.item_id IS NOT NULL AND left_over.item_id IS NOT NULL) AS let_through,
			count(*) FILTER (WHERE own.item_id IS NULL) AS fresh,
			count(*) FILTER (WHERE own.item_id IS NULL AND left_over.item_id IS NULL) AS dropped
		FROM unnest(c.items) AS every (item_id)
		LEFT JOIN unnest(seen.unseen(c.user_id, c.items)) AS left_over (item_id) USING (item_id)
		LEFT JOIN (
			SELECT DISTINCT item_id FROM exposures AS e WHERE e.user_id = c.user_id
		) AS own USING (item_id)
	) AS v;
CREATE TABLE history AS
SELECT user_id, (SELECT count(DISTINCT item_id) FROM exposures AS e WHERE e.user_id = f.user_id) AS n
FROM seen.filters AS f;
SELECT round(extract(epoch FROM clock_timestamp() - :'start')::numeric, 1) AS seconds \gset
\echo '  ' :seconds s

-- The candidates of one user share a filter and its luck, so the error is taken
-- over users.
SELECT sum(exposed) AS exposed, sum(let_through) AS let_through, sum(fresh) AS fresh,
	sum(exposed) + sum(fresh) AS candidates, coalesce(sum(dropped) / nullif(sum(fresh), 0), 0) AS fpr
FROM verdicts \gset
SELECT coalesce(1.96 * sqrt(sum((dropped - :fpr * fresh) ^ 2)) / nullif(:fresh, 0), 0) AS error FROM verdicts \gset
SELECT count(*) AS users, sum(n) AS items, percentile_disc(0.5) WITHIN GROUP (ORDER BY n) AS median,
	max(n) AS most, avg(-n * ln(:p::float8) / ln(2) ^ 2 / 8) AS optimum
FROM history \gset
SELECT avg(pg_column_size(items)) AS filter, pg_total_relation_size('seen.filters') / :users AS filter_disk,
	pg_total_relation_size('exposures') / :users AS table_disk
FROM seen.filters \gset

--
-- Two pages for each user: taken and recorded in one statement.  What comes again is counted.
--
\echo taking two pages for each user
ALTER TABLE exposures ALTER shown_at SET DEFAULT now();
CREATE TABLE pages (user_id :type, item_id :type);
CREATE FUNCTION take_page(who :type, candidates :type[]) RETURNS void LANGUAGE plpgsql AS
	'BEGIN
		WITH page AS (
			INSERT INTO exposures (user_id, item_id) SELECT who, unnest(seen.take(who, candidates, 10)) RETURNING user_id, item_id)
		INSERT INTO pages SELECT * FROM page;
	END';
SELECT clock_timestamp() AS start \gset
SELECT count(take_page(user_id, items)) FROM candidates, generate_series(1, 2) AS nth \g /dev/null
SELECT extract(epoch FROM clock_timestamp() - :'start') AS pages_s, 2 * count(*) AS pages FROM candidates \gset
SELECT count(*) AS taken, count(*) - count(DISTINCT (user_id, item_id)) AS again FROM pages \gset
SELECT round(:pages_s::numeric, 1) AS seconds \gset
\echo '  ' :seconds s

\echo
\pset footer off
SELECT what AS " ", bloomexp, "for comparison"
FROM (VALUES
	(1, 'users',
		to_char(:users, 'FM999,999,999'),
		format('they saw %s items: the median %s, at most %s', to_char(:items, 'FM999,999,999'),
			to_char(:median, 'FM999,999,999'), to_char(:most, 'FM999,999,999'))),
	(2, 'all filters built in',
		round(:build_s, 1) || ' s',
		format('count(*) GROUP BY user: %s s', round(:count_s, 1))),
	(3, 'a filter on average',
		to_char(:filter, 'FM999,999,999') || ' bytes',
		format('-n ln p / (ln 2)^2 bits: %s bytes', to_char(:optimum, 'FM999,999,999'))),
	(4, 'a user on disk, with index',
		to_char(:filter_disk, 'FM999,999,999') || ' bytes',
		format('table of exposures: %s bytes (%s times)',
			to_char(:table_disk, 'FM999,999,999'),
			round(:table_disk / :filter_disk::numeric, CASE WHEN :table_disk < 10 * :filter_disk THEN 1 ELSE 0 END))),
	(5, 'candidates filtered',
		round((:candidates / :filter_s / 1e6)::numeric, 1) || ' million/s',
		format('NOT EXISTS: %s, hashed NOT IN: %s (%s and %s times)',
			round((:candidates / :exists_s / 1e6)::numeric, 1), round((:candidates / :in_s / 1e6)::numeric, 1),
			round((:exists_s / :filter_s)::numeric, 1), round((:in_s / :filter_s)::numeric, 1))),
	(6, 'candidates that remain',
		to_char(:filter_kept, 'FM999,999,990'),
		format('NOT EXISTS: %s of %s', to_char(:kept, 'FM999,999,990'), to_char(:candidates, 'FM999,999,990'))),
	(7, 'exposed items let through',
		to_char(:let_through, 'FM999,999,990'),
		format('of %s exposed candidates', to_char(:exposed, 'FM999,999,990'))),
	(8, 'false positives',
		format('%s%% ± %s', round(:fpr * 100, 3), round((:error * 100)::numeric, 3)),
		format('of %s unexposed candidates; target rate: %s%%', to_char(:fresh, 'FM999,999,990'), :p * 100)),
	(9, 'a page of ten',
		round((:pages_s * 1000 / :pages)::numeric, 2) || ' ms',
		format('taken and recorded in one statement; %s of %s items came again', :again, to_char(:taken, 'FM999,999,990')))
) AS report (line, what, bloomexp, "for comparison")
ORDER BY line;

SELECT :let_through + :again > 0 OR :kept - :filter_kept <> sum(dropped) OR :'differ' AS wrong FROM verdicts \gset
\if :wrong
\set SHOW_CONTEXT never
DO $$BEGIN RAISE EXCEPTION 'an answer is wrong'; END$$;
\endif
