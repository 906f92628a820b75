--
-- The methods of each part, and what is asked of them.  Variables: users, huge
-- (items of the big filter).
--
SELECT to_regprocedure('bloom_exclude_packed(bytea, bloom)') IS NOT NULL AS packed,
	count(*) AS candidate_users, sum(cardinality(items)) AS candidates,
	EXISTS (SELECT FROM redis_answer) AS redis
FROM candidates \gset
\if :packed
\else
\echo skipped: bloom_exclude_packed, this version does not have it
\endif

--
-- batch: how many candidates survive, for all users in one statement.  The floor
-- detoasts candidates and filters and does nothing else: cardinality and get_byte
-- take the whole value, length would not.  NOT EXISTS goes user by user, which is
-- several times faster than one anti join over all users; the planner guesses 10
-- candidates an array and may probe the index for each of a thousand, so the
-- hashed form stands beside it.
--
\set not_exists 'SELECT count(*) FROM unnest(c.items) AS i WHERE NOT EXISTS (SELECT FROM exposures AS e WHERE e.user_id = c.user_id AND e.item_id = i)'
\set hashed '{enable_nestloop=off,enable_mergejoin=off}'
\set probing '{enable_hashjoin=off,enable_mergejoin=off}'

INSERT INTO bench_method (part, name, role, units, floor, settings, command)
SELECT 'batch', name, role, :candidates, 'read both columns', settings::text[],
	format('SELECT sum(n) FROM (%s) AS survivors (n)', command)
FROM (VALUES
	('read both columns', 'floor', '{}',
		'SELECT cardinality(c.items) + get_byte(s.items, 0) FROM candidates AS c JOIN seen_bytes AS s USING (user_id)'),
	('candidates - filter', 'ours', '{}',
		'SELECT cardinality(c.items - s.items) FROM candidates AS c JOIN seen AS s USING (user_id)'),
	('candidates - filter in its row', 'ours', '{}',
		'SELECT cardinality(c.items - s.items) FROM candidates AS c JOIN seen_inline AS s USING (user_id)'),
	('NOT EXISTS, hashed', 'peer', :'hashed', format('SELECT n FROM candidates AS c, LATERAL (%s) AS k (n)', :'not_exists')),
	('NOT EXISTS, probing', 'peer', :'probing', format('SELECT n FROM candidates AS c, LATERAL (%s) AS k (n)', :'not_exists')),
	('EXCEPT', 'peer', '{}',
		'SELECT n FROM candidates AS c, LATERAL (SELECT count(*) FROM (SELECT unnest(c.items)
		EXCEPT SELECT item_id FROM exposures AS e WHERE e.user_id = c.user_id) AS d) AS k (n)'),
	-- "<> ALL (array)" compares each with each, and is hashed only for a constant array
	('anti join of arrays', 'peer', '{}',
		'SELECT n FROM candidates AS c JOIN seen_array AS s USING (user_id), LATERAL (SELECT count(*)
		FROM unnest(c.items) AS i WHERE NOT EXISTS (SELECT FROM unnest(s.items) AS j WHERE j = i)) AS k (n)'),
	('intarray, int4', 'peer', '{}',
		'SELECT cardinality(c.items4 - s.items4) FROM candidates AS c JOIN seen_array AS s USING (user_id)'),
	-- exact: what the filter drops by mistake comes back
	('filter, hits checked in the table', 'peer', '{}',
		'SELECT n FROM candidates AS c JOIN seen AS s USING (user_id), LATERAL (SELECT count(*)
		FROM unnest(c.items, bloom_contains_each(s.items, c.items)) AS k (i, hit)
		WHERE NOT hit OR NOT EXISTS (SELECT FROM exposures AS e WHERE e.user_id = c.user_id AND e.item_id = i OFFSET 0)) AS k (n)')
) AS m (name, role, settings, command);

SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'roaringbitmap') AS roaring \gset
\if :roaring
CREATE TABLE seen_roaring AS SELECT user_id, rb_build(items4) AS items FROM seen_array;
ALTER TABLE seen_roaring ADD PRIMARY KEY (user_id);
VACUUM (ANALYZE) seen_roaring;
INSERT INTO bench_method (part, name, role, units, floor, command)
VALUES ('batch', 'roaringbitmap, int4', 'peer', :candidates, 'read both columns',
	'SELECT sum(rb_andnot_cardinality(rb_build(c.items4), s.items)) FROM candidates AS c JOIN seen_roaring AS s USING (user_id)');
\endif

-- Candidates are not stored in a Redis: in each part they come over its socket.
\if :redis
INSERT INTO bench_method (part, name, role, how, floor, units)
VALUES ('batch', 'RedisBloom', 'peer', 'redis', 'read both columns', :candidates);
\endif

INSERT INTO bench_target (part, name, metric, against, sense, must, aim) VALUES
	('batch', 'candidates - filter', 'ms', 'read both columns', '<=', 2, 1.5),
	('batch', 'candidates - filter', 'ms', 'NOT EXISTS, hashed', '>=', 8, 12);

--
-- rows: the same as rows, beside unnest, which makes rows of all candidates.
--
INSERT INTO bench_method (part, name, role, units, floor, command)
SELECT 'rows', name, role, :candidates, floor, command || ' FROM candidates AS c JOIN seen AS s USING (user_id)' || more
FROM (VALUES
	('FROM unnest', 'floor', 'FROM unnest', 'SELECT count(i)', ', unnest(c.items) AS i'),
	('FROM bloom_exclude', 'ours', 'FROM unnest', 'SELECT count(i)', ', bloom_exclude(c.items, s.items) AS i'),
	('ARRAY(SELECT unnest)', 'floor', 'ARRAY(SELECT unnest)', 'SELECT sum(cardinality(ARRAY(SELECT unnest(c.items))))', ''),
	('ARRAY(SELECT bloom_exclude)', 'ours', 'ARRAY(SELECT unnest)',
		'SELECT sum(cardinality(ARRAY(SELECT bloom_exclude(c.items, s.items))))', '')
) AS m (name, role, floor, command, more);

INSERT INTO bench_target (part, name, metric, against, sense, must, aim)
SELECT part, name, 'ms', floor, '<=', 1.1, 0.8 FROM bench_method WHERE part = 'rows' AND role = 'ours' ORDER BY nth;

--
-- several: three filters in one pass, against a pass for each; and with a first
-- filter that drops nine candidates of ten.
--
CREATE TABLE seen_three AS
SELECT user_id, a, b, c, bloom_add(bloom_new(1000), items[: cardinality(items) * 9 / 10]) AS most
FROM candidates JOIN (
	SELECT user_id, bloom_agg(item_id) FILTER (WHERE bench_number(item_id) % 3 = 0) AS a,
		bloom_agg(item_id) FILTER (WHERE bench_number(item_id) % 3 = 1) AS b,
		bloom_agg(item_id) FILTER (WHERE bench_number(item_id) % 3 = 2) AS c
	FROM exposures WHERE user_id IN (SELECT user_id FROM candidates) GROUP BY user_id) AS three USING (user_id);
ALTER TABLE seen_three ADD PRIMARY KEY (user_id);
VACUUM (ANALYZE) seen_three;

INSERT INTO bench_method (part, name, role, units, floor, command)
SELECT 'several', name, role, :candidates, 'a pass for each', format('SELECT sum(%s) FROM candidates AS c JOIN seen_three AS s USING (user_id)', command)
FROM (VALUES
	('a pass for each', 'floor',
		'(SELECT count(*) FROM bloom_exclude(c.items, s.a) AS i) + (SELECT count(*) FROM bloom_exclude(c.items, s.b) AS i) + (SELECT count(*) FROM bloom_exclude(c.items, s.c) AS i)'),
	('one pass', 'ours', '(SELECT count(*) FROM bloom_exclude(c.items, s.a, s.b, s.c) AS i)'),
	('one pass, the first drops most', 'ours', '(SELECT count(*) FROM bloom_exclude(c.items, s.most, s.a, s.b, s.c) AS i)')
) AS m (name, role, command);

