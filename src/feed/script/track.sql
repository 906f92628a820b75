--- track trigger
-- Add the exposures of a statement to the filters of their users.
CREATE OR REPLACE FUNCTION {feed}.track() RETURNS pg_catalog.trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_variable
DECLARE
	since timestamp with time zone := {window_start};
	shown record;
BEGIN
{require_trusted_here}
	FOR shown IN
		SELECT {user} AS user_id, array_agg({item}) AS items
		FROM new_rows AS e{elements}	-- after a change of these columns, apply what bloom_feed_sql() returns
		WHERE {exposed}
		GROUP BY {user} ORDER BY {user}
	LOOP
{remember_shown}
	END LOOP;
	RETURN NULL;
END
{$};
ALTER FUNCTION {feed}.track() DEPENDS ON EXTENSION bloomexp;	-- dropped with it: INSERTs would fail

-- The triggers of the table and of each partition, because an INSERT into a partition fires
-- those of the partition only.  An UPDATE that shows an item again adds it again; updates of other
-- columns cost the same, because a trigger that sees all rows of a statement cannot name columns.
-- Tables that have theirs, enabled, are not locked.
DO {$}
DECLARE
	path pg_catalog.text := pg_catalog.current_setting('search_path');
	missing pg_catalog.record;
BEGIN
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	FOR missing IN
		{tree},
		wanted AS (
			SELECT t.oid, min(t.level) AS level, v.event, v.bit, (lower(v.event) || '_' || {feed_literal})::name AS name
			FROM tree AS t, (VALUES ('INSERT', 4), ('UPDATE', 16)) AS v(event, bit) GROUP BY t.oid, v.event, v.bit)
		SELECT w.oid::regclass AS table, w.event, w.name, coalesce(g.tgfoid = {track_literal}::regproc, false) AS disabled
		FROM wanted AS w JOIN pg_class AS c ON c.oid = w.oid AND c.relkind IN ('r', 'p')
		LEFT JOIN pg_trigger AS g ON g.tgrelid = w.oid AND g.tgname = w.name
		WHERE NOT EXISTS (	-- by any name: the schema may have been renamed
			SELECT FROM pg_trigger AS t WHERE t.tgrelid = w.oid AND t.tgfoid = {track_literal}::regproc AND t.tgtype = w.bit
				AND t.tgnewtable = 'new_rows' AND t.tgqual IS NULL AND t.tgenabled IN ('O', 'A'))
		ORDER BY w.level, w.oid::regclass::text, w.event
	LOOP
		IF missing.disabled THEN	-- or edited; a trigger of others by this name is an error
			EXECUTE format('DROP TRIGGER %I ON %s', missing.name, missing.table);
		END IF;
		EXECUTE format('CREATE TRIGGER %I AFTER %s ON %s REFERENCING NEW TABLE AS new_rows '
			'FOR EACH STATEMENT EXECUTE FUNCTION %s()', missing.name, missing.event, missing.table, {track_literal});
	END LOOP;
	PERFORM set_config('search_path', path, true);
END
{$};
