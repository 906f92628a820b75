--
-- Arrays that a driver passes as a text or without a type: then a whole array would
-- be one item, and its elements would be shown again.
--

-- What changes a filter, or makes one, takes no parameter or literal without a type,
-- whatever is in it: that is PostgreSQL's error.
\set VERBOSITY terse
PREPARE p AS SELECT bloom_add(NULL, $1);
PREPARE p AS SELECT bloom_add(bloom_new(), $1);
PREPARE p AS SELECT bloom_add($1, $2);
PREPARE p AS SELECT bloom_add_at(bloom_window('1 day'), $1, now());
PREPARE p AS SELECT bloom_add_at(bloom_window('1 day'), $1, $2);
PREPARE p AS SELECT bloom_add_at($1, $2, $3);
PREPARE p AS SELECT bloom_remove(bloom_new(counting => true), $1);
PREPARE p AS SELECT bloom_remove($1, $2);
PREPARE p AS SELECT bloom_agg($1);
PREPARE p AS SELECT bloom_agg($1, 0.01);
PREPARE p AS SELECT bloom_agg($1, 0.01, 0.2);
PREPARE p AS SELECT bloom_window_agg($1, now(), '1 day', 6, 0.01);
SELECT bloom_add(NULL, '1');
SELECT bloom_add(bloom_new(), 'a');
SELECT bloom_add(bloom_new(), '{1,2}');
SELECT bloom_add(bloom_new(), '{}');
SELECT bloom_add(bloom_new(), NULL);
SELECT bloom_add_at(bloom_window('1 day'), 'a', '2026-01-01');
SELECT bloom_add_at(bloom_window('1 day'), '{a}', ARRAY[now()]);
SELECT bloom_remove(bloom_new(counting => true), 'a');
SELECT bloom_agg('a');
-- with a type it is what the type says, and the other parameters need none
PREPARE p AS SELECT (bloom_info(bloom_add(NULL, $1::bigint))).kind, (bloom_info(bloom_add($2, $1))).items;
EXECUTE p(42301, NULL);
DEALLOCATE p;
PREPARE p AS SELECT bloom_add($1, $2::text[]) @> 'a', bloom_add_at(bloom_window('1 day'), $3::uuid, $4) @> $3, bloom_remove($1, $2::text[]);
EXECUTE p(NULL, '{a,b}', '00000000-0000-0000-0000-000000000001', now());
DEALLOCATE p;
\set VERBOSITY default

-- For what asks, an item without a type is text.  A text that looks like an array is refused.
PREPARE ask AS SELECT bloom_new() @> $1;
EXECUTE ask('a');
EXECUTE ask('{"1","2"}');
DEALLOCATE ALL;

-- Every function and operator that takes one item refuses such a text, with a filter and without.
SELECT bloom_add(NULL, '{news,shop}'::text);
-- an empty page must not make a filter of texts
SELECT bloom_add(NULL, '{}'::text);
SELECT bloom_add(bloom_new(), '{a}'::varchar);
SELECT bloom_add_at(bloom_window('1 day'), '{a}'::text, '2026-01-01');
SELECT bloom_remove(bloom_new(counting => true), '{a}'::text);
SELECT bloom_remove(NULL, '{a}'::text);
SELECT bloom_contains(bloom_new(), '{a}');
SELECT bloom_contains(NULL, '{a}');
SELECT bloom_new() @> '{a}';
SELECT '{a}' <@ bloom_new();
SELECT '{a}'::varchar <@ NULL::bloom;
-- also of a filter that holds integers: the cast is what is missing
SELECT bloom_add(bloom_add(NULL, 1), '{2,3}'::text);

