-- Procedures and functions that scripts of feeds call when they are applied.  They run with the
-- rights of the role that applies the script.  untracked() is also called by the view health and by
-- feeds().  require_first_use() is called by lock() only.

CREATE PROCEDURE bloomexp.write_settings(feed text, settings text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
BEGIN
	EXECUTE format('CREATE OR REPLACE FUNCTION %I.settings() RETURNS jsonb '
		'LANGUAGE sql IMMUTABLE AS %L', feed,
		format(E'\nSELECT ''%s''::pg_catalog.jsonb\n', replace(settings, '''', '\u0027')));
END
$$;

COMMENT ON PROCEDURE bloomexp.write_settings(text, text) IS
'creates or replaces the function settings() of a feed';

CREATE FUNCTION bloomexp.column_number(relation regclass, name text) RETURNS smallint
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT a.attnum FROM pg_attribute AS a
	WHERE a.attrelid = relation AND a.attname = column_number.name AND NOT a.attisdropped
$$;

COMMENT ON FUNCTION bloomexp.column_number(regclass, text) IS
'the number of a column of a table, which stays the same when the column is renamed; NULL if there '
'is no such column';

CREATE FUNCTION bloomexp.require_same_columns(feed text, settings jsonb, exposures regclass,
	user_column text, item_column text, item_type regtype)
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	former text;
	has_rows boolean;
BEGIN
	former := (
		SELECT string_agg(c.former, ' and ')
		FROM (VALUES
			('user_column', user_column), ('item_column', item_column)) AS n(argument, name)
		CROSS JOIN LATERAL (
			SELECT settings #>> ARRAY['arguments', n.argument],
				(settings #>> ARRAY['columns', n.argument])::smallint) AS c(former, number)
		WHERE c.former <> n.name
			-- Columns of another table, such as a restored one, have other numbers.  There a column
			-- can only be a renamed one if the old name is gone.
			AND CASE settings ->> 'exposures' WHEN exposures::oid::text
				THEN c.number IS DISTINCT FROM bloomexp.column_number(exposures, n.name)
				ELSE bloomexp.column_number(exposures, c.former) IS NOT NULL END);
	IF former IS NULL AND settings ->> 'item_kind' <> bloomexp.item_kind(item_type) THEN
		former := concat(settings #>> '{arguments,item_column}', ', ', settings ->> 'item_kind');
	END IF;
	IF former IS NULL OR to_regclass(quote_ident(feed) || '.filters') IS NULL THEN
		RETURN;
	END IF;
	EXECUTE format('SELECT EXISTS (SELECT FROM %I.filters)', feed) INTO has_rows;
	IF has_rows THEN
		RAISE EXCEPTION 'filters of feed "%" were built from other columns', feed
			USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = format('They were built from %s.', former),
			HINT = format('TRUNCATE %I.filters, apply the script, and CALL %1$I.rebuild(); '
				'until then pages can have items that were shown.', feed);
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.require_same_columns(text, jsonb, regclass, text, text, regtype) IS
'raises an error if the filters of a feed were built from other columns than its script names, or '
'from items of another kind; a column that was renamed is still the same column';

CREATE PROCEDURE bloomexp.change_user_type(feed text, user_type text, user_collation text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	filters constant text := format('%I.filters', feed);
	has_rows boolean;
BEGIN
	-- Lock the table first: USING NULL must not meet a row that is inserted after the check.
	EXECUTE format('LOCK TABLE %s', filters);
	EXECUTE format('SELECT EXISTS (SELECT FROM %s)', filters) INTO has_rows;
	-- ALTER TYPE would apply the check of the length, which is for the old type, to the new one.
	IF EXISTS (
		SELECT FROM pg_constraint AS k
		WHERE k.conrelid = to_regclass(filters) AND k.conname = 'filters_user_id_check') THEN
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT filters_user_id_check', filters);
	END IF;
	BEGIN
		EXECUTE concat('ALTER TABLE ', filters, ' ALTER user_id TYPE ', user_type,
			' COLLATE ' || user_collation,
			-- an empty table needs no cast between the types
			' USING ', CASE WHEN has_rows THEN 'user_id' ELSE 'NULL' END, '::', user_type,
			', ADD CONSTRAINT filters_user_id_check CHECK ('
				|| format(bloomexp.short_id(to_regtype(user_type)), 'user_id') || ')');
	EXCEPTION WHEN cannot_coerce OR data_exception OR unique_violation THEN
		RAISE EXCEPTION 'users of feed "%" cannot be converted to type %', feed, user_type
			USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = SQLERRM,
			HINT = format('TRUNCATE %s, apply the script, and CALL %I.rebuild(); '
				'until then pages can have items that were shown.', filters, feed);
	END;
END
$$;

COMMENT ON PROCEDURE bloomexp.change_user_type(text, text, text) IS
'changes the type or the collation of user_id in the table of filters of a feed; raises an error '
'if the present users cannot be cast to the type, or are not distinct there';

CREATE PROCEDURE bloomexp.feed_begin(
	feed text,
	fixed_arguments text,
	exposures text,	-- NULL for a feed without a table, which has no columns either
	user_column text,
	user_type text,
	user_collation text,	-- NULL: the type has none
	item_column text,
	item_type text,
	bloom text)	-- name of the type of filters in the script
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET jit = off	-- compiling these statements takes longer than they do
AS $$
DECLARE
	me constant oid := (SELECT r.oid FROM pg_roles AS r WHERE r.rolname = current_user);
	schema oid;
	settings jsonb;
	former text;	-- the fixed arguments with which the feed was made
	untrusted text;
	old record;
	missing jsonb;
BEGIN
	-- Keep the extension from being dropped, and check that it still exists.  Without it the owner
	-- of the database could make a schema bloomexp with other functions.
	LOCK TABLE bloomexp.new_rows IN ACCESS SHARE MODE;
	IF NOT EXISTS (
		SELECT FROM pg_depend AS d JOIN pg_extension AS x ON x.oid = d.refobjid
		WHERE d.classid = 'pg_class'::regclass AND d.objid = 'bloomexp.new_rows'::regclass
			AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
			AND x.extname = 'bloomexp') THEN
		RAISE EXCEPTION 'extension "bloomexp" was dropped'
			USING ERRCODE = 'object_not_in_prerequisite_state';
	END IF;
	-- Only one session at a time makes a feed of this name.
	PERFORM pg_advisory_xact_lock(hashtext('bloomexp'), hashtext(feed));
	schema := (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = feed);
	IF exposures IS NOT NULL AND to_regclass(exposures) IS NULL THEN
		RAISE EXCEPTION 'table % does not exist', exposures USING ERRCODE = 'undefined_table',
			HINT = 'If it has another name now, apply what bloomexp.feed_sql() returns for it.';
	END IF;

	IF bloomexp.lost_filters(feed) IS NOT NULL THEN
		RAISE EXCEPTION 'feed "%" has lost its filters', feed
			USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = bloomexp.lost_filters(feed);
	END IF;

	untrusted := (
		SELECT string_agg(u, E'\n') FROM bloomexp.untrusted(me, feed, to_regclass(exposures),
			ARRAY(
				SELECT t.oid
				FROM unnest(ARRAY[to_regtype(user_type), to_regtype(item_type)]::oid[]) AS t(oid)
				UNION SELECT a.atttypid	-- the type that user_id has now: its casts run below
				FROM pg_class AS c
				JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'user_id'
				WHERE c.relnamespace = schema AND c.relname = 'filters'),
			coalesce(to_regcollation(user_collation), 0)) AS u);
	IF untrusted IS NOT NULL THEN
		RAISE EXCEPTION 'feed "%" uses objects that other roles can replace', feed
			USING ERRCODE = 'insufficient_privilege', DETAIL = untrusted;
	END IF;

	-- The type's schema can be renamed, and another type of that name created.  The result type of
	-- union() is always ours, so compare with that.
	IF to_regtype(bloom) IS DISTINCT FROM (SELECT p.prorettype FROM pg_proc AS p
		WHERE p.oid = 'bloomexp.union'::regproc) THEN
		RAISE EXCEPTION 'type % is not that of the extension bloomexp', bloom
			USING ERRCODE = 'wrong_object_type',
				HINT = 'Apply what bloomexp.feed_sql() returns now.';
	END IF;

	settings := bloomexp.feed_settings(schema);
	former := bloomexp.fixed_arguments(bloomexp.present_arguments(schema, settings));
	IF former <> fixed_arguments THEN
		RAISE EXCEPTION 'feed "%" was made with other fixed arguments', feed
			USING ERRCODE = 'wrong_object_type',
			DETAIL = format('It was made for %s, not for %s.',
				former, fixed_arguments),
			HINT = 'Make another feed, and drop this one once requests use the new one.';
	END IF;

	IF exposures IS NOT NULL THEN
		PERFORM bloomexp.require_same_columns(feed, settings, to_regclass(exposures),
			user_column, item_column, to_regtype(item_type));
	END IF;

	-- Whatever the default privileges are, nobody else may use the schema yet.
	IF schema IS NULL THEN
		EXECUTE format('CREATE SCHEMA %I', feed);
		EXECUTE format('REVOKE ALL ON SCHEMA %I FROM %s', feed, concat_ws(', ', 'PUBLIC', (
			SELECT string_agg(quote_ident(pg_get_userbyid(a.grantee)), ', ')
			FROM pg_namespace AS n, aclexplode(n.nspacl) AS a
			WHERE n.nspname = feed AND a.grantee NOT IN (0, n.nspowner))));
	END IF;

	-- The types of columns may have changed: drop the functions for the old types.
	IF settings IS NOT NULL THEN
		FOR old IN
			SELECT p.oid::regprocedure AS name
			FROM pg_proc AS p
			WHERE p.pronamespace = schema AND settings -> 'functions' ? p.proname
				AND EXISTS (
					SELECT FROM unnest(p.proargtypes::oid[], p.proargnames) AS a(type, name)
					WHERE a.type <> CASE a.name
						WHEN 'user_id' THEN to_regtype(user_type)
						WHEN 'from_user' THEN to_regtype(user_type)
						WHEN 'users' THEN to_regtype(user_type || '[]')
						WHEN 'item' THEN to_regtype(item_type)
						WHEN 'items' THEN to_regtype(item_type || '[]')
						WHEN 'candidates' THEN to_regtype(item_type || '[]')
						ELSE a.type END)
		LOOP
			EXECUTE format('DROP ROUTINE %s', old.name);
		END LOOP;
		-- The script creates what is missing again, with default privileges.  Add its names to the
		-- settings, so that feed_finish() revokes these privileges.
		missing := (
			SELECT jsonb_agg(m.name)
			FROM (
				SELECT jsonb_array_elements_text(settings -> 'missing')	-- of a script that stopped
				UNION SELECT f.name FROM jsonb_object_keys(settings -> 'functions') AS f(name)
				WHERE NOT EXISTS (
					SELECT FROM pg_proc AS p WHERE p.pronamespace = schema AND p.proname = f.name)
				UNION SELECT t.name FROM unnest('{filters,health}'::text[]) AS t(name)
				WHERE NOT EXISTS (
					SELECT FROM pg_class AS c
					WHERE c.relnamespace = schema AND c.relname = t.name)) AS m(name));
		IF missing IS NOT NULL THEN
			CALL bloomexp.write_settings(feed,
				(settings || jsonb_build_object('missing', missing))::text);
		END IF;
		IF EXISTS (
			SELECT FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
			WHERE c.relnamespace = schema AND c.relname = 'filters' AND a.attname = 'user_id'
				AND (a.atttypid <> to_regtype(user_type)
					OR a.attcollation <> coalesce(to_regcollation(user_collation), 0))) THEN
			CALL bloomexp.change_user_type(feed, user_type, user_collation);
		END IF;
	END IF;
END
$$;

COMMENT ON PROCEDURE bloomexp.feed_begin IS
'the first statement of a script. Raises an error unless everything that the script names belongs '
'to roles with the rights of the caller, and an existing feed of this name has the same fixed '
'arguments. Makes the schema. If the types of columns have changed, drops the functions for the '
'old types, and changes the type of user_id';

CREATE PROCEDURE bloomexp.keep_in_row(relation regclass, "column" name)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF EXISTS (
		SELECT FROM pg_attribute AS a WHERE a.attrelid = relation AND a.attname = "column"
			AND a.attstorage <> 'p') THEN
		EXECUTE format('ALTER TABLE %s ALTER %I SET STORAGE PLAIN', relation, "column");
	END IF;
END
$$;

COMMENT ON PROCEDURE bloomexp.keep_in_row(regclass, name) IS
'sets the storage of a column to PLAIN, which CREATE TABLE cannot do before PostgreSQL 16; does '
'not lock the table if the storage is PLAIN already';

CREATE FUNCTION bloomexp.relation_oid(name text) RETURNS oid
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT c.oid FROM parse_ident(name) AS i(name)
	JOIN pg_namespace AS n ON n.nspname = i.name[1]
	JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = i.name[2]
$$;

COMMENT ON FUNCTION bloomexp.relation_oid(text) IS
'the relation with a qualified name, or NULL. Unlike to_regclass(), it does not need USAGE on the '
'schema, which readers of the view health of a feed may lack';

CREATE FUNCTION bloomexp.untracked(feed text, exposures text, OUT relation regclass, OUT event text)
RETURNS SETOF record
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT c.oid::regclass, v.event
	FROM bloomexp.tables_of(bloomexp.relation_oid(exposures)) AS t
	JOIN pg_class AS c ON c.oid = t AND c.relkind IN ('r', 'p')
	CROSS JOIN (VALUES ('INSERT', 4), ('UPDATE', 16)) AS v(event, type)
	WHERE EXISTS (SELECT FROM pg_subscription_rel AS s WHERE s.srrelid = c.oid)
		OR NOT EXISTS (	-- whatever its name: the schema may have been renamed
			SELECT FROM pg_trigger AS g
			JOIN pg_proc AS p ON p.oid = g.tgfoid AND p.proname = 'track'
			JOIN pg_namespace AS n ON n.oid = p.pronamespace AND n.nspname = feed
			WHERE g.tgrelid = c.oid AND g.tgtype = v.type AND g.tgenabled IN ('O', 'A')
				AND g.tgnewtable = 'new_rows' AND g.tgqual IS NULL)
	UNION ALL SELECT NULL, v.event FROM (VALUES ('INSERT'), ('UPDATE')) AS v(event)
	WHERE bloomexp.relation_oid(exposures) IS NULL
	ORDER BY 1, 2
$$;

COMMENT ON FUNCTION bloomexp.untracked(text, text) IS
'the tables of the exposures whose INSERT or UPDATE the feed does not see: those without an '
'enabled trigger of the feed for the event, and those that a subscription fills, which fires no '
'trigger. The table is NULL if the exposures do not exist';

CREATE FUNCTION bloomexp.lacks_trigger(feed text, relation regclass, event text) RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	trigger_name constant name := lower(event) || '_' || feed;
	our_function constant oid := (
		SELECT p.oid FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
		WHERE n.nspname = feed AND p.proname = 'track' AND p.pronargs = 0);
BEGIN
	IF has_table_privilege(relation, 'SELECT') IS NULL THEN
		RETURN false;	-- it was dropped after it was listed, maybe after the snapshot
	ELSIF EXISTS (SELECT FROM pg_trigger AS g WHERE g.tgrelid = relation AND g.tgname = trigger_name
		AND g.tgfoid <> our_function) THEN
		RAISE EXCEPTION 'trigger "%" of table % does not belong to the feed',
			trigger_name, relation
			USING ERRCODE = 'duplicate_object',
			HINT = 'Rename it, or choose another name for the feed.';
	END IF;
	RETURN EXISTS (
		SELECT FROM bloomexp.untracked(feed, relation::text) AS u
		WHERE u.relation = lacks_trigger.relation AND u.event = lacks_trigger.event
			AND NOT EXISTS (SELECT FROM pg_subscription_rel AS s WHERE s.srrelid = u.relation));
END
$$;

COMMENT ON FUNCTION bloomexp.lacks_trigger(text, regclass, text) IS
'whether a table lacks an enabled trigger of a feed for INSERT or UPDATE, and needs one: false if '
'a subscription fills the table. Raises an error if the name of that trigger is taken';

CREATE PROCEDURE bloomexp.attach_triggers(feed text, exposures regclass)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	missing record;
BEGIN
	PERFORM bloomexp.require_trusted(exposures);	-- locks it: no partition can be dropped now
	FOR missing IN
		SELECT t.relation, e.event
		FROM bloomexp.tables_of(exposures) AS t(relation)
		CROSS JOIN unnest('{INSERT,UPDATE}'::text[]) AS e(event)
		WHERE bloomexp.lacks_trigger(feed, t.relation, e.event)
		ORDER BY t.relation::text, e.event
	LOOP
		EXECUTE format('CREATE OR REPLACE TRIGGER %I AFTER %s ON %s '
			'REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION %I.track()',
			lower(missing.event) || '_' || feed, missing.event, missing.relation, feed);
	END LOOP;
END
$$;

COMMENT ON PROCEDURE bloomexp.attach_triggers(text, regclass) IS
'creates the triggers of a feed on a table and its partitions, as far as they lack them; locks '
'only tables that lack one';

CREATE PROCEDURE bloomexp.feed_distribute(feed text, exposures text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	filters constant text := quote_ident(feed) || '.filters';
	called record;
	distributed boolean;
BEGIN
	-- The functions and catalogs of Citus are in pg_catalog.
	EXECUTE 'SELECT EXISTS (SELECT FROM pg_dist_partition AS p WHERE p.logicalrelid = $1::regclass)'
	INTO distributed USING filters;
	IF NOT distributed THEN
		EXECUTE 'SELECT create_distributed_table($1::regclass, ''user_id'', colocate_with => $2)'
			USING filters, exposures;
	END IF;
	FOR called IN
		SELECT p.oid::regprocedure::text AS name
		FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
		WHERE n.nspname = feed AND p.proname IN ('current', 'unseen', 'take', 'shown')
	LOOP
		EXECUTE 'SELECT create_distributed_function('
			'$1::regprocedure, ''user_id'', colocate_with => $2)'
		USING called.name, filters;
	END LOOP;
END
$$;

COMMENT ON PROCEDURE bloomexp.feed_distribute(text, text) IS
'distributes the filters of a feed on Citus by user, in the same way as the exposures, and makes '
'current(), unseen(), take() and shown() run on the node of the user';

CREATE FUNCTION bloomexp.routines_of(schema oid, functions jsonb) RETURNS SETOF oid
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT p.oid FROM pg_proc AS p
	WHERE p.pronamespace = schema AND functions ? p.proname
		AND (p.prosecdef OR p.prokind = 'p')	-- not a routine that the owner has added
		AND pg_has_role(p.proowner, 'USAGE')
$$;

COMMENT ON FUNCTION bloomexp.routines_of(oid, jsonb) IS
'the routines of a feed that its settings name and the current user may change';

CREATE FUNCTION bloomexp.require_first_use(exposures regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- A transaction that has used a foreign server holds a lock on one of its tables.  But a lock
	-- for an INSERT into the exposures is no sign of use: the INSERT may just be calling take().
	IF EXISTS (
		SELECT FROM bloomexp.tables_of(exposures) AS t
		JOIN pg_foreign_table AS e ON e.ftrelid = t
		JOIN pg_foreign_table AS used ON used.ftserver = e.ftserver
		JOIN pg_locks AS l ON l.relation = used.ftrelid AND l.locktype = 'relation'
		WHERE l.pid = pg_backend_pid()
			AND NOT (l.mode = 'RowExclusiveLock' AND used.ftrelid = e.ftrelid)
			AND l.database = (SELECT d.oid FROM pg_database AS d
				WHERE d.datname = current_database())) THEN
		RAISE EXCEPTION 'lock() and take() must come before other reads of %', exposures
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'It is a foreign table, or has one, whose server keeps the snapshot of '
					'the first use until the transaction ends. That does not show what others '
					'have taken since.',
				HINT = 'In a transaction call only one of them, once, before other statements.';
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.require_first_use(regclass) IS
'raises an error if the exposures are, or contain, a foreign table whose server this transaction '
'has used already: the snapshot there is older than a lock that is taken now';

CREATE FUNCTION bloomexp.require_own_type(schema oid) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	problem text := (SELECT p FROM bloomexp.other_types(schema) AS p LIMIT 1);
BEGIN
	IF problem IS NOT NULL THEN
		RAISE EXCEPTION '%', problem USING ERRCODE = 'wrong_object_type',
			HINT = 'Apply what bloomexp.feed_sql() returns now.';
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.require_own_type(oid) IS
'raises an error if the filters or functions of a feed have another type bloom than that of the '
'extension';

CREATE PROCEDURE bloomexp.feed_finish(feed text, settings text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
	schema constant oid := (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = feed);
	former constant jsonb := coalesce(bloomexp.feed_settings(schema), '{"functions": {}}');
	existing constant jsonb := former -> 'functions';
	missing constant jsonb := coalesce(former -> 'missing', '[]');	-- when feed_begin() ran
	arguments constant jsonb := settings::jsonb -> 'arguments';
	all_settings jsonb;
	made record;
BEGIN
	all_settings := settings::jsonb || jsonb_build_object(
		'exposures', to_regclass(arguments ->> 'exposures')::oid::text,
		'columns', (
			SELECT jsonb_object_agg(c.name, bloomexp.column_number(
				to_regclass(arguments ->> 'exposures'), arguments ->> c.name))
			FROM (VALUES ('user_column'), ('item_column')) AS c(name)),
		'item_kind', (
			SELECT bloomexp.item_kind(c.base) FROM bloomexp.feed_columns(arguments) AS c
			WHERE c.argument = 'item_column'));
	CALL bloomexp.write_settings(feed, all_settings::text);
	-- feed_begin() has checked the type by its name, which another type can have got since.
	PERFORM bloomexp.require_own_type(schema);
	-- Without the extension a role that may create schemas could create a schema bloomexp, and the
	-- routines would call its functions.  So make DROP EXTENSION drop the routines.  Citus refuses
	-- this dependency for functions that it distributes.
	FOR made IN
		SELECT r.oid::regprocedure AS name
		FROM bloomexp.routines_of(schema, all_settings -> 'functions') AS r(oid)
		WHERE NOT EXISTS (
				SELECT FROM pg_depend AS d
				WHERE d.classid = 'pg_proc'::regclass AND d.objid = r.oid AND d.deptype = 'x')
			AND NOT EXISTS (SELECT FROM pg_extension AS x WHERE x.extname = 'citus')
	LOOP
		EXECUTE format('ALTER ROUTINE %s DEPENDS ON EXTENSION bloomexp', made.name);
	END LOOP;
	-- PUBLIC may execute functions that were just created, or restored without privileges.
	FOR made IN
		SELECT o.name, string_agg(DISTINCT CASE a.grantee
			WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END, ', ') AS grantees
		FROM (
			SELECT 'ROUTINE ' || p.oid::regprocedure,
				existing ? p.proname AND NOT missing ? p.proname,
				p.proowner, coalesce(p.proacl, acldefault('f', p.proowner))
			FROM pg_proc AS p
			WHERE p.oid IN (
					SELECT bloomexp.routines_of(schema, all_settings -> 'functions'))
				OR p.pronamespace = schema AND p.proname = 'settings' AND p.pronargs = 0
			UNION ALL SELECT 'TABLE ' || c.oid::regclass,
				existing <> '{}' AND NOT missing ? c.relname, c.relowner, c.relacl
			FROM pg_class AS c
			WHERE c.relnamespace = schema AND c.relkind IN ('r', 'v')
				AND c.relname IN ('filters', 'health')) AS o(name, existed, owner, acl),
			aclexplode(o.acl) AS a
		WHERE a.grantee <> o.owner AND (NOT o.existed OR a.grantee = 0 AND o.name LIKE 'ROUTINE %')
		GROUP BY o.name
	LOOP
		EXECUTE format('REVOKE ALL ON %s FROM %s', made.name, made.grantees);
	END LOOP;
END
$$;

COMMENT ON PROCEDURE bloomexp.feed_finish(text, text) IS
'the last statement of a script: revokes all grants on objects that the script has created, and '
'grants to PUBLIC on routines that existed before; lets DROP EXTENSION drop the routines; checks '
'the type of the filters; and writes settings()';
