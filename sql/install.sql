--
-- Installing: by which roles, into which schema, and with which other extensions.  It has a
-- database of its own, so that the other tests keep their extension.
-- test/t/034_install_script.pl sees that the script makes nothing that would stay behind.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS regress_bloomexp;
DROP ROLE IF EXISTS regress_bloomexp_owner, regress_bloomexp_guest;
RESET client_min_messages;
CREATE ROLE regress_bloomexp_owner;
CREATE ROLE regress_bloomexp_guest;
CREATE DATABASE regress_bloomexp TEMPLATE template0;
GRANT CREATE ON DATABASE regress_bloomexp TO regress_bloomexp_owner;
\set old_database :DBNAME
\c regress_bloomexp

-- a user needs no more than CREATE on the database: the extension is trusted
SET ROLE regress_bloomexp_owner;
CREATE SCHEMA shelf;
CREATE SCHEMA other;
GRANT USAGE ON SCHEMA shelf, other TO regress_bloomexp_guest;
RESET ROLE;
SET ROLE regress_bloomexp_guest;
\set VERBOSITY terse
CREATE EXTENSION bloomexp SCHEMA shelf;
\set VERBOSITY default
SET ROLE regress_bloomexp_owner;
CREATE EXTENSION bloomexp SCHEMA shelf;
SELECT extname, extversion, extrelocatable, nspname, pg_get_userbyid(extowner) AS owner
FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace
WHERE extname = 'bloomexp';
RESET ROLE;

-- It requires no other extension.  The query does not read pg_available_extension_versions: Debian
-- tests a package before it is installed, in a folder named by extension_destdir, below which that
-- view does not look.
SELECT r.extname AS requires
FROM pg_extension e
	JOIN pg_depend d ON d.classid = 'pg_extension'::regclass AND d.objid = e.oid
	JOIN pg_extension r ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = r.oid
WHERE e.extname = 'bloomexp';

-- everybody may use it, by qualified names if its schema is not in the path
SET ROLE regress_bloomexp_guest;
SELECT shelf.bloom_contains(shelf.bloom_add(NULL, 7), 7);
SELECT shelf.bloom_add(NULL, 7) OPERATOR(shelf.@>) 7 AS contains;
SELECT NULL::shelf.bloom IS NULL AS is_null;
\set VERBOSITY terse
SELECT bloom_new();
\set VERBOSITY default
RESET ROLE;

-- pg_dump would copy tables only if they were marked: the only one has no rows, and nobody can
-- write any
SELECT objid::regclass AS relation FROM pg_depend d
WHERE refclassid = 'pg_extension'::regclass
	AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'bloomexp')
	AND classid = 'pg_class'::regclass;

-- What feeds call is in a schema of its own.  It belongs to a superuser, whoever created the
-- extension: so nobody else can put functions there that fit a call better.
SELECT n.nspname, r.rolsuper AS of_superuser,
	has_schema_privilege('regress_bloomexp_guest', n.oid, 'USAGE') AS usable
FROM pg_namespace n JOIN pg_roles r ON r.oid = n.nspowner WHERE n.nspname = 'bloomexp';
SET ROLE regress_bloomexp_owner;
CREATE FUNCTION bloomexp.more() RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE OR REPLACE FUNCTION bloomexp.trusted(role oid, owner oid) RETURNS boolean
LANGUAGE sql AS 'SELECT true';
DROP FUNCTION bloomexp.trusted(oid, oid);
GRANT CREATE ON SCHEMA bloomexp TO regress_bloomexp_owner;
ALTER SCHEMA bloomexp RENAME TO mine;
DROP SCHEMA bloomexp CASCADE;
INSERT INTO bloomexp.new_rows DEFAULT VALUES;
ALTER TABLE bloomexp.new_rows ADD user_id bigint;
RESET ROLE;
SELECT has_schema_privilege('regress_bloomexp_owner', 'bloomexp', 'CREATE') AS may_create;

-- the extension stays in its schema, because functions in the schema bloomexp name it
ALTER EXTENSION bloomexp SET SCHEMA other;

-- tables and views of other schemas use it
SET ROLE regress_bloomexp_owner;
CREATE TABLE other.seen (user_id bigint PRIMARY KEY, items shelf.bloom);
INSERT INTO other.seen SELECT 1, shelf.bloom_agg(i) FROM generate_series(1, 1000) i;
CREATE VIEW other.fresh AS
	SELECT i FROM other.seen, shelf.bloom_exclude('{1,1000,5000,6000}'::int[], items) i;
