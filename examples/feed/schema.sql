-- The tables of the example: posts to show, what was shown, and the feed of it.

CREATE EXTENSION IF NOT EXISTS bloomexp;

CREATE TABLE posts (uri text PRIMARY KEY, title text NOT NULL, published timestamptz NOT NULL);
INSERT INTO posts
SELECT format('at://did:example:author/app.bsky.feed.post/%s', n), initcap(format('%s %s %s',
		(ARRAY['quiet', 'bold', 'late', 'small', 'bright', 'odd', 'plain'])[1 + n % 7],
		(ARRAY['harbour', 'garden', 'engine', 'river', 'letter'])[1 + n % 5], n)),
	now() - (20000 - n) * interval '1 minute'
FROM generate_series(1, 20000) AS n;
CREATE INDEX ON posts (published, uri);

CREATE TABLE exposures (user_id text NOT NULL, item_id text NOT NULL,
	shown_at timestamptz NOT NULL DEFAULT now());
-- For the rebuild.  With the item second, also for NOT EXISTS, to which the page compares the feed.
CREATE INDEX ON exposures (user_id, item_id, shown_at);
SELECT bloomexp.create_feed('shown', 'exposures');

-- For bluesky.js: readers are texts, items are uris, and no table has what they have seen.
SELECT bloomexp.create_feed('reported', user_type => 'text', item_type => 'text');

-- A reader who has seen the newest 5,000 posts.
INSERT INTO exposures SELECT 'reader', uri, now() - interval '1 day' FROM posts
	ORDER BY published DESC LIMIT 5000;
VACUUM ANALYZE posts, exposures, shown.filters;
