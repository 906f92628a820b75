# test/lib/format_writer.pl
#
# A second writer of bloom values, written from doc/internals/format.md and
# doc/internals/writers.md alone: it chooses every number of a value as they say, so its
# bytes must be the server's.  Hashes, positions and parsing are those of format_reader.pl.
#
# A value is what format_reader::parse returns: a hash with a list of layers.  The
# functions below change it in place, and bytes() packs it.  Items are integers, times are
# microseconds since 2000-01-01 00:00 UTC.
#
# Perl programs "require" this file, after the reader, and call its functions.

package format_writer;

use strict;
use warnings;

use List::Util qw(any max min sum0 uniq);
use POSIX qw(ceil expm1 floor lgamma log1p log2);

use constant {
	NEVER_EXPIRED => -1 - (~0 >> 1),    # the smallest i64
	ONE_BLOCK => 4096,
	BLOCK_WORDS => 250,
	FIRST_SHARE => 127 / 128,
	FULL_SHARE => 511 / 512,
	FULL_EXCESS => 129 / 128,
	BELOW_1 => 1 - 2**-52,
};

# The same numbers are asked for again and again, and a layer is dear to size.
my (%rates, %shapes, %full);

#
# Expected rate of a layer
#

# One block, few items: the exact probability.
sub exact_rate
{
	my ($m, $k, $n) = @_;
	my @a = (1, (0) x ($k + 1));

	for (1 .. $k)
	{
		$a[$_] = $a[$_] * $_ / $m + $a[ $_ - 1 ] * ($m - $_ + 1) / $m for reverse 1 .. $k;
		$a[0] = 0;
	}
	for (1 .. $k * $n)
	{
		$a[$_] = $a[$_] * (1 - $_ / $m) + $a[ $_ + 1 ] * ($_ + 1) / $m for 0 .. $k;
	}
	return $a[0];
}

# One block, any number of items: R(m, k, n).
sub log_normal_rate
{
	my ($m, $k, $n) = @_;
	my $t = $k * $n;
	my $e = exp($t * log1p(-1 / $m));
	my $c = $e**2 * expm1($t * log1p(-1 / ($m - 1)**2));
	my $f = 1 - $e;
	my $v = $c * (1 - 1 / $m) + $e * (1 - $e) / $m;

	return 0 if $n == 0;
	return min(1, $f**$k * exp($k * ($k - 1) / 2 * $v / $f**2));
}

# Several blocks: their numbers of items are Poisson variables.
sub poisson_rate
{
	my ($blocks, $b, $k, $n) = @_;
	my $mean = $n / $blocks;
	my $step = max(1, floor(sqrt($mean) / 1.5));
	my $last = $mean + $k + 7 * sqrt($mean + $k);
	my $sum = 0;

	for (my $j = max(0, floor($mean - 7 * sqrt $mean)); $j <= $last; $j += $step)
	{
		$sum += exp($j * log($mean) - $mean - lgamma($j + 1)) * log_normal_rate($b, $k, $j);
	}
	return $sum * $step;
}

# The expected rate of a layer of so many words and hashes that holds n items.
sub expected_rate
{
	my ($words, $k, $n) = @_;
	my $blocks = format_reader::blocks_of($words);
	my $b = 64 * $words / $blocks;

	return 0 if $n == 0;
	return $rates{"$words $k $n"} //= $blocks > 1 ? poisson_rate($blocks, $b, $k, $n)
	  : $n <= 4 * $k ? exact_rate($b, $k, $n) : log_normal_rate($b, $k, $n);
}

#
# Size of a layer
#

# The first number of words, from this one on, that a layer can have.
sub round_up
{
	my ($words) = @_;
	my $blocks = format_reader::blocks_of($words);

	return $blocks * ceil($words / $blocks);
}

