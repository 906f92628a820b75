CREATE PROCEDURE bloom_rebuild(
	target regclass,
	filter_column name DEFAULT NULL,
	source regclass DEFAULT NULL,
	user_column name DEFAULT NULL,
	item_column name DEFAULT NULL,
	time_column name DEFAULT NULL,
	width interval DEFAULT NULL,
	fpr double precision DEFAULT NULL,
	headroom double precision DEFAULT NULL,
	slices integer DEFAULT NULL,
	batch_size integer DEFAULT 1000,
	pause interval DEFAULT '0',
	start_after text DEFAULT NULL,
	rebuilt_at_column name DEFAULT NULL,
	dry_run boolean DEFAULT false,
	target_user_column name DEFAULT NULL,
	at timestamp with time zone DEFAULT NULL,
	condition text DEFAULT NULL,
	live_column name DEFAULT NULL,
	users text[] DEFAULT NULL,
	part integer DEFAULT 1,
	parts integer DEFAULT 1)
AS 'MODULE_PATHNAME', 'bloomexp_rebuild'
LANGUAGE C;

COMMENT ON PROCEDURE bloom_rebuild(regclass, name, regclass, name, name, name, interval, double precision, double precision, integer, integer, interval, text, name, boolean, name, timestamp with time zone, text, name, text[], integer, integer) IS
'builds every filter of a table, or those of some users or of a part of them, again from the exposures of a time window, in batches of users with a transaction each, while writers continue';

--
-- A dry run as a row.  On a cluster a rebuild calls it on the nodes: by its name, so its
-- arguments are those of bloom_rebuild(), and dry_run is always true.
--

CREATE FUNCTION bloom_dry_run(
	target regclass,
	filter_column name DEFAULT NULL,
	source regclass DEFAULT NULL,
	user_column name DEFAULT NULL,
	item_column name DEFAULT NULL,
	time_column name DEFAULT NULL,
	width interval DEFAULT NULL,
	fpr double precision DEFAULT NULL,
	headroom double precision DEFAULT NULL,
	slices integer DEFAULT NULL,
	batch_size integer DEFAULT 1000,
	pause interval DEFAULT '0',
	start_after text DEFAULT NULL,
	rebuilt_at_column name DEFAULT NULL,
	dry_run boolean DEFAULT true,
	target_user_column name DEFAULT NULL,
	at timestamp with time zone DEFAULT NULL,
	condition text DEFAULT NULL,
	live_column name DEFAULT NULL,
	users text[] DEFAULT NULL,
	part integer DEFAULT 1,
	parts integer DEFAULT 1,
	OUT exposures bigint,
	OUT filters bigint,
	OUT bytes bigint,
	OUT others bigint,
	OUT seconds double precision)
AS 'MODULE_PATHNAME', 'bloomexp_dry_run'
LANGUAGE C VOLATILE;

COMMENT ON FUNCTION bloom_dry_run(regclass, name, regclass, name, name, name, interval, double precision, double precision, integer, integer, interval, text, name, boolean, name, timestamp with time zone, text, name, text[], integer, integer) IS
'what bloom_rebuild would do with these arguments: exposures in the window, filters that they make, bytes of these, rows of other users, and seconds';
