CREATE FUNCTION bloom_feed_fill(template text, parts jsonb, names jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $function$
DECLARE
	before text;
	unknown text;
	quote text := '$feed$';
BEGIN
	-- Parts are templates, and can name other parts.  A line with an empty part alone is none.
	WHILE before IS DISTINCT FROM template LOOP
		before := template;
		template := regexp_replace(template, (SELECT format(E'\n\\{(%s)\\}(?=\n)', string_agg(p.key, '|')) FROM jsonb_each_text(parts) AS p WHERE p.value = ''), '', 'g');
		template := (SELECT string_agg(CASE WHEN p.n % 2 = 1 THEN p.text ELSE coalesce(btrim(parts ->> p.text, E'\n'), '{' || p.text || '}') END, '' ORDER BY p.n)
			FROM regexp_split_to_table(template, '[{}]') WITH ORDINALITY AS p(text, n));
	END LOOP;

	-- Find a dollar quote that nothing in the script ends.
	WHILE EXISTS (SELECT FROM jsonb_each_text(names) AS n WHERE position(quote IN n.value) > 0) LOOP
		quote := overlay(quote PLACING '_$' FROM length(quote));
	END LOOP;
	names := names || jsonb_build_object('$', quote);

	-- Names are replaced in one pass: what a name brings in is not looked at again.
	SELECT p.text INTO unknown
	FROM regexp_split_to_table(template, '[{}]') WITH ORDINALITY AS p(text, n) WHERE p.n % 2 = 0 AND names ->> p.text IS NULL LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'a template of feeds names "%", which is unknown', unknown USING ERRCODE = 'internal_error';
	END IF;
	RETURN (SELECT string_agg(CASE WHEN p.n % 2 = 1 THEN p.text ELSE names ->> p.text END, '' ORDER BY p.n)
		FROM regexp_split_to_table(regexp_replace(ltrim(template, E'\n'), '\n{3,}', E'\n\n', 'g'), '[{}]') WITH ORDINALITY AS p(text, n));
END
$function$;

COMMENT ON FUNCTION bloom_feed_fill(text, jsonb, jsonb) IS
'internal: a template with its {names} replaced, first by parts, which are templates, too, then by names, which are quoted already and not looked at again; an unknown name is an error';
