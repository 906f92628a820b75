-- What the templates of a script name: SQL that names nothing else, with each identifier and
-- literal quoted.

CREATE FUNCTION bloomexp.feed_names(a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
SET quote_all_identifiers = off
AS $$
DECLARE
	extension record;
	feed constant text := quote_ident(a ->> 'feed');
	of_table constant boolean := a ->> 'exposures' IS NOT NULL;
	width constant interval := a ->> 'width';
	slices constant integer := coalesce((a ->> 'slices')::integer, 6);
	users record;
	items record;
	times record;
	bytes_of text;
	item_kind text;
	item_column text;
	time_column text := format('e.%I', a ->> 'time_column');
	names jsonb;
BEGIN
	SELECT x.extversion AS version, quote_ident(n.nspname) AS schema INTO extension
	FROM pg_extension AS x JOIN pg_namespace AS n ON n.oid = x.extnamespace
	WHERE x.extname = 'bloomexp';
	SELECT * INTO users FROM bloomexp.feed_columns(a) AS c WHERE c.argument = 'user_column';
	SELECT * INTO items FROM bloomexp.feed_columns(a) AS c WHERE c.argument = 'item_column';
	bytes_of := CASE	-- of what can be compressed, before that
		WHEN users.base = ANY ('{text,varchar,bpchar,bytea}'::regtype[]) THEN 'octet_length'
		ELSE 'pg_column_size' END;
	item_kind := CASE
		WHEN items.base IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) THEN 'integer'
		WHEN items.collation <> 0 THEN 'text' ELSE format_type(items.base, NULL) END;
	SELECT * INTO times FROM bloomexp.feed_columns(a) AS c WHERE c.argument = 'time_column';

	names := jsonb_build_object(
		'version', extension.version,
		'command', format('SELECT %s.bloom_feed_sql(%L%s);', extension.schema, a ->> 'feed',
			bloomexp.feed_options(a)),
		'kind_literal', quote_literal(bloomexp.feed_kind(a)),
		'feed', feed, 'feed_literal', quote_literal(a ->> 'feed'),
		'filters_literal', quote_literal(feed || '.filters'),
		'exposures_literal', quote_nullable(a ->> 'exposures'),
		'bloom', extension.schema || '.bloom',
		'bloom_literal', quote_literal(extension.schema || '.bloom'),
		-- of a domain what it is made of: its constraints would run here
		'user_type', users.base_name,
		'user_type_literal', quote_literal(users.base_name),
		'user_collation_literal', quote_nullable(users.collation_name),
		-- an error of its own, before that of the index, for a user whom no index takes
		'user_column', users.base_name || coalesce(' COLLATE ' || users.collation_name, '')
			|| CASE WHEN (SELECT t.typlen FROM pg_type AS t WHERE t.oid = users.base) = -1
				THEN format(' CHECK (pg_catalog.%s(user_id) OPERATOR(pg_catalog.<=) 2000)',
					bytes_of)
				ELSE '' END,
		'bytes_of', bytes_of,
		'collate', coalesce(' COLLATE ' || users.collation_name, ''),
		'item_type', items.base_name, 'item_type_literal', quote_literal(items.base_name),
		'item_collate', CASE WHEN items.collation <> 0 THEN ' COLLATE pg_catalog."C"' ELSE '' END,
		'item_kind', quote_literal(item_kind),
		-- a full filter varies by chance
		'fpr', a ->> 'fpr', 'alarming_fpr', (a ->> 'fpr')::double precision * 1.2,
		'capacity', coalesce(a ->> 'capacity', '100'));
	SELECT names || jsonb_object_agg(n.name, c.operator) INTO names
	FROM jsonb_each_text(bloomexp.comparisons(users.base)) AS c(strategy, operator)
	JOIN (VALUES ('3', '='), ('5', '>'), ('2', '<=')) AS n(strategy, name) USING (strategy);
	IF width IS NOT NULL THEN
		names := names || jsonb_build_object(
			'width', quote_literal(width), 'slices', slices,
			-- a day of 24 hours, where clocks change, too
			'hours', quote_literal(make_interval(secs => extract(epoch FROM width))));
	END IF;
	IF of_table THEN
		item_column := CASE WHEN items.arrays = 1 THEN 'i.item'
			ELSE format('e.%I', a ->> 'item_column') END;
		names := names || jsonb_build_object(
			'exposures', a ->> 'exposures',
			'user', format('e.%I', a ->> 'user_column'),
			-- the hashes stay of one kind, whatever type the column gets
			'item', item_column || '::'
				|| CASE item_kind WHEN 'integer' THEN 'bigint' ELSE items.base_name END,
			'elements', CASE WHEN items.arrays = 1
				THEN format(', unnest(e.%I) AS i(item)', a ->> 'item_column') ELSE '' END,
			-- as 'exposed' in functions that set timezone to UTC; Citus does not send that setting
			'window_start', format('now() - interval %L', width),
			'exposed', format('e.%I IS NOT NULL AND %s IS NOT NULL%s AND %s >= %s',
				a ->> 'user_column', item_column,
				coalesce(' AND e.' || quote_ident(a ->> 'where'), ''), time_column,
				CASE WHEN times.base = 'timestamp'::regtype THEN '(since AT TIME ZONE ''UTC'')'
					ELSE 'since' END),
			-- in this order: what is prepared in between is in one of the two
			'oldest_literal', quote_literal('SELECT pg_catalog.concat_ws('' '', '
				'EXTRACT(EPOCH FROM bloomexp.oldest_transaction()), '
				'(SELECT ''prepared'' FROM pg_catalog.pg_prepared_xacts AS p '
				'WHERE p.database OPERATOR(pg_catalog.=) pg_catalog.current_database() LIMIT 1))'));
	END IF;
	RETURN names;
END
$$;

COMMENT ON FUNCTION bloomexp.feed_names(jsonb) IS
'the SQL for each {name} in the templates of a feed with these arguments';
