<?php
// PHP has no array parameters: an array alone would be sent as the text "Array".
const PAGE = 'INSERT INTO exposures (user_id, item_id)
    SELECT :user, unnest(shown.take(:user, :candidates, 2)) RETURNING item_id';

function page(PDO $connection, int $user, array $candidates): array
{
    $literal = '{' . implode(',', array_map('intval', $candidates)) . '}';
    $statement = $connection->prepare(PAGE);
    $statement->execute(['user' => $user, 'candidates' => $literal]);
    return $statement->fetchAll(PDO::FETCH_COLUMN);
}

echo json_encode(page(new PDO('pgsql:'), 49, [49001, 703, 704, 705])), "\n"; // [703, 704]
