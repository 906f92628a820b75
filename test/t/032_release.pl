# A release has one version, that of META.json: the changelog and the packages have the same,
# and SQL has it without the last number, which stands for changes of the module alone.
# META.json has what PGXN's specification 1.0.0 requires, and names only what there is.
#
# Each rule is tried on a release that breaks it.

use strict;
use warnings;

use File::Basename qw(dirname);
use JSON::PP;
use Test::More;

my $root = dirname(__FILE__) . '/../..';
my $semantic = qr/\A(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}\z/;

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

	push @found, map { "META.json lacks $_" } grep { !$meta->{$_} } qw(name version abstract maintainer license provides meta-spec);
	push @found, map { "META.json lacks $_ of bloomexp" } grep { !$mine->{$_} } qw(file version);
	push @found, "META.json: version $_" for grep { $_ !~ $semantic } $version, $mine->{version} // '', $meta->{'meta-spec'}{version} // '';
	push @found, "META.json: $_ of bloomexp is missing" for grep { !$exists->($_) } grep { defined } @$mine{qw(file docfile)};
	push @found, "META.json: " . ($_ // 'no status') . ' is no status'
	  for grep { !defined || !/^(?:stable|testing|unstable)$/ } $meta->{release_status};

	my %says = ('META.json' => $mine->{version});
	($says{'bloomexp.control'}) = ($files->{'bloomexp.control'} // '') =~ /^default_version = '(.*)'$/m;
	$says{'bloomexp.control'} .= $1 if defined $says{'bloomexp.control'} && $version =~ /(\.\d+)\z/;
	my ($changes, $date) = ($files->{'CHANGELOG.md'} // '') =~ /^## (\S+) \((.*)\)$/m;
	$says{'CHANGELOG.md'} = $changes;
	($says{'debian/changelog'}) = $files->{'debian/changelog'} =~ /\A\S+ \((.*)-[^-]*\)/ if defined $files->{'debian/changelog'};
	($says{'bloomexp.spec'}) = $files->{'bloomexp.spec'} =~ /^Version:\s*(\S+)$/m if defined $files->{'bloomexp.spec'};
	for (sort keys %says)
	{
		push @found, "$_ says " . ($says{$_} // 'nothing') . ", not $version" if ($says{$_} // '') ne $version;
	}
	push @found, 'CHANGELOG.md and META.json differ in whether it is released'
	  if $released != (($date // '') =~ /^\d{4}-\d\d-\d\d$/);
	return @found;
}

my ($spec) = glob "$root/packaging/*/bloomexp.spec $root/packaging/bloomexp.spec";
my ($debian) = grep { -e } "$root/debian/changelog", "$root/packaging/debian/changelog";
my %ours = map { $_ => slurp("$root/$_") } qw(META.json bloomexp.control CHANGELOG.md);
$ours{'bloomexp.spec'} = slurp($spec) if $spec && -e $spec;
$ours{'debian/changelog'} = slurp($debian) if $debian;

is(join("\n", complaints(\%ours, sub { -e "$root/$_[0]" })), '', 'this release');

my %sound = (
	'META.json' => '{"name": "bloomexp", "version": "2.3.4", "abstract": "a", "maintainer": "m", "license": "postgresql",
		"release_status": "stable", "provides": {"bloomexp": {"file": "bloomexp.control", "docfile": "doc/a.md", "version": "2.3.4"}},
		"meta-spec": {"version": "1.0.0"}}',
	'bloomexp.control' => "comment = 'c'\ndefault_version = '2.3'\n",
	'CHANGELOG.md' => "# Changelog\n\n## 2.3.4 (2027-01-02)\n\n- a\n\n## 2.3.3 (2026-01-02)\n",
	'debian/changelog' => "postgresql-bloomexp (2.3.4-1) unstable; urgency=medium\n",
	'bloomexp.spec' => "Name: bloomexp\nVersion:\t2.3.4\n");
my $exists = sub { $_[0] =~ /^(?:bloomexp\.control|doc\/a\.md)$/ };

is(join("\n", complaints(\%sound, $exists)), '', 'a sound one');
for (
	[ 'META.json', qr/"name": "bloomexp",/, '', 'META.json lacks name' ],
	[ 'META.json', qr/"file".*?, /, '', 'META.json lacks file of bloomexp' ],
	[ 'META.json', qr/doc\/a/, 'doc/b', 'META.json: doc/b.md of bloomexp is missing' ],
	[ 'META.json', qr/stable/, 'testing', 'CHANGELOG.md and META.json differ in whether it is released' ],
	[ 'META.json', qr/"stable"/, '"ready"', "META.json: ready is no status\nCHANGELOG.md and META.json differ in whether it is released" ],
	[ 'META.json', qr/2\.3\.4"}/, '2.3.3"}', 'META.json says 2.3.3, not 2.3.4' ],
	[ 'bloomexp.control', qr/2\.3/, '2.2', 'bloomexp.control says 2.2.4, not 2.3.4' ],
	[ 'CHANGELOG.md', qr/2\.3\.4/, '2.4.0', 'CHANGELOG.md says 2.4.0, not 2.3.4' ],
	[ 'CHANGELOG.md', qr/2027-01-02/, 'unreleased', 'CHANGELOG.md and META.json differ in whether it is released' ],
	[ 'debian/changelog', qr/2\.3\.4/, '2.3.3', 'debian/changelog says 2.3.3, not 2.3.4' ],
	[ 'bloomexp.spec', qr/2\.3\.4/, '2.3', 'bloomexp.spec says 2.3, not 2.3.4' ])
{
	my ($file, $from, $to, $complaint) = @$_;

	is(join("\n", complaints({ %sound, $file => $sound{$file} =~ s/$from/$to/r }, $exists)), $complaint, "seen: $complaint");
}

done_testing();
