--
-- Lemmy: one row of post_actions for all that a person did with a post.  It is read if read_at is
-- not NULL; votes, saves and hidings write rows, too.  The feed joins that row and asks for read_at
-- IS NULL, in the order of a rank.
--
-- From github.com/LemmyNet/lemmy at 0109fab8 (crates/db_views/post/src/impls.rs), 00908ea9 (the
-- schema).
--
CREATE SCHEMA lemmy;
SET search_path = lemmy, public;

CREATE TABLE person (id int PRIMARY KEY, name varchar(255) NOT NULL,
	bot_account boolean NOT NULL DEFAULT false);
CREATE TABLE community (
	id int PRIMARY KEY, name varchar(255) NOT NULL, removed boolean NOT NULL DEFAULT false,
		deleted boolean NOT NULL DEFAULT false,
	nsfw boolean NOT NULL DEFAULT false, local_removed boolean NOT NULL DEFAULT false);
CREATE TABLE post (
	id int PRIMARY KEY, name varchar(200) NOT NULL, url varchar(2000), body text,
	creator_id int NOT NULL REFERENCES person, community_id int NOT NULL REFERENCES community,
	removed boolean NOT NULL DEFAULT false, deleted boolean NOT NULL DEFAULT false,
	nsfw boolean NOT NULL DEFAULT false,
	published_at timestamptz NOT NULL, featured_local boolean NOT NULL DEFAULT false,
	score int NOT NULL DEFAULT 0,
	hot_rank real NOT NULL);
CREATE TABLE community_actions (person_id int, community_id int, followed_at timestamptz,
	blocked_at timestamptz,
	PRIMARY KEY (person_id, community_id));
CREATE TABLE person_actions (person_id int, target_id int, followed_at timestamptz,
	blocked_at timestamptz,
	PRIMARY KEY (person_id, target_id));
CREATE TABLE post_actions (
	read_at timestamptz, read_comments_at timestamptz, saved_at timestamptz, voted_at timestamptz,
	hidden_at timestamptz,
	person_id int NOT NULL REFERENCES person, post_id int NOT NULL REFERENCES post,
	read_comments_amount int,
		vote_is_upvote boolean,
	PRIMARY KEY (person_id, post_id));

INSERT INTO person SELECT n, 'person' || n FROM generate_series(1, 2000) AS n;
INSERT INTO community SELECT n, 'community' || n FROM generate_series(1, 500) AS n;
-- the rank of all but the newest tenth has sunk to 0, and time decides
INSERT INTO post (id, name, url, body, creator_id, community_id, published_at, hot_rank)
SELECT n, 'A title as long as they usually are, number ' || n, 'https://example.org/'
	|| md5(n::text),
	repeat('text ', 30),
	1 + n % 1999, 1 + n % 499, '2026-01-01'::timestamptz + n * interval '1 minute',
	greatest(0, n - 0.9 * items) * (0.5 + (hashint4(n) & 1023) / 1024.0)
FROM size, generate_series(1, items) AS n;
CREATE INDEX ON post (featured_local DESC, hot_rank DESC, published_at DESC, id DESC);
-- most rows are of those who follow; each reader has blocked a community and a person
INSERT INTO community_actions SELECT p, c, CASE WHEN c > 1 THEN now() END, CASE
	WHEN c = 1 THEN now() END
	FROM generate_series(1, 500) AS p, generate_series(1, 30) AS c;
INSERT INTO person_actions SELECT p, t, CASE WHEN t > 1 THEN now() END, CASE
	WHEN t = 1 THEN now() END
	FROM generate_series(1, 500) AS p, generate_series(1, 10) AS t;
CREATE TABLE nth AS SELECT row_number() OVER (ORDER BY hot_rank, published_at, id) AS nth, id
	FROM post;

-- Half of what was read was read before there were filters, some of it after a vote.  Votes of
-- others on other servers are rows, too.
CREATE INDEX ON post_actions (post_id);
CREATE INDEX ON post_actions (person_id, post_id) WHERE read_at IS NOT NULL;
CREATE INDEX ON post_actions (person_id, post_id) WHERE saved_at IS NOT NULL;
CREATE INDEX ON post_actions (person_id, post_id) WHERE voted_at IS NOT NULL;
CREATE INDEX ON post_actions (person_id, post_id) WHERE hidden_at IS NOT NULL;
INSERT INTO post_actions (person_id, post_id, voted_at, vote_is_upvote)
SELECT me, id, now(), true FROM reader, nth WHERE hashint8extended(nth, 100 + me) % 50 = 0
UNION ALL
SELECT 1000 + n, id, now(), true FROM generate_series(1, 300) AS n, nth
	WHERE hashint8extended(nth, n) % 300 = 0;
