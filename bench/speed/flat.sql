--
-- flat: ten items are added to one user, whose filter is one column or has a live
-- column beside it.  By UPDATE on days on which users see 20, 100 and 300 items;
-- by the trigger and by bloom_take() on a day of 100.  Variable: users.
--
-- Before each measurement there are two nights, each of which writes all filters as
-- the rebuild does, and a day between them: then the free space on the pages is
-- what it is for good.  A day is so many adds of users at random.
--
CREATE TABLE flat_filters AS
SELECT n, night, user_id, bloom_agg(item_id, 0.01, 0.2) AS items, bloom_agg(item_id, 0.009, 0.2) AS beside_live
FROM (
	SELECT n, night, user_id, bench_id(bench_item(user_id, 100000 * night + nth)) AS item_id
	FROM unnest('{300,1000,3000,10000}'::integer[]) AS n, generate_series(1, 2) AS night,
		generate_series(1, :users) AS user_id, generate_series(1, n) AS nth
) AS shown GROUP BY n, night, user_id;
ALTER TABLE flat_filters ADD PRIMARY KEY (n, night, user_id);
VACUUM (ANALYZE) flat_filters;

-- As README.md and doc/storage.md advise to store them.
CREATE TABLE flat_shown (user_id bigint, item_id bigint, shown_at timestamptz);
CREATE INDEX ON flat_shown (user_id, shown_at, item_id);
SELECT format('CREATE TABLE flat_one_%s (user_id bigint PRIMARY KEY, items bloom) WITH (fillfactor = 50%s)', n,
		CASE WHEN n < 3000 THEN ', toast_tuple_target = 8160' END),
	format('CREATE TABLE flat_two_%s (user_id bigint PRIMARY KEY, items bloom, today bloom) WITH (fillfactor = 70)', n),
	format('CREATE TABLE flat_shown_one_%s (LIKE flat_shown INCLUDING INDEXES)', n),
	format('CREATE TABLE flat_shown_two_%s (LIKE flat_shown INCLUDING INDEXES)', n),
	format('CREATE TRIGGER track AFTER INSERT ON flat_shown_one_%1$s REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
		EXECUTE FUNCTION bloom_track(''flat_one_%1$s'', ''items'', ''user_id'', ''item_id'', ''time=shown_at'')', n),
	format('CREATE TRIGGER track AFTER INSERT ON flat_shown_two_%1$s REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
		EXECUTE FUNCTION bloom_track(''flat_two_%1$s'', ''items'', ''user_id'', ''item_id'', ''time=shown_at'', ''live=today'')', n)
FROM unnest('{300,1000,3000,10000}'::integer[]) AS n
\gexec

CREATE PROCEDURE bench_flat_night(form text, n integer, night integer) LANGUAGE plpgsql AS $$
BEGIN
	FOR start IN 1 .. (SELECT max(user_id) FROM flat_filters) BY 50 LOOP
		EXECUTE format('UPDATE flat_%s_%s AS s SET items = f.%s FROM flat_filters AS f
			WHERE f.n = $1 AND f.night = $2 AND f.user_id BETWEEN $3 AND $3 + 49 AND s.user_id = f.user_id',
			form, n, CASE form WHEN 'one' THEN 'items' ELSE 'beside_live, today = NULL' END) USING n, night, start;
		COMMIT;
	END LOOP;
END
$$;

-- One column, or the large and the live one.
CREATE FUNCTION bench_flat_add(form text, "user" text, items text) RETURNS text LANGUAGE sql AS $$
	SELECT format(CASE form
		WHEN 'one' THEN 'UPDATE flat_one_<n> SET items = bloom_add(items, %2$s) WHERE user_id = %1$s'
		ELSE 'UPDATE flat_two_<n> SET today = bloom_add(COALESCE(today, bloom_new(40, 0.001)), %2$s) WHERE user_id = %1$s' END,
		"user", items)
$$;

CREATE PROCEDURE bench_flat_day(form text, n integer, day integer) LANGUAGE plpgsql AS $$
BEGIN
	FOR add IN 1 .. day / 10 * (SELECT max(user_id) FROM flat_filters) LOOP
		EXECUTE replace(bench_flat_add(form, '$1', 'ARRAY(SELECT $2 + generate_series(0, 9))'), '<n>', n::text)
		USING 1 + floor(random() * (SELECT max(user_id) FROM flat_filters))::bigint, floor(random() * 1e15)::bigint;
		COMMIT;
	END LOOP;
END
$$;

SELECT 'ARRAY[' || string_agg(':item::bigint + ' || i, ', ') || ']' AS ten FROM generate_series(0, 9) AS i \gset
\set shown 'INSERT INTO <shown> SELECT :user, item_id, now() FROM unnest(<ten>) AS item_id'
INSERT INTO bench_method (part, name, role, how, units, floor, before, command)
SELECT 'flat', format('%s items, %s a day: %s', n, day, name), role, 'pgbench', day / 10 * :users,
	format('%s items, %s a day: %s', n, day, floor),
	format('TRUNCATE flat_shown, flat_%1$s_%2$s, flat_shown_%1$s_%2$s; '
		'INSERT INTO flat_%1$s_%2$s (user_id) SELECT user_id FROM flat_filters WHERE n = %2$s AND night = 1; '
		'CALL bench_flat_night(''%1$s'', %2$s, 1); VACUUM ANALYZE flat_%1$s_%2$s; CALL bench_flat_day(''%1$s'', %2$s, %3$s); '
		'CALL bench_flat_night(''%1$s'', %2$s, 2); VACUUM ANALYZE flat_%1$s_%2$s; CHECKPOINT', form, n, day),
	format(E'\\set user random(1, %s)\n\\set item random(1, 1000000000000000)\n%s;', :users,
		replace(replace(replace(command, '<shown>', format('flat_shown_%s_%s', form, n)), '<ten>', :'ten'), '<n>', n::text))
FROM unnest('{300,1000,3000,10000}'::integer[]) AS n, unnest('{20,100,300}'::integer[]) AS day,
(VALUES
	(1, 'one column', 'floor', 'one', 'one column', bench_flat_add('one', ':user', '<ten>')),
	(2, 'two columns', 'ours', 'two', 'one column', bench_flat_add('two', ':user', '<ten>')),
	(3, 'exposures without a filter', 'floor', 'one', 'exposures without a filter', replace(:'shown', '<shown>', 'flat_shown')),
	(4, 'trigger, one column', 'peer', 'one', 'exposures without a filter', :'shown'),
	(5, 'trigger, two columns', 'ours', 'two', 'exposures without a filter', :'shown'),
	(6, 'bloom_take, one column', 'peer', 'one', 'one column', 'SELECT bloom_take(''flat_one_<n>'', :user::bigint, <ten>)'),
	(7, 'bloom_take, two columns', 'ours', 'two', 'one column', 'SELECT bloom_take(''flat_two_<n>'', :user::bigint, <ten>)')
) AS m (nth, name, role, form, floor, command)
WHERE day = 100 OR m.nth <= 2
ORDER BY n, day, m.nth;

INSERT INTO bench_target (part, name, metric, sense, must, aim)
SELECT part, name, CASE WHEN name ~ 'trigger' THEN net ELSE metric END, sense, must, aim
FROM bench_method, (VALUES
	(1, 'WAL bytes', 'net WAL bytes', '<=', 400, 300),
	(2, 'HOT, %', 'HOT, %', '>=', 95, 99)
) AS t (nth, metric, net, sense, must, aim)
WHERE part = 'flat' AND role = 'ours' ORDER BY bench_method.nth, t.nth;