-- with blanks around, as array_in() takes it
CREATE FUNCTION refused(item text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	PERFORM bloom_add(NULL, item);
	RETURN false;
EXCEPTION WHEN datatype_mismatch THEN
	RETURN true;
END
$$;
SELECT item, refused(item)
FROM unnest(ARRAY['{}', ' {a} ', E'\t\n{a,b}\r\x0b\f ', '{{a},{b}}', '{"a": 1}',
	'', ' ', '{', '}', '}{', '{a', 'a}', 'x{a}', '{a}x', '[1,2]', '(1,2)', E'\u00a0{a}']) AS item;
-- also where the text is stored out of line or compressed
CREATE TABLE long_texts (plain text, packed text);
ALTER TABLE long_texts ALTER plain SET STORAGE external;
INSERT INTO long_texts SELECT t, t FROM concat('{', repeat('a', 100000), '}') AS t;
SELECT refused(plain) AS plain, refused(packed) AS packed FROM long_texts;
DROP TABLE long_texts;

-- NULL is no item, and other kinds have no such look
SELECT bloom_add(NULL, NULL::text) IS NULL AS no_item, bloom_contains(NULL, '{a}'::bytea) AS bytea;

-- Only a constant or a parameter can be an array by mistake.  What comes from a row is what it is: a column, an
-- element of an array, what a function makes of them; and one hostile row stops no query.
CREATE TABLE slugs (id text, v varchar(9), c char(9), n name, f bloom, w bloom, k bloom);
INSERT INTO slugs SELECT id, id, id, id, bloom_add(NULL, ARRAY['{a}', 'b']), bloom_window('1 day'), bloom_new(counting => true)
FROM unnest(ARRAY['{a}', 'b', '{c,d}', '']) AS id;
SELECT id, f @> id AS text, f @> v AS varchar, f @> c AS char, f @> n AS name, id <@ f AS commuted, bloom_contains(f, id) AS function, NULL::bloom @> id AS of_null,
	f @> upper(id) AS upper, f @> (id COLLATE "C") AS collated, f @> concat(id) AS stable, bloom_contains(item => id, filter => f) AS named
FROM slugs ORDER BY id COLLATE "C";
SELECT e, f @> e AS contained FROM (SELECT DISTINCT f FROM slugs) AS s, unnest('{"{a}","{x}"}'::text[]) AS e ORDER BY e COLLATE "C";
SELECT f @> ANY ('{"{a}"}'::text[]) AS in_array, f @> ALL (ARRAY(SELECT id FROM slugs)) AS in_all FROM slugs LIMIT 1;
SELECT count(*) FROM slugs WHERE NOT (SELECT f FROM slugs AS s LIMIT 1) @> id;
SELECT bloom_add(NULL, id) @> id AS added, bloom_add(NULL, c) @> id AS char, bloom_add_at(w, v, now()) @> id AS added_at,
	bloom_remove(bloom_add(k, id), id) @> id AS removed
FROM slugs WHERE id ~ '^{' ORDER BY id COLLATE "C";
-- (in a plan with parameters and in one that knows their values, and in PL/pgSQL)
PREPARE ask (text) AS SELECT bool_or(f @> $1) AS parameter FROM slugs;
PREPARE ask_all AS SELECT bool_or(f @> id) AS rows FROM slugs WHERE id <> $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE ask('{a}');
EXECUTE ask_all('{');
SET plan_cache_mode = force_custom_plan;
EXECUTE ask('{a}');
EXECUTE ask_all('{');
RESET plan_cache_mode;
DEALLOCATE ALL;
DO $$
DECLARE
	answers text;
BEGIN
	SELECT string_agg((f @> id)::text, ' ' ORDER BY id COLLATE "C") INTO answers FROM slugs;
	RAISE NOTICE '%', answers;
END
$$;
-- nor does a row of an aggregate that calls such a function
CREATE AGGREGATE pg_temp.add_all(text) (SFUNC = bloom_add, STYPE = bloom);
SELECT pg_temp.add_all(id) @> id AS aggregate FROM slugs GROUP BY id ORDER BY id COLLATE "C";
DROP AGGREGATE pg_temp.add_all(text);
DROP TABLE slugs;

-- Such a text can be asked for and added by constants and parameters all the same: in an array.
SELECT '{"{a}",b}'::text[] - bloom_add(NULL, ARRAY['{a}'::text]) AS arrays,
	'{"{a}",b}'::text[] - bloom_agg(item) AS aggregated,
	bloom_contains_any(bloom_agg(item), ARRAY['{a}'::text]) AS asked,
	bloom_contains_any(bloom_remove(bloom_add(bloom_new(counting => true), ARRAY['{a}']), ARRAY['{a}']), ARRAY['{a}']) AS removed
FROM (VALUES ('{a}'::text)) AS v (item);
SELECT '{"{a}",b}'::text[] - bloom_window_agg('{a}'::text, now(), '1 day', 6, 0.01) AS windowed;

DROP FUNCTION refused;
