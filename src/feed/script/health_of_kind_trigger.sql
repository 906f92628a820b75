,
	pg_catalog.min(f.filled_until) AS oldest_filled_until,	-- the oldest rebuild of a filter
	-- how many tables of exposures lack the trigger, or are filled by a subscription, which fires none
	(WITH RECURSIVE tree(oid) AS (
		SELECT pg_catalog.to_regclass({exposures_literal})::pg_catalog.oid
		UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i JOIN tree AS t ON i.inhparent OPERATOR(pg_catalog.=) t.oid)
	SELECT pg_catalog.count(*) FROM tree AS t
	WHERE EXISTS (SELECT FROM pg_catalog.pg_subscription_rel AS s WHERE s.srrelid OPERATOR(pg_catalog.=) t.oid)
		OR ((SELECT /* bits of INSERT and UPDATE */ coalesce(pg_catalog.bit_or(g.tgtype), 0::smallint)
		FROM pg_catalog.pg_trigger AS g
		WHERE g.tgrelid OPERATOR(pg_catalog.=) t.oid AND g.tgfoid OPERATOR(pg_catalog.=) {track_literal}::pg_catalog.regproc
			AND g.tgenabled OPERATOR(pg_catalog.=) ANY (ARRAY['O', 'A']::pg_catalog."char"[]))
		OPERATOR(pg_catalog.&) 20::smallint) OPERATOR(pg_catalog.<>) 20) AS untracked
