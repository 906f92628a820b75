# What a provider of PostgreSQL asks before it offers an extension: the README says so,
# and the module and the control file show it.  sql/install.sql has the rest: an
# ordinary role creates it, and no function runs with its owner's rights.  Nor does the
# module become another user: what others wrote is evaluated as plain SQL would, or not at all.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

my $config = $ENV{PG_CONFIG} || 'pg_config';
chomp(my $sharedir = `$config --sharedir`);
chomp(my $pkglibdir = `$config --pkglibdir`);

like(slurp_file("$sharedir/extension/bloomexp.control"), qr/^trusted = true$/m, 'trusted');

# Workers, settings, hooks, shared memory; other users; files, sockets, programs.
my $forbidden = qr/^(?:Register\w*BackgroundWorker|DefineCustom\w+|\w+_hook(?:_type)?|RequestAddin\w+|ShmemInit\w+|
	Set\w*UserId\w*|SetSessionAuthorization|SetCurrentRoleId|SwitchToUntrustedUser|
	(?:Allocate|OpenTransient|PathNameOpen|BasicOpen)File\w*|f?open(?:at)?(?:64)?|socket|connect|system|popen|fork|exec[lv]\w*)$/x;

is(join(' ', grep { /$forbidden/ } qw(palloc fopen64 RegisterDynamicBackgroundWorker planner_hook DefineCustomIntVariable SetUserIdAndSecContext GetUserId relation_open)),
	'fopen64 RegisterDynamicBackgroundWorker planner_hook DefineCustomIntVariable SetUserIdAndSecContext', 'the rule sees what it looks for');

# Whether a type can be cast is not tried out, and no parameter is cast to a type that somebody else may own: the owner
# of a type makes its casts, and a domain checks NULL.
my $script = join '', map { slurp_file($_) } glob "$sharedir/extension/bloomexp--?.?.sql";
my $casts = qr/^.*(?:NULL|\$\d)::%.*$/m;

is(join(' ', map { /$casts/ ? 1 : 0 } q{EXECUTE format('SELECT NULL::%s', t)}, q{'f.u = ANY ($1::%5$s[])'}, q{'$1::pg_catalog.xid'}), '1 1 0',
	'the rule about casts sees what it looks for');
is(join("\n", $script =~ /$casts/g), '', 'no cast to a type of others in the install script');

SKIP:
{
	my @names = map { / U (\w+)/ ? $1 : () } `nm -D --undefined-only '$pkglibdir/bloomexp.so' 2>/dev/null`;
	skip 'no nm', 2 unless @names;

	ok((grep { $_ eq 'palloc' } @names), 'what the module takes from the server and the system');
	is(join(' ', grep { /$forbidden/ } @names), '', 'none of it is a worker, a setting, a hook, another user, a file or a socket');
}

done_testing();
