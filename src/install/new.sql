-- Making filters.
--
-- COST says how many times the work of an integer addition a call is, measured
-- with a filter of a thousand items, detoasted at each call, and for the arrays
-- with as many candidates.

CREATE FUNCTION bloom_new(
	capacity bigint DEFAULT 100,
	fpr double precision DEFAULT 0.01,
	counting boolean DEFAULT false)
RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_new'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

COMMENT ON FUNCTION bloom_new(bigint, double precision, boolean) IS
'an empty filter with room for capacity items at false positive rate fpr (0.01 is 1%); it grows past its capacity and keeps fpr';

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
'size of a filter for capacity items at false positive rate fpr: its bits, probes per item, bytes as stored, and the rate to expect when it is full';

CREATE FUNCTION bloom_capacity(
	bytes bigint,
	fpr double precision,
	OUT capacity bigint,
	OUT hashes integer,
	OUT bits bigint,
	OUT expected_fpr double precision)
AS 'MODULE_PATHNAME', 'bloomexp_capacity'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 2000;

COMMENT ON FUNCTION bloom_capacity(bigint, double precision) IS
'the inverse of bloom_sizing(): items for which a filter has room that takes at most so many bytes as stored at false positive rate fpr, its probes per item, bits, and the rate to expect when it is full';
