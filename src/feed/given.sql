SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
SET IntervalStyle = postgres
SET extra_float_digits = 1
AS $function$
DECLARE
	script text;
BEGIN
	EXECUTE format('SELECT s.script FROM %I.bloom_feed_script($1, NULL::oid) AS s', (
		SELECT n.nspname FROM pg_extension x JOIN pg_namespace n ON n.oid = x.extnamespace WHERE x.extname = 'bloomexp'))
	INTO script USING jsonb_build_object('feed', feed, 'exposures', exposures, 'user_column', user_column,
		'item_column', item_column, 'time_column', time_column, 'width', width, 'fpr', fpr, 'headroom', headroom,
		'slices', slices, 'mode', mode, 'where', "where", 'user_type', user_type, 'item_type', item_type);
