--
-- What filters take on disk and in write-ahead log (WAL), in bytes, by the items of the filter and
-- how it is stored. Variable: users, of a cell; a row of the table on disk has 50 times as many.
--
\set QUIET
SET client_min_messages = warning;

CREATE TABLE cells (items int, storage text, options text);
INSERT INTO cells VALUES
	(300, 'HOT, in its row', 'fillfactor = 50'),
	(600, 'HOT, in its row', 'fillfactor = 50'),
	(1000, 'HOT, in its row', 'fillfactor = 50'),
	(2500, 'HOT, in its row: toast_tuple_target', 'fillfactor = 50, toast_tuple_target = 8160'),
	(2500, 'out of line', 'fillfactor = 50'),
	(5000, 'in its row: toast_tuple_target', 'toast_tuple_target = 8160'),
	(5000, 'out of line', 'fillfactor = 50');

--
-- WAL of an add: bytes per statement.
--
-- Each cell begins with filters that were just built, and a checkpoint.  The first change of a page
-- after a checkpoint logs the page as well.  So one user in 40 comes first, each on pages of its
-- own (first).  Then come all users, and then all once more, whose pages are logged by now (warm).
--
CREATE TABLE figures (
	storage text, items int, bytes int, added int, first_bytes numeric, warm_bytes numeric,
	first_images numeric,
	warm_images numeric, hot numeric, vacuum_bytes numeric);

-- One statement and transaction a user.
CREATE PROCEDURE add_to_all(users int, step int, added int, pass int) LANGUAGE plpgsql AS $$
BEGIN
	FOR u IN 1 .. users BY step LOOP
		UPDATE seen SET items = bloom_add(items, ARRAY(
			SELECT hashint8extended(u, pass * 1000 + n) FROM generate_series(1, added) AS n))
				WHERE user_id = u;
		COMMIT;
	END LOOP;
END
$$;

-- The log so far: its end, and full page images in it.
CREATE VIEW log AS SELECT pg_current_wal_insert_lsn() AS lsn, wal_fpi AS images FROM pg_stat_wal;

