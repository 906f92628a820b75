-- The function of the triggers: adds the exposures that a statement has inserted or updated to the
-- rows of their users.
CREATE OR REPLACE FUNCTION {feed}.track() RETURNS pg_catalog.trigger
-- In a trigger without a transition table, "new_rows" is the empty table in the schema bloomexp.
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, bloomexp, pg_temp
SET enable_seqscan = off	-- a plan that is made while the table is small must suit a large one
SET row_security = off	-- an error if row security would hide rows
SET timezone = 'UTC' AS {$}	-- right even if the time column changes its type
#variable_conflict use_variable
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
	settings CONSTANT bloomexp.row_settings :=
		{settings};
	window_start CONSTANT timestamp with time zone := now() - interval {width};
	users {user_type}[];	-- users[i] was shown the item of new_hashes[i]
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
		SELECT {user}{collate} AS user_id, bloomexp.hash({item}{item_collate}) AS hash
		FROM new_rows AS e{elements}
		WHERE {is_exposure}
			AND {time} >= window_start{utc}
		LIMIT 248) AS p;
	IF users IS NULL THEN
		RETURN NULL;	-- no new row is an exposure in the window
	ELSIF cardinality(users) <= 247 AND users[1] {=} ALL (users{collate}) THEN
		SELECT bloomexp.row_changes(f.items, 0, f.recent, new_hashes, settings) INTO changes
		FROM {feed}.filters AS f WHERE f.user_id {=} users[1]{collate} FOR NO KEY UPDATE;
		IF changes THEN
			UPDATE {feed}.filters AS f SET
				items = bloomexp.items_after(f.items, f.recent, new_hashes, settings),
				pending = 0,
				recent = bloomexp.recent_after(f.recent, new_hashes, settings)
			WHERE f.user_id {=} users[1]{collate};
			IF NOT FOUND THEN
				PERFORM bloomexp.row_not_written({filters_literal});
			END IF;
		END IF;
		IF changes IS NOT NULL THEN
			RETURN NULL;
		END IF;	-- else the user has no row
	END IF;

	-- Lock the rows of all users in the order of their ids, so that two statements do not deadlock,
	-- and add the items.  Those of users with more than 247 follow in the loop below.
	INSERT INTO {feed}.filters AS f (user_id, recent)
	SELECT p.user_id,
		CASE WHEN cardinality(p.hashes) <= 247 THEN p.hashes ELSE ARRAY[]::bigint[] END
	FROM (
		SELECT {user}{collate} AS user_id, bloomexp.new_hashes(
			array_agg(bloomexp.hash({item}{item_collate})), ARRAY[]::bigint[]) AS hashes
		FROM new_rows AS e{elements}
		WHERE {is_exposure}
			AND {time} >= window_start{utc}
		GROUP BY 1) AS p
	ORDER BY p.user_id
	ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET
		items = bloomexp.items_after(f.items, f.recent, excluded.recent, settings),
		pending = 0,
		recent = bloomexp.recent_after(f.recent, excluded.recent, settings)
	WHERE bloomexp.row_changes(f.items, 0, f.recent, excluded.recent, settings);
	-- This raises an error if an older snapshot shows a row that a rebuild has removed since.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM FROM {feed}.filters AS f
		WHERE f.user_id {=} ANY (ARRAY(	-- not a join, which need not visit all users
			SELECT {user}{collate} FROM new_rows AS e{elements}
			WHERE {is_exposure}
				AND {time} >= window_start{utc}))
		FOR UPDATE;
	END IF;
	-- Add what the rows still lack: the items of users with more than 247, and items whose write
	-- above a trigger or rule has suppressed.  If this UPDATE is suppressed, too, raise an error.
	-- A subquery looks up each row: the planner does not know how many exposures are new, and with
	-- a join it might read the whole table of filters.
	FOR missing IN
		SELECT p.user_id::{user_type} AS user_id, p.hashes
		FROM (
			SELECT {user}{collate} AS user_id,
				array_agg(bloomexp.hash({item}{item_collate})) AS hashes
			FROM new_rows AS e{elements}
			WHERE {is_exposure}
				AND {time} >= window_start{utc}
			GROUP BY 1) AS p
		WHERE (
			SELECT bloomexp.row_changes(f.items, 0, f.recent, p.hashes, settings)
			FROM {feed}.filters AS f WHERE f.user_id {=} p.user_id) IS NOT FALSE
	LOOP
		UPDATE {feed}.filters AS f SET
			items = bloomexp.items_after(f.items, f.recent, missing.hashes, settings),
			pending = 0,
			recent = bloomexp.recent_after(f.recent, missing.hashes, settings)
		WHERE f.user_id {=} missing.user_id{collate};
		IF NOT FOUND THEN
			PERFORM bloomexp.row_not_written({filters_literal});
		END IF;
	END LOOP;
	RETURN NULL;
END
{$};
