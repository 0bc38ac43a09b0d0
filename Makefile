# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A wrapper: `make -C KDIR M=$PWD modules` builds the modules without it.

# The running kernel's headers when they are installed, Debian's 6.12 fetched under build/ otherwise.
HOST_KDIR := /lib/modules/$(shell uname -r)/build
FETCH := selftests/vm/fetch.sh
ifndef KDIR
KDIR = $(if $(wildcard $(HOST_KDIR)/Makefile),$(HOST_KDIR),$(shell $(FETCH) --kdir 6.12))
endif
RELEASE = $(shell $(MAKE) -s -C $(KDIR) kernelrelease)
PREFIX ?= /usr/local
DESTDIR ?=
UPDATES = $(DESTDIR)/lib/modules/$(RELEASE)/updates
BIN := $(CURDIR)/build/bin
NAMES := rds rds_tcp rds_rdma

all: modules tools

modules:
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

test: deps
	selftests/vm/run.py

test-harness: deps
	selftests/harness/run.py

shell: deps
	selftests/vm/run.py --shell

check:
	selftests/lint/check.sh

demo: deps
	selftests/demo/demo.sh

bench: deps
	selftests/bench/bench.sh

mutants: deps
	selftests/mutants/run.sh

clean:
	rm -rf build/bin build/mod build/logs build/vm
	-[ ! -f $(KDIR)/Makefile ] || $(MAKE) -C $(KDIR) M=$(CURDIR) clean

distclean: clean
	rm -rf build

help:
	@echo 'make              modules for the running kernel (or KDIR=...) and the tools'
	@echo 'make install      modules to .../updates/, tools and man pages; DESTDIR=, PREFIX='
	@echo 'make uninstall    takes them away again; the kernel'"'"'s own modules are used then'
	@echo 'make demo         two guests, a real file sent from one to the other'
	@echo 'make test         all tests in guests; KERNEL=6.12|6.1|debug, CASES="words", RDS_LOAD=ci|full'
	@echo 'make test-harness provokes each kind of failure and sees a run fail'
	@echo 'make check        unit tests, lint, ABI, coverage: no root, no guest'
	@echo 'make shell        a prompt in a guest with the modules loaded (leave with ^D); KERNEL='
	@echo 'make bench        instruction counts against the in-tree modules'
	@echo 'make mutants      patches the kernel code and sees the tests fail'
	@echo 'make deps         installs the Debian packages the above need (root)'
	@echo 'make clean        what was built; distclean: what was downloaded, too'

.PHONY: all modules tools install uninstall deps test test-harness shell check demo bench mutants \
	clean distclean help
