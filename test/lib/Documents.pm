# Reading the documents as tests, and running the programs and statements in them: what
# 005_readme.pl and its neighbours share.

package Documents;

use strict;
use warnings;

use Exporter 'import';
use File::Basename qw(dirname);
use IPC::Run;
use Test::More;

our @EXPORT = qw(document visible blocks statements tutorial statements_ok session_ok output_ok
	explained program python sqlstate);

# psql's options for output as the documents show it
my @as_shown = ('-v', 'SHOW_CONTEXT=never', '-P', 'format=aligned', '-P', 'tuples_only=off');

# The text of a file.
sub document
{
	open(my $handle, '<:encoding(UTF-8)', $_[0]) or die "$_[0]: $!";
	local $/;
	return <$handle> // '';
}

# Return a text without its insignificant parts: blanks at the ends of lines, empty lines at both
# ends, and the empty row that bloomexp.create_feed() returns.
sub visible
{
	my $text = join "\n", map { s/\s+$//r } split /\n/, $_[0];

	$text =~ s/^ create_feed\n-+\n\n\(1 row\)\n*//mg;
	return $text =~ s/^\n+|\n+$//gr;
}

# The fenced blocks of a document, each with its language, text and line, whether
# it stands directly below the one before it, and the heading of its chapter (##).
sub blocks
{
	my @lines = split /\n/, $_[0];
	my @blocks;
	my $below = 0;
	my $chapter = '';

	for (my $i = 0; $i < @lines; $i++)
	{
		$chapter = $1 if $lines[$i] =~ /^## (.*)/;
		$below = 0, next if $lines[$i] !~ /^```/ && $lines[$i] =~ /\S/;
		next unless $lines[$i] =~ /^```(\w*)$/;
		my %block = (language => $1, line => $i + 1, text => '', below => $below,
			chapter => $chapter);
		$block{text} .= "$lines[$i]\n" while ++$i < @lines && $lines[$i] ne '```';
		die "a block without an end, from line $block{line} on" if $i == @lines;
		push @blocks, \%block;
		$below = 1;
	}
	# what should come out of a block stands directly below it
	for my $i (0 .. $#blocks - 1)
	{
		my $next = $blocks[ $i + 1 ];

		next unless $next->{below} && $next->{language} eq 'text';
		$blocks[$i]{output} = visible($next->{text});
		$next->{of_sql} = $blocks[$i]{language} eq 'sql';
	}
	return @blocks;
}

# The SQL blocks of a chapter, in their order.
sub statements
{
	my ($text, $chapter) = @_;
	my @found = grep { $_->{chapter} eq $chapter && $_->{language} eq 'sql' } blocks($text);

	return @found ? map({ $_->{text} } @found) : die "no chapter $chapter";
}

# What other pages build on: the table and the feed of the tutorial's first step.
sub tutorial
{
	my ($step) = statements(document(dirname(__FILE__) . '/../../doc/start.md'),
		'A table and its feed');

	return $step =~ s/^SELECT shown\..*\n//mr;
}

# Return statements with timeouts of an hour: those in the documents suit readers, but not a slow
# test machine.
sub unhurried { return $_[0] =~ s/_timeout = '\K\d+ms/1h/gr }

# Run the SQL blocks of a document, or of a chapter, in order.  Compare the output of each with the
# text block below it, and with the values in comments that follow a statement and five blanks.
sub statements_ok
{
	my ($node, $database, $file, @blocks) = @_;

	for my $block (@blocks)
	{
		my $name = "$file line $block->{line}";

		like($block->{language}, qr/^(sql|sh|text|python|javascript|java|go|ruby)$/,
			"$name: language") or next;
		if ($block->{language} eq 'text')
		{
			ok($block->{of_sql}, "$name: output of what");
		}
		statement_ok($node, $database, $name, $block) if $block->{language} eq 'sql';
	}
}

sub statement_ok
{
	my ($node, $database, $name, $block) = @_;
	my $expected = $block->{output};
	my ($stdout, $stderr);
	my $status = $node->psql($database, "SET client_min_messages = warning;\n"
		. unhurried($block->{text}), stdout => \$stdout, stderr => \$stderr,
		on_error_die => 0, timeout => $PostgreSQL::Test::Utils::timeout_default || 180,
			extra_params => \@as_shown);

	$stderr =~ s/^psql:<stdin>:\d+: //mg;
	if (defined $expected && $expected =~ /^ERROR: /)
	{
		is(visible($stderr), $expected, "$name: error");
	}
	else
	{
		is(visible($stderr), '', "$name: no error");
		is($status, 0, "$name: status");
		output_ok($name, $block, $stdout);
	}
}

sub output_ok
{
	my ($name, $block, $stdout) = @_;

	is(visible($stdout), $block->{output}, "$name: output") if defined $block->{output};
	# values in comments, of several statements in their order
	my $value = qr/[\w{},:\/.\\-]+/;
	my @values = $block->{text} =~ /; {5}-- ($value(?: \| $value)*)\n/g;
	my $rows = join '.*', map { '^ *' . join(' *\| *', map { quotemeta } split / \| /)
		. '\n\(1 row\)$' } @values;
	like(visible($stdout), qr/$rows/ms, "$name: returns @values") if @values;
}

# The same for SQL blocks of several documents, each with its name, in one session.
sub session_ok
{
	my ($node, $database, @blocks) = @_;
	my ($stdout, $stderr);
	my $end = 'end of a block';

	$node->psql($database,
		join('', "SET client_min_messages = warning;\n",
			map { unhurried($_->{text}) . "\\echo $end\n" } @blocks),
		stdout => \$stdout, stderr => \$stderr, on_error_stop => 0, on_error_die => 0,
		timeout => 10 * ($PostgreSQL::Test::Utils::timeout_default || 180),
			extra_params => \@as_shown);
	is($stderr, '', 'the documents in one session: no error');
	my @outputs = split /^$end\n?/m, $stdout;
	output_ok("in one session: $blocks[$_]{name}", $blocks[$_], $outputs[$_] // 'none')
	  for 0 .. $#blocks;
}

# Some comments above statements state what their plans show.  Returns the block for
# psql, with an EXPLAIN before each such statement that writes its plan to plan0,
# plan1, ... of $folder, and these claims.
sub explained
{
	my ($text, $claim, $folder) = @_;
	my @claims;

	$text =~ s{^-- ($claim)\n(.*?;)\n}{
		push @claims, $1;
		"\\o $folder/plan$#claims\nEXPLAIN (VERBOSE, COSTS OFF) $2\n\\o\n$2\n"}mesg;
	return ($text, @claims);
}

# Write the only program of a document in this language to a file.
sub program
{
	my ($text, $language, $file) = @_;
	my ($program, @more) = map { $_->{text} } grep { $_->{language} eq $language } blocks($text);

	die "not one program in $language" if !defined $program || @more;
	open(my $out, '>:encoding(UTF-8)', $file) or die "$file: $!";
	print $out $program;
	close $out or die "$file: $!";
	return $file;
}

# Return a Python with psycopg: the one in PATH, or else the distribution's, for which the
# distribution packages the driver.
sub python
{
	for my $python ('python3', '/usr/bin/python3')
	{
		return $python if eval { IPC::Run::run([ $python, '-c', 'import psycopg' ], '<', \undef,
			'>&', \my $output) };
	}
	return;
}

# The SQLSTATE of the error with which statements end, or nothing.  Further options are psql's.
sub sqlstate
{
	my ($node, $database, $statements, @options) = @_;
	my (undef, undef, $error) = $node->psql($database, $statements,
		extra_params => [ '-v', 'VERBOSITY=sqlstate', @options ]);

	return $error =~ /ERROR:  (\w+)/ ? $1 : '';
}

1;
