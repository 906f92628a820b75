# Messages: each error, warning and notice that the source can raise, in C or in the SQL of
# feeds, stands in doc/troubleshooting.md with its SQLSTATE, cause and remedy, and so does
# each problem that the generator lists in the detail of its error.  Each message that is
# quoted there is one of the source, except in the chapter of PostgreSQL's own.

use strict;
use warnings;
use utf8;

use File::Find;
use FindBin;
use lib "$FindBin::RealBin/../lib";

use Documents;
use Test::More;

my $root = "$FindBin::RealBin/../..";
my $page = 'doc/troubleshooting.md';
my $theirs = 'Messages of PostgreSQL itself';

# The source: each ereport(), errsave() and ereturn() has a code and a message.  A
# directive of printf, or a macro for one, is a gap, which matches any text.

my $pg_config = $ENV{PG_CONFIG} || 'pg_config';
my ($sharedir) = `$pg_config --sharedir` =~ /(.*)/;
my %sqlstate = (NOTICE => '00000', WARNING => '01000', ERROR => 'XX000');
my $errcodes = document("$sharedir/errcodes.txt");
$sqlstate{$2} = $1, $sqlstate{$3} //= $1
  while $errcodes =~ /^(\w{5})\s+\w\s+(ERRCODE_\w+)\s+(\w+)/mg;

