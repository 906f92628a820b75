--
-- Users, what they were shown, and 1,000 candidates for each, of which 30% were shown.  Variable:
-- users.
--
SET client_min_messages = warning;
CREATE EXTENSION intarray;
SELECT setseed(0.5) \g /dev/null

-- Items are numbers of a catalogue, and ids like snowflakes: milliseconds, then 22 bits.
CREATE FUNCTION id(number bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT ((410000000000 + number * 5171) << 22) | (number * 2654435761 & 4194303) $$;
CREATE FUNCTION number(id bigint) RETURNS integer LANGUAGE sql IMMUTABLE AS
$$ SELECT (((id >> 22) - 410000000000) / 5171)::integer $$;

-- How much a user has seen, Zipf-like: the median 300 items, one in a hundred 5,000, at most
-- 10,000.  Each user walks through the catalogue with a stride of their own: 1,999,993 is a prime,
-- so nothing comes twice.
CREATE FUNCTION seen_by(u bigint, users bigint) RETURNS integer LANGUAGE sql IMMUTABLE AS
$$ SELECT least(10000,
	300 * (10155 / (155 + (u - 0.5::float8) * 20000 / users)) ^ 0.84)::integer $$;
CREATE FUNCTION item(u bigint, nth bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT (u * 7907 + nth * (u * 48271 % 1999992 + 1)) % 1999993 $$;
CREATE FUNCTION drawn(u bigint, seen bigint, candidates bigint) RETURNS bigint[] LANGUAGE sql AS $$
	SELECT array_agg(CASE WHEN n <= 0.3 * candidates THEN item(u, n % seen + 1)
		ELSE floor(random() * 1999993)::bigint END ORDER BY random())
	FROM generate_series(1, candidates) AS n
$$;

CREATE TABLE exposures AS
SELECT u AS user_id, id(item(u, nth)) AS item_id FROM generate_series(1, 10000) AS nth,
	generate_series(1, :users) AS u
WHERE nth <= seen_by(u, :users);
ALTER TABLE exposures ADD PRIMARY KEY (user_id, item_id);
VACUUM (ANALYZE) exposures;

CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom) WITH (toast_tuple_target = 8160);
INSERT INTO seen SELECT user_id, bloom_agg(item_id, 0.01) FROM exposures GROUP BY user_id;
CREATE TABLE seen_array (user_id bigint PRIMARY KEY, items bigint[], numbers integer[]);
ALTER TABLE seen_array ALTER items SET STORAGE EXTERNAL, ALTER numbers SET STORAGE EXTERNAL;
INSERT INTO seen_array
SELECT user_id, array_agg(item_id ORDER BY item_id), array_agg(number(item_id) ORDER BY item_id)
	FROM exposures GROUP BY user_id;
CREATE TABLE candidates (user_id bigint PRIMARY KEY, items bigint[], numbers integer[]);
ALTER TABLE candidates ALTER items SET STORAGE EXTERNAL, ALTER numbers SET STORAGE EXTERNAL;
INSERT INTO candidates
SELECT u, ARRAY(SELECT id(i) FROM unnest(c) AS i), c::integer[]
FROM generate_series(1, :users) AS u, drawn(u, seen_by(u, :users), 1000) AS c;
CREATE TABLE calls AS
SELECT candidates, u AS user_id, ARRAY(SELECT id(i) FROM unnest(c) AS i) AS items,
	c::integer[] AS numbers
FROM unnest('{100,300,1000,3000,10000}'::integer[]) AS candidates,
generate_series(:users / 40, :users, :users / 20) AS u,
	drawn(u, seen_by(u, :users), candidates) AS c;
ALTER TABLE calls ALTER items SET STORAGE EXTERNAL, ALTER numbers SET STORAGE EXTERNAL;
\if :roaring
CREATE EXTENSION roaringbitmap;
CREATE TABLE seen_bitmap AS SELECT user_id, rb64_build(items) AS items, rb_build(numbers) AS numbers
	FROM seen_array;
CREATE TABLE candidate_bitmap AS SELECT user_id, rb64_build(items) AS items FROM candidates;
ALTER TABLE seen_bitmap ADD PRIMARY KEY (user_id);
ALTER TABLE candidate_bitmap ADD PRIMARY KEY (user_id);
\endif
VACUUM ANALYZE;

-- The candidates that must remain.
CREATE TABLE truth AS
SELECT user_id, ARRAY(SELECT i FROM unnest(items) WITH ORDINALITY AS u (i, nth)
	WHERE NOT EXISTS (SELECT FROM exposures AS e WHERE e.user_id = c.user_id AND e.item_id = i)
		ORDER BY nth) AS fresh
FROM candidates AS c;
ALTER TABLE truth ADD PRIMARY KEY (user_id);
VACUUM ANALYZE truth;
CREATE FUNCTION sorted(a bigint[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
	SELECT ARRAY(SELECT unnest(a) AS i ORDER BY i) $$;
CREATE FUNCTION distinct_of(a bigint[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
	SELECT ARRAY(SELECT DISTINCT unnest(a) AS i ORDER BY i) $$;
CREATE FUNCTION those_in(a bigint[], b bigint[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS
$$ SELECT ARRAY(SELECT i FROM unnest(a) WITH ORDINALITY AS u (i, nth) WHERE i IN (SELECT unnest(b))
	ORDER BY nth) $$;

-- Methods.  kind is what a method returns: a list in the candidates' order, a set, or the filter's
-- list.  The latter may lack unseen candidates: 1%, the target rate, and five standard deviations.
CREATE TABLE methods (nth serial, part text, method text, kind text, form text, program text,
	statement text);
CREATE TABLE answers (user_id bigint, n int, items bigint[]);
CREATE PROCEDURE check_answers(method text, kind text, form text) LANGUAGE plpgsql AS $$
DECLARE
	users int;
	wrong int;
	fresh float8;
	missing float8;
BEGIN
	SELECT count(*), count(*) FILTER (WHERE NOT CASE WHEN form = 'count' THEN CASE kind
			WHEN 'list' THEN a.n = cardinality(t.fresh)
			WHEN 'set' THEN a.n = cardinality(distinct_of(t.fresh))
			ELSE a.n <= cardinality(t.fresh) END
		ELSE CASE kind
			WHEN 'list' THEN a.items = t.fresh
			WHEN 'set' THEN sorted(a.items) = distinct_of(t.fresh)
			ELSE a.items = those_in(t.fresh, a.items) END END),
		sum(cardinality(t.fresh)), sum(cardinality(t.fresh) - a.n)
	INTO users, wrong, fresh, missing FROM truth AS t JOIN answers AS a USING (user_id);
	IF users <> (SELECT count(*) FROM truth) OR wrong > 0 THEN
		RAISE EXCEPTION 'WRONG RESULT of %: % of % users', method, wrong, users;
	END IF;
	IF kind = 'filter' AND missing > fresh * 0.01 + 5 * sqrt(fresh * 0.01) THEN
		RAISE EXCEPTION 'WRONG RESULT of %: % of % unseen candidates are excluded',
		method, missing, fresh;
	END IF;
	RAISE NOTICE '%: right, % of unseen candidates excluded', method,
		round((missing / fresh)::numeric, 5);
	TRUNCATE answers;
END
$$;

-- Microseconds of a statement: the fastest of those that fit into 0.2 s, because other work can
-- only add to it.
CREATE TABLE times (part text, method text, client int, round int, per_second float8,
	us float8, p99 float8);
CREATE FUNCTION fastest_us(statement text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	start timestamptz := clock_timestamp();
	before timestamptz;
	fastest interval;
BEGIN
	LOOP
		before := clock_timestamp();
		EXECUTE statement;
		fastest := least(fastest, clock_timestamp() - before);
		EXIT WHEN clock_timestamp() > start + interval '0.2 s';
	END LOOP;
	RETURN 1e6 * extract(epoch FROM fastest);
END
$$;
CREATE PROCEDURE measure(of_part text, rounds int) LANGUAGE plpgsql AS $$
DECLARE
	m methods;
BEGIN
	FOR round IN 1 .. rounds LOOP
		FOR m IN SELECT * FROM methods WHERE part = of_part ORDER BY CASE round % 2 WHEN 1 THEN nth
		ELSE -nth END LOOP
			INSERT INTO times (part, method, round, us)
				VALUES (of_part, m.method, round, fastest_us(m.statement));
			COMMIT;
		END LOOP;
	END LOOP;
END
$$;

-- One request per user.
SELECT 'SELECT count(*) FROM unnest(c.items) AS i
	WHERE i NOT IN (SELECT item_id FROM exposures AS e WHERE e.user_id = c.user_id)' AS not_in \gset
INSERT INTO methods (part, method, kind, form, program, statement) VALUES
('stored', 'read the candidates', NULL, 'count', 'server', 'SELECT cardinality(items)::bigint
	FROM candidates WHERE user_id = $1'),
('stored', 'candidates - filter', 'filter', 'count', 'server',
	'SELECT cardinality(c.items - s.items)::bigint FROM candidates AS c
		JOIN seen AS s USING (user_id) WHERE user_id = $1'),
('stored', 'NOT IN, hashed', 'list', 'count', 'server', 'SELECT n FROM candidates AS c,
	LATERAL (' || :'not_in' || ') AS k (n) WHERE user_id = $1'),
('stored', 'intarray, int4', 'set', 'count', 'server',
	'SELECT cardinality(c.numbers - s.numbers)::bigint FROM candidates AS c
		JOIN seen_array AS s USING (user_id) WHERE user_id = $1'),
('stored', 'RedisBloom, a script', 'filter', 'count', 'redis', NULL),
('sent', 'echo the array', NULL, 'array', 'server', 'SELECT $1::bigint[]
	WHERE $2::bigint IS NOT NULL'),
('sent', 'array - filter', 'filter', 'array', 'server',
	'SELECT $1::bigint[] - (SELECT items FROM seen WHERE user_id = $2::bigint)'),
('sent', 'packed - filter', 'filter', 'packed', 'server',
	'SELECT bloom_exclude_packed($1::bytea, (SELECT items FROM seen WHERE user_id = $2::bigint))'),
('sent', 'NOT IN, hashed', 'list', 'array', 'server',
	'SELECT ARRAY(SELECT i FROM unnest($1::bigint[]) AS i
		WHERE i NOT IN (SELECT item_id FROM exposures AS e WHERE e.user_id = $2::bigint))'),
('sent', 'RedisBloom, BF.MEXISTS', 'filter', 'array', 'redis', '');
\if :roaring
INSERT INTO methods (part, method, kind, form, program, statement) VALUES
('stored', 'roaringbitmap64', 'set', 'count', 'server',
	'SELECT rb64_andnot_cardinality(rb64_build(c.items), s.items)::bigint FROM candidates AS c
		JOIN seen_bitmap AS s USING (user_id) WHERE user_id = $1'),
('stored', 'roaringbitmap64, candidates as a bitmap', 'set', 'count', 'server',
	'SELECT rb64_andnot_cardinality(c.items, s.items)::bigint FROM candidate_bitmap AS c
		JOIN seen_bitmap AS s USING (user_id) WHERE user_id = $1'),
('stored', 'roaringbitmap, int4', 'set', 'count', 'server',
	'SELECT rb_andnot_cardinality(rb_build(c.numbers), s.numbers)::bigint FROM candidates AS c
		JOIN seen_bitmap AS s USING (user_id) WHERE user_id = $1'),
('sent', 'roaringbitmap64', 'set', 'array', 'server',
	'SELECT rb64_to_array(rb64_andnot(rb64_build($1::bigint[]),
		(SELECT items FROM seen_bitmap WHERE user_id = $2::bigint)))');
\endif
DELETE FROM methods WHERE program = 'redis' AND NOT :redis;

-- One call against the number of its candidates.
INSERT INTO methods (part, method, statement)
SELECT 'curve', n || '|' || method, replace(statement, '<n>', n::text)
FROM unnest('{100,300,1000,3000,10000}'::integer[]) AS n, (VALUES
	('unnest alone', 'SELECT sum(k) FROM calls AS c,
		LATERAL (SELECT count(i) FROM unnest(c.items) AS i) AS l (k)
		WHERE c.candidates = <n>', true),
	('bloomexp', 'SELECT sum(cardinality(c.items - s.items)) FROM calls AS c
		JOIN seen AS s USING (user_id) WHERE c.candidates = <n>', true),
	('intarray, int4', 'SELECT sum(cardinality(c.numbers - s.numbers)) FROM calls AS c
		JOIN seen_array AS s USING (user_id) WHERE c.candidates = <n>', true),
	('roaringbitmap64', 'SELECT sum(rb64_andnot_cardinality(rb64_build(c.items), s.items))
		FROM calls AS c JOIN seen_bitmap AS s USING (user_id) WHERE c.candidates = <n>', :roaring),
	('NOT IN, hashed', 'SELECT sum(k) FROM calls AS c, LATERAL (' || :'not_in' || ') AS l (k)
		WHERE c.candidates = <n>', true)
) AS m (method, statement, possible) WHERE possible;

-- The second check of doc/recipes.md, by how much the users have seen.
CREATE TABLE sized AS
SELECT * FROM (SELECT user_id, size, row_number() OVER (PARTITION BY size) AS nth
	FROM seen_array, LATERAL (
	SELECT CASE WHEN cardinality(items) < 500 THEN 'fewer than 500' WHEN cardinality(items) < 2000
		THEN 'fewer than 2,000' ELSE '2,000 and more' END AS size) AS s) AS n
WHERE nth <= 50;
CREATE INDEX ON sized (size);
ANALYZE sized;
INSERT INTO methods (part, method, statement)
SELECT 'recheck', size || '|' || method, format(statement, size)
FROM unnest('{"fewer than 500","fewer than 2,000","2,000 and more"}'::text[]) AS size, (VALUES
	('filter alone', 'SELECT sum(cardinality(c.items - s.items)) FROM sized AS u
		JOIN candidates AS c USING (user_id) JOIN seen AS s USING (user_id) WHERE size = %L'),
	('filter and second check', 'SELECT sum(n) FROM sized AS u JOIN candidates AS c USING (user_id)
		JOIN seen AS s USING (user_id), LATERAL (SELECT count(*)
		FROM unnest(c.items, bloom_contains_each(s.items, c.items)) AS k (i, hit)
		WHERE NOT hit OR NOT EXISTS (SELECT FROM exposures AS e WHERE e.user_id = c.user_id
			AND e.item_id = i OFFSET 0)) AS l (n) WHERE size = %L'),
	('NOT IN, hashed', 'SELECT sum(n) FROM sized AS u JOIN candidates AS c USING (user_id),
		LATERAL (' || :'not_in' || ') AS l (n) WHERE size = %L')
) AS m (method, statement);

-- Nanoseconds per candidate of one call in memory, by the type of the items, made from a number.
CREATE TABLE types AS
SELECT * FROM (VALUES (1, 'bigint', 'bigint', 'id(i)'), (2, 'integer', 'integer', 'i'),
	(3, 'uuid', 'uuid', 'md5(i::text)::uuid'),
	(4, 'text, 16 bytes', 'text', 'left(md5(i::text), 16)'),
		(5, 'text, 8 to 32 bytes', 'text', 'left(md5(i::text), 8 + i %% 25)')) AS t (nth,
		name, type, item);
CREATE TABLE type_times (name text, exposed int, round int, ns float8);
CREATE PROCEDURE measure_types(rounds int) LANGUAGE plpgsql AS $m$
DECLARE
	t types;
	exposed int;
	ns float8;
BEGIN
	FOR t IN SELECT * FROM types LOOP
		EXECUTE format(replace($f$
			CREATE FUNCTION call_%s(exposed float8) RETURNS float8 LANGUAGE plpgsql AS $$
			DECLARE
				f bloom := (SELECT bloom_agg(<item>, 0.01) FROM generate_series(1, 3650) AS i);
				-- several, so that the processor cannot learn the answers
				c1 %2$s[] := ARRAY(SELECT <item> FROM drawn_numbers(exposed) AS i);
				c2 %2$s[] := ARRAY(SELECT <item> FROM drawn_numbers(exposed) AS i);
				c3 %2$s[] := ARRAY(SELECT <item> FROM drawn_numbers(exposed) AS i);
				c4 %2$s[] := ARRAY(SELECT <item> FROM drawn_numbers(exposed) AS i);
				start timestamptz;
				middle timestamptz;
				empty interval;
				busy interval;
				n bigint := 0;
			BEGIN
				FOR attempt IN 1 .. 5 LOOP
					start := clock_timestamp();
					FOR turn IN 1 .. 40 LOOP
						n := n + cardinality(c1) + cardinality(c2)
							+ cardinality(c3) + cardinality(c4);
					END LOOP;
					middle := clock_timestamp();
					FOR turn IN 1 .. 40 LOOP
						n := n + cardinality(c1 - f) + cardinality(c2 - f)
							+ cardinality(c3 - f) + cardinality(c4 - f);
					END LOOP;
					busy := least(busy, clock_timestamp() - middle);
					empty := least(empty, middle - start);
				END LOOP;
				RETURN 1e9 * extract(epoch FROM busy - empty) / (40 * 4 * 1000);
			END
			$$ $f$, '<item>', t.item), t.nth, t.type);
	END LOOP;
	FOR round IN 1 .. rounds LOOP
		FOR t IN SELECT * FROM types LOOP
			FOREACH exposed IN ARRAY '{0,50,90}'::int[] LOOP
				EXECUTE format('SELECT call_%s(%s / 100.0)', t.nth, exposed) INTO ns;
				INSERT INTO type_times VALUES (t.name, exposed, round, ns);
			END LOOP;
		END LOOP;
	END LOOP;
END
$m$;
CREATE FUNCTION drawn_numbers(exposed float8) RETURNS SETOF integer LANGUAGE sql AS $$
	SELECT CASE WHEN nth <= exposed * 1000 THEN 1 + floor(random() * 3650)
		ELSE 200001 + floor(random() * 1700000) END::integer
	FROM generate_series(1, 1000) AS nth ORDER BY random()
$$;
