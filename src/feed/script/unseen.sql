-- Return the candidates that a user was not shown, in their order.
CREATE OR REPLACE FUNCTION {feed}.unseen(user_id {user_type}, candidates {item_type}[])
RETURNS {item_type}[]
LANGUAGE plpgsql STABLE{parallel} SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off	-- a plan that is made while the table is small must suit a large one
SET row_security = off AS {$}	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
{#alone}
	settings CONSTANT bloomexp.row_settings :=
		{settings};
{/alone}
BEGIN
{#remembers}
	-- A table that was rewritten after this statement took its snapshot looks empty.  pg_class is
	-- read with that snapshot, and pg_relation_filenode() returns the file of now.
	PERFORM bloomexp.table_rewritten(c.oid::regclass::text) FROM pg_class AS c
	WHERE c.oid = {filters_literal}::regclass AND c.relfilenode <> pg_relation_filenode(c.oid);
{/remembers}
	RETURN (
{#alone}
		SELECT bloomexp.exclude(candidates{item_collate},
			bloomexp.items_at(f.items, now(), settings),
			bloomexp.recent_at(f.recent, f.since, now(), settings))
{/alone}
{#table}
		SELECT bloomexp.exclude(candidates{item_collate}, f.items, f.recent)
{/table}
{#remembers}
		FROM (SELECT) AS one	-- one row, even for a user who has none
		LEFT JOIN {feed}.filters AS f ON f.user_id {=} unseen.user_id{collate});
{/remembers}
{#untracked}
		FROM {feed}.shown(unseen.user_id) AS f);
{/untracked}
END
{$};
