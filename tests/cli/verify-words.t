#!/usr/bin/python3
"""Each kind of read that cannot be resolved says what it is and what mends it; tests' files are told apart."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T

YAML = "name: x\ndescription: x\ntools: [{name: main, description: x, entry: main.py}]\n"

# a line of code, a part of what is said of it, the hint
WORDS = [
    ("EV_KEYS.CRM_KEY", "EV_KEYS.CRM_KEY is an AttributeError", "write EV_KEYS['CRM_KEY']"),
    ("EV_KEYS.CRM_KEY()", "EV_KEYS.CRM_KEY is an AttributeError", "write EV_KEYS['CRM_KEY']"),
    ("send(EV_KEYS)", "EV_KEYS is handed to send(), which", "hand send() the key that it needs: EV_KEYS['NAME']"),
    ("x.post(1, data=EV_KEYS)", "handed to post(), which", "hand post() the key that it needs: EV_KEYS['NAME']"),
    ("x[0](EV_KEYS)", "handed to a call", "hand over the key that it needs: EV_KEYS['NAME']"),
    ("EV_KEYS.items()", "EV_KEYS.items() names no key", "read each key by its name: EV_KEYS['NAME']"),
    ("[k for k in EV_KEYS]", "gone through", "go through the names of the keys: for name in ('A_KEY', 'B_KEY')"),
    ("def f(): return EV_KEYS", "is returned", "return the key: EV_KEYS['NAME']"),
    ("x.y = EV_KEYS", "is stored where", "store the key that is needed: EV_KEYS['NAME']"),
    ("f'{EV_KEYS}'", "made a text", "show the names of keys, never their values"),
    ("def f(name): return EV_KEYS[name]", "'name' is the key, and not all callers", None),
    ("a = 'A'; a = 'B'; EV_KEYS[a]", "'a' is the key, and it is bound more than once", None),
    ("EV_KEYS[nowhere]", "nothing binds it", None),
    ("for k in x(): EV_KEYS[k]", "what its loop goes over", None),
    ("EV_KEYS['A'.lower()]", "the key is computed", None),
    ("EV_KEYS[1]", "the key is no text", None),
    ("import os; os.environ.update(EV_KEYS)", "copied into os.environ", "read EV_KEYS['NAME'] where the key is needed"),
]

with T() as t:
    def judge(name, files):
        d = t.expert(name, files, YAML)
        return t.run("evctl-verify", f"{d}/", "-o", "json"), t.run("evctl-verify", f"{d}/").out

    for i, (line, why, hint) in enumerate(WORDS):
        r, text = judge(f"w{i}", {"main.py": line + "\n"})
        rows = r.json["dynamic"]
        t.ok(r.json["status"] == "amber" and len(rows) == 1 and why in rows[0]["why"] and rows[0].get("hint") == hint
             and f"hint: {hint or 'name the key where it is read'}" in text, f"{line}: {why}", r)

    # not in globals
    r, text = judge("globals", {"main.py": "k = globals()['EV_KEYS']\n"})
    t.ok(r.code == 7 and r.json["status"] == "red" and r.json["not_in_globals"] == [{"file": "main.py", "line": 1}] and
         "main.py:1: error: EV_KEYS is in builtins, not in globals()\n    hint: read EV_KEYS['NAME']\n" in text and
         text.endswith("red: 1 time EV_KEYS is sought in globals()\n"), "globals() is red", text)
    r, text = judge("builtin", {"main.py": "EV_KEYS['A_KEY'] if 0 else globals()['OTHER']\n"})
    t.ok(r.json["not_in_globals"] == [] and "globals()" not in text, "control: another name in globals() is nothing", r)

    # the environment
    r, text = judge("environ", {"main.py": "from os import environ as EV_KEYS\nEV_KEYS['CRM_KEY']\n"})
    t.ok(r.json["status"] == "amber" and "EV_KEYS is os.environ here" in text, "environ under the name EV_KEYS", text)
    r, text = judge("filled", {"main.py": "import os\nos.environ['ONE_KEY']\nos.environ.update(EV_KEYS)\nos.environ['TWO_KEY']\n"})
    t.ok("ONE_KEY is looked for in the environment, where no key ever is" in text and
         "TWO_KEY is looked for in the environment: os.environ has it only because" in text, "and after an update", text)

    # tests
    code = "EV_KEYS['T_KEY']\n"
    for i, path in enumerate(("tests/a.py", "test/a.py", "sub/tests/a.py", "test_a.py", "a_test.py", "conftest.py")):
        r, text = judge(f"t{i}", {"main.py": "", path: code})
        t.ok(r.json["status"] == "amber" and r.json["missing"] == [] and
             "hint: only in tests; `ignore:` leaves them out" in text, f"{path}: optional, only in tests", text)
    r, text = judge("contest", {"main.py": "", "contest.py": code})
    t.ok(r.json["status"] == "red" and "only in tests" not in text, "control: contest.py is no test", text)
    r, text = judge("used", {"main.py": "import test_a\n", "test_a.py": code})
    t.ok(r.json["status"] == "red" and r.json["missing"][0]["hint"] == "evctl-cred add T_KEY",
         "control: nor is one that the entry imports", text)
    more = {"lib/__init__.py": "", "lib/tests/a.py": code + "send(EV_KEYS)\nimport os\nos.getenv('A_KEY')\n"}
    r, text = judge("brought", {"main.py": "import lib\n", **more})
    t.ok(r.code == 0 and r.json["status"] == "green" and r.json["reads"] == [], "tests of a brought package are left out", text)
    r, text = judge("metadata", {"main.py": "", "lib-1.0.dist-info/METADATA": "Name: lib\n", **more})
    t.ok(r.json["status"] == "green", "known by its metadata, too", text)
    r, text = judge("own", {"main.py": "", **more})
    t.ok(r.json["status"] == "amber" and r.json["reads"], "control: those of one that is not are not", text)
