-- The SQL that replaces the {names} in the templates of a script, with each identifier and literal
-- quoted.

CREATE FUNCTION bloomexp.feed_names(arguments jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
SET quote_all_identifiers = off
AS $$
DECLARE
	extension record;
	feed constant text := quote_ident(arguments ->> 'feed');
	exposures constant text := arguments ->> 'exposures';
	width constant interval := arguments ->> 'width';
	fpr constant double precision := arguments ->> 'fpr';
	slices constant integer := coalesce((arguments ->> 'slices')::integer, 6);
	users record;
	items record;
	times record;
	item_kind text;
	user_column text;
	item_column text;	-- the column, or an element of it if it is an array
	item text;
	elements text;
	is_exposure text;	-- condition that a row is an exposure, whatever its time
	time_column text;
	utc text;	-- suffix that converts a timestamptz to the type of the time column
	names jsonb;
BEGIN
	SELECT x.extversion AS version, quote_ident(n.nspname) AS schema INTO extension
	FROM pg_extension AS x JOIN pg_namespace AS n ON n.oid = x.extnamespace
	WHERE x.extname = 'bloomexp';
	SELECT * INTO users FROM bloomexp.feed_columns(arguments) AS c
	WHERE c.argument = 'user_column';
	SELECT * INTO items FROM bloomexp.feed_columns(arguments) AS c
	WHERE c.argument = 'item_column';
	SELECT * INTO times FROM bloomexp.feed_columns(arguments) AS c
	WHERE c.argument = 'time_column';

	item_kind := bloomexp.item_kind(items.base);

	-- Names for all feeds.  A domain is replaced by its base type, because its constraints are code
	-- of its owner.
	names := jsonb_build_object(
		'version', extension.version,
		'command', format('SELECT bloomexp.feed_sql(%L%s);', arguments ->> 'feed',
			bloomexp.feed_options(arguments)),
		'fixed_literal', quote_literal(bloomexp.fixed_arguments(arguments)),
		'feed', feed,
		'feed_literal', quote_literal(arguments ->> 'feed'),
		'filters_literal', quote_literal(feed || '.filters'),
		'exposures_literal', quote_nullable(exposures),
		'bloom', extension.schema || '.bloom',
		'bloom_literal', quote_literal(extension.schema || '.bloom'),
		'user_type', users.base_name,
		'user_type_literal', quote_literal(users.base_name),
		'user_collation_literal', quote_nullable(users.collation_name),
		'collate', coalesce(' COLLATE ' || users.collation_name, ''),
		-- CHECK raises an error that is clearer than that of the index, if an id is too long
		'user_column', concat(users.base_name, ' COLLATE ' || users.collation_name,
			' CONSTRAINT filters_user_id_check CHECK ('
				|| format(bloomexp.short_id(users.base), 'user_id') || ')'),
		'=', bloomexp.comparisons(users.base) ->> '3',
		'item_type', items.base_name,
		'item_type_literal', quote_literal(items.base_name),
		'user_column_literal', quote_nullable(CASE WHEN exposures IS NOT NULL
			THEN arguments ->> 'user_column' END),
		'item_column_literal', quote_nullable(CASE WHEN exposures IS NOT NULL
			THEN arguments ->> 'item_column' END),
		'item_collate',
			CASE WHEN items.collation <> 0 THEN ' COLLATE pg_catalog."C"' ELSE '' END,
		-- without triggers, functions read the exposures, which may not be parallel safe
		'parallel', CASE arguments ->> 'trigger' WHEN 'false' THEN '' ELSE ' PARALLEL SAFE' END,
		'fpr', fpr,
		'alarming_fpr', fpr * 1.2,	-- the rate of a full filter varies by chance
		-- rows of a feed over a table have no slices, because rebuilds forget for them
		'settings', CASE
			WHEN exposures IS NULL AND width IS NOT NULL
			THEN format(E'bloomexp.make_row_settings(\n\t\t\t'
				'kind => %L, fpr => %s, width => %L, slices => %s)', item_kind, fpr, width, slices)
			ELSE format('bloomexp.make_row_settings(kind => %L, fpr => %s, capacity => %s)',
				item_kind, fpr, coalesce(arguments ->> 'capacity', '100')) END,
		'expire_batch_literal', quote_literal(feed || '.expire_batch'),
		'rebuild_batch_literal', quote_literal(feed || '.rebuild_batch'),
		'insert_trigger', quote_ident(('insert_' || (arguments ->> 'feed'))::name),
		'update_trigger', quote_ident(('update_' || (arguments ->> 'feed'))::name));
	IF width IS NOT NULL THEN
		names := names || jsonb_build_object('width', quote_literal(width), 'slices', slices,
			-- days of 24 hours, even if clocks change
			'hours', quote_literal(make_interval(secs => extract(epoch FROM width))));
	END IF;
	IF exposures IS NULL THEN
		RETURN names;
	END IF;

	user_column := format('e.%I', arguments ->> 'user_column');
	item_column := format('e.%I', arguments ->> 'item_column');
	time_column := format('e.%I', arguments ->> 'time_column');
	elements := '';
	IF items.arrays = 1 THEN
		elements := format(', unnest(%s) AS i(item)', item_column);
		item_column := 'i.item';
	END IF;
	-- The cast keeps the kind of the hashes, even if the column changes its type.
	item := item_column || '::'
		|| CASE item_kind WHEN 'integer' THEN 'bigint' ELSE items.base_name END;
	is_exposure := concat(user_column, ' IS NOT NULL AND ', item_column, ' IS NOT NULL',
		' AND e.' || quote_ident(arguments ->> 'where'));
	utc := CASE WHEN times.base = 'timestamp'::regtype THEN ' AT TIME ZONE ''UTC''' ELSE '' END;
	RETURN names || jsonb_build_object(
		'exposures', exposures,
		'window_width', width,
		'user', user_column,
		'item', item,
		'elements', elements,
		'time', time_column,
		'utc', utc,
		'is_exposure', is_exposure,
		'exposed_query_literal', quote_literal(format(
			E'SELECT %s, %s\n\t\tFROM %s AS e%s\n\t\tWHERE %s\n\t\t\tAND %s >= $1%s',
			-- a domain as its base type, which is the type of the functions' arguments
			user_column || CASE WHEN users.type <> users.base
				THEN '::' || users.base_name ELSE '' END,
			item, exposures, elements, is_exposure, time_column, utc)),
		'rebuild_batch', CASE
			WHEN bloomexp.distribution_column(to_regclass(exposures)) IS NULL
			THEN 'rebuild_batch' ELSE 'rebuild_batch_citus' END);
END
$$;

COMMENT ON FUNCTION bloomexp.feed_names(jsonb) IS
'the SQL for each {name} in the templates of a feed with these arguments';
