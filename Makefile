# bloomexp builds like any PostgreSQL extension.  What "make help" prints:
#
#: make                 build
#: make install         install; as root where PostgreSQL is a package's
#: make installcheck    SQL and isolation tests on a server that runs
#: make uninstall       remove the installed files; run DROP EXTENSION bloomexp first
#: make clean           remove what was built
#:
#: These list the missing packages and install them with apt-get (as root or with sudo).  Most of
#: them then build and install bloomexp, and run on a temporary server of their own:
#:
#: make demo            a stream of 5 million exposures into a feed, compared with exact SQL
#:   CSV=file           your exposures, also .gz or .zst, with the header
#:                      user_id,item_id,shown_at; without it the demo makes some up.
#:                      The window is 30 days, or more if the oldest exposure is older
#:   P=0.01             the target false positive rate
#: make example         a feed in your browser, served by Node.js; Ctrl-C stops it
#:   PORT=9000          listen on this port instead of 8042
#: make check           every test; make test is the same
#:   TESTS="add 003 citus"    only tests whose names begin with one of these
#:   WERROR=1           warnings are errors
#: make deps            only install the packages that make check and make demo need
#: make bench           benchmarks against the alternatives: half an hour
#:   BENCH="feed pages"    only bench/feed and bench/pages, each described by its run
#:
#: make check-sanitized the SQL and isolation tests and some others under the address
#:                      and undefined behaviour sanitizers: a quarter of an hour
#: make check-valgrind  some SQL tests under valgrind: ten minutes
#:   TESTS="add 003"    only those, for both
#: make fuzz            fuzz the modules that read and change filters
#:   SECONDS=60         duration
#:   RUNS=10000         number of runs, reproducible; SEED=2 for another sequence
#:
#: With INSTALL=no they install no packages.  If a required package is missing, they list what is
#: missing and stop.
#:
#: These never install a package:
#:
#: make check-versions  the SQL and isolation tests on each PostgreSQL that is
#:                      installed, or those of PG_CONFIGS: see test/versions
#:   TESTS=0            the TAP tests instead
#: make check-processors    the unit, SQL and isolation tests on arm64, s390x, i386
#:                      and armhf, emulated: hours; see test/processors
#:   PROCESSORS=arm64 TESTS="003 add"    only those
#: make check-clients   the readers in clients/ whose language is installed,
#:                      against what a server answered; needs no server
#: make page            build clients/page/index.html, a page that inspects filters
#: make dist            the archive of a release, of the commit HEAD
#:   REF=v1.0.0         for another commit
#:
#: PG_CONFIG=/path/to/pg_config selects the PostgreSQL installation, for every target.

# Files are found by wildcards, in the folder of this Makefile or of VPATH.
ifneq ($(word 2,$(VPATH))$(word 2,$(MAKEFILE_LIST)),)
$(error make cannot read a path with a blank: run it in the folder of bloomexp.control, \
	or build where the path has none)
endif
here := $(patsubst %/,%,$(or $(VPATH),$(dir $(firstword $(MAKEFILE_LIST)))))
ifeq ($(wildcard $(here)/bloomexp.control),)
$(error run make in the folder of bloomexp.control, or with -f and the path of its Makefile)
endif

EXTENSION = bloomexp
MODULE_big = bloomexp
PGFILEDESC = "bloomexp - Bloom filters of what a user was shown"
OBJS = $(patsubst $(here)/%.c,%.o,$(sort $(wildcard $(here)/src/*.c $(here)/src/*/*.c)))

