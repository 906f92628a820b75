--
-- Whoever may create in the schema of the extension can plant functions and operators there that fit a call better than
-- ours.  None of them is ever called by the statements that the extension generates, and no exposure is lost.
--
SET client_min_messages = warning;
SET timezone = 'UTC';

CREATE ROLE regress_bloomexp_planter;
CREATE ROLE regress_bloomexp_writer;
CREATE SCHEMA shelf;
ALTER EXTENSION bloomexp SET SCHEMA shelf;
GRANT CREATE, USAGE ON SCHEMA shelf TO regress_bloomexp_planter;
GRANT USAGE ON SCHEMA shelf TO regress_bloomexp_writer;
SET search_path = public, shelf;

-- Users of a type whose operators are in the schema as well, as those of citext are, and a domain over it.
CREATE TYPE shelf.key;
CREATE FUNCTION shelf.key_in(cstring) RETURNS shelf.key LANGUAGE internal IMMUTABLE STRICT AS 'int8in';
CREATE FUNCTION shelf.key_out(shelf.key) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int8out';
CREATE TYPE shelf.key (INPUT = shelf.key_in, OUTPUT = shelf.key_out, LIKE = bigint);
CREATE FUNCTION shelf.key_lt(shelf.key, shelf.key) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int8lt';
CREATE FUNCTION shelf.key_le(shelf.key, shelf.key) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int8le';
CREATE FUNCTION shelf.key_eq(shelf.key, shelf.key) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int8eq';
CREATE FUNCTION shelf.key_ge(shelf.key, shelf.key) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int8ge';
CREATE FUNCTION shelf.key_gt(shelf.key, shelf.key) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int8gt';
CREATE FUNCTION shelf.key_cmp(shelf.key, shelf.key) RETURNS integer LANGUAGE internal IMMUTABLE STRICT AS 'btint8cmp';
CREATE OPERATOR shelf.< (LEFTARG = shelf.key, RIGHTARG = shelf.key, FUNCTION = shelf.key_lt);
CREATE OPERATOR shelf.<= (LEFTARG = shelf.key, RIGHTARG = shelf.key, FUNCTION = shelf.key_le);
CREATE OPERATOR shelf.= (LEFTARG = shelf.key, RIGHTARG = shelf.key, FUNCTION = shelf.key_eq);
CREATE OPERATOR shelf.>= (LEFTARG = shelf.key, RIGHTARG = shelf.key, FUNCTION = shelf.key_ge);
CREATE OPERATOR shelf.> (LEFTARG = shelf.key, RIGHTARG = shelf.key, FUNCTION = shelf.key_gt);
CREATE OPERATOR CLASS shelf.key_ops DEFAULT FOR TYPE shelf.key USING btree AS
	OPERATOR 1 shelf.<, OPERATOR 2 shelf.<=, OPERATOR 3 shelf.=, OPERATOR 4 shelf.>=, OPERATOR 5 shelf.>,
	FUNCTION 1 shelf.key_cmp(shelf.key, shelf.key);
CREATE DOMAIN key_domain AS shelf.key;
CREATE DOMAIN bigint_domain AS bigint;
CREATE DOMAIN text_domain AS text;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');

--
-- The traps.  In place of each function of ours: its name with each argument of each type that a call could fit, the
-- others as they are or all alike.
--

SET ROLE regress_bloomexp_planter;
CREATE FUNCTION shelf.plant() RETURNS TABLE (functions bigint, operators bigint) LANGUAGE plpgsql AS $$
DECLARE
	ours record;
	arguments text;
	pair record;
