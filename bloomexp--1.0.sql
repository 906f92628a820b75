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
AS 'MODULE_PATHNAME', 'bloomexp_expire'
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

--
-- The live path and the nightly job.
--
-- Why no exposure is lost.  An exposure is written, and added to the filter, in
-- one transaction; the add holds a lock on the row of the filter until that
-- transaction ends, even if it changes nothing.  A rebuild locks the row first,
-- and then aggregates in a statement of its own, whose snapshot is younger than
-- the lock.  So for each user and each writer there are two cases:
--
--	1. The writer has the lock first.  The rebuild gets it when the writer has
--	   ended, so its snapshot has the exposure if the writer has committed.
--	2. The rebuild has the lock first.  The writer gets it when the rebuild has
--	   committed or failed, and adds to the version that it left.  If the rebuild
--	   has deleted the row, the writer's ON CONFLICT inserts a new one: there was
--	   no other exposure, and writers that come later wait for the new row.
--
-- A user without a row has nothing to lock.  There the rebuild inserts what its
-- snapshot has; and if a row has come up meanwhile, it unites, never overwrites.
--
-- This needs READ COMMITTED in the rebuild, which it sets.  A writer under a
-- stricter level may fail to serialize, but does not lose an exposure.
--
-- A rebuild does not wait for a writer while it holds the filters of a batch: those
-- that are locked by others it does afterwards, one in a transaction.  So nobody
-- waits for it longer than its own work takes, and writers that lock several users
-- in an order of their own do not deadlock with it.
--
-- The extension is relocatable, and these functions run with the rights and the
-- search_path of the caller.  So every name in them is qualified, operators, too,
-- and the schema of the extension is found when they run.
--

