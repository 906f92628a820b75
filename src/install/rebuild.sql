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
	OUT next_users text,
	OUT lock_free text,
	OUT lock_one text,
	OUT write text,
	OUT count_fresh text,
	OUT count_others text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
	keys pg_catalog.record;
	further_columns pg_catalog.bool;
	not_null pg_catalog.bool;
	item pg_catalog.text;
	filter pg_catalog.text;
	exposures pg_catalog.text;
	lock pg_catalog.text;
BEGIN
	IF target IS NULL OR filter_column IS NULL OR source IS NULL OR user_column IS NULL
		OR item_column IS NULL OR time_column IS NULL OR width IS NULL OR fpr IS NULL OR headroom IS NULL THEN
		RAISE 'target, source, columns, width, fpr and headroom must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF width OPERATOR(pg_catalog.<=) '0' THEN
		RAISE 'width of the window must be positive' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	EXECUTE pg_catalog.format('SELECT * FROM %I.bloom_track_keys($1, $2, $3, $4, $5, $6, $7, $8)', schema)
	INTO keys USING schema, target, filter_column, target_user_column, source, user_column, item_column, time_column;

	-- A row may be deleted if the filter is all that it tells of the user.
	SELECT pg_catalog.count(*) OPERATOR(pg_catalog.>) 0 INTO further_columns
	FROM pg_catalog.pg_attribute AS a
	WHERE a.attrelid OPERATOR(pg_catalog.=) target AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
		AND NOT a.attname OPERATOR(pg_catalog.=) ANY (ARRAY[filter_column, target_user_column,
			COALESCE(rebuilt_at_column, filter_column)]);
	SELECT a.attnotnull INTO not_null
	FROM pg_catalog.pg_attribute AS a
	WHERE a.attrelid OPERATOR(pg_catalog.=) target AND a.attname OPERATOR(pg_catalog.=) filter_column;
	IF further_columns AND not_null THEN
		RAISE 'column "%" of table "%" must allow nulls', filter_column, target
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'The table has further columns, so a row is kept without a filter if its user has no exposure left.';
	END IF;

	-- In all statements $1 are the users, or the last user done, and $3 is the end of
	-- the window.  Users come as texts, and so does every constant of the caller's.
	item := keys.source_item;
	filter := CASE WHEN slices IS NULL
		THEN pg_catalog.format('%I.bloom_agg(%s, %L, %L)', schema, item, fpr::pg_catalog.numeric, headroom::pg_catalog.numeric)
		ELSE pg_catalog.format('%1$I.bloom_expire(%1$I.bloom_window_agg(%2$s, e.%3$I::pg_catalog.timestamptz, %4$L, %5$L, %6$L), $3)',
							   schema, item, time_column, width, slices, fpr::pg_catalog.numeric) END;
	-- (UTC, because a day has 24 hours in a filter with a window, and not 23 on some)
	exposures := pg_catalog.format('FROM %s AS e WHERE e.%I OPERATOR(pg_catalog.>=) pg_catalog.timezone(''UTC'', '
		'pg_catalog.timezone(''UTC'', $3) OPERATOR(pg_catalog.-) %L::pg_catalog.interval) '
		'AND e.%I IS NOT NULL AND e.%I IS NOT NULL',
		keys.source_name, time_column, width, user_column, item_column);

	next_users := pg_catalog.format(
		'SELECT pg_catalog.array_agg(k.u::pg_catalog.text ORDER BY k.u) FROM ('
		'(SELECT f.%1$I AS u FROM %2$s AS f WHERE f.%1$I IS NOT NULL AND ($1 IS NULL OR f.%1$I %3$s $1::%4$s) ORDER BY 1 LIMIT $2) '
		'UNION (SELECT DISTINCT %5$s %6$s AND ($1 IS NULL OR %5$s %3$s $1::%4$s) ORDER BY 1 LIMIT $2) '
		'ORDER BY 1 LIMIT $2) AS k',
		target_user_column, keys.target_name, keys.greater, keys.user_type, keys.source_user, exposures);

	lock := 'WITH present AS (SELECT f.%1$I AS u FROM %2$s AS f WHERE f.%1$I %3$s ANY ($1::%4$s[])), '
		'locked AS (SELECT f.%1$I AS u FROM %2$s AS f WHERE f.%1$I %3$s ANY ($1::%4$s[]) ORDER BY 1 FOR UPDATE %5$s) '
		'SELECT ARRAY(SELECT u::pg_catalog.text FROM locked), '
		'ARRAY(SELECT b.u::pg_catalog.text FROM (SELECT u FROM present EXCEPT SELECT u FROM locked) AS b ORDER BY b.u)';
	lock_free := pg_catalog.format(lock, target_user_column, keys.target_name, keys.equal, keys.user_type, 'SKIP LOCKED');
	lock_one := pg_catalog.format(lock, target_user_column, keys.target_name, keys.equal, keys.user_type, '');

	-- $2 are the users whose rows are locked, $4 those who must wait.
	write := pg_catalog.format(
		'WITH fresh AS MATERIALIZED (SELECT %5$s AS u, %6$s AS filter %7$s '
			'AND %5$s %8$s ANY ($1::%9$s[]) AND NOT %5$s %8$s ANY ($4::%9$s[]) GROUP BY 1), '
		'kept AS (UPDATE %1$s AS f SET %3$I = n.filter %10$s FROM fresh AS n '
			'WHERE f.%2$I %8$s n.u AND f.%2$I %8$s ANY ($2::%9$s[]) %11$s), '
		'gone AS (%12$s f.%2$I %8$s ANY ($2::%9$s[]) AND NOT EXISTS (SELECT FROM fresh AS n WHERE n.u %8$s f.%2$I)) '
		'INSERT INTO %1$s AS f (%2$I, %3$I %13$s) SELECT n.u, n.filter %14$s FROM fresh AS n '
			'WHERE NOT n.u %8$s ANY ($2::%9$s[]) ORDER BY n.u '
		'ON CONFLICT (%2$I) DO UPDATE SET %3$I = %4$I.bloom_union(f.%3$I, excluded.%3$I) %10$s',
		keys.target_name, target_user_column, filter_column, schema, keys.source_user, filter, exposures, keys.equal, keys.user_type,
		CASE WHEN rebuilt_at_column IS NULL THEN '' ELSE pg_catalog.format(', %I = pg_catalog.now()', rebuilt_at_column) END,
		CASE WHEN rebuilt_at_column IS NULL
			-- no need to write what is there
			THEN pg_catalog.format('AND (f.%1$I IS NULL OR f.%1$I OPERATOR(%2$I.<>) n.filter)', filter_column, schema)
			ELSE '' END,
		CASE WHEN further_columns
			THEN pg_catalog.format('UPDATE %1$s AS f SET %2$I = NULL WHERE f.%2$I IS NOT NULL AND', keys.target_name, filter_column)
			ELSE pg_catalog.format('DELETE FROM %s AS f WHERE', keys.target_name) END,
		CASE WHEN rebuilt_at_column IS NULL THEN '' ELSE pg_catalog.format(', %I', rebuilt_at_column) END,
		CASE WHEN rebuilt_at_column IS NULL THEN '' ELSE ', pg_catalog.now()' END);

	-- Of the users $2, or of all of them.
	count_fresh := pg_catalog.format(
		'SELECT pg_catalog.count(*) AS users, COALESCE(pg_catalog.sum(n), 0) AS exposures, COALESCE(pg_catalog.sum(bytes), 0) AS bytes '
		'FROM (SELECT pg_catalog.count(*) AS n, (%1$I.bloom_info(%2$s)).bytes %3$s AND ($1 IS NULL OR %4$s %5$s $1::%6$s) '
			'AND ($2 IS NULL OR %4$s %7$s ANY ($2::%6$s[])) GROUP BY %4$s) AS f',
		schema, filter, exposures, keys.source_user, keys.greater, keys.user_type, keys.equal);
	count_others := pg_catalog.format(
		'SELECT pg_catalog.count(*) FROM %1$s AS f WHERE ($1 IS NULL OR f.%2$I %3$s $1::%4$s) '
		'AND NOT EXISTS (SELECT %5$s AND %6$s %7$s f.%2$I)',
		keys.target_name, target_user_column, keys.greater, keys.user_type, exposures, keys.source_user, keys.equal);
