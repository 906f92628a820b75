-- feeds(): the feeds of a database, and what is wrong with them.

CREATE FUNCTION bloomexp.script_version() RETURNS text
LANGUAGE sql IMMUTABLE
AS $$ SELECT '1.0.0' $$;

COMMENT ON FUNCTION bloomexp.script_version() IS
'the oldest version of a script that this version of the extension accepts; feeds() reports feeds '
'with older scripts';

CREATE FUNCTION bloomexp.edited(schema oid, settings jsonb,
	OUT name text, OUT routine_exists boolean,
	OUT code_differs boolean)	-- false: only comments or white space differ
RETURNS SETOF record
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT f.name, bool_or(p.oid IS NOT NULL),
		bool_and(p.oid IS NULL OR s.source IS NULL OR NOT r.as_made
			OR bloomexp.code_hash(s.source) <> f.hashes ->> 1)
	FROM jsonb_each(settings -> 'functions') AS f(name, hashes)
	LEFT JOIN pg_proc AS p ON p.pronamespace = schema AND p.proname = f.name
	-- ignore functions that no script makes: very long ones, and many of one name
	CROSS JOIN LATERAL (SELECT CASE WHEN octet_length(p.prosrc) < 100000 AND (
			SELECT count(*) FROM pg_proc AS o
			WHERE o.pronamespace = schema AND o.proname = f.name) < 4 THEN p.prosrc END)
		AS s(source)
	CROSS JOIN LATERAL (SELECT p.prosecdef = (p.prokind = 'f') AND NOT p.proisstrict
		-- attributes as in the template; quote_all_identifiers may have put quotes into search_path
		AND ARRAY(
			SELECT lower(replace(c, '"', ''))
			FROM unnest(ARRAY[
				CASE p.provolatile WHEN 's' THEN 'stable' WHEN 'i' THEN 'immutable' END,
				CASE p.proparallel WHEN 's' THEN 'parallel safe' WHEN 'r' THEN 'parallel restricted'
				END] || p.proconfig) AS c
			WHERE c IS NOT NULL ORDER BY 1)
			= ARRAY(SELECT jsonb_array_elements_text(f.hashes -> 2))) AS r(as_made)
	GROUP BY f.name
	HAVING bool_or(md5(replace(s.source, E'\r', '')) = f.hashes ->> 0 AND r.as_made) IS NOT TRUE
	ORDER BY f.name
$$;

COMMENT ON FUNCTION bloomexp.edited(oid, jsonb) IS
'the functions of a feed that are not as its script made them. If several have one name, it is '
'enough that one of them is, because others can have created the rest';

CREATE FUNCTION bloomexp.check_filters(schema oid, owner oid, arguments jsonb)
RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	filters constant regclass := (SELECT c.oid FROM pg_class AS c
		WHERE c.relnamespace = schema AND c.relname = 'filters' AND c.relkind IN ('r', 'p'));
