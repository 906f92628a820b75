# The files of doc/watching/: every query runs as a role with the rights that
# its README gives it, in a read-only transaction and with the search_path of
# CloudNativePG, on a server and on its standby; gives the columns that its metrics name,
# and the right values for filters that are known.  Both query files say the same, and
# the dashboard and the alerts ask for nothing but these metrics.

use CPAN::Meta::YAML;
use Documents;
use JSON::PP;
use Server;

my $folder = "$root/doc/watching";
my $guide = document("$folder/README.md") . document("$root/doc/operate.md");
my ($role) = map { $_->{text} } grep { $_->{text} =~ /^CREATE ROLE exporter/ } blocks($guide);
$role =~ s/\s+\z//;
$role =~ s/\bshown\b/seen/g;

# Of the YAML in our files, the parser lacks only lists in brackets.
sub yaml
{
	my $text = document($_[0]) =~ s{^( *)(.*): \[([^"\]]*)\]$}{
		join "\n", "$1$2:", map { "$1  - $_" } split /, /, $3}mger;

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
			type => lc $column->{usage}, help => $column->{description}, query_ref => $query,
				values => [$name],
			$labels{$query} ? (key_labels => [ @{ $labels{$query} } ]) : () };
	}
}

# Feeds that are known

my $node = start_server('watched',
	"autovacuum = off\nmax_prepared_transactions = 1\nTimeZone = 'Asia/Tokyo'",
	allows_streaming => 1);
$node->safe_psql('postgres', q{
	CREATE EXTENSION bloomexp;
	CREATE TABLE exposures (user_id bigint, item_id bigint,
		shown_at timestamptz DEFAULT now()) PARTITION BY RANGE (shown_at);
	CREATE TABLE exposures_1 PARTITION OF exposures
		FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
	CREATE INDEX ON exposures (user_id, shown_at, item_id);
	CREATE TABLE views (LIKE exposures);
	CREATE INDEX ON views (user_id, shown_at, item_id);
	SELECT bloomexp.create_feed('seen', 'exposures');
	SELECT bloomexp.create_feed('Odd "feed"', 'views', trigger => false);
	SELECT bloomexp.create_feed('secret', 'views');
	SELECT bloomexp.create_feed('alone');
	SELECT alone.add(1, '{1}');

	-- four users, one without a filter and filled ahead of the clock, and one filter far above its
	-- rate; partitions that came later
	INSERT INTO seen.filters (user_id, items, filled_until) VALUES
		(1, bloom_add(bloom_new(100), ARRAY(SELECT generate_series(1, 100))),
			'2026-01-03 00:00+00'),
		(2, bloom_add(bloom_new(1000, 0.001), 1), '2026-01-02 00:00+00'),
		(3, bloom_add(bloom_new(10, 0.5), ARRAY(SELECT generate_series(1, 100))), NULL),
		(4, NULL, '3026-01-04 00:00+00');
	DO $$ BEGIN FOR n IN 1 .. 10 LOOP UPDATE seen.filters SET filled_until = filled_until
		WHERE user_id = 1; END LOOP;
		END $$;
	DO $$ BEGIN FOR n IN 1 .. 5 LOOP UPDATE seen.filters SET user_id = user_id + 1
		WHERE user_id > 3; END LOOP; END $$;
	CREATE TABLE exposures_2 PARTITION OF exposures
		FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
	CREATE TABLE exposures_3 PARTITION OF exposures
		FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
	ALTER TABLE exposures_1 DISABLE TRIGGER insert_seen;
	} . $role . q{;
	ALTER ROLE exporter SET default_transaction_read_only = on;
	ALTER ROLE exporter SET search_path = pg_catalog, public, pg_temp;
	GRANT USAGE ON SCHEMA "Odd ""feed""" TO exporter;
	GRANT SELECT ON "Odd ""feed""".health TO exporter;
	GRANT USAGE ON SCHEMA alone TO exporter;
	GRANT SELECT ON alone.health TO exporter;

	-- an owner who is no superuser
	CREATE ROLE keeper;
	GRANT CREATE ON DATABASE postgres TO keeper;
	GRANT exporter TO keeper;
	CREATE TABLE kept (LIKE views);
	ALTER TABLE kept OWNER TO keeper;
	SET ROLE keeper;
	SELECT bloomexp.create_feed('kept', 'kept');
	GRANT USAGE ON SCHEMA kept TO exporter;
	GRANT SELECT ON kept.health TO exporter;
	INSERT INTO kept VALUES (1, 1, now())});

# What the exporter gets of a query: for each feed, a value for each metric.
sub rows
{
	my ($query, $server) = (@_, $node);
	my $rows = $server->safe_psql('postgres', "SELECT coalesce(json_agg(r), '[]')
		FROM (" . $queries->{$query}{query}
		. ') AS r',
		extra_params => [ '-U', 'exporter' ]);

	return { map { ($_->{feed} // '') => $_ } @{ decode_json($rows) } };
}

# The row of a feed, without its labels.
sub values_of
{
	my ($query, $name, @server) = @_;
	my %row = %{ rows($query, @server)->{$name} || {} };

	delete @row{ @{ $labels{$query} || [] } };
	return \%row;
}

for my $query (sort keys %$queries)
{
	my $columns = $node->safe_psql('postgres', $queries->{$query}{query} . '\gdesc',
		extra_params => [ '-U', 'exporter' ]);

	is_deeply([ map { /^(\w+)\|/ } split /\n/, $columns ], $columns{$query},
		"$query: a metric or a label for each column, in order");
	ok($columns !~ /\|(?!name$|integer$|bigint$|double precision$)/m, "$query: names and numbers")
	  or diag $columns;
}

$node->poll_query_until('postgres', q{SELECT n_tup_upd = 15 FROM pg_stat_user_tables
	WHERE schemaname = 'seen'});
my @known = map { $_ + 0 } split /\|/, $node->safe_psql('postgres',
	'SELECT sum(coalesce(pg_column_size(items), 0) + pg_column_size(recent)),
		max((bloom_info(items)).fpr), max(bloom_fpr(items)) FROM seen.filters');
my %seen = (
	readable => 1, users => 4, bytes => $known[0], fpr_target_ratio => 0.5,
		fpr_max_ratio => $known[2], above_target => 1,
	oldest_filled_until_timestamp_seconds => 1767312000, untracked_tables => 3,
	never_filled => 1, filled_ahead => 1);

is($known[1], 0.5, 'the highest target');
my $factor = sprintf '%g', $node->safe_psql('postgres',
	q{SELECT substring(pg_get_viewdef('seen.health') FROM 'fpr_now > [^0-9]*([0-9.]+)')}) / 0.01;
is_deeply(values_of('bloomexp_feed', 'seen'), \%seen, 'a feed that is known');
is_deeply(values_of('bloomexp_feed', 'Odd "feed"'),
	{ map({ $_ => undef } keys %seen), readable => 1, users => 0, above_target => 0,
		untracked_tables => 0, never_filled => 0, filled_ahead => 0 },
	'an empty one without triggers, with an odd name');
is_deeply(values_of('bloomexp_feed', 'secret'), { map({ $_ => undef } keys %seen), readable => 0 },
	'what the role may not read');
my $kept = values_of('bloomexp_feed', 'kept');
is_deeply([ @$kept{qw(users oldest_filled_until_timestamp_seconds)} ], [ 1, 0 ],
	'one that was never rebuilt');
my $alone = values_of('bloomexp_feed', 'alone');
is_deeply([ @$alone{qw(users oldest_filled_until_timestamp_seconds untracked_tables)} ],
	[ 1, undef, undef ], 'one without a table, which is never rebuilt');

my $seen = values_of('bloomexp_table', 'seen');
is(join('|', @$seen{qw(updates_total hot_updates_total live_rows dead_rows size_bytes)}),
	$node->safe_psql('postgres', q{
	SELECT 15, 10, 4, n_dead_tup, pg_total_relation_size(relid) FROM pg_stat_user_tables
		WHERE schemaname = 'seen'}),
	'updates, HOT updates, rows, dead rows and bytes on disk');
is_deeply([ sort keys %{ rows($_) } ], [ 'Odd "feed"', qw(alone kept secret seen) ],
  "$_: all feeds")
  for 'bloomexp_feed', 'bloomexp_table';

my $wal = values_of('bloomexp_wal', '');
$node->safe_psql('postgres', 'CHECKPOINT; INSERT INTO views SELECT u, 1, now()
	FROM generate_series(1, 20000) AS u');
$node->poll_query_until('postgres', "SELECT wal_fpi > $wal->{page_images_total}
	AND wal_bytes > $wal->{bytes_total} + 1e6 FROM pg_stat_wal");
cmp_ok(values_of('bloomexp_wal', '')->{bytes_total}, '>', $wal->{bytes_total} + 1e6,
	'bytes of write-ahead log');

# Each right is needed; without one, other feeds are still watched.
for my $right ('SELECT ON seen.health', 'USAGE ON SCHEMA seen')
{
	$node->safe_psql('postgres', "REVOKE $right FROM exporter");
	is_deeply([ map { values_of('bloomexp_feed', $_)->{readable} } 'seen', 'kept' ], [ 0, 1 ],
		"not readable without $right");
	$node->safe_psql('postgres', "GRANT $right TO exporter");
}
is($node->safe_psql('postgres',
	q{SELECT has_table_privilege('exporter', 'seen.filters', 'SELECT')}), 'f',
	'the exporter may read no filter');

# What the document does about tables without the trigger.
my ($again) = map { s/'shown'/'seen'/r }
	statements(document("$root/doc/feed-over-a-table.md"), 'Change a feed');
$node->safe_psql('postgres', $again);
is(values_of('bloomexp_feed', 'seen')->{untracked_tables}, 0,
	'applied again, partitions have the trigger, and it is enabled');

# Feeds of others: none of their code runs as the exporter, and none of them stops what it
# sees.  Nobody but a member of the exporter's role may own what it reads.

my %before = map { $_ => [ sort keys %{ rows($_) } ] } keys %$queries;

sub as_stranger { $node->safe_psql('postgres', $_[0], extra_params => [ '-U', 'stranger' ]) }

$node->safe_psql('postgres', q{
	CREATE ROLE stranger LOGIN;
	CREATE ROLE staff;
	GRANT staff TO stranger, exporter;
	GRANT CREATE ON DATABASE postgres TO stranger, staff;
	GRANT CREATE ON SCHEMA public TO stranger});
as_stranger(q{
	CREATE SCHEMA trap;
	-- fits the call of format() better than the one of PostgreSQL
	CREATE FUNCTION public.format(text, name) RETURNS text LANGUAGE plpgsql
		AS $$ BEGIN RAISE 'code of a stranger'; END $$;
	CREATE FUNCTION trap.run() RETURNS bigint LANGUAGE plpgsql
		AS $$ BEGIN RAISE 'code of a stranger, as % in a session of %', current_user,
		session_user; END $$;
	CREATE VIEW trap.health AS SELECT trap.run() AS users, 1 AS bytes, now() AS oldest_filled_until;
	CREATE TABLE trap.filters (user_id bigint);
	CREATE FUNCTION trap.settings() RETURNS jsonb LANGUAGE sql AS
		$$SELECT '{"version": "1.0", "arguments": {"exposures": "trap.exposures"},
			"functions": {}}'::pg_catalog.jsonb$$;
	GRANT USAGE ON SCHEMA trap TO PUBLIC;
	GRANT SELECT ON trap.health TO PUBLIC;
	CREATE SCHEMA shared;
	CREATE VIEW shared.health AS SELECT trap.run() AS users;
	CREATE TABLE shared.filters (user_id bigint);
	CREATE FUNCTION shared.settings() RETURNS jsonb LANGUAGE sql AS
		$$SELECT '{"version": "1.0", "arguments": {"exposures": "trap.exposures"},
			"functions": {}}'::pg_catalog.jsonb$$;
	GRANT USAGE, CREATE ON SCHEMA shared TO PUBLIC;
	GRANT SELECT ON shared.health TO PUBLIC;
	ALTER VIEW shared.health OWNER TO staff;
	BEGIN;
	LOCK trap.filters;
	PREPARE TRANSACTION 'locked'});
is($node->safe_psql('postgres', q{SELECT count(*) FROM bloomexp.feeds()
	WHERE feed IN ('trap', 'shared')}), 2,
	'schemas that look like feeds');
for my $query (sort keys %$queries)
{
	my ($status, $out, $error) =
	  $node->psql('postgres', $queries->{$query}{query}, extra_params => [ '-U', 'exporter' ]);

	is("$status $error", '0 ', "$query: continues beside feeds of a stranger");
	is_deeply([ eval { sort keys %{ rows($query) } } ], $before{$query},
		"$query: and does not show them");
}
is($node->safe_psql('postgres', "SET ROLE exporter;
	SELECT count(*) FROM ($queries->{bloomexp_feed}{query}) AS f
	WHERE feed = 'kept'"), '0',
	q{in a superuser's session, whatever its role, only superusers' feeds are read});
$node->safe_psql('postgres', 'REVOKE exporter FROM keeper');
is(rows('bloomexp_feed')->{kept}, undef, 'nor what belongs to an owner who is not a member');
$node->safe_psql('postgres', q{GRANT exporter TO keeper});
$node->safe_psql('postgres', q{ROLLBACK PREPARED 'locked'});

my $standby = start_standby($node, 'watched_standby');
$node->wait_for_catchup($standby);
is_deeply(values_of('bloomexp_feed', 'seen', $standby), { %seen, untracked_tables => 0 },
	'the same on a standby');
rows($_, $standby) for qw(bloomexp_table bloomexp_wal);
$standby->stop;
$node->stop;

# The files beside each other

is_deeply({ map { $_->{query_name} => $_->{query} } @{ $collector->{queries} } },
	{ map { $_ => $queries->{$_}{query} } keys %$queries },
	'both files have the same queries');
is_deeply({ map { my %metric = %$_; delete $metric{metric_name} => \%metric } @{
	$collector->{metrics} } }, \%metric,
	'and the same metrics');
is_deeply([ grep { ($metric{$_}{type} eq 'counter') ne /_total$/ } keys %metric ], [],
	'a counter is a total, and nothing else is');

# What an expression names: metrics; and labels, in braces, after "by" and "on", and in
# what is written of it.
my %used;
sub uses_ok
{
	my ($name, $expression, @texts) = @_;
	my @metrics = $expression =~ /\b(bloomexp_\w+)/g;
	my @asked = (
		map({ /(\w+) *=/g } $expression =~ /\{(.*?)\}/g),
		map({ split /, */ } $expression =~ /\b(?:by|on) \((.*?)\)/g),
		map({ /(?:\$labels\.|\{\{)(\w+)/g } @texts));

	ok(@metrics && !grep({ !$metric{$_} } @metrics), "$name: metrics of the queries")
	  or diag "@metrics";
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
		push @expressions, $_->{expr} =~ s/\$(?:instance|feed)/.+/gr;
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

# Thresholds stand in the alerts; what the guide and the dashboard say of them is the same.
my %threshold = map { $_->{alert} => $_->{expr} =~ /> ([\d.]+)/ ? $1 : undef } @rules;
my %words = (0.5 => 'half', 0.2 => 'fifth', 0.1 => 'tenth');
my $above = "a $words{ $threshold{BloomexpAboveTarget} } of `users`";
is_deeply([ grep { $_ ne "above $above" } $guide =~ /`above_fpr` is ([^|,]*?)(?: \||,)/g ], [],
	'the share of filters above their rate, in the guide');
like($guide, qr/`above_fpr` is above $above \|/, 'is there');
like($guide, qr/`oldest_filled_until` is NULL or older than $threshold{BloomexpRebuildLate} days/,
	'the age of a rebuild, in the guide');
my %red = map { $_->{title} => map { $_->{value} } grep { $_->{color} eq 'red' } @{
	$_->{fieldConfig}{defaults}{thresholds}{steps} } }
  grep { $_->{title} =~ /^(?:Oldest rebuild|Filters above)/ } @{ $dashboard->{panels} };
is_deeply(\%red, { 'Oldest rebuild' => $threshold{BloomexpRebuildLate} * 86400,
	'Filters above 1.2 times the target rate' => $threshold{BloomexpAboveTarget} },
	'and on the dashboard');

# A filter is above its rate from the same factor on, in the feed and in all that describe it.
is(scalar(() = document("$root/$_->[0]") =~ /(above \Q$factor\E times the (?:`fpr`|target rate))/g),
	$_->[1], "the factor in $_->[0]")
  for [ 'doc/reference-feeds.md', 1 ], [ 'doc/watching/queries.yml', 1 ],
  [ 'doc/watching/dashboard.json', 2 ],
	[ 'doc/watching/alerts.yml', 1 ];

SKIP:
{
	my ($promtool) = grep { -x } map { "$_/promtool" } split /:/, $ENV{PATH};
	skip 'promtool is not installed (Debian: prometheus)', 2 unless $promtool;

	my $file = PostgreSQL::Test::Utils::tempdir() . '/rules.yml';
	my $number = 0;
	append_to_file($file, "groups:\n- name: panels\n  rules:\n");
	append_to_file($file, '  - record: panel_' . $number++ . "\n    expr: |\n      $_\n")
	  for @expressions;
	command_ok([ $promtool, 'check', 'rules', $file ], 'expressions of the panels');
	command_ok([ $promtool, 'test', 'rules', "$root/test/integrations/alerts.yml" ],
		'alerts fire beyond their thresholds, and not before');
}

done_testing();