# The tests contain UTF-8 text, so create their database in that encoding.
REGRESS = $(patsubst $(here)/sql/%.sql,%,$(sort $(wildcard $(here)/sql/*.sql)))
REGRESS_OPTS = --load-extension=bloomexp --encoding=UTF8 --no-locale
ISOLATION = $(patsubst $(here)/test/specs/%.spec,%,$(sort $(wildcard $(here)/test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=$(here)/test $(REGRESS_OPTS)
EXTRA_CLEAN = output built-for

PG_CONFIG ?= pg_config
PGXS := $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))
include_server := $(shell $(PG_CONFIG) --includedir-server 2>/dev/null)

# Filter sizes must be the same on every CPU, so avoid fused multiply-add and the x87 FPU of
# 32-bit x86, which round differently.
machine = $(shell $(CC) -dumpmachine)
exact = -ffp-contract=off $(if $(filter i386-% i486-% i586-% i686-%,$(machine)),-msse2 -mfpmath=sse)

# The version that pg_get_loaded_modules() reports (PostgreSQL 18).
version := $(shell sed -n '/"version"/{s/[^0-9.]//g;p;q;}' $(here)/META.json 2>/dev/null)

# Reproducible builds: debug information without paths of this machine.
paths = $(foreach folder,$(CURDIR) $(abspath $(here)),-ffile-prefix-map=$(folder)=.)

# -isystem spares PostgreSQL's own headers the extra warnings.  Implicit declarations are errors:
# they truncate pointers, and PostgreSQL versions differ in which headers include which.  The last
# two options quieten clang about gcc options with which PostgreSQL may be built.
PG_CPPFLAGS = -DBLOOMEXP_VERSION='"$(version)"' -I$(here)/src -isystem $(include_server)
PG_CFLAGS = $(exact) $(paths) -Wall -Wextra -Wno-unused-parameter \
	-Werror=implicit-function-declaration $(if $(WERROR),-Werror) -Wno-unknown-warning-option \
	-Wno-ignored-optimization-argument
SHLIB_LINK += -lm

# This project's own targets.  They can install PGXS where it is missing, so this part does not
# include it, and calls make again for any other target.  (PGXS has a "check" target, too, which
# only says that it is not supported.)
ours = help deps check test check-versions check-processors check-clients check-sanitized \
	check-valgrind fuzz demo example bench page dist

ifneq ($(filter $(ours),$(MAKECMDGOALS)),)

.NOTPARALLEL:
.PHONY: $(MAKECMDGOALS)
export MAKE PG_CONFIG REGRESS ISOLATION
# INSTALL=no is meant for test/lib/bootstrap.  Do not pass it on to make, because PGXS has a
# variable of the same name.
export INSTALL
MAKEOVERRIDES := $(filter-out INSTALL=%,$(MAKEOVERRIDES))

help:
	@sed -n 's/^#: \{0,1\}//p' Makefile

deps:
	@test/lib/alive test/lib/bootstrap deps

check:
	@test/lib/alive test/lib/bootstrap check
	@test/lib/cluster run -o output -- test/check

test: check

check-versions:
	@prove -v test/versions

check-processors:
	@prove -v test/processors :: $(PROCESSORS)

check-sanitized:
	@test/lib/bootstrap sanitizers
	@prove -v test/watched :: sanitizers

check-valgrind:
	@test/lib/bootstrap valgrind
	@prove -v test/watched :: valgrind

fuzz:
	@test/lib/bootstrap fuzz
	@test/fuzz/run $(or $(SECONDS),60)

check-clients:
	@prove -v test/integrations/readers.pl

demo:
	@bench/demo/run check
	@test/lib/alive test/lib/bootstrap demo
	@test/lib/alive bench/demo/run

example:
	@examples/feed/run check $(PORT)
	@test/lib/alive test/lib/bootstrap example
	@test/lib/cluster run -- examples/feed/run $(PORT)

bench:
	@test/lib/alive test/lib/bootstrap bench
	@for name in $(or $(BENCH),without_table pages candidates feed storage filters); do \
		test/lib/alive bench/$$name/run || exit; \
	done

page:
	@clients/page/make

# Pack only the files of the commit, not other files that are in the folder.
REF = HEAD
dist:
	@command -v git >/dev/null || \
		{ echo 'bloomexp: make dist needs git, whose files it packs' >&2; exit 1; }
	@version=$$(git show $(REF):META.json | sed -n '/"version"/{s/[^0-9.]//g;p;q;}') && \
	TZ=UTC git archive --format=zip --prefix=bloomexp-$$version/ -o bloomexp-$$version.zip \
		$(REF) && \
	echo bloomexp-$$version.zip

$(filter-out $(ours),$(MAKECMDGOALS)):
	@$(MAKE) $@

# Client packages bring PGXS, too, but only the server's development package has the headers.
else ifneq ($(and $(PGXS),$(wildcard $(include_server)/postgres.h)),)

ifeq ($(version),)
$(error $(here)/META.json, which has the version of the module, is missing or has none)
endif

# The install script joins the parts in src/install and src/feed, kind.sql.in once for each kind
# of item (its SQL type, and the suffix of its C symbols), and the templates of the scripts of
# feeds.
sql_version := $(shell sed -n "s/^default_version = '\(.*\)'$$/\1/p" $(here)/bloomexp.control)
script = bloomexp--$(sql_version).sql
type_parts = $(patsubst %,$(here)/src/install/%.sql, \
	io change contains exclude hashes aggregate info oldest_transaction)
feed_parts = $(patsubst %,$(here)/src/feed/%.sql, \
	schema row trust settings arguments columns table users rebuild rebuild_citus \
	begin warnings names script generator feeds)
parts = $(type_parts) $(feed_parts)
templates = $(sort $(wildcard $(here)/src/feed/script/*.sql))
kinds = bigint:int8 text:text uuid:uuid bytea:bytea

DATA_built = $(script)
DATA = $(filter-out $(script),$(sort $(notdir $(wildcard $(here)/bloomexp--*.sql))))

# Bitcode for the JIT needs the clang that PostgreSQL was built with.  The
# module works without.
clang := $(shell sed -n 's/^CLANG *= *//p' $(dir $(PGXS))../Makefile.global)
ifeq ($(if $(clang),$(shell $(clang) --version 2>/dev/null)),)
override with_llvm = no
endif

# The compiler options that the user has chosen, if any; -O3 below gives way to them.
chosen := $(filter command,$(origin CFLAGS)) $(COPT) $(PROFILE)

include $(PGXS)

ifneq ($(here),.)
$(shell mkdir -p $(sort $(dir $(OBJS))))
endif

BITCODE_CFLAGS += $(exact)

# Concatenate the parts, and turn the templates of feeds into the rows of a function.
$(script): $(parts) $(templates) $(here)/src/install/kind.sql.in \
		$(here)/src/install/privileges.sql $(here)/Makefile built-for
	@{ for part in $(type_parts); do cat $$part && echo || exit; done && \
	for kind in $(kinds); do \
		sed -e "s/@type@/$${kind%:*}/g" -e "s/@suffix@/$${kind#*:}/g" \
			$(here)/src/install/kind.sql.in && echo || exit; \
	done && \
	for part in $(feed_parts); do cat $$part && echo || exit; done && \
	echo "CREATE FUNCTION bloomexp.feed_templates(OUT name text, OUT text text)" && \
	echo "RETURNS SETOF record LANGUAGE sql IMMUTABLE" && echo 'AS $$templates$$ VALUES' && \
	separator= && for file in $(templates); do \
		name=$${file##*/} && echo "$$separator('$${name%.sql}', \$$template\$$" && cat $$file && \
		echo "\$$template\$$)" && separator=, || exit; \
	done && echo '$$templates$$;' && echo && \
	echo "COMMENT ON FUNCTION bloomexp.feed_templates() IS" && \
	echo "'the templates of the scripts of feeds, by name';" && echo && \
	cat $(here)/src/install/privileges.sql; } >$@.tmp
	@mv $@.tmp $@

# -O3 makes the loops over candidates a fifth faster.
ifeq ($(strip $(chosen)),)
src/kernel/simd.o src/kernel/probe.o src/sql/item.o src/sql/hash_set.o \
	src/sql/exclude.o: override CFLAGS += -O3
endif

# Always vectorize simd.c.  (Below -O3 gcc's cost model skips some loops; clang does not know
# the option.)
costs := -fvect-cost-model=dynamic
vectors := -ftree-vectorize \
	$(shell $(CC) $(costs) -E -x c /dev/null >/dev/null 2>&1 && echo $(costs))
src/kernel/simd.o: override CFLAGS := $(vectors) $(CFLAGS)

# JIT code cannot link __cpu_model, so its bitcode is the portable version.
src/kernel/simd.bc: BITCODE_CFLAGS += -DBLOOMEXP_PORTABLE

# PGXS does not track headers.  Rebuild everything when one changes, or when PG_CONFIG names another
# server.  A build folder has a built-for of its own, newer than what VPATH finds built in the
# source.
$(OBJS) $(OBJS:.o=.bc): $(wildcard $(here)/src/*.h $(here)/src/*/*.h) $(here)/Makefile built-for

built-for: FORCE
	@$(PG_CONFIG) --version --includedir-server | cmp -s - $@ || \
		$(PG_CONFIG) --version --includedir-server >$@

.PHONY: FORCE

else

all install uninstall installcheck clean:
	@echo 'bloomexp: $(PG_CONFIG) does not lead to postgres.h, for server development.' >&2
	@echo 'Debian, Ubuntu: apt-get install gcc make postgresql-server-dev-15 (or your version).' >&2
	@echo 'Fedora, Red Hat: dnf install gcc make redhat-rpm-config postgresql-server-devel.' >&2
	@echo 'If they are installed: make PG_CONFIG=/path/to/pg_config' >&2
	@exit 1

endif
