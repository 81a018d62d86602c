#!/usr/bin/python3
# The syntax that a file may have is that of the sandbox's Python: what newer ones added is read, and is an error that
# names the version it needs, until that Python is there. And modules are those that the file says, whatever runs here.
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scanlib  # noqa: E402

NEW = {  # what came when
    "type X = int\n": 12,
    "def f[T](x: T): pass\n": 12,
    "class C[T: int]: pass\n": 12,
    'f"{x["a"]}"\n': 12,
    "f'{x:{y!r}} {'a'}'\n": 12,
    "def f[T = int](x: T): pass\n": 13,
    "try: pass\nexcept A, B: pass\n": 14,
    "t'{x}'\n": 14,
    "t'{x}' t'a'\n": 14,
    "x = 1\n": 11,
}
NEVER = ("x = = 1\n", "return 1\n", "def f[T](a, a): pass\n", "type X = = int\n", "f'{x if y else lambda z: 1}'\n",
         "t'{x}' 'a'\n", "'a' t'{x}'\n", "x = t'' f''\n")

with tempfile.TemporaryDirectory() as tmp:
    def scan(minor, code, modules=""):
        with open(f"{tmp}/python", "w") as f:
            f.write(f"version 3.{minor}\n{modules}")
        os.makedirs(f"{tmp}/d", exist_ok=True)
        with open(f"{tmp}/d/a.py", "w") as f:
            f.write(code + "EV_KEYS['K']\n")
        out = subprocess.run([scanlib.SCAN, "-p", f"{tmp}/python", f"{tmp}/d"], capture_output=True, check=True)
        return json.loads(out.stdout)

    for code, since in NEW.items():
        wrong = []
        for minor in (11, 12, 13, 14):
            got = scan(minor, code)
            needs = [x["needs"] for x in got["syntax_errors"]]
            if needs != ([] if since <= minor else [f"3.{since}"]) or [r["name"] for r in got["reads"]] != ["K"]:
                wrong.append((minor, got))
        scanlib.TAP.ok(not wrong, f"since 3.{since}: {code!r}", wrong)
    for code in NEVER:
        wrong = [got for got in (scan(minor, code) for minor in (11, 12, 13, 14))
                 if [x["needs"] for x in got["syntax_errors"]] != [None] or got["reads"]]
        scanlib.TAP.ok(not wrong, f"never: {code!r}", wrong)
    gone = "import cgi\nimport imp\nimport distutils.core\nimport os.path\n"
    got = scan(13, gone, "module os\nmodule os.path\n")
    scanlib.TAP.ok([i["module"] for i in got["imports"] if i["missing"]] == ["cgi", "imp", "distutils"], "modules that a Python lost", got)
    got = scan(11, gone, "module os\nmodule os.path\nmodule cgi\nmodule imp\npackage distutils\n")
    scanlib.TAP.ok(not [i for i in got["imports"] if i["missing"]], "control: one that has them", got)
sys.exit(scanlib.TAP.done())
