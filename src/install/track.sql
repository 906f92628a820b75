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
-- The extension is relocatable, and these functions run with the rights and the
-- search_path of the caller.  So every name in them is qualified, operators, too,
-- and the schema of the extension is found when they run.
--

CREATE FUNCTION bloom_track_keys(
	schema name,
	target regclass,
	filter_column name,
	target_user_column name,
	source regclass,
	user_column name,
	item_column name,
	time_column name,
	OUT target_name text,
	OUT source_name text,
	OUT user_type text,
	OUT equal text,
	OUT greater text,
	OUT source_user text,
	OUT source_item text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
	relations pg_catalog.regclass[] := ARRAY[target, target, source, source, source];
	names pg_catalog.name[] := ARRAY[filter_column, target_user_column, user_column, item_column, time_column];
	columns pg_catalog.pg_attribute[];
	filter_is_bloom pg_catalog.bool;
	index_order pg_catalog.record;
	operators pg_catalog.text[];
BEGIN
	-- Names with a schema, since a transition table or a WITH may have the name alone.
	SELECT pg_catalog.max(x.name) FILTER (WHERE x.oid OPERATOR(pg_catalog.=) target
			AND x.relkind OPERATOR(pg_catalog.=) ANY ('{r,p}'::pg_catalog."char"[])),
		pg_catalog.max(x.name) FILTER (WHERE x.oid OPERATOR(pg_catalog.=) source) INTO target_name, source_name
	FROM (SELECT c.oid, c.relkind, pg_catalog.format('%I.%I', n.nspname, c.relname) AS name
		  FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
		  WHERE c.oid OPERATOR(pg_catalog.=) ANY (ARRAY[target::pg_catalog.oid, source::pg_catalog.oid])) AS x;
	IF target_name IS NULL THEN
		RAISE '"%" is not a table', target
			USING ERRCODE = 'wrong_object_type', DETAIL = 'Filters are kept in a table or a partitioned table.';
	END IF;

	-- (Subqueries here and below keep the plans at index scans.)
	columns := ARRAY(SELECT (SELECT a FROM pg_catalog.pg_attribute AS a
							 WHERE a.attrelid OPERATOR(pg_catalog.=) c.relation AND a.attname OPERATOR(pg_catalog.=) c.name
								 AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped)
					 FROM ROWS FROM (pg_catalog.unnest(relations), pg_catalog.unnest(names)) AS c (relation, name));
	FOR i IN 1 .. 5 LOOP
		IF columns[i].attnum IS NULL AND names[i] IS NOT NULL THEN
			RAISE 'column "%" of relation "%" does not exist', names[i], relations[i] USING ERRCODE = 'undefined_column';
		END IF;
	END LOOP;

	SELECT t.typname OPERATOR(pg_catalog.=) 'bloom' AND n.nspname OPERATOR(pg_catalog.=) schema INTO filter_is_bloom
	FROM pg_catalog.pg_type AS t JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace
	WHERE t.oid OPERATOR(pg_catalog.=) columns[1].atttypid;
	IF NOT filter_is_bloom THEN
		RAISE 'column "%" of relation "%" is not of type bloom', filter_column, target USING ERRCODE = 'datatype_mismatch';
	END IF;

	-- The order of users is that of the index by which ON CONFLICT finds their rows.
	SELECT c.opcfamily AS family, c.opcintype AS type INTO index_order
	FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_opclass AS c ON c.oid OPERATOR(pg_catalog.=) i.indclass[0]
	WHERE i.indrelid OPERATOR(pg_catalog.=) target AND i.indnkeyatts OPERATOR(pg_catalog.=) 1
		AND i.indkey[0] OPERATOR(pg_catalog.=) columns[2].attnum AND c.opcdefault
		AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL
	LIMIT 1;
	IF NOT FOUND THEN
		RAISE 'table "%" has no unique index on column "%" alone', target, target_user_column
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = pg_catalog.format('ALTER TABLE %s ADD PRIMARY KEY (%I);', target, target_user_column);
	END IF;

	operators := ARRAY(SELECT (SELECT pg_catalog.format('OPERATOR(%I.%s)', (SELECT n.nspname FROM pg_catalog.pg_namespace AS n
																		   WHERE n.oid OPERATOR(pg_catalog.=) o.oprnamespace), o.oprname)
							   FROM pg_catalog.pg_operator AS o WHERE o.oid OPERATOR(pg_catalog.=) m.amopopr)
					   FROM pg_catalog.pg_amop AS m
					   WHERE m.amopfamily OPERATOR(pg_catalog.=) index_order.family
						   AND m.amoplefttype OPERATOR(pg_catalog.=) index_order.type
						   AND m.amoprighttype OPERATOR(pg_catalog.=) index_order.type
					   ORDER BY m.amopstrategy);
	equal := operators[3];
	greater := operators[5];

	-- Users of both tables must be told apart alike.  A cast that changes nothing is
	-- left out, for it keeps an index of the source from being used.
	user_type := (SELECT pg_catalog.format('%I.%I', n.nspname, t.typname)
				  FROM pg_catalog.pg_type AS t JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace
				  WHERE t.oid OPERATOR(pg_catalog.=) columns[2].atttypid);
	source_user := pg_catalog.format('e.%I', user_column);
	IF columns[3].atttypid OPERATOR(pg_catalog.<>) columns[2].atttypid THEN
		source_user := pg_catalog.format('%s::%s', source_user, user_type);
	END IF;
	IF columns[3].attcollation OPERATOR(pg_catalog.<>) columns[2].attcollation
		AND columns[2].attcollation OPERATOR(pg_catalog.<>) 0 THEN
		source_user := (SELECT pg_catalog.format('(%s COLLATE %I.%I)', source_user, n.nspname, c.collname)
						FROM pg_catalog.pg_collation AS c
						JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.collnamespace
						WHERE c.oid OPERATOR(pg_catalog.=) columns[2].attcollation);
	END IF;

	-- Every string is a text to bloom_agg(), but bloom_add() takes no array of citext.
	source_item := (SELECT pg_catalog.format(CASE WHEN t.typcategory OPERATOR(pg_catalog.=) 'S'
												 THEN 'e.%I::pg_catalog.text' ELSE 'e.%I' END, item_column)
					FROM pg_catalog.pg_type AS t WHERE t.oid OPERATOR(pg_catalog.=) columns[4].atttypid);
END
$$;

COMMENT ON FUNCTION bloom_track_keys(name, regclass, name, name, regclass, name, name, name) IS
'checks the tables and columns given to bloom_track() and bloom_rebuild(), and tells them how to compare users';

CREATE FUNCTION bloom_track_statements(
	schema text,
	source regclass,
	new_table text,
	arguments text[],
	OUT target regclass,
	OUT statements text,
	OUT missed text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
	target_name pg_catalog.text[];
	time_column pg_catalog.text;
	target_user_column pg_catalog.text := arguments[3];
	width pg_catalog.interval := '30 days';
	slices pg_catalog.int4 := 6;
	fpr pg_catalog.float8 := 0.01;
	setting pg_catalog.text;
	value pg_catalog.text;
	keys pg_catalog.record;
	shown pg_catalog.text;
	start pg_catalog.text;
	add pg_catalog.text;
	items pg_catalog.text;
	added pg_catalog.text;
BEGIN
	IF pg_catalog.cardinality(arguments) OPERATOR(pg_catalog.<) 4 THEN
		RAISE 'bloom_track() needs at least 4 arguments, not %', pg_catalog.cardinality(arguments)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'They are the table of the filters, its filter column, the user column and the item column.';
	END IF;
	FOR i IN 5 .. pg_catalog.cardinality(arguments) LOOP
		setting := pg_catalog.split_part(arguments[i], '=', 1);
		value := pg_catalog.substr(arguments[i], pg_catalog.length(setting) OPERATOR(pg_catalog.+) 2);
		IF setting OPERATOR(pg_catalog.=) 'width' THEN
			width := value;
		ELSIF setting OPERATOR(pg_catalog.=) 'slices' THEN
			slices := value;
		ELSIF setting OPERATOR(pg_catalog.=) 'fpr' THEN
			fpr := value;
		ELSIF setting OPERATOR(pg_catalog.=) 'target_user_column' THEN
			target_user_column := value;
		ELSIF i OPERATOR(pg_catalog.=) 5 THEN
			time_column := arguments[i];
		ELSE
			RAISE 'unrecognized argument of bloom_track(): "%"', arguments[i]
				USING ERRCODE = 'invalid_parameter_value',
					HINT = 'The columns are followed by width=..., slices=..., fpr=... or target_user_column=....';
		END IF;
	END LOOP;

	-- A table without a schema is in that of the exposures, whatever search_path says.
	target_name := pg_catalog.parse_ident(arguments[1]);
	IF pg_catalog.cardinality(target_name) OPERATOR(pg_catalog.=) 1 THEN
		target_name := (SELECT ARRAY[n.nspname::pg_catalog.text, target_name[1]]
						FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
						WHERE c.oid OPERATOR(pg_catalog.=) source);
	END IF;
	target := pg_catalog.format('%I.%I', target_name[1], target_name[2]);

	EXECUTE pg_catalog.format('SELECT * FROM %I.bloom_track_keys($1, $2, $3, $4, $5, $6, $7, $8)', schema)
	INTO keys USING schema::pg_catalog.name, target, arguments[2]::pg_catalog.name, target_user_column::pg_catalog.name,
		source, arguments[3]::pg_catalog.name, arguments[4]::pg_catalog.name, time_column::pg_catalog.name;

	-- One row a user, with the new items and, for a filter with a window, their times.
	shown := pg_catalog.format('SELECT %s AS u, pg_catalog.array_agg(%s) AS items, %s AS times FROM %I AS e '
		'WHERE e.%I IS NOT NULL AND e.%I IS NOT NULL GROUP BY 1',
		keys.source_user, keys.source_item,
		CASE WHEN time_column IS NULL THEN 'NULL'
			ELSE pg_catalog.format('pg_catalog.array_agg(e.%I::pg_catalog.timestamptz)', time_column) END,
		new_table, arguments[3], arguments[4]);
	IF time_column IS NULL THEN
		start := pg_catalog.format('%I.bloom_new(GREATEST(100, pg_catalog.cardinality(s.items)), %L)', schema, fpr::pg_catalog.numeric);
		add := pg_catalog.format('%I.bloom_add', schema);
		items := 's.items';
	ELSE
		start := pg_catalog.format('%I.bloom_window(%L, %L, %L)', schema, width, slices, fpr::pg_catalog.numeric);
		add := pg_catalog.format('%I.bloom_add_at', schema);
		items := 's.items, s.times';
	END IF;
	added := pg_catalog.format('%s(COALESCE(f.%I, %s), %s)', add, arguments[2], start, items);

	statements := pg_catalog.format(
		-- Lock the filters in the order of the users, and start those that are missing.
		-- WHERE false locks a row and leaves it as it is.  An item that is contained
		-- already is no reason not to lock: a rebuild that is under way would not know of
		-- this exposure, and forget the item with an older one.
		'INSERT INTO %1$s AS f (%2$I, %3$I) SELECT s.u, %4$s(%5$s, %6$s) FROM (%7$s) AS s ORDER BY s.u '
		'ON CONFLICT (%2$I) DO UPDATE SET %3$I = f.%3$I WHERE false; '
		-- Now each filter is as the last one who had the lock left it.  Write it if it changes.
		'UPDATE %1$s AS f SET %3$I = %8$s FROM (%7$s) AS s '
		'WHERE f.%2$I %9$s s.u AND (f.%3$I IS NULL OR %8$s OPERATOR(%10$I.<>) f.%3$I)',
		keys.target_name, target_user_column, arguments[2], add, start, items, shown, added, keys.equal, schema);

	-- How many users' filters lack something then.  (To a counting filter each add adds
	-- something, and a window can contain an item for an older exposure.)
	missed := pg_catalog.format(
		'SELECT pg_catalog.count(*) FROM (%1$s) AS s LEFT JOIN %2$s AS f ON f.%3$I %4$s s.u WHERE f.%5$I IS NULL OR %6$s',
		shown, keys.target_name, target_user_column, keys.equal, arguments[2],
		CASE WHEN time_column IS NULL
			THEN pg_catalog.format('NOT %I.bloom_contains_all(f.%I, s.items)', schema, arguments[2])
			ELSE pg_catalog.format('%s OPERATOR(%I.<>) f.%I', added, schema, arguments[2]) END);
END
$$;

COMMENT ON FUNCTION bloom_track_statements(text, regclass, text, text[]) IS
'the statements that bloom_track() executes';

CREATE FUNCTION bloom_track() RETURNS trigger
AS 'MODULE_PATHNAME', 'bloomexp_track'
LANGUAGE C;

COMMENT ON FUNCTION bloom_track() IS
'trigger function: adds the rows of an INSERT or UPDATE to the filters of their users; arguments: filter table, filter column, user column, item column, for windowed filters the time column, then width=, slices=, fpr=, target_user_column= as wanted';

CREATE FUNCTION bloom_untracked(
	source regclass,
	OUT relation regclass,
	OUT trigger_name name,
	OUT command text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN QUERY
	WITH tables AS (
		SELECT c.oid AS relid, pg_catalog.format('%I.%I', n.nspname, c.relname) AS name
		FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
		WHERE c.oid OPERATOR(pg_catalog.=) source
			OR c.oid OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT p.relid::pg_catalog.oid FROM pg_catalog.pg_partition_tree(source) AS p))
	), triggers AS (
		-- What follows the name of the table is the same on every partition.
		SELECT g.tgrelid, g.tgname, g.tgenabled OPERATOR(pg_catalog.=) ANY ('{O,A}'::pg_catalog."char"[]) AS enabled,
			e.event, pg_catalog.substr(pg_catalog.pg_get_triggerdef(g.oid), pg_catalog.length(
				pg_catalog.format('CREATE TRIGGER %I AFTER %s ON %s ', g.tgname, e.event, t.name))) AS definition
		FROM tables AS t
		JOIN pg_catalog.pg_trigger AS g ON g.tgrelid OPERATOR(pg_catalog.=) t.relid
		JOIN (VALUES (4, 'INSERT'), (16, 'UPDATE')) AS e (bit, event)
			ON (g.tgtype OPERATOR(pg_catalog.&) e.bit) OPERATOR(pg_catalog.<>) 0
		JOIN pg_catalog.pg_proc AS f ON f.oid OPERATOR(pg_catalog.=) g.tgfoid
			AND f.proname OPERATOR(pg_catalog.=) 'bloom_track'
		JOIN pg_catalog.pg_depend AS d ON d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
			AND d.objid OPERATOR(pg_catalog.=) f.oid AND d.deptype OPERATOR(pg_catalog.=) 'e'
	)
	SELECT t.relid::pg_catalog.regclass, w.tgname,
		CASE WHEN w.tgname IS NULL THEN NULL
			WHEN EXISTS (SELECT FROM triggers AS g WHERE g.tgrelid OPERATOR(pg_catalog.=) t.relid
							  AND g.tgname OPERATOR(pg_catalog.=) w.tgname
							  AND g.event OPERATOR(pg_catalog.=) w.event
							  AND g.definition OPERATOR(pg_catalog.=) w.definition)
			THEN pg_catalog.format('ALTER TABLE %s ENABLE TRIGGER %I', t.name, w.tgname)
			ELSE pg_catalog.format('CREATE TRIGGER %I AFTER %s ON %s%s', w.tgname, w.event, t.name, w.definition) END
	FROM tables AS t
	CROSS JOIN ((SELECT DISTINCT ON (g.event, g.definition) g.tgname, g.event, g.definition FROM triggers AS g
				 ORDER BY g.event, g.definition, g.tgname)
				UNION ALL
				SELECT NULL, NULL, NULL WHERE NOT EXISTS (SELECT FROM triggers AS g WHERE g.event OPERATOR(pg_catalog.=) 'INSERT')) AS w
	WHERE NOT EXISTS (SELECT FROM triggers AS g WHERE g.tgrelid OPERATOR(pg_catalog.=) t.relid
						  AND g.event OPERATOR(pg_catalog.=) w.event
						  AND g.definition OPERATOR(pg_catalog.=) w.definition AND g.enabled)
	ORDER BY t.name, w.tgname;
END
$$;

COMMENT ON FUNCTION bloom_untracked(regclass) IS
'the table and its partitions that lack a trigger on bloom_track() which another of them has, or have it disabled, and the command that mends it; if no INSERT has such a trigger, all of them, without a command';
