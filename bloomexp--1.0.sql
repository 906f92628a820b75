/* bloomexp--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION bloomexp" to load this file. \quit

--
-- The type. Its bytes: doc/format.md. Storage is external, because the bits of
-- a filter do not compress.
--

CREATE TYPE bloom;

CREATE FUNCTION bloom_in(cstring) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_in'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION bloom_out(bloom) RETURNS cstring
AS 'MODULE_PATHNAME', 'bloomexp_out'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION bloom_recv(internal) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_recv'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION bloom_send(bloom) RETURNS bytea
AS 'MODULE_PATHNAME', 'bloomexp_send'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

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
'Bloom filter: a set of items that answers "contained" wrongly with at most the promised probability, and "not contained" never wrongly';

CREATE FUNCTION bloom_from_bytea(bytes bytea) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_from_bytea'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloom_from_bytea(bytea) IS
'the filter of these bytes (doc/format.md); an error says what is wrong with them';

CREATE FUNCTION bloom_to_bytea(filter bloom) RETURNS bytea
AS 'MODULE_PATHNAME', 'bloomexp_to_bytea'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloom_to_bytea(bloom) IS
'the bytes of a filter (doc/format.md)';

CREATE CAST (bytea AS bloom) WITH FUNCTION bloom_from_bytea(bytea);
CREATE CAST (bloom AS bytea) WITH FUNCTION bloom_to_bytea(bloom);

--
-- Making filters.
--
-- COST says how many times the work of an integer addition a call is, measured
-- with a filter of a thousand items, detoasted at each call, and for the arrays
-- with as many candidates.
--

CREATE FUNCTION bloom_new(
	capacity bigint DEFAULT 100,
	fpr double precision DEFAULT 0.01,
	seed integer DEFAULT 0,
	counting boolean DEFAULT false)
RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_new'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

COMMENT ON FUNCTION bloom_new(bigint, double precision, integer, boolean) IS
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
'size of a filter for capacity items at false positive rate fpr: its bits, probes an item, bytes as stored, and the rate to expect when it is full';

--
-- Adding and asking. A NULL filter is an empty one; a NULL item is not added,
-- and NULL is the answer to whether it is contained.
--

CREATE FUNCTION bloom_add(filter bloom, item bigint) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_int8'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add(bloom, bigint) IS
'the filter with one item more; comes back untouched if it contains the item already';

CREATE FUNCTION bloom_add(filter bloom, item text) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_text'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add(bloom, text) IS
'the filter with one item more; comes back untouched if it contains the item already';

CREATE FUNCTION bloom_add(filter bloom, item uuid) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_uuid'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add(bloom, uuid) IS
'the filter with one item more; comes back untouched if it contains the item already';

CREATE FUNCTION bloom_add(filter bloom, item bytea) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_bytea'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add(bloom, bytea) IS
'the filter with one item more; comes back untouched if it contains the item already';

CREATE FUNCTION bloom_add(filter bloom, items anyarray) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_array'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add(bloom, anyarray) IS
'the filter with all items of an array more, in one pass; comes back untouched if it contains them already';

CREATE FUNCTION bloom_remove(filter bloom, item bigint) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_remove_item_int8'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_remove(bloom, bigint) IS
'a counting filter with the item taken out once; comes back untouched if it does not contain the item';

CREATE FUNCTION bloom_remove(filter bloom, item text) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_remove_item_text'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_remove(bloom, text) IS
'a counting filter with the item taken out once; comes back untouched if it does not contain the item';

CREATE FUNCTION bloom_remove(filter bloom, item uuid) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_remove_item_uuid'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_remove(bloom, uuid) IS
'a counting filter with the item taken out once; comes back untouched if it does not contain the item';

CREATE FUNCTION bloom_remove(filter bloom, item bytea) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_remove_item_bytea'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_remove(bloom, bytea) IS
'a counting filter with the item taken out once; comes back untouched if it does not contain the item';

CREATE FUNCTION bloom_remove(filter bloom, items anyarray) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_remove_array'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_remove(bloom, anyarray) IS
'a counting filter with each item of an array taken out once';

CREATE FUNCTION bloom_contains(filter bloom, item bigint) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contains_int8'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;

COMMENT ON FUNCTION bloom_contains(bloom, bigint) IS
'whether the filter contains the item: false is certain, true is wrong with at most the promised false positive rate';

CREATE FUNCTION bloom_contains(filter bloom, item text) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contains_text'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;

COMMENT ON FUNCTION bloom_contains(bloom, text) IS
'whether the filter contains the item: false is certain, true is wrong with at most the promised false positive rate';

CREATE FUNCTION bloom_contains(filter bloom, item uuid) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contains_uuid'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;

COMMENT ON FUNCTION bloom_contains(bloom, uuid) IS
'whether the filter contains the item: false is certain, true is wrong with at most the promised false positive rate';

CREATE FUNCTION bloom_contains(filter bloom, item bytea) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contains_bytea'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;

COMMENT ON FUNCTION bloom_contains(bloom, bytea) IS
'whether the filter contains the item: false is certain, true is wrong with at most the promised false positive rate';

CREATE FUNCTION bloom_contained(item bigint, filter bloom) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contained_int8'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;

COMMENT ON FUNCTION bloom_contained(bigint, bloom) IS
'implementation of <@ operator';

CREATE FUNCTION bloom_contained(item text, filter bloom) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contained_text'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;

COMMENT ON FUNCTION bloom_contained(text, bloom) IS
'implementation of <@ operator';

CREATE FUNCTION bloom_contained(item uuid, filter bloom) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contained_uuid'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;

COMMENT ON FUNCTION bloom_contained(uuid, bloom) IS
'implementation of <@ operator';

CREATE FUNCTION bloom_contained(item bytea, filter bloom) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contained_bytea'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;

COMMENT ON FUNCTION bloom_contained(bytea, bloom) IS
'implementation of <@ operator';

CREATE FUNCTION bloom_contains_any(filter bloom, items anyarray) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contains_any'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;

COMMENT ON FUNCTION bloom_contains_any(bloom, anyarray) IS
'whether the filter contains one of the items at least';

CREATE FUNCTION bloom_contains_all(filter bloom, items anyarray) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contains_all'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;

COMMENT ON FUNCTION bloom_contains_all(bloom, anyarray) IS
'whether the filter contains each of the items; a NULL item is not contained';

CREATE FUNCTION bloom_contains_each(filter bloom, items anyarray) RETURNS boolean[]
AS 'MODULE_PATHNAME', 'bloomexp_contains_each'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;

COMMENT ON FUNCTION bloom_contains_each(bloom, anyarray) IS
'for each of the items whether the filter contains it, in order; NULL for a NULL item';

CREATE OPERATOR @> (
	LEFTARG = bloom, RIGHTARG = bigint,
	FUNCTION = bloom_contains, COMMUTATOR = <@,
	RESTRICT = contsel, JOIN = contjoinsel
);

COMMENT ON OPERATOR @> (bloom, bigint) IS 'filter contains item';

CREATE OPERATOR <@ (
	LEFTARG = bigint, RIGHTARG = bloom,
	FUNCTION = bloom_contained, COMMUTATOR = @>,
	RESTRICT = contsel, JOIN = contjoinsel
);

COMMENT ON OPERATOR <@ (bigint, bloom) IS 'item is contained in filter';

CREATE OPERATOR @> (
	LEFTARG = bloom, RIGHTARG = text,
	FUNCTION = bloom_contains, COMMUTATOR = <@,
	RESTRICT = contsel, JOIN = contjoinsel
);

COMMENT ON OPERATOR @> (bloom, text) IS 'filter contains item';

CREATE OPERATOR <@ (
	LEFTARG = text, RIGHTARG = bloom,
	FUNCTION = bloom_contained, COMMUTATOR = @>,
	RESTRICT = contsel, JOIN = contjoinsel
);

COMMENT ON OPERATOR <@ (text, bloom) IS 'item is contained in filter';

CREATE OPERATOR @> (
	LEFTARG = bloom, RIGHTARG = uuid,
	FUNCTION = bloom_contains, COMMUTATOR = <@,
	RESTRICT = contsel, JOIN = contjoinsel
);

COMMENT ON OPERATOR @> (bloom, uuid) IS 'filter contains item';

CREATE OPERATOR <@ (
	LEFTARG = uuid, RIGHTARG = bloom,
	FUNCTION = bloom_contained, COMMUTATOR = @>,
	RESTRICT = contsel, JOIN = contjoinsel
);

COMMENT ON OPERATOR <@ (uuid, bloom) IS 'item is contained in filter';

CREATE OPERATOR @> (
	LEFTARG = bloom, RIGHTARG = bytea,
	FUNCTION = bloom_contains, COMMUTATOR = <@,
	RESTRICT = contsel, JOIN = contjoinsel
);

COMMENT ON OPERATOR @> (bloom, bytea) IS 'filter contains item';

CREATE OPERATOR <@ (
	LEFTARG = bytea, RIGHTARG = bloom,
	FUNCTION = bloom_contained, COMMUTATOR = @>,
	RESTRICT = contsel, JOIN = contjoinsel
);

COMMENT ON OPERATOR <@ (bytea, bloom) IS 'item is contained in filter';

--
-- Dropping the exposed candidates. Survivors keep order, duplicates and type;
-- NULL candidates are dropped.
--

CREATE FUNCTION bloom_exclude_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_exclude_support'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION bloom_exclude(candidates anyarray, filter bloom) RETURNS SETOF anyelement
AS 'MODULE_PATHNAME', 'bloomexp_exclude'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 4000 ROWS 1000
SUPPORT bloom_exclude_support;

COMMENT ON FUNCTION bloom_exclude(anyarray, bloom) IS
'the candidates that the filter does not contain, in order';

CREATE FUNCTION bloom_exclude(candidates anyarray, VARIADIC filters bloom[]) RETURNS SETOF anyelement
AS 'MODULE_PATHNAME', 'bloomexp_exclude_variadic'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 4000 ROWS 1000
SUPPORT bloom_exclude_support;

COMMENT ON FUNCTION bloom_exclude(anyarray, bloom[]) IS
'the candidates that none of the filters contains, in order';

CREATE FUNCTION bloom_exclude_array(candidates anyarray, filter bloom) RETURNS anyarray
AS 'MODULE_PATHNAME', 'bloomexp_exclude_array'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 4000;

COMMENT ON FUNCTION bloom_exclude_array(anyarray, bloom) IS
'the candidates that the filter does not contain, in order, as an array';

CREATE OPERATOR - (
	LEFTARG = anyarray, RIGHTARG = bloom,
	FUNCTION = bloom_exclude_array
);

COMMENT ON OPERATOR - (anyarray, bloom) IS 'candidates that the filter does not contain';

CREATE FUNCTION bloom_exclude_packed(candidates bytea, filter bloom) RETURNS bytea
AS 'MODULE_PATHNAME', 'bloomexp_exclude_packed'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 4000;

COMMENT ON FUNCTION bloom_exclude_packed(bytea, bloom) IS
'the candidates that the filter does not contain, in order; candidates are integers of 8 bytes each, the lowest byte first, one after another';

--
-- One filter of many rows. Not polymorphic, so that a distributed database can
-- push them down.
--

CREATE FUNCTION bloom_agg_combine(internal, internal) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg_combine'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION bloom_agg_serialize(internal) RETURNS bytea
AS 'MODULE_PATHNAME', 'bloomexp_agg_serialize'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION bloom_agg_deserialize(bytea, internal) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg_deserialize'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION bloom_agg_final(internal) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_agg_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION bloom_agg_transition(internal, bigint) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg_int8'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_agg(item bigint) (
	SFUNC = bloom_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_agg_final, COMBINEFUNC = bloom_agg_combine,
	SERIALFUNC = bloom_agg_serialize, DESERIALFUNC = bloom_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_agg(bigint) IS
'one filter of the items of all rows, sized for the distinct ones at a false positive rate of 1%';

CREATE FUNCTION bloom_agg_transition(internal, bigint, double precision) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg_int8'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_agg(item bigint, fpr double precision) (
	SFUNC = bloom_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_agg_final, COMBINEFUNC = bloom_agg_combine,
	SERIALFUNC = bloom_agg_serialize, DESERIALFUNC = bloom_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_agg(bigint, double precision) IS
'one filter of the items of all rows, sized for the distinct ones at false positive rate fpr';

CREATE FUNCTION bloom_agg_transition(internal, bigint, double precision, double precision) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg_int8'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_agg(item bigint, fpr double precision, headroom double precision) (
	SFUNC = bloom_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_agg_final, COMBINEFUNC = bloom_agg_combine,
	SERIALFUNC = bloom_agg_serialize, DESERIALFUNC = bloom_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_agg(bigint, double precision, double precision) IS
'one filter of the items of all rows, sized for the distinct ones at false positive rate fpr, with room for a part headroom more (0.2 is 20%)';

CREATE FUNCTION bloom_agg_transition(internal, text) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg_text'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_agg(item text) (
	SFUNC = bloom_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_agg_final, COMBINEFUNC = bloom_agg_combine,
	SERIALFUNC = bloom_agg_serialize, DESERIALFUNC = bloom_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_agg(text) IS
'one filter of the items of all rows, sized for the distinct ones at a false positive rate of 1%';

CREATE FUNCTION bloom_agg_transition(internal, text, double precision) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg_text'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_agg(item text, fpr double precision) (
	SFUNC = bloom_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_agg_final, COMBINEFUNC = bloom_agg_combine,
	SERIALFUNC = bloom_agg_serialize, DESERIALFUNC = bloom_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_agg(text, double precision) IS
'one filter of the items of all rows, sized for the distinct ones at false positive rate fpr';

CREATE FUNCTION bloom_agg_transition(internal, text, double precision, double precision) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg_text'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_agg(item text, fpr double precision, headroom double precision) (
	SFUNC = bloom_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_agg_final, COMBINEFUNC = bloom_agg_combine,
	SERIALFUNC = bloom_agg_serialize, DESERIALFUNC = bloom_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_agg(text, double precision, double precision) IS
'one filter of the items of all rows, sized for the distinct ones at false positive rate fpr, with room for a part headroom more (0.2 is 20%)';

CREATE FUNCTION bloom_agg_transition(internal, uuid) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg_uuid'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_agg(item uuid) (
	SFUNC = bloom_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_agg_final, COMBINEFUNC = bloom_agg_combine,
	SERIALFUNC = bloom_agg_serialize, DESERIALFUNC = bloom_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_agg(uuid) IS
'one filter of the items of all rows, sized for the distinct ones at a false positive rate of 1%';

CREATE FUNCTION bloom_agg_transition(internal, uuid, double precision) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg_uuid'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_agg(item uuid, fpr double precision) (
	SFUNC = bloom_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_agg_final, COMBINEFUNC = bloom_agg_combine,
	SERIALFUNC = bloom_agg_serialize, DESERIALFUNC = bloom_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_agg(uuid, double precision) IS
'one filter of the items of all rows, sized for the distinct ones at false positive rate fpr';

CREATE FUNCTION bloom_agg_transition(internal, uuid, double precision, double precision) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg_uuid'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_agg(item uuid, fpr double precision, headroom double precision) (
	SFUNC = bloom_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_agg_final, COMBINEFUNC = bloom_agg_combine,
	SERIALFUNC = bloom_agg_serialize, DESERIALFUNC = bloom_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_agg(uuid, double precision, double precision) IS
'one filter of the items of all rows, sized for the distinct ones at false positive rate fpr, with room for a part headroom more (0.2 is 20%)';

CREATE FUNCTION bloom_agg_transition(internal, bytea) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg_bytea'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_agg(item bytea) (
	SFUNC = bloom_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_agg_final, COMBINEFUNC = bloom_agg_combine,
	SERIALFUNC = bloom_agg_serialize, DESERIALFUNC = bloom_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_agg(bytea) IS
'one filter of the items of all rows, sized for the distinct ones at a false positive rate of 1%';

CREATE FUNCTION bloom_agg_transition(internal, bytea, double precision) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg_bytea'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_agg(item bytea, fpr double precision) (
	SFUNC = bloom_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_agg_final, COMBINEFUNC = bloom_agg_combine,
	SERIALFUNC = bloom_agg_serialize, DESERIALFUNC = bloom_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_agg(bytea, double precision) IS
'one filter of the items of all rows, sized for the distinct ones at false positive rate fpr';

CREATE FUNCTION bloom_agg_transition(internal, bytea, double precision, double precision) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg_bytea'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_agg(item bytea, fpr double precision, headroom double precision) (
	SFUNC = bloom_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_agg_final, COMBINEFUNC = bloom_agg_combine,
	SERIALFUNC = bloom_agg_serialize, DESERIALFUNC = bloom_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_agg(bytea, double precision, double precision) IS
'one filter of the items of all rows, sized for the distinct ones at false positive rate fpr, with room for a part headroom more (0.2 is 20%)';

--
-- Uniting.
--

CREATE FUNCTION bloom_union(a bloom, b bloom) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_union'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;

COMMENT ON FUNCTION bloom_union(bloom, bloom) IS
'a filter that contains what either contains; it promises the sum of their false positive rates';

CREATE OPERATOR | (
	LEFTARG = bloom, RIGHTARG = bloom,
	FUNCTION = bloom_union
);

COMMENT ON OPERATOR | (bloom, bloom) IS 'union';

CREATE AGGREGATE bloom_union_agg(filter bloom) (
	SFUNC = bloom_union, STYPE = bloom,
	COMBINEFUNC = bloom_union, PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_union_agg(bloom) IS
'the union of the filters of all rows';

--
-- Sliding windows: every item has its time, and old ones are forgotten.
--

CREATE FUNCTION bloom_window(
	width interval,
	slices integer DEFAULT 6,
	fpr double precision DEFAULT 0.01,
	seed integer DEFAULT 0)
RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_window'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

COMMENT ON FUNCTION bloom_window(interval, integer, double precision, integer) IS
'an empty filter with a sliding window: an item is contained for width after its last exposure and forgotten by bloom_expire() at the latest one slice, width / slices, later; fpr is promised for any slices + 1 slices in a row together';

CREATE FUNCTION bloom_add_at(filter bloom, item bigint, shown_at timestamp with time zone) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_at_int8'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add_at(bloom, bigint, timestamp with time zone) IS
'a windowed filter with one item more, which was shown at a time; comes back untouched if it contains the item for as long already, or if the time is before that up to which the filter was expired';

CREATE FUNCTION bloom_add_at(filter bloom, item text, shown_at timestamp with time zone) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_at_text'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add_at(bloom, text, timestamp with time zone) IS
'a windowed filter with one item more, which was shown at a time; comes back untouched if it contains the item for as long already, or if the time is before that up to which the filter was expired';

CREATE FUNCTION bloom_add_at(filter bloom, item uuid, shown_at timestamp with time zone) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_at_uuid'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add_at(bloom, uuid, timestamp with time zone) IS
'a windowed filter with one item more, which was shown at a time; comes back untouched if it contains the item for as long already, or if the time is before that up to which the filter was expired';

CREATE FUNCTION bloom_add_at(filter bloom, item bytea, shown_at timestamp with time zone) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_at_bytea'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add_at(bloom, bytea, timestamp with time zone) IS
'a windowed filter with one item more, which was shown at a time; comes back untouched if it contains the item for as long already, or if the time is before that up to which the filter was expired';

CREATE FUNCTION bloom_add_at(filter bloom, items anyarray, shown_at timestamp with time zone[]) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_at_array'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add_at(bloom, anyarray, timestamp with time zone[]) IS
'a windowed filter with all items of an array more, each with its time, in one pass';

CREATE FUNCTION bloom_expire(filter bloom, at timestamp with time zone) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_expire_at'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

COMMENT ON FUNCTION bloom_expire(bloom, timestamp with time zone) IS
'a windowed filter without the slices that lie wholly before the window that ends at a time; from then on items shown before that window are ignored';

CREATE FUNCTION bloom_window_agg_combine(internal, internal) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_window_agg_combine'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION bloom_window_agg_serialize(internal) RETURNS bytea
AS 'MODULE_PATHNAME', 'bloomexp_window_agg_serialize'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION bloom_window_agg_deserialize(bytea, internal) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_window_agg_deserialize'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION bloom_window_agg_final(internal) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_window_agg_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION bloom_window_agg_transition(internal, bigint, timestamp with time zone, interval, integer, double precision) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_window_agg_int8'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_window_agg(item bigint, shown_at timestamp with time zone, width interval, slices integer, fpr double precision) (
	SFUNC = bloom_window_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_window_agg_final, COMBINEFUNC = bloom_window_agg_combine,
	SERIALFUNC = bloom_window_agg_serialize, DESERIALFUNC = bloom_window_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_window_agg(bigint, timestamp with time zone, interval, integer, double precision) IS
'one windowed filter of the exposures of all rows, with slices sized for their distinct items; an item goes into the slice of its newest exposure';

CREATE FUNCTION bloom_window_agg_transition(internal, text, timestamp with time zone, interval, integer, double precision) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_window_agg_text'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_window_agg(item text, shown_at timestamp with time zone, width interval, slices integer, fpr double precision) (
	SFUNC = bloom_window_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_window_agg_final, COMBINEFUNC = bloom_window_agg_combine,
	SERIALFUNC = bloom_window_agg_serialize, DESERIALFUNC = bloom_window_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_window_agg(text, timestamp with time zone, interval, integer, double precision) IS
'one windowed filter of the exposures of all rows, with slices sized for their distinct items; an item goes into the slice of its newest exposure';

CREATE FUNCTION bloom_window_agg_transition(internal, uuid, timestamp with time zone, interval, integer, double precision) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_window_agg_uuid'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_window_agg(item uuid, shown_at timestamp with time zone, width interval, slices integer, fpr double precision) (
	SFUNC = bloom_window_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_window_agg_final, COMBINEFUNC = bloom_window_agg_combine,
	SERIALFUNC = bloom_window_agg_serialize, DESERIALFUNC = bloom_window_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_window_agg(uuid, timestamp with time zone, interval, integer, double precision) IS
'one windowed filter of the exposures of all rows, with slices sized for their distinct items; an item goes into the slice of its newest exposure';

CREATE FUNCTION bloom_window_agg_transition(internal, bytea, timestamp with time zone, interval, integer, double precision) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_window_agg_bytea'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_window_agg(item bytea, shown_at timestamp with time zone, width interval, slices integer, fpr double precision) (
	SFUNC = bloom_window_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_window_agg_final, COMBINEFUNC = bloom_window_agg_combine,
	SERIALFUNC = bloom_window_agg_serialize, DESERIALFUNC = bloom_window_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_window_agg(bytea, timestamp with time zone, interval, integer, double precision) IS
'one windowed filter of the exposures of all rows, with slices sized for their distinct items; an item goes into the slice of its newest exposure';

--
-- What a filter tells of itself.
--

CREATE FUNCTION bloom_cardinality(filter bloom) RETURNS bigint
AS 'MODULE_PATHNAME', 'bloomexp_cardinality'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;

COMMENT ON FUNCTION bloom_cardinality(bloom) IS
'estimate of the distinct items in the filter, from its bits';

CREATE FUNCTION bloom_fpr(filter bloom) RETURNS double precision
AS 'MODULE_PATHNAME', 'bloomexp_fpr'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;

COMMENT ON FUNCTION bloom_fpr(bloom) IS
'false positive rate of the filter now, from its fill';

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
	OUT seed integer,
	OUT counting boolean,
	OUT window_width interval,
	OUT slices integer)
AS 'MODULE_PATHNAME', 'bloomexp_info'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 800;

COMMENT ON FUNCTION bloom_info(bloom) IS
'state of a filter: kind of its items, items added, items it has room for in all, promised false positive rate, the rate now, bits, bits set, their share, layers, bytes as stored, seed, whether it counts, and its window';

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
	OUT slice bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'bloomexp_layers'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 800 ROWS 3;

COMMENT ON FUNCTION bloom_layers(bloom) IS
'state of each layer of a filter, oldest first; fpr is the rate to expect when the layer is full';

--
-- Comparing, by the bytes.
--

CREATE FUNCTION bloom_eq(bloom, bloom) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_eq'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 300;

CREATE FUNCTION bloom_ne(bloom, bloom) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_ne'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 300;

CREATE FUNCTION bloom_hash(bloom) RETURNS integer
AS 'MODULE_PATHNAME', 'bloomexp_hash'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 300;

CREATE FUNCTION bloom_hash_extended(bloom, bigint) RETURNS bigint
AS 'MODULE_PATHNAME', 'bloomexp_hash_extended'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 300;

CREATE OPERATOR = (
	LEFTARG = bloom, RIGHTARG = bloom,
	FUNCTION = bloom_eq, COMMUTATOR = =, NEGATOR = <>,
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES
);

CREATE OPERATOR <> (
	LEFTARG = bloom, RIGHTARG = bloom,
	FUNCTION = bloom_ne, COMMUTATOR = <>, NEGATOR = =,
	RESTRICT = neqsel, JOIN = neqjoinsel
);

CREATE OPERATOR CLASS bloom_ops DEFAULT FOR TYPE bloom USING hash AS
	OPERATOR 1 =,
	FUNCTION 1 bloom_hash(bloom),
	FUNCTION 2 bloom_hash_extended(bloom, bigint);
