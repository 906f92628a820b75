--
-- Candidates that are taken and remembered in one statement.
--
-- The filter is written only if the row is still the version that was read: of two
-- sessions that take for one user, the UPDATE of the second one waits for the first,
-- and finds another xmin if that has committed.  Then an INSERT decides: it starts a
-- filter if there is no row any more, and otherwise it locks the row, so that what is
-- read next stays as it is.  A user without a row begins with that INSERT.  (To lock
-- the row each time would be a second WAL record for each page of a feed.)
--
-- How names in these statements are written is said in definition.sql.
--

CREATE FUNCTION bloom_take_statements(
	schema name,
	target regclass,
	filter_column name,
	OUT read text,
	OUT start text,
	OUT write text,
	OUT user_type oid,
	OUT filter_type oid,
	OUT item_kind integer,
	OUT has_live boolean,
	OUT capacity bigint,
	OUT fpr double precision,
	OUT width interval,
	OUT slices integer)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	-- Triggers need not agree in what does not matter here.
	no_matter jsonb := '{"source": 0, "user_column": "", "item_column": "", "time_column": "", "headroom": 0, "condition": ""}';
	ask text := format('SELECT d.* FROM %I.bloom_track_agreed($1, $2, $3, $4) AS a, pg_catalog.jsonb_to_record(a) AS d '
		'(target_user_column pg_catalog.name, fpr pg_catalog.float8, width pg_catalog.interval, slices pg_catalog.int4, '
		'live_column pg_catalog.name, ignored pg_catalog.text)', schema);
	definition record;
	key record;
	tracked_column name;
	large_column name;
	item_types text[];
BEGIN
	-- A partition is as its whole is.
	target := COALESCE(pg_partition_root(target), target);
	EXECUTE format('SELECT %I.bloom_filter_column($1, $2)', schema) INTO filter_column USING target, filter_column;
	EXECUTE ask INTO definition USING schema, target, filter_column, no_matter || '{"width": "0"}';
	IF definition.slices IS NOT NULL THEN
		EXECUTE ask INTO definition USING schema, target, filter_column, no_matter;
	END IF;
	IF definition.ignored IS NOT NULL THEN
		RAISE WARNING 'bloom_take() does not know of trigger %', definition.ignored
			USING DETAIL = format('The owner of that table does not have the privileges of the owner of table "%s".',
				(SELECT c.relname FROM pg_class AS c WHERE c.oid = target));
	END IF;

	-- What a trigger adds is of one kind, and nothing else may start a filter.
	EXECUTE format('SELECT pg_catalog.max(f.arguments[2]) FILTER (WHERE f.is_live), pg_catalog.array_agg(DISTINCT f.item_type) FILTER (WHERE f.item_type IS NOT NULL) '
		'FROM (SELECT g.arguments, '
			'CASE WHEN g.arguments[2] OPERATOR(pg_catalog.=) $3::pg_catalog.text THEN %1$I.bloom_track_item_type(g.relation, g.arguments[4]::pg_catalog.name) END AS item_type, '
			'EXISTS (SELECT FROM pg_catalog.unnest(g.arguments[5:]) AS x (argument) '
				'WHERE pg_catalog.regexp_replace(x.argument, ''^[[:space:]]*live[[:space:]]*=[[:space:]]*'', ''live='') OPERATOR(pg_catalog.=) pg_catalog.concat(''live='', $3)) AS is_live '
			'FROM %1$I.bloom_track_feeders($1, $2, NULL::pg_catalog.name) AS g WHERE g.trusted) AS f', schema)
	INTO large_column, item_types USING schema, target, filter_column;
	IF large_column IS NOT NULL THEN
		RAISE 'column "%" of table "%" is the live column of "%"', filter_column,
			(SELECT c.relname FROM pg_class AS c WHERE c.oid = target), large_column
			USING ERRCODE = 'invalid_parameter_value', HINT = format('Name column "%s".', large_column);
	END IF;

	EXECUTE format('SELECT * FROM %I.bloom_track_key($1, $2)', schema) INTO key USING target, definition.target_user_column;

	user_type := key.user_base;
	item_kind := CASE WHEN cardinality(item_types) = 1 THEN array_position('{int8,text,uuid,bytea}', item_types[1]) ELSE 0 END;
	filter_type := format('%I.bloom', schema)::regtype;
	has_live := definition.live_column IS NOT NULL;
	IF has_live THEN
		EXECUTE format('SELECT %I.bloom_live_column($1, $2, $3)', schema) USING target, filter_column, definition.live_column;
	ELSE
		slices := definition.slices;
		width := definition.width;
	END IF;
	EXECUTE format('SELECT s.capacity, s.tracked_fpr FROM %I.bloom_track_shares($1, $2) AS s', schema)
	INTO capacity, fpr USING definition.fpr, has_live;
	tracked_column := COALESCE(definition.live_column, filter_column);

	-- $1 is the user, $2 a filter, $3 the transaction that made the version which was read.
	-- The filters to ask are one or two; the last one takes.
	read := format('SELECT f.xmin, %s FROM %s AS f WHERE %s %s $1::%s',
		concat_ws(', ', format('f.%I', filter_column), CASE WHEN has_live THEN format('f.%I', definition.live_column) END),
		key.target_name, key.target_key, key.equal, key.key_type);
	-- (WHERE false locks a row that is there, and leaves it as it is.)
	start := format('INSERT INTO %1$s AS f (%2$I, %3$I) VALUES ($1, $2) ON CONFLICT (%2$I) DO UPDATE SET %3$I = f.%3$I WHERE false',
		key.target_name, key.user_column, tracked_column);
	write := format('UPDATE %s AS f SET %I = $2 WHERE %s %s $1::%s AND f.xmin OPERATOR(pg_catalog.=) $3::pg_catalog.xid',
		key.target_name, tracked_column, key.target_key, key.equal, key.key_type);
END
$$;

COMMENT ON FUNCTION bloom_take_statements(name, regclass, name) IS
'the statements that bloom_take() executes, and how it starts a filter';

CREATE FUNCTION bloom_take(
	target regclass,
	"user" anycompatible,
	candidates anyarray,
	wanted integer DEFAULT NULL,
	filter_column name DEFAULT NULL)
RETURNS anyarray
AS 'MODULE_PATHNAME', 'bloomexp_take'
LANGUAGE C VOLATILE COST 10000;

COMMENT ON FUNCTION bloom_take(regclass, anycompatible, anyarray, integer, name) IS
'the first so many candidates, or all of them, that the filter of a user does not contain, in order and without repetitions, which are added to it at the same time; two calls never take the same for one user';
