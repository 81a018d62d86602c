# evctl. `make demo` and `make check` are all that a newcomer needs; see HACKING.md for the rest.
# O=DIR builds elsewhere; PREFIX and DESTDIR are as the GNU standards have them.
O ?= build
PREFIX ?= /usr/local
DESTDIR ?=
CC ?= gcc
VERSION := 0.1.0

PKGS := sqlite3 libsodium libcurl libmicrohttpd gnutls yaml-0.1 libseccomp jansson libpsl libpcre2-8
PKG_CFLAGS = $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS = $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lunistring

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
	-Wformat-nonliteral -Wno-format-zero-length -Wno-missing-field-initializers
HARDEN := -fPIE -fstack-protector-strong -fstack-clash-protection -fcf-protection \
	-ftrivial-auto-var-init=zero -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
CFLAGS ?= -O2 -g
WERROR ?=
ALL_CFLAGS = -std=gnu17 $(CFLAGS) $(WARN) $(WERROR) $(HARDEN) -ffile-prefix-map=$(CURDIR)=. \
	-D_GNU_SOURCE -DEVCTL_VERSION='"$(VERSION)"' -Icommon -I$(O)/gen $(PKG_CFLAGS)
LINK_FLAGS = -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed -Wl,--gc-sections

LIB_SRC := $(wildcard common/*/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(O)/%.o)
LIB := $(O)/libevctl.a
PROGRAMS := $(patsubst cmd/%.c,%,$(wildcard cmd/*.c))
BINS := $(PROGRAMS:%=$(O)/bin/%)
UNIT := $(patsubst tests/unit/%.c,$(O)/tests/unit/%.t,$(wildcard tests/unit/*.c))

.DELETE_ON_ERROR:
.PHONY: all demo check check-unit bench install uninstall fmt lint sanitize fuzz clean deps deps-test

all: $(BINS) $(O)/share.stamp

$(O)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# The schema as the bytes of a C array.
$(O)/gen/schema.inc: common/state/schema.sql
	@mkdir -p $(@D)
	od -An -v -tu1 $< | sed 's/[0-9][0-9]*/&,/g' > $@
$(O)/common/state/db.o: $(O)/gen/schema.inc

$(LIB): $(LIB_OBJ)
	@rm -f $@
	$(AR) rcsD $@ $^

$(O)/bin/%: $(O)/cmd/%.o $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LINK_FLAGS) -o $@ $< $(LIB) $(PKG_LIBS)

$(O)/tests/unit/%.t: $(O)/tests/unit/%.o $(LIB)
	$(CC) $(CFLAGS) $(LINK_FLAGS) -o $@ $< $(LIB) $(PKG_LIBS)

-include $(LIB_OBJ:.o=.d) $(wildcard $(O)/cmd/*.d) $(wildcard $(O)/tests/unit/*.d)

# Run from the build directory: bin/ beside share/, as when installed.
$(O)/share.stamp: $(wildcard share/cell/*)
	@mkdir -p $(O)/share
	@ln -sfn $(CURDIR)/share $(O)/share/evctl
	@touch $@

clean:
	rm -rf $(O)
