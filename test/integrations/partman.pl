# doc/integrations.md under pg_partman, where it is installed: its statements, and then
# days of writing through the table and straight into partitions, while maintenance
# makes and drops partitions and the filters are rebuilt.  A log beside the exposures
# has what must be in the filters.  Then what the document warns of.

use Documents;
use Server;

my $sharedir = `$ENV{PG_CONFIG} --sharedir`;
chomp $sharedir;
plan skip_all => 'pg_partman is not installed (Debian: postgresql-N-partman)'
  unless -e "$sharedir/extension/pg_partman.control";

my $days = 6;

my $node = start_server('partman', "deadlock_timeout = 100ms\nmax_locks_per_transaction = 256");

sub query { return $node->safe_psql('postgres', $_[0], timeout => $patience) }

# The document

my $file = 'doc/integrations.md';
my @blocks = grep { $_->{chapter} eq 'pg_partman' } blocks(document("$root/$file"));
my ($version) = query("SELECT default_version FROM pg_available_extensions
	WHERE name = 'pg_partman'") =~ /^(\d+)/;

$blocks[0]{text} =~ s/'native', 'daily'/'1 day'/g or die 'create_parent()' if $version >= 5;
statements_ok($node, 'postgres', $file, @blocks);
my $untracked = 'SELECT untracked FROM shown.health';
my ($equip) = statements(document("$root/doc/feed-over-a-table.md"), 'Change a feed');
# From noon on, the maintenance of 4.7 has made a partition.
query($equip);
is(query($untracked), 0, 'every partition has the trigger');

# Days.  The clock is a table, because retention can be given the time; a rebuild takes the
# real one, so exposures of later days are in the future for it, which counts.  pg_partman
# makes partitions ahead of what the table has: one a day, but 4.7 rounds how far ahead it
# is, and so has made the first day's already from noon on.

query(q{
	UPDATE partman.part_config SET infinite_time_partitions = false, retention = '45 days';
	SELECT partman.create_partition_time('public.exposures',
		ARRAY(SELECT generate_series(current_date - 55, current_date - 5,
			interval '1 day')::timestamptz));
	CREATE TABLE clock AS SELECT 0 AS day;
	CREATE FUNCTION today() RETURNS timestamptz LANGUAGE sql STABLE
		AS $$SELECT now() + day * interval '1 day'
		FROM clock$$;
	CREATE TABLE log (user_id bigint, item_id bigint, shown_at timestamptz);
	CREATE PROCEDURE expose(u bigint, i bigint, n integer, straight boolean) LANGUAGE plpgsql AS $$
	DECLARE
		at timestamptz := today();
		relation text := 'exposures';
	BEGIN
		IF straight THEN
			BEGIN
				SELECT format('%I.%I', partition_schema, partition_table) INTO relation
				FROM partman.show_partition_name('public.exposures', at::text);
			EXCEPTION WHEN internal_error THEN
				-- 5.0 opens all partitions, also one that has just been dropped: then insert
				-- through the table.
			END;
		END IF;
		EXECUTE format('INSERT INTO %s SELECT $1, $2 + k, $3 FROM generate_series(1, $4) AS k',
			relation) USING u, i, at, n;
		INSERT INTO log SELECT u, i + k, at FROM generate_series(1, n) AS k;
	END
	$$;
	INSERT INTO log SELECT u, u * 10000 + n, now() - n * interval '3 hours'
		FROM generate_series(1, 40) AS u, generate_series(0, 399) AS n;
	INSERT INTO exposures SELECT * FROM log});
cmp_ok(query($untracked), '>', 30, 'new partitions have no trigger');
query($equip);

# Of the exposures that the log has in the window, those that the feed does not have.
sub missing { return query(q{SELECT sum(cardinality(shown.unseen(user_id, items)))
	FROM (SELECT user_id, array_agg(item_id) AS items FROM log
		WHERE shown_at >= now() - interval '30 days' GROUP BY user_id) AS l}) }

my $partitions = "SELECT array_agg(inhrelid) FROM pg_inherits
	WHERE inhparent = 'exposures'::regclass";

append_to_file($node->basedir . '/write.sql', q{
\set user random(1, 60)
\set item random(1000000, 9000000)
CALL expose(:user, :item, 10, :item % 2 = 0);
});
my $writers = IPC::Run::start([ 'pgbench', '-n', '-c', '3', '-R', '200', '-T', 6 * $patience,
		'--max-tries=1000', '-f', $node->basedir . '/write.sql', $node->connstr('postgres') ],
	'>', \my $output, '2>&1', IPC::Run::timeout(6 * $patience));

my ($wrong, $made, $dropped) = ('', 0, 0);
for my $day (1 .. $days)
{
	query("UPDATE clock SET day = $day");
	$node->poll_query_until('postgres', "SELECT count(*) > 400 FROM log
		WHERE item_id > 1000000 AND shown_at > today() - interval '12 hours'") or die 'no writers';
	my $before = query($partitions);
	query('CALL partman.run_maintenance_proc()');
	my $new = query("SELECT cardinality(($partitions AND inhrelid <> ALL ('$before')))") || 0;
	my $lacking = query($untracked);
	$wrong .= "day $day: $lacking of $new new partitions have no trigger\n" unless $lacking == $new;
	$made += $new;
	query($equip);
	$wrong .= "day $day: a partition has no trigger\n" if query($untracked);
	$dropped += query("SELECT partman.drop_partition_time('public.exposures',
		p_reference_timestamp => today())");
	query('CALL shown.rebuild()');
	my $missing = missing();
	$wrong .= "day $day: missing: $missing\n" if $missing;
}
my $writing = $node->poll_query_until('postgres', "SELECT count(*) = 3 FROM pg_stat_activity
	WHERE query LIKE 'CALL expose%'");
# Not by INT: what a shell starts in the background ignores it, and so does pgbench then.
$writers->signal('TERM');
$writers->finish;
ok($writing, 'no writer failed') or diag($output);

is($wrong, '', 'new partitions got the trigger every day, and nothing was missing');
cmp_ok($made, '>=', $days - 1, 'there were new partitions');
# It is one more if midnight has passed meanwhile.
cmp_ok($dropped, '>=', $days, 'a partition was dropped a day');
is(missing(), 0, 'nothing is missing at the end');
is(query("SELECT (SELECT count(*) FROM exposures_default),
	min(shown_at) > today() - interval '47 days'
	FROM exposures"), '0|t',
	'no exposure is in the default partition, and old ones are gone');
cmp_ok(query("SELECT avg(shown.contains(user_id, item_id)::int) FROM log
	WHERE shown_at < now() - interval '31 days'"),
	'<', 0.03, 'and forgotten');
cmp_ok(query("SELECT count(*) FROM log WHERE item_id > 1000000 AND item_id % 2 = 0"), '>', 1000,
	'there was something to lose');

# What the document warns of

# Return how many of ten items, from a given one on, the feed has for user 7.
sub has
{
	return query("SELECT 10 - cardinality(shown.unseen(7,
		ARRAY(SELECT generate_series($_[0], $_[0] + 9))))");
}

query("UPDATE clock SET day = $days - 1");
my $relation = query("SELECT format('%I', partition_table)
	FROM partman.show_partition_name('public.exposures', today()::text)");
query("DROP TRIGGER insert_shown ON $relation; DROP TRIGGER update_shown ON $relation;
	CALL expose(7, 100, 10, false); CALL expose(7, 200, 10, true)");
is(has(101), 10, 'without a trigger on the partition: through the table');
cmp_ok(has(201), '<', 5, 'straight into it');
query('CALL shown.rebuild()');
is(has(201), 10, 'the rebuild brings it in');
query($equip);

# tables that are kept
query(q{
	UPDATE partman.part_config SET retention = '33 days', retention_keep_table = true;
	SELECT partman.drop_partition_time('public.exposures')});
my $detached = query(q{SELECT tgrelid::regclass FROM pg_trigger
	JOIN pg_class AS c ON c.oid = tgrelid
	WHERE tgname = 'insert_shown' AND relkind = 'r' AND NOT relispartition LIMIT 1});
query('CALL shown.rebuild()');
is(missing(), 0, 'with tables that were kept nothing is missing');
is(query($untracked), 0, 'nor a trigger');
query("INSERT INTO $detached SELECT 7, i, now() FROM generate_series(401, 410) AS i");
is(has(401), 10, 'and they still feed the filters');

# rows without a partition
sub default_and_filter { return query('SELECT count(*) FROM exposures_default') . ' ' . has(301) }

query("INSERT INTO exposures SELECT 7, i, now() + interval '300 days'
	FROM generate_series(301, 310) AS i");
is(default_and_filter(), '10 10', 'there is no partition, but the filter has them');
query("CALL partman.partition_data_proc('public.exposures')");
is(default_and_filter(), '0 10', 'they were moved, and the filter still has them');
query('CALL shown.rebuild()');
is(has(301), 10, 'after a rebuild, too');

# a retention that is too short
is(query(q{SELECT bool_and(shown.contains(u, u * 10000 + 160)) FROM generate_series(1, 40) AS u}),
	't', 'twenty days ago');
query(q{
	UPDATE partman.part_config SET retention = '10 days', retention_keep_table = false;
	SELECT partman.drop_partition_time('public.exposures')});
query('CALL shown.rebuild()');
cmp_ok(query(q{SELECT avg(shown.contains(u, u * 10000 + 160)::int)
	FROM generate_series(1, 40) AS u}), '<', 0.2,
	'forgotten within the window');

$node->stop;
done_testing();
