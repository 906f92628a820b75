# The documents do not rot: every SQL statement of README.md and the guides in doc/
# runs, in order, and what a text block below it shows is its output; errors, too.
# The reference has every function, and no document names one that does not exist.

use utf8;

use Documents;
use Server;

my @references = map { "doc/reference-$_.md" } qw(functions feeds);

# Pages whose statements other tests run, if the software is there that they need.
my %elsewhere = map { $_ => 1 } 'doc/integrations.md';
my %document = map { s{^\Q$root\E/}{}r => document($_) }
  glob "$root/*.md $root/doc/*.md $root/doc/internals/*.md";
my @with_statements = grep { !$elsewhere{$_} && $document{$_} =~ /^```sql$/m } sort keys %document;

my $node = start_server('documents', 'autovacuum = off');

# Statements

# What the README and the pages of the type alone and of both kinds of feeds show needs no
# superuser: a role of its own runs it, which may make roles on the pages.
my %by = ('README.md' => 'owner', map { ("doc/$_.md" => 'owner_with_roles') }
	qw(type-alone feed-over-a-table feed-without-a-table));
$node->safe_psql('postgres',
	'CREATE ROLE owner LOGIN; CREATE ROLE owner_with_roles LOGIN CREATEROLE');

for my $file (@with_statements)
{
	my $database = lc($file) =~ s{.*/|\.md$}{}gr =~ s/-/_/gr;
	my @blocks = blocks($document{$file});

	$node->safe_psql('postgres',
		"CREATE DATABASE $database" . ($by{$file} ? " OWNER $by{$file}" : ''));
	$node->safe_psql($database, tutorial())
		unless $document{$file} =~ /^CREATE EXTENSION .*bloomexp;/m;
	{
		local %ENV = (%ENV, $by{$file} ? (PGUSER => $by{$file}) : ());
		statements_ok($node, $database, $file, @blocks);
	}
	# Roles belong to the server, and the pages give theirs the same names.
	$node->safe_psql($database,
		"SELECT format('ALTER ROLE %I RENAME TO %I', rolname, '${database}_' || rolname)
		FROM pg_roles
		WHERE rolname IN ('app', 'rebuilder', 'reader', 'exporter', 'nightly') \\gexec");
}

# The first page and, in the order of the index, all pages that build on it, in the session of one
# reader: none fails by what another one has left.  On some pages what comes out is that of the
# first page's tables alone.
my ($list) = $document{'doc/README.md'} =~ /^(- .*?)\n\n/ms;
my @order = map { "doc/$_" } $list =~ /\]\(([\w-]+\.md)\)/g;
my %listed = map { $_ => 1 } @order;
my %alone = map { ("doc/$_.md" => 1) } qw(operate);
my @in_order;

is_deeply([ grep { m{^doc/[^/]*\.md$} && !$listed{$_} && $_ ne 'doc/README.md' }
	sort keys %document ], [], 'the index has every page');
for my $file (grep { my $page = $_; grep { $_ eq $page } @with_statements } @order)
{
	my @blocks = grep { $_->{language} eq 'sql' && ($_->{output} // '') !~ /^ERROR: / }
	  blocks($document{$file});

	next if $file ne 'doc/start.md' && $document{$file} =~ /^CREATE EXTENSION .*bloomexp;/m;
	$_->{name} = "$file line $_->{line}" for @blocks;
	$alone{$file} and $_ = { name => $_->{name}, text => $_->{text} =~ s/; {5}-- .*/;/gr }
	  for @blocks;
	push @in_order, @blocks, { name => "the end of $file",
		text => "RESET ROLE; RESET ALL; SET client_min_messages = warning;\n" };
}
$node->safe_psql('postgres', 'CREATE DATABASE in_order');
session_ok($node, 'in_order', @in_order);

# Names

$node->safe_psql('postgres', 'CREATE EXTENSION bloomexp');

# Functions that only the server calls: of the type, of aggregates, of operator
# classes and of the planner.
$node->safe_psql('postgres', q{
	CREATE VIEW members AS
	SELECT p.*,
		EXISTS (SELECT FROM pg_type
			WHERE p.oid IN (typinput, typoutput, typreceive, typsend, typanalyze))
			OR (EXISTS (SELECT FROM pg_aggregate
				WHERE p.oid IN (aggtransfn, aggfinalfn, aggcombinefn, aggserialfn,
				aggdeserialfn))
				AND 'internal'::regtype = ANY (p.proargtypes::oid[] || p.prorettype))
			OR EXISTS (SELECT FROM pg_amproc WHERE amproc = p.oid)
			OR EXISTS (SELECT FROM pg_cast WHERE castfunc = p.oid)
			OR EXISTS (SELECT FROM pg_proc WHERE prosupport = p.oid)
				OR obj_description(p.oid, 'pg_proc') LIKE 'internal: %' AS internal,
		(SELECT string_agg(concat_ws(' ',
				CASE WHEN p.proargmodes[n] = 'v' THEN 'VARIADIC' END,
				quote_ident(nullif(p.proargnames[n], '')), format_type(type, NULL)),
				', ' ORDER BY n)
			FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS arguments (type, n)) AS arguments
	FROM pg_proc AS p JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND objid = p.oid
	JOIN pg_extension AS e ON refclassid = 'pg_extension'::regclass AND refobjid = e.oid
	WHERE deptype = 'e' AND extname = 'bloomexp'});

# What only scripts of feeds call is in the schema bloomexp, and described there.
# What has a form for each type of an item stands there once, with T in its place.
my $reference = join('', @document{@references}) =~ s/\n {8,}/ /gr;
my $scalar = qr/bigint|text|uuid|bytea/;
my (%known, %forms, %callable);
for (split /\n/, $node->safe_psql('postgres',
		"SELECT proname, arguments, pg_get_function_result(oid), internal FROM members
		WHERE pronamespace <> 'bloomexp'::regnamespace ORDER BY oid"))
{
	my ($name, $arguments, $result, $internal) = split /\|/;
	# A procedure has no result.
	my $entry = $internal eq 't' ? "`$name`" : $result eq '' ? "CALL $name($arguments)"
	  : "$name($arguments) → $result";

	$forms{$entry}++ if $entry =~ s/\bitem $scalar\b/item T/;
	ok(index($reference, $entry) >= 0, "in the reference: $name(" . ($arguments // '') . ')');
	$known{$name} = 1;
	$callable{$name} = 1 if $internal eq 'f';
}
cmp_ok(scalar keys %known, '>', 20, 'functions were found');

# The table at the beginning of the reference has each function that a user calls once.
delete $callable{bloom_agg_final};
my ($index) = $document{'doc/reference-functions.md'} =~ /\A.*?^(\| function \| .*?)\n\n/ms;
is_deeply([ sort $index =~ /`(bloom_\w+)`/g ], [ sort keys %callable ],
	'each function is in the table of all once');

$known{$_} = 1 for split /\n/, $node->safe_psql('postgres', q{
	SELECT opcname FROM pg_opclass WHERE opcintype = 'bloom'::regtype});

# Names of the server's own that begin alike.
my %foreign = map { $_ => 1 } qw(bloom_create);
for my $file (sort keys %document)
{
	# Anchors run words together, so the targets of links are left out.
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
			AND (SELECT obj_description(oid, 'pg_extension') IS NOT NULL FROM pg_extension
				WHERE extname = 'bloomexp')}),
	't', 'the type and the extension have a comment');

# Each operator stands in the reference with its types, each cast, too.
for (split /\n/, $node->safe_psql('postgres', q{
		SELECT concat_ws(' ', oprleft::regtype, oprname, oprright::regtype, '->',
			oprresult::regtype) FROM pg_operator
		WHERE oprcode IN (SELECT oid FROM members)
		UNION ALL
		SELECT format('%s::%s', castsource::regtype,
			casttarget::regtype) FROM pg_cast WHERE castfunc IN (SELECT oid FROM members)}))
{
	my $entry = s/->/→/r;

	$forms{$entry}++ if $entry =~ s/^$scalar(?= <\@)|(?<=\@> )$scalar\b/T/;
	ok(index($reference, $entry) >= 0, "in the reference: $_");
}
is_deeply([ grep { $forms{$_} != 4 } sort keys %forms ], [], 'T is each type of an item');
is(scalar keys %forms, 4, 'in two functions and two operators');

# Links: to files of the checkout that the tests have, and to headings

my %text = map { s{^\Q$root\E/}{}r => document($_) }
  map { glob "$root/$_.md" }
  qw(* doc/* doc/internals/* doc/internals/*/* doc/watching/* packaging/* packaging/*/* src/README
  clients/README clients/*/* examples/*/*);
my %headings;
for my $file (keys %text)
{
	$headings{$file}{ lc($1) =~ s/[^\w\- ]//gr =~ s/ /-/gr } = 1
	  while $text{$file} =~ /^#+ (.*)$/mg;
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

# A table is one only if its head has as many cells as the line below.
for my $file (sort keys %text)
{
	my @lines = split /\n/, $text{$file};

	is_deeply([ grep { $lines[$_] =~ /^\|(?: *:?-+:? *\|)+$/
		&& $lines[ $_ - 1 ] =~ tr/|// - (() = $lines[ $_ - 1 ] =~ /\\\|/g)
			!= $lines[$_] =~ tr/|// } 1 .. $#lines ], [],
		"$file: tables");
}

# Pictures are there, and say in words what they show.
for my $file (sort keys %text)
{
	my ($folder) = $file =~ m{^(.*/)};

	while ($text{$file} =~ /!\[([^\]]*)\]\(([^)\s]+)\)/g)
	{
		my ($instead, $path) = ($1, ($folder // '') . $2);

		ok(-e "$root/$path" && length $instead > 20, "$file: picture $path") or next;
		unlike(document("$root/$path"), qr/<title>Gnuplot|\A(?!.*<title)/s, "$path has a title")
		  if $path =~ /\.svg$/;
	}
}

# The query of an ordered feed reads the filter once, and posts in their order until the page
# is full; in the other forms it would read the filter for each post.
my ($feed) = $document{'doc/query.md'} =~ /^(SELECT p\.id FROM posts AS p\n.*?;)$/ms;
my $plan = sub { return $node->safe_psql('query',
	"SET enable_sort = off; EXPLAIN (COSTS OFF) $_[0]") };
like($plan->($feed),
	qr/^Limit\n *InitPlan .*Index Scan Backward using posts_published_idx on posts/s,
	'plan of an ordered feed');
unlike($plan->($feed), qr/SubPlan/, 'reads the filter once');
like($plan->($feed =~ s/current\(42\)/current(p.id)/r), qr/SubPlan/, 'by a column it would not');
like($plan->($feed =~ s/\(SELECT (shown\.current\(42\))\)/$1/r), qr/Filter: .*shown\.current/,
	'nor without the sub-select');

# The check that filters are complete, of the guide to a live application, finds what is missing.
my ($of_table, @owner) = ('feed_over_a_table', extra_params => [ '-U', 'owner_with_roles' ]);
my ($check) = $document{'doc/feed-over-a-table.md'} =~ /^(SELECT count\(\*\) AS missing\n.*?;)/ms;
my $begin = qr/^BEGIN;\nSET LOCAL lock_timeout = '100ms';\n/m;
my ($off) = $document{'doc/operate.md'}
  =~ /(${begin}ALTER TABLE exposures\s+DISABLE .*?COMMIT;)$/ms;
my $on = $off =~ s/DISABLE/ENABLE/gr;
my $missing = sub { return $node->safe_psql($of_table,
	"SET client_min_messages = warning; $_[0]; $check") };
is($missing->(''), 0, 'nothing is missing');
cmp_ok($missing->('DELETE FROM shown.filters'), '>', 1000,
	'exposures of users without a filter are missing');
$node->safe_psql($of_table, 'CALL shown.rebuild()');
is($missing->(''), 0, 'until the rebuild');

# So is what is inserted while the triggers are disabled.
is($missing->("$off INSERT INTO exposures VALUES (42, 801); $on INSERT INTO exposures
	VALUES (42, 802)"), 1, 'an exposure that the trigger did not see');
is($node->safe_psql($of_table, "$off SELECT untracked FROM shown.health; $on SELECT untracked
	FROM shown.health"), "1\n0", 'disabled triggers are counted');
$node->safe_psql($of_table, 'CALL shown.rebuild()');
is($missing->(''), 0, 'after a rebuild it is there');

# The script that makes a feed and tries it leaves nothing if the trial fails, and no row if it does
# not.
my ($script) = $document{'doc/feed-over-a-table.md'}
  =~ /(${begin}SELECT bloomexp\.create_feed.*?COMMIT;)$/ms;
my @as = (app => 'feed_over_a_table_app', rebuilder => 'feed_over_a_table_rebuilder');
while (my ($name, $role) = splice @as, 0, 2)
{
	$script =~ s/\b$name\b/$role/g;
}
my $state =
  q{SELECT (SELECT count(*) FROM exposures WHERE item_id = 701), to_regnamespace('shown')};
my ($undo) = $document{'doc/feed-over-a-table.md'}
  =~ /^( +BEGIN;(?:(?!^ +BEGIN;).)*?DROP SCHEMA shown .*?COMMIT;)$/ms;
$node->safe_psql($of_table, $undo, @owner);
for my $stop (1, 0)	# psql goes on after an error by default
{
	for my $failure ([ '(42, 701)' => '(42, NULL)' ], [ "'{702}'" => "'{701}'" ],
		[ 'ROLE feed_over_a_table_app' => 'ROLE no_such_role' ])
	{
		my ($right, $wrong) = @$failure;
		$node->psql($of_table, $script =~ s/\Q$right/$wrong/r, on_error_stop => $stop, @owner);
		is($node->safe_psql($of_table, $state), '0|',
			"a trial that fails leaves nothing: $wrong");
	}
}
$node->safe_psql($of_table, $script, @owner);
is($node->safe_psql($of_table, $state), '0|shown', 'a trial that succeeds leaves the feed');
is($node->psql($of_table, "SET ROLE feed_over_a_table_rebuilder; CALL shown.rebuild()"), 0,
	'the role of the rebuild can rebuild');
for my $attempt ([ feed_over_a_table_app => 'CALL shown.rebuild()' ],
	[ feed_over_a_table_rebuilder => 'SELECT shown.unseen(42, NULL)' ],
		[ feed_over_a_table_app => 'SELECT FROM shown.filters' ])
{
	my ($role, $statement) = @$attempt;
	is(sqlstate($node, $of_table, "SET ROLE $role; $statement"), '42501',
		"$role may not: $statement");
}

# A line of a crontab can log in where the role has the name of the operating system user, as Debian
# wants it.
my @lines = $document{'doc/operate.md'} =~ /^ *(?:[\d*]+ ){5}(\w+ .*psql .*)$/mg;
cmp_ok(scalar @lines, '>', 1, 'there are lines for crontabs');
for (@lines)
{
	my ($user) = /^(\w+)/;

	is((/ -U (\w+)/)[0] // $user, $user, "a crontab line of the user $user");
}

# The type alone: the lines of both schedulers call the job as its role, which cannot do more.
my $alone = $document{'doc/type-alone.md'};
my ($user, $command) = $alone =~ /^ {4}(?:[\d*]+ ){5}(\w+) (psql .*)$/m;
my ($job) = $alone =~ /^ {4}SELECT cron\.schedule\(\s*'\w+',\s*'[^']*',\s*'([^']*)'\);$/m;
my $forget = 'UPDATE filters SET items = bloom_new()';
my $missing_alone = sub {
	return $node->safe_psql('type_alone',
		$alone =~ /^(SELECT count\(\*\) AS missing\n.*?;)/ms ? $1 : '');
};

is($user, 'nightly', "the user of the type alone's crontab line");
$node->safe_psql('type_alone', $forget);
cmp_ok($missing_alone->(), '>', 900, 'exposures are missing in empty filters');
for my $run ($command =~ s/-d \w+/-d type_alone -U type_alone_nightly/r,
	"psql -X -q -d type_alone -U type_alone_nightly -c '$job'")
{
	local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port);
	my $output = '';

	$node->safe_psql('type_alone', $forget);
	ok(IPC::Run::run([ 'sh', '-c', $run ], '<', \undef, '>&', \$output), "a night: $run");
	is($output, '', 'prints nothing');
	is($missing_alone->(), 0, 'and builds the filters');
}
for my $attempt ([ nightly => 'UPDATE exposures SET item_id = 1' ],
	[ nightly => 'DELETE FROM exposures' ], [ nightly => 'DROP TABLE filters' ],
	[ app => 'DELETE FROM filters' ], [ app => 'DELETE FROM exposures' ])
{
	my ($role, $statement) = @$attempt;
	is(sqlstate($node, 'type_alone', "SET ROLE type_alone_$role; $statement"), '42501',
		"$role may not: $statement");
}
my ($first) = $alone =~ /^(BEGIN;\nINSERT INTO exposures\n.*?COMMIT;)$/ms;
is($node->psql('type_alone', 'SET ROLE type_alone_app; ' . $first =~ s/44/45/gr), 0,
	'app can record a page');
is($node->psql('type_alone', 'SET ROLE type_alone_app; SELECT FROM exposures LIMIT 1'), 0,
	'and read the exposures that came since the night');
is($node->safe_psql('type_alone', q{SET ROLE type_alone_app;
	SELECT '{996,998}'::bigint[] - items FROM filters WHERE user_id = 45}), '{998}',
	'and exclude what it showed');

# The role of the job needs no more on the table of users than the page says.
my ($of_users) = $alone =~ /^(UPDATE users SET seen = night\.items\n.*?;)$/ms;
my ($rights) = $alone =~ /needs\s+(`UPDATE \(seen\)` and `SELECT \(id, seen\)` on `users`)/;
my $as_job = "UPDATE users SET seen = NULL; SET ROLE type_alone_nightly; $of_users";
is(sqlstate($node, 'type_alone', $as_job), '42501', 'the table of users without rights');
$node->safe_psql('type_alone',
	'GRANT ' . $rights =~ s/ and /, /r =~ tr/`//dr . ' TO type_alone_nightly');
is(sqlstate($node, 'type_alone', $as_job), '', 'and with them');
is($node->safe_psql('type_alone', 'SELECT seen @> 2 FROM users WHERE id = 42'), 't',
	'the column is filled');

# A session that has run statements, and waits for more.
my $session_of = sub {
	my %session = (in => "$_[0]\n\\echo reached\n", out => '');

	$session{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('type_alone') ],
		'<', \$session{in}, '>', \$session{out}, IPC::Run::timeout($patience));
	$session{run}->pump until $session{out} =~ /^reached$/m;
	return \%session;
};
my $end = sub {
	my ($session, $statement) = @_;

	$session->{in} .= "$statement;\n\\q\n";
	$session->{run}->finish;
};

