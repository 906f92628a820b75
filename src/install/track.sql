--
-- The live path and the nightly job.
--
-- Why no exposure is lost.  An exposure is written, and added to the filter, in
-- one transaction; the add holds a lock on the row of the filter until that
-- transaction ends, even if it changes nothing.  A rebuild locks the row first,
-- and then aggregates in a statement of its own, whose snapshot is younger than
-- the lock.  So for each user and each writer there are two cases:
--
--	1. The writer has the lock first.  The rebuild gets it when the writer has
--	   ended, so its snapshot has the exposure if the writer has committed.
--	2. The rebuild has the lock first.  The writer gets it when the rebuild has
--	   committed or failed, and adds to the version that it left.  If the rebuild
--	   has deleted the row, the writer's ON CONFLICT inserts a new one: there was
--	   no other exposure, and writers that come later wait for the new row.
--
-- A user without a row has nothing to lock.  There the rebuild inserts what its
-- snapshot has; and if a row has come up meanwhile, it unites, never overwrites.
--
-- This needs READ COMMITTED in the rebuild, which it sets.  A writer under a
-- stricter level may fail to serialize, but does not lose an exposure.
--
-- A rebuild does not wait for a writer while it holds the filters of a batch: those
-- that are locked by others it does afterwards, one in a transaction.  So nobody
-- waits for it longer than its own work takes, and writers that lock several users
-- in an order of their own do not deadlock with it.
--
-- The extension is relocatable, and these functions run with the rights of the
-- caller, in a schema in which others may be able to create functions and
-- operators.  So what they generate names every schema, and it gives each
-- argument exactly the type that our function declares: PostgreSQL takes such a
-- match before all others, and there can be no second one.  Hence the casts on all
-- arguments, the arguments that have defaults, and bloom_track_add() and
-- bloom_track_contains() instead of functions of anyarray.
--

CREATE FUNCTION bloom_filter_column(target regclass, filter_column name) RETURNS name
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	relation_name text := (SELECT c.relname FROM pg_class AS c WHERE c.oid = target);
	filter_type oid := (SELECT t.oid FROM pg_extension AS e JOIN pg_type AS t ON t.typnamespace = e.extnamespace
						WHERE e.extname = 'bloomexp' AND t.typname = 'bloom');
	column_type oid;
	found_columns name[];
BEGIN
	IF relation_name IS NULL THEN
		RAISE 'relation with OID % does not exist', target::oid USING ERRCODE = 'undefined_table';
	END IF;
	IF filter_column IS NOT NULL THEN
		SELECT a.atttypid INTO column_type
		FROM pg_attribute AS a
		WHERE a.attrelid = target AND a.attname = filter_column AND a.attnum > 0 AND NOT a.attisdropped;
		IF NOT FOUND THEN
			RAISE 'column "%" of relation "%" does not exist', filter_column, relation_name USING ERRCODE = 'undefined_column';
		END IF;
		IF column_type <> filter_type THEN
			RAISE 'column "%" of relation "%" is not of type bloom', filter_column, relation_name USING ERRCODE = 'datatype_mismatch';
		END IF;
		RETURN filter_column;
	END IF;

	found_columns := ARRAY(SELECT a.attname FROM pg_attribute AS a
						   WHERE a.attrelid = target AND a.atttypid = filter_type AND a.attnum > 0 AND NOT a.attisdropped
						   ORDER BY a.attnum);
	IF cardinality(found_columns) = 0 THEN
		RAISE 'relation "%" has no column of type bloom', relation_name USING ERRCODE = 'undefined_column';
	END IF;
	IF cardinality(found_columns) > 1 THEN
		RAISE 'relation "%" has more than one column of type bloom', relation_name
			USING ERRCODE = 'ambiguous_column',
				DETAIL = format('They are %s.', array_to_string(ARRAY(SELECT format('"%s"', c) FROM unnest(found_columns) AS c), ', ')),
				HINT = 'Name one of them as filter_column.';
	END IF;
	RETURN found_columns[1];
END
$$;

COMMENT ON FUNCTION bloom_filter_column(regclass, name) IS
'for bloom_rebuild() and bloom_overview(): the column of the filters, which is the only one of type bloom if none is named';

CREATE FUNCTION bloom_time_column(source regclass, time_column name) RETURNS name
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	relation_name text := (SELECT c.relname FROM pg_class AS c WHERE c.oid = source);
	column_type record;
