-- Return what a user was shown{#alone}{#window} in the window{/window}{/alone}, as one filter.
CREATE OR REPLACE FUNCTION {feed}.current(user_id {user_type}) RETURNS {bloom}
LANGUAGE plpgsql STABLE{parallel} SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off AS {$}	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
	settings CONSTANT bloomexp.row_settings :=
		{settings};
BEGIN
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
