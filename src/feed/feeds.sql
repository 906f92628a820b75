-- bloom_feeds(): the feeds of a database, and what is wrong with them.

CREATE FUNCTION bloomexp.edited(schema oid, settings jsonb,
	OUT name text, OUT routine_exists boolean,
	OUT code_differs boolean)	-- and not just comments
RETURNS SETOF record
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT f.name, bool_or(p.oid IS NOT NULL),
		bool_and(p.oid IS NULL OR bloomexp.code_hash(p.prosrc) <> f.hashes ->> 1 OR NOT r.as_made)
	FROM jsonb_each(settings -> 'functions') AS f(name, hashes)
	LEFT JOIN pg_proc AS p ON p.pronamespace = schema AND p.proname = f.name
	CROSS JOIN LATERAL (SELECT p.prosecdef = (p.prokind = 'f') AND NOT p.proisstrict
		-- each as the template has it; search_path with quote_all_identifiers, and without
		AND ARRAY(
			SELECT lower(replace(c, '"', ''))
			FROM unnest(ARRAY[CASE p.provolatile WHEN 's' THEN 'stable' WHEN 'i' THEN 'immutable' END,
				CASE p.proparallel WHEN 's' THEN 'parallel safe' WHEN 'r' THEN 'parallel restricted'
				END] || p.proconfig) AS c
			WHERE c IS NOT NULL ORDER BY 1)
			= ARRAY(SELECT jsonb_array_elements_text(f.hashes -> 2))) AS r(as_made)
	GROUP BY f.name
	HAVING NOT bool_or(md5(replace(p.prosrc, E'\r', '')) = f.hashes ->> 0 AND r.as_made) IS TRUE
	ORDER BY f.name
$$;

COMMENT ON FUNCTION bloomexp.edited(oid, jsonb) IS
'functions of a feed that are not as its script made them; of several by one name, others can have '
'made the rest';

