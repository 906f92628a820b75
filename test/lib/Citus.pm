# A Citus cluster of its own for a test, a coordinator and two workers, with bloomexp.

package Citus;

use Exporter 'import';
use Server;

our @EXPORT = qw(start_citus again_and_again move_shards move_waits looks_ok all_end done);

# Start a cluster, and return its coordinator and then its workers.  Skips the test if Citus is not
# installed.  libpq's environment variables are set for the coordinator.
sub start_citus
{
	my $sharedir = qx{@{[ $ENV{PG_CONFIG} || 'pg_config' ]} --sharedir};
	chomp $sharedir;
	plan skip_all => 'Citus is not installed' if !-e "$sharedir/extension/citus.control";

	my @nodes;
	for my $name ('coordinator', 'worker1', 'worker2')
	{
		my $node = PostgreSQL::Test::Cluster->new($name);

		$node->init(extra => [ '--encoding', 'UTF8', '--no-locale' ]);
		$node->append_conf('postgresql.conf', join "\n", "shared_preload_libraries = 'citus'",
			'max_prepared_transactions = 100', 'wal_level = logical', 'max_wal_senders = 10',
			'restart_after_crash = on',
			"citus.local_hostname = '" . $node->host . "'",
			"citus.node_conninfo = 'sslmode=prefer'",
			"citus.node_connection_timeout = '${patience}s'",
			'citus.enable_statistics_collection = off', 'citus.recover_2pc_interval = 1s',
			'deadlock_timeout = 100ms', "log_line_prefix = '%e %a '", '');
		$node->start;
		$node->safe_psql('postgres', 'CREATE EXTENSION citus');
		push @nodes, $node;
	}
	my ($coordinator, @workers) = @nodes;

	# One worker is there before the extension, one comes later.
	$coordinator->safe_psql('postgres', sprintf("SELECT citus_set_coordinator_host('%s', %s)",
		$coordinator->host, $coordinator->port));
	for my $worker (@workers)
	{
		$coordinator->safe_psql('postgres',
			sprintf("SELECT citus_add_node('%s', %s)", $worker->host, $worker->port));
		$coordinator->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS bloomexp');
	}
	@ENV{qw(PGHOST PGPORT PGDATABASE)} = ($coordinator->host, $coordinator->port, 'postgres');
	return @nodes;
}

# Run a command as a client of a node, in a process of its own, again and again until all_end().
# The server's log shows its name, and a .log file in the folder has its output.
my (%running, $end);
my $timeout = IPC::Run::timeout($patience);

sub again_and_again
{
	my ($name, $node, $folder, $command) = @_;
	local @ENV{qw(PGAPPNAME PGHOST PGPORT)} = ($name, $node->host, $node->port);

	$end = "$folder/end";
	$running{$name} = IPC::Run::start(
		[ 'sh', '-c', "until [ -e $end ]; do $command || sleep 0.1; done" ],
		'<', \undef, '>&', "$folder/$name.log", $timeout);
}

# Move shards of a table from node to node, in the background.
sub move_shards
{
	my ($table, $node, $folder) = @_;

	append_to_file("$folder/move", qq{
		SELECT citus_move_shard_placement(s.shardid, s.nodename, s.nodeport, n.nodename,
			n.nodeport, 'block_writes')
		FROM (SELECT * FROM citus_shards WHERE table_name = '$table'::regclass
			ORDER BY random() LIMIT 1) s, LATERAL (SELECT * FROM pg_dist_node
				WHERE noderole = 'primary' AND shouldhaveshards
					AND nodeport <> s.nodeport LIMIT 1) n});
	again_and_again('moves', $node, $folder, "psql -Xqf $folder/move; sleep 1");
}

# Whether a move of the shard of user 7 waits for a transaction that has run this statement.
sub move_waits
{
	my ($table, $coordinator, $node, $statement) = @_;
	my $session = $node->background_psql('postgres');
	my $waiting = 0;

	$session->query_safe("BEGIN; $statement");
	my $move = IPC::Run::start([ 'psql', '-Xqd', $coordinator->connstr('postgres'), '-c', qq{
		SELECT citus_move_shard_placement(s.shardid, s.nodename, s.nodeport, n.nodename, n.nodeport,
			'block_writes')
		FROM citus_shards AS s, pg_dist_node AS n
		WHERE s.shardid = get_shard_id_for_distribution_column('$table', 7)
			AND s.table_name = '$table'::regclass AND n.shouldhaveshards
			AND n.nodeport <> s.nodeport LIMIT 1} ], '<', \undef, '>&', \my $output, $timeout);
	while (!$waiting && $move->pumpable)
	{
		$move->pump_nb;
		$waiting = $coordinator->safe_psql('postgres', q{SELECT sum(result::integer)
			FROM run_command_on_all_nodes('SELECT count(*) FROM pg_locks
				WHERE NOT granted AND locktype = ''advisory''')});
	}
	$session->query_safe('COMMIT');
	$session->quit;
	$move->finish || die $output;
	return $waiting;
}

# For at least $seconds, and until $enough is true, compare for each user the items committed to a
# table with those that a function still returns as unseen.  $between runs between the two reads.
# A read that fails, because a shard moves or a node is down, does not count.
sub looks_ok
{
	my ($node, $table, $function, $seconds, $enough, $between) = @_;
	my ($begin, @looks) = time;

	while (time < $begin + $seconds || time < $begin + $seconds + $patience
		&& !(@looks > 50 && ($node->psql('postgres', $enough->()))[1] eq 't'))
	{
		my ($status, $committed) = $node->psql('postgres', "SELECT user_id, array_agg(item_id)
			FROM $table GROUP BY user_id");

		$between->(time - $begin) if $between;
		next if $status != 0;
		push @looks, split /\n/,
			($node->psql('postgres', join("\n", map { sprintf "SELECT $function(%s, '%s');",
			split /\|/ } split /\n/, $committed), on_error_stop => 0))[1];
	}
	is(join(' ', grep { $_ ne '{}' } @looks), '', 'no committed exposure is missing');
	cmp_ok(scalar @looks, '>', 50, 'it looked');
	return scalar @looks;
}

# Wait until all clients end by themselves.  A client that hangs is killed, and its test fails.
sub all_end
{
	append_to_file($end, '');
	for my $name (sort keys %running)
	{
		ok(eval { $timeout->start; $running{$name}->finish; 1 }, "$name ended")
		  or $running{$name}->kill_kill;
	}
}

# How often a client has printed rows.
sub done { return scalar(() = slurp_file("$_[1]/$_[0].log") =~ /\([1-9]\d* rows?\)/g) }

1;
