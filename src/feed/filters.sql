DO {$}
BEGIN	-- a schema or table that another role has made could run its code with your rights
	IF EXISTS (
		SELECT FROM pg_catalog.pg_namespace AS n LEFT JOIN pg_catalog.pg_class AS c ON c.relnamespace OPERATOR(pg_catalog.=) n.oid
		WHERE n.nspname OPERATOR(pg_catalog.=) {feed_literal} AND NOT (pg_catalog.pg_has_role(n.nspowner, current_user, 'MEMBER')
			AND (c.relowner IS NULL OR pg_catalog.pg_has_role(c.relowner, current_user, 'MEMBER')))) THEN
		RAISE EXCEPTION 'schema % or a table in it belongs to another role', {feed_literal} USING ERRCODE = 'insufficient_privilege';
	END IF;
	IF pg_catalog.to_regnamespace({quoted_feed_literal}) IS NULL THEN
		CREATE SCHEMA {feed};
	END IF;
END
{$};
CREATE TABLE IF NOT EXISTS {feed}.filters (
	user_id {user_column_type} PRIMARY KEY,
	items {bloom}.bloom,
	filled_until timestamp with time zone	-- the filter has all exposures before this time
) WITH (fillfactor = 50, toast_tuple_target = 8160);	-- room for HOT updates; filters of up to 8 kB stay in their row
REVOKE ALL ON {feed}.filters FROM {grantees};
{distribute}
{retyped}
