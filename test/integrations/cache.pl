# clients/cache: a recall server with filters in its memory lets no exposed item through
# later than it says, although it is killed, stopped and cut off, its server restarts,
# and a night rewrites every filter; and it leaves nothing behind that holds the log.

use Documents;
use IO::Socket::UNIX;
use JSON::PP;
use Server;
use Time::HiRes qw(sleep time);

my $python = python();
if (!$python)
{
	plan skip_all => 'psycopg is not installed' unless $ENV{CI};
	BAIL_OUT('psycopg is not installed, which CI needs');
}

my $folder = "$root/clients/cache";
my $socket = PostgreSQL::Test::Utils::tempdir_short() . '/recall';
my $python_folder = PostgreSQL::Test::Utils::tempdir();
my ($changes, $users, $seconds) = (1000, 50, 8);

$ENV{PYTHONPATH} = "$folder/../python";
$ENV{PYTHONDONTWRITEBYTECODE} = 1;

my $node = start_server('cache', "wal_sender_timeout = 2s\nautovacuum = off\nmax_connections = 50",
	allows_streaming => 'logical');

sub query { return $node->safe_psql('postgres', $_[0], timeout => $patience) }

sub becomes_true
{
	my ($query, $name) = @_;

	ok($node->poll_query_until('postgres', "SELECT $query"), $name);
}

query(qq{
	CREATE EXTENSION bloomexp;
	CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL,
		shown_at timestamptz NOT NULL DEFAULT now());
	CREATE INDEX ON exposures (user_id, shown_at, item_id);
	SELECT bloomexp.create_feed('shown', 'exposures');
	INSERT INTO exposures SELECT u, u * 1000 + n FROM generate_series(1, $users + 2) u,
		generate_series(1, 300) n});

# What the README says to set up.
my @setup = map { $_->{text} }
	grep { $_->{language} eq 'sql' } blocks(document("$folder/README.md"));
is(scalar @setup, 1, 'the README sets up');
query($_) for @setup;

# The recall server

my ($server, $log, $client) = (undef, '', undef);

sub start_recall
{
	$server = IPC::Run::start(
		[ $python, "$folder/recall.py", $socket, $node->connstr('postgres') . ' user=recall' ],
		'<', \undef, '>&', \$log, IPC::Run::timeout(5 * $patience));
	undef $client;
}

sub stop_recall
{
	$server->signal('KILL');
	eval { $server->finish };
	undef $server;
}

END
{
	my $status = $?;

	stop_recall() if $server;
	$? = $status;
}

# Its answer to a request.
sub answer
{
	my (%request) = @_;
	my $deadline = time + $patience;

	while (time < $deadline)
	{
		$client //= IO::Socket::UNIX->new(Peer => $socket);
		if ($client)
		{
			print $client encode_json(\%request), "\n";
			my $line = <$client>;
			return decode_json($line) if defined $line;
			undef $client;
		}
		sleep 0.05;
	}
	die 'the recall server does not answer';
}

