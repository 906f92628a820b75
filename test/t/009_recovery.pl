# Filters outlive their server:
#
#	1. a streaming standby answers as its primary does, and takes adds once promoted;
#	2. after an immediate shutdown every committed add is there, and no other.

use Documents qw(sqlstate);
use Server;

require "$root/test/lib/samples.pl";

# A standby.  It is there before the filters are, so that they come as WAL.

my $primary = start_server('primary', '', allows_streaming => 1);
my $standby = start_standby($primary, 'standby');

sub same
{
	my ($name) = @_;

	$primary->wait_for_catchup($standby);
	my $answers = samples::answers($primary, 'postgres');
	is(samples::answers($standby, 'postgres'), $answers, "standby answers as the primary: $name");
	return $answers;
}

samples::create($primary, 'postgres');
samples::create_feeds($primary, 'postgres');
my $before = same('new filters');
my @lines = split /\n/, $before;
is(scalar(@lines), 10, 'one line a filter');
for my $line (@lines)
{
	my ($user, $note) = split /\|/, $line;
	my ($contained) = $line =~ /contained (\d+) of 2000/;

	# 1,000 candidates are even; a false positive rate of 1% is about 10 of the odd ones
	my $exposed = $note eq 'small' ? 300 : $note =~ /^(empty|none)$/ ? 0 : $note =~ /^(uuid|bytea)$/
	  ? 500 : 1000;
	cmp_ok($contained, '>=', $exposed, "$note: what was exposed is contained");
	cmp_ok($contained, '<=', $exposed ? $exposed + 60 : 0, "$note: and little else");
}
is($standby->safe_psql('postgres', q{SELECT string_agg(note, ' ' ORDER BY user_id) FROM seen
	WHERE octet_length(items::bytea) > 8192}),
	'large window counting text', 'filters that are stored out of line');

is(samples::containing($standby, 'postgres', 901), '', '901 is new to each filter');
$primary->safe_psql('postgres', samples::add("'{901,902,903}'::bigint[]", 1, 2, 3, 77)
	. samples::change_others());
isnt(same('filters that were added to'), $before, 'filters have changed');
is(samples::containing($standby, 'postgres', 901), '1 2 3 4 5 6 77',
	'the standby knows what was added, also for a new user');
is($standby->safe_psql('postgres', q{SELECT bloom_add(items, 905) @> 905 FROM seen
	WHERE user_id = 3}), 't', 'a standby can add if it does not write');

# Feeds answer there, too.
$primary->safe_psql('postgres', q{INSERT INTO exposures VALUES (1, 901), (2, 901),
	(2, 902); CALL untracked.rebuild(); INSERT INTO exposures VALUES (3, 901)});
$primary->wait_for_catchup($standby);
is(samples::shown($standby, 'postgres', 901),
	'feed 1, feed 2, feed 3, untracked 1, untracked 2, untracked 3',
	'feeds answer on a standby');
is($standby->safe_psql('postgres', q{SELECT feed.current(2) @> 902, untracked.current(2) @> 902,
	users, untracked
	FROM feed.health}), 't|t|3|0', 'with their other functions');
like($standby->safe_psql('postgres', 'CALL feed.rebuild(dry_run => true)'), qr/^4\|3\|\d+\|0$/,
	'and tell what a rebuild would do');

# A standby refuses to write.
for my $statement (
	samples::add("'{5}'::bigint[]", 1),
	'UPDATE seen SET items = bloom_add(items, 5) WHERE user_id = 1',
	'INSERT INTO exposures VALUES (1, 5)',
	"SELECT feed.take(1, '{5}')",
	"SELECT untracked.take(1, '{5}')",
	'SELECT untracked.lock(1)',
	'CALL feed.rebuild()')
{
	is(sqlstate($standby, 'postgres', $statement), '25006', 'read-only: '
		. substr($statement, 0, 30));
}

$standby->promote;
$standby->safe_psql('postgres', samples::add("'{907}'::bigint[]", 1, 3)
	. 'INSERT INTO exposures VALUES (2, 907), (78, 907)');
is(samples::containing($standby, 'postgres', 907), '1 3', 'the promoted standby takes adds');
is(samples::shown($standby, 'postgres', 907), 'feed 2, feed 78, untracked 2, untracked 78',
	'and exposures');
is(samples::containing($primary, 'postgres', 907), '', 'of which the old primary knows nothing');
like($standby->safe_psql('postgres', 'CALL feed.rebuild()'), qr/^6\|4\|\d+\|0$/,
	'and rebuilds its filters');
is(samples::shown($standby, 'postgres', 901),
	'feed 1, feed 2, feed 3, untracked 1, untracked 2, untracked 3',
	'which have what came from the primary');
$standby->stop;

# A crash.  Half of the filters are written after the last checkpoint; and what was not
# committed is on the disk, too.

$primary->safe_psql('postgres', 'CHECKPOINT; ' . samples::add("'{911}'::bigint[]", 1, 2, 3, 79));
my ($in, $out) = ("BEGIN;\n" . samples::add("'{913}'::bigint[]", 1, 3, 80)
	. samples::change_others()
	. "SELECT 'added';\n", '');
$in = "INSERT INTO exposures VALUES (5, 911);\n"
	. $in =~ s/SELECT 'added'/WITH inserted AS (INSERT INTO exposures VALUES (5, 913)
		RETURNING 1) $& FROM inserted/r;
my $session = IPC::Run::start([ 'psql', '-XAtq', '-d', $primary->connstr('postgres') ],
	'<', \$in, '>', \$out, '2>&1', IPC::Run::timeout(10 * $patience));
$session->pump until $out =~ /added/;
$primary->safe_psql('postgres', 'CHECKPOINT; ' . samples::add("'{917}'::bigint[]", 2, 79));
my $committed = samples::answers($primary, 'postgres');
$primary->stop('immediate');
$session->finish;
$primary->start;

is(samples::answers($primary, 'postgres'), $committed,
	'after a crash: what was committed, byte for byte');
is(samples::containing($primary, 'postgres', 911), '1 2 3 79', 'added before the checkpoint');
is(samples::containing($primary, 'postgres', 917), '2 79', 'added after the checkpoint');
is(samples::containing($primary, 'postgres', 913), '', 'not committed');
$primary->safe_psql('postgres', samples::add("'{913}'::bigint[]", 1, 3, 80)
	. samples::change_others());
is(samples::containing($primary, 'postgres', 913), '1 3 80', 'adds go on');
is(samples::shown($primary, 'postgres', 911) . '; ' . samples::shown($primary, 'postgres', 913),
	'feed 5, untracked 5; ', 'feeds have the exposures that were committed, and no other');
$primary->stop;

done_testing();
