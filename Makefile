# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A wrapper around kbuild and scripts. `make -C KDIR M=$PWD modules` builds the modules without it.

# The headers of the running kernel if they are installed, otherwise those of Debian's 6.12, which
# fetch.sh downloads to build/.
HOST_KDIR := /lib/modules/$(shell uname -r)/build
FETCH := selftests/vm/fetch.sh
ifndef KDIR
KDIR = $(if $(wildcard $(HOST_KDIR)/Makefile),$(HOST_KDIR),$(shell $(FETCH) --kdir 6.12))
endif
RELEASE = $(shell $(MAKE) -s -C $(KDIR) kernelrelease)
PREFIX ?= /usr/local
DESTDIR ?=
UPDATES = $(DESTDIR)/lib/modules/$(RELEASE)/updates
BIN = $(shell selftests/vm/build-dir.sh)/bin
NAMES := rds rds_tcp rds_dev rds_rdma rds_stream

all: modules tools

modules:
	$(if $(word 2,$(CURDIR)),$(error kbuild takes no path with a blank in it))
	+$(MAKE) -C $(KDIR) M=$(CURDIR) CONFIG_DEBUG_INFO_BTF_MODULES= modules

tools:
	@mkdir -p $(BIN)
	+$(MAKE) -C tools O=$(BIN)

install: all
	install -d $(UPDATES)
	for ko in $$(find net -name '*.ko'); do install -m 644 $$ko $(UPDATES)/; done
	depmod $(if $(DESTDIR),-b $(DESTDIR)) $(RELEASE)
	+$(MAKE) -C tools O=$(BIN) DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) install

uninstall:
	rm -f $(NAMES:%=$(UPDATES)/%.ko)
	depmod $(if $(DESTDIR),-b $(DESTDIR)) $(RELEASE)
	+$(MAKE) -C tools O=$(BIN) DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) uninstall

deps:
	selftests/vm/deps.sh

# Two guests at the same time if the machine has at least two processors.
PLACES = RDS_PARALLEL=$${RDS_PARALLEL:-$$(( $$(nproc) > 1 ? 2 : 1 ))}

# Without CASES: the lines that CI runs in this turn on 6.12.
test: deps
	cases=$${CASES:-$$(selftests/vm/plan.py always 6.12)} && $(PLACES) CASES="$$cases" selftests/vm/run.py

test-all: deps
	$(PLACES) selftests/vm/run.py

test-harness: deps
	selftests/harness/run.py

shell: deps
	selftests/vm/run.py --shell

check:
	selftests/lint/check.sh

htmldocs: deps
	selftests/docs/htmldocs.sh

fuzz: deps
	$(MAKE) -s -C selftests/fuzz

model: deps
	selftests/model/run.py --large

demo: deps
	selftests/demo/demo.sh

demo-stream: deps
	selftests/demo/demo.sh stream

bench: deps
	selftests/bench/bench.sh

mutants: deps
	selftests/mutants/run.sh

test-mutants: deps
	selftests/mutants/testrun.py

# kbuild removes what looks built in every folder that it does not leave out: in build/ there are
# the modules of the kernels that were downloaded.
clean:
	rm -rf build/bin build/mod build/logs build/vm
	-[ ! -f $(KDIR)/Makefile ] || $(MAKE) -C $(KDIR) M='$(CURDIR)' \
		RCS_FIND_IGNORE="\( -name .git -o -path '*/build' \) -prune -o" clean

distclean: clean
	rm -rf "$$(readlink -m build)" build

help:
	@echo 'make              modules for the running kernel (or KDIR=...) and the tools'
	@echo 'make install      modules to .../updates/, tools and man pages; DESTDIR=, PREFIX='
	@echo 'make uninstall    takes them away again; the kernel'"'"'s own modules are used then'
	@echo 'make demo         two guests, a real file sent from one to the other'
	@echo 'make demo-stream  the same by nginx and curl, over RDMA'
	@echo 'make test         each part of the product, in guests, within 30 minutes on 2 processors;'
	@echo '                  KERNEL=6.12|6.1|7.3|debug|kcsan|cov, CASES="words" for other lines, RDS_LOAD=ci|full'
	@echo 'make test-all     all lines of a kernel, over an hour'
	@echo 'make test-harness provokes each kind of failure and sees a run fail'
	@echo 'make check        unit tests, lint, ABI, coverage: no root, no guest'
	@echo 'make fuzz         fuzzers, a minute each or FUZZ_SECONDS=; FUZZ_SEED= repeats, FUZZERS="names"'
	@echo 'make model        models of a path, checked with spin in every state'
	@echo 'make htmldocs     Documentation/ as HTML, in build/htmldocs'
	@echo 'make shell        a prompt in a guest with the modules loaded (leave with ^D); KERNEL='
	@echo 'make bench        instruction counts against the in-tree modules'
	@echo 'make mutants      patches the kernel code and sees the tests fail'
	@echo 'make test-mutants patches tests and sees them fail'
	@echo 'make deps         installs the Debian packages the above need (root)'
	@echo 'make clean        what was built; distclean: what was downloaded, too'

.PHONY: all modules tools install uninstall deps test test-all test-harness shell check htmldocs fuzz \
	model demo demo-stream bench mutants test-mutants clean distclean help
