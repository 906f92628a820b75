-- What one user was shown was shown to another, too, and the first is forgotten: a visitor
-- signs in.
CREATE OR REPLACE FUNCTION {feed}.merge(from_user {user_type}, into_user {user_type})
RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_variable
DECLARE
	present timestamp with time zone;
	visitor record;
BEGIN
	IF (from_user {=} into_user{collate}) IS NOT FALSE THEN
		RETURN;
	END IF;
	-- in the order of users, so that two calls do not deadlock
	PERFORM {feed}.lock(LEAST(from_user, into_user{collate}));
	PERFORM {feed}.lock(GREATEST(from_user, into_user{collate}));
	present := clock_timestamp();
	SELECT f.since, f.items, f.recent INTO visitor
	FROM {feed}.filters AS f WHERE f.user_id {=} from_user{collate};
	-- The target rate of a union is the sum; what is added later has that of the feed again.
	UPDATE {feed}.filters AS f SET
		since = bloomexp.since_after(f.recent, f.since, visitor.recent, visitor.since,
			present, {width}, {slices}),
		items = bloomexp.items_after(
			bloomexp.with_fpr(bloomexp."union"(f.items, visitor.items), {fpr}), f.recent, f.since,
			visitor.recent, visitor.since, present, {width}, {slices}, {item_kind}, {fpr}),
		pending = 0,
		recent = bloomexp.recent_after(f.recent, f.since, visitor.recent, visitor.since,
			present, {width}, {slices})
	WHERE f.user_id {=} into_user{collate};
	IF NOT FOUND THEN
		PERFORM bloomexp.row_not_written({filters_literal});
	END IF;
	PERFORM {feed}.forget(from_user);
END
{$};
