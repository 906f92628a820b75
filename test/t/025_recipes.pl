# What doc/recipes.md says and its examples cannot show: a period of showings that ends, a
# visitor who has become a user, the rate of a set in shards, two crawlers at once, a stream
# that is killed and replayed, and who may compute a keyed digest.
#
# The statements are those of the document, but for one shared set, which it describes.

use Documents;
use Server;

my $recipes = document("$root/doc/recipes.md");

my $node = start_server('recipes');

# A database for a chapter; a function that runs statements in it.
sub database
{
	my ($name) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, 'CREATE EXTENSION bloomexp');
	return sub { return $node->safe_psql($name, "SET client_min_messages = warning; $_[0]") };
}

# The part of a text from a first to a last statement, which begin like this.
sub part
{
	my ($text, $first, $last) = @_;

	return $text =~ /^(\Q$first\E.*?^\Q$last\E.*?;)$/ms ? $1
	  : die "no statements from $first to $last";
}

# A session that works on while we look away.
sub session
{
	my ($database, $statements) = @_;
	my %session = (in => "$statements\n\\echo reached\n", out => '');

	$session{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr($database) ],
		'<', \$session{in}, '>', \$session{out}, '2>&1', IPC::Run::timeout(10 * $patience));
	$session{run}->pump_nb;
	return \%session;
}

sub reached
{
	my ($session) = @_;

	$session->{run}->pump until $session->{out} =~ /^reached$/m;
}

# Show at most k times: after the period an item is shown again, and counted from one

