-- Privileges that do not depend on the default privileges: everybody may use the type and call the
-- functions, and only the owner may create in the schema bloomexp.

CREATE PROCEDURE bloomexp.set_privileges()
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	missing text;
	others record;
BEGIN
	FOR others IN
		SELECT o.name, string_agg(DISTINCT o.privilege_type, ', ') AS privileges,
			CASE o.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(o.grantee)) END
				AS grantee
		FROM (
			SELECT 'SCHEMA bloomexp', a.privilege_type, a.grantee
			FROM pg_namespace AS n, aclexplode(n.nspacl) AS a
			WHERE n.nspname = 'bloomexp' AND a.grantee <> n.nspowner AND a.privilege_type <> 'USAGE'
			UNION ALL SELECT 'TABLE bloomexp.new_rows', a.privilege_type, a.grantee
			FROM pg_class AS c, aclexplode(c.relacl) AS a
			WHERE c.oid = 'bloomexp.new_rows'::regclass AND a.grantee <> c.relowner
				AND NOT (a.grantee = 0 AND a.privilege_type = 'SELECT')
			-- only functions use it; a typed table (CREATE TABLE OF) would block ADD ATTRIBUTE
			UNION ALL SELECT 'TYPE bloomexp.row_settings', a.privilege_type, a.grantee
			FROM pg_type AS t, aclexplode(coalesce(t.typacl, acldefault('T', t.typowner))) AS a
			WHERE t.oid = 'bloomexp.row_settings'::regtype AND a.grantee <> t.typowner)
			AS o(name, privilege_type, grantee)
		GROUP BY o.name, o.grantee
	LOOP
		EXECUTE format('REVOKE %s ON %s FROM %s', others.privileges, others.name, others.grantee);
	END LOOP;
	-- whoever makes or maintains a feed locks this table, to keep the extension from being dropped
	GRANT SELECT ON bloomexp.new_rows TO PUBLIC;
	FOR missing IN
		WITH members AS (
			SELECT d.classid, d.objid FROM pg_depend AS d
			JOIN pg_extension AS x ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = x.oid
			WHERE x.extname = 'bloomexp' AND d.deptype = 'e')
		SELECT format('EXECUTE ON ROUTINE %s', p.oid::regprocedure)
		FROM members AS m JOIN pg_proc AS p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
		WHERE NOT has_function_privilege('public', p.oid, 'EXECUTE')
		UNION ALL SELECT format('USAGE ON TYPE %s', t.oid::regtype)
		FROM members AS m JOIN pg_type AS t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid
		WHERE t.typelem = 0 AND NOT has_type_privilege('public', t.oid, 'USAGE')
			AND t.oid <> 'bloomexp.row_settings'::regtype
	LOOP
		EXECUTE format('GRANT %s TO PUBLIC', missing);
	END LOOP;
END
$$;

COMMENT ON PROCEDURE bloomexp.set_privileges() IS
'lets everybody use the routines of the extension and its types, except row_settings, and only '
'the owner create in the schema bloomexp';

CALL bloomexp.set_privileges();
