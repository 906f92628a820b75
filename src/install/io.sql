/* the install script of bloomexp, made from src/install and src/feed */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION bloomexp" to load this file. \quit

-- The type. doc/internals/format.md describes its bytes. Its storage is external, because the bits
-- of a filter cannot be compressed.

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
'Bloom filter: a set that never misses an item it contains, and wrongly reports another item with '
'at most a chosen probability';

CREATE FUNCTION bloom(bytes bytea) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_from_bytea'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloom(bytea) IS
'filter from its bytes; raises an error if they are not valid';

CREATE CAST (bytea AS bloom) WITH FUNCTION bloom(bytea);
CREATE CAST (bloom AS bytea) WITHOUT FUNCTION;	-- a filter is its bytes

COMMENT ON CAST (bytea AS bloom) IS
'filter from its bytes; raises an error if they are not valid';
COMMENT ON CAST (bloom AS bytea) IS 'bytes of a filter';

-- Comparisons of the bytes
CREATE FUNCTION bloom_eq(bloom, bloom) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_eq'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 300;

COMMENT ON FUNCTION bloom_eq(bloom, bloom) IS 'implementation of = operator';

CREATE FUNCTION bloom_ne(bloom, bloom) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_ne'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 300;

COMMENT ON FUNCTION bloom_ne(bloom, bloom) IS 'implementation of <> operator';

CREATE FUNCTION bloom_lt(bloom, bloom) RETURNS boolean
AS 'bytealt'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 300;

COMMENT ON FUNCTION bloom_lt(bloom, bloom) IS 'implementation of < operator';

CREATE FUNCTION bloom_le(bloom, bloom) RETURNS boolean
AS 'byteale'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 300;

COMMENT ON FUNCTION bloom_le(bloom, bloom) IS 'implementation of <= operator';

CREATE FUNCTION bloom_gt(bloom, bloom) RETURNS boolean
AS 'byteagt'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 300;

COMMENT ON FUNCTION bloom_gt(bloom, bloom) IS 'implementation of > operator';

CREATE FUNCTION bloom_ge(bloom, bloom) RETURNS boolean
AS 'byteage'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 300;

COMMENT ON FUNCTION bloom_ge(bloom, bloom) IS 'implementation of >= operator';

CREATE FUNCTION bloom_cmp(bloom, bloom) RETURNS integer
AS 'byteacmp'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 300;

COMMENT ON FUNCTION bloom_cmp(bloom, bloom) IS 'less-equal-greater, by the bytes';

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
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);

COMMENT ON OPERATOR = (bloom, bloom) IS 'same bytes';

CREATE OPERATOR <> (
	LEFTARG = bloom, RIGHTARG = bloom,
	FUNCTION = bloom_ne, COMMUTATOR = <>, NEGATOR = =,
	RESTRICT = neqsel, JOIN = neqjoinsel
);

COMMENT ON OPERATOR <> (bloom, bloom) IS 'different bytes';

CREATE OPERATOR < (
	LEFTARG = bloom, RIGHTARG = bloom,
	FUNCTION = bloom_lt, COMMUTATOR = >, NEGATOR = >=,
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);

COMMENT ON OPERATOR < (bloom, bloom) IS 'less by the bytes';

CREATE OPERATOR <= (
	LEFTARG = bloom, RIGHTARG = bloom,
	FUNCTION = bloom_le, COMMUTATOR = >=, NEGATOR = >,
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);

COMMENT ON OPERATOR <= (bloom, bloom) IS
'less or equal by the bytes';

CREATE OPERATOR > (
	LEFTARG = bloom, RIGHTARG = bloom,
	FUNCTION = bloom_gt, COMMUTATOR = <, NEGATOR = <=,
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);

COMMENT ON OPERATOR > (bloom, bloom) IS 'greater by the bytes';

CREATE OPERATOR >= (
	LEFTARG = bloom, RIGHTARG = bloom,
	FUNCTION = bloom_ge, COMMUTATOR = <=, NEGATOR = <,
	RESTRICT = scalargesel, JOIN = scalargejoinsel
);

COMMENT ON OPERATOR >= (bloom, bloom) IS
'greater or equal by the bytes';

CREATE OPERATOR CLASS bloom_ops DEFAULT FOR TYPE bloom USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 bloom_cmp(bloom, bloom);

COMMENT ON OPERATOR CLASS bloom_ops USING btree IS
'order by the bytes, for sorting and DISTINCT; it says nothing about the items';
COMMENT ON OPERATOR FAMILY bloom_ops USING btree IS
'order by the bytes, for sorting and DISTINCT; it says nothing about the items';

CREATE OPERATOR CLASS bloom_ops DEFAULT FOR TYPE bloom USING hash AS
	OPERATOR 1 =,
	FUNCTION 1 bloom_hash(bloom),
	FUNCTION 2 bloom_hash_extended(bloom, bigint);

COMMENT ON OPERATOR CLASS bloom_ops USING hash IS 'equality of the bytes';
COMMENT ON OPERATOR FAMILY bloom_ops USING hash IS 'equality of the bytes';
