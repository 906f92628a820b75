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

CREATE FUNCTION bloom_rebuild_policies(source regclass) RETURNS void
LANGUAGE plpgsql STABLE
-- (policies are an error then)
SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
BEGIN
	IF row_security_active(source) THEN
		RAISE 'row-level security policies of table "%" apply to role "%"',
			(SELECT c.relname FROM pg_class AS c WHERE c.oid = source), current_user
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = 'Users whose exposures they hide would lose their filters.',
				HINT = 'Rebuild as a role with BYPASSRLS, or as the owner of the table without FORCE ROW LEVEL SECURITY.';
	END IF;
	-- Whether there are policies behind a view, only a query tells.  (Citus hides a shard in
	-- pg_class from a session that has a name of its own, as a rebuild has.)
	EXECUTE format('SELECT FROM %s AS e WHERE false', source);
END
$$;

COMMENT ON FUNCTION bloom_rebuild_policies(regclass) IS
'for bloom_rebuild(): raises an error if row-level security policies hide exposures from the caller';

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
	OUT exposures_table regclass)
LANGUAGE plpgsql STABLE
-- (so that a rate is written with all its digits, and an interval in one way)
SET search_path = pg_catalog, pg_temp SET extra_float_digits = 1 SET intervalstyle = 'iso_8601' AS $$
DECLARE
	definition jsonb;
	missing text;
	keys record;
	source_key text;
	further_columns bool;
	filter text;
	exposures text;
	exposed text;
	is_of_part text;
	lock text;
	has_live text := '';		-- whether a row has a live filter
	emptied text := '';			-- ... then it is removed
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
	source_key := format('%s::%s', keys.source_user, keys.key_type);

	EXECUTE format('SELECT %I.bloom_rebuild_policies($1)', schema) USING source;
	exposures_table := source;

	IF live_column IS NOT NULL THEN
		EXECUTE format('SELECT %I.bloom_live_column($1, $2, $3)', schema) USING target, filter_column, live_column;
		has_live := format('OR f.%I IS NOT NULL', live_column);
		emptied := format(', %I = NULL', live_column);
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

	-- In all statements $1 are the users, or the last user done, and $3 is the end of
	-- the window.  Users come as texts, and so does every constant of the caller's.
	-- (concat() makes such a text by the type's output function, never by a cast.)
	filter := CASE WHEN slices IS NULL
		THEN format('%I.bloom_rebuild_agg(%s, %L::pg_catalog.float8, %L::pg_catalog.float8)', schema, keys.source_item, fpr, headroom)
		ELSE format('%1$I.bloom_expire(%1$I.bloom_rebuild_window_agg(%2$s, %3$s, %4$L::pg_catalog.interval, %5$L::pg_catalog.int4, '
					'%6$L::pg_catalog.float8), $3)', schema, keys.source_item, keys.source_time, width, slices, fpr) END;
	-- (UTC, because a day has 24 hours in a filter with a window, and not 23 on some)
	exposures := format('FROM %s AS e WHERE e.%I OPERATOR(pg_catalog.>=) pg_catalog.timezone(''UTC'', '
		'pg_catalog.timezone(''UTC'', $3) OPERATOR(pg_catalog.-) %L::pg_catalog.interval) '
		'AND %s',
		keys.source_name, time_column, width, keys.is_exposure);

	-- $5 is the part of $6 whose users are to be done.  A user's part is told by the hash
	-- function of the type, which is the same for users who are equal but not alike, as
	-- 1.0 and 1.00 are: nobody knows by which of them the other part finds the user.
	is_of_part := '($6 OPERATOR(pg_catalog.=) 1 OR pg_catalog.mod(pg_catalog.hash_array_extended(ARRAY[%s], 0::pg_catalog.int8) '
		'OPERATOR(pg_catalog.&) 9223372036854775807, $6::pg_catalog.int8) OPERATOR(pg_catalog.=) ($5 OPERATOR(pg_catalog.-) 1))';

	BEGIN
		EXECUTE format('SELECT hash_array_extended(ARRAY[NULL::%s], 0)', keys.key_type);
		splits := true;
	EXCEPTION WHEN undefined_function THEN
		splits := false;
	END;

	-- The users who have exposures: by a walk from one to the next along an index, which
	-- is one look for each.  Otherwise all exposures are read.  That is also better with
	-- partitions, or tables that inherit, each of which would take a look for each user.
	walks := keys.source_user = format('e.%I', user_column) AND EXISTS (
		SELECT FROM pg_class AS r JOIN pg_attribute AS a ON a.attrelid = r.oid
			JOIN pg_index AS i ON i.indrelid = r.oid AND i.indkey[0] = a.attnum AND i.indcollation[0] = a.attcollation
			JOIN pg_opclass AS c ON c.oid = i.indclass[0]
		WHERE r.oid = source AND NOT r.relhassubclass AND a.attname = user_column
			AND i.indisvalid AND i.indpred IS NULL AND c.opcdefault
			AND c.opcmethod = (SELECT m.oid FROM pg_am AS m WHERE m.amname = 'btree'));
	exposed := CASE WHEN walks
		THEN 'WITH RECURSIVE walk AS ('
			'(SELECT %1$s AS u, 1 AS nth %2$s AND ($1 IS NULL OR %3$s %4$s $1::%5$s) ORDER BY 1 LIMIT 1) '
			'UNION ALL SELECT n.u, w.nth OPERATOR(pg_catalog.+) 1 FROM walk AS w '
				'CROSS JOIN LATERAL (SELECT %1$s AS u %2$s AND %3$s %4$s w.u::%5$s ORDER BY 1 LIMIT 1) AS n '
			'WHERE w.nth OPERATOR(pg_catalog.<) $2) '
			'SELECT w.u FROM walk AS w'
		ELSE 'SELECT DISTINCT %1$s %2$s AND ($1 IS NULL OR %3$s %4$s $1::%5$s) ORDER BY 1 LIMIT $2' END;
	exposed := format(exposed, keys.source_user, exposures, source_key, keys.greater, keys.key_type);

	-- The next $2 users of all parts: those of ours, and the last one.
	next_users := 'SELECT pg_catalog.array_agg(pg_catalog.concat(k.u) ORDER BY k.u) FILTER (WHERE %1$s) AS batch, '
		'(pg_catalog.array_agg(pg_catalog.concat(k.u) ORDER BY k.u))[pg_catalog.count(*)::pg_catalog.int4] AS last_user FROM (%2$s ORDER BY 1 LIMIT $2) AS k';
	-- ($4 are users who were given)
	next_given := format(next_users, 'true', format('SELECT DISTINCT g.u FROM pg_catalog.unnest($4::%1$s[]) AS g (u) '
		'WHERE g.u IS NOT NULL AND ($1 IS NULL OR g.u %2$s $1::%1$s)', keys.key_type, keys.greater));
	next_users := format(next_users, format(is_of_part, 'k.u'), format(
		'(SELECT f.%1$I AS u FROM %2$s AS f WHERE f.%1$I IS NOT NULL AND ($1 IS NULL OR %3$s %4$s $1::%5$s) ORDER BY 1 LIMIT $2) '
		'UNION (%6$s)',
		target_user_column, keys.target_name, keys.target_key, keys.greater, keys.key_type, exposed));

	lock := 'WITH present AS (SELECT f.%1$I AS u FROM %2$s AS f WHERE %3$s %4$s ANY ($1::%5$s[])), '
		'locked AS (SELECT f.%1$I AS u FROM %2$s AS f WHERE %3$s %4$s ANY ($1::%5$s[]) ORDER BY 1 FOR UPDATE %6$s) '
		'SELECT ARRAY(SELECT pg_catalog.concat(u) FROM locked), '
		'ARRAY(SELECT pg_catalog.concat(b.u) FROM (SELECT u FROM present EXCEPT SELECT u FROM locked) AS b ORDER BY b.u)';
	lock_free := format(lock, target_user_column, keys.target_name, keys.target_key, keys.equal, keys.key_type, 'SKIP LOCKED');
	lock_one := format(lock, target_user_column, keys.target_name, keys.target_key, keys.equal, keys.key_type, '');

	-- $2 are the users whose rows are locked, $4 those who must wait.  A live filter has
	-- nothing that the exposures lack, once its row is locked: it is emptied.
	write := format(
		'WITH fresh AS MATERIALIZED (SELECT %5$s AS u, %6$s AS filter %7$s '
			'AND %15$s %8$s ANY ($1::%9$s[]) AND NOT %15$s %8$s ANY ($4::%9$s[]) GROUP BY 1), '
		'kept AS (UPDATE %1$s AS f SET %3$I = n.filter %10$s %17$s FROM fresh AS n '
			'WHERE %16$s %8$s n.u::%9$s AND %16$s %8$s ANY ($2::%9$s[]) %11$s), '
		'gone AS (%12$s %16$s %8$s ANY ($2::%9$s[]) AND NOT EXISTS (SELECT FROM fresh AS n WHERE n.u::%9$s %8$s %16$s) RETURNING 1), '
		'new AS (INSERT INTO %1$s AS f (%2$I, %3$I %13$s) SELECT n.u, n.filter %14$s FROM fresh AS n '
			'WHERE NOT n.u::%9$s %8$s ANY ($2::%9$s[]) ORDER BY n.u '
			'ON CONFLICT (%2$I) DO UPDATE SET %3$I = %4$I.bloom_union(f.%3$I, excluded.%3$I) %10$s) '
		'SELECT (SELECT pg_catalog.count(*) FROM fresh) AS built, (SELECT pg_catalog.count(*) FROM gone) AS removed',
		keys.target_name, target_user_column, filter_column, schema, keys.source_user, filter, exposures, keys.equal, keys.key_type,
		CASE WHEN rebuilt_at_column IS NULL THEN '' ELSE format(', %I = pg_catalog.now()', rebuilt_at_column) END,
		CASE WHEN rebuilt_at_column IS NULL
			-- no need to write what is there
			THEN format('AND (f.%1$I IS NULL OR f.%1$I OPERATOR(%2$I.<>) n.filter %3$s)', filter_column, schema, has_live)
			ELSE '' END,
		CASE WHEN further_columns
			THEN format('UPDATE %1$s AS f SET %2$I = NULL %3$s WHERE (f.%2$I IS NOT NULL %4$s) AND', keys.target_name, filter_column,
				emptied, has_live)
			ELSE format('DELETE FROM %s AS f WHERE', keys.target_name) END,
		CASE WHEN rebuilt_at_column IS NULL THEN '' ELSE format(', %I', rebuilt_at_column) END,
		CASE WHEN rebuilt_at_column IS NULL THEN '' ELSE ', pg_catalog.now()' END,
		source_key, keys.target_key, emptied);

	-- Of the users $2, or of all of them.
	count_fresh := format(
		'SELECT pg_catalog.count(*) AS users, COALESCE(pg_catalog.sum(n), 0) AS exposures, COALESCE(pg_catalog.sum(bytes), 0) AS bytes '
		'FROM (SELECT pg_catalog.count(*) AS n, (%1$I.bloom_info(%2$s)).bytes %3$s AND ($1 IS NULL OR %4$s %5$s $1::%6$s) '
			'AND ($2 IS NULL OR %4$s %7$s ANY ($2::%6$s[])) AND %9$s GROUP BY %8$s) AS f',
		schema, filter, exposures, source_key, keys.greater, keys.key_type, keys.equal, keys.source_user,
		format(is_of_part, keys.source_user));
	count_others := format(
		'SELECT pg_catalog.count(*) FROM %1$s AS f WHERE ($1 IS NULL OR %2$s %3$s $1::%4$s) '
		'AND ($2 IS NULL OR %2$s %7$s ANY ($2::%4$s[])) AND %8$s AND NOT EXISTS (SELECT %5$s AND %6$s %7$s %2$s)',
		keys.target_name, keys.target_key, keys.greater, keys.key_type, exposures, source_key, keys.equal,
		format(is_of_part, format('f.%I', target_user_column)));
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
	-- In a transaction block this fails, before anything is done.
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
	SELECT n.nspname INTO schema
	FROM pg_catalog.pg_extension AS e JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
	WHERE e.extname OPERATOR(pg_catalog.=) 'bloomexp';
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
			pg_catalog.set_config('jit', 'off', true);
		-- All batches take the time of the first, or that of a look at everything if it is
		-- more; what they would write comes on top.
		PERFORM pg_catalog.set_config('enable_sort', CASE WHEN statements.walks THEN 'off' ELSE enable_sort END, true);
		EXECUTE next_batch INTO batch, next_last USING start_after, chosen, COALESCE(at, pg_catalog.now()), users, part, parts;
		PERFORM pg_catalog.set_config('enable_sort', enable_sort, true);
		EXECUTE statements.count_fresh INTO figures USING start_after, COALESCE(batch, '{}'), COALESCE(at, pg_catalog.now()), users, part, parts;
		told_at := pg_catalog.clock_timestamp();
		batch_took := told_at OPERATOR(pg_catalog.-) started_at;
		EXECUTE statements.count_fresh INTO figures USING start_after, users, COALESCE(at, pg_catalog.now()), users, part, parts;
		all_took := pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) told_at;
		EXECUTE statements.count_others INTO others USING start_after, users, COALESCE(at, pg_catalog.now()), users, part, parts;
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
			statements.next_users, statements.write));
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
		-- Nothing is compiled anew for each batch.
		PERFORM pg_catalog.set_config('extra_float_digits', '1', true), pg_catalog.set_config('datestyle', 'ISO', true),
			pg_catalog.set_config('jit', 'off', true);
		-- also if somebody enables policies while it runs
		EXECUTE pg_catalog.format('SELECT %I.bloom_rebuild_policies($1)', schema) USING statements.exposures_table;
		EXECUTE pg_catalog.format('SELECT %I.bloom_rebuild_writes($1)', schema) USING target;

		IF busy OPERATOR(pg_catalog.<>) '{}' THEN
			next_one := busy[1:1];
			busy := busy[2:];
			EXECUTE statements.lock_one INTO locked USING next_one;
			EXECUTE statements.write INTO figures USING next_one, locked, COALESCE(at, pg_catalog.now()), '{}'::pg_catalog.text[];
			built := built OPERATOR(pg_catalog.+) figures.built;
			removed := removed OPERATOR(pg_catalog.+) figures.removed;
			CONTINUE;
		END IF;

		-- Without sorting, each step of a walk is one look into the index, even if old
		-- statistics know of no exposure in the window.
		PERFORM pg_catalog.set_config('enable_sort', CASE WHEN statements.walks THEN 'off' ELSE enable_sort END, true);
		EXECUTE next_batch INTO batch, next_last USING last_user, chosen, COALESCE(at, pg_catalog.now()), users, part, parts;
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
			EXECUTE statements.lock_free INTO locked, busy USING batch;
			EXECUTE statements.write INTO figures USING batch, locked, COALESCE(at, pg_catalog.now()), busy;
			built := built OPERATOR(pg_catalog.+) figures.built;
			removed := removed OPERATOR(pg_catalog.+) figures.removed;
		EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
			busy := batch;
		END;
	END LOOP;

	EXECUTE pg_catalog.format('SELECT %I.bloom_rebuild_unlock()', schema);
	IF users IS NULL AND parts OPERATOR(pg_catalog.=) 1 AND start_after IS NULL
		AND built OPERATOR(pg_catalog.=) 0 AND removed OPERATOR(pg_catalog.>) 0 THEN
		RAISE WARNING 'no exposure in the window: removed the filters of % users', removed;
	END IF;
	RAISE NOTICE 'rebuilt the filters of % users%', done, which;
END
$$;

COMMENT ON PROCEDURE bloom_rebuild(regclass, name, regclass, name, name, name, interval, double precision, double precision, integer, integer, interval, text, name, boolean, name, timestamp with time zone, text, name, text[], integer, integer) IS
'builds every filter of a table, or those of some users or of a part of them, anew from the exposures of a time window, in batches of users with a transaction each, while writers go on';
