-- Build filters again from the exposures, in batches that commit: those of all users, of the users
-- with "after" < id <= "upto", or of "users".  Call it in autocommit mode, once a day or more
-- often.  Several sessions can share the users by ranges.  It waits for "pause" after each batch.
-- After a second, and then every ten, it reports up to which user it is done: continue an
-- interrupted rebuild with after => that user.
--
-- It returns how many exposures it read, how many filters it built, their bytes, and how many
-- filters it removed because their users have no exposure left.  It stops before it removes more
-- than 100 filters and a fifth of those that it has examined, or before that many would lose more
-- than half of what should still be in the exposures, unless allow_removed => true.
-- dry_run => true counts the same, and changes nothing.{#untracked}  Filters count as filled until
-- "overlap" before the oldest open transaction.{/untracked}  The caller also needs EXECUTE on
-- rebuild_batch().
CREATE OR REPLACE PROCEDURE {feed}.rebuild(
	users {user_type}[] DEFAULT NULL, after {user_type} DEFAULT NULL, upto {user_type} DEFAULT NULL,
	pause interval DEFAULT '0',{#untracked} overlap interval DEFAULT '10 minutes',{/untracked}
	dry_run boolean DEFAULT false, allow_removed boolean DEFAULT false,
	INOUT exposures bigint DEFAULT 0, INOUT filters bigint DEFAULT 0,
	INOUT bytes bigint DEFAULT 0, INOUT removed bigint DEFAULT 0)
LANGUAGE plpgsql AS {$}	-- no SET and no SECURITY DEFINER: with them it could not commit
BEGIN
	CALL bloomexp.rebuild_filters({rebuild_batch_literal}, {filters_literal},
{#tracked}
		users, after, upto, pause, NULL, dry_run, allow_removed,
{/tracked}
{#untracked}
		users, after, upto, pause, overlap, dry_run, allow_removed,
{/untracked}
		exposures, filters, bytes, removed);
END
{$};
