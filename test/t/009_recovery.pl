# Filters outlive their server:
#
#	1. a streaming standby answers as its primary does, and takes adds once promoted;
#	2. after an immediate shutdown every committed add is there, and no other.

use strict;
use warnings;

use FindBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $samples = "$FindBin::RealBin/../lib/samples.pl";
require $samples;

my $patience = $PostgreSQL::Test::Utils::timeout_default || 180;

#
# A standby.  It is there before the filters are, so that they come as WAL.
#

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, extra => [ '--encoding', 'UTF8', '--no-locale' ]);
$primary->start;
$primary->backup('empty', backup_options => [ '--checkpoint', 'fast' ]);

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'empty', has_streaming => 1);
$standby->start;

sub same
{
	my ($name) = @_;

	$primary->wait_for_catchup($standby);
	my $answers = samples::answers($primary, 'postgres');
	is(samples::answers($standby, 'postgres'), $answers, "standby answers as the primary: $name");
	return $answers;
}

samples::create($primary, 'postgres');
my $before = same('new filters');
my @lines = split /\n/, $before;
is(scalar(@lines), 10, 'one line a filter');
for my $line (@lines)
{
	my ($user, $note) = split /\|/, $line;
	my ($contained) = $line =~ /contained (\d+) of 2000/;

	# 1,000 candidates are even; a false positive rate of 1% is about 10 of the odd ones
	my $exposed = $note eq 'small' ? 300 : $note =~ /^(empty|none)$/ ? 0 : $note =~ /^(uuid|bytea)$/ ? 500 : 1000;
	cmp_ok($contained, '>=', $exposed, "$note: what was exposed is contained");
	cmp_ok($contained, '<=', $exposed ? $exposed + 60 : 0, "$note: and little else");
}
is($standby->safe_psql('postgres', q{SELECT string_agg(note, ' ' ORDER BY user_id) FROM seen WHERE octet_length(items::bytea) > 8192}),
	'large window counting text', 'filters that are stored out of line');

is(samples::containing($standby, 'postgres', 901), '', '901 is new to each filter');
$primary->safe_psql('postgres', samples::add("'{901,902,903}'::bigint[]", 1, 2, 3, 77) . samples::change_others());
isnt(same('filters that were added to'), $before, 'filters have changed');
is(samples::containing($standby, 'postgres', 901), '1 2 3 4 5 6 77', 'the standby knows what was added, also for a new user');
is($standby->safe_psql('postgres', q{SELECT bloom_add(items, 905) @> 905 FROM seen WHERE user_id = 3}),
	't', 'a standby can add if it does not write');

my ($status, $out, $error) = $standby->psql('postgres',
	"CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at', dry_run => true)");
like($error, qr/NOTICE:  dry run: 0 exposures of 0 users/, 'and tell what a rebuild would do');

# A standby refuses to write, in words that tell why.
for my $statement (
	samples::add("'{5}'::bigint[]", 1),
	'UPDATE seen SET items = bloom_add(items, 5) WHERE user_id = 1',
	'INSERT INTO exposures VALUES (1, 5)',
	"CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at')")
{
	($status, $out, $error) = $standby->psql('postgres', $statement);
	like($error, qr/^psql:<stdin>:\d+: ERROR:  cannot execute .* in a read-only transaction/, 'read-only: ' . substr($statement, 0, 30));
}

$standby->promote;
$standby->safe_psql('postgres', samples::add("'{907}'::bigint[]", 1, 3) . 'INSERT INTO exposures VALUES (2, 907), (78, 907)');
is(samples::containing($standby, 'postgres', 907), '1 2 3 78', 'the promoted standby takes adds');
is(samples::containing($primary, 'postgres', 907), '', 'of which the old primary knows nothing');
$standby->safe_psql('postgres', "CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at')");
is($standby->safe_psql('postgres', 'SELECT count(*), count(*) FILTER (WHERE items @> 907) FROM seen WHERE items IS NOT NULL'),
	'2|2', 'and rebuilds its filters');
$standby->stop;

#
# A crash.  Half of the filters are written after the last checkpoint; and what was not
# committed is on the disk, too.
#

$primary->safe_psql('postgres', 'CHECKPOINT; ' . samples::add("'{911}'::bigint[]", 1, 2, 3, 79));
(my $in, $out) = ("BEGIN;\n" . samples::add("'{913}'::bigint[]", 1, 3, 80) . samples::change_others() . "SELECT 'added';\n", '');
my $session = IPC::Run::start([ 'psql', '-XAtq', '-d', $primary->connstr('postgres') ],
	'<', \$in, '>', \$out, '2>&1', IPC::Run::timeout($patience));
$session->pump until $out =~ /added/;
$primary->safe_psql('postgres', 'CHECKPOINT; ' . samples::add("'{917}'::bigint[]", 2, 79));
my $committed = samples::answers($primary, 'postgres');
$primary->stop('immediate');
$session->finish;
$primary->start;

is(samples::answers($primary, 'postgres'), $committed, 'after a crash: what was committed, byte for byte');
is(samples::containing($primary, 'postgres', 911), '1 2 3 79', 'added before the checkpoint');
is(samples::containing($primary, 'postgres', 917), '2 79', 'added after the checkpoint');
is(samples::containing($primary, 'postgres', 913), '', 'not committed');
$primary->safe_psql('postgres', samples::add("'{913}'::bigint[]", 1, 3, 80) . samples::change_others());
is(samples::containing($primary, 'postgres', 913), '1 3 80', 'adds go on');
$primary->stop;

done_testing();
