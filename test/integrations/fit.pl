# doc/fit.md in Rails and in Django: its migrations make the feed and remove it, and the programs
# of examples/frameworks to which it refers run on that feed.  One whose framework is not installed
# is skipped.

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
my $examples = "$root/examples/frameworks";
my $guide = document("$root/doc/fit.md");
my %code;
push @{ $code{ $_->{language} } }, $_->{text} for blocks($guide);

my $node = start_node('fit');
$node->safe_psql('postgres', 'CREATE DATABASE before');
$node->safe_psql('before', document("$examples/tables.sql") . 'DROP SCHEMA seen CASCADE; DROP INDEX exposures_user_id_shown_at_item_id_idx');

# The numbers of each list, and those that a program prints by its comments.
sub numbers { return map { join ' ', /\d+/g } @_ }
sub expected { return [ numbers(document("$examples/$_[0]") =~ m{# (\[.*\])$}mg) ] }

sub program_ok
{
	my ($framework, $program, $needs, $command, %files) = @_;

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
		is_deeply([ numbers(grep { /^\[/ } split /\n/, $stdout) ], expected($program), "$framework: $program on the feed of the migrations");
		like($stdout, qr/InitPlan/, "$framework: the feed fetches the filter once");
		is($node->safe_psql($framework, q{SELECT count(*) FROM pg_namespace WHERE nspname = 'seen'}), 0, "$framework: the migration can be undone");
	}
}

my ($add_index) = $guide =~ /`(add_index :[^`]*)`/;
program_ok('rails', 'activerecord.rb', [ 'ruby', '-e', 'require "active_record"; require "pg"' ], [ 'ruby', "$folder/rails.rb" ],
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
migrate = ->(migration, direction) { migration.new.exec_migration(ActiveRecord::Base.connection, direction) }
migrate.(IndexExposures, :up)
ActiveRecord::Base.transaction { migrate.(CreateFeed, :up) }
ActiveRecord::Base.connection.execute('CALL seen.rebuild()')
load '$examples/activerecord.rb'
puts Post.unseen_by(42).order(published: :desc).limit(3).explain
ActiveRecord::Base.transaction { migrate.(CreateFeed, :down) }
}));

program_ok('django', 'django_feed.py', [ '/usr/bin/python3', '-c', 'import django, psycopg2' ],
	[ 'sh', '-ec', "for step in 0003 feed 0002; do /usr/bin/python3 $folder/django_run.py \$step; done" ],
	'feed/__init__.py' => '', 'feed/migrations/__init__.py' => '', 'feed/migrations/0003_feed.py' => $code{python}[0],
	'feed/migrations/0002_index.py' => q{
from django.db import migrations
class Migration(migrations.Migration):
    dependencies = []
},
	# (a process has one configuration, and the program of the examples has its own)
	'django_run.py' => qq{
import os, runpy, sys
import django
from django.conf import settings
if sys.argv[1] == "feed":
    feed = runpy.run_path("$examples/django_feed.py")
    print(feed["Post"].objects.filter(feed["unseen"](42)).order_by("-published")[:3].explain())
    sys.exit()
settings.configure(INSTALLED_APPS=["feed"], DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}})
django.setup()
from django.core.management import call_command
from django.db import connection
call_command("migrate", "feed", sys.argv[1], verbosity=0)
if sys.argv[1] == "0003":
    with connection.cursor() as cursor:
        cursor.execute("CALL seen.rebuild()")
});

$node->stop;
done_testing();
