# The jobs of doc/operate.md under pg_cron: the rebuild, which commits as it goes, one that several
# jobs share, and the vacuum of the feed's owner.  Two servers, one for each way in which pg_cron
# runs a job: through a connection of libpq and in a background worker.  pg_cron starts jobs at full
# minutes, so this waits for one of them, the same for all jobs of both servers, and meanwhile runs
# the lines of the crontab.
#
# The role that runs the jobs has the rights that the document gives it, and no more.

use Documents;
use Server;

my $sharedir = `$ENV{PG_CONFIG} --sharedir`;
chomp $sharedir;
plan skip_all => 'pg_cron is not installed (Debian: postgresql-N-cron)'
  unless -e "$sharedir/extension/pg_cron.control";

my $guide = document("$root/doc/operate.md") =~ s/\bshown\b/seen/gr;
my ($role) = statements($guide, 'Schedule');

# A time zone in which a job would be hours late if pg_cron took the server's.
my $configuration = q{
	shared_preload_libraries = 'pg_cron'
	TimeZone = 'Asia/Tokyo'
	max_worker_processes = 20
};

my %node;
for my $way ('libpq', 'workers')
{
	my $node = $node{$way} = PostgreSQL::Test::Cluster->new("cron_$way");

	$node->init(extra => [ '--encoding', 'UTF8', '--no-locale' ]);
	$node->append_conf('postgresql.conf', $configuration
		# pg_cron 1.4.2 forgets jobs that wait for a free worker; its default is five at a time.
		. ($way eq 'workers' ? "cron.use_background_workers = on\ncron.max_running_jobs = 15\n"
			: "cron.host = '" . $node->host . "'\n"));
	$node->start;
	$node->safe_psql('postgres', q{
		CREATE EXTENSION pg_cron;
		CREATE EXTENSION bloomexp;
		CREATE ROLE feed_owner LOGIN;
		GRANT USAGE ON SCHEMA cron TO feed_owner;
		GRANT CREATE ON DATABASE postgres TO feed_owner;

		-- ten exposures per day of each of 100 users in the last 45 days; users for several batches
		CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL,
			shown_at timestamptz NOT NULL);
		INSERT INTO exposures
		SELECT u, u * 1000 + n, now() - n * interval '144 minutes'
			FROM generate_series(1, 100) AS u,
			generate_series(0, 449) AS n;
		CREATE INDEX ON exposures (user_id, shown_at, item_id);
		CREATE TABLE views (LIKE exposures);
		INSERT INTO views SELECT u, u * 1000 + n, now() - n * interval '10 days'
			FROM generate_series(1, 10000) AS u,
			generate_series(0, 4) AS n;
		CREATE INDEX ON views (user_id, shown_at, item_id);
		ALTER TABLE exposures OWNER TO feed_owner;
		ALTER TABLE views OWNER TO feed_owner;

		SET ROLE feed_owner;
		SELECT bloomexp.create_feed('seen', 'exposures');
		SELECT bloomexp.create_feed('shared', 'views');
		SELECT bloomexp.create_feed('slow', 'exposures');
		SELECT bloomexp.create_feed('private', 'exposures');
		-- filters without the last 12 hours that have forgotten nothing
		INSERT INTO seen.filters (user_id, items, filled_until)
		SELECT user_id, bloom_agg(item_id), now() - interval '2 days' FROM exposures
		WHERE shown_at < now() - interval '12 hours' GROUP BY user_id;
		INSERT INTO shared.filters (user_id, items, filled_until)
		SELECT user_id, bloom_agg(item_id), now() - interval '2 days' FROM views
		WHERE shown_at < now() - interval '12 hours' GROUP BY user_id;
		RESET ROLE} . ";\n$role;\n" . q{
		GRANT USAGE ON SCHEMA cron TO rebuilder;
		GRANT USAGE ON SCHEMA shared, slow TO rebuilder;
		GRANT EXECUTE ON PROCEDURE shared.rebuild, slow.rebuild TO rebuilder;
		GRANT EXECUTE ON FUNCTION shared.rebuild_batch, slow.rebuild_batch TO rebuilder;
		CREATE ROLE stranger LOGIN IN ROLE rebuilder});
}

