--
-- What the benchmark is made of: methods, their results, targets, and the
-- procedure that runs methods in turn.  First file of a run.
--
SET client_min_messages = warning;
CREATE EXTENSION bloomexp;
CREATE EXTENSION intarray;

-- An extension to compare with that may be here or not.
SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'roaringbitmap') AS roaring \gset
\if :roaring
CREATE EXTENSION roaringbitmap;
\else
\echo skipped: roaringbitmap, the extension is not installed
\endif

-- The run itself: machine, versions, options.
CREATE TABLE bench_about (line serial, what text, value text);

-- A part is one comparison: methods that do the same job on the same data.
CREATE TABLE bench_method (
	nth serial,
	part text,
	name text,
	role text CHECK (role IN ('floor', 'peer', 'ours')),
	how text CHECK (how IN ('sql', 'loop', 'pgbench', 'client', 'redis', 'fresh')) DEFAULT 'sql',
	units float8,			-- candidates, rows or items in one execution
	floor text,				-- the method of the part to compare with
	settings text[] DEFAULT '{}',
	before text,			-- untimed SQL before each measurement
	command text,
	PRIMARY KEY (part, name)
);

-- The survivors by RedisBloom, if it is asked.
CREATE TABLE redis_answer (user_id bigint, items bigint[]);

CREATE TABLE bench_result (part text, name text, metric text, round integer, value float8);

-- What a metric must be, and what it should be.  Without "against" it is the
-- number itself, otherwise the ratio to another method's, round by round.
CREATE TABLE bench_target (
	nth serial,
	part text,
	name text,
	metric text,
	against text,
	sense text CHECK (sense IN ('<=', '>=')),
	must float8,
	aim float8
);

-- Milliseconds of a statement: the fastest of as many executions as fit into so
-- many milliseconds, for what else a machine does can only add to it.
CREATE FUNCTION bench_time(command text, at_least float8) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	start timestamptz := clock_timestamp();
	before timestamptz;
	fastest interval;
BEGIN
	LOOP
		before := clock_timestamp();
		EXECUTE command;
		fastest := least(fastest, clock_timestamp() - before);
		EXIT WHEN clock_timestamp() - start >= at_least * interval '1 millisecond';
	END LOOP;
	RETURN 1000 * extract(epoch FROM fastest);
END
$$;

-- Settings are 'name=value', until the end of the transaction.
CREATE PROCEDURE bench_set(settings text[]) LANGUAGE plpgsql AS $$
DECLARE
	setting text;
BEGIN
	FOREACH setting IN ARRAY settings LOOP
		PERFORM set_config(split_part(setting, '=', 1), split_part(setting, '=', 2), true);
	END LOOP;
END
$$;

-- Measure the SQL methods of a part, all of them in each round, every other
-- round backwards: what disturbs the machine for a while disturbs all alike.
-- Cheap parts get a round beforehand that does not count.
CREATE PROCEDURE bench_run(wanted text, rounds integer, warm_up boolean DEFAULT true, names text DEFAULT '%')
LANGUAGE plpgsql AS $$
DECLARE
	method bench_method;
	ms float8;
BEGIN
	FOR round IN CASE WHEN warm_up THEN 0 ELSE 1 END .. rounds LOOP
		FOR method IN
			SELECT * FROM bench_method WHERE part = wanted AND how = 'sql' AND name LIKE names
			ORDER BY CASE round % 2 WHEN 1 THEN nth ELSE -nth END
		LOOP
			CALL bench_set(method.settings);
			ms := bench_time(method.command, CASE round WHEN 0 THEN 0 ELSE 300 END);
			COMMIT;		-- ends the settings
			IF round > 0 THEN
				INSERT INTO bench_result VALUES (wanted, method.name, 'ms', round, ms);
			END IF;
		END LOOP;
	END LOOP;
END
$$;

-- Run the statement of a method once, in a server process that has done nothing
-- else, and note by how much the process's own memory grew at its peak.  The table
-- is read and the extension loaded before: shared memory counts as soon as it is
-- touched, and is to be subtracted.
CREATE FUNCTION bench_own_kb(peak boolean) RETURNS float8 LANGUAGE sql AS $$
	SELECT substring(status FROM CASE WHEN peak THEN 'VmHWM' ELSE 'VmRSS' END || ':\s+(\d+)')::float8
		- substring(status FROM 'RssShmem:\s+(\d+)')::float8
	FROM pg_read_file('/proc/self/status') AS status
$$;

