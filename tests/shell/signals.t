#!/usr/bin/python3
"""A terminal's keys while a tool runs: Ctrl-C ends a shell's loop, Ctrl-Z stops and fg goes on; and the last line of
a tool does not run into what evctl says."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T
from tmux import Shell

CODE = """import sys, time
def wait(s=99):
    print("begun", flush=True)
    time.sleep(s)
    return "slept"
def text():
    return "no newline"
def fails():
    sys.stderr.write("last words")
    sys.stderr.flush()
    time.sleep(99)
"""
SCRIPT = "import os\nos.makedirs('outputs', exist_ok=True)\nopen('outputs/f.txt', 'w').write('x')\nprint('script says', end='')\n"
YAML = """name: e
tools:
  - {name: wait, entry: 'm.py:wait', timeout: 5}
  - {name: text, entry: 'm.py:text'}
  - {name: fails, entry: 'm.py:fails', timeout: 1}
  - {name: script, entry: 's.py'}
"""

with T() as t:
    t.init()
    t.good("evctl-expert", "create", "e", "--dir", t.expert("e", {"m.py": CODE, "s.py": SCRIPT}, YAML))
    term = Shell(t, "signals", columns=120)

    # ---- Ctrl-C
    for more in ("", "-o json", "--session $S"):
        term.does("S=$(evctl-session start e --draft)") if "$S" in more else None
        term.line(f"for i in 1 2 3; do evctl-run e wait --draft --debug {more}; echo after $?; done").sees(r"\nbegun")
        term.keys("C-c")
        s = term.sees(r"\n> ?$")
        t.ok("after" not in s and ("interrupted" in s or more == "-o json"), f"Ctrl-C ends a loop {more}", s)
    t.eq(t.sql("SELECT count(*), min(status), min(reason) FROM runs"), [(3, "failed", "its caller was interrupted")],
         "each time one run was made, and recorded")
    t.eq(t.sql("SELECT count(*) FROM runs WHERE ended IS NULL"), [(0,)], "and none goes on")
    out, code = term.does("evctl-run e wait --draft --timeout 1")
    t.ok(code == 12, "a call's own failure is an exit code, as ever", out)
    (t.dir / "calls").write_text('{"tool": "text"}\n' + '{"tool": "wait"}\n' * 3)
    for more in ("", "-j 2"):
        term.line(f"for i in 1 2; do evctl-run e --draft --calls calls {more}; echo after $?; done")
        term.sees(r"no newline")
        term.keys("C-c")
        s = term.sees(r"\n> ?$")
        t.ok("after" not in s and "error: interrupted" in s, f"Ctrl-C ends a loop of --calls {more}", s)

    # ---- Ctrl-Z
    for more in ("", "--session $S"):
        term.line(f"evctl-run e wait --draft --debug --arg s=1 {more}").sees(r"\nbegun")
        term.keys("C-z").sees(r"Stopped")
        term.sees(r"> ?$")
        t.ok(t.run("evctl-cred", "list").code == 0, "Ctrl-Z stops it, and others go on")
        term.line("fg")
        s = term.sees(r"slept[\s\S]*\n> ?$")
        t.ok('"slept"' in s, f"fg goes on to the result {more}", s)
    term.line("evctl-run e wait --draft --debug --arg s=99 --timeout 2").sees(r"\nbegun")
    term.keys("C-z").sees(r"Stopped")
    pid = t.sql("SELECT pid FROM runs ORDER BY started DESC, rowid DESC LIMIT 1")[0][0]

    def inside():
        """The processes of the sandbox: children's children of the one that is stopped."""
        try:
            with open(f"/proc/{pid}/task/{pid}/children") as f:
                return [c for c in f.read().split() if os.path.exists(f"/proc/{c}/task/{c}/children") and
                        open(f"/proc/{c}/task/{c}/children").read().strip()]
        except FileNotFoundError:
            return []

    t.ok(inside(), "a sandbox is there while its program is stopped")
    deadline = time.monotonic() + 20
    while inside() and time.monotonic() < deadline:
        time.sleep(0.02)
    t.ok(not inside(), "its deadline ends it, though nobody watches")
    term.line("fg")
    s = term.sees(r"error: run r\w+: [^\n]*\n[\s\S]*\n> ?$")
    t.ok("timeout" in s, "fg tells that", s)

    # ---- last lines
    out, code = term.does("evctl-run e text --draft -o name > /dev/null; evctl-run e script --draft")
    t.ok("script says\nevctl-run: note: f.txt available" in out, "a result without a newline, then a note", out)
    out, code = term.does("evctl-run e fails --draft --debug")
    t.ok("last words\nevctl-run: error:" in out, "a log without one, then the error", out)
    r = t.run("evctl-run", "e", "script", "--draft")
    t.ok(r.out == "script says" and r.err.startswith("evctl-run: note: f.txt"), "elsewhere the bytes are as they are", r)
    r = t.run("evctl-run", "e", "fails", "--draft", "--debug", "-o", "json")
    t.ok(r.err == "last words", "and JSON has no message to run into", r)
    term.close()
