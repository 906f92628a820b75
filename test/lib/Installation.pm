# A copy of the server's installation, in which a test installs scripts of other versions of the
# extension: "use Installation;".  The module is the one that was built.

package Installation;

use strict;
use warnings;

use Exporter 'import';
use File::Basename qw(basename dirname);
use File::Copy qw(cp);
use File::Path qw(make_path);
use PostgreSQL::Test::Utils;

our @EXPORT = qw(installed copy_installation install_script);

# A folder of the installation, by pg_config's name for it.
sub installed
{
	my ($directory) = run_command([ $ENV{PG_CONFIG} || 'pg_config', "--$_[0]" ]);

	return $directory;
}

sub link_all
{
	my ($copy, $from, @but) = @_;

	make_path("$copy$from");
	for my $file (map { basename($_) } glob "$from/*")
	{
		next if grep { $_ eq $file } @but;
		symlink "$from/$file", "$copy$from/$file" or die "$file: $!";
	}
}

# Returns the folder of the copy's programs, and that of its extensions.  The programs look for the
# rest from where they are, so they are copied, and the rest is linked.  The copy also has the kept
# install scripts of earlier releases, which no installation has: update scripts begin with them.
sub copy_installation
{
	my ($bindir, $sharedir, $libdir) = map { installed($_) } qw(bindir sharedir pkglibdir);
	my $copy = PostgreSQL::Test::Utils::tempdir();

	make_path("$copy$bindir", dirname("$copy$libdir"));
	for (qw(initdb pg_config pg_ctl pg_dump postgres psql))
	{
		cp("$bindir/$_", "$copy$bindir/$_") or die "$_: $!";
	}
	link_all($copy, $sharedir, 'extension');
	link_all($copy, "$sharedir/extension");
	symlink $libdir, "$copy$libdir" or die $!;
	for my $kept (glob dirname(__FILE__) . '/../released/bloomexp--*.sql')
	{
		my $file = "$copy$sharedir/extension/" . basename($kept);

		install_script($file, slurp_file($kept)) if !-e $file;
	}
	return ("$copy$bindir", "$copy$sharedir/extension");
}

# Write a file of the copy.  It replaces one of this name, not what that links to.
sub install_script
{
	my ($file, $text) = @_;

	!-e $file || unlink $file or die "$file: $!";
	append_to_file($file, $text);
}

1;
