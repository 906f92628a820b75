# A feed behind PgBouncer in transaction mode, where it is installed: many clients on
# few server connections take, exclude and add while one rebuild follows another, and
# afterwards no exposure is missing and none was shown twice.  What a rebuild leaves
# in a connection that others get next: nothing, however it ends.

use Documents;
use Server;

my ($program) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
plan skip_all => 'PgBouncer is not installed (Debian: pgbouncer)' unless $program;

my $transactions = $ENV{BLOOMEXP_LONG} ? 12000 : 1000;	# of each client
my ($version, $minor) = qx{$program --version} =~ /^PgBouncer (\d+)\.(\d+)/i;
my $keeps_statements = $version > 1 || $minor >= 21 ? 1 : '';
my $connections = 3;
my $clients = 12;

my $node = start_server('pooled', "deadlock_timeout = 100ms\nlog_line_prefix = '%e '");

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
	append_to_file("$folder/ini", join "\n", '[databases]',
		"feed = host=$host port=$server_port dbname=postgres",
		'[pgbouncer]', "listen_port = $port", 'listen_addr =', "unix_socket_dir = $folder",
		'auth_type = trust',
		"auth_file = $folder/users", "admin_users = $role", "logfile = $folder/log",
		'pool_mode = transaction', 'query_wait_timeout = 0', "default_pool_size = $connections",
		map({ "$_ = $settings{$_}" } sort keys %settings), '');
	push @bouncers, IPC::Run::start([ $program, '-q', "$folder/ini" ], '<', \undef, '>',
		"$folder/output", '2>&1');

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

# A client that works on while we look away, and what it has printed at its end.
sub client
{
	my ($statement, $connstr) = @_;
	my %client = (out => '');

	$client{run} = IPC::Run::start([ 'psql', '-XAtq', '-v', 'VERBOSITY=sqlstate', '-d',
		$connstr || $way, '-c', $statement ],
		'<', \undef, '>', \$client{out}, '2>&1', IPC::Run::timeout($patience));
	return \%client;
}

sub finish
{
	my ($client) = @_;

	$client->{run}->finish;
	return $client->{out} =~ s/\n\z//r;
}

sub pooled { return finish(client(@_)) }

# Start the load; its status is not 0 if a client failed.  Each client has a thread of its own: one
# that waits for a PREPARE would block the other clients of its thread, which have the connections.
sub pgbench
{
	my ($way, $mode, $count) = @_;

	return IPC::Run::start([ 'pgbench', '-n', '-c', $clients, '-j', $clients, '-t',
			$count, '-M', $mode,
			'--max-tries=1000', map({ ('-f', $node->basedir . "/$_.sql") } 'feed', 'take'), $way ],
		'<', \undef, '>&', \my $output, IPC::Run::timeout(5 * $patience));
}

query(q{
	CREATE EXTENSION bloomexp;
	CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL,
		shown_at timestamptz NOT NULL DEFAULT now());
	CREATE INDEX ON exposures (user_id, shown_at, item_id);
	CREATE TABLE views (LIKE exposures INCLUDING ALL);
	SELECT bloomexp.create_feed('seen', 'exposures');
	SELECT bloomexp.create_feed('viewed', 'views', trigger => false);
	INSERT INTO exposures VALUES (1, 10000);
	INSERT INTO views VALUES (1, 10000)});

# Pages of 15 users, each of three of 20 items of 500: as one statement, and as a transaction.
append_to_file($node->basedir . '/feed.sql', q{
\set user random(26, 40)
\set item random(1, 480)
INSERT INTO exposures (user_id, item_id)
SELECT :user, unnest(
	seen.take(:user, ARRAY(SELECT generate_series(:item::bigint, :item::bigint + 20)), 3));
});
append_to_file($node->basedir . '/take.sql', q{
\set user random(26, 40)
\set item random(1, 480)
BEGIN;
INSERT INTO views (user_id, item_id)
SELECT :user, unnest(
	viewed.take(:user, ARRAY(SELECT generate_series(:item::bigint, :item::bigint + 20)), 3));
COMMIT;
});

# Return whether no user failed in a rebuild.
sub rebuilt { return $_[0] =~ /^\d+\|\d+\|\d+\|0$/ }

# Test what must hold at any time.
sub complete
{
	my ($name) = @_;

	for (['exposures', 'seen'], ['views', 'viewed'])
	{
		my ($log, $feed) = @$_;

		is(query("SELECT (SELECT count(*) FROM $log JOIN (SELECT u, $feed.current(u) AS items
			FROM generate_series(1, 40) AS u OFFSET 0) AS f ON u = user_id
					WHERE (items \@> item_id) IS NOT TRUE) AS missing,
				(SELECT count(*) - count(DISTINCT (user_id, item_id)) FROM $log) AS twice,
				(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory') AS locks"),
			'0|0|0', "$name: nothing of $log is missing or was shown twice, and no lock is left");
	}
}

# Load

