# doc/scale-out.md without Citus: filters in hash partitions, and on other servers behind
# postgres_fdw.  The statements of the document run, in order; what stands below
# them is their output, and what a comment says of their plan is so.  Filters and
# survivors are those of plain tables.

use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::RealBin/../lib";

use Documents;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $patience = $PostgreSQL::Test::Utils::timeout_default || 180;
my @blocks = grep { $_->{language} eq 'sql' } blocks(document("$FindBin::RealBin/../../doc/scale-out.md"));
my $folder = PostgreSQL::Test::Utils::tempdir;

my $node = PostgreSQL::Test::Cluster->new('scale_out');
$node->init(extra => [ '--encoding', 'UTF8', '--no-locale' ]);
$node->start;

sub query
{
	my ($database, $statement) = @_;

	return $node->safe_psql($database, $statement, timeout => $patience);
}

# What comments of the document claim, and how it shows in a plan.
my %claims = (
	'one partition' => sub { my %read = map { $_ => 1 } $_[0] =~ /\bseen_\d\b(?!_)/g; return keys %read == 1 },
	# functions and operators of ours are in statements for the other servers only, or nowhere in them
	'there' => sub { my ($remote, $local) = sides($_[0]); return $remote =~ /bloom_\w+\(|@>/ && $local !~ /bloom_\w+\(|@>/ },
	'here' => sub { my ($remote, $local) = sides($_[0]); return $remote !~ /bloom_\w+\(|-/ && ($remote =~ tr/\n//) == 1 });

sub sides
{
	my @lines = split /\n/, $_[0];

	return map { join '', map { "$_\n" } @$_ } [ grep { /Remote SQL:/ } @lines ], [ grep { !/Remote SQL:/ } @lines ];
}

# Run a block of the document in some databases.
sub run_block
{
	my ($block, $text, @databases) = @_;

	for my $database (@databases)
	{
		my $name = "doc/scale-out.md line $block->{line}, $database";
		my ($script, @said) = explained($text, join('|', sort keys %claims), $folder);
		my ($stdout, $stderr);

		$node->psql($database, $script, stdout => \$stdout, stderr => \$stderr, on_error_die => 0, timeout => $patience,
			extra_params => [ '-P', 'format=aligned', '-P', 'tuples_only=off' ]);
		$stderr =~ s/^psql:<stdin>:\d+: //mg;
		$stderr =~ s/^NOTICE: .*\n?//mg;
		if (($block->{output} // '') =~ /^ERROR: /)
		{
			is(visible($stderr), $block->{output}, "$name: error");
		}
		else
		{
			is(visible($stderr), '', "$name: no error");
			is(visible($stdout), $block->{output} // '', "$name: output");
		}
		for my $i (0 .. $#said)
		{
			my $plan = document("$folder/plan$i");

			ok($claims{ $said[$i] }->($plan), "$name: $said[$i]") or diag $plan;
		}
	}
}

# The same exposures and candidates in plain tables, and filters as the rebuild
# makes them; then users whose filters are not the same bytes, and survivors that
# are not the same.
my $plain = q{
	DROP SCHEMA IF EXISTS plain CASCADE;
	CREATE SCHEMA plain;
	CREATE TABLE plain.exposures AS SELECT * FROM public.exposures;
	CREATE TABLE plain.seen AS SELECT user_id, bloom_agg(item_id, 0.01, 0.2) AS items FROM plain.exposures GROUP BY user_id;
	CREATE TABLE plain.recall AS
	SELECT user_id, ARRAY(SELECT user_id * 1000 + 3 * n FROM generate_series(1, 300) AS n) AS candidates
	FROM generate_series(1::bigint, 250) AS user_id};
my $unlike = q{SELECT
	(SELECT count(*) FROM public.seen AS f FULL JOIN plain.seen AS p USING (user_id) WHERE f.items IS DISTINCT FROM p.items),
	(SELECT count(*) FROM plain.recall AS r LEFT JOIN public.seen AS f USING (user_id) LEFT JOIN plain.seen AS p USING (user_id)
	 WHERE r.candidates - f.items IS DISTINCT FROM r.candidates - p.items),
	(SELECT sum(cardinality(r.candidates - p.items)) BETWEEN 66000 AND 68400 FROM plain.recall AS r LEFT JOIN plain.seen AS p USING (user_id))};

#
# Partitions
#

query('postgres', 'CREATE DATABASE partitions');
for my $block (grep { $_->{chapter} =~ /^Partitions/ } @blocks)
{
	run_block($block, $block->{text}, 'partitions');
}
query('partitions', $plain);
query('partitions', q{UPDATE seen SET items = bloom_new() WHERE user_id % 3 = 0; DELETE FROM seen WHERE user_id % 3 = 1});
isnt(query('partitions', $unlike), '0|0|t', 'partitions, before a rebuild');
query('partitions', q{CALL bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at')});
is(query('partitions', $unlike), '0|0|t', 'partitions, rebuilt together: filters and survivors of plain tables');

#
# Other servers: databases of this one
#

SKIP:
{
	skip 'no postgres_fdw', 1
	  if query('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'}) eq '0';

	my @servers = ('server0', 'server1');
	my ($host, $port) = ($node->host, $node->port);

	query('postgres', "CREATE DATABASE $_") for @servers, 'application';
	for my $block (grep { $_->{chapter} =~ /^Filters on other servers/ } @blocks)
	{
		run_block($block, $block->{text} =~ s/host '(\w+)', dbname 'feed'/host '$host', port '$port', dbname '$1'/gr,
			$block->{text} =~ /^-- on each server/ ? @servers : 'application');
	}

	cmp_ok(query($_, 'SELECT count(*) FROM seen'), '>', 50, "filters on $_") for @servers;
	query($_, q{CALL bloom_rebuild('seen')}) for @servers;
	query('application', $plain);
	is(query('application', $unlike), '0|0|t', 'other servers: filters and survivors of plain tables');

	# all candidates of all users, joined there
	query('application', q{INSERT INTO candidates SELECT user_id, unnest(candidates) FROM plain.recall WHERE user_id > 43});
	my $survivors = q{SELECT md5(string_agg(concat_ws(' ', user_id, item_id), ',' ORDER BY user_id, item_id)), count(*)
		FROM candidates LEFT JOIN %s.seen AS f USING (user_id) WHERE NOT f.items @> item_id};
	is(query('application', 'SET enable_partitionwise_join = on; ' . sprintf($survivors, 'public')),
		query('application', sprintf($survivors, 'plain')), 'and those of candidates that were joined there');

	# a row that another session changes: an error, and nothing lost when repeated
	my ($server) = grep { query($_, 'SELECT count(*) FROM seen WHERE user_id = 42') eq '1' } @servers;
	my %adds = (
		'UPDATE' => 'UPDATE seen SET items = bloom_add(items, 9001) WHERE user_id = 42',
		'INSERT' => 'INSERT INTO exposures VALUES (42, 9001, now())');
	for my $add (sort keys %adds)
	{
		my ($in, $out, $errors) = ('', '', '');
		my $other = IPC::Run::start([ 'psql', '-XAtq', '-f', '-', '-d', $node->connstr($server) ],
			'<', \$in, '>', \$out, '2>', \$errors, IPC::Run::timeout($patience));

		query($server, 'UPDATE seen SET items = NULL WHERE user_id = 42');
		$in = "BEGIN; UPDATE seen SET items = bloom_add(items, 9000) WHERE user_id = 42;\n\\echo added\n";
		$other->pump until $out =~ /added/;
		my ($app_in, $app_out, $app_errors) = ("$adds{$add};\n", '', '');
		my $application = IPC::Run::start([ 'psql', '-XAtq', '-f', '-', '-d', $node->connstr('application') ],
			'<', \$app_in, '>', \$app_out, '2>', \$app_errors, IPC::Run::timeout($patience));
		$application->pump_nb;
		ok($node->poll_query_until($server,
				"SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = '$server' AND wait_event_type = 'Lock'"),
			"$add waits for another session");
		$in .= "COMMIT;\n\\q\n";
		$other->finish;
		$application->finish;
		like($app_errors, qr/could not serialize access due to concurrent update/, "$add: an error");
		query('application', $adds{$add});
		is(query('application', "SELECT bloom_contains_each(items, '{9000,9001}'::bigint[]) FROM seen WHERE user_id = 42"),
			'{t,t}', "$add: nothing is lost");
	}
}

$node->stop;
done_testing();
