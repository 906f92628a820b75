--
-- The feed, as doc/operate.md recommends it, what that document predicts, and the figures.
-- Variables: users, per_user.
--
CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL,
	shown_at timestamptz NOT NULL DEFAULT now());

-- A user by rank, and one drawn by a number from 0 to 1: Zipf-Mandelbrot, so that the
-- median has half as many exposures as the mean, and the first 17 times as many.
CREATE FUNCTION user_of(rank bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT rank * 2654435761 & 4294967295 $$;

CREATE FUNCTION drawn_user(number float8, users bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
	SELECT user_of(1 + floor((power(power(155::float8, 0.16) + number
		* (power(20155::float8, 0.16) - power(155::float8, 0.16)), 6.25)
		- 155) * users / 20000)::bigint)
$$;

-- One of 2,000,000 items, whose ids are like snowflakes.
CREATE FUNCTION drawn_item(number float8) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT (410000000000 + floor(number * 2000000)::bigint * 5171) << 22 $$;

-- Candidates of the feed: arrays in their row.
CREATE TABLE candidates (nth int PRIMARY KEY, items bigint[]) WITH (toast_tuple_target = 8160);
INSERT INTO candidates
SELECT nth, array_agg(drawn_item(random())) FROM generate_series(1, 1000) AS nth,
	generate_series(1, 500) GROUP BY nth;
VACUUM ANALYZE candidates;

-- Exposures are made hour by hour.
CREATE SEQUENCE hours MINVALUE 0;

-- From doc/operate.md: a filter of the exact size; on disk 1.7 times as much
-- after the first build, and twice that after a rebuild, with an index entry; seconds of a
-- rebuild at 5.5 and at 1 million exposures a second.
CREATE TABLE plan AS
SELECT bytes, 1.7 * bytes AS loaded, 3.4 * bytes AS disk, 25 AS index,
	:users * :per_user / 5.5e6 AS fast, :users * :per_user / 1e6 AS slow
FROM bloom_sizing(:per_user, 0.01);

CREATE TABLE figures (nth int GENERATED ALWAYS AS IDENTITY, figure text, unit text, measured float8,
	low float8, high float8);

-- The ratio is to the nearer end of what is predicted.
CREATE VIEW report AS
SELECT nth, figure, short(measured) || ' ' || unit AS measured,
	CASE WHEN low IS NULL THEN '' WHEN low < high THEN short(low) || ' to ' || short(high)
	ELSE short(low) END AS predicted,
	CASE WHEN ratio NOT BETWEEN 0.8 AND 1.2 THEN '**' || short(ratio) || '**'
	ELSE COALESCE(short(ratio), '') END AS ratio
FROM figures, LATERAL (SELECT CASE WHEN measured < low THEN measured / low
	WHEN measured > high THEN measured / high
	WHEN low IS NOT NULL THEN 1 END AS ratio) AS r;
