--
-- Invidious: what a user has watched is an array of texts in the user's row.  It goes to the
-- application and comes back as a list of constants, NOT id = ANY (VALUES ...), over a materialized
-- view of the subscribed channels' videos.
--
-- From github.com/iv-org/invidious at d7f5cdc2 (config/sql), 00425670 (src/invidious/users.cr,
-- get_subscription_feed).
--
CREATE SCHEMA invidious;
SET search_path = invidious, public;

CREATE TABLE users (
	updated timestamptz, notifications text[], subscriptions text[], email text NOT NULL UNIQUE,
	preferences text,
	watched text[], feed_needs_update boolean);
CREATE TABLE channel_videos (
	id text NOT NULL UNIQUE, title text, published timestamptz, updated timestamptz,
	ucid text, author text,
		length_seconds int);
CREATE INDEX ON channel_videos (published);
CREATE INDEX ON channel_videos USING hash (ucid);

-- ids of eleven characters, as those of videos
INSERT INTO channel_videos
SELECT translate(left(encode(sha256(n::text::bytea), 'base64'), 11), '+/', '-_'),
	'The title of video ' || n,
	'2026-01-01'::timestamptz + n * interval '1 minute', '2026-01-01', 'UC' || md5((n % 400)::text),
	'author' || n % 400,
		n % 3600
FROM size, generate_series(1, items) AS n;
CREATE MATERIALIZED VIEW subscriptions_of_all AS
SELECT * FROM channel_videos WHERE ucid = ANY (ARRAY(SELECT DISTINCT ucid FROM channel_videos))
	ORDER BY published DESC;
CREATE TABLE nth AS SELECT row_number() OVER (ORDER BY published) AS nth, id FROM channel_videos;
INSERT INTO users (email, watched)
SELECT format('user%s@example.org', me),
	COALESCE(array_agg(id ORDER BY nth) FILTER (WHERE id IS NOT NULL), '{}')
FROM (SELECT me FROM reader UNION SELECT me FROM reading) AS m LEFT JOIN reading USING (me)
LEFT JOIN nth USING (nth)
	GROUP BY me;

-- There are no rows of exposures for a feed, so a table of filters is kept by hand: the statement
-- that marks a video as watched adds it to the filter.
CREATE TABLE seen (email text PRIMARY KEY, items bloom) WITH (toast_tuple_target = 8160,
	fillfactor = 50);
CREATE FUNCTION mark_watched(who text, video text) RETURNS void LANGUAGE sql AS $$
	UPDATE invidious.users SET watched = array_append(array_remove(watched, video), video)
	WHERE email = who;
	INSERT INTO invidious.seen AS f VALUES (who, bloom_add(NULL, video))
	ON CONFLICT (email) DO UPDATE SET items = bloom_add(f.items, video);
$$;
INSERT INTO seen SELECT email, bloom_agg(id, 0.01, 0.2) FROM users, unnest(watched) AS id
	GROUP BY email;
VACUUM ANALYZE;

CREATE FUNCTION contains(key text, id text) RETURNS boolean LANGUAGE sql STABLE AS
	'SELECT (SELECT items FROM invidious.seen WHERE email = key) @> id';
-- the text that the application writes
CREATE FUNCTION today(key text) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT format('SELECT * FROM invidious.subscriptions_of_all WHERE NOT id = ANY (%s)
		ORDER BY published DESC ',
		CASE WHEN watched = '{}' THEN '''{}'''
		ELSE 'VALUES ' || (SELECT string_agg(format('(%L)', id), ',')
			FROM unnest(watched) AS id) END) || '%limit%'
	FROM invidious.users WHERE email = key
$$;
INSERT INTO app VALUES ('invidious', ARRAY(SELECT me FROM reader),
	'format(''user%s@example.org'', $1)',
	$$SELECT invidious.mark_watched($1, id) FROM unnest($2) AS id$$,
	-- A rebuild in one statement is right only while nobody marks videos as watched.
	$$UPDATE invidious.seen AS f SET items = (SELECT bloom_agg(id, 0.01, 0.2)
		FROM invidious.users AS u,
		unnest(watched) AS id WHERE u.email = f.email)$$,
	$$SELECT pg_column_size(watched) FROM invidious.users
	WHERE email = format('user%s@example.org', $1)$$,
	$$SELECT pg_column_size(s.*) FROM invidious.seen AS s
		WHERE email = format('user%s@example.org', $1)$$);
INSERT INTO feed
SELECT 'invidious', method, format('(text) AS SELECT * FROM invidious.subscriptions_of_all WHERE %s
	ORDER BY published DESC ', unwatched) || '%limit%'
FROM (VALUES
	('not in', 'id NOT IN (SELECT unnest(watched) FROM invidious.users WHERE email = $1)'),
	('filter', 'NOT (SELECT items FROM invidious.seen WHERE email = $1) @> id')) AS v (method,
		unwatched);
