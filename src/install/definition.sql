--
-- What triggers on bloom_track() define: which exposures go into which filters, and how
-- these are made.  The trigger, bloom_take() and bloom_rebuild() take it from here,
-- checked, and learn how to write tables, columns and types in their statements.
--
-- The extension is relocatable, and these functions run with the rights of the
-- caller, in a schema in which others may be able to create functions and
-- operators.  So what they generate names every schema, and it gives each
-- argument exactly the type that our function declares: PostgreSQL takes such a
-- match before all others.  (What others can do is to plant the same with further
-- arguments that have defaults: then the call is not unique, and fails.)  Hence the casts on all
-- arguments, the arguments that have defaults, and bloom_track_add(),
-- bloom_track_contains(), bloom_rebuild_agg() and bloom_rebuild_window_agg() instead
-- of functions of polymorphic types.  A condition is written
-- by bloom_track_condition() with the schema of every name; see condition.c.
--

CREATE FUNCTION bloom_filter_column(target regclass, filter_column name) RETURNS name
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	schema name := (SELECT n.nspname FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
					WHERE e.extname = 'bloomexp');
	relation_name text := (SELECT c.relname FROM pg_class AS c WHERE c.oid = target);
	filter_type oid := format('%I.bloom', schema)::regtype;
	column_type oid;
	found_columns name[];
	fed_columns name[];
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
		EXECUTE format('SELECT ARRAY(SELECT DISTINCT g.arguments[2]::pg_catalog.name FROM %I.bloom_track_feeders($1, $2, NULL::pg_catalog.name) AS g '
			'WHERE g.trusted)', schema) INTO fed_columns USING schema, target;
		IF cardinality(fed_columns) = 1 THEN
			found_columns := fed_columns;
		END IF;
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
'for bloom_take(), bloom_rebuild() and bloom_overview(): the column of the filters, which is the only one of type bloom, or the only one that triggers feed, if none is named';

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

CREATE FUNCTION bloom_track_target(source regclass, target text) RETURNS regclass
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	names text[] := parse_ident(target);
BEGIN
	-- A table without a schema is in that of the exposures, whatever search_path says.
	IF cardinality(names) = 1 THEN
		names := (SELECT ARRAY[n.nspname::text, names[1]]
				  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
				  WHERE c.oid = source);
	END IF;
	RETURN format('%I.%I', names[1], names[2]);
END
$$;

COMMENT ON FUNCTION bloom_track_target(regclass, text) IS
'the table of the filters that the first argument of a trigger on bloom_track() names';

-- The settings make a condition mean the same for all who write exposures or rebuild.

CREATE FUNCTION bloom_track_condition(source regclass, condition text) RETURNS text
AS 'MODULE_PATHNAME', 'bloomexp_track_condition'
LANGUAGE C STABLE STRICT
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO' SET intervalstyle = 'iso_8601'
SET standard_conforming_strings = on SET transform_null_equals = off SET extra_float_digits = 1;

COMMENT ON FUNCTION bloom_track_condition(regclass, text) IS
'checks the condition given to bloom_track() or bloom_rebuild(), and writes it with the schema of every name';

CREATE FUNCTION bloom_live_column(target regclass, filter_column name, live_column name) RETURNS name
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	schema name := (SELECT n.nspname FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
					WHERE e.extname = 'bloomexp');
	relation_name text := (SELECT c.relname FROM pg_class AS c WHERE c.oid = target);
	must_be_filled name;
BEGIN
	EXECUTE format('SELECT %I.bloom_filter_column($1, $2)', schema) USING target, live_column;
	IF live_column = filter_column THEN
		RAISE 'live column must not be the column of the filters, "%"', filter_column
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Add a second column of type bloom.';
	END IF;
	must_be_filled := (SELECT a.attname FROM pg_attribute AS a
					   WHERE a.attrelid = target AND a.attname = ANY (ARRAY[filter_column, live_column]) AND a.attnotnull
					   ORDER BY a.attnum LIMIT 1);
	IF must_be_filled IS NOT NULL THEN
		RAISE 'column "%" of table "%" must allow nulls', must_be_filled, relation_name
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'A new user has only a live filter, and a rebuild removes that.',
				HINT = format('ALTER TABLE %s ALTER %I DROP NOT NULL;', target, must_be_filled);
	END IF;
	RETURN live_column;
END
$$;

