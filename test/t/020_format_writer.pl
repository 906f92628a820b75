# doc/internals/format.md and doc/internals/writers.md are enough to write values: a writer that was made from them
# (test/lib/format_writer.pl) must choose every number as the server does, so that both
# have the same bytes after the same calls.  Where they differ, the document or the
# server is wrong: what they say about sizes is as binding as the rest.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/../lib/format_$_.pl" for qw(reader writer);

my $node = PostgreSQL::Test::Cluster->new('writer');
$node->init(extra => [ '--encoding', 'UTF8', '--no-locale' ]);
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION bloomexp;

	-- the filter after these numbers of items, of which it has some, and gets the others one at a time
	CREATE FUNCTION grow(filter bloom, has integer, moments integer[]) RETURNS SETOF bloom LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN has + 1 .. moments[cardinality(moments)] LOOP
			filter := bloom_add(filter, i);
			IF i = ANY (moments) THEN
				RETURN NEXT filter;
			END IF;
		END LOOP;
	END
	$$;

	CREATE FUNCTION at(microseconds bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
		SELECT timestamptz '2000-01-01 00:00+00' + microseconds * interval '1 microsecond'
	$$;

	CREATE FUNCTION at(microseconds bigint[]) RETURNS timestamptz[] LANGUAGE sql IMMUTABLE AS $$
		SELECT array_agg(at(us) ORDER BY i) FROM unnest(microseconds) WITH ORDINALITY t (us, i)
	$$;

	-- the windowed filter after each day of exposures, which come one at a time
	CREATE FUNCTION keep(filter bloom, items integer[], times bigint[], per_day integer) RETURNS SETOF bloom
	LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. cardinality(items) LOOP
			filter := bloom_add_at(filter, items[i], at(times[i]));
			IF i % per_day = 0 THEN
				filter := bloom_expire(filter, at(times[i]));
				RETURN NEXT filter;
			END IF;
		END LOOP;
	END
	$$;

	-- the counting filter after every fifth step: a number is added, its negative removed
	CREATE FUNCTION count_steps(filter bloom, steps integer[]) RETURNS SETOF bloom LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. cardinality(steps) LOOP
			filter := CASE WHEN steps[i] > 0 THEN bloom_add(filter, steps[i]) ELSE bloom_remove(filter, -steps[i]) END;
			IF i % 5 = 0 THEN
				RETURN NEXT filter;
			END IF;
		END LOOP;
	END
	$$;

	-- windowed filters after each day, for unions
	CREATE TABLE kept (way text, day integer, filter bloom);
});

# The rows of an answer.
sub ask
{
	my ($sql) = @_;

	return split /\n/, $node->safe_psql('postgres', $sql);
}

