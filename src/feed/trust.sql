-- Trust: whose code may run with the rights of the owner of a feed.

CREATE FUNCTION bloomexp.trusted(role oid, owner oid) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT coalesce(pg_has_role(role, owner, 'USAGE'), false) $$;

COMMENT ON FUNCTION bloomexp.trusted(oid, oid) IS
'whether code of a role may run with the rights of an owner: only if the role has these rights '
'anyway';

CREATE FUNCTION bloomexp.trusted_with_schema(role oid, owner oid) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT bloomexp.trusted(coalesce(o.oid, role), owner)
		OR coalesce(o.oid, role) = d.datdba
			AND NOT (SELECT r.rolsuper FROM pg_roles AS r WHERE r.oid = owner)
	FROM pg_database AS d
	LEFT JOIN pg_roles AS p ON p.oid = role AND p.rolname = 'pg_database_owner'
	LEFT JOIN pg_roles AS o ON o.oid = CASE WHEN p.oid IS NOT NULL THEN d.datdba END
	WHERE d.datname = current_database()
$$;

COMMENT ON FUNCTION bloomexp.trusted_with_schema(oid, oid) IS
'whether the owner of a feed trusts a role that can create objects in a schema: if '
'bloomexp.trusted() does, or if the role owns the database and the owner of '
'the feed is not a superuser';

CREATE FUNCTION bloomexp.tables_of(relation regclass) RETURNS SETOF regclass
LANGUAGE plpgsql STABLE PARALLEL SAFE	-- not SQL, because PL/pgSQL keeps the plan
ROWS 10	-- the planner sizes the hash tables of untrusted() by this
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
		WITH RECURSIVE read(oid) AS (	-- the relation, and what it reads if it is a view
			SELECT relation::oid
			UNION SELECT d.refobjid
			FROM read AS t
			JOIN pg_class AS v ON v.oid = t.oid AND v.relkind = 'v'
			JOIN pg_rewrite AS r ON r.ev_class = v.oid
			JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
				AND d.refclassid = 'pg_class'::regclass),
		tree(oid) AS (
			SELECT r.oid FROM read AS r
			UNION SELECT i.inhrelid FROM tree AS t JOIN pg_inherits AS i ON i.inhparent = t.oid)
		SELECT t.oid::regclass FROM tree AS t WHERE t.oid IS NOT NULL;
END
$$;

COMMENT ON FUNCTION bloomexp.tables_of(regclass) IS
'the relation and its partitions or children; for a view also the relations that it reads, and '
'theirs';

CREATE FUNCTION bloomexp.require_trusted(relation regclass, missing_ok boolean DEFAULT false)
RETURNS void
AS 'MODULE_PATHNAME', 'bloomexp_require_trusted'
LANGUAGE C STABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.require_trusted(regclass, boolean) IS
'raises an error unless the owner of a relation has the rights of the current user: that owner '
'decides what code runs when the relation is read. Locks the relation if the current user can '
'read it, so that no other relation gets its name before the read. With missing_ok it takes no '
'lock, and accepts a relation that was dropped';

CREATE FUNCTION bloomexp.require_not_rewritten(relation regclass) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- pg_class is read with the snapshot of the statement, and pg_relation_filenode() returns the
	-- file of now.
	rewritten constant regclass := (
		SELECT c.oid FROM bloomexp.tables_of(relation) AS t JOIN pg_class AS c ON c.oid = t
		WHERE c.relfilenode <> pg_relation_filenode(c.oid) LIMIT 1);
BEGIN
	IF rewritten IS NOT NULL THEN
		RAISE EXCEPTION 'table % was rewritten while this statement waited for it', rewritten
			USING ERRCODE = 'serialization_failure',
			HINT = 'Run the transaction again.';
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.require_not_rewritten(regclass) IS
'raises an error if a relation, or one that tables_of() returns for it, got another file after the '
'snapshot of the statement was taken: after ALTER TABLE or TRUNCATE that snapshot sees none of the '
'rows. The caller has read the relation, and so has locked it';

