-- For monitoring: how many users, the bytes of their rows' filters and hashes, the largest target
-- rate and the largest rate at present, how many filters are above {alarming_fpr}, and how many
-- users expire() would remove.
CREATE OR REPLACE VIEW {feed}.health AS
SELECT pg_catalog.count(*) AS users,
	pg_catalog.sum(coalesce(pg_catalog.pg_column_size(f.items), 0)
		OPERATOR(pg_catalog.+) pg_catalog.pg_column_size(f.recent)) AS bytes,
	pg_catalog.max(i.fpr) AS fpr_target_max,
	pg_catalog.max(i.fpr_now) AS fpr_max,
	pg_catalog.count(*) FILTER (WHERE i.fpr_now OPERATOR(pg_catalog.>) {alarming_fpr}) AS above_fpr,
	pg_catalog.count(*) FILTER (WHERE coalesce(f.since OPERATOR(pg_catalog.<)
		bloomexp.oldest_slice(current_timestamp, {width}, {slices}), f.items IS NULL)) AS expired
FROM {feed}.filters AS f
LEFT JOIN LATERAL bloomexp.info(bloomexp.expire(f.items, current_timestamp)) AS i ON true;
