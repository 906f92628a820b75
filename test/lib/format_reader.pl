# test/lib/format_reader.pl
#
# A second reader of bloom values, written from doc/internals/format.md and nothing else:
# if it and the server disagree, one of them or the document is wrong.  Perl programs
# "require" this file and call its functions.

package format_reader;

use strict;
use warnings;
no warnings 'portable';    # this needs a Perl with 64-bit integers, and any has them now

use constant {
	VERSION => 1,
	MAX_BYTES => 500 * 1024 * 1024 - 4,
	BLOCKED_FROM => 4096,
	BLOCK_WORDS => 250,
	START => 0x9E3779B97F4A7C15,
	STEP => 0xD1342543DE82EF95,
};

my %number_of_kind = (integer => 1, text => 2, uuid => 3, bytea => 4);

# Arithmetic modulo 2^64.  "use integer" wraps around, but is signed: a shift or a
# comparison must be made without it.

sub times64 { use integer; return $_[0] * $_[1] }
sub plus64 { use integer; return $_[0] + $_[1] }
sub rotate64 { return $_[0] << $_[1] | $_[0] >> 64 - $_[1] }

sub avalanche
{
	my ($h) = @_;

	$h = times64($h ^ $h >> 33, 0xFF51AFD7ED558CCD);
	$h = times64($h ^ $h >> 33, 0xC4CEB9FE1A85EC53);
	return $h ^ $h >> 33;
}

# MurmurHash3 x64 128 of a string of bytes: two numbers of 64 bits.
sub murmur3
{
	my ($bytes) = @_;
	my ($c1, $c2) = (0x87C37B91114253D5, 0x4CF5AD432745937F);
	my ($h1, $h2) = (0, 0);
	my $length = length $bytes;
	my $whole = $length - $length % 16;
	my @words = unpack 'Q<*', $bytes . "\0" x (-$length % 16);

	for (my $i = 0; $i < $length; $i += 16)
	{
		my $k1 = times64(rotate64(times64(shift @words, $c1), 31), $c2);
		my $k2 = times64(rotate64(times64(shift @words, $c2), 33), $c1);

		$h1 ^= $k1;
		if ($i == $whole)    # the tail, with zeros behind it
		{
			$h2 ^= $k2;
			last;
		}
		$h1 = plus64(times64(plus64(rotate64($h1, 27), $h2), 5), 0x52DCE729);
		$h2 ^= $k2;
		$h2 = plus64(times64(plus64(rotate64($h2, 31), $h1), 5), 0x38495AB5);
	}

	$h1 ^= $length;
	$h2 ^= $length;
	$h1 = plus64($h1, $h2);
	$h2 = plus64($h2, $h1);
	$h1 = avalanche($h1);
	$h2 = avalanche($h2);
	$h1 = plus64($h1, $h2);
	$h2 = plus64($h2, $h1);
	return map { $_ & 0xFFFFFFFFFFFFFFFF } $h1, $h2;
}

# The bytes of a value in its text form.
sub unhex
{
	my ($text) = @_;

	$text =~ /^\\x((?:[0-9a-fA-F]{2})*)\z/ or die "not hexadecimal\n";
	return pack 'H*', $1;
}

# The canonical bytes of an item: of its number, of the uuid's text form, or of its bytes
# in hexadecimal digits behind \x.
sub canonical_bytes
{
	my ($kind, $item) = @_;

	return pack 'q<', $item if $kind eq 'integer';
	return pack 'H*', $item =~ tr/-//dr if $kind eq 'uuid';
	return unhex($item);
}

sub blocks_of
{
	my ($words) = @_;

	return $words <= BLOCKED_FROM ? 1 : int(($words + BLOCK_WORDS - 1) / BLOCK_WORDS);
}

