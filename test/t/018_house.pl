# The order of src/: which floor may include which, where a name lives, what a file
# includes, in one place what differs between releases, and how long a line may be.
#
# Each rule is a function from files to complaints.  It is tried on a small house
# that breaks it before it looks at ours, so that none passes because it sees nothing.

use strict;
use warnings;

use File::Basename;
use Test::More;

use constant WIDTH => 110;		# columns, a tab to each fourth

# What a floor's files may include in quotes, PostgreSQL's headers among it.
my %floors = (
	kernel => sub { $_[0] =~ m{^kernel/} },
	value => sub { $_[0] !~ m{^(?:sql/|fmgr\.h$|funcapi\.h$)} },
	sql => sub { $_[0] !~ m{^(?:feed/|executor/spi\.h$)} },
	feed => sub { 1 });

# The hash's own words, and the module's magic.
my %exempt = ('kernel/murmur3.h' => qr/^murmur3_/);

#
# Files: a path below src/ to the lines of its code, without comments and the
# contents of strings.
#

sub code
{
	my ($text) = @_;

	$text =~ s{(/\*.*?\*/)|"((?:[^"\\\n]|\\.)*)"}{
		my ($comment, $string) = ($1, $2);
		defined $comment ? "\n" x ($comment =~ tr/\n//) : $string =~ m{^[\w/]+\.h$} ? "\"$string\"" : '""';
	}gse;
	return [ split /\n/, $text, -1 ];
}

sub room { return basename($_[0], '.c', '.h') }
sub floor { return dirname($_[0]) }
sub own_header { return $_[0] =~ s/\.c$/.h/r }

# Apply a function to each line of code; it gets the path, the line before and a
# complaint's beginning.
sub each_line
{
	my ($files, $function) = @_;
	my @complaints;

	for my $path (sort keys %$files)
	{
		my $before = '';
		my $number = 0;

		for my $line (@{ $files->{$path} })
		{
			$number++;
			local $_ = $line;
			push @complaints, map { "src/$path:$number: $_" } $function->($path, $before);
			$before = $line;
		}
	}
	return @complaints;
}

