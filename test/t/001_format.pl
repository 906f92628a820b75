# doc/internals/format.md is the contract of the bytes: a reader that was written from it
# alone (test/lib/format_reader.pl) must see in every value what the server sees, and
# the examples in it must be true.

use strict;
use warnings;
use utf8;
no warnings 'portable';

use Encode qw(encode_utf8);
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/../..";
my $reader = "$root/test/lib/format_reader.pl";
require $reader;

# The published verification value: hashes of 0 to 255 bytes, hashed again.
{
	my $hashes = join '',
	  map { pack 'Q<Q<', format_reader::murmur3(pack('C*', 0 .. $_ - 1), 256 - $_) } 0 .. 255;
	my ($hash) = format_reader::murmur3($hashes, 0);

	is($hash & 0xFFFFFFFF, 0x6384BA69, 'the reader computes MurmurHash3 x64 128');
}

my $node = PostgreSQL::Test::Cluster->new('format');
$node->init(extra => [ '--encoding', 'UTF8', '--no-locale' ]);
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION bloomexp');

# The golden values of the regression test, whatever their bytes are now.
$node->safe_psql('postgres', slurp_file("$root/sql/golden.sql"));

# Filters of random shapes and items. The seed is fixed, so a failure comes again.
srand(20240229);

my @characters = ('a' .. 'z', ' ', '"', '\\', "'", '{', ',', "\t", "\n", 'ü', '漢', '🌸');
my %random_item = (
	integer => sub { unpack 'q<', pack('L<L<', rand 2**32, rand 2**32) & "\xff" x (1 + rand 8) . "\0" x 7 },
	text => sub { join '', map { $characters[ rand @characters ] } 0 .. rand 50 },
	uuid => sub { unpack 'H*', pack 'L4', map { rand 2**32 } 1 .. 4 },
	bytea => sub { '\\x' . unpack 'H*', pack 'C*', map { rand 256 } 0 .. rand 50 });

