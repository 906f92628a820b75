-- The tables of these programs.  In an application an SQL migration makes all but exposures and
-- posts, which stand for tables that it has.

CREATE EXTENSION bloomexp;

-- 100 users have seen 300 posts each, user 42 those from 42001 to 42300.
CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL, shown_at timestamptz NOT NULL DEFAULT now());
INSERT INTO exposures
SELECT user_id, user_id * 1000 + n, now() - n * interval '1 hour'
FROM generate_series(1, 100) AS user_id, generate_series(1, 300) AS n;

CREATE TABLE posts (id bigint PRIMARY KEY, published timestamptz NOT NULL);
INSERT INTO posts SELECT n, now() - (42310 - n) * interval '1 minute' FROM generate_series(42290, 42310) AS n;
CREATE INDEX ON posts (published);

-- The filters, their trigger, the index of the rebuild, and the filters of what was seen until now.
CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom, rebuilt_at timestamptz)
WITH (toast_tuple_target = 8160, fillfactor = 50);
CREATE INDEX ON exposures (user_id, shown_at, item_id);
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at');
CALL bloom_rebuild('seen', rebuilt_at_column => 'rebuilt_at');
