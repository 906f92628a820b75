-- One batch of a rebuild: the given users, or the next users after "after" and up to "upto",
-- with about "size" filters.  Returns in "after" the last user of the batch, or NULL if it was the
-- last batch; in "counts" the counts of all batches so far; and in "busy" the users to try again,
-- because others have locked their rows or a constraint has refused one.
CREATE OR REPLACE FUNCTION {feed}.rebuild_batch(
	users {user_type}[], INOUT after {user_type}, upto {user_type}, size integer,
	dry_run boolean, allow_removed boolean, INOUT counts bloomexp.rebuild_counts,
{#untracked}
	overlap interval,
{/untracked}
	OUT busy {user_type}[])
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
DECLARE
	installed {feed}.filters.items%TYPE := (	-- an error if the extension was dropped
		SELECT f.items FROM {feed}.filters AS f WHERE false);
	result record;
BEGIN
	SELECT b.after, b.counts, b.busy INTO result
	FROM bloomexp.{rebuild_batch}(
		filters => {filters_literal}, exposures => {exposures_literal},
		user_column => {user_column_literal},
		exposed_query => {exposed_query_literal},
		width => {width}, fpr => {fpr},
		wanted => users, after => after, upto => upto, size => size,
		dry_run => dry_run, allow_removed => allow_removed, counts => counts,
{#tracked}
		has_triggers => true) AS b;
{/tracked}
{#untracked}
		has_triggers => false, overlap => overlap) AS b;
{/untracked}
	after := result.after;
	counts := result.counts;
	busy := result.busy;
END
{$};
