# clients/: the conformance set is what the server answers today, and the readers
# answer alike, from that file and from a server by a driver.  A reader whose language
# or driver is not installed is skipped, and named.

use strict;
use warnings;

use FindBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/../lib/samples.pl";

my $patience = $PostgreSQL::Test::Utils::timeout_default || 180;
my $root = "$FindBin::RealBin/../..";
my $set = "$root/clients/conformance/values";

# Lines of the set.  The last digits of a rate are those of a libm.
sub lines_of
{
	my ($text) = @_;

	$text =~ s/("fpr_now":\d\.\d{12})\d+/$1/g;
	return split /\n/, $text;
}

my $node = PostgreSQL::Test::Cluster->new('clients');
$node->init(extra => [ '--encoding', 'UTF8', '--no-locale' ]);
$node->start;
my @made = lines_of($node->safe_psql('postgres', slurp_file("$set.sql")));
my @kept = lines_of(slurp_file("$set.jsonl"));

is(scalar @made, scalar @kept, 'lines of the set');
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

#
# The readers
#

# What a program prints, and its status.
sub run_program
{
	my $ok = IPC::Run::run([@_], '<', \undef, '>&', \my $said, IPC::Run::timeout($patience));

	return ($ok ? 0 : $? >> 8, $said =~ s/\n\z//r);
}

$node->safe_psql('postgres', 'CREATE DATABASE samples');
samples::create($node, 'samples');
@ENV{qw(PGHOST PGPORT PGDATABASE)} = ($node->host, $node->port, 'samples');
$ENV{PGUSER} = $node->safe_psql('postgres', 'SELECT current_user');
$ENV{NODE_PATH} = "$root/test/drivers/node_modules";

my ($status, $said) = run_program("$root/test/clients");
is($status, 0, 'make check-clients') or diag $said;
for (map { m{([^/]+)/check\z} } glob "$root/clients/*/check")
{
	like($said, qr/^reader in \Q$_\E +\.\.\. (?:@{[ scalar @kept ]} passed, 0 failed|skipped: .)/m, "$_: the whole set, or skipped");
}
for (glob "$root/clients/*/live")
{
	my ($name) = m{clients/(.*)};
	($status, $said) = run_program($_);

  SKIP:
	{
		skip("$name: $said", 1) if $status == 77;
		ok($status == 0 && $said =~ /^9 passed, 0 failed\z/m, "$name: survivors of each filter") or diag $said;
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

done_testing();
