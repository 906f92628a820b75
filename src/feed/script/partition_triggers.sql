-- Create the same two triggers on each partition or child that lacks them, because an INSERT into
-- a partition does not fire the triggers of its parent.  If something inserts into partitions
-- directly, apply this script again when there is a new one.
CALL bloomexp.attach_triggers({feed_literal}, {exposures_literal});
