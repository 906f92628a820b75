-- Add items, each with its time, and another filter to the filter of a user: at a new slice, for
-- late items, and for a new user.  The other functions call it, and nobody else needs to.
CREATE OR REPLACE FUNCTION {feed}.remember(user_id {user_type}, items {item_type}[], times timestamp with time zone[], filter {bloom}.bloom DEFAULT NULL) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_column
DECLARE
	stored record;
	whole {bloom}.bloom;	-- of all slices
	slice timestamp with time zone;	-- when the newest began that has begun
BEGIN
	FOR tries IN 1 .. 100 LOOP
		-- Which slices have left the window is what the times say that come in, not the clock; see
		-- bloom_add_at().
		SELECT true AS found, {bloom}.bloom_union({bloom}.bloom_union(f.items, f.recent), remember.filter) AS whole INTO stored
		FROM {feed}.filters AS f WHERE f.user_id {=} remember.user_id{collate} FOR NO KEY UPDATE;
		IF NOT FOUND THEN
			stored.whole := remember.filter;
		END IF;
		-- What is added has the rate of this script.  An older one can have had another, and that of
		-- a union is the sum.
		whole := coalesce({bloom}.bloom_slices(stored.whole, NULL, NULL, {fpr}), {bloom}.bloom_window({width}, {slices}, {fpr}));
		whole := {bloom}.bloom_add_at(whole, remember.items, times);
		slice := (SELECT coalesce(max(l.slice_start) FILTER (WHERE l.slice_start <= clock_timestamp()), min(l.slice_start))
			FROM {bloom}.bloom_layers(whole) AS l);

		IF stored.found THEN
			UPDATE {feed}.filters AS f SET items = {bloom}.bloom_slices(whole, NULL, slice), recent = {bloom}.bloom_slices(whole, slice, NULL), since = slice
			WHERE f.user_id {=} remember.user_id{collate};
			EXIT WHEN NOT FOUND;
			RETURN;
		END IF;
		INSERT INTO {feed}.filters (user_id, items, recent, since)
		VALUES (remember.user_id, {bloom}.bloom_slices(whole, NULL, slice), {bloom}.bloom_slices(whole, slice, NULL), slice)
		ON CONFLICT ON CONSTRAINT filters_pkey DO NOTHING;
		IF FOUND THEN
			RETURN;
		END IF;
	END LOOP;
	RAISE EXCEPTION 'could not add exposures to the filter of a user in %', {filters_literal}
		USING HINT = 'Look for triggers and rules on this table.';
END
{$};
