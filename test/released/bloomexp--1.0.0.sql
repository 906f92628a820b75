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

-- Functions that make and change filters. A NULL filter counts as empty. NULL items are ignored.
--
-- A function that adds or removes has one form for an item and one for an array. No form takes
-- text, so a literal or a parameter of unknown type is an error. Otherwise it would become a text
-- item where an integer was meant.
--
-- COST is in multiples of the time of an integer addition. It was measured with a filter of a
-- thousand items that is detoasted at each call, and with arrays of a thousand candidates.

CREATE FUNCTION bloom_new(
	capacity bigint DEFAULT 100,
	fpr double precision DEFAULT 0.01,
	counting boolean DEFAULT false)
RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_new'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

COMMENT ON FUNCTION bloom_new(bigint, double precision, boolean) IS
'empty filter for capacity items at false positive rate fpr (0.01 is 1%); it can grow beyond its '
'capacity and keeps fpr; a counting filter cannot grow, but its items can be removed';

CREATE FUNCTION bloom_add(filter bloom, item anynonarray) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add(bloom, anynonarray) IS
'filter with an item added; the filter itself if it contains the item and is not counting; NULL '
'counts as empty';

CREATE FUNCTION bloom_add(filter bloom, items anyarray) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_array'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add(bloom, anyarray) IS
'filter with all items of an array added; the filter itself if it contains them and is not '
'counting; NULL counts as empty';

CREATE FUNCTION bloom_with_fpr(filter bloom, fpr double precision) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_with_fpr'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

COMMENT ON FUNCTION bloom_with_fpr(bloom, double precision) IS
'filter with target rate fpr for items that are added later; the filter itself if that is its rate '
'already, or if it has too many items for that rate';

CREATE FUNCTION bloom_remove(filter bloom, item anynonarray) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_remove'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_remove(bloom, anynonarray) IS
'counting filter with an item removed once; the filter itself if it does not contain the item; '
'raises an error if the filter is not counting';

CREATE FUNCTION bloom_remove(filter bloom, items anyarray) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_remove_array'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_remove(bloom, anyarray) IS
'counting filter with each item of an array removed once; raises an error if the filter is not '
'counting';

-- Sliding windows: each item has a time, and old items are forgotten.
CREATE FUNCTION bloom_window(
	width interval,
	slices integer DEFAULT 6,
	fpr double precision DEFAULT 0.01)
RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_window'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

COMMENT ON FUNCTION bloom_window(interval, integer, double precision) IS
'empty filter with a sliding window: an item is contained for width after it was last shown, and '
'forgotten at most width / slices later, by bloom_expire() or by a later add; fpr is the false '
'positive rate of a whole window (0.01 is 1%)';

CREATE FUNCTION bloom_add_at(filter bloom, item anynonarray, shown_at timestamp with time zone)
RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_at'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add_at(bloom, anynonarray, timestamp with time zone) IS
'windowed filter with an item added that was shown at shown_at, without the slices that this '
'pushes out of the window; the filter itself if the slice of shown_at or a newer one contains the '
'item already, or if shown_at is before the window of the last bloom_expire()';

CREATE FUNCTION bloom_add_at(filter bloom, items anyarray, shown_at timestamp with time zone[])
RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_at_array'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add_at(bloom, anyarray, timestamp with time zone[]) IS
'windowed filter with all items of an array added, each with its time in shown_at, without the '
'slices that this pushes out of the window; raises an error if the arrays differ in length';

CREATE FUNCTION bloom_expire(filter bloom, at timestamp with time zone) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_expire'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

COMMENT ON FUNCTION bloom_expire(bloom, timestamp with time zone) IS
'windowed filter without the slices that lie wholly before the window that ends at this time; '
'later adds ignore items that were shown before that window';

CREATE FUNCTION bloom_union(a bloom, b bloom) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_union'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;

COMMENT ON FUNCTION bloom_union(bloom, bloom) IS
'filter that contains the items of both filters, at a false positive rate of at most the sum of '
'theirs; raises an error if they differ in kind of items, counting or window';

CREATE OPERATOR | (
	LEFTARG = bloom, RIGHTARG = bloom,
	FUNCTION = bloom_union
);

COMMENT ON OPERATOR | (bloom, bloom) IS 'union';

-- Functions that test several items at once. Those that test one item are in kind.sql.in. A NULL
-- item counts as not contained, but bloom_contains_each() returns NULL for it.

CREATE FUNCTION bloom_contains_any(filter bloom, items anyarray) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contains_any'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;

COMMENT ON FUNCTION bloom_contains_any(bloom, anyarray) IS
'whether the filter contains at least one of the items';

CREATE FUNCTION bloom_contains_all(filter bloom, items anyarray) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contains_all'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;

COMMENT ON FUNCTION bloom_contains_all(bloom, anyarray) IS
'whether the filter contains all of the items; a NULL item is not contained';

CREATE FUNCTION bloom_contains_each(filter bloom, items anyarray) RETURNS boolean[]
AS 'MODULE_PATHNAME', 'bloomexp_contains_each'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;

COMMENT ON FUNCTION bloom_contains_each(bloom, anyarray) IS
'array that says for each item, in order, whether the filter contains it; NULL for a NULL item';

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

-- Hashes of items. A feed keeps the newest items of a user as hashes, and adds them to the
-- filter later.

CREATE FUNCTION bloom_hashes(items anyarray) RETURNS bigint[]
AS 'MODULE_PATHNAME', 'bloomexp_hashes'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;

COMMENT ON FUNCTION bloom_hashes(anyarray) IS
'hashes of the items of an array, in order, without NULLs; a filter knows items by their hashes';

CREATE FUNCTION bloom_add_hashes(filter bloom, kind text, hashes bigint[]) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_hashes'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add_hashes(bloom, text, bigint[]) IS
'filter with items added by their hashes, as bloom_add() adds an array; kind is the kind of the '
'items: integer, text, uuid or bytea';

CREATE FUNCTION bloom_add_hashes_at(
	filter bloom,
	kind text,
	hashes bigint[],
	shown_at timestamp with time zone,
	final boolean)
RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_hashes_at'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add_hashes_at(
	bloom, text, bigint[], timestamp with time zone, boolean) IS
'windowed filter with items added by their hashes, all shown at shown_at, as bloom_add_at() adds '
'an array; if final, no more items of this slice will come, so it gets no room for more';

CREATE FUNCTION bloom_exclude(candidates anyarray, filter bloom, hashes bigint[])
RETURNS SETOF anyelement
AS 'MODULE_PATHNAME', 'bloomexp_exclude_hashes'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 4000 ROWS 1000
SUPPORT bloom_exclude_support;

COMMENT ON FUNCTION bloom_exclude(anyarray, bloom, bigint[]) IS
'candidates that the filter does not contain and whose hashes are not in the array, in order';

CREATE FUNCTION bloom_exclude_array(candidates anyarray, filter bloom, hashes bigint[])
RETURNS anyarray
AS 'MODULE_PATHNAME', 'bloomexp_exclude_array_hashes'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 4000;

COMMENT ON FUNCTION bloom_exclude_array(anyarray, bloom, bigint[]) IS
'array of the candidates that the filter does not contain and whose hashes are not in the array '
'hashes, in order';

CREATE FUNCTION bloom_exclude_first(
	candidates anyarray,
	filter bloom,
	wanted integer,
	hashes bigint[])
RETURNS anyarray
AS 'MODULE_PATHNAME', 'bloomexp_exclude_first_hashes'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 4000;

COMMENT ON FUNCTION bloom_exclude_first(anyarray, bloom, integer, bigint[]) IS
'array of the first distinct candidates that the filter does not contain and whose hashes are not '
'in the array hashes, in order: at most wanted, or all if wanted is NULL';

-- Aggregates, which make one filter of many rows.

CREATE FUNCTION bloom_agg_combine(internal, internal) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg_combine'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloom_agg_combine(internal, internal) IS
'combine function of bloom_agg() and bloom_window_agg()';

CREATE FUNCTION bloom_agg_serialize(internal) RETURNS bytea
AS 'MODULE_PATHNAME', 'bloomexp_agg_serialize'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloom_agg_serialize(internal) IS
'serialization function of bloom_agg() and bloom_window_agg()';

CREATE FUNCTION bloom_agg_deserialize(bytea, internal) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg_deserialize'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloom_agg_deserialize(bytea, internal) IS
'deserialization function of bloom_agg() and bloom_window_agg()';

CREATE FUNCTION bloom_agg_final(internal) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_agg_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloom_agg_final(internal) IS
'final function of bloom_agg() and bloom_window_agg()';

CREATE FUNCTION bloom_agg_transition(internal, anynonarray) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloom_agg_transition(internal, anynonarray) IS
'transition function of bloom_agg()';

