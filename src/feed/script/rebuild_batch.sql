-- One batch of a rebuild: the "wanted" users, or the next ones after "after", up to "upto", about
-- as many as "size" filters.  Returns the last user of the batch, NULL after the last batch, the
-- counts of all batches, and the users whose rows others have locked.
CREATE OR REPLACE FUNCTION {feed}.rebuild_batch(
	wanted {user_type}[], INOUT after {user_type}, upto {user_type}, size integer,
	dry_run boolean, allow_removed boolean, INOUT counts bloomexp.rebuild_counts,
{#untracked}
	overlap interval,
{/untracked}
	OUT busy {user_type}[])
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
	SELECT b.after, b.counts, b.busy
	FROM bloomexp.{rebuild_batch}({filters_literal}, {exposures_literal}, {user_column_literal},
		{exposed_query_literal},
		{width}, {fpr}, wanted, after, upto, size, dry_run, allow_removed,
		counts{#untracked}, has_triggers => false, overlap => overlap{/untracked}) AS b
{$};
