#!/bin/sh
# musl.sh GENERATED SOURCE...: whether what is compiled is C for another C library too, musl, as far as its headers tell. Those of the
# libraries are this system's: they are given to it without glibc's, which stand beside them.
set -eu
generated=$1
shift
beside=$(mktemp -d "${TMPDIR:-/tmp}/evctl-musl.XXXXXX")
trap 'rm -rf "$beside"' EXIT
trap 'exit 1' HUP INT TERM
multi=/usr/include/$(gcc -print-multiarch)
for header in sqlite3.h sodium.h sodium gnutls yaml.h pcre2.h seccomp.h seccomp-syscalls.h jansson.h jansson_config.h libpsl.h \
	idn2.h zlib.h zconf.h uniname.h unictype.h uninorm.h unistr.h unitypes.h unicase.h uniconv.h unistring linux asm-generic asm curl; do
	for there in /usr/include/$header $multi/$header; do
		[ ! -e "$there" ] || ln -sf "$there" "$beside/"
	done
done
printf '%s\n' "$@" | xargs -P"$(nproc)" -n8 sh -c 'beside=$0 gen=$1; shift; for source in "$@"; do
	musl-gcc -std=gnu17 -O1 -fsyntax-only -Wall -Wextra -Werror -Wno-missing-field-initializers -Wno-format-zero-length \
		-Wno-missing-braces -D_GNU_SOURCE -DEVCTL_VERSION=\"0\" -Icommon -I"$gen" -isystem "$beside" "$source" || exit 255
done' "$beside" "$generated"
