# The false positive rate is the promised one: for every size, kind of key and
# way in which a filter came to be.
#
# What is measured.  A cell is a family of keys, a number of items n and a
# promised rate p.  It has R filters of n items each, and each filter is asked for
# C keys of its family that were never added; H of the R C answers are false
# positives.  The bits of a filter are random, so its own rate (phi, the share of
# bits set to the power of k; bloom_fpr()) differs from the next filter's, and the
# false positives of one filter hang together: the error of H / (R C) is not that
# of R C independent answers.  So the question is cut in two:
#
#	1. Given its bits, does a filter err at the rate that they allow?  Then H is a
#	   sum of independent 0s and 1s with mean M = C (phi_1 + ... + phi_R), and by
#	   Bernstein's inequality it leaves M +- margin(M) with a chance of at most
#	   2 ALPHA, where margin(M) = L / 3 + sqrt(L^2 / 9 + 2 M L), L = ln(1 / ALPHA).
#	   Probes that do not behave like independent ones fail here.
#	2. Do the bits allow the rate that bloom_sizing() expects?  The mean of the phi
#	   is normal around it, with their own deviation / sqrt(R); Z such errors are
#	   allowed.  Layers that are too short, or too long, fail here.
#
# Both are tested from both sides, since a rate far below p is a waste of bytes.
# And the promise itself: H is at most R C p, plus margin(R C p) and Z errors of the
# mean of the phi.  All families of one n and p together are one more cell.
#
# False alarms.  ALPHA is 1e-10 and Z is 6.8 (a normal variable goes there with a
# chance of 1e-11; that leaves a factor of ten for the skewness of the phi).  With
# fewer than 2,500 comparisons a correct filter fails with a chance below 1e-6.
# Keys are the same in every run, so a run that passed will pass again.
#
# The same candidates are asked of several filters.  Candidates differ a little in
# how easily they err (two of their probes may fall into one place), which widens
# H; at the sizes chosen here by less than a tenth of its margin.
#
# Power.  A rate 1.25 times too high moves H by M / 4; to see that with a chance of 99% takes M / 4
# > margin(M) + 2.33 sqrt(1.25 M), which is M > 1,480.  At n = 10 and p = 0.01% that is 3.2e7
# probes, as filters of 10 items are made for half of p (they are to grow).  So many are made there
# for each family.  A rate twice as high moves H by M, which is seen in 99 of 100 runs from M = 130
# on; cells are made for 500 to 3,500 at the promised rate.  Plain double hashing errs many times
# too often at n = 10, the textbook m by a tenth to a third.
#
# BLOOMEXP_LONG=1 makes ten times as many filters and candidates.

use Server;

use constant ALPHA => 1e-10;
use constant L => -log(ALPHA);
use constant Z => 6.8;

# candidates of a family per array; $parts is the most arrays
use constant PART => 2000;
my $scale = $ENV{BLOOMEXP_LONG} ? 10 : 1;
my $parts = 500 * $scale;

# Families of keys: type, and the key of a number j.
my @families = (
	[ 'sequential', 'bigint', 'j' ],
	# milliseconds, machine, sequence
	[ 'snowflake', 'bigint', '((1700000000000 + j / 3) << 22) | ((j % 32) << 12) | (j % 3)' ],
	# version 7, with a counter where its random bits are
	[ 'uuid', 'uuid', q{(lpad(to_hex(1700000000000 + j / 3), 12, '0') || '70008000'
		|| lpad(to_hex(j), 12, '0'))::uuid} ],
	[ 'text', 'text', q{'item-' || j} ]);

# Sizes: items and filters of them.
my @sizes = (
	[ 1, 3000 ], [ 2, 3000 ], [ 5, 3000 ], [ 10, 3000 ], [ 20, 3000 ], [ 50, 3000 ],
	[ 100, 3000 ], [ 300, 1000 ], [ 3650, 80 ], [ 100000, 6 ]);
my @rates = qw(0.01 0.001 0.0001);

my $node = start_server('main', "autovacuum = off\nmax_parallel_workers_per_gather = 0\n"
	. "shared_buffers = 512MB\nmax_wal_size = 8GB\nwork_mem = 256MB\njit = off");

# Rows of a query, each a reference to its columns.
sub rows { return map { [ split /\|/, $_, -1 ] } split /\n/, $node->safe_psql('postgres', $_[0]) }

# How far a sum of 0s and 1s may be from this mean.
sub margin
{
	my $mean = shift;
	return L / 3 + sqrt(L**2 / 9 + 2 * $mean * L);
}

