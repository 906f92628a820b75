--
-- Flat writes, for doc/storage.md: write-ahead log, HOT updates and disk of adds of ten items to filters of one
-- column and of two, by how the table is stored; then by how a live filter starts, and by its share of the rate.
-- bench/operations/run starts a server for it.
--
-- Each cell has two nights, each of which writes all filters as the rebuild does, and a day after each; the second day
-- is measured.  Then the free space on the pages is what it is for good.  On a day the users come at random, and no
-- page is logged, for there is no checkpoint.  After it comes one, and then a few users, each on pages of its own.
--
CREATE TABLE flat_figures (
	nth serial, storage text, items int, day int, wal numeric, first numeric, hot numeric,
	heap numeric, toast numeric);

-- All filters anew, in batches.  $1 is the rate of the large filters.
CREATE PROCEDURE flat_night(users int, items int, fpr float8) LANGUAGE plpgsql AS $$
DECLARE
	has_live bool := EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'seen'::regclass AND attname = 'today');
BEGIN
	FOR start IN 1 .. users BY 100 LOOP
		EXECUTE format('UPDATE seen SET items = n.items %s FROM (
			SELECT u, bloom_agg((random() * 1e15)::bigint, $1, 0.2) AS items
			FROM generate_series($2, least($2 + 99, $3)) AS u, generate_series(1, $4) GROUP BY u) AS n WHERE user_id = u',
			CASE WHEN has_live THEN ', today = NULL' END) USING fpr, start, users, items;
		COMMIT;
	END LOOP;
END
$$;

-- One statement and transaction for ten items of a user, every `step`th; `add` is what is set.
CREATE PROCEDURE flat_day(users int, step int, day int, add text) LANGUAGE plpgsql AS $$
DECLARE
	u int;
BEGIN
	FOR u IN SELECT s FROM generate_series(1, users, step) AS s, generate_series(1, day / 10) ORDER BY random() LOOP
		EXECUTE format('UPDATE seen SET %s WHERE user_id = $1', add)
		USING u, ARRAY(SELECT (random() * 1e15)::bigint FROM generate_series(1, 10));
		COMMIT;
	END LOOP;
END
$$;

CREATE FUNCTION flat_cell(storage text, columns text, options text, more text, items int, day int, users int,
	capacity bigint, share float8) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT statement
	FROM (VALUES (CASE WHEN columns ~ 'today'
			THEN format('today = bloom_add(COALESCE(today, bloom_new(%s, %s)), $2)', capacity, 0.01 * share)
			ELSE 'items = bloom_add(items, $2)' END,
		CASE WHEN columns ~ 'today' THEN 0.01 * (1 - share) ELSE 0.01 END)) AS a (add, fpr),
	LATERAL (VALUES
		(1, 'DROP TABLE IF EXISTS seen, marks'),
		(2, format('CREATE TABLE seen (user_id bigint PRIMARY KEY, %s) WITH (%s)', columns, options)),
		(3, 'CREATE TABLE marks (name text, lsn pg_lsn)'),
		(4, more),
		(5, format('INSERT INTO seen (user_id) SELECT generate_series(1, %s)', users)),
		(6, format('CALL flat_night(%s, %s, %s)', users, items, fpr)),
		(7, 'VACUUM ANALYZE seen'),
		(8, format('CALL flat_day(%s, 1, %s, %L)', users, day, add)),
		(9, format('CALL flat_night(%s, %s, %s)', users, items, fpr)),
		(10, 'VACUUM ANALYZE seen'),
		(11, 'SELECT pg_stat_force_next_flush()'),
		(12, 'SELECT pg_stat_reset_single_table_counters(''seen''::regclass)'),
		(13, $q$INSERT INTO marks VALUES ('begin', pg_current_wal_insert_lsn())$q$),
		(14, format('CALL flat_day(%s, 1, %s, %L)', users, day, add)),
		(15, $q$INSERT INTO marks VALUES ('end', pg_current_wal_insert_lsn())$q$),
		(16, 'SELECT pg_stat_force_next_flush()'),
		(17, 'CHECKPOINT'),
		(18, $q$INSERT INTO marks VALUES ('checkpoint', pg_current_wal_insert_lsn())$q$),
		(19, format('CALL flat_day(%s, 20, 10, %L)', users, add)),
		(20, $q$INSERT INTO marks VALUES ('first', pg_current_wal_insert_lsn())$q$),
		(21, format($q$INSERT INTO flat_figures (storage, items, day, wal, first, hot, heap, toast)
			SELECT %L, %s, %s, (e.lsn - b.lsn) / (n * %3$s / 10), (f.lsn - c.lsn) / (n / 20), s.n_tup_hot_upd / (n * %3$s / 10),
				pg_relation_size('seen') / n, (SELECT pg_total_relation_size(reltoastrelid) FROM pg_class WHERE oid = 'seen'::regclass) / n
			FROM (VALUES (%s::numeric)) AS users (n), pg_stat_user_tables AS s, marks AS b, marks AS e, marks AS c, marks AS f
			WHERE s.relname = 'seen' AND b.name = 'begin' AND e.name = 'end' AND c.name = 'checkpoint' AND f.name = 'first'$q$,
			storage, items, day, users))
	) AS s (nth, statement)
	WHERE statement IS NOT NULL ORDER BY nth
