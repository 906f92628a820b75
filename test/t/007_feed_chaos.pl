# No exposure is lost, and no item is taken twice, whatever happens at the same time: writers of
# every kind, rebuilds one after another, partitions that come and go, scripts that are applied
# again, and crashes of sessions and of the server.
#
# A checker looks all the time, by statements that see exposures and filters of one moment: every
# exposure of the window must be excluded for its user.  CHAOS_SECONDS=600 for more than a short
# look.  Afterwards forty days, in a minute.

use Server;
use Time::HiRes qw(sleep time);

my $seconds = $ENV{CHAOS_SECONDS} || 20;
my $round = 5;

my $node = start_server('chaos',
	"restart_after_crash = on\nmax_prepared_transactions = 20\nmax_connections = 200\n"
	. "autovacuum_naptime = 1s\ndeadlock_timeout = 1s");

sub query { return $node->safe_psql('postgres', $_[0], timeout => 10 * $patience) }

# A row per item and a row per page, each with a feed with triggers and one without.
query(q{
	CREATE EXTENSION bloomexp;
	CREATE TABLE shown (user_id bigint, item_id bigint,
		shown_at timestamptz DEFAULT now()) PARTITION BY RANGE (shown_at);
	CREATE TABLE shown_old PARTITION OF shown FOR VALUES FROM (MINVALUE) TO ('2020-01-01');
	CREATE TABLE shown_new PARTITION OF shown FOR VALUES FROM ('2020-01-01') TO (MAXVALUE);
	CREATE INDEX ON shown (user_id, shown_at, item_id);
	CREATE TABLE pages (user_id text, item_id bigint[],
		shown_at timestamp DEFAULT (now() AT TIME ZONE 'UTC'));
	CREATE INDEX ON pages (user_id, shown_at);
	CREATE TABLE upserted (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now(),
		PRIMARY KEY (user_id, item_id));
	SELECT bloomexp.create_feed('tracked_shown', 'shown');
	SELECT bloomexp.create_feed('untracked_shown', 'shown', trigger => false);
	SELECT bloomexp.create_feed('tracked_pages', 'pages');
	SELECT bloomexp.create_feed('untracked_pages', 'pages', trigger => false);
	SELECT bloomexp.create_feed('tracked_upserted', 'upserted');
	SELECT bloomexp.create_feed('untracked_upserted', 'upserted', trigger => false);
	CREATE TABLE copies AS SELECT i FROM generate_series(1, 5) AS i;
	INSERT INTO shown SELECT u, -u, now() FROM generate_series(1, 10) AS u;
	INSERT INTO shown SELECT u, 1, '2019-01-01' FROM generate_series(1, 50) AS u;
	INSERT INTO pages VALUES ('0', '{1}');
	INSERT INTO upserted VALUES (0, 1)});
my @feeds = map { ("tracked_$_", "untracked_$_") } 'shown', 'pages', 'upserted';

# A detached partition keeps its triggers.  Before these minor releases PostgreSQL does not attach a
# table that has them.
my %attaches_from = (15 => 14, 16 => 10, 17 => 6);
my ($major, $minor) = query('SHOW server_version_num') =~ /^(\d\d)(\d{4})$/;
my $attach =
  "ALTER TABLE shown ATTACH PARTITION shown_old FOR VALUES FROM (MINVALUE) TO ('2020-01-01')";
