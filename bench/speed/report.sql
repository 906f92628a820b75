--
-- The report: a table on the terminal, in Markdown and as CSV.
--
SET client_min_messages = warning;

-- Every figure, with those that follow from others: nanoseconds a candidate, row
-- or item, and the same without the floor.
CREATE VIEW bench_figure AS
SELECT part, name, metric, round, value FROM bench_result
UNION ALL
SELECT part, name, 'ns', round, value * 1e6 / units
FROM bench_result JOIN bench_method USING (part, name) WHERE metric = 'ms' AND units IS NOT NULL
UNION ALL
SELECT r.part, r.name, 'net ns', r.round, (r.value - f.value) * 1e6 / units
FROM bench_result AS r JOIN bench_method AS m USING (part, name)
JOIN bench_result AS f ON f.part = r.part AND f.name = m.floor AND f.metric = r.metric AND f.round = r.round
WHERE r.metric = 'ms' AND r.part = 'row' AND m.role = 'ours';

CREATE VIEW bench_median AS
SELECT f.part, f.name, f.metric,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY f.value) AS value,
	-- of the ratios of each round, for a round has its own weather
	percentile_cont(0.5) WITHIN GROUP (ORDER BY f.value / nullif(floor.value, 0)) AS ratio
FROM bench_figure AS f JOIN bench_method AS m USING (part, name)
LEFT JOIN bench_figure AS floor ON floor.part = f.part AND floor.name = m.floor
	AND floor.metric = f.metric AND floor.round = f.round AND m.floor <> m.name
GROUP BY f.part, f.name, f.metric;

-- A ratio of ">=" says how many times better: more transactions, or less time.
CREATE VIEW bench_verdict AS
SELECT t.nth, t.part, t.name, t.metric, against, sense, must, aim,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY CASE
		WHEN against IS NULL THEN own.value
		WHEN sense = '>=' AND t.metric !~ '^tps' THEN other.value / own.value
		ELSE own.value / other.value END) AS measured
FROM bench_target AS t JOIN bench_figure AS own USING (part, name, metric)
LEFT JOIN bench_figure AS other ON other.part = t.part AND other.name = t.against
	AND other.metric = t.metric AND other.round = own.round
WHERE against IS NULL OR other.value IS NOT NULL
GROUP BY t.nth, t.part, t.name, t.metric, against, sense, must, aim;

\ir ../format.sql

CREATE VIEW bench_figures AS
SELECT m.part, m.name, role, metric, bench_format(value) AS median,
	CASE WHEN metric NOT IN ('ns', 'spilled MB') AND metric NOT LIKE 'net %' AND m.name <> coalesce(m.floor, '') THEN bench_format(ratio) END AS "x floor"
FROM bench_median JOIN bench_method AS m USING (part, name)
WHERE metric <> 'survivors'
ORDER BY m.nth, metric = 'ns', metric;

-- What is printed is what is judged.
CREATE VIEW bench_targets AS
SELECT part, name,
	CASE WHEN against IS NULL THEN metric
		WHEN sense = '>=' AND metric !~ '^tps' THEN format('times faster than %s', against)
		ELSE format('%s, x %s', metric, against) END AS what,
	bench_format(rounded::float8) AS measured, sense || ' ' || must AS must, sense || ' ' || aim AS aim,
	CASE WHEN must IS NULL THEN ''
		WHEN CASE sense WHEN '<=' THEN rounded <= must::numeric ELSE rounded >= must::numeric END THEN 'met' ELSE 'MISSED' END AS "must met",
	CASE WHEN aim IS NULL THEN ''
		WHEN CASE sense WHEN '<=' THEN rounded <= aim::numeric ELSE rounded >= aim::numeric END THEN 'met' ELSE 'missed' END AS "aim met"
FROM bench_verdict, LATERAL (SELECT round(measured::numeric, 2)) AS r (rounded) ORDER BY nth;