BEGIN
	functions := 0;
	operators := 0;
	FOR ours IN
		SELECT p.oid, p.proname, p.pronargs, p.proargtypes::oid[]::regtype[]::text[] AS types,
			CASE WHEN p.proretset OR p.prorettype = 'record'::regtype THEN 'bigint' ELSE format_type(p.prorettype, NULL) END AS result
		FROM pg_proc AS p JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
		JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'bloomexp'
		WHERE p.proname ~ '^bloom_(new|window|add|add_at|remove|contains_all|agg|window_agg|expire|union|info|layers|track.*|take_.*|rebuild_.*|filter_column|live_column|time_column)$'
			AND 'internal'::regtype <> ALL (p.proargtypes::oid[]) AND p.pronargs > 0
		ORDER BY p.oid
	LOOP
		FOR arguments IN
			SELECT string_agg(COALESCE(r.type, o.type), ', ' ORDER BY o.n)
			FROM (VALUES ('bigint', 'integer'), ('bigint', 'smallint'), ('bigint', 'numeric'), ('bigint', 'bigint_domain'),
					('bigint', 'anyelement'), ('bigint', 'anynonarray'), ('text', 'varchar'), ('text', 'char'), ('text', 'name'), ('text', 'text_domain'),
					('text', 'anyelement'), ('uuid', 'anyelement'), ('bytea', 'anyelement'), ('uuid', 'text'), ('bytea', 'text'),
					('double precision', 'numeric'), ('double precision', 'real'), ('double precision', 'text'), ('double precision', 'anyelement'),
					('integer', 'bigint'), ('integer', 'smallint'), ('integer', 'text'), ('integer', 'anyelement'),
					('interval', 'text'), ('interval', 'anyelement'), ('boolean', 'text'), ('boolean', 'anyelement'),
					('timestamp with time zone', 'timestamp'), ('timestamp with time zone', 'date'),
					('timestamp with time zone', 'text'), ('timestamp with time zone', 'anyelement'),
					('timestamp with time zone[]', 'timestamp[]'), ('timestamp with time zone[]', 'anyarray'),
					('anyarray', 'bigint[]'), ('anyarray', 'integer[]'), ('anyarray', 'smallint[]'), ('anyarray', 'text[]'),
					('anyarray', 'varchar[]'), ('anyarray', 'uuid[]'), ('anyarray', 'bytea[]'), ('anyarray', 'bigint_domain[]'), ('anyarray', 'anyelement'),
					('anynonarray', 'bigint'), ('anynonarray', 'integer'), ('anynonarray', 'text'), ('anynonarray', 'uuid'), ('anynonarray', 'bytea'),
					('anynonarray', 'bigint_domain'), ('anynonarray', 'anyelement'),
					('bigint[]', 'integer[]'), ('bigint[]', 'anyarray'), ('text[]', 'varchar[]'), ('text[]', 'anyarray'), ('uuid[]', 'anyarray'), ('bytea[]', 'anyarray'),
					('shelf.bloom', 'anyelement'), ('shelf.bloom', 'bytea'), ('shelf.bloom', 'text'),
					('regclass', 'oid'), ('regclass', 'text'), ('name', 'text'), ('name', 'varchar'), ('jsonb', 'json'), ('jsonb', 'text'), ('jsonb', 'anyelement')) AS v (type, replacement),
				(VALUES (true), (false)) AS a (all_alike),
				generate_series(1, ours.pronargs) AS i,
				unnest(ours.types) WITH ORDINALITY AS o (type, n)
			LEFT JOIN LATERAL (SELECT v.replacement AS type WHERE replace(o.type, 'shelf.', '') = replace(v.type, 'shelf.', '') AND (o.n = i OR a.all_alike)) AS r ON true
			GROUP BY v.type, v.replacement, a.all_alike, i HAVING count(r.type) > 0
		LOOP
			BEGIN
				EXECUTE format('CREATE FUNCTION shelf.%I(%s) RETURNS %s LANGUAGE plpgsql AS '
					'$f$ BEGIN RAISE ''a planted function was called: %s''; END $f$',
					ours.proname, arguments, CASE WHEN ours.result ~ '^any' THEN 'text' ELSE ours.result END, ours.proname);
				functions := functions + 1;
			EXCEPTION WHEN duplicate_function OR invalid_function_definition THEN
				NULL;		-- planted already, or of the same types as ours
			END;
		END LOOP;
	END LOOP;
	-- calls that leave out arguments, or have literals of no type
	FOREACH arguments IN ARRAY '{bloom_new(integer\, numeric),bloom_new(integer\, double precision),bloom_new(integer\, text),bloom_new(anyelement\, numeric),
		bloom_window(text\, text\, text),bloom_window(interval\, integer\, numeric)}'::text[]
	LOOP
		EXECUTE format('CREATE FUNCTION shelf.%s RETURNS shelf.bloom LANGUAGE plpgsql AS $f$ BEGIN RAISE ''a planted function was called: %s''; END $f$',
			arguments, arguments);
		functions := functions + 1;
	END LOOP;
	FOR pair IN
		SELECT name, l, r FROM unnest('{<>,=,>,|}'::text[]) AS name,
			(VALUES ('anyelement', 'anyelement'), ('shelf.bloom', 'anyelement'), ('anyelement', 'shelf.bloom'), ('shelf.bloom', 'bytea'),
				('public.key_domain', 'public.key_domain'), ('public.key_domain', 'shelf.key'), ('shelf.key', 'public.key_domain'),
				('public.key_domain', 'bigint'), ('bigint', 'bigint'), ('text', 'text'), ('public.mood', 'public.mood'), ('shelf.key', 'text')) AS v (l, r)
	LOOP
		EXECUTE format('CREATE FUNCTION shelf.%I(%s, %s) RETURNS boolean LANGUAGE plpgsql AS '
			'$f$ BEGIN RAISE ''a planted operator was called: %s''; END $f$',
			'operator_' || pair.name, pair.l, pair.r, pair.name);
		EXECUTE format('CREATE OPERATOR shelf.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = shelf.%I)', pair.name, pair.l, pair.r, 'operator_' || pair.name);
		operators := operators + 1;
	END LOOP;
	RETURN NEXT;
