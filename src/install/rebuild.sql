CREATE PROCEDURE bloom_rebuild_start()
AS 'MODULE_PATHNAME', 'bloomexp_rebuild_start'
LANGUAGE C;

COMMENT ON PROCEDURE bloom_rebuild_start() IS
'for bloom_rebuild(): raises an error if it is called where it cannot commit';

CREATE FUNCTION bloom_rebuild_lock(target regclass, part integer, parts integer, hash integer) RETURNS void
AS 'MODULE_PATHNAME', 'bloomexp_rebuild_lock'
LANGUAGE C VOLATILE STRICT;

COMMENT ON FUNCTION bloom_rebuild_lock(regclass, integer, integer, integer) IS
'takes the locks of bloom_rebuild() on a table or a part of it, for the session until an error; the hash is of what all parts have in common';

CREATE FUNCTION bloom_rebuild_unlock() RETURNS void
AS 'MODULE_PATHNAME', 'bloomexp_rebuild_unlock'
LANGUAGE C VOLATILE STRICT;

COMMENT ON FUNCTION bloom_rebuild_unlock() IS
'releases what bloom_rebuild_lock() took';

CREATE FUNCTION bloom_rebuild_writes(target regclass) RETURNS void
AS 'MODULE_PATHNAME', 'bloomexp_rebuild_writes'
LANGUAGE C STRICT;

COMMENT ON FUNCTION bloom_rebuild_writes(regclass) IS
'lets the filters that this transaction writes into a table pass bloom_guard()';

CREATE FUNCTION bloom_rebuild_require(source regclass, source_name text, target regclass, target_name text) RETURNS void
LANGUAGE plpgsql STABLE
-- (policies are an error then)
SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
	relation regclass;
	replaced text;
BEGIN
	FOREACH relation IN ARRAY ARRAY[source, target] LOOP
		IF row_security_active(relation) THEN
			RAISE 'row-level security policies of table "%" apply to role "%"',
				(SELECT c.relname FROM pg_class AS c WHERE c.oid = relation), current_user
				USING ERRCODE = 'insufficient_privilege',
					DETAIL = CASE WHEN relation = source THEN 'Users whose exposures they hide would lose their filters.'
						ELSE 'Filters that they hide would not be rebuilt.' END,
					HINT = 'Rebuild as a role with BYPASSRLS, or as the owner of the table without FORCE ROW LEVEL SECURITY.';
		END IF;
	END LOOP;
	-- Whether there are policies behind a view, only a query tells.  The locks that it
	-- takes keep the names with these tables until the transaction ends.
	EXECUTE format('SELECT FROM %s AS e WHERE false', source_name);
	EXECUTE format('SELECT FROM %s AS f WHERE false', target_name);
	-- (Citus hides a shard in pg_class from a session that has a name of its own, as a
	-- rebuild has.  A name leads to it all the same.)
	replaced := CASE WHEN to_regclass(source_name) IS DISTINCT FROM source THEN source_name
		WHEN to_regclass(target_name) IS DISTINCT FROM target THEN target_name END;
	IF replaced IS NOT NULL THEN
		RAISE 'table "%" was replaced during the rebuild', (parse_ident(replaced))[2]
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'Its name now belongs to another table.',
				HINT = 'Rebuild again.';
	END IF;
END
$$;

COMMENT ON FUNCTION bloom_rebuild_require(regclass, text, regclass, text) IS
'for bloom_rebuild(): raises an error if row-level security policies hide exposures or filters from the caller, or if a name does not lead to its table any more';

CREATE FUNCTION bloom_rebuild_statements(
	schema name,
	target regclass,
	filter_column name,
	source regclass,
	user_column name,
	item_column name,
	time_column name,
	width interval,
	fpr double precision,
	headroom double precision,
	slices integer,
	rebuilt_at_column name,
	target_user_column name,
	condition text,
	live_column name,
	OUT next_users text,
	OUT next_given text,
	OUT lock_free text,
	OUT lock_one text,
	OUT write text,
	OUT count_fresh text,
	OUT count_others text,
	OUT walks boolean,
	OUT splits boolean,
	OUT names text[],
	OUT source_table regclass,
	OUT source_name text,
	OUT target_name text)
