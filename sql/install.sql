--
-- Installing: by which roles, into which schema, and with which other extensions.  It has a
-- database of its own, so that the other tests keep their extension.
-- test/t/034_install_script.pl sees that the script makes nothing that would stay behind.
--
\pset format unaligned \pset tuples_only on
SET client_min_messages = warning;
DROP DATABASE IF EXISTS regress_bloomexp;
DROP ROLE IF EXISTS regress_bloomexp_owner, regress_bloomexp_guest;
CREATE ROLE regress_bloomexp_owner;
CREATE ROLE regress_bloomexp_guest;
CREATE DATABASE regress_bloomexp TEMPLATE template0;
GRANT CREATE ON DATABASE regress_bloomexp TO regress_bloomexp_owner;
\set old_database :DBNAME
\c regress_bloomexp
SET client_min_messages = warning;

-- A user needs no more than CREATE on the database: the extension is trusted.
SET ROLE regress_bloomexp_owner;
CREATE SCHEMA shelf;
CREATE SCHEMA other;
GRANT USAGE ON SCHEMA shelf, other TO regress_bloomexp_guest;
RESET ROLE;

\set VERBOSITY terse
SET ROLE regress_bloomexp_guest;
CREATE EXTENSION bloomexp SCHEMA shelf;
\set VERBOSITY default
SET ROLE regress_bloomexp_owner;
CREATE EXTENSION bloomexp SCHEMA shelf;
SELECT extname, extversion, extrelocatable, nspname AS schema, pg_get_userbyid(extowner) AS owner
FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace
WHERE extname = 'bloomexp';
RESET ROLE;
-- The query does not read pg_available_extension_versions: Debian tests a package before it is
-- installed, in a folder named by extension_destdir, below which that view does not look.
SELECT r.extname AS requires
FROM pg_extension e JOIN pg_depend d ON d.classid = 'pg_extension'::regclass AND d.objid = e.oid
	JOIN pg_extension r ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = r.oid
WHERE e.extname = 'bloomexp';

-- Everybody may use it, by qualified names if its schema is not in the path.
SET ROLE regress_bloomexp_guest;
SELECT shelf.bloom_contains(shelf.bloom_add(NULL, 7), 7),
	shelf.bloom_add(NULL, 7) OPERATOR(shelf.@>) 7,
	NULL::shelf.bloom IS NULL;
\set VERBOSITY terse
SELECT bloom_new();
\set VERBOSITY default
RESET ROLE;

-- Its tables, views and so on would be copied by pg_dump only if marked: there are none.
SELECT count(*) FROM pg_depend d
WHERE refclassid = 'pg_extension'::regclass
	AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'bloomexp')
	AND classid = 'pg_class'::regclass;

-- What feeds call is in a schema of its own.  It belongs to a superuser, whoever created the
-- extension: so nobody else can put functions there that fit a call better.
SELECT n.nspname, r.rolsuper AS of_superuser, has_schema_privilege('regress_bloomexp_guest', n.oid,
	'USAGE') AS usable
FROM pg_namespace AS n JOIN pg_roles AS r ON r.oid = n.nspowner WHERE n.nspname = 'bloomexp';
SET ROLE regress_bloomexp_owner;
CREATE FUNCTION bloomexp.more() RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE OR REPLACE FUNCTION bloomexp.trusted(role oid, owner oid) RETURNS boolean
LANGUAGE sql AS 'SELECT true';
DROP FUNCTION bloomexp.trusted(oid, oid);
GRANT CREATE ON SCHEMA bloomexp TO regress_bloomexp_owner;
ALTER SCHEMA bloomexp RENAME TO mine;
DROP SCHEMA bloomexp CASCADE;
RESET ROLE;
SELECT has_schema_privilege('regress_bloomexp_owner', 'bloomexp', 'CREATE') AS may_create;

