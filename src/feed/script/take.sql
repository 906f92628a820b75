-- The first candidates that a user was not shown, without repetitions, as many as wanted (NULL:
-- all).  They count as shown at once, and the row stays locked until the transaction ends, so
-- that no other call takes the same.
CREATE OR REPLACE FUNCTION {feed}.take(user_id {user_type}, candidates {item_type}[],
	wanted integer DEFAULT NULL) RETURNS {item_type}[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_variable
DECLARE
	taken {item_type}[];
	hashes bigint[];
BEGIN
	PERFORM {feed}.lock(take.user_id);
	taken := (
		SELECT bloomexp.exclude_first(candidates{item_collate}, f.items, wanted, f.recent)
		FROM (SELECT) AS one	-- a row, even for nobody
		LEFT JOIN {feed}.filters AS f ON f.user_id {=} take.user_id{collate});
	IF cardinality(taken) > 0 AND take.user_id IS NOT NULL THEN
		hashes := bloomexp.hashes(taken{item_collate});
		UPDATE {feed}.filters AS f SET
			items = bloomexp.items_after(f.items, f.recent, hashes, {item_kind}, {fpr}, {capacity}),
			-- none if they are too many for "recent"
			pending = cardinality(bloomexp.recent_after(ARRAY[]::bigint[], hashes)),
			recent = bloomexp.recent_after(f.recent, hashes)
		WHERE f.user_id {=} take.user_id{collate};
		IF NOT FOUND THEN
			PERFORM bloomexp.row_not_written({filters_literal});
		END IF;
	END IF;
	RETURN taken;
END
{$};
