--
-- The generator: writes the SQL of one feed.
--
-- bloom_feed_sql() checks what it was given, finds what the script names, and fills the
-- templates of this folder: their {names}, quoted, in one pass.  It looks into the catalogs
-- as its caller, and evaluates nothing of what it finds there.
--

CREATE FUNCTION bloom_feed_sql(
@arguments.sql
) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET IntervalStyle = postgres
SET extra_float_digits = 1
SET DateStyle = ISO
AS $function$
#variable_conflict use_column
DECLARE
	problems text[] := '{}';	-- all that is wrong, each with what to do
	-- roles that may decide what names mean: superusers and the caller; for a caller who is no
	-- superuser, the owner of the database, too
	trusted oid[] := ARRAY(
		SELECT r.oid FROM pg_roles r, pg_roles me, pg_database d JOIN pg_roles dba ON dba.oid = d.datdba
		WHERE d.datname = current_database() AND me.rolname = current_user
			AND (r.rolsuper OR r.oid = me.oid OR NOT me.rolsuper AND r.oid = d.datdba
				OR r.rolname = 'pg_database_owner' AND (dba.rolsuper OR dba.oid = me.oid OR NOT me.rolsuper)));
	schema_oid oid := (SELECT n.oid FROM pg_namespace n WHERE n.nspname = feed);
	is_feed boolean := coalesce(obj_description(schema_oid, 'pg_namespace') LIKE 'bloomexp %', false);
	extension record;
	relation record;
	tree oid[];	-- the table and its partitions or children, parents first
	types oid[] := '{}';	-- of the columns, of which these are made, too
	user_attribute record;
	item_attribute record;
	operators jsonb;	-- of the user type, by their B-tree strategy
	windowed boolean := slices IS NOT NULL;
	utc boolean;	-- the time column is a timestamp, in UTC
	distributed boolean := false;	-- by Citus
	distribution text;	-- the column by which it is
	filters_distributed boolean := false;
	in_batch constant text := E'(rebuild_batch.these IS NULL OR {who} {=} ANY (rebuild_batch.these{collate}))\n'
		'\t\t\tAND (v.was_after IS NULL OR {who} {>} v.was_after{collate}) AND (v.upto IS NULL OR {who} {<=} v.upto{collate})';
	made_by text;
	triggers text;
	hash_user text;	-- a call that hashes a user
	retyped text;	-- what an older script made for other types
	grantees text;	-- PUBLIC, and roles that get rights by default
	names jsonb;
	parts jsonb;
	template text;
	quote text := '$feed$';
	e record;
