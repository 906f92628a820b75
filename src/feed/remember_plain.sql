-- Add items and the items of another filter to the filter of a user; times do not matter.  The
-- other functions call it, and nobody else needs to.
CREATE OR REPLACE FUNCTION {feed}.remember(user_id {user_type}, items {item_type}[], times timestamp with time zone[], filter {bloom}.bloom DEFAULT NULL) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_column
BEGIN
	INSERT INTO {feed}.filters AS f (user_id, items)
	VALUES (remember.user_id, {bloom}.bloom_add(coalesce(remember.filter, {bloom}.bloom_new(fpr => {fpr})), remember.items))
	ON CONFLICT ON CONSTRAINT filters_pkey
	DO UPDATE SET items = {bloom}.bloom_add(coalesce({bloom}.bloom_union(f.items, remember.filter), {bloom}.bloom_new(fpr => {fpr})), remember.items);
	IF NOT FOUND THEN
		RAISE EXCEPTION 'could not add exposures to the filter of a user in %', {filters_literal}
			USING HINT = 'Look for triggers and rules on this table.';
	END IF;
END
{$};
