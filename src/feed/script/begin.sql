-- Stops unless all that this script names is in hands with your rights, and the feed, if there is
-- one, is of this kind.  Makes the schema.  Functions for other types of the columns are dropped.
CALL bloomexp.feed_begin({feed_literal}, {kind_literal}, {exposures_literal}, {user_type_literal},
	{user_collation_literal}, {item_type_literal}, {bloom_literal});
