#!/usr/bin/python3
# Hostile code: a clear answer in bounded time and memory, and no crash. Beside each the same in small,
# which is analysed as usual.
import json
import os
import random
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scanlib  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import SANITIZED  # noqa: E402

MEMORY = 900 << 20  # bytes of address space; the sanitizers want all of it
SECONDS = 20        # of processor time
random.seed(3)
junk = bytes(random.randrange(256) for _ in range(1 << 20))
words = [b"x", b"(", b")", b"[", b"]", b"\n", b" ", b"    ", b":", b"if", b"def", b"lambda", b"'", b'"', b"f'{", b"}",
         b"\\", b"match", b"case", b"for", b"in", b"not", b"=", b":=", b"*", b"**", b"@", b"async", b"EV_KEYS", b"['A']", b"#"]
soup = b"".join(random.choice(words) for _ in range(300000))


def names(n):
    return "".join(f"a{i} = a{i + 1}\n" for i in range(n)) + f"a{n} = EV_KEYS\na0['A']\n"


def rope(n):
    return "a0 = 'x'\n" + "".join(f"a{i + 1} = a{i} + a{i}\n" for i in range(n)) + f"EV_KEYS[a{n}]\n"


def stars(n):
    files = {f"m{i}.py": "".join(f"from m{k} import *\n" for k in range(n)) for i in range(n)}
    files["tool.py"] = "from m0 import *\nEV_KEYS[nowhere]\n"
    return files


