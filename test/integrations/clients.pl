# clients/: the conformance set is what the server answers today, and the readers
# answer alike, from a server by a driver (from that file: readers.pl); and what they build has
# the server's bytes, of random sets, too.  A reader whose language or driver is not installed is
# skipped, and named.

use strict;
use warnings;

use Cwd qw(abs_path);
use FindBin;
use lib "$FindBin::RealBin/../lib";

use Documents;
use Drivers;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/../lib/samples.pl";

my $patience = $PostgreSQL::Test::Utils::timeout_default || 180;
my $root = "$FindBin::RealBin/../..";
my $sets = "$root/clients/conformance";

# Lines of the set.  The last digits of a rate are those of a libm.
sub lines_of
{
	my ($text) = @_;

	$text =~ s/("fpr_now":\d\.\d{12})\d+/$1/g;
	return split /\n/, $text;
}

my $node = start_node('clients');

for my $set (qw(values builds))
{
	my @made = lines_of($node->safe_psql('postgres', slurp_file("$sets/$set.sql")));
	my @kept = lines_of(slurp_file("$sets/$set.jsonl"));

	is(scalar @made, scalar @kept, "lines of $set");
  SKIP:
	{
		skip('extract() gives whole microseconds from PostgreSQL 14 on', scalar @kept)
		  if $node->safe_psql('postgres', 'SHOW server_version_num') < 140_000;
		for (0 .. $#kept)
		{
			my ($name) = $kept[$_] =~ /"name":"(.*?)"/;
			ok(($made[$_] // '') eq $kept[$_], "the server still says so: $name");
		}
	}
}

# Random sets, others in each run: sizes of up to 1,000 items and now and then 30,000, rates
# from 0.9 to 1e-9, with and without headroom, with repetitions.
my $random = PostgreSQL::Test::Utils::tempdir() . '/random.jsonl';
my $seed = sprintf '%.6f', rand;
append_to_file($random, $node->safe_psql('postgres', qq{
	SELECT setseed($seed);
	SELECT built('$seed ' || id, kind, fpr, headroom, CASE WHEN id % 50 > 0 THEN items END, CASE WHEN id % 50 = 0 THEN 30 * n END)
	FROM (SELECT id, (ARRAY['integer', 'text', 'uuid', 'bytea'])[1 + floor(4 * random())::integer] AS kind, 0.9 * 10 ^ (-8.9 * random() ^ 2) AS fpr,
			CASE WHEN random() < 0.5 THEN 0 ELSE round(random()::numeric, 2)::float8 END AS headroom, floor(10 ^ (3 * random()))::integer AS n
		FROM generate_series(1, 300) AS id OFFSET 0) AS sets,
		LATERAL (SELECT array_agg(item(kind, 1 + (hashint4(i + 1000 * id) & 4095) % (2 * n))) AS items FROM generate_series(1, n) AS i) AS given
	ORDER BY id}) =~ s/^\n//r . "\n");
is(scalar(my @random = slurp_file($random) =~ /^\{"name"/mg), 300, "random sets by the seed $seed");

#
# The readers
#

# What a program prints, and its status.
sub run_program
{
	my $said = '';
	my $ok = eval { IPC::Run::run([@_], '<', \undef, '>&', \$said, IPC::Run::timeout($patience)) };

	return ($ok ? 0 : $? >> 8 || 1, "$said$@" =~ s/\n\z//r);
}

# CI insists on all of them.
sub skip_unless_ci
{
	my ($what) = @_;

	ok(0, "$what, which CI needs") if $ENV{CI};
	skip($what, 1);
}

$node->safe_psql('postgres', 'CREATE DATABASE samples');
samples::create($node, 'samples');
connect_to('samples');
$ENV{NODE_PATH} = "$root/test/integrations/drivers/node_modules";

# (the page only reads)
for my $name (map { m{([^/]+)/run\z} } grep { !m{/page/} } glob "$root/clients/*/run")
{
	my ($status, $said) = run_program("$root/clients/$name/run", 'check', $random);

  SKIP:
	{
		skip_unless_ci("reader in $name: $said") if $status == 77;
		ok($status == 0 && $said =~ /^300 passed, 0 failed\z/m, "$name: random sets by the seed $seed") or diag substr($said, 0, 5000);
	}
}
for (grep { !m{/page/} } glob "$root/clients/*/run")
{
	my ($name) = m{clients/(.*)/run};
	my ($status, $said) = run_program($_, 'live');

  SKIP:
	{
		skip_unless_ci("$name: $said") if $status == 77;
		ok($status == 0 && $said =~ /^9 passed, 0 failed\z/m, "$name: survivors of each filter") or diag $said;
	}
}

#
# The programs of doc/outside.md and of the clients' pages, as they are written, each where its language finds
# the reader and the driver
#

my ($guide) = document("$root/doc/outside.md") =~ /^(## Read a filter\n.*?)(?=^## )/ms;
my $folder = PostgreSQL::Test::Utils::tempdir();
my $clients = abs_path("$root/clients");

sub python_program
{
	my $python = python() or return;

	$ENV{PYTHONPATH} = "$clients/python";
	return ($python, '-B', program($guide, 'python', "$folder/recall.py"));
}

sub javascript_program
{
	mkdir "$folder/node_modules";
	symlink "$clients/javascript", "$folder/node_modules/bloomexp" or die $!;
	symlink abs_path($ENV{NODE_PATH}) . '/pg', "$folder/node_modules/pg" or die $!;
	return unless -d "$folder/node_modules/pg" && (run_program(qw(node --version)))[0] == 0;
	return ('node', program(document("$clients/javascript/README.md"), 'javascript', "$folder/recall.mjs"));
}

sub java_program
{
	my $jar = '/usr/share/java/postgresql.jar';
	return unless -e $jar && (run_program(qw(javac -version)))[0] == 0;
	my @files = (program(document("$clients/java/README.md"), 'java', "$folder/Recall.java"), glob "$clients/java/src/main/java/bloomexp/*.java");
	my ($status, $said) = run_program('javac', '-d', "$folder/classes", '-encoding', 'UTF-8', @files);
	is($status, 0, 'Java: compiles') or diag $said;
	return ('java', '-cp', "$folder/classes:$jar", 'Recall');
}

# As a module of its own, by the commands of its page; the driver is where Debian has it.
sub go_program
{
	my $driver = '/usr/share/gocode/src/github.com/lib/pq';
	return unless -d $driver && (run_program(qw(go version)))[0] == 0;
	my $page = document("$clients/go/README.md");
	my ($commands) = $page =~ /^( +go mod edit .*?)\n\n/ms or die 'no "go mod edit" on the page';
	program($page, 'go', "$folder/recall.go");
	$commands =~ s{path/to/bloomexp/clients}{$clients};
	my ($status, $said) = run_program('bash', '-ec', "cd '$folder'; export GOFLAGS=-mod=mod GOPROXY=off GOCACHE='$folder/cache'
		go mod init recall; $commands
		go mod edit -require=github.com/lib/pq\@v1.10.7 -replace=github.com/lib/pq=$driver
		go build -o recall recall.go");
	is($status, 0, 'Go: compiles') or diag $said;
	return "$folder/recall";
}

$node->safe_psql('postgres', 'CREATE DATABASE guide');
$node->safe_psql('guide', q{CREATE EXTENSION bloomexp;
	CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL, shown_at timestamptz NOT NULL DEFAULT now());
	CREATE INDEX ON exposures (user_id, shown_at);
	SELECT bloom_create_feed('seen', 'exposures')});
connect_to('guide');
my %program = (Python => \&python_program, JavaScript => \&javascript_program, Java => \&java_program, Go => \&go_program);
for my $language (sort keys %program)
{
	my @command = $program{$language}->();

  SKIP:
	{
		skip_unless_ci("program in $language: its driver is missing") unless @command;
		$node->safe_psql('guide', 'TRUNCATE seen.filters');
		is(join(' ', (run_program(@command))[1] =~ /\d+/g), '42001 703 704 703', "program in $language: a user without a row");
		$node->safe_psql('guide', 'INSERT INTO exposures VALUES (42, 42001)');
		is(join(' ', (run_program(@command))[1] =~ /\d+/g), '703 704 703', "program in $language: remaining candidates");
	}
}
$node->stop;

# What each language's registry would be told.
my ($version) = slurp_file("$root/META.json") =~ /"version": "(.*?)"/;
for my $file (map { glob "$root/clients/*/$_" } qw(pyproject.toml bloomexp.py package.json pom.xml))
{
	my ($told) = slurp_file($file) =~ /(?:\b|_)version(?:__ = |": | = |>)"?([\d.]+)/;
	is($told, $version, 'version in ' . $file =~ s/.*clients\///r);
}
# (the page is no package)
for my $file (map { s/run\z/LICENSE/r } grep { !m{/page/} } glob "$root/clients/*/run")
{
	is(slurp_file($file), slurp_file("$root/LICENSE"), 'licence in ' . $file =~ s/.*clients\///r);
}

done_testing();
