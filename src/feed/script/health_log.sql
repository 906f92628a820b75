-- For monitoring: how many users, the bytes of their rows' filters and hashes, the largest target
-- rate and the largest rate at present, how many filters are above {alarming_fpr}, the oldest
-- rebuild of one; no table lacks a trigger, because the feed needs none; and how many users no
-- rebuild has come to yet.
CREATE OR REPLACE VIEW {feed}.health AS
SELECT pg_catalog.count(*) AS users,
	pg_catalog.sum(coalesce(pg_catalog.pg_column_size(f.items), 0)
		OPERATOR(pg_catalog.+) pg_catalog.pg_column_size(f.recent)) AS bytes,
	pg_catalog.max(i.fpr) AS fpr_target_max,
	pg_catalog.max(i.fpr_now) AS fpr_max,
	pg_catalog.count(*) FILTER (WHERE i.fpr_now OPERATOR(pg_catalog.>) {alarming_fpr}) AS above_fpr,
	pg_catalog.min(f.filled_until) AS oldest_filled_until,
	0::bigint AS untracked,
	pg_catalog.count(*) FILTER (WHERE f.filled_until IS NULL) AS never_filled
FROM {feed}.filters AS f LEFT JOIN LATERAL bloomexp.info(f.items) AS i ON true;