END
$$;
SELECT functions > 100 AS functions, operators FROM shelf.plant();
CREATE FUNCTION shelf.bloom_info(VARIADIC shelf.bloom[]) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'a planted function was called'; END $$;
CREATE FUNCTION shelf.bloom_union(VARIADIC shelf.bloom[]) RETURNS shelf.bloom LANGUAGE plpgsql AS $$ BEGIN RAISE 'a planted function was called'; END $$;
CREATE FUNCTION shelf.bloom_expire(shelf.bloom, VARIADIC timestamptz[]) RETURNS shelf.bloom LANGUAGE plpgsql AS $$ BEGIN RAISE 'a planted function was called'; END $$;
CREATE FUNCTION shelf.bloom_rebuild_agg(bigint, VARIADIC float8[]) RETURNS shelf.bloom LANGUAGE plpgsql AS $$ BEGIN RAISE 'a planted function was called'; END $$;
CREATE FUNCTION shelf.bloom_new(bigint, float8, integer, VARIADIC boolean[]) RETURNS shelf.bloom LANGUAGE plpgsql AS $$ BEGIN RAISE 'a planted function was called'; END $$;
RESET ROLE;

-- The traps work: an ordinary call falls into one.
\set VERBOSITY terse
SELECT shelf.bloom_add(NULL::shelf.bloom, '{1,2}'::bigint[]);
SELECT shelf.bloom_add(NULL::shelf.bloom, 1::bigint);
SELECT shelf.bloom_agg(1::bigint, 0.01::float8, 0.2::float8);
SELECT shelf.bloom_window_agg(1::bigint, now(), '1 day'::interval, 6, 0.01::float8);
SELECT 1::bigint OPERATOR(shelf.=) 1::bigint;
\set VERBOSITY default

