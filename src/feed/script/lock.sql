-- Other calls of lock() and take() for the user wait until the transaction ends.  For a page that
-- a query orders: lock first, so that the query sees what others have shown before.
CREATE OR REPLACE FUNCTION {feed}.lock(user_id {user_type}) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_column
BEGIN
	INSERT INTO {feed}.filters AS f (user_id)
	SELECT lock.user_id{collate} WHERE lock.user_id IS NOT NULL	-- NULL is nobody
	ON CONFLICT (user_id) DO UPDATE SET pending = f.pending WHERE false;	-- only locks
	-- Fails if an older snapshot shows a row that others have removed since.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM FROM {feed}.filters AS f WHERE f.user_id {=} lock.user_id{collate} FOR UPDATE;
	END IF;
END
{$};