-- It does not move: what is in that schema names the one of the type.
ALTER EXTENSION bloomexp SET SCHEMA other;
-- Where it is not in public, all find their parts: the aggregates, the operators, the planner
-- support function and the hash class.
SET ROLE regress_bloomexp_owner;
CREATE TABLE other.seen (user_id bigint PRIMARY KEY, items shelf.bloom);
INSERT INTO other.seen SELECT 1, shelf.bloom_agg(i) FROM generate_series(1, 1000) i;
CREATE VIEW other.fresh AS
	SELECT i FROM other.seen, shelf.bloom_exclude('{1,1000,5000,6000}'::int[], items) i;
RESET ROLE;
SET search_path = other, shelf;
SELECT items @> 1000, items @> 5000, pg_typeof(items) FROM seen;
SELECT * FROM fresh;
SELECT bloom_union_agg(f) = bloom_union(NULL, min(f::text)::bloom),
	count(DISTINCT f::text), '{3,4}'::int[] - bloom_agg(3)
FROM (SELECT bloom_agg(i) AS f FROM generate_series(1, 9) i) AS one;
SELECT count(*) FROM (SELECT items FROM seen GROUP BY items) AS grouped;
-- A feed does, too, with none of it in the path.
SET search_path = '';
SET ROLE regress_bloomexp_owner;
SELECT shelf.bloom_create_feed('feed');
SELECT feed.add(1, '{1}');
SELECT feed.take(1, '{1,2}');
SELECT feed, command, problems FROM shelf.bloom_feeds();
DROP SCHEMA feed CASCADE;
RESET ROLE;
RESET search_path;

-- Without CASCADE a table's filters are safe.
SET ROLE regress_bloomexp_owner;
\set VERBOSITY terse
DROP EXTENSION bloomexp;
\set VERBOSITY default
DROP VIEW other.fresh;
DROP TABLE other.seen;
RESET ROLE;

-- What it brings along
SET search_path = shelf;

CREATE VIEW members AS
	SELECT p.* FROM pg_proc p JOIN pg_depend d
		ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
	WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
		AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'bloomexp');

\set by_name 'ORDER BY p.oid::regprocedure::text COLLATE "C"'

-- Every object has a comment.  A type's array, the rows of an operator class and the like belong
-- to another object and need none; some versions list the array.
SELECT pg_describe_object(d.classid, d.objid, 0) AS without_comment
FROM pg_depend d
WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'bloomexp')
	AND NOT EXISTS (SELECT FROM pg_description c WHERE c.classoid = d.classid AND c.objoid = d.objid
		AND c.objsubid = 0)
	AND NOT EXISTS (SELECT FROM pg_type t
		WHERE d.classid = 'pg_type'::regclass AND t.oid = d.objid AND t.typcategory = 'A')
ORDER BY pg_describe_object(d.classid, d.objid, 0) COLLATE "C";
-- There are such objects, so the list above is not empty for want of them.
SELECT d.classid::regclass AS catalog, count(*) > 0 AS some
FROM pg_depend d
WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'bloomexp')
GROUP BY d.classid ORDER BY d.classid::regclass::text COLLATE "C";

-- Rules for functions.  What keeps one not has a reason: fold() and info() name all that they call
-- in full, so that they become part of a query; feed_templates() calls nothing; what makes a feed
-- reads catalogs.  A name of ours is no name of the server's, so that no search_path makes a
-- difference; and the server exports other symbols that begin with bloom.
SELECT rule, p.oid::regprocedure AS exception
FROM members p JOIN pg_language l ON l.oid = prolang LEFT JOIN pg_aggregate ON aggfnoid = p.oid,
	LATERAL (VALUES
	('immutable and parallel safe: not ' || provolatile::text || ' and ' || proparallel::text,
		provolatile = 'i' AND proparallel = 's' OR pronamespace = 'bloomexp'::regnamespace),
	('not with the rights of its owner', NOT prosecdef),
	('a search_path of its own, if not in C', CASE WHEN lanname IN ('sql', 'plpgsql')
		THEN proconfig @> '{"search_path=pg_catalog, pg_temp"}' ELSE proconfig IS NULL END),
	('a name of its own', pronamespace = 'bloomexp'::regnamespace
		OR NOT EXISTS (SELECT FROM pg_proc o WHERE o.proname = p.proname
			AND o.pronamespace = 'pg_catalog'::regnamespace)),
	('a symbol of its own', lanname <> 'c' OR prosrc ~ '^bloomexp_'),
	('split by a parallel or a distributed plan', prokind <> 'a' OR aggcombinefn <> 0
		AND (aggtranstype <> 'internal'::regtype OR aggserialfn <> 0
			AND aggdeserialfn <> 0))) AS r (rule, kept)
