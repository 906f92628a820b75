
-- What this script has made belongs to its owner alone, whatever the default privileges are;
-- what existed before keeps its grants.
DO {$}
DECLARE
	path pg_catalog.text := pg_catalog.current_setting('search_path');
	existing pg_catalog.oid[];
	made pg_catalog.record;
BEGIN
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	existing := coalesce(NULLIF(current_setting('bloomexp.existing', true), '')::oid[], ARRAY[]::oid[]);
	FOR made IN
		SELECT o.name, string_agg(DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END, ', ') AS grantees
		FROM (
			SELECT p.oid, 'ROUTINE ' || p.oid::regprocedure AS name, p.pronamespace AS schema_oid, p.proowner AS owner, coalesce(p.proacl, acldefault('f', p.proowner)) AS acl FROM pg_proc AS p
			UNION ALL SELECT c.oid, 'TABLE ' || c.oid::regclass, c.relnamespace, c.relowner, c.relacl FROM pg_class AS c WHERE c.relkind IN ('r', 'v')) AS o, aclexplode(o.acl) AS a
		WHERE o.schema_oid = to_regnamespace({quoted_feed_literal}) AND o.oid <> ALL (existing) AND a.grantee <> o.owner
		GROUP BY o.name
	LOOP
		EXECUTE format('REVOKE ALL ON %s FROM %s', made.name, made.grantees);
	END LOOP;
	PERFORM set_config('bloomexp.existing', '', false);
	PERFORM set_config('search_path', path, true);
END
{$};
