--
-- Bytes and rates of filters, measured rather than timed.  Variables: sizes, kinds, lasting, large
-- (whether to measure the part), filters (how many grow), items of the large one.
--
SET client_min_messages = warning;
SELECT setseed(0.5) \g /dev/null
CREATE FUNCTION id(number bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT ((410000000000 + number * 5171) << 22) | (number * 2654435761 & 4194303) $$;

\if :sizes
-- Bytes of filters beside the optimum of -n ln p / (ln 2)^2 bits and an array of
-- eight bytes an item with its header.
CREATE TABLE sizes AS
SELECT p, n, pg_column_size(f) AS bytes, -n * ln(p) / ln(2) ^ 2 / 8 AS optimum,
	8 * n::bigint + 24 AS int8_array
FROM unnest('{0.01,0.001}'::float8[]) AS p,
	unnest('{1,2,3,5,7,10,15,20,30,50,70,100,150,200,300,500,700,1000,'
	'1500,2000,3000,5000,7000,10000,15000,20000,30000,50000,70000,100000}'::integer[]) AS n,
	LATERAL (SELECT bloom_agg(id(i), p) AS f FROM generate_series(1, n) AS i) AS filter;

-- The share of items that a filter contains and that were never added, over many filters, because
-- one may be lucky.
CREATE TABLE rates AS
SELECT p, n, avg(10000 - kept)::float8 / 10000 AS fpr, count(*) AS filters
FROM unnest('{0.1,0.03,0.01,0.003,0.001,0.0003,0.0001}'::float8[]) AS p,
	unnest('{1,10,100,1000,10000}'::integer[]) AS n,
	generate_series(1, greatest(10, :filters * 0.002 / p)::bigint) AS nth,
	LATERAL (SELECT bloom_agg(id(n * nth + i), p) AS f FROM generate_series(1, n) AS i) AS filter,
	LATERAL (SELECT cardinality(ARRAY(SELECT id(-i)
		FROM generate_series(10000 * nth, 10000 * nth + 9999) AS i) - f) AS kept) AS answer
GROUP BY p, n;

-- Filters that start as NULL, and grow to 10,000 items one at a time.
CREATE FUNCTION grow(nth integer) RETURNS TABLE (n integer, bytes integer, fpr float8,
	target float8) LANGUAGE plpgsql AS $$
DECLARE
	f bloom;
	stranger bigint[];
BEGIN
	FOR i IN 1..10000 LOOP
		f := bloom_add(f, id(10000 * nth + i));
		-- some fifty points, evenly spaced for the eye on a logarithmic axis
		CONTINUE WHEN i <> 10000 AND floor(12 * log(i)) = floor(12 * log(i + 1));
		stranger := ARRAY(SELECT id(-10000 * nth - q) FROM generate_series(1, 10000) AS q);
		n := i;
		bytes := pg_column_size(f);
		fpr := 1 - cardinality(stranger - f) / 10000.0;
		target := (bloom_info(f)).fpr;
		RETURN NEXT;
	END LOOP;
END
$$;

CREATE TABLE growth AS
SELECT n, avg(bytes) AS bytes, -n * ln(0.01) / ln(2) ^ 2 / 8 AS optimum, avg(fpr) AS fpr,
	max(target) AS target
FROM generate_series(1, :filters) AS nth, grow(nth) GROUP BY n;

-- The most of a filter at any size, as a multiple of the optimum.
CREATE FUNCTION most(nth integer) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	f bloom;
	most float8 := 0;
BEGIN
	FOR i IN 1 .. 10000 LOOP
		f := bloom_add(f, id(10000 * nth + i));
		CONTINUE WHEN i <= 100;
		most := greatest(most, pg_column_size(f) / (-i * ln(0.01) / ln(2) ^ 2 / 8));
	END LOOP;
	RETURN most;
END
$$;
CREATE TABLE most AS SELECT most(nth) FROM generate_series(1, 5) AS nth;

-- The target rate holds, but for chance: five standard deviations.
DO $$ BEGIN IF EXISTS (SELECT FROM rates WHERE fpr > p + 5 * sqrt(p / filters / 10000))
	THEN RAISE EXCEPTION 'WRONG: a rate is above its target'; END IF; END $$;
\endif

\if :kinds
\set rate 0.01
-- Windows that are filled by one day's rows per night for 145 days, and count from night 76 on.
-- The rates are items per day; a user who sees less than one per day sees one every few days.
CREATE TABLE feed AS
SELECT nth, name, day, seen - today + n AS item,
	'2025-01-01'::timestamptz + day * interval '1 day' + (n - 0.5) * interval '1 day'
	/ today AS shown_at
FROM (
	SELECT nth, name, day, seen, seen - lag(seen, 1, 0) OVER (PARTITION BY name
		ORDER BY day) AS today
	FROM (
		SELECT nth, name, day,
			floor(sum(rate) OVER (PARTITION BY name ORDER BY day) + 1e-6)::integer AS seen
		FROM generate_series(0, 144) AS day,
			LATERAL (
				SELECT n, 'steady, ' || n || ' in 30 days', n / 30.0
				FROM unnest('{1,3,10,30,100,300,1000,3000,10000}'::integer[]) AS n
			) AS rhythms (nth, name, rate)
	) AS so_far
) AS days, generate_series(1, today) AS n;
CREATE INDEX ON feed (day);
ANALYZE feed;

CREATE TABLE kept AS SELECT nth, name, bloom_window('30 days', 6, :rate) AS f FROM feed
	GROUP BY nth, name;
CREATE TABLE nights (nth integer, name text, night integer, items bigint, lost bigint, kept bigint,
	rebuilt bigint, optimum float8, fpr float8);
CREATE PROCEDURE nights(p float8) LANGUAGE plpgsql AS $$
BEGIN
	FOR night IN 1..145 LOOP
		UPDATE kept SET f = bloom_add_at(bloom_expire(f, '2025-01-01'::timestamptz + night
			* interval '1 day'), items, times)
		FROM (SELECT nth, array_agg(item) AS items, array_agg(shown_at) AS times FROM feed
			WHERE day = night - 1 GROUP BY nth) AS today
		WHERE kept.nth = today.nth;
		INSERT INTO nights
		SELECT nth, name, night, cardinality(items), cardinality(items - f), pg_column_size(f),
			pg_column_size(anew),
			-cardinality(items) * ln(p) / ln(2) ^ 2 / 8, bloom_fpr(f)
		FROM kept JOIN (
			SELECT nth, array_agg(item) AS items, bloom_agg(item, p) AS anew
			FROM feed WHERE day BETWEEN night - 30 AND night - 1 GROUP BY nth
		) AS own USING (nth)
		WHERE night > 75;
	END LOOP;
END
$$;
CALL nights(:rate);
DO $$ BEGIN IF (SELECT sum(lost) FROM nights) > 0
	THEN RAISE EXCEPTION 'WRONG: a window lost exposures'; END IF; END $$;

--
-- Four kinds of filters for so many items, made for them: the window by
-- bloom_window_agg over even exposures, the counting one with just enough room.
--
CREATE TABLE kinds AS
SELECT n AS items, pg_column_size(bloom_agg(i, :rate)) AS plain,
	pg_column_size(bloom_window_agg(i, '2025-01-01'::timestamptz + (i - 0.5) * interval '30 days'
		/ n, '30 days', 6, :rate)) AS window,
	pg_column_size(bloom_add(bloom_new(n, :rate, counting => true), array_agg(i))) AS counting
FROM unnest('{1,3,10,30,100,300,1000,3000,10000}'::integer[]) AS n, generate_series(1, n) AS i
GROUP BY n;

--
-- Counting filters of 1,000 items each, from which an item is removed that they
-- contain by mistake: how many of their own they lose by it.
--
CREATE TABLE damage AS
SELECT cardinality(own - bloom_remove(f, mistaken)) AS lost
FROM generate_series(1, 500) AS user_id,
	LATERAL (SELECT array_agg(user_id * 1000000::bigint + i) AS own
		FROM generate_series(1, 1000) AS i) AS o,
	LATERAL (SELECT array_agg(-user_id * 1000000::bigint - i) AS wrong
		FROM generate_series(1, 20000) AS i) AS w,
	LATERAL (SELECT bloom_add(bloom_new(1000, :rate, counting => true),
		own) AS f OFFSET 0) AS filled,
	LATERAL (SELECT item AS mistaken FROM unnest(wrong) AS item WHERE f @> item LIMIT 1) AS m;
\endif

\if :rows
-- Rows of feeds without a table after their first 30 days, in which 30 users see pages of ten, each
-- at times of its own.
CREATE TABLE feed_rows (items int, fpr float8, bytes float8);
CREATE PROCEDURE fill(n int, fpr float8) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM bloomexp.create_feed('month', fpr => fill.fpr);
	FOR page IN 0 .. n / 10 - 1 LOOP
		PERFORM month.add_batch(array_agg(u), array_agg(hashint8extended(page * 10 + i, u)),
			array_agg(now() - (n / 10 - page - (u + 0.5) / 30) * interval '30 days' / (n / 10)))
		FROM generate_series(0, 29) AS u, generate_series(1, 10) AS i;
		COMMIT;
	END LOOP;
	IF EXISTS (SELECT FROM month.filters AS f
		WHERE month.unseen(user_id, ARRAY(SELECT hashint8extended(i, f.user_id)
		FROM generate_series(1, n) AS i)) <> '{}') THEN
		RAISE 'an item is lost';
	END IF;
	INSERT INTO feed_rows
	SELECT n, fill.fpr, avg(coalesce(pg_column_size(items), 0) + pg_column_size(recent))
	FROM month.filters;
	DROP SCHEMA month CASCADE;
	COMMIT;
END
$$;
SET client_min_messages = warning;
SELECT format('CALL fill(%s, %s)', n, p) FROM unnest('{300,900,3000,10000}'::int[]) AS n,
	unnest('{0.01,0.001}'::numeric[]) AS p \gexec
RESET client_min_messages;
\endif

\if :lasting
-- Two kinds of users, of 600 items in 30 days: "same" sees 20 new ones every day, so that all its
-- filters have the same size; "varies" sees 10 to 30, and so does the size vary, by which all
-- positions change.
\set users 40
\set others 20000
SELECT setseed(0.23) \g /dev/null

-- How many items each user was shown on each of 60 days, and which.
CREATE TABLE shown AS
SELECT habit, user_id, day, n,
	('x' || left(md5(concat_ws(' ', habit, user_id, day, n)), 16))::bit(64)::bigint AS item_id
FROM (VALUES ('same'), ('varies')) AS h (habit), generate_series(1, :users) AS user_id,
generate_series(1, 60) AS day,
	LATERAL generate_series(1, CASE habit WHEN 'same' THEN 20
		ELSE 10 + floor(random() * 21)::integer END
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
	unseen, LATERAL unnest(unseen.items,
		bloom_contains_each(filter, unseen.items)) AS e (item_id, hit)
WHERE hit;

-- Of those of the first 16 rebuilds: the share that is there in all rebuilds up to d days later.
CREATE TABLE lasting AS
WITH runs AS (
	SELECT *, max(night) OVER (PARTITION BY habit, fpr, user_id, item_id, run) - night AS lasts
	FROM (SELECT *, night - row_number() OVER (PARTITION BY habit, fpr, user_id, item_id
		ORDER BY night) AS run FROM mistaken) AS m
)
SELECT habit, fpr, d, avg((lasts >= d)::integer) AS share
FROM runs, generate_series(0, 15) AS d WHERE night <= 45
GROUP BY habit, fpr, d;
\endif

\if :large
-- One filter of very many items, the numbers from 1 on, added a million at a time.
CREATE TABLE large (items bloom);
CREATE FUNCTION large_filter(n bigint) RETURNS bloom LANGUAGE plpgsql AS $$
DECLARE
	f bloom := bloom_new(n);
BEGIN
	FOR low IN 1 .. n BY 1000000 LOOP
		f := bloom_add(f, ARRAY(SELECT generate_series(low, least(n, low + 999999))));
	END LOOP;
	RETURN f;
END
$$;
INSERT INTO large SELECT large_filter(:items);
VACUUM ANALYZE large;
\endif
