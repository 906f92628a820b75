# Figures: what README and the benchmarks' page say was measured stands in RESULTS.md of a folder
# of bench/.  Other pages link to these two.
#
# A paragraph, list item or row of a table with a measured figure names, at its end, its lines of
# RESULTS.md,
#
#	<!-- bench/feed: INSERT of ten > trigger; Bulk loads -->
#
# each by its first cells, preceded by the heading of its section if these are not unique.  A
# heading alone names the whole section, and an empty name the text above the first heading.  A
# comment in the last cell of a table's first row is for all of its rows.  Each figure must be in
# the named lines, rounded as the page has it.  Other figures have <!-- not in RESULTS.md: why -->.

use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::RealBin/../lib";

use Documents;
use Test::More;

binmode(Test::More->builder->$_, ':encoding(UTF-8)') for qw(output failure_output);

my $root = "$FindBin::RealBin/../..";
my $number = qr/(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?!\w|[.,]\d)/;
my $unit = qr/(?:ns|µs|ms|s|[kMG]B|bytes?|blocks|seconds|minutes|hours|%|times|per second)(?!\w)/;

# Figures that are not measurements, wherever they stand.
my %setting = (
	'0.1%' => 'a target rate', '1%' => 'a target rate', '5%' => 'a target rate',
		'3%' => 'the sum of three rates', '20%' => 'the headroom',
	'8 kB' => 'a page', '50%' => 'what a tenth of the rate takes, by the formula',
		'1,000,000 bytes' => 'a MB',
	'8 bytes' => 'a packed integer', '24 bytes' => 'the header of a layer, by the format',
	'32 bytes' => 'of a hash and an item, in bloom_agg', '1,024 bytes' => 'a limit of ANALYZE',
	'2,000 bytes' => "TOAST's limit", '4,000 bytes' => 'half a page',
		'4,080 bytes' => 'a storage setting',
	'8,100 bytes' => 'what fits into a page');