CREATE FUNCTION bloom_track_keys(
	schema name,
	target regclass,
	filter_column name,
	target_user_column name,
	source regclass,
	user_column name,
	item_column name,
	time_column name,
	OUT target_name text,
	OUT source_name text,
	OUT user_type text,
	OUT equal text,
	OUT greater text,
	OUT source_user text,
	OUT source_item text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
	relations pg_catalog.regclass[] := ARRAY[target, target, source, source, source];
	names pg_catalog.name[] := ARRAY[filter_column, target_user_column, user_column, item_column, time_column];
	columns pg_catalog.pg_attribute[];
	filter_is_bloom pg_catalog.bool;
	index_order pg_catalog.record;
	operators pg_catalog.text[];
BEGIN
	-- Names with a schema, since a transition table or a WITH may have the name alone.
	SELECT pg_catalog.max(x.name) FILTER (WHERE x.oid OPERATOR(pg_catalog.=) target
			AND x.relkind OPERATOR(pg_catalog.=) ANY ('{r,p}'::pg_catalog."char"[])),
		pg_catalog.max(x.name) FILTER (WHERE x.oid OPERATOR(pg_catalog.=) source) INTO target_name, source_name
	FROM (SELECT c.oid, c.relkind, pg_catalog.format('%I.%I', n.nspname, c.relname) AS name
		  FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
		  WHERE c.oid OPERATOR(pg_catalog.=) ANY (ARRAY[target::pg_catalog.oid, source::pg_catalog.oid])) AS x;
	IF target_name IS NULL THEN
		RAISE '"%" is not a table', target
			USING ERRCODE = 'wrong_object_type', DETAIL = 'Filters are kept in a table or a partitioned table.';
	END IF;

	-- (Subqueries here and below keep the plans at index scans.)
	columns := ARRAY(SELECT (SELECT a FROM pg_catalog.pg_attribute AS a
							 WHERE a.attrelid OPERATOR(pg_catalog.=) c.relation AND a.attname OPERATOR(pg_catalog.=) c.name
								 AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped)
					 FROM ROWS FROM (pg_catalog.unnest(relations), pg_catalog.unnest(names)) AS c (relation, name));
	FOR i IN 1 .. 5 LOOP
		IF columns[i].attnum IS NULL AND names[i] IS NOT NULL THEN
			RAISE 'column "%" of relation "%" does not exist', names[i], relations[i] USING ERRCODE = 'undefined_column';
		END IF;
	END LOOP;

	SELECT t.typname OPERATOR(pg_catalog.=) 'bloom' AND n.nspname OPERATOR(pg_catalog.=) schema INTO filter_is_bloom
	FROM pg_catalog.pg_type AS t JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace
	WHERE t.oid OPERATOR(pg_catalog.=) columns[1].atttypid;
	IF NOT filter_is_bloom THEN
		RAISE 'column "%" of relation "%" is not of type bloom', filter_column, target USING ERRCODE = 'datatype_mismatch';
	END IF;

	-- The order of users is that of the index by which ON CONFLICT finds their rows.
	SELECT c.opcfamily AS family, c.opcintype AS type INTO index_order
	FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_opclass AS c ON c.oid OPERATOR(pg_catalog.=) i.indclass[0]
	WHERE i.indrelid OPERATOR(pg_catalog.=) target AND i.indnkeyatts OPERATOR(pg_catalog.=) 1
		AND i.indkey[0] OPERATOR(pg_catalog.=) columns[2].attnum AND c.opcdefault
		AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL
	LIMIT 1;
	IF NOT FOUND THEN
		RAISE 'table "%" has no unique index on column "%" alone', target, target_user_column
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = pg_catalog.format('ALTER TABLE %s ADD PRIMARY KEY (%I);', target, target_user_column);
	END IF;

	operators := ARRAY(SELECT (SELECT pg_catalog.format('OPERATOR(%I.%s)', (SELECT n.nspname FROM pg_catalog.pg_namespace AS n
																		   WHERE n.oid OPERATOR(pg_catalog.=) o.oprnamespace), o.oprname)
							   FROM pg_catalog.pg_operator AS o WHERE o.oid OPERATOR(pg_catalog.=) m.amopopr)
					   FROM pg_catalog.pg_amop AS m
					   WHERE m.amopfamily OPERATOR(pg_catalog.=) index_order.family
						   AND m.amoplefttype OPERATOR(pg_catalog.=) index_order.type
						   AND m.amoprighttype OPERATOR(pg_catalog.=) index_order.type
					   ORDER BY m.amopstrategy);
	equal := operators[3];
	greater := operators[5];

	-- Users of both tables must be told apart alike.  A cast that changes nothing is
	-- left out, for it keeps an index of the source from being used.
	user_type := (SELECT pg_catalog.format('%I.%I', n.nspname, t.typname)
				  FROM pg_catalog.pg_type AS t JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace
				  WHERE t.oid OPERATOR(pg_catalog.=) columns[2].atttypid);
	source_user := pg_catalog.format('e.%I', user_column);
	IF columns[3].atttypid OPERATOR(pg_catalog.<>) columns[2].atttypid THEN
		source_user := pg_catalog.format('%s::%s', source_user, user_type);
	END IF;
	IF columns[3].attcollation OPERATOR(pg_catalog.<>) columns[2].attcollation
		AND columns[2].attcollation OPERATOR(pg_catalog.<>) 0 THEN
		source_user := (SELECT pg_catalog.format('(%s COLLATE %I.%I)', source_user, n.nspname, c.collname)
						FROM pg_catalog.pg_collation AS c
						JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.collnamespace
						WHERE c.oid OPERATOR(pg_catalog.=) columns[2].attcollation);
	END IF;

	-- Every string is a text to bloom_agg(), but bloom_add() takes no array of citext.
	source_item := (SELECT pg_catalog.format(CASE WHEN t.typcategory OPERATOR(pg_catalog.=) 'S'
												 THEN 'e.%I::pg_catalog.text' ELSE 'e.%I' END, item_column)
					FROM pg_catalog.pg_type AS t WHERE t.oid OPERATOR(pg_catalog.=) columns[4].atttypid);
END
$$;

COMMENT ON FUNCTION bloom_track_keys(name, regclass, name, name, regclass, name, name, name) IS
'checks the tables and columns given to bloom_track() and bloom_rebuild(), and tells them how to compare users';

CREATE FUNCTION bloom_track_statements(
	schema text,
	source regclass,
	new_table text,
	arguments text[],
	OUT target regclass,
	OUT statements text,
	OUT missed text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
	target_name pg_catalog.text[];
	time_column pg_catalog.text;
	target_user_column pg_catalog.text := arguments[3];
	width pg_catalog.interval := '30 days';
	slices pg_catalog.int4 := 6;
	fpr pg_catalog.float8 := 0.01;
	setting pg_catalog.text;
	value pg_catalog.text;
	keys pg_catalog.record;
	shown pg_catalog.text;
	start pg_catalog.text;
	add pg_catalog.text;
	items pg_catalog.text;
	added pg_catalog.text;
BEGIN
	IF pg_catalog.cardinality(arguments) OPERATOR(pg_catalog.<) 4 THEN
		RAISE 'bloom_track() needs at least 4 arguments, not %', pg_catalog.cardinality(arguments)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'They are the table of the filters, its filter column, the user column and the item column.';
	END IF;
	FOR i IN 5 .. pg_catalog.cardinality(arguments) LOOP
		setting := pg_catalog.split_part(arguments[i], '=', 1);
		value := pg_catalog.substr(arguments[i], pg_catalog.length(setting) OPERATOR(pg_catalog.+) 2);
		IF setting OPERATOR(pg_catalog.=) 'width' THEN
			width := value;
		ELSIF setting OPERATOR(pg_catalog.=) 'slices' THEN
			slices := value;
		ELSIF setting OPERATOR(pg_catalog.=) 'fpr' THEN
			fpr := value;
		ELSIF setting OPERATOR(pg_catalog.=) 'target_user_column' THEN
			target_user_column := value;
		ELSIF i OPERATOR(pg_catalog.=) 5 THEN
			time_column := arguments[i];
		ELSE
			RAISE 'unrecognized argument of bloom_track(): "%"', arguments[i]
				USING ERRCODE = 'invalid_parameter_value',
					HINT = 'The columns are followed by width=..., slices=..., fpr=... or target_user_column=....';
		END IF;
	END LOOP;

	-- A table without a schema is in that of the exposures, whatever search_path says.
	target_name := pg_catalog.parse_ident(arguments[1]);
	IF pg_catalog.cardinality(target_name) OPERATOR(pg_catalog.=) 1 THEN
		target_name := (SELECT ARRAY[n.nspname::pg_catalog.text, target_name[1]]
						FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
						WHERE c.oid OPERATOR(pg_catalog.=) source);
	END IF;
	target := pg_catalog.format('%I.%I', target_name[1], target_name[2]);

	EXECUTE pg_catalog.format('SELECT * FROM %I.bloom_track_keys($1, $2, $3, $4, $5, $6, $7, $8)', schema)
	INTO keys USING schema::pg_catalog.name, target, arguments[2]::pg_catalog.name, target_user_column::pg_catalog.name,
		source, arguments[3]::pg_catalog.name, arguments[4]::pg_catalog.name, time_column::pg_catalog.name;

	-- One row a user, with the new items and, for a filter with a window, their times.
	shown := pg_catalog.format('SELECT %s AS u, pg_catalog.array_agg(%s) AS items, %s AS times FROM %I AS e '
		'WHERE e.%I IS NOT NULL AND e.%I IS NOT NULL GROUP BY 1',
		keys.source_user, keys.source_item,
		CASE WHEN time_column IS NULL THEN 'NULL'
			ELSE pg_catalog.format('pg_catalog.array_agg(e.%I::pg_catalog.timestamptz)', time_column) END,
		new_table, arguments[3], arguments[4]);
	IF time_column IS NULL THEN
		start := pg_catalog.format('%I.bloom_new(GREATEST(100, pg_catalog.cardinality(s.items)), %L)', schema, fpr::pg_catalog.numeric);
		add := pg_catalog.format('%I.bloom_add', schema);
		items := 's.items';
	ELSE
		start := pg_catalog.format('%I.bloom_window(%L, %L, %L)', schema, width, slices, fpr::pg_catalog.numeric);
		add := pg_catalog.format('%I.bloom_add_at', schema);
		items := 's.items, s.times';
	END IF;
	added := pg_catalog.format('%s(COALESCE(f.%I, %s), %s)', add, arguments[2], start, items);

	statements := pg_catalog.format(
		-- Lock the filters in the order of the users, and start those that are missing.
		-- WHERE false locks a row and leaves it as it is.  An item that is contained
		-- already is no reason not to lock: a rebuild that is under way would not know of
		-- this exposure, and forget the item with an older one.
		'INSERT INTO %1$s AS f (%2$I, %3$I) SELECT s.u, %4$s(%5$s, %6$s) FROM (%7$s) AS s ORDER BY s.u '
		'ON CONFLICT (%2$I) DO UPDATE SET %3$I = f.%3$I WHERE false; '
		-- Now each filter is as the last one who had the lock left it.  Write it if it changes.
		'UPDATE %1$s AS f SET %3$I = %8$s FROM (%7$s) AS s '
		'WHERE f.%2$I %9$s s.u AND (f.%3$I IS NULL OR %8$s OPERATOR(%10$I.<>) f.%3$I)',
		keys.target_name, target_user_column, arguments[2], add, start, items, shown, added, keys.equal, schema);

	-- How many users' filters lack something then.  (To a counting filter each add adds
	-- something, and a window can contain an item for an older exposure.)
	missed := pg_catalog.format(
		'SELECT pg_catalog.count(*) FROM (%1$s) AS s LEFT JOIN %2$s AS f ON f.%3$I %4$s s.u WHERE f.%5$I IS NULL OR %6$s',
		shown, keys.target_name, target_user_column, keys.equal, arguments[2],
		CASE WHEN time_column IS NULL
			THEN pg_catalog.format('NOT %I.bloom_contains_all(f.%I, s.items)', schema, arguments[2])
			ELSE pg_catalog.format('%s OPERATOR(%I.<>) f.%I', added, schema, arguments[2]) END);
END
$$;

COMMENT ON FUNCTION bloom_track_statements(text, regclass, text, text[]) IS
'the statements that bloom_track() executes';

CREATE FUNCTION bloom_track() RETURNS trigger
AS 'MODULE_PATHNAME', 'bloomexp_track'
LANGUAGE C;

COMMENT ON FUNCTION bloom_track() IS
'trigger function: adds the rows of an INSERT or UPDATE to the filters of their users; arguments: filter table, filter column, user column, item column, for windowed filters the time column, then width=, slices=, fpr=, target_user_column= as wanted';

CREATE FUNCTION bloom_untracked(
	source regclass,
	OUT relation regclass,
	OUT trigger_name name,
	OUT command text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN QUERY
	WITH tables AS (
		SELECT c.oid AS relid, pg_catalog.format('%I.%I', n.nspname, c.relname) AS name
		FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
		WHERE c.oid OPERATOR(pg_catalog.=) source
			OR c.oid OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT p.relid::pg_catalog.oid FROM pg_catalog.pg_partition_tree(source) AS p))
	), triggers AS (
		-- What follows the name of the table is the same on every partition.
		SELECT g.tgrelid, g.tgname, g.tgenabled OPERATOR(pg_catalog.=) ANY ('{O,A}'::pg_catalog."char"[]) AS enabled,
			e.event, pg_catalog.substr(pg_catalog.pg_get_triggerdef(g.oid), pg_catalog.length(
				pg_catalog.format('CREATE TRIGGER %I AFTER %s ON %s ', g.tgname, e.event, t.name))) AS definition
		FROM tables AS t
		JOIN pg_catalog.pg_trigger AS g ON g.tgrelid OPERATOR(pg_catalog.=) t.relid
		JOIN (VALUES (4, 'INSERT'), (16, 'UPDATE')) AS e (bit, event)
			ON (g.tgtype OPERATOR(pg_catalog.&) e.bit) OPERATOR(pg_catalog.<>) 0
		JOIN pg_catalog.pg_proc AS f ON f.oid OPERATOR(pg_catalog.=) g.tgfoid
			AND f.proname OPERATOR(pg_catalog.=) 'bloom_track'
		JOIN pg_catalog.pg_depend AS d ON d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
			AND d.objid OPERATOR(pg_catalog.=) f.oid AND d.deptype OPERATOR(pg_catalog.=) 'e'
	)
	SELECT t.relid::pg_catalog.regclass, w.tgname,
		CASE WHEN w.tgname IS NULL THEN NULL
			WHEN EXISTS (SELECT FROM triggers AS g WHERE g.tgrelid OPERATOR(pg_catalog.=) t.relid
							  AND g.tgname OPERATOR(pg_catalog.=) w.tgname
							  AND g.event OPERATOR(pg_catalog.=) w.event
							  AND g.definition OPERATOR(pg_catalog.=) w.definition)
			THEN pg_catalog.format('ALTER TABLE %s ENABLE TRIGGER %I', t.name, w.tgname)
			ELSE pg_catalog.format('CREATE TRIGGER %I AFTER %s ON %s%s', w.tgname, w.event, t.name, w.definition) END
	FROM tables AS t
	CROSS JOIN ((SELECT DISTINCT ON (g.event, g.definition) g.tgname, g.event, g.definition FROM triggers AS g
				 ORDER BY g.event, g.definition, g.tgname)
				UNION ALL
				SELECT NULL, NULL, NULL WHERE NOT EXISTS (SELECT FROM triggers AS g WHERE g.event OPERATOR(pg_catalog.=) 'INSERT')) AS w
	WHERE NOT EXISTS (SELECT FROM triggers AS g WHERE g.tgrelid OPERATOR(pg_catalog.=) t.relid
						  AND g.event OPERATOR(pg_catalog.=) w.event
						  AND g.definition OPERATOR(pg_catalog.=) w.definition AND g.enabled)
	ORDER BY t.name, w.tgname;
