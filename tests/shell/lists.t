#!/usr/bin/python3
"""Lists on a terminal of 80 columns, and what is said beside a result: sizes, numbers, JSON lines, lines of a file, and
nothing twice."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, T, on_terminal
from tmux import Shell

CODE = """import os
def long(n=3_000_000):
    return "x" * n
def write():
    os.makedirs("outputs", exist_ok=True)
    for n in ("a-file-with-quite-a-long-name.txt", "b.txt"):
        open("outputs/" + n, "w").write(n)
    return 1
"""
YAML = """name: a-long-name-of-an-expert
tools:
  - {name: long, entry: 'm.py:long'}
  - {name: write, entry: 'm.py:write'}
  - {name: script, entry: s.py, timeout: 5}
"""
E = "a-long-name-of-an-expert"
LISTS = (("evctl-log", "runs"), ("evctl-artifact", "list"), ("evctl-session", "list", "--all"), ("evctl-cred", "list"),
         ("evctl-host", "list"), ("evctl-bind", "list"), ("evctl-conn", "list"), ("evctl-expert", "list"),
         ("evctl-expert", "versions", E), ("evctl-log", "audit"), ("evctl-buyer", "list"), ("evctl-batch", "list"))

with T() as t:
    t.init()
    t.good("evctl-expert", "create", E, "--dir", t.expert("e", {"m.py": CODE, "s.py": "print('x' * 2_000_000)\n"}, YAML))
    for i in range(4):
        t.cred(f"A_RATHER_LONG_NAME_OF_A_CREDENTIAL_{i}", f"value-of-a-credential-{i}")
        t.good("evctl-host", "add", f"host-{i}.with-a-rather-long-name.example", "--bind", f"A_RATHER_LONG_NAME_OF_A_CREDENTIAL_{i}",
               "--allow-private", "--connect-to", "127.0.0.1:1234")
    t.good("evctl-expert", "attach", E, *[f"host-{i}.with-a-rather-long-name.example" for i in range(4)])

    # ---- once an expert
    say = "was never published: this runs its draft"
    r = t.run("evctl-run", E, "write")
    t.ok(r.err.count(say) == 1, "that a draft runs is said", r)
    r = t.run("evctl-run", E, "write")
    t.ok(r.code == 0 and say not in r.err, "and not again", r)
    session = t.good("evctl-session", "start", E)
    t.ok(say not in session.err, "nor for a session", session)
    t.good("evctl-session", "end", session.out.strip())
    t.good("evctl-expert", "publish", E, "--yes")
    for _ in range(6):
        t.good("evctl-run", E, "write", "--buyer", "a-buyer-with-a-long-name")
    calls = t.dir / "calls"
    calls.write_text('{"tool": "write"}\n')
    t.good("evctl-batch", "start", E, "--calls", calls)
    t.cred("CONN_KEY", "value-of-a-connection")
    t.good("evctl-conn", "add", "a-connection", "--host", "a-host-of-a-connection.example", "--env", "A_NAME_OF_AN_ENV_KEY",
           "--auth", "bearer", "--from-file", "-", stdin="a-value-of-a-connection")
    t.good("evctl-buyer", "add", "a-buyer-with-a-long-name", "--note", "who they are, at some length, in many words")

    # ---- 80 columns
    term = Shell(t, "lists", columns=80, rows=50)
    for argv in LISTS:
        rows = t.good(*argv, "-o", "json").json
        out, code = term.does(" ".join(argv))
        lines = out.rstrip("\n").split("\n")
        first = lines[0].split()[0]
        # A terminal wraps what is too long for it, so that a line too many would be seen.
        t.ok(code == 0 and rows and not any(x.startswith(first + " ") for x in lines[1:]) and first.isupper() and
             len(lines) <= 1 + 4 * len(rows), f"{' '.join(argv)} is a table", out)
        plain, _ = on_terminal([str(BIN / argv[0]), *argv[1:]], {**t.env, "TERM": "dumb"}, 80)
        t.ok(max(map(len, plain.splitlines())) <= 80, f"{' '.join(argv)} fits 80 columns", plain)
        wide, _ = on_terminal([str(BIN / argv[0]), *argv[1:], "--wide"], {**t.env, "TERM": "dumb"}, 80)
        t.ok(len(wide.splitlines()) == 1 + len(rows) and len(wide.splitlines()[0].split()) >= len(lines[0].split()),
             "--wide has all columns, a row a line", wide)
    out, code = term.does("evctl-log runs")
    head = out.split("\n")[0].split()
    t.ok(head[:2] == ["RUN", "EXPERT"] and "STATUS" in head and "SESSION" not in head, "what is missed least goes first", out)
    t.ok(all(len(x.split()) >= len(head) - 1 for x in out.strip().split("\n")[1:9]), "a run is one line", out)
    term.close()

    # ---- sizes, numbers
    r = t.run("evctl-run", E, "long")
    run = r.err.split("run ")[1][:16]
    shown = t.good("evctl-log", "show", run)
    t.ok("the result is too long: 3000002 bytes, and at most 1000000 may be" in shown.out, "a result's size and limit", shown)
    r = t.run("evctl-run", E, "script", "-o", "json")
    shown = t.good("evctl-log", "show", r.json["run"], "-o", "json").json
    t.ok("2000001 bytes, and at most 1000000" in shown["reason"], "a script's, too", shown)
    for given, near in (("60", 25), ("26", 25), ("0", 1), ("-3", 1), ("1m", 1)):
        t.fails(2, f"--timeout {given} suggests {near}", "evctl-run", E, "long", "--timeout", given,
                hint=f"give '--timeout {near}'")

    # ---- -o json
    def json_lines(r):
        try:
            return [json.loads(x) for x in r.err.splitlines()]
        except ValueError:
            return None

    (t.dir / "nl").write_text("a-value-with-a-newline\n")
    (t.dir / "full").mkdir()
    for what, argv, kind in (
            ("a warning", ("evctl-cred", "add", "W", "--from-file", t.dir / "nl", "-o", "json"), "warning"),
            ("an error", ("evctl-cred", "show", "NOPE", "-o", "json"), "error"),
            ("an error of usage", ("evctl-cred", "nope", "-o", "json"), "error")):
        r = t.run(*argv)
        got = json_lines(r)
        t.ok(got and kind in got[0] and got[0][kind]["message"], f"{what} is a line of JSON", r)
    r = t.run("evctl-run", E, "long", "-o", "json")
    t.ok(r.code == 13 and r.err == "", "a run has said all on stdout", r)

    # ---- --calls
    text = '{"tool": "write"}\n\n{"tool": "nope"}\nnot json\n{"tool": "write", "input": {"n": 1}}\n'
    for more in ((), ("-j", "2")):
        r = t.run("evctl-run", E, "--calls", "-", *more, stdin=text)
        got = [json.loads(x) for x in r.out.splitlines()]
        t.eq([x["error"].get("line") for x in got if "error" in x], [3, 4, 5], f"errors carry the file's line {' '.join(more)}")
