# Each transaction of one message has the time of that message, even those that have not begun:
# bloom_oldest_transaction() does not pass that time between two of them, when the session is in no transaction.

use Server;

my $node = start_server('oldest');
$node->safe_psql('postgres', 'CREATE EXTENSION bloomexp');

# psql sends what \; separates as one message.  In the last transaction it waits until it is ended.
my $message = 'BEGIN /* message */\; SELECT pg_sleep(1.5)\; COMMIT' . "\n\\; BEGIN\\; COMMIT" x 500_000
	. '\; SELECT pg_sleep(600);';
my $file = $node->basedir . '/message.sql';
append_to_file($file, $message);
my $session = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-f', $file ], '<', \undef, '>',
	\my $out, '2>&1', IPC::Run::timeout(180));
my $running = q{FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE '%/* message */%'};

$node->poll_query_until('postgres', "SELECT count(*) = 1 $running") or die 'no message';
my $arrived = $node->safe_psql('postgres', "SELECT query_start $running");
my ($looks, $passed) = split /\|/, $node->safe_psql('postgres', qq{
	SELECT pg_sleep(EXTRACT(EPOCH FROM timestamptz '$arrived' + interval '1.6 s' - clock_timestamp())) \\gset
	SELECT count(*), count(*) FILTER (WHERE oldest > '$arrived')
	FROM (SELECT bloom_oldest_transaction() AS oldest FROM generate_series(1, 20000) OFFSET 0) AS looks});

is($passed, 0, "none of $looks looks passed the time of the message");
is($node->safe_psql('postgres', "SELECT count(pg_terminate_backend(pid)) $running"), 1, 'the message had not ended');
$session->finish;
$node->stop;
done_testing();
