		-- Nearly always the user has a row.
		UPDATE {feed}.filters AS f SET items = {bloom}.bloom_add(coalesce(f.items, {bloom}.bloom_new(fpr => {fpr})), shown.items)
		WHERE f.user_id {=} shown.user_id{collate};
		CONTINUE WHEN FOUND;
		INSERT INTO {feed}.filters AS f (user_id, items)
		VALUES (shown.user_id, {bloom}.bloom_add({bloom}.bloom_new(fpr => {fpr}), shown.items))
		ON CONFLICT ON CONSTRAINT filters_pkey
		DO UPDATE SET items = {bloom}.bloom_add(coalesce(f.items, {bloom}.bloom_new(fpr => {fpr})), shown.items);
{found}
