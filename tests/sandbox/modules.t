#!/usr/bin/python3
"""What Python has, as it was asked when evctl was built, against what imports inside: each module that the file `python`
beside the cell names, each that it does not, and nothing of the machine's other packages, whatever is installed."""
import json
import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, T

CELL = BIN.parent / "share/evctl/cell"
FACTS = (CELL / "python").read_text().splitlines()
PACKAGES, *SHOWN = (CELL / "packages").read_text().splitlines()
CODE = """
import importlib, os, sys

def imports(names):
    failed = {}
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException as e:
            failed[name] = repr(e)[:80]
    return failed

def seen(directory):
    return sorted(os.listdir(directory))
"""
# What a tool may not begin by importing: they print, or end the program.
ODD = ("antigravity", "this", "__main__")
GONE = ("tkinter", "turtle", "winreg", "msilib", "dbm.gnu", "idlelib", "requests", "httpx", "yaml", "scipy", "jinja2", "nosuch")


def values(word):
    return [line.split(" ", 1)[1] for line in FACTS if line.startswith(word + " ")]


with T() as t:
    t.init()
    d = t.expert("m", {"t.py": CODE}, "name: m\ntools:\n- {name: imports, entry: t.py:imports}\n- {name: seen, entry: t.py:seen}\n")
    t.run("evctl-expert", "create", "m", "--dir", d)
    modules = [m for m in values("module") + values("package") if not m.startswith(ODD) and not m.endswith("__main__")]
    r = t.run("evctl-run", "m", "imports", "--input", json.dumps({"names": modules}))
    t.ok(r.code == 0 and r.json == {} and len(modules) > 500, f"each of {len(modules)} modules imports inside", r)
    r = t.run("evctl-run", "m", "imports", "--input", json.dumps({"names": GONE}))
    t.ok(r.code == 0 and set(r.json) == set(GONE), "those that are not named do not", r)
    r = t.run("evctl-run", "m", "seen", "--input", json.dumps({"directory": PACKAGES}))
    t.ok(r.code == 0 and set(r.json) - {"__pycache__"} == set(SHOWN), "the sandbox shows the packages that are named, and no other", r)
    here = set(os.listdir(PACKAGES))
    t.ok("requests" in here and "requests" not in r.json, "control: more is installed here", here)

    # Verify says the same.
    for name, code in [(m, 0) for m in ("os.path", "xml.dom.minidom", "numpy.linalg", "mpl_toolkits.mplot3d")] + [(m, 7) for m in GONE]:
        d = t.expert("v", {"t.py": f"import {name}\n"}, "name: v\ntools: [{name: a, entry: t.py}]\n")
        r = t.run("evctl-verify", f"{d}/", "-o", "json")
        t.ok(r.code == code and [x["module"] for x in r.json["modules_missing"]] == ([name] if code else []),
             f"verify: {name} {'is missing' if code else 'is there'}", r)
    # Systems that have what is compiled apart name two directories; another of this system's stands for it.
    apart = Path("/usr/share/python3")
    if apart.is_dir() and (apart / "debpython").is_dir():
        other = t.dir / "installed"
        for part in ("bin", "share"):
            shutil.copytree(BIN.parent / part, other / part)
        packages = other / "share/evctl/cell/packages"
        packages.write_text(packages.read_text() + f"{apart}\ndebpython\n")
        r = t.run(str(other / "bin/evctl-run"), "m", "imports", "--input", '{"names": ["debpython", "numpy", "requests"]}')
        t.ok(r.code == 0 and set(r.json) == {"requests"}, "two directories of packages: both import, and nothing beside", r)
        r = t.run(str(other / "bin/evctl-run"), "m", "seen", "--input", json.dumps({"directory": str(apart)}))
        t.ok(r.code == 0 and set(r.json) - {"__pycache__"} == {"debpython"} and len(os.listdir(apart)) > 1, "of the other too only what is named", r)
        library = other / "share/evctl/cell/library"
        library.write_text("/usr/lib/python3.0\n")
        t.ok(t.run(str(other / "bin/evctl-run"), "m", "imports", "--input", '{"names": []}').code == 8,
             "a library that is not there: exit 8")
    version = values("version")[0]
    r = t.run("evctl-doctor", "-o", "json")
    t.ok(version in str(r.json), "doctor says which Python it is", r)