# The messages of a text of C, each with its SQLSTATE.
sub messages
{
	my ($text) = @_;
	my @messages;

	while ($text =~ /\b(?:ereport|errsave|ereturn)\((.*?)\);\n/sg)
	{
		my $call = $1;
		my ($level) = $call =~ /^(ERROR|WARNING|NOTICE)\b/;
		my ($code) = $call =~ /\berrcode\((\w+)\)/;
		my $literal = qr/((?:"(?:[^"\\]|\\.)*"|\s|[A-Z0-9_]++)++)/;
		my @found = grep { defined } $call =~ /\berrmsg(?:\($literal|_plural\($literal,$literal)/g;

		for my $message (@found)
		{
			$message = join '', map { /^"(.*)"$/s ? $1
				: '%s' } $message =~ /"(?:[^"\\]|\\.)*"|\w+/g;
			$message =~ s/\\"/"/g;
			push @messages, { message => $message, sqlstate => $sqlstate{ $code // $level }
				// "no $code" };
		}
	}
	return @messages;
}

# The messages of a text of SQL: those of RAISE; and of a problem, what stands before the
# colon, semicolon or full stop.  A gap is % there, and %s, %I or %L in format().
sub sql_messages
{
	my ($text) = @_;
	my @messages;
	my $literal = qr/'((?:[^']|'')*)'/;

	while ($text =~ /\bRAISE (EXCEPTION|WARNING|NOTICE) $literal(.*?);\n/sg)
	{
		my ($level, $message, $rest) = ($1 eq 'EXCEPTION' ? 'ERROR' : $1, $2, $3);
		my ($code) = $rest =~ /\bERRCODE = '(\w+)'/;

		$code //= $level eq 'ERROR' ? 'raise_exception' : $level;
		push @messages, { message => $message =~ s/''/'/gr =~ s/%/%s/gr,
			sqlstate => $sqlstate{$code} // "no $code" };
	}
	while ($text =~ /\bproblems \|\| ((?:(?:ARRAY\(.*?)?format\()?$literal.*?);\n/sg)
	{
		my ($statement, @problems) = ($1, $2);

		# a CASE has more, and what is added to one, after a colon; a list begins a line with each
		push @problems, $1 while $statement =~ /(?:\bELSE format\(|^\t+\((?:format\()?)$literal/mg;
		my $state = $sqlstate{object_not_in_prerequisite_state};
		push @messages, map { { message => s/''/'/gr =~ s/[:;.](?: .*)?$//r, sqlstate => $state } }
		  grep { /^[^:]/ } @problems;
	}
	return @messages;
}

# What a message of the source can look like in a document.
sub pattern
{
	my $pattern = join '.*', map { quotemeta s/%%/%/gr } split /%(?:[-\d.]*(?:z|l|ll)?[sdugiIL])/,
		$_[0], -1;

	return qr/^$pattern$/s;
}

is_deeply([ messages(qq{\t\tereport(ERROR,\n}
			. qq{\t\t\t\t(errcode(ERRCODE_SYNTAX_ERROR),\n}
			. qq{\t\t\t\t errmsg("a \\"%s\\" of " INT64_FORMAT " is", a)));\n}
			. qq{\tereport(NOTICE,\n\t\t\t(errmsg("done: %d%%", b)));\n}
			. qq{\tereport(NOTICE,\n\t\t\t(errmsg_plural("one", "%d", b, b)));\n}) ],
	[ { message => 'a "%s" of %s is', sqlstate => '42601' },
		map { { message => $_, sqlstate => '00000' } } 'done: %d%%',
		'one', '%d' ],
	'messages are found');
is_deeply([ sql_messages(q{
	RAISE EXCEPTION 'a "%" of ''%''', b, c
		USING ERRCODE = 'syntax_error', HINT = 'd';
	RAISE EXCEPTION 'e';
	RAISE WARNING 'f';
	problems := problems || format('%s is 0.5: make it ''%L''.', g);
	problems := problems || ARRAY(
		SELECT CASE WHEN h THEN format('One%s.', CASE WHEN i THEN ': two' ELSE format(': three %s',
			i) END) ELSE format('Four: five') END);
	problems := problems || ARRAY(SELECT v.p FROM (VALUES
		(format('Six %s.', j), k),
		('Seven: eight', l = 'm')) AS v(p, q));
}) ],
	[ { message => q{a "%s" of '%s'}, sqlstate => '42601' },
		{ message => 'e', sqlstate => 'P0001' },
		{ message => 'f', sqlstate => '01000' },
		map { { message => $_, sqlstate => '55000' } } '%s is 0.5', 'One%s', 'Four', 'Six %s',
			'Six %s', 'Seven' ],
	'and in SQL');
like('a "…" of 5 is', pattern('a "%s" of %s is'), 'a gap is any text');
unlike('a "…" of 5 is not', pattern('a "%s" of %s is'), 'but nothing else is');

my @source;
find({ no_chdir => 1, wanted => sub {
	push @source, messages(document($_)) if /\.[ch]$/;
	push @source, sql_messages(document($_)) if /\.sql$/;
} }, "$root/src");
cmp_ok(scalar @source, '>', 80, 'the source has messages');

# The document: in tables a message, its SQLSTATE, cause and remedy, and headings

my (@rows, @quoted);
my $chapter = '';
my $text = document("$root/$page");
for (split /\n/, $text)
{
	$chapter = $1 if /^## (.*)/;
	my @messages = /^#{2,3} `([^`]+)`/ ? ($1) : ();

	if (my ($cell, $sqlstate, $cause, $remedy) = /^\| (`.*?`) \| (\w{5}) \| (.+?) \| (.+?) \|$/)
	{
		@messages = $cell =~ /`([^`]+)`/g;
		push @rows, map { { message => $_, sqlstate => $sqlstate } } @messages
		  if $chapter ne $theirs;
	}
	elsif (/^\| `/)
	{
		fail("a row has a message, its SQLSTATE, cause and remedy: $_");
	}
	push @quoted, @messages if $chapter ne $theirs;
}

my %seen;
for my $one (grep { !$seen{"$_->{message} $_->{sqlstate}"}++ } @source)
{
	my $pattern = pattern($one->{message});
	my @found = grep { $_->{message} =~ $pattern } @rows;

	ok(@found > 0, "$page has: $one->{message}") or next;
	ok((grep { $_->{sqlstate} eq $one->{sqlstate} } @found) > 0,
		"... with SQLSTATE $one->{sqlstate}");
}
for my $message (@quoted)
{
	ok((grep { $message =~ pattern($_->{message}) } @source) > 0, "the source has: $message");
}

done_testing();
