#!/bin/sh
# evctl from end to end: a throw-away state, a CRM on loopback, the five actions, the run.
# Usage: demo.sh BUILD-DIRECTORY (the one that holds bin/)
set -eu
build=$(cd "${1:-build}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
PATH=$build/bin:$PATH
export PATH

work=$(mktemp -d "${TMPDIR:-/tmp}/evctl-demo.XXXXXX")
trap 'exec 9>&-; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
EVCTL_HOME=$work/state
export EVCTL_HOME
unset EVCTL_KEY_FILE CREDENTIALS_DIRECTORY

bold= plain=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
	bold=$(printf '\033[1m') plain=$(printf '\033[0m')
fi
say() { printf '\n%s# %s%s\n' "$bold" "$1" "$plain"; }
# Shows a command as it is typed, then runs it.
try() {
	printf '%s$ %s%s\n' "$bold" "$*" "$plain"
	"$@"
}
# As try, for one that must end with the given exit code.
expect() {
	want=$1 code=0
	shift
	try "$@" || code=$?
	[ "$code" = "$want" ] && return
	echo "demo: '$*' ended with $code, not $want" >&2
	exit 1
}

# The CRM's key is made up on the spot; it reaches server and credential through files only.
umask 077
mkdir "$work/crm"
mkfifo "$work/hold"
head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$work/crm.key"
/usr/bin/python3 "$here/server.py" "$work/crm" <"$work/hold" &
exec 9>"$work/hold"
{ cat "$work/crm.key"; echo; } >&9
tries=0
while [ ! -e "$work/crm/port" ]; do
	tries=$((tries + 1))
	[ "$tries" -lt 200 ] || { echo "demo: the CRM did not start" >&2; exit 1; }
	sleep 0.1
done
crm=127.0.0.1:$(cat "$work/crm/port")

say "A state of its own: one SQLite file and one private key"
try evctl init

say "1. Add a credential (its value comes from a file, a pipe or a hidden prompt)"
try evctl-cred add CRM_KEY --from-file "$work/crm.key"

say "2. Add a host (this one lives on loopback, so it is told where, and whom to trust)"
try evctl-host add api.crm.example --connect-to "$crm" --allow-private --ca-file "$work/crm/ca.pem"

say "The expert, with the host attached but nothing bound: verify says what is missing"
try evctl-expert create crm-helper --dir "$here/crm-helper"
try evctl-expert attach crm-helper api.crm.example
expect 7 evctl-verify crm-helper

say "3. Bind one to the other; 4. the host is attached; 5. verify"
try evctl-bind set api.crm.example CRM_KEY
expect 0 evctl-verify crm-helper

say "Run it: sealed off, with no way out but api.crm.example"
expect 0 evctl-run crm-helper chart-leads --arg month=2026-10

say "What it left"
try evctl-artifact list
run=$(evctl-log runs -o name | head -n 1)
try evctl-log egress "$run"
try evctl-artifact get "$run" leads.png --to "$work/leads.png"
[ "$(head -c 4 "$work/leads.png" | od -An -c | tr -d ' \n')" = '211PNG' ] || {
	echo "demo: leads.png is no picture" >&2
	exit 1
}
say "Done: leads.png is a run artifact; a buyer would get it and the result, not the code or the key"
