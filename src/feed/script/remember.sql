-- Add items to what a user was shown; "taken" are those of a take().  The other functions call it.
CREATE OR REPLACE FUNCTION {feed}.remember(user_id {user_type}, items {item_type}[], taken boolean)
RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_variable
DECLARE
	f record;	-- the row
	fresh bigint[];	-- hashes of what is new
BEGIN
	PERFORM {feed}.lock(user_id);
	SELECT r.items, r.pending, r.recent
	INTO f FROM {feed}.filters AS r WHERE r.user_id {=} remember.user_id{collate};
	fresh := bloomexp.hashes(bloomexp.exclude_first(items{item_collate}, NULL, NULL, f.recent));
	IF cardinality(fresh) = 0 AND (taken OR f.pending = 0
		OR NOT bloomexp.hashes(items{item_collate}) && f.recent[1:f.pending]) THEN
		RETURN;	-- nothing is new, and nothing of the last take is confirmed
	END IF;

	-- When "recent" is full, it goes into the filter; so does what alone would fill it.
	IF cardinality(f.recent) + cardinality(fresh) > {max_recent} THEN
		f.items := bloomexp.add_hashes(
			bloomexp.with_fpr(coalesce(f.items, bloomexp.new({capacity}, {fpr}, false)), {fpr}),
			{item_kind}, f.recent);
		f.recent := ARRAY[]::bigint[];
		IF cardinality(fresh) > {max_recent} THEN
			f.items := bloomexp.add_hashes(f.items, {item_kind}, fresh);
			fresh := ARRAY[]::bigint[];
		END IF;
	END IF;
	UPDATE {feed}.filters AS r
	SET items = f.items, pending = CASE WHEN taken THEN cardinality(fresh) ELSE 0 END,
		recent = fresh || f.recent
	WHERE r.user_id {=} remember.user_id{collate};
	IF NOT FOUND THEN
		RAISE EXCEPTION USING MESSAGE = 'could not write the row of a user in ' || {filters_literal},
			HINT = 'Look for triggers and rules on this table.';
	END IF;
END
{$};
