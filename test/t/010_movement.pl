# Filters go from one server, database or file to another, and are the same there:
#
#	1. logical replication, as text and binary;
#	2. pg_dump and restore, plain and custom, with all that may hang on a filter;
#	3. COPY, as text, CSV and binary; damaged files are refused.

use Documents qw(sqlstate);
use Server;

require "$root/test/lib/samples.pl";

my $node = start_server('publisher', 'max_connections = 30', allows_streaming => 'logical');

sub query { return $node->safe_psql($_[0], $_[1]) }

# Logical replication.  The subscribers have the feeds, too; but the filters come as they are, so an
# exposure that is copied or replicated must not start the trigger.  A table without a key is found
# by its whole rows, filters included.

my $subscriber = start_server('subscriber',
	"max_connections = 30\nmax_logical_replication_workers = 10",
	allows_streaming => 'logical');

my $publisher = $node->connstr . ' dbname=postgres';
my $keyless = q{CREATE TABLE keyless (note text, items bloom);
	ALTER TABLE keyless REPLICA IDENTITY FULL;};
my %subscriptions = (plain => 'binary = false', dense => 'binary = true');

samples::create($node, 'postgres');
samples::create_feeds($node, 'postgres');
query('postgres', "$keyless INSERT INTO keyless SELECT note, items FROM seen;
	INSERT INTO exposures VALUES (76, 899); CREATE PUBLICATION filters FOR ALL TABLES");
for my $name (sort keys %subscriptions)
{
	$subscriber->safe_psql('postgres', "CREATE DATABASE $name");
	samples::create($subscriber, $name);
	samples::create_feeds($subscriber, $name);
	$subscriber->safe_psql($name, "TRUNCATE seen; $keyless");
	$subscriber->safe_psql($name,
		"CREATE SUBSCRIPTION $name CONNECTION '$publisher' PUBLICATION filters
			WITH ($subscriptions{$name})");
}
$subscriber->wait_for_subscription_sync($node, $_, $_) for sort keys %subscriptions;

my $rows = q{SELECT note, md5(bloom_send(items)) FROM keyless ORDER BY note};

sub same
{
	my ($name) = @_;
	my @wanted = (samples::answers($node, 'postgres'), query('postgres', $rows));

	for my $subscription (sort keys %subscriptions)
	{
		$node->wait_for_catchup($subscription);
		is(samples::answers($subscriber, $subscription), $wanted[0],
			"$subscription subscription: $name");
		is($subscriber->safe_psql($subscription, $rows), $wanted[1],
			"$subscription subscription: $name, without a key");
	}
	return $wanted[0];
}

my $before = same('initial copy');
query('postgres', samples::add("'{901,902}'::bigint[]", 1, 2, 3, 77) . samples::change_others() .
	q{UPDATE keyless SET items = bloom_add(items, 901) WHERE note IN ('small', 'layers', 'large')});
isnt(same('added'), $before, 'filters have changed');
for my $subscription (sort keys %subscriptions)
{
	is(samples::containing($subscriber, $subscription, 901), '1 2 3 4 5 6 77',
		"$subscription subscription: filters contain what was added");
}

# The filter that stays is not sent: it is out of line, and has not changed.
query('postgres', q{UPDATE seen SET note = upper(note) WHERE user_id IN (3, 4);
	DELETE FROM seen WHERE user_id IN (2, 10);
	UPDATE seen SET user_id = 1001 WHERE user_id = 1;
	UPDATE keyless SET note = upper(note) WHERE note IN ('large', 'window', 'empty');
	DELETE FROM keyless WHERE note IN ('counting', 'small')});
$before = same('other columns, other keys, deleted');
like($before, qr/^3\|LARGE\|.*^4\|WINDOW\|.*^1001\|small/ms, 'rows have changed');

# An exposure and the filter that the trigger has changed: each comes once.
query('postgres', 'INSERT INTO exposures VALUES (3, 903), (78, 903)');
same('after exposures');
for my $subscription (sort keys %subscriptions)
{
	is(samples::shown($subscriber, $subscription, 903),
		'feed 3, feed 78, untracked 3, untracked 78',
		"$subscription subscription: filters and exposures came");
	is($subscriber->safe_psql($subscription,
		'SELECT md5(string_agg(md5(bloom_send(items)), $$ $$ ORDER BY user_id))
		FROM feed.filters'),
		query('postgres', 'SELECT md5(string_agg(md5(bloom_send(items)), $$ $$ ORDER BY user_id))
			FROM feed.filters'), "$subscription subscription: byte for byte");
	is(sqlstate($subscriber, $subscription, "SELECT bloomexp.create_feed('more', 'exposures')"),
		'55000', "$subscription subscription: no feed with triggers can be made there");
	is($subscriber->safe_psql($subscription, 'SELECT count(*) FROM exposures'), '3',
		"$subscription subscription: exposures came");
	# as after a switchover
	$subscriber->safe_psql($subscription, "DROP SUBSCRIPTION $subscription;
		INSERT INTO exposures VALUES (3, 905),
		(79, 905)");
	$subscriber->safe_psql($subscription, "SELECT bloomexp.create_feed('more', 'exposures')");
	is(samples::shown($subscriber, $subscription, 905),
		'feed 3, feed 79, untracked 3, untracked 79',
		"$subscription subscription: the trigger works there");
}
$subscriber->stop;

# pg_dump and restore.  The extension is in a schema of its own, as pg_dump and
# pg_restore work with an empty search_path.

query('postgres', 'CREATE DATABASE origin');
query('origin', q{
	CREATE SCHEMA "Filter tools";
	CREATE EXTENSION bloomexp SCHEMA "Filter tools";
	ALTER DATABASE origin SET search_path = public, "Filter tools"});
samples::create($node, 'origin');
samples::create_feeds($node, 'origin');
query('origin', q{
	ALTER TABLE seen
		ALTER items SET DEFAULT bloom_add(bloom_new(50, 0.001), 4711),
		ADD known bigint GENERATED ALWAYS AS (bloom_cardinality(items)) STORED,
		ADD CONSTRAINT not_too_large CHECK ((bloom_info(items)).bytes < 1000000),
		ADD CONSTRAINT not_13 CHECK (CASE note WHEN 'small' THEN NOT items @> 13 ELSE true END);
	INSERT INTO exposures VALUES (1, 901);
	CREATE INDEX seen_fpr ON seen (bloom_fpr(items),
		(CASE note WHEN 'small' THEN bloom_contains(items, 2) END))
		WHERE bloom_cardinality(items) > 0;
	CREATE INDEX seen_items ON seen USING hash (items);
	CREATE STATISTICS seen_statistics ON bloom_cardinality(items), note FROM seen;
	CREATE VIEW fresh AS
		SELECT user_id, candidate
			FROM seen, bloom_exclude('{1,2,3,4}'::int[], items, bloom_add(NULL, 3)) AS candidate
			WHERE user_id < 6;
	CREATE MATERIALIZED VIEW kept AS
		SELECT user_id, '{1,2,3,4}'::bigint[] - items AS survivors, items @> 2 AS has_2,
			items | bloom_add(NULL, 1) AS more
		FROM seen WHERE user_id IN (1, 3);
	CREATE FUNCTION survivors(bigint[]) RETURNS bigint[] LANGUAGE sql
		BEGIN ATOMIC SELECT $1 - (SELECT items FROM seen WHERE user_id = 1); END;
	CREATE AGGREGATE together(bloom) (SFUNC = bloom_union, STYPE = bloom);
	CREATE DOMAIN small_filter AS bloom CHECK ((bloom_info(VALUE)).bytes < 1000);
	CREATE TABLE small (items small_filter DEFAULT bloom_new(), many bloom[]);
	INSERT INTO small (many) SELECT array_agg(items ORDER BY user_id) FROM seen;
	CREATE TABLE parts (items bloom) PARTITION BY HASH (items);
	CREATE TABLE part_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE part_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	INSERT INTO parts SELECT items FROM seen});

# All that a dump tells; newer versions write lines with a random word.
sub dump_of
{
	my ($database) = @_;
	my ($out, $error) = run_command([ 'pg_dump', '-d', $node->connstr($database) ]);

	$out =~ s/^\\(un)?restrict .*\n//mg;
	return $out;
}

my $folder = $node->basedir;
my $answers = samples::answers($node, 'origin');
my $dump = dump_of('origin');
my $others = q{SELECT (SELECT array_agg(f ORDER BY f) FROM fresh AS f),
	(SELECT array_agg(k ORDER BY user_id) FROM kept AS k),
	survivors('{1,2,3}'), (SELECT together(items) FROM seen WHERE user_id IN (1, 3)),
	(SELECT count(*) FROM part_0),
		(SELECT count(*) FROM part_1)};
my %restore = (
	plain => [ [ 'pg_dump', '-f', "$folder/plain.sql" ],
		[ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$folder/plain.sql" ] ],
	custom => [ [ 'pg_dump', '-Fc', '-f', "$folder/custom.dump" ],
		[ 'pg_restore', '--exit-on-error', "$folder/custom.dump" ] ]);

for my $way (sort keys %restore)
{
	my ($out_of, $into) = @{ $restore{$way} };
	my $database = "from_$way";

	query('postgres', qq{CREATE DATABASE $database;
		ALTER DATABASE $database SET search_path = public, "Filter tools"});
	$node->command_ok([ @$out_of, '-d', $node->connstr('origin') ], "$way: dumped");
	$node->command_ok([ @$into, '-d', $node->connstr($database) ], "$way: restored");
	is(samples::answers($node, $database), $answers, "$way: filters answer as they did");
	is(query($database, $others), query('origin', $others),
		"$way: views, functions and partitions, too");
	ok(dump_of($database) eq $dump, "$way: dumped again, all is the same");

	query($database, 'INSERT INTO exposures VALUES (1, 903), (3, 903), (78, 903)');
	is(samples::shown($node, $database, 901), 'feed 1, untracked 1',
		"$way: feeds know what was shown before");
	is(samples::shown($node, $database, 903),
		join(', ', map { ("$_ 1", "$_ 3", "$_ 78") } 'feed', 'untracked'),
		"$way: and what is shown now");
	is(query($database, 'SELECT untracked FROM feed.health'), '0',
		"$way: the trigger is where it must be");
	is(query($database, 'SELECT feed, command, problems FROM bloomexp.feeds() ORDER BY 1'),
		query('origin', 'SELECT feed, command, $${}$$ FROM bloomexp.feeds() ORDER BY 1'),
		"$way: feeds are listed, and nothing is wrong with them");
	is(query($database, q{INSERT INTO seen (user_id) VALUES (81);
		SELECT items @> 4711, known FROM seen
		WHERE user_id = 81}),
		't|1', "$way: default and generated column");
	is(sqlstate($node, $database, "UPDATE seen SET items = bloom_add(items, 13)
		WHERE note = 'small'"), '23514', "$way: check constraint");
	query($database, "CALL $_.rebuild()") for 'feed', 'untracked';
	is(samples::shown($node, $database, 903),
		join(', ', map { ("$_ 1", "$_ 3", "$_ 78") } 'feed', 'untracked'),
		"$way: filters are rebuilt");
}

# Data alone, into tables that have the trigger: it must rest, or it would add what is
# in the filters already, and the filters would find their rows taken.
query('from_custom', 'TRUNCATE seen, exposures, small, parts, feed.filters, untracked.filters');
$node->command_ok([ 'pg_restore', '--exit-on-error', '--data-only', '--disable-triggers', '-d',
	$node->connstr('from_custom'), "$folder/custom.dump" ],
	'data alone: restored');
is(samples::answers($node, 'from_custom'), $answers, 'data alone: filters answer as they did');
is(samples::shown($node, 'from_custom', 901), 'feed 1, untracked 1', 'data alone: and feeds');

# The filters need not be in the dump, as they can be built from the exposures.
query('postgres', 'CREATE DATABASE rebuilt;
	ALTER DATABASE rebuilt SET search_path = public, "Filter tools"');
$node->command_ok([ 'pg_dump', '--exclude-table-data=seen', '--exclude-table-data=*.filters', '-f',
	"$folder/rebuilt.sql", '-d', $node->connstr('origin') ], 'without filters: dumped');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$folder/rebuilt.sql", '-d',
	$node->connstr('rebuilt') ], 'without filters: restored');
is(samples::answers($node, 'rebuilt'), '', 'without filters: there are none');
is(samples::shown($node, 'rebuilt', 901), 'untracked 1',
	'without filters: a feed without triggers needs none');
query('rebuilt', 'CALL feed.rebuild()');
is(samples::shown($node, 'rebuilt', 901), 'feed 1, untracked 1', 'without filters: rebuilt');

# COPY

query('origin', 'CREATE TABLE copied (LIKE seen); ALTER TABLE copied DROP known');
for my $format ('text', 'binary', 'csv')
{
	query('origin', "COPY (SELECT user_id, items, note
		FROM seen) TO '$folder/seen.$format' (FORMAT $format);
		TRUNCATE copied; COPY copied FROM '$folder/seen.$format' (FORMAT $format)");
	is(query('origin', 'SELECT count(*), count(c.items),
		count(*) FILTER (WHERE bloom_send(s.items) IS NOT DISTINCT FROM bloom_send(c.items))
			FROM seen AS s FULL JOIN copied AS c USING (user_id)'),
		'10|9|10', "COPY as $format");
}

# A file of one filter: 19 bytes of file header, the number of columns, the length of the
# filter, the filter, and the end of the file.
query('origin', "COPY (SELECT items FROM seen WHERE user_id = 1) TO '$folder/one' (FORMAT binary);
	CREATE TABLE one (items bloom)");
my $whole = slurp_file("$folder/one");
my $length = unpack 'N', substr $whole, 21, 4;
is(length $whole, 25 + $length + 2, 'layout of the file');

# The SQLSTATE of a COPY of this file; nothing if it succeeds.
sub copy
{
	my ($format, $bytes) = @_;

	unlink "$folder/damaged";
	append_to_file("$folder/damaged", $bytes);
	return sqlstate($node, 'origin', "COPY one FROM '$folder/damaged' (FORMAT $format)");
}

sub with_filter { return substr($whole, 0, 21) . pack('N', length $_[0]) . $_[0]
	. pack 'n', 0xFFFF }

my $filter = substr $whole, 25, $length;
my @damages = (
	[ '0A000', "\x63" . substr $filter, 1 ],
	[ '22P03', substr $filter, 0, -1 ],
	[ '22P03', "$filter\0" ],
	[ '22P03', '' ],
	[ '22P03', substr $filter, 0, 10 ],
	# a bit less, so the number of set bits is wrong
	[ '22P03', substr($filter, 0, -9) . "\0" x 9 ]);
for my $damage (@damages)
{
	my ($state, $bytes) = @$damage;
	my $hex = unpack 'H*', $bytes;

	is(copy('binary', with_filter($bytes)), $state, 'COPY as binary: ' . length($bytes)
		. ' damaged bytes are refused');
	is(copy('text', "\\\\x$hex\n"), $state, 'COPY as text: the same');
}
is(copy('binary', substr $whole, 0, 100), '22P04',
	'COPY as binary: end of the file within a filter');
is(copy('text', "\\\\x" . substr(unpack('H*', $filter), 0, -1) . "\n"), '22P02',
	'COPY as text: half a byte');
is(copy('text', "\\\\x00zz\n"), '22P02', 'COPY as text: no digits');

is(query('origin', 'SELECT count(*) FROM one'), '0', 'of what was refused nothing is left');
is(copy('binary', $whole)
	. query('origin', 'SELECT count(*) FROM one JOIN seen USING (items)'), '1',
	'the undamaged file is taken');

$node->stop;
done_testing();
