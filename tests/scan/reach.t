#!/usr/bin/python3
# Which of a directory's files an entry file reaches by import.
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scanlib  # noqa: E402

FILES = {
    "tool.py": "import a\nfrom pkg.sub import deep\n",
    "a.py": "def f():\n    import b\n",
    "b.py": "try: import c\nexcept ImportError: pass\nimport a\n",
    "c.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING: import d\n",
    "d.py": "import json\n",
    "e.py": "import nowhere\n",
    "pkg/__init__.py": "from . import side\n",
    "pkg/side.py": "",
    "pkg/other.py": "",
    "pkg/sub/__init__.py": "",
    "pkg/sub/deep.py": "from ..other import x\nimport importlib\nimportlib.import_module('plug')\n",
    "pkg/sub/not.py": "",
    "plug.py": "__import__('plug2')\n",
    "plug2.py": "",
    "star.py": "from stars import *\n",
    "stars/__init__.py": "__all__ = ['one', 'name']\n",
    "stars/one.py": "",
    "stars/two.py": "",
    "loose.py": "from bare import in_it\n",
    "bare/in_it.py": "",
    "bare/not_it.py": "",
    "broken.py": "import a\nx = = 1\n",
    "newer.py": "import d\ntype X = int\n",
}
CASES = [
    ("tool.py", "functions, packages on the way, relative and computed imports, circles",
     "a.py b.py c.py d.py pkg/__init__.py pkg/other.py pkg/side.py pkg/sub/__init__.py pkg/sub/deep.py plug.py plug2.py tool.py"),
    ("e.py", "what is not there is not reached", "e.py"),
    ("star.py", "the submodules that a star brings", "star.py stars/__init__.py stars/one.py"),
    ("loose.py", "a directory without __init__.py", "bare/in_it.py loose.py"),
    ("pkg/sub/not.py", "an entry file does not import its package", "pkg/sub/not.py"),
    ("broken.py", "what does not parse imports nothing", "broken.py"),
    ("newer.py", "newer syntax is read", "d.py newer.py"),
    ("gone.py", "an entry that is not there reaches nothing", ""),
]

with tempfile.TemporaryDirectory() as tmp:
    for name, text in FILES.items():
        os.makedirs(os.path.dirname(os.path.join(tmp, name)), exist_ok=True)
        with open(os.path.join(tmp, name), "w", encoding="utf-8") as f:
            f.write(text)
    for entry, what, want in CASES:
        out = subprocess.run([scanlib.SCAN, "-e", entry, tmp], capture_output=True, check=True)
        got = sorted(json.loads(out.stdout)["reach"])
        scanlib.TAP.ok(got == want.split(), what, got)
sys.exit(scanlib.TAP.done())