RESET ROLE;
SELECT * FROM other.fresh;

-- the aggregates, the operators, the planner support function and the hash class find their parts
SET search_path = shelf;
SELECT items @> 1000 AS has_1000, items @> 5000 AS has_5000 FROM other.seen;
SELECT bloom_union_agg(items) = bloom_union(NULL, min(items::text)::bloom) AS same FROM other.seen;
SELECT '{3,4}'::int[] - bloom_agg(3) AS minus;
SELECT count(*) FROM bloom_exclude('{3,4}'::int[], bloom_add(NULL, 3));
SELECT count(*) FROM (SELECT items FROM other.seen GROUP BY items) AS grouped;
-- a feed finds its parts, too, with none of them in the path
SET search_path = '';
SET ROLE regress_bloomexp_owner;
SELECT bloomexp.create_feed('feed');
SELECT feed.add(1, '{1}');
SELECT feed.take(1, '{1,2}');
SELECT feed, command, problems FROM bloomexp.feeds();
SET client_min_messages = warning;
DROP SCHEMA feed CASCADE;
RESET client_min_messages;
RESET ROLE;
RESET search_path;

-- without CASCADE a table's filters are safe
SET ROLE regress_bloomexp_owner;
\set VERBOSITY terse
DROP EXTENSION bloomexp;
\set VERBOSITY default
DROP VIEW other.fresh;
DROP TABLE other.seen;
RESET ROLE;

--
-- What it brings along
--
SET search_path = shelf;
CREATE VIEW members AS
	SELECT p.*
	FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
	WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
		AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'bloomexp');

-- of each of these catalogs there are objects
SELECT DISTINCT d.classid::regclass::text COLLATE "C" AS catalog
FROM pg_depend d
WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'bloomexp')
ORDER BY catalog;

-- Every object has a comment.  A type's array, the row type of a table, the rows of an operator
-- class and the like belong to another object and need none; some versions list these types.
SELECT pg_describe_object(d.classid, d.objid, 0) AS without_comment
FROM pg_depend d
WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'bloomexp')
	AND NOT EXISTS (SELECT FROM pg_description c
					WHERE c.classoid = d.classid AND c.objoid = d.objid AND c.objsubid = 0)
	AND NOT EXISTS (SELECT FROM pg_type t
					WHERE d.classid = 'pg_type'::regclass AND t.oid = d.objid
						AND (t.typcategory = 'A' OR EXISTS (
							SELECT FROM pg_class r WHERE r.oid = t.typrelid AND r.relkind <> 'c')))
ORDER BY pg_describe_object(d.classid, d.objid, 0) COLLATE "C";

-- functions are immutable and parallel safe, but for these
SELECT provolatile, proparallel, oid::regprocedure FROM members
WHERE provolatile <> 'i' OR proparallel <> 's'
ORDER BY oid::regprocedure::text COLLATE "C";

-- none has the rights of its owner
SELECT oid::regprocedure FROM members WHERE prosecdef;

-- Functions that are not in C have a search_path of their own, the others have none.  The listed
-- ones qualify all names, so that they can be inlined, or call nothing; the procedures among them
-- commit, and set the search_path in each of their transactions.
SELECT p.oid::regprocedure, lanname, proconfig
FROM members p JOIN pg_language l ON l.oid = prolang
WHERE CASE WHEN lanname IN ('sql', 'plpgsql')
	THEN (proconfig @> '{"search_path=pg_catalog, pg_temp"}') IS NOT TRUE
	ELSE proconfig IS NOT NULL END
ORDER BY p.oid::regprocedure::text COLLATE "C";

-- none has the name of a server's function, so that no search_path makes a difference
SELECT oid::regprocedure FROM members
WHERE pronamespace <> 'bloomexp'::regnamespace	-- which is in nobody's path
	AND proname IN (SELECT proname FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace);

-- their symbols are their own: the server exports some that begin with bloom
SELECT p.oid::regprocedure, prosrc
FROM members p JOIN pg_language l ON l.oid = prolang
WHERE lanname = 'c' AND prosrc !~ '^bloomexp_';

-- aggregates can be split by a parallel or a distributed plan
SELECT p.oid::regprocedure FROM members p JOIN pg_aggregate ON aggfnoid = p.oid
WHERE aggcombinefn = 0
	OR aggtranstype = 'internal'::regtype AND (aggserialfn = 0 OR aggdeserialfn = 0);

