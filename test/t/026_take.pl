# Many sessions take for a few users, or for one, with an exact log of what each got: no item twice for
# a user, none that the filter does not contain afterwards, and of those that were free
# nearly all.  For plain filters, windows and live columns, under READ COMMITTED, where
# they wait, and REPEATABLE READ, where some fail.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $patience = $PostgreSQL::Test::Utils::timeout_default || 180;
my $calls = $ENV{BLOOMEXP_LONG} ? 20000 : 120;		# of each of 8 clients

my $node = PostgreSQL::Test::Cluster->new('take');
$node->init(extra => [ '--encoding', 'UTF8', '--no-locale' ]);
$node->start;

sub query { return $node->safe_psql('postgres', $_[0], timeout => $patience) }

query(q{
	CREATE EXTENSION bloomexp;
	CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz);
	CREATE TABLE log (form text, user_id bigint, item_id bigint);
	CREATE TABLE plain (user_id bigint PRIMARY KEY, items bloom);
	CREATE TABLE crowded (user_id bigint PRIMARY KEY, items bloom);
	CREATE TABLE windowed (user_id bigint PRIMARY KEY, items bloom);
	CREATE TABLE live (user_id bigint PRIMARY KEY, items bloom, today bloom);
	CREATE TRIGGER track_windowed AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
		FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('windowed', 'items', 'user_id', 'item_id', 'time=shown_at', 'slices=6');
	CREATE TRIGGER track_live AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
		FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('live', 'items', 'user_id', 'item_id', 'time=shown_at', 'live=today');});

