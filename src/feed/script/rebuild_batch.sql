-- One batch of a rebuild: the "wanted" users, or the next users after "after" and up to "upto",
-- with about "size" filters.  Returns in "after" the last user of the batch, or NULL if it was the
-- last batch; in "counts" the counts of all batches so far; and in "busy" the users to try again,
-- because others have locked their rows.
CREATE OR REPLACE FUNCTION {feed}.rebuild_batch(
	wanted {user_type}[], INOUT after {user_type}, upto {user_type}, size integer,
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
	FROM bloomexp.{rebuild_batch}({filters_literal}, {exposures_literal}, {user_column_literal},
		{exposed_query_literal},
		{width}, {fpr}, wanted, after, upto, size, dry_run, allow_removed,
		counts{#untracked}, has_triggers => false, overlap => overlap{/untracked}) AS b;
	after := result.after;
	counts := result.counts;
	busy := result.busy;
END
{$};
