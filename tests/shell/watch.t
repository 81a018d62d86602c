#!/usr/bin/python3
"""evctl-run --watch: a draft runs again when its files change, result beneath result, until Ctrl-C."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T
from tmux import Shell

YAML = "name: e\ntools: [{name: f, entry: 'm.py:f', examples: [{input: {n: 1}, output: 1}]}]\n"
CODE = "def f(n=1):\n    return {}\n"
FILES = "import os\ndef f(n=1):\n    os.makedirs('outputs', exist_ok=True)\n    open('outputs/o.txt', 'w').write('{}')\n    return {}\n"

with T() as t:
    t.init()
    src = t.expert("e", {"m.py": CODE.format(1), "sub/data.txt": "x"}, YAML)
    t.good("evctl-expert", "create", "e", "--dir", src)
    t.good("evctl-expert", "publish", "e")
    term = Shell(t, "watch", columns=120)

    def runs():
        return t.sql("SELECT count(*) FROM runs WHERE ended IS NOT NULL")[0][0]

    term.line("evctl-run e f --watch").sees(r"note: runs when a file in [^\n]* changes; Ctrl-C ends it")
    term.sees(r"\n1\b")
    t.ok(runs() == 1, "it runs at once")
    (src / "m.py").write_text(CODE.format(2))
    s = term.sees(r"note: changed: [^\n]*\n2\b")
    t.ok("changed: m.py" in s and runs() == 2, "a file changes: it runs again, and says which", s)
    (src / "m.py.new").write_text(CODE.format(3))
    os.replace(src / "m.py.new", src / "m.py")
    t.ok("3" in term.sees(r"\n3\b"), "one that is put in another's place, as editors do")
    (src / "m.py").write_text("def f(n=1):\n    return (\n")
    s = term.sees(r"hint: [^\n]+")
    t.ok("error: " in s, "one that cannot run is told of", s)
    (src / "m.py").write_text(CODE.format(4))
    t.ok("4" in term.sees(r"\n4\b"), "and waited for")
    (src / "expert.yaml").write_text("name: [\n")
    s = term.sees(r"changed: expert.yaml\n[^\n]*error: [^\n]+")
    (src / "expert.yaml").write_text(YAML)
    s = term.sees(r"changed: expert.yaml\n4\b")
    t.ok(True, "a broken expert.yaml, too")
    (src / "sub/deep").mkdir()
    (src / "sub/deep/new.txt").write_text("y")
    s = term.sees(r"changed: [^\n]*\n4\b")
    t.ok("sub/deep/new.txt" in s, "a new file in a new directory", s)
    (src / "sub/deep/new.txt").unlink()
    s = term.sees(r"changed: [^\n]*\n4\b")
    t.ok("sub/deep/new.txt" in s, "one that is gone", s)
    n = runs()
    (src / ".m.py.swp").write_text("z")
    (src / "__pycache__").mkdir()
    (src / "__pycache__/m.pyc").write_text("z")
    (src / "m.py").write_text(CODE.format(5))
    term.sees(r"changed: m.py\n5\b")
    t.ok(runs() == n + 1, "what editors and Python leave is no change", runs())
    term.keys("C-c")
    s = term.sees(r"\n>")
    out, code = term.does("echo status $?")
    t.ok("status 130" in out, "Ctrl-C while it waits ends it", out)
    shutil.rmtree(src / "__pycache__")

    # ---- outputs within the directory that is watched
    (src / "m.py").write_text(FILES.format("one", 1))
    term.line(f"evctl-run e f --watch --outputs {src}/made").sees(r"\n1\n[^\n]*o.txt available")
    n = runs()
    (src / "m.py").write_text(FILES.format("two", 2))
    term.sees(r"changed: m.py\n2\n[^\n]*o.txt available")
    t.ok((src / "made/o.txt").read_text() == "two" and runs() == n + 1, "outputs in there are copied anew, and are no change")
    term.keys("C-c").sees(r"\n>")
    shutil.rmtree(src / "made")

    # ---- Ctrl-C while it runs, JSON, examples
    (src / "m.py").write_text("import time\ndef f(n=1):\n    print('begun', flush=True)\n    time.sleep(20)\n")
    term.line("for i in 1 2; do evctl-run e f --watch --debug; echo after; done").sees(r"\nbegun")
    term.keys("C-c")
    s = term.sees(r"\n> ?$")
    t.ok("interrupted" in s and "after" not in s and t.sql("SELECT count(*) FROM runs WHERE ended IS NULL") == [(0,)],
         "Ctrl-C while it runs ends the run, and all", s)
    (src / "m.py").write_text(CODE.format(1))
    term.line("evctl-run e f --watch -o json").sees(r'"result":\s*1')
    (src / "m.py").write_text(CODE.format(6))
    term.sees(r'\{"note":\{"message":"changed: m.py"\}\}')
    t.ok("6" in term.sees(r'"result":\s*6'), "JSON, an envelope beneath the other")
    term.keys("C-c").sees(r"\n>")
    (src / "m.py").write_text(CODE.format(1))
    term.line("evctl-run e --examples --watch").sees(r"1\.\.1|ok 1")
    (src / "m.py").write_text(CODE.format(7))
    t.ok("not ok" in term.sees(r"changed: m.py[\s\S]*not ok 1"), "the examples, again and again")
    term.keys("C-c").sees(r"\n>")
    for more in (("--version", "1"), ("--buyer", "b"), ("--session", "s000000000000000"), ("--input-file", "-")):
        t.fails(2, f"not with {more[0]}", "evctl-run", "e", "f", "--watch", *more)
    t.fails(2, "nor with calls", "evctl-run", "e", "--calls", "-", "--watch")
    t.fails(3, "nor of nothing", "evctl-run", "nope", "f", "--watch")
    term.close()
