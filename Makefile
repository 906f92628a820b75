# bloomexp builds like any PostgreSQL extension: make, make install,
# make installcheck.  make check, make demo and make bench install what is missing
# and use a private server; make demo takes DATA=file.csv[.gz|.zst] and P=0.01,
# make bench SCALE=1 ROUNDS=5 and what bench/speed/run tells.

EXTENSION = bloomexp
MODULE_big = bloomexp
PGFILEDESC = "bloomexp - Bloom filters of what a user was shown"
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c)))

REGRESS = $(patsubst sql/%.sql,%,$(sort $(wildcard sql/*.sql)))
REGRESS_OPTS = --load-extension=bloomexp
ISOLATION = $(patsubst test/specs/%.spec,%,$(sort $(wildcard test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test --load-extension=bloomexp
EXTRA_CLEAN = output

PG_CONFIG ?= pg_config
PGXS := $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))

# A fused multiply-add rounds differently, and the size of a filter must be the
# same on every CPU.
exact = -ffp-contract=off

# -isystem spares PostgreSQL's own headers the extra warnings.  The last two
# options quieten clang about gcc options with which PostgreSQL may be built.
PG_CPPFLAGS = -I$(CURDIR)/src -isystem $(shell $(PG_CONFIG) --includedir-server)
PG_CFLAGS = $(exact) -Wall -Wextra -Wno-unused-parameter $(if $(WERROR),-Werror) \
	-Wno-unknown-warning-option -Wno-ignored-optimization-argument
SHLIB_LINK += -lm

ifneq ($(filter check demo bench,$(MAKECMDGOALS)),)

# These install PGXS where it is missing, so they must do without it, and
# call make again for the rest.  (PGXS also has a "check" of its own, which only
# says that there is none.)

.NOTPARALLEL:
.PHONY: $(MAKECMDGOALS)
export MAKE PG_CONFIG REGRESS ISOLATION

check:
	@test/lib/bootstrap check
	@test/lib/cluster run -o output -- test/check

demo:
	@test/lib/bootstrap demo
	@bench/demo/run

bench:
	@test/lib/bootstrap bench
	@bench/speed/run

$(filter-out check demo bench,$(MAKECMDGOALS)):
	@$(MAKE) $@

else ifneq ($(PGXS),)

# "override" because DATA means something else to make demo.
override DATA = $(sort $(wildcard bloomexp--*.sql))

# Bitcode for the JIT needs the clang that PostgreSQL was built with.  The
# module works without.
clang := $(shell sed -n 's/^CLANG *= *//p' $(dir $(PGXS))../Makefile.global)
ifeq ($(if $(clang),$(shell $(clang) --version 2>/dev/null)),)
override with_llvm = no
endif

include $(PGXS)

BITCODE_CFLAGS += $(exact)

# The loops over candidates: a fifth faster than with -O2.
src/kernel/simd.o src/kernel/probe.o src/sql/item.o src/sql/exclude.o: override CFLAGS += -O3

# Code compiled at run time must not ask for the CPU by symbols of the compiler's.
src/kernel/simd.bc: BITCODE_CFLAGS += -DBLOOMEXP_PORTABLE

# PGXS knows nothing of headers.
$(OBJS) $(OBJS:.o=.bc): $(wildcard src/*/*.h) Makefile

else

all install uninstall installcheck clean:
	@echo 'bloomexp: $(PG_CONFIG) does not lead to the server development files of PostgreSQL.' >&2
	@echo 'Debian, Ubuntu: apt-get install gcc make postgresql-server-dev-15 (or your version).' >&2
	@echo 'Fedora, Red Hat: dnf install gcc make redhat-rpm-config postgresql-server-devel.' >&2
	@echo 'If they are installed: make PG_CONFIG=/path/to/pg_config' >&2
	@exit 1

endif
