# A table of filters goes from one column to two and back while many sessions take, by the
# transactions of doc/storage.md: no item is served twice, and readers who ask both
# columns let no exposure through.  Without the UPDATE there, or the lock, items are.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../lib";
use Documents;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $patience = $PostgreSQL::Test::Utils::timeout_default || 180;
my $seconds = $ENV{BLOOMEXP_LONG} ? 60 : 6;

my @blocks = statements(document("$FindBin::RealBin/../../doc/storage.md"), 'Reduce WAL with a live column');
my ($to_two, $to_one) = map { /^(BEGIN;.*?^COMMIT;)$/ms ? $1 : () } @blocks;

my $node = PostgreSQL::Test::Cluster->new('columns');
$node->init;
$node->append_conf('postgresql.conf', 'fsync = off');
$node->start;

sub query { return $node->safe_psql('postgres', $_[0]) }

# What the statements say, or nothing if they were done.
sub complaint
{
	my (undef, undef, $stderr) = $node->psql('postgres', $_[0]);

	return $stderr;
}

query("CREATE EXTENSION bloomexp; CREATE TABLE log (user_id bigint, item_id bigint)");

sub start_again
{
	query(q{
		SET client_min_messages = warning;
		DROP TABLE IF EXISTS exposures, seen;
		TRUNCATE log;
		CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
		CREATE INDEX ON exposures (user_id, shown_at, item_id);
		CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom, today bloom) WITH (fillfactor = 70);});
	query($to_one =~ s/^LOCK.*\n|^UPDATE.*\n//mgr);
}

# Some clients show what they take, in one statement; others remember it by the filter alone.
my @scripts;
for my $script (
	"INSERT INTO exposures SELECT :user, item_id FROM unnest(bloom_take('seen', :user, ARRAY(SELECT generate_series(:first::bigint, :first + 300)), 5)) AS item_id;",
	"INSERT INTO log SELECT 100 + :user, unnest(bloom_take('seen', 100 + :user, ARRAY(SELECT generate_series(1::bigint, 3000)), 5));")
{
	push @scripts, '-f', $node->basedir . '/' . @scripts . '.sql';
	append_to_file($scripts[-1], "\\set user random(1, 20)\n\\set first random(1, 20000)\n$script\n");
}

# Changes while eight clients take; returns the number of changes, and of items that were served twice.
sub to_and_fro
{
	my (@ways) = @_;
	my $changes = 0;
	my $exposed = 0;

	start_again();
	my $clients = IPC::Run::start([ 'pgbench', '-n', '-c', '8', '-j', '2', '-M', 'prepared', '-T', $seconds, @scripts,
			$node->connstr('postgres') ], '<', \undef, '>', \my $out, '2>&1', IPC::Run::timeout($patience));
	for (my $end = time + $seconds - 1; time < $end; sleep 0.02)
	{
		my $complaint = complaint($ways[ $changes % 2 ]);

		like($complaint, qr/^$|lock timeout/, 'a change is done, or is to be repeated');
		$changes++ if $complaint eq '';
		$exposed += query(q{SELECT count(*) FROM seen AS f, LATERAL (SELECT array_agg(item_id) AS items FROM exposures AS v WHERE v.user_id = f.user_id) AS v
			WHERE v.items - f.items - f.today <> '{}'});
	}
	$clients->finish;
	unlike($out, qr/ERROR|FATAL|aborted/, 'clients without an error');
	is($exposed, 0, 'who asks both columns lets nothing through');
	return ($changes, query('SELECT count(*) - count(DISTINCT (user_id, item_id)) FROM (SELECT user_id, item_id FROM exposures UNION ALL TABLE log) AS served'));
}

my ($changes, $twice) = to_and_fro($to_two, $to_one);
cmp_ok($changes, '>=', 2, "there and back, $changes changes");
is($twice, 0, 'nothing was served twice');

# So that this can fail.
($changes, $twice) = to_and_fro($to_two, $to_one =~ s/^UPDATE.*\n//mr);
cmp_ok($twice, '>', 0, "without the UPDATE items are served twice, in $changes changes");

# Of two triggers that differ bloom_take() says so; hence one transaction.
start_again();
query($to_one =~ s/TRIGGER track AFTER INSERT/TRIGGER track_again AFTER UPDATE/r);
query($to_two);
like(complaint("SELECT bloom_take('seen', 1, '{1}'::bigint[])"), qr/define the filters differently/, 'triggers that differ');

# A call that knows the old definition goes first.
start_again();
my %taker = (in => "BEGIN; SELECT bloom_take('seen', 1, '{1}'::bigint[]);\n\\echo taken\n", out => '');
$taker{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ],
	'<', \$taker{in}, '>', \$taker{out}, '2>&1', IPC::Run::timeout($patience));
$taker{run}->pump until $taker{out} =~ /taken/;
like(complaint($to_two), qr/lock timeout/, 'a change waits for who takes');
is(complaint($to_two =~ s/^LOCK.*\n//mr), '', 'without the lock it would not');
$taker{in} .= "COMMIT;\n\\q\n";
$taker{run}->finish;

# Windows: the live filter is emptied by a rebuild that names it.
start_again();
my ($windowed_two, $windowed_one) = map { s/'time=shown_at'/'time=shown_at', 'slices=6'/r } $to_two, $to_one;
my $rebuild = 'SET client_min_messages = warning; CALL bloom_rebuild';
query("$windowed_two INSERT INTO exposures VALUES (1, 1)");
query("$rebuild('seen')");
query('INSERT INTO exposures VALUES (1, 2)');
like(complaint($windowed_one), qr/windowed filter cannot be united/, 'a windowed filter cannot be united');
query($windowed_one =~ s/^UPDATE.*\n//mr);
query("$rebuild('seen', live_column => 'today')");
is(query("SELECT items @> 2, today IS NULL FROM seen"), 't|t', 'but rebuilt');

$node->stop;
done_testing();
