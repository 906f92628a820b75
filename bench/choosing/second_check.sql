--
-- The second check against the exact table, after the replay and on its candidates:
-- forms of one statement, each as a function of a user and an array, called for one
-- user after the other.  Every result must be that of NOT EXISTS.
--
\pset footer off
SELECT format_type(u.atttypid, NULL) AS user_type, format_type(i.atttypid, NULL) AS item_type
FROM pg_attribute AS u, pg_attribute AS i
WHERE u.attrelid = 'exposures'::regclass AND u.attname = 'user_id' AND i.attrelid = u.attrelid AND i.attname = 'item_id' \gset

CREATE TABLE forms (nth serial, form text PRIMARY KEY, body text, exact boolean);
INSERT INTO forms (form, exact, body) VALUES
('candidates - filter', false, $$SELECT candidates - (SELECT items FROM rebuilt WHERE user_id = u)$$),
('NOT EXISTS', true, $$
	SELECT c.item_id FROM unnest(candidates) WITH ORDINALITY AS c (item_id, nth)
	WHERE NOT EXISTS (SELECT FROM exposures AS e WHERE e.user_id = u AND e.item_id = c.item_id AND e.shown_at >= since)$$),
('NOT hit OR NOT EXISTS', true, $$
	SELECT c.item_id
	FROM unnest(candidates, bloom_contains_each((SELECT items FROM rebuilt WHERE user_id = u), candidates)) WITH ORDINALITY AS c (item_id, hit, nth)
	WHERE NOT c.hit OR NOT EXISTS (SELECT FROM exposures AS e WHERE e.user_id = u AND e.item_id = c.item_id AND e.shown_at >= since)$$),
('the same with OFFSET 0', true, $$
	SELECT c.item_id
	FROM unnest(candidates, bloom_contains_each((SELECT items FROM rebuilt WHERE user_id = u), candidates)) WITH ORDINALITY AS c (item_id, hit, nth)
	WHERE NOT c.hit OR NOT EXISTS (SELECT FROM exposures AS e WHERE e.user_id = u AND e.item_id = c.item_id AND e.shown_at >= since OFFSET 0)$$),
('LEFT JOIN LATERAL … LIMIT 1', true, $$
	SELECT c.item_id
	FROM unnest(candidates, bloom_contains_each((SELECT items FROM rebuilt WHERE user_id = u), candidates)) WITH ORDINALITY AS c (item_id, hit, nth)
	LEFT JOIN LATERAL (
		SELECT true AS shown FROM exposures AS e WHERE c.hit AND e.user_id = u AND e.item_id = c.item_id AND e.shown_at >= since LIMIT 1
	) AS s ON true
	WHERE shown IS NULL$$),
('hits as one array', true, $$
	WITH c AS MATERIALIZED (
		SELECT *
		FROM unnest(candidates, bloom_contains_each((SELECT items FROM rebuilt WHERE user_id = u), candidates)) WITH ORDINALITY AS c (item_id, hit, nth)
	)
	SELECT c.item_id FROM c
	WHERE NOT hit OR item_id NOT IN (
		SELECT e.item_id FROM exposures AS e WHERE e.user_id = u AND e.item_id = ANY (ARRAY(SELECT item_id FROM c WHERE hit)) AND e.shown_at >= since)$$),
('row by row with @>', true, $$
	SELECT c.item_id
	FROM (SELECT items FROM rebuilt WHERE user_id = u) AS f RIGHT JOIN unnest(candidates) WITH ORDINALITY AS c (item_id, nth) ON true
	WHERE NOT f.items @> c.item_id
		OR NOT EXISTS (SELECT FROM exposures AS e WHERE e.user_id = u AND e.item_id = c.item_id AND e.shown_at >= since OFFSET 0)$$);
SELECT :'last'::timestamptz - interval '30 days' AS since \gset
SELECT format('CREATE FUNCTION form_%s(u %s, candidates %s[]) RETURNS %s[] STABLE LANGUAGE plpgsql AS %L',
	nth, :'user_type', :'item_type', :'item_type',
	format(CASE WHEN exact THEN 'BEGIN RETURN ARRAY(%s ORDER BY nth); END' ELSE 'BEGIN RETURN (%s); END' END,
		regexp_replace(body, '\msince\M', quote_literal(:'since') || '::timestamptz')))
FROM forms ORDER BY nth \gexec

\echo checking the forms of the second check
SELECT format('DO $do$ BEGIN IF EXISTS (SELECT FROM candidates WHERE form_%s(user_id, items) IS DISTINCT FROM form_2(user_id, items)) THEN RAISE EXCEPTION %L; END IF; END $do$',
	nth, 'not the same as NOT EXISTS: ' || form)
FROM forms WHERE exact ORDER BY nth \gexec

-- What it costs depends on how much a user has seen.  Planned anew for each call the
-- planner knows how many candidates come; planned once it doesn't.
\echo measuring them
CREATE TABLE few AS
SELECT seen, user_id, items
FROM (
	SELECT seen, c.*, row_number() OVER (PARTITION BY seen ORDER BY user_id) AS nth
	FROM candidates AS c JOIN own USING (user_id), LATERAL (SELECT CASE WHEN cardinality(own.items) < 500 THEN 'below 500'
		WHEN cardinality(own.items) < 2000 THEN 'below 2,000' ELSE 'from 2,000 on' END AS seen) AS s
) AS numbered
WHERE nth <= 100;
ALTER TABLE few ALTER items SET STORAGE EXTERNAL;
CREATE INDEX ON few (user_id);
VACUUM (ANALYZE) few;
CREATE TABLE costs AS
SELECT f.nth, form, seen, plan, 'SELECT sum(cardinality(form_' || f.nth || '(user_id, items))) FROM few WHERE seen = ' || quote_literal(seen) AS statement, 0.0::float8 AS ms
FROM forms AS f, (SELECT DISTINCT seen FROM few) AS s, unnest('{anew,once}'::text[]) AS plan;
SET plan_cache_mode = force_custom_plan;
UPDATE costs SET ms = best_ms(statement) WHERE plan = 'anew';
SET plan_cache_mode = force_generic_plan;
UPDATE costs SET ms = best_ms(statement) WHERE plan = 'once';
RESET plan_cache_mode;

\echo
SELECT seen, count(*) AS users, round(avg(cardinality(own.items))) AS items, round(avg(cardinality(c.items))) AS candidates,
	round(avg(cardinality(c.items) - cardinality(c.items - f.items)), 1) AS "dropped by the filter",
	round(avg(cardinality(form_2(c.user_id, c.items)) - cardinality(c.items - f.items)), 1) AS "of them wrongly"
FROM few AS c JOIN rebuilt AS f USING (user_id) JOIN own USING (user_id) GROUP BY seen ORDER BY min(cardinality(own.items));
\echo microseconds a user
SELECT form, plan AS planned,
	round(max(us) FILTER (WHERE seen = 'below 500')) AS "below 500",
	round(max(us) FILTER (WHERE seen = 'below 2,000')) AS "below 2,000",
	round(max(us) FILTER (WHERE seen = 'from 2,000 on')) AS "from 2,000 on"
FROM (SELECT *, (1000 * ms / (SELECT count(*) FROM few WHERE few.seen = costs.seen))::numeric AS us FROM costs) AS c
GROUP BY nth, form, plan ORDER BY nth, plan;