CREATE FUNCTION bloomexp.other_types(schema oid) RETURNS SETOF text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH own(oid) AS (	-- union() returns the type itself, whatever it is called
		SELECT p.prorettype FROM pg_proc AS p WHERE p.oid = 'bloomexp.union'::regproc)
	SELECT format('column items of %s is of type %s, not of the extension''s',
		a.attrelid::regclass, format_type(a.atttypid, NULL))
	FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'items'
	WHERE c.relnamespace = schema AND c.relname = 'filters'
		AND NOT a.attisdropped AND a.atttypid <> (SELECT oid FROM own)
	UNION ALL SELECT format('function %s returns type %s, not that of the extension',
		p.oid::regprocedure, format_type(t.oid, NULL))
	FROM pg_proc AS p
	CROSS JOIN unnest(coalesce(p.proallargtypes, ARRAY[p.prorettype])) AS t(oid)
	WHERE p.pronamespace = schema AND (p.proname = 'current' OR p.proname = 'shown')
		AND p.prosecdef AND t.oid <> (SELECT oid FROM own)
		AND (p.proname = 'current' OR t.oid = p.proallargtypes[2])
$$;

COMMENT ON FUNCTION bloomexp.other_types(oid) IS
'a sentence for each column and function of a feed whose type bloom is not that of the extension: '
'somebody may have renamed that type and created another one of its name';

CREATE FUNCTION bloomexp.untrusted(owner oid, feed text, exposures regclass, types oid[],
	user_collation oid)	-- 0: users have no collation
