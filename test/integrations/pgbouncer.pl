# A feed behind PgBouncer in transaction mode, where it is installed: many clients on
# few server connections take, exclude and add while one rebuild follows another, and
# afterwards no exposure is missing and none was shown twice.  What a rebuild leaves
# in a connection that others get next: nothing, however it ends.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../lib";

use Documents;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($program) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
plan skip_all => 'PgBouncer is not installed (Debian: pgbouncer)' unless $program;

my $patience = $PostgreSQL::Test::Utils::timeout_default || 180;
my $seconds = $ENV{BLOOMEXP_LONG} ? 60 : 5;
my ($version, $minor) = qx{$program --version} =~ /^PgBouncer (\d+)\.(\d+)/i;
my $keeps_statements = $version > 1 || $minor >= 21;
my $connections = 3;
my $clients = 12;

my $node = PostgreSQL::Test::Cluster->new('pooled');
$node->init(extra => [ '--encoding', 'UTF8', '--no-locale' ]);
$node->append_conf('postgresql.conf', 'deadlock_timeout = 100ms');
$node->start;

sub query { return $node->safe_psql('postgres', $_[0], timeout => $patience) }

my $role = query('SELECT current_user');
my @bouncers;

# A pool in front of the server; returns how to connect to it.
sub bouncer
{
	my %settings = @_;
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my $folder = PostgreSQL::Test::Utils::tempdir_short();
	my $host = $node->host;
	my $server_port = $node->port;

	append_to_file("$folder/users", qq{"$role" ""\n});
	append_to_file("$folder/ini", join "\n", '[databases]', "feed = host=$host port=$server_port dbname=postgres",
		'[pgbouncer]', "listen_port = $port", 'listen_addr =', "unix_socket_dir = $folder", 'auth_type = trust',
		"auth_file = $folder/users", "admin_users = $role", "logfile = $folder/log",
		'pool_mode = transaction', "default_pool_size = $connections", map({ "$_ = $settings{$_}" } sort keys %settings), '');
	push @bouncers, IPC::Run::start([ $program, '-q', "$folder/ini" ], '<', \undef, '>', "$folder/output", '2>&1');

	for (1 .. 10 * $patience)
	{
		return "host=$folder port=$port dbname=feed user=$role" if -S "$folder/.s.PGSQL.$port";
		select undef, undef, undef, 0.1;
	}
	die 'PgBouncer does not start: ' . slurp_file("$folder/output");
}

END
{
	my $status = $?;

	$_->kill_kill for @bouncers;
	$? = $status;
}

my $way = bouncer($keeps_statements ? (max_prepared_statements => 100) : ());

# A client that works on while we look away.
sub client
{
	my ($statement) = @_;
	my %client = (out => '');

	$client{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $way, '-c', $statement ], '<', \undef, '>', \$client{out}, '2>&1',
		IPC::Run::timeout($patience));
	return \%client;
}

sub pooled
{
	my ($statement, %options) = @_;
	my ($stdout, $stderr);

	$node->psql('postgres', $statement, connstr => $options{way} || $way, stdout => \$stdout, stderr => \$stderr, on_error_die => 0,
		timeout => $patience);
	return $stderr =~ /ERROR/ ? $stderr : $stdout;
}

# The load.  (A thread for each client: one that prepares a statement waits for it, and
# so would keep the others, which have the connections.)
sub start_pgbench
{
	my ($way, $mode, $time) = @_;
	my %pgbench = (out => '');

	$pgbench{run} = IPC::Run::start([ 'pgbench', '-n', '-c', $clients, '-j', $clients, '-T', $time, '-M', $mode, '--max-tries=1000',
			'-f', $node->basedir . '/feed.sql', '-f', $node->basedir . '/take.sql', $way ], '<', \undef, '>', \$pgbench{out}, '2>&1', IPC::Run::timeout($patience + $time));
	return \%pgbench;
}

