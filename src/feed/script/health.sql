--- health
-- For monitoring: how many users, the bytes of their filters, the largest target rate and the
-- largest rate at present, and how many filters are above {alarming_fpr}.
CREATE OR REPLACE VIEW {feed}.health AS
SELECT pg_catalog.count(*) AS users,
	pg_catalog.sum({bytes_stored}) AS bytes,
	pg_catalog.max(i.fpr) AS fpr_target_max,
	pg_catalog.max(i.fpr_now) AS fpr_max,
	pg_catalog.count(*) FILTER (WHERE i.fpr_now OPERATOR(pg_catalog.>) {alarming_fpr}) AS above_fpr
{health_of_kind}
FROM {feed}.filters AS f LEFT JOIN LATERAL {bloom}.bloom_info({filter_now}) AS i ON true;

--- health_of_kind table
	, pg_catalog.min(f.filled_until) AS oldest_filled_until	-- the oldest rebuild of a filter
{untracked}
--- untracked trigger
	-- how many tables of exposures lack the trigger, or are filled by a subscription, which fires none
	, (WITH RECURSIVE tree(oid) AS (
		SELECT pg_catalog.to_regclass({exposures_literal})::pg_catalog.oid
		UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i JOIN tree AS t ON i.inhparent OPERATOR(pg_catalog.=) t.oid)
	SELECT pg_catalog.count(*) FROM tree AS t
	WHERE EXISTS (SELECT FROM pg_catalog.pg_subscription_rel AS s WHERE s.srrelid OPERATOR(pg_catalog.=) t.oid)
		OR ((SELECT /* bits of INSERT and UPDATE */ coalesce(pg_catalog.bit_or(g.tgtype), 0::smallint)
		FROM pg_catalog.pg_trigger AS g
		WHERE g.tgrelid OPERATOR(pg_catalog.=) t.oid AND g.tgfoid OPERATOR(pg_catalog.=) {track_literal}::pg_catalog.regproc
			AND g.tgenabled OPERATOR(pg_catalog.=) ANY (ARRAY['O', 'A']::pg_catalog."char"[]))
		OPERATOR(pg_catalog.&) 20::smallint) OPERATOR(pg_catalog.<>) 20) AS untracked
--- untracked log
	, 0::bigint AS untracked

--- health_of_kind windowed
	, pg_catalog.count(*) FILTER (WHERE coalesce(f.since OPERATOR(pg_catalog.<=) (current_timestamp
		OPERATOR(pg_catalog.-) interval {hours} OPERATOR(pg_catalog.-) interval {slice_hours}), (f.items, f.recent) IS NULL)) AS expired	-- by expire()

--- bytes_stored
pg_catalog.pg_column_size(f.items)
--- bytes_stored windowed
coalesce(pg_catalog.pg_column_size(f.items), 0) OPERATOR(pg_catalog.+) coalesce(pg_catalog.pg_column_size(f.recent), 0)
