# Filters go through pg_upgrade, which takes the data files as they are, and through pg_dump
# and a restore: from this server to another cluster of its own, and from or to every other
# version of PostgreSQL that is found with bloomexp installed.  They are looked for beside this
# server; BLOOMEXP_OTHER_BINDIR names another place, for example
# /usr/local/pgsql/bin.

use File::Basename qw(basename dirname);
use File::Compare;
use Server;

require "$root/test/lib/samples.pl";

sub ask
{
	my ($bindir, $option) = @_;
	my ($out, $error) = run_command([ "$bindir/pg_config", $option ]);

	return $out;
}

sub major { return ask($_[0], '--version') =~ /(\d+)/ ? $1 : 0 }

# What a server lacks to take part; '' if nothing.
sub lacks
{
	my ($bindir) = @_;

	for my $program ('pg_config', 'postgres', 'initdb', 'pg_upgrade', 'pg_dump', 'psql')
	{
		return "$bindir has no $program" unless -x "$bindir/$program";
	}
	my $folder = ask($bindir, '--sharedir') . '/extension';
	return "bloomexp is not installed in $bindir"
	  unless -e "$folder/bloomexp.control" && -e ask($bindir, '--pkglibdir') . '/bloomexp.so';
	# The module of another build could lack functions.
	return "another bloomexp is installed in $bindir"
	  if grep { compare($_, "$folder/" . basename($_)) } glob "$root/bloomexp--*.sql";
	return '';
}

# A cluster of the one server, filled by a function, and started as one of the other; or
# nothing, if pg_upgrade fails.
sub carry_over
{
	my ($what, $from, $to, $fill) = @_;
	my ($old_major, $new_major) = (major($from), major($to));
	my $suffix = "${what}_${old_major}_$new_major";
	my @locale = ('--encoding', 'UTF8', '--no-locale');

	my $old = PostgreSQL::Test::Cluster->new("old_$suffix", install_path => dirname($from));
	$old->init(extra => \@locale);
	$old->start;
	$fill->($old);
	$old->stop;

	# Page checksums must be as before; since version 18 they are on unless refused.
	my $new = PostgreSQL::Test::Cluster->new("new_$suffix", install_path => dirname($to));
	$new->init(extra => [ @locale, $old_major < 18 && $new_major >= 18 ? '--no-data-checksums'
		: () ]);
	chdir $new->basedir or die;
	return unless run_log([ "$to/pg_upgrade", '--no-sync', '-d', $old->data_dir,
			'-D', $new->data_dir,
			'-b', $from, '-B', $to, '-s', $new->host, '-p', $old->port, '-P', $new->port ]);
	$new->start;
	return $new;
}

