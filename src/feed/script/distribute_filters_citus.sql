
-- On Citus each call runs on the node of its user.
{distribute}
SELECT pg_catalog.create_distributed_function({current_literal}, 'user_id', colocate_with => {filters_literal});
SELECT pg_catalog.create_distributed_function({unseen_literal}, 'user_id', colocate_with => {filters_literal});
SELECT pg_catalog.create_distributed_function({take_literal}, 'user_id', colocate_with => {filters_literal});
