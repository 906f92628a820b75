--
-- The generator: writes the SQL of one feed.
--
-- bloom_feed_script() checks the arguments, finds what the script names, and fills the
-- templates of this folder.  It looks into the catalogs, for a role, and evaluates nothing of
-- what it finds there.  bloom_feed_sql(), bloom_create_feed() and bloom_feeds() call it.
--
-- These functions call each other by the schema of the extension.  Arguments have the very
-- types of the parameters, so that no function of another role in that schema fits better.
--

@type.sql

@distrusted.sql

@fill.sql

CREATE FUNCTION bloom_feed_script(
	given jsonb,	-- arguments of bloom_feed_sql(), by name; others have their defaults
	role oid,	-- who is to own the feed
	warn boolean,	-- of what makes a feed slow, or its times wrong
	OUT problems text[],	-- all that is wrong, each with what to do
	OUT command text,	-- the call of bloom_feed_sql(), with the arguments that are not the defaults, on one line
	OUT script text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
SET quote_all_identifiers = off
SET IntervalStyle = postgres
SET extra_float_digits = 1
SET DateStyle = ISO
AS $function$
#variable_conflict use_column
DECLARE
	extension record;
	defaults jsonb := '{}';
	argument_names text[] := '{}';
	arguments jsonb;
	feed text;
	user_column text;
	item_column text;
	time_column text;
	width interval;
	fpr double precision;
	headroom double precision;
	slices integer;
	mode text;
	condition text;	-- the argument "where"
	of_table boolean;	-- the feed is one over a table of exposures
	windowed boolean;
	schema_oid oid;
	settings text;	-- of the feed as it is
	exposures record;
	tree oid[];	-- the table and its partitions or children, parents first
	type record;
	user_attribute record;
	item_attribute record;
	user_type record;
	item_type record;
	types oid[] := '{}';	-- all that these are made of
	schemas oid[] := '{}';	-- of the exposures, the feed and collations
	utc boolean;	-- the time column is a timestamp, in UTC
	distribution text;	-- the column by which Citus distributes the exposures; NULL if it does not
	filters_distributed boolean := false;
	changed jsonb;	-- arguments that are not the defaults
	kind text;	-- what cannot change
	retyped text;	-- what an older script made for other types
	template text;
	parts jsonb;
	names jsonb;
	in_batch constant text := E'(wanted IS NULL OR %1$s {=} ANY (wanted{collate}))\n'
		'\t\t\tAND (batch_from IS NULL OR %1$s {>} batch_from{collate}) AND (batch_to IS NULL OR %1$s {<=} batch_to{collate})';
	e record;
BEGIN
	problems := '{}';
	SELECT x.extversion AS version, quote_ident(n.nspname) AS schema, n.oid AS schema_oid INTO extension
	FROM pg_extension x JOIN pg_namespace n ON n.oid = x.extnamespace WHERE x.extname = 'bloomexp';

	FOR e IN
		SELECT a.name, coalesce(pg_get_function_arg_default(p.oid, a.n::integer), 'NULL') AS value
		FROM pg_proc p, unnest(p.proargnames) WITH ORDINALITY AS a(name, n)
		-- Ours by its whole signature: defaults of another one, of which the owner of the extension can make a member, would run here.
		WHERE p.oid = to_regprocedure(extension.schema || '.bloom_feed_sql(text, regclass, text, text, text, interval, float8, float8, int4, text, text, regtype, regtype)')
		ORDER BY a.n
	LOOP
		argument_names := argument_names || e.name::text;
		EXECUTE format('SELECT $1 || jsonb_build_object(%L, %s)', e.name, e.value) INTO defaults USING defaults;
	END LOOP;
	arguments := defaults || given;
	arguments := arguments || (	-- types by names that mean the same under any search_path
		SELECT coalesce(jsonb_object_agg(a.name, CASE WHEN t.oid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) THEN format_type(t.oid, NULL) ELSE format('%I.%I', n.nspname, t.typname) END), '{}')
		FROM jsonb_each_text(arguments) AS a(name, value) JOIN pg_type t ON t.oid = CASE WHEN a.name IN ('user_type', 'item_type') THEN a.value::regtype END
		JOIN pg_namespace n ON n.oid = t.typnamespace);
	feed := arguments ->> 'feed';
	user_column := arguments ->> 'user_column';
	item_column := arguments ->> 'item_column';
	time_column := arguments ->> 'time_column';
	width := arguments ->> 'width';
	fpr := arguments ->> 'fpr';
	headroom := arguments ->> 'headroom';
	slices := arguments ->> 'slices';
	mode := arguments ->> 'mode';
	condition := arguments ->> 'where';
	of_table := arguments ->> 'exposures' IS NOT NULL;
	windowed := NOT of_table AND width IS NOT NULL;
	changed := (SELECT coalesce(jsonb_object_agg(a.name, a.value), '{}') FROM jsonb_each_text(arguments) AS a(name, value)
		WHERE a.value IS DISTINCT FROM defaults ->> a.name AND a.name <> 'feed');
	command := (SELECT format('SELECT %s.bloom_feed_sql(%L%s);', extension.schema, feed, string_agg(format(', %s%s',
			CASE WHEN n.name <> 'exposures' THEN quote_ident(n.name) || ' => ' END,
			CASE WHEN n.name IN ('fpr', 'headroom', 'slices') THEN changed ->> n.name ELSE quote_nullable(changed ->> n.name) END), '' ORDER BY n.n))
		FROM unnest(argument_names) WITH ORDINALITY AS n(name, n) WHERE changed ? n.name);
	schema_oid := (SELECT n.oid FROM pg_namespace n WHERE n.nspname = feed);
	settings := (SELECT p.prosrc FROM pg_proc p WHERE p.pronamespace = schema_oid AND p.proname = 'settings' AND p.pronargs = 0 AND p.prosrc LIKE E'\n-- bloomexp %');

	-- Check the arguments.
	IF feed = '' OR octet_length(feed) > 63 OR feed LIKE 'pg\_%' OR feed ~ '[[:cntrl:]]' THEN
		problems := problems || format('%L cannot be the name of a schema: it must have 1 to 63 bytes, not begin with pg_, and have no control characters.', feed);
	END IF;
	IF concat(extension.schema, arguments ->> 'exposures', user_column, item_column, time_column, condition) ~ '[[:cntrl:]]' THEN
		problems := problems || 'Names with control characters cannot be written into a script: rename the table, column or schema.'::text;
	END IF;
	IF mode NOT IN ('trigger', 'log') THEN
		problems := problems || format('mode must be ''trigger'' or ''log'', not %L.', mode);
	END IF;
	IF NOT (width > interval '0' AND width <= interval '1000 years') THEN
		problems := problems || 'width must be positive, as in ''30 days'', and at most 1000 years.'::text;
	ELSIF windowed AND extract(year FROM width) * 12 + extract(month FROM width) <> 0 THEN
		problems := problems || 'width of a feed without a table must have no months: write ''30 days''.'::text;
	END IF;
	IF NOT (fpr >= 1e-7 AND fpr < 1) THEN
		problems := problems || 'fpr must be at least 0.0000001 and less than 1; 0.01 is 1%.'::text;
	END IF;
	IF NOT (headroom >= 0 AND headroom <= 1000) THEN
		problems := problems || 'headroom must be from 0 to 1000; 0.2 leaves room for 20% more items.'::text;
	END IF;
	IF NOT slices BETWEEN 1 AND 1000 THEN
		problems := problems || 'slices must be from 1 to 1000.'::text;
	END IF;
	problems := problems || ARRAY(
		SELECT format('Argument %I is for feeds %s a table of exposures.', n.name, CASE WHEN of_table THEN 'without' ELSE 'over' END)
		FROM unnest(CASE WHEN of_table THEN '{slices,user_type,item_type}' ELSE '{user_column,item_column,time_column,headroom,mode,where}' END::text[]) AS n(name)
		WHERE changed ? n.name);
	IF of_table AND width IS NULL THEN
		problems := problems || 'width must not be null if there is a table of exposures.'::text;
	ELSIF NOT of_table AND width IS NULL AND slices IS NOT NULL THEN
		problems := problems || 'slices need a width.'::text;
	END IF;

	IF of_table THEN
		SELECT c.oid, c.relkind, c.relpersistence, c.relispartition, format('%I.%I', n.nspname, c.relname) AS name, n.oid AS schema_oid
		INTO exposures FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(arguments ->> 'exposures');
		IF NOT FOUND THEN
			problems := problems || format('Table %s does not exist.', arguments ->> 'exposures');
			RETURN;
		END IF;
		tree := ARRAY(
			WITH RECURSIVE t(oid, level) AS (
				SELECT exposures.oid, 0 UNION SELECT i.inhrelid, t.level + 1 FROM pg_inherits i JOIN t ON i.inhparent = t.oid)
			SELECT t.oid FROM t GROUP BY t.oid ORDER BY min(t.level), t.oid::regclass::text);
		schemas := ARRAY[exposures.schema_oid];

		IF exposures.relpersistence = 't' THEN
			problems := problems || format('%s is temporary: a feed would outlive it.', exposures.name);
		ELSIF exposures.relkind NOT IN ('r', 'p') AND (mode = 'trigger' OR exposures.relkind NOT IN ('v', 'm', 'f')) THEN
			problems := problems || format('%s is not a table%s', exposures.name,
				CASE WHEN exposures.relkind IN ('v', 'm', 'f') THEN ': views and foreign tables need mode => ''log''.' ELSE '.' END);
		END IF;

		-- Check the columns.
		FOR e IN
			SELECT w.argument, w.name, a.attnum, a.attgenerated, a.atttypid, a.attcollation, a.attcollation <> t.typcollation AS collated,
				format_type(a.atttypid, NULL) AS type, format_type(a.atttypid, a.atttypmod) AS full_type,
				-- only a keyword needs no schema: names with a modifier, and those of integers
				CASE WHEN t.typnamespace = 'pg_catalog'::regnamespace AND a.atttypmod = -1 AND t.typname !~ '^int[248]$' THEN format('pg_catalog.%I', t.typname)
					ELSE format_type(a.atttypid, a.atttypmod) END AS column_type, c.collisdeterministic, c.collnamespace
			FROM (VALUES (1, 'user_column', user_column), (2, 'item_column', item_column), (3, 'time_column', time_column), (4, 'where', condition)) AS w(n, argument, name)
			LEFT JOIN pg_attribute a ON a.attrelid = exposures.oid AND a.attname = w.name AND a.attnum > 0 AND NOT a.attisdropped
			LEFT JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_collation c ON c.oid = a.attcollation
			WHERE w.name IS NOT NULL ORDER BY w.n
		LOOP
			IF e.attnum IS NULL THEN
				problems := problems || format('%s has no column %I: name the column with %s => ''…''.', exposures.name, e.name, quote_ident(e.argument));
				CONTINUE;
			ELSIF NOT has_column_privilege(role, exposures.oid, e.attnum, 'SELECT') THEN
				problems := problems || format('You may not read column %I: GRANT SELECT ON %s TO %I.', e.name, exposures.name, pg_get_userbyid(role));
				CONTINUE;
			ELSIF e.attgenerated = 'v' AND mode = 'trigger' THEN
				problems := problems || format('Column %I is virtual, and triggers do not see its value: make it STORED, or use mode => ''log''.', e.name);
				CONTINUE;
			END IF;
			EXECUTE format('SELECT * FROM %s.bloom_feed_type($1, $2)', extension.schema) INTO type USING e.atttypid, e.attcollation;
			types := types || type.chain;
			schemas := schemas || e.collnamespace;

			CASE e.argument
			WHEN 'user_column' THEN
				user_attribute := e;
				user_type := type;
				IF type.operators IS NULL OR type.arrays > 0 THEN
					problems := problems || format('User column %I has type %s: it must be a scalar type with a default B-tree operator class.', e.name, e.type);
				END IF;
			WHEN 'item_column' THEN
				item_attribute := e;
				item_type := type;
				IF type.arrays > 1 OR type.base <> ALL ('{int2,int4,int8,text,varchar,bpchar,uuid,bytea}'::regtype[]) THEN
					problems := problems || format('Item column %I has type %s: items are smallint, integer, bigint, text, varchar, uuid or bytea, or an array of one of them.', e.name, e.type);
				ELSIF NOT e.collisdeterministic THEN
					problems := problems || format('Item column %I has a nondeterministic collation: items are compared byte by byte.', e.name);
				END IF;
			WHEN 'time_column' THEN
				utc := type.base = 'timestamp'::regtype;
				IF type.arrays > 0 OR type.base NOT IN ('timestamp'::regtype, 'timestamptz'::regtype) THEN
					problems := problems || format('Time column %I has type %s: it must be timestamp with time zone, or timestamp without, which is read as UTC. '
						'For example: ALTER TABLE %s ALTER COLUMN %I TYPE timestamptz USING … .', e.name, e.type, exposures.name, e.name);
				END IF;
			WHEN 'where' THEN
				IF type.arrays > 0 OR type.base <> 'boolean'::regtype THEN
					problems := problems || format('Column %I has type %s: "where" names a boolean column. Write another condition into the script of bloom_feed_sql().', e.name, e.type);
				END IF;
			END CASE;
		END LOOP;

		IF (SELECT c.relrowsecurity AND NOT r.rolsuper AND NOT r.rolbypassrls AND (c.relforcerowsecurity OR NOT pg_has_role(role, c.relowner, 'USAGE'))
				FROM pg_class c, pg_roles r WHERE c.oid = exposures.oid AND r.oid = role) THEN
			problems := problems || format('Row-level security on %s would hide exposures from the feed: its owner must be the owner of the table, without FORCE ROW LEVEL SECURITY, or have BYPASSRLS.', exposures.name);
		END IF;

		-- Check the names of triggers.
		problems := problems || ARRAY(
			SELECT format('Trigger %I of %s would be replaced: rename it, or choose another name for the feed.', t.tgname, t.tgrelid::regclass)
			FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
			WHERE t.tgrelid = ANY (tree) AND t.tgname IN (('insert_' || feed)::name, ('update_' || feed)::name)
				AND (p.pronamespace = schema_oid AND p.proname = 'track') IS NOT TRUE
			ORDER BY t.tgrelid::regclass::text, t.tgname);

		-- Check what triggers cannot do.
		IF mode = 'trigger' AND exposures.relkind IN ('r', 'p') THEN
			IF exposures.relispartition THEN
				problems := problems || format('%s is a partition, and an INSERT into its root fires no trigger of it: make the feed of the root, or use mode => ''log''.', exposures.name);
			END IF;
			IF NOT has_table_privilege(role, exposures.oid, 'TRIGGER') THEN
				problems := problems || format('You may not create triggers on %s: GRANT TRIGGER ON %s TO %I.', exposures.name, exposures.name, pg_get_userbyid(role));
			END IF;
			problems := problems || ARRAY(
				SELECT format('%s is filled by a subscription, which fires no statement triggers: use mode => ''log''.', s.srrelid::regclass)
				FROM pg_subscription_rel s WHERE s.srrelid = ANY (tree) ORDER BY 1);
			problems := problems || ARRAY(
				SELECT format('%s is a foreign table, into which inserts would fail with a trigger on its parent: use mode => ''log''.', c.oid::regclass)
				FROM pg_class c WHERE c.oid = ANY (tree) AND c.relkind = 'f' ORDER BY 1);
		END IF;

		-- Check what Citus does with the table.  The catalogs of Citus are in pg_catalog.
		IF EXISTS (SELECT FROM pg_extension x WHERE x.extname = 'citus') THEN
			EXECUTE 'SELECT CASE WHEN p.repmodel = ''t'' THEN ''a reference table'' WHEN p.partmethod = ''h'' THEN column_to_column_name(p.logicalrelid, p.partkey) END '
				'FROM pg_dist_partition p WHERE p.logicalrelid = $1' INTO distribution USING exposures.oid::regclass;
			EXECUTE 'SELECT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = to_regclass($1))' INTO filters_distributed USING quote_ident(feed) || '.filters';
			IF distribution IS NOT NULL AND mode <> 'log' THEN
				problems := problems || format('%s is distributed, and triggers of distributed tables deadlock: use mode => ''log''.', exposures.name);
			ELSIF distribution <> user_column THEN
				problems := problems || format('%s is distributed by %s: it must be distributed by the user column %I.', exposures.name, distribution, user_column);
			END IF;
		END IF;
	ELSE
		slices := coalesce(slices, 6);
		EXECUTE format('SELECT * FROM %s.bloom_feed_type($1, $2)', extension.schema) INTO user_type
		USING coalesce(arguments ->> 'user_type', 'bigint')::regtype::oid, (SELECT t.typcollation FROM pg_type t WHERE t.oid = coalesce(arguments ->> 'user_type', 'bigint')::regtype);
		EXECUTE format('SELECT * FROM %s.bloom_feed_type($1, $2)', extension.schema) INTO item_type USING coalesce(arguments ->> 'item_type', 'bigint')::regtype::oid, 0::oid;
		types := user_type.chain || item_type.chain;
		IF concat(arguments ->> 'user_type', user_type.name, arguments ->> 'item_type') ~ '[[:cntrl:]]' THEN
			problems := problems || 'Names with control characters cannot be written into a script: rename the type.'::text;
		END IF;
		IF user_type.operators IS NULL OR user_type.arrays > 0 THEN
			problems := problems || format('user_type %s must be a scalar type with a default B-tree operator class.', arguments ->> 'user_type');
		END IF;
		IF (item_type.arrays = 0 AND item_type.base = ANY ('{int2,int4,int8,text,varchar,bpchar,uuid,bytea}'::regtype[])) IS NOT TRUE THEN
			problems := problems || format('item_type must be smallint, integer, bigint, text, varchar, uuid or bytea, not %s.', arguments ->> 'item_type');
		END IF;
	END IF;

	-- Check whose names the script uses: the functions of the feed run with the rights of its owner.
	EXECUTE format('SELECT $1 || %s.bloom_feed_distrusted($2, $3, $4, $5, $6)', extension.schema)
	INTO problems USING problems, role, extension.schema_oid, schemas || schema_oid, types, tree;

	-- Check the schema of the feed.
	IF schema_oid IS NULL THEN
		IF NOT has_database_privilege(role, current_database(), 'CREATE') THEN
			problems := problems || format('You may not create schema %I: GRANT CREATE ON DATABASE %I TO %I, or let its owner make the empty schema for you.', feed, current_database(), pg_get_userbyid(role));
		END IF;
	ELSIF NOT (has_schema_privilege(role, schema_oid, 'CREATE') AND has_schema_privilege(role, schema_oid, 'USAGE')) THEN
		problems := problems || format('You may not create in schema %I: GRANT CREATE, USAGE ON SCHEMA %I TO %I.', feed, feed, pg_get_userbyid(role));
	ELSIF settings IS NULL AND EXISTS (
		SELECT FROM pg_depend d WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = schema_oid AND d.deptype = 'n') THEN
		problems := problems || format('Schema %I exists and is not empty: choose another name for the feed.', feed);
	END IF;

	-- What the filters and functions of a feed are made for cannot change.
	IF of_table THEN
		kind := format('mode %s', mode);
	ELSE
		kind := format('%s, %s, %s', user_type.name, item_type.name, CASE WHEN windowed THEN format('%s in %s slices', width, slices) ELSE 'for ever' END);
	END IF;
	IF position(E'\n-- kind: ' || kind || E'\n' IN settings) = 0 THEN
		problems := problems || format('Feed %I is of another kind: it was made for %s, not for %s. Make another feed, and drop this one when requests use that.',
			feed, substring(settings FROM '\n-- kind: ([^\n]*)'), kind);
	END IF;

	IF cardinality(problems) > 0 THEN
		RETURN;
	END IF;

	IF warn AND of_table THEN
		IF exposures.relkind IN ('r', 'p', 'm') AND NOT EXISTS (
			SELECT FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_am m ON m.oid = c.relam AND m.amname = 'btree'
			WHERE x.indrelid = exposures.oid AND x.indisvalid AND x.indpred IS NULL AND x.indkey[0] = user_attribute.attnum) THEN
			RAISE WARNING 'no index of % begins with column "%"', exposures.name, user_column
				USING DETAIL = format('A rebuild%s would read the whole table for each user.', CASE mode WHEN 'log' THEN ' and each request' ELSE '' END),
					HINT = format('CREATE INDEX%s ON %s (%I, %I%s);', CASE exposures.relkind WHEN 'p' THEN '' ELSE ' CONCURRENTLY' END,
						exposures.name, user_column, time_column, CASE WHEN item_type.arrays = 1 THEN '' ELSE format(', %I', item_column) END);
		END IF;
		IF utc AND EXISTS (
			SELECT FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
			WHERE d.adrelid = exposures.oid AND a.attname = time_column AND pg_get_expr(d.adbin, d.adrelid) ~* '^(now\(\)|current_timestamp|localtimestamp|transaction_timestamp\(\))') THEN
			RAISE WARNING 'default of column "%" is in the time zone of the session', time_column
				USING DETAIL = 'The feed reads the column as UTC.',
					HINT = format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT now() AT TIME ZONE ''UTC'';', exposures.name, time_column);
		END IF;
		IF mode = 'log' AND EXISTS (
			WITH RECURSIVE source(oid) AS (	-- what views read, too
				SELECT unnest(tree) UNION SELECT x.oid FROM source s, LATERAL (
					SELECT d.refobjid FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass WHERE r.ev_class = s.oid
					UNION ALL SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = s.oid) AS x(oid))
			SELECT FROM source s JOIN pg_class c ON c.oid = s.oid WHERE c.relkind IN ('m', 'f') OR EXISTS (SELECT FROM pg_subscription_rel r WHERE r.srrelid = s.oid)) THEN
			RAISE WARNING 'exposures can arrive late in %', exposures.name
				USING DETAIL = 'What a materialized view, a foreign table or a subscription brings in was shown earlier than a rebuild can see.',
					HINT = format('CALL %I.rebuild(overlap => …) with more than the longest delay.', feed);
		END IF;
		IF exposures.relkind <> 'm' AND EXISTS (
			SELECT FROM pg_index x
			WHERE x.indrelid = exposures.oid AND x.indisunique AND x.indisvalid AND x.indpred IS NULL AND x.indnkeyatts = 2 AND item_type.arrays = 0
				AND x.indkey[0] <> x.indkey[1] AND x.indkey[0] IN (user_attribute.attnum, item_attribute.attnum) AND x.indkey[1] IN (user_attribute.attnum, item_attribute.attnum)) THEN
			RAISE NOTICE '% has a unique key of user and item: showing an item again must update its time', exposures.name
				USING DETAIL = 'ON CONFLICT DO NOTHING, and calls of frameworks that use it, leave the old time, and the item is shown again and again.',
					HINT = format('INSERT INTO %s (%I, %I, %I) SELECT $1, item, %s FROM unnest(%I.take($1, $2, 10)) AS item ON CONFLICT (%2$I, %3$I) DO UPDATE SET %4$I = excluded.%4$I RETURNING %3$I;',
						exposures.name, user_column, item_column, time_column, CASE WHEN utc THEN 'now() AT TIME ZONE ''UTC''' ELSE 'now()' END, feed);
		END IF;
	END IF;

	-- Drop the functions for other types of the columns: they would be in the way.  Those of the user's own stay.
	SELECT string_agg(format(E'DROP %s %s;	-- for other types: grant EXECUTE again\n', CASE p.prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END, p.oid::regprocedure), '')
	INTO retyped
	FROM pg_proc p, pg_type u, pg_type i
	WHERE settings IS NOT NULL AND p.pronamespace = schema_oid AND u.oid = user_type.base AND i.oid = item_type.base AND p.prosecdef = (p.proname <> 'rebuild')
		AND (concat(p.proname, p.proargnames) IN ('current{user_id}', 'lock{user_id}', 'unseen{user_id,candidates}', 'take{user_id,candidates,wanted}', 'contains{user_id,item}')
				AND (p.proargtypes[0] <> u.oid OR p.proargtypes[1] <> CASE p.proname WHEN 'contains' THEN i.oid ELSE i.typarray END)
			OR concat(p.proname, p.proargnames[1:2]) IN ('rebuild{users,after}', 'rebuild_batch{wanted,upto}') AND p.proargtypes[0] <> u.typarray);
	IF of_table THEN
		retyped := concat((
			SELECT format(E'ALTER TABLE %1$I.filters ALTER user_id TYPE %2$s USING user_id::%3$s;\n', feed,
				user_attribute.column_type || CASE WHEN user_attribute.collated THEN user_type.collate_clause ELSE '' END, user_attribute.column_type)
			FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
			WHERE settings IS NOT NULL AND c.relnamespace = schema_oid AND c.relname = 'filters' AND a.attname = 'user_id'
				AND format_type(a.atttypid, a.atttypmod) <> user_attribute.full_type), retyped);
	END IF;

	-- What the templates name: SQL that names nothing else, with each identifier and literal quoted.
	parts := jsonb_build_object(
		'begin', '(now() AT TIME ZONE ''UTC'' - interval {width}) AT TIME ZONE ''UTC''',
		'exposed', '{user} IS NOT NULL AND {item} IS NOT NULL{where} AND {time} >= {since}',
		'exposures_in_batch', format(in_batch, '{user}'),
		'filters_in_batch', format(in_batch, 'f.user_id'),
		'head', CASE WHEN NOT of_table THEN $part$
@head_alone.sql
$part$ WHEN mode = 'trigger' THEN $part$
@head_trigger.sql
$part$ ELSE $part$
@head_log.sql
$part$ END,
		'start', $part$
@start.sql
$part$,
		'trusted', CASE WHEN of_table THEN $part$
@trusted.sql
$part$ ELSE '' END,
		'filters', CASE WHEN of_table THEN $part$
@filters.sql
$part$ WHEN windowed THEN $part$
@filters_windowed.sql
$part$ ELSE $part$
@filters_plain.sql
$part$ END,
		'lock', $part$
@lock.sql
$part$,
		'read', CASE WHEN mode = 'log' THEN $part$
@read_log.sql
$part$ ELSE $part$
@read.sql
$part$ END,
		'contains', $part$
@contains.sql
$part$,
		'track', $part$
@track.sql
$part$,
		'rebuild_batch', CASE WHEN distribution IS NULL THEN $part$
@rebuild_batch.sql
$part$ ELSE $part$
@rebuild_batch_citus.sql
$part$ END,
		'rebuild', $part$
@rebuild.sql
$part$,
		'remember', CASE WHEN windowed THEN $part$
@remember_windowed.sql
$part$ ELSE $part$
@remember_plain.sql
$part$ END,
		'add', $part$
@add.sql
$part$,
		'expire', CASE WHEN windowed THEN $part$
@expire.sql
$part$ ELSE '' END,
		'health', CASE WHEN of_table THEN $part$
@health.sql
$part$ ELSE $part$
@health_alone.sql
$part$ END,
		'rights', $part$
@rights.sql
$part$,
		'citus', CASE WHEN distribution IS NULL THEN '' ELSE $part$
@citus.sql
$part$ END,
		'needs_read_committed', CASE mode WHEN 'log' THEN $part$
@needs_read_committed.sql
$part$ ELSE '' END,
		'parallel_safe', CASE mode WHEN 'log' THEN '' ELSE ' PARALLEL SAFE' END,
		'insert_taken', CASE WHEN of_table THEN E'  Insert them as exposures in the\n-- same statement or transaction: a rebuild knows the exposures only.' ELSE '' END,
		'add_taken', CASE WHEN of_table THEN $part$
@add_taken.sql
$part$ ELSE E'\t\tat := clock_timestamp();	-- after the lock: never before what is in the filter
		SELECT take.user_id, taken AS items, array_fill(at, ARRAY[cardinality(taken)]) AS times, at AS oldest, at AS newest INTO shown;\n{remember_shown}' END,
		'take_declares', CASE WHEN of_table THEN '' ELSE E'\tat timestamp with time zone;\n\tshown record;' END,
		'remember_shown', CASE WHEN windowed THEN $part$
@remember_shown.sql
$part$ ELSE E'\t\tPERFORM {feed}.remember(shown.user_id, shown.items, shown.times);' END,
		'rebuild_checks', $part$
@rebuild_checks.sql
$part$,
		'removal_checks', $part$
@removal_checks.sql
$part$,
		'untracked', CASE mode WHEN 'trigger' THEN $part$
@untracked.sql
$part$ ELSE '0::bigint' END)
		|| CASE WHEN windowed THEN jsonb_build_object(
		'filter_stored', '{bloom}.bloom_union(f.items, f.recent)',
		'filter_now', '{bloom}.bloom_expire({filter_stored}, current_timestamp)',
		'in_window', ' AND e.shown_at >= present - interval {hours}',
		'bytes_stored', 'coalesce(pg_catalog.pg_column_size(f.items), 0) OPERATOR(pg_catalog.+) coalesce(pg_catalog.pg_column_size(f.recent), 0)',
		'and_expired', ', and how many expire() would remove',
		'expired', E',\n\tpg_catalog.count(*) FILTER (WHERE coalesce(f.since OPERATOR(pg_catalog.<=) (current_timestamp OPERATOR(pg_catalog.-) interval {hours} OPERATOR(pg_catalog.-) interval {slice_hours}), true)) AS expired')
		ELSE jsonb_build_object(
		'filter_stored', 'f.items',
		'filter_now', 'f.items',
		'in_window', '',
		'bytes_stored', 'pg_catalog.pg_column_size(f.items)',
		'and_expired', '',
		'expired', '') END;
	template := CASE WHEN NOT of_table THEN $template$
{head}
{start}

