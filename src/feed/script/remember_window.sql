-- Add items, each with its time, to what a user was shown; "taken" are those of a take().  The
-- other functions call it.
CREATE OR REPLACE FUNCTION {feed}.remember(user_id {user_type}, items {item_type}[],
	shown_at timestamp with time zone[], taken boolean) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_variable
DECLARE
	r record;	-- the row as it will be
BEGIN
	PERFORM {feed}.lock(remember.user_id);
	SELECT n.* INTO r FROM {feed}.filters AS f,
		bloomexp.add_to_row(f.since, f.items, f.pending, f.recent,
			remember.items{item_collate}, shown_at, taken,
			{item_kind}, {width}, {slices}, {fpr}, {capacity}) AS n
	WHERE f.user_id {=} remember.user_id{collate};
	UPDATE {feed}.filters AS f SET
		since = r.since, items = coalesce(r.items, f.items),
		pending = r.pending, recent = r.recent
	WHERE f.user_id {=} remember.user_id{collate} AND r.changed;
	IF NOT FOUND AND r.changed IS NOT FALSE THEN	-- NULL: there is no row
		PERFORM bloomexp.row_not_written({filters_literal});
	END IF;
END
{$};
