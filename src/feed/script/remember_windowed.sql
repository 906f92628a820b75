-- Add items, each with its time, and another filter to the filter of a user: at a new slice, for
-- late items, and for a new user.  The other functions call it, and nobody else needs to.
CREATE OR REPLACE FUNCTION {feed}.remember(
	user_id {user_type}, items {item_type}[], times timestamp with time zone[], filter {bloom}.bloom DEFAULT NULL)
RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_column
DECLARE
	whole {bloom}.bloom;	-- of all slices
	slice timestamp with time zone;	-- when the newest began that has begun
BEGIN
	IF remember.user_id IS NOT NULL THEN
		PERFORM {feed}.lock(remember.user_id);
		-- Which slices have left the window is what the times say that come in, not the clock; see
		-- bloom_add_at().
		SELECT {bloom}.bloom_union({bloom}.bloom_union(f.items, f.recent), remember.filter) INTO whole
		FROM {feed}.filters AS f WHERE f.user_id {=} remember.user_id{collate};
		-- What is added has the rate of this script.  An older one can have had another, and that of
		-- a union is the sum.
		whole := coalesce({bloom}.bloom_window(whole, NULL, NULL, {fpr}), {bloom}.bloom_window({width}, {slices}, {fpr}));
		whole := {bloom}.bloom_add_at(whole, remember.items, times);
		slice := (SELECT coalesce(max(l.slice_start) FILTER (WHERE l.slice_start <= clock_timestamp()), min(l.slice_start))
			FROM {bloom}.bloom_layers(whole) AS l);
		UPDATE {feed}.filters AS f
		SET items = {bloom}.bloom_window(whole, NULL, slice, NULL), recent = {bloom}.bloom_window(whole, slice, NULL, NULL), since = slice
		WHERE f.user_id {=} remember.user_id{collate};
{found}
	END IF;
END
{$};
