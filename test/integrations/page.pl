# clients/page/: in a real browser the page answers as the server does.  Its examples are what their
# statements make, it finds filters in what psql prints, and it can be used by the
# keyboard, on a narrow screen and offline.
# readers.pl runs clients/page/run with the conformance set.

use JSON::PP;
use Server;

my $page = "$root/clients/page";
my $folder = PostgreSQL::Test::Utils::tempdir();

is(system("$page/make", "$folder/index.html"), 0, 'clients/page/make');
my $sha = qr/'sha256-[^' ]+'/;
like(slurp_file("$folder/index.html"),
	qr/"default-src[ ]'none';[ ]script-src[ ]$sha;[ ]style-src[ ]$sha;[ ]
		img-src[ ]data:;[ ]base-uri[ ]'none';[ ]form-action[ ]'none'"/x,
	'the page allows nothing but itself');

my $node = start_server('page');
$node->safe_psql('postgres', 'CREATE EXTENSION bloomexp');

# What the examples show is from the server.
for my $example (map { decode_json($_) } slurp_file("$page/examples.js") =~ /^(\{.*\}),$/mg)
{
	is($node->safe_psql('postgres', "SET timezone = 'UTC'; $example->{sql}"), $example->{value},
		"example: $example->{name}");
}

# What psql prints in its formats.
my $filters = $node->safe_psql('postgres', q{
	CREATE TABLE filters AS
	SELECT user_id, bloom_agg(item) AS items, user_id % 7 AS n FROM generate_series(1, 100) AS item,
		generate_series(42, 43) AS user_id GROUP BY 1;
	INSERT INTO filters VALUES (44, NULL, 2);
	SELECT (bloom_info(items)).bits_set FROM filters WHERE user_id = 42});
my %pastes = (
	(map { ("format @$_" => [ 'SELECT * FROM filters WHERE user_id = 42', map { ('-P', $_) }
			'columns=60', 'null=', 'border=1', "format=$_->[0]", @{$_}[ 1 .. $#$_ ] ]) }
		[ 'aligned' ], [ 'unaligned' ], [ 'csv' ], [ 'html' ], [ 'asciidoc' ], [ 'wrapped' ],
		[ 'wrapped', 'border=2' ], [ 'wrapped', 'border=2', 'linestyle=unicode' ],
		[ 'wrapped', 'expanded=on' ], [ 'aligned', 'expanded=on' ]),
	'COPY' => ['COPY (SELECT * FROM filters WHERE user_id = 42) TO stdout'],
	'COPY in CSV' => ['COPY (SELECT * FROM filters WHERE user_id = 42) TO stdout
		(FORMAT csv, HEADER, FORCE_QUOTE *)'],
	'JSON' => [ 'SELECT jsonb_agg(f) FROM filters AS f WHERE user_id = 42', '-At' ],
	'base64' => ["SELECT user_id, encode(items::bytea, 'base64'), n FROM filters
		WHERE user_id = 42"],
	'base64 alone' => [ "SELECT encode(items::bytea, 'base64') FROM filters
		WHERE user_id = 42", '-At' ],
	'base64 in JSON' => [ "SELECT jsonb_agg(encode(items::bytea, 'base64')) FROM filters
		WHERE user_id = 42", '-At' ],
	'escape' => ["SET bytea_output = 'escape'; SELECT user_id, items::bytea, n FROM filters
		WHERE user_id = 42"],
	'escape alone' => [ "SET bytea_output = 'escape'; SELECT items::bytea FROM filters
		WHERE user_id = 42", '-Atq' ],
	'base64 in one line' => [ "SELECT user_id, replace(encode(items::bytea, 'base64'), E'\n', '')
		FROM filters WHERE user_id = 42" ]);
my %pasted = (%pastes,
	'several rows' => [ 'SELECT * FROM filters WHERE user_id IN (42, 43) ORDER BY 1' ],
	map { my ($statement, @options) = @{ $pastes{$_} };
		("$_, NULL" => [ $statement =~ s/= 42/= 44/r, @options ]) }
	grep { !/alone|csv|CSV|html|unaligned|asciidoc/ } keys %pastes);
for my $name (sort keys %pasted)
{
	my ($statement, @options) = @{ $pasted{$name} };
	my $null = $name =~ /NULL/;

	IPC::Run::run([ 'psql', '-X', '-d', $node->connstr('postgres'), @options ], '<',
		\$statement, '>', \my $text, IPC::Run::timeout($patience)) or die $name;
	utf8::decode($text);
	append_to_file("$folder/pastes",
		encode_json({ name => $name, text => $text, bits => $null ? undef : $filters,
		note => $name eq 'several rows' ? '2 filters found' : $null ? 'NULL' : 'You can' }) . "\n");
}
$node->stop;

# Parts of the check, with how many tests each has.
for ([ 'how it is used', 'use', 10 ],
	[ 'what psql prints', "pastes=$folder/pastes", scalar keys %pasted ])
{
	my ($name, $part, $tests) = @$_;
	my $ok = IPC::Run::run([ "$page/run", $part ], '<', \undef, '>&', \my $said,
		IPC::Run::timeout(3 * $patience));
	my $status = $ok ? 0 : $? >> 8;

	chomp $said;
  SKIP:
	{
		skip("$name: $said", 1) if $status == 77;
		ok($status == 0 && $said =~ /^$tests passed, 0 failed\z/m, $name) or diag $said;
	}
}

done_testing();
