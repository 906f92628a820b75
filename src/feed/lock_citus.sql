	FOR tries IN 1 .. 100 LOOP	-- a lock of one node is none on another: the row's is one of its shard
		PERFORM FROM {feed}.filters AS f WHERE f.user_id {=} take.user_id{collate} FOR NO KEY UPDATE;
		EXIT WHEN FOUND OR take.user_id IS NULL;	-- nobody has a row
		IF tries OPERATOR(pg_catalog.=) 100 THEN	-- FOUND after a loop says only that it ran
			RAISE EXCEPTION 'could not make a row of a user in %', {filters_literal} USING HINT = 'Look for triggers and rules on this table.';
		END IF;
		INSERT INTO {feed}.filters (user_id) VALUES (take.user_id) ON CONFLICT ON CONSTRAINT filters_pkey DO NOTHING;
	END LOOP;
