--
-- What the replay does not show: users of one rhythm each, small users, and items
-- removed that were never added.  Variable: p.
--
\pset footer off
CREATE SCHEMA figures;
SET search_path = figures, public;

--
-- Users with a rhythm.  Their windows are kept for 145 days by one day's rows a
-- night, and count from night 76 on.  The rates are items a day; whoever sees less
-- than one a day sees one every few days.
--
\echo keeping windows of users with a rhythm
CREATE TABLE feed AS
SELECT nth, name, day, seen - today + n AS item,
	'2025-01-01'::timestamptz + day * interval '1 day' + (n - 0.5) * interval '1 day' / today AS shown_at
FROM (
	SELECT nth, name, day, seen, seen - lag(seen, 1, 0) OVER (PARTITION BY name ORDER BY day) AS today
	FROM (
		SELECT nth, name, day, floor(sum(rate) OVER (PARTITION BY name ORDER BY day) + 1e-6)::integer AS seen
		FROM generate_series(0, 144) AS day,
			LATERAL (
				SELECT n, 'steady, ' || n || ' in 30 days', n / 30.0
				FROM unnest('{1,3,10,30,100,300,1000,3000,10000}'::integer[]) AS n
				UNION ALL VALUES
				(20001, 'twice as many every other week, 20 and 40 a day', 20.0 * (1 + day / 7 % 2)),
				(20002, 'the same, 100 and 200 a day', 100.0 * (1 + day / 7 % 2)),
				(20003, 'twice as many each week, seven times, from 10 a day', 10 * 2.0 ^ least(7, greatest(0, day / 7 - 10))),
				(20004, 'half as many each week, seven times, from 1,280 a day', 1280 * 0.5 ^ least(7, greatest(0, day / 7 - 10))),
				(20005, '1,000 every tenth day, otherwise none', CASE WHEN day % 10 = 0 THEN 1000 ELSE 0 END)
			) AS rhythms (nth, name, rate)
	) AS so_far
) AS days, generate_series(1, today) AS n;
CREATE INDEX ON feed (day);
ANALYZE feed;

CREATE TABLE kept AS SELECT nth, name, bloom_window('30 days', 6, :p) AS f FROM feed GROUP BY nth, name;
CREATE TABLE nights (nth integer, name text, night integer, items bigint, lost bigint, kept bigint, rebuilt bigint, optimum float8, fpr float8);
CREATE PROCEDURE nights(p float8) LANGUAGE plpgsql AS $$
BEGIN
	FOR night IN 1..145 LOOP
		UPDATE kept SET f = bloom_add_at(bloom_expire(f, '2025-01-01'::timestamptz + night * interval '1 day'), items, times)
		FROM (SELECT nth, array_agg(item) AS items, array_agg(shown_at) AS times FROM feed WHERE day = night - 1 GROUP BY nth) AS today
		WHERE kept.nth = today.nth;
		INSERT INTO nights
		SELECT nth, name, night, cardinality(items), cardinality(items - f), pg_column_size(f), pg_column_size(anew),
			-cardinality(items) * ln(p) / ln(2) ^ 2 / 8, bloom_fpr(f)
		FROM kept JOIN (
			SELECT nth, array_agg(item) AS items, bloom_agg(item, p) AS anew
			FROM feed WHERE day BETWEEN night - 30 AND night - 1 GROUP BY nth
		) AS own USING (nth)
		WHERE night > 75;
	END LOOP;
END
$$;
CALL nights(:p);
DO $$ BEGIN IF (SELECT sum(lost) FROM nights) > 0 THEN RAISE EXCEPTION 'a window lost exposures'; END IF; END $$;

SELECT name, round(avg(items)) AS items, round(avg(rebuilt)) AS "rebuilt, bytes", round(avg(kept)) AS "window, bytes",
	round(avg(kept::numeric / rebuilt), 2) AS "times rebuilt", round(avg(kept / optimum)::numeric, 2) AS "times the optimum",
	round(max(kept / optimum)::numeric, 2) AS "at most", round(100 * max(fpr)::numeric, 2) AS "bloom_fpr at most, %"
FROM nights GROUP BY nth, name ORDER BY nth;

--
-- Four kinds of filters for so many items, made for them: the window by
-- bloom_window_agg over even exposures, the counting one with just enough room.
--
SELECT n AS items, pg_column_size(bloom_agg(i, :p)) AS plain,
	pg_column_size(bloom_window_agg(i, '2025-01-01'::timestamptz + (i - 0.5) * interval '30 days' / n, '30 days', 6, :p)) AS window,
	pg_column_size(bloom_add(bloom_new(n, :p, counting => true), array_agg(i))) AS counting
FROM unnest('{1,3,10,30,100,300,1000,3000,10000}'::integer[]) AS n, generate_series(1, n) AS i
GROUP BY n ORDER BY n;

--
-- Counting filters of 1,000 items each, from which an item is removed that they
-- contain by mistake: how many of their own they lose by it.
--
\echo removing items that were never added
CREATE TABLE damage AS
SELECT cardinality(own - bloom_remove(f, mistaken)) AS lost
FROM generate_series(1, 500) AS user_id,
	LATERAL (SELECT array_agg(user_id * 1000000::bigint + i) AS own FROM generate_series(1, 1000) AS i) AS o,
	LATERAL (SELECT array_agg(-user_id * 1000000::bigint - i) AS wrong FROM generate_series(1, 20000) AS i) AS w,
	LATERAL (SELECT bloom_add(bloom_new(1000, :p, counting => true), own) AS f OFFSET 0) AS filled,
	LATERAL (SELECT item AS mistaken FROM unnest(wrong) AS item WHERE f @> item LIMIT 1) AS m;
SELECT count(*) AS removed, count(*) FILTER (WHERE lost > 0) AS "that lost something", round(avg(lost), 2) AS "lost on average",
	max(lost) AS "at most"
FROM damage;

RESET search_path;
