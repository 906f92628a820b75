-- Functions that describe filters and slices, and calculate sizes.

CREATE FUNCTION bloom_cardinality(filter bloom) RETURNS bigint
AS 'MODULE_PATHNAME', 'bloomexp_cardinality'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;

COMMENT ON FUNCTION bloom_cardinality(bloom) IS
'estimated number of distinct items in the filter, from the share of bits that are set';

CREATE FUNCTION bloom_fpr(filter bloom) RETURNS double precision
AS 'MODULE_PATHNAME', 'bloomexp_fpr'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;

COMMENT ON FUNCTION bloom_fpr(bloom) IS
'false positive rate of the filter as it is now, from the share of bits that are set';

CREATE FUNCTION bloom_info(
	filter bloom,
	OUT kind text,
	OUT items bigint,
	OUT capacity bigint,
	OUT fpr double precision,
	OUT fpr_now double precision,
	OUT bits bigint,
	OUT bits_set bigint,
	OUT fill double precision,
	OUT layers integer,
	OUT bytes bigint,
	OUT counting boolean,
	OUT window_width interval,
	OUT slices integer,
	OUT expired_before timestamp with time zone)
AS 'MODULE_PATHNAME', 'bloomexp_info'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 800;

COMMENT ON FUNCTION bloom_info(bloom) IS
'state of a filter: kind of its items, items added, capacity of all layers, target false positive '
'rate, rate now, bits, bits set and their share, layers, size in bytes, whether it is counting, '
'window, and the time before which adds ignore items';

CREATE FUNCTION bloom_layers(
	filter bloom,
	OUT layer integer,
	OUT items bigint,
	OUT capacity bigint,
	OUT fpr double precision,
	OUT fpr_now double precision,
	OUT bits bigint,
	OUT bits_set bigint,
	OUT fill double precision,
	OUT hashes integer,
	OUT blocks integer,
	OUT bytes bigint,
	OUT slice bigint,
	OUT slice_start timestamp with time zone)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'bloomexp_layers'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 800 ROWS 3;

COMMENT ON FUNCTION bloom_layers(bloom) IS
'state of each layer of a filter, oldest first; fpr is the expected rate of the full layer';

CREATE FUNCTION bloom_sizing(
	capacity bigint,
	fpr double precision,
	OUT bits bigint,
	OUT hashes integer,
	OUT bytes bigint,
	OUT expected_fpr double precision)
AS 'MODULE_PATHNAME', 'bloomexp_sizing'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

COMMENT ON FUNCTION bloom_sizing(bigint, double precision) IS
'size of a filter for capacity items at false positive rate fpr: bits, probes per item, size in '
'bytes, and the expected rate when it is full';

CREATE FUNCTION bloom_capacity(
	bytes bigint,
	fpr double precision,
	OUT capacity bigint,
	OUT bits bigint,
	OUT hashes integer,
	OUT bytes bigint,
	OUT expected_fpr double precision)
AS 'MODULE_PATHNAME', 'bloomexp_capacity'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 2000;

COMMENT ON FUNCTION bloom_capacity(bigint, double precision) IS
'capacity of the largest filter of at most the given bytes at false positive rate fpr, with its '
'bits, probes per item, size in bytes, and the expected rate when it is full; the inverse of '
'bloom_sizing()';

CREATE FUNCTION bloom_slice_start(
	shown_at timestamp with time zone,
	width interval,
	slices integer)
RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'bloomexp_slice_start'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;

COMMENT ON FUNCTION bloom_slice_start(timestamp with time zone, interval, integer) IS
'start of the slice that contains shown_at, in a window of this width and number of slices';