sub quote_array
{
	my @items = @_;

	s/(["\\])/\\$1/g, s/'/''/g for @items;
	return "'{" . join(',', map { "\"$_\"" } @items) . "}'::text[]";
}

my $random = '';
for my $i (1 .. 60)
{
	my $kind = (sort keys %random_item)[ $i % 4 ];
	my $n = 1 + int(exp rand 6);
	my $counting = $i % 5 == 0;
	my $capacity = 1 + int(rand 2 * $n) + ($counting ? $n : 0);
	my $new = sprintf 'bloom_new(%d, %g, %d, %s)', $capacity, 0.5**(1 + rand 16),
	  rand(2**32) - 2**31, $counting ? 'true' : 'false';
	my $items = quote_array(map { $random_item{$kind}->() } 1 .. $n);
	# at once, one by one, or united from two halves
	my $filter = (
		"add_items($new, kind, items)",
		"add_one_by_one($new, kind, items)",
		"add_items($new, kind, items[1:cardinality(items) / 2]) |
		 add_one_by_one($new, kind, items[cardinality(items) / 2 + 1:])")[ $i % 3 ];

	$random .= "INSERT INTO golden SELECT 'random $i', kind, items, $filter
		FROM (VALUES ('$kind', $items)) spec (kind, items);\n";
}
$node->safe_psql('postgres', encode_utf8($random));

# Windowed filters of random widths, slices, items and times.  What each of them must
# contain is known: of each item the slice of its newest exposure, as far as that was
# not expired, nor shown before the floor of that moment.
$node->safe_psql('postgres', q{
	CREATE FUNCTION at(microseconds bigint) RETURNS timestamptz LANGUAGE sql AS $$
		SELECT timestamptz '2000-01-01 00:00+00' + microseconds * interval '1 microsecond'
	$$;
	CREATE FUNCTION at(microseconds bigint[]) RETURNS timestamptz[] LANGUAGE sql AS $$
		SELECT array_agg(at(us) ORDER BY i) FROM unnest(microseconds) WITH ORDINALITY t (us, i)
	$$;
});

my %windows;
$random = '';
for my $i (1 .. 25)
{
	my $kind = (sort keys %random_item)[ $i % 4 ];
	my $way = ('at once', 'one by one', 'aggregated', 'expired', 'united')[ $i % 5 ];
	my $slices = (1, 2, 3, 6, 30, 1000)[ rand 6 ];
	my $n = 2 + int($slices > 6 ? rand 60 : exp rand 7);
	my $width = 1 + int exp rand 30;
	my $middle = int(rand(2e15) - 1e15);
	my @pool = map { $random_item{$kind}->() } 1 .. 1 + rand $n;
	my @items = map { $pool[ rand @pool ] } 1 .. $n;
	# within one window, so that an add drops none; 020_format_writer.pl has others
	my $reach = $way eq 'aggregated' ? 2 : 1;
	my @times = map { $middle + int((rand() - 0.5) * $reach * $width) } 1 .. $n;
	my $half = int($n / 2);
	my %window = (width => $width, slices => $slices, floor => -1 - (~0 >> 1));
	# the floors at which the first half of the exposures was expired, and the second
	my ($first_floor, $second_floor) = ($middle - int rand $width / 2, $middle + int rand $width / 2);
	my $fpr = 0.5**(1 + rand 16);
	my $seed = $way =~ /aggregated|united/ ? 0 : int(rand(2**32) - 2**31);
	my $new = "bloom_window(width, $slices, $fpr, $seed)";
	my $first = "kind, items[:$half], times[:$half]";
	my $second = "kind, items[$half + 1:], times[$half + 1:]";
	my $all = 'kind, items, times';
	my $filter = {
		'at once' => "add_items_at($new, $all)",
		'one by one' => "add_one_by_one_at($new, $all)",
		'aggregated' => "aggregate_at($all, width, $slices, $fpr)",
		'expired' => "add_items_at(bloom_expire(add_one_by_one_at($new, $first), at($first_floor + $width)), $second)",
		'united' => "bloom_expire(aggregate_at($first, width, $slices, $fpr), at($first_floor + $width)) |
			bloom_expire(add_one_by_one_at($new, $second), at($second_floor + $width))" }->{$way};

	for (0 .. $n - 1)
	{
		my $slice = format_reader::slice_of(\%window, $times[$_]);
		my $floor = $way eq 'united' && $_ >= $half ? $second_floor : $first_floor;

		if ($way eq 'expired' && $_ >= $half)
		{
			next if $times[$_] < $first_floor;
		}
		elsif ($way =~ /expired|united/)
		{
			next if $slice < format_reader::slice_of(\%window, $floor);
		}
		my $newest = \$window{newest}{ $items[$_] };
		$$newest = $slice if !defined $$newest || $slice > $$newest;
	}
	$window{floor} = $first_floor if $way =~ /expired|united/;
	$window{exact} = $way =~ /at once|aggregated/;
	$window{times} = \@times;
	$windows{"window $i, $way"} = \%window;

	my $kept = quote_array(sort keys %{ $window{newest} });
	$random .= "INSERT INTO golden SELECT 'window $i, $way', kind, $kept, $filter
		FROM (VALUES ('$kind', @{[ quote_array(@items) ]}, at('{@{[ join ',', @times ]}}'::bigint[]),
			$width * interval '1 microsecond')) spec (kind, items, times, width);\n";
}
$node->safe_psql('postgres', encode_utf8($random));

# Ask the reader, as a program of its own, about lines; returns its answers.
sub ask
{
	my ($in, $out) = map { "$PostgreSQL::Test::Utils::tmp_check/$_" } qw(questions answers);

	append_to_file($in, join "\n", @_, '');
	system("\"$^X\" \"$reader\" <\"$in\" >\"$out\"") == 0 or die 'the reader failed';
	my @answers = split /\n/, slurp_file($out);
	unlink $in, $out;
	return @answers;
}

# The rate at which an item that was never added passes, from the bits.
sub predicted_rate
{
	my ($value) = @_;
	my $misses = 1;

	for my $layer (@{ $value->{layers} })
	{
		my $size = $layer->{size} / $layer->{blocks};
		my $passes = 0;

		for my $block (unpack "(a$size)*", $layer->{bits})
		{
			my $set = $value->{counting} ? unpack('H*', $block) =~ tr/0//c : unpack '%32b*', $block;

			$passes += ($set / $layer->{block_bits})**$layer->{hashes} / $layer->{blocks};
		}
		$misses *= 1 - $passes;
	}
	return 1 - $misses;
}

# How the reader wants an item, and an endless row of items never added.
$node->safe_psql('postgres', q{
	CREATE FUNCTION for_reader(kind text, item text) RETURNS text LANGUAGE sql AS $$
		SELECT CASE kind WHEN 'text' THEN convert_to(item, 'UTF8')::text ELSE item END
	$$;
	CREATE FUNCTION other_item(kind text, i integer) RETURNS text LANGUAGE sql AS $$
		SELECT CASE kind
			WHEN 'integer' THEN (-1000000 - i)::text
			WHEN 'text' THEN 'other ' || i
			WHEN 'uuid' THEN md5('other ' || i)
			WHEN 'bytea' THEN sha256(convert_to('other ' || i, 'UTF8'))::text
		END
	$$;
	CREATE FUNCTION asks(filter bloom, kind text, item text) RETURNS boolean LANGUAGE plpgsql AS $$
	BEGIN
		CASE kind
			WHEN 'integer' THEN RETURN bloom_contains(filter, item::bigint);
			WHEN 'text' THEN RETURN bloom_contains(filter, item);
			WHEN 'uuid' THEN RETURN bloom_contains(filter, item::uuid);
			WHEN 'bytea' THEN RETURN bloom_contains(filter, item::bytea);
		END CASE;
	END
	$$;
	CREATE TABLE other AS
		SELECT kind, i, other_item(kind, i) AS item
		FROM unnest('{integer,text,uuid,bytea}'::text[]) kind, generate_series(1, 10000) i;
});

my %others;
for my $kind (keys %random_item)
{
	$others{$kind} = [ split /\n/, $node->safe_psql('postgres',
		"SELECT for_reader(kind, item) FROM other WHERE kind = '$kind' ORDER BY i") ];
}

for my $row (split /\n/, $node->safe_psql('postgres',
		q{SELECT name, kind, filter, bloom_fpr(filter) FROM golden ORDER BY name COLLATE "C"}))
{
	my ($name, $kind, $filter, $fpr) = split /\|/, $row;
	my $n = $name =~ /^random|^window \d/ ? 1000 : 10000;
	my @members = split /\n/, $node->safe_psql('postgres',
		"SELECT for_reader(kind, item) FROM golden, unnest(items) item WHERE name = '$name'");
	my $verdicts = $node->safe_psql('postgres',
		"SELECT string_agg(asks(filter, kind, item)::text, ' ' ORDER BY i)
		 FROM golden JOIN other USING (kind) WHERE name = '$name' AND i <= $n");
	my @questions = map { "\t$kind\t$_" } @members, @{ $others{$kind} }[ 0 .. $n - 1 ];
	my @answers = ask($filter . shift @questions, map { ".$_" } @questions);

	my $contained = grep { $_ eq 'true' } splice @answers, 0, @members;
	is($contained, scalar @members, "$name: the reader finds every item");

	ok("@answers" eq $verdicts, "$name: reader and server say the same of $n other items")
	  or diag(join ' ', @answers[ 0 .. 99 ]), diag(substr $verdicts, 0, 600);

	# Five standard deviations; and one more, for the small numbers.
	my $rate = predicted_rate(format_reader::parse(format_reader::unhex($filter)));
	my $seen = grep { $_ eq 'true' } @answers;
	my $tolerance = 5 * sqrt($n * $rate * (1 - $rate)) + 1;
	ok(abs($seen - $n * $rate) <= $tolerance, "$name: as many of them pass as the bits predict")
	  or diag("passed: $seen, predicted: " . $n * $rate . " with a tolerance of $tolerance");
	# of a blocked layer the server knows only the mean, and we nothing of the smallest rates
	ok(abs($fpr - $rate) <= 0.1 * $rate + 1e-12, "$name: bloom_fpr says the same")
	  or diag("bloom_fpr: $fpr, from the bits: $rate");
}

# Slice by slice.  What the server contains after it expired a windowed filter is what
# the reader finds in the slices that are left.
my $asked = 0;
for my $name (sort keys %windows)
{
	my $window = $windows{$name};
	my ($kind, $filter) = split /\|/,
	  $node->safe_psql('postgres', "SELECT kind, filter FROM golden WHERE name = '$name'");
	my $value = format_reader::parse(format_reader::unhex($filter));
	my @items = sort keys %{ $window->{newest} };
	my @misplaced;

	is(join(' ', @$value{qw(width slices floor)}), join(' ', @$window{qw(width slices floor)}),
		"$name: its header");
	is(join(' ', map { $_->{slice} } @{ $value->{layers} }),
		$node->safe_psql('postgres', "SELECT string_agg(slice::text, ' ' ORDER BY layer)
			FROM golden, bloom_layers(filter) WHERE name = '$name'"),
		"$name: the slices of its layers");

	my @found;
	for my $item (@items, @{ $others{$kind} }[ 0 .. 199 ])
	{
		my $newest = $window->{newest}{$item};
		my $text = $kind eq 'text' && defined $newest ? '\x' . unpack 'H*', encode_utf8($item) : $item;
		my @slices = map { $_->{slice} } format_reader::layers_with($value, $kind, $text);

		push @found, [ $text, @slices ];
		next unless defined $newest;
		push @misplaced, "$item: @slices, not $newest"
		  unless $window->{exact} ? grep { $_ == $newest } @slices : grep { $_ >= $newest } @slices;
	}
	is("@misplaced", '', "$name: every item is in the slice of its newest exposure");

	# at the borders of slices, a microsecond before them, and anywhere
	my @times = map { $window->{times}[ rand @{ $window->{times} } ] } 1 .. 8;
	my $length = int(($value->{width} + $value->{slices} - 1) / $value->{slices});
	$_ = format_reader::slice_of($value, $_) * $length for @times[ 0 .. 3 ];
	$_-- for @times[ 2, 3 ];
	@times = grep { $_ > $value->{floor} } @times;
	my @contained = split /\n/, $node->safe_psql('postgres', qq{
		SELECT string_agg(asks(expired, kind, item)::text, ' ' ORDER BY i)
		FROM (SELECT kind, item, row_number() OVER (ORDER BY item COLLATE "C") - 10000 AS i
			FROM golden, unnest(items) item WHERE name = '$name'
			UNION ALL SELECT kind, item, i FROM other WHERE kind = '$kind' AND i <= 200) asked,
			(SELECT number, bloom_expire(filter, at(time + $value->{width})) AS expired
			 FROM golden, unnest('{@{[ join ',', @times ]}}'::bigint[]) WITH ORDINALITY t (time, number)
			 WHERE name = '$name' OFFSET 0) e
		GROUP BY number ORDER BY number});
	is(scalar @contained, scalar @times, "$name: expired " . @times . ' times');
	for my $time (@times)
	{
		my $first = format_reader::slice_of($value, $time);
		my $expected = join ' ', map {
			my ($text, @slices) = @$_;
			(grep { $_ >= $first } @slices) ? 'true' : 'false';
		} @found;
		my $contained = shift @contained;

		ok($contained eq $expected, "$name: expired to $time, server and reader say the same")
		  or diag("server: $contained"), diag("reader: $expected");
		$asked += @found;
	}

	# by way of the program, too
	my $time = $times[0] // $value->{floor};
	my @questions = map { ".\t$kind\t$_->[0]\t$time" } @found;
	is(join(' ', ask($filter, @questions)),
		join(' ', 'valid', map { format_reader::contains($value, $kind, $_->[0], $time) ? 'true' : 'false' } @found),
		"$name: the program says so, too");
}
cmp_ok($asked, '>', 10_000, "$asked answers about slices were compared");

# A value without items, and what the reader refuses.
my $empty = $node->safe_psql('postgres', 'SELECT bloom_new(10)');
my $text = $node->safe_psql('postgres', q{SELECT bloom_add(bloom_new(10), ''::text)});
is_deeply([ ask($empty, ".\tinteger\t1", ".\ttext\t\\x", $text, ".\ttext\t\\x", ".\tinteger\t1",
			'\x0', '\x02', substr($text, 0, -2)) ],
	[ 'valid', 'false', 'false', 'valid', 'true', 'error: value holds another kind',
		'error: not hexadecimal', 'error: format version', 'error: length is not the sum of the parts' ],
	'the reader on an empty value and on errors');

# The worked examples: an indented SELECT, then indented lines that say what its
# value consists of, and how an item came to its positions.
open my $document, '<:utf8', "$root/clients/conformance/examples.md" or die $!;
my @examples = split /^## /m, do { local $/; <$document> };
shift @examples;
cmp_ok(scalar @examples, '>', 2, 'there are worked examples');

for my $example (@examples)
{
	my ($title) = $example =~ /^(.*)/;
	my ($sql) = $example =~ /^    (SELECT .*?;)$/ms;
	my $value = $node->safe_psql('postgres', $sql);
	my $parsed = format_reader::parse(format_reader::unhex($value));
	my @layers = @{ $parsed->{layers} };
	my $kind = { 1 => 'integer', 2 => 'text' }->{ $parsed->{kind} };
	my $hex = join '', $example =~ /^    ((?:[0-9a-f]{2} )*[0-9a-f]{2})(?:  .*)?$/mg;

	is("\\x" . $hex =~ tr/ //dr, $value, "$title: bytes") if $hex;

	# the positions in lines of bytes, each line being the next 64 positions
	my %said;
	my $from = 0;
	my ($bits) = $example =~ /.*bits set\n(?:[^\n]*slice [^\n]*\n)?(.*?)\n\n/s;
	for (split /\n/, $bits // '')
	{
		my ($named) = /bits? (\d.*)/;

		$said{"$from $_"} = 1 for split /, | and /, $named // '';
		$from++;
	}
	my ($line, %set) = 0;
	for my $layer (@layers)
	{
		for my $i ($bits ? 0 .. $layer->{words} * 64 - 1 : ())
		{
			my $in = $line + int($i / 64);
			$set{"$in $i"} = 1 if format_reader::is_set($parsed, $layer, $i);
		}
		$line += $layer->{words};
	}
	is_deeply(\%said, \%set, "$title: the bits said to be set are") unless $parsed->{counting};

	my $numbers = join ' ', $example =~ /^    [0-9a-f ]+ (?:width|floor|slice) (-?\d+)/mg;
	is($numbers, join(' ', @$parsed{qw(width floor)}, map { $_->{slice} } @layers),
		"$title: its times")
	  if $parsed->{windowed};

	my @items = split /^    item +/m, $example;
	shift @items;
	ok(scalar @items, "$title: it has items");
	for my $item (@items)
	{
		$item =~ s/\n\n.*//s;
		my ($name) = $item =~ /^(.*)/;
		my ($canonical) = $item =~ /^    canonical +(.*)/m;
		my ($x) = $item =~ /^    x +0x(.*)/m;
		my @steps = $item =~ /^    g +0x(\S+ +\d+ × \d+ >> 32 = \d+)$/mg;
		my %positions = $item =~ /^    layer (\d+) +([\d, ]+)/mg;
		my $bytes = format_reader::canonical_bytes($kind,
			$kind eq 'text' ? '\x' . unpack 'H*', $name : $name);
		my ($hash) = format_reader::murmur3($bytes, $parsed->{seed});

		is($canonical =~ tr/ //dr, unpack('H*', $bytes), "$title: canonical bytes of $name");
		is($x, sprintf('%016x', $hash), "$title: hash of $name");
		if ($parsed->{windowed})
		{
			my ($time, $length, $slice) = $item =~ m{^    slice +(-?\d+) / (\d+) = (-?\d+)$}m;
			my @slices = map { $_->{slice} } format_reader::layers_with($parsed, $kind, $name);

			is($slice, format_reader::slice_of($parsed, $time), "$title: slice of $name");
			is($length * $parsed->{slices}, $parsed->{width}, "$title: length of a slice");
			is("@slices", $slice, "$title: where $name is");
		}
		ok(@steps || %positions, "$title: positions of $name are given");
		if (@steps)
		{
			my $c = 0x9E3779B97F4A7C15;
			my $g = format_reader::times64(format_reader::plus64($hash, $c),
				format_reader::times64($c, 2 * $layers[0]{words} + 1));

			for my $step (@steps)
			{
				is($step =~ s/ +/ /r, sprintf('%016x %d × %d >> 32 = %d', $g, $g >> 32,
						$layers[0]{block_bits}, ($g >> 32) * $layers[0]{block_bits} >> 32),
					"$title: a step of $name");
				$g = format_reader::times64($g, 0xD1342543DE82EF95);
			}
			is(scalar @steps, $layers[0]{hashes}, "$title: steps of $name");
		}
		for my $number (sort keys %positions)
		{
			my $layer = $layers[ $number - 1 ];
			my ($block, @expected) = format_reader::positions($layer, $hash);

			is($positions{$number}, join(', ', @expected), "$title: positions of $name in layer $number");
			my $all = !grep { !format_reader::is_set($parsed, $layer, $_) } @expected;
			if ($layer->{blocks} > 1)
			{
				my ($blocks, $size) = @$layer{qw(blocks block_bits)};
				my $from = $block * $size;

				ok($item =~ /^    blocks +$blocks = ⌈$layer->{words} \/ 250⌉ of $size positions$/m
					  && $item =~ /^    block +\(x × $blocks\) >> 64 = $block, from position $block × $size = $from$/m,
					"$title: block of $name");
			}
			my ($missing) = $item =~ /^    layer $number .*(set)$/m;
			is($all, !$missing, "$title: whether layer $number contains $name");
		}
	}
}

$node->stop;
done_testing();
