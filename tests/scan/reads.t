#!/usr/bin/python3
# Every rule of evctl-reads(7), case by case, from tests/scan/cases/*.txt.
#
# A case begins with "=== what it shows". Its files begin with "--- NAME" (tool.py if there is none).
# What is expected stands behind "#!" on the line that it is expected of, comma-separated:
#   R KEY  a required read        O KEY  an optional one      D  a dynamic use
#   G  EV_KEYS sought in globals()
#   E KEY  an environment mistake
#   M MODULE  a missing module that is needed  N MODULE  one that is perhaps not
# "#!! FILE LINE what, what" says the same of another line, and "#!! syntax" that a file does not parse.
# What is not said must not be reported.
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scanlib  # noqa: E402

CASES = os.path.join(scanlib.HERE, "cases")
KINDS = {"R": "required", "O": "optional"}


def expect(want, file, line, text):
    for item in text.split(","):
        kind, _, name = item.strip().partition(" ")
        if kind in KINDS:
            want.add(("read", file, line, name, KINDS[kind]))
        elif kind in "DGEMN" and kind:
            want.add(({"D": "dynamic", "G": "globals", "E": "env", "M": "module", "N": "perhaps"}[kind], file, line, name))
        else:
            raise ValueError(f"{file}:{line}: what is {item!r}?")


def parse(text):
    """The files of a case, and what is expected of it."""
    files, want, name, lines = {}, set(), None, []
    syntax = False
    for line in text.split("\n") + ["--- "]:
        if line.startswith("--- "):
            if name or any(lines):
                files[name or "tool.py"] = "\n".join(lines)
            name, lines = line[4:].strip(), []
        elif line.startswith("#!! "):
            if line[4:].strip() == "syntax":
                syntax = True
                continue
            file, at, rest = line[4:].split(" ", 2)
            expect(want, file, int(at), rest)
        else:
            lines.append(line)
            if "#!" in line:
                expect(want, name or "tool.py", len(lines), line.split("#!")[1])
    return files, want, syntax


def run(files):
    with tempfile.TemporaryDirectory() as tmp:
        for name, text in files.items():
            path = os.path.join(tmp, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8", newline="") as f:
                f.write(text)
        out = subprocess.run([scanlib.SCAN, "-p", FACTS, tmp], capture_output=True, check=True)
    return json.loads(out.stdout)


def found(got):
    out = {("read", r["file"], r["line"], r["name"], r["kind"]) for r in got["reads"]}
    out |= {("dynamic", d["file"], d["line"], "") for d in got["dynamic"]}
    out |= {("globals", g["file"], g["line"], "") for g in got["not_in_globals"]}
    out |= {("env", e["file"], e["line"], e["name"]) for e in got["env_mistakes"]}
    out |= {("module" if i["certain"] and not i["main_only"] else "perhaps", i["file"], i["line"], i["module"])
            for i in got["imports"] if i["missing"]}
    return out


place = tempfile.TemporaryDirectory()
FACTS = scanlib.facts_of_311(place.name)
only = sys.argv[1:]
for source in sorted(os.listdir(CASES)):
    with open(os.path.join(CASES, source), encoding="utf-8") as f:
        cases = re.split(r"^=== ?", f.read(), flags=re.M)[1:]
    for case in cases:
        title, _, text = case.partition("\n")
        if only and not any(o in source + " " + title for o in only):
            continue
        files, want, syntax = parse(text)
        got = run(files)
        have = found(got)
        good = have == want and got["syntax_error"] == syntax
        wrong = [f"missing {x}" for x in sorted(want - have)] + [f"extra   {x}" for x in sorted(have - want)]
        scanlib.TAP.ok(good, f"{source[:-4]}: {title}", "\n".join(
            [*wrong, f"syntax_error {got['syntax_error']} {got['syntax_errors']}"]))
sys.exit(scanlib.TAP.done())
