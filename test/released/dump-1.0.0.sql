--
-- PostgreSQL database dump
--



SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: bloomexp; Type: EXTENSION; Schema: -; Owner: -
--

CREATE EXTENSION IF NOT EXISTS bloomexp WITH SCHEMA public;


--
-- Name: EXTENSION bloomexp; Type: COMMENT; Schema: -; Owner: -
--

COMMENT ON EXTENSION bloomexp IS 'Bloom filters that keep a feed from showing an item twice';


--
-- Name: forever; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA forever;


--
-- Name: seen; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA seen;


--
-- Name: shown; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA shown;


--
-- Name: untracked; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA untracked;


--
-- Name: add(text, bigint[], timestamp with time zone); Type: FUNCTION; Schema: forever; Owner: -
--

CREATE FUNCTION forever.add(user_id text, items bigint[], shown_at timestamp with time zone DEFAULT clock_timestamp()) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	installed forever.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM forever.filters AS f WHERE false);
	settings CONSTANT bloomexp.row_settings :=
		bloomexp.make_row_settings(kind => 'integer', fpr => 0.001, capacity => 100);
	new_hashes bigint[] := bloomexp.hashes(items);
	present timestamp with time zone;
BEGIN
	IF add.user_id IS NULL OR shown_at IS NULL OR coalesce(cardinality(new_hashes), 0) = 0 THEN
		RETURN;	-- no user, no time or no item
	END IF;
	PERFORM forever.lock(add.user_id);
	present := clock_timestamp();	-- after the lock, so not before others' additions
	IF (SELECT bloomexp.row_changes(f.items, f.pending, f.recent, new_hashes, settings,
			f.since, shown_at, present)
		FROM forever.filters AS f WHERE f.user_id = add.user_id COLLATE pg_catalog."C") IS NOT FALSE THEN
		UPDATE forever.filters AS f SET
			since = bloomexp.since_after(f.recent, new_hashes, settings,
				f.since, shown_at, present),
			items = bloomexp.items_after(f.items, f.recent, new_hashes, settings,
				f.since, shown_at, present),
			pending = 0,
			recent = bloomexp.recent_after(f.recent, new_hashes, settings,
				f.since, shown_at, present)
		WHERE f.user_id = add.user_id COLLATE pg_catalog."C";
		IF NOT FOUND THEN
			PERFORM bloomexp.row_not_written('forever.filters');
		END IF;
	END IF;
END
$$;
ALTER FUNCTION forever.add(user_id text, items bigint[], shown_at timestamp with time zone) DEPENDS ON EXTENSION bloomexp;


--
-- Name: add_batch(text[], bigint[], timestamp with time zone[]); Type: FUNCTION; Schema: forever; Owner: -
--