# The lines of RESULTS.md by name: of each section, "" above the first, all that it says, and each
# of its rows.
sub results
{
	my ($text) = @_;
	my ($heading, %whole, @rows) = '';

	for (split /\n/, $text)
	{
		$heading = $1, next if /^## (.*)/;
		$whole{$heading} .= "$_\n";
		push @rows, [ $heading, s/^\| //r ] if /^\| /;
	}
	return { whole => \%whole, rows => \@rows };
}

# What a name stands for; undef, if for nothing or for more than one line.
sub named
{
	my ($results, $name) = @_;
	my ($heading, $row) = $name =~ /^(.*) > (.*)$/ ? ($1, $2) : (undef, $name);
	my @found = map { $_->[1] } grep { index("$_->[1]", "$row |") == 0
		&& (!defined $heading || $_->[0] eq $heading) } @{
		$results->{rows} };

	push @found, $results->{whole}{$row} if !@found && !defined $heading
	  && exists $results->{whole}{$row};
	return @found == 1 ? $found[0] : undef;
}

# Whether a number is one of a text, as rounded as it is written, in kB or MB or not.  (Zeros at the
# end of a whole number of three digits or more may be rounded ones, but for the second digit.)
sub is_among
{
	my ($figure, $unit, $text) = @_;
	my $plain = $figure =~ tr/,//dr;
	my $step = $plain =~ /\.(\d+)$/ ? 10**-length $1 : $plain =~ /^\d\d+?(0+)$/ ? 10**length $1 : 1;
	my @scales = $unit =~ /^MB$/ ? (1, 1000, 1e6) : $unit =~ /^(?:kB|s|seconds)$/ ? (1, 1000) : (1);

	for my $measured (map { tr/,//dr } $text =~ /$number/g)
	{
		for (@scales)
		{
			return 1 if abs($measured / $_ - $plain) <= 0.5 * $step + 1e-9 * $plain;
		}
	}
	return 0;
}

# Blocks of a page: paragraphs, list items and rows, without code and headings, each with its line
# and its comments.
sub blocks_of
{
	my ($text) = @_;
	my ($n, $table, @blocks) = (0);

	$text =~ s/^```.*?^```$/"\n" x ($& =~ tr,\n,,)/mseg;
	for my $line (split /\n/, $text)
	{
		$n++;
		my $is_row = $line =~ /^\|/;
		undef $table if !$is_row;
		next if $line =~ /^(?: {4}|\t|#|\|[ :-]*---)/ && (@blocks = (@blocks, undef));
		push @blocks, undef and next if $line !~ /\S/;
		if ($is_row)
		{
			my $block = { line => $n, text => $line, row => 1, comment => join ' ',
				$line =~ /(<!--.*?-->)/g };

			$table //= $block;
			$block->{head} = 1 if $block == $table;
			$block->{comment} ||= $table->{comment};
			push @blocks, $block;
		}
		elsif (!$blocks[-1] || $blocks[-1]{row} || $line =~ /^ *(?:[-*]|\d+\\?\.) /)
		{
			push @blocks, { line => $n, text => $line };
		}
		else
		{
			$blocks[-1]{text} .= "\n$line";
		}
	}
	@blocks = grep { $_ } @blocks;
	$_->{comment} //= join ' ', $_->{text} =~ /(<!--.*?-->)/sg for @blocks;
	$_->{text} =~ s/<!--.*?-->//sg for @blocks;
	return @blocks;
}

# The figures of a block, each with its unit: numbers with one, and those of a row's cells.
sub figures
{
	my ($block) = @_;
	my @figures;
	my $text = $block->{text} =~ s/`[^`\n]*`/`…`/gr =~ s/\]\([^)\n]*\)/]/gr;

	return if $block->{head};
	push @figures, [ $1, $3 ], $2 ? [ $2, $3 ] : ()
	  while $text =~ /($number)(?: to ($number))?\s?($unit)/g;
	if ($block->{row})
	{
		my @cells = map { s/^ +| +$//gr } split /\|/, $text;
		splice @cells, 0, 2;
		for (@cells)
		{
			next if /$unit/;
			push @figures, map { [ $_, '' ] } /^(?:$number(?:, | to |$))+$/ ? /$number/g
			  : grep { /\./ } /$number/g;
		}
	}
	return @figures;
}

# What is wrong with a page.
my %results;
my %used;
sub complaints
{
	my ($page) = @_;
	my @complaints;

	for my $block (blocks_of($page))
	{
		my @figures = grep { !$setting{ $_->[0] . ($_->[1] eq '%' ? '' : ' ') . $_->[1] } }
		  figures($block);
		my $origin = '';

		next if $block->{comment} =~ /<!-- not in RESULTS.md: .+-->/;
		while ($block->{comment} =~ m{<!--\s+bench/(\w+)(?:: (.*?))?\s+-->}sg)
		{
			my ($folder, $names) = ($1, $2 // '');
			my $file = "$root/bench/$folder/RESULTS.md";

			$results{$folder} //= results(-e $file ? document($file) : '');
			for my $name ($names eq '' ? '' : split /;\s*/, $names =~ s/\s+/ /gr)
			{
				my $lines = named($results{$folder}, $name);

				push @complaints,
				  "line $block->{line}: \"$name\" is not one line of bench/$folder/RESULTS.md"
				  unless defined $lines;
				$origin .= ($lines // '') . "\n";
			}
		}
		if ($origin eq '')
		{
			# Hours and minutes are those of schedules, and a row may have one number of another
			# kind.
			my @needs = grep { $_->[1] !~ /^(?:|hours|minutes)$/ } @figures;

			@needs = @figures if grep({ $_->[1] eq '' } @figures) > 1
				&& $block->{text} =~ /\| *$number *\|(?:.*\|)? *$number *\|/;
			push @complaints, "line $block->{line}: no origin of " . join ', ',
			  map { "$_->[0] $_->[1]" =~ s/ $//r } @needs
			  if @needs;
			next;
		}
		push @complaints, map {
		  "line $block->{line}: \"$_->[0] $_->[1]\" is not in its lines of RESULTS.md" }
		  grep { !is_among(@$_, $origin) } @figures;
	}
	return join "\n", @complaints;
}

# The check fails where it should, and only there.
$results{made} = results(
	"# Made\n\nOf 24 users.\n\n## First\n\n| method | ms | bytes |\n| --- | --- | --- |\n"
	. "| trigger | 0.274 | 1,183 |\n| log | 0.16 | 56 |\n\n"
	. "## Second\n\n| method | ms |\n| --- | --- |\n| log | 7 |\n");
my %cases = (
	"It takes 0.27 ms.\n" => qr/no origin of 0\.27 ms/,
	"It takes 1,183 bytes.\n" => qr/no origin of 1,183 bytes/,
	"It takes 0.27 ms. <!-- bench/made: trigger -->\n" => qr/^$/,
	"It takes 0.28 ms. <!-- bench/made: trigger -->\n" => qr/"0\.28 ms" is not in/,
	"It takes 1.2 kB,\nor 1,180 bytes. <!-- bench/made: trigger -->\n" => qr/^$/,
	"It takes 1.3 kB. <!-- bench/made: trigger -->\n" => qr/"1\.3 kB" is not in/,
	"It takes 7 ms. <!-- bench/made: log -->\n" => qr/"log" is not one line/,
	"It takes 7 ms. <!-- bench/made: Second > log -->\n" => qr/^$/,
	"It takes 24 ms. <!-- bench/made -->\n" => qr/^$/,
	"It takes 6 to 7 ms. <!-- bench/made: Second -->\n" => qr/"6 ms" is not in/,
	"A lock of 2 s. <!-- not in RESULTS.md: a setting -->\n\nAnother of 3 s.\n" =>
	qr/^line 3: no origin of 3 s$/,
	"| m | ms | bytes |\n| --- | --- | --- |\n| trigger | 0.27 | 1,183 |\n" =>
	qr/no origin of 0\.27, 1,183/,
	"| m | ms | bytes <!-- bench/made: First --> |\n| --- | --- | --- |\n"
		. "| trigger | 0.27 | 1,183 |\n"
		. "| log | 0.17 | 56 |\n" =>
		qr/^line 4: "0\.17 " is not in its lines of RESULTS\.md$/,
	"At 1%, `1 ms`.\n\n```\n1 ms\n```\n" => qr/^$/);
for (sort keys %cases)
{
	like(complaints($_), $cases{$_}, "an example: " . s/\n/ /gr);
}

for my $file (map { "$root/$_" } 'README.md', 'doc/benchmarks.md')
{
	is(complaints(document($file)), '', $file =~ s{^\Q$root\E/}{}r);
}

done_testing();
