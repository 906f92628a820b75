--
-- The second check of doc/expire.md: candidates that the filter drops are looked up in the exposures, and only they.
-- The result must be that of NOT EXISTS, in order and with duplicates, however often the filter is wrong.
--
\pset format unaligned \pset footer off
SET client_min_messages = warning;
SET TimeZone = 'UTC';
SET max_parallel_workers_per_gather = 0;

-- Users 1 to 3 saw 100 items each in 50 days, of which 30 count; user 3 saw them twice.  User 4 is new.
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz);
INSERT INTO exposures
SELECT u, u * 1000 + n, timestamptz '2024-03-01 00:00+00' - n * interval '12 hours' FROM generate_series(1, 3) u, generate_series(1, 100) n;
INSERT INTO exposures SELECT user_id, item_id, shown_at - interval '1 hour' FROM exposures WHERE user_id = 3;
CREATE INDEX ON exposures (user_id, item_id, shown_at);
VACUUM ANALYZE exposures;

-- Filters that err a lot: of what counts, of all that was ever seen, and a window, which knows some of the old ones still.
CREATE TABLE filters (user_id bigint, kind text, items bloom);
INSERT INTO filters SELECT user_id, 'rebuilt', bloom_agg(item_id, 0.2) FROM exposures WHERE shown_at >= '2024-01-31 00:00+00' GROUP BY user_id;
INSERT INTO filters SELECT user_id, 'stale', bloom_agg(item_id, 0.2) FROM exposures GROUP BY user_id;
INSERT INTO filters SELECT user_id, 'window', bloom_expire(bloom_window_agg(item_id, shown_at, '30 days', 6, 0.2), '2024-03-01 00:00+00') FROM exposures GROUP BY user_id;
INSERT INTO filters VALUES (4, 'none', NULL);

-- Candidates in no order, some twice: seen of late, seen long ago, never seen.
CREATE TABLE candidates AS
SELECT user_id, array_agg(c ORDER BY (c * 7919 + twice * 31) % 1009, twice) AS items
FROM generate_series(1, 4) AS user_id, LATERAL (
	SELECT user_id * 1000 + n AS c, twice FROM generate_series(1, 200) n, generate_series(1, 1 + (n % 5 = 0)::int) twice) AS s
GROUP BY user_id;

PREPARE second_check (bigint, bigint[], bloom) AS
SELECT c.item_id
FROM unnest($2, bloom_contains_each($3, $2)) WITH ORDINALITY AS c (item_id, hit, nth)
WHERE NOT c.hit
	OR NOT EXISTS (
		SELECT FROM exposures AS e
		WHERE e.user_id = $1 AND e.item_id = c.item_id AND e.shown_at >= timestamptz '2024-01-31 00:00+00'
		OFFSET 0)
ORDER BY c.nth;

CREATE TABLE results (user_id bigint, kind text, candidates bigint, hits bigint, plain bigint[], checked bigint[], exact bigint[], lookups numeric);
CREATE FUNCTION lookups(plan json) RETURNS numeric LANGUAGE sql AS $$
	WITH RECURSIVE nodes (node) AS (
		SELECT plan -> 0 -> 'Plan'
		UNION ALL
		SELECT json_array_elements(node -> 'Plans') FROM nodes
	)
	SELECT sum((node ->> 'Actual Loops')::numeric) FROM nodes WHERE node ->> 'Relation Name' = 'exposures'
$$;
DO $$
DECLARE
	r record;
	item bigint;
	checked bigint[];
	plan json;
BEGIN
	FOR r IN SELECT f.user_id, f.kind, f.items AS f, c.items AS c FROM filters f JOIN candidates c USING (user_id) ORDER BY 1, 2 LOOP
		checked := '{}';
		FOR item IN EXECUTE format('EXECUTE second_check (%L, %L, %L)', r.user_id, r.c, r.f) LOOP
			checked := checked || item;
		END LOOP;
		EXECUTE format('EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, FORMAT JSON) EXECUTE second_check (%L, %L, %L)', r.user_id, r.c, r.f) INTO plan;
		INSERT INTO results
		SELECT r.user_id, r.kind, cardinality(r.c), cardinality(r.c) - cardinality(r.c - r.f), r.c - r.f, checked,
			ARRAY(SELECT item_id FROM unnest(r.c) WITH ORDINALITY AS c (item_id, nth)
				WHERE NOT EXISTS (SELECT FROM exposures e WHERE e.user_id = r.user_id AND e.item_id = c.item_id AND shown_at >= '2024-01-31 00:00+00') ORDER BY nth),
			lookups(plan);
	END LOOP;
END
$$;

-- The plain filter drops what it should not; the second check lets all of that through again, and nothing else.
SELECT user_id, kind, candidates, cardinality(exact) AS exact, cardinality(plain) < cardinality(exact) AS plain_drops_more, plain <@ exact AS plain_lets_none_through,
	checked = exact AS same
FROM results ORDER BY user_id, kind;
-- No candidate is looked up but those that the filter drops.
SELECT user_id, kind, hits < candidates AS some_spared, coalesce(lookups, 0) = hits AS only_hits_looked_up FROM results ORDER BY user_id, kind;
-- Texts, and a whole table of candidates in one statement.
SELECT count(*), bool_and(checked = exact) AS same, sum(cardinality(plain)) < sum(cardinality(exact)) AS plain_drops_more
FROM (SELECT user_id, bloom_agg(item_id::text, 0.2) AS f FROM exposures WHERE shown_at >= '2024-01-31 00:00+00' GROUP BY user_id) AS f
RIGHT JOIN (SELECT user_id, items::text[] AS items FROM candidates) AS s USING (user_id),
	LATERAL (SELECT array_agg(c.item_id ORDER BY nth) AS checked
		FROM unnest(s.items, bloom_contains_each(f, s.items)) WITH ORDINALITY AS c (item_id, hit, nth)
		WHERE NOT c.hit OR NOT EXISTS (SELECT FROM exposures e WHERE e.user_id = s.user_id AND e.item_id::text = c.item_id AND e.shown_at >= '2024-01-31 00:00+00' OFFSET 0)) AS checked,
	LATERAL (SELECT array_agg(c.item_id ORDER BY nth) AS exact FROM unnest(s.items) WITH ORDINALITY AS c (item_id, nth)
		WHERE NOT EXISTS (SELECT FROM exposures e WHERE e.user_id = s.user_id AND e.item_id::text = c.item_id AND e.shown_at >= '2024-01-31 00:00+00')) AS exact,
	LATERAL (SELECT s.items - f AS plain) AS plain;
-- NULL among the candidates stays, as with NOT EXISTS; no candidates, none left.
SELECT items AS f FROM filters WHERE user_id = 1 AND kind = 'rebuilt' \gset
EXECUTE second_check (1, '{NULL,1001,7,1001,NULL}', :'f');
EXECUTE second_check (1, '{}', NULL);
DEALLOCATE second_check;
DROP TABLE exposures, filters, candidates, results;
DROP FUNCTION lookups;
