--
-- Every method against the exact answer, which the run does not survive if it is
-- wrong: a peer's must be the same multiset (the same set, where a method makes
-- sets).  A filter's may lack fresh candidates, at most the share p that it
-- promises and five standard deviations more, and nothing else: no exposed
-- candidate, no change in order or in duplicates.
--
CREATE TABLE truth AS
SELECT user_id, items, items4,
	ARRAY(SELECT i FROM unnest(items) WITH ORDINALITY AS u (i, nth)
		WHERE NOT EXISTS (SELECT FROM exposures AS e WHERE e.user_id = c.user_id AND e.item_id = i)
		ORDER BY nth) AS fresh
FROM candidates AS c;
ALTER TABLE truth ADD PRIMARY KEY (user_id);
ANALYZE truth;

-- Those of a that b has, with the order and the duplicates of a.
CREATE FUNCTION bench_kept(a bigint[], b bigint[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS
$$ SELECT ARRAY(SELECT i FROM unnest(a) WITH ORDINALITY AS u (i, nth) WHERE i IN (SELECT unnest(b)) ORDER BY nth) $$;

CREATE FUNCTION bench_sorted(a bigint[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS
$$ SELECT ARRAY(SELECT unnest(a) AS i ORDER BY i) $$;

CREATE FUNCTION bench_distinct(a bigint[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS
$$ SELECT ARRAY(SELECT DISTINCT unnest(a) AS i ORDER BY i) $$;

CREATE FUNCTION bench_numbers(a bigint[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS
$$ SELECT ARRAY(SELECT bench_number(unnest(a))::bigint) $$;

-- "answer" gives user_id and the survivors as bigint[], all the users.
CREATE PROCEDURE bench_check(name text, kind text, answer text, p float8 DEFAULT 0.01) LANGUAGE plpgsql AS $$
DECLARE
	wrong bigint;
	users bigint;
	fresh float8;
	dropped float8;
BEGIN
	EXECUTE format($q$
		SELECT count(*), count(*) FILTER (WHERE NOT coalesce(%s, false)),
			sum(cardinality(t.fresh)), sum(cardinality(t.fresh) - cardinality(a.items))
		FROM truth AS t JOIN (%s) AS a (user_id, items) USING (user_id)
		$q$, CASE kind
			WHEN 'multiset' THEN 'bench_sorted(a.items) = bench_sorted(t.fresh)'
			WHEN 'set' THEN 'bench_sorted(a.items) = bench_distinct(t.fresh)'
			WHEN 'set of int4' THEN 'bench_sorted(a.items) = bench_distinct(bench_numbers(t.fresh))'
			WHEN 'filter' THEN 'a.items = bench_kept(t.fresh, a.items)'
		END, answer) INTO users, wrong, fresh, dropped;

	IF users <> (SELECT count(*) FROM truth) THEN
		RAISE EXCEPTION 'WRONG RESULT of %: % users of %', name, users, (SELECT count(*) FROM truth);
	END IF;
	IF wrong > 0 THEN
		RAISE EXCEPTION 'WRONG RESULT of %: it differs for % of % users', name, wrong, users
			USING HINT = 'A filter may lack fresh candidates; anything else is wrong, above all a candidate that was exposed.';
	END IF;
	IF kind = 'filter' AND dropped > fresh * p + 5 * sqrt(fresh * p * (1 - p)) THEN
		RAISE EXCEPTION 'WRONG RESULT of %: it dropped % of % fresh candidates, promised is a share of %',
			name, dropped, fresh, p;
	END IF;
	RAISE NOTICE '%: right%', name,
		CASE kind WHEN 'filter' THEN format(', %s%% of %s fresh candidates dropped by mistake',
			round((100 * dropped / fresh)::numeric, 3), fresh) ELSE '' END;
END
$$;

SET client_min_messages = notice;
\set VERBOSITY terse

-- "%" stands for what makes the survivors of c (candidates) and s (filters or arrays).
CREATE PROCEDURE bench_check_expression(name text, kind text, seen text, expression text) LANGUAGE plpgsql AS $$
BEGIN
	CALL bench_check(name, kind, format('SELECT user_id, %s FROM candidates AS c JOIN %s AS s USING (user_id)', expression, seen));
END
$$;

-- Eight-byte little-endian integers, as bloom_exclude_packed takes them.
CREATE FUNCTION bench_pack(items bigint[]) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT coalesce(string_agg(decode(substr(h, 15, 2) || substr(h, 13, 2) || substr(h, 11, 2) || substr(h, 9, 2)
		|| substr(h, 7, 2) || substr(h, 5, 2) || substr(h, 3, 2) || substr(h, 1, 2), 'hex'), '' ORDER BY nth), '')
	FROM unnest(items) WITH ORDINALITY AS u (item, nth), encode(int8send(item), 'hex') AS h
$$;

CREATE FUNCTION bench_unpack(bytes bytea) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
	SELECT ARRAY(
		SELECT ('x' || substr(h, 15, 2) || substr(h, 13, 2) || substr(h, 11, 2) || substr(h, 9, 2)
			|| substr(h, 7, 2) || substr(h, 5, 2) || substr(h, 3, 2) || substr(h, 1, 2))::bit(64)::bigint
		FROM generate_series(1, octet_length(bytes), 8) AS at, encode(substr(bytes, at, 8), 'hex') AS h ORDER BY at)
$$;

CALL bench_check_expression('candidates - filter', 'filter', 'seen', 'c.items - s.items');
CALL bench_check_expression('candidates - filter in its row', 'filter', 'seen_inline', 'c.items - s.items');
CALL bench_check_expression('FROM bloom_exclude', 'filter', 'seen', 'ARRAY(SELECT i FROM bloom_exclude(c.items, s.items) AS i)');
CALL bench_check_expression('ARRAY(SELECT bloom_exclude)', 'filter', 'seen', 'ARRAY(SELECT bloom_exclude(c.items, s.items))');
CALL bench_check_expression('NOT filter @> item', 'filter', 'seen',
	'ARRAY(SELECT i FROM unnest(c.items) WITH ORDINALITY AS u (i, nth) WHERE NOT s.items @> i ORDER BY nth)');
CALL bench_check_expression('int4 candidates - filter', 'filter', '(SELECT user_id, bloom_agg(n, 0.01) AS items FROM seen_array, unnest(items4) AS n GROUP BY user_id)',
	'ARRAY(SELECT bench_id(unnest(c.items4 - s.items)))');
\if :packed
CALL bench_check_expression('packed - filter', 'filter', 'seen',
	'bench_unpack(bloom_exclude_packed(bench_pack(c.items), s.items))');
\endif
\if :windows
CALL bench_check_expression('candidates - window, built', 'filter', 'windows_built', 'c.items - s.items');
CALL bench_check_expression('candidates - window, kept daily', 'filter', 'windows_kept.filters', 'c.items - s.items');
\endif
CALL bench_check_expression('EXCEPT', 'set', 'seen',
	'ARRAY(SELECT unnest(c.items) EXCEPT SELECT item_id FROM exposures AS e WHERE e.user_id = c.user_id)');
CALL bench_check_expression('anti join of arrays', 'multiset', 'seen_array',
	'ARRAY(SELECT i FROM unnest(c.items) AS i WHERE NOT EXISTS (SELECT FROM unnest(s.items) AS j WHERE j = i))');
CALL bench_check_expression('intarray, int4', 'set of int4', 'seen_array', '(c.items4 - s.items4)::bigint[]');
\if :roaring
CALL bench_check_expression('roaringbitmap, int4', 'set of int4', 'seen_roaring',
	'rb_to_array(rb_andnot(rb_build(c.items4), s.items))::bigint[]');
\endif
\if :redis
CALL bench_check('RedisBloom', 'filter', 'SELECT user_id, items FROM redis_answer');
\endif

-- The timed statements return sums; these must be the sums of the answers above.
CREATE TABLE expected AS
WITH sums AS (
	SELECT sum(cardinality(t.items)) AS candidates, sum(cardinality(fresh)) AS fresh,
		sum(cardinality(bench_distinct(fresh))) AS distinct_fresh, sum(cardinality(t.items - s.items)) AS kept
	FROM truth AS t JOIN seen AS s USING (user_id)
)
SELECT part, name,
	CASE WHEN role = 'ours' THEN kept
		WHEN how = 'redis' THEN (SELECT sum(cardinality(items)) FROM redis_answer)
		WHEN name ~ 'unnest|echo' THEN candidates
		WHEN name ~ 'EXCEPT|intarray|roaring' THEN distinct_fresh
		ELSE fresh END AS survivors
FROM bench_method, sums
WHERE (part IN ('batch', 'rows', 'wire') OR how = 'redis') AND name <> 'read both columns';

CREATE PROCEDURE bench_check_sum(wanted text, method_name text, got numeric) LANGUAGE plpgsql AS $$
BEGIN
	IF got IS DISTINCT FROM (SELECT survivors FROM expected WHERE part = wanted AND name = method_name) THEN
		RAISE EXCEPTION 'WRONG RESULT of %: % in place of % survivors', method_name, got,
			(SELECT survivors FROM expected WHERE part = wanted AND name = method_name);
	END IF;
END
$$;

DO $$
DECLARE
	method bench_method;
	got numeric;
BEGIN
	FOR method IN SELECT m.* FROM bench_method AS m JOIN expected USING (part, name) WHERE how = 'sql' LOOP
		CALL bench_set(method.settings);
		EXECUTE method.command INTO got;
		COMMIT;		-- ends the settings
		CALL bench_check_sum(method.part, method.name, got);
	END LOOP;
	RAISE NOTICE 'the timed statements: right';
END
$$;
