# The demo and its options: a file is taken as it comes, or refused with one line, and nothing is
# started or installed before.

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

# Refused in one line, by the check of options or by the demo itself; the line.
sub refused_text
{
	my ($name, $options, @arguments) = @_;
	my ($ok, $stdout, $stderr) = demo($options, @arguments);

	ok(!$ok, "$name: refused");
	like($stderr, qr/\Abloomexp: [ -~]+\n\z/, "$name: with a reason");
	return $stderr;
}

# Likewise; the line's numbers.
sub refused { return refused_text(@_) =~ /(\d+)/g }

my $row = "u,i,2026-01-01\n";
ok((demo({ P => $_ }, 'check'))[0], "P=$_") for '0.01', '.5', '1e-6';
ok((demo({ CSV => file('plain.csv', "$header\n$row") }, 'check'))[0], 'a file');
refused("P=$_", { P => $_ }, 'check') for '0', '0.6', '1e-7', '1%', 'none';
refused('an option that it has not', { DATA => 'exposures.csv' }, 'check');
like((refused_text('an empty .gz', { CSV => file('nothing.csv', '', 'gzip') }, 'check')),
	qr/ is empty; it must be the header user_id,item_id,shown_at$/, 'which says what it lacks');
rename "$folder/" . file('packed.csv', "$header\n$row", 'gzip'), "$folder/packed.csv";
for (['no file'], ['a folder', '.'], ['an empty file', 'empty.csv', ''],
	['a .gz that is none', 'plain.csv.gz', "$header\n$row"],
		['a .zst that is none', 'plain.csv.zst', "$header\n$row"],
	['a .gz without its name', 'packed.csv'], ['an .xz', 'other.csv', "\xFD7zXZ\x00"],
		['UTF-16', 'utf16.csv', "\xFF\xFEu\x00"],
	['a first line that is empty', 'blank.csv', "\n$header\n$row"],
	['a header without users', 'header.csv', "user,item_id,shown_at\n$row"],
		['a column twice', 'twice.csv', "$header,Item_ID\n"],
	['thousands of columns', 'wide.csv', "$header," . ',' x 20000 . "\n"],
		['a binary file', 'binary.csv', "\x1b[31m\x7f\x00\x01\xff" x 100])
{
	my ($name, $file, $bytes) = @$_;

	refused($name, { CSV => defined $bytes ? file($file, $bytes) : $file // 'none.csv' }, 'check');
}

# Files whose rows are refused: by the demo, or when PostgreSQL reads them, which names the line.
refused('no rows', { CSV => file('unreadable.csv', "$header\n") });
my ($line) = refused('the end of data for psql',
	{ CSV => file('unreadable.csv', "$header\n$row\\.\r\n$row") });
is($line, 3, 'in its line');
my $cut = file('cut.csv', $header . "\n" . join('', map { "u,$_," . rand() . "\n" } 1 .. 10000),
	'gzip');
truncate "$folder/$cut", (-s "$folder/$cut") / 2;
refused('half a file', { CSV => $cut });
for (['a time that is an escape sequence', 3, "u,i,2026-01-01\nu,j,\x1b[31m\n"],
	['two formats of time', 4, ",,\nu,i,1767225600\nu,j,2026-01-01\n"])
{
	my ($name, $line, $rows) = @$_;
	my ($ok, $stdout, $stderr) = demo({ CSV => file('unreadable.csv', "$header\n$rows") });

	ok(!$ok, "$name: refused");
	ok((grep { $_ eq $line } $stderr =~ /\b(\d+)\b/g), "$name: in line $line");
	unlike($stderr, qr/[^\n -~]/, "$name: nothing that a terminal obeys");
}

# The rows of the demo's table, in order: users, disk, the stream, a page, its log without and with
# page images, what is let through, false positives, what came again.  Each is what stands in its
# second and its third column.
sub table { return map { [ (split / *\| */)[ 1, 2 ] ] } grep { /\|/ } split /\n/, $_[0] }

# All at once: a byte order mark, the columns in another order and another case,
# quoted, one more, CRLF, and rows without a user or an item.
my $odd = file('odd.csv', join("\r\n", "\xEF\xBB\xBFShown_At, \"USER_ID\" ,extra,Item_Id",
		'2026-01-01,u1,x,a', '2026-01-02 10:00+02,u1,"y, z",b', ',u2,,c',
		'2026-01-01,,x,d', '2026-01-01,u3,x,', '2026-01-01,u3,x,""', ''), 'gzip');
my ($ok, $stdout, $stderr) = demo({ CSV => $odd, P => '0.001' });
ok($ok, 'an odd file is read');
is($stderr, '', 'without a complaint');
ok((grep { join(' ', /\d+/g) eq '3 6' } split /\n/, $stdout),
	'rows without a user or an item are skipped, and counted');
my ($days, $age) = $stdout =~
  /window: (\d+) days instead of 30, because the oldest exposure is (\d+) days old$/m;
ok($age && $age > 30 && $days == $age + 1, 'the window reaches back to the oldest exposure');
my (undef, @rows) = table($stdout);
is(scalar @rows, 9, 'rows of the table');
is_deeply([ $rows[0][0], $rows[0][1] =~ /^\D*(\d+) / ], [ 2, 3 ], 'users, and items that they saw');
is_deeply([ $rows[6][0], $rows[6][1] =~ /(\d+)/ ], [ 0, 3 ], 'no exposed item let through');
is_deeply([ $rows[7][1] =~ /([\d.]+)%/ ], ['0.100'], 'the target rate');
is_deeply([ $rows[8][0], $rows[8][1] =~ /(\d+)/ ], [ 0, 3 ],
	'pages of all that was not seen, and nothing again');

# One exposure: nothing is unexposed, and a page takes less than times vary by.
($ok, $stdout, $stderr) = demo({ CSV => file('one.csv', "$header\nu,i,\n") });
ok($ok, 'one exposure') or diag $stderr;
unlike($stdout, qr/window:/, 'in the usual window');
(undef, @rows) = table($stdout);
like($rows[0][1], qr/^they saw 1 item: mean 1\.0, median 1, at most 1$/, 'one item');
unlike("@{ $rows[3] }", qr/-\d/, 'no time is negative');
is_deeply([ $rows[7][0], $rows[7][1] =~ /^of (\d+) / ], [ 'none to judge', 0 ],
	'and no candidate is unexposed');

# Seconds and milliseconds since 1970, in the last of three quoted columns.
for my $time ('1767225600.5', '1767225600000')
{
	my ($ok, $stdout, $stderr) = demo({ CSV => file('epoch.csv',
		"user_id,item_id,shown_at\n\"u, \"\"1\",a,\nu1,b,\"$time\"\n") });

	ok($ok, "a time of $time") or diag $stderr;
	is((table($stdout))[1][0], 2, "$time: is read");
}

# A wait shows a sign of life, and returns the status of the command.

like(`test/lib/alive bash -c 'sleep 10.5; echo done; exit 3' 2>&1`, qr/\A  \.\.\. \d+ s\ndone\n\z/,
	'a line after ten seconds');
is($? >> 8, 3, 'the status of the command');

done_testing();
