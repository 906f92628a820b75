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