# The project's headers that a file includes itself.
sub included
{
	my ($files, $path) = @_;

	return grep { $files->{$_} } map { /^#include "(.*)"/ ? $1 : () } @{ $files->{$path} // [] };
}

#
# The rules
#

sub climbs
{
	return each_line($_[0], sub {
		my ($path) = @_;

		return /^\s*#\s*include\s+"(.*)"/ && !$floors{ floor($path) }->($1) ? "includes \"$1\"" : ();
	});
}

# A room is a .c and a .h together.
sub circles
{
	my ($files) = @_;
	my (%needs, %done);

	for my $path (keys %$files)
	{
		$needs{ room($path) }{ room($_) } = $path for grep { room($_) ne room($path) } included($files, $path);
	}

	my $visit;
	$visit = sub {
		my ($room, @way) = @_;
		my @circle = grep { $way[$_] eq $room } 0 .. $#way;

		return join ' -> ', @way[ $circle[0] .. $#way ], $room if @circle;
		return if $done{$room}++;
		return map { $visit->($_, @way, $room) } sort keys %{ $needs{$room} };
	};
	return map { "rooms include each other: $_" } map { $visit->($_) } sort keys %needs;
}

# Functions: a definition has its type in the line before; a declaration is extern.
sub names
{
	my ($files) = @_;
	my %callable;

	for my $path (keys %$files)
	{
		$callable{$_} = 1 for map { /^PG_FUNCTION_INFO_V1\((\w+)\)/ ? $1 : () } @{ $files->{$path} };
	}
	return each_line($files, sub {
		my ($path, $before) = @_;
		my ($name) = /^extern\b.*?\b(\w+)\(/;

		($name) = /^(\w+)\(/ if !$name && $before =~ /^[a-z][\w *]*$/i && ($before !~ /^static\b/ || $path =~ /\.h$/);
		return if !$name || $callable{$name} || $name =~ /^bloomexp_@{[ room($path) ]}(?:_|$)/;
		return if $exempt{$path} && $name =~ $exempt{$path};
		return "$name does not begin with bloomexp_@{[ room($path) ]}_";
	});
}

sub own_headers
{
	my ($files) = @_;
	my @complaints;

	for my $path (grep { /\.c$/ } sort keys %$files)
	{
		my $header = own_header($path);

		if ($files->{$header})
		{
			push @complaints, "src/$path: does not include its $header"
			  unless grep { $_ eq $header } included($files, $path);
		}
		elsif (!grep { /^PG_FUNCTION_INFO_V1\b|^BLOOMEXP_FUNCTION/ } @{ $files->{$path} })
		{
			push @complaints, "src/$path: has no header, and no function for SQL";
		}
	}
	return @complaints;
}

# Names that a header gives to others.
sub given
{
	my ($lines) = @_;
	my %given;
	my $before = '';

	for (@$lines)
	{
		$given{$1} = 1 if /^#define (\w+)/;
		$given{$1} = 1 if /^\} (\w+);/ || /^typedef\b.*\b(\w+);/ || /^typedef .*\(\*(\w+)\)/;
		$given{$1} = 1 if /^\t(BLOOM\w+)(?: = \w+)?,?\s*$/;
		$given{$1} = 1 if /^extern\b.*?\b(\w+)\(/ || ($before =~ /^static inline\b/ && /^(\w+)\(/);
		$before = $_;
	}
	return \%given;
}

# A file includes itself, or in its own header, each header that it takes a name
# from; and no other, but for the one that stands for PostgreSQL.
sub uses
{
	my ($files) = @_;
	my (%home, @complaints);

	for my $header (grep { /\.h$/ } keys %$files)
	{
		$home{$_} = $header for grep { !/_H$/ } keys %{ given($files->{$header}) };
	}
	for my $path (sort keys %$files)
	{
		my %included = map { $_ => 1 } $path, own_header($path), included($files, $path),
		  $path =~ /\.c$/ ? included($files, own_header($path)) : ();
		my (%used, %missing);
		my $number = 0;

		for (@{ $files->{$path} })
		{
			$number++;
			next if /^#include/;
			for my $name (grep { $home{$_} } /\w+/g)
			{
				$used{ $home{$name} } = 1;
				$missing{ $home{$name} } //= "src/$path:$number: $name needs $home{$name}"
				  unless $included{ $home{$name} };
			}
		}
		push @complaints, map { $missing{$_} } sort keys %missing;
		push @complaints, map { "src/$path: uses nothing of $_" }
		  grep { !$used{$_} && $_ ne own_header($path) && room($_) ne 'compat' } included($files, $path);
	}
	return @complaints;
}

sub versions
{
	return each_line($_[0], sub {
		my ($path) = @_;

		return /\bPG_VERSION_NUM\b/ && $path ne 'value/compat.h' ? 'asks for the release of PostgreSQL' : ();
	});
}

# Messages are not broken, so that they can be found; what stands in quotes is no width.
sub widths
{
	return each_line($_[0], sub {
		my $line = $_;

		1 while $line =~ s/^([^\t]*)\t/$1 . ' ' x (4 - length($1) % 4)/e;
		return length $line > WIDTH ? length($line) . ' columns' : ();
	});
}

my @rules = (
	[ 'no include climbs a floor', \&climbs,
		{ 'kernel/a.c' => qq{#include "postgres.h"\n} } => 'src/kernel/a.c:1: includes "postgres.h"',
		{ 'kernel/a.h' => qq{/* a */\n#include "value/b.h"\n} } => 'src/kernel/a.h:2: includes "value/b.h"',
		{ 'value/a.c' => qq{#include "fmgr.h"\n} } => 'src/value/a.c:1: includes "fmgr.h"',
		{ 'value/a.c' => qq{#include "sql/b.h"\n} } => 'src/value/a.c:1: includes "sql/b.h"',
		{ 'kernel/a.c' => qq{#include <math.h>\n#include "kernel/a.h"\n}, 'value/b.c' => qq{#include "postgres.h"\n#include "kernel/a.h"\n},
			'sql/c.c' => qq{#include "fmgr.h"\n#include "value/b.h"\n#include "kernel/a.h"\n} } => '' ],
	[ 'no room includes itself by way of others', \&circles,
		{ 'sql/a.c' => qq{#include "sql/b.h"\n}, 'sql/a.h' => '', 'sql/b.h' => qq{#include "sql/a.h"\n} } => 'rooms include each other: a -> b -> a',
		{ 'sql/a.h' => qq{#include "sql/b.h"\n}, 'sql/b.h' => '', 'sql/a.c' => qq{#include "sql/a.h"\n#include "sql/b.h"\n} } => '' ],
	[ 'a function that others see has the name of its room', \&names,
		{ 'sql/a.c' => "void\nbloomexp_b_do(int x)\n{\n" } => 'src/sql/a.c:2: bloomexp_b_do does not begin with bloomexp_a_',
		{ 'sql/a.h' => "extern bool *do_it(void);\n" } => 'src/sql/a.h:1: do_it does not begin with bloomexp_a_',
		{ 'sql/a.h' => "static inline int\ndo_it(void)\n" } => 'src/sql/a.h:2: do_it does not begin with bloomexp_a_',
		{ 'sql/a.c' => "PG_FUNCTION_INFO_V1(bloomexp_x);\nDatum\nbloomexp_x(PG_FUNCTION_ARGS)\n{\n}\nstatic int\nmine(void)\n{\n\tif (x)\n\t\tbloomexp_y();\n}\n" .
			"bool\nbloomexp_a_is(void)\n/* void\nremark(x) */\n", 'kernel/murmur3.h' => "static inline int\nmurmur3_x(int y)\n" } => '' ],
	[ 'a room includes its own header, or serves SQL alone', \&own_headers,
		{ 'sql/a.c' => qq{#include "sql/b.h"\n}, 'sql/a.h' => '', 'sql/b.h' => '' } => 'src/sql/a.c: does not include its sql/a.h',
		{ 'sql/a.c' => "int\nbloomexp_a_x(void)\n" } => 'src/sql/a.c: has no header, and no function for SQL',
		{ 'sql/a.c' => "PG_FUNCTION_INFO_V1(bloomexp_x);\n", 'sql/b.c' => qq{#include "sql/b.h"\n}, 'sql/b.h' => '' } => '' ],
	[ 'a file includes what it uses', \&uses,
		{ 'sql/a.c' => qq{#include "sql/b.h"\nint x = bloomexp_c_x() + B;\n}, 'sql/b.h' => qq{#include "sql/c.h"\n#define B bloomexp_c_x()\n}, 'sql/c.h' => "extern int	bloomexp_c_x(void);\n" } =>
			'src/sql/a.c:2: bloomexp_c_x needs sql/c.h',
		{ 'sql/a.c' => "CThing x;\n", 'sql/c.h' => "typedef struct CThing\n{\n	int x;\n} CThing;\n" } => 'src/sql/a.c:1: CThing needs sql/c.h',
		{ 'sql/a.c' => qq{#include "sql/c.h"\n}, 'sql/c.h' => "#define C 1\n" } => 'src/sql/a.c: uses nothing of sql/c.h',
		{ 'sql/a.c' => qq{#include "sql/a.h"\nint x = C; /* B */\n}, 'sql/a.h' => qq{#include "sql/c.h"\nextern int	bloomexp_a_x(C);\n}, 'sql/b.h' => "#define B 1\n",
			'sql/c.h' => "#define C 1\n" } => '' ],
	[ 'only compat.h knows releases of PostgreSQL', \&versions,
		{ 'sql/a.c' => "\n#if PG_VERSION_NUM >= 1\n" } => 'src/sql/a.c:2: asks for the release of PostgreSQL',
		{ 'value/compat.h' => "#if PG_VERSION_NUM >= 1\n", 'sql/a.c' => "/* PG_VERSION_NUM */\n" } => '' ],
	[ 'no line of code is longer than ' . WIDTH . ' columns', \&widths,
		{ 'sql/a.c' => "\tx" . '+x' x (WIDTH / 2 - 2) . ";\n" } => 'src/sql/a.c:1: ' . (WIDTH + 2) . ' columns',
		{ 'sql/a.c' => "\terrmsg(\"" . 'many words ' x WIDTH . "\")\n/* " . 'x' x (WIDTH - 6) . " */\n" } => '' ]);

my $root = dirname(__FILE__) . '/../..';
my %house = map { m{/src/(.*)} => code(slurp($_)) } glob "$root/src/*/*.[ch]";

cmp_ok(scalar keys %house, '>', 30, 'there are files');
is_deeply([ grep { !$floors{ floor($_) } } sort keys %house ], [], 'and only known floors');

for (@rules)
{
	my ($name, $rule, @examples) = @$_;

	while (my ($files, $complaint) = splice @examples, 0, 2)
	{
		my %files = map { $_ => code($files->{$_}) } keys %$files;

		is(join("\n", $rule->(\%files)), $complaint, "$name: the rule sees " . ($complaint ? "\"$complaint\"" : 'what is right'));
	}
	my @complaints = $rule->(\%house);
	ok(!@complaints, $name) or diag join "\n", @complaints;
}

#
# What the module shows to the server: a name that the server has, too, would be
# bound to the server's.
#

SKIP:
{
	my $library = `@{[ $ENV{PG_CONFIG} || 'pg_config' ]} --pkglibdir` =~ s/\n//r . '/bloomexp.so';
	my $symbols = -e $library && `nm -D --defined-only '$library' 2>/dev/null`;
	skip 'no module, or no nm', 1 unless $symbols;

	my @names = map { / [A-Z] (\w+)/ ? $1 : () } split /\n/, $symbols;
	my %callable = map { /^pg_finfo_(bloomexp_\w+)/ ? ($1 => 1) : () } @names;
	my $rooms = join '|', map { room($_) } keys %house;

	is_deeply([ grep { !/^(?:bloomexp_(?:$rooms)(?:_|$)|pg_finfo_bloomexp_|Pg_magic_func$|_PG_init$|_init$|_fini$)/ && !$callable{$_} } @names ],
		[], 'symbols of the module: functions for SQL, and those with the name of a room');
}

sub slurp
{
	open(my $file, '<', $_[0]) or die "$_[0]: $!";
	local $/;
	return <$file>;
}

done_testing();
