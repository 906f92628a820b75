-- Return the candidates that a user was not shown, in their order.
CREATE OR REPLACE FUNCTION {feed}.unseen(user_id {user_type}, candidates {item_type}[])
RETURNS {item_type}[]
LANGUAGE plpgsql STABLE{parallel} SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off	-- a plan that is made while the table is small must suit a large one
SET row_security = off AS {$}	-- an error if row security would hide rows
#variable_conflict use_variable
{#remembers}
DECLARE
	old_items {feed}.filters.items%TYPE;	-- an error if the extension was dropped
	old_recent bigint[];
{#alone}
	old_since timestamp with time zone;
{/alone}
BEGIN
	SELECT f.items, f.recent{#alone}, f.since{/alone}
	INTO old_items, old_recent{#alone}, old_since{/alone}
	FROM {feed}.filters AS f WHERE f.user_id {=} unseen.user_id{collate};
	IF NOT FOUND THEN
		PERFORM bloomexp.require_not_rewritten({filters_literal});
	END IF;
{/remembers}
{#alone}
	DECLARE
		settings CONSTANT bloomexp.row_settings :=
			{settings};
	BEGIN
		RETURN bloomexp.exclude(candidates{item_collate},
			bloomexp.items_at(old_items, now(), settings),
			bloomexp.recent_at(old_recent, old_since, now(), settings));
	END;
{/alone}
{#tracked}
	RETURN bloomexp.exclude(candidates{item_collate}, old_items, old_recent);
{/tracked}
{#untracked}
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
BEGIN
	RETURN (
		SELECT bloomexp.exclude(candidates{item_collate}, f.items, f.recent)
		FROM {feed}.shown(unseen.user_id) AS f);
{/untracked}
END
{$};
