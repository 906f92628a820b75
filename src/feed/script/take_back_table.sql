-- Forget what the last take() returned and nobody saw: those of the items that it returned, if
-- they are no exposures, and none has come since then.  Returns them.
CREATE OR REPLACE FUNCTION {feed}.take_back(user_id {user_type}, items {item_type}[])
RETURNS {item_type}[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET row_security = off AS {$}	-- an error if row security would hide rows
#variable_conflict use_variable
DECLARE
	since timestamp with time zone := {window_start};
	f record;	-- the row
	back {item_type}[];
	kept bigint[];
BEGIN
	PERFORM bloomexp.require_trusted(t) FROM bloomexp.tables_of({exposures_literal}) AS t;
	items := bloomexp.exclude_first(items{item_collate}, NULL, NULL, NULL);	-- distinct, without NULLs
	PERFORM {feed}.lock(user_id);
	SELECT r.pending, r.recent INTO f FROM {feed}.filters AS r WHERE r.user_id {=} take_back.user_id{collate};
	IF f.pending > 0 THEN
		-- After the lock, in a statement of its own: it sees what others have committed before.
		back := bloomexp.exclude_first(items{item_collate}, NULL, NULL, (
			SELECT bloomexp.hashes(array_agg({item}{item_collate}))
			FROM {exposures} AS e{elements}
			WHERE {user} {=} take_back.user_id{collate} AND {exposed}));
		back := ARRAY(SELECT i.item FROM unnest(back) AS i(item)
			WHERE bloomexp.hashes(ARRAY[i.item{item_collate}]) <@ f.recent[1:f.pending]);
	END IF;
	IF cardinality(back) > 0 THEN
		kept := ARRAY(SELECT p.hash FROM unnest(f.recent[1:f.pending]) WITH ORDINALITY AS p(hash, n)
			WHERE p.hash <> ALL (bloomexp.hashes(back{item_collate})) ORDER BY p.n);
		UPDATE {feed}.filters AS r
		SET pending = cardinality(kept), recent = kept || f.recent[f.pending + 1 :]
		WHERE r.user_id {=} take_back.user_id{collate};
	END IF;
	RETURN coalesce(back, ARRAY[]::{item_type}[]);
END
{$};
