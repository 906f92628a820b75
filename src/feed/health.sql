
-- For monitoring: filters, their bytes, the largest target rate and the largest rate at
-- present, how many are above {alarming_fpr}, the oldest rebuild of a filter, and how many exposures
-- tables lack the trigger.
CREATE OR REPLACE VIEW {feed}.health AS
SELECT pg_catalog.count(*) AS users,
	pg_catalog.sum(pg_catalog.pg_column_size(f.items)) AS bytes,
	pg_catalog.max(i.fpr) AS fpr_target_max,
	pg_catalog.max(i.fpr_now) AS fpr_max,
	pg_catalog.count(*) FILTER (WHERE i.fpr_now OPERATOR(pg_catalog.>) {alarming_fpr}) AS above_fpr,
	pg_catalog.min(f.filled_until) AS oldest_filled_until,
	{untracked} AS untracked
FROM {feed}.filters AS f LEFT JOIN LATERAL {bloom}.bloom_info(f.items) AS i ON true;
