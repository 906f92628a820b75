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
