# The schemas and feeds of real applications with a filter beside what they do today, and beside a
# hashed NOT IN: the same answer for every reader, whether exposures were rebuilt or came live, but
# for the false positives that the filter promised.  What it costs is measured by bench/pages.

use Server;

my $apps = "$root/test/integrations/apps";

my $node = start_server('apps',
	"shared_buffers = 128MB\nmax_wal_size = 1GB\nclient_min_messages = warning");

# The output of some files, run in one session.
sub run_files
{
	my ($variables, @files) = @_;
	my ($stdout, $stderr) = run_command([
		'psql', '-XqAt', '-d', $node->connstr('postgres'), '-v', 'ON_ERROR_STOP=1',
		(map { ('-v', $_) } @$variables), map { ('-f', "$apps/$_.sql") } @files ]);

	is($stderr, '', join(' ', @files) . ': no errors');
	return $stdout;
}

# Lines of check.sql: a verdict for each reader in each state.
sub check_verdicts
{
	my ($output, $app, $states, $readers) = @_;
	my %verdicts;

	for (split /\n/, $output)
	{
		my ($of, $state, $reader, @verdict) = split /\|/;
		next if !defined $of || $of ne $app;

		$verdicts{$state}++;
		is("@verdict", '0', "$app, reader $reader: no item of a page comes again"), next
		  if $state eq 'again';
		my $read = shift @verdict;
		is("@verdict", '0 t t t t',
			"$app, $state: the answer of reader $reader, who has read $read");
	}
	is($verdicts{$_}, $readers, "$app, $_: every reader was asked") for @$states;
}

run_files([ 'scale=0.01' ], 'framework');
for my $app ('lemmy', 'peertube', 'invidious', 'gorse', 'discourse')
{
	check_verdicts(run_files([ "app=$app" ], $app, 'check'), $app,
		[ 'live', 'again', 'next', 'rebuilt' ], $app eq 'discourse' ? 3 : 9);
}

# What must not come from the rows by chance: a vote alone is no exposure, an opened item neither.
for ([ 'lemmy: a vote', 'lemmy.contains(person_id::text, post_id::text)',
	'lemmy.post_actions WHERE read_at IS NULL AND person_id < 100' ],
	[ 'gorse: an item that was opened', 'gorse.contains(user_id, item_id)',
		q{gorse.feedback AS f WHERE feedback_type = 'open'
		AND NOT EXISTS (SELECT FROM gorse.feedback AS r WHERE r.user_id = f.user_id
			AND r.item_id = f.item_id
			AND r.feedback_type <> 'open')} ])
{
	my ($name, $contains, $rows) = @$_;

	is($node->safe_psql('postgres',
		"SELECT count(*) > 100, count(*) FILTER (WHERE $contains) < 0.1 * count(*)
		FROM $rows"), 't|t', "$name is no exposure");
}

# Marked as unread: the row stays, and a rebuild of this reader forgets.
my $unread = q{SELECT count(*) FILTER (WHERE lemmy.contains('8', post_id::text))
	FROM lemmy.post_actions
	WHERE person_id = 8};
my $before = $node->safe_psql('postgres', $unread);
$node->safe_psql('postgres', 'UPDATE lemmy.post_actions SET read_at = NULL WHERE person_id = 8');
is($node->safe_psql('postgres', $unread), $before, 'lemmy: marked as unread, the filter keeps it');
$node->safe_psql('postgres', q{CALL lemmy_seen.rebuild('{8}')});
is($node->safe_psql('postgres', $unread), '0', 'lemmy: rebuilt for this reader, it is forgotten');

$node->stop;
done_testing();
