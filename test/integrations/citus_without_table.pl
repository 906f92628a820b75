# A feed without a table on Citus, set up by doc/integrations.md: pages and streams by two nodes,
# shards that move, expire() and a worker that crashes, all at once.  Nothing that was committed may
# be missing, nothing may be taken twice, and nothing may hang.  BLOOMEXP_LONG=1 takes half an hour.
# Before that each call in each of its cases, without moves: it does what it does on one server.
# Only where Citus is installed.

use Citus;
use Documents;
use Server;

my ($coordinator, @workers) = start_citus();
my $folder = PostgreSQL::Test::Utils::tempdir;
my $seconds = $ENV{BLOOMEXP_LONG} ? 1800 : 15;
my ($takers, $users) = (20, 100);	# users of pages; streams write for all

sub query { return $coordinator->safe_psql('postgres', $_[0]) }

# Of the chapter the first block sets up.  "recorded" is what the filters must contain.
my ($setup) = statements(document("$root/doc/integrations.md"), 'Citus: feeds without a table');
my ($distribute) = $setup =~ /^(SELECT create_distributed_function.*)/ms;
query("SET citus.shard_count = 8; $setup");
# The script of the feed is applied again.
query('SET client_min_messages = error; '
	. query(q{SELECT bloomexp.feed_sql('seen')}) . $distribute);
