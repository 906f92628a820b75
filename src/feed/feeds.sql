CREATE FUNCTION bloom_feeds(
	OUT feed name,
	OUT owner name,
	OUT version text,
	OUT command text,
	OUT problems text[])
RETURNS SETOF record
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
SET quote_all_identifiers = off
AS $function$
#variable_conflict use_column
DECLARE
	extension record;
	settings record;
	script text;
BEGIN
	SELECT x.extversion AS version, n.nspname AS schema INTO extension
	FROM pg_extension x JOIN pg_namespace n ON n.oid = x.extnamespace WHERE x.extname = 'bloomexp';

	-- What a feed was made with stands in the comments of its function settings(), a line for
	-- each argument.  It is data here: read, never executed, and given back as literals.
	FOR settings IN
		SELECT n.oid AS schema_oid, n.nspname AS name, p.proowner AS owner, substring(p.prosrc FROM '^\n-- bloomexp ([0-9.]+)\n') AS version,
			coalesce((
				SELECT jsonb_object_agg(line[1], CASE WHEN line[1] <> 'width' OR line[2] <> 'NULL' THEN line[2] END)
				FROM regexp_matches(p.prosrc, '^-- ([a-z_]+) = ([^\n]*)$', 'gn') AS line), '{}') || jsonb_build_object('feed', n.nspname) AS given
		FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
		WHERE p.proname = 'settings' AND p.pronargs = 0 AND length(p.prosrc) < 10000 AND p.prosrc ~ '^\n-- bloomexp [0-9.]+\n'
			AND translate(p.prosrc, E'\n', '') !~ '[\x01-\x1f\x7f]' AND n.nspname !~ '^pg_' ORDER BY n.nspname
	LOOP
		feed := settings.name;
		owner := pg_get_userbyid(settings.owner);
		version := settings.version;
		BEGIN
			EXECUTE format('SELECT s.command, s.problems, s.script FROM %I.bloom_feed_script($1, $2) AS s', extension.schema)
			INTO command, problems, script USING settings.given, settings.owner;
			IF version <> extension.version THEN
				problems := problems || format('The script is of version %s of bloomexp: apply what the command returns.', version);
			ELSIF position(E';\t-- types have changed' IN script) > 0 THEN
				problems := problems || 'Types or collations of columns have changed: apply what the command returns, then rebuild.'::text;
			ELSIF script IS NOT NULL THEN
				-- functions of others may have the names of ours, and other arguments; names have no line breaks
				problems := problems || ARRAY(
					SELECT CASE WHEN count(o.as_made) = 0 THEN format('%s %I is missing: apply what the command returns%s.', r.kind, r.name,
							CASE WHEN r.kind = 'Table' AND settings.given ? 'exposures' THEN ', then rebuild' END)
						ELSE format('Function %I was edited, or its script is older than the table: apply what the command returns.', r.name) END
					FROM (SELECT s.text, initcap(m[1]) AS kind, m[2] AS name FROM regexp_split_to_table(script, '\nCREATE ') AS s(text),
						regexp_match(replace(s.text, format(' %I.', settings.name), ' feed.'), '^(?:OR REPLACE )?(FUNCTION|PROCEDURE|TABLE|VIEW) (?:IF NOT EXISTS )?feed\.([a-z_]+)') AS m WHERE m IS NOT NULL) AS r
					LEFT JOIN LATERAL (
						SELECT true AS as_made FROM pg_class c WHERE r.kind IN ('Table', 'View') AND c.relnamespace = settings.schema_oid AND c.relname = r.name AND c.relkind IN ('r', 'p', 'v')
						UNION ALL SELECT position(body IN r.text) > 0 AND (r.text ~ '\nLANGUAGE [^$\n]* SECURITY DEFINER ') = p.prosecdef
							AND (r.text ~ '\nLANGUAGE [^$\n]* SET search_path ') = (replace(array_to_string(p.proconfig, E'\n', ''), '"', '') ~ '(?n)^search_path=pg_catalog, pg_temp$' IS TRUE)
						FROM pg_proc p, format('$%s$', p.prosrc) AS body WHERE r.kind IN ('Function', 'Procedure') AND p.pronamespace = settings.schema_oid AND p.proname = r.name) AS o ON true
					GROUP BY r.kind, r.name HAVING bool_or(o.as_made) IS NOT TRUE ORDER BY r.name);
			END IF;
			problems := problems || ARRAY(
				WITH RECURSIVE tree(oid) AS (
					SELECT to_regclass(settings.given ->> 'exposures')::oid UNION SELECT i.inhrelid FROM pg_inherits i JOIN tree t ON i.inhparent = t.oid)
				SELECT format('Table %s has no enabled trigger for %s: apply what the command returns, then rebuild.', c.oid::regclass, v.event)
				FROM tree t JOIN pg_class c ON c.oid = t.oid AND c.relkind IN ('r', 'p'), (VALUES ('INSERT', 4), ('UPDATE', 16)) AS v(event, bit)
				WHERE coalesce(settings.given ->> 'mode', 'trigger') = 'trigger' AND NOT EXISTS (
					SELECT FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
					WHERE g.tgrelid = c.oid AND g.tgtype = v.bit AND g.tgqual IS NULL AND g.tgenabled IN ('O', 'A') AND p.pronamespace = settings.schema_oid AND p.proname = 'track')
				ORDER BY 1);
		EXCEPTION WHEN OTHERS THEN	-- what others wrote need not make sense
			command := NULL;
			problems := ARRAY[SQLERRM];
		END;
		RETURN NEXT;
	END LOOP;
END
$function$;

COMMENT ON FUNCTION bloom_feeds() IS
'the feeds of this database: owner, the version of bloomexp that made the script, the command that returns the script of today, and what is wrong with the feed, {} if nothing; looks into the catalogs only';
