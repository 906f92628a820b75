--
-- The state of a table of filters
--
SET client_min_messages = warning;
\set SHOW_CONTEXT never
SET timezone = 'UTC';
\set state 'users, items, bytes, bytes_p50, bytes_p99, over_capacity, layers_max, promised_max, round(fpr_p50::numeric, 4) AS fpr_p50, round(fpr_p99::numeric, 4) AS fpr_p99, round(fpr_max::numeric, 4) AS fpr_max, oldest_rebuild'

CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom, rebuilt_at timestamptz);
SELECT :state FROM bloom_overview('seen', 'items', 100, 'rebuilt_at');
SELECT :state FROM bloom_overview('seen', 'items', 1);
-- rows without a filter are no users, and the time at which theirs was taken away is none of a rebuild
INSERT INTO seen VALUES (-1, NULL, '2026-01-01'), (-2, NULL, NULL);
SELECT :state FROM bloom_overview('seen', 'items', 100, 'rebuilt_at');

-- 1 to 200 have room for 20% more, small ones in their rows and large ones out of line; NULL: never rebuilt
INSERT INTO seen SELECT u, bloom_agg(n, 0.01, 0.2), '2026-01-10'::timestamptz + u * interval '1 minute'
FROM generate_series(1, 200) AS u, generate_series(1, u * 25) AS n GROUP BY u;
INSERT INTO seen VALUES (201, bloom_new(), NULL);
SELECT pg_column_size(items) > 2000 AS out_of_line, count(*) FROM seen WHERE items IS NOT NULL GROUP BY 1 ORDER BY 1;
SELECT :state FROM bloom_overview('seen', 'items', 100, 'rebuilt_at');
SELECT oldest_rebuild FROM bloom_overview('seen', 'items');

-- It is what the filters say one by one.  (bytes_p99 is of the 199th of 201.)
CREATE FUNCTION compare(filters regclass) RETURNS TABLE (users bool, items bool, bytes bool, p50 bool, p99 bool, over_capacity bool, layers bool, promised bool, rates bool)
LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT o.users = s.users, o.items = s.items, o.bytes = s.bytes, o.bytes_p50 = s.by_bytes[s.users / 2 + 1], o.bytes_p99 = s.by_bytes[ceil(s.users * 0.99)],
		o.over_capacity = s.grown / s.users::float8, o.layers_max = s.layers, o.promised_max = s.fpr, ARRAY[o.fpr_p50, o.fpr_p99, o.fpr_max] = ARRAY[s.by_rate[s.users / 2 + 1], s.by_rate[ceil(s.users * 0.99)], s.by_rate[s.users]]
		FROM bloom_overview(%1$L, ''items'') AS o,
			(SELECT count(*)::int AS users, sum(i.items) AS items, sum(pg_column_size(f.items)) AS bytes, array_agg(pg_column_size(f.items) ORDER BY pg_column_size(f.items)) AS by_bytes,
				count(*) FILTER (WHERE (SELECT max(n) FROM (SELECT count(*) AS n FROM bloom_layers(f.items) GROUP BY slice) AS l) > 1) AS grown,
				max(i.layers) AS layers, max(i.fpr) AS fpr, array_agg(bloom_fpr(f.items) ORDER BY bloom_fpr(f.items)) AS by_rate
			FROM %1$s AS f, bloom_info(f.items) AS i WHERE f.items IS NOT NULL) AS s', filters);
END
$$;
SELECT * FROM compare('seen');

-- grown: past the room of the first layer; a union, too, which promises less
UPDATE seen SET items = bloom_add(items, ARRAY(SELECT generate_series(1, user_id * 33)))
WHERE user_id <= 50 AND user_id > 0;
SELECT round(over_capacity::numeric, 3) AS over_capacity, layers_max, promised_max FROM bloom_overview('seen', 'items');
SELECT * FROM compare('seen');
UPDATE seen SET items = items | bloom_new(7, 0.5) WHERE user_id = 200;
SELECT round(over_capacity::numeric, 3) AS over_capacity, layers_max, promised_max FROM bloom_overview('seen', 'items');

