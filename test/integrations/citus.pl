# doc/scale-out.md and test/integrations/citus_feed on a Citus cluster of its own: a coordinator and
# two workers.  Only where Citus is installed.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../lib";

use Documents;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $sharedir = qx{@{[ $ENV{PG_CONFIG} || 'pg_config' ]} --sharedir};
chomp $sharedir;
plan skip_all => 'Citus is not installed' if !-e "$sharedir/extension/citus.control";

my @nodes;
for my $name ('coordinator', 'worker1', 'worker2')
{
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(extra => [ '--encoding', 'UTF8', '--no-locale' ]);
	$node->append_conf('postgresql.conf', join "\n", "shared_preload_libraries = 'citus'", 'max_prepared_transactions = 100',
		'wal_level = logical', 'max_wal_senders = 10', 'restart_after_crash = on', "citus.local_hostname = '" . $node->host . "'", "citus.node_conninfo = 'sslmode=prefer'",
		'citus.enable_statistics_collection = off', 'deadlock_timeout = 100ms', '');
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION citus');
	push @nodes, $node;
}
my ($coordinator, @workers) = @nodes;

# One worker is there before the extension, one comes later.
$coordinator->safe_psql('postgres', sprintf("SELECT citus_set_coordinator_host('%s', %s)", $coordinator->host, $coordinator->port));
for my $worker (@workers)
{
	$coordinator->safe_psql('postgres', sprintf("SELECT citus_add_node('%s', %s)", $worker->host, $worker->port));
	$coordinator->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS bloomexp');
}

local $ENV{PGHOST} = $coordinator->host;
local $ENV{PGPORT} = $coordinator->port;
local $ENV{PGDATABASE} = 'postgres';
local $ENV{BLOOMEXP_WORKER} = join ' ', $workers[0]->host, $workers[0]->port;

# The statements of doc/scale-out.md: what stands below them in the document is their output.
my $folder = PostgreSQL::Test::Utils::tempdir;

for my $block (grep { $_->{language} eq 'sql' } blocks(document("$FindBin::RealBin/../../doc/scale-out.md")))
{
	my $name = "doc/scale-out.md line $block->{line}";

	open(my $out, '>:encoding(UTF-8)', "$folder/block") or die $!;
	print $out $block->{text};
	close $out;
	my $output = qx{PGOPTIONS='-c client_min_messages=warning' psql -Xq -v ON_ERROR_STOP=1 -f $folder/block 2>$folder/errors};

	is(visible(document("$folder/errors")), '', "$name: no error");
	# (what the functions of Citus return is not the point; nor which node it was)
	$output =~ s/^ (create_distributed_table|bloom_create_feed) *\n-+\n *\n\(1 row\)\n//mg;
	$output =~ s/Node: host=\S+ port=\d+/Node: host=worker port=5432/g;
	$output =~ s/^ +QUERY PLAN *$/QUERY PLAN/mg;
	my $expected = ($block->{output} // '') =~ s/^ +QUERY PLAN *$/QUERY PLAN/mgr;
	s/^-+$/---/mg, s/^\n+//, s/ +$//mg for $output, $expected;
	is(visible($output), visible($expected), "$name: output");
}
my $rest = qx{psql -Xq -c 'DROP SCHEMA seen CASCADE' -c 'DROP TABLE exposures, candidates' 2>&1};
unlike($rest, qr/ERROR/, 'and goes');

my $output = qx{$^X $FindBin::RealBin/citus_feed 2>&1};

is($?, 0, 'test/integrations/citus_feed') or diag $output;
cmp_ok(scalar(() = $output =~ /^ok /mg), '>', 8, 'it had something to say');

$_->stop for @nodes;
done_testing();
