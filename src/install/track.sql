--
-- The live path and the nightly job.
--
-- Why no exposure is lost.  An exposure is written, and added to the filter, in
-- one transaction; the add holds a lock on the row of the filter until that
-- transaction ends, even if it changes nothing.  A rebuild locks the row first,
-- and then aggregates in a statement of its own, whose snapshot is younger than
-- the lock.  So for each user and each writer there are two cases:
--
--	1. The writer has the lock first.  The rebuild gets it when the writer has
--	   ended, so its snapshot has the exposure if the writer has committed.
--	2. The rebuild has the lock first.  The writer gets it when the rebuild has
--	   committed or failed, and adds to the version that it left.  If the rebuild
--	   has deleted the row, the writer's ON CONFLICT inserts a new one: there was
--	   no other exposure, and writers that come later wait for the new row.
--
-- A user without a row has nothing to lock.  There the rebuild inserts what its
-- snapshot has; and if a row has come up meanwhile, it unites, never overwrites.
--
-- This needs READ COMMITTED in the rebuild, which it sets.  A writer under a
-- stricter level may fail to serialize, but does not lose an exposure.
--
-- A rebuild does not wait for a writer while it holds the filters of a batch: those
-- that are locked by others it does afterwards, one in a transaction.  So nobody
-- waits for it longer than its own work takes, and writers that lock several users
-- in an order of their own do not deadlock with it.
--
-- How names in generated statements are written is said in definition.sql.
--

CREATE FUNCTION bloom_track_statements(
	schema name,
	source regclass,
	new_table text,
	arguments text[],
	OUT target regclass,
	OUT statements text,
	OUT missed text)
LANGUAGE plpgsql STABLE
-- (so that a rate is written with all its digits)
SET search_path = pg_catalog, pg_temp SET extra_float_digits = 1 AS $$
DECLARE
	definition record;
	keys record;
	shown text;
	tracked_column name;		-- to which exposures are added
	shares record;
	start text;
	is_windowed bool;
	add text := format('%I.bloom_track_add', schema);
	items text := 's.items';
	added text;
	generated_column name;
BEGIN
	EXECUTE format('SELECT * FROM %I.bloom_track_definition($1, $2, $3)', schema)
	INTO definition USING schema, source, arguments;
	target := definition.target;
	EXECUTE format('SELECT * FROM %I.bloom_track_keys($1, $2, $3, $4, $5, $6, $7, $8, $9)', schema)
	INTO keys USING schema, target, definition.filter_column, definition.target_user_column, source,
		definition.user_column, definition.item_column, definition.time_column, definition.condition;

	-- as check_generated() of condition.c
	generated_column := (SELECT a.attname FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
						 WHERE a.attrelid = source
							 AND a.attname = ANY (ARRAY[definition.user_column, definition.item_column, definition.time_column])
							 AND (a.attgenerated = 'v' OR a.attgenerated = 's' AND c.relkind = 'p')
						 LIMIT 1);
	IF generated_column IS NOT NULL THEN
		RAISE 'generated column "%" cannot be used by bloom_track()', generated_column
			USING ERRCODE = 'feature_not_supported',
				DETAIL = 'Its value may not be there yet when the trigger is called.',
				HINT = 'Use the columns from which it is generated, or a trigger on each partition.';
	END IF;

	IF definition.live_column IS NOT NULL THEN
		EXECUTE format('SELECT %I.bloom_live_column($1, $2, $3)', schema)
		USING target, definition.filter_column, definition.live_column;
	END IF;
	tracked_column := COALESCE(definition.live_column, definition.filter_column);
	-- (a live filter is emptied long before a window ends)
	is_windowed := definition.slices IS NOT NULL AND definition.live_column IS NULL;

	-- One row a user, with the new items and, for a filter with a window, their times.
	shown := format('SELECT %s AS u, pg_catalog.array_agg(%s) AS items, %s AS times FROM %I AS e WHERE %s GROUP BY 1',
		keys.source_user, keys.source_item,
		CASE WHEN is_windowed THEN format('pg_catalog.array_agg(%s)', keys.source_time) ELSE 'NULL' END,
		new_table, keys.is_exposure);
	IF is_windowed THEN
		start := format('%I.bloom_window(%L::pg_catalog.interval, %L::pg_catalog.int4, %L::pg_catalog.float8, 0::pg_catalog.int4)',
			schema, definition.width, definition.slices, definition.fpr);
		items := 's.items, s.times';
	ELSE
		EXECUTE format('SELECT * FROM %I.bloom_track_shares($1, $2)', schema)
		INTO shares USING definition.fpr, definition.live_column IS NOT NULL;
		start := format('%I.bloom_new(GREATEST(%s::pg_catalog.int8, pg_catalog.cardinality(s.items)::pg_catalog.int8), '
			'%L::pg_catalog.float8, 0::pg_catalog.int4, false::pg_catalog.bool)', schema, shares.capacity, shares.tracked_fpr);
	END IF;
	added := format('%s(COALESCE(f.%I, %s), %s)', add, tracked_column, start, items);

	statements := format(
		-- Lock the filters in the order of the users, and start those that are missing.
		-- WHERE false locks a row and leaves it as it is.  An item that is contained
		-- already is no reason not to lock: a rebuild that is under way would not know of
		-- this exposure, and forget the item with an older one.
		'INSERT INTO %1$s AS f (%2$I, %3$I) SELECT s.u, %4$s(%5$s, %6$s) FROM (%7$s) AS s ORDER BY s.u '
		'ON CONFLICT (%2$I) DO UPDATE SET %3$I = f.%3$I WHERE false; '
		-- Now each filter is as the last one who had the lock left it.  Write it if it changes.
		'UPDATE %1$s AS f SET %3$I = %8$s FROM (%7$s) AS s '
		'WHERE %9$s %10$s s.u::%11$s AND (f.%3$I IS NULL OR %8$s OPERATOR(%12$I.<>) f.%3$I)',
		keys.target_name, definition.target_user_column, tracked_column, add, start, items, shown, added,
		keys.target_key, keys.equal, keys.key_type, schema);

	-- How many users' filters lack something then.  (To a counting filter each add adds
	-- something, and a window can contain an item for an older exposure.)
	missed := format(
		'SELECT pg_catalog.count(*) FROM (%1$s) AS s LEFT JOIN %2$s AS f ON %3$s %4$s s.u::%5$s WHERE f.%6$I IS NULL OR %7$s',
		shown, keys.target_name, keys.target_key, keys.equal, keys.key_type, tracked_column,
		CASE WHEN is_windowed
			THEN format('%s OPERATOR(%I.<>) f.%I', added, schema, tracked_column)
			ELSE format('NOT %I.bloom_track_contains(f.%I, s.items)', schema, tracked_column) END);
