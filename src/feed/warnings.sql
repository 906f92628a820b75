-- What makes a feed slow, or its times wrong.

CREATE FUNCTION bloomexp.feed_warnings(a jsonb) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
	name constant text := a ->> 'exposures';
	table_id constant regclass := to_regclass(name);
	kind constant "char" := (SELECT c.relkind FROM pg_class AS c WHERE c.oid = table_id);
	users record;
	items record;
	times record;
BEGIN
	SELECT c.attnum INTO users FROM bloomexp.feed_columns(a) AS c WHERE c.argument = 'user_column';
	SELECT c.attnum, c.arrays INTO items FROM bloomexp.feed_columns(a) AS c
		WHERE c.argument = 'item_column';
	SELECT c.attnum, c.base = 'timestamp'::regtype AS utc INTO times
	FROM bloomexp.feed_columns(a) AS c WHERE c.argument = 'time_column';

	IF kind IN ('r', 'p', 'm') AND NOT EXISTS (
		SELECT FROM pg_index AS x JOIN pg_class AS c ON c.oid = x.indexrelid
			JOIN pg_am AS m ON m.oid = c.relam
		WHERE m.amname = 'btree' AND x.indrelid = table_id AND x.indisvalid AND x.indpred IS NULL
			AND x.indkey[0] = users.attnum) THEN
		RAISE WARNING 'no index of % begins with column "%"', name, a ->> 'user_column'
			USING DETAIL = format('A rebuild%s would read the whole table for each user.',
				CASE a ->> 'mode' WHEN 'log' THEN ' and each request' ELSE '' END),
			HINT = format('CREATE INDEX%s ON %s (%I, %I%s);',
				CASE kind WHEN 'p' THEN '' ELSE ' CONCURRENTLY' END,
				name, a ->> 'user_column', a ->> 'time_column',
				CASE WHEN items.arrays = 1 THEN '' ELSE format(', %I', a ->> 'item_column') END);
	END IF;
	-- Only what is written as UTC is known to be UTC: to look at a default must not evaluate it.
	IF times.utc AND EXISTS (
		SELECT FROM pg_attrdef AS d
		WHERE d.adrelid = table_id AND d.adnum = times.attnum AND pg_get_expr(d.adbin, d.adrelid)
			!~* '(AT TIME ZONE |timezone\()''(utc|gmt)''') THEN
		RAISE WARNING 'default of column "%" is in the time zone of the session',
			a ->> 'time_column'
			USING DETAIL = 'The feed reads the column as UTC, and this default is not written as a '
				'time AT TIME ZONE ''UTC''.',
			HINT = format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT now() AT TIME ZONE ''UTC'';',
				name, a ->> 'time_column');
	END IF;
	IF a ->> 'mode' = 'log' AND EXISTS (
		SELECT FROM bloomexp.tables_of(table_id) AS t JOIN pg_class AS c ON c.oid = t
		WHERE c.relkind IN ('m', 'f') OR EXISTS (
			SELECT FROM pg_subscription_rel AS r WHERE r.srrelid = c.oid)) THEN
		RAISE WARNING 'exposures can arrive late in %', name
			USING DETAIL = 'What a materialized view, a foreign table or a subscription brings in '
				'was shown earlier than a rebuild can see.',
			HINT = format('CALL %I.rebuild(overlap => ...) with more than the longest delay.',
				a ->> 'feed');
	END IF;
	IF kind <> 'm' AND items.arrays = 0 AND EXISTS (
		SELECT FROM pg_index AS x
		WHERE x.indrelid = table_id AND x.indisunique AND x.indisvalid AND x.indpred IS NULL
			AND x.indnkeyatts = 2
			AND (x.indkey[0] = users.attnum AND x.indkey[1] = items.attnum
				OR x.indkey[0] = items.attnum AND x.indkey[1] = users.attnum)) THEN
		RAISE NOTICE
			'% has a unique key of user and item: showing an item again must update its time', name
			USING DETAIL = 'ON CONFLICT DO NOTHING, and calls of frameworks that use it, leave the '
				'old time, and the item is shown again and again.',
			HINT = format('INSERT INTO %s (%I, %I, %I) SELECT $1, item, %s '
				'FROM unnest(%I.%s) AS item '
				'ON CONFLICT (%2$I, %3$I) DO UPDATE SET %4$I = excluded.%4$I RETURNING %3$I;',
				name, a ->> 'user_column', a ->> 'item_column', a ->> 'time_column',
				CASE WHEN times.utc THEN 'now() AT TIME ZONE ''UTC''' ELSE 'now()' END,
				a ->> 'feed',
				-- rows that do not count at first are not taken at first
				CASE WHEN a ->> 'where' IS NULL THEN 'take($1, $2, 10)' ELSE 'unseen($1, $2)' END);
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.feed_warnings(jsonb) IS
'warns of what makes a feed over a table slow, or its times wrong';
