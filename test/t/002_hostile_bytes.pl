# No bytes may crash the server or pass for a filter that they are not.
#
# Valid values of every sort are damaged in every way: each header byte set to
# each value, cut off, extended, bits flipped anywhere.  Whatever comes in, by a
# cast from bytea, as text or by COPY BINARY, the server must either refuse with
# an error that names what is wrong, the same as a reader that was written from
# doc/internals/format.md alone (test/lib/format_reader.pl), or accept; and what it accepts goes
# through every function that takes a filter.

use strict;
use warnings;
use utf8;
no warnings 'portable';

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/../lib/format_reader.pl";

# The same damage in every run; another seed tries other damage.
my $seed = $ENV{HOSTILE_SEED} // 1;
srand($seed);
note "HOSTILE_SEED=$seed";

my $node = PostgreSQL::Test::Cluster->new('hostile');
$node->init(extra => [ '--encoding', 'UTF8', '--no-locale' ]);
# a small buffer cache, so that the memory of a backend is its own
$node->append_conf('postgresql.conf', "shared_buffers = 1MB\nstatement_timeout = 150s");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION bloomexp');
my $cpu = -r '/proc/self/stat' ? 'cpu()' : 0;
$node->safe_psql('postgres', slurp_file("$FindBin::RealBin/../lib/cpu.sql")) if $cpu;
my $started = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');

sub query { return $node->safe_psql('postgres', $_[0], timeout => 170) }

# Rows of one column from a table that is made of them.
sub load
{
	my ($table, @values) = @_;

	return "CREATE TEMP TABLE $table (id serial, bytes bytea);\nCOPY $table (bytes) FROM STDIN;\n"
	  . join('', map { '\\\\x' . unpack('H*', $_) . "\n" } @values) . "\\.\n";
}

#
# Calls of every function of the extension that takes a filter, so that a function
# added later is called, too.
#

my $many = '(SELECT array_agg(i) FROM generate_series(1::bigint, 300) i)';
my %samples = (
	'boolean' => ['true'],
	'integer' => ['3'],
	'bigint' => ['42'],
	'double precision' => ['0.001'],
	'text' => [q{'item'::text}],
	'uuid' => [q{'123e4567-e89b-12d3-a456-426614174000'::uuid}],
	'bytea' => [q{'\x2a00000000000000'::bytea}],
	'interval' => [q{interval '1 day'}],
	'timestamp with time zone' => [q{timestamptz '2024-02-29 12:00+0'}],
	'timestamp with time zone[]' => [q{array_fill(timestamptz '2024-02-29 12:00+0', '{3}')}],
	'anynonarray' => [
		'42::bigint', '42::smallint', q{'item'::text}, q{'item'::char(6)},
		q{'123e4567-e89b-12d3-a456-426614174000'::uuid}, q{'\x2a00000000000000'::bytea} ],
	'anyarray' => [
		q{'{42,NULL,-1}'::bigint[]}, q{'{42,42,-1}'::smallint[]}, q{'{item,"",NULL}'::text[]},
		q{ARRAY['123e4567-e89b-12d3-a456-426614174000'::uuid, NULL, md5('')::uuid]},
		q{'{"\\\\x2a","\\\\x",NULL}'::bytea[]}, 'many' ],
	'bigint[]' => [q{'{42,NULL,-1}'::bigint[]}, 'many'],
	'text[]' => [q{'{item,"",NULL}'::text[]}],
	'uuid[]' => [q{ARRAY['123e4567-e89b-12d3-a456-426614174000'::uuid, NULL, md5('')::uuid]}],
	'bytea[]' => [q{'{"\\\\x2a","\\\\x",NULL}'::bytea[]}],
	'bloom[]' => ['ARRAY[subject, NULL, other]::bloom[]']);

