--- start
DO {$}
DECLARE
	path pg_catalog.text := pg_catalog.current_setting('search_path');
	schema_oid pg_catalog.oid;
	settings pg_catalog.record;	-- of the feed as it is
	changeable pg_catalog.name;
BEGIN
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	SELECT n.oid INTO schema_oid FROM pg_namespace AS n WHERE n.nspname = {feed_literal};

	-- The owners of the schema, of its tables and of its functions could run code with your rights:
	-- they must have these rights already.
	IF EXISTS (
		SELECT FROM (SELECT n.nspowner FROM pg_namespace AS n WHERE n.oid = schema_oid
			UNION ALL SELECT c.relowner FROM pg_class AS c WHERE c.relnamespace = schema_oid
			UNION ALL SELECT p.proowner FROM pg_proc AS p WHERE p.pronamespace = schema_oid) AS o(owner)
		WHERE NOT pg_has_role(o.owner, current_user, 'USAGE')) THEN
		RAISE EXCEPTION 'schema % or something in it belongs to another role', {feed_literal} USING ERRCODE = 'insufficient_privilege';
	END IF;
	-- Whoever owns a schema that is named here, may create in it, or did, decides what names in it mean.
	SELECT n.nspname INTO changeable
	FROM pg_database AS d, pg_roles AS me, pg_namespace AS n
	CROSS JOIN LATERAL (SELECT n.nspowner UNION SELECT a.grantee FROM aclexplode(n.nspacl) AS a WHERE a.privilege_type = 'CREATE'
		UNION SELECT p.proowner FROM pg_proc AS p JOIN pg_extension AS x ON x.extname = 'bloomexp' AND x.extnamespace = p.pronamespace
		WHERE p.pronamespace = n.oid AND p.proname ~ '^bloom_'
		UNION SELECT p.oprowner FROM pg_operator AS p WHERE p.oprnamespace = n.oid) AS a(role)
	LEFT JOIN pg_roles AS r ON r.oid = a.role	-- none: PUBLIC
	CROSS JOIN LATERAL (SELECT CASE r.rolname WHEN 'pg_database_owner' THEN d.datdba ELSE r.oid END) AS o(role)
	WHERE d.datname = current_database() AND me.rolname = current_user AND n.nspname = ANY ({schemas_literal}::name[])
		AND (pg_has_role(o.role, current_user, 'USAGE') OR o.role = d.datdba AND NOT me.rolsuper) IS NOT TRUE LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'schema % can be changed by a role without the rights of the owner of feed %', changeable, {feed_literal}
			USING ERRCODE = 'insufficient_privilege', HINT = 'Call bloom_feed_sql() as this owner: it says what to do.';
	END IF;
{require_trusted}

	-- What the filters of a feed are made for cannot change.
	SELECT p.prosrc AS source, EXISTS (SELECT FROM aclexplode(p.proacl) AS a WHERE a.grantee = p.proowner AND a.is_grantable) AS complete
	INTO settings
	FROM pg_proc AS p WHERE p.pronamespace = schema_oid AND p.proname = 'settings' AND p.pronargs = 0;
	IF position(E'\n-- kind: ' || {kind_literal} || E'\n' IN settings.source) = 0 THEN
		RAISE EXCEPTION 'feed % is of another kind', {feed_literal} USING ERRCODE = 'wrong_object_type',
			DETAIL = format('It was made for %s, not for %s.', substring(settings.source FROM E'\n-- kind: ([^\n]*)'), {kind_literal}),
			HINT = 'Make another feed, and drop this one when requests use that.';
	END IF;

	-- What exists keeps the privileges that you have granted; see the end of this script.  When it
	-- has come to its end once, settings() says so by a privilege; before, nothing has been granted.
	PERFORM set_config('bloomexp.existing', (
		SELECT coalesce(array_agg(o.id), ARRAY[]::text[])::text
		FROM (SELECT 'pg_proc ' || p.oid FROM pg_proc AS p WHERE p.pronamespace = schema_oid
			UNION ALL SELECT 'pg_class ' || c.oid FROM pg_class AS c WHERE c.relnamespace = schema_oid) AS o(id)
		WHERE settings.complete), false);
	IF schema_oid IS NULL THEN	-- nobody else comes near what this script makes, whatever the default privileges are
		CREATE SCHEMA {feed};
		EXECUTE format('REVOKE ALL ON SCHEMA %s FROM %s', {quoted_feed_literal}, concat_ws(', ', 'PUBLIC', (
			SELECT string_agg(quote_ident(pg_get_userbyid(a.grantee)), ', ')
			FROM pg_namespace AS n, aclexplode(n.nspacl) AS a WHERE n.nspname = {feed_literal} AND a.grantee NOT IN (0, n.nspowner))));
	END IF;
	PERFORM set_config('search_path', path, true);
