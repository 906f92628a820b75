-- Functions that make and change filters. A NULL filter is an empty one. A NULL item is ignored.
--
-- Each change has one form for an item and one for an array. No form takes text, so a
-- parameter or literal of unknown type is an error. It never becomes a text item that was
-- meant to be an integer.
--
-- COST is in multiples of an integer addition, measured with a filter of a thousand items
-- that is detoasted at each call, and arrays of a thousand candidates.

CREATE FUNCTION bloom_new(
	capacity bigint DEFAULT 100,
	fpr double precision DEFAULT 0.01,
	counting boolean DEFAULT false)
RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_new'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

COMMENT ON FUNCTION bloom_new(bigint, double precision, boolean) IS
'empty filter for capacity items at false positive rate fpr (0.01 is 1%); it grows beyond its '
'capacity and keeps fpr; if counting, it has bloom_remove() and does not grow';

CREATE FUNCTION bloom_add(filter bloom, item anynonarray) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add(bloom, anynonarray) IS
'filter with an item added; the same value if it contains the item; NULL is an empty filter';

CREATE FUNCTION bloom_add(filter bloom, items anyarray) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_array'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add(bloom, anyarray) IS
'filter with all items of an array added; the same value if it contains them; NULL is an empty '
'filter';

CREATE FUNCTION bloom_with_fpr(filter bloom, fpr double precision) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_with_fpr'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

COMMENT ON FUNCTION bloom_with_fpr(bloom, double precision) IS
'filter with target rate fpr for items added later; the same value if that is its rate, or if it '
'has too many items for that rate';

CREATE FUNCTION bloom_remove(filter bloom, item anynonarray) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_remove'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_remove(bloom, anynonarray) IS
'counting filter with an item removed once; the same value if it does not contain the item; error '
'if the filter is not counting';

CREATE FUNCTION bloom_remove(filter bloom, items anyarray) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_remove_array'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_remove(bloom, anyarray) IS
'counting filter with each item of an array removed once; error if the filter is not counting';

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
'windowed filter with an item added that was shown at shown_at, without slices that leave the '
'window; the same value if it contains the item for as long, or if shown_at is before the window '
'of the last bloom_expire()';

CREATE FUNCTION bloom_add_at(filter bloom, items anyarray, shown_at timestamp with time zone[])
RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_at_array'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add_at(bloom, anyarray, timestamp with time zone[]) IS
'windowed filter with all items of an array added, each with its time in shown_at, without slices '
'that leave the window; error if the arrays differ in length';

CREATE FUNCTION bloom_expire(filter bloom, at timestamp with time zone) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_expire'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

COMMENT ON FUNCTION bloom_expire(bloom, timestamp with time zone) IS
'windowed filter without the slices that are wholly before the window that ends at the time; '
'later adds ignore items shown before that window';

CREATE FUNCTION bloom_union(a bloom, b bloom) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_union'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;

COMMENT ON FUNCTION bloom_union(bloom, bloom) IS
'filter that contains what either filter contains, at a false positive rate of at most the sum of '
'theirs; error if they differ in kind of items, counting or window';

CREATE OPERATOR | (
	LEFTARG = bloom, RIGHTARG = bloom,
	FUNCTION = bloom_union
);

COMMENT ON OPERATOR | (bloom, bloom) IS 'union';
