-- What this script has made belongs to its owner alone; what existed before keeps its grants.
-- What the feed was made with becomes the function settings(), for bloom_feeds(), with hashes of
-- the functions, by which it finds what was edited.
CALL bloomexp.feed_finish({feed_literal}, {settings});
