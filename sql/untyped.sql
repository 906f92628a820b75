--
-- Items without a type, and texts that look like arrays.
--
\pset format unaligned \pset footer off

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

-- For what asks, an item without a type is text.
PREPARE ask AS SELECT bloom_new() @> $1 AS empty, bloom_add(NULL, '{a}'::text) @> $1 AS same;
EXECUTE ask('a');
EXECUTE ask('{a}');
DEALLOCATE ALL;
SELECT bloom_add(NULL, '{a}'::text) @> '{a}' AS literal, '{a}' <@ NULL::bloom AS of_null, bloom_contains(bloom_add(NULL, '{}'::text), '{}') AS empty;
SELECT bloom_add(NULL, 1) @> '{1}';

-- A text is one text, whatever it looks like and wherever it comes from: what the planner folds, what it does not, a
-- parameter whose value it knows or not, a row, a variable.  (The function is immutable: its answer must not depend on that.)
CREATE TABLE texts (t text, f bloom, w bloom, k bloom);
INSERT INTO texts SELECT t, bloom_add(NULL, t), bloom_add_at(bloom_window('1 day'), t, '2026-01-01'), bloom_add(bloom_new(counting => true), t)
FROM unnest(ARRAY['{a}', '{}', ' {a,b} ', '{"a": 1}', '[1]', '']) AS t;
SELECT t, f @> t AS added, w @> t AS added_at, k @> t AS counted, bloom_remove(k, t) @> t AS removed, f @> 'a' AS element FROM texts ORDER BY t COLLATE "C";
SELECT (SELECT bloom_add(NULL, t) @> t FROM (SELECT '{a}'::text AS t) AS x) AS folded,
	(SELECT bloom_add(NULL, t) @> t FROM (SELECT '{a}'::text AS t OFFSET 0) AS x) AS not_folded;
PREPARE ask (text) AS SELECT bloom_add(NULL, $1) @> $1 AS added, bloom_add_at(bloom_window('1 day'), $1, '2026-01-01') @> $1 AS added_at,
	bloom_remove(bloom_add(bloom_new(counting => true), $1), $1) @> $1 AS removed, (SELECT count(*) FROM texts WHERE f @> $1) AS rows;
SET plan_cache_mode = force_generic_plan;
EXECUTE ask('{"a": 1}');
SET plan_cache_mode = force_custom_plan;
EXECUTE ask('{"a": 1}');
RESET plan_cache_mode;
DEALLOCATE ALL;
DO $$
DECLARE
	item text := '{"a": 1}';
BEGIN
	RAISE NOTICE '%', bloom_add(NULL, item) @> item;
END
$$;
DROP TABLE texts;