# Return the candidates that a user has not seen, as text.  On a busy machine an answer may take too
# long, which is an error, so ask again.
sub fresh
{
	my ($user, @candidates) = @_;
	my $deadline = time + $patience;
	my $answer;

	do { $answer = answer(user => $user, candidates => \@candidates) }
	  until $answer->{fresh} || time > $deadline;
	return join ' ', @{ $answer->{fresh} // ['no answer'] };
}

# Test that the answers have, after a second, what was committed before this call.
sub soon
{
	my ($user, $expected, $name, @candidates) = @_;
	my ($deadline, $late, $fresh) = time + 1.1;

	do { $late = time > $deadline; $fresh = fresh($user, @candidates) }
	  until $fresh eq $expected || $late;
	is($fresh, $expected, $name);
}

sub refuses
{
	my ($name, %request) = @_;
	my $answer = answer(%request);

	is_deeply([ keys %$answer ], ['error'], "$name: an error");
}

# Wait until the server follows the stream, and so answers from memory what was asked before.
sub follows
{
	my ($name) = @_;
	my $deadline = time + $patience;
	my $streak = 0;

	while ($streak < 12 && time < $deadline)
	{
		my $fetched = answer()->{fetched};
		fresh(1, 1001);
		$streak = answer()->{fetched} == $fetched ? $streak + 1 : 0;
		sleep 0.1;
	}
	is($streak, 12, "$name: answers from memory for longer than it may without the stream");
}

# Stop the process that sends the stream, and return its pid.
sub silence
{
	for (my $deadline = time + $patience; time < $deadline;)
	{
		my $pid = query('SELECT max(pid) FROM pg_stat_replication') or next;
		return kill('STOP', $pid) && $pid;
	}
	die 'no stream';
}

start_recall();
follows('at first');

# A user may come as text, as drivers have numbers that are too large for a double.
is(fresh('1', 7, 1001), '7', 'a user as text');

# 1,000 commits, and all that may happen

query('ALTER TABLE exposures ALTER shown_at DROP DEFAULT');	# as in the README of the project
my $judge = IPC::Run::start(
	[ $python, "$folder/judge.py", $socket, $node->connstr('postgres'), $changes, 4,
		$users, $seconds ],
	'<', \undef, '>', \my $sum, IPC::Run::timeout(3 * $patience));

# Wait until that part of them is written.
sub at
{
	my ($part) = @_;

	becomes_true("count(*) >= $part * $changes FROM exposures WHERE item_id > 1000000000",
		"$part of the changes");
}

at(0.1);
my $pid = silence();		# connected: only the age tells
sleep 1.5;
kill 'CONT', $pid;

at(0.3);
stop_recall();
becomes_true('count(*) = 0 FROM pg_replication_slots', 'killed: its slot is gone');
start_recall();

at(0.45);
$node->stop('immediate');
$node->start;

at(0.6);
query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'walsender'
	OR query LIKE '%pg_current_wal_flush_lsn%'
	AND pid <> pg_backend_pid()");

at(0.7);
query('CALL shown.rebuild()');

at(0.8);
my $tries = 0;
# A WAL sender has no timeout before it streams, so stop the client only when it does.
do { $server->signal('CONT'); sleep 0.5; $server->signal('STOP') }
  until query("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") == 1
    || $tries++ > $patience;
becomes_true('count(*) = 0 FROM pg_replication_slots',
	'stopped: after wal_sender_timeout its slot is gone');
$server->signal('CONT');

$judge->finish;
query('ALTER TABLE exposures ALTER shown_at SET DEFAULT now()');
note $sum;
$sum = decode_json($sum =~ /(\{.*\})\s*\z/ ? $1 : '{}');
cmp_ok($sum->{changes} // 0, '>=', $changes - 8, 'changes were committed');
is($sum->{late}, 0, 'no exposed item was let through later than the stated staleness');
is($sum->{older}, 0, 'and none that an answer of its age must know');
is($sum->{known}, $sum->{changes}, 'all are known at last');
cmp_ok($sum->{refused}, '<', $sum->{asked} / 2, 'most questions were answered');
# A session that does something, and ends when it is told to.
sub begin
{
	my ($statement) = @_;
	my %session = (in => "BEGIN; $statement;\n\\echo done\n", out => '');

	$session{run} = IPC::Run::start([ 'psql', '-Xq', '-d', $node->connstr('postgres') ],
		'<', \$session{in}, '>', \$session{out}, '2>&1', IPC::Run::timeout($patience));
	$session{run}->pump until $session{out} =~ /done/;
	return \%session;
}

sub commit
{
	my ($session) = @_;

	$session->{in} .= "COMMIT;\n\\q\n";
	$session->{run}->finish;
}

# A lock on the table

# A line of a client of its own, and the answer
sub send_line
{
	my ($line) = @_;
	my $other = IO::Socket::UNIX->new(Peer => $socket);

	local $SIG{PIPE} = 'IGNORE';
	print $other "$line\n";
	return $other;
}

sub receive
{
	my $line = readline $_[0];

	return decode_json($line // '{}');
}

my $session = begin('LOCK shown.filters');
my @asked = map { send_line(qq({"user": 7$_, "candidates": [7]})) } 1 .. 20;
sleep 0.5;
is(query("SELECT count(*) < 10 FROM pg_locks WHERE relation = 'shown.filters'::regclass
	AND NOT granted"), 't', 'while the table is locked, few wait');
is_deeply([ map { keys %{ receive($_) } } @asked ], [ ('error') x 20 ], 'and there is no answer');
commit($session);

# A transaction that is open while the server starts: no slot is made before it ends

stop_recall();
becomes_true('count(*) = 0 FROM pg_replication_slots', 'its slot is gone');
my ($one, $two) = ($users + 1, $users + 2);		# to whom nothing random was shown
$session = begin('SELECT pg_current_xact_id()');
start_recall();
is(fresh($one, 7), '7', 'without a stream: an answer');
query("INSERT INTO exposures VALUES ($one, 7)");
soon($one, '', 'and one a second later', 7);
is(query("SELECT count(*) FROM pg_replication_slots WHERE confirmed_flush_lsn IS NOT NULL"), '0',
	'the slot waits');
commit($session);
follows('then');

# A commit that the stream brings before other sessions see it: it waits for a standby that
# does not come.

is(fresh($two, 7), '7', 'not exposed');
query("ALTER SYSTEM SET synchronous_standby_names = 'nobody'; SELECT pg_reload_conf()");
$node->poll_query_until('postgres',
	"SELECT current_setting('synchronous_standby_names') = 'nobody'");
query('CHECKPOINT; CHECKPOINT');	# by the second one the checkpointer has told the others
my $waiting = IPC::Run::start([ 'psql', '-Xq', '-d', $node->connstr('postgres'), '-c',
	"INSERT INTO exposures VALUES ($two, 7)" ],
	'<', \undef, '>&', \my $said, IPC::Run::timeout($patience));
becomes_true("count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'", 'a commit waits');
sleep 0.5;
is(fresh($two, 7), '7', 'and nobody sees it');
query("ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf()");
$waiting->finish;
soon($two, '', 'afterwards it is seen', 7);

# What else changes rows

sub changed
{
	my ($name, $statement, @expected) = @_;

	sleep 0.6;	# what was asked is fetched again, and followed
	query($statement);
	while (my ($user, $expected) = splice @expected, 0, 2)
	{
		soon($user, $expected, "$name: user $user", 11, 12);
	}
}

# The filters are in memory until one of these changes comes.
fresh($_, 11, 12) for 3, 4, 901, 902;
changed('new user', 'INSERT INTO exposures VALUES (901, 11)', 901, '12');
changed('other key', 'UPDATE shown.filters SET user_id = 902 WHERE user_id = 901', 901,
	'11 12', 902, '12');
changed('deleted', 'DELETE FROM shown.filters WHERE user_id = 902', 902, '11 12');
query('INSERT INTO exposures VALUES (3, 11)');
changed('emptied', 'TRUNCATE shown.filters', 3, '11 12', 4, '11 12');

# A row of another table that names no user changes nothing.
query('CREATE TABLE others (user_id bigint, item_id bigint PRIMARY KEY)');
query('ALTER PUBLICATION recall ADD TABLE others');
changed('no user', 'INSERT INTO others VALUES (NULL, 1);
	INSERT INTO exposures VALUES (4, 11)', 4, '12');
follows('after that');
changed('emptied again', 'TRUNCATE shown.filters', 4, '11 12');

# Requests

is(fresh('4', 11, undef, 12), '11 12', 'candidates that are NULL');

# Requests that PostgreSQL would refuse do not cost the recall server its connection.
sub fetching { return query("SELECT pid FROM pg_stat_activity
	WHERE query LIKE '%pg_current_wal_flush_lsn%'
	AND pid <> pg_backend_pid()") }

my ($connection, $same, $deadline) = ('', '', time + $patience);
do	# On a busy machine the server may not answer in time, and then there is another connection.
{
	$connection = fetching();
	refuses('no candidates', user => 1, candidate => [7]);
	refuses('candidates of no kind', user => 4, candidates => [1.5]);
	refuses("user $_", user => $_, candidates => [1])
	  for undef, 'one', '9223372036854775808', '-9223372036854775809';
	query('REVOKE EXECUTE ON FUNCTION shown.current FROM recall');
	refuses('no privilege', user => 77, candidates => [1]);
	query('GRANT EXECUTE ON FUNCTION shown.current TO recall');
	is(fresh('9223372036854775807', 1), '1', 'the greatest user');
	$same = $connection && fetching() eq $connection;
} until $same || time > $deadline || !sleep 1;
ok($same, 'the connection is still the same');

# Lines that are no request
$server->pump_nb;
my $logged = length $log;
is_deeply([ keys %{ receive(send_line('[' x $_)) } ], ['error'], "a line of $_ brackets")
	for 100_000, 1 << 25;
answer();
$server->pump_nb;
is_deeply([ grep { !/^following begins anew/ } split /\n/, substr $log, $logged ], [],
	'nothing of that is unexpected');

# Operations that take long, tested on the classes of the recall server itself.
append_to_file("$python_folder/slow.py", q{
import asyncio, json, struct, time, bloomexp, recall

# An answer that takes longer than a second is none.
class Slow:
    layers = [None]
    def exclude(self, candidates):
        time.sleep(1.1)
        return candidates

async def slow():
    cache = recall.Cache("")
    cache.entries[1] = recall.Entry([Slow()], recall.clock(), False)
    return list(await recall.answer(cache, '{"user": 1, "candidates": [2]}')) == ["error"]

# While a filter of thousands of layers is asked or read, others get their answers: how much
# the process computes between two of them.
layers = 4096
value = (struct.pack("<BBHId", 1, 1, layers, 0, 0.5)
         + struct.pack("<IIII", 1 | 63 << 26, 4096, 1, 32) * layers
         + bytes.fromhex("0123456789abcdef") * layers)

async def longest_wait(cache, work):
    task, longest = asyncio.create_task(work), 0
    while not task.done():
        began = time.process_time()
        cache.entries[2] = recall.Entry(recall.EMPTY, recall.clock() + 1000, False)
        assert "fresh" in await recall.answer(cache, '{"user": 2, "candidates": [1]}')
        await asyncio.sleep(0.001)
        longest = max(longest, time.process_time() - began)
    return task.result(), longest

async def heavy():
    async def query(users):
        return [(0, "3:3:", user, value) for user in range(50)]
    cache = recall.Cache("")
    cache._query = query
    cache.entries[1] = recall.Entry([bloomexp.parse(value)], recall.clock(), False)
    question = '{"user": 1, "candidates": %s}' % list(range(1000))
    asked, wait1 = await longest_wait(cache, recall.answer(cache, question))
    read, wait2 = await longest_wait(cache, cache._fetch([]))
    return (len(asked.keys() & {"fresh", "error"}) == 1 and len(read[0]) == 50
            and max(wait1, wait2) < 1)

# An entry that is dropped while it is being asked no longer gets its age from the stream.
async def dropped():
    cache = recall.Cache("")
    entry = cache.entries[1] = recall.Entry(recall.EMPTY, recall.clock() - 0.5, True)
    cache.heard = recall.clock()
    before = cache._known(1, entry) == cache.heard
    cache._drop("1")
    return before and cache._known(1, entry) == entry.fetched

print(json.dumps({test.__name__: asyncio.run(test()) for test in (slow, heavy, dropped)}))
});
{
	local $ENV{PYTHONPATH} = "$ENV{PYTHONPATH}:$folder";
	IPC::Run::run([ $python, "$python_folder/slow.py" ], '<', \undef, '>', \my $said,
		IPC::Run::timeout($patience));
	is_deeply(decode_json($said || '{}'), { map { ($_ => JSON::PP::true) } qw(slow heavy dropped) },
		'what takes long');
}

$pid = silence();
is(fresh(4, 11, 12), '11 12', 'in memory');
query('INSERT INTO exposures VALUES (4, 12)');
answer(forget => '4');
is(fresh(4, 11, 12), '11', "forgotten: one's own commit is seen at once");
kill 'CONT', $pid;

stop_recall();
$node->stop;
done_testing();
