-- Stop unless everything that this script names belongs to you or to roles that have your rights
-- anyway, and any feed of this name was made with the same fixed arguments.  Make the schema.  Drop
-- functions for types that the columns no longer have.
CALL bloomexp.feed_begin(feed => {feed_literal}, fixed_arguments => {fixed_literal},
	exposures => {exposures_literal},
	user_column => {user_column_literal}, user_type => {user_type_literal},
	user_collation => {user_collation_literal},
	item_column => {item_column_literal}, item_type => {item_type_literal},
	bloom => {bloom_literal});
