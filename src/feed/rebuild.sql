-- The rebuild of a feed over a table.
--
-- rebuild() of a feed calls the procedure rebuild_filters(), a loop that commits after each batch.
-- The loop runs with the rights of the caller, reads no table, and keeps its progress in variables.
-- For each batch it calls rebuild_batch() of the feed.
--
-- rebuild_batch() of a feed runs with the rights of the feed's owner.  It calls
-- bloomexp.rebuild_batch(), which does the work, with constants of the feed's script.  One of them
-- is the query that returns the users and items of the exposures.
--
-- A batch locks the rows of its users, reads their exposures in its next statement, and replaces
-- the rows.  While a batch holds row locks it waits for no other row lock, and for a session that
-- is inserting a row of the same user only up to lock_timeout, because it could deadlock with a
-- transaction that locks users in another order.  So it skips users whose rows are locked by
-- others.  They come last: in batches again, as long as some of the rows are free, and then one by
-- one, because waiting for a single row is safe.  A skipped user who has no exposure waits for the
-- next rebuild, unless the caller has named the users.

CREATE TYPE bloomexp.rebuild_counts AS (
	exposures bigint,
	filters bigint,
	bytes bigint,
	removed bigint,
	examined bigint,
	lost bigint,
	halved bigint
);

COMMENT ON TYPE bloomexp.rebuild_counts IS
'counts of a rebuild: exposures that it has read; filters that it has built, and their bytes; '
'filters removed because their users have no exposure left. The last three are for the safety '
'stop, and leave out rows that have only items of the last take(): filters examined, filters lost '
'because they were removed, and filters halved, which lose more than half of the items that the '
'exposures should still have';

CREATE PROCEDURE bloomexp.rebuild_filters(
	batch text,	-- name of rebuild_batch() of the feed
	filters text,	-- name of the table of filters, for messages
	users anyarray, after anyelement, upto anyelement,
	pause interval,
	has_triggers boolean,
	overlap interval,	-- only for a feed without triggers
	dry_run boolean, allow_removed boolean,
	INOUT exposures bigint, INOUT n_filters bigint, INOUT bytes bigint, INOUT removed bigint)
LANGUAGE plpgsql
AS $$	-- With SET it could not commit.  So types that a search_path finds are qualified.
DECLARE
	call pg_catalog.text;
	batch_oid pg_catalog.oid;
	n_calls bigint;	-- 0: another function has the name now
	size integer := 250;	-- filters of a batch; it takes up to 4 * size wanted users
	counts bloomexp.rebuild_counts;
	counts_before bloomexp.rebuild_counts;
	n_done integer := 0;	-- how many of "users" are done
	wanted users%TYPE;	-- users of the next batch; NULL: those after "after"
	busy users%TYPE;	-- users to try again, most of them because others had locked their rows
	batch_busy users%TYPE;	-- those of the last batch
	only_busy boolean := false;	-- all other users are done
	one_by_one boolean := false;	-- each batch is one busy user
	gave_way boolean;	-- the last batch did nothing, because of a lock
	report_at timestamp with time zone;
	give_up_at timestamp with time zone;	-- NULL: locks did not stop the last batch
	wait double precision;	-- seconds
