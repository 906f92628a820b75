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
{#remembers}
	filter {feed}.filters.items%TYPE;
BEGIN
{#alone}
	-- Not an assignment: Citus would send "filter" as a parameter that no node uses.
{/alone}
	SELECT bloomexp.fold(f.items, f.recent, settings{#alone}, f.since, now(){/alone}) INTO filter
	FROM {feed}.filters AS f WHERE f.user_id {=} current.user_id{collate};
	IF filter IS NULL THEN
		PERFORM bloomexp.require_not_rewritten({filters_literal});
	END IF;
	RETURN filter;
{/remembers}
{#untracked}
BEGIN
	RETURN (
		SELECT bloomexp.fold(f.items, f.recent, settings)
		FROM {feed}.shown(current.user_id) AS f);
{/untracked}
END
{$};
