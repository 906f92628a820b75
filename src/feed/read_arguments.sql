
	-- The arguments: what is given, and defaults for the others.  The list is that of bloom_feed_sql() once more: its
	-- comments say which feeds have an argument.  Values are texts here, and get their types at the end.
	of_table := given ->> 'exposures' IS NOT NULL;
	DECLARE
		missing boolean;
		misplaced text[];
		arguments jsonb;
		fields text;
	BEGIN
		SELECT bool_or(a.value IS NULL AND a.standard IS DISTINCT FROM 'NULL' AND a.name <> 'width'),
			array_agg(a.name ORDER BY a.n) FILTER (WHERE a.changed AND a.feeds <> CASE WHEN of_table THEN 'over' ELSE 'without' END),
			string_agg(format(', %s%s', CASE WHEN a.name <> 'exposures' THEN quote_ident(a.name) || ' => ' END,
				CASE WHEN a.type IN ('double precision', 'integer') AND a.value ~ '^[0-9]' THEN a.value ELSE quote_nullable(a.value) END), '' ORDER BY a.n)
				FILTER (WHERE a.changed),
			string_agg(format(E'-- %s = %s\n', a.name, coalesce(a.value, 'NULL')), '' ORDER BY a.n) FILTER (WHERE a.changed),
			jsonb_object_agg(a.name, a.value),
			string_agg(format('%I %s', a.name, CASE WHEN a.type LIKE 'reg%' THEN 'text' ELSE a.type END), ', ')
		INTO missing, misplaced, options, settings, arguments, fields
		FROM (
			SELECT s.*, v.value, s.name <> 'feed' AND v.value IS DISTINCT FROM NULLIF(s.standard, 'NULL') AS changed
			FROM (
				SELECT n, m[1] AS name, m[2] AS type, btrim(m[3], '''') AS standard, m[4] AS feeds
				FROM regexp_matches($arguments$
@arguments.sql
$arguments$, '^\t"?(\w+)"? ([a-z ]+?)(?: DEFAULT (''.*?''|[\w.]+))?,?(?:\t-- (over|without) a table)?$', 'gn') WITH ORDINALITY AS r(m, n)) AS s,
			LATERAL (SELECT CASE WHEN given ? s.name THEN given ->> s.name ELSE NULLIF(s.standard, 'NULL') END) AS g(value),
			-- a type has a name that means the same under any search_path
			LATERAL (SELECT CASE WHEN s.type = 'regtype' THEN coalesce((
				SELECT CASE WHEN t.oid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) THEN format_type(t.oid, NULL)
					ELSE format('%I.%I', n.nspname, t.typname) END
				FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid = g.value::regtype), g.value)
				ELSE g.value END) AS v(value)) AS a;
		IF missing THEN
			RAISE EXCEPTION 'arguments of a feed must not be null, except width and those that are null by default'
				USING ERRCODE = 'null_value_not_allowed';
		END IF;
		problems := problems || ARRAY(
			SELECT format('Argument %I is for feeds %s a table of exposures.', n.name, CASE WHEN of_table THEN 'without' ELSE 'over' END)
			FROM unnest(misplaced) AS n(name));
		EXECUTE format('SELECT * FROM jsonb_to_record($1) AS a(%s)', fields) INTO argument USING arguments;
	END;
	command := format('SELECT %s.bloom_feed_sql(%L%s);', extension.schema, argument.feed, options);
	windowed := NOT of_table AND argument.width IS NOT NULL;
	schema_oid := (SELECT n.oid FROM pg_namespace n WHERE n.nspname = argument.feed);
	SELECT p.prosrc, p.proowner INTO existing, existing_owner FROM pg_proc p WHERE p.pronamespace = schema_oid AND p.proname = 'settings' AND p.pronargs = 0
		AND p.prosrc LIKE E'\n-- bloomexp %' AND length(p.prosrc) < 10000 AND translate(p.prosrc, E'\n', '') !~ '[\x01-\x1f\x7f]';	-- others can write one
	former := (SELECT string_agg(m[1], ', ') FROM regexp_matches(existing, '^-- ([a-z_]+ = [^\n]*)$', 'gn') AS m WHERE position(m[1] || E'\n' IN coalesce(settings, '')) = 0);
