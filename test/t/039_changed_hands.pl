# What others own, or get, around a feed of a superuser: the database and the schema of the
# extension, the trusted extension itself, types, what a view uses.  Their code says as whom it
# runs, and may not run as anybody else.

use Server;

my $node = start_server('hands', 'autovacuum = off');

$node->safe_psql('postgres', 'CREATE ROLE boss; CREATE ROLE evil');

# Create a database of "boss", with a function that reports as whom it runs.
sub database
{
	my ($name, $sql) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name OWNER boss");
	$node->safe_psql($name, q{
		CREATE FUNCTION public.tell(anyelement) RETURNS boolean LANGUAGE plpgsql AS $$
		BEGIN
			RAISE WARNING 'runs as %', current_user;
			RETURN true;
		END $$;
		ALTER FUNCTION public.tell OWNER TO boss;
		CREATE SCHEMA app;
		CREATE TABLE app.exposures (user_id bigint, item_id bigint,
			shown_at timestamptz DEFAULT now());
		CREATE INDEX ON app.exposures (user_id, shown_at);
		INSERT INTO app.exposures SELECT u, i FROM generate_series(1, 3) AS u,
			generate_series(1, 30) AS i;} . $sql);
}

# Return the errors and warnings of some statements.
sub said
{
	my ($name, $sql) = @_;
	my (undef, undef, $stderr) = $node->psql($name, $sql, on_error_stop => 0);

	return $stderr =~ s/^.*?(?=ERROR|WARNING)//mgr =~ s/^(?:CONTEXT|DETAIL|HINT|SQL|PL).*\n?//mgr;
}

# The owner of the database renames the schema of the extension, and makes another one, in which the
# type is a domain with a constraint, and a function takes the place of bloom_info().

database('renamed', q{
	CREATE EXTENSION bloomexp;
	SELECT bloomexp.create_feed('shown', 'app.exposures'); SELECT bloomexp.create_feed('seen');
	SELECT bloomexp.create_feed('untracked', 'app.exposures', trigger => false);
	CALL shown.rebuild(users => '{1}');
	SET ROLE boss;
	ALTER SCHEMA public RENAME TO moved;
	CREATE SCHEMA public;
	CREATE DOMAIN public.bloom AS moved.bloom CHECK (moved.tell(1));
	CREATE FUNCTION public.bloom_info(filter moved.bloom, OUT fpr float8, OUT fpr_now float8)
		LANGUAGE plpgsql AS $$ BEGIN PERFORM moved.tell(1); END $$});
for ('SELECT seen.take(1, ARRAY(SELECT generate_series(1, 300)::bigint))',
	'SELECT seen.add_batch(array_fill(2, ARRAY[300])::bigint[],
		ARRAY(SELECT generate_series(1, 300)::bigint), array_fill(now(), ARRAY[300]))',
	q{SELECT seen.merge(1, 2)}, 'SELECT fpr_max FROM seen.health', 'CALL seen.expire()',
	'SELECT users FROM shown.health',
	q{SELECT untracked.unseen(1, '{1}'), untracked.take(2, '{1,40}')},
	'SELECT feed FROM bloomexp.feeds()')
{
	is(said('renamed', $_), '', "the schema of the extension is another's: $_");
}
is(said('renamed', 'CALL shown.rebuild(); CALL untracked.rebuild()'), '', 'nor in a rebuild');
like(said('renamed', q{SELECT bloomexp.feed_sql('more') AS script \gset
	ALTER SCHEMA moved RENAME TO away; ALTER SCHEMA public RENAME TO moved;
	:script}), qr/type moved\.bloom is not that of the extension/, 'nor does a script');

# Whoever created the trusted extension drops it, and makes a schema of its name.

database('dropped', q{
	SET ROLE boss;
	CREATE EXTENSION bloomexp;
	RESET ROLE;
	SELECT bloomexp.create_feed('shown', 'app.exposures'); SELECT bloomexp.create_feed('seen');
	SELECT bloomexp.create_feed('untracked', 'app.exposures', trigger => false);
	SET ROLE boss;
	DROP EXTENSION bloomexp CASCADE});
