<?php
// Runs the statements of drivers.pl by PHP's pgsql, or by PDO with the argument pdo or emulated;
// psycopg3.py describes input and output.

// an array as a parameter is a warning of PHP, and becomes the text "Array"
error_reporting(E_ALL & ~E_WARNING);

function items_of(string $how, string $list)
{
    $items = $list === '' ? [] : explode(',', $list);
    switch ($how) {
        case 'integer': return (int) $list;
        case 'integers': return array_map('intval', $items);
        case 'strings': case 'uuids': return $items;
        case 'literal': return '{' . $list . '}';
        default: return $list;
    }
}

function by_pgsql(): callable
{
    $connection = pg_connect('');
    return function (string $text, array $values) use ($connection) {
        $result = @pg_query_params($connection, $text, $values);
        if (!$result) {
            throw new RuntimeException(pg_last_error($connection));
        }
        return pg_num_rows($result) ? pg_fetch_result($result, 0, 0) : '';
    };
}

function by_pdo(bool $emulated): callable
{
    $connection = new PDO('pgsql:', null, null, [PDO::ATTR_EMULATE_PREPARES => $emulated]);
    return function (string $text, array $values) use ($connection) {
        $statement = $connection->prepare(preg_replace('/\$(\d)/', ':p$1', $text));
        foreach ($values as $i => $value) {
            $statement->bindValue(':p' . ($i + 1), $value, is_int($value) ? PDO::PARAM_INT : PDO::PARAM_STR);
        }
        $statement->execute();
        return $statement->columnCount() ? $statement->fetchColumn() : '';
    };
}

$how = $argv[1] ?? 'pgsql';
$run = $how === 'pgsql' ? by_pgsql() : by_pdo($how === 'emulated');
while (($line = fgets(STDIN)) !== false) {
    [$text, $way, $user, $list] = explode("\t", rtrim($line, "\n"));
    $values = array_slice([(int) $user, items_of($way, $list)], 0, str_contains($text, '$2') ? 2 : 1);
    try {
        // (no item has a character that PostgreSQL quotes in an array)
        $array = trim((string) $run($text, $values), '{}');
        echo "ok\t$array\n";
    } catch (RuntimeException $error) {
        echo "error\t\t", strtok(preg_replace('/^.*?ERROR: +/s', '', $error->getMessage()), "\n"), "\n";
    }
}
