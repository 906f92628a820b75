-- Other calls of lock() and take() for the user wait until the transaction ends.  For a page that
-- a query orders: lock first, so that the query sees what others have shown before.
--
-- The server of a foreign table keeps one snapshot for a whole transaction here.  So this must be
-- the first that a transaction does there, but for the INSERT that calls it, and one user a
-- transaction is all.
CREATE OR REPLACE FUNCTION {feed}.lock(user_id {user_type}) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_column
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'lock() and take() need isolation level READ COMMITTED'
			USING ERRCODE = 'feature_not_supported',
				DETAIL = 'A snapshot from before the lock does not show what others have taken.',
				HINT = 'Call them after SET TRANSACTION ISOLATION LEVEL READ COMMITTED.';
	ELSIF EXISTS (	-- what has used the server has a lock on one of its tables
		SELECT FROM bloomexp.tables_of({exposures_literal}) AS t
		JOIN pg_foreign_table AS e ON e.ftrelid = t
		JOIN pg_foreign_table AS used ON used.ftserver = e.ftserver
		JOIN pg_locks AS l ON l.relation = used.ftrelid AND l.locktype = 'relation'
		WHERE l.pid = pg_backend_pid()
			AND NOT (l.mode = 'RowExclusiveLock' AND used.ftrelid = e.ftrelid)
			AND l.database = (SELECT d.oid FROM pg_database AS d
				WHERE d.datname = current_database())) THEN
		RAISE EXCEPTION 'lock() and take() must come before other reads of %', {exposures_literal}
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'It is a foreign table, or has one, whose server keeps the snapshot of '
					'the first use until the transaction ends. That does not show what others '
					'have taken since.',
				HINT = 'Call them first in a transaction, for one user, once.';
	END IF;
	INSERT INTO {feed}.filters AS f (user_id)
	SELECT lock.user_id{collate} WHERE lock.user_id IS NOT NULL	-- NULL is nobody
	ON CONFLICT (user_id) DO UPDATE SET pending = f.pending WHERE false;	-- only locks
END
{$};
