(WITH RECURSIVE tree(oid) AS (
		SELECT pg_catalog.to_regclass({exposures_literal})::pg_catalog.oid
		UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i JOIN tree AS t ON i.inhparent OPERATOR(pg_catalog.=) t.oid)
	SELECT pg_catalog.count(*) FROM tree AS t WHERE NOT EXISTS (
		SELECT FROM pg_catalog.pg_trigger AS g
		WHERE g.tgrelid OPERATOR(pg_catalog.=) t.oid AND g.tgfoid OPERATOR(pg_catalog.=) {track_literal}::pg_catalog.regproc
			AND g.tgenabled OPERATOR(pg_catalog.<>) ALL (ARRAY['D', 'R']::"char"[]) AND g.tgtype OPERATOR(pg_catalog.&) 4 OPERATOR(pg_catalog.<>) 0))
