# No order of items makes an add slow.  (Somebody who chooses ids knows their hashes, and so can
# choose the order in which the hashes reach the sort.)

use Server;

use constant ITEMS => 100000;

# The ranks of hashes in orders that are hard for some quicksort, and in none.
my %ranks = (
	ascending => [ 0 .. ITEMS - 1 ],
	'organ pipe' => [ grep({ $_ % 2 == 0 } 0 .. ITEMS - 1),
		reverse grep { $_ % 2 } 0 .. ITEMS - 1 ],
	# Musser, "Introspective sorting and selection algorithms", 1997
	'median of three' => [ map({ $_ % 2 ? ITEMS / 2 + $_ - 1 : $_ } 0 .. ITEMS / 2 - 1),
		map { 2 * $_ + 1 } 0 .. ITEMS / 2 - 1 ],
	"PostgreSQL's qsort" => against_qsort(ITEMS));

# What "A killer adversary for quicksort" (McIlroy, 1999) finds against qsort(): the median of three
# medians of three is nearly the least of all, again and again, and no part looks sorted.
sub against_qsort
{
	my ($n) = @_;
	my @places = 0 .. $n - 1;	# where each was that the sort has brought here
	my (@ranks, $rank);

	for (my $start = 0; $n - $start > 40; $start += 5)
	{
		my $step = int(($n - $start) / 8);
		my $middle = $start + int(($n - $start) / 2);
		my @low = ($start + 1, $start + $step, $start + 2 * $step, $middle + $step, $middle);

		$ranks[ $places[$_] ] = $rank++ for @low;
		# the last one is the pivot, and those below it go to the left
		@places[ $start, $middle ] = @places[ $middle, $start ];
		for my $left (2 .. 4)
		{
			@places[ $start + $left, $low[-$left] ] = @places[ $low[-$left], $start + $left ];
		}
	}
	$_ //= $rank++ for @ranks[ 0 .. $n - 1 ];
	return \@ranks;
}

my $node = start_server('orders');
my $items = ITEMS;
$node->safe_psql('postgres', qq{
	CREATE EXTENSION bloomexp;
	CREATE TABLE sorted AS SELECT id, row_number() OVER (ORDER BY hash < 0, hash) - 1 AS rank
	FROM generate_series(1::bigint, $items) AS id, unnest(bloom_hashes(ARRAY[id])) AS hash;
	CREATE TABLE orders AS SELECT 'none' AS name,
		ARRAY(SELECT generate_series(1::bigint, $items)) AS items;
	CREATE FUNCTION ms(call text, items bigint[]) RETURNS float8 LANGUAGE plpgsql AS \$\$
	DECLARE
		start timestamptz := clock_timestamp();
	BEGIN
		EXECUTE 'SELECT ' || call USING items;
		RETURN 1000 * extract(epoch FROM clock_timestamp() - start);
	END \$\$;
} . join '', map { "INSERT INTO orders SELECT \$\$$_\$\$, array_agg(id ORDER BY nth)
	FROM unnest('{" . join(',', @{ $ranks{$_} }) . "}'::int[]) WITH ORDINALITY AS r (rank, nth)
		JOIN sorted USING (rank);\n" } keys %ranks);
is($node->safe_psql('postgres', "SELECT count(DISTINCT item) FROM orders, unnest(items) AS item
	GROUP BY name"), join("\n", ($items) x (1 + keys %ranks)), 'each order has all items');

# The least of five is a time that other work on the machine has not changed.
for my $call ("bloom_add_at(bloom_window('1 day'), \$1, array_fill(now(), '{$items}'))",
	"bloom_window_agg(item, now(), '1 day', 6, 0.01) FROM unnest(\$1) AS item")
{
	my %ms = map { split /\|/ } split /\n/, $node->safe_psql('postgres', "
		SELECT name, min(ms(\$call\$$call\$call\$, items))
		FROM generate_series(1, 5) AS round, orders GROUP BY name");

	cmp_ok($ms{$_}, '<', 4 * $ms{none}, "$_: " . $call =~ s/\(.*//r) for sort keys %ranks;
}

$node->stop;
done_testing();