BEGIN
	SELECT t.oid, t.typcategory INTO column_type
	FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
	WHERE a.attrelid = source AND a.attname = time_column AND a.attnum > 0 AND NOT a.attisdropped;
	IF NOT FOUND THEN
		RAISE 'column "%" of relation "%" does not exist', time_column, relation_name USING ERRCODE = 'undefined_column';
	END IF;
	IF column_type.typcategory <> 'D' THEN
		RAISE 'column "%" of relation "%" is not of a date/time type', time_column, relation_name
			USING ERRCODE = 'datatype_mismatch',
				DETAIL = format('It is of type %s.', format_type(column_type.oid, NULL)),
				HINT = 'Name a column of type timestamp with time zone, timestamp or date.';
	END IF;
	RETURN time_column;
END
$$;

COMMENT ON FUNCTION bloom_time_column(regclass, name) IS
'for bloom_track(), bloom_rebuild() and bloom_overview(): checks that a column is of a type of dates and times';

CREATE FUNCTION bloom_track_keys(
	schema name,
	target regclass,
	filter_column name,
	target_user_column name,
	source regclass,
	user_column name,
	item_column name,
	time_column name,
	OUT target_name text,
	OUT source_name text,
	OUT key_type text,
	OUT equal text,
	OUT greater text,
	OUT target_key text,
	OUT source_user text,
	OUT source_item text,
	OUT source_time text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	relations regclass[] := ARRAY[target, source, source];
	names name[] := ARRAY[target_user_column, user_column, item_column];
	attnums int2[];
	types oid[];
	bases oid[];				-- the same without domains
	collations oid[];
	column_found record;
	user_type text;
	index_order record;
	operators text[];
	untrusted record;
BEGIN
	-- Names with a schema, since a transition table or a WITH may have the name alone.
	SELECT max(x.name) FILTER (WHERE x.oid = target AND x.relkind = ANY ('{r,p}'::"char"[])),
		max(x.name) FILTER (WHERE x.oid = source) INTO target_name, source_name
	FROM (SELECT c.oid, c.relkind, format('%I.%I', n.nspname, c.relname) AS name
		  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		  WHERE c.oid = ANY (ARRAY[target::oid, source::oid])) AS x;
	IF target_name IS NULL THEN
		RAISE '"%" is not a table', (SELECT c.relname FROM pg_class AS c WHERE c.oid = target)
			USING ERRCODE = 'wrong_object_type', DETAIL = 'Filters are kept in a table or a partitioned table.';
	END IF;
	EXECUTE format('SELECT %I.bloom_filter_column($1, $2)', schema) USING target, filter_column;

	FOR i IN 1 .. 3 LOOP
		SELECT a.attnum, a.atttypid, a.attcollation INTO column_found
		FROM pg_attribute AS a
		WHERE a.attrelid = relations[i] AND a.attname = names[i] AND a.attnum > 0 AND NOT a.attisdropped;
		IF NOT FOUND THEN
			RAISE 'column "%" of relation "%" does not exist', names[i],
				(SELECT c.relname FROM pg_class AS c WHERE c.oid = relations[i]) USING ERRCODE = 'undefined_column';
		END IF;
		attnums[i] := column_found.attnum;
		types[i] := column_found.atttypid;
		collations[i] := column_found.attcollation;
		bases[i] := types[i];
		WHILE (SELECT t.typtype FROM pg_type AS t WHERE t.oid = bases[i]) = 'd' LOOP
			bases[i] := (SELECT t.typbasetype FROM pg_type AS t WHERE t.oid = bases[i]);
		END LOOP;
	END LOOP;

	-- The order of users is that of the index by which ON CONFLICT finds their rows.
	SELECT c.opcfamily AS family, c.opcintype AS type INTO index_order
	FROM pg_index AS i JOIN pg_opclass AS c ON c.oid = i.indclass[0]
	WHERE i.indrelid = target AND i.indnkeyatts = 1 AND i.indkey[0] = attnums[1] AND c.opcdefault
		AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL
	LIMIT 1;
	IF NOT FOUND THEN
		RAISE 'table "%" has no unique index on column "%" alone',
			(SELECT c.relname FROM pg_class AS c WHERE c.oid = target), target_user_column
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = format('ALTER TABLE %s ADD PRIMARY KEY (%I);', target_name, target_user_column);
	END IF;

	-- (Subqueries here and below keep the plans at index scans.)
	operators := ARRAY(SELECT (SELECT format('OPERATOR(%I.%s)', (SELECT n.nspname FROM pg_namespace AS n
																   WHERE n.oid = o.oprnamespace), o.oprname)
							   FROM pg_operator AS o WHERE o.oid = m.amopopr)
					   FROM pg_amop AS m
					   WHERE m.amopfamily = index_order.family
						   AND m.amoplefttype = index_order.type AND m.amoprighttype = index_order.type
					   ORDER BY m.amopstrategy);
	equal := operators[3];
	greater := operators[5];

	-- Users are compared as what these operators take, so that nothing fits better, such
	-- as an operator for a domain.  No index minds that cast.  (Operators for a
	-- polymorphic type, as those of enums, are in pg_catalog, where nobody can add one.)
	user_type := (SELECT format('%I.%I', n.nspname, t.typname)
				  FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace WHERE t.oid = types[1]);
	key_type := (SELECT CASE WHEN t.typtype = 'p' THEN user_type ELSE format('%I.%I', n.nspname, t.typname) END
				 FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace WHERE t.oid = index_order.type);
	target_key := format('f.%I::%s', target_user_column, key_type);

	-- Users of both tables must be told apart alike.  A cast that changes nothing is
	-- left out, for it keeps an index of the source from being used.
	source_user := format('e.%I', user_column);
	IF types[2] <> types[1] THEN
		source_user := format('%s::%s', source_user, user_type);
	END IF;
	IF collations[2] <> collations[1] AND collations[1] <> 0 THEN
		source_user := (SELECT format('(%s COLLATE %I.%I)', source_user, n.nspname, c.collname)
						FROM pg_collation AS c JOIN pg_namespace AS n ON n.oid = c.collnamespace
						WHERE c.oid = collations[1]);
	END IF;

	-- The owner of a type can make casts of it by any function.  There must be none that
	-- brings in users of the other table or from text, and none that lets another
	-- operator than that of a polymorphic type fit.
	SELECT c.castsource, c.casttarget, p.oid::regprocedure AS function INTO untrusted
	FROM pg_cast AS c JOIN pg_proc AS p ON p.oid = c.castfunc
	WHERE (c.castsource = bases[1] AND c.castcontext = 'i'
		   OR c.castsource = ANY (ARRAY[bases[2], 'text'::regtype::oid]) AND c.casttarget = ANY (ARRAY[bases[1], index_order.type]))
		AND c.castsource <> c.casttarget
		AND NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.oid = p.proowner AND r.rolsuper)
	LIMIT 1;
	IF FOUND THEN
		RAISE 'cast from type % to type % of users is not trusted',
			format_type(untrusted.castsource, NULL), format_type(untrusted.casttarget, NULL)
			USING ERRCODE = 'feature_not_supported',
				DETAIL = format('It calls function %s, whose owner is not a superuser.', untrusted.function),
				HINT = 'Drop the cast, or let users be of another type.';
	END IF;

	source_item := (SELECT CASE
						WHEN t.oid = ANY ('{int2,int4,int8}'::regtype[]) THEN 'int8'
						WHEN t.typcategory = 'S' THEN 'text'
						WHEN t.oid = ANY ('{uuid,bytea}'::regtype[]) THEN t.typname END
					FROM pg_type AS t WHERE t.oid = bases[3]);
	IF source_item IS NULL THEN
		RAISE 'items of type % cannot be in a filter', format_type(types[3], NULL)
			USING ERRCODE = 'datatype_mismatch',
				DETAIL = 'Items are integers (smallint, integer, bigint), text (text, varchar, char), uuid or bytea.';
	END IF;
	source_item := format('e.%I::pg_catalog.%s', item_column, source_item);

	IF time_column IS NOT NULL THEN
		EXECUTE format('SELECT %I.bloom_time_column($1, $2)', schema) USING source, time_column;
		source_time := format('e.%I::pg_catalog.timestamptz', time_column);
	END IF;