-- Windows have a layer a slice, however many: only a second one of a slice counts.
CREATE TABLE recent (user_id bigint PRIMARY KEY, items bloom);
INSERT INTO recent SELECT u, bloom_window_agg(n, '2026-01-01 00:00+00'::timestamptz + n * interval '1 day', '30 days', 6, 0.01)
FROM generate_series(1, 4) AS u, generate_series(1, u * 10 - 5) AS n GROUP BY u;
INSERT INTO recent VALUES (5, bloom_window('30 days'));
SELECT users, items, over_capacity, layers_max FROM bloom_overview('recent', 'items');
UPDATE recent SET items = bloom_add_at(items, ARRAY(SELECT generate_series(1001, 1100)), array_fill('2026-01-03 00:00+00'::timestamptz, ARRAY[100])) WHERE user_id = 2;
SELECT users, items, over_capacity, layers_max FROM bloom_overview('recent', 'items');
SELECT * FROM compare('recent');
-- What is never expired shows in the rates.
UPDATE recent SET items = bloom_expire(items, '2026-02-05') WHERE user_id = 4;
SELECT fpr_max < promised_max AS within FROM bloom_overview('recent', 'items');
INSERT INTO recent SELECT 6, bloom_window_agg(n, '2026-01-01 00:00+00'::timestamptz + n * interval '1 hour', '5 days', 5, 0.01) FROM generate_series(1, 1000) AS n;
SELECT fpr_max > 3 * promised_max AS beyond FROM bloom_overview('recent', 'items');

-- A counting filter can't grow: it is over its capacity when it takes no more.
CREATE TABLE banned (items bloom);
INSERT INTO banned SELECT bloom_add(bloom_new(100, counting => true), ARRAY(SELECT generate_series(1, n))) FROM unnest('{0,50,99}'::int[]) AS n;
SELECT users, items, over_capacity, layers_max FROM bloom_overview('banned', 'items');
INSERT INTO banned SELECT bloom_new(1, counting => true);
UPDATE banned SET items = bloom_add(items, 1) WHERE (bloom_info(items)).capacity = 1;
SELECT users, items, over_capacity, layers_max FROM bloom_overview('banned', 'items');

--
-- A sample: 20,000 users, few a page, every tenth without a filter.  Each of 2,000 pages or more is read with a chance
-- of a fifth, so the standard deviation of what is scaled up is less than 5%, and 30% off is no chance.  Percentiles and
-- shares are not scaled.
--
CREATE TABLE many (user_id bigint PRIMARY KEY, items bloom) WITH (fillfactor = 10);
INSERT INTO many SELECT u, CASE WHEN u % 10 > 0 THEN bloom_agg(n) END FROM generate_series(1, 20000) AS u, generate_series(1, u % 3 * 10 + 1) AS n GROUP BY u;
SELECT users, items FROM bloom_overview('many', 'items');
SELECT pg_relation_size('many') / 8192 > 2000 AS many_pages;
SELECT bool_and(abs(s.users / a.users::float8 - 1) < 0.3) AS users, bool_and(abs(s.items / a.items::float8 - 1) < 0.3) AS items,
	bool_and(abs(s.bytes / a.bytes::float8 - 1) < 0.3) AS bytes, bool_and(s.bytes_p50 = a.bytes_p50) AS p50, bool_and(s.bytes_p99 = a.bytes_p99) AS p99,
	bool_and(s.over_capacity = a.over_capacity AND s.layers_max = a.layers_max AND s.promised_max = a.promised_max) AS others, count(DISTINCT s.users) > 1 AS another_one_each_time
FROM bloom_overview('many', 'items') AS a, generate_series(1, 8) AS n, LATERAL bloom_overview('many', 'items', 20 + n * 0) AS s;

