# Long operations answer a cancel within a second, whenever it comes: while items
# are read, while repetitions are dropped, while bits are set or bytes are written.
# A statement_timeout is a cancel at a known time.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

use constant LATE => 1;			# seconds

my $node = PostgreSQL::Test::Cluster->new('cancel');
$node->init(extra => ['--no-locale']);
$node->append_conf('postgresql.conf', "fsync = off\nshared_buffers = 512MB\njit = off\n");
$node->start;

$node->safe_psql('postgres', q{
	CREATE EXTENSION bloomexp;
	CREATE UNLOGGED TABLE large AS
	SELECT bloom_add(bloom_new(100000000), ARRAY(SELECT generate_series(1, 1000000)::bigint)) AS f;
	CREATE UNLOGGED TABLE numbers AS
	SELECT ARRAY(SELECT generate_series(1, 15000000)::bigint) AS items;
	-- a filter of thousands of layers: each item is looked for in all of them
	CREATE UNLOGGED TABLE layered AS
	SELECT bloom_union_agg(bloom_add(bloom_new(10 + i, 0.00001), i)) AS f FROM generate_series(1, 1000) AS i});

my @operations = (
	'bloom_agg' => 'SELECT bloom_agg(i) FROM (SELECT generate_series(1, 15000000)::bigint) AS n (i)',
	'bloom_window_agg' => q{SELECT bloom_window_agg(i, '2026-01-01'::timestamptz + i * interval '1 second', '30 days', 6, 0.01)
		FROM (SELECT generate_series(1, 2000000)::bigint) AS n (i)},
	'bloom_add, many items' => 'SELECT bloom_add(bloom_new(15000000), items) FROM numbers',
	'bloom_add, many layers' => 'SELECT bloom_add(f, items[2000:200000]) FROM layered, numbers',
	'bloom_exclude_array' => 'SELECT items[:300000] - f FROM numbers, layered',
	'bloom_contains_each' => 'SELECT bloom_contains_each(f, items[:300000]) FROM numbers, layered',
	'bloom_union' => 'SELECT f | bloom_add(f, -1) | bloom_add(f, -2) FROM large',
	'text form' => 'SELECT bloom_in(bloom_out(bloom_in(bloom_out(f)))) FROM large');

while (my ($name, $query) = splice @operations, 0, 2)
{
	my $whole = run_for($query, 60_000);
	my ($late, $cancelled) = (0, 0);

	for my $part (0.3, 0.7, 0.95)
	{
		my $timeout = 0.001 + $part * ($whole > 6 ? 6 : $whole);
		my ($took, $was_cancelled) = run_for($query, int(1000 * $timeout) + 1);

		$cancelled += $was_cancelled;
		$late = $took - $timeout if $was_cancelled && $took - $timeout > $late;
	}
	cmp_ok($cancelled, '>', 0, "$name can be cancelled");
	cmp_ok($late, '<', LATE, sprintf '%s is cancelled in time: %.1f s of %.1f', $name, $late, $whole);
}

# Seconds that a query took, and whether it was cancelled, after so many milliseconds.
sub run_for
{
	my ($query, $timeout) = @_;
	my $start = time;
	my $status = $node->psql('postgres', "SET statement_timeout = $timeout; DO \$\$ BEGIN PERFORM * FROM ($query) AS q; END \$\$",
		stderr => \my $stderr, on_error_die => 0);
	my $took = time - $start;

	die "$query: $stderr" if $status != 0 && $stderr !~ /canceling statement due to statement timeout/;
	return wantarray ? ($took, $status != 0) : $took;
}

done_testing;
