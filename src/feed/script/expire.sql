-- Remove users whose last exposure has left the window.  This saves disk space, and changes no
-- answer.  Each batch commits, so call it in autocommit mode, once a day or less often.  It sleeps
-- for "pause" after each batch.  Calls for a user who is being removed wait until the batch
-- commits.  If more than 1,000 users, and more than a fifth of all, have expired, the clock may be
-- wrong: then it raises an error and removes nobody, unless allow_removed => true.  The caller also
-- needs EXECUTE on expire_batch().
CREATE OR REPLACE PROCEDURE {feed}.expire(pause interval DEFAULT '0',
	allow_removed boolean DEFAULT false, INOUT removed bigint DEFAULT 0)
LANGUAGE plpgsql AS {$}	-- no SET and no SECURITY DEFINER: with them it could not commit
BEGIN
	CALL bloomexp.expire_filters({expire_batch_literal}, NULL::{user_type}, pause, allow_removed,
		removed);
END
{$};
