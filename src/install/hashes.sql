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
