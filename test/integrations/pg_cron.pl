# The nightly jobs of doc/schedule.md under pg_cron: the rebuild of plain filters,
# which commits as it goes, one that several jobs share, the nightly statements for
# windows, and the vacuum of the tables' owner.  Two servers, one for each way in which pg_cron runs a job: through a connection of libpq and in a
# background worker.  pg_cron starts jobs at full minutes, so this waits for one of
# them, the same for all jobs of both servers, and meanwhile does what a crontab
# would do.
#
# The role that runs the jobs has the rights that the document gives it, and no more.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $sharedir = `$ENV{PG_CONFIG} --sharedir`;
chomp $sharedir;
plan skip_all => 'pg_cron is not installed (Debian: postgresql-N-cron)'
  unless -e "$sharedir/extension/pg_cron.control";

# A time zone in which a job would be hours late if pg_cron took the server's.
my $configuration = q{
	shared_preload_libraries = 'pg_cron'
	TimeZone = 'Asia/Tokyo'
	max_worker_processes = 20
	max_prepared_transactions = 1
};

sub rebuild
{
	my ($table, @more) = @_;

	return "CALL bloom_rebuild('$table', 'items', 'exposures', 'user_id', 'item_id', 'shown_at'" . join('', map { ", $_" } @more) . ')';
}

my %node;
for my $way ('libpq', 'workers')
{
	my $node = $node{$way} = PostgreSQL::Test::Cluster->new("cron_$way");

	$node->init(extra => [ '--encoding', 'UTF8', '--no-locale' ]);
	$node->append_conf('postgresql.conf', $configuration
		. ($way eq 'workers' ? "cron.use_background_workers = on\n" : "cron.host = '" . $node->host . "'\n"));
	$node->start;
	$node->safe_psql('postgres', q{
		CREATE EXTENSION pg_cron;
		CREATE EXTENSION bloomexp;

		-- 10 exposures a day of each of 200 users in the last 45 days
		CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL, shown_at timestamptz NOT NULL);
		INSERT INTO exposures
		SELECT u, u * 1000 + n, now() - n * interval '144 minutes' FROM generate_series(1, 200) AS u, generate_series(0, 449) AS n;
		CREATE INDEX ON exposures (user_id, shown_at);

		-- filters that know nothing of the last 12 hours, and have forgotten nothing
		CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom, rebuilt_at timestamptz);
		INSERT INTO seen SELECT user_id, bloom_agg(item_id), now() - interval '2 days' FROM exposures
		WHERE shown_at < now() - interval '12 hours' GROUP BY user_id;
		CREATE TABLE recent (user_id bigint PRIMARY KEY, items bloom);
		INSERT INTO recent SELECT user_id, bloom_window_agg(item_id, shown_at, '30 days', 6, 0.01) FROM exposures
		WHERE shown_at < now() - interval '12 hours' GROUP BY user_id;
		CREATE TABLE windows (user_id bigint PRIMARY KEY, items bloom, rebuilt_at timestamptz);
		-- (made last, so that these filters do not know either)
		CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
			FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at');
		CREATE TRIGGER track_windows AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
			FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('windows', 'items', 'user_id', 'item_id', 'time=shown_at', 'slices=6');
		CREATE TRIGGER track_shared AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows
			FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('shared', 'items', 'user_id', 'item_id', 'time=shown_at');
		CREATE TABLE shared (user_id bigint PRIMARY KEY, items bloom, rebuilt_at timestamptz);
		INSERT INTO shared SELECT user_id, items FROM seen;
		-- for jobs that fail; one filter is in the hands of a writer that never ends
		CREATE TABLE split (user_id bigint PRIMARY KEY, items bloom);
		CREATE TABLE slow (user_id bigint PRIMARY KEY, items bloom);
		CREATE TABLE held (user_id bigint PRIMARY KEY, items bloom);
		INSERT INTO held VALUES (7, bloom_new());
		BEGIN;
		UPDATE held SET items = bloom_add(items, 7);
		PREPARE TRANSACTION 'writer';

		CREATE ROLE rebuilder LOGIN;
		GRANT USAGE ON SCHEMA cron TO rebuilder;
		GRANT SELECT ON exposures TO rebuilder;
		GRANT SELECT, INSERT, UPDATE, DELETE ON seen, recent, windows, shared, split, slow, held TO rebuilder;
		CREATE ROLE feed_owner LOGIN;
		GRANT USAGE ON SCHEMA cron TO feed_owner;
		ALTER TABLE seen OWNER TO feed_owner;
		CREATE ROLE hasty LOGIN IN ROLE rebuilder;
		ALTER ROLE hasty SET lock_timeout = '1s';
		ALTER ROLE hasty SET statement_timeout = '5s';
	});
}

#
# What there is before
#