my $load = pgbench($way, 'extended', $transactions);
my @failed;
for (my $rebuilds = 0; $load->pumpable && $load->pump_nb || $rebuilds < 4; $rebuilds++)
{
	push @failed, grep { !rebuilt($_) }
	  pooled($rebuilds % 2 ? q{CALL viewed.rebuild(overlap => '0')} : 'CALL seen.rebuild()');
}
ok($load->finish, 'no client failed');
is("@failed", '', 'no rebuild failed');
cmp_ok(query("SELECT count(*) FROM $_"), '>', 100, "there were $_") for 'exposures', 'views';
ok($node->poll_query_until('postgres', "SELECT count(*) <= $connections
	FROM pg_stat_activity	-- sessions of ours end
	WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"),
		"$clients clients shared the connections");
complete('under load');

# One rebuild has one connection, from the first batch to the last

my $rebuilding = q{state = 'active' AND query LIKE 'CALL seen.rebuild%'};
my $holders = "SELECT array_agg(DISTINCT pid) FROM pg_stat_activity WHERE $rebuilding";
my $slow = 'CALL seen.rebuild()';

# Start a rebuild, and wait until it runs.  It does not end before release(), since another
# session has the row of a user.
my %holder;
sub slow_rebuild
{
	%holder = (in => "BEGIN;
		SELECT FROM seen.filters WHERE user_id = 40 FOR UPDATE;\n\\echo held\n", out => '');
	$holder{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ],
		'<', \$holder{in}, '>', \$holder{out}, '2>&1', IPC::Run::timeout($patience));
	$holder{run}->pump until $holder{out} eq "held\n";
	my $rebuild = client($slow);

	$node->poll_query_until('postgres',
	  "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $rebuilding)")
	  or die 'no rebuild';
	return $rebuild;
}

sub release
{
	$holder{in} .= "COMMIT;\n\\q\n";
	$holder{run}->finish;
}

sub no_rebuild { return $node->poll_query_until('postgres',
	"SELECT NOT EXISTS (SELECT FROM pg_stat_activity
	WHERE $rebuilding)") }

my $rebuild = slow_rebuild();
my (%pids, %other);
for (1 .. 10)
{
	$pids{ query($holders) }++;
	$other{ pooled('SELECT array_agg(pg_backend_pid())') }++;
}
is(scalar keys %pids, 1, 'one connection has the rebuild');
is(scalar(grep { $pids{$_} } keys %other), 0, 'nobody else gets it');
release();
ok(rebuilt(finish($rebuild)), 'the rebuild ends well');
complete('after a rebuild');

# It leaves nothing, however it ends

$rebuild = slow_rebuild();
# PostgreSQL reports a lock_timeout if a cancel comes at the same moment, so cancels are sent until
# the rebuild ends.
for (my $n = 0; $rebuild->{run}->pumpable; $n++)
{
	$rebuild->{run}->signal('INT') if $n % 100 == 0;
	$rebuild->{run}->pump_nb;
	select(undef, undef, undef, 0.02);
}
is(finish($rebuild) =~ s{.*\n}{}sr, 'ERROR:  57014', 'cancelled');
release();
complete('after a cancel');

query(q{CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN RAISE EXCEPTION ''refused''; END';
	CREATE TRIGGER refused BEFORE UPDATE ON seen.filters
	FOR EACH ROW WHEN (NEW.user_id = 30) EXECUTE FUNCTION refuse();
	DELETE FROM exposures WHERE user_id = 30 AND item_id % 2 = 0});
is(pooled($slow), 'ERROR:  P0001', 'failed');
query('DROP FUNCTION refuse CASCADE');
complete('after an error');

# A client that dies does not end its rebuild, unless the server looks after its clients.
$rebuild = slow_rebuild();
$rebuild->{run}->kill_kill;
like(query($holders), qr/^\{\d+\}$/, 'the client is gone, its rebuild is not');
release();
ok(no_rebuild(), 'until it ends');

query('ALTER SYSTEM SET client_connection_check_interval = 50; SELECT pg_reload_conf()');
$rebuild = slow_rebuild();
$rebuild->{run}->kill_kill;
ok(no_rebuild(), 'its rebuild ends');
release();
like(slurp_file($node->logfile), qr/^08006 /m, 'at once, if the server looks after its clients');
complete('after the death of clients');

my $settings = q{SELECT name || ' is ' || setting FROM pg_settings
	WHERE name IN ('extra_float_digits', 'DateStyle', 'lock_timeout', 'transaction_isolation',
		'default_transaction_isolation') ORDER BY name};
is(pooled($settings), query($settings), 'settings are as before');
ok(rebuilt(pooled($slow)), 'the next rebuild works');

# Prepared statements, and connections that are reset after each transaction

is(pgbench($way, 'prepared', 50)->finish, $keeps_statements,
	'prepared statements need PgBouncer 1.21');

my $pids = "SELECT array_agg(pid ORDER BY pid) FROM pg_stat_activity
	WHERE backend_type = 'client backend'
	AND pid <> pg_backend_pid()";
pooled('SELECT 1');
my $before = query($pids);
pooled('RECONNECT', $way =~ s/dbname=\w+/dbname=pgbouncer/r);
pooled('SELECT 1');
ok($node->poll_query_until('postgres', "SELECT NOT '$before'::integer[] && ARRAY(SELECT unnest(a)
	FROM ($pids) AS p (a))"),
	'RECONNECT replaces all connections');

my $reset = bouncer(server_reset_query_always => 1);
ok(pgbench($reset, 'extended', 50)->finish, 'DISCARD ALL');
ok(rebuilt(pooled($slow, $reset)), 'a rebuild there');
complete('at the end');

$node->stop;
done_testing();
