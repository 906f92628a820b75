-- The tables of these programs and of those in ../drivers.  In an application an SQL migration
-- makes the index and the feed; exposures and posts stand for tables that it has.

CREATE EXTENSION bloomexp;

-- 100 users have seen 300 posts each, user 42 those from 42001 to 42300.
CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL,
	shown_at timestamptz NOT NULL DEFAULT now());
INSERT INTO exposures
SELECT user_id, user_id * 1000 + n, now() - n * interval '1 hour'
FROM generate_series(1, 100) AS user_id, generate_series(1, 300) AS n;

CREATE TABLE posts (id bigint PRIMARY KEY, published timestamptz NOT NULL);
INSERT INTO posts SELECT n, now() - (42310 - n) * interval '1 minute'
	FROM generate_series(42290, 42310) AS n;
CREATE INDEX ON posts (published);

-- The index of the rebuild, the feed, and the filters of what was seen until now.
CREATE INDEX ON exposures (user_id, shown_at, item_id);
SELECT bloomexp.create_feed('shown', 'exposures');
CALL shown.rebuild();
