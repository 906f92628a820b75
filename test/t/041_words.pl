# Words: the rules of style that CONTRIBUTING gives, as far as patterns can see them, in
# the documents, the comments of SQL objects, and the messages and comments of the source;
# and the length of lines of the tests.

use strict;
use warnings;
use utf8;

use File::Find;
use FindBin;
use lib "$FindBin::RealBin/../lib";

use Documents;
use Test::More;

my $root = "$FindBin::RealBin/../..";

# What is not written, and what is written instead.
my @rules = (
	[ qr/\b(?:bytes?|rows?|items?|exposures|candidates|pages?|filters|users|times|WAL|logs?|images?|[nmµ]?s|[kMG]B|\d+)
		[ ]an?[ ](?:user|day|night|week|month|hour|minute|second|page|statement|call|item|candidate|row|slice|group|add|
		request|session|node|shard|group)\b/x,
		'a rate is written with "per"' ],
	[ qr/\b(?:once|twice) per (?:day|hour|week|month|night)\b/i, 'the idiom is "once a day"' ],
	[ qr/\b(?:every|at|a|one|each|per|last|next|some|two|three|\d+) nights?\b/i,
		'the rebuild, or per day: it need not run at night' ],
	[ qr/\b[Aa]sk(?:s|ed|ing)? (?!your (?:provider|operator)|questions)/,
		'a query tests an item against a filter; nobody is asked' ],
	[ qr/\b(?:tells?|told|telling)\b/, 'programs report, return, say' ],
	[ qr/\b(?:minds|believes|wants)\b/, 'programs report, return, refuse; they have no opinion' ],
	[ qr/\bfilters? (?:says?|answers?|knows?)\b/, 'a filter contains an item or does not' ],
	[ qr/\b(?:anew|beside|unlike|greater|mends?|mended)\b/i,
		'again; in addition to, compared with; different; larger; fix' ],
	[ qr/\balso if\b/i, 'even if' ],
	[ qr/(?:^|[.:;] |\n- )Where (?!to\b)/, 'if or when, not "where"' ],
	[ qr/\b(?:except|only|even|error|fails?) where\b/, 'if or when, not "where"' ],
	[ qr/(?<!# )\bWho [a-z]+s\b|[,;] who [a-z]+s needs?\b/, 'roles that, anyone who' ],
	[ qr/\bfor (?:good|ever)\b/, 'permanently, without end' ],
	[ qr/\bof yours\b/, 'your own' ],
	[ qr/\bwrongly (?:dropped|removed|excluded)\b/, 'a false positive' ],
	[ qr/\btables? of the (?:filters|exposures)\b/, 'filter table, exposures table' ],
	[ qr/\b(?:promises?|promised|promising)\b/, 'the target rate' ],
	[ qr/\bsurvivors?\b|\bsurvived?\b/, 'remaining candidates' ],
	[ qr/\b(?:comes?|came|coming) (?:up|through)\b|\bgoes on\b|\bgo on\b/, 'appear, be shown again, continue' ],
	[ qr/\b(?:as was said|as before, but|was dropped in between)\b/, 'no history' ],
	[ qr/\A(?:\(|[^.]*\?\z)/, 'a comment is a sentence: no aside, no question' ],
	[ qr/^[#]+[ ](?:Flat[ ]writes|Watching|Neighbours|Beside[ ]other[ ]software|Live[ ]and[ ]nightly|Asking|Splitting|
		And[ ]back|And[ ]more|Ten[ ]lines|All[ ]agree|Moving[ ]and[ ]restoring|What[ ]did[ ]not[ ]pay|
		Was[ ]it[ ]new\?)$/mx,
		'a heading has the words that people search for' ]);

# Exceptions, with their reason.
my @allowed = (
	qr/told apart/,				# an idiom of hashes
	qr/^at night\?/,	# a question of the FAQ
	qr/greater than/);			# of numbers, as in messages of PostgreSQL

# What prose breaks a rule, each time with the line and what is written instead.
sub complaints
{
	my ($text) = @_;
	my @complaints;

	$text =~ s/^```.*?^```$/"\n" x (($& =~ tr,\n,,))/mseg;
	$text =~ s/^(?: {4}|\t).*$//mg;
	$text =~ s/<!--.*?-->/"\n" x ($& =~ tr,\n,,)/seg;
	$text =~ s/`[^`\n]*`/`…`/g;
	$text =~ s/\]\([^)\n]*\)/]/g;
	for (@rules)
	{
		my ($pattern, $instead) = @$_;

		while ($text =~ /$pattern/g)
		{
			my ($found, $start) = ($&, $-[0]);
			my $around = substr($text, $start, length($found) + 12);
			my $line = 1 + (substr($text, 0, $start) =~ tr/\n//);

			next if grep { $around =~ $_ } @allowed;
			push @complaints, "line $line: \"" . ($found =~ s/\n/ /gr) . "\": $instead";
		}
	}
	return join "\n", @complaints;
}

# So that it can fail, and need not.
for ('It takes 20 bytes a user.', 'It runs once per day.', 'Every night the job runs.', 'Ask the filter.',
	'It tells the user.', 'It believes the header.', 'Filters are built anew.',
	'So also if it fails.', 'It works, except where it fails.', 'It stays for good.', 'On a machine of yours.',
		'Of the table of the filters.', 'It was wrongly dropped.',
	'The filter says yes.', 'Where this fails, repeat.', 'Who writes needs rights.', 'It promises 1%.', '(An aside.)',
		'Is it a question?', "## Flat writes\n")
{
	isnt(complaints($_), '', "refused: $_");
}
is(complaints("A user sees an item once a day. `ask a user` is code.\n\n```sql\nSELECT 'ask them';\n```\n"), '',
	'code is not prose');

# Documents

for my $file (sort map { glob "$root/$_.md" }
	qw(* doc/* doc/internals/* packaging/* src/README clients/*/* examples/*/*))
{
	my $name = $file =~ s{^\Q$root\E/}{}r;

	next if $name eq 'CHANGELOG.md';
	is(complaints(document($file)), '', $name);
}

# Comments of SQL objects, messages with their details and hints, and what readers of
# the source read

my @texts;
find({ no_chdir => 1, wanted => sub {
	my $name = $_;

	return unless /\.(?:c|h|sql|in)$/;
	my $text = document($name);

	push @texts, [ $name, $1 ] while $text =~ /\b(?:errmsg|errdetail|errhint)(?:_plural)?\("((?:[^"\\]|\\.)*)"/g;
	push @texts, [ $name, $1 ] while $text =~ /^COMMENT ON .*?\bIS\s+'((?:[^']|'')*)'/msg;
	push @texts, [ $name, $1 ]
	  while $text =~ /\b(?:RAISE \w+|HINT =|DETAIL =|problems \|\|)(?: format\()? ?'((?:[^']|'')*)'/g;
	push @texts, [ $name, $1 =~ s/^\s*--\s*//mgr =~ s/\s+/ /gr ] while $name =~ m{/feed/}
		&& $text =~ /((?:^\s*-- .*\n)+)/mg;
} }, "$root/src");
cmp_ok(scalar @texts, '>', 150, 'the source has texts');
for (@texts)
{
	my ($file, $text) = @$_;

	is(complaints($text), '', "$file: $text");
}

find({ no_chdir => 1, wanted => sub {
	return unless /\.[ch]$/;
	my $name = $_;
	my $text = document($name);
	my @complaints;

	while ($text =~ m{/\*(.*?)\*/}sg)
	{
		my $comment = $1 =~ s/^[ \t]*\* ?\s*//mgr =~ s/\s+/ /gr =~ s/^ //r;
		my $complaint = complaints($comment);

		push @complaints, "$complaint in: $comment" if $complaint ne '';
	}
	is(join("\n", @complaints), '', 'comments of ' . $name =~ s{^\Q$root\E/}{}r);
} }, "$root/src");

# Lines that can be read, in what the tests are written in

for my $file (sort map { glob "$root/$_/*.{pl,pm,c,h,sql,spec,mjs}" }
	qw(sql test/fuzz test/integrations test/integrations/apps test/lib test/specs test/t test/unit))
{
	my @lines = split /\n/, document($file);

	is(join(' ', grep { length $lines[ $_ - 1 ] > 120 } 1 .. @lines), '',
		$file =~ s{^\Q$root\E/}{}r . ': lines of at most 120 columns');
}

done_testing();
