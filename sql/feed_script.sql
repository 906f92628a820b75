-- The scripts of feeds, so that each change to one can be seen.  The hashes of the functions at the
-- end are left out.
\pset format unaligned
\pset tuples_only
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE INDEX ON exposures (user_id, shown_at, item_id);
CREATE FUNCTION script(text) RETURNS text LANGUAGE sql AS $$
	SELECT regexp_replace($1, '"functions": {.*\]\}', '"functions": {...}') $$;

-- without a table
SELECT script(bloomexp.feed_sql('seen'));
-- over a table
SELECT script(bloomexp.feed_sql('shown', 'exposures'));
-- Only what others have not: a feed that never forgets, and one over a table without triggers.
CREATE FUNCTION differences(text, text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT line FROM string_to_table(script($2), E'\n') WITH ORDINALITY AS l(line, n)
	WHERE line <> '' AND line NOT IN (SELECT string_to_table(script($1), E'\n'))
	ORDER BY n $$;
SELECT differences(bloomexp.feed_sql('seen'), bloomexp.feed_sql('seen', width => NULL));
SELECT differences(bloomexp.feed_sql('shown', 'exposures'),
	bloomexp.feed_sql('shown', 'exposures', trigger => false));
-- other types, names and a condition
CREATE TABLE impressions ("user" text COLLATE "C", posts uuid[], at timestamp, paid boolean);
SELECT differences(bloomexp.feed_sql('shown', 'exposures'),
	bloomexp.feed_sql('paid', 'impressions', 'user', 'posts', 'at', width => '7 days',
		"where" => 'paid'));
-- No line is too long to be read, but the last one.
SELECT line
FROM (VALUES (bloomexp.feed_sql('seen')), (bloomexp.feed_sql('seen', width => NULL)),
		(bloomexp.feed_sql('shown', 'exposures')),
		(bloomexp.feed_sql('shown', 'exposures', trigger => false))) AS s(script),
	string_to_table(script, E'\n') AS line
WHERE length(replace(line, E'\t', '    ')) > 100 AND line NOT LIKE 'CALL bloomexp.feed_finish%';

DROP FUNCTION script, differences;
DROP TABLE exposures, impressions;
