#!/bin/sh
# The scanner meets a minute of hostile Python under the address and undefined-behaviour sanitizers.
echo 1..1
cd "$(dirname "$0")/../.." || exit 1
out=${EVCTL_TESTBIN:-$PWD/build/tests}/..
if make -s fuzz O="$out" FUZZ_TARGETS=scan_fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-60}" >"$out/fuzz.log" 2>&1; then
	echo "ok 1 - the lexer and parser: a minute, and nothing found"
else
	echo "not ok 1 - the lexer and parser"
	tail -n 60 "$out/fuzz.log" | sed 's/^/# /'
fi
