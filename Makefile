# evctl. `make demo` and `make check` are all that a newcomer needs; see HACKING.md for the rest.
# O=DIR builds elsewhere; PREFIX and DESTDIR are as the GNU standards have them.
O ?= build
PREFIX ?= /usr/local
DESTDIR ?=
CC ?= gcc
VERSION := 0.2.0

PKGS := $(shell awk '$$1 == "build" && $$6 { print $$6 }' share/deps)
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lunistring -lm

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
	-Wformat-nonliteral -Wno-format-zero-length -Wno-missing-field-initializers
# What the processor itself checks of where a program jumps to.
MACHINE := $(shell $(CC) -dumpmachine)
JUMPS := $(if $(filter x86_64-% i%86-%,$(MACHINE)),-fcf-protection,$(if $(filter aarch64-%,$(MACHINE)),-mbranch-protection=standard))
HARDEN := -fPIE -fstack-protector-strong -fstack-clash-protection $(JUMPS) \
	-ftrivial-auto-var-init=zero -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
CFLAGS ?= -O2 -g
WERROR ?=
ALL_CFLAGS = -std=gnu17 $(CFLAGS) $(WARN) $(WERROR) $(HARDEN) -ffunction-sections -fdata-sections \
	-ffile-prefix-map=$(CURDIR)=. \
	-D_GNU_SOURCE -DEVCTL_VERSION='"$(VERSION)"' -Icommon -I$(O)/gen $(PKG_CFLAGS)
LINK_FLAGS = -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed -Wl,--gc-sections

PARTS ?= *
LIB_SRC := $(foreach part,$(PARTS),$(wildcard common/$(part)/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(O)/%.o)
LIB := $(O)/libevctl.a
PROGRAMS := $(patsubst cmd/%.c,%,$(wildcard cmd/*.c))
BINS := $(PROGRAMS:%=$(O)/bin/%)
TESTPROGS := $(patsubst tests/%.c,$(O)/tests/%,$(wildcard tests/sandbox/*.c tests/scan/*.c \
	tests/gate/*.c tests/guard/*.c tests/bench/*.c))
UNIT := $(patsubst tests/unit/%.c,$(O)/tests/unit/%.t,$(wildcard tests/unit/*.c))

.DELETE_ON_ERROR:
.SECONDARY: $(PROGRAMS:%=$(O)/cmd/%.o) $(UNIT:.t=.o) $(TESTPROGS:=.o)
.PHONY: dist deb image test-deb test-vm test-roots
.PHONY: all demo check check-programs spellings bench install uninstall fmt lint sanitize fuzz clean deps deps-test

all: $(BINS) $(O)/share.stamp $(O)/man.stamp

# Changes when what compiles does, and with it all that was compiled.
FLAGS = $(CC) $(ALL_CFLAGS) $(LINK_FLAGS) $(PKG_LIBS)
$(O)/flags: FORCE
	@pkg-config --exists $(PKGS) || share/install-deps --libraries
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || echo '$(subst ','\'',$(FLAGS))' > $@
FORCE:

$(O)/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# The schema and the views as the bytes of C arrays.
$(O)/gen/%.inc: common/state/%.sql
	@mkdir -p $(@D)
	od -An -v -tu1 $< | sed 's/[0-9][0-9]*/&,/g' > $@
$(O)/common/state/db.o: $(O)/gen/schema.inc $(O)/gen/views.inc

# The archive page's style sheet, icon and templates, likewise.
PAGE_PARTS := archive_style archive_icon archive_templates
$(O)/gen/archive_style.inc: common/archive/style.css
$(O)/gen/archive_icon.inc: common/archive/icon.svg
$(O)/gen/archive_%.inc:
	@mkdir -p $(@D)
	od -An -v -tu1 $< | sed 's/[0-9][0-9]*/&,/g' > $@
$(O)/gen/archive_templates.inc: $(wildcard common/archive/*.html)
	@mkdir -p $(@D)
	for f in $^; do echo "{\"$$(basename $$f .html)\", (const char[]){"; \
		od -An -v -tu1 $$f | sed 's/[0-9][0-9]*/&,/g'; echo '0}},'; done > $@
$(O)/common/archive/page.o: $(PAGE_PARTS:%=$(O)/gen/%.inc)
# The door's pages, in the archive's style.
$(O)/gen/door_templates.inc: $(wildcard common/monitor/*.html) common/archive/head.html
	@mkdir -p $(@D)
	for f in $^; do echo "{\"$$(basename $$f .html)\", (const char[]){"; \
		od -An -v -tu1 $$f | sed 's/[0-9][0-9]*/&,/g'; echo '0}},'; done > $@
$(O)/common/monitor/door_view.o: $(O)/gen/door_templates.inc

$(LIB): $(LIB_OBJ)
	@rm -f $@
	$(AR) rcsD $@ $^

$(O)/bin/%: $(O)/cmd/%.o $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LINK_FLAGS) -o $@ $< $(LIB) $(PKG_LIBS)

