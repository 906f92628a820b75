-- Describing a filter.

CREATE FUNCTION bloom_cardinality(filter bloom) RETURNS bigint
AS 'MODULE_PATHNAME', 'bloomexp_cardinality'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;

COMMENT ON FUNCTION bloom_cardinality(bloom) IS
'estimate of the distinct items in the filter, from its bits';

CREATE FUNCTION bloom_fpr(filter bloom) RETURNS double precision
AS 'MODULE_PATHNAME', 'bloomexp_fpr'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;

COMMENT ON FUNCTION bloom_fpr(bloom) IS
'false positive rate of the filter at present, from its fill';

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
'state of a filter: kind of its items, items added, items it has room for in all, target false positive rate, the rate at present, bits, bits set, their share, layers, bytes as stored, whether it counts, its window, and the time before which that has expired';

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
'state of each layer of a filter, oldest first; fpr is the rate to expect when the layer is full';
