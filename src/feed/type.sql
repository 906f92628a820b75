CREATE FUNCTION bloom_feed_type(
	type oid,
	"collation" oid,
	OUT base oid,	-- the type, or the one that it is a domain or an array of
	OUT arrays integer,	-- how often an array
	OUT chain oid[],	-- the types that lead from the base to the type
	OUT name text,	-- of the base, qualified unless it is a keyword
	OUT collate_clause text,
	OUT operators jsonb)	-- of the base, by their strategy in its B-tree; NULL if it has none
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
AS $function$
	WITH RECURSIVE d(oid, level, arrays) AS (
		SELECT type, 0, 0 UNION ALL
		SELECT CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.typelem END, d.level + 1, d.arrays + (t.typtype <> 'd')::integer
		FROM d JOIN pg_type t ON t.oid = d.oid WHERE t.typtype = 'd' OR t.typcategory = 'A'),
	chain AS (SELECT array_agg(d.oid ORDER BY d.level DESC) AS types, max(d.arrays) AS arrays FROM d)
	SELECT t.oid, chain.arrays, chain.types,
		-- format_type() would make character and bit of length 1 of bpchar and bit
		CASE WHEN t.oid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) THEN format_type(t.oid, NULL) ELSE format('%I.%I', tn.nspname, t.typname) END,
		coalesce((SELECT format(' COLLATE %I.%I', n.nspname, c.collname)
			FROM pg_collation c JOIN pg_namespace n ON n.oid = c.collnamespace WHERE c.oid = "collation"), ''),
		-- whatever a B-tree can order, with the operators that it orders by
		(SELECT jsonb_object_agg(p.amopstrategy, CASE n.nspname WHEN 'pg_catalog' THEN o.oprname ELSE format('OPERATOR(%I.%s)', n.nspname, o.oprname) END)
		FROM (
			SELECT c.opcfamily, c.opcintype
			FROM pg_opclass c
			WHERE c.opcdefault AND c.opcmethod = (SELECT m.oid FROM pg_am m WHERE m.amname = 'btree') AND (c.opcintype = t.oid
				OR c.opcintype::regtype::text = CASE t.typtype WHEN 'e' THEN 'anyenum' WHEN 'r' THEN 'anyrange' WHEN 'm' THEN 'anymultirange' END
				OR EXISTS (SELECT FROM pg_cast k WHERE k.castsource = t.oid AND k.casttarget = c.opcintype AND k.castmethod = 'b' AND k.castcontext = 'i'))
			ORDER BY c.opcintype = t.oid DESC LIMIT 1) AS c
		JOIN pg_amop p ON p.amopfamily = c.opcfamily AND p.amoplefttype = c.opcintype AND p.amoprighttype = c.opcintype AND p.amoppurpose = 's'
		JOIN pg_operator o ON o.oid = p.amopopr JOIN pg_namespace n ON n.oid = o.oprnamespace
		WHERE t.typtype <> 'c')
	FROM chain JOIN pg_type t ON t.oid = chain.types[1] JOIN pg_namespace tn ON tn.oid = t.typnamespace
$function$;

COMMENT ON FUNCTION bloom_feed_type(oid, oid) IS
'internal: how a script names a type and its collation and compares its values; looks into the catalogs only';