LANGUAGE plpgsql STABLE
-- (so that a rate is written with all its digits, and an interval in one way)
SET search_path = pg_catalog, pg_temp SET extra_float_digits = 1 SET intervalstyle = 'iso_8601' AS $$
DECLARE
	definition jsonb;
	missing text;
	keys record;
	integer_type name;			-- of the exposures' users, if all users are integers
	source_key text;
	further_columns bool;
	filter text;
	exposures text;
	lock text;
	touched text := '';			-- columns that are written beside the filter, with the values,
	columns text := '';			-- their names alone
	times text := '';			-- and their values alone
	emptied text := '';			-- the live filter that is removed,
	has_live text := '';		-- if a row has one
	-- Parts of the statements, which are formats as these are
	is_after text := '(%4$L IS NULL OR %12$s %10$s %4$L::%8$s)';
	is_given text := '(%1$L IS NULL OR %12$s %9$s ANY (%1$L::%8$s[]))';
	is_target_after text := '(%4$L IS NULL OR %7$s %10$s %4$L::%8$s)';
	is_target_given text := '(%1$L IS NULL OR %7$s %9$s ANY (%1$L::%8$s[]))';
	is_of_part text;
	exposed text;
BEGIN
	IF target IS NULL THEN
		RAISE 'target must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	EXECUTE format('SELECT %I.bloom_filter_column($1, $2)', schema) INTO filter_column USING target, filter_column;

	-- What the call leaves out the triggers say.
	EXECUTE format('SELECT %I.bloom_track_agreed($1, $2, $3, $4)', schema) INTO definition
	USING schema, target, filter_column, jsonb_strip_nulls(jsonb_build_object(
		'source', source::oid, 'user_column', user_column, 'item_column', item_column, 'time_column', time_column,
		'width', width, 'fpr', fpr, 'headroom', headroom, 'slices', slices, 'condition', condition,
		'live_column', live_column, 'target_user_column', target_user_column));
	SELECT d.source, d.user_column, d.item_column, d.time_column, d.width, d.fpr, d.headroom, d.slices, d.condition,
		d.live_column, COALESCE(d.target_user_column, d.user_column)
	INTO source, user_column, item_column, time_column, width, fpr, headroom, slices, condition, live_column, target_user_column
	FROM jsonb_to_record(definition) AS d (source oid, user_column name, item_column name, time_column name,
		width interval, fpr float8, headroom float8, slices int4, condition text, live_column name, target_user_column name);

	missing := concat_ws(', ', CASE WHEN source IS NULL THEN 'source' END, CASE WHEN user_column IS NULL THEN 'user_column' END,
		CASE WHEN item_column IS NULL THEN 'item_column' END, CASE WHEN time_column IS NULL THEN 'time_column' END);
	IF missing <> '' THEN
		RAISE 'arguments of bloom_rebuild() are missing: %', missing
			USING ERRCODE = 'null_value_not_allowed',
				DETAIL = CASE
					WHEN definition ->> 'trigger' IS NOT NULL
						THEN format('Trigger %s is not given time=....', definition ->> 'trigger')
					WHEN definition ->> 'ignored' IS NOT NULL
						THEN format('Trigger %s does not count, because the owner of that table does not have the privileges of the owner of table "%s".',
							definition ->> 'ignored', (SELECT c.relname FROM pg_class AS c WHERE c.oid = target))
					ELSE format('No trigger on bloom_track() adds to column "%s" of table "%s".',
						filter_column, (SELECT c.relname FROM pg_class AS c WHERE c.oid = target)) END,
				HINT = CASE
					WHEN definition ->> 'trigger' IS NOT NULL
						THEN 'Name the column of the times of the exposures, in the trigger or in the call.'
					ELSE 'Name the table of the exposures and its columns of users, items and times.' END;
	END IF;
	IF width <= '0' THEN
		RAISE 'width of the window must be positive' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	EXECUTE format('SELECT * FROM %I.bloom_track_keys($1, $2, $3, $4, $5, $6, $7, $8, $9)', schema)
	INTO keys USING schema, target, filter_column, target_user_column, source, user_column, item_column, time_column, condition;
	source_table := source;
	source_name := keys.source_name;
	target_name := keys.target_name;
	EXECUTE format('SELECT %I.bloom_rebuild_require($1, $2, $3, $4)', schema) USING source, source_name, target, target_name;

	-- Integers of different lengths have operators that compare them, so they do without
	-- the cast, which would keep an index of the source from being used.
	IF keys.key_type = ANY ('{pg_catalog.int2,pg_catalog.int4,pg_catalog.int8}') THEN
		EXECUTE format('SELECT t.typname FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = %I.bloom_track_base_type(a.atttypid) '
			'WHERE a.attrelid = $1 AND a.attname = $2 AND t.typname = ANY (''{int2,int4,int8}'') AND t.typnamespace = ''pg_catalog''::regnamespace', schema)
		INTO integer_type USING source, user_column;
	END IF;
	source_key := CASE WHEN integer_type IS NULL THEN format('%s::%s', keys.source_user, keys.key_type)
		ELSE format('e.%I::pg_catalog.%I', user_column, integer_type) END;

	IF live_column IS NOT NULL THEN
		EXECUTE format('SELECT %I.bloom_live_column($1, $2, $3)', schema) USING target, filter_column, live_column;
		emptied := ', %18$I = NULL';
		has_live := ' OR f.%18$I IS NOT NULL';
	END IF;
	EXECUTE format('SELECT s.rebuilt_fpr FROM %I.bloom_track_shares($1, $2) AS s', schema)
	INTO fpr USING fpr, live_column IS NOT NULL;

	-- A row may be deleted if the filter is all that it tells of the user.
	further_columns := EXISTS (
		SELECT FROM pg_attribute AS a
		WHERE a.attrelid = target AND a.attnum > 0 AND NOT a.attisdropped
			AND NOT a.attname = ANY (ARRAY[filter_column, target_user_column, COALESCE(rebuilt_at_column, filter_column),
				COALESCE(live_column, filter_column)]));
	IF further_columns AND (SELECT a.attnotnull FROM pg_attribute AS a WHERE a.attrelid = target AND a.attname = filter_column) THEN
		RAISE 'column "%" of table "%" must allow nulls', filter_column, (SELECT c.relname FROM pg_class AS c WHERE c.oid = target)
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'The table has further columns, so a row is kept without a filter if its user has no exposure left.';
	END IF;

	IF rebuilt_at_column IS NOT NULL THEN
		EXECUTE format('SELECT %I.bloom_time_column($1, $2)', schema) USING target, rebuilt_at_column;
	END IF;

	-- The statements are formats.  A batch writes its users into them, as literals, which
	-- their type's input function reads: a parameter would be cast, and whoever owns the
	-- type can make casts to it.  What the tables and the caller name comes in at the same
	-- time, so that nothing in it is taken for a part of a format.
	--
	-- %1$L are users, NULL for all of them, %2$L those whose rows are locked, %3$L those
	-- who must wait, and %4$L is the last user done.  The others are names, in their order.
	-- Of the parameters $1 is the end of the window, and $2 how many users to find.  Users
	-- are written by concat(), which calls the type's output function and never a cast.
	filter := CASE WHEN slices IS NULL
		THEN format('%I.bloom_rebuild_agg(%s, %L::pg_catalog.float8, %L::pg_catalog.float8)', schema, keys.source_item, fpr, headroom)
		ELSE format('%1$I.bloom_expire(%1$I.bloom_rebuild_window_agg(%2$s, %3$s, %4$L::pg_catalog.interval, %5$L::pg_catalog.int4, '
					'%6$L::pg_catalog.float8), $1)', schema, keys.source_item, keys.source_time, width, slices, fpr) END;
	-- (UTC, because a day has 24 hours in a filter with a window, and not 23 on some)
	exposures := format('FROM %s AS e WHERE e.%I OPERATOR(pg_catalog.>=) pg_catalog.timezone(''UTC'', '
		'pg_catalog.timezone(''UTC'', $1) OPERATOR(pg_catalog.-) %L::pg_catalog.interval) '
		'AND %s',
		keys.source_name, time_column, width, keys.is_exposure);
	names := ARRAY[keys.target_name, target_user_column, keys.target_key, keys.key_type, keys.equal, keys.greater,	-- 5 to 10
		keys.source_user, source_key, exposures, filter, filter_column, schema, rebuilt_at_column, live_column];		-- 11 to 18

	-- $3 is the part of $4 whose users are to be done.  A user's part is told by the hash
	-- function of the type, which is the same for users who are equal but not alike, as
	-- 1.0 and 1.00 are: nobody knows by which of them the other part finds the user.
	is_of_part := '($4 OPERATOR(pg_catalog.=) 1 OR pg_catalog.mod(pg_catalog.hash_array_extended(ARRAY[%s], 0::pg_catalog.int8) '
		'OPERATOR(pg_catalog.&) 9223372036854775807, $4::pg_catalog.int8) OPERATOR(pg_catalog.=) ($3 OPERATOR(pg_catalog.-) 1))';

	-- (Of no users, for a look must evaluate nothing of a type.)
	BEGIN
		EXECUTE format('SELECT hash_array_extended(%L::%s[], 0)', '{}', keys.key_type);
		splits := true;
	EXCEPTION WHEN undefined_function THEN
		splits := false;
	END;

	-- The users who have exposures: by a walk from one to the next along an index, which
	-- is one look for each.  Otherwise all exposures are read.  That is also better with
	-- partitions, or tables that inherit, each of which would take a look for each user.
	walks := (integer_type IS NOT NULL OR keys.source_user = format('e.%I', user_column)) AND EXISTS (
		SELECT FROM pg_class AS r JOIN pg_attribute AS a ON a.attrelid = r.oid
			JOIN pg_index AS i ON i.indrelid = r.oid AND i.indkey[0] = a.attnum AND i.indcollation[0] = a.attcollation
			JOIN pg_opclass AS c ON c.oid = i.indclass[0]
		WHERE r.oid = source AND NOT r.relhassubclass AND a.attname = user_column
			AND i.indisvalid AND i.indpred IS NULL AND c.opcdefault
			AND c.opcmethod = (SELECT m.oid FROM pg_am AS m WHERE m.amname = 'btree'));
	exposed := CASE WHEN walks
		THEN 'WITH RECURSIVE walk AS ('
			'(SELECT %12$s AS u, 1 AS nth %13$s AND ' || is_after || ' ORDER BY 1 LIMIT 1) '
			'UNION ALL SELECT n.u, w.nth OPERATOR(pg_catalog.+) 1 FROM walk AS w '
				'CROSS JOIN LATERAL (SELECT %12$s AS u %13$s AND %12$s %10$s w.u ORDER BY 1 LIMIT 1) AS n '
			'WHERE w.nth OPERATOR(pg_catalog.<) $2) '
			'SELECT w.u FROM walk AS w'
		ELSE 'SELECT DISTINCT %12$s %13$s AND ' || is_after || ' ORDER BY 1 LIMIT $2' END;

	-- The next $2 users of all parts: those of ours, and the last one.
	next_users := 'SELECT pg_catalog.array_agg(pg_catalog.concat(k.u) ORDER BY k.u) FILTER (WHERE %s) AS batch, '
		'(pg_catalog.array_agg(pg_catalog.concat(k.u) ORDER BY k.u))[pg_catalog.count(*)::pg_catalog.int4] AS last_user FROM ';
	-- (of those who were given)
	next_given := format(next_users, 'true') ||
		'(SELECT DISTINCT g.u FROM pg_catalog.unnest(%1$L::%8$s[]) AS g (u) '
		'WHERE g.u IS NOT NULL AND (%4$L IS NULL OR g.u %10$s %4$L::%8$s) ORDER BY 1 LIMIT $2) AS k';
	next_users := format(next_users, format(is_of_part, 'k.u')) ||
		'((SELECT f.%6$I AS u FROM %5$s AS f WHERE f.%6$I IS NOT NULL AND ' || is_target_after || ' ORDER BY 1 LIMIT $2) '
		'UNION (' || exposed || ') ORDER BY 1 LIMIT $2) AS k';

	lock := 'WITH present AS (SELECT f.%%6$I AS u FROM %%5$s AS f WHERE %%7$s %%9$s ANY (%%1$L::%%8$s[])), '
		'locked AS (SELECT f.%%6$I AS u FROM %%5$s AS f WHERE %%7$s %%9$s ANY (%%1$L::%%8$s[]) ORDER BY 1 FOR UPDATE %s) '
		'SELECT ARRAY(SELECT pg_catalog.concat(u) FROM locked), '
		'ARRAY(SELECT pg_catalog.concat(b.u) FROM (SELECT u FROM present EXCEPT SELECT u FROM locked) AS b ORDER BY b.u)';
	lock_free := format(lock, 'SKIP LOCKED');
	lock_one := format(lock, '');

	IF rebuilt_at_column IS NOT NULL THEN
		touched := ', %17$I = pg_catalog.now()';
		columns := ', %17$I';
		times := ', pg_catalog.now()';
	END IF;
	-- A live filter has nothing that the exposures lack, once its row is locked: it is
	-- emptied.
	write := 'WITH fresh AS MATERIALIZED (SELECT %11$s AS u, %14$s AS filter %13$s '
			'AND %12$s %9$s ANY (%1$L::%8$s[]) AND NOT %12$s %9$s ANY (%3$L::%8$s[]) GROUP BY 1), '
		'kept AS (UPDATE %5$s AS f SET %15$I = n.filter' || touched || emptied || ' FROM fresh AS n '
			'WHERE %7$s %9$s n.u::%8$s AND %7$s %9$s ANY (%2$L::%8$s[])' ||
			CASE WHEN rebuilt_at_column IS NOT NULL THEN ''
				-- no need to write what is there
				ELSE ' AND (f.%15$I IS NULL OR f.%15$I OPERATOR(%16$I.<>) n.filter' || has_live || ')' END || '), '
		'gone AS (' ||
			CASE WHEN further_columns
				THEN 'UPDATE %5$s AS f SET %15$I = NULL' || emptied || ' WHERE (f.%15$I IS NOT NULL' || has_live || ') AND'
				ELSE 'DELETE FROM %5$s AS f WHERE' END ||
			' %7$s %9$s ANY (%2$L::%8$s[]) AND NOT EXISTS (SELECT FROM fresh AS n WHERE n.u::%8$s %9$s %7$s) RETURNING 1), '
		'new AS (INSERT INTO %5$s AS f (%6$I, %15$I' || columns || ') SELECT n.u, n.filter' || times || ' FROM fresh AS n '
			'WHERE NOT n.u::%8$s %9$s ANY (%2$L::%8$s[]) ORDER BY n.u '
			'ON CONFLICT (%6$I) DO UPDATE SET %15$I = %16$I.bloom_union(f.%15$I, excluded.%15$I)' || touched || ') '
		'SELECT (SELECT pg_catalog.count(*) FROM fresh) AS built, (SELECT pg_catalog.count(*) FROM gone) AS removed';

	-- Of the users %1$L, or of all of them.
	count_fresh := 'SELECT pg_catalog.count(*) AS users, COALESCE(pg_catalog.sum(n), 0) AS exposures, COALESCE(pg_catalog.sum(bytes), 0) AS bytes '
		'FROM (SELECT pg_catalog.count(*) AS n, (%16$I.bloom_info(%14$s)).bytes %13$s AND ' || is_after || ' AND ' || is_given ||
			' AND ' || format(is_of_part, '%11$s') || ' GROUP BY %11$s) AS f';
	count_others := 'SELECT pg_catalog.count(*) FROM %5$s AS f WHERE ' || is_target_after || ' AND ' || is_target_given ||
		' AND ' || format(is_of_part, 'f.%6$I') || ' AND NOT EXISTS (SELECT %13$s AND %12$s %9$s %7$s)';