BEGIN
	PERFORM bloomexp.require_autocommit('rebuild()');
	LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;	-- whatever the session's default is
		SET LOCAL search_path = pg_catalog, pg_temp;	-- until the next COMMIT
		-- Initialize here, because before the loop operators come from the caller's search_path.
		IF call IS NULL THEN
			IF users IS NOT NULL AND (after IS NOT NULL OR upto IS NOT NULL) THEN
				RAISE EXCEPTION 'a rebuild takes either users or a range of them'
					USING ERRCODE = 'invalid_parameter_value';
			ELSIF dry_run IS NULL OR allow_removed IS NULL THEN
				RAISE EXCEPTION 'dry_run and allow_removed must not be null'
					USING ERRCODE = 'null_value_not_allowed';
			ELSIF NOT has_triggers AND (overlap >= interval '0') IS NOT TRUE THEN
				RAISE EXCEPTION 'overlap must not be null or negative'
					USING ERRCODE = 'invalid_parameter_value';
			END IF;
			call := format('SELECT b.after, b.busy, (b.counts).* '
				'FROM %s($1, $2, $3, $4, $5, $6, $7%s) AS b WHERE to_regproc(%L)::oid = $9',
				batch, CASE WHEN NOT has_triggers THEN ', $8' END, batch);
			batch_oid := batch::regproc;
			IF users IS NOT NULL THEN	-- batches take slices of it
				users := ARRAY(SELECT u.id FROM unnest(users) AS u(id));
			END IF;
			counts := ROW(0, 0, 0, 0, 0, 0, 0);
			busy := '{}';
			report_at := clock_timestamp() + interval '1 second';
		END IF;

		wanted := CASE
			WHEN one_by_one THEN busy[1:1]
			WHEN only_busy THEN busy[1 : 4 * size]
			WHEN users IS NOT NULL THEN users[n_done + 1 : n_done + 4 * size]
		END;
		gave_way := false;
		-- Since the last batch the feed can have been dropped, and somebody else can have made one
		-- of its name.  Test that before the call, whose plan could run the function, and again in
		-- the call.
		IF to_regproc(batch)::oid IS DISTINCT FROM batch_oid THEN
			RAISE EXCEPTION 'function % was replaced in the meantime', batch
				USING ERRCODE = 'object_not_in_prerequisite_state';
		END IF;
		counts_before := counts;
		BEGIN
			EXECUTE call
				INTO after, batch_busy, counts.exposures, counts.filters, counts.bytes,
					counts.removed, counts.examined, counts.lost, counts.halved
				USING wanted, after, upto, size, dry_run, allow_removed, counts, overlap,
					batch_oid;
			GET DIAGNOSTICS n_calls = ROW_COUNT;
			IF n_calls = 0 THEN
				RAISE EXCEPTION 'function % was replaced in the meantime', batch
					USING ERRCODE = 'object_not_in_prerequisite_state';
			END IF;
			IF only_busy THEN	-- users count in the batches that found them busy
				counts.exposures := counts_before.exposures;
				counts.filters := counts_before.filters;
				counts.bytes := counts_before.bytes;
			END IF;
		EXCEPTION
			WHEN lock_not_available OR deadlock_detected THEN
				gave_way := true;
				batch_busy := '{}';
			WHEN program_limit_exceeded OR integrity_constraint_violation THEN
				IF one_by_one THEN	-- this user must not stop the others
					RAISE WARNING 'filter of user % was not rebuilt in %: %',
						left(wanted[1]::pg_catalog.text, 40), filters, SQLERRM;
					batch_busy := '{}';
				ELSIF only_busy THEN
					one_by_one := true;
					CONTINUE;
				ELSIF size > 1 THEN
					size := size / 2;
					CONTINUE;
				ELSE
					RAISE;
				END IF;
		END;

		wait := 0;
		IF only_busy AND NOT one_by_one
			AND (gave_way OR cardinality(batch_busy) = cardinality(wanted)) THEN
			one_by_one := true;
		ELSIF gave_way OR (one_by_one AND cardinality(batch_busy) > 0) THEN
			give_up_at := coalesce(give_up_at, clock_timestamp() + interval '5 minutes');
			IF clock_timestamp() > give_up_at AND one_by_one THEN
				RAISE WARNING 'filters of % users were not rebuilt in %, because others kept their '
					'rows locked', cardinality(busy), filters;
				EXIT;
			ELSIF clock_timestamp() > give_up_at AND cardinality(wanted) = 1 THEN
				-- a batch of one user waits: leave this user, the last one of "users", to the end
				busy := wanted || busy;	-- from where it is moved below
				only_busy := true;
				one_by_one := true;
			ELSIF clock_timestamp() > give_up_at THEN
				RAISE EXCEPTION 'rebuild of % gave up after waiting five minutes for locks', filters
					USING ERRCODE = 'lock_not_available',
					DETAIL = 'Batches before this one are done.',
					HINT = 'Find the sessions that hold the locks in pg_locks, then call it again.';
			END IF;
			IF one_by_one THEN	-- try another user first
				busy := busy[2:] || wanted;
			END IF;
			-- If a cancel arrives together with a lock timeout, PostgreSQL reports only the
			-- timeout, which is caught above.  So sleep, to let a cancel arrive alone.
			wait := 0.5 / (1 + cardinality(busy));
		ELSIF only_busy THEN
			give_up_at := NULL;
			busy := busy[cardinality(wanted) + 1 :] || batch_busy;
		ELSE
			give_up_at := NULL;
			busy := busy || batch_busy;
			n_done := n_done + 4 * size;
			only_busy := CASE
				WHEN users IS NULL THEN after IS NULL
				ELSE n_done >= cardinality(users)
			END;
			IF after IS NOT NULL AND clock_timestamp() > report_at THEN
				RAISE NOTICE 'rebuild of %: done up to user %, except % users whose rows were '
					'locked',
					filters, after, cardinality(busy);
				report_at := clock_timestamp() + interval '10 seconds';
			END IF;
		END IF;

		EXIT WHEN only_busy AND (dry_run OR cardinality(busy) = 0);
		COMMIT;
		PERFORM pg_catalog.pg_sleep(wait), pg_catalog.pg_sleep_for(pause);
	END LOOP;
	exposures := counts.exposures;
	n_filters := counts.filters;
	bytes := counts.bytes;
	removed := counts.removed;
	COMMIT;	-- ends SET LOCAL
