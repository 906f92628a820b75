# What one session can do to the others: drop the extension under them, keep the catalogs busy, and
# make triggers that take long to read.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $patience = $PostgreSQL::Test::Utils::timeout_default || 180;

my $node = PostgreSQL::Test::Cluster->new('rights');
$node->init(extra => ['--no-locale']);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\n");
$node->start;

sub query { return $node->safe_psql('postgres', $_[0], timeout => $patience) }

# A session, which gets statements and says a word when it has done them.
sub session
{
	my %session = (in => '', out => '', n => 0);

	$session{run} = IPC::Run::start([ 'psql', '-XAtq', '-f', '-', '-d', $node->connstr('postgres') ],
		'<', \$session{in}, '>', \$session{out}, '2>&1', IPC::Run::timeout($patience));
	return \%session;
}

sub begin
{
	my ($session, $statements) = @_;

	$session->{out} = '';
	$session->{n}++;
	$session->{in} .= "$statements;\n\\echo done $session->{n}\n";
	$session->{run}->pump_nb;
}

sub await
{
	my ($session) = @_;

	$session->{run}->pump until $session->{out} =~ s/^done $session->{n}\n//m || !$session->{run}->pumpable;
	return $session->{out};
}

sub run_in
{
	begin(@_);
	return await($_[0]);
}

#
# The extension is dropped under calls that run
#

my $tables = q{
	CREATE EXTENSION bloomexp;
	CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz);
	CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom);
	CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
		FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at');};
my $take = q{SELECT bloom_take('seen', 1, '{1}'::bigint[])};

query($tables);
my $started = query('SELECT pg_postmaster_start_time()');
my $caller = session();
my $waiter = session();
my $writer = session();

# in the middle of a query, which does not lock its functions
begin($caller, qq{SELECT bloom_take('seen', 1, '{1}'::bigint[]) FROM (SELECT pg_sleep(1) OFFSET 0) AS s});
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'});
query('DROP EXTENSION bloomexp CASCADE');
like(await($caller), qr/ERROR:  function with OID \d+ does not exist/, 'dropped before the first call of a session');

# with kept plans, while they wait for the lock of the table
query("DROP TABLE exposures, seen; $tables");
is(run_in($waiter, $take), "{1}\n", 'a session keeps plans');
run_in($writer, 'INSERT INTO exposures VALUES (1, 2, now())');
run_in($caller, 'BEGIN; DROP EXTENSION bloomexp CASCADE');
begin($waiter, $take);
begin($writer, 'INSERT INTO exposures VALUES (1, 3, now())');
$node->poll_query_until('postgres', q{SELECT count(*) = 2 FROM pg_stat_activity WHERE wait_event_type = 'Lock'});
run_in($caller, 'COMMIT');
like(await($waiter), qr/ERROR:  (?:function with OID \d+ does not exist|function .* does not exist)/, 'dropped while a call waited');
unlike(await($writer), qr/terminat|lost/, 'and while a trigger waited');
is(query('SELECT pg_postmaster_start_time()'), $started, 'the server did not restart');
unlike(slurp_file($node->logfile), qr/was terminated by signal/, 'and no session crashed');
query("DROP TABLE exposures, seen; $tables");

$_->{run}->finish for map { $_->{in} .= "\\q\n"; $_ } $caller, $waiter, $writer;
$node->stop;
done_testing();
