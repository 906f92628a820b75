
	-- Fill the template.  Parts are templates, and can name other parts; a line with an empty part alone is none.
	DECLARE
		before text;
		unknown text;
		quote text := '$feed$';
	BEGIN
		script := replace(parts ->> 'script', E'\n', E'\n\n');
		WHILE before IS DISTINCT FROM script LOOP
			before := script;
			script := regexp_replace(script, (
				SELECT format(E'\n\\{(%s)\\}(?=\n)', string_agg(p.key, '|')) FROM jsonb_each_text(parts) AS p WHERE p.value = ''), '', 'g');
			script := (SELECT string_agg(CASE WHEN p.n % 2 = 1 THEN p.text ELSE coalesce(parts ->> p.text, '{' || p.text || '}') END, '' ORDER BY p.n)
				FROM regexp_split_to_table(script, '[{}]') WITH ORDINALITY AS p(text, n));
		END LOOP;

		-- Find a dollar quote that nothing in the script ends.
		WHILE EXISTS (SELECT FROM jsonb_each_text(names) AS n WHERE position(quote IN n.value) > 0) LOOP
			quote := overlay(quote PLACING '_$' FROM length(quote));
		END LOOP;
		names := names || jsonb_build_object('$', quote);

		-- Names are replaced in one pass: what a name brings in is not looked at again.
		SELECT p.text INTO unknown
		FROM regexp_split_to_table(script, '[{}]') WITH ORDINALITY AS p(text, n) WHERE p.n % 2 = 0 AND names ->> p.text IS NULL LIMIT 1;
		IF FOUND THEN
			RAISE EXCEPTION 'a template of feeds names "%", which is unknown', unknown USING ERRCODE = 'internal_error';
		END IF;
		script := (SELECT string_agg(CASE WHEN p.n % 2 = 1 THEN p.text ELSE names ->> p.text END, '' ORDER BY p.n)
			FROM regexp_split_to_table(regexp_replace(ltrim(script, E'\n'), '\n{3,}', E'\n\n', 'g'), '[{}]') WITH ORDINALITY AS p(text, n));
	END;
