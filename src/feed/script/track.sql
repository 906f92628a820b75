-- Add the exposures of a statement to the rows of their users.
CREATE OR REPLACE FUNCTION {feed}.track() RETURNS pg_catalog.trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_variable
DECLARE
	since timestamp with time zone := {window_start};
	shown record;
BEGIN
	PERFORM bloomexp.require_trusted(TG_RELID);
	-- All rows are locked before one is looked at, even if nothing is new: a rebuild waits for it.
	-- In the order of users, so that two statements do not deadlock.
	INSERT INTO {feed}.filters AS f (user_id)
	SELECT DISTINCT {user}{collate} FROM new_rows AS e{elements} WHERE {exposed} ORDER BY 1
	ON CONFLICT (user_id) DO UPDATE SET pending = f.pending WHERE false;
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		-- an error if a row that the snapshot shows was removed: a new one has nothing of it
		PERFORM FROM {feed}.filters AS f WHERE f.user_id {=} ANY (ARRAY(
			SELECT {user}{collate} FROM new_rows AS e{elements} WHERE {exposed})) FOR NO KEY UPDATE;
	END IF;

	FOR shown IN
		SELECT s.user_id, s.items,
			cardinality(f.recent) + cardinality(s.items) <= {max_recent} AS fits,
			bloomexp.hashes(
				bloomexp.exclude_first(s.items{item_collate}, NULL, NULL, f.recent)) AS fresh
		FROM (
			SELECT {user}{collate} AS user_id, array_agg({item}) AS items
			FROM new_rows AS e{elements} WHERE {exposed} GROUP BY 1) AS s
		JOIN {feed}.filters AS f ON f.user_id {=} s.user_id
	LOOP
		CONTINUE WHEN cardinality(shown.fresh) = 0;
		IF shown.fits THEN
			UPDATE {feed}.filters AS f SET pending = 0, recent = shown.fresh || f.recent
			WHERE f.user_id {=} shown.user_id{collate};
			CONTINUE WHEN FOUND;
		END IF;
		PERFORM {feed}.remember(shown.user_id, shown.items, false);
	END LOOP;
	RETURN NULL;
END
{$};
