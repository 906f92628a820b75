# examples/managed: filters on a server without the extension.  Nights lose nothing that is
# written beside them, no user gets an item twice, and on the day that the server has the
# extension the filters go on as they are.

use Documents;
use Server;

my $python = python();
if (!$python)
{
	plan skip_all => 'psycopg is not installed' unless $ENV{CI};
	BAIL_OUT('psycopg is not installed, which CI needs');
}

my $example = "$root/examples/managed";
my $guide = document("$root/examples/managed/README.md");
my $folder = PostgreSQL::Test::Utils::tempdir();
my ($users, $seconds) = (1200, 3);

$ENV{PYTHONPATH} = "$root/clients/python:$example";
$ENV{PYTHONDONTWRITEBYTECODE} = 1;

my $node = start_server('managed', 'autovacuum = off');
@ENV{qw(PGHOST PGPORT PGDATABASE)} = ($node->host, $node->port, 'postgres');
$ENV{PGUSER} = $node->safe_psql('postgres', 'SELECT current_user');

sub query { return $node->safe_psql('postgres', $_[0], timeout => $patience) }

# Start a program; finish() waits for it, and returns the numbers with which its lines begin.
sub begin
{
	my %program = (said => '');

	$program{run} = IPC::Run::start([ $python, @_ ], '<', \undef, '>&', \$program{said},
		IPC::Run::timeout($patience));
	return \%program;
}

sub finish
{
	my ($program) = @_;

	$program->{run}->finish;
	return numbers($program->{said});
}

sub numbers { return join ' ', $_[0] =~ /^(\d+)/mg }

# A program that executes the lines that we send it, and prints the results.
append_to_file("$folder/obey.py", <<'OBEY');
import sys
import feed, missing, nightly, psycopg

def page(user, candidates, wanted):
    with psycopg.connect(autocommit=True) as connection:
        print(feed.page(connection, user, candidates, wanted))

for line in sys.stdin:
    try:
        exec(line)
    except BaseException as error:
        print(error)
    print("done", flush=True)
OBEY
my %obey = (in => '', said => '');
$obey{run} = IPC::Run::start([ $python, "$folder/obey.py" ], '<', \$obey{in}, '>',
	\$obey{said}, '2>&1', IPC::Run::timeout(5 * $patience));

sub python_says
{
	$obey{said} = '';
	$obey{in} .= "$_[0]\n";
	$obey{run}->pump until $obey{said} =~ /^done\n/m;
	return $obey{said} =~ s/\n?done\n\z//r;
}

