# The chapters about Citus in doc/integrations.md on a Citus cluster of its own, a coordinator and
# two workers; then each call of a feed, which does what it does on one server; then a feed with
# pages by two nodes, COPY by four clients, rebuilds, shards that move and DDL, all at once. Nothing
# that was committed may be missing, nothing may be taken twice, and nothing may hang.
# BLOOMEXP_LONG=1 takes half an hour. Only where Citus is installed.

use Citus;
use Documents;
use Server;

my ($coordinator, @workers) = start_citus();
my @nodes = ($coordinator, @workers);

# The statements of the document: what stands below them in the document is their output.
my $folder = PostgreSQL::Test::Utils::tempdir;
for my $block (grep { $_->{chapter} =~ /^Citus/
	&& $_->{language} eq 'sql' } blocks(document("$root/doc/integrations.md")))
{
	my $name = "doc/integrations.md line $block->{line}";

	open(my $out, '>:encoding(UTF-8)', "$folder/block") or die $!;
	print $out $block->{text};
	close $out;
	my $output = qx{PGOPTIONS='-c client_min_messages=warning' \\
		psql -Xq -v ON_ERROR_STOP=1 -f $folder/block 2>$folder/errors};

	is(visible(document("$folder/errors")), '', "$name: no error");
	# What the functions return and which node a plan names do not matter here.
	$output =~ s/^ (create_distributed_\w+|create_feed) *\n-+\n( *\n)+\(\d+ rows?\)\n//mg;
	$output =~ s/Node: host=\S+ port=\d+/Node: host=worker port=5432/g;
	$output =~ s/^ +QUERY PLAN *$/QUERY PLAN/mg;
	my $expected = $block->{output} && $block->{output} =~ s/^ +QUERY PLAN *$/QUERY PLAN/mgr;
	s/^-+$/---/mg, s/^\n+//, s/ +$//mg for $output, $expected // ();
	output_ok($name, { %$block, output => $expected }, $output);
}

like($coordinator->safe_psql('postgres',
	q{EXPLAIN (COSTS OFF) SELECT shown.unseen(42, '{42001}')}),
	qr/Task Count: 1$/m, 'a call has one task');

# A feed under load

my $seconds = $ENV{BLOOMEXP_LONG} ? 1800 : 12;
my ($takers, $users) = (30, 80);	# users of pages; COPY writes for those after them

sub query { return $coordinator->safe_psql('postgres', $_[0]) }

query(q{
	DROP SCHEMA shown, seen CASCADE;
	DROP TABLE exposures, candidates;
	SET citus.shard_count = 8;
	CREATE TABLE exposures (user_id bigint NOT NULL, item_id bigint NOT NULL,
		shown_at timestamptz NOT NULL DEFAULT now());
	SELECT create_distributed_table('exposures', 'user_id');
	CREATE INDEX ON exposures (user_id, shown_at, item_id);
	SELECT bloomexp.create_feed('seen', 'exposures', trigger => false);
	INSERT INTO exposures SELECT 1, 1});
is(sqlstate($coordinator, 'postgres', q{SELECT bloomexp.create_feed('other', 'exposures')}),
	'55000', 'a trigger is refused');
is(query('CALL seen.rebuild()'), '1|1||0',
	'a rebuild reports the exposures that it has read and the filters that it has written');
is(query('SELECT seen.unseen(1, ARRAY[1, 2]::bigint[])'), '{2}', 'an exposure is excluded');
ok(move_waits('seen.filters', $coordinator, $_, "SELECT seen.take(7, '{1}')"),
	'a shard does not move away from a transaction that has taken a page on the ' . $_->name)
  for $coordinator, $workers[0];

# Exposures that are kept for a shorter time than the feed remembers them.
query(q{
	CREATE TABLE short (user_id bigint NOT NULL, item_id bigint NOT NULL,
		shown_at timestamptz NOT NULL);
	SELECT create_distributed_table('short', 'user_id');
	CREATE INDEX ON short (user_id, shown_at, item_id);
	SELECT bloomexp.create_feed('shortened', 'short', trigger => false);
	INSERT INTO short SELECT u, d, now() - d * interval '1 day'
	FROM generate_series(1, 200) AS u, generate_series(0, 29) AS d, generate_series(1, 2)});