my ($shows) = statements($recipes, 'Show at most k times');
my $query = database('shows');
my $used_up = sub { return $query->(q{SELECT used_up.unseen(42, '{1}') = '{}'}) };
$query->($shows);
is($used_up->(), 't', 'an item that was shown three times');
$query->("UPDATE shows SET shown_at = now() - interval '8 days' WHERE item_id = 1");
$query->('CALL used_up.rebuild(allow_removed => true)');
is($used_up->(), 'f', 'is shown again after the period');
my $show = part($shows, 'PREPARE show_items', 'ON CONFLICT');
is($query->("$show EXECUTE show_items(42, '{1}'); SELECT times FROM shows WHERE user_id = 42
	AND item_id = 1"), 1, 'as if for the first time');
is($used_up->(), 'f', 'and not yet used up');
$query->("$show EXECUTE show_items(42, '{1}'); EXECUTE show_items(42, '{1}')");
is($used_up->(), 't', 'until it was shown three times');

# A visitor becomes a user

my ($merge) = statements($recipes, 'A visitor becomes a user');
$query = database('visitor');
$query->(tutorial());
$node->safe_psql('visitor', $merge);	# (a CALL that commits is alone)
is($query->("SELECT shown.unseen(42, '{42001,43001,43300,44001}')"), '{44001}',
	'the user has seen what the visitor saw');
is($query->('SELECT (SELECT count(*) FROM shown.filters WHERE user_id = 43),
	(SELECT count(*) FROM exposures WHERE user_id = 42)'), '0|600', 'the visitor is gone');

# One shared set

my $set = q{
CREATE FUNCTION shard_of(item text)
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
'SELECT (hashtextextended(item, 0) & 15)::integer';

CREATE TABLE queue (
  url      text NOT NULL,
  shard    integer GENERATED ALWAYS AS
           (shard_of(url)) STORED,
  added_at timestamptz NOT NULL
           DEFAULT now());
CREATE INDEX ON queue (shard, added_at);
SELECT bloomexp.create_feed(
  'crawled', 'queue',
  user_column => 'shard',
  item_column => 'url',
  time_column => 'added_at',
  width => '36500 days', fpr => 0.001);
};
my $discover = q{
PREPARE discover AS
INSERT INTO queue (url)
SELECT unnest(crawled.take(shard, urls))
FROM (SELECT shard_of(url) AS shard,
    array_agg(url) AS urls
  FROM unnest($1::text[]) AS url
  GROUP BY 1 ORDER BY 1 OFFSET 0) AS links
RETURNING url;

PREPARE unknown AS
SELECT u.url
FROM (SELECT shard_of(url) AS shard,
    array_agg(url) AS urls
  FROM unnest($1::text[]) AS url
  GROUP BY 1) AS links,
unnest(crawled.unseen(shard, urls)) AS u (url);
};
my $discovering = part($discover, 'PREPARE discover', 'RETURNING');
my $test = part($discover, 'PREPARE unknown', 'FROM (SELECT shard_of');
my $url = "'https://example.com/page/'";

# The rate is that of one filter, however many there are.
for my $shards (1, 16, 1024)
{
	my $query = database("set_$shards");
	my $last = $shards - 1;

	$query->($set =~ s/& 15\)/& $last)/r);
	$query->("INSERT INTO queue (url) SELECT $url || n FROM generate_series(1, 20000) AS n");
	is($query->('SELECT count(*), min(user_id), max(user_id) FROM crawled.filters'),
		"$shards|0|$last", "$shards shards");

	my $left = sub {
		my $urls = "ARRAY(SELECT $url || n FROM generate_series($_[0]) AS n)";
		my $statement = $test =~ s/PREPARE unknown AS//r =~ s/\$1::text\[\]/$urls/r =~ s/;$//r;

		return $query->("SELECT count(*) FROM ($statement) AS left_over");
	};
	is($left->('1, 20000'), 0, "$shards shards: all that was added is there");

	# at most 100 of 100,000 at the target rate of 0.1%, with a standard deviation of 10
	my $dropped = 100000 - $left->('100001, 200000');
	cmp_ok($dropped, '<', 150, "$shards shards: rates do not add up");
	# (small filters have room)
	cmp_ok($dropped, '>', 0, "$shards shards: but there is one") if $shards < 1000;
	cmp_ok($query->('SELECT max(fpr) FROM crawled.filters, bloom_info(items)'), '<=', 0.001,
		"$shards shards: the target rate");
}

# Crawlers side by side, which find the same links in other orders: each link is new once.
$query = database('crawlers');
$query->("$set;
	CREATE FUNCTION links(page integer, crawler integer) RETURNS text[] LANGUAGE sql
	AS \$\$ SELECT array_agg($url || n ORDER BY hashint4(n + crawler))
	FROM generate_series(page * 50,
		page * 50 + 149) AS n \$\$");
my @crawlers = map {
	my $crawler = $_;
	session('crawlers', join "\n", $discovering,
		map { "EXECUTE discover (links($_, $crawler));" } 0 .. 39);
} 1 .. 4;
reached($_) for @crawlers;
unlike($_->{out}, qr/ERROR/, 'a crawler without an error') for @crawlers;
my ($queued, $distinct) = split /\|/, $query->('SELECT count(*), count(DISTINCT url) FROM queue');
is($queued, $distinct, 'no link is new twice');
cmp_ok($distinct, '>=', 2100 - 15, 'nearly all are new once');
is($query->('SELECT count(*) FROM queue WHERE NOT crawled.contains(shard, url)'), 0,
	'all are remembered');
$_->{in} .= "\\q\n", $_->{run}->finish for @crawlers;

# A crawler that fails has taken nothing.  What the others left depends on who came first, so that
# any single link can be a false positive.
my $links = join ',', map { "https://new.example/$_" } 1 .. 20;
my $discover_new = "$discovering EXECUTE discover ('{$links}');";
my $taken = $query->("BEGIN; $discover_new ROLLBACK;");
cmp_ok(scalar(split /\n/, $taken), '>', 15, 'taken');
is($query->($discover_new), $taken, 'and free again after a rollback');

# Exposures from a stream

my ($stream) = statements($recipes, 'Exposures from a stream');
my $prepared = part($stream, 'PREPARE advance', 'INSERT INTO displayed');
$query = database('stream');
$query->(part($stream, 'CREATE TABLE displayed', 'INSERT INTO stream_position')
	  . "CREATE TABLE beginning AS SELECT date_trunc('second', now()) - interval '1 day' AS at");

# The stream: batches of 100 exposures of 20 users, some of them twice in a batch or in two.
sub events
{
	my ($offsets) = @_;

	return "SELECT item_id % 20 AS user_id, item_id FROM generate_series($offsets) AS n,
		LATERAL (SELECT n - n % 3 + n / 2 % 2) AS event (item_id)";
}

for my $column ([ users => 'bigint', 'user_id' ], [ items => 'bigint', 'item_id' ],
	[ times => 'timestamptz', "(SELECT at FROM beginning) + item_id * interval '1 second'" ],
		[ sources => 'text', "'web'::text" ])
{
	my ($name, $type, $expression) = @$column;
	my $batch = events('batch * 100, batch * 100 + 99');

	$query->("CREATE FUNCTION $name(batch integer) RETURNS ${type}[] LANGUAGE sql AS \$\$
		SELECT array_agg($expression)
		FROM ($batch) AS events \$\$");
}

sub batch
{
	my ($n) = @_;

	return "EXECUTE advance ('exposures', 0, $n * 100, $n * 100 + 100);\n" . store($n);
}

sub store
{
	return "EXECUTE store (users($_[0]), items($_[0]), times($_[0]), sources($_[0]));\n";
}

my $position = sub { return $query->("SELECT next_offset FROM stream_position") };
my $filters = sub { return $query->("SELECT
	md5(string_agg(concat(user_id, items, recent), ' ' ORDER BY user_id))
	FROM displayed_seen.filters") };
my $state = sub { return join '|', $position->(), $query->('SELECT count(*) FROM displayed'),
	$filters->() };
sub complete
{
	my ($batches, $name) = @_;
	my $all = '(SELECT DISTINCT *
		FROM (' . events("0, $batches * 100 - 1") . ') AS events) AS events';

	is($query->("SELECT (SELECT count(*) FROM displayed) - (SELECT count(*) FROM $all)"), 0,
		"$name: each exposure is stored once");
	is($query->("SELECT count(*) FROM $all WHERE NOT displayed_seen.contains(user_id, item_id)"), 0,
		"$name: and is in its user's row");
}

$query->("$prepared BEGIN; " . batch(0) . 'COMMIT');
complete(1, 'a batch');

# Killed before it commits: nothing is there.  The next one continues at the stored position.
my $before = $state->();
my $killed = session('stream', "$prepared BEGIN; " . batch(1) . "SELECT pg_backend_pid();");
reached($killed);
my ($pid) = $killed->{out} =~ /^(\d+)$/m;
$query->("SELECT pg_terminate_backend($pid)");
ok($node->poll_query_until('stream', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"),
	'killed');
$killed->{in} .= "\\q\n";
$killed->{run}->finish;
is($state->(), $before, 'nothing is left of a consumer that was killed');

# The same by a crash of the server, with a batch before it that was committed and not acknowledged.
$query->("$prepared BEGIN; " . batch(1) . 'COMMIT');
$before = $state->();
my $crashed = session('stream', "$prepared BEGIN; " . batch(2));
reached($crashed);
$node->stop('immediate');
$crashed->{in} .= "\\q\n";
$crashed->{run}->finish;
$node->start;
is($state->(), $before, 'nor of one that a crash has ended');
complete(2, 'after the crash');
is($position->(), 200, 'the position of the last commit');

# A consumer that does not know the position replays all, as connectors do.
$query->("$prepared " . store(0) . store(1));
is($state->(), $before, 'a replay changes nothing, not a bit of a filter');
$query->("$prepared BEGIN; " . batch(2) . 'COMMIT');
complete(3, 'after the replay');

# Two consumers of one partition: the second one waits, and finds that it is late.
my $first = session('stream', "$prepared BEGIN; " . batch(3));
reached($first);
my $second = session('stream', "$prepared BEGIN;\n\\unset QUIET\n"
	. "EXECUTE advance ('exposures', 0, 300, 400);");
ok($node->poll_query_until('stream', "SELECT count(*) = 1 FROM pg_stat_activity
	WHERE wait_event_type = 'Lock'"), 'the second consumer waits');
$first->{in} .= "COMMIT;\n\\q\n";
$first->{run}->finish;
reached($second);
like($second->{out}, qr/^UPDATE 0$/m, 'and is told that it is late');
$second->{in} .= "ROLLBACK;\n\\q\n";
$second->{run}->finish;
complete(4, 'after two consumers');

# What the connectors write: a row that is there is updated, and no trigger for UPDATE is missing.
is($query->(q{
	INSERT INTO displayed SELECT 1, item_id, at, 'app'
		FROM beginning, unnest('{0,999}'::bigint[]) AS item_id
	ON CONFLICT (user_id, shown_at, item_id) DO UPDATE SET source = excluded.source;
	SELECT string_agg(item_id || source, ' ' ORDER BY item_id) FROM displayed
	WHERE user_id = 1 AND shown_at = (SELECT at FROM beginning)}), '0app 999app',
		'an upsert of both');
is($query->("SELECT displayed_seen.unseen(1, '{0,999,1999}')"), '{1999}', 'both are in the filter');

# Ids that users choose

my ($digest) = statements($recipes, 'Ids that users choose');
$query = database('ids');
is($query->(q{
		SELECT count(*) FROM generate_series(1, 1000) AS room, bloom_new(room) AS f
		WHERE bloom_add(f,
				'\x612066696c65207468617420616e2061747461636b657220686173206d616465'::bytea)
			@> '\xc1c0638b10d9753c2681dbcc119c9cc074746163e8b240a3686173206d616465'::bytea}),
	1000, 'these bytes have one hash');
$query->($digest);
$query->('CREATE ROLE feed; CREATE ROLE stranger; GRANT EXECUTE ON FUNCTION item_key TO feed');
is($query->("SET ROLE feed; SELECT length(item_key('a'))"), 32,
	'a role of the feed computes digests');
for my $attempt ([ feed => 'SELECT secret FROM item_secret' ],
	[ stranger => 'SELECT secret FROM item_secret' ],
	[ stranger => "SELECT item_key('a')" ])
{
	my ($role, $statement) = @$attempt;

	is(sqlstate($node, 'ids', "SET ROLE $role; $statement"), '42501', "$role: $statement");
}
isnt($query->("SELECT item_key('a')"), $query->("UPDATE item_secret SET secret = secret || 'x';
	SELECT item_key('a')"), 'another secret is another digest');

# Items that are chosen so that each sets only new bits fill a filter above its promise.
my $chosen = $query->(q{
	CREATE FUNCTION filled(OUT chosen integer, OUT layers integer, OUT fpr float8)
		LANGUAGE plpgsql AS $$
	DECLARE
		filter bloom := bloom_add(bloom_new(3650), 0);
		bits bigint := (bloom_info(filter)).bits_set;
		larger bloom;
		larger_bits bigint;
	BEGIN
		chosen := 1;
		FOR item IN 1 .. 400000 LOOP
			CONTINUE WHEN filter @> item;
			larger := bloom_add(filter, item);
			larger_bits := (bloom_info(larger)).bits_set;
			CONTINUE WHEN larger_bits < bits + 7;
			filter := larger;
			bits := larger_bits;
			chosen := chosen + 1;
		END LOOP;
		layers := (bloom_info(filter)).layers;
		fpr := bloom_fpr(filter);
	END $$;
	SELECT chosen, layers, round(100 * fpr::numeric, 1) FROM filled()});
my ($items, undef, $percent) = split /\|/, $chosen;
is($chosen, "$items|1|$percent", 'one layer');
ok($recipes =~ /\b@{[ $items =~ s{(\d{3})$}{,$1}r ]} of them.{1,150}\b$percent% instead of 1%/s,
	"as documented: $chosen");

$node->stop;
done_testing();
