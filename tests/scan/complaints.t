#!/usr/bin/python3
# A syntax error has CPython 3.11's line, column and message: broken code by hand, one mistake each, and mutants of the
# standard library, all compared with the compile() that runs this.
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scanlib  # noqa: E402

say = scanlib.say

if sys.version_info[:2] != (3, 11):
    print("1..0 # SKIP the complaints are Python 3.11's")
    sys.exit()
LIBRARY = os.path.dirname(os.__file__)
MUTANTS = int(os.environ.get("EVCTL_MUTANTS", 2000))
# Of 1,000 mutants that are refused, so many have CPython's.
FLOORS = {"line": 995, "column": 985, "message": 985}

BROKEN = [
    "if a b:", "if a\n pass", "elif", "while a b:\n pass", "while a\n", "for x in y z:\n pass", "for x in y\n",
    "def f() x", "class C x:\n", "class C\n", "class C(a) x", "with a b:\n", "with a\n", "try x:\n", "try\n",
    "try:\n pass\nexcept a b:\n", "try:\n pass\nexcept a\n", "try:\n pass\nfinally x", "try:\n pass\nexcept x",
    "if a:\n pass\nelse x", "if a:\n pass\nelif a b:\n", "lambda x y", "match x:\n case y z:\n",
    "match x:\n case y\n", "match x\n case", "{a: 1, b}", "{a: 1, b c}", "{a b: 1}", "{1: }", "{1: *a}", "f(a b)",
    "(a b)", "[a b]", "{a b}", "f(a, b c)", "f(a=1 b=2)", "x = (1, 2 3)", "a b", "print x", "exec x",
    "f(a for b in c, d)", "f(a for b in c d)", "f(x if y)", "[x for y in z w]", "x[a b]", "import", "from x import",
    "from . import (a b)", "def f(a b): pass", "def f(a=1, b): pass", "lambda a=1, b: 1", "x = = 1", "f() = 1",
    "a + 1 = 2", "f() += 1", "(a, b) += 1", "1 = x", "None = 1", "del f()", "del a + 1", "for f() in x: pass",
    "with a as f(): pass", "[f() for 1 in y]", "x: int: y", "(a, b): int", "[a]: int", "f(): int", "f(): int = 1",
    "a.b: ", "x := 1", "(a.b := 1)", "f(1=2)", "f(a.b=2)", "f(True=1)", "f(a=1, 2)", "f(**a, *b)", "f(**a, b)",
    "import a as b.c", "from a import b,", "raise x from", "a if b", "a if b else", "not", "if x = 1: pass",
    "if f() = 1: pass", "return x y", "global", "try:\n pass\nx = 1", "try:\n pass\n", "def f():\nx", "if a:\nx",
    "for a in b:\nx", "while a:\nx", "with a:\nx", "class A:\nx", "try:\nx", "try:\n pass\nexcept:\nx",
    "try:\n pass\nfinally:\nx", "match a:\nx", "match a:\n case b:\nx", "if a:\n pass\nelse:\nx",
    "if a:\n pass\nelif b:\nx", "for a in b:\n pass\nelse:\nx", "0777", "1_", "1__0", "0x", "0b2", "0o8", "1e",
    "1.5x", "0b12", "\xe9 = 1 2", "x = \u2018a\u2019", "x\xa0= 1", "$", "?", "a!", '\\ x', 'x = \\', "'abc", "'''abc",
    "f'{'", "f'{a b}'", "f'{a!x}'", "f'}'", "f'{}'", "f'{a:{b:{c}}}'", "f'{a'", "'\\x'", "b'\xe9'", "'\\N{nosuch}'",
    "@\nx", "@a\nx = 1", "async x", "await", "yield = 1", "*a = 1,", "(*a)", "[*a for a in b]", "{**a for a in b}",
    "{**a: 1}", "f(*)", "f(**)", "nonlocal", "pass x", "break x", "assert", "except", "else:", "  x",
    "if 1:\n  x\n y", "if 1:\n\tx\n        y", "(", "[", "{", "f(", "(]", "x = (1,\n y = 2\n", "{'a': 1\n'b': 2}",
    "x = [1\n2]", "def f(:", "def f(a, *): pass", "def f(*, **a): pass", "def f(**a, b): pass",
    "def f(a, /, b, /): pass", "def f(*a, *b): pass", "def (x): pass", "class 1: pass", "lambda *: 1", "f(a, , b)",
    "x = [,]", "a..b", "a.1", "1.a", "a ? b", "a <> b", "a && b", "a++", "++", "x = 5 5", "if a:\n  b\n  else:\n c",
    "print 'a'", "print 'a', b", "exec 'a'", "raise A, 'b'", "except A, e: pass", "try:\n x\nexcept A, e:\n pass",
    "`a`", "0L", "ur'a'", "{a: 1, b c: 2}", "{a: 1, b c: 2, d: 3}", "{a: 1, (b c): 2}", "{a: b c}", "{a: 1, b: c d}",
    "{a: 1,\n b: c d, e: f}", "{a: 1, b + c d: 3}", "{**a, b c: 3}", "if a:\n", "if a:\n\n\n#x\n",
    "def f():\n if a:\n", "if a:\n x\n  y\n", "if a:\n  x\n\n\n\n y", "if a:\n x\n@f\n", "class A:\n @foo\nx",
    "class A:\n @foo\n", "try:\n x\n\n\n", "if x:\n try:\n  y\nz", "(a if b c)", "(a if b else c d)", "(x 'a')",
    "(x.y 'a')", "(_ a)", "(match a)", "(match.b c)", "[a +b c", "(a b +)", "(a [)", "(a {1 2 )",
    "{a: b for c in d e}", "f(a b for c in d)", "x[a b:c]", "x[a:b c]", "print(a b)", "(print a)", "(print a, b)",
    "f(print a)", "print a b", "print(a) b", "a = print b", "print a = 1", "lambda: print x", "if print a: pass",
    "return print x", "x = [\n 'a' b\n 'c'\n", "a = b c d = (", "x = $ '", "f(\nif a:\n  pass\nb = 1 2", "a b\n  c",
    "a b\n  'x", "if a:\n  b c\n d", "a $\n(", "(\n$", "(\na $ b", "(a,\nb c", "(a\nb c", "(a,\nb\nc)",
    "x = (a,\nfor x in y:\n  z(", "while x:\nclass", "class", "class A(", "def", "def f", "def f(a", "def f(a)",
    "def f(a) ->", "def f(a) -> b", "def f(a)\n", "def f\n", "lambda", "lambda a\n", "import a.\n", "from a import\n",
    "from a import (b", "from a import (b c)", "from a\n", "import a b", "import a as\n", "global a b", "del a b",
    "assert a b", "raise a b", "for a\n", "for\n", "for a in\n", "with\n", "with a as\n", "with a as b\n",
    "with a as b c:\n pass", "with (a as b\n", "with (a as b) c:\n pass", "with (a as b, c d):\n pass",
    "with (a, b)\n", "with (a as b)\n", "try: x\n", "while\n", "if\n", "if a:", "elif a:", "if a: b else: c", "else",
    "x = 1 if 2", "x = 1 if 2:", "[a if b for c in d]", "[x for x in a if b if c else d]", "a = yield = b",
    "a = (yield) = b", "x = y := z", "(x := y := z)", "((a, b) := c)", "f(a.b := c)", "[a.b := c]", "a[b.c := d]",
    "(1 := 2)", "(x = 1)", "(x.y = 1)", "(f() = 1)", "(x = 1 = 2)", "(x == y = 2)", "f(x.y = 1)", "f(x[1]=1)",
    "f((x)=1)", "f(x+1=1)", "f(a, b.c=2)", "f(a=1, b.c=2)", "f(a=)", "f(a=,b)", "f(a=1 for b in c)", "f(a b=1)",
    "if x = 1\n", "if x == y = 1:", "while x = 1:", "if x.y = 1:", "if x, y:", "if (x = 1):", "assert x = 1",
    "x if y = 2", "x = (y = 2)", "return x = 1", "[x = 1]", "{x = 1}", "{x: y = 1}", "x[y = 1]", "lambda: x = 1",
    "for x in y = 2:", "with a = b:", "with a = b as c:", "elif x = 1:", "{a: 1, b: [c d]}", "{a: 1, b: f(c d)}",
    "{a: 1, b: x[c d]}", "{a: 1, b: f([c d])}", "{a: 1, b: lambda: c d}", "{a: 1, b: print c}", "{a: 1, b: c if d}",
    "{a: 1, b: {c d}}", "{a: 1, b: {c: d e}}", "{a: 1, b: {c: 1, d: e f}}", "{a: 1, b: (c, d e)}", "{a: f(b c)}",
    "{a: 1, b: (c for d in e f)}", "{a: 1, b: f(x = 1, c.d = 2)}", "{a: 1, b: (c = 2)}", "{a: 1, **b c}",
    "{a: 1, b c d}", "[{a: 1, b: c d}]", "f({a: 1, b: c d})", "f({a: 1, b c: d})", "x = {a: 1, b: f(c d)}",
    "x = {a: 1, b: c f(c d)}", "def f():\n  x = {a: 1, b: c d}\n", "{a: 1, b: c, d: }", "{a: 1, b: c, d: *e}",
    "{a: 1, b: f(x=1, y z)}", "{a: 1, b: c.d(e f)}", "{a: 1, b: c.d(e f).g(h)}", "{a: 1, b: -(d e)}",
    "{a: 1, b: not (d e)}", "{a: 1, b: c + [d e]}", "{a: 1,\nb: f(\nc d)}", "{a: 1, b: f'{c d}'}", "{'a': 1 'b': 2}",
    "{'a': 1, 'b': 2 'c': 3}", "{'a': 1, 'b': 2\n 'c': 3, 'd': 4}", "{'a': 1, 'b' 2, 'c': 3, 'd': 4}",
    "{'a': 1, 'b': 'x' 2, 'c': 3, 'd': 4}", "{'a': 1, 'b': 'x'\n 2, 'c': 3, 'd': 4\n",
    "{'a': 1, 'b': 2, 'c', 'd': 4}", "{'a', 'b': 2, 'c', 'd': 4}", "{a: 1, b\n: c d}", "{a: 1, b.\nc d: 3}",
    "{a: 1, *b: 3}", "{a: 1, b := 3}", "{a: 1, b = 3}", "{a: 1, lambda: b}", "{a: 1, b: c for d in e}",
    "{a: 1, b: c = d}", "{a: 1, 0x: 3}", "{a: 1; b: 2}", "{a: 1, b; c: 2}", "{a: 1, : 2}", "{a: 1, b: 2 + }",
    "{a: 1, b: }", "{a: 1, b: ,}", "{a: 1,, b: 3}", "{a b, c}", "{a, b c}", "{a, b c, d}",
    "{a: 1, 'x': y if z, 3: 4}", "{a + : 1}", "(a not b)", "(a b()", "(a\n'b')",
    "if (x.y == z and\n        z.w[].v in q):\n    pass", "def f(a, /, b=1, c): pass",
    "def f(a, /, b=1, c=2, d): pass", "def f(a=1, /, c): pass", "def f(a=1, /, c=2, d): pass", "x.y := 1",
    "(x[a for b in c])", "x[]", "(x[])", "f(a=1, b'x', c=2)", "f(a=1, b 'x', c=2)", "x = {a: b[]}", "(a + b not c)",
    "a not b", "for x[] in y: pass", "del x[]", "x[] = 1", "print []", "'\\u12'", "'\\U00110000'", "'\\N'", "'\\N{'",
    "b'\\x1'", "f'{a!}'", "f'{a!r'", "f'{(a}'", "f'{a)}'", "f'{a[}'", 'f"{\'a}"', "f'{a#}'", "f'{a\\n}'",
    "f'{a b}' 'c'", "f'{}' \\\n 'x'", "'a' b'c'", "f'{a:{b!x}}'", "f'{a=!x}'", "f'{ }'", "f'{lambda x:1}'", "f'{*a}'",
    "f'{a $}'", "f'{0x}'", "x = 1\n\ty = 2", "if 1:\n    x\n\ty", "\xe9 + \xe9 \xe9", "(\xe9 \xe9)",
    "x = '\u2018' \u2019", "\xe9 = f(\xfc,\n", "with a as b, c as 1: pass", "async with a as f(): pass",
    "for x, 1 in y: pass", "for a + b in c: pass", "[x for a() in b]", "{x for x, 1 in y}", "x, y += 1", "(x) += 1 2",
    "[a, b] += 1", "a < b = c", "a and b = c", "not a = b", "lambda: 1 = 2", "f'{a}' = 1", "'a' = 1", "... = 1",
    "True = 1", "x = True = 2", "{} = 1", "{a} = 1", "{a: b} = 1", "[a for b in c] = 1", "{a for b in c} = 1",
    "(a for b in c) = 1", "await x = 1", "a if b else c = 1", "del 1", "del (a, 1)", "del *a", "del a, b()",
    "import a.b as", "from . import *, a", "from a import (b, c", "from a import *, b", "try:\n x\nexcept* :\n y",
    "try:\n x\nexcept*\n y", "try:\n x\nexcept A:\n y\nexcept* B:\n z", "try:\n x\nexcept A, B:\n y",
    "try:\n x\nexcept A, B as c:\n y", "try:\n x\nexcept (A, B) c:\n y", "class A(b c): pass",
    "class A(x for y in z): pass", "class A(b=1, c): pass", "def f(a, (b, c)): pass", "lambda (a, b): c",
    "def f(*, a, *): pass", "def f(*a=1): pass", "def f(**a=1): pass", "lambda *a=1: 1", "def f(a, /*, b): pass",
    "def f(/, a): pass", "def f(*, /): pass", "def f(a=): pass", "def f(a, a b): pass", "[a, b for c in d]",
    "{a, b for c in d}", "(a, b for c in d)", "[a, for b in c]", "(**a)", "f(**a for b in c)", "{**a for b in c}",
    "{1: 2, **a for b in c}", "@a b\ndef f(): pass", "match x:\n case 1\n  y", "match x:\n case a, b c:\n  y",
    "match x:\n y", "match x: y", "match x\n", "match = 1 2", "case x:\n y", "while 1\n", "else: pass",
    "finally: pass", "\tx = 1\n  y", "x = [1,\n\n\n", "x = (\n]", "x = {\n  1: (2,\n}\n", '"""abc\n\n', "'abc\n'def'",
    "x = 'a' 'b\n", "0_", "0b", "0o", "0b1_", "0xg", "1.5e", "1e+", "1j2", "00001", "0_7", "1__2", "0b102", "0o78",
    "1if 2else 3 4", "5if", "1_000_", "x = 0xZ", "$x", "x = a?b", "`x`", "x!", "x <> y", 'a = \\\n', 'a \\ b',
    '(\\ b', "if a: pass\n  b = 1\n", "def f():\n    a\n  b\n", "class A:\n  def f(self):\n  pass\n",
]
# Where CPython's second pass finds another mistake than the one that is told here, in the same line.
OTHERWISE = [
    "{a: 1, f(b c): 2}", "(a {1 2})", "print -1 a", "(exec a b)", "{a: 1, b: c d, e f: 3}", "{a: 1, b: c + d e}",
    "{a: 1, b + [d e]: 2}", "{a: 1, b + f([d e]): 2}", "{a: 1, b[d e]: 2}", "{a: 1, (b\n) d: 3}", "{a: 1, b + : 2}",
    "{a: 1, b + }", "{*a b}", "with (a as 1): pass", "match (x)\n y",
]


