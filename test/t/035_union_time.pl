# The time of bloom_union_agg() is linear in the number of filters in a group, whether their
# layers stand side by side because their shapes differ or because they are full, and in
# that of groups: for eight times as many it is far from 64 times as long.  CPU time, so
# that the machine may have other work.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'this system has no /proc' unless -r '/proc/self/stat';

my $node = PostgreSQL::Test::Cluster->new('union');
$node->init;
$node->append_conf('postgresql.conf', 'max_parallel_workers_per_gather = 0');
$node->start;

# No two of these filters can be merged.  A round has as many filters in small groups as in
# large ones, so both take as long if the time is linear; otherwise large ones take eight
# times as long.
$node->safe_psql('postgres', slurp_file("$FindBin::RealBin/../lib/cpu.sql") . q{
CREATE EXTENSION bloomexp;
CREATE TABLE unlike AS SELECT n, bloom_new(100 + n / 2 * 5, CASE n % 2 WHEN 0 THEN 0.0001 ELSE 0.001 END) AS f FROM generate_series(1, 4000) n;
CREATE TABLE alike AS SELECT n, bloom_agg(n * 1000 + i) AS f FROM generate_series(1, 2000) n, generate_series(1, 500) i GROUP BY n;
CREATE TABLE pairs AS SELECT n, n / 16 AS pair, bloom_new(CASE n / 8 % 2 WHEN 0 THEN 10 ELSE 20 END) AS f FROM generate_series(1, 32000) n;
CREATE TABLE fewer AS SELECT * FROM alike WHERE n <= 800;
CREATE FUNCTION one_after_another(filters bloom[]) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
	f bloom;
	united bytea;
BEGIN
	FOREACH f IN ARRAY filters LOOP
		united := bloom_union(united::bloom, f)::bytea;
	END LOOP;
	RETURN united;
END $$;
CREATE FUNCTION is_linear(statement text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	small bigint := 0;
	large bigint := 0;
	began bigint;
	half_time bigint;
BEGIN
	WHILE small < 20 LOOP
		began := cpu();
		FOR i IN 1 .. 8 LOOP
			EXECUTE format(statement, 'WHERE n % 8 = 0');
		END LOOP;
		half_time := cpu();
		EXECUTE format(statement, '');
		small := small + half_time - began;
		large := large + cpu() - half_time;
	END LOOP;
	RAISE WARNING '% and % hundredths of a second: %', small, large, statement;
	RETURN large < 5 * small;
END $$;
});

sub is_linear
{
	my ($statement, $expected, $name) = @_;

	$node->psql('postgres', "SET enable_sort = off; SET work_mem = '256MB'; SELECT is_linear('$statement')",
		stdout => \my $linear, stderr => \my $times);
	is($linear, $expected, $name) or diag $times;
	note $times;
}

is_linear('SELECT bloom_union_agg(f) FROM unlike %s', 't', 'filters of different shapes');
is_linear('SELECT bloom_union_agg(f) FROM alike %s', 't', 'full filters');
is_linear('SELECT bloom_union_agg(f) FROM pairs %s GROUP BY n %% 8, pair', 't', 'groups');
is_linear('SELECT one_after_another(array_agg(f)) FROM fewer %s', 'f', 'one after another it would not be');

$node->stop;
done_testing();
