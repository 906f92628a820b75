-- How users are compared, and the code of forget(), merge() and expire(), which are seldom called.
-- It runs with the rights of the feed's owner, except expire_filters(), the loop of expire(), which
-- commits and so runs with the rights of the caller.

CREATE FUNCTION bloomexp.user_sql(filters regclass,
	OUT equal text, OUT greater text, OUT not_greater text,	-- operators
	OUT collate_clause text,
	OUT short_id text)	-- condition for an id that is short enough for a row; NULL: any is
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
AS $$
DECLARE
	operators jsonb;
BEGIN
	SELECT bloomexp.comparisons(a.atttypid),
		coalesce(' COLLATE ' || quote_ident(n.nspname) || '.' || quote_ident(l.collname), ''),
		bloomexp.short_id(a.atttypid)
	INTO operators, collate_clause, short_id
	FROM pg_attribute AS a
	LEFT JOIN pg_collation AS l ON l.oid = a.attcollation
	LEFT JOIN pg_namespace AS n ON n.oid = l.collnamespace
	WHERE a.attrelid = filters AND a.attname = 'user_id' AND NOT a.attisdropped;
	equal := operators ->> '3';
	greater := operators ->> '5';
	not_greater := operators ->> '2';
END
$$;

COMMENT ON FUNCTION bloomexp.user_sql(regclass) IS
'SQL for users of a feed: the operators and the collation that compare them, and the condition '
'that an id is short enough';

CREATE FUNCTION bloomexp.in_batch(user_column text, equal text, greater text, not_greater text,
	wanted anyarray, batch_from anyelement, batch_to anyelement)
RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN wanted IS NOT NULL
		THEN concat(user_column, ' ', equal, ' ANY ($2)')
		ELSE concat_ws(' AND ', 'true',
			CASE WHEN batch_from IS NOT NULL THEN concat(user_column, ' ', greater, ' $3') END,
			CASE WHEN batch_to IS NOT NULL THEN concat(user_column, ' ', not_greater, ' $4') END)
		END
$$;

COMMENT ON FUNCTION bloomexp.in_batch IS
'the condition that a user belongs to a batch of a rebuild: it is one of the wanted users, $2, or '
'one after $3 and up to $4';

CREATE FUNCTION bloomexp.lock_user(filters regclass, user_id anyelement) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET row_security = off	-- an error if row security would hide rows
AS $$
DECLARE
	equal constant text := (SELECT u.equal FROM bloomexp.user_sql(filters) AS u);
BEGIN
	-- WHERE false: lock the row without writing it
	EXECUTE format('INSERT INTO %s AS f (user_id) SELECT $1 WHERE $1 IS NOT NULL '
		'ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET pending = f.pending WHERE false',
		filters) USING user_id;
	-- This raises an error if an older snapshot shows a row that others have removed since.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		EXECUTE format('SELECT FROM %s AS f WHERE f.user_id %s $1 FOR UPDATE', filters, equal)
			USING user_id;
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.lock_user(regclass, anyelement) IS
'locks the row of a user, as lock() of a feed does';

