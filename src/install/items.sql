-- Adding and testing items. A NULL filter is an empty one; a NULL item is not added,
-- and NULL is the answer to whether it is contained.
--
-- What changes a filter has one form for an item and one for an array, and none of
-- text: so a parameter or literal without a type is an error, and never a text that
-- was meant to be something else.

CREATE FUNCTION bloom_add(filter bloom, item anynonarray) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add(bloom, anynonarray) IS
'the filter with one item more; returned untouched if it contains the item already';

CREATE FUNCTION bloom_add(filter bloom, items anyarray) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_array'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add(bloom, anyarray) IS
'the filter with all items of an array more, in one pass; returned untouched if it contains them already';

CREATE FUNCTION bloom_remove(filter bloom, item anynonarray) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_remove'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_remove(bloom, anynonarray) IS
'a counting filter with the item taken out once; returned untouched if it does not contain the item';

CREATE FUNCTION bloom_remove(filter bloom, items anyarray) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_remove_array'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_remove(bloom, anyarray) IS
'a counting filter with each item of an array taken out once';

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
