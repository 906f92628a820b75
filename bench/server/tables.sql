--
-- Tables of bench/server, new in each round: what each way stores of the items of each user in the
-- last 30 days.  Variables: users, items (of each user), and the files type_alone and autovacuum,
-- with statements of doc/type-alone.md and doc/operate.md.
--
SET client_min_messages = warning;
SET synchronous_commit = off;

DROP TABLE IF EXISTS exact, alone, alone_filters, items, untracked_items;
DROP PROCEDURE IF EXISTS refresh_in_parts;
DROP SCHEMA IF EXISTS item_feed, untracked_feed, seen CASCADE;

-- A stream of pages of ten, in the order of time, of which none leaves the window meanwhile.
CREATE TABLE exact (user_id bigint NOT NULL, item_id bigint NOT NULL,
	shown_at timestamptz NOT NULL DEFAULT now());
INSERT INTO exact
SELECT u, item(u, 10 * page + n),
	now() - interval '29 days' + (page + u / (:users + 1.0)) * interval '6900 hours' / :items
FROM generate_series(0, :items / 10 - 1) AS page, generate_series(1, :users) AS u,
	generate_series(0, 9) AS n;

CREATE TABLE alone (LIKE exact INCLUDING DEFAULTS);
INSERT INTO alone TABLE exact;
CREATE TABLE items (LIKE exact INCLUDING DEFAULTS);
INSERT INTO items TABLE exact;
CREATE TABLE untracked_items (LIKE exact INCLUDING DEFAULTS);
INSERT INTO untracked_items TABLE exact;
CREATE INDEX ON exact (user_id, shown_at, item_id);
CREATE INDEX ON alone (user_id, shown_at, item_id);
CREATE INDEX ON items (user_id, shown_at, item_id);
CREATE INDEX ON untracked_items (user_id, shown_at, item_id);

\i :type_alone
CALL refresh_in_parts();

SELECT bloomexp.create_feed('item_feed', 'items'),
	bloomexp.create_feed('untracked_feed', 'untracked_items', trigger => false),
	bloomexp.create_feed('seen') \g /dev/null
\i :autovacuum
CALL item_feed.rebuild() \g /dev/null
CALL untracked_feed.rebuild() \g /dev/null
SELECT count(seen.add_batch(users, items, times))
FROM (SELECT array_agg(user_id) AS users, array_agg(item_id) AS items, array_agg(shown_at) AS times
	FROM (SELECT *, (row_number() OVER () - 1) / 100000 AS batch FROM exact) AS e
	GROUP BY batch ORDER BY batch) AS b \g /dev/null

VACUUM (FREEZE, ANALYZE);
