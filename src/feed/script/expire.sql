--- expire windowed
-- Remove users whose last exposure has left the window, in batches that commit.  Call it in
-- autocommit mode, once a day or less often: it saves disk and changes no answer.  If they are
-- more than 1,000 and more than a fifth of all, a clock may be wrong, and it removes nobody,
-- unless allow_removed => true.  It waits for "pause" after each batch.
CREATE OR REPLACE PROCEDURE {feed}.expire(pause interval DEFAULT '0', allow_removed boolean DEFAULT false, INOUT removed bigint DEFAULT 0)
LANGUAGE plpgsql AS {$}	-- no SET and no SECURITY DEFINER: with them it could not commit
DECLARE
	batch bigint;
BEGIN
{needs_autocommit}
	removed := 0;
	LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;	-- whatever the session's default is
		batch := {feed}.expire_batch(allow_removed OR removed OPERATOR(pg_catalog.>) 0);
		COMMIT;
		removed := removed OPERATOR(pg_catalog.+) batch;
		EXIT WHEN batch OPERATOR(pg_catalog.=) 0;
		PERFORM pg_catalog.pg_sleep_for(pause);
	END LOOP;
END
{$};

CREATE OR REPLACE FUNCTION {feed}.expire_batch(allow_removed boolean) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
DECLARE
	expired timestamp with time zone := clock_timestamp() - interval {hours} - interval {slice_hours};
	n_users bigint;
	n_expired bigint;
	old record;
BEGIN
	IF allow_removed IS NOT TRUE THEN
		-- a row that only lock() has made is no loss
		SELECT count(f.since), count(*) FILTER (WHERE f.since <= expired) INTO n_users, n_expired FROM {feed}.filters AS f;
		IF n_expired > 1000 AND n_expired > n_users / 5 THEN
			RAISE EXCEPTION 'expire would remove % of % users of %', n_expired, n_users, {filters_literal}
				USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('They have no exposure since %s.', expired),
					HINT = 'If that is right, call it with allow_removed => true.';
		END IF;
	END IF;
	-- One statement per user, which Citus needs to lock rows; it fetches all rows of a loop first.
	-- Users whose rows others have locked are seeing something now, and others take their places.
	n_expired := 0;
	FOR old IN SELECT f.user_id FROM {feed}.filters AS f WHERE coalesce(f.since <= expired, (f.items, f.recent) IS NULL) LIMIT 10000
	LOOP
		PERFORM FROM {feed}.filters AS f WHERE f.user_id {=} old.user_id{collate} AND coalesce(f.since <= expired, (f.items, f.recent) IS NULL) FOR UPDATE SKIP LOCKED;
		IF FOUND THEN
			DELETE FROM {feed}.filters AS f WHERE f.user_id {=} old.user_id{collate};
			n_expired := n_expired + 1;
			EXIT WHEN n_expired = 1000;
		END IF;
	END LOOP;
	RETURN n_expired;
END
{$};
