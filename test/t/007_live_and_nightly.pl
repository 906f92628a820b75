# No exposure is lost between the trigger that adds exposures as they happen and
# the rebuild at night:
#
#	1. writers beside one rebuild after another, some of them in parts;
#	2. a rebuild while another one pauses;
#	3. forty days, a night of which is missed, with a crash of the server in the
#	   middle of a rebuild and another in the middle of writing.
#
# Afterwards every committed exposure of the window is looked up in its filter; one
# that is not contained is a failure.  Plain filters, windows, and plain filters with a live
# column beside them are kept.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $patience = $PostgreSQL::Test::Utils::timeout_default || 180;
my $seconds = $ENV{BLOOMEXP_LONG} ? 120 : 15;

my $node = PostgreSQL::Test::Cluster->new('nightly');
$node->init(extra => [ '--encoding', 'UTF8', '--no-locale' ]);
$node->append_conf('postgresql.conf', "deadlock_timeout = 100ms\nmax_wal_size = 1GB");
$node->start;

sub query { return $node->safe_psql('postgres', $_[0], timeout => $patience) }

query(q{
	CREATE EXTENSION bloomexp;
	CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL, shown_at timestamptz NOT NULL DEFAULT now(),
		hidden boolean) PARTITION BY RANGE (shown_at);
	CREATE TABLE exposures_old PARTITION OF exposures FOR VALUES FROM (MINVALUE) TO ('2026-02-01');
	CREATE TABLE exposures_new PARTITION OF exposures FOR VALUES FROM ('2026-02-01') TO (MAXVALUE);
	CREATE INDEX ON exposures (user_id, shown_at);
	CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom) WITH (fillfactor = 50);
	CREATE TABLE recent (user_id bigint PRIMARY KEY, items bloom, rebuilt_at timestamptz);
	CREATE TABLE flat (user_id bigint PRIMARY KEY, items bloom, today bloom);
	CREATE TRIGGER track_seen AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
		FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at', 'condition=hidden IS NOT TRUE');
	CREATE TRIGGER track_recent AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
		FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('recent', 'items', 'user_id', 'item_id', 'time=shown_at', 'slices=6', 'condition=hidden IS NOT TRUE');
	CREATE TRIGGER track_flat AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
		FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('flat', 'items', 'user_id', 'item_id', 'time=shown_at', 'live=today', 'condition=hidden IS NOT TRUE');
	-- exposures of the window that ends at a time, and how many of them a filter lacks
	CREATE FUNCTION missing(filters regclass, at timestamptz) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		answer text;
	BEGIN
		EXECUTE format($q$
			SELECT format('%%s of %%s', sum(cardinality(e.items - f.items %s)), sum(cardinality(e.items)))
			FROM (SELECT user_id, array_agg(item_id) AS items FROM exposures
				  WHERE hidden IS NOT TRUE AND shown_at >= $1 - interval '30 days' AND shown_at <= $1 GROUP BY user_id) AS e
			LEFT JOIN %s AS f USING (user_id)$q$, CASE filters::text WHEN 'flat' THEN '- f.today' END, filters) INTO answer USING at;
		RETURN answer;
	END
	$$});
is(query(q{SELECT string_agg(relation::text, ' ' ORDER BY relation::text) FROM bloom_untracked('exposures')}),
	'exposures_new exposures_new exposures_new exposures_old exposures_old exposures_old', 'partitions lack triggers');
query("SELECT command FROM bloom_untracked('exposures')\n\\gexec");
is(query("SELECT count(*) FROM bloom_untracked('exposures')"), '0', 'partitions have triggers');

sub complete
{
	my ($at, $name) = @_;

	for my $table ('seen', 'recent', 'flat')
	{
		like(query("SELECT missing('$table', $at)"), qr/^0 of [1-9]/, "$name: nothing is missing in $table");
	}
}

# How a table is rebuilt.  The rest is said by the triggers, of which there are many.
sub rebuild
{
	my ($table, @options) = @_;

	push @options, "rebuilt_at_column => 'rebuilt_at'" if $table eq 'recent';
	return 'CALL bloom_rebuild(' . join(', ', "'$table'", @options) . ')';
}

# A program that works on while we look away.
sub start
{
	my %run = (in => '', out => '');

	$run{run} = IPC::Run::start([@_], '<', \$run{in}, '>', \$run{out}, '2>&1', IPC::Run::timeout($patience + $seconds));
	return \%run;
}