# What the type alone loses: what commits while the night waits for its row, until the next night.
my $page_of_app = $session_of->('BEGIN; INSERT INTO exposures VALUES (43, 78);
	UPDATE filters SET items = bloom_add(items, 78) WHERE user_id = 43;');
my $night_of_job = IPC::Run::start(
	[ 'psql', '-Xq', '-d', $node->connstr('type_alone'), '-c', $job ],
	IPC::Run::timeout($patience));
$node->poll_query_until('type_alone', q{SELECT count(*) = 1 FROM pg_stat_activity
	WHERE wait_event_type = 'Lock' AND query LIKE 'CALL refresh_filters%'})
	or die 'the night does not wait';
$end->($page_of_app, 'COMMIT');
$night_of_job->finish;
my $contains = sub {
	return $node->safe_psql('type_alone',
		"SELECT items \@> $_[0] FROM filters WHERE user_id = 43");
};
is($contains->(78), 'f', 'an exposure that commits while the night reads is not in the filter');
$node->safe_psql('type_alone', $job);
is($contains->(78), 't', 'until the next night');

# FOR UPDATE makes a second request wait, but not that of a user without a row.
my ($lock) = $alone =~ /`(SELECT FROM filters .* FOR UPDATE)`/;
my $lock_of_new = $lock =~ s/42/46/r;
my $first_request = $session_of->("BEGIN; $lock; $lock_of_new;");
is(sqlstate($node, 'type_alone', "SET lock_timeout = '100ms'; $lock"), '55P03', 'FOR UPDATE waits');
is(sqlstate($node, 'type_alone', "SET lock_timeout = '100ms'; $lock_of_new"), '',
	'but only for a row');
$end->($first_request, 'ROLLBACK');

# After a night the exact query of the README returns the same page as the filter.
my ($night) = $document{'README.md'} =~ /^(INSERT INTO filters\n.*?;)/ms;
my @pages = $document{'README.md'} =~ /^(SELECT p\.id FROM posts AS p\n.*?;)/msg;
$node->safe_psql('readme', $night);
is_deeply([ map { $node->safe_psql('readme', $_) } @pages ], [ "104\n102", "104\n102" ],
	'README: the filter and exact SQL');

# Removing the extension: refused, and what the guide warns of.
is(sqlstate($node, 'readme', 'DROP EXTENSION bloomexp'), '2BP01',
	'the extension cannot be removed under a feed');
my $insert = 'INSERT INTO exposures (user_id, item_id) VALUES (42, 1)';
is($node->psql('readme', "BEGIN; DROP EXTENSION bloomexp CASCADE; $insert; ROLLBACK"), 0,
	'with CASCADE the triggers go, and inserts work');
my $drop = 'DROP SCHEMA seen, shown CASCADE; DROP TABLE filters; DROP EXTENSION bloomexp';
is($node->psql('readme', "BEGIN; $drop; $insert; ROLLBACK"), 0, 'after DROP SCHEMA they do not');

# An upsert of a row that is outside the window: what the guide says of the other ways.
my ($page) = $document{'doc/feed-over-a-table.md'} =~ /^(PREPARE page_of_posts AS\n.*?;)$/ms;
my $ada = '00000000-0000-0000-0000-000000000044';
my $item = '11111111-0000-0000-0000-000000000001';
my $again = "BEGIN; INSERT INTO users VALUES ('$ada'); INSERT INTO views
	VALUES ('$ada', '$item', now() - interval '31 days');";
my $execute = "EXECUTE page_of_posts('$ada', '{$item}')";
is($node->safe_psql($of_table, "$again $page $execute"), $item, 'an upsert returns the item');
is($node->safe_psql($of_table,
		"$again " . $page =~ s/DO UPDATE\nSET .*/DO NOTHING/r . $execute), '',
	'DO NOTHING takes it and does not return it');
is(sqlstate($node, $of_table, "$again " . $page =~ s/ON CONFLICT .*\nSET .*//r . $execute), '23505',
	'and without ON CONFLICT the page fails');

# A table is renamed as the guide says, and the feed follows it.
my ($rename) = $document{'doc/feed-over-a-table.md'}
  =~ /^( +DO (?:(?!^ +DO ).)*? RENAME TO .*?END \$\$;)$/ms;
is($node->safe_psql($of_table, "BEGIN; SET LOCAL client_min_messages = warning; $rename
	INSERT INTO impressions VALUES (42, 803);
	SELECT shown.unseen(42, '{803}'), problems FROM bloomexp.feeds() WHERE feed = 'shown'; ROLLBACK",
	@owner), '{}|{}', 'a table that is renamed');

# Renamed columns and schemas stop inserts, and renamed tables rebuilds, as the guide warns.
is(sqlstate($node, 'query', 'BEGIN; ALTER TABLE exposures RENAME item_id TO post_id;
	INSERT INTO exposures
	VALUES (42, 1)'), '42703', 'a renamed column');
# PL/pgSQL of PostgreSQL 17 says that the schema is missing, older ones that they know no such type.
is(sqlstate($node, 'query', 'BEGIN; ALTER SCHEMA shown RENAME TO saw;
	INSERT INTO exposures VALUES (42, 1)'), $node->pg_version < 17 ? '42601' : '3F000',
	'a renamed schema');
is($node->psql('query', 'ALTER TABLE exposures RENAME TO showings;
	INSERT INTO showings VALUES (42, 1)'), 0,
	'a renamed table takes inserts');
is(sqlstate($node, 'query', 'CALL shown.rebuild()'), '42P01', 'but no rebuild');

$node->stop;
done_testing();
