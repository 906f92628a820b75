# clients/page/: in a real browser the page answers as the server does.  Its calculator
# is bloom_sizing() and bloom_capacity() for random cases, its examples are what their
# statements make, it finds filters in what psql prints, and it can be used by the
# keyboard, on a narrow screen and offline.
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
append_to_file("$folder/sizes", "$answers\n");

# What psql prints in its formats.
my $filters = $node->safe_psql('postgres', q{
	CREATE TABLE filters AS
	SELECT user_id, bloom_agg(item) AS items, user_id % 7 AS n FROM generate_series(1, 100) AS item, generate_series(42, 43) AS user_id GROUP BY 1;
	INSERT INTO filters VALUES (44, NULL, 2);
	SELECT (bloom_info(items)).bits_set FROM filters WHERE user_id = 42});
my %pastes = (
	(map { ("format @$_" => [ 'SELECT * FROM filters WHERE user_id = 42', map { ('-P', $_) } 'columns=60', 'null=', 'border=1', "format=$_->[0]", @{$_}[ 1 .. $#$_ ] ]) }
		[ 'aligned' ], [ 'unaligned' ], [ 'csv' ], [ 'html' ], [ 'asciidoc' ], [ 'wrapped' ], [ 'wrapped', 'border=2' ], [ 'wrapped', 'border=2', 'linestyle=unicode' ],
		[ 'wrapped', 'expanded=on' ], [ 'aligned', 'expanded=on' ]),
	'COPY' => ['COPY (SELECT * FROM filters WHERE user_id = 42) TO stdout'],
	'COPY in CSV' => ['COPY (SELECT * FROM filters WHERE user_id = 42) TO stdout (FORMAT csv, HEADER, FORCE_QUOTE *)'],
	'JSON' => [ 'SELECT jsonb_agg(f) FROM filters AS f WHERE user_id = 42', '-At' ],
	'base64' => ["SELECT user_id, encode(items::bytea, 'base64'), n FROM filters WHERE user_id = 42"],
	'base64 alone' => [ "SELECT encode(items::bytea, 'base64') FROM filters WHERE user_id = 42", '-At' ],
	'base64 in JSON' => [ "SELECT jsonb_agg(encode(items::bytea, 'base64')) FROM filters WHERE user_id = 42", '-At' ],
	'escape' => ["SET bytea_output = 'escape'; SELECT user_id, items::bytea, n FROM filters WHERE user_id = 42"],
	'escape alone' => [ "SET bytea_output = 'escape'; SELECT items::bytea FROM filters WHERE user_id = 42", '-Atq' ],
	'base64 in one line' => [ "SELECT user_id, replace(encode(items::bytea, 'base64'), E'\n', '') FROM filters WHERE user_id = 42" ]);
my %pasted = (%pastes,
	'several rows' => [ 'SELECT * FROM filters WHERE user_id IN (42, 43) ORDER BY 1' ],
	map { my ($statement, @options) = @{ $pastes{$_} }; ("$_, NULL" => [ $statement =~ s/= 42/= 44/r, @options ]) }
	grep { !/alone|csv|CSV|html|unaligned|asciidoc/ } keys %pastes);
for my $name (sort keys %pasted)
{
	my ($statement, @options) = @{ $pasted{$name} };
	my $null = $name =~ /NULL/;

	IPC::Run::run([ 'psql', '-X', '-d', $node->connstr('postgres'), @options ], '<', \$statement, '>', \my $text, IPC::Run::timeout($patience)) or die $name;
	utf8::decode($text);
	append_to_file("$folder/pastes", encode_json({ name => $name, text => $text, bits => $null ? undef : $filters,
		note => $name eq 'several rows' ? '2 filters found' : $null ? 'NULL' : 'You can' }) . "\n");
}
$node->stop;
my @answers = map { decode_json($_) } split /\n/, $answers;
cmp_ok(scalar(grep { ($_->{bits} // 0) > 64 * 4096 } @answers), '>', 100, 'sizes of filters with blocks');
cmp_ok(scalar(grep { $_->{error} } @answers), '>', 8, 'sizes that cannot be');

# Parts of the check, with how many tests each has.
for ([ 'how it is used', 'use', 8 ], [ 'what psql prints', "pastes=$folder/pastes", scalar keys %pasted ], [ 'the calculator', "sizes=$folder/sizes", scalar @cases ])
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