CREATE FUNCTION bloomexp.remove_row(filters regclass, condition text, user_id anyelement,
	oldest timestamp with time zone DEFAULT NULL, present timestamp with time zone DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET row_security = off	-- an error if row security would hide rows
AS $$
DECLARE
	n_rows bigint;
BEGIN
	EXECUTE format('DELETE FROM %s AS f WHERE %s', filters, condition)
		USING user_id, oldest, present;
	GET DIAGNOSTICS n_rows = ROW_COUNT;
	IF n_rows > 0 THEN
		RETURN true;
	END IF;
	-- The DELETE has found nothing.  If there is a row now, another session has made it since, or a
	-- trigger or rule has kept it.  Once it is locked, only a trigger or rule can keep it.
	EXECUTE format('SELECT FROM %s AS f WHERE %s FOR UPDATE', filters, condition)
		USING user_id, oldest, present;
	GET DIAGNOSTICS n_rows = ROW_COUNT;
	IF n_rows = 0 THEN
		RETURN false;
	END IF;
	EXECUTE format('DELETE FROM %s AS f WHERE %s', filters, condition)
		USING user_id, oldest, present;
	GET DIAGNOSTICS n_rows = ROW_COUNT;
	IF n_rows = 0 THEN
		PERFORM bloomexp.row_not_written(filters::text);
	END IF;
	RETURN true;
END
$$;

COMMENT ON FUNCTION bloomexp.remove_row IS
'removes the row of a user if it meets a condition on f, with $1 for the user, $2 for the oldest '
'slice of the window and $3 for the present; returns whether there was such a row, and raises an '
'error if a trigger or rule keeps it';

CREATE FUNCTION bloomexp.forget_user(filters regclass, user_id anyelement) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_user constant text := (
		SELECT concat('f.user_id ', u.equal, ' $1') FROM bloomexp.user_sql(filters) AS u);
BEGIN
	IF bloomexp.remove_row(filters, is_user, user_id) THEN
		RETURN;
	END IF;
	-- Another transaction, not yet committed, may be inserting the row of a new user: wait for it.
	-- If there is a row that an older snapshot does not show, this raises an error.
	BEGIN
		PERFORM bloomexp.lock_user(filters, user_id);
	EXCEPTION WHEN foreign_key_violation OR check_violation THEN
		RETURN;	-- no row can have this user
	END;
	PERFORM bloomexp.remove_row(filters, is_user, user_id);
END
$$;

COMMENT ON FUNCTION bloomexp.forget_user(regclass, anyelement) IS
'removes the row of a user; raises an error if a trigger or rule keeps it';

CREATE FUNCTION bloomexp.merge_users(filters regclass, from_user anyelement, into_user anyelement,
	settings bloomexp.row_settings)
RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET row_security = off	-- an error if row security would hide rows
AS $$
DECLARE
	op record;	-- how users are compared
	first_user from_user%TYPE;	-- the lesser of the two; NULL if they are the same, or one is NULL
	visitor record;	-- the row of from_user
	n_rows bigint;
BEGIN
	SELECT * INTO op FROM bloomexp.user_sql(filters);
	EXECUTE format('SELECT CASE WHEN $1 %1$s $2%2$s THEN $2 WHEN $2 %1$s $1%2$s THEN $1 END',
		op.greater, op.collate_clause)
		INTO first_user USING from_user, into_user;
	IF first_user IS NULL THEN
		RETURN;
	END IF;
	-- in the order in which batches lock, so that this does not deadlock with one
	PERFORM bloomexp.lock_user(filters, first_user);
	PERFORM bloomexp.lock_user(filters, from_user), bloomexp.lock_user(filters, into_user);
	EXECUTE format('SELECT f.since, f.items, f.recent FROM %s AS f WHERE f.user_id %s $1',
		filters, op.equal)
		INTO visitor USING from_user;
	-- The target rate of a union is the sum of both rates.  Items that are added later get the rate
	-- of the feed.
	EXECUTE format('UPDATE %s AS f SET '
		'since = bloomexp.since_after(f.recent, $3, $5, f.since, $2, $6), '
		'items = bloomexp.items_after('
			'bloomexp.with_fpr(bloomexp."union"(f.items, $4), ($5).fpr), '
			'f.recent, $3, $5, f.since, $2, $6), '
		'pending = 0, '
		'recent = bloomexp.recent_after(f.recent, $3, $5, f.since, $2, $6) '
		'WHERE f.user_id %s $1', filters, op.equal)
		USING into_user, visitor.since, visitor.recent, visitor.items, settings, clock_timestamp();
	GET DIAGNOSTICS n_rows = ROW_COUNT;
	IF n_rows = 0 THEN
		PERFORM bloomexp.row_not_written(filters::text);
	END IF;
	PERFORM bloomexp.forget_user(filters, from_user);
END
$$;

COMMENT ON FUNCTION bloomexp.merge_users(regclass, anyelement, anyelement, bloomexp.row_settings) IS
'adds the items of from_user to the row of into_user, and removes the row of from_user; does '
'nothing if both are the same user, or if one of them is NULL';

CREATE PROCEDURE bloomexp.expire_filters(
	batch text,	-- expire_batch() of the feed, which has the rights of its owner
	after anyelement,	-- the last user who is done; NULL at first
	pause interval, allow_removed boolean, INOUT removed bigint)
LANGUAGE plpgsql
AS $$	-- With SET it could not commit.  So types that a search_path finds are qualified.
DECLARE
	batch_oid pg_catalog.oid;
	n_calls bigint;	-- 0: another function has the name now
BEGIN
	PERFORM bloomexp.require_autocommit('expire()');
	removed := 0;
	LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;	-- whatever the session's default is
		SET LOCAL search_path = pg_catalog, pg_temp;	-- until the next COMMIT
		batch_oid := coalesce(batch_oid, batch::regproc);
		-- Since the last batch the feed can have been dropped, and somebody else can have made one
		-- of its name.  Test that before the call, whose plan could run the function, and again in
		-- the call.
		IF to_regproc(batch)::oid IS DISTINCT FROM batch_oid THEN
			RAISE EXCEPTION 'function % was replaced in the meantime', batch
				USING ERRCODE = 'object_not_in_prerequisite_state';
		END IF;
		EXECUTE format('SELECT b.after, b.removed FROM %s($1, $2, $3) AS b '
			'WHERE to_regproc(%L)::oid = $4', batch, batch)
			INTO after, removed USING after, allow_removed, removed, batch_oid;
		GET DIAGNOSTICS n_calls = ROW_COUNT;
		IF n_calls = 0 THEN
			RAISE EXCEPTION 'function % was replaced in the meantime', batch
				USING ERRCODE = 'object_not_in_prerequisite_state';
		END IF;
		COMMIT;
		EXIT WHEN after IS NULL;
		PERFORM pg_catalog.pg_sleep_for(pause);
	END LOOP;
END
$$;

COMMENT ON PROCEDURE bloomexp.expire_filters(text, anyelement, interval, boolean, bigint) IS
'the loop of expire(): calls expire_batch() of a feed and commits, until all users are done';

CREATE FUNCTION bloomexp.expire_batch(filters regclass, INOUT after anyelement,
	allow_removed boolean, INOUT removed bigint, width interval, slices integer)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET row_security = off	-- an error if row security would hide rows
AS $$
DECLARE
	present constant timestamp with time zone := clock_timestamp();
	oldest constant timestamp with time zone := bloomexp.oldest_slice(present, width, slices);
	-- condition, with $2 for "oldest" and $3 for "present": the slice of the row is older, or the
	-- row has none, because only lock() has made it.  If the clock was behind for a while, the
	-- filter can have items that are newer than "since".
	expired constant text := 'coalesce(f.since < $2, f.items IS NULL) '
		'AND coalesce(bloomexp.cardinality(bloomexp.expire(f.items, $3)), 0) = 0';
	op record;	-- how users are compared
	batch_from after%TYPE := after;
	candidate after%TYPE;
	n_users bigint;
	n_expired bigint;
	n_rows bigint;
BEGIN
	SELECT * INTO op FROM bloomexp.user_sql(filters);
	IF after IS NULL AND allow_removed IS NOT TRUE THEN
		-- rows that only lock() has made are no loss, and do not count
		EXECUTE format('SELECT count(f.since), count(f.since) FILTER (WHERE %s) FROM %s AS f',
			expired, filters)
			INTO n_users, n_expired USING batch_from, oldest, present;
		IF n_expired > 1000 AND n_expired > n_users / 5 THEN
			RAISE EXCEPTION 'expire would remove % of % users of %', n_expired, n_users, filters
				USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = concat('They have had no exposure since ', oldest, '.'),
				HINT = 'If that is right, call it with allow_removed => true.';
		END IF;
	END IF;
	EXECUTE format('SELECT f.user_id FROM %s AS f WHERE $1 IS NULL OR f.user_id %s $1 '
		'ORDER BY f.user_id OFFSET 9999 LIMIT 1', filters, op.greater)
		INTO after USING batch_from;

	-- Leave out users whose rows others have locked: something is being shown to them.
	FOR candidate IN
		EXECUTE format('SELECT f.user_id FROM %s AS f WHERE %s '
			'AND ($1 IS NULL OR f.user_id %s $1) AND ($4 IS NULL OR f.user_id %s $4) '
			'ORDER BY f.user_id', filters, expired, op.greater, op.not_greater)
			USING batch_from, oldest, present, after
	LOOP
		EXECUTE format('SELECT FROM %s AS f WHERE f.user_id %s $1 AND %s FOR UPDATE SKIP LOCKED',
			filters, op.equal, expired) USING candidate, oldest, present;
		GET DIAGNOSTICS n_rows = ROW_COUNT;
		CONTINUE WHEN n_rows = 0;
		IF bloomexp.remove_row(filters, format('f.user_id %s $1 AND %s', op.equal, expired),
			candidate, oldest, present) THEN
			removed := removed + 1;
		END IF;
	END LOOP;
END
$$;

COMMENT ON FUNCTION bloomexp.expire_batch(
	regclass, anyelement, boolean, bigint, interval, integer) IS
'looks at the next 10,000 users of a feed after "after", and removes those whose last slice has '
'left the window. Returns in "after" the last of the 10,000, or NULL if it was the last batch, and '
'adds the number of removed users to "removed". The first batch raises an error if too many users '
'have expired, unless allow_removed';