query('CALL shortened.rebuild()') for 1 .. 2;
# of some users everything, of the others half
query(q{DELETE FROM short WHERE shown_at < now() - interval '10 days' OR user_id <= 30});
is(sqlstate($coordinator, 'postgres', 'CALL shortened.rebuild()'), '55000',
	'a rebuild does not halve filters');
is(query(q{SELECT shortened.unseen(70, '{9, 11, 29, 31}')}), '{31}',
	'... and they are as they were');
query('CALL shortened.rebuild(allow_removed => true)');
is(query(q{SELECT shortened.unseen(70, '{9, 11, 29, 31}')}), '{11,29,31}',
	'... unless it is allowed');
query('DROP SCHEMA shortened CASCADE; DROP TABLE short');

# A row is a page: each call in each of its cases, in a feed on Citus and in one of which Citus
# knows nothing.  They must return the same and leave the same rows.  A rebuild on Citus counts
# filters only if they are written, and does not count their bytes.
my $distributed = q{SELECT create_distributed_table('pages', 'user_id');};
my $make = q{
	CREATE TABLE pages (user_id bigint, item_ids bigint[], shown_at timestamptz DEFAULT now());
	DISTRIBUTED
	CREATE INDEX ON pages (user_id, shown_at);
	SELECT bloomexp.create_feed('paged', 'pages', item_column => 'item_ids', trigger => false)};