{filters}

{lock}

{remember}

{read}

{contains}

{add}

{expire}

{health}

{rights}
$template$ WHEN mode = 'trigger' THEN $template$
{head}
{start}

{filters}

{lock}

{track}

{rebuild_batch}

{rebuild}

{read}

{contains}

{health}

{rights}
$template$ ELSE $template$
{head}
{start}

{filters}

{lock}

{rebuild_batch}

{rebuild}

{read}

{contains}
{citus}

{health}

{rights}
$template$ END;
	names := jsonb_build_object(
		'version', extension.version,
		'call', command,
		'kind', kind,
		'kind_literal', quote_literal(kind),
		'settings', (SELECT coalesce(string_agg(format(E'-- %s = %s\n', n.name, coalesce(changed ->> n.name, 'NULL')), '' ORDER BY n.n), '')
			FROM unnest(argument_names) WITH ORDINALITY AS n(name, n) WHERE changed ? n.name),
		'feed', quote_ident(feed),
		'feed_literal', quote_literal(feed),
		'quoted_feed_literal', quote_literal(quote_ident(feed)),
		'filters_literal', quote_literal(quote_ident(feed) || '.filters'),
		'bloom', extension.schema,
		'=', user_type.operators ->> '3',
		'>', user_type.operators ->> '5',
		'<=', user_type.operators ->> '2',
		'user_type', user_type.name,	-- a domain could refuse NULL
		'user_column_type', user_type.name,
		'collate', user_type.collate_clause,
		'item_type', item_type.name,
		'width', quote_literal(width),
		'slices', slices,
		'hours', quote_literal(make_interval(secs => extract(epoch FROM width))),	-- a day has 24 in every time zone
		'slice_hours', quote_literal(make_interval(secs => extract(epoch FROM width) / slices)),
		'fpr', fpr,
		'alarming_fpr', fpr * 1.2,	-- the rate of a full filter varies by chance
		'retyped', coalesce(E'\n' || rtrim(NULLIF(retyped, ''), E'\n'), ''));
	IF of_table THEN
		names := names || jsonb_build_object(
		'track_literal', quote_literal(quote_ident(feed) || '.track'),
		'exposures', exposures.name,
		'exposures_literal', quote_literal(exposures.name),
		'user_column_type', user_attribute.column_type || CASE WHEN user_attribute.collated THEN user_type.collate_clause ELSE '' END,
		'user', format('e.%I', user_column),
		'item', CASE WHEN item_type.arrays = 1 THEN 'i.item' ELSE format('e.%I', item_column) END,
		'elements', CASE WHEN item_type.arrays = 1 THEN format(', unnest(e.%I) AS i(item)', item_column) ELSE '' END,
		'time', format('e.%I', time_column),
		'since', CASE WHEN utc THEN '(since AT TIME ZONE ''UTC'')' ELSE 'since' END,
		'where', coalesce(' AND e.' || quote_ident(condition), ''),
		'stored_fpr', CASE WHEN mode = 'log' THEN fpr * 0.99 ELSE fpr END,
		'rest_fpr', fpr * 0.01,
		'headroom', CASE WHEN mode = 'log' THEN 0 ELSE headroom END,
		'current_literal', quote_literal(format('%I.current(%s)', feed, user_type.name)),
		'unseen_literal', quote_literal(format('%I.unseen(%s, %s[])', feed, user_type.name, item_type.name)),
		'take_literal', quote_literal(format('%I.take(%s, %s[], integer)', feed, user_type.name, item_type.name)),
		'distribute', CASE WHEN filters_distributed THEN '' ELSE format('SELECT pg_catalog.create_distributed_table(%L, ''user_id'', colocate_with => %L);',
			quote_ident(feed) || '.filters', exposures.name) END,
		'oldest_literal', quote_literal(format('SELECT EXTRACT(EPOCH FROM LEAST(%s.bloom_oldest_transaction(), '
			'(SELECT pg_catalog.min(p.prepared) FROM pg_catalog.pg_prepared_xacts AS p WHERE p.database OPERATOR(pg_catalog.=) pg_catalog.current_database())))', extension.schema)));
	END IF;
	EXECUTE format('SELECT %s.bloom_feed_fill($1, $2, $3)', extension.schema) INTO script USING template, parts, jsonb_strip_nulls(names);
