--
-- Tables of bench/feed: the same exposures for each way to keep filters of them.  Variable: users.
--
SET client_min_messages = warning;

-- 300 exposures per user, one each two hours; none while this is measured.
CREATE TABLE plain (user_id bigint NOT NULL, item_id bigint NOT NULL,
	shown_at timestamptz NOT NULL DEFAULT now());
INSERT INTO plain
SELECT u, hashint8extended(n, u) & 1099511627775, now() - n * interval '2 hours'
FROM generate_series(300, 1, -1) AS n, generate_series(1, :users) AS u;
CREATE TABLE exact (LIKE plain INCLUDING DEFAULTS);
CREATE TABLE hand (LIKE plain INCLUDING DEFAULTS);
CREATE TABLE tracked (LIKE plain INCLUDING DEFAULTS);
CREATE TABLE untracked (LIKE plain INCLUDING DEFAULTS);
CREATE TABLE paged (user_id bigint NOT NULL, item_ids bigint[] NOT NULL,
	shown_at timestamptz NOT NULL DEFAULT now());
INSERT INTO exact TABLE plain;
INSERT INTO hand TABLE plain;
INSERT INTO tracked TABLE plain;
INSERT INTO untracked TABLE plain;
INSERT INTO paged
SELECT user_id, array_agg(item_id), max(shown_at)
	FROM (SELECT *, row_number() OVER (PARTITION BY user_id ORDER BY shown_at) - 1 AS nth
	FROM plain) AS p
GROUP BY user_id, nth / 10 ORDER BY max(shown_at);
CREATE TABLE paged_untracked (LIKE paged INCLUDING DEFAULTS);
INSERT INTO paged_untracked TABLE paged;

CREATE INDEX ON plain (user_id, shown_at, item_id);
CREATE INDEX ON exact (user_id, item_id);
CREATE INDEX ON hand (user_id, shown_at, item_id);
CREATE INDEX ON tracked (user_id, shown_at, item_id);
CREATE INDEX ON untracked (user_id, shown_at, item_id);
CREATE INDEX ON paged (user_id, shown_at);
CREATE INDEX ON paged_untracked (user_id, shown_at);

-- One feed by the trigger, and with a page as a row.  Three that read the last 10, 50 and 200
-- exposures with their filters, and one more with a page as a row that reads 50.
SELECT bloomexp.create_feed('seen', 'tracked');
SELECT bloomexp.create_feed('pages', 'paged', item_column => 'item_ids');
SELECT bloomexp.create_feed('untracked10', 'untracked', trigger => false);
SELECT bloomexp.create_feed('untracked50', 'untracked', trigger => false);
SELECT bloomexp.create_feed('untracked200', 'untracked', trigger => false);
SELECT bloomexp.create_feed('pages50', 'paged_untracked', item_column => 'item_ids',
	trigger => false);

-- By hand: what one needs at the least.
CREATE TABLE hand_filters (user_id bigint PRIMARY KEY, items bloom) WITH (fillfactor = 50,
	toast_tuple_target = 8160);
CREATE FUNCTION add_by_hand() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	shown record;
BEGIN
	FOR shown IN SELECT user_id, array_agg(item_id) AS items FROM new_rows GROUP BY user_id
	ORDER BY user_id LOOP
		INSERT INTO hand_filters AS f VALUES (shown.user_id, bloom_add(NULL, shown.items))
		ON CONFLICT (user_id) DO UPDATE SET items = bloom_add(f.items, shown.items);
	END LOOP;
	RETURN NULL;
END
$$;
CREATE TRIGGER by_hand AFTER INSERT ON hand REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION add_by_hand();

-- 500 candidates per user, three of ten exposed; and items in the order of a feed, of which each
-- user was shown some of the newest.
CREATE TABLE candidates (user_id bigint PRIMARY KEY, items bigint[]);
ALTER TABLE candidates ALTER items SET STORAGE EXTERNAL;
INSERT INTO candidates
SELECT u, array_agg(hashint8extended(CASE WHEN n % 10 < 3 THEN n / 2 + 1 ELSE -n END,
	u) & 1099511627775 ORDER BY n * 7919 % 500)
FROM generate_series(1, :users) AS u, generate_series(0, 499) AS n GROUP BY u;
CREATE TABLE posts (id bigint PRIMARY KEY, published timestamptz NOT NULL);
INSERT INTO posts SELECT hashint8extended(n % 300 + 1, n % :users + 1) & 1099511627775,
	now() - n * interval '1 minute'
FROM generate_series(1, 20000) AS n ON CONFLICT DO NOTHING;
CREATE INDEX ON posts (published);
CREATE TABLE start AS SELECT clock_timestamp() AS at;

-- Between two measurements: as at the start.
CREATE FUNCTION filled_until(since int) RETURNS timestamptz LANGUAGE sql STABLE AS
	$$SELECT at - (since + 0.5) * interval '2 hours' FROM start$$;

CREATE TABLE results (nth serial, part text, method text, round int, ms float8, wal float8);
VACUUM ANALYZE;
