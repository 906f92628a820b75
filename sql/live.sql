--
-- A live column: new exposures go into a small filter, and a rebuild brings them into the large one.
--
SET client_min_messages = warning;
SET timezone = 'UTC';
\set SHOW_CONTEXT never

CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE INDEX ON exposures (user_id, shown_at);
CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom, today bloom);
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at', 'live=today');
CREATE VIEW state AS
SELECT user_id, bloom_cardinality(items) AS items, bloom_cardinality(today) AS today, '{1,2,3,4,5,6,7,8,9}'::bigint[] - items - today AS left
FROM seen ORDER BY user_id;
SELECT * FROM bloom_untracked('exposures');

-- The trigger and bloom_take() add to the live filter.
INSERT INTO exposures VALUES (1, 1), (1, 2), (2, 2);
SELECT bloom_take('seen', 1, '{1,2,3,4}'::bigint[], 1);
SELECT * FROM state;
-- A rebuild knows the column by the trigger, although there are two of them.  What was taken and not exposed is forgotten.
CALL bloom_rebuild('seen');
SELECT * FROM state;
SELECT today IS NULL AS emptied FROM seen;
INSERT INTO exposures VALUES (1, 1), (1, 5), (3, 6);
SELECT * FROM state;
SELECT ARRAY(SELECT bloom_exclude('{1,2,3,4,5,6}'::bigint[], items, today)) FROM seen WHERE user_id = 1;
-- some users, those who have nothing left, and one who is not there
DELETE FROM exposures WHERE user_id <> 1 OR item_id = 2;
CALL bloom_rebuild('seen', users => '{1,4}');
SELECT * FROM state;
CALL bloom_rebuild('seen');
SELECT * FROM state;
-- what is as it should be is not written
SELECT ctid AS before FROM seen \gset
CALL bloom_rebuild('seen');
SELECT ctid = :'before' AS untouched FROM seen;

-- Further columns keep a row, with both filters empty.
ALTER TABLE seen ADD rebuilt_at timestamptz, ADD note text;
INSERT INTO seen VALUES (5, bloom_new(), bloom_add(NULL, 1), NULL, 'a'), (6, NULL, bloom_add(NULL, 1), NULL, 'b'), (7, NULL, NULL, NULL, 'c');
CALL bloom_rebuild('seen', rebuilt_at_column => 'rebuilt_at');
SELECT user_id, items IS NULL AS no_items, today IS NULL AS no_today, rebuilt_at IS NULL AS not_rebuilt, note FROM seen ORDER BY user_id;
DELETE FROM seen WHERE user_id > 4;
ALTER TABLE seen DROP rebuilt_at, DROP note;

-- Without triggers the call says it.
DROP TRIGGER track ON exposures;
INSERT INTO exposures VALUES (8, 1);
UPDATE seen SET today = bloom_add(NULL, 9);
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', live_column => 'today');
SELECT * FROM state;
-- (a live filter that nobody names stays)
UPDATE seen SET today = bloom_add(NULL, 9);
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
SELECT * FROM state;

-- The promised rate is shared.
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at', 'live=today', 'fpr=0.1', 'headroom=0');
TRUNCATE exposures, seen;
INSERT INTO exposures SELECT u, i FROM generate_series(1, 40) AS u, generate_series(u * 10000, u * 10000 + 399) AS i;
CALL bloom_rebuild('seen');
INSERT INTO exposures SELECT u, i FROM generate_series(1, 40) AS u, generate_series(u * 10000 + 400, u * 10000 + 499) AS i;
SELECT DISTINCT round((bloom_info(items)).fpr::numeric, 6) AS items, round((bloom_info(today)).fpr::numeric, 6) AS today FROM seen;
SELECT count(*) FROM exposures AS e JOIN seen AS s USING (user_id) WHERE NOT (s.items @> e.item_id OR s.today @> e.item_id);
SELECT 1 - avg(cardinality(ARRAY(SELECT -generate_series(1, 10000)) - items - today)) / 10000 BETWEEN 0.07 AND 0.1 AS rate FROM seen;

