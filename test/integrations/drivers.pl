# Drivers and frameworks: the programs of examples/drivers and examples/frameworks print what their
# comments say, and record the page; so do the latter on the feed that the migrations of
# examples/frameworks/README.md make in Rails and in Django, and remove.  One whose driver or
# framework is not installed is skipped, but CI insists on the drivers.

use utf8;

use Documents qw(blocks document sqlstate);
use File::Basename;
use File::Path qw(make_path);
use Server;

my $examples = "$root/examples";
my $folder = PostgreSQL::Test::Utils::tempdir();
my $modules = "$root/test/integrations/drivers/node_modules";

# Node.js looks for modules beside a program.
for ("$examples/drivers/node_modules", "$folder/node_modules")
{
	-e $_ or symlink $modules, $_ or die "node_modules: $!";
}

my $jars = join ':', map { glob "/usr/share/java/$_.jar" } split ' ',
	'postgresql spring3-{core,beans,transaction,jdbc} commons-logging hibernate3
	hibernate-commons-annotations geronimo-jpa_2.0_spec geronimo-jta-1.2-spec dom4j antlr
	commons-collections3 javassist slf4j-api slf4j-nop';
my $pq = '/usr/share/gocode/src/github.com/lib/pq';

# How to run a file, by its ending.
my %command = (
	py => ['/usr/bin/python3'], mjs => ['node'], rb => ['ruby'], php => ['php'],
	java => [ 'sh', '-c', "javac -d $folder/classes -cp $jars \"\$0\" &&
		exec java -XX:TieredStopAtLevel=1 -cp $folder/classes:$jars \$(basename \"\$0\" .java)" ],
	go => [ 'sh', '-ec', "mkdir $folder/go; cp \"\$0\" $folder/go; cd $folder/go
		export GOFLAGS=-mod=mod GOPROXY=off
		go mod init page 2>/dev/null
		go mod edit -require=github.com/lib/pq\@v1.10.7 -replace=github.com/lib/pq=$pq
		go build -o page .
		exec ./page" ]);

# What succeeds if the driver or the framework is there.
sub python { return [ '/usr/bin/python3', '-c', "import $_[0]" ] }
sub ruby { return [ 'ruby', '-e', join ';', map { "require '$_'" } @_ ] }
sub php { return [ 'php', '-r', 'exit((' . join(' && ', @_) . ') ? 0 : 1);' ] }
sub java { return [ 'sh', '-c', join ' && ', 'command -v javac',
	map { "test -e /usr/share/java/$_.jar" } 'postgresql', @_ ] }
sub node { return [ 'sh', '-c', "node --version && test -e $_[0]/package.json" ] }

my %driver = (
	'psycopg_page.py' => python('psycopg'),
	'packed.py' => python('psycopg'),
	'psycopg2_page.py' => python('psycopg2'),
	'asyncpg_page.py' => python('asyncpg'),
	'node_postgres.mjs' => node("$modules/pg"),
	'postgres_js.mjs' => node("$modules/postgres"),
	'Page.java' => java(),
	'lib_pq.go' => [ 'sh', '-c', "go version && test -d $pq" ],
	'pgx.go' => ['false'],	# by hand
	'pgsql.php' => php('extension_loaded("pgsql")'),
	'pdo.php' => php('extension_loaded("pdo_pgsql")'),
	'ruby_pg.rb' => ruby('pg'));
my %framework = (
	'django_feed.py' => python('django, psycopg2'),
	'sqlalchemy_feed.py' => python('sqlalchemy, psycopg2; assert sqlalchemy.__version__ >= "1.4"'),
	'activerecord.rb' => ruby('active_record', 'pg'),
	'eloquent.php' => php('(@include "Illuminate/Database/autoload.php")',
		'extension_loaded("pdo_pgsql")'),
	'SpringJdbc.java' => java('spring3-jdbc'),
	'HibernateFeed.java' => java('hibernate3'),
	map { ("$_->[0].mjs" => node("$examples/frameworks/node_modules/$_->[1]")) } [ knex => 'knex' ],
		[ kysely => 'kysely' ],
	[ drizzle => 'drizzle-orm' ], [ sequelize => 'sequelize' ], [ typeorm => 'typeorm' ],
		[ prisma => '../prisma-client' ]);

is_deeply([ sort grep { $_ ne 'django_unseen.py' } map { basename($_) }
	glob "$examples/{drivers,frameworks}/*.{py,mjs,rb,php,java,go}" ],
	[ sort keys %driver, keys %framework ], 'the programs');

# Run them, all at the same time, each in a database of its own

my $node = start_server_for_drivers('drivers');
$node->safe_psql('postgres', "CREATE DATABASE $_") for 'before', 'without_feed', 'one_item';
$node->safe_psql($_, document("$examples/frameworks/tables.sql")) for 'before', 'one_item';
$node->safe_psql('without_feed',
	document("$examples/frameworks/tables.sql")
	. 'DROP SCHEMA shown CASCADE; DROP INDEX exposures_user_id_shown_at_item_id_idx');

my %run;

sub start
{
	my ($name, $needs, $template, @command) = @_;
	my %program = (database => $name =~ s/\W/_/gr, out => '', err => '');

	return unless eval { IPC::Run::run($needs, '<', \undef, '>&', \my $output) };
	$node->safe_psql('postgres', "CREATE DATABASE \"$program{database}\" TEMPLATE $template");
	connect_to($program{database});
	$program{run} = IPC::Run::start(\@command, '<', \undef, '>', \$program{out},
		'2>', \$program{err}, IPC::Run::timeout(5 * $patience));
	$run{$name} = \%program;
}

# The numbers of each list, and those that a program prints by its comments.
sub numbers { return map { join ' ', /\d+/g } @_ }
sub expected { return [ numbers(document("$examples/$_[0]") =~ m{(?:#|//) (\[.*\])$}mg) ] }

for my $path (map({ "drivers/$_" } sort keys %driver), map { "frameworks/$_" } sort keys %framework)
{
	my $name = basename($path);

	start($name, $driver{$name} // $framework{$name}, 'before', @{ $command{ $name =~ s/.*\.//r } },
		"$examples/$path", $name eq 'packed.py'
			? qw(42 42001 42301 -42001 42300 9223372036854775807 -9223372036854775808 42301) : ());
}

# Its recipes in Rails and in Django

my $guide = document("$root/examples/frameworks/README.md");
my %code;
push @{ $code{ $_->{language} } }, $_->{text} for blocks($guide);
my ($add_index) = $guide =~ /`(add_index :[^`]*)`/;
my %file = (
	'rails.rb' => join("\n", qq{
require 'active_record'
ActiveRecord::Base.establish_connection(adapter: 'postgresql')
ActiveRecord::Migration.verbose = false
class IndexExposures < ActiveRecord::Migration[6.1]
  disable_ddl_transaction!

  def change
    $add_index
  end
end
}, @{ $code{ruby} }, qq{
migrate = lambda do |migration, direction|
  migration.new.exec_migration(ActiveRecord::Base.connection, direction)
end
migrate.(IndexExposures, :up)
ActiveRecord::Base.transaction { migrate.(CreateFeed, :up) }
ActiveRecord::Base.connection.execute('CALL shown.rebuild()')
load '$examples/frameworks/activerecord.rb'
# a text, or since Rails 7.1 something that shows as one
plan = Post.unseen_by(42).order(published: :desc).limit(3).explain
puts plan.is_a?(String) ? plan : plan.inspect

# A unique key, and exposures that have left the window: what returns after the next rebuild.
connection = ActiveRecord::Base.connection
connection.execute('ALTER TABLE exposures ADD UNIQUE (user_id, item_id)')
connection.execute('ALTER TABLE exposures ADD created_at timestamp NOT NULL DEFAULT now()')
connection.execute('ALTER TABLE exposures ALTER created_at DROP DEFAULT')
connection.execute("UPDATE exposures SET shown_at = now() - interval '31 days'
  WHERE item_id BETWEEN 42001 AND 42004")
connection.execute('CALL shown.rebuild()')
connection.schema_cache.clear!
Exposure.reset_column_information
Exposure.page(42, [42004], 1)
rows = ->(item) { [{ user_id: 42, item_id: item, shown_at: Time.now, created_at: Time.now }] }
Exposure.upsert_all(rows.(42001), unique_by: [:user_id, :item_id])
Exposure.insert_all(rows.(42002), unique_by: [:user_id, :item_id])
Exposure.find_or_create_by!(user_id: 42, item_id: 42003)
connection.execute('CALL shown.rebuild()')
puts "returns #{Exposure.remaining(42, [42001, 42002, 42003, 42004])}"
ActiveRecord::Base.transaction { migrate.(CreateFeed, :down) }
}),
	'project/feed/__init__.py' => '',
	'project/feed/unseen.py' => document("$examples/frameworks/django_unseen.py"),
	'project/settings.py' => q{
import os
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "feed"]
DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql",
                         "NAME": os.environ["PGDATABASE"]}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
},
	'project/models.py' => q{
from django.conf import settings
from django.db import models

class Post(models.Model):
    published = models.DateTimeField()

} . $code{python}[0],
	'0003_feed.py' => $code{python}[1],
	'django.sh' => q{
cd "${0%/*}/project"
export DJANGO_SETTINGS_MODULE=settings PYTHONPATH=. PYTHONDONTWRITEBYTECODE=1
manage() { /usr/bin/python3 -m django "$@" >/dev/null; }
# The model without the index, then with it; and the migrations as the page has them.
sed '/class Meta/,$d' models.py >feed/models.py
manage makemigrations feed
cp models.py feed/models.py
manage makemigrations -n index feed
sed -i 's/migrations.AddIndex(/AddIndexConcurrently(/
	/^class/a\    atomic = False
	s/^class.*/from django.contrib.postgres.operations import AddIndexConcurrently\n&/' \
	feed/migrations/0002_index.py
grep -q AddIndexConcurrently feed/migrations/0002_index.py
cp ../0003_feed.py feed/migrations
manage migrate
manage makemigrations --check
/usr/bin/python3 ../django_run.py
manage migrate feed 0002
},
	# (Post and its data are those of tables.sql.)
	'django_run.py' => q{
from datetime import datetime, timezone
import django
django.setup()
from django.db import connection
from feed.models import Exposure, Post
from feed.unseen import page, remaining, unseen

def run(sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)

def newest(user):
    posts = Post.objects.filter(unseen(user)).order_by("-published")
    return list(posts.values_list("id", flat=True)[:3])

run("INSERT INTO auth_user VALUES (42, '', NULL, false, 'ann', '', '', '', false, true, now())")
run("""INSERT INTO feed_post SELECT n, now() - (42310 - n) * interval '1 minute'
    FROM generate_series(42001, 42310) AS n""")
run("""INSERT INTO feed_exposure (user_id, post_id, shown_at)
    SELECT 42, 42000 + n, now() - n * interval '1 hour' FROM generate_series(1, 300) AS n""")
run("CALL shown.rebuild()")
print(remaining(42, [42299, 42301, 42999]))
print(newest(42))
print(page(Exposure, 42, [42300, 42309, 42310, 42308], 2))
print(newest(42))
run("CALL shown.rebuild()")
print(newest(42))
print(Post.objects.filter(unseen(42)).order_by("-published")[:3].explain())

# A unique key, and two exposures that have left the window: what returns after the next rebuild.
run("ALTER TABLE feed_exposure ADD UNIQUE (user_id, post_id)")
run("""UPDATE feed_exposure SET shown_at = now() - interval '31 days'
    WHERE post_id BETWEEN 42001 AND 42004""")
run("CALL shown.rebuild()")
Exposure._meta.unique_together = (("user", "post"),)
page(Exposure, 42, [42001], 1)
Exposure.objects.bulk_create([Exposure(user_id=42, post_id=42002)], ignore_conflicts=True)
Exposure.objects.get_or_create(user_id=42, post_id=42003)
Exposure.objects.update_or_create(user_id=42, post_id=42004,
                                  defaults={"shown_at": datetime.now(timezone.utc)})
run("CALL shown.rebuild()")
print("returns", remaining(42, [42001, 42002, 42003, 42004]))
},
);
for (keys %file)
{
	make_path(dirname("$folder/$_"));
	append_to_file("$folder/$_", $file{$_});
}
start('Rails', $framework{'activerecord.rb'}, 'without_feed', 'ruby', "$folder/rails.rb");
start('Django', $framework{'django_feed.py'}, 'template1', 'sh', '-e', "$folder/django.sh");

# What came of it

my $recorded = q{SELECT array_agg(item_id ORDER BY item_id) FROM exposures
	WHERE shown_at > now() - interval '30 minutes' AND shown.contains(user_id, item_id)};

for my $name (sort keys %driver, keys %framework, 'Rails', 'Django')
{
  SKIP:
	{
		if (!$run{$name})
		{
			ok(0, "$name: its driver, which CI needs") if $ENV{CI} && $driver{$name}
			  && $name ne 'pgx.go';
			skip("$name: its driver or framework is not installed", 1);
		}
		my $ran = $run{$name};
		ok($ran->{run}->finish, "$name runs") or diag $ran->{err};
		my @lines = split /\n/, $ran->{out};

		if (my $program = { Rails => 'activerecord.rb', Django => 'django_feed.py' }->{$name})
		{
			is_deeply([ numbers(grep { /^\[/ } @lines) ], expected("frameworks/$program"),
				"$name: $program on the feed of the migrations");
			is(scalar(grep { /^\s*InitPlan/ } @lines), 1,
				"$name: the feed fetches the filter once");
			is_deeply([ grep { /^returns/ } @lines ], ['returns [42002, 42003]'],
				"$name: what is not updated returns, with a unique key");
			is($node->safe_psql($ran->{database}, q{SELECT count(*) FROM pg_namespace
				WHERE nspname = 'shown'}), 0, "$name: the migration can be undone");
			next;
		}
		is($ran->{err}, '', "$name does not complain");
		if ($name eq 'packed.py')
		{
			is_deeply(\@lines, [qw(42301 -42001 9223372036854775807 -9223372036854775808 42301)],
				"$name: the remaining candidates");
			next;
		}
		is_deeply([ numbers(@lines) ],
			expected(($driver{$name} ? 'drivers' : 'frameworks') . "/$name"),
			"$name prints what its comments say");
		is($node->safe_psql($ran->{database}, $recorded), $driver{$name} ? '{703,704}'
			: '{42309,42310}', "$name recorded the page");
	}
}

# Without PGHOST those that do not use libpq look where libpq does.
for my $name (grep { $run{$_} } 'node_postgres.mjs', 'postgres_js.mjs')
{
	delete local $ENV{PGHOST};
	local $ENV{PGPORT} = 1;
	IPC::Run::run([ 'node', "$examples/drivers/$name" ], '<', \undef, '>&', \my $said,
		IPC::Run::timeout($patience));
	like($said, qr{/var/run/postgresql/\.s\.PGSQL\.1\b}, "$name without PGHOST: the Unix socket");
}

# contains() of a feed needs no cast, whatever the items are: an item that was shown, and one that
# was not.
$node->safe_psql('one_item', q{
	SELECT bloomexp.create_feed('texts', item_type => 'text'),
		bloomexp.create_feed('uuids', item_type => 'uuid');
	SELECT texts.add(42, '{7}'), uuids.add(42, '{00000000-0000-0000-0000-000000000007}')});
my $uuid = '00000000-0000-0000-0000-00000000000';
my $items = "items = [['shown', 42001], ['shown', 703], ['texts', '7'], ['texts', '8'],"
	. " ['uuids', '${uuid}7'], ['uuids', '${uuid}8']]";
my %contains = (
	'psycopg_page.py' => qq{
import psycopg
$items
with psycopg.connect() as connection:
    print([connection.execute(f"SELECT {feed}.contains(%s, %s)", (42, item)).fetchone()[0]
           for feed, item in items])
},
	'psycopg2_page.py' => qq{
import psycopg2
$items
with psycopg2.connect("") as connection, connection.cursor() as cursor:
    for feed, item in items:
        cursor.execute(f"SELECT {feed}.contains(%s, %s)", (42, item))
        print(cursor.fetchone()[0])
},
	'asyncpg_page.py' => qq{
import asyncio, asyncpg
$items
async def main():
    connection = await asyncpg.connect()
    print([await connection.fetchval(f"SELECT {feed}.contains(\$1, \$2)", 42, item)
           for feed, item in items])
asyncio.run(main())
},
	'node_postgres.mjs' => qq{
import pg from 'pg';
const $items;
const client = new pg.Client({ host: process.env.PGHOST });
await client.connect();
for (const [feed, item] of items) {
    const { rows } = await client.query(`SELECT \${feed}.contains(\$1, \$2) AS it`, [42, item]);
    console.log(rows[0].it);
}
await client.end();
},
	'postgres_js.mjs' => qq{
import postgres from 'postgres';
const $items;
const sql = postgres({ host: process.env.PGHOST });
for (const [feed, item] of items) {
    const [{ it }] = await sql`SELECT \${sql(feed)}.contains(42, \${item}) AS it`;
    console.log(it);
}
await sql.end();
},
	'ruby_pg.rb' => qq{
require 'pg'
$items
items.each { |feed, item| puts PG.connect.exec_params("SELECT #{feed}.contains(\$1, \$2)::text",
	[42, item]).getvalue(0, 0) }
},
	'pdo.php' => qq{<?php
\$$items;
\$connection = new PDO('pgsql:');
foreach (\$items as [\$feed, \$item]) {
    \$statement = \$connection->prepare("SELECT \$feed.contains(?, ?)");
    \$statement->execute([42, \$item]);
    echo json_encode(\$statement->fetchColumn()), "\\n";
}
});
connect_to('one_item');
for my $name (grep { $run{$_} } sort keys %contains)
{
	my $file = "$folder/contains_$name";

	append_to_file($file, $contains{$name});
	IPC::Run::run([ @{ $command{ $name =~ s/.*\.//r } }, $file ], '<', \undef, '>&', \my $said,
		IPC::Run::timeout($patience));
	is_deeply([ map { lc } $said =~ /\b(true|false)\b/gi ], [ ('true', 'false') x 3 ],
	  "$name: contains() of a feed")
	  or diag $said;
}

# What a driver sends of another type is an error.  sql/feed.sql and sql/items.sql have what comes
# without a type.
is(sqlstate($node, 'before', 'PREPARE page (bigint, text[]) AS SELECT shown.take($1, $2, 2)'),
	'42883', 'an array of texts for a feed of integers');

$node->stop;
done_testing();
