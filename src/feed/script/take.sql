-- The first distinct candidates that a user was not shown, as many as wanted (NULL: all).
{#remembers}
-- They count as shown at once.  The row stays locked until the transaction ends, so that no other
-- call takes the same items.
{/remembers}
{#untracked}
-- Other calls for the user wait until the transaction ends.  Insert the items as exposures in the
-- same statement or transaction: nothing else remembers them.
{/untracked}
CREATE OR REPLACE FUNCTION {feed}.take(user_id {user_type}, candidates {item_type}[],
	wanted integer DEFAULT NULL) RETURNS {item_type}[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
{#untracked}
BEGIN
	PERFORM {feed}.lock(user_id);
	RETURN (	-- a new statement, and so a new snapshot
		SELECT bloomexp.exclude_first(candidates{item_collate}, f.items, wanted, f.recent)
		FROM {feed}.shown(user_id) AS f);
END
{/untracked}
{#remembers}
#variable_conflict use_variable
DECLARE
	settings CONSTANT bloomexp.row_settings :=
		{settings};
{#alone}
	present timestamp with time zone;
{/alone}
	taken {item_type}[];
	new_hashes bigint[];
BEGIN
{#alone}
	-- As lock(), but without the time that a call of it takes.
	INSERT INTO {feed}.filters AS f (user_id)
	SELECT take.user_id{collate} WHERE take.user_id IS NOT NULL	-- NULL is nobody
	ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET pending = f.pending WHERE false;
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM FROM {feed}.filters AS f WHERE f.user_id {=} take.user_id{collate} FOR UPDATE;
	END IF;
	present := clock_timestamp();	-- after the lock, so not before what others have added
	taken := (
		SELECT bloomexp.exclude_first(candidates{item_collate},
			bloomexp.items_at(f.items, present, settings), wanted,
			bloomexp.recent_at(f.recent, f.since, present, settings))
		FROM (SELECT) AS one	-- a row, even for nobody
		LEFT JOIN {feed}.filters AS f ON f.user_id {=} take.user_id{collate});
{/alone}
{#tracked}
	-- Lock the row, and look at it as it is then.
	SELECT bloomexp.exclude_first(candidates{item_collate}, f.items, wanted, f.recent) INTO taken
	FROM {feed}.filters AS f WHERE f.user_id {=} take.user_id{collate} FOR NO KEY UPDATE;
	IF NOT FOUND THEN	-- a new user, or nobody
		PERFORM {feed}.lock(take.user_id);
		taken := (
			SELECT bloomexp.exclude_first(candidates{item_collate}, f.items, wanted, f.recent)
			FROM (SELECT) AS one	-- a row, even for nobody
			LEFT JOIN {feed}.filters AS f ON f.user_id {=} take.user_id{collate});
	END IF;
{/tracked}
	IF cardinality(taken) > 0 AND take.user_id IS NOT NULL THEN
		new_hashes := bloomexp.hashes(taken{item_collate});
		UPDATE {feed}.filters AS f SET
{#alone}
			since = bloomexp.since_after(f.recent, new_hashes, settings, f.since, present, present),
{/alone}
			items = bloomexp.items_after(f.items, f.recent, new_hashes, settings{#alone},
				f.since, present, present{/alone}),
			-- 0 if they are too many for "recent", and so in "items"
			pending = CASE WHEN cardinality(taken) <= 247 THEN cardinality(taken) ELSE 0 END,
			recent = bloomexp.recent_after(f.recent, new_hashes, settings{#alone},
				f.since, present, present{/alone})
		WHERE f.user_id {=} take.user_id{collate};
		IF NOT FOUND THEN
			PERFORM bloomexp.row_not_written({filters_literal});
		END IF;
	END IF;
	RETURN taken;
END
{/remembers}
{$};
