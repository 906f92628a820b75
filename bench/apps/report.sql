--
-- The tables of doc/benchmarks.md, "Real schemas", from what bench/apps/measure.sql wrote.
--
CREATE FUNCTION bytes(query text, me int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	bytes bigint;
BEGIN
	EXECUTE query INTO bytes USING me;
	RETURN bytes;
END
$$;
-- three digits
CREATE FUNCTION short(x numeric) RETURNS text LANGUAGE sql AS
	$$SELECT rtrim(to_char(round(x, greatest(0, 2 - floor(log(greatest(x, 0.001)))::int)), 'FM999,999,990.99999'), '.')$$;

\pset tuples_only off
\pset format aligned
\pset footer off
CREATE VIEW page AS
SELECT app, me, method, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS p50, percentile_cont(0.99) WITHIN GROUP (ORDER BY ms) AS p99,
	count(*) AS rounds, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms / filter_ms) AS times, min(pages) AS pages
FROM timing JOIN pages USING (app, me, method)
JOIN (SELECT app, me, round, ms AS filter_ms FROM timing WHERE method = 'filter') AS f USING (app, me, round)
GROUP BY app, me, method;
CREATE VIEW label AS
SELECT app, me, CASE WHEN app = 'discourse' THEN to_char(CASE me WHEN 1 THEN 0 ELSE s.items * 5 / 2 END, 'FM999,999')
	ELSE concat_ws(' ', to_char(r.items, 'FM999,990'), nullif(history, 'none')) END AS read
FROM app, reader AS r, size AS s;

SELECT app, read, short(t.p50::numeric) AS today, short(t.p99::numeric) AS p99, t.pages,
	short(n.p50::numeric) AS "not in", short(n.p99::numeric) AS p99, n.pages,
	short(f.p50::numeric) AS filter, short(f.p99::numeric) AS p99, f.pages,
	short(t.times::numeric) AS "times, today", short(n.times::numeric) AS "times, not in",
	to_char(bytes(exact_bytes, me), 'FM999,999,990') AS exact_bytes, to_char(bytes(filter_bytes, me), 'FM999,999,990') AS filter_bytes, t.rounds
FROM page AS t JOIN page AS n USING (app, me) JOIN page AS f USING (app, me) JOIN label USING (app, me) JOIN app AS a USING (app)
WHERE t.method = 'today' AND n.method = 'not in' AND f.method = 'filter'
ORDER BY array_position('{lemmy,peertube,invidious,gorse,discourse}', app), me;

-- times those of the recommended query
SELECT app, read, method, short(p50::numeric) AS p50, short(p99::numeric) AS p99, pages, short(times::numeric) AS times
FROM page JOIN label USING (app, me) WHERE app = 'lemmy' ORDER BY me, method;
