--
-- Values stay small under sequences of calls: at most four times the optimum for their distinct
-- items and the smallest rate that their parts were given, plus their headers.  A filter that was
-- sized, and outgrows its size many times, can be larger; growth.c says by how much, and why.
--
CREATE FUNCTION pg_temp.optimum(n float8, p float8) RETURNS float8 LANGUAGE sql AS $$
	SELECT -greatest(n, 300) * ln(p) / ln(2) ^ 2 / 8
$$;
-- bytes without headers, as a multiple of the optimum
CREATE FUNCTION pg_temp.ratio(f bloom, n float8, p float8) RETURNS float8 LANGUAGE sql AS $$
	SELECT (octet_length(f::bytea) - 40 - 24 * layers) / pg_temp.optimum(n, p)
	FROM bloom_info(f) AS i
$$;
CREATE FUNCTION pg_temp.some(first int, n int) RETURNS int[] LANGUAGE sql AS $$
	SELECT array_agg(i) FROM generate_series(first, first + n - 1) i
$$;
CREATE FUNCTION pg_temp.filter_of(items int[]) RETURNS bloom LANGUAGE sql AS $$
	SELECT bloom_agg(i) FROM unnest(items) i
$$;

-- unions and adds in turn, as they are, and with the rate set back
CREATE FUNCTION pg_temp.in_turn(set_back bool, OUT all_found bool, OUT small bool)
LANGUAGE plpgsql AS $$
DECLARE
	f bloom;
	worst float8 := 0;
BEGIN
	FOR n IN 1..25 LOOP
		f := bloom_union(f, pg_temp.filter_of(pg_temp.some(n * 100, 30)));
		IF set_back THEN
			f := bloom_with_fpr(f, 0.01);
		END IF;
		f := bloom_add(f, pg_temp.some(n * 100 + 50, 30));
		worst := greatest(worst, pg_temp.ratio(f, n * 60, 0.01));
	END LOOP;
	RAISE DEBUG 'at most % times the optimum', worst;
	SELECT bool_and(f @> n * 100 + i), worst <= 4 INTO all_found, small
	FROM generate_series(1, 25) n, generate_series(50, 79) i;
END
$$;
SELECT * FROM pg_temp.in_turn(false);
SELECT * FROM pg_temp.in_turn(true);

-- thirty visitors, each of whom was shown something before he signed in, and is shown more
CREATE FUNCTION pg_temp.sign_in(OUT all_found bool, OUT small bool) LANGUAGE plpgsql AS $$
DECLARE
	f bloom;
	worst float8 := 0;
BEGIN
	FOR n IN 1..30 LOOP
		f := bloom_with_fpr(bloom_union(f, bloom_add(NULL, pg_temp.some(n * 1000, 30))), 0.01);
		f := bloom_add(f, pg_temp.some(n * 1000 + 500, 30));
		worst := greatest(worst, pg_temp.ratio(f, n * 60, 0.01));
	END LOOP;
	RAISE DEBUG 'at most % times the optimum', worst;
	SELECT bool_and(f @> n * 1000 + i), worst <= 4 INTO all_found, small
	FROM generate_series(1, 30) n, generate_series(500, 529) i;
END
$$;
SELECT * FROM pg_temp.sign_in();

-- random sequences of calls, beside an exact memory
CREATE FUNCTION pg_temp.at_random(sequences int, OUT missing int, OUT small bool)
LANGUAGE plpgsql AS $$
DECLARE
	f bloom;
	memory int[];
	batch int[];
	rate float8;
	lowest float8;
	worst float8 := 0;
