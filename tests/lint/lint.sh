#!/bin/sh
# Rules of the tree that no compiler checks. Usage: lint.sh SOURCE...
set -u
bad=0
complain() {
	if [ -n "$2" ]; then
		printf '%s:\n%s\n' "$1" "$2" >&2
		bad=1
	fi
}
only() { # header, the files that may include it
	complain "only $2 may include <$1>" "$(grep -l "^#include <$1>" common/*/*.[ch] cmd/*.c | grep -Ev "$2")"
}
only sqlite3.h '^common/state/db.c$'
only sodium.h '^common/state/seal.c$'
only yaml.h '^common/manifest/[a-z]*.c$'
only curl/curl.h '^common/gate/upstream.c$'
complain "common/ neither prints nor exits (base/program.c, base/output.c and base/complete.c do)" \
	"$(grep -nE '(^|[^_a-z])(printf|puts|putchar|exit|abort)\(' common/*/*.c |
		grep -vE '^common/(base/(program|output|complete)|state/seal)\.c:|_exit\(')"
complain "fork and exec live in base/child.c and sandbox/launch.c" \
	"$(grep -nE '(^|[^_a-z])(fork|execve?|posix_spawn|system|popen)\(' common/*/*.c |
		grep -vE '^common/(base/child|sandbox/launch)\.c:|\*')"
complain "unbounded string functions" \
	"$(grep -nE '(^|[^_a-z])(strcpy|strcat|sprintf|gets|atoi|atol)\(' common/*/*.c cmd/*.c)"
complain "descriptors are opened close-on-exec" \
	"$(grep -nE '[^a-z_](open|openat)\(.*O_(RDONLY|WRONLY|RDWR)' common/*/*.c cmd/*.c | grep -v O_CLOEXEC)"
for header in common/*/*.h; do
	case $header in */parse_in.h | */tables*.h) continue ;; esac
	grep -q '#ifndef EVCTL_' "$header" || complain "no include guard" "$header"
done
exit $bad
