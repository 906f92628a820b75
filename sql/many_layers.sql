--
-- Values with as many layers as there can be, each of which says that it has room: valid, and made to keep the
-- server busy.  What is done with them has results.
--
\set ECHO none
\pset format unaligned \pset tuples_only on
CREATE FUNCTION pg_temp.little(number bigint, bytes int) RETURNS text LANGUAGE sql AS
'SELECT string_agg(lpad(to_hex((number >> (8 * i)) & 255), 2, $$0$$), $$$$ ORDER BY i)
	FROM generate_series(0, bytes - 1) i';
-- Each layer has one bit set, and a capacity of its own.
CREATE FUNCTION pg_temp.many_layers(n int, words int, hashes int, capacity int, fpr float8, per_slice int,
	first_bit int DEFAULT 0) RETURNS bloom LANGUAGE sql AS $$
SELECT decode('01' || CASE WHEN per_slice > 0 THEN '21' ELSE '01' END || pg_temp.little(n, 2) || '00000000'
	|| (SELECT string_agg(substring(encode(float8send(fpr), 'hex') FROM 15 - 2 * i FOR 2), '' ORDER BY i)
		FROM generate_series(0, 7) i)
	|| CASE WHEN per_slice > 0 THEN pg_temp.little(6::bigint * 86400000000, 8) || '0000000000000080'
		|| pg_temp.little(6, 4) || '00000000' ELSE '' END
	|| (SELECT string_agg(pg_temp.little((hashes::bigint << 26) | words, 4)
		|| pg_temp.little(capacity + i % (capacity / 4), 4)
			|| pg_temp.little(capacity + i % (capacity / 4) - 1, 4) || '01000000'
			|| CASE WHEN per_slice > 0 THEN pg_temp.little(8000 + i / per_slice, 8) ELSE '' END, '' ORDER BY i)
				FROM generate_series(0, n - 1) i)
	|| (SELECT string_agg(repeat('00', (i + first_bit) % (8 * words)) || '01'
		|| repeat('00', 8 * words - 1 - (i + first_bit) % (8 * words)), '' ORDER BY i)
		FROM generate_series(0, n - 1) i), 'hex')::bloom
$$;
CREATE TABLE hostile AS
SELECT name, pg_temp.many_layers(4095, words, hashes, capacity, fpr, 0) AS f,
	pg_temp.many_layers(4095, words, hashes, capacity, fpr, 0, 7) AS g
FROM (VALUES ('many probes', 64, 63, 150, 0.9::float8), ('small', 2, 63, 10, 0.9), ('one probe', 64, 1, 2000, 0.9),
	('low rate', 64, 30, 90, 0.01)) AS v (name, words, hashes, capacity, fpr);

\echo '-- one item, a few, and those of a page, which find room or make one more layer'
SELECT name, one @> 1 AS one, (bloom_info(one)).layers, bloom_contains_all(few, '{1,2,3}'::int[]) AS few,
	(bloom_info(few)).layers
FROM hostile, bloom_add(f, 1) AS one, bloom_add(f, '{1,2,3}'::int[]) AS few;
SELECT name, bloom_contains_all(page, ARRAY(SELECT generate_series(1, 300))) AS page, (bloom_info(page)).layers
FROM hostile, bloom_add(f, ARRAY(SELECT generate_series(1, 300))) AS page WHERE name <> 'low rate';
\echo '-- tests, and what describes'
SELECT name, f @> 1 AS contained, cardinality(ARRAY(SELECT generate_series(1, 1000)) - f) AS remaining,
	(bloom_info(f)).items > 0 AS info,
	bloom_fpr(f) BETWEEN 0 AND 1 AS fpr, bloom_cardinality(f) > 0 AS cardinality,
	(SELECT count(*) FROM (SELECT bloom_layers(f) LIMIT 100) AS l) AS layers
FROM hostile;
\echo '-- unions: with itself, of two, and of many'
SELECT name, (bloom_info(f | f)).layers AS itself, (bloom_info(f | bloom_add(NULL, 1))).layers AS small FROM hostile;
CREATE FUNCTION pg_temp.layers_of_union(a bloom, b bloom) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN (bloom_info(a | b)).layers;
EXCEPTION WHEN program_limit_exceeded THEN
	RETURN SQLERRM;
END
$$;
SELECT name, pg_temp.layers_of_union(f, g), (SELECT (bloom_info(bloom_union_agg(h))).layers
	FROM (VALUES (f), (f), (f)) AS v (h)) AS agg FROM hostile;

\echo '-- windows: as many slices, and as many layers of one slice'
SELECT per_slice, one @> 1 AS one, (bloom_info(one)).layers,
	bloom_contains_all(few, ARRAY(SELECT generate_series(1, 50))) AS few,
	(bloom_info(bloom_expire(f, '2022-01-01 00:00+00'))).layers AS expired, pg_temp.layers_of_union(f, f)
FROM (SELECT per_slice, pg_temp.many_layers(4000, 64, 63, 150, 0.9, per_slice) AS f
	FROM unnest('{1,40,4000}'::int[]) AS per_slice) AS f,
	bloom_add_at(f, 1, '2000-01-01 00:00+00'::timestamptz + 8000 * interval '1 day') AS one,
	bloom_add_at(f, ARRAY(SELECT generate_series(1, 50)),
		ARRAY(SELECT '2000-01-01 00:00+00'::timestamptz + (8000 + i % 6) * interval '1 day' FROM generate_series(1, 50) i))
		AS few
ORDER BY per_slice;
DROP TABLE hostile;
