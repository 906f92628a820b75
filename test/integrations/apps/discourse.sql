--
-- Discourse: "dismiss new" writes a row of dismissed_topic_users for each topic, and the list of
-- new topics leaves them out by a LEFT JOIN whose row IS NULL.  Here readers dismiss 500,000 of
-- 600,000 topics at once, as where a feed has a button "mark all as seen"; Discourse itself takes
-- no more than its setting max_new_topics.
--
-- From github.com/discourse/discourse at 01275fa4 (lib/topic_query.rb), 0f45504c
-- (dismissed_topic_user.rb).
--
CREATE SCHEMA discourse;
SET search_path = discourse, public;

CREATE TABLE topics (
	id int PRIMARY KEY, title varchar NOT NULL, excerpt varchar, created_at timestamp NOT NULL,
		bumped_at timestamp NOT NULL,
	deleted_at timestamp, visible boolean NOT NULL DEFAULT true, category_id int,
		archetype varchar NOT NULL DEFAULT 'regular');
CREATE INDEX ON topics (bumped_at DESC);
CREATE TABLE topic_users (user_id int, topic_id int, last_read_post_number int,
	notification_level int NOT NULL DEFAULT 1, PRIMARY KEY (user_id, topic_id));
CREATE TABLE dismissed_topic_users (id bigserial PRIMARY KEY, user_id int, topic_id int,
	created_at timestamp);
CREATE UNIQUE INDEX ON dismissed_topic_users (user_id, topic_id);

INSERT INTO topics (id, title, excerpt, created_at, bumped_at, category_id)
SELECT n, 'What was asked in topic ' || n, repeat('text ', 20), '2026-01-01'::timestamp + n
	* interval '20 seconds',
	'2026-01-01'::timestamp + n * interval '20 seconds', n % 50
FROM size, generate_series(1, 3 * items) AS n;
-- half of them have only set how they are notified
INSERT INTO topic_users SELECT me, n, CASE WHEN n % 2000 = 1 THEN 1 END, 1 FROM size, reader,
	generate_series(1, 3 * size.items, 1000) AS n;
CREATE FUNCTION dismiss(who int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO dismissed_topic_users (user_id, topic_id, created_at)
	SELECT who, id, '2026-10-01' FROM topics, size WHERE id > items / 2
	ON CONFLICT DO NOTHING
$$;

-- 2 before there is a trigger, 3 with it
\timing on
\echo discourse: rows without a trigger
SELECT dismiss(2) \g /dev/null
\timing off
SELECT bloomexp.create_feed('discourse_seen', 'dismissed_topic_users', item_column => 'topic_id',
	time_column => 'created_at', width => '3650 days');
CALL discourse_seen.rebuild() \g /dev/null
\timing on
\echo discourse: rows with the trigger
SELECT dismiss(3) \g /dev/null
\timing off
VACUUM ANALYZE;

CREATE FUNCTION contains(key text, id text) RETURNS boolean LANGUAGE sql STABLE AS
	'SELECT discourse_seen.current(key::int) @> id::int';
INSERT INTO app VALUES ('discourse', '{1,2,3}', '$1',
	$$INSERT INTO discourse.dismissed_topic_users (user_id, topic_id, created_at)
	SELECT $1::int, id::int, now()
		FROM unnest($2) AS id$$,
	'CALL discourse_seen.rebuild()',
	$$SELECT CASE WHEN $1 > 1 THEN pg_total_relation_size('discourse.dismissed_topic_users') / 2
	ELSE 0 END$$,
	'SELECT pg_column_size(f.*) FROM discourse_seen.filters AS f WHERE user_id = $1');
INSERT INTO feed
SELECT 'discourse', method, format($q$(int) AS
	SELECT topics.id, topics.title, topics.excerpt, tu.notification_level
	FROM discourse.topics
	LEFT JOIN discourse.topic_users AS tu ON topics.id = tu.topic_id AND tu.user_id = $1 %s
	WHERE topics.visible AND topics.deleted_at IS NULL AND topics.archetype <> 'private_message'
		AND topics.created_at >= '2026-01-01'
		AND tu.last_read_post_number IS NULL AND COALESCE(tu.notification_level, 1) > 0 AND %s
	ORDER BY topics.bumped_at DESC $q$, joined, new) || '%limit%'
FROM (VALUES
	('today', 'LEFT JOIN discourse.dismissed_topic_users AS d ON d.topic_id = topics.id
		AND d.user_id = $1',
		'd.id IS NULL'),
	('not in', '', 'topics.id NOT IN (SELECT nullif(topic_id, NULL)
		FROM discourse.dismissed_topic_users
		WHERE user_id = $1)'),
	('filter', '', 'NOT (SELECT discourse_seen.current($1)) @> topics.id')) AS v (method,
		joined, new);
