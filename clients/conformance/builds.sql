-- Prints what the server builds, for values.sql's database; "make" runs this after that.
-- README.md describes the lines.
SET client_min_messages = warning;

-- An item of a kind that a number stands for.
CREATE FUNCTION numbered(kind text, i bigint) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE kind
		WHEN 'uuid' THEN lpad(to_hex(i), 32, '0')::uuid::text
		WHEN 'bytea' THEN int8send(i)::text
		ELSE i::text
	END
$$;

-- A line: bloom_agg() of these items, or of numbered ones.
CREATE FUNCTION built(name text, kind text, fpr float8, headroom float8, items text[],
	count integer = NULL) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
	given CONSTANT text[]
	= coalesce(items, ARRAY(SELECT numbered(kind, i) FROM generate_series(1, count) i));
	call CONSTANT text = format('SELECT bloom_agg(item, %L, %L)::bytea FROM unnest(%L::%s[]) item',
		fpr, headroom, given, type_of(kind));
	value bytea;
	error json;
BEGIN
	BEGIN
		EXECUTE call INTO value;
	EXCEPTION WHEN OTHERS THEN
		error = complaint(call);
	END;
	-- A rate may be NaN, which is no number of JSON; so both are strings.
	RETURN json_strip_nulls(json_build_object('name', name, 'builds', kind, 'fpr', fpr::text,
		'headroom', headroom::text,
		'items', items, 'count', count,
		'value', CASE WHEN octet_length(value) <= 400 THEN value END,
		'sha256', CASE WHEN octet_length(value) > 400 THEN encode(sha256(value), 'hex') END,
		'error', error));
END
$$;

SELECT built(n || ' ' || kind, kind, 0.01, 0, members(kind, n))
FROM unnest('{integer,text,uuid,bytea}'::text[]) kind,
unnest('{0,1,2,10,100,101,1000}'::integer[]) n;
SELECT built('nothing but NULL', 'text', 0.01, 0, '{NULL,NULL}');
SELECT built('NULL and repetitions, ' || kind, kind, 0.01, 0, items || NULL::text || items)
FROM (VALUES ('integer', '{7,-7,7,0}'::text[]), ('text', '{b,a,"",a,b}')) v (kind, items);
SELECT built('an item of ' || n || ' bytes', 'text', 0.05, 0, ARRAY[repeat('ä', n / 2)])
	FROM unnest('{2,8,14,16,18,32,34,1000}'::integer[]) n;
SELECT built('7 at ' || fpr, 'integer', fpr, 0, members('integer', 7))
	FROM unnest('{0.9999,0.5,0.25,0.1,1e-3,1e-6,1e-9}'::float8[]) fpr;
SELECT built('headroom ' || headroom, 'uuid', 0.02, headroom, NULL, n)
FROM (VALUES (0.1::float8, 50), (0.2, 1000), (0.5, 67), (1, 50), (3, 333),
	(1000, 3)) v (headroom, n);
-- the last size of one block, and the first of several
SELECT built(n || ' ' || kind || ' at ' || fpr, kind, fpr, 0, NULL, n)
FROM (VALUES ('integer', 0.01::float8, 27281), ('integer', 0.01, 27282), ('text', 0.3, 103380),
	('bytea', 0.3, 103381),
	('uuid', 1e-9, 6076), ('bytea', 0.001, 100000), ('integer', 0.01, 1000000)) v (kind, fpr, n);
SELECT built('refused: rate ' || fpr || ', headroom ' || headroom, 'integer', fpr, headroom, '{1}')
FROM (VALUES (0::float8, 0::float8), (1, 0), (-0.1, 0), ('NaN', 0), (1e-10, 0), (0.01, -0.1),
	(0.01, 1000.1), (0.01, 'NaN')) v (fpr, headroom);
SELECT built('refused: 100,100,000 at ' || fpr, 'integer', fpr, 1000, NULL, 100000)
	FROM unnest('{1e-9,2.3456789e-9}'::float8[]) fpr;
