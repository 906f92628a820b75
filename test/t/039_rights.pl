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
my @sessions = my ($caller, $waiter, $writer) = map { session() } 1 .. 3;

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

#
# Changes to tables that have nothing to do with a filter do not make bloom_take() look its definition up again
#

query(q{
	CREATE ROLE guest;
	CREATE SCHEMA guest AUTHORIZATION guest;
	CREATE TABLE elsewhere (user_id bigint, item_id bigint);
	INSERT INTO exposures SELECT i % 10, i, now() FROM generate_series(1, 1000) AS i});
my $other = session();
my $counted = session();

# (the first temporary table of a session may make a schema, on which all plans of all sessions depend)
run_in($other, 'CREATE TEMP TABLE t (); DROP TABLE t');
run_in($counted, 'SET client_min_messages = debug1');

# How often a call looks its definition up.
sub lookups
{
	return scalar(() = run_in($counted, $take) =~ /bloom_take\(\) reads/g);
}

# ... and in all after each of the statements of another session.
sub lookups_after
{
	my $lookups = 0;

	lookups();
	for my $statement (@_)
	{
		my $told = run_in($other, $statement);

		is($told, '', $statement) if $told =~ /ERROR/;
		$lookups += lookups();
	}
	return $lookups;
}

is(lookups(), 1, 'the first call looks its definition up');
is(lookups(), 0, 'and others do not');
is(lookups_after(
		('CREATE TEMP TABLE t (user_id bigint, item_id bigint)', 'DROP TABLE t') x 5,
		'CREATE TEMP TABLE t (user_id bigint, item_id bigint)',
		q{CREATE TRIGGER t AFTER INSERT ON t REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('public.seen', 'items', 'user_id', 'item_id')},
		'DROP TABLE t'),
	0, 'temporary tables of others do not matter');
is(lookups_after('ANALYZE exposures', 'ANALYZE elsewhere', 'ALTER TABLE elsewhere ADD x int', 'CREATE INDEX ON elsewhere (user_id)',
		'CREATE INDEX ON exposures (item_id)', 'VACUUM elsewhere'),
	0, 'neither does what is done to other tables, nor ANALYZE of exposures');
run_in($other, 'SET ROLE guest; CREATE TABLE guest.t (user_id bigint, item_id bigint)');
is(lookups_after(
		q{CREATE TRIGGER t AFTER INSERT ON guest.t REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('public.seen', 'items', 'user_id', 'item_id', 'slices=5')},
		'ALTER TRIGGER t ON guest.t RENAME TO u', 'ALTER TABLE guest.t RENAME TO u', 'DROP TABLE guest.u'),
	0, 'and triggers of strangers');
run_in($other, 'RESET ROLE');

# What matters is seen by the next call.
is(lookups_after('ALTER TRIGGER track ON exposures RENAME TO tracks'), 1, 'a trigger that counts matters');
is(lookups_after('ALTER TABLE exposures ALTER item_id TYPE int'), 1, 'the type of the items does');
is(lookups_after('DROP TRIGGER tracks ON exposures'), 1, 'and that a trigger is gone');
is(lookups_after(q{CREATE TRIGGER t AFTER INSERT ON elsewhere REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id')}),
	1, 'or came up');
is(lookups_after('ALTER TABLE elsewhere OWNER TO guest'), 1, 'the owner of its table');
is(lookups_after('GRANT postgres TO guest'), 1, 'whose privileges the owner has');
like(run_in($counted, q{SELECT bloom_take('seen', 1, '{x}'::text[])}), qr/hold integer items, not text/, 'and the definition is that one');
run_in($other, 'REVOKE postgres FROM guest');

#
# Triggers that take long to read do not keep others waiting
#

# The shortest time of a first call in a session, in seconds.
sub first_call
{
	my $best;

	for (1 .. 3)
	{
		my ($stdout) = run_command([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', '\timing on', '-c', $take ]);
		my ($time) = $stdout =~ /Time: ([\d.]+) ms/;

		$best = $time / 1000 if !defined $best || $time / 1000 < $best;
	}
	return $best;
}

sub make_trigger
{
	my ($session, $table) = @_;

	run_in($session, "CREATE $table (user_id bigint, item_id bigint)");
	run_in($session, q{DO $$ BEGIN EXECUTE format('CREATE TRIGGER t AFTER INSERT ON t REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION public.bloom_track(%s)',
		(SELECT string_agg(quote_literal(repeat('x', 100)), ',') FROM generate_series(1, 32000))); END $$});
}

my $before = first_call();
run_in($other, 'SET ROLE guest; SET search_path = guest');
make_trigger($other, 'TABLE t');
my $temp = session();
run_in($temp, 'SET ROLE guest');
make_trigger($temp, 'TEMP TABLE t');
is(query('SELECT count(*) FROM pg_trigger WHERE tgnargs = 32000'), '2', 'triggers with 32,000 arguments');
my $with = first_call();
note sprintf('%.1f ms without them, %.1f ms with', $before * 1000, $with * 1000);
cmp_ok($with, '<', 5 * $before + 0.5, 'do not keep a call waiting');

push @sessions, $other, $counted, $temp;
$_->{run}->finish for map { $_->{in} .= "\\q\n"; $_ } @sessions;
$node->stop;
done_testing();
