# doc/internals/format.md is the contract of the bytes: a reader that was written from it
# alone (test/lib/format_reader.pl) must see in the golden values what the server sees, and
# the worked examples must be true.

use utf8;
use Server;
no warnings 'portable';

require "$root/test/lib/format_reader.pl";

my $node = start_server('format');
$node->safe_psql('postgres', 'CREATE EXTENSION bloomexp');

# The golden values of the regression test, whatever their bytes are now: items of each, and
# others, in the form that the reader takes, and what the server says of them.
$node->safe_psql('postgres', slurp_file("$root/sql/golden.sql"));
$node->safe_psql('postgres', q{
	CREATE FUNCTION contains_each(filter bloom, kind text, items text[]) RETURNS boolean[]
		LANGUAGE sql AS $$
		SELECT CASE kind
			WHEN 'integer' THEN bloom_contains_each(filter, items::bigint[])
			WHEN 'text' THEN bloom_contains_each(filter, items)
			WHEN 'uuid' THEN bloom_contains_each(filter, items::uuid[])
			WHEN 'bytea' THEN bloom_contains_each(filter, items::bytea[])
		END
	$$;
	CREATE FUNCTION others(kind text) RETURNS text[] LANGUAGE sql AS $$
		SELECT array_agg(CASE kind
			WHEN 'integer' THEN (-1000000 - i)::text
			WHEN 'text' THEN 'other ' || i
			WHEN 'uuid' THEN md5('other ' || i)
			WHEN 'bytea' THEN sha256(('other ' || i)::bytea)::text
		END)
		FROM generate_series(1, 1000) AS i
	$$});

for (split /\n/, $node->safe_psql('postgres', q{
		SELECT name, kind, filter, cardinality(items),
			array_to_string(contains_each(filter, kind, items || others(kind))::integer[], ''),
			(SELECT string_agg(CASE kind WHEN 'text' THEN convert_to(item, 'UTF8')::text
			 ELSE item END, ' ' ORDER BY i)
			 FROM unnest(items || others(kind)) WITH ORDINALITY AS u (item, i))
		FROM (SELECT name, kind, filter, items[:2000] FROM golden
			ORDER BY name COLLATE "C") AS g (name, kind, filter,
			items)}))
{
	my ($name, $kind, $filter, $members, $contained, $items) = split /\|/;
	my $value = format_reader::parse(format_reader::unhex($filter));
	my @answers = map { format_reader::contains($value, $kind, $_) ? 1 : 0 } split / /, $items;

	is(join('', @answers), $contained, "$name: reader and server say the same of "
		. @answers . ' items');
	is(substr($contained, 0, $members), 1 x $members, "$name: which contains its items");
}

# The worked examples: an indented SELECT, then indented lines that say what its value
# consists of, and how an item came to its positions.
open my $document, '<:utf8', "$root/clients/conformance/examples.md" or die $!;
my @examples = split /^## /m, do { local $/; <$document> };
shift @examples;
cmp_ok(scalar @examples, '>', 4, 'there are worked examples');

for my $example (@examples)
{
	my ($title) = $example =~ /^(.*)/;
	my ($sql) = $example =~ /^    (SELECT .*?;)$/ms;
	my $filter = $node->safe_psql('postgres', $sql);
	my $value = format_reader::parse(format_reader::unhex($filter));
	my @layers = @{ $value->{layers} };
	my @bytes = $example =~ /^    ((?:[0-9a-f]{2} ?)+)(?:  .*)?$/mg;

	# Examples with blocks do not show their bytes, which would be too many.
	if (@bytes)
	{
		is("\\x" . join('', @bytes) =~ tr/ //dr, $filter, "$title: bytes");
		my @said = map { /\d+/g }
		  $example =~ /^    [0-9a-f ]+ (?:\w+ layer: )?bits? (\d[\d, and]*)$/mg;
		my @set = map { my $layer = $_; grep { format_reader::is_set($value, $layer,
			$_) } 0 .. 64 * $layer->{words} - 1 } @layers;
		is("@said", "@set", "$title: the bits said to be set are") unless $value->{counting};
		my @numbers = $example =~ /^    [0-9a-f ]+ (?:width|floor|slice) (-?\d+)/mg;
		is("@numbers", join(' ', @$value{qw(width floor)}, map { $_->{slice} } @layers),
		  "$title: its times")
		  if $value->{windowed};
	}

	my (undef, @items) = map { s/\n(?:\n.*)?\z//sr } split /^    (?=item )/m, $example;
	ok(scalar @items, "$title: it has items");
	is($_, explained($value, $_), "$title: an item") for @items;
}

# What an example says of an item: all but its name, its time and its words is computed.
sub explained
{
	my ($value, $text) = @_;
	my @layers = @{ $value->{layers} };
	my ($name) = $text =~ /^item +(.*)/;
	my ($kind, $item) = $value->{kind} == 1 ? ('integer', $name)
	  : ('text', '\x' . unpack 'H*', $name);
	my $bytes = format_reader::canonical_bytes($kind, $item);
	my ($x) = format_reader::murmur3($bytes, 0);
	my @lines = ([ item => $name ], [ canonical => join ' ', unpack '(H2)*', $bytes ],
		[ x => sprintf '0x%016x', $x ]);

	if ($value->{windowed})
	{
		my ($time) = $text =~ /^    slice +(-?\d+)/m;
		my $length = format_reader::slice_length($value);

		push @lines, [ slice => "$time / $length = " . format_reader::slice_of($value, $time) ];
	}
	if ($layers[0]{blocks} > 1)
	{
		my ($words, $blocks, $size) = @{ $layers[0] }{qw(words blocks block_bits)};
		my ($block) = format_reader::positions($layers[0], $x);

		push @lines, [ blocks => "$blocks = ⌈$words / 250⌉ of $size positions" ],
		  [ block => "(x × $blocks) >> 64 = $block, from position $block × $size = "
		  	. $block * $size ];
	}
	if ($text =~ /^    g /m)
	{
		my ($c, $m) = (0x9E3779B97F4A7C15, $layers[0]{block_bits});
		my $g = format_reader::times64(format_reader::plus64($x, $c),
			format_reader::times64($c, 2 * $layers[0]{words} + 1));

		for (1 .. $layers[0]{hashes})
		{
			push @lines, [ g => sprintf '0x%016x      %d × %d >> 32 = %d', $g, $g >> 32, $m,
				($g >> 32) * $m >> 32 ];
			$g = format_reader::times64($g, 0xD1342543DE82EF95);
		}
		@layers = ();
	}
	for my $number (1 .. @layers)
	{
		my (undef, @positions) = format_reader::positions($layers[ $number - 1 ], $x);
		my $missing = grep { !format_reader::is_set($value, $layers[ $number - 1 ],
			$_) } @positions;
		my ($words) = $missing
		  ? $text =~ /^    layer $number .*(: (?:not|none of them) set)$/m : '';

		push @lines, [ "layer $number" => join(', ', @positions) . ($words // ' (not set)') ];
	}
	return join "\n    ", map { sprintf '%-11s %s', @$_ } @lines;
}

$node->stop;
done_testing();
