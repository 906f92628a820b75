-- Checks of the table of exposures and of the schema of the feed.

CREATE FUNCTION bloomexp.check_table(arguments jsonb, role oid) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name constant text := arguments ->> 'exposures';
	table_id constant regclass := to_regclass(name);
	by_trigger constant boolean := arguments ->> 'trigger' = 'true';
	table_row record;	-- of pg_class
BEGIN
	IF name IS NULL THEN
		RETURN;
	END IF;
	SELECT c.relkind, c.relpersistence, c.relispartition, c.relrowsecurity, c.relforcerowsecurity,
		c.relowner
	INTO table_row FROM pg_class AS c WHERE c.oid = table_id;
	IF NOT FOUND THEN
		RETURN NEXT format('Table %s does not exist: name the table that has the exposures.',
			name);
		RETURN;
	END IF;

	IF table_row.relpersistence = 't' THEN
		RETURN NEXT format('%s is temporary: a feed would outlive it.', name);
	ELSIF table_row.relkind NOT IN ('r', 'p')
		AND (by_trigger OR table_row.relkind NOT IN ('v', 'm', 'f')) THEN
		RETURN NEXT format('%s is not a table%s', name,
			CASE WHEN table_row.relkind IN ('v', 'm', 'f')
				THEN ': views and foreign tables need trigger => false.' ELSE '.' END);
	END IF;
	IF table_row.relrowsecurity
		AND (SELECT NOT r.rolsuper AND NOT r.rolbypassrls FROM pg_roles AS r WHERE r.oid = role)
		AND (table_row.relforcerowsecurity
			OR NOT pg_has_role(role, table_row.relowner, 'USAGE')) THEN
		RETURN NEXT format('Row-level security on %s would hide exposures from the feed: '
			'the owner of the feed must own the table, without FORCE ROW LEVEL SECURITY, '
			'or have BYPASSRLS.', name);
	END IF;
	RETURN QUERY
		SELECT format('Trigger %I on %s has the name of a trigger of the feed: '
			'drop it, rename it, or choose another name for the feed.', g.tgname, t)
		FROM bloomexp.tables_of(table_id) AS t JOIN pg_trigger AS g ON g.tgrelid = t
		JOIN pg_proc AS p ON p.oid = g.tgfoid JOIN pg_namespace AS n ON n.oid = p.pronamespace
		WHERE g.tgname IN (('insert_' || (arguments ->> 'feed'))::name,
				('update_' || (arguments ->> 'feed'))::name)
			AND NOT (n.nspname = arguments ->> 'feed' AND p.proname = 'track')
		ORDER BY t::text, g.tgname;
	IF NOT by_trigger OR table_row.relkind NOT IN ('r', 'p') THEN
		RETURN;
	END IF;

	IF table_row.relispartition THEN
		RETURN NEXT format('%s is a partition, and an INSERT into its root fires none of its '
			'triggers: '
			'make the feed over the root, or use trigger => false.', name);
	END IF;
	IF NOT has_table_privilege(role, table_id, 'TRIGGER') THEN
		RETURN NEXT format('Role %I may not create triggers on %s: GRANT TRIGGER ON %2$s TO %1$I.',
			pg_get_userbyid(role), name);
	END IF;
	RETURN QUERY
		SELECT format('%s is filled by a subscription, which fires no statement triggers: '
			'use trigger => false.', s.srrelid::regclass)
		FROM bloomexp.tables_of(table_id) AS t JOIN pg_subscription_rel AS s ON s.srrelid = t
		ORDER BY 1;
	RETURN QUERY
		SELECT format('%s is a foreign table: inserts into it would fail if its parent '
			'had the trigger. Use trigger => false.', t)
		FROM bloomexp.tables_of(table_id) AS t JOIN pg_class AS c ON c.oid = t AND c.relkind = 'f'
		ORDER BY 1;
END
$$;

COMMENT ON FUNCTION bloomexp.check_table(jsonb, oid) IS
'the problems with the table of exposures, if the role owns the feed: a sentence for each';

CREATE FUNCTION bloomexp.distribution_column(exposures regclass) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	distribution text;
BEGIN
	-- the catalogs of Citus are in pg_catalog
	IF EXISTS (SELECT FROM pg_extension AS x WHERE x.extname = 'citus') THEN
		EXECUTE 'SELECT CASE WHEN p.repmodel = ''t'' THEN ''a reference table'' '
			'WHEN p.partmethod = ''h'' THEN column_to_column_name(p.logicalrelid, p.partkey) END '
			'FROM pg_dist_partition AS p WHERE p.logicalrelid = $1'
		INTO distribution USING exposures;
	END IF;
	RETURN distribution;
END
$$;

COMMENT ON FUNCTION bloomexp.distribution_column(regclass) IS
'the column by which Citus distributes a table, or "a reference table"; NULL if Citus does not '
'distribute it';

CREATE FUNCTION bloomexp.check_distribution(arguments jsonb) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	distribution constant text :=
		bloomexp.distribution_column(to_regclass(arguments ->> 'exposures'));
BEGIN
	IF distribution IS NOT NULL AND arguments ->> 'trigger' = 'true' THEN
		RETURN NEXT format('%s is distributed, and triggers of distributed tables deadlock: '
			'use trigger => false.', arguments ->> 'exposures');
	ELSIF distribution <> arguments ->> 'user_column' THEN
		RETURN NEXT format('%s is distributed by %s: it must be distributed by the user column %I.',
			arguments ->> 'exposures', distribution, arguments ->> 'user_column');
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.check_distribution(jsonb) IS
'the problems with exposures that Citus distributes: a sentence for each';

