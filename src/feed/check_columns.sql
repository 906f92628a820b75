
	-- The columns, or for a feed without a table the types of users and items: what they are, and how the script names them.
	DECLARE
		c record;
	BEGIN
		FOR c IN
			SELECT w.argument, w.name, a.attnum, a.attgenerated, a.attcollation, a.attcollation <> t.typcollation AS collated,
				coalesce(format_type(t.oid, NULL), w.type) AS type, format_type(a.atttypid, a.atttypmod) AS full_type,
				-- only a keyword needs no schema: names with a modifier, and those of integers
				CASE WHEN t.typnamespace = 'pg_catalog'::regnamespace AND a.atttypmod = -1 AND t.typname !~ '^int[248]$'
					THEN format('pg_catalog.%I', t.typname) ELSE format_type(a.atttypid, a.atttypmod) END AS column_type,
				coalesce(l.clause, '') AS collate_clause, l.collisdeterministic, l.collnamespace, base.*
			FROM (VALUES
				(1, 'user_column', argument.user_column, coalesce(argument.user_type, 'bigint')),
				(2, 'item_column', argument.item_column, coalesce(argument.item_type, 'bigint')),
				(3, 'time_column', argument.time_column, NULL),
				(4, 'where', argument."where", NULL)) AS w(n, argument, name, type)
			LEFT JOIN pg_attribute a ON a.attrelid = exposures.oid AND a.attname = w.name AND a.attnum > 0 AND NOT a.attisdropped
			LEFT JOIN pg_type t ON t.oid = CASE WHEN of_table THEN a.atttypid ELSE w.type::regtype END
			LEFT JOIN LATERAL (
				SELECT c.*, format(' COLLATE %I.%I', n.nspname, c.collname) AS clause
				FROM pg_collation c JOIN pg_namespace n ON n.oid = c.collnamespace
				WHERE c.oid = CASE WHEN of_table THEN a.attcollation WHEN w.n = 1 THEN t.typcollation END) AS l ON true
			LEFT JOIN LATERAL (
@base_type.sql
			) AS base ON true
			WHERE CASE WHEN of_table THEN exposures.oid IS NOT NULL AND w.name IS NOT NULL ELSE w.type IS NOT NULL END
			ORDER BY w.n
		LOOP
			IF of_table AND c.attnum IS NULL THEN
				problems := problems || format('%s has no column %I: name the column with %s => ''...''.',
					exposures.name, c.name, quote_ident(c.argument));
				CONTINUE;
			ELSIF of_table AND NOT has_column_privilege(role, exposures.oid, c.attnum, 'SELECT') THEN
				problems := problems || format('You may not read column %I: GRANT SELECT ON %s TO %I.',
					c.name, exposures.name, pg_get_userbyid(role));
				CONTINUE;
			ELSIF c.attgenerated = 'v' AND argument.mode = 'trigger' THEN
				problems := problems || format('Column %I is virtual, and triggers do not see its value: '
					'make it STORED, or use mode => ''log''.', c.name);
				CONTINUE;
			END IF;
			types := types || c.chain;
			schemas := schemas || c.collnamespace || c.operator_schemas;

			CASE c.argument
			WHEN 'user_column' THEN
				users := c;
				IF c.operators IS NULL OR c.arrays > 0 THEN
					problems := problems || format('Users have type %s%s: it must be a scalar type with a default B-tree '
						'operator class.', c.type, CASE WHEN of_table THEN format(' in column %I', c.name) END);
				END IF;
			WHEN 'item_column' THEN
				items := c;
				IF (c.arrays <= of_table::integer
					AND c.base = ANY ('{int2,int4,int8,text,varchar,bpchar,uuid,bytea}'::regtype[])) IS NOT TRUE THEN
					problems := problems || format('Items have type %s%s: it must be smallint, integer, bigint, text, varchar, '
						'uuid or bytea%s.', c.type, CASE WHEN of_table THEN format(' in column %I', c.name) END,
						CASE WHEN of_table THEN ', or an array of one of them' END);
				ELSIF NOT c.collisdeterministic AND of_table THEN
					problems := problems || format('Item column %I has a nondeterministic collation: items are compared byte by byte.',
						c.name);
				END IF;
			WHEN 'time_column' THEN
				utc := c.base = 'timestamp'::regtype;
				IF c.arrays > 0 OR c.base NOT IN ('timestamp'::regtype, 'timestamptz'::regtype) THEN
					problems := problems || format('Time column %I has type %s: it must be timestamp with time zone, or timestamp '
						'without, which is read as UTC. For example: ALTER TABLE %s ALTER COLUMN %1$I TYPE timestamptz USING ...',
						c.name, c.type, exposures.name);
				END IF;
			WHEN 'where' THEN
				IF c.arrays > 0 OR c.base <> 'boolean'::regtype THEN
					problems := problems || format('Column %I has type %s: "where" names a boolean column. '
						'Write another condition into the script of bloom_feed_sql().', c.name, c.type);
				END IF;
			END CASE;
		END LOOP;
	END;