CREATE FUNCTION mark_as_read(older boolean) RETURNS void LANGUAGE sql AS $$
	INSERT INTO post_actions (person_id, post_id, read_at)
	SELECT me, id, published_at + interval '1 day' FROM reading JOIN nth USING (nth)
		JOIN post USING (id)
	WHERE (hashint8(nth) % 2 = 0) = older
	ON CONFLICT (person_id, post_id) DO UPDATE SET read_at = excluded.read_at
$$;
SELECT mark_as_read(true) \g /dev/null

-- The feed.  A vote's row has no time and is no exposure; when the post is read, it is updated.
SELECT bloomexp.create_feed('lemmy_seen', 'post_actions', user_column => 'person_id',
	item_column => 'post_id',
	time_column => 'read_at', width => '3650 days');
CALL lemmy_seen.rebuild() \g /dev/null
SELECT mark_as_read(false) \g /dev/null
VACUUM ANALYZE;

CREATE FUNCTION contains(key text, id text) RETURNS boolean LANGUAGE sql STABLE AS
	'SELECT lemmy_seen.current(key::int) @> id::int';
INSERT INTO app VALUES ('lemmy', ARRAY(SELECT me FROM reader), '$1',
	$$INSERT INTO lemmy.post_actions (person_id, post_id, read_at) SELECT $1::int, id::int, now()
	FROM unnest($2) AS id
		ON CONFLICT (person_id, post_id) DO UPDATE SET read_at = excluded.read_at$$,
	'CALL lemmy_seen.rebuild()',
	$$SELECT pg_total_relation_size('lemmy.post_actions') * r.items / (SELECT count(*)
		FROM lemmy.post_actions)
		FROM reader AS r WHERE me = $1$$,
	'SELECT pg_column_size(f.*) FROM lemmy_seen.filters AS f WHERE user_id = $1');
INSERT INTO feed
SELECT 'lemmy', method, format($q$(int) AS
	SELECT p.id, p.name, p.url, p.body, p.score, pe.name AS creator, c.name AS community,
		pa.saved_at, pa.vote_is_upvote
	FROM lemmy.post AS p
	JOIN lemmy.person AS pe ON pe.id = p.creator_id
	JOIN lemmy.community AS c ON c.id = p.community_id
	LEFT JOIN lemmy.community_actions AS ca ON ca.community_id = p.community_id
	AND ca.person_id = $1
	LEFT JOIN lemmy.person_actions AS pea ON pea.target_id = p.creator_id AND pea.person_id = $1
	LEFT JOIN lemmy.post_actions AS pa ON pa.post_id = p.id AND pa.person_id = $1 %s
	WHERE NOT p.deleted AND NOT p.removed AND NOT p.nsfw AND NOT c.deleted AND NOT c.removed
	AND NOT c.local_removed
		AND NOT c.nsfw
		AND NOT pe.bot_account AND pa.hidden_at IS NULL AND ca.blocked_at IS NULL
		AND pea.blocked_at IS NULL
		AND %s
	ORDER BY p.featured_local DESC, p.hot_rank DESC, p.published_at DESC, p.id DESC $q$, joined,
		unread) || '%limit%'
FROM (VALUES
	('today', '', 'pa.read_at IS NULL'),
	('not exists', '', 'NOT EXISTS (SELECT FROM lemmy.post_actions AS r WHERE r.person_id = $1
		AND r.post_id = p.id
		AND r.read_at IS NOT NULL)'),
	('not exists, offset 0', '',
		'NOT EXISTS (SELECT FROM lemmy.post_actions AS r WHERE r.person_id = $1
		AND r.post_id = p.id AND r.read_at IS NOT NULL OFFSET 0)'),
	('not in', '', 'p.id NOT IN (SELECT nullif(post_id, NULL) FROM lemmy.post_actions
		WHERE person_id = $1
		AND read_at IS NOT NULL)'),
	('filter', '', 'NOT (SELECT lemmy_seen.current($1)) @> p.id'),
	('no subquery', '', 'NOT lemmy_seen.current($1) @> p.id'),
	('other key', 'CROSS JOIN lemmy.person AS me',
		'me.id = $1 AND NOT (SELECT lemmy_seen.current(me.id)) @> p.id')
) AS v (method, joined, unread);
