-- bloom_feed_sql() and bloom_create_feed().

CREATE FUNCTION bloomexp.feed_sql(a jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	me constant oid := (SELECT r.oid FROM pg_roles AS r WHERE r.rolname = current_user);
	problems text;
	former text;
BEGIN
	IF a ->> 'exposures' IS NULL THEN
		RAISE EXCEPTION 'the table of exposures must not be null'
			USING ERRCODE = 'null_value_not_allowed',
			HINT = 'For a feed without a table leave the argument out.';
	END IF;
	a := a || CASE a ->> 'exposures' WHEN '-' THEN '{"exposures": null}' ELSE '{}' END::jsonb;
	IF EXISTS (
		SELECT FROM bloomexp.feed_arguments() AS f
		WHERE a ->> f.name IS NULL AND (f.standard IS NOT NULL OR f.name = 'feed')
			AND f.name <> 'width') THEN
		RAISE EXCEPTION
			'arguments of a feed must not be null, except width and those that are null by default'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;

	problems := (SELECT string_agg(p, E'\n') FROM bloomexp.feed_problems(a, me) AS p);
	IF problems IS NOT NULL THEN
		RAISE EXCEPTION 'cannot make feed "%"%', a ->> 'feed',
			coalesce(' of ' || (a ->> 'exposures'), '')
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = problems;
	END IF;

	SELECT string_agg(format('%s = %s', f.name, coalesce(s.arguments ->> f.name, 'NULL')),
		', ' ORDER BY f.n) INTO former
	FROM pg_namespace AS n,
		LATERAL (SELECT bloomexp.feed_settings(n.oid) -> 'arguments') AS s(arguments),
		bloomexp.feed_arguments() AS f
	WHERE n.nspname = a ->> 'feed' AND s.arguments ? f.name AND f.name <> 'feed'
		AND s.arguments ->> f.name IS DISTINCT FROM a ->> f.name;
	IF former IS NOT NULL THEN
		RAISE NOTICE 'feed "%" was made with other arguments: %', a ->> 'feed', former
			USING HINT = 'An argument that is left out has its default; '
				'bloom_feeds() shows those of the feed.';
	END IF;
	IF a ->> 'exposures' IS NOT NULL THEN
		PERFORM bloomexp.feed_warnings(a);
	ELSIF a ->> 'capacity' IS NOT NULL AND a ->> 'width' IS NOT NULL THEN
		RAISE NOTICE 'capacity has no effect on a feed with a window'
			USING DETAIL = 'Each slice of the window is sized by those before it.';
	END IF;
	RETURN bloomexp.feed_script(a);
END
$$;

COMMENT ON FUNCTION bloomexp.feed_sql(jsonb) IS
'the script of a feed with these arguments, or an error that lists all that is in the way';

CREATE FUNCTION bloom_feed_sql(
	feed text,
	exposures regclass DEFAULT '-',
	user_column text DEFAULT 'user_id',
	item_column text DEFAULT 'item_id',
	time_column text DEFAULT 'shown_at',
	width interval DEFAULT '30 days',
	fpr double precision DEFAULT 0.01,
	slices integer DEFAULT NULL,
	mode text DEFAULT 'trigger',
	"where" text DEFAULT NULL,
	user_type regtype DEFAULT NULL,
	item_type regtype DEFAULT NULL,
	capacity bigint DEFAULT NULL)
RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
SET IntervalStyle = postgres
SET extra_float_digits = 1
AS $$
	SELECT bloomexp.feed_sql(jsonb_build_object('feed', feed, 'exposures', exposures,
		'user_column', user_column, 'item_column', item_column, 'time_column', time_column,
		'width', width, 'fpr', fpr, 'slices', slices, 'mode', mode, 'where', "where",
		'user_type', user_type, 'item_type', item_type, 'capacity', capacity))
$$;

COMMENT ON FUNCTION bloom_feed_sql IS
'the script of a feed, the SQL that keeps one filter per user: of what the rows of exposures '
'record as shown in the last width, or, without a table, of what its calls say; raises an error '
'that lists all that is in the way';

CREATE FUNCTION bloom_create_feed(
	feed text,
	exposures regclass DEFAULT '-',
	user_column text DEFAULT 'user_id',
	item_column text DEFAULT 'item_id',
	time_column text DEFAULT 'shown_at',
	width interval DEFAULT '30 days',
	fpr double precision DEFAULT 0.01,
	slices integer DEFAULT NULL,
	mode text DEFAULT 'trigger',
	"where" text DEFAULT NULL,
	user_type regtype DEFAULT NULL,
	item_type regtype DEFAULT NULL,
	capacity bigint DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
SET IntervalStyle = postgres
SET extra_float_digits = 1
AS $$
DECLARE
	script text;
	detail text;
BEGIN
	script := bloomexp.feed_sql(jsonb_build_object('feed', feed, 'exposures', exposures,
		'user_column', user_column, 'item_column', item_column, 'time_column', time_column,
		'width', width, 'fpr', fpr, 'slices', slices, 'mode', mode, 'where', "where",
		'user_type', user_type, 'item_type', item_type, 'capacity', capacity));
	IF EXISTS (SELECT FROM pg_namespace AS n JOIN pg_class AS c ON c.relnamespace = n.oid
		WHERE n.nspname = feed) THEN
		RAISE EXCEPTION 'feed "%" exists', feed
			USING ERRCODE = 'duplicate_schema',
				HINT = format('To change it, apply what bloom_feed_sql() returns; '
					'the filters stay. To undo it: DROP SCHEMA %I CASCADE.', feed);
	END IF;
	EXECUTE script;
EXCEPTION
	WHEN lock_not_available THEN	-- its context would be the whole script
		RAISE EXCEPTION 'could not lock % for feed "%"',
			coalesce(NULLIF(exposures::text, '-'), 'the filters'), feed
			USING ERRCODE = 'lock_not_available',
				HINT = 'Open transactions and vacuums of the table hold it. '
					'Try again, with a lock_timeout of two seconds if autovacuum runs.';
	WHEN object_not_in_prerequisite_state THEN	-- a list of problems, without a context of calls
		GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
		RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
			MESSAGE = SQLERRM, DETAIL = detail;
END
$$;

COMMENT ON FUNCTION bloom_create_feed IS
'makes a feed: runs the script of bloom_feed_sql() with these arguments; the schema feed must not '
'exist or be empty';
