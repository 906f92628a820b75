-- What this script has made belongs to its owner alone, and what existed before keeps its grants.
-- The function settings() keeps what the feed was made with, for bloomexp.feeds(), with hashes of
-- the functions, by which it finds those that were edited.
CALL bloomexp.feed_finish({feed_literal}, {feed_settings});
