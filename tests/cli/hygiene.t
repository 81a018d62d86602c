#!/usr/bin/python3
"""What every program does alike: hints, one error, pipes, closed and full outputs, disks, narrow terminals."""
import json
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, HELPERS, Result, T, on_terminal

NONE, FILE, DIR, CRED, HOST, EXPERT, TOOL, RUN, ARTIFACT, SESSION, BATCH, CONN, VERSION, BUYER, TOKEN, WORD = range(16)
NOT_THERE = {FILE: "/dev/null", DIR: ".", CRED: "NOPE", HOST: "nope.example", EXPERT: "nope", TOOL: "nope", RUN: "rnope",
             ARTIFACT: "nope", SESSION: "snope", BATCH: "bnope", CONN: "nope", VERSION: "9", BUYER: "nope", TOKEN: "tnope",
             NONE: "x", WORD: "x"}
SECRET = "sk-live-0123456789-abcd"


def terminal(argv, env, columns):
    return on_terminal(argv, env, columns)[0]


with T() as t:
    programs = sorted(p.name for p in BIN.iterdir() if p.name.startswith("evctl-") and p.name not in HELPERS)
    specs = {p: json.loads(t.run(p, "--dump-spec").out) for p in programs}
    t.init()
    here = t.dir / "here"  # some of what is tried makes a state, or a key, where it stands
    here.mkdir()

    # ---- every wrong turn is answered
    wrong, tried, codes = [], 0, set()

    def value_of(thing):
        return thing["choices"].split("|")[0] if thing["choices"] else NOT_THERE[thing["kind"]]

    def turn(program, *args, **kw):
        """Whatever happens: the right form, nothing on stdout, and a hint where something mends it."""
        global tried
        if program == "evctl-serve" and not args:
            return  # which is right, and serves
        tried += 1
        try:
            r = t.run(program, *args, timeout=60, cwd=here, **kw)
        except subprocess.TimeoutExpired:
            wrong.append(("hangs", program, args))
            return
        codes.add(r.code)
        lines = r.err.splitlines()
        errors = [x for x in lines if x.startswith(f"{program}: error: ")]
        hints = [x for x in lines if x.startswith(f"{program}: hint: ") and len(x) > len(program) + 8]
        nameless = "No such file or directory" in r.err or "no such directory" in r.err
        if r.code == 0 or (program == "evctl-doctor" and r.code == 7):
            return
        if r.code < 0 or r.code > 15:
            wrong.append(("dies", r))
        elif len(errors) != 1 or len(hints) > 1 or r.out:
            wrong.append(("form", r))
        elif r.code in (2, 3, 4, 5, 9) and not hints and not nameless:
            wrong.append(("no hint", r))

    for p, spec in specs.items():
        for nth, v in enumerate(spec["verbs"]):
            verb = [v["name"]] if v.get("name") else []
            serves = p == "evctl-artifact" and v.get("name") == "serve"
            need = [value_of(a) for a in v["args"]]
            # Those that all verbs have are read in one place: each is tried with one verb of each program.
            options = v["options"] + (spec["options"] + spec["common"] if nth == 0 else [])
            turn(p, *verb, *need, "one", "two", "three") if not any(a["repeats"] for a in v["args"]) else None
            turn(p, *verb, *need, "--nope")
            turn(p, *verb, *need, "-Z")
            for i in range(len(need)):
                turn(p, *verb, *need[:i])
                for name in ("", "a b", "x" * 300, "\x01", "ü", "/"):
                    turn(p, *verb, *need[:i], name, *need[i + 1:])
            for o in options:
                name = "--" + o["name"]
                if o["arg"]:
                    turn(p, *verb, *need, name)
                    for x in ("", "x", "-1", "9" * 20, f"{t.dir}/none/x") if not serves else ():
                        turn(p, *verb, *need, name, x)
                elif o["name"] not in ("help", "version"):
                    turn(p, *verb, *need, name + "=x")
            if serves:
                continue
            every = [w for o in v["options"] if o["arg"] for w in ("--" + o["name"], value_of(o))]
            turn(p, *verb, *need)
            turn(p, *verb, *need, *every)
            for home in ("/dev/null/none", "/dev/null"):
                turn(p, *verb, *need, env={"EVCTL_HOME": home})
        turn(p, "nope")
    t.ok(not wrong, "each wrong turn: one error, a hint where a command mends it, nothing on stdout",
         "\n".join(str(w[0]) + ": " + " ".join(map(str, w[1:])) for w in wrong[:8]))
    t.ok(not [p for p in here.iterdir() if p.is_file()], "no key, or other file, is left by one that failed",
         list(here.iterdir()))
    t.ok(tried > 900 and {2, 3, 9} <= codes, "control: many were tried", (tried, codes))
    wrong = []
    for p in programs:
        r = t.run(p, "nope", "-o", "json", "--", "x", "y", "z")
        if r.code == 0 or r.err.count("\n") != 1 or set(r.error) != {"code", "kind", "message", "hint"} or \
                r.error["code"] != r.code or not r.error["hint"]:
            wrong.append(r) if p != "evctl-doctor" else None
    t.ok(not wrong, "with -o json an error is one line of JSON, with its hint", wrong)
    r = t.run("evctl", "nope", "-o", "json")
    t.ok(r.code == 2 and r.error["kind"] == "usage", "so is the front door's", r)
    for name in ("two\nlines", "\x1b[31mred", "bad\udcff byte", "c1\u009b31m"):
        r = t.run("evctl-cred", "show", name)
        t.ok(r.code == 2 and len(r.err.splitlines()) == 2 and
             r.err.replace("\n", "").replace("\ufffd", "").isprintable(), f"{name!a} stays on its line", r)
        r = t.run("evctl-cred", "show", name, "-o", "json")
        t.ok("not a credential's name" in r.error["message"] and r.error["hint"], "as JSON too", r)
    r = t.run("evctl-apply", "-f", "/dev/null")
    t.ok(r.code == 2 and "the file is empty" in r.err, "an empty file is an error, not the end", r)

    # ---- colour, locale, forms
    for i in range(30):
        t.good("evctl-host", "add", f"h{i}.example")
    t.cred("CRM_KEY", SECRET)
    t.good("evctl-bind", "set", "h1.example", "CRM_KEY")
    host_list = [str(BIN / "evctl-host"), "list"]
    shown = terminal(host_list, {**t.env, "TERM": "xterm"}, 100)
    t.ok("\033[1m" in shown and shown.startswith("\033"), "a terminal gets a header in bold", shown[:200])
    for env in ({"NO_COLOR": "1", "TERM": "xterm"}, {"TERM": "dumb"}, {}):
        clean = {k: v for k, v in t.env.items() if k != "TERM"}
        s = terminal(host_list, {**clean, **env}, 100)
        t.ok("\033" not in s and "HOST" in s, f"no colour with {env or 'no TERM'}", s[:200])
    s = terminal([str(BIN / "evctl-cred"), "show", "NOPE"], {**t.env, "TERM": "xterm"}, 80)
    t.ok("\033[1;31merror:" in s, "an error on a terminal is red", s)
    r = t.run("evctl-host", "list", env={"TERM": "xterm"})
    t.ok("\033" not in r.out and "HOST" not in r.out and
         r.out.count("\n") == len(t.run("evctl-host", "list", "-o", "json").json) >= 30, "a pipe gets rows alone", r)
    forms = [t.run("evctl-host", "list", "-o", "json", env={"LC_ALL": x}).out for x in ("C", "C.UTF-8", "POSIX", "xx_XX")]
    t.ok(len(set(forms)) == 1 and json.loads(forms[0]), "any locale gives the same JSON")
    r = t.run("evctl-cred", "list", env={"LC_ALL": "C"})
    t.ok(r.code == 0 and "••••" in r.out, "LC_ALL=C shows the same", r)

    # ---- widths
    t.good("evctl-host", "add", "a-very-long-host-name.of-a-long-domain.example", "--allow-private", "--plain", "--connect-to",
           "127.0.0.1:99")
    for columns in (120, 80, 40, 25):
        s = terminal(host_list, {**t.env, "TERM": "dumb"}, columns)
        t.ok(all(len(x) <= columns for x in s.splitlines()) and not re.search(r" $", s, re.M) and
             "127.0.0.1:99" in s and "h29.example" in s, f"a list fits {columns} columns, and loses nothing", s[-1500:])
    s = terminal(host_list, {**t.env, "TERM": "dumb"}, 120)
    head = s.splitlines()[0]
    row = next(x for x in s.splitlines() if x.startswith("h1.example"))
    t.ok(row.index("CRM_KEY") == head.index("CREDENTIAL"), "columns are aligned", s[:400])
    long = next(x for x in s.splitlines() if x.startswith("a-very"))
    t.ok("a-very-long-host-name.of-a-long-domain.example" in long, "a name is not cut where it has room", long)
    for columns in (80, 40):
        for p in programs:
            s = terminal([str(BIN / p), "--help"], {**t.env, "TERM": "dumb"}, columns)
            body = s.split("Usage:")[1].split("See also")[0]
            wide = [x for x in body.splitlines() if len(x) > columns and not x.startswith(("  evctl", "      --"))]
            t.ok(not wide and "Common options" in s, f"{p} --help fits {columns} columns", wide)
    s = terminal([str(BIN / "evctl-host"), "show", "a-very-long-host-name.of-a-long-domain.example"],
                 {**t.env, "TERM": "dumb"}, 40)
    t.ok(all(len(x) <= 40 for x in s.splitlines()) and "127.0.0.1:99" in s, "one thing fits 40 columns", s)

    # ---- outputs that are gone, closed, full
    commands = [("evctl-host", "list"), ("evctl-host", "list", "-o", "json"), ("evctl-host", "list", "-o", "name"),
                ("evctl-cred", "show", "CRM_KEY"), ("evctl-cred", "--help"), ("evctl-state", "status"),
                ("evctl-log", "audit"), ("evctl-apply", "--export"), ("evctl", "--help"), ("evctl", "host", "list"),
                ("evctl-expert", "list"), ("evctl-bind", "list"), ("evctl-cred", "--version")]
    for argv in commands:
        rd, wr = os.pipe()
        os.close(rd)
        done = subprocess.run([BIN / argv[0], *argv[1:]], stdout=wr, stderr=subprocess.PIPE, env=t.env)
        os.close(wr)
        empty = argv in (("evctl-expert", "list"),)
        t.ok(done.returncode == (0 if empty else -signal.SIGPIPE) and done.stderr == b"",
             f"{' '.join(argv)}: a reader that is gone ends it quietly", done)
        with open("/dev/full", "w") as full:
            done = subprocess.run([BIN / argv[0], *argv[1:]], stdout=full, stderr=subprocess.PIPE, env=t.env)
        t.ok(done.returncode == (0 if empty else 1) and (b"cannot write the output" in done.stderr) != empty,
             f"{' '.join(argv)}: a full disk is said", done)
        done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", BIN / argv[0], *argv[1:]], stderr=subprocess.PIPE, env=t.env)
        t.ok(done.returncode == (0 if empty else 1) and (b"cannot write the output" in done.stderr) != empty,
             f"{' '.join(argv)}: a closed output is said", done)
    before = (t.home / "state.db").read_bytes()[:100]
    for i, closed in enumerate((">&-", "2>&-", "<&-", "<&- >&- 2>&-")):
        done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", BIN / "evctl-host", "add", f"closed{i}.example"],
                              env=t.env, capture_output=True)
        t.ok(done.returncode in (0, 1) and t.run("evctl-doctor", "-o", "name").out.find("integrity") < 0 and
             (t.home / "state.db").read_bytes()[:16] == before[:16], f"{closed}: nothing is printed into the state", done)

    # ---- a disk that is full
    if os.geteuid() == 0:
        full = f"""
set -eu
mount -t tmpfs -o size=640k,mode=700 none "$EVCTL_HOME"
{BIN}/evctl-state init >/dev/null
printf %s {SECRET} | {BIN}/evctl-cred add FIRST --from-file - >/dev/null
i=0
while printf %s {SECRET} | {BIN}/evctl-cred add "K$i" --from-file - >/dev/null 2>"$EVCTL_TEST/err"; do
	i=$((i + 1)); [ $i -lt 3000 ] || exit 99
	[ $i -ne 3 ] || dd if=/dev/zero of="$EVCTL_HOME/filler" bs=1k 2>/dev/null || true
done
echo "added $i"
{BIN}/evctl-cred list >/dev/null 2>&1 && echo 0 || echo $?
printf %s {SECRET} | {BIN}/evctl-cred add AGAIN --from-file - >/dev/null 2>&1 && echo 0 || echo $?
rm "$EVCTL_HOME/filler"
{BIN}/evctl-cred list -o name | wc -l
printf %s {SECRET} | {BIN}/evctl-cred add AFTER --from-file - >/dev/null && echo added
{BIN}/evctl-doctor -o json > "$EVCTL_TEST/doctor" || true
"""
        room = t.dir / "room"
        room.mkdir()
        env = {**t.env, "EVCTL_HOME": str(room), "EVCTL_TEST": str(t.dir)}
        done = Result(["full disk"], subprocess.run(["unshare", "-m", "sh", "-c", full], capture_output=True, env=env))
        err = (t.dir / "err").read_text()
        n = int(re.search(r"added (\d+)", done.out).group(1)) if "added" in done.out else -1
        t.ok(done.code == 0 and n >= 3 and "error: " in err and "hint: make room" in err, "a full disk is said, with its mend",
             (done, err))
        said = done.out.split()
        t.ok(said[2] in "01" and said[3:] == ["1", str(n + 1), "added"],
             "nothing is lost by it, and all goes on when there is room", done)
        health = {c["check"]: c["ok"] for c in json.loads((t.dir / "doctor").read_text())["checks"]}
        t.ok(health["integrity"] and health["audit-chain"], "the state is sound after it", health)

        # ---- a state that cannot be written
        ro = ["unshare", "-m", "sh", "-c", 'mount --bind "$EVCTL_HOME" "$EVCTL_HOME" && '
              'mount -o remount,bind,ro "$EVCTL_HOME" && exec "$@"', "sh"]

        def read_only(*argv):
            return Result(argv, subprocess.run([*ro, BIN / argv[0], *argv[1:]], capture_output=True, env=t.env))

        r = read_only("evctl-host", "list")
        t.ok((r.code == 0 and "h1.example" in r.out) or (r.code == 9 and "hint: evctl doctor" in r.err),
             "a read-only state is listed, or says why not", r)
        r = read_only("evctl-host", "add", "new.example")
        t.ok(r.code == 9 and "hint: evctl doctor" in r.err and "Traceback" not in r.err, "and not changed, exit 9", r)
        r = read_only("evctl-doctor")
        t.ok(r.code == 7 and "remount" in r.out, "doctor says what mends it", r)
        t.ok(t.run("evctl-host", "add", "new.example").code == 0, "control: writable again")
        db = sqlite3.connect(t.home / "state.db")
        t.ok(db.execute("PRAGMA integrity_check").fetchone() == ("ok",), "and sound")
    # ---- small limits of whoever starts it
    def limited(what, n, *argv, **kw):
        return t.run(*argv, preexec_fn=lambda: resource.setrlimit(what, (n, n)), **kw)

    r = limited(resource.RLIMIT_FSIZE, 0, "evctl-host", "add", "small.example")
    t.ok(r.code == 1 and "error: " in r.err, "no file may be written: an error, not a signal", r)
    src = t.expert("small", {"m.py": "def f(): return 1\n"},
                   "name: small\ntools: [{name: f, entry: 'm.py:f'}]\nhosts: [new.example]\n")
    t.good("evctl-host", "add", "new.example", "--if-missing")
    t.good("evctl-expert", "create", "small", "--dir", src)
    r = limited(resource.RLIMIT_NOFILE, 40, "evctl-run", "small", "f", "--draft")
    t.ok(r.code == 0 and r.out == "1\n", "forty descriptors are enough for a run and its gate", r)
    r = limited(resource.RLIMIT_NOFILE, 40, "evctl-session", "start", "small", "--draft")
    t.ok(r.code == 0, "and for a session", r)
    t.good("evctl-session", "end", r.out.strip())

    r = t.run("evctl-host", "list", env={"EVCTL_HOME": str(t.home / "nothing")})
    t.ok(r.code == 9 and "hint: evctl init" in r.err, "no state: exit 9 and the command", r)
