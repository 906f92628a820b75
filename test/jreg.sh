PR=$(dirname $(pg_config --pgxs))/../test/regress/pg_regress
$PR --inputdir=. --bindir=$(pg_config --bindir) --dbname=jr --load-extension=bloomexp add agg contains counting exclude items golden info second_check union window overview 2>&1 | grep '^test'
