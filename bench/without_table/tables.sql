--
-- Tables of bench/without_table: a month of exposures, in each way to keep them.  Variables: users,
-- large.
--
SET client_min_messages = warning;

CREATE TABLE exact (user_id bigint NOT NULL, item_id bigint NOT NULL,
	shown_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX ON exact (user_id, shown_at, item_id);
CREATE TABLE exact_large (LIKE exact INCLUDING DEFAULTS);
CREATE INDEX ON exact_large (user_id, shown_at, item_id);
SELECT bloomexp.create_feed('seen'), bloomexp.create_feed('large') \g /dev/null

-- A stream of pages of ten, in the order of time, cut into batches.  Each slice of the window has a
-- sixth of them, the newest one, too, whenever this runs, but for the page that is measured, which
-- writes the most.
CREATE FUNCTION item(u bigint, n bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
	$$SELECT hashint8extended(u * 100000 + n, 1) & 1099511627775$$;
CREATE TABLE batches (feed text, nth bigint, users bigint[], items bigint[], times timestamptz[]);
ALTER TABLE batches ALTER users SET STORAGE EXTERNAL, ALTER items SET STORAGE EXTERNAL,
	ALTER times SET STORAGE EXTERNAL;
CREATE FUNCTION insert_batches(feed text, users int, pages int, batch_size int) RETURNS void
	LANGUAGE sql AS $$
	INSERT INTO batches
	SELECT feed, at / batch_size, array_agg(u ORDER BY at),
		array_agg(item(u, at / 10 / users * 10 + at % 10) ORDER BY at),
		array_agg(CASE WHEN part < 5 THEN newest - (5 - part) * interval '120 hours'
			ELSE newest + (part - 5) * (now() - newest) END ORDER BY at)
	FROM (SELECT at, at / 10 % users * 7919 % users + 1 AS u, at * 0.6::float8 / (pages + 1)
		/ users AS part FROM generate_series(0, 10::bigint * pages * users - 1) AS at) AS stream,
		(SELECT max(slice_start) AS newest
			FROM bloom_layers(bloom_add_at(bloom_window('30 days', 6), 1, now()))) AS slice
	GROUP BY 2 ORDER BY 2;
$$;
CREATE TABLE stream_end AS SELECT clock_timestamp() AS at;
SELECT insert_batches('seen', :users, 30, 100000),
	insert_batches('large', :large, 1000, 10 * :large) \g /dev/null
VACUUM ANALYZE batches;

CREATE TABLE results (nth serial, part text, method text, round int, ms float8, wal float8);
CREATE FUNCTION add_batch(batch batches, method text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	start timestamptz := clock_timestamp();
	wal pg_lsn := pg_current_wal_insert_lsn();
BEGIN
	IF method = 'no table' THEN
		EXECUTE format('SELECT %I.add_batch($1, $2, $3)', CASE batch.feed WHEN 'large' THEN 'large'
			ELSE 'seen' END) USING batch.users, batch.items, batch.times;
	ELSE
		EXECUTE format('INSERT INTO %I SELECT * FROM unnest($1, $2, $3)', CASE batch.feed
			WHEN 'large' THEN 'exact_large' ELSE 'exact' END) USING batch.users,
			batch.items, batch.times;
	END IF;
	INSERT INTO results (part, method, round, ms, wal)
	VALUES ('stream of ' || batch.feed, method, batch.nth,
		1000 * extract(epoch FROM clock_timestamp() - start), (pg_current_wal_insert_lsn() - wal)
		/ cardinality(batch.items));
END
$$;
-- The methods take turns.  VACUUM comes after each batch: autovacuum has a month for it.
SELECT CASE WHEN method = 'VACUUM' THEN format('VACUUM %I.filters', feed)
	ELSE format($$SELECT add_batch(b, %L) FROM batches AS b WHERE b.feed = %L AND b.nth = %s$$,
		method, feed, nth) END
FROM batches, unnest(CASE nth % 2 WHEN 0 THEN '{exact SQL,no table,VACUUM}'
	ELSE '{no table,exact SQL,VACUUM}' END::text[]) WITH ORDINALITY AS m (method, turn)
ORDER BY batches.feed, nth, turn
\gexec
VACUUM ANALYZE exact, exact_large, seen.filters, large.filters;

-- What is stored after the month; the exposures also with an index that was just built.
CREATE TABLE disk (nth int, way text, bytes float8, large float8);
INSERT INTO disk VALUES
	(1, 'exact SQL, as it grew', pg_total_relation_size('exact') / :users,
		pg_total_relation_size('exact_large') / :large),
	(5, 'no table', pg_total_relation_size('seen.filters') / :users,
		pg_total_relation_size('large.filters') / :large);
INSERT INTO disk SELECT 6, 'no table, both columns of a row',
	(SELECT avg(coalesce(pg_column_size(items), 0) + pg_column_size(recent)) FROM seen.filters),
	(SELECT avg(pg_column_size(items) + pg_column_size(recent)) FROM large.filters);
REINDEX TABLE exact;
REINDEX TABLE exact_large;
INSERT INTO disk VALUES (2, 'exact SQL, index just built', pg_total_relation_size('exact') / :users,
	pg_total_relation_size('exact_large') / :large);

-- Feeds over a table, with triggers: with a row per item, and with a row per page.
CREATE TABLE items (LIKE exact INCLUDING DEFAULTS);
INSERT INTO items TABLE exact;
CREATE TABLE pages (user_id bigint NOT NULL, item_ids bigint[] NOT NULL,
	shown_at timestamptz NOT NULL DEFAULT now());
INSERT INTO pages SELECT user_id, array_agg(item_id), max(shown_at)
	FROM (SELECT *, (row_number() OVER () - 1) / 10 AS page FROM exact) AS e
	GROUP BY page, user_id ORDER BY page;
CREATE INDEX ON items (user_id, shown_at, item_id);
CREATE INDEX ON pages (user_id, shown_at);
SELECT bloomexp.create_feed('item_feed', 'items'),
	bloomexp.create_feed('page_feed', 'pages', item_column => 'item_ids') \g /dev/null
CALL item_feed.rebuild() \g /dev/null
CALL page_feed.rebuild() \g /dev/null
VACUUM ANALYZE items, pages, item_feed.filters, page_feed.filters;
INSERT INTO disk VALUES (3, 'feed over a table, row per item',
	(pg_total_relation_size('items') + pg_total_relation_size('item_feed.filters')) / :users, NULL),
	(4, 'feed over a table, row per page',
		(pg_total_relation_size('pages') + pg_total_relation_size('page_feed.filters')) / :users,
		NULL),
	(7, 'RedisBloom, by its formula', 300 * -ln(0.01) / ln(2) ^ 2 / 8,
		10000 * -ln(0.01) / ln(2) ^ 2 / 8);

-- 500 candidates per user, three of ten exposed.
CREATE TABLE candidates (user_id bigint PRIMARY KEY, items bigint[]);
ALTER TABLE candidates ALTER items SET STORAGE EXTERNAL;
INSERT INTO candidates
SELECT u, array_agg(item(u, CASE WHEN n % 10 < 3 THEN n / 2 ELSE 1000 + n END)
	ORDER BY n * 7919 % 500)
FROM generate_series(1, :users) AS u, generate_series(1, 500) AS n GROUP BY u;
VACUUM ANALYZE candidates;
