#!/usr/bin/python3
# What compile() refuses and ast.parse() takes, against CPython's own compile(): each rule by hand, every .py file of
# the standard library with its tests, numpy, pandas and matplotlib, and mutants of those with a statement put
# in where it may not be. The line of the complaint is CPython's too, except where a file has several.
import os
import random
import subprocess
import sys
import tempfile
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scanlib  # noqa: E402

say = scanlib.say

warnings.simplefilter("ignore")
LIBRARY = os.path.dirname(os.__file__)
TREES = [LIBRARY] + ["/usr/lib/python3/dist-packages/" + p for p in ("numpy", "pandas", "matplotlib")]
MUTANTS = int(os.environ.get("EVCTL_MUTANTS", 6000))

# Refused, a line each; "|" is a line's end.
REFUSED = """
return 1
yield 1
x = yield from y
await x
break
continue
class C:| return 1
class C:| yield
def f():| break
for x in y:| pass|else:| break
while 1:| def f():|  continue
def f():| return 1| await x
async def f():| yield from x
async def f():| yield 1| return 1
async for x in y: pass
def f():| async for x in y: pass
def f():| async with x: pass
lambda: await x
def f():| [await x for x in y]
[x async for x in y]
{x: 1 async for x in y}
def f():| return [[x async for x in y] for z in w]
async def f():| lambda: [x async for x in y]
def f(a, a): pass
lambda a, *a: 1
def f(a, *, a): pass
def f(a, **a): pass
def f():| x = 1| global x
def f():| print(x)| global x
def f(x):| global x
def f():| x: int| global x
def f():| global x| x: int = 1
def f():| x = 1| nonlocal x
def f(x):| nonlocal x
nonlocal x
def f():| nonlocal x
class C:| nonlocal x
def f():| class x: pass| def g():|  global x|  def h():|   nonlocal x
def f():| x = 1| def g():|  nonlocal x|  global x
x = 1|global x
def f():| from x import *
class C:| from x import *
[x := 1 for x in y]
[[x := 1 for z in y] for x in w]
[x for x in (y := z)]
[x for x in y for z in (lambda: (w := 1))()]
class C:| [x := 1 for y in z]
[(x := y) for y in z for x in w]
[(yield x) for x in y]
def f():| {(yield) for x in y}
def f():| ((yield from x) for x in y)
def f():| {1: (yield) for x in y}
from __future__ import annotations|x: (yield)
from __future__ import annotations|def f(x: (y := 1)): pass
from __future__ import annotations|async def f():| x: await y
x = 1|from __future__ import annotations
from __future__ import nosuch
'doc'|'more'|from __future__ import division
from __future__ import division; x = 1; from __future__ import division
from __future__ import braces
from __future__ import *
def f():| from __future__ import division
try: pass|except: pass|except ValueError: pass
for x in y:| try: pass| except* ValueError: break
for x in y:| try: pass| except* ValueError: continue
def f():| try: pass| except* ValueError: return
def f():| try: pass| except* ValueError:|  for x in y: return
*a, *b = c
[*a, *b] = c
*a = b
for *a in b: pass
*a
x = *a
del __debug__
__debug__ = 1
x.__debug__ = 1
def f(__debug__): pass
def __debug__(): pass
class __debug__: pass
import __debug__
import x as __debug__
f(__debug__=1)
f(a=1, b=2, a=3)
class C(a=1, a=2): pass
__debug__ += 1
__debug__: int
for __debug__ in x: pass
with x as __debug__: pass
match x:| case y: pass| case 1: pass
match x:| case _: pass| case 1: pass
match x:| case y | 1: pass
match x:| case [a, a]: pass
match x:| case [a] | [b]: pass
match x:| case [a] | {'k': a, **b}: pass
match x:| case [*a, *b]: pass
match x:| case {'a': 1, 'a': 2}: pass
match x:| case {None: 1, None: 2}: pass
match x:| case C(a=1, a=2): pass
match x:| case f'a': pass
match x:| case C(x, y=x): pass
match x:| case {'a': __debug__}: pass
"""
TAKEN = """
def f():| return 1| yield 2
async def f():| yield 1| return
async def f():| return [await x for x in y]
async def f():| return [[z async for z in x] for x in y]
(await x for x in y)
(x async for x in y)
def f():| return (x async for x in y)
for x in y:| try: break| finally: pass
for x in y:| try: pass| finally: continue
for x in y:| try: pass| except* ValueError:|  for z in w: break
for x in y:| with z: break
def f():| global x| x = 1
import x|global x
def f():| x = 1| def g():|  nonlocal x|  x = 2
def f(x):| class C:|  nonlocal x|  x = 2
def f():| [x for x in y]| def g():|  nonlocal z| z = 1
class C:| def f(self):|  def g():|   nonlocal __class__|   __class__ = 1
[(x := y) for y in z]
def f():| global x| [(x := y) for y in z]
[x for x in y if (z := x)]
{x: (yy := 1) for x in y}
class C:| x = (y := 1)
lambda: (yield)
def f(*args: *x): pass
x[*a]
x[*a, 1]
x = *a,
f(*a, *b, **c, **d)
f(**c, a=1)
a, *b = c
[a, *b] = c
(*a,) = b
'doc'|from __future__ import annotations|from __future__ import division
from __future__ import annotations|def f():| x: int|x: 'y' = 1
try: pass|except ValueError: pass|except: pass
match x:| case y if y: pass| case _: pass
match x:| case 1 | _: pass
x: int; 'more'
match x:| case [a] | {'k': a}: pass
match x:| case [_, _]: pass
match x:| case {'a': a, 'b': b, **c}: pass
match x:| case C(a, b=c): pass
match x:| case (1 as a) | (2 as a): pass
match x:| case -1 | 1+2j | a.b: pass
x.__debug__
print(__debug__)
def f():| x: (yield)
def f():| (x): int = 1
"""
PUT_IN = """return 1
return
yield
x = yield 1
await x
break
continue
global self
nonlocal self
global os
nonlocal result
from os import *
def f(a, b, a): pass
async def f(): return [await x for x in y]
x = [await y for y in z]
x = (await y for y in z)
async for x in y: pass
async with x: pass
self: int = 1
x = [self := 1 for self in y]
x = [(self := y) for y in z]
*a, *b = c
f(a=1, b=2, a=3)
from __future__ import annotations
from __future__ import division
import x as __debug__
class C: nonlocal x
class C: return
lambda: (yield)
x = [(yield y) for y in z]
def g(): nonlocal self
def g(): nonlocal name
def g(): global name; name = 1
if (y := 1): pass
del self, name
x: (yield)
x = *y""".split("\n")


