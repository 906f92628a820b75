# A feed without a table loses nothing that was committed and takes nothing twice within the window,
# while slices close all the time: its window is some seconds long.  Takers, pages of an ordered
# feed, two streams whose batches are late and come again, users who become one and users who
# expire, while backends are killed, the server is and a synchronous standby is promoted.  A ledger
# beside it has what was committed, in the same transactions, with times that are never too late.
# The script of the feed is applied again all the while.
#
# CHAOS_SECONDS=600 for more than a short look.

use Server;
use Time::HiRes qw(sleep time);

my $seconds = $ENV{CHAOS_SECONDS} || 30;
my $round = 6;

my $node = start_server('primary',
	"restart_after_crash = on\nmax_connections = 200\nautovacuum_naptime = 1s\n"
	. "deadlock_timeout = 100ms",
	allows_streaming => 1);
my $standby = start_standby($node, 'standby');
$node->append_conf('postgresql.conf', "synchronous_standby_names = 'standby'");
$node->reload;

sub query { return $node->safe_psql('postgres', $_[0], timeout => 10 * $patience) }

query(q{
	CREATE EXTENSION bloomexp;
	SELECT bloomexp.create_feed('seen', width => '9 seconds', slices => 6);
	-- "at" is never after what was shown was, and "done" never before: a take can wait for its user
	CREATE TABLE ledger (user_id bigint, item bigint, at timestamptz, how text,
		done timestamptz DEFAULT clock_timestamp());
	CREATE INDEX ON ledger (at);
	CREATE TABLE sent (user_ids bigint[], items bigint[], times timestamptz[]);
	CREATE FUNCTION candidates(n bigint) RETURNS bigint[]
		LANGUAGE sql AS 'SELECT ARRAY(SELECT (n + i * 7) % 2000
		FROM generate_series(1, 60) AS i)'});

# Users 1 to 12 are always there; others come and stay away.  The transaction began before what it
# shows was shown.
my %writers = (
	take => "INSERT INTO ledger SELECT :user, unnest(seen.take(:user, candidates(:item), 3)),
		now(), 'taken';",
	visitor => "\\set user 1000 + (:t / 3) % 50\n"
		. "INSERT INTO ledger SELECT :user, unnest(seen.take(:user, candidates(:item), 3)),
		now(), 'taken';",
	ordered => "BEGIN;\nSELECT seen.lock(:user);\nWITH page AS (SELECT c
		FROM unnest(candidates(:item)) AS c
		WHERE NOT (SELECT seen.current(:user)) @> c ORDER BY c LIMIT 3),
		added AS MATERIALIZED (SELECT seen.add(:user, array_agg(c)) FROM page)\n"
		. "INSERT INTO ledger SELECT :user, c, now(), 'taken' FROM page, added;\nCOMMIT;",
	rollback => "BEGIN;\nSELECT seen.take(:user, candidates(:item), 3),
		seen.add(:user + 1, candidates(:item));\n"
		. "\\sleep 2 ms\nROLLBACK;",
	add => "INSERT INTO ledger SELECT :user, 10000 + :item, now(), 'added'
		FROM seen.add(:user, ARRAY[10000 + :item]);",
	# two streams: batches of late events, of which each is sent again, to whatever consumer
	(map { ("stream_$_" => "WITH batch AS (SELECT array_agg(1 + (:user + n) % 14 ORDER BY n) AS u,
		array_agg(20000 + (:item * 31 + n) % 100000 ORDER BY n) AS i,
		array_agg(now() - random() * interval '6 seconds' ORDER BY n) AS t
			FROM generate_series(1, 30) AS n),
			kept AS (INSERT INTO sent SELECT * FROM batch),
			added AS MATERIALIZED (SELECT seen.add_batch(u, i, t) FROM batch)
		INSERT INTO ledger SELECT user_id, item, at, 'stream'
			FROM added, batch, unnest(u, i, t) AS e (user_id, item, at);\n"
		. "SELECT seen.add_batch(user_ids, items, times)
			FROM (SELECT * FROM sent WHERE random() < 0.2 LIMIT 2) AS again;") } 1, 2),
	# visitors sign in; what they were shown, their new selves were
	merge => "\\set visitor 1000 + (:t / 3) % 50\nBEGIN;\nSELECT seen.merge(:visitor, :user);\n"
		. "UPDATE ledger SET user_id = :user, how = 'merged' WHERE user_id = :visitor
			AND at > now() - interval '1 minute';\nCOMMIT;\n\\sleep 500 ms",
	forget => "BEGIN;\nSELECT seen.forget(13);\nDELETE FROM ledger
		WHERE user_id = 13;\nCOMMIT;\n\\sleep 100 ms",
	expire => "CALL seen.expire(allow_removed => true);\n\\sleep 200 ms",
	clean => "DELETE FROM sent;\n\\sleep 1500 ms",
	# other isolation levels, whose clients repeat what fails
	(map { ("isolated_" . lc =~ s/ .*//r => "BEGIN ISOLATION LEVEL $_;\n"
		. "INSERT INTO ledger SELECT :user, unnest(seen.take(:user, candidates(:item), 3)),
			now(), 'taken';\n"
		. "INSERT INTO ledger SELECT :user, 10000 + :item, now(), 'added'
			FROM seen.add(:user, ARRAY[10000 + :item]);\nCOMMIT;") }
		'REPEATABLE READ', 'SERIALIZABLE'));
# The script of the feed is applied again and again.
my $script = "SELECT bloomexp.feed_sql('seen', width => '9 seconds', slices => 6)\n\\gexec\n";

my $folder = $node->basedir;
append_to_file("$folder/$_.sql", "\\set user random(1, 12)\n\\set item random(1, 100000)\n"
	. "\\set t :epoch + :client_id\n$writers{$_}\n\\sleep 2 ms\n") for keys %writers;

# What is missing at this moment, and what was taken again too early.  The moment is not before the
# statement's snapshot, as now() is: a filter in the snapshot has rightly lost what had left the
# window by then.
my $check = q{
	SELECT format('user %s lacks %s', user_id, seen.unseen(user_id, items))
	FROM (SELECT user_id, array_agg(DISTINCT item) AS items FROM ledger
		WHERE at > (SELECT clock_timestamp()) - interval '9 seconds' GROUP BY user_id) AS l
	WHERE seen.unseen(user_id, items) <> '{}'
	UNION ALL
	SELECT format('user %s: %s again within %s', user_id, item, latest - before)
	FROM (SELECT *, lag(at) OVER w AS before, greatest(done, lag(done) OVER w) AS latest FROM ledger
		WHERE how = 'taken' AND at > now() - interval '20 seconds'
		WINDOW w AS (PARTITION BY user_id, item ORDER BY at)) AS l
			WHERE latest - before < interval '9 seconds'};

sub start
{
	my %run = (out => '', name => $_[0]);

	$run{run} = IPC::Run::start([ @_[1 .. $#_] ], '<', \undef, '>', \$run{out}, '2>&1',
		IPC::Run::timeout(10 * $patience + $seconds));
	return \%run;
}

my ($checks, $rounds, $looked_up, $began) = (0, 0, 0, time);
my (@missing, @errors);
# Errors that clients report after a crash.
my $crashed = qr/server[ ]closed[ ]the[ ]connection|terminating[ ]connection|
	connection[ ]to[ ]server[ ]was[ ]lost|Connection[ ]refused|backend[ ]died|
	could[ ]not[ ]connect/x;
my @crashes = ('kill', 'immediate', '', 'promote');

sub look
{
	my ($when) = @_;
	my ($status, $out, $error) = $node->psql('postgres', $check, timeout => 10 * $patience);

	$checks++;
	push @missing, map { "$when: $_" } split /\n/, $out if $out ne '';
	push @errors, "$when: $error" if $status != 0;
	$looked_up += query("SELECT count(*) FROM ledger WHERE at > now() - interval '9 seconds'");
}

# How much a round does depends on the machine.  Run further rounds until there was something of
# each kind to lose.
my %counts;
sub lacking
{
	%counts = map { split /\|/ } split /\n/, query("SELECT how, count(*) FROM ledger GROUP BY how
		UNION ALL SELECT 'again', count(*)
		FROM (SELECT lag(at) OVER (PARTITION BY user_id, item ORDER BY at) AS before
			FROM ledger WHERE how = 'taken') AS l WHERE before IS NOT NULL
		UNION ALL SELECT 'gone', count(DISTINCT user_id) FROM ledger
			WHERE NOT EXISTS (SELECT FROM seen.filters AS f WHERE f.user_id = ledger.user_id)");
	return join ' ', grep { !$counts{$_} } qw(taken added stream merged again gone);
}

while (time < $began + $seconds || $rounds < 5 || $rounds < 20 && lacking() ne '')
{
	my $crash = $rounds < @crashes ? $crashes[$rounds] : $crashes[ $rounds % 3 ];
	my $connection = $node->connstr('postgres') . ' application_name=pgbench';
	my $time = $crash ? $patience : $round;
	my @runs = map { start($_, 'pgbench', '-n', '-c', /take|ordered/ ? 3 : 1, '-M', /expire/
		? 'simple' : 'extended', '--max-tries', /isolated/ ? 100000 : 1,
		'-T', $time, '-D', 'epoch=' . int(time), '-f', "$folder/$_.sql", $connection) }
		sort keys %writers;
	my $end = time + $round - 1;

	while (time < $end)
	{
		query("SET client_min_messages = error;\n$script");
		look("round $rounds");
	}
	if ($crash eq 'kill')
	{
		kill_pgbench($node);
		$_->{run}->finish for @runs;
		comes_back($node) or die 'no restart';
	}
	elsif ($crash)
	{
		$node->stop('immediate');
		$_->{run}->finish for @runs;
		if ($crash eq 'promote')
		{
			$node = $standby;
			$node->promote;
		}
		else
		{
			$node->start;
		}
	}
	else
	{
		$_->{run}->finish for @runs;
	}
	for (@runs)
	{
		next if $crash && $_->{out} =~ $crashed;
		push @errors, "$_->{name}: $1"
		  while $_->{out} =~ /^(.*(?:ERROR|FATAL|PANIC|aborted|WARNING).*)$/mg;
		push @errors, "$_->{name}: nothing done"
		  if $_->{out} =~ /^number of transactions actually processed: 0\b/m;
	}
	look("after round $rounds, $crash");
	$rounds++;
}

is(join("\n", @missing[ 0 .. ($#missing > 9 ? 9 : $#missing) ]), '',
	'nothing was missing at any moment, and nothing was taken twice within the window');
is(join("\n", @errors[ 0 .. ($#errors > 9 ? 9 : $#errors) ]), '',
	'and nobody had an error but by crashes');
is(lacking(), '', 'there was everything to lose');
note "$rounds rounds, $checks checks of $looked_up exposures: " . join ', ',
	map { "$_ $counts{$_}" } sort keys %counts;
my ($layers, $rate, $bytes) = split /\|/,
	query("SELECT max(i.layers), round(avg(i.fpr_now)::numeric, 4),
	max(pg_column_size(f.items) + pg_column_size(f.recent))
	FROM seen.filters AS f, bloom_info(seen.current(f.user_id)) AS i WHERE user_id <= 12");
note "layers $layers, rate $rate, bytes $bytes";
cmp_ok($layers, '<', 100, 'no layers pile up');

# Then nobody comes: all are gone.
sleep 11;
query('CALL seen.expire(allow_removed => true)');
is(query('SELECT count(*) FROM seen.filters'), 0, 'who was shown nothing in the window has no row');

$node->stop;
done_testing();
