# clients/page/: in a real browser the page answers as the server does.  Its calculator
# is bloom_sizing() and bloom_capacity() for random cases, its examples are what their
# statements make, and it can be used by the keyboard, on a narrow screen and offline.
# readers.pl runs clients/page/run with the conformance set.

use strict;
use warnings;

use FindBin;
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $patience = $PostgreSQL::Test::Utils::timeout_default || 180;
my $page = "$FindBin::RealBin/../../clients/page";
my $folder = PostgreSQL::Test::Utils::tempdir();

is(system("$page/make", "$folder/index.html"), 0, 'clients/page/make');
like(slurp_file("$folder/index.html"), qr/"default-src 'none'; script-src 'sha256-[^' ]+'; style-src 'sha256-[^' ]+'; img-src data:; base-uri 'none'; form-action 'none'"/,
	'the page allows nothing but itself');

my $node = PostgreSQL::Test::Cluster->new('page');
$node->init(extra => [ '--encoding', 'UTF8', '--no-locale' ]);
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION bloomexp;
	-- what a calculator says, its arguments before it, or how it refuses
	CREATE FUNCTION ask(call text, number bigint, rate text) RETURNS jsonb LANGUAGE plpgsql AS $$
	DECLARE
		asked jsonb = jsonb_build_object('call', call, 'args', jsonb_build_array(number::text, rate));
		said jsonb;
		code text;
		message text;
		detail text;
	BEGIN
		EXECUTE format('SELECT to_jsonb(s) FROM %I($1, $2) s', call) INTO said USING number, rate::float8;
		RETURN asked || said;
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
		RETURN asked || jsonb_build_object('error',
			jsonb_strip_nulls(jsonb_build_object('code', code, 'message', message, 'detail', nullif(detail, ''))));
	END
	$$;
});

# What the examples show is from the server.
for my $example (map { decode_json($_) } slurp_file("$page/examples.js") =~ /^(\{.*\}),$/mg)
{
	is($node->safe_psql('postgres', "SET timezone = 'UTC'; $example->{sql}"), $example->{value}, "example: $example->{name}");
}

# Random cases, the same in each run: a number of up to so many digits, and a rate.
srand 37;
my $blocked = 0;
my @cases;
for ([ bloom_sizing => 1000, 8.6 ], [ bloom_capacity => 200, 9 ])
{
	my ($call, $count, $digits) = @$_;

	push @cases, map { [ $call, int(10**rand $digits), sprintf('%.17g', 10**-rand 9) ] } 1 .. $count;
}
push @cases, map { [ bloom_sizing => @$_ ] } [ 0, 0.01 ], [ 100, 0 ], [ 100, 1 ], [ 100, 1e-10 ], [ 1, 1e-9 ], [ 100, 0.01 ], [ 101, 0.01 ],
  # the largest of one block, and one item more
  [ 27_281, 0.01 ], [ 27_282, 0.01 ], [ 103_380, 0.3 ], [ 103_381, 0.3 ], [ 6_075, 1e-9 ], [ 6_076, 1e-9 ];
push @cases, map { [ bloom_capacity => @$_ ] } [ 43, 0.01 ], [ 100, 0 ], [ 44, 0.5 ], [ 2**50, 0.01 ], [ 172, 0.01 ];
my $answers = $node->safe_psql('postgres', "SELECT ask(c, n, r) FROM (VALUES\n" .
	join(",\n", map { "($_, '$cases[$_][0]', $cases[$_][1]::bigint, '$cases[$_][2]')" } 0 .. $#cases) . ') AS v (i, c, n, r) ORDER BY i');
$node->stop;
append_to_file("$folder/sizes", "$answers\n");
my @answers = map { decode_json($_) } split /\n/, $answers;
cmp_ok(scalar(grep { ($_->{bits} // 0) > 64 * 4096 } @answers), '>', 100, 'sizes of filters with blocks');
cmp_ok(scalar(grep { $_->{error} } @answers), '>', 8, 'sizes that cannot be');

# Parts of the check, with how many tests each has.
for ([ 'how it is used', 'use', 9 ], [ 'the calculator', "sizes=$folder/sizes", scalar @cases ])
{
	my ($name, $part, $tests) = @$_;
	my $ok = IPC::Run::run([ "$page/run", $part ], '<', \undef, '>&', \my $said, IPC::Run::timeout($patience));
	my $status = $ok ? 0 : $? >> 8;

	chomp $said;
  SKIP:
	{
		skip("$name: $said", 1) if $status == 77;
		ok($status == 0 && $said =~ /^$tests passed, 0 failed\z/m, $name) or diag $said;
	}
}

done_testing();
