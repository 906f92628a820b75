-- The values from which the fuzzer starts, of all shapes; a name and bytes a line.
-- Run by test/fuzz/values.
\pset tuples_only
\pset format unaligned
\pset fieldsep ' '

CREATE FUNCTION items(first integer, last integer) RETURNS bigint[]
BEGIN ATOMIC SELECT array_agg(i::bigint) FROM generate_series(first, last) i; END;

CREATE FUNCTION hours(n integer) RETURNS timestamptz
BEGIN ATOMIC SELECT '2026-01-01 00:00+00'::timestamptz + n * interval '1 hour'; END;

CREATE FUNCTION little(number bigint, bytes int) RETURNS text
BEGIN ATOMIC SELECT string_agg(lpad(to_hex((number >> (8 * i)) & 255), 2, '0'), '' ORDER BY i) FROM generate_series(0, bytes - 1) i; END;

-- Many layers of which each says that it has room, for as long as it takes to find that out: rate 0.9, 63 probes,
-- one bit set; plain, or of as many slices.
CREATE FUNCTION many_layers(n int, words int, capacity int, windowed bool) RETURNS bloom
BEGIN ATOMIC
SELECT decode('01' || CASE WHEN windowed THEN '21' ELSE '01' END || little(n, 2) || '00000000cdccccccccccec3f'
	|| CASE WHEN windowed THEN little(6::bigint * 86400000000, 8) || '0000000000000080' || little(6, 4) || '00000000' ELSE '' END
	|| string_agg(little(63 * 67108864::bigint + words, 4) || little(capacity + i % 9, 4) || little(capacity + i % 9 - 1, 4) || '01000000'
		|| CASE WHEN windowed THEN little(i, 8) ELSE '' END, '' ORDER BY i)
	|| string_agg(lpad('', i % 8 * 2, '0') || '01' || repeat('00', 8 * words - i % 8 - 1), '' ORDER BY i), 'hex')::bloom
FROM generate_series(0, n - 1) i; END;

SELECT name, encode(f::bytea, 'hex') FROM (VALUES
	('empty', bloom_new(10)),
	('one_item', bloom_add(bloom_new(1), 1)),
	('integers', bloom_add(bloom_new(20), items(1, 20))),
	('other_integers', bloom_add(bloom_new(20), items(11, 30))),
	('texts', bloom_add(bloom_new(20), items(1, 20)::text[])),
	('uuids', bloom_add(bloom_new(5), ARRAY['00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002']::uuid[])),
	('byteas', bloom_add(bloom_new(5), ARRAY['', 'a', 'b']::bytea[])),
	('seed', bloom_add(bloom_new(20, 0.01, -7), items(1, 20))),
	('high_rate', bloom_add(bloom_new(60, 0.9), items(1, 60))),
	('low_rate', bloom_add(bloom_new(5, 1e-9), items(1, 5))),
	('grown', bloom_add(bloom_add(bloom_add(bloom_new(1), 1), items(2, 20)), items(21, 100))),
	('grown_at_high_rate', bloom_add(bloom_add(bloom_new(2, 0.6), items(1, 3)), items(4, 200))),
	('side_by_side', bloom_add(bloom_new(5), items(1, 5)) | bloom_add(bloom_new(9, 0.2), items(4, 12))),
	('blocked', bloom_add(bloom_new(28000), items(1, 20))),
	('counting', bloom_add(bloom_new(20, 0.01, 0, true), items(1, 10))),
	('other_counting', bloom_add(bloom_new(20, 0.01, 0, true), items(6, 15))),
	('saturated', bloom_add(bloom_new(3, 0.2, 0, true), array_fill(1::bigint, ARRAY[20]))),
	('empty_window', bloom_window('1 day', 6)),
	('window', bloom_add_at(bloom_window('1 day', 6), items(1, 12), (SELECT array_agg(hours(2 * i)) FROM generate_series(1, 12) i))),
	('other_window', bloom_add_at(bloom_window('1 day', 6), items(7, 18), (SELECT array_agg(hours(2 * i)) FROM generate_series(7, 18) i))),
	('expired_window', bloom_expire(bloom_add_at(bloom_window('1 day', 6), items(1, 12), (SELECT array_agg(hours(2 * i)) FROM generate_series(1, 12) i)), hours(36))),
	('busy_slice', bloom_add_at(bloom_add_at(bloom_window('1 day', 1, 0.1), items(1, 5), array_fill(hours(1), ARRAY[5])), items(6, 60), array_fill(hours(1), ARRAY[55]))),
	('false_window', ('\x012101000000000095d626e80b2e113e00100000000000000000000000000080e803000000000000'
		'100000040000010000000100000400000700000000000000' || repeat('ff', 128))::bloom),
	('gap_window', bloom_add_at(bloom_window('1 day', 6), items(1, 3), ARRAY[hours(1), hours(5), hours(33)])),
	('narrow_window', bloom_add_at(bloom_window('1 microsecond', 1000), 1, hours(1))),
	('many_layers', many_layers(60, 64, 150, false)),
	('many_small_layers', many_layers(1000, 2, 4, false)),
	('many_slices', many_layers(800, 2, 4, true))
) AS v (name, f);
