--
-- take: ten of 500 candidates are taken and remembered.  By bloom_take(), also in
-- a table with a live column, and by a statement that excludes and another that
-- adds: each by itself, in one transaction, and in one that locks the row of the
-- user first, without which two sessions can take the same.  Variable: users.
--
-- The filters are as the nightly rebuild leaves them, and stored as README.md
-- advises.  A statement that excludes hands over ten candidates, not all.
--
CREATE TABLE take_filters AS
SELECT n, user_id, bloom_agg(item_id, 0.01, 0.2) AS items, bloom_agg(item_id, 0.009, 0.2) AS beside_live
FROM (
	SELECT n, user_id, bench_id(bench_item(user_id, nth)) AS item_id
	FROM unnest('{300,1000,3000}'::integer[]) AS n, generate_series(1, :users) AS user_id, generate_series(1, n) AS nth
) AS shown GROUP BY n, user_id;

SELECT format('CREATE TABLE take_candidates_%s (user_id bigint PRIMARY KEY, items bigint[])', n),
	format('ALTER TABLE take_candidates_%s ALTER items SET STORAGE EXTERNAL', n),
	format('INSERT INTO take_candidates_%1$s SELECT user_id, ARRAY(SELECT bench_id(i) FROM unnest(bench_candidates(user_id, %1$s, 500)) AS i)
		FROM generate_series(1, %2$s) AS user_id', n, :users),
	format('VACUUM ANALYZE take_candidates_%s', n),
	format('CREATE TABLE take_one_%s (user_id bigint PRIMARY KEY, items bloom) WITH (fillfactor = 50%s)', n,
		CASE WHEN n < 3000 THEN ', toast_tuple_target = 8160' END),
	format('INSERT INTO take_one_%1$s SELECT user_id, items FROM take_filters WHERE n = %1$s', n),
	format('CREATE TABLE take_live_%s (user_id bigint PRIMARY KEY, items bloom, today bloom) WITH (fillfactor = 70)', n),
	format('INSERT INTO take_live_%1$s SELECT user_id, beside_live FROM take_filters WHERE n = %1$s', n),
	format('CREATE TABLE take_shown_%s (user_id bigint, item_id bigint, shown_at timestamptz)', n),
	format('CREATE TRIGGER track AFTER INSERT ON take_shown_%1$s REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
		EXECUTE FUNCTION bloom_track(''take_live_%1$s'', ''items'', ''user_id'', ''item_id'', ''time=shown_at'', ''live=today'')', n)
FROM unnest('{300,1000,3000}'::integer[]) AS n
\gexec

\set exclude 'SELECT fresh[1] AS i1, fresh[2] AS i2, fresh[3] AS i3, fresh[4] AS i4, fresh[5] AS i5, fresh[6] AS i6, fresh[7] AS i7, fresh[8] AS i8, fresh[9] AS i9, fresh[10] AS i10 FROM (SELECT items - (SELECT items FROM take_one_<n> WHERE user_id = :user) FROM take_candidates_<n> WHERE user_id = :user OFFSET 0) AS e (fresh) \\gset'
\set ten 'ARRAY[:i1, :i2, :i3, :i4, :i5, :i6, :i7, :i8, :i9, :i10]::bigint[]'
\set take 'SELECT bloom_take(''take_<form>_<n>'', :user::bigint, items, 10) FROM take_candidates_<n> WHERE user_id = :user;'

INSERT INTO bench_method (part, name, role, how, units, floor, before, command)
SELECT 'take', n || ' items: ' || name, role, 'pgbench', 4 * :users, n || ' items: exclude, add',
	format('TRUNCATE take_%1$s_%2$s; INSERT INTO take_%1$s_%2$s SELECT user_id, %3$s FROM take_filters WHERE n = %2$s; VACUUM ANALYZE take_%1$s_%2$s; CHECKPOINT',
		form, n, CASE form WHEN 'one' THEN 'items' ELSE 'beside_live' END),
	format(E'\\set user random(1, %s)\n%s', :users,
		replace(replace(replace(replace(replace(command, '<exclude>', :'exclude'),
			'<add>', 'INSERT INTO take_one_<n> AS f (user_id, items) VALUES (:user, bloom_add(NULL, <ten>))
				ON CONFLICT (user_id) DO UPDATE SET items = bloom_add(f.items, <ten>);'),
			'<ten>', :'ten'), '<form>', form), '<n>', n::text))
FROM unnest('{300,1000,3000}'::integer[]) AS n,
(VALUES
	(1, 'exclude, add', 'floor', 'one', E'BEGIN;\n<exclude>\n<add>\nCOMMIT;'),
	(2, 'exclude, add, two transactions', 'peer', 'one', E'<exclude>\n<add>'),
	(3, 'lock, exclude, add', 'peer', 'one', E'BEGIN;\nINSERT INTO take_one_<n> AS f (user_id) VALUES (:user)
		ON CONFLICT (user_id) DO UPDATE SET items = f.items WHERE false;\n<exclude>\n<add>\nCOMMIT;'),
	(4, 'bloom_take', 'ours', 'one', :'take'),
	(5, 'bloom_take, live column', 'ours', 'live', :'take')
) AS m (nth, name, role, form, command)
ORDER BY n, m.nth;

INSERT INTO bench_target (part, name, metric, against, sense, must)
SELECT part, name, metric, floor, sense, 1
FROM bench_method, (VALUES (1, 'us', '<='), (2, 'tps, 2 clients', '>=')) AS t (nth, metric, sense)
WHERE part = 'take' AND role = 'ours' ORDER BY bench_method.nth, t.nth;

-- What is taken is what a statement that excludes would give, and is in the filter
-- afterwards.
CREATE FUNCTION bench_check_take(form text, filters text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	wrong bigint;
	lacking bigint;
BEGIN
	EXECUTE format($q$
		CREATE TEMP TABLE taken AS
		SELECT user_id, expected, bloom_take('take_%1$s_1000', user_id, items, 10) AS page
		FROM (
			SELECT user_id, c.items, ARRAY(SELECT i FROM unnest(c.items - %2$s) WITH ORDINALITY AS u (i, nth)
				GROUP BY i ORDER BY min(nth) LIMIT 10) AS expected
			FROM take_candidates_1000 AS c JOIN take_%1$s_1000 AS s USING (user_id) WHERE user_id <= 100 OFFSET 0
		) AS pages
		$q$, form, filters);
	SELECT count(*) INTO wrong FROM taken WHERE page IS DISTINCT FROM expected OR cardinality(page) <> 10;
	EXECUTE format('SELECT count(*) FROM taken JOIN take_%s_1000 AS s USING (user_id) WHERE page - %s <> ''{}''', form, filters)
	INTO lacking;
	DROP TABLE taken;
	IF wrong + lacking > 0 THEN
		RAISE EXCEPTION 'WRONG RESULT of bloom_take: % users got something else, % lack it in their filters', wrong, lacking;
	END IF;
END
$$;

SELECT bench_check_take(form, filters)
FROM (VALUES ('one', 's.items'), ('live', 's.items - s.today')) AS f (form, filters), generate_series(1, 3)
\g /dev/null
