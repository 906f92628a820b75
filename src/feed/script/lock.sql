-- Lock a user's row until the transaction ends.  Other calls that lock or change the row wait
-- meanwhile{#tracked}, and so do inserts of the user's exposures{/tracked}.
-- If a query of your own chooses a page, call lock() first, in a statement of its own, so that the
-- query sees what other requests have shown.
CREATE OR REPLACE FUNCTION {feed}.lock(user_id {user_type}) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off	-- a plan that is made while the table is small must suit a large one
SET row_security = off AS {$}	-- an error if row security would hide rows
#variable_conflict use_variable
{#untracked}
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
{/untracked}
BEGIN
{#untracked}
	PERFORM bloomexp.require_read_committed('lock(), which take() calls,');
	IF EXISTS (SELECT FROM pg_foreign_table) THEN	-- few databases have any
		PERFORM bloomexp.require_first_use({exposures_literal});
	END IF;
{/untracked}
	INSERT INTO {feed}.filters AS f (user_id)
	SELECT lock.user_id{collate} WHERE lock.user_id IS NOT NULL	-- no row for a NULL user
	-- WHERE false: lock the row without writing it
	ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET pending = f.pending WHERE false;
{#remembers}
	-- This raises an error if an older snapshot shows a row that others have removed since.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM FROM {feed}.filters AS f WHERE f.user_id {=} lock.user_id{collate} FOR UPDATE;
	END IF;
{/remembers}
END
{$};
