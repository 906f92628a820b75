-- The arguments of a feed, and checks of their values.

CREATE FUNCTION bloomexp.feed_arguments(
	OUT n bigint, OUT name text, OUT type regtype, OUT standard text, OUT feeds text)
RETURNS SETOF record
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT row_number() OVER (), v.name, v.type::regtype, v.standard, v.feeds
	-- feeds: which feeds have the argument: all, those over a table, or those without a table
	FROM (VALUES
		('feed', 'text', NULL, 'all'),
		('exposures', 'regclass', NULL, 'all'),
		('user_column', 'text', 'user_id', 'over'),
		('item_column', 'text', 'item_id', 'over'),
		('time_column', 'text', 'shown_at', 'over'),
		('width', 'interval', '30 days', 'all'),
		('fpr', 'double precision', '0.01', 'all'),
		('slices', 'integer', NULL, 'without'),
		('trigger', 'boolean', 'true', 'over'),
		('where', 'text', NULL, 'over'),
		('user_type', 'regtype', NULL, 'without'),
		('item_type', 'regtype', NULL, 'without'),
		('capacity', 'bigint', NULL, 'without')) AS v(name, type, standard, feeds)
$$;

COMMENT ON FUNCTION bloomexp.feed_arguments() IS
'the arguments of feed_sql() and create_feed(), in order: name, type, default, and which feeds '
'have them';

CREATE FUNCTION bloomexp.feed_options(arguments jsonb) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(string_agg(format(', %s%s',
		CASE WHEN f.name <> 'exposures' THEN quote_ident(f.name) || ' => ' END,
		-- anybody can write settings, so only a number or a boolean is printed without quotes
		CASE WHEN arguments ->> f.name ~ CASE
				WHEN f.type IN ('double precision'::regtype, 'integer'::regtype, 'bigint'::regtype)
				THEN '^[0-9]+([.][0-9]+)?(e[+-]?[0-9]+)?$'
				WHEN f.type = 'boolean'::regtype THEN '^(true|false)$' END
			THEN arguments ->> f.name
			ELSE quote_nullable(arguments ->> f.name) END), '' ORDER BY f.n), '')
	FROM bloomexp.feed_arguments() AS f
	WHERE f.name <> 'feed' AND arguments ? f.name
		AND arguments ->> f.name IS DISTINCT FROM f.standard
$$;

COMMENT ON FUNCTION bloomexp.feed_options(jsonb) IS
'the arguments that differ from their defaults, as SQL to append to the name of the feed in a call';

CREATE FUNCTION bloomexp.check_arguments(arguments jsonb) RETURNS SETOF text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
	SELECT format('Argument %I is for feeds %s a table of exposures.', f.name,
		CASE f.feeds WHEN 'over' THEN 'over' ELSE 'without' END)
	FROM bloomexp.feed_arguments() AS f
	WHERE f.feeds <> 'all' AND (f.feeds = 'over') <> (arguments ->> 'exposures' IS NOT NULL)
		AND arguments ->> f.name IS DISTINCT FROM f.standard
	UNION ALL
	SELECT v.problem
	FROM (SELECT arguments ->> 'feed' AS feed, arguments ->> 'exposures' IS NOT NULL AS of_table,
		(arguments ->> 'width')::interval AS width, (arguments ->> 'fpr')::double precision AS fpr,
		(arguments ->> 'slices')::integer AS slices,
		(arguments ->> 'capacity')::bigint AS capacity) AS g,
	LATERAL (VALUES
		(format('%L cannot be the name of a schema: it must have 1 to 63 bytes, '
			'not begin with pg_, and have no control characters.', g.feed),
			g.feed = '' OR octet_length(g.feed) > 63
				OR g.feed LIKE 'pg\_%' OR bloomexp.has_controls(g.feed)),
		('width must be positive, as in ''30 days'', and at most 1000 years.',
			NOT (g.width > interval '0' AND g.width <= interval '1000 years')),
		('width of a feed without a table must have no months: write ''30 days''.', NOT g.of_table
			AND g.width > interval '0'
			AND extract(year FROM g.width) * 12 + extract(month FROM g.width) <> 0),
		('width must not be null if there is a table of exposures.',
			g.of_table AND g.width IS NULL),
		('fpr must be at least 0.0000001 and less than 1; 0.01 is 1%.',
			NOT (g.fpr >= 1e-7 AND g.fpr < 1)),
		('slices must be from 1 to 1000.', NOT g.slices BETWEEN 1 AND 1000),
		('slices need a width.', NOT g.of_table AND g.width IS NULL AND g.slices IS NOT NULL),
		('capacity must be from 1 to 100000000 items.', NOT g.capacity BETWEEN 1 AND 100000000)
	) AS v(problem, wrong)
	WHERE v.wrong
$$;

COMMENT ON FUNCTION bloomexp.check_arguments(jsonb) IS
'the problems with the values of the arguments of a feed: a sentence for each';
