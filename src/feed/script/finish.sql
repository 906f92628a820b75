-- Revoke all default privileges on the objects that this script has created.  Objects that existed
-- before keep their grants, except EXECUTE for PUBLIC.  Except on Citus, make the functions depend
-- on the extension, so that they are dropped with it.  Write the function settings(), where
-- bloomexp.feeds() reads the arguments of the feed and hashes of its functions, which show what
-- somebody has edited.
CALL bloomexp.feed_finish({feed_literal}, {feed_settings});
