# Transactions that can hide exposures from a feed without triggers.  A prepared transaction began
# at a time that nobody knows, and a foreign server keeps the snapshot of a transaction's first
# read.

use Server;

my $node = start_server('transactions', "max_prepared_transactions = 5\nautovacuum = off");
my $unseen = q{SELECT untracked.unseen(1, '{1,2,3,4}')};

$node->safe_psql('postgres', q{
	CREATE EXTENSION bloomexp;
	CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL,
		shown_at timestamptz NOT NULL DEFAULT now());
	CREATE INDEX ON exposures (user_id, shown_at, item_id);
	SELECT bloomexp.create_feed('untracked', 'exposures', trigger => false);
	INSERT INTO exposures VALUES (1, 1)});

# Prepared: what was inserted before PREPARE is older than PREPARE itself.

$node->safe_psql('postgres', q{BEGIN;
	INSERT INTO exposures VALUES (1, 2);
	SELECT pg_sleep(1.5);	-- a rebuild allows for one second
	PREPARE TRANSACTION 'first'});
$node->safe_psql('postgres', q{CALL untracked.rebuild(overlap => '0')});
is($node->safe_psql('postgres', $unseen), '{2,3,4}', 'a prepared transaction is not seen');
$node->safe_psql('postgres', q{COMMIT PREPARED 'first'});
is($node->safe_psql('postgres', $unseen), '{3,4}',
	'its exposure is, with the first filter of the user');

$node->safe_psql('postgres', q{CALL untracked.rebuild(overlap => '0')});
my $filled = q{SELECT filled_until FROM untracked.filters WHERE user_id = 1};
my $before = $node->safe_psql('postgres', $filled);
isnt($before, '', 'with no prepared transaction the filter has a time');
$node->safe_psql('postgres', q{BEGIN;
	INSERT INTO exposures VALUES (1, 3);
	SELECT pg_sleep(1.5);	-- a rebuild allows for one second
	PREPARE TRANSACTION 'second'});
$node->safe_psql('postgres', q{CALL untracked.rebuild(overlap => '0')});
is($node->safe_psql('postgres', $filled), $before, 'with one its time stays');
$node->safe_psql('postgres', q{UPDATE untracked.filters SET filled_until = 'infinity'});
$node->safe_psql('postgres', q{CALL untracked.rebuild(overlap => '0')});
is($node->safe_psql('postgres', $filled), '', 'but not one that is ahead of the clock');
$node->safe_psql('postgres', q{COMMIT PREPARED 'second'});
is($node->safe_psql('postgres', $unseen), '{4}', 'and so the exposure is seen');
$node->safe_psql('postgres', q{CALL untracked.rebuild(overlap => '0')});
isnt($node->safe_psql('postgres', $filled), $before, 'later it moves on');
is($node->safe_psql('postgres', $unseen), '{4}', 'and nothing is forgotten');

# Foreign

SKIP:
{
	my $available = $node->safe_psql('postgres',
		q{SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'});
	skip 'postgres_fdw is not installed', 10 unless $available;

	$node->safe_psql('postgres', sprintf q{
		CREATE EXTENSION postgres_fdw;
		CREATE SERVER itself FOREIGN DATA WRAPPER postgres_fdw
			OPTIONS (host '%s', port '%s', dbname 'postgres');
		CREATE USER MAPPING FOR CURRENT_USER SERVER itself;
		CREATE FOREIGN TABLE far (user_id bigint, item_id bigint, shown_at timestamptz)
			SERVER itself OPTIONS (table_name 'exposures');
		SET client_min_messages = error;
		SELECT bloomexp.create_feed('far_seen', 'far', trigger => false)},
		$node->host, $node->port);
	my $take = q{INSERT INTO far
		SELECT 2, item, now() FROM unnest(far_seen.take(2, '{1,2,3}', 1)) AS item
		RETURNING item_id};

	is($node->safe_psql('postgres', $take), 1, 'a page of a foreign table');

	# Two sessions read the foreign table, and then take: both would get 2.
	my @sessions = map { $node->background_psql('postgres', on_error_stop => 0) } 1 .. 2;

	$_->query("BEGIN; SELECT count(*) FROM far") for @sessions;
	for (@sessions)
	{
		$_->query("$take; COMMIT");
		like($_->{stderr}, qr/lock\(\) and take\(\) must come before other reads of public\.far/,
			'after a read of it take() is an error');
		$_->quit;
	}
	is($node->safe_psql('postgres', $take), 2, 'nothing was taken');

	# Whatever used the server first: another table of it, a lock of rows, the same table's insert
	# in a statement before.
	$node->safe_psql('postgres', q{CREATE FOREIGN TABLE other (user_id bigint)
		SERVER itself OPTIONS (table_name 'exposures')});
	for ('SELECT count(*) FROM other', 'SELECT FROM far FOR UPDATE',
		'UPDATE other SET user_id = 9 WHERE user_id = 9')
	{
		(undef, undef, my $message) = $node->psql('postgres', "BEGIN; $_; $take");
		like($message, qr/lock\(\) and take\(\) must come before other reads/, $_);
	}

	# A foreign partition that came after the script was made.
	$node->safe_psql('postgres', q{
		CREATE TABLE parted (user_id bigint, item_id bigint, shown_at timestamptz)
			PARTITION BY RANGE (shown_at);
		CREATE INDEX ON parted (user_id, shown_at);
		SELECT bloomexp.create_feed('parted_seen', 'parted', trigger => false);
		CREATE FOREIGN TABLE part PARTITION OF parted
			FOR VALUES FROM ('2020-01-01') TO ('2021-01-01')
			SERVER itself OPTIONS (table_name 'exposures')});
	(undef, undef, my $message) = $node->psql('postgres',
		q{BEGIN; SELECT count(*) FROM part; SELECT parted_seen.take(1, '{1}')});
	like($message, qr/lock\(\) and take\(\) must come before other reads of public\.parted/,
		'a foreign partition that came later');
	is($node->safe_psql('postgres', q{SELECT parted_seen.take(1, '{8,9}', 1)}), '{8}',
		'of which nothing was read');
}

# While a writer's transaction is open, create_feed() with triggers says which table it cannot lock.

my $writer = $node->background_psql('postgres');

$writer->query("BEGIN; INSERT INTO exposures VALUES (3, 3)");
(undef, undef, my $message) = $node->psql('postgres',
	q{SET lock_timeout = '100ms'; SELECT bloomexp.create_feed('seen', 'exposures')});
like($message, qr/ERROR:  could not lock public\.exposures for feed "seen"\n/,
	'a table that is locked');
$writer->query('COMMIT');
$writer->quit;

done_testing();
