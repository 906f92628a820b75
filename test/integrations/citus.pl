# test/integrations/citus/run and feed on a Citus cluster of its own: a coordinator and two workers.  Only
# where Citus is installed.

use strict;
use warnings;

use FindBin;
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
for my $script ('run', 'feed')
{
	my $output = qx{$^X $FindBin::RealBin/citus/$script 2>&1};

	is($?, 0, "test/integrations/citus/$script") or diag $output;
	cmp_ok(scalar(() = $output =~ /^ok /mg), '>', 8, 'it had something to say');
}

$_->stop for @nodes;
done_testing();