END
$$;

COMMENT ON FUNCTION bloom_track_keys(name, regclass, name, name, regclass, name, name, name) IS
'checks the tables and columns given to bloom_track() and bloom_rebuild(), and tells them how to write users, items and times';

CREATE FUNCTION bloom_track_statements(
	schema text,
	source regclass,
	new_table text,
	arguments text[],
	OUT target regclass,
	OUT statements text,
	OUT missed text)
LANGUAGE plpgsql STABLE
-- (so that a rate is written with all its digits)
SET search_path = pg_catalog, pg_temp SET extra_float_digits = 1 AS $$
DECLARE
	target_name text[];
	time_column text;
	target_user_column text := arguments[3];
	width interval := '30 days';
	slices int4 := 6;
	fpr float8 := 0.01;
	setting text;
	value text;
	keys record;
	shown text;
	start text;
	add text;
	items text;
	added text;
BEGIN
	IF cardinality(arguments) < 4 THEN
		RAISE 'bloom_track() needs at least 4 arguments, not %', cardinality(arguments)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'They are the table of the filters, its filter column, the user column and the item column.';
	END IF;
	FOR i IN 5 .. cardinality(arguments) LOOP
		setting := split_part(arguments[i], '=', 1);
		value := substr(arguments[i], length(setting) + 2);
		IF setting = 'width' THEN
			width := value;
		ELSIF setting = 'slices' THEN
			slices := value;
		ELSIF setting = 'fpr' THEN
			fpr := value;
		ELSIF setting = 'target_user_column' THEN
			target_user_column := value;
		ELSIF i = 5 THEN
			time_column := arguments[i];
		ELSE
			RAISE 'unrecognized argument of bloom_track(): "%"', arguments[i]
				USING ERRCODE = 'invalid_parameter_value',
					HINT = 'The columns are followed by width=..., slices=..., fpr=... or target_user_column=....';
		END IF;
	END LOOP;

	-- A table without a schema is in that of the exposures, whatever search_path says.
	target_name := parse_ident(arguments[1]);
	IF cardinality(target_name) = 1 THEN
		target_name := (SELECT ARRAY[n.nspname::text, target_name[1]]
						FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
						WHERE c.oid = source);
	END IF;
	target := format('%I.%I', target_name[1], target_name[2]);

	EXECUTE format('SELECT * FROM %I.bloom_track_keys($1, $2, $3, $4, $5, $6, $7, $8)', schema)
	INTO keys USING schema::name, target, arguments[2]::name, target_user_column::name,
		source, arguments[3]::name, arguments[4]::name, time_column::name;

	-- One row a user, with the new items and, for a filter with a window, their times.
	shown := format('SELECT %s AS u, pg_catalog.array_agg(%s) AS items, %s AS times FROM %I AS e '
		'WHERE e.%I IS NOT NULL AND e.%I IS NOT NULL GROUP BY 1',
		keys.source_user, keys.source_item,
		CASE WHEN time_column IS NULL THEN 'NULL' ELSE format('pg_catalog.array_agg(%s)', keys.source_time) END,
		new_table, arguments[3], arguments[4]);
	add := format('%I.bloom_track_add', schema);
	IF time_column IS NULL THEN
		start := format('%I.bloom_new(GREATEST(100::pg_catalog.int8, pg_catalog.cardinality(s.items)::pg_catalog.int8), '
			'%L::pg_catalog.float8, 0::pg_catalog.int4, false::pg_catalog.bool)', schema, fpr);
		items := 's.items';
	ELSE
		start := format('%I.bloom_window(%L::pg_catalog.interval, %L::pg_catalog.int4, %L::pg_catalog.float8, 0::pg_catalog.int4)',
			schema, width, slices, fpr);
		items := 's.items, s.times';
	END IF;
	added := format('%s(COALESCE(f.%I, %s), %s)', add, arguments[2], start, items);

	statements := format(
		-- Lock the filters in the order of the users, and start those that are missing.
		-- WHERE false locks a row and leaves it as it is.  An item that is contained
		-- already is no reason not to lock: a rebuild that is under way would not know of
		-- this exposure, and forget the item with an older one.
		'INSERT INTO %1$s AS f (%2$I, %3$I) SELECT s.u, %4$s(%5$s, %6$s) FROM (%7$s) AS s ORDER BY s.u '
		'ON CONFLICT (%2$I) DO UPDATE SET %3$I = f.%3$I WHERE false; '
		-- Now each filter is as the last one who had the lock left it.  Write it if it changes.
		'UPDATE %1$s AS f SET %3$I = %8$s FROM (%7$s) AS s '
		'WHERE %9$s %10$s s.u::%11$s AND (f.%3$I IS NULL OR %8$s OPERATOR(%12$I.<>) f.%3$I)',
		keys.target_name, target_user_column, arguments[2], add, start, items, shown, added,
		keys.target_key, keys.equal, keys.key_type, schema);

	-- How many users' filters lack something then.  (To a counting filter each add adds
	-- something, and a window can contain an item for an older exposure.)
	missed := format(
		'SELECT pg_catalog.count(*) FROM (%1$s) AS s LEFT JOIN %2$s AS f ON %3$s %4$s s.u::%5$s WHERE f.%6$I IS NULL OR %7$s',
		shown, keys.target_name, keys.target_key, keys.equal, keys.key_type, arguments[2],
		CASE WHEN time_column IS NULL
			THEN format('NOT %I.bloom_track_contains(f.%I, s.items)', schema, arguments[2])
			ELSE format('%s OPERATOR(%I.<>) f.%I', added, schema, arguments[2]) END);
