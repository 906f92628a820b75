
		-- What makes a feed slow, or its times wrong.
		IF exposures.relkind IN ('r', 'p', 'm') AND NOT EXISTS (
			SELECT FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_am m ON m.oid = c.relam AND m.amname = 'btree'
			WHERE x.indrelid = exposures.oid AND x.indisvalid AND x.indpred IS NULL AND x.indkey[0] = users.attnum) THEN
			RAISE WARNING 'no index of % begins with column "%"', exposures.name, argument.user_column
				USING DETAIL = format('A rebuild%s would read the whole table for each user.',
					CASE argument.mode WHEN 'log' THEN ' and each request' ELSE '' END),
				HINT = format('CREATE INDEX%s ON %s (%I, %I%s);', CASE exposures.relkind WHEN 'p' THEN '' ELSE ' CONCURRENTLY' END,
					exposures.name, argument.user_column, argument.time_column,
					CASE WHEN items.arrays = 1 THEN '' ELSE format(', %I', argument.item_column) END);
		END IF;
		IF utc AND EXISTS (
			SELECT FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
			WHERE d.adrelid = exposures.oid AND a.attname = argument.time_column AND pg_get_expr(d.adbin, d.adrelid)
				~* '^(now\(\)|current_timestamp|localtimestamp|transaction_timestamp\(\))') THEN
			RAISE WARNING 'default of column "%" is in the time zone of the session', argument.time_column
				USING DETAIL = 'The feed reads the column as UTC.',
				HINT = format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT now() AT TIME ZONE ''UTC'';', exposures.name, argument.time_column);
		END IF;
		IF argument.mode = 'log' AND EXISTS (
			SELECT FROM pg_class c WHERE c.oid = ANY (tree)
				AND (c.relkind IN ('m', 'f') OR EXISTS (SELECT FROM pg_subscription_rel r WHERE r.srrelid = c.oid))) THEN
			RAISE WARNING 'exposures can arrive late in %', exposures.name
				USING DETAIL = 'What a materialized view, a foreign table or a subscription brings in was shown earlier than a rebuild can see.',
				HINT = format('CALL %I.rebuild(overlap => ...) with more than the longest delay.', argument.feed);
		END IF;
		IF exposures.relkind <> 'm' AND items.arrays = 0 AND EXISTS (
			SELECT FROM pg_index x
			WHERE x.indrelid = exposures.oid AND x.indisunique AND x.indisvalid AND x.indpred IS NULL AND x.indnkeyatts = 2
				AND (x.indkey[0] = users.attnum AND x.indkey[1] = items.attnum OR x.indkey[0] = items.attnum AND x.indkey[1] = users.attnum)) THEN
			RAISE NOTICE '% has a unique key of user and item: showing an item again must update its time', exposures.name
				USING DETAIL = 'ON CONFLICT DO NOTHING, and calls of frameworks that use it, leave the old time, and the item is shown again and again.',
				HINT = format('INSERT INTO %s (%I, %I, %I) SELECT $1, item, %s FROM unnest(%I.take($1, $2, 10)) AS item '
					'ON CONFLICT (%2$I, %3$I) DO UPDATE SET %4$I = excluded.%4$I RETURNING %3$I;', exposures.name, argument.user_column,
					argument.item_column, argument.time_column, CASE WHEN utc THEN 'now() AT TIME ZONE ''UTC''' ELSE 'now()' END, argument.feed);
		END IF;