# Add one cell to another.
sub pool
{
	my ($sum, $cell) = @_;
	$sum->{$_} += $cell->{$_} for qw(filters asked hits lost mean variance);
	$sum->{$_} = $cell->{$_} for qw(promised expected);
}

# One test a cell: its name, and its figures
#
#	filters, asked, hits	R, R C and H
#	mean, variance			M, and the variance of M between filters
#	promised, expected		rates; the latter may be unknown
#	lost					filters that lack an item
sub judge
{
	my ($name, $cell) = @_;
	die "$name: nothing was measured" unless $cell->{asked};
	my ($asked, $hits, $mean) = @$cell{qw(asked hits mean)};
	my $spread = Z * sqrt($cell->{variance});
	my @complaints;

	push @complaints, "$cell->{lost} filters lack an item that was added" if $cell->{lost};
	push @complaints, sprintf('%d false positives of %.0f, the promise is %.6g', $hits, $asked,
	  $cell->{promised})
	  if $hits > $asked * $cell->{promised} + margin($asked * $cell->{promised}) + $spread;
	push @complaints, sprintf('%d false positives, the bits allow %.0f', $hits, $mean)
	  if abs($hits - $mean) > margin($mean);
	push @complaints, sprintf('the bits allow a rate of %.6g, the promise is %.6g', $mean / $asked,
	  $cell->{promised})
	  if $mean > $asked * $cell->{promised} + $spread;
	push @complaints, sprintf('the bits allow a rate of %.6g +- %.2g, to be expected was %.6g',
		$mean / $asked, $spread / $asked, $cell->{expected})
	  if defined $cell->{expected}
	  && abs($mean - $asked * $cell->{expected}) > $spread + 1e-9 * $mean;

	ok(!@complaints, $name) or diag join("\n", @complaints);
}

# Measure the filters that a query returns as (cell, r, promised, f, items).  Each is asked for as
# many candidates as give $hits false positives per cell at the promised rate.  Returns the figures
# of each cell.
sub measure
{
	my ($family, $hits, $filters) = @_;
	my %cells;

	for (rows(qq{
		WITH filters AS MATERIALIZED ($filters),
		plans AS (
			SELECT cell, count(*) AS filters,
				least($parts, ceil($scale * $hits / min(promised) / @{[PART]} / count(*)))::int
					AS parts
			FROM filters GROUP BY cell),
		-- materialized: PostgreSQL 19 would aggregate before this join, and ask for each pair
		asked AS MATERIALIZED (
			SELECT cell, r, cardinality(c.items - f) AS absent
			FROM filters JOIN plans USING (cell), generate_series(0, parts - 1) AS i,
				candidates_$family AS c
			WHERE c.part = (r * parts + i) % $parts),
		answers AS (
			SELECT cell, r, @{[PART]} * count(*) AS asked,
				@{[PART]} * count(*) - sum(absent) AS hits
			FROM asked GROUP BY cell, r),
		filters_measured AS (
			SELECT *, bloom_fpr(f) AS phi,
				NOT bloom_contains_all(f, items) OR cardinality(items - f) > 0 AS lost
			FROM filters JOIN answers USING (cell, r))
		SELECT cell, min(promised), count(*), sum(asked), sum(hits), sum(asked * phi),
			coalesce(var_samp(asked * phi), 0) * count(*), count(*) FILTER (WHERE lost)
		FROM filters_measured GROUP BY cell}))
	{
		my %cell;
		(my $name, @cell{qw(promised filters asked hits mean variance lost)}) = @$_;
		$cells{$name} = \%cell;
	}
	return \%cells;
}

$node->safe_psql('postgres', 'CREATE EXTENSION bloomexp');
my %expected;
$expected{"$_->[0] $_->[1]"} = $_->[2]
  for rows(
	sprintf 'SELECT n, p, (bloom_sizing(n, p)).expected_fpr FROM unnest(ARRAY[%s]) n,
		unnest(ARRAY[%s]::text[]::float8[]) p',
	join(', ', map { $_->[0] } @sizes), join(', ', map { "'$_'" } @rates));

