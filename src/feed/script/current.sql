-- Return what a user was shown{#alone}{#window} in the window{/window}{/alone}, as one filter.
CREATE OR REPLACE FUNCTION {feed}.current(user_id {user_type}) RETURNS {bloom}
LANGUAGE plpgsql STABLE{parallel} SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off	-- a plan that is made while the table is small must suit a large one
SET row_security = off AS {$}	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
	settings CONSTANT bloomexp.row_settings :=
		{settings};
BEGIN
{#remembers}
	-- A table that was rewritten after this statement took its snapshot looks empty.  pg_class is
	-- read with that snapshot, and pg_relation_filenode() returns the file of now.
	PERFORM bloomexp.table_rewritten(c.oid::regclass::text) FROM pg_class AS c
	WHERE c.oid = {filters_literal}::regclass AND c.relfilenode <> pg_relation_filenode(c.oid);
{/remembers}
	RETURN (
{#alone}
		SELECT bloomexp.fold(f.items, f.recent, settings, f.since, now())
{/alone}
{#table}
		SELECT bloomexp.fold(f.items, f.recent, settings)
{/table}
{#remembers}
		FROM {feed}.filters AS f WHERE f.user_id {=} current.user_id{collate});
{/remembers}
{#untracked}
		FROM {feed}.shown(current.user_id) AS f);
{/untracked}
END
{$};
