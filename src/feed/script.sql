-- The script of a feed: its templates in their order, and how they are filled.
--
-- A template is one SQL statement, and reads like the SQL that it becomes.  Text between {#flag}
-- and {/flag} is for feeds with that flag only.  If a mark is alone on its line, the whole line is
-- removed.  Then each {name} is replaced by an entry of bloomexp.feed_names().

CREATE FUNCTION bloomexp.feed_flags(arguments jsonb) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT jsonb_build_object(
		'alone', NOT f.over_table,	-- without a table of exposures
		'window', NOT f.over_table AND f.forgets,
		'forever', NOT f.over_table AND NOT f.forgets,
		'no_window', f.over_table OR NOT f.forgets,
		'table', f.over_table,	-- over a table of exposures
		'tracked', f.tracked,	-- triggers of the table write the rows
		'untracked', f.over_table AND NOT f.tracked,
		'remembers', f.tracked OR NOT f.over_table,	-- a row has everything that was shown
		'citus', f.distributed)
	FROM (
		SELECT arguments ->> 'exposures' IS NOT NULL AS over_table,
			arguments ->> 'width' IS NOT NULL AS forgets,
			arguments ->> 'exposures' IS NOT NULL AND arguments ->> 'trigger' = 'true' AS tracked,
			bloomexp.distribution_column(to_regclass(arguments ->> 'exposures')) IS NOT NULL
				AS distributed) AS f
$$;

COMMENT ON FUNCTION bloomexp.feed_flags(jsonb) IS
'for each flag of the templates, whether a feed with these arguments has it';

CREATE FUNCTION bloomexp.fill_template(template text, flags jsonb, names jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	flag record;
	unknown text;
BEGIN
	template := regexp_replace(template, '^([{][#/]\w+[}])\n', '\1', 'gn');
	FOR flag IN SELECT f.key AS name, f.value::boolean AS is_set FROM jsonb_each_text(flags) AS f
	LOOP
		template := regexp_replace(template, CASE
			WHEN flag.is_set THEN format('[{][#/]%s[}]', flag.name)
			ELSE format('[{]#%s[}].*?[{]/%1$s[}]', flag.name) END, '', 'g');
	END LOOP;
	-- Every second part is a text between braces.  Replacements are not searched for names again.
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

COMMENT ON FUNCTION bloomexp.fill_template(text, jsonb, jsonb) IS
'a template without the parts for other feeds, and with its {names} replaced; raises an error if '
'a name has no entry';

CREATE FUNCTION bloomexp.feed_script(arguments jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
	flags constant jsonb := bloomexp.feed_flags(arguments);
	names jsonb := bloomexp.feed_names(arguments);
	quote text := '$feed$';
	functions jsonb := '{}';
	template record;
	statement text;
	function_name text;
	body text;
	script text := '';
BEGIN
	-- Find a dollar quote that does not occur in any replacement.
	WHILE EXISTS (SELECT FROM jsonb_each_text(names) AS n WHERE position(quote IN n.value) > 0) LOOP
		quote := overlay(quote PLACING '_$' FROM length(quote));
	END LOOP;
	names := names || jsonb_build_object('$', quote);

	FOR template IN
		SELECT t.text
		-- in the order of the script, each with the flag of the feeds that have it; NULL: all feeds
		FROM (SELECT row_number() OVER () AS n, v.name, v.flag FROM (VALUES
			('head', NULL), ('begin', NULL), ('filters', NULL), ('storage', NULL), ('lock', NULL),
			('shown', 'untracked'), ('current', NULL), ('unseen', NULL), ('contains', NULL),
			('take', NULL), ('take_back', NULL),
			('add', 'alone'), ('add_batch', 'alone'), ('forget', 'alone'), ('merge', 'alone'),
			('expire', 'window'), ('expire_batch', 'window'),
			('track', 'tracked'), ('triggers', 'tracked'), ('partition_triggers', 'tracked'),
			('rebuild', 'table'), ('rebuild_batch', 'table'), ('distribute', 'citus'),
			('health', NULL), ('finish', NULL)) AS v(name, flag)) AS o
		LEFT JOIN bloomexp.feed_templates() AS t USING (name)
		WHERE o.flag IS NULL OR (flags ->> o.flag)::boolean
		ORDER BY o.n
	LOOP
		-- The last template writes the settings, with hashes of the functions before it.
		names := names || jsonb_build_object('feed_settings', quote_literal(jsonb_build_object(
			'version', names ->> 'version',
			'user_type', concat(names ->> 'user_type', names ->> 'collate'),
			'arguments', arguments, 'functions', functions)::text));
		statement := btrim(bloomexp.fill_template(template.text, flags, names), E'\n');
		script := concat(script, statement, E'\n\n');
		function_name := substring(
			template.text FROM 'CREATE OR REPLACE (?:FUNCTION|PROCEDURE) {feed}\.(\w+)');
		IF function_name IS NOT NULL THEN
			body := split_part(statement, quote, 2);
			functions := functions || jsonb_build_object(function_name,
				jsonb_build_array(md5(body), bloomexp.code_hash(body), ARRAY(
					SELECT lower(regexp_replace(replace(s[1], '''', ''), '^SET (\w+) = ', '\1='))
					FROM regexp_matches(
						substring(split_part(statement, quote, 1) FROM 'LANGUAGE .*'),
						'\m(STABLE|PARALLEL SAFE|SET \w+ = (?:pg_catalog[\w, ]* pg_temp|\S+))', 'g')
						AS s
					ORDER BY 1)));
		END IF;
	END LOOP;
	RETURN script;
END
$$;

COMMENT ON FUNCTION bloomexp.feed_script(jsonb) IS
'the script of a feed with these arguments, in which bloomexp.feed_problems() must not find a '
'problem';
