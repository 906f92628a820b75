-- The hashes of items: a feed keeps the newest items of a user as theirs, and adds them to the
-- filter later.

CREATE FUNCTION bloom_hashes(items anyarray) RETURNS bigint[]
AS 'MODULE_PATHNAME', 'bloomexp_hashes'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;

COMMENT ON FUNCTION bloom_hashes(anyarray) IS
'the hashes, by which filters know them, of the items of an array that are not null, in order';

CREATE FUNCTION bloom_add_hashes(filter bloom, kind text, hashes bigint[]) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_hashes'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add_hashes(bloom, text, bigint[]) IS
'the filter with the items of these hashes more, as bloom_add() adds an array; kind is what they '
'are: integer, text, uuid or bytea';

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
'a windowed filter with the items of these hashes more, all shown at one time, as bloom_add_at() '
'adds an array; final says that no more will come for their slice, which then has no spare room';

CREATE FUNCTION bloom_exclude(candidates anyarray, filter bloom, hashes bigint[])
RETURNS SETOF anyelement
AS 'MODULE_PATHNAME', 'bloomexp_exclude_hashes'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 4000 ROWS 1000
SUPPORT bloom_exclude_support;

COMMENT ON FUNCTION bloom_exclude(anyarray, bloom, bigint[]) IS
'the candidates that the filter does not contain and whose hashes are not among these, in order';

CREATE FUNCTION bloom_exclude_array(candidates anyarray, filter bloom, hashes bigint[])
RETURNS anyarray
AS 'MODULE_PATHNAME', 'bloomexp_exclude_array_hashes'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 4000;

COMMENT ON FUNCTION bloom_exclude_array(anyarray, bloom, bigint[]) IS
'the candidates that the filter does not contain and whose hashes are not among these, in order, '
'as an array';

CREATE FUNCTION bloom_exclude_first(
	candidates anyarray,
	filter bloom,
	wanted integer,
	hashes bigint[])
RETURNS anyarray
AS 'MODULE_PATHNAME', 'bloomexp_exclude_first_hashes'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 4000;

COMMENT ON FUNCTION bloom_exclude_first(anyarray, bloom, integer, bigint[]) IS
'the first distinct candidates that the filter does not contain and whose hashes are not among '
'these, in order, as many as wanted, or all if that is NULL';
