# ALTER EXTENSION bloomexp UPDATE makes the same objects as CREATE EXTENSION does: for every
# update script that is installed, and for those of a made-up version that adds a function.
#
# The objects are as pg_dump writes them for pg_upgrade: all members of the extension with
# their definitions, owners, privileges and comments.  The made-up scripts are in a copy of
# the server's installation.

use File::Basename qw(basename dirname);
use File::Copy qw(cp);
use File::Path qw(make_path);
use Server;

sub ask
{
	my ($directory) = run_command([ $ENV{PG_CONFIG} || 'pg_config', "--$_[0]" ]);

	return $directory;
}

my ($bindir, $sharedir, $libdir) = map { ask($_) } qw(bindir sharedir pkglibdir);
my $copy = PostgreSQL::Test::Utils::tempdir();

sub link_all
{
	my ($from, @but) = @_;

	make_path("$copy$from");
	for my $file (map { basename($_) } glob "$from/*")
	{
		next if grep { $_ eq $file } @but;
		symlink "$from/$file", "$copy$from/$file" or die "$file: $!";
	}
}

# The programs look for the rest from where they are, so they are copied, and the rest is linked.
make_path("$copy$bindir", dirname("$copy$libdir"));
for (qw(initdb pg_config pg_ctl pg_dump postgres psql))
{
	cp("$bindir/$_", "$copy$bindir/$_") or die "$_: $!";
}
link_all($sharedir, 'extension');
link_all("$sharedir/extension");
symlink $libdir, "$copy$libdir" or die $!;

#
# The made-up version
#

my $extension = "$copy$sharedir/extension";
my ($version) = slurp_file("$extension/bloomexp.control") =~ /^default_version = '(.*)'$/m;
my $next = $version =~ s/(\d+)$/$1 + 1/er;
my $addition = q{
	CREATE FUNCTION bloom_made_up(filter bloom) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 7
		AS 'SELECT 1::bigint';
	COMMENT ON FUNCTION bloom_made_up(bloom) IS 'made up';
	REVOKE ALL ON FUNCTION bloom_made_up(bloom) FROM PUBLIC;
};

# Update scripts that do not do what the install script does.
my %mistakes = (
	nothing => '',
	comment => $addition =~ s/COMMENT.*//r,
	privileges => $addition =~ s/REVOKE.*//r,
	body => $addition =~ s/SELECT 1/SELECT 2/r,
	property => $addition =~ s/COST 7//r,
	membership => "$addition ALTER EXTENSION bloomexp DROP FUNCTION bloom_made_up(bloom);",
	other => "$addition ALTER FUNCTION bloom_feeds() COST 2;");

append_to_file("$extension/bloomexp--$next.sql", slurp_file("$extension/bloomexp--$version.sql") . $addition);
append_to_file("$extension/bloomexp--$version--$next.sql", $addition);
append_to_file("$extension/bloomexp--$version--$_.sql", $mistakes{$_}) for keys %mistakes;

#
# The comparison
#

my $node = PostgreSQL::Test::Cluster->new('update', install_path => dirname("$copy$bindir"));
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

	return join "\n", (map { "- $_" } grep { !$in_right{$_} } @$left), (map { "+ $_" } grep { !$in_left{$_} } @$right);
}

my %created = map { $_ => [ created($_) ] } $version, $next;
# The array type comes with its type; it is a member only since version 17.
my $members = $node->safe_psql('postgres', q{
	CREATE EXTENSION bloomexp;
	SELECT count(*) FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
		AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'bloomexp')
		AND (classid, objid) <> ('pg_type'::regclass, 'bloom[]'::regtype)});
cmp_ok(scalar(grep { /^ALTER EXTENSION bloomexp ADD /m } @{ $created{$version} }), '==', $members,
	"the $members members are objects");

like(differences($created{$version}, $created{$next}), qr/\A\+ -- Name: bloom_made_up\(/,
	'a function more is a difference');
for (sort keys %mistakes)
{
	isnt(differences($created{$next}, [ updated($version, $_) ]), '', "a mistake is one: $_");
}

my @paths = grep { !exists $mistakes{ (split /\|/)[1] } } split /\n/, $node->safe_psql('postgres',
	q{SELECT source, target, path FROM pg_extension_update_paths('bloomexp') WHERE path IS NOT NULL ORDER BY 1, 2});
cmp_ok(scalar @paths, '>', 0, 'there are ways to update');
for (@paths)
{
	my ($source, $target, $path) = split /\|/;

	$created{$target} //= [ created($target) ];
	is(differences($created{$target}, [ updated($source, $target) ]), '', "$path makes the objects of $target");
}

# Feeds are not members: they stay as they are, and tell which version made them.
my $feed = 'objects' . ++$databases;
$node->safe_psql('postgres', "CREATE DATABASE $feed");
$node->safe_psql($feed, qq{
	CREATE EXTENSION bloomexp VERSION '$version';
	CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now(),
		PRIMARY KEY (user_id, item_id));
	SELECT bloom_create_feed('seen', 'exposures', fpr => 0.02);
	INSERT INTO exposures VALUES (1, 1);
	ALTER EXTENSION bloomexp UPDATE TO '$next'});
my $stale = q{SELECT f.feed, f.version FROM bloom_feeds() AS f JOIN pg_extension AS e ON e.extname = 'bloomexp'
	AND e.extversion <> f.version};
my $made = "SELECT public.bloom_feed_sql('seen', 'public.exposures', fpr => 0.02);";
is($node->safe_psql($feed, $stale), "seen|$version", 'after an update, feeds of the old version are listed');
is($node->safe_psql($feed, 'SELECT command FROM bloom_feeds()'), $made, 'with the command that makes them again');
$node->safe_psql($feed, "$made\n\\gexec");
is($node->safe_psql($feed, "$stale; SELECT version FROM bloom_feeds(); SELECT seen.unseen(1, '{1,2}')"), "$next\n{2}",
	'which makes them those of the new version, with their filters');

$node->stop;
done_testing();
