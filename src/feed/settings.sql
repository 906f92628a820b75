-- The settings of a feed: its arguments, and the columns and functions with which it was made.
-- bloomexp.feed_finish() keeps them as a jsonb literal in the function settings() of the feed's
-- schema.  bloomexp.feed_settings() reads the source of that function.  Nothing ever calls the
-- function, because anybody can create one of this name.

CREATE FUNCTION bloomexp.has_controls(string text) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
	SELECT string ~ '[\x01-\x1f\x7f]'
		-- the same bytes are letters in other encodings
		OR (getdatabaseencoding() ~ '^(UTF8|LATIN|ISO)' AND string ~ '[\u0080-\u009f]')
		OR (getdatabaseencoding() = 'UTF8'
			AND string ~ '[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]')
$$;

COMMENT ON FUNCTION bloomexp.has_controls(text) IS
'whether a text has control characters: those that a terminal obeys, or that change the direction '
'of reading';

CREATE FUNCTION bloomexp.feed_settings(schema oid) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
	settings jsonb;
BEGIN
	settings := (
		SELECT substring(p.prosrc FROM '^\s*SELECT ''([^'']+)''::pg_catalog\.jsonb\s*$')::jsonb
		FROM pg_proc AS p
		WHERE p.pronamespace = schema AND p.proname = 'settings' AND p.pronargs = 0
			AND octet_length(p.prosrc) < 30000);
	-- Anybody can create a function settings().  Reject what feed_finish() never writes: deep
	-- nesting; numbers in lists, of which a short source can make a very long text; very many
	-- functions; and control characters.
	IF settings @? '$.**{6}' OR settings @? '$.**{3 to last} ? (@.type() == "number")'
		OR (SELECT count(*) FROM jsonb_object_keys(settings -> 'functions')) > 50 THEN
		RETURN NULL;
	END IF;
	IF EXISTS (
		SELECT FROM jsonb_path_query(settings, '$.**') AS v
		WHERE jsonb_typeof(v) = 'string' AND bloomexp.has_controls(v #>> '{}')
			OR jsonb_typeof(v) = 'object' AND EXISTS (
				SELECT FROM jsonb_object_keys(v) AS k WHERE bloomexp.has_controls(k))) THEN
		RETURN NULL;
	END IF;
	RETURN settings;
-- not JSON, or nested too deeply for the parser
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
	RETURN NULL;
END
$$;

COMMENT ON FUNCTION bloomexp.feed_settings(oid) IS
'the settings of the feed in a schema, NULL if there are none: {"version", "user_type", '
'"arguments": {}, "exposures": OID, "columns": {argument: number}, "item_kind", "functions": '
'{name: [hash of the source, hash of the code, [attributes]]}, "missing": [names]}. "missing" is '
'there while a script runs, or if one has stopped: the functions and tables that it makes again';

CREATE FUNCTION bloomexp.present_arguments(schema oid, settings jsonb) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT jsonb_object_agg(f.name, f.standard) || (settings -> 'arguments')
	-- as a quoted name, because messages and commands print it
	|| jsonb_build_object('exposures', coalesce(
		to_regclass(settings #>> '{arguments,exposures}')::text, (
			SELECT string_agg(quote_ident(i.part), '.' ORDER BY i.n)
			FROM unnest(parse_ident(settings #>> '{arguments,exposures}'))
				WITH ORDINALITY AS i(part, n))))
	|| coalesce((
		SELECT jsonb_build_object('user_type', (bloomexp.base_type(a.atttypid)).name)
		FROM pg_class AS c
		JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'user_id'
			AND NOT a.attisdropped
		WHERE c.relnamespace = schema AND c.relname = 'filters'
			AND settings #>> '{arguments,exposures}' IS NULL
			AND (bloomexp.base_type(to_regtype(settings #>> '{arguments,user_type}'))).base
				IS DISTINCT FROM a.atttypid
			AND settings #>> '{arguments,user_type}' IS NOT NULL), '{}')
	FROM bloomexp.feed_arguments() AS f
$$;

COMMENT ON FUNCTION bloomexp.present_arguments(oid, jsonb) IS
'the arguments with which a feed was made, but with the exposures as a quoted name, and with the '
'present name of the type of users, if this was renamed; NULL if there are no settings';

CREATE FUNCTION bloomexp.code_hash(source text) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
	SELECT md5(btrim(
		regexp_replace(regexp_replace(source, '--[^\n]*', '', 'g'), '\s+', ' ', 'g')))
$$;

COMMENT ON FUNCTION bloomexp.code_hash(text) IS
'a hash of the source of a function, without regard to comments and white space';
