# Frameworks: each program of examples/frameworks prints what its comments say, and records the
# page.  One whose framework is not installed is skipped.

use strict;
use warnings;
use utf8;

use File::Basename;
use FindBin;
use lib "$FindBin::RealBin/../lib";

use Documents;
use Drivers;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $patience = $PostgreSQL::Test::Utils::timeout_default || 180;
my $root = "$FindBin::RealBin/../..";
my $examples = "$root/examples/frameworks";

# Debian's jars that these beginnings have.
sub jars { return join ':', map { glob "/usr/share/java/$_.jar" } @_ }

my $jars = jars(qw(postgresql spring3-{core,beans,transaction,jdbc} commons-logging hibernate3 hibernate-commons-annotations
	geronimo-jpa_2.0_spec geronimo-jta-1.2-spec dom4j antlr commons-collections3 javassist slf4j-api slf4j-nop));
my $classes = PostgreSQL::Test::Utils::tempdir();
my %command = (py => ['/usr/bin/python3'], mjs => ['node'], rb => ['ruby'], php => ['php'],
	java => [ 'sh', '-c', "javac -d $classes -cp $jars \"\$0\" && exec java -XX:TieredStopAtLevel=1 -cp $classes:$jars \$(basename \"\$0\" .java)" ]);

sub java { return [ 'sh', '-c', "command -v javac && test -e /usr/share/java/$_[0].jar && test -e /usr/share/java/postgresql.jar" ] }

# What succeeds if the framework is there.
my %needs = (
	'django_feed.py' => [ '/usr/bin/python3', '-c', 'import django, psycopg2' ],
	'sqlalchemy_feed.py' => [ '/usr/bin/python3', '-c', 'import sqlalchemy, psycopg2; assert sqlalchemy.__version__ >= "1.4"' ],
	'activerecord.rb' => [ 'ruby', '-e', 'require "active_record"; require "pg"' ],
	'eloquent.php' => [ 'php', '-r', 'exit((@include "Illuminate/Database/autoload.php") && extension_loaded("pdo_pgsql") ? 0 : 1);' ],
	'SpringJdbc.java' => java('spring3-jdbc'),
	'HibernateFeed.java' => java('hibernate3'),
	map { ("$_->[0].mjs" => [ 'test', '-e', "$examples/node_modules/$_->[1]/package.json" ]) } [ knex => 'knex' ], [ kysely => 'kysely' ],
	[ drizzle => 'drizzle-orm' ], [ sequelize => 'sequelize' ], [ typeorm => 'typeorm' ], [ prisma => '../prisma-client' ]);

my @programs = map { basename($_) } glob "$examples/*.{py,mjs,rb,php,java}";
is_deeply([ sort @programs ], [ sort keys %needs ], 'the programs');

my $node = start_node('frameworks');
$node->safe_psql('postgres', 'CREATE DATABASE before');
$node->safe_psql('before', document("$examples/tables.sql"));

# All at the same time, each in a database of its own.
my %run;
for my $program (@programs)
{
	my ($name, $ending) = $program =~ /(\w+)\.(\w+)/;
	next unless eval { IPC::Run::run($needs{$program}, '<', \undef, '>&', \my $output) };

	$node->safe_psql('postgres', "CREATE DATABASE \"$name\" TEMPLATE before");
	connect_to($name);
	my %program = (database => $name, out => '', err => '');
	$program{run} = IPC::Run::start([ @{ $command{$ending} }, "$examples/$program" ],
		'<', \undef, '>', \$program{out}, '2>', \$program{err}, IPC::Run::timeout($patience));
	$run{$program} = \%program;
}

# The numbers of each list.
sub numbers { return map { join ' ', /\d+/g } @_ }

for my $program (@programs)
{
  SKIP:
	{
		skip("$program: its framework is not installed", 3) unless $run{$program};
		my $ran = $run{$program};
		my @expected = document("$examples/$program") =~ m{(?:#|//) (\[.*\])$}mg;

		$ran->{run}->finish;
		is_deeply([ numbers(split /\n/, $ran->{out}) ], [ numbers(@expected) ], "$program prints what its comments say");
		is($ran->{err}, '', "$program does not complain");
		is($node->safe_psql($ran->{database}, q{SELECT count(*) FROM exposures JOIN seen.filters USING (user_id)
			WHERE user_id = 42 AND item_id IN (42309, 42310) AND items @> item_id}), '2', "$program recorded the page");
	}
}
$node->stop;
done_testing();