my $calls = '';
my %called;
for (split /\n/, query(q{
		SELECT proname, prokind, proretset, prorettype = 'bloom'::regtype,
			array_to_string(ARRAY(SELECT format_type(t, NULL) FROM unnest(proargtypes) t), ',')
		FROM pg_proc JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND objid = pg_proc.oid
		JOIN pg_extension e ON refclassid = 'pg_extension'::regclass AND refobjid = e.oid
		WHERE extname = 'bloomexp' AND prokind IN ('f', 'a')
			AND proargtypes::oid[] && '{bloom,bloom[]}'::regtype[]::oid[]
		ORDER BY 1, 5}))
{
	my ($name, $prokind, $set, $makes_filter, $types) = split /\|/;
	my @lists = ('');

	for my $type (split /,/, $types)
	{
		my @sample = $type ne 'bloom' ? @{ $samples{$type} // die "no sample of type $type for $name" }
		  : grep(/subject/, @lists) ? ('subject', 'other') : ('subject');

		$_ = "VARIADIC $_" for $type eq 'bloom[]' ? @sample : ();
		@lists = map { my $list = $_; map { $list ? "$list, $_" : $_ } @sample } @lists;
	}
	for my $list (@lists)
	{
		my $call = "$name($list)";
		my $run = $makes_filter eq 't' ? "made := $call; PERFORM sound(made);"
		  : $set eq 't' ? "PERFORM count(row) FROM $call row;" : "PERFORM $call;";

		$run = "SELECT $name(part) INTO made FROM (VALUES (subject), (NULL), (subject)) v (part);
				PERFORM sound(made);" if $prokind eq 'a';
		$calls .= "BEGIN $run EXCEPTION WHEN OTHERS THEN
			PERFORM tolerate(SQLSTATE, SQLERRM, \$call\$$call\$call\$, subject); END;\n";
	}
	$called{$name} = 1;
}
cmp_ok(scalar keys %called, '>', 15, 'functions that take a filter: ' . join ', ', sort keys %called);

query(qq{
	-- whatever a function makes must itself be valid
	CREATE FUNCTION sound(made bloom) RETURNS void LANGUAGE plpgsql AS \$\$
	BEGIN
		IF length(made::bytea) < 1000000 AND made::text::bloom::bytea::bloom <> made THEN
			RAISE 'bytes changed on the way';
		END IF;
	END
	\$\$;

	-- a function may say no to a filter, but only for these reasons
	CREATE FUNCTION tolerate(state text, message text, call text, subject bloom) RETURNS void
	LANGUAGE plpgsql AS \$\$
	BEGIN
		IF state NOT IN ('42804',	-- another kind of items
						 '55000',	-- not a counting filter
						 '54000',	-- too large, full, too many layers
						 '22023',	-- unlike seeds, unlike windows and the like
						 '2202E',	-- arrays of unlike length
						 '0A000')	-- what windowed or counting filters can't
		THEN
			RAISE '% failed: % %: of %', call, state, message, left(subject::text, 5000);
		END IF;
	END
	\$\$;

	CREATE TABLE accepted (f bloom);
	ALTER TABLE accepted ALTER f SET STORAGE external;

	CREATE FUNCTION exercise(subject bloom) RETURNS void LANGUAGE plpgsql AS \$\$
	DECLARE
		made bloom;
		about record := bloom_info(subject);
		other bloom := CASE WHEN about.slices IS NULL THEN bloom_new(1, 0.1, about.seed)
			ELSE bloom_window(about.window_width, about.slices, 0.1, about.seed) END;
		many bigint[] := $many;
	BEGIN
		$calls
		IF about.slices IS NOT NULL THEN
			PERFORM exercise_window(subject, other);
		END IF;
	END
	\$\$;

	-- A windowed filter at times from the first to the last.  Times are
	-- microseconds since 2000-01-01 00:00 UTC, as the binary protocol has them, and
	-- all arithmetic is in numeric.  (extract() rounds the last ones.)
	CREATE FUNCTION microseconds(at timestamptz) RETURNS numeric IMMUTABLE LANGUAGE sql AS \$\$
		SELECT ('x' || encode(timestamptz_send(at), 'hex'))::bit(64)::bigint
	\$\$;
	CREATE FUNCTION microseconds(width interval) RETURNS numeric IMMUTABLE LANGUAGE sql AS \$\$
		SELECT ('x' || encode(substr(interval_send(width), 1, 8), 'hex'))::bit(64)::bigint
			+ ('x' || encode(substr(interval_send(width), 9, 4), 'hex'))::bit(32)::integer * 86400000000::numeric
	\$\$;
	CREATE FUNCTION slice_length(width interval, slices integer) RETURNS numeric IMMUTABLE LANGUAGE sql AS \$\$
		SELECT div(microseconds(width), slices) + sign(mod(microseconds(width), slices))
	\$\$;
	CREATE FUNCTION slice_at(at timestamptz, width interval, slices integer) RETURNS numeric IMMUTABLE LANGUAGE sql AS \$\$
		SELECT div(t, l) - CASE WHEN mod(t, l) < 0 THEN 1 ELSE 0 END
		FROM (VALUES (microseconds(at), slice_length(width, slices))) v (t, l)
	\$\$;
	CREATE FUNCTION floor_of(f bloom) RETURNS numeric IMMUTABLE LANGUAGE sql AS \$\$
		SELECT ('x' || string_agg(right('0' || to_hex(get_byte(f::bytea, 31 - i)), 2), '' ORDER BY i))::bit(64)::bigint
		FROM generate_series(0, 7) i
	\$\$;
	CREATE FUNCTION slices_of(f bloom) RETURNS bigint[] IMMUTABLE LANGUAGE sql AS \$\$
		SELECT array_agg(slice ORDER BY layer) FROM bloom_layers(f)
	\$\$;
	CREATE TABLE moments AS SELECT unnest(ARRAY['4714-11-24 00:00+0 BC', '4714-11-24 00:00:00.000001+0 BC',
		'1999-12-31 23:59:59.999999+0', '2000-01-01 00:00+0', '2024-02-29 12:00+0',
		'294276-12-31 23:59:59.999998+0', '294276-12-31 23:59:59.999999+0']::timestamptz[]) AS at;

	CREATE FUNCTION exercise_window(subject bloom, other bloom) RETURNS void LANGUAGE plpgsql AS \$\$
	DECLARE
		about record := bloom_info(subject);
		length numeric := slice_length(about.window_width, about.slices);
		width numeric := microseconds(about.window_width);
		old_floor numeric := floor_of(subject);
		new_floor numeric;
		moment timestamptz;
		its_slice numeric;
		made bloom;
		united bloom;
		kept bigint[];
	BEGIN
		FOR moment IN SELECT at FROM moments LOOP
			-- what expires, and what does not
			made := bloom_expire(subject, moment);
			PERFORM sound(made);
			new_floor := microseconds(moment) - width;
			IF new_floor <= old_floor OR new_floor < -9223372036854775808 THEN
				new_floor := old_floor;
				kept := slices_of(subject);
			ELSE
				SELECT array_agg(l.slice ORDER BY l.layer) INTO kept
				FROM bloom_layers(subject) l WHERE (l.slice::numeric + 1) * length > new_floor;
			END IF;
			IF floor_of(made) <> new_floor OR slices_of(made) IS DISTINCT FROM kept THEN
				RAISE 'at % there remain %, %, not %, %: of %',
					moment, floor_of(made), slices_of(made), new_floor, kept, subject;
			END IF;

			-- what comes in, and where; a mistake may keep it out, unless nothing else is there
			BEGIN
				its_slice := slice_at(moment, about.window_width, about.slices);
				made := bloom_add_at(subject, 42::bigint, moment);
				PERFORM sound(made);
				IF made <> bloom_add_at(subject, '{42,NULL,42}'::bigint[], ARRAY[moment, NULL, '4714-11-24 00:00+0 BC'])
					AND microseconds(moment) >= old_floor THEN
					RAISE 'one by one and by array: of %', subject;
				END IF;
				IF microseconds(moment) < old_floor AND made <> subject
					OR microseconds(moment) >= old_floor AND NOT bloom_contains(made, 42)
					-- (the oldest slices may have left the window)
					OR made <> subject AND (SELECT coalesce(sum(items), 0) FROM bloom_layers(made) l WHERE l.slice <> its_slice)
						<> (SELECT coalesce(sum(items), 0) FROM bloom_layers(subject) l
							WHERE l.slice <> its_slice AND l.slice >= (SELECT min(m.slice) FROM bloom_layers(made) m)) THEN
					RAISE 'added at %: % to %', moment, made, subject;
				END IF;
				united := made | bloom_expire(other, moment) | subject;
				PERFORM sound(united);
				PERFORM sound(other | made);
				PERFORM sound(bloom_add_at(united, '{1,2,3}'::bigint[], ARRAY[moment, '4714-11-24 00:00+0 BC', '294276-12-31 23:59:59.999999+0']));
				IF microseconds(moment) >= old_floor AND NOT bloom_contains(united, 42) OR floor_of(united) > old_floor THEN
					RAISE 'united at %: % of %', moment, united, subject;
				END IF;
			EXCEPTION WHEN OTHERS THEN
				PERFORM tolerate(SQLSTATE, SQLERRM, 'exercise_window at ' || moment, subject);
			END;
		END LOOP;
	END
	\$\$;

	-- What is wrong with some bytes, by way of the cast and by way of text; empty
	-- if nothing is.  With hard set, all is done with what is accepted.
	CREATE FUNCTION complaint(bytes bytea, hard boolean DEFAULT true) RETURNS text
	LANGUAGE plpgsql AS \$\$
	DECLARE
		a bloom;
		b bloom;
		state text := '';
		message text := '';
		detail text := '';
		text_state text := '';
		text_message text := '';
		text_detail text := '';
	BEGIN
		BEGIN
			a := bytes::bloom;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
				detail = PG_EXCEPTION_DETAIL;
		END;
		BEGIN
			b := bytes::text::bloom;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS text_state = RETURNED_SQLSTATE, text_message = MESSAGE_TEXT,
				text_detail = PG_EXCEPTION_DETAIL;
		END;
		IF (state, message, detail) <> (text_state, text_message, text_detail) THEN
			RAISE 'as bytea: % % %, but as text: % % %',
				state, message, detail, text_state, text_message, text_detail;
		END IF;
		IF state <> '' THEN
			RETURN state || ' ' || message || ': ' || detail;
		END IF;

		IF a::bytea <> bytes OR b::bytea <> bytes OR a::text <> bytes::text OR a <> b THEN
			RAISE 'changed on the way: %', bytes;
		END IF;
		-- what claims to be large may grow to hundreds of megabytes: a few will do
		IF hard AND ((bloom_info(a)).capacity < 10000000 OR bloom_hash(a) % 50 = 0) THEN
			PERFORM exercise(a);
			INSERT INTO accepted VALUES (a);
		END IF;
		RETURN '';
	END
	\$\$;

	-- Complaints about each value of each of the first bytes.
	CREATE FUNCTION sweep(bytes bytea, first integer) RETURNS SETOF text LANGUAGE plpgsql AS \$\$
	DECLARE
		was integer;
	BEGIN
		FOR i IN 0 .. first - 1 LOOP
			was := get_byte(bytes, i);
			FOR value IN 0 .. 255 LOOP
				RETURN NEXT complaint(set_byte(bytes, i, value),
					value IN (0, 1, 127, 128, 255, was - 1, was + 1) OR (i + value) % 32 = 0);
			END LOOP;
		END LOOP;
	END
	\$\$;
});

#
# The reader's opinion, and what the server's errors must say in each case.
#

my %detail = (
	'too long' => qr/limit/,
	'format version' => qr/format version/,
	'shorter than its header' => qr/empty|ends within its header/,
	'kind' => qr/kind of items/,
	'reserved flag' => qr/reserved flag/,
	'fpr' => qr/false positive rate/,
	'counting and windowed' => qr/counting and windowed/,
	'no layer' => qr/no layer/,
	'layers of a counting value' => qr/more than one layer/,
	'width' => qr/width of the window/,
	'slices' => qr/slices/,
	'reserved field' => qr/reserved field/,
	q{shorter than its layers' headers} => qr/ends within the headers of its layers/,
	'words or hashes' => qr/no bits or no hashes/,
	'unequal blocks' => qr/equal blocks/,
	'capacity' => qr/no capacity/,
	'capacity beyond bits' => qr/capacity that its bits cannot hold/,
	'too many layers' => qr/layers; the limit is/,
	'more items than capacity' => qr/more items than its capacity/,
	'items of no kind' => qr/items of no kind/,
	'order of slices' => qr/of an earlier slice than the one before/,
	'length is not the sum of the parts' => qr/announce \d+ bytes, but there are \d+/,
	'bits set' => qr/as many bits set as its header says/,
	'more bits set than items explain' => qr/items cannot explain/,
	'more items than bits set explain' => qr/items cannot explain/);

my %count = (accepted => 0, refused => 0);

# Whether the server's complaint about some bytes is what the reader expects;
# notes the first that is not.
my @wrong;

sub judge
{
	my ($bytes, $complaint) = @_;
	my $expected = eval { format_reader::parse($bytes); '' } // $@;
	chomp $expected;
	my $state = $expected eq 'format version' && ord $bytes > 1 ? '0A000'
	  : $expected eq 'too long' ? '54000' : '22P03';

	$count{ $expected eq '' ? 'accepted' : 'refused' }++;
	return if $expected eq '' ? $complaint eq ''
	  : $complaint =~ /^$state .*: .*$detail{$expected}.*\.$/;
	push @wrong, "expected: '$expected', complaint: '$complaint', bytes: "
	  . unpack 'H*', substr $bytes, 0, 1000;
}

sub judged
{
	my ($what) = @_;

	is(scalar @wrong, 0, $what) or diag(join "\n", @wrong[ 0 .. ($#wrong < 5 ? $#wrong : 5) ]);
	@wrong = ();
}

#
# Values to damage.  Some are built by hand: each layer is [words, hashes,
# capacity, items, bits, slice], bits being a string of bytes.
#

sub value
{
	my ($flags, $seed, $fpr, $window, @layers) = @_;

	return join '', pack('CCvVd<', 1, $flags, scalar @layers, $seed, $fpr),
	  $window ? pack('q<q<VV', @$window, 0) : '',
	  (map {
			my ($words, $hashes, $capacity, $items, $bits, $slice) = @$_;
			my $set = $flags & 16 ? unpack('H*', $bits) =~ tr/0//c : unpack '%32b*', $bits;
			pack('VVVV', $hashes << 26 | $words, $capacity, $items, $set)
			  . ($window ? pack('q<', $slice) : '') } @layers),
	  map { $_->[4] } @layers;
}

use constant { COUNTING => 16, WINDOWED => 32, NEVER => -1 - (~0 >> 1), LAST => ~0 >> 1, DAY => 86_400_000_000 };

my $word = pack 'Q<', 0x8000000000000401;
my $rain = 763_000_000_000_000;    # some time in 2024
my %values = (
	map({ /(.*?)\|\\x(.*)/ ? ($1 => pack 'H*', $2) : () } split /\n/, query(q{
		SELECT 'empty', bloom_new(1);
		SELECT 'integer', bloom_add(bloom_new(3, 0.2), 42);
		SELECT 'text', bloom_add(bloom_new(3, 0.2, -1), 'item'::text);
		SELECT 'uuid', bloom_add(bloom_new(2, 0.01), '123e4567-e89b-12d3-a456-426614174000'::uuid);
		SELECT 'bytea', bloom_add(bloom_new(2, 0.01), '\x2a'::bytea);
		SELECT 'full', bloom_add(bloom_new(2), '{1,2}'::bigint[]);
		SELECT 'grown', bloom_add(bloom_add(bloom_add(bloom_new(1, 0.5), 1), 2), array_agg(i))
			FROM generate_series(1, 60) i;
		SELECT 'union', bloom_new(1, 0.2) | bloom_add(bloom_new(5, 0.3), 5) | bloom_add(bloom_new(9, 0.1), 9);
		SELECT 'counting', bloom_add(bloom_new(2, 0.1, 0, true), array_fill(42, '{16}'));
		SELECT 'window, made', bloom_add_at(bloom_expire(bloom_window('30 days', 6, 0.1), '2024-02-29 12:00+0'),
			'{1,2}'::bigint[], '{2024-02-01 00:00+0,2024-02-29 00:00+0}');
	})),
	'no kind, many layers' => value(0, 7, 0.5, undef, map { [ 1, $_, 1, 0, "\0" x 8 ] } 1 .. 6),
	'counters' => value(1 | COUNTING, 0, 0.5, undef, [ 1, 3, 9, 9, "\x10\x0f\xff\x01" x 8 ]),
	'window without layers' => value(WINDOWED, 0, 0.01, [ 30 * DAY, NEVER, 6 ]),
	'window' => value(1 | WINDOWED, 1, 0.01, [ 30 * DAY, $rain, 6 ],
		[ 1, 2, 3, 3, $word, int($rain / 5 / DAY) ], [ 1, 2, 3, 2, $word, int($rain / 5 / DAY) + 1 ]),
	'window of early times' => value(2 | WINDOWED, 1, 0.01, [ 1, NEVER, 1000 ], [ 1, 2, 3, 3, $word, NEVER ]),
	'window of all times' => value(1 | WINDOWED, 1, 0.01, [ LAST, LAST, 1000 ],
		map { [ 1, 2, 3, 3, $word, $_ ] } NEVER, 0, 0, LAST),
	'blocked' => value(1, 0, 0.01, undef, [ 4097, 7, 10000, 5000, "\x11" x 8 x 4097 ]));

note join "\n", map { "$_: " . length($values{$_}) . ' bytes' } sort keys %values;

# Where the headers of a value end.
sub headers_size
{
	my ($bytes) = @_;
	my ($flags, $layers) = unpack 'xCv', $bytes;

	return $flags & WINDOWED ? 40 + 24 * $layers : 16 + 16 * $layers;
}

sub literal { return "'\\x" . unpack('H*', $_[0]) . "'::bytea" }

for my $name (sort keys %values)
{
	my $bytes = $values{$name};
	my $size = headers_size($bytes);

	judge($bytes, query('SELECT complaint(' . literal($bytes) . ')'));
	judged("$name is a valid value");

	my @complaints = split /\n/, query('SELECT sweep(' . literal($bytes) . ", $size)"), -1;
	is(scalar @complaints, $size * 256, "$name: every header byte was set to every value");
	for my $at (0 .. $size - 1)
	{
		for my $value (0 .. 255)
		{
			my $damaged = $bytes;

			substr $damaged, $at, 1, chr $value;
			judge($damaged, $complaints[ $at * 256 + $value ]);
		}
	}
	judged("$name: and judged alike by the server and the reader");
}

#
# Cut off, extended, flipped; and values of random fields and honest sizes, which
# get past the first checks.
#

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

sub pick { return $_[ rand @_ ] }

# A number of up to $bits bits, more often an odd one out than a common one.
sub number
{
	my ($bits) = @_;

	return pick(0, 1, 2, 2**($bits - 1) - 1, 2**($bits - 1), 2**$bits - 2, 2**$bits - 1,
		map { int rand 2**(1 + rand $bits) } 1 .. 7);
}

# The same for a signed one of 64 bits.
sub time_number
{
	return unpack 'q<', pack 'Q<', pick(number(32), ~number(32), 1 << 63, 1 + (1 << 63), ~0 >> 1, (~0 >> 1) - 1, int rand 2**50);
}

sub random_value
{
	my $window = rand() < 0.4 ? [ pick(1, LAST, 30 * DAY, time_number() || 1), pick(NEVER, time_number()), pick(1, 1000, 1 + int rand 1000) ] : undef;
	my $counting = !$window && rand() < 0.2;
	my $kind = int rand 5;
	my $nlayers = $counting ? 1 : $window ? int rand 7 : 1 + int rand 7;
	my @layers;
	# a few of them break the order
	my @slices = map { time_number() } 1 .. $nlayers;
	@slices = sort { $a <=> $b } @slices if rand() < 0.9;

	$window->[0] &= ~(1 << 63) if $window;
	for (1 .. $nlayers)
	{
		my $words = 1 + int rand pick(1, 4, 100);
		my $size = $words * ($counting ? 32 : 8);
		my $bits = pick("\0", "\xff", "\x01\0\0\0", join '', map { chr rand 256 } 1 .. 32);
		my $hashes = 1 + int rand 63;
		my $capacity = number(32) || 1;
		my $items = pick($capacity, int rand $capacity, 1);

		$bits = "\0" if !$kind && !$counting;
		$items = 0 if !$kind || ($bits eq "\0" && !$counting);
		$bits = substr $bits x $size, 0, $size;
		push @layers, [ $words, $hashes, $capacity, $items, $bits, shift @slices ];
	}
	return value($kind | ($counting ? COUNTING : 0) | ($window ? WINDOWED : 0), number(32),
		pick(5e-324, 1e-300, 1e-30, 1e-9, 0.01, rand, 0.5, 0.9999999999999999), $window, @layers);
}

sub try
{
	my ($what, @bytes) = @_;
	my @complaints =
	  split /\n/, query(load('given', @bytes) . 'SELECT complaint(bytes) FROM given ORDER BY id'), -1;

	is(scalar @complaints, scalar @bytes, "$what: " . @bytes . ' values were tried');
	judge($bytes[$_], $complaints[$_]) for 0 .. $#bytes;
	judged("$what: and judged alike by the server and the reader");
}

my @small = map { $values{$_} } grep { $_ ne 'blocked' } sort keys %values;
my $blocked = $values{blocked};

try('cut off', '',
	(map { my $bytes = $_; map { substr $bytes, 0, $_ } 0 .. length($bytes) - 1 } @small),
	(map { substr $blocked, 0, $_ } 0 .. 40, length($blocked) - 1));
try('extended', map { my $bytes = $_; map { $bytes . $_ } "\0", "\xff", "\0" x 8, $bytes, "\0" x 100_000 } @small);
try('bits flipped', (map { my $bytes = $_; map { flipped($bytes, 1 + int rand 3) } 1 .. 100 } @small),
	map { flipped($blocked, 1) } 1 .. 20);
try('header bits flipped', map { my $bytes = $_; map { flipped($bytes, 2, headers_size($bytes)) } 1 .. 100 } @small);
try('noise', map { join '', map { chr rand 256 } 1 .. rand 100 } 1 .. 200);
try('noise behind a version', map { join '', "\1", map { chr rand 256 } 1 .. rand 100 } 1 .. 200);
try('random fields', map { random_value() } 1 .. 1500);
# the order of slices, and nothing else
for my $pair ([ 0, -1 ], [ 1, 0 ], [ NEVER + 1, NEVER ], [ LAST, LAST - 1 ], [ LAST, NEVER ], [ 0, NEVER ], [ LAST, -1 ])
{
	my @layers = map { [ 1, 2, 3, 3, $word, $_ ] } sort { $a <=> $b } @$pair;
	my @window = (1 | WINDOWED, 0, 0.01, [ 30 * DAY, 0, 6 ]);

	try("slices @$pair, and in their order", value(@window, reverse @layers), value(@window, @layers),
		value(@window, @layers[ 0, 0, 1, 1 ]), value(@window, @layers[ 0, 1, 0 ]), value(@window, @layers[ 1, 1, 0, 1 ]));
}
try('random fields, bits flipped', map { flipped(random_value(), 1) } 1 .. 500);

cmp_ok($count{accepted}, '>', 10_000, "$count{accepted} values were accepted");
cmp_ok($count{refused}, '>', 10_000, "$count{refused} values were refused");

#
# Windows as narrow and wide as can be, of few slices and many, at times from the first
# to the last: an item goes into the slice that arithmetic in numeric says, whichever way
# it comes in; and none stops the server.
#

is(query(q{
		CREATE TABLE shapes AS
			SELECT width, slices FROM unnest('{1 microsecond,2 microseconds,999 microseconds,1001 microseconds,30 days,
				106751990 days,106751991 days 04:00:54.775806,106751991 days 04:00:54.775807}'::interval[]) width,
				unnest('{1,2,3,999,1000}'::integer[]) slices;
		SELECT count(*),
			count(*) FILTER (WHERE slices_of(bloom_window_agg) IS DISTINCT FROM expected),
			count(*) FILTER (WHERE slices_of(added) IS DISTINCT FROM expected),
			count(*) FILTER (WHERE slices_of(added_many) IS DISTINCT FROM expected)
		FROM shapes, moments,
			LATERAL (SELECT bloom_window_agg(item, at, width, slices, 0.01) FROM (VALUES (1::bigint)) v (item)) aggregated,
			LATERAL (SELECT bloom_add_at(bloom_window(width, slices), 1::bigint, at) AS added,
				bloom_add_at(bloom_window(width, slices), '{1,1}'::bigint[], ARRAY[at, '4714-11-24 00:00+0 BC']) AS added_many,
				ARRAY[slice_at(at, width, slices)]::bigint[] AS expected) made}),
	'280|0|0|0', 'slices of extreme windows at extreme times');

is(query(q{
		DO $$
		DECLARE
			f bloom;
			empty bloom;
		BEGIN
			FOR f, empty IN
				SELECT bloom_add_at(bloom_window(width, slices), '{1,2,3,4,5,6,7}'::bigint[],
					ARRAY(SELECT at FROM moments ORDER BY at)), bloom_window(width, slices)
				FROM shapes
			LOOP
				PERFORM complaint(f::bytea), exercise_window(f, empty), exercise_window(empty, f),
					exercise_window(bloom_expire(f, '2024-02-29 12:00+0'), f);
			END LOOP;
		END
		$$;
		SELECT count(*) FROM shapes}),
	'40', 'and their filters expire and unite');

#
# Text that is not hexadecimal.
#

my $text = '\x' . unpack 'H*', $values{text};
my @texts = ('', 'x', '\\', '\x', '\X' . substr($text, 2), " $text", "$text ", "${text}0", 'null', '\x\x' . substr($text, 2),
	"\\x0", "\\xg0", "\\x0g", "\\xü", "\\x🌸", $text =~ s/0/o/r, '0' x 1_000_001, 'ff ' x 100_000,
	map { my $broken = $text; substr $broken, $_, 1, 'g'; $broken } 2 .. 60);
my $texts = join '; ', map { "PERFORM refuse(\$text\$$_\$text\$)" } @texts;
utf8::encode($texts);

is(query(qq{
		CREATE FUNCTION refuse(input text) RETURNS void LANGUAGE plpgsql AS \$function\$
		DECLARE
			detail text;
		BEGIN
			PERFORM input::bloom;
			RAISE 'accepted %', input;
		EXCEPTION WHEN invalid_text_representation OR invalid_binary_representation THEN
			GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
			IF detail NOT LIKE '%.' THEN
				RAISE 'no detail about %', input;
			END IF;
		END
		\$function\$;
		DO \$do\$ BEGIN $texts; END \$do\$;
		SELECT upper(substr('$text', 3))::bloom = '$text'}),
	't', 'text that is not hexadecimal is refused; capital digits are not');

#
# COPY BINARY: a stream around the value; each is a file.
#

my $folder = PostgreSQL::Test::Utils::tempdir;
my $header = "PGCOPY\n\xff\r\n\0" . pack 'N2', 0, 0;

query(qq{
	CREATE TABLE target (f bloom);
	CREATE FUNCTION copy_complaint(file text) RETURNS text LANGUAGE plpgsql AS \$\$
	DECLARE
		state text;
		message text;
		detail text;
		copied bloom;
	BEGIN
		DELETE FROM target;
		EXECUTE format('COPY target FROM %L (FORMAT binary)', '$folder/' || file);
		SELECT f INTO copied FROM target;
		RETURN coalesce(complaint(copied::bytea), '');
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
			detail = PG_EXCEPTION_DETAIL;
		RETURN state || ' ' || message || ': ' || detail;
	END
	\$\$;
});

sub try_copy
{
	my (@streams) = @_;

	for my $i (0 .. $#streams)
	{
		open my $file, '>:raw', "$folder/$i" or die $!;
		print $file $streams[$i];
		close $file;
		chmod 0644, "$folder/$i";
	}
	my @complaints =
	  split /\n/, query("SELECT copy_complaint(i::text) FROM generate_series(0, $#streams) i"), -1;
	unlink map { "$folder/$_" } 0 .. $#streams;
	is(scalar @complaints, scalar @streams, 'COPY BINARY of ' . @streams . ' streams');
	return @complaints;
}

sub stream { return $header . pack('nN', 1, length $_[0]) . $_[0] . "\xff\xff" }

my @bytes = (@small, $blocked, '',
	(map { my $bytes = $_; map { flipped($bytes, 1, headers_size($bytes)) } 1 .. 30 } @small),
	(map { substr $_, 0, rand length } @small), map { $_ . "\0" } @small);
my @complaints = try_copy(map { stream($_) } @bytes);
judge($bytes[$_], $complaints[$_]) for 0 .. $#bytes;
judged('values in a stream are judged alike by the server and the reader');

my @damaged = map { my $bytes = $_; map { flipped(stream($bytes), 1) } 1 .. 40 } @small;
my @strange = grep { $_ ne '' && !/^(?:22P0[34]|0A000|54000) / } try_copy(@damaged);
is("@strange", '', 'damaged streams lead to the expected errors only');

#
# What was accepted goes through a table, sorts and joins, out and in again.
#

is(query(qq{
		COPY accepted TO '$folder/accepted.binary' (FORMAT binary);
		COPY accepted TO '$folder/accepted.text';
		CREATE TABLE from_binary (LIKE accepted);
		CREATE TABLE from_text (LIKE accepted);
		COPY from_binary FROM '$folder/accepted.binary' (FORMAT binary);
		COPY from_text FROM '$folder/accepted.text';
		SELECT count(*) > 2000,
			(SELECT md5(string_agg(f::text, ' ' ORDER BY f::text)) FROM accepted) =
			(SELECT md5(string_agg(f::text, ' ' ORDER BY f::text)) FROM from_binary) AND
			(SELECT md5(string_agg(f::text, ' ' ORDER BY f::text)) FROM accepted) =
			(SELECT md5(string_agg(f::text, ' ' ORDER BY f::text)) FROM from_text),
			(SELECT count(DISTINCT f::text) FROM accepted) =
			(SELECT count(*) FROM (SELECT f FROM accepted GROUP BY f) g)
		FROM accepted}),
	't|t|t', 'accepted values are the same after COPY, and equal where their bytes are');

#
# Little bytes that announce much: no memory for it.  And the other way round.
#

my $announced = join ', ', map { literal($_) }
  value(1, 0, 0.01, undef, [ 2**26 - 1, 7, 1, 1, $word ]),
  value(1, 0, 0.01, undef, map { [ 67_108_750, 7, 1, 1, '' ] } 1 .. 1000),
  value(1 | COUNTING, 0, 0.01, undef, [ 2**26 - 1, 7, 1, 1, $word ]),
  pack('CCvVd<', 1, 1, 4096, 0, 0.01), pack('CCvVd<q<q<VV', 1, 33, 4096, 0, 0.01, 1, 0, 1, 0);
my $peak = q{(SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\s+(\d+)')::bigint)};

SKIP:
{
	skip 'no /proc', 1 unless -r '/proc/self/status';
	my ($before, $refused, $after) = split /\n/, query(qq{
		SELECT complaint('\\x'), $peak;
		SELECT string_agg(complaint(bytes), '') ~ '^(22P03 invalid bytes[^:]*: [^:]*){5}\$'
			FROM unnest(ARRAY[$announced]) bytes;
		SELECT $peak});

	$before =~ s/.*\|//;
	is($refused, 't', 'announced sizes are not believed');
	cmp_ok($after - $before, '<', 4096, 'and no memory is taken for them')
	  or diag("$before kB, then $after kB");
}

SKIP:
{
	my ($available) = slurp_file('/proc/meminfo') =~ /^MemAvailable: +(\d+)/m;
	skip 'less than 2 GiB of memory', 1 unless ($available // 0) > 2 * 1024 * 1024;

	# 500 MiB without a second copy of them
	like(
		query(q{
			CREATE CAST (text AS bytea) WITHOUT FUNCTION;
			SET client_min_messages = error;
			DO $$
			BEGIN
				PERFORM bloom_in(CAST(repeat(repeat(E'\x01', 1024), 500 * 1024) AS bytea));
			EXCEPTION WHEN program_limit_exceeded THEN
				CREATE TABLE refused AS SELECT SQLERRM;
			END
			$$;
			TABLE refused}),
		qr/value of type bloom is too large/, 'bytes beyond the limit are refused');
}

# As many layers as there can be; and what takes long with them can be cancelled.
my %tall = (
	'shallow' => [ 1, 1, 100, 1, "\1" . "\0" x 7 ],
	'slow to unite' => [ 1, 20, 1, 1, "\x3f\0\0\x0f" x 2 ],
	'slow to size' => [ 1, 63, 49, 49, "\xfe" . "\xff" x 7 ],
	'denormal chances' => [ 2, 63, 252, 1, "\xfe" . "\xff" x 7 . "\0" x 8 ]);
for my $name (sort keys %tall)
{
	my $bytes = value(1, 0, 0.01, undef, ($tall{$name}) x 4096);
	my $other = value(1, 0, 0.01, undef, ([ @{ $tall{$name} }[ 0 .. 3 ], scalar reverse $tall{$name}[4] ]) x 4096);
	my $items = 4096 * $tall{$name}[3];
	my $table = 'tall_' . $name =~ tr/ /_/r;
	my $contained = format_reader::contains(format_reader::parse($bytes), 'integer', 42) ? 't' : 'f';

	is(query(load('given', $bytes, $other) . qq{
			CREATE TABLE $table AS
				SELECT a.bytes::bloom AS f, b.bytes::bloom AS g FROM given a, given b WHERE a.id < b.id;
			SELECT layers, items, bloom_contains(f, 42), bloom_contains_any(f, '{42}'::bigint[])
			FROM $table, bloom_info(f)}),
		"4096|$items|$contained|$contained", "4,096 layers, $name");
	for my $call ('f | f', 'f | g', 'f | bloom_add(bloom_new(10), 1)', 'bloom_add(f, 43)',
		q{bloom_add(f, array_fill(43, '{600}'))}, '(SELECT count(*) FROM bloom_layers(f))')
	{
		my (undef, $out, $err) = $node->psql('postgres',
			"SET statement_timeout = '1s'; SELECT length(($call)::text) FROM $table; RESET statement_timeout; SELECT $cpu",
			on_error_stop => 0, timeout => 170);

		# (in hundredths of a second)
		ok($out =~ /^(\d+)\z/m && $1 < 1000 && $err =~ /^$|too many layers|too large|statement timeout/,
			"4,096 layers, $name: $call")
		  or diag("it could not be cancelled, or: $out $err");
	}
}

#
# Nothing of all this may have left a trace.
#

is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $started, 'the server is the same');
my @signs = ('terminated by signal', 'server process .* exited', 'TRAP:', 'PANIC', 'WARNING:',
	'not been shut down properly', 'invalid memory alloc', 'out of memory');
my $signs = join '|', @signs;
my @found = grep { /$signs/ && !/STATEMENT|statement:/ } split /\n/, slurp_file($node->logfile);
is("@found", '', 'nothing in its log speaks of a crash');

$node->stop('immediate');
done_testing();
