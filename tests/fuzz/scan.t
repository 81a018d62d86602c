#!/bin/sh
# The scanner meets a minute of hostile Python under the address and undefined-behaviour sanitizers.
echo 1..1
cd "$(dirname "$0")/../.." || exit 1
# A place of its own, as its library has no more than what is fuzzed here.
out=${EVCTL_TESTBIN:-$PWD/build/tests}/../scan-fuzz
mkdir -p "$out" || exit 1
if make -s -j2 fuzz O="$out" PARTS="base scan" FUZZ_TARGETS=scan_fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-60}" >"$out/log" 2>&1; then
	echo "ok 1 - the lexer and parser: a minute, and nothing found"
else
	echo "not ok 1 - the lexer and parser"
	tail -n 60 "$out/log" | sed 's/^/# /'
fi