END
$$;

COMMENT ON FUNCTION bloom_rebuild_statements(name, regclass, name, regclass, name, name, name, interval, double precision, double precision, integer, name, name, text, name) IS
'the statements that bloom_rebuild() executes';

-- It commits, so it can have no SET clause, and names every schema itself.

CREATE PROCEDURE bloom_rebuild(
	target regclass,
	filter_column name DEFAULT NULL,
	source regclass DEFAULT NULL,
	user_column name DEFAULT NULL,
	item_column name DEFAULT NULL,
	time_column name DEFAULT NULL,
	width interval DEFAULT NULL,
	fpr double precision DEFAULT NULL,
	headroom double precision DEFAULT NULL,
	slices integer DEFAULT NULL,
	batch_size integer DEFAULT 1000,
	pause interval DEFAULT '0',
	start_after text DEFAULT NULL,
	rebuilt_at_column name DEFAULT NULL,
	dry_run boolean DEFAULT false,
	target_user_column name DEFAULT NULL,
	at timestamp with time zone DEFAULT NULL,
	condition text DEFAULT NULL,
	live_column name DEFAULT NULL,
	users text[] DEFAULT NULL,
	part integer DEFAULT 1,
	parts integer DEFAULT 1)
LANGUAGE plpgsql AS $$
DECLARE
	schema pg_catalog.name;
	statements pg_catalog.record;
	next_batch pg_catalog.text;			-- the statement for one
	figures pg_catalog.record;
	which pg_catalog.text := '';		-- of the parts
	enable_sort pg_catalog.text := pg_catalog.current_setting('enable_sort');
	batch pg_catalog.text[];			-- users to be done together
	locked pg_catalog.text[];			-- those of them whose rows are ours
	busy pg_catalog.text[] := '{}';		-- those to be done one at a time
	next_one pg_catalog.text[];			-- one of these
	chosen pg_catalog.int8;				-- users among whom a batch is chosen
	last_user pg_catalog.text := start_after;
	next_last pg_catalog.text;			-- the last of them
	done pg_catalog.int8 := 0;
	built pg_catalog.int8 := 0;
	removed pg_catalog.int8 := 0;
	started_at pg_catalog.timestamptz := pg_catalog.clock_timestamp();
	told_at pg_catalog.timestamptz := started_at;
	batches pg_catalog.float8;
	batch_took pg_catalog.interval;
	all_took pg_catalog.interval;
	others pg_catalog.int8;				-- rows of users without exposures
