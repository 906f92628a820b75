-- The tables of the tutorial, on which the pages of doc/ build that say so: 100 users who
-- were shown 300 items each, user 42 the items from 42001 on, in the last 300 hours; and
-- the feed "seen" of these exposures.

CREATE EXTENSION bloomexp;

CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL, shown_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX ON exposures (user_id, shown_at, item_id);
SELECT bloom_create_feed('seen', 'exposures');

INSERT INTO exposures
SELECT user_id, user_id * 1000 + n, now() - n * interval '1 hour'
FROM generate_series(1, 100) AS user_id, generate_series(1, 300) AS n;
