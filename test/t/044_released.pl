# What was released stays.  For each version of which test/released has the install script and the
# dump of a small database:
#
# - The build makes the same install script, byte for byte, until bloomexp.control has a new
#   version.
# - What the kept script made can be updated.  A made-up update script mends two functions of cold
#   code.  The mend is in effect for feeds that were made before.  No script of a feed needs to be
#   applied, unless it is older than bloomexp.script_version().  Filters and grants are as they
#   were.
# - The kept dump can be restored, and what was restored can be dumped and restored again.
#
# The database has what its version answered, which must be what it answers now.  (The database that
# is updated was made with the library of now, so only the dump shows that answers have changed.)

use Documents qw(sqlstate);
use File::Basename qw(dirname);
use Installation;
use Server;

$ENV{PGTZ} = 'UTC';    # of the times in dumps

my $folder = "$root/test/released";
my @released = map { /bloomexp--(.*)\.sql$/ } sort glob "$folder/bloomexp--*.sql";
cmp_ok(scalar @released, '>', 0, 'there are released versions');

# The made-up version: functions of the newest version say in a NOTICE that they are mended.
my ($copied_bindir, $extension) = copy_installation();
my ($version) = slurp_file("$extension/bloomexp.control") =~ /^default_version = '(.*)'$/m;
my $script = slurp_file("$extension/bloomexp--$version.sql");
my $mended = $version =~ s/(\d+)$/$1 + 1/er;

