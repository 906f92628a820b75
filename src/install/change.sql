-- Making and changing filters. A NULL filter is an empty one; a NULL item is not added.
--
-- What changes a filter has one form for an item and one for an array, and none of
-- text: so a parameter or literal without a type is an error, and never a text that
-- was meant to be something else.
--
-- COST says how many times the work of an integer addition a call is, measured
-- with a filter of a thousand items, detoasted at each call, and for the arrays
-- with as many candidates.

CREATE FUNCTION bloom_new(
	capacity bigint DEFAULT 100,
	fpr double precision DEFAULT 0.01,
	counting boolean DEFAULT false)
RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_new'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

COMMENT ON FUNCTION bloom_new(bigint, double precision, boolean) IS
'an empty filter with room for capacity items at false positive rate fpr (0.01 is 1%); it grows '
'past its capacity and keeps fpr';

CREATE FUNCTION bloom_add(filter bloom, item anynonarray) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add(bloom, anynonarray) IS
'the filter with one item more; returned untouched if it contains the item already';

CREATE FUNCTION bloom_add(filter bloom, items anyarray) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_array'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add(bloom, anyarray) IS
'the filter with all items of an array more, in one pass; returned untouched if it contains them '
'already';

CREATE FUNCTION bloom_with_fpr(filter bloom, fpr double precision) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_with_fpr'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

COMMENT ON FUNCTION bloom_with_fpr(bloom, double precision) IS
'the filter with the target rate fpr for what is added later; returned untouched if that is its '
'rate, or if it holds too many items for that rate';

CREATE FUNCTION bloom_remove(filter bloom, item anynonarray) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_remove'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_remove(bloom, anynonarray) IS
'a counting filter with the item taken out once; returned untouched if it does not contain the '
'item';

CREATE FUNCTION bloom_remove(filter bloom, items anyarray) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_remove_array'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_remove(bloom, anyarray) IS
'a counting filter with each item of an array taken out once';

-- Sliding windows: every item has its time, and old ones are forgotten.
CREATE FUNCTION bloom_window(
	width interval,
	slices integer DEFAULT 6,
	fpr double precision DEFAULT 0.01)
RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_window'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

COMMENT ON FUNCTION bloom_window(interval, integer, double precision) IS
'an empty filter with a sliding window: an item is contained for width after its last exposure '
'and forgotten at the latest one slice, width / slices, later, by bloom_expire() or when later '
'items are added; fpr is the rate of any slices + 1 slices in a row together';

CREATE FUNCTION bloom_add_at(filter bloom, item anynonarray, shown_at timestamp with time zone)
RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_at'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add_at(bloom, anynonarray, timestamp with time zone) IS
'a windowed filter with one item more, which was shown at a time; returned untouched if it '
'contains the item for as long already, or if it was shown before the window of the last '
'bloom_expire(); without the slices that have left the window, if this begins a new one';

CREATE FUNCTION bloom_add_at(filter bloom, items anyarray, shown_at timestamp with time zone[])
RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_at_array'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add_at(bloom, anyarray, timestamp with time zone[]) IS
'a windowed filter with all items of an array more, each with its time, in one pass; without the '
'slices that have left the window, if they begin a new one';

CREATE FUNCTION bloom_expire(filter bloom, at timestamp with time zone) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_expire'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

COMMENT ON FUNCTION bloom_expire(bloom, timestamp with time zone) IS
'a windowed filter without the slices that lie wholly before the window that ends at a time; '
'from then on items shown before that window are ignored';

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
