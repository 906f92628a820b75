-- Add the exposures of a statement to the filters of their users.
CREATE OR REPLACE FUNCTION {feed}.track() RETURNS pg_catalog.trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_variable
DECLARE
	since timestamp with time zone := {begin};
	shown record;
BEGIN
	-- The owner of a table decides what its types and casts do.
	IF NOT pg_has_role((SELECT c.relowner FROM pg_class AS c WHERE c.oid = TG_RELID), current_user, 'USAGE') THEN
		RAISE EXCEPTION 'table % belongs to a role without the rights of the owner of feed %', TG_RELID::regclass, {feed_literal}
			USING ERRCODE = 'insufficient_privilege', HINT = 'Make the feed again as the owner of the table.';
	END IF;
	FOR shown IN
		SELECT {user} AS user_id, array_agg({item}) AS items
		FROM new_rows AS e{elements}	-- after a change of these columns, apply what bloom_feed_sql() returns
		WHERE {exposed}
		GROUP BY {user} ORDER BY {user}
	LOOP
		UPDATE {feed}.filters AS f SET items = {bloom}.bloom_add(coalesce(f.items, {bloom}.bloom_new(fpr => {fpr})), shown.items)
		WHERE f.user_id {=} shown.user_id{collate};
		CONTINUE WHEN FOUND;
		INSERT INTO {feed}.filters AS f (user_id, items) VALUES (shown.user_id, {bloom}.bloom_add({bloom}.bloom_new(fpr => {fpr}), shown.items))
		ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET items = {bloom}.bloom_add(coalesce(f.items, {bloom}.bloom_new(fpr => {fpr})), shown.items);
		IF NOT FOUND THEN
			RAISE EXCEPTION 'could not add exposures to the filter of a user in %', {filters_literal}
				USING HINT = 'Look for triggers and rules on this table.';
		END IF;
	END LOOP;
	RETURN NULL;
END
{$};
ALTER FUNCTION {feed}.track() DEPENDS ON EXTENSION bloomexp;	-- without it INSERTs would fail

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
		WITH RECURSIVE tree(oid, level) AS (
			SELECT {exposures_literal}::regclass::oid, 0 UNION SELECT i.inhrelid, t.level + 1 FROM pg_inherits AS i JOIN tree AS t ON i.inhparent = t.oid),
		wanted AS (
			SELECT t.oid, t.level, v.event, v.bit, (lower(v.event) || '_' || {feed_literal})::name AS name
			FROM tree AS t, (VALUES ('INSERT', 4), ('UPDATE', 16)) AS v(event, bit))
		SELECT w.oid::regclass AS table, w.event, w.name, coalesce(g.tgfoid = {track_literal}::regproc, false) AS disabled
		FROM wanted AS w JOIN pg_class AS c ON c.oid = w.oid AND c.relkind IN ('r', 'p') LEFT JOIN pg_trigger AS g ON g.tgrelid = w.oid AND g.tgname = w.name
		WHERE NOT EXISTS (	-- by any name: the schema may have been renamed
			SELECT FROM pg_trigger AS t WHERE t.tgrelid = w.oid AND t.tgfoid = {track_literal}::regproc AND t.tgtype = w.bit AND t.tgnewtable = 'new_rows' AND t.tgqual IS NULL AND t.tgenabled IN ('O', 'A'))
		ORDER BY w.level, w.oid::regclass::text, w.event
	LOOP
		IF missing.disabled THEN	-- or edited; a trigger of others by this name is an error
			EXECUTE format('DROP TRIGGER %I ON %s', missing.name, missing.table);
		END IF;
		EXECUTE format('CREATE TRIGGER %I AFTER %s ON %s REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION %s()',
			missing.name, missing.event, missing.table, {track_literal});
	END LOOP;
	PERFORM set_config('search_path', path, true);
END
{$};