END
$function$;

COMMENT ON FUNCTION bloom_feed_script(jsonb, oid, boolean) IS
'internal: the script of a feed for an owner, the call that returns it, and what is wrong; looks into the catalogs only';

CREATE FUNCTION bloom_feed_sql(
@arguments.sql
) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
SET IntervalStyle = postgres
SET extra_float_digits = 1
AS $function$
DECLARE
	problems text[];
	script text;
BEGIN
	IF num_nulls(feed, user_column, item_column, time_column, fpr, headroom, mode) > 0 THEN
		RAISE EXCEPTION 'arguments of a feed must not be null, except exposures, width, slices, where and types'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF exposures IS NOT NULL AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = exposures) THEN
		RAISE EXCEPTION 'relation with OID % does not exist', exposures::oid USING ERRCODE = 'undefined_table';
	END IF;
	EXECUTE format('SELECT s.problems, s.script FROM %I.bloom_feed_script($1, (SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user), true) AS s', (
		SELECT n.nspname FROM pg_extension x JOIN pg_namespace n ON n.oid = x.extnamespace WHERE x.extname = 'bloomexp'))
	INTO problems, script USING
@given.sql
	;
	IF cardinality(problems) > 0 THEN
		RAISE EXCEPTION 'cannot make feed "%"%', feed, coalesce(' of ' || exposures::text, '')
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = array_to_string(problems, E'\n');
	END IF;
	RETURN script;
