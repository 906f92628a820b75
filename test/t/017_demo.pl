# The demo and its options: a file is taken as it comes, or refused with one line
# that says why, and nothing is started or installed before.

use strict;
use warnings;

use FindBin;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $demo = "$FindBin::RealBin/../../bench/demo/run";
my $folder = PostgreSQL::Test::Utils::tempdir;
my $header = 'user_id,item_id,shown_at';

# A file of these bytes, compressed by a program if one is named.
sub file
{
	my ($name, $bytes, @program) = @_;

	open my $file, '>:raw', "$folder/$name" or die "$name: $!";
	print $file $bytes;
	close $file;
	return $name if !@program;
	IPC::Run::run([ @program, "$folder/$name" ]) or die "cannot compress $name";
	return $program[0] eq 'gzip' ? "$name.gz" : $name;
}

# Exit status, output and errors of the demo with some options.
sub demo
{
	my ($options, @arguments) = @_;
	my ($stdout, $stderr);

	local %ENV = (%ENV, CSV => '', P => '', DATA => '', %$options);
	$ENV{CSV} = "$folder/$ENV{CSV}" if $ENV{CSV};
	my $ok = IPC::Run::run([ $demo, @arguments ], '<', \undef, '>', \$stdout, '2>', \$stderr);
	return ($ok, $stdout, $stderr);
}

# Options that are refused before anything else, in one line.
sub refused
{
	my ($options, $expected, $name) = @_;
	my ($ok, $stdout, $stderr) = demo($options, 'check');

	ok(!$ok, "$name: refused");
	like($stderr, qr/\Abloomexp: .*$expected.*\n\z/, "$name: with a reason");
}

# Files whose rows are refused, when PostgreSQL reads them.
sub unreadable
{
	my ($bytes, $expected, $name) = @_;
	my ($ok, $stdout, $stderr) = demo({ CSV => file('unreadable.csv', $bytes) });

	ok(!$ok, "$name: refused");
	like($stderr, $expected, "$name: with a reason");
}

refused({ P => $_ }, 'P must be', "P=$_") for '0', '0.6', '1e-7', '1%', 'none';
ok((demo({ P => $_ }, 'check'))[0], "P=$_") for '0.01', '.5', '1e-6';

my $row = "u,i,2026-01-01\n";
refused({ CSV => 'none.csv' }, 'there is no file', 'no file');
refused({ CSV => '.' }, 'is not a file', 'a folder');
refused({ CSV => file('empty.csv', '') }, 'is empty', 'an empty file');
refused({ CSV => file('plain.csv.gz', "$header\n$row") }, 'not compressed by gzip', 'a .gz that is none');
refused({ CSV => file('plain.csv.zst', "$header\n$row") }, 'not compressed by zstd', 'a .zst that is none');
rename "$folder/" . file('packed.csv', "$header\n$row", 'gzip'), "$folder/packed.csv";
refused({ CSV => 'packed.csv' }, 'compressed by gzip; its name must end in \.gz', 'a .gz without its name');
refused({ CSV => file('other.csv', "\xFD7zXZ\x00") }, 'compressed file of another kind', 'an .xz');
refused({ CSV => file('utf16.csv', "\xFF\xFEu\x00") }, 'UTF-16', 'UTF-16');
refused({ CSV => file('header.csv', "user,item_id,shown_at\n$row") },
	'no column user_id; .*is: user,item_id,shown_at', 'a header without users');
refused({ CSV => file('twice.csv', "$header,Item_ID\n") }, 'names item_id twice', 'a column twice');
refused({ CSV => file('wide.csv', "$header," . ',' x 20000 . "\n") }, 'names 20004 columns; at most 1600', 'thousands of columns');
refused({ CSV => file('binary.csv', "\x1b[31m\x7f\x00\x01\xff" x 100) }, 'is: \?\[31m[ -~]*', 'a binary file');
refused({ DATA => 'exposures.csv' }, 'CSV=exposures\.csv', 'an option that it has not');

unreadable("$header\n", qr/holds no exposures$/m, 'no rows');
unreadable("$header\n$row" . "u,j,someday\n",
	qr/invalid input syntax for type timestamp.*"someday"\nCONTEXT: .* line 3, column shown_at/,
	'an unknown time');

unreadable("$header\n$row" . "u,j,\x1b[31m\n", qr/"\?\[31m"\nCONTEXT: /, 'an escape sequence');
unreadable("$header\n$row" . "\\.\r\n$row", qr/^bloomexp: line 3 of .* is \\\., at which/, 'the end of data for psql');
unreadable("$header\n,,\nu,i,1767225600\nu,j,2026-01-01\n",
	qr/invalid input syntax for type double precision: "2026-01-01"\nCONTEXT: .* line 4, column shown_at/, 'two formats of time');

my $whole = file('cut.csv', $header . "\n" . join('', map { "u,$_," . rand() . "\n" } 1 .. 10000), 'gzip');
truncate "$folder/$whole", (-s "$folder/$whole") / 2;
my ($ok, $stdout, $stderr) = demo({ CSV => $whole });
ok(!$ok, 'half a file: refused');
like($stderr, qr/\Abloomexp: .*is damaged: .*\n\z/, 'half a file: with a reason, once');

# All at once: a byte order mark, the columns in another order and another case,
# quoted, one more, CRLF, and rows without a user or an item.
my $odd = file('odd.csv', join("\r\n", "\xEF\xBB\xBFShown_At, \"USER_ID\" ,extra,Item_Id",
		'2026-01-01,u1,x,a', '2026-01-02 10:00+02,u1,"y, z",b', ',u2,,c',
		'2026-01-01,,x,d', '2026-01-01,u3,x,', '2026-01-01,u3,x,""', ''), 'gzip');
($ok, $stdout, $stderr) = demo({ CSV => $odd, P => '0.001' });
ok($ok, 'an odd file is read');
is($stderr, '', 'without a complaint');
like($stdout, qr/^ *3 of 6 rows have no user or no item and are skipped$/m, 'rows without a user or an item');
like($stdout, qr/^ users +\| 2 +\| they saw 3 items: /m, 'the rest');
like($stdout, qr/^ exposed items let through +\| 0 +\| of 3 /m, 'no exposed item let through');
like($stdout, qr/target rate: 0\.1/, 'the target rate');
like($stdout, qr/^ a page of ten .*; 0 of [1-9] items came again$/m, 'pages that repeat nothing');

# Seconds and milliseconds since 1970, in the last of three quoted columns.
for my $time ('1767225600', '1767225600.5', '1767225600000')
{
	my ($ok, $stdout, $stderr) = demo({ CSV => file('epoch.csv', "user_id,item_id,shown_at\n\"u, \"\"1\",a,\nu1,b,\"$time\"\n") });

	ok($ok, "a time of $time") or diag $stderr;
	like($stdout, qr/^ users +\| 2 /m, "$time: is read");
	like($stdout, qr/ bytes \(\d\.\d times\)/, "$time: a digit behind the point");
}

done_testing();