# How many exposures of the window are missing in the filters of a feed, and the share of
# those that are too old and still there.
sub state_of
{
	my ($node, $feed, $exposures) = @_;
	$exposures ||= 'exposures';
	return split /\|/, $node->safe_psql('postgres', "
		SELECT count(*) FILTER (WHERE shown_at > now() - interval '30 days' AND NOT shown),
			coalesce(avg(shown::int) FILTER (WHERE shown_at < now() - interval '30 days'), 0)
		FROM (SELECT shown_at, $feed.contains(user_id, item_id) AS shown
			FROM $exposures OFFSET 0) AS e");
}

my $age = q{SELECT date_trunc('hour', now() - oldest_filled_until) FROM seen.health};

for my $way (sort keys %node)
{
	for (['seen', 'exposures'], ['shared', 'views'])
	{
		my ($missing, $old) = state_of($node{$way}, @$_);

		cmp_ok($missing, '>', 450, "$way: $_->[0] lacks what is new");
		is($old + 0, 1, "$way: $_->[0] has what is old");
	}
	is($node{$way}->safe_psql('postgres', $age), '2 days', "$way: the oldest rebuild");

	for my $statement ('SELECT FROM seen.filters', 'SELECT FROM exposures',
		'DELETE FROM seen.filters', q{SELECT seen.unseen(1, '{1}')})
	{
		is(sqlstate($node{$way}, 'postgres', $statement, '-U', 'rebuilder'), '42501',
			"$way: no right to $statement");
	}
}

# The jobs.  They start at the next full minute, or at the one after if less than half a minute is
# left to give them to pg_cron.

my ($rebuild) = $guide =~ /cron\.schedule\(\s*'rebuild seen',\s*'[^']*',\s*'(CALL [^']*)'\)/;
my ($vacuum) = $guide =~ /cron\.schedule\(\s*'vacuum seen',\s*'[^']*',\s*'(VACUUM [^']*)'\)/;
my @ranges = $guide =~ /^ (CALL seen\.rebuild\(after => .*\))$/mg;
my %job = (
	'rebuild' => $rebuild,
	'vacuum' => $vacuum,
	(map { ("range $_" => $ranges[ $_ - 1 ] =~ s/seen/shared/r) } 1 .. 4),
	'two statements' => "SET lock_timeout = '1min'; CALL slow.rebuild()",
	'private' => 'CALL private.rebuild()');
my %role = ('private' => 'stranger', 'vacuum' => 'feed_owner');
my $time = time;
my $start = (int($time / 60) + 1 + ($time % 60 > 30)) * 60;
my (undef, $minute, $hour) = gmtime($start);

for my $way (sort keys %node)
{
	$node{$way}->safe_psql('postgres', join '', map {
		my $role = $role{$_} || 'rebuilder';

		"SET ROLE $role; SELECT cron.schedule('$_', '$minute $hour * * *',
			\$job\$$job{$_}\$job\$);\n"
	} sort keys %job);
}

# Meanwhile: the lines of the crontab, for another feed, and as another role.

sub crontab
{
	my ($line, $feed, $role) = @_;
	my $connection = $node{libpq}->connstr('postgres');
	my $output;

	$line =~ s/ -d feed / -U $role -d '$connection' / or die $line;
	$line =~ s/seen\.rebuild/$feed.rebuild/g;
	IPC::Run::run([ 'sh', '-c', $line ], '>&', \$output);
	return $output;
}

my ($one) = $guide =~ /^    30 3 \* \* \* rebuilder (.*)$/m;
is(crontab($one, 'slow', 'rebuilder'), '', 'crontab: nothing is printed after success');
is((state_of($node{libpq}, 'slow'))[0], 0, 'crontab: and nothing is missing');
like(crontab($one, 'private', 'stranger'), qr/^ERROR:  permission denied/,
	'crontab: the error is printed');

# What pg_cron has done

for my $way (sort keys %node)
{
	my $node = $node{$way};

	sleep 1 while time < $start;
	$node->poll_query_until('postgres',
		'SELECT count(*) = ' . keys(%job)
		. q{ FROM cron.job_run_details WHERE status IN ('succeeded', 'failed')})
	  or diag slurp_file($node->logfile);

	# A job is one statement, and a stranger has no right to a private feed.
	is($node->safe_psql('postgres', 'SELECT jobname, status FROM cron.job
		JOIN cron.job_run_details USING (jobid)
		ORDER BY jobname COLLATE "C"'),
		join("\n", map { "$_|" . ($_ eq 'private' || $_ eq 'two statements' ? 'failed'
			: 'succeeded') } sort keys %job), "$way: the jobs");
	# VACUUM of another role's table is only a warning, so the job's status does not show it.
	ok($node->poll_query_until('postgres',
			q{SELECT last_vacuum IS NOT NULL FROM pg_stat_user_tables WHERE schemaname = 'seen'
				AND relname = 'filters'}),
		"$way: the table was vacuumed");

	for (['seen', 'exposures'], ['shared', 'views'])
	{
		my ($missing, $old) = state_of($node, @$_);

		is($missing, 0, "$way: nothing is missing in $_->[0]");
		cmp_ok($old, '<', 0.03, "$way: $_->[0] has forgotten what is old");
	}
	is($node->safe_psql('postgres', $age), '00:00:00', "$way: the oldest rebuild");
	# the queries of the document
	my ($runs) = $guide =~ /^    (SELECT jobname, status, .*?;)$/ms;
	is($node->safe_psql('postgres', "SELECT jobname, status
		FROM (" . $runs =~ s/;$//r . ") AS runs",
		extra_params => [ '-U', 'rebuilder' ]),
		join("\n", map({ "range $_|succeeded" } 1 .. 4), 'rebuild|succeeded',
			'two statements|failed'), "$way: the last runs");
	is($node->safe_psql('postgres', "
			SELECT count(*) FROM cron.job_run_details
			WHERE start_time NOT BETWEEN to_timestamp($start)
				AND to_timestamp($start) + interval '10 minutes'"),
		0, "$way: the schedule is in GMT");
	$node->safe_psql('postgres', "DELETE FROM cron.job_run_details
		WHERE end_time < now() + interval '1 day'",
		extra_params => [ '-U', 'rebuilder' ]);
	is($node->safe_psql('postgres', 'SELECT DISTINCT username
		FROM cron.job_run_details ORDER BY 1'),
		"feed_owner\nstranger", "$way: a role clears its own runs");
	$node->stop;
}

done_testing();
