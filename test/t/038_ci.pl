# .ci/run, with other programs in place of its tests: what fails is counted, whatever
# else is said, and nothing is left running when it is ended.

use strict;
use warnings;

use File::Copy qw(copy);
use FindBin;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $patience = $PostgreSQL::Test::Utils::timeout_default || 180;
my $run = "$FindBin::RealBin/../../.ci/run";
plan skip_all => 'this copy has no .ci' unless -e $run;

my $beside = PostgreSQL::Test::Utils::tempdir();
mkdir(my $folder = "$beside/checkout");
mkdir "$folder/$_" for qw(.ci test bin);
copy($run, "$folder/.ci/run") or die $!;
chmod 0755, "$folder/.ci/run";
$ENV{PATH} = "$folder/bin:$ENV{PATH}";

sub program
{
	my ($name, $text) = @_;

	open(my $file, '>', "$folder/$name") or die "$name: $!";
	print $file "#!/bin/bash\n$text\n";
	close $file;
	chmod 0755, "$folder/$name";
}

# Programs, of which some are other ones.
sub programs
{
	my (%other) = @_;
	my %programs = (
		'test/fresh' => 'echo "fresh a ... ok"; echo "fresh b ... ok"',
		'test/packages' => 'echo "packages a ... ok"',
		'test/dist' => 'echo "5 passed, 0 failed"',
		'bin/make' => 'case $1 in fuzz) eval "$FUZZ";; check) echo "$PASSED passed, $FAILED failed$([ $SKIPPED = 0 ] || echo ", $SKIPPED skipped")";; esac',
		'bin/apt-get' => '', 'bin/sudo' => 'shift; exec "$@"', %other);

	program($_, $programs{$_}) for keys %programs;
}

sub says
{
	my ($sum, $name, %other) = @_;

	programs(%other);
	IPC::Run::run([ "$folder/.ci/run" ], '<', \undef, '>&', \my $said, IPC::Run::timeout($patience));
	like($said, qr/^$sum\n\z/m, $name) or diag $said;
}

$ENV{FUZZ} = 'true';
says('9 passed, 0 failed', 'all is fine');
says('7 passed, 1 failed', 'one of the machines', 'test/fresh' => 'echo "fresh a ... FAILED"; exit 1');
says('7 passed, 1 failed', 'machines that say nothing', 'test/fresh' => 'exit 1');
says('8 passed, 1 failed', 'a package that is killed', 'test/packages' => 'kill -9 $$');
says('8 passed, 2 failed', 'some of an archive', 'test/dist' => 'echo "4 passed, 2 failed"; exit 1');
says('9 passed, 0 failed, 3 skipped', 'what is skipped has not passed', 'test/dist' => 'echo "5 passed, 0 failed, 2 skipped"',
	'test/fresh' => 'echo "fresh a ... ok"; echo "fresh b ... ok"; echo "fresh c ... skipped: no way"');
says('9 passed, 1 failed', 'an archive that fails beside its sum', 'test/dist' => 'echo "5 passed, 0 failed"; exit 1');
says('4 passed, 1 failed', 'an archive without a sum', 'test/dist' => 'echo 5 passed');

# Extensions are unpacked where they are; without them or without a tool the sum is the same.
mkdir "$beside/$_" for qw(shared shared/pg);
append_to_file("$beside/shared/pg/extensions-15.tar.zst", '');
says('9 passed, 0 failed', 'extensions', 'bin/zstd' => 'true', 'bin/tar' => "echo \"\$*\" >'$folder/tar'");
is(slurp_file("$folder/tar"), "-x -C / --no-same-owner\n", 'are unpacked');
says('9 passed, 0 failed', 'extensions that cannot be unpacked', 'bin/zstd' => 'exit 1', 'bin/tar' => 'exit 1');

$ENV{FUZZ} = 'exit 1';
says('8 passed, 1 failed', 'the fuzzer');

# (A process whose parent is gone stays as a zombie where PID 1 does not reap.)
sub runs
{
	my ($pid) = @_;

	return kill(0, $pid) && !(-e "/proc/$pid/stat" && slurp_file("/proc/$pid/stat") =~ /\) Z /);
}

# Ended while the fuzzer runs.
$ENV{FUZZ} = "echo \$\$ >'$folder/pid'; sleep $patience; true";
programs('test/fresh' => "sleep 0.1; until [ -s '$folder/pid' ]; do sleep 0.1; done; kill \$PPID; sleep 1");
IPC::Run::run([ "$folder/.ci/run" ], '<', \undef, '>&', \my $said, IPC::Run::timeout($patience));
chomp(my $pid = slurp_file("$folder/pid"));
for (1 .. 50)
{
	last unless runs($pid);
	sleep 0.1;
}
ok(!runs($pid), 'ended: the fuzzer, too') and is($said, '', 'without a word');

done_testing();
