-- The schema bloomexp: functions that make and list feeds, and functions that feeds call.
--
-- The schema belongs to a superuser, even if another role has created the trusted extension.
-- Nobody else can create functions in it, so a call of bloomexp.fold(...) finds no function but
-- ours.  The schema of the type, in contrast, can belong to anybody, who could create a function
-- there that fits a call better.  Therefore the functions of the type that feeds call are declared
-- here a second time, with the same C code, and no function body names the type.
--
-- All functions run with the rights of their caller.

CREATE SCHEMA bloomexp;
GRANT USAGE ON SCHEMA bloomexp TO PUBLIC;

COMMENT ON SCHEMA bloomexp IS
'functions of bloomexp for feeds: create_feed(), feed_sql() and feeds() for users, and functions '
'that feeds call';

CREATE FUNCTION bloomexp.with_fpr(filter @extschema@.bloom, fpr double precision)
RETURNS @extschema@.bloom
AS 'MODULE_PATHNAME', 'bloomexp_with_fpr'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.with_fpr(@extschema@.bloom, double precision) IS
'bloom_with_fpr(), for feeds';

CREATE FUNCTION bloomexp.expire(filter @extschema@.bloom, at timestamp with time zone)
RETURNS @extschema@.bloom
AS 'MODULE_PATHNAME', 'bloomexp_expire'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.expire(@extschema@.bloom, timestamp with time zone) IS
'bloom_expire(), for feeds';

CREATE FUNCTION bloomexp."union"(a @extschema@.bloom, b @extschema@.bloom)
RETURNS @extschema@.bloom
AS 'MODULE_PATHNAME', 'bloomexp_union'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp."union"(@extschema@.bloom, @extschema@.bloom) IS
'bloom_union(), for feeds';

CREATE FUNCTION bloomexp.slice_start(shown_at timestamp with time zone, width interval,
	slices integer)
RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'bloomexp_slice_start'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.slice_start(timestamp with time zone, interval, integer) IS
'bloom_slice_start(), for feeds';

CREATE FUNCTION bloomexp.oldest_slice(at timestamp with time zone, width interval, slices integer)
RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'bloomexp_oldest_slice'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.oldest_slice(timestamp with time zone, interval, integer) IS
'the start of the oldest slice of a window that ends at this time';

CREATE FUNCTION bloomexp.hashes(items anyarray)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'bloomexp_hashes'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.hashes(anyarray) IS 'bloom_hashes(), for feeds';

CREATE FUNCTION bloomexp.hashes_with_nulls(items anyarray)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'bloomexp_hashes_with_nulls'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.hashes_with_nulls(anyarray) IS
'the hashes of the items, in their order; NULL for an item that is NULL';

CREATE FUNCTION bloomexp.hash(item anyelement)
RETURNS bigint
AS 'MODULE_PATHNAME', 'bloomexp_hash'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.hash(anyelement) IS
'the hash of an item, by which filters know it';

CREATE FUNCTION bloomexp.new_hashes(hashes bigint[], known bigint[])
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'bloomexp_new_hashes'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.new_hashes(bigint[], bigint[]) IS
'the distinct hashes that are not in "known", in their order';

CREATE FUNCTION bloomexp.exclude(candidates anyarray, filter @extschema@.bloom, hashes bigint[])
RETURNS anyarray
AS 'MODULE_PATHNAME', 'bloomexp_exclude_array_hashes'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.exclude(anyarray, @extschema@.bloom, bigint[]) IS
'bloom_exclude_array(), for feeds: candidates that are neither in the filter nor among the hashes';

CREATE FUNCTION bloomexp.exclude_first(candidates anyarray, filter @extschema@.bloom,
	wanted integer, hashes bigint[])
RETURNS anyarray
AS 'MODULE_PATHNAME', 'bloomexp_exclude_first_hashes'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.exclude_first(anyarray, @extschema@.bloom, integer, bigint[]) IS
'bloom_exclude_first(), for feeds: the first distinct candidates that are neither in the filter '
'nor among the hashes';

CREATE FUNCTION bloomexp.eq(@extschema@.bloom, @extschema@.bloom) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloomexp_eq'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.eq(@extschema@.bloom, @extschema@.bloom) IS
'bloom_eq(), for feeds';

CREATE FUNCTION bloomexp.cardinality(filter @extschema@.bloom) RETURNS bigint
AS 'MODULE_PATHNAME', 'bloomexp_cardinality'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.cardinality(@extschema@.bloom) IS
'bloom_cardinality(), for feeds';

CREATE FUNCTION bloomexp.info(
	filter @extschema@.bloom,
	OUT kind text,
	OUT items bigint,
	OUT capacity bigint,
	OUT fpr double precision,
	OUT fpr_now double precision,
	OUT bits bigint,
	OUT bits_set bigint,
	OUT fill double precision,
	OUT layers integer,
	OUT bytes bigint,
	OUT counting boolean,
	OUT window_width interval,
	OUT slices integer,
	OUT expired_before timestamp with time zone)
AS 'MODULE_PATHNAME', 'bloomexp_info'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bloomexp.info(@extschema@.bloom) IS 'bloom_info(), for feeds';

CREATE AGGREGATE bloomexp.agg(item anynonarray, fpr double precision) (
	SFUNC = @extschema@.bloom_agg_transition, STYPE = internal, SSPACE = 8192,
	FINALFUNC = @extschema@.bloom_agg_final, COMBINEFUNC = @extschema@.bloom_agg_combine,
	SERIALFUNC = @extschema@.bloom_agg_serialize, DESERIALFUNC = @extschema@.bloom_agg_deserialize,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE bloomexp.agg(anynonarray, double precision) IS
'bloom_agg(), for feeds';

CREATE FUNCTION bloomexp.oldest_transaction() RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'bloomexp_oldest_transaction'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION bloomexp.oldest_transaction() IS
'bloom_oldest_transaction(), for feeds';

CREATE FUNCTION bloomexp.require_autocommit(routine text) RETURNS void
AS 'MODULE_PATHNAME', 'bloomexp_require_autocommit'
LANGUAGE C VOLATILE STRICT;

COMMENT ON FUNCTION bloomexp.require_autocommit(text) IS
'raises an error that names the routine if it is called in a transaction block';

CREATE FUNCTION bloomexp.require_read_committed(routine text) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- PostgreSQL runs READ UNCOMMITTED as READ COMMITTED
	IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
		RAISE EXCEPTION '% needs isolation level READ COMMITTED', routine
			USING ERRCODE = 'feature_not_supported',
			DETAIL = 'A snapshot from before the lock does not show what others have committed '
				'since.',
			HINT = 'Call it after SET TRANSACTION ISOLATION LEVEL READ COMMITTED.';
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.require_read_committed(text) IS
'raises an error that names the routine unless the isolation level is READ COMMITTED: the routine '
'locks a row, and then must read the exposures in a new snapshot';

CREATE FUNCTION bloomexp.row_not_written(filters text) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'could not write or remove the row of a user in %', filters
		USING ERRCODE = 'object_not_in_prerequisite_state',
		HINT = 'Look for triggers and rules on this table, and check its index with amcheck.';
END
$$;

COMMENT ON FUNCTION bloomexp.row_not_written(text) IS
'raises an error: a row was not written or removed, probably because of a trigger or rule';

CREATE TABLE bloomexp.new_rows ();

COMMENT ON TABLE bloomexp.new_rows IS
'always empty: the transition table of a feed''s triggers has this name. In a trigger without a '
'transition table the name must find this table, and not a relation of somebody else';
