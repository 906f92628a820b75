# The order of src/, which no compiler sees: which layer may include which, that no module
# includes itself by way of others, that each includes the C headers that it needs, that what
# differs between releases is in one place, and how the templates of feeds are written.
#
# Each rule is a function from files to complaints.  It is tried on a few files that break
# it before it looks at the source, so that none passes because it sees nothing.

use strict;
use warnings;

use File::Basename;
use Test::More;

# What the files of a layer may include in quotes, PostgreSQL's headers among it; those beside the
# layers are at ".".
my %layers = (
	'.' => sub { $_[0] !~ m{^(?:kernel|value|sql|feed)/} },
	kernel => sub { $_[0] =~ m{^kernel/} },
	value => sub { $_[0] !~ m{^(?:sql/|feed/|fmgr\.h$|funcapi\.h$)} },
	sql => sub { $_[0] !~ m{^(?:feed/|executor/spi\.h$)} },
	feed => sub { $_[0] !~ m{^executor/spi\.h$} });

# Names of C headers that postgres.h does not promise.  One release of PostgreSQL can include
# such a header by way of its own, and the next one not.
my %standard = (
	'float.h' => qr/\b(?:FLT|DBL)_\w+/,
	'limits.h' => qr/\b(?:S?CHAR|UCHAR|U?(?:SHRT|INT|LONG|LLONG))_(?:MIN|MAX)\b|\bCHAR_BIT\b/,
	'math.h' => qr/\b(?:HUGE_VAL|INFINITY|NAN|M_[A-Z]\w*)\b|
		\b(?:isnan|isinf|isfinite|signbit|fabs|ceil|floor|rint|round|lround|trunc|sqrt|cbrt|pow|
		exp|exp2|expm1|log|log10|log1p|log2|lgamma|tgamma|ldexp|frexp|fmod|fmin|fmax|fma)f?\s*\(/x);

# Files: a path below src/ to the lines of its code, without comments and the
# contents of strings.

sub code
{
	my ($text) = @_;

	$text =~ s{(/\*.*?\*/)|"((?:[^"\\\n]|\\.)*)"}{
		my ($comment, $string) = ($1, $2);
		defined $comment ? "\n" x ($comment =~ tr/\n//) : $string =~ m{^[\w/]+\.h$}
		  ? "\"$string\"" : '""';
	}gse;
	return [ split /\n/, $text, -1 ];
}

sub module { return basename($_[0], '.c', '.h') }
sub layer { return dirname($_[0]) }