BEGIN
	IF num_nulls(feed, exposures, user_column, item_column, time_column, width, fpr, headroom, mode) > 0 THEN
		RAISE EXCEPTION 'arguments of a feed must not be null, except slices and where'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;

	-- Look up the extension and the relation.
	SELECT e.extversion AS version, quote_ident(n.nspname) AS schema, n.oid AS schema_oid INTO extension
	FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'bloomexp';

	SELECT c.oid, c.relkind, c.relpersistence, c.relispartition, quote_ident(n.nspname) || '.' || quote_ident(c.relname) AS name,
		c.relowner, n.oid AS schema_oid
	INTO relation FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = exposures;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'relation with OID % does not exist', exposures::oid USING ERRCODE = 'undefined_table';
	END IF;
	tree := ARRAY(
		WITH RECURSIVE t(oid, level) AS (
			SELECT relation.oid, 0 UNION SELECT i.inhrelid, t.level + 1 FROM pg_inherits i JOIN t ON i.inhparent = t.oid)
		SELECT t.oid FROM t GROUP BY t.oid ORDER BY min(t.level), t.oid::regclass::text);

	-- Check the arguments.
	IF feed = '' OR octet_length(feed) > 63 OR feed LIKE 'pg\_%' OR feed ~ '[[:cntrl:]]' THEN
		problems := problems || format('%L cannot be the name of a schema: it must have 1 to 63 bytes, not begin with pg_, and have no control characters.', feed);
	END IF;
	IF relation.name || user_column || item_column || time_column || coalesce("where", '') ~ '[[:cntrl:]]' THEN
		problems := problems || 'Names with control characters cannot be written into a script: rename the table or column.'::text;
	END IF;
	IF mode NOT IN ('trigger', 'log') THEN
		problems := problems || format('mode must be ''trigger'' or ''log'', not %L.', mode);
	END IF;
	IF NOT (width > interval '0' AND width <= interval '1000 years') THEN
		problems := problems || 'width must be positive, as in ''30 days'', and at most 1000 years.'::text;
	ELSIF windowed AND extract(year FROM width) * 12 + extract(month FROM width) <> 0 THEN
		problems := problems || 'width of a feed with slices must have no months: write ''30 days''.'::text;
	END IF;
	IF NOT (fpr >= 1e-7 AND fpr < 1) THEN
		problems := problems || 'fpr must be at least 0.0000001 and less than 1; 0.01 is 1%.'::text;
	END IF;
	IF NOT (headroom >= 0 AND headroom <= 1000) THEN
		problems := problems || 'headroom must be from 0 to 1000; 0.2 leaves room for 20% more items.'::text;
	END IF;
	IF windowed AND mode = 'log' THEN
		problems := problems || 'slices are for mode ''trigger'': in mode ''log'' a filter is as old as its rebuild.'::text;
	ELSIF NOT slices BETWEEN 1 AND 1000 THEN
		problems := problems || 'slices must be from 1 to 1000.'::text;
	END IF;

	-- Check the relation.
	IF relation.relpersistence = 't' THEN
		problems := problems || format('%s is temporary: a feed would outlive it.', relation.name);
	ELSIF relation.relkind NOT IN ('r', 'p') AND (mode = 'trigger' OR relation.relkind NOT IN ('v', 'm', 'f')) THEN
		problems := problems || format('%s is not a table%s', relation.name,
			CASE WHEN relation.relkind IN ('v', 'm', 'f') THEN ': views and foreign tables need mode => ''log''.' ELSE '.' END);
	END IF;

	-- Check the columns.  Their types lead through domains and arrays to one that is neither.
	FOR e IN
		SELECT w.argument, w.name, a.attnum, a.attgenerated, format_type(a.atttypid, NULL) AS type, format_type(a.atttypid, a.atttypmod) AS full_type,
			chain.types, chain.arrays, t.oid AS base, t.typtype,
			-- format_type() would make character and bit of length 1 of bpchar and bit
			CASE WHEN t.oid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'varchar'::regtype) THEN format_type(t.oid, NULL)
				ELSE quote_ident(tn.nspname) || '.' || quote_ident(t.typname) END AS base_name,
			c.collisdeterministic, coalesce(' COLLATE ' || quote_ident(n.nspname) || '.' || quote_ident(c.collname), '') AS collate_clause,
			a.attcollation <> t.typcollation AS collated
		FROM (VALUES (1, 'user_column', user_column), (2, 'item_column', item_column), (3, 'time_column', time_column), (4, 'where', "where")) AS w(n, argument, name)
		LEFT JOIN pg_attribute a ON a.attrelid = relation.oid AND a.attname = w.name AND a.attnum > 0 AND NOT a.attisdropped
		LEFT JOIN LATERAL (
			WITH RECURSIVE d(oid, level, arrays) AS (
				SELECT a.atttypid, 0, 0 UNION ALL
				SELECT CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.typelem END, d.level + 1, d.arrays + (t.typtype <> 'd')::integer
				FROM d JOIN pg_type t ON t.oid = d.oid WHERE t.typtype = 'd' OR t.typcategory = 'A')
			SELECT array_agg(d.oid ORDER BY d.level DESC) AS types, max(d.arrays) AS arrays FROM d) AS chain ON true
		LEFT JOIN pg_type t ON t.oid = chain.types[1] LEFT JOIN pg_namespace tn ON tn.oid = t.typnamespace
		LEFT JOIN pg_collation c ON c.oid = a.attcollation LEFT JOIN pg_namespace n ON n.oid = c.collnamespace
		WHERE w.name IS NOT NULL ORDER BY w.n
	LOOP
		IF e.attnum IS NULL THEN
			problems := problems || format('%s has no column %I: name the column with %s => ''…''.', relation.name, e.name, CASE e.argument WHEN 'where' THEN '"where"' ELSE e.argument END);
			CONTINUE;
		ELSIF NOT has_column_privilege(relation.oid, e.attnum, 'SELECT') THEN
			problems := problems || format('You may not read column %I: GRANT SELECT ON %s TO %I.', e.name, relation.name, current_user);
			CONTINUE;
		ELSIF e.attgenerated = 'v' AND mode = 'trigger' THEN
			problems := problems || format('Column %I is virtual, and triggers do not see its value: make it STORED, or use mode => ''log''.', e.name);
			CONTINUE;
		END IF;
		types := types || e.types;

		CASE e.argument
		WHEN 'user_column' THEN
			user_attribute := e;
			-- whatever a B-tree can order, with the operators that it orders by
			SELECT jsonb_object_agg(p.amopstrategy, format('OPERATOR(%I.%s)', n.nspname, o.oprname)) INTO operators
			FROM (
				SELECT c.opcfamily, c.opcintype
				FROM pg_opclass c
				WHERE c.opcdefault AND c.opcmethod = (SELECT m.oid FROM pg_am m WHERE m.amname = 'btree')
					AND (c.opcintype = e.base
						OR c.opcintype::regtype::text = CASE e.typtype WHEN 'e' THEN 'anyenum' WHEN 'r' THEN 'anyrange' WHEN 'm' THEN 'anymultirange' END
						OR EXISTS (SELECT FROM pg_cast k WHERE k.castsource = e.base AND k.casttarget = c.opcintype AND k.castmethod = 'b' AND k.castcontext = 'i'))
				ORDER BY c.opcintype = e.base DESC LIMIT 1) AS c
			JOIN pg_amop p ON p.amopfamily = c.opcfamily AND p.amoplefttype = c.opcintype AND p.amoprighttype = c.opcintype AND p.amoppurpose = 's'
			JOIN pg_operator o ON o.oid = p.amopopr JOIN pg_namespace n ON n.oid = o.oprnamespace;
			IF operators IS NULL OR e.arrays > 0 OR e.typtype = 'c' THEN
				problems := problems || format('User column %I has type %s: it must be a scalar type with a default B-tree operator class.', e.name, e.type);
			END IF;
			-- the function that hashes the type, if it can be called with it; else the hash of its text
			hash_user := coalesce((
				SELECT format('%I.%I(%%s)', n.nspname, p.proname)
				FROM pg_opclass c JOIN pg_amproc h ON h.amprocfamily = c.opcfamily AND h.amproclefttype = c.opcintype AND h.amprocnum = 1
				JOIN pg_proc p ON p.oid = h.amproc JOIN pg_namespace n ON n.oid = p.pronamespace
				WHERE c.opcintype = e.base AND c.opcdefault AND p.proargtypes[0] = e.base
					AND c.opcmethod = (SELECT m.oid FROM pg_am m WHERE m.amname = 'hash')), 'pg_catalog.hashtext((%s)::text)');
		WHEN 'item_column' THEN
			item_attribute := e;
			IF e.arrays > 1 OR (e.base::regtype::text IN ('smallint', 'integer', 'bigint', 'text', 'character varying', 'character', 'uuid', 'bytea')) IS NOT TRUE THEN
				problems := problems || format('Item column %I has type %s: items are smallint, integer, bigint, text, varchar, uuid or bytea, or an array of one of them.', e.name, e.type);
			ELSIF NOT e.collisdeterministic THEN
				problems := problems || format('Item column %I has a nondeterministic collation: items are compared byte by byte.', e.name);
			END IF;
		WHEN 'time_column' THEN
			utc := e.base = 'timestamp'::regtype;
			IF e.arrays > 0 OR e.base NOT IN ('timestamp'::regtype, 'timestamptz'::regtype) THEN
				problems := problems || format('Time column %I has type %s: it must be timestamp with time zone, or timestamp without, which is read as UTC. '
					'For example: ALTER TABLE %s ALTER COLUMN %I TYPE timestamptz USING … .', e.name, e.type, relation.name, e.name);
			END IF;
		WHEN 'where' THEN
			IF e.arrays > 0 OR e.base <> 'boolean'::regtype THEN
				problems := problems || format('Column %I has type %s: "where" names a boolean column. Write another condition into the script of bloom_feed_sql().', e.name, e.type);
			END IF;
		END CASE;
	END LOOP;

	-- Check whose names the script uses.  The owner of a schema, and those who may create in it,
	-- decide what its names mean, and the functions of the feed run with your rights.
	FOR e IN
		SELECT format('schema %I', n.nspname) AS what, n.nspowner AS owner, n.nspacl AS acl, n.oid = extension.schema_oid AS is_extension, n.nspname
		FROM pg_namespace n
		WHERE n.nspname <> 'pg_catalog' AND (n.oid IN (extension.schema_oid, relation.schema_oid, schema_oid)
			OR n.oid IN (SELECT t.typnamespace FROM pg_type t WHERE t.oid = ANY (types)))
		UNION ALL
		SELECT format('type %s', format_type(t.oid, NULL)), t.typowner, NULL, false, NULL FROM pg_type t WHERE t.oid = ANY (types) AND (t.typtype = 'd' OR t.typcategory <> 'A')
		UNION ALL	-- of tables the owner only, who by a change of type can have the trigger run the code of casts
		SELECT format('table %s', c.oid::regclass), c.relowner, NULL, NULL, NULL FROM pg_class c WHERE c.oid = ANY (tree)
	LOOP
		IF e.owner <> ALL (trusted) OR e.is_extension IS NULL AND NOT pg_has_role(e.owner, current_user, 'MEMBER') THEN
			problems := problems || format('%s belongs to role %I, who could run code with your rights by replacing it%s.',
				upper(left(e.what, 1)) || substr(e.what, 2), pg_get_userbyid(e.owner),
				CASE WHEN e.is_extension THEN ': ALTER EXTENSION bloomexp SET SCHEMA to one of yours'
				WHEN pg_has_role(e.owner, 'MEMBER') THEN format(': SET ROLE %I first, and the feed belongs to that role', pg_get_userbyid(e.owner))
				ELSE ': its owner can make the feed' END);
		END IF;
		IF EXISTS (SELECT FROM aclexplode(e.acl) AS a WHERE a.privilege_type = 'CREATE' AND a.grantee <> ALL (trusted)) THEN
			problems := problems || format('Others may create functions and tables in %s, and so run code with your rights: REVOKE CREATE ON SCHEMA %I FROM %s%s.',
				e.what, e.nspname,
				(SELECT string_agg(CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END, ', ')
				FROM aclexplode(e.acl) AS a WHERE a.privilege_type = 'CREATE' AND a.grantee <> ALL (trusted)),
				CASE WHEN e.is_extension THEN ', or ALTER EXTENSION bloomexp SET SCHEMA to another' END);
		END IF;
	END LOOP;

	IF row_security_active(relation.oid) THEN
		problems := problems || format('Row-level security on %s would hide exposures from the feed: its owner must be the owner of the table, without FORCE ROW LEVEL SECURITY, or have BYPASSRLS.', relation.name);
	END IF;

	-- Check the schema of the feed.
	IF is_feed AND (obj_description(schema_oid, 'pg_namespace') ~ ', slices => \d+') <> windowed THEN
		problems := problems || 'Slices cannot be added to a feed or taken from it: its filters are of the other kind. Make another feed, and drop this one when requests use that.'::text;
	END IF;
	IF schema_oid IS NULL THEN
		IF NOT has_database_privilege(current_database(), 'CREATE') THEN
			problems := problems || format('You may not create schema %I: GRANT CREATE ON DATABASE %I TO %I, or let its owner make the empty schema for you.', feed, current_database(), current_user);
		END IF;
	ELSIF NOT (has_schema_privilege(schema_oid, 'CREATE') AND has_schema_privilege(schema_oid, 'USAGE')) THEN
		problems := problems || format('You may not create in schema %I: GRANT CREATE, USAGE ON SCHEMA %I TO %I.', feed, feed, current_user);
	ELSIF NOT is_feed AND EXISTS (
		SELECT FROM pg_depend d WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = schema_oid AND d.deptype = 'n') THEN
		problems := problems || format('Schema %I exists and is not empty: choose another name for the feed.', feed);
	END IF;

	-- Check the names of triggers: both modes replace or drop those.
	problems := problems || ARRAY(
		SELECT format('Trigger %I of %s would be replaced: rename it, or choose another name for the feed.', t.tgname, t.tgrelid::regclass)
		FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
		WHERE t.tgrelid = ANY (tree) AND t.tgname IN (('insert_' || feed)::name, ('update_' || feed)::name)
			AND (p.pronamespace = schema_oid AND p.proname = 'track') IS NOT TRUE
		ORDER BY t.tgrelid::regclass::text, t.tgname);

	-- Check what triggers cannot do.
	IF mode = 'trigger' AND relation.relkind IN ('r', 'p') THEN
		IF relation.relispartition THEN
			problems := problems || format('%s is a partition, and an INSERT into its root fires no trigger of it: make the feed of the root, or use mode => ''log''.', relation.name);
		END IF;
		IF NOT has_table_privilege(relation.oid, 'TRIGGER') THEN
			problems := problems || format('You may not create triggers on %s: GRANT TRIGGER ON %s TO %I.', relation.name, relation.name, current_user);
		END IF;
		IF EXISTS (SELECT FROM pg_subscription_rel s WHERE s.srrelid = relation.oid) THEN
			problems := problems || format('%s is filled by a subscription, which fires no statement triggers: use mode => ''log''.', relation.name);
		END IF;
	END IF;

	-- Check what Citus does with the table.  The catalogs of Citus are in pg_catalog.
	IF EXISTS (SELECT FROM pg_extension x WHERE x.extname = 'citus') THEN
		EXECUTE 'SELECT CASE WHEN p.repmodel = ''t'' THEN ''a reference table'' WHEN p.partmethod = ''h'' THEN column_to_column_name(p.logicalrelid, p.partkey) END '
			'FROM pg_dist_partition p WHERE p.logicalrelid = $1' INTO distribution USING relation.oid::regclass;
		distributed := distribution IS NOT NULL;
		EXECUTE 'SELECT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = to_regclass($1))' INTO filters_distributed USING quote_ident(feed) || '.filters';
		IF distributed AND mode <> 'log' THEN
			problems := problems || format('%s is distributed, and triggers of distributed tables deadlock: use mode => ''log''.', relation.name);
		ELSIF distributed AND distribution <> user_column THEN
			problems := problems || format('%s is distributed by %s: it must be distributed by the user column %I.', relation.name, distribution, user_column);
		END IF;
	END IF;

	IF cardinality(problems) > 0 THEN
		RAISE EXCEPTION 'cannot make feed "%" of %', feed, relation.name
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = array_to_string(problems, E'\n');
	END IF;

	-- Warn of what makes a feed slow or its times wrong.
	IF relation.relkind IN ('r', 'p', 'm') AND NOT EXISTS (
		SELECT FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_am m ON m.oid = c.relam AND m.amname = 'btree'
		WHERE x.indrelid = relation.oid AND x.indisvalid AND x.indpred IS NULL AND x.indkey[0] = user_attribute.attnum) THEN
		RAISE WARNING 'no index of % begins with column "%"', relation.name, user_column
			USING DETAIL = format('A rebuild%s would read the whole table for each user.', CASE mode WHEN 'log' THEN ' and each request' ELSE '' END),
				HINT = format('CREATE INDEX%s ON %s (%I, %I%s);', CASE relation.relkind WHEN 'p' THEN '' ELSE ' CONCURRENTLY' END,
					relation.name, user_column, time_column, CASE WHEN item_attribute.arrays = 1 THEN '' ELSE format(', %I', item_column) END);
	END IF;
	IF utc AND EXISTS (
		SELECT FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
		WHERE d.adrelid = relation.oid AND a.attname = time_column AND pg_get_expr(d.adbin, d.adrelid) ~* '^(now\(\)|current_timestamp|localtimestamp|transaction_timestamp\(\))') THEN
		RAISE WARNING 'default of column "%" is in the time zone of the session', time_column
			USING DETAIL = 'The feed reads the column as UTC.',
				HINT = format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT now() AT TIME ZONE ''UTC'';', relation.name, time_column);
	END IF;

	-- Make the call that returns the same script, on one line.
	made_by := concat(format('bloomexp %s: SELECT bloom_feed_sql(%L, %L', extension.version, feed, relation.name),
		CASE WHEN user_column <> 'user_id' THEN format(', user_column => %L', user_column) END,
		CASE WHEN item_column <> 'item_id' THEN format(', item_column => %L', item_column) END,
		CASE WHEN time_column <> 'shown_at' THEN format(', time_column => %L', time_column) END,
		CASE WHEN width <> '30 days' THEN format(', width => %L', width) END,
		CASE WHEN fpr <> 0.01 THEN format(', fpr => %s', fpr) END,
		CASE WHEN headroom <> 0.2 THEN format(', headroom => %s', headroom) END,
		CASE WHEN windowed THEN format(', slices => %s', slices) END,
		CASE WHEN mode <> 'trigger' THEN format(', mode => %L', mode) END,
		CASE WHEN "where" IS NOT NULL THEN format(', "where" => %L', "where") END, ');');

	-- Make the triggers: an INSERT into a partition fires those of the partition only.
	SELECT string_agg(
		CASE WHEN mode = 'log' OR current_setting('server_version_num')::integer < 140000 THEN format(E'DROP TRIGGER IF EXISTS %I ON %s;\n', g.name, r.oid::regclass) ELSE '' END
		|| CASE WHEN mode = 'log' THEN '' ELSE format(E'CREATE %sTRIGGER %I AFTER %s ON %s\n\tREFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION %I.track();\n',
			CASE WHEN current_setting('server_version_num')::integer < 140000 THEN '' ELSE 'OR REPLACE ' END, g.name, upper(g.event), r.oid::regclass, feed) END,
		'' ORDER BY r.n, g.event) INTO triggers
	FROM unnest(tree) WITH ORDINALITY AS r(oid, n) JOIN pg_class c ON c.oid = r.oid AND c.relkind IN ('r', 'p'),
		(SELECT v.event, (v.event || '_' || feed)::name AS name FROM (VALUES ('insert'), ('update')) AS v(event)) AS g
	WHERE relation.relkind IN ('r', 'p') AND NOT distributed;

	-- Drop the functions for other types of the columns: they would be in the way.
	SELECT string_agg(format(E'DROP %s %s;	-- of other types: grant EXECUTE again\n', CASE p.prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END, p.oid::regprocedure), '')
	INTO retyped
	FROM pg_proc p, pg_type u, pg_type i
	WHERE is_feed AND p.pronamespace = schema_oid AND p.proname IN ('current', 'unseen', 'take', 'rebuild', 'rebuild_batch')
		AND u.oid = user_attribute.base AND i.oid = item_attribute.base
		AND (p.proargtypes[0] <> CASE WHEN p.proname LIKE 'rebuild%' THEN u.typarray ELSE u.oid END
			OR p.proname IN ('unseen', 'take') AND p.proargtypes[1] <> i.typarray);
	IF is_feed AND (SELECT format_type(a.atttypid, a.atttypmod) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
			WHERE c.relnamespace = schema_oid AND c.relname = 'filters' AND a.attname = 'user_id') <> user_attribute.full_type THEN
		retyped := format(E'ALTER TABLE %1$I.filters ALTER user_id TYPE %2$s USING user_id::%2$s;\n', feed, user_attribute.full_type) || coalesce(retyped, '');
	END IF;

	-- Find the roles that get rights on new tables and functions by default: here they get none.
	SELECT concat_ws(', ', 'PUBLIC', string_agg(DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END, ', ')) INTO grantees
	FROM pg_default_acl x, aclexplode(x.defaclacl) AS a
	WHERE x.defaclrole = (SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user) AND x.defaclobjtype IN ('r', 'f') AND a.grantee <> x.defaclrole;

	-- Set the names of the templates, each quoted.
	names := jsonb_build_object(
		'made_by', made_by,
		'made_by_literal', quote_literal(made_by),
		'feed', quote_ident(feed),
		'filters_literal', quote_literal(quote_ident(feed) || '.filters'),
		'track_literal', quote_literal(quote_ident(feed) || '.track'),
		'quoted_feed_literal', quote_literal(quote_ident(feed)),
		'exposures', relation.name,
		'exposures_literal', quote_literal(relation.name),
		'bloom', extension.schema,
		'=', operators ->> '3',
		'>', operators ->> '5',
		'<=', operators ->> '2',
		'user', format('e.%I', user_column),
		'user_type', user_attribute.base_name,	-- a domain could refuse NULL
		'user_hash', format(hash_user, 'user_id' || user_attribute.collate_clause),
		'user_column_type', user_attribute.full_type || CASE WHEN user_attribute.collated THEN user_attribute.collate_clause ELSE '' END,
		'item', CASE WHEN item_attribute.arrays = 1 THEN 'i.item' ELSE format('e.%I', item_column) END,
		'item_type', item_attribute.base_name,
		'elements', CASE WHEN item_attribute.arrays = 1 THEN format(', pg_catalog.unnest(e.%I) AS i(item)', item_column) ELSE '' END,
		'time', format('e.%I', time_column),
		'zoned_time', format(CASE WHEN utc THEN '(e.%I AT TIME ZONE ''UTC'')' ELSE 'e.%I' END, time_column),
		'since', CASE WHEN utc THEN '(v.since AT TIME ZONE ''UTC'')' ELSE 'v.since' END,
		'where', CASE WHEN "where" IS NULL THEN '' ELSE format(' AND e.%I', "where") END,
		'width', quote_literal(width),
		'fpr', fpr,
		'stored_fpr', CASE WHEN mode = 'log' THEN fpr * 0.99 ELSE fpr END,
		'rest_fpr', fpr * 0.01,
		'alarming_fpr', fpr * 1.2,	-- the rate of a full filter varies by chance
		'grantees', grantees,
		'grantees_at_first', CASE WHEN is_feed THEN 'PUBLIC' ELSE grantees END,
		'feed_literal', quote_literal(feed),
		'headroom', CASE WHEN mode = 'log' THEN 0 ELSE headroom END,
		'slices', slices,
		'triggers', coalesce(triggers, ''),
		'retyped', coalesce(retyped, ''),
		'collate', user_attribute.collate_clause,
		'lock', hashtextextended(feed, 0),
		'distribute', CASE WHEN filters_distributed OR NOT distributed THEN '' ELSE format('SELECT pg_catalog.create_distributed_table(%L, ''user_id'', colocate_with => %L);',
			quote_ident(feed) || '.filters', relation.name) END,
		'current_literal', quote_literal(format('%I.current(%s)', feed, user_attribute.base_name)),
		'unseen_literal', quote_literal(format('%I.unseen(%s, %s[])', feed, user_attribute.base_name, item_attribute.base_name)),
		'take_literal', quote_literal(format('%I.take(%s, %s[], integer)', feed, user_attribute.base_name, item_attribute.base_name)),
		'oldest_literal', quote_literal(format('SELECT EXTRACT(EPOCH FROM LEAST(%s.bloom_oldest_transaction(), '
			'(SELECT pg_catalog.min(p.prepared) FROM pg_catalog.pg_prepared_xacts AS p WHERE p.database OPERATOR(pg_catalog.=) pg_catalog.current_database())))', extension.schema)));

	-- Put the templates together, with parts that depend on the arguments or occur several times.
	template := $head$
