-- Run by half-life.  Two kinds of users, of 600 items in 30 days: "same" sees 20 new ones
-- every day, so that all its filters have the same size; "varies" sees 10 to 30, and
-- so does the size vary, by which all positions change.

\set ON_ERROR_STOP on
\set users 40
\set days 30
\set others 20000

CREATE EXTENSION bloomexp;
SELECT setseed(0.23) \g /dev/null

-- How many items each user was shown on each of 60 days, and which.
CREATE TABLE shown AS
SELECT habit, user_id, day, n,
	('x' || left(md5(concat_ws(' ', habit, user_id, day, n)), 16))::bit(64)::bigint AS item_id
FROM (VALUES ('same'), ('varies')) AS h (habit), generate_series(1, :users) AS user_id, generate_series(1, 60) AS day,
	LATERAL generate_series(1, CASE habit WHEN 'same' THEN 20 ELSE 10 + floor(random() * 21)::integer END
		+ 0 * (user_id + day)) AS n;

CREATE TABLE unseen AS
SELECT array_agg(('x' || left(md5('unseen ' || n), 16))::bit(64)::bigint ORDER BY n) AS items
FROM generate_series(1, :others) AS n;

-- The false positives of each user after the rebuild of each day, with three rates.
CREATE TABLE mistaken AS
SELECT habit, fpr, user_id, night, item_id
FROM (SELECT s.habit, fpr, s.user_id, night, bloom_agg(s.item_id, fpr, 0.2) AS filter
	FROM (VALUES (0.01::float8), (0.001)) AS r (fpr), generate_series(30, 60) AS night
	JOIN shown AS s ON s.day BETWEEN night - 29 AND night
	GROUP BY s.habit, fpr, s.user_id, night) AS f,
	unseen, LATERAL unnest(unseen.items, bloom_contains_each(filter, unseen.items)) AS e (item_id, hit)
WHERE hit;

-- Of those of the first 16 rebuilds: the share that is there in all rebuilds up to d days later.
CREATE TABLE lasting AS
WITH runs AS (
	SELECT *, max(night) OVER (PARTITION BY habit, fpr, user_id, item_id, run) - night AS lasts
	FROM (SELECT *, night - row_number() OVER (PARTITION BY habit, fpr, user_id, item_id ORDER BY night) AS run FROM mistaken) AS m
)
SELECT habit, fpr, d, avg((lasts >= d)::integer) AS share
FROM runs, generate_series(0, 15) AS d WHERE night <= 45
GROUP BY habit, fpr, d;

\pset format aligned
SELECT habit, fpr, max(share) FILTER (WHERE d = 1)::numeric(4, 3) AS "after 1 day",
	max(share) FILTER (WHERE d = 3)::numeric(4, 3) AS "3 days",
	max(share) FILTER (WHERE d = 7)::numeric(4, 3) AS "7 days",
	max(share) FILTER (WHERE d = 15)::numeric(4, 3) AS "15 days",
	(SELECT min(d + (share - 0.5) / (share - later))::numeric(4, 1)
		FROM (SELECT d, share, lead(share) OVER (ORDER BY d) AS later FROM lasting AS i
			WHERE (i.habit, i.fpr) = (o.habit, o.fpr)) AS i
		WHERE share >= 0.5 AND later < 0.5) AS "half-life, days",
	(SELECT (count(*) / (31.0 * :users * :others) * 100)::numeric(4, 3) FROM mistaken AS m
		WHERE (m.habit, m.fpr) = (o.habit, o.fpr)) AS "rate, %"
FROM lasting AS o GROUP BY habit, fpr ORDER BY fpr DESC, habit;
