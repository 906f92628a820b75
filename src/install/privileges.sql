-- Everybody may use the type and call the functions, also where ALTER DEFAULT PRIVILEGES has taken
-- these rights from PUBLIC.

CREATE PROCEDURE bloomexp.grant_to_public()
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	missing text;
BEGIN
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
	LOOP
		EXECUTE format('GRANT %s TO PUBLIC', missing);
	END LOOP;
END
$$;

COMMENT ON PROCEDURE bloomexp.grant_to_public() IS
'lets everybody use the types and routines of the extension';

CALL bloomexp.grant_to_public();