# A rebuild that several sessions share: start all of them, and wait until they are done.
sub start_parts
{
	my ($table, $parts, @options) = @_;

	return map {
		start('psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', rebuild($table, @options, "part => $_", "parts => $parts"))
	} 1 .. $parts;
}

sub in_parts
{
	my @sessions = start_parts(@_);

	$_->{run}->finish for @sessions;
	unlike(join('', map { $_->{out} } @sessions), qr/ERROR|FATAL/, 'parts of a rebuild had no error');
}

#
# Writers beside rebuilds
#

query(q{
	INSERT INTO exposures SELECT u, i, now() - interval '10 days' FROM generate_series(1, 60) AS u, generate_series(1001, 1050) AS i;
	-- a rebuild that takes its time between the snapshot and the writing
	CREATE VIEW slowly AS SELECT * FROM exposures
		WHERE CASE WHEN item_id % 50 = 0 THEN pg_sleep(0.0005)::text IS NOT NULL ELSE true END});

# Each statement is for one user or for some, in transactions that hold their locks a while; some roll back.
append_to_file($node->basedir . '/write.sql', q{
\set user random(1, 120)
\set item random(1, 100000)
BEGIN;
INSERT INTO exposures SELECT :user, :item + i FROM generate_series(1, 10) AS i;
INSERT INTO exposures_new SELECT 1 + (:user + i * 37) % 120, 1 + :item % 200 FROM generate_series(1, 3) AS i;
\sleep 1 ms
\if :item % 10 = 0
ROLLBACK;
\else
COMMIT;
\endif
});
# What was shown long ago is shown again: the filter has it, and the rebuild is about to forget it.
append_to_file($node->basedir . '/repeat.sql', q{
\set user random(1, 40)
BEGIN;
INSERT INTO exposures SELECT user_id, item_id FROM exposures
WHERE user_id = :user AND shown_at < now() - interval '40 days' ORDER BY shown_at DESC, random() LIMIT 5;
\sleep 5 ms
COMMIT;
});

my @pgbench = ('pgbench', '-n', '-c', '2', '-j', '1', '-M', 'prepared', '--max-tries=1000',
	'-f', $node->basedir . '/write.sql', '-f', $node->basedir . '/repeat.sql', $node->connstr('postgres'));