sub pgbench
{
	my $pgbench = start_pgbench(@_);

	$pgbench->{run}->finish;
	return $pgbench->{out};
}

query(q{
	CREATE EXTENSION bloomexp;
	CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL, shown_at timestamptz NOT NULL);
	CREATE INDEX ON exposures (user_id, shown_at, item_id);
	CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom) WITH (fillfactor = 50);
	CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
		FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at');
	-- the same by bloom_take(), without a trigger
	CREATE TABLE served (user_id bigint PRIMARY KEY, items bloom) WITH (fillfactor = 50);
	CREATE TABLE taken (user_id bigint NOT NULL, item_id bigint NOT NULL)});

# The transaction of the README, for one of 40 users and 20 of 5,000 items.
append_to_file($node->basedir . '/feed.sql', q{
\set user random(1, 40)
\set item random(1, 4980)
BEGIN;
INSERT INTO seen (user_id) VALUES (:user::bigint) ON CONFLICT (user_id) DO UPDATE SET items = seen.items WHERE false;
INSERT INTO exposures SELECT :user::bigint, i, now()
FROM bloom_exclude(ARRAY(SELECT generate_series(:item::bigint, :item::bigint + 20)), (SELECT items FROM seen WHERE user_id = :user::bigint)) AS i
LIMIT 3;
COMMIT;
});
append_to_file($node->basedir . '/take.sql', q{
\set user random(1, 40)
\set item random(1, 4980)
INSERT INTO taken SELECT :user::bigint, i
FROM unnest(bloom_take('served', :user::bigint, ARRAY(SELECT generate_series(:item::bigint, :item::bigint + 20)), 3)) AS i;
});

# What must be, at any time.
sub complete
{
	my ($name) = @_;

	for (['exposures', 'seen'], ['taken', 'served'])
	{
		my ($log, $filters) = @$_;

		is(query("SELECT count(*) FROM $log LEFT JOIN $filters USING (user_id) WHERE (items \@> item_id) IS NOT TRUE"), '0',
			"$name: nothing of $log is missing");
		is(query("SELECT count(*) - count(DISTINCT (user_id, item_id)) FROM $log"), '0', "$name: nothing of $log was shown twice");
	}
	is(query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), '0', "$name: no lock is left");
	is(query("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'bloom_rebuild%'"), '0', "$name: no name is left");
}

#
# Load
#

my $load = start_pgbench($way, 'extended', $seconds);
my ($rebuilds, $wrong) = (0, '');
for (my $start = time; $rebuilds < 3 || time < $start + $seconds - 1; $rebuilds++)
{
	my $complaint = pooled("CALL bloom_rebuild('seen', batch_size => 7, pause => '10 ms')");
	$wrong .= "rebuild $rebuilds: $complaint\n" if $complaint ne '';
}
$load->{run}->finish;
unlike($load->{out}, qr/aborted|ERROR/, 'no client failed');
is($wrong, '', 'no rebuild failed');
cmp_ok(query("SELECT count(*) FROM $_"), '>', 100, "there were $_") for 'exposures', 'taken';
cmp_ok(query("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"),
	'<=', $connections, "$clients clients shared $connections connections");
complete('under load');

#
# One rebuild has one connection, from the first batch to the last
#

my $holders = "SELECT array_agg(DISTINCT pid) FROM pg_locks WHERE locktype = 'advisory'";
my $slow = "CALL bloom_rebuild('seen', batch_size => 4, pause => '200 ms')";

# Start a rebuild, and wait until it holds its lock.  It does not end before release(), since
# another session has the row of its last user.
my %session;
sub slow_rebuild
{
	%session = (in => "BEGIN; SELECT FROM seen WHERE user_id = 40 FOR UPDATE;\n\\echo held\n", out => '');
	$session{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ],
		'<', \$session{in}, '>', \$session{out}, '2>&1', IPC::Run::timeout($patience));
	$session{run}->pump until $session{out} =~ /held/;
	my $rebuild = client($slow);

	$node->poll_query_until('postgres', "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory')") or die 'no rebuild';
	return $rebuild;
}

