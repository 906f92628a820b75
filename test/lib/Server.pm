# The preamble of TAP tests that need a server.  "use Server;" enables strict, and imports
# Test::More, PostgreSQL's test modules and the functions below.

package Server;

use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter;
use File::Basename qw(dirname);
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw($patience $root start_server start_server_for_drivers connect_to start_standby
	kill_pgbench comes_back);
our $patience = $PostgreSQL::Test::Utils::timeout_default || 180;    # seconds
our $root = abs_path(dirname(__FILE__) . '/../..');

sub import
{
	strict->import;
	warnings->import;
	Test::More->export_to_level(1);
	eval 'package ' . caller() . '; PostgreSQL::Test::Utils->import; 1' or die $@;
	goto &Exporter::import;
}

# Start a server of this name, with these lines in postgresql.conf.  Further arguments are for
# init().
sub start_server
{
	my ($name, $configuration, %options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(extra => [ '--encoding', 'UTF8', '--no-locale' ], %options);
	$node->append_conf('postgresql.conf', $configuration) if $configuration;
	$node->start;
	return $node;
}

# Start a server for programs in other languages, which find it by their environment.
my $jdbc;
sub start_server_for_drivers
{
	my $node = start_server(@_);

	# JDBC knows only TCP.  Nobody else gets in by that.
	unlink $node->data_dir . '/pg_hba.conf';
	$node->append_conf('pg_hba.conf',
		"local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n");
	$node->append_conf('postgresql.conf', "listen_addresses = '127.0.0.1'");
	$node->stop;
	# Another program may have taken the port meanwhile.
	for (1 .. 9)
	{
		last if $node->start(fail_ok => 1);
		$node->append_conf('postgresql.conf', 'port = '
			. ($node->{_port} = PostgreSQL::Test::Cluster::get_free_port()));
	}

	my $user = $node->safe_psql('postgres', 'SELECT current_user');
	my $password = join '', map { sprintf '%08x', rand 2**32 } 1 .. 4;
	$node->safe_psql('postgres', "ALTER ROLE current_user PASSWORD '$password'");
	@ENV{qw(PGHOST PGPORT PGUSER)} = ($node->host, $node->port, $user);
	$jdbc = 'jdbc:postgresql://127.0.0.1:' . $node->port . "/%s?user=$user&password=$password";
	return $node;
}

# The database that these programs use.
sub connect_to
{
	$ENV{PGDATABASE} = $_[0];
	$ENV{JDBC_URL} = sprintf $jdbc, $_[0];
}

# A streaming standby of another server.
sub start_standby
{
	my ($primary, $name, $configuration) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);

	$primary->backup("for_$name", backup_options => [ '--checkpoint', 'fast' ]);
	$standby->init_from_backup($primary, "for_$name", has_streaming => 1);
	$standby->append_conf('postgresql.conf', $configuration // 'max_standby_streaming_delay = -1');
	$standby->start;
	return $standby;
}

# Kill any pgbench session that has run a statement, as soon as there is one.  A single query finds
# and chooses it, because the only such session could end between two queries.
sub kill_pgbench
{
	my ($node) = @_;
	my $pid = '';

	for (my $end = time + $patience; $pid eq '' && time < $end;)
	{
		$pid = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity
			WHERE application_name = 'pgbench' AND query <> '' ORDER BY random() LIMIT 1");
	}
	kill 9, $pid || die 'nobody to kill';
}

# Wait for a server that restarts after a crash; false if it does not in time.
sub comes_back
{
	my ($node) = @_;

	# not poll_query_until(), whose psql can end before it has read the query, which kills the test
	for (1 .. 10 * $patience)
	{
		return 1 if IPC::Run::run([ 'psql', '-Xqc', 'SELECT', '-d', $node->connstr('postgres') ],
			'<', \undef, '>', \my $output, '2>&1');
		select(undef, undef, undef, 0.1);
	}
	return 0;
}

1;