# Unpack a value (its bytes) into a hash of fields.  Dies with a message if the value is invalid.
sub parse
{
	my ($bytes) = @_;
	my $size = length $bytes;
	my %value = (layers => []);

	die "too long\n" if $size > MAX_BYTES;
	die "shorter than its header\n" if $size < 1;
	die "format version\n" if ord $bytes != VERSION;
	die "shorter than its header\n" if $size < 16;
	(undef, my $flags, my $nlayers, my $reserved, $value{fpr}) = unpack 'CCvVd<', $bytes;
	$value{kind} = $flags & 15;
	$value{counting} = $flags >> 4 & 1;
	$value{windowed} = $flags >> 5 & 1;
	die "kind\n" if $value{kind} > 4;
	die "reserved flag\n" if $flags >> 6;
	die "reserved field\n" if $reserved;
	die "counting and windowed\n" if $value{counting} && $value{windowed};
	die "fpr\n" unless $value{fpr} >= 1e-9 && $value{fpr} < 1;
	die "no layer\n" if $nlayers == 0 && !$value{windowed};
	die "too many layers\n" if $nlayers > 4096;
	die "layers of a counting value\n" if $nlayers > 1 && $value{counting};

	my $at = 16;
	if ($value{windowed})
	{
		die "shorter than its header\n" if $size < 40;
		(@value{qw(width floor slices)}, $reserved) = unpack 'q<q<VV', substr $bytes, $at, 24;
		die "width\n" if $value{width} < 1;
		die "slices\n" if $value{slices} < 1 || $value{slices} > 1000;
		die "reserved field\n" if $reserved;
		$at = 40;
	}

	my $header_size = $value{windowed} ? 24 : 16;
	my $next = $at + $nlayers * $header_size;
	die "shorter than its layers' headers\n" if $size < $next;
	for (1 .. $nlayers)
	{
		my %layer;

		(my $shape, @layer{qw(capacity items bits_set slice)}) =
		  unpack $value{windowed} ? 'VVVVq<' : 'VVVV', substr $bytes, $at, $header_size;
		$at += $header_size;

		my $words = $shape & 0x3FFFFFF;
		my $blocks = blocks_of($words);
		$layer{hashes} = $shape >> 26;
		die "words or hashes\n" if $words == 0 || $layer{hashes} == 0;
		die "unequal blocks\n" if $words % $blocks;
		die "capacity\n" if $layer{capacity} == 0;
		die "capacity beyond bits\n" if $layer{capacity} > 64 * 64 * $words;
		die "more items than capacity\n" if $layer{items} > $layer{capacity};
		die "items of no kind\n" if $layer{items} && $value{kind} == 0;
		die "order of slices\n" if $value{windowed} && @{ $value{layers} }
		  && $layer{slice} < $value{layers}[-1]{slice};
		@layer{qw(words blocks block_bits)} = ($words, $blocks, $words / $blocks * 64);
		@layer{qw(offset size)} = ($next, $words * ($value{counting} ? 32 : 8));
		$next += $layer{size};
		push @{ $value{layers} }, \%layer;
	}
	die "length is not the sum of the parts\n" if $size != $next;

	for my $layer (@{ $value{layers} })
	{
		$layer->{bits} = substr $bytes, $layer->{offset}, $layer->{size};
		# of half bytes that are not 0, or of bits that are 1
		my $set = $value{counting} ? unpack('H*', $layer->{bits}) =~ tr/0//c
		  : unpack '%32b*', $layer->{bits};
		# a checksum of 32 bits: 0 may be 2^32, but no value is so large
		die "bits set\n" if $set != $layer->{bits_set};
		next if $value{counting};
		die "more bits set than items explain\n" if $set > $layer->{items} * $layer->{hashes};
		die "more items than bits set explain\n"
		  if $layer->{items} > most_items(\%value, $layer, $set);
	}
	return \%value;
}

# The bytes of a value, as parse() returns it.
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

# Return the most items that are credible: more would leave more than $set bits set, and would not
# fit at the promised rate.
sub most_items
{
	my ($value, $layer, $set) = @_;
	my ($k, $positions) = ($layer->{hashes}, 64 * $layer->{words});
	my $unset = $set < $positions ? $positions - $set : 0.5;
	my $from_bits = $positions / $k * (log($positions / $unset) + 1 + 44 / $unset);
	my $misses = 1 - $value->{fpr}**(1 / $k);
	my $by_rate = $misses > 0 ? -$positions / $k * log($misses) : 9**9**9;

	return 0 if $set == 0;
	return $from_bits > $by_rate ? $from_bits : $by_rate;
}

# Where an item of hash $x stands in a layer: its block's number, then its positions.
sub positions
{
	my ($layer, $x) = @_;
	# of the product's 128 bits the upper half; blocks has few bits, so this does
	my $block = (($x >> 32) * $layer->{blocks} + (
		($x & 0xFFFFFFFF) * $layer->{blocks} >> 32)) >> 32;
	my $g = times64(plus64($x, START), times64(START, 2 * $layer->{words} + 1));
	my @positions;

	for (1 .. $layer->{hashes})
	{
		push @positions, $block * $layer->{block_bits} + (($g >> 32) * $layer->{block_bits} >> 32);
		$g = times64($g, STEP);
	}
	return ($block, @positions);
}

# Whether position $i is set: in Perl, too, the low half of a byte comes first.
sub is_set
{
	my ($value, $layer, $i) = @_;

	return vec $layer->{bits}, $i, $value->{counting} ? 4 : 1;
}

# Whether a layer contains the item of hash $x.
sub holds
{
	my ($value, $layer, $x) = @_;
	my (undef, @positions) = positions($layer, $x);

	for (@positions)
	{
		return 0 unless is_set($value, $layer, $_);
	}
	return 1;
}

# Whether a parsed value contains an item.
sub contains
{
	my ($value, $kind, $item) = @_;
	my $number = $number_of_kind{$kind} or die "no such kind\n";
	my ($x) = murmur3(canonical_bytes($kind, $item));

	die "value holds another kind\n" if $value->{kind} && $value->{kind} != $number;
	return scalar grep { holds($value, $_, $x) } @{ $value->{layers} };
}

# Return the length of a slice, rounded up, and the number of the slice in which a time lies,
# rounded down.  Both are integer arithmetic that must not overflow.
sub slice_length
{
	my ($value) = @_;
	use integer;

	return $value->{width} / $value->{slices} + ($value->{width} % $value->{slices} ? 1 : 0);
}

sub slice_of
{
	my ($value, $time) = @_;
	my $length = slice_length($value);
	use integer;

	return $time / $length - ($time % $length < 0 ? 1 : 0);
}

1;
