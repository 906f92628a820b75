--
-- gorse: a row of feedback for a user, an item and a type.  For a page the application loads a
-- user's feedback of the types that count, and drops these items from its candidates: the latest,
-- 100 of them unless configured.
--
-- From github.com/gorse-io/gorse at 5404aefa (storage/data/sql.go, logics/recommend.go,
-- config/config.go).
--
CREATE SCHEMA gorse;
SET search_path = gorse, public;

CREATE TABLE items (
	item_id varchar(256) COLLATE "C" PRIMARY KEY, is_hidden boolean NOT NULL DEFAULT false,
		categories json NOT NULL DEFAULT '[]',
	time_stamp timestamptz NOT NULL, labels json NOT NULL DEFAULT '[]',
		comment text NOT NULL DEFAULT '');
CREATE INDEX ON items (time_stamp);
CREATE TABLE feedback (
	feedback_type varchar(256) COLLATE "C" NOT NULL, user_id varchar(256) COLLATE "C" NOT NULL,
		item_id varchar(256) COLLATE "C" NOT NULL,
	value float8 NOT NULL DEFAULT 0, time_stamp timestamptz NOT NULL,
	updated timestamptz NOT NULL DEFAULT '2000-01-01',
	labels json, comment text NOT NULL DEFAULT '', PRIMARY KEY (feedback_type, user_id, item_id));
CREATE INDEX ON feedback (user_id);
CREATE INDEX ON feedback (item_id);

INSERT INTO items (item_id, time_stamp, comment)
SELECT 'item:' || n, '2026-01-01'::timestamptz + n * interval '1 minute', 'A comment on item ' || n
	FROM size,
	generate_series(1, items) AS n;
-- what was only opened comes again
INSERT INTO feedback (feedback_type, user_id, item_id, time_stamp)
SELECT 'open', 'user:' || me, 'item:' || nth, '2026-06-01'
	FROM size, reader, generate_series(1, size.items) AS nth
	WHERE hashint8extended(nth, 200 + me) % 100 = 0;
CREATE FUNCTION feed_back(older boolean) RETURNS void LANGUAGE sql AS $$
	INSERT INTO feedback (feedback_type, user_id, item_id, time_stamp)
	SELECT CASE WHEN nth % 10 = 0 THEN 'like' ELSE 'read' END, 'user:' || me,
		'item:' || nth, '2026-06-01'
	FROM reading WHERE (hashint8(nth) % 2 = 0) = older
$$;
SELECT feed_back(true) \g /dev/null

-- What counts is a condition, and so a column of its own.  The index is for NOT IN.
ALTER TABLE feedback ADD is_read boolean GENERATED ALWAYS AS (feedback_type IN ('read',
	'like')) STORED;
CREATE INDEX ON feedback (user_id, item_id) WHERE feedback_type IN ('read', 'like');
SELECT bloomexp.create_feed('gorse_seen', 'feedback', time_column => 'time_stamp',
	width => '3650 days',
	"where" => 'is_read');
CALL gorse_seen.rebuild() \g /dev/null
SELECT feed_back(false) \g /dev/null
VACUUM ANALYZE;

CREATE FUNCTION contains(key text, id text) RETURNS boolean LANGUAGE sql STABLE AS
	'SELECT gorse_seen.current(key) @> id';
INSERT INTO app VALUES ('gorse', ARRAY(SELECT me FROM reader), '''user:'' || $1',
	$$INSERT INTO gorse.feedback (feedback_type, user_id, item_id, time_stamp)
	SELECT 'read', $1, id, now()
		FROM unnest($2) AS id$$,
	'CALL gorse_seen.rebuild()',
	$$SELECT pg_total_relation_size('gorse.feedback') * r.items / (SELECT count(*)
		FROM gorse.feedback) FROM reader AS r
		WHERE me = $1$$,
	$$SELECT pg_column_size(f.*) FROM gorse_seen.filters AS f WHERE user_id = 'user:' || $1$$);
INSERT INTO feed VALUES
	-- its two statements in one; the page is what the application keeps of the last hundred
	('gorse', 'today', '(varchar) AS
		SELECT item_id AS id, feedback_type, user_id, value, time_stamp, updated, labels, comment
			FROM gorse.feedback
		WHERE time_stamp <= now() AND user_id = $1 AND feedback_type IN (''read'', ''like'')
		UNION ALL
		(SELECT item_id, NULL, NULL, NULL, time_stamp, NULL, labels, comment FROM gorse.items
			WHERE NOT is_hidden
			ORDER BY time_stamp DESC LIMIT 100)'),
	('gorse', 'exact', '(varchar) AS
		SELECT item_id AS id, labels, comment FROM gorse.items AS i WHERE NOT is_hidden
			AND NOT EXISTS (
			SELECT FROM gorse.feedback AS f WHERE f.item_id = i.item_id AND f.user_id = $1
				AND feedback_type IN (''read'', ''like''))
		ORDER BY time_stamp DESC %limit%'),
	('gorse', 'not in', '(varchar) AS
		SELECT item_id AS id, labels, comment FROM gorse.items
		WHERE NOT is_hidden AND item_id NOT IN (SELECT nullif(item_id, NULL) FROM gorse.feedback
			WHERE user_id = $1
			AND feedback_type IN (''read'', ''like''))
		ORDER BY time_stamp DESC %limit%'),
	('gorse', 'filter', '(varchar) AS
		SELECT item_id AS id, labels, comment FROM gorse.items
		WHERE NOT is_hidden AND NOT (SELECT gorse_seen.current($1)) @> item_id
		ORDER BY time_stamp DESC %limit%');
