# clients/: the conformance set is what the server answers today; the readers answer as the server
# does by a driver, and that in Python builds its bytes of random sets, too; and the programs of
# their pages run as they are written.  A reader whose language or driver is not installed is
# skipped, and named.  readers.pl compares the readers with the set.

use Cwd qw(abs_path);
use Documents;
use Server;

require "$root/test/lib/samples.pl";

my $sets = "$root/clients/conformance";

# Lines of the set.  The last digits of a rate are those of a libm.
sub lines_of
{
	my ($text) = @_;

	$text =~ s/("fpr_now":\d\.\d{12})\d+/$1/g;
	return split /\n/, $text;
}

my $node = start_server_for_drivers('clients');

for my $set (qw(values builds))
{
	my @made = lines_of($node->safe_psql('postgres', slurp_file("$sets/$set.sql")));
	my @kept = lines_of(slurp_file("$sets/$set.jsonl"));

	is_deeply(\@made, \@kept, "the server still says what is in $set");
}

# Random sets, others in each run: sizes of up to 1,000 items and now and then 30,000, rates
# from 0.9 to 1e-9, with and without headroom, with repetitions.
my $random = PostgreSQL::Test::Utils::tempdir() . '/random.jsonl';
my $seed = sprintf '%.6f', rand;
append_to_file($random, $node->safe_psql('postgres', qq{
	SELECT setseed($seed);
	SELECT built('$seed ' || id, kind, fpr, headroom, CASE WHEN id % 50 > 0 THEN items END,
		CASE WHEN id % 50 = 0 THEN 30 * n END)
	FROM (SELECT id, (ARRAY['integer', 'text', 'uuid',
		'bytea'])[1 + floor(4 * random())::integer] AS kind,
		0.9 * 10 ^ (-8.9 * random() ^ 2) AS fpr,
			CASE WHEN random() < 0.5 THEN 0 ELSE round(random()::numeric,
				2)::float8 END AS headroom, floor(10 ^ (3 * random()))::integer AS n
		FROM generate_series(1, 300) AS id OFFSET 0) AS sets,
		LATERAL (SELECT array_agg(
			item(kind, 1 + (hashint4(i + 1000 * id) & 4095) % (2 * n))) AS items
			FROM generate_series(1, n) AS i) AS given
	ORDER BY id}) =~ s/^\n//r . "\n");
is(scalar(my @random = slurp_file($random) =~ /^\{"name"/mg), 300, "random sets by the seed $seed");

# The readers

# Start a program; ended() waits for it, and returns its status and what it has printed.
sub start
{
	my %program = (said => '');

	$program{run} = eval { IPC::Run::start([@_], '<', \undef, '>&', \$program{said},
		IPC::Run::timeout(5 * $patience)) };
	return \%program;
}

sub ended
{
	my ($program) = @_;
	my $ok = eval { $program->{run}->finish };

	return ($ok ? 0 : $? >> 8 || 1, "$program->{said}$@" =~ s/\n\z//r);
}

sub run_program { return ended(start(@_)) }

# CI insists on all of them.
sub skip_unless_ci
{
	my ($what) = @_;

	ok(0, "$what, which CI needs") if $ENV{CI};
	skip($what, 1);
}

$node->safe_psql('postgres', 'CREATE DATABASE samples');
samples::create($node, 'samples');
connect_to('samples');
$ENV{NODE_PATH} = "$root/test/integrations/drivers/node_modules";

# The page talks to no server.
my @readers = grep { !m{/page/} } glob "$root/clients/*/run";
my @checks = map { [ $_, 9, start($_, 'live') ] } @readers;
for ([ "$root/clients/python/run", 300, start("$root/clients/python/run", 'check', $random) ],
	@checks)
{
	my ($reader, $tests, $program) = @$_;
	my ($name) = $reader =~ m{clients/(.*)/run};
	my ($status, $said) = ended($program);

  SKIP:
	{
		skip_unless_ci("reader in $name: $said") if $status == 77;
		is("$status " . $said =~ s/.*\n//sr, "0 $tests passed, 0 failed",
			$tests == 300 ? "$name: random sets by the seed $seed"
			: "$name: survivors of each filter")
			  or diag substr($said, 0, 5000);
	}
}

# The programs of clients/README.md and of the clients' pages, as they are written, each where its
# language finds the reader and the driver.  Each function returns how to run one, or nothing if
# something is missing.

my ($guide) = document("$root/clients/README.md") =~ /^(## Read a filter\n.*?)(?=^## )/ms;
my $folder = PostgreSQL::Test::Utils::tempdir();
my $clients = abs_path("$root/clients");

sub compiles
{
	my ($status, $said) = run_program(@_);

	is($status, 0, "@_[0, 1]: compiles") or diag $said;
}

sub python_program
{
	my $python = python() or return;

	return ('env', "PYTHONPATH=$clients/python", $python, '-B',
		program($guide, 'python', "$folder/recall.py"));
}

sub javascript_program
{
	mkdir "$folder/node_modules";
	symlink "$clients/javascript", "$folder/node_modules/bloomexp" or die $!;
	symlink abs_path($ENV{NODE_PATH}) . '/pg', "$folder/node_modules/pg" or die $!;
	return unless -d "$folder/node_modules/pg" && (run_program(qw(node --version)))[0] == 0;
	return ('node', program(document("$clients/javascript/README.md"), 'javascript',
		"$folder/recall.mjs"));
}

sub java_program
{
	my $jar = '/usr/share/java/postgresql.jar';

	return unless -e $jar && (run_program(qw(javac -version)))[0] == 0;
	compiles('javac', '-d', "$folder/classes", '-encoding', 'UTF-8',
		program(document("$clients/java/README.md"), 'java', "$folder/Recall.java"),
			glob "$clients/java/src/main/java/bloomexp/*.java");
	return ('java', '-cp', "$folder/classes:$jar", 'Recall');
}

# As a module of its own, by the commands of its page; the driver is where Debian has it.
sub go_program
{
	my $driver = '/usr/share/gocode/src/github.com/lib/pq';
	my $page = document("$clients/go/README.md");
	my ($commands) = $page =~ /^( +go mod edit .*?)\n\n/ms or die 'no "go mod edit" on the page';

	return unless -d $driver && (run_program(qw(go version)))[0] == 0;
	program($page, 'go', "$folder/recall.go");
	$commands =~ s{path/to/bloomexp/clients}{$clients};
	compiles('bash', '-ec', "cd '$folder'; export GOFLAGS=-mod=mod GOPROXY=off
		go mod init recall; $commands
		go mod edit -require=github.com/lib/pq\@v1.10.7 -replace=github.com/lib/pq=$driver
		go build -o recall recall.go");
	return "$folder/recall";
}

$node->safe_psql('postgres', 'CREATE DATABASE guide');
$node->safe_psql('guide', q{CREATE EXTENSION bloomexp;
	CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL,
		shown_at timestamptz NOT NULL DEFAULT now());
	CREATE INDEX ON exposures (user_id, shown_at);
	SELECT bloomexp.create_feed('seen', 'exposures')});
connect_to('guide');
for (['Python', \&python_program], ['JavaScript', \&javascript_program], ['Java', \&java_program],
	['Go', \&go_program])
{
	my ($language, $program) = @$_;
	my @command = $program->();

  SKIP:
	{
		skip_unless_ci("program in $language: its driver is missing") unless @command;
		$node->safe_psql('guide', 'TRUNCATE seen.filters');
		is(join(' ', (run_program(@command))[1] =~ /\d+/g), '42001 703 704 703',
			"program in $language: a user without a row");
		$node->safe_psql('guide', 'INSERT INTO exposures VALUES (42, 42001)');
		is(join(' ', (run_program(@command))[1] =~ /\d+/g), '703 704 703',
			"program in $language: remaining candidates");
	}
}
$node->stop;

# test/t/032_release.pl compares the versions of the other files.
my ($version) = slurp_file("$root/META.json") =~ /"version": "(.*?)"/;
like(slurp_file("$root/clients/python/bloomexp.py"), qr/^__version__ = "\Q$version\E"$/m,
	'version in bloomexp.py');
# Go takes the licence at the root of a repository, and the pom.xml names it.
is(slurp_file("$root/clients/$_/LICENSE"), slurp_file("$root/LICENSE"),
  "licence of the reader in $_")
  for qw(python javascript);

done_testing();
