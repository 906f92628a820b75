# doc/integrations.md with pgvector, where it is installed: its statements return full
# pages of what the user has not seen, by the index, and the filter is read once.

use Documents;
use Server;

my $sharedir = `$ENV{PG_CONFIG} --sharedir`;
chomp $sharedir;
my $control = "$sharedir/extension/vector.control";
plan skip_all => 'pgvector is not installed' unless -e $control;
my ($major, $minor) = slurp_file($control) =~ /default_version = '(\d+)\.(\d+)/;
plan skip_all => 'pgvector is older than 0.8' if $major == 0 && $minor < 8;

my $node = start_server('pgvector');

my $file = 'doc/integrations.md';
my @blocks = grep { $_->{chapter} eq 'pgvector' } blocks(document("$root/$file"));
statements_ok($node, 'postgres', $file, @blocks);

# The plan of the page: the index gives the order, and the filter is read once.
my ($query) = map { /^(WITH page AS .*?;)/ms } map { $_->{text} }
	grep { $_->{language} eq 'sql' } @blocks;
my $plan = $node->safe_psql('postgres', "EXPLAIN (COSTS OFF) $query");
like($plan, qr/Index Scan using posts_embedding_idx on posts/, 'the index of the vectors');
like($plan, qr/Filter: \(NOT \((?:\$\d+|\(InitPlan \d+\)\.col1) @> id\)\)/,
	'the filter is read once');

is($node->safe_psql('postgres', "SET hnsw.iterative_scan = strict_order; $query"), 50,
	'in strict order, too');
# Without iterative scans the page is empty; candidates that are taken need them, too.
is($node->safe_psql('postgres', $query), 0, 'an index alone returns what the user has seen');
my ($nearest) = map {
	$_->{text} =~ /^SELECT 42, (id FROM posts\s+ORDER BY .*?)\s+LIMIT 500;/ms } @blocks;
my $take = "WITH old AS MATERIALIZED (SELECT item_id FROM exposures WHERE user_id = 42)
	SELECT count(*), count(*) FILTER (WHERE id IN (SELECT item_id FROM old))
		FROM unnest(shown.take(42, ARRAY(SELECT $nearest LIMIT 660), 50)) AS id";
is($node->safe_psql('postgres', "SET hnsw.iterative_scan = relaxed_order; BEGIN; $take; ROLLBACK"),
	'50|0', 'a page of candidates that are taken');

$node->stop;
done_testing();