$(O)/tests/unit/%.t: $(O)/tests/unit/%.o $(LIB)
	$(CC) $(CFLAGS) $(LINK_FLAGS) -o $@ $< $(LIB) $(PKG_LIBS)

# Test programs find the cell as programs do that are installed.
check-programs: $(UNIT) $(TESTPROGS)
	@ln -sfn ../share $(O)/tests/share

# Small programs that tests drive.
$(TESTPROGS): $(O)/tests/%: $(O)/tests/%.o $(LIB)
	$(CC) $(CFLAGS) $(LINK_FLAGS) -o $@ $< $(LIB) $(PKG_LIBS)

-include $(LIB_OBJ:.o=.d) $(wildcard $(O)/cmd/*.d) $(wildcard $(O)/tests/*/*.d)

# What runs inside: joined, then compiled for this machine's Python, beside bin/ as when installed.
CELL := $(patsubst %,share/cell/%.py,base message text ends tool left call kernel ahead session names amend main)
$(O)/gen/cell/cell.py: share/cell/join common/base/limits.h $(CELL)
	@mkdir -p $(@D)
	share/cell/join common/base/limits.h $(CELL) > $@
$(O)/share.stamp: share/cell/build $(O)/gen/cell/cell.py
	@mkdir -p $(O)/share/evctl
	share/cell/build $(O)/gen/cell $(O)/share/evctl/cell
	@touch $@

# Manual pages: the programs' own tables around share/man/text.
$(O)/man.stamp: share/man/build $(wildcard share/man/text/*) common/base/limits.h $(BINS)
	share/man/build $(O)/bin share/man/text common/base/limits.h $(O)/man
	@touch $@

clean:
	rm -rf $(O)

# ---- what a newcomer runs ---------------------------------------------------------------------
deps:
	@share/install-deps build run

deps-test:
	@share/install-deps build run test

demo: deps
	@$(MAKE) --no-print-directory -s -j$$(nproc) all
	@share/demo/demo.sh $(O)

# The long ones first, so that none is left to run alone; one more at once than processors, as many wait.
LONG := $(patsubst %,tests/%.t,batch/slurm sandbox/many corpus/corpus batch/local fuzz/scan sandbox/processes shell/tab cli/hygiene \
	cli/state-crash cli/conn-call mcp/protocol sandbox/call sandbox/buyer)
TESTS ?= $(LONG) $(filter-out $(LONG),$(wildcard tests/*/*.t))
check: deps-test
	@$(MAKE) --no-print-directory -s -j$$(nproc) all check-programs
	@EVCTL_BIN=$(abspath $(O))/bin EVCTL_TESTBIN=$(abspath $(O))/tests \
		prove --timer --merge --failures --comments -j$$(($$(nproc) + 1)) $(UNIT) $(TESTS)

# Keys in the spellings of many encoders, in many places, before the guard: the table, and 200 MB of ordinary texts.
spellings: check-programs
	@EVCTL_BIN=$(abspath $(O))/bin EVCTL_TESTBIN=$(abspath $(O))/tests EVCTL_TABLE=1 EVCTL_ORDINARY_MB=200 \
		tests/guard/spellings.t

