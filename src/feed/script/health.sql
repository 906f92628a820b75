-- For monitoring: how many users, the bytes of their filters, the largest target rate and the
-- largest rate at present, and how many filters are above {alarming_fpr}.
CREATE OR REPLACE VIEW {feed}.health AS
SELECT pg_catalog.count(*) AS users,
	pg_catalog.sum({bytes_stored}) AS bytes,
	pg_catalog.max(i.fpr) AS fpr_target_max,
	pg_catalog.max(i.fpr_now) AS fpr_max,
	pg_catalog.count(*) FILTER (WHERE i.fpr_now OPERATOR(pg_catalog.>) {alarming_fpr}) AS above_fpr{health_of_kind}
FROM {feed}.filters AS f LEFT JOIN LATERAL {bloom}.bloom_info({filter_now}) AS i ON true;