--
-- Tables of all sorts
--
-- (rows as wide as those of seen: the same filters go out of line)
CREATE TABLE parts (user_id bigint, items bloom, rebuilt_at timestamptz) PARTITION BY HASH (user_id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT * FROM seen;
CREATE MATERIALIZED VIEW kept AS SELECT * FROM parts;
CREATE VIEW shown AS SELECT * FROM parts;
CREATE TEMPORARY TABLE passing AS SELECT * FROM parts;
SELECT relation, o = (SELECT s FROM bloom_overview('seen', 'items') AS s) AS same, o = bloom_overview(relation, 'items', 99.9999999) AS sample_of_all
FROM unnest('{parts,kept,passing}'::regclass[]) AS relation, bloom_overview(relation, 'items') AS o;
SELECT o = (SELECT s FROM bloom_overview('seen', 'items') AS s) AS same FROM bloom_overview('shown', 'items') AS o;
DO $$ BEGIN PERFORM bloom_overview('shown', 'items', 50); EXCEPTION WHEN OTHERS THEN RAISE WARNING '%: %', SQLSTATE, SQLERRM; END $$;
-- other types of time
CREATE TABLE dated (items bloom, d date, t timestamp, n int);
INSERT INTO dated VALUES (bloom_new(), '2026-01-02', '2026-01-03 12:00', 1);
SELECT d.oldest_rebuild AS d, t.oldest_rebuild AS t FROM bloom_overview('dated', 'items', 100, 'd') AS d, bloom_overview('dated', 'items', 100, 't') AS t;
DO $$ BEGIN PERFORM bloom_overview('dated', 'items', 100, 'n'); EXCEPTION WHEN OTHERS THEN RAISE WARNING '%: %', SQLSTATE, SQLERRM; END $$;

--
-- Names of all sorts, in a search_path with traps
--
CREATE SCHEMA "sch""ema";
CREATE TABLE "sch""ema"."%I'; DROP TABLE seen; --" ("$1') FROM seen; --" bloom, "re""built %s" timestamptz);
INSERT INTO "sch""ema"."%I'; DROP TABLE seen; --" SELECT items, rebuilt_at FROM seen;
CREATE FUNCTION "sch""ema".trap() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'in the trap'; END $$;
CREATE FUNCTION "sch""ema".bloom_info(bloom, OUT items bigint, OUT layers int, OUT fpr float8, OUT fpr_now float8, OUT slices int, OUT counting bool, OUT capacity bigint) LANGUAGE sql AS 'SELECT "sch""ema".trap(), 1, 0, 0, 0, true, 0';
CREATE FUNCTION "sch""ema".pg_column_size(bloom) RETURNS int LANGUAGE sql AS 'SELECT "sch""ema".trap()::int';
CREATE FUNCTION "sch""ema".larger(bigint, int) RETURNS bool LANGUAGE sql AS 'SELECT "sch""ema".trap() > 0';
CREATE FUNCTION "sch""ema".larger(int, int) RETURNS bool LANGUAGE sql AS 'SELECT "sch""ema".trap() > 0';
CREATE FUNCTION "sch""ema".times(bigint, numeric) RETURNS numeric LANGUAGE sql AS 'SELECT "sch""ema".trap()';
CREATE FUNCTION "sch""ema".divided(int, float8) RETURNS float8 LANGUAGE sql AS 'SELECT "sch""ema".trap()::float8';
CREATE FUNCTION "sch""ema".equal(oid, regclass) RETURNS bool LANGUAGE sql AS 'SELECT "sch""ema".trap() > 0';
CREATE OPERATOR "sch""ema".> (LEFTARG = bigint, RIGHTARG = int, FUNCTION = "sch""ema".larger);
CREATE OPERATOR "sch""ema".> (LEFTARG = int, RIGHTARG = int, FUNCTION = "sch""ema".larger);
CREATE OPERATOR "sch""ema".* (LEFTARG = bigint, RIGHTARG = numeric, FUNCTION = "sch""ema".times);
CREATE OPERATOR "sch""ema"./ (LEFTARG = int, RIGHTARG = float8, FUNCTION = "sch""ema".divided);
CREATE OPERATOR "sch""ema".= (LEFTARG = oid, RIGHTARG = regclass, FUNCTION = "sch""ema".equal);
CREATE TABLE "sch""ema".pg_class (oid oid);
CREATE TABLE "sch""ema".pg_attribute (attname name);
CREATE DOMAIN "sch""ema".numeric AS text;
CREATE DOMAIN "sch""ema".int8 AS text CHECK (value = 'trap');
SET search_path = 'sch"ema', pg_catalog, public;
SELECT 1::bigint > 1;
SELECT users, items, layers_max, oldest_rebuild FROM public.bloom_overview('"%I''; DROP TABLE seen; --"', '$1'') FROM seen; --', 100, 're"built %s');
SELECT users AS sample_of_all FROM public.bloom_overview('"%I''; DROP TABLE seen; --"', '$1'') FROM seen; --', 99.9999999, 're"built %s');
SELECT * FROM public.bloom_overview('"%I''; DROP TABLE seen; --"', 'items');
RESET search_path;
SELECT count(*) FROM seen;
\set VERBOSITY terse
DROP SCHEMA "sch""ema" CASCADE;
\set VERBOSITY default
-- wherever the extension is
CREATE SCHEMA shelf;
ALTER EXTENSION bloomexp SET SCHEMA shelf;
SELECT users, layers_max FROM shelf.bloom_overview('seen', 'items');
SELECT users, layers_max FROM shelf.bloom_overview('recent', 'items');
ALTER EXTENSION bloomexp SET SCHEMA public;
DROP SCHEMA shelf;

-- the rights are the caller's, and those on the columns suffice
CREATE ROLE regress_bloomexp_reader;
GRANT SELECT (items) ON seen TO regress_bloomexp_reader;
SET ROLE regress_bloomexp_reader;
SELECT users FROM bloom_overview('seen', 'items');
SELECT users FROM bloom_overview('seen', 'items', 99.9999999);
\set VERBOSITY terse
SELECT users FROM bloom_overview('seen', 'items', 100, 'rebuilt_at');
SELECT users FROM bloom_overview('recent', 'items');
\set VERBOSITY default
RESET ROLE;
GRANT SELECT (rebuilt_at) ON seen TO regress_bloomexp_reader;
SET ROLE regress_bloomexp_reader;
SELECT users, oldest_rebuild FROM bloom_overview('seen', 'items', 100, 'rebuilt_at');
RESET ROLE;
DROP OWNED BY regress_bloomexp_reader;
DROP ROLE regress_bloomexp_reader;

-- The only column of type bloom need not be named.
SELECT o = (SELECT s FROM bloom_overview('seen', 'items') AS s) AS same FROM bloom_overview('seen') AS o;
SELECT o = (SELECT s FROM bloom_overview('seen', 'items') AS s) AS same FROM bloom_overview('seen', NULL, 100) AS o;

--
-- Errors
--
CREATE TABLE user_ids (user_id bigint, items bytea);
CREATE TABLE two (items bloom, gone bloom, "it""ems" bloom);
ALTER TABLE two DROP COLUMN gone;
\set VERBOSITY terse
SELECT bloom_overview(NULL, 'items');
SELECT bloom_overview('user_ids');
SELECT bloom_overview('two');
SELECT bloom_overview('seen', 'items', NULL);
SELECT bloom_overview('seen', 'items', 0);
SELECT bloom_overview('seen', 'items', -1);
SELECT bloom_overview('seen', 'items', 100.1);
SELECT bloom_overview('seen', 'items', 'NaN');
SELECT bloom_overview('nothing', 'items');
SELECT bloom_overview(1::oid::regclass, 'items');
SELECT bloom_overview('seen', 'Items');
SELECT bloom_overview('seen', 'ctid');
SELECT bloom_overview('seen', 'user_id');
SELECT bloom_overview('seen', 'items', 100, 'rebuilt');
ALTER TABLE dated DROP COLUMN n;
SELECT bloom_overview('dated', 'items', 100, '........pg.dropped.4........');
SELECT bloom_overview('seen_pkey', 'user_id');
\set VERBOSITY default
DROP VIEW shown;
DROP MATERIALIZED VIEW kept;
DROP TABLE seen, recent, banned, many, parts, passing, dated, user_ids, two;
DROP FUNCTION compare;
