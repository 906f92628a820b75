--
-- What filters take on disk, and what a night that writes all of them costs in write-ahead log, for
-- doc/storage.md: bytes per user, by the items of the filter and how it is stored.
-- bench/operations/run starts a server for it.
--
CREATE TABLE disk (
	storage text, items int, bytes int, heap numeric, toast numeric, index numeric, total numeric,
	written numeric, dead numeric, vacuumed numeric);

-- A mix of users as in doc/benchmarks.md: the median 300 items, one in a hundred 5,000, at most 10,000.
CREATE TABLE mix AS
SELECT u, least(10000, ceil(300 * exp(1.2 * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()))))::bigint AS items
FROM generate_series(1, 50 * :users) AS u, setseed(0.5);

-- Sizes are those of filters as the rebuild makes them.  50 items stand for all of them: bits that change reach from
-- about the first to about the last, and an update logs all between.  Items NULL: the mix.
CREATE FUNCTION disk_cell(storage text, options text, items int, users int) RETURNS SETOF text LANGUAGE sql AS $$
	VALUES ('DROP TABLE IF EXISTS seen, marks'),
		(format('CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom) WITH (%s)', options)),
		(format('INSERT INTO seen SELECT u, bloom_add(bloom_new(ceil(1.2 * %s)::bigint), ARRAY(SELECT 1000 * u + n FROM generate_series(1, 50) AS n)) FROM mix', COALESCE(items::text, 'items'))),
		('VACUUM seen'),
		('CREATE TABLE marks AS SELECT 0 AS nth, * FROM sizes'),
		-- the night: every filter is another one afterwards
		(format('UPDATE seen SET items = bloom_add(bloom_new(ceil(1.2 * %s)::bigint), ARRAY(SELECT -1000 * u - n FROM generate_series(1, 50) AS n)) FROM mix WHERE u = user_id', COALESCE(items::text, 'mix.items'))),
		('INSERT INTO marks SELECT 1, * FROM sizes'),
		('VACUUM seen'),
		('INSERT INTO marks SELECT 2, * FROM sizes'),
		(format($q$INSERT INTO disk SELECT %L, %L::int, (SELECT avg((bloom_info(s.items)).bytes) FROM seen AS s),
			b.heap / n, b.toast / n, b.index / n, (b.heap + b.toast + b.index) / n,
			(a.lsn - b.lsn) / n, (a.heap + a.toast + a.index) / n, (v.heap + v.toast + v.index) / n
			FROM (VALUES (%s::numeric)) AS users (n), marks AS b, marks AS a, marks AS v WHERE b.nth = 0 AND a.nth = 1 AND v.nth = 2$q$,
			storage, items, users))
$$;

CREATE FUNCTION sizes_of(regclass) RETURNS TABLE (lsn pg_lsn, heap bigint, toast bigint, index bigint) LANGUAGE sql VOLATILE AS $$
	SELECT pg_current_wal_insert_lsn(), pg_relation_size($1), pg_total_relation_size(reltoastrelid), pg_indexes_size($1)
	FROM pg_class WHERE oid = $1
$$;
CREATE VIEW sizes AS SELECT * FROM sizes_of(to_regclass('seen'));

\o /dev/null
SELECT statement
FROM (TABLE cells UNION ALL VALUES
		(NULL::int, 'fillfactor, toast_tuple_target', 'fillfactor = 50, toast_tuple_target = 8160'),
		(NULL, 'fillfactor', 'fillfactor = 50'),
		(NULL, 'nothing set', 'fillfactor = 100')) AS c,
	disk_cell(storage, options, items, 50 * :users) AS statement
\gexec
\o

SELECT COALESCE(items::text, 'a mix') AS items, bytes, storage, round(heap) AS "table", round(toast) AS "TOAST", round(index) AS index, round(total) AS total,
	round(written) AS "WAL of a night", round(dead) AS "after it", round(vacuumed) AS "after VACUUM"
FROM disk ORDER BY disk.items, storage;

DROP TABLE seen, marks;