COMMENT ON FUNCTION bloom_live_column(regclass, name, name) IS
'checks the column of live filters that is named to bloom_track() or bloom_rebuild()';

-- An item that was not exposed is dropped if either of two filters contains it, so they
-- share the promised rate.  The live filter is small; a tenth is enough for it.  It
-- starts with room for what most users see in a day, because each add writes all of it.

CREATE FUNCTION bloom_track_shares(
	fpr double precision,
	has_live boolean,
	OUT capacity bigint,
	OUT tracked_fpr double precision,
	OUT rebuilt_fpr double precision)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
	SELECT CASE WHEN has_live THEN 40 ELSE 100 END,
		CASE WHEN has_live THEN fpr OPERATOR(pg_catalog.*) 0.1::pg_catalog.float8 ELSE fpr END,
		CASE WHEN has_live THEN fpr OPERATOR(pg_catalog.*) 0.9::pg_catalog.float8 ELSE fpr END
$$;

COMMENT ON FUNCTION bloom_track_shares(double precision, boolean) IS
'for how many items a filter starts to which exposures are added, its rate, and that of a filter which is rebuilt: the same filter, or one beside a live filter';

CREATE FUNCTION bloom_track_key(
	target regclass,
	INOUT user_column name,
	OUT target_name text,
	OUT user_type_oid oid,
	OUT user_type text,
	OUT user_base oid,			-- without domains
	OUT user_collation oid,
	OUT key_type_oid oid,
	OUT key_type text,
	OUT target_key text,
	OUT equal text,
	OUT greater text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	schema name := (SELECT n.nspname FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
					WHERE e.extname = 'bloomexp');
	user_attnum int2;
	key_family oid;
	is_polymorphic bool;		-- the operators are for enums, rows or ranges of any type
	operators text[];
BEGIN
	-- Names with a schema, since a transition table or a WITH may have the name alone.
	target_name := (SELECT format('%I.%I', n.nspname, c.relname)
					FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
					WHERE c.oid = target AND c.relkind = ANY ('{r,p}'::"char"[]));
	IF target_name IS NULL THEN
		RAISE '"%" is not a table', (SELECT c.relname FROM pg_class AS c WHERE c.oid = target)
			USING ERRCODE = 'wrong_object_type', DETAIL = 'Filters are kept in a table or a partitioned table.';
	END IF;
	IF user_column IS NULL THEN
		user_column := (SELECT a.attname
						FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
						WHERE i.indrelid = target AND i.indisprimary AND i.indnkeyatts = 1);
		IF user_column IS NULL THEN
			RAISE 'table "%" has no primary key of one column', (SELECT c.relname FROM pg_class AS c WHERE c.oid = target)
				USING ERRCODE = 'object_not_in_prerequisite_state',
					DETAIL = 'The primary key says which row is whose.',
					HINT = 'Make the column of the users the primary key.';
		END IF;
	END IF;
	SELECT a.attnum, a.atttypid, a.attcollation INTO user_attnum, user_type_oid, user_collation
	FROM pg_attribute AS a
	WHERE a.attrelid = target AND a.attname = user_column AND a.attnum > 0 AND NOT a.attisdropped;
	IF NOT FOUND THEN
		RAISE 'column "%" of relation "%" does not exist', user_column,
			(SELECT c.relname FROM pg_class AS c WHERE c.oid = target) USING ERRCODE = 'undefined_column';
	END IF;

	-- The order of users is that of the index by which ON CONFLICT finds their rows.
	SELECT c.opcfamily, c.opcintype INTO key_family, key_type_oid
	FROM pg_index AS i JOIN pg_opclass AS c ON c.oid = i.indclass[0]
	WHERE i.indrelid = target AND i.indnkeyatts = 1 AND i.indkey[0] = user_attnum AND c.opcdefault
		AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL
	LIMIT 1;
	IF NOT FOUND THEN
		RAISE 'table "%" has no unique index on column "%" alone',
			(SELECT c.relname FROM pg_class AS c WHERE c.oid = target), user_column
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = format('ALTER TABLE %s ADD PRIMARY KEY (%I);', target_name, user_column);
	END IF;

	IF key_type_oid = 'anyarray'::regtype THEN
		RAISE 'users of type % are not supported', format_type(user_type_oid, NULL)
			USING ERRCODE = 'feature_not_supported', DETAIL = 'They are arrays.';
	END IF;

	-- Between the type of the users and that of the operators there may be a cast, and an
	-- implicit one can let another operator than a polymorphic one fit.  The owner of the
	-- type can make these by any function, at any time.
	EXECUTE format('SELECT %I.bloom_track_base_type($1)', schema) INTO user_base USING user_type_oid;
	is_polymorphic := (SELECT t.typtype = 'p' FROM pg_type AS t WHERE t.oid = key_type_oid);
	IF (SELECT NOT pg_has_role(t.typowner, c.relowner, 'USAGE') FROM pg_type AS t, pg_class AS c WHERE t.oid = user_base AND c.oid = target)
		AND (is_polymorphic OR user_base <> key_type_oid)
	THEN
		RAISE 'users of type % are not trusted', format_type(user_base, NULL)
			USING ERRCODE = 'feature_not_supported',
				DETAIL = format('The owner of the type does not have the privileges of the owner of table "%s", and could make casts of it by any function.',
					(SELECT c.relname FROM pg_class AS c WHERE c.oid = target)),
				HINT = 'Let the owner of the table own the type, or let users be of another type.';
	END IF;

	-- (Subqueries here and below keep the plans at index scans.)
	operators := ARRAY(SELECT (SELECT format('OPERATOR(%I.%s)', (SELECT n.nspname FROM pg_namespace AS n
																   WHERE n.oid = o.oprnamespace), o.oprname)
							   FROM pg_operator AS o WHERE o.oid = m.amopopr)
					   FROM pg_amop AS m
					   WHERE m.amopfamily = key_family
						   AND m.amoplefttype = key_type_oid AND m.amoprighttype = key_type_oid
					   ORDER BY m.amopstrategy);
	equal := operators[3];
	greater := operators[5];

	-- Users are compared as what these operators take, so that nothing fits better, such
	-- as an operator for a domain.  No index minds that cast.  (Operators for a
	-- polymorphic type, as those of enums, are in pg_catalog, where nobody can add one.
	-- They do not take domains.)
	user_type := (SELECT format('%I.%I', n.nspname, t.typname)
				  FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace WHERE t.oid = user_base);
	key_type := (SELECT CASE WHEN is_polymorphic THEN user_type ELSE format('%I.%I', n.nspname, t.typname) END
				 FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace WHERE t.oid = key_type_oid);
	target_key := format('f.%I::%s', user_column, key_type);
END
$$;

COMMENT ON FUNCTION bloom_track_key(regclass, name) IS
'checks the table of filters given to bloom_track(), bloom_rebuild() or bloom_take() and its column of users, which is the primary key if none is given, and tells how to write and compare these';

CREATE FUNCTION bloom_track_base_type(type oid) RETURNS oid
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	WHILE (SELECT t.typtype FROM pg_type AS t WHERE t.oid = type) = 'd' LOOP
		type := (SELECT t.typbasetype FROM pg_type AS t WHERE t.oid = type);
	END LOOP;
	RETURN type;
END
$$;

COMMENT ON FUNCTION bloom_track_base_type(oid) IS 'the type without the domains over it';

CREATE FUNCTION bloom_track_converts(source oid, target oid) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_track_converts'
LANGUAGE C STABLE STRICT;

COMMENT ON FUNCTION bloom_track_converts(oid, oid) IS 'whether a value of the one type can be cast to the other';

CREATE FUNCTION bloom_track_item_type(source regclass, item_column name) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	schema name := (SELECT n.nspname FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
					WHERE e.extname = 'bloomexp');
	column_type oid := (SELECT a.atttypid FROM pg_attribute AS a
						WHERE a.attrelid = source AND a.attname = item_column AND a.attnum > 0 AND NOT a.attisdropped);
	base_type oid;
	item_type text;
BEGIN
	IF column_type IS NULL THEN
		RAISE 'column "%" of relation "%" does not exist', item_column,
			(SELECT c.relname FROM pg_class AS c WHERE c.oid = source) USING ERRCODE = 'undefined_column';
	END IF;
	EXECUTE format('SELECT %I.bloom_track_base_type($1)', schema) INTO base_type USING column_type;
	item_type := (SELECT CASE
					  WHEN t.oid = ANY ('{int2,int4,int8}'::regtype[]) THEN 'int8'
					  WHEN t.typcategory = 'S' THEN 'text'
					  WHEN t.oid = ANY ('{uuid,bytea}'::regtype[]) THEN t.typname END
				  FROM pg_type AS t WHERE t.oid = base_type);
	IF item_type IS NULL THEN
		RAISE 'items of type % cannot be in a filter', format_type(column_type, NULL)
			USING ERRCODE = 'datatype_mismatch',
				DETAIL = 'Items are integers (smallint, integer, bigint), text (text, varchar, char), uuid or bytea.';
	END IF;
	RETURN item_type;
END
$$;

COMMENT ON FUNCTION bloom_track_item_type(regclass, name) IS
'the type to which the items of a column are cast: int8, text, uuid or bytea';

CREATE FUNCTION bloom_track_keys(
	schema name,
	target regclass,
	filter_column name,
	target_user_column name,
	source regclass,
	user_column name,
	item_column name,
	time_column name,
	condition text,
	OUT target_name text,
	OUT source_name text,
	OUT key_type text,
	OUT equal text,
	OUT greater text,
	OUT target_key text,
	OUT source_user text,
	OUT source_item text,
	OUT source_time text,
	OUT is_exposure text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	key record;
	source_type oid;
	source_collation oid;
	source_base oid;			-- without domains
	not_ours oid;
	converts bool;
BEGIN
	EXECUTE format('SELECT * FROM %I.bloom_track_key($1, $2)', schema) INTO key USING target, target_user_column;
	target_name := key.target_name;
	key_type := key.key_type;
	equal := key.equal;
	greater := key.greater;
	target_key := key.target_key;
	EXECUTE format('SELECT %I.bloom_filter_column($1, $2)', schema) USING target, filter_column;
	source_name := (SELECT format('%I.%I', n.nspname, c.relname)
					FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = source);

	SELECT a.atttypid, a.attcollation INTO source_type, source_collation
	FROM pg_attribute AS a
	WHERE a.attrelid = source AND a.attname = user_column AND a.attnum > 0 AND NOT a.attisdropped;
	IF NOT FOUND THEN
		RAISE 'column "%" of relation "%" does not exist', user_column,
			(SELECT c.relname FROM pg_class AS c WHERE c.oid = source) USING ERRCODE = 'undefined_column';
	END IF;
	EXECUTE format('SELECT %I.bloom_track_base_type($1)', schema) INTO source_base USING source_type;

	-- Users of both tables must be told apart alike.  A cast that changes nothing is
	-- left out, for it keeps an index of the source from being used.  None is to a domain,
	-- whose check is for what is written, and not for what a dry run reads.
	source_user := format('e.%I', user_column);
	IF source_base <> key.user_base THEN
		source_user := format('%s::%s', source_user, key.user_type);
	END IF;
	IF source_collation <> key.user_collation AND key.user_collation <> 0 THEN
		source_user := (SELECT format('(%s COLLATE %I.%I)', source_user, n.nspname, c.collname)
						FROM pg_collation AS c JOIN pg_namespace AS n ON n.oid = c.collnamespace
						WHERE c.oid = key.user_collation);
	END IF;

	-- Between types that belong to superusers nobody else can make a cast.
	IF source_base <> key.user_base THEN
		not_ours := (SELECT t.oid FROM pg_type AS t JOIN pg_roles AS r ON r.oid = t.typowner
					 WHERE t.oid IN (source_base, key.user_base) AND NOT r.rolsuper
					 LIMIT 1);
		IF not_ours IS NOT NULL THEN
			RAISE 'users of type % cannot be converted to type %', format_type(source_type, NULL), format_type(key.user_type_oid, NULL)
				USING ERRCODE = 'feature_not_supported',
					DETAIL = format('The owner of type %s is not a superuser, and could make that cast by any function.', format_type(not_ours, NULL)),
					HINT = 'Give both columns the same type.';
		END IF;
		EXECUTE format('SELECT %I.bloom_track_converts($1, $2)', schema) INTO converts USING source_type, key.user_type_oid;
		IF NOT converts THEN
			RAISE 'users of type % cannot be those of a table with users of type %',
				format_type(source_type, NULL), format_type(key.user_type_oid, NULL)
				USING ERRCODE = 'datatype_mismatch',
					DETAIL = format('They are in columns "%s" of relation "%s" and "%s" of table "%s".',
						user_column, (SELECT c.relname FROM pg_class AS c WHERE c.oid = source),
						target_user_column, (SELECT c.relname FROM pg_class AS c WHERE c.oid = target)),
					HINT = 'Give both columns the same type.';
		END IF;
	END IF;

	EXECUTE format('SELECT %I.bloom_track_item_type($1, $2)', schema) INTO source_item USING source, item_column;
	source_item := format('e.%I::pg_catalog.%s', item_column, source_item);

	is_exposure := format('e.%I IS NOT NULL AND e.%I IS NOT NULL', user_column, item_column);
	IF time_column IS NOT NULL THEN
		EXECUTE format('SELECT %I.bloom_time_column($1, $2)', schema) USING source, time_column;
		source_time := format('e.%I::pg_catalog.timestamptz', time_column);
		is_exposure := format('%s AND e.%I IS NOT NULL', is_exposure, time_column);
	END IF;
	IF condition IS NOT NULL THEN
		EXECUTE format('SELECT %I.bloom_track_condition($1, $2)', schema) INTO condition USING source, condition;
		is_exposure := format('%s AND (%s)', is_exposure, condition);
	END IF;
END
$$;

COMMENT ON FUNCTION bloom_track_keys(name, regclass, name, name, regclass, name, name, name, text) IS
'checks the tables, columns and condition given to bloom_track() and bloom_rebuild(), and tells them how to write users, items and times, and which rows are exposures';

CREATE FUNCTION bloom_track_definition(
	schema name,
	source regclass,
	arguments text[],
	OUT target regclass,
	OUT filter_column name,
	OUT user_column name,
	OUT item_column name,
	OUT time_column name,
	OUT width interval,
	OUT slices integer,
	OUT fpr double precision,
	OUT headroom double precision,
	OUT condition text,
	OUT live_column name,
	OUT target_user_column name)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	setting text;
	settings text[] := '{}';
	value text;
BEGIN
	IF cardinality(arguments) < 4 THEN
		RAISE 'bloom_track() needs at least 4 arguments, not %', cardinality(arguments)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'They are the table of the filters, its filter column, the user column and the item column.';
	END IF;
	EXECUTE format('SELECT %I.bloom_track_target($1, $2)', schema) INTO target USING source, arguments[1];
	filter_column := arguments[2];
	user_column := arguments[3];
	item_column := arguments[4];

	FOR i IN 5 .. cardinality(arguments) LOOP
		setting := btrim(split_part(arguments[i], '=', 1));
		value := btrim(substr(arguments[i], position('=' IN arguments[i]) + 1));
		IF position('=' IN arguments[i]) = 0 THEN
			RAISE 'argument % of bloom_track() is not of the form name=value: "%"', i, setting
				USING ERRCODE = 'invalid_parameter_value',
					HINT = 'A column of times is written time=column. With slices=number the filters are sliding windows.';
		ELSIF setting = ANY (settings) THEN
			RAISE 'argument "%" of bloom_track() is given twice', setting USING ERRCODE = 'invalid_parameter_value';
		END IF;
		settings := settings || setting;

		BEGIN
			IF setting = 'time' THEN
				time_column := value;
			ELSIF setting = 'width' THEN
				width := value;
			ELSIF setting = 'slices' THEN
				slices := value;
			ELSIF setting = 'fpr' THEN
				fpr := value;
			ELSIF setting = 'headroom' THEN
				headroom := value;
			ELSIF setting = 'condition' THEN
				condition := value;
			ELSIF setting = 'live' THEN
				live_column := value;
			ELSIF setting = 'target_user_column' THEN
				target_user_column := value;
			ELSE
				RAISE 'unrecognized argument of bloom_track(): "%"', arguments[i]
					USING ERRCODE = 'invalid_parameter_value',
						HINT = 'The names are time, width, slices, fpr, headroom, condition, live and target_user_column.';
			END IF;
			-- (a number alone would be seconds)
			IF setting = 'width' AND value ~ '^[0-9.]+$' THEN
				RAISE invalid_datetime_format;
			END IF;
		EXCEPTION WHEN invalid_text_representation OR invalid_datetime_format OR numeric_value_out_of_range OR datetime_field_overflow OR interval_field_overflow THEN
			RAISE 'invalid argument of bloom_track(): "%"', arguments[i]
				USING ERRCODE = 'invalid_parameter_value',
					HINT = CASE setting
						WHEN 'width' THEN 'Write the width with its unit: width=30 days.'
						WHEN 'slices' THEN 'Write a whole number.'
						WHEN 'fpr' THEN 'Write 0.01 for 1%.'
						ELSE 'Write 0.2 for room for 20% more items.' END;
		END;
	END LOOP;

	IF slices IS NOT NULL AND time_column IS NULL THEN
		RAISE 'bloom_track() needs time=... if it is given slices=...'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Name the column that has the times of the exposures.';
	END IF;
	IF slices IS NOT NULL AND headroom IS NOT NULL THEN
		RAISE 'bloom_track() does not take both slices=... and headroom=...'
			USING ERRCODE = 'invalid_parameter_value', DETAIL = 'Sliding windows have no headroom.';
	END IF;
	width := COALESCE(width, '30 days');
	fpr := COALESCE(fpr, 0.01);
	headroom := COALESCE(headroom, 0.2);
	target_user_column := COALESCE(target_user_column, user_column);

	IF width <= '0' THEN
		RAISE 'width of the window must be positive' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	-- The functions that get these values know which are allowed.
	IF slices IS NULL THEN
		EXECUTE format('SELECT %I.bloom_rebuild_agg(1::int8, $1, $2)', schema) USING fpr, headroom;
	ELSE
		EXECUTE format('SELECT %I.bloom_window($1, $2, $3, 0)', schema) USING width, slices, fpr;
	END IF;
	IF live_column IS NOT NULL THEN
		EXECUTE format('SELECT %1$I.bloom_new(s.capacity, s.tracked_fpr, 0, false) FROM %1$I.bloom_track_shares($1, true) AS s', schema) USING fpr;
	END IF;
END
$$;

COMMENT ON FUNCTION bloom_track_definition(name, regclass, text[]) IS
'what the arguments of a trigger on bloom_track() say';

CREATE FUNCTION bloom_track_arguments(bytes bytea) RETURNS text[]
AS 'MODULE_PATHNAME', 'bloomexp_track_arguments'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloom_track_arguments(bytea) IS 'the arguments of a trigger, as pg_trigger.tgargs has them';

CREATE FUNCTION bloom_track_triggers(
	schema name,
	OUT relation regclass,
	OUT trigger_name name,
	OUT works boolean,
	OUT whole regclass,
	OUT arguments bytea)
RETURNS SETOF record
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	-- (by an index, among all triggers of the database, and without those of temporary
	-- tables of other sessions)
	RETURN QUERY
	SELECT g.tgrelid::regclass, g.tgname, -- after an INSERT or UPDATE, for each statement
		g.tgnewtable IS NOT NULL AND g.tgtype & 67 = 0 AND g.tgtype & 20 <> 0,
		COALESCE(i.inhparent, g.tgrelid)::regclass, g.tgargs
	FROM pg_depend AS d JOIN pg_trigger AS g ON g.oid = d.objid
	JOIN pg_class AS c ON c.oid = g.tgrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
	LEFT JOIN pg_inherits AS i ON i.inhrelid = g.tgrelid AND c.relispartition
	WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid = format('%I.bloom_track()', schema)::regprocedure
		AND d.classid = 'pg_trigger'::regclass AND (c.relpersistence <> 't' OR c.relnamespace = pg_my_temp_schema())
	ORDER BY n.nspname, c.relname, g.tgname;
END
$$;

COMMENT ON FUNCTION bloom_track_triggers(name) IS
'all triggers on bloom_track(): their tables and names, whether they are of the right kind, of which table theirs is a partition, and their arguments';

CREATE FUNCTION bloom_track_feeders(
	schema name,
	target regclass,
	filter_column name,
	OUT name text,
	OUT trusted boolean,
	OUT relation regclass,
	OUT source regclass,
	OUT arguments text[])
RETURNS SETOF record
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	owner oid := (SELECT t.relowner FROM pg_class AS t WHERE t.oid = target);
	trigger record;
	its_target regclass;
BEGIN
	-- A trigger says what a rebuild reads and evaluates, with the rights of who calls it.
	-- So strangers must not have a say in it.  Theirs are only told of: two arguments
	-- are enough for that, which are not long, while all of them may be.
	-- Partitions have the same trigger, often by the hundred: one of them is enough.
	FOR trigger IN EXECUTE format(
		'SELECT d.* FROM (SELECT DISTINCT ON (a.arguments, g.whole, c.relnamespace, c.relowner) '
			'g.relation, g.trigger_name, o.trusted, a.arguments, c.relname, n.nspname '
			'FROM %I.bloom_track_triggers($1) AS g JOIN pg_class AS c ON c.oid = g.relation JOIN pg_namespace AS n ON n.oid = c.relnamespace '
			'CROSS JOIN LATERAL (SELECT pg_has_role(c.relowner, $2, ''USAGE'')) AS o (trusted) '
			'CROSS JOIN LATERAL (SELECT CASE WHEN o.trusted THEN g.arguments ELSE substring(g.arguments FOR 1000) END) AS a (arguments) '
			'WHERE g.works ORDER BY a.arguments, g.whole, c.relnamespace, c.relowner, c.relname, g.trigger_name) AS d '
		'ORDER BY d.nspname, d.relname, d.trigger_name', schema) USING schema, owner
	LOOP
		EXECUTE format('SELECT %I.bloom_track_arguments($1)', schema) INTO arguments USING trigger.arguments;
		CONTINUE WHEN arguments[2] IS NULL OR arguments[2]::name <> filter_column;
		BEGIN
			EXECUTE format('SELECT %I.bloom_track_target($1, $2)', schema) INTO its_target
			USING trigger.relation, arguments[1];
		EXCEPTION WHEN undefined_table OR invalid_schema_name OR invalid_parameter_value OR insufficient_privilege THEN
			CONTINUE;
		END;
		CONTINUE WHEN its_target IS DISTINCT FROM target;

		name := format('"%s" of table "%s"', trigger.trigger_name, trigger.relname);
		trusted := trigger.trusted;
		relation := trigger.relation;
		source := COALESCE(pg_partition_root(trigger.relation), trigger.relation);
		RETURN NEXT;
	END LOOP;
END
$$;

COMMENT ON FUNCTION bloom_track_feeders(name, regclass, name) IS
'the triggers that feed a column of filters, or any column of the table for NULL, and whether they count: the owner of their table has the privileges of the owner of the filters';

CREATE FUNCTION bloom_track_agreed(
	schema name,
	target regclass,
	filter_column name,
	given jsonb)
RETURNS jsonb
LANGUAGE plpgsql STABLE
-- (so that a rate is written with all its digits)
SET search_path = pg_catalog, pg_temp SET extra_float_digits = 1 AS $$
DECLARE
	trigger record;
	its_definition jsonb;
	first_name text;
	first_definition jsonb;
	ignored text;
	hint text;
BEGIN
	FOR trigger IN EXECUTE format('SELECT * FROM %I.bloom_track_feeders($1, $2, $3)', schema)
		USING schema, target, filter_column
	LOOP
		IF NOT trigger.trusted THEN
			ignored := trigger.name;
			CONTINUE;
		END IF;

		BEGIN
			EXECUTE format('SELECT pg_catalog.to_jsonb(d) FROM %I.bloom_track_definition($1, $2, $3) AS d', schema)
			INTO its_definition USING schema, trigger.relation, trigger.arguments;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
			RAISE 'trigger % cannot be used: %', trigger.name, sqlerrm
				USING ERRCODE = sqlstate, HINT = COALESCE(nullif(hint, ''), 'Correct its arguments, or drop it.');
		END;
		its_definition := its_definition - 'target' || jsonb_build_object('source', trigger.source::oid) || given;
		IF first_definition IS NULL THEN
			first_name := trigger.name;
			first_definition := its_definition;
		ELSIF its_definition <> first_definition THEN
			RAISE 'triggers % and % define the filters differently', first_name, trigger.name
				USING ERRCODE = 'object_not_in_prerequisite_state',
					DETAIL = format('They differ in %s.', (
						SELECT string_agg(replace(d.key, '_', ' '), ', ' ORDER BY d.key) FROM jsonb_each(its_definition) AS d
						WHERE d.value <> first_definition -> d.key)),
					HINT = 'Give both the same arguments, drop one of them, or give bloom_rebuild() what they differ in.';
		END IF;
	END LOOP;
	RETURN COALESCE(first_definition, '{"width": "30 days", "fpr": 0.01, "headroom": 0.2}' || given)
		|| jsonb_build_object('trigger', first_name, 'ignored', ignored);
END
$$;

COMMENT ON FUNCTION bloom_track_agreed(name, regclass, name, jsonb) IS
'what the triggers that feed a column of filters say, after what is given';