END
$$;

COMMENT ON FUNCTION bloom_track_statements(name, regclass, text, text[]) IS
'the statements that bloom_track() executes';

CREATE FUNCTION bloom_track() RETURNS trigger
AS 'MODULE_PATHNAME', 'bloomexp_track'
LANGUAGE C;

COMMENT ON FUNCTION bloom_track() IS
'trigger function: adds the rows of an INSERT or UPDATE to the filters of their users; arguments: filter table, filter column, user column, item column, then time=, width=, slices=, fpr=, headroom=, condition=, live=, target_user_column= as wanted';

CREATE FUNCTION bloom_untracked(
	source regclass,
	OUT relation regclass,
	OUT trigger_name name,
	OUT command text,
	OUT problem text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	schema name := (SELECT n.nspname FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
					WHERE e.extname = 'bloomexp');
	relations oid[] := ARRAY(SELECT source::oid UNION SELECT p.relid::oid FROM pg_partition_tree(source) AS p);
	trigger record;
	arguments text[];
	target regclass;
	must_be_given name;
	detail text;
	hint text;
BEGIN
	RETURN QUERY
	WITH tables AS (
		SELECT c.oid AS relid, c.relname, c.relowner, format('%I.%I', n.nspname, c.relname) AS name
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE c.oid = ANY (relations)
	), triggers AS (
		-- What follows the name of the table is the same on every partition.  It is cut off
		-- only where it is sure to begin: whoever owns a partition has chosen its name.
		SELECT g.tgrelid, g.tgname, g.tgenabled = ANY ('{O,A}'::"char"[]) AS enabled,
			e.event, substr(d.definition, length(d.prefix)) AS definition,
			CASE WHEN g.tgqual IS NOT NULL
				THEN 'There is no command for a trigger with WHEN.'
			WHEN NOT pg_has_role(t.relowner, r.relowner, 'USAGE')
				THEN format('There is no command, because the owner of table "%s" does not have the privileges of the owner of table "%s".',
					t.relname, r.relname) END AS not_given
		FROM tables AS t
		JOIN pg_trigger AS g ON g.tgrelid = t.relid
			AND g.tgfoid = format('%I.bloom_track()', schema)::regprocedure
		-- after an INSERT or an UPDATE of any column, for each statement
		JOIN (VALUES (4, 'INSERT'), (16, 'UPDATE')) AS e (tgtype, event) ON e.tgtype = g.tgtype
		JOIN pg_class AS r ON r.oid = COALESCE(pg_partition_root(source), source)
		CROSS JOIN LATERAL (SELECT pg_get_triggerdef(g.oid), format('CREATE TRIGGER %I AFTER %s ON %s ', g.tgname, e.event, t.name))
			AS d (definition, prefix)
		WHERE g.tgnewtable IS NOT NULL AND g.tgattr::text = '' AND g.tgconstraint = 0 AND starts_with(d.definition, d.prefix)
	), lacking AS (
		SELECT t.relid, t.name, w.tgname, w.event, w.definition, w.not_given,
			EXISTS (SELECT FROM triggers AS g WHERE g.tgrelid = t.relid AND g.tgname = w.tgname
						AND g.event = w.event AND g.definition = w.definition) AS disabled
		FROM tables AS t
		CROSS JOIN ((SELECT DISTINCT ON (g.event, g.definition) g.tgname, g.event, g.definition, g.not_given FROM triggers AS g
					 ORDER BY g.event, g.definition, g.not_given NULLS FIRST, g.tgname)
					UNION ALL
					SELECT NULL, NULL, NULL, NULL
					WHERE NOT EXISTS (SELECT FROM pg_trigger AS g WHERE g.tgrelid = ANY (relations) AND g.tgtype & 4 <> 0
										  AND g.tgfoid = format('%I.bloom_track()', schema)::regprocedure)) AS w
		WHERE NOT EXISTS (SELECT FROM triggers AS g WHERE g.tgrelid = t.relid
							  AND g.event = w.event
							  AND g.definition = w.definition AND g.enabled)
	)
	SELECT l.relid::regclass, l.tgname,
		CASE WHEN l.tgname IS NULL OR l.not_given IS NOT NULL THEN NULL
			WHEN l.disabled THEN format('ALTER TABLE %s ENABLE TRIGGER %I', l.name, l.tgname)
			ELSE format('CREATE TRIGGER %I AFTER %s ON %s%s', l.tgname, l.event, l.name, l.definition) END,
		concat_ws(chr(10), CASE WHEN l.tgname IS NULL THEN 'no trigger adds what is inserted'
			WHEN l.disabled THEN 'the trigger is disabled'
			ELSE 'the trigger is missing' END, l.not_given)
	FROM lacking AS l
	ORDER BY l.name, l.tgname, l.event, l.definition;

	-- Triggers with mistakes, which are errors when a row is written or at night.
	FOR trigger IN
		EXECUTE format('SELECT * FROM %I.bloom_track_triggers($1) AS t WHERE t.relation::pg_catalog.oid '
			'OPERATOR(pg_catalog.=) ANY ($2)', schema) USING schema, relations
	LOOP
		relation := trigger.relation;
		trigger_name := trigger.trigger_name;
		command := NULL;
		EXECUTE format('SELECT %I.bloom_track_arguments($1)', schema) INTO arguments USING trigger.arguments;
		BEGIN
			IF NOT trigger.works THEN
				RAISE 'the trigger is not for each statement, with a transition table of new rows';
			END IF;
			EXECUTE format('SELECT s.target, %1$I.bloom_track_agreed($1, s.target, $3, ''{}''::pg_catalog.jsonb) '
				'FROM %1$I.bloom_track_statements($1, $2, ''new_rows''::pg_catalog.text, $4) AS s', schema)
			INTO target USING schema, trigger.relation, arguments[2]::name, arguments;
			IF NOT (SELECT pg_has_role(c.relowner, t.relowner, 'USAGE') FROM pg_class AS c, pg_class AS t
					WHERE c.oid = relation AND t.oid = target) THEN
				RAISE 'bloom_rebuild() and bloom_take() do not know of this trigger'
					USING DETAIL = format('The owner of table "%s" does not have the privileges of the owner of table "%s".',
						(SELECT c.relname FROM pg_class AS c WHERE c.oid = relation), (SELECT c.relname FROM pg_class AS c WHERE c.oid = target));
			END IF;
			-- (A trigger of that table may fill it, which is too late for a domain.)
			EXECUTE format('SELECT a.attname FROM %I.bloom_track_definition($1, $2, $3) AS d JOIN pg_attribute AS a ON a.attrelid = d.target '
				'JOIN pg_type AS t ON t.oid = a.atttypid '
				'WHERE a.attnum > 0 AND NOT a.attisdropped AND (t.typnotnull OR a.attnotnull '
					'AND NOT EXISTS (SELECT FROM pg_trigger AS g WHERE g.tgrelid = d.target AND g.tgtype & 7 = 7)) '
				'AND NOT a.atthasdef AND a.attidentity = '''' AND t.typdefault IS NULL '
				'AND a.attname <> d.target_user_column AND a.attname <> COALESCE(d.live_column, d.filter_column) '
				'ORDER BY a.attnum LIMIT 1', schema)
			INTO must_be_given USING schema, trigger.relation, arguments;
			IF must_be_given IS NOT NULL THEN
				RAISE 'column "%" of table "%" must have a default or allow nulls',
					must_be_given, (SELECT c.relname FROM pg_class AS c WHERE c.oid = target)
					USING DETAIL = 'The row of a new user gets the user and a filter, and nothing else.';
			END IF;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
			problem := concat_ws(E'\n', sqlerrm, nullif(detail, ''), nullif(hint, ''));
			RETURN NEXT;
		END;
	END LOOP;
END
$$;

COMMENT ON FUNCTION bloom_untracked(regclass) IS
'what is wrong with the triggers on bloom_track() of a table and its partitions: those that lack a trigger which another of them has, or have it disabled, with the command that mends it; and triggers with mistakes. If no INSERT has such a trigger, all of them, without a command';
