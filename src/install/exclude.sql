-- Functions that exclude candidates. The remaining candidates keep their type and their order, and
-- except in bloom_exclude_first() also their duplicates. NULL candidates are dropped.

CREATE FUNCTION bloom_exclude_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_exclude_support'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloom_exclude_support(internal) IS
'planner support function of bloom_exclude()';

CREATE FUNCTION bloom_exclude(candidates anyarray, filter bloom) RETURNS SETOF anyelement
AS 'MODULE_PATHNAME', 'bloomexp_exclude'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 4000 ROWS 1000
SUPPORT bloom_exclude_support;

COMMENT ON FUNCTION bloom_exclude(anyarray, bloom) IS
'candidates that the filter does not contain, in order';

CREATE FUNCTION bloom_exclude(candidates anyarray, VARIADIC filters bloom[])
RETURNS SETOF anyelement
AS 'MODULE_PATHNAME', 'bloomexp_exclude_filters'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 4000 ROWS 1000
SUPPORT bloom_exclude_support;

COMMENT ON FUNCTION bloom_exclude(anyarray, bloom[]) IS
'candidates that none of the filters contains, in order';

CREATE FUNCTION bloom_exclude_array(candidates anyarray, filter bloom) RETURNS anyarray
AS 'MODULE_PATHNAME', 'bloomexp_exclude_array'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 4000;

COMMENT ON FUNCTION bloom_exclude_array(anyarray, bloom) IS
'array of the candidates that the filter does not contain, in order';

CREATE FUNCTION bloom_exclude_first(candidates anyarray, filter bloom, wanted integer)
RETURNS anyarray
AS 'MODULE_PATHNAME', 'bloomexp_exclude_first'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 4000;

COMMENT ON FUNCTION bloom_exclude_first(anyarray, bloom, integer) IS
'array of the first distinct candidates that the filter does not contain, in order: at most '
'wanted, or all if wanted is NULL';

CREATE OPERATOR - (
	LEFTARG = anyarray, RIGHTARG = bloom,
	FUNCTION = bloom_exclude_array
);

COMMENT ON OPERATOR - (anyarray, bloom) IS 'candidates that the filter does not contain';

CREATE FUNCTION bloom_exclude_packed(candidates bytea, filter bloom) RETURNS bytea
AS 'MODULE_PATHNAME', 'bloomexp_exclude_packed'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 4000;

COMMENT ON FUNCTION bloom_exclude_packed(bytea, bloom) IS
'packed candidates that the filter does not contain, in order; each integer has 8 bytes, in '
'little-endian byte order';
