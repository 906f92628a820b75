# The C source is laid out as clang-format does it by the settings in .clang-format, except for
# columns: PostgreSQL puts the names of variables, and comments beside code, at tab stops, which
# clang-format does not know.  So white space within a line is not compared.

use strict;
use warnings;

use FindBin;
use Test::More;

chdir "$FindBin::RealBin/../.." or die $!;
plan skip_all => 'there is no .clang-format, as in the archive of a release'
  if !-e '.clang-format';

# Other versions lay some lines out differently.
my ($program) = grep { (`$_ --version 2>&1` // '') =~ /\bversion 14\./ }
  qw(clang-format-14 clang-format);
plan skip_all => 'there is no clang-format 14' if !$program;

for my $file (sort glob 'src/*.[ch] src/*/*.[ch]')
{
	open(my $source, '<', $file) or die "$file: $!";
	open(my $output, '-|', $program, '-style=file', $file) or die "$program: $!";
	my @is = <$source>;
	my @should_be = <$output>;

	s/(?<=\S)[ \t]+(?=\S)/ /g for @is, @should_be;
	push @is, ('') x (@should_be - @is);
	my ($first) = grep { $is[$_] ne ($should_be[$_] // '') } 0 .. $#is;
	ok(!defined $first, $file)
	  or diag sprintf "line %d is\n%sand should be\n%s", $first + 1, $is[$first],
	  $should_be[$first];
}

done_testing();
