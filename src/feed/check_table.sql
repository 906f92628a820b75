
	-- The table of exposures, and what triggers and Citus can do with it.
	SELECT c.oid, c.relkind, c.relpersistence, c.relispartition, format('%I.%I', n.nspname, c.relname) AS name, n.oid AS schema_oid
	INTO exposures FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE c.oid = CASE WHEN of_table THEN to_regclass(argument.exposures) END;
	IF of_table AND NOT FOUND THEN
		problems := problems || format('Table %s does not exist.', argument.exposures);
	ELSIF of_table THEN
		tree := ARRAY(
			WITH RECURSIVE t(oid) AS (
				SELECT exposures.oid UNION SELECT x.oid FROM t, LATERAL (
					SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = t.oid
					UNION ALL SELECT d.refobjid FROM pg_class c JOIN pg_rewrite r ON r.ev_class = c.oid
					JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
					WHERE c.oid = t.oid AND c.relkind = 'v') AS x(oid))
			SELECT t.oid FROM t ORDER BY t.oid::regclass::text);
		IF exposures.relpersistence = 't' THEN
			problems := problems || format('%s is temporary: a feed would outlive it.', exposures.name);
		ELSIF exposures.relkind NOT IN ('r', 'p') AND (argument.mode = 'trigger' OR exposures.relkind NOT IN ('v', 'm', 'f')) THEN
			problems := problems || format('%s is not a table%s', exposures.name,
				CASE WHEN exposures.relkind IN ('v', 'm', 'f') THEN ': views and foreign tables need mode => ''log''.' ELSE '.' END);
		END IF;
		IF (SELECT c.relrowsecurity AND NOT r.rolsuper AND NOT r.rolbypassrls
				AND (c.relforcerowsecurity OR NOT pg_has_role(role, c.relowner, 'USAGE'))
				FROM pg_class c, pg_roles r WHERE c.oid = exposures.oid AND r.oid = role) THEN
			problems := problems || format('Row-level security on %s would hide exposures from the feed: its owner must be '
				'the owner of the table, without FORCE ROW LEVEL SECURITY, or have BYPASSRLS.', exposures.name);
		END IF;
		problems := problems || ARRAY(
			SELECT format('Trigger %I of %s would be replaced: rename it, or choose another name for the feed.',
				t.tgname, t.tgrelid::regclass)
			FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
			WHERE t.tgrelid = ANY (tree)
				AND t.tgname IN (('insert_' || argument.feed)::name, ('update_' || argument.feed)::name)
				AND (p.pronamespace = schema_oid AND p.proname = 'track') IS NOT TRUE
			ORDER BY t.tgrelid::regclass::text, t.tgname);
	END IF;

	IF argument.mode = 'trigger' AND exposures.relkind IN ('r', 'p') THEN
		IF exposures.relispartition THEN
			problems := problems || format('%s is a partition, and an INSERT into its root fires no trigger of it: '
				'make the feed of the root, or use mode => ''log''.', exposures.name);
		END IF;
		IF NOT has_table_privilege(role, exposures.oid, 'TRIGGER') THEN
			problems := problems || format('You may not create triggers on %s: GRANT TRIGGER ON %1$s TO %I.',
				exposures.name, pg_get_userbyid(role));
		END IF;
		problems := problems || ARRAY(
			SELECT format('%s is filled by a subscription, which fires no statement triggers: use mode => ''log''.', s.srrelid::regclass)
			FROM pg_subscription_rel s WHERE s.srrelid = ANY (tree) ORDER BY 1);
		problems := problems || ARRAY(
			SELECT format('%s is a foreign table, into which inserts would fail with a trigger on its parent: use mode => ''log''.',
				c.oid::regclass)
			FROM pg_class c WHERE c.oid = ANY (tree) AND c.relkind = 'f' ORDER BY 1);
	END IF;

	-- The catalogs of Citus are in pg_catalog.
	IF of_table AND EXISTS (SELECT FROM pg_extension x WHERE x.extname = 'citus') THEN
		EXECUTE 'SELECT CASE WHEN p.repmodel = ''t'' THEN ''a reference table'' '
			'WHEN p.partmethod = ''h'' THEN column_to_column_name(p.logicalrelid, p.partkey) END '
			'FROM pg_dist_partition p WHERE p.logicalrelid = $1' INTO distribution USING exposures.oid::regclass;
		EXECUTE 'SELECT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = to_regclass($1))'
			INTO filters_distributed USING quote_ident(argument.feed) || '.filters';
		IF distribution IS NOT NULL AND argument.mode <> 'log' THEN
			problems := problems || format('%s is distributed, and triggers of distributed tables deadlock: use mode => ''log''.',
				exposures.name);
		ELSIF distribution <> argument.user_column THEN
			problems := problems || format('%s is distributed by %s: it must be distributed by the user column %I.',
				exposures.name, distribution, argument.user_column);
		END IF;
	END IF;
