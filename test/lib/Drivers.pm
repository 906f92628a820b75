# A server for drivers: drivers.pl and clients.pl.

package Drivers;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;

our @EXPORT = qw(start_node connect_to);

my ($node, $jdbc);

# JDBC knows only TCP.  Nobody else gets in by that.
sub start_node
{
	my ($name) = @_;

	$node = PostgreSQL::Test::Cluster->new($name);
	$node->init(extra => [ '--encoding', 'UTF8', '--no-locale' ]);
	$node->append_conf('postgresql.conf', "listen_addresses = '127.0.0.1'");
	unlink $node->data_dir . '/pg_hba.conf';
	$node->append_conf('pg_hba.conf', "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n");
	$node->start;

	my $user = $node->safe_psql('postgres', 'SELECT current_user');
	my $password = join '', map { sprintf '%08x', rand 2**32 } 1 .. 4;
	$node->safe_psql('postgres', "ALTER ROLE current_user PASSWORD '$password'");
	@ENV{qw(PGHOST PGPORT PGUSER)} = ($node->host, $node->port, $user);
	$jdbc = 'jdbc:postgresql://127.0.0.1:' . $node->port . "/%s?user=$user&password=$password";
	return $node;
}

# Drivers look for PGDATABASE, the one of JDBC for what we give it.
sub connect_to
{
	$ENV{PGDATABASE} = $_[0];
	$ENV{JDBC_URL} = sprintf $jdbc, $_[0];
}

1;
