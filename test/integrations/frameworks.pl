# Frameworks: the programs of doc/frameworks.md do what is said there, as they are written.  One whose
# framework is not installed is skipped.

use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::RealBin/../lib";

use Documents;
use Drivers;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $patience = $PostgreSQL::Test::Utils::timeout_default || 180;
my $guide = document("$FindBin::RealBin/../../doc/frameworks.md");
my $modules = "$FindBin::RealBin/frameworks/node_modules";
my $folder = PostgreSQL::Test::Utils::tempdir();
my $node = start_node('frameworks');
symlink $modules, "$folder/node_modules" or die "node_modules: $!";

my %needs = (
	Django => [ '/usr/bin/python3', '-c', 'import django, psycopg2' ],
	'SQLAlchemy and Alembic' => [ '/usr/bin/python3', '-c', 'import sqlalchemy, psycopg2; assert sqlalchemy.__version__ >= "1.4"' ],
	ActiveRecord => [ 'ruby', '-e', 'require "active_record"; require "pg"' ],
	map { ($_->[0] => [ 'test', '-e', "$modules/$_->[1]/package.json" ]) } [ Knex => 'knex' ], [ Kysely => 'kysely' ], [ Drizzle => 'drizzle-orm' ],
	[ Sequelize => 'sequelize' ], [ TypeORM => 'typeorm' ]);

my @programs = grep { $_->{language} =~ /^(python|javascript|ruby)$/ } blocks($guide);
is_deeply([ sort map { $_->{chapter} } @programs ], [ sort keys %needs ], 'one program for each framework');

$node->safe_psql('postgres', 'CREATE DATABASE before');
$node->safe_psql('before', document("$FindBin::RealBin/../lib/tutorial.sql"));
$node->safe_psql('before', $_) for statements($guide, 'Rules for every framework');

for my $program (@programs)
{
	my $name = $program->{chapter};
	my ($ending, $interpreter) = @{ { python => [ 'py', '/usr/bin/python3' ], javascript => [ 'mjs', 'node' ], ruby => [ 'rb', 'ruby' ] }->{ $program->{language} } };
	my $file = "$folder/feed_" . lc($name =~ s/\W.*//r) . ".$ending";

  SKIP:
	{
		my $there = eval { IPC::Run::run($needs{$name}, '<', \undef, '>&', \my $output) };

		skip("$name is not installed", 3) unless $there;
		append_to_file($file, $program->{text});
		my $database = lc($name =~ s/\W.*//r);
		$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE before");
		connect_to($database);
		my ($said, $complaint);
		IPC::Run::run([ $interpreter, $file ],
			'<', \undef, '>', \$said, '2>', \$complaint, IPC::Run::timeout($patience));
		is(visible($said), $program->{output}, "$name prints what the guide says");
		is($complaint, '', "$name does not complain");
		is($node->safe_psql($database, q{SELECT count(*) FROM exposures JOIN seen USING (user_id)
			WHERE user_id = 42 AND item_id IN (42309, 42310) AND items @> item_id}), '2', "$name recorded the page");
	}
}
done_testing();