INSERT INTO bench_target (part, name, metric, against, sense, must) VALUES
	('several', 'one pass', 'ms', 'a pass for each', '<=', 1),
	('several', 'one pass, the first drops most', 'ms', 'one pass', '<=', 1);

--
-- call: nanoseconds a candidate of one call in memory, by bench_call.
--
INSERT INTO bench_method (part, name, role, how)
SELECT 'call', format('%s, %s items, %s%% exposed', kind, n, exposed), 'ours', 'loop'
FROM unnest('{int8,int4,uuid,text16,text32,text36,mixed,bytea}'::text[]) WITH ORDINALITY AS k (kind, nth),
	unnest('{300,3650,10000,100000}'::integer[]) AS n, unnest('{0,20,50,90}'::integer[]) AS exposed
WHERE kind = 'int8' OR n = 3650
ORDER BY k.nth, n, exposed;

INSERT INTO bench_target (part, name, metric, sense, must, aim)
SELECT part, name, 'ns', '<=', 10, 5 FROM bench_method WHERE part = 'call' AND name LIKE 'int8%' ORDER BY nth;
INSERT INTO bench_target (part, name, metric, against, sense, must)
SELECT part, name, 'ns', replace(name, kind, 'int8'), '<=', must
FROM (VALUES ('uuid', 1.3), ('text16', 1.6), ('text32', 2.0), ('text36', 2.0), ('mixed', 2.0)) AS t (kind, must)
JOIN bench_method ON part = 'call' AND name LIKE kind || '%'
ORDER BY nth;

--
-- window: the same as batch over windows of 30 days in six slices: built at once, and
-- kept by a feed, a statement a day.
--
\if :windows
CREATE TABLE windows_built AS
SELECT user_id, bloom_window_agg(item_id, shown_at, '30 days', 6, 0.01) AS items
FROM exposures WHERE user_id IN (SELECT user_id FROM candidates) GROUP BY user_id;
ALTER TABLE windows_built ADD PRIMARY KEY (user_id);