# Numbers of a value, to be read beside those of another.
sub describe
{
	my ($value) = @_;

	return join "\n", "fpr $value->{fpr}, floor " . ($value->{floor} // ''), map {
		sprintf 'words %d, hashes %d, capacity %d, items %d, bits set %d, slice %s', @$_{qw(words hashes capacity items bits_set)}, $_->{slice} // '' }
	  @{ $value->{layers} };
}

# Values from the server, in their text form, must have the bytes of ours.
sub same_bytes
{
	my ($name, $theirs, @ours) = @_;
	my @theirs = map { format_reader::unhex($_) } @$theirs;
	my ($other) = grep { ($theirs[$_] // '') ne format_writer::bytes($ours[$_]) } 0 .. $#ours;

	ok(@theirs == @ours && !defined $other, $name)
	  or diag("value $other, server:\n" . describe(format_reader::parse($theirs[$other])) . "\nwriter:\n" . describe($ours[$other]));
	return;
}

# A copy that does not change when the value does.
sub copy
{
	my ($value) = @_;

	return format_reader::parse(format_writer::bytes($value));
}

# A list of numbers as an array in SQL.
sub array
{
	return "'{" . join(',', @_) . "}'";
}

# Sizes: few items, for which the rate is computed exactly up to 4 a hash, and ever more; and
# where one block is too small, where blocks of 250 words are, and there is one more, and so on.
my ($sizes, @wrong) = (0);
for (ask(q{
		WITH p (p) AS (SELECT unnest('{0.99,0.7,0.3,0.1,0.0101,0.01,0.001,1e-4,1e-6,1e-9}'::float8[])),
			size (n, p) AS (
				SELECT n, p FROM p, unnest('{1,2,3,8,20,50,99,100,101,333,3650,1e4,1e5,1e6,1e8}'::float8[]) AS n WHERE n * -ln(p) < 1.9e9
				UNION SELECT greatest(1, 4 * floor(-ln(p) / ln(2)) + i), p FROM p, generate_series(-1, 5) AS i
				UNION SELECT capacity + i, p
				FROM p, unnest('{4096,4250,7500,62500}'::integer[]) AS words, bloom_capacity(36 + 8 * words, p), generate_series(-1, 2) AS i)
		SELECT n, p, bits / 64, hashes, expected_fpr, bits / 8 + 36 = bytes FROM size, bloom_sizing(n::bigint, p)}))
{
	my ($n, $p, $words, $hashes, $rate, $bytes) = split /\|/;
	my ($our_words, $our_hashes) = format_writer::shape($n, $p * format_writer::first_share($n));
	my $our_rate = format_writer::expected_rate($our_words, $our_hashes, $n);

	$sizes++;
	push @wrong, "$_: not $our_words, $our_hashes, $our_rate"
	  if $words != $our_words || $hashes != $our_hashes || abs($rate - $our_rate) > 1e-9 * $our_rate || $bytes ne 't';
}
cmp_ok($sizes, '>', 300, "$sizes sizes were compared");
is(join("\n", @wrong), '', 'words, hashes and the expected rate are those of the document');

# Filters that grow one item at a time, the large ones from some on.
my @ways = ([ 30000, 0.01, 29000, 46000 ], [ 60000, 0.1, 50000, 70000 ], [ 8000, 1e-9, 7900, 12500 ]);
for my $capacity (1, 100, 101, 333, 1000)
{
	push @ways, map { [ $capacity, $_, 0, int($capacity * ($_ > 0.05 ? 5 : 3)) + 200 ] } qw(0.99 0.8 0.5 0.1 0.01 1e-6);
}
for my $way (@ways)
{
	my ($capacity, $p, $some, $last) = @$way;
	my @moments = map { $some + int(($last - $some) * $_ / 8) } 1 .. 8;
	my $ours = format_writer::new_value($capacity, $p);
	my ($i, @ours) = ($some);

	format_writer::add($ours, 1 .. $some);
	for my $moment (@moments)
	{
		format_writer::add($ours, ++$i) while $i < $moment;
		push @ours, copy($ours);
	}
	same_bytes("bloom_new($capacity, $p) grows to $last items, " . @{ $ours->{layers} } . ' layers',
		[ ask("SELECT grow(bloom_add(bloom_new($capacity, $p), ARRAY(SELECT generate_series(1, $some))), $some, " . array(@moments) . ")") ], @ours);
	cmp_ok(scalar @{ $ours->{layers} }, '>', 1, 'it did grow');
}

# Items that come together, twice each: to some room, and beyond it.
for my $way ([ 1000, 0.9, 150, 300 ], [ 1000, 0.1, 400, 850 ], [ 300, 0.01, 250, 250 ], [ 50000, 0.1, 20000, 45000 ],
	[ 500, 0.01, 500, 1700 ], [ 500, 1e-4, 500, 510 ])
{
	my ($capacity, $p, $some, $all) = @$way;
	my $ours = format_writer::new_value($capacity, $p);

	format_writer::add($ours, 1 .. $some);
	format_writer::add($ours, 1 .. $all);
	same_bytes("$some items of $all, then all, $capacity, $p",
		[ ask("SELECT bloom_add(bloom_add(bloom_new($capacity, $p), ARRAY(SELECT generate_series(1, $some))),
			ARRAY(SELECT i / 2 FROM generate_series(2, 2 * $all + 1) AS i))") ], $ours);
}

# Counting: items come, some of them more than once, and go.
for my $way ([ 1, 0.01 ], [ 50, 0.3 ], [ 100, 0.01 ], [ 500, 0.05 ], [ 700, 1e-4 ], [ 50000, 0.01 ])
{
	my ($capacity, $p) = @$way;
	my $ours = format_writer::new_value($capacity, $p, 1);
	my (@live, @steps, @ours);

	srand 1;
	for my $i (1 .. 1200)
	{
		my $step = @live && (@live > 0.7 * $capacity || rand > 0.7) ? -splice(@live, rand @live, 1) : 1 + int rand 3 * $capacity;

		push @live, $step if $step > 0;
		push @steps, $step;
		$step > 0 ? format_writer::add($ours, $step) : format_writer::remove($ours, -$step);
		push @ours, copy($ours) if $i % 5 == 0;
	}
	my $new = "bloom_new($capacity, $p, counting => true)";
	same_bytes("counting, $capacity, $p, " . @steps . ' steps',
		[ ask("SELECT count_steps($new, " . array(@steps) . ")") ], @ours);
}

# Windows that are kept: on most days the same number of items, some of them shown
# before, some shown late or early.
use constant DAY => 86_400_000_000;
for my $way ([ 6, 0.01, 60 ], [ 6, 0.5, 100 ], [ 1, 0.1, 150 ], [ 3, 0.001, 40 ], [ 30, 0.9, 30 ])
{
	my ($slices, $p, $per_day) = @$way;
	my $width = 12 * DAY + 1;
	my $ours = format_writer::new_window($width, $slices, $p);
	my $window = "bloom_window($width * interval '1 microsecond', $slices, $p)";
	my (@exposures, @ours);

	srand 2;
	for my $day (1 .. 30)
	{
		for my $i (1 .. $per_day)
		{
			my $time = int(($day + rand) * DAY * ($day % 10 > 7 ? 0.9 : 1) + (rand > 0.03 ? 0 : (rand(8) - 4) * DAY));

			push @exposures, [ 1 + int rand 15 * $per_day, $time ];
			format_writer::add_at($ours, $exposures[-1]);
		}
		format_writer::expire($ours, $exposures[-1][1]);
		push @ours, copy($ours);
	}
	my $arrays = join ', ', array(map { $_->[0] } @exposures) . '::integer[]', array(map { $_->[1] } @exposures) . '::bigint[]';
	same_bytes("window of $slices slices, $p, 30 days",
		[ ask("INSERT INTO kept SELECT '@$way', day, filter
			FROM keep($window, $arrays, $per_day) WITH ORDINALITY AS t (filter, day) RETURNING filter") ],
		@ours);

	# nothing is contained before, and a new slice has room for all
	$ours = format_writer::new_window($width, $slices, $p);
	format_writer::add_at($ours, @exposures);
	same_bytes('the same exposures in one call',
		[ ask("SELECT bloom_add_at($window, items, at(times)) FROM (VALUES ($arrays)) AS v (items, times)") ], $ours);

	same_bytes('the same exposures by bloom_window_agg',
		[ ask("SELECT bloom_window_agg(item, at(time), $width * interval '1 microsecond', $slices, $p)
			FROM unnest($arrays) AS t (item, time)") ],
		format_writer::aggregate_window($width, $slices, $p, @exposures));
}

# Windows as narrow and wide as can be, of few slices and many, at times from the first to the
# last: what comes in alone, together and by the aggregate, and what expires.
my %widths = ('1 microsecond' => 1, '2 microseconds' => 2, '999 microseconds' => 999, '1001 microseconds' => 1001, '30 days' => 30 * DAY,
	'106751990 days' => 9223371936000000000, '106751991 days 04:00:54.775806' => 9223372036854775806,
	'106751991 days 04:00:54.775807' => 9223372036854775807);
my @times = (-211813488000000000, -211813487999999999, -1, 0, 762523200000000, 9223371331199999998, 9223371331199999999);
my $moments = q{'{4714-11-24 00:00+0 BC,4714-11-24 00:00:00.000001+0 BC,1999-12-31 23:59:59.999999+0,2000-01-01 00:00+0,2024-02-29 12:00+0,
	294276-12-31 23:59:59.999998+0,294276-12-31 23:59:59.999999+0}'::timestamptz[]};
for my $width (sort keys %widths)
{
	my ($sql, @ours) = ('');

	for my $slices (1, 2, 3, 999, 1000)
	{
		my @window = ($widths{$width}, $slices, 0.01);
		my @exposures = map { [ $_ + 1, $times[$_] ] } 0 .. $#times;
		my $added = format_writer::new_window(@window);
		my @alone = map { my $alone = format_writer::new_window(@window); format_writer::add_at($alone, [ 1, $_ ]); $alone } @times;

		format_writer::add_at($added, @exposures);
		my @expired = map { my $expired = copy($added); format_writer::expire($expired, $_); $expired } @times;
		push @ours, @alone, $added, @expired, format_writer::unite($added, $expired[4]), format_writer::aggregate_window(@window, @exposures);
		$sql .= "SELECT unnest(ARRAY(SELECT bloom_add_at(bloom_window('$width', $slices), 1, at) FROM unnest(at) AS at) || added
				|| ARRAY(SELECT bloom_expire(added, at) FROM unnest(at) AS at) || (added | bloom_expire(added, at[5]))
				|| (SELECT bloom_window_agg(item, time, '$width', $slices, 0.01) FROM unnest(at) WITH ORDINALITY AS u (time, item)))
			FROM (VALUES ($moments)) AS v (at), bloom_add_at(bloom_window('$width', $slices), '{1,2,3,4,5,6,7}'::integer[], at) AS added;\n";
	}
	same_bytes("windows of $width", [ ask($sql) ], @ours);
}

# Unions: of plain filters of one shape, with items of which none, some or all are the
# other's, with and without room, with several layers; of other shapes; of unions; of
# counting filters; and of windows.
$node->safe_psql('postgres', q{
	CREATE TABLE plain AS
	SELECT c, p, from_item, bloom_add(bloom_new(c, p), ARRAY(SELECT generate_series(from_item, to_item))) AS filter
	FROM unnest('{100,101,1000,30000}'::integer[]) AS c, unnest('{0.01,0.1,0.4}'::float8[]) AS p,
		LATERAL (VALUES (1, 10), (5, 10), (1, c / 2), (c / 2, c), (1, c), (c, 2 * c - 1), (1, 3 * c)) AS range (from_item, to_item)
	WHERE c < 2000 OR p = 0.01;

	CREATE TABLE united AS
	SELECT a.filter AS first, b.filter AS second, a.filter | b.filter AS result
	FROM plain AS a JOIN plain AS b ON a.c = b.c AND a.p = b.p
		OR a.c + b.c < 2000 AND a.p + b.p < 0.2 AND a.from_item + b.from_item > 50;

	INSERT INTO united
	SELECT a.result, b.filter, a.result | b.filter
	FROM (SELECT result, row_number() OVER () AS i FROM united WHERE bloom_fpr(result) < 0.3) AS a,
		(SELECT filter, row_number() OVER () AS i FROM plain WHERE p < 0.2) AS b
	WHERE a.i % 7 = 0 AND (a.i + b.i) % 11 = 0;

	-- the same bits of more items and of fewer
	INSERT INTO united
	SELECT a, b, a | b
	FROM (SELECT bloom_add(bloom_new(1000, 0.9), ARRAY(SELECT generate_series(1, 400))), grow(bloom_new(1000, 0.9), 0, '{400}')) AS v (x, y),
		LATERAL (VALUES (x, y), (y, x)) AS w (a, b);

	-- what the first of several full layers has, and all but one of its items
	INSERT INTO united
	SELECT a, b, a | b
	FROM unnest('{2,5}'::integer[]) AS n,
		LATERAL (SELECT bloom_union_agg(f ORDER BY i)
			FROM (SELECT i, bloom_add(bloom_new(200, 0.001), array_agg(i * 1000 + j)) FROM generate_series(1, n) AS i, generate_series(1, 200) AS j GROUP BY i) AS v (i, f)) AS w (a),
		LATERAL (SELECT bloom_add(bloom_new(200, 0.001), ARRAY(SELECT 1000 + j FROM generate_series(1, last) AS j)) FROM unnest('{199,200}'::integer[]) AS last) AS x (b);

	-- no item, and rates of 1 and more
	INSERT INTO united
	SELECT a, b, a | b
	FROM (SELECT bloom_new(c, 0.6) FROM generate_series(99, 101) AS c UNION ALL SELECT bloom_add(bloom_new(100, 0.4), 1)) AS x (a),
		(SELECT bloom_new(c, 0.6) FROM generate_series(99, 101) AS c UNION ALL SELECT bloom_add(bloom_new(100, 0.4), 2)
			UNION ALL SELECT bloom_new(10, 0.9999999999999999)) AS y (b);

	INSERT INTO united
	SELECT a, b, a | b
	FROM unnest('{1,50,700,40000}'::integer[]) AS c, unnest('{0.01,0.6}'::float8[]) AS p, unnest('{1,3,10}'::integer[]) AS part,
		bloom_add(bloom_new(c, p, counting => true), ARRAY(SELECT generate_series(1, (c + part - 1) / part))) AS a,
		bloom_add(bloom_new(c, p, counting => true), ARRAY(SELECT i % greatest(c / part, 1) FROM generate_series(0, 2 * c) AS i)) AS b
	WHERE (bloom_info(a)).items + (bloom_info(b)).items <= c;

	INSERT INTO united
	SELECT a.filter, b.filter, a.filter | b.filter
	FROM kept AS a JOIN kept AS b USING (way)
	WHERE a.day % 7 = 0 AND b.day % 5 = 0;
});
my ($unions, $merged, @differing) = (0, 0);
for (ask('SELECT first, second, result FROM united'))
{
	my ($first, $second, $theirs) = map { format_reader::parse(format_reader::unhex($_)) } split /\|/;
	my $ours = format_writer::unite($first, $second);

	$unions++;
	$merged++ if @{ $ours->{layers} } < @{ $first->{layers} } + @{ $second->{layers} };
	push @differing, join "\n", map { describe($_) } $first, $second, $theirs, $ours
	  if format_writer::bytes($ours) ne format_writer::bytes($theirs);
}
is(scalar @differing, 0, "$unions unions") or diag("first, second, server, writer:\n$differing[0]");
cmp_ok($merged, '>', 100, "$merged of them have a merged layer");
cmp_ok($unions - $merged, '>', 100, 'and ' . ($unions - $merged) . ' have none');

$node->stop;
done_testing();
