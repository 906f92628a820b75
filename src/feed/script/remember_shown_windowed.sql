		-- Nearly always all times are in the slice of the calls before.  Only "recent" is written
		-- then, a few hundred bytes, however much the user has seen.
		UPDATE {feed}.filters AS f SET recent = {bloom}.bloom_add_at(f.recent, shown.items, shown.times)
		WHERE f.user_id {=} shown.user_id{collate} AND f.since <= shown.oldest AND f.since > shown.newest - interval {slice_hours};
		IF NOT FOUND THEN
			PERFORM {feed}.remember(shown.user_id, shown.items, shown.times);
		END IF;
