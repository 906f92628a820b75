# The extension in folders of its own, as an image that is mounted or an installation
# under a prefix has it, found by two settings of PostgreSQL 18.

use File::Copy;
use File::Path qw(make_path);
use Server;

my $config = $ENV{PG_CONFIG} || 'pg_config';
my ($major) = `$config --version` =~ /(\d+)/;
plan skip_all => 'extension_control_path is of PostgreSQL 18' if $major < 18;

chomp(my $sharedir = `$config --sharedir`);
chomp(my $pkglibdir = `$config --pkglibdir`);
my $folder = PostgreSQL::Test::Utils::tempdir;

# Only there the module has this name, so that no other can be taken for it.
make_path("$folder/lib", "$folder/share/extension");
copy("$pkglibdir/bloomexp.so", "$folder/lib/bloomexp_there.so") or die $!;
copy($_, "$folder/share/extension") or die $! for glob "$sharedir/extension/bloomexp--*.sql";

my $control = slurp_file("$sharedir/extension/bloomexp.control");
is($control =~ s{^(module_pathname = '\$libdir/bloomexp)'$}{${1}_there'}m, 1,
	'the control file does not say where the module is');
append_to_file("$folder/share/extension/bloomexp.control", $control);

my $node = start_server('elsewhere', "extension_control_path = '$folder/share:\$system'");

my (undef, $state) = $node->psql('postgres',
	'CREATE EXTENSION bloomexp; \echo :LAST_ERROR_SQLSTATE',
	on_error_stop => 0);
is($state, '58P01', 'the path of extensions is not that of modules');

$node->append_conf('postgresql.conf', "dynamic_library_path = '$folder/lib:\$libdir'");
$node->reload;
$node->safe_psql('postgres', 'CREATE EXTENSION bloomexp');
is($node->safe_psql('postgres', q{SELECT '{1,2,3}'::bigint[] - bloom_add(NULL, 2::bigint)}),
	'{1,3}', 'with both paths the extension works');

done_testing();