# Apply a function to each line of code; it gets the path.
sub each_line
{
	my ($files, $function) = @_;
	my @complaints;

	for my $path (sort keys %$files)
	{
		my $number = 0;

		for my $line (@{ $files->{$path} })
		{
			$number++;
			local $_ = $line;
			push @complaints, map { "src/$path:$number: $_" } $function->($path);
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

# The rules

sub climbs
{
	return each_line($_[0], sub {
		my ($path) = @_;

		return /^\s*#\s*include\s+"(.*)"/ && !$layers{ layer($path) }->($1)
		  ? "includes \"$1\"" : ();
	});
}

# What a module's header includes, its .c file need not include again.
sub lacks
{
	my ($files) = @_;
	my %included;

	for my $path (keys %$files)
	{
		$included{$path} = { map { /^#include <(.*)>/ ? ($1 => 1) : () }
			map { @{ $files->{$_} // [] } } $path,
			$path =~ s/c$/h/r };
	}
	return each_line($files, sub {
		my ($path) = @_;
		my $line = $_;

		return map { !$included{$path}{$_} && $line =~ /($standard{$_})/ ? "uses $1 without <$_>"
			: () } sort keys %standard;
	});
}

# A module is a .c and a .h together.
sub circles
{
	my ($files) = @_;
	my (%needs, %done);

	for my $path (keys %$files)
	{
		$needs{ module($path) }{ module($_) } = $path
		  for grep { module($_) ne module($path) } included($files, $path);
	}

	my $visit;
	$visit = sub {
		my ($module, @way) = @_;
		my @circle = grep { $way[$_] eq $module } 0 .. $#way;

		return join ' -> ', @way[ $circle[0] .. $#way ], $module if @circle;
		return if $done{$module}++;
		return map { $visit->($_, @way, $module) } sort keys %{ $needs{$module} };
	};
	return map { "modules include each other: $_" } map { $visit->($_) } sort keys %needs;
}

sub versions
{
	return each_line($_[0], sub {
		my ($path) = @_;

		return /\bPG_VERSION_NUM\b/ && $path ne 'compat.h'
			? 'asks for the release of PostgreSQL' : ();
	});
}

my @rules = (
	[ 'no include climbs a layer', \&climbs,
		{ 'kernel/a.c' => qq{#include "postgres.h"\n} } =>
		'src/kernel/a.c:1: includes "postgres.h"',
		{ 'kernel/a.h' => qq{/* a */\n#include "value/b.h"\n} } =>
		'src/kernel/a.h:2: includes "value/b.h"',
		{ 'value/a.c' => qq{#include "fmgr.h"\n} } => 'src/value/a.c:1: includes "fmgr.h"',
		{ 'value/a.c' => qq{#include "sql/b.h"\n} } => 'src/value/a.c:1: includes "sql/b.h"',
		{ 'value/a.c' => qq{#include "feed/b.h"\n} } => 'src/value/a.c:1: includes "feed/b.h"',
		{ 'sql/a.c' => qq{#include "feed/b.h"\n} } => 'src/sql/a.c:1: includes "feed/b.h"',
		{ 'sql/a.c' => qq{#include "executor/spi.h"\n} } =>
		'src/sql/a.c:1: includes "executor/spi.h"',
		{ 'feed/a.c' => qq{#include "feed/b.h"\n#include "executor/spi.h"\n} } =>
		'src/feed/a.c:2: includes "executor/spi.h"',
		{ 'a.h' => qq{#include "value/b.h"\n} } => 'src/a.h:1: includes "value/b.h"',
		{ 'a.c' => qq{#include "feed/b.h"\n} } => 'src/a.c:1: includes "feed/b.h"',
		{ 'kernel/a.c' => qq{#include <math.h>\n#include "kernel/a.h"\n},
			'value/b.c' => qq{#include "postgres.h"\n#include "a.h"\n#include "kernel/a.h"\n},
			'sql/c.c' => qq{#include "fmgr.h"\n#include "value/b.h"\n#include "kernel/a.h"\n},
			'feed/d.c' => qq{#include "fmgr.h"\n#include "feed/e.h"\n#include "sql/c.h"\n}
				. qq{#include "value/b.h"\n#include "kernel/a.h"\n} }
		=> '' ],
	[ 'C headers are not left to those of PostgreSQL', \&lacks,
		{ 'sql/a.c' => qq{#include "postgres.h"\nint a = INT_MAX;\n} } =>
		'src/sql/a.c:2: uses INT_MAX without <limits.h>',
		{ 'sql/a.c' => qq{#include <math.h>\ndouble a = DBL_MAX;\n},
			'sql/b.h' => qq{#include <float.h>\n} } =>
				'src/sql/a.c:2: uses DBL_MAX without <float.h>',
		{ 'value/a.h' => "static inline bool a(double b) { return isnan (b); }\n" } =>
			'src/value/a.h:1: uses isnan ( without <math.h>',
		{ 'value/a.h' => qq{#include <math.h>\n},
			'value/a.c' => qq{#include <limits.h>\nint a = CHAR_BIT; int64 round = INT64_MAX\n}
				. qq{+ floor(1.5); /* DBL_MAX */\n} } => '' ],
	[ 'no module includes itself by way of others', \&circles,
		{ 'sql/a.c' => qq{#include "sql/b.h"\n}, 'sql/a.h' => '',
			'sql/b.h' => qq{#include "sql/a.h"\n} } => 'modules include each other: a -> b -> a',
		{ 'sql/a.h' => qq{#include "sql/b.h"\n}, 'sql/b.h' => '',
			'sql/a.c' => qq{#include "sql/a.h"\n#include "sql/b.h"\n} } => '' ],
	[ 'only compat.h knows releases of PostgreSQL', \&versions,
		{ 'sql/a.c' => "\n#if PG_VERSION_NUM >= 1\n" } =>
			'src/sql/a.c:2: asks for the release of PostgreSQL',
		{ 'compat.h' => "#if PG_VERSION_NUM >= 1\n",
			'sql/a.c' => "/* PG_VERSION_NUM */\n" } => '' ]);

my $root = dirname(__FILE__) . '/../..';
my %source = map { m{/src/(.*)} => code(slurp($_)) } glob "$root/src/*.[ch] $root/src/*/*.[ch]";

cmp_ok(scalar keys %source, '>', 30, 'there are files');
is_deeply([ grep { !$layers{ layer($_) } } sort keys %source ], [], 'and only known layers');

rule_ok(\&code, \%source, @$_) for @rules;

# The guide to the source has each module and part of the install script.

my $guide = slurp("$root/src/README.md");
my %files = map { $_ => 1 } (map { module($_) } keys %source),
	map { basename($_) } glob "$root/src/feed/*.sql $root/src/feed/script/*.sql";
is_deeply([ grep { index($guide, "`$_`") < 0 } sort keys %files ], [],
	'src/README.md has each module, part of the install script and template');
is_deeply([ grep { !$files{$_} && !-e "$root/src/install/$_" } $guide =~ /`(\w+\.sql)`/g ], [],
	'and no other');
my $code = join "\n", map { @$_ } values %source;
is_deeply([ grep { $code !~ /\b$_\(/ } $guide =~ /`(bloomexp_\w+|[A-Z]+)\(\)`/g ], [],
	'and names only functions that there are');

# The templates of feeds.  Files: templates by their names, and the two files that know them.

sub templates { return grep { !/^(?:script|names)\.sql$/ } sort keys %{ $_[0] } }

# The names in the list of script.sql, and the flags that a feed must have for them.
sub listed
{
	my ($list) = $_[0]{'script.sql'} =~ /\(VALUES\n(.*?)\) AS v\(name, flag\)/s;

	return ($list // '') =~ /\('(\w+)', (NULL|'\w+')\)/g;
}

sub flags
{
	my ($function) = $_[0]{'script.sql'} =~ /FUNCTION bloomexp\.feed_flags\((.*?)\n\tFROM/s;

	return map { $_ => 1 } ($function // '') =~ /^\t\t'(\w+)', /mg;
}

sub unlisted
{
	my ($files) = @_;
	my %flags = flags($files);
	my @list = listed($files);
	my (%times, @complaints);

	while (my ($name, $flag) = splice @list, 0, 2)
	{
		push @complaints, "$name is listed twice" if $times{$name}++;
		push @complaints, "$name is listed, and does not exist" if !exists $files->{$name};
		push @complaints, "$name is listed with $flag, which is no flag"
		  if $flag ne 'NULL' && !$flags{ $flag =~ tr/'//dr };
	}
	return @complaints, map { $times{$_} ? () : "$_ is not listed" } templates($files);
}

# What comes before the statement is comments.  The head is nothing but comments.
sub other_than_one_statement
{
	my ($files) = @_;
	my $statement = qr/^(?:CREATE|ALTER|CALL|DO)\b/m;

	return map {
		my $text = $files->{$_} =~ s/^(?:\{[#\/]\w+\})+\n//mgr;
		my $statements = () = $text =~ /$statement/g;
		my $others = grep { !/^--/ } split /\n/, $text =~ s/$statement.*//sr;

		$others ? "$_ begins with other lines than comments"
		  : $_ eq 'head' ? $statements ? "$_ has a statement" : ()
		  : $statements != 1 ? "$_ has $statements statements"
		  : $text !~ /;(?:[ \t]+--.*)?\n\z/ ? "$_ does not end with its statement" : ();
	} templates($files);
}

sub unknown_names
{
	my ($files) = @_;
	my $known = "$files->{'names.sql'}\n"
	  . join "\n", $files->{'script.sql'} =~ /names \|\| (jsonb_build_object\([^,]*, )/g;

	return map {
		my $template = $_;

		map { $known =~ /'\Q$_\E',\s/ ? () : "$template has the name {$_}" }
		  $files->{$template} =~ /\{([^#\/}][^}]*|)\}/g;
	} templates($files);
}

# The parts for a flag may have parts for other flags in them.
sub misused_flags
{
	my ($files) = @_;
	my %flags = flags($files);

	return map {
		my ($template, @open, @complaints) = $_;

		while ($files->{$template} =~ /\{([#\/])([^}]*)\}/g)
		{
			my ($mark, $flag) = ($1, $2);

			push @complaints, "$template has the flag $flag" if !$flags{$flag};
			push @complaints, "$template has $flag in $flag"
			  if $mark eq '#' && grep { $_ eq $flag } @open;
			push(@open, $flag), next if $mark eq '#';
			push @complaints, "$template ends $flag in " . ($open[-1] // 'nothing')
			  if !@open || $open[-1] ne $flag;
			pop @open;
		}
		(@complaints, map { "$template does not end $_" } @open);
	} templates($files);
}

my %both = ('names.sql' => "\t'feed', feed,\n\t'=', equal,\n", 'script.sql' =>
	"CREATE FUNCTION bloomexp.feed_flags(\n\t\t'alone', a,\n\t\t'table', b)\n\tFROM\n"
	. "names := names || jsonb_build_object('\$', quote);\n"
	. "(VALUES\n\t('head', NULL), ('a', NULL),\n\t('b', 'table')) AS v(name, flag)");
my @rules_of_templates = (
	[ 'each template is part of a script, and each part a template', \&unlisted,
		{ %both, head => '', a => '' } => 'b is listed, and does not exist',
		{ %both, head => '', a => '', b => '', c => '' } => 'c is not listed',
		{ %both, head => '', a => '', b => '', 'script.sql' =>
			$both{'script.sql'} =~ s/'b', /'a', NULL), ('b', /r } => 'a is listed twice',
		{ %both, head => '', a => '', b => '', 'script.sql' =>
			$both{'script.sql'} =~ s/'table'\)/'far')/r } =>
			"b is listed with 'far', which is no flag",
		{ %both, head => '', 'script.sql' => '' } => 'head is not listed',
		{ %both, head => '', a => '', b => '' } => '' ],
	[ 'a template is one statement', \&other_than_one_statement,
		{ %both, a => "-- a\nCREATE a;\nALTER a;\n" } => 'a has 2 statements',
		{ %both, a => "-- a\n" } => 'a has 0 statements',
		{ %both, head => "-- a\nCALL a();\n" } => 'head has a statement',
		{ %both, head => "-- a\nSELECT 1;\n" } => 'head begins with other lines than comments',
		{ %both, a => "SET a = 1;\nCREATE a;\n" } => 'a begins with other lines than comments',
		{ %both, a => "CALL a();\n{#table}\n-- b\n{/table}\n" } =>
			'a does not end with its statement',
		{ %both, head => "-- a\n{#table}\n-- b\n{/table}\n--{/alone} c\n",
			a => "-- a\n{#table}\n-- b\n{/table}\nDO {\$}\nBEGIN\n\tCREATE a;\nEND\n{\$};\n" }
			=> '' ],
	[ 'each name in a template is known', \&unknown_names,
		{ %both, a => "CREATE {feed}.{a} {\$};\n" } => 'a has the name {a}',
		{ %both, a => "CREATE '{}';\n" } => 'a has the name {}',
		{ %both, a => "CREATE {table};\n" } => 'a has the name {table}',
		{ %both, a => "{#table}\nCREATE {feed}.a {=} {\$};\n{/table}\n" } => '' ],
	[ 'each flag in a template is known, and ends', \&misused_flags,
		{ %both, a => '{#far} {/far}' } => "a has the flag far\na has the flag far",
		{ %both, a => '{#table}' } => 'a does not end table',
		{ %both, a => '{/table}' } => 'a ends table in nothing',
		{ %both, a => '{#table}{#alone}{/table}{/alone}' } =>
			"a ends table in alone\na ends alone in table",
		{ %both, a => '{#table}{#table}{/table}{/table}' } => 'a has table in table',
		{ %both, a => '{#table}{#alone}{/alone}{/table}{#table}{feed}{/table}' } => '' ]);

my %templates = ((map { basename($_, '.sql') => slurp($_) } glob "$root/src/feed/script/*.sql"),
	map { $_ => slurp("$root/src/feed/$_") } 'names.sql', 'script.sql');
rule_ok(sub { $_[0] }, \%templates, @$_) for @rules_of_templates;
cmp_ok(scalar templates(\%templates), '>', 20, 'there are templates');

# What the module shows to the server: a name that the server has, too, would be
# bound to the server's.

SKIP:
{
	my $library = `@{[ $ENV{PG_CONFIG} || 'pg_config' ]} --pkglibdir` =~ s/\n//r . '/bloomexp.so';
	my $symbols = -e $library && `nm -D --defined-only '$library' 2>/dev/null`;
	skip 'no module, or no nm', 1 unless $symbols;

	my @names = map { / [A-Z] (\w+)/ ? $1 : () } split /\n/, $symbols;
	my %callable = map { /^pg_finfo_(bloomexp_\w+)/ ? ($1 => 1) : () } @names;
	my $modules = join '|', map { module($_) } keys %source;
	my $ours = qr/^(?:bloomexp_(?:$modules)(?:_|$)|pg_finfo_bloomexp_)/;

	is_deeply(
		[ grep { !/$ours|^(?:Pg_magic_func|_PG_init|_init|_fini)$/ && !$callable{$_} } @names ],
		[], 'symbols of the module: functions for SQL, and those with the name of a module');
}

# Try a rule on examples, each with the complaint of the rule, and then on the source.
sub rule_ok
{
	my ($read, $source, $name, $rule, @examples) = @_;

	while (my ($files, $complaint) = splice @examples, 0, 2)
	{
		my %files = map { $_ => $read->($files->{$_}) } keys %$files;

		is(join("\n", $rule->(\%files)), $complaint, "$name: the rule sees "
			. ($complaint ? "\"$complaint\"" : 'what is right'));
	}
	my @complaints = $rule->($source);
	ok(!@complaints, $name) or diag join "\n", @complaints;
}

sub slurp
{
	open(my $file, '<', $_[0]) or die "$_[0]: $!";
	local $/;
	return <$file>;
}

done_testing();