CREATE FUNCTION bloomexp.fixed_arguments(arguments jsonb) RETURNS text
LANGUAGE sql STABLE STRICT
SET search_path = pg_catalog, pg_temp
SET IntervalStyle = postgres
AS $$
	SELECT CASE
		WHEN arguments ->> 'exposures' IS NOT NULL THEN concat('a table with',
			CASE arguments ->> 'trigger' WHEN 'false' THEN 'out' END, ' triggers')
		ELSE concat_ws(', ',
			(SELECT string_agg(c.base_name, ', ') FROM bloomexp.feed_columns(arguments) AS c),
			CASE WHEN arguments ->> 'width' IS NULL THEN 'without a window'
				ELSE format('%s in %s slices', justify_hours(make_interval(
						secs => extract(epoch FROM (arguments ->> 'width')::interval))),
					coalesce(arguments ->> 'slices', '6')) END) END
$$;

COMMENT ON FUNCTION bloomexp.fixed_arguments(jsonb) IS
'the arguments of a feed that cannot change later, as a text for comparison and messages';

CREATE FUNCTION bloomexp.lost_filters(feed text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('Table %s has lost its filters: the extension was dropped. '
		'DROP SCHEMA %I CASCADE, and make the feed again.', c.oid::regclass, feed)
	FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
	WHERE n.nspname = feed AND c.relname = 'filters' AND c.relkind IN ('r', 'p')
		AND EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attisdropped)
		AND NOT EXISTS (SELECT FROM pg_attribute AS a
			WHERE a.attrelid = c.oid AND a.attname = 'items')
$$;

COMMENT ON FUNCTION bloomexp.lost_filters(text) IS
'a sentence with the remedy if a feed has lost its filters, as by DROP EXTENSION bloomexp CASCADE, '
'which drops all columns of the type bloom; NULL if it has not';

CREATE FUNCTION bloomexp.check_schema(arguments jsonb, role oid) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
	feed constant text := arguments ->> 'feed';
	schema constant oid := (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = feed);
	settings constant jsonb := bloomexp.feed_settings(schema);
	owner constant oid := (SELECT p.proowner FROM pg_proc AS p
		WHERE p.pronamespace = schema AND p.proname = 'settings' AND p.pronargs = 0);
	former constant text := bloomexp.fixed_arguments(
		bloomexp.present_arguments(schema, settings));
BEGIN
	IF bloomexp.lost_filters(feed) IS NOT NULL THEN
		RETURN NEXT bloomexp.lost_filters(feed);
		RETURN;
	END IF;
	IF schema IS NULL THEN
		IF NOT has_database_privilege(role, current_database(), 'CREATE') THEN
			RETURN NEXT format('Role %1$I may not create schema %2$I: '
				'GRANT CREATE ON DATABASE %3$I TO %1$I, '
				'or let the owner of the database make the empty schema for it.',
				pg_get_userbyid(role), feed, current_database());
		END IF;
	ELSIF settings IS NOT NULL
		AND NOT (pg_has_role(role, owner, 'USAGE') AND pg_has_role(owner, role, 'USAGE')) THEN
		RETURN NEXT format('Only the owner of feed %I can change it.', feed);
	ELSIF NOT (has_schema_privilege(role, schema, 'CREATE')
		AND has_schema_privilege(role, schema, 'USAGE')) THEN
		RETURN NEXT format(
			'Role %I may not create in schema %I: GRANT CREATE, USAGE ON SCHEMA %2$I TO %1$I.',
			pg_get_userbyid(role), feed);
	ELSIF settings IS NULL AND EXISTS (
		SELECT FROM pg_depend AS d
		WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = schema
			AND d.deptype = 'n') THEN
		RETURN NEXT format('Schema %I exists and is not empty: choose another name for the feed.',
			feed);
	END IF;
	IF former <> bloomexp.fixed_arguments(arguments) THEN
		RETURN NEXT format('Feed %I was made for %s, not for %s, and this cannot change. '
			'Make another feed, and drop this one once requests use the new one.',
			feed, former, bloomexp.fixed_arguments(arguments));
	END IF;
	IF bloomexp.has_controls(concat(bloomexp.feed_options(arguments),
		bloomexp.fixed_arguments(arguments))) THEN
		RETURN NEXT 'Names with control characters cannot be written into a script: '
			'rename the table, column, type or schema.';
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.check_schema(jsonb, oid) IS
'the problems with the schema of a feed, and with an older feed in it, if the role owns the feed: '
'a sentence for each';

CREATE FUNCTION bloomexp.feed_problems(arguments jsonb, role oid) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY SELECT * FROM bloomexp.check_arguments(arguments);
	RETURN QUERY SELECT * FROM bloomexp.check_table(arguments, role);
	RETURN QUERY SELECT * FROM bloomexp.check_distribution(arguments);
	RETURN QUERY SELECT * FROM bloomexp.check_columns(arguments, role);
	RETURN QUERY SELECT * FROM bloomexp.untrusted(role, arguments ->> 'feed',
		to_regclass(arguments ->> 'exposures'),
		ARRAY(SELECT t FROM bloomexp.feed_columns(arguments) AS c, unnest(c.chain) AS t),
		(SELECT c.collation FROM bloomexp.feed_columns(arguments) AS c
		WHERE c.argument = 'user_column'));
	RETURN QUERY SELECT * FROM bloomexp.check_schema(arguments, role);
END
$$;

COMMENT ON FUNCTION bloomexp.feed_problems(jsonb, oid) IS
'all problems of a feed with these arguments, if the role owns it: a sentence for each, with the '
'remedy; reads catalogs only';