BEGIN
	IF filters IS NULL THEN
		RETURN NEXT format('Table filters is missing: apply what the command returns%s.',
			CASE WHEN arguments ->> 'exposures' IS NOT NULL THEN ', then rebuild' END);
		RETURN;
	END IF;
	RETURN QUERY
		SELECT format('Table %s has no column %I: if it was renamed, rename it back.', filters,
			w.name)
		FROM unnest(ARRAY['user_id', 'items', 'recent', 'pending',
			CASE WHEN arguments ->> 'exposures' IS NULL THEN 'since' ELSE 'filled_until' END])
			AS w(name)
		WHERE NOT EXISTS (SELECT FROM pg_attribute AS c
			WHERE c.attrelid = filters AND c.attname = w.name AND NOT c.attisdropped);
	RETURN QUERY
		SELECT format('Table %s has no primary key filters_pkey of user_id: ALTER TABLE %1$s '
			'ADD CONSTRAINT filters_pkey PRIMARY KEY (user_id).', filters)
		FROM pg_attribute AS c
		WHERE c.attrelid = filters AND c.attname = 'user_id' AND NOT EXISTS (
			SELECT FROM pg_constraint AS k
			WHERE k.conrelid = filters AND k.conname = 'filters_pkey' AND k.contype IN ('p', 'u')
				AND k.conkey = ARRAY[c.attnum] AND NOT k.condeferrable);
	RETURN QUERY
		SELECT format('Table %s is unlogged, so a crash empties it: ALTER TABLE %1$s SET LOGGED.',
			filters)
		FROM pg_class AS c
		WHERE c.oid = filters AND c.relpersistence = 'u'
			AND arguments ->> 'exposures' IS NOT NULL;	-- else that may be on purpose
	RETURN QUERY
		SELECT format('Row-level security on %s would hide users from the feed: '
			'ALTER TABLE %1$s DISABLE ROW LEVEL SECURITY.', filters)
		FROM pg_class AS c JOIN pg_roles AS r ON r.oid = owner
		WHERE c.oid = filters AND c.relrowsecurity AND NOT r.rolsuper AND NOT r.rolbypassrls
			AND (c.relforcerowsecurity OR NOT pg_has_role(r.oid, c.relowner, 'USAGE'));
	RETURN QUERY
		SELECT format('Trigger %I of %s can suppress what the feed writes: '
			'DROP TRIGGER %1$I ON %2$s.', g.tgname, filters)
		FROM pg_trigger AS g
		-- triggers before each row of an INSERT, DELETE or UPDATE
		WHERE g.tgrelid = filters AND NOT g.tgisinternal AND g.tgtype & 3 = 3
			AND g.tgtype & (4 | 8 | 16) > 0;
	RETURN QUERY
		SELECT format('Others may change %s, or run code with the rights of the feed when it '
			'changes: REVOKE %s ON %1$s FROM %3$s.', filters,
			string_agg(DISTINCT a.privilege_type, ', '),
			string_agg(DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC'
				ELSE quote_ident(pg_get_userbyid(a.grantee)) END, ', '))
		FROM (
			SELECT c.relacl FROM pg_class AS c WHERE c.oid = filters
			UNION ALL SELECT c.attacl FROM pg_attribute AS c WHERE c.attrelid = filters) AS p(acl)
		CROSS JOIN LATERAL aclexplode(p.acl) AS a
		WHERE a.privilege_type NOT IN ('SELECT', 'MAINTAIN')
			AND NOT bloomexp.trusted(a.grantee, owner)
		HAVING count(*) > 0;
	RETURN QUERY
		SELECT format('The collation of users has version %3$s now, and version %2$s is recorded '
			'for it, so indexes can be wrong: REINDEX TABLE %1$s%4$s, then %5$s.', filters,
			v.recorded, v.present, (
				SELECT '; REINDEX TABLE ' || c.oid::regclass FROM pg_class AS c
				WHERE c.oid = to_regclass(arguments ->> 'exposures')
					AND c.relkind IN ('r', 'p', 'm')),
			v.refresh)
		FROM pg_attribute AS f
		JOIN pg_collation AS l ON l.oid = f.attcollation
		JOIN pg_database AS d ON d.datname = current_database()
		CROSS JOIN LATERAL (
			SELECT d.datcollversion, pg_database_collation_actual_version(d.oid),
				format('ALTER DATABASE %I REFRESH COLLATION VERSION', d.datname)
			WHERE l.collprovider = 'd'
			UNION ALL SELECT l.collversion, pg_collation_actual_version(l.oid),
				format('ALTER COLLATION %s REFRESH VERSION', l.oid::regcollation)
			WHERE l.collprovider <> 'd') AS v(recorded, present, refresh)
		WHERE f.attrelid = filters AND f.attname = 'user_id' AND v.recorded <> v.present;
	RETURN QUERY
		SELECT upper(left(p, 1)) || substr(p, 2) || ': apply what the command returns.'
		FROM bloomexp.other_types(schema) AS p;
	-- Only the arguments of contains() tell for which type of items the script was made.
	IF EXISTS (
			SELECT FROM bloomexp.feed_columns(arguments) AS c
			JOIN pg_attribute AS f ON f.attrelid = filters AND f.attname = 'user_id'
			WHERE c.argument = 'user_column'
				AND (f.atttypid <> c.base OR f.attcollation <> c.collation))
		OR EXISTS (
			SELECT FROM bloomexp.feed_columns(arguments) AS c
			JOIN pg_proc AS p ON p.pronamespace = schema AND p.proname = 'contains'
			WHERE c.argument = 'item_column' AND p.proargnames[2] = 'item'
				AND p.proargtypes[1] <> c.base) THEN
		RETURN NEXT 'Types or collations of columns have changed: '
			'apply what the command returns, then rebuild.';
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.check_filters(oid, oid, jsonb) IS
'what is wrong with the table of filters of a feed, and with the types for which the feed was '
'made';