# New users come in as the run goes on, so that some calls race for a user's first row.
sub run_clients
{
	my ($form, $isolation, $users, $range, @options) = @_;
	my $script = $node->basedir . "/$form.sql";

	append_to_file($script, "
\\set user random(1, :users)
\\set newcomer random(1, 3)
\\set first random(1, :range)
\\if :newcomer = 1 and :users > 1
SELECT 11 + count(*) / 40 AS user FROM log WHERE form = '$form'
\\gset
\\endif
BEGIN ISOLATION LEVEL $isolation;
INSERT INTO log SELECT '$form', :user, unnest(bloom_take('$form', :user, ARRAY(SELECT generate_series(:first::bigint, :first + 300)), 10));
COMMIT;
");
	my ($stdout, $stderr) = run_command([ 'pgbench', '-n', '-c', '8', '-j', '2', '-M', 'prepared', '-t', $calls, '-D', "users=$users", '-D', "range=$range", @options,
			'-f', $script, $node->connstr('postgres') ]);

	unlike($stderr, qr/ERROR|FATAL|aborted|PANIC/, "$form, $isolation: no error");
	unlink $script;
	return $stdout;
}

for my $form ('plain', 'windowed', 'live')
{
	my $filters = $form eq 'live' ? 'f.items, f.today' : 'f.items, NULL';

	for my $isolation ('READ COMMITTED', 'REPEATABLE READ')
	{
		# (pgbench repeats what fails to serialize from PostgreSQL 15 on)
		my @options = $isolation eq 'REPEATABLE READ' ? ('--max-tries=1000') : ();
		my $stdout = run_clients($form, $isolation, 10, 3000, @options);

		like($stdout, qr/number of transactions actually processed: @{[ 8 * $calls ]}/, "$form, $isolation: all were processed");
	}
	is(query("SELECT count(*) FROM (SELECT FROM log WHERE form = '$form' GROUP BY user_id, item_id HAVING count(*) > 1) AS twice"),
		'0', "$form: no item twice for a user");
	is(query("SELECT count(*) FROM (SELECT user_id, array_agg(item_id) AS items FROM log WHERE form = '$form' GROUP BY user_id) AS l
			LEFT JOIN $form AS f USING (user_id) WHERE ARRAY(SELECT bloom_exclude(l.items, $filters)) <> '{}'"),
		'0', "$form: everything taken is remembered");
	note query("SELECT format('%s items of %s users', count(*), count(DISTINCT user_id)) FROM log WHERE form = '$form'");

	# What is left over for a user who asks for everything is what the log lacks, but for
	# false positives.
	my $lost = query("
		WITH taken AS (SELECT user_id, bloom_take('$form', user_id, ARRAY(SELECT generate_series(1::bigint, 3300))) AS rest
			FROM (SELECT DISTINCT user_id FROM log WHERE form = '$form') AS u)
		SELECT 1 - sum(cardinality(rest)) / sum(3300 - (SELECT count(*) FROM log AS l WHERE l.form = '$form' AND l.user_id = taken.user_id))
		FROM taken");
	cmp_ok($lost, '<', 0.02, "$form: what nobody took is there");
	cmp_ok($lost, '>=', 0, "$form: and nothing more");
}

# All clients for one user: what a call has read has nearly always changed when it writes.
run_clients('crowded', 'READ COMMITTED', 1, 1000000);
is(query("SELECT count(*), count(DISTINCT item_id) = count(*) FROM log WHERE form = 'crowded'"), 80 * $calls . '|t', 'one user: all were served, and nothing twice');
is(query("SELECT count(*) FROM log, crowded WHERE form = 'crowded' AND NOT items @> item_id"), '0', 'one user: everything taken is remembered');

#
# Whoever chooses ids can choose those whose hashes have the same lower half.
#

# Arithmetic modulo 2^64.
no warnings 'portable';
sub product { use integer; return $_[0] * $_[1] }
sub minus { use integer; return $_[0] - $_[1] }
sub rotate_right { return $_[0] >> $_[1] | $_[0] << 64 - $_[1] }

# What gives 1 with an odd number.
sub inverse
{
	my ($number) = @_;
	my $inverse = $number;

	$inverse = product($inverse, minus(2, product($number, $inverse))) for 1 .. 6;
	return $inverse;
}

my ($undo1, $undo2) = map { inverse($_) } 0x87c37b91114253d5, 0x4cf5ad432745937f;
my @undo_avalanche = map { inverse($_) } 0xc4ceb9fe1a85ec53, 0xff51afd7ed558ccd;
my $fifth = inverse(5);

sub before_avalanche
{
	my ($lane) = @_;

	$lane = product($lane ^ $lane >> 33, $_) for @undo_avalanche;
	return $lane ^ $lane >> 33;
}

# The uuid of a hash, another one for each part: murmur3 of 16 bytes, step by step backwards.
sub uuid_of
{
	my ($hash, $part) = @_;
	my $sum2 = before_avalanche($part);
	my $sum1 = before_avalanche(minus($hash, $part));
	my $lane1 = minus($sum1, minus($sum2, $sum1)) ^ 16;
	my $lane2 = minus($sum2, $sum1) ^ 16;
	my $mixed1 = rotate_right(product(minus($lane1, 0x52dce729), $fifth), 27);
	my $mixed2 = rotate_right(minus(product(minus($lane2, 0x38495ab5), $fifth), $lane1), 31);

	return unpack 'H*', pack 'Q<2', product(rotate_right(product($mixed1, $undo2), 31), $undo1),
		product(rotate_right(product($mixed2, $undo1), 33), $undo2);
}

my $list = $node->basedir . '/crafted';
append_to_file($list, join '', map { uuid_of($_ << 32 | 7, $_) . "\n" } 1 .. 20000);
query(qq{
	CREATE TABLE by_uuid (user_id bigint PRIMARY KEY, items bloom);
	CREATE TABLE candidates (crafted uuid);
	COPY candidates FROM '$list'});

# The least of three times, in milliseconds, in which 20,000 candidates are taken.
sub time_of
{
	my ($candidates) = @_;

	return query(qq{
		CREATE FUNCTION pg_temp.take_all() RETURNS double precision LANGUAGE plpgsql AS \$\$
		DECLARE
			candidates uuid[] := ARRAY(SELECT $candidates FROM candidates);
			began timestamptz;
			least_time interval;
		BEGIN
			FOR i IN 1 .. 3 LOOP
				began := clock_timestamp();
				IF cardinality(bloom_take('by_uuid', i, candidates)) < 19000 THEN
					RAISE 'too few';
				END IF;
				least_time := least(least_time, clock_timestamp() - began);
			END LOOP;
			RETURN 1000 * extract(epoch FROM least_time);
		END
		\$\$;
		BEGIN;
		SELECT pg_temp.take_all();
		ROLLBACK});
}

my ($random, $crafted) = map { time_of($_) } 'gen_random_uuid()', 'crafted';
cmp_ok($crafted, '<', 6 * $random + 50, 'ids of which the hashes have the same lower half take no longer') or diag "$crafted ms, not $random";

$node->stop;
done_testing();
