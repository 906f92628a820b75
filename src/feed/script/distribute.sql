-- On Citus the filters lie with the exposures of their users, and each call runs there.
CALL bloomexp.feed_distribute({feed_literal}, {exposures_literal});