@head.sql
$head$ || CASE mode WHEN 'trigger' THEN $head$
@head_trigger.sql
$head$ ELSE $head$
@head_log.sql
$head$ END || $filters$
@filters.sql
$filters$ || CASE mode WHEN 'trigger' THEN $track$
@track.sql
$track$ ELSE '{triggers}' END || CASE WHEN distributed THEN $batch$
@rebuild_batch_citus.sql
$batch$ ELSE $batch$
@rebuild_batch.sql
$batch$ END || $rebuild$
@rebuild.sql
$rebuild$ || CASE mode WHEN 'trigger' THEN $current$
@page_trigger.sql
$current$ ELSE $current$
@page_log.sql
$current$ END || $health$
@health.sql
$health$ || CASE WHEN distributed THEN $citus$
@citus.sql
$citus$ ELSE '' END;
	parts := jsonb_build_object(
		'lock_user', CASE WHEN distributed THEN $lock$
@lock_citus.sql
$lock$ ELSE $lock$
	-- an advisory lock of the feed's number and the hash of the user
	PERFORM pg_catalog.pg_advisory_xact_lock(({lock})::bigint OPERATOR(pg_catalog.#) {user_hash}::bigint);
$lock$ END,
		'rebuild_range', $range$
@rebuild_range.sql
$range$,
		'users_per_batch', CASE WHEN distributed THEN 16000 ELSE 250 END,
		'untracked', CASE mode WHEN 'trigger' THEN $untracked$
@untracked.sql
$untracked$ ELSE '0::bigint' END,
		'begin', '(pg_catalog.now() AT TIME ZONE ''UTC'' OPERATOR(pg_catalog.-) interval {width}) AT TIME ZONE ''UTC''',
		'exposed', '{user} IS NOT NULL AND {item} IS NOT NULL{where} AND {time} OPERATOR(pg_catalog.>=) {since}',
		'exposures_in_batch', replace(in_batch, '{who}', '{user}'),
		'filters_in_batch', replace(in_batch, '{who}', 'f.user_id'))
		|| CASE WHEN windowed THEN jsonb_build_object(
		'gathered', 'pg_catalog.array_agg({item}) AS items, pg_catalog.array_agg(LEAST({zoned_time}, pg_catalog.now())) AS times',
		'empty', '{bloom}.bloom_window({width}, {slices}, {fpr})',
		'filter_now', '{bloom}.bloom_expire(f.items, pg_catalog.now())',
		'add_shown', '{bloom}.bloom_add_at(coalesce({bloom}.bloom_expire(f.items, pg_catalog.now()), v.empty), shown.items, shown.times)',
		'add_shown_to_new', '{bloom}.bloom_add_at(v.empty, shown.items, shown.times)',
		'add_taken', '{bloom}.bloom_add_at(coalesce(filter, {bloom}.bloom_window({width}, {slices}, {fpr})), taken, pg_catalog.array_fill(pg_catalog.now(), ARRAY[pg_catalog.cardinality(taken)]))',
		'built', '{bloom}.bloom_window_agg({item}, LEAST({zoned_time}, pg_catalog.now()), {width}, {slices}, {fpr})')
		ELSE jsonb_build_object(
		'gathered', 'pg_catalog.array_agg({item}) AS items',
		'empty', '{bloom}.bloom_new(fpr => {fpr})',
		'filter_now', 'f.items',
		'add_shown', '{bloom}.bloom_add(coalesce(f.items, v.empty), shown.items)',
		'add_shown_to_new', '{bloom}.bloom_add(v.empty, shown.items)',
		'add_taken', '{bloom}.bloom_add(coalesce(filter, {bloom}.bloom_new(fpr => {fpr})), taken)',
		'built', '{bloom}.bloom_agg({item}, {stored_fpr}, {headroom})') END;
	FOR e IN SELECT p.key, p.value FROM jsonb_each_text(parts) AS p LOOP	-- jsonb has short keys first, so a part can name parts with longer keys
		template := replace(template, '{' || e.key || '}', e.value);
	END LOOP;

	-- Find a dollar quote that nothing in the script ends.
	WHILE EXISTS (SELECT FROM jsonb_each_text(names) AS n WHERE position(quote IN n.value) > 0) LOOP
		quote := overlay(quote PLACING '_$' FROM length(quote));
	END LOOP;
	names := names || jsonb_build_object('$', quote);

	ASSERT NOT EXISTS (SELECT FROM regexp_split_to_table(template, '[{}]') WITH ORDINALITY AS p(part, n) WHERE p.n % 2 = 0 AND names ->> p.part IS NULL),
		'a template names what the generator does not know';

	-- Fill in the names in one pass: what a name brings in is not looked at again.
	RETURN (SELECT string_agg(CASE WHEN p.n % 2 = 1 THEN p.part ELSE names ->> p.part END, '' ORDER BY p.n)
		FROM regexp_split_to_table(regexp_replace(ltrim(template, E'\n'), '\n{3,}', E'\n\n', 'g'), '[{}]') WITH ORDINALITY AS p(part, n));
END
$function$;

COMMENT ON FUNCTION bloom_feed_sql IS
'the script of a feed: the SQL that keeps one filter per user of what the rows of exposures record as shown in the last width; raises an error that lists all that is in the way';

CREATE FUNCTION bloom_create_feed(
@arguments.sql
) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET client_min_messages = warning
AS $function$
DECLARE
	script text;
BEGIN
	EXECUTE format('SELECT %I.bloom_feed_sql($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)', (
		SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'bloomexp'))
	INTO script USING feed, exposures, user_column, item_column, time_column, width, fpr, headroom, slices, mode, "where";
	IF EXISTS (SELECT FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid WHERE n.nspname = feed) THEN
		RAISE EXCEPTION 'feed "%" exists', feed
			USING ERRCODE = 'duplicate_schema',
				HINT = 'To change it, apply what bloom_feed_sql() returns; the filters stay. To undo it: DROP SCHEMA ' || quote_ident(feed) || ' CASCADE.';
	END IF;
	EXECUTE script;
EXCEPTION WHEN lock_not_available THEN	-- its context would be the whole script
	RAISE EXCEPTION 'could not lock % for feed "%"', exposures, feed
		USING ERRCODE = 'lock_not_available', HINT = 'Open transactions and vacuums of the table hold it. Try again, with a lock_timeout of two seconds if autovacuum runs.';
END
$function$;

COMMENT ON FUNCTION bloom_create_feed IS
'makes a feed: runs the script of bloom_feed_sql() with these arguments; the schema feed must not exist or be empty';

CREATE FUNCTION bloom_feeds(
	OUT feed name,
	OUT owner name,
	OUT version text,
	OUT command text)
RETURNS SETOF record
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $function$
	-- A comment is text of the schema's owner: only one call with constants comes out.
	SELECT n.nspname, pg_get_userbyid(n.nspowner), m[1], m[2]
	FROM pg_namespace n, regexp_matches(obj_description(n.oid, 'pg_namespace'),
		'^bloomexp ([0-9.]+): (SELECT bloom_feed_sql\((?:(?:[a-z_]+ => |"where" => )?(?:''(?:[^''\\]|'''')*''| ?E''(?:[^''\\]|''''|\\\\)*''|[0-9.e-]+)(?:, )?)+\);)$') AS m
$function$;

COMMENT ON FUNCTION bloom_feeds() IS
'the feeds of this database, their owners, the version of bloomexp that made their scripts, and the command that returns the script of today';
