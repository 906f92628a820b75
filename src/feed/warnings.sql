-- Warnings of arguments that may not mean what their author thinks, and of tables that make a feed
-- slow or its times wrong.

CREATE FUNCTION bloomexp.argument_warnings(arguments jsonb) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	feed constant text := arguments ->> 'feed';
	width constant interval := arguments ->> 'width';
	relation regclass;
BEGIN
	IF width < interval '1 minute' THEN
		RAISE WARNING 'feed "%" forgets after %', feed, width
			USING DETAIL = 'A number without a unit is in seconds.',
			HINT = 'For days: width => ''30 days''.';
	END IF;
	IF quote_ident(feed) <> feed THEN
		RAISE WARNING 'the name of feed "%" must be quoted in each call', feed
			USING DETAIL = 'A feed is a schema, and its name is taken as it is written here.',
			HINT = format('Calls are written %I.take(...). A name of lower case letters, digits '
				'and underscores needs no quotes.', feed);
	END IF;
	IF arguments ->> 'exposures' IS NULL THEN
		relation := (
			SELECT c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
			WHERE c.relname = feed AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
				AND n.nspname !~ '^(pg_|information_schema$)'
			ORDER BY n.nspname LIMIT 1);
		IF relation IS NOT NULL THEN
			RAISE WARNING 'feed "%" does not read table %', feed, relation
				USING DETAIL = 'The first argument is the name of the feed. Without a second one '
					'the feed has no table of exposures.',
				HINT = format('For a feed over the table: bloomexp.create_feed(''shown'', %L).',
					relation);
		END IF;
		IF arguments ->> 'capacity' IS NOT NULL AND width IS NOT NULL THEN
			RAISE NOTICE 'capacity has no effect on a feed with a window'
				USING DETAIL = 'Each slice of the window is sized by those before it.';
		END IF;
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.argument_warnings(jsonb) IS
'warns of arguments that may not mean what their author thinks';

CREATE FUNCTION bloomexp.feed_warnings(arguments jsonb) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
	name constant text := arguments ->> 'exposures';
	table_id constant regclass := to_regclass(name);
	relkind constant "char" := (SELECT c.relkind FROM pg_class AS c WHERE c.oid = table_id);
	users record;
	items record;
	times record;
BEGIN
	SELECT c.attnum INTO users FROM bloomexp.feed_columns(arguments) AS c
		WHERE c.argument = 'user_column';
	SELECT c.attnum, c.arrays INTO items FROM bloomexp.feed_columns(arguments) AS c
		WHERE c.argument = 'item_column';
	SELECT c.attnum, c.base = 'timestamp'::regtype AS utc INTO times
	FROM bloomexp.feed_columns(arguments) AS c WHERE c.argument = 'time_column';

	IF relkind IN ('r', 'p', 'm') AND NOT EXISTS (
		SELECT FROM pg_index AS x JOIN pg_class AS c ON c.oid = x.indexrelid
			JOIN pg_am AS m ON m.oid = c.relam
		WHERE m.amname = 'btree' AND x.indrelid = table_id AND x.indisvalid AND x.indpred IS NULL
			AND x.indkey[0] = users.attnum) THEN
		RAISE WARNING 'no index on % begins with column "%"', name, arguments ->> 'user_column'
			USING DETAIL = format('A rebuild%s would read the whole table for each user.',
				CASE arguments ->> 'trigger' WHEN 'false' THEN ' and each request' ELSE '' END),
			HINT = format('CREATE INDEX%s ON %s (%I, %I%s);',
				CASE relkind WHEN 'p' THEN '' ELSE ' CONCURRENTLY' END,
				name, arguments ->> 'user_column', arguments ->> 'time_column',
				CASE WHEN items.arrays = 1 THEN ''
					ELSE format(', %I', arguments ->> 'item_column') END);
	END IF;
	-- Judge a default by its text: evaluating it could run any code.
	IF times.utc AND EXISTS (
		SELECT FROM pg_attrdef AS d
		WHERE d.adrelid = table_id AND d.adnum = times.attnum AND pg_get_expr(d.adbin, d.adrelid)
			!~* '(AT TIME ZONE |timezone\()''(utc|gmt)''') THEN
		RAISE WARNING 'default of column "%" may be in the time zone of the session',
			arguments ->> 'time_column'
			USING DETAIL = 'The feed reads the column as UTC, and this default is not written as a '
				'time AT TIME ZONE ''UTC''.',
			HINT = format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT now() AT TIME ZONE ''UTC'';',
				name, arguments ->> 'time_column');
	END IF;
	IF arguments ->> 'trigger' = 'false' AND EXISTS (
		SELECT FROM bloomexp.tables_of(table_id) AS t JOIN pg_class AS c ON c.oid = t
		WHERE c.relkind IN ('m', 'f') OR EXISTS (
			SELECT FROM pg_subscription_rel AS r WHERE r.srrelid = c.oid)) THEN
		RAISE WARNING 'exposures can arrive late in %', name
			USING DETAIL = 'A materialized view, a foreign table or a subscription delivers '
				'exposures late, and a rebuild can overlook them.',
			HINT = format('CALL %I.rebuild(overlap => ...) with more than the longest delay.',
				arguments ->> 'feed');
	END IF;
	IF relkind <> 'm' AND items.arrays = 0 AND EXISTS (
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
				name, arguments ->> 'user_column', arguments ->> 'item_column',
				arguments ->> 'time_column',
				CASE WHEN times.utc THEN 'now() AT TIME ZONE ''UTC''' ELSE 'now()' END,
				arguments ->> 'feed',
				-- with "where" a new row may not count yet, so it cannot be taken yet
				CASE WHEN arguments ->> 'where' IS NULL THEN 'take($1, $2, 10)'
					ELSE 'unseen($1, $2)' END);
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.feed_warnings(jsonb) IS
'warns of columns and indexes that make a feed over a table slow, or its times wrong';
