		UPDATE {feed}.filters AS f SET items = {bloom}.bloom_add(coalesce(filter, {bloom}.bloom_new(fpr => {fpr})), taken)
		WHERE f.user_id {=} take.user_id{collate};
{found}
