--- expire windowed
-- Remove users whose last exposure has left the window, in batches that commit.  Call it in
-- autocommit mode, once a day or less often: it saves disk and changes no answer.  If they are
-- more than 1,000 and more than a fifth of all, a clock may be wrong, and it removes nobody,
-- unless allow_removed => true.  It waits for "pause" after each batch.
CREATE OR REPLACE PROCEDURE {feed}.expire(pause interval DEFAULT '0', allow_removed boolean DEFAULT false, INOUT removed bigint DEFAULT 0)
LANGUAGE plpgsql AS {$}	-- no SET and no SECURITY DEFINER: with them it could not commit
DECLARE
	after {user_type};
BEGIN
{needs_autocommit}
	removed := 0;
	LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;	-- whatever the session's default is
		SELECT b.upto, removed OPERATOR(pg_catalog.+) b.n_removed INTO after, removed FROM {feed}.expire_batch(allow_removed, after) AS b;
		COMMIT;
		EXIT WHEN after IS NULL;
		PERFORM pg_catalog.pg_sleep_for(pause);
	END LOOP;
END
{$};

-- One batch of expire(): the next users after "after", of whom "upto" is the last (NULL: there are none).
CREATE OR REPLACE FUNCTION {feed}.expire_batch(allow_removed boolean, after {user_type}, OUT upto {user_type}, OUT n_removed bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan AS {$}	-- each batch has another bound
DECLARE
	expired timestamp with time zone := clock_timestamp() - interval {hours} - interval {slice_hours};
	n_users bigint;
	n_expired bigint;
BEGIN
	IF allow_removed IS NOT TRUE AND after IS NULL THEN
		-- a row that only lock() has made is no loss
		SELECT count(f.since), count(*) FILTER (WHERE f.since <= expired) INTO n_users, n_expired FROM {feed}.filters AS f;
		IF n_expired > 1000 AND n_expired > n_users / 5 THEN
			RAISE EXCEPTION 'expire would remove % of % users of %', n_expired, n_users, {filters_literal}
				USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('They have no exposure since %s.', expired),
					HINT = 'If that is right, call it with allow_removed => true.';
		END IF;
	END IF;
	-- One statement per user, which Citus needs to lock rows; users whose rows others have
	-- locked are seeing something now.
	n_removed := 0;
	FOR upto IN
		SELECT f.user_id FROM {feed}.filters AS f
		WHERE (f.since <= expired) IS NOT FALSE AND (after IS NULL OR f.user_id {>} after{collate}) ORDER BY f.user_id LIMIT 1000
	LOOP
		PERFORM FROM {feed}.filters AS f WHERE f.user_id {=} upto{collate} AND (f.since <= expired) IS NOT FALSE FOR UPDATE SKIP LOCKED;
		IF FOUND THEN
			DELETE FROM {feed}.filters AS f WHERE f.user_id {=} upto{collate};
			n_removed := n_removed + 1;
		END IF;
	END LOOP;
END
{$};
