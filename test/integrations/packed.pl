# Packed candidates: examples/drivers/packed.py gives the survivors that the SQL array form gives.
# Without Python or psycopg it is skipped, but CI insists on it.

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

my $node = PostgreSQL::Test::Cluster->new('packed');
$node->init(extra => [ '--encoding', 'UTF8', '--no-locale' ]);
$node->start;

# Some numbers that are easy to get wrong, by sign or by byte order, and a filter of texts.
$node->safe_psql('postgres', q{
	CREATE EXTENSION bloomexp;
	CREATE TABLE exposures AS
	SELECT user_id::bigint, user_id * 1000::bigint + n AS item_id, now() AS shown_at
	FROM generate_series(1, 100) AS user_id, generate_series(1, 300) AS n;
	INSERT INTO exposures
	SELECT 7, sign * ((1::bigint << bit) - 1 + n), now()
	FROM generate_series(0, 62) AS bit, generate_series(0, 1) AS n, unnest('{1,-1}'::integer[]) AS sign
	WHERE bit % 3 > 0 AND bit + n < 63;
	CREATE INDEX ON exposures (user_id);
	SELECT bloom_create_feed('seen', 'exposures')});
$node->safe_psql('postgres', 'CALL seen.rebuild()');
$node->safe_psql('postgres', q{INSERT INTO seen.filters VALUES (101, bloom_add(NULL, 'news'::text)), (102, NULL), (103, bloom_new())});

my @candidates = (
	[ 'seen and unseen', 42001, 42999, 42300, 42301, 0, 42001, 42999 ],
	[ 'all users', map { $_ * 50 } 0 .. 2100 ],
	[ 'powers of two', map { my $power = 1 << $_; ($power - 1, $power, -$power, 1 - $power) } 0 .. 62 ],
	[ 'the ends', '9223372036854775807', '-9223372036854775808', -1 ],
	[ 'one', 42001 ],
	[ 'none' ]);
my %users = (42 => 'a user', 7 => 'a user with large and negative items', 4711 => 'a user without a row',
	102 => 'a user with NULL', 103 => 'a user with an empty filter');

SKIP:
{
	my $python = python();

	if (!$python)
	{
		ok(0, 'python3 with psycopg, which CI needs') if $ENV{CI};
		skip('no python3 with psycopg', 1);
	}
	note $python;

	my $file = "$FindBin::RealBin/../../examples/drivers/packed.py";

	local @ENV{qw(PGHOST PGPORT PGDATABASE)} = ($node->host, $node->port, 'postgres');
	my $run = sub {
		my ($stdout, $stderr);
		my $ok = IPC::Run::run([ $python, $file, @_ ], '<', \undef, '>', \$stdout, '2>', \$stderr,
			IPC::Run::timeout($patience));
		return ($ok, $stdout, $stderr);
	};

	my ($dropped, $survived) = (0, 0);
	for my $user (sort { $a <=> $b } keys %users)
	{
		for (@candidates)
		{
			my ($name, @items) = @$_;
			my $array = join ',', @items;
			my $expected = $node->safe_psql('postgres', qq{
				SELECT unnest('{$array}'::bigint[] - seen.current($user))});
			my ($ok, $stdout, $stderr) = $run->($user, @items);
			my @expected = split /\n/, $expected;

			ok($ok, "$users{$user}, $name: runs");
			is($stderr, '', "$users{$user}, $name: no complaint");
			is(visible($stdout), $expected, "$users{$user}, $name: survivors");
			is_deeply(\@expected, \@items, "$users{$user}, $name: that is all") if $user > 100;
			$survived += @expected;
			$dropped += @items - @expected;
		}
	}
	cmp_ok($survived, '>', 1000, 'some survived');
	cmp_ok($dropped, '>', 200, 'some did not');

	my ($ok, undef, $stderr) = $run->(101, 42001);
	ok(!$ok, 'a filter of texts is an error');
	like($stderr, qr/filter holds text items, not packed integers/, 'its message');
}

$node->stop;
done_testing();