# One that never forgets, and two of which Citus knows nothing.
query($setup =~ s/\bseen\b/ever/gr =~ s/create_feed\('ever'/$&, width => NULL/r);
query(q{SELECT bloomexp.create_feed('local_seen');
	SELECT bloomexp.create_feed('local_ever', width => NULL)});
query(q{
	CREATE TABLE recorded (user_id bigint, item_id bigint, taken boolean);
	SELECT create_distributed_table('recorded', 'user_id', colocate_with => 'seen.filters')});

# Calls

for my $node ($coordinator, $workers[1])
{
	my $user = 1000 + $node->port;

	my $said = $node->safe_psql('postgres', qq{
		SELECT seen.take($user, '{1,2,3}', 2);
		SELECT seen.add($user, '{4}');
		SELECT seen.add($user, '{5}', now() - interval '20 days');
		SELECT seen.add_batch('{$user,-$user}', '{6,7}', '{now,yesterday}');
		SELECT seen.unseen($user, '{1,2,3,4,5,6,7}'), seen.contains(-$user, 7);
		SELECT seen.merge(-$user, $user);
		BEGIN; SELECT seen.lock($user); COMMIT;
		SELECT seen.unseen($user, '{3,7}'), seen.current(-$user) IS NULL;
		SELECT seen.forget($user);
		SELECT seen.unseen($user, '{1,5,6}')});
	is($said, "{1,2}\n\n\n\n{3,7}|t\n\n\n{3}|t\n\n{1,5,6}", 'calls on the ' . $node->name);
}
like(query('EXPLAIN (COSTS OFF) SELECT seen.take(42, ARRAY[1]::bigint[], 1)'), qr/Task Count: 1\b/,
	'a call runs on the node of its user');

# A shard does not move away from a transaction that has locked one of its users.
ok(move_waits('seen.filters', $coordinator, $_, 'SELECT seen.lock(7)'),
	'a move waits for lock() on the ' . $_->name) for $coordinator, $workers[1];
ok(!move_waits('seen.filters', $coordinator, $coordinator, "SELECT seen.unseen(7, '{1}')"),
	'but not for unseen()');
query('SELECT seen.forget(7)');

# Each call in each of its cases, in a feed on Citus and in one of which Citus knows nothing.  What
# the calls return and leave in the rows must be the same.  U5 is the fifth user after the first.

my $many = q{ARRAY(SELECT generate_series(1, 300)::bigint)};
my $late = q{now() - interval '12 days'};
my @calls = (
	# batches: a new user and the same again, a late event, several slices, more than "recent" holds
	(q{add_batch('{U0}', '{701}', '{now}')}) x 2,
	(qq{add_batch('{U0}', '{702}', ARRAY[$late])}) x 2,
	(qq{add_batch('{U1,U1}', '{701,702}', ARRAY[now(), $late])}) x 2,
	(qq{add_batch(array_fill(U2::bigint, '{300}'), $many, array_fill(now(), '{300}'))}) x 2,
	qq{add_batch(array_fill(U2::bigint, '{300}'), $many, array_fill($late, '{300}'))},
	qq{add_batch(array_fill(U0::bigint, '{300}'), $many, array_fill(now(), '{300}'))},
	# all of them at once, in no order, with nobody, nothing and never
	(qq{add_batch('{U3,U0,NULL,U1,U3,U4,U2}'::bigint[] || array_fill(U5::bigint, '{300}'),
		'{703,703,703,703,NULL,703,704}'::bigint[] || $many,
		ARRAY[$late, now(), now(), $late, now(), NULL, now()] || array_fill($late, '{300}'))}) x 2,
	q{add_batch('{U0,U6}', '{705,705}',
		ARRAY[now() + interval '1 year', now() - interval '1 year'])},
	q{add_batch('{}', '{}', '{}')}, q{add_batch(NULL, NULL, NULL)},
	# single users
	(q{add(U7, '{1,2,NULL,1}')}) x 2, qq{add(U7, '{1,3}', $late)},
	q{add(U7, '{4}', now() - interval '1 year')}, q{add(U7, '{5}', now() + interval '1 year')},
	qq{add(U7, $many)}, q{add(U8, '{}')}, q{add(U8, NULL)}, q{add(U8, '{1}', NULL)},
	q{add(NULL, '{1}')},
	# pages
	q{take(U9, '{1,2,2,NULL,3}', 2)}, q{take(U9, '{1,2,3}', 2)}, q{take(U9, '{1,2,3}')},
	q{take(U9, '{}')}, q{take(U9, NULL)}, q{take(NULL, '{7,8}', 1)},
	q{take_back(U9, '{3}')}, q{take(U9, '{4,5,6}', 3)}, q{take_back(U9, '{1,5,7}')},
	q{take_back(U9, '{5}')}, q{add(U9, '{4}')}, q{take_back(U9, '{4,6}')},
	q{take_back(U99, '{1}')}, q{take_back(NULL, '{1}')},
	qq{take(U10, $many)}, qq{take(U10, $many || '{301}')}, qq{take_back(U10, $many)},
	q{take(U0, '{701,702,703,705,706}')},
	# looks
	(map { ("unseen($_, '{1,5,300,301,701,702,703,704,705,706,NULL}')", "contains($_, 702)",
		"contains($_, NULL)", "current($_)") } 'NULL', map { "U$_" } 0 .. 11),
	# the rest
	q{lock(U11)}, q{lock(NULL)}, q{merge(U9, U0)}, q{merge(U1, U12)}, q{merge(U98, U2)},
	q{merge(U2, U2)}, q{merge(NULL, U0)}, q{merge(U10, U5)}, (q{forget(U7)}) x 2, q{forget(NULL)});

# They are called one by one, or in one transaction, which Citus runs on the node of the client.
sub called
{
	my ($node, $feed, $user, $together) = @_;
	my $statements = join "\n", map { "SELECT $feed.$_;" }
		map { s/\bU(\d+)\b/$user + $1/ger } @calls;
	my (undef, $out, $error) = $node->psql('postgres',
		$together ? "BEGIN;\n$statements\nCOMMIT;" : $statements, on_error_stop => 0);

	# without the time of the look, from which on current() has forgotten nothing
	return $out =~ s/^(\\x..2\w{45})\w{16}/$1/gmr, $error;
}

sub rows
{
	my ($feed, $user) = @_;

	return query("SELECT user_id, since, pending, recent, items FROM $feed.filters
		WHERE user_id BETWEEN $user AND $user + 99 ORDER BY 1");
}

for my $feed ('seen', 'ever')
{
	my $user = 1000000;

	for my $together (0, 1)
	{
		for my $node ($coordinator, @workers)
		{
			my $name = "$feed on the " . $node->name . ($together ? ', in one transaction' : '');
			my ($returned, $error) = called($node, $feed, $user, $together);
			my ($expected) = called($coordinator, "local_$feed", $user, $together);

			is($error, '', "calls of $name: no error");
			is($returned, $expected, "... they return what they do without Citus");
			is(rows($feed, $user), rows("local_$feed", $user), '... and leave the same rows');
			$user += 1000;
		}
	}
	my $health = 'SELECT users, fpr_target_max, fpr_max, above_fpr FROM %s.health';

	is(query(sprintf $health, $feed), query(sprintf $health, "local_$feed"), "health of $feed");
}
cmp_ok(query('SELECT count(*) FROM seen.filters'), '>', 40, 'there were rows');

# Users who have not come back for 50 days: not too many of them, then too many.
my $long_ago = query("SELECT now() - interval '50 days'");
for my $feed ('seen', 'local_seen')
{
	my $gone = "SELECT count(*) FROM $feed.filters WHERE user_id % 1000 = 3 OR user_id > 2000000
		OR since IS NULL AND items IS NULL";

	query("UPDATE $feed.filters SET since = '$long_ago' WHERE user_id % 1000 = 3");
	my $users = query($gone);
	cmp_ok($users, '>', 6, "$feed: there are users without exposures");
	is(query("SELECT expired FROM $feed.health"), $users, '... as the health says');
	is(query("CALL $feed.expire()"), $users, '... and expire() removes');
	is(query($gone), 0, '... from the filters');
	query("INSERT INTO $feed.filters (user_id, since)
		SELECT u, '$long_ago' FROM generate_series(2000001, 2001100) AS u");
	is(sqlstate($coordinator, 'postgres', "CALL $feed.expire()"), '55000',
		'... but not if they are too many');
	is(query("CALL $feed.expire(pause => '1 ms', allow_removed => true)"), 1100,
		'... unless that is allowed');
	is(query($gone), 0, '... and then they are gone');
}
query('DROP SCHEMA ever, local_ever, local_seen CASCADE; DELETE FROM seen.filters');

# Load

append_to_file("$folder/page", "\\set u random(1, $takers)\n\\set s random(1, 300)\n"
	. "INSERT INTO recorded
		SELECT :u, unnest(seen.take(:u, ARRAY(SELECT generate_series(:s, :s + 60)), 5)), true;\n");
# A batch of many users, the second half a repetition of the first, some of them late.
append_to_file("$folder/batch", "\\set b random(1, 1000000000)\nBEGIN;\n"
	. "INSERT INTO recorded SELECT 1 + (:b + i * 7) % $users, 1000 + :b + i, false
	FROM generate_series(0, 19) AS i;\n"
	. "SELECT seen.add_batch(array_agg(1 + (:b + i % 20 * 7) % $users),
		array_agg(1000 + :b + i % 20), array_agg(now() - interval '1 day' * (i % 20 % 5)))\n"
	. "FROM generate_series(0, 39) AS i;\nCOMMIT;\n");
# Users who have not come back for 50 days.
append_to_file("$folder/expire", "CALL seen.expire();\n"
	. "SELECT seen.add(u, '{1}') FROM generate_series(10001, 10010) AS u;\n"
	. "UPDATE seen.filters SET since = now() - interval '50 days' WHERE user_id > 10000;\n");
for my $writer ('page', 'batch')
{
	again_and_again("${writer}_@{[ $_->name ]}", $_, $folder,
	  "pgbench -n -c 2 -t 20 -f $folder/$writer")
	  for $coordinator, $workers[0];
}
again_and_again('expire', $coordinator, $folder,
	"psql -Xq -v ON_ERROR_STOP=1 -f $folder/expire; sleep 0.5");
move_shards('recorded', $coordinator, $folder);

my $crashed = 0;
my $looks = looks_ok($coordinator, 'recorded', 'seen.unseen', $seconds, sub { sprintf
	"SELECT %d > 0 AND %d > 0 AND %d > 0 AND count(*) = 2 AND min(count) > 200
	FROM (SELECT count(*) FROM recorded
		GROUP BY taken) AS r", done('moves', $folder), done('expire', $folder), $crashed }, sub {
	$workers[1]->stop('immediate'), $workers[1]->start, $crashed = 1 if !$crashed
		&& $_[0] >= $seconds / 3 });

all_end();
# What the crash has left prepared is committed or not before the end.
$_->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_prepared_xacts') || die
  for $coordinator, @workers;
is(query('SELECT sum(cardinality(seen.unseen(user_id, items)))
	FROM (SELECT user_id, array_agg(item_id) AS items FROM recorded
		GROUP BY user_id OFFSET 0) AS r'), 0,
	'nothing is missing at the end');
is(query('SELECT count(*) FROM (SELECT FROM recorded WHERE taken GROUP BY user_id, item_id
	HAVING count(*) > 1) AS r'), 0, 'nothing was taken twice');
cmp_ok(query("SELECT count(*) FROM recorded WHERE taken = $_"), '>', 200, 'enough was '
	. ($_ eq 'true' ? 'taken' : 'streamed')) for 'true', 'false';
cmp_ok(done($_, $folder), '>', 0, "there were $_") for 'moves', 'expire';
query('CALL seen.expire()');
is(query('SELECT count(*) FROM seen.filters WHERE user_id > 10000'), 0,
	'users who have not come back are gone');

# Clients had no errors but those of a move, which can make a deadlock, and of the crash.
my $expected = qr/^(?:40P01|08\w{3}|57P0[1-3])|connection|failed to COPY to shard/;
my @log = map { split /\n/, slurp_file($_->logfile) } $coordinator, @workers;
my %errors;
$errors{$_}++ for map { s/(?<=.{5})\d{4,}/N/gr } grep { /^\w{5} \w+ (?:ERROR|FATAL): / } @log;
is_deeply([ grep { !/$expected/ && !/^\w{5} moves / } sort keys %errors ], [],
	'no client had an error of its own');
note "$looks looks; ", query("SELECT count(*) FILTER (WHERE taken), count(*) FROM recorded"),
	"; moves ", done('moves', $folder), "\n", map { "$errors{$_} times $_\n" } sort keys %errors;

$_->stop for $coordinator, @workers;
done_testing();