# 3.14's parser refuses these itself; and a yield in an annotation is refused there, which before was in none but a module's.
if sys.version_info >= (3, 14):
    for line in ("from __future__ import nosuch", "from __future__ import braces", "from __future__ import *"):
        REFUSED = REFUSED.replace(line + "\n", "")
    TAKEN = TAKEN.replace("def f():| x: (yield)\n", "")
    PUT_IN.remove("x: (yield)")


def files(paths):
    for path in paths:
        for root, dirs, names in os.walk(path):
            dirs.sort()
            for name in sorted(names):
                if name.endswith(".py"):
                    yield os.path.join(root, name)


def cpython(data):
    """The line of compile()'s complaint, 0 where it takes the code, None where ast.parse refuses it already."""
    if scanlib.expected(data) is None:
        return None
    try:
        compile(data, "x", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        return getattr(e, "lineno", None) or 1
    return 0


def ours(paths):
    """The same, as the driver says it; and its words."""
    run = subprocess.run([*scanlib.DUMP, "-c"], input="\n".join(paths) + "\n", capture_output=True, text=True)
    for part in ("\n" + run.stdout).split("\nF ")[1:]:
        word = part.split("\n")[1].split(" ", 3)
        yield (int(word[1]), word[3]) if word[0] == "error" else (0, "ok")


with tempfile.TemporaryDirectory() as place:
    def written(texts):
        paths = []
        for i, data in enumerate(texts):
            paths.append(f"{place}/{i}.py")
            with open(paths[-1], "wb") as f:
                f.write(data)
        return paths

    # Newer ones take a block more.
    deep = [("def f():\n" + "".join(f"{' ' * (i + 1)}while x:\n" for i in range(n)) + " " * (n + 1) + "pass\n").encode()
            for n in (20, 21)]
    for what, text, refused in (("refused", REFUSED, True), ("taken", TAKEN, False)):
        cases = [x.replace("|", "\n") if " case " not in x else x.replace("| case", "\n case").replace(":|", ":\n")
                 for x in text.strip().split("\n")]
        data = [x.encode() + b"\n" for x in cases] + [deep[refused]] * (sys.version_info[:2] == (3, 11))
        wrong = []
        for d, (line, word) in zip(data, ours(written(data)), strict=True):
            want = cpython(d)
            if want is None or bool(want) != refused or line != want:
                wrong.append(f"{d!r}: CPython {want}, here {line} {word}")
        say(not wrong, f"{len(data)} by hand are {what}, and in the same line", wrong)

    paths = list(files(TREES))
    wrong = refused = 0
    for path, (line, word) in zip(paths, ours(paths), strict=True):
        with open(path, "rb") as f:
            want = cpython(f.read())
        refused += bool(want)
        if want is not None and bool(want) != bool(line):
            wrong += 1
            print(f"# {path}: CPython {want}, here {line} {word}")
    say(not wrong and len(paths) > 3000, f"{len(paths)} files: {wrong} differ, {refused} refused by compile() alone")

    rng = random.Random(1)
    mutants = []
    while len(mutants) < MUTANTS:
        with open(rng.choice(paths), "rb") as f:
            lines = f.read().split(b"\n")
        if not 5 < len(lines) < 800:
            continue
        for _ in range(8):
            at = rng.randrange(len(lines))
            indent = lines[at][:len(lines[at]) - len(lines[at].lstrip())]
            new = [*lines[:at], indent + rng.choice(PUT_IN).encode(), *lines[at:]]
            mutants.append(b"\n".join(new))
    wrong = refused = taken = elsewhere = 0
    for d, (line, word) in zip(mutants, ours(written(mutants)), strict=True):
        want = cpython(d)
        refused += bool(want)
        taken += want == 0
        elsewhere += bool(want) and line != want
        if want is not None and bool(want) != bool(line):
            wrong += 1
            if wrong < 5:
                print(f"# CPython {want}, here {line} {word}:")
                print("".join(f"#  {x.decode(errors='replace')}\n" for x in d.split(b"\n")[max(0, (want or line) - 3):][:5]))
    say(not wrong and refused > MUTANTS / 10 and taken > MUTANTS / 10,
        f"{len(mutants)} mutants: {wrong} differ; {refused} refused, {taken} taken; {elsewhere} complaints in another line")
sys.exit(scanlib.TAP.done())
