# A feed without a table on Citus, set up by doc/integrations.md: pages and streams by two nodes,
# shards that move, expire() and a worker that crashes, all at once.  Nothing that was committed may
# be missing, nothing may be taken twice, and nothing may hang.  BLOOMEXP_LONG=1 takes half an hour.
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
query('SET client_min_messages = error; ' . query(q{SELECT bloom_feed_sql('seen')}) . $distribute);
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

my @log = map { split /\n/, slurp_file($_->logfile) } $coordinator, @workers;
my %errors;
$errors{$_}++ for map { /^(\w{5} \w+ (?:ERROR|FATAL): .*)/ ? $1 =~ s/\d{4,}/N/gr : () } @log;
note "$looks looks; ", query("SELECT count(*) FILTER (WHERE taken), count(*) FROM recorded"),
	"; moves ", done('moves', $folder), "\n", map { "$errors{$_} times $_\n" } sort keys %errors;

$_->stop for $coordinator, @workers;
done_testing();
