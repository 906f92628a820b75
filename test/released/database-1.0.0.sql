-- A small database of version 1.0.0, whose dump is dump-1.0.0.sql: the script "keep" makes it.  The
-- role "app" exists.
--
-- test/t/044_released.pl makes this database with the kept install script, updates it, and
-- restores the dump.  No answer depends on the day: times are fixed, or are those at which
-- the database was made, and windows have more than a hundred years.

CREATE EXTENSION bloomexp VERSION '1.0.0';

-- The type alone

CREATE TABLE filters (
	name text PRIMARY KEY,
	items bloom NOT NULL DEFAULT bloom_new(50),
	CHECK ((bloom_info(items)).bytes < 100000));
CREATE INDEX ON filters USING hash (items);
CREATE INDEX ON filters (bloom_fpr(items));

-- Exposed were even numbers.
INSERT INTO filters
SELECT 'integer', bloom_agg(2 * i) FROM generate_series(1, 300) AS i UNION ALL
SELECT 'layers', bloom_add(bloom_new(50, 0.001), array_agg(2 * i))
	FROM generate_series(1, 300) AS i UNION ALL
SELECT 'text', bloom_agg((2 * i)::text) FROM generate_series(1, 300) AS i UNION ALL
SELECT 'uuid', bloom_agg(md5((2 * i)::text)::uuid) FROM generate_series(1, 300) AS i UNION ALL
SELECT 'bytea', bloom_agg(int8send(2 * i)) FROM generate_series(1, 300) AS i UNION ALL
SELECT 'window', bloom_window_agg(2 * i,
	'2026-01-01 00:00+00'::timestamptz + i * interval '2 hours', '30 days', 6, 0.01)
	FROM generate_series(1, 300) AS i UNION ALL
SELECT 'counting', bloom_remove(
	bloom_add(bloom_new(300, counting => true), array_agg(2 * i)), 2)
	FROM generate_series(1, 300) AS i UNION ALL
SELECT 'empty', bloom_new();
INSERT INTO filters (name) VALUES ('default');

-- What the filters answer for numbers up to 1,000, and bloom_info() of them.
CREATE VIEW answers AS
SELECT f.name, i.*, a.contained, md5(a.remaining) AS remaining
FROM filters AS f
CROSS JOIN LATERAL bloom_info(f.items) AS i
CROSS JOIN LATERAL (
	SELECT count(*) FILTER (WHERE bloom_contains(f.items, n)),
		(array_agg(n ORDER BY n) - f.items)::text
	FROM generate_series(1::bigint, 1000) AS n WHERE coalesce(i.kind, 'integer') = 'integer'
	UNION ALL SELECT count(*) FILTER (WHERE f.items @> n::text),
		(array_agg(n::text ORDER BY n) - f.items)::text
	FROM generate_series(1, 1000) AS n WHERE i.kind = 'text'
	UNION ALL SELECT count(*) FILTER (WHERE bloom_contains(f.items, md5(n::text)::uuid)),
		(array_agg(md5(n::text)::uuid ORDER BY n) - f.items)::text
	FROM generate_series(1, 1000) AS n WHERE i.kind = 'uuid'
	UNION ALL SELECT count(*) FILTER (WHERE bloom_contains(f.items, int8send(n))),
		(array_agg(int8send(n) ORDER BY n) - f.items)::text
	FROM generate_series(1::bigint, 1000) AS n WHERE i.kind = 'bytea') AS a(contained, remaining)
WHERE a.remaining IS NOT NULL;

-- Feeds

CREATE TABLE exposures (
	user_id bigint NOT NULL,
	item_id bigint NOT NULL,
	shown_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX ON exposures (user_id, shown_at, item_id);

SELECT bloomexp.create_feed('shown', 'exposures', width => '100 years');
SELECT bloomexp.create_feed('untracked', 'exposures', width => '100 years', trigger => false);
SELECT bloomexp.create_feed('seen', item_type => 'text', width => '40000 days', slices => 2);
SELECT bloomexp.create_feed('forever', user_type => 'text', width => NULL, fpr => 0.001);

GRANT SELECT, INSERT ON exposures TO app;
GRANT USAGE ON SCHEMA shown, untracked, seen, forever TO app;
GRANT EXECUTE ON FUNCTION shown.take, shown.unseen, shown.contains TO app;
GRANT EXECUTE ON ROUTINE shown.rebuild, shown.rebuild_batch TO app;
GRANT EXECUTE ON FUNCTION untracked.take, untracked.unseen TO app;
GRANT EXECUTE ON ROUTINE untracked.rebuild, untracked.rebuild_batch TO app;
GRANT EXECUTE ON FUNCTION seen.take, seen.unseen, seen.add, seen.add_batch, seen.forget TO app;
GRANT EXECUTE ON FUNCTION forever.take, forever.unseen, forever.add, forever.forget TO app;

-- Users 1 and 2 have a filter, and items that came after the rebuild; user 3 has only such items.
INSERT INTO exposures
SELECT 1, 2 * i, '2026-01-01 00:00+00'::timestamptz FROM generate_series(1, 300) AS i UNION ALL
SELECT 2, 2 * i, '2026-01-01 00:00+00' FROM generate_series(1, 10) AS i;
CALL shown.rebuild();
CALL untracked.rebuild();
INSERT INTO exposures SELECT u, 802 FROM generate_series(1, 3) AS u;

-- User 1 has a filter; user 2 has a page that was taken and confirmed, and one that was only taken.
SELECT seen.add_batch(array_agg(1), array_agg((2 * i)::text), array_agg(clock_timestamp()))
FROM generate_series(1, 300) AS i;
SELECT seen.take(2, '{2,4,6}', 2), seen.add(2, '{2,4}');
SELECT seen.take(2, '{4,6,8}');
SELECT forever.add('one', array_agg(2 * i)) FROM generate_series(1::bigint, 300) AS i;
SELECT forever.add('two', '{2,4}');
SELECT forever.take('two', '{4,6,8}');

-- What the feeds answer for numbers up to 1,000.
CREATE VIEW feed_answers AS
SELECT u AS user_id, md5(shown.unseen(u, c.n)::text) AS shown,
	md5(untracked.unseen(u, c.n)::text) AS untracked,
	md5(seen.unseen(u, c.n::text[])::text) AS seen,
	md5(forever.unseen((ARRAY['one', 'two', 'three'])[u], c.n)::text) AS forever
FROM generate_series(1, 3) AS u,
	(SELECT array_agg(n) FROM generate_series(1::bigint, 1000) AS n) AS c(n);

-- A job of the type alone
CREATE PROCEDURE refresh_filters()
LANGUAGE sql BEGIN ATOMIC
	INSERT INTO filters
	SELECT 'user ' || user_id, bloom_agg(item_id, 0.01, 0.2) FROM exposures
	WHERE item_id <= 802 GROUP BY user_id
	ON CONFLICT (name) DO UPDATE SET items = excluded.items
	WHERE filters.items <> excluded.items;
END;
CALL refresh_filters();

-- What this version answers, and later ones must answer
CREATE TABLE kept_answers AS TABLE answers;
CREATE TABLE kept_feed_answers AS TABLE feed_answers;
