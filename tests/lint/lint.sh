#!/bin/sh
# Rules of the tree that no compiler checks. `lint.sh --rules` lists their names; tests/lint/lint.t breaks each.
set -u
cd "$(dirname "$0")/../.." || exit 2
if [ "${1-}" = --rules ]; then
	sed -n 's/^rule \([a-z-]*\) .*/\1/p' "$0"
	exit
fi
bad=0

# NAME, what it says, and what was found to break it, a line each.
rule() {
	[ -n "$3" ] || return 0
	printf '%s: %s\n%s\n' "$1" "$2" "$3" >&2
	bad=1
}

# Which files other than those that match include a header of a library.
includers() { # HEADER MATCH
	grep -l "^#include <$1>" common/*/*.[ch] cmd/*.c | grep -Ev "$2"
}

# Calls of the functions, by regular expression, in the files.
calls() { # FUNCTIONS FILE...
	functions=$1
	shift
	grep -nE "(^|[^_a-z])($functions)\(" "$@"
}

rule sqlite "only common/state/db.c includes <sqlite3.h>" \
	"$(includers sqlite3.h '^common/state/db\.c$')"
rule sodium "only common/state/seal.c includes <sodium.h>" \
	"$(includers sodium.h '^common/state/seal\.c$')"
rule yaml "only common/manifest includes <yaml.h>" \
	"$(includers yaml.h '^common/manifest/[a-z_]*\.c$')"
rule curl "only common/gate/upstream.c includes <curl/curl.h>" \
	"$(includers curl/curl.h '^common/gate/upstream\.c$')"
rule iconv "only common/scan/codec.c includes <iconv.h>" \
	"$(includers iconv.h '^common/scan/codec\.c$')"

rule sql "SQL, and state/db.h with its functions, are in common/state alone" \
	"$(grep -nE '#include "state/db\.h"|(^|[^_a-z])(db|query|col)_[a-z]+\(|QUERY_AUTO|"[^"]*\<(SELECT|INSERT|UPDATE|DELETE FROM)\>' \
		common/*/*.[ch] cmd/*.c | grep -v '^common/state/')"
rule invocation "common/state knows no command line: what it needs is handed to it (common/cli)" \
	"$(grep -nE 'struct invocation|#include "(base/(program|argv|say|output)|cli/[a-z]*)\.h"' \
		common/state/*.[ch])"

rule silence "common/ neither prints nor exits (what speaks in base/ does)" \
	"$(calls 'printf|puts|putchar|exit|abort' common/*/*.c |
		grep -vE '^common/(base/(program|help|spec|say|output|terminal|complete)|state/seal)\.c:|_exit\(')"
rule processes "fork and exec live in base/child.c and sandbox/launch.c" \
	"$(calls 'fork|execve?|posix_spawn|system|popen' common/*/*.c |
		grep -vE '^common/(base/child|sandbox/launch)\.c:|\*')"
rule unbounded "no string functions without a limit" \
	"$(calls 'strcpy|strcat|sprintf|gets|atoi|atol' common/*/*.c cmd/*.c)"
rule cloexec "descriptors are opened close-on-exec" \
	"$(calls 'open|openat' common/*/*.c cmd/*.c | grep -E 'O_(RDONLY|WRONLY|RDWR)' | grep -v O_CLOEXEC)"

# One that is cleaned up although nothing was ever put there would free what happens to be in memory.
rule value "a variable with a cleanup has a value where it is declared" \
	"$(awk '
		FNR == 1 { text = "" }
		/^#/ { next }
		text == "" && /(_AUTO|cleanup\([a-z_]+\)\)\)) / { begun = FNR }
		text != "" || /(_AUTO|cleanup\([a-z_]+\)\)\)) / {
			text = text $0
			if (!/;/)
				next
			shown = text
			sub(/;.*/, "", text)
			while (gsub(/\([^()]*\)|\{[^{}]*\}/, "", text))
				;
			n = split(text, declared, ",")
			for (i = 1; i <= n; i++)
				if (declared[i] !~ /=/) {
					print FILENAME ":" begun ": " shown
					break
				}
			text = ""
		}' common/*/*.[ch] cmd/*.c tests/*/*.[ch])"

# HACKING.md has the table. A folder includes itself, and those that its row names; rows name only what is above them.
rule layers "folders of common/ include what the table in HACKING.md says" \
	"$(grep -no '^#include "[a-z]*/' common/*/*.[ch] | awk '
		NR == FNR {
			inside = /^\| folder \|/ || (inside && /^\|/)
			if (!inside || !/^\| `/)
				next
			gsub(/[|`,]/, " ")
			above[$1] = 1
			for (i = 2; i <= NF; i++) {
				if (!($i in above))
					print "HACKING.md:" FNR ": " $1 " names " $i ", which is no folder above it"
				may[$1, $i] = "HACKING.md:" FNR
			}
			may[$1, $1] = ""
			next
		}
		{
			split($0, found, /[:"\/]/)
			from = found[2]
			to = found[6]
			if (!((from, to) in may))
				print "common/" from "/" found[3] ":" found[4] ": " from " includes " to
			used[from, to] = 1
		}
		END {
			for (pair in may) {
				split(pair, at, SUBSEP)
				if (at[1] != at[2] && !(pair in used))
					print may[pair] ": nothing of " at[1] " includes " at[2]
			}
		}' HACKING.md -)"

rule options "an option is read where it landed; rows are looked up by name in common/base only" \
	"$(calls 'opt|opt_(flag|all|int)|option_(named|lettered)|argv_option' common/*/*.c cmd/*.c |
		grep -v '^common/base/'
		grep -n -e '->ngiven' common/*/*.c cmd/*.c | grep -vE '^(common/base/argv|cmd/evctl)\.c:')"

# Of a list it may be the plural, and of a struct within the struct its last part.
rule landing "an option lands in the member of its name" \
	"$(grep -nE 'OPT_(FLAG|STR|WORD|INT|LIST)\((struct|T)' cmd/*.c common/*/*.[ch] | grep -v '^common/base/options.h' | awk '{
		split($0, part, /, */)
		member = part[2]
		sub(/.*\./, "", member)
		name = part[3]
		gsub(/"/, "", name)
		gsub(/-/, "_", name)
		from = /secret\./ ? "from_" : ""
		if (member != name && from member != name && !(/OPT_LIST/ && member == name "s"))
			print
	}')"

rule guard "a header has an include guard of its name" \
	"$(for header in common/*/*.h; do
		name=EVCTL_$(echo "${header#common/}" | tr 'a-z/.' 'A-Z__')
		[ "$(grep -cE "^#(ifndef|define) $name\$" "$header")" = 2 ] || echo "$header: not $name"
	done)"

rule basenames "no two files of common/ and cmd/ have one name (a source and its header do)" \
	"$(ls common/*/*.[ch] cmd/*.c | awk -F '[/.]' '
		!($(NF - 1) in first) { first[$(NF - 1)] = $(NF - 2) }
		$(NF - 2) != first[$(NF - 1)] { print $0 ": there is one in " first[$(NF - 1)] }')"
rule tags "no struct tag is defined twice in common/ and cmd/" \
	"$(awk '
		/^[[:space:]]*struct [a-z_0-9]+ \{/ { tag = $2 }
		/^\{/ && before ~ /^struct [a-z_0-9]+$/ { tag = substr(before, 8) }
		tag {
			if (tag in first)
				print FILENAME ":" FNR ": struct " tag " is in " first[tag] " too"
			first[tag] = FILENAME ":" FNR
			tag = ""
		}
		{ before = $0 }' common/*/*.[ch] cmd/*.c)"
exit $bad
