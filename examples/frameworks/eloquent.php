<?php
// Laravel, Eloquent: what a user has not seen.  Tables: tables.sql; PGHOST and PGDATABASE say
// where.

// Debian's; a Laravel application needs only what begins with "class Post"
require 'Illuminate/Database/autoload.php';

use Illuminate\Database\Capsule\Manager as DB; // in Laravel: use Illuminate\Support\Facades\DB
use Illuminate\Database\Eloquent\Model;

$capsule = new DB;
$capsule->addConnection(['driver' => 'pgsql',
    'host' => getenv('PGHOST'), 'port' => getenv('PGPORT'),
    'username' => getenv('PGUSER'), 'database' => getenv('PGDATABASE')]);
$capsule->setAsGlobal();
$capsule->bootEloquent();

class Post extends Model // the feed's migration is DB::unprepared() with SQL
{
    /** A condition: the user has not seen the post. */
    public function scopeUnseenBy($query, int $user)
    {
        return $query->whereRaw('NOT (SELECT shown.current(?)) @> posts.id', [$user]);
    }

    public static function newest(int $user): array
    {
        return self::unseenBy($user)->orderByDesc('published')->limit(3)->pluck('id')->all();
    }
}

class Exposures
{
    // PHP has no array parameters, so the candidates are a literal.  false sends the query to the
    // primary server where other queries go to replicas.
    private static function ids(string $sql, int $user, array $candidates, ...$more): array
    {
        $array = '{' . implode(',', array_map('intval', $candidates)) . '}';
        $bindings = ['user' => $user, 'candidates' => $array] + $more;
        return array_column(DB::select($sql, $bindings, false), 'id');
    }

    public static function remaining(int $user, array $candidates): array
    {
        return self::ids('SELECT unnest(shown.unseen(:user, :candidates)) AS id',
            $user, $candidates);
    }

    /** The next page, recorded as exposures. */
    public static function page(int $user, array $candidates, int $wanted): array
    {
        return self::ids('INSERT INTO exposures (user_id, item_id)
            SELECT :user, unnest(shown.take(:user, :candidates, :wanted))
            RETURNING item_id AS id', $user, $candidates, wanted: $wanted);
    }
}

echo json_encode(Exposures::remaining(42, [42299, 42301, 42999])), "\n"; // [42301,42999]
echo json_encode(Post::newest(42)), "\n"; // [42310,42309,42308]
echo json_encode(Exposures::page(42, [42300, 42309, 42310, 42308], 2)), "\n"; // [42309,42310]
echo json_encode(Post::newest(42)), "\n"; // [42308,42307,42306]
DB::statement("CALL shown.rebuild()"); // once a day; not in DB::transaction()
echo json_encode(Post::newest(42)), "\n"; // [42308,42307,42306]
