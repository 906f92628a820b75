-- Add the exposures of a statement to the filters of their users.
CREATE OR REPLACE FUNCTION {feed}.track() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_column
<<v>>
DECLARE
	since timestamp with time zone := {begin};
	empty {bloom}.bloom := {empty};
	shown record;
BEGIN
	-- The owner of a table decides what its types and casts do.
	IF NOT pg_catalog.pg_has_role((SELECT c.relowner FROM pg_catalog.pg_class AS c WHERE c.oid OPERATOR(pg_catalog.=) TG_RELID), current_user, 'MEMBER') THEN
		RAISE EXCEPTION 'table % belongs to a role without the rights of the owner of feed %', TG_RELID::pg_catalog.regclass, {feed_literal}
			USING ERRCODE = 'insufficient_privilege', HINT = 'Make the feed again as the owner of the table.';
	END IF;
	FOR shown IN
		SELECT {user} AS user_id, {gathered}
		FROM new_rows AS e{elements}	-- after a change of these columns, apply what bloom_feed_sql() returns
		WHERE {exposed}
		GROUP BY {user} ORDER BY {user}
	LOOP
		INSERT INTO {feed}.filters AS f (user_id, items)
		VALUES (shown.user_id, {add_shown_to_new})
		ON CONFLICT (user_id) DO UPDATE SET items = {add_shown};
		IF NOT FOUND THEN
			RAISE EXCEPTION 'could not add exposures to the filter of a user in %', {filters_literal}
				USING HINT = 'Look for triggers and rules on this table.';
		END IF;
	END LOOP;
	RETURN NULL;
END
{$};
ALTER FUNCTION {feed}.track() DEPENDS ON EXTENSION bloomexp;	-- without it INSERTs would fail

-- An UPDATE that shows an item again adds it again.  Updates of other columns cost the
-- same, because a trigger that sees all rows of a statement cannot name columns.
{triggers}
