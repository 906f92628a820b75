-- Other calls of lock() and take() for the user wait until the transaction ends.  For a page that
-- a query orders: lock first, so that the query sees what others have shown before.
CREATE OR REPLACE FUNCTION {feed}.lock(user_id {user_type}) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_column
BEGIN
{needs_read_committed}
	FOR tries IN 1 .. 100 LOOP
		PERFORM FROM {feed}.filters AS f WHERE f.user_id {=} lock.user_id{collate} FOR NO KEY UPDATE;
		IF FOUND OR lock.user_id IS NULL THEN	-- nobody has a row
			RETURN;
		END IF;
		INSERT INTO {feed}.filters (user_id) VALUES (lock.user_id) ON CONFLICT ON CONSTRAINT filters_pkey DO NOTHING;
	END LOOP;
	RAISE EXCEPTION 'could not make a row of a user in %', {filters_literal} USING HINT = 'Look for triggers and rules on this table.';
END
{$};