END
$$;

COMMENT ON PROCEDURE bloomexp.rebuild_filters IS
'the loop of rebuild(): calls rebuild_batch() of a feed and commits, until all users are done. A '
'batch that is too large is repeated with half its size. Users whose rows are locked come last. '
'If locks stop it for five minutes, it gives up: with a warning if only such users are left, else '
'with an error';

CREATE FUNCTION bloomexp.items_to_keep(items @extschema@.bloom,
	filled_until timestamp with time zone,	-- NULL or -infinity: the age is not known
	width interval)
RETURNS numeric
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
	SELECT bloomexp.cardinality(items) OPERATOR(pg_catalog.*) (1 OPERATOR(pg_catalog.-)
		GREATEST(0, LEAST(1, (extract(epoch FROM pg_catalog.now()) OPERATOR(pg_catalog.-)
			extract(epoch FROM filled_until)) OPERATOR(pg_catalog./) extract(epoch FROM width))))
$$;

COMMENT ON FUNCTION bloomexp.items_to_keep(@extschema@.bloom, timestamp with time zone, interval) IS
'the number of items of a filter that a rebuild should at least find again: nine tenths if the '
'age of the filter is a tenth of the window, none if its age is not known';

CREATE FUNCTION bloomexp.require_batch(wanted anyarray, size integer, dry_run boolean,
	allow_removed boolean, counts bloomexp.rebuild_counts, has_triggers boolean, overlap interval)
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM bloomexp.require_read_committed('rebuild_batch()');
	IF cardinality(wanted) > 1000 THEN
		RAISE EXCEPTION 'a batch of a rebuild takes at most 1000 users'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF (size > 0) IS NOT TRUE THEN
		RAISE EXCEPTION 'size of a batch must be at least 1'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF dry_run IS NULL OR allow_removed IS NULL OR counts IS NULL THEN
		RAISE EXCEPTION 'dry_run, allow_removed and counts must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT has_triggers AND (overlap >= interval '0') IS NOT TRUE THEN
		RAISE EXCEPTION 'overlap must not be null or negative'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.require_batch IS
'raises an error unless the isolation level is READ COMMITTED, and the arguments of a batch of a '
'rebuild are valid: at most 1,000 wanted users, and for a feed without triggers an overlap';

CREATE FUNCTION bloomexp.require_few_losses(filters regclass, exposures regclass,
	exposed_query text, width interval,
	after text,	-- the last user before the batch; NULL: there is none
	is_last boolean,	-- no batch comes after this one
	n_exposures bigint,	-- of the batch
	before bloomexp.rebuild_counts,	-- before the batch
	counts bloomexp.rebuild_counts)	-- after it
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET row_security = off	-- an error if row security would hide rows
SET timezone = 'UTC'
SET IntervalStyle = postgres	-- of the width in messages
AS $$
DECLARE
	window_start constant timestamp with time zone := now() - width;
	n_rows bigint;
