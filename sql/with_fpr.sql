--
-- bloom_with_fpr: another target rate for what is added later.
--
-- The filter has the new rate, and all else as it was.
SELECT fpr, kind, items, layers
FROM bloom_info(bloom_with_fpr(bloom_add(NULL, '{1,2,3}'::int[]), 0.001));
SELECT bloom_contains_each(f, '{1,2,3,4}'::int[])
FROM bloom_with_fpr(bloom_add(NULL, '{1,2,3}'::int[]), 0.001) AS f;
-- The layers that it has stay; those that come later have the new rate.
CREATE TEMP TABLE filled AS SELECT bloom_agg(i) AS f FROM generate_series(1, 1000) AS i;
SELECT layer, fpr < 0.01 AS for_one_percent, fpr < 0.001 AS for_one_permille
FROM filled, bloom_with_fpr(f, 0.001) AS g,
	bloom_layers(bloom_add(g, ARRAY(SELECT generate_series(1001, 3000))));
SELECT bloom_fpr(bloom_add(bloom_new(fpr => 0.2), ARRAY(SELECT generate_series(1, 5000)))) < 0.1
	AS low;
SELECT bloom_fpr(bloom_add(bloom_with_fpr(bloom_new(fpr => 0.2), 0.01),
						   ARRAY(SELECT generate_series(1, 5000)))) < 0.1 AS low;
-- The new rate can be higher.
SELECT fpr FROM bloom_info(bloom_with_fpr(bloom_new(), 0.1));
-- Counting filters can have a new rate.
SELECT fpr, counting FROM bloom_info(bloom_with_fpr(bloom_new(counting => true), 0.001));
-- So can windowed ones.
SELECT fpr, window_width, slices, items
FROM bloom_info(bloom_with_fpr(bloom_add_at(bloom_window('6 days'), 1, '2020-01-01'), 0.001));
-- What comes out can be written as text and read again.
SELECT count(*) FROM filled, unnest('{0.5,0.1,0.02,0.001,1e-9}'::float8[]) AS p
WHERE bloom_with_fpr(f, p)::text::bloom = bloom_with_fpr(f, p);
-- A filter keeps its rate if its header has more items than readers believe at the new one, here
-- 700.
CREATE TEMP TABLE full_one AS
SELECT set_byte(set_byte(bloom_add(bloom_new(1000, 0.9), 1)::bytea, 24, 188), 25, 2)::bloom AS f;
SELECT fpr, items FROM full_one, bloom_info(f);
SELECT fpr, items FROM full_one, bloom_info(bloom_with_fpr(f, 0.85));
SELECT fpr, items FROM full_one, bloom_info(bloom_with_fpr(f, 0.01));
-- A filter that already has the rate is returned unchanged: a large one as its TOAST
-- pointer, of which pg_column_size() does not count a length word.
INSERT INTO filled SELECT bloom_agg(i) FROM generate_series(1, 10000) AS i;
SELECT count(*) FROM filled WHERE pg_column_size(bloom_with_fpr(f, 0.01)) = pg_column_size(f);
-- NULL stays NULL.
SELECT bloom_with_fpr(NULL, 0.01) IS NULL AS of_null;
-- A rate must be given.
SELECT bloom_with_fpr(bloom_new(), NULL);
SELECT bloom_with_fpr(NULL, NULL);
-- It is between 1e-9 and 1.
SELECT bloom_with_fpr(bloom_new(), 0);
SELECT bloom_with_fpr(bloom_new(), 1);
SELECT bloom_with_fpr(bloom_new(), 'NaN');
DROP TABLE filled, full_one;
