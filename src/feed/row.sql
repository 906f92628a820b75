-- What a call makes of the row of a user that it has locked.  The scripts of feeds read and write
-- the row; these functions touch no table.
--
-- "recent" has the hashes of the newest items, the newest first, and "items" is the filter of the
-- others.  In a feed with a window all of "recent" lies in the slice that began at "since".  The
-- newest "pending" of them are those of the last take, as long as nothing has confirmed them.
--
-- Hashes are added with one time, "shown_at", or "present" if that is earlier.  "width" and
-- "slices" are those of the window.  "kind" of items and target rate "fpr", and without a window
-- the capacity of a first layer, are what is added to the filter with, whatever it had before.

CREATE FUNCTION bloomexp.items_after(items @extschema@.bloom, recent bigint[], hashes bigint[],
	kind text, fpr double precision, capacity bigint)
RETURNS @extschema@.bloom
AS 'MODULE_PATHNAME', 'bloomexp_items_after'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.items_after(@extschema@.bloom, bigint[], bigint[], text,
	double precision, bigint) IS
'"items" of a row after hashes are added, without a window';

CREATE FUNCTION bloomexp.items_after(items @extschema@.bloom, recent bigint[],
	since timestamp with time zone, hashes bigint[], shown_at timestamp with time zone,
	present timestamp with time zone, width interval, slices integer,
	kind text, fpr double precision)
RETURNS @extschema@.bloom
AS 'MODULE_PATHNAME', 'bloomexp_items_after_window'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.items_after(@extschema@.bloom, bigint[], timestamp with time zone,
	bigint[], timestamp with time zone, timestamp with time zone, interval, integer, text,
	double precision) IS
'"items" of a row after hashes are added';

CREATE FUNCTION bloomexp.recent_after(recent bigint[], hashes bigint[]) RETURNS bigint[]
AS 'MODULE_PATHNAME', 'bloomexp_recent_after'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.recent_after(bigint[], bigint[]) IS
'"recent" of a row after hashes are added, without a window';

CREATE FUNCTION bloomexp.recent_after(recent bigint[], since timestamp with time zone,
	hashes bigint[], shown_at timestamp with time zone,
	present timestamp with time zone, width interval, slices integer)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'bloomexp_recent_after_window'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.recent_after(bigint[], timestamp with time zone, bigint[],
	timestamp with time zone, timestamp with time zone, interval, integer) IS
'"recent" of a row after hashes are added';

CREATE FUNCTION bloomexp.since_after(recent bigint[], since timestamp with time zone,
	hashes bigint[], shown_at timestamp with time zone,
	present timestamp with time zone, width interval, slices integer)
RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'bloomexp_since_after'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.since_after(bigint[], timestamp with time zone, bigint[],
	timestamp with time zone, timestamp with time zone, interval, integer) IS
'"since" of a row after hashes are added';

CREATE FUNCTION bloomexp.row_changes(items @extschema@.bloom, pending integer, recent bigint[],
	hashes bigint[], kind text, fpr double precision, capacity bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_row_changes'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.row_changes(@extschema@.bloom, integer, bigint[], bigint[], text,
	double precision, bigint) IS
'whether a row has to be written when hashes are added, without a window: some are new, or confirm '
'what is pending; NULL if there is no row';

CREATE FUNCTION bloomexp.row_changes(items @extschema@.bloom, pending integer, recent bigint[],
	since timestamp with time zone, hashes bigint[], shown_at timestamp with time zone,
	present timestamp with time zone, width interval, slices integer,
	kind text, fpr double precision)
RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_row_changes_window'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.row_changes(@extschema@.bloom, integer, bigint[],
	timestamp with time zone, bigint[], timestamp with time zone, timestamp with time zone,
	interval, integer, text, double precision) IS
'whether a row has to be written when hashes are added: some are new, or confirm what is pending, '
'or a slice begins; NULL if there is no row';

CREATE FUNCTION bloomexp.fold(items @extschema@.bloom, recent bigint[],
	kind text, fpr double precision, capacity bigint)
RETURNS @extschema@.bloom
AS 'MODULE_PATHNAME', 'bloomexp_fold'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.fold(@extschema@.bloom, bigint[], text, double precision, bigint) IS
'all of a row as one filter, without a window';

CREATE FUNCTION bloomexp.fold(items @extschema@.bloom, recent bigint[],
	since timestamp with time zone, width interval, slices integer,
	kind text, fpr double precision)
RETURNS @extschema@.bloom
AS 'MODULE_PATHNAME', 'bloomexp_fold_window'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.fold(@extschema@.bloom, bigint[], timestamp with time zone,
	interval, integer, text, double precision) IS
'all of a row as one filter';

CREATE FUNCTION bloomexp.among(items anyarray, hashes bigint[]) RETURNS anyarray
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
	-- without those that are left when those among the hashes are left out
	SELECT bloomexp.exclude_first(items, NULL, NULL,
		bloomexp.hashes(bloomexp.exclude(items, NULL, hashes)))
$$;

COMMENT ON FUNCTION bloomexp.among(anyarray, bigint[]) IS
'the items whose hashes are among these, in their order and each once';