# (what, hostile files, small files); one text is tool.py
CASES = [
    ("nested (", "(" * 100000, "(" * 100 + "EV_KEYS['A']" + ")" * 100),
    ("nested [", "x = " + "[" * 100000 + "]" * 100000, "x = [[EV_KEYS['A']]]"),
    ("nested {", "{" * 100000 + "}" * 100000, "{1: {2: EV_KEYS['A']}}"),
    ("nested calls", "f(" * 100000 + ")" * 100000, "f(f(EV_KEYS['A']))"),
    ("nested lambdas", "lambda: " * 100000 + "1", "lambda: lambda: EV_KEYS['A']"),
    ("nested nots", "not " * 100000 + "x", "not not EV_KEYS['A']"),
    ("nested signs", "-" * 1000000 + "1", "--EV_KEYS['A']"),
    ("nested powers", "x ** " * 100000 + "x", "x ** EV_KEYS['A']"),
    ("nested conditionals", "x if y else " * 100000 + "x", "x if y else EV_KEYS['A']"),
    ("nested blocks", "".join(" " * i + "if x:\n" for i in range(2000)) + " " * 2000 + "x", "if x:\n if y:\n  EV_KEYS['A']"),
    ("elifs", "if x: pass\n" + "elif x: pass\n" * 100000, "if x: pass\nelif y: EV_KEYS['A']"),
    ("a long sum", "x + " * 1000000 + "x", "x + EV_KEYS['A']"),
    ("a long chain", "x" + ".y" * 1000000, "x.y(EV_KEYS['A'])"),
    ("a long call chain", "x" + "()" * 1000000, "x()()(EV_KEYS['A'])"),
    ("nested patterns", "match x:\n case " + "[" * 100000 + "]" * 100000 + ": pass", "match x:\n case [[y]]: EV_KEYS['A']"),
    ("a 50 MB line", "x = '" + "a" * 50_000_000 + "'", "x = 'a' + EV_KEYS['A']"),
    ("a 50 MB list", "x = [" + "1," * 25_000_000 + "]", "x = [1, EV_KEYS['A']]"),
    ("a 12 MB list", "x = [" + "1," * 6_000_000 + "]", "x = [1, EV_KEYS['A']]"),
    ("12 MB of names", "x=y\n" * 3_000_000, "x = EV_KEYS['A']"),
    ("2 MB of reads", "EV_KEYS['A']\n" * 150_000, "EV_KEYS['A']"),
    ("2 MB of imports", "import a.b.c.d\n" * 150_000, "import json\nEV_KEYS['A']"),
    ("reads in a loop over many keys", "for k in (" + ",".join(f"'{i}'" for i in range(500)) + "):\n"
     + " EV_KEYS[k]\n" * 200_000, "for k in ('A',): EV_KEYS[k]"),
    ("a long name", "x" * 12_000_000, "xx = EV_KEYS['A']"),
    ("long dotted imports", "import " + ".".join(["a"] * 1_000_000), "import json.decoder\nEV_KEYS['A']"),
    ("binary junk", junk, b"EV_KEYS['A'] # \xff"),
    ("junk without NULs", junk.replace(b"\0", b"a"), b"EV_KEYS['A'] # \xff"),
    ("word soup", soup, "EV_KEYS['A']"),
    ("NULs", b"\0" * 1_000_000, "EV_KEYS['A']"),
    ("an f-string of fields", "f'" + "{x}" * 1_000_000 + "'", "f'{x}' + EV_KEYS['A']"),
    ("f-strings in f-strings", 'f"{' * 50000 + 'x' + '}"' * 50000, "f'{EV_KEYS[\"A\"]}'"),
    ("many short strings", "x = " + "'a' " * 2_000_000, "x = 'a' 'b' + EV_KEYS['A']"),
    ("an aliases' chain backwards", names(50000), names(20)),
    ("a constant that doubles", rope(500), "a = 'A'\nEV_KEYS[a]"),
    ("a test of many parts", "if " + " and ".join(f"'A{i}' in EV_KEYS and EV_KEYS['A{i}']" for i in range(50000)) + ": pass",
     "if 'A' in EV_KEYS: EV_KEYS['A']"),
    ("alternatives of many parts", "if " + " or ".join("('A' in EV_KEYS and x)" for i in range(20000)) + ": EV_KEYS['A']",
     "if 'A' in EV_KEYS or x: EV_KEYS['A']"),
    ("early exits", "def f():\n" + " if 'A' not in EV_KEYS: return\n EV_KEYS['A']\n" * 50000,
     "def f():\n if 'A' not in EV_KEYS: return\n EV_KEYS['A']"),
    ("elifs that leave", ("def f():\n if x: return\n" + " elif x: raise y\n" * 2800 + " EV_KEYS['A']\n") * 100,
     "def f():\n if x: return\n elif x: raise y\n EV_KEYS['A']"),
    ("functions that end in one another", "".join(f"def f{i}():\n if x: f{i + 1}()\n else: f{i + 2}()\n" for i in range(30000))
     + "if x: f0()\nEV_KEYS['A']\n" * 1000, "def f(): g()\ndef g(): exit()\nif x: f()\nEV_KEYS['A']"),
    ("tests that lead to tests", "".join(f"a{i} = a{i + 1} and a{i + 1}\n" for i in range(1000)) + "if a0: EV_KEYS['A']\n" * 10000,
     "a = 'A' in EV_KEYS\nif a: EV_KEYS['A']"),
    ("helpers that call one another", "".join(f"def f{i}(k): f{i + 1}(k), f{i + 2}(k)\n" for i in range(20000))
     + "def f20000(k): EV_KEYS[k]\ndef f20001(k): EV_KEYS[k]\nf0('A')\n", "def f(k): EV_KEYS[k]\nf('A')"),
    ("a helper of many parameters", "def f(" + ",".join(f"a{i}" for i in range(2000)) + "): "
     + ",".join(f"EV_KEYS[a{i}]" for i in range(2000)) + "\n" + "f('A', x=1)\n" * 20000, "def f(k): EV_KEYS[k]\nf('A')"),
    ("a class and its many objects", "class C:\n def k(self, n): EV_KEYS[n]\n" + "".join(f"c{i} = C()\nc{i}.k('A')\nx.k(1)\n" for i in range(30000)),
     "class C:\n def k(self, n): EV_KEYS[n]\nc = C()\nc.k('A')"),
    ("reads of a copy of many parts", "d = {" + ",".join(f"'{i}': 1" for i in range(100000)) + ",**EV_KEYS}\n" + "d['A']\n" * 20000,
     "d = {**EV_KEYS}\nd['A']"),
    ("many attributes that hold it", "class C:\n def __init__(self):\n" + "".join(f"  self.a{i} = EV_KEYS\n" for i in range(20000))
     + " def f(self):\n" + "".join(f"  self.a{i}['A']\n" for i in range(20000)),
     "class C:\n def f(self):\n  self.a = EV_KEYS\n  self.a['A']"),
    ("many names by star imports", {**{f"m{i}.py": "".join(f"a{k} = 1\n" for k in range(40)) + "".join(f"from m{k} import *\n" for k in range(40))
                                     for i in range(40)}, "tool.py": "from m0 import *\nEV_KEYS[a0]"},
     {"m.py": "K = 'A'", "tool.py": "from m import *\nEV_KEYS[K]"}),
    ("containers that are passed on", "".join(f"a{i} = a{i + 1}\nf(a{i})\n" for i in range(30000)) + "a30000 = ['A']\nfor k in a0: EV_KEYS[k]\n",
     "a = ['A']\nlen(a)\nfor k in a: EV_KEYS[k]"),
    ("attributes set by name", "import m\n" + "".join(f"setattr(m, 'a{i}', 1)\nm.b{i} = 1\nglobals()['c{i}'] = 1\n" for i in range(50000)),
     {"m.py": "K = 'A'\nL = 1", "tool.py": "import m\nsetattr(m, 'L', 1)\nEV_KEYS[m.K]"}),
    ("star imports in circles", stars(30), {"tool.py": "from m import *\nEV_KEYS['A']", "m.py": ""}),
    ("deep packages", {"a/" * 400 + "b.py": "from " + "." * 300 + " import x\nimport " + ".".join(["a"] * 400)},
     {"a/b.py": "from . import x\nEV_KEYS['A']"}),
    ("names like a statement's", "match[x] = 1\nmatch(a, b)\n" * 200000 + "x y", "match = 1\nEV_KEYS['A']"),
    ("a mistake behind many arguments", "f(" + "a=1, " * 300000 + "b, c)", "f(a=1, b=EV_KEYS['A'])"),
    ("a key alone behind many", "{" + "a: 1, " * 300000 + "b}", "{1: EV_KEYS['A']}"),
    ("a comma forgotten behind many", "(" + "x, " * 300000 + "y[])", "(x, EV_KEYS['A'])"),
    ("a huge number", "x = " + "9" * 10_000_000, "x = 9\nEV_KEYS['A']"),
    ("a cookie for everything", b"# coding: " + b"x" * 1_000_000, "# coding: utf-8\nEV_KEYS['A']"),
    ("an encoding's worst", b"# coding: gb18030\n#" + b"\x81\x30\x81\x30" * 2_000_000, "EV_KEYS['A']"),
]


def limits():
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    seconds = SECONDS * (10 if SANITIZED else 1)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def scan(files):
    with tempfile.TemporaryDirectory() as tmp:
        for name, text in ({"tool.py": files} if not isinstance(files, dict) else files).items():
            path = os.path.join(tmp, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(text if isinstance(text, bytes) else text.encode())
        return subprocess.run([scanlib.SCAN, tmp], capture_output=True, preexec_fn=limits)


for what, hostile, small in CASES:
    run = scan(hostile)
    # analysed, refused as a syntax error, or too much as a whole: never a signal, never silence
    said = run.stdout.startswith(b"{") if run.returncode == 0 else run.stderr
    scanlib.TAP.ok(run.returncode in (0, 1) and said, f"{what}: an answer", f"exit {run.returncode} {run.stderr[:200]}")
    run = scan(small)
    found = run.returncode == 0 and [r["name"] for r in json.loads(run.stdout)["reads"]]
    scanlib.TAP.ok(found and set(found) == {"A"}, f"{what}: in small it is read", found)
sys.exit(scanlib.TAP.done())