WHERE kept IS NOT TRUE
ORDER BY 1, p.oid::regprocedure::text COLLATE "C";
-- Of those that feeds call, and that make their scripts, the ones that are not immutable.
SELECT p.oid::regproc, provolatile, proparallel FROM members p
WHERE pronamespace = 'bloomexp'::regnamespace AND NOT (provolatile = 'i' AND proparallel = 's')
ORDER BY p.oid::regproc::text COLLATE "C";
-- The state of bloom_union_agg is a filter, as Citus wants it.
SELECT p.oid::regprocedure AS aggregate, aggtranstype::regtype
FROM members p JOIN pg_aggregate ON aggfnoid = p.oid
WHERE aggtranstype <> 'internal'::regtype
:by_name;

-- The sanity of operators and the hash class, as the server's own tests see it.
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'bloom_ops';
SELECT o.oid::regoperator AS operator, o.oprcode::regproc AS function,
	c.oid::regoperator AS commutator,
	n.oid::regoperator AS negator, o.oprcanhash AS hash, o.oprrest, o.oprjoin
FROM pg_operator o LEFT JOIN pg_operator c ON c.oid = o.oprcom LEFT JOIN pg_operator n
	ON n.oid = o.oprnegate
WHERE o.oprcode IN (SELECT oid FROM members)
ORDER BY o.oid::regoperator::text COLLATE "C";
DROP VIEW members;

-- Casts are explicit, both of them.
SELECT castsource::regtype, casttarget::regtype, castcontext FROM pg_cast
WHERE 'bloom'::regtype IN (castsource, casttarget)
ORDER BY castsource::regtype::text;

SELECT typname, typlen, typalign, typstorage, typcategory, typispreferred, typcollation
FROM pg_type WHERE oid = 'bloom'::regtype;
RESET search_path;

SET ROLE regress_bloomexp_owner;
DROP EXTENSION bloomexp;
RESET ROLE;

-- A schema of that name that is somebody's is a clear error.
CREATE SCHEMA bloomexp;
CREATE EXTENSION bloomexp;
DROP SCHEMA bloomexp;

-- Beside contrib's bloom, which is an index access method of the same name
CREATE EXTENSION bloomexp;
CREATE TABLE t (a int, b int, seen bloom);
INSERT INTO t SELECT i, i % 100, bloom_add(NULL, i) FROM generate_series(1, 1000) i;
CREATE INDEX t_hash ON t USING hash (seen);
-- This is a DO block, because not every server has contrib.
DO $$
BEGIN
	IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'bloom') THEN
		CREATE EXTENSION bloom;
		CREATE INDEX t_bloom ON t USING bloom (a, b);
	END IF;
END
$$;
SET enable_seqscan = off;
SELECT a FROM t WHERE a = 77 AND b = 77;
SELECT a FROM t WHERE seen = bloom_add(NULL, 77);
SELECT seen @> 77 AS seen FROM t WHERE a = 77;
RESET enable_seqscan;
DROP EXTENSION IF EXISTS bloom CASCADE;
SELECT count(*) FROM t WHERE seen @> a;
DROP EXTENSION bloomexp CASCADE;
SELECT attname FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 AND NOT attisdropped;

\c :old_database
-- DROP DATABASE waits for its last session, but not for long.
DO $$ BEGIN WHILE EXISTS (SELECT FROM pg_stat_activity WHERE datname = 'regress_bloomexp') LOOP
	PERFORM pg_sleep(0.01), pg_stat_clear_snapshot(); END LOOP; END $$;
DROP DATABASE regress_bloomexp;
DROP ROLE regress_bloomexp_owner, regress_bloomexp_guest;
