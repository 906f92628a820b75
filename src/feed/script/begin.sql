-- Check that everything that this script names belongs to you, or to roles that have your rights
-- anyway.
{#alone}
-- Check what cannot change in an existing feed: the types of users and items, and the window.
{/alone}
{#table}
-- Check what cannot change in an existing feed: that it is over a table, and has triggers or not.
{/table}
-- Make the schema, if it is missing.
{#table}
-- If the types of columns have changed, drop the functions for the old types, and change the type
-- of user_id.
{/table}
CALL bloomexp.feed_begin(feed => {feed_literal}, fixed_arguments => {fixed_literal},
	exposures => {exposures_literal},
	user_column => {user_column_literal}, user_type => {user_type_literal},
	user_collation => {user_collation_literal},
	item_column => {item_column_literal}, item_type => {item_type_literal},
	bloom => {bloom_literal});
