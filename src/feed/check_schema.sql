
	-- The schema of the feed, and the feed that may be in it.
	IF schema_oid IS NULL THEN
		IF NOT has_database_privilege(role, current_database(), 'CREATE') THEN
			problems := problems || format('You may not create schema %I: GRANT CREATE ON DATABASE %I TO %I, '
				'or let its owner make the empty schema for you.', argument.feed, current_database(), pg_get_userbyid(role));
		END IF;
	ELSIF NOT (pg_has_role(role, existing_owner, 'USAGE') AND pg_has_role(existing_owner, role, 'USAGE')) THEN	-- the script asks for both
		problems := problems || format('You may not change feed %I: its owner can.', argument.feed);
	ELSIF NOT (has_schema_privilege(role, schema_oid, 'CREATE') AND has_schema_privilege(role, schema_oid, 'USAGE')) THEN
		problems := problems || format('You may not create in schema %I: GRANT CREATE, USAGE ON SCHEMA %1$I TO %I.', argument.feed, pg_get_userbyid(role));
	ELSIF existing IS NULL AND EXISTS (
		SELECT FROM pg_depend d WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = schema_oid AND d.deptype = 'n') THEN
		problems := problems || format('Schema %I exists and is not empty: choose another name for the feed.', argument.feed);
	END IF;
	IF of_table THEN
		kind := format('mode %s', argument.mode);
	ELSE
		kind := format('%s, %s, %s', users.base_name, items.base_name, CASE WHEN windowed
			THEN format('%s in %s slices', argument.width, argument.slices) ELSE 'for ever' END);
	END IF;
	IF position(E'\n-- kind: ' || kind || E'\n' IN existing) = 0 THEN
		problems := problems || format('Feed %I is of another kind: it was made for %s, not for %s. '
			'Make another feed, and drop this one when requests use that.',
			argument.feed, substring(existing FROM '\n-- kind: ([^\n]*)'), kind);
	END IF;
	IF concat(extension.schema, options, kind) ~ '[\x01-\x1f\x7f]' THEN
		problems := problems || 'Names with control characters cannot be written into a script: '
			'rename the table, column, type or schema.'::text;
	END IF;
