# The modules of src/ that know nothing of PostgreSQL, tested by the programs of
# test/unit: compiled here with the address and undefined behaviour sanitizers,
# where the compiler has them, and without, where it has not.

use strict;
use warnings;

use File::Basename;
use File::Temp;
use Test::More;

my $root = dirname(__FILE__) . '/../..';
my $folder = File::Temp->newdir;
my @modules = map { "$root/src/kernel/$_.c" } qw(simd sizing probe sort);

# The server's compiler, unless CC names one; with its options, if it has any.
my $cc = $ENV{CC} || `@{[ $ENV{PG_CONFIG} || 'pg_config' ]} --cc 2>/dev/null` || 'cc';
chomp $cc;
my @cc = split ' ', $cc;
my $machine = `$cc -dumpmachine 2>/dev/null`;
# what the Makefile says of exact arithmetic
my @exact = ('-ffp-contract=off', $machine =~ /^i\d86-/ ? qw(-msse2 -mfpmath=sse) : ());

# Run a command; returns its output and its exit status.
sub run
{
	my @command = @_;
	my $pid = open(my $pipe, '-|') // die "fork: $!";

	if ($pid == 0)
	{
		open(STDERR, '>&', \*STDOUT);
		exec(@command) or exit 127;
	}
	my $output = do { local $/; <$pipe> } // '';
	close $pipe;
	return ($output, $?);
}

# Whether a program can be built with these options, and runs.
sub works
{
	open(my $file, '>', "$folder/empty.c") or die;
	print $file "int main(void) { return 0; }\n";
	close $file;
	return (run(@cc, '-o', "$folder/empty", "$folder/empty.c", @_))[1] == 0
	  && (run("$folder/empty"))[1] == 0;
}

plan skip_all => "no C compiler: $cc" unless works();

my @sanitize = ('-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all');
@sanitize = () unless works(@sanitize);
note "@cc @sanitize";

# What has vector instructions runs with those that the CPU has, without the widest, and without
# any; and once without sanitizers, whose checks keep loops from becoming vectors.
my $x86 = $machine =~ /^x86_64-/;
my @narrower = $x86 ? ([ @sanitize, '-DBLOOMEXP_NO_AVX512' ],
	[ @sanitize, '-DBLOOMEXP_PORTABLE' ]) : ();
my @vectors = ([qw(-O3)], $x86 ? [qw(-O3 -DBLOOMEXP_NO_AVX512)] : ());
my %ways = (probe => [ @narrower, @vectors ], murmur3 => [ @narrower, @vectors ]);
for (map { my $source = $_; map { [ $source, $_ ] } \@sanitize,
	@{ $ways{ basename($source, '.c') } // [] } } sort glob "$root/test/unit/*.c")
{
	my ($source, $way) = @$_;
	my $name = basename($source, '.c');
	my $program = "$folder/$name";

	subtest "$name @$way" => sub {
		my ($output, $status) = run(@cc,
			qw(-O2 -Wall -Wextra -Werror=incompatible-pointer-types), @exact, @$way,
			"-I$root/src", '-o', $program, $source, @modules, '-lm');
		is($status, 0, 'compiles') or diag $output;

		($output, $status) = run($program);
		my $planned = 0;
		my $tests = 0;
		for (split /\n/, $output)
		{
			if (/^(not )?ok \d+ - (.*)/)
			{
				ok(!$1, $2);
				$tests++;
			}
			elsif (/^1\.\.(\d+)$/) { $planned = $1; }
			elsif ($status == 0) { note $_; }
			else { diag $_; }
		}
		is($status, 0, 'ends well');
		is($tests, $planned, 'all tests were made');
	};
}

done_testing();