-- the state of bloom_union_agg is a filter, as Citus wants it
SELECT p.oid::regprocedure, aggtranstype::regtype
FROM members p JOIN pg_aggregate ON aggfnoid = p.oid
WHERE aggtranstype <> 'internal'::regtype;

-- the sanity of operators and the hash class, as the server's own tests see it
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'bloom_ops';
SELECT o.oid::regoperator AS operator, p.proname AS function, c.oid::regoperator AS commutator,
	n.oid::regoperator AS negator, o.oprcanhash AS hash, o.oprrest, o.oprjoin
FROM pg_operator o JOIN members p ON p.oid = o.oprcode
	LEFT JOIN pg_operator c ON c.oid = o.oprcom
	LEFT JOIN pg_operator n ON n.oid = o.oprnegate
ORDER BY o.oid::regoperator::text COLLATE "C";
DROP VIEW members;

-- both casts are explicit
SELECT castsource::regtype, casttarget::regtype, castfunc::regprocedure, castcontext FROM pg_cast
WHERE 'bloom'::regtype IN (castsource, casttarget)
ORDER BY castsource::regtype::text;

-- the type
SELECT typname, typlen, typalign, typstorage, typcategory, typispreferred, typcollation
FROM pg_type WHERE oid = 'bloom'::regtype;
RESET search_path;

SET ROLE regress_bloomexp_owner;
DROP EXTENSION bloomexp;
RESET ROLE;

-- a schema of that name that is somebody's is a clear error
CREATE SCHEMA bloomexp;
\set VERBOSITY terse
CREATE EXTENSION bloomexp;
\set VERBOSITY default
DROP SCHEMA bloomexp;

--
-- Beside contrib's bloom, which is an index access method of the same name
--
CREATE EXTENSION bloomexp;
CREATE TABLE t (a int, b int, seen bloom);
INSERT INTO t SELECT i, i % 100, bloom_add(NULL, i) FROM generate_series(1, 1000) i;
CREATE INDEX t_hash ON t USING hash (seen);
-- not every server has contrib
SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'bloom') AS has_contrib \gset
\if :has_contrib
CREATE EXTENSION bloom;
CREATE INDEX t_bloom ON t USING bloom (a, b);
\endif
SET enable_seqscan = off;
SELECT a FROM t WHERE a = 77 AND b = 77;
SELECT a FROM t WHERE seen = bloom_add(NULL, 77);
SELECT seen @> 77 AS seen FROM t WHERE a = 77;
RESET enable_seqscan;
\if :has_contrib
DROP INDEX t_bloom;
DROP EXTENSION bloom;
\endif
SELECT count(*) FROM t WHERE seen @> a;

-- Everybody may use the extension even if default privileges grant nothing, and nobody may create
-- in its schema even if they grant everything.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE USAGE ON TYPES FROM PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO regress_bloomexp_guest;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO regress_bloomexp_guest;
CREATE SCHEMA hardened;
DROP EXTENSION bloomexp CASCADE;
CREATE EXTENSION bloomexp SCHEMA hardened;
SELECT count(*) > 100 AS some, bool_and(has_function_privilege('public', p.oid, 'EXECUTE')) AS all
FROM pg_proc AS p JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
JOIN pg_extension AS x ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = x.oid
WHERE x.extname = 'bloomexp';
SELECT has_schema_privilege('regress_bloomexp_guest', 'bloomexp', 'USAGE') AS usage,
	has_schema_privilege('regress_bloomexp_guest', 'bloomexp', 'CREATE') AS create,
	has_table_privilege('regress_bloomexp_guest', 'bloomexp.new_rows', 'INSERT, TRIGGER')
		AS new_rows;
SELECT has_type_privilege('public', 'hardened.bloom', 'USAGE') AS type,
	has_type_privilege('public', 'bloomexp.row_settings', 'USAGE') AS settings;
ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT USAGE ON TYPES TO PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON SCHEMAS FROM regress_bloomexp_guest;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM regress_bloomexp_guest;
ALTER TABLE t ADD seen hardened.bloom;

-- with CASCADE the columns of the type go
DROP EXTENSION bloomexp CASCADE;
SELECT attname FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 AND NOT attisdropped;

\c :old_database
-- DROP DATABASE waits for its last session, but not for long
DO $$
BEGIN
	WHILE EXISTS (SELECT FROM pg_stat_activity WHERE datname = 'regress_bloomexp') LOOP
		PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
	END LOOP;
END
$$;
DROP DATABASE regress_bloomexp;
DROP ROLE regress_bloomexp_owner, regress_bloomexp_guest;
