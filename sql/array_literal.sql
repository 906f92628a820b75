--
-- Text items that look like an array literal.  PostgreSQL takes a parameter or a
-- literal without a type for text: then a whole array would be one item, and its
-- elements would be shown again.
--

-- what drivers send that write parameters without types
PREPARE add_seen AS SELECT bloom_add(NULL, $1);
EXECUTE add_seen('{news,shop}');
PREPARE add_ids AS SELECT bloom_add(bloom_new(), $1);
EXECUTE add_ids('{1,2}');
PREPARE ask AS SELECT bloom_new() @> $1;
EXECUTE ask('{"1","2"}');
DEALLOCATE ALL;
-- an empty page must not make a filter of texts
SELECT bloom_add(NULL, '{}');

-- every function and operator that takes one item, with a filter and without
SELECT bloom_add(bloom_new(), '{a}');
SELECT bloom_add_at(bloom_window('1 day'), '{a}'::text, '2026-01-01');
SELECT bloom_remove(bloom_new(counting => true), '{a}');
SELECT bloom_remove(NULL, '{a}');
SELECT bloom_contains(bloom_new(), '{a}');
SELECT bloom_contains(NULL, '{a}');
SELECT bloom_new() @> '{a}';
SELECT '{a}' <@ bloom_new();
SELECT '{a}'::varchar <@ NULL::bloom;
-- also of a filter that holds integers: the cast is what is missing
SELECT bloom_add(bloom_add(NULL, 1), '{2,3}');

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

-- Such a text can be an item all the same: in an array, or as a row of an aggregate.
SELECT '{"{a}",b}'::text[] - bloom_add(NULL, ARRAY['{a}'::text]) AS arrays,
	'{"{a}",b}'::text[] - bloom_agg(item) AS aggregated,
	bloom_contains_any(bloom_agg(item), ARRAY['{a}'::text]) AS asked,
	bloom_contains_any(bloom_remove(bloom_add(bloom_new(counting => true), ARRAY['{a}']), ARRAY['{a}']), ARRAY['{a}']) AS removed
FROM (VALUES ('{a}'::text)) AS v (item);
SELECT '{"{a}",b}'::text[] - bloom_window_agg('{a}'::text, now(), '1 day', 6, 0.01) AS windowed;

DROP FUNCTION refused;
