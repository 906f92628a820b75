--
-- The replay: night by night four tables of filters are brought up to date, and
-- every night all of them are judged by the exposures themselves.  Variables: p,
-- the false positive rate to promise; data, the name of a CSV file on standard
-- input, or not set; users, how many to make without one.
--
SET client_min_messages = warning;
SELECT bloom_new(1, :'p') \g /dev/null
SELECT setseed(0.5) \g /dev/null

--
-- Exposures, from 75 days before the first night that is reported: by then every
-- window has lost its first slices, which did not know yet how much was to come, and
-- the slices that were sized after these.
--
\if :{?data}
CREATE TABLE exposures (user_id text, item_id text, shown_at timestamptz);
\copy exposures FROM pstdin WITH (FORMAT csv, HEADER match)
SELECT date_trunc('year', shown_at) AS year FROM exposures GROUP BY year ORDER BY count(*) DESC,
	year LIMIT 1 \gset
SELECT :'year'::timestamptz + interval '1 day' AS first,
	:'year'::timestamptz + interval '1 year' AS last \gset
DELETE FROM exposures WHERE shown_at < :'first'::timestamptz - interval '76 days'
OR shown_at >= :'last';
CREATE FUNCTION never_shown(n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT 'never shown/' || n $$;
\else
-- What users see in 30 days is Zipf-like: the median 300 items, one in a hundred
-- 5,000, the busiest 10,000; every day a thirtieth, in pages of 10.  Each walks
-- through the catalogue with a stride of their own: 1,999,993 is a prime, so
-- nothing comes twice.  Ids are like snowflakes.
CREATE TABLE exposures AS
SELECT rank * 2654435761 & 4294967295 AS user_id,
	((410000000000 + item * 5171) << 22) | (item * 2654435761 & 4194303) AS item_id,
	'2025-06-01'::timestamptz + day * interval '1 day' + (nth - before - 1) / 10
	* interval '40 minutes'
		+ rank % 2400 * interval '1 second' AS shown_at
FROM generate_series(1, :users) AS rank,
	LATERAL (SELECT least(10000,
		300 * (10155 / (155 + (rank - 0.5::float8) * 20000 / :users)) ^ 0.84)::bigint) AS z (seen),
	generate_series(0, 104) AS day,
	LATERAL (SELECT seen * day / 30) AS b (before),
	generate_series(before + 1, seen * (day + 1) / 30) AS nth,
	LATERAL (SELECT (rank * 7907 + nth * (rank * 48271 % 1999992 + 1)) % 1999993) AS walk (item)
ORDER BY shown_at;
SELECT '2025-08-16'::timestamptz AS first, '2025-09-14'::timestamptz AS last \gset
CREATE FUNCTION never_shown(n bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT -n $$;
\endif
CREATE INDEX ON exposures (shown_at);
CREATE INDEX ON exposures (user_id, item_id, shown_at);
VACUUM (ANALYZE) exposures;

--
-- The ways.  A statement takes the night, $1, and the rate, $2; it reads the
-- exposures of so many days.  Some must be done every few nights only.
--
CREATE TABLE ways (nth serial, way text PRIMARY KEY, days integer, statement text,
	every_days integer, sweep text);
INSERT INTO ways (way, days, statement, every_days, sweep) VALUES
('rebuilt', 30, $$
	WITH fresh AS MATERIALIZED (
		SELECT user_id, bloom_agg(item_id, $2) AS items FROM exposures
		WHERE shown_at >= $1 - interval '30 days' AND shown_at < $1 GROUP BY user_id
	), gone AS (
		DELETE FROM rebuilt AS f
		WHERE NOT EXISTS (SELECT FROM fresh WHERE fresh.user_id = f.user_id)
	)
	INSERT INTO rebuilt AS f SELECT user_id, items FROM fresh
	ON CONFLICT (user_id) DO UPDATE SET items = excluded.items WHERE f.items <> excluded.items
$$, NULL, NULL),
-- Page by page, with the times of the pages.
('no table', 1, $$
	SELECT count(seen.add_batch(array_fill(user_id, ARRAY[cardinality(items)]), items,
		array_fill(shown_at, ARRAY[cardinality(items)]))) FROM (
		SELECT user_id, shown_at, array_agg(item_id) AS items FROM exposures
		WHERE shown_at >= $1 - interval '1 day' AND shown_at < $1 GROUP BY user_id, shown_at
			ORDER BY shown_at OFFSET 0) AS pages
$$, 5, $$ DELETE FROM seen.filters WHERE since <= $1 - interval '35 days' $$),
-- Counts are of user, item and day.  Where there is no room, the filter is made
-- anew with room for half as much again.
('counting', 2, $$
	WITH changed AS (
		SELECT user_id, array_agg(DISTINCT item_id) FILTER (WHERE shown_at >= $1
			- interval '1 day') AS came,
			array_agg(DISTINCT item_id) FILTER (WHERE shown_at < $1 - interval '30 days') AS went
		FROM exposures
		WHERE shown_at >= $1 - interval '1 day' AND shown_at < $1
			OR shown_at >= $1 - interval '31 days' AND shown_at < $1 - interval '30 days'
		GROUP BY user_id
	)
	INSERT INTO counting
	SELECT user_id, CASE
		WHEN i.items + coalesce(cardinality(came), 0) <= i.capacity
		THEN bloom_add(bloom_remove(f.items, went), came)
		ELSE (
			SELECT bloom_add(bloom_new(count(DISTINCT item_id) * 3 / 2 + 1, $2, counting => true),
				array_agg(item_id))
			FROM (
				SELECT DISTINCT item_id, shown_at::date FROM exposures AS e
				WHERE e.user_id = changed.user_id AND shown_at >= $1 - interval '30 days'
				AND shown_at < $1
			) AS days
		) END
	FROM changed LEFT JOIN counting AS f USING (user_id)
	LEFT JOIN LATERAL bloom_info(f.items) AS i ON true
	ON CONFLICT (user_id) DO UPDATE SET items = excluded.items
$$, 5, $$ DELETE FROM counting WHERE (bloom_info(items)).bits_set = 0 $$),
('live', 30, $$
	WITH fresh AS MATERIALIZED (
		SELECT user_id, bloom_agg(item_id, $2, 0.2) AS items FROM exposures
		WHERE shown_at >= $1 - interval '30 days' AND shown_at < $1 GROUP BY user_id
	), gone AS (
		DELETE FROM live AS f WHERE NOT EXISTS (SELECT FROM fresh WHERE fresh.user_id = f.user_id)
	)
	INSERT INTO live AS f SELECT user_id, items FROM fresh
	ON CONFLICT (user_id) DO UPDATE SET items = excluded.items WHERE f.items <> excluded.items
$$, NULL, NULL);

SELECT format('CREATE TABLE %I (user_id %s PRIMARY KEY,
	items bloom) WITH (toast_tuple_target = 8160, fillfactor = 50)',
	way, format_type(atttypid, NULL))
FROM ways, pg_attribute WHERE attrelid = 'exposures'::regclass AND attname = 'user_id'
AND way <> 'no table' \gexec
SELECT bloomexp.create_feed('seen', fpr => :'p', user_type => u.atttypid::regtype,
	item_type => i.atttypid::regtype)
FROM pg_attribute AS u, pg_attribute AS i WHERE u.attrelid = 'exposures'::regclass
AND u.attname = 'user_id' AND i.attrelid = u.attrelid AND i.attname = 'item_id' \g /dev/null
-- Let its functions take times of any age.
DO $$ BEGIN
	EXECUTE replace(pg_get_functiondef('seen.add'::regproc),
		'clock_timestamp() - interval ''720:00:00''', '''-infinity''');
	EXECUTE replace(pg_get_functiondef('seen.add_batch'::regproc),
		'present timestamp with time zone := clock_timestamp()',
		'present timestamp with time zone := (SELECT max(t) FROM unnest(shown_at) AS t)');
END $$;
-- as a page of the night reads them
CREATE VIEW "no table" AS
SELECT user_id, bloom_expire(
	bloomexp.fold(items, recent, ROW('30 days', 6,
		(bloom_info(bloom_add(NULL, never_shown(0)))).kind, current_setting('choosing.p')::float8,
		NULL)::bloomexp.row_settings, since),
	current_setting('choosing.night')::timestamptz) AS items
FROM seen.filters;

-- What each way costs and is, night by night; the last columns only of the nights
-- that are reported.
CREATE TABLE nights (
	night timestamptz, way text,
	rows bigint, seconds float8, wal numeric,
	users bigint, optimum float8, bytes bigint, let_through bigint,
	measured float8, expected float8, highest float8,
	PRIMARY KEY (night, way)
);
CREATE TABLE pages (night timestamptz PRIMARY KEY, pages bigint, seconds float8, wal numeric);
CREATE TABLE own AS SELECT user_id, array_agg(item_id) AS items FROM exposures
	GROUP BY user_id WITH NO DATA;

-- What a table of filters is on a night.  The probes were never shown to anybody.
CREATE PROCEDURE judge(night timestamptz, of_way text, probed boolean) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format($f$
		UPDATE nights AS n SET (users, optimum, bytes, let_through, measured, expected, highest) = (
			SELECT count(own.items), sum(-cardinality(own.items) * ln($3) / ln(2) ^ 2 / 8),
				sum(pg_column_size(f.items)),
				sum(cardinality(own.items - f.items)),
				avg(1 - cardinality(probes - f.items) / 200.0::float8) FILTER (WHERE $4
					AND own.items IS NOT NULL),
				avg(bloom_fpr(f.items)) FILTER (WHERE $4 AND own.items IS NOT NULL),
				max(bloom_fpr(f.items)) FILTER (WHERE $4)
			FROM own FULL JOIN %1$I AS f USING (user_id),
				(SELECT array_agg(never_shown(extract(julian FROM $1)::bigint * 1000 + i)) AS probes
					FROM generate_series(1, 200) AS i) AS p
		)
		WHERE n.night = $1 AND n.way = $2
	$f$, of_way) USING night, of_way, current_setting('choosing.p')::float8, probed;
	IF of_way = 'no table' THEN
		UPDATE nights AS n SET bytes = (
			SELECT sum(coalesce(pg_column_size(f.items), 0) + pg_column_size(f.recent))
			FROM seen.filters AS f)
		WHERE n.night = judge.night AND way = of_way;
	END IF;
	IF (SELECT n.let_through FROM nights AS n WHERE n.night = judge.night AND way = of_way) > 0 THEN
		RAISE EXCEPTION 'night %: the filters of way "%" let exposures inside the window through',
		night, of_way;
	END IF;
END
$$;

CREATE PROCEDURE night(night timestamptz, reported boolean) LANGUAGE plpgsql AS $$
DECLARE
	p float8 := current_setting('choosing.p');
	way ways;
	page record;
	pages bigint := 0;
	start timestamptz := clock_timestamp();
	lsn pg_lsn := pg_current_wal_insert_lsn();
BEGIN
	PERFORM set_config('choosing.night', night::text, false);
	-- the day itself, for those who add live: what was shown together is a page
	FOR page IN
		SELECT user_id, array_agg(item_id) AS items FROM exposures
		WHERE shown_at >= night - interval '1 day' AND shown_at < night GROUP BY user_id, shown_at
		ORDER BY shown_at
	LOOP
		INSERT INTO live AS f VALUES (page.user_id, bloom_add(bloom_new(100, p), page.items))
		ON CONFLICT (user_id) DO UPDATE SET items = bloom_add(f.items, page.items);
		COMMIT;
		pages := pages + 1;
	END LOOP;
	INSERT INTO pages VALUES (night, pages, extract(epoch FROM clock_timestamp() - start),
		pg_current_wal_insert_lsn() - lsn);

	TRUNCATE own;
	INSERT INTO own
	SELECT user_id, array_agg(item_id)
	FROM (SELECT DISTINCT user_id, item_id FROM exposures
		WHERE shown_at >= night - interval '30 days' AND shown_at < night) AS o
	GROUP BY user_id;
	INSERT INTO nights (night, way) VALUES (night, 'live, at its fullest');
	EXECUTE 'CREATE VIEW "live, at its fullest" AS TABLE live';
	CALL judge(night, 'live, at its fullest', reported);
	EXECUTE 'DROP VIEW "live, at its fullest"';

	FOR way IN SELECT * FROM ways ORDER BY nth LOOP
		COMMIT;
		start := clock_timestamp();
		lsn := pg_current_wal_insert_lsn();
		EXECUTE way.statement USING night, p;
		IF extract(julian FROM night)::integer % way.every_days = 0 THEN
			EXECUTE way.sweep USING night, p;
		END IF;
		COMMIT;
		INSERT INTO nights (night, way, seconds, wal)
		VALUES (night, way.way, extract(epoch FROM clock_timestamp() - start),
			pg_current_wal_insert_lsn() - lsn);
		UPDATE nights AS n SET rows = (
			SELECT count(*) FROM exposures AS e
			WHERE e.shown_at >= n.night - CASE way.days WHEN 30 THEN interval '30 days'
			ELSE interval '1 day' END
				AND e.shown_at < n.night
				OR way.days = 2 AND e.shown_at >= n.night - interval '31 days'
				AND e.shown_at < n.night - interval '30 days')
		WHERE n.night = night.night AND n.way = way.way;
		CALL judge(night, way.way, reported);
	END LOOP;
END
$$;

SET choosing.p = :p;
SELECT format('CALL night(%L, %L)', night, night >= :'first'), 'VACUUM rebuilt,
	seen.filters, counting, live'
FROM generate_series(:'first'::timestamptz - interval '75 days', :'last',
	interval '1 day') AS night \gexec
DELETE FROM nights WHERE night < :'first';
DELETE FROM pages WHERE night < :'first';
