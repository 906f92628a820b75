# The files of doc/watching/: every query runs as a role with the rights that
# doc/monitoring.md gives it, in a read-only transaction and with the search_path of
# CloudNativePG, on a server and on its standby; gives the columns that its metrics name,
# and the right values for filters that are known.  Both query files say the same, and
# the dashboard and the alerts ask for nothing but these metrics.

use strict;
use warnings;

use CPAN::Meta::YAML;
use FindBin;
use lib "$FindBin::RealBin/../lib";

use Documents;
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $folder = "$FindBin::RealBin/../../doc/watching";
my $guide = document("$FindBin::RealBin/../../doc/monitoring.md");
my ($role) = map { $_->{text} } grep { $_->{text} =~ /^CREATE ROLE exporter/ } blocks($guide);

# Our files need of YAML what the parser knows, and lists in brackets.
sub yaml
{
	my $text = document($_[0]) =~ s{^( *)(.*): \[([^"\]]*)\]$}{join "\n", "$1$2:", map { "$1  - $_" } split /, /, $3}mger;

	return CPAN::Meta::YAML->read_string($text)->[0];
}

my $queries = yaml("$folder/queries.yml");
my $collector = yaml("$folder/bloomexp.collector.yml");
my $alerts = yaml("$folder/alerts.yml");
my $dashboard = decode_json(slurp_file("$folder/dashboard.json"));

# The columns of a query, in order, each with what is said of it.
my (%columns, %labels, %metric);
for my $query (sort keys %$queries)
{
	for (@{ $queries->{$query}{metrics} })
	{
		my ($name, $column) = %$_;

		push @{ $columns{$query} }, $name;
		if ($column->{usage} eq 'LABEL')
		{
			push @{ $labels{$query} }, $name;
			next;
		}
		$metric{"${query}_$name"} = {
			type => lc $column->{usage}, help => $column->{description}, query_ref => $query, values => [$name],
			$labels{$query} ? (key_labels => [ @{ $labels{$query} } ]) : () };
	}
}
is(scalar keys %$queries, 4, 'queries');

#
# Filters that are known
#

my $node = PostgreSQL::Test::Cluster->new('watched');
$node->init(allows_streaming => 1, extra => [ '--encoding', 'UTF8', '--no-locale' ]);
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_prepared_transactions = 1\nTimeZone = 'Asia/Tokyo'");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION bloomexp;
	CREATE SCHEMA feed;

	-- three filters, one of which has outgrown its capacity; 10 HOT updates and 5 others
	CREATE TABLE feed.seen (user_id bigint PRIMARY KEY, items bloom, today bloom, rebuilt_at timestamptz) WITH (fillfactor = 10);
	INSERT INTO feed.seen VALUES
		(1, bloom_add(bloom_new(10), ARRAY(SELECT generate_series(1, 100))), NULL, '2026-01-03 00:00+00'),
		(2, bloom_add(bloom_new(1000, 0.001), 1), bloom_add(NULL, 2), '2026-01-02 00:00+00'),
		(3, bloom_new(1000), NULL, NULL),
		(4, NULL, NULL, '2025-01-01 00:00+00');
	DO $$ BEGIN FOR n IN 1 .. 10 LOOP UPDATE feed.seen SET rebuilt_at = rebuilt_at WHERE user_id = 1; END LOOP; END $$;
	DO $$ BEGIN FOR n IN 1 .. 5 LOOP UPDATE feed.seen SET user_id = user_id + 1 WHERE user_id > 3; END LOOP; END $$;

	CREATE TABLE parts (user_id bigint PRIMARY KEY, items bloom) PARTITION BY HASH (user_id);
	CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	INSERT INTO parts SELECT u, bloom_new() FROM generate_series(1, 20) AS u;

	-- more than are read; on 3,750 pages, of which a third are read
	CREATE TABLE many (items bloom) WITH (fillfactor = 10);
	INSERT INTO many SELECT bloom_new() FROM generate_series(1, 30000);

	CREATE TABLE secret (items bloom);
	CREATE UNLOGGED TABLE passing (items bloom);
	CREATE VIEW shown AS SELECT * FROM secret;

	CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz) PARTITION BY RANGE (shown_at);
	CREATE TABLE exposures_1 PARTITION OF exposures FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
	CREATE TABLE exposures_2 PARTITION OF exposures FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
	CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
		EXECUTE FUNCTION bloom_track('feed.seen', 'items', 'user_id', 'item_id', 'time=shown_at', 'condition=item_id > 0');
	CREATE TABLE views (user_id bigint, item_id bigint);
	CREATE TRIGGER track AFTER INSERT ON views REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
		EXECUTE FUNCTION bloom_track('parts', 'items', 'user_id', 'item_id');

	SET search_path = feed, public;} . $role . q{;
	ALTER ROLE exporter SET default_transaction_read_only = on;
	ALTER ROLE exporter SET search_path = pg_catalog, public, pg_temp;
	GRANT USAGE ON SCHEMA feed TO exporter;
	GRANT SELECT (today) ON seen TO exporter;
	GRANT SELECT (items) ON parts, many, passing TO exporter;

	-- an owner who is no superuser
	CREATE ROLE keeper;
	GRANT USAGE, CREATE ON SCHEMA public TO keeper;
	GRANT exporter TO keeper;
	ALTER TABLE parts OWNER TO keeper;
	ALTER TABLE views OWNER TO keeper});

# What the exporter gets of a query: for each row, its names without the database, and a
# value for each metric.
sub rows
{
	my ($query, $server) = (@_, $node);
	my $rows = $server->safe_psql('postgres', "SELECT coalesce(json_agg(r), '[]') FROM (" . $queries->{$query}{query} . ') AS r',
		extra_params => [ '-U', 'exporter' ]);

	return {
		map { my $row = $_; join('.', grep { defined } map { $row->{$_} } qw(schemaname relname attname)) => $row } @{ decode_json($rows) } };
}

# The row of a table, without its labels.
sub values_of
{
	my ($query, $name, @server) = @_;
	my %row = %{ rows($query, @server)->{$name} || {} };

	delete @row{ @{ $labels{$query} || [] } };
	return \%row;
}

for my $query (sort keys %$queries)
{
	my $columns = $node->safe_psql('postgres', $queries->{$query}{query} . '\gdesc', extra_params => [ '-U', 'exporter' ]);

	is_deeply([ map { /^(\w+)\|/ } split /\n/, $columns ], $columns{$query}, "$query: a metric or a label for each column, in order");
	ok($columns !~ /\|(?!name$|integer$|bigint$|double precision$)/m, "$query: names and numbers") or diag $columns;
}

$node->poll_query_until('postgres', q{SELECT n_tup_upd = 15 FROM pg_stat_user_tables WHERE relname = 'seen'});
my @sizes = sort { $a <=> $b }
  split /\n/, $node->safe_psql('postgres', 'SELECT pg_column_size(items) FROM feed.seen WHERE items IS NOT NULL');
my @rates = sort { $a <=> $b } split /\n/, $node->safe_psql('postgres', 'SELECT bloom_fpr(items) FROM feed.seen WHERE items IS NOT NULL');
my %seen = (
	readable => 1, users => 3, bytes => $sizes[0] + $sizes[1] + $sizes[2], p50_bytes => $sizes[1] + 0, p99_bytes => $sizes[2] + 0,
	over_capacity_ratio => 1 / 3, fpr_promised_ratio => 0.01, fpr_p50_ratio => $rates[1] + 0,
	fpr_p99_ratio => $rates[2] + 0, fpr_max_ratio => $rates[2] + 0, oldest_rebuild_timestamp_seconds => 1767312000);

is_deeply(values_of('bloomexp_filters', 'feed.seen.items'), \%seen, 'filters that are known');
is(values_of('bloomexp_filters', 'feed.seen.today')->{users}, 1, 'another column of the table');
is(values_of('bloomexp_filters', 'public.parts.items')->{users}, 20, 'partitions together');
is(values_of('bloomexp_filters', 'public.parts.items')->{oldest_rebuild_timestamp_seconds}, undef, 'no column for the last rebuild');
is_deeply(values_of('bloomexp_filters', 'public.secret.items'), { map({ $_ => undef } keys %seen), readable => 0 }, 'what the role may not read');
is_deeply([ sort keys %{ rows('bloomexp_filters') } ],
	[qw(feed.seen.items feed.seen.today), map { "public.$_.items" } qw(many parts passing secret)], 'columns of filters');

my %users = map { values_of('bloomexp_filters', 'public.many.items')->{users} => 1 } 1 .. 5;
cmp_ok(scalar keys %users, '>', 1, 'of a large table a sample, another one each time');
ok(!grep({ abs($_ / 30000 - 1) > 0.3 } keys %users), 'scaled up') or diag join ' ', keys %users;

my $seen = values_of('bloomexp_table', 'feed.seen');
is_deeply([ @$seen{qw(updates_total hot_updates_total live_rows)} ], [ 15, 10, 4 ], 'updates, HOT updates and rows');
is($seen->{dead_rows}, $node->safe_psql('postgres', q{SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'seen'}), 'dead rows');
is($seen->{size_bytes}, $node->safe_psql('postgres', q{SELECT pg_total_relation_size('feed.seen')}), 'bytes on disk');
is(values_of('bloomexp_table', 'public.parts')->{live_rows}, 20, 'rows of the partitions');
is(values_of('bloomexp_table', 'public.parts')->{size_bytes},
	$node->safe_psql('postgres', q{SELECT pg_total_relation_size('parts_0') + pg_total_relation_size('parts_1')}), 'bytes of the partitions');
is_deeply([ sort keys %{ rows('bloomexp_table') } ], [ 'feed.seen', map { "public.$_" } qw(many parts passing secret) ], 'tables of filters');

is_deeply(rows('bloomexp_exposures'), {
		'public.exposures' => { datname => 'postgres', schemaname => 'public', relname => 'exposures', trigger_problems => 2 },
		'public.views' => { datname => 'postgres', schemaname => 'public', relname => 'views', trigger_problems => 0 } },
	'two partitions lack the trigger');

my $wal = values_of('bloomexp_wal', '');
$node->safe_psql('postgres', 'CHECKPOINT; UPDATE many SET items = bloom_add(items, 1)');
$node->poll_query_until('postgres', "SELECT wal_fpi > $wal->{page_images_total} FROM pg_stat_wal");
cmp_ok(values_of('bloomexp_wal', '')->{bytes_total}, '>', $wal->{bytes_total} + 1e6, 'bytes of write-ahead log');

# Each right is needed; without one, other tables are still watched.
for my $right ('SELECT (items) ON feed.seen', 'SELECT (rebuilt_at) ON feed.seen', 'USAGE ON SCHEMA feed')
{
	$node->safe_psql('postgres', "REVOKE $right FROM exporter");
	is_deeply([ map { values_of('bloomexp_filters', $_)->{readable} } 'feed.seen.items', 'public.parts.items' ], [ 0, 1 ], "not readable without $right");
	$node->safe_psql('postgres', "GRANT $right TO exporter");
}

#
# Tables of others: none of their code runs as the exporter, and none of them stops what it
# sees.  Nobody but a member of the exporter's role may own what it reads.
#

my %before = map { $_ => [ sort keys %{ rows($_) } ] } keys %$queries;

sub as_stranger { $node->safe_psql('postgres', $_[0], extra_params => [ '-U', 'stranger' ]) }

$node->safe_psql('postgres', q{
	CREATE ROLE stranger LOGIN;
	CREATE ROLE staff;
	GRANT staff TO stranger, exporter;
	GRANT CREATE ON DATABASE postgres TO stranger});
as_stranger(q{
	CREATE SCHEMA s;
	CREATE FUNCTION s.run() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'code of a stranger, as % in a session of %', current_user, session_user; END $$;
	CREATE DOMAIN s.watched AS integer CHECK (s.run());

	CREATE TABLE s.policy (items public.bloom, rebuilt_at timestamptz);
	ALTER TABLE s.policy ENABLE ROW LEVEL SECURITY;
	CREATE POLICY run ON s.policy USING (s.run());
	CREATE TABLE s.shared (LIKE s.policy);
	ALTER TABLE s.shared ENABLE ROW LEVEL SECURITY;
	CREATE POLICY run ON s.shared USING (s.run());
	CREATE TABLE s.type (items public.bloom, rebuilt_at integer);
	CREATE TABLE s.locked (items public.bloom);
	CREATE TABLE s.exposures (user_id s.watched, item_id bigint);
	CREATE TABLE s.seen (user_id integer PRIMARY KEY, items public.bloom);
	CREATE TRIGGER track AFTER INSERT ON s.exposures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
		EXECUTE FUNCTION public.bloom_track('seen', 'items', 'user_id', 'item_id');

	INSERT INTO s.policy VALUES (public.bloom_new());
	INSERT INTO s.shared VALUES (public.bloom_new());
	GRANT USAGE ON SCHEMA s TO PUBLIC;
	GRANT CREATE ON SCHEMA s TO staff;
	GRANT SELECT ON ALL TABLES IN SCHEMA s TO PUBLIC;
	ALTER TABLE s.shared OWNER TO staff;
	BEGIN;
	LOCK s.locked;
	PREPARE TRANSACTION 'locked'});
for my $query (sort keys %$queries)
{
	my ($status, $out, $error) =
	  $node->psql('postgres', $queries->{$query}{query}, extra_params => [ '-U', 'exporter' ]);

	is("$status $error", '0 ', "$query: goes on beside tables of a stranger");
	is_deeply([ eval { sort keys %{ rows($query) } } ], $before{$query}, "$query: and does not show them");
}
is($node->safe_psql('postgres', "SET ROLE exporter; SELECT count(*) FROM ($queries->{bloomexp_filters}{query}) AS f WHERE relname = 'parts'"), '0',
	q{in a superuser's session, whatever its role, only superusers' tables are read});
$node->safe_psql('postgres', 'REVOKE exporter FROM keeper');
is(rows('bloomexp_filters')->{'public.parts.items'}, undef, 'nor what belongs to an owner who is not a member');
is(rows('bloomexp_exposures')->{'public.views'}, undef, 'nor its triggers');
$node->safe_psql('postgres', q{GRANT exporter TO keeper});
$node->safe_psql('postgres', q{ROLLBACK PREPARED 'locked'});

# A column that is only called so.
$node->safe_psql('postgres', q{ALTER TABLE many ADD rebuilt_at integer; GRANT SELECT (rebuilt_at) ON many TO exporter});
is(values_of('bloomexp_filters', 'public.many.items')->{readable}, 1, 'rebuilt_at of another type is not taken for a time');

$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('watched_standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
is_deeply(values_of('bloomexp_filters', 'feed.seen.items', $standby), \%seen, 'the same on a standby');
is(rows('bloomexp_filters', $standby)->{'public.passing.items'}, undef, 'which has no unlogged tables');
is(rows('bloomexp_exposures', $standby)->{'public.exposures'}{trigger_problems}, 2, 'triggers on a standby');
rows($_, $standby) for qw(bloomexp_table bloomexp_wal);
$standby->stop;
$node->stop;

#
# The files beside each other
#

is_deeply({ map { $_->{query_name} => $_->{query} } @{ $collector->{queries} } }, { map { $_ => $queries->{$_}{query} } keys %$queries },
	'both files have the same queries');
is_deeply({ map { my %metric = %$_; delete $metric{metric_name} => \%metric } @{ $collector->{metrics} } }, \%metric,
	'and the same metrics');
is_deeply([ grep { ($metric{$_}{type} eq 'counter') ne /_total$/ } keys %metric ], [], 'a counter is a total, and nothing else is');

# What an expression names: metrics; and labels, in braces, after "by" and "on", and in
# what is written of it.
my %used;
sub uses_ok
{
	my ($name, $expression, @texts) = @_;
	my @metrics = $expression =~ /\b(bloomexp_\w+)/g;
	my @asked = (
		map({ /(\w+) *=/g } $expression =~ /\{(.*?)\}/g), map({ split /, */ } $expression =~ /\b(?:by|on) \((.*?)\)/g),
		map({ /(?:\$labels\.|\{\{)(\w+)/g } @texts));

	ok(@metrics && !grep({ !$metric{$_} } @metrics), "$name: metrics of the queries") or diag "@metrics";
	for my $metric (grep { $metric{$_} } @metrics)
	{
		my %known = map { $_ => 1 } 'instance', @{ $metric{$metric}{key_labels} || [] };

		ok(!grep({ !$known{$_} } @asked), "$name: labels that $metric has") or diag "@asked";
		$used{$metric} = 1;
	}
}

my @expressions;
for my $panel (@{ $dashboard->{panels} })
{
	for (@{ $panel->{targets} })
	{
		uses_ok($panel->{title}, $_->{expr}, $_->{legendFormat});
		push @expressions, $_->{expr} =~ s/\$(?:instance|relname)/.+/gr;
	}
	is($panel->{datasource}{uid}, '${datasource}', "$panel->{title}: the data source is chosen");
}
for (grep { $_->{type} eq 'query' } @{ $dashboard->{templating}{list} })
{
	# label_values(metric, label)
	uses_ok("variable $_->{name}", $_->{query}{query} =~ s/, (\w+)\)$/ by ($1)/r);
}

my @rules = @{ $alerts->{groups}[0]{rules} };
uses_ok($_->{alert}, $_->{expr}, values %{ $_->{annotations} }) for @rules;
is_deeply([ sort keys %used ], [ sort keys %metric ], 'each metric is shown');

ok(index($guide, "`$_->{alert}`") > 0, "the guide has $_->{alert}") for @rules;

SKIP:
{
	my ($promtool) = grep { -x } map { "$_/promtool" } split /:/, $ENV{PATH};
	skip 'promtool is not installed (Debian: prometheus)', 2 unless $promtool;

	my $file = PostgreSQL::Test::Utils::tempdir() . '/rules.yml';
	my $number = 0;
	append_to_file($file, "groups:\n- name: panels\n  rules:\n");
	append_to_file($file, '  - record: panel_' . $number++ . "\n    expr: |\n      $_\n") for @expressions;
	command_ok([ $promtool, 'check', 'rules', $file ], 'expressions of the panels');
	command_ok([ $promtool, 'test', 'rules', "$FindBin::RealBin/alerts.yml" ], 'alerts fire beyond their thresholds, and not before');
}

done_testing();