def cpython(text):
    try:
        compile(text, "x", "exec", dont_inherit=True)
    except SyntaxError as e:
        return e.lineno, max(1, e.offset), e.msg
    return None


def ours(place, texts):
    paths = []
    for i, text in enumerate(texts):
        paths.append(f"{place}/{i}.py")
        with open(paths[-1], "w", encoding="utf-8", newline="") as f:
            f.write(text)
    run = subprocess.run([*scanlib.DUMP, "-c"], input="\n".join(paths) + "\n", capture_output=True, text=True)
    out = []
    for part in ("\n" + run.stdout).split("\nF ")[1:]:
        word = part.split("\n")[1].split(" ", 3)
        out.append((int(word[1]), int(word[2]), word[3]) if word[0] == "error" else None)
    return out


def kind(message):
    return re.sub(r"\d+", "N", message)


def mutants(n):
    rng = random.Random(13)
    paths = sorted(os.path.join(d, f) for d, _, names in os.walk(LIBRARY) for f in names
                   if f.endswith(".py") and "/test/" not in d and "-packages" not in d)
    token = re.compile(r"\w+|[^\w\s]|\n[ \t]*|[ \t]+")
    out = []
    while len(out) < n:
        try:
            with open(rng.choice(paths), encoding="utf-8") as f:
                text = f.read()
        except UnicodeDecodeError:
            continue
        if not 200 < len(text) < 40000:
            continue
        all_tokens = token.findall(text)
        for _ in range(6):
            t = list(all_tokens)
            i = rng.randrange(len(t))
            t[i] = rng.choice(["", t[rng.randrange(len(t))] + t[i], t[rng.randrange(len(t))], t[i][:-1]])
            out.append("".join(t))
    return out


