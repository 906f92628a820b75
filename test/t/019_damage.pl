# Damage to a stored filter, found when it is used, is an error that says so:
# SQLSTATE XX001, data_corrupted.  It is never a crash, and never an answer that
# lets an exposed item through.
#
# Damaged are headers, lengths, chunks of the TOAST table, and the pointer to
# them; filters are read as a whole and slice by slice.  (What arrives as input is
# another matter: 002_hostile_bytes.pl.)

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('damage');
$node->init(extra => ['--no-locale'], no_data_checksums => 1);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\n");
$node->start;

my $started = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');

# Casts that look at nothing bring any bytes into a column of type bloom.
$node->safe_psql('postgres', q{
	CREATE EXTENSION bloomexp;
	CREATE CAST (bytea AS text) WITHOUT FUNCTION;
	CREATE CAST (text AS bloom) WITHOUT FUNCTION;
	CREATE FUNCTION unchecked(bytes bytea) RETURNS bloom LANGUAGE sql IMMUTABLE AS 'SELECT bytes::text::bloom';

	-- Sound filters, all of which contain 1 to 100; each is read in another way.
	CREATE TABLE sound (name text PRIMARY KEY, f bloom);
	INSERT INTO sound VALUES
		('inline', bloom_add(bloom_new(200), ARRAY(SELECT generate_series(1, 100)))),
		('whole', bloom_add(bloom_new(3000), ARRAY(SELECT generate_series(1, 1000)))),
		('sliced', bloom_add(bloom_new(1000000), ARRAY(SELECT generate_series(1, 20000)))),
		('grown', bloom_add(bloom_add(bloom_new(300000), 1), ARRAY(SELECT generate_series(1, 320000)))),
		('counting', bloom_add(bloom_new(500, counting => true), ARRAY(SELECT generate_series(1, 100)))),
		('windowed', bloom_add_at(bloom_window('30 days'), ARRAY(SELECT generate_series(1, 100)),
			ARRAY(SELECT '2026-01-01'::timestamptz + i * interval '1 hour' FROM generate_series(1, 100) i)));

	-- What a use of a filter says: its answer, or the error's SQLSTATE.
	CREATE FUNCTION said(expression text, filter regclass) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		answer text;
	BEGIN
		EXECUTE format('SELECT (%s)::text FROM %s', expression, filter) INTO answer;
		RETURN answer;
	EXCEPTION WHEN OTHERS THEN
		RETURN 'error ' || SQLSTATE;
	END
	$$});

# What a filter is used for, if it has the headers only, or the bits, too.
my @asked = ('bloom_info(f)', '(SELECT count(*) FROM bloom_layers(f))', 'bloom_cardinality(f)', 'bloom_fpr(f)');
my @looked = (
	'f @> 1', 'bloom_contains_any(f, ARRAY[1, 2])', 'bloom_contains_all(f, ARRAY[1, 2])', 'bloom_contains_each(f, ARRAY[1, 2])',
	'ARRAY[1, 2] - f', 'ARRAY(SELECT generate_series(1, 100)) - f', '(SELECT count(*) FROM bloom_exclude(ARRAY[1, 2], f))',
	'(SELECT count(*) FROM bloom_exclude(ARRAY[1, 2], f, f))', q{bloom_exclude_packed('\x0100000000000000', f)});
my %changed = (
	plain => [ 'bloom_add(f, 1000000000)', 'bloom_add(f, ARRAY[1000000000])', 'f | bloom_new()', 'bloom_new() | f' ],
	counting => [ 'bloom_add(f, 1000000000)', 'bloom_remove(f, 1)', 'bloom_remove(f, ARRAY[1])' ],
	windowed => [ q{bloom_add_at(f, 1000000000, '2026-01-02')}, q{bloom_expire(f, '2026-01-20')}, 'f | f' ]);