BEGIN
	IF (counts.removed > before.removed OR is_last) AND n_exposures = 0 THEN
		EXECUTE format('SELECT FROM (%s) AS e LIMIT 1', exposed_query) USING window_start;
		GET DIAGNOSTICS n_rows = ROW_COUNT;
		IF n_rows = 0 THEN
			RAISE EXCEPTION 'no exposure of the last % in %', width, exposures
				USING ERRCODE = 'no_data_found',
				DETAIL = concat('There is none newer than ', window_start,
					'. No filter was removed.'),
				HINT = 'If that is right, call the rebuild with allow_removed => true.';
		END IF;
	END IF;
	IF counts.lost > before.lost AND counts.lost > 100 AND counts.lost > counts.examined / 5 THEN
		RAISE EXCEPTION 'rebuild would remove % of % filters of %',
			counts.lost, counts.examined, filters
			USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = concat('Their users have no exposure newer than ', window_start,
				'. Of these filters, ', before.lost,
				' have already been removed; the batch after user ',
				coalesce(after, '(none)'), ' changed nothing.'),
			HINT = 'If that is right, call the rebuild with allow_removed => true.';
	END IF;
	IF counts.halved > 100 AND counts.halved > counts.examined / 5 THEN
		RAISE EXCEPTION 'rebuild would halve % of % filters of %',
			counts.halved, counts.examined, filters
			USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = concat('More than half of what their users were shown in the last ', width,
				' is no longer in ', exposures, '. The batch after user ',
				coalesce(after, '(none)'), ' changed nothing.'),
			HINT = 'Keep exposures as long as the feed remembers them. '
				'If that is right, call the rebuild with allow_removed => true.';
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.require_few_losses IS
'the safety stop of a rebuild, before a batch changes anything: raises an error if there is no '
'exposure in the window at all, or if more than 100 filters, and more than a fifth of those '
'examined, would be removed, or would lose more than half of the items that the exposures should '
'still have. Then a table, its retention or a clock may be wrong';

CREATE FUNCTION bloomexp.rebuild_batch(
	filters regclass, exposures regclass,
	user_column name,	-- of the exposures
	exposed_query text,	-- query that returns the users and items of all exposures since $1
	width interval, fpr double precision,
	wanted anyarray, INOUT after anyelement, upto anyelement, size integer,
	dry_run boolean, allow_removed boolean, INOUT counts bloomexp.rebuild_counts,
	has_triggers boolean,
	overlap interval DEFAULT NULL,	-- only for a feed without triggers
	OUT busy anyarray)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET row_security = off	-- an error if row security would hide rows
SET timezone = 'UTC'	-- right even if the time column changes its type
SET jit = off	-- compiling its statements takes longer than a batch does
SET lock_timeout = '100ms'	-- less than deadlock_timeout, 1 s by default: the rebuild gives way
AS $$
DECLARE
	window_start constant timestamp with time zone := now() - width;
	batch_from after%TYPE := after;
	batch_to after%TYPE;
	max_users constant integer := 8 * size;	-- many of them can be new, and have no filter yet
	before constant bloomexp.rebuild_counts := counts;
	foreign_key text;
	op record;	-- how users are compared
	of_exposures text;	-- condition for exposures of the batch, with $2 to $4
	of_filters text;	-- the same for filters
	short_id text;	-- condition for an id that is short enough for a row
	long_id text;	-- the beginning of an id that is too long
	filled timestamp with time zone;	-- new filters have all exposures from before this time
	-- A later filled_until is wrong: the clock was ahead, or "overlap" was shorter.
	latest constant timestamp with time zone := LEAST(now(), now() - overlap);
	prepared boolean := false;	-- there is a prepared transaction
	locked wanted%TYPE;	-- users whose rows this batch has locked; in a dry run, all who have rows
	built record;	-- users with exposures, and their filters
	built_users wanted%TYPE;
	gone wanted%TYPE;	-- users without exposures, whose rows this batch has locked
	not_locked wanted%TYPE;	-- users with exposures, whose rows this batch has not locked
	skipped wanted%TYPE := '{}';	-- wanted users without exposures, whose rows others have locked
	n_rows bigint;
