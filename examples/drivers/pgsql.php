<?php
// PHP has no array parameters: an array alone would be sent as the text "Array".
const PAGE = 'INSERT INTO exposures (user_id, item_id)
    SELECT $1, unnest(shown.take($1, $2, 2)) RETURNING item_id';

function page($connection, int $user, array $candidates): array
{
    $literal = '{' . implode(',', array_map('intval', $candidates)) . '}';
    return pg_fetch_all_columns(pg_query_params($connection, PAGE, [$user, $literal]));
}

echo json_encode(page(pg_connect(''), 48, [48001, 703, 704, 705])), "\n"; // [703, 704]