# The server may still be ending the session of the night before, which has the lock.
sub unlocked { $node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_locks
	WHERE locktype = 'advisory'") or die 'locked' }

# The number of filters built, that of users who failed, and who; of exposures that are missing.
sub night { unlocked(); return numbers(python_says('nightly.main()')) }
sub check { return numbers(python_says('missing.main()')) =~ s/ .*//r }
sub page { return python_says("page($_[0])") }

# Another night, in which one thing is different.
sub night_with
{
	my ($from, $to) = @_;
	my $text = slurp_file("$example/nightly.py");

	die "no $from in nightly.py" if $text !~ s/\Q$from\E/$to/;
	append_to_file("$folder/other_night.py", $text);
	return "$folder/other_night.py";
}

query(slurp_file("$example/schema.sql"));
# A table of exposures that was there before stays.
query('DROP TABLE seen');
query(slurp_file("$example/schema.sql"));
is(query("SELECT count(*) FROM pg_extension WHERE extname <> 'plpgsql'"), 0, 'no extension');

# A night, and a page that is written between its snapshot and its swap

is(night(), 0, 'a night without users');
query("INSERT INTO exposures SELECT u, i * u
	FROM generate_series(1, $users) u, generate_series(1, 20) i");
is(check(), 20 * $users, 'no filters yet');
is(night(), $users, 'a night for a table that was there before');
is(check(), 0, 'nothing is missing');

my $page = '7, [7, 14, 5001, 5002, 5003, 5001], 2';
is(page($page), '[5001, 5002]', 'a page');
is(page($page), '[5003]', 'the next');
SKIP:
{
	skip 'numpy is not installed', 1 if python_says('import numpy') ne '';
	is(page('13, numpy.array([13, 5001, 5002, 5003]), 2'), '[5001, 5002]', "numpy's candidates");
}
is(query('SELECT today FROM seen WHERE user_id = 7'), '{5001,5002,5003}', 'are in "today"');
is(night(), $users, 'a second night');
is(query('SELECT today FROM seen WHERE user_id = 7'), '{}', 'has them in the filter');
is(page($page), '[]', 'and they do not come again');

my %session = (in => '', out => '');
$session{run} = IPC::Run::start([ 'psql', '-XAtq' ], '<', \$session{in}, '>',
	\$session{out}, '2>&1', IPC::Run::timeout(3 * $patience));

# Return what a program prints that waits for a user's row, because a page was written to it that is
# not committed yet.
sub page_beside
{
	my ($item, @program) = @_;

	unlocked();
	query("WITH e AS (INSERT INTO exposures
		VALUES (7, $item)) UPDATE seen SET today = today || ${item}::bigint
		WHERE user_id = 7");
	$session{in} .= "BEGIN; WITH e AS (INSERT INTO exposures VALUES (7, $item + 1)) "
	  . "UPDATE seen SET today = today || ($item + 1)::bigint WHERE user_id = 7;\n\\echo written\n";
	$session{run}->pump until $session{out} =~ s/written\n//;
	my $running = begin(@program);
	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity
		WHERE wait_event_type = 'Lock'
		AND query LIKE '%seen%'"),
		'a program waits for a page');
	$session{in} .= "COMMIT;\n\\echo written\n";
	$session{run}->pump until $session{out} =~ s/written\n//;
	return finish($running);
}

is(page_beside(7000, '-c', 'import feed, psycopg
print(*feed.page(psycopg.connect(autocommit=True), 7, [7000, 7001, 7002], 1))'), 7002,
	'a second request of a user gets another item');
is(night(), $users, 'a night');
is(page_beside(6001, "$example/nightly.py"), $users, 'and one beside a page');
is(query('SELECT today FROM seen WHERE user_id = 7'), '{6002}',
	'what its snapshot lacks stays in "today"');
is(check(), 0, 'nothing is missing');
is(page_beside(6003, night_with('seen.today[built.kept + 1:]', "'{}'")), $users,
	'so that this can fail:');
is(check(), 1, 'a night that empties "today" loses an exposure');
is(night(), $users, 'until the next');
is(check(), 0, 'which finds it');
$session{in} .= "SELECT pg_advisory_lock(hashtext('nightly.py'));\n\\echo locked\n";
$session{run}->pump until $session{out} =~ /locked/;
is(numbers(python_says('nightly.main()')), '', 'one night at a time');
$session{in} .= "\\q\n";
$session{run}->finish;

# What is no exposure, and users whose filter cannot be built or written

query("ALTER TABLE exposures ALTER user_id DROP NOT NULL, ALTER item_id DROP NOT NULL,
	ALTER shown_at DROP NOT NULL;
	INSERT INTO exposures VALUES (NULL, 1, now()), (7, NULL, now()), (99998, NULL, now()),
		(99998, 1, NULL), (NULL, NULL, NULL)");
is(night(), $users, 'NULL is no user, no item and no time');
is(check(), 0, 'nor one that is missing');
is(query('SELECT count(*) FROM seen WHERE user_id = 99998'), 0, 'nor does it make a user');

page('14, [97001], 1');
page('15, [97002], 1');
page('16, [97003], 1');
query("ALTER TABLE seen ADD CONSTRAINT not_14 CHECK (user_id <> 14 OR today <> '{}') NOT VALID");
my $build = 'real = nightly.bloomexp.build';
python_says($build);
python_says('nightly.bloomexp.build = lambda items, fpr:'
	. ' real([None if item == 97002 else item for item in items] + ["?"] * (97002 in items), fpr)');
is(night(), $users - 2 . ' 2 15 14',
	'two users fail: one of them when the filter is built, one when it is written');
python_says('nightly.bloomexp.build = real');
is(query('SELECT string_agg(user_id::text, $$ $$ ORDER BY user_id) FROM seen
	WHERE today <> $${}$$'), '14 15', 'the others have their filters');
is(check(), 0, 'and nothing is missing');
isnt(system("$python $example/nightly.py >/dev/null 2>&1"), 0, 'which cron hears of');
query('ALTER TABLE seen DROP CONSTRAINT not_14');
is(night(), $users, 'the next night heals it');
is(query("SELECT count(*) FROM seen WHERE today <> '{}'"), 0, 'for all');
query('DELETE FROM exposures WHERE num_nulls(user_id, item_id, shown_at) > 0');

# Writers beside nights

append_to_file("$folder/writer.py", <<'WRITER');
import os, random, sys
import feed, psycopg

users, end = int(sys.argv[1]), sys.argv[2]
pages = 0
with psycopg.connect(autocommit=True) as connection:
    while not os.path.exists(end):
        feed.page(connection, random.randint(1, users), random.sample(range(1, 2000), 50), 5)
        pages or print("begun", flush=True)
        pages += 1
print(f"{pages} pages")
WRITER
# Few users have pages all the time; some are new.
my @writers = map { begin("$folder/writer.py", $_, "$folder/end") } 30, 30, $users + 50;
sub begun { $_[0]->{run}->pump until $_[0]->{said} =~ /begun/ }
begun($_) for @writers;
my ($start, @nights) = time;
push @nights, night() while time < $start + $seconds || @nights < 2;
append_to_file("$folder/end", '');
cmp_ok(finish($_), '>', 0, 'pages of a writer') for @writers;
is(scalar(grep { $_ >= $users } @nights), @nights, @nights . ' nights beside them');
is(query('SELECT count(*) - count(DISTINCT (user_id, item_id)) FROM exposures'), 0,
	'no user has got an item twice');
is(check(), 0, 'nothing is missing');

# What has become too old leaves, and so does the filter of a user who has nothing else.
query("INSERT INTO seen (user_id) VALUES (99999);
	UPDATE exposures SET shown_at = now() - interval '91 days' WHERE user_id = 8 OR user_id = 9
		AND item_id = 9");
night();
is(query('SELECT string_agg(user_id::text, $$ $$ ORDER BY user_id) FROM seen WHERE items IS NULL'),
	'8 99999', 'users without exposures have no filter');
is(check(), 0, 'nothing is missing');

# The guide: what a warehouse brings, and the day of the extension

my @warehouse = statements($guide, 'Build filters in Spark, Flink or a warehouse');
my ($mark, $load) = @warehouse;
query($mark);
# Writers have shown anything to anybody: one candidate can be a false positive, and a hundred are
# not.
my $since = page('10, [*range(9001, 9101)], 1') =~ s/\D//gr;
append_to_file("$folder/warehouse.py", (map { $_->{text} } grep { $_->{language} eq 'python'
	&& $_->{chapter} =~ /^Build filters/ } blocks($guide))[0] . <<'ROWS' =~ s{ITEM}{$since}r);

import psycopg
with psycopg.connect() as connection:
    rows = connection.execute("SELECT user_id, item_id FROM exposures"
        " WHERE (user_id, item_id) <> (10, ITEM) ORDER BY user_id").fetchall()
with open("filters.csv", "w") as file:
    file.writelines(lines(rows))
ROWS
chdir $folder;
my $program = begin("$folder/warehouse.py");
finish($program);
is($program->{said}, '', 'filters of a warehouse');
is($node->psql('postgres', $load), 0, 'are loaded');
is(check(), 0, 'and nothing is missing');
is(query('SELECT today FROM seen WHERE user_id = 10'), "{$since}", 'with a page since');

my $before = page('11, [*range(9001, 9101)], 1') =~ s/\D//gr;
cmp_ok($before, '>', 9000, 'a page before the move');
my ($move) = statements($guide, 'Move to a server with the extension');
my ($drop) = $guide =~ /`(DROP TABLE \w+)`/;
query($move);
my $lost = "SELECT count(*) FROM exposures
	WHERE shown_at > now() - interval '89 days' AND feed.contains(user_id, item_id) IS NOT TRUE";
is(query($lost), 0, 'nothing is missing in the feed');
is(query("SELECT feed.current(11) @> ${before}::bigint"), 't', 'what was in "today" is there');
my $last = page('12, [12, *range(9101, 9201)], 1') =~ s/\D//gr;
cmp_ok($last, '>', 9100, 'the old page works');
is(query("SELECT feed.current(12) @> ${last}::bigint"), 't', 'and the trigger adds');
cmp_ok(night(), '>=', $users, 'so does the old night');
query('CREATE TABLE bytes AS SELECT user_id, items::bloom FROM seen');
is(query('SELECT count(*) FROM bytes JOIN seen USING (user_id)
	WHERE bytes.items::bytea IS DISTINCT FROM seen.items'),
	0, 'the same bytes');
query($drop);
is(query("SELECT count(*) FILTER (WHERE i > 9200), count(*)
	FROM unnest(feed.take(12, ARRAY[12, $last] || ARRAY(SELECT generate_series(9201, 9300)),
		5)) AS i"),
	'5|5', 'a page of the feed');
query('CALL feed.rebuild()');
is(query($lost), 0, 'nothing is missing after a rebuild');

$obey{in} = undef;
$obey{run}->kill_kill;
$node->stop;
done_testing();