CREATE FUNCTION forever.add_batch(user_ids text[], items bigint[], shown_at timestamp with time zone[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	installed forever.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM forever.filters AS f WHERE false);
	settings CONSTANT bloomexp.row_settings :=
		bloomexp.make_row_settings(kind => 'integer', fpr => 0.001, capacity => 100);
	present timestamp with time zone := clock_timestamp();
	new_hashes bigint[] := bloomexp.hashes_with_nulls(items);
	remaining pg_catalog.text[];
	addition record;	-- items that a user was shown in one slice
BEGIN
	-- Lock the rows of all users in the order of their ids, so that batches do not deadlock.  The
	-- same statement adds the items of each user whose events are one page: the items of one slice,
	-- which is not older than the slice of the row.  Such items are added at the start of their
	-- slice, so it does not matter that the clock was read before the lock.  Users with several
	-- pages have no hashes in "page": the statement only makes or locks their rows.
	WITH page AS MATERIALIZED (
		SELECT p.user_id, p.since, p.recent
		FROM bloomexp.pages(user_ids COLLATE pg_catalog."C", new_hashes, shown_at, present, settings) AS p),
	written AS (
		INSERT INTO forever.filters AS f (user_id, since, recent)
		SELECT p.user_id, p.since, p.recent FROM page AS p ORDER BY p.user_id
		ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET
			since = bloomexp.since_after(f.recent, excluded.recent, settings,
				f.since, excluded.since, excluded.since),
			items = bloomexp.items_after(f.items, f.recent, excluded.recent, settings,
				f.since, excluded.since, excluded.since),
			pending = 0,
			recent = bloomexp.recent_after(f.recent, excluded.recent, settings,
				f.since, excluded.since, excluded.since)
		WHERE (f.since > excluded.since) IS NOT TRUE	-- the page is not late
			AND bloomexp.row_changes(f.items, f.pending, f.recent, excluded.recent, settings,
				f.since, excluded.since, excluded.since)
		RETURNING f.user_id)
	SELECT array_agg(p.user_id) INTO remaining FROM page AS p
	WHERE cardinality(p.recent) = 0
		OR NOT EXISTS (SELECT FROM written AS w WHERE w.user_id = p.user_id);
	-- This raises an error if an older snapshot shows a row that others have removed since.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM FROM forever.filters AS f WHERE f.user_id = ANY (user_ids COLLATE pg_catalog."C") FOR UPDATE;
	END IF;
	IF remaining IS NULL THEN
		RETURN;
	END IF;

	-- Add the events of the remaining users: one user after another, one slice at a time, the
	-- oldest first.  "page" has one row per user, so group the events again.  The rows are locked,
	-- so call add() only if it will change the row: most of a batch that is repeated changes
	-- nothing.
	FOR addition IN
		SELECT b.user_id COLLATE pg_catalog."C" AS user_id, array_agg(b.item) AS items,
			max(b.shown_at) AS shown_at
		FROM ROWS FROM (unnest(user_ids), unnest(items), unnest(shown_at))
			AS b(user_id, item, shown_at)
		JOIN unnest(remaining) AS r(user_id) ON r.user_id = b.user_id COLLATE pg_catalog."C"
		WHERE b.item IS NOT NULL AND b.shown_at IS NOT NULL
		GROUP BY 1
		ORDER BY 1, 3
	LOOP
		IF (SELECT bloomexp.row_changes(f.items, f.pending, f.recent,
				bloomexp.hashes(addition.items), settings,
				f.since, addition.shown_at, present)
			FROM forever.filters AS f WHERE f.user_id = addition.user_id) IS NOT FALSE THEN
			PERFORM forever.add(addition.user_id, addition.items, addition.shown_at);
		END IF;
	END LOOP;
END
$$;
ALTER FUNCTION forever.add_batch(user_ids text[], items bigint[], shown_at timestamp with time zone[]) DEPENDS ON EXTENSION bloomexp;


--
-- Name: contains(text, bigint); Type: FUNCTION; Schema: forever; Owner: -
--

CREATE FUNCTION forever.contains(user_id text, item bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
	RETURN CASE WHEN item IS NOT NULL
		THEN cardinality(forever.unseen(user_id, ARRAY[item])) = 0 END;
END
$$;
ALTER FUNCTION forever.contains(user_id text, item bigint) DEPENDS ON EXTENSION bloomexp;


--
-- Name: current(text); Type: FUNCTION; Schema: forever; Owner: -
--

CREATE FUNCTION forever.current(user_id text) RETURNS public.bloom
    LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	installed forever.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM forever.filters AS f WHERE false);
	settings CONSTANT bloomexp.row_settings :=
		bloomexp.make_row_settings(kind => 'integer', fpr => 0.001, capacity => 100);
	filter forever.filters.items%TYPE;
BEGIN
	-- Not an assignment: Citus would send "filter" as a parameter that no node uses.
	SELECT bloomexp.fold(f.items, f.recent, settings, f.since, now()) INTO filter
	FROM forever.filters AS f WHERE f.user_id = current.user_id COLLATE pg_catalog."C";
	IF filter IS NULL THEN
		PERFORM bloomexp.require_not_rewritten('forever.filters');
	END IF;
	RETURN filter;
END
$$;
ALTER FUNCTION forever.current(user_id text) DEPENDS ON EXTENSION bloomexp;


--
-- Name: forget(text); Type: FUNCTION; Schema: forever; Owner: -
--

CREATE FUNCTION forever.forget(user_id text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
	installed forever.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM forever.filters AS f WHERE false);
BEGIN
	PERFORM bloomexp.forget_user('forever.filters', user_id);
END
$$;
ALTER FUNCTION forever.forget(user_id text) DEPENDS ON EXTENSION bloomexp;


--
-- Name: lock(text); Type: FUNCTION; Schema: forever; Owner: -
--

CREATE FUNCTION forever.lock(user_id text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
#variable_conflict use_variable
BEGIN
	INSERT INTO forever.filters AS f (user_id)
	SELECT lock.user_id COLLATE pg_catalog."C" WHERE lock.user_id IS NOT NULL	-- no row for a NULL user
	-- WHERE false: lock the row without writing it
	ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET pending = f.pending WHERE false;
	-- This raises an error if an older snapshot shows a row that others have removed since.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM FROM forever.filters AS f WHERE f.user_id = lock.user_id COLLATE pg_catalog."C" FOR UPDATE;
	END IF;
END
$$;
ALTER FUNCTION forever.lock(user_id text) DEPENDS ON EXTENSION bloomexp;


--
-- Name: merge(text, text); Type: FUNCTION; Schema: forever; Owner: -
--

CREATE FUNCTION forever.merge(from_user text, into_user text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
DECLARE
	installed forever.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM forever.filters AS f WHERE false);
BEGIN
	PERFORM bloomexp.merge_users('forever.filters', from_user, into_user,
		bloomexp.make_row_settings(kind => 'integer', fpr => 0.001, capacity => 100));
END
$$;
ALTER FUNCTION forever.merge(from_user text, into_user text) DEPENDS ON EXTENSION bloomexp;


--
-- Name: settings(); Type: FUNCTION; Schema: forever; Owner: -
--

CREATE FUNCTION forever.settings() RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    AS $$
SELECT '{"columns": {"item_column": null, "user_column": null}, "version": "1.0.0", "arguments": {"fpr": 0.001, "feed": "forever", "where": null, "width": null, "slices": null, "trigger": true, "capacity": null, "exposures": null, "item_type": null, "user_type": "text", "item_column": "item_id", "time_column": "shown_at", "user_column": "user_id"}, "exposures": null, "functions": {"add": ["bdf85a1451cb5976a3cd11368cdb9de6", "5541fb9c9ffc8ed3e4cc1e52aa315d8d", ["enable_seqscan=off", "row_security=off", "search_path=pg_catalog, pg_temp"]], "lock": ["5e5bf3f085b949770b6ae4e1622f4762", "3b4b1c84cd5c0f5808bf62154b1c2978", ["enable_seqscan=off", "row_security=off", "search_path=pg_catalog, pg_temp"]], "take": ["6ed72db65620c2d15262be496dde9c20", "95a9fea6a40356de5bde4f1ebe6b84f1", ["enable_seqscan=off", "row_security=off", "search_path=pg_catalog, pg_temp"]], "merge": ["83a9255f63440c82126c53d136d4ed0a", "11b9e774b5deddd67c3c713d09c5a780", ["row_security=off", "search_path=pg_catalog, pg_temp"]], "forget": ["f6ce2132e91d3a7d0755cbdc7809c6ae", "0a430c1ee64e6d46268442eb6f2dcf94", ["search_path=pg_catalog, pg_temp"]], "unseen": ["a767e7367935131f7b8b9321b93683fd", "1b9f4d0816f828761f6aacbb5222b3f3", ["enable_seqscan=off", "parallel safe", "row_security=off", "search_path=pg_catalog, pg_temp", "stable"]], "current": ["f77c4a399cecae14b61d90998db36f6a", "bc3c7fadfee3967f2c7b37da9c4296e7", ["enable_seqscan=off", "parallel safe", "row_security=off", "search_path=pg_catalog, pg_temp", "stable"]], "contains": ["d10394a626c93a7938159dce798b0a0a", "28e36f611f530329e7ca278493e2ff04", ["parallel safe", "search_path=pg_catalog, pg_temp", "stable"]], "add_batch": ["4b70442d1f11b6e24389eb42fe8a914a", "ac87b0f6f5fc0b78c1bdbcc11339a756", ["enable_seqscan=off", "row_security=off", "search_path=pg_catalog, pg_temp"]], "take_back": ["39af91bf9ce31bfc9ee5051e55d62e53", "febd4f4291d260c234888f3b915c326b", ["enable_seqscan=off", "row_security=off", "search_path=pg_catalog, pg_temp"]]}, "item_kind": "integer", "user_type": "pg_catalog.text COLLATE pg_catalog.\"C\""}'::pg_catalog.jsonb
$$;


--
-- Name: take(text, bigint[], integer); Type: FUNCTION; Schema: forever; Owner: -
--

CREATE FUNCTION forever.take(user_id text, candidates bigint[], wanted integer DEFAULT NULL::integer) RETURNS bigint[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	old_items forever.filters.items%TYPE;	-- an error if the extension was dropped
	old_recent bigint[];
	old_since timestamp with time zone;
	present timestamp with time zone;
	taken bigint[];
	new_hashes bigint[];
BEGIN
	-- Lock the row, and read the version that is locked.  This must be the first statement: if the
	-- extension was dropped, it must fail before any function of bloomexp is called.
	SELECT f.items, f.recent, f.since
	INTO old_items, old_recent, old_since
	FROM forever.filters AS f
	WHERE f.user_id = take.user_id COLLATE pg_catalog."C"
		-- On Citus this must find no row, so that lock() below locks the row by an INSERT: a move
		-- of the shard waits for an INSERT, but not for row locks.
		AND current_setting('citus.shard_count', true) IS NULL
	FOR NO KEY UPDATE;
	IF NOT FOUND THEN	-- a new user or NULL, or any user on Citus
		PERFORM forever.lock(take.user_id);
		SELECT f.items, f.recent, f.since
		INTO old_items, old_recent, old_since
		FROM forever.filters AS f WHERE f.user_id = take.user_id COLLATE pg_catalog."C";
	END IF;
	-- The lock of the table keeps the extension from being dropped now, so from here on functions
	-- of bloomexp may be called.
	DECLARE
		settings CONSTANT bloomexp.row_settings :=
			bloomexp.make_row_settings(kind => 'integer', fpr => 0.001, capacity => 100);
	BEGIN
		present := clock_timestamp();	-- after the lock, so not before others' additions
		taken := bloomexp.exclude_first(candidates,
			bloomexp.items_at(old_items, present, settings), wanted,
			bloomexp.recent_at(old_recent, old_since, present, settings));
		IF cardinality(taken) > 0 AND take.user_id IS NOT NULL THEN
			new_hashes := bloomexp.hashes(taken);
			UPDATE forever.filters AS f SET
				since = bloomexp.since_after(f.recent, new_hashes, settings,
					f.since, present, present),
				items = bloomexp.items_after(f.items, f.recent, new_hashes, settings,
					f.since, present, present),
				-- "taken" has no item twice, and none that is in "recent".  So its hashes become
				-- the first ones of "recent".  If there are too many, they go into "items", and
				-- none is pending.
				pending = CASE WHEN cardinality(taken) <= 247 THEN cardinality(taken) ELSE 0 END,
				recent = bloomexp.recent_after(f.recent, new_hashes, settings,
					f.since, present, present)
			WHERE f.user_id = take.user_id COLLATE pg_catalog."C";
			IF NOT FOUND THEN
				PERFORM bloomexp.row_not_written('forever.filters');
			END IF;
		END IF;
		RETURN taken;
	END;
END
$$;
ALTER FUNCTION forever.take(user_id text, candidates bigint[], wanted integer) DEPENDS ON EXTENSION bloomexp;


--
-- Name: take_back(text, bigint[]); Type: FUNCTION; Schema: forever; Owner: -
--

CREATE FUNCTION forever.take_back(user_id text, items bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
	installed forever.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM forever.filters AS f WHERE false);
	forgotten bigint[] := items;	-- narrowed down below
BEGIN
	PERFORM forever.lock(take_back.user_id);
	forgotten := (
		SELECT bloomexp.among(forgotten, f.recent[1 : f.pending])
		FROM forever.filters AS f WHERE f.user_id = take_back.user_id COLLATE pg_catalog."C");
	IF cardinality(forgotten) > 0 THEN
		UPDATE forever.filters AS f SET
			pending = f.pending - cardinality(forgotten),
			recent = bloomexp.new_hashes(f.recent, bloomexp.hashes(forgotten))
		WHERE f.user_id = take_back.user_id COLLATE pg_catalog."C";
		IF NOT FOUND THEN
			PERFORM bloomexp.row_not_written('forever.filters');
		END IF;
	END IF;
	RETURN coalesce(forgotten, ARRAY[]::bigint[]);
END
$$;
ALTER FUNCTION forever.take_back(user_id text, items bigint[]) DEPENDS ON EXTENSION bloomexp;


--
-- Name: unseen(text, bigint[]); Type: FUNCTION; Schema: forever; Owner: -
--

CREATE FUNCTION forever.unseen(user_id text, candidates bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	old_items forever.filters.items%TYPE;	-- an error if the extension was dropped
	old_recent bigint[];
	old_since timestamp with time zone;
BEGIN
	SELECT f.items, f.recent, f.since
	INTO old_items, old_recent, old_since
	FROM forever.filters AS f WHERE f.user_id = unseen.user_id COLLATE pg_catalog."C";
	IF NOT FOUND THEN
		PERFORM bloomexp.require_not_rewritten('forever.filters');
	END IF;
	DECLARE
		settings CONSTANT bloomexp.row_settings :=
			bloomexp.make_row_settings(kind => 'integer', fpr => 0.001, capacity => 100);
	BEGIN
		RETURN bloomexp.exclude(candidates,
			bloomexp.items_at(old_items, now(), settings),
			bloomexp.recent_at(old_recent, old_since, now(), settings));
	END;
END
$$;
ALTER FUNCTION forever.unseen(user_id text, candidates bigint[]) DEPENDS ON EXTENSION bloomexp;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: exposures; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.exposures (
    user_id bigint NOT NULL,
    item_id bigint NOT NULL,
    shown_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: filters; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.filters (
    name text NOT NULL,
    items public.bloom DEFAULT public.bloom_new((50)::bigint) NOT NULL,
    CONSTRAINT filters_items_check CHECK (((public.bloom_info(items)).bytes < 100000))
);


--
-- Name: refresh_filters(); Type: PROCEDURE; Schema: public; Owner: -
--

CREATE PROCEDURE public.refresh_filters()
    LANGUAGE sql
    BEGIN ATOMIC
 INSERT INTO public.filters (name, items)  SELECT ('user '::text || exposures.user_id),
             public.bloom_agg(exposures.item_id, (0.01)::double precision, (0.2)::double precision) AS bloom_agg
            FROM public.exposures
           WHERE (exposures.item_id <= 802)
           GROUP BY exposures.user_id ON CONFLICT(name) DO UPDATE SET items = excluded.items
   WHERE (filters.items OPERATOR(public.<>) excluded.items);
END;


--
-- Name: add(bigint, text[], timestamp with time zone); Type: FUNCTION; Schema: seen; Owner: -
--

CREATE FUNCTION seen.add(user_id bigint, items text[], shown_at timestamp with time zone DEFAULT clock_timestamp()) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	installed seen.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM seen.filters AS f WHERE false);
	settings CONSTANT bloomexp.row_settings :=
		bloomexp.make_row_settings(
			kind => 'text', fpr => 0.01, width => '40000 days', slices => 2);
	new_hashes bigint[] := bloomexp.hashes(items COLLATE pg_catalog."C");
	present timestamp with time zone;
BEGIN
	IF add.user_id IS NULL OR shown_at IS NULL OR coalesce(cardinality(new_hashes), 0) = 0 THEN
		RETURN;	-- no user, no time or no item
	-- the days of the window have 24 hours, even if clocks change
	ELSIF shown_at < clock_timestamp() - interval '960000:00:00' THEN
		RETURN;	-- it has left the window already
	END IF;
	PERFORM seen.lock(add.user_id);
	present := clock_timestamp();	-- after the lock, so not before others' additions
	IF (SELECT bloomexp.row_changes(f.items, f.pending, f.recent, new_hashes, settings,
			f.since, shown_at, present)
		FROM seen.filters AS f WHERE f.user_id = add.user_id) IS NOT FALSE THEN
		UPDATE seen.filters AS f SET
			since = bloomexp.since_after(f.recent, new_hashes, settings,
				f.since, shown_at, present),
			items = bloomexp.items_after(f.items, f.recent, new_hashes, settings,
				f.since, shown_at, present),
			pending = 0,
			recent = bloomexp.recent_after(f.recent, new_hashes, settings,
				f.since, shown_at, present)
		WHERE f.user_id = add.user_id;
		IF NOT FOUND THEN
			PERFORM bloomexp.row_not_written('seen.filters');
		END IF;
	END IF;
END
$$;
ALTER FUNCTION seen.add(user_id bigint, items text[], shown_at timestamp with time zone) DEPENDS ON EXTENSION bloomexp;


--
-- Name: add_batch(bigint[], text[], timestamp with time zone[]); Type: FUNCTION; Schema: seen; Owner: -
--

CREATE FUNCTION seen.add_batch(user_ids bigint[], items text[], shown_at timestamp with time zone[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	installed seen.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM seen.filters AS f WHERE false);
	settings CONSTANT bloomexp.row_settings :=
		bloomexp.make_row_settings(
			kind => 'text', fpr => 0.01, width => '40000 days', slices => 2);
	present timestamp with time zone := clock_timestamp();
	new_hashes bigint[] := bloomexp.hashes_with_nulls(items COLLATE pg_catalog."C");
	remaining bigint[];
	addition record;	-- items that a user was shown in one slice
BEGIN
	-- Lock the rows of all users in the order of their ids, so that batches do not deadlock.  The
	-- same statement adds the items of each user whose events are one page: the items of one slice,
	-- which is not older than the slice of the row.  Such items are added at the start of their
	-- slice, so it does not matter that the clock was read before the lock.  Users with several
	-- pages have no hashes in "page": the statement only makes or locks their rows.
	WITH page AS MATERIALIZED (
		SELECT p.user_id, p.since, p.recent
		FROM bloomexp.pages(user_ids, new_hashes, shown_at, present, settings) AS p),
	written AS (
		INSERT INTO seen.filters AS f (user_id, since, recent)
		SELECT p.user_id, p.since, p.recent FROM page AS p ORDER BY p.user_id
		ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET
			since = bloomexp.since_after(f.recent, excluded.recent, settings,
				f.since, excluded.since, excluded.since),
			items = bloomexp.items_after(f.items, f.recent, excluded.recent, settings,
				f.since, excluded.since, excluded.since),
			pending = 0,
			recent = bloomexp.recent_after(f.recent, excluded.recent, settings,
				f.since, excluded.since, excluded.since)
		WHERE (f.since > excluded.since) IS NOT TRUE	-- the page is not late
			AND bloomexp.row_changes(f.items, f.pending, f.recent, excluded.recent, settings,
				f.since, excluded.since, excluded.since)
		RETURNING f.user_id)
	SELECT array_agg(p.user_id) INTO remaining FROM page AS p
	WHERE cardinality(p.recent) = 0
		OR NOT EXISTS (SELECT FROM written AS w WHERE w.user_id = p.user_id);
	-- This raises an error if an older snapshot shows a row that others have removed since.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM FROM seen.filters AS f WHERE f.user_id = ANY (user_ids) FOR UPDATE;
	END IF;
	IF remaining IS NULL THEN
		RETURN;
	END IF;

	-- Add the events of the remaining users: one user after another, one slice at a time, the
	-- oldest first.  "page" has one row per user, so group the events again.  The rows are locked,
	-- so call add() only if it will change the row: most of a batch that is repeated changes
	-- nothing.
	FOR addition IN
		SELECT b.user_id AS user_id, array_agg(b.item) AS items,
			max(b.shown_at) AS shown_at
		FROM ROWS FROM (unnest(user_ids), unnest(items), unnest(shown_at))
			AS b(user_id, item, shown_at)
		JOIN unnest(remaining) AS r(user_id) ON r.user_id = b.user_id
		WHERE b.item IS NOT NULL AND b.shown_at >= present - interval '960000:00:00'
		GROUP BY 1,
			bloomexp.slice_start(LEAST(b.shown_at, present), '40000 days', 2)
		ORDER BY 1, 3
	LOOP
		IF (SELECT bloomexp.row_changes(f.items, f.pending, f.recent,
				bloomexp.hashes(addition.items COLLATE pg_catalog."C"), settings,
				f.since, addition.shown_at, present)
			FROM seen.filters AS f WHERE f.user_id = addition.user_id) IS NOT FALSE THEN
			PERFORM seen.add(addition.user_id, addition.items, addition.shown_at);
		END IF;
	END LOOP;
END
$$;
ALTER FUNCTION seen.add_batch(user_ids bigint[], items text[], shown_at timestamp with time zone[]) DEPENDS ON EXTENSION bloomexp;


--
-- Name: contains(bigint, text); Type: FUNCTION; Schema: seen; Owner: -
--

CREATE FUNCTION seen.contains(user_id bigint, item text) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
	RETURN CASE WHEN item IS NOT NULL
		THEN cardinality(seen.unseen(user_id, ARRAY[item])) = 0 END;
END
$$;
ALTER FUNCTION seen.contains(user_id bigint, item text) DEPENDS ON EXTENSION bloomexp;


--
-- Name: current(bigint); Type: FUNCTION; Schema: seen; Owner: -
--

CREATE FUNCTION seen.current(user_id bigint) RETURNS public.bloom
    LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	installed seen.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM seen.filters AS f WHERE false);
	settings CONSTANT bloomexp.row_settings :=
		bloomexp.make_row_settings(
			kind => 'text', fpr => 0.01, width => '40000 days', slices => 2);
	filter seen.filters.items%TYPE;
BEGIN
	-- Not an assignment: Citus would send "filter" as a parameter that no node uses.
	SELECT bloomexp.fold(f.items, f.recent, settings, f.since, now()) INTO filter
	FROM seen.filters AS f WHERE f.user_id = current.user_id;
	IF filter IS NULL THEN
		PERFORM bloomexp.require_not_rewritten('seen.filters');
	END IF;
	RETURN filter;
END
$$;
ALTER FUNCTION seen.current(user_id bigint) DEPENDS ON EXTENSION bloomexp;


--
-- Name: expire(interval, boolean, bigint); Type: PROCEDURE; Schema: seen; Owner: -
--

CREATE PROCEDURE seen.expire(IN pause interval DEFAULT '00:00:00'::interval, IN allow_removed boolean DEFAULT false, INOUT removed bigint DEFAULT 0)
    LANGUAGE plpgsql
    AS $$	-- no SET and no SECURITY DEFINER: with them it could not commit
BEGIN
	-- Keep the extension from being dropped before the procedure runs, and check that it exists.
	LOCK TABLE bloomexp.new_rows IN ACCESS SHARE MODE;
	IF NOT EXISTS (
		SELECT FROM pg_catalog.pg_depend AS d
		JOIN pg_catalog.pg_extension AS x ON x.oid OPERATOR(pg_catalog.=) d.refobjid
		WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
			AND d.objid OPERATOR(pg_catalog.=) 'bloomexp.new_rows'::pg_catalog.regclass
			AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
			AND d.deptype OPERATOR(pg_catalog.=) 'e'
			AND x.extname OPERATOR(pg_catalog.=) 'bloomexp') THEN
		RAISE EXCEPTION 'extension "bloomexp" was dropped'
			USING ERRCODE = 'object_not_in_prerequisite_state';
	END IF;
	CALL bloomexp.expire_filters('seen.expire_batch', NULL::bigint, pause, allow_removed,
		removed);
END
$$;
ALTER PROCEDURE seen.expire(IN pause interval, IN allow_removed boolean, INOUT removed bigint) DEPENDS ON EXTENSION bloomexp;


--
-- Name: expire_batch(bigint, boolean, bigint); Type: FUNCTION; Schema: seen; Owner: -
--

CREATE FUNCTION seen.expire_batch(INOUT after bigint, allow_removed boolean, INOUT removed bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
	installed seen.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM seen.filters AS f WHERE false);
BEGIN
	SELECT b.after, b.removed INTO after, removed
	FROM bloomexp.expire_batch('seen.filters', after, allow_removed, removed,
		'40000 days', 2) AS b;
END
$$;
ALTER FUNCTION seen.expire_batch(INOUT after bigint, allow_removed boolean, INOUT removed bigint) DEPENDS ON EXTENSION bloomexp;


--
-- Name: forget(bigint); Type: FUNCTION; Schema: seen; Owner: -
--

CREATE FUNCTION seen.forget(user_id bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
	installed seen.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM seen.filters AS f WHERE false);
BEGIN
	PERFORM bloomexp.forget_user('seen.filters', user_id);
END
$$;
ALTER FUNCTION seen.forget(user_id bigint) DEPENDS ON EXTENSION bloomexp;


--
-- Name: lock(bigint); Type: FUNCTION; Schema: seen; Owner: -
--

CREATE FUNCTION seen.lock(user_id bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
#variable_conflict use_variable
BEGIN
	INSERT INTO seen.filters AS f (user_id)
	SELECT lock.user_id WHERE lock.user_id IS NOT NULL	-- no row for a NULL user
	-- WHERE false: lock the row without writing it
	ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET pending = f.pending WHERE false;
	-- This raises an error if an older snapshot shows a row that others have removed since.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM FROM seen.filters AS f WHERE f.user_id = lock.user_id FOR UPDATE;
	END IF;
END
$$;
ALTER FUNCTION seen.lock(user_id bigint) DEPENDS ON EXTENSION bloomexp;


--
-- Name: merge(bigint, bigint); Type: FUNCTION; Schema: seen; Owner: -
--

CREATE FUNCTION seen.merge(from_user bigint, into_user bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
DECLARE
	installed seen.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM seen.filters AS f WHERE false);
BEGIN
	PERFORM bloomexp.merge_users('seen.filters', from_user, into_user,
		bloomexp.make_row_settings(
			kind => 'text', fpr => 0.01, width => '40000 days', slices => 2));
END
$$;
ALTER FUNCTION seen.merge(from_user bigint, into_user bigint) DEPENDS ON EXTENSION bloomexp;


--
-- Name: settings(); Type: FUNCTION; Schema: seen; Owner: -
--

CREATE FUNCTION seen.settings() RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    AS $$
SELECT '{"columns": {"item_column": null, "user_column": null}, "version": "1.0.0", "arguments": {"fpr": 0.01, "feed": "seen", "where": null, "width": "40000 days", "slices": 2, "trigger": true, "capacity": null, "exposures": null, "item_type": "text", "user_type": null, "item_column": "item_id", "time_column": "shown_at", "user_column": "user_id"}, "exposures": null, "functions": {"add": ["af174f60d2d07ebeb8f03bdbe840405c", "9c1eaba5fa283f268f3363db383676a0", ["enable_seqscan=off", "row_security=off", "search_path=pg_catalog, pg_temp"]], "lock": ["6d0c769ec77a5302b649c07a875d513f", "83c9cf40de730033a1909e69ba1af0de", ["enable_seqscan=off", "row_security=off", "search_path=pg_catalog, pg_temp"]], "take": ["c8be6cd70021c50c9bd19e076bf75b0b", "8d35d3952c373da5c4a0248ab3bd9474", ["enable_seqscan=off", "row_security=off", "search_path=pg_catalog, pg_temp"]], "merge": ["b3134a49d9f8a4a94e44218996d54967", "2034d6e0c3a4054fcd4a1f51e1bf5c2c", ["row_security=off", "search_path=pg_catalog, pg_temp"]], "expire": ["8b46699ecd2194117aca4bda03630b8a", "3ad4865b8d506dfbf98c14352c6c1ddf", []], "forget": ["2d350328e8333fee65bd73659772e80d", "8cab195b3c5e448e39be26d2a580d4f9", ["search_path=pg_catalog, pg_temp"]], "unseen": ["96e202884bc2d78763900d7524f66fde", "69d20bc73700589747124604a8f5ff27", ["enable_seqscan=off", "parallel safe", "row_security=off", "search_path=pg_catalog, pg_temp", "stable"]], "current": ["550624e01886acf522526930be562c69", "ec2c30d4460fac003cc98d3f9ac3b2a0", ["enable_seqscan=off", "parallel safe", "row_security=off", "search_path=pg_catalog, pg_temp", "stable"]], "contains": ["c19376d7b54f78cf88630b65d30bb92f", "8cb2ee856970bad30dcba94a8bb53197", ["parallel safe", "search_path=pg_catalog, pg_temp", "stable"]], "add_batch": ["9bea1a8491ac74b6c1650da5b0aca83e", "17a6cde66cb6a76284db57bf628ab432", ["enable_seqscan=off", "row_security=off", "search_path=pg_catalog, pg_temp"]], "take_back": ["fb65003a54f1a4598be8d28ba1ae654b", "f3a611fde0c69ec4d3b762ab9cdb57f7", ["enable_seqscan=off", "row_security=off", "search_path=pg_catalog, pg_temp"]], "expire_batch": ["3dd0774a1fe90f947f05a67f1e6e4a7e", "4e13c53163ea6c04d726d8ceae248fe2", ["search_path=pg_catalog, pg_temp"]]}, "item_kind": "text", "user_type": "bigint"}'::pg_catalog.jsonb
$$;


--
-- Name: take(bigint, text[], integer); Type: FUNCTION; Schema: seen; Owner: -
--

CREATE FUNCTION seen.take(user_id bigint, candidates text[], wanted integer DEFAULT NULL::integer) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	old_items seen.filters.items%TYPE;	-- an error if the extension was dropped
	old_recent bigint[];
	old_since timestamp with time zone;
	present timestamp with time zone;
	taken pg_catalog.text[];
	new_hashes bigint[];
BEGIN
	-- Lock the row, and read the version that is locked.  This must be the first statement: if the
	-- extension was dropped, it must fail before any function of bloomexp is called.
	SELECT f.items, f.recent, f.since
	INTO old_items, old_recent, old_since
	FROM seen.filters AS f
	WHERE f.user_id = take.user_id
		-- On Citus this must find no row, so that lock() below locks the row by an INSERT: a move
		-- of the shard waits for an INSERT, but not for row locks.
		AND current_setting('citus.shard_count', true) IS NULL
	FOR NO KEY UPDATE;
	IF NOT FOUND THEN	-- a new user or NULL, or any user on Citus
		PERFORM seen.lock(take.user_id);
		SELECT f.items, f.recent, f.since
		INTO old_items, old_recent, old_since
		FROM seen.filters AS f WHERE f.user_id = take.user_id;
	END IF;
	-- The lock of the table keeps the extension from being dropped now, so from here on functions
	-- of bloomexp may be called.
	DECLARE
		settings CONSTANT bloomexp.row_settings :=
			bloomexp.make_row_settings(
			kind => 'text', fpr => 0.01, width => '40000 days', slices => 2);
	BEGIN
		present := clock_timestamp();	-- after the lock, so not before others' additions
		taken := bloomexp.exclude_first(candidates COLLATE pg_catalog."C",
			bloomexp.items_at(old_items, present, settings), wanted,
			bloomexp.recent_at(old_recent, old_since, present, settings));
		IF cardinality(taken) > 0 AND take.user_id IS NOT NULL THEN
			new_hashes := bloomexp.hashes(taken COLLATE pg_catalog."C");
			UPDATE seen.filters AS f SET
				since = bloomexp.since_after(f.recent, new_hashes, settings,
					f.since, present, present),
				items = bloomexp.items_after(f.items, f.recent, new_hashes, settings,
					f.since, present, present),
				-- "taken" has no item twice, and none that is in "recent".  So its hashes become
				-- the first ones of "recent".  If there are too many, they go into "items", and
				-- none is pending.
				pending = CASE WHEN cardinality(taken) <= 247 THEN cardinality(taken) ELSE 0 END,
				recent = bloomexp.recent_after(f.recent, new_hashes, settings,
					f.since, present, present)
			WHERE f.user_id = take.user_id;
			IF NOT FOUND THEN
				PERFORM bloomexp.row_not_written('seen.filters');
			END IF;
		END IF;
		RETURN taken;
	END;
END
$$;
ALTER FUNCTION seen.take(user_id bigint, candidates text[], wanted integer) DEPENDS ON EXTENSION bloomexp;


--
-- Name: take_back(bigint, text[]); Type: FUNCTION; Schema: seen; Owner: -
--

CREATE FUNCTION seen.take_back(user_id bigint, items text[]) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
	installed seen.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM seen.filters AS f WHERE false);
	forgotten pg_catalog.text[] := items;	-- narrowed down below
BEGIN
	PERFORM seen.lock(take_back.user_id);
	forgotten := (
		SELECT bloomexp.among(forgotten COLLATE pg_catalog."C", f.recent[1 : f.pending])
		FROM seen.filters AS f WHERE f.user_id = take_back.user_id);
	IF cardinality(forgotten) > 0 THEN
		UPDATE seen.filters AS f SET
			pending = f.pending - cardinality(forgotten),
			recent = bloomexp.new_hashes(f.recent, bloomexp.hashes(forgotten COLLATE pg_catalog."C"))
		WHERE f.user_id = take_back.user_id;
		IF NOT FOUND THEN
			PERFORM bloomexp.row_not_written('seen.filters');
		END IF;
	END IF;
	RETURN coalesce(forgotten, ARRAY[]::pg_catalog.text[]);
END
$$;
ALTER FUNCTION seen.take_back(user_id bigint, items text[]) DEPENDS ON EXTENSION bloomexp;


--
-- Name: unseen(bigint, text[]); Type: FUNCTION; Schema: seen; Owner: -
--

CREATE FUNCTION seen.unseen(user_id bigint, candidates text[]) RETURNS text[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	old_items seen.filters.items%TYPE;	-- an error if the extension was dropped
	old_recent bigint[];
	old_since timestamp with time zone;
BEGIN
	SELECT f.items, f.recent, f.since
	INTO old_items, old_recent, old_since
	FROM seen.filters AS f WHERE f.user_id = unseen.user_id;
	IF NOT FOUND THEN
		PERFORM bloomexp.require_not_rewritten('seen.filters');
	END IF;
	DECLARE
		settings CONSTANT bloomexp.row_settings :=
			bloomexp.make_row_settings(
			kind => 'text', fpr => 0.01, width => '40000 days', slices => 2);
	BEGIN
		RETURN bloomexp.exclude(candidates COLLATE pg_catalog."C",
			bloomexp.items_at(old_items, now(), settings),
			bloomexp.recent_at(old_recent, old_since, now(), settings));
	END;
END
$$;
ALTER FUNCTION seen.unseen(user_id bigint, candidates text[]) DEPENDS ON EXTENSION bloomexp;


--
-- Name: contains(bigint, bigint); Type: FUNCTION; Schema: shown; Owner: -
--

CREATE FUNCTION shown.contains(user_id bigint, item bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
	RETURN CASE WHEN item IS NOT NULL
		THEN cardinality(shown.unseen(user_id, ARRAY[item])) = 0 END;
END
$$;
ALTER FUNCTION shown.contains(user_id bigint, item bigint) DEPENDS ON EXTENSION bloomexp;


--
-- Name: current(bigint); Type: FUNCTION; Schema: shown; Owner: -
--

CREATE FUNCTION shown.current(user_id bigint) RETURNS public.bloom
    LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	installed shown.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM shown.filters AS f WHERE false);
	settings CONSTANT bloomexp.row_settings :=
		bloomexp.make_row_settings(kind => 'integer', fpr => 0.01, capacity => 100);
	filter shown.filters.items%TYPE;
BEGIN
	SELECT bloomexp.fold(f.items, f.recent, settings) INTO filter
	FROM shown.filters AS f WHERE f.user_id = current.user_id;
	IF filter IS NULL THEN
		PERFORM bloomexp.require_not_rewritten('shown.filters');
	END IF;
	RETURN filter;
END
$$;
ALTER FUNCTION shown.current(user_id bigint) DEPENDS ON EXTENSION bloomexp;


--
-- Name: lock(bigint); Type: FUNCTION; Schema: shown; Owner: -
--

CREATE FUNCTION shown.lock(user_id bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
#variable_conflict use_variable
BEGIN
	INSERT INTO shown.filters AS f (user_id)
	SELECT lock.user_id WHERE lock.user_id IS NOT NULL	-- no row for a NULL user
	-- WHERE false: lock the row without writing it
	ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET pending = f.pending WHERE false;
	-- This raises an error if an older snapshot shows a row that others have removed since.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM FROM shown.filters AS f WHERE f.user_id = lock.user_id FOR UPDATE;
	END IF;
END
$$;
ALTER FUNCTION shown.lock(user_id bigint) DEPENDS ON EXTENSION bloomexp;


--
-- Name: rebuild(bigint[], bigint, bigint, interval, boolean, boolean, bigint, bigint, bigint, bigint); Type: PROCEDURE; Schema: shown; Owner: -
--

CREATE PROCEDURE shown.rebuild(IN users bigint[] DEFAULT NULL::bigint[], IN after bigint DEFAULT NULL::bigint, IN upto bigint DEFAULT NULL::bigint, IN pause interval DEFAULT '00:00:00'::interval, IN dry_run boolean DEFAULT false, IN allow_removed boolean DEFAULT false, INOUT exposures bigint DEFAULT 0, INOUT filters bigint DEFAULT 0, INOUT bytes bigint DEFAULT 0, INOUT removed bigint DEFAULT 0)
    LANGUAGE plpgsql
    AS $$	-- no SET and no SECURITY DEFINER: with them it could not commit
BEGIN
	-- Keep the extension from being dropped before the procedure runs, and check that it exists.
	LOCK TABLE bloomexp.new_rows IN ACCESS SHARE MODE;
	IF NOT EXISTS (
		SELECT FROM pg_catalog.pg_depend AS d
		JOIN pg_catalog.pg_extension AS x ON x.oid OPERATOR(pg_catalog.=) d.refobjid
		WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
			AND d.objid OPERATOR(pg_catalog.=) 'bloomexp.new_rows'::pg_catalog.regclass
			AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
			AND d.deptype OPERATOR(pg_catalog.=) 'e'
			AND x.extname OPERATOR(pg_catalog.=) 'bloomexp') THEN
		RAISE EXCEPTION 'extension "bloomexp" was dropped'
			USING ERRCODE = 'object_not_in_prerequisite_state';
	END IF;
	CALL bloomexp.rebuild_filters('shown.rebuild_batch', 'shown.filters',
		users, after, upto, pause, true, NULL, dry_run, allow_removed,
		exposures, filters, bytes, removed);
END
$$;
ALTER PROCEDURE shown.rebuild(IN users bigint[], IN after bigint, IN upto bigint, IN pause interval, IN dry_run boolean, IN allow_removed boolean, INOUT exposures bigint, INOUT filters bigint, INOUT bytes bigint, INOUT removed bigint) DEPENDS ON EXTENSION bloomexp;


--
-- Name: rebuild_batch(bigint[], bigint, bigint, integer, boolean, boolean, bloomexp.rebuild_counts); Type: FUNCTION; Schema: shown; Owner: -
--

CREATE FUNCTION shown.rebuild_batch(users bigint[], INOUT after bigint, upto bigint, size integer, dry_run boolean, allow_removed boolean, INOUT counts bloomexp.rebuild_counts, OUT busy bigint[]) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
	installed shown.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM shown.filters AS f WHERE false);
	result record;
BEGIN
	SELECT b.after, b.counts, b.busy INTO result
	FROM bloomexp.rebuild_batch(
		filters => 'shown.filters', exposures => 'public.exposures',
		user_column => 'user_id',
		exposed_query => 'SELECT e.user_id, e.item_id::bigint
		FROM public.exposures AS e
		WHERE e.user_id IS NOT NULL AND e.item_id IS NOT NULL
			AND e.shown_at >= $1',
		width => '100 years', fpr => 0.01,
		wanted => users, after => after, upto => upto, size => size,
		dry_run => dry_run, allow_removed => allow_removed, counts => counts,
		has_triggers => true) AS b;
	after := result.after;
	counts := result.counts;
	busy := result.busy;
END
$_$;
ALTER FUNCTION shown.rebuild_batch(users bigint[], INOUT after bigint, upto bigint, size integer, dry_run boolean, allow_removed boolean, INOUT counts bloomexp.rebuild_counts, OUT busy bigint[]) DEPENDS ON EXTENSION bloomexp;


--
-- Name: settings(); Type: FUNCTION; Schema: shown; Owner: -
--

CREATE FUNCTION shown.settings() RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    AS $$
SELECT '{"columns": {"item_column": 2, "user_column": 1}, "version": "1.0.0", "arguments": {"fpr": 0.01, "feed": "shown", "where": null, "width": "100 years", "slices": null, "trigger": true, "capacity": null, "exposures": "public.exposures", "item_type": null, "user_type": null, "item_column": "item_id", "time_column": "shown_at", "user_column": "user_id"}, "exposures": "16627", "functions": {"lock": ["8f12bd74d505d3911152323bab25d2f1", "b0a60cb4aa1fc5cf6d4c643679d897b5", ["enable_seqscan=off", "row_security=off", "search_path=pg_catalog, pg_temp"]], "take": ["4d2c240034f37c59ff2a79e6fca5fe3f", "40c04da91cab735ef442b3effc839d05", ["enable_seqscan=off", "row_security=off", "search_path=pg_catalog, pg_temp"]], "track": ["f410726a9a6f9dbaeedf0bcd8f784b60", "3c35ac9eecb8ee4950ef839974c34f13", ["enable_seqscan=off", "row_security=off", "search_path=pg_catalog, bloomexp, pg_temp", "timezone=utc"]], "unseen": ["ead6cd550e08154c2889512affcce25a", "0a5b5a28e9f356992ff98f50bc917cd5", ["enable_seqscan=off", "parallel safe", "row_security=off", "search_path=pg_catalog, pg_temp", "stable"]], "current": ["0c61ededd1f5ba2c8e9d6208a2c4ec87", "64a04dc10ac51bf80480a1529beb4832", ["enable_seqscan=off", "parallel safe", "row_security=off", "search_path=pg_catalog, pg_temp", "stable"]], "rebuild": ["867d2ecbaa9d3f80b8d5defdab63483b", "69091a46bf2269245cc6cb3019d47732", []], "contains": ["4517638394418301fc177f2942afe416", "3ce0ea1744af75d3876e9723f6d002fb", ["parallel safe", "search_path=pg_catalog, pg_temp", "stable"]], "take_back": ["b8ad59b2017491c5c061b1696c2e3715", "744ccd2709bff9014771197a905d6436", ["enable_seqscan=off", "jit=off", "row_security=off", "search_path=pg_catalog, pg_temp", "timezone=utc"]], "rebuild_batch": ["5366126b55f95a59b7a2cf7b580c8287", "5128e29e015ca6e8d79cf82925a73e3f", ["search_path=pg_catalog, pg_temp"]]}, "item_kind": "integer", "user_type": "bigint"}'::pg_catalog.jsonb
$$;


--
-- Name: take(bigint, bigint[], integer); Type: FUNCTION; Schema: shown; Owner: -
--

CREATE FUNCTION shown.take(user_id bigint, candidates bigint[], wanted integer DEFAULT NULL::integer) RETURNS bigint[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	old_items shown.filters.items%TYPE;	-- an error if the extension was dropped
	old_recent bigint[];
	taken bigint[];
	new_hashes bigint[];
BEGIN
	-- Lock the row, and read the version that is locked.  This must be the first statement: if the
	-- extension was dropped, it must fail before any function of bloomexp is called.
	SELECT f.items, f.recent
	INTO old_items, old_recent
	FROM shown.filters AS f
	WHERE f.user_id = take.user_id
	FOR NO KEY UPDATE;
	IF NOT FOUND THEN	-- a new user or NULL
		PERFORM shown.lock(take.user_id);
		SELECT f.items, f.recent
		INTO old_items, old_recent
		FROM shown.filters AS f WHERE f.user_id = take.user_id;
	END IF;
	-- The lock of the table keeps the extension from being dropped now, so from here on functions
	-- of bloomexp may be called.
	DECLARE
		settings CONSTANT bloomexp.row_settings :=
			bloomexp.make_row_settings(kind => 'integer', fpr => 0.01, capacity => 100);
	BEGIN
		taken := bloomexp.exclude_first(candidates, old_items, wanted, old_recent);
		IF cardinality(taken) > 0 AND take.user_id IS NOT NULL THEN
			new_hashes := bloomexp.hashes(taken);
			UPDATE shown.filters AS f SET
				items = bloomexp.items_after(f.items, f.recent, new_hashes, settings),
				-- "taken" has no item twice, and none that is in "recent".  So its hashes become
				-- the first ones of "recent".  If there are too many, they go into "items", and
				-- none is pending.
				pending = CASE WHEN cardinality(taken) <= 247 THEN cardinality(taken) ELSE 0 END,
				recent = bloomexp.recent_after(f.recent, new_hashes, settings)
			WHERE f.user_id = take.user_id;
			IF NOT FOUND THEN
				PERFORM bloomexp.row_not_written('shown.filters');
			END IF;
		END IF;
		RETURN taken;
	END;
END
$$;
ALTER FUNCTION shown.take(user_id bigint, candidates bigint[], wanted integer) DEPENDS ON EXTENSION bloomexp;


--
-- Name: take_back(bigint, bigint[]); Type: FUNCTION; Schema: shown; Owner: -
--

CREATE FUNCTION shown.take_back(user_id bigint, items bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET row_security TO 'off'
    SET "TimeZone" TO 'UTC'
    AS $$
#variable_conflict use_variable
DECLARE
	installed shown.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM shown.filters AS f WHERE false);
	forgotten bigint[] := items;	-- narrowed down below
	exposed_hashes bigint[];
BEGIN
	PERFORM bloomexp.require_read_committed('take_back()');
	PERFORM shown.lock(take_back.user_id);
	PERFORM bloomexp.require_trusted('public.exposures');
	PERFORM bloomexp.require_trusted(t, missing_ok => true)
	FROM bloomexp.tables_of('public.exposures') AS t;
	-- A statement after the lock, which sees what others have committed before.
	exposed_hashes := ARRAY(
		SELECT bloomexp.hash(e.item_id::bigint)
		FROM public.exposures AS e
		WHERE e.user_id = take_back.user_id
			AND e.user_id IS NOT NULL AND e.item_id IS NOT NULL
			AND e.shown_at >= (now() - interval '100 years'));
	forgotten := bloomexp.exclude(forgotten, NULL, exposed_hashes);
	forgotten := (
		SELECT bloomexp.among(forgotten, f.recent[1 : f.pending])
		FROM shown.filters AS f WHERE f.user_id = take_back.user_id);
	IF cardinality(forgotten) > 0 THEN
		UPDATE shown.filters AS f SET
			pending = f.pending - cardinality(forgotten),
			recent = bloomexp.new_hashes(f.recent, bloomexp.hashes(forgotten))
		WHERE f.user_id = take_back.user_id;
		IF NOT FOUND THEN
			PERFORM bloomexp.row_not_written('shown.filters');
		END IF;
	END IF;
	RETURN coalesce(forgotten, ARRAY[]::bigint[]);
END
$$;
ALTER FUNCTION shown.take_back(user_id bigint, items bigint[]) DEPENDS ON EXTENSION bloomexp;


--
-- Name: track(); Type: FUNCTION; Schema: shown; Owner: -
--

CREATE FUNCTION shown.track() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'bloomexp', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    SET "TimeZone" TO 'UTC'
    AS $$	-- right even if the time column changes its type
#variable_conflict use_variable
DECLARE
	installed shown.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM shown.filters AS f WHERE false);
	settings CONSTANT bloomexp.row_settings :=
		bloomexp.make_row_settings(kind => 'integer', fpr => 0.01, capacity => 100);
	window_start CONSTANT timestamp with time zone := now() - interval '100 years';
	users bigint[];	-- users[i] was shown the item of new_hashes[i]
	new_hashes bigint[];
	changes boolean;
	missing record;	-- a user whose row lacks some of these hashes
BEGIN
	PERFORM bloomexp.require_trusted(TG_RELID);
	IF TG_OP NOT IN ('INSERT', 'UPDATE') THEN
		RAISE EXCEPTION 'track() must be called by a trigger for INSERT or UPDATE'
			USING ERRCODE = 'trigger_protocol_violated';
	END IF;

	-- Most statements insert a page: a few items of one user.  Lock the user's row even if nothing
	-- is new, because a rebuild waits for that lock.  row_changes() gets 0 as "pending", because
	-- exposures need not confirm items: take_back() reads the exposures itself.
	SELECT array_agg(p.user_id), array_agg(p.hash) INTO users, new_hashes
	FROM (
		SELECT e.user_id AS user_id, bloomexp.hash(e.item_id::bigint) AS hash
		FROM new_rows AS e
		WHERE e.user_id IS NOT NULL AND e.item_id IS NOT NULL
			AND e.shown_at >= window_start
		LIMIT 248) AS p;
	IF users IS NULL THEN
		RETURN NULL;	-- no new row is an exposure in the window
	ELSIF cardinality(users) <= 247 AND users[1] = ALL (users) THEN
		SELECT bloomexp.row_changes(f.items, 0, f.recent, new_hashes, settings) INTO changes
		FROM shown.filters AS f WHERE f.user_id = users[1] FOR NO KEY UPDATE;
		IF changes THEN
			UPDATE shown.filters AS f SET
				items = bloomexp.items_after(f.items, f.recent, new_hashes, settings),
				pending = 0,
				recent = bloomexp.recent_after(f.recent, new_hashes, settings)
			WHERE f.user_id = users[1];
			IF NOT FOUND THEN
				PERFORM bloomexp.row_not_written('shown.filters');
			END IF;
		END IF;
		IF changes IS NOT NULL THEN
			RETURN NULL;
		END IF;	-- else the user has no row
	END IF;

	-- Lock the rows of all users in the order of their ids, so that two statements do not deadlock,
	-- and add the items.  Those of users with more than 247 follow in the loop below.
	INSERT INTO shown.filters AS f (user_id, recent)
	SELECT p.user_id,
		CASE WHEN cardinality(p.hashes) <= 247 THEN p.hashes ELSE ARRAY[]::bigint[] END
	FROM (
		SELECT e.user_id AS user_id, bloomexp.new_hashes(
			array_agg(bloomexp.hash(e.item_id::bigint)), ARRAY[]::bigint[]) AS hashes
		FROM new_rows AS e
		WHERE e.user_id IS NOT NULL AND e.item_id IS NOT NULL
			AND e.shown_at >= window_start
		GROUP BY 1) AS p
	ORDER BY p.user_id
	ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET
		items = bloomexp.items_after(f.items, f.recent, excluded.recent, settings),
		pending = 0,
		recent = bloomexp.recent_after(f.recent, excluded.recent, settings)
	WHERE bloomexp.row_changes(f.items, 0, f.recent, excluded.recent, settings);
	-- This raises an error if an older snapshot shows a row that a rebuild has removed since.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM FROM shown.filters AS f
		WHERE f.user_id = ANY (ARRAY(	-- not a join, which need not visit all users
			SELECT e.user_id FROM new_rows AS e
			WHERE e.user_id IS NOT NULL AND e.item_id IS NOT NULL
				AND e.shown_at >= window_start))
		FOR UPDATE;
	END IF;
	-- Add what the rows still lack: the items of users with more than 247, and items whose write
	-- above a trigger or rule has suppressed.  If this UPDATE is suppressed, too, raise an error.
	-- A subquery looks up each row: the planner does not know how many exposures are new, and with
	-- a join it might read the whole table of filters.
	FOR missing IN
		SELECT p.user_id::bigint AS user_id, p.hashes
		FROM (
			SELECT e.user_id AS user_id,
				array_agg(bloomexp.hash(e.item_id::bigint)) AS hashes
			FROM new_rows AS e
			WHERE e.user_id IS NOT NULL AND e.item_id IS NOT NULL
				AND e.shown_at >= window_start
			GROUP BY 1) AS p
		WHERE (
			SELECT bloomexp.row_changes(f.items, 0, f.recent, p.hashes, settings)
			FROM shown.filters AS f WHERE f.user_id = p.user_id) IS NOT FALSE
	LOOP
		UPDATE shown.filters AS f SET
			items = bloomexp.items_after(f.items, f.recent, missing.hashes, settings),
			pending = 0,
			recent = bloomexp.recent_after(f.recent, missing.hashes, settings)
		WHERE f.user_id = missing.user_id;
		IF NOT FOUND THEN
			PERFORM bloomexp.row_not_written('shown.filters');
		END IF;
	END LOOP;
	RETURN NULL;
END
$$;
ALTER FUNCTION shown.track() DEPENDS ON EXTENSION bloomexp;


--
-- Name: unseen(bigint, bigint[]); Type: FUNCTION; Schema: shown; Owner: -
--

CREATE FUNCTION shown.unseen(user_id bigint, candidates bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	old_items shown.filters.items%TYPE;	-- an error if the extension was dropped
	old_recent bigint[];
BEGIN
	SELECT f.items, f.recent
	INTO old_items, old_recent
	FROM shown.filters AS f WHERE f.user_id = unseen.user_id;
	IF NOT FOUND THEN
		PERFORM bloomexp.require_not_rewritten('shown.filters');
	END IF;
	RETURN bloomexp.exclude(candidates, old_items, old_recent);
END
$$;
ALTER FUNCTION shown.unseen(user_id bigint, candidates bigint[]) DEPENDS ON EXTENSION bloomexp;


--
-- Name: contains(bigint, bigint); Type: FUNCTION; Schema: untracked; Owner: -
--

CREATE FUNCTION untracked.contains(user_id bigint, item bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
	RETURN CASE WHEN item IS NOT NULL
		THEN cardinality(untracked.unseen(user_id, ARRAY[item])) = 0 END;
END
$$;
ALTER FUNCTION untracked.contains(user_id bigint, item bigint) DEPENDS ON EXTENSION bloomexp;


--
-- Name: current(bigint); Type: FUNCTION; Schema: untracked; Owner: -
--

CREATE FUNCTION untracked.current(user_id bigint) RETURNS public.bloom
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	installed untracked.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM untracked.filters AS f WHERE false);
	settings CONSTANT bloomexp.row_settings :=
		bloomexp.make_row_settings(kind => 'integer', fpr => 0.01, capacity => 100);
BEGIN
	RETURN (
		SELECT bloomexp.fold(f.items, f.recent, settings)
		FROM untracked.shown(current.user_id) AS f);
END
$$;
ALTER FUNCTION untracked.current(user_id bigint) DEPENDS ON EXTENSION bloomexp;


--
-- Name: lock(bigint); Type: FUNCTION; Schema: untracked; Owner: -
--

CREATE FUNCTION untracked.lock(user_id bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	installed untracked.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM untracked.filters AS f WHERE false);
BEGIN
	PERFORM bloomexp.require_read_committed('lock(), which take() calls,');
	IF EXISTS (SELECT FROM pg_foreign_table) THEN	-- few databases have any
		PERFORM bloomexp.require_first_use('public.exposures');
	END IF;
	INSERT INTO untracked.filters AS f (user_id)
	SELECT lock.user_id WHERE lock.user_id IS NOT NULL	-- no row for a NULL user
	-- WHERE false: lock the row without writing it
	ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET pending = f.pending WHERE false;
END
$$;
ALTER FUNCTION untracked.lock(user_id bigint) DEPENDS ON EXTENSION bloomexp;


--
-- Name: rebuild(bigint[], bigint, bigint, interval, interval, boolean, boolean, bigint, bigint, bigint, bigint); Type: PROCEDURE; Schema: untracked; Owner: -
--

CREATE PROCEDURE untracked.rebuild(IN users bigint[] DEFAULT NULL::bigint[], IN after bigint DEFAULT NULL::bigint, IN upto bigint DEFAULT NULL::bigint, IN pause interval DEFAULT '00:00:00'::interval, IN overlap interval DEFAULT '00:10:00'::interval, IN dry_run boolean DEFAULT false, IN allow_removed boolean DEFAULT false, INOUT exposures bigint DEFAULT 0, INOUT filters bigint DEFAULT 0, INOUT bytes bigint DEFAULT 0, INOUT removed bigint DEFAULT 0)
    LANGUAGE plpgsql
    AS $$	-- no SET and no SECURITY DEFINER: with them it could not commit
BEGIN
	-- Keep the extension from being dropped before the procedure runs, and check that it exists.
	LOCK TABLE bloomexp.new_rows IN ACCESS SHARE MODE;
	IF NOT EXISTS (
		SELECT FROM pg_catalog.pg_depend AS d
		JOIN pg_catalog.pg_extension AS x ON x.oid OPERATOR(pg_catalog.=) d.refobjid
		WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
			AND d.objid OPERATOR(pg_catalog.=) 'bloomexp.new_rows'::pg_catalog.regclass
			AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
			AND d.deptype OPERATOR(pg_catalog.=) 'e'
			AND x.extname OPERATOR(pg_catalog.=) 'bloomexp') THEN
		RAISE EXCEPTION 'extension "bloomexp" was dropped'
			USING ERRCODE = 'object_not_in_prerequisite_state';
	END IF;
	CALL bloomexp.rebuild_filters('untracked.rebuild_batch', 'untracked.filters',
		users, after, upto, pause, false, overlap, dry_run, allow_removed,
		exposures, filters, bytes, removed);
END
$$;
ALTER PROCEDURE untracked.rebuild(IN users bigint[], IN after bigint, IN upto bigint, IN pause interval, IN overlap interval, IN dry_run boolean, IN allow_removed boolean, INOUT exposures bigint, INOUT filters bigint, INOUT bytes bigint, INOUT removed bigint) DEPENDS ON EXTENSION bloomexp;


--
-- Name: rebuild_batch(bigint[], bigint, bigint, integer, boolean, boolean, bloomexp.rebuild_counts, interval); Type: FUNCTION; Schema: untracked; Owner: -
--

CREATE FUNCTION untracked.rebuild_batch(users bigint[], INOUT after bigint, upto bigint, size integer, dry_run boolean, allow_removed boolean, INOUT counts bloomexp.rebuild_counts, overlap interval, OUT busy bigint[]) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
	installed untracked.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM untracked.filters AS f WHERE false);
	result record;
BEGIN
	SELECT b.after, b.counts, b.busy INTO result
	FROM bloomexp.rebuild_batch(
		filters => 'untracked.filters', exposures => 'public.exposures',
		user_column => 'user_id',
		exposed_query => 'SELECT e.user_id, e.item_id::bigint
		FROM public.exposures AS e
		WHERE e.user_id IS NOT NULL AND e.item_id IS NOT NULL
			AND e.shown_at >= $1',
		width => '100 years', fpr => 0.01,
		wanted => users, after => after, upto => upto, size => size,
		dry_run => dry_run, allow_removed => allow_removed, counts => counts,
		has_triggers => false, overlap => overlap) AS b;
	after := result.after;
	counts := result.counts;
	busy := result.busy;
END
$_$;
ALTER FUNCTION untracked.rebuild_batch(users bigint[], INOUT after bigint, upto bigint, size integer, dry_run boolean, allow_removed boolean, INOUT counts bloomexp.rebuild_counts, overlap interval, OUT busy bigint[]) DEPENDS ON EXTENSION bloomexp;


--
-- Name: settings(); Type: FUNCTION; Schema: untracked; Owner: -
--

CREATE FUNCTION untracked.settings() RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    AS $$
SELECT '{"columns": {"item_column": 2, "user_column": 1}, "version": "1.0.0", "arguments": {"fpr": 0.01, "feed": "untracked", "where": null, "width": "100 years", "slices": null, "trigger": false, "capacity": null, "exposures": "public.exposures", "item_type": null, "user_type": null, "item_column": "item_id", "time_column": "shown_at", "user_column": "user_id"}, "exposures": "16627", "functions": {"lock": ["211010a1ba29456490ba983b2a4350f7", "a02898631cf9e2d28422ea5fe2ccb467", ["enable_seqscan=off", "row_security=off", "search_path=pg_catalog, pg_temp"]], "take": ["d67c814093932a209b4d6c15f217c7ba", "85be6bd5cb688f6e9bca4154137ade80", ["enable_seqscan=off", "row_security=off", "search_path=pg_catalog, pg_temp"]], "shown": ["0f02c5dc16c7eb5fdc3c1a4e89867226", "abda2c9537272b270236c19b812db41b", ["enable_seqscan=off", "jit=off", "row_security=off", "search_path=pg_catalog, pg_temp", "stable", "timezone=utc"]], "unseen": ["cb11b831ed4191cfbcdc52ee9a136c6e", "06f3d7a27d309c754e891dd6fe8dbfdf", ["enable_seqscan=off", "row_security=off", "search_path=pg_catalog, pg_temp", "stable"]], "current": ["a71ff127537e91e67b2b395edebe2bf1", "bf906ffe98353f1952abbb6e33fd1502", ["enable_seqscan=off", "row_security=off", "search_path=pg_catalog, pg_temp", "stable"]], "rebuild": ["b356c3449c7eb8810f8308f7e6370280", "0533919bdeb50619f433e272c5f686b7", []], "contains": ["b6dcfe0521683cdaad7eb869cce9ec35", "e1582621445404eec932504a0ecd3c31", ["search_path=pg_catalog, pg_temp", "stable"]], "take_back": ["b701cd8e0510178cc711d95977141d08", "52ed7658c68df8644e5fdcefa7a46c16", ["row_security=off", "search_path=pg_catalog, pg_temp"]], "rebuild_batch": ["cdf579bdacf721beea56dbb3010d090b", "4b0687804a8ce258406eb1d7877c4168", ["search_path=pg_catalog, pg_temp"]]}, "item_kind": "integer", "user_type": "bigint"}'::pg_catalog.jsonb
$$;


--
-- Name: shown(bigint); Type: FUNCTION; Schema: untracked; Owner: -
--

CREATE FUNCTION untracked.shown(user_id bigint, OUT items public.bloom, OUT recent bigint[]) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET row_security TO 'off'
    SET "TimeZone" TO 'UTC'
    AS $$	-- right even if the time column changes its type
#variable_conflict use_variable
DECLARE
	read_from timestamp with time zone := now() - interval '100 years';
	stored_until timestamp with time zone;	-- filled_until of the row
BEGIN
	-- This names the column "items" before any function of bloomexp is called: if the extension was
	-- dropped, it is an error.
	SELECT f.items, f.filled_until INTO items, stored_until
	FROM untracked.filters AS f WHERE f.user_id = shown.user_id;
	-- Ignore a filter with a filled_until ahead of the clock: the clock was wrong at its rebuild.
	IF items IS NOT NULL AND stored_until > read_from AND stored_until <= now() THEN
		read_from := stored_until;
	ELSE
		items := NULL;
	END IF;
	PERFORM bloomexp.require_trusted('public.exposures');	-- not its partitions, to save time
	recent := ARRAY(
		SELECT bloomexp.hash(e.item_id::bigint)
		FROM public.exposures AS e
		WHERE e.user_id = shown.user_id
			AND e.user_id IS NOT NULL AND e.item_id IS NOT NULL
			AND e.shown_at >= read_from);
	PERFORM bloomexp.require_not_rewritten('public.exposures');
END
$$;
ALTER FUNCTION untracked.shown(user_id bigint, OUT items public.bloom, OUT recent bigint[]) DEPENDS ON EXTENSION bloomexp;


--
-- Name: take(bigint, bigint[], integer); Type: FUNCTION; Schema: untracked; Owner: -
--

CREATE FUNCTION untracked.take(user_id bigint, candidates bigint[], wanted integer DEFAULT NULL::integer) RETURNS bigint[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
BEGIN
	PERFORM untracked.lock(user_id);
	-- Lock the exposures before the next statement takes its snapshot: to an older snapshot a table
	-- that ALTER TABLE has rewritten is empty.
	PERFORM bloomexp.require_trusted('public.exposures');
	RETURN (
		SELECT bloomexp.exclude_first(candidates, f.items, wanted, f.recent)
		FROM untracked.shown(user_id) AS f);
END
$$;
ALTER FUNCTION untracked.take(user_id bigint, candidates bigint[], wanted integer) DEPENDS ON EXTENSION bloomexp;


--
-- Name: take_back(bigint, bigint[]); Type: FUNCTION; Schema: untracked; Owner: -
--

CREATE FUNCTION untracked.take_back(user_id bigint, items bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET row_security TO 'off'
    AS $$
BEGIN
	RETURN ARRAY[]::bigint[];
END
$$;
ALTER FUNCTION untracked.take_back(user_id bigint, items bigint[]) DEPENDS ON EXTENSION bloomexp;


--
-- Name: unseen(bigint, bigint[]); Type: FUNCTION; Schema: untracked; Owner: -
--

CREATE FUNCTION untracked.unseen(user_id bigint, candidates bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET row_security TO 'off'
    AS $$	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	installed untracked.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM untracked.filters AS f WHERE false);
BEGIN
	RETURN (
		SELECT bloomexp.exclude(candidates, f.items, f.recent)
		FROM untracked.shown(unseen.user_id) AS f);
END
$$;
ALTER FUNCTION untracked.unseen(user_id bigint, candidates bigint[]) DEPENDS ON EXTENSION bloomexp;


--
-- Name: filters; Type: TABLE; Schema: forever; Owner: -
--

CREATE TABLE forever.filters (
    user_id text NOT NULL COLLATE pg_catalog."C",
    since timestamp with time zone,
    items public.bloom,
    pending integer DEFAULT 0 NOT NULL,
    recent bigint[] DEFAULT ARRAY[]::bigint[] NOT NULL,
    CONSTRAINT filters_user_id_check CHECK ((octet_length(user_id) <= 2000))
)
WITH (fillfactor='70', toast_tuple_target='2040');
ALTER TABLE ONLY forever.filters ALTER COLUMN recent SET STORAGE PLAIN;


--
-- Name: health; Type: VIEW; Schema: forever; Owner: -
--

CREATE VIEW forever.health AS
 SELECT count(*) AS users,
    sum((COALESCE(pg_column_size(f.items), 0) + pg_column_size(f.recent))) AS bytes,
    max(i.fpr) AS fpr_target_max,
    max(i.fpr_now) AS fpr_max,
    count(*) FILTER (WHERE (i.fpr_now > (0.0012)::double precision)) AS above_fpr
   FROM (forever.filters f
     LEFT JOIN LATERAL bloomexp.info(f.items) i(kind, items, capacity, fpr, fpr_now, bits, bits_set, fill, layers, bytes, counting, window_width, slices, expired_before) ON (true));


--
-- Name: answers; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.answers AS
 SELECT f.name,
    i.kind,
    i.items,
    i.capacity,
    i.fpr,
    i.fpr_now,
    i.bits,
    i.bits_set,
    i.fill,
    i.layers,
    i.bytes,
    i.counting,
    i.window_width,
    i.slices,
    i.expired_before,
    a.contained,
    md5(a.remaining) AS remaining
   FROM ((public.filters f
     CROSS JOIN LATERAL public.bloom_info(f.items) i(kind, items, capacity, fpr, fpr_now, bits, bits_set, fill, layers, bytes, counting, window_width, slices, expired_before))
     CROSS JOIN LATERAL ( SELECT count(*) FILTER (WHERE public.bloom_contains(f.items, n.n)) AS count,
            ((array_agg(n.n ORDER BY n.n) OPERATOR(public.-) f.items))::text AS text
           FROM generate_series((1)::bigint, (1000)::bigint) n(n)
          WHERE (COALESCE(i.kind, 'integer'::text) = 'integer'::text)
        UNION ALL
         SELECT count(*) FILTER (WHERE (f.items OPERATOR(public.@>) (n.n)::text)) AS count,
            ((array_agg((n.n)::text ORDER BY n.n) OPERATOR(public.-) f.items))::text AS text
           FROM generate_series(1, 1000) n(n)
          WHERE (i.kind = 'text'::text)
        UNION ALL
         SELECT count(*) FILTER (WHERE public.bloom_contains(f.items, (md5((n.n)::text))::uuid)) AS count,
            ((array_agg((md5((n.n)::text))::uuid ORDER BY n.n) OPERATOR(public.-) f.items))::text AS text
           FROM generate_series(1, 1000) n(n)
          WHERE (i.kind = 'uuid'::text)
        UNION ALL
         SELECT count(*) FILTER (WHERE public.bloom_contains(f.items, int8send(n.n))) AS count,
            ((array_agg(int8send(n.n) ORDER BY n.n) OPERATOR(public.-) f.items))::text AS text
           FROM generate_series((1)::bigint, (1000)::bigint) n(n)
          WHERE (i.kind = 'bytea'::text)) a(contained, remaining))
  WHERE (a.remaining IS NOT NULL);


--
-- Name: feed_answers; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.feed_answers AS
 SELECT u.u AS user_id,
    md5((shown.unseen((u.u)::bigint, c.n))::text) AS shown,
    md5((untracked.unseen((u.u)::bigint, c.n))::text) AS untracked,
    md5((seen.unseen((u.u)::bigint, (c.n)::text[]))::text) AS seen,
    md5((forever.unseen((ARRAY['one'::text, 'two'::text, 'three'::text])[u.u], c.n))::text) AS forever
   FROM generate_series(1, 3) u(u),
    ( SELECT array_agg(n.n) AS array_agg
           FROM generate_series((1)::bigint, (1000)::bigint) n(n)) c(n);


--
-- Name: kept_answers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kept_answers (
    name text,
    kind text,
    items bigint,
    capacity bigint,
    fpr double precision,
    fpr_now double precision,
    bits bigint,
    bits_set bigint,
    fill double precision,
    layers integer,
    bytes bigint,
    counting boolean,
    window_width interval,
    slices integer,
    expired_before timestamp with time zone,
    contained bigint,
    remaining text
);


--
-- Name: kept_feed_answers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kept_feed_answers (
    user_id integer,
    shown text,
    untracked text,
    seen text,
    forever text
);


--
-- Name: filters; Type: TABLE; Schema: seen; Owner: -
--

CREATE TABLE seen.filters (
    user_id bigint NOT NULL,
    since timestamp with time zone,
    items public.bloom,
    pending integer DEFAULT 0 NOT NULL,
    recent bigint[] DEFAULT ARRAY[]::bigint[] NOT NULL
)
WITH (fillfactor='70', toast_tuple_target='2040');
ALTER TABLE ONLY seen.filters ALTER COLUMN recent SET STORAGE PLAIN;


--
-- Name: health; Type: VIEW; Schema: seen; Owner: -
--

CREATE VIEW seen.health AS
 SELECT count(*) AS users,
    sum((COALESCE(pg_column_size(f.items), 0) + pg_column_size(f.recent))) AS bytes,
    max(i.fpr) AS fpr_target_max,
    max(i.fpr_now) AS fpr_max,
    count(*) FILTER (WHERE (i.fpr_now > (0.012)::double precision)) AS above_fpr,
    count(*) FILTER (WHERE ((COALESCE(i.items, (0)::bigint) = 0) AND COALESCE((f.since < bloomexp.oldest_slice(CURRENT_TIMESTAMP, '40000 days'::interval, 2)), (f.items IS NULL)))) AS expired
   FROM (seen.filters f
     LEFT JOIN LATERAL bloomexp.info(bloomexp.expire(f.items, CURRENT_TIMESTAMP)) i(kind, items, capacity, fpr, fpr_now, bits, bits_set, fill, layers, bytes, counting, window_width, slices, expired_before) ON (true));


--
-- Name: filters; Type: TABLE; Schema: shown; Owner: -
--

CREATE TABLE shown.filters (
    user_id bigint NOT NULL,
    filled_until timestamp with time zone,
    items public.bloom,
    pending integer DEFAULT 0 NOT NULL,
    recent bigint[] DEFAULT ARRAY[]::bigint[] NOT NULL
)
WITH (fillfactor='70', toast_tuple_target='2040');
ALTER TABLE ONLY shown.filters ALTER COLUMN recent SET STORAGE PLAIN;


--
-- Name: health; Type: VIEW; Schema: shown; Owner: -
--

CREATE VIEW shown.health AS
 SELECT count(*) AS users,
    sum((COALESCE(pg_column_size(f.items), 0) + pg_column_size(f.recent))) AS bytes,
    max(i.fpr) AS fpr_target_max,
    max(i.fpr_now) AS fpr_max,
    count(*) FILTER (WHERE (i.fpr_now > (0.012)::double precision)) AS above_fpr,
    min(f.filled_until) AS oldest_filled_until,
    ( SELECT count(DISTINCT COALESCE(u.relation, ((0)::oid)::regclass)) AS count
           FROM bloomexp.untracked('shown'::text, 'public.exposures'::text) u(relation, event)) AS untracked,
    count(*) FILTER (WHERE (f.filled_until IS NULL)) AS never_filled,
    count(*) FILTER (WHERE (f.filled_until > CURRENT_TIMESTAMP)) AS filled_ahead
   FROM (shown.filters f
     LEFT JOIN LATERAL bloomexp.info(f.items) i(kind, items, capacity, fpr, fpr_now, bits, bits_set, fill, layers, bytes, counting, window_width, slices, expired_before) ON (true));


--
-- Name: filters; Type: TABLE; Schema: untracked; Owner: -
--

CREATE TABLE untracked.filters (
    user_id bigint NOT NULL,
    filled_until timestamp with time zone,
    items public.bloom,
    pending integer DEFAULT 0 NOT NULL,
    recent bigint[] DEFAULT ARRAY[]::bigint[] NOT NULL
)
WITH (fillfactor='70', toast_tuple_target='2040');
ALTER TABLE ONLY untracked.filters ALTER COLUMN recent SET STORAGE PLAIN;


--
-- Name: health; Type: VIEW; Schema: untracked; Owner: -
--

CREATE VIEW untracked.health AS
 SELECT count(*) AS users,
    sum((COALESCE(pg_column_size(f.items), 0) + pg_column_size(f.recent))) AS bytes,
    max(i.fpr) AS fpr_target_max,
    max(i.fpr_now) AS fpr_max,
    count(*) FILTER (WHERE (i.fpr_now > (0.012)::double precision)) AS above_fpr,
    min(f.filled_until) AS oldest_filled_until,
    (0)::bigint AS untracked,
    count(*) FILTER (WHERE (f.filled_until IS NULL)) AS never_filled,
    count(*) FILTER (WHERE (f.filled_until > CURRENT_TIMESTAMP)) AS filled_ahead
   FROM (untracked.filters f
     LEFT JOIN LATERAL bloomexp.info(f.items) i(kind, items, capacity, fpr, fpr_now, bits, bits_set, fill, layers, bytes, counting, window_width, slices, expired_before) ON (true));


--
-- Data for Name: filters; Type: TABLE DATA; Schema: forever; Owner: -
--

COPY forever.filters (user_id, since, items, pending, recent) FROM stdin;
one	\N	\\x0101020000000000fca9f1d24d62503f190000286400000064000000e80200003b00002cc8000000c80000008206000054dbad4bd3d4e72db314ec3e4344c0b4cc8866009d8d25e7406da65c6c469571bb4da9ee2fdaa592a1a27cb60767b4449522669f93919013e763d0cb8c96ecdcbc4f0884824a51332004f45ef5af1e2610228066f53f22758e4a8f82e340d45cc1d760d1b726748ad2be091f2dec24efb8c101b65a22d6bbb4711ac066e2893300f36d84c477823245f403130018199df239013b640f142d4f19c7aa24c01d894676fd4b9dddd3291c8361a5fb0b84830654517af67e948ba90e0f321b92a42c75242adc281451a94b4f02adf3a661205060db00c1224629266e540ee4c56d13fba411334a3a1bcba56344401e0428cd42208a074b32081ec919d0c04c69922b051a407319762ee8e9757743d380ae3b840400b0649092691a027e6e3d4111fb451429f83bd61042f1e54ba5d283df86d0c397c460201f1be2b8652ce2b28259f6d250aecc50464b030871d03220c391557fb963095e021fec2e8c2dcb07238426ae0b50fbad0324bbf01762c069e219cb40f30fcc71b0068e0bca0c7e04878fe50ce0b0b0111230e136483aa1ac0b94140f4d3ec966abf2765db22806d7b86d22ed0be0b53104bc1a8e2d5c35823d643ef8a7b20fd0e0895c03a04a03d646912e80bd2c525bd0af19999bc1974533d6cdc12804848100f694251aca01da1c65666caa04e394c0121e1b9a14084ecf08684420e9b69c4eaf060433c9d414afa7a5f2a04dd99b8c13645a5146ec4e20980849912ff818810ac820666ef62463a5436125c90a45e538a205739da1830c033f32e05dd7a2706a3814f98608c87bcaa7b72ce2950bff123483a8d462532a55320d46d00373189516a67678097408eddadbf59afeb17859cd836ba17d856399c0d802bebccb4f15fc97012bd4d1483096870fdab5e452b000112410ba5c20844a868de84ae94ae9e4626185bbde8748	0	{}
two	\N	\N	2	{489182038263080531,4145513480871534457,-2447670524089286488,-5469109305088493887}
\.


--
-- Data for Name: exposures; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.exposures (user_id, item_id, shown_at) FROM stdin;
1	2	2026-01-01 00:00:00+00
1	4	2026-01-01 00:00:00+00
1	6	2026-01-01 00:00:00+00
1	8	2026-01-01 00:00:00+00
1	10	2026-01-01 00:00:00+00
1	12	2026-01-01 00:00:00+00
1	14	2026-01-01 00:00:00+00
1	16	2026-01-01 00:00:00+00
1	18	2026-01-01 00:00:00+00
1	20	2026-01-01 00:00:00+00
1	22	2026-01-01 00:00:00+00
1	24	2026-01-01 00:00:00+00
1	26	2026-01-01 00:00:00+00
1	28	2026-01-01 00:00:00+00
1	30	2026-01-01 00:00:00+00
1	32	2026-01-01 00:00:00+00
1	34	2026-01-01 00:00:00+00
1	36	2026-01-01 00:00:00+00
1	38	2026-01-01 00:00:00+00
1	40	2026-01-01 00:00:00+00
1	42	2026-01-01 00:00:00+00
1	44	2026-01-01 00:00:00+00
1	46	2026-01-01 00:00:00+00
1	48	2026-01-01 00:00:00+00
1	50	2026-01-01 00:00:00+00
1	52	2026-01-01 00:00:00+00
1	54	2026-01-01 00:00:00+00
1	56	2026-01-01 00:00:00+00
1	58	2026-01-01 00:00:00+00
1	60	2026-01-01 00:00:00+00
1	62	2026-01-01 00:00:00+00
1	64	2026-01-01 00:00:00+00
1	66	2026-01-01 00:00:00+00
1	68	2026-01-01 00:00:00+00
1	70	2026-01-01 00:00:00+00
1	72	2026-01-01 00:00:00+00
1	74	2026-01-01 00:00:00+00
1	76	2026-01-01 00:00:00+00
1	78	2026-01-01 00:00:00+00
1	80	2026-01-01 00:00:00+00
1	82	2026-01-01 00:00:00+00
1	84	2026-01-01 00:00:00+00
1	86	2026-01-01 00:00:00+00
1	88	2026-01-01 00:00:00+00
1	90	2026-01-01 00:00:00+00
1	92	2026-01-01 00:00:00+00
1	94	2026-01-01 00:00:00+00
1	96	2026-01-01 00:00:00+00
1	98	2026-01-01 00:00:00+00
1	100	2026-01-01 00:00:00+00
1	102	2026-01-01 00:00:00+00
1	104	2026-01-01 00:00:00+00
1	106	2026-01-01 00:00:00+00
1	108	2026-01-01 00:00:00+00
1	110	2026-01-01 00:00:00+00
1	112	2026-01-01 00:00:00+00
1	114	2026-01-01 00:00:00+00
1	116	2026-01-01 00:00:00+00
1	118	2026-01-01 00:00:00+00
1	120	2026-01-01 00:00:00+00
1	122	2026-01-01 00:00:00+00
1	124	2026-01-01 00:00:00+00
1	126	2026-01-01 00:00:00+00
1	128	2026-01-01 00:00:00+00
1	130	2026-01-01 00:00:00+00
1	132	2026-01-01 00:00:00+00
1	134	2026-01-01 00:00:00+00
1	136	2026-01-01 00:00:00+00
1	138	2026-01-01 00:00:00+00
1	140	2026-01-01 00:00:00+00
1	142	2026-01-01 00:00:00+00
1	144	2026-01-01 00:00:00+00
1	146	2026-01-01 00:00:00+00
1	148	2026-01-01 00:00:00+00
1	150	2026-01-01 00:00:00+00
1	152	2026-01-01 00:00:00+00
1	154	2026-01-01 00:00:00+00
1	156	2026-01-01 00:00:00+00
1	158	2026-01-01 00:00:00+00
1	160	2026-01-01 00:00:00+00
1	162	2026-01-01 00:00:00+00
1	164	2026-01-01 00:00:00+00
1	166	2026-01-01 00:00:00+00
1	168	2026-01-01 00:00:00+00
1	170	2026-01-01 00:00:00+00
1	172	2026-01-01 00:00:00+00
1	174	2026-01-01 00:00:00+00
1	176	2026-01-01 00:00:00+00
1	178	2026-01-01 00:00:00+00
1	180	2026-01-01 00:00:00+00
1	182	2026-01-01 00:00:00+00
1	184	2026-01-01 00:00:00+00
1	186	2026-01-01 00:00:00+00
1	188	2026-01-01 00:00:00+00
1	190	2026-01-01 00:00:00+00
1	192	2026-01-01 00:00:00+00
1	194	2026-01-01 00:00:00+00
1	196	2026-01-01 00:00:00+00
1	198	2026-01-01 00:00:00+00
1	200	2026-01-01 00:00:00+00
1	202	2026-01-01 00:00:00+00
1	204	2026-01-01 00:00:00+00
1	206	2026-01-01 00:00:00+00
1	208	2026-01-01 00:00:00+00
1	210	2026-01-01 00:00:00+00
1	212	2026-01-01 00:00:00+00
1	214	2026-01-01 00:00:00+00
1	216	2026-01-01 00:00:00+00
1	218	2026-01-01 00:00:00+00
1	220	2026-01-01 00:00:00+00
1	222	2026-01-01 00:00:00+00
1	224	2026-01-01 00:00:00+00
1	226	2026-01-01 00:00:00+00
1	228	2026-01-01 00:00:00+00
1	230	2026-01-01 00:00:00+00
1	232	2026-01-01 00:00:00+00
1	234	2026-01-01 00:00:00+00
1	236	2026-01-01 00:00:00+00
1	238	2026-01-01 00:00:00+00
1	240	2026-01-01 00:00:00+00
1	242	2026-01-01 00:00:00+00
1	244	2026-01-01 00:00:00+00
1	246	2026-01-01 00:00:00+00
1	248	2026-01-01 00:00:00+00
1	250	2026-01-01 00:00:00+00
1	252	2026-01-01 00:00:00+00
1	254	2026-01-01 00:00:00+00
1	256	2026-01-01 00:00:00+00
1	258	2026-01-01 00:00:00+00
1	260	2026-01-01 00:00:00+00
1	262	2026-01-01 00:00:00+00
1	264	2026-01-01 00:00:00+00
1	266	2026-01-01 00:00:00+00
1	268	2026-01-01 00:00:00+00
1	270	2026-01-01 00:00:00+00
1	272	2026-01-01 00:00:00+00
1	274	2026-01-01 00:00:00+00
1	276	2026-01-01 00:00:00+00
1	278	2026-01-01 00:00:00+00
1	280	2026-01-01 00:00:00+00
1	282	2026-01-01 00:00:00+00
1	284	2026-01-01 00:00:00+00
1	286	2026-01-01 00:00:00+00
1	288	2026-01-01 00:00:00+00
1	290	2026-01-01 00:00:00+00
1	292	2026-01-01 00:00:00+00
1	294	2026-01-01 00:00:00+00
1	296	2026-01-01 00:00:00+00
1	298	2026-01-01 00:00:00+00
1	300	2026-01-01 00:00:00+00
1	302	2026-01-01 00:00:00+00
1	304	2026-01-01 00:00:00+00
1	306	2026-01-01 00:00:00+00
1	308	2026-01-01 00:00:00+00
1	310	2026-01-01 00:00:00+00
1	312	2026-01-01 00:00:00+00
1	314	2026-01-01 00:00:00+00
1	316	2026-01-01 00:00:00+00
1	318	2026-01-01 00:00:00+00
1	320	2026-01-01 00:00:00+00
1	322	2026-01-01 00:00:00+00
1	324	2026-01-01 00:00:00+00
1	326	2026-01-01 00:00:00+00
1	328	2026-01-01 00:00:00+00
1	330	2026-01-01 00:00:00+00
1	332	2026-01-01 00:00:00+00
1	334	2026-01-01 00:00:00+00
1	336	2026-01-01 00:00:00+00
1	338	2026-01-01 00:00:00+00
1	340	2026-01-01 00:00:00+00
1	342	2026-01-01 00:00:00+00
1	344	2026-01-01 00:00:00+00
1	346	2026-01-01 00:00:00+00
1	348	2026-01-01 00:00:00+00
1	350	2026-01-01 00:00:00+00
1	352	2026-01-01 00:00:00+00
1	354	2026-01-01 00:00:00+00
1	356	2026-01-01 00:00:00+00
1	358	2026-01-01 00:00:00+00
1	360	2026-01-01 00:00:00+00
1	362	2026-01-01 00:00:00+00
1	364	2026-01-01 00:00:00+00
1	366	2026-01-01 00:00:00+00
1	368	2026-01-01 00:00:00+00
1	370	2026-01-01 00:00:00+00
1	372	2026-01-01 00:00:00+00
1	374	2026-01-01 00:00:00+00
1	376	2026-01-01 00:00:00+00
1	378	2026-01-01 00:00:00+00
1	380	2026-01-01 00:00:00+00
1	382	2026-01-01 00:00:00+00
1	384	2026-01-01 00:00:00+00
1	386	2026-01-01 00:00:00+00
1	388	2026-01-01 00:00:00+00
1	390	2026-01-01 00:00:00+00
1	392	2026-01-01 00:00:00+00
1	394	2026-01-01 00:00:00+00
1	396	2026-01-01 00:00:00+00
1	398	2026-01-01 00:00:00+00
1	400	2026-01-01 00:00:00+00
1	402	2026-01-01 00:00:00+00
1	404	2026-01-01 00:00:00+00
1	406	2026-01-01 00:00:00+00
1	408	2026-01-01 00:00:00+00
1	410	2026-01-01 00:00:00+00
1	412	2026-01-01 00:00:00+00
1	414	2026-01-01 00:00:00+00
1	416	2026-01-01 00:00:00+00
1	418	2026-01-01 00:00:00+00
1	420	2026-01-01 00:00:00+00
1	422	2026-01-01 00:00:00+00
1	424	2026-01-01 00:00:00+00
1	426	2026-01-01 00:00:00+00
1	428	2026-01-01 00:00:00+00
1	430	2026-01-01 00:00:00+00
1	432	2026-01-01 00:00:00+00
1	434	2026-01-01 00:00:00+00
1	436	2026-01-01 00:00:00+00
1	438	2026-01-01 00:00:00+00
1	440	2026-01-01 00:00:00+00
1	442	2026-01-01 00:00:00+00
1	444	2026-01-01 00:00:00+00
1	446	2026-01-01 00:00:00+00
1	448	2026-01-01 00:00:00+00
1	450	2026-01-01 00:00:00+00
1	452	2026-01-01 00:00:00+00
1	454	2026-01-01 00:00:00+00
1	456	2026-01-01 00:00:00+00
1	458	2026-01-01 00:00:00+00
1	460	2026-01-01 00:00:00+00
1	462	2026-01-01 00:00:00+00
1	464	2026-01-01 00:00:00+00
1	466	2026-01-01 00:00:00+00
1	468	2026-01-01 00:00:00+00
1	470	2026-01-01 00:00:00+00
1	472	2026-01-01 00:00:00+00
1	474	2026-01-01 00:00:00+00
1	476	2026-01-01 00:00:00+00
1	478	2026-01-01 00:00:00+00
1	480	2026-01-01 00:00:00+00
1	482	2026-01-01 00:00:00+00
1	484	2026-01-01 00:00:00+00
1	486	2026-01-01 00:00:00+00
1	488	2026-01-01 00:00:00+00
1	490	2026-01-01 00:00:00+00
1	492	2026-01-01 00:00:00+00
1	494	2026-01-01 00:00:00+00
1	496	2026-01-01 00:00:00+00
1	498	2026-01-01 00:00:00+00
1	500	2026-01-01 00:00:00+00
1	502	2026-01-01 00:00:00+00
1	504	2026-01-01 00:00:00+00
1	506	2026-01-01 00:00:00+00
1	508	2026-01-01 00:00:00+00
1	510	2026-01-01 00:00:00+00
1	512	2026-01-01 00:00:00+00
1	514	2026-01-01 00:00:00+00
1	516	2026-01-01 00:00:00+00
1	518	2026-01-01 00:00:00+00
1	520	2026-01-01 00:00:00+00
1	522	2026-01-01 00:00:00+00
1	524	2026-01-01 00:00:00+00
1	526	2026-01-01 00:00:00+00
1	528	2026-01-01 00:00:00+00
1	530	2026-01-01 00:00:00+00
1	532	2026-01-01 00:00:00+00
1	534	2026-01-01 00:00:00+00
1	536	2026-01-01 00:00:00+00
1	538	2026-01-01 00:00:00+00
1	540	2026-01-01 00:00:00+00
1	542	2026-01-01 00:00:00+00
1	544	2026-01-01 00:00:00+00
1	546	2026-01-01 00:00:00+00
1	548	2026-01-01 00:00:00+00
1	550	2026-01-01 00:00:00+00
1	552	2026-01-01 00:00:00+00
1	554	2026-01-01 00:00:00+00
1	556	2026-01-01 00:00:00+00
1	558	2026-01-01 00:00:00+00
1	560	2026-01-01 00:00:00+00
1	562	2026-01-01 00:00:00+00
1	564	2026-01-01 00:00:00+00
1	566	2026-01-01 00:00:00+00
1	568	2026-01-01 00:00:00+00
1	570	2026-01-01 00:00:00+00
1	572	2026-01-01 00:00:00+00
1	574	2026-01-01 00:00:00+00
1	576	2026-01-01 00:00:00+00
1	578	2026-01-01 00:00:00+00
1	580	2026-01-01 00:00:00+00
1	582	2026-01-01 00:00:00+00
1	584	2026-01-01 00:00:00+00
1	586	2026-01-01 00:00:00+00
1	588	2026-01-01 00:00:00+00
1	590	2026-01-01 00:00:00+00
1	592	2026-01-01 00:00:00+00
1	594	2026-01-01 00:00:00+00
1	596	2026-01-01 00:00:00+00
1	598	2026-01-01 00:00:00+00
1	600	2026-01-01 00:00:00+00
2	2	2026-01-01 00:00:00+00
2	4	2026-01-01 00:00:00+00
2	6	2026-01-01 00:00:00+00
2	8	2026-01-01 00:00:00+00
2	10	2026-01-01 00:00:00+00
2	12	2026-01-01 00:00:00+00
2	14	2026-01-01 00:00:00+00
2	16	2026-01-01 00:00:00+00
2	18	2026-01-01 00:00:00+00
2	20	2026-01-01 00:00:00+00
1	802	2026-11-30 17:00:52.763259+00
2	802	2026-11-30 17:00:52.763259+00
3	802	2026-11-30 17:00:52.763259+00
\.


--
-- Data for Name: filters; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.filters (name, items) FROM stdin;
integer	\\x01010100000000007b14ae47e17a843f2e0000182c0100002c01000050050000c6356f2d885b8df8666e8043e90fd30052b072cf178fb3097e88cf35a7763d012ef58cc08c689a3e3712e181f86e6fd4aa7ca8882a5d14a0195073afd9d63f84ec9139e2fc30d494213c831f34a44c01959c18e7df02207350483b262608ae649d88538af03ca2809addba879ccd0dac9ee508308d38f29f6802086ac5014d42b06e23fafada0bb50016981505028cad7224be761d7a637505dc250daf4a97fb887429c87507527ef3295145388880e3f933028854bd09830e5d0a90df2be0892d6daac4316d2d10a848ead4e24b49d62d6b63aa083996ee5d266a51104fd9b96ba180159c0473bbb12d02d44fe46be32f795928f0ea87fcb159443cba9e36c04ebd946a50bac32b6fc14903fabca0c38fd3a4949ad4266ee8ded3ec1d444a52099a6490e799a525351bf81e4852275c84805e2108d53a04b75bc89230e79dc24f0ad5141cf06471d8084ec119737687acb772a049bc224b9a6687d5c491c695f802e000483b4903628dc0353ae2bc09
layers	\\x0101020000000000fca9f1d24d62503f0d00002032000000320000004101000049000030fa000000fa000000a3080000e03196522ccea9058f404201087911ad691c114d6d5af61110b272200631b3541a900906fc26221820a03c823c622356482c4bcd12832ec10c4633c30044839c2732393896692b328c85c28c44f0d2da460b328c1976c04a031d13259820a141ac0029ce681b8a818ae6ee2c8f5bcdedb0d0e423811bd0be50ea9bcdd279113b67917796852646259b804254d927be62ac4428d04433e6b67cb08b23b8516144b2b08baa4e1b100f9605122e33d231a0f573393775f8155031ef05a52c5fa1555cdda7992151097e70335f751170814e6a46f26eca21b2a01912044737391a6ec5188c4ab901c32f9d852556a46c00ef45cd5602f8d1d9ba92f46eb0aa86f78be416c3e30e12628bb9d0fa64868f20248b25470ed425a2ce555516168ada352d559f7d1e7171a7ffc0e4d6c0746d11d084ddc8a3458cdbc166ee4461692783f54c5a3ddd9f63ae0ad3aa2881e2276bdc64ce56d3e74ffaa1790e22ec33ff024619028cb342b608789603457820b91b785076479b5aab1a22a69bb9f030c43af69c224e62ca14f287b6017ec77b8491a0e9ee64b2e0822facdc008c0642aa2aace095ad6671711772201131432f7e644038dce67e169072fb37b0860adf61fb1018ae26534f5fa7a9a204b97f83f5ef39210ba5274ae62d494df0c5242d50da531e09de16c5849965b4dbd14372340f08c64ee15b2ebd1e3880529999dbf45432173f8e0e4585220c1f043f70239066105159bd2b581a8731d43a214f3988c1c34d3ebecfb11a4c186e59b870c28f5187369bb8ce90b44196129c1a0ccf16b88c06a6c93e4c1e022240aca64710cb3af9367d70f2f8686587df1710483c0a9f483f486809ecf42eb4bf8c8d35fe7b2ad24e220e88538090a5a345961155c5891deb86e34246addada27e678a756e94b0f781059226904e9ea2f4633fcad3d86f2653c252f605fce52dc950ccf8fd4e91b
text	\\x01020100000000007b14ae47e17a843f2e0000182c0100002c010000570500004c3168515122d713b107f2c0ce2d9cc1b0711a714ba011b7ab989017504bc1dc827e8c82fe1f56a3c82b0b8ea28c585940ec4a6c07a849caa23ba2f8a75e1e7e270d1564447521af8d189d37e5db78892c02aa1dda06f153a099ab061a6f2a63a3d62f6932ba6832a061196ed1ec044ce61de0702a4a0d23a1376df32e8ce64b164e5008a869d6902f7c74f14dd624bbc60d0adae810af46ee9af0bee9379bd062e80defe055085c04860ae0c01174cb8df07b03b16445de2fbc982252b6420b44f5b2a779401089b29d132adfa25318b80e7ca96f988d41a443470309ca0aabd088c6f7a255006d36aebfc07f11ba420eab7c95cb629756f3ff0752182b9d6b004e2acc5a4e2c50b04dc92bf2be4631b824eb684add6e36b941765d85fa4b31188d50ed9e8f9606658a4967a86024102672c445841f116515e090a36fa57860b5caaca5b2d60f92c5784b72bf38ae8e4d565e69403aac75f2a2ce0e6108158ce1801191e8852c04979a27bd64b5eb2a
uuid	\\x01030100000000007b14ae47e17a843f2e0000182c0100002c01000048050000857205099a1e00f057661c3aca0c115040e3c68333047e0164a95f4d9e52b31e22cb7a3228201a973280b8cc2a10f6cf54d0fa128c73ca5d7079908c448c215cd40850ef9170190375c817d646e23c555076883ddeea9c9020c863dc3e0aaf2b3494d6b36860ba25f85d25a3662672b0f1c46a9825ccc92dde8a7084610c979812cfc0a9437ba8fca13d6206ccb5430da138bc80fff1241b5b462cb602fbd29da2077801a242eca2e2d1cb170a3a4633241e700604de215217f96397f76b60d4b6efacabf40fe989b87c03897eb80241aa18339961e78803e09700f873b0640d26b96b9ac026a4dd7d59e516801fab07261860288ae94e962b58f6850705ef9a81c2b8048082c8babeb4572958beff3462b433913e57fdd622bde374c80f0896462fa36acdbfc6400907edb1f0da7e10dbbba9b92a3a28a9ee068e4ad550178b18128e90ee1940d43df8f0018cff96444c6bc40c8a3382d2de3faaa2b78904432bcd490f00c1326cfa5dda84602c625e
bytea	\\x01040100000000007b14ae47e17a843f2e0000182c0100002c01000039050000ca878400259408000c74abf980b53b37c38cd0bf4c8e5512e33464e2aba9dd8ad45bf3965be2e4cecd0c8870a50c32e12e6c19395c2f4c493a068a764b3697c082d7fe3771957658164f8a0ef0a0fbdf45910d213d221070f79a87456439fe4c20d3daf499530da0076611820f002d3ee6948b38b4355c42dc5770c019244b5f13a0ca301b5a0334093525c08135aa4e84f971e226d083f3f73405e95c86eca70dce10ada304242be85942a3b24e6a0ca4e4078dfb5d002b29171e38ab60dca7d21490f9840a3b01dc1b3ed7b30b95b94e010d8af831ffefd4a24a87a4849e4dd5836d711d442a3ad808cbca30a01e10d0c1104c8231ef3ad5ac309303bf8a1e9c000d4e1301a95935a0974531dd2604c3314481342ba11ab121bee60e45038019a7821478f642bbd0d002ac25becbec06be7a70a6f633465dde151d209f744e87b231deca8744f8dae23d793112819a2b22863e042b494e9baaf8c5e520290f505fc0a6f1417915a84930a7ab04fb0d
window	\\x01210600000000007b14ae47e17a843f00403d7f5b020000000000000000008006000000000000000800001c2300000023000000c00000006b070000000000000d0000203c0000003c0000005d0100006c070000000000000d0000203c0000003c000000650100006d070000000000000d0000203c0000003c000000710100006e070000000000000d0000203c0000003c0000006f0100006f070000000000000600001819000000190000007e00000070070000000000009404dc58b8124b8c86ff9d122d408008022087965128d08ebc30cb0086e89852c605819b1204f4e09b9c4b555012d10c9a71603369d017078082008684012b29a1e2a29a14ef4021be58238c76be0a1de6c9a01068224483b5136ad3b0120a6548245226c4fa31011232652a389482853b5901e42feb1ca98c8237e4b40e100883984e7acf81649aa45503843c7455b6404f0147cd560ba8099c63d50cd9bda00c3c4932b1029ab9411b3cd084cd850f6bf158c3d495840521f86250592257d3f7980770048c98c892d0019438cd158e6c102e1577c07a96cdfeabc01e0f83e19cc92c04014ce39da02a60863829a23048bd94ea51ae22426a7418400c29845f87406633bc11c14a5d94ce6afe13d816a89c1732070d1582e5d4a23c1a17ecad010782d4d512be0e1732724ee2352e0b08b0314c7d13a219b4600154464bad870c84f6d911967ed193da374f2a05809809f714bbf20d0a722a4dc281f621cec27d0814bd2a93e22f81d133c488f4e13df4c9a365c00dc804681403617338eac90708105c2b56d5684ffc4c4fdb3ab80d8234135cd05402fb99082b0567033b1aeb621909a64a091acf205cc512065d588504b38162d4489a04b17b8fd1607b36106b1b76fdf4580ed2c3b2ac3910604e196b157463364172c51224a67e28d72342280ebc426e06b45092040242605e109c8b81820920c105944042204878ca4180900a4c60472ea4718820036c564ee0
counting	\\x01110100000000007b14ae47e17a843f2e0000182c0100002c0100004a0500001001001102011100111110010121100000300010141001010211001000202211100110011011100300000010130000030110101211310000120001110000000010000101000011201000210111110012110101001211002021001220011000001011210300100010111100110101120021011010200111010121110002000000101120000101111100120010000000110012002000101001202001101011110012011100100003000100101201000010001011211011100112231001000101111020102000112101001010200010001010101000031101010001030000001020012001000000010111001101111210100110011120010111122111000001001000111032010003100110210020001031001112120000210000010111000101100100100000131100210000303221030000012200000130100021000202000000010101200012011000100100210110111211011120000000000010001100110300000201001000011110110010021000200210000030000020121030000110020211021000100010210004011010001000001111001111001000101000000020201001200222021110101110110100100011011001110011011100000011102010120110010110110010000000003100011100100020210010001221112102100010200220000000001000002020100101010031010000000112000110000001000012101012100111001000101022111010112110100113112000000101211000000000200202000010011001010100010100002000000000120020022120101000320000031000102121301001110102110100101021012100100101011101010100000031021101011000022100001212101010100001110201102110113300100010000221010120100000100021010112001203000010000101101113012200111102103000010001010100000100101100001000100000001011003012011011111100110010000000001000100002040102221110011000001100001010210000021101011010000000000110121101111210100000001021021000200313200002111001301010100001001201002100011210020113100000000100001010400010000220102011000301112000201111100001021000031002021101111000111020011100100110101010001000000310110010010120201220120111010110011000201010010100010100000200122100010110011102101110321020010100101000000010010202000012021000010000310011011120112002001110021110001000000000010112221100000001101212101001210010311111100003201101022001010030100000001211101010111101001000131112020023200110010100010001001311002030111010110110100212000000001110110001011111100001011010101001000001011040111011000031111010003111100101000031021000011100000010101111002112100000301011000021112100201100031200011010000301101010031000010132200110001010100100101012101201212100011200121011021001000001000120100001100002020130000030200210000110010000022011011011011001100101102001011000020324002110010000101111201101000010000110000201110110000021010100020030000000101011010103004000001000000101011110101200000100001102121012200101001000113000021000001200110110110121011010000011111300011010000002010111000101000021010000001411000120010100110100200111001000004011000201000011012001001100110220011202120100100012101011011110100021010000102002100001003132102000100022100002101002101001100211010020020101110001001201000210200200310201011000101213100000000000101200000000002000011110120001200002210000001000100101110010000000110102310020101100100010210011111001100000
empty	\\x01000100000000007b14ae47e17a843f12000018640000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
default	\\x01000100000000007b14ae47e17a843f09000018320000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
user 3	\\x01010100000000007b14ae47e17a843f010000080200000001000000020000000000000000003000
user 2	\\x01010100000000007b14ae47e17a843f030000100e0000000b00000027000000048400a0202208a2001802231100420214b4814a74001000
user 1	\\x01010100000000007b14ae47e17a843f370000186a0100002d0100008e050000a6a1220d9942f63910410740c15573164611a52e126187802e203b3b305f1082113c2086b8410c62444cac840e39d118c10571965d3035809c0220d6300399bf541c6c441944c71115c0dcb587e1488c4560bafc91013c249500e25a2f9208060741270a95517559d55b1205014ab4e2503c3c8a2d92468168830d4d26b9d86f1a53761856cf17bc06cc38407a02415611800320b883fc5fc1e66943d210c150b95b5e84434afd487b31e47c0295d84d0e086400268e3e8c1f0404aed1c718579a3254846dd429fa4123490ab7420e4910c012d7052930989c64c1c042f4d0d20c7a01b33c00190490a453b01c176850eb00ea0328ddf1e105e0808090051c40ca87b075daeac7822026c90f0427b220bab848207582a64d08a42430168e7b0a59080d30849b92d519ed0343bc8448984192c448cc38457e56cd3548e931aea2784c2049a02380434431a82c42bcdfe894de0468982e204c09086cc84198da16062be5004cc9c102896d78b4320a17124300130944c707814be87b8c0e2a241c5c8d46bca54416f60601c9f1302b5132e793823c532ff95c98020d4c009161dc92ea9d9bbd659089f0e561b080d44baed45b20ea5ed44521
\.


--
-- Data for Name: kept_answers; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kept_answers (name, kind, items, capacity, fpr, fpr_now, bits, bits_set, fill, layers, bytes, counting, window_width, slices, expired_before, contained, remaining) FROM stdin;
integer	integer	300	300	0.01	0.009718665086589109	2944	1360	0.46195652173913043	1	404	f	\N	\N	\N	304	0916667710614d8f94d9573304a774c2
layers	integer	300	300	0.001	0.0006170982983210454	5504	2532	0.46002906976744184	2	740	f	\N	\N	\N	301	b56480e54cd3d84ee044aacc0488c119
text	text	300	300	0.01	0.01002268897299931	2944	1367	0.46433423913043476	1	404	f	\N	\N	\N	309	6fc23cfab92fcbcf9c35ae1f6b4a89ff
uuid	uuid	300	300	0.01	0.009380658278563065	2944	1352	0.4592391304347826	1	404	f	\N	\N	\N	306	f924d67a56e54a21b9d2cb320d2f4977
bytea	bytea	300	300	0.01	0.00877327231248714	2944	1337	0.45414402173913043	1	404	f	\N	\N	\N	305	2bb2c6bf4a7996ab93bbde03b9302f14
window	integer	300	300	0.01	0.007306656141686261	4224	1760	0.4166666666666667	6	716	f	30 days	6	\N	305	389dcac61568228e869803f9b41d4df0
counting	integer	300	300	0.01	0.009464227082382953	2944	1354	0.45991847826086957	1	1508	t	\N	\N	\N	303	da4e710c4ba4751635a60efcbbdcfbcd
empty	\N	0	100	0.01	0	1152	0	0	1	180	f	\N	\N	\N	0	4e1dba722d3c7c301270a250f72e8460
default	\N	0	50	0.01	0	576	0	0	1	108	f	\N	\N	\N	0	4e1dba722d3c7c301270a250f72e8460
user 3	integer	1	2	0.01	0.0009765625	64	2	0.03125	1	44	f	\N	\N	\N	1	f06d5cac202719accd6d9bf334775af9
user 2	integer	11	14	0.01	0.0017023682594299316	192	39	0.203125	1	60	f	\N	\N	\N	12	aff38e9578339d2f5b7cafc4b41d03e2
user 1	integer	301	362	0.01	0.004346519151031599	3520	1422	0.40397727272727274	1	476	f	\N	\N	\N	308	f97913f6352e9e279a91e58546721825
\.


--
-- Data for Name: kept_feed_answers; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kept_feed_answers (user_id, shown, untracked, seen, forever) FROM stdin;
1	faa9e83748fc0e4680aa893d7c9aaec6	faa9e83748fc0e4680aa893d7c9aaec6	0b264d6ee66e32bbac0f69fc8e6ed982	7e5e9f52cf314479c17dea01b8fcb77f
2	765e02172bb71a1c58c64b0bb785b2da	765e02172bb71a1c58c64b0bb785b2da	1566aacca521c4aeaaf7e4015866b99b	1566aacca521c4aeaaf7e4015866b99b
3	f06d5cac202719accd6d9bf334775af9	f06d5cac202719accd6d9bf334775af9	4e1dba722d3c7c301270a250f72e8460	4e1dba722d3c7c301270a250f72e8460
\.


--
-- Data for Name: filters; Type: TABLE DATA; Schema: seen; Owner: -
--

COPY seen.filters (user_id, since, items, pending, recent) FROM stdin;
1	2000-01-01 00:00:00+00	\\x01220100000000007b14ae47e17a843f000058b436470c00000000000000008002000000000000003f0000202c0100002c0100001f0700000000000000000000ffa12b80672f3c31de83ba74026b20589ca1780a0c9532a968e44f0d368cf7000188c86473521400fdf33c550e50198046734d9a028a4c71a4296d2b004073d5105522c9e88bd85a060fd9320319d74d040521d8ccf1ae0320688e104af10c1736e06e071efb5f4006f967ff54783f41f204fb5e98020330a077251322540a96d27cf41267bdac3ddcfe24af2212841d223b0fe9b6438e9a8310c212542699f698bf085501be21acebe308a8d10b9617db940a0e33decc1c2e42ef071f6282584a2b7f0e586ae791ddb84a7a4f391e456875fc0435523b3303cc1e104cb20d1210b3d54d12941fc9838d9c08c3178eded5200392e8036818b17874dc81951886aa75593d170a445d440463c8f90a0785931d0b34229126f77218202614c53b2562c0a3045a1f229df0eebac1a98815e4bddc599622004935348964959da3f018cb947335e107a08e62dd0f163f16d19cb8ada5e98e651d4e470547e66bf6e5f51f1a406ae4c16b6724aaa36de12f4643d9ac4b3e6ca6804b83442404793e8b1ed22e8004a0d8c80f4705bd15b603652c3a9bef88f464a08274c19d808c5960a78a29e46f270d503ccd199011d3a6aa7d6308095711038ac391c7b3610682c636186f371163efe3e242dc63992c0bb7688672e0ceb7048d7d94960b191f312371b32f4c2b30c4d6019e76207349ba661b19b62bee0a8db2e6	0	{}
2	2000-01-01 00:00:00+00	\N	2	{-8982230457741691068,3561637668096805189,5293579765126103566,-663977588974966463}
\.


--
-- Data for Name: filters; Type: TABLE DATA; Schema: shown; Owner: -
--

COPY shown.filters (user_id, filled_until, items, pending, recent) FROM stdin;
1	2026-11-30 17:00:52.757823+00	\\x01010100000000007b14ae47e17a843f2e0000182c0100002c01000050050000c6356f2d885b8df8666e8043e90fd30052b072cf178fb3097e88cf35a7763d012ef58cc08c689a3e3712e181f86e6fd4aa7ca8882a5d14a0195073afd9d63f84ec9139e2fc30d494213c831f34a44c01959c18e7df02207350483b262608ae649d88538af03ca2809addba879ccd0dac9ee508308d38f29f6802086ac5014d42b06e23fafada0bb50016981505028cad7224be761d7a637505dc250daf4a97fb887429c87507527ef3295145388880e3f933028854bd09830e5d0a90df2be0892d6daac4316d2d10a848ead4e24b49d62d6b63aa083996ee5d266a51104fd9b96ba180159c0473bbb12d02d44fe46be32f795928f0ea87fcb159443cba9e36c04ebd946a50bac32b6fc14903fabca0c38fd3a4949ad4266ee8ded3ec1d444a52099a6490e799a525351bf81e4852275c84805e2108d53a04b75bc89230e79dc24f0ad5141cf06471d8084ec119737687acb772a049bc224b9a6687d5c491c695f802e000483b4903628dc0353ae2bc09	0	{-6443450559023289812}
2	2026-11-30 17:00:52.757823+00	\\x01010100000000007b14ae47e17a843f020000140a0000000a0000002a00000060180c0970aca23405019730a8074982	0	{-6443450559023289812}
3	\N	\N	0	{-6443450559023289812}
\.


--
-- Data for Name: filters; Type: TABLE DATA; Schema: untracked; Owner: -
--

COPY untracked.filters (user_id, filled_until, items, pending, recent) FROM stdin;
1	2026-11-30 16:50:51.761768+00	\\x01010100000000007b14ae47e17a843f2e0000182c0100002c01000050050000c6356f2d885b8df8666e8043e90fd30052b072cf178fb3097e88cf35a7763d012ef58cc08c689a3e3712e181f86e6fd4aa7ca8882a5d14a0195073afd9d63f84ec9139e2fc30d494213c831f34a44c01959c18e7df02207350483b262608ae649d88538af03ca2809addba879ccd0dac9ee508308d38f29f6802086ac5014d42b06e23fafada0bb50016981505028cad7224be761d7a637505dc250daf4a97fb887429c87507527ef3295145388880e3f933028854bd09830e5d0a90df2be0892d6daac4316d2d10a848ead4e24b49d62d6b63aa083996ee5d266a51104fd9b96ba180159c0473bbb12d02d44fe46be32f795928f0ea87fcb159443cba9e36c04ebd946a50bac32b6fc14903fabca0c38fd3a4949ad4266ee8ded3ec1d444a52099a6490e799a525351bf81e4852275c84805e2108d53a04b75bc89230e79dc24f0ad5141cf06471d8084ec119737687acb772a049bc224b9a6687d5c491c695f802e000483b4903628dc0353ae2bc09	0	{}
2	2026-11-30 16:50:51.761768+00	\\x01010100000000007b14ae47e17a843f020000140a0000000a0000002a00000060180c0970aca23405019730a8074982	0	{}
\.


--
-- Name: filters filters_pkey; Type: CONSTRAINT; Schema: forever; Owner: -
--

ALTER TABLE ONLY forever.filters
    ADD CONSTRAINT filters_pkey PRIMARY KEY (user_id);


--
-- Name: filters filters_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.filters
    ADD CONSTRAINT filters_pkey PRIMARY KEY (name);


--
-- Name: filters filters_pkey; Type: CONSTRAINT; Schema: seen; Owner: -
--

ALTER TABLE ONLY seen.filters
    ADD CONSTRAINT filters_pkey PRIMARY KEY (user_id);


--
-- Name: filters filters_pkey; Type: CONSTRAINT; Schema: shown; Owner: -
--

ALTER TABLE ONLY shown.filters
    ADD CONSTRAINT filters_pkey PRIMARY KEY (user_id);


--
-- Name: filters filters_pkey; Type: CONSTRAINT; Schema: untracked; Owner: -
--

ALTER TABLE ONLY untracked.filters
    ADD CONSTRAINT filters_pkey PRIMARY KEY (user_id);


--
-- Name: exposures_user_id_shown_at_item_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX exposures_user_id_shown_at_item_id_idx ON public.exposures USING btree (user_id, shown_at, item_id);


--
-- Name: filters_bloom_fpr_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX filters_bloom_fpr_idx ON public.filters USING btree (public.bloom_fpr(items));


--
-- Name: filters_items_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX filters_items_idx ON public.filters USING hash (items);


--
-- Name: exposures insert_shown; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER insert_shown AFTER INSERT ON public.exposures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION shown.track();


--
-- Name: exposures update_shown; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER update_shown AFTER UPDATE ON public.exposures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION shown.track();


--
-- Name: SCHEMA forever; Type: ACL; Schema: -; Owner: -
--

GRANT USAGE ON SCHEMA forever TO app;


--
-- Name: SCHEMA seen; Type: ACL; Schema: -; Owner: -
--

GRANT USAGE ON SCHEMA seen TO app;


--
-- Name: SCHEMA shown; Type: ACL; Schema: -; Owner: -
--

GRANT USAGE ON SCHEMA shown TO app;


--
-- Name: SCHEMA untracked; Type: ACL; Schema: -; Owner: -
--

GRANT USAGE ON SCHEMA untracked TO app;


--
-- Name: FUNCTION add(user_id text, items bigint[], shown_at timestamp with time zone); Type: ACL; Schema: forever; Owner: -
--

REVOKE ALL ON FUNCTION forever.add(user_id text, items bigint[], shown_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION forever.add(user_id text, items bigint[], shown_at timestamp with time zone) TO app;


--
-- Name: FUNCTION add_batch(user_ids text[], items bigint[], shown_at timestamp with time zone[]); Type: ACL; Schema: forever; Owner: -
--

REVOKE ALL ON FUNCTION forever.add_batch(user_ids text[], items bigint[], shown_at timestamp with time zone[]) FROM PUBLIC;


--
-- Name: FUNCTION contains(user_id text, item bigint); Type: ACL; Schema: forever; Owner: -
--

REVOKE ALL ON FUNCTION forever.contains(user_id text, item bigint) FROM PUBLIC;


--
-- Name: FUNCTION current(user_id text); Type: ACL; Schema: forever; Owner: -
--

REVOKE ALL ON FUNCTION forever.current(user_id text) FROM PUBLIC;


--
-- Name: FUNCTION forget(user_id text); Type: ACL; Schema: forever; Owner: -
--

REVOKE ALL ON FUNCTION forever.forget(user_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION forever.forget(user_id text) TO app;


--
-- Name: FUNCTION lock(user_id text); Type: ACL; Schema: forever; Owner: -
--

REVOKE ALL ON FUNCTION forever.lock(user_id text) FROM PUBLIC;


--
-- Name: FUNCTION merge(from_user text, into_user text); Type: ACL; Schema: forever; Owner: -
--

REVOKE ALL ON FUNCTION forever.merge(from_user text, into_user text) FROM PUBLIC;


--
-- Name: FUNCTION settings(); Type: ACL; Schema: forever; Owner: -
--

REVOKE ALL ON FUNCTION forever.settings() FROM PUBLIC;


--
-- Name: FUNCTION take(user_id text, candidates bigint[], wanted integer); Type: ACL; Schema: forever; Owner: -
--

REVOKE ALL ON FUNCTION forever.take(user_id text, candidates bigint[], wanted integer) FROM PUBLIC;
GRANT ALL ON FUNCTION forever.take(user_id text, candidates bigint[], wanted integer) TO app;


--
-- Name: FUNCTION take_back(user_id text, items bigint[]); Type: ACL; Schema: forever; Owner: -
--

REVOKE ALL ON FUNCTION forever.take_back(user_id text, items bigint[]) FROM PUBLIC;


--
-- Name: FUNCTION unseen(user_id text, candidates bigint[]); Type: ACL; Schema: forever; Owner: -
--

REVOKE ALL ON FUNCTION forever.unseen(user_id text, candidates bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION forever.unseen(user_id text, candidates bigint[]) TO app;


--
-- Name: TABLE exposures; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT ON TABLE public.exposures TO app;


--
-- Name: FUNCTION add(user_id bigint, items text[], shown_at timestamp with time zone); Type: ACL; Schema: seen; Owner: -
--

REVOKE ALL ON FUNCTION seen.add(user_id bigint, items text[], shown_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION seen.add(user_id bigint, items text[], shown_at timestamp with time zone) TO app;


--
-- Name: FUNCTION add_batch(user_ids bigint[], items text[], shown_at timestamp with time zone[]); Type: ACL; Schema: seen; Owner: -
--

REVOKE ALL ON FUNCTION seen.add_batch(user_ids bigint[], items text[], shown_at timestamp with time zone[]) FROM PUBLIC;
GRANT ALL ON FUNCTION seen.add_batch(user_ids bigint[], items text[], shown_at timestamp with time zone[]) TO app;


--
-- Name: FUNCTION contains(user_id bigint, item text); Type: ACL; Schema: seen; Owner: -
--

REVOKE ALL ON FUNCTION seen.contains(user_id bigint, item text) FROM PUBLIC;


--
-- Name: FUNCTION current(user_id bigint); Type: ACL; Schema: seen; Owner: -
--

REVOKE ALL ON FUNCTION seen.current(user_id bigint) FROM PUBLIC;


--
-- Name: PROCEDURE expire(IN pause interval, IN allow_removed boolean, INOUT removed bigint); Type: ACL; Schema: seen; Owner: -
--

REVOKE ALL ON PROCEDURE seen.expire(IN pause interval, IN allow_removed boolean, INOUT removed bigint) FROM PUBLIC;


--
-- Name: FUNCTION expire_batch(INOUT after bigint, allow_removed boolean, INOUT removed bigint); Type: ACL; Schema: seen; Owner: -
--

REVOKE ALL ON FUNCTION seen.expire_batch(INOUT after bigint, allow_removed boolean, INOUT removed bigint) FROM PUBLIC;


--
-- Name: FUNCTION forget(user_id bigint); Type: ACL; Schema: seen; Owner: -
--

REVOKE ALL ON FUNCTION seen.forget(user_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION seen.forget(user_id bigint) TO app;


--
-- Name: FUNCTION lock(user_id bigint); Type: ACL; Schema: seen; Owner: -
--

REVOKE ALL ON FUNCTION seen.lock(user_id bigint) FROM PUBLIC;


--
-- Name: FUNCTION merge(from_user bigint, into_user bigint); Type: ACL; Schema: seen; Owner: -
--

REVOKE ALL ON FUNCTION seen.merge(from_user bigint, into_user bigint) FROM PUBLIC;


--
-- Name: FUNCTION settings(); Type: ACL; Schema: seen; Owner: -
--

REVOKE ALL ON FUNCTION seen.settings() FROM PUBLIC;


--
-- Name: FUNCTION take(user_id bigint, candidates text[], wanted integer); Type: ACL; Schema: seen; Owner: -
--

REVOKE ALL ON FUNCTION seen.take(user_id bigint, candidates text[], wanted integer) FROM PUBLIC;
GRANT ALL ON FUNCTION seen.take(user_id bigint, candidates text[], wanted integer) TO app;


--
-- Name: FUNCTION take_back(user_id bigint, items text[]); Type: ACL; Schema: seen; Owner: -
--

REVOKE ALL ON FUNCTION seen.take_back(user_id bigint, items text[]) FROM PUBLIC;


--
-- Name: FUNCTION unseen(user_id bigint, candidates text[]); Type: ACL; Schema: seen; Owner: -
--

REVOKE ALL ON FUNCTION seen.unseen(user_id bigint, candidates text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION seen.unseen(user_id bigint, candidates text[]) TO app;


--
-- Name: FUNCTION contains(user_id bigint, item bigint); Type: ACL; Schema: shown; Owner: -
--

REVOKE ALL ON FUNCTION shown.contains(user_id bigint, item bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION shown.contains(user_id bigint, item bigint) TO app;


--
-- Name: FUNCTION current(user_id bigint); Type: ACL; Schema: shown; Owner: -
--

REVOKE ALL ON FUNCTION shown.current(user_id bigint) FROM PUBLIC;


--
-- Name: FUNCTION lock(user_id bigint); Type: ACL; Schema: shown; Owner: -
--

REVOKE ALL ON FUNCTION shown.lock(user_id bigint) FROM PUBLIC;


--
-- Name: PROCEDURE rebuild(IN users bigint[], IN after bigint, IN upto bigint, IN pause interval, IN dry_run boolean, IN allow_removed boolean, INOUT exposures bigint, INOUT filters bigint, INOUT bytes bigint, INOUT removed bigint); Type: ACL; Schema: shown; Owner: -
--

REVOKE ALL ON PROCEDURE shown.rebuild(IN users bigint[], IN after bigint, IN upto bigint, IN pause interval, IN dry_run boolean, IN allow_removed boolean, INOUT exposures bigint, INOUT filters bigint, INOUT bytes bigint, INOUT removed bigint) FROM PUBLIC;
GRANT ALL ON PROCEDURE shown.rebuild(IN users bigint[], IN after bigint, IN upto bigint, IN pause interval, IN dry_run boolean, IN allow_removed boolean, INOUT exposures bigint, INOUT filters bigint, INOUT bytes bigint, INOUT removed bigint) TO app;


--
-- Name: FUNCTION rebuild_batch(users bigint[], INOUT after bigint, upto bigint, size integer, dry_run boolean, allow_removed boolean, INOUT counts bloomexp.rebuild_counts, OUT busy bigint[]); Type: ACL; Schema: shown; Owner: -
--

REVOKE ALL ON FUNCTION shown.rebuild_batch(users bigint[], INOUT after bigint, upto bigint, size integer, dry_run boolean, allow_removed boolean, INOUT counts bloomexp.rebuild_counts, OUT busy bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shown.rebuild_batch(users bigint[], INOUT after bigint, upto bigint, size integer, dry_run boolean, allow_removed boolean, INOUT counts bloomexp.rebuild_counts, OUT busy bigint[]) TO app;


--
-- Name: FUNCTION settings(); Type: ACL; Schema: shown; Owner: -
--

REVOKE ALL ON FUNCTION shown.settings() FROM PUBLIC;


--
-- Name: FUNCTION take(user_id bigint, candidates bigint[], wanted integer); Type: ACL; Schema: shown; Owner: -
--

REVOKE ALL ON FUNCTION shown.take(user_id bigint, candidates bigint[], wanted integer) FROM PUBLIC;
GRANT ALL ON FUNCTION shown.take(user_id bigint, candidates bigint[], wanted integer) TO app;


--
-- Name: FUNCTION take_back(user_id bigint, items bigint[]); Type: ACL; Schema: shown; Owner: -
--

REVOKE ALL ON FUNCTION shown.take_back(user_id bigint, items bigint[]) FROM PUBLIC;


--
-- Name: FUNCTION track(); Type: ACL; Schema: shown; Owner: -
--

REVOKE ALL ON FUNCTION shown.track() FROM PUBLIC;


--
-- Name: FUNCTION unseen(user_id bigint, candidates bigint[]); Type: ACL; Schema: shown; Owner: -
--

REVOKE ALL ON FUNCTION shown.unseen(user_id bigint, candidates bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shown.unseen(user_id bigint, candidates bigint[]) TO app;


--
-- Name: FUNCTION contains(user_id bigint, item bigint); Type: ACL; Schema: untracked; Owner: -
--

REVOKE ALL ON FUNCTION untracked.contains(user_id bigint, item bigint) FROM PUBLIC;


--
-- Name: FUNCTION current(user_id bigint); Type: ACL; Schema: untracked; Owner: -
--

REVOKE ALL ON FUNCTION untracked.current(user_id bigint) FROM PUBLIC;


--
-- Name: FUNCTION lock(user_id bigint); Type: ACL; Schema: untracked; Owner: -
--

REVOKE ALL ON FUNCTION untracked.lock(user_id bigint) FROM PUBLIC;


--
-- Name: PROCEDURE rebuild(IN users bigint[], IN after bigint, IN upto bigint, IN pause interval, IN overlap interval, IN dry_run boolean, IN allow_removed boolean, INOUT exposures bigint, INOUT filters bigint, INOUT bytes bigint, INOUT removed bigint); Type: ACL; Schema: untracked; Owner: -
--

REVOKE ALL ON PROCEDURE untracked.rebuild(IN users bigint[], IN after bigint, IN upto bigint, IN pause interval, IN overlap interval, IN dry_run boolean, IN allow_removed boolean, INOUT exposures bigint, INOUT filters bigint, INOUT bytes bigint, INOUT removed bigint) FROM PUBLIC;
GRANT ALL ON PROCEDURE untracked.rebuild(IN users bigint[], IN after bigint, IN upto bigint, IN pause interval, IN overlap interval, IN dry_run boolean, IN allow_removed boolean, INOUT exposures bigint, INOUT filters bigint, INOUT bytes bigint, INOUT removed bigint) TO app;


--
-- Name: FUNCTION rebuild_batch(users bigint[], INOUT after bigint, upto bigint, size integer, dry_run boolean, allow_removed boolean, INOUT counts bloomexp.rebuild_counts, overlap interval, OUT busy bigint[]); Type: ACL; Schema: untracked; Owner: -
--

REVOKE ALL ON FUNCTION untracked.rebuild_batch(users bigint[], INOUT after bigint, upto bigint, size integer, dry_run boolean, allow_removed boolean, INOUT counts bloomexp.rebuild_counts, overlap interval, OUT busy bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION untracked.rebuild_batch(users bigint[], INOUT after bigint, upto bigint, size integer, dry_run boolean, allow_removed boolean, INOUT counts bloomexp.rebuild_counts, overlap interval, OUT busy bigint[]) TO app;


--
-- Name: FUNCTION settings(); Type: ACL; Schema: untracked; Owner: -
--

REVOKE ALL ON FUNCTION untracked.settings() FROM PUBLIC;


--
-- Name: FUNCTION shown(user_id bigint, OUT items public.bloom, OUT recent bigint[]); Type: ACL; Schema: untracked; Owner: -
--

REVOKE ALL ON FUNCTION untracked.shown(user_id bigint, OUT items public.bloom, OUT recent bigint[]) FROM PUBLIC;


--
-- Name: FUNCTION take(user_id bigint, candidates bigint[], wanted integer); Type: ACL; Schema: untracked; Owner: -
--

REVOKE ALL ON FUNCTION untracked.take(user_id bigint, candidates bigint[], wanted integer) FROM PUBLIC;
GRANT ALL ON FUNCTION untracked.take(user_id bigint, candidates bigint[], wanted integer) TO app;


--
-- Name: FUNCTION take_back(user_id bigint, items bigint[]); Type: ACL; Schema: untracked; Owner: -
--

REVOKE ALL ON FUNCTION untracked.take_back(user_id bigint, items bigint[]) FROM PUBLIC;


--
-- Name: FUNCTION unseen(user_id bigint, candidates bigint[]); Type: ACL; Schema: untracked; Owner: -
--

REVOKE ALL ON FUNCTION untracked.unseen(user_id bigint, candidates bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION untracked.unseen(user_id bigint, candidates bigint[]) TO app;


--
-- PostgreSQL database dump complete
--


