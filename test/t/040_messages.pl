# Messages: each error, warning and notice that the source can raise, in C or in the SQL of feeds,
# has an SQLSTATE that PostgreSQL knows.  Each message that is quoted in doc/troubleshooting.md is
# one of the source, or a problem that the generator lists in the detail of its error, except in
# the chapter of PostgreSQL's own.  A message without a row there says itself what to do.

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
my $ours = 'Messages of bloomexp';

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

# The messages of a text of SQL.  Those of RAISE are given as a format or as MESSAGE.  Problems are
# the sentences that untrusted() and functions named check_... return, and that bloomexp.feeds()
# adds: their message ends at the colon, semicolon or full stop.  A gap in a message is % or an
# expression, or %s, %I or %L in format().
sub sql_messages
{
	my ($text) = @_;
	my @messages;
	my $one = qr/'((?:[^']|'')*)'/;
	my $literal = qr/('(?:[^']|'')*'(?:\s*\n\s*'(?:[^']|'')*')*)/;
	my $value = sub { return join '', map { s/''/'/gr } $_[0] =~ /$one/g };

	while ($text =~ /\bRAISE (EXCEPTION|WARNING|NOTICE)\s+(.*?);\n/sg)
	{
		my ($level, $call) = ($1 eq 'EXCEPTION' ? 'ERROR' : $1, $2);
		my ($code) = $call =~ /\bERRCODE = '(\w+)'/;
		my $message;

		if ($call =~ /^$literal/)
		{
			$message = $value->($1) =~ s/%/%s/gr;
		}
		elsif ($call =~
			/\bMESSAGE = (?:concat\()?((?:$one|[^'])*?)(?:,\s*(?:ERRCODE|DETAIL|HINT)\b|$)/s)
		{
			my $expression = $1;

			next if $expression !~ /'/;
			# what stands between the literals are gaps
			my @parts = split /($one)/, $expression =~ s/\)\s*$//r;
			$message = '';
			for (my $i = 0; $i < @parts; $i += 3)
			{
				$message .= '%s' if $parts[$i] =~ /\w/;
				$message .= $value->($parts[ $i + 1 ]) if $i + 1 < @parts;
			}
		}
		next if !defined $message;
		$code //= $level eq 'ERROR' ? 'raise_exception' : $level;
		push @messages, { message => $message, sqlstate => $sqlstate{$code} // "no $code" };
	}

	my @problems = $text =~
	  /\bCREATE FUNCTION bloomexp\.(?:check_\w+|untrusted)\(.*?\bAS \$\$\n(.*?)\n\$\$;\n/sg;
	push @problems, $1 while $text =~ /\bproblems := problems \|\| (.*?);\n/sg;
	for my $sentence (map { $value->($_) } map { s/--.*//gmr =~ /$literal/g } @problems)
	{
		next if $sentence !~ /^[\w%"-]+ \S+ \S+/;
		push @messages, { message => $sentence =~ s/[:;.](?: .*)?$//r,
			sqlstate => $sqlstate{object_not_in_prerequisite_state} };
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
	RAISE EXCEPTION 'a "%" of ''%'''
		' is', b, c
		USING ERRCODE = 'syntax_error', HINT = 'd';
	RAISE EXCEPTION 'e';
	RAISE WARNING 'f';
	RAISE NOTICE USING MESSAGE = concat('g ', cardinality(h),
		' of ', {i}), DETAIL = concat('j', k);
	RAISE EXCEPTION USING
		MESSAGE = 'l ' || m;
	RAISE EXCEPTION USING MESSAGE = SQLERRM, DETAIL = 'n';
	problems := problems || format('%s is 0.5: make it ''%L''.', g);
	problems := problems || ARRAY(
		SELECT CASE WHEN h THEN format('One has%s ended.', CASE WHEN i = 'j k' THEN ': two' END)
			ELSE format('Four of them: five') END);
CREATE FUNCTION bloomexp.check_nothing() RETURNS SETOF text
AS $$
	SELECT v.p FROM (VALUES	-- isn't
		(format('Six or seven are '
			'%s.', j), k),
		('Eight is not nine: ten', l = 'm')) AS v(p, q)
$$;
CREATE FUNCTION bloomexp.other() RETURNS text
AS $$ SELECT 'This is no problem' $$;
}) ],
	[ { message => q{a "%s" of '%s' is}, sqlstate => '42601' },
		{ message => 'e', sqlstate => 'P0001' },
		{ message => 'f', sqlstate => '01000' }, { message => 'g %s of %s', sqlstate => '00000' },
		{ message => 'l %s', sqlstate => 'P0001' },
		map { { message => $_, sqlstate => '55000' } } 'Six or seven are %s', 'Eight is not nine',
		'%s is 0.5', 'One has%s ended', 'Four of them' ],
	'and in SQL');
like('a "…" of 5 is', pattern('a "%s" of %s is'), 'a gap is any text');
unlike('a "…" of 5 is not', pattern('a "%s" of %s is'), 'but nothing else is');

my @source;
find({ no_chdir => 1, wanted => sub {
	push @source, messages(document($_)) if /\.[ch]$/;
	push @source, sql_messages(document($_)) if /\.sql$/;
} }, "$root/src");
cmp_ok(scalar @source, '>', 80, 'the source has messages');

my %checked;
for my $one (grep { !$checked{"$_->{message} $_->{sqlstate}"}++ } @source)
{
	like($one->{sqlstate}, qr/^\w{5}$/, "a code of $one->{message}");
}

# The document: a table of messages, each with what to do

my @quoted;
my $chapter = '';
for (split /\n/, document("$root/$page"))
{
	$chapter = $1 if /^##+ (.*)/;
	next unless $chapter eq $ours && /^\| `/;
	my ($messages) = /^\| (`.*?`) \| (?:.+?) \|$/;

	ok(defined $messages, "a row has a message and what to do: $_") or next;
	push @quoted, $messages =~ /`([^`]+)`/g;
}
cmp_ok(scalar @quoted, '>', 10, "$page quotes messages");
for my $message (@quoted)
{
	ok((grep { $message =~ pattern($_->{message}) } @source) > 0, "the source has: $message");
}

done_testing();
