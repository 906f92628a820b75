# Long operations answer a cancel soon, whenever it comes: while items are read, while
# repetitions are dropped, while bits are set or bytes are written.  A statement_timeout
# is a cancel at a known time.
#
# "Soon" is a fifth of the CPU time of the whole operation, in addition to the time of
# the timeout: a busy machine gives an operation less CPU time until then, so it never
# fails for that.  An operation that never looked for a cancel would use all.

use Server;

plan skip_all => 'this system has no /proc' unless -r '/proc/self/stat';

# When the cancel comes, as parts of the operation's whole time.
use constant PARTS => (0.05, 0.3, 0.6);
use constant SOON => 0.2;

# An operation shorter than this, in hundredths of a second, gets more items.
use constant LONG => 40;

my $node = start_server('cancel', "shared_buffers = 512MB\nmax_parallel_workers_per_gather = 0\n");

$node->safe_psql('postgres', q{
	-- The CPU time of this session's process in hundredths of a second, which other work on the
	-- machine does not change.
	CREATE FUNCTION cpu() RETURNS bigint LANGUAGE sql AS $$
		SELECT f[12]::bigint + f[13]::bigint
		FROM string_to_array(regexp_replace(pg_read_file('/proc/self/stat', 0, 1000), '.*\\) ', ''),
			' ') AS f $$;
	CREATE EXTENSION bloomexp;
	-- Decompressing the array would take longer than what is tested.
	CREATE UNLOGGED TABLE numbers (items bigint[]);
	ALTER TABLE numbers ALTER items SET STORAGE external;
	INSERT INTO numbers SELECT ARRAY(SELECT generate_series(1, 10000000));
	-- a filter of a thousand layers: each item is looked for in all of them
	CREATE UNLOGGED TABLE layered AS
	SELECT bloom_union_agg(bloom_add(bloom_new(10 + i, 0.00001), i)) AS f
		FROM generate_series(1, 1000) AS i});

# Name, number of items where there can be more, and statement.
my @operations = (
	[ 'bloom_agg', 2000000, 'SELECT bloom_agg(i)
		FROM (SELECT generate_series(1, ITEMS)::bigint) AS n (i)' ],
	[ 'bloom_window_agg', 300000,
		q{SELECT bloom_window_agg(i, '2026-01-01'::timestamptz + i * interval '1 second',
		'30 days', 6, 0.01)
		FROM (SELECT generate_series(1, ITEMS)::bigint) AS n (i)} ],
	[ 'bloom_add, many items', 0, 'SELECT bloom_add(bloom_new(10000000), items) FROM numbers' ],
	[ 'bloom_add, many layers', 200000, 'SELECT bloom_add(f, items[2000:ITEMS])
		FROM layered, numbers' ],
	[ 'bloom_exclude_array', 200000, 'SELECT items[:ITEMS] - f FROM numbers, layered' ],
	[ 'bloom_contains_each', 200000, 'SELECT bloom_contains_each(f, items[:ITEMS])
		FROM numbers, layered' ],
	[ 'bloom_exclude_first', 1000000,
		'SELECT bloom_exclude_first(items[:ITEMS], NULL, NULL) FROM numbers' ],
	[ 'bloom_exclude_array, many hashes', 1000000,
		q{SELECT bloom_exclude_array('{1}'::bigint[], NULL, items[:ITEMS]) FROM numbers} ],
	[ 'bloom_add_hashes_at', 1000000, q{SELECT bloom_add_hashes_at(bloom_window('1 day'), 'integer',
		items[:ITEMS], now(), true) FROM numbers} ],
	[ 'bloom_exclude, many filters', 200000, q{SELECT bloom_exclude('{1,2}'::int[],
		VARIADIC array_fill(bloom_window('1 day'), ARRAY[ITEMS]))} ],
	[ 'bloom_new', 0, 'SELECT bloom_new(200000000)' ],
	[ 'bloom_union', 0, 'SELECT ' . join ' | ',
		map { "bloom_add(bloom_new(50000000), $_)" } 1 .. 4 ],
	[ 'text form', 0, 'SELECT bloom_in(bloom_out(bloom_in(bloom_out(bloom_new(60000000)))))' ]);

# Run a statement.  Returns the CPU time that it took, in hundredths of a second, and its SQLSTATE.
# It is cancelled after a given number of hundredths of elapsed time, or never if that is 0.
sub run_for
{
	my ($query, $hundredths) = @_;

	$node->psql('postgres', qq{
		SELECT cpu();
		SET statement_timeout = @{[ 10 * $hundredths ]};
		DO \$\$ BEGIN PERFORM * FROM ($query) AS q; END \$\$;
		RESET statement_timeout;
		\\echo :LAST_ERROR_SQLSTATE
		SELECT cpu()}, stdout => \my $stdout, on_error_stop => 0, on_error_die => 0);

	my ($before, $state, $after) = split /\n/, $stdout;
	return ($after - $before, $state);
}

for my $operation (@operations)
{
	my ($name, $items, $statement) = @$operation;
	my ($query, $whole);

	for (;; $items *= 2)
	{
		$query = $statement =~ s/ITEMS/$items/gr;
		($whole) = run_for($query, 0);
		last if $whole >= LONG || !$items;
	}
	my ($cancelled, @late) = 0;
	for my $timeout (map { int($_ * $whole) || 1 } PARTS)
	{
		my ($took, $state);

		# Two more hundredths are for the ticks of the clock at both ends.  What else the machine
		# does can make one try late, and the whole operation longer, and not three.
		for (1 .. 3)
		{
			($took, $state) = run_for($query, $timeout);
			note "$took after $timeout of $whole";
			last if $took - $timeout <= SOON * $whole + 2;
			my ($longer) = run_for($query, 0);
			$whole = $longer if $longer > $whole;
		}
		push @late, "$took hundredths of a second of $whole, cancelled after $timeout"
		  if $took - $timeout > SOON * $whole + 2;
		$cancelled += $state eq '57014';
	}
	note $name;
	is("@late", '', "$name, $items items: cancelled soon");
	cmp_ok($cancelled, '>', 0, "$name: it was cancelled");
}

# An item that is NULL takes a bit in its array, and no memory beside it.
for my $call ('bloom_contains_each(NULL, items)',
	q{bloom_add_at(bloom_window('1 day'), items, array_fill(NULL::timestamptz, '{30000000}'))})
{
	my ($before, $after) = split /\n/, $node->safe_psql('postgres', qq{
		CREATE FUNCTION pg_temp.peak() RETURNS int LANGUAGE sql AS
			'SELECT (regexp_match(pg_read_file(''/proc/self/status''),
				''VmHWM:\\s+(\\d+)''))[1]::int / 1024';
		DO 'BEGIN PERFORM bloom_contains_each(NULL, ARRAY[1]); END';
		SELECT pg_temp.peak();
		DO \$\$ BEGIN PERFORM $call
			FROM (SELECT array_fill(NULL::bigint, '{30000000}') AS items OFFSET 0) AS nulls;
			END \$\$;
		SELECT pg_temp.peak()});

	cmp_ok($after - $before, '<', 60, "$call: memory for 30 million NULLs");
}

$node->stop;
done_testing();
