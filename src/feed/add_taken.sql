		UPDATE {feed}.filters AS f SET items = {bloom}.bloom_add(coalesce(filter, {bloom}.bloom_new(fpr => {fpr})), taken) WHERE f.user_id {=} take.user_id{collate};
		IF NOT FOUND THEN
			RAISE EXCEPTION 'could not add exposures to the filter of a user in %', {filters_literal}
				USING HINT = 'Look for triggers and rules on this table.';
		END IF;
