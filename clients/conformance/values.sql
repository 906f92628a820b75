-- Prints the conformance set, which README.md describes; "make" runs this.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION bloomexp;

CREATE FUNCTION type_of(kind text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE kind WHEN 'integer' THEN 'bigint' ELSE kind END
$$;

-- An endless sequence of items, which begins with items that are easy to get wrong.
CREATE FUNCTION item(kind text, i integer) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE kind
		WHEN 'integer' THEN CASE
			WHEN i <= 4 THEN ('{9223372036854775807,-9223372036854775808,0,-1}'::text[])[i]
			WHEN i % 6 = 0 THEN (i * 4294967297)::text
			WHEN i % 3 = 0 THEN (7199254740993000000 + i * 4194304::bigint)::text
			WHEN i % 3 = 1 THEN (-i)::text
			ELSE i::text
		END
		WHEN 'text' THEN CASE
			WHEN i <= 4 THEN (ARRAY['', '{a,"b"}', E' \t\n\\', '0'])[i]
			ELSE i || substr('an item, ein Stück, 一件, 🌸 of some length', 1, i % 40)
		END
		WHEN 'uuid' THEN CASE
			WHEN i = 1 THEN '00000000-0000-0000-0000-000000000000'
			WHEN i = 2 THEN 'ffffffff-ffff-ffff-ffff-ffffffffffff'
			ELSE md5(i::text)::uuid::text
		END
		WHEN 'bytea' THEN CASE
			WHEN i <= 4 THEN ('{"\\x","\\x00","\\xff","\\x0000"}'::text[])[i]
			ELSE (int4send(i) || substr(sha256(i::text::bytea) || sha256('more'), 1, i % 40))::text
		END
	END
$$;

-- What the filters hold: n items, every other one of the row.
CREATE FUNCTION members(kind text, n integer) RETURNS text[]
LANGUAGE sql AS $$
	SELECT coalesce(array_agg(item(kind, 2 * i) ORDER BY i), '{}') FROM generate_series(1, n) i
$$;

-- Bytes in the other order.
CREATE FUNCTION turned(bytes bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg(substr(bytes, i, 1), '' ORDER BY i DESC)
		FROM generate_series(1, length(bytes)) i
$$;

CREATE FUNCTION grow(filter bloom, items anyarray) RETURNS bloom
LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. cardinality(items) LOOP
		filter := bloom_add(filter, items[i:i]);
	END LOOP;
	RETURN filter;
END
$$;

-- A time for each item, from shortly before 2000 on.
CREATE FUNCTION times(items anyarray, pause interval) RETURNS timestamptz[]
LANGUAGE sql AS $$
	SELECT array_agg(timestamptz '1999-12-30 21:00+00' + i * pause ORDER BY i)
		FROM generate_series(1, cardinality(items)) i
$$;

CREATE TABLE cases (
	id serial,
	name text UNIQUE,
	kind text,
	filter bloom,
	members integer DEFAULT 0,	-- how many of the items that it holds are known
	input text,				-- the text form as given, if not as the server writes it
	asks boolean DEFAULT false,		-- questions that it refuses, too
	packs boolean DEFAULT false
);
ALTER TABLE cases ALTER filter SET STORAGE external;

-- A case of n items; the expression makes a filter of "items".
CREATE FUNCTION make(name text, kind text, n integer, expression text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
	made bloom;
BEGIN
	EXECUTE format('SELECT %s FROM (SELECT $1::%s[] AS items) given', expression,
		type_of(kind)) INTO made USING members(kind, n);
	INSERT INTO cases (name, kind, filter, members) VALUES (name, kind, made, n);
END
$$;

\o /dev/null
SELECT make('empty', 'integer', 0, 'bloom_new()');
SELECT make('empty, counting', 'text', 0, 'bloom_new(10, counting => true)');
SELECT make('empty window', 'uuid', 0, $e$bloom_window('30 days')$e$);
SELECT make('agg of 300 ' || kind, kind, 300, '(SELECT bloom_agg(item) FROM unnest(items) item)')
	FROM unnest('{integer,text,uuid,bytea}'::text[]) kind;
SELECT make('1,000 ' || kind || ' at 1/2', kind, 1000,
	'(SELECT bloom_agg(item, 0.5) FROM unnest(items) item)')
	FROM unnest('{integer,text,uuid,bytea}'::text[]) kind;
SELECT make('100 ' || kind || ' at 10%', kind, 100, 'bloom_add(bloom_new(100, 0.1), items)')
	FROM unnest('{integer,text}'::text[]) kind;
SELECT make('one at 1e-9', 'integer', 1, 'bloom_add(bloom_new(1, 1e-9), items)');
SELECT make('ten at 0.01%', 'bytea', 10, 'bloom_add(bloom_new(10, 0.0001), items)');
SELECT make('all bits of one layer', 'text', 300, 'bloom_add(bloom_new(300, 0.9999), items)');
SELECT make('3,650 at 1%', 'integer', 3650, '(SELECT bloom_agg(item) FROM unnest(items) item)');
SELECT make('grown one by one, ' || kind, kind, 1200, 'grow(bloom_new(20, 0.05), items)')
	FROM unnest('{integer,text}'::text[]) kind;
SELECT make('grown at once', 'uuid', 900, 'bloom_add(bloom_new(200, 0.1), items)');
SELECT make('union of unlike', 'bytea', 400,
	'bloom_add(bloom_new(50, 0.1), items[:50]) | bloom_add(bloom_new(400, 0.001), items[51:])');
SELECT make('counting', 'integer', 200, 'bloom_add(bloom_new(200, 0.1, counting => true), items)');
SELECT make('counting, half of it removed', 'text', 200,
	'bloom_remove(bloom_add(bloom_new(200, 0.2, true), items), items[:100])');
SELECT make('counting to the limit', 'uuid', 3,
	'bloom_remove(bloom_add(bloom_new(3, counting => true),
	items || array_fill(items[2], ARRAY[20])), items)');
SELECT make('window of ' || kind, kind, 400, $e$bloom_add_at(bloom_window('6 days', 3, 0.2), items,
	times(items, '15 minutes'))$e$)
	FROM unnest('{integer,text,uuid,bytea}'::text[]) kind;
SELECT make('window, expired', 'integer', 400,
	$e$bloom_expire(bloom_add_at(bloom_window('100 hours', 7, 0.1), items,
	times(items, '15 minutes')), '2000-01-06 12:34:56.789+00')$e$);
SELECT make('window, expired to the last', 'text', 10,
	$e$bloom_expire(bloom_add_at(bloom_window('1 day', 1000), items, times(items, '1 second')),
	'2005-01-01 00:00+00')$e$);
SELECT make('blocks', 'integer', 28500, 'bloom_add(bloom_new(28500, 0.01), items)');
SELECT make('window with blocks', 'uuid', 43000,
	$e$(SELECT bloom_window_agg(item, at, '1 day', 1, 0.1)
	FROM unnest(items, times(items, '1.9 seconds')) e (item, at))$e$);
\o

-- Made by hand: what the format allows and bloomexp would not make, at the limits of the
-- fields.
INSERT INTO cases (name, kind, filter)
SELECT 'by hand: ' || name, kind, bytes::bloom
FROM (VALUES
	('63 hashes, all capacity, lowest rate', 'integer',
		'\x01 01 0100 00000000 95d626e80b2e113e  010000fc 00100000 02000000 40000000'
		'  ffffffffffffffff'::bytea),
	('highest rate, most items of few bits', 'integer',
		'\x01 01 0100 00000000 ffffffffffffef3f  01000004 00100000 2f090000 01000000'
		'  0000000000000080'),
	('highest rate, a root between two doubles', 'integer',
		'\x01 01 0100 00000000 ffffffffffffef3f  01000008 00100000 00100000 02000000'
		'  0100000000000080'),
	('high rate, a root between two doubles', 'integer',
		'\x01 01 0100 00000000 fdffffffffffef3f  01000008 00100000 81040000 02000000'
		'  0100000000000080'),
	('high rate, four hashes', 'uuid',
		'\x01 03 0100 00000000 faffffffffffef3f  01000010 00100000 40020000 04000000'
		'  0100000000000380'),
	('highest rate, any number of items', 'text',
		'\x01 02 0100 00000000 ffffffffffffef3f  010000fc 00100000 00100000 40000000'
		'  ffffffffffffffff'),
	('most items of few bits at 1%', 'bytea',
		'\x01 04 0100 00000000 7b14ae47e17a843f  01000004 00100000 6d000000 01000000'
		'  0100000000000000'),
	('two layers, one of them full', 'text',
		'\x01 02 0200 00000000 000000000000e03f  01000004 40000000 40000000 40000000'
		'  02000008 0a000000 02000000 04000000  ffffffffffffffff 01000000000000800100000000000080'),
	('layers without items', 'uuid',
		'\x01 03 0300 00000000 000000000000e03f  01000004 01000000 00000000 00000000'
		'  01000004 01000000 00000000 00000000  01000008 01000000 01000000 02000000'
		'  0000000000000000 0000000000000000 0200000000000040'),
	('counters of no item', 'integer',
		'\x01 11 0100 00000000 000000000000e03f  01000004 01000000 00000000 02000000'
		'  f0000000000000000000000000000000 00000000000000000000000000000001'),
	('counters of no kind', 'text',
		'\x01 10 0100 00000000 000000000000e03f  01000004 01000000 00000000 01000000'
		'  0f000000000000000000000000000000 00000000000000000000000000000000'),
	('the ends of slices', 'integer',
		'\x01 21 0300 00000000 000000000000e03f ffffffffffffff7f 0000000000000080 e8030000 00000000'
		'  01000004 01000000 01000000 01000000 0000000000000080'
		'  01000004 01000000 01000000 01000000 ffffffffffffffff'
		'  01000004 01000000 01000000 01000000 ffffffffffffff7f'
		'  0000000000000100 0000000100000000 0100000000000000')
) hand (name, kind, bytes);

-- The smallest number of words that has blocks, which bloomexp never chooses; half of the bits are
-- set.
INSERT INTO cases (name, kind, filter)
SELECT 'by hand: 4,097 words', 'integer',
	('\x01 01 0100 00000000 000000000000c03f  0110000c 00000200 00000200'::bytea
		|| turned(int4send(ones)) || bits)::bloom
FROM (SELECT substr(string_agg(sha256(i::text::bytea), '' ORDER BY i), 1, 8 * 4097)
	FROM generate_series(1, 1025) i) random (bits),
	LATERAL (SELECT sum(get_bit(bits, i))::integer
		FROM generate_series(0, 64 * 4097 - 1) i) set_bits (ones);

INSERT INTO cases (name, kind, filter, members, input)
SELECT 'text form: ' || form, kind, filter, members, given
FROM cases, LATERAL (VALUES
	('capitals', '\x' || upper(substr(filter::text, 3))),
	('without \x', substr(filter::text, 3))) forms (form, given)
WHERE name = '100 integer at 10%';

UPDATE cases SET asks = true WHERE name LIKE 'agg of 300 %'
	OR name IN ('counting', 'window of uuid', 'empty');
UPDATE cases SET packs = true WHERE kind = 'integer'
	AND name IN ('agg of 300 integer', 'grown one by one, integer', 'window of integer',
	'counting', 'empty');

-- Return the error of a statement.  A statement without an error is an error here.
CREATE FUNCTION complaint(statement text) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
	hint text;
BEGIN
	BEGIN
		EXECUTE statement;
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
		hint = PG_EXCEPTION_HINT;
		RETURN json_build_object('code', SQLSTATE, 'message', message, 'detail', nullif(detail, ''),
			'hint', nullif(hint, ''));
	END;
	RAISE 'no error: %', statement;
END
$$;

CREATE FUNCTION refused_questions(filter bloom, of_kind text) RETURNS json
LANGUAGE sql AS $$
	SELECT json_agg(json_build_object('kind', other, 'candidate', item(other, 7),
			'error',
				complaint(format('SELECT bloom_contains(%L::bloom, %L::%s)', filter, item(other, 7),
				type_of(other)))))
	FROM unnest('{integer,text,uuid,bytea}'::text[]) other
	WHERE other <> of_kind
$$;

CREATE FUNCTION refused_packed(filter bloom, of_kind text) RETURNS json
LANGUAGE sql AS $$
	SELECT json_agg(json_build_object('packed', packed, 'error',
		complaint(format('SELECT bloom_exclude_packed(%L, %L)', packed, filter))))
	FROM (VALUES ('\x0700000000'), ('\x0700000000000000')) v (packed)
	WHERE of_kind IS NOT NULL AND (of_kind <> 'integer' OR length(packed) < 18)
$$;

CREATE FUNCTION microseconds(span numeric) RETURNS text
LANGUAGE sql AS $$
	SELECT trim_scale(span * 1000000)::text
$$;

CREATE FUNCTION info(filter bloom) RETURNS json
LANGUAGE sql AS $$
	SELECT json_build_object('kind', kind, 'items', items, 'capacity', capacity, 'fpr', fpr,
		'fpr_now', fpr_now,
		'bits', bits, 'bits_set', bits_set, 'fill', fill, 'layers', layers, 'bytes', bytes,
		'counting', counting,
		'window_width', microseconds(extract(epoch FROM window_width)::numeric), 'slices', slices,
		'expired_before',
		microseconds(extract(epoch
		FROM expired_before - timestamptz '2000-01-01 00:00+00')::numeric))
	FROM bloom_info(filter)
$$;

-- The items of each kind among which candidates are found, with their place in a mixed order.
CREATE TABLE pool AS
SELECT kind, array_agg(i ORDER BY i) AS numbers, array_agg(item(kind, i) ORDER BY i) AS items,
	array_agg(place ORDER BY i) AS places
FROM unnest('{integer,text,uuid,bytea}'::text[]) kind,
	(SELECT i::integer, row_number() OVER (ORDER BY md5(i::text)) AS place
		FROM generate_series(1, 20000) i) mixed
GROUP BY kind;

-- A line: the candidates, and all that the server answers about them.  Candidates are the items
-- that are easy to get wrong, and some members, false positives and others, in mixed order.  The
-- first ones come twice.
CREATE FUNCTION line(c cases) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
	candidates text[];
	contained boolean[];
	survivors text[];
	packed bytea;
	packed_survivors bytea;
BEGIN
	EXECUTE format($query$
		WITH answers AS (
			SELECT i, item, place, row_number() OVER (PARTITION BY contains, i %% 2 = 0
				AND i <= 2 * $3 ORDER BY place) AS number
			FROM pool, unnest(numbers, items, places, bloom_contains_each($1, items::%s[])) u (i,
				item, place, contains)
			WHERE kind = $2)
		SELECT array_agg(item ORDER BY place) || array_agg(item ORDER BY i) FILTER (WHERE i <= 4)
		FROM answers WHERE i <= 4 OR number <= 20 $query$, type_of(c.kind))
	INTO candidates USING c.filter, c.kind, c.members;

	EXECUTE format('SELECT bloom_contains_each($1, items), bloom_exclude_array(items, $1)::text[]
		FROM (SELECT $2::%s[]) v (items)', type_of(c.kind)) INTO contained,
		survivors USING c.filter, candidates;
	IF survivors IS DISTINCT FROM
		ARRAY(SELECT item FROM unnest(candidates, contained) WITH ORDINALITY u (item, contains, at)
			WHERE NOT contains ORDER BY at) THEN
		RAISE 'bloom_exclude and bloom_contains_each differ: %', c.name;
	END IF;
	IF c.packs THEN
		SELECT string_agg(turned(int8send(item)), '' ORDER BY at) INTO packed
		FROM unnest(candidates::bigint[]) WITH ORDINALITY u (item, at);
		packed_survivors := bloom_exclude_packed(packed, c.filter);
	END IF;

	RETURN json_strip_nulls(json_build_object('name', c.name, 'value',
		coalesce(c.input, c.filter::text),
		'text', CASE WHEN c.input <> c.filter::text THEN c.filter::text END,
		'info', info(c.filter), 'kind', c.kind, 'candidates', candidates,
		'contains', array_to_string(contained::integer[], ''),
		'packed', packed, 'packed_survivors', packed_survivors,
		'refuses', CASE WHEN c.asks THEN (
			SELECT json_agg(question)
			FROM (SELECT json_array_elements(refused_questions(c.filter,
				  (bloom_info(c.filter)).kind))
				  UNION ALL
				  	SELECT json_array_elements(refused_packed(c.filter,
				  	(bloom_info(c.filter)).kind))) q (question)) END));
END
$$;

SELECT line(cases) FROM cases ORDER BY id;

-- Refusals: a value with one thing wrong, or a bit more.
CREATE TABLE refusals (id serial, name text UNIQUE, input text);

INSERT INTO refusals (name, input) VALUES
	('no text at all', ''),
	('no digit', '\x01g1'),
	('no digit among the first', '0o01'),
	('digits with blanks', '\x01 01'),
	('odd number of digits', '\x010'),
	('capital X', '\X01');

INSERT INTO refusals (name, input)
SELECT name, bytes::text FROM (VALUES
	('no bytes', '\x'::bytea),
	('version 0',
		'\x00 01 0100 00000000 7b14ae47e17a843f  02000014 0a000000 01000000 05000000'
		'  0000000012020200 0000000000008000'),
	('version 2',
		'\x02 01 0100 00000000 7b14ae47e17a843f  02000014 0a000000 01000000 05000000'
		'  0000000012020200 0000000000008000'),
	('version 255 alone', '\xff'),
	('cut off in the header', '\x01 01 0100 00000000 7b14ae47e17a84'),
	('kind 5',
		'\x01 05 0100 00000000 7b14ae47e17a843f  02000014 0a000000 01000000 05000000'
		'  0000000012020200 0000000000008000'),
	('kind 15',
		'\x01 0f 0100 00000000 7b14ae47e17a843f  02000014 0a000000 01000000 05000000'
		'  0000000012020200 0000000000008000'),
	('reserved flag',
		'\x01 41 0100 00000000 7b14ae47e17a843f  02000014 0a000000 01000000 05000000'
		'  0000000012020200 0000000000008000'),
	('the other reserved flag',
		'\x01 81 0100 00000000 7b14ae47e17a843f  02000014 0a000000 01000000 05000000'
		'  0000000012020200 0000000000008000'),
	('counting and windowed', '\x01 31 0000 00000000 7b14ae47e17a843f'),
	('rate 0',
		'\x01 01 0100 00000000 0000000000000000  02000014 0a000000 01000000 05000000'
		'  0000000012020200 0000000000008000'),
	('rate just below 1e-9',
		'\x01 01 0100 00000000 94d626e80b2e113e  02000014 0a000000 01000000 05000000'
		'  0000000012020200 0000000000008000'),
	('rate 1',
		'\x01 01 0100 00000000 000000000000f03f  02000014 0a000000 01000000 05000000'
		'  0000000012020200 0000000000008000'),
	('rate below 0',
		'\x01 01 0100 00000000 7b14ae47e17a84bf  02000014 0a000000 01000000 05000000'
		'  0000000012020200 0000000000008000'),
	('rate NaN',
		'\x01 01 0100 00000000 000000000000f87f  02000014 0a000000 01000000 05000000'
		'  0000000012020200 0000000000008000'),
	('rate infinite',
		'\x01 01 0100 00000000 000000000000f07f  02000014 0a000000 01000000 05000000'
		'  0000000012020200 0000000000008000'),
	('no layer', '\x01 01 0000 00000000 7b14ae47e17a843f'),
	('too many layers', '\x01 01 0110 00000000 7b14ae47e17a843f'),
	('two layers of counters', '\x01 11 0200 00000000 7b14ae47e17a843f'),
	('announced layers',
		'\x01 01 0010 00000000 7b14ae47e17a843f  02000014 0a000000 01000000 05000000'
		'  0000000012020200 0000000000008000'),
	('window cut off',
		'\x01 21 0000 00000000 7b14ae47e17a843f 00c0ae3b28000000 005014f1f5ffffff 02000000 000000'),
	('width 0',
		'\x01 21 0000 00000000 7b14ae47e17a843f 0000000000000000 005014f1f5ffffff 02000000'
		' 00000000'),
	('width below 0',
		'\x01 21 0000 00000000 7b14ae47e17a843f ffffffffffffffff 005014f1f5ffffff 02000000'
		' 00000000'),
	('no slices',
		'\x01 21 0000 00000000 7b14ae47e17a843f 00c0ae3b28000000 005014f1f5ffffff 00000000'
		' 00000000'),
	('1,001 slices',
		'\x01 21 0000 00000000 7b14ae47e17a843f 00c0ae3b28000000 005014f1f5ffffff e9030000'
		' 00000000'),
	('reserved field',
		'\x01 21 0000 00000000 7b14ae47e17a843f 00c0ae3b28000000 005014f1f5ffffff 02000000'
		' 00000001'),
	('4,096 words are one block',
		'\x01 01 0100 00000000 7b14ae47e17a843f  00100014 0a000000 01000000 05000000'),
	('no words', '\x01 01 0100 00000000 7b14ae47e17a843f  00000014 0a000000 01000000 05000000'),
	('no hashes',
		'\x01 01 0100 00000000 7b14ae47e17a843f  02000000 0a000000 01000000 05000000'
		'  0000000012020200 0000000000008000'),
	('unequal blocks',
		'\x01 01 0100 00000000 7b14ae47e17a843f  02100014 0a000000 01000000 05000000'),
	('most words that there can be',
		'\x01 01 0100 00000000 7b14ae47e17a843f  8effff17 0a000000 01000000 05000000'
		'  0000000012020200'),
	('no capacity',
		'\x01 01 0100 00000000 7b14ae47e17a843f  02000014 00000000 00000000 00000000'
		'  0000000000000000 0000000000000000'),
	('capacity beyond the bits',
		'\x01 01 0100 00000000 7b14ae47e17a843f  02000014 01200000 01000000 05000000'
		'  0000000012020200 0000000000008000'),
	('more items than capacity',
		'\x01 01 0100 00000000 7b14ae47e17a843f  02000014 0a000000 0b000000 05000000'
		'  0000000012020200 0000000000008000'),
	('items of no kind',
		'\x01 00 0100 00000000 7b14ae47e17a843f  02000014 0a000000 01000000 05000000'
		'  0000000012020200 0000000000008000'),
	('a byte too few',
		'\x01 01 0100 00000000 7b14ae47e17a843f  02000014 0a000000 01000000 05000000'
		'  0000000012020200 00000000000080'),
	('a byte too many',
		'\x01 01 0100 00000000 7b14ae47e17a843f  02000014 0a000000 01000000 05000000'
		'  0000000012020200 0000000000008000 00'),
	('bits of one kind, length of counters',
		'\x01 11 0100 00000000 7b14ae47e17a843f  02000014 0a000000 01000000 05000000'
		'  0000000012020200 0000000000008000'),
	('more bits set than said',
		'\x01 01 0100 00000000 7b14ae47e17a843f  02000014 0a000000 01000000 05000000'
		'  0000000012020200 0000000000008080'),
	('fewer bits set than said',
		'\x01 01 0100 00000000 7b14ae47e17a843f  02000014 0a000000 01000000 05000000'
		'  0000000012020200 0000000000000000'),
	('more counters set than said',
		'\x01 12 0100 00000000 7b14ae47e17a843f  01000008 01000000 01000000 02000000'
		'  0000000020000000 0000002000000000 0000000000000000 0000000000000001'),
	('more bits than probes',
		'\x01 01 0100 00000000 7b14ae47e17a843f  02000010 0a000000 01000000 05000000'
		'  0000000012020200 0000000000008000'),
	('items without bits',
		'\x01 01 0100 00000000 7b14ae47e17a843f  02000014 0a000000 01000000 00000000'
		'  0000000000000000 0000000000000000'),
	('one item more than few bits explain',
		'\x01 04 0100 00000000 7b14ae47e17a843f  01000004 00100000 6e000000 01000000'
		'  0100000000000000'),
	('one item more than fit at the rate',
		'\x01 01 0100 00000000 ffffffffffffef3f  01000004 00100000 30090000 01000000'
		'  0000000000000080'),
	('wrong in the last of three layers',
		'\x01 03 0300 00000000 000000000000e03f  01000004 01000000 00000000 00000000'
		'  01000004 01000000 00000000 00000000  01000008 01000000 01000000 03000000'
		'  0000000000000000 0000000000000000 0200000000000040'),
	('a slice before the one before',
		'\x01 21 0200 00000000 000000000000e03f 0000000000000001 0000000000000080 01000000 00000000'
		'  01000004 01000000 01000000 01000000 0000000000000000'
		'  01000004 01000000 01000000 01000000 ffffffffffffffff'
		'  0000000000000100 0000000100000000'),
	('noise', decode(md5('noise') || md5('more'), 'hex')),
	('noise behind a version', '\x01' || decode(md5('noise') || md5('more'), 'hex'))
) wrong (name, bytes);

SELECT json_strip_nulls(json_build_object('name', 'refused: ' || name, 'value', input,
	'error', complaint(format('SELECT %L::bloom', input))))
FROM refusals ORDER BY id;
