--
-- The validator: each of its rules is broken by bytes that break no other.  doc/internals/format.md describes the fields.
--
SET client_min_messages = warning;

-- numbers, little-endian
CREATE FUNCTION u(size int, n bigint) RETURNS bytea LANGUAGE sql AS
$$ SELECT string_agg(substring(int8send(n) FROM 9 - i FOR 1), '' ORDER BY i) FROM generate_series(1, size) i $$;
CREATE FUNCTION f64(n float8) RETURNS bytea LANGUAGE sql AS
$$ SELECT string_agg(substring(float8send(n) FROM 9 - i FOR 1), '' ORDER BY i) FROM generate_series(1, 8) i $$;

-- a header, of integers unless the flags say otherwise
CREATE FUNCTION head(layers int, flags int DEFAULT 0, kind int DEFAULT 1, fpr float8 DEFAULT 0.01, version int DEFAULT 1) RETURNS bytea LANGUAGE sql AS
$$ SELECT u(1, version) || u(1, flags + kind) || u(2, layers) || u(4, 0) || f64(fpr) $$;
CREATE FUNCTION win(width bigint DEFAULT 6000000, slices bigint DEFAULT 6, reserved bigint DEFAULT 0) RETURNS bytea LANGUAGE sql AS
$$ SELECT u(8, width) || u(8, 0) || u(4, slices) || u(4, reserved) $$;
-- a layer's header
CREATE FUNCTION layer(words bigint DEFAULT 1, hashes bigint DEFAULT 2, capacity bigint DEFAULT 3, items bigint DEFAULT 1, bits_set bigint DEFAULT 2) RETURNS bytea LANGUAGE sql AS
$$ SELECT u(4, hashes << 26 | words) || u(4, capacity) || u(4, items) || u(4, bits_set) $$;
-- positions: words of them, of which the first byte is given
CREATE FUNCTION bits(first text DEFAULT '03', words int DEFAULT 1) RETURNS bytea LANGUAGE sql AS
$$ SELECT decode(rpad(first, words * 16, '0'), 'hex') $$;