BEGIN
	SELECT n.nspname INTO schema
	FROM pg_catalog.pg_extension AS e JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
	WHERE e.extname OPERATOR(pg_catalog.=) 'bloomexp';

	-- Only a procedure can tell whether it may commit, and only one that is called without
	-- EXECUTE, so its schema is that of search_path, which the COMMIT sets back.
	PERFORM pg_catalog.set_config('search_path', pg_catalog.quote_ident(schema), true);
	CALL bloom_rebuild_start();
	COMMIT;
	SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

	IF COALESCE(batch_size, 0) OPERATOR(pg_catalog.<) 1 THEN
		RAISE 'batch_size must be at least 1' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF NOT pg_catalog.isfinite(at) THEN
		RAISE 'at must be finite' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	part := COALESCE(part, 1);
	parts := COALESCE(parts, 1);
	IF parts OPERATOR(pg_catalog.<) 1 OR parts OPERATOR(pg_catalog.>) 1000 THEN
		RAISE 'parts must be from 1 to 1000' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF part OPERATOR(pg_catalog.<) 1 OR part OPERATOR(pg_catalog.>) parts THEN
		RAISE 'part must be from 1 to parts, which is %', parts USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF parts OPERATOR(pg_catalog.>) 1 THEN
		IF users IS NOT NULL THEN
			RAISE 'users and parts cannot be given together'
				USING ERRCODE = 'invalid_parameter_value', HINT = 'Rebuild the filters of some users in one call, without parts.';
		END IF;
		which := pg_catalog.format(', part %s of %s', part, parts);
	END IF;
	EXECUTE pg_catalog.format('SELECT * FROM %I.bloom_rebuild_statements($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)', schema)
	INTO statements USING schema, target, filter_column, source, user_column, item_column, time_column,
		width, fpr, headroom, slices, rebuilt_at_column, target_user_column, condition, live_column;
	next_batch := CASE WHEN users IS NULL THEN statements.next_users ELSE statements.next_given END;
	IF parts OPERATOR(pg_catalog.>) 1 AND NOT statements.splits THEN
		RAISE 'users of table "%" cannot be split into parts',
			(SELECT c.relname FROM pg_catalog.pg_class AS c WHERE c.oid OPERATOR(pg_catalog.=) target)
			USING ERRCODE = 'feature_not_supported', DETAIL = 'Their type has no extended hash function.', HINT = 'Rebuild in one part.';
	END IF;
	chosen := batch_size::pg_catalog.int8 OPERATOR(pg_catalog.*) parts;

	IF dry_run THEN
		-- as for the batches below
		PERFORM pg_catalog.set_config('extra_float_digits', '1', true), pg_catalog.set_config('datestyle', 'ISO', true),
			pg_catalog.set_config('jit', 'off', true), pg_catalog.set_config('row_security', 'off', true);
		-- All batches take the time of the first, or that of a look at everything if it is
		-- more; what they would write comes on top.
		PERFORM pg_catalog.set_config('enable_sort', CASE WHEN statements.walks THEN 'off' ELSE enable_sort END, true);
		EXECUTE pg_catalog.format(next_batch, VARIADIC ARRAY[users::pg_catalog.text, NULL, NULL, start_after] OPERATOR(pg_catalog.||) statements.names)
		INTO batch, next_last USING COALESCE(at, pg_catalog.now()), chosen, part, parts;
		PERFORM pg_catalog.set_config('enable_sort', enable_sort, true);
		EXECUTE pg_catalog.format(statements.count_fresh, VARIADIC ARRAY[COALESCE(batch, '{}')::pg_catalog.text, NULL, NULL, start_after] OPERATOR(pg_catalog.||) statements.names)
		INTO figures USING COALESCE(at, pg_catalog.now()), chosen, part, parts;
		told_at := pg_catalog.clock_timestamp();
		batch_took := told_at OPERATOR(pg_catalog.-) started_at;
		EXECUTE pg_catalog.format(statements.count_fresh, VARIADIC ARRAY[users::pg_catalog.text, NULL, NULL, start_after] OPERATOR(pg_catalog.||) statements.names)
		INTO figures USING COALESCE(at, pg_catalog.now()), chosen, part, parts;
		all_took := pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) told_at;
		EXECUTE pg_catalog.format(statements.count_others, VARIADIC ARRAY[users::pg_catalog.text, NULL, NULL, start_after] OPERATOR(pg_catalog.||) statements.names)
		INTO others USING COALESCE(at, pg_catalog.now()), chosen, part, parts;
		-- (so that no setting from above stays behind in a block)
		COMMIT;
		batches := pg_catalog.ceil((figures.users OPERATOR(pg_catalog.+) others) OPERATOR(pg_catalog./) batch_size::pg_catalog.float8);
		RAISE NOTICE 'dry run%: % exposures of % users would make filters of % bytes, in about %; % rows are of other users',
			which, figures.exposures, figures.users, figures.bytes,
			pg_catalog.date_trunc('minute', (pause OPERATOR(pg_catalog.*) batches) OPERATOR(pg_catalog.+) interval '1 minute'
				OPERATOR(pg_catalog.+) GREATEST(batch_took OPERATOR(pg_catalog.*) batches, all_took)),
			others;
		RETURN;
	END IF;

	-- Held until the end of the call, whatever it commits, or until it fails.  A rebuild
	-- of some users does without: the locks on their rows are enough, and an application
	-- that forgets an item must not have to wait for the night to end.
	IF users IS NULL THEN
		-- (parts of one rebuild execute the same statements)
		EXECUTE pg_catalog.format('SELECT %I.bloom_rebuild_lock($1, $2, $3, $4)', schema)
		USING target, part, parts, pg_catalog.hashtext(pg_catalog.concat_ws(' ', parts, pg_catalog.date_part('epoch', at),
			statements.next_users, statements.write, statements.names::pg_catalog.text));
	END IF;

	LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		IF busy OPERATOR(pg_catalog.=) '{}' AND next_last IS NOT NULL THEN
			done := done OPERATOR(pg_catalog.+) COALESCE(pg_catalog.cardinality(batch), 0);
			last_user := next_last;
			IF pg_catalog.clock_timestamp() OPERATOR(pg_catalog.>=) (told_at OPERATOR(pg_catalog.+) interval '20 seconds') THEN
				RAISE NOTICE 'rebuilt the filters of % users, the last one is %', done, last_user;
				told_at := pg_catalog.clock_timestamp();
			END IF;
			IF pause OPERATOR(pg_catalog.>) '0' THEN
				-- in a transaction of its own, so that the window does not end before it
				PERFORM pg_catalog.set_config('application_name',
					pg_catalog.format('bloom_rebuild: %s users%s (%s)', done, which, target), true);
				PERFORM pg_catalog.pg_sleep(pg_catalog.date_part('epoch', pause));
				COMMIT;
				SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
			END IF;
		END IF;

		-- (no user: every role can read this)
		PERFORM pg_catalog.set_config('application_name',
			pg_catalog.format('bloom_rebuild: %s users%s (%s)', done, which, target), true);
		-- Users travel as texts, which must be the same users again, so that none is skipped.
		-- Nothing is compiled anew for each batch.  Policies are an error, also those behind a
		-- view or a function, and those that somebody creates while it runs.
		PERFORM pg_catalog.set_config('extra_float_digits', '1', true), pg_catalog.set_config('datestyle', 'ISO', true),
			pg_catalog.set_config('jit', 'off', true), pg_catalog.set_config('row_security', 'off', true);
		EXECUTE pg_catalog.format('SELECT %I.bloom_rebuild_require($1, $2, $3, $4)', schema)
		USING statements.source_table, statements.source_name, target, statements.target_name;
		EXECUTE pg_catalog.format('SELECT %I.bloom_rebuild_writes($1)', schema) USING target;

		IF busy OPERATOR(pg_catalog.<>) '{}' THEN
			next_one := busy[1:1];
			busy := busy[2:];
			EXECUTE pg_catalog.format(statements.lock_one, VARIADIC ARRAY[next_one::pg_catalog.text, NULL, NULL, NULL] OPERATOR(pg_catalog.||) statements.names)
			INTO locked;
			EXECUTE pg_catalog.format(statements.write, VARIADIC ARRAY[next_one::pg_catalog.text, locked::pg_catalog.text, '{}', NULL] OPERATOR(pg_catalog.||) statements.names)
			INTO figures USING COALESCE(at, pg_catalog.now());
			built := built OPERATOR(pg_catalog.+) figures.built;
			removed := removed OPERATOR(pg_catalog.+) figures.removed;
			CONTINUE;
		END IF;

		-- Without sorting, each step of a walk is one look into the index, even if old
		-- statistics know of no exposure in the window.
		PERFORM pg_catalog.set_config('enable_sort', CASE WHEN statements.walks THEN 'off' ELSE enable_sort END, true);
		EXECUTE pg_catalog.format(next_batch, VARIADIC ARRAY[users::pg_catalog.text, NULL, NULL, last_user] OPERATOR(pg_catalog.||) statements.names)
		INTO batch, next_last USING COALESCE(at, pg_catalog.now()), chosen, part, parts;
		PERFORM pg_catalog.set_config('enable_sort', enable_sort, true);
		EXIT WHEN next_last IS NULL;
		IF last_user OPERATOR(pg_catalog.=) ANY (batch OPERATOR(pg_catalog.||) next_last) THEN
			RAISE 'users of table "%" have no text that tells them apart',
				(SELECT c.relname FROM pg_catalog.pg_class AS c WHERE c.oid OPERATOR(pg_catalog.=) target)
				USING ERRCODE = 'feature_not_supported';
		END IF;
		CONTINUE WHEN batch IS NULL;
		BEGIN
			-- What is left to wait for is a user without a row that another session inserts
			-- just now.  Then the batch is given up before anybody deadlocks.
			PERFORM pg_catalog.set_config('lock_timeout', '10ms', true);
			EXECUTE pg_catalog.format(statements.lock_free, VARIADIC ARRAY[batch::pg_catalog.text, NULL, NULL, NULL] OPERATOR(pg_catalog.||) statements.names)
			INTO locked, busy;
			EXECUTE pg_catalog.format(statements.write, VARIADIC ARRAY[batch::pg_catalog.text, locked::pg_catalog.text, busy::pg_catalog.text, NULL] OPERATOR(pg_catalog.||) statements.names)
			INTO figures USING COALESCE(at, pg_catalog.now());
			built := built OPERATOR(pg_catalog.+) figures.built;
			removed := removed OPERATOR(pg_catalog.+) figures.removed;
		EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
			busy := batch;
		END;
	END LOOP;

	EXECUTE pg_catalog.format('SELECT %I.bloom_rebuild_unlock()', schema);
	COMMIT;
	IF users IS NULL AND parts OPERATOR(pg_catalog.=) 1 AND start_after IS NULL
		AND built OPERATOR(pg_catalog.=) 0 AND removed OPERATOR(pg_catalog.>) 0 THEN
		RAISE WARNING 'no exposure in the window: removed the filters of % users', removed;
	END IF;
	RAISE NOTICE 'rebuilt the filters of % users%', done, which;
END
$$;

COMMENT ON PROCEDURE bloom_rebuild(regclass, name, regclass, name, name, name, interval, double precision, double precision, integer, integer, interval, text, name, boolean, name, timestamp with time zone, text, name, text[], integer, integer) IS
'builds every filter of a table, or those of some users or of a part of them, anew from the exposures of a time window, in batches of users with a transaction each, while writers go on';