is($node->safe_psql('dropped', q{
	SELECT DISTINCT proname FROM pg_proc
	WHERE pronamespace IN (
		SELECT oid FROM pg_namespace WHERE nspname IN ('shown', 'seen', 'untracked'))}),
	'settings', 'no function of a feed is left that would call it');
$node->safe_psql('dropped', 'INSERT INTO app.exposures VALUES (1, 1)');

# A type that others get after the script was made, and before it is applied; what a view uses.

database('typed', q{
	CREATE EXTENSION bloomexp;
	CREATE DOMAIN app.id AS bigint;
	CREATE SCHEMA evil AUTHORIZATION evil;
	SET ROLE evil;
	CREATE DOMAIN evil.d AS text;
	CREATE FUNCTION evil.f(bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT $1';
	CREATE OPERATOR evil.+ (RIGHTARG = bigint, FUNCTION = evil.f);
	RESET ROLE;
	CREATE VIEW app.by_domain AS SELECT user_id::app.id, item_id, shown_at FROM app.exposures;
	CREATE VIEW app.with_type AS
		SELECT user_id, item_id, shown_at FROM app.exposures WHERE 'x'::evil.d IS NOT NULL;
	CREATE VIEW app.with_function AS
		SELECT evil.f(user_id) AS user_id, item_id, shown_at FROM app.exposures;
	CREATE VIEW app.with_operator AS
		SELECT user_id, OPERATOR(evil.+) item_id AS item_id, shown_at FROM app.exposures;
	CREATE FOREIGN DATA WRAPPER nowhere;
	CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
	CREATE FOREIGN TABLE app.far (user_id bigint, item_id bigint, shown_at timestamptz, note evil.d)
		SERVER nowhere;
	CREATE VIEW app.clean AS SELECT user_id, abs(item_id) AS item_id, shown_at FROM app.exposures});
like(said('typed', q{
	SELECT bloomexp.feed_sql('late', 'app.by_domain', trigger => false) AS script \gset
	ALTER DOMAIN app.id OWNER TO evil;
	BEGIN;
	:script}), qr/^ERROR:  feed "late" uses objects that other roles can replace$/m,
	'the script looks at domains, too');
for (qw(with_type with_function with_operator far))
{
	my ($status, undef, $stderr) = $node->psql('typed',
		"SELECT bloomexp.create_feed('of_view', 'app.$_', trigger => false)");

	like($stderr, qr/DETAIL:  (?:Type evil\.d|Function evil\.f\(bigint\)) belongs to role evil/,
		"exposures $_ of others");
}
is(said('typed', q{SELECT bloomexp.create_feed('of_view', 'app.clean', trigger => false);
	SELECT of_view.unseen(1, '{1}')}), '', 'a view of nobody else\'s');

# A rebuild goes on only with the feed with which it began.

my $swapped = q{SELECT bloomexp.create_feed('swapped', 'app.exposures')};
$node->safe_psql('typed', "$swapped; INSERT INTO app.exposures (user_id, item_id)
	SELECT n, 1 FROM generate_series(1, 2500) AS n; TRUNCATE swapped.filters");
my $rebuild = $node->background_psql('typed', on_error_stop => 0);
$rebuild->query_until(qr/began/,
	"\\echo began\nCALL swapped.rebuild(pause => '3 s');\n\\echo ended\n");
ok($node->poll_query_until('typed', q{SELECT EXISTS (SELECT FROM pg_stat_activity
	WHERE wait_event = 'PgSleep' AND query LIKE '%swapped%')}), 'it sleeps between batches');
$node->safe_psql('typed', "DROP SCHEMA swapped CASCADE; $swapped");
$rebuild->query_until(qr/ended/, '');
like($rebuild->{stderr}, qr/ERROR:  function swapped.rebuild_batch was replaced in the meantime/,
	'not with another one of its name');
$rebuild->quit;

# A role that may call a batch of a rebuild defers a trigger of its own until that call.

database('deferred', q{
	CREATE EXTENSION bloomexp;
	SELECT bloomexp.create_feed('shown', 'app.exposures');
	GRANT USAGE ON SCHEMA shown TO boss;
	GRANT EXECUTE ON FUNCTION shown.rebuild_batch TO boss});
is(said('deferred', q{
	SET ROLE boss;
	CREATE TABLE public.waiting (i int);
	CREATE FUNCTION public.tell_later() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN PERFORM public.tell(1); RETURN NULL; END $$;
	CREATE CONSTRAINT TRIGGER later AFTER INSERT ON public.waiting
		DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.tell_later();
	BEGIN;
	INSERT INTO public.waiting VALUES (1);
	SELECT shown.rebuild_batch(NULL, NULL, NULL, 250, true, true,
		ROW(0, 0, 0, 0, 0, 0, 0)::bloomexp.rebuild_counts);
	ROLLBACK}), '', 'a batch does not run a trigger that its caller has deferred');

# The owner of the database drops the extension while his calls wait, and makes a schema bloomexp of
# his own, with all of its functions.  The calls find the functions of the feed in the caches of their
# session, and maybe what these have compiled and planned before; or their statement has heard of the
# change before it calls them.  (Of a trigger the table is locked, so its function stays.)

my @calls = (
	(map { "seen.$_" } q{unseen(1, '{1}')}, 'current(1)', 'lock(1)', q{take(1, '{1}')},
		q{take_back(1, '{1}')}, q{add(1, '{1}')}, q{add_batch('{1}', '{1}', '{now}')}, 'forget(1)',
		'merge(1, 2)', 'expire_batch(NULL, false, 0)'),
	(map { my $feed = $_; map { "$feed.$_" } q{unseen(1, '{1}')}, 'current(1)', 'lock(1)',
			q{take(1, '{1,40}', 1)}, q{take_back(1, '{40}')} } 'shown', 'untracked'),
	'shown.rebuild_batch(NULL, NULL, NULL, 1, true, true, '
		. 'ROW(0, 0, 0, 0, 0, 0, 0)::bloomexp.rebuild_counts)');
my $planted = q{
	SELECT format('CREATE DOMAIN bloomexp.%I AS integer CHECK (public.tell(1));', c.relname)
	FROM pg_class AS c WHERE c.relnamespace = 'bloomexp'::regnamespace AND c.relkind = 'c';
	SELECT format('CREATE FUNCTION bloomexp.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L;', p.proname,
		pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),
		'BEGIN PERFORM public.tell(1); END')
	FROM pg_proc AS p WHERE p.pronamespace = 'bloomexp'::regnamespace AND p.prokind = 'f'};

for my $mode ('cold', 'warm', 'told')
{
	my $name = "fallen_$mode";

	database($name, q{
		CREATE EXTENSION bloomexp;
		SET client_min_messages = error;
		SELECT bloomexp.create_feed('seen'), bloomexp.create_feed('shown', 'app.exposures'),
			bloomexp.create_feed('untracked', 'app.exposures', trigger => false);
		GRANT USAGE ON SCHEMA app, seen, shown, untracked TO boss;
		GRANT SELECT ON app.exposures TO boss;
		GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA seen, shown, untracked TO boss});
	my $statements = $node->safe_psql($name, $planted);
	my %session;
	my $gate = $node->background_psql($name);
	$gate->query_until(qr/shut/, "SELECT pg_advisory_lock(1);\n\\echo shut\n");
	for my $call (@calls)
	{
		my $before = $mode eq 'cold' ? '' : "SELECT $call;";
		my $waited = '(SELECT pg_advisory_xact_lock_shared(1)'
		  . ($mode eq 'told' ? ', pg_temp.hear()' : '') . ' OFFSET 0) AS waited';

		$session{$call} = $node->background_psql($name, on_error_stop => 0);
		$session{$call}->query_until(qr/began/, "
			SET ROLE boss;
			CREATE FUNCTION pg_temp.hear() RETURNS bigint LANGUAGE plpgsql
				SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off
				AS \$\$
				DECLARE
					-- looked up now: what a function declares is then found in a cache
					a seen.filters.items%TYPE;
					b shown.filters.items%TYPE;
					c untracked.filters.items%TYPE;
				BEGIN EXECUTE 'LOCK app.exposures IN ACCESS SHARE MODE'; RETURN 1; END \$\$;
			SELECT pg_temp.hear(), pg_get_userbyid(10);
			$before
			\\echo began
			SELECT $call FROM $waited;
			\\echo ended\n");
	}
	ok($node->poll_query_until($name, 'SELECT count(*) = ' . @calls
		. q{ FROM pg_stat_activity WHERE wait_event = 'advisory'}), "$mode: calls wait");
	$node->psql($name, "
		SET ROLE boss;
		DROP SCHEMA public CASCADE;
		CREATE SCHEMA public;
		CREATE FUNCTION public.tell(anyelement) RETURNS boolean LANGUAGE plpgsql AS \$\$
			BEGIN RAISE WARNING 'runs as %', current_user; RETURN true; END \$\$;
		CREATE DOMAIN public.bloom AS bytea CHECK (public.tell(1));
		CREATE SCHEMA bloomexp;
		$statements", on_error_stop => 0);
	cmp_ok($node->safe_psql($name, q{SELECT count(*) FROM pg_proc
		WHERE pronamespace = 'bloomexp'::regnamespace}), '>', 80, "$mode: functions of his");
	$gate->quit;
	my $errors = 0;
	for my $call (@calls)
	{
		$session{$call}->query_until(qr/ended/, '');
		$errors += $session{$call}->{stderr} =~ /ERROR/;
		unlike($session{$call}->{stderr}, qr/runs as/, "$mode: $call runs nothing of his");
		$session{$call}->quit;
	}
	cmp_ok($errors, '>', @calls / 2, "$mode: most calls are errors");
}

# What is made or maintained with the rights of the caller keeps the extension, before it waits for a
# lock that anybody can hold.

database('waiting', 'CREATE EXTENSION bloomexp');
my $holder = $node->background_psql('waiting');
$holder->query_until(qr/held/, "SET ROLE boss;
	SELECT pg_advisory_lock(hashtext('bloomexp'), hashtext('made'));\n\\echo held\n");
my $maker = $node->background_psql('waiting', on_error_stop => 0);
$maker->query_until(qr/began/, "\\echo began\nSELECT bloomexp.create_feed('made');\n\\echo ended\n");
ok($node->poll_query_until('waiting', q{SELECT count(*) = 1 FROM pg_stat_activity
	WHERE wait_event_type = 'Lock' AND wait_event = 'advisory'}), 'create_feed() waits');
like(said('waiting', q{SET ROLE boss; SET lock_timeout = '1s'; DROP SCHEMA public CASCADE}),
	qr/ERROR:  canceling statement due to lock timeout/, 'meanwhile the extension cannot be dropped');
$holder->quit;
$maker->query_until(qr/ended/, '');
$maker->quit;
is($node->safe_psql('waiting', 'SELECT feed, problems FROM bloomexp.feeds()'), 'made|{}',
	'and then the feed is made');

# The functions in the schema bloomexp are those of the type: with the same C code, alike in all.

is($node->safe_psql('typed', q{
	SELECT a.oid::regprocedure, b.oid::regprocedure
	FROM pg_proc AS a
	JOIN pg_proc AS b ON b.prosrc = a.prosrc AND b.probin = a.probin AND b.oid > a.oid
	WHERE a.probin = '$libdir/bloomexp' AND (a.proisstrict, a.provolatile, a.proparallel)
		<> (b.proisstrict, b.provolatile, b.proparallel)}), '', 'none is stricter than its twin');
is($node->safe_psql('typed', q{SELECT bloomexp.slice_start(now(), NULL, 6) IS NULL}), 't',
	'NULL is no crash');

done_testing();