my $refused = $minor < ($attaches_from{$major} // 0);

query('ALTER TABLE shown DETACH PARTITION shown_old');
my (undef, undef, $error) = $node->psql('postgres', $attach);
like($error, $refused ? qr/trigger "insert_tracked_shown" prevents table "shown_old"/ : qr/^$/,
	'PostgreSQL attaches a table with the triggers from the documented releases on');
if ($refused)
{
	$attach = "BEGIN;\nDROP TRIGGER insert_tracked_shown ON shown_old;\n"
	  . "DROP TRIGGER update_tracked_shown ON shown_old;\n$attach;\n"
	  . "CALL bloomexp.attach_triggers('tracked_shown', 'shown');\nCOMMIT";
	query($attach);
}

# All writers write for users 1 to 40.  Users 41 to 60 have prepared transactions, which began at
# unknown times, and exposures with times in the past; only feeds with triggers, or rebuilds with an
# overlap, get those right.  From 101 on, each user is for one way to take.
my %writers = (
	item => 'INSERT INTO shown (user_id, item_id) VALUES (:user, :item);',
	many => 'INSERT INTO shown (user_id, item_id) SELECT 1 + (:user + i * 7) % 40, :item + i
		FROM generate_series(1, 12) AS i;',
	partition => 'INSERT INTO shown_new (user_id, item_id) SELECT :user, :item + i
		FROM generate_series(1, 5) AS i;',
	page => "INSERT INTO pages (user_id, item_id)
		VALUES (:user, ARRAY[:item, NULL, :item + 1]::bigint[]),
		(:user % 7, ARRAY[:item]::bigint[]);",
	upsert => 'INSERT INTO upserted (user_id, item_id) SELECT 1 + :user % 20, i
		FROM generate_series(:item % 50, :item % 50 + 5) AS i
		ON CONFLICT (user_id, item_id) DO UPDATE SET shown_at = excluded.shown_at;',
	open => "BEGIN;\nINSERT INTO shown (user_id, item_id) VALUES (:user, :item);\n\\sleep 700 ms\n"
		. "INSERT INTO pages (user_id, item_id) VALUES (:user, ARRAY[:item]::bigint[]);\nCOMMIT;",
	savepoints => "BEGIN;\nINSERT INTO shown (user_id, item_id) VALUES (:user, :item);\n"
		. "SAVEPOINT s;\n"
		. "INSERT INTO shown (user_id, item_id) VALUES (:user, :item + 1);\nROLLBACK TO s;\n"
		. "INSERT INTO shown (user_id, item_id) VALUES (:user, :item + 2);\n"
		. "RELEASE s;\n\\sleep 1 ms\nCOMMIT;",
	rollback => "BEGIN;\nINSERT INTO shown (user_id, item_id) SELECT 60 + :user,
		:item;\nINSERT INTO pages (user_id, item_id)
		VALUES (60 + :user, ARRAY[:item]::bigint[]);\n\\sleep 2 ms\nROLLBACK;",
	prepared => "BEGIN;\nINSERT INTO shown (user_id, item_id) VALUES (41 + :user % 10, :item);\n"
		. "PREPARE TRANSACTION 'c:client_id-:item';\n\\sleep 3 ms\n"
		. "COMMIT PREPARED 'c:client_id-:item';",
	past => "INSERT INTO shown
		VALUES (51 + :user % 10, :item, now() - interval '1 day' * (:item % 29));",
	update => "UPDATE shown SET shown_at = now() WHERE user_id = 51 + :user % 10
		AND item_id % 10 = :item % 10
		AND shown_at > '2020-01-01';",
	(map { ("take_$$_[0]_shown" => "INSERT INTO shown (user_id, item_id)
		SELECT 101 + :user % 5 + $$_[1], unnest($$_[0]_shown.take(101 + :user % 5 + $$_[1],
			ARRAY(SELECT generate_series(:item % 1500, :item % 1500 + 99))::bigint[], 3));") }
		([ 'tracked', 0 ], [ 'untracked', 10 ])),
	(map { ("lock_$$_[0]_shown" => "BEGIN;\nSELECT $$_[0]_shown.lock(101 + :user % 5 + $$_[1]);\n"
		. "INSERT INTO shown (user_id, item_id)
		SELECT 101 + :user % 5 + $$_[1], i FROM generate_series(:item % 1500,
			:item % 1500 + 99) AS i
				WHERE NOT (SELECT $$_[0]_shown.current(101 + :user % 5 + $$_[1])) @> i
				LIMIT 3;\nCOMMIT;") }
		([ 'tracked', 20 ], [ 'untracked', 30 ])),
	(map { ("take_$$_[0]_pages" => "INSERT INTO pages (user_id, item_id)
		SELECT u, $$_[0]_pages.take(u,
			ARRAY(SELECT generate_series(:item % 1500, :item % 1500 + 99))::bigint[], 3)
		FROM (SELECT (101 + :user % 5 + $$_[1])::text AS u) AS u;") }
		([ 'tracked', 0 ], [ 'untracked', 10 ])));

# Other isolation levels, whose clients repeat what fails.
for my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	$writers{"isolated_$level" =~ s/ /_/r} = "BEGIN ISOLATION LEVEL $level;\n"
	  . "INSERT INTO shown (user_id, item_id) VALUES (:user, :item);\n"
	  . "INSERT INTO shown (user_id, item_id) SELECT 101 + :user % 5,
		unnest(tracked_shown.take(101 + :user % 5,
			ARRAY(SELECT generate_series(:item % 1500, :item % 1500 + 99))::bigint[], 3));\n"
	  . "COMMIT;";
}

# What a filter has from exposures that are forgotten is shown again.
my $repeat = q{UPDATE tracked_shown.filters SET items = bloom_add(items,
	ARRAY(SELECT generate_series(2000000::bigint, 2000040))) WHERE user_id BETWEEN 30 AND 40};
$writers{repeat} = 'INSERT INTO shown (user_id, item_id)
	SELECT 30 + :user % 11, 2000000 + (:item + i) % 40
	FROM generate_series(1, 2) AS i;';

my $folder = $node->basedir;
for (keys %writers)
{
	append_to_file("$folder/$_.sql",
		"\\set user random(1, 40)\n\\set item random(1, 1000000)\n$writers{$_}\n"
		. "\\sleep 2 ms\n");
}
my %statement = map { $_ => "CALL $_.rebuild(" . (/^un/ ? "overlap => '0'" : '') . ')' } @feeds;
append_to_file("$folder/rebuild_$_.sql", "$statement{$_};\n")
  for grep { $_ ne 'tracked_shown' } @feeds;
append_to_file("$folder/rebuild_tracked_shown.sql", "\\set middle random(1, 140)\n"
	. "CALL tracked_shown.rebuild(after => :middle);\n"
	. "CALL tracked_shown.rebuild(users => '{1,2,3,101,102}');\n"
	. "CALL tracked_shown.rebuild(upto => :middle);\n");
append_to_file("$folder/copy.csv", join '',
	map { sprintf "%d,%d\n", 1 + $_ % 40, 3000000 + $_ } 1 .. 200);
append_to_file("$folder/partitions.sql", qq{
ALTER TABLE shown DETACH PARTITION shown_old;
\\sleep 20 ms
$attach;
\\sleep 200 ms
ALTER TABLE shown DETACH PARTITION shown_old CONCURRENTLY;
\\sleep 20 ms
$attach;
\\sleep 200 ms
});

# What is missing at this moment, and what was taken twice.
my %others = (untracked_shown => 'AND user_id NOT BETWEEN 41 AND 60');
my $check = join ' UNION ALL ', map {
	my ($feed, $table) = (/(\w+)_(\w+)/ ? ($_, $2) : ());
	my $elements = $table eq 'pages' ? 'e, unnest(e.item_id) AS item'
	  : 'e, LATERAL (SELECT e.item_id) AS i (item)';

	"SELECT format('%s: user %s lacks %s', '$feed', user_id, $feed.unseen(user_id, items)) FROM (
		SELECT user_id, array_agg(item ORDER BY item) AS items FROM $table AS $elements
			WHERE shown_at > now() - interval '29 days' @{[ $others{$feed} || '' ]}
				GROUP BY user_id) AS u
	WHERE $feed.unseen(user_id, items) <> '{}'"
} @feeds;
$check .= " UNION ALL SELECT format('%s of user %s: %s times', item_id, user_id, count(*))
	FROM shown
	WHERE user_id > 100 GROUP BY user_id, item_id HAVING count(*) > 1
	UNION ALL SELECT format('%s of page user %s: %s times', item, user_id, count(*)) FROM pages,
		unnest(item_id) AS item WHERE length(user_id) = 3 GROUP BY user_id, item
		HAVING count(*) > 1";

sub start
{
	my %run = (out => '', name => $_[0]);

	$run{run} = IPC::Run::start([ @_[1 .. $#_] ], '<', \undef, '>', \$run{out}, '2>&1',
		IPC::Run::timeout(10 * $patience + $seconds));
	return \%run;
}

my ($checks, $rounds, $began) = (0, 0, time);
my %rebuilds = map { $_ => 0 } @feeds;
my (@missing, @errors);
# Errors that clients report after a crash.
my $crashed = qr/server[ ]closed[ ]the[ ]connection|terminating[ ]connection|
	connection[ ]to[ ]server[ ]was[ ]lost|Connection[ ]refused|backend[ ]died|
	could[ ]not[ ]connect/x;
my @crashes = ('kill', 'immediate', '');

sub look
{
	my ($when) = @_;
	my ($status, $out, $error) = $node->psql('postgres', $check, timeout => 10 * $patience);

	$checks++;
	push @missing, map { "$when: $_" } split /\n/, $out if $out ne '';
	push @errors, "$when: $error" if $status != 0;
}

# How much a round does depends on the machine.  Run further rounds until each feed was rebuilt
# beside the writers, and there was something to lose.
my $counts;
sub lacking
{
	$counts = query("SELECT (SELECT count(*) FROM shown), (SELECT count(*) FROM pages),
		(SELECT count(*) FROM shown WHERE user_id > 100),
		(SELECT count(*) FROM shown WHERE user_id BETWEEN 41 AND 50 AND item_id > 1)");
	return join ' ', grep({ $rebuilds{$_} < 2 } @feeds), $counts =~ /\b0\b/g;
}

while (time < $began + $seconds || $rounds < @crashes || $rounds < 20 && lacking() ne '')
{
	my $crash = $crashes[ $rounds % @crashes ];
	my $connection = $node->connstr('postgres') . ' application_name=pgbench';
	my $time = $crash ? $patience : $round;
	my @runs;

	query($repeat);
	push @runs, start($_, 'pgbench', '-n', '-c', /^(open|take|lock)/ ? 3 : 1,
		'--max-tries', /^isolated/ ? 100000 : 1,
		'-M', $_ eq 'prepared' ? 'simple' : 'extended', '-T', $time,
		'-f', "$folder/$_.sql", $connection) for sort keys %writers;
	push @runs, start("rebuild $_", 'pgbench', '-n', '-c', '1', '-M', 'simple', '-T', $time, '-f',
		"$folder/rebuild_$_.sql", $connection) for @feeds;
	push @runs, start('partitions', 'pgbench', '-n', '-c', '1', '-M', 'simple', '-T',
		$time - 1, '-f', "$folder/partitions.sql", $connection);
	push @runs, start('copy', 'psql', '-XAtq', '-d', $connection, '-c',
		"\\copy shown (user_id, item_id) FROM '$folder/copy.csv' (FORMAT csv)");

	my $end = time + $round - 1;
	do
	{
		# the scripts are applied again
		query("SET client_min_messages = error;\nSELECT bloomexp.feed_sql('$$_[0]', '$$_[1]')"
			. "\n\\gexec\n")
		  for [ 'tracked_shown', 'shown' ], [ 'tracked_upserted', 'upserted' ];
		look("round $rounds");
	} while time < $end;
	if ($crash eq 'kill')
	{
		kill_pgbench($node);
		$_->{run}->finish for @runs;
		comes_back($node) or die 'no restart';
	}
	elsif ($crash eq 'immediate')
	{
		$node->stop('immediate');
		$_->{run}->finish for @runs;
		$node->start;
	}
	else
	{
		$_->{run}->finish for @runs;
	}
	for (@runs)
	{
		$rebuilds{ $1 } += $2
		  if "$_->{name} $_->{out}" =~ /^rebuild (\w+).*transactions actually processed: (\d+)/s;
		next if $crash && $_->{out} =~ $crashed;
		push @errors, "$_->{name}: $1"
		  while $_->{out} =~ /^(.*(?:ERROR|FATAL|PANIC|aborted|WARNING).*)$/mg;
		push @errors, "$_->{name}: nothing done"
		  if $_->{out} =~ /^number of transactions actually processed: 0\b/m;
	}
	look("after round $rounds");
	query("SELECT format('%s PREPARED %L', CASE gid < 'c2' WHEN true THEN 'COMMIT'
		ELSE 'ROLLBACK' END, gid)
		FROM pg_prepared_xacts\n\\gexec");
	query('ALTER TABLE shown DETACH PARTITION shown_old FINALIZE')
	  if query("SELECT count(*) FROM pg_inherits WHERE inhdetachpending") ne '0';
	query($attach)
	  if query("SELECT count(*) FROM pg_inherits WHERE inhrelid = 'shown_old'::regclass") eq '0';

	# A partition that is half detached, because the session that detached it was cancelled.
	my $reader = start('reader', 'psql', '-XAtq', '-d', $connection, '-c', 'BEGIN', '-c',
		'SELECT count(*) FROM shown', '-c', 'SELECT pg_sleep(600)');
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity
		WHERE wait_event = 'PgSleep'");
	my $detach = start('detach', 'psql', '-XAtq', '-d', $connection, '-c',
		'ALTER TABLE shown DETACH PARTITION shown_old CONCURRENTLY');
	$node->poll_query_until('postgres', 'SELECT count(*) = 1 FROM pg_inherits
		WHERE inhdetachpending') or push @errors,
		'nothing is half detached';
	query("SELECT pg_cancel_backend(pid) FROM pg_stat_activity
		WHERE query LIKE 'ALTER TABLE shown DETACH%'
		AND pid <> pg_backend_pid()");
	$detach->{run}->finish;
	query($statement{$_}) for 'tracked_shown', 'untracked_shown';
	look("half detached in round $rounds");
	query("SELECT pg_cancel_backend(pid) FROM pg_stat_activity
		WHERE query = 'SELECT pg_sleep(600)'");
	$reader->{run}->finish;
	query("ALTER TABLE shown DETACH PARTITION shown_old FINALIZE;\n$attach");
	$rounds++;
}

note "$rounds rounds, $checks checks, rebuilds: " . join ', ', map { "$_ $rebuilds{$_}" }
	sort keys %rebuilds;
is(join("\n", @missing[ 0 .. ($#missing > 9 ? 9 : $#missing) ]), '',
	'no exposure was missing at any moment, and nothing was taken twice');
is(join("\n", @errors[ 0 .. ($#errors > 9 ? 9 : $#errors) ]), '',
	'and nobody had an error but by crashes');
cmp_ok($checks, '>', 2 * $rounds, 'there were checks');
is(lacking(), '', 'each feed was rebuilt beside the writers, and there was something to lose');
note "exposures, pages, taken, prepared: $counts";
is(query('SELECT untracked FROM tracked_shown.health'), '0', 'triggers are where they were');
query("CALL $_.rebuild()") for @feeds;
is(query('SELECT count(*) FROM tracked_shown.filters AS f
	FULL JOIN (SELECT user_id, bloom_agg(item_id, 0.01) AS items FROM shown
		WHERE shown_at > now() - interval $$30 days$$ GROUP BY user_id) AS e USING (user_id)
		WHERE f.items IS DISTINCT FROM e.items'),
	'0', 'filters are as if built at once');

# A rebuild that is ended reports up to which user it was done, and continues there.

query('CREATE TABLE many AS SELECT u AS user_id, 1::bigint AS item_id, now() AS shown_at
	FROM generate_series(1, 5000) AS u;
	CREATE INDEX ON many (user_id);
	SELECT bloomexp.create_feed($$many_seen$$, $$many$$)');
query('CALL many_seen.rebuild()');
query('UPDATE many_seen.filters SET filled_until = NULL');
my $rebuild = start('rebuild', 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c',
	"CALL many_seen.rebuild(pause => '3 s')");
$rebuild->{run}->pump
  until $rebuild->{out}
  =~ /NOTICE:  rebuild of many_seen\.filters: done up to user (\d+), except \d+ /;
my $done = $1;
query("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CALL many%'");
$rebuild->{run}->finish;
like($rebuild->{out}, qr/canceling statement due to user request/, 'a rebuild is ended');
is(query('SELECT count(*) > 0, count(*) FILTER (WHERE filled_until IS NULL) FROM many_seen.filters
	WHERE user_id <= '
	. $done), 't|0', 'and all users up to the one that it reported are done');
query("CALL many_seen.rebuild(after => $done)");
is(query('SELECT count(*), count(filled_until) FROM many_seen.filters'), '5000|5000',
	'it continues there');
query('DROP SCHEMA many_seen CASCADE; DROP TABLE many');

# Forty days: a day passes by making all times a day older.  One night is missed.

query("TRUNCATE shown, pages, tracked_shown.filters, untracked_shown.filters");
my ($late, $stale) = ('', '');
for my $day (1 .. 40)
{
	query("SET session_replication_role = replica;
		UPDATE shown SET shown_at = shown_at - interval '1 day';
		UPDATE tracked_shown.filters SET filled_until = filled_until - interval '1 day';
		UPDATE untracked_shown.filters SET filled_until = filled_until - interval '1 day';
		RESET session_replication_role;
		-- some come late, some stay away after a while
		INSERT INTO shown SELECT u, hashint8extended(u * 1000 + i, $day) % 100000,
			now() - random() * interval '20 hours'
		FROM generate_series(1, 50) AS u, generate_series(1,
			u % 7 + 1) AS i WHERE (u % 4 <> 1 OR $day > 15) AND (u % 4 <> 2 OR $day < 5)");
	query("CALL tracked_shown.rebuild(); CALL untracked_shown.rebuild()") =~ /ERROR/ and die
	  unless $day == 12;
	$late .= query("SELECT '$day: ' || user_id
		FROM (SELECT user_id, array_agg(item_id) AS items FROM shown
		WHERE shown_at > now() - interval '30 days' GROUP BY 1) AS e
		WHERE tracked_shown.unseen(user_id, items) <> '{}'
			OR untracked_shown.unseen(user_id, items) <> '{}'") unless $day == 12;
}
is($late, '', 'forty days: nothing was missing');
is(query('SELECT count(*) FROM tracked_shown.filters
	FULL JOIN untracked_shown.filters AS u USING (user_id)
	WHERE user_id % 4 = 2'), '0', 'who stayed away has no filter');
like(query("SELECT avg(cardinality(tracked_shown.unseen(user_id,
	items))::float8 / cardinality(items)) FROM
	(SELECT user_id, array_agg(item_id) AS items FROM shown
		WHERE shown_at < now() - interval '30 days' AND user_id % 4 <> 2 GROUP BY 1) AS e"),
		qr/^(1|0\.9)/,
	'what is older is forgotten');

$node->stop;
done_testing();
