-- The columns of the exposures, or for a feed without a table the types of users and items.

CREATE FUNCTION bloomexp.base_type(type oid,
	OUT base oid,	-- the type below all domains and arrays
	OUT name text,	-- qualified, unless it is a keyword
	OUT arrays integer,	-- how many levels of arrays there are
	OUT chain oid[])	-- all types on the way, the base type first
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH RECURSIVE d(oid, level, arrays) AS (
		SELECT type, 0, 0
		UNION ALL SELECT CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.typelem END, d.level + 1,
			d.arrays + (t.typtype <> 'd')::integer
		FROM d JOIN pg_type AS t ON t.oid = d.oid
		WHERE (t.typtype = 'd' OR t.typcategory = 'A') AND d.level < 100)	-- anybody can nest more
	SELECT t.oid,
		-- format_type() prints bpchar and bit as types of length 1
		CASE WHEN t.oid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)
			THEN format_type(t.oid, NULL)
			ELSE format('%I.%I', n.nspname, t.typname) END,
		c.arrays, c.types
	FROM (
		SELECT array_agg(d.oid ORDER BY d.level DESC) AS types, max(d.arrays) AS arrays FROM d) AS c
	JOIN pg_type AS t ON t.oid = c.types[1] JOIN pg_namespace AS n ON n.oid = t.typnamespace
$$;

COMMENT ON FUNCTION bloomexp.base_type(oid) IS
'the type below all domains and arrays of a type, and how a script names it';

CREATE FUNCTION bloomexp.comparisons(type oid) RETURNS jsonb
LANGUAGE plpgsql STABLE	-- plpgsql keeps the plan: a rebuild calls this for each batch
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT jsonb_object_agg(p.amopstrategy, CASE n.nspname WHEN 'pg_catalog' THEN o.oprname
			ELSE format('OPERATOR(%I.%s)', n.nspname, o.oprname) END)
		FROM (
			SELECT k.opcfamily, k.opcintype
			FROM pg_type AS b, pg_opclass AS k
			JOIN pg_am AS m ON m.oid = k.opcmethod AND m.amname = 'btree'
			WHERE b.oid = type AND b.typtype NOT IN ('c', 'p') AND k.opcdefault
				AND (k.opcintype = b.oid
					OR k.opcintype::regtype::text = CASE b.typtype
						WHEN 'e' THEN 'anyenum' WHEN 'r' THEN 'anyrange'
						WHEN 'm' THEN 'anymultirange' END
					OR EXISTS (SELECT FROM pg_cast AS c
						WHERE c.castsource = b.oid AND c.casttarget = k.opcintype
							AND c.castmethod = 'b' AND c.castcontext = 'i'))
			ORDER BY k.opcintype = b.oid DESC LIMIT 1) AS c
		JOIN pg_amop AS p ON p.amopfamily = c.opcfamily AND p.amoplefttype = c.opcintype
			AND p.amoprighttype = c.opcintype AND p.amoppurpose = 's'
		JOIN pg_operator AS o ON o.oid = p.amopopr
		JOIN pg_namespace AS n ON n.oid = o.oprnamespace);
END
$$;

COMMENT ON FUNCTION bloomexp.comparisons(oid) IS
'the operators of the default B-tree operator class of a type by strategy number, as {"3": "=", '
'...}, with their schema outside pg_catalog; NULL if the type has none';

CREATE FUNCTION bloomexp.item_kind(item_type oid) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE
		WHEN item_type IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) THEN 'integer'
		WHEN item_type IN ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype) THEN 'text'
		WHEN item_type IN ('uuid'::regtype, 'bytea'::regtype) THEN format_type(item_type, NULL) END
$$;

COMMENT ON FUNCTION bloomexp.item_kind(oid) IS
'the kind of items for a type: integer, text, uuid or bytea; NULL if its values cannot be items';

CREATE FUNCTION bloomexp.short_id(user_type oid) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE
		WHEN t.typlen <> -1 THEN NULL
		-- both functions count the bytes before compression
		WHEN t.oid = ANY ('{text,varchar,bpchar,bytea}'::regtype[])
		THEN 'pg_catalog.octet_length(%s) OPERATOR(pg_catalog.<=) 2000'
		-- an array of one value has 24 bytes more than the value
		ELSE 'pg_catalog.pg_column_size(ARRAY[%s]) OPERATOR(pg_catalog.<=) 2024' END
	FROM pg_type AS t WHERE t.oid = user_type
$$;

COMMENT ON FUNCTION bloomexp.short_id(oid) IS
'the condition that the id of a user of this type has at most 2,000 bytes, so that it fits into an '
'index, with %s in place of the id; NULL for types of a fixed length';

CREATE FUNCTION bloomexp.feed_columns(arguments jsonb,
	OUT argument text, OUT name text,
	OUT attnum smallint,	-- NULL: there is no such column
	OUT attgenerated "char",
	OUT type oid, OUT base oid, OUT base_name text, OUT arrays integer, OUT chain oid[],
	OUT collation oid,	-- the one that compares values; 0 if the type has none
	OUT collation_name text,
	OUT deterministic boolean)