-- All kinds, and a window for the large filter.
CREATE FUNCTION by_kind(item_type text, VARIADIC given text[]) RETURNS TABLE (kind text, items bigint, today bigint, slices integer, missing bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE shown (user_id bigint, item_id %s, shown_at timestamptz DEFAULT now())', item_type);
	CREATE TABLE kinds (user_id bigint PRIMARY KEY, items bloom, today bloom);
	CREATE TRIGGER track AFTER INSERT ON shown REFERENCING NEW TABLE AS new_rows
		FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('kinds', 'items', 'user_id', 'item_id', 'time=shown_at', 'live=today', 'slices=6');
	EXECUTE format('INSERT INTO shown SELECT 1, i::%s FROM unnest($1) AS i', item_type) USING given[1:1];
	EXECUTE format('UPDATE kinds AS k SET today = NULL, items = (SELECT bloom_window_agg(s.item_id::%s, s.shown_at, ''30 days'', 6, 0.009) FROM shown AS s)',
		CASE item_type WHEN 'integer' THEN 'bigint' ELSE item_type END);
	EXECUTE format('INSERT INTO shown SELECT 1, i::%s FROM unnest($1) AS i', item_type) USING given[2:2];
	EXECUTE format('SELECT bloom_take(''kinds'', 1, $1::%s[])', item_type) USING given;
	RETURN QUERY EXECUTE format('SELECT i.kind, bloom_cardinality(k.items), bloom_cardinality(k.today), (bloom_info(k.items)).slices, '
		'cardinality($1::%s[] - k.items - k.today)::bigint FROM kinds AS k, bloom_info(k.today) AS i', item_type) USING given;
	DROP TABLE shown, kinds;
END
$$;
SELECT * FROM by_kind('integer', '1', '2', '3', '4');
SELECT * FROM by_kind('text', 'a', 'b', 'c', '{d}');
SELECT * FROM by_kind('uuid', '6ecd8c99-4036-403d-bf84-cf8400f67836', '6ecd8c99-4036-403d-bf84-cf8400f67837', '6ecd8c99-4036-403d-bf84-cf8400f67838');
SELECT * FROM by_kind('bytea', '\x', '\x00', '\x01');
DROP FUNCTION by_kind;

DROP TRIGGER track ON exposures;
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at', 'slices=6', 'width=6 days', 'live=today');
TRUNCATE exposures, seen;
INSERT INTO exposures VALUES (1, 1, now() - interval '5 days'), (1, 2, now() - interval '7 days'), (1, 3, now()), (1, 4, NULL);
CALL bloom_rebuild('seen');
INSERT INTO exposures VALUES (1, 5, now());
SELECT * FROM state;
SELECT i.fpr, i.window_width, i.slices, t.window_width AS live_width FROM seen, bloom_info(items) AS i, bloom_info(today) AS t;
CALL bloom_rebuild('seen', at => now() + interval '3 days');
SELECT * FROM state;

-- A large live filter is still right: it grows.
TRUNCATE exposures, seen;
INSERT INTO exposures SELECT 1, i FROM generate_series(1, 5000) AS i;
INSERT INTO exposures SELECT 1, i FROM generate_series(5001, 5100) AS i;
SELECT (bloom_info(today)).items > 4900 AS many, (SELECT count(*) FROM exposures WHERE NOT today @> item_id) AS missing FROM seen;

-- Policies that hide rows from the UPDATE are an error, as without a live column.
CREATE ROLE regress_bloomexp_liver;
GRANT INSERT ON exposures TO regress_bloomexp_liver;
GRANT SELECT, INSERT, UPDATE ON seen TO regress_bloomexp_liver;
ALTER TABLE seen ENABLE ROW LEVEL SECURITY;
CREATE POLICY reads ON seen FOR SELECT USING (true);
CREATE POLICY inserts ON seen FOR INSERT WITH CHECK (true);
SET ROLE regress_bloomexp_liver;
DO $$
BEGIN
	INSERT INTO exposures VALUES (1, 6000);
	RAISE 'an exposure was lost';
EXCEPTION WHEN insufficient_privilege THEN
	RAISE WARNING 'refused';
END
$$;
RESET ROLE;
DROP OWNED BY regress_bloomexp_liver;
DROP ROLE regress_bloomexp_liver;
ALTER TABLE seen DISABLE ROW LEVEL SECURITY;

-- Mistakes
CREATE FUNCTION mistake(VARIADIC arguments text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	DROP TRIGGER IF EXISTS track ON exposures;
	EXECUTE format('CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows '
		'FOR EACH STATEMENT EXECUTE FUNCTION bloom_track(''seen'', ''items'', ''user_id'', ''item_id'', ''time=shown_at'', %s)',
		(SELECT string_agg(quote_literal(a), ', ') FROM unnest(arguments) AS a));
	IF (SELECT problem FROM bloom_untracked('exposures')) IS NULL THEN
		RETURN 'none';
	END IF;
	INSERT INTO exposures VALUES (1, 1);
	RETURN 'not found';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' / ', sqlstate, sqlerrm, nullif(hint, ''));
END
$$;
SELECT mistake('live=today');
SELECT mistake('live=items');
SELECT mistake('live=user_id');
SELECT mistake('live=tomorrow');
SELECT mistake('live=');
SELECT mistake('live=today', 'live=today');
SELECT mistake('live=today', 'fpr=0.000000005');
DELETE FROM seen;
ALTER TABLE seen ALTER items SET NOT NULL;
SELECT mistake('live=today');
ALTER TABLE seen ALTER items DROP NOT NULL;
ALTER TABLE seen ALTER today SET NOT NULL;
SELECT mistake('live=today');
ALTER TABLE seen ALTER today DROP NOT NULL;
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', live_column => 'items');
CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', live_column => 'tomorrow');
DROP FUNCTION mistake;
-- two triggers that disagree about it
DROP TRIGGER IF EXISTS track ON exposures;
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at', 'live=today');
CREATE TRIGGER track_again AFTER UPDATE ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at');
SELECT trigger_name, problem FROM bloom_untracked('exposures');
CALL bloom_rebuild('seen');

DROP VIEW state;
DROP TABLE exposures, seen;