END
$$;

COMMENT ON FUNCTION bloom_untracked(regclass) IS
'the table and its partitions that lack a trigger on bloom_track() which another of them has, or have it disabled, and the command that mends it; if no INSERT has such a trigger, all of them, without a command';

CREATE FUNCTION bloom_rebuild_statements(
	schema name,
	target regclass,
	filter_column name,
	source regclass,
	user_column name,
	item_column name,
	time_column name,
	width interval,
	fpr double precision,
	headroom double precision,
	slices integer,
	rebuilt_at_column name,
	target_user_column name,
	OUT next_users text,
	OUT lock_free text,
	OUT lock_one text,
	OUT write text,
	OUT count_fresh text,
	OUT count_others text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
	keys pg_catalog.record;
	further_columns pg_catalog.bool;
	not_null pg_catalog.bool;
	item pg_catalog.text;
	filter pg_catalog.text;
	exposures pg_catalog.text;
	lock pg_catalog.text;
BEGIN
	IF target IS NULL OR filter_column IS NULL OR source IS NULL OR user_column IS NULL
		OR item_column IS NULL OR time_column IS NULL OR width IS NULL OR fpr IS NULL OR headroom IS NULL THEN
		RAISE 'target, source, columns, width, fpr and headroom must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF width OPERATOR(pg_catalog.<=) '0' THEN
		RAISE 'width of the window must be positive' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	EXECUTE pg_catalog.format('SELECT * FROM %I.bloom_track_keys($1, $2, $3, $4, $5, $6, $7, $8)', schema)
	INTO keys USING schema, target, filter_column, target_user_column, source, user_column, item_column, time_column;

	-- A row may be deleted if the filter is all that it tells of the user.
	SELECT pg_catalog.count(*) OPERATOR(pg_catalog.>) 0 INTO further_columns
	FROM pg_catalog.pg_attribute AS a
	WHERE a.attrelid OPERATOR(pg_catalog.=) target AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
		AND NOT a.attname OPERATOR(pg_catalog.=) ANY (ARRAY[filter_column, target_user_column,
			COALESCE(rebuilt_at_column, filter_column)]);
	SELECT a.attnotnull INTO not_null
	FROM pg_catalog.pg_attribute AS a
	WHERE a.attrelid OPERATOR(pg_catalog.=) target AND a.attname OPERATOR(pg_catalog.=) filter_column;
	IF further_columns AND not_null THEN
		RAISE 'column "%" of table "%" must allow nulls', filter_column, target
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'The table has further columns, so a row is kept without a filter if its user has no exposure left.';
	END IF;

	-- In all statements $1 are the users, or the last user done, and $3 is the end of
	-- the window.  Users come as texts, and so does every constant of the caller's.
	item := keys.source_item;
	filter := CASE WHEN slices IS NULL
		THEN pg_catalog.format('%I.bloom_agg(%s, %L, %L)', schema, item, fpr::pg_catalog.numeric, headroom::pg_catalog.numeric)
		ELSE pg_catalog.format('%1$I.bloom_expire(%1$I.bloom_window_agg(%2$s, e.%3$I::pg_catalog.timestamptz, %4$L, %5$L, %6$L), $3)',
							   schema, item, time_column, width, slices, fpr::pg_catalog.numeric) END;
	-- (UTC, because a day has 24 hours in a filter with a window, and not 23 on some)
	exposures := pg_catalog.format('FROM %s AS e WHERE e.%I OPERATOR(pg_catalog.>=) pg_catalog.timezone(''UTC'', '
		'pg_catalog.timezone(''UTC'', $3) OPERATOR(pg_catalog.-) %L::pg_catalog.interval) '
		'AND e.%I IS NOT NULL AND e.%I IS NOT NULL',
		keys.source_name, time_column, width, user_column, item_column);

	next_users := pg_catalog.format(
		'SELECT pg_catalog.array_agg(k.u::pg_catalog.text ORDER BY k.u) FROM ('
		'(SELECT f.%1$I AS u FROM %2$s AS f WHERE f.%1$I IS NOT NULL AND ($1 IS NULL OR f.%1$I %3$s $1::%4$s) ORDER BY 1 LIMIT $2) '
		'UNION (SELECT DISTINCT %5$s %6$s AND ($1 IS NULL OR %5$s %3$s $1::%4$s) ORDER BY 1 LIMIT $2) '
		'ORDER BY 1 LIMIT $2) AS k',
		target_user_column, keys.target_name, keys.greater, keys.user_type, keys.source_user, exposures);

	lock := 'WITH present AS (SELECT f.%1$I AS u FROM %2$s AS f WHERE f.%1$I %3$s ANY ($1::%4$s[])), '
		'locked AS (SELECT f.%1$I AS u FROM %2$s AS f WHERE f.%1$I %3$s ANY ($1::%4$s[]) ORDER BY 1 FOR UPDATE %5$s) '
		'SELECT ARRAY(SELECT u::pg_catalog.text FROM locked), '
		'ARRAY(SELECT b.u::pg_catalog.text FROM (SELECT u FROM present EXCEPT SELECT u FROM locked) AS b ORDER BY b.u)';
	lock_free := pg_catalog.format(lock, target_user_column, keys.target_name, keys.equal, keys.user_type, 'SKIP LOCKED');
	lock_one := pg_catalog.format(lock, target_user_column, keys.target_name, keys.equal, keys.user_type, '');

	-- $2 are the users whose rows are locked, $4 those who must wait.
	write := pg_catalog.format(
		'WITH fresh AS MATERIALIZED (SELECT %5$s AS u, %6$s AS filter %7$s '
			'AND %5$s %8$s ANY ($1::%9$s[]) AND NOT %5$s %8$s ANY ($4::%9$s[]) GROUP BY 1), '
		'kept AS (UPDATE %1$s AS f SET %3$I = n.filter %10$s FROM fresh AS n '
			'WHERE f.%2$I %8$s n.u AND f.%2$I %8$s ANY ($2::%9$s[]) %11$s), '
		'gone AS (%12$s f.%2$I %8$s ANY ($2::%9$s[]) AND NOT EXISTS (SELECT FROM fresh AS n WHERE n.u %8$s f.%2$I)) '
		'INSERT INTO %1$s AS f (%2$I, %3$I %13$s) SELECT n.u, n.filter %14$s FROM fresh AS n '
			'WHERE NOT n.u %8$s ANY ($2::%9$s[]) ORDER BY n.u '
		'ON CONFLICT (%2$I) DO UPDATE SET %3$I = %4$I.bloom_union(f.%3$I, excluded.%3$I) %10$s',
		keys.target_name, target_user_column, filter_column, schema, keys.source_user, filter, exposures, keys.equal, keys.user_type,
		CASE WHEN rebuilt_at_column IS NULL THEN '' ELSE pg_catalog.format(', %I = pg_catalog.now()', rebuilt_at_column) END,
		CASE WHEN rebuilt_at_column IS NULL
			-- no need to write what is there
			THEN pg_catalog.format('AND (f.%1$I IS NULL OR f.%1$I OPERATOR(%2$I.<>) n.filter)', filter_column, schema)
			ELSE '' END,
		CASE WHEN further_columns
			THEN pg_catalog.format('UPDATE %1$s AS f SET %2$I = NULL WHERE f.%2$I IS NOT NULL AND', keys.target_name, filter_column)
			ELSE pg_catalog.format('DELETE FROM %s AS f WHERE', keys.target_name) END,
		CASE WHEN rebuilt_at_column IS NULL THEN '' ELSE pg_catalog.format(', %I', rebuilt_at_column) END,
		CASE WHEN rebuilt_at_column IS NULL THEN '' ELSE ', pg_catalog.now()' END);

	-- Of the users $2, or of all of them.
	count_fresh := pg_catalog.format(
		'SELECT pg_catalog.count(*) AS users, COALESCE(pg_catalog.sum(n), 0) AS exposures, COALESCE(pg_catalog.sum(bytes), 0) AS bytes '
		'FROM (SELECT pg_catalog.count(*) AS n, (%1$I.bloom_info(%2$s)).bytes %3$s AND ($1 IS NULL OR %4$s %5$s $1::%6$s) '
			'AND ($2 IS NULL OR %4$s %7$s ANY ($2::%6$s[])) GROUP BY %4$s) AS f',
		schema, filter, exposures, keys.source_user, keys.greater, keys.user_type, keys.equal);
	count_others := pg_catalog.format(
		'SELECT pg_catalog.count(*) FROM %1$s AS f WHERE ($1 IS NULL OR f.%2$I %3$s $1::%4$s) '
		'AND NOT EXISTS (SELECT %5$s AND %6$s %7$s f.%2$I)',
		keys.target_name, target_user_column, keys.greater, keys.user_type, exposures, keys.source_user, keys.equal);
END
$$;

COMMENT ON FUNCTION bloom_rebuild_statements(name, regclass, name, regclass, name, name, name, interval, double precision, double precision, integer, name, name) IS
'the statements that bloom_rebuild() executes';

CREATE PROCEDURE bloom_rebuild(
	target regclass,
	filter_column name,
	source regclass,
	user_column name,
	item_column name,
	time_column name,
	width interval DEFAULT '30 days',
	fpr double precision DEFAULT 0.01,
	headroom double precision DEFAULT 0.2,
	slices integer DEFAULT NULL,
	batch_size integer DEFAULT 1000,
	pause interval DEFAULT '0',
	start_after text DEFAULT NULL,
	rebuilt_at_column name DEFAULT NULL,
	dry_run boolean DEFAULT false,
	target_user_column name DEFAULT NULL,
	at timestamp with time zone DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
	schema pg_catalog.name;
	statements pg_catalog.record;
	figures pg_catalog.record;
	batch pg_catalog.text[];			-- users to be done together
	locked pg_catalog.text[];			-- those of them whose rows are ours
	busy pg_catalog.text[] := '{}';		-- those to be done one at a time
	users pg_catalog.text[];			-- one of these
	last_user pg_catalog.text := start_after;
	done pg_catalog.int8 := 0;
	started_at pg_catalog.timestamptz := pg_catalog.clock_timestamp();
	told_at pg_catalog.timestamptz := started_at;
	batches pg_catalog.float8;
	batch_took pg_catalog.interval;
	all_took pg_catalog.interval;
	others pg_catalog.int8;				-- rows of users without exposures
BEGIN
	-- In a transaction block this fails, before anything is done.
	COMMIT;
	SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

	IF COALESCE(batch_size, 0) OPERATOR(pg_catalog.<) 1 THEN
		RAISE 'batch_size must be at least 1' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF NOT pg_catalog.isfinite(at) THEN
		RAISE 'at must be finite' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT n.nspname INTO schema
	FROM pg_catalog.pg_extension AS e JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
	WHERE e.extname OPERATOR(pg_catalog.=) 'bloomexp';
	EXECUTE pg_catalog.format('SELECT * FROM %I.bloom_rebuild_statements($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)', schema)
	INTO statements USING schema, target, filter_column, source, user_column, item_column, time_column,
		width, fpr, headroom, slices, rebuilt_at_column, COALESCE(target_user_column, user_column);

	IF dry_run THEN
		-- All batches take the time of the first, or that of a look at everything if it is
		-- more; what they would write comes on top.
		EXECUTE statements.next_users INTO batch USING start_after, batch_size, COALESCE(at, pg_catalog.now());
		EXECUTE statements.count_fresh INTO figures USING start_after, batch, COALESCE(at, pg_catalog.now());
		told_at := pg_catalog.clock_timestamp();
		batch_took := told_at OPERATOR(pg_catalog.-) started_at;
		EXECUTE statements.count_fresh INTO figures USING start_after, NULL::pg_catalog.text[], COALESCE(at, pg_catalog.now());
		all_took := pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) told_at;
		EXECUTE statements.count_others INTO others USING start_after, NULL, COALESCE(at, pg_catalog.now());
		batches := pg_catalog.ceil((figures.users OPERATOR(pg_catalog.+) others) OPERATOR(pg_catalog./) batch_size::pg_catalog.float8);
		RAISE NOTICE 'dry run: % exposures of % users would make filters of % bytes, in about %; % rows are of other users',
			figures.exposures, figures.users, figures.bytes,
			pg_catalog.date_trunc('minute', (pause OPERATOR(pg_catalog.*) batches) OPERATOR(pg_catalog.+) interval '1 minute'
				OPERATOR(pg_catalog.+) GREATEST(batch_took OPERATOR(pg_catalog.*) batches, all_took)),
			others;
		RETURN;
	END IF;

	LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		IF busy OPERATOR(pg_catalog.=) '{}' AND batch IS NOT NULL THEN
			done := done OPERATOR(pg_catalog.+) pg_catalog.cardinality(batch);
			last_user := batch[pg_catalog.cardinality(batch)];
			IF pg_catalog.clock_timestamp() OPERATOR(pg_catalog.>=) (told_at OPERATOR(pg_catalog.+) interval '20 seconds') THEN
				RAISE NOTICE 'rebuilt the filters of % users, the last one is %', done, last_user;
				told_at := pg_catalog.clock_timestamp();
			END IF;
			IF pause OPERATOR(pg_catalog.>) '0' THEN
				-- in a transaction of its own, so that the window does not end before it
				PERFORM pg_catalog.set_config('application_name',
					pg_catalog.format('bloom_rebuild: %s users%s (%s)', done, ', last ' OPERATOR(pg_catalog.||) last_user, target), true);
				PERFORM pg_catalog.pg_sleep(pg_catalog.date_part('epoch', pause));
				COMMIT;
				SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
			END IF;
		END IF;

		PERFORM pg_catalog.set_config('application_name',
			pg_catalog.format('bloom_rebuild: %s users%s (%s)', done, ', last ' OPERATOR(pg_catalog.||) last_user, target), true);
		IF NOT pg_catalog.pg_try_advisory_xact_lock(
				pg_catalog.hashtextextended(pg_catalog.format('bloom_rebuild %s', target::pg_catalog.oid), 0)) THEN
			RAISE 'table "%" is being rebuilt by another session', target USING ERRCODE = 'lock_not_available';
		END IF;

		IF busy OPERATOR(pg_catalog.<>) '{}' THEN
			users := busy[1:1];
			busy := busy[2:];
			EXECUTE statements.lock_one INTO locked USING users;
			EXECUTE statements.write USING users, locked, COALESCE(at, pg_catalog.now()), busy;
			CONTINUE;
		END IF;

		EXECUTE statements.next_users INTO batch USING last_user, batch_size, COALESCE(at, pg_catalog.now());
		EXIT WHEN batch IS NULL;
		BEGIN
			-- What is left to wait for is a user without a row that another session inserts
			-- just now.  Then the batch is given up before anybody deadlocks.
			PERFORM pg_catalog.set_config('lock_timeout', '10ms', true);
			EXECUTE statements.lock_free INTO locked, busy USING batch;
			EXECUTE statements.write USING batch, locked, COALESCE(at, pg_catalog.now()), busy;
		EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
			busy := batch;
		END;
	END LOOP;

	RAISE NOTICE 'rebuilt the filters of % users', done;
END
$$;

COMMENT ON PROCEDURE bloom_rebuild(regclass, name, regclass, name, name, name, interval, double precision, double precision, integer, integer, interval, text, name, boolean, name, timestamp with time zone) IS
'builds every filter of a table anew from the exposures of a time window, in batches of users with a transaction each, while writers go on';

--
-- The state of a table of filters.
--
-- VOLATILE because a sample is another one each time.  For names in it the same is
-- true as for bloom_track() and bloom_rebuild(); see there.
--

CREATE FUNCTION bloom_overview(
	target regclass,
	filter_column name,
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
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	schema pg_catalog.name;
	target_name pg_catalog.text;
	column_name pg_catalog.name;
	filter_type pg_catalog.oid;
	sample pg_catalog.text := '';
BEGIN
	IF target IS NULL OR filter_column IS NULL OR sample_percent IS NULL THEN
		RAISE 'target, filter_column and sample_percent must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF sample_percent OPERATOR(pg_catalog.<=) 0 OR sample_percent OPERATOR(pg_catalog.>) 100 THEN
		RAISE 'sample_percent must be greater than 0 and at most 100' USING ERRCODE = 'invalid_parameter_value';
	END IF;

	SELECT pg_catalog.format('%I.%I', n.nspname, c.relname) INTO target_name
	FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
	WHERE c.oid OPERATOR(pg_catalog.=) target;
	IF NOT FOUND THEN
		RAISE 'relation with OID % does not exist', target::pg_catalog.oid USING ERRCODE = 'undefined_table';
	END IF;
	FOREACH column_name IN ARRAY ARRAY[filter_column, COALESCE(rebuilt_at_column, filter_column)] LOOP
		PERFORM FROM pg_catalog.pg_attribute AS a
		WHERE a.attrelid OPERATOR(pg_catalog.=) target AND a.attname OPERATOR(pg_catalog.=) column_name
			AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped;
		IF NOT FOUND THEN
			RAISE 'column "%" of relation "%" does not exist', column_name, target USING ERRCODE = 'undefined_column';
		END IF;
	END LOOP;
	SELECT n.nspname, t.oid INTO schema, filter_type
	FROM pg_catalog.pg_extension AS e
	JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
	JOIN pg_catalog.pg_type AS t ON t.typnamespace OPERATOR(pg_catalog.=) n.oid AND t.typname OPERATOR(pg_catalog.=) 'bloom'
	WHERE e.extname OPERATOR(pg_catalog.=) 'bloomexp';
	PERFORM FROM pg_catalog.pg_attribute AS a
	WHERE a.attrelid OPERATOR(pg_catalog.=) target AND a.attname OPERATOR(pg_catalog.=) filter_column
		AND a.atttypid OPERATOR(pg_catalog.=) filter_type;
	IF NOT FOUND THEN
		RAISE 'column "%" of relation "%" is not of type bloom', filter_column, target USING ERRCODE = 'datatype_mismatch';
	END IF;

	IF sample_percent OPERATOR(pg_catalog.<) 100 THEN
		sample := pg_catalog.format('TABLESAMPLE pg_catalog.system (%L)', sample_percent::pg_catalog.numeric);
	END IF;

	-- $1 scales up what was sampled.  pg_column_size() reads nothing but the pointer of
	-- a filter out of line, and bloom_info() its headers.  A window has a layer a slice
	-- by design; a counting filter never has another one, but refuses items when full.
	EXECUTE pg_catalog.format(
		'SELECT pg_catalog.count(*) OPERATOR(pg_catalog.*) $1, COALESCE(pg_catalog.sum(s.items), 0) OPERATOR(pg_catalog.*) $1, '
			'COALESCE(pg_catalog.sum(s.bytes), 0) OPERATOR(pg_catalog.*) $1, '
			'pg_catalog.percentile_disc(0.5) WITHIN GROUP (ORDER BY s.bytes), '
			'pg_catalog.percentile_disc(0.99) WITHIN GROUP (ORDER BY s.bytes), '
			'pg_catalog.avg(s.over_capacity::pg_catalog.int4)::pg_catalog.float8, pg_catalog.max(s.layers), pg_catalog.max(s.fpr), '
			'pg_catalog.percentile_disc(0.5) WITHIN GROUP (ORDER BY s.fpr_now), '
			'pg_catalog.percentile_disc(0.99) WITHIN GROUP (ORDER BY s.fpr_now), pg_catalog.max(s.fpr_now), '
			'pg_catalog.min(s.rebuilt_at) '
		'FROM (SELECT pg_catalog.pg_column_size(f.%2$I) AS bytes, i.items, i.layers, i.fpr, i.fpr_now, %4$s AS rebuilt_at, '
			'CASE WHEN i.slices IS NOT NULL THEN i.layers OPERATOR(pg_catalog.>) '
				'(SELECT pg_catalog.count(DISTINCT l.slice) FROM %1$I.bloom_layers(f.%2$I) AS l) '
				'WHEN i.counting THEN i.items OPERATOR(pg_catalog.>=) i.capacity '
				'ELSE i.layers OPERATOR(pg_catalog.>) 1 END AS over_capacity '
			'FROM %3$s AS f %5$s, %1$I.bloom_info(f.%2$I) AS i WHERE f.%2$I IS NOT NULL) AS s',
		schema, filter_column, target_name,
		CASE WHEN rebuilt_at_column IS NULL THEN 'NULL::pg_catalog.timestamptz'
			ELSE pg_catalog.format('f.%I::pg_catalog.timestamptz', rebuilt_at_column) END,
		sample)
	INTO users, items, bytes, bytes_p50, bytes_p99, over_capacity, layers_max, promised_max,
		fpr_p50, fpr_p99, fpr_max, oldest_rebuild
	USING (100 OPERATOR(pg_catalog./) sample_percent)::pg_catalog.numeric;
END
$$;

COMMENT ON FUNCTION bloom_overview(regclass, name, double precision, name) IS
'state of all filters of a table, or of a sample of its pages: users with a filter, items, bytes, how many filters have outgrown their capacity, layers, the promised false positive rate, the rates now, and the oldest rebuild';
