# doc/fit.md in Rails and in Django: its migrations make the feed and remove it, the condition
# and the page do what is said there.  One whose framework is not installed is skipped.

use strict;
use warnings;
use utf8;

use File::Basename;
use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::RealBin/../lib";

use Documents;
use Drivers;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $patience = $PostgreSQL::Test::Utils::timeout_default || 180;
my $root = "$FindBin::RealBin/../..";
my $folder = PostgreSQL::Test::Utils::tempdir();
my %code;
push @{ $code{ $_->{language} } }, $_->{text} for blocks(document("$root/doc/fit.md"));

my $node = start_node('fit');
$node->safe_psql('postgres', 'CREATE DATABASE before');
$node->safe_psql('before', document("$root/examples/frameworks/tables.sql") . 'DROP SCHEMA seen CASCADE; DROP INDEX exposures_user_id_shown_at_item_id_idx');

# What the programs below print, in each line a list: unseen posts, a page, unseen posts.
my $expected = "42310 42309 42308\n42309 42310\n42308 42307 42306";

sub program_ok
{
	my ($framework, $needs, $command, %files) = @_;

  SKIP:
	{
		skip("$framework is not installed", 4) unless eval { IPC::Run::run($needs, '<', \undef, '>&', \my $output) };

		$node->safe_psql('postgres', "CREATE DATABASE $framework TEMPLATE before");
		connect_to($framework);
		while (my ($file, $text) = each %files)
		{
			make_path(dirname("$folder/$file"));
			open(my $out, '>:encoding(UTF-8)', "$folder/$file") or die "$file: $!";
			print $out $text;
			close $out or die "$file: $!";
		}
		my ($stdout, $stderr);
		ok(IPC::Run::run($command, '<', \undef, '>', \$stdout, '2>', \$stderr, IPC::Run::timeout($patience)), "$framework runs") or diag $stderr;
		is(join("\n", map { join ' ', /\d+/g } grep { /^\[/ } split /\n/, $stdout), $expected, "$framework: unseen, page, unseen");
		like($stdout, qr/InitPlan/, "$framework: the feed fetches the filter once");
		is($node->safe_psql($framework, q{SELECT count(*) FROM pg_namespace WHERE nspname = 'seen'}), 0, "$framework: the migration can be undone");
	}
}

program_ok('rails', [ 'ruby', '-e', 'require "active_record"; require "pg"' ], [ 'ruby', "$folder/rails.rb" ],
	'rails.rb' => join("\n", q{
require 'active_record'
ActiveRecord::Base.establish_connection(adapter: 'postgresql')
ActiveRecord::Migration.verbose = false
}, @{ $code{ruby} }, q{
migrate = ->(migration, direction) { migration.new.exec_migration(ActiveRecord::Base.connection, direction) }
migrate.(IndexExposures, :up)
ActiveRecord::Base.transaction { migrate.(CreateFeed, :up) }
ActiveRecord::Base.connection.execute('CALL seen.rebuild()')
newest = -> { Post.unseen_by(42).order(published: :desc).limit(3) }
p newest.().pluck(:id), Exposure.page(42, [42300, 42309, 42310, 42308], 2), newest.().pluck(:id)
puts newest.().explain
ActiveRecord::Base.transaction { migrate.(CreateFeed, :down) }
}));

my ($migration, $functions) = @{ $code{python} };
program_ok('django', [ '/usr/bin/python3', '-c', 'import django, psycopg2' ], [ '/usr/bin/python3', "$folder/django_run.py" ],
	'feed/__init__.py' => '', 'feed/migrations/__init__.py' => '', 'feed/migrations/0003_feed.py' => $migration,
	'feed/migrations/0002_index.py' => qq{
from django.db import migrations
class Migration(migrations.Migration):
    dependencies = []
},
	'fit.py' => $functions, 'django_run.py' => q{
import os
import django
from django.conf import settings
settings.configure(INSTALLED_APPS=["feed"], DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}})
django.setup()
from django.core.management import call_command
from fit import connection, models, page, unseen
call_command("migrate", verbosity=0)
class Post(models.Model):
    published = models.DateTimeField()
    id = models.BigAutoField(primary_key=True)
    class Meta:
        app_label = "feed"
        db_table = "posts"
with connection.cursor() as cursor:
    cursor.execute("CALL seen.rebuild()")
newest = lambda: Post.objects.filter(unseen(42)).order_by("-published")[:3]
print([post.id for post in newest()])
print(page(42, [42300, 42309, 42310, 42308], 2))
print([post.id for post in newest()])
print(newest().explain())
call_command("migrate", "feed", "0002", verbosity=0)
});

$node->stop;
done_testing();