CREATE FUNCTION bloom_feeds(
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
AS $$
DECLARE
	extension record;
	found record;
	a jsonb;	-- its arguments
	apply constant text := ': apply what the command returns';
BEGIN
	SELECT x.extversion AS version, n.nspname AS schema INTO extension
	FROM pg_extension AS x JOIN pg_namespace AS n ON n.oid = x.extnamespace
	WHERE x.extname = 'bloomexp';

	-- Settings are data here: read, never executed, and given back as literals.
	FOR found IN
		SELECT n.oid AS schema, n.nspname AS name, p.proowner AS owner,
			bloomexp.feed_settings(n.oid) AS settings
		FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
		WHERE p.proname = 'settings' AND p.pronargs = 0 AND n.nspname !~ '^pg_' ORDER BY n.nspname
	LOOP
		CONTINUE WHEN jsonb_typeof(found.settings -> 'arguments') IS DISTINCT FROM 'object'
			OR jsonb_typeof(found.settings -> 'functions') IS DISTINCT FROM 'object';
		feed := found.name;
		owner := pg_get_userbyid(found.owner);
		version := found.settings ->> 'version';
		BEGIN
			a := (SELECT jsonb_object_agg(f.name, f.standard) FROM bloomexp.feed_arguments() AS f)
				|| (found.settings -> 'arguments') || jsonb_build_object('feed', found.name);
			command := format('SELECT %I.bloom_feed_sql(%L%s);', extension.schema, found.name,
				bloomexp.feed_options(a));
			problems := ARRAY(SELECT p FROM bloomexp.feed_problems(a, found.owner) AS p);
			IF version IS DISTINCT FROM extension.version THEN
				problems := problems || format('The script is of version %s of bloomexp%s.',
					version, apply);
			END IF;
			problems := problems || ARRAY(
				SELECT format('Table %I is missing%s%s.', 'filters', apply,
					CASE WHEN a ->> 'exposures' IS NOT NULL THEN ', then rebuild' END)
				WHERE to_regclass(format('%I.filters', found.name)) IS NULL);
			problems := problems || ARRAY(
				SELECT format('Table %s has no column %I: if it was renamed, rename it back.', t,
					w.name)
				FROM to_regclass(format('%I.filters', found.name)) AS t,
					unnest(ARRAY['user_id', 'items', 'recent', 'pending', CASE
						WHEN a ->> 'exposures' IS NOT NULL THEN 'filled_until'
						WHEN a ->> 'width' IS NOT NULL THEN 'since' END]) AS w(name)
				WHERE t IS NOT NULL AND w.name IS NOT NULL AND NOT EXISTS (
					SELECT FROM pg_attribute AS c
					WHERE c.attrelid = t AND c.attname = w.name AND NOT c.attisdropped));
			problems := problems || ARRAY(
				SELECT format('Table %s has no primary key: '
					'ALTER TABLE %1$s ADD PRIMARY KEY (user_id).', c.attrelid::regclass)
				FROM pg_attribute AS c
				WHERE c.attrelid = to_regclass(format('%I.filters', found.name))
					AND c.attname = 'user_id' AND NOT EXISTS (
						SELECT FROM pg_index AS x
						WHERE x.indrelid = c.attrelid AND x.indisunique AND x.indisvalid
							AND x.indimmediate AND x.indpred IS NULL AND x.indnkeyatts = 1
							AND x.indkey[0] = c.attnum));
			problems := problems || ARRAY(
				SELECT format('View %I is missing%s.', 'health', apply)
				WHERE to_regclass(format('%I.health', found.name)) IS NULL);
			problems := problems || ARRAY(
				SELECT format('Row-level security on %s would hide users from the feed: '
					'ALTER TABLE %1$s DISABLE ROW LEVEL SECURITY.',
					c.oid::regclass)
				FROM pg_class AS c JOIN pg_roles AS r ON r.oid = found.owner
				WHERE c.relnamespace = found.schema AND c.relname = 'filters' AND c.relrowsecurity
					AND NOT r.rolsuper AND NOT r.rolbypassrls
					AND (c.relforcerowsecurity OR NOT pg_has_role(r.oid, c.relowner, 'USAGE')));
			problems := problems || ARRAY(
				SELECT format('Others may create triggers on %s, and so run code with the rights '
					'of the feed: '
					'REVOKE TRIGGER ON %1$s FROM %s.', c.oid::regclass,
					string_agg(CASE g.grantee
						WHEN 0 THEN 'PUBLIC'
						ELSE quote_ident(pg_get_userbyid(g.grantee)) END, ', '))
				FROM pg_class AS c, aclexplode(c.relacl) AS g
				WHERE c.relnamespace = found.schema AND c.relname = 'filters'
					AND g.privilege_type = 'TRIGGER'
					AND NOT bloomexp.trusted(g.grantee, found.owner)
				GROUP BY c.oid);
			-- what depends on the types of the columns; of a function, the script has no other mark
			problems := problems || ARRAY(
				SELECT 'Types or collations of columns have changed' || apply || ', then rebuild.'
				WHERE EXISTS (
					SELECT FROM bloomexp.feed_columns(a) AS c
					JOIN pg_attribute AS f ON f.attname = 'user_id'
						AND f.attrelid = to_regclass(format('%I.filters', found.name))
					WHERE c.argument = 'user_column'
						AND (f.atttypid <> c.base OR f.attcollation <> c.collation))
				OR EXISTS (
					SELECT FROM bloomexp.feed_columns(a) AS c
					JOIN pg_proc AS p ON p.pronamespace = found.schema AND p.proname = 'contains'
					WHERE c.argument = 'item_column' AND p.proargnames[2] = 'item'
						AND p.proargtypes[1] <> c.base));
			problems := problems || ARRAY(
				SELECT format(CASE WHEN NOT e.routine_exists THEN 'Function %I is missing%s.'
					ELSE 'Function %I was edited%s to have it as it was made.' END, e.name, apply)
				FROM bloomexp.edited(found.schema, found.settings) AS e WHERE e.code_differs);
			edited := ARRAY(SELECT e.name FROM bloomexp.edited(found.schema, found.settings) AS e);
			problems := problems || ARRAY(
				SELECT format('Table %s has no enabled trigger for %s%s, then rebuild.', u.relation,
					u.event, apply)
				FROM bloomexp.untracked(found.name, a ->> 'exposures') AS u
				WHERE coalesce(a ->> 'mode', 'trigger') = 'trigger'
					AND NOT EXISTS (SELECT FROM pg_subscription_rel AS s
						WHERE s.srrelid = u.relation));
			problems := problems || ARRAY(
				SELECT format('PUBLIC may execute %s: REVOKE ALL ON ROUTINE %1$s FROM PUBLIC.',
					p.oid::regprocedure)
				FROM pg_proc AS p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS g
				WHERE p.pronamespace = found.schema AND found.settings -> 'functions' ? p.proname
					AND p.prosecdef AND g.grantee = 0
				ORDER BY p.proname);
		EXCEPTION WHEN OTHERS THEN	-- what others wrote need not make sense
			command := NULL;
			problems := ARRAY[SQLERRM];
			edited := '{}';
		END;
		RETURN NEXT;
	END LOOP;
END
$$;

COMMENT ON FUNCTION bloom_feeds() IS
'the feeds of this database: owner, the version of bloomexp that made the script, the command that '
'returns the script of today, what is wrong with the feed, {} if nothing, and functions that were '
'edited, even if only in comments; looks into the catalogs only';
