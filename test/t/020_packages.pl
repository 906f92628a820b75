# What test/lib/bootstrap installs it lists first, and with INSTALL=no it installs nothing.  Here it
# sees only a folder of programs, in which apt-get writes down how it was called.

use strict;
use warnings;

use File::Basename;
use File::Temp;
use Test::More;

my $bootstrap = dirname(__FILE__) . '/../lib/bootstrap';
my $folder = File::Temp->newdir;

sub write_file
{
	my ($name, $contents) = @_;

	open(my $file, '>', "$folder/$name") or die "$name: $!";
	print $file $contents;
	close $file;
}

sub program
{
	my ($name, $commands) = @_;

	write_file("bin/$name", "#!/bin/sh\n$commands\n");
	chmod 0755, "$folder/bin/$name";
}

mkdir "$folder/$_" for qw(bin server);
for my $name (qw(dirname env head sed))
{
	my ($path) = grep { -x } map { "$_/$name" } split /:/, $ENV{PATH};

	symlink $path, "$folder/bin/$name" or die "$name: $!";
}
write_file("server/$_", '') for qw(postgres postgres.h);
chmod 0755, "$folder/server/postgres";

# What a machine has unless a test says otherwise: a server with its development files, a compiler,
# Perl's modules, root, and packages of a newer server.
my %programs = (
	'apt-cache' => 'echo "  Depends: postgresql-17"',
	'apt-get' => qq{echo "apt-get \$*" >>$folder/said},
	gcc => 'exit 0', perl => 'exit 0', id => 'echo 0',
	pg_config => qq{case \$1 in
		--version) echo "PostgreSQL 15.1" ;;
		--bindir | --includedir-server) echo $folder/server ;;
	esac});

# Call bootstrap on a machine without some programs, or with others; returns whether it succeeded,
# and what it and apt-get said.
sub bootstrap
{
	my ($purpose, $install, %other) = @_;
	my %has = (%programs, %other);

	for (keys %has)
	{
		unlink "$folder/bin/$_";
		program($_, $has{$_}) if defined $has{$_};
	}
	write_file('said', '');
	local %ENV = (PATH => "$folder/bin", MAKE => 'true', INSTALL => $install);
	my $status = system("/bin/bash '$bootstrap' $purpose >>'$folder/said' 2>&1");
	open(my $file, '<', "$folder/said") or die "$folder/said: $!";
	return ($status == 0, join '', <$file>);
}

my @no_server = (gcc => undef, pg_config => undef);
my $made = qr/^building and installing bloomexp\n/m;
my ($ok, $said) = bootstrap('demo', '');
ok($ok, 'nothing is missing');
like($said, qr/\A$made\z/, 'nothing is installed');

for ([ 'demo', "missing here: gcc libc6-dev\n", 'gcc' ],
	[ 'check', "missing here: gcc libc6-dev libipc-run-perl\n", qw(gcc perl) ])
{
	my ($purpose, $list, @lacks) = @$_;
	my ($ok, $said) = bootstrap($purpose, 'no', map { $_ => undef } @lacks);

	ok(!$ok, "$purpose, INSTALL=no: fails");
	like($said, qr/\A\Q$list/, "$purpose, INSTALL=no: lists the packages");
	like($said, qr/^bloomexp: nothing is installed/m, "$purpose, INSTALL=no: says so");
	unlike($said, qr/apt-get|$made/, "$purpose, INSTALL=no: installs and builds nothing");
}

SKIP:
{
	skip 'the package of npm is here', 2
	  if -d dirname(__FILE__) . '/../../examples/feed/node_modules/pg';
	my ($ok, $said) =
	  bootstrap('example', 'no', node => 'echo 20.1.1', npm => 'exit 0', gcc => undef);

	ok(!$ok, 'example, INSTALL=no: fails');
	like($said, qr/\Amissing here: gcc libc6-dev\nmissing here, from npm: pg\n/,
		'example, INSTALL=no: lists the packages of apt and npm');
}

($ok, $said) = bootstrap('demo', '', gcc => undef);
ok($ok, 'without a compiler');
like($said,
	qr/\Amissing here: gcc libc6-dev\napt-get .*update\n.*\napt-get .*install gcc libc6-dev\n/,
	'it is listed, then installed');
like($said, $made, 'and then the demo is built');

($ok, $said) = bootstrap('deps', '', gcc => undef);
ok($ok, 'deps without a compiler');
like($said, qr/\Amissing here: gcc libc6-dev\n(?:missing here, for .*\n)?apt-get .*update\n/,
	'deps: it is listed, then installed');
like($said, qr/^apt-get .*install gcc libc6-dev$/m, 'deps: installed');
unlike($said, $made, 'deps: nothing is built');

($ok, $said) = bootstrap('deps', 'no', @no_server);
ok(!$ok, 'deps, INSTALL=no, without a server: fails');
like($said, qr/\Amissing here: postgresql-server-dev-17 postgresql-17 gcc libc6-dev\n/,
	"lists the server of apt's version");
like($said, qr/^missing here, for .* only: postgresql-17-cron postgresql-17-partman\b/m,
	'and what some tests need');

($ok, $said) = bootstrap('demo', '', @no_server, 'apt-get' => undef, 'apt-cache' => undef);
ok(!$ok, 'without apt-get: fails');
like($said,
	qr/\Amissing here: postgresql-server-dev-N postgresql-N gcc libc6-dev .*\n.*install them;/,
	'without apt-get: lists what to install');

($ok, $said) = bootstrap('demo', '', gcc => undef, id => 'echo 1000');
ok(!$ok, 'without root and sudo: fails');
like($said, qr/\Amissing here: gcc libc6-dev\nbloomexp: .*takes root or sudo\n\z/,
	'without root and sudo: lists what to install');

done_testing();
