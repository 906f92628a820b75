-- The tables of the tutorial, on which the pages of doc/ build that say so: 100 users who
-- have seen 300 items each, user 42 the items from 42001 on, in the last 300 hours.

CREATE EXTENSION bloomexp;

CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL, shown_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX ON exposures (user_id, shown_at, item_id);
CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom, rebuilt_at timestamptz)
WITH (toast_tuple_target = 8160, fillfactor = 50);
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at');

INSERT INTO exposures
SELECT user_id, user_id * 1000 + n, now() - n * interval '1 hour'
FROM generate_series(1, 100) AS user_id, generate_series(1, 300) AS n;
