# Any bytes are a valid value or refused with an error.
#
# Valid values of every sort are damaged in every way: each header byte set to each value,
# cut off, extended, bits flipped anywhere.  (The fuzzer repairs values, so that they get past
# the first checks.)  The server must refuse what a reader refuses that was written from
# doc/internals/format.md alone (test/lib/format_reader.pl), and accept what it accepts; and
# what the server accepts goes through every function that takes a filter.
#
# The errors are in clients/conformance, text that is not hexadecimal and the binary protocol
# in sql/type.sql, and so are values that take long.

use JSON::PP;
use Server;
no warnings 'portable';

require "$root/test/lib/format_reader.pl";

# The same damage in every run; another seed tries other damage.
my $seed = $ENV{HOSTILE_SEED} // 1;
srand($seed);
note "HOSTILE_SEED=$seed";

my $node = start_server('hostile', "shared_buffers = 1MB\nstatement_timeout = 30min");
$node->safe_psql('postgres', 'CREATE EXTENSION bloomexp');

sub query { return $node->safe_psql('postgres', $_[0], timeout => 10 * $patience) }

# Calls of every function of the extension that takes a filter, so that a function
# added later is called, too.  Of the schema bloomexp those in C that are nowhere else.

my %samples = (
	'boolean' => ['true'],
	'integer' => ['3'],
	'bigint' => ['42'],
	'double precision' => ['0.001'],
	'text' => [q{'integer'::text}],	# an item, or a kind of items
	'uuid' => [q{'123e4567-e89b-12d3-a456-426614174000'::uuid}],
	'bytea' => [q{'\x2a00000000000000'::bytea}],
	'interval' => [q{interval '1 day'}],
	'timestamp with time zone' => [ map { "timestamptz '$_'" } '4714-11-24 00:00+0 BC',
		'2024-02-29 12:00+0', '294276-12-31 23:59:59.999999+0' ],
	'timestamp with time zone[]' => [q{array_fill(timestamptz '2024-02-29 12:00+0', '{3}')}],
	'bigint[]' => [q{'{42,-1,42}'::bigint[]}],	# hashes are not NULL
	'bloomexp.row_settings' => [ map { "ROW($_)::bloomexp.row_settings" }
		q{interval '1 day', 3, 'integer', 0.001, NULL}, q{NULL, NULL, 'integer', 0.001, 42} ],
	'anynonarray' => [
		'42::bigint', '42::smallint', q{'item'::text}, q{'item'::char(6)},
		q{'123e4567-e89b-12d3-a456-426614174000'::uuid},
		q{'\x2a00000000000000'::bytea} ],
	'anyarray' => [
		q{'{42,NULL,-1}'::bigint[]}, q{'{42,42,-1}'::smallint[]}, q{'{item,"",NULL}'::text[]},
			q{ARRAY[md5('1')::uuid, NULL, md5('')::uuid]},
		q{'{"\\\\x2a","\\\\x",NULL}'::bytea[]}, 'ARRAY(SELECT generate_series(1, 300))' ],
	'bloom[]' => ['VARIADIC ARRAY[subject, NULL, other]::bloom[]']);