BEGIN
	missing := 0;
	FOR s IN 1..sequences LOOP
		f := NULL;
		memory := '{}';
		lowest := 0.01;
		FOR step IN 1..40 LOOP
			-- some of them are there already
			batch := pg_temp.some((random() * 100000)::int, 1 + (random() ^ 3 * 300)::int);
			IF random() < 0.3 THEN
				batch := batch || memory[1:20];
			END IF;
			CASE (random() * 4.99 - 0.5)::int
				WHEN 0 THEN
					f := bloom_add(f, batch);
				WHEN 1 THEN
					batch := batch[1:1];
					f := bloom_add(f, batch[1]);
				WHEN 2 THEN
					rate := (ARRAY[0.01, 0.02, 0.001])[1 + (random() * 2)::int];
					lowest := least(lowest, rate);
					SELECT bloom_union(f, bloom_agg(i, rate)) INTO f FROM unnest(batch) i;
				WHEN 3 THEN
					f := bloom_union(bloom_add(NULL, batch), f);
				ELSE
					batch := '{}';
					f := bloom_with_fpr(f, lowest);
			END CASE;
			SELECT array_agg(DISTINCT i) INTO memory FROM unnest(memory || batch) i;
			IF f IS NOT NULL THEN
				missing := missing + cardinality(bloom_exclude_array(memory, f));
				worst := greatest(worst, pg_temp.ratio(f, cardinality(memory), lowest));
			END IF;
		END LOOP;
	END LOOP;
	RAISE DEBUG 'at most % times the optimum', worst;
	small := worst <= 4;
END
$$;
SELECT setseed(0.5);
SELECT * FROM pg_temp.at_random(40);

-- windows: the same bound in each slice, at its share of the rate, whatever the older slices have,
-- and after these have left
CREATE TEMP TABLE shown (item int, slice timestamptz);
CREATE FUNCTION pg_temp.windows_at_random(sequences int, slices int, rate float8,
	OUT missing bigint, OUT small bool)
LANGUAGE plpgsql AS $$
DECLARE
	f bloom;
	now timestamptz;
	at timestamptz;
	times timestamptz[];
	batch int[];
	usual float8;
	worst float8 := 0;
	in_window bloom;
	n bigint;
BEGIN
	missing := 0;
	FOR s IN 1..sequences LOOP
		f := bloom_window('30 days', slices, rate);
		TRUNCATE shown;
		now := '2026-01-01';
		FOR step IN 1..40 LOOP
			-- days without any, and users who come more often or less often than before
			now := now + random() ^ 3 * interval '12 days';
			IF step = 1 OR random() < 0.15 THEN
				usual := exp(random() * 8);
			END IF;
			batch := pg_temp.some((random() * 1e9)::int, 1 + (random() * usual)::int);
			times := array_fill(now, ARRAY[cardinality(batch)]);
			CASE (random() * 4)::int
				WHEN 0 THEN
					times := ARRAY(SELECT now - random() * interval '25 days' FROM unnest(batch));
					f := bloom_add_at(f, batch, times);
				WHEN 1 THEN
					f := bloom_with_fpr(bloom_union(f, bloom_add_at(
						bloom_window('30 days', slices, rate), batch, times)), rate);
				WHEN 2 THEN
					f := bloom_expire(bloom_add_at(f, batch, times), now);
				ELSE
					f := bloom_add_at(f, batch, times);
			END CASE;
			INSERT INTO shown SELECT i, bloom_slice_start(t, '30 days', slices)
				FROM unnest(batch, times) AS u(i, t);
			DELETE FROM shown AS e
				WHERE e.slice < bloom_slice_start(now - interval '30 days', '30 days', slices);
			FOREACH at IN ARRAY ARRAY[now, now + random() * interval '25 days'] LOOP
				in_window := bloom_expire(f, at);
				SELECT missing + coalesce(cardinality(
					bloom_exclude_array(array_agg(e.item), in_window)), 0), count(DISTINCT e)
				INTO missing, n FROM shown AS e
				WHERE e.slice >= bloom_slice_start(at - interval '30 days', '30 days', slices);
				SELECT greatest(worst, sum(l.bytes) / pg_temp.optimum(n, rate / (slices + 1)))
					INTO worst FROM bloom_layers(in_window) AS l;
			END LOOP;
		END LOOP;
	END LOOP;
	RAISE DEBUG 'at most % times the optimum', worst;
	small := worst <= 4;
END
$$;
SELECT * FROM pg_temp.windows_at_random(5, 6, 0.01);
SELECT * FROM pg_temp.windows_at_random(5, 30, 0.01);
SELECT * FROM pg_temp.windows_at_random(5, 1, 0.01);
SELECT * FROM pg_temp.windows_at_random(5, 6, 0.02);
SELECT * FROM pg_temp.windows_at_random(3, 2, 1e-7);
SELECT * FROM pg_temp.windows_at_random(5, 1, 0.1);
SELECT * FROM pg_temp.windows_at_random(5, 3, 0.05);

