# Flat writes: with a live column an add writes as much whatever the large filter has, and
# stays on its page, with the storage settings that doc/storage.md advises; with another
# one it does not.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $users = 30;

my $node = PostgreSQL::Test::Cluster->new('flat');
$node->init;
# What is measured is one session's log, so nobody else may write.
$node->append_conf('postgresql.conf', "autovacuum = off\nfull_page_writes = off\ncheckpoint_timeout = 1h");
$node->start;

sub query { return $node->safe_psql('postgres', $_[0]) }

query(q{
	CREATE EXTENSION bloomexp;
	CREATE TABLE adds (bytes numeric, same_page boolean);

	-- A day: ten times ten items for each user, users mixed.  An update on the same page is
	-- HOT, because no index has what changes.
	CREATE PROCEDURE take_all(filters regclass, users integer) LANGUAGE plpgsql AS $$
	DECLARE
		before pg_lsn;
		page_before text;
		page_after text;
	BEGIN
		FOR nth IN 1 .. 10 * users LOOP
			EXECUTE format('SELECT split_part(ctid::text, '','', 1) FROM %s WHERE user_id = $1', filters) INTO page_before USING nth * 7 % users + 1;
			before := pg_current_wal_insert_lsn();
			PERFORM bloom_take(filters, nth * 7 % users + 1, ARRAY(SELECT 10 * nth + generate_series(1, 10)) );
			COMMIT;
			INSERT INTO adds SELECT pg_current_wal_insert_lsn() - before;
			EXECUTE format('SELECT split_part(ctid::text, '','', 1) FROM %s WHERE user_id = $1', filters) INTO page_after USING nth * 7 % users + 1;
			UPDATE adds SET same_page = page_before = page_after WHERE same_page IS NULL;
			COMMIT;
		END LOOP;
	END
	$$;});

# The median of bytes an add, and the percentage of those that stayed on their page, after
# a day, a rebuild, and another one.
sub measure
{
	my ($items, $columns, $options, @arguments) = @_;
	my $arguments = join '', map { ", '$_'" } @arguments;

	query("
		DROP TABLE IF EXISTS exposures, seen;
		CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz);
		CREATE INDEX ON exposures (user_id, shown_at, item_id);
		CREATE TABLE seen (user_id bigint PRIMARY KEY, $columns) WITH ($options);
		INSERT INTO exposures SELECT u, -n, now() FROM generate_series(1, $users) AS u, generate_series(1, $items) AS n;
		CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
			FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at'$arguments);
		ANALYZE exposures");
	for my $day (1, 2)
	{
		query($_) for ("CALL bloom_rebuild('seen')", 'VACUUM seen', 'TRUNCATE adds', "CALL take_all('seen', $users)");
	}
	return split /\|/, query(
		'SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY bytes)::numeric), round(100 * avg(same_page::integer)) FROM adds');
}

my ($two, @live) = ('items bloom, today bloom', 'live=today');
my %bytes;

for my $items (300, 1000, 3000)
{
	($bytes{$items}, my $same) = measure($items, $two, 'fillfactor = 70', @live);
	cmp_ok($bytes{$items}, '<=', 500, "$items items, two columns: bytes of WAL an add of ten");
	cmp_ok($same, '>=', 95, "$items items, two columns: HOT, %");
}
cmp_ok(abs($bytes{3000} - $bytes{300}), '<=', 100, 'ten times the items cost no more than another record');

my ($one) = measure(3000, 'items bloom', 'fillfactor = 50');
cmp_ok($one, '>=', 10 * $bytes{3000}, 'one column of 3,000 items: ten times as much');

my ($large, $same) = measure(3000, $two, 'fillfactor = 70, toast_tuple_target = 8160', @live);
cmp_ok($large, '>=', 4000, 'a large filter kept in its row: no longer flat');
cmp_ok($same, '<=', 10, '... and no longer HOT');

done_testing();