sub uses
{
	my ($name) = @_;

	return (@asked, @looked, @{ $changed{$name} // $changed{plain} });
}

# What the uses of the filter in a table say.
sub said
{
	my ($table, @uses) = @_;
	my $list = join ', ', map { my $use = s/'/''/gr; "'$use'" } @uses;

	return split /\n/, $node->safe_psql('postgres', "SELECT coalesce(said(use, '$table'), 'null') FROM unnest(ARRAY[$list]) WITH ORDINALITY u (use, number) ORDER BY number");
}

# Each use of a damaged filter ends with this SQLSTATE.
sub all_say
{
	my ($table, $state, $title, @uses) = @_;
	my @said = said($table, @uses);
	my @others = map { "$uses[$_]: " . substr $said[$_], 0, 60 } grep { $said[$_] ne "error $state" } 0 .. $#uses;

	ok(@said == @uses && !@others, "$title: $state") or diag join "\n", @others;
}

for my $name (qw(inline whole sliced grown counting windowed))
{
	$node->safe_psql('postgres', "CREATE TABLE $name AS SELECT unchecked(f::bytea) AS f FROM sound WHERE name = '$name'");
	my @wrong = grep { /^error/ } said($name, uses($name));
	is("@wrong", '', "$name: sound bytes are used without an error");
}

#
# Headers.  doc/internals/format.md has the offsets: the fields of the value, and of the first
# layer from 16 on, or from 40 on in a window.
#

my %damages = (
	'no version' => [ 0, "\0" ],
	'no such kind' => [ 1, "\x09" ],
	'a reserved flag' => [ 1, "\x81" ],
	'counting and windowed' => [ 1, "\x31" ],
	'no layers, or too many' => [ 2, "\xff\xff" ],
	'one layer more' => [ 2, "\5\0" ],
	'no rate' => [ 8, "\0\0\0\0\0\0\xf8\x7f" ],
	'a rate of 1' => [ 8, "\0\0\0\0\0\0\xf0\x3f" ],
	'no bits' => [ 'layer', "\0\0\0\0" ],
	'too many bits' => [ 'layer', "\xff\xff\xff\xff" ],
	'too large a capacity' => [ 'layer + 4', "\xff\xff\xff\xff" ],
	'no capacity' => [ 'layer + 4', "\0\0\0\0" ],
	'items above the capacity' => [ 'layer + 8', "\xff\xff\xff\x7f" ]);

for my $name (qw(inline whole sliced grown counting windowed))
{
	my $layer = $name eq 'windowed' ? 40 : 16;

	for my $damage (sort keys %damages)
	{
		my ($offset, $bytes) = @{ $damages{$damage} };
		my $at = $offset =~ s/layer/$layer/r;

		replace_filter($name, sprintf "overlay(f::bytea placing '\\x%s' from %s + 1)", unpack('H*', $bytes), $at);
		all_say($name, 'XX001', "$name: $damage", uses($name));
	}

	replace_filter($name, q{overlay(f::bytea placing '\x02' from 1)});
	all_say($name, '0A000', "$name: of a later version", uses($name));

	for my $length (0, 1, 15, 16, $layer + 15, 'length(f::bytea) - 1', 'length(f::bytea) / 2')
	{
		replace_filter($name, "substring(f::bytea for $length)");
		all_say($name, 'XX001', "$name: cut off at $length", uses($name));
	}
	replace_filter($name, q{f::bytea || '\x00'});
	all_say($name, 'XX001', "$name: a byte too long", uses($name));
}

# Put other bytes into a filter's table, made of those of the sound one.
sub replace_filter
{
	my ($name, $bytes) = @_;

	$node->safe_psql('postgres', "TRUNCATE $name; INSERT INTO $name SELECT unchecked($bytes) FROM sound WHERE name = '$name'");
}

#
# Chunks.  A TOAST table can be changed while it passes for an ordinary one.
#

sub toast_of
{
	my ($name) = @_;

	return $node->safe_psql('postgres', "SELECT reltoastrelid::regclass FROM pg_class WHERE oid = '$name'::regclass");
}

sub change_chunks
{
	my ($name, $change) = @_;
	my $toast = toast_of($name);
	my $kind = sub { "UPDATE pg_class SET relkind = '$_[0]' WHERE oid = '$toast'::regclass;" };

	$node->safe_psql('postgres', join "\n", 'SET allow_system_table_mods = on;', $kind->('r'),
		$change =~ s/CHUNKS/$toast/gr . ';', $kind->('t'),
		# who reads a chunk sees deleted ones, too
		"VACUUM $name");
}

# Items of a filter, asked one by one: each is contained, or the chunks that it needs
# are damaged; returns how many of both.
sub one_by_one
{
	my ($name, $title) = @_;
	my %said = split /[|\n]/, $node->safe_psql('postgres',
		"SELECT coalesce(said('f @> ' || i, '$name'), 'null') AS answer, count(*) FROM generate_series(1, 1000) i GROUP BY 1");
	my @unexpected = grep { !/^(?:true|error XX001)$/ } keys %said;

	is("@unexpected", '', "$title: one item is contained, or an error");
	return ($said{true} // 0, $said{'error XX001'} // 0);
}

my %chunk_damages = (
	'missing' => 'DELETE FROM CHUNKS WHERE chunk_seq = SEQ',
	'short' => 'UPDATE CHUNKS SET chunk_data = substring(chunk_data for length(chunk_data) - 1) WHERE chunk_seq = SEQ',
	'empty' => q{UPDATE CHUNKS SET chunk_data = '' WHERE chunk_seq = SEQ},
	'long' => q{UPDATE CHUNKS SET chunk_data = chunk_data || '\x00' WHERE chunk_seq = SEQ},
	'in the wrong place' => 'UPDATE CHUNKS SET chunk_seq = 1000000 WHERE chunk_seq = SEQ');

for my $name (qw(whole sliced grown))
{
	for my $damage (sort keys %chunk_damages)
	{
		for my $seq (0, 1, '(SELECT max(chunk_seq) FROM CHUNKS)')
		{
			my $title = "$name: chunk " . ($seq =~ /max/ ? 'at the end' : $seq) . " $damage";
			my @reading_all = ('md5(f::bytea)', @{ $changed{plain} }, '(SELECT count(*) FROM bloom_exclude(ARRAY[1, 2], f, f))');

			replace_filter($name, 'f::bytea');
			change_chunks($name, $chunk_damages{$damage} =~ s/SEQ/$seq/gr);
			all_say($name, 'XX001', "$title, read as a whole", @reading_all);
			all_say($name, 'XX001', "$title, headers", @asked) if $seq eq '0' && $name ne 'whole';

			my ($contained, $damaged) = one_by_one($name, $title);
			is($contained, 0, "$title: all items need it") if $name eq 'whole' || $seq eq '0';
			cmp_ok($contained, '>', 0, "$title: some items do not need it") if $name eq 'sliced' && $seq ne '0';
			cmp_ok($damaged, '>', 0, "$title: some do") if $name eq 'sliced' && $seq eq '1';
		}
	}
}

#
# The pointer to the chunks: on disk, with the server stopped.  Lengths that agree with
# each other but not with the header.
#

is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $started, 'the server is the same');

for my $change (-2000, 2000)
{
	for my $name (qw(whole sliced))
	{
		replace_filter($name, 'f::bytea');
		my $toast = toast_of($name);
		my @pointer = split /\|/, $node->safe_psql('postgres', "SELECT min(chunk_id), '$toast'::regclass::oid FROM $toast");
		my $file = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$name')");

		$node->stop;
		change_lengths($file, $change, @pointer);
		$node->start;
		all_say($name, 'XX001', "$name: a pointer to $change bytes more", uses($name));
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

unlike(slurp_file($node->logfile), qr/terminated by signal|TRAP:|PANIC/, 'nothing in the log speaks of a crash');

$node->stop;
done_testing();