CREATE FUNCTION complaint(bytes bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	RETURN CASE WHEN bytes::bloom::bytea = bytes THEN 'valid' ELSE 'changed' END;
EXCEPTION WHEN invalid_binary_representation OR feature_not_supported THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN SQLSTATE || ' ' || detail;
END
$$;

SELECT name, complaint(bytes) FROM (VALUES
	(0, 'plain', head(1) || layer() || bits()),
	(0, 'plain, two layers', head(2) || layer() || layer() || bits() || bits()),
	(0, 'window', head(1, 32) || win() || layer() || u(8, 7) || bits()),
	(0, 'window, two slices', head(2, 32) || win() || layer() || u(8, -7) || layer() || u(8, 7) || bits() || bits()),
	(0, 'window without layers', head(0, 32) || win()),
	(0, 'counting', head(1, 16) || layer(bits_set => 2) || bits('11', 4)),
	(0, 'nothing added', head(1, kind => 0) || layer(items => 0, bits_set => 0) || bits('00')),

	(1, 'version 0', head(1, version => 0) || layer() || bits()),
	(1, 'version 2', head(1, version => 2) || layer() || bits()),
	(1, 'empty', ''),
	(1, '15 bytes', substring(head(1) FOR 15)),
	(1, 'kind 5', head(1, kind => 5) || layer() || bits()),
	(1, 'flag 64', head(1, 64) || layer() || bits()),
	(1, 'flag 128', head(1, 128) || layer() || bits()),
	(1, 'counting and windowed', head(1, 48) || win() || layer() || u(8, 7) || bits('11', 4)),
	(1, 'fpr 0', head(1, fpr => 0) || layer() || bits()),
	(1, 'fpr below 1e-9', head(1, fpr => 9.99e-10) || layer() || bits()),
	(1, 'fpr 1', head(1, fpr => 1) || layer() || bits()),
	(1, 'fpr NaN', head(1, fpr => 'NaN') || layer() || bits()),
	(1, 'fpr below 0', head(1, fpr => -0.01) || layer() || bits()),
	(1, 'no layer', head(0)),
	(1, '4,097 layers', head(4097) || (SELECT string_agg(layer(), '') || string_agg(bits(), '') FROM generate_series(1, 4097))),
	(1, 'counting, two layers', head(2, 16) || layer() || layer() || bits('11', 4) || bits('11', 4)),

	(2, 'window: ends in its header', head(1, 32) || u(8, 6000000)),
	(2, 'window: width 0', head(1, 32) || win(width => 0) || layer() || u(8, 7) || bits()),
	(2, 'window: width below 0', head(1, 32) || win(width => -1) || layer() || u(8, 7) || bits()),
	(2, 'window: no slices', head(1, 32) || win(slices => 0) || layer() || u(8, 7) || bits()),
	(2, 'window: 1,001 slices', head(1, 32) || win(slices => 1001) || layer() || u(8, 7) || bits()),
	(2, 'window: reserved field', head(1, 32) || win(reserved => 1) || layer() || u(8, 7) || bits()),
	(2, 'window: order of slices', head(2, 32) || win() || layer() || u(8, 7) || layer() || u(8, 6) || bits() || bits()),

	(3, 'layer: ends in its header', head(1) || substring(layer() FOR 15)),
	(3, 'layer: no words', head(1) || layer(words => 0)),
	(3, 'layer: no hashes', head(1) || layer(hashes => 0) || bits()),
	(3, 'layer: unequal blocks', head(1) || layer(words => 4098) || bits(words => 4098)),
	(3, 'layer: capacity 0', head(1, kind => 0) || layer(capacity => 0, items => 0, bits_set => 0) || bits('00')),
	(3, 'layer: capacity of 64 a position', head(1) || layer(capacity => 4096) || bits()),
	(3, 'layer: capacity of more', head(1) || layer(capacity => 4097) || bits()),
	(3, 'layer: items above capacity', head(1) || layer(items => 4, bits_set => 8) || bits('ff')),
	(3, 'layer: items of no kind', head(1, kind => 0) || layer() || bits()),
	(3, 'a byte too few', head(1) || layer() || substring(bits() FOR 7)),
	(3, 'a byte too many', head(1) || layer() || bits() || '\x00'),

	(4, 'bits: one more than it says', head(1) || layer() || bits('07')),
	(4, 'bits: one fewer', head(1) || layer() || bits('01')),
	(4, 'bits: two, in the second layer', head(2) || layer() || layer() || bits() || bits('01')),
	(4, 'bits: too many for the items', head(1) || layer(bits_set => 3) || bits('07')),
	(4, 'bits: too few', head(1) || layer(capacity => 4000, items => 4000) || bits()),
	(4, 'bits: none for an item', head(1) || layer(bits_set => 0) || bits('00')),
	(4, 'counting: one fewer', head(1, 16) || layer() || bits('10', 4))) AS v (part, name, bytes) ORDER BY part, name COLLATE "C";

DROP FUNCTION u, f64, head, win, layer, bits, complaint;

--
-- Values with as many layers as there can be, each of which says that it has room: valid, and made to keep the
-- server busy.  What is done with them takes a work that is bounded; without the bounds this test takes minutes.
--
\pset format unaligned \pset footer off
CREATE FUNCTION pg_temp.little(number bigint, bytes int) RETURNS text LANGUAGE sql AS
'SELECT string_agg(lpad(to_hex((number >> (8 * i)) & 255), 2, $$0$$), $$$$ ORDER BY i) FROM generate_series(0, bytes - 1) i';
-- (each layer has one bit set, and a capacity that others have not)
CREATE FUNCTION pg_temp.many_layers(n int, words int, hashes int, capacity int, fpr float8, per_slice int, first_bit int DEFAULT 0) RETURNS bloom LANGUAGE sql AS $$
SELECT decode('01' || CASE WHEN per_slice > 0 THEN '21' ELSE '01' END || pg_temp.little(n, 2) || '00000000'
	|| (SELECT string_agg(substring(encode(float8send(fpr), 'hex') FROM 15 - 2 * i FOR 2), '' ORDER BY i) FROM generate_series(0, 7) i)
	|| CASE WHEN per_slice > 0 THEN pg_temp.little(6::bigint * 86400000000, 8) || '0000000000000080' || pg_temp.little(6, 4) || '00000000' ELSE '' END
	|| (SELECT string_agg(pg_temp.little((hashes::bigint << 26) | words, 4) || pg_temp.little(capacity + i % (capacity / 4), 4)
			|| pg_temp.little(capacity + i % (capacity / 4) - 1, 4) || '01000000'
			|| CASE WHEN per_slice > 0 THEN pg_temp.little(8000 + i / per_slice, 8) ELSE '' END, '' ORDER BY i) FROM generate_series(0, n - 1) i)
	|| (SELECT string_agg(repeat('00', (i + first_bit) % (8 * words)) || '01' || repeat('00', 8 * words - 1 - (i + first_bit) % (8 * words)), '' ORDER BY i)
		FROM generate_series(0, n - 1) i), 'hex')::bloom
$$;
CREATE TABLE hostile AS
SELECT name, pg_temp.many_layers(4095, words, hashes, capacity, fpr, 0) AS f, pg_temp.many_layers(4095, words, hashes, capacity, fpr, 0, 7) AS g
FROM (VALUES ('many probes', 64, 63, 150, 0.9::float8), ('small', 2, 63, 10, 0.9), ('one probe', 64, 1, 2000, 0.9), ('low rate', 64, 30, 90, 0.01)) AS v (name, words, hashes, capacity, fpr);

-- one item, a few, and those of a page, which find room or make one more layer
SELECT name, one @> 1 AS one, (bloom_info(one)).layers, bloom_contains_all(few, '{1,2,3}'::int[]) AS few, (bloom_info(few)).layers
FROM hostile, bloom_add(f, 1) AS one, bloom_add(f, '{1,2,3}'::int[]) AS few;
SELECT name, bloom_contains_all(page, ARRAY(SELECT generate_series(1, 300))) AS page, (bloom_info(page)).layers
FROM hostile, bloom_add(f, ARRAY(SELECT generate_series(1, 300))) AS page WHERE name <> 'low rate';
-- tests, and what describes
SELECT name, f @> 1 AS contained, cardinality(ARRAY(SELECT generate_series(1, 1000)) - f) AS remaining, (bloom_info(f)).items > 0 AS info,
	bloom_fpr(f) BETWEEN 0 AND 1 AS fpr, bloom_cardinality(f) > 0 AS cardinality, (SELECT count(*) FROM bloom_layers(f)) AS layers
FROM hostile;
-- unions: with itself, of two, and of many
SELECT name, (bloom_info(f | f)).layers AS itself, (bloom_info(f | bloom_add(NULL, 1))).layers AS small FROM hostile;
CREATE FUNCTION pg_temp.layers_of_union(a bloom, b bloom) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN (bloom_info(a | b)).layers;
EXCEPTION WHEN program_limit_exceeded THEN
	RETURN SQLERRM;
END
$$;
SELECT name, pg_temp.layers_of_union(f, g), (SELECT (bloom_info(bloom_union_agg(h))).layers FROM (VALUES (f), (f), (f)) AS v (h)) AS agg FROM hostile;

-- windows: as many slices, and as many layers of one slice
SELECT per_slice, one @> 1 AS one, (bloom_info(one)).layers, bloom_contains_all(few, ARRAY(SELECT generate_series(1, 50))) AS few,
	(bloom_info(bloom_expire(f, '2022-01-01 00:00+00'))).layers AS expired, pg_temp.layers_of_union(f, f)
FROM (SELECT per_slice, pg_temp.many_layers(4000, 64, 63, 150, 0.9, per_slice) AS f FROM unnest('{1,40,4000}'::int[]) AS per_slice) AS f,
	bloom_add_at(f, 1, '2000-01-01 00:00+00'::timestamptz + 8000 * interval '1 day') AS one,
	bloom_add_at(f, ARRAY(SELECT generate_series(1, 50)), ARRAY(SELECT '2000-01-01 00:00+00'::timestamptz + (8000 + i % 6) * interval '1 day' FROM generate_series(1, 50) i)) AS few
ORDER BY per_slice;
DROP TABLE hostile;
