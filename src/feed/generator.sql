-- feed_sql() and create_feed(): the functions that users call to make a feed.

CREATE FUNCTION bloomexp.checked_script(arguments jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	me constant oid := (SELECT r.oid FROM pg_roles AS r WHERE r.rolname = current_user);
	problems text;
	former text;
	missing text;	-- an argument
BEGIN
	IF arguments ->> 'exposures' IS NULL THEN
		RAISE EXCEPTION 'the table of exposures must not be null'
			USING ERRCODE = 'null_value_not_allowed',
			HINT = 'For a feed without a table leave the argument out.';
	END IF;
	IF arguments ->> 'exposures' = '-' THEN
		arguments := arguments || '{"exposures": null}';
	END IF;
	missing := (
		SELECT f.name FROM bloomexp.feed_arguments() AS f
		WHERE arguments ->> f.name IS NULL AND (f.standard IS NOT NULL OR f.name = 'feed')
			AND f.name <> 'width'
		ORDER BY f.n LIMIT 1);
	IF missing IS NOT NULL THEN
		RAISE EXCEPTION 'argument "%" of a feed must not be null', missing
			USING ERRCODE = 'null_value_not_allowed';
	END IF;

	problems := (SELECT string_agg(p, E'\n') FROM bloomexp.feed_problems(arguments, me) AS p);
	IF problems IS NOT NULL THEN
		RAISE EXCEPTION 'cannot make feed "%"%', arguments ->> 'feed',
			coalesce(' over ' || (arguments ->> 'exposures'), '')
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = problems;
	END IF;

	SELECT string_agg(format('%s = %s', f.name, coalesce(s.made_with ->> f.name, 'NULL')),
		', ' ORDER BY f.n) INTO former
	FROM pg_namespace AS n,
		LATERAL (SELECT bloomexp.present_arguments(n.oid, bloomexp.feed_settings(n.oid)))
			AS s(made_with),
		bloomexp.feed_arguments() AS f
	WHERE n.nspname = arguments ->> 'feed' AND s.made_with ? f.name AND f.name <> 'feed'
		AND s.made_with ->> f.name IS DISTINCT FROM arguments ->> f.name;
	IF former IS NOT NULL THEN
		RAISE NOTICE 'feed "%" was made with other arguments: %', arguments ->> 'feed', former
			USING HINT = 'An argument that is left out has its default; '
				'bloomexp.feeds() shows the arguments of the feed.';
	END IF;
	PERFORM bloomexp.argument_warnings(arguments);
	IF arguments ->> 'exposures' IS NOT NULL THEN
		PERFORM bloomexp.feed_warnings(arguments);
	END IF;
	RETURN bloomexp.feed_script(arguments);
END
$$;

COMMENT ON FUNCTION bloomexp.checked_script(jsonb) IS
'the script of a feed with these arguments. Raises an error that lists all problems; if there are '
'none, it may raise warnings';

CREATE FUNCTION bloomexp.feed_sql(
	feed text,
	exposures regclass DEFAULT '-',
	user_column text DEFAULT 'user_id',
	item_column text DEFAULT 'item_id',
	time_column text DEFAULT 'shown_at',
	width interval DEFAULT '30 days',
	fpr double precision DEFAULT 0.01,
	slices integer DEFAULT NULL,
	trigger boolean DEFAULT true,
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
SET jit = off	-- compiling these statements takes longer than they do
AS $$
	SELECT bloomexp.checked_script(jsonb_build_object('feed', feed, 'exposures', exposures,
		'user_column', user_column, 'item_column', item_column, 'time_column', time_column,
		'width', width, 'fpr', fpr, 'slices', slices, 'trigger', trigger, 'where', "where",
		'user_type', user_type, 'item_type', item_type, 'capacity', capacity))
$$;

COMMENT ON FUNCTION bloomexp.feed_sql IS
'the script of a feed, which create_feed() would run: it makes a schema with a table that has one '
'row per user, and functions. Over a table of exposures, a row remembers the exposures of the last '
'"width"; without a table, the items that calls of the feed have recorded. Raises an error that '
'lists all problems';

CREATE FUNCTION bloomexp.create_feed(
	feed text,
	exposures regclass DEFAULT '-',
	user_column text DEFAULT 'user_id',
	item_column text DEFAULT 'item_id',
	time_column text DEFAULT 'shown_at',
	width interval DEFAULT '30 days',
	fpr double precision DEFAULT 0.01,
	slices integer DEFAULT NULL,
	trigger boolean DEFAULT true,
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
SET jit = off	-- compiling these statements takes longer than they do
AS $$
DECLARE
	script text;
	code text;
	message text;
	detail text;
	hint text;
BEGIN
	-- Keep the extension from being dropped, and check that it still exists: without it the owner
	-- of the database could create another schema bloomexp.
	LOCK TABLE bloomexp.new_rows IN ACCESS SHARE MODE;
	IF NOT EXISTS (
		SELECT FROM pg_depend AS d JOIN pg_extension AS x ON x.oid = d.refobjid
		WHERE d.classid = 'pg_class'::regclass AND d.objid = 'bloomexp.new_rows'::regclass
			AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
			AND x.extname = 'bloomexp') THEN
		RAISE EXCEPTION 'extension "bloomexp" was dropped'
			USING ERRCODE = 'object_not_in_prerequisite_state';
	END IF;
	-- Only one session at a time makes a feed of this name: see feed_begin().
	PERFORM pg_advisory_xact_lock(hashtext('bloomexp'), hashtext(feed));
	script := bloomexp.checked_script(jsonb_build_object('feed', feed, 'exposures', exposures,
		'user_column', user_column, 'item_column', item_column, 'time_column', time_column,
		'width', width, 'fpr', fpr, 'slices', slices, 'trigger', trigger, 'where', "where",
		'user_type', user_type, 'item_type', item_type, 'capacity', capacity));
	IF EXISTS (SELECT FROM pg_namespace AS n JOIN pg_class AS c ON c.relnamespace = n.oid
		WHERE n.nspname = feed) THEN
		RAISE EXCEPTION 'feed "%" already exists', feed
			USING ERRCODE = 'duplicate_schema',
				HINT = format('To change it, apply what bloomexp.feed_sql() returns; '
					'the filters stay. To undo it: DROP SCHEMA %I CASCADE.', feed);
	END IF;
	EXECUTE script;
EXCEPTION WHEN OTHERS THEN	-- raise it without its context, which is the whole script
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
		detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	IF code = '55P03' THEN	-- lock_not_available
		message := format('could not lock %s for feed "%s"',
			coalesce(NULLIF(exposures::text, '-'), 'the filters'), feed);
		hint := 'Open transactions or a vacuum of the table hold the lock, or another session is '
			'making a feed of this name. '
			'Try again, with a lock_timeout of two seconds if autovacuum runs.';
	END IF;
	detail := coalesce(NULLIF(detail, ''), 'Nothing was made.');
	IF hint = '' THEN
		RAISE EXCEPTION USING ERRCODE = code, MESSAGE = message, DETAIL = detail;
	END IF;
	RAISE EXCEPTION USING ERRCODE = code, MESSAGE = message, DETAIL = detail, HINT = hint;
END
$$;

COMMENT ON FUNCTION bloomexp.create_feed IS
'makes a feed: runs the script that feed_sql() returns for these arguments. The schema must be '
'empty, or not exist. Raises an error that lists all problems';
