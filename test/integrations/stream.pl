# examples/stream: consumers of a topic on librdkafka's mock cluster are killed and started again in
# the middle, while batches arrive twice.  No exposure may be missing, adding again must not change
# a byte, and the lag must end at zero.

use Documents;
use Server;
use Time::HiRes qw(sleep time);

# Debian's, to which Debian's packages belong.
my $python = '/usr/bin/python3';
if (!eval { IPC::Run::run([ $python, '-c', 'import confluent_kafka, psycopg' ], '<', \undef,
	'>&', \my $output) })
{
	plan skip_all => 'python3-confluent-kafka or python3-psycopg is not installed' unless $ENV{CI};
	BAIL_OUT('python3-confluent-kafka or python3-psycopg is not installed, which CI needs');
}

my $example = "$root/examples/stream";
my $folder = PostgreSQL::Test::Utils::tempdir();
my ($users, $items) = (300, 80);

my $node = start_server('stream', 'max_prepared_transactions = 1');
@ENV{qw(PGHOST PGPORT PGDATABASE)} = ($node->host, $node->port, 'postgres');
my $owner = $node->safe_psql('postgres', 'SELECT current_user');

sub query { return $node->safe_psql('postgres', $_[0], timeout => $patience) }

# What the README says to set up.
query('CREATE EXTENSION bloomexp');
query($_->{text}) for grep { $_->{language} eq 'sql'
	&& $_->{chapter} eq 'Steps' } blocks(document("$example/README.md"));

# A cluster, which exists as long as its producer.  It prints its address, then does what each line
# says.

append_to_file("$folder/cluster.py", <<'CLUSTER');
import datetime, itertools, json, sys
from confluent_kafka import Producer

producer = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none", "log_level": 0})
users, items = map(int, sys.argv[1:])
now = datetime.datetime.now(datetime.timezone.utc)

# Each user is in all partitions, so consumers meet in one row.
turn = itertools.count()

def send(value):
    producer.produce("exposures", value, partition=next(turn) % 4)
    producer.poll(0)

# Each user is shown these items, one by one in turns, some of them late; a part of all is sent
# twice.
def part(first, end):
    for item in range(first, end):
        for user in range(users):
            shown_at = now - datetime.timedelta(days=item * 7 % 25 if item % 5 == 0 else 0)
            value = json.dumps({"user_id": user, "item_id": user * 1000 + item,
                                "shown_at": shown_at.isoformat()})
            for _ in range(1 + (item % 4 == 0)):
                send(value)

def poison():
    for value in (None, "", "{", "[1]", "7", "null", b"\xff", '"\0"', "[" * 20000,
                  '{"user_id": "x", "item_id": 1, "shown_at": "now"}',
                  '{"user_id": 1, "item_id": 92233720368547758070, "shown_at": "now"}',
                  '{"user_id": 1, "item_id": 1, "shown_at": "soon"}',
                  '{"user_id": 1, "item_id": 1}',
                  # together, with a comma between them, these are one exposure
                  '{"user_id": 77, "item_id": 5', '"shown_at": "now"}'):
        producer.produce("exposures", value, partition=0)

producer.list_topics("exposures")    # creates it
print(str(next(iter(producer.list_topics().brokers.values()))).split("/")[0], flush=True)
for line in sys.stdin:
    exec(line)
    producer.flush()
    print("done", flush=True)
CLUSTER

my %cluster = (in => '', said => '', errors => '');
$cluster{run} = IPC::Run::start([ $python, "$folder/cluster.py", $users, $items ], '<',
	\$cluster{in}, '>', \$cluster{said}, '2>', \$cluster{errors}, IPC::Run::timeout(3 * $patience));
$cluster{run}->pump until $cluster{said} =~ /^(\S+:\d+)\n/;
my $address = $1;

sub cluster
{
	$cluster{said} = '';
	$cluster{in} .= "$_[0]\n";
	$cluster{run}->pump until $cluster{said} =~ /^done\n/m;
}