sub mended_function
{
	my ($name) = @_;
	my ($function) = $script =~ /^CREATE (FUNCTION bloomexp\.$name\(.*?^\$\$;\n)/ms
	  or die "no function $name";

	$function =~ s/^BEGIN\n\K/RAISE NOTICE 'mended $name';\n/m or die "no body of $name";
	return "CREATE OR REPLACE $function";
}

install_script("$extension/bloomexp--$version--$mended.sql",
	join '', map { mended_function($_) } qw(rebuild_batch forget_user));

# The rows of each table in a dump
sub rows { return { $_[0] =~ /^COPY (\S+) \(.*?\) FROM stdin;\n(.*?)^\\\.$/msg } }

# The database answers as its version did.  Its feeds need nothing, or just to have their scripts
# applied again.
sub answers_ok
{
	my ($node, $database, $name, $released) = @_;
	my $feeds = 'SELECT feed, version, problems FROM bloomexp.feeds()';
	my $feeds_are = sub { join "\n", map { "$_|$_[0]|$_[1]" } qw(forever seen shown untracked) };
	my ($is_old, $needed, $newest) = split /\|/, $node->safe_psql($database, qq{
		SELECT string_to_array('$released', '.')::int[]
			< string_to_array(bloomexp.script_version(), '.')::int[],
			bloomexp.script_version(), extversion
		FROM pg_extension WHERE extname = 'bloomexp'});

	die "script_version() is newer than the extension" if $needed gt $newest;
	if ($is_old eq 't')
	{
		is($node->safe_psql($database, $feeds), $feeds_are->($released,
				"{\"The script is of version $released of bloomexp, and the extension needs a script "
				. "of version $needed or later: apply what the command returns.\"}"),
			"$name: the scripts are to be applied again");
		for my $command (split /\n/, $node->safe_psql($database, 'SELECT command FROM bloomexp.feeds()'))
		{
			$node->safe_psql($database, $node->safe_psql($database, $command));
		}
		$released = $newest;
	}
	is($node->safe_psql($database, $feeds), $feeds_are->($released, '{}'),
		"$name: the feeds need nothing");
	$node->safe_psql($database, 'CALL refresh_filters()');
	for my $view (qw(answers feed_answers))
	{
		cmp_ok($node->safe_psql($database, "SELECT count(*) FROM $view"), '>', 2,
			"$name: there are $view");
		is($node->safe_psql($database, "(TABLE $view EXCEPT TABLE kept_$view)
				UNION ALL (TABLE kept_$view EXCEPT TABLE $view)"), '',
			"$name: $view as in $released");
	}
}

# A role that has only the grants of the database can call what was granted, and nothing else.
# $mends are the notices that it gets.
sub grants_ok
{
	my ($node, $database, $name, @mends) = @_;
	my ($status, $said, $notices) = $node->psql($database, q{
		SET ROLE app;
		SELECT shown.take(2, '{20,802,901,902}', 1);
		INSERT INTO exposures VALUES (2, 901);
		SELECT shown.unseen(2, '{2,802,901,902}'), shown.contains(2, 901), shown.contains(2, 902);
		SELECT untracked.take(2, '{20,802,901,902}', 1), untracked.unseen(3, '{2,802,902}');
		CALL shown.rebuild();
		CALL untracked.rebuild();
		SELECT shown.unseen(2, '{2,802,901,902}'), untracked.unseen(2, '{2,802,901,902}');
		SELECT seen.take(2, '{2,4,6,8,10}'), seen.add(3, '{a}'), seen.forget(1);
		SELECT seen.add_batch('{3}', '{c}', ARRAY[now()]);
		SELECT seen.unseen(1, '{2,4}'), seen.unseen(2, '{10,12}'), seen.unseen(3, '{a,b,c}');
		SELECT forever.take('two', '{2,4,6,8,10}'), forever.add('three', '{2}'),
			forever.forget('one');
		SELECT forever.unseen('one', '{2,4}'), forever.unseen('three', '{2,3}')});

	$said =~ s/^\d+\|\d+\|\K\d+(?=\|\d+$)/bytes/mg;
	is($said, join("\n", '{901}', '{902}|t|f', '{902}|{2,902}', '314|3|bytes|0', '314|3|bytes|0',
			'{902}|{902}', '{10}||', '', '{2,4}|{12}|{b}', '{10}||', '{2,4}|{3}'),
		"$name: what was granted") or diag $notices;
	is(join(' ', $notices =~ /^.*NOTICE:  mended (\w+)$/mg), "@mends",
		"$name: @{[ @mends ? 'mended' : 'not mended' ]}");
	for (q{SELECT shown.take_back(1, '{2}')}, q{SELECT forever.merge('one', 'two')},
		'CALL seen.expire()', 'TABLE shown.filters')
	{
		is(sqlstate($node, $database, "SET ROLE app; $_"), '42501', "$name: not granted: $_");
	}
}

# What is installed is the install script of the released version.
sub script_ok
{
	my ($released, $kept) = @_;
	my $file = installed('sharedir') . "/extension/bloomexp--$released.sql";
	my @kept = split /^/, $kept;
	my @is = split /^/, slurp_file($file);
	my ($first) = grep { ($is[$_] // '') ne ($kept[$_] // '') } 0 .. (@is > @kept ? @is : @kept);

	ok(!defined $first, "bloomexp--$released.sql is as it was kept")
	  or diag sprintf "line %d is\n%sand was\n%s"
	  . "A change of SQL after a release needs a new version with an update script:\n"
	  . 'see "A release" in CONTRIBUTING.md.',
	  $first + 1, map { $_->[$first] // "(nothing)\n" } \@is, \@kept;
}

# The database, made with the kept script, is updated.
sub update_ok
{
	my ($node, $released, $kept) = @_;
	my $database = "updated from $released";
	my $rows = join ' UNION ALL ', map { "SELECT '$_', ctid, xmin, md5(t::text) FROM $_ AS t" }
	  'filters', map { "$_.filters" } qw(forever seen shown untracked);

	install_script("$extension/bloomexp--$released.sql", $kept);
	$node->safe_psql('postgres', "CREATE DATABASE \"$database\"");
	$node->safe_psql($database, slurp_file("$folder/database-$released.sql"));
	my $before = $node->safe_psql($database, $rows);
	$node->safe_psql($database, "ALTER EXTENSION bloomexp UPDATE TO '$mended'");
	is($node->safe_psql($database, q{SELECT extversion FROM pg_extension
		WHERE extname = 'bloomexp'}), $mended, "$database: to $mended");
	is($node->safe_psql($database, $rows), $before, "$database: all rows are as they were");
	answers_ok($node, $database, $database, $released);
	grants_ok($node, $database, $database, qw(rebuild_batch rebuild_batch forget_user forget_user));
}

# A dump is restored.  Returns the file of a dump of what is there then.
sub restore_ok
{
	my ($node, $database, $released, $file) = @_;
	my $again = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';

	$node->safe_psql('postgres', "CREATE DATABASE \"$database\"");
	IPC::Run::run([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database),
		'-f', $file ], '>', \my $output, '2>', \my $errors);
	is($errors, '', "$database: no error");
	run_log([ 'pg_dump', '-f', $again, $node->connstr($database) ]) or die "$database: no dump";
	is_deeply(rows(slurp_file($again)), rows(slurp_file($file)), "$database: all rows are there");
	answers_ok($node, $database, $database, $released);
	grants_ok($node, $database, $database);
	return $again;
}

my $updated = PostgreSQL::Test::Cluster->new('updated', install_path => dirname($copied_bindir));
$updated->init(extra => [ '--encoding', 'UTF8', '--no-locale' ]);
$updated->start;
my $restored = start_server('restored');
$_->safe_psql('postgres', 'CREATE ROLE app') for $updated, $restored;

for my $released (@released)
{
	my $kept = slurp_file("$folder/bloomexp--$released.sql");
	my $dump = "$folder/dump-$released.sql";

	script_ok($released, $kept) if $released eq $version;
	update_ok($updated, $released, $kept);
	cmp_ok(scalar keys %{ rows(slurp_file($dump)) }, '>', 7, "$dump: there are tables");
	$dump = restore_ok($restored, "dump of $released", $released, $dump);
	restore_ok($restored, "second dump of $released", $released, $dump);
}

$_->stop for $updated, $restored;
done_testing();
