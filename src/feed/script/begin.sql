-- Stops unless all that this script names belongs to you, or to roles that have your rights anyway,
-- and the feed, if there is one, is of this kind.  Makes the schema.  Functions for other types of
-- the columns are dropped.
CALL bloomexp.feed_begin(feed => {feed_literal}, kind => {kind_literal},
	exposures => {exposures_literal}, user_type => {user_type_literal},
	user_collation => {user_collation_literal}, item_type => {item_type_literal},
	bloom => {bloom_literal});
