-- Uniting.

CREATE FUNCTION bloom_union(a bloom, b bloom) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_union'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;

COMMENT ON FUNCTION bloom_union(bloom, bloom) IS
'a filter that contains what either contains; its false positive rate is at most the sum of theirs';

CREATE OPERATOR | (
	LEFTARG = bloom, RIGHTARG = bloom,
	FUNCTION = bloom_union
);

COMMENT ON OPERATOR | (bloom, bloom) IS 'union';

-- The state is a filter, so that a distributed database can send it.
CREATE AGGREGATE bloom_union_agg(filter bloom) (
	SFUNC = bloom_union, STYPE = bloom,
	COMBINEFUNC = bloom_union, PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_union_agg(bloom) IS
'the union of the filters of all rows';