sub upgrade
{
	my ($from, $to) = @_;
	my $name = major($from) == major($to) ? 'same version' : major($from) . ' to ' . major($to);
	my ($answers, $fresh);
	my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
	my $alone = q{SELECT alone.unseen(1, '{a,c}'), alone.contains(1, 'a'), alone.contains(1, 'c')};

	my $new = carry_over('filters', $from, $to, sub {
		my ($old) = @_;

		samples::create($old, 'postgres');
		samples::create_feeds($old, 'postgres');
		$old->safe_psql('postgres',
			'INSERT INTO exposures VALUES (5, 903); CALL untracked.rebuild()');
		# what refers to the functions and operators
		$old->safe_psql('postgres', q{
			ALTER TABLE seen ALTER items SET DEFAULT bloom_new(50),
				ADD CHECK ((bloom_info(items)).bytes < 1000000);
			CREATE INDEX ON seen USING hash (items);
			CREATE INDEX ON seen (bloom_fpr(items));
			CREATE MATERIALIZED VIEW kept AS SELECT user_id, items FROM seen WHERE user_id < 6;
			CREATE VIEW fresh AS SELECT '{1,2,3,4}'::bigint[] - items AS items FROM kept
				ORDER BY user_id});
		$answers = samples::answers($old, 'postgres');
		$fresh = $old->safe_psql('postgres', 'TABLE fresh');
		$old->safe_psql('postgres', q{SELECT bloomexp.create_feed('alone', item_type => 'text');
			SELECT alone.add(1, '{a,b}')});
		ok(run_log([ "$to/pg_dump", '-f', $dump, $old->connstr('postgres') ]), "$name: dumped");
	});
	# Not every minor release can upgrade to every other.
	if (!$new && !carry_over('plain', $from, $to,
		sub { $_[0]->safe_psql('postgres', 'CREATE TABLE plain (i int)') }))
	{
	  SKIP: { skip "$name: pg_upgrade from " . ask($from, '--version') . ' to '
		. ask($to, '--version')
		. ' fails for a plain table, too', 1 }
		return;
	}
	ok($new, "$name: pg_upgrade") or return;

	is(samples::answers($new, 'postgres'), $answers, "$name: filters answer as they did");
	is($new->safe_psql('postgres', 'TABLE fresh'), $fresh, "$name: views, too");
	is($new->safe_psql('postgres', q{
			SET enable_seqscan = off;
			SELECT string_agg(s.note, ' ' ORDER BY s.user_id) FROM kept AS k,
				LATERAL (SELECT * FROM seen WHERE items = k.items) AS s}),
		'small layers large window counting', "$name: the hash index finds the filters");
	$new->safe_psql('postgres', samples::add("'{901}'::bigint[]", 1, 2, 3, 77)
		. samples::change_others());
	is(samples::containing($new, 'postgres', 901), '1 2 3 4 5 6 77', "$name: adds");
	$new->safe_psql('postgres', 'INSERT INTO exposures VALUES (1, 903), (78, 903)');
	is(samples::shown($new, 'postgres', 903),
		'feed 1, feed 5, feed 78, untracked 1, untracked 5, untracked 78',
		"$name: feeds go on");
	$new->safe_psql('postgres', 'CALL feed.rebuild()');
	is(samples::shown($new, 'postgres', 903),
		'feed 1, feed 5, feed 78, untracked 1, untracked 5, untracked 78',
		"$name: filters are rebuilt");
	is($new->safe_psql('postgres', $alone), '{c}|t|f',
		"$name: and a feed without a table remembers");

	$new->safe_psql('postgres', 'CREATE DATABASE restored');
	ok(run_log([ "$to/psql", '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $new->connstr('restored'),
		'-f', $dump ]), "$name: restored");
	is(samples::answers($new, 'restored'), $answers, "$name: restored filters answer as they did");
	is($new->safe_psql('restored', $alone), '{c}|t|f',
		"$name: restored, a feed without a table remembers");
	$new->safe_psql('restored', "INSERT INTO exposures VALUES (79, 903);
		SELECT alone.add(1, '{c}')");
	is(samples::shown($new, 'restored', 903)
		. $new->safe_psql('restored', q{SELECT alone.unseen(1, '{c,d}')}),
		'feed 5, feed 79, untracked 5, untracked 79{d}', "$name: restored feeds go on");
	$new->stop;
	return;
}

my ($this) = run_command([ $ENV{PG_CONFIG} || 'pg_config', '--bindir' ]);
my $lacks = lacks($this);
plan skip_all => $lacks if $lacks;

upgrade($this, $this);

# One server of each other version; the elder is the old one.
my %other;
for my $bindir (glob('/usr/lib/postgresql/*/bin /usr/pgsql-*/bin'), $ENV{BLOOMEXP_OTHER_BINDIR}
	|| ())
{
	$lacks = lacks($bindir);
	note $lacks if $lacks;
	next if $lacks || major($bindir) == major($this);
	$other{ major($bindir) } = $bindir;
}
SKIP:
{
	skip 'another version of PostgreSQL with bloomexp is missing, which BLOOMEXP_OTHER_BINDIR can '
	  . 'name', 1 unless %other;
	upgrade(sort { major($a) <=> major($b) } $this, $other{$_}) for sort keys %other;
}

done_testing();
