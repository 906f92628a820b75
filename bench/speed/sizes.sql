--
-- Part "size": bytes and false positive rates, measured rather than timed.
-- Variable: scale, of the number of questions asked.
--

-- Bytes of filters beside the optimum of -n ln p / (ln 2)^2 bits and an array of
-- eight bytes an item with its header.
CREATE TABLE sizes AS
SELECT p, n, pg_column_size(f) AS bytes, -n * ln(p) / ln(2) ^ 2 / 8 AS optimum, 8 * n::bigint + 24 AS int8_array
FROM unnest('{0.01,0.001}'::float8[]) AS p,
	unnest('{1,2,3,5,7,10,15,20,30,50,70,100,150,200,300,500,700,1000,1500,2000,3000,5000,7000,10000,15000,20000,30000,50000,70000,100000}'::integer[]) AS n,
	LATERAL (SELECT bloom_agg(bench_id(i), p) AS f FROM generate_series(1, n) AS i) AS filter;

-- The share of items dropped that were never added, over many filters, since one
-- may be lucky: questions enough for about 2,000 mistakes at scale 1.
CREATE TABLE rates AS
SELECT p, n, avg(10000 - kept)::float8 / 10000 AS fpr, count(*) AS filters
FROM unnest('{0.1,0.03,0.01,0.003,0.001,0.0003,0.0001}'::float8[]) AS p,
	unnest('{1,10,100,1000,10000}'::integer[]) AS n,
	generate_series(1, greatest(10, :scale * 0.2 / p)::bigint) AS nth,
	LATERAL (SELECT bloom_agg(bench_id(n * nth + i), p) AS f FROM generate_series(1, n) AS i) AS filter,
	LATERAL (SELECT cardinality(ARRAY(SELECT bench_id(-i) FROM generate_series(10000 * nth, 10000 * nth + 9999) AS i) - f) AS kept) AS answer
GROUP BY p, n;

-- Filters that start as NULL and grow one item at a time to 10,000.
CREATE FUNCTION bench_grow(nth integer) RETURNS TABLE (n integer, bytes integer, fpr float8, promise float8) LANGUAGE plpgsql AS $$
DECLARE
	f bloom;
	stranger bigint[];
BEGIN
	FOR i IN 1..10000 LOOP
		f := bloom_add(f, bench_id(10000 * nth + i));
		-- some fifty points, evenly spaced for the eye on a logarithmic axis
		CONTINUE WHEN i <> 10000 AND floor(12 * log(i)) = floor(12 * log(i + 1));
		stranger := ARRAY(SELECT bench_id(-10000 * nth - q) FROM generate_series(1, 10000) AS q);
		n := i;
		bytes := pg_column_size(f);
		fpr := 1 - cardinality(stranger - f) / 10000.0;
		promise := (bloom_info(f)).fpr;
		RETURN NEXT;
	END LOOP;
END
$$;

CREATE TABLE growth AS
SELECT n, avg(bytes) AS bytes, -n * ln(0.01) / ln(2) ^ 2 / 8 AS optimum, avg(fpr) AS fpr, max(promise) AS promise
FROM generate_series(1, greatest(3, 50 * :scale)::integer) AS nth, bench_grow(nth) GROUP BY n;

-- The figures with a promise go into the table of results.
INSERT INTO bench_method (part, name, role, how) VALUES
	('size', 'bytes of a filter, 300 to 100,000 items', 'ours', 'loop'),
	('size', 'bytes while it grows, 101 to 10,000 items', 'ours', 'loop'),
	('size', 'measured rate, worst of all p and n', 'ours', 'loop'),
	('size', 'measured rate while it grows, worst n', 'ours', 'loop');
INSERT INTO bench_result
SELECT 'size', 'bytes of a filter, 300 to 100,000 items', 'x optimum', 1, max((bytes - 40) / optimum) FROM sizes WHERE n >= 300
UNION ALL
SELECT 'size', 'bytes while it grows, 101 to 10,000 items', 'x optimum, worst', 1, max(bytes / optimum) FROM growth WHERE n > 100
UNION ALL
SELECT 'size', 'bytes while it grows, 101 to 10,000 items', 'x optimum, mean', 1, avg(bytes / optimum) FROM growth WHERE n > 100
UNION ALL
SELECT 'size', 'measured rate, worst of all p and n', 'x p', 1, max(fpr / p) FROM rates
UNION ALL
SELECT 'size', 'measured rate while it grows, worst n', 'x p', 1, max(fpr / promise) FROM growth
UNION ALL
-- less what chance explains: five standard deviations
SELECT 'size', 'measured rate, worst of all p and n', 'x p, less chance', 1, max(fpr / p - 5 / sqrt(p * filters * 10000)) FROM rates
UNION ALL
SELECT 'size', 'measured rate while it grows, worst n', 'x p, less chance', 1,
	max(fpr / promise - 5 / sqrt(promise * greatest(3, 50 * :scale) * 10000)) FROM growth;
INSERT INTO bench_target (part, name, metric, sense, must) VALUES
	('size', 'bytes of a filter, 300 to 100,000 items', 'x optimum', '<=', 1.03),
	('size', 'bytes while it grows, 101 to 10,000 items', 'x optimum, worst', '<=', 4),
	('size', 'bytes while it grows, 101 to 10,000 items', 'x optimum, mean', '<=', 2.6),
	('size', 'measured rate, worst of all p and n', 'x p, less chance', '<=', 1),
	('size', 'measured rate while it grows, worst n', 'x p, less chance', '<=', 1);

\copy (SELECT p, n, bytes, round(optimum::numeric, 1) AS optimum, int8_array FROM sizes ORDER BY p DESC, n) TO 'bench-results.tmp/sizes.csv' (FORMAT csv, HEADER)
\copy (SELECT p, n, fpr, filters FROM rates ORDER BY p DESC, n) TO 'bench-results.tmp/rates.csv' (FORMAT csv, HEADER)
\copy (SELECT n, round(bytes) AS bytes, round(optimum::numeric, 1) AS optimum, fpr, promise FROM growth ORDER BY n) TO 'bench-results.tmp/growth.csv' (FORMAT csv, HEADER)
