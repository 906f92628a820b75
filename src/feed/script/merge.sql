-- What one user was shown was shown to another, too, and the first is forgotten: a visitor signs in.
CREATE OR REPLACE FUNCTION {feed}.merge(from_user {user_type}, into_user {user_type})
RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_variable
DECLARE
	visitor record;
	f record;	-- the row of into_user
BEGIN
	IF (from_user {=} into_user{collate}) IS NOT FALSE THEN
		RETURN;
	END IF;
	-- in the order of users, so that two calls do not deadlock
	INSERT INTO {feed}.filters AS l (user_id)
	SELECT u.u{collate} FROM unnest(ARRAY[from_user, into_user]) AS u(u) ORDER BY 1
	ON CONFLICT (user_id) DO UPDATE SET pending = l.pending WHERE false;
	SELECT r.items, r.recent INTO visitor
	FROM {feed}.filters AS r WHERE r.user_id {=} from_user{collate};
	SELECT r.items, r.recent INTO f
	FROM {feed}.filters AS r WHERE r.user_id {=} into_user{collate};

	-- What is added later has the rate of this script: that of a union is the sum.
	f.items := bloomexp.with_fpr(bloomexp.union(f.items, visitor.items), {fpr});
	f.recent := ARRAY(SELECT h.h FROM unnest(visitor.recent) AS h(h) WHERE h.h <> ALL (f.recent)) || f.recent;
	IF cardinality(f.recent) > {max_recent} THEN
		f.items := bloomexp.add_hashes(coalesce(f.items, bloomexp.new({capacity}, {fpr}, false)),
			{item_kind}, f.recent);
		f.recent := ARRAY[]::bigint[];
	END IF;

	PERFORM {feed}.forget(from_user);
	IF f.items IS NULL AND cardinality(f.recent) = 0 THEN	-- neither was shown anything
		PERFORM {feed}.forget(into_user);
	ELSE
		UPDATE {feed}.filters AS r SET items = f.items, pending = 0, recent = f.recent
		WHERE r.user_id {=} into_user{collate};
		IF NOT FOUND THEN
			RAISE EXCEPTION USING MESSAGE = 'could not write the row of a user in ' || {filters_literal},
				HINT = 'Look for triggers and rules on this table.';
		END IF;
	END IF;
END
{$};
