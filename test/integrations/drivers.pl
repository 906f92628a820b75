# Drivers: the programs of examples/drivers take a page as they are written; the functions of a
# feed need no casts; and whatever a driver makes of its parameters in other statements, with
# casts and without, the outcome is the right result or an error, never an item lost in
# silence.  A driver that is not installed is skipped, but CI insists on all.

use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::RealBin/../lib";

use Documents;
use Drivers;
use File::Copy qw(copy);
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $patience = $PostgreSQL::Test::Utils::timeout_default || 180;
my $drivers = "$FindBin::RealBin/drivers";
my $examples = "$FindBin::RealBin/../../examples/drivers";
my $folder = PostgreSQL::Test::Utils::tempdir();

# Statements with the user as $1 and items as $2.  Those with casts also run without.
my %statement = (
	take => 'SELECT seen.take($1, $2, 10)',
	unseen => 'SELECT seen.unseen($1, $2)',
	add => 'INSERT INTO exposures (user_id, item_id) SELECT $1::bigint, unnest($2::bigint[])',
	exclude => 'SELECT $2::bigint[] - (SELECT seen.current($1::bigint))',
	add_to_filter => 'INSERT INTO seen.filters AS f (user_id, items) VALUES ($1::bigint, bloom_add(NULL, $2::bigint[]))
		ON CONFLICT (user_id) DO UPDATE SET items = bloom_add(f.items, $2::bigint[])',
	ask_one => q{SELECT CASE WHEN (SELECT seen.current($1::bigint)) @> $2::bigint THEN ARRAY['contained'] ELSE ARRAY['fresh'] END});
$_ = s/\s+/ /gr for values %statement;
$statement{add_one} = $statement{add_to_filter} =~ s/bigint\[\]/bigint/gr;

#
# A server that JDBC reaches, too: by TCP, with a password.
#

my $node = start_node('drivers');

# Run a command; its output, or nothing if it fails.
sub output_of
{
	my ($input, @command) = @_;
	my ($stdout, $stderr) = ('', '');
	my $ok = eval {
		IPC::Run::run(\@command, '<', \$input, '>', \$stdout, '2>', \$stderr, IPC::Run::timeout($patience));
	};

	diag "@command: $stderr$@" if $stderr ne '' || $@;
	return $ok ? $stdout : undef;
}

# Whether a command can be run and is content; silently.
sub works { return eval { IPC::Run::run([@_], '<', \undef, '>&', \my $output) } }

#
# The drivers: how to run the program of the examples, and ours; and what a driver refuses
# although the types are known: values of another type, or an array that it cannot write
#

my %refused = (
	asyncpg => qr/^error\t\t?\w*\tinvalid input for query argument/,
	'postgres.js' => qr/cannot cast type bigint to bigint\[\]$/,
	(map { ($_ => qr/malformed array literal: "Array"/) } 'PHP', 'PDO', 'PDO emulated'),
	'Ruby pg' => qr/malformed array literal: "\[/,
	# what says that it is a text or an array of texts, and the map's empty array
	JDBC => qr/function seen\.\w+\(bigint, (?:text\[\]|character varying)[^)]*\) does not exist/,
	'Ruby pg, type map' => qr/function seen\.\w+\(unknown, text\[\][^)]*\) does not exist/);

my $jar = '/usr/share/java/postgresql.jar';

sub psycopg
{
	my $python = python() or return;

	return ([ $python, "$examples/psycopg_page.py" ], [ $python, "$drivers/python.py", 'psycopg' ]);
}

sub asyncpg
{
	return unless works('/usr/bin/python3', '-c', 'import asyncpg');
	return ([ '/usr/bin/python3', "$examples/asyncpg_page.py" ], [ '/usr/bin/python3', "$drivers/python.py", 'asyncpg' ]);
}

# Node.js looks for modules beside a program.
sub node
{
	my ($module, $program) = @_;

	return unless -d "$drivers/node_modules/$module" && works('node', '--version');
	-e "$folder/node_modules" or symlink "$drivers/node_modules", "$folder/node_modules" or die "node_modules: $!";
	copy("$examples/$program", "$folder/$program") or die "copy: $!";
	return ([ 'node', "$folder/$program" ], [ 'node', "$drivers/node.mjs", $module ]);
}

sub php
{
	my ($program, @mode) = @_;

	return unless works('php', '-r', 'exit(extension_loaded("pgsql") && extension_loaded("pdo_pgsql") ? 0 : 1);');
	return ($program && [ 'php', "$examples/$program" ], [ 'php', "$drivers/php.php", @mode ]);
}