# Consumers

my ($started, $killed) = (0, 0);

sub consumer
{
	my ($batch, @settings) = @_;
	local $ENV{PGUSER} = 'consumer';
	my %consumer = (log => "$folder/log" . $started++);

	$consumer{run} = IPC::Run::start([ $python, "$example/consume.py", 'exposures', $batch,
		"bootstrap.servers=$address", 'statistics.interval.ms=200',
		'session.timeout.ms=4000', 'heartbeat.interval.ms=200', @settings ],
		'<', \undef, '>', $consumer{log}, '2>', "$consumer{log}.errors",
		IPC::Run::timeout(3 * $patience));
	return \%consumer;
}

sub ended
{
	my ($consumer, $signal) = @_;

	$consumer->{run}->signal($signal);
	eval { $consumer->{run}->finish };
	return $consumer->{run}->full_result(0);
}

# The last line that a consumer has logged, as numbers: read, added, partitions, lag.
sub logged
{
	my ($consumer) = @_;

	return (slurp_file($consumer->{log})
		=~ /.*^read (\d+), added (\d+), partitions (\d+), lag (-?\d+|unknown)$/ms);
}

# Wait until some consumers have all four partitions and no lag, and nothing is missing.  (A lag
# that they have logged may be from before the last messages.)
sub caught_up
{
	my (@consumers) = @_;
	my $end = time + $patience;

	while (time < $end)
	{
		my ($partitions, $lag) = (0, 0);

		for (@consumers)
		{
			my @logged = logged($_) or $lag++, next;	# it has not begun
			($partitions, $lag) = ($partitions + $logged[2],
				$lag + ($logged[3] eq 'unknown' ? 0 : abs $logged[3]));
		}
		return 1 if $partitions == 4 && $lag == 0 && !missing($items);
		sleep 0.1;
	}
	return 0;
}

# Each user's items that the cluster has sent, and how many of them the filter does not contain.
sub missing { return query("SELECT sum(cardinality(seen.unseen(u,
	ARRAY(SELECT u * 1000 + i FROM generate_series(0, $_[0] - 1) AS i))))
		FROM generate_series(0, $users - 1) AS u") }
