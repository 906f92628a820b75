-- Triggers on the table and on each partition, because an INSERT into a partition fires those of
-- the partition only.  Their names are insert_ and update_ with that of the feed.  An UPDATE that
-- shows an item again adds it again; updates of other columns cost the same, because a trigger that
-- sees all rows of a statement cannot name columns.  Tables that have theirs, enabled, are not
-- locked.
CALL bloomexp.attach_triggers({feed_literal}, {exposures_literal});
