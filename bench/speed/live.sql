--
-- live: what readers pay for a live column.  500 candidates against one column, and
-- against a large filter and a live one of 100 items; all users in one statement,
-- and one user a statement.  Variable: users.
--
SELECT format('CREATE TABLE live_one_%s (user_id bigint PRIMARY KEY, items bloom) WITH (fillfactor = 50%s)', n,
		CASE WHEN n < 3000 THEN ', toast_tuple_target = 8160' END),
	format('CREATE TABLE live_two_%s (user_id bigint PRIMARY KEY, items bloom, today bloom) WITH (fillfactor = 70)', n),
	format('INSERT INTO live_one_%1$s SELECT user_id, bloom_agg(bench_id(bench_item(user_id, nth)), 0.01, 0.2)
		FROM generate_series(1, %2$s) AS user_id, generate_series(1, %1$s) AS nth GROUP BY user_id', n, :users),
	-- (the live filter as it grows by pages of ten)
	format('INSERT INTO live_two_%1$s SELECT user_id, bloom_agg(bench_id(bench_item(user_id, nth)), 0.009, 0.2)
		FROM generate_series(1, %2$s) AS user_id, generate_series(1, %1$s) AS nth GROUP BY user_id', n, :users),
	format('UPDATE live_two_%s SET today = bloom_new(40, 0.001)', n),
	format('DO $$ BEGIN FOR page IN 0..9 LOOP
		UPDATE live_two_%1$s SET today = bloom_add(today, ARRAY(SELECT bench_id(bench_item(user_id, %1$s + 10 * page + nth)) FROM generate_series(1, 10) AS nth));
		END LOOP; END $$', n),
	format('VACUUM FULL live_one_%s', n), format('VACUUM FULL live_two_%s', n),
	format('VACUUM ANALYZE live_one_%s', n), format('VACUUM ANALYZE live_two_%s', n),
	format('CREATE TABLE live_candidates_%s (user_id bigint PRIMARY KEY, items bigint[])', n),
	format('ALTER TABLE live_candidates_%s ALTER items SET STORAGE EXTERNAL', n),
	format('INSERT INTO live_candidates_%1$s SELECT user_id, ARRAY(SELECT bench_id(i) FROM unnest(bench_candidates(user_id, %1$s, 500)) AS i)
		FROM generate_series(1, %2$s) AS user_id', n, :users),
	format('VACUUM ANALYZE live_candidates_%s', n)
FROM unnest('{300,1000,3000,10000}'::integer[]) AS n
\gexec

INSERT INTO bench_method (part, name, role, how, units, floor, command)
SELECT 'live', format('%s items: %s%s', n, CASE how WHEN 'pgbench' THEN 'one user, ' ELSE '' END, name), role, how,
	CASE how WHEN 'sql' THEN 500 * :users END,
	format('%s items: %s%s', n, CASE how WHEN 'pgbench' THEN 'one user, ' ELSE '' END, floor),
	CASE how WHEN 'sql' THEN format('SELECT sum(cardinality(%s)) FROM %s', command, tables)
		ELSE format(E'\\set user random(1, %s)\nSELECT cardinality(%s) FROM %s WHERE user_id = :user;', :users, command, tables) END
FROM unnest('{300,1000,3000,10000}'::integer[]) AS n, unnest('{sql,pgbench}'::text[]) AS how,
(VALUES
	(1, 'candidates - items', 'floor', 'one', 'candidates - items', 'c.items - s.items'),
	(2, 'candidates - items - today', 'ours', 'two', 'candidates - items', 'c.items - s.items - s.today'),
	(3, 'bloom_exclude(candidates, items)', 'floor', 'one', 'bloom_exclude(candidates, items)', 'ARRAY(SELECT bloom_exclude(c.items, s.items))'),
	(4, 'bloom_exclude(candidates, items, today)', 'ours', 'two', 'bloom_exclude(candidates, items)', 'ARRAY(SELECT bloom_exclude(c.items, s.items, s.today))')
) AS m (nth, name, role, form, floor, command),
LATERAL format('live_candidates_%s AS c JOIN live_%s_%1$s AS s USING (user_id)', n, form) AS tables
WHERE how = 'sql' OR m.nth <= 2
ORDER BY n, how DESC, m.nth;

INSERT INTO bench_target (part, name, metric, against, sense, must)
SELECT part, name, CASE how WHEN 'sql' THEN 'ms' ELSE 'us' END, replace(replace(name, ' - today', ''), ', today', ''), '<=', 1.3
FROM bench_method WHERE part = 'live' AND role = 'ours' ORDER BY nth;

-- Both give the same, and let nothing through that is in one of the filters.
DO $$
DECLARE
	wrong bigint;
	method text;
BEGIN
	FOREACH method IN ARRAY ARRAY['c.items - s.items - s.today', 'ARRAY(SELECT bloom_exclude(c.items, s.items, s.today))'] LOOP
		EXECUTE format('SELECT count(*) FROM live_candidates_1000 AS c JOIN live_two_1000 AS s USING (user_id)
			WHERE %s <> ARRAY(SELECT i FROM unnest(c.items) WITH ORDINALITY AS u (i, nth) WHERE NOT s.items @> i AND NOT s.today @> i ORDER BY nth)',
			method) INTO wrong;
		IF wrong > 0 THEN
			RAISE EXCEPTION 'WRONG RESULT of %: it differs for % users', method, wrong;
		END IF;
	END LOOP;
END
$$;
