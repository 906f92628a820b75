CREATE FUNCTION bloom_take(
	target regclass,
	"user" anycompatible,
	candidates anyarray,
	wanted integer DEFAULT NULL,
	filter_column name DEFAULT NULL)
RETURNS anyarray
AS 'MODULE_PATHNAME', 'bloomexp_take'
LANGUAGE C VOLATILE COST 10000;

COMMENT ON FUNCTION bloom_take(regclass, anycompatible, anyarray, integer, name) IS
'the first candidates, as many as wanted or all, that the filter of a user does not contain, in order and without repetitions, which are added to it at the same time; two calls never take the same for one user';