# The smallest number of words with which one of some numbers of hashes keeps the rate.
sub smallest_words
{
	my ($n, $p, @hashes) = @_;
	my $keeps = sub { my $words = round_up($_[0]); any { expected_rate($words, $_, $n) <= $p } @hashes };
	# more words err less, but where the layer is first cut into blocks
	my ($below, $enough) = $keeps->(ONE_BLOCK) ? (0, ONE_BLOCK) : (ONE_BLOCK, 2 * ONE_BLOCK);

	if ($below)
	{
		($below, $enough) = ($enough, 2 * $enough) until $keeps->($enough);
	}
	# it is near the textbook's number, which saves most of the search
	my $near = -$n * log($p) / log(2)**2 / 64;
	for (floor($near * 0.98) - 3, ceil($near * 1.01), ceil($near * 1.05) + 4)
	{
		next if $_ <= $below || $_ >= $enough;
		$keeps->($_) ? $enough = $_ : $below = $_;
	}
	while ($enough - $below > 1)
	{
		my $middle = int(($below + $enough) / 2);

		$keeps->($middle) ? $enough = $middle : $below = $middle;
	}
	my $words = round_up($enough);
	# nor where a last, smaller block would begin: all blocks get smaller by it
	my $whole = BLOCK_WORDS * (format_reader::blocks_of($words) - 1);
	return $whole > ONE_BLOCK && $keeps->($whole) ? $whole : $words;
}

# Words and hashes of a layer for n items at rate p.
sub shape
{
	my ($n, $p) = @_;
	my $bits = log2(1 / $p);

	$shapes{"$n $p"} //= do {
		my $words = smallest_words($n, $p, max(1, floor($bits) - 1) .. ceil($bits) + 1);
		my $hashes = 1;

		$hashes++ until expected_rate($words, $hashes, $n) <= $p;
		[ $words, $hashes ];
	};
	return @{ $shapes{"$n $p"} };
}

# A layer without items.
sub new_layer
{
	my ($value, $capacity, $p) = @_;
	my ($words, $hashes) = shape($capacity, $p);
	my $blocks = format_reader::blocks_of($words);

	return {
		words => $words, hashes => $hashes, blocks => $blocks,
		block_bits => 64 * $words / $blocks,
		capacity => $capacity, items => 0, bits_set => 0,
		bits => "\0" x ($words * ($value->{counting} ? 32 : 8)) };
}

sub first_share
{
	my ($capacity) = @_;

	return $capacity <= 100 ? 1 / 2 : FIRST_SHARE;
}

#
# When a layer is full
#

# How many items were offered until n of them changed a bit.
sub offered
{
	my ($words, $k, $n) = @_;
	my $rate = sub { (-expm1(-$k * $_[0] / (64 * $words)))**$k };
	my ($before, $o) = (0, $n);

	while (abs($o - $before) > 1e-12 * $n)
	{
		my $h = $o / 8;

		$before = $o;
		$o = $n + $h / 3 * ($rate->(0) + $rate->($o) + sum0 map { ($_ % 2 ? 4 : 2) * $rate->($_ * $h) } 1 .. 7);
	}
	return $o;
}

sub offered_rate
{
	my ($layer, $n) = @_;
	my ($words, $k) = @$layer{qw(words hashes)};

	return expected_rate($words, $k, offered($words, $k, $n));
}

# How many items a layer can still take, one of so many that keep fpr together.
sub room
{
	my ($layer, $fpr, $layers) = @_;
	my ($words, $k, $capacity, $items) = @$layer{qw(words hashes capacity items)};

	return $capacity - $items if $fpr <= 0.01;
	my $limit = $layers == 1 ? FULL_SHARE * $fpr : FULL_EXCESS * expected_rate($words, $k, $capacity);
	my $full = $full{"$words $k $capacity $limit"} //= do {
		my ($fits, $beyond) = (0, $capacity + 1);

		while ($beyond - $fits > 1)
		{
			my $middle = int(($fits + $beyond) / 2);

			offered_rate($layer, $middle) <= $limit ? $fits = $middle : $beyond = $middle;
		}
		$fits;
	};
	return max(0, $full - $items);
}

#
# Next layer
#

# No more than the layer could hold at fpr by the textbook.
sub believed_capacity
{
	my ($layer, $fpr) = @_;
	my ($m, $k) = (64 * $layer->{words}, $layer->{hashes});

	return min($layer->{capacity}, ceil(-$m / $k * log(1 - $fpr**(1 / $k))));
}

# Capacity and rate of the layer after these, for so many items that found no room.
sub next_layer
{
	my ($fpr, $items, @layers) = @_;
	my $capacities = sum0 map { believed_capacity($_, $fpr) } @layers;
	my $unused = $fpr - sum0 map { min(offered_rate($_, $_->{capacity}), FULL_SHARE * $fpr) } @layers;

	return (max(floor($capacities / 2), 50, $items), max($unused / 4, $fpr * 1e-6));
}

#
# Values
#

