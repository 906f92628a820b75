--- filters table
CREATE TABLE IF NOT EXISTS {feed}.filters (
	user_id {user_column_type} PRIMARY KEY,
	items {bloom}.bloom,
	filled_until timestamp with time zone	-- the filter has all exposures before this time
) WITH (fillfactor = 50, toast_tuple_target = 8160);	-- room for HOT updates; filters of up to 8 kB stay in their row{retyped}

--- filters plain
CREATE TABLE IF NOT EXISTS {feed}.filters (
	user_id {user_column_type} PRIMARY KEY,
	items {bloom}.bloom
) WITH (fillfactor = 80, toast_tuple_target = 8160);	-- room for HOT updates; filters of up to 8 kB stay in their row

--- filters windowed
CREATE TABLE IF NOT EXISTS {feed}.filters (
	user_id {user_column_type} PRIMARY KEY,
	items {bloom}.bloom,	-- of the slices before "since"
	recent {bloom}.bloom,	-- of the slices since then: all that most calls write
	since timestamp with time zone	-- when the slice began in which the user was last shown something
) WITH (fillfactor = 80, toast_tuple_target = 4080);	-- two versions of a row in a page: an update logs what it changes; longer rows have "items" elsewhere

--- lock
-- Other calls of lock() and take() for the user wait until the transaction ends.  For a page that
-- a query orders: lock first, so that the query sees what others have shown before.
CREATE OR REPLACE FUNCTION {feed}.lock(user_id {user_type}) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_column
BEGIN
{needs_read_committed}
	PERFORM FROM {feed}.filters AS f WHERE f.user_id {=} lock.user_id{collate} FOR NO KEY UPDATE;
	IF NOT FOUND AND lock.user_id IS NOT NULL THEN	-- NULL is nobody, and has no row
		INSERT INTO {feed}.filters AS f (user_id) VALUES (lock.user_id)
		ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET items = f.items;	-- a row that others have made meanwhile
{require_found}
	END IF;
END
{$};

--- needs_read_committed log
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'lock() and take() need isolation level READ COMMITTED'
			USING ERRCODE = 'feature_not_supported',
				DETAIL = 'A snapshot from before the lock does not show what the request before has taken.',
				HINT = 'Call them in a transaction with SET TRANSACTION ISOLATION LEVEL READ COMMITTED.';
	END IF;

--- needs_autocommit
	BEGIN
		COMMIT;	-- always fails in a block with EXCEPTION; with this message, the caller has a transaction open
	EXCEPTION WHEN invalid_transaction_termination THEN
		IF SQLERRM OPERATOR(pg_catalog.=) 'invalid transaction termination' THEN
			RAISE EXCEPTION '% cannot run inside a transaction block', '{procedure}()'
				USING ERRCODE = 'active_sql_transaction', HINT = 'Call it in autocommit mode: it commits batch by batch.';
		END IF;
	END;

--- require_found
		IF NOT FOUND THEN
			RAISE EXCEPTION 'could not write the filter of a user in %', {filters_literal}
				USING HINT = 'Look for triggers and rules on this table.';
		END IF;

--- distribute_filters citus
-- On Citus each call runs on the node of its user.
{distribute}
SELECT pg_catalog.create_distributed_function({current_literal}, 'user_id', colocate_with => {filters_literal});
SELECT pg_catalog.create_distributed_function({unseen_literal}, 'user_id', colocate_with => {filters_literal});
SELECT pg_catalog.create_distributed_function({take_literal}, 'user_id', colocate_with => {filters_literal});
