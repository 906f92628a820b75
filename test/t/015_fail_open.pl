# When filters can't be read in time: the statements of doc/query.md, as they
# stand there, against what can be in the way.  A reader waits for no row lock; for
# a lock on the table it waits no longer than it was told, and then gets all
# candidates or none.  The same on a standby, and when recovery cancels it.

use Documents;
use Server;
use Time::HiRes qw(time);

# seconds; the limits are milliseconds, so only a session that hangs takes this long
use constant LATE => 60;

my $guide = document("$root/doc/query.md");
my ($function, $limits) = statements($guide, 'Timeouts and failing open');
my $role = q{
	CREATE ROLE reader LOGIN;
	GRANT USAGE ON SCHEMA shown TO reader;
	GRANT EXECUTE ON FUNCTION shown.current, shown.unseen TO reader;
	ALTER ROLE reader SET lock_timeout = '50ms';
	ALTER ROLE reader SET statement_timeout = '500ms'};

my $primary = start_server('primary', "autovacuum = off\nbgwriter_lru_maxpages = 0",
	allows_streaming => 1);
$primary->safe_psql('postgres', $_) for tutorial(), $function, $role;
my $standby = start_standby($primary, 'standby', 'max_standby_streaming_delay = 100ms');

# Return what a session prints for some statements, and after how many seconds.
sub answer
{
	my ($node, $statements, @options) = @_;
	my ($begin, $stdout, $stderr) = (time);

	$node->psql('postgres', $statements, stdout => \$stdout, stderr => \$stderr,
		timeout => $patience,
		on_error_stop => 0, extra_params => [ '-v', 'VERBOSITY=sqlstate' ], @options);
	return (join(' ', grep { $_ ne '' } $stdout, $stderr =~ s/^psql:<stdin>:\d+: //mgr),
		time - $begin);
}

sub answers
{
	my ($node, $statements, $expected, $name, @options) = @_;
	my ($answer, $seconds);

	# On a slow machine a limit can expire before the operation that it is meant for has begun.  So
	# try again with longer ones.
	for my $times (1, 10, 100)
	{
		($answer, $seconds) = answer($node,
			$statements =~ s/_timeout = '\K\d+/$& * $times/ger, @options);
		last if $answer eq $expected || $statements !~ /_timeout/;
	}
	is($answer, $expected, $name);
	cmp_ok($seconds, '<', LATE, "$name: in time");
}

# A session that holds something until we let it go.
sub hold
{
	my ($node, $statements) = @_;
	my %session = (in => "$statements;\n\\echo held\n", out => '');

	$session{run} = IPC::Run::start([ 'psql', '-XAtq', '-f', '-', '-d',
		$node->connstr('postgres') ],
		'<', \$session{in}, '>', \$session{out}, '2>&1', IPC::Run::timeout(10 * $patience));
	$session{run}->pump until $session{out} =~ /held/;
	return \%session;
}

sub release
{
	my ($session) = @_;

	$session->{in} .= "ROLLBACK;\n\\q\n";
	$session->{run}->finish;
}

# Candidates of user 1, who saw 1001 to 1300.
my $open = q{SELECT unseen_in_time(1, '{1001,5,1002,6}')};
my $closed = q{SELECT unseen_in_time(1, '{1001,5,1002,6}', fail_open => false)};
my @whole = ('{1001,5,1002,6}', '{}');

sub both_ways
{
	my ($node, $expected, $name) = @_;

	answers($node, $open, $expected->[0], "$name: open");
	answers($node, $closed, $expected->[1], "$name: closed");
}

both_ways($primary, [ ('{5,6}') x 2 ], 'nothing in the way');
answers($primary, $limits, '{5,6}', 'in a transaction of its own, nothing in the way');

my $session = hold($primary, 'BEGIN; UPDATE shown.filters SET items = bloom_add(items, 7);
	SELECT count(*)
	FROM shown.filters FOR UPDATE');
both_ways($primary, [ ('{5,6}') x 2 ], 'row locks');
answers($primary, $limits, '{5,6}', 'in a transaction of its own, row locks');
release($session);

$session = hold($primary, 'BEGIN; LOCK shown.filters');
both_ways($primary, \@whole, 'a lock on the table');
# The transaction of the application, as statements and as one message: error 55P03, or 57014 if the
# statement is stopped first.
for ([ $limits, '55P03' ], [ $limits =~ s/lock_timeout = '\w+'/lock_timeout = 0/r, '57014' ])
{
	my ($statements, $sqlstate) = @$_;

	answers($primary, $statements, "ERROR:  $sqlstate", "$sqlstate of a transaction");
	answers($primary, $statements =~ s/;(?=\n.)/\\;/gr, "ERROR:  $sqlstate",
		"$sqlstate of one message");
}
# The limits of a role, which are set when it connects.
my @as_role = (connstr => $primary->connstr('postgres') . ' user=reader');
my $read = q{SELECT shown.unseen(1, '{5}')};
answers($primary, "SET statement_timeout = 0; $read", 'ERROR:  55P03', 'lock_timeout of a role',
	@as_role);
answers($primary, "SET lock_timeout = 0; $read", 'ERROR:  57014', 'statement_timeout of a role',
	@as_role);
# What the document warns of: it is too late for a limit in the statement itself.
answers($primary, "SET lock_timeout = '1s';
	WITH s AS MATERIALIZED (SELECT set_config('statement_timeout', '20ms', false)) SELECT count(*)
		FROM s, shown.filters",
	'ERROR:  55P03', 'a limit set by the statement itself');
# unseen_in_time() answers to statement_timeout, too, ...
answers($primary, "ALTER FUNCTION unseen_in_time RESET lock_timeout;
	SET statement_timeout = '200ms'; $open", $whole[0],
	'statement_timeout in unseen_in_time()');
release($session);
# ... and the limit of unseen_in_time() is over when it returns.
is((answer($primary, "ALTER FUNCTION unseen_in_time SET lock_timeout = '50ms';
	SELECT unseen_in_time(1, '{5}'), current_setting('lock_timeout')"))[0],
	'{5}|0', 'limits are those of before');

# All readers queue behind a session that waits for such a lock; its lock_timeout keeps that short.
my $reader = hold($primary, 'BEGIN; SELECT count(*) FROM shown.filters');
my $migration = hold($primary,
	"BEGIN;\n\\echo held\nALTER TABLE shown.filters ADD COLUMN note text");
ok($primary->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks
	WHERE relation = 'shown.filters'::regclass AND NOT granted}),
	'a migration waits for a reader');
both_ways($primary, \@whole, 'behind a migration that waits');
release($reader);
release($migration);

# Standby

# The WAL record that frees the migration's lock is written no later than with the next commit.
$primary->safe_psql('postgres', 'CREATE TABLE before_it ()');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));
both_ways($standby, [ ('{5,6}') x 2 ], 'standby');

$session = hold($primary, 'BEGIN; LOCK shown.filters; SELECT pg_current_xact_id()');
$primary->safe_psql('postgres', 'CREATE TABLE after_it ()');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));
both_ways($standby, \@whole, 'standby, a lock on the table');
release($session);

