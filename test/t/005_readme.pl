# The documents do not rot: every SQL statement of README.md and the guides in doc/
# runs, in order, and what a text block below it shows is its output; errors, too.
# The reference has every function, and no document names one that does not exist.
# The rebuild of doc/expire.md loses no exposure, whoever writes meanwhile.

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

my $root = "$FindBin::RealBin/../..";
my $patience = $PostgreSQL::Test::Utils::timeout_default || 180;
my @references = map { "doc/reference-$_.md" } qw(functions feeding inspecting);

# Pages whose statements other tests run, if the software is there that they need.
my %elsewhere = map { $_ => 1 } 'doc/clients.md', 'doc/scale-out.md', 'doc/integrations.md', 'doc/managed.md';
my %document = map { s{^\Q$root\E/}{}r => document($_) } glob "$root/*.md $root/doc/*.md";
my @with_statements = grep { !$elsewhere{$_} && $document{$_} =~ /^```sql$/m } sort keys %document;
my $tutorial = document("$root/test/lib/tutorial.sql");

my $node = PostgreSQL::Test::Cluster->new('documents');
$node->init(extra => [ '--encoding', 'UTF8', '--no-locale' ]);
$node->start;

#
# Statements
#

for my $file (@with_statements)
{
	my $database = lc($file) =~ s{.*/|\.md$}{}gr =~ s/-/_/gr;
	my @blocks = blocks($document{$file});

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, $tutorial) unless $document{$file} =~ /^CREATE EXTENSION bloomexp;/m;
	statements_ok($node, $database, $file, @blocks);
	# (roles are of the server, and the pages give theirs the same names)
	$node->safe_psql($database, "SELECT format('ALTER ROLE %I RENAME TO %I', rolname, '${database}_' || rolname)
		FROM pg_roles WHERE rolname IN ('app', 'rebuilder', 'reader', 'exporter') \\gexec");
}

#
# Names
#

$node->safe_psql('postgres', 'CREATE EXTENSION bloomexp');

# Functions that only the server calls: of the type, of aggregates, of operator
# classes and of the planner.
$node->safe_psql('postgres', q{
	CREATE VIEW members AS
	SELECT p.*,
		EXISTS (SELECT FROM pg_type WHERE p.oid IN (typinput, typoutput, typreceive, typsend, typanalyze))
			OR (EXISTS (SELECT FROM pg_aggregate WHERE p.oid IN (aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn))
				AND 'internal'::regtype = ANY (p.proargtypes::oid[] || p.prorettype))
			OR EXISTS (SELECT FROM pg_amproc WHERE amproc = p.oid)
			OR EXISTS (SELECT FROM pg_proc WHERE prosupport = p.oid) AS internal,
		(SELECT string_agg(concat_ws(' ',
				CASE WHEN p.proargmodes[n] = 'v' THEN 'VARIADIC' END,
				quote_ident(nullif(p.proargnames[n], '')), format_type(type, NULL)), ', ' ORDER BY n)
			FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS arguments (type, n)) AS arguments
	FROM pg_proc AS p JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND objid = p.oid
	JOIN pg_extension AS e ON refclassid = 'pg_extension'::regclass AND refobjid = e.oid
	WHERE deptype = 'e' AND extname = 'bloomexp'});

# What has a form for each type of an item stands there once, with T in its place.
my $reference = join('', @document{@references}) =~ s/,\n {8}/, /gr;
my $scalar = qr/bigint|text|uuid|bytea/;
my (%known, %forms, %callable);
for (split /\n/, $node->safe_psql('postgres',
		"SELECT proname, arguments, pg_get_function_result(oid), internal FROM members ORDER BY oid"))
{
	my ($name, $arguments, $result, $internal) = split /\|/;
	# (a procedure has no result)
	my $entry = $internal eq 't' ? "`$name`" : $result eq '' ? "CALL $name($arguments)" : "$name($arguments) → $result";

	$forms{$entry}++ if $entry =~ s/\bitem $scalar\b/item T/;
	ok(index($reference, $entry) >= 0, "in the reference: $name(" . ($arguments // '') . ')');
	$known{$name} = 1;
	$callable{$name} = 1 if $internal eq 'f';
}
cmp_ok(scalar keys %known, '>', 20, 'functions were found');

# The table at the beginning of the reference has each function that a user calls once.
delete $callable{bloom_union_agg_final};
my ($index) = $document{'doc/reference-functions.md'} =~ /\A.*?^(\| function \| .*?)\n\n/ms;
is_deeply([ sort $index =~ /`(bloom_\w+)`/g ], [ sort keys %callable ], 'each function is in the table of all once');

$known{$_} = 1 for split /\n/, $node->safe_psql('postgres', q{
	SELECT opcname FROM pg_opclass WHERE opcintype = 'bloom'::regtype});

# Names of the server's own that begin alike.
my %foreign = map { $_ => 1 } qw(bloom_create);
for my $file (sort keys %document)
{
	# (in an anchor what stands between words is gone)
	my $text = $document{$file} =~ s/\]\([^)]*\)/]/gr;
	my @unknown = grep { !$known{$_} && !$foreign{$_} } $text =~ /\b(bloom_[a-z]\w*)/g;

	is_deeply(\@unknown, [], "$file names only functions that exist");
}

is($node->safe_psql('postgres', q{
		SELECT oid::regprocedure FROM members
		WHERE NOT internal AND obj_description(oid, 'pg_proc') IS NULL
			AND NOT EXISTS (SELECT FROM pg_operator WHERE oprcode = members.oid)}),
	'', 'every function has a comment');
is($node->safe_psql('postgres', q{
		SELECT obj_description('bloom'::regtype, 'pg_type') IS NOT NULL
			AND (SELECT obj_description(oid, 'pg_extension') IS NOT NULL FROM pg_extension WHERE extname = 'bloomexp')}),
	't', 'the type and the extension have a comment');

# Each operator stands in the reference with its types, each cast, too.
for (split /\n/, $node->safe_psql('postgres', q{
		SELECT concat_ws(' ', oprleft::regtype, oprname, oprright::regtype, '->', oprresult::regtype) FROM pg_operator
		WHERE oprcode IN (SELECT oid FROM members)
		UNION ALL
		SELECT format('%s::%s', castsource::regtype, casttarget::regtype) FROM pg_cast WHERE castfunc IN (SELECT oid FROM members)}))
{
	my $entry = s/->/→/r;

	$forms{$entry}++ if $entry =~ s/^$scalar(?= <\@)|(?<=\@> )$scalar\b/T/;
	ok(index($reference, $entry) >= 0, "in the reference: $_");
}
is_deeply([ grep { $forms{$_} != 4 } sort keys %forms ], [], 'T is each type of an item');
is(scalar keys %forms, 4, 'in two functions and two operators');

#
# Links: to files of the checkout that the tests have, and to headings
#

my %text = map { s{^\Q$root\E/}{}r => document($_) }
  glob "$root/*.md $root/doc/*.md $root/src/README.md $root/clients/*/*.md";
my %headings;
for my $file (keys %text)
{
	$headings{$file}{ lc($1) =~ s/[^\w\- ]//gr =~ s/ /-/gr } = 1 while $text{$file} =~ /^#+ (.*)$/mg;
}
for my $file (sort keys %text)
{
	my ($folder) = $file =~ m{^(.*/)};

	while ($text{$file} =~ /\]\(([^)\s#]*)(?:#([^)\s]*))?\)/g)
	{
		my ($path, $heading) = ($1, $2);
		my $target = $path eq '' ? $file : ($folder // '') . $path;

		next if $path =~ /:/ || $path !~ /^(?:.*\.md)?$/;
		1 while $target =~ s{[^/]+/\.\./}{};
		ok(-e "$root/$target", "$file: file $target");
		ok($headings{$target}{$heading}, "$file: heading $target#$heading") if defined $heading;
	}
}

# Pictures are there, and say in words what they show.
for my $file (sort keys %text)
{
	my ($folder) = $file =~ m{^(.*/)};

	while ($text{$file} =~ /!\[([^\]]*)\]\(([^)\s]+)\)/g)
	{
		my ($instead, $path) = ($1, ($folder // '') . $2);

		ok(-e "$root/$path" && length $instead > 20, "$file: picture $path") or next;
		unlike(document("$root/$path"), qr/<title>Gnuplot|\A(?!.*<title)/s, "$path has a title") if $path =~ /\.svg$/;
	}
}

# The query of an ordered feed reads the filter once, and posts in their order until the page
# is full; with the user of another table it would read the filter for each post.
my ($feed) = $document{'doc/query.md'} =~ /^(SELECT p\.id FROM posts AS p\n.*?;)$/ms;
my $plan = sub { return $node->safe_psql('query', "SET enable_sort = off; EXPLAIN (COSTS OFF) $_[0]") };
like($plan->($feed), qr/^Limit\n *InitPlan .*Index Scan Backward using posts_published_idx on posts/s, 'plan of an ordered feed');
unlike($plan->($feed), qr/SubPlan/, 'reads the filter once');
like($plan->($feed =~ s/user_id = 42/user_id = p.id/r), qr/SubPlan/, 'by a column it would not');

# The check that filters are complete, of the guide to a feed on PostgreSQL, finds what is missing.
my ($check) = $document{'doc/adopt.md'} =~ /(SELECT count\(\*\) AS missing\nFROM exposures .*?;)\n/s;
cmp_ok($node->safe_psql('adopt', "DELETE FROM seen; $check"),
	'>', 1000, 'exposures of users without a filter are missing');

# What is inserted while the trigger is switched off is missing until the rebuild, as the guide says.
my ($off) = $document{'doc/adopt.md'} =~ /`(ALTER TABLE exposures DISABLE TRIGGER track)`/;
my ($on) = $document{'doc/adopt.md'} =~ /`(ALTER TABLE exposures ENABLE TRIGGER track)`/;
$node->safe_psql('adopt', "CALL bloom_rebuild('seen')");
is($node->safe_psql('adopt', "$off; INSERT INTO exposures VALUES (42, 801); $on; INSERT INTO exposures VALUES (42, 802); $check"),
	1, 'an exposure that the trigger did not see');
$node->safe_psql('adopt', "CALL bloom_rebuild('seen')");
is($node->safe_psql('adopt', $check), 0, 'is there after a rebuild');

# It gives false alarms where it ignores a condition or a live column, and none as the guide says to write it.
sub alarms
{
	my ($exposures, $filters, $query) = @_;

	return $node->safe_psql('reference_feeding', $query =~ s/FROM exposures LEFT JOIN seen/FROM $exposures LEFT JOIN $filters/r);
}

my $of_events = $check =~ s/shown_at/at/r;
my $both = '(items @> item_id OR today @> item_id) IS NOT TRUE';
like($document{'doc/adopt.md'}, qr/\Q$both\E/, 'the guide has the query for a live column');
cmp_ok(alarms('events', 'finished', $of_events), '>', 0, 'false alarms without the condition');
is(alarms('events', 'finished', $of_events =~ s/;/ AND (kind IN ('read', 'like'));/r), 0, 'none with it');
$node->safe_psql('reference_feeding', q{
	CREATE TABLE impressions (LIKE exposures INCLUDING DEFAULTS);
	CREATE TABLE seen_flat (user_id bigint PRIMARY KEY, items bloom, today bloom);
	CREATE TRIGGER track AFTER INSERT ON impressions REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('seen_flat', 'items', 'user_id', 'item_id', 'time=shown_at', 'live=today');
	INSERT INTO impressions VALUES (42, 1)});
cmp_ok(alarms('impressions', 'seen_flat', $check), '>', 0, 'false alarms without the live column');
is(alarms('impressions', 'seen_flat', $check =~ s/\(items \@> item_id\) IS NOT TRUE/$both/r), 0, 'none with it');

# A trigger without time= works until the rebuild; a dry run says so before, bloom_untracked() does not.
my $without_time = 'CREATE TABLE views (user_id bigint, item_id bigint, at timestamptz); CREATE TABLE viewed (user_id bigint PRIMARY KEY, items bloom);'
  . "CREATE TRIGGER track AFTER INSERT ON views REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION bloom_track('viewed', 'items', 'user_id', 'item_id')";
is($node->safe_psql('readme', "$without_time; INSERT INTO views VALUES (42, 1, now()); SELECT count(*) FROM bloom_untracked('views')"),
	0, 'a trigger without time= is no error');
my (undef, undef, $lacking) = $node->psql('readme', "CALL bloom_rebuild('viewed', dry_run => true)");
like($lacking, qr/arguments of bloom_rebuild\(\) are missing: time_column/, 'until a dry run');

# A line of a crontab can log in where the role has the name of the operating system user, as Debian wants it.
my @lines = $document{'doc/schedule.md'} =~ /^ *(?:[\d*]+ ){5}(\w+ .*psql .*)$/mg;
cmp_ok(scalar @lines, '>', 1, 'there are lines for crontabs');
for (@lines)
{
	my ($user) = /^(\w+)/;

	is((/ -U (\w+)/)[0] // $user, $user, "a crontab line of the user $user");
}

# What removing the extension refuses, and takes.
my (undef, undef, $refused) = $node->psql('readme', 'DROP EXTENSION bloomexp');
like($refused, qr/trigger track on table exposures.*function bloom_track/, 'the extension cannot be removed under a trigger');
is($node->safe_psql('readme', q{
		SET client_min_messages = warning;
		BEGIN;
		CREATE TABLE before AS TABLE exposures;
		DROP EXTENSION bloomexp CASCADE;
		SELECT (SELECT count(*) FROM pg_trigger), (SELECT count(*) FROM pg_attribute WHERE attrelid = 'seen'::regclass AND attname = 'items'),
			(SELECT count(*) FROM (TABLE exposures EXCEPT ALL TABLE before) AS e) + (SELECT count(*) FROM (TABLE before EXCEPT ALL TABLE exposures) AS e);
		ROLLBACK}),
	'0|0|0', 'CASCADE takes triggers and filters, and no exposure');

# What the application needs privileges for: its page fails without any of them.
sub needs
{
	my ($database, $role, $prefix, $page, @privileges) = @_;
	my $as = "SET ROLE $role; SET app.tenant = 1; $prefix";

	for my $privilege (@privileges)
	{
		my ($status, undef, $error) = $node->psql($database, "BEGIN; REVOKE $privilege FROM $role; $as $page");

		like($error, qr/permission denied for table/, "$database: a page needs $privilege");
	}
	is($node->psql($database, "BEGIN; $as $page"), 0, "$database: and nothing else");
}

my ($page) = $document{'doc/security-guide.md'} =~ /^(INSERT INTO exposures \(user_id, item_id\)\n.*?;)$/ms;
needs('security_guide', 'security_guide_app', '', $page =~ s{\{1001,8\}}{{70,80}}r, 'INSERT ON exposures', 'SELECT (item_id) ON exposures',
	'SELECT ON seen', 'INSERT ON seen', 'UPDATE ON seen');

# That of a table with one row for a user and an item, and what else it must do.
my ($page_again) = $document{'doc/reference-feeding.md'} =~ /^(PREPARE page_again AS\n.*?;)$/ms;
my @columns = qw(user_id item_id shown_at);
$node->safe_psql('reference_feeding', 'CREATE ROLE pages; GRANT SELECT, INSERT, UPDATE ON last_seen TO pages; GRANT INSERT, UPDATE (shown_at), '
	  . join(', ', map { "SELECT ($_)" } @columns) . ' ON last_shown TO pages');
needs('reference_feeding', 'pages', $page_again, "EXECUTE page_again(43, '{1,2}')", 'UPDATE (shown_at) ON last_shown',
	map { "SELECT ($_) ON last_shown" } @columns);

my $repeated = sub { return "INSERT INTO last_shown VALUES (44, 1, NULL); $_[0] EXECUTE page_again(44, '{1,2}')" };
is($node->safe_psql('reference_feeding', 'BEGIN; ' . $repeated->($page_again)), "1\n2", 'a row that is no exposure is taken and returned');
is($node->safe_psql('reference_feeding', 'BEGIN; ' . $repeated->($page_again =~ s/DO UPDATE SET .*/DO NOTHING/r)), '2', 'DO NOTHING takes it and does not return it');
my (undef, undef, $duplicate) = $node->psql('reference_feeding', 'BEGIN; ' . $repeated->($page_again =~ s/ON CONFLICT .*//r));
like($duplicate, qr/duplicate key value violates unique constraint/, 'and without ON CONFLICT the page fails');

#
# The rebuild of doc/expire.md.  A writer and a rebuild go through it in the order that
# matters.
#

$node->safe_psql('postgres', 'CREATE DATABASE rebuilt');
$node->safe_psql('rebuilt', "$tutorial DROP TRIGGER track ON exposures");

sub query { return $node->safe_psql('rebuilt', $_[0]) }

# A session that works on while we look away.
sub session
{
	my %session = (in => "SET client_min_messages = warning;\n", out => '');

	$session{run} = IPC::Run::start([ 'psql', '-XAtq', '-f', '-', '-d', $node->connstr('rebuilt') ],
		'<', \$session{in}, '>', \$session{out}, '2>&1', IPC::Run::timeout($patience));
	return \%session;
}

sub order
{
	my ($session, $statements) = @_;

	$session->{in} .= "$statements;\n\\echo done\n";
}

# Wait until a session has done all that it was told.
sub done
{
	my $session = shift;

	$session->{run}->pump until $session->{out} =~ /^done$/m;
	my $output = $session->{out} =~ s/^done\n//mr;
	$session->{out} = '';
	is($output, '', 'no complaint');
}

# Wait until so many sessions wait for a lock.
sub waiting
{
	my ($n, @sessions) = @_;

	$_->{run}->pump_nb for @sessions;
	ok($node->poll_query_until('rebuilt',
			"SELECT count(*) = $n FROM pg_stat_activity WHERE datname = 'rebuilt' AND wait_event_type = 'Lock'"),
		"$n waiting")
	  or diag query("SELECT pid, state, wait_event_type, wait_event, left(query, 200)
		FROM pg_stat_activity WHERE datname = 'rebuilt'");
}

# As doc/query.md adds: the exposure and the filter in one transaction.
sub expose
{
	my ($user, $item) = @_;

	return "INSERT INTO exposures VALUES ($user, $item, now());
		INSERT INTO seen AS f (user_id, items) VALUES ($user, bloom_add(NULL, $item))
		ON CONFLICT (user_id) DO UPDATE SET items = bloom_add(f.items, $item)";
}

my ($writer, $rebuild) = (session(), session());
my $call = "bloom_rebuild('seen', 'items', 'exposures', 'user_id', 'item_id', 'shown_at')";
my $has = sub { return query("SELECT items @> $_[1] FROM seen WHERE user_id = $_[0]") };

# The add comes first, and is committed while the rebuild waits for it.
order($writer, 'BEGIN; ' . expose(42, 5001));
done($writer);
order($rebuild, "CALL $call");
waiting(1, $rebuild);
order($writer, 'COMMIT');
done($writer);
done($rebuild);
is($has->(42, 5001), 't', 'an exposure that was being written before the rebuild');

# All that the table has, the filters have.
my $missing = q{SELECT count(*) FROM exposures LEFT JOIN seen USING (user_id)
	WHERE shown_at >= now() - interval '30 days' AND (items @> item_id) IS NOT TRUE};
is(query($missing), '0', 'nothing is missing');
query("CALL $call");
is(query($missing), '0', 'nor after another rebuild');

# So that all this can fail: what doc/expire.md warns of loses one.
order($writer, 'BEGIN; ' . expose(42, 5006));
done($writer);
order($rebuild, 'UPDATE seen SET items = fresh.items
	FROM (SELECT user_id, bloom_agg(item_id) AS items FROM exposures GROUP BY user_id) AS fresh
	WHERE seen.user_id = fresh.user_id');
waiting(1, $rebuild);
order($writer, 'COMMIT');
done($writer);
done($rebuild);
is($has->(42, 5006), 'f', 'an UPDATE from an aggregate loses an exposure');

for my $session ($writer, $rebuild)
{
	$session->{in} .= "\\q\n";
	$session->{run}->finish;
}
$node->stop;
done_testing();