-- much in two slices, and then one item in each, the newest slice first, when the two have left
CREATE FUNCTION pg_temp.last_first(slices int, rate float8) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	start timestamptz = '2026-01-01';
	f bloom := bloom_window(slices * interval '1 day', slices, rate);
BEGIN
	FOR day IN 0..1 LOOP
		f := bloom_add_at(f, pg_temp.some(day * 1000, 500),
			array_fill(start + day * interval '1 day', '{500}'));
	END LOOP;
	FOR day IN REVERSE slices..2 LOOP
		f := bloom_add_at(f, day, start + day * interval '1 day');
	END LOOP;
	RETURN sum(bytes) / pg_temp.optimum(1, rate / (slices + 1))
		FROM bloom_layers(bloom_expire(f, start + (slices + 3) * interval '1 day'));
END
$$;
SELECT rate, slices, pg_temp.last_first(slices, rate) <= 4 AS small
FROM unnest('{0.5,0.1,0.01,1e-7}'::float8[]) rate, unnest('{6,20,50}'::int[]) slices;

-- a history that comes in parts, each of which covers the window; then all slices but one leave
CREATE FUNCTION pg_temp.in_parts(slices int, rate float8, parts int, items int,
	OUT rate_kept bool, OUT small bool, OUT few_layers bool)
LANGUAGE plpgsql AS $$
DECLARE
	start timestamptz = '2026-01-01';
	f bloom := bloom_window(slices * interval '1 day', slices, rate);
	newest bloom;
BEGIN
	FOR part IN 1..parts LOOP
		f := bloom_add_at(f, pg_temp.some(part * 100000, items), ARRAY(
			SELECT start + i % (slices + 1) * interval '1 day' FROM generate_series(1, items) i));
	END LOOP;
	newest := bloom_expire(f, start + 2 * slices * interval '1 day');
	RAISE DEBUG 'rate %, % and % times the optimum, % layers',
		(SELECT sum(fpr) / rate FROM bloom_layers(f)),
		pg_temp.ratio(f, parts * items, rate / (slices + 1)),
		pg_temp.ratio(newest, parts * items / (slices + 1), rate / (slices + 1)),
		(bloom_info(f)).layers;
	rate_kept := (SELECT sum(fpr) <= rate FROM bloom_layers(f));
	small := greatest(pg_temp.ratio(f, parts * items, rate / (slices + 1)),
		pg_temp.ratio(newest, parts * items / (slices + 1), rate / (slices + 1))) <= 4;
	few_layers := (bloom_info(f)).layers <= 26 * (slices + 1);
END
$$;
SELECT * FROM pg_temp.in_parts(6, 0.01, 200, 70);
SELECT * FROM pg_temp.in_parts(30, 0.01, 100, 310);
SELECT * FROM pg_temp.in_parts(1, 0.0001, 200, 20);
SELECT * FROM pg_temp.in_parts(3, 0.05, 200, 40);
SELECT * FROM pg_temp.in_parts(100, 0.01, 36, 1010);
-- hashes that are said to be the last of a slice, again and again
CREATE FUNCTION pg_temp.last_again(times int, OUT rate_kept bool, OUT few_layers bool)
LANGUAGE plpgsql AS $$
DECLARE
	f bloom := bloom_window('30 days', 6, 0.01);
BEGIN
	FOR n IN 1..times LOOP
		f := bloom_add_hashes_at(f, 'integer', bloom_hashes(pg_temp.some(n * 10, 3)),
			'2026-01-01', true);
	END LOOP;
	RAISE DEBUG 'rate %, % layers', (SELECT sum(fpr) / 0.01 * 7 FROM bloom_layers(f)),
		(bloom_info(f)).layers;
	rate_kept := (SELECT sum(fpr) <= 0.01 / 7 FROM bloom_layers(f));
	few_layers := (bloom_info(f)).layers < 20;
END
$$;
SELECT * FROM pg_temp.last_again(1000);