my $writers = start(@pgbench, '-T', $seconds);
my ($rebuilds, $incomplete) = (0, '');
my $began = time;
while (time < $began + $seconds - 1)
{
	# Old exposures of this round, and users whose filter got lost.  (One user at a time
	# and no waiting: who waits with several users locked could be in a deadlock.)
	query("DO \$\$
		BEGIN
			FOR u IN 1 .. 40 LOOP
				INSERT INTO exposures SELECT u, 200000 + 20 * $rebuilds + i, now() - interval '50 days' + interval '$rebuilds seconds'
				FROM generate_series(1, 20) AS i;
				COMMIT;
			END LOOP;
		END
		\$\$;
		DELETE FROM seen WHERE user_id IN (SELECT user_id FROM seen WHERE user_id % 3 = 0 FOR UPDATE SKIP LOCKED)");
	if ($rebuilds % 3 == 1)
	{
		in_parts('seen', 2, "source => 'slowly'");
		in_parts('recent', 3, 'batch_size => 10');
	}
	else
	{
		query(rebuild('seen', "source => 'slowly'", 'batch_size => ' . (1000, 50)[ $rebuilds % 2 ]));
		query(rebuild('recent', 'batch_size => ' . (1000, 3, 50)[ $rebuilds % 3 ]));
	}
	query(rebuild('flat', $rebuilds % 2 ? "source => 'slowly'" : (), 'batch_size => ' . (50, 1000, 7)[ $rebuilds % 3 ]));
	# A statement sees exposures and filters of one moment: they must agree at any.
	for my $table ('seen', 'recent', 'flat')
	{
		my $missing = query("SELECT missing('$table', now())");
		$incomplete .= "round $rebuilds, $table: $missing\n" unless $missing =~ /^0 of [1-9]/;
	}
	$rebuilds++;
}
is($incomplete, '', 'filters were complete after each rebuild');
$writers->{run}->finish;
unlike($writers->{out}, qr/ERROR|FATAL|aborted/, 'the writers had no error') or diag $writers->{out};
my ($transactions) = $writers->{out} =~ /transactions actually processed: (\d+)/;
note "$transactions transactions beside $rebuilds rebuilds of each table";
cmp_ok($transactions, '>', 20, 'writers wrote');
cmp_ok($rebuilds, '>', 2, 'rebuilds were made');
complete('now()', 'writers beside rebuilds');
query(rebuild('seen')) for 1 .. 2;
is(query(q{SELECT count(*) FROM seen JOIN (SELECT user_id, bloom_agg(item_id, 0.01, 0.2) AS items FROM exposures
		WHERE shown_at >= now() - interval '30 days' GROUP BY user_id) AS e USING (user_id) WHERE seen.items <> e.items}),
	'0', 'filters are as if built at once');
complete('now()', 'after another rebuild');

#
# A statement of more exposures than are gathered at a time: every filter gets each part, whatever its seed
#

query('CREATE TABLE mass (user_id int, item_id int);
	CREATE TABLE mass_seen (user_id int PRIMARY KEY, items bloom);
	INSERT INTO mass_seen SELECT u, bloom_new(30000, 0.01, u % 2) FROM generate_series(1, 300) AS u WHERE u % 3 > 0');
query("CREATE TRIGGER track AFTER INSERT ON mass REFERENCING NEW TABLE AS n
	FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('mass_seen', 'items', 'user_id', 'item_id', 'condition=item_id % 1000 <> 0')");
query('INSERT INTO mass SELECT i % 300 + 1, i / 300 FROM generate_series(0, 4499999) AS i');
# (user by user, because each filter is read as a whole)
my $left = 'SELECT sum(cardinality(shown - items)) FROM (SELECT user_id, array_agg(item_id) AS shown FROM mass
	WHERE (item_id % 1000 = 0) = %s GROUP BY user_id) AS by_user LEFT JOIN mass_seen USING (user_id)';
is(query($left =~ s/%s/false/r), '0', 'nothing of 4.5 million exposures in one statement is missing');
cmp_ok(query($left =~ s/%s/true/r), '>', 4500 * 0.98, 'and what is no exposure is not there');
query('DROP TABLE mass, mass_seen');

#
# One rebuild of a table at a time, also while it pauses between batches
#

my $pausing = start('psql', '-XAtq', '-d', $node->connstr('postgres'), '-c',
	rebuild('seen', 'batch_size => 20', "pause => '1 hour'"), '-c', 'SELECT pg_backend_pid()', '-c', 'SELECT pg_sleep(600)');
ok($node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE query = 'bloom_rebuild: 20 users (seen)' AND wait_event = 'PgSleep'"),
	'a rebuild pauses');
my (undef, undef, $refusal) = $node->psql('postgres', rebuild('seen'), timeout => $patience);
like($refusal, qr/table "seen" is being rebuilt by another session/, 'a second one of the table is refused');
query(rebuild('recent'));
complete('now()', 'one of another table is not');
query("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'bloom_rebuild%'");
# (the session goes on, and has left nothing behind)
$pausing->{run}->pump until $pausing->{out} =~ /^\d+$/m;
like($pausing->{out}, qr/canceling statement due to user request/, 'it was cancelled');
query(rebuild('seen'));
complete('now()', 'after the cancelled rebuild');
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"),
	'its session is still there');
query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
$pausing->{run}->finish;

#
# Forty days.  Noon of day d is the end of the window of its night.
#

query('TRUNCATE exposures, seen, recent, flat');
my $seed = 0;

sub noon { return "('2026-01-10 12:00+00'::timestamptz + interval '$_[0] days')" }

# A user has about so many exposures a day; some users come late, some stay away after a while.
sub day
{
	my ($day) = @_;

	$seed++;
	return "
		INSERT INTO exposures
		SELECT u, hashint8extended(u * 1000 + i, $seed) % 100000, " . noon($day) . " - random() * interval '1 day'
		FROM generate_series(1, 50) AS u, generate_series(1, u % 7 + 1) AS i
		WHERE (u % 4 <> 1 OR $day > 15) AND (u % 4 <> 2 OR $day < 5);
		INSERT INTO exposures SELECT u, 200000 + $day, " . noon($day) . " - interval '1 hour', true FROM generate_series(1, 51) AS u;
		INSERT INTO exposures_old SELECT user_id, item_id + 1, shown_at FROM exposures_old
		WHERE user_id = $day AND shown_at BETWEEN " . noon($day - 1) . " AND " . noon($day) . ";";
}

# Wait until a rebuild has done some users, and more are to be done.
sub in_the_middle
{
	ok($node->poll_query_until('postgres',
			"SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query ~ '^bloom_rebuild: [1-9]')"),
		'the rebuild is under way');
	my $name = query("SELECT max(query) FROM pg_stat_activity WHERE query ~ '^bloom_rebuild: [1-9]'");
	like($name, qr/^bloom_rebuild: \d+ users(?:, part \d of \d)? \(\w+\)$/, 'others see how many users are done, but not who');
}

for my $day (1 .. 40)
{
	query(day($day));
	next if $day == 12;		# nobody came

	# One table is rebuilt each night, the other's windows move on and are rebuilt now and then.
	my @at = ('at => ' . noon($day));

	my %crash = (20 => 'seen', 29 => 'flat', 33 => 'recent');
	if (my $table = $crash{$day})
	{
		my $began = query('SELECT now()');
		my $rebuild = start('psql', '-XAtq', '-d', $node->connstr('postgres'), '-c',
			rebuild($table, @at, 'batch_size => 4', "pause => '200 milliseconds'"));
		in_the_middle();

		$node->stop('immediate');
		$rebuild->{run}->finish;
		$node->start;
		complete(noon($day), "day $day: after a crash in a rebuild");
		# from the start, or where it stopped
		my $last = $table eq 'recent' ? query("SELECT max(user_id) FROM recent WHERE rebuilt_at >= '$began'") : '';
		query(rebuild($table, @at, $last eq '' ? () : "start_after => '$last'"));
	}
	if ($day == 26)
	{
		# today's exposures once more, by writers, until the lights go out
		append_to_file($node->basedir . '/crash.sql', '
			\set user random(20, 60)
			\set item random(1, 100000)
			INSERT INTO exposures SELECT :user, :item + i, ' . noon($day) . " - interval '1 hour' FROM generate_series(1, 5) AS i;\n");
		my $writers = start('pgbench', '-n', '-c', '2', '-T', '60', '-f', $node->basedir . '/crash.sql', $node->connstr('postgres'));

		$node->poll_query_until('postgres', 'SELECT count(*) > 2000 FROM exposures WHERE shown_at = ' . noon($day) . " - interval '1 hour'")
		  or die 'no writers';
		$node->stop('immediate');
		$writers->{run}->finish;
		$node->start;
		complete(noon($day), "day $day: after a crash while writing");
	}

	if ($day == 36)
	{
		# both parts are lost in the middle, and done again one after the other
		my @rebuild = start_parts('seen', 2, @at, 'batch_size => 2', "pause => '200 milliseconds'");
		in_the_middle();

		$node->stop('immediate');
		$_->{run}->finish for @rebuild;
		$node->start;
		complete(noon($day), "day $day: after a crash in a rebuild in parts");
		query(rebuild('seen', @at, "part => $_", 'parts => 2')) for 2, 1;
	}

	if ($day % 4 == 0)
	{
		# (these two are done)
		in_parts('seen', 3, @at, 'batch_size => 7') unless $day == 20 || $day == 36;
	}
	else
	{
		query(rebuild('seen', @at, 'batch_size => 20'));
	}
	query(rebuild('flat', @at)) unless $day == 29;
	query($day % 3
		? 'UPDATE recent SET items = bloom_expire(items, ' . noon($day) . ')'
		: rebuild('recent', @at)) unless $day == 33;
	complete(noon($day), "day $day") if $day % 5 == 0 || $day == 13;
}
complete(noon(40), 'the end');

# What is older is gone: the filters are those of the window, and users who stayed away have none.
for my $table ('seen', 'flat')
{
	my ($fpr, $empty) = $table eq 'flat' ? ('0.01::float8 * 0.9', 'f.today IS NULL') : ('0.01', 'true');

	is(query("SELECT count(*) FROM $table AS f FULL JOIN (SELECT user_id, bloom_agg(item_id, $fpr, 0.2) AS items FROM exposures
			WHERE hidden IS NOT TRUE AND shown_at >= " . noon(40) . " - interval '30 days' GROUP BY user_id) AS e USING (user_id)
			WHERE (f.items = e.items AND $empty) IS NOT TRUE"),
		'0', "filters of $table are those of the window");
}
cmp_ok(query('SELECT count(*) FROM exposures LEFT JOIN seen USING (user_id) WHERE seen.user_id IS NULL'),
	'>', 0, 'some users have none');
# A window keeps a slice longer, of 5 days: what is older than that is gone but for false positives.
cmp_ok(query('SELECT avg((items @> item_id)::int) FROM exposures JOIN recent USING (user_id)
		WHERE shown_at < ' . noon(40) . " - interval '35 days' AND NOT EXISTS (SELECT FROM exposures AS e
			WHERE e.user_id = exposures.user_id AND e.item_id = exposures.item_id AND e.shown_at > exposures.shown_at)"),
	'<', 0.05, 'old slices are gone');

$node->stop;
done_testing();