# bloom_new(capacity, fpr, counting)
sub new_value
{
	my ($capacity, $fpr, $counting) = @_;
	my %value = (kind => 0, counting => $counting // 0, windowed => 0, fpr => $fpr);

	$value{layers} = [ new_layer(\%value, $capacity, $fpr * first_share($capacity)) ];
	return \%value;
}

# bloom_window(width, slices, fpr)
sub new_window
{
	my ($width, $slices, $fpr) = @_;

	return { kind => 0, counting => 0, windowed => 1, fpr => $fpr,
		width => $width, floor => NEVER_EXPIRED, slices => $slices, layers => [] };
}

# The hash of an item that comes in: the value's kind is integer now.
sub hash_of
{
	my ($value, $item) = @_;
	my ($x) = format_reader::murmur3(format_reader::canonical_bytes('integer', $item));

	$value->{kind} = 1;
	return $x;
}

# Set the positions of an item, or count them; returns whether one of them was new.
sub put
{
	my ($value, $layer, $x) = @_;
	my (undef, @positions) = format_reader::positions($layer, $x);
	my ($width, $most) = $value->{counting} ? (4, 15) : (1, 1);
	my $before = $layer->{bits_set};

	for (@positions)
	{
		my $set = vec $layer->{bits}, $_, $width;

		$layer->{bits_set}++ if $set == 0;
		vec($layer->{bits}, $_, $width) = min($most, $set + 1);
	}
	return $layer->{bits_set} > $before;
}

# Put new items into the newest layer, of a slice in a window, that has room, or into one more.
# Which of them go where, if they do not fit in one, is not said.
sub place
{
	my ($value, $hashes, $slice) = @_;
	my @layers = grep { !defined $slice || $_->{slice} == $slice } @{ $value->{layers} };
	my $fpr = defined $slice ? slice_fpr($value) : $value->{fpr};
	my ($layer) = grep { room($_, $fpr, scalar @layers) } reverse @layers;

	die "no room for all\n" if $layer && @$hashes > room($layer, $fpr, scalar @layers);
	if (!$layer)
	{
		my ($capacity, $rate) = defined $slice ? next_of_slice($value, $slice, scalar @$hashes, @layers)
		  : next_layer($fpr, scalar @$hashes, @layers);

		$layer = insert_layer($value, $slice, $capacity, $rate);
	}
	put($value, $layer, $_) for @$hashes;
	$layer->{items} += @$hashes;
	return;
}

# Make a layer behind all others of its slice.
sub insert_layer
{
	my ($value, $slice, $capacity, $rate) = @_;
	my $layer = new_layer($value, $capacity, $rate);
	my $before = grep { !defined $slice || $_->{slice} <= $slice } @{ $value->{layers} };

	$layer->{slice} = $slice;
	splice @{ $value->{layers} }, $before, 0, $layer;
	return $layer;
}

# bloom_add(filter, items)
sub add
{
	my ($value, @items) = @_;
	my @hashes = map { hash_of($value, $_) } @items;

	return add_counting($value, @hashes) if $value->{counting};
	for my $layer (@{ $value->{layers} })
	{
		@hashes = grep { !format_reader::holds($value, $layer, $_) } @hashes;
	}
	place($value, [ uniq @hashes ]) if @hashes;
	return;
}

#
# Counting
#

# The number of items that the bits stand for.
sub items_by_bits
{
	my ($layer) = @_;
	my $m = 64 * $layer->{words};
	my ($blocks, $b, $k) = @$layer{qw(blocks block_bits hashes)};
	my $u = max(0.5, $m - $layer->{bits_set});

	return log($u / $m) / ($k * log1p(-1 / $m)) if $blocks == 1;
	return $blocks * log($u / $m) / expm1($k * log1p(-1 / $b));
}

sub add_counting
{
	my ($value, @hashes) = @_;
	my ($layer) = @{ $value->{layers} };

	for (@hashes)
	{
		die "full\n" unless room($layer, $value->{fpr}, 1) || format_reader::holds($value, $layer, $_);
		$layer->{items}++ if put($value, $layer, $_);
	}
	return;
}

# bloom_remove(filter, item)
sub remove
{
	my ($value, $item) = @_;
	my $x = hash_of($value, $item);
	my ($layer) = @{ $value->{layers} };
	my (undef, @positions) = format_reader::positions($layer, $x);
	my $before = $layer->{bits_set};

	return unless format_reader::holds($value, $layer, $x);
	for (@positions)
	{
		my $counter = vec $layer->{bits}, $_, 4;

		next if $counter == 0 || $counter == 15;
		vec($layer->{bits}, $_, 4) = $counter - 1;
		$layer->{bits_set}-- if $counter == 1;
	}
	my $estimate = items_by_bits($layer);
	$layer->{items}-- if $layer->{bits_set} < $before;
	$layer->{items} = min($layer->{capacity}, ceil($estimate), max(floor($estimate), $layer->{items}));
	return;
}

#
# Windows
#

# The rate of each slice.
sub slice_fpr
{
	my ($value) = @_;

	return $value->{fpr} / ($value->{slices} + 1);
}

# The items to expect in a slice by the two before it, or nothing if there is none.
sub usual_items
{
	my ($value, $slice) = @_;
	my %items;

	$items{ $_->{slice} } += min($_->{items}, believed_capacity($_, slice_fpr($value))) for grep { $_->{slice} < $slice } @{ $value->{layers} };
	my @newest = sort { $b <=> $a } keys %items;
	splice @newest, 2 if @newest > 2;
	return unless @newest;
	return 17 / 16 * sum0(@items{@newest}) / @newest;
}

# Capacity and rate of a slice's next layer, for so many items at least, after these.
sub next_of_slice
{
	my ($value, $slice, $items, @layers) = @_;
	my $fpr = slice_fpr($value);
	my $usual = usual_items($value, $slice);

	unless (@layers)
	{
		return (max(50, $items), $fpr / 2) unless defined $usual;
		return (max(ceil($usual), 16, $items), $fpr * FIRST_SHARE);
	}
	my ($capacity, $rate) = next_layer($fpr, $items, @layers);
	if (defined $usual)
	{
		$capacity = max(floor($layers[0]{capacity} / 8), 16, $items) if @layers == 1;
		$capacity = max($capacity, ceil($usual) - sum0 map { $_->{capacity} } @layers);
	}
	return ($capacity, $rate);
}

# The hashes of exposures, which are pairs of item and time, by their newest slices.
sub by_slice
{
	my ($value, @exposures) = @_;
	my (%newest, %hashes);

	for (@exposures)
	{
		my ($item, $time) = @$_;
		my $x = hash_of($value, $item);
		my $slice = format_reader::slice_of($value, $time);

		next if $time < $value->{floor};
		$newest{$x} = $slice if !defined $newest{$x} || $slice > $newest{$x};
	}
	push @{ $hashes{ $newest{$_} } }, $_ for keys %newest;
	return %hashes;
}

# The first slice of the window that ends where a slice begins.
sub window_start
{
	my ($value, $slice) = @_;
	my $time = $slice * format_reader::slice_length($value) - $value->{width};

	# A time too large for an integer has been rounded.
	return $time <= NEVER_EXPIRED ? NEVER_EXPIRED : format_reader::slice_of($value, $time);
}

# The slice that is taken for the present, of some: the newest, or the second newest if
# that lies before its window.
sub present
{
	my ($value, %slices) = @_;
	my ($newest, $second) = sort { $b <=> $a } keys %slices;

	return defined $second && $second < window_start($value, $newest) ? $second : $newest;
}

# Drop the slices that leave the window, if what is added moves the present on.
sub drop_old_slices
{
	my ($value, $hashes) = @_;
	my %slices = map { ($_->{slice} => 1) } @{ $value->{layers} };
	my $before = present($value, %slices);
	my $present = present($value, %slices, map { ($_ => 1) } keys %$hashes);

	return if !defined $present || defined $before && $present <= $before;
	my $start = window_start($value, $present);
	@{ $value->{layers} } = grep { $_->{slice} >= $start } @{ $value->{layers} };
	delete $hashes->{$_} for grep { $_ < $start } keys %$hashes;
	return;
}

# bloom_add_at(filter, items, times)
sub add_at
{
	my ($value, @exposures) = @_;
	my %hashes = by_slice($value, @exposures);

	for my $slice (keys %hashes)
	{
		for my $layer (grep { $_->{slice} >= $slice } @{ $value->{layers} })
		{
			@{ $hashes{$slice} } = grep { !format_reader::holds($value, $layer, $_) } @{ $hashes{$slice} };
		}
	}
	delete $hashes{$_} for grep { !@{ $hashes{$_} } } keys %hashes;
	drop_old_slices($value, \%hashes);
	place($value, $hashes{$_}, $_) for sort { $a <=> $b } keys %hashes;
	return;
}

# bloom_window_agg(item, time, width, slices, fpr)
sub aggregate_window
{
	my ($width, $slices, $fpr, @exposures) = @_;
	my $value = new_window($width, $slices, $fpr);
	my %hashes = by_slice($value, @exposures);

	for my $slice (sort { $a <=> $b } keys %hashes)
	{
		my @hashes = @{ $hashes{$slice} };
		my $layer = insert_layer($value, $slice, scalar @hashes, slice_fpr($value) * FIRST_SHARE);

		put($value, $layer, $_) for @hashes;
		$layer->{items} = @hashes;
	}
	return $value;
}

# bloom_expire(filter, at)
sub expire
{
	my ($value, $at) = @_;
	my $floor = $at - $value->{width};

	return if $floor <= $value->{floor};
	$value->{floor} = $floor;
	my $first = format_reader::slice_of($value, $floor);
	@{ $value->{layers} } = grep { $_->{slice} >= $first } @{ $value->{layers} };
	return;
}

#
# Unions
#

# The bits of both layers, or their counters added up.
sub merge_bits
{
	my ($value, $first, $second) = @_;
	my ($bits, $added) = ($first->{bits}, $second->{bits});

	return ($bits | $added, unpack '%32b*', $bits | $added) unless $value->{counting};
	vec($bits, $_, 4) = min(15, vec($bits, $_, 4) + vec($added, $_, 4)) for 0 .. 2 * length($bits) - 1;
	return ($bits, unpack('H*', $bits) =~ tr/0//c);
}

# The merged layer of two of one shape and slice.
sub merge
{
	my ($value, $first, $second) = @_;
	my %merged = %$first;

	@merged{qw(bits bits_set)} = merge_bits($value, $first, $second);
	$merged{items} = $second->{items} if $merged{bits_set} == $second->{bits_set};
	$merged{items} = min($first->{items} + $second->{items}, max($first->{items}, $second->{items}, ceil(items_by_bits(\%merged))))
	  if $merged{bits_set} != $second->{bits_set} && $merged{bits_set} != $first->{bits_set};
	$merged{capacity} = min($first->{capacity}, $second->{capacity});
	return \%merged;
}

# Whether all slices of one window come before those of the other.
sub follow_each_other
{
	my ($first, $second) = map { [ map { $_->{slice} } @{ $_->{layers} } ] } @_;

	return $_[0]{windowed} && (!@$first || !@$second || max(@$first) < min(@$second) || max(@$second) < min(@$first));
}

# bloom_union(first, second)
sub unite
{
	my ($first, $second) = @_;
	my $sum = follow_each_other($first, $second) ? 0 : min(BELOW_1, $first->{fpr} + $second->{fpr});
	my %united = (%$first, layers => [ @{ $first->{layers} } ], fpr => max($first->{fpr}, $second->{fpr}, $sum));

	$united{kind} ||= $second->{kind};
	$united{floor} = min($first->{floor}, $second->{floor}) if $first->{windowed};
	my @taken;
	layer: for my $layer (@{ $second->{layers} })
	{
		for my $i (reverse 0 .. $#{ $first->{layers} })
		{
			my $other = $first->{layers}[$i];

			next if grep { ($layer->{$_} // 0) != ($other->{$_} // 0) } qw(words hashes slice);
			if (!$taken[$i] && $layer->{items} + $other->{items} <= min($layer->{capacity}, $other->{capacity}))
			{
				$united{layers}[$i] = merge($first, $other, $layer);
				$taken[$i] = 1;
				next layer;
			}
			next layer if !$first->{counting} && !grep { $layer->{$_} ne $other->{$_} } qw(capacity items bits);
		}
		push @{ $united{layers} }, $layer;
	}
	# sort is stable
	@{ $united{layers} } = sort { $a->{slice} <=> $b->{slice} } @{ $united{layers} }
	  if $united{windowed};
	return \%united;
}

#
# Bytes
#

sub bytes
{
	my ($value) = @_;
	my @layers = @{ $value->{layers} };
	my $flags = $value->{kind} | $value->{counting} << 4 | $value->{windowed} << 5;

	return join '',
	  pack('CCvVd<', 1, $flags, scalar @layers, 0, $value->{fpr}),
	  $value->{windowed} ? pack('q<q<VV', @$value{qw(width floor slices)}, 0) : '',
	  (map {
		  pack('VVVV', $_->{words} | $_->{hashes} << 26, @$_{qw(capacity items bits_set)})
			. ($value->{windowed} ? pack('q<', $_->{slice}) : '') } @layers),
	  map { $_->{bits} } @layers;
}

1;