# How many exposures of the window are missing in a table of filters, and the share of
# those that are too old and still there.  A window remembers for a slice longer.
sub state_of
{
	my ($node, $table) = @_;
	my $days = $table =~ /seen|shared/ ? 30 : 35;

	return split /\|/, $node->safe_psql('postgres', "
		SELECT count(*) FILTER (WHERE shown_at > now() - interval '30 days' AND (items \@> item_id) IS NOT TRUE),
			avg((items \@> item_id)::int) FILTER (WHERE shown_at < now() - interval '$days days')
		FROM exposures LEFT JOIN $table USING (user_id)");
}

my $age = q{SELECT date_trunc('hour', now() - oldest_rebuild) FROM bloom_overview('seen', 'items', 100, 'rebuilt_at')};

for my $way (sort keys %node)
{
	for my $table ('seen', 'recent')
	{
		my ($missing, $old) = state_of($node{$way}, $table);

		cmp_ok($missing, '>', 900, "$way: $table lacks what is new");
		is($old + 0, 1, "$way: $table has what is old");
	}
	is($node{$way}->safe_psql('postgres', $age), '2 days', "$way: the oldest rebuild");
}

#
# The jobs.  They start at the next full minute, or at the one after if little time is
# left to tell them to pg_cron.
#

my %job = (
	'rebuild' => "CALL bloom_rebuild('seen', batch_size => 50, rebuilt_at_column => 'rebuilt_at')",
	'window' => q{
		INSERT INTO recent
		SELECT DISTINCT user_id, bloom_window('30 days', 6, 0.01) FROM exposures
		WHERE shown_at >= now() - interval '26 hours' ORDER BY user_id
		ON CONFLICT DO NOTHING;

		UPDATE recent AS f
		SET items = bloom_add_at(bloom_expire(f.items, now()), today.items, today.times)
		FROM (SELECT user_id, array_agg(item_id) AS items, array_agg(shown_at) AS times FROM exposures
			  WHERE shown_at >= now() - interval '26 hours' GROUP BY user_id) AS today
		WHERE f.user_id = today.user_id},
	'vacuum' => 'VACUUM (ANALYZE) seen',
	'windows' => "CALL bloom_rebuild('windows', rebuilt_at_column => 'rebuilt_at')",
	(map { ("part $_" => "CALL bloom_rebuild('shared', rebuilt_at_column => 'rebuilt_at', part => $_, parts => 4)") } 1 .. 4),
	'two statements' => "SET lock_timeout = '1min'; " . rebuild('slow'),
	'too slow' => rebuild('slow', 'batch_size => 1', "pause => '1 s'"),
	'held' => rebuild('held'));
my %role = ('too slow' => 'hasty', 'held' => 'hasty', 'vacuum' => 'feed_owner');
my $time = time;
my $start = (int($time / 60) + 1 + ($time % 60 > 52)) * 60;
my (undef, $minute, $hour) = gmtime($start);

for my $way (sort keys %node)
{
	$node{$way}->safe_psql('postgres', join '', map {
		my $role = $role{$_} || 'rebuilder';

		"SET ROLE $role; SELECT cron.schedule('$_', '$minute $hour * * *', \$job\$$job{$_}\$job\$);\n"
	} sort keys %job);
}

#
# Meanwhile: psql as a crontab starts it.  Its statements are transactions each, and a
# failure is its exit status.
#

sub script
{
	my ($role, $statements) = @_;
	my $node = $node{libpq};
	my $file = $node->basedir . '/night.sql';
	my $output;

	unlink $file;
	append_to_file($file, $statements);
	IPC::Run::run([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-U', $role, '-d', $node->connstr('postgres'), '-f', $file ],
		'>&', \$output);
	return $? >> 8, $output;
}

my ($status, $output) = script('rebuilder', "SET lock_timeout = '1min';\n" . rebuild('slow') . ";\nSELECT 'the end';\n");
is($status, 0, 'psql: a rebuild');
like($output, qr/NOTICE:  rebuilt the filters of 200 users/, 'psql: it tells so');
like($output, qr/^the end$/m, 'psql: it goes on');
is((state_of($node{libpq}, 'slow'))[0], 0, 'psql: nothing is missing');
($status, $output) = script('hasty', rebuild('held') . ";\nSELECT 'the end';\n");
is($status, 3, 'psql: a failure is seen');
like($output, qr/canceling statement due to lock timeout/, 'psql: it tells why');
unlike($output, qr/the end/, 'psql: it stops');

# The line of the crontab for a rebuild in parts, all at once.
sub parts
{
	my ($role, $table) = @_;
	my $file = $node{libpq}->basedir . '/parts.sql';
	my $connection = $node{libpq}->connstr('postgres');
	my $output;

	unlink $file;
	append_to_file($file, rebuild($table, 'part => :part', 'parts => 4') . ";\n");
	local $ENV{PGOPTIONS} = '-c client_min_messages=warning';
	IPC::Run::run([ 'sh', '-c', "for part in 1 2 3 4; do (psql -X -q -v ON_ERROR_STOP=1 -v part=\$part -U $role -d '$connection' "
				. "-f $file || echo \"bloomexp rebuild, part \$part: exit status \$?\") & done; wait" ], '>&', \$output);
	return $output;
}

is(parts('rebuilder', 'split'), '', 'crontab: four parts say nothing after a good night');
is((state_of($node{libpq}, 'split'))[0], 0, 'crontab: nothing is missing');
my @failures = parts('hasty', 'held') =~ /^bloomexp rebuild, part (\d): exit status 3$/mg;
is(scalar @failures, 1, 'crontab: the part that waits for a writer fails, and says which it is');

#
# What pg_cron has done
#

for my $way (sort keys %node)
{
	my $node = $node{$way};

	ok($node->poll_query_until('postgres',
			q{SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query ~ '^bloom_rebuild: [1-9]')}),
		"$way: the progress of a rebuild is seen");
}
for my $way (sort keys %node)
{
	my $node = $node{$way};

	$node->poll_query_until('postgres',
		q{SELECT count(*) = 11 FROM cron.job_run_details WHERE status IN ('succeeded', 'failed')})
	  or diag slurp_file($node->logfile);

	my $result = sub {
		my ($name) = @_;

		# each role sees its own jobs
		return $node->safe_psql('postgres', "
			SELECT status || ': ' || split_part(return_message, E'\\n', 1) FROM cron.job JOIN cron.job_run_details USING (jobid)
			WHERE jobname = '$name'", extra_params => [ '-U', $role{$name} || 'rebuilder' ]) =~ s/ERROR: +//r;
	};
	is($result->('rebuild'), 'succeeded: CALL', "$way: the rebuild");
	is($result->('windows'), 'succeeded: CALL', "$way: the rebuild of windows");
	is($result->("part $_"), 'succeeded: CALL', "$way: part $_ of a rebuild") for 1 .. 4;
	like($result->('window'), qr/^succeeded: /, "$way: the statements for windows");
	is($result->('vacuum'), 'succeeded: VACUUM', "$way: the vacuum");
	# (of another role it is a warning only)
	ok($node->poll_query_until('postgres',
			q{SELECT last_vacuum IS NOT NULL FROM pg_stat_user_tables WHERE relname = 'seen'}),
		"$way: the table was vacuumed");
	is($result->('two statements'), 'failed: bloom_rebuild() cannot be called inside a transaction', "$way: a job is one statement");
	is($result->('too slow'), 'failed: canceling statement due to statement timeout', "$way: a time-out of the role");
	is($result->('held'), 'failed: canceling statement due to lock timeout', "$way: a time-out for locks");

	for my $table ('seen', 'recent', 'windows', 'shared')
	{
		my ($missing, $old) = state_of($node, $table);

		is($missing, 0, "$way: nothing is missing in $table");
		cmp_ok($old, '<', 0.03, "$way: $table has forgotten what is old");
	}
	is($node->safe_psql('postgres', $age), '00:00:00', "$way: the oldest rebuild");
	# the queries of the document
	is($node->safe_psql('postgres', q{
			SELECT jobname, status
			FROM cron.job LEFT JOIN LATERAL (
				SELECT * FROM cron.job_run_details AS d WHERE d.jobid = job.jobid ORDER BY runid DESC LIMIT 1) AS last ON true
			ORDER BY jobname}, extra_params => [ '-U', 'rebuilder' ]),
		join("\n", map({ "part $_|succeeded" } 1 .. 4), 'rebuild|succeeded', 'two statements|failed', 'window|succeeded', 'windows|succeeded'),
		"$way: the last runs");
	is($node->safe_psql('postgres', q{
			SELECT now() - oldest_rebuild > interval '2 days' OR oldest_rebuild IS NULL AS late
			FROM bloom_overview('seen', 'items', 100, 'rebuilt_at')}, extra_params => [ '-U', 'rebuilder' ]),
		'f', "$way: the rebuild is not late");
	is($node->safe_psql('postgres', "
			SELECT count(*) FROM cron.job_run_details
			WHERE start_time NOT BETWEEN to_timestamp($start) AND to_timestamp($start) + interval '10 minutes'"),
		0, "$way: the schedule is in GMT");
	$node->safe_psql('postgres', "DELETE FROM cron.job_run_details WHERE end_time < now() + interval '1 day'",
		extra_params => [ '-U', 'rebuilder' ]);
	is($node->safe_psql('postgres', 'SELECT DISTINCT username FROM cron.job_run_details ORDER BY 1'), "feed_owner\nhasty", "$way: a role clears its own runs");
	$node->stop;
}

done_testing();