END
{$};

-- What this feed was made with, for bloom_feeds(), which reads the comments and calls nothing.
CREATE OR REPLACE FUNCTION {feed}.settings() RETURNS pg_catalog.void LANGUAGE sql AS {$}
-- bloomexp {version}
-- kind: {kind}
{settings}{$};

--- rights
-- What this script has made belongs to its owner alone, whatever the default privileges are;
-- what existed before keeps its grants.
DO {$}
DECLARE
	path pg_catalog.text := pg_catalog.current_setting('search_path');
	existing pg_catalog.text[];
	made pg_catalog.record;
BEGIN
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	existing := coalesce(NULLIF(current_setting('bloomexp.existing', true), '')::text[], ARRAY[]::text[]);
	FOR made IN
		SELECT o.name, string_agg(DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END, ', ') AS grantees
		FROM (
			SELECT 'pg_proc ' || p.oid AS id, 'ROUTINE ' || p.oid::regprocedure AS name, p.pronamespace AS schema_oid, p.proowner AS owner, coalesce(p.proacl, acldefault('f', p.proowner)) AS acl FROM pg_proc AS p
			UNION ALL SELECT 'pg_class ' || c.oid, 'TABLE ' || c.oid::regclass, c.relnamespace, c.relowner, c.relacl FROM pg_class AS c WHERE c.relkind IN ('r', 'v')) AS o, aclexplode(o.acl) AS a
		WHERE o.schema_oid = to_regnamespace({quoted_feed_literal}) AND o.id <> ALL (existing) AND a.grantee <> o.owner
		GROUP BY o.name
	LOOP
		EXECUTE format('REVOKE ALL ON %s FROM %s', made.name, made.grantees);
	END LOOP;
	-- The script has come to its end: an option that the owner has anyway says so.
	EXECUTE (SELECT format('GRANT EXECUTE ON FUNCTION %s TO %I WITH GRANT OPTION', p.oid::regprocedure, pg_get_userbyid(p.proowner))
		FROM pg_proc AS p WHERE p.pronamespace = to_regnamespace({quoted_feed_literal}) AND p.proname = 'settings' AND p.pronargs = 0);
	PERFORM set_config('bloomexp.existing', '', false);
	PERFORM set_config('search_path', path, true);
END
{$};

--- require_trusted table
	-- The owner of a table decides what its types, constraints and casts do when it is read.
	DECLARE
		untrusted pg_catalog.regclass;
	BEGIN
		SELECT c.oid INTO untrusted FROM pg_class AS c
		WHERE NOT pg_has_role(c.relowner, current_user, 'USAGE') AND c.oid IN ({tables}) LIMIT 1;
		IF FOUND THEN
			RAISE EXCEPTION 'table % belongs to a role without the rights of the owner of feed %', untrusted, {feed_literal}
				USING ERRCODE = 'insufficient_privilege', HINT = 'Make the feed again as the owner of the table.';
		END IF;
	END;

--- tree table
WITH RECURSIVE tree(oid, level) AS (	-- the table and its partitions or children
			SELECT {exposures_literal}::regclass::oid, 0
			UNION SELECT i.inhrelid, t.level + 1 FROM pg_inherits AS i JOIN tree AS t ON i.inhparent = t.oid)
--- tree log
WITH RECURSIVE tree(oid) AS (	-- the table and its partitions or children, and what a view reads
			SELECT {exposures_literal}::regclass::oid
			UNION SELECT s.oid FROM tree AS t, LATERAL (
				SELECT i.inhrelid FROM pg_inherits AS i WHERE i.inhparent = t.oid
				UNION ALL SELECT d.refobjid FROM pg_class AS v
				JOIN pg_rewrite AS r ON r.ev_class = v.oid
				JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
				WHERE v.oid = t.oid AND v.relkind = 'v') AS s(oid))
