# The install script, which a superuser may run in a schema where others have planted
# objects: it takes over nothing that is there, does nothing but create, and what it
# creates calls nothing that the caller's search_path could change.  What PostgreSQL
# has made of it is tested by sql/install.sql; what a feed is made of, with planted
# objects, by sql/feed_rights.sql.
#
# Each rule is a function from a script to complaints.  It is tried on scripts that
# break it before it looks at ours.

use File::Basename;
use Server;

# Its statements: without psql's lines, comments, and the contents of strings; the
# bodies of functions stand apart.
sub statements
{
	my ($script) = @_;
	my @bodies;

	$script =~ s/^\\.*//gm;
	$script =~ s{\$(\w*)\$(.*?)\$\1\$}{push @bodies, $2; '$' . $#bodies . '$'}gse;
	return map {
		my $text = bare($_);
		{ text => $text, body => $text =~ /\$(\d+)\$/ ? bare($bodies[$1]) : '' }
	} grep { /\S/ } split /;/, bare($script);
}

sub bare
{
	my ($text) = @_;

	$text =~ s{--[^\n]*|/\*.*?\*/|('(?:[^']|'')*')}{defined $1 ? "''" : ''}gse;
	return $text =~ s/^\s+//r;
}

# What a statement is about, for complaints.
sub subject { return $_[0]{text} =~ /^([^(\n]*[^(\s])/ ? $1 : '' }

sub takes_over
{
	return grep { $_->{text} =~ /\bOR\s+REPLACE\b|\bIF\s+NOT\s+EXISTS\b/i } @_;
}

sub does_more
{
	my $creates =
	  qr/^CREATE (?:SCHEMA|FUNCTION|PROCEDURE|AGGREGATE|TYPE|CAST|OPERATOR(?: CLASS)?)\b/;
	my $decoy = qr/^CREATE TABLE bloomexp\.new_rows \(\)\s*$/;	# without rows: see track.sql
	my $describes = qr/^COMMENT ON\b/;
	my $opens =
	  qr/^GRANT USAGE ON SCHEMA bloomexp TO PUBLIC\b|^CALL bloomexp\.set_privileges\(\)\s*$/;

	return grep { $_->{text} !~ /$creates|$decoy|$describes|$opens/ } @_;
}

# A default is a constant: it is an expression that is parsed when the script runs.
sub computes_defaults
{
	my $constant = qr/NULL\b|true\b|false\b|''|-?[\d.]+\b/;

	return grep { $_->{text} =~ /\bDEFAULT\s+(?!FOR TYPE\b|$constant)/ } @_;
}

my @rules = (
	[ 'nothing that is there is taken over', \&takes_over,
		"CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS \$\$
			SELECT 1 \$\$;\nCREATE TABLE IF NOT EXISTS t ();" =>
		'CREATE OR REPLACE FUNCTION f|CREATE TABLE IF NOT EXISTS t',
		"CREATE FUNCTION f() AS 'CREATE OR REPLACE'; -- IF NOT EXISTS\n"
			. "COMMENT ON FUNCTION f() IS 'IF NOT EXISTS; or replace'" => '' ],
	[ 'the script creates, and does nothing else', \&does_more,
		"SELECT f(1);\nDO \$\$ BEGIN END \$\$;\nSET search_path = x;\n"
			. "CREATE TABLE bloomexp.new_rows (a int);\n"
			. "GRANT CREATE ON SCHEMA bloomexp TO PUBLIC;\n"
			. "CALL bloomexp.f()"
			=> 'SELECT f|DO $0$|SET search_path = x|CREATE TABLE bloomexp.new_rows|'
			. 'GRANT CREATE ON SCHEMA bloomexp TO PUBLIC|CALL bloomexp.f',
		"\\echo Use it; now\nCREATE TYPE t;\nCREATE TABLE bloomexp.new_rows ();\n"
			. "CREATE OPERATOR - (FUNCTION = f);\n"
			. "CREATE OPERATOR CLASS c DEFAULT FOR TYPE t USING hash AS OPERATOR 1 =;" => '' ],
	[ 'defaults of arguments are constants', \&computes_defaults,
		"CREATE FUNCTION f(a timestamptz DEFAULT now()) AS 'x'" => 'CREATE FUNCTION f',
		"CREATE FUNCTION f(a text DEFAULT 'it''s now()', b int DEFAULT -1, c int DEFAULT NULL,
			d bool DEFAULT true, e float8 DEFAULT 0.01) AS 'x'" => '' ]);

my $root = dirname(__FILE__) . '/../..';
my ($version) = slurp_file("$root/bloomexp.control") =~ /^default_version = '(.*)'$/m;
my $script = slurp_file("$root/bloomexp--$version.sql");
my @ours = statements($script);

cmp_ok(scalar @ours, '>', 150, 'there are statements');
my @with_bodies = map { $_->{body} ? subject($_) =~ s/.* //r : () } @ours;
cmp_ok(scalar @with_bodies, '>', 50, 'there are functions with a body');
is(join(' ', grep { !/^bloomexp\./ } @with_bodies), '', 'but those of the type are in C');

for (@rules)
{
	my ($name, $rule, @examples) = @$_;

	while (my ($example, $complaint) = splice @examples, 0, 2)
	{
		is(join('|', map { subject($_) } $rule->(statements($example))), $complaint,
			"$name: the rule sees " . ($complaint ? $complaint : 'what is right'));
	}
	my @complaints = map { subject($_) } $rule->(@ours);
	ok(!@complaints, $name) or diag join "\n", @complaints;
}

# What a provider of PostgreSQL asks before it offers an extension: the README says so,
# and the module and the control file show it.  sql/install.sql has the rest: an
# ordinary role creates it, and no function runs with its owner's rights.  Nor does the
# module become another user: what others wrote is evaluated as plain SQL would, or not at all.

my $config = $ENV{PG_CONFIG} || 'pg_config';
chomp(my $sharedir = `$config --sharedir`);
chomp(my $pkglibdir = `$config --pkglibdir`);

like(slurp_file("$sharedir/extension/bloomexp.control"), qr/^trusted = true$/m, 'trusted');

# Workers, callbacks, settings, hooks, shared memory; other users; tables, files, sockets, programs.
my $forbidden = qr/^(?:
	(?:Cache)?Register\w+|DefineCustom\w+|\w+_hook(?:_type)?|RequestAddin\w+|ShmemInit\w+|
	Set\w*UserId\w*|SetSessionAuthorization|SetCurrentRoleId|SwitchToUntrustedUser|
	(?:relation|table|index)_open\w*|SPI_\w+|
	(?:Allocate|OpenTransient|PathNameOpen|BasicOpen)File\w*|
	f?open(?:at)?(?:64)?|socket|connect|system|popen|fork|exec[lv]\w*)$/x;

my @forbidden = qw(fopen64 RegisterDynamicBackgroundWorker planner_hook DefineCustomIntVariable
	SetUserIdAndSecContext CacheRegisterSyscacheCallback relation_open);
is_deeply([ grep { /$forbidden/ } 'palloc', @forbidden, 'GetUserId' ], \@forbidden,
	'the rule sees what it looks for');

# Whether a type can be cast is not tried out, and no parameter is cast to a type that somebody else
# may own: the owner of a type makes its casts, and a domain checks NULL.
my $installed = join '', map { slurp_file($_) } glob "$sharedir/extension/bloomexp--*.sql";
my $casts = qr/^.*(?:NULL|\$\d)::%.*$/m;

is(join(' ', map { /$casts/ ? 1 : 0 } q{EXECUTE format('SELECT NULL::%s', t)},
	q{'f.u = ANY ($1::%5$s[])'}, q{'$1::pg_catalog.xid'}), '1 1 0',
	'the rule about casts sees what it looks for');
is(join("\n", $installed =~ /$casts/g), '', 'no cast to a type of others in the install script');

# Databases of other encodings.  The script is ASCII, which each of them can take, and a byte
# beyond it is a letter in some: no name is refused for it.

is(join("\n", $installed =~ /^.*[^\x00-\x7f].*$/mg), '', 'the install script is ASCII');

my $node = start_server('encodings');
my %names = (
	EUC_JP => "\x{65e5}\x{672c}",
	EUC_KR => "\x{d55c}\x{ae00}",
	EUC_CN => "\x{4e2d}\x{6587}",
	EUC_TW => "\x{4e2d}\x{6587}",
	SQL_ASCII => "\x{c0}",
	WIN1252 => "\x{20ac}",
	LATIN1 => "\x{e9}",
	UTF8 => "\x{20ac}");

for my $encoding (sort keys %names)
{
	my $name = $names{$encoding};

	utf8::encode($name);
	$node->safe_psql('postgres',
		"CREATE DATABASE \"in $encoding\" ENCODING '$encoding' TEMPLATE template0");
	is($node->safe_psql("in $encoding", "SET client_min_messages = error; SET client_encoding = '"
			. ($encoding eq 'SQL_ASCII' ? 'SQL_ASCII' : 'UTF8') . "';
		CREATE EXTENSION bloomexp;
		CREATE TABLE \"$name\" (user_id bigint, item_id bigint, shown_at timestamptz);
		CREATE INDEX ON \"$name\" (user_id, shown_at);
		SELECT bloomexp.create_feed('feed $name', '\"$name\"');
		INSERT INTO \"$name\" VALUES (1, 2, now());
		SELECT \"feed $name\".unseen(1, '{1,2,3}'), problems, feed FROM bloomexp.feeds()"),
		"\n{1,3}|{}|feed $name",
		"a database in $encoding has the extension, and a feed with a name in its letters");
}

# An operator for just these two types comes before one of pg_catalog that needs a cast: an install
# script that names operators plainly calls it, as the superuser who runs it.

$node->safe_psql('postgres', 'CREATE DATABASE planted TEMPLATE template0; CREATE ROLE evil');
$node->safe_psql('planted', q{
	GRANT CREATE ON SCHEMA public TO evil;
	SET ROLE evil;
	DO $$
	DECLARE
		operator record;
	BEGIN
		FOR operator IN
			SELECT l.type AS l, r.type AS r, n.name
			FROM unnest('{oid,regclass,regproc,regprocedure,regtype,regrole,regnamespace,name,text,
				"\"char\"",smallint,integer,bigint,boolean,oid[],text[]}'::text[]) AS l(type),
				unnest('{oid,regclass,regproc,regprocedure,regtype,regrole,regnamespace,name,text,
				"\"char\"",smallint,integer,bigint,boolean,oid[],text[]}'::text[]) AS r(type),
				unnest('{=,<>,<,>,<=,>=,||}'::text[]) AS n(name)
		LOOP
			EXECUTE format('CREATE OR REPLACE FUNCTION public.trap(%s, %s) RETURNS boolean
				LANGUAGE plpgsql AS %L', operator.l, operator.r,
				'BEGIN RAISE WARNING ''trapped: %'', current_user; RETURN NULL; END');
			EXECUTE format('CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s,
				FUNCTION = public.trap)', operator.name, operator.l, operator.r);
		END LOOP;
	END $$});
(undef, undef, my $said) = $node->psql('planted', 'SELECT 1::oid = $$pg_class$$::regclass');
like($said, qr/WARNING:  trapped: \w+/, 'planted operators are called');
(undef, undef, $said) = $node->psql('planted', 'CREATE EXTENSION bloomexp');
is(join("\n", grep { defined } (split /\n/, $said)[ 0 .. 3 ]), '', 'but not by the install script');
$node->stop;

SKIP:
{
	my @names = map { / U (\w+)/ ? $1
		: () } `nm -D --undefined-only '$pkglibdir/bloomexp.so' 2>/dev/null`;
	skip 'no nm', 2 unless @names;

	ok((grep { $_ eq 'palloc' } @names), 'what the module takes from the server and the system');
	is(join(' ', grep { /$forbidden/ } @names), '',
		'none of it is a worker, a setting, a hook, another user, a file or a socket');
}

done_testing();
