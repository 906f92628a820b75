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
{found}
	END IF;
END
{$};
