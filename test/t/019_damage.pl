# Damage to a stored filter, found when it is used, is an error that says so: SQLSTATE
# XX001, data_corrupted.  It is never a crash, and never an answer that lets an exposed
# item through.
#
# Damaged are headers, lengths, chunks of the TOAST table, and the pointer to them;
# filters are read as a whole and slice by slice.  002_hostile_bytes.pl tests damaged input.

use Server;

my $node = start_server('damage',
	"autovacuum = off\nbgwriter_lru_maxpages = 0\ncheckpoint_timeout = 1h",
	no_data_checksums => 1);

sub query { return $node->safe_psql('postgres', $_[0]) }

query(q{
	CREATE EXTENSION bloomexp;
	-- Casts without a function check nothing, so they bring any bytes into a column of type bloom.
	CREATE CAST (bytea AS text) WITHOUT FUNCTION;
	CREATE CAST (text AS bloom) WITHOUT FUNCTION;

	-- Sound filters, all of which contain 1 to 100; each is read in another way.
	CREATE TABLE sound (name text PRIMARY KEY, f bloom);
	INSERT INTO sound VALUES
		('inline', bloom_add(bloom_new(200), ARRAY(SELECT generate_series(1, 100)))),
		('whole', bloom_add(bloom_new(3000), ARRAY(SELECT generate_series(1, 1000)))),
		('sliced', bloom_add(bloom_new(1000000), ARRAY(SELECT generate_series(1, 20000)))),
		('grown', bloom_add(bloom_add(bloom_new(300000), 1),
			ARRAY(SELECT generate_series(1, 320000)))),
		('counting', bloom_add(bloom_new(500, counting => true),
			ARRAY(SELECT generate_series(1, 100)))),
		('windowed', bloom_add_at(bloom_window('30 days'), ARRAY(SELECT generate_series(1, 100)),
			ARRAY(SELECT '2026-01-01'::timestamptz + i * interval '1 hour'
				FROM generate_series(1, 100) i)));

	-- One of them, with other bytes, made of its own.
	CREATE TABLE damaged (f bloom);
	CREATE FUNCTION store(filter text, bytes text) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		TRUNCATE damaged;
		EXECUTE format('INSERT INTO damaged SELECT (%s)::text::bloom FROM sound
			WHERE name = %L', bytes, filter);
	END
	$$;
	CREATE FUNCTION put(f bloom, at integer, bytes bytea) RETURNS bytea LANGUAGE sql
		AS 'SELECT overlay(f::bytea PLACING bytes FROM at + 1)';

	-- Return the answer of an expression over the damaged filter, or the SQLSTATE of its error; and
	-- the distinct answers of several expressions.
	CREATE FUNCTION said(use text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		answer text;
	BEGIN
		EXECUTE format('SELECT (%s)::text FROM damaged', use) INTO answer;
		RETURN coalesce(answer, 'null');
	EXCEPTION WHEN OTHERS THEN
		RETURN 'error ' || SQLSTATE;
	END
	$$;
	CREATE FUNCTION said(uses text[]) RETURNS text LANGUAGE sql AS
		'SELECT string_agg(DISTINCT left(said(use), 60), $$, $$) FROM unnest(uses) AS use';
	CREATE FUNCTION said(filter text, bytes text, uses text[]) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM store(filter, bytes);
		RETURN said(uses);
	END
	$$;
});

# What a filter is used for, if it has the headers only, or the bits, too.
my @asked = ('bloom_info(f)', '(SELECT count(*) FROM bloom_layers(f))', 'bloom_cardinality(f)',
	'bloom_fpr(f)');
my @looked = (
	'f @> 1', 'bloom_contains_any(f, ARRAY[1, 2])', 'bloom_contains_all(f, ARRAY[1, 2])',
		'bloom_contains_each(f, ARRAY[1, 2])',
	'ARRAY[1, 2] - f', 'ARRAY(SELECT generate_series(1, 100)) - f',
	'(SELECT count(*) FROM bloom_exclude(ARRAY[1, 2], f))',
	'(SELECT count(*) FROM bloom_exclude(ARRAY[1, 2], f, f))',
		q{bloom_exclude_packed('\x0100000000000000', f)});
my %changed = (
	plain => [ 'bloom_add(f, 1000000000)', 'bloom_add(f, ARRAY[1000000000])', 'f | bloom_new()',
		'bloom_new() | f' ],
	counting => [ 'bloom_add(f, 1000000000)', 'bloom_remove(f, 1)', 'bloom_remove(f, ARRAY[1])' ],
	windowed => [ q{bloom_add_at(f, 1000000000, '2026-01-02')}, q{bloom_expire(f, '2026-01-20')},
		'f | f' ]);

# A list of texts as an array in SQL.
sub array { return 'ARRAY[' . join(', ', map { my $text = s/'/''/gr; "'$text'" } @_) . ']' }

sub uses
{
	my ($name) = @_;

	return array(@asked, @looked, @{ $changed{$name} // $changed{plain} });
}

# Headers.  doc/internals/format.md has the offsets: the fields of the value, and of the first
# layer from 16 on, or from 40 on in a window.

my @damages = (
	'no version' => q{put(f, 0, '\x00')},
	'of a later version' => q{put(f, 0, '\x02')},
	'no such kind' => q{put(f, 1, '\x09')},
	'a reserved flag' => q{put(f, 1, '\x81')},
	'counting and windowed' => q{put(f, 1, '\x31')},
	'no layers, or too many' => q{put(f, 2, '\xffff')},
	'one layer more' => q{put(f, 2, '\x0500')},
	'no rate' => q{put(f, 8, '\x000000000000f87f')},
	'a rate of 1' => q{put(f, 8, '\x000000000000f03f')},
	'no bits' => q{put(f, LAYER, '\x00000000')},
	'too many bits' => q{put(f, LAYER, '\xffffffff')},
	'too large a capacity' => q{put(f, LAYER + 4, '\xffffffff')},
	'no capacity' => q{put(f, LAYER + 4, '\x00000000')},
	'items above the capacity' => q{put(f, LAYER + 8, '\xffffff7f')},
	(map { ("cut off at $_" => "substring(f::bytea FOR $_)") } 0, 1, 15, 16, 'LAYER + 15',
		'length(f::bytea) - 1', 'length(f::bytea) / 2'),
	'a byte too long' => q{f::bytea || '\x00'});

for my $name (qw(inline whole sliced grown counting windowed))
{
	my $layer = $name eq 'windowed' ? 40 : 16;
	my $damages = array(map { s/LAYER/$layer/gr } @damages);

	unlike(query("SELECT said('$name', 'f::bytea', @{[ uses($name) ]})"), qr/error/,
		"$name: sound bytes are used without an error");
	is(query("SELECT d[2 * i - 1] || ': ' || said('$name', d[2 * i], @{[ uses($name) ]})
			FROM (VALUES ($damages)) AS v (d), generate_series(1, cardinality(d) / 2) AS i
				ORDER BY i"),
		join("\n", map { "$damages[2 * $_]: " . ($_ == 1 ? 'error 0A000'
			: 'error XX001') } 0 .. $#damages / 2) =~ s/LAYER/$layer/gr,
		"$name: damaged headers");
}

# Chunks.  A TOAST table can be changed while it passes for an ordinary one.  Reads of a TOAST table
# also see deleted chunks, so VACUUM must remove them; nobody else has a page pinned, which VACUUM
# would skip.

my ($toast, $oid) = split /\|/, query(q{SELECT reltoastrelid::regclass, reltoastrelid FROM pg_class
	WHERE relname = 'damaged'});
my %chunk_damages = (
	'missing' => "DELETE FROM $toast WHERE chunk_seq = SEQ",
	'short' => "UPDATE $toast SET chunk_data = substring(chunk_data for length(chunk_data) - 1)
		WHERE chunk_seq = SEQ",
	'empty' => "UPDATE $toast SET chunk_data = '' WHERE chunk_seq = SEQ",
	'long' => "UPDATE $toast SET chunk_data = chunk_data || '\\x00' WHERE chunk_seq = SEQ",
	'in the wrong place' => "UPDATE $toast SET chunk_seq = 1000000 WHERE chunk_seq = SEQ");
my $reading_all = array('md5(f::bytea)', @{ $changed{plain} },
	'(SELECT count(*) FROM bloom_exclude(ARRAY[1, 2], f, f))');

for my $name (qw(whole sliced grown))
{
	for my $damage (sort keys %chunk_damages)
	{
		for my $seq (0, 1, "(SELECT max(chunk_seq) FROM $toast)")
		{
			my $title = "$name: chunk " . ($seq =~ /max/ ? 'at the end' : $seq) . " $damage";
			my ($whole, $headers, %said) = split /[|\n]/, query(qq{
				SET allow_system_table_mods = on;
				SELECT FROM store('$name', 'f::bytea');
				UPDATE pg_class SET relkind = 'r' WHERE oid = $oid;
				@{[ $chunk_damages{$damage} =~ s/SEQ/$seq/r ]};
				UPDATE pg_class SET relkind = 't' WHERE oid = $oid;
				VACUUM damaged;
				SELECT said($reading_all), said(@{[ array(@asked) ]});
				SELECT said('f \@> ' || i) AS answer, count(*) FROM generate_series(1, 1000) i
					GROUP BY 1}) =~ s/^\n+//r;

			is($whole, 'error XX001', "$title, read as a whole");
			is($headers, 'error XX001', "$title, headers") if $seq eq '0' && $name ne 'whole';

			# one item is contained, or the chunks that it needs are damaged
			my ($contained, $damaged) = map { $_ // 0 } delete @said{'true', 'error XX001'};
			is(join(' ', %said), '', "$title: one item is contained, or an error");
			is($contained, 0, "$title: all items need it") if $name eq 'whole' || $seq eq '0';
			cmp_ok($contained, '>', 0, "$title: some items do not need it")
			  if $name eq 'sliced' && $seq ne '0';
			cmp_ok($damaged, '>', 0, "$title: some do") if $name eq 'sliced' && $seq eq '1';
		}
	}
}

# The pointer to the chunks: on disk, with the server stopped.  Lengths that agree with
# each other but not with the header.

for my $change (-2000, 2000)
{
	for my $name (qw(whole sliced))
	{
		my ($chunk, $file) = split /\|/, query("SELECT FROM store('$name', 'f::bytea');
			SELECT min(chunk_id), pg_relation_filepath('damaged') FROM $toast") =~ s/^\n+//r;

		$node->stop;
		change_lengths($node->data_dir . "/$file", $change, $chunk, $oid);
		$node->start;
		is(query("SELECT said(@{[ uses($name) ]})"), 'error XX001',
			"$name: a pointer to $change bytes more");
	}
}

# In a file, change both lengths of the TOAST pointer that ends with two numbers.
sub change_lengths
{
	my ($file, $change, @pointer) = @_;
	my $pages = slurp_file($file);
	my $at = index($pages, pack 'LL', @pointer) - 8;

	die "no pointer in $file" if $at < 0;
	substr $pages, $at, 8, pack 'LL', map { $_ + $change } unpack 'LL', substr $pages, $at, 8;
	open(my $handle, '>:raw', $file) or die "$file: $!";
	print $handle $pages;
	close $handle or die "$file: $!";
}

$node->stop;
done_testing();