-- A table of exposures and two of filters, for users and items of a type: all that generates statements, but the rebuild.
CREATE FUNCTION work(user_type text, item_type text, users text[], items text[]) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	scans bigint;
BEGIN
	EXECUTE format('CREATE TABLE exposures (user_id %s, item_id %s, shown_at timestamptz DEFAULT now())', user_type, item_type);
	EXECUTE format('CREATE TABLE seen (user_id %s PRIMARY KEY, items shelf.bloom)', user_type);
	EXECUTE format('CREATE TABLE recent (user_id %s PRIMARY KEY, items shelf.bloom, rebuilt_at timestamptz)', user_type);
	CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
		FOR EACH STATEMENT EXECUTE FUNCTION shelf.bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at', 'condition=user_id IS NOT NULL AND shown_at > ''2000-01-01 00:00+00''');
	CREATE TRIGGER track_recent AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
		FOR EACH STATEMENT EXECUTE FUNCTION shelf.bloom_track('recent', 'items', 'user_id', 'item_id', 'time=shown_at', 'slices=6', 'condition=item_id IN (item_id, item_id)');
	CREATE INDEX ON exposures (user_id);
	-- (policies, so that the trigger looks whether it reached all filters)
	ALTER TABLE seen ENABLE ROW LEVEL SECURITY;
	ALTER TABLE recent ENABLE ROW LEVEL SECURITY;
	CREATE POLICY everybody ON seen USING (true);
	CREATE POLICY everybody ON recent USING (true);
	GRANT ALL ON exposures, seen, recent TO regress_bloomexp_writer;
	scans := pg_stat_get_xact_numscans('seen'::regclass) + pg_stat_get_xact_numscans('recent'::regclass);
	SET LOCAL ROLE regress_bloomexp_writer;
	-- twice: new filters, and filters that are there
	FOR n IN 1 .. 2 LOOP
		EXECUTE format('INSERT INTO exposures SELECT u::%s, i::%s FROM unnest($1) AS u, unnest($2[$3:$3 + 1]) AS i', user_type, item_type) USING users, items, n * 2 - 1;
	END LOOP;
	EXECUTE format('SELECT shelf.bloom_take(''seen'', $1[1]::%s, $2::%s[]), shelf.bloom_take(''recent'', $1[1], $2::%2$s[])', user_type, item_type) USING users, items;
	RESET ROLE;
	-- (with all these casts)
	IF pg_stat_get_xact_numscans('seen'::regclass) + pg_stat_get_xact_numscans('recent'::regclass) > scans THEN
		RAISE 'the filters are read from end to end';
	END IF;
	PERFORM FROM shelf.bloom_untracked('exposures');
	PERFORM FROM shelf.bloom_overview('seen', 'items');
	PERFORM FROM shelf.bloom_overview('recent', 'items', 50, 'rebuilt_at');
END
$$;
-- Are all exposures in the filters?  (By calls into which no trap fits.)
CREATE FUNCTION result(OUT users bigint, OUT exposures bigint, OUT seen bigint, OUT recent bigint) LANGUAGE plpgsql AS $$
DECLARE
	item_type text := (SELECT CASE WHEN t.typcategory = 'S' THEN 'text' WHEN t.typcategory = 'N' THEN 'bigint' ELSE t.typname END
					   FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
					   WHERE a.attrelid = 'exposures'::regclass AND a.attname = 'item_id');
BEGIN
	EXECUTE format('SELECT count(DISTINCT concat(s.user_id)), count(*), sum(s.has), sum(r.has) FROM exposures AS e, '
		'LATERAL (SELECT user_id, bloom_contains(items, e.item_id::%1$s)::int AS has FROM seen WHERE concat(user_id) = concat(e.user_id)) AS s, '
		'LATERAL (SELECT bloom_contains(items, e.item_id::%1$s)::int AS has FROM recent WHERE concat(user_id) = concat(e.user_id)) AS r', item_type)
	INTO users, exposures, seen, recent;
END
$$;

CREATE FUNCTION everybody() RETURNS text[] LANGUAGE plpgsql AS $$ BEGIN RETURN ARRAY(SELECT concat(user_id) FROM seen); END $$;

\set VERBOSITY terse
\set rebuild 'UPDATE seen SET items = NULL; UPDATE recent SET items = NULL; CALL shelf.bloom_rebuild(\'seen\', \'items\', \'exposures\', \'user_id\', \'item_id\', \'shown_at\', dry_run => true); CALL shelf.bloom_rebuild(\'seen\', \'items\', \'exposures\', \'user_id\', \'item_id\', \'shown_at\', batch_size => 2); CALL shelf.bloom_rebuild(\'recent\', batch_size => 2, rebuilt_at_column => \'rebuilt_at\'); CALL shelf.bloom_rebuild(\'seen\', users => everybody()); SELECT * FROM result(); DROP TABLE exposures, seen, recent;'
SELECT work('bigint', 'bigint', '{1,2,3}', '{1,2,3,4}');
SELECT * FROM result();
:rebuild
SELECT work('bigint_domain', 'integer', '{1,2,3}', '{1,2,3,4}');
SELECT * FROM result();
:rebuild
SELECT work('text', 'bigint_domain', '{a,b,c}', '{1,2,3,4}');
SELECT * FROM result();
:rebuild
SELECT work('uuid', 'text', '{6ecd8c99-4036-403d-bf84-cf8400f67836,6ecd8c99-4036-403d-bf84-cf8400f67837}', '{a,"b c",d,e}');
SELECT * FROM result();
:rebuild
SELECT work('text_domain', 'varchar(9)', '{a,b,c}', '{a,b,c,d}');
SELECT * FROM result();
:rebuild
SELECT work('char(5)', 'char(5)', '{a,b,c}', '{a,b,c,d}');
SELECT * FROM result();
:rebuild
SELECT work('mood', 'text_domain', '{sad,happy}', '{a,b,c,d}');
SELECT * FROM result();
:rebuild
SELECT work('shelf.key', 'uuid', '{1,2,3}', '{6ecd8c99-4036-403d-bf84-cf8400f67836,6ecd8c99-4036-403d-bf84-cf8400f67837,6ecd8c99-4036-403d-bf84-cf8400f67838,6ecd8c99-4036-403d-bf84-cf8400f67839}');
SELECT * FROM result();
:rebuild
SELECT work('key_domain', 'bytea', '{1,2,3}', '{"\\\\x00","\\\\x01","\\\\x02","\\\\x"}');
SELECT * FROM result();
:rebuild

-- Casts: who owns a type can make one to it and from it at any time, so users of a type of others are refused.
ALTER TYPE mood OWNER TO regress_bloomexp_planter;
SET ROLE regress_bloomexp_planter;
CREATE FUNCTION shelf.from_mood(public.mood) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'a planted cast was called'; END $$;
CREATE CAST (public.mood AS text) WITH FUNCTION shelf.from_mood(public.mood) AS IMPLICIT;
RESET ROLE;
SELECT work('mood', 'text', '{sad,happy}', '{a,b,c,d}');
SET ROLE regress_bloomexp_planter;
CREATE FUNCTION shelf.to_mood(text) RETURNS public.mood LANGUAGE plpgsql AS $$ BEGIN RAISE 'a planted cast was called'; END $$;
CREATE CAST (text AS public.mood) WITH FUNCTION shelf.to_mood(text);
RESET ROLE;
CREATE TABLE exposures (user_id mood, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE TABLE seen (user_id mood PRIMARY KEY, items shelf.bloom);
CREATE TABLE text_seen (user_id text PRIMARY KEY, items shelf.bloom);
INSERT INTO seen VALUES ('ok', bloom_new());
\set VERBOSITY default
\set SHOW_CONTEXT never
CALL shelf.bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
SELECT shelf.bloom_take('seen', 'ok'::text, '{1}'::bigint[]);
CALL shelf.bloom_rebuild('text_seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
\set VERBOSITY terse
DROP TABLE exposures, seen, text_seen;
SET ROLE regress_bloomexp_planter;
DROP CAST (public.mood AS text);
DROP CAST (text AS public.mood);
RESET ROLE;
ALTER TYPE mood OWNER TO CURRENT_USER;
CREATE DOMAIN mood_domain AS mood;
SELECT work('mood_domain', 'bigint', '{sad,happy}', '{1,2,3,4}');
SELECT * FROM result();
:rebuild
DROP DOMAIN mood_domain;

-- A condition means what it says with the names of pg_catalog alone, for who writes and who rebuilds.
SET ROLE regress_bloomexp_planter;
CREATE FUNCTION shelf.varchar_equals(varchar, varchar) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'a planted operator was called'; END $$;
CREATE OPERATOR shelf.= (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = shelf.varchar_equals);
CREATE FUNCTION shelf.upper(varchar) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'a planted function was called'; END $$;
CREATE FUNCTION shelf.is_read(text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT $1 OPERATOR(pg_catalog.=) 'read' $$;
CREATE DOMAIN shelf.text AS pg_catalog.text CHECK (false);
CREATE DOMAIN shelf.interval AS pg_catalog.interval CHECK (false);
RESET ROLE;
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now(), kind varchar(9), mood mood DEFAULT 'ok');
CREATE TABLE seen (user_id bigint PRIMARY KEY, items shelf.bloom);
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION
	shelf.bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at',
		'condition=(kind IN (''read'', ''like'') OR upper(kind) = ''HIDE'') AND kind = kind AND mood = mood AND item_id > 0
			AND shown_at AT TIME ZONE ''UTC'' > ''2000-01-01''::timestamp + interval ''1 day'' AND kind::text = kind');
SET search_path = shelf, pg_catalog, public;
-- (the planted ones are the better match here, and the first)
SELECT kind = 'read' FROM (VALUES ('read'::varchar)) AS v (kind);
SELECT upper('read'::varchar);
SELECT 'read'::text;
INSERT INTO public.exposures (user_id, item_id, kind) VALUES (1, 1, 'read'), (1, 2, 'skip'), (1, 3, 'hide'), (1, -1, 'like');
SET search_path = '';
INSERT INTO public.exposures (user_id, item_id, kind) VALUES (1, 4, 'read'), (1, 5, 'skip');
SET search_path = shelf, pg_catalog, public;
SELECT bloom_contains(items, i) FROM public.seen, pg_catalog.generate_series(1::bigint, 5) AS i;
UPDATE public.seen SET items = NULL;
CALL shelf.bloom_rebuild('public.seen');
SELECT bloom_contains(items, i) FROM public.seen, pg_catalog.generate_series(1::bigint, 5) AS i;
-- what is not of pg_catalog is not found, and with its schema it is
CALL shelf.bloom_rebuild('public.seen', condition => 'is_read(kind)');
CALL shelf.bloom_rebuild('public.seen', condition => 'shelf.is_read(kind)');
SELECT bloom_contains(items, i) FROM public.seen, pg_catalog.generate_series(1::bigint, 5) AS i;
SET search_path = public, shelf;
DROP TABLE exposures, seen;

-- Functions with defaults are as good a match as ours, and neither is taken: an error, and everything stays as it is.
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE TABLE seen (user_id bigint PRIMARY KEY, items shelf.bloom);
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION shelf.bloom_track('seen', 'items', 'user_id', 'item_id');
INSERT INTO exposures VALUES (1, 1);
SET ROLE regress_bloomexp_planter;
CREATE FUNCTION shelf.bloom_track_add(shelf.bloom, bigint[], integer DEFAULT 0) RETURNS shelf.bloom LANGUAGE plpgsql AS $$ BEGIN RAISE 'a planted function was called'; END $$;
CREATE FUNCTION shelf.bloom_rebuild_agg(bigint, float8, float8, integer DEFAULT 0) RETURNS shelf.bloom LANGUAGE plpgsql AS $$ BEGIN RAISE 'a planted function was called'; END $$;
RESET ROLE;
-- (so that a new plan is made)
GRANT SELECT ON seen TO PUBLIC;
\set VERBOSITY sqlstate
INSERT INTO exposures VALUES (1, 2);
CALL shelf.bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at');
SELECT count(*) FROM exposures;
SELECT bloom_contains(items, 1::bigint) FROM seen;
DROP TABLE exposures, seen;

DROP FUNCTION work, result, everybody;
DROP OWNED BY regress_bloomexp_planter CASCADE;
DROP OWNED BY regress_bloomexp_writer;
DROP ROLE regress_bloomexp_planter, regress_bloomexp_writer;
DROP TYPE mood;
DROP DOMAIN bigint_domain, text_domain, key_domain;
ALTER EXTENSION bloomexp SET SCHEMA public;
SET client_min_messages = error;
DROP SCHEMA shelf CASCADE;
