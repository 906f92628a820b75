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
