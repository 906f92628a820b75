--
-- What an add costs in write-ahead log, for doc/storage.md: bytes a statement, by the items of the filter, the
-- items added in a statement and how the filter is stored.  bench/operations/run starts a server for it.
--
-- Each cell begins with filters as the nightly rebuild leaves them, and a checkpoint.  The first change of a page
-- after a checkpoint logs the page as well.  So one user in 40 comes first, each on pages of its own (first).
-- Then come all users, and then all once more, whose pages are logged by now (warm).
--
CREATE TABLE figures (
	storage text, items int, bytes int, added int, first_bytes numeric, warm_bytes numeric, first_images numeric,
	warm_images numeric, hot numeric, vacuum_bytes numeric);

-- One statement and transaction a user.
CREATE PROCEDURE add_to_all(users int, step int, added int, pass int) LANGUAGE plpgsql AS $$
BEGIN
	FOR u IN 1 .. users BY step LOOP
		UPDATE seen SET items = bloom_add(items, ARRAY(
			SELECT hashint8extended(u, pass * 1000 + n) FROM generate_series(1, added) AS n)) WHERE user_id = u;
		COMMIT;
	END LOOP;
END
$$;

-- The log so far: its end, and full page images in it.
CREATE VIEW log AS SELECT pg_current_wal_insert_lsn() AS lsn, wal_fpi AS images FROM pg_stat_wal;

-- Statements that measure one cell, to be executed by \gexec one by one: a checkpoint and a vacuum can't be in a
-- function, and statistics are only sent between transactions.
CREATE FUNCTION wal_cell(storage text, options text, items int, added int, users int) RETURNS SETOF text LANGUAGE sql AS $$
	VALUES ('DROP TABLE IF EXISTS seen, marks'),
		(format('CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom) WITH (%s)', options)),
		('CREATE TABLE marks (name text, lsn pg_lsn, images bigint)'),
		(format('INSERT INTO seen SELECT u, bloom_agg(u * 1000000 + n, 0.01, 0.2)
			FROM generate_series(1, %s) AS u, generate_series(1, %s) AS n GROUP BY u ORDER BY u', users, items)),
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
		(format($q$INSERT INTO figures
			SELECT %L, %s, (bloom_sizing(ceil(1.2 * %2$s)::bigint, 0.01)).bytes, %s, (f.lsn - b.lsn) / (n / 40), (w.lsn - t.lsn) / n,
				(f.images - b.images) / (n / 40), (w.images - t.images) / n, s.n_tup_hot_upd::numeric / s.n_tup_upd, (v.lsn - w.lsn) / s.n_tup_upd
			FROM (VALUES (%s::numeric)) AS users (n), pg_stat_user_tables AS s, marks AS b, marks AS f, marks AS t, marks AS w, marks AS v
			WHERE s.relname = 'seen' AND b.name = 'begin' AND f.name = 'first' AND t.name = 'touched' AND w.name = 'warm'
				AND v.name = 'vacuum'$q$,
			storage, items, added, users))
$$;

\o /dev/null
SELECT statement
FROM cells,
	unnest('{1,5,20,100}'::int[]) AS added,
	wal_cell(storage, options, items, added, :users) AS statement
\gexec
\o

SELECT items, bytes, storage, added, round(warm_bytes) AS "WAL a statement", round(warm_bytes / added) AS "WAL an item",
	round(first_bytes) AS "after a checkpoint", round(first_images, 1) AS "page images", round(warm_images, 2) AS "images, warm", round(100 * hot) AS "HOT, %",
	round(vacuum_bytes) AS "VACUUM"
FROM figures ORDER BY items, storage, added;

DROP TABLE seen, marks;