CREATE TABLE window_exposures (LIKE exposures);
CREATE INDEX ON window_exposures (user_id);
SELECT bloom_create_feed('windows_kept', 'window_exposures', slices => 6) \g /dev/null
-- (the trigger forgets what is older than 30 days, so the newest exposures are of now)
SELECT format('INSERT INTO window_exposures SELECT user_id, item_id, shown_at + (now() - ''2025-07-01'')
	FROM exposures WHERE user_id IN (SELECT user_id FROM candidates)
	AND shown_at >= ''2025-06-01''::timestamptz + %s * interval ''1 day'' AND shown_at < ''2025-06-01''::timestamptz + %s * interval ''1 day''', day, day + 1)
FROM generate_series(0, 30) AS day \gexec
VACUUM (ANALYZE) windows_built, windows_kept.filters;

INSERT INTO bench_method (part, name, role, units, floor, command)
SELECT 'window', name, role, :candidates, 'candidates - filter', format('SELECT sum(cardinality(c.items - s.items)) FROM candidates AS c JOIN %s AS s USING (user_id)', filters)
FROM (VALUES
	('candidates - filter', 'floor', 'seen'),
	('candidates - window, built', 'ours', 'windows_built'),
	('candidates - window, kept daily', 'ours', 'windows_kept.filters')
) AS m (name, role, filters);

INSERT INTO bench_target (part, name, metric, against, sense, must)
SELECT part, name, 'ms', floor, '<=', 2 FROM bench_method WHERE part = 'window' AND role = 'ours' ORDER BY nth;
SELECT name, round(avg((bloom_info(items)).layers), 1) AS layers, round(avg(octet_length(items::bytea))) AS bytes
FROM (SELECT 'built' AS name, items FROM windows_built UNION ALL SELECT 'kept daily', items FROM windows_kept.filters) AS w GROUP BY 1;
\endif

--
-- online: one user a statement, stored candidates, the count of survivors back.
--
INSERT INTO bench_method (part, name, role, how, floor, settings, command)
SELECT 'online', name, role, 'pgbench', 'read the candidates', settings::text[], format(E'\\set user (10 * random(1, %s) - 5) * 2654435761 & 4294967295\n%s;',
	:candidate_users, command)
FROM (VALUES
	('find the row', 'floor', '{}', 'SELECT user_id FROM candidates WHERE user_id = :user', true),
	('read the candidates', 'floor', '{}', 'SELECT cardinality(items) FROM candidates WHERE user_id = :user', true),
	('candidates - filter', 'ours', '{}',
		'SELECT cardinality(c.items - s.items) FROM candidates AS c LEFT JOIN seen AS s USING (user_id) WHERE user_id = :user', true),
	('candidates - filter in its row', 'ours', '{}',
		'SELECT cardinality(c.items - s.items) FROM candidates AS c LEFT JOIN seen_inline AS s USING (user_id) WHERE user_id = :user', true),
	('NOT EXISTS, hashed', 'peer', :'hashed', format('SELECT n FROM candidates AS c, LATERAL (%s) AS k (n) WHERE user_id = :user', :'not_exists'), true),
	('intarray, int4', 'peer', '{}',
		'SELECT cardinality(c.items4 - s.items4) FROM candidates AS c LEFT JOIN seen_array AS s USING (user_id) WHERE user_id = :user', true),
	('roaringbitmap, int4', 'peer', '{}',
		'SELECT rb_andnot_cardinality(rb_build(c.items4), s.items) FROM candidates AS c LEFT JOIN seen_roaring AS s USING (user_id) WHERE user_id = :user', :'roaring')
) AS m (name, role, settings, command, possible)
WHERE possible;

\if :redis
INSERT INTO bench_method (part, name, role, how, floor)
VALUES ('online', 'RedisBloom', 'peer', 'redis', 'read the candidates');
\endif

-- As a share of the floor, too: one client's transactions a second are mostly the
-- time that the operating system takes to wake up the other side.
INSERT INTO bench_target (part, name, metric, against, sense, must, aim) VALUES
	('online', 'candidates - filter', 'tps', NULL, '>=', 28000, 36000),
	('online', 'candidates - filter', 'tps', 'read the candidates', '>=', 0.48, 0.61),
	('online', 'candidates - filter', 'tps, 2 clients', 'read the candidates', '>=', 0.48, 0.61);

--
-- wire: 1,000 candidates from the client and the survivors back, in the binary
-- protocol.  $1 are the candidates, as array or packed, $2 the user.  A bitmap gets
-- int4, which are fewer bytes, and makes a sorted set of them: what it returns has
-- neither the candidates' order nor their duplicates.
--
INSERT INTO bench_method (part, name, role, how, floor, settings, command)
SELECT 'wire', name, role, 'client', 'echo the array', CASE role WHEN 'peer' THEN :'hashed' ELSE '{}' END::text[], command
FROM (VALUES
	('echo the array', 'floor', 'SELECT $1::bigint[] WHERE $2::bigint IS NOT NULL', true),
	('echo it packed', 'floor', 'SELECT $1::bytea WHERE $2::bigint IS NOT NULL', true),
	('array - filter', 'ours', 'SELECT $1::bigint[] - (SELECT items FROM seen WHERE user_id = $2::bigint)', true),
	('packed - filter', 'ours', 'SELECT bloom_exclude_packed($1::bytea, (SELECT items FROM seen WHERE user_id = $2::bigint))', :'packed'),
	('NOT EXISTS, hashed', 'peer', 'SELECT ARRAY(SELECT i FROM unnest($1::bigint[]) AS i
		WHERE NOT EXISTS (SELECT FROM exposures AS e WHERE e.user_id = $2::bigint AND e.item_id = i))', true),
	('roaringbitmap, int4', 'peer', 'SELECT rb_to_array(rb_andnot(rb_build($1::integer[]),
		(SELECT items FROM seen_roaring WHERE user_id = $2::bigint)))', :'roaring')
) AS m (name, role, command, possible)
WHERE possible;

\if :redis
INSERT INTO bench_method (part, name, role, how, floor)
VALUES ('wire', 'RedisBloom', 'peer', 'redis', 'echo the array');
\endif

INSERT INTO bench_target (part, name, metric, against, sense, must, aim)
SELECT 'wire', name, 'us', 'echo the array', '<=', must, aim
FROM (VALUES ('array - filter', 1.1, 1.0), ('packed - filter', 0.5, 0.35)) AS t (name, must, aim)
WHERE name IN (SELECT name FROM bench_method WHERE part = 'wire');

--
-- build: all filters from the exposures, by every way to group; the same for texts of
-- 16 bytes and uuids, of every fourth user; and wide, a million users of 50 items.
-- memory: the same in a fresh server process, also with a work_mem of 4 MB, where a
-- hash table must spill.
--
CREATE TEMP TABLE builds AS
SELECT DISTINCT ON (p.nth, m.nth) p.*, m.nth AS method_nth, m.name, m.role, m.aggregate
FROM (VALUES
	(1, 'hash', '{enable_sort=off,enable_indexscan=off,enable_indexonlyscan=off}'::text[]),
	(2, 'sort', '{enable_hashagg=off,enable_indexscan=off,enable_indexonlyscan=off}'),
	(3, 'index', '{enable_hashagg=off,enable_sort=off,enable_seqscan=off}'),
	(4, 'parallel', '{max_parallel_workers_per_gather=2,enable_indexscan=off,enable_indexonlyscan=off}')
) AS p (nth, plan, settings),
(VALUES
	(1, 'count', 'floor', 'count(*)'),
	(2, 'array_agg', 'peer', 'array_agg(item_id)'),
	(3, 'bloom_agg', 'ours', 'bloom_agg(item_id, 0.01)')
) AS m (nth, name, role, aggregate);

INSERT INTO bench_method (part, name, role, how, units, floor, settings, command)
SELECT part, plan || ': ' || name, role, how, units, plan || ': count', settings || more || ('work_mem=' || work_mem),
	format('SELECT count(f) FROM (SELECT %s AS f FROM exposures GROUP BY user_id) AS g', aggregate)
FROM (VALUES
	(1, 'build', '{hash,sort,index,parallel}'::text[], 'sql', '1GB', '{}'::text[], (SELECT count(*) FROM exposures)),
	(2, 'build, text', '{hash,sort}', 'sql', '1GB', '{"search_path=texts,public"}', (SELECT count(*) FROM texts.exposures)),
	(2, 'build, uuid', '{hash,sort}', 'sql', '1GB', '{"search_path=uuids,public"}', (SELECT count(*) FROM uuids.exposures)),
	(2, 'wide', '{hash,sort}', 'sql', '1GB', '{"search_path=wide,public"}', (SELECT count(*) FROM wide.exposures)),
	(3, 'memory', '{hash,sort}', 'fresh', '1GB', '{}', NULL),
	(4, 'memory, work_mem 4 MB', '{hash,sort}', 'fresh', '4MB', '{}', NULL),
	(5, 'memory, wide', '{hash}', 'fresh', '1GB', '{"search_path=wide,public"}', NULL)
) AS v (variant, part, plans, how, work_mem, more, units)
JOIN builds ON plan = ANY (plans)
ORDER BY variant, part, nth, method_nth;

INSERT INTO bench_target (part, name, metric, against, sense, must, aim)
SELECT m.part, m.name, CASE how WHEN 'sql' THEN 'ms' ELSE 'peak MB' END,
	split_part(m.name, ':', 1) || ': ' || against, '<=', CASE WHEN part LIKE 'build,%' THEN 1.1 * must ELSE must END, aim
FROM bench_method AS m, (VALUES ('array_agg', 1, NULL), ('count', NULL, 2)) AS t (against, must, aim)
WHERE (how = 'fresh' AND against = 'array_agg' OR how = 'sql' AND part ~ '^(build|wide)') AND role = 'ours'
ORDER BY nth;

--
-- add: ten items to one user by UPDATE.  The floor writes random bytes of the same
-- length.  Filters as the nightly job would leave them: with headroom 0.2.
--
CREATE TABLE fresh_filters AS
SELECT user_id, (array_agg(item_id))[:10] AS known, bloom_agg(item_id, 0.01, 0.2) AS items FROM exposures GROUP BY user_id;
CREATE TABLE noise AS
SELECT id, decode(string_agg(md5(random()::text), ''), 'hex') AS bytes
FROM generate_series(1, 200) AS id, generate_series(1, 1000) GROUP BY id;
ALTER TABLE noise ADD PRIMARY KEY (id);
VACUUM (ANALYZE) noise;
CREATE TABLE adds (user_id bigint PRIMARY KEY, known bigint[], items bloom) WITH (toast_tuple_target = 8160, fillfactor = 50);
CREATE TABLE adds_bytes (user_id bigint PRIMARY KEY, known bigint[], items bytea) WITH (toast_tuple_target = 8160, fillfactor = 50);
ALTER TABLE adds_bytes ALTER items SET STORAGE EXTERNAL;

SELECT 'ARRAY[' || string_agg(':item::bigint + ' || n, ', ') || ']' AS ten FROM generate_series(0, 9) AS n \gset
INSERT INTO bench_method (part, name, role, how, units, floor, before, command)
SELECT 'add', name, role, 'pgbench', 2 * :users, 'random bytes',
	format('TRUNCATE %1$s; INSERT INTO %1$s SELECT user_id, known, items::%2$s FROM fresh_filters; VACUUM ANALYZE %1$s',
		target, CASE target WHEN 'adds' THEN 'bloom' ELSE 'bytea' END),
	format(E'\\set user random(1, %s) * 2654435761 & 4294967295\n'
		'\\set item random(1, 1000000000000000)\n\\set noise random(1, 200)\n%s;', :users, replace(command, '<ten>', :'ten'))
FROM (VALUES
	('random bytes', 'floor', 'adds_bytes',
		'UPDATE adds_bytes AS a SET items = substr(bytes, 1, octet_length(items)) FROM noise WHERE user_id = :user AND id = :noise'),
	('UPDATE', 'ours', 'adds', 'UPDATE adds SET items = bloom_add(items, <ten>) WHERE user_id = :user'),
	('INSERT ON CONFLICT', 'ours', 'adds', 'INSERT INTO adds AS a (user_id, items) VALUES (:user, bloom_add(NULL, <ten>))
		ON CONFLICT (user_id) DO UPDATE SET items = bloom_add(a.items, <ten>)'),
	('nothing changes, bytes', 'floor', 'adds_bytes', 'UPDATE adds_bytes SET items = items WHERE user_id = :user'),
	('nothing changes', 'ours', 'adds', 'UPDATE adds SET items = bloom_add(items, known) WHERE user_id = :user')
) AS m (name, role, target, command);
UPDATE bench_method SET floor = 'nothing changes, bytes' WHERE part = 'add' AND name LIKE 'nothing%';

CREATE FUNCTION bench_add_variable() RETURNS bloom LANGUAGE plpgsql AS $$
DECLARE
	f bloom := bloom_new(3300);		-- 4,000 bytes
BEGIN
	FOR i IN 1..1000 LOOP
		f := bloom_add(f, i);
	END LOOP;
	RETURN f;
END
$$;
INSERT INTO bench_method (part, name, role, units, command)
VALUES ('add', '1,000 adds to a variable of 4 kB', 'ours', 1000, 'SELECT bench_add_variable()');

INSERT INTO bench_target (part, name, metric, against, sense, must) VALUES
	('add', 'UPDATE', 'tps', 'random bytes', '>=', 0.9),
	('add', 'UPDATE', 'WAL bytes', 'random bytes', '<=', 1.05),
	('add', '1,000 adds to a variable of 4 kB', 'ms', NULL, '<=', 5);

--
-- huge: one big filter, and the cost of asking it.
--
INSERT INTO bench_method (part, name, role, how, floor, command) VALUES
	('huge', 'read it whole', 'floor', 'sql', NULL, 'SELECT get_byte(items, 0) FROM huge_bytes'),
	('huge', 'read the row only', 'floor', 'pgbench', NULL, 'SELECT items IS NULL FROM huge;'),
	('huge', 'filter @> item', 'ours', 'pgbench', 'read the row only',
		format(E'\\set item random(1, 2 * %s)\nSELECT items @> :item::bigint FROM huge;', :huge)),
	('huge', 'bloom_info', 'ours', 'sql', 'read it whole', 'SELECT bloom_info(items) FROM huge'),
	('huge', '1,000 candidates - filter', 'ours', 'sql', 'read it whole',
		'SELECT ARRAY(SELECT generate_series(1, 1000)) - items FROM huge');

INSERT INTO bench_target (part, name, metric, sense, must, aim) VALUES
	('huge', 'filter @> item', 'us', '<=', 1000, 100);

--
-- row: candidates that are rows, asked one by one.
--
INSERT INTO bench_method (part, name, role, units, floor, command)
SELECT 'row', name, role, (SELECT count(*) FROM candidate_rows), 'the join alone',
	'SELECT count(*) FROM candidate_rows AS c JOIN seen AS s USING (user_id) WHERE ' || condition
FROM (VALUES
	-- with a condition on each row, too, but one that costs nothing
	('the join alone', 'floor', 'c.item_id <> s.user_id'),
	('NOT filter @> item', 'ours', 'NOT s.items @> c.item_id'),
	('NOT EXISTS', 'peer',
		'NOT EXISTS (SELECT FROM exposures AS e WHERE e.user_id = c.user_id AND e.item_id = c.item_id)')
) AS m (name, role, condition);

INSERT INTO bench_target (part, name, metric, sense, must) VALUES
	('row', 'NOT filter @> item', 'net ns', '<=', 150);

--
-- curve: time of a call against the number of candidates in it.
--
INSERT INTO bench_method (part, name, role, units, floor, settings, command)
SELECT 'curve', n || ': ' || name, role, n * (SELECT count(*) FROM calls WHERE calls.candidates = n), n || ': unnest',
	CASE name WHEN 'NOT EXISTS, hashed' THEN :'hashed' ELSE '{}' END::text[],
	replace(command, '<n>', n::text)
FROM unnest('{100,300,1000,3000,10000}'::integer[]) AS n,
(VALUES
	(1, 'unnest', 'floor', 'SELECT sum(k) FROM calls AS c, LATERAL (SELECT count(i) FROM unnest(c.items) AS i) AS l (k)
		WHERE c.candidates = <n>'),
	(2, 'candidates - filter', 'ours', 'SELECT sum(cardinality(c.items - s.items)) FROM calls AS c JOIN seen AS s USING (user_id)
		WHERE c.candidates = <n>'),
	(3, 'intarray, int4', 'peer', 'SELECT sum(cardinality(c.items4 - s.items4)) FROM calls AS c JOIN seen_array AS s USING (user_id)
		WHERE c.candidates = <n>'),
	(4, 'NOT EXISTS, hashed', 'peer', format('SELECT sum(k) FROM calls AS c, LATERAL (%s) AS l (k) WHERE c.candidates = <n>',
		:'not_exists'))
) AS m (nth, name, role, command)
ORDER BY n, m.nth;

--
-- scale: pieces of batch, rows and build with ever more users, each in a schema of
-- its own.  What a candidate or a row costs must stay what it was.
--
INSERT INTO bench_method (part, name, role, floor, settings, command)
SELECT 'scale', times || 'x ' || p.part || ': ' || p.name, m.role, times || 'x ' || p.part || ': ' || m.floor,
	m.settings || format('search_path=scale_%s,public', times), m.command
FROM unnest('{1,4,16}'::integer[]) AS times,
(VALUES
	('batch', 'read both columns'), ('batch', 'candidates - filter'),
	('rows', 'FROM unnest'), ('rows', 'FROM bloom_exclude'),
	('build', 'hash: count'), ('build', 'hash: bloom_agg')
) AS p (part, name)
JOIN bench_method AS m USING (part, name)
ORDER BY times, m.nth;

INSERT INTO bench_target (part, name, metric, against, sense, must)
SELECT part, name, 'ns', regexp_replace(name, '^\d+', '1'), '<=', 1.3
FROM bench_method WHERE part = 'scale' AND role = 'ours' AND name NOT LIKE '1x%' ORDER BY nth;
