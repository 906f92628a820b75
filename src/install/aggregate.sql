--
-- One filter of many rows. Not polymorphic, so that a distributed database can
-- push them down.
--

CREATE FUNCTION bloom_agg_combine(internal, internal) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg_combine'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloom_agg_combine(internal, internal) IS 'combine function of bloom_agg()';

CREATE FUNCTION bloom_agg_serialize(internal) RETURNS bytea
AS 'MODULE_PATHNAME', 'bloomexp_agg_serialize'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloom_agg_serialize(internal) IS 'serialization function of bloom_agg()';

CREATE FUNCTION bloom_agg_deserialize(bytea, internal) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg_deserialize'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloom_agg_deserialize(bytea, internal) IS 'deserialization function of bloom_agg()';

CREATE FUNCTION bloom_agg_final(internal) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_agg_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloom_agg_final(internal) IS 'final function of bloom_agg()';