sub bytes { return query("SELECT md5(string_agg(f::text, ',' ORDER BY user_id))
	FROM seen.filters AS f") }

cluster("part(0, 40)");
my @consumers = map { local $ENV{PGAPPNAME} = $_; consumer(20) } 0 .. 2;
$node->poll_query_until('postgres', 'SELECT count(*) > 0 FROM seen.filters');
for (my $sent = 40; $sent < $items; $sent += 10)
{
	my $adds = q{FROM pg_stat_activity WHERE usename = 'consumer' AND wait_event_type = 'Lock'};

	# Nobody can add now, so that the victim is in the middle.
	query("BEGIN; LOCK seen.filters IN EXCLUSIVE MODE; PREPARE TRANSACTION 'middle'");
	cluster("part($sent, $sent + 10)");
	$node->poll_query_until('postgres', "SELECT count(*) > 0 $adds") or die 'no consumer adds';
	local $ENV{PGAPPNAME} = my $victim = query("SELECT application_name $adds LIMIT 1");
	$killed++ if ended($consumers[$victim], 'KILL') == 9;
	query("SELECT pg_terminate_backend(pid) $adds AND application_name = '$victim';
		COMMIT PREPARED 'middle'");
	$consumers[$victim] = consumer(20);
	cluster('poison()') if $sent == 50;
}
is($killed, 4, 'consumers were killed in the middle');
ok(caught_up(@consumers), 'the lag of all consumers is zero');
is(missing($items), 0, 'nothing is missing');
is(query('SELECT count(*) FROM seen.filters'), $users, 'no other user');
# A message is not an error if librdkafka logs it because a request to a busy cluster, or a busy
# consumer, timed out and is repeated.
my $errors = join '', map { slurp_file($_) } glob "$folder/log*.errors";
$errors =~ s/^%\d\|[\d.]+\|(?:(?:REQTMOUT|FAIL|SESSTMOUT)\|.*timed out|COMMITFAIL\|).*\n//gmi;
is($errors, '', 'no error');

# False positives, among items that nobody was shown.
my $rate = query("SELECT avg(cardinality(seen.unseen(u,
	ARRAY(SELECT u * 1000 + 100000000 + i FROM generate_series(1, 2000) AS i)))) / 2000
	FROM generate_series(0, $users - 1) AS u");
cmp_ok(1 - $rate, '<', 0.01, 'the rate of false positives is below the target');

# A consumer that ends leaves its partitions to the others; one with another group reads everything
# again.
is(ended($_, 'TERM'), 0, 'a consumer that was told to end has no error') for @consumers;
my $before = bytes();
my $again = consumer(1000, 'group.id=again');
ok(caught_up($again), 'another group reads everything');
is((logged($again))[0], $users * $items * 5 / 4 + 15, 'all messages');
is((logged($again))[1], $users * $items * 5 / 4, 'all exposures');
is(bytes(), $before, 'adding again changes no byte');
is(scalar(() = slurp_file($again->{log}) =~ /^skipped partition \d, offset \d+: /mg), 13,
	'what is no exposure is skipped and logged');
is(query('SELECT seen.contains(77, 5)'), 'f', 'and makes no exposure together with others');

# Programs that can only insert have a view.
query($_->{text})
  for grep { $_->{language} eq 'sql' && $_->{chapter} eq 'Other streams' }
	blocks(document("$example/README.md"));
query('SET ROLE consumer; INSERT INTO seen.inbox VALUES (1, 997, now()), (1, 998, NULL)');
is(query("SELECT seen.unseen(1, '{997,998}')"), '{}', 'what is inserted into the view is added');
is(query('SELECT problems FROM bloomexp.feeds()'), '{}', 'the view is no problem to the feed');
# The layers of the user depend on how batches came, so that any single item can be a false
# positive.
cmp_ok(query('SELECT cardinality(seen.unseen(1, ARRAY(SELECT generate_series(1, 100))))'), '>', 80,
	'and nothing else');

# The server goes away: the consumer ends, and what starts it again misses nothing.
$node->stop('immediate');
$node->start;
cluster(qq{send('{"user_id": 1, "item_id": 999, "shown_at": "now"}')});
$again->{run}->finish;
isnt($again->{run}->full_result(0), 0, 'a consumer without a server ends with an error');
$again = consumer(1000, 'group.id=again');
ok(caught_up($again), 'started again');
is(query('SELECT seen.contains(1, 999)'), 't', 'it has repeated what it could not add');

$again->{run}->kill_kill;
$cluster{run}->kill_kill;

# Without Kafka: the README's mock cluster.
my $printed = '';
my $mock = IPC::Run::start([ $python, "$example/mock.py", 5000 ], '<', \undef, '>', \$printed,
	'2>', \my $mock_errors, IPC::Run::timeout($patience));
$mock->pump until $printed =~ /^bootstrap\.servers=(\S+:\d+)\n$/;
$address = $1;
my $trial = consumer(1000);
sleep 0.1 until ((logged($trial))[1] // 0) == 5000 || !$trial->{run}->pumpable;
is(query('SELECT count(*) FROM generate_series(0, 99) AS u
	WHERE cardinality(seen.unseen(u, ARRAY(SELECT generate_series(0, 49)))) = 0'), 100,
	'the consumer can be tried without Kafka');
$mock->kill_kill;
my $end = time + $patience;
sleep 0.1 until (logged($trial))[3] eq 'unknown' || time > $end;
is((logged($trial))[3], 'unknown', 'without a broker the lag is unknown');
is(ended($trial, 'INT'), 0, 'Ctrl-C ends a consumer without an error');
$node->stop;
done_testing();
