--
-- PeerTube: a row of userVideoHistory for a video and who has watched it, updated when it is
-- watched again.  The list of videos leaves them out by NOT EXISTS, in the order of publication.
--
-- From github.com/Chocobozzz/PeerTube at 0ad50ced (videos-id-list-query-builder.ts), 3e14cd58
-- (user-video-history.ts).
--
CREATE SCHEMA peertube;
SET search_path = peertube, public;

CREATE TABLE actor (id int PRIMARY KEY, "preferredUsername" varchar(255) NOT NULL, "serverId" int,
	"accountId" int UNIQUE);
CREATE TABLE account (id int PRIMARY KEY, name varchar(255) NOT NULL);
CREATE TABLE "videoChannel" (id int PRIMARY KEY, name varchar(255) NOT NULL,
	"accountId" int NOT NULL REFERENCES account);
CREATE TABLE video (
	id int PRIMARY KEY, uuid uuid NOT NULL UNIQUE, name varchar(255) NOT NULL, privacy int NOT NULL,
	state int NOT NULL,
	nsfw boolean NOT NULL, description varchar(10000), duration int NOT NULL, views int NOT NULL,
		"waitTranscoding" boolean NOT NULL,
	"publishedAt" timestamptz NOT NULL, "channelId" int NOT NULL REFERENCES "videoChannel");
CREATE TABLE "videoBlacklist" ("videoId" int PRIMARY KEY);
CREATE TABLE "accountBlocklist" ("accountId" int, "targetAccountId" int,
	PRIMARY KEY ("accountId", "targetAccountId"));
CREATE TABLE "userVideoHistory" (
	id serial PRIMARY KEY, "currentTime" int NOT NULL, "createdAt" timestamptz NOT NULL,
	"updatedAt" timestamptz NOT NULL,
	"videoId" int NOT NULL REFERENCES video, "userId" int NOT NULL);
CREATE UNIQUE INDEX ON "userVideoHistory" ("userId", "videoId");
CREATE INDEX ON "userVideoHistory" ("userId");
CREATE INDEX ON "userVideoHistory" ("videoId");

INSERT INTO account SELECT n, 'account' || n FROM generate_series(1, 1000) AS n;
INSERT INTO actor SELECT n, 'actor' || n, n % 100, n FROM generate_series(1, 1000) AS n;
INSERT INTO "videoChannel" SELECT n, 'channel' || n, 1 + n % 1000
	FROM generate_series(1, 2000) AS n;
INSERT INTO video
SELECT n, md5(n::text)::uuid, 'The name of video ' || n, 1, 1, false, repeat('about it ', 20),
	n % 3600, n % 10000,
	true,
	'2026-01-01'::timestamptz + n * interval '1 minute', 1 + n % 2000
FROM size, generate_series(1, items) AS n;
CREATE INDEX ON video ("publishedAt" DESC, id);
CREATE INDEX ON video ("channelId");
INSERT INTO "videoBlacklist" SELECT n FROM generate_series(1, 50) AS n;
INSERT INTO "accountBlocklist" SELECT me, 7 FROM reader;

CREATE FUNCTION watch(older boolean) RETURNS void LANGUAGE sql AS $$
	INSERT INTO "userVideoHistory" ("currentTime", "createdAt", "updatedAt", "videoId", "userId")
	SELECT 10, '2026-06-01', '2026-06-01', nth, me FROM reading
		WHERE (hashint8(nth) % 2 = 0) = older
	ON CONFLICT ("userId", "videoId") DO UPDATE SET "currentTime" = excluded."currentTime",
		"updatedAt" = excluded."updatedAt"
$$;
SELECT watch(true) \g /dev/null

SELECT bloomexp.create_feed('peertube_seen', '"userVideoHistory"', user_column => 'userId',
	item_column => 'videoId',
	time_column => 'updatedAt', width => '3650 days');
CALL peertube_seen.rebuild() \g /dev/null
SELECT watch(false) \g /dev/null
VACUUM ANALYZE;

CREATE FUNCTION contains(key text, id text) RETURNS boolean LANGUAGE sql STABLE AS
	'SELECT peertube_seen.current(key::int) @> id::int';
INSERT INTO app VALUES ('peertube', ARRAY(SELECT me FROM reader), '$1',
	$$INSERT INTO peertube."userVideoHistory" ("currentTime", "createdAt", "updatedAt",
		"videoId", "userId")
		SELECT 1, now(), now(), id::int, $1::int FROM unnest($2) AS id
		ON CONFLICT ("userId", "videoId") DO UPDATE SET "updatedAt" = excluded."updatedAt"$$,
	'CALL peertube_seen.rebuild()',
	$$SELECT pg_total_relation_size('peertube."userVideoHistory"') * r.items / (SELECT count(*)
		FROM peertube."userVideoHistory") FROM reader AS r WHERE me = $1$$,
	'SELECT pg_column_size(f.*) FROM peertube_seen.filters AS f WHERE user_id = $1');
INSERT INTO feed
SELECT 'peertube', method, format($q$(int) AS
	SELECT video.id, video.uuid, video.name, video.description, video.views
	FROM peertube.video AS video
	JOIN peertube."videoChannel" AS channel ON channel.id = video."channelId"
	JOIN peertube.account AS account ON account.id = channel."accountId"
	JOIN peertube.actor AS "accountActor" ON account.id = "accountActor"."accountId"
	WHERE video.id NOT IN (SELECT b."videoId" FROM peertube."videoBlacklist" AS b)
		AND NOT EXISTS (SELECT FROM peertube."accountBlocklist" AS b WHERE b."accountId" IN (0, $1)
			AND b."targetAccountId" = account.id)
		AND (video.state = 1 OR (video.state = 2 AND video."waitTranscoding" IS false))
			AND (video.privacy = 1 OR video.privacy = 4)
		AND video.nsfw IS false AND %s
	ORDER BY video."publishedAt" DESC, video.id $q$, unwatched) || '%limit%'
FROM (VALUES
	('today', 'NOT EXISTS (SELECT FROM peertube."userVideoHistory" AS h WHERE h."videoId" = video.id
		AND h."userId" = $1)'),
	('not exists, offset 0',
		'NOT EXISTS (SELECT FROM peertube."userVideoHistory" AS h WHERE h."videoId" = video.id
		AND h."userId" = $1 OFFSET 0)'),
	('not in', 'video.id NOT IN (SELECT nullif("videoId", NULL) FROM peertube."userVideoHistory"
		WHERE "userId" = $1)'),
	('filter', 'NOT (SELECT peertube_seen.current($1)) @> video.id')) AS v (method, unwatched);