sub release
{
	$session{in} .= "COMMIT;\n\\q\n";
	$session{run}->finish;
}

my $rebuild = slow_rebuild();
my (%holder, %other);
for (1 .. 10)
{
	$holder{ query($holders) }++;
	$other{ pooled('SELECT pg_backend_pid()') }++;
}
is(scalar keys %holder, 1, 'one connection holds the lock');
my ($holder) = keys %holder;
like($holder, qr/^\{\d+\}$/, 'it is one');
ok(!exists $other{ $holder =~ s/[{}]//gr }, 'nobody else gets it');
like(pooled("CALL bloom_rebuild('seen')"), qr/table "seen" is being rebuilt by another session/, 'a second rebuild is refused');
release();
$rebuild->{run}->finish;
is($rebuild->{out} =~ s/^NOTICE: .*\n//mgr, '', 'the rebuild ends well');
complete('after a rebuild');

#
# It leaves nothing, however it ends
#

$rebuild = slow_rebuild();
$rebuild->{run}->signal('INT');
$rebuild->{run}->finish;
release();
like($rebuild->{out}, qr/canceling statement due to user request/, 'cancelled');
complete('after a cancel');

query('ALTER TABLE seen ADD CONSTRAINT refused CHECK (user_id <> 30) NOT VALID; UPDATE exposures SET item_id = item_id + 10000 WHERE user_id = 30');
like(pooled($slow), qr/violates check constraint "refused"/, 'failed');
query('ALTER TABLE seen DROP CONSTRAINT refused');
is(pooled("CALL bloom_rebuild('seen', users => '{30}')"), '', 'mended');
complete('after an error');

# A client that dies does not end its rebuild: the server works on, and ends it well.
$rebuild = slow_rebuild();
$rebuild->{run}->kill_kill;
like(query($holders), qr/^\{\d+\}$/, 'the client is gone, its rebuild is not');
release();
$node->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory')");
complete('after the death of a client');

query('ALTER SYSTEM SET client_connection_check_interval = 50; SELECT pg_reload_conf()');
$rebuild = slow_rebuild();
$rebuild->{run}->kill_kill;
$node->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory')");
release();
like(slurp_file($node->logfile), qr/FATAL:  connection to client lost/, 'unless the server looks after its clients');
complete('after the death of another');

my $settings = q{SELECT name || ' is ' || setting FROM pg_settings
	WHERE name IN ('extra_float_digits', 'DateStyle', 'lock_timeout', 'transaction_isolation', 'default_transaction_isolation') ORDER BY name};
is(pooled($settings), query($settings), 'settings are as before');
is(pooled($slow =~ s/200 ms/0/r), '', 'the next rebuild works');
complete('at the end');

#
# Prepared statements, and connections that are reset after each transaction
#

if ($keeps_statements)
{
	unlike(pgbench($way, 'prepared', 2), qr/aborted|ERROR/, 'prepared statements');
	complete('prepared statements');
}
else
{
	like(pgbench($way, 'prepared', 1), qr/prepared statement "\w+" (does not exist|already exists)/,
		'prepared statements need PgBouncer 1.21');
}

my $pids = "SELECT array_agg(pid ORDER BY pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
my $before = query($pids);
pooled('RECONNECT', way => $way =~ s/dbname=\w+/dbname=pgbouncer/r);
pooled('SELECT 1');
ok($node->poll_query_until('postgres', "SELECT NOT '$before'::integer[] && ARRAY(SELECT unnest(a) FROM ($pids) AS p (a))"),
	'RECONNECT replaces all connections');

my $reset = bouncer(server_reset_query_always => 1);
unlike(pgbench($reset, 'extended', 2), qr/aborted|ERROR/, 'DISCARD ALL');
is(pooled($slow =~ s/200 ms/0/r, way => $reset), '', 'a rebuild there');
complete('DISCARD ALL');

$node->stop;
done_testing();