sub ruby
{
	my ($program, @mode) = @_;

	return unless works('ruby', '-e', 'require "pg"');
	return ($program && [ 'ruby', "$examples/$program" ], [ 'ruby', "$drivers/ruby_pg.rb", @mode ]);
}

sub jdbc
{
	return unless -e $jar && works('javac', '-version');
	ok(defined output_of('', 'javac', '-d', "$folder/classes", '-encoding', 'UTF-8', "$examples/Page.java", "$drivers/Jdbc.java"),
		'JDBC: compiles');
	return map { [ 'java', '-cp', "$folder/classes:$jar", $_ ] } qw(Page Jdbc);
}

# (There is no program for it.)
sub lib_pq
{
	my $driver = '/usr/share/gocode/src/github.com/lib/pq';
	return unless -d $driver && works(qw(go version));

	mkdir "$folder/go";
	copy("$drivers/libpq.go", "$folder/go/main.go") or die "copy: $!";
	local @ENV{qw(GOFLAGS GOCACHE)} = ('-mod=mod', "$folder/cache");
	ok(defined output_of('', 'bash', '-c', "cd '$folder/go' && exec 2>&1 && go mod init items &&
		go mod edit -require=github.com/lib/pq\@v1.10.7 -replace=github.com/lib/pq=$driver && go build -o items main.go"),
		'lib/pq: compiles');
	return (undef, [ "$folder/go/items" ]);
}

#
# The programs of the examples, with the tables of examples/frameworks
#

sub set_up
{
	$node->safe_psql('postgres', 'CREATE DATABASE before');
	$node->safe_psql('before', document("$examples/../frameworks/tables.sql"));
}

my $seen = q{SELECT string_agg(item_id::text, ' ' ORDER BY item_id) FROM exposures JOIN seen.filters USING (user_id)
	WHERE user_id = %s AND item_id BETWEEN 703 AND 705 AND items @> item_id};

# Each program has a user of its own, so that one after the other prints something.
my %user = (psycopg => 42, 'node-postgres' => 43, JDBC => 44, 'postgres.js' => 46, asyncpg => 47, PHP => 48, PDO => 49, 'Ruby pg' => 50);

# The numbers that a program prints, whatever stands around them.
sub page { return join ' ', ($_[0] // 'failed') =~ /\w+/g }

# Another request of the same user takes first.
sub second_request
{
	my ($command, $user) = @_;

	$node->safe_psql('example', "
		DELETE FROM exposures WHERE item_id < 1000;
		UPDATE seen.filters SET items = bloom_add(NULL, ${user}001) WHERE user_id = $user");
	my %other = (in => "BEGIN; $statement{take};\n\\echo has it\n" =~ s/\$1/$user/r =~ s/\$2/'{703}'/r, out => '');
	$other{run} = IPC::Run::start([ 'psql', '-XAtq', '-f', '-' ], '<', \$other{in}, '>', \$other{out}, '2>&1',
		IPC::Run::timeout($patience));
	$other{run}->pump until $other{out} =~ /has it/;
	my $stdout = '';
	my $program = IPC::Run::start($command, '<', \undef, '>', \$stdout, '2>', \my $stderr, IPC::Run::timeout($patience));
	ok($node->poll_query_until('example', q{
		SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = 'example' AND wait_event_type = 'Lock'}),
		'a second request of a user waits');
	$other{in} .= "COMMIT;\n\\q\n";
	$other{run}->finish;
	ok($program->finish, 'until the first one ends') or diag $stderr;
	is(page($stdout), '704 705', 'and gets other items');
}

sub examples_program
{
	my ($driver, $command) = @_;
	my $user = $user{$driver};

	$node->safe_psql('postgres', 'DROP DATABASE IF EXISTS example');
	$node->safe_psql('postgres', 'CREATE DATABASE example TEMPLATE before');
	connect_to('example');

	is(page(output_of('', @$command)), '703 704', 'the first page');
	is($node->safe_psql('example', sprintf $seen, $user), '703 704', 'is recorded');
	is(page(output_of('', @$command)), '705', 'what is left');
	if ($driver eq 'psycopg')	# (all have the same statement)
	{
		is(page(output_of('', @$command)), '', 'and no more');
		second_request($command, $user);
	}

	# Without PGHOST it looks for the Unix socket where libpq does.  (JDBC knows only its URL, asyncpg tries TCP, too.)
	return if $driver =~ /^(?:JDBC|asyncpg)$/;
	local %ENV = (%ENV, PGPORT => 1);
	delete $ENV{PGHOST};
	IPC::Run::run($command, '<', \undef, '>&', \my $said, IPC::Run::timeout($patience));
	like($said, qr/\.s\.PGSQL\.1\b|on that socket/, 'without PGHOST: the Unix socket');
}

#
# Each way to pass parameters
#

# Items of each kind: one that the filters of some users hold, then others.
# (9007199254740993 is no double.)
my %items = (
	bigint => [ 42001, 701, 702, '9007199254740993' ],
	text => [ qw(news shop about), q{o'clock} ],
	uuid => [ map { "6ecd8c99-4036-403d-bf84-cf8400f6783$_" } 0 .. 3 ]);
my %kind_of = (bigint => 'integer', text => 'text', uuid => 'uuid');
my %ways = (bigint => [qw(integers strings literal joined)], text => [qw(strings literal joined)],
	uuid => [qw(uuids strings literal joined)]);
my %ways_of_one = (bigint => [qw(integer string literal)], text => [qw(string literal)], uuid => [qw(uuid string literal)]);

# Odd users have a filter with the first item, even ones have none.
for my $type (sort keys %items)
{
	$node->safe_psql('postgres', "CREATE DATABASE \"$type\"");
	$node->safe_psql($type, qq{
		CREATE EXTENSION bloomexp;
		CREATE TABLE exposures (user_id bigint NOT NULL, item_id $type NOT NULL, shown_at timestamptz NOT NULL DEFAULT now());
		CREATE INDEX ON exposures (user_id);
		SELECT bloom_create_feed('seen', 'exposures');
		CREATE FUNCTION reset() RETURNS void LANGUAGE sql AS \$\$
			TRUNCATE exposures, seen.filters;
			INSERT INTO seen.filters SELECT n, bloom_add(NULL, '$items{$type}[0]'::$type) FROM generate_series(1, 999, 2) AS n;
		\$\$});
}

# What the filters of all users say: whether there is a row, the kind, how many
# items, and which of ours.  A filter of another kind holds none of ours.
sub filters
{
	my ($type) = @_;
	my @items = @{ $items{$type} };
	my $list = join ', ', map { my $item = s/'/''/gr; "'$item'" } @items;
	my %filter;

	for (split /\n/, $node->safe_psql($type, qq{
		SELECT user_id, coalesce(kind, 'none'), coalesce(i.items, 0),
			CASE WHEN kind = '$kind_of{$type}' THEN bloom_contains_each(f.items, ARRAY[$list]::$type\[]) END
		FROM seen.filters AS f, bloom_info(f.items) AS i}))
	{
		my ($user, $kind, $count, $each) = split /\|/, $_, -1;
		my @each = $each =~ /[tf]/g;

		$filter{$user} = { kind => $kind, items => $count,
			contained => join(',', map { ($each[$_] // 'f') eq 't' ? $items[$_] : () } 0 .. $#items) };
	}
	return \%filter;
}

# What is wrong with the outcome of a case; nothing if nothing is.
sub wrong
{
	my ($case, $answer, $filter) = @_;
	my @items = @{ $items{ $case->{type} } };
	my $had = $case->{user} % 2;
	my ($ok) = $answer =~ /^ok(?:\t(.*))?/ ? [ $1 // '' ] : ();
	my %expected = map { $_ => 1 } $had ? $items[0] : ();

	if ($ok && $case->{name} =~ /^(?:exclude|unseen|take)$/)
	{
		my $fresh = join ',', grep { !$expected{$_} } @{ $case->{items} };

		return "survivors are not $fresh" if $ok->[0] ne $fresh;
	}
	if ($ok && $case->{name} eq 'ask_one')
	{
		my $right = $expected{ $case->{items}[0] } ? 'contained' : 'fresh';

		return "is not $right" if $ok->[0] ne $right;
	}
	if ($ok && $case->{name} =~ /^(?:add|take)/)
	{
		$expected{$_} = 1 for @{ $case->{items} };
	}
	my $contained = join ',', grep { $expected{$_} } @items;

	return %expected ? 'no row' : undef unless $filter;
	return "a filter of kind $filter->{kind}" if $filter->{kind} !~ /^(?:none|$kind_of{$case->{type}})$/;
	return "holds $filter->{items} items" if $filter->{items} != keys %expected;
	return "holds $filter->{contained}, not $contained" if $filter->{contained} ne $contained;
	return;
}

# All cases of a type; those of a driver, because what says that it is a text, or an
# array of texts, is one.
sub cases
{
	my ($driver, $type) = @_;
	my @items = @{ $items{$type} };
	my @cases;
	my $user = 0;

	for my $name (sort keys %statement)
	{
		my $of_one = $name =~ /_one$/;

		for my $casts ($statement{$name} =~ /::/ ? (1, 0) : 1)
		{
			my $text = $statement{$name} =~ s/\$2::bigint/\$2::$type/gr;

			$text =~ s/::\w+(?:\[\])?//g unless $casts;
			for my $way (@{ $of_one ? $ways_of_one{$type} : $ways{$type} })
			{
				# (an array that is written otherwise than PostgreSQL does)
				next if $way eq 'joined' && ($casts || $driver eq 'JDBC');
				next if $way eq 'literal' && $of_one;	# a text in braces is a text
				next if $way eq 'literal' && !$casts && $driver eq 'JDBC' && $name eq 'add_to_filter';	# likewise
				next if !$casts && $type ne 'text' && $way =~ ($driver eq 'JDBC' ? qr/^strings?$/ : $driver =~ /map/ ? qr/^(?:strings|uuids)$/ : qr/(?!)/);
				for my $items ($of_one ? map { [$_] } @items : ([], [ $items[1] ], [ @items[ 0, 1, 3 ] ]))
				{
					push @cases, {
						type => $type, name => $name, casts => $casts, way => $way, items => $items,
						text => $text, user => ++$user } for 1, 2;
				}
			}
		}
	}
	return @cases;
}

# Run cases, and judge each.
sub judge
{
	my ($command, $type, @cases) = @_;

	connect_to($type);
	$node->safe_psql($type, 'SELECT reset()');
	my $input = join '', map { join("\t", @$_{qw(text way user)}, join(',', @{ $_->{items} })) . "\n" } @cases;
	my @answers = split /\n/, output_of($input, @$command) // '';
	my $filters = filters($type);

	is(scalar @answers, scalar @cases, "$type: answers");
	for my $i (0 .. $#cases)
	{
		$cases[$i]{answer} = $answers[$i] // '';
		$cases[$i]{wrong} = wrong($cases[$i], $cases[$i]{answer}, $filters->{ $cases[$i]{user} });
	}
	return @cases;
}

sub described
{
	my ($case) = @_;

	return join ' ', $case->{text}, "by $case->{way}:", @{ $case->{items} }, $case->{user} % 2 ? '(old user)' : '(new user)',
	  $case->{answer}, $case->{wrong} // ();
}

sub all_ways
{
	my ($driver, $command) = @_;

	for my $type (sort keys %items)
	{
		my @cases = judge($command, $type, cases($driver, $type));
		my $refused = $refused{$driver} // qr/(?!)/;
		my @wrong = grep { $_->{wrong} || $_->{casts} && $_->{answer} !~ /^ok|$refused/ } @cases;
		my %done = map { ($_->{name} => 1) } grep { $_->{casts} && $_->{answer} =~ /^ok/ } @cases;

		is_deeply([ map { described($_) } @wrong ], [], "$type: " . @cases . ' cases');
		is_deeply([ sort keys %done ], [ sort keys %statement ], "$driver, $type: each statement can be run");
		# an array without a type came along, and was refused
		# (JDBC gives each parameter a type)
		ok((grep { $_->{answer} =~ /could not determine polymorphic type|is not unique/ } @cases), "$driver, $type: an untyped array") if $driver ne 'JDBC';
	}

	# So that all this can fail: in an array of one, the untyped array is an item.
	my $careless = $statement{add_to_filter} =~ s/::\w+(?:\[\])?//gr =~ s/\$2/ARRAY[\$2]/gr;
	my ($case) = judge($command, 'text',
		{ type => 'text', name => 'add', way => 'literal', items => [ @{ $items{text} }[ 1, 3 ] ], text => $careless, user => 1 });
	like($case->{answer}, qr/^ok/, "$driver: careless: no error");
	like($case->{wrong}, qr/^holds /, "$driver: careless: items are missing");
}

set_up();
my %driver = (
	psycopg => \&psycopg,
	asyncpg => \&asyncpg,
	'node-postgres' => sub { node('pg', 'node_postgres.mjs') },
	'postgres.js' => sub { node('postgres', 'postgres_js.mjs') },
	JDBC => \&jdbc,
	'lib/pq' => \&lib_pq,
	PHP => sub { php('pgsql.php') },
	PDO => sub { php('pdo.php', 'pdo') },
	'PDO emulated' => sub { php(undef, 'emulated') },
	'Ruby pg' => sub { ruby('ruby_pg.rb') },
	'Ruby pg, type map' => sub { ruby(undef, 'map') });
for my $driver (sort keys %driver)
{
	subtest $driver => sub {
		my ($program, $ours) = $driver{$driver}->();

		if (!$ours)
		{
			ok(0, "$driver, which CI needs") if $ENV{CI};
			plan skip_all => "$driver is not installed" unless $ENV{CI};
			return;
		}
		examples_program($driver, $program) if $program;
		all_ways($driver, $ours);
	};
}

$node->stop;
done_testing();
