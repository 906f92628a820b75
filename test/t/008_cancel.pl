# Long operations answer a cancel soon, whenever it comes: while items are read,
# while repetitions are dropped, while bits are set or bytes are written.  A
# statement_timeout is a cancel at a known time.
#
# "Soon" is the time that PostgreSQL itself takes for a fixed statement, measured
# beside each operation: about half a second on a machine of 2 GHz.  A slow or busy
# machine needs longer for both.  An operation that never looked for a cancel
# would be several times too late.  How long an operation is beside it depends on how
# both were compiled, so one that is too short gets more items.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant YARDSTICK => 'SELECT sum(i) FROM generate_series(1, 4000000) AS n (i)';

# An operation shorter than this, in yardsticks, proves nothing.
use constant LONG => 2;

# When the cancel comes, as parts of the operation's whole time.
use constant PARTS => (0.3, 0.6, 0.9);

# Something else may keep the machine busy for a moment, so the best try counts.
use constant TRIES => 5;

my $node = PostgreSQL::Test::Cluster->new('cancel');
$node->init(extra => ['--no-locale']);
$node->append_conf('postgresql.conf', "fsync = off\nshared_buffers = 512MB\njit = off\n");
$node->start;

$node->safe_psql('postgres', q{
	CREATE EXTENSION bloomexp;
	CREATE UNLOGGED TABLE large AS
	SELECT bloom_add(bloom_new(120000000), ARRAY(SELECT generate_series(1, 1000000)::bigint)) AS f;
	CREATE UNLOGGED TABLE numbers AS
	SELECT ARRAY(SELECT generate_series(1, 20000000)::bigint) AS items;
	-- a filter of a thousand layers: each item is looked for in all of them
	CREATE UNLOGGED TABLE layered AS
	SELECT bloom_union_agg(bloom_add(bloom_new(10 + i, 0.00001), i)) AS f FROM generate_series(1, 1000) AS i});

# Name, number of items where there can be more, and statement.
my @operations = (
	[ 'bloom_agg', 15000000, 'SELECT bloom_agg(i) FROM (SELECT generate_series(1, ITEMS)::bigint) AS n (i)' ],
	[ 'bloom_window_agg', 2000000, q{SELECT bloom_window_agg(i, '2026-01-01'::timestamptz + i * interval '1 second', '30 days', 6, 0.01)
		FROM (SELECT generate_series(1, ITEMS)::bigint) AS n (i)} ],
	[ 'bloom_add, many items', undef, 'SELECT bloom_add(bloom_new(20000000), items) FROM numbers' ],
	[ 'bloom_add, many layers', 400000, 'SELECT bloom_add(f, items[2000:ITEMS]) FROM layered, numbers' ],
	[ 'bloom_exclude_array', 450000, 'SELECT items[:ITEMS] - f FROM numbers, layered' ],
	[ 'bloom_contains_each', 450000, 'SELECT bloom_contains_each(f, items[:ITEMS]) FROM numbers, layered' ],
	[ 'bloom_union', undef, 'SELECT f | bloom_add(f, -1) | bloom_add(f, -2) FROM large' ],
	[ 'text form', undef, 'SELECT bloom_in(bloom_out(bloom_in(bloom_out(f)))) FROM large' ]);

for my $operation (@operations)
{
	my $complaint;

	for my $try (1 .. TRIES)
	{
		$complaint = complaint($operation) or last;
		note "$operation->[0], try $try: $complaint";
	}
	is($complaint, undef, "$operation->[0] is cancelled soon");
}

# What is wrong with how an operation is cancelled; undef if nothing is.
sub complaint
{
	my ($operation) = @_;
	my (undef, $items, $statement) = @$operation;
	my $query = $statement =~ s/ITEMS/$items/r;
	my ($soon) = run_for(YARDSTICK, 0);
	my ($whole) = run_for($query, 0);
	my $cancelled = 0;

	if ($whole < LONG * $soon)
	{
		$operation->[1] *= 2 if $items;
		return sprintf 'it takes %.2f s, which is not long beside %.2f', $whole, $soon;
	}

	for my $part (PARTS)
	{
		my $timeout = $part * $whole;
		my ($took, $was_cancelled) = run_for($query, $timeout);

		next unless $was_cancelled;
		$cancelled++;
		return sprintf 'it ends %.2f s after a cancel at %.2f of %.2f; soon is %.2f',
		  $took - $timeout, $timeout, $whole, $soon
		  if $took - $timeout > $soon;
	}
	return $cancelled ? undef : 'it ended before each cancel';
}

# Seconds that a statement took, as psql tells them, and whether it was cancelled,
# which it is after so many seconds; after 0 it is not.
sub run_for
{
	my ($query, $seconds) = @_;
	my $timeout = $seconds && int(1000 * $seconds) + 1;

	$node->psql('postgres', qq{
		SET statement_timeout = $timeout;
		\\timing on
		DO \$\$ BEGIN PERFORM * FROM ($query) AS q; END \$\$;},
		stdout => \my $stdout, stderr => \my $stderr, on_error_stop => 0, on_error_die => 0);

	my $cancelled = $stderr =~ /canceling statement due to statement timeout/;
	my ($time) = $stdout =~ /^Time: ([0-9.]+) ms/m;
	die "$query: $stdout$stderr" unless $time && ($cancelled || $stderr eq '');
	return ($time / 1000, $cancelled);
}

done_testing();
