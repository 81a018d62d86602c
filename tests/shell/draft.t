#!/usr/bin/python3
"""Draft or published: what ran is said, files are named with their lines, and the same content is no new version."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T
from tmux import Shell

YAML = "name: e\ntools: [{name: f, entry: 'm.py:f'}, {name: fails, entry: 'm.py:fails'}]\n"
CODE = "def f():\n    return 1\n\ndef fails():\n    raise ValueError('x')\n"
NOTE = "ran, from which the draft differs: "

with T() as t:
    t.init()
    src = t.expert("e", {"m.py": CODE, "gone.py": "A = 1\nB = 2\n", "data.bin": "x\0y", "same.py": "S = 1\n"}, YAML)
    t.good("evctl-expert", "create", "e", "--dir", src)
    t.ok("published e, version 1" in t.good("evctl-expert", "publish", "e").out, "published")

    # ---- the same content is no new version
    r = t.run("evctl-expert", "publish", "e")
    t.ok(r.code == 0 and r.out.startswith("unchanged: e is as published in version 1"), "the same again: unchanged", r)
    r = t.run("evctl-expert", "publish", "e", "-o", "json")
    t.ok(r.json["version"] == 1 and r.json["unchanged"] is True, "as JSON", r)
    t.ok(len(t.good("evctl-expert", "versions", "e", "-o", "json").json) == 1, "and no version was made")
    os.utime(src / "m.py")
    t.ok("unchanged" in t.good("evctl-expert", "publish", "e").out, "a file's time is no change")
    r = t.good("evctl-expert", "publish", "e", "--force", "-o", "json").json
    t.ok(r["version"] == 2 and r["unchanged"] is False, "--force makes one", r)
    n = 2
    for what, change in (
            ("code", lambda: (src / "m.py").write_text(CODE + "#\n")),
            ("a description", lambda: (src / "expert.yaml").write_text(YAML + "description: Other\n")),
            ("a timeout", lambda: (src / "expert.yaml").write_text(YAML.replace("'m.py:f'}", "'m.py:f', timeout: 5}"))),
            ("a host", lambda: (t.good("evctl-host", "add", "a.example"), t.good("evctl-expert", "attach", "e", "a.example"))),
            ("a binding", lambda: (t.cred("K", "value-of-a-key-0123"), t.good("evctl-bind", "set", "a.example", "K"))),
            ("a flag", lambda: t.good("evctl-host", "set", "a.example", "--plain", "yes"))):
        change()
        n += 1
        r = t.good("evctl-expert", "publish", "e", "-o", "json").json
        t.ok(r["version"] == n and not r["unchanged"], f"{what} is a change", r)
        t.ok(t.good("evctl-expert", "publish", "e", "-o", "json").json["unchanged"], "and then there is none")
    t.good("evctl-expert", "unpublish", "e")
    t.ok(t.good("evctl-expert", "publish", "e", "-o", "json").json["version"] == n + 1, "what is offered no more is published anew")

    # ---- what differs, in list and show
    def drafts():
        return (t.good("evctl-expert", "list", "-o", "json").json[0]["draft"], t.good("evctl-expert", "show", "e", "-o", "json").json["draft"])

    t.eq(drafts(), ("same", "same"), "list and show say that they are the same")
    (src / "m.py").write_text(CODE.replace("return 1", "return 2") + "\n\ndef more():\n    return 3\n")
    (src / "gone.py").unlink()
    (src / "data.bin").write_bytes(b"x\0z")
    (src / "new.py").write_text("N = 1\nM = 2")
    t.eq(drafts(), ("differs", "differs"), "and that they differ")
    t.ok("differs: code" in t.good("evctl-expert", "list").out and "differs: code" in t.good("evctl-expert", "show", "e").out,
         "in words", t.good("evctl-expert", "list"))
    lines = ["~ file data.bin: binary", "- file gone.py: +0 -2", "~ file m.py: +5 -2", "+ file new.py: +2 -0"]
    r = t.good("evctl-expert", "show", "e", "--diff")
    t.ok([x for x in r.out.splitlines() if " file " in x] == lines and r.out.startswith("~ code\n"), "--diff names the files", r)
    r = t.good("evctl-expert", "show", "e", "--stat")
    t.eq(r.out.splitlines(), [*lines, "4 files: +7 -4"], "--stat has these alone")
    d = t.good("evctl-expert", "show", "e", "--diff", "-o", "json").json
    t.eq([(f["path"], f["what"], f["added"], f["removed"]) for f in d["files"]][1:3],
         [("gone.py", "removed", 0, 2), ("m.py", "changed", 5, 2)], "as JSON")
    t.ok("patch" not in d, "without the lines")
    r = t.good("evctl-expert", "show", "e", "-p")
    t.ok("-    return 1\n+    return 2\n" in r.out and "Binary file data.bin differs\n" in r.out and
         "\\ No newline at end of file" in r.out and "same.py" not in r.out, "-p has the lines", r)
    # What a patch says is what patch(1), which git has, makes of it.
    work = t.dir / "work"
    work.mkdir()
    (work / "m.py").write_text(CODE + "#\n")
    (work / "gone.py").write_text("A = 1\nB = 2\n")
    done = subprocess.run(["git", "apply", "-"], cwd=work, input=r.out.replace("Binary file data.bin differs\n", ""), text=True,
                          capture_output=True, env={**t.env, "GIT_CEILING_DIRECTORIES": str(t.dir)})
    t.ok(done.returncode == 0 and all((work / f).read_text() == (src / f).read_text() for f in ("m.py", "new.py")) and
         not (work / "gone.py").exists(), "and git applies it", done)
    (t.home / "master.key").rename(t.dir / "away.key")
    r = t.run("evctl-expert", "show", "e", "--diff")
    t.ok(r.code == 0 and "~ code" in r.out and " file " not in r.out and "note: which files differ cannot be told" in r.err,
         "without the key the rest is told", r)
    t.fails(4, "but no patch", "evctl-expert", "show", "e", "-p", hint=False)
    (t.dir / "away.key").rename(t.home / "master.key")

    # ---- what ran
    term = Shell(t, "draft", columns=150)
    out, code = term.does("evctl-run e f")
    t.ok(code == 0 and out.startswith("1\n") and out.count(NOTE + "code") == 1 and f"version {n + 1} ran" in out,
         "a run says that the draft differs, once", out)
    out, code = term.does("evctl-run e fails")
    t.ok(code == 11 and NOTE in out, "one that fails, too", out)
    for more, what in (("--draft", "the draft itself"), ("--version 1", "an old version that was asked for"),
                       ("--buyer b", "a buyer's"), ("-o json", "JSON"), ("2>/dev/null", "what nobody reads")):
        out, code = term.does(f"evctl-run e f {more}")
        t.ok(code == 0 and NOTE not in out, f"{what} has no such note", out)
    t.good("evctl-expert", "publish", "e")
    out, code = term.does("evctl-run e f")
    t.eq((out, code), ("2\n", 0), "nor has one where they are the same")
    r = t.run("evctl-run", "e", "f")
    term.close()