CREATE AGGREGATE bloom_agg(item anynonarray) (
	SFUNC = bloom_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_agg_final, COMBINEFUNC = bloom_agg_combine,
	SERIALFUNC = bloom_agg_serialize, DESERIALFUNC = bloom_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_agg(anynonarray) IS
'filter of the items of all rows, sized for the number of distinct items at a false positive rate '
'of 1%; NULL if there are no items';

CREATE FUNCTION bloom_agg_transition(internal, anynonarray, double precision) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloom_agg_transition(internal, anynonarray, double precision) IS
'transition function of bloom_agg()';

CREATE AGGREGATE bloom_agg(item anynonarray, fpr double precision) (
	SFUNC = bloom_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_agg_final, COMBINEFUNC = bloom_agg_combine,
	SERIALFUNC = bloom_agg_serialize, DESERIALFUNC = bloom_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_agg(anynonarray, double precision) IS
'filter of the items of all rows, sized for the number of distinct items at false positive rate '
'fpr (0.01 is 1%); NULL if there are no items';

CREATE FUNCTION bloom_agg_transition(internal, anynonarray, double precision, double precision)
RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_agg'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION
bloom_agg_transition(internal, anynonarray, double precision, double precision) IS
'transition function of bloom_agg()';

CREATE AGGREGATE bloom_agg(item anynonarray, fpr double precision, headroom double precision) (
	SFUNC = bloom_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_agg_final, COMBINEFUNC = bloom_agg_combine,
	SERIALFUNC = bloom_agg_serialize, DESERIALFUNC = bloom_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_agg(anynonarray, double precision, double precision) IS
'filter of the items of all rows, sized for the number of distinct items at false positive rate '
'fpr (0.01 is 1%), with headroom for more items (0.2 is 20%); NULL if there are no items';

CREATE FUNCTION bloom_window_agg_transition(
	internal, anynonarray, timestamp with time zone, interval, integer, double precision)
RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_window_agg'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloom_window_agg_transition(
	internal, anynonarray, timestamp with time zone, interval, integer, double precision) IS
'transition function of bloom_window_agg()';

CREATE AGGREGATE bloom_window_agg(
	item anynonarray,
	shown_at timestamp with time zone,
	width interval,
	slices integer,
	fpr double precision)
(
	SFUNC = bloom_window_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_agg_final, COMBINEFUNC = bloom_agg_combine,
	SERIALFUNC = bloom_agg_serialize, DESERIALFUNC = bloom_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_window_agg(
	anynonarray, timestamp with time zone, interval, integer, double precision) IS
'windowed filter of the items of all rows, each in the slice of its newest shown_at; each slice is '
'sized for its number of distinct items; width, slices and fpr are those of bloom_window(); NULL '
'if there are no items';

-- The state is a filter, so a distributed database can send it between nodes.
CREATE AGGREGATE bloom_union_agg(filter bloom) (
	SFUNC = bloom_union, STYPE = bloom,
	COMBINEFUNC = bloom_union, PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_union_agg(bloom) IS
'union of the filters of all rows';

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

-- Feeds call the same C function as bloomexp.oldest_transaction(), because the extension can be in
-- any schema.

CREATE FUNCTION bloom_oldest_transaction() RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'bloomexp_oldest_transaction'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION bloom_oldest_transaction() IS
'a time, at least a second ago, before which no open transaction of another session in this '
'database began; -infinity if that is not known, because a session has track_activities off, or '
'had it off when its transaction began';

--
-- Tests of one item of type bigint
--

CREATE FUNCTION bloom_contains(filter bloom, item bigint) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contains_int8'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;

COMMENT ON FUNCTION bloom_contains(bloom, bigint) IS
'whether the filter contains the item: false is certain; for an item that was not added, the '
'answer is true with a probability of at most fpr';

CREATE FUNCTION bloom_contained(item bigint, filter bloom) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contained_int8'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;

COMMENT ON FUNCTION bloom_contained(bigint, bloom) IS
'implementation of <@ operator';

CREATE OPERATOR @> (
	LEFTARG = bloom, RIGHTARG = bigint,
	FUNCTION = bloom_contains, COMMUTATOR = <@,
	RESTRICT = matchingsel, JOIN = matchingjoinsel
);

COMMENT ON OPERATOR @> (bloom, bigint) IS 'filter contains item';

CREATE OPERATOR <@ (
	LEFTARG = bigint, RIGHTARG = bloom,
	FUNCTION = bloom_contained, COMMUTATOR = @>,
	RESTRICT = matchingsel, JOIN = matchingjoinsel
);

COMMENT ON OPERATOR <@ (bigint, bloom) IS 'item is contained in filter';

--
-- Tests of one item of type text
--

CREATE FUNCTION bloom_contains(filter bloom, item text) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contains_text'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;

COMMENT ON FUNCTION bloom_contains(bloom, text) IS
'whether the filter contains the item: false is certain; for an item that was not added, the '
'answer is true with a probability of at most fpr';

CREATE FUNCTION bloom_contained(item text, filter bloom) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contained_text'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;

COMMENT ON FUNCTION bloom_contained(text, bloom) IS
'implementation of <@ operator';

CREATE OPERATOR @> (
	LEFTARG = bloom, RIGHTARG = text,
	FUNCTION = bloom_contains, COMMUTATOR = <@,
	RESTRICT = matchingsel, JOIN = matchingjoinsel
);

COMMENT ON OPERATOR @> (bloom, text) IS 'filter contains item';

CREATE OPERATOR <@ (
	LEFTARG = text, RIGHTARG = bloom,
	FUNCTION = bloom_contained, COMMUTATOR = @>,
	RESTRICT = matchingsel, JOIN = matchingjoinsel
);

COMMENT ON OPERATOR <@ (text, bloom) IS 'item is contained in filter';

--
-- Tests of one item of type uuid
--

CREATE FUNCTION bloom_contains(filter bloom, item uuid) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contains_uuid'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;

COMMENT ON FUNCTION bloom_contains(bloom, uuid) IS
'whether the filter contains the item: false is certain; for an item that was not added, the '
'answer is true with a probability of at most fpr';

CREATE FUNCTION bloom_contained(item uuid, filter bloom) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contained_uuid'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;

COMMENT ON FUNCTION bloom_contained(uuid, bloom) IS
'implementation of <@ operator';

CREATE OPERATOR @> (
	LEFTARG = bloom, RIGHTARG = uuid,
	FUNCTION = bloom_contains, COMMUTATOR = <@,
	RESTRICT = matchingsel, JOIN = matchingjoinsel
);

COMMENT ON OPERATOR @> (bloom, uuid) IS 'filter contains item';

CREATE OPERATOR <@ (
	LEFTARG = uuid, RIGHTARG = bloom,
	FUNCTION = bloom_contained, COMMUTATOR = @>,
	RESTRICT = matchingsel, JOIN = matchingjoinsel
);

COMMENT ON OPERATOR <@ (uuid, bloom) IS 'item is contained in filter';

--
-- Tests of one item of type bytea
--

CREATE FUNCTION bloom_contains(filter bloom, item bytea) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contains_bytea'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;

COMMENT ON FUNCTION bloom_contains(bloom, bytea) IS
'whether the filter contains the item: false is certain; for an item that was not added, the '
'answer is true with a probability of at most fpr';

CREATE FUNCTION bloom_contained(item bytea, filter bloom) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_contained_bytea'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;

COMMENT ON FUNCTION bloom_contained(bytea, bloom) IS
'implementation of <@ operator';

CREATE OPERATOR @> (
	LEFTARG = bloom, RIGHTARG = bytea,
	FUNCTION = bloom_contains, COMMUTATOR = <@,
	RESTRICT = matchingsel, JOIN = matchingjoinsel
);

COMMENT ON OPERATOR @> (bloom, bytea) IS 'filter contains item';

CREATE OPERATOR <@ (
	LEFTARG = bytea, RIGHTARG = bloom,
	FUNCTION = bloom_contained, COMMUTATOR = @>,
	RESTRICT = matchingsel, JOIN = matchingjoinsel
);

COMMENT ON OPERATOR <@ (bytea, bloom) IS 'item is contained in filter';

-- The schema bloomexp: functions that make and list feeds, and functions that feeds call.
--
-- The schema belongs to a superuser, even if another role has created the trusted extension.
-- Nobody else can create functions in it, so a call of bloomexp.fold(...) finds no function but
-- ours.  The schema of the type, in contrast, can belong to anybody, who could create a function
-- there that fits a call better.  Therefore the functions of the type that feeds call are declared
-- here a second time, with the same C code, and no function body names the type.
--
-- All functions run with the rights of their caller.

CREATE SCHEMA bloomexp;
GRANT USAGE ON SCHEMA bloomexp TO PUBLIC;

COMMENT ON SCHEMA bloomexp IS
'functions of bloomexp for feeds: create_feed(), feed_sql() and feeds() for users, and functions '
'that feeds call';

CREATE FUNCTION bloomexp.with_fpr(filter @extschema@.bloom, fpr double precision)
RETURNS @extschema@.bloom
AS 'MODULE_PATHNAME', 'bloomexp_with_fpr'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.with_fpr(@extschema@.bloom, double precision) IS
'bloom_with_fpr(), for feeds';

CREATE FUNCTION bloomexp.expire(filter @extschema@.bloom, at timestamp with time zone)
RETURNS @extschema@.bloom
AS 'MODULE_PATHNAME', 'bloomexp_expire'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.expire(@extschema@.bloom, timestamp with time zone) IS
'bloom_expire(), for feeds';

CREATE FUNCTION bloomexp."union"(a @extschema@.bloom, b @extschema@.bloom)
RETURNS @extschema@.bloom
AS 'MODULE_PATHNAME', 'bloomexp_union'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp."union"(@extschema@.bloom, @extschema@.bloom) IS
'bloom_union(), for feeds';

CREATE FUNCTION bloomexp.slice_start(shown_at timestamp with time zone, width interval,
	slices integer)
RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'bloomexp_slice_start'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.slice_start(timestamp with time zone, interval, integer) IS
'bloom_slice_start(), for feeds';

CREATE FUNCTION bloomexp.oldest_slice(at timestamp with time zone, width interval, slices integer)
RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'bloomexp_oldest_slice'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.oldest_slice(timestamp with time zone, interval, integer) IS
'the start of the oldest slice of a window that ends at this time';

CREATE FUNCTION bloomexp.hashes(items anyarray)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'bloomexp_hashes'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.hashes(anyarray) IS 'bloom_hashes(), for feeds';

CREATE FUNCTION bloomexp.hashes_with_nulls(items anyarray)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'bloomexp_hashes_with_nulls'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.hashes_with_nulls(anyarray) IS
'the hashes of the items, in their order; NULL for an item that is NULL';

CREATE FUNCTION bloomexp.hash(item anyelement)
RETURNS bigint
AS 'MODULE_PATHNAME', 'bloomexp_hash'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.hash(anyelement) IS
'the hash of an item, by which filters know it';

CREATE FUNCTION bloomexp.new_hashes(hashes bigint[], known bigint[])
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'bloomexp_new_hashes'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.new_hashes(bigint[], bigint[]) IS
'the distinct hashes that are not in "known", in their order';

CREATE FUNCTION bloomexp.exclude(candidates anyarray, filter @extschema@.bloom, hashes bigint[])
RETURNS anyarray
AS 'MODULE_PATHNAME', 'bloomexp_exclude_array_hashes'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.exclude(anyarray, @extschema@.bloom, bigint[]) IS
'bloom_exclude_array(), for feeds: candidates that are neither in the filter nor among the hashes';

CREATE FUNCTION bloomexp.exclude_first(candidates anyarray, filter @extschema@.bloom,
	wanted integer, hashes bigint[])
RETURNS anyarray
AS 'MODULE_PATHNAME', 'bloomexp_exclude_first_hashes'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.exclude_first(anyarray, @extschema@.bloom, integer, bigint[]) IS
'bloom_exclude_first(), for feeds: the first distinct candidates that are neither in the filter '
'nor among the hashes';

CREATE FUNCTION bloomexp.eq(@extschema@.bloom, @extschema@.bloom) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_eq'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.eq(@extschema@.bloom, @extschema@.bloom) IS
'bloom_eq(), for feeds';

CREATE FUNCTION bloomexp.cardinality(filter @extschema@.bloom) RETURNS bigint
AS 'MODULE_PATHNAME', 'bloomexp_cardinality'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.cardinality(@extschema@.bloom) IS
'bloom_cardinality(), for feeds';

CREATE FUNCTION bloomexp.info(
	filter @extschema@.bloom,
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
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.info(@extschema@.bloom) IS 'bloom_info(), for feeds';

CREATE AGGREGATE bloomexp.agg(item anynonarray, fpr double precision) (
	SFUNC = @extschema@.bloom_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = @extschema@.bloom_agg_final, COMBINEFUNC = @extschema@.bloom_agg_combine,
	SERIALFUNC = @extschema@.bloom_agg_serialize, DESERIALFUNC = @extschema@.bloom_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloomexp.agg(anynonarray, double precision) IS
'bloom_agg(), for feeds';

CREATE FUNCTION bloomexp.oldest_transaction() RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'bloomexp_oldest_transaction'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION bloomexp.oldest_transaction() IS
'bloom_oldest_transaction(), for feeds';

CREATE FUNCTION bloomexp.require_autocommit(routine text) RETURNS void
AS 'MODULE_PATHNAME', 'bloomexp_require_autocommit'
LANGUAGE C VOLATILE STRICT;

COMMENT ON FUNCTION bloomexp.require_autocommit(text) IS
'raises an error that names the routine if it is called in a transaction block';

CREATE FUNCTION bloomexp.require_read_committed(routine text) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- PostgreSQL runs READ UNCOMMITTED as READ COMMITTED
	IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
		RAISE EXCEPTION '% needs isolation level READ COMMITTED', routine
			USING ERRCODE = 'feature_not_supported',
			DETAIL = 'A snapshot from before the lock does not show what others have committed '
				'since.',
			HINT = 'Call it after SET TRANSACTION ISOLATION LEVEL READ COMMITTED.';
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.require_read_committed(text) IS
'raises an error that names the routine unless the isolation level is READ COMMITTED: the routine '
'locks a row, and then must read the exposures in a new snapshot';

CREATE FUNCTION bloomexp.row_not_written(filters text) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'could not write or remove the row of a user in %', filters
		USING ERRCODE = 'object_not_in_prerequisite_state',
		HINT = 'Look for triggers and rules on this table, and check its index with amcheck.';
END
$$;

COMMENT ON FUNCTION bloomexp.row_not_written(text) IS
'raises an error: a row was not written or removed, probably because of a trigger or rule';

CREATE TABLE bloomexp.new_rows ();

COMMENT ON TABLE bloomexp.new_rows IS
'always empty: the transition table of a feed''s triggers has this name. In a trigger without a '
'transition table the name must find this table, and not a relation of somebody else';

-- The row of a user: its columns after an addition, and what it contains at a given time.  These
-- functions touch no table.  The scripts of feeds read and write the rows.
--
-- recent    hashes of the newest items, the newest first, all of one time slice
-- since     the start of that slice; NULL in a feed that never forgets
-- pending   how many of the newest items in "recent" come from the last take() and are still
--           unconfirmed
-- items     the filter of all other items
--
-- An addition is the hashes of items that were all shown at one time: "shown_at", or "present" if
-- that is earlier.  Feeds over a table leave out since, shown_at and present; with width
-- NULL they are ignored.

CREATE TYPE bloomexp.row_settings AS (
	width interval,
	slices integer,
	kind text,
	fpr double precision,
	capacity bigint
);

COMMENT ON TYPE bloomexp.row_settings IS
'the settings that all rows of a feed share: width and slices of the window, both NULL if rows '
'never forget; kind of the items; target rate of false positives; and, for rows that never forget, '
'the capacity of the first layer of a filter';

-- Scripts call this with named arguments, so they stay valid when the type gets another column.
CREATE FUNCTION bloomexp.make_row_settings(kind text, fpr double precision,
	width interval DEFAULT NULL, slices integer DEFAULT NULL, capacity bigint DEFAULT NULL)
RETURNS bloomexp.row_settings
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT ROW(width, slices, kind, fpr, capacity)::bloomexp.row_settings $$;

COMMENT ON FUNCTION bloomexp.make_row_settings IS
'the settings of the rows of a feed: with width and slices of a window, or with a capacity if '
'the feed never forgets';

CREATE FUNCTION bloomexp.items_after(items @extschema@.bloom, recent bigint[], hashes bigint[],
	settings bloomexp.row_settings, since timestamp with time zone DEFAULT NULL,
	shown_at timestamp with time zone DEFAULT NULL, present timestamp with time zone DEFAULT NULL)
RETURNS @extschema@.bloom
AS 'MODULE_PATHNAME', 'bloomexp_row_items_after'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.items_after IS
'the column "items" that a row has after an addition, given the old columns';

CREATE FUNCTION bloomexp.recent_after(recent bigint[], hashes bigint[],
	settings bloomexp.row_settings, since timestamp with time zone DEFAULT NULL,
	shown_at timestamp with time zone DEFAULT NULL, present timestamp with time zone DEFAULT NULL)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'bloomexp_row_recent_after'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.recent_after IS
'the column "recent" that a row has after an addition, given the old columns';

CREATE FUNCTION bloomexp.since_after(recent bigint[], hashes bigint[],
	settings bloomexp.row_settings, since timestamp with time zone DEFAULT NULL,
	shown_at timestamp with time zone DEFAULT NULL, present timestamp with time zone DEFAULT NULL)
RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'bloomexp_row_since_after'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.since_after IS
'the column "since" that a row has after an addition, given the old columns';

CREATE FUNCTION bloomexp.row_changes(items @extschema@.bloom, pending integer, recent bigint[],
	hashes bigint[], settings bloomexp.row_settings, since timestamp with time zone DEFAULT NULL,
	shown_at timestamp with time zone DEFAULT NULL, present timestamp with time zone DEFAULT NULL)
RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_row_changes'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.row_changes IS
'whether an addition changes a row: one of its hashes is new or confirms a pending item, or it '
'begins a slice; NULL if there is no row, so that pending or recent is NULL';

CREATE FUNCTION bloomexp.items_at(items @extschema@.bloom, at timestamp with time zone,
	settings bloomexp.row_settings)
RETURNS @extschema@.bloom
AS 'MODULE_PATHNAME', 'bloomexp_row_items_at'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.items_at IS
'the column "items" of a row without the slices that have left the window by the time "at"';

CREATE FUNCTION bloomexp.recent_at(recent bigint[], since timestamp with time zone,
	at timestamp with time zone, settings bloomexp.row_settings)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'bloomexp_row_recent_at'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.recent_at IS
'the column "recent" of a row; NULL if its slice has left the window by the time "at"';

CREATE FUNCTION bloomexp.fold(items @extschema@.bloom, recent bigint[],
	settings bloomexp.row_settings, since timestamp with time zone DEFAULT NULL,
	at timestamp with time zone DEFAULT NULL)
RETURNS @extschema@.bloom
AS 'MODULE_PATHNAME', 'bloomexp_row_fold'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.fold IS
'all items of a row as one filter; if a time is given, without the slices that have left the '
'window at that time';

CREATE FUNCTION bloomexp.among(items anyarray, hashes bigint[]) RETURNS anyarray
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
	-- exclude the items that are not among the hashes
	SELECT bloomexp.exclude_first(items, NULL, NULL,
		bloomexp.hashes(bloomexp.exclude(items, NULL, hashes)))
$$;

COMMENT ON FUNCTION bloomexp.among(anyarray, bigint[]) IS
'the distinct items whose hashes are in "hashes", in their order';

CREATE FUNCTION bloomexp.pages(user_ids anyarray, hashes bigint[],
	shown_at timestamp with time zone[], present timestamp with time zone,
	settings bloomexp.row_settings,
	OUT user_id anyelement, OUT since timestamp with time zone, OUT recent bigint[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'bloomexp_pages'
LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 1000;

COMMENT ON FUNCTION bloomexp.pages IS
'a batch of events grouped by user, as rows to insert, in the order of users by the collation of '
'user_ids. User i was shown the item of hash i at time i. An event with a NULL is ignored, and so '
'is one that has left the window at the time "present". A later time counts as "present". A user '
'whose items are of several slices, or more than "recent" holds, comes without hashes';

-- Trust: whose code may run with the rights of the owner of a feed.

CREATE FUNCTION bloomexp.trusted(role oid, owner oid) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT coalesce(pg_has_role(role, owner, 'USAGE'), false) $$;

COMMENT ON FUNCTION bloomexp.trusted(oid, oid) IS
'whether code of a role may run with the rights of an owner: only if the role has these rights '
'anyway';

CREATE FUNCTION bloomexp.trusted_with_schema(role oid, owner oid) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT bloomexp.trusted(coalesce(o.oid, role), owner)
		OR coalesce(o.oid, role) = d.datdba
			AND NOT (SELECT r.rolsuper FROM pg_roles AS r WHERE r.oid = owner)
	FROM pg_database AS d
	LEFT JOIN pg_roles AS p ON p.oid = role AND p.rolname = 'pg_database_owner'
	LEFT JOIN pg_roles AS o ON o.oid = CASE WHEN p.oid IS NOT NULL THEN d.datdba END
	WHERE d.datname = current_database()
$$;

COMMENT ON FUNCTION bloomexp.trusted_with_schema(oid, oid) IS
'whether the owner of a feed trusts a role that can create objects in a schema: if '
'bloomexp.trusted() does, or if the role owns the database and the owner of '
'the feed is not a superuser';

CREATE FUNCTION bloomexp.tables_of(relation regclass) RETURNS SETOF regclass
LANGUAGE plpgsql STABLE PARALLEL SAFE	-- not SQL, because PL/pgSQL keeps the plan
ROWS 10	-- the planner sizes the hash tables of untrusted() by this
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
		WITH RECURSIVE read(oid) AS (	-- the relation, and what it reads if it is a view
			SELECT relation::oid
			UNION SELECT d.refobjid
			FROM read AS t
			JOIN pg_class AS v ON v.oid = t.oid AND v.relkind = 'v'
			JOIN pg_rewrite AS r ON r.ev_class = v.oid
			JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
				AND d.refclassid = 'pg_class'::regclass),
		tree(oid) AS (
			SELECT r.oid FROM read AS r
			UNION SELECT i.inhrelid FROM tree AS t JOIN pg_inherits AS i ON i.inhparent = t.oid)
		SELECT t.oid::regclass FROM tree AS t WHERE t.oid IS NOT NULL;
END
$$;

COMMENT ON FUNCTION bloomexp.tables_of(regclass) IS
'the relation and its partitions or children; for a view also the relations that it reads, and '
'theirs';

CREATE FUNCTION bloomexp.require_trusted(relation regclass, missing_ok boolean DEFAULT false)
RETURNS void
AS 'MODULE_PATHNAME', 'bloomexp_require_trusted'
LANGUAGE C STABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.require_trusted(regclass, boolean) IS
'raises an error unless the owner of a relation has the rights of the current user: that owner '
'decides what code runs when the relation is read. Locks the relation if the current user can '
'read it, so that no other relation gets its name before the read. With missing_ok it takes no '
'lock, and accepts a relation that was dropped';

CREATE FUNCTION bloomexp.require_not_rewritten(relation regclass) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- pg_class is read with the snapshot of the statement, and pg_relation_filenode() returns the
	-- file of now.
	rewritten constant regclass := (
		SELECT c.oid FROM bloomexp.tables_of(relation) AS t JOIN pg_class AS c ON c.oid = t
		WHERE c.relfilenode <> pg_relation_filenode(c.oid) LIMIT 1);
BEGIN
	IF rewritten IS NOT NULL THEN
		RAISE EXCEPTION 'table % was rewritten while this statement waited for it', rewritten
			USING ERRCODE = 'serialization_failure',
			HINT = 'Run the transaction again.';
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.require_not_rewritten(regclass) IS
'raises an error if a relation, or one that tables_of() returns for it, got another file after the '
'snapshot of the statement was taken: after ALTER TABLE or TRUNCATE that snapshot sees none of the '
'rows. The caller has read the relation, and so has locked it';

CREATE FUNCTION bloomexp.other_types(schema oid) RETURNS SETOF text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH own(oid) AS (	-- union() returns the type itself, whatever it is called
		SELECT p.prorettype FROM pg_proc AS p WHERE p.oid = 'bloomexp.union'::regproc)
	SELECT format('column items of %s is of type %s, not of the extension''s',
		a.attrelid::regclass, format_type(a.atttypid, NULL))
	FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'items'
	WHERE c.relnamespace = schema AND c.relname = 'filters'
		AND NOT a.attisdropped AND a.atttypid <> (SELECT oid FROM own)
	UNION ALL SELECT format('function %s returns type %s, not that of the extension',
		p.oid::regprocedure, format_type(t.oid, NULL))
	FROM pg_proc AS p
	CROSS JOIN unnest(coalesce(p.proallargtypes, ARRAY[p.prorettype])) AS t(oid)
	WHERE p.pronamespace = schema AND (p.proname = 'current' OR p.proname = 'shown')
		AND p.prosecdef AND t.oid <> (SELECT oid FROM own)
		AND (p.proname = 'current' OR t.oid = p.proallargtypes[2])
$$;

COMMENT ON FUNCTION bloomexp.other_types(oid) IS
'a sentence for each column and function of a feed whose type bloom is not that of the extension: '
'somebody may have renamed that type and created another one of its name';

CREATE FUNCTION bloomexp.untrusted(owner oid, feed text, exposures regclass, types oid[],
	user_collation oid)	-- 0: users have no collation
RETURNS SETOF text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	-- "uses" has the objects whose code runs when the exposures are read.  First come their tables,
	-- and the partition keys of tables above them; then what these use in turn, as far as PostgreSQL
	-- records it: what views name; the types of the columns of foreign tables, whose values are made
	-- here; CHECK constraints, partition keys, indexes and statistics, of which the planner evaluates
	-- what is constant; what functions and operators use; and the parts and constraints of types.
	WITH RECURSIVE uses(class, oid) AS (
		(SELECT 'pg_class'::regclass::oid, t::oid FROM bloomexp.tables_of(exposures) AS t
		UNION ALL SELECT d.refclassid, d.refobjid
		FROM pg_partition_ancestors(exposures) AS a
		JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = a.relid
			AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass))
		UNION SELECT n.class, n.oid
		FROM uses AS u
		CROSS JOIN LATERAL (
			SELECT d.refclassid, d.refobjid FROM pg_depend AS d
			WHERE d.classid = u.class AND d.objid = u.oid AND u.class IN ('pg_proc'::regclass,
				'pg_operator'::regclass, 'pg_constraint'::regclass, 'pg_rewrite'::regclass)
			UNION ALL SELECT 'pg_rewrite'::regclass, r.oid
			FROM pg_class AS v JOIN pg_rewrite AS r ON r.ev_class = v.oid
			WHERE u.class = 'pg_class'::regclass AND v.oid = u.oid AND v.relkind = 'v'
			UNION ALL SELECT 'pg_class'::regclass, i.inhrelid FROM pg_inherits AS i
			WHERE u.class = 'pg_class'::regclass AND i.inhparent = u.oid
			UNION ALL SELECT 'pg_type'::regclass, a.atttypid
			FROM pg_foreign_table AS f JOIN pg_attribute AS a ON a.attrelid = f.ftrelid
			WHERE u.class = 'pg_class'::regclass AND f.ftrelid = u.oid AND a.attnum > 0
				AND NOT a.attisdropped
			UNION ALL SELECT 'pg_constraint'::regclass, k.oid FROM pg_constraint AS k
			WHERE u.class = 'pg_class'::regclass AND k.conrelid = u.oid AND k.contype = 'c'
			UNION ALL SELECT d.refclassid, d.refobjid
			FROM (SELECT 'pg_class'::regclass, u.oid	-- a partition key
				UNION ALL SELECT 'pg_class'::regclass, x.indexrelid
				FROM pg_index AS x WHERE x.indrelid = u.oid
				UNION ALL SELECT 'pg_statistic_ext'::regclass, x.oid
				FROM pg_statistic_ext AS x WHERE x.stxrelid = u.oid) AS e(class, oid)
			JOIN pg_depend AS d ON d.classid = e.class AND d.objid = e.oid
				AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
			WHERE u.class = 'pg_class'::regclass
			UNION ALL SELECT 'pg_type'::regclass, p.oid
			FROM pg_type AS t
			CROSS JOIN LATERAL (
				SELECT t.typbasetype	-- of a domain
				UNION ALL SELECT t.typelem	-- of an array
				UNION ALL SELECT a.atttypid	-- of a composite
				FROM pg_attribute AS a
				WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
				UNION ALL SELECT g.rngsubtype	-- of a range or a multirange
				FROM pg_range AS g WHERE t.oid IN (g.rngtypid, g.rngmultitypid)) AS p(oid)
			WHERE u.class = 'pg_type'::regclass AND t.oid = u.oid AND p.oid <> 0
			UNION ALL SELECT 'pg_constraint'::regclass, k.oid FROM pg_constraint AS k
			WHERE u.class = 'pg_type'::regclass AND k.contypid = u.oid) AS n(class, oid)),
	filters(oid) AS (
		SELECT c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE n.nspname = feed AND c.relname = 'filters'),
	schemas(oid) AS (
		SELECT n.oid FROM pg_namespace AS n WHERE n.nspname IN (feed, 'bloomexp')
		UNION SELECT c.relnamespace FROM pg_class AS c WHERE c.oid = exposures
		UNION SELECT t.typnamespace FROM pg_type AS t WHERE t.oid = ANY (types)
		UNION SELECT o.oprnamespace	-- of the operators that compare users
		FROM pg_opclass AS k JOIN pg_amop AS p ON p.amopfamily = k.opcfamily
		JOIN pg_operator AS o ON o.oid = p.amopopr
		WHERE k.opcintype = ANY (types) AND k.opcdefault
		UNION SELECT l.collnamespace FROM pg_collation AS l WHERE l.oid = user_collation
		EXCEPT SELECT 'pg_catalog'::regnamespace),
	owned(n, name, role, trusted, remedy) AS (
		SELECT 1, 'schema ' || quote_ident(n.nspname), n.nspowner,
			bloomexp.trusted_with_schema(n.nspowner, owner), NULL
		FROM schemas AS s JOIN pg_namespace AS n USING (oid)
		UNION ALL SELECT 2, 'type ' || format_type(t.oid, NULL), t.typowner,
			bloomexp.trusted(t.typowner, owner), NULL
		FROM pg_type AS t LEFT JOIN pg_type AS e ON e.oid = t.typelem
		WHERE t.oid = ANY (types)
			OR t.oid IN (SELECT u.oid FROM uses AS u WHERE u.class = 'pg_type'::regclass)
			AND coalesce(e.typtype, t.typtype) <> 'e'	-- an enum has no code
		UNION ALL SELECT 3, 'table ' || c.oid::regclass, c.relowner,
			bloomexp.trusted(c.relowner, owner),
			-- do not advise a superuser to run code that the role has written
			CASE WHEN pg_has_role(owner, c.relowner, 'MEMBER')
				AND NOT (SELECT r.rolsuper FROM pg_roles AS r WHERE r.oid = owner)
				THEN format(': SET ROLE %I first, and the feed belongs to that role',
					pg_get_userbyid(c.relowner)) END
		FROM pg_class AS c
		WHERE c.oid IN (SELECT a.relid FROM pg_partition_ancestors(exposures) AS a
			UNION SELECT u.oid FROM uses AS u WHERE u.class = 'pg_class'::regclass)
		UNION ALL SELECT 4, 'routine ' || p.oid::regprocedure, p.proowner,
			bloomexp.trusted(p.proowner, owner),
			-- Routines of somebody else's feed, or in somebody else's schema, are in use: do not
			-- advise to drop them.
			CASE WHEN bloomexp.trusted_with_schema(n.nspowner, owner)
				AND p.proowner IS DISTINCT FROM (SELECT s.proowner FROM pg_proc AS s
					WHERE s.pronamespace = n.oid AND s.proname = 'settings' AND s.pronargs = 0)
				THEN ': DROP ROUTINE ' || p.oid::regprocedure END
		FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace WHERE n.nspname = feed
		UNION ALL SELECT 5, 'relation ' || c.oid::regclass, c.relowner,
			bloomexp.trusted(c.relowner, owner), NULL
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE n.nspname = feed AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
		UNION ALL SELECT 6, 'operator ' || min(o.oid)::regoperator, o.oprowner,
			bloomexp.trusted(o.oprowner, owner),
			': DROP OPERATOR ' || min(o.oid)::regoperator	-- can fit better than ours
		FROM schemas AS s JOIN pg_operator AS o ON o.oprnamespace = s.oid
		GROUP BY o.oprnamespace, o.oprowner
		UNION ALL SELECT 7, 'function ' || p.oid::regprocedure, p.proowner,
			bloomexp.trusted(p.proowner, owner), NULL
		FROM uses AS u JOIN pg_proc AS p ON u.class = 'pg_proc'::regclass AND p.oid = u.oid
		UNION ALL SELECT 8, 'collation ' || l.oid::regcollation, l.collowner,
			bloomexp.trusted(l.collowner, owner), NULL
		FROM pg_collation AS l
		WHERE l.oid = user_collation AND l.collnamespace <> 'pg_catalog'::regnamespace
		UNION ALL SELECT 9, format('trigger %I on %s', g.tgname, g.tgrelid::regclass), p.proowner,
			bloomexp.trusted(p.proowner, owner),
			format(': DROP TRIGGER %I ON %s', g.tgname, g.tgrelid::regclass)
		FROM filters AS f JOIN pg_trigger AS g ON g.tgrelid = f.oid AND NOT g.tgisinternal
		JOIN pg_proc AS p ON p.oid = g.tgfoid)
	SELECT p.problem FROM (
		SELECT o.n, o.name, format('%s belongs to role %I, who could run code with the rights '
			'of the feed''s owner by replacing it%s.',
			upper(left(o.name, 1)) || substr(o.name, 2), pg_get_userbyid(o.role),
			coalesce(o.remedy, ': change its owner, or let that role make the feed')) AS problem
		FROM owned AS o WHERE NOT o.trusted
		UNION ALL
		SELECT 10, n.nspname, format('Others may create functions and tables in schema %I, and so '
			'run code with the rights of the feed''s owner: '
			'REVOKE CREATE ON SCHEMA %1$I FROM %s.', n.nspname,
			string_agg(CASE a.grantee WHEN 0 THEN 'PUBLIC'
				ELSE quote_ident(pg_get_userbyid(a.grantee)) END, ', '))
		FROM schemas AS s JOIN pg_namespace AS n USING (oid), aclexplode(n.nspacl) AS a
		WHERE a.privilege_type = 'CREATE' AND NOT bloomexp.trusted_with_schema(a.grantee, owner)
		GROUP BY n.nspname
		UNION ALL
		SELECT 11, r.rulename, format(
			'Rule %I on %s runs with the rights of the feed''s owner: DROP RULE %1$I ON %2$s.',
			r.rulename, r.ev_class::regclass)
		FROM filters AS f JOIN pg_rewrite AS r ON r.ev_class = f.oid
		UNION ALL
		SELECT 11, g.tgname, format('The condition of trigger %I on %s runs with the rights of the '
			'feed''s owner: '
			'DROP TRIGGER %1$I ON %2$s.', g.tgname, g.tgrelid::regclass)
		FROM filters AS f JOIN pg_trigger AS g ON g.tgrelid = f.oid
		WHERE NOT g.tgisinternal AND g.tgqual IS NOT NULL
		UNION ALL
		SELECT 12, k.conname, format('Foreign key %I of %s keeps rows of %s from being removed: '
			'ALTER TABLE %2$s DROP CONSTRAINT %1$I.',
			k.conname, k.conrelid::regclass, k.confrelid::regclass)
		FROM filters AS f JOIN pg_constraint AS k ON k.confrelid = f.oid AND k.contype = 'f'
		JOIN pg_class AS c ON c.oid = k.conrelid
		WHERE NOT bloomexp.trusted(c.relowner, owner)) AS p
	ORDER BY p.n, p.name
$$;

COMMENT ON FUNCTION bloomexp.untrusted(oid, text, regclass, oid[], oid) IS
'the objects that a feed of this name would name or run, although a role without the rights of '
'the feed''s owner owns them or can replace them: a sentence for each, with the remedy. exposures: '
'NULL for a feed without a table; types: those of users and items';

-- The settings of a feed: its arguments, and the columns and functions with which it was made.
-- bloomexp.feed_finish() keeps them as a jsonb literal in the function settings() of the feed's
-- schema.  bloomexp.feed_settings() reads the source of that function.  Nothing ever calls the
-- function, because anybody can create one of this name.

CREATE FUNCTION bloomexp.has_controls(string text) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
	SELECT string ~ '[\x01-\x1f\x7f]'
		-- the same bytes are letters in other encodings
		OR (getdatabaseencoding() ~ '^(UTF8|LATIN|ISO)' AND string ~ '[\u0080-\u009f]')
		OR (getdatabaseencoding() = 'UTF8'
			AND string ~ '[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]')
$$;

COMMENT ON FUNCTION bloomexp.has_controls(text) IS
'whether a text has control characters: those that a terminal obeys, or that change the direction '
'of reading';

CREATE FUNCTION bloomexp.feed_settings(schema oid) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
	settings jsonb;
BEGIN
	settings := (
		SELECT substring(p.prosrc FROM '^\s*SELECT ''([^'']+)''::pg_catalog\.jsonb\s*$')::jsonb
		FROM pg_proc AS p
		WHERE p.pronamespace = schema AND p.proname = 'settings' AND p.pronargs = 0
			AND octet_length(p.prosrc) < 30000);
	-- Anybody can create a function settings().  Reject what feed_finish() never writes: deep
	-- nesting; numbers in lists, of which a short source can make a very long text; very many
	-- functions; and control characters.
	IF settings @? '$.**{6}' OR settings @? '$.**{3 to last} ? (@.type() == "number")'
		OR (SELECT count(*) FROM jsonb_object_keys(settings -> 'functions')) > 50 THEN
		RETURN NULL;
	END IF;
	IF EXISTS (
		SELECT FROM jsonb_path_query(settings, '$.**') AS v
		WHERE jsonb_typeof(v) = 'string' AND bloomexp.has_controls(v #>> '{}')
			OR jsonb_typeof(v) = 'object' AND EXISTS (
				SELECT FROM jsonb_object_keys(v) AS k WHERE bloomexp.has_controls(k))) THEN
		RETURN NULL;
	END IF;
	RETURN settings;
-- not JSON, or nested too deeply for the parser
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
	RETURN NULL;
END
$$;

COMMENT ON FUNCTION bloomexp.feed_settings(oid) IS
'the settings of the feed in a schema, NULL if there are none: {"version", "user_type", '
'"arguments": {}, "exposures": OID, "columns": {argument: number}, "item_kind", "functions": '
'{name: [hash of the source, hash of the code, [attributes]]}, "missing": [names]}. "missing" is '
'there while a script runs, or if one has stopped: the functions and tables that it makes again';

CREATE FUNCTION bloomexp.present_arguments(schema oid, settings jsonb) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT jsonb_object_agg(f.name, f.standard) || (settings -> 'arguments')
	-- as a quoted name, because messages and commands print it
	|| jsonb_build_object('exposures', coalesce(
		to_regclass(settings #>> '{arguments,exposures}')::text, (
			SELECT string_agg(quote_ident(i.part), '.' ORDER BY i.n)
			FROM unnest(parse_ident(settings #>> '{arguments,exposures}'))
				WITH ORDINALITY AS i(part, n))))
	|| coalesce((
		SELECT jsonb_build_object('user_type', (bloomexp.base_type(a.atttypid)).name)
		FROM pg_class AS c
		JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'user_id'
			AND NOT a.attisdropped
		WHERE c.relnamespace = schema AND c.relname = 'filters'
			AND settings #>> '{arguments,exposures}' IS NULL
			AND (bloomexp.base_type(to_regtype(settings #>> '{arguments,user_type}'))).base
				IS DISTINCT FROM a.atttypid
			AND settings #>> '{arguments,user_type}' IS NOT NULL), '{}')
	FROM bloomexp.feed_arguments() AS f
$$;

COMMENT ON FUNCTION bloomexp.present_arguments(oid, jsonb) IS
'the arguments with which a feed was made, but with the exposures as a quoted name, and with the '
'present name of the type of users, if this was renamed; NULL if there are no settings';

CREATE FUNCTION bloomexp.code_hash(source text) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
	SELECT md5(btrim(
		regexp_replace(regexp_replace(source, '--[^\n]*', '', 'g'), '\s+', ' ', 'g')))
$$;

COMMENT ON FUNCTION bloomexp.code_hash(text) IS
'a hash of the source of a function, without regard to comments and white space';

-- The arguments of a feed, and checks of their values.

CREATE FUNCTION bloomexp.feed_arguments(
	OUT n bigint, OUT name text, OUT type regtype, OUT standard text, OUT feeds text)
RETURNS SETOF record
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT row_number() OVER (), v.name, v.type::regtype, v.standard, v.feeds
	-- feeds: which feeds have the argument: all, those over a table, or those without a table
	FROM (VALUES
		('feed', 'text', NULL, 'all'),
		('exposures', 'regclass', NULL, 'all'),
		('user_column', 'text', 'user_id', 'over'),
		('item_column', 'text', 'item_id', 'over'),
		('time_column', 'text', 'shown_at', 'over'),
		('width', 'interval', '30 days', 'all'),
		('fpr', 'double precision', '0.01', 'all'),
		('slices', 'integer', NULL, 'without'),
		('trigger', 'boolean', 'true', 'over'),
		('where', 'text', NULL, 'over'),
		('user_type', 'regtype', NULL, 'without'),
		('item_type', 'regtype', NULL, 'without'),
		('capacity', 'bigint', NULL, 'without')) AS v(name, type, standard, feeds)
$$;

COMMENT ON FUNCTION bloomexp.feed_arguments() IS
'the arguments of feed_sql() and create_feed(), in order: name, type, default, and which feeds '
'have them';

CREATE FUNCTION bloomexp.feed_options(arguments jsonb) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(string_agg(format(', %s%s',
		CASE WHEN f.name <> 'exposures' THEN quote_ident(f.name) || ' => ' END,
		-- anybody can write settings, so only a number or a boolean is printed without quotes
		CASE WHEN arguments ->> f.name ~ CASE
				WHEN f.type IN ('double precision'::regtype, 'integer'::regtype, 'bigint'::regtype)
				THEN '^[0-9]+([.][0-9]+)?(e[+-]?[0-9]+)?$'
				WHEN f.type = 'boolean'::regtype THEN '^(true|false)$' END
			THEN arguments ->> f.name
			ELSE quote_nullable(arguments ->> f.name) END), '' ORDER BY f.n), '')
	FROM bloomexp.feed_arguments() AS f
	WHERE f.name <> 'feed' AND arguments ? f.name
		AND arguments ->> f.name IS DISTINCT FROM f.standard
$$;

COMMENT ON FUNCTION bloomexp.feed_options(jsonb) IS
'the arguments that differ from their defaults, as SQL to append to the name of the feed in a call';

CREATE FUNCTION bloomexp.check_arguments(arguments jsonb) RETURNS SETOF text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
	SELECT format('Argument %I is for feeds %s a table of exposures.', f.name,
		CASE f.feeds WHEN 'over' THEN 'over' ELSE 'without' END)
	FROM bloomexp.feed_arguments() AS f
	WHERE f.feeds <> 'all' AND (f.feeds = 'over') <> (arguments ->> 'exposures' IS NOT NULL)
		AND arguments ->> f.name IS DISTINCT FROM f.standard
	UNION ALL
	SELECT v.problem
	FROM (SELECT arguments ->> 'feed' AS feed, arguments ->> 'exposures' IS NOT NULL AS of_table,
		(arguments ->> 'width')::interval AS width, (arguments ->> 'fpr')::double precision AS fpr,
		(arguments ->> 'slices')::integer AS slices,
		(arguments ->> 'capacity')::bigint AS capacity) AS g,
	LATERAL (VALUES
		(format('%L cannot be the name of a schema: it must have 1 to 63 bytes, '
			'not begin with pg_, and have no control characters.', g.feed),
			g.feed = '' OR octet_length(g.feed) > 63
				OR g.feed LIKE 'pg\_%' OR bloomexp.has_controls(g.feed)),
		('width must be positive, as in ''30 days'', and at most 1000 years.',
			NOT (g.width > interval '0' AND g.width <= interval '1000 years')),
		('width of a feed without a table must have no months: write ''30 days''.', NOT g.of_table
			AND g.width > interval '0'
			AND extract(year FROM g.width) * 12 + extract(month FROM g.width) <> 0),
		('width must not be null if there is a table of exposures.',
			g.of_table AND g.width IS NULL),
		('fpr must be at least 0.0000001 and less than 1; 0.01 is 1%.',
			NOT (g.fpr >= 1e-7 AND g.fpr < 1)),
		('slices must be from 1 to 1000.', NOT g.slices BETWEEN 1 AND 1000),
		('slices need a width.', NOT g.of_table AND g.width IS NULL AND g.slices IS NOT NULL),
		('capacity must be from 1 to 100000000 items.', NOT g.capacity BETWEEN 1 AND 100000000)
	) AS v(problem, wrong)
	WHERE v.wrong
$$;

COMMENT ON FUNCTION bloomexp.check_arguments(jsonb) IS
'the problems with the values of the arguments of a feed: a sentence for each';

-- The columns of the exposures, or for a feed without a table the types of users and items.

CREATE FUNCTION bloomexp.base_type(type oid,
	OUT base oid,	-- the type below all domains and arrays
	OUT name text,	-- qualified, unless it is a keyword
	OUT arrays integer,	-- how many levels of arrays there are
	OUT chain oid[])	-- all types on the way, the base type first
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH RECURSIVE d(oid, level, arrays) AS (
		SELECT type, 0, 0
		UNION ALL SELECT CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.typelem END, d.level + 1,
			d.arrays + (t.typtype <> 'd')::integer
		FROM d JOIN pg_type AS t ON t.oid = d.oid
		WHERE (t.typtype = 'd' OR t.typcategory = 'A') AND d.level < 100)	-- anybody can nest more
	SELECT t.oid,
		-- format_type() prints bpchar and bit as types of length 1
		CASE WHEN t.oid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)
			THEN format_type(t.oid, NULL)
			ELSE format('%I.%I', n.nspname, t.typname) END,
		c.arrays, c.types
	FROM (
		SELECT array_agg(d.oid ORDER BY d.level DESC) AS types, max(d.arrays) AS arrays FROM d) AS c
	JOIN pg_type AS t ON t.oid = c.types[1] JOIN pg_namespace AS n ON n.oid = t.typnamespace
$$;

COMMENT ON FUNCTION bloomexp.base_type(oid) IS
'the type below all domains and arrays of a type, and how a script names it';

CREATE FUNCTION bloomexp.comparisons(type oid) RETURNS jsonb
LANGUAGE plpgsql STABLE	-- plpgsql keeps the plan: a rebuild calls this for each batch
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT jsonb_object_agg(p.amopstrategy, CASE n.nspname WHEN 'pg_catalog' THEN o.oprname
			ELSE format('OPERATOR(%I.%s)', n.nspname, o.oprname) END)
		FROM (
			SELECT k.opcfamily, k.opcintype
			FROM pg_type AS b, pg_opclass AS k
			JOIN pg_am AS m ON m.oid = k.opcmethod AND m.amname = 'btree'
			WHERE b.oid = type AND b.typtype NOT IN ('c', 'p') AND k.opcdefault
				AND (k.opcintype = b.oid
					OR k.opcintype::regtype::text = CASE b.typtype
						WHEN 'e' THEN 'anyenum' WHEN 'r' THEN 'anyrange'
						WHEN 'm' THEN 'anymultirange' END
					OR EXISTS (SELECT FROM pg_cast AS c
						WHERE c.castsource = b.oid AND c.casttarget = k.opcintype
							AND c.castmethod = 'b' AND c.castcontext = 'i'))
			ORDER BY k.opcintype = b.oid DESC LIMIT 1) AS c
		JOIN pg_amop AS p ON p.amopfamily = c.opcfamily AND p.amoplefttype = c.opcintype
			AND p.amoprighttype = c.opcintype AND p.amoppurpose = 's'
		JOIN pg_operator AS o ON o.oid = p.amopopr
		JOIN pg_namespace AS n ON n.oid = o.oprnamespace);
END
$$;

COMMENT ON FUNCTION bloomexp.comparisons(oid) IS
'the operators of the default B-tree operator class of a type by strategy number, as {"3": "=", '
'...}, with their schema outside pg_catalog; NULL if the type has none';

CREATE FUNCTION bloomexp.item_kind(item_type oid) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE
		WHEN item_type IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) THEN 'integer'
		WHEN item_type IN ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype) THEN 'text'
		WHEN item_type IN ('uuid'::regtype, 'bytea'::regtype) THEN format_type(item_type, NULL) END
$$;

COMMENT ON FUNCTION bloomexp.item_kind(oid) IS
'the kind of items for a type: integer, text, uuid or bytea; NULL if its values cannot be items';

CREATE FUNCTION bloomexp.short_id(user_type oid) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE
		WHEN t.typlen <> -1 THEN NULL
		-- both functions count the bytes before compression
		WHEN t.oid = ANY ('{text,varchar,bpchar,bytea}'::regtype[])
		THEN 'pg_catalog.octet_length(%s) OPERATOR(pg_catalog.<=) 2000'
		-- an array of one value has 24 bytes more than the value
		ELSE 'pg_catalog.pg_column_size(ARRAY[%s]) OPERATOR(pg_catalog.<=) 2024' END
	FROM pg_type AS t WHERE t.oid = user_type
$$;

COMMENT ON FUNCTION bloomexp.short_id(oid) IS
'the condition that the id of a user of this type has at most 2,000 bytes, so that it fits into an '
'index, with %s in place of the id; NULL for types of a fixed length';

CREATE FUNCTION bloomexp.feed_columns(arguments jsonb,
	OUT argument text, OUT name text,
	OUT attnum smallint,	-- NULL: there is no such column
	OUT attgenerated "char",
	OUT type oid, OUT base oid, OUT base_name text, OUT arrays integer, OUT chain oid[],
	OUT collation oid,	-- the one that compares values; 0 if the type has none
	OUT collation_name text,
	OUT deterministic boolean)
RETURNS SETOF record
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT w.argument, w.name, c.attnum, c.attgenerated, t.type, b.base, b.name, b.arrays, b.chain,
		coalesce(l.oid, 0), quote_ident(n.nspname) || '.' || quote_ident(l.collname),
		l.collisdeterministic
	FROM (VALUES
		(1, 'user_column', arguments ->> 'user_column',
			coalesce(arguments ->> 'user_type', 'bigint')),
		(2, 'item_column', arguments ->> 'item_column',
			coalesce(arguments ->> 'item_type', 'bigint')),
		(3, 'time_column', arguments ->> 'time_column', NULL),
		(4, 'where', arguments ->> 'where', NULL)) AS w(n, argument, name, type)
	LEFT JOIN pg_attribute AS c ON c.attrelid = to_regclass(arguments ->> 'exposures')
		AND c.attname = w.name AND c.attnum > 0 AND NOT c.attisdropped
	CROSS JOIN LATERAL (SELECT CASE WHEN arguments ->> 'exposures' IS NOT NULL THEN c.atttypid
		WHEN w.type ~ '^(-|[0-9]+)$' THEN w.type::regtype ELSE to_regtype(w.type) END) AS t(type)
	LEFT JOIN LATERAL bloomexp.base_type(t.type) AS b ON true
	LEFT JOIN pg_type AS bt ON bt.oid = b.base
	-- Without a table texts are compared byte by byte, because an upgrade of the operating system
	-- can change other orders, and then the index of the filters would be wrong.
	LEFT JOIN pg_collation AS l ON l.oid = CASE WHEN bt.typcollation <> 0
		THEN coalesce(NULLIF(c.attcollation, 0), '"C"'::regcollation) END
	LEFT JOIN pg_namespace AS n ON n.oid = l.collnamespace
	WHERE CASE WHEN arguments ->> 'exposures' IS NULL THEN w.type IS NOT NULL
		-- to_regclass() accepts any number, even if no table has it
		ELSE EXISTS (SELECT FROM pg_class AS e WHERE e.oid = to_regclass(arguments ->> 'exposures'))
			AND w.name IS NOT NULL END
	ORDER BY w.n
$$;

COMMENT ON FUNCTION bloomexp.feed_columns(jsonb) IS
'a row for each column that the arguments of a feed name; for a feed without a table, a row for '
'the type of users and one for the type of items';

CREATE FUNCTION bloomexp.check_columns(arguments jsonb, role oid) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
	exposures regclass := to_regclass(arguments ->> 'exposures');
	has_type text;	-- the beginning of a sentence
	c record;
BEGIN
	FOR c IN SELECT * FROM bloomexp.feed_columns(arguments)
	LOOP
		has_type := CASE	-- the argument is user_column, item_column or time_column
			WHEN exposures IS NULL THEN split_part(c.argument, '_', 1) || '_type is'
			ELSE format('%s column %I has type', initcap(split_part(c.argument, '_', 1)), c.name) END;
		IF exposures IS NOT NULL AND c.attnum IS NULL THEN
			RETURN NEXT format('%s has no column %I: name the column with %s => ...',
				arguments ->> 'exposures', c.name, quote_ident(c.argument));
		ELSIF exposures IS NOT NULL
			AND NOT has_column_privilege(role, exposures, c.attnum, 'SELECT') THEN
			RETURN NEXT format(
				'Role %1$I may not read column %2$I: GRANT SELECT ON %3$s TO %1$I.',
				pg_get_userbyid(role), c.name, arguments ->> 'exposures');
		ELSIF c.attgenerated = 'v' AND arguments ->> 'trigger' = 'true' THEN
			RETURN NEXT format('Column %I is virtual, and triggers do not see its value: '
				'make it STORED, or use trigger => false.', c.name);
		ELSIF c.argument = 'user_column' THEN
			IF c.arrays > 0 OR bloomexp.comparisons(c.base) IS NULL THEN
				RETURN NEXT format(
					'%s %s: it must be a scalar type with a default B-tree operator class.',
					has_type, format_type(c.type, NULL));
			ELSIF (
				SELECT n.nspname LIKE 'pg\_temp%'
				FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace
				WHERE t.oid = c.base) THEN
				RETURN NEXT format('%s %s: it is temporary, and a feed would outlive it.',
					has_type, format_type(c.type, NULL));
			END IF;
		ELSIF c.argument = 'item_column' THEN
			IF c.arrays > (exposures IS NOT NULL)::integer
				OR bloomexp.item_kind(c.base) IS NULL THEN
				RETURN NEXT format('%s %s: it must be smallint, integer, bigint, '
					'text, varchar, uuid or bytea%s.',
					has_type, format_type(c.type, NULL),
					CASE WHEN exposures IS NULL THEN '' ELSE ', or an array of one of them' END);
			ELSIF NOT c.deterministic THEN
				RETURN NEXT format('Item column %I has a nondeterministic collation: items are '
					'compared byte by byte.', c.name);
			END IF;
		ELSIF c.argument = 'time_column' THEN
			IF c.arrays > 0 OR c.base NOT IN ('timestamp'::regtype, 'timestamptz'::regtype) THEN
				RETURN NEXT format('%s %s: it must be timestamp with '
					'time zone, or timestamp without, which is read as UTC. '
					'For example: ALTER TABLE %s ALTER COLUMN %I TYPE timestamptz USING ...',
					has_type, format_type(c.type, NULL), arguments ->> 'exposures', c.name);
			END IF;
		ELSIF c.arrays > 0 OR c.base <> 'boolean'::regtype THEN
			RETURN NEXT format('Column %I has type %s: "where" names a boolean column. '
				'Write another condition into the script of bloomexp.feed_sql().',
				c.name, format_type(c.type, NULL));
		END IF;
	END LOOP;
END
$$;

COMMENT ON FUNCTION bloomexp.check_columns(jsonb, oid) IS
'the problems with the columns of the exposures, or with the types of users and items, if the role '
'owns the feed: a sentence for each';

-- Checks of the table of exposures and of the schema of the feed.

CREATE FUNCTION bloomexp.check_table(arguments jsonb, role oid) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name constant text := arguments ->> 'exposures';
	table_id constant regclass := to_regclass(name);
	by_trigger constant boolean := arguments ->> 'trigger' = 'true';
	table_row record;	-- of pg_class
BEGIN
	IF name IS NULL THEN
		RETURN;
	END IF;
	SELECT c.relkind, c.relpersistence, c.relispartition, c.relrowsecurity, c.relforcerowsecurity,
		c.relowner
	INTO table_row FROM pg_class AS c WHERE c.oid = table_id;
	IF NOT FOUND THEN
		RETURN NEXT format('Table %s does not exist: name the table that has the exposures.',
			name);
		RETURN;
	END IF;

	IF table_row.relpersistence = 't' THEN
		RETURN NEXT format('%s is temporary: a feed would outlive it.', name);
	ELSIF table_row.relkind NOT IN ('r', 'p')
		AND (by_trigger OR table_row.relkind NOT IN ('v', 'm', 'f')) THEN
		RETURN NEXT format('%s is not a table%s', name,
			CASE WHEN table_row.relkind IN ('v', 'm', 'f')
				THEN ': views and foreign tables need trigger => false.' ELSE '.' END);
	END IF;
	IF table_row.relrowsecurity
		AND (SELECT NOT r.rolsuper AND NOT r.rolbypassrls FROM pg_roles AS r WHERE r.oid = role)
		AND (table_row.relforcerowsecurity
			OR NOT pg_has_role(role, table_row.relowner, 'USAGE')) THEN
		RETURN NEXT format('Row-level security on %s would hide exposures from the feed: '
			'the owner of the feed must own the table, without FORCE ROW LEVEL SECURITY, '
			'or have BYPASSRLS.', name);
	END IF;
	RETURN QUERY
		SELECT format('Trigger %I on %s has the name of a trigger of the feed: '
			'drop it, rename it, or choose another name for the feed.', g.tgname, t)
		FROM bloomexp.tables_of(table_id) AS t JOIN pg_trigger AS g ON g.tgrelid = t
		JOIN pg_proc AS p ON p.oid = g.tgfoid JOIN pg_namespace AS n ON n.oid = p.pronamespace
		WHERE g.tgname IN (('insert_' || (arguments ->> 'feed'))::name,
				('update_' || (arguments ->> 'feed'))::name)
			AND NOT (n.nspname = arguments ->> 'feed' AND p.proname = 'track')
		ORDER BY t::text, g.tgname;
	IF NOT by_trigger OR table_row.relkind NOT IN ('r', 'p') THEN
		RETURN;
	END IF;

	IF table_row.relispartition THEN
		RETURN NEXT format('%s is a partition, and an INSERT into its root fires none of its '
			'triggers: '
			'make the feed over the root, or use trigger => false.', name);
	END IF;
	IF NOT has_table_privilege(role, table_id, 'TRIGGER') THEN
		RETURN NEXT format('Role %I may not create triggers on %s: GRANT TRIGGER ON %2$s TO %1$I.',
			pg_get_userbyid(role), name);
	END IF;
	RETURN QUERY
		SELECT format('%s is filled by a subscription, which fires no statement triggers: '
			'use trigger => false.', s.srrelid::regclass)
		FROM bloomexp.tables_of(table_id) AS t JOIN pg_subscription_rel AS s ON s.srrelid = t
		ORDER BY 1;
	RETURN QUERY
		SELECT format('%s is a foreign table: inserts into it would fail if its parent '
			'had the trigger. Use trigger => false.', t)
		FROM bloomexp.tables_of(table_id) AS t JOIN pg_class AS c ON c.oid = t AND c.relkind = 'f'
		ORDER BY 1;
END
$$;

COMMENT ON FUNCTION bloomexp.check_table(jsonb, oid) IS
'the problems with the table of exposures, if the role owns the feed: a sentence for each';

CREATE FUNCTION bloomexp.distribution_column(exposures regclass) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	distribution text;
BEGIN
	-- the catalogs of Citus are in pg_catalog
	IF EXISTS (SELECT FROM pg_extension AS x WHERE x.extname = 'citus') THEN
		EXECUTE 'SELECT CASE WHEN p.repmodel = ''t'' THEN ''a reference table'' '
			'WHEN p.partmethod = ''h'' THEN column_to_column_name(p.logicalrelid, p.partkey) END '
			'FROM pg_dist_partition AS p WHERE p.logicalrelid = $1'
		INTO distribution USING exposures;
	END IF;
	RETURN distribution;
END
$$;

COMMENT ON FUNCTION bloomexp.distribution_column(regclass) IS
'the column by which Citus distributes a table, or "a reference table"; NULL if Citus does not '
'distribute it';

CREATE FUNCTION bloomexp.check_distribution(arguments jsonb) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	distribution constant text :=
		bloomexp.distribution_column(to_regclass(arguments ->> 'exposures'));
BEGIN
	IF distribution IS NOT NULL AND arguments ->> 'trigger' = 'true' THEN
		RETURN NEXT format('%s is distributed, and triggers of distributed tables deadlock: '
			'use trigger => false.', arguments ->> 'exposures');
	ELSIF distribution <> arguments ->> 'user_column' THEN
		RETURN NEXT format('%s is distributed by %s: it must be distributed by the user column %I.',
			arguments ->> 'exposures', distribution, arguments ->> 'user_column');
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.check_distribution(jsonb) IS
'the problems with exposures that Citus distributes: a sentence for each';

CREATE FUNCTION bloomexp.fixed_arguments(arguments jsonb) RETURNS text
LANGUAGE sql STABLE STRICT
SET search_path = pg_catalog, pg_temp
SET IntervalStyle = postgres
AS $$
	SELECT CASE
		WHEN arguments ->> 'exposures' IS NOT NULL THEN concat('a table with',
			CASE arguments ->> 'trigger' WHEN 'false' THEN 'out' END, ' triggers')
		ELSE concat_ws(', ',
			(SELECT string_agg(c.base_name, ', ') FROM bloomexp.feed_columns(arguments) AS c),
			CASE WHEN arguments ->> 'width' IS NULL THEN 'without a window'
				ELSE format('%s in %s slices', justify_hours(make_interval(
						secs => extract(epoch FROM (arguments ->> 'width')::interval))),
					coalesce(arguments ->> 'slices', '6')) END) END
$$;

COMMENT ON FUNCTION bloomexp.fixed_arguments(jsonb) IS
'the arguments of a feed that cannot change later, as a text for comparison and messages';

CREATE FUNCTION bloomexp.lost_filters(feed text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('Table %s has lost its filters: the extension was dropped. '
		'DROP SCHEMA %I CASCADE, and make the feed again.', c.oid::regclass, feed)
	FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
	WHERE n.nspname = feed AND c.relname = 'filters' AND c.relkind IN ('r', 'p')
		AND EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attisdropped)
		AND NOT EXISTS (SELECT FROM pg_attribute AS a
			WHERE a.attrelid = c.oid AND a.attname = 'items')
$$;

COMMENT ON FUNCTION bloomexp.lost_filters(text) IS
'a sentence with the remedy if a feed has lost its filters, as by DROP EXTENSION bloomexp CASCADE, '
'which drops all columns of the type bloom; NULL if it has not';

CREATE FUNCTION bloomexp.check_schema(arguments jsonb, role oid) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
	feed constant text := arguments ->> 'feed';
	schema constant oid := (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = feed);
	settings constant jsonb := bloomexp.feed_settings(schema);
	owner constant oid := (SELECT p.proowner FROM pg_proc AS p
		WHERE p.pronamespace = schema AND p.proname = 'settings' AND p.pronargs = 0);
	former constant text := bloomexp.fixed_arguments(
		bloomexp.present_arguments(schema, settings));
BEGIN
	IF bloomexp.lost_filters(feed) IS NOT NULL THEN
		RETURN NEXT bloomexp.lost_filters(feed);
		RETURN;
	END IF;
	IF schema IS NULL THEN
		IF NOT has_database_privilege(role, current_database(), 'CREATE') THEN
			RETURN NEXT format('Role %1$I may not create schema %2$I: '
				'GRANT CREATE ON DATABASE %3$I TO %1$I, '
				'or let the owner of the database make the empty schema for it.',
				pg_get_userbyid(role), feed, current_database());
		END IF;
	ELSIF settings IS NOT NULL
		AND NOT (pg_has_role(role, owner, 'USAGE') AND pg_has_role(owner, role, 'USAGE')) THEN
		RETURN NEXT format('Only the owner of feed %I can change it.', feed);
	ELSIF NOT (has_schema_privilege(role, schema, 'CREATE')
		AND has_schema_privilege(role, schema, 'USAGE')) THEN
		RETURN NEXT format(
			'Role %I may not create in schema %I: GRANT CREATE, USAGE ON SCHEMA %2$I TO %1$I.',
			pg_get_userbyid(role), feed);
	ELSIF settings IS NULL AND EXISTS (
		SELECT FROM pg_depend AS d
		WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = schema
			AND d.deptype = 'n') THEN
		RETURN NEXT format('Schema %I exists and is not empty: choose another name for the feed.',
			feed);
	END IF;
	IF former <> bloomexp.fixed_arguments(arguments) THEN
		RETURN NEXT format('Feed %I was made for %s, not for %s, and this cannot change. '
			'Make another feed, and drop this one once requests use the new one.',
			feed, former, bloomexp.fixed_arguments(arguments));
	END IF;
	IF bloomexp.has_controls(concat(bloomexp.feed_options(arguments),
		bloomexp.fixed_arguments(arguments))) THEN
		RETURN NEXT 'Names with control characters cannot be written into a script: '
			'rename the table, column, type or schema.';
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.check_schema(jsonb, oid) IS
'the problems with the schema of a feed, and with an older feed in it, if the role owns the feed: '
'a sentence for each';

CREATE FUNCTION bloomexp.feed_problems(arguments jsonb, role oid) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY SELECT * FROM bloomexp.check_arguments(arguments);
	RETURN QUERY SELECT * FROM bloomexp.check_table(arguments, role);
	RETURN QUERY SELECT * FROM bloomexp.check_distribution(arguments);
	RETURN QUERY SELECT * FROM bloomexp.check_columns(arguments, role);
	RETURN QUERY SELECT * FROM bloomexp.untrusted(role, arguments ->> 'feed',
		to_regclass(arguments ->> 'exposures'),
		ARRAY(SELECT t FROM bloomexp.feed_columns(arguments) AS c, unnest(c.chain) AS t),
		(SELECT c.collation FROM bloomexp.feed_columns(arguments) AS c
		WHERE c.argument = 'user_column'));
	RETURN QUERY SELECT * FROM bloomexp.check_schema(arguments, role);
END
$$;

COMMENT ON FUNCTION bloomexp.feed_problems(jsonb, oid) IS
'all problems of a feed with these arguments, if the role owns it: a sentence for each, with the '
'remedy; reads catalogs only';

-- How users are compared, and the code of forget(), merge() and expire(), which are seldom called.
-- It runs with the rights of the feed's owner, except expire_filters(), the loop of expire(), which
-- commits and so runs with the rights of the caller.

CREATE FUNCTION bloomexp.user_sql(filters regclass,
	OUT equal text, OUT greater text, OUT not_greater text,	-- operators
	OUT collate_clause text,
	OUT short_id text)	-- condition for an id that is short enough for a row; NULL: any is
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
AS $$
DECLARE
	operators jsonb;
BEGIN
	SELECT bloomexp.comparisons(a.atttypid),
		coalesce(' COLLATE ' || quote_ident(n.nspname) || '.' || quote_ident(l.collname), ''),
		bloomexp.short_id(a.atttypid)
	INTO operators, collate_clause, short_id
	FROM pg_attribute AS a
	LEFT JOIN pg_collation AS l ON l.oid = a.attcollation
	LEFT JOIN pg_namespace AS n ON n.oid = l.collnamespace
	WHERE a.attrelid = filters AND a.attname = 'user_id' AND NOT a.attisdropped;
	equal := operators ->> '3';
	greater := operators ->> '5';
	not_greater := operators ->> '2';
END
$$;

COMMENT ON FUNCTION bloomexp.user_sql(regclass) IS
'SQL for users of a feed: the operators and the collation that compare them, and the condition '
'that an id is short enough';

CREATE FUNCTION bloomexp.in_batch(user_column text, equal text, greater text, not_greater text,
	wanted anyarray, batch_from anyelement, batch_to anyelement)
RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN wanted IS NOT NULL
		THEN concat(user_column, ' ', equal, ' ANY ($2)')
		ELSE concat_ws(' AND ', 'true',
			CASE WHEN batch_from IS NOT NULL THEN concat(user_column, ' ', greater, ' $3') END,
			CASE WHEN batch_to IS NOT NULL THEN concat(user_column, ' ', not_greater, ' $4') END)
		END
$$;

COMMENT ON FUNCTION bloomexp.in_batch IS
'the condition that a user belongs to a batch of a rebuild: it is one of the wanted users, $2, or '
'one after $3 and up to $4';

CREATE FUNCTION bloomexp.lock_user(filters regclass, user_id anyelement) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET row_security = off	-- an error if row security would hide rows
AS $$
DECLARE
	equal constant text := (SELECT u.equal FROM bloomexp.user_sql(filters) AS u);
BEGIN
	-- WHERE false: lock the row without writing it
	EXECUTE format('INSERT INTO %s AS f (user_id) SELECT $1 WHERE $1 IS NOT NULL '
		'ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET pending = f.pending WHERE false',
		filters) USING user_id;
	-- This raises an error if an older snapshot shows a row that others have removed since.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		EXECUTE format('SELECT FROM %s AS f WHERE f.user_id %s $1 FOR UPDATE', filters, equal)
			USING user_id;
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.lock_user(regclass, anyelement) IS
'locks the row of a user, as lock() of a feed does';

CREATE FUNCTION bloomexp.remove_row(filters regclass, condition text, user_id anyelement,
	oldest timestamp with time zone DEFAULT NULL, present timestamp with time zone DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET row_security = off	-- an error if row security would hide rows
AS $$
DECLARE
	n_rows bigint;
BEGIN
	EXECUTE format('DELETE FROM %s AS f WHERE %s', filters, condition)
		USING user_id, oldest, present;
	GET DIAGNOSTICS n_rows = ROW_COUNT;
	IF n_rows > 0 THEN
		RETURN true;
	END IF;
	-- The DELETE has found nothing.  If there is a row now, another session has made it since, or a
	-- trigger or rule has kept it.  Once it is locked, only a trigger or rule can keep it.
	EXECUTE format('SELECT FROM %s AS f WHERE %s FOR UPDATE', filters, condition)
		USING user_id, oldest, present;
	GET DIAGNOSTICS n_rows = ROW_COUNT;
	IF n_rows = 0 THEN
		RETURN false;
	END IF;
	EXECUTE format('DELETE FROM %s AS f WHERE %s', filters, condition)
		USING user_id, oldest, present;
	GET DIAGNOSTICS n_rows = ROW_COUNT;
	IF n_rows = 0 THEN
		PERFORM bloomexp.row_not_written(filters::text);
	END IF;
	RETURN true;
END
$$;

COMMENT ON FUNCTION bloomexp.remove_row IS
'removes the row of a user if it meets a condition on f, with $1 for the user, $2 for the oldest '
'slice of the window and $3 for the present; returns whether there was such a row, and raises an '
'error if a trigger or rule keeps it';

CREATE FUNCTION bloomexp.forget_user(filters regclass, user_id anyelement) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_user constant text := (
		SELECT concat('f.user_id ', u.equal, ' $1') FROM bloomexp.user_sql(filters) AS u);
BEGIN
	IF bloomexp.remove_row(filters, is_user, user_id) THEN
		RETURN;
	END IF;
	-- Another transaction, not yet committed, may be inserting the row of a new user: wait for it.
	-- If there is a row that an older snapshot does not show, this raises an error.
	BEGIN
		PERFORM bloomexp.lock_user(filters, user_id);
	EXCEPTION WHEN foreign_key_violation OR check_violation THEN
		RETURN;	-- no row can have this user
	END;
	PERFORM bloomexp.remove_row(filters, is_user, user_id);
END
$$;

COMMENT ON FUNCTION bloomexp.forget_user(regclass, anyelement) IS
'removes the row of a user; raises an error if a trigger or rule keeps it';

CREATE FUNCTION bloomexp.merge_users(filters regclass, from_user anyelement, into_user anyelement,
	settings bloomexp.row_settings)
RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET row_security = off	-- an error if row security would hide rows
AS $$
DECLARE
	op record;	-- how users are compared
	first_user from_user%TYPE;	-- the lesser of the two; NULL if they are the same, or one is NULL
	visitor record;	-- the row of from_user
	n_rows bigint;
BEGIN
	SELECT * INTO op FROM bloomexp.user_sql(filters);
	EXECUTE format('SELECT CASE WHEN $1 %1$s $2%2$s THEN $2 WHEN $2 %1$s $1%2$s THEN $1 END',
		op.greater, op.collate_clause)
		INTO first_user USING from_user, into_user;
	IF first_user IS NULL THEN
		RETURN;
	END IF;
	-- in the order in which batches lock, so that this does not deadlock with one
	PERFORM bloomexp.lock_user(filters, first_user);
	PERFORM bloomexp.lock_user(filters, from_user), bloomexp.lock_user(filters, into_user);
	EXECUTE format('SELECT f.since, f.items, f.recent FROM %s AS f WHERE f.user_id %s $1',
		filters, op.equal)
		INTO visitor USING from_user;
	-- The target rate of a union is the sum of both rates.  Items that are added later get the rate
	-- of the feed.
	EXECUTE format('UPDATE %s AS f SET '
		'since = bloomexp.since_after(f.recent, $3, $5, f.since, $2, $6), '
		'items = bloomexp.items_after('
			'bloomexp.with_fpr(bloomexp."union"(f.items, $4), ($5).fpr), '
			'f.recent, $3, $5, f.since, $2, $6), '
		'pending = 0, '
		'recent = bloomexp.recent_after(f.recent, $3, $5, f.since, $2, $6) '
		'WHERE f.user_id %s $1', filters, op.equal)
		USING into_user, visitor.since, visitor.recent, visitor.items, settings, clock_timestamp();
	GET DIAGNOSTICS n_rows = ROW_COUNT;
	IF n_rows = 0 THEN
		PERFORM bloomexp.row_not_written(filters::text);
	END IF;
	PERFORM bloomexp.forget_user(filters, from_user);
END
$$;

COMMENT ON FUNCTION bloomexp.merge_users(regclass, anyelement, anyelement, bloomexp.row_settings) IS
'adds the items of from_user to the row of into_user, and removes the row of from_user; does '
'nothing if both are the same user, or if one of them is NULL';

CREATE PROCEDURE bloomexp.expire_filters(
	batch text,	-- expire_batch() of the feed, which has the rights of its owner
	after anyelement,	-- the last user who is done; NULL at first
	pause interval, allow_removed boolean, INOUT removed bigint)
LANGUAGE plpgsql
AS $$	-- With SET it could not commit.  So types that a search_path finds are qualified.
DECLARE
	batch_oid pg_catalog.oid;
	n_calls bigint;	-- 0: another function has the name now
BEGIN
	PERFORM bloomexp.require_autocommit('expire()');
	removed := 0;
	LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;	-- whatever the session's default is
		SET LOCAL search_path = pg_catalog, pg_temp;	-- until the next COMMIT
		batch_oid := coalesce(batch_oid, batch::regproc);
		-- Since the last batch the feed can have been dropped, and somebody else can have made one
		-- of its name.  Test that before the call, whose plan could run the function, and again in
		-- the call.
		IF to_regproc(batch)::oid IS DISTINCT FROM batch_oid THEN
			RAISE EXCEPTION 'function % was replaced in the meantime', batch
				USING ERRCODE = 'object_not_in_prerequisite_state';
		END IF;
		EXECUTE format('SELECT b.after, b.removed FROM %s($1, $2, $3) AS b '
			'WHERE to_regproc(%L)::oid = $4', batch, batch)
			INTO after, removed USING after, allow_removed, removed, batch_oid;
		GET DIAGNOSTICS n_calls = ROW_COUNT;
		IF n_calls = 0 THEN
			RAISE EXCEPTION 'function % was replaced in the meantime', batch
				USING ERRCODE = 'object_not_in_prerequisite_state';
		END IF;
		COMMIT;
		EXIT WHEN after IS NULL;
		PERFORM pg_catalog.pg_sleep_for(pause);
	END LOOP;
END
$$;

COMMENT ON PROCEDURE bloomexp.expire_filters(text, anyelement, interval, boolean, bigint) IS
'the loop of expire(): calls expire_batch() of a feed and commits, until all users are done';

CREATE FUNCTION bloomexp.expire_batch(filters regclass, INOUT after anyelement,
	allow_removed boolean, INOUT removed bigint, width interval, slices integer)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET row_security = off	-- an error if row security would hide rows
AS $$
DECLARE
	present constant timestamp with time zone := clock_timestamp();
	oldest constant timestamp with time zone := bloomexp.oldest_slice(present, width, slices);
	-- condition, with $2 for "oldest" and $3 for "present": the slice of the row is older, or the
	-- row has none, because only lock() has made it.  If the clock was behind for a while, the
	-- filter can have items that are newer than "since".
	expired constant text := 'coalesce(f.since < $2, f.items IS NULL) '
		'AND coalesce(bloomexp.cardinality(bloomexp.expire(f.items, $3)), 0) = 0';
	op record;	-- how users are compared
	batch_from after%TYPE := after;
	candidate after%TYPE;
	n_users bigint;
	n_expired bigint;
	n_rows bigint;
BEGIN
	SELECT * INTO op FROM bloomexp.user_sql(filters);
	IF after IS NULL AND allow_removed IS NOT TRUE THEN
		-- rows that only lock() has made are no loss, and do not count
		EXECUTE format('SELECT count(f.since), count(f.since) FILTER (WHERE %s) FROM %s AS f',
			expired, filters)
			INTO n_users, n_expired USING batch_from, oldest, present;
		IF n_expired > 1000 AND n_expired > n_users / 5 THEN
			RAISE EXCEPTION 'expire would remove % of % users of %', n_expired, n_users, filters
				USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = concat('They have had no exposure since ', oldest, '.'),
				HINT = 'If that is right, call it with allow_removed => true.';
		END IF;
	END IF;
	EXECUTE format('SELECT f.user_id FROM %s AS f WHERE $1 IS NULL OR f.user_id %s $1 '
		'ORDER BY f.user_id OFFSET 9999 LIMIT 1', filters, op.greater)
		INTO after USING batch_from;

	-- Leave out users whose rows others have locked: something is being shown to them.
	FOR candidate IN
		EXECUTE format('SELECT f.user_id FROM %s AS f WHERE %s '
			'AND ($1 IS NULL OR f.user_id %s $1) AND ($4 IS NULL OR f.user_id %s $4) '
			'ORDER BY f.user_id', filters, expired, op.greater, op.not_greater)
			USING batch_from, oldest, present, after
	LOOP
		EXECUTE format('SELECT FROM %s AS f WHERE f.user_id %s $1 AND %s FOR UPDATE SKIP LOCKED',
			filters, op.equal, expired) USING candidate, oldest, present;
		GET DIAGNOSTICS n_rows = ROW_COUNT;
		CONTINUE WHEN n_rows = 0;
		IF bloomexp.remove_row(filters, format('f.user_id %s $1 AND %s', op.equal, expired),
			candidate, oldest, present) THEN
			removed := removed + 1;
		END IF;
	END LOOP;
END
$$;

COMMENT ON FUNCTION bloomexp.expire_batch(
	regclass, anyelement, boolean, bigint, interval, integer) IS
'looks at the next 10,000 users of a feed after "after", and removes those whose last slice has '
'left the window. Returns in "after" the last of the 10,000, or NULL if it was the last batch, and '
'adds the number of removed users to "removed". The first batch raises an error if too many users '
'have expired, unless allow_removed';

-- The rebuild of a feed over a table.
--
-- rebuild() of a feed calls the procedure rebuild_filters(), a loop that commits after each batch.
-- The loop runs with the rights of the caller, reads no table, and keeps its progress in variables.
-- For each batch it calls rebuild_batch() of the feed.
--
-- rebuild_batch() of a feed runs with the rights of the feed's owner.  It calls
-- bloomexp.rebuild_batch(), which does the work, with constants of the feed's script.  One of them
-- is the query that returns the users and items of the exposures.
--
-- A batch locks the rows of its users, reads their exposures in its next statement, and replaces
-- the rows.  While a batch holds row locks it waits for no other row lock, and for a session that
-- is inserting a row of the same user only up to lock_timeout, because it could deadlock with a
-- transaction that locks users in another order.  So it skips users whose rows are locked by
-- others.  They come last: in batches again, as long as some of the rows are free, and then one by
-- one, because waiting for a single row is safe.  A skipped user who has no exposure waits for the
-- next rebuild, unless the caller has named the users.

CREATE TYPE bloomexp.rebuild_counts AS (
	exposures bigint,
	filters bigint,
	bytes bigint,
	removed bigint,
	examined bigint,
	lost bigint,
	halved bigint
);

COMMENT ON TYPE bloomexp.rebuild_counts IS
'counts of a rebuild: exposures that it has read; filters that it has built, and their bytes; '
'filters removed because their users have no exposure left. The last three are for the safety '
'stop, and leave out rows that have only items of the last take(): filters examined, filters lost '
'because they were removed, and filters halved, which lose more than half of the items that the '
'exposures should still have';

CREATE PROCEDURE bloomexp.rebuild_filters(
	batch text,	-- name of rebuild_batch() of the feed
	filters text,	-- name of the table of filters, for messages
	users anyarray, after anyelement, upto anyelement,
	pause interval,
	has_triggers boolean,
	overlap interval,	-- only for a feed without triggers
	dry_run boolean, allow_removed boolean,
	INOUT exposures bigint, INOUT n_filters bigint, INOUT bytes bigint, INOUT removed bigint)
LANGUAGE plpgsql
AS $$	-- With SET it could not commit.  So types that a search_path finds are qualified.
DECLARE
	call pg_catalog.text;
	batch_oid pg_catalog.oid;
	n_calls bigint;	-- 0: another function has the name now
	size integer := 250;	-- filters of a batch; it takes up to 4 * size wanted users
	counts bloomexp.rebuild_counts;
	counts_before bloomexp.rebuild_counts;
	n_done integer := 0;	-- how many of "users" are done
	wanted users%TYPE;	-- users of the next batch; NULL: those after "after"
	busy users%TYPE;	-- users to try again, most of them because others had locked their rows
	batch_busy users%TYPE;	-- those of the last batch
	only_busy boolean := false;	-- all other users are done
	one_by_one boolean := false;	-- each batch is one busy user
	gave_way boolean;	-- the last batch did nothing, because of a lock
	report_at timestamp with time zone;
	give_up_at timestamp with time zone;	-- NULL: locks did not stop the last batch
	wait double precision;	-- seconds
BEGIN
	PERFORM bloomexp.require_autocommit('rebuild()');
	LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;	-- whatever the session's default is
		SET LOCAL search_path = pg_catalog, pg_temp;	-- until the next COMMIT
		-- Initialize here, because before the loop operators come from the caller's search_path.
		IF call IS NULL THEN
			IF users IS NOT NULL AND (after IS NOT NULL OR upto IS NOT NULL) THEN
				RAISE EXCEPTION 'a rebuild takes either users or a range of them'
					USING ERRCODE = 'invalid_parameter_value';
			ELSIF dry_run IS NULL OR allow_removed IS NULL THEN
				RAISE EXCEPTION 'dry_run and allow_removed must not be null'
					USING ERRCODE = 'null_value_not_allowed';
			ELSIF NOT has_triggers AND (overlap >= interval '0') IS NOT TRUE THEN
				RAISE EXCEPTION 'overlap must not be null or negative'
					USING ERRCODE = 'invalid_parameter_value';
			END IF;
			call := format('SELECT b.after, b.busy, (b.counts).* '
				'FROM %s($1, $2, $3, $4, $5, $6, $7%s) AS b WHERE to_regproc(%L)::oid = $9',
				batch, CASE WHEN NOT has_triggers THEN ', $8' END, batch);
			batch_oid := batch::regproc;
			IF users IS NOT NULL THEN	-- batches take slices of it
				users := ARRAY(SELECT u.id FROM unnest(users) AS u(id));
			END IF;
			counts := ROW(0, 0, 0, 0, 0, 0, 0);
			busy := '{}';
			report_at := clock_timestamp() + interval '1 second';
		END IF;

		wanted := CASE
			WHEN one_by_one THEN busy[1:1]
			WHEN only_busy THEN busy[1 : 4 * size]
			WHEN users IS NOT NULL THEN users[n_done + 1 : n_done + 4 * size]
		END;
		gave_way := false;
		-- Since the last batch the feed can have been dropped, and somebody else can have made one
		-- of its name.  Test that before the call, whose plan could run the function, and again in
		-- the call.
		IF to_regproc(batch)::oid IS DISTINCT FROM batch_oid THEN
			RAISE EXCEPTION 'function % was replaced in the meantime', batch
				USING ERRCODE = 'object_not_in_prerequisite_state';
		END IF;
		counts_before := counts;
		BEGIN
			EXECUTE call
				INTO after, batch_busy, counts.exposures, counts.filters, counts.bytes,
					counts.removed, counts.examined, counts.lost, counts.halved
				USING wanted, after, upto, size, dry_run, allow_removed, counts, overlap,
					batch_oid;
			GET DIAGNOSTICS n_calls = ROW_COUNT;
			IF n_calls = 0 THEN
				RAISE EXCEPTION 'function % was replaced in the meantime', batch
					USING ERRCODE = 'object_not_in_prerequisite_state';
			END IF;
			IF only_busy THEN	-- users count in the batches that found them busy
				counts.exposures := counts_before.exposures;
				counts.filters := counts_before.filters;
				counts.bytes := counts_before.bytes;
			END IF;
		EXCEPTION
			WHEN lock_not_available OR deadlock_detected THEN
				gave_way := true;
				batch_busy := '{}';
			WHEN program_limit_exceeded OR integrity_constraint_violation THEN
				IF one_by_one THEN	-- this user must not stop the others
					RAISE WARNING 'filter of user % was not rebuilt in %: %',
						left(wanted[1]::pg_catalog.text, 40), filters, SQLERRM;
					batch_busy := '{}';
				ELSIF only_busy THEN
					one_by_one := true;
					CONTINUE;
				ELSIF size > 1 THEN
					size := size / 2;
					CONTINUE;
				ELSE
					RAISE;
				END IF;
		END;

		wait := 0;
		IF only_busy AND NOT one_by_one
			AND (gave_way OR cardinality(batch_busy) = cardinality(wanted)) THEN
			one_by_one := true;
		ELSIF gave_way OR (one_by_one AND cardinality(batch_busy) > 0) THEN
			give_up_at := coalesce(give_up_at, clock_timestamp() + interval '5 minutes');
			IF clock_timestamp() > give_up_at AND one_by_one THEN
				RAISE WARNING 'filters of % users were not rebuilt in %, because others kept their '
					'rows locked', cardinality(busy), filters;
				EXIT;
			ELSIF clock_timestamp() > give_up_at AND cardinality(wanted) = 1 THEN
				-- a batch of one user waits: leave this user, the last one of "users", to the end
				busy := wanted || busy;	-- from where it is moved below
				only_busy := true;
				one_by_one := true;
			ELSIF clock_timestamp() > give_up_at THEN
				RAISE EXCEPTION 'rebuild of % gave up after waiting five minutes for locks', filters
					USING ERRCODE = 'lock_not_available',
					DETAIL = 'Batches before this one are done.',
					HINT = 'Find the sessions that hold the locks in pg_locks, then call it again.';
			END IF;
			IF one_by_one THEN	-- try another user first
				busy := busy[2:] || wanted;
			END IF;
			-- If a cancel arrives together with a lock timeout, PostgreSQL reports only the
			-- timeout, which is caught above.  So sleep, to let a cancel arrive alone.
			wait := 0.5 / (1 + cardinality(busy));
		ELSIF only_busy THEN
			give_up_at := NULL;
			busy := busy[cardinality(wanted) + 1 :] || batch_busy;
		ELSE
			give_up_at := NULL;
			busy := busy || batch_busy;
			n_done := n_done + 4 * size;
			only_busy := CASE
				WHEN users IS NULL THEN after IS NULL
				ELSE n_done >= cardinality(users)
			END;
			IF after IS NOT NULL AND clock_timestamp() > report_at THEN
				RAISE NOTICE 'rebuild of %: done up to user %, except % users whose rows were '
					'locked',
					filters, after, cardinality(busy);
				report_at := clock_timestamp() + interval '10 seconds';
			END IF;
		END IF;

		EXIT WHEN only_busy AND (dry_run OR cardinality(busy) = 0);
		COMMIT;
		PERFORM pg_catalog.pg_sleep(wait), pg_catalog.pg_sleep_for(pause);
	END LOOP;
	exposures := counts.exposures;
	n_filters := counts.filters;
	bytes := counts.bytes;
	removed := counts.removed;
	COMMIT;	-- ends SET LOCAL
END
$$;

COMMENT ON PROCEDURE bloomexp.rebuild_filters IS
'the loop of rebuild(): calls rebuild_batch() of a feed and commits, until all users are done. A '
'batch that is too large is repeated with half its size. Users whose rows are locked come last. '
'If locks stop it for five minutes, it gives up: with a warning if only such users are left, else '
'with an error';

CREATE FUNCTION bloomexp.items_to_keep(items @extschema@.bloom,
	filled_until timestamp with time zone,	-- NULL or -infinity: the age is not known
	width interval)
RETURNS numeric
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
	SELECT bloomexp.cardinality(items) OPERATOR(pg_catalog.*) (1 OPERATOR(pg_catalog.-)
		GREATEST(0, LEAST(1, (extract(epoch FROM pg_catalog.now()) OPERATOR(pg_catalog.-)
			extract(epoch FROM filled_until)) OPERATOR(pg_catalog./) extract(epoch FROM width))))
$$;

COMMENT ON FUNCTION bloomexp.items_to_keep(@extschema@.bloom, timestamp with time zone, interval) IS
'the number of items of a filter that a rebuild should at least find again: nine tenths if the '
'age of the filter is a tenth of the window, none if its age is not known';

CREATE FUNCTION bloomexp.require_batch(wanted anyarray, size integer, dry_run boolean,
	allow_removed boolean, counts bloomexp.rebuild_counts, has_triggers boolean, overlap interval)
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM bloomexp.require_read_committed('rebuild_batch()');
	IF cardinality(wanted) > 1000 THEN
		RAISE EXCEPTION 'a batch of a rebuild takes at most 1000 users'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF (size > 0) IS NOT TRUE THEN
		RAISE EXCEPTION 'size of a batch must be at least 1'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF dry_run IS NULL OR allow_removed IS NULL OR counts IS NULL THEN
		RAISE EXCEPTION 'dry_run, allow_removed and counts must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT has_triggers AND (overlap >= interval '0') IS NOT TRUE THEN
		RAISE EXCEPTION 'overlap must not be null or negative'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.require_batch IS
'raises an error unless the isolation level is READ COMMITTED, and the arguments of a batch of a '
'rebuild are valid: at most 1,000 wanted users, and for a feed without triggers an overlap';

CREATE FUNCTION bloomexp.require_few_losses(filters regclass, exposures regclass,
	exposed_query text, width interval,
	after text,	-- the last user before the batch; NULL: there is none
	is_last boolean,	-- no batch comes after this one
	n_exposures bigint,	-- of the batch
	before bloomexp.rebuild_counts,	-- before the batch
	counts bloomexp.rebuild_counts)	-- after it
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET row_security = off	-- an error if row security would hide rows
SET timezone = 'UTC'
SET IntervalStyle = postgres	-- of the width in messages
AS $$
DECLARE
	window_start constant timestamp with time zone := now() - width;
	n_rows bigint;
BEGIN
	IF (counts.removed > before.removed OR is_last) AND n_exposures = 0 THEN
		EXECUTE format('SELECT FROM (%s) AS e LIMIT 1', exposed_query) USING window_start;
		GET DIAGNOSTICS n_rows = ROW_COUNT;
		IF n_rows = 0 THEN
			RAISE EXCEPTION 'no exposure of the last % in %', width, exposures
				USING ERRCODE = 'no_data_found',
				DETAIL = concat('There is none newer than ', window_start,
					'. No filter was removed.'),
				HINT = 'If that is right, call the rebuild with allow_removed => true.';
		END IF;
	END IF;
	IF counts.lost > before.lost AND counts.lost > 100 AND counts.lost > counts.examined / 5 THEN
		RAISE EXCEPTION 'rebuild would remove % of % filters of %',
			counts.lost, counts.examined, filters
			USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = concat('Their users have no exposure newer than ', window_start,
				'. Of these filters, ', before.lost,
				' have already been removed; the batch after user ',
				coalesce(after, '(none)'), ' changed nothing.'),
			HINT = 'If that is right, call the rebuild with allow_removed => true.';
	END IF;
	IF counts.halved > 100 AND counts.halved > counts.examined / 5 THEN
		RAISE EXCEPTION 'rebuild would halve % of % filters of %',
			counts.halved, counts.examined, filters
			USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = concat('More than half of what their users were shown in the last ', width,
				' is no longer in ', exposures, '. The batch after user ',
				coalesce(after, '(none)'), ' changed nothing.'),
			HINT = 'Keep exposures as long as the feed remembers them. '
				'If that is right, call the rebuild with allow_removed => true.';
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.require_few_losses IS
'the safety stop of a rebuild, before a batch changes anything: raises an error if there is no '
'exposure in the window at all, or if more than 100 filters, and more than a fifth of those '
'examined, would be removed, or would lose more than half of the items that the exposures should '
'still have. Then a table, its retention or a clock may be wrong';

CREATE FUNCTION bloomexp.rebuild_batch(
	filters regclass, exposures regclass,
	user_column name,	-- of the exposures
	exposed_query text,	-- query that returns the users and items of all exposures since $1
	width interval, fpr double precision,
	wanted anyarray, INOUT after anyelement, upto anyelement, size integer,
	dry_run boolean, allow_removed boolean, INOUT counts bloomexp.rebuild_counts,
	has_triggers boolean,
	overlap interval DEFAULT NULL,	-- only for a feed without triggers
	OUT busy anyarray)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET row_security = off	-- an error if row security would hide rows
SET timezone = 'UTC'	-- right even if the time column changes its type
SET jit = off	-- compiling its statements takes longer than a batch does
SET lock_timeout = '100ms'	-- less than deadlock_timeout, 1 s by default: the rebuild gives way
AS $$
DECLARE
	window_start constant timestamp with time zone := now() - width;
	batch_from after%TYPE := after;
	batch_to after%TYPE;
	max_users constant integer := 8 * size;	-- many of them can be new, and have no filter yet
	before constant bloomexp.rebuild_counts := counts;
	foreign_key text;
	op record;	-- how users are compared
	of_exposures text;	-- condition for exposures of the batch, with $2 to $4
	of_filters text;	-- the same for filters
	short_id text;	-- condition for an id that is short enough for a row
	long_id text;	-- the beginning of an id that is too long
	filled timestamp with time zone;	-- new filters have all exposures from before this time
	-- A later filled_until is wrong: the clock was ahead, or "overlap" was shorter.
	latest constant timestamp with time zone := LEAST(now(), now() - overlap);
	prepared boolean := false;	-- there is a prepared transaction
	locked wanted%TYPE;	-- users whose rows this batch has locked; in a dry run, all who have rows
	built record;	-- users with exposures, and their filters
	built_users wanted%TYPE;
	gone wanted%TYPE;	-- users without exposures, whose rows this batch has locked
	not_locked wanted%TYPE;	-- users with exposures, whose rows this batch has not locked
	skipped wanted%TYPE := '{}';	-- wanted users without exposures, whose rows others have locked
	n_rows bigint;
BEGIN
	-- A deferred foreign key of filters must fail here, not at COMMIT.  Others stay deferred: they
	-- would run triggers of the caller with the rights of the feed's owner.
	FOR foreign_key IN
		SELECT format('%I.%I', n.nspname, k.conname)
		FROM pg_constraint AS k JOIN pg_namespace AS n ON n.oid = k.connamespace
		WHERE k.conrelid = filters AND k.contype = 'f' AND k.condeferrable
	LOOP
		EXECUTE format('SET CONSTRAINTS %s IMMEDIATE', foreign_key);
	END LOOP;
	PERFORM bloomexp.require_batch(wanted, size, dry_run, allow_removed, counts, has_triggers,
		overlap);
	-- From now on the filters are locked, so the extension cannot be dropped.
	PERFORM bloomexp.require_trusted(filters), bloomexp.require_trusted(exposures);
	PERFORM bloomexp.require_trusted(t, missing_ok => true) FROM bloomexp.tables_of(exposures) AS t;
	SELECT * INTO op FROM bloomexp.user_sql(filters);

	-- A batch has "size" filters.  If fewer are left, as in the first rebuild, it has "max_users"
	-- with exposures.  A walk over the index, one probe for each user, finds the last of them.  It
	-- does not depend on statistics of the table.
	IF wanted IS NULL THEN
		EXECUTE format('SELECT f.user_id FROM %s AS f '
			'WHERE ($1 IS NULL OR f.user_id %s $1) AND ($2 IS NULL OR f.user_id %s $2) '
			'ORDER BY f.user_id OFFSET $3 LIMIT 1', filters, op.greater, op.not_greater)
			INTO batch_to USING batch_from, upto, size - 1;
		IF batch_to IS NULL THEN
			EXECUTE format('WITH RECURSIVE walk(id, n) AS ('
				'(SELECT e.id, 1 FROM %1$s AS e(id) WHERE $2 IS NULL OR e.id %2$s $2 '
				'ORDER BY e.id LIMIT 1) '
				'UNION ALL SELECT ('
					'SELECT e.id FROM %1$s AS e(id) WHERE e.id %2$s w.id ORDER BY e.id LIMIT 1), '
					'w.n + 1 '
				'FROM walk AS w '
				'WHERE w.id IS NOT NULL AND w.n < $4 AND ($3 IS NULL OR w.id %3$s $3)) '
				'SELECT w.id FROM walk AS w WHERE w.n = $4 AND ($3 IS NULL OR w.id %3$s $3)',
				-- The condition on the time leaves out old partitions.  In a single table the walk
				-- reads fewer rows without it: only the first one of each user.
				CASE WHEN (SELECT c.relkind = 'p' FROM pg_class AS c WHERE c.oid = exposures)
					THEN format('(%s)', exposed_query)
					ELSE format('(SELECT t.%I FROM %s AS t WHERE t.%1$I IS NOT NULL)',
						user_column, exposures) END,
				op.greater, op.not_greater)
				INTO batch_to USING window_start, batch_from, upto, max_users;
		END IF;
		after := batch_to;
		batch_to := coalesce(batch_to, upto);
	END IF;
	of_exposures := bloomexp.in_batch('e.id', op.equal, op.greater, op.not_greater,
		wanted, batch_from, batch_to);
	of_filters := bloomexp.in_batch('f.user_id', op.equal, op.greater, op.not_greater,
		wanted, batch_from, batch_to);
	short_id := coalesce(format(op.short_id, 'e.id'), 'true');

	-- Only a batch of a single user may wait for a row lock.
	-- $1 is not used: in_batch() numbers its parameters from $2.
	EXECUTE format('SELECT ARRAY(SELECT f.user_id FROM %s AS f WHERE %s%s)', filters,
		of_filters,
		CASE WHEN dry_run THEN '' WHEN cardinality(wanted) = 1 THEN ' FOR UPDATE'
			ELSE ' FOR UPDATE SKIP LOCKED' END)
		INTO locked USING NULL::integer, wanted, batch_from, batch_to;

	-- The statement that reads the exposures takes its snapshot after this time.
	filled := clock_timestamp();
	IF NOT has_triggers THEN
		-- No row is locked when an exposure is inserted.  Transactions that are open now, such as
		-- this one, can still commit exposures with times since the start of the transaction.
		filled := LEAST(filled, now(), bloomexp.oldest_transaction());
		-- an overlap that equals '0' can still move a time forward: '-12 months 360 days'
		filled := LEAST(filled, filled - overlap);
		-- Nobody knows when a prepared transaction began: while there is one, filled_until stays.
		-- Look for it after oldest_transaction(), which has seen one that was prepared in between.
		prepared := EXISTS (
			SELECT FROM pg_prepared_xacts AS p WHERE p.database = current_database());
	END IF;

	-- The LIMIT is necessary because a batch can have any number of users without a row.
	EXECUTE format('SELECT array_agg(b.id) AS users, array_agg(b.items) AS filters, '
		'coalesce(sum(b.n), 0)::bigint AS n_exposures, '
		'coalesce(sum(octet_length(b.items::bytea) + 4), 0)::bigint AS n_bytes '
		'FROM (SELECT e.id, count(*) AS n, bloomexp.agg(e.item, $5) AS items '
			'FROM (%s) AS e(id, item) WHERE %s AND %s GROUP BY e.id ORDER BY e.id LIMIT $6) AS b',
		exposed_query, of_exposures, short_id)
		INTO built
		USING window_start, wanted, batch_from, batch_to, fpr,
			CASE WHEN wanted IS NULL THEN max_users END;
	built_users := coalesce(built.users, '{}');
	IF wanted IS NULL AND cardinality(built_users) = max_users THEN
		after := built_users[max_users];
		EXECUTE format('SELECT ARRAY(SELECT l.id FROM unnest($1) AS l(id) WHERE l.id %s $2%s)',
			op.not_greater, op.collate_clause)
			INTO locked USING locked, after;
	END IF;
	IF op.short_id IS NOT NULL THEN	-- warn of users who are left out
		EXECUTE format('SELECT left(concat(e.id), 40) FROM (%s) AS e(id, item) '
			'WHERE %s AND NOT %s LIMIT 1',
			exposed_query, of_exposures, short_id)
			INTO long_id USING window_start, wanted, batch_from, coalesce(after, batch_to);
		IF long_id IS NOT NULL THEN
			RAISE WARNING 'no filter in % for users whose ids have more than 2,000 bytes', filters
				USING DETAIL = format('One of these ids begins with "%s".', long_id);
		END IF;
	END IF;
	EXECUTE format('SELECT ARRAY(SELECT l.id FROM unnest($1) AS l(id) '
		'WHERE NOT EXISTS (SELECT FROM unnest($2) AS b(id) WHERE b.id %1$s l.id%2$s)), '
		'ARRAY(SELECT b.id FROM unnest($2) AS b(id) '
		'WHERE NOT EXISTS (SELECT FROM unnest($1) AS l(id) WHERE l.id %1$s b.id%2$s))',
		op.equal, op.collate_clause)
		INTO gone, not_locked USING locked, built_users;
	IF wanted IS NOT NULL THEN
		EXECUTE format('SELECT ARRAY(SELECT f.user_id FROM %1$s AS f WHERE f.user_id %2$s ANY ($1) '
			'AND NOT EXISTS (SELECT FROM unnest($2 || $3) AS d(id) WHERE d.id %2$s f.user_id%3$s))',
			filters, op.equal, op.collate_clause)
			INTO skipped USING wanted, locked, built_users;
	END IF;

	-- Count what the batch will do.  A row that has only items of the last take() is no loss: maybe
	-- nobody has seen these items, and visitors can make any number of such rows.
	EXECUTE format('SELECT '
			'($1).removed + count(*) FILTER (WHERE f.user_id %2$s ANY ($3) '
				'AND (f.items IS NOT NULL OR cardinality(f.recent) > 0)), '
			'($1).examined + count(*) FILTER (WHERE %4$s), '
			'($1).lost + count(*) FILTER (WHERE f.user_id %2$s ANY ($3) AND %4$s), '
			'($1).halved + count(*) FILTER (WHERE '
				'bloomexp.items_to_keep(f.items, f.filled_until, $6) '
				'> 2 * bloomexp.cardinality(b.items)) '
		'FROM %1$s AS f LEFT JOIN ROWS FROM (unnest($4), unnest($5)) AS b(id, items) '
			'ON b.id %2$s f.user_id%3$s '
		'WHERE f.user_id %2$s ANY ($2)',
		filters, op.equal, op.collate_clause,
		'(f.items IS NOT NULL OR cardinality(f.recent) > f.pending)')
		INTO counts.removed, counts.examined, counts.lost, counts.halved
		USING counts, locked, gone, built_users, built.filters, width;
	counts.exposures := counts.exposures + built.n_exposures;
	counts.filters := counts.filters + cardinality(built_users);
	counts.bytes := counts.bytes + built.n_bytes;
	IF dry_run THEN
		busy := '{}';
		RETURN;
	ELSIF NOT allow_removed THEN
		PERFORM bloomexp.require_few_losses(filters, exposures, exposed_query, width,
			batch_from::text, after IS NULL, built.n_exposures, before, counts);
	END IF;

	-- Replace the rows that are locked.  If a constraint refuses one of them, this changes nothing,
	-- and all users of the batch are tried again, in the end one by one.
	BEGIN
		-- Each user has a row, so the INSERT only updates.  A filter that is unchanged is rewritten
		-- only if its filled_until is wrong, or more than a day old, which keeps it exact to a day.
		EXECUTE format('INSERT INTO %1$s AS f (user_id, items, filled_until) '
			'SELECT b.id, b.items, CASE WHEN NOT $4 THEN $5 END '
			'FROM ROWS FROM (unnest($1), unnest($2)) AS b(id, items) '
			'WHERE EXISTS (SELECT FROM unnest($3) AS l(id) WHERE l.id %2$s b.id%3$s) '
			'ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET items = excluded.items, '
				'filled_until = CASE WHEN NOT $4 THEN excluded.filled_until '
					'WHEN f.filled_until <= $6 THEN f.filled_until END, '
				'pending = 0, recent = ARRAY[]::bigint[] '
			'WHERE cardinality(f.recent) > 0 OR bloomexp.eq(f.items, excluded.items) IS NOT TRUE '
				'OR f.filled_until > $6 '
				'OR NOT $4 AND (f.filled_until > $5 - interval ''1 day'') IS NOT TRUE',
			filters, op.equal, op.collate_clause)
			USING built_users, built.filters, locked, prepared, filled, latest;
		IF cardinality(gone) > 0 THEN
			EXECUTE format('DELETE FROM %s AS f WHERE f.user_id %s ANY ($1)', filters, op.equal)
				USING gone;
			EXECUTE format('SELECT FROM %s AS f WHERE f.user_id %s ANY ($1)', filters, op.equal)
				USING gone;
			GET DIAGNOSTICS n_rows = ROW_COUNT;
			IF n_rows > 0 THEN
				PERFORM bloomexp.row_not_written(filters::text);
			END IF;
		END IF;
	EXCEPTION WHEN integrity_constraint_violation THEN
		IF cardinality(wanted) = 1 THEN
			RAISE;
		END IF;
		counts.removed := before.removed;
		counts.examined := before.examined;
		counts.lost := before.lost;
		counts.halved := before.halved;
		busy := built_users || gone || skipped;
		RETURN;
	END;

	-- Make rows for users who had none.  A user is busy if another session has locked the row, has
	-- inserted it since the snapshot, or is inserting it now.
	busy := not_locked;
	IF cardinality(not_locked) > 0 THEN
		BEGIN
			EXECUTE format('WITH added AS ('
				'INSERT INTO %1$s (user_id, items, filled_until) '
				'SELECT b.id, b.items, CASE WHEN NOT $4 THEN $5 END '
				'FROM ROWS FROM (unnest($1), unnest($2)) AS b(id, items) '
				'WHERE EXISTS (SELECT FROM unnest($3) AS n(id) WHERE n.id %2$s b.id%3$s) '
					'AND NOT EXISTS (SELECT FROM %1$s AS f WHERE f.user_id %2$s b.id%3$s) '
				'ORDER BY b.id%3$s ON CONFLICT DO NOTHING RETURNING user_id) '
				'SELECT ARRAY(SELECT n.id FROM unnest($3) AS n(id) '
				'WHERE NOT EXISTS (SELECT FROM added AS a WHERE a.user_id %2$s n.id%3$s))',
				filters, op.equal, op.collate_clause)
				INTO busy USING built_users, built.filters, not_locked, prepared, filled;
		EXCEPTION
			-- All of them stay busy.  One by one, only the users that caused the error fail again.
			WHEN lock_not_available OR deadlock_detected OR integrity_constraint_violation THEN
				IF cardinality(wanted) = 1 THEN
					RAISE;
				END IF;
		END;
	END IF;
	busy := busy || skipped;
END
$$;

COMMENT ON FUNCTION bloomexp.rebuild_batch IS
'one batch of a rebuild: builds the filters of the wanted users, or of the next users after '
'"after", up to "upto". Returns in "after" the last user of the batch, or NULL if it was the last '
'batch; in "counts" the counts of all batches so far; and in "busy" the users to try again, '
'because others have locked their rows or a constraint has refused one. Raises lock_not_available '
'if a lock has kept the batch from doing anything';

-- A batch of a rebuild on Citus.  The exposures and the filter of a user are on one node, and Citus
-- sends whole statements to the nodes, so one INSERT builds all filters of the batch there.  Only
-- filters that were written are counted.  A dry run counts all.

CREATE FUNCTION bloomexp.rebuild_batch_citus(
	filters regclass, exposures regclass,
	user_column name,	-- of the exposures
	exposed_query text,	-- query that returns the users and items of all exposures since $1
	width interval, fpr double precision,
	wanted anyarray, INOUT after anyelement, upto anyelement, size integer,
	dry_run boolean, allow_removed boolean, INOUT counts bloomexp.rebuild_counts,
	has_triggers boolean,	-- always false
	overlap interval,
	OUT busy anyarray)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET row_security = off	-- an error if row security would hide rows
SET timezone = 'UTC'	-- right even if the time column changes its type
SET jit = off	-- compiling its statements takes longer than a batch does
AS $$
DECLARE
	window_start constant timestamp with time zone := now() - width;
	batch_from after%TYPE := after;
	batch_to after%TYPE;
	before constant bloomexp.rebuild_counts := counts;
	op record;	-- how users are compared
	of_exposures text;	-- condition for exposures of the batch, with $2 to $4
	of_filters text;	-- the same for filters
	n_exposures bigint;
	n_filters bigint;
	n_bytes bigint;
	filled timestamp with time zone;	-- new filters have all exposures from before this time
	prepared boolean;	-- a node has a prepared transaction
	complete boolean;	-- all nodes have answered
BEGIN
	PERFORM bloomexp.require_batch(wanted, size, dry_run, allow_removed, counts, has_triggers,
		overlap);
	-- From now on the filters are locked, so the extension cannot be dropped.
	PERFORM bloomexp.require_trusted(filters), bloomexp.require_trusted(exposures);
	PERFORM bloomexp.require_trusted(t, missing_ok => true) FROM bloomexp.tables_of(exposures) AS t;
	SELECT * INTO op FROM bloomexp.user_sql(filters);
	busy := '{}';

	-- A batch ends with the next user whose hash is divisible by 64 * size.  Counting users instead
	-- would bring all of their ids from the nodes to here.
	IF wanted IS NULL THEN
		EXECUTE format('SELECT f.user_id FROM %s AS f '
			'WHERE ($1 IS NULL OR f.user_id %s $1) AND ($2 IS NULL OR f.user_id %s $2) '
				'AND mod(hashtext(concat(f.user_id)), $3) = 0 '
			'ORDER BY f.user_id LIMIT 1', filters, op.greater, op.not_greater)
			INTO batch_to USING batch_from, upto, 64 * size;
		after := batch_to;
		batch_to := coalesce(batch_to, upto);
	END IF;
	of_exposures := bloomexp.in_batch('e.id', op.equal, op.greater, op.not_greater,
		wanted, batch_from, batch_to);
	of_filters := bloomexp.in_batch('f.user_id', op.equal, op.greater, op.not_greater,
		wanted, batch_from, batch_to);

	-- Count what the batch will do.
	EXECUTE format('SELECT count(*) FROM (%s) AS e(id, item) WHERE %s', exposed_query,
		of_exposures)
		INTO n_exposures USING window_start, wanted, batch_from, batch_to;
	EXECUTE format('SELECT count(f.items) FILTER (WHERE b.id IS NULL), count(f.items), '
		'count(f.items) FILTER (WHERE b.id IS NULL), '
		'count(*) FILTER (WHERE '
			'bloomexp.items_to_keep(f.items, f.filled_until, $5) > 2 * coalesce(b.n, 0)) '
		'FROM %1$s AS f LEFT JOIN ('
			'SELECT e.id, count(DISTINCT e.item) AS n FROM (%2$s) AS e(id, item) '
			'WHERE %3$s GROUP BY e.id) AS b ON b.id %5$s f.user_id '
		'WHERE %4$s',
		filters, exposed_query, of_exposures, of_filters, op.equal)
		INTO counts.removed, counts.examined, counts.lost, counts.halved
		USING window_start, wanted, batch_from, batch_to, width;
	counts.exposures := before.exposures + n_exposures;
	counts.bytes := NULL;	-- they are not known here
	counts.removed := before.removed + counts.removed;
	counts.examined := before.examined + counts.examined;
	counts.lost := before.lost + counts.lost;
	counts.halved := before.halved + counts.halved;
	IF dry_run THEN
		EXECUTE format('SELECT count(*), coalesce(sum(octet_length(b.items::bytea) + 4), 0) '
			'FROM (SELECT e.id, bloomexp.agg(e.item, $5) AS items FROM (%s) AS e(id, item) '
			'WHERE %s GROUP BY e.id) AS b', exposed_query, of_exposures)
			INTO n_filters, n_bytes USING window_start, wanted, batch_from, batch_to, fpr;
		counts.filters := before.filters + n_filters;
		counts.bytes := before.bytes + n_bytes;
		RETURN;
	ELSIF NOT allow_removed THEN
		PERFORM bloomexp.require_few_losses(filters, exposures, exposed_query, width,
			batch_from::text, after IS NULL, n_exposures, before, counts);
	END IF;

	-- The statement after this one will see all exposures from before the time "filled".  Nobody
	-- knows when a prepared transaction began: while there is one, filled_until stays.
	SELECT LEAST(now(), to_timestamp(min(
			CASE WHEN n.success THEN split_part(n.result, ' ', 1)::double precision END))),
		bool_or(n.success AND split_part(n.result, ' ', 2) = 'prepared'), bool_and(n.success)
	INTO STRICT filled, prepared, complete
	-- in this order, because then one of the two finds a transaction that is prepared in between
	FROM run_command_on_all_nodes('SELECT pg_catalog.concat_ws('' '', '
		'EXTRACT(EPOCH FROM bloomexp.oldest_transaction()), '
		'(SELECT ''prepared'' FROM pg_catalog.pg_prepared_xacts AS p '
		'WHERE p.database OPERATOR(pg_catalog.=) pg_catalog.current_database() LIMIT 1))') AS n;
	IF complete IS NOT TRUE THEN
		RAISE EXCEPTION 'could not read the oldest transaction of each node'
			USING ERRCODE = 'connection_failure',
			HINT = 'Batches before this one are done. '
				'Call the rebuild again when all nodes can be reached.';
	END IF;
	-- an overlap that equals '0' can still move a time forward: '-12 months 360 days'
	filled := LEAST(filled, filled - overlap);

	-- A filter that is unchanged is rewritten only if its filled_until is wrong, because the clock
	-- was ahead or "overlap" was shorter, or more than a day old, which keeps it exact to a day.
	EXECUTE format('INSERT INTO %1$s AS f (user_id, items, filled_until) '
		'SELECT e.id, bloomexp.agg(e.item, $5), CASE WHEN NOT $6 THEN $7 END '
		'FROM (%2$s) AS e(id, item) WHERE %3$s AND %4$s GROUP BY e.id '
		'ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET items = excluded.items, '
			'filled_until = CASE WHEN NOT $6 THEN excluded.filled_until '
				'WHEN f.filled_until <= $9 THEN f.filled_until END, '
			'pending = 0, recent = ARRAY[]::bigint[] '
		'WHERE bloomexp.eq(f.items, excluded.items) IS NOT TRUE '
			'OR f.filled_until > $9 OR NOT $6 AND (f.filled_until > $8) IS NOT TRUE',
		filters, exposed_query, of_exposures,
		coalesce(format(op.short_id, 'e.id'), 'true'))	-- longer ids do not fit into a row
		USING window_start, wanted, batch_from, batch_to, fpr, prepared, filled,
			filled - interval '1 day', LEAST(now(), now() - overlap);
	GET DIAGNOSTICS n_filters = ROW_COUNT;
	counts.filters := before.filters + n_filters;
	IF counts.removed > before.removed THEN
		EXECUTE format('DELETE FROM %1$s AS f WHERE %3$s AND NOT EXISTS ('
			'SELECT FROM (%2$s) AS e(id, item) WHERE e.id %4$s f.user_id)',
			filters, exposed_query, of_filters, op.equal)
			USING window_start, wanted, batch_from, batch_to;
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.rebuild_batch_citus IS
'does what bloomexp.rebuild_batch() does, for tables that Citus distributes by user. No user is '
'ever busy, and only a dry run counts bytes';

-- Procedures and functions that scripts of feeds call when they are applied.  They run with the
-- rights of the role that applies the script.  untracked() is also called by the view health and by
-- feeds().  require_first_use() is called by lock() only.

CREATE PROCEDURE bloomexp.write_settings(feed text, settings text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
BEGIN
	EXECUTE format('CREATE OR REPLACE FUNCTION %I.settings() RETURNS jsonb '
		'LANGUAGE sql IMMUTABLE AS %L', feed,
		format(E'\nSELECT ''%s''::pg_catalog.jsonb\n', replace(settings, '''', '\u0027')));
END
$$;

COMMENT ON PROCEDURE bloomexp.write_settings(text, text) IS
'creates or replaces the function settings() of a feed';

CREATE FUNCTION bloomexp.column_number(relation regclass, name text) RETURNS smallint
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT a.attnum FROM pg_attribute AS a
	WHERE a.attrelid = relation AND a.attname = column_number.name AND NOT a.attisdropped
$$;

COMMENT ON FUNCTION bloomexp.column_number(regclass, text) IS
'the number of a column of a table, which stays the same when the column is renamed; NULL if there '
'is no such column';

CREATE FUNCTION bloomexp.require_same_columns(feed text, settings jsonb, exposures regclass,
	user_column text, item_column text, item_type regtype)
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	former text;
	has_rows boolean;
BEGIN
	former := (
		SELECT string_agg(c.former, ' and ')
		FROM (VALUES
			('user_column', user_column), ('item_column', item_column)) AS n(argument, name)
		CROSS JOIN LATERAL (
			SELECT settings #>> ARRAY['arguments', n.argument],
				(settings #>> ARRAY['columns', n.argument])::smallint) AS c(former, number)
		WHERE c.former <> n.name
			-- Columns of another table, such as a restored one, have other numbers.  There a column
			-- can only be a renamed one if the old name is gone.
			AND CASE settings ->> 'exposures' WHEN exposures::oid::text
				THEN c.number IS DISTINCT FROM bloomexp.column_number(exposures, n.name)
				ELSE bloomexp.column_number(exposures, c.former) IS NOT NULL END);
	IF former IS NULL AND settings ->> 'item_kind' <> bloomexp.item_kind(item_type) THEN
		former := concat(settings #>> '{arguments,item_column}', ', ', settings ->> 'item_kind');
	END IF;
	IF former IS NULL OR to_regclass(quote_ident(feed) || '.filters') IS NULL THEN
		RETURN;
	END IF;
	EXECUTE format('SELECT EXISTS (SELECT FROM %I.filters)', feed) INTO has_rows;
	IF has_rows THEN
		RAISE EXCEPTION 'filters of feed "%" were built from other columns', feed
			USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = format('They were built from %s.', former),
			HINT = format('TRUNCATE %I.filters, apply the script, and CALL %1$I.rebuild(); '
				'until then pages can have items that were shown.', feed);
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.require_same_columns(text, jsonb, regclass, text, text, regtype) IS
'raises an error if the filters of a feed were built from other columns than its script names, or '
'from items of another kind; a column that was renamed is still the same column';

CREATE PROCEDURE bloomexp.change_user_type(feed text, user_type text, user_collation text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	filters constant text := format('%I.filters', feed);
	has_rows boolean;
BEGIN
	-- Lock the table first: USING NULL must not meet a row that is inserted after the check.
	EXECUTE format('LOCK TABLE %s', filters);
	EXECUTE format('SELECT EXISTS (SELECT FROM %s)', filters) INTO has_rows;
	-- ALTER TYPE would apply the check of the length, which is for the old type, to the new one.
	IF EXISTS (
		SELECT FROM pg_constraint AS k
		WHERE k.conrelid = to_regclass(filters) AND k.conname = 'filters_user_id_check') THEN
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT filters_user_id_check', filters);
	END IF;
	BEGIN
		EXECUTE concat('ALTER TABLE ', filters, ' ALTER user_id TYPE ', user_type,
			' COLLATE ' || user_collation,
			-- an empty table needs no cast between the types
			' USING ', CASE WHEN has_rows THEN 'user_id' ELSE 'NULL' END, '::', user_type,
			', ADD CONSTRAINT filters_user_id_check CHECK ('
				|| format(bloomexp.short_id(to_regtype(user_type)), 'user_id') || ')');
	EXCEPTION WHEN cannot_coerce OR data_exception OR unique_violation THEN
		RAISE EXCEPTION 'users of feed "%" cannot be converted to type %', feed, user_type
			USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = SQLERRM,
			HINT = format('TRUNCATE %s, apply the script, and CALL %I.rebuild(); '
				'until then pages can have items that were shown.', filters, feed);
	END;
END
$$;

COMMENT ON PROCEDURE bloomexp.change_user_type(text, text, text) IS
'changes the type or the collation of user_id in the table of filters of a feed; raises an error '
'if the present users cannot be cast to the type, or are not distinct there';

CREATE PROCEDURE bloomexp.feed_begin(
	feed text,
	fixed_arguments text,
	exposures text,	-- NULL for a feed without a table, which has no columns either
	user_column text,
	user_type text,
	user_collation text,	-- NULL: the type has none
	item_column text,
	item_type text,
	bloom text)	-- name of the type of filters in the script
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET jit = off	-- compiling these statements takes longer than they do
AS $$
DECLARE
	me constant oid := (SELECT r.oid FROM pg_roles AS r WHERE r.rolname = current_user);
	schema oid;
	settings jsonb;
	former text;	-- the fixed arguments with which the feed was made
	untrusted text;
	old record;
	missing jsonb;
BEGIN
	-- Keep the extension from being dropped, and check that it still exists.  Without it the owner
	-- of the database could make a schema bloomexp with other functions.
	LOCK TABLE bloomexp.new_rows IN ACCESS SHARE MODE;
	IF NOT EXISTS (
		SELECT FROM pg_depend AS d JOIN pg_extension AS x ON x.oid = d.refobjid
		WHERE d.classid = 'pg_class'::regclass AND d.objid = 'bloomexp.new_rows'::regclass
			AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
			AND x.extname = 'bloomexp') THEN
		RAISE EXCEPTION 'extension "bloomexp" was dropped'
			USING ERRCODE = 'object_not_in_prerequisite_state';
	END IF;
	-- Only one session at a time makes a feed of this name.
	PERFORM pg_advisory_xact_lock(hashtext('bloomexp'), hashtext(feed));
	schema := (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = feed);
	IF exposures IS NOT NULL AND to_regclass(exposures) IS NULL THEN
		RAISE EXCEPTION 'table % does not exist', exposures USING ERRCODE = 'undefined_table',
			HINT = 'If it has another name now, apply what bloomexp.feed_sql() returns for it.';
	END IF;

	IF bloomexp.lost_filters(feed) IS NOT NULL THEN
		RAISE EXCEPTION 'feed "%" has lost its filters', feed
			USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = bloomexp.lost_filters(feed);
	END IF;

	untrusted := (
		SELECT string_agg(u, E'\n') FROM bloomexp.untrusted(me, feed, to_regclass(exposures),
			ARRAY(
				SELECT t.oid
				FROM unnest(ARRAY[to_regtype(user_type), to_regtype(item_type)]::oid[]) AS t(oid)
				UNION SELECT a.atttypid	-- the type that user_id has now: its casts run below
				FROM pg_class AS c
				JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'user_id'
				WHERE c.relnamespace = schema AND c.relname = 'filters'),
			coalesce(to_regcollation(user_collation), 0)) AS u);
	IF untrusted IS NOT NULL THEN
		RAISE EXCEPTION 'feed "%" uses objects that other roles can replace', feed
			USING ERRCODE = 'insufficient_privilege', DETAIL = untrusted;
	END IF;

	-- The type's schema can be renamed, and another type of that name created.  The result type of
	-- union() is always ours, so compare with that.
	IF to_regtype(bloom) IS DISTINCT FROM (SELECT p.prorettype FROM pg_proc AS p
		WHERE p.oid = 'bloomexp.union'::regproc) THEN
		RAISE EXCEPTION 'type % is not that of the extension bloomexp', bloom
			USING ERRCODE = 'wrong_object_type',
				HINT = 'Apply what bloomexp.feed_sql() returns now.';
	END IF;

	settings := bloomexp.feed_settings(schema);
	former := bloomexp.fixed_arguments(bloomexp.present_arguments(schema, settings));
	IF former <> fixed_arguments THEN
		RAISE EXCEPTION 'feed "%" was made with other fixed arguments', feed
			USING ERRCODE = 'wrong_object_type',
			DETAIL = format('It was made for %s, not for %s.',
				former, fixed_arguments),
			HINT = 'Make another feed, and drop this one once requests use the new one.';
	END IF;

	IF exposures IS NOT NULL THEN
		PERFORM bloomexp.require_same_columns(feed, settings, to_regclass(exposures),
			user_column, item_column, to_regtype(item_type));
	END IF;

	-- Whatever the default privileges are, nobody else may use the schema yet.
	IF schema IS NULL THEN
		EXECUTE format('CREATE SCHEMA %I', feed);
		EXECUTE format('REVOKE ALL ON SCHEMA %I FROM %s', feed, concat_ws(', ', 'PUBLIC', (
			SELECT string_agg(quote_ident(pg_get_userbyid(a.grantee)), ', ')
			FROM pg_namespace AS n, aclexplode(n.nspacl) AS a
			WHERE n.nspname = feed AND a.grantee NOT IN (0, n.nspowner))));
	END IF;

	-- The types of columns may have changed: drop the functions for the old types.
	IF settings IS NOT NULL THEN
		FOR old IN
			SELECT p.oid::regprocedure AS name
			FROM pg_proc AS p
			WHERE p.pronamespace = schema AND settings -> 'functions' ? p.proname
				AND EXISTS (
					SELECT FROM unnest(p.proargtypes::oid[], p.proargnames) AS a(type, name)
					WHERE a.type <> CASE a.name
						WHEN 'user_id' THEN to_regtype(user_type)
						WHEN 'from_user' THEN to_regtype(user_type)
						WHEN 'users' THEN to_regtype(user_type || '[]')
						WHEN 'item' THEN to_regtype(item_type)
						WHEN 'items' THEN to_regtype(item_type || '[]')
						WHEN 'candidates' THEN to_regtype(item_type || '[]')
						ELSE a.type END)
		LOOP
			EXECUTE format('DROP ROUTINE %s', old.name);
		END LOOP;
		-- The script creates what is missing again, with default privileges.  Add its names to the
		-- settings, so that feed_finish() revokes these privileges.
		missing := (
			SELECT jsonb_agg(m.name)
			FROM (
				SELECT jsonb_array_elements_text(settings -> 'missing')	-- of a script that stopped
				UNION SELECT f.name FROM jsonb_object_keys(settings -> 'functions') AS f(name)
				WHERE NOT EXISTS (
					SELECT FROM pg_proc AS p WHERE p.pronamespace = schema AND p.proname = f.name)
				UNION SELECT t.name FROM unnest('{filters,health}'::text[]) AS t(name)
				WHERE NOT EXISTS (
					SELECT FROM pg_class AS c
					WHERE c.relnamespace = schema AND c.relname = t.name)) AS m(name));
		IF missing IS NOT NULL THEN
			CALL bloomexp.write_settings(feed,
				(settings || jsonb_build_object('missing', missing))::text);
		END IF;
		IF EXISTS (
			SELECT FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
			WHERE c.relnamespace = schema AND c.relname = 'filters' AND a.attname = 'user_id'
				AND (a.atttypid <> to_regtype(user_type)
					OR a.attcollation <> coalesce(to_regcollation(user_collation), 0))) THEN
			CALL bloomexp.change_user_type(feed, user_type, user_collation);
		END IF;
	END IF;
END
$$;

COMMENT ON PROCEDURE bloomexp.feed_begin IS
'the first statement of a script. Raises an error unless everything that the script names belongs '
'to roles with the rights of the caller, and an existing feed of this name has the same fixed '
'arguments. Makes the schema. If the types of columns have changed, drops the functions for the '
'old types, and changes the type of user_id';

CREATE PROCEDURE bloomexp.keep_in_row(relation regclass, "column" name)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF EXISTS (
		SELECT FROM pg_attribute AS a WHERE a.attrelid = relation AND a.attname = "column"
			AND a.attstorage <> 'p') THEN
		EXECUTE format('ALTER TABLE %s ALTER %I SET STORAGE PLAIN', relation, "column");
	END IF;
END
$$;

COMMENT ON PROCEDURE bloomexp.keep_in_row(regclass, name) IS
'sets the storage of a column to PLAIN, which CREATE TABLE cannot do before PostgreSQL 16; does '
'not lock the table if the storage is PLAIN already';

CREATE FUNCTION bloomexp.relation_oid(name text) RETURNS oid
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT c.oid FROM parse_ident(name) AS i(name)
	JOIN pg_namespace AS n ON n.nspname = i.name[1]
	JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = i.name[2]
$$;

COMMENT ON FUNCTION bloomexp.relation_oid(text) IS
'the relation with a qualified name, or NULL. Unlike to_regclass(), it does not need USAGE on the '
'schema, which readers of the view health of a feed may lack';

CREATE FUNCTION bloomexp.untracked(feed text, exposures text, OUT relation regclass, OUT event text)
RETURNS SETOF record
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT c.oid::regclass, v.event
	FROM bloomexp.tables_of(bloomexp.relation_oid(exposures)) AS t
	JOIN pg_class AS c ON c.oid = t AND c.relkind IN ('r', 'p')
	CROSS JOIN (VALUES ('INSERT', 4), ('UPDATE', 16)) AS v(event, type)
	WHERE EXISTS (SELECT FROM pg_subscription_rel AS s WHERE s.srrelid = c.oid)
		OR NOT EXISTS (	-- whatever its name: the schema may have been renamed
			SELECT FROM pg_trigger AS g
			JOIN pg_proc AS p ON p.oid = g.tgfoid AND p.proname = 'track'
			JOIN pg_namespace AS n ON n.oid = p.pronamespace AND n.nspname = feed
			WHERE g.tgrelid = c.oid AND g.tgtype = v.type AND g.tgenabled IN ('O', 'A')
				AND g.tgnewtable = 'new_rows' AND g.tgqual IS NULL)
	UNION ALL SELECT NULL, v.event FROM (VALUES ('INSERT'), ('UPDATE')) AS v(event)
	WHERE bloomexp.relation_oid(exposures) IS NULL
	ORDER BY 1, 2
$$;

COMMENT ON FUNCTION bloomexp.untracked(text, text) IS
'the tables of the exposures whose INSERT or UPDATE the feed does not see: those without an '
'enabled trigger of the feed for the event, and those that a subscription fills, which fires no '
'trigger. The table is NULL if the exposures do not exist';

CREATE FUNCTION bloomexp.lacks_trigger(feed text, relation regclass, event text) RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	trigger_name constant name := lower(event) || '_' || feed;
	our_function constant oid := (
		SELECT p.oid FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
		WHERE n.nspname = feed AND p.proname = 'track' AND p.pronargs = 0);
BEGIN
	IF has_table_privilege(relation, 'SELECT') IS NULL THEN
		RETURN false;	-- it was dropped after it was listed, maybe after the snapshot
	ELSIF EXISTS (SELECT FROM pg_trigger AS g WHERE g.tgrelid = relation AND g.tgname = trigger_name
		AND g.tgfoid <> our_function) THEN
		RAISE EXCEPTION 'trigger "%" of table % does not belong to the feed',
			trigger_name, relation
			USING ERRCODE = 'duplicate_object',
			HINT = 'Rename it, or choose another name for the feed.';
	END IF;
	RETURN EXISTS (
		SELECT FROM bloomexp.untracked(feed, relation::text) AS u
		WHERE u.relation = lacks_trigger.relation AND u.event = lacks_trigger.event
			AND NOT EXISTS (SELECT FROM pg_subscription_rel AS s WHERE s.srrelid = u.relation));
END
$$;

COMMENT ON FUNCTION bloomexp.lacks_trigger(text, regclass, text) IS
'whether a table lacks an enabled trigger of a feed for INSERT or UPDATE, and needs one: false if '
'a subscription fills the table. Raises an error if the name of that trigger is taken';

CREATE PROCEDURE bloomexp.attach_triggers(feed text, exposures regclass)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	missing record;
BEGIN
	PERFORM bloomexp.require_trusted(exposures);	-- locks it: no partition can be dropped now
	FOR missing IN
		SELECT t.relation, e.event
		FROM bloomexp.tables_of(exposures) AS t(relation)
		CROSS JOIN unnest('{INSERT,UPDATE}'::text[]) AS e(event)
		WHERE bloomexp.lacks_trigger(feed, t.relation, e.event)
		ORDER BY t.relation::text, e.event
	LOOP
		EXECUTE format('CREATE OR REPLACE TRIGGER %I AFTER %s ON %s '
			'REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION %I.track()',
			lower(missing.event) || '_' || feed, missing.event, missing.relation, feed);
	END LOOP;
END
$$;

COMMENT ON PROCEDURE bloomexp.attach_triggers(text, regclass) IS
'creates the triggers of a feed on a table and its partitions, as far as they lack them; locks '
'only tables that lack one';

CREATE PROCEDURE bloomexp.feed_distribute(feed text, exposures text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	filters constant text := quote_ident(feed) || '.filters';
	called record;
	distributed boolean;
BEGIN
	-- The functions and catalogs of Citus are in pg_catalog.
	EXECUTE 'SELECT EXISTS (SELECT FROM pg_dist_partition AS p WHERE p.logicalrelid = $1::regclass)'
	INTO distributed USING filters;
	IF NOT distributed THEN
		EXECUTE 'SELECT create_distributed_table($1::regclass, ''user_id'', colocate_with => $2)'
			USING filters, exposures;
	END IF;
	FOR called IN
		SELECT p.oid::regprocedure::text AS name
		FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
		WHERE n.nspname = feed AND p.proname IN ('current', 'unseen', 'take', 'shown')
	LOOP
		EXECUTE 'SELECT create_distributed_function('
			'$1::regprocedure, ''user_id'', colocate_with => $2)'
		USING called.name, filters;
	END LOOP;
END
$$;

COMMENT ON PROCEDURE bloomexp.feed_distribute(text, text) IS
'distributes the filters of a feed on Citus by user, in the same way as the exposures, and makes '
'current(), unseen(), take() and shown() run on the node of the user';

CREATE FUNCTION bloomexp.routines_of(schema oid, functions jsonb) RETURNS SETOF oid
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT p.oid FROM pg_proc AS p
	WHERE p.pronamespace = schema AND functions ? p.proname
		AND (p.prosecdef OR p.prokind = 'p')	-- not a routine that the owner has added
		AND pg_has_role(p.proowner, 'USAGE')
$$;

COMMENT ON FUNCTION bloomexp.routines_of(oid, jsonb) IS
'the routines of a feed that its settings name and the current user may change';

CREATE FUNCTION bloomexp.require_first_use(exposures regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- A transaction that has used a foreign server holds a lock on one of its tables.  But a lock
	-- for an INSERT into the exposures is no sign of use: the INSERT may just be calling take().
	IF EXISTS (
		SELECT FROM bloomexp.tables_of(exposures) AS t
		JOIN pg_foreign_table AS e ON e.ftrelid = t
		JOIN pg_foreign_table AS used ON used.ftserver = e.ftserver
		JOIN pg_locks AS l ON l.relation = used.ftrelid AND l.locktype = 'relation'
		WHERE l.pid = pg_backend_pid()
			AND NOT (l.mode = 'RowExclusiveLock' AND used.ftrelid = e.ftrelid)
			AND l.database = (SELECT d.oid FROM pg_database AS d
				WHERE d.datname = current_database())) THEN
		RAISE EXCEPTION 'lock() and take() must come before other reads of %', exposures
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'It is a foreign table, or has one, whose server keeps the snapshot of '
					'the first use until the transaction ends. That does not show what others '
					'have taken since.',
				HINT = 'In a transaction call only one of them, once, before other statements.';
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.require_first_use(regclass) IS
'raises an error if the exposures are, or contain, a foreign table whose server this transaction '
'has used already: the snapshot there is older than a lock that is taken now';

CREATE FUNCTION bloomexp.require_own_type(schema oid) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	problem text := (SELECT p FROM bloomexp.other_types(schema) AS p LIMIT 1);
BEGIN
	IF problem IS NOT NULL THEN
		RAISE EXCEPTION '%', problem USING ERRCODE = 'wrong_object_type',
			HINT = 'Apply what bloomexp.feed_sql() returns now.';
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.require_own_type(oid) IS
'raises an error if the filters or functions of a feed have another type bloom than that of the '
'extension';

CREATE PROCEDURE bloomexp.feed_finish(feed text, settings text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
	schema constant oid := (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = feed);
	former constant jsonb := coalesce(bloomexp.feed_settings(schema), '{"functions": {}}');
	existing constant jsonb := former -> 'functions';
	missing constant jsonb := coalesce(former -> 'missing', '[]');	-- when feed_begin() ran
	arguments constant jsonb := settings::jsonb -> 'arguments';
	all_settings jsonb;
	made record;
BEGIN
	all_settings := settings::jsonb || jsonb_build_object(
		'exposures', to_regclass(arguments ->> 'exposures')::oid::text,
		'columns', (
			SELECT jsonb_object_agg(c.name, bloomexp.column_number(
				to_regclass(arguments ->> 'exposures'), arguments ->> c.name))
			FROM (VALUES ('user_column'), ('item_column')) AS c(name)),
		'item_kind', (
			SELECT bloomexp.item_kind(c.base) FROM bloomexp.feed_columns(arguments) AS c
			WHERE c.argument = 'item_column'));
	CALL bloomexp.write_settings(feed, all_settings::text);
	-- feed_begin() has checked the type by its name, which another type can have got since.
	PERFORM bloomexp.require_own_type(schema);
	-- Without the extension a role that may create schemas could create a schema bloomexp, and the
	-- routines would call its functions.  So make DROP EXTENSION drop the routines.  Citus refuses
	-- this dependency for functions that it distributes.
	FOR made IN
		SELECT r.oid::regprocedure AS name
		FROM bloomexp.routines_of(schema, all_settings -> 'functions') AS r(oid)
		WHERE NOT EXISTS (
				SELECT FROM pg_depend AS d
				WHERE d.classid = 'pg_proc'::regclass AND d.objid = r.oid AND d.deptype = 'x')
			AND NOT EXISTS (SELECT FROM pg_extension AS x WHERE x.extname = 'citus')
	LOOP
		EXECUTE format('ALTER ROUTINE %s DEPENDS ON EXTENSION bloomexp', made.name);
	END LOOP;
	-- PUBLIC may execute functions that were just created, or restored without privileges.
	FOR made IN
		SELECT o.name, string_agg(DISTINCT CASE a.grantee
			WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END, ', ') AS grantees
		FROM (
			SELECT 'ROUTINE ' || p.oid::regprocedure,
				existing ? p.proname AND NOT missing ? p.proname,
				p.proowner, coalesce(p.proacl, acldefault('f', p.proowner))
			FROM pg_proc AS p
			WHERE p.oid IN (
					SELECT bloomexp.routines_of(schema, all_settings -> 'functions'))
				OR p.pronamespace = schema AND p.proname = 'settings' AND p.pronargs = 0
			UNION ALL SELECT 'TABLE ' || c.oid::regclass,
				existing <> '{}' AND NOT missing ? c.relname, c.relowner, c.relacl
			FROM pg_class AS c
			WHERE c.relnamespace = schema AND c.relkind IN ('r', 'v')
				AND c.relname IN ('filters', 'health')) AS o(name, existed, owner, acl),
			aclexplode(o.acl) AS a
		WHERE a.grantee <> o.owner AND (NOT o.existed OR a.grantee = 0 AND o.name LIKE 'ROUTINE %')
		GROUP BY o.name
	LOOP
		EXECUTE format('REVOKE ALL ON %s FROM %s', made.name, made.grantees);
	END LOOP;
END
$$;

COMMENT ON PROCEDURE bloomexp.feed_finish(text, text) IS
'the last statement of a script: revokes all grants on objects that the script has created, and '
'grants to PUBLIC on routines that existed before; lets DROP EXTENSION drop the routines; checks '
'the type of the filters; and writes settings()';

-- Warnings of arguments that may not mean what their author thinks, and of tables that make a feed
-- slow or its times wrong.

CREATE FUNCTION bloomexp.argument_warnings(arguments jsonb) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	feed constant text := arguments ->> 'feed';
	width constant interval := arguments ->> 'width';
	relation regclass;
BEGIN
	IF width < interval '1 minute' THEN
		RAISE WARNING 'feed "%" forgets after %', feed, width
			USING DETAIL = 'A number without a unit is in seconds.',
			HINT = 'For days: width => ''30 days''.';
	END IF;
	IF quote_ident(feed) <> feed THEN
		RAISE WARNING 'the name of feed "%" must be quoted in each call', feed
			USING DETAIL = 'A feed is a schema, and its name is taken as it is written here.',
			HINT = format('Calls are written %I.take(...). A name of lower case letters, digits '
				'and underscores needs no quotes.', feed);
	END IF;
	IF arguments ->> 'exposures' IS NULL THEN
		relation := (
			SELECT c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
			WHERE c.relname = feed AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
				AND n.nspname !~ '^(pg_|information_schema$)'
			ORDER BY n.nspname LIMIT 1);
		IF relation IS NOT NULL THEN
			RAISE WARNING 'feed "%" does not read table %', feed, relation
				USING DETAIL = 'The first argument is the name of the feed. Without a second one '
					'the feed has no table of exposures.',
				HINT = format('For a feed over the table: bloomexp.create_feed(''shown'', %L).',
					relation);
		END IF;
		IF arguments ->> 'capacity' IS NOT NULL AND width IS NOT NULL THEN
			RAISE NOTICE 'capacity has no effect on a feed with a window'
				USING DETAIL = 'Each slice of the window is sized by those before it.';
		END IF;
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.argument_warnings(jsonb) IS
'warns of arguments that may not mean what their author thinks';

CREATE FUNCTION bloomexp.feed_warnings(arguments jsonb) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
	name constant text := arguments ->> 'exposures';
	table_id constant regclass := to_regclass(name);
	relkind constant "char" := (SELECT c.relkind FROM pg_class AS c WHERE c.oid = table_id);
	users record;
	items record;
	times record;
BEGIN
	SELECT c.attnum INTO users FROM bloomexp.feed_columns(arguments) AS c
		WHERE c.argument = 'user_column';
	SELECT c.attnum, c.arrays INTO items FROM bloomexp.feed_columns(arguments) AS c
		WHERE c.argument = 'item_column';
	SELECT c.attnum, c.base = 'timestamp'::regtype AS utc INTO times
	FROM bloomexp.feed_columns(arguments) AS c WHERE c.argument = 'time_column';

	IF relkind IN ('r', 'p', 'm') AND NOT EXISTS (
		SELECT FROM pg_index AS x JOIN pg_class AS c ON c.oid = x.indexrelid
			JOIN pg_am AS m ON m.oid = c.relam
		WHERE m.amname = 'btree' AND x.indrelid = table_id AND x.indisvalid AND x.indpred IS NULL
			AND x.indkey[0] = users.attnum) THEN
		RAISE WARNING 'no index on % begins with column "%"', name, arguments ->> 'user_column'
			USING DETAIL = format('A rebuild%s would read the whole table for each user.',
				CASE arguments ->> 'trigger' WHEN 'false' THEN ' and each request' ELSE '' END),
			HINT = format('CREATE INDEX%s ON %s (%I, %I%s);',
				CASE relkind WHEN 'p' THEN '' ELSE ' CONCURRENTLY' END,
				name, arguments ->> 'user_column', arguments ->> 'time_column',
				CASE WHEN items.arrays = 1 THEN ''
					ELSE format(', %I', arguments ->> 'item_column') END);
	END IF;
	-- Judge a default by its text: evaluating it could run any code.
	IF times.utc AND EXISTS (
		SELECT FROM pg_attrdef AS d
		WHERE d.adrelid = table_id AND d.adnum = times.attnum AND pg_get_expr(d.adbin, d.adrelid)
			!~* '(AT TIME ZONE |timezone\()''(utc|gmt)''') THEN
		RAISE WARNING 'default of column "%" may be in the time zone of the session',
			arguments ->> 'time_column'
			USING DETAIL = 'The feed reads the column as UTC, and this default is not written as a '
				'time AT TIME ZONE ''UTC''.',
			HINT = format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT now() AT TIME ZONE ''UTC'';',
				name, arguments ->> 'time_column');
	END IF;
	IF arguments ->> 'trigger' = 'false' AND EXISTS (
		SELECT FROM bloomexp.tables_of(table_id) AS t JOIN pg_class AS c ON c.oid = t
		WHERE c.relkind IN ('m', 'f') OR EXISTS (
			SELECT FROM pg_subscription_rel AS r WHERE r.srrelid = c.oid)) THEN
		RAISE WARNING 'exposures can arrive late in %', name
			USING DETAIL = 'A materialized view, a foreign table or a subscription delivers '
				'exposures late, and a rebuild can overlook them.',
			HINT = format('CALL %I.rebuild(overlap => ...) with more than the longest delay.',
				arguments ->> 'feed');
	END IF;
	IF relkind <> 'm' AND items.arrays = 0 AND EXISTS (
		SELECT FROM pg_index AS x
		WHERE x.indrelid = table_id AND x.indisunique AND x.indisvalid AND x.indpred IS NULL
			AND x.indnkeyatts = 2
			AND (x.indkey[0] = users.attnum AND x.indkey[1] = items.attnum
				OR x.indkey[0] = items.attnum AND x.indkey[1] = users.attnum)) THEN
		RAISE NOTICE
			'% has a unique key of user and item: showing an item again must update its time', name
			USING DETAIL = 'ON CONFLICT DO NOTHING, and calls of frameworks that use it, leave the '
				'old time, and the item is shown again and again.',
			HINT = format('INSERT INTO %s (%I, %I, %I) SELECT $1, item, %s '
				'FROM unnest(%I.%s) AS item '
				'ON CONFLICT (%2$I, %3$I) DO UPDATE SET %4$I = excluded.%4$I RETURNING %3$I;',
				name, arguments ->> 'user_column', arguments ->> 'item_column',
				arguments ->> 'time_column',
				CASE WHEN times.utc THEN 'now() AT TIME ZONE ''UTC''' ELSE 'now()' END,
				arguments ->> 'feed',
				-- with "where" a new row may not count yet, so it cannot be taken yet
				CASE WHEN arguments ->> 'where' IS NULL THEN 'take($1, $2, 10)'
					ELSE 'unseen($1, $2)' END);
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.feed_warnings(jsonb) IS
'warns of columns and indexes that make a feed over a table slow, or its times wrong';

-- The SQL that replaces the {names} in the templates of a script, with each identifier and literal
-- quoted.

CREATE FUNCTION bloomexp.feed_names(arguments jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
SET quote_all_identifiers = off
AS $$
DECLARE
	extension record;
	feed constant text := quote_ident(arguments ->> 'feed');
	exposures constant text := arguments ->> 'exposures';
	width constant interval := arguments ->> 'width';
	fpr constant double precision := arguments ->> 'fpr';
	slices constant integer := coalesce((arguments ->> 'slices')::integer, 6);
	users record;
	items record;
	times record;
	item_kind text;
	user_column text;
	item_column text;	-- the column, or an element of it if it is an array
	item text;
	elements text;
	is_exposure text;	-- condition that a row is an exposure, whatever its time
	time_column text;
	utc text;	-- suffix that converts a timestamptz to the type of the time column
	names jsonb;
BEGIN
	SELECT x.extversion AS version, quote_ident(n.nspname) AS schema INTO extension
	FROM pg_extension AS x JOIN pg_namespace AS n ON n.oid = x.extnamespace
	WHERE x.extname = 'bloomexp';
	SELECT * INTO users FROM bloomexp.feed_columns(arguments) AS c
	WHERE c.argument = 'user_column';
	SELECT * INTO items FROM bloomexp.feed_columns(arguments) AS c
	WHERE c.argument = 'item_column';
	SELECT * INTO times FROM bloomexp.feed_columns(arguments) AS c
	WHERE c.argument = 'time_column';

	item_kind := bloomexp.item_kind(items.base);

	-- Names for all feeds.  A domain is replaced by its base type, because its constraints are code
	-- of its owner.
	names := jsonb_build_object(
		'version', extension.version,
		'command', format('SELECT bloomexp.feed_sql(%L%s);', arguments ->> 'feed',
			bloomexp.feed_options(arguments)),
		'fixed_literal', quote_literal(bloomexp.fixed_arguments(arguments)),
		'feed', feed,
		'feed_literal', quote_literal(arguments ->> 'feed'),
		'filters_literal', quote_literal(feed || '.filters'),
		'exposures_literal', quote_nullable(exposures),
		'bloom', extension.schema || '.bloom',
		'bloom_literal', quote_literal(extension.schema || '.bloom'),
		'user_type', users.base_name,
		'user_type_literal', quote_literal(users.base_name),
		'user_collation_literal', quote_nullable(users.collation_name),
		'collate', coalesce(' COLLATE ' || users.collation_name, ''),
		-- CHECK raises an error that is clearer than that of the index, if an id is too long
		'user_column', concat(users.base_name, ' COLLATE ' || users.collation_name,
			' CONSTRAINT filters_user_id_check CHECK ('
				|| format(bloomexp.short_id(users.base), 'user_id') || ')'),
		'=', bloomexp.comparisons(users.base) ->> '3',
		'item_type', items.base_name,
		'item_type_literal', quote_literal(items.base_name),
		'user_column_literal', quote_nullable(CASE WHEN exposures IS NOT NULL
			THEN arguments ->> 'user_column' END),
		'item_column_literal', quote_nullable(CASE WHEN exposures IS NOT NULL
			THEN arguments ->> 'item_column' END),
		'item_collate',
			CASE WHEN items.collation <> 0 THEN ' COLLATE pg_catalog."C"' ELSE '' END,
		-- without triggers, functions read the exposures, which may not be parallel safe
		'parallel', CASE arguments ->> 'trigger' WHEN 'false' THEN '' ELSE ' PARALLEL SAFE' END,
		'fpr', fpr,
		'alarming_fpr', fpr * 1.2,	-- the rate of a full filter varies by chance
		-- rows of a feed over a table have no slices, because rebuilds forget for them
		'settings', CASE
			WHEN exposures IS NULL AND width IS NOT NULL
			THEN format(E'bloomexp.make_row_settings(\n\t\t\t'
				'kind => %L, fpr => %s, width => %L, slices => %s)', item_kind, fpr, width, slices)
			ELSE format('bloomexp.make_row_settings(kind => %L, fpr => %s, capacity => %s)',
				item_kind, fpr, coalesce(arguments ->> 'capacity', '100')) END,
		'expire_batch_literal', quote_literal(feed || '.expire_batch'),
		'rebuild_batch_literal', quote_literal(feed || '.rebuild_batch'),
		'insert_trigger', quote_ident(('insert_' || (arguments ->> 'feed'))::name),
		'update_trigger', quote_ident(('update_' || (arguments ->> 'feed'))::name));
	IF width IS NOT NULL THEN
		names := names || jsonb_build_object('width', quote_literal(width), 'slices', slices,
			-- days of 24 hours, even if clocks change
			'hours', quote_literal(make_interval(secs => extract(epoch FROM width))));
	END IF;
	IF exposures IS NULL THEN
		RETURN names;
	END IF;

	user_column := format('e.%I', arguments ->> 'user_column');
	item_column := format('e.%I', arguments ->> 'item_column');
	time_column := format('e.%I', arguments ->> 'time_column');
	elements := '';
	IF items.arrays = 1 THEN
		elements := format(', unnest(%s) AS i(item)', item_column);
		item_column := 'i.item';
	END IF;
	-- The cast keeps the kind of the hashes, even if the column changes its type.
	item := item_column || '::'
		|| CASE item_kind WHEN 'integer' THEN 'bigint' ELSE items.base_name END;
	is_exposure := concat(user_column, ' IS NOT NULL AND ', item_column, ' IS NOT NULL',
		' AND e.' || quote_ident(arguments ->> 'where'));
	utc := CASE WHEN times.base = 'timestamp'::regtype THEN ' AT TIME ZONE ''UTC''' ELSE '' END;
	RETURN names || jsonb_build_object(
		'exposures', exposures,
		'window_width', width,
		'user', user_column,
		'item', item,
		'elements', elements,
		'time', time_column,
		'utc', utc,
		'is_exposure', is_exposure,
		'exposed_query_literal', quote_literal(format(
			E'SELECT %s, %s\n\t\tFROM %s AS e%s\n\t\tWHERE %s\n\t\t\tAND %s >= $1%s',
			-- a domain as its base type, which is the type of the functions' arguments
			user_column || CASE WHEN users.type <> users.base
				THEN '::' || users.base_name ELSE '' END,
			item, exposures, elements, is_exposure, time_column, utc)),
		'rebuild_batch', CASE
			WHEN bloomexp.distribution_column(to_regclass(exposures)) IS NULL
			THEN 'rebuild_batch' ELSE 'rebuild_batch_citus' END);
END
$$;

COMMENT ON FUNCTION bloomexp.feed_names(jsonb) IS
'the SQL for each {name} in the templates of a feed with these arguments';

-- The script of a feed: its templates in their order, and how they are filled.
--
-- A template is one SQL statement, and reads like the SQL that it becomes.  Text between {#flag}
-- and {/flag} is for feeds with that flag only.  If a mark is alone on its line, the whole line is
-- removed.  Then each {name} is replaced by an entry of bloomexp.feed_names().

CREATE FUNCTION bloomexp.feed_flags(arguments jsonb) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT jsonb_build_object(
		'alone', NOT f.over_table,	-- without a table of exposures
		'window', NOT f.over_table AND f.forgets,
		'forever', NOT f.over_table AND NOT f.forgets,
		'no_window', f.over_table OR NOT f.forgets,
		'table', f.over_table,	-- over a table of exposures
		'tracked', f.tracked,	-- triggers of the table write the rows
		'untracked', f.over_table AND NOT f.tracked,
		'remembers', f.tracked OR NOT f.over_table,	-- a row has everything that was shown
		'citus', f.distributed)
	FROM (
		SELECT arguments ->> 'exposures' IS NOT NULL AS over_table,
			arguments ->> 'width' IS NOT NULL AS forgets,
			arguments ->> 'exposures' IS NOT NULL AND arguments ->> 'trigger' = 'true' AS tracked,
			bloomexp.distribution_column(to_regclass(arguments ->> 'exposures')) IS NOT NULL
				AS distributed) AS f
$$;

COMMENT ON FUNCTION bloomexp.feed_flags(jsonb) IS
'for each flag of the templates, whether a feed with these arguments has it';

CREATE FUNCTION bloomexp.fill_template(template text, flags jsonb, names jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	flag record;
	unknown text;
BEGIN
	template := regexp_replace(template, '^([{][#/]\w+[}])\n', '\1', 'gn');
	FOR flag IN SELECT f.key AS name, f.value::boolean AS is_set FROM jsonb_each_text(flags) AS f
	LOOP
		template := regexp_replace(template, CASE
			WHEN flag.is_set THEN format('[{][#/]%s[}]', flag.name)
			ELSE format('[{]#%s[}].*?[{]/%1$s[}]', flag.name) END, '', 'g');
	END LOOP;
	-- Every second part is a text between braces.  Replacements are not searched for names again.
	SELECT p.text INTO unknown
	FROM regexp_split_to_table(template, '[{}]') WITH ORDINALITY AS p(text, n)
	WHERE p.n % 2 = 0 AND names ->> p.text IS NULL LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'a template of feeds names "%", which is unknown', unknown
			USING ERRCODE = 'internal_error';
	END IF;
	RETURN (
		SELECT string_agg(
			CASE WHEN p.n % 2 = 1 THEN p.text ELSE names ->> p.text END, '' ORDER BY p.n)
		FROM regexp_split_to_table(template, '[{}]') WITH ORDINALITY AS p(text, n));
END
$$;

COMMENT ON FUNCTION bloomexp.fill_template(text, jsonb, jsonb) IS
'a template without the parts for other feeds, and with its {names} replaced; raises an error if '
'a name has no entry';

CREATE FUNCTION bloomexp.feed_script(arguments jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
	flags constant jsonb := bloomexp.feed_flags(arguments);
	names jsonb := bloomexp.feed_names(arguments);
	quote text := '$feed$';
	functions jsonb := '{}';
	template record;
	statement text;
	function_name text;
	body text;
	script text := '';
BEGIN
	-- Find a dollar quote that does not occur in any replacement.
	WHILE EXISTS (SELECT FROM jsonb_each_text(names) AS n WHERE position(quote IN n.value) > 0) LOOP
		quote := overlay(quote PLACING '_$' FROM length(quote));
	END LOOP;
	names := names || jsonb_build_object('$', quote);

	FOR template IN
		SELECT t.text
		-- in the order of the script, each with the flag of the feeds that have it; NULL: all feeds
		FROM (SELECT row_number() OVER () AS n, v.name, v.flag FROM (VALUES
			('head', NULL), ('begin', NULL), ('filters', NULL), ('storage', NULL), ('lock', NULL),
			('shown', 'untracked'), ('current', NULL), ('unseen', NULL), ('contains', NULL),
			('take', NULL), ('take_back', NULL),
			('add', 'alone'), ('add_batch', 'alone'), ('forget', 'alone'), ('merge', 'alone'),
			('expire', 'window'), ('expire_batch', 'window'),
			('track', 'tracked'), ('triggers', 'tracked'), ('partition_triggers', 'tracked'),
			('rebuild', 'table'), ('rebuild_batch', 'table'), ('distribute', 'citus'),
			('health', NULL), ('finish', NULL)) AS v(name, flag)) AS o
		LEFT JOIN bloomexp.feed_templates() AS t USING (name)
		WHERE o.flag IS NULL OR (flags ->> o.flag)::boolean
		ORDER BY o.n
	LOOP
		-- The last template writes the settings, with hashes of the functions before it.
		names := names || jsonb_build_object('feed_settings', quote_literal(jsonb_build_object(
			'version', names ->> 'version',
			'user_type', concat(names ->> 'user_type', names ->> 'collate'),
			'arguments', arguments, 'functions', functions)::text));
		statement := btrim(bloomexp.fill_template(template.text, flags, names), E'\n');
		script := concat(script, statement, E'\n\n');
		function_name := substring(
			template.text FROM 'CREATE OR REPLACE (?:FUNCTION|PROCEDURE) {feed}\.(\w+)');
		IF function_name IS NOT NULL THEN
			body := split_part(statement, quote, 2);
			functions := functions || jsonb_build_object(function_name,
				jsonb_build_array(md5(body), bloomexp.code_hash(body), ARRAY(
					SELECT lower(regexp_replace(replace(s[1], '''', ''), '^SET (\w+) = ', '\1='))
					FROM regexp_matches(
						substring(split_part(statement, quote, 1) FROM 'LANGUAGE .*'),
						'\m(STABLE|PARALLEL SAFE|SET \w+ = (?:pg_catalog[\w, ]* pg_temp|\S+))', 'g')
						AS s
					ORDER BY 1)));
		END IF;
	END LOOP;
	RETURN script;
END
$$;

COMMENT ON FUNCTION bloomexp.feed_script(jsonb) IS
'the script of a feed with these arguments, in which bloomexp.feed_problems() must not find a '
'problem';

-- feed_sql() and create_feed(): the functions that users call to make a feed.

CREATE FUNCTION bloomexp.checked_script(arguments jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	me constant oid := (SELECT r.oid FROM pg_roles AS r WHERE r.rolname = current_user);
	problems text;
	former text;
	missing text;	-- an argument
BEGIN
	IF arguments ->> 'exposures' IS NULL THEN
		RAISE EXCEPTION 'the table of exposures must not be null'
			USING ERRCODE = 'null_value_not_allowed',
			HINT = 'For a feed without a table leave the argument out.';
	END IF;
	IF arguments ->> 'exposures' = '-' THEN
		arguments := arguments || '{"exposures": null}';
	END IF;
	missing := (
		SELECT f.name FROM bloomexp.feed_arguments() AS f
		WHERE arguments ->> f.name IS NULL AND (f.standard IS NOT NULL OR f.name = 'feed')
			AND f.name <> 'width'
		ORDER BY f.n LIMIT 1);
	IF missing IS NOT NULL THEN
		RAISE EXCEPTION 'argument "%" of a feed must not be null', missing
			USING ERRCODE = 'null_value_not_allowed';
	END IF;

	problems := (SELECT string_agg(p, E'\n') FROM bloomexp.feed_problems(arguments, me) AS p);
	IF problems IS NOT NULL THEN
		RAISE EXCEPTION 'cannot make feed "%"%', arguments ->> 'feed',
			coalesce(' over ' || (arguments ->> 'exposures'), '')
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = problems;
	END IF;

	SELECT string_agg(format('%s = %s', f.name, coalesce(s.made_with ->> f.name, 'NULL')),
		', ' ORDER BY f.n) INTO former
	FROM pg_namespace AS n,
		LATERAL (SELECT bloomexp.present_arguments(n.oid, bloomexp.feed_settings(n.oid)))
			AS s(made_with),
		bloomexp.feed_arguments() AS f
	WHERE n.nspname = arguments ->> 'feed' AND s.made_with ? f.name AND f.name <> 'feed'
		AND s.made_with ->> f.name IS DISTINCT FROM arguments ->> f.name;
	IF former IS NOT NULL THEN
		RAISE NOTICE 'feed "%" was made with other arguments: %', arguments ->> 'feed', former
			USING HINT = 'An argument that is left out has its default; '
				'bloomexp.feeds() shows the arguments of the feed.';
	END IF;
	PERFORM bloomexp.argument_warnings(arguments);
	IF arguments ->> 'exposures' IS NOT NULL THEN
		PERFORM bloomexp.feed_warnings(arguments);
	END IF;
	RETURN bloomexp.feed_script(arguments);
END
$$;

COMMENT ON FUNCTION bloomexp.checked_script(jsonb) IS
'the script of a feed with these arguments. Raises an error that lists all problems; if there are '
'none, it may raise warnings';

CREATE FUNCTION bloomexp.feed_sql(
	feed text,
	exposures regclass DEFAULT '-',
	user_column text DEFAULT 'user_id',
	item_column text DEFAULT 'item_id',
	time_column text DEFAULT 'shown_at',
	width interval DEFAULT '30 days',
	fpr double precision DEFAULT 0.01,
	slices integer DEFAULT NULL,
	trigger boolean DEFAULT true,
	"where" text DEFAULT NULL,
	user_type regtype DEFAULT NULL,
	item_type regtype DEFAULT NULL,
	capacity bigint DEFAULT NULL)
RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
SET IntervalStyle = postgres
SET extra_float_digits = 1
SET jit = off	-- compiling these statements takes longer than they do
AS $$
	SELECT bloomexp.checked_script(jsonb_build_object('feed', feed, 'exposures', exposures,
		'user_column', user_column, 'item_column', item_column, 'time_column', time_column,
		'width', width, 'fpr', fpr, 'slices', slices, 'trigger', trigger, 'where', "where",
		'user_type', user_type, 'item_type', item_type, 'capacity', capacity))
$$;

COMMENT ON FUNCTION bloomexp.feed_sql IS
'the script of a feed, which create_feed() would run: it makes a schema with a table that has one '
'row per user, and functions. Over a table of exposures, a row remembers the exposures of the last '
'"width"; without a table, the items that calls of the feed have recorded. Raises an error that '
'lists all problems';

CREATE FUNCTION bloomexp.create_feed(
	feed text,
	exposures regclass DEFAULT '-',
	user_column text DEFAULT 'user_id',
	item_column text DEFAULT 'item_id',
	time_column text DEFAULT 'shown_at',
	width interval DEFAULT '30 days',
	fpr double precision DEFAULT 0.01,
	slices integer DEFAULT NULL,
	trigger boolean DEFAULT true,
	"where" text DEFAULT NULL,
	user_type regtype DEFAULT NULL,
	item_type regtype DEFAULT NULL,
	capacity bigint DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
SET IntervalStyle = postgres
SET extra_float_digits = 1
SET jit = off	-- compiling these statements takes longer than they do
AS $$
DECLARE
	script text;
	code text;
	message text;
	detail text;
	hint text;
BEGIN
	-- Keep the extension from being dropped, and check that it still exists: without it the owner
	-- of the database could create another schema bloomexp.
	LOCK TABLE bloomexp.new_rows IN ACCESS SHARE MODE;
	IF NOT EXISTS (
		SELECT FROM pg_depend AS d JOIN pg_extension AS x ON x.oid = d.refobjid
		WHERE d.classid = 'pg_class'::regclass AND d.objid = 'bloomexp.new_rows'::regclass
			AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
			AND x.extname = 'bloomexp') THEN
		RAISE EXCEPTION 'extension "bloomexp" was dropped'
			USING ERRCODE = 'object_not_in_prerequisite_state';
	END IF;
	-- Only one session at a time makes a feed of this name: see feed_begin().
	PERFORM pg_advisory_xact_lock(hashtext('bloomexp'), hashtext(feed));
	script := bloomexp.checked_script(jsonb_build_object('feed', feed, 'exposures', exposures,
		'user_column', user_column, 'item_column', item_column, 'time_column', time_column,
		'width', width, 'fpr', fpr, 'slices', slices, 'trigger', trigger, 'where', "where",
		'user_type', user_type, 'item_type', item_type, 'capacity', capacity));
	IF EXISTS (SELECT FROM pg_namespace AS n JOIN pg_class AS c ON c.relnamespace = n.oid
		WHERE n.nspname = feed) THEN
		RAISE EXCEPTION 'feed "%" already exists', feed
			USING ERRCODE = 'duplicate_schema',
				HINT = format('To change it, apply what bloomexp.feed_sql() returns; '
					'the filters stay. To undo it: DROP SCHEMA %I CASCADE.', feed);
	END IF;
	EXECUTE script;
EXCEPTION WHEN OTHERS THEN	-- raise it without its context, which is the whole script
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
		detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	IF code = '55P03' THEN	-- lock_not_available
		message := format('could not lock %s for feed "%s"',
			coalesce(NULLIF(exposures::text, '-'), 'the filters'), feed);
		hint := 'Open transactions or a vacuum of the table hold the lock, or another session is '
			'making a feed of this name. '
			'Try again, with a lock_timeout of two seconds if autovacuum runs.';
	END IF;
	detail := coalesce(NULLIF(detail, ''), 'Nothing was made.');
	IF hint = '' THEN
		RAISE EXCEPTION USING ERRCODE = code, MESSAGE = message, DETAIL = detail;
	END IF;
	RAISE EXCEPTION USING ERRCODE = code, MESSAGE = message, DETAIL = detail, HINT = hint;
END
$$;

COMMENT ON FUNCTION bloomexp.create_feed IS
'makes a feed: runs the script that feed_sql() returns for these arguments. The schema must be '
'empty, or not exist. Raises an error that lists all problems';

-- feeds(): the feeds of a database, and what is wrong with them.

CREATE FUNCTION bloomexp.script_version() RETURNS text
LANGUAGE sql IMMUTABLE
AS $$ SELECT '1.0.0' $$;

COMMENT ON FUNCTION bloomexp.script_version() IS
'the oldest version of a script that this version of the extension accepts; feeds() reports feeds '
'with older scripts';

CREATE FUNCTION bloomexp.edited(schema oid, settings jsonb,
	OUT name text, OUT routine_exists boolean,
	OUT code_differs boolean)	-- false: only comments or white space differ
RETURNS SETOF record
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT f.name, bool_or(p.oid IS NOT NULL),
		bool_and(p.oid IS NULL OR s.source IS NULL OR NOT r.as_made
			OR bloomexp.code_hash(s.source) <> f.hashes ->> 1)
	FROM jsonb_each(settings -> 'functions') AS f(name, hashes)
	LEFT JOIN pg_proc AS p ON p.pronamespace = schema AND p.proname = f.name
	-- ignore functions that no script makes: very long ones, and many of one name
	CROSS JOIN LATERAL (SELECT CASE WHEN octet_length(p.prosrc) < 100000 AND (
			SELECT count(*) FROM pg_proc AS o
			WHERE o.pronamespace = schema AND o.proname = f.name) < 4 THEN p.prosrc END)
		AS s(source)
	CROSS JOIN LATERAL (SELECT p.prosecdef = (p.prokind = 'f') AND NOT p.proisstrict
		-- attributes as in the template; quote_all_identifiers may have put quotes into search_path
		AND ARRAY(
			SELECT lower(replace(c, '"', ''))
			FROM unnest(ARRAY[
				CASE p.provolatile WHEN 's' THEN 'stable' WHEN 'i' THEN 'immutable' END,
				CASE p.proparallel WHEN 's' THEN 'parallel safe' WHEN 'r' THEN 'parallel restricted'
				END] || p.proconfig) AS c
			WHERE c IS NOT NULL ORDER BY 1)
			= ARRAY(SELECT jsonb_array_elements_text(f.hashes -> 2))) AS r(as_made)
	GROUP BY f.name
	HAVING bool_or(md5(replace(s.source, E'\r', '')) = f.hashes ->> 0 AND r.as_made) IS NOT TRUE
	ORDER BY f.name
$$;

COMMENT ON FUNCTION bloomexp.edited(oid, jsonb) IS
'the functions of a feed that are not as its script made them. If several have one name, it is '
'enough that one of them is, because others can have created the rest';

CREATE FUNCTION bloomexp.check_filters(schema oid, owner oid, arguments jsonb)
RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	filters constant regclass := (SELECT c.oid FROM pg_class AS c
		WHERE c.relnamespace = schema AND c.relname = 'filters' AND c.relkind IN ('r', 'p'));
BEGIN
	IF filters IS NULL THEN
		RETURN NEXT format('Table filters is missing: apply what the command returns%s.',
			CASE WHEN arguments ->> 'exposures' IS NOT NULL THEN ', then rebuild' END);
		RETURN;
	END IF;
	RETURN QUERY
		SELECT format('Table %s has no column %I: if it was renamed, rename it back.', filters,
			w.name)
		FROM unnest(ARRAY['user_id', 'items', 'recent', 'pending',
			CASE WHEN arguments ->> 'exposures' IS NULL THEN 'since' ELSE 'filled_until' END])
			AS w(name)
		WHERE NOT EXISTS (SELECT FROM pg_attribute AS c
			WHERE c.attrelid = filters AND c.attname = w.name AND NOT c.attisdropped);
	RETURN QUERY
		SELECT format('Table %s has no primary key filters_pkey of user_id: ALTER TABLE %1$s '
			'ADD CONSTRAINT filters_pkey PRIMARY KEY (user_id).', filters)
		FROM pg_attribute AS c
		WHERE c.attrelid = filters AND c.attname = 'user_id' AND NOT EXISTS (
			SELECT FROM pg_constraint AS k
			WHERE k.conrelid = filters AND k.conname = 'filters_pkey' AND k.contype IN ('p', 'u')
				AND k.conkey = ARRAY[c.attnum] AND NOT k.condeferrable);
	RETURN QUERY
		SELECT format('Table %s is unlogged, so a crash empties it: ALTER TABLE %1$s SET LOGGED.',
			filters)
		FROM pg_class AS c
		WHERE c.oid = filters AND c.relpersistence = 'u'
			AND arguments ->> 'exposures' IS NOT NULL;	-- else that may be on purpose
	RETURN QUERY
		SELECT format('Row-level security on %s would hide users from the feed: '
			'ALTER TABLE %1$s DISABLE ROW LEVEL SECURITY.', filters)
		FROM pg_class AS c JOIN pg_roles AS r ON r.oid = owner
		WHERE c.oid = filters AND c.relrowsecurity AND NOT r.rolsuper AND NOT r.rolbypassrls
			AND (c.relforcerowsecurity OR NOT pg_has_role(r.oid, c.relowner, 'USAGE'));
	RETURN QUERY
		SELECT format('Trigger %I of %s can suppress what the feed writes: '
			'DROP TRIGGER %1$I ON %2$s.', g.tgname, filters)
		FROM pg_trigger AS g
		-- triggers before each row of an INSERT, DELETE or UPDATE
		WHERE g.tgrelid = filters AND NOT g.tgisinternal AND g.tgtype & 3 = 3
			AND g.tgtype & (4 | 8 | 16) > 0;
	RETURN QUERY
		SELECT format('Others may change %s, or run code with the rights of the feed when it '
			'changes: REVOKE %s ON %1$s FROM %3$s.', filters,
			string_agg(DISTINCT a.privilege_type, ', '),
			string_agg(DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC'
				ELSE quote_ident(pg_get_userbyid(a.grantee)) END, ', '))
		FROM (
			SELECT c.relacl FROM pg_class AS c WHERE c.oid = filters
			UNION ALL SELECT c.attacl FROM pg_attribute AS c WHERE c.attrelid = filters) AS p(acl)
		CROSS JOIN LATERAL aclexplode(p.acl) AS a
		WHERE a.privilege_type NOT IN ('SELECT', 'MAINTAIN')
			AND NOT bloomexp.trusted(a.grantee, owner)
		HAVING count(*) > 0;
	RETURN QUERY
		SELECT format('The collation of users has version %3$s now, and version %2$s is recorded '
			'for it, so indexes can be wrong: REINDEX TABLE %1$s%4$s, then %5$s.', filters,
			v.recorded, v.present, (
				SELECT '; REINDEX TABLE ' || c.oid::regclass FROM pg_class AS c
				WHERE c.oid = to_regclass(arguments ->> 'exposures')
					AND c.relkind IN ('r', 'p', 'm')),
			v.refresh)
		FROM pg_attribute AS f
		JOIN pg_collation AS l ON l.oid = f.attcollation
		JOIN pg_database AS d ON d.datname = current_database()
		CROSS JOIN LATERAL (
			SELECT d.datcollversion, pg_database_collation_actual_version(d.oid),
				format('ALTER DATABASE %I REFRESH COLLATION VERSION', d.datname)
			WHERE l.collprovider = 'd'
			UNION ALL SELECT l.collversion, pg_collation_actual_version(l.oid),
				format('ALTER COLLATION %s REFRESH VERSION', l.oid::regcollation)
			WHERE l.collprovider <> 'd') AS v(recorded, present, refresh)
		WHERE f.attrelid = filters AND f.attname = 'user_id' AND v.recorded <> v.present;
	RETURN QUERY
		SELECT upper(left(p, 1)) || substr(p, 2) || ': apply what the command returns.'
		FROM bloomexp.other_types(schema) AS p;
	-- Only the arguments of contains() tell for which type of items the script was made.
	IF EXISTS (
			SELECT FROM bloomexp.feed_columns(arguments) AS c
			JOIN pg_attribute AS f ON f.attrelid = filters AND f.attname = 'user_id'
			WHERE c.argument = 'user_column'
				AND (f.atttypid <> c.base OR f.attcollation <> c.collation))
		OR EXISTS (
			SELECT FROM bloomexp.feed_columns(arguments) AS c
			JOIN pg_proc AS p ON p.pronamespace = schema AND p.proname = 'contains'
			WHERE c.argument = 'item_column' AND p.proargnames[2] = 'item'
				AND p.proargtypes[1] <> c.base) THEN
		RETURN NEXT 'Types or collations of columns have changed: '
			'apply what the command returns, then rebuild.';
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.check_filters(oid, oid, jsonb) IS
'what is wrong with the table of filters of a feed, and with the types for which the feed was '
'made';

CREATE FUNCTION bloomexp.check_routines(schema oid, feed text, owner oid, settings jsonb,
	arguments jsonb)
RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	apply constant text := ': apply what the command returns';
BEGIN
	-- A version of an extension can be any name.  Those of this one are numbers with dots.
	IF NOT settings ->> 'version' ~ '^[0-9]+([.][0-9]+)*$'
		OR string_to_array(settings ->> 'version', '.')::integer[]
			< string_to_array(bloomexp.script_version(), '.')::integer[] THEN
		RETURN NEXT format('The script is of version %s of bloomexp, and the extension needs '
			'a script of version %s or later%s.',
			coalesce(substring(settings ->> 'version' FROM '^[0-9.]+$'), '(unknown)'),
			bloomexp.script_version(), apply);
	END IF;
	IF settings #>> '{arguments,feed}' <> feed THEN
		RETURN NEXT format('The schema was renamed from %I, and the functions have the old name%s.',
			settings #>> '{arguments,feed}', apply);
	END IF;
	RETURN QUERY
		SELECT 'The type or the collation of users has another name now' || apply || '.'
		FROM bloomexp.feed_columns(arguments) AS c
		WHERE c.argument = 'user_column'
			AND settings ->> 'user_type' <> concat(c.base_name, ' COLLATE ' || c.collation_name)
			-- if it is another type, check_filters() says so
			AND EXISTS (
				SELECT FROM pg_class AS f JOIN pg_attribute AS a ON a.attrelid = f.oid
				WHERE f.relnamespace = schema AND f.relname = 'filters' AND a.attname = 'user_id'
					AND a.atttypid = c.base AND a.attcollation = c.collation);
	RETURN QUERY
		SELECT format(CASE WHEN NOT e.routine_exists THEN 'Function %I is missing%s.'
			ELSE 'Function %I was edited%s to restore it.' END, e.name, apply)
		FROM bloomexp.edited(schema, settings) AS e WHERE e.code_differs;
	RETURN QUERY
		-- rebuild() and expire() look these up by name
		SELECT format('There are several functions %I.%I: drop those that the script does not '
			'create.', feed, p.proname)
		FROM pg_proc AS p
		WHERE p.pronamespace = schema AND p.proname IN ('rebuild_batch', 'expire_batch')
		GROUP BY p.proname HAVING count(*) > 1;
	RETURN QUERY
		SELECT format('View health is missing%s.', apply)
		WHERE NOT EXISTS (SELECT FROM pg_class AS c
			WHERE c.relnamespace = schema AND c.relname = 'health' AND c.relkind = 'v');
	RETURN QUERY
		SELECT format('Table %s has no enabled trigger for %s%s, then rebuild.', u.relation,
			u.event, apply)
		FROM bloomexp.untracked(feed, arguments ->> 'exposures') AS u
		WHERE arguments ->> 'trigger' = 'true' AND u.relation IS NOT NULL
			AND NOT EXISTS (SELECT FROM pg_subscription_rel AS s WHERE s.srrelid = u.relation);
	RETURN QUERY
		SELECT format('Others may replace the triggers of the feed: '
			'REVOKE TRIGGER ON %s FROM %s.', t,
			string_agg(CASE g.grantee WHEN 0 THEN 'PUBLIC'
				ELSE quote_ident(pg_get_userbyid(g.grantee)) END, ', '))
		FROM bloomexp.tables_of(to_regclass(arguments ->> 'exposures')) AS t
		JOIN pg_class AS c ON c.oid = t, aclexplode(c.relacl) AS g
		WHERE arguments ->> 'trigger' = 'true' AND g.privilege_type = 'TRIGGER'
			AND NOT bloomexp.trusted(g.grantee, owner)
		GROUP BY t;
	RETURN QUERY
		SELECT format('%s may execute %s: REVOKE ALL ON ROUTINE %2$s FROM %1$s.',
			CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END,
			p.oid::regprocedure)
		FROM pg_proc AS p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS g
		WHERE p.pronamespace = schema AND settings -> 'functions' ? p.proname AND p.prosecdef
			-- nobody else needs to call the function of the triggers
			AND (g.grantee = 0 OR p.proname = 'track' AND NOT bloomexp.trusted(g.grantee, owner))
		ORDER BY p.proname, 1;
END
$$;

COMMENT ON FUNCTION bloomexp.check_routines(oid, text, oid, jsonb, jsonb) IS
'what is wrong with the functions, the view and the triggers of a feed, and with the grants on '
'them';

CREATE FUNCTION bloomexp.feeds(
	only_feed name DEFAULT NULL,	-- NULL: all
	OUT feed name,
	OUT owner name,
	OUT version text,
	OUT command text,
	OUT problems text[],
	OUT edited text[])
RETURNS SETOF record
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
SET quote_all_identifiers = off
SET IntervalStyle = postgres
SET extra_float_digits = 1
SET jit = off	-- compiling these statements takes longer than they do
AS $$
DECLARE
	max_problems constant integer := 100;
	one record;	-- a feed
	arguments jsonb;
BEGIN
	-- Anybody can write settings: they are read but never executed, and returned as literals.
	FOR one IN
		SELECT n.oid AS schema, n.nspname AS name, p.proowner AS owner,
			bloomexp.feed_settings(n.oid) AS settings
		FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
		WHERE p.proname = 'settings' AND p.pronargs = 0 AND n.nspname !~ '^pg_'
			AND n.nspname = coalesce(only_feed, n.nspname)
		ORDER BY n.nspname
	LOOP
		CONTINUE WHEN bloomexp.has_controls(one.name)	-- no script makes such a schema
			OR jsonb_typeof(one.settings -> 'arguments') IS DISTINCT FROM 'object'
			OR jsonb_typeof(one.settings -> 'functions') IS DISTINCT FROM 'object';
		feed := one.name;
		owner := pg_get_userbyid(one.owner);
		version := one.settings ->> 'version';
		BEGIN
			arguments := bloomexp.present_arguments(one.schema, one.settings)
				|| jsonb_build_object('feed', one.name);
			command := format('SELECT bloomexp.feed_sql(%L%s);', one.name,
				bloomexp.feed_options(arguments));
			IF bloomexp.has_controls(command) THEN
				command := NULL;
			END IF;
			problems := ARRAY[bloomexp.lost_filters(one.name)];
			IF problems[1] IS NOT NULL THEN	-- nothing else matters
				edited := '{}';
				RETURN NEXT;
				CONTINUE;
			END IF;
			problems := ARRAY(
				SELECT bloomexp.feed_problems(arguments, one.owner)
				UNION ALL SELECT bloomexp.check_filters(one.schema, one.owner,
					arguments)
				UNION ALL SELECT bloomexp.check_routines(one.schema, one.name, one.owner,
					one.settings, arguments));
			IF cardinality(problems) > max_problems THEN
				problems := problems[1 : max_problems]
					|| format('There are %s more problems.', cardinality(problems) - max_problems);
			END IF;
			edited := ARRAY(SELECT e.name FROM bloomexp.edited(one.schema, one.settings) AS e);
		EXCEPTION WHEN OTHERS THEN	-- settings that others wrote can be nonsense
			command := NULL;
			problems := ARRAY[SQLERRM];
			edited := '{}';
		END;
		problems := ARRAY(
			SELECT CASE WHEN bloomexp.has_controls(p)
				THEN 'A name has control characters: rename it.' ELSE p END
			FROM unnest(problems) AS p);
		RETURN NEXT;
	END LOOP;
END
$$;

COMMENT ON FUNCTION bloomexp.feeds(name) IS
'the feeds of this database, or one of them: its owner; the version of bloomexp that made its '
'script; the command that returns its script now; its problems, {} if there are none; and its '
'functions that were edited, even if only in comments. Reads catalogs only';

CREATE FUNCTION bloomexp.feed_templates(OUT name text, OUT text text)
RETURNS SETOF record LANGUAGE sql IMMUTABLE
AS $templates$ VALUES
('add', $template$
{#window}
-- Record that items were shown to a user, now or at another time.  A time in the future counts as
-- now.
{/window}
{#forever}
-- Record that items were shown to a user.  The time makes no difference: this feed never forgets.
{/forever}
CREATE OR REPLACE FUNCTION {feed}.add(user_id {user_type}, items {item_type}[],
	shown_at timestamp with time zone DEFAULT pg_catalog.clock_timestamp()) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off	-- a plan that is made while the table is small must suit a large one
SET row_security = off AS {$}	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
	settings CONSTANT bloomexp.row_settings :=
		{settings};
	new_hashes bigint[] := bloomexp.hashes(items{item_collate});
	present timestamp with time zone;
BEGIN
	IF add.user_id IS NULL OR shown_at IS NULL OR coalesce(cardinality(new_hashes), 0) = 0 THEN
		RETURN;	-- no user, no time or no item
{#window}
	-- the days of the window have 24 hours, even if clocks change
	ELSIF shown_at < clock_timestamp() - interval {hours} THEN
		RETURN;	-- it has left the window already
{/window}
	END IF;
	PERFORM {feed}.lock(add.user_id);
	present := clock_timestamp();	-- after the lock, so not before others' additions
	IF (SELECT bloomexp.row_changes(f.items, f.pending, f.recent, new_hashes, settings,
			f.since, shown_at, present)
		FROM {feed}.filters AS f WHERE f.user_id {=} add.user_id{collate}) IS NOT FALSE THEN
		UPDATE {feed}.filters AS f SET
			since = bloomexp.since_after(f.recent, new_hashes, settings,
				f.since, shown_at, present),
			items = bloomexp.items_after(f.items, f.recent, new_hashes, settings,
				f.since, shown_at, present),
			pending = 0,
			recent = bloomexp.recent_after(f.recent, new_hashes, settings,
				f.since, shown_at, present)
		WHERE f.user_id {=} add.user_id{collate};
		IF NOT FOUND THEN
			PERFORM bloomexp.row_not_written({filters_literal});
		END IF;
	END IF;
END
{$};
$template$)
,('add_batch', $template$
-- Record a batch of events: user i was shown item i at time i.  Events can come in any order and
-- any number of times.  An event with a NULL is ignored.
{#window}
-- A time in the future counts as now.  An event that has left the window is ignored.
{/window}
CREATE OR REPLACE FUNCTION {feed}.add_batch(user_ids {user_type}[], items {item_type}[],
	shown_at timestamp with time zone[]) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off	-- a plan that is made while the table is small must suit a large one
SET row_security = off AS {$}	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
	settings CONSTANT bloomexp.row_settings :=
		{settings};
	present timestamp with time zone := clock_timestamp();
	new_hashes bigint[] := bloomexp.hashes_with_nulls(items{item_collate});
	remaining {user_type}[];
	addition record;	-- items that a user was shown in one slice
BEGIN
	-- Lock the rows of all users in the order of their ids, so that batches do not deadlock.  The
	-- same statement adds the items of each user whose events are one page: the items of one slice,
	-- which is not older than the slice of the row.  Such items are added at the start of their
	-- slice, so it does not matter that the clock was read before the lock.  Users with several
	-- pages have no hashes in "page": the statement only makes or locks their rows.
	WITH page AS MATERIALIZED (
		SELECT p.user_id, p.since, p.recent
		FROM bloomexp.pages(user_ids{collate}, new_hashes, shown_at, present, settings) AS p),
	written AS (
		INSERT INTO {feed}.filters AS f (user_id, since, recent)
		SELECT p.user_id, p.since, p.recent FROM page AS p ORDER BY p.user_id
		ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET
			since = bloomexp.since_after(f.recent, excluded.recent, settings,
				f.since, excluded.since, excluded.since),
			items = bloomexp.items_after(f.items, f.recent, excluded.recent, settings,
				f.since, excluded.since, excluded.since),
			pending = 0,
			recent = bloomexp.recent_after(f.recent, excluded.recent, settings,
				f.since, excluded.since, excluded.since)
		WHERE (f.since > excluded.since) IS NOT TRUE	-- the page is not late
			AND bloomexp.row_changes(f.items, f.pending, f.recent, excluded.recent, settings,
				f.since, excluded.since, excluded.since)
		RETURNING f.user_id)
	SELECT array_agg(p.user_id) INTO remaining FROM page AS p
	WHERE cardinality(p.recent) = 0
		OR NOT EXISTS (SELECT FROM written AS w WHERE w.user_id {=} p.user_id);
	-- This raises an error if an older snapshot shows a row that others have removed since.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM FROM {feed}.filters AS f WHERE f.user_id {=} ANY (user_ids{collate}) FOR UPDATE;
	END IF;
	IF remaining IS NULL THEN
		RETURN;
	END IF;

	-- Add the events of the remaining users: one user after another, one slice at a time, the
	-- oldest first.  "page" has one row per user, so group the events again.  The rows are locked,
	-- so call add() only if it will change the row: most of a batch that is repeated changes
	-- nothing.
	FOR addition IN
		SELECT b.user_id{collate} AS user_id, array_agg(b.item) AS items,
			max(b.shown_at) AS shown_at
		FROM ROWS FROM (unnest(user_ids), unnest(items), unnest(shown_at))
			AS b(user_id, item, shown_at)
		JOIN unnest(remaining) AS r(user_id) ON r.user_id {=} b.user_id{collate}
{#window}
		WHERE b.item IS NOT NULL AND b.shown_at >= present - interval {hours}
{/window}
{#forever}
		WHERE b.item IS NOT NULL AND b.shown_at IS NOT NULL
{/forever}
		GROUP BY 1{#window},
			bloomexp.slice_start(LEAST(b.shown_at, present), {width}, {slices}){/window}
		ORDER BY 1, 3
	LOOP
		IF (SELECT bloomexp.row_changes(f.items, f.pending, f.recent,
				bloomexp.hashes(addition.items{item_collate}), settings,
				f.since, addition.shown_at, present)
			FROM {feed}.filters AS f WHERE f.user_id {=} addition.user_id) IS NOT FALSE THEN
			PERFORM {feed}.add(addition.user_id, addition.items, addition.shown_at);
		END IF;
	END LOOP;
END
{$};
$template$)
,('begin', $template$
-- Check that everything that this script names belongs to you, or to roles that have your rights
-- anyway.
{#alone}
-- Check what cannot change in an existing feed: the types of users and items, and the window.
{/alone}
{#table}
-- Check what cannot change in an existing feed: that it is over a table, and has triggers or not.
{/table}
-- Make the schema, if it is missing.
{#table}
-- If the types of columns have changed, drop the functions for the old types, and change the type
-- of user_id.
{/table}
CALL bloomexp.feed_begin(feed => {feed_literal}, fixed_arguments => {fixed_literal},
	exposures => {exposures_literal},
	user_column => {user_column_literal}, user_type => {user_type_literal},
	user_collation => {user_collation_literal},
	item_column => {item_column_literal}, item_type => {item_type_literal},
	bloom => {bloom_literal});
$template$)
,('contains', $template$
-- Return whether an item was shown to a user.  The answer is always right for an item that was
-- shown.  For an item that was not shown, it is "true" with a probability of up to {fpr}.
{#alone}
-- After merge() the rates of both users add up.
{/alone}
CREATE OR REPLACE FUNCTION {feed}.contains(user_id {user_type}, item {item_type}) RETURNS boolean
LANGUAGE plpgsql STABLE{parallel} SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS {$}
BEGIN
	RETURN CASE WHEN item IS NOT NULL
		THEN cardinality({feed}.unseen(user_id, ARRAY[item])) = 0 END;
END
{$};
$template$)
,('current', $template$
-- Return what a user was shown{#alone}{#window} in the window{/window}{/alone}, as one filter.
CREATE OR REPLACE FUNCTION {feed}.current(user_id {user_type}) RETURNS {bloom}
LANGUAGE plpgsql STABLE{parallel} SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off	-- a plan that is made while the table is small must suit a large one
SET row_security = off AS {$}	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
	settings CONSTANT bloomexp.row_settings :=
		{settings};
{#remembers}
	filter {feed}.filters.items%TYPE;
BEGIN
{#alone}
	-- Not an assignment: Citus would send "filter" as a parameter that no node uses.
{/alone}
	SELECT bloomexp.fold(f.items, f.recent, settings{#alone}, f.since, now(){/alone}) INTO filter
	FROM {feed}.filters AS f WHERE f.user_id {=} current.user_id{collate};
	IF filter IS NULL THEN
		PERFORM bloomexp.require_not_rewritten({filters_literal});
	END IF;
	RETURN filter;
{/remembers}
{#untracked}
BEGIN
	RETURN (
		SELECT bloomexp.fold(f.items, f.recent, settings)
		FROM {feed}.shown(current.user_id) AS f);
{/untracked}
END
{$};
$template$)
,('distribute', $template$
-- On Citus, keep each filter on the node that has the exposures of its user, and run calls there.
CALL bloomexp.feed_distribute({feed_literal}, {exposures_literal});
$template$)
,('expire', $template$
-- Remove users whose last exposure has left the window.  This saves disk space, and changes no
-- answer.  Each batch commits, so call it in autocommit mode, once a day or less often.  It sleeps
-- for "pause" after each batch.  Calls for a user who is being removed wait until the batch
-- commits.  If more than 1,000 users, and more than a fifth of all, have expired, the clock may be
-- wrong: then it raises an error and removes nobody, unless allow_removed => true.  The caller also
-- needs EXECUTE on expire_batch().
CREATE OR REPLACE PROCEDURE {feed}.expire(pause interval DEFAULT '0',
	allow_removed boolean DEFAULT false, INOUT removed bigint DEFAULT 0)
LANGUAGE plpgsql AS {$}	-- no SET and no SECURITY DEFINER: with them it could not commit
BEGIN
	-- Keep the extension from being dropped before the procedure runs, and check that it exists.
	LOCK TABLE bloomexp.new_rows IN ACCESS SHARE MODE;
	IF NOT EXISTS (
		SELECT FROM pg_catalog.pg_depend AS d
		JOIN pg_catalog.pg_extension AS x ON x.oid OPERATOR(pg_catalog.=) d.refobjid
		WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
			AND d.objid OPERATOR(pg_catalog.=) 'bloomexp.new_rows'::pg_catalog.regclass
			AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
			AND d.deptype OPERATOR(pg_catalog.=) 'e'
			AND x.extname OPERATOR(pg_catalog.=) 'bloomexp') THEN
		RAISE EXCEPTION 'extension "bloomexp" was dropped'
			USING ERRCODE = 'object_not_in_prerequisite_state';
	END IF;
	CALL bloomexp.expire_filters({expire_batch_literal}, NULL::{user_type}, pause, allow_removed,
		removed);
END
{$};
$template$)
,('expire_batch', $template$
-- One batch of expire(): looks at the next 10,000 users after "after", and removes those who have
-- expired.  Returns in "after" the last user of the batch, or NULL if it was the last batch, and
-- adds the number of removed users to "removed".
CREATE OR REPLACE FUNCTION {feed}.expire_batch(INOUT after {user_type}, allow_removed boolean,
	INOUT removed bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
BEGIN
	SELECT b.after, b.removed INTO after, removed
	FROM bloomexp.expire_batch({filters_literal}, after, allow_removed, removed,
		{width}, {slices}) AS b;
END
{$};
$template$)
,('filters', $template$
-- One row per user.  "recent" is the last column and grows at its front, so the WAL of an update
-- has little more than the new hashes.  The storage parameters leave room for HOT updates, and move
-- filters into TOAST.
CREATE TABLE IF NOT EXISTS {feed}.filters (
	user_id {user_column} CONSTRAINT filters_pkey PRIMARY KEY,
{#window}
	since timestamp with time zone,	-- start of the time slice of "recent"
{/window}
{#forever}
	since timestamp with time zone,	-- always NULL: this feed never forgets
{/forever}
{#table}
	filled_until timestamp with time zone,	-- "items" has all exposures from before this time
{/table}
	items {bloom},	-- filter of all items that are not in "recent"
	pending integer NOT NULL DEFAULT 0,	-- number of unconfirmed items of the last take()
	recent bigint[] NOT NULL DEFAULT ARRAY[]::bigint[]	-- hashes of the newest items, up to 247
) USING heap WITH (fillfactor = 70, toast_tuple_target = 2040);
$template$)
,('finish', $template$
-- Revoke all default privileges on the objects that this script has created.  Objects that existed
-- before keep their grants, except EXECUTE for PUBLIC.  Except on Citus, make the functions depend
-- on the extension, so that they are dropped with it.  Write the function settings(), where
-- bloomexp.feeds() reads the arguments of the feed and hashes of its functions, which show what
-- somebody has edited.
CALL bloomexp.feed_finish({feed_literal}, {feed_settings});
$template$)
,('forget', $template$
-- Remove everything that is stored about a user.
CREATE OR REPLACE FUNCTION {feed}.forget(user_id {user_type}) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
BEGIN
	PERFORM bloomexp.forget_user({filters_literal}, user_id);
END
{$};
$template$)
,('head', $template$
-- bloomexp {version}: {command}
--
{#alone}
-- A feed without a table of exposures.  The table {feed}.filters has one row per user.  It is the
-- only record of what users were shown: back it up.
{/alone}
{#table}
-- A feed over the table {exposures}.
-- The table {feed}.filters has one row per user, with a filter of the items that the user was
-- shown in the last {window_width}.  Items that are older, or whose exposures were deleted, stay in
-- the filter until the next rebuild(): call it every night.
{#untracked}
-- Calls read the exposures since the last rebuild from the table.  If users see many items a day,
-- call rebuild() every hour.
{/untracked}
{/table}
--
-- This script belongs to you.  Read it, change it, and apply it again whenever you like: existing
-- filters and grants stay, except that PUBLIC loses EXECUTE on the functions.  A function whose
-- argument types have changed is created anew, without grants.  Run the script in one transaction,
-- so that an error leaves nothing half made:
-- PGOPTIONS='-c lock_timeout=2s' psql -X -1 -v ON_ERROR_STOP=1 -f script.sql
-- DROP SCHEMA {feed} CASCADE removes the feed{#tracked} and its triggers.  Before it, lock the
-- exposures in the same transaction, as inserts do: otherwise it can deadlock with them{/tracked}.
--
-- Rights.  The functions run with the rights of the owner of the feed and with a fixed search_path.
-- Roles that use the feed need USAGE on its schema and EXECUTE on the functions that they call.
-- They need no privileges on the table of filters.  The functions call functions of the schema
-- bloomexp, in which only superusers can create objects.
{#table}
-- The functions read only those columns of the exposures that this script names.  The owner of the
-- exposures, or of a partition, decides what code runs when they are read.  Therefore this script
-- and the functions below refuse a table whose owner lacks the rights of the feed's owner.
{/table}
--
{#alone}
-- No item is lost or taken twice: each call that adds items locks the user's row before it reads
-- the row, and holds the lock until its transaction ends.
{#window}
-- Only forget(), merge() and expire() delete rows.
{/window}
{#forever}
-- Only forget() and merge() delete rows.
{/forever}
{/alone}
{#tracked}
-- No exposure is lost.  The trigger locks the user's row in the transaction that inserts the
-- exposures, even if none of them is new.  A rebuild locks the row, reads the exposures in its next
-- statement, and then replaces the row.  A rebuild knows only exposures.  So insert what take()
-- returns as exposures, in the same statement or transaction.
--
-- Locks.  CREATE TRIGGER waits for open transactions that have written to the exposures, and
-- blocks writers until COMMIT: set lock_timeout.  From then on each INSERT or UPDATE of exposures
-- locks the rows of its users in {feed}.filters until its transaction ends, and so do take() and
-- each batch of a rebuild.  Keep such transactions short.  current(), unseen() and contains() never
-- wait.  A statement locks users in the order of their ids, so two plain inserts do not deadlock.
-- Upserts and transactions of several statements can deadlock, as on any table: retry them.
{/tracked}
{#untracked}
-- No exposure is lost.  A filter has all exposures from before its filled_until, and the functions
-- read later ones from the table.  Before a rebuild reads the exposures, it finds the oldest open
-- transaction, and it sets filled_until to the start of that transaction, less "overlap".  An
-- exposure from before this time that is committed later is overlooked until the next rebuild.  So
-- "overlap" must be longer than each of these: the time from the start of a transaction to its
-- PREPARE, the run time of a string of several statements that a client sends at once, the delay
-- with which an application, a subscription, a foreign table or a materialized view delivers rows,
-- and the difference between the clocks that set the times of exposures and that of the server.
{/untracked}
--
-- For the proof, see doc/how-it-works.md in the source of bloomexp.
$template$)
,('health', $template$
-- A row for monitoring.
-- users                number of users
-- bytes                bytes of their filters and recent hashes
-- fpr_target_max       highest target rate of a filter
-- fpr_max              highest current rate of a filter
-- above_fpr            number of filters whose current rate is above {alarming_fpr}
{#window}
-- expired              number of users whom expire() would remove
{/window}
{#table}
-- oldest_filled_until  oldest filled_until of a filter
{#tracked}
-- untracked            number of tables of exposures that lack an enabled trigger, are filled by a
--                      subscription, or are missing
{/tracked}
{#untracked}
-- untracked            always 0: no table needs a trigger
{/untracked}
-- never_filled         number of users whose row no rebuild has filled yet
-- filled_ahead         number of filters whose filled_until is ahead of the clock: rebuild them
{/table}
CREATE OR REPLACE VIEW {feed}.health AS
SELECT pg_catalog.count(*) AS users,
	pg_catalog.sum(coalesce(pg_catalog.pg_column_size(f.items), 0)
		OPERATOR(pg_catalog.+) pg_catalog.pg_column_size(f.recent)) AS bytes,
	pg_catalog.max(i.fpr) AS fpr_target_max,
	pg_catalog.max(i.fpr_now) AS fpr_max,
	pg_catalog.count(*) FILTER (WHERE i.fpr_now OPERATOR(pg_catalog.>) {alarming_fpr})
		AS above_fpr{#window},
	pg_catalog.count(*) FILTER (WHERE coalesce(i.items, 0) OPERATOR(pg_catalog.=) 0
		AND coalesce(f.since OPERATOR(pg_catalog.<)
			bloomexp.oldest_slice(current_timestamp, {width}, {slices}), f.items IS NULL))
		AS expired{/window}{#table},
	pg_catalog.min(f.filled_until) AS oldest_filled_until,
{#tracked}
	(SELECT pg_catalog.count(DISTINCT coalesce(u.relation, 0::pg_catalog.oid))
		FROM bloomexp.untracked({feed_literal}, {exposures_literal}) AS u) AS untracked,
{/tracked}
{#untracked}
	0::bigint AS untracked,
{/untracked}
	pg_catalog.count(*) FILTER (WHERE f.filled_until IS NULL) AS never_filled,
	pg_catalog.count(*) FILTER (WHERE f.filled_until OPERATOR(pg_catalog.>) current_timestamp)
		AS filled_ahead{/table}
FROM {feed}.filters AS f
{#window}
LEFT JOIN LATERAL bloomexp.info(bloomexp.expire(f.items, current_timestamp)) AS i ON true;
{/window}
{#no_window}
LEFT JOIN LATERAL bloomexp.info(f.items) AS i ON true;
{/no_window}
$template$)
,('lock', $template$
-- Lock a user's row until the transaction ends.  Other calls that lock or change the row wait
-- meanwhile{#tracked}, and so do inserts of the user's exposures{/tracked}.
-- If a query of your own chooses a page, call lock() first, in a statement of its own, so that the
-- query sees what other requests have shown.
CREATE OR REPLACE FUNCTION {feed}.lock(user_id {user_type}) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off	-- a plan that is made while the table is small must suit a large one
SET row_security = off AS {$}	-- an error if row security would hide rows
#variable_conflict use_variable
{#untracked}
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
{/untracked}
BEGIN
{#untracked}
	PERFORM bloomexp.require_read_committed('lock(), which take() calls,');
	IF EXISTS (SELECT FROM pg_foreign_table) THEN	-- few databases have any
		PERFORM bloomexp.require_first_use({exposures_literal});
	END IF;
{/untracked}
	INSERT INTO {feed}.filters AS f (user_id)
	SELECT lock.user_id{collate} WHERE lock.user_id IS NOT NULL	-- no row for a NULL user
	-- WHERE false: lock the row without writing it
	ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET pending = f.pending WHERE false;
{#remembers}
	-- This raises an error if an older snapshot shows a row that others have removed since.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM FROM {feed}.filters AS f WHERE f.user_id {=} lock.user_id{collate} FOR UPDATE;
	END IF;
{/remembers}
END
{$};
$template$)
,('merge', $template$
-- Add what from_user was shown to into_user, and forget from_user: for a visitor who signs in.
CREATE OR REPLACE FUNCTION {feed}.merge(from_user {user_type}, into_user {user_type})
RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET row_security = off AS {$}	-- an error if row security would hide rows
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
BEGIN
	PERFORM bloomexp.merge_users({filters_literal}, from_user, into_user,
		{settings});
END
{$};
$template$)
,('partition_triggers', $template$
-- Create the same two triggers on each partition or child that lacks them, because an INSERT into
-- a partition does not fire the triggers of its parent.  If something inserts into partitions
-- directly, apply this script again when there is a new one.
CALL bloomexp.attach_triggers({feed_literal}, {exposures_literal});
$template$)
,('rebuild', $template$
-- Build filters again from the exposures: the filters of all users, of "users", or of the users
-- with "after" < id <= "upto".  Each batch commits, so call it in autocommit mode, once a day or
-- more often.  Several sessions can share the users by ranges.  It sleeps for "pause" after each
-- batch.  After one second, and then every ten seconds, a notice says up to which user it is done.
-- To continue an interrupted rebuild, pass that user as "after".
--
-- It returns the number of exposures that it has read, the number of filters that it has built,
-- their bytes, and the number of filters that it has removed because their users have no exposure
-- left.  dry_run => true returns the same numbers, and changes nothing.
--
-- It stops with an error if the window has no exposure.  It also stops before it removes too many
-- filters, or before too many lose more than half of the items that the exposures should still
-- have.  "Too many" means more than 100, and more than a fifth of the filters examined so far.
-- allow_removed => true turns these checks off.
{#untracked}
--
-- It sets filled_until to the start of the oldest open transaction, less "overlap".
{/untracked}
--
-- The caller also needs EXECUTE on rebuild_batch().
CREATE OR REPLACE PROCEDURE {feed}.rebuild(
	users {user_type}[] DEFAULT NULL, after {user_type} DEFAULT NULL, upto {user_type} DEFAULT NULL,
	pause interval DEFAULT '0',{#untracked} overlap interval DEFAULT '10 minutes',{/untracked}
	dry_run boolean DEFAULT false, allow_removed boolean DEFAULT false,
	INOUT exposures bigint DEFAULT 0, INOUT filters bigint DEFAULT 0,
	INOUT bytes bigint DEFAULT 0, INOUT removed bigint DEFAULT 0)
LANGUAGE plpgsql AS {$}	-- no SET and no SECURITY DEFINER: with them it could not commit
BEGIN
	-- Keep the extension from being dropped before the procedure runs, and check that it exists.
	LOCK TABLE bloomexp.new_rows IN ACCESS SHARE MODE;
	IF NOT EXISTS (
		SELECT FROM pg_catalog.pg_depend AS d
		JOIN pg_catalog.pg_extension AS x ON x.oid OPERATOR(pg_catalog.=) d.refobjid
		WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
			AND d.objid OPERATOR(pg_catalog.=) 'bloomexp.new_rows'::pg_catalog.regclass
			AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
			AND d.deptype OPERATOR(pg_catalog.=) 'e'
			AND x.extname OPERATOR(pg_catalog.=) 'bloomexp') THEN
		RAISE EXCEPTION 'extension "bloomexp" was dropped'
			USING ERRCODE = 'object_not_in_prerequisite_state';
	END IF;
	CALL bloomexp.rebuild_filters({rebuild_batch_literal}, {filters_literal},
{#tracked}
		users, after, upto, pause, true, NULL, dry_run, allow_removed,
{/tracked}
{#untracked}
		users, after, upto, pause, false, overlap, dry_run, allow_removed,
{/untracked}
		exposures, filters, bytes, removed);
END
{$};
$template$)
,('rebuild_batch', $template$
-- One batch of a rebuild: the given users, or the next users after "after" and up to "upto",
-- with about "size" filters.  Returns in "after" the last user of the batch, or NULL if it was the
-- last batch; in "counts" the counts of all batches so far; and in "busy" the users to try again,
-- because others have locked their rows or a constraint has refused one.
CREATE OR REPLACE FUNCTION {feed}.rebuild_batch(
	users {user_type}[], INOUT after {user_type}, upto {user_type}, size integer,
	dry_run boolean, allow_removed boolean, INOUT counts bloomexp.rebuild_counts,
{#untracked}
	overlap interval,
{/untracked}
	OUT busy {user_type}[])
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
	result record;
BEGIN
	SELECT b.after, b.counts, b.busy INTO result
	FROM bloomexp.{rebuild_batch}(
		filters => {filters_literal}, exposures => {exposures_literal},
		user_column => {user_column_literal},
		exposed_query => {exposed_query_literal},
		width => {width}, fpr => {fpr},
		wanted => users, after => after, upto => upto, size => size,
		dry_run => dry_run, allow_removed => allow_removed, counts => counts,
{#tracked}
		has_triggers => true) AS b;
{/tracked}
{#untracked}
		has_triggers => false, overlap => overlap) AS b;
{/untracked}
	after := result.after;
	counts := result.counts;
	busy := result.busy;
END
{$};
$template$)
,('shown', $template$
-- Return what a user was shown: the stored filter, and the hashes of the exposures since it was
-- filled.  current(), unseen() and take() call this function.
CREATE OR REPLACE FUNCTION {feed}.shown(user_id {user_type}, OUT items {bloom}, OUT recent bigint[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off	-- a plan that is made while the table is small must suit a large one
SET jit = off	-- enable_seqscan makes plans without an index look expensive
SET row_security = off	-- an error if row security would hide rows
SET timezone = 'UTC' AS {$}	-- right even if the time column changes its type
#variable_conflict use_variable
DECLARE
	read_from timestamp with time zone := now() - interval {width};
	stored_until timestamp with time zone;	-- filled_until of the row
BEGIN
	-- This names the column "items" before any function of bloomexp is called: if the extension was
	-- dropped, it is an error.
	SELECT f.items, f.filled_until INTO items, stored_until
	FROM {feed}.filters AS f WHERE f.user_id {=} shown.user_id{collate};
	-- Ignore a filter with a filled_until ahead of the clock: the clock was wrong at its rebuild.
	IF items IS NOT NULL AND stored_until > read_from AND stored_until <= now() THEN
		read_from := stored_until;
	ELSE
		items := NULL;
	END IF;
	PERFORM bloomexp.require_trusted({exposures_literal});	-- not its partitions, to save time
	recent := ARRAY(
		SELECT bloomexp.hash({item}{item_collate})
		FROM {exposures} AS e{elements}
		WHERE {user} {=} shown.user_id{collate}
			AND {is_exposure}
			AND {time} >= read_from{utc});
	PERFORM bloomexp.require_not_rewritten({exposures_literal});
END
{$};
$template$)
,('storage', $template$
-- Keep "recent" in the row, uncompressed.
CALL bloomexp.keep_in_row({filters_literal}, 'recent');
$template$)
,('take', $template$
-- Return the first "wanted" distinct candidates that a user was not shown (NULL: all of them).
{#remembers}
-- These items count as shown from now on.  The user's row stays locked until the transaction ends,
-- so no other call can take the same items.
{/remembers}
{#untracked}
-- Other calls of take() and lock() for the user wait until the transaction ends.  Insert the
-- returned items as exposures in the same statement or transaction: nothing else remembers them.
{/untracked}
CREATE OR REPLACE FUNCTION {feed}.take(user_id {user_type}, candidates {item_type}[],
	wanted integer DEFAULT NULL) RETURNS {item_type}[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off	-- a plan that is made while the table is small must suit a large one
SET row_security = off AS {$}	-- an error if row security would hide rows
{#untracked}
BEGIN
	PERFORM {feed}.lock(user_id);
	-- Lock the exposures before the next statement takes its snapshot: to an older snapshot a table
	-- that ALTER TABLE has rewritten is empty.
	PERFORM bloomexp.require_trusted({exposures_literal});
	RETURN (
		SELECT bloomexp.exclude_first(candidates{item_collate}, f.items, wanted, f.recent)
		FROM {feed}.shown(user_id) AS f);
END
{/untracked}
{#remembers}
#variable_conflict use_variable
DECLARE
	old_items {feed}.filters.items%TYPE;	-- an error if the extension was dropped
	old_recent bigint[];
{#alone}
	old_since timestamp with time zone;
	present timestamp with time zone;
{/alone}
	taken {item_type}[];
	new_hashes bigint[];
BEGIN
	-- Lock the row, and read the version that is locked.  This must be the first statement: if the
	-- extension was dropped, it must fail before any function of bloomexp is called.
	SELECT f.items, f.recent{#alone}, f.since{/alone}
	INTO old_items, old_recent{#alone}, old_since{/alone}
	FROM {feed}.filters AS f
	WHERE f.user_id {=} take.user_id{collate}
{#alone}
		-- On Citus this must find no row, so that lock() below locks the row by an INSERT: a move
		-- of the shard waits for an INSERT, but not for row locks.
		AND current_setting('citus.shard_count', true) IS NULL
{/alone}
	FOR NO KEY UPDATE;
	IF NOT FOUND THEN	-- a new user or NULL{#alone}, or any user on Citus{/alone}
		PERFORM {feed}.lock(take.user_id);
		SELECT f.items, f.recent{#alone}, f.since{/alone}
		INTO old_items, old_recent{#alone}, old_since{/alone}
		FROM {feed}.filters AS f WHERE f.user_id {=} take.user_id{collate};
	END IF;
	-- The lock of the table keeps the extension from being dropped now, so from here on functions
	-- of bloomexp may be called.
	DECLARE
		settings CONSTANT bloomexp.row_settings :=
			{settings};
	BEGIN
{#alone}
		present := clock_timestamp();	-- after the lock, so not before others' additions
		taken := bloomexp.exclude_first(candidates{item_collate},
			bloomexp.items_at(old_items, present, settings), wanted,
			bloomexp.recent_at(old_recent, old_since, present, settings));
{/alone}
{#tracked}
		taken := bloomexp.exclude_first(candidates{item_collate}, old_items, wanted, old_recent);
{/tracked}
		IF cardinality(taken) > 0 AND take.user_id IS NOT NULL THEN
			new_hashes := bloomexp.hashes(taken{item_collate});
			UPDATE {feed}.filters AS f SET
{#alone}
				since = bloomexp.since_after(f.recent, new_hashes, settings,
					f.since, present, present),
{/alone}
				items = bloomexp.items_after(f.items, f.recent, new_hashes, settings{#alone},
					f.since, present, present{/alone}),
				-- "taken" has no item twice, and none that is in "recent".  So its hashes become
				-- the first ones of "recent".  If there are too many, they go into "items", and
				-- none is pending.
				pending = CASE WHEN cardinality(taken) <= 247 THEN cardinality(taken) ELSE 0 END,
				recent = bloomexp.recent_after(f.recent, new_hashes, settings{#alone},
					f.since, present, present{/alone})
			WHERE f.user_id {=} take.user_id{collate};
			IF NOT FOUND THEN
				PERFORM bloomexp.row_not_written({filters_literal});
			END IF;
		END IF;
		RETURN taken;
	END;
END
{/remembers}
{$};
$template$)
,('take_back', $template$
{#alone}
-- Forget items of the last take() that the user never saw, and return the items that were
-- forgotten.  It forgets none if add() or add_batch() has since recorded a new item, or an item of
-- that take(), or if merge() has changed the row.
{/alone}
{#tracked}
-- Forget items of the last take() that the user never saw, and return the items that were
-- forgotten.  It forgets no item that is an exposure, and none at all if another exposure has been
-- added since.
{/tracked}
{#untracked}
-- Return no item: without triggers take() remembers nothing that this function could forget.
{/untracked}
CREATE OR REPLACE FUNCTION {feed}.take_back(user_id {user_type}, items {item_type}[])
RETURNS {item_type}[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{#remembers}
SET enable_seqscan = off	-- a plan that is made while the table is small must suit a large one
{/remembers}
{#tracked}
SET jit = off	-- enable_seqscan makes plans without an index look expensive
{/tracked}
SET row_security = off	-- an error if row security would hide rows
{#tracked}
SET timezone = 'UTC'	-- right even if the time column changes its type
{/tracked}
AS {$}
{#untracked}
BEGIN
	RETURN ARRAY[]::{item_type}[];
END
{/untracked}
{#remembers}
#variable_conflict use_variable
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
	forgotten {item_type}[] := items;	-- narrowed down below
{#tracked}
	exposed_hashes bigint[];
{/tracked}
BEGIN
{#tracked}
	PERFORM bloomexp.require_read_committed('take_back()');
	PERFORM {feed}.lock(take_back.user_id);
	PERFORM bloomexp.require_trusted({exposures_literal});
	PERFORM bloomexp.require_trusted(t, missing_ok => true)
	FROM bloomexp.tables_of({exposures_literal}) AS t;
	-- A statement after the lock, which sees what others have committed before.
	exposed_hashes := ARRAY(
		SELECT bloomexp.hash({item}{item_collate})
		FROM {exposures} AS e{elements}
		WHERE {user} {=} take_back.user_id{collate}
			AND {is_exposure}
			AND {time} >= (now() - interval {width}){utc});
	forgotten := bloomexp.exclude(forgotten{item_collate}, NULL, exposed_hashes);
{/tracked}
{#alone}
	PERFORM {feed}.lock(take_back.user_id);
{/alone}
	forgotten := (
		SELECT bloomexp.among(forgotten{item_collate}, f.recent[1 : f.pending])
		FROM {feed}.filters AS f WHERE f.user_id {=} take_back.user_id{collate});
	IF cardinality(forgotten) > 0 THEN
		UPDATE {feed}.filters AS f SET
			pending = f.pending - cardinality(forgotten),
			recent = bloomexp.new_hashes(f.recent, bloomexp.hashes(forgotten{item_collate}))
		WHERE f.user_id {=} take_back.user_id{collate};
		IF NOT FOUND THEN
			PERFORM bloomexp.row_not_written({filters_literal});
		END IF;
	END IF;
	RETURN coalesce(forgotten, ARRAY[]::{item_type}[]);
END
{/remembers}
{$};
$template$)
,('track', $template$
-- The function of the triggers: adds the exposures that a statement has inserted or updated to the
-- rows of their users.
CREATE OR REPLACE FUNCTION {feed}.track() RETURNS pg_catalog.trigger
-- In a trigger without a transition table, "new_rows" is the empty table in the schema bloomexp.
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, bloomexp, pg_temp
SET enable_seqscan = off	-- a plan that is made while the table is small must suit a large one
SET row_security = off	-- an error if row security would hide rows
SET timezone = 'UTC' AS {$}	-- right even if the time column changes its type
#variable_conflict use_variable
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
	settings CONSTANT bloomexp.row_settings :=
		{settings};
	window_start CONSTANT timestamp with time zone := now() - interval {width};
	users {user_type}[];	-- users[i] was shown the item of new_hashes[i]
	new_hashes bigint[];
	changes boolean;
	missing record;	-- a user whose row lacks some of these hashes
BEGIN
	PERFORM bloomexp.require_trusted(TG_RELID);
	IF TG_OP NOT IN ('INSERT', 'UPDATE') THEN
		RAISE EXCEPTION 'track() must be called by a trigger for INSERT or UPDATE'
			USING ERRCODE = 'trigger_protocol_violated';
	END IF;

	-- Most statements insert a page: a few items of one user.  Lock the user's row even if nothing
	-- is new, because a rebuild waits for that lock.  row_changes() gets 0 as "pending", because
	-- exposures need not confirm items: take_back() reads the exposures itself.
	SELECT array_agg(p.user_id), array_agg(p.hash) INTO users, new_hashes
	FROM (
		SELECT {user}{collate} AS user_id, bloomexp.hash({item}{item_collate}) AS hash
		FROM new_rows AS e{elements}
		WHERE {is_exposure}
			AND {time} >= window_start{utc}
		LIMIT 248) AS p;
	IF users IS NULL THEN
		RETURN NULL;	-- no new row is an exposure in the window
	ELSIF cardinality(users) <= 247 AND users[1] {=} ALL (users{collate}) THEN
		SELECT bloomexp.row_changes(f.items, 0, f.recent, new_hashes, settings) INTO changes
		FROM {feed}.filters AS f WHERE f.user_id {=} users[1]{collate} FOR NO KEY UPDATE;
		IF changes THEN
			UPDATE {feed}.filters AS f SET
				items = bloomexp.items_after(f.items, f.recent, new_hashes, settings),
				pending = 0,
				recent = bloomexp.recent_after(f.recent, new_hashes, settings)
			WHERE f.user_id {=} users[1]{collate};
			IF NOT FOUND THEN
				PERFORM bloomexp.row_not_written({filters_literal});
			END IF;
		END IF;
		IF changes IS NOT NULL THEN
			RETURN NULL;
		END IF;	-- else the user has no row
	END IF;

	-- Lock the rows of all users in the order of their ids, so that two statements do not deadlock,
	-- and add the items.  Those of users with more than 247 follow in the loop below.
	INSERT INTO {feed}.filters AS f (user_id, recent)
	SELECT p.user_id,
		CASE WHEN cardinality(p.hashes) <= 247 THEN p.hashes ELSE ARRAY[]::bigint[] END
	FROM (
		SELECT {user}{collate} AS user_id, bloomexp.new_hashes(
			array_agg(bloomexp.hash({item}{item_collate})), ARRAY[]::bigint[]) AS hashes
		FROM new_rows AS e{elements}
		WHERE {is_exposure}
			AND {time} >= window_start{utc}
		GROUP BY 1) AS p
	ORDER BY p.user_id
	ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET
		items = bloomexp.items_after(f.items, f.recent, excluded.recent, settings),
		pending = 0,
		recent = bloomexp.recent_after(f.recent, excluded.recent, settings)
	WHERE bloomexp.row_changes(f.items, 0, f.recent, excluded.recent, settings);
	-- This raises an error if an older snapshot shows a row that a rebuild has removed since.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM FROM {feed}.filters AS f
		WHERE f.user_id {=} ANY (ARRAY(	-- not a join, which need not visit all users
			SELECT {user}{collate} FROM new_rows AS e{elements}
			WHERE {is_exposure}
				AND {time} >= window_start{utc}))
		FOR UPDATE;
	END IF;
	-- Add what the rows still lack: the items of users with more than 247, and items whose write
	-- above a trigger or rule has suppressed.  If this UPDATE is suppressed, too, raise an error.
	-- A subquery looks up each row: the planner does not know how many exposures are new, and with
	-- a join it might read the whole table of filters.
	FOR missing IN
		SELECT p.user_id::{user_type} AS user_id, p.hashes
		FROM (
			SELECT {user}{collate} AS user_id,
				array_agg(bloomexp.hash({item}{item_collate})) AS hashes
			FROM new_rows AS e{elements}
			WHERE {is_exposure}
				AND {time} >= window_start{utc}
			GROUP BY 1) AS p
		WHERE (
			SELECT bloomexp.row_changes(f.items, 0, f.recent, p.hashes, settings)
			FROM {feed}.filters AS f WHERE f.user_id {=} p.user_id) IS NOT FALSE
	LOOP
		UPDATE {feed}.filters AS f SET
			items = bloomexp.items_after(f.items, f.recent, missing.hashes, settings),
			pending = 0,
			recent = bloomexp.recent_after(f.recent, missing.hashes, settings)
		WHERE f.user_id {=} missing.user_id{collate};
		IF NOT FOUND THEN
			PERFORM bloomexp.row_not_written({filters_literal});
		END IF;
	END LOOP;
	RETURN NULL;
END
{$};
$template$)
,('triggers', $template$
-- Create the two triggers of the exposures.  The second is for an UPDATE that shows an item again.
-- Updates of other columns fire it, too, because a trigger with a transition table cannot have a
-- list of columns.  If the table has its triggers already, it is not locked.
DO {$}
BEGIN
	IF bloomexp.lacks_trigger({feed_literal}, {exposures_literal}, 'INSERT') THEN
		CREATE OR REPLACE TRIGGER {insert_trigger} AFTER INSERT ON {exposures}
			REFERENCING NEW TABLE AS new_rows
			FOR EACH STATEMENT EXECUTE FUNCTION {feed}.track();
	END IF;
	IF bloomexp.lacks_trigger({feed_literal}, {exposures_literal}, 'UPDATE') THEN
		CREATE OR REPLACE TRIGGER {update_trigger} AFTER UPDATE ON {exposures}
			REFERENCING NEW TABLE AS new_rows
			FOR EACH STATEMENT EXECUTE FUNCTION {feed}.track();
	END IF;
END
{$};
$template$)
,('unseen', $template$
-- Return the candidates that a user was not shown, in their order.
CREATE OR REPLACE FUNCTION {feed}.unseen(user_id {user_type}, candidates {item_type}[])
RETURNS {item_type}[]
LANGUAGE plpgsql STABLE{parallel} SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off	-- a plan that is made while the table is small must suit a large one
SET row_security = off AS {$}	-- an error if row security would hide rows
#variable_conflict use_variable
{#remembers}
DECLARE
	old_items {feed}.filters.items%TYPE;	-- an error if the extension was dropped
	old_recent bigint[];
{#alone}
	old_since timestamp with time zone;
{/alone}
BEGIN
	SELECT f.items, f.recent{#alone}, f.since{/alone}
	INTO old_items, old_recent{#alone}, old_since{/alone}
	FROM {feed}.filters AS f WHERE f.user_id {=} unseen.user_id{collate};
	IF NOT FOUND THEN
		PERFORM bloomexp.require_not_rewritten({filters_literal});
	END IF;
{/remembers}
{#alone}
	DECLARE
		settings CONSTANT bloomexp.row_settings :=
			{settings};
	BEGIN
		RETURN bloomexp.exclude(candidates{item_collate},
			bloomexp.items_at(old_items, now(), settings),
			bloomexp.recent_at(old_recent, old_since, now(), settings));
	END;
{/alone}
{#tracked}
	RETURN bloomexp.exclude(candidates{item_collate}, old_items, old_recent);
{/tracked}
{#untracked}
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
BEGIN
	RETURN (
		SELECT bloomexp.exclude(candidates{item_collate}, f.items, f.recent)
		FROM {feed}.shown(unseen.user_id) AS f);
{/untracked}
END
{$};
$template$)
$templates$;

COMMENT ON FUNCTION bloomexp.feed_templates() IS
'the templates of the scripts of feeds, by name';

-- Privileges that do not depend on the default privileges: everybody may use the type and call the
-- functions, and only the owner may create in the schema bloomexp.

CREATE PROCEDURE bloomexp.set_privileges()
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	missing text;
	others record;
BEGIN
	FOR others IN
		SELECT o.name, string_agg(DISTINCT o.privilege_type, ', ') AS privileges,
			CASE o.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(o.grantee)) END
				AS grantee
		FROM (
			SELECT 'SCHEMA bloomexp', a.privilege_type, a.grantee
			FROM pg_namespace AS n, aclexplode(n.nspacl) AS a
			WHERE n.nspname = 'bloomexp' AND a.grantee <> n.nspowner AND a.privilege_type <> 'USAGE'
			UNION ALL SELECT 'TABLE bloomexp.new_rows', a.privilege_type, a.grantee
			FROM pg_class AS c, aclexplode(c.relacl) AS a
			WHERE c.oid = 'bloomexp.new_rows'::regclass AND a.grantee <> c.relowner
				AND NOT (a.grantee = 0 AND a.privilege_type = 'SELECT')
			-- only functions use it; a typed table (CREATE TABLE OF) would block ADD ATTRIBUTE
			UNION ALL SELECT 'TYPE bloomexp.row_settings', a.privilege_type, a.grantee
			FROM pg_type AS t, aclexplode(coalesce(t.typacl, acldefault('T', t.typowner))) AS a
			WHERE t.oid = 'bloomexp.row_settings'::regtype AND a.grantee <> t.typowner)
			AS o(name, privilege_type, grantee)
		GROUP BY o.name, o.grantee
	LOOP
		EXECUTE format('REVOKE %s ON %s FROM %s', others.privileges, others.name, others.grantee);
	END LOOP;
	-- whoever makes or maintains a feed locks this table, to keep the extension from being dropped
	GRANT SELECT ON bloomexp.new_rows TO PUBLIC;
	FOR missing IN
		WITH members AS (
			SELECT d.classid, d.objid FROM pg_depend AS d
			JOIN pg_extension AS x ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = x.oid
			WHERE x.extname = 'bloomexp' AND d.deptype = 'e')
		SELECT format('EXECUTE ON ROUTINE %s', p.oid::regprocedure)
		FROM members AS m JOIN pg_proc AS p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
		WHERE NOT has_function_privilege('public', p.oid, 'EXECUTE')
		UNION ALL SELECT format('USAGE ON TYPE %s', t.oid::regtype)
		FROM members AS m JOIN pg_type AS t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid
		WHERE t.typelem = 0 AND NOT has_type_privilege('public', t.oid, 'USAGE')
			AND t.oid <> 'bloomexp.row_settings'::regtype
	LOOP
		EXECUTE format('GRANT %s TO PUBLIC', missing);
	END LOOP;
END
$$;

COMMENT ON PROCEDURE bloomexp.set_privileges() IS
'lets everybody use the routines of the extension and its types, except row_settings, and only '
'the owner create in the schema bloomexp';

CALL bloomexp.set_privileges();
