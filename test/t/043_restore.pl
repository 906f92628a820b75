# What a reader has made by the statements of a page survives a dump: every function, procedure,
# view, table, trigger and feed is there after pg_dump | psql into a new database, and a second dump
# of it says the same.  So does what the SQL files of examples make.
#
# PostgreSQL dumps IS DISTINCT FROM, NULLIF and USING without the schema of a type's operators, so
# an object that compares filters by one of them cannot be made again.  (011_pg_upgrade.pl is about
# pg_upgrade, which restores such a dump.)

use utf8;

use Documents;
use Server;

my %elsewhere = map { $_ => 1 } 'doc/integrations.md';    # needs other extensions
my $node = start_server('restore', 'autovacuum = off');
my $dumps = PostgreSQL::Test::Utils::tempdir();

# The dump of a database, without what differs between two of the same.
sub dump_of
{
	my ($database) = @_;
	my $file = "$dumps/$database.sql";

	run_log([ 'pg_dump', '-f', $file, $node->connstr($database) ]) or die "$database: no dump";
	return document($file) =~ s/^\\(?:un)?restrict .*\n//mgr;
}

# What psql says when it restores a database into a new one; nothing, if all is well.
sub restore
{
	my ($database, $into) = @_;
	my $errors = '';

	$node->safe_psql('postgres', "CREATE DATABASE $into");
	IPC::Run::run([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($into),
		'-f', "$dumps/$database.sql" ], '>', \my $output, '2>', \$errors);
	return $errors;
}

# Objects of a reader's own in a database, and feeds.
my $objects = q{
	SELECT count(*) FROM (
		SELECT oid, 'pg_class'::regclass AS class FROM pg_class
		WHERE relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
		UNION ALL
		SELECT oid, 'pg_proc'::regclass FROM pg_proc
		WHERE pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
	) AS o
	WHERE oid >= 16384 AND NOT EXISTS (SELECT FROM pg_depend
		WHERE classid = class AND objid = oid AND deptype = 'e')};
my $feeds = 'SELECT feed, problems FROM bloomexp.feeds() ORDER BY feed';

sub comes_back
{
	my ($name, $database) = @_;
	my $restored = "${database}_restored";
	my $dump = dump_of($database);

	is(restore($database, $restored), '', "$name: restored without an error");
	ok(dump_of($restored) eq $dump, "$name: what is there afterwards is the same");
	is($node->safe_psql($restored, $feeds), $node->safe_psql($database, $feeds),
		"$name: the same feeds");
	return $node->safe_psql($database, $objects);
}

# Roles belong to the server: they are there before a page makes them.
my %document = map { s{^\Q$root\E/}{}r => document($_) }
  glob "$root/*.md $root/doc/*.md $root/doc/internals/*.md";
my $role = qr/^CREATE ROLE (\w+)\b[^;]*;.*\n/m;
my %roles = map { $_ => 1 } 'consumer', map { /$role/g } values %document;
$node->safe_psql('postgres', join ' ', map { "CREATE ROLE $_ LOGIN;" } sort keys %roles);

my $made = 0;
for my $file (grep { !$elsewhere{$_} && $document{$_} =~ /^```sql$/m } sort keys %document)
{
	my $database = lc($file) =~ s{.*/|\.md$}{}gr =~ s/-/_/gr;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, tutorial())
		unless $document{$file} =~ /^CREATE EXTENSION .*bloomexp;/m;
	for (grep { $_->{language} eq 'sql' && ($_->{output} // '') !~ /^ERROR: / }
		blocks($document{$file}))
	{
		my (undef, undef, $error) = $node->psql($database, 'SET client_min_messages = warning; '
			. $_->{text} =~ s/$role//gr =~ s/_timeout = '\K\d+ms/1h/gr);

		is($error, '', "$file line $_->{line}: no error");
	}
	$made += comes_back($file, $database);
}
cmp_ok($made, '>', 300, 'pages make functions and tables');

# The SQL files that readers load
for my $file (qw(compose/feed.sql feed/schema.sql frameworks/tables.sql managed/schema.sql))
{
	my $database = 'example_' . $file =~ s{/.*}{}r;
	my $text = document("$root/examples/$file") =~ s/$role//gr;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, 'CREATE EXTENSION bloomexp') if $text !~ /^CREATE EXTENSION/m;
	$node->safe_psql($database, "SET client_min_messages = warning; $text");
	cmp_ok(comes_back("examples/$file", $database), '>', 0, "examples/$file makes something");
}

# The test can fail: the nightly job with IS DISTINCT FROM in place of <>
my ($table, $job) = $document{'doc/type-alone.md'}
  =~ /^(CREATE TABLE filters \(.*?;)\n\n(CREATE PROCEDURE refresh_filters.*?^END;)$/ms;
for ([ job => '<>', '' ], [ wrong_job => 'IS DISTINCT FROM', qr/operator does not exist/ ])
{
	my ($database, $operator, $error) = @$_;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, "CREATE EXTENSION bloomexp; CREATE TABLE exposures
		(user_id bigint, item_id bigint, shown_at timestamptz); $table "
		. $job =~ s/items\K <> (?=excluded)/ $operator /r);
	dump_of($database);
	my $errors = restore($database, "${database}_restored");
	$error ? like($errors, $error, "a job with $operator is seen")
	  : is($errors, '', "a job with $operator comes back");
}

$node->stop;
done_testing();
