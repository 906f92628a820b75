		DECLARE
			at timestamp with time zone := clock_timestamp();	-- after the lock: never before what is in the filter
			times timestamp with time zone[] := array_fill(at, ARRAY[cardinality(taken)]);
		BEGIN
			UPDATE {feed}.filters AS f SET recent = {bloom}.bloom_add_at(f.recent, taken, times)
			WHERE f.user_id {=} take.user_id{collate} AND f.since <= at AND f.since > at - interval {slice_hours};
			IF NOT FOUND THEN
				PERFORM {feed}.remember(take.user_id, taken, times);
			END IF;
		END;
