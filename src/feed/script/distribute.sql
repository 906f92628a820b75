-- On Citus, keep each filter on the node that has the exposures of its user, and run calls there.
CALL bloomexp.feed_distribute({feed_literal}, {exposures_literal});