END
$$;

COMMENT ON FUNCTION bloom_track_statements(text, regclass, text, text[]) IS
'the statements that bloom_track() executes';

CREATE FUNCTION bloom_track() RETURNS trigger
AS 'MODULE_PATHNAME', 'bloomexp_track'
LANGUAGE C;

COMMENT ON FUNCTION bloom_track() IS
'trigger function: adds the rows of an INSERT or UPDATE to the filters of their users; arguments: filter table, filter column, user column, item column, for windowed filters the time column, then width=, slices=, fpr=, target_user_column= as wanted';

CREATE FUNCTION bloom_untracked(
	source regclass,
	OUT relation regclass,
	OUT trigger_name name,
	OUT command text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN QUERY
	WITH tables AS (
		SELECT c.oid AS relid, format('%I.%I', n.nspname, c.relname) AS name
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE c.oid = source
			OR c.oid = ANY (ARRAY(SELECT p.relid::oid FROM pg_partition_tree(source) AS p))
	), triggers AS (
		-- What follows the name of the table is the same on every partition.
		SELECT g.tgrelid, g.tgname, g.tgenabled = ANY ('{O,A}'::"char"[]) AS enabled,
			e.event, substr(pg_get_triggerdef(g.oid), length(
				format('CREATE TRIGGER %I AFTER %s ON %s ', g.tgname, e.event, t.name))) AS definition
		FROM tables AS t
		JOIN pg_trigger AS g ON g.tgrelid = t.relid
		JOIN (VALUES (4, 'INSERT'), (16, 'UPDATE')) AS e (bit, event)
			ON (g.tgtype & e.bit) <> 0
		JOIN pg_proc AS f ON f.oid = g.tgfoid
			AND f.proname = 'bloom_track'
		JOIN pg_depend AS d ON d.classid = 'pg_catalog.pg_proc'::regclass
			AND d.objid = f.oid AND d.deptype = 'e'
	)
	SELECT t.relid::regclass, w.tgname,
		CASE WHEN w.tgname IS NULL THEN NULL
			WHEN EXISTS (SELECT FROM triggers AS g WHERE g.tgrelid = t.relid
							  AND g.tgname = w.tgname
							  AND g.event = w.event
							  AND g.definition = w.definition)
			THEN format('ALTER TABLE %s ENABLE TRIGGER %I', t.name, w.tgname)
			ELSE format('CREATE TRIGGER %I AFTER %s ON %s%s', w.tgname, w.event, t.name, w.definition) END
	FROM tables AS t
	CROSS JOIN ((SELECT DISTINCT ON (g.event, g.definition) g.tgname, g.event, g.definition FROM triggers AS g
				 ORDER BY g.event, g.definition, g.tgname)
				UNION ALL
				SELECT NULL, NULL, NULL WHERE NOT EXISTS (SELECT FROM triggers AS g WHERE g.event = 'INSERT')) AS w
	WHERE NOT EXISTS (SELECT FROM triggers AS g WHERE g.tgrelid = t.relid
						  AND g.event = w.event
						  AND g.definition = w.definition AND g.enabled)
	ORDER BY t.name, w.tgname;
END
$$;

COMMENT ON FUNCTION bloom_untracked(regclass) IS
'the table and its partitions that lack a trigger on bloom_track() which another of them has, or have it disabled, and the command that mends it; if no INSERT has such a trigger, all of them, without a command';