END
$$;

COMMENT ON FUNCTION bloom_rebuild_statements(name, regclass, name, regclass, name, name, name, interval, double precision, double precision, integer, name, name) IS
'the statements that bloom_rebuild() executes';

CREATE PROCEDURE bloom_rebuild(
	target regclass,
	filter_column name,
	source regclass,
	user_column name,
	item_column name,
	time_column name,
	width interval DEFAULT '30 days',
	fpr double precision DEFAULT 0.01,
	headroom double precision DEFAULT 0.2,
	slices integer DEFAULT NULL,
	batch_size integer DEFAULT 1000,
	pause interval DEFAULT '0',
	start_after text DEFAULT NULL,
	rebuilt_at_column name DEFAULT NULL,
	dry_run boolean DEFAULT false,
	target_user_column name DEFAULT NULL,
	at timestamp with time zone DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
	schema pg_catalog.name;
	statements pg_catalog.record;
	figures pg_catalog.record;
	batch pg_catalog.text[];			-- users to be done together
	locked pg_catalog.text[];			-- those of them whose rows are ours
	busy pg_catalog.text[] := '{}';		-- those to be done one at a time
	users pg_catalog.text[];			-- one of these
	last_user pg_catalog.text := start_after;
	done pg_catalog.int8 := 0;
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
	SELECT n.nspname INTO schema
	FROM pg_catalog.pg_extension AS e JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
	WHERE e.extname OPERATOR(pg_catalog.=) 'bloomexp';
	EXECUTE pg_catalog.format('SELECT * FROM %I.bloom_rebuild_statements($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)', schema)
	INTO statements USING schema, target, filter_column, source, user_column, item_column, time_column,
		width, fpr, headroom, slices, rebuilt_at_column, COALESCE(target_user_column, user_column);

	IF dry_run THEN
		-- All batches take the time of the first, or that of a look at everything if it is
		-- more; what they would write comes on top.
		EXECUTE statements.next_users INTO batch USING start_after, batch_size, COALESCE(at, pg_catalog.now());
		EXECUTE statements.count_fresh INTO figures USING start_after, batch, COALESCE(at, pg_catalog.now());
		told_at := pg_catalog.clock_timestamp();
		batch_took := told_at OPERATOR(pg_catalog.-) started_at;
		EXECUTE statements.count_fresh INTO figures USING start_after, NULL::pg_catalog.text[], COALESCE(at, pg_catalog.now());
		all_took := pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) told_at;
		EXECUTE statements.count_others INTO others USING start_after, NULL, COALESCE(at, pg_catalog.now());
		batches := pg_catalog.ceil((figures.users OPERATOR(pg_catalog.+) others) OPERATOR(pg_catalog./) batch_size::pg_catalog.float8);
		RAISE NOTICE 'dry run: % exposures of % users would make filters of % bytes, in about %; % rows are of other users',
			figures.exposures, figures.users, figures.bytes,
			pg_catalog.date_trunc('minute', (pause OPERATOR(pg_catalog.*) batches) OPERATOR(pg_catalog.+) interval '1 minute'
				OPERATOR(pg_catalog.+) GREATEST(batch_took OPERATOR(pg_catalog.*) batches, all_took)),
			others;
		RETURN;
	END IF;

	LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		IF busy OPERATOR(pg_catalog.=) '{}' AND batch IS NOT NULL THEN
			done := done OPERATOR(pg_catalog.+) pg_catalog.cardinality(batch);
			last_user := batch[pg_catalog.cardinality(batch)];
			IF pg_catalog.clock_timestamp() OPERATOR(pg_catalog.>=) (told_at OPERATOR(pg_catalog.+) interval '20 seconds') THEN
				RAISE NOTICE 'rebuilt the filters of % users, the last one is %', done, last_user;
				told_at := pg_catalog.clock_timestamp();
			END IF;
			IF pause OPERATOR(pg_catalog.>) '0' THEN
				-- in a transaction of its own, so that the window does not end before it
				PERFORM pg_catalog.set_config('application_name',
					pg_catalog.format('bloom_rebuild: %s users%s (%s)', done, ', last ' OPERATOR(pg_catalog.||) last_user, target), true);
				PERFORM pg_catalog.pg_sleep(pg_catalog.date_part('epoch', pause));
				COMMIT;
				SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
			END IF;
		END IF;

		PERFORM pg_catalog.set_config('application_name',
			pg_catalog.format('bloom_rebuild: %s users%s (%s)', done, ', last ' OPERATOR(pg_catalog.||) last_user, target), true);
		IF NOT pg_catalog.pg_try_advisory_xact_lock(
				pg_catalog.hashtextextended(pg_catalog.format('bloom_rebuild %s', target::pg_catalog.oid), 0)) THEN
			RAISE 'table "%" is being rebuilt by another session', target USING ERRCODE = 'lock_not_available';
		END IF;

		IF busy OPERATOR(pg_catalog.<>) '{}' THEN
			users := busy[1:1];
			busy := busy[2:];
			EXECUTE statements.lock_one INTO locked USING users;
			EXECUTE statements.write USING users, locked, COALESCE(at, pg_catalog.now()), busy;
			CONTINUE;
		END IF;

		EXECUTE statements.next_users INTO batch USING last_user, batch_size, COALESCE(at, pg_catalog.now());
		EXIT WHEN batch IS NULL;
		BEGIN
			-- What is left to wait for is a user without a row that another session inserts
			-- just now.  Then the batch is given up before anybody deadlocks.
			PERFORM pg_catalog.set_config('lock_timeout', '10ms', true);
			EXECUTE statements.lock_free INTO locked, busy USING batch;
			EXECUTE statements.write USING batch, locked, COALESCE(at, pg_catalog.now()), busy;
		EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
			busy := batch;
		END;
	END LOOP;

	RAISE NOTICE 'rebuilt the filters of % users', done;
END
$$;

COMMENT ON PROCEDURE bloom_rebuild(regclass, name, regclass, name, name, name, interval, double precision, double precision, integer, integer, interval, text, name, boolean, name, timestamp with time zone) IS
'builds every filter of a table anew from the exposures of a time window, in batches of users with a transaction each, while writers go on';
