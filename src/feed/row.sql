-- The row of a user: its columns after an addition, and what it contains at a given time.  These
-- functions touch no table.  The scripts of feeds read and write the rows.
--
-- recent    hashes of the newest items, the newest first, all of one time slice
-- since     the start of that slice; NULL in a feed that never forgets
-- pending   how many of the newest items in "recent" come from the last take() and are still
--           unconfirmed
-- items     the filter of all other items
--
-- An addition is the hashes of items that were all shown at one time: "shown_at", or "present" if
-- that is earlier.  Feeds over a table leave out since, shown_at and present; with width
-- NULL they are ignored.

CREATE TYPE bloomexp.row_settings AS (
	width interval,
	slices integer,
	kind text,
	fpr double precision,
	capacity bigint
);

COMMENT ON TYPE bloomexp.row_settings IS
'the settings that all rows of a feed share: width and slices of the window, both NULL if rows '
'never forget; kind of the items; target rate of false positives; and, for rows that never forget, '
'the capacity of the first layer of a filter';

-- Scripts call this with named arguments, so they stay valid when the type gets another column.
CREATE FUNCTION bloomexp.make_row_settings(kind text, fpr double precision,
	width interval DEFAULT NULL, slices integer DEFAULT NULL, capacity bigint DEFAULT NULL)
RETURNS bloomexp.row_settings
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT ROW(width, slices, kind, fpr, capacity)::bloomexp.row_settings $$;

COMMENT ON FUNCTION bloomexp.make_row_settings IS
'the settings of the rows of a feed: with width and slices of a window, or with a capacity if '
'the feed never forgets';

CREATE FUNCTION bloomexp.items_after(items @extschema@.bloom, recent bigint[], hashes bigint[],
	settings bloomexp.row_settings, since timestamp with time zone DEFAULT NULL,
	shown_at timestamp with time zone DEFAULT NULL, present timestamp with time zone DEFAULT NULL)
RETURNS @extschema@.bloom
AS 'MODULE_PATHNAME', 'bloomexp_row_items_after'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.items_after IS
'the column "items" that a row has after an addition, given the old columns';

CREATE FUNCTION bloomexp.recent_after(recent bigint[], hashes bigint[],
	settings bloomexp.row_settings, since timestamp with time zone DEFAULT NULL,
	shown_at timestamp with time zone DEFAULT NULL, present timestamp with time zone DEFAULT NULL)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'bloomexp_row_recent_after'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.recent_after IS
'the column "recent" that a row has after an addition, given the old columns';

CREATE FUNCTION bloomexp.since_after(recent bigint[], hashes bigint[],
	settings bloomexp.row_settings, since timestamp with time zone DEFAULT NULL,
	shown_at timestamp with time zone DEFAULT NULL, present timestamp with time zone DEFAULT NULL)
RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'bloomexp_row_since_after'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.since_after IS
'the column "since" that a row has after an addition, given the old columns';

CREATE FUNCTION bloomexp.row_changes(items @extschema@.bloom, pending integer, recent bigint[],
	hashes bigint[], settings bloomexp.row_settings, since timestamp with time zone DEFAULT NULL,
	shown_at timestamp with time zone DEFAULT NULL, present timestamp with time zone DEFAULT NULL)
RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_row_changes'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.row_changes IS
'whether an addition changes a row: one of its hashes is new or confirms a pending item, or it '
'begins a slice; NULL if there is no row, so that pending or recent is NULL';

CREATE FUNCTION bloomexp.items_at(items @extschema@.bloom, at timestamp with time zone,
	settings bloomexp.row_settings)
RETURNS @extschema@.bloom
AS 'MODULE_PATHNAME', 'bloomexp_row_items_at'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.items_at IS
'the column "items" of a row without the slices that have left the window by the time "at"';

CREATE FUNCTION bloomexp.recent_at(recent bigint[], since timestamp with time zone,
	at timestamp with time zone, settings bloomexp.row_settings)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'bloomexp_row_recent_at'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.recent_at IS
'the column "recent" of a row; NULL if its slice has left the window by the time "at"';

CREATE FUNCTION bloomexp.fold(items @extschema@.bloom, recent bigint[],
	settings bloomexp.row_settings, since timestamp with time zone DEFAULT NULL,
	at timestamp with time zone DEFAULT NULL)
RETURNS @extschema@.bloom
AS 'MODULE_PATHNAME', 'bloomexp_row_fold'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.fold IS
'all items of a row as one filter; if a time is given, without the slices that have left the '
'window at that time';

CREATE FUNCTION bloomexp.among(items anyarray, hashes bigint[]) RETURNS anyarray
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
	-- exclude the items that are not among the hashes
	SELECT bloomexp.exclude_first(items, NULL, NULL,
		bloomexp.hashes(bloomexp.exclude(items, NULL, hashes)))
$$;

COMMENT ON FUNCTION bloomexp.among(anyarray, bigint[]) IS
'the distinct items whose hashes are in "hashes", in their order';

CREATE FUNCTION bloomexp.pages(user_ids anyarray, hashes bigint[],
	shown_at timestamp with time zone[], present timestamp with time zone,
	settings bloomexp.row_settings,
	OUT user_id anyelement, OUT since timestamp with time zone, OUT recent bigint[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'bloomexp_pages'
LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 1000;

COMMENT ON FUNCTION bloomexp.pages IS
'a batch of events grouped by user, as rows to insert, in the order of users by the collation of '
'user_ids. User i was shown the item of hash i at time i. An event with a NULL is ignored, and so '
'is one that has left the window at the time "present". A later time counts as "present". A user '
'whose items are of several slices, or more than "recent" holds, comes without hashes';
