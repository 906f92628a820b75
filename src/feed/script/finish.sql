-- What this script has made belongs to its owner alone; what existed before keeps its grants.
-- What the feed was made with becomes the function settings(), for bloom_feeds().
CALL bloomexp.feed_finish({feed_literal}, {settings});
