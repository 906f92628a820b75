# A release has one version, that of META.json: SQL, the changelog, the packages and the clients
# have the same.  META.json has what PGXN's specification 1.0.0 requires, and names only what there
# is.  The install script of a release is kept, with a dump of what it makes.
#
# Each rule is tried on a release that breaks it.

use strict;
use warnings;

use File::Basename qw(dirname);
use JSON::PP;
use Test::More;
use Time::Piece;

my $root = dirname(__FILE__) . '/../..';
my $semantic = qr/\A(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}\z/;

# Where other files say it.
my %place = (
	'README.md' => qr/this is version ([\d.]*\d)\./,
	'clients/README.md' => qr/`bloomexp:bloomexp:(.*?)`/,
	'clients/go/README.md' => qr/bloomexp\@v(\S+) /,
	'packaging/container/README.md' => qr/-t bloomexp:(.*?)-\d+ /,
	'bloomexp.control' => qr/^default_version = '(.*)'$/m,
	'CHANGELOG.md' => qr/^## (\S+) \(/m,
	'debian/changelog' => qr/\A\S+ \((.*)-[^-]*\)/,
	'packaging/rpm/bloomexp.spec' => qr/^Version:\s*(\S+)$/m,
	'packaging/container/docker-bake.hcl' => qr/^version = "(.*)"$/m,
	'clients/java/pom.xml' => qr/<version>(.*)<\/version>/,
	'clients/javascript/package.json' => qr/^\s*"version": "(.*)"/m,
	'clients/python/pyproject.toml' => qr/^version = "(.*)"$/m);

# Where other files have the date of the changelog, and how they write it.
my %dated = (
	'debian/changelog' => [ qr/^ -- .*>  (.*?) [\d:]+ \+0000$/m, '%a, %d %b %Y' ],
	'packaging/rpm/bloomexp.spec' => [ qr/^%changelog\n\* (\w+ \w+ \d+ \d+) /m, '%a %b %d %Y' ]);

# Where other files have the address of the project, of which META.json says "homepage".
my %address = (
	'META.json' => qr/"(?:url|web)": "(.*?)(?:\.git|\/issues)?"/,
	'REUSE.toml' => qr/^SPDX-PackageDownloadLocation = "(.*)"$/m,
	'debian/control' => qr/^(?:Homepage|Vcs-\w+): (.*?)(?:\.git)?$/m,
	'debian/control.in' => qr/^(?:Homepage|Vcs-\w+): (.*?)(?:\.git)?$/m,
	'debian/copyright' => qr/^Source: (\S+)$/m,
	'debian/upstream/metadata' => qr/: (\S+?)(?:\.git|\/(?:blob|issues)\b.*)?$/m,
	'debian/watch' => qr/^(\S+)\.git /m,
	'packaging/rpm/bloomexp.spec' => qr/^(?:URL|Source0):\s*(\S+?)(?:\/archive\/.*)?$/m,
	'packaging/container/docker-bake.hcl' => qr/^address = "(.*)"$/m);

sub slurp
{
	open(my $file, '<:encoding(UTF-8)', $_[0]) or return;
	local $/;
	return <$file>;
}