# Filters of bloom_agg().  Items have the numbers from 0 on, candidates those from a
# million million on.
my %together;
for (@families)
{
	my ($family, $type, $key) = @$_;

	$node->safe_psql('postgres', qq{
		CREATE TABLE candidates_$family (part int, items $type\[]);
		ALTER TABLE candidates_$family ALTER items SET STORAGE external;
		INSERT INTO candidates_$family
		SELECT part, array_agg($key)
		FROM generate_series(0, $parts - 1) AS part, generate_series(1, @{[PART]}) AS i,
			LATERAL (SELECT 1000000000000 + part * @{[PART]} + i AS j) AS numbers
		GROUP BY part;
		CREATE UNIQUE INDEX ON candidates_$family (part);
		ANALYZE candidates_$family});

	for (@sizes)
	{
		my ($n, $filters) = ($_->[0], $_->[1] * $scale);
		for my $p (@rates)
		{
			my $cell = measure($family, $n == 10 ? 3500 : 1500, qq{
				SELECT 'all' AS cell, r, $p AS promised, bloom_agg(item, $p) AS f,
					array_agg(item) AS items
				FROM (
					SELECT j / $n AS r, $key AS item
					FROM generate_series(0::bigint, $filters * $n - 1) AS j) AS added
				GROUP BY r})->{all};
			$cell->{expected} = $expected{"$n $p"};
			judge("$family keys, n = $n, p = $p", $cell);
			pool($together{"$n $p"} //= {}, $cell);
		}
	}
}
for my $size (map { $_->[0] } @sizes)
{
	judge("all keys, n = $size, p = $_", $together{"$size $_"}) for @rates;
}

# Growth: what a filter was just before and just after each new layer, and at the
# end.  Items have the numbers from `first` on.
$node->safe_psql('postgres', q{
CREATE FUNCTION key(j bigint) RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN ((1700000000000 + j / 3) << 22) | ((j % 32) << 12) | (j % 3);

CREATE FUNCTION keys(first bigint, n bigint) RETURNS bigint[] LANGUAGE sql IMMUTABLE
RETURN ARRAY(SELECT key(j) FROM generate_series(first, first + n - 1) AS j);

CREATE FUNCTION grow(f bloom, first bigint, n bigint, step bigint, total bigint)
RETURNS TABLE (moment text, items bigint, filter bloom) LANGUAGE plpgsql AS $$
DECLARE
	grown bloom;
	layers int = coalesce((bloom_info(f)).layers, 1);
	now_layers int;
BEGIN
	WHILE n < total LOOP
		IF step = 1 THEN
			grown := bloom_add(f, key(first + n));
		ELSE
			grown := bloom_add(f, keys(first + n, step));
		END IF;
		now_layers := (bloom_info(grown)).layers;
		IF now_layers > layers THEN
			RETURN QUERY VALUES (format('%2s layers, full', layers), n, f),
				(format('%2s layers, fresh', now_layers), n + step, grown);
			layers := now_layers;
		END IF;
		f := grown;
		n := n + step;
	END LOOP;
	RETURN QUERY VALUES ('at the end', n, f);
END $$});

# Each layer takes a few items more than it is made for, since those that it contains
# by mistake do not count: that shows best at 30%.
#
# Name, promised rate, items in the first filter, that filter, items a step, items
# at the end.
my @growths = (
	[ 'NULL, by 1', 0.01, 0, 'NULL', 1, 4000 ],
	[ 'NULL, by 20', 0.01, 0, 'NULL', 20, 10000 ],
	[ 'NULL, by 700', 0.01, 0, 'NULL', 700, 11200 ],
	[ 'new 1', 0.01, 0, 'bloom_new(1)', 3, 900 ],
	[ 'new 100', 0.001, 0, 'bloom_new(100, 0.001)', 10, 2500 ],
	[ 'new 100', 0.0001, 0, 'bloom_new(100, 0.0001)', 10, 1500 ],
	[ 'new 1000', 0.01, 0, 'bloom_new(1000)', 50, 10000 ],
	[ 'agg 10', 0.001, 10, '(SELECT bloom_agg(i, 0.001) FROM unnest(keys(first, 10)) i)', 7, 710 ],
	[ 'agg 300', 0.01, 300, '(SELECT bloom_agg(i, 0.01) FROM unnest(keys(first, 300)) i)', 15,
		4500 ],
	[ 'new 300', 0.3, 0, 'bloom_new(300, 0.3)', 5, 1500 ],
	[ 'agg 3000', 0.001, 3000, '(SELECT bloom_agg(i, 0.001) FROM unnest(keys(first, 3000)) i)', 100,
		15000 ]);

for (@growths)
{
	my ($name, $p, $n, $start, $step, $total) = @$_;
	my $filters = 60 * $scale;
	my $cells = measure('snowflake', ($p < 0.001 ? 500 : 1000), qq{
		SELECT moment AS cell, r, $p AS promised, filter AS f, keys(first, grown.items) AS items
		FROM generate_series(1, $filters) AS r,
			LATERAL (SELECT r * 20000::bigint AS first) AS firsts,
			LATERAL grow($start, first, $n, $step, $total) AS grown});

	for my $moment (sort keys %$cells)
	{
		judge("grown from $name, p = $p: $moment", $cells->{$moment});
	}
	cmp_ok(scalar keys %$cells, '>', 6, "grown from $name, p = $p: has grown");
}

# Unions: the promise is the sum of promises.
my @unions = (
	[ 'unlike sizes', 0.02, 3950,
		'(SELECT bloom_agg(i, 0.01) FROM unnest(keys(first, 300)) i)
			| (SELECT bloom_agg(i, 0.01) FROM unnest(keys(first + 300, 3650)) i)' ],
	[ 'full equals', 0.02, 2000,
		'bloom_add(bloom_new(1000), keys(first, 1000))
			| bloom_add(bloom_new(1000), keys(first + 1000, 1000))' ],
	[ 'half full', 0.002, 1000,
		'bloom_add(bloom_new(1000, 0.001), keys(first, 500))
			| bloom_add(bloom_new(1000, 0.001), keys(first + 500, 500))' ],
	[ 'unlike rates', 0.0011, 400,
		'bloom_add(bloom_new(200, 0.001), keys(first, 200))
			| bloom_add(bloom_new(200, 0.0001), keys(first + 200, 200))' ],
	[ 'grown ones', 0.02, 1500,
		'bloom_add(bloom_add(NULL, keys(first, 100)), keys(first + 100, 400))
			| bloom_add(bloom_add(NULL, keys(first + 500, 100)), keys(first + 600, 900))' ],
	[ 'a dozen', 0.12, 1200,
		'(SELECT bloom_union_agg(bloom_add(NULL, keys(first + i * 100, 100)))
			FROM generate_series(0, 11) i)' ]);

for (@unions)
{
	my ($name, $p, $n, $union) = @$_;
	my $filters = 200 * $scale;
	my $cell = measure('snowflake', 3000, qq{
		SELECT 'all' AS cell, r, (bloom_info(f)).fpr AS promised, f, keys(first, $n) AS items
		FROM generate_series(1, $filters) AS r,
			LATERAL (SELECT r * 20000::bigint AS first) AS firsts,
			LATERAL (SELECT $union AS f OFFSET 0) AS united})->{all};

	cmp_ok(abs($cell->{promised} / $p - 1), '<', 1e-9, "union, $name: promises the sum of both");
	judge("union, $name", $cell);
}

# Windows of the aggregate: items spread evenly over as many slices as one window can
# see, so that each layer is as full as it was made for and the rate is known.
for my $n (300, 3000)
{
	for my $slices (1, 6, 30)
	{
		for my $p (@rates[ 0, 1 ])
		{
			my $filters = 100 * $scale;
			my $made = qq{
				SELECT r, f, keys(first, $n) AS items
				FROM generate_series(1, $filters) AS r,
					LATERAL (SELECT r * 20000::bigint AS first) AS firsts,
					LATERAL (SELECT bloom_window_agg(key(first + i),
							timestamptz '2000-01-01 00:00+00' +
							(i + 0.5) / $n * ($slices + 1) * (interval '30 days' / $slices),
								'30 days', $slices, $p) AS f
						FROM generate_series(0, $n - 1) AS i) AS made};
			my $cell = measure('snowflake', 1500,
				"SELECT 'all' AS cell, r, $p AS promised, f, items FROM ($made) AS made")->{all};
			my ($layers) = rows(qq{
				SELECT 1 - exp(sum(ln(1 - fpr))), count(*)
					FROM bloom_layers((SELECT f FROM ($made) AS made WHERE r = 1))});

			$cell->{expected} = $layers->[0];
			is($layers->[1], $slices + 1, "window of $n items in $slices slices, p = $p: layers");
			judge("window of $n items in $slices slices, p = $p", $cell);
		}
	}
}

# Windows that are kept: each night yesterday's items are added, and what is older than
# 30 days is expired.  The nights are at 3 o'clock and so on no border of slices, on
# which users begin at different days.
$node->safe_psql('postgres', q{
CREATE FUNCTION keep(first bigint, later integer, p float8, a_day integer[], again integer,
	sampled integer[])
RETURNS TABLE (day integer, n integer, lost boolean, filter bloom, layers integer,
	slices bigint, items bigint[])
LANGUAGE plpgsql AS $$
DECLARE
	every bigint[] = keys(first, (SELECT sum(i) FROM unnest(a_day) AS i));
	begun integer[];		-- the number of each day's first new item
	shown integer = 0;		-- new items so far
	new integer;
	night timestamptz;
	today bigint[];
BEGIN
	filter := bloom_window('30 days', 6, p);
	FOR d IN 1 .. cardinality(a_day) LOOP
		day := d;
		night := timestamptz '2024-01-01 03:00+00' + (later + d) * interval '1 day';
		begun[d] := shown + 1;
		new := a_day[d] - CASE WHEN d > 20 THEN again ELSE 0 END;
		today := every[shown + 1:shown + new];
		IF d > 20 THEN			-- and some that were new 20 days ago
			today := today || every[begun[d - 20]:begun[d - 20] + again - 1];
		END IF;
		shown := shown + new;

		filter := bloom_add_at(bloom_expire(filter, night), today,
			ARRAY(SELECT night - (i - 0.5) / cardinality(today) * interval '1 day'
				FROM generate_series(cardinality(today), 1, -1) AS i));

		items := every[begun[greatest(d - 29, 1)]:shown];
		FOR e IN greatest(d - 49, 1) .. d - 30 LOOP
			items := items || every[begun[e]:begun[e] + again - 1];
		END LOOP;
		n := cardinality(items);
		lost := NOT bloom_contains_all(filter, items);
		layers := (bloom_info(filter)).layers;
		slices := (SELECT count(DISTINCT l.slice) FROM bloom_layers(filter) AS l);
		IF d <> ALL (sampled) THEN
			items := NULL;
		END IF;
		RETURN NEXT;
	END LOOP;
END $$});

# Name, filters, items on each of 60 days, how many of them for the second time, how
# many layers a slice may have on average and how many times the optimum the bytes may
# be, where that is promised.
my @kept = (
	[ '5 a day', 50, [ (5) x 60 ], 0, 2 ],
	[ '25 a day', 20, [ (25) x 60 ], 0, 2 ],
	[ '100 a day', 10, [ (100) x 60 ], 0, 2, 2.1 ],
	[ '1000 a day', 5, [ (1000) x 60 ], 0, 3, 2.2 ],
	[ '100, 20 again', 10, [ (100) x 60 ], 20, 2 ],
	[ 'doubling', 10, [ map { 4 * 2**int($_ / 7) } 0 .. 59 ], 0 ],
	[ 'halving', 10, [ map { 4 * 2**int((59 - $_) / 7) } 0 .. 59 ], 0, 2 ],
	[ 'up and down', 10, [ map { int($_ / 7) % 2 ? 60 : 30 } 0 .. 59 ], 0, 2 ]);
my @days = (1, 4, 8, 15, 22, 30, 36, 37, 43, 50, 55, 60);

my $first = 0;
for (@kept)
{
	my ($name, $filters, $a_day, $again, $layers_bound, $bytes_bound) = @$_;

	$filters *= $scale;
	for my $p (@rates[ 0, 1 ])
	{
		my ($sampled, $numbers) = map { "'{" . join(',', @$_) . "}'" } \@days, $a_day;

		$node->safe_psql('postgres', qq{
			CREATE TABLE kept AS
			SELECT r, k.* FROM generate_series(1, $filters) AS r,
				LATERAL keep($first + r * 100000::bigint, r % 5, $p, $numbers, $again,
					$sampled) AS k});
		$first += $filters * 100000;

		my ($all) = rows(qq{
			SELECT count(*) FILTER (WHERE lost), count(*),
				avg(layers::float8 / slices) FILTER (WHERE day > 36), max(slices),
				max(times) FILTER (WHERE day > 48)
			FROM kept, LATERAL (SELECT (bloom_info(filter)).bytes
				/ (n * -ln($p) / ln(2) ^ 2 / 8)) AS optimum (times)});
		my ($lost, $count, $layers, $slices, $most) = @$all;

		is($lost, 0, "kept, $name, p = $p: no item is lost in $count nights");
		is($count, 60 * $filters, "kept, $name, p = $p: all nights");
		cmp_ok($slices, '<=', 7, "kept, $name, p = $p: slices");
		cmp_ok($layers, '<=', $layers_bound, "kept, $name, p = $p: layers a slice")
		  if $layers_bound;
		cmp_ok($most, '<=', $bytes_bound, "kept, $name, p = $p: bytes") if $bytes_bound;

		my $cells = measure('snowflake', 600, qq{
			SELECT day AS cell, r, $p AS promised, filter AS f, items FROM kept
				WHERE day IN (@{[ join ',', @days ]})});
		is(scalar keys %$cells, scalar @days, "kept, $name, p = $p: days");
		for my $day (sort { $a <=> $b } keys %$cells)
		{
			judge("kept, $name, p = $p, day $day", $cells->{$day});
		}
		$node->safe_psql('postgres', 'DROP TABLE kept');
	}
}

$node->stop;
done_testing();
