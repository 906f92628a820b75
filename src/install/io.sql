/* the install script of bloomexp, made of the parts in src/install */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION bloomexp" to load this file. \quit

-- The type. Its bytes: doc/internals/format.md. Storage is external, because the bits of
-- a filter do not compress.

CREATE TYPE bloom;

CREATE FUNCTION bloom_in(cstring) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_in'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloom_in(cstring) IS 'I/O';

CREATE FUNCTION bloom_out(bloom) RETURNS cstring
AS 'MODULE_PATHNAME', 'bloomexp_out'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloom_out(bloom) IS 'I/O';

CREATE FUNCTION bloom_recv(internal) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_recv'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloom_recv(internal) IS 'I/O';

CREATE FUNCTION bloom_send(bloom) RETURNS bytea
AS 'byteasend'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloom_send(bloom) IS 'I/O';

CREATE TYPE bloom (
	INPUT = bloom_in,
	OUTPUT = bloom_out,
	RECEIVE = bloom_recv,
	SEND = bloom_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = int4,
	STORAGE = external
);

COMMENT ON TYPE bloom IS
'Bloom filter: a set of items that answers "contained" wrongly with at most a chosen '
'probability, and "not contained" never wrongly';

CREATE FUNCTION bloom(bytes bytea) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_from_bytea'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloom(bytea) IS
'the filter of these bytes (doc/internals/format.md); an error says what is wrong with them';

CREATE CAST (bytea AS bloom) WITH FUNCTION bloom(bytea);
CREATE CAST (bloom AS bytea) WITHOUT FUNCTION;	-- a filter is its bytes

COMMENT ON CAST (bytea AS bloom) IS 'the filter of these bytes';
COMMENT ON CAST (bloom AS bytea) IS 'the bytes of a filter';

-- Comparing, by the bytes.
CREATE FUNCTION bloom_eq(bloom, bloom) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_eq'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 300;

COMMENT ON FUNCTION bloom_eq(bloom, bloom) IS 'implementation of = operator';

CREATE FUNCTION bloom_ne(bloom, bloom) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_ne'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 300;

COMMENT ON FUNCTION bloom_ne(bloom, bloom) IS 'implementation of <> operator';

CREATE FUNCTION bloom_hash(bloom) RETURNS integer
AS 'hashvarlena'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 300;

COMMENT ON FUNCTION bloom_hash(bloom) IS 'hash function';

CREATE FUNCTION bloom_hash_extended(bloom, bigint) RETURNS bigint
AS 'hashvarlenaextended'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 300;

COMMENT ON FUNCTION bloom_hash_extended(bloom, bigint) IS 'hash function with a seed';

CREATE OPERATOR = (
	LEFTARG = bloom, RIGHTARG = bloom,
	FUNCTION = bloom_eq, COMMUTATOR = =, NEGATOR = <>,
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES
);

COMMENT ON OPERATOR = (bloom, bloom) IS 'filters have the same bytes';

CREATE OPERATOR <> (
	LEFTARG = bloom, RIGHTARG = bloom,
	FUNCTION = bloom_ne, COMMUTATOR = <>, NEGATOR = =,
	RESTRICT = neqsel, JOIN = neqjoinsel
);

COMMENT ON OPERATOR <> (bloom, bloom) IS 'filters have different bytes';

CREATE OPERATOR CLASS bloom_ops DEFAULT FOR TYPE bloom USING hash AS
	OPERATOR 1 =,
	FUNCTION 1 bloom_hash(bloom),
	FUNCTION 2 bloom_hash_extended(bloom, bigint);

COMMENT ON OPERATOR CLASS bloom_ops USING hash IS 'equality of filters, by their bytes';
COMMENT ON OPERATOR FAMILY bloom_ops USING hash IS 'equality of filters, by their bytes';
