--
-- The state of a table of filters.
--
-- VOLATILE because a sample is another one each time.
--

CREATE FUNCTION bloom_overview(
	target regclass,
	filter_column name DEFAULT NULL,
	sample_percent double precision DEFAULT 100,
	rebuilt_at_column name DEFAULT NULL,
	OUT users bigint,
	OUT items bigint,
	OUT bytes bigint,
	OUT bytes_p50 bigint,
	OUT bytes_p99 bigint,
	OUT over_capacity double precision,
	OUT layers_max integer,
	OUT promised_max double precision,
	OUT fpr_p50 double precision,
	OUT fpr_p99 double precision,
	OUT fpr_max double precision,
	OUT oldest_rebuild timestamp with time zone)
AS 'MODULE_PATHNAME', 'bloomexp_overview'
LANGUAGE C VOLATILE;

COMMENT ON FUNCTION bloom_overview(regclass, name, double precision, name) IS
'state of all filters of a table, or of a sample of its pages: users with a filter, items, bytes, how many filters have outgrown their capacity, layers, the target false positive rate, the rates at present, and the oldest rebuild';
