-- The tables of the example: posts to show, exposures, and the filters made from them.

CREATE EXTENSION bloomexp;

CREATE TABLE posts (id bigint PRIMARY KEY, title text NOT NULL, uri text NOT NULL, published timestamptz NOT NULL);
INSERT INTO posts
SELECT n, initcap(format('%s %s %s', (ARRAY['quiet', 'bold', 'late', 'small', 'bright', 'odd', 'plain'])[1 + n % 7],
		(ARRAY['harbour', 'garden', 'engine', 'river', 'letter'])[1 + n % 5], n)),
	format('at://did:example:author/app.bsky.feed.post/%s', n), now() - (20000 - n) * interval '1 minute'
FROM generate_series(1, 20000) AS n;
CREATE INDEX ON posts (published, id);

CREATE TABLE exposures (user_id text NOT NULL, item_id bigint NOT NULL, shown_at timestamptz NOT NULL DEFAULT now());
-- For the rebuild; with the item in second place also for NOT EXISTS, with which the page compares.
CREATE INDEX ON exposures (user_id, item_id, shown_at);
-- These settings keep a filter in its row, with room on the 8 kB page for its next version.
CREATE TABLE seen (user_id text PRIMARY KEY, items bloom, rebuilt_at timestamptz)
WITH (toast_tuple_target = 8160, fillfactor = 50);
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at');

-- A reader who has seen the newest 5,000 posts.
INSERT INTO exposures SELECT 'reader', id, now() - interval '1 day' FROM posts ORDER BY published DESC LIMIT 5000;
VACUUM ANALYZE posts, exposures, seen;