-- Statements that measure one cell, to be executed by \gexec one by one: a checkpoint and a vacuum
-- cannot be in a function, and statistics are only sent between transactions.
CREATE FUNCTION wal_cell(storage text, options text, items int, added int,
	users int) RETURNS SETOF text LANGUAGE sql AS $$
	VALUES ('DROP TABLE IF EXISTS seen, marks'),
		(format('CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom) WITH (%s)', options)),
		('CREATE TABLE marks (name text, lsn pg_lsn, images bigint)'),
		(format('INSERT INTO seen SELECT u, bloom_agg(u * 1000000 + n, 0.01, 0.2)
			FROM generate_series(1, %s) AS u, generate_series(1, %s) AS n GROUP BY u
				ORDER BY u', users, items)),
		('VACUUM ANALYZE seen'),
		('CHECKPOINT'),
		('SELECT pg_stat_force_next_flush()'),
		($q$INSERT INTO marks SELECT 'begin', * FROM log$q$),
		(format('CALL add_to_all(%s, 40, %s, 0)', users, added)),
		('SELECT pg_stat_force_next_flush()'),
		($q$INSERT INTO marks SELECT 'first', * FROM log$q$),
		(format('CALL add_to_all(%s, 1, %s, 1)', users, added)),
		('SELECT pg_stat_force_next_flush()'),
		($q$INSERT INTO marks SELECT 'touched', * FROM log$q$),
		(format('CALL add_to_all(%s, 1, %s, 2)', users, added)),
		('SELECT pg_stat_force_next_flush()'),
		($q$INSERT INTO marks SELECT 'warm', * FROM log$q$),
		('VACUUM seen'),
		('SELECT pg_stat_force_next_flush()'),
		($q$INSERT INTO marks SELECT 'vacuum', * FROM log$q$),
		(format($q$DO $do$ BEGIN
			IF EXISTS (SELECT FROM seen, generate_series(1, %s) AS n
				WHERE NOT items @> hashint8extended(user_id, 2000 + n)) THEN
				RAISE EXCEPTION 'WRONG: an item is missing in its filter';
			END IF;
		END $do$ $q$, added)),
		(format($q$INSERT INTO figures
			SELECT %L, %s, (bloom_sizing(ceil(1.2 * %2$s)::bigint, 0.01)).bytes, %s,
				(f.lsn - b.lsn) / (n / 40), (w.lsn - t.lsn) / n,
				(f.images - b.images) / (n / 40), (w.images - t.images) / n,
				s.n_tup_hot_upd::numeric / s.n_tup_upd, (v.lsn - w.lsn) / s.n_tup_upd
			FROM (VALUES (%s::numeric)) AS users (n), pg_stat_user_tables AS s, marks AS b,
			marks AS f, marks AS t, marks AS w, marks AS v
			WHERE s.relname = 'seen' AND b.name = 'begin' AND f.name = 'first'
			AND t.name = 'touched' AND w.name = 'warm'
				AND v.name = 'vacuum'$q$,
			storage, items, added, users))
$$;

\if :adds
SELECT statement
FROM cells,
	unnest('{1,5,20,100}'::int[]) AS added,
	wal_cell(storage, options, items, added, :users) AS statement
\gexec
\endif



--
-- Disk: the table of filters, and a night that writes all of them.
--
CREATE TABLE disk (
	storage text, items int, bytes int, heap numeric, toast numeric, index numeric, total numeric,
	written numeric, dead numeric, vacuumed numeric);

-- A mix of users as in doc/benchmarks.md: the median 300 items, one in a hundred 5,000, at most
-- 10,000.
CREATE TABLE mix AS
SELECT u, least(10000,
	ceil(300 * exp(1.2 * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()))))::bigint AS items
FROM generate_series(1, 50 * :users) AS u, setseed(0.5);

-- Filters have the sizes that a rebuild would make.  50 items stand for all items of a filter: the
-- bits that they change reach from about the first to about the last, and an update logs everything
-- in between.  NULL items stand for the mix.
CREATE FUNCTION disk_cell(storage text, options text, items int, users int) RETURNS SETOF text
	LANGUAGE sql AS $$
	VALUES ('DROP TABLE IF EXISTS seen, marks'),
		(format('CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom) WITH (%s)', options)),
		(format('INSERT INTO seen SELECT u,
			bloom_add(bloom_new(ceil(1.2 * %s)::bigint),
			ARRAY(SELECT 1000 * u + n FROM generate_series(1, 50) AS n))
			FROM mix', COALESCE(items::text, 'items'))),
		('VACUUM seen'),
		('CREATE TABLE marks AS SELECT 0 AS nth, * FROM sizes'),
		-- the night: every filter is another one afterwards
		(format('UPDATE seen SET items = bloom_add(bloom_new(ceil(1.2 * %s)::bigint),
			ARRAY(SELECT -1000 * u - n FROM generate_series(1, 50) AS n)) FROM mix
			WHERE u = user_id', COALESCE(items::text, 'mix.items'))),
		('INSERT INTO marks SELECT 1, * FROM sizes'),
		('VACUUM seen'),
		('INSERT INTO marks SELECT 2, * FROM sizes'),
		(format($q$INSERT INTO disk SELECT %L, %L::int, (SELECT avg((bloom_info(s.items)).bytes)
			FROM seen AS s),
			b.heap / n, b.toast / n, b.index / n, (b.heap + b.toast + b.index) / n,
			(a.lsn - b.lsn) / n, (a.heap + a.toast + a.index) / n, (v.heap + v.toast + v.index) / n
			FROM (VALUES (%s::numeric)) AS users (n), marks AS b, marks AS a, marks AS v
			WHERE b.nth = 0 AND a.nth = 1 AND v.nth = 2$q$,
			storage, items, users))
$$;

CREATE FUNCTION sizes_of(regclass) RETURNS TABLE (lsn pg_lsn, heap bigint, toast bigint,
	index bigint) LANGUAGE sql VOLATILE AS $$
	SELECT pg_current_wal_insert_lsn(), pg_relation_size($1), pg_total_relation_size(reltoastrelid),
		pg_indexes_size($1)
	FROM pg_class WHERE oid = $1
$$;
CREATE VIEW sizes AS SELECT * FROM sizes_of(to_regclass('seen'));

\if :disk
SELECT statement
FROM (TABLE cells UNION ALL VALUES
		(NULL::int, 'fillfactor, toast_tuple_target', 'fillfactor = 50, toast_tuple_target = 8160'),
		(NULL, 'fillfactor', 'fillfactor = 50'),
		(NULL, 'nothing set', 'fillfactor = 100')) AS c,
	disk_cell(storage, options, items, 50 * :users) AS statement
\gexec
\endif