RETURNS SETOF text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	-- "uses" has the objects whose code runs when the exposures are read.  First come their tables,
	-- and the partition keys of tables above them; then what these use in turn, as far as PostgreSQL
	-- records it: what views name; the types of the columns of foreign tables, whose values are made
	-- here; CHECK constraints, partition keys, indexes and statistics, of which the planner evaluates
	-- what is constant; what functions and operators use; and the parts and constraints of types.
	WITH RECURSIVE uses(class, oid) AS (
		(SELECT 'pg_class'::regclass::oid, t::oid FROM bloomexp.tables_of(exposures) AS t
		UNION ALL SELECT d.refclassid, d.refobjid
		FROM pg_partition_ancestors(exposures) AS a
		JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = a.relid
			AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass))
		UNION SELECT n.class, n.oid
		FROM uses AS u
		CROSS JOIN LATERAL (
			SELECT d.refclassid, d.refobjid FROM pg_depend AS d
			WHERE d.classid = u.class AND d.objid = u.oid AND u.class IN ('pg_proc'::regclass,
				'pg_operator'::regclass, 'pg_constraint'::regclass, 'pg_rewrite'::regclass)
			UNION ALL SELECT 'pg_rewrite'::regclass, r.oid
			FROM pg_class AS v JOIN pg_rewrite AS r ON r.ev_class = v.oid
			WHERE u.class = 'pg_class'::regclass AND v.oid = u.oid AND v.relkind = 'v'
			UNION ALL SELECT 'pg_class'::regclass, i.inhrelid FROM pg_inherits AS i
			WHERE u.class = 'pg_class'::regclass AND i.inhparent = u.oid
			UNION ALL SELECT 'pg_type'::regclass, a.atttypid
			FROM pg_foreign_table AS f JOIN pg_attribute AS a ON a.attrelid = f.ftrelid
			WHERE u.class = 'pg_class'::regclass AND f.ftrelid = u.oid AND a.attnum > 0
				AND NOT a.attisdropped
			UNION ALL SELECT 'pg_constraint'::regclass, k.oid FROM pg_constraint AS k
			WHERE u.class = 'pg_class'::regclass AND k.conrelid = u.oid AND k.contype = 'c'
			UNION ALL SELECT d.refclassid, d.refobjid
			FROM (SELECT 'pg_class'::regclass, u.oid	-- a partition key
				UNION ALL SELECT 'pg_class'::regclass, x.indexrelid
				FROM pg_index AS x WHERE x.indrelid = u.oid
				UNION ALL SELECT 'pg_statistic_ext'::regclass, x.oid
				FROM pg_statistic_ext AS x WHERE x.stxrelid = u.oid) AS e(class, oid)
			JOIN pg_depend AS d ON d.classid = e.class AND d.objid = e.oid
				AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
			WHERE u.class = 'pg_class'::regclass
			UNION ALL SELECT 'pg_type'::regclass, p.oid
			FROM pg_type AS t
			CROSS JOIN LATERAL (
				SELECT t.typbasetype	-- of a domain
				UNION ALL SELECT t.typelem	-- of an array
				UNION ALL SELECT a.atttypid	-- of a composite
				FROM pg_attribute AS a
				WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
				UNION ALL SELECT g.rngsubtype	-- of a range or a multirange
				FROM pg_range AS g WHERE t.oid IN (g.rngtypid, g.rngmultitypid)) AS p(oid)
			WHERE u.class = 'pg_type'::regclass AND t.oid = u.oid AND p.oid <> 0
			UNION ALL SELECT 'pg_constraint'::regclass, k.oid FROM pg_constraint AS k
			WHERE u.class = 'pg_type'::regclass AND k.contypid = u.oid) AS n(class, oid)),
	filters(oid) AS (
		SELECT c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE n.nspname = feed AND c.relname = 'filters'),
	schemas(oid) AS (
		SELECT n.oid FROM pg_namespace AS n WHERE n.nspname IN (feed, 'bloomexp')
		UNION SELECT c.relnamespace FROM pg_class AS c WHERE c.oid = exposures
		UNION SELECT t.typnamespace FROM pg_type AS t WHERE t.oid = ANY (types)
		UNION SELECT o.oprnamespace	-- of the operators that compare users
		FROM pg_opclass AS k JOIN pg_amop AS p ON p.amopfamily = k.opcfamily
		JOIN pg_operator AS o ON o.oid = p.amopopr
		WHERE k.opcintype = ANY (types) AND k.opcdefault
		UNION SELECT l.collnamespace FROM pg_collation AS l WHERE l.oid = user_collation
		EXCEPT SELECT 'pg_catalog'::regnamespace),
	owned(n, name, role, trusted, remedy) AS (
		SELECT 1, 'schema ' || quote_ident(n.nspname), n.nspowner,
			bloomexp.trusted_with_schema(n.nspowner, owner), NULL
		FROM schemas AS s JOIN pg_namespace AS n USING (oid)
		UNION ALL SELECT 2, 'type ' || format_type(t.oid, NULL), t.typowner,
			bloomexp.trusted(t.typowner, owner), NULL
		FROM pg_type AS t LEFT JOIN pg_type AS e ON e.oid = t.typelem
		WHERE t.oid = ANY (types)
			OR t.oid IN (SELECT u.oid FROM uses AS u WHERE u.class = 'pg_type'::regclass)
			AND coalesce(e.typtype, t.typtype) <> 'e'	-- an enum has no code
		UNION ALL SELECT 3, 'table ' || c.oid::regclass, c.relowner,
			bloomexp.trusted(c.relowner, owner),
			-- do not advise a superuser to run code that the role has written
			CASE WHEN pg_has_role(owner, c.relowner, 'MEMBER')
				AND NOT (SELECT r.rolsuper FROM pg_roles AS r WHERE r.oid = owner)
				THEN format(': SET ROLE %I first, and the feed belongs to that role',
					pg_get_userbyid(c.relowner)) END
		FROM pg_class AS c
		WHERE c.oid IN (SELECT a.relid FROM pg_partition_ancestors(exposures) AS a
			UNION SELECT u.oid FROM uses AS u WHERE u.class = 'pg_class'::regclass)
		UNION ALL SELECT 4, 'routine ' || p.oid::regprocedure, p.proowner,
			bloomexp.trusted(p.proowner, owner),
			-- Routines of somebody else's feed, or in somebody else's schema, are in use: do not
			-- advise to drop them.
			CASE WHEN bloomexp.trusted_with_schema(n.nspowner, owner)
				AND p.proowner IS DISTINCT FROM (SELECT s.proowner FROM pg_proc AS s
					WHERE s.pronamespace = n.oid AND s.proname = 'settings' AND s.pronargs = 0)
				THEN ': DROP ROUTINE ' || p.oid::regprocedure END
		FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace WHERE n.nspname = feed
		UNION ALL SELECT 5, 'relation ' || c.oid::regclass, c.relowner,
			bloomexp.trusted(c.relowner, owner), NULL
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE n.nspname = feed AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
		UNION ALL SELECT 6, 'operator ' || min(o.oid)::regoperator, o.oprowner,
			bloomexp.trusted(o.oprowner, owner),
			': DROP OPERATOR ' || min(o.oid)::regoperator	-- can fit better than ours
		FROM schemas AS s JOIN pg_operator AS o ON o.oprnamespace = s.oid
		GROUP BY o.oprnamespace, o.oprowner
		UNION ALL SELECT 7, 'function ' || p.oid::regprocedure, p.proowner,
			bloomexp.trusted(p.proowner, owner), NULL
		FROM uses AS u JOIN pg_proc AS p ON u.class = 'pg_proc'::regclass AND p.oid = u.oid
		UNION ALL SELECT 8, 'collation ' || l.oid::regcollation, l.collowner,
			bloomexp.trusted(l.collowner, owner), NULL
		FROM pg_collation AS l
		WHERE l.oid = user_collation AND l.collnamespace <> 'pg_catalog'::regnamespace
		UNION ALL SELECT 9, format('trigger %I on %s', g.tgname, g.tgrelid::regclass), p.proowner,
			bloomexp.trusted(p.proowner, owner),
			format(': DROP TRIGGER %I ON %s', g.tgname, g.tgrelid::regclass)
		FROM filters AS f JOIN pg_trigger AS g ON g.tgrelid = f.oid AND NOT g.tgisinternal
		JOIN pg_proc AS p ON p.oid = g.tgfoid)
	SELECT p.problem FROM (
		SELECT o.n, o.name, format('%s belongs to role %I, who could run code with the rights '
			'of the feed''s owner by replacing it%s.',
			upper(left(o.name, 1)) || substr(o.name, 2), pg_get_userbyid(o.role),
			coalesce(o.remedy, ': change its owner, or let that role make the feed')) AS problem
		FROM owned AS o WHERE NOT o.trusted
		UNION ALL
		SELECT 10, n.nspname, format('Others may create functions and tables in schema %I, and so '
			'run code with the rights of the feed''s owner: '
			'REVOKE CREATE ON SCHEMA %1$I FROM %s.', n.nspname,
			string_agg(CASE a.grantee WHEN 0 THEN 'PUBLIC'
				ELSE quote_ident(pg_get_userbyid(a.grantee)) END, ', '))
		FROM schemas AS s JOIN pg_namespace AS n USING (oid), aclexplode(n.nspacl) AS a
		WHERE a.privilege_type = 'CREATE' AND NOT bloomexp.trusted_with_schema(a.grantee, owner)
		GROUP BY n.nspname
		UNION ALL
		SELECT 11, r.rulename, format(
			'Rule %I on %s runs with the rights of the feed''s owner: DROP RULE %1$I ON %2$s.',
			r.rulename, r.ev_class::regclass)
		FROM filters AS f JOIN pg_rewrite AS r ON r.ev_class = f.oid
		UNION ALL
		SELECT 11, g.tgname, format('The condition of trigger %I on %s runs with the rights of the '
			'feed''s owner: '
			'DROP TRIGGER %1$I ON %2$s.', g.tgname, g.tgrelid::regclass)
		FROM filters AS f JOIN pg_trigger AS g ON g.tgrelid = f.oid
		WHERE NOT g.tgisinternal AND g.tgqual IS NOT NULL
		UNION ALL
		SELECT 12, k.conname, format('Foreign key %I of %s keeps rows of %s from being removed: '
			'ALTER TABLE %2$s DROP CONSTRAINT %1$I.',
			k.conname, k.conrelid::regclass, k.confrelid::regclass)
		FROM filters AS f JOIN pg_constraint AS k ON k.confrelid = f.oid AND k.contype = 'f'
		JOIN pg_class AS c ON c.oid = k.conrelid
		WHERE NOT bloomexp.trusted(c.relowner, owner)) AS p
	ORDER BY p.n, p.name
$$;

COMMENT ON FUNCTION bloomexp.untrusted(oid, text, regclass, oid[], oid) IS
'the objects that a feed of this name would name or run, although a role without the rights of '
'the feed''s owner owns them or can replace them: a sentence for each, with the remedy. exposures: '
'NULL for a feed without a table; types: those of users and items';