CREATE FUNCTION bloomexp.check_routines(schema oid, feed text, owner oid, settings jsonb,
	arguments jsonb)
RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	apply constant text := ': apply what the command returns';
BEGIN
	-- A version of an extension can be any name.  Those of this one are numbers with dots.
	IF NOT settings ->> 'version' ~ '^[0-9]+([.][0-9]+)*$'
		OR string_to_array(settings ->> 'version', '.')::integer[]
			< string_to_array(bloomexp.script_version(), '.')::integer[] THEN
		RETURN NEXT format('The script is of version %s of bloomexp, and the extension needs '
			'a script of version %s or later%s.',
			coalesce(substring(settings ->> 'version' FROM '^[0-9.]+$'), '(unknown)'),
			bloomexp.script_version(), apply);
	END IF;
	IF settings #>> '{arguments,feed}' <> feed THEN
		RETURN NEXT format('The schema was renamed from %I, and the functions have the old name%s.',
			settings #>> '{arguments,feed}', apply);
	END IF;
	RETURN QUERY
		SELECT 'The type or the collation of users has another name now' || apply || '.'
		FROM bloomexp.feed_columns(arguments) AS c
		WHERE c.argument = 'user_column'
			AND settings ->> 'user_type' <> concat(c.base_name, ' COLLATE ' || c.collation_name)
			-- if it is another type, check_filters() says so
			AND EXISTS (
				SELECT FROM pg_class AS f JOIN pg_attribute AS a ON a.attrelid = f.oid
				WHERE f.relnamespace = schema AND f.relname = 'filters' AND a.attname = 'user_id'
					AND a.atttypid = c.base AND a.attcollation = c.collation);
	RETURN QUERY
		SELECT format(CASE WHEN NOT e.routine_exists THEN 'Function %I is missing%s.'
			ELSE 'Function %I was edited%s to restore it.' END, e.name, apply)
		FROM bloomexp.edited(schema, settings) AS e WHERE e.code_differs;
	RETURN QUERY
		-- rebuild() and expire() look these up by name
		SELECT format('There are several functions %I.%I: drop those that the script does not '
			'create.', feed, p.proname)
		FROM pg_proc AS p
		WHERE p.pronamespace = schema AND p.proname IN ('rebuild_batch', 'expire_batch')
		GROUP BY p.proname HAVING count(*) > 1;
	RETURN QUERY
		SELECT format('View health is missing%s.', apply)
		WHERE NOT EXISTS (SELECT FROM pg_class AS c
			WHERE c.relnamespace = schema AND c.relname = 'health' AND c.relkind = 'v');
	RETURN QUERY
		SELECT format('Table %s has no enabled trigger for %s%s, then rebuild.', u.relation,
			u.event, apply)
		FROM bloomexp.untracked(feed, arguments ->> 'exposures') AS u
		WHERE arguments ->> 'trigger' = 'true' AND u.relation IS NOT NULL
			AND NOT EXISTS (SELECT FROM pg_subscription_rel AS s WHERE s.srrelid = u.relation);
	RETURN QUERY
		SELECT format('Others may replace the triggers of the feed: '
			'REVOKE TRIGGER ON %s FROM %s.', t,
			string_agg(CASE g.grantee WHEN 0 THEN 'PUBLIC'
				ELSE quote_ident(pg_get_userbyid(g.grantee)) END, ', '))
		FROM bloomexp.tables_of(to_regclass(arguments ->> 'exposures')) AS t
		JOIN pg_class AS c ON c.oid = t, aclexplode(c.relacl) AS g
		WHERE arguments ->> 'trigger' = 'true' AND g.privilege_type = 'TRIGGER'
			AND NOT bloomexp.trusted(g.grantee, owner)
		GROUP BY t;
	RETURN QUERY
		SELECT format('%s may execute %s: REVOKE ALL ON ROUTINE %2$s FROM %1$s.',
			CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END,
			p.oid::regprocedure)
		FROM pg_proc AS p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS g
		WHERE p.pronamespace = schema AND settings -> 'functions' ? p.proname AND p.prosecdef
			-- nobody else needs to call the function of the triggers
			AND (g.grantee = 0 OR p.proname = 'track' AND NOT bloomexp.trusted(g.grantee, owner))
		ORDER BY p.proname, 1;
END
$$;

COMMENT ON FUNCTION bloomexp.check_routines(oid, text, oid, jsonb, jsonb) IS
'what is wrong with the functions, the view and the triggers of a feed, and with the grants on '
'them';

CREATE FUNCTION bloomexp.feeds(
	only_feed name DEFAULT NULL,	-- NULL: all
	OUT feed name,
	OUT owner name,
	OUT version text,
	OUT command text,
	OUT problems text[],
	OUT edited text[])
RETURNS SETOF record
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
SET quote_all_identifiers = off
SET IntervalStyle = postgres
SET extra_float_digits = 1
SET jit = off	-- compiling these statements takes longer than they do
AS $$
DECLARE
	max_problems constant integer := 100;
	one record;	-- a feed
	arguments jsonb;
BEGIN
	-- Anybody can write settings: they are read but never executed, and returned as literals.
	FOR one IN
		SELECT n.oid AS schema, n.nspname AS name, p.proowner AS owner,
			bloomexp.feed_settings(n.oid) AS settings
		FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
		WHERE p.proname = 'settings' AND p.pronargs = 0 AND n.nspname !~ '^pg_'
			AND n.nspname = coalesce(only_feed, n.nspname)
		ORDER BY n.nspname
	LOOP
		CONTINUE WHEN bloomexp.has_controls(one.name)	-- no script makes such a schema
			OR jsonb_typeof(one.settings -> 'arguments') IS DISTINCT FROM 'object'
			OR jsonb_typeof(one.settings -> 'functions') IS DISTINCT FROM 'object';
		feed := one.name;
		owner := pg_get_userbyid(one.owner);
		version := one.settings ->> 'version';
		BEGIN
			arguments := bloomexp.present_arguments(one.schema, one.settings)
				|| jsonb_build_object('feed', one.name);
			command := format('SELECT bloomexp.feed_sql(%L%s);', one.name,
				bloomexp.feed_options(arguments));
			IF bloomexp.has_controls(command) THEN
				command := NULL;
			END IF;
			problems := ARRAY[bloomexp.lost_filters(one.name)];
			IF problems[1] IS NOT NULL THEN	-- nothing else matters
				edited := '{}';
				RETURN NEXT;
				CONTINUE;
			END IF;
			problems := ARRAY(
				SELECT bloomexp.feed_problems(arguments, one.owner)
				UNION ALL SELECT bloomexp.check_filters(one.schema, one.owner,
					arguments)
				UNION ALL SELECT bloomexp.check_routines(one.schema, one.name, one.owner,
					one.settings, arguments));
			IF cardinality(problems) > max_problems THEN
				problems := problems[1 : max_problems]
					|| format('There are %s more problems.', cardinality(problems) - max_problems);
			END IF;
			edited := ARRAY(SELECT e.name FROM bloomexp.edited(one.schema, one.settings) AS e);
		EXCEPTION WHEN OTHERS THEN	-- settings that others wrote can be nonsense
			command := NULL;
			problems := ARRAY[SQLERRM];
			edited := '{}';
		END;
		problems := ARRAY(
			SELECT CASE WHEN bloomexp.has_controls(p)
				THEN 'A name has control characters: rename it.' ELSE p END
			FROM unnest(problems) AS p);
		RETURN NEXT;
	END LOOP;
END
$$;

COMMENT ON FUNCTION bloomexp.feeds(name) IS
'the feeds of this database, or one of them: its owner; the version of bloomexp that made its '
'script; the command that returns its script now; its problems, {} if there are none; and its '
'functions that were edited, even if only in comments. Reads catalogs only';
