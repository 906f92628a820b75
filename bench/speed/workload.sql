--
-- The workload, made in the first schema of the search path.  Variables: users;
-- full, true for all that the peers need beside the filters.
--
SELECT setseed(0.5) \g /dev/null

-- Exposures, in order of time, all users mixed: day by day, and each day a
-- thirtieth of what each user saw.
CREATE TABLE exposures AS
SELECT bench_user(rank) AS user_id, bench_id(bench_item(rank, nth)) AS item_id,
	'2025-06-01'::timestamptz + day * interval '1 day' + nth * interval '8.64 s' AS shown_at
FROM generate_series(0, 29) AS day,
	generate_series(day + 1, 10000, 30) AS nth,
	generate_series(1, bench_users_with(nth, :users)) AS rank;
VACUUM (ANALYZE) exposures;

CREATE TABLE seen (user_id bigint, items bloom);
INSERT INTO seen SELECT user_id, bloom_agg(item_id, 0.01) FROM exposures GROUP BY user_id;
ALTER TABLE seen ADD PRIMARY KEY (user_id);
VACUUM (ANALYZE) seen;

-- The same filters as bytea, to measure what reading them costs PostgreSQL.
CREATE TABLE seen_bytes (user_id bigint, items bytea);
ALTER TABLE seen_bytes ALTER items SET STORAGE EXTERNAL;
INSERT INTO seen_bytes SELECT user_id, items::bytea FROM seen;
ALTER TABLE seen_bytes ADD PRIMARY KEY (user_id);
VACUUM (ANALYZE) seen_bytes;

-- 1,000 candidates for one user in ten, stored plain.
CREATE TABLE candidates (user_id bigint, items bigint[], items4 integer[]);
ALTER TABLE candidates ALTER items SET STORAGE EXTERNAL, ALTER items4 SET STORAGE EXTERNAL;
INSERT INTO candidates
SELECT bench_user(rank), ARRAY(SELECT bench_id(i) FROM unnest(c) AS i), c::integer[]
FROM generate_series(5, :users, 10) AS rank, bench_seen(rank, :users) AS seen, bench_candidates(rank, seen, 1000) AS c;
ALTER TABLE candidates ADD PRIMARY KEY (user_id);
VACUUM (ANALYZE) candidates;

\if :full
-- For the exact peers: an index, and arrays.
ALTER TABLE exposures ADD PRIMARY KEY (user_id, item_id);
VACUUM exposures;

CREATE TABLE seen_array (user_id bigint, items bigint[], items4 integer[]);
ALTER TABLE seen_array ALTER items SET STORAGE EXTERNAL, ALTER items4 SET STORAGE EXTERNAL;
INSERT INTO seen_array
SELECT user_id, array_agg(item_id ORDER BY item_id), array_agg(bench_number(item_id) ORDER BY item_id)
FROM exposures GROUP BY user_id;
ALTER TABLE seen_array ADD PRIMARY KEY (user_id);
VACUUM (ANALYZE) seen_array;

-- The filters as README.md advises to store them: in their row up to 8 kB.
CREATE TABLE seen_inline (LIKE seen) WITH (toast_tuple_target = 8160);
INSERT INTO seen_inline SELECT * FROM seen;
ALTER TABLE seen_inline ADD PRIMARY KEY (user_id);
VACUUM (ANALYZE) seen_inline;

-- A few users with 100 to 10,000 candidates each, to see how the time grows.
CREATE TABLE calls (candidates integer, user_id bigint, items bigint[], items4 integer[]);
ALTER TABLE calls ALTER items SET STORAGE EXTERNAL, ALTER items4 SET STORAGE EXTERNAL;
INSERT INTO calls
SELECT candidates, bench_user(rank), ARRAY(SELECT bench_id(i) FROM unnest(c) AS i), c::integer[]
FROM unnest('{100,300,1000,3000,10000}'::integer[]) AS candidates,
	generate_series(:users / 40, :users, :users / 20) AS rank,
	bench_seen(rank, :users) AS seen, bench_candidates(rank, seen, candidates) AS c;
VACUUM (ANALYZE) calls;

-- Candidates as rows, of users whose filter is out of line.
CREATE TABLE candidate_rows AS
SELECT user_id, item_id
FROM (
	SELECT c.user_id, c.items FROM candidates AS c JOIN seen AS s USING (user_id)
	WHERE pg_column_size(s.items) > 2100 ORDER BY user_id LIMIT 100
) AS c, unnest(items) AS item_id;
VACUUM (ANALYZE) candidate_rows;
\endif
