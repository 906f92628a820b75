# A Citus cluster of its own for a test, a coordinator and two workers, with bloomexp.

package Citus;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use Test::More;

our @EXPORT = qw(start_citus);

# The coordinator, then the workers; without Citus the test is skipped.  libpq leads to the coordinator.
sub start_citus
{
	my $sharedir = qx{@{[ $ENV{PG_CONFIG} || 'pg_config' ]} --sharedir};
	chomp $sharedir;
	plan skip_all => 'Citus is not installed' if !-e "$sharedir/extension/citus.control";

	my @nodes;
	for my $name ('coordinator', 'worker1', 'worker2')
	{
		my $node = PostgreSQL::Test::Cluster->new($name);

		$node->init(extra => [ '--encoding', 'UTF8', '--no-locale' ]);
		$node->append_conf('postgresql.conf', join "\n", "shared_preload_libraries = 'citus'",
			'max_prepared_transactions = 100',
			'wal_level = logical', 'max_wal_senders = 10', 'restart_after_crash = on', "citus.local_hostname = '" . $node->host
				. "'", "citus.node_conninfo = 'sslmode=prefer'",
			'citus.enable_statistics_collection = off', 'citus.recover_2pc_interval = 1s', 'deadlock_timeout = 100ms',
				"log_line_prefix = '%e %a '", '');
		$node->start;
		$node->safe_psql('postgres', 'CREATE EXTENSION citus');
		push @nodes, $node;
	}
	my ($coordinator, @workers) = @nodes;

	# One worker is there before the extension, one comes later.
	$coordinator->safe_psql('postgres', sprintf("SELECT citus_set_coordinator_host('%s', %s)", $coordinator->host,
		$coordinator->port));
	for my $worker (@workers)
	{
		$coordinator->safe_psql('postgres', sprintf("SELECT citus_add_node('%s', %s)", $worker->host, $worker->port));
		$coordinator->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS bloomexp');
	}
	@ENV{qw(PGHOST PGPORT PGDATABASE)} = ($coordinator->host, $coordinator->port, 'postgres');
	return @nodes;
}

1;