bench:
	@share/install-deps build run test bench
	@$(MAKE) --no-print-directory -s -j$$(nproc) all check-programs
	@for b in tests/bench/*.sh; do \
		EVCTL_BIN=$(abspath $(O))/bin EVCTL_TESTBIN=$(abspath $(O))/tests sh $$b || exit 1; done

# ---- install ----------------------------------------------------------------------------------
BINDIR = $(DESTDIR)$(PREFIX)/bin
LIBEXEC = $(DESTDIR)$(PREFIX)/libexec/evctl
SHARE = $(DESTDIR)$(PREFIX)/share
BASHDIR = $(SHARE)/bash-completion/completions
ZSHDIR = $(SHARE)/zsh/site-functions
FISHDIR = $(SHARE)/fish/vendor_completions.d
HELPERS = evctl-egress evctl-front evctl-introspect evctl-task
USER_PROGRAMS = $(filter-out $(HELPERS),$(PROGRAMS))
NOUN_PROGRAMS = $(filter-out evctl,$(USER_PROGRAMS))

install: all
	install -d $(BINDIR) $(LIBEXEC) $(SHARE)/evctl $(SHARE)/man $(BASHDIR) $(ZSHDIR) $(FISHDIR)
	install -s -m 755 $(USER_PROGRAMS:%=$(O)/bin/%) $(BINDIR)
	install -s -m 755 $(HELPERS:%=$(O)/bin/%) $(LIBEXEC)
	cp -R $(O)/share/evctl/cell share/demo share/ci share/batch share/container share/proxy share/systemd $(SHARE)/evctl
	chmod -R u=rwX,go=rX $(SHARE)/evctl
	for s in 1 5 7 8; do \
		for m in $(O)/man/*.$$s; do [ -e $$m ] || continue; \
		install -D -m 644 $$m $(SHARE)/man/man$$s/$$(basename $$m); done; done
	install -m 644 completions/_evctl $(ZSHDIR)
	install -m 644 completions/evctl.bash $(BASHDIR)/evctl
	install -m 644 completions/evctl.fish $(FISHDIR)
	for p in $(NOUN_PROGRAMS); do \
		ln -sf evctl $(BASHDIR)/$$p && ln -sf evctl.fish $(FISHDIR)/$$p.fish || exit 1; done

uninstall:
	rm -f $(USER_PROGRAMS:%=$(BINDIR)/%)
	rm -rf $(LIBEXEC) $(SHARE)/evctl
	rm -f $(SHARE)/man/man*/evctl*.[1-8] $(SHARE)/man/man5/expert.yaml.5
	rm -f $(ZSHDIR)/_evctl $(USER_PROGRAMS:%=$(BASHDIR)/%) $(USER_PROGRAMS:%=$(FISHDIR)/%.fish)

# ---- packages ---------------------------------------------------------------------------------
# Both have the time of the commit, or of the tarball that this was unpacked from.
EPOCH = $(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y NEWS.md)
TARBALL = $(O)/evctl-$(VERSION).tar.gz
DEB = $(O)/evctl_$(VERSION)_$(shell dpkg --print-architecture).deb

dist:
	@mkdir -p $(O)
	git archive --format=tar --prefix=evctl-$(VERSION)/ HEAD | gzip -9n > $(TARBALL).new
	mv $(TARBALL).new $(TARBALL)

deb:
	@share/install-deps build run package
	@$(MAKE) --no-print-directory -s -j$$(nproc) all
	@SOURCE_DATE_EPOCH=$(EPOCH) packaging/deb $(O) $(VERSION)

# A container's image, from a Debian made by debootstrap; no registry is asked. Needs root and a Debian mirror.
image: deb
	@share/install-deps package
	packaging/image $(DEB) $(O)/image

# In a Debian made for it: lintian's word, installed, run, removed. Needs root and a Debian mirror.
test-deb: deb
	packaging/test-deb $(DEB)

# In a virtual machine with Debian's kernel, systemd and control groups of version 2. Needs root and a Debian mirror.
test-vm: deb check-programs
	@share/install-deps vm
	tests/vm/run $(DEB) $(O)/tests

# README's two commands in fresh systems of other releases: ROOTS="trixie" picks. Needs root, and mirrors of Debian and Ubuntu
# (MIRROR, UBUNTU_MIRROR). A table at the end; half an hour a system.
test-roots:
	@share/install-deps roots
	tests/roots/run $(ROOTS)

# ---- for developers ---------------------------------------------------------------------------
SOURCES = $(wildcard common/*/*.[ch] cmd/*.c tests/*/*.c)
fmt:
	@clang-format -i $(SOURCES)

# A part of `make lint` each: what compiles is compiled again only where it changed.
AGAIN = $(MAKE) --no-print-directory -s -j$$(nproc) WERROR=-Werror
LINTS := lint-format lint-rules lint-shell lint-headers lint-warnings lint-clang lint-musl lint-tidy lint-cppcheck lint-gcc
.PHONY: $(LINTS) objects
lint:
	@share/install-deps build lint
	@for part in $(LINTS); do \
		begun=$$(date +%s); $(MAKE) --no-print-directory $$part || exit 1; \
		echo "$$part: $$(($$(date +%s) - begun)) s"; done
GENERATED = $(O)/gen/schema.inc $(O)/gen/views.inc $(PAGE_PARTS:%=$(O)/gen/%.inc) $(O)/gen/door_templates.inc
objects: $(LIB_OBJ) $(PROGRAMS:%=$(O)/cmd/%.o) $(UNIT:.t=.o) $(TESTPROGS:=.o)

lint-format:
	@clang-format --dry-run -Werror $(SOURCES)

lint-rules:
	@tests/lint/lint.sh

lint-shell:
	@shellcheck -S warning -e SC1007 $$(grep -rlE '^#!/bin/(ba)?sh' .ci packaging share tests --include=* --exclude-dir=node_modules) \
		completions/evctl.bash

