--
-- The state of a table of filters.
--
-- VOLATILE because a sample is another one each time.  How names in its statement are
-- written is said in definition.sql.
--

CREATE FUNCTION bloom_overview(
	target regclass,
	filter_column name DEFAULT NULL,
	sample_percent double precision DEFAULT 100,
	rebuilt_at_column name DEFAULT NULL,
	OUT users bigint,
	OUT items bigint,
	OUT bytes bigint,
	OUT bytes_p50 bigint,
	OUT bytes_p99 bigint,
	OUT over_capacity double precision,
	OUT layers_max integer,
	OUT promised_max double precision,
	OUT fpr_p50 double precision,
	OUT fpr_p99 double precision,
	OUT fpr_max double precision,
	OUT oldest_rebuild timestamp with time zone)
LANGUAGE plpgsql VOLATILE
-- (so that a share is written with all its digits)
SET search_path = pg_catalog, pg_temp SET extra_float_digits = 1 AS $$
DECLARE
	schema name := (SELECT n.nspname FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
					WHERE e.extname = 'bloomexp');
	target_name text;
	sample text := '';
BEGIN
	IF target IS NULL OR sample_percent IS NULL THEN
		RAISE 'target and sample_percent must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF sample_percent <= 0 OR sample_percent > 100 THEN
		RAISE 'sample_percent must be greater than 0 and at most 100' USING ERRCODE = 'invalid_parameter_value';
	END IF;

	EXECUTE format('SELECT %I.bloom_filter_column($1, $2)', schema) INTO filter_column USING target, filter_column;
	target_name := (SELECT format('%I.%I', n.nspname, c.relname)
					FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = target);
	IF rebuilt_at_column IS NOT NULL THEN
		EXECUTE format('SELECT %I.bloom_time_column($1, $2)', schema) USING target, rebuilt_at_column;
	END IF;

	IF sample_percent < 100 THEN
		sample := format('TABLESAMPLE pg_catalog.system (%L::pg_catalog.float4)', sample_percent);
	END IF;

	-- $1 scales up what was sampled.  pg_column_size() reads nothing but the pointer of
	-- a filter out of line, and bloom_info() its headers.  A window has a layer a slice
	-- by design; a counting filter never has another one, but refuses items when full.
	EXECUTE format(
		'SELECT pg_catalog.count(*) OPERATOR(pg_catalog.*) $1, COALESCE(pg_catalog.sum(s.items), 0) OPERATOR(pg_catalog.*) $1, '
			'COALESCE(pg_catalog.sum(s.bytes), 0) OPERATOR(pg_catalog.*) $1, '
			'pg_catalog.percentile_disc(0.5) WITHIN GROUP (ORDER BY s.bytes), '
			'pg_catalog.percentile_disc(0.99) WITHIN GROUP (ORDER BY s.bytes), '
			'pg_catalog.avg(s.over_capacity::pg_catalog.int4)::pg_catalog.float8, pg_catalog.max(s.layers), pg_catalog.max(s.fpr), '
			'pg_catalog.percentile_disc(0.5) WITHIN GROUP (ORDER BY s.fpr_now), '
			'pg_catalog.percentile_disc(0.99) WITHIN GROUP (ORDER BY s.fpr_now), pg_catalog.max(s.fpr_now), '
			'pg_catalog.min(s.rebuilt_at) '
		'FROM (SELECT pg_catalog.pg_column_size(f.%2$I) AS bytes, i.items, i.layers, i.fpr, i.fpr_now, %4$s AS rebuilt_at, '
			'CASE WHEN i.slices IS NOT NULL THEN i.layers OPERATOR(pg_catalog.>) '
				'(SELECT pg_catalog.count(DISTINCT l.slice) FROM %1$I.bloom_layers(f.%2$I) AS l) '
				'WHEN i.counting THEN i.items OPERATOR(pg_catalog.>=) i.capacity '
				'ELSE i.layers OPERATOR(pg_catalog.>) 1 END AS over_capacity '
			'FROM %3$s AS f %5$s, %1$I.bloom_info(f.%2$I) AS i WHERE f.%2$I IS NOT NULL) AS s',
		schema, filter_column, target_name,
		CASE WHEN rebuilt_at_column IS NULL THEN 'NULL::pg_catalog.timestamptz'
			ELSE format('f.%I::pg_catalog.timestamptz', rebuilt_at_column) END,
		sample)
	INTO users, items, bytes, bytes_p50, bytes_p99, over_capacity, layers_max, promised_max,
		fpr_p50, fpr_p99, fpr_max, oldest_rebuild
	USING (100 / sample_percent)::numeric;
END
$$;

COMMENT ON FUNCTION bloom_overview(regclass, name, double precision, name) IS
'state of all filters of a table, or of a sample of its pages: users with a filter, items, bytes, how many filters have outgrown their capacity, layers, the promised false positive rate, the rates now, and the oldest rebuild';