my $calls = '';
my %called;
for (split /\n/, query(q{
		SELECT format('%I.%I', pronamespace::regnamespace, proname), prokind, proretset,
			prorettype = 'bloom'::regtype,
			array_to_string(ARRAY(SELECT format_type(t, NULL) FROM unnest(proargtypes) t), ',')
		FROM pg_proc JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND objid = pg_proc.oid
		JOIN pg_extension e ON refclassid = 'pg_extension'::regclass AND refobjid = e.oid
		WHERE extname = 'bloomexp' AND prokind IN ('f', 'a')
			AND proargtypes::oid[] && '{bloom,bloom[]}'::regtype[]::oid[]
			AND (pronamespace <> 'bloomexp'::regnamespace
				OR probin IS NOT NULL AND NOT EXISTS (
					SELECT FROM pg_proc AS p
					WHERE p.prosrc = pg_proc.prosrc AND p.probin = pg_proc.probin
						AND p.pronamespace <> pg_proc.pronamespace))
		ORDER BY 1, 5}))
{
	my ($name, $prokind, $set, $makes_filter, $types) = split /\|/;
	my @lists = ([]);

	for my $type (split /,/, $types)
	{
		my @sample = $type ne 'bloom'
		  ? @{ $samples{$type} // die "no sample of type $type for $name" }
		  : @{ $lists[0] } && $lists[0][0] eq 'subject' ? 'other' : 'subject';

		@lists = map { my $list = $_; map { [ @$list, $_ ] } @sample } @lists;
	}
	for my $list (map { join ', ', @$_ } @lists)
	{
		# a function's result must itself be valid; a call may fail, but only with these errors
		my $run = $prokind eq 'a' ? "SELECT $name(part) INTO made
		  FROM (VALUES (subject), (NULL), (subject)) v (part)"
		  : $makes_filter eq 't' ? "made := $name($list)" : $set eq 't' ? "PERFORM count(row)
		  FROM $name($list) row"
			: "PERFORM $name($list)";

		$calls .= "BEGIN made := NULL; $run; PERFORM made::bytea::bloom;
			EXCEPTION WHEN datatype_mismatch OR object_not_in_prerequisite_state
			OR program_limit_exceeded OR invalid_parameter_value OR array_subscript_error
			OR feature_not_supported THEN NULL;
				END;\n";
	}
	$called{$name} = 1;
}
cmp_ok(scalar keys %called, '>', 15, 'functions that take a filter: ' . join ', ',
	sort keys %called);

query(qq{
	CREATE FUNCTION exercise(subject bloom) RETURNS void LANGUAGE plpgsql AS \$\$
	DECLARE
		made bloom;
		about record := bloom_info(subject);
		other bloom := CASE WHEN about.slices IS NULL THEN bloom_new(1, 0.1)
			ELSE bloom_window(about.window_width, about.slices, 0.1) END;
	BEGIN
		$calls
	END
	\$\$;

	-- "valid", or the SQLSTATE by which some bytes are refused, by way of the cast and by way of
	-- text.  What is accepted does not change on the way, and some of it is exercised.
	CREATE FUNCTION verdict(bytes bytea) RETURNS text LANGUAGE plpgsql AS \$\$
	DECLARE
		subject bloom;
		by_cast text := 'valid';
		by_text text := 'valid';
	BEGIN
		BEGIN
			subject := bytes::bloom;
		EXCEPTION WHEN OTHERS THEN
			by_cast := SQLSTATE;
		END;
		BEGIN
			IF bytes::text::bloom <> subject OR subject::bytea <> bytes
				OR subject::text <> bytes::text THEN
				by_text := 'changed';
			END IF;
		EXCEPTION WHEN OTHERS THEN
			by_text := SQLSTATE;
		END;
		IF by_cast <> by_text THEN
			RETURN by_cast || ', as text ' || by_text;
		END IF;
		-- What claims to be large may grow to hundreds of megabytes.
		IF by_cast = 'valid' AND hashtext(bytes::text) % 16 = 0
			AND (bloom_info(subject)).capacity < 10000000 THEN
			PERFORM exercise(subject);
		END IF;
		RETURN by_cast;
	END
	\$\$;
});

# The verdict that the reader expects.
sub expected
{
	my ($bytes) = @_;

	return 'valid' if eval { format_reader::parse($bytes) };
	return $@ eq "format version\n" && ord $bytes > 1 ? '0A000' : '22P03';
}

my %count = (valid => 0, '22P03' => 0);

sub try
{
	my ($what, @bytes) = @_;
	my @verdicts = split /\n/,
		  query("CREATE TEMP TABLE given (id serial, bytes bytea);\nCOPY given (bytes)
		  FROM STDIN;\n"
		  . join('', map { '\\\\x' . unpack('H*', $_) . "\n" } @bytes) . "\\.\nSELECT verdict(bytes)
		  	FROM given ORDER BY id");
	my @wrong = grep { ($verdicts[$_] // '') ne expected($bytes[$_]) } 0 .. $#bytes;

	$count{$_}++ for @verdicts;
	ok(@verdicts == @bytes && !@wrong, "$what: " . @bytes . ' values')
	  or diag map { "$verdicts[$_], not " . expected($bytes[$_]) . ': '
		. unpack('H*', substr $bytes[$_], 0, 1000)
		. "\n" } splice @wrong, 0, 5;
	return;
}

# Damage to small values of every sort, and one of blocks.

my %values = map { ($_->{name} => format_reader::unhex($_->{value})) }
  grep { !$_->{error} && $_->{value} =~ /^\\x/ } map { decode_json($_) } split /\n/,
	slurp_file("$root/clients/conformance/values.jsonl");
my @names = grep { length $values{$_} < 150 } sort keys %values;
my @small = @values{@names};
my $blocked = $values{'by hand: 4,097 words'};

# Where the headers of a value end.
sub headers_size
{
	my ($bytes) = @_;
	my ($flags, $layers) = unpack 'xCv', $bytes;

	return $flags & 32 ? 40 + 24 * $layers : 16 + 16 * $layers;
}

sub flipped
{
	my ($bytes, $flips, $within) = @_;

	for (1 .. $flips)
	{
		my $at = int rand($within || length $bytes);

		substr $bytes, $at, 1, chr(ord(substr $bytes, $at, 1) ^ 1 << int rand 8);
	}
	return $bytes;
}

for my $name (@names, 'by hand: 4,097 words')
{
	my $bytes = $values{$name};
	my @places = length $bytes < 150 ? (0 .. headers_size($bytes) - 1) : (1 .. 3, 16 .. 31);

	try("$name, each header byte set to each value", $bytes,
		map { my $at = $_; map { substr($bytes, 0, $at) . chr($_) . substr $bytes,
			$at + 1 } 0 .. 255 } @places);
}
try('cut off', '', (
	map { my $bytes = $_; map { substr $bytes, 0, $_ } 0 .. length($bytes) - 1 } @small),
	map { substr $blocked, 0, $_ } 0 .. 40, length($blocked) - 1);
try('extended', map { my $bytes = $_; map { $bytes . $_ } "\0", "\xff", "\0" x 8, $bytes,
	"\0" x 100_000 } @small);
try('bits flipped', (
	map { my $bytes = $_; map { flipped($bytes, 1 + int rand 3) } 1 .. 100 } @small),
	map { flipped($blocked, 1) } 1 .. 20);
try('header bits flipped',
	map { my $bytes = $_; map { flipped($bytes, 2, headers_size($bytes)) } 1 .. 100 } @small);

# The most layers that a value can have, and one more; one counting layer, and two; sizes that
# divide into equal blocks, and one that does not

my %plain = (kind => 1, fpr => 0.01, counting => 0, windowed => 0);
my %layer = (words => 1, hashes => 7, capacity => 1, items => 1, bits_set => 1,
	bits => "\1" . "\0" x 7);

try('at the limits', (map { format_reader::bytes({ %plain, layers => [ (\%layer) x $_ ] }) } 4096,
	4097), (map { format_reader::bytes({ %plain, counting => 1,
		layers => [ ({ %layer, bits => "\1" . "\0" x 31 }) x $_ ] }) } 1, 2),
	map { format_reader::bytes({ %plain, layers => [ { %layer, words => $_, bits => "\1"
		. "\0" x (8 * $_ - 1) } ] }) } 4096 .. 4098);

cmp_ok($count{valid}, '>', 10_000, "$count{valid} values were accepted");
cmp_ok($count{'22P03'}, '>', 10_000, "$count{'22P03'} values were refused");

# Short values whose headers announce large ones: no memory is allocated for these.  And the other
# way round.

my $announced = join ', ', map { "'\\x" . unpack('H*', $_) . "'::bytea" }
  format_reader::bytes({ %plain, layers => [ { %layer, words => 2**26 - 1 } ] }),
  format_reader::bytes({ %plain, layers => [ map { { %layer, words => 67_108_750 } } 1 .. 1000 ] }),
  format_reader::bytes({ %plain, counting => 1, layers => [ { %layer, words => 2**26 - 1 } ] }),
  pack('CCvVd<', 1, 1, 4096, 0, 0.01), pack('CCvVd<q<q<VV', 1, 33, 4096, 0, 0.01, 1, 0, 1, 0);

SKIP:
{
	skip 'no /proc', 2 unless -r '/proc/self/status';
	my $peak = q{(SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\s+(\d+)'))};
	my ($before, @after) = split /\n/, query("SELECT $peak FROM verdict(''); SELECT verdict(bytes)
		FROM unnest(ARRAY[$announced]) bytes; SELECT $peak");
	my $after = pop @after;

	is("@after", '22P03 22P03 22P03 22P03 22P03', 'announced sizes are not believed');
	cmp_ok($after - $before, '<', 4096, 'and no memory is taken for them')
	  or diag("$before kB, then $after kB");
}

SKIP:
{
	my ($available) = slurp_file('/proc/meminfo') =~ /^MemAvailable: +(\d+)/m;
	skip 'less than 2 GiB of memory', 1 unless ($available // 0) > 2 * 1024 * 1024;

	# 500 MiB without a second copy of them
	is(query(q{
			CREATE CAST (text AS bytea) WITHOUT FUNCTION;
			CREATE TABLE refused (state text);
			DO $$
			BEGIN
				PERFORM bloom(CAST(repeat(repeat(E'\x01', 1024), 500 * 1024) AS bytea));
			EXCEPTION WHEN OTHERS THEN
				INSERT INTO refused VALUES (SQLSTATE);
			END
			$$;
			TABLE refused}),
		'54000', 'bytes beyond the limit are refused');
}

$node->stop('immediate');
done_testing();
