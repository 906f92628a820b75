# All transactions of one message start at the time of that message, even those that have not begun.
# So bloom_oldest_transaction() must not return a later time while the session is between two of
# them, and in no transaction.

use Server;

my $node = start_server('oldest');
$node->safe_psql('postgres', 'CREATE EXTENSION bloomexp;
	CREATE TABLE looked (times int, passed int)');

# psql sends what \; separates as one message.  In the first transaction it waits until somebody
# looks, and in the last one until it is ended.
my $message = 'BEGIN /* message */\;
	DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM looked) LOOP PERFORM pg_sleep(0.01);
	END LOOP; END $$\; COMMIT' . "\n\\; BEGIN\\; COMMIT" x 100_000
	. '\; SET application_name = last\; SELECT pg_sleep(600);';
my $file = $node->basedir . '/message.sql';
append_to_file($file, $message);
my $session = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-f', $file ],
	'<', \undef, '>', \my $out, '2>&1', IPC::Run::timeout(10 * $patience));
my $running = q{FROM pg_stat_activity WHERE pid <> pg_backend_pid()
	AND query LIKE '%/* message */%'};

$node->poll_query_until('postgres', "SELECT count(*) = 1 $running AND wait_event = 'PgSleep'")
  or die 'no message';
my $arrived = $node->safe_psql('postgres', "SELECT query_start $running");
# What is younger than a second has no time of its own.
my ($looks, $passed) = split /\|/, $node->safe_psql('postgres', qq{
	SELECT pg_sleep(EXTRACT(EPOCH
		FROM timestamptz '$arrived' + interval '1.1 s' - clock_timestamp())) \\gset
	INSERT INTO looked VALUES (0, 0);
	DO \$\$ BEGIN
		WHILE NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'last') LOOP
			UPDATE looked SET times = times + l.n, passed = looked.passed + l.passed
			FROM (SELECT count(*) AS n, count(*) FILTER (WHERE oldest > '$arrived') AS passed
				FROM (SELECT bloom_oldest_transaction() AS oldest
					FROM generate_series(1, 1000) OFFSET 0) AS o) AS l;
		END LOOP;
	END \$\$;
	TABLE looked}, timeout => 10 * $patience);

is($passed, 0, "none of $looks looks passed the time of the message");
is($node->safe_psql('postgres', "SELECT count(pg_terminate_backend(pid)) $running"), 1,
	'the message had not ended');
$session->finish;
$node->stop;
done_testing();
