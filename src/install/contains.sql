-- Testing several items at once; kind.sql.in has the forms for one. A NULL item is not
-- contained: where each item has an answer, that is NULL.

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