CREATE FUNCTION bench_memory(wanted text, method_name text, round integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	method bench_method;
	plan text;
	before float8;
BEGIN
	SELECT * INTO STRICT method FROM bench_method WHERE part = wanted AND name = method_name;
	CALL bench_set(method.settings);
	PERFORM count(bloom_new()) FROM exposures;
	before := bench_own_kb(false);
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || method.command INTO plan;
	INSERT INTO bench_result VALUES
		(wanted, method_name, 'peak MB', round, (bench_own_kb(true) - before) / 1024),
		-- of the hash table; a sort tells its disk space otherwise
		(wanted, method_name, 'spilled MB', round, coalesce(
			substring(plan FROM '"Disk Usage": (\d+)'),
			substring(plan FROM '"Sort Space Used": (\d+),\s+"Sort Space Type": "Disk"'), '0')::float8 / 1024);
END
$$;

--
-- Ids: item numbers 0 to 1,999,992, a catalogue, as ids like snowflakes
-- (milliseconds, then 22 bits), and back.
--
CREATE FUNCTION bench_id(number bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT ((410000000000 + number * 5171) << 22) | (number * 2654435761 & 4194303) $$;

CREATE FUNCTION bench_number(id bigint) RETURNS integer LANGUAGE sql IMMUTABLE AS
$$ SELECT (((id >> 22) - 410000000000) / 5171)::integer $$;

-- A user is known by rank; the first has seen most.  pgbench scripts repeat this.
CREATE FUNCTION bench_user(rank bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT rank * 2654435761 & 4294967295 $$;

-- The nth item that a user saw: each user walks through the catalogue with a
-- stride of their own.  1,999,993 is a prime, so nothing comes twice.
CREATE FUNCTION bench_item(rank bigint, nth bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT (rank * 7907 + nth * (rank * 48271 % 1999992 + 1)) % 1999993 $$;

-- How much the users of a rank saw, out of so many users, and how many users
-- saw at least so much.  Zipf-Mandelbrot: of 20,000 users the median saw 300
-- items, one in a hundred 5,000, the busiest 10,000.
CREATE FUNCTION bench_seen(rank bigint, users bigint) RETURNS integer LANGUAGE sql IMMUTABLE AS
$$ SELECT least(10000, 300 * (10155 / (155 + (rank - 0.5::float8) * 20000 / users)) ^ 0.84)::integer $$;

CREATE FUNCTION bench_users_with(seen bigint, users bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT least(users, (10155 * (300.0::float8 / seen) ^ (1 / 0.84) - 155) * users / 20000 + 0.5)::bigint $$;

-- Item numbers of candidates for a user, in no order: 30% from what the user
-- saw (more than once if that is little), 70% from the whole catalogue.
CREATE FUNCTION bench_candidates(rank bigint, seen bigint, candidates bigint) RETURNS bigint[] LANGUAGE sql AS $$
	SELECT array_agg(CASE WHEN n <= 0.3 * candidates THEN bench_item(rank, n % seen + 1)
		ELSE floor(random() * 1999993)::bigint END ORDER BY random())
	FROM generate_series(1, candidates) AS n
$$;

-- For the part "call": arrays of 1,000 candidates against a filter of n items,
-- nothing of it stored.  Eight arrays, so that the processor can't learn the
-- answers by heart.  One function for each type of items, made from their number i.
DO $do$
DECLARE
	arrays text := '{c1,c2,c3,c4,c5,c6,c7,c8}';
	kind text;
	type text;
	item text;
BEGIN
	FOR kind, type, item IN VALUES
		('int8', 'bigint', 'bench_id(i)'),
		('int4', 'integer', 'i'),
		('uuid', 'uuid', 'md5(i::text)::uuid'),
		('text16', 'text', 'left(md5(i::text), 16)'),
		('text32', 'text', 'md5(i::text)'),
		('text36', 'text', 'md5(i::text)::uuid::text'),
		('mixed', 'text', 'left(md5(i::text), 8 + i % 25)'),	-- 8 to 32 bytes
		('bytea', 'bytea', 'decode(md5(i::text), ''hex'')')
	LOOP
		EXECUTE (
			SELECT format($f$
				CREATE FUNCTION bench_call_%s(n integer, exposed float8) RETURNS float8 LANGUAGE plpgsql AS $$
				DECLARE
					f bloom := (SELECT bloom_agg(%s, 0.01) FROM generate_series(1, n) AS i);
					%s
					start timestamptz;
					middle timestamptz;
					empty interval;
					busy interval;
					sum bigint := 0;
				BEGIN
					-- the least of several, for this is about the code, not the machine's other work
					FOR attempt IN 1..5 LOOP
						start := clock_timestamp();
						FOR turn IN 1..20 LOOP
							%s
						END LOOP;
						middle := clock_timestamp();
						FOR turn IN 1..20 LOOP
							%s
						END LOOP;
						busy := least(busy, clock_timestamp() - middle);
						empty := least(empty, middle - start);
					END LOOP;
					-- nanoseconds a candidate, without the loop
					RETURN 1e9 * extract(epoch FROM busy - empty) / (20 * 8 * 1000);
				END
				$$ $f$, kind, item,
				string_agg(format('%s %s[] := ARRAY(SELECT %s FROM unnest(bench_draw(n, exposed)) AS i);', c, type, item), E'\n'),
				-- (in one expression, all eight results would be kept)
				string_agg(format('sum := sum + cardinality(%s);', c), E'\n'),
				string_agg(format('sum := sum + cardinality(%s - f);', c), E'\n'))
			FROM unnest(arrays::text[]) AS c);
	END LOOP;
END
$do$;

-- The numbers of a thousand candidates, of which a share is among the first n.
CREATE FUNCTION bench_draw(n integer, exposed float8) RETURNS integer[] LANGUAGE sql AS $$
	SELECT array_agg(CASE WHEN nth <= exposed * 1000 THEN 1 + floor(random() * n)
		ELSE 200001 + floor(random() * 1700000) END::integer ORDER BY random())
	FROM generate_series(1, 1000) AS nth
$$;

CREATE PROCEDURE bench_calls(rounds integer) LANGUAGE plpgsql AS $$
DECLARE
	method text;
	word text[];
	ns float8;
BEGIN
	FOR round IN 1..rounds LOOP
		FOR method IN SELECT name FROM bench_method WHERE part = 'call' ORDER BY nth LOOP
			word := regexp_match(method, '(\w+), (\d+) items, (\d+)%');
			EXECUTE format('SELECT bench_call_%s(%s, %s / 100.0)', word[1], word[2], word[3]) INTO ns;
			INSERT INTO bench_result VALUES ('call', method, 'ns', round, ns);
		END LOOP;
		COMMIT;
	END LOOP;
END
$$;
