
	-- The templates by name.  One that has a kind is for this kind of feed, and in place of one without; if neither is there
	-- for a feed, the template is nothing.
	SELECT jsonb_object_agg(t.name, t.text) INTO parts
	FROM (
		SELECT DISTINCT ON (v.name) v.name, CASE WHEN k.n IS NULL THEN '' ELSE btrim(v.text, E'\n') END AS text
		FROM (VALUES
@script
		) AS v(name, kind, text)
		LEFT JOIN unnest(CASE WHEN of_table THEN ARRAY['', 'table', argument.mode, CASE WHEN distribution IS NOT NULL THEN 'citus' END]
			ELSE ARRAY['', 'alone', CASE WHEN windowed THEN 'windowed' ELSE 'plain' END] END)
			WITH ORDINALITY AS k(kind, n) ON k.kind = v.kind
		ORDER BY v.name, k.n DESC NULLS LAST) AS t;
	parts := parts || jsonb_build_object(
		'require_trusted', replace(parts ->> 'require_trusted', '{tables}', E'\n\t\t{tree}\n\t\tSELECT t.oid FROM tree AS t'),
		'require_trusted_here', replace(parts ->> 'require_trusted', '{tables}', 'TG_RELID'));

	names := jsonb_build_object(
		'version', extension.version, 'call', command,
		'kind', kind, 'kind_literal', quote_literal(kind),
		'settings', coalesce(settings, ''),
		'feed', quote_ident(argument.feed), 'feed_literal', quote_literal(argument.feed), 'quoted_feed_literal', quote_literal(quote_ident(argument.feed)),
		'filters_literal', quote_literal(quote_ident(argument.feed) || '.filters'),
		'schemas_literal', quote_literal(ARRAY(
			SELECT n.nspname FROM pg_namespace n WHERE n.oid = ANY (schemas) UNION SELECT argument.feed ORDER BY 1)),
		'track_literal', quote_literal(quote_ident(argument.feed) || '.track'),
		'bloom', extension.schema,
		'=', users.operators ->> '3', '>', users.operators ->> '5', '<=', users.operators ->> '2',
		'user_type', users.base_name,	-- a domain could refuse NULL
		'user_column_type', CASE WHEN NOT of_table THEN users.base_name WHEN users.collated THEN users.column_type || users.collate_clause
			ELSE users.column_type END,
		'collate', users.collate_clause,
		'item_type', items.base_name,
		'width', quote_literal(argument.width), 'slices', argument.slices,
		'procedure', CASE WHEN of_table THEN 'rebuild' ELSE 'expire' END,
		'hours', quote_literal(make_interval(secs => extract(epoch FROM argument.width))),
		'slice_hours', quote_literal(make_interval(secs => extract(epoch FROM argument.width) / argument.slices)),
		'fpr', argument.fpr, 'alarming_fpr', argument.fpr * 1.2,	-- the rate of a full filter varies by chance
		'stored_fpr', CASE WHEN argument.mode = 'log' THEN argument.fpr * 0.99 ELSE argument.fpr END,
		'rest_fpr', argument.fpr * 0.01,
		'headroom', CASE WHEN argument.mode = 'log' THEN 0 ELSE argument.headroom END)
	|| CASE WHEN of_table THEN jsonb_build_object(
		'exposures', exposures.name, 'exposures_literal', quote_literal(exposures.name),
		'user', format('e.%I', argument.user_column),
		'item', CASE WHEN items.arrays = 1 THEN 'i.item' ELSE format('e.%I', argument.item_column) END,
		'elements', CASE WHEN items.arrays = 1 THEN format(', unnest(e.%I) AS i(item)', argument.item_column) ELSE '' END,
		'time', format('e.%I', argument.time_column),
		'since', CASE WHEN utc THEN '(since AT TIME ZONE ''UTC'')' ELSE 'since' END,
		'where', coalesce(' AND e.' || quote_ident(argument."where"), ''),
		'current_literal', quote_literal(format('%I.current(%s)', argument.feed, users.base_name)),
		'unseen_literal', quote_literal(format('%I.unseen(%s, %s[])', argument.feed, users.base_name, items.base_name)),
		'take_literal', quote_literal(format('%I.take(%s, %s[], integer)', argument.feed, users.base_name, items.base_name)),
		'distribute', CASE WHEN filters_distributed THEN '' ELSE format('SELECT pg_catalog.create_distributed_table(%L, ''user_id'', '
			'colocate_with => %L);', quote_ident(argument.feed) || '.filters', exposures.name) END,
		'oldest_literal', quote_literal(format('SELECT EXTRACT(EPOCH FROM LEAST(%s.bloom_oldest_transaction(), (SELECT pg_catalog.min(p.prepared) '
			'FROM pg_catalog.pg_prepared_xacts AS p WHERE p.database OPERATOR(pg_catalog.=) pg_catalog.current_database())))', extension.schema)))
	ELSE '{}' END;

	-- What an older script has made for other types of the columns goes: it would be in the way.  The user's own stays.
	SELECT string_agg(format(E'DROP %s %s;	-- types have changed: grant EXECUTE again\n',
		CASE p.prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END, p.oid::regprocedure), '')
	INTO retyped
	FROM pg_proc p
	WHERE existing IS NOT NULL AND p.pronamespace = schema_oid AND p.prosecdef = (p.proname <> 'rebuild')
		AND (concat(p.proname, p.proargnames) IN ('current{user_id}', 'lock{user_id}', 'unseen{user_id,candidates}',
				'take{user_id,candidates,wanted}', 'contains{user_id,item}')
			AND (p.proargtypes[0] <> users.base
				OR p.proargtypes[1] <> CASE p.proname WHEN 'contains' THEN items.base ELSE items.array_type END)
		OR concat(p.proname, p.proargnames[1:2]) IN ('rebuild{users,after}', 'rebuild_batch{wanted,upto}')
			AND p.proargtypes[0] <> users.array_type);
	SELECT names || jsonb_build_object('retyped', coalesce(E'\n' || rtrim(NULLIF(concat((
		SELECT format(E'ALTER TABLE %1$I.filters ALTER user_id TYPE %2$s USING user_id::%3$s;	-- types have changed\n',
			argument.feed, names ->> 'user_column_type', users.column_type)
		FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		WHERE of_table AND existing IS NOT NULL AND c.relnamespace = schema_oid AND c.relname = 'filters' AND a.attname = 'user_id'
			AND (format_type(a.atttypid, a.atttypmod) <> users.full_type OR a.attcollation <> users.attcollation)), retyped), ''), E'\n'), '')) INTO names;
