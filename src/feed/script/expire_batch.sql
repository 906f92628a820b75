-- One batch of expire(): of the next 10,000 users.  "removed" counts those of all batches.
CREATE OR REPLACE FUNCTION {feed}.expire_batch(INOUT after {user_type}, allow_removed boolean,
	INOUT removed bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET row_security = off AS {$}	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	oldest timestamp with time zone :=
		bloomexp.oldest_slice(clock_timestamp(), {width}, {slices});
	batch_from {user_type} := after;
	expired record;
BEGIN
	IF after IS NULL AND allow_removed IS NOT TRUE THEN
		-- a row that only lock() has made is no loss
		PERFORM bloomexp.require_few_expired({filters_literal}, oldest,
			count(f.since), count(*) FILTER (WHERE f.since < oldest))
		FROM {feed}.filters AS f;
	END IF;
	after := (SELECT f.user_id FROM {feed}.filters AS f
		WHERE batch_from IS NULL OR f.user_id {>} batch_from{collate}
		ORDER BY f.user_id OFFSET 9999 LIMIT 1);
	-- Rows of a slice that has expired, or that lock() alone made.  Users whose rows others have
	-- locked are seeing something now.
	FOR expired IN
		SELECT f.user_id FROM {feed}.filters AS f
		WHERE (batch_from IS NULL OR f.user_id {>} batch_from{collate})
			AND (after IS NULL OR f.user_id {<=} after{collate})
			AND coalesce(f.since < oldest, f.items IS NULL)
		ORDER BY f.user_id
	LOOP
		PERFORM FROM {feed}.filters AS f
		WHERE f.user_id {=} expired.user_id{collate}
			AND coalesce(f.since < oldest, f.items IS NULL)
		FOR UPDATE SKIP LOCKED;
		CONTINUE WHEN NOT FOUND;
		DELETE FROM {feed}.filters AS f
		WHERE f.user_id {=} expired.user_id{collate}
			AND coalesce(f.since < oldest, f.items IS NULL);
		IF FOUND THEN
			removed := removed + 1;
		ELSIF EXISTS (	-- on Citus, a shard may have moved and the user been shown something
			SELECT FROM {feed}.filters AS f
			WHERE f.user_id {=} expired.user_id{collate}
				AND coalesce(f.since < oldest, f.items IS NULL)) THEN
			PERFORM bloomexp.row_not_written({filters_literal});
		END IF;
	END LOOP;
END
{$};
