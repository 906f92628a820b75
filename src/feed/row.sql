-- The row of a user: what a call makes of it, and what it says.  The scripts of feeds read and
-- write rows; these functions touch no table.
--
-- recent    hashes of the newest items, the newest first, all of one time slice
-- since     the start of that slice; NULL in a feed that never forgets
-- pending   how many of the newest items in "recent" the last take returned and nothing has
--           confirmed yet
-- items     the filter of all other items
--
-- A row after an addition: "hashes" were all shown at the time "shown_at", or at the time
-- "present" if that is earlier.  Feeds without a window leave out since, shown_at and present.

CREATE TYPE bloomexp.row_settings AS (
	width interval,
	slices integer,
	kind text,
	fpr double precision,
	capacity bigint
);

COMMENT ON TYPE bloomexp.row_settings IS
'what all rows of a feed have in common: width and slices of the window, NULL if it never '
'forgets; kind of the items; target rate; and without a window the capacity of the first layer '
'of a filter';

-- Scripts call this with named arguments, so they stay as they are when the type gets a column.
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

COMMENT ON FUNCTION bloomexp.items_after IS 'column "items" of a row after an addition';

CREATE FUNCTION bloomexp.recent_after(recent bigint[], hashes bigint[],
	settings bloomexp.row_settings, since timestamp with time zone DEFAULT NULL,
	shown_at timestamp with time zone DEFAULT NULL, present timestamp with time zone DEFAULT NULL)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'bloomexp_row_recent_after'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.recent_after IS 'column "recent" of a row after an addition';

CREATE FUNCTION bloomexp.since_after(recent bigint[], hashes bigint[],
	settings bloomexp.row_settings, since timestamp with time zone DEFAULT NULL,
	shown_at timestamp with time zone DEFAULT NULL, present timestamp with time zone DEFAULT NULL)
RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'bloomexp_row_since_after'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.since_after IS 'column "since" of a row after an addition';

CREATE FUNCTION bloomexp.row_changes(items @extschema@.bloom, pending integer, recent bigint[],
	hashes bigint[], settings bloomexp.row_settings, since timestamp with time zone DEFAULT NULL,
	shown_at timestamp with time zone DEFAULT NULL, present timestamp with time zone DEFAULT NULL)
RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_row_changes'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.row_changes IS
'whether an addition changes a row: a hash is new, confirms a pending one, or begins a slice; '
'NULL if there is no row';

CREATE FUNCTION bloomexp.items_at(items @extschema@.bloom, at timestamp with time zone,
	settings bloomexp.row_settings)
RETURNS @extschema@.bloom
AS 'MODULE_PATHNAME', 'bloomexp_row_items_at'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.items_at IS
'column "items" of a row without what has left the window at a time';

CREATE FUNCTION bloomexp.recent_at(recent bigint[], since timestamp with time zone,
	at timestamp with time zone, settings bloomexp.row_settings)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'bloomexp_row_recent_at'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.recent_at IS
'column "recent" of a row, or NULL if its slice has left the window at a time';

CREATE FUNCTION bloomexp.fold(items @extschema@.bloom, recent bigint[],
	settings bloomexp.row_settings, since timestamp with time zone DEFAULT NULL,
	at timestamp with time zone DEFAULT NULL)
RETURNS @extschema@.bloom
AS 'MODULE_PATHNAME', 'bloomexp_row_fold'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.fold IS
'all items of a row as one filter, without what has left the window at a time, if one is given';

CREATE FUNCTION bloomexp.among(items anyarray, hashes bigint[]) RETURNS anyarray
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
	-- what remains when the items that are not among the hashes are left out
	SELECT bloomexp.exclude_first(items, NULL, NULL,
		bloomexp.hashes(bloomexp.exclude(items, NULL, hashes)))
$$;

COMMENT ON FUNCTION bloomexp.among(anyarray, bigint[]) IS
'the items whose hashes are among these, each once, in their order';

CREATE FUNCTION bloomexp.pages(user_ids anyarray, hashes bigint[],
	shown_at timestamp with time zone[], present timestamp with time zone,
	settings bloomexp.row_settings,
	OUT user_id anyelement, OUT since timestamp with time zone, OUT recent bigint[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'bloomexp_pages'
LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 1000;

COMMENT ON FUNCTION bloomexp.pages IS
'a batch grouped by user, as rows to insert: user i was shown the item of hash i at time i, and '
'NULL is nobody, nothing or never; in the order of users, by the collation of user_ids. A user '
'whose items are of several slices, or more than "recent" holds, comes without hashes. What has '
'left the window at the time "present" does not count, and a later time counts as "present"';