-- What the parts of RESULTS.md say before their tables.
CREATE TABLE bench_section (nth serial, part text, heading text, says text);
INSERT INTO bench_section (part, heading, says) VALUES
	('batch', 'Stored candidates', 'Counts the remaining candidates of 2,000 users with 1,000 stored candidates each, in one statement. Hashed and probing are the two plans of NOT EXISTS. EXCEPT and intarray also drop duplicates and the order.'),
	('rows', 'As rows', 'The same candidates as rows: set-returning functions against unnest().'),
	('several', 'Three filters per user', 'In one pass, and in a pass for each; and with a first filter that drops nine candidates out of ten.'),
	('window', 'Windows', 'Windows of 30 days in six slices, built at once by bloom_window_agg(), and kept by a feed.'),
	('call', 'In memory', 'Nanoseconds per candidate of one call with 1,000 candidates, in variables of PL/pgSQL. "Mixed" are texts of 8 to 32 bytes.'),
	('online', 'One user per statement', 'Prepared, by pgbench, over the candidates and filters in the tables. The number of remaining candidates is returned.'),
	('wire', 'Candidates from the client', 'A client sends 1,000 candidates by the binary protocol and receives those that remain. The echo returns the array unchanged.'),
	('build', 'Building filters', 'All filters in one statement, GROUP BY user_id, exposures in the order of time. "Hash" and "sort" are how PostgreSQL groups, "index" reads the rows user by user, "parallel" has two workers.'),
	('wide', 'Building a million filters', 'A million users with 50 exposures each, once.'),
	('memory', 'Memory of builds', 'Peak memory of a server process beyond what it had before, and what it wrote to disk.'),
	('add', 'Adding', 'Ten items are added to one user by UPDATE, each with its own commit; the floor writes random bytes of the same length. Then a thousand items are added to a filter of 4 kB in a variable, one at a time.'),
	('huge', 'One large filter', 'A filter of 100,000,000 items, stored out of line; each statement tests a new item.'),
	('row', 'Row by row', 'WHERE NOT filter @> item_id over candidates in a table, those of a user together, filters out of line.'),
	('curve', 'One call against the number of candidates', ''),
	('size', 'Bytes and rates', 'Bytes against the optimum of a Bloom filter, and measured rates of false positives against the target rate.'),
	('scale', 'More users', 'Nanoseconds per candidate or row with once, 4 and 16 times the users.');

\copy (SELECT part, name, metric, round, value FROM bench_result JOIN bench_method USING (part, name) ORDER BY nth, metric, round) TO 'bench-results.tmp/rounds.csv' (FORMAT csv, HEADER)
\copy (SELECT * FROM bench_figures) TO 'bench-results.tmp/figures.csv' (FORMAT csv, HEADER)
\copy (SELECT * FROM bench_targets) TO 'bench-results.tmp/targets.csv' (FORMAT csv, HEADER)
\copy (SELECT split_part(name, ':', 1)::integer AS candidates, max(us) FILTER (WHERE name ~ 'unnest') AS unnest, max(us) FILTER (WHERE name ~ 'filter') AS filter, max(us) FILTER (WHERE name ~ 'intarray') AS intarray, max(us) FILTER (WHERE name ~ 'EXISTS') AS not_exists FROM (SELECT name, value * 1000 / (SELECT count(DISTINCT user_id) FROM calls) AS us FROM bench_median WHERE part = 'curve' AND metric = 'ms') AS calls GROUP BY 1 ORDER BY 1) TO 'bench-results.tmp/curve.csv' (FORMAT csv, HEADER)

\pset footer off
\pset format unaligned
\pset fieldsep ': '
\pset tuples_only on
SELECT what, value FROM bench_about ORDER BY line;
\pset format aligned
\pset tuples_only off
\echo
\pset title 'Medians'
SELECT * FROM bench_figures;
\pset title 'Targets'
SELECT * FROM bench_targets;