END
$function$;

COMMENT ON FUNCTION bloom_feed_sql IS
'the script of a feed, the SQL that keeps one filter per user: of what the rows of exposures record as shown in the last width, or, without a table, of what its calls say; raises an error that lists all that is in the way';

CREATE FUNCTION bloom_create_feed(
@arguments.sql
) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
	script text;
	message text;
	detail text;
BEGIN
	EXECUTE format('SELECT %I.bloom_feed_sql($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)', (
		SELECT n.nspname FROM pg_extension x JOIN pg_namespace n ON n.oid = x.extnamespace WHERE x.extname = 'bloomexp'))
	INTO script USING feed, exposures, user_column, item_column, time_column, width, fpr, headroom, slices, mode, "where", user_type, item_type;
	IF EXISTS (SELECT FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid WHERE n.nspname = feed) THEN
		RAISE EXCEPTION 'feed "%" exists', feed
			USING ERRCODE = 'duplicate_schema',
				HINT = 'To change it, apply what bloom_feed_sql() returns; the filters stay. To undo it: DROP SCHEMA ' || quote_ident(feed) || ' CASCADE.';
	END IF;
	EXECUTE script;
EXCEPTION
	WHEN lock_not_available THEN	-- its context would be the whole script
		RAISE EXCEPTION 'could not lock % for feed "%"', coalesce(exposures::text, 'the filters'), feed
			USING ERRCODE = 'lock_not_available', HINT = 'Open transactions and vacuums of the table hold it. Try again, with a lock_timeout of two seconds if autovacuum runs.';
	WHEN object_not_in_prerequisite_state THEN	-- a list of problems, without a context of calls
		GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
		RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state', MESSAGE = message, DETAIL = detail;
END
$function$;

COMMENT ON FUNCTION bloom_create_feed IS
'makes a feed: runs the script of bloom_feed_sql() with these arguments; the schema feed must not exist or be empty';

@feeds.sql