$$;

\set one 'items bloom'
\set two 'items bloom, today bloom'
\o /dev/null
SELECT statement
FROM (VALUES
	(1, 'one column', :'one', 'toast_tuple_target = 8160, fillfactor = 50', NULL),
	(2, 'one column, default target', :'one', 'fillfactor = 50', NULL),
	(3, 'two', :'two', 'fillfactor = 100', NULL),
	(4, 'two, fillfactor 90', :'two', 'fillfactor = 90', NULL),
	(5, 'two, fillfactor 80', :'two', 'fillfactor = 80', NULL),
	(6, 'two, fillfactor 70', :'two', 'fillfactor = 70', NULL),
	(7, 'two, fillfactor 50', :'two', 'fillfactor = 50', NULL),
	(8, 'two, 70, the small one first', 'today bloom, items bloom', 'fillfactor = 70', NULL),
	(9, 'two, 70, toast_tuple_target 8160', :'two', 'fillfactor = 70, toast_tuple_target = 8160', NULL),
	(10, 'two, 70, toast_tuple_target 512', :'two', 'fillfactor = 70, toast_tuple_target = 512', NULL),
	(11, 'two, 70, toast_tuple_target 128', :'two', 'fillfactor = 70, toast_tuple_target = 128', NULL),
	(12, 'two, 70, the small one MAIN', :'two', 'fillfactor = 70', 'ALTER TABLE seen ALTER today SET STORAGE MAIN'),
	(13, 'two, 70, the large one MAIN', :'two', 'fillfactor = 70', 'ALTER TABLE seen ALTER items SET STORAGE MAIN'),
	(14, 'two, 70, the large one EXTENDED', :'two', 'fillfactor = 70', 'ALTER TABLE seen ALTER items SET STORAGE EXTENDED')
) AS c (nth, storage, columns, options, more), unnest('{300,1000,1500,3000}'::int[]) AS items,
	flat_cell(storage, columns, options, more, items, 100, :users / 2, 40, 0.1) WITH ORDINALITY AS s (statement, step)
ORDER BY c.nth, items, step
\gexec
\o

SELECT storage, items, round(wal) AS "WAL an add", round(first, -2) AS "after a checkpoint", round(100 * hot, 1) AS "HOT, %", round(heap) AS "table a user", round(toast) AS "TOAST a user"
FROM flat_figures ORDER BY nth;

-- How a live filter starts, and its share of the rate.
TRUNCATE flat_figures;
\o /dev/null
SELECT statement
FROM (VALUES
	(1, 20, 0.1), (2, 32, 0.1), (3, 40, 0.1), (4, 50, 0.1), (5, 64, 0.1), (6, 100, 0.1), (7, 40, 0.05), (8, 40, 0.2), (9, 40, 0.5)
) AS c (nth, capacity, share), unnest('{20,50,100,300}'::int[]) AS day,
	flat_cell(format('starts with room for %s, %s of the rate', capacity, share), :'two', 'fillfactor = 70', NULL, 3000, day, :users / 2, capacity, share)
		WITH ORDINALITY AS s (statement, step)
ORDER BY c.nth, day, step
\gexec
\o
SELECT storage, day, round(wal) AS "WAL an add" FROM flat_figures ORDER BY nth \crosstabview

DROP TABLE seen, marks;
