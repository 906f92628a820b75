# ALTER EXTENSION bloomexp UPDATE makes the same objects as CREATE EXTENSION does: for every
# update script that is installed, for those of a made-up next version that adds a function,
# and for that of a made-up older version, beside whose objects the module is newer: its
# generator writes other feeds, it lacks a function and an operator, and it has a function
# that is gone today.
#
# The objects are as pg_dump writes them for pg_upgrade: all members of the extension with
# their definitions, owners, privileges and comments.  The made-up scripts are in a copy of
# the server's installation.

use File::Basename qw(dirname);
use Documents qw(sqlstate);
use Installation;
use Server;

my ($copied_bindir, $extension) = copy_installation();
my $bindir = installed('bindir');

# The made-up versions

my ($version) = slurp_file("$extension/bloomexp.control") =~ /^default_version = '(.*)'$/m;
my $script = slurp_file("$extension/bloomexp--$version.sql");
my $next = $version =~ s/(\d+)$/$1 + 1/er;
my ($script_version) = $script =~
  /^(CREATE FUNCTION bloomexp\.script_version\(.*?)^COMMENT ON FUNCTION bloomexp\.script_version/ms
  or die 'no version of scripts';

my ($needed) = $script_version =~ /SELECT '(.*?)'/;

# Scripts from that version on work.
sub scripts_from { return $script_version =~ s/SELECT '.*?'/SELECT '$_[0]'/r }

sub replaced { return $_[0] =~ s/\ACREATE /CREATE OR REPLACE /r }

my $addition = q{
	CREATE FUNCTION bloom_made_up(filter bloom) RETURNS bigint
		LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 7
		AS 'SELECT 1::bigint';
	COMMENT ON FUNCTION bloom_made_up(bloom) IS 'made up';
	REVOKE ALL ON FUNCTION bloom_made_up(bloom) FROM PUBLIC;
	-- a setting that the library does not know yet, and feeds do not have
	ALTER TYPE bloomexp.row_settings ADD ATTRIBUTE made_up bigint;
	DROP FUNCTION bloomexp.make_row_settings;
	CREATE FUNCTION bloomexp.make_row_settings(kind text, fpr double precision,
		width interval DEFAULT NULL, slices integer DEFAULT NULL, capacity bigint DEFAULT NULL,
		made_up bigint DEFAULT NULL) RETURNS bloomexp.row_settings
		LANGUAGE sql IMMUTABLE PARALLEL SAFE
		AS 'SELECT ROW(width, slices, kind, fpr, capacity, made_up)::bloomexp.row_settings';
} . replaced(scripts_from($next));

my $older = '0.9';
my $earlier = $script;
my $to_today = '';

# What an install script of today adds: a statement that begins so, and its comment.
for my $beginning ('FUNCTION bloom_fpr(', 'OPERATOR | (')
{
	$earlier =~ s/^(CREATE \Q$beginning\E.*?^COMMENT ON [^;]*;\n)//ms or die "no $beginning";
	$to_today .= $1;
}
# What it says differently, of which the feeds are made.
my ($generator) = $earlier =~
  /^(CREATE FUNCTION bloomexp\.feed_templates\(.*?)^COMMENT ON FUNCTION bloomexp\.feed_templates/ms
  or die 'no templates';
my $other = $generator =~ s/(?=\bRETURN CASE WHEN item IS NOT NULL)/-- as it was\n\t/r;
isnt($other, $generator, 'the feeds of the older version are others');
$earlier =~ s/\Q$generator\E/$other/;
$earlier =~ s/\Q$script_version\E/scripts_from($older)/e;
$to_today .= replaced($generator) . replaced($script_version);
$earlier .= q{
	CREATE FUNCTION bloom_gone(bloom) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 2::bigint';
	ALTER FUNCTION bloom_cardinality(bloom) COST 7;
};
$to_today .= q{
	DROP FUNCTION bloom_gone(bloom);
	ALTER FUNCTION bloom_cardinality(bloom) COST 200;
};

# Update scripts that do not do what the install script does.
my %mistakes = (
	nothing => '',
	comment => $addition =~ s/COMMENT.*//r,
	privileges => $addition =~ s/REVOKE.*//r,
	body => $addition =~ s/SELECT 1/SELECT 2/r,
	property => $addition =~ s/COST 7//r,
	membership => "$addition ALTER EXTENSION bloomexp DROP FUNCTION bloom_made_up(bloom);",
	other => "$addition ALTER FUNCTION bloomexp.feeds(name) COST 2;");

install_script("$extension/bloomexp--$next.sql", $script . $addition);
install_script("$extension/bloomexp--$version--$next.sql", $addition);
install_script("$extension/bloomexp--$older.sql", $earlier);
install_script("$extension/bloomexp--$older--$version.sql", $to_today);
install_script("$extension/bloomexp--$version--$_.sql", $mistakes{$_}) for keys %mistakes;

# The comparison

my $node = PostgreSQL::Test::Cluster->new('update', install_path => dirname($copied_bindir));
$node->init(extra => [ '--encoding', 'UTF8', '--no-locale' ]);
$node->start;

# The objects of an extension that some statements make, each as statements, without what is
# another one in each database.
my $databases = 0;

sub objects
{
	my @statements = @_;
	my $database = 'objects' . ++$databases;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, join ';', @statements);
	my ($dump, $error) = run_command([ "$bindir/pg_dump", '--binary-upgrade', '--schema-only',
		$node->connstr($database) ]);
	is($error, '', "$statements[-1]: dumped");

	my ($made) = $statements[-1] =~ /'(.*)'/;
	$dump =~ s/^(?:SELECT pg_catalog\.binary_upgrade_set_next_|\\(?:un)?restrict ).*\n//mg;
	$dump =~ s/(?<=relfrozenxid = ')\d+(?=')/0/g;
	$dump =~ s/(binary_upgrade_create_empty_extension\(.*)'\Q$made\E'/$1version/;
	return split /^--\n(?=-- )/m, $dump;
}

sub created { return objects("CREATE EXTENSION bloomexp VERSION '$_[0]'") }
sub updated { return objects("CREATE EXTENSION bloomexp VERSION '$_[0]'",
	"ALTER EXTENSION bloomexp UPDATE TO '$_[1]'") }

# What only one of two has.
sub differences
{
	my ($left, $right) = @_;
	my %in_left = map { $_ => 1 } @$left;
	my %in_right = map { $_ => 1 } @$right;

	return join "\n", (map { "- $_" } grep { !$in_right{$_} } @$left),
		(map { "+ $_" } grep { !$in_left{$_} } @$right);
}

my %created = map { $_ => [ created($_) ] } $version, $next;
# Array types and row types of tables come with what they belong to; they are members only since
# version 17.
my $members = $node->safe_psql('postgres', q{
	CREATE EXTENSION bloomexp;
	SELECT count(*) FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
		AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'bloomexp')
		AND NOT EXISTS (SELECT FROM pg_type AS t LEFT JOIN pg_class AS r ON r.oid = t.typrelid
			WHERE classid = 'pg_type'::regclass AND t.oid = objid
				AND (t.typcategory = 'A' OR r.relkind <> 'c'))});
cmp_ok(scalar(grep { /^ALTER EXTENSION bloomexp ADD /m } @{ $created{$version} }), '==', $members,
	"the $members members are objects");

like(differences($created{$version}, $created{$next}), qr/^\+ -- Name: bloom_made_up\(/m,
	'a function more is a difference');
for (sort keys %mistakes)
{
	isnt(differences($created{$next}, [ updated($version, $_) ]), '', "a mistake is one: $_");
}

my @paths = grep { !exists $mistakes{ (split /\|/)[1] } } split /\n/, $node->safe_psql('postgres',
	q{SELECT source, target, path FROM pg_extension_update_paths('bloomexp') WHERE path IS NOT NULL
		ORDER BY 1, 2});
ok((grep { $_ eq "$older|$next|$older--$version--$next" } @paths), 'there are ways to update');
for (@paths)
{
	my ($source, $target, $path) = split /\|/;

	$created{$target} //= [ created($target) ];
	is(differences($created{$target}, [ updated($source, $target) ]), '',
		"$path makes the objects of $target");
}

# Feeds are not members: they stay as they are, work beside what is newer, and tell which version
# made them, until what bloomexp.feeds() says is applied.
my $feed = 'objects' . ++$databases;
my $filters = q{SELECT user_id, items, recent FROM seen.filters ORDER BY 1;
	SELECT user_id, items, recent FROM alone.filters ORDER BY 1};
my $answers = q{SELECT seen.unseen(1, '{1,2}'), seen.contains(1, 1), seen.contains(1, 2),
	alone.unseen(1, '{a,b}'), alone.contains(1, 'a')};
my %commands = (
	alone => q{SELECT bloomexp.feed_sql('alone', item_type => 'text');},
	seen => q{SELECT bloomexp.feed_sql('seen', 'public.exposures', fpr => 0.02);});
my $problems = 'SELECT feed, version, problems FROM bloomexp.feeds()';

$node->safe_psql('postgres', "CREATE DATABASE $feed");
$node->safe_psql($feed, qq{
	CREATE EXTENSION bloomexp VERSION '$older';
	CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now(),
		PRIMARY KEY (user_id, item_id));
	SELECT bloomexp.create_feed('seen', 'exposures', fpr => 0.02);
	SELECT bloomexp.create_feed('alone', item_type => 'text');
	INSERT INTO exposures VALUES (1, 1);
	SELECT alone.add(1, '{a}')});
is($node->safe_psql($feed, $problems), "alone|$older|{}\nseen|$older|{}",
	"$older: nothing is wrong, although the module is newer");

my $before = $older;
for my $to ($version, $next)
{
	# a session that has used the feeds before goes on
	is($node->safe_psql($feed, "$answers;
		INSERT INTO exposures SELECT 100 + count(*), 1 FROM exposures; SELECT alone.add(3, '{a}');
		ALTER EXTENSION bloomexp UPDATE TO '$to';
		INSERT INTO exposures SELECT 100 + count(*), 1 FROM exposures; SELECT alone.add(3, '{b}');
		$answers; SELECT alone.unseen(3, '{a,b,c}'), alone.take(4, '{a}')"),
		"{2}|t|f|{b}|t\n\n\n{2}|t|f|{b}|t\n{c}|{a}", "$to: a session goes on with the feeds");
	is(sqlstate($node, $feed, q{SELECT bloomexp.fold(NULL, '{1}',
		bloomexp.make_row_settings('integer', 0.01, capacity => 100, made_up => 1))}), '0A000',
		"$to: but not with a setting that its library does not know") if $to eq $next;
	$node->safe_psql($feed, 'DELETE FROM exposures WHERE user_id > 99; CALL seen.rebuild()');
	$node->safe_psql($feed, "SELECT alone.forget(3), alone.forget(4)");
	my $stored = $node->safe_psql($feed, $filters);

	is($node->safe_psql($feed, $problems),
		join("\n",
			map { qq($_|$before|{"The script is of version $before of bloomexp, )
				. qq(and the extension needs a script of version $needed or later: )
				. qq(apply what the command returns."}) }
			  'alone', 'seen'),
		"$to: feeds of $before are listed");
	is($node->safe_psql($feed, $filters), $stored, "$to: the filters of $before are as they were");
	is($node->safe_psql($feed, $answers), '{2}|t|f|{b}|t', "$to: the feeds of $before answer");
	is($node->safe_psql($feed, q{SELECT command FROM bloomexp.feeds()}),
		join("\n", @commands{qw(alone seen)}),
		"$to: the commands that make them again");
	$node->safe_psql($feed, "INSERT INTO exposures SELECT 1 + count(*), 1 FROM exposures;
		SELECT alone.add(2, '{a}')");
	$stored = $node->safe_psql($feed, $filters);
	$node->safe_psql($feed, "$_\n\\gexec") for values %commands;
	is($node->safe_psql($feed, $problems), "alone|$to|{}\nseen|$to|{}",
		"$to: applied, nothing is wrong");
	is($node->safe_psql($feed, $filters), $stored, "$to: the filters are as they were");
	is($node->safe_psql($feed, $answers), '{2}|t|f|{b}|t', "$to: the feeds answer");
	$before = $to;
	$needed = $next;
}
is($node->safe_psql($feed, q{SELECT count(*) FROM pg_proc WHERE proname = 'contains'
	AND prosrc LIKE '%as it was%'}), '0',
	'nothing of the older scripts is left');

$node->stop;
done_testing();