# What is wrong with the text of META.json, and the texts of the other files.
sub complaints
{
	my ($files, $exists) = @_;
	my $meta = JSON::PP->new->decode($files->{'META.json'});
	my $version = $meta->{version} // '';
	my $mine = $meta->{provides}{bloomexp} // {};
	my $released = ($meta->{release_status} // '') eq 'stable';
	my @found;

	push @found, map { "META.json lacks $_" } grep { !$meta->{$_} }
	  qw(name version abstract maintainer license provides meta-spec);
	push @found, map { "META.json lacks $_ of bloomexp" } grep { !$mine->{$_} } qw(file version);
	push @found, "META.json: version $_"
	  for grep { $_ !~ $semantic } $version, $mine->{version} // '',
		$meta->{'meta-spec'}{version} // '';
	push @found, "META.json: $_ of bloomexp is missing"
	  for grep { !$exists->($_) } grep { defined } @$mine{qw(file docfile)};
	push @found, "META.json: " . ($_ // 'no status') . ' is no status'
	  for grep { !defined || !/^(?:stable|testing|unstable)$/ } $meta->{release_status};

	my %says = map { $_ => ($files->{$_} // '') =~ $place{$_} ? $1 : undef } keys %place;
	$says{'META.json'} = $mine->{version};
	for (sort keys %says)
	{
		push @found, "$_ says " . ($says{$_} // 'nothing') . ", not $version"
		  if ($says{$_} // '') ne $version;
	}
	for my $file (sort keys %address)
	{
		my @has = ($files->{$file} // '') =~ /$address{$file}/g;
		my ($other) = grep { $_ ne ($meta->{resources}{homepage} // '') }
		  @has ? @has : 'no address';

		push @found, "$file has the address $other" if defined $other;
	}
	# what later builds are compared with: 044_released.pl
	push @found, map { "$_ is missing: see test/released/keep" } grep { !$exists->($_) }
	  map { "test/released/$_-$version.sql" } qw(bloomexp- database dump)
	  if $released;
	my ($newest) = ($files->{'CHANGELOG.md'} // '') =~ /^(## .*)$/m;
	my ($day) = ($newest // '') =~ /\((\d{4}-\d\d-\d\d)\)$/;
	push @found, 'CHANGELOG.md and META.json differ in whether it is released'
	  if $released != defined $day;
	for my $file ($day ? sort keys %dated : ())
	{
		my ($pattern, $format) = @{ $dated{$file} };
		my ($date) = ($files->{$file} // '') =~ $pattern;

		push @found, "$file has the date " . ($date // 'no date')
		  if ($date // '') ne Time::Piece->strptime($day, '%Y-%m-%d')->strftime($format);
	}
	return @found;
}

my %ours = map { $_ => slurp("$root/$_") } 'META.json', keys %place, keys %address;

is(join("\n", complaints(\%ours, sub { -e "$root/$_[0]" })), '', 'this release');

my %sound = (
	'META.json' => '{"name": "bloomexp", "version": "2.3.4", "abstract": "a", "maintainer": "m",
		"license": "postgresql", "release_status": "stable",
		"resources": {"homepage": "https://h/b", "repository": {"url": "https://h/b.git"}},
		"provides": {"bloomexp": {"file": "bloomexp.control", "docfile": "doc/a.md",
			"version": "2.3.4"}},
		"meta-spec": {"version": "1.0.0"}}',
	'bloomexp.control' => "comment = 'c'\ndefault_version = '2.3.4'\n",
	'CHANGELOG.md' => "# Changelog\n\n## 2.3.4 (2027-01-02)\n\n- a\n\n## 2.3.3 (2026-01-02)\n",
	'debian/changelog' => "postgresql-bloomexp (2.3.4-1) unstable; urgency=medium\n\n  * A\n\n"
		. " -- m <m\@h>  Sat, 02 Jan 2027 06:00:00 +0000\n",
	'packaging/rpm/bloomexp.spec' => "Name: bloomexp\nVersion:\t2.3.4\nURL:\thttps://h/b\n"
		. "%changelog\n* Sat Jan 02 2027 m <m\@h> - 2.3.4-1PGDG\n",
	'README.md' => '**Status:** this is version 2.3.4. Until',
	'clients/README.md' => '`bloomexp:bloomexp:2.3.4`, or',
	'clients/go/README.md' => 'go mod edit -require=bloomexp@v2.3.4 -replace',
	'packaging/container/README.md' => '--target extension -t bloomexp:2.3.4-18 .',
	'packaging/container/docker-bake.hcl' => qq(address = "https://h/b"\nversion = "2.3.4"\n),
	'REUSE.toml' => qq(SPDX-PackageDownloadLocation = "https://h/b"\n),
	'debian/copyright' => "Source: https://h/b\n",
	'debian/upstream/metadata' => "Repository: https://h/b.git\nRepository-Browse: https://h/b\n"
		. "Bug-Submit: https://h/b/issues/new\n",
	'debian/control' => "Homepage: https://h/b\nVcs-Git: https://h/b.git\n",
	'debian/control.in' => "Homepage: https://h/b\n",
	'debian/watch' => "version=4\nhttps://h/b.git refs\n",
	'clients/java/pom.xml' => '<?xml version="1.0"?><project><version>2.3.4</version></project>',
	'clients/javascript/package.json' => qq({\n  "name": "bloomexp",\n  "version": "2.3.4"\n}\n),
	'clients/python/pyproject.toml' => qq([project]\nname = "bloomexp"\nversion = "2.3.4"\n));
my $kept = qr{test/released/(?:bloomexp-|database|dump)-2\.3\.4\.sql};
my $exists = sub { $_[0] =~ m{^(?:bloomexp\.control|doc/a\.md|$kept)$} };

is(join("\n", complaints(\%sound, $exists)), '', 'a sound one');
is(join("\n", complaints(\%sound, sub { $_[0] !~ /dump/ && $exists->($_[0]) })),
	'test/released/dump-2.3.4.sql is missing: see test/released/keep', 'seen: no dump is kept');
for (
	[ 'META.json', qr/"name": "bloomexp",/, '', 'META.json lacks name' ],
	[ 'META.json', qr/"file".*?, /, '', 'META.json lacks file of bloomexp' ],
	[ 'META.json', qr/doc\/a/, 'doc/b', 'META.json: doc/b.md of bloomexp is missing' ],
	[ 'META.json', qr/stable/, 'testing',
		'CHANGELOG.md and META.json differ in whether it is released' ],
	[ 'META.json', qr/"stable"/, '"ready"', "META.json: ready is no status\n"
		. "CHANGELOG.md and META.json differ in whether it is released" ],
	[ 'META.json', qr/2\.3\.4"}/, '2.3.3"}', 'META.json says 2.3.3, not 2.3.4' ],
	[ 'bloomexp.control', qr/2\.3\.4/, '2.3', 'bloomexp.control says 2.3, not 2.3.4' ],
	[ 'CHANGELOG.md', qr/2\.3\.4/, '2.4.0', 'CHANGELOG.md says 2.4.0, not 2.3.4' ],
	[ 'CHANGELOG.md', qr/2027-01-02/, 'unreleased',
		'CHANGELOG.md and META.json differ in whether it is released' ],
	[ 'debian/changelog', qr/2\.3\.4/, '2.3.3', 'debian/changelog says 2.3.3, not 2.3.4' ],
	[ 'debian/changelog', qr/02 Jan/, '03 Jan', 'debian/changelog has the date Sat, 03 Jan 2027' ],
	[ 'packaging/rpm/bloomexp.spec', qr/Jan 02/, 'Feb 02',
		'packaging/rpm/bloomexp.spec has the date Sat Feb 02 2027' ],
	[ 'README.md', qr/2\.3\.4/, '2.3.3', 'README.md says 2.3.3, not 2.3.4' ],
	[ 'packaging/rpm/bloomexp.spec', qr/2\.3\.4/, '2.3',
		'packaging/rpm/bloomexp.spec says 2.3, not 2.3.4' ],
	[ 'debian/control', qr/Git: https:\/\/h\/b/, 'Git: https://h/c',
		'debian/control has the address https://h/c' ],
	[ 'debian/watch', qr/https:.*/, '', 'debian/watch has the address no address' ],
	map({ [ "clients/$_", qr/2\.3\.4/, '2.3.3', "clients/$_ says 2.3.3, not 2.3.4" ] }
		qw(java/pom.xml javascript/package.json python/pyproject.toml)),
	[ 'clients/java/pom.xml', qr/<version>.*<\/version>/, '',
		'clients/java/pom.xml says nothing, not 2.3.4' ])
{
	my ($file, $from, $to, $complaint) = @$_;

	is(join("\n", complaints({ %sound, $file => $sound{$file} =~ s/$from/$to/r }, $exists)),
		$complaint, "seen: $complaint");
}

done_testing();