# Rows that a reader still needs go away on the primary.  The reader is slow here by the sleep.  The
# second one is in a function that catches errors, as unseen_in_time() does: that ends the session.
$primary->safe_psql('postgres', q{
	CREATE FUNCTION slow() RETURNS bloom LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM pg_sleep(600) FROM shown.filters WHERE user_id = 1;
	END $$;
	CREATE FUNCTION slow_and_catching() RETURNS bloom LANGUAGE plpgsql AS $$
	BEGIN
		RETURN slow();
	EXCEPTION WHEN OTHERS OR query_canceled THEN
		RETURN NULL;
	END $$});
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));
for my $reader ([ 'slow', 2, 'ERROR:  40001' ], [ 'slow_and_catching', 3, 'FATAL:  40001' ])
{
	my ($function, $user, $expected) = @$reader;
	my %slow = (in => "\\set VERBOSITY sqlstate\nSELECT $function();\n\\q\n", out => '');

	$slow{run} = IPC::Run::start([ 'psql', '-XAtq', '-f', '-', '-d',
		$standby->connstr('postgres') ],
		'<', \$slow{in}, '>', \$slow{out}, '2>&1', IPC::Run::timeout(10 * $patience));
	$slow{run}->pump_nb;
	ok($standby->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity
		WHERE wait_event = 'PgSleep'}), "$function: reads");
	my $begin = time;
	$primary->safe_psql('postgres', "DELETE FROM shown.filters WHERE user_id = $user;
		VACUUM shown.filters");
	$slow{run}->finish;
	is((split /\n/, $slow{out} =~ s/^psql:<stdin>:\d+: //r)[0], $expected,
		"standby, $function: a conflict with recovery");
	cmp_ok(time - $begin, '<', LATE, "standby, $function: in time");
}

$standby->stop;
$primary->stop;
done_testing();
