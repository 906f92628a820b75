-- Nearest neighbours that a user has not seen, by pgvector: rows, recall and time of
-- the ways of doc/integrations.md, for users who have seen the nearest items.
--
-- Variables: items, dimensions, latent (dimensions of the space that they fill), users, seen,
-- wanted, rounds, m and ef_construction (of the index).

SET client_min_messages = warning;
SELECT setseed(0.5) \g /dev/null

CREATE EXTENSION vector;

-- As embeddings are: of many dimensions, in which they fill a space of fewer.
CREATE TABLE directions AS
SELECT n, array_agg(random() - 0.5)::vector AS direction
FROM generate_series(1, :latent) AS n, generate_series(1, :dimensions) GROUP BY n;
CREATE FUNCTION embedding(dimensions integer, different bigint) RETURNS vector
	LANGUAGE sql VOLATILE AS
$$SELECT sum(array_fill((random() - 0.5)::real, ARRAY[dimensions])::vector * direction)
FROM directions WHERE different IS NOT NULL$$;

CREATE TABLE posts AS
SELECT id, embedding(:dimensions, id)::vector(:dimensions)
	FROM generate_series(1::bigint, :items) AS id;
CREATE TABLE users AS
SELECT user_id, embedding(:dimensions, user_id) FROM generate_series(1::bigint, :users) AS user_id;

-- What each user has seen: the nearest items, exactly.
CREATE TABLE exposures AS
SELECT user_id, p.id AS item_id FROM users AS u,
	LATERAL (SELECT id FROM posts ORDER BY posts.embedding <-> u.embedding LIMIT :seen) AS p;
CREATE TABLE seen AS SELECT user_id, bloom_agg(item_id) AS items FROM exposures GROUP BY user_id;
-- The nearest of the other items, which the ways should return.
CREATE TABLE truth AS
SELECT user_id, array_agg(p.id) AS items FROM users AS u,
	LATERAL (SELECT id FROM posts ORDER BY posts.embedding <-> u.embedding OFFSET :seen
		LIMIT :wanted) AS p
GROUP BY user_id;

ALTER TABLE posts ADD PRIMARY KEY (id);
ALTER TABLE exposures ADD PRIMARY KEY (user_id, item_id);
ALTER TABLE seen ADD PRIMARY KEY (user_id);
SET maintenance_work_mem = '1GB';
CREATE INDEX ON posts USING hnsw (embedding vector_l2_ops) WITH (m = :m,
	ef_construction = :ef_construction);
VACUUM ANALYZE;

-- $1 is the user, $2 where the user is, $3 how many are wanted.
CREATE TABLE ways (way text PRIMARY KEY, settings jsonb, query text);
INSERT INTO ways VALUES
('01 filter', '{}',
	'SELECT id FROM posts WHERE NOT (SELECT items FROM seen WHERE user_id = $1) @> id
		ORDER BY embedding <-> $2 LIMIT $3'),
('02 filter, ef_search 1000', '{"hnsw.ef_search": 1000}', NULL),
('03 filter, strict', '{"hnsw.iterative_scan": "strict_order"}', NULL),
('04 filter, relaxed', '{"hnsw.iterative_scan": "relaxed_order"}', NULL),
('05 filter, relaxed, ef_search 400',
	'{"hnsw.iterative_scan": "relaxed_order", "hnsw.ef_search": 400}', NULL),
('06 filter, relaxed, ef_search 1000',
	'{"hnsw.iterative_scan": "relaxed_order", "hnsw.ef_search": 1000}', NULL),
('07 NOT EXISTS, relaxed', '{"hnsw.iterative_scan": "relaxed_order"}',
	'SELECT id FROM posts
	WHERE NOT EXISTS (SELECT FROM exposures WHERE user_id = $1 AND item_id = id)
	 ORDER BY embedding <-> $2 LIMIT $3'),
('08 NOT EXISTS, relaxed, ef_search 1000',
	'{"hnsw.iterative_scan": "relaxed_order", "hnsw.ef_search": 1000}', NULL),
('09 candidates, seen + 50', '{"hnsw.iterative_scan": "relaxed_order", "hnsw.ef_search": 1000}',
	format('SELECT c FROM bloom_exclude(ARRAY(SELECT id FROM posts
		ORDER BY embedding <-> $2 LIMIT %s),
		(SELECT items FROM seen WHERE user_id = $1)) AS c LIMIT $3', :seen + :wanted)),
('10 candidates, 1.2 x (seen + 50)',
	'{"hnsw.iterative_scan": "relaxed_order", "hnsw.ef_search": 1000}',
	format('SELECT c FROM bloom_exclude(ARRAY(SELECT id FROM posts
		ORDER BY embedding <-> $2 LIMIT %s),
		(SELECT items FROM seen WHERE user_id = $1)) AS c LIMIT $3', (:seen + :wanted) * 12 / 10)),
('11 exact, filter', '{"enable_indexscan": false}',
	'SELECT id FROM posts WHERE NOT (SELECT items FROM seen WHERE user_id = $1) @> id
		ORDER BY embedding <-> $2 LIMIT $3'),
('12 exact, NOT EXISTS', '{"enable_indexscan": false}',
	'SELECT id FROM posts
	WHERE NOT EXISTS (SELECT FROM exposures WHERE user_id = $1 AND item_id = id)
	 ORDER BY embedding <-> $2 LIMIT $3');
UPDATE ways SET query = (SELECT query FROM ways AS w WHERE w.way < ways.way AND w.query IS NOT NULL
	ORDER BY w.way DESC LIMIT 1)
WHERE query IS NULL;

CREATE TABLE results (way text, round integer, user_id bigint, found bigint[], took interval);
CREATE PROCEDURE measure(rounds integer, wanted integer) LANGUAGE plpgsql AS $$
DECLARE
	w ways;
	u users;
	setting record;
	found bigint[];
	began timestamptz;
BEGIN
	FOR round IN 0 .. rounds LOOP
		FOR w IN SELECT * FROM ways ORDER BY way LOOP
			FOR setting IN SELECT * FROM jsonb_each_text(w.settings) LOOP
				PERFORM set_config(setting.key, setting.value, true);
			END LOOP;
			FOR u IN SELECT * FROM users LOOP
				began := clock_timestamp();
				EXECUTE format('SELECT ARRAY(%s)', w.query) INTO found USING u.user_id,
					u.embedding, wanted;
				INSERT INTO results VALUES (w.way, round, u.user_id, found,
					clock_timestamp() - began);
			END LOOP;
			COMMIT;
		END LOOP;
	END LOOP;
END
$$;
CALL measure(:rounds, :wanted);

-- The first round only warms up.
DO $$
BEGIN
	IF EXISTS (SELECT FROM results AS r JOIN exposures AS e ON e.user_id = r.user_id
		AND e.item_id = ANY (r.found)) THEN
		RAISE EXCEPTION 'WRONG: an exposed item comes';
	END IF;
END
$$;