with tempfile.TemporaryDirectory() as place:
    got = ours(place, BROKEN)
    wrong = [f"{s!r}: CPython {cpython(s)}, here {g}" for s, g in zip(BROKEN, got, strict=True) if g != cpython(s)]
    say(not wrong and len(BROKEN) > 500, f"{len(BROKEN)} by hand have CPython's line, column and message", wrong)

    got = ours(place, OTHERWISE)
    wrong = [f"{s!r}: {g}" for s, g in zip(OTHERWISE, got, strict=True) if not g or g[0] != cpython(s)[0]]
    say(not wrong and len(OTHERWISE) < 16, f"{len(OTHERWISE)} known others are refused in CPython's line", wrong)
    same = [s for s, g in zip(OTHERWISE, got, strict=True) if g == cpython(s)]
    say(not same, "and none of them has become CPython's", same)

    texts = mutants(MUTANTS)
    hits, refused, unequal, examples = dict.fromkeys(FLOORS, 0), 0, [], []
    for text, g in zip(texts, ours(place, texts), strict=True):
        want = cpython(text)
        if bool(want) != bool(g):
            unequal.append(f"CPython {want}, here {g}")
        if not want or not g:
            continue
        refused += 1
        hit = {"line": g[0] == want[0], "column": g[:2] == want[:2], "message": kind(g[2]) == kind(want[2])}
        for k in hits:
            hits[k] += hit[k]
        if not all(hit.values()):
            examples.append(f"{text.split(chr(10))[want[0] - 1][:80]!r}: CPython {want}, here {g}")
    say(not unequal and refused > MUTANTS / 5, f"{MUTANTS} mutants: {refused} refused, the same as CPython's", unequal)
    for k, floor in FLOORS.items():
        say(hits[k] * 1000 >= floor * refused, f"the {k} is CPython's in {hits[k]} of {refused}", examples[:20])

    secret = "sk_live_4242"
    leaks = [f"x = '{secret}", f"({secret} b)", f"{secret} = = 1", f"f({secret}=1, '{secret}')", f"'\\N{{{secret}}}'",
             f"f'{{{secret} b}}'", f"0x{secret}", f"{{1: 2, '{secret}' 3}}", f"print {secret}"]
    told = [g[2] if g else "" for g in ours(place, leaks)]
    say(all(told) and not any(secret in t for t in told), "no complaint holds text of the file", told)
sys.exit(scanlib.TAP.done())
