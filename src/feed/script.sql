-- The script of a feed: templates in an order, with their {names} replaced.

CREATE FUNCTION bloomexp.feed_templates_of(a jsonb) RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_to_array(CASE
		WHEN a ->> 'exposures' IS NULL AND a ->> 'width' IS NULL THEN
			'head_alone begin filters_plain storage lock current unseen contains take take_back '
			'add add_batch forget merge health_plain finish'
		WHEN a ->> 'exposures' IS NULL THEN
			'head_alone begin filters_window storage lock current_window unseen_window contains '
			'take_window take_back add_window add_batch_window forget merge_window '
			'expire expire_batch health_window finish'
		WHEN a ->> 'mode' = 'trigger' THEN
			'head_trigger begin filters_table storage lock current unseen contains take '
			'take_back_table track attach rebuild rebuild_step '
			'rebuild_batch health_table finish'
		WHEN bloomexp.distribution_column(to_regclass(a ->> 'exposures')) IS NOT NULL THEN
			'head_log begin filters_table storage lock_log_citus shown_log current_log unseen_log '
			'contains_log take_log take_back_table rebuild rebuild_step rebuild_batch_citus '
			'distribute health_log finish'
		ELSE
			'head_log begin filters_table storage lock_log shown_log current_log unseen_log '
			'contains_log take_log take_back_table rebuild rebuild_step rebuild_batch '
			'health_log finish'
		END, ' ')
$$;

COMMENT ON FUNCTION bloomexp.feed_templates_of(jsonb) IS
'the names of the templates of which the script of a feed with these arguments consists, in order';

CREATE FUNCTION bloomexp.fill_template(template text, names jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	unknown text;
BEGIN
	-- The texts between braces are every second one.  What a name brings in is not looked at again.
	SELECT p.text INTO unknown
	FROM regexp_split_to_table(template, '[{}]') WITH ORDINALITY AS p(text, n)
	WHERE p.n % 2 = 0 AND names ->> p.text IS NULL LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'a template of feeds names "%", which is unknown', unknown
			USING ERRCODE = 'internal_error';
	END IF;
	RETURN (
		SELECT string_agg(
			CASE WHEN p.n % 2 = 1 THEN p.text ELSE names ->> p.text END, '' ORDER BY p.n)
		FROM regexp_split_to_table(template, '[{}]') WITH ORDINALITY AS p(text, n));
END
$$;

COMMENT ON FUNCTION bloomexp.fill_template(text, jsonb) IS
'a template with its {names} replaced';

CREATE FUNCTION bloomexp.feed_script(a jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
	names jsonb := bloomexp.feed_names(a);
	quote text := '$feed$';
	functions jsonb := '{}';
	template record;
	made text;
	script text := '';
BEGIN
	-- Find a dollar quote that nothing in the script ends.
	WHILE EXISTS (SELECT FROM jsonb_each_text(names) AS n WHERE position(quote IN n.value) > 0) LOOP
		quote := overlay(quote PLACING '_$' FROM length(quote));
	END LOOP;
	names := names || jsonb_build_object('$', quote);

	FOR template IN
		SELECT t.text,
			substring(t.text FROM 'CREATE OR REPLACE (?:FUNCTION|PROCEDURE) {feed}\.(\w+)')
				AS function
		FROM unnest(bloomexp.feed_templates_of(a)) WITH ORDINALITY AS w(name, n)
		LEFT JOIN bloomexp.feed_templates() AS t USING (name)
		ORDER BY w.n
	LOOP
		-- The last one has the settings, with the functions before it.
		names := names || jsonb_build_object('settings', quote_literal(jsonb_build_object(
			'version', names ->> 'version', 'kind', bloomexp.feed_kind(a),
			'arguments', a, 'functions', functions)::text));
		made := bloomexp.fill_template(btrim(template.text, E'\n'), names);
		script := concat(script, made, E'\n\n');
		IF template.function IS NOT NULL THEN
			functions := functions || jsonb_build_object(template.function,
				jsonb_build_array(md5(split_part(made, quote, 2)),
					bloomexp.code_hash(split_part(made, quote, 2)), ARRAY(
					SELECT lower(regexp_replace(replace(s[1], '''', ''), '^SET (\w+) = ', '\1='))
					FROM regexp_matches(split_part(template.text, '{$}', 1),
						'\m(STABLE|PARALLEL SAFE|SET \w+ = (?:pg_catalog, pg_temp|\S+))', 'g') AS s
					ORDER BY 1)));
		END IF;
	END LOOP;
	RETURN script;
END
$$;

COMMENT ON FUNCTION bloomexp.feed_script(jsonb) IS
'the script of a feed with these arguments, of which bloomexp.feed_problems() finds nothing wrong';
