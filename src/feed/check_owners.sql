
	-- Whose names the script uses: the functions of the feed run with the rights of its owner.  The owner of a schema, and
	-- roles that may create in it, decide what its names mean.  The owner of a type has its casts run; the owner of a table
	-- can change its types.
	DECLARE
		is_super boolean := (SELECT r.rolsuper FROM pg_roles r WHERE r.oid = role);
		-- superusers and the role; for a role that is no superuser, the owner of the database, too
		trusted oid[] := ARRAY(
			SELECT r.oid FROM pg_roles r, pg_database d JOIN pg_roles dba ON dba.oid = d.datdba
			WHERE d.datname = current_database()
				AND (r.rolsuper OR r.oid = role OR NOT is_super AND r.oid = d.datdba
					OR r.rolname = 'pg_database_owner' AND (dba.rolsuper OR dba.oid = role OR NOT is_super)));
		owned record;
		creators text;
	BEGIN
		schemas := ARRAY(
			SELECT n.oid FROM pg_namespace n
			WHERE n.nspname <> 'pg_catalog' AND (n.oid = ANY (schemas) OR n.oid IN (schema_oid, exposures.schema_oid, extension.schema_oid)
				OR n.oid IN (SELECT t.typnamespace FROM pg_type t WHERE t.oid = ANY (types))));
		FOR owned IN
			SELECT 'schema ' || quote_ident(n.nspname) AS name, n.nspowner AS owner, n.nspacl AS acl, n.oid = extension.schema_oid AS is_extension
			FROM pg_namespace n WHERE n.oid = ANY (schemas)
			UNION ALL SELECT 'type ' || format_type(t.oid, NULL), t.typowner, NULL, false FROM pg_type t
			WHERE t.oid = ANY (types) AND (t.typtype = 'd' OR t.typcategory <> 'A')
			UNION ALL SELECT 'table ' || c.oid::regclass, c.relowner, NULL, NULL FROM pg_class c WHERE c.oid = ANY (tree)
			UNION ALL SELECT 'routine ' || p.oid::regprocedure, p.proowner, NULL, true FROM pg_proc p
			WHERE p.pronamespace = schema_oid AND p.proowner <> existing_owner
				OR p.pronamespace = extension.schema_oid AND p.proname ~ '^bloom_'	-- whoever may create there today, calls may find it
			UNION ALL SELECT 'operator ' || min(o.oid)::regoperator, o.oprowner, NULL, true FROM pg_operator o
			WHERE o.oprnamespace = ANY (schemas) GROUP BY o.oprnamespace, o.oprowner	-- likewise: one for a domain, say, fits better
		LOOP
			IF owned.owner <> ALL (trusted) OR owned.is_extension IS NULL AND NOT pg_has_role(owned.owner, role, 'USAGE') THEN
				problems := problems || format('%s belongs to role %I, who could run code with your rights by replacing it%s.',
					upper(left(owned.name, 1)) || substr(owned.name, 2), pg_get_userbyid(owned.owner),
					CASE WHEN owned.name ~ '^(routine|operator) ' THEN ': DROP ' || owned.name
					WHEN owned.is_extension THEN ': install bloomexp in a schema that only trusted roles can create in'
					WHEN pg_has_role(role, owned.owner, 'MEMBER') THEN format(': SET ROLE %I first, and the feed belongs to that role', pg_get_userbyid(owned.owner))
					ELSE ': its owner can make the feed' END);
			END IF;
			SELECT string_agg(CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END, ', ') INTO creators
			FROM aclexplode(owned.acl) AS a WHERE a.privilege_type = 'CREATE' AND a.grantee <> ALL (trusted);
			IF creators IS NOT NULL THEN
				problems := problems || format('Others may create functions and tables in %s, and so run code with your rights: '
					'REVOKE CREATE ON %s FROM %s%s.', owned.name, upper(left(owned.name, 6)) || substr(owned.name, 7), creators,
					CASE WHEN owned.is_extension THEN ', or install bloomexp in a schema that only trusted roles can create in' END);
			END IF;
		END LOOP;
	END;
