	LOOP	-- a lock of one node is none on another: the row's is one of its shard
		PERFORM FROM {feed}.filters AS f WHERE f.user_id {=} take.user_id{collate} FOR NO KEY UPDATE;
		EXIT WHEN FOUND;
		INSERT INTO {feed}.filters (user_id) VALUES (take.user_id) ON CONFLICT ON CONSTRAINT filters_pkey DO NOTHING;
	END LOOP;
