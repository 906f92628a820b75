-- Sliding windows: every item has its time, and old ones are forgotten.

CREATE FUNCTION bloom_window(
	width interval,
	slices integer DEFAULT 6,
	fpr double precision DEFAULT 0.01)
RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_window'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

COMMENT ON FUNCTION bloom_window(interval, integer, double precision) IS
'an empty filter with a sliding window: an item is contained for width after its last exposure and forgotten at the latest one slice, width / slices, later, by bloom_expire() or when later items are added; fpr is the rate of any slices + 1 slices in a row together';

CREATE FUNCTION bloom_window(filter bloom, since timestamp with time zone, upto timestamp with time zone, fpr double precision) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_window_part'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

COMMENT ON FUNCTION bloom_window(bloom, timestamp with time zone, timestamp with time zone, double precision) IS
'a windowed filter with only those slices that begin at or after since and before upto, or any filter if both are NULL, which is no bound; fpr, if not null, is the target rate of what is added later';

CREATE FUNCTION bloom_add_at(filter bloom, item anynonarray, shown_at timestamp with time zone) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_at'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add_at(bloom, anynonarray, timestamp with time zone) IS
'a windowed filter with one item more, which was shown at a time; returned untouched if it contains the item for as long already, or if the time is before that up to which the filter was expired; without the slices that have left the window, if this begins a new one';

CREATE FUNCTION bloom_add_at(filter bloom, items anyarray, shown_at timestamp with time zone[]) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_add_at_array'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 400;

COMMENT ON FUNCTION bloom_add_at(bloom, anyarray, timestamp with time zone[]) IS
'a windowed filter with all items of an array more, each with its time, in one pass; without the slices that have left the window, if they begin a new one';

CREATE FUNCTION bloom_expire(filter bloom, at timestamp with time zone) RETURNS bloom
AS 'MODULE_PATHNAME', 'bloomexp_expire'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

COMMENT ON FUNCTION bloom_expire(bloom, timestamp with time zone) IS
'a windowed filter without the slices that lie wholly before the window that ends at a time; from then on items shown before that window are ignored';

CREATE FUNCTION bloom_agg_transition(internal, anynonarray, timestamp with time zone, interval, integer, double precision) RETURNS internal
AS 'MODULE_PATHNAME', 'bloomexp_window_agg'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloom_agg_transition(internal, anynonarray, timestamp with time zone, interval, integer, double precision) IS 'transition function of bloom_window_agg()';

CREATE AGGREGATE bloom_window_agg(item anynonarray, shown_at timestamp with time zone, width interval, slices integer, fpr double precision) (
	SFUNC = bloom_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = bloom_agg_final, COMBINEFUNC = bloom_agg_combine,
	SERIALFUNC = bloom_agg_serialize, DESERIALFUNC = bloom_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloom_window_agg(anynonarray, timestamp with time zone, interval, integer, double precision) IS
'one windowed filter of the exposures of all rows, with slices sized for their distinct items; an item goes into the slice of its newest exposure; with what bloom_window() takes by default: bloom_window_agg(item, shown_at, ''30 days'', 6, 0.01)';