# Each header compiles with nothing before it.
lint-headers: $(GENERATED)
	@printf '%s\n' $(wildcard common/$(PARTS)/*.h) | \
		xargs -P$$(nproc) -n1 $(CC) $(ALL_CFLAGS) -Werror -O0 -U_FORTIFY_SOURCE -fsyntax-only -x c

lint-warnings:
	@$(AGAIN) O=$(O)/lint/warnings objects

lint-clang:
	@$(AGAIN) O=$(O)/lint/clang CC=clang HARDEN= CFLAGS=-O1 objects

# For musl, as far as its compiler for this machine can tell.
lint-musl: $(GENERATED)
	@tests/lint/musl.sh $(O)/gen $(LIB_SRC) $(PROGRAMS:%=cmd/%.c)

lint-tidy: $(GENERATED)
	@printf '%s\n' $(LIB_SRC) $(PROGRAMS:%=cmd/%.c) | xargs -P$$(nproc) -n6 sh -c \
		'clang-tidy --quiet "$$@" -- -std=gnu17 -D_GNU_SOURCE -DEVCTL_VERSION=\"0\" -Icommon \
		-I$(O)/gen $(PKG_CFLAGS) -w' x 2>/dev/null

# That a frame's own variable is lent to what it calls is a habit here; cleanup attributes it follows in part only.
lint-cppcheck:
	@cppcheck -q -j$$(nproc) --error-exitcode=1 --enable=warning,portability,performance --inline-suppr \
		--suppress=autoVariables --suppress=memleak --suppress=resourceLeak --suppress=nullPointerRedundantCheck --suppress=identicalInnerCondition \
		--include=/usr/include/jansson.h -Icommon -I$(O)/gen -D_GNU_SOURCE -D__x86_64__ -DEVCTL_VERSION='"0"' \
		$(LIB_SRC) $(PROGRAMS:%=cmd/%.c)

# GCC's analyser, but for leaks: it takes what a struct owns for lost. `make sanitize` looks for those.
lint-gcc:
	@$(AGAIN) O=$(O)/lint/gcc HARDEN= CFLAGS="-O0 -fanalyzer -Wno-analyzer-malloc-leak" UNIT= TESTPROGS= objects

# The suite under the address and undefined-behaviour sanitizers, for which variables start as rubbish instead of zeros.
# What they find ends a program with 66, which no test takes for an answer. Left out is what adds nothing to that: tests
# of packages and of this tree itself, of shells and a browser, kills at each system call, many sandboxes at once, and the
# fuzzing that has sanitizers anyway.
UNSANITIZED := $(wildcard tests/pkg/*.t tests/lint/*.t tests/shell/*.t tests/fuzz/*.t) \
	$(patsubst %,tests/%.t,archive/browser cli/state-crash cli/man sandbox/many)
sanitize:
	@ASAN_OPTIONS=exitcode=66:verify_asan_link_order=0 UBSAN_OPTIONS=exitcode=66:print_stacktrace=1 \
		$(MAKE) --no-print-directory O=$(O)/sanitize HARDEN="-fPIE -ftrivial-auto-var-init=pattern" \
		CFLAGS="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer" \
		TESTS="$(filter-out $(UNSANITIZED),$(TESTS))" check

# Each fuzz target for FUZZ_SECONDS, starting from its corpus where it has one. PARTS names the
# directories of common/ that the targets need, where building all of them takes too long.
FUZZ_SECONDS ?= 30
FUZZ_TARGETS ?= $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c))
FUZZ_FLAGS = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined
fuzz:
	@$(MAKE) --no-print-directory -s O=$(O)/fuzz CC=clang HARDEN=-fPIE \
		CFLAGS="$(FUZZ_FLAGS) -fsanitize=fuzzer-no-link" $(O)/fuzz/libevctl.a
	@for f in $(FUZZ_TARGETS); do \
		mkdir -p $(O)/fuzz/corpus/$$f && \
		clang $(FUZZ_FLAGS) -fsanitize=fuzzer -D_GNU_SOURCE -std=gnu17 -Icommon $(PKG_CFLAGS) \
			-o $(O)/fuzz/$$f tests/fuzz/$$f.c $(O)/fuzz/libevctl.a $(PKG_LIBS) && \
		$(O)/fuzz/$$f -max_total_time=$(FUZZ_SECONDS) -max_len=2000 -print_final_stats=0 \
			-verbosity=0 -artifact_prefix=$(O)/fuzz/ $(O)/fuzz/corpus/$$f \
			$$(ls -d tests/fuzz/corpus/$$f 2>/dev/null) && echo "$$f: nothing found" || exit 1; \
	done