RETURNS SETOF record
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT w.argument, w.name, c.attnum, c.attgenerated, t.type, b.base, b.name, b.arrays, b.chain,
		coalesce(l.oid, 0), quote_ident(n.nspname) || '.' || quote_ident(l.collname),
		l.collisdeterministic
	FROM (VALUES
		(1, 'user_column', arguments ->> 'user_column',
			coalesce(arguments ->> 'user_type', 'bigint')),
		(2, 'item_column', arguments ->> 'item_column',
			coalesce(arguments ->> 'item_type', 'bigint')),
		(3, 'time_column', arguments ->> 'time_column', NULL),
		(4, 'where', arguments ->> 'where', NULL)) AS w(n, argument, name, type)
	LEFT JOIN pg_attribute AS c ON c.attrelid = to_regclass(arguments ->> 'exposures')
		AND c.attname = w.name AND c.attnum > 0 AND NOT c.attisdropped
	CROSS JOIN LATERAL (SELECT CASE WHEN arguments ->> 'exposures' IS NOT NULL THEN c.atttypid
		WHEN w.type ~ '^(-|[0-9]+)$' THEN w.type::regtype ELSE to_regtype(w.type) END) AS t(type)
	LEFT JOIN LATERAL bloomexp.base_type(t.type) AS b ON true
	LEFT JOIN pg_type AS bt ON bt.oid = b.base
	-- Without a table texts are compared byte by byte, because an upgrade of the operating system
	-- can change other orders, and then the index of the filters would be wrong.
	LEFT JOIN pg_collation AS l ON l.oid = CASE WHEN bt.typcollation <> 0
		THEN coalesce(NULLIF(c.attcollation, 0), '"C"'::regcollation) END
	LEFT JOIN pg_namespace AS n ON n.oid = l.collnamespace
	WHERE CASE WHEN arguments ->> 'exposures' IS NULL THEN w.type IS NOT NULL
		-- to_regclass() accepts any number, even if no table has it
		ELSE EXISTS (SELECT FROM pg_class AS e WHERE e.oid = to_regclass(arguments ->> 'exposures'))
			AND w.name IS NOT NULL END
	ORDER BY w.n
$$;

COMMENT ON FUNCTION bloomexp.feed_columns(jsonb) IS
'a row for each column that the arguments of a feed name; for a feed without a table, a row for '
'the type of users and one for the type of items';

CREATE FUNCTION bloomexp.check_columns(arguments jsonb, role oid) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
	exposures regclass := to_regclass(arguments ->> 'exposures');
	has_type text;	-- the beginning of a sentence
	c record;
BEGIN
	FOR c IN SELECT * FROM bloomexp.feed_columns(arguments)
	LOOP
		has_type := CASE	-- the argument is user_column, item_column or time_column
			WHEN exposures IS NULL THEN split_part(c.argument, '_', 1) || '_type is'
			ELSE format('%s column %I has type', initcap(split_part(c.argument, '_', 1)), c.name) END;
		IF exposures IS NOT NULL AND c.attnum IS NULL THEN
			RETURN NEXT format('%s has no column %I: name the column with %s => ...',
				arguments ->> 'exposures', c.name, quote_ident(c.argument));
		ELSIF exposures IS NOT NULL
			AND NOT has_column_privilege(role, exposures, c.attnum, 'SELECT') THEN
			RETURN NEXT format(
				'Role %1$I may not read column %2$I: GRANT SELECT ON %3$s TO %1$I.',
				pg_get_userbyid(role), c.name, arguments ->> 'exposures');
		ELSIF c.attgenerated = 'v' AND arguments ->> 'trigger' = 'true' THEN
			RETURN NEXT format('Column %I is virtual, and triggers do not see its value: '
				'make it STORED, or use trigger => false.', c.name);
		ELSIF c.argument = 'user_column' THEN
			IF c.arrays > 0 OR bloomexp.comparisons(c.base) IS NULL THEN
				RETURN NEXT format(
					'%s %s: it must be a scalar type with a default B-tree operator class.',
					has_type, format_type(c.type, NULL));
			ELSIF (
				SELECT n.nspname LIKE 'pg\_temp%'
				FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace
				WHERE t.oid = c.base) THEN
				RETURN NEXT format('%s %s: it is temporary, and a feed would outlive it.',
					has_type, format_type(c.type, NULL));
			END IF;
		ELSIF c.argument = 'item_column' THEN
			IF c.arrays > (exposures IS NOT NULL)::integer
				OR bloomexp.item_kind(c.base) IS NULL THEN
				RETURN NEXT format('%s %s: it must be smallint, integer, bigint, '
					'text, varchar, uuid or bytea%s.',
					has_type, format_type(c.type, NULL),
					CASE WHEN exposures IS NULL THEN '' ELSE ', or an array of one of them' END);
			ELSIF NOT c.deterministic THEN
				RETURN NEXT format('Item column %I has a nondeterministic collation: items are '
					'compared byte by byte.', c.name);
			END IF;
		ELSIF c.argument = 'time_column' THEN
			IF c.arrays > 0 OR c.base NOT IN ('timestamp'::regtype, 'timestamptz'::regtype) THEN
				RETURN NEXT format('%s %s: it must be timestamp with '
					'time zone, or timestamp without, which is read as UTC. '
					'For example: ALTER TABLE %s ALTER COLUMN %I TYPE timestamptz USING ...',
					has_type, format_type(c.type, NULL), arguments ->> 'exposures', c.name);
			END IF;
		ELSIF c.arrays > 0 OR c.base <> 'boolean'::regtype THEN
			RETURN NEXT format('Column %I has type %s: "where" names a boolean column. '
				'Write another condition into the script of bloomexp.feed_sql().',
				c.name, format_type(c.type, NULL));
		END IF;
	END LOOP;
END
$$;

COMMENT ON FUNCTION bloomexp.check_columns(jsonb, oid) IS
'the problems with the columns of the exposures, or with the types of users and items, if the role '
'owns the feed: a sentence for each';