my $looks = join "\n", map { "SELECT paged.unseen($_, '{1,2,7,NULL,9}'), paged.contains($_, 7);
	SELECT paged.contains($_, NULL), paged.current($_);" } 'NULL', 1, 2, 3, 4, 7, 42, 4200;
my @steps = (
	# no exposures at all: one batch that removes nothing, or only what is allowed
	'CALL paged.rebuild()', q{CALL paged.rebuild(users => '{42}')},
	'CALL paged.rebuild(allow_removed => true)',
	'INSERT INTO pages SELECT u, ARRAY[u, u + 1, NULL, u] FROM generate_series(1, 50) AS u',
	'CALL paged.rebuild(dry_run => true)', 'CALL paged.rebuild()',
	# a batch without exposures, of a user with a filter and of one without
	q{CALL paged.rebuild(users => '{4200}')},
	'DELETE FROM pages WHERE user_id = 42', q{CALL paged.rebuild(users => '{42}', dry_run => true)},
	q{CALL paged.rebuild(users => '{42}')}, q{CALL paged.rebuild(users => '{42,4200,1}')},
	q{INSERT INTO pages VALUES (1, '{}'), (2, '{NULL}'), (3, NULL), (4, '{7}')},
	q{INSERT INTO pages VALUES (1, '{9}', NULL), (2, '{9}', now() - interval '29 days'),
		(3, '{9}', now() - interval '31 days'), (4, '{9}', now() + interval '1 day')},
	'CALL paged.rebuild(after => 2, upto => 3)', 'CALL paged.rebuild(upto => 2)',
	'CALL paged.rebuild(after => 3)', q{CALL paged.rebuild(overlap => '1 hour')},
	q{CALL paged.rebuild(users => '{1}', after => 1)}, q{CALL paged.rebuild(overlap => '-1 hour')},
	# pages, whose items only the exposures remember
	q{SELECT paged.lock(7)}, q{SELECT paged.lock(NULL)},
	q{SELECT paged.take(7, '{7,8,9,9,NULL,10}', 2)}, q{SELECT paged.take(7, '{7,8,9,9,NULL,10}')},
	q{INSERT INTO pages SELECT 7, paged.take(7, '{7,8,9,10}', 2)},
	q{SELECT paged.take(7, '{7,8,9,10,11}')}, q{SELECT paged.take_back(7, '{9,10}')},
	q{SELECT paged.take(NULL, '{7}')}, q{SELECT paged.take(4200, NULL)},
	q{INSERT INTO pages SELECT 4200, paged.take(4200, '{7,8,9,10}', 2)},
	q{CALL paged.rebuild(users => '{7,4200}')}, q{SELECT paged.take(7, '{7,8,9,10,11}')},
	# too many gone, then all
	'INSERT INTO pages SELECT u, ARRAY[u] FROM generate_series(1001, 1200) AS u',
	'CALL paged.rebuild()', 'DELETE FROM pages WHERE user_id > 1000', 'CALL paged.rebuild()',
	'CALL paged.rebuild(allow_removed => true)',
	'DELETE FROM pages', 'CALL paged.rebuild()', q{CALL paged.rebuild(users => '{1}')},
	'CALL paged.rebuild(allow_removed => true)');

query($make =~ s/DISTRIBUTED/$distributed/r);
query($make =~ s/DISTRIBUTED//r =~ s/\b(?=paged?s?\b)/local_/gr);
for my $step (@steps)
{
	my (@returned, @rows);

	for my $prefix ('', 'local_')
	{
		my $here = sub { return $_[0] =~ s/\b(?=paged?s?\b)/$prefix/gr };
		my (undef, $out, $error) = $coordinator->psql('postgres', "\\set VERBOSITY sqlstate\n"
			. $here->($step) . ";\n", on_error_stop => 0);

		# exposures and removed filters
		$out =~ s/^(\d+)\|\d+\|\d*\|(\d+)$/$1 $2/ if $step =~ /^CALL/ && $step !~ /dry_run/;
		push @returned, $out . ($error =~ /ERROR:  \w{5}/ ? $& : $error);
		push @rows, query($here->('SELECT user_id, filled_until IS NULL, md5(items::text),
			pending, recent FROM paged.filters ORDER BY 1')) . query($here->($looks));
	}
	is($returned[0], $returned[1], "pages: $step");
	is($rows[0], $rows[1], '... and filters, and what is unseen');
}
query('DROP SCHEMA paged, local_paged CASCADE; DROP TABLE pages, local_pages');

# The script again, in one transaction as its head says, and with a rename as the document says,
# under default privileges; grants stay, on workers too.
query(q{
	CREATE ROLE reader; GRANT USAGE ON SCHEMA seen TO reader;
		GRANT EXECUTE ON FUNCTION seen.unseen, seen.take TO reader;
	ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON ROUTINES TO reader});
for my $rename ('', 'item_id TO post', 'post TO item_id')
{
	my ($column) = "$rename TO item_id" =~ /TO (\w+)/;

	append_to_file("$folder/again_$column",
		"SET LOCAL citus.multi_shard_modify_mode TO 'sequential';\n"
		. "ALTER TABLE exposures RENAME $rename;\n") if $rename;
	append_to_file("$folder/again_$column",
		"SELECT bloomexp.feed_sql('seen', 'exposures', item_column => '$column',
		trigger => false)\n\\gexec\n");
	is(qx{PGOPTIONS='-c client_min_messages=warning' \\
		psql -XAt -1 -q -v ON_ERROR_STOP=1 -o /dev/null -f $folder/again_$column 2>&1}, '',
			"the script again $rename");
	unlink "$folder/again_$column";
	is(query('SELECT seen.unseen(1, ARRAY[1, 2]::bigint[]), (SELECT problems FROM bloomexp.feeds()
		WHERE feed = $$seen$$)'), '{2}|{}', '... and nothing is wrong');
}
query('ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON ROUTINES FROM reader');
for my $node (@nodes)
{
	is($node->safe_psql('postgres', q{SELECT string_agg(DISTINCT proname, ' ') FROM pg_proc
		WHERE pronamespace = 'seen'::regnamespace
			AND has_function_privilege('reader', oid, 'EXECUTE')}),
		'take unseen', 'what was granted, and nothing else, on ' . $node->name);
}
is(query('SELECT count(*) FROM seen.health'), '1', 'health on the coordinator');

# A policy that came later is an error, not a rebuild that forgets.
query(q{
	CREATE ROLE keeper LOGIN; GRANT CREATE ON DATABASE postgres TO keeper;
	CREATE TABLE kept (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
	SELECT create_distributed_table('kept', 'user_id');
	CREATE INDEX ON kept (user_id);
	ALTER TABLE kept OWNER TO keeper;
	SET ROLE keeper;
	SELECT bloomexp.create_feed('kept_seen', 'kept', trigger => false);
	INSERT INTO kept VALUES (1, 1), (1, 2), (2, 1)});
query('SET ROLE keeper; CALL kept_seen.rebuild()');
query('ALTER TABLE kept ENABLE ROW LEVEL SECURITY; ALTER TABLE kept FORCE ROW LEVEL SECURITY;
	CREATE POLICY p ON kept USING (item_id <> 1) WITH CHECK (true)');
is(sqlstate($coordinator, 'postgres', 'CALL kept_seen.rebuild()', '-U', 'keeper'), '42501',
	'a rebuild refuses a policy that hides exposures');
is(query('SELECT count(*) FROM kept_seen.filters'), '2', 'and has removed nothing');
query('DROP SCHEMA kept_seen CASCADE; DROP TABLE kept;
	REVOKE CREATE ON DATABASE postgres FROM keeper');

append_to_file("$folder/page", "\\set u random(1, $takers)\n\\set s random(1, 300)\n"
	. "INSERT INTO exposures (user_id, item_id) SELECT :u,
		unnest(seen.take(:u, ARRAY(SELECT generate_series(:s, :s + 60)), 5));\n");
my $pages = "pgbench -n -c 2 -t 20 -f $folder/page";
again_and_again('pages', $coordinator, $folder, $pages);
again_and_again('pages_of_worker', $workers[0], $folder, $pages);
for my $k (1 .. 4)
{
	again_and_again("copy$k", $coordinator, $folder,
		"seq 200 | awk -v k=$k -v n=\$(date +%s%N | cut -c 6-16) '
		{ printf \"%d\\t%d\\n\", $takers + 1 + (\$1 * 7 + k) % ($users - $takers),
			(k n) * 1000 + \$1 }' |
		psql -Xqc 'COPY exposures (user_id, item_id) FROM STDIN'");
}
again_and_again('rebuilds', $coordinator, $folder,
	q{psql -Xqc "CALL seen.rebuild(overlap => '0')"});
again_and_again('ddl', $coordinator, $folder,
	q{psql -Xqc "SET lock_timeout = '2s'" -c 'ALTER TABLE exposures ADD COLUMN extra int' \
	-c 'ALTER TABLE exposures DROP COLUMN extra'; sleep 0.3});
move_shards('exposures', $coordinator, $folder);

my $looks = looks_ok($coordinator, 'exposures', 'seen.unseen', $seconds, sub { sprintf
	"SELECT %d > 0 AND %d > 0 AND count(*) = 2 AND min(count) > 100
	FROM (SELECT count(*) FROM exposures
		GROUP BY user_id <= $takers) AS e", done('moves', $folder), done('rebuilds', $folder) });
cmp_ok(done($_, $folder), '>', 0, "there were $_") for 'moves', 'rebuilds';

all_end();

# Without triggers no part of a feed runs within a COPY.  During moves and DDL Citus itself may
# cancel a COPY to end a deadlock.
my @log = map { split /\n/, slurp_file($_->logfile) } @nodes;
is_deeply([ grep { /^(?!00000|40P01)\w{5} copy/ } @log ], [], 'no COPY had an error');
is_deeply([ grep { /^40P01 (?:rebuilds|pages)/ } @log ], [],
	'no rebuild and no page was the victim of a deadlock');
cmp_ok(query("SELECT count(*) FROM exposures WHERE user_id $_ $takers"), '>', 100,
  "users $_ $takers were served")
  for '<=', '>';
is(query("SELECT count(*) FROM (SELECT FROM exposures WHERE user_id <= $takers AND user_id > 1
	GROUP BY user_id, item_id HAVING count(*) > 1) AS t"), 0, 'nothing was taken twice');
note "$looks looks, ", join(' ', map { ($_, done($_, $folder)) } 'moves', 'rebuilds'), '; errors: ',
  join ' ', sort grep { /^\w{5} (?!copy)\w+ ERROR/ } map { s/^(\w{5} \w+ \w+).*/$1/r } @log;

# A node that dies: an error that says so, and filters as they were.
my $filters = query('SELECT count(*) FROM seen.filters');
$workers[1]->stop('immediate');
like(sqlstate($coordinator, 'postgres', 'CALL seen.rebuild()'), qr/^08/,
	'without a node: a connection failure');
$workers[1]->start;
is(query('SELECT count(*) FROM seen.filters'), $filters, 'no filter is gone');
# ... also one that has no shard that the batch reads
query("CALL seen.rebuild()");
query(sprintf("SELECT citus_drain_node('%s', %s, 'block_writes')", $workers[1]->host,
	$workers[1]->port));
$workers[1]->stop('immediate');
my $said;
$coordinator->psql('postgres', 'CALL seen.rebuild()', stderr => \$said);
like($said, qr/could not read the oldest transaction of each node/,
	'a rebuild without a node that has no shard');
$workers[1]->start;
$_->stop for @nodes;
done_testing();
