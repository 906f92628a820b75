				-- The type that others are domains or arrays of: its name, qualified unless it is a keyword, how often the
				-- type is an array of it, the types that lead to it, and the operators of its B-tree.
				WITH RECURSIVE d(oid, level, arrays) AS (
					SELECT t.oid, 0, 0 UNION ALL
					SELECT CASE x.typtype WHEN 'd' THEN x.typbasetype ELSE x.typelem END, d.level + 1, d.arrays + (x.typtype <> 'd')::integer
					FROM d JOIN pg_type x ON x.oid = d.oid WHERE x.typtype = 'd' OR x.typcategory = 'A'),
				chain AS (SELECT array_agg(d.oid ORDER BY d.level DESC) AS types, max(d.arrays) AS arrays FROM d)
				SELECT b.oid AS base, chain.arrays, chain.types AS chain, b.typarray AS array_type,
					-- format_type() would make character and bit of length 1 of bpchar and bit
					CASE WHEN b.oid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) THEN format_type(b.oid, NULL)
						ELSE format('%I.%I', bn.nspname, b.typname) END AS base_name, btree.*
				FROM chain JOIN pg_type b ON b.oid = chain.types[1] JOIN pg_namespace bn ON bn.oid = b.typnamespace
				CROSS JOIN LATERAL (
					SELECT array_agg(n.oid) AS operator_schemas, jsonb_object_agg(p.amopstrategy,
						CASE n.nspname WHEN 'pg_catalog' THEN o.oprname ELSE format('OPERATOR(%I.%s)', n.nspname, o.oprname) END) AS operators
					FROM (
						SELECT c.opcfamily, c.opcintype
						FROM pg_opclass c JOIN pg_am m ON m.oid = c.opcmethod AND m.amname = 'btree'
						WHERE c.opcdefault AND (c.opcintype = b.oid
							OR c.opcintype::regtype::text = CASE b.typtype WHEN 'e' THEN 'anyenum' WHEN 'r' THEN 'anyrange' WHEN 'm' THEN 'anymultirange' END
							OR EXISTS (SELECT FROM pg_cast k
								WHERE k.castsource = b.oid AND k.casttarget = c.opcintype AND k.castmethod = 'b' AND k.castcontext = 'i'))
						ORDER BY c.opcintype = b.oid DESC LIMIT 1) AS c
					JOIN pg_amop p ON p.amopfamily = c.opcfamily AND p.amoplefttype = c.opcintype
						AND p.amoprighttype = c.opcintype AND p.amoppurpose = 's'
					JOIN pg_operator o ON o.oid = p.amopopr JOIN pg_namespace n ON n.oid = o.oprnamespace
					WHERE b.typtype NOT IN ('c', 'p')) AS btree
