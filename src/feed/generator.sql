-- The generator: writes the SQL of one feed.
--
-- bloom_feed_script() reads the arguments, checks what the script will name, and fills the
-- templates in script/.  It looks into the catalogs, for a role, and evaluates nothing of what it
-- finds there.  bloom_feed_sql(), bloom_create_feed() and bloom_feeds() call it, by the schema of
-- the extension and with the very types of its parameters, so that no function of another role
-- in that schema fits better.

CREATE FUNCTION bloom_feed_script(
	given jsonb,	-- arguments of bloom_feed_sql(), by name; others have their defaults
	role oid,	-- the owner of a feed that exists; NULL: the caller wants the script, or an error, and warnings
	OUT problems text[],	-- all that is wrong, each with what to do
	OUT command text,	-- the call of bloom_feed_sql(), with the arguments that are not the defaults, on one line
	OUT script text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
SET quote_all_identifiers = off
SET IntervalStyle = postgres
SET extra_float_digits = 1
SET DateStyle = ISO
AS $function$
#variable_conflict use_column
DECLARE
	wants_script constant boolean := role IS NULL;
	extension record;
	argument record;	-- a field for each
	options text;	-- arguments that are not the defaults, as in a call
	settings text;	-- the same, as in settings()
	of_table boolean;	-- the feed is one over a table of exposures
	windowed boolean;
	schema_oid oid;
	existing text;	-- source of settings() in the feed as it is
	existing_owner oid;	-- its owner
	kind text;	-- what cannot change
	former text;	-- what changes: arguments of the feed as it is
	exposures record;
	tree oid[];	-- the table and its partitions or children, and what a view reads
	users record;	-- their column and type
	items record;
	utc boolean;	-- the time column is a timestamp, in UTC
	types oid[] := '{}';	-- all that these are made of
	schemas oid[] := '{}';	-- that the script names
	distribution text;	-- the column by which Citus distributes the exposures; NULL if it does not
	filters_distributed boolean := false;
	retyped text;	-- statements that remove what an older script made for other types
	parts jsonb;	-- templates by name
	names jsonb;	-- what these name: SQL that names nothing else, with each identifier and literal quoted
BEGIN
	role := coalesce(role, (SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user));
	problems := '{}';
	SELECT x.extversion AS version, quote_ident(n.nspname) AS schema, n.oid AS schema_oid INTO extension
	FROM pg_extension x JOIN pg_namespace n ON n.oid = x.extnamespace WHERE x.extname = 'bloomexp';
@read_arguments.sql
@check_arguments.sql
@check_table.sql
@check_columns.sql
@check_owners.sql
@check_schema.sql
	IF wants_script AND cardinality(problems) > 0 THEN
		RAISE EXCEPTION 'cannot make feed "%"%', argument.feed, coalesce(' of ' || (given ->> 'exposures'), '')
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = array_to_string(problems, E'\n');
	ELSIF cardinality(problems) > 0 THEN
		RETURN;
	ELSIF former IS NOT NULL AND wants_script THEN
		RAISE NOTICE 'feed "%" was made with other arguments: %', argument.feed, former
			USING HINT = 'An argument that is left out has its default; bloom_feeds() shows those of the feed.';
	END IF;
	IF wants_script AND of_table THEN
@warnings.sql
	END IF;
@names.sql
@fill.sql
END
$function$;

COMMENT ON FUNCTION bloom_feed_script(jsonb, oid) IS
'internal: the script of a feed, the call that returns it, and what is wrong; looks into the catalogs only';

CREATE FUNCTION bloom_feed_sql(
@arguments.sql
) RETURNS text
LANGUAGE plpgsql STABLE
@given.sql
	RETURN script;
END
$function$;

COMMENT ON FUNCTION bloom_feed_sql IS
'the script of a feed, the SQL that keeps one filter per user: of what the rows of exposures record as shown in the last width, or, without a table, of what its calls say; raises an error that lists all that is in the way';

CREATE FUNCTION bloom_create_feed(
@arguments.sql
) RETURNS void
LANGUAGE plpgsql
@given.sql
	IF EXISTS (SELECT FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid WHERE n.nspname = feed) THEN
		RAISE EXCEPTION 'feed "%" exists', feed
			USING ERRCODE = 'duplicate_schema', HINT = format('To change it, apply what bloom_feed_sql() returns; '
				'the filters stay. To undo it: DROP SCHEMA %I CASCADE.', feed);
	END IF;
	EXECUTE script;
EXCEPTION
	WHEN lock_not_available THEN	-- its context would be the whole script
		RAISE EXCEPTION 'could not lock % for feed "%"', coalesce(exposures::text, 'the filters'), feed
			USING ERRCODE = 'lock_not_available', HINT = 'Open transactions and vacuums of the table hold it. '
				'Try again, with a lock_timeout of two seconds if autovacuum runs.';
	WHEN object_not_in_prerequisite_state THEN	-- a list of problems, without a context of calls
		DECLARE
			detail text;
		BEGIN
			GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
			RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state', MESSAGE = SQLERRM, DETAIL = detail;
		END;
END
$function$;

COMMENT ON FUNCTION bloom_create_feed IS
'makes a feed: runs the script of bloom_feed_sql() with these arguments; the schema feed must not exist or be empty';

@feeds.sql