BEGIN
	-- A deferred foreign key of filters must fail here, not at COMMIT.  Others stay deferred: they
	-- would run triggers of the caller with the rights of the feed's owner.
	FOR foreign_key IN
		SELECT format('%I.%I', n.nspname, k.conname)
		FROM pg_constraint AS k JOIN pg_namespace AS n ON n.oid = k.connamespace
		WHERE k.conrelid = filters AND k.contype = 'f' AND k.condeferrable
	LOOP
		EXECUTE format('SET CONSTRAINTS %s IMMEDIATE', foreign_key);
	END LOOP;
	PERFORM bloomexp.require_batch(wanted, size, dry_run, allow_removed, counts, has_triggers,
		overlap);
	-- From now on the filters are locked, so the extension cannot be dropped.
	PERFORM bloomexp.require_trusted(filters), bloomexp.require_trusted(exposures);
	PERFORM bloomexp.require_trusted(t, missing_ok => true) FROM bloomexp.tables_of(exposures) AS t;
	SELECT * INTO op FROM bloomexp.user_sql(filters);

	-- A batch has "size" filters.  If fewer are left, as in the first rebuild, it has "max_users"
	-- with exposures.  A walk over the index, one probe for each user, finds the last of them.  It
	-- does not depend on statistics of the table.
	IF wanted IS NULL THEN
		EXECUTE format('SELECT f.user_id FROM %s AS f '
			'WHERE ($1 IS NULL OR f.user_id %s $1) AND ($2 IS NULL OR f.user_id %s $2) '
			'ORDER BY f.user_id OFFSET $3 LIMIT 1', filters, op.greater, op.not_greater)
			INTO batch_to USING batch_from, upto, size - 1;
		IF batch_to IS NULL THEN
			EXECUTE format('WITH RECURSIVE walk(id, n) AS ('
				'(SELECT e.id, 1 FROM %1$s AS e(id) WHERE $2 IS NULL OR e.id %2$s $2 '
				'ORDER BY e.id LIMIT 1) '
				'UNION ALL SELECT ('
					'SELECT e.id FROM %1$s AS e(id) WHERE e.id %2$s w.id ORDER BY e.id LIMIT 1), '
					'w.n + 1 '
				'FROM walk AS w '
				'WHERE w.id IS NOT NULL AND w.n < $4 AND ($3 IS NULL OR w.id %3$s $3)) '
				'SELECT w.id FROM walk AS w WHERE w.n = $4 AND ($3 IS NULL OR w.id %3$s $3)',
				-- The condition on the time leaves out old partitions.  In a single table the walk
				-- reads fewer rows without it: only the first one of each user.
				CASE WHEN (SELECT c.relkind = 'p' FROM pg_class AS c WHERE c.oid = exposures)
					THEN format('(%s)', exposed_query)
					ELSE format('(SELECT t.%I FROM %s AS t WHERE t.%1$I IS NOT NULL)',
						user_column, exposures) END,
				op.greater, op.not_greater)
				INTO batch_to USING window_start, batch_from, upto, max_users;
		END IF;
		after := batch_to;
		batch_to := coalesce(batch_to, upto);
	END IF;
	of_exposures := bloomexp.in_batch('e.id', op.equal, op.greater, op.not_greater,
		wanted, batch_from, batch_to);
	of_filters := bloomexp.in_batch('f.user_id', op.equal, op.greater, op.not_greater,
		wanted, batch_from, batch_to);
	short_id := coalesce(format(op.short_id, 'e.id'), 'true');

	-- Only a batch of a single user may wait for a row lock.
	-- $1 is not used: in_batch() numbers its parameters from $2.
	EXECUTE format('SELECT ARRAY(SELECT f.user_id FROM %s AS f WHERE %s%s)', filters,
		of_filters,
		CASE WHEN dry_run THEN '' WHEN cardinality(wanted) = 1 THEN ' FOR UPDATE'
			ELSE ' FOR UPDATE SKIP LOCKED' END)
		INTO locked USING NULL::integer, wanted, batch_from, batch_to;

	-- The statement that reads the exposures takes its snapshot after this time.
	filled := clock_timestamp();
	IF NOT has_triggers THEN
		-- No row is locked when an exposure is inserted.  Transactions that are open now, such as
		-- this one, can still commit exposures with times since the start of the transaction.
		filled := LEAST(filled, now(), bloomexp.oldest_transaction());
		-- an overlap that equals '0' can still move a time forward: '-12 months 360 days'
		filled := LEAST(filled, filled - overlap);
		-- Nobody knows when a prepared transaction began: while there is one, filled_until stays.
		-- Look for it after oldest_transaction(), which has seen one that was prepared in between.
		prepared := EXISTS (
			SELECT FROM pg_prepared_xacts AS p WHERE p.database = current_database());
	END IF;

	-- The LIMIT is necessary because a batch can have any number of users without a row.
	EXECUTE format('SELECT array_agg(b.id) AS users, array_agg(b.items) AS filters, '
		'coalesce(sum(b.n), 0)::bigint AS n_exposures, '
		'coalesce(sum(octet_length(b.items::bytea) + 4), 0)::bigint AS n_bytes '
		'FROM (SELECT e.id, count(*) AS n, bloomexp.agg(e.item, $5) AS items '
			'FROM (%s) AS e(id, item) WHERE %s AND %s GROUP BY e.id ORDER BY e.id LIMIT $6) AS b',
		exposed_query, of_exposures, short_id)
		INTO built
		USING window_start, wanted, batch_from, batch_to, fpr,
			CASE WHEN wanted IS NULL THEN max_users END;
	built_users := coalesce(built.users, '{}');
	IF wanted IS NULL AND cardinality(built_users) = max_users THEN
		after := built_users[max_users];
		EXECUTE format('SELECT ARRAY(SELECT l.id FROM unnest($1) AS l(id) WHERE l.id %s $2%s)',
			op.not_greater, op.collate_clause)
			INTO locked USING locked, after;
	END IF;
	IF op.short_id IS NOT NULL THEN	-- warn of users who are left out
		EXECUTE format('SELECT left(concat(e.id), 40) FROM (%s) AS e(id, item) '
			'WHERE %s AND NOT %s LIMIT 1',
			exposed_query, of_exposures, short_id)
			INTO long_id USING window_start, wanted, batch_from, coalesce(after, batch_to);
		IF long_id IS NOT NULL THEN
			RAISE WARNING 'no filter in % for users whose ids have more than 2,000 bytes', filters
				USING DETAIL = format('One of these ids begins with "%s".', long_id);
		END IF;
	END IF;
	EXECUTE format('SELECT ARRAY(SELECT l.id FROM unnest($1) AS l(id) '
		'WHERE NOT EXISTS (SELECT FROM unnest($2) AS b(id) WHERE b.id %1$s l.id%2$s)), '
		'ARRAY(SELECT b.id FROM unnest($2) AS b(id) '
		'WHERE NOT EXISTS (SELECT FROM unnest($1) AS l(id) WHERE l.id %1$s b.id%2$s))',
		op.equal, op.collate_clause)
		INTO gone, not_locked USING locked, built_users;
	IF wanted IS NOT NULL THEN
		EXECUTE format('SELECT ARRAY(SELECT f.user_id FROM %1$s AS f WHERE f.user_id %2$s ANY ($1) '
			'AND NOT EXISTS (SELECT FROM unnest($2 || $3) AS d(id) WHERE d.id %2$s f.user_id%3$s))',
			filters, op.equal, op.collate_clause)
			INTO skipped USING wanted, locked, built_users;
	END IF;

	-- Count what the batch will do.  A row that has only items of the last take() is no loss: maybe
	-- nobody has seen these items, and visitors can make any number of such rows.
	EXECUTE format('SELECT '
			'($1).removed + count(*) FILTER (WHERE f.user_id %2$s ANY ($3) '
				'AND (f.items IS NOT NULL OR cardinality(f.recent) > 0)), '
			'($1).examined + count(*) FILTER (WHERE %4$s), '
			'($1).lost + count(*) FILTER (WHERE f.user_id %2$s ANY ($3) AND %4$s), '
			'($1).halved + count(*) FILTER (WHERE '
				'bloomexp.items_to_keep(f.items, f.filled_until, $6) '
				'> 2 * bloomexp.cardinality(b.items)) '
		'FROM %1$s AS f LEFT JOIN ROWS FROM (unnest($4), unnest($5)) AS b(id, items) '
			'ON b.id %2$s f.user_id%3$s '
		'WHERE f.user_id %2$s ANY ($2)',
		filters, op.equal, op.collate_clause,
		'(f.items IS NOT NULL OR cardinality(f.recent) > f.pending)')
		INTO counts.removed, counts.examined, counts.lost, counts.halved
		USING counts, locked, gone, built_users, built.filters, width;
	counts.exposures := counts.exposures + built.n_exposures;
	counts.filters := counts.filters + cardinality(built_users);
	counts.bytes := counts.bytes + built.n_bytes;
	IF dry_run THEN
		busy := '{}';
		RETURN;
	ELSIF NOT allow_removed THEN
		PERFORM bloomexp.require_few_losses(filters, exposures, exposed_query, width,
			batch_from::text, after IS NULL, built.n_exposures, before, counts);
	END IF;

	-- Replace the rows that are locked.  If a constraint refuses one of them, this changes nothing,
	-- and all users of the batch are tried again, in the end one by one.
	BEGIN
		-- Each user has a row, so the INSERT only updates.  A filter that is unchanged is rewritten
		-- only if its filled_until is wrong, or more than a day old, which keeps it exact to a day.
		EXECUTE format('INSERT INTO %1$s AS f (user_id, items, filled_until) '
			'SELECT b.id, b.items, CASE WHEN NOT $4 THEN $5 END '
			'FROM ROWS FROM (unnest($1), unnest($2)) AS b(id, items) '
			'WHERE EXISTS (SELECT FROM unnest($3) AS l(id) WHERE l.id %2$s b.id%3$s) '
			'ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET items = excluded.items, '
				'filled_until = CASE WHEN NOT $4 THEN excluded.filled_until '
					'WHEN f.filled_until <= $6 THEN f.filled_until END, '
				'pending = 0, recent = ARRAY[]::bigint[] '
			'WHERE cardinality(f.recent) > 0 OR bloomexp.eq(f.items, excluded.items) IS NOT TRUE '
				'OR f.filled_until > $6 '
				'OR NOT $4 AND (f.filled_until > $5 - interval ''1 day'') IS NOT TRUE',
			filters, op.equal, op.collate_clause)
			USING built_users, built.filters, locked, prepared, filled, latest;
		IF cardinality(gone) > 0 THEN
			EXECUTE format('DELETE FROM %s AS f WHERE f.user_id %s ANY ($1)', filters, op.equal)
				USING gone;
			EXECUTE format('SELECT FROM %s AS f WHERE f.user_id %s ANY ($1)', filters, op.equal)
				USING gone;
			GET DIAGNOSTICS n_rows = ROW_COUNT;
			IF n_rows > 0 THEN
				PERFORM bloomexp.row_not_written(filters::text);
			END IF;
		END IF;
	EXCEPTION WHEN integrity_constraint_violation THEN
		IF cardinality(wanted) = 1 THEN
			RAISE;
		END IF;
		counts.removed := before.removed;
		counts.examined := before.examined;
		counts.lost := before.lost;
		counts.halved := before.halved;
		busy := built_users || gone || skipped;
		RETURN;
	END;

	-- Make rows for users who had none.  A user is busy if another session has locked the row, has
	-- inserted it since the snapshot, or is inserting it now.
	busy := not_locked;
	IF cardinality(not_locked) > 0 THEN
		BEGIN
			EXECUTE format('WITH added AS ('
				'INSERT INTO %1$s (user_id, items, filled_until) '
				'SELECT b.id, b.items, CASE WHEN NOT $4 THEN $5 END '
				'FROM ROWS FROM (unnest($1), unnest($2)) AS b(id, items) '
				'WHERE EXISTS (SELECT FROM unnest($3) AS n(id) WHERE n.id %2$s b.id%3$s) '
					'AND NOT EXISTS (SELECT FROM %1$s AS f WHERE f.user_id %2$s b.id%3$s) '
				'ORDER BY b.id%3$s ON CONFLICT DO NOTHING RETURNING user_id) '
				'SELECT ARRAY(SELECT n.id FROM unnest($3) AS n(id) '
				'WHERE NOT EXISTS (SELECT FROM added AS a WHERE a.user_id %2$s n.id%3$s))',
				filters, op.equal, op.collate_clause)
				INTO busy USING built_users, built.filters, not_locked, prepared, filled;
		EXCEPTION
			-- All of them stay busy.  One by one, only the users that caused the error fail again.
			WHEN lock_not_available OR deadlock_detected OR integrity_constraint_violation THEN
				IF cardinality(wanted) = 1 THEN
					RAISE;
				END IF;
		END;
	END IF;
	busy := busy || skipped;
END
$$;

COMMENT ON FUNCTION bloomexp.rebuild_batch IS
'one batch of a rebuild: builds the filters of the wanted users, or of the next users after '
'"after", up to "upto". Returns in "after" the last user of the batch, or NULL if it was the last '
'batch; in "counts" the counts of all batches so far; and in "busy" the users to try again, '
'because others have locked their rows or a constraint has refused one. Raises lock_not_available '
'if a lock has kept the batch from doing anything';
