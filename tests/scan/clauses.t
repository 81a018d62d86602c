#!/usr/bin/python3
# The conventions for EV_KEYS, clause by clause: each case is a small tool whose lines say what must
# be found there. "#: R:A" is a required read of A, O: an optional one, D a dynamic use, E: an env
# mistake; "== FILE" begins a file. What a line does not say must not be found.
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scanlib  # noqa: E402

TABLE = r'''
---- text: comments, strings and docstrings do not count
"""EV_KEYS['A']"""
# EV_KEYS['A']
x = "EV_KEYS['A']"
def f():
    "EV_KEYS['A']"
b"EV_KEYS['A']"
---- text: string annotations do not count, others do
x: "EV_KEYS['A']" = 1
y: EV_KEYS['B'] = 1 #: R:B
z: EV_KEYS['C'] #: R:C
def f(a: EV_KEYS['D'], *b: EV_KEYS['E'], **c: "EV_KEYS['F']") -> EV_KEYS['G']: #: R:D R:E R:G
    q: EV_KEYS['H'] #: R:H
---- text: future annotations count as well
from __future__ import annotations
def f(a: EV_KEYS['A']) -> list["EV_KEYS['B']"]: ... #: R:A
---- text: a string inside an annotation is still only a string
x: list["EV_KEYS['B']"]
---- text: dead code counts
if 0:
    EV_KEYS['A'] #: R:A
def f():
    return 1
    EV_KEYS['B'] #: R:B
while False: EV_KEYS['C'] #: R:C
---- text: escapes and concatenation
EV_KEYS['\x41\u0042\103'] #: R:ABC
EV_KEYS['A' "B"] #: R:AB
EV_KEYS['A' f'B'] #: R:AB
EV_KEYS[u'A'] #: R:A
EV_KEYS['\N{LATIN CAPITAL LETTER Z}'] #: R:Z
EV_KEYS[r'a\x'] #: R:a\x
EV_KEYS["""T"""] #: R:T
---- text: identifiers are normalised, strings are not
ＥＶ_ＫＥＹＳ['A'] #: R:A
EV_KEYS['Ａ'] #: R:Ａ
import builtins
builtins.ＥＶ_KEYS['B'] #: R:B
ﬁ = 'C'
EV_KEYS[fi] #: R:C
---- text: what only compile() refuses is refused
== a.py
EV_KEYS['A']
return EV_KEYS['B']
== b.py
def f(a, a): EV_KEYS['A']
== c.py
await EV_KEYS['C']
== d.py
EV_KEYS['D'] #: R:D
!! syntax
---- text: a rejected file is ignored, the rest is not
== a.py
EV_KEYS['A'
== b.py
EV_KEYS['B'] #: R:B
!! syntax
---- line: a leading parenthesis belongs to the node
( #: R:A
EV_KEYS
)['A']
---- line: a parenthesis around the node does not
(
EV_KEYS['A'] #: R:A
)
---- line: first token of chains and comparisons
x = (EV_KEYS #: O:A
  .get(
  'A'))
( #: O:B
'B'
) in EV_KEYS
y = (
 'C' #: O:C
 not in
 EV_KEYS)
---- line: a backslash joins
x = 1; y = \
  EV_KEYS \
  ['A']
!! R A t.py 2
---- line: a string over lines before the read
x = """
""" + EV_KEYS['A'] #: R:A
---- line: an f-string over lines
x = f"""
{EV_KEYS['A']}
  {EV_KEYS['B']}
"""
!! R A t.py 2
!! R B t.py 3
---- line: itemgetter's call
from operator import itemgetter
x = (
  itemgetter( #: R:A
    'A')(
    EV_KEYS))
---- line: pattern keys have their own line
match EV_KEYS:
    case {
      'A': x, #: O:A
      'B': y, #: O:B
    }: pass
---- line: a dynamic use is at the dictionary
f(
  1,
  EV_KEYS) #: D
---- D: builtins in its forms
import builtins, builtins as b
from builtins import EV_KEYS as E
builtins.EV_KEYS['A'] #: R:A
b.EV_KEYS['B'] #: R:B
E['C'] #: R:C
__builtins__.EV_KEYS['D'] #: R:D
__builtins__['EV_KEYS']['E'] #: R:E
getattr(builtins, 'EV_KEYS')['F'] #: R:F
getattr(b, 'EV_' 'KEYS').get('G') #: O:G
---- D: globals do not have it
globals()['EV_KEYS']['A']
globals().get('EV_KEYS')['B']
globals()['EV_KEYS'].get('C')
d = globals()['EV_KEYS']
d['D']
globals()['other']['E']
---- D: import inside a function is local
def f():
    import builtins as q
    return q.EV_KEYS['A'] #: R:A
def g():
    from builtins import EV_KEYS as k
    return k['B'] #: R:B
k['C']
---- D: from a module outside the directory
from evsdk import EV_KEYS
EV_KEYS['A'] #: R:A
from evsdk.sub import EV_KEYS as E
E['B'] #: R:B
---- D: aliases by assignment
d = EV_KEYS
d['A'] #: R:A
e = f = d
e.get('B') #: O:B
f['C'] #: R:C
g: dict = EV_KEYS
g['D'] #: R:D
---- D: aliases by walrus
(d := EV_KEYS)['A'] #: R:A
d['B'] #: R:B
if (e := EV_KEYS): e['C'] #: R:C
---- D: aliases by tuples of the same length
a, d = 1, EV_KEYS
d['A'] #: R:A
(b, (c, e)), g = (1, [2, EV_KEYS]), 3
e['B'] #: R:B
[h, i] = EV_KEYS, EV_KEYS
h['C'], i['D'] #: R:C R:D
a['E']
---- D: tuples of another length are containers
a, *d = 1, EV_KEYS #: D
d['A']
x = 1, EV_KEYS #: D
---- D: parameter defaults
def f(a, d=EV_KEYS, *, e=EV_KEYS):
    return d['A'], e['B'] #: R:A R:B
g = lambda d=EV_KEYS: d['C'] #: R:C
def h(d=EV_KEYS, /): return d['D'] #: R:D
d['E']
async def i(a=1, *x, d=EV_KEYS, **k): return a['F'], d['G'] #: R:G
---- D: any binding suffices, before or after
def f():
    d['A'] #: R:A
    d = {}
    if 1: d = EV_KEYS
    d = None
    d['B'] #: R:B
x['C'] #: R:C
x = EV_KEYS
x = 0
---- D: scopes keep aliases apart
def f():
    d = EV_KEYS
    def g(): return d['A'] #: R:A
    class C:
        y = d['B'] #: R:B
    return [d['C'] for _ in 'x'] #: R:C
def h():
    return d['D']
d = {}
---- D: a local hides the alias of the module
d = EV_KEYS
def f(d): return d['A']
def g():
    d = {}
    return d['B']
def h(): return d['C'] #: R:C
[d['D'] for d in ()]
---- D: global and nonlocal
def f():
    global d
    d = EV_KEYS
d['A'] #: R:A
def g():
    e = None
    def h():
        nonlocal e
        e = EV_KEYS
    return e['B'] #: R:B
---- D: walrus in a comprehension binds outside it
def f():
    [0 for _ in 'x' if (d := EV_KEYS)]
    return d['A'] #: R:A
---- D: across files by from-import
== a.py
d = EV_KEYS
== b.py
from a import d, d as e
d['A'] #: R:A
e['B'] #: R:B
== c.py
from b import e
e['C'] #: R:C
---- D: across files by star
== a.py
d = EV_KEYS
g = EV_KEYS.get
== b.py
from a import *
d['A'] #: R:A
g('B') #: O:B
== c.py
from b import *
d['C'] #: R:C
---- D: across files by attribute
== a.py
d = EV_KEYS
== p/__init__.py
z = EV_KEYS
== p/m.py
d = EV_KEYS
== t.py
import a, p.m, p.m as m, p
a.d['A'] #: R:A
p.m.d['B'] #: R:B
m.d['C'] #: R:C
p.z['D'] #: R:D
from p import m as n
n.d['E'] #: R:E
a.other['F']
---- D: relative imports
== p/__init__.py
== p/a.py
d = EV_KEYS
== p/b.py
from .a import d
d['A'] #: R:A
from . import a
a.d['B'] #: R:B
== p/q/__init__.py
from ..a import d
== p/q/c.py
from ..a import d as e
e['C'] #: R:C
from . import d
d['D'] #: R:D
from .. import a
a.d['E'] #: R:E
from ...p.a import d as f
---- D: the root comes first
== h.py
d = EV_KEYS
== p/h.py
d = {}
== p/t.py
from h import d
d['A'] #: R:A
---- D: then the importer's package
== p/h.py
d = EV_KEYS
== p/t.py
from h import d
import h
d['A'] #: R:A
h.d['B'] #: R:B
== t.py
from h import d
d['C']
---- D: the root comes first, also if it is not D
== h.py
d = {}
== p/h.py
d = EV_KEYS
== p/t.py
from h import d
d['A']
---- D: packages without __init__.py
== p/m.py
d = EV_KEYS
== t.py
from p.m import d
import p.m
d['A'] #: R:A
p.m.d['B'] #: R:B
---- D: some modules are always the standard library's
== os.py
environ = {}
def getenv(x): pass
== builtins.py
EV_KEYS = {}
== operator.py
def itemgetter(x): pass
== contextlib.py
suppress = 1
== t.py
import os, builtins, contextlib
from operator import itemgetter
os.environ['X_KEY'] #: E:X_KEY
os.getenv('Y_KEY') #: E:Y_KEY
builtins.EV_KEYS['A'] #: R:A
itemgetter('B')(EV_KEYS) #: R:B
with contextlib.suppress(KeyError): EV_KEYS['C'] #: O:C
---- D: circular imports end
== a.py
from b import d
from b import k
d['A']
EV_KEYS[k] #: D
== b.py
from a import d
from a import k
d['B']
---- D: circular star imports still find
== a.py
from b import *
d = EV_KEYS
e['A'] #: R:A
== b.py
from a import *
e = EV_KEYS
d['B'] #: R:B
---- D: or, and, conditional
(EV_KEYS or {})['A'] #: R:A
({} or EV_KEYS).get('B') #: O:B
(EV_KEYS if x else {})['C'] #: R:C
({} if x else EV_KEYS)['D'] #: R:D
(x and EV_KEYS)['E'] #: R:E
d = None or (EV_KEYS if x else None) or {}
d['F'] #: R:F
(e := EV_KEYS or {}).pop('G', 1) #: O:G
'H' in (EV_KEYS or ()) #: O:H
---- D: bound methods alias
g = EV_KEYS.get
p = EV_KEYS.pop
s = EV_KEYS.setdefault
i = EV_KEYS.__getitem__
c = EV_KEYS.__contains__
g('A') #: O:A
g('B', 1) #: O:B
p('C') #: R:C
p('D', 1) #: O:D
s('E', 1) #: O:E
i('F') #: R:F
c('G') #: O:G
---- D: bound methods by every binding
def f(g=EV_KEYS.get): return g('A') #: O:A
x, g = 1, EV_KEYS.pop
g('B') #: R:B
(h := EV_KEYS.__getitem__)('C') #: R:C
h('D') #: R:D
(EV_KEYS.get)('E') #: O:E
d = EV_KEYS
k = d.get
l = k
l('F') #: O:F
---- D: bound methods across files
== a.py
get = EV_KEYS.get
== b.py
from a import get as g
import a
g('A') #: O:A
a.get('B') #: O:B
a.get(x) #: D
---- D: bound methods used otherwise
map(EV_KEYS.get, []) #: D
def f(): return EV_KEYS.pop #: D
x.y = EV_KEYS.get #: D
g = EV_KEYS.get
map(g, []) #: D
g
if g: pass
---- shadowing: parameters and locals
def f(EV_KEYS): return EV_KEYS['A']
def g():
    EV_KEYS['B']
    EV_KEYS = {}
    return EV_KEYS.get('C')
h = lambda EV_KEYS: EV_KEYS['D']
def i(*EV_KEYS): EV_KEYS['E']
def j(**EV_KEYS): EV_KEYS['F']
---- shadowing: locals that are D
import builtins
def f(EV_KEYS=EV_KEYS): return EV_KEYS['A'] #: R:A
def g():
    EV_KEYS = builtins.EV_KEYS
    return EV_KEYS['B'] #: R:B
def h():
    from builtins import EV_KEYS
    return EV_KEYS['C'] #: R:C
def i():
    EV_KEYS = {}
    EV_KEYS = builtins.EV_KEYS
    return EV_KEYS['D'] #: R:D
---- shadowing: local del and bare annotation
def f():
    EV_KEYS['A']
    del EV_KEYS
def g():
    EV_KEYS: dict
    EV_KEYS['B']
---- shadowing: every local binding
def a():
    for EV_KEYS in (): EV_KEYS['A']
def b():
    with x as EV_KEYS: EV_KEYS['A']
def c():
    try: pass
    except E as EV_KEYS: EV_KEYS['A']
def d():
    import EV_KEYS
    EV_KEYS['A']
def e():
    def EV_KEYS(): pass
    EV_KEYS['A']
def f():
    class EV_KEYS: pass
    EV_KEYS['A']
def g():
    (EV_KEYS := {})['A']
    EV_KEYS['A']
def h():
    match x:
        case EV_KEYS: EV_KEYS['A']
def i():
    match x:
        case {**EV_KEYS}: EV_KEYS['A']
def j():
    match x:
        case [*EV_KEYS] | (1 as EV_KEYS): EV_KEYS['A']
def k():
    [0 for _ in y if (EV_KEYS := _)]
    EV_KEYS['A']
def l():
    import x.y as EV_KEYS
    EV_KEYS['A']
def m():
    import EV_KEYS.z
    EV_KEYS['A']
---- shadowing: nested functions see the local
def f():
    EV_KEYS = {}
    def g(): return EV_KEYS['A']
    return [EV_KEYS['B'] for _ in 'x'], lambda: EV_KEYS['C']
def h(): return EV_KEYS['D'] #: R:D
---- shadowing: comprehensions
[EV_KEYS['A'] for EV_KEYS in ()]
[EV_KEYS['B'] for EV_KEYS in [EV_KEYS['C']]] #: R:C
{EV_KEYS['D']: EV_KEYS['E'] for x, EV_KEYS in () if EV_KEYS['F']}
[0 for EV_KEYS in () for y in EV_KEYS['G']]
EV_KEYS['H'] #: R:H
(EV_KEYS['I'] for x in ()) #: R:I
---- shadowing: defaults and decorators are outside
@deco(EV_KEYS['A']) #: R:A
def f(EV_KEYS, x=EV_KEYS['B']) -> EV_KEYS['C']: #: R:B R:C
    EV_KEYS['D']
(lambda EV_KEYS, x=EV_KEYS['E']: EV_KEYS['F']) #: R:E
---- shadowing: a module's assignment shadows later text
EV_KEYS['A'] #: R:A
EV_KEYS = {}
EV_KEYS['B']
---- shadowing: functions see the final state
def f(): return EV_KEYS['A']
EV_KEYS = {}
---- shadowing: functions see the final state after del
EV_KEYS = {}
EV_KEYS['A']
def f(): return EV_KEYS['B'] #: R:B
del EV_KEYS
EV_KEYS['C'] #: R:C
---- shadowing: the value is read before
EV_KEYS = EV_KEYS['A'] #: R:A
EV_KEYS['B']
---- shadowing: rebinding to D does not
import builtins
EV_KEYS = EV_KEYS
EV_KEYS['A'] #: R:A
EV_KEYS = builtins.EV_KEYS
EV_KEYS['B'] #: R:B
EV_KEYS = EV_KEYS or {}
EV_KEYS['C'] #: R:C
EV_KEYS, x = EV_KEYS, 1
EV_KEYS['D'] #: R:D
from outside import EV_KEYS
EV_KEYS['E'] #: R:E
---- shadowing: D again after a shadow
EV_KEYS = {}
EV_KEYS['A']
import builtins
EV_KEYS = builtins.EV_KEYS
EV_KEYS['B'] #: R:B
---- shadowing: import
import x as EV_KEYS
EV_KEYS['A']
---- shadowing: def
def EV_KEYS(): EV_KEYS['A']
EV_KEYS['B']
---- shadowing: class
class EV_KEYS:
    x = EV_KEYS['A'] #: R:A
EV_KEYS['B']
---- shadowing: tuples, chains, annotated
EV_KEYS, x = {}, 1
EV_KEYS['A']
del EV_KEYS
y = EV_KEYS = {}
EV_KEYS['B']
del EV_KEYS
EV_KEYS: dict = {}
EV_KEYS['C']
del EV_KEYS, x
EV_KEYS['D'] #: R:D
---- shadowing: |= does not
EV_KEYS |= {'x': 1}
EV_KEYS['A'] #: R:A
---- shadowing: other augmented does
EV_KEYS['A'] #: R:A
EV_KEYS = 1
EV_KEYS += 1
EV_KEYS['B']
---- shadowing: nested bindings do not
if x:
    EV_KEYS = {}
try:
    EV_KEYS
except NameError:
    EV_KEYS = {}
EV_KEYS['A'] #: R:A
for EV_KEYS in (): pass
with y as EV_KEYS: pass
EV_KEYS['B'] #: R:B
def f(): return EV_KEYS['C'] #: R:C
---- shadowing: global bindings do not
def f():
    global EV_KEYS
    EV_KEYS = {}
    EV_KEYS['A'] #: R:A
EV_KEYS['B'] #: R:B
---- shadowing: a bare annotation does not
EV_KEYS: dict
EV_KEYS['A'] #: R:A
---- shadowing: class bodies
class C:
    x = EV_KEYS['A'] #: R:A
    EV_KEYS = {}
    y = EV_KEYS['B']
    def m(self): return EV_KEYS['C'] #: R:C
    z = [EV_KEYS['D'] for _ in EV_KEYS['E']] #: R:D
    w = lambda: EV_KEYS['F'] #: R:F
    class I:
        v = EV_KEYS['G'] #: R:G
    del EV_KEYS
    u = EV_KEYS['H'] #: R:H
EV_KEYS['I'] #: R:I
---- shadowing: a class body's def and import
class C:
    def EV_KEYS(self): return EV_KEYS['A'] #: R:A
    y = EV_KEYS['B']
class D:
    import x as EV_KEYS
    EV_KEYS['C']
---- shadowing: nested in a class body does not
class C:
    if x: EV_KEYS = {}
    y = EV_KEYS['A'] #: R:A
---- shadowing: another file's
== a.py
EV_KEYS = {}
== b.py
from a import EV_KEYS
EV_KEYS['A']
== c.py
import a
a.EV_KEYS['B']
== d.py
EV_KEYS['C'] #: R:C
== e.py
from a import *
---- shadowing: another file's that is D
== a.py
import builtins
EV_KEYS = builtins.EV_KEYS
== b.py
from a import EV_KEYS
EV_KEYS['A'] #: R:A
import a
a.EV_KEYS['B'] #: R:B
---- shadowing: builtins explicit is not shadowed
import builtins
EV_KEYS = {}
builtins.EV_KEYS['A'] #: R:A
---- shadowing: a function of the module with global reads the module
EV_KEYS = {}
def f():
    global EV_KEYS
    return EV_KEYS['A']
---- reads: subscript loaded, stored, deleted, augmented
EV_KEYS['A'] #: R:A
EV_KEYS['B'] = 1
del EV_KEYS['C']
EV_KEYS['D'] += 1 #: R:D
EV_KEYS['E']: int = 1
EV_KEYS['F']: int
for EV_KEYS['G'] in (): pass
with x as EV_KEYS['H']: pass
a, EV_KEYS['I'] = 1, 2
[EV_KEYS['J'] for EV_KEYS['K'] in ()] #: R:J
---- reads: stores with parts that read
EV_KEYS[EV_KEYS['A']] = EV_KEYS['B'] #: R:A R:B
del EV_KEYS[EV_KEYS['C']] #: R:C
EV_KEYS['D']['x'] = 1 #: R:D
EV_KEYS['E'].x = 1 #: R:E
EV_KEYS['F'][0] += 1 #: R:F
del EV_KEYS['G'][0] #: R:G
EV_KEYS[k] = 1
EV_KEYS[k] += 1 #: D
---- reads: methods
EV_KEYS.get('A') #: O:A
EV_KEYS.get('B', EV_KEYS['C']) #: O:B R:C
EV_KEYS.pop('D') #: R:D
EV_KEYS.pop('E', None) #: O:E
EV_KEYS.setdefault('F') #: O:F
EV_KEYS.setdefault('G', 1) #: O:G
EV_KEYS.__getitem__('H') #: R:H
EV_KEYS.__contains__('I') #: O:I
---- reads: membership
'A' in EV_KEYS #: O:A
'B' not in EV_KEYS #: O:B
'C' in EV_KEYS.keys() #: O:C
'D' not in EV_KEYS.keys() #: O:D
x in EV_KEYS #: D
1 == 'E' in EV_KEYS #: O:E
---- reads: stores by methods are none
EV_KEYS.update({'A': 1}, B=2)
EV_KEYS.update(x=EV_KEYS['C']) #: R:C
EV_KEYS.clear()
EV_KEYS.__setitem__('D', EV_KEYS['E']) #: R:E
EV_KEYS.__delitem__('F')
EV_KEYS.__setitem__(k, 1)
---- reads: itemgetter
import operator, operator as op
from operator import itemgetter, itemgetter as ig
itemgetter('A', 'B')(EV_KEYS) #: R:A R:B
operator.itemgetter('C')(EV_KEYS) #: R:C
op.itemgetter('D')(EV_KEYS) #: R:D
ig('E')(EV_KEYS) #: R:E
g = itemgetter('F')
g(EV_KEYS) #: R:F
itemgetter(x)(EV_KEYS) #: D
itemgetter(*x)(EV_KEYS) #: D
d = EV_KEYS
g(d) #: R:F
g({})
---- reads: itemgetter inside functions and try
from operator import itemgetter
def f():
    pick = itemgetter('A', 'B')
    a, b = pick(EV_KEYS) #: R:A R:B
    try:
        pick(EV_KEYS) #: O:A O:B
    except KeyError: pass
---- reads: match
match EV_KEYS:
    case {'A': x, 'B': {'C': y}}: pass #: O:A O:B
    case {'D': 1} | {'E': 2}: pass #: O:D O:E
    case {'F': 1} if EV_KEYS['G']: EV_KEYS['F'] #: O:F R:G R:F
    case {}: pass
    case _: pass
match {}:
    case {'H': 1}: pass
---- reads: match captures are dynamic
match EV_KEYS:
    case {'A': x, **rest}: pass #: O:A D
    case {'B': 1} as m: pass #: O:B D
    case z: pass #: D
---- reads: match keys that are constants
class C:
    K = 'A'
match EV_KEYS:
    case {C.K: x}: pass #: O:A
    case {x.y: z}: pass #: D
    case {'B' 'C': x}: pass #: O:BC
---- reads: a match on an alias
d = EV_KEYS or {}
match d:
    case {'A': x}: pass #: O:A
match (EV_KEYS):
    case {'B': x}: pass #: O:B
---- reads: a match on a tuple is a container
match (EV_KEYS, 1): #: D
    case ({'A': x}, 1): pass
---- reads: f-strings
f"{EV_KEYS['A']}" #: R:A
f'{EV_KEYS["B"]!r:>{EV_KEYS["C"]}}' #: R:B R:C
f"{f'{EV_KEYS["""D"""]}'}" 'x' #: R:D
f"{{EV_KEYS['E']}}"
f"{EV_KEYS.get('F', '')=}" #: O:F
rf"\{EV_KEYS['G']}" #: R:G
'x' f"{EV_KEYS['H']}" #: R:H
!! syntax312
---- reads: everywhere an expression can be
@EV_KEYS['A'] #: R:A
class C(EV_KEYS['B'], metaclass=EV_KEYS['C']): #: R:B R:C
    x = EV_KEYS['D'] #: R:D
assert EV_KEYS['E'], EV_KEYS['F'] #: R:E R:F
raise EV_KEYS['G'] from EV_KEYS['H'] #: R:G R:H
try: pass
except EV_KEYS['I']: pass #: R:I
for x in EV_KEYS['J']: pass #: R:J
else: EV_KEYS['K'] #: R:K
f(*EV_KEYS['L'], **EV_KEYS['M']) #: R:L R:M
{**EV_KEYS['N'], EV_KEYS['O']: EV_KEYS['P']} #: R:N R:O R:P
x[EV_KEYS['Q']:EV_KEYS['R']:EV_KEYS['S']] #: R:Q R:R R:S
def g(): print((yield EV_KEYS['T']), (yield from EV_KEYS['U'])) #: R:T R:U
async def f():
    async with EV_KEYS['V'] as y: pass #: R:V
    async for z in EV_KEYS['W']: await EV_KEYS['X'] #: R:W R:X
    return [w async for w in EV_KEYS['Y']] #: R:Y
EV_KEYS['Z'](EV_KEYS['AA']).x[EV_KEYS['AB']] #: R:Z R:AA R:AB
del x[EV_KEYS['AC']], y.z #: R:AC
-EV_KEYS['AD'] ** ~EV_KEYS['AE'] @ (not EV_KEYS['AF']) #: R:AD R:AE R:AF
---- reads: nested reads
EV_KEYS[EV_KEYS['A']] #: R:A D
EV_KEYS.get(EV_KEYS.get('B', 'x')) #: O:B D
EV_KEYS.get('C') or EV_KEYS['D'] #: O:C R:D
---- reads: print, match as names, soft keywords
match = EV_KEYS
match['A'] #: R:A
case = match.get
case('B') #: O:B
match[case] #: D
_ = type = EV_KEYS
type['C'], _['D'] #: R:C R:D
---- try: the handlers that catch
try: EV_KEYS['A'] #: O:A
except KeyError: pass
try: EV_KEYS['B'] #: O:B
except: pass
try: EV_KEYS['C'] #: O:C
except LookupError as e: pass
try: EV_KEYS['D'] #: O:D
except Exception: pass
try: EV_KEYS['E'] #: O:E
except BaseException: pass
try: EV_KEYS['F'] #: O:F
except (ValueError, KeyError): pass
try: EV_KEYS['G'] #: R:G
except ValueError: pass
try: EV_KEYS['H'] #: O:H
except ValueError: pass
except KeyError: pass
try: EV_KEYS['I'] #: R:I
except (ValueError, TypeError): pass
try: EV_KEYS['J'] #: R:J
finally: pass
---- try: only the body
try:
    x = 1
except KeyError:
    EV_KEYS['A'] #: R:A
else:
    EV_KEYS['B'] #: R:B
finally:
    EV_KEYS['C'] #: R:C
EV_KEYS['D'] #: R:D
---- try: nested statements and expressions in the body
try:
    if x:
        for y in z: foo(EV_KEYS['A']) #: O:A
    with q: EV_KEYS.pop('B') #: O:B
    EV_KEYS['C'] += 1 #: O:C
    EV_KEYS.__getitem__('D') #: O:D
    [EV_KEYS[k] for k in ('E', 'F')] #: O:E O:F
    f"{EV_KEYS['G']}" #: O:G
except KeyError: pass
---- try: nested function bodies are out, the rest of a def is in
try:
    def f(a=EV_KEYS['A'], *, b: EV_KEYS['B'] = 1) -> EV_KEYS['C']: #: O:A O:B O:C
        return EV_KEYS['D'] #: R:D
    g = lambda x=EV_KEYS['E']: EV_KEYS['F'] #: O:E R:F
    class C:
        y = EV_KEYS['G'] #: O:G
        def m(self): EV_KEYS['H'] #: R:H
    async def h(): EV_KEYS['I'] #: R:I
    @EV_KEYS['J'] #: O:J
    def i():
        try: EV_KEYS['K'] #: O:K
        except KeyError: pass
except KeyError: pass
---- try: an inner else inside an outer body
try:
    try: pass
    except ValueError: EV_KEYS['A'] #: O:A
    else: EV_KEYS['B'] #: O:B
    finally: EV_KEYS['C'] #: O:C
except KeyError: pass
---- try: an inner try without a fitting handler
try:
    try: EV_KEYS['A'] #: O:A
    except ValueError: pass
except Exception: pass
---- try: inside a def inside a try's function
def f():
    try:
        return EV_KEYS['A'] #: O:A
    except KeyError:
        return EV_KEYS['B'] #: R:B
---- try: except star
try: EV_KEYS['A'] #: O:A
except* KeyError: pass
---- suppress
import contextlib, contextlib as c
from contextlib import suppress, suppress as s
with suppress(KeyError): EV_KEYS['A'] #: O:A
with contextlib.suppress(ValueError, LookupError): EV_KEYS['B'] #: O:B
with c.suppress(Exception) as x: EV_KEYS['C'] #: O:C
with s(BaseException): EV_KEYS['D'] #: O:D
with suppress(ValueError): EV_KEYS['E'] #: R:E
with suppress(): EV_KEYS['F'] #: R:F
with open('x') as f, suppress(KeyError): EV_KEYS['G'] #: O:G
with (suppress(KeyError), open('x')): EV_KEYS['H'] #: O:H
with suppress(KeyError):
    def g(): EV_KEYS['I'] #: R:I
    lambda: EV_KEYS['J'] #: R:J
with other(KeyError): EV_KEYS['K'] #: R:K
---- suppress: only contextlib's
def suppress(x): pass
with suppress(KeyError): EV_KEYS['A'] #: R:A
---- suppress: imported in the function
def f():
    from contextlib import suppress as quiet
    with quiet(KeyError):
        return EV_KEYS['A'] #: O:A
---- guard: if
if 'A' in EV_KEYS: #: O:A
    EV_KEYS['A'] #: O:A
    EV_KEYS['B'] #: R:B
else:
    EV_KEYS['A'] #: R:A
EV_KEYS['A'] #: R:A
---- guard: not in, else
if 'A' not in EV_KEYS: #: O:A
    EV_KEYS['A'] #: R:A
else:
    EV_KEYS['A'] #: O:A
if not 'B' in EV_KEYS: pass #: O:B
else: EV_KEYS['B'] #: O:B
if not ('C' not in EV_KEYS): EV_KEYS['C'] #: O:C
---- guard: elif
if x: pass
elif 'A' in EV_KEYS: EV_KEYS['A'] #: O:A
elif y: EV_KEYS['A'] #: R:A
else: EV_KEYS['A'] #: R:A
if 'B' not in EV_KEYS: pass #: O:B
elif EV_KEYS['B']: EV_KEYS['B'] #: O:B
elif y: EV_KEYS['B'] #: O:B
else: EV_KEYS['B'] #: O:B
---- guard: and, or in the test
if x and 'A' in EV_KEYS: EV_KEYS['A'] #: O:A
if x or 'B' in EV_KEYS: EV_KEYS['B'] #: O:B R:B
if 'C' not in EV_KEYS or x: EV_KEYS['C'] #: O:C R:C
else: EV_KEYS['C'] #: O:C
if not ('D' in EV_KEYS and x): EV_KEYS['D'] #: O:D R:D
else: EV_KEYS['D'] #: O:D
if not ('E' not in EV_KEYS or x): EV_KEYS['E'] #: O:E
if 'F' in EV_KEYS and 'G' in EV_KEYS: EV_KEYS['F'], EV_KEYS['G'] #: O:F O:G
---- guard: or of the same test in both operands
if 'A' in EV_KEYS or EV_KEYS.get('A'): EV_KEYS['A'] #: O:A
---- guard: later operands
'A' in EV_KEYS and EV_KEYS['A'] #: O:A
'B' not in EV_KEYS or EV_KEYS['B'] #: O:B
'C' in EV_KEYS or EV_KEYS['C'] #: O:C R:C
EV_KEYS['D'] and 'D' in EV_KEYS #: R:D O:D
x and 'E' in EV_KEYS and y and EV_KEYS['E'] #: O:E
EV_KEYS.get('F') and EV_KEYS['F'] #: O:F
if 'G' in EV_KEYS and EV_KEYS['G']: pass #: O:G
---- guard: while
while 'A' in EV_KEYS: #: O:A
    EV_KEYS.pop('A') #: O:A
else:
    EV_KEYS['A'] #: R:A
while 'B' not in EV_KEYS: EV_KEYS['B'] #: O:B R:B
else: EV_KEYS['B'] #: O:B
---- guard: conditionals
x = EV_KEYS['A'] if 'A' in EV_KEYS else None #: O:A
x = EV_KEYS['B'] if 'B' not in EV_KEYS else 0 #: O:B R:B
x = 0 if 'C' not in EV_KEYS else EV_KEYS['C'] #: O:C
x = f(EV_KEYS.pop('D')) if EV_KEYS.get('D') else 0 #: O:D
---- guard: get and is not None
if EV_KEYS.get('A'): EV_KEYS['A'] #: O:A
if EV_KEYS.get('B') is not None: EV_KEYS['B'] #: O:B
if EV_KEYS.get('C') is None: pass #: O:C
else: EV_KEYS['C'] #: O:C
if EV_KEYS.get('D', ''): EV_KEYS['D'] #: O:D R:D
if EV_KEYS.get('E') != None: EV_KEYS['E'] #: O:E R:E
if EV_KEYS.__contains__('F'): EV_KEYS['F'] #: O:F
if EV_KEYS.get('G') == 'x': EV_KEYS['G'] #: O:G R:G
if not EV_KEYS.get('H'): EV_KEYS['H'] #: O:H R:H
if EV_KEYS.get('I', None) is not None: EV_KEYS['I'] #: O:I R:I
---- guard: walrus
if (v := EV_KEYS.get('A')): EV_KEYS['A'] #: O:A
if (v := EV_KEYS.get('B')) is not None: EV_KEYS['B'] #: O:B
if (v := 'C' in EV_KEYS) and x: EV_KEYS['C'] #: O:C
if not (v := 'D' in EV_KEYS): EV_KEYS['D'] #: O:D R:D
---- guard: aliases of the dictionary and methods
d = EV_KEYS
has = d.__contains__
get = EV_KEYS.get
if 'A' in d: EV_KEYS['A'] #: O:A
if has('B'): d['B'] #: O:B
if get('C'): d['C'] #: O:C
if 'D' in EV_KEYS.keys(): EV_KEYS['D'] #: O:D
e = {}
if 'E' in e: EV_KEYS['E'] #: R:E
---- guard: comprehension ifs
[EV_KEYS['A'] for x in y if 'A' in EV_KEYS] #: O:A
[EV_KEYS['B'] for x in EV_KEYS['B'] if 'B' in EV_KEYS] #: R:B O:B
{EV_KEYS['C']: EV_KEYS['C'] for x in y if x if 'C' in EV_KEYS if EV_KEYS['C']} #: O:C
[0 for x in y if 'D' in EV_KEYS for z in EV_KEYS['D']] #: O:D
[0 for x in y if EV_KEYS['E'] if 'E' in EV_KEYS] #: R:E O:E
sum(EV_KEYS['F'] for x in y if 'F' not in EV_KEYS) #: R:F O:F
---- guard: case guards
match x:
    case 1 if 'A' in EV_KEYS: EV_KEYS['A'] #: O:A
    case 2: EV_KEYS['A'] #: R:A
    case 3 if 'B' in EV_KEYS and EV_KEYS['B']: pass #: O:B
---- guard: nested functions are included
if 'A' in EV_KEYS: #: O:A
    def f():
        return EV_KEYS['A'] #: O:A
    g = lambda: EV_KEYS['A'] #: O:A
    class C:
        def m(self): return EV_KEYS['A'] #: O:A
h = (lambda: EV_KEYS['B']) if 'B' in EV_KEYS else None #: O:B
---- guard: early exit guards, assert does not
def f():
    if 'A' not in EV_KEYS: return #: O:A
    return EV_KEYS['A'] #: O:A
assert 'B' in EV_KEYS #: O:B
EV_KEYS['B'] #: R:B
def g():
    if 'C' not in EV_KEYS: raise KeyError #: O:C
    return EV_KEYS['C'] #: R:C
---- guard: a stored test guards, other forms do not
ok = 'A' in EV_KEYS #: O:A
if ok: EV_KEYS['A'] #: O:A
if bool('B' in EV_KEYS): EV_KEYS['B'] #: O:B R:B
if all(['C' in EV_KEYS]): EV_KEYS['C'] #: O:C R:C
if ('D' in EV_KEYS) == True: EV_KEYS['D'] #: O:D R:D
---- guard: identical key expressions
for k in ('A', 'B'):
    if k in EV_KEYS: EV_KEYS[k] #: O:A O:B
[EV_KEYS[k] for k in ('C', 'D') if k in EV_KEYS] #: O:C O:D
for k in ('E', 'F'):
    if k in EV_KEYS: EV_KEYS['E'] #: O:E O:F R:E
P = 'X'
if f'{P}_1' in EV_KEYS: EV_KEYS[f'{P}_1'] #: O:X_1
if P + '_2' in EV_KEYS: EV_KEYS[P + '_2'] #: O:X_2
---- guard: the same constant by another name
K = 'A'
if K in EV_KEYS: EV_KEYS['A'] #: O:A
if 'A' in EV_KEYS: EV_KEYS[K] #: O:A
if 'A' in EV_KEYS: EV_KEYS['A' ''] #: O:A
---- guard: nested ifs and loops keep it
if 'A' in EV_KEYS: #: O:A
    for x in y:
        while z:
            with q:
                try: EV_KEYS['A'] #: O:A
                finally: EV_KEYS['A'] #: O:A
---- guard: a test in the try body is no guard after it
try:
    'A' in EV_KEYS #: O:A
finally:
    EV_KEYS['A'] #: R:A
---- guard: itemgetter and pop
from operator import itemgetter
if 'A' in EV_KEYS: itemgetter('A', 'B')(EV_KEYS) #: O:A R:B
if 'C' in EV_KEYS: EV_KEYS.pop('C') #: O:C
if 'D' in EV_KEYS: EV_KEYS['D'] += 1 #: O:D
---- guard: an operand's chain is no test
if 'A' in EV_KEYS in x: EV_KEYS['A'] #: O:A D R:A
---- K: literals, plus, f-strings
EV_KEYS['A' + 'B'] #: R:AB
EV_KEYS[('A' + 'B') + 'C'] #: R:ABC
P = 'X'
EV_KEYS[P + '_A'] #: R:X_A
EV_KEYS[f'{P}_B'] #: R:X_B
EV_KEYS[f'{P!s}_C'] #: R:X_C
EV_KEYS[f'{P!r}_D'] #: D
EV_KEYS[f'{P:>3}_E'] #: D
EV_KEYS[f'F'] #: R:F
EV_KEYS[f'{P}{P}{"_G"}'] #: R:XX_G
EV_KEYS[f'{x}_H'] #: D
EV_KEYS[f'{{}}'] #: R:{}
---- K: conditional gives both
EV_KEYS['A' if x else 'B'] #: R:A R:B
EV_KEYS[('C' if x else 'D') + '_E'] #: R:C_E R:D_E
EV_KEYS.get('F' if x else 'G') #: O:F O:G
('H' if x else 'I') in EV_KEYS #: O:H O:I
EV_KEYS[f"{'J' if x else 'K'}_L"] #: R:J_L R:K_L
---- K: walrus
EV_KEYS[(k := 'A')] #: R:A
EV_KEYS[k] #: R:A
EV_KEYS[j := 'B'] #: R:B
---- K: variables bound once
K = 'A'
EV_KEYS[K] #: R:A
def f():
    L = 'B'
    return EV_KEYS[K], EV_KEYS[L] #: R:A R:B
def g():
    EV_KEYS[M] #: R:C
    M = 'C'
if x: N = 'D'
EV_KEYS[N] #: R:D
O: str = 'E'
EV_KEYS[O] #: R:E
Q = R = 'F'
EV_KEYS[R] #: R:F
S = K
EV_KEYS[S + S] #: R:AA
---- K: tuple elements
A, B = 'X', 'Y'
EV_KEYS[A], EV_KEYS[B] #: R:X R:Y
(C, [D, E]) = ('1', ('2', '3'))
EV_KEYS[C], EV_KEYS[D], EV_KEYS[E] #: R:1 R:2 R:3
F, *G = '4', '5'
EV_KEYS[G] #: D
H, I = '67'
EV_KEYS[H] #: D
---- K: del and bare annotation aside
K: str
K = 'A'
EV_KEYS[K] #: R:A
del K
---- K: bound twice
K = 'A'
K = 'B'
EV_KEYS[K] #: D
L = 'A'
L += 'B'
EV_KEYS[L] #: D
M = 'A'
def f():
    global M
    M = 'B'
EV_KEYS[M] #: D
def g():
    n = 'A'
    def h():
        nonlocal n
        n = 'B'
    return EV_KEYS[n] #: D
---- K: bound in two branches
if x: K = 'A'
else: K = 'A'
EV_KEYS[K] #: D
---- K: other bindings
for k in x: EV_KEYS[k] #: D
with x as w: EV_KEYS[w] #: D
try: pass
except E as e: EV_KEYS[e] #: D
import m
EV_KEYS[m] #: D
def f(p, q='A'): EV_KEYS[p], EV_KEYS[q] #: D
EV_KEYS[f] #: D
EV_KEYS[never] #: D
match x:
    case c: EV_KEYS[c] #: D
---- K: a parameter of the same name hides
K = 'A'
def f(K): return EV_KEYS[K] #: D
def g(): return EV_KEYS[K] #: R:A
[EV_KEYS[K] for K in x] #: D
lambda K: EV_KEYS[K] #: D
---- K: class scope
class C:
    K = 'A'
    x = EV_KEYS[K] #: R:A
    def m(self): return EV_KEYS[K] #: D
    def n(self): return EV_KEYS[self.K] #: D
---- K: cycles end
A = B
B = A
EV_KEYS[A] #: D
C = C + 'x'
EV_KEYS[C] #: D
---- K: what does not resolve
EV_KEYS['%s' % 'A'] #: D
EV_KEYS['a'.upper()] #: D
EV_KEYS['{}'.format('A')] #: D
KS = ['A']
EV_KEYS[KS[0]] #: D
EV_KEYS[str('A')] #: D
EV_KEYS['A' * 2] #: D
EV_KEYS[1] #: D
EV_KEYS[b'A'] #: D
EV_KEYS[None] #: D
EV_KEYS['A', 'B'] #: D
EV_KEYS['A':'B'] #: D
EV_KEYS[x()] #: D
EV_KEYS[lambda: 'A'] #: D
EV_KEYS['A' + 1] #: D
---- K: loops over displays
for k in ('A', 'B'): EV_KEYS[k] #: R:A R:B
for l in ['C', 'D']: EV_KEYS.get(l) #: O:C O:D
for m in {'E'}: EV_KEYS[m] #: R:E
for n in {'F': 1, 'G': 2}: EV_KEYS[n] #: R:F R:G
for o in 'H', 'I': EV_KEYS[f'{o}_K'] #: R:H_K R:I_K
[EV_KEYS[k] for k in ('J', 'K')] #: R:J R:K
{k: EV_KEYS[k] for k in ['L']} #: R:L
dict((k, EV_KEYS.get(k)) for k in {'M', 'N'}) #: O:M O:N
---- K: loops over a variable
KS = ('A', 'B')
for k in KS: EV_KEYS[k] #: R:A R:B
def f(): return [EV_KEYS[q] for q in KS] #: R:A R:B
LS = {'C': 'D'}
for l in LS: EV_KEYS[l] #: R:C
MS = ['E']
MS = ['F']
for m in MS: EV_KEYS[m] #: D
---- K: loops with same-length tuples
for a, b in (('A', 'x'), ('B', 'y')): EV_KEYS[a] #: R:A R:B
for c, (d, e) in [('1', ('C', 'z'))]: EV_KEYS[d] #: R:C
[EV_KEYS[v] for k, v in [('q', 'D'), ['r', 'E']]] #: R:D R:E
PAIRS = (('F', 1), ('G', 2))
for f, g in PAIRS: EV_KEYS[f] #: R:F R:G
for h, i in (('H', 1, 2),): EV_KEYS[h] #: D
---- K: items, keys and values
for k, v in {'A': 'B', 'C': 'D'}.items(): EV_KEYS[k], EV_KEYS[v] #: R:A R:C R:B R:D
for l in {'E': 1}.keys(): EV_KEYS[l] #: R:E
for m in {'x': 'F'}.values(): EV_KEYS[m] #: R:F
M = {'n': 'G', 'o': 'H'}
for n, o in M.items(): EV_KEYS[o] #: R:G R:H
[EV_KEYS[p] for p in M.values()] #: R:G R:H
{q: EV_KEYS[r] for q, r in M.items()} #: R:G R:H
for s, (t, u) in {'x': ('I', 'J')}.items(): EV_KEYS[t], EV_KEYS[u] #: R:I R:J
for w, y in {'x': ('K', 'L')}.values(): EV_KEYS[y] #: R:L
---- K: used after the loop, bound only there
for k in ('A', 'B'): pass
EV_KEYS[k] #: R:A R:B
---- K: two loops of one variable
for k in ('A', 'B'): EV_KEYS[k] #: R:A R:B
for k in ('C',):
    EV_KEYS[k] #: R:C
    if x:
        EV_KEYS.get(k) #: O:C
else:
    EV_KEYS[k] #: D
EV_KEYS[k] #: D
k = 'Z'
---- K: rebound inside the loop body
for k in ('A', 'B'):
    k = k.upper()
    EV_KEYS[k] #: D
for j in ('A', 'B'):
    EV_KEYS[j] #: D
    j += 'x'
---- K: loops of one variable inside each other
for k in ('A',):
    for k in ('B',):
        EV_KEYS[k] #: R:B
    EV_KEYS[k] #: D
---- K: displays with unresolved elements
for k in ('A', x): EV_KEYS[k] #: D ?R:A
for l in (*y, 'B'): EV_KEYS[l] #: D ?R:B
for m in {**z, 'C': 1}: EV_KEYS[m] #: D ?R:C
---- K: displays of constants
P = 'A'
for k in (P, P + 'B', f'{P}C'): EV_KEYS[k] #: R:A R:AB R:AC
---- K: calls around displays do not resolve
KS = ['A', 'B']
for i, k in enumerate(KS): EV_KEYS[k] #: D
for j in sorted(KS): EV_KEYS[j] #: D
for l, m in zip(KS, KS): EV_KEYS[l] #: D
for n in KS + ['C']: EV_KEYS[n] #: D
for o in KS[:1]: EV_KEYS[o] #: D
---- K: mutated containers
KS = ['A']
KS.append('B')
for k in KS: EV_KEYS[k] #: D
LS = ['A']
def f(): LS.extend(x)
for l in LS: EV_KEYS[l] #: D
MS = {'A': 'B'}
MS['C'] = 'D'
for m in MS: EV_KEYS[m] #: D
NS = ['A']
del NS[0]
for n in NS: EV_KEYS[n] #: D
OS = {'A'}
OS.add('B')
for o in OS: EV_KEYS[o] #: D
QS = {'A': 1}
QS.update(B=2)
for q in QS: EV_KEYS[q] #: D
RS = ['A']
RS[0] += 'x'
for r in RS: EV_KEYS[r] #: D
---- K: mutated in another file
== a.py
KS = ['A']
for k in KS: EV_KEYS[k] #: D
== b.py
import a
a.KS.append('B')
---- K: used without mutation
KS = ['A']
len(KS), KS[0], KS.index('A'), KS.copy(), sorted(KS)
for k in KS: EV_KEYS[k] #: R:A
---- K: class attributes
class C:
    A = 'X'
    B: str = 'Y'
    D, E = 'Z', 'W'
EV_KEYS[C.A], EV_KEYS[C.B], EV_KEYS[C.E] #: R:X R:Y R:W
EV_KEYS[f'{C.A}_K'] #: R:X_K
EV_KEYS[C.F] #: D
def f(): return EV_KEYS.get(C.A) #: O:X
class P(): A = 'V'
EV_KEYS[P.A] #: R:V
---- K: classes with bases
class B: A = 'X'
class C(B): D = 'Y'
EV_KEYS[C.D], EV_KEYS[C.A] #: D
from enum import Enum
class E(Enum): A = 'X'
EV_KEYS[E.A], EV_KEYS[E.A.value] #: D
EV_KEYS[B.A] #: R:X
---- K: class attributes bound twice
class C:
    A = 'X'
    A = 'Y'
EV_KEYS[C.A] #: D
class D: A = 'X'
class D: A = 'X'
EV_KEYS[D.A] #: D
---- K: class attributes stored by dot
class C:
    A = 'X'
    B = 'Y'
C.A = 'Z'
EV_KEYS[C.A] #: D
EV_KEYS[C.B] #: R:Y
def f(x): x.B2 = 1
---- K: class attributes stored by dot elsewhere
== a.py
class C:
    A = 'X'
EV_KEYS[C.A] #: D
== b.py
import a
a.C.A = 'Z'
---- K: instances and cls do not resolve
class C:
    A = 'X'
    def f(self): return EV_KEYS[self.A] #: D
    @classmethod
    def g(cls): return EV_KEYS[cls.A] #: D
    def h(self): return EV_KEYS[C.A] #: R:X
EV_KEYS[C().A] #: D
---- K: imported constants
== cfg.py
K = 'A'
KS = ('B', 'C')
M = {'D': 'E'}
class N:
    X = 'F'
== t.py
from cfg import K, KS as L, N
import cfg, cfg as c
EV_KEYS[K] #: R:A
for k in L: EV_KEYS[k] #: R:B R:C
EV_KEYS[cfg.K] #: R:A
EV_KEYS[c.N.X], EV_KEYS[N.X] #: R:F
for j in cfg.KS: EV_KEYS.get(j) #: O:B O:C
for q, v in c.M.items(): EV_KEYS[v] #: R:E
== s.py
from cfg import *
EV_KEYS[K] #: R:A
[EV_KEYS[x] for x in M] #: R:D
EV_KEYS[N.X] #: R:F
== r.py
from t import K, c
EV_KEYS[K] #: R:A
EV_KEYS[c.K] #: R:A
---- K: imported from packages
== p/__init__.py
from .names import K
== p/names.py
K = 'A'
L = 'B'
== t.py
from p import K
from p.names import L
import p.names
EV_KEYS[K], EV_KEYS[L], EV_KEYS[p.names.L], EV_KEYS[p.K] #: R:A R:B
== p/u.py
from .names import L as M
from . import names
EV_KEYS[M], EV_KEYS[names.K] #: R:B R:A
---- K: imports from outside do not resolve
from elsewhere import K
import other
EV_KEYS[K], EV_KEYS[other.K] #: D
---- K: import and another binding
== a.py
K = 'A'
== t.py
try: from a import K
except ImportError: K = 'A'
EV_KEYS[K] #: D
---- K: closures
def f():
    K = 'A'
    def g():
        return EV_KEYS[K] #: R:A
    class C:
        x = EV_KEYS[K] #: R:A
    return [EV_KEYS[K + y] for y in ('1', '2')] #: R:A1 R:A2
---- K: global declared
def f():
    global K
    K = 'A'
EV_KEYS[K] #: R:A
---- dynamic: star and keyword arguments, arity
EV_KEYS.get(*a) #: D
EV_KEYS.get('A', default=1) #: D
EV_KEYS.get(**a) #: D
EV_KEYS.get() #: D
EV_KEYS.get('A', 1, 2) #: D
EV_KEYS.pop() #: D
EV_KEYS.pop('A', *b) #: D
EV_KEYS.__getitem__('A', 1) #: D
EV_KEYS.__contains__() #: D
EV_KEYS.setdefault(key='A') #: D
EV_KEYS[*a] #: D
g = EV_KEYS.get
g(key='A') #: D
g(*a) #: D
---- dynamic: the dictionary used otherwise
f(EV_KEYS) #: D
f(x=EV_KEYS) #: D
def a(): return EV_KEYS #: D
def b(): yield EV_KEYS #: D
x.y = EV_KEYS #: D
x[0] = EV_KEYS #: D
x = [EV_KEYS] #: D
x = {'a': EV_KEYS} #: D
x = {EV_KEYS} #: D
for k in EV_KEYS: pass #: D
[k for k in EV_KEYS] #: D
list(EV_KEYS), dict(EV_KEYS) #: D
{**EV_KEYS} #: D
f(**EV_KEYS) #: D
print(*EV_KEYS) #: D
EV_KEYS == x #: D
EV_KEYS | x #: D
f"{EV_KEYS}" #: D
'%s' % EV_KEYS #: D
EV_KEYS in x #: D
lambda: EV_KEYS #: D
a, b = EV_KEYS #: D
x[EV_KEYS] #: D
def c(): yield from EV_KEYS #: D
raise EV_KEYS #: D
---- dynamic: other methods
EV_KEYS.items() #: D
EV_KEYS.values() #: D
EV_KEYS.keys() #: D
EV_KEYS.copy() #: D
EV_KEYS.popitem() #: D
EV_KEYS.__iter__() #: D
for k, v in EV_KEYS.items(): pass #: D
x = list(EV_KEYS.keys()) #: D
json.dumps(EV_KEYS.copy()) #: D
---- dynamic: a class body's
class C:
    d = EV_KEYS #: D
    def m(self): return self.d['A']
---- dynamic: harmless uses
if EV_KEYS: pass
while not EV_KEYS: break
EV_KEYS is None
EV_KEYS is not None
x = y if EV_KEYS else z
if EV_KEYS and x: pass
if x or not EV_KEYS: pass
assert EV_KEYS
EV_KEYS
len(EV_KEYS), bool(EV_KEYS), isinstance(EV_KEYS, dict), type(EV_KEYS), id(EV_KEYS)
[x for x in y if EV_KEYS]
None is EV_KEYS
EV_KEYS or {}
match x:
    case 1 if EV_KEYS: pass
---- dynamic: aliases used otherwise
d = EV_KEYS
f(d) #: D
d == x #: D
if d: pass
len(d)
def g(e=EV_KEYS): return e #: D
(x := EV_KEYS)
f(y := EV_KEYS) #: D
---- dynamic: not followed
def f(*d): return d[0]['A']
f(EV_KEYS) #: D
e = dict(EV_KEYS) #: D
e['B'] = 1
c = EV_KEYS.copy() #: D
c['C']; print(c)
---- dynamic: EV_KEYS of other objects
x.EV_KEYS['A'] #: D
self.EV_KEYS #: D
getattr(x, 'EV_KEYS') #: D
x.EV_KEYS = {}
getattr(x, 'other')
del x.EV_KEYS
x.y.EV_KEYS.get('B') #: D
f(builtins=1)
def g(builtins): return builtins.EV_KEYS['C'] #: D
---- dynamic: vars, locals, __dict__
import builtins
vars()['EV_KEYS']['A'] #: D
locals()['EV_KEYS'] #: D
builtins.__dict__['EV_KEYS'] #: D
vars(builtins)['EV_KEYS'] #: D
vars(builtins).get('EV_KEYS') #: D
vars()['other']
x.__dict__['other']
---- dynamic: eval
eval("EV_KEYS['A']") #: D
exec("x = EV_KEYS") #: D
compile("EV_KEYS", '', 'eval') #: D
S = "EV_" + "KEYS['B']"
eval(S) #: D
eval(f"{S}") #: D
eval("x + 1")
eval(x)
eval("EV_" "KEYS") #: D
eval("""
EV_KEYS
""")
!! D - t.py 10
---- env: the words
import os
os.environ['API_KEY'] #: E:API_KEY
os.environ['KEYS'] #: E:KEYS
os.environ['X_KEYS_Y'] #: E:X_KEYS_Y
os.environ['APIKEY'] #: E:APIKEY
os.environ['MY_TOKEN'] #: E:MY_TOKEN
os.environ['TOKENS_X'] #: E:TOKENS_X
os.environ['A_SECRET'] #: E:A_SECRET
os.environ['SECRETS'] #: E:SECRETS
os.environ['DB_PASSWORD'] #: E:DB_PASSWORD
os.environ['PASSWD'] #: E:PASSWD
os.environ['GPG_PASSPHRASE'] #: E:GPG_PASSPHRASE
os.environ['GOOGLE_CREDENTIALS'] #: E:GOOGLE_CREDENTIALS
os.environ['CREDENTIAL_FILE'] #: E:CREDENTIAL_FILE
os.environ['HOME']
os.environ['KEYBOARD']
os.environ['MONKEY']
os.environ['TOKENIZER']
os.environ['XAPIKEY']
os.environ['PASSWORDS']
os.environ['APIKEYS']
os.environ['API-KEY']
---- env: names read from EV_KEYS anywhere
== a.py
import os
os.environ['ACME'] #: E:ACME
os.environ['OTHER']
os.getenv('OPT') #: E:OPT
== b.py
EV_KEYS['ACME'] #: R:ACME
EV_KEYS.get('OPT') #: O:OPT
---- env: every way to read
import os
os.environ.get('A_KEY') #: E:A_KEY
os.environ.get('B_KEY', '') #: E:B_KEY
os.environ.pop('C_KEY', None) #: E:C_KEY
os.environ.setdefault('D_KEY', '') #: E:D_KEY
os.environ.__getitem__('E_KEY') #: E:E_KEY
os.environ.__contains__('F_KEY') #: E:F_KEY
'G_KEY' in os.environ #: E:G_KEY
'H_KEY' not in os.environ #: E:H_KEY
os.getenv('I_KEY') #: E:I_KEY
os.getenv('J_KEY', '') #: E:J_KEY
os.getenv(key='K_KEY') #: E:K_KEY
os.environ.get(key='L_KEY') #: E:L_KEY
os.getenv(default=1, key='M_KEY') #: E:M_KEY
os.getenv('N_KEY', default='') #: E:N_KEY
os.environ['O_KEY'] = 1
del os.environ['P_KEY']
os.environ['Q_KEY'] += 'x' #: E:Q_KEY
os.environ.update(R_KEY=1)
os.environ[x]
os.environ.copy()
---- env: imports and aliases
import os as o, os.path
from os import environ, getenv, environ as e, getenv as g
o.environ['A_KEY'] #: E:A_KEY
os.environ['B_KEY'] #: E:B_KEY
environ['C_KEY'] #: E:C_KEY
getenv('D_KEY') #: E:D_KEY
e['E_KEY'] #: E:E_KEY
g('F_KEY') #: E:F_KEY
env = o.environ
env['G_KEY'] #: E:G_KEY
get = o.environ.get
get('H_KEY') #: E:H_KEY
ge = o.getenv
ge('I_KEY') #: E:I_KEY
def f(env=o.environ):
    import os as q
    return env['J_KEY'], q.getenv('K_KEY') #: E:J_KEY E:K_KEY
def h(os): return os.environ['L_KEY']
a, b = o.environ, 1
a['M_KEY'] #: E:M_KEY
(c := o.environ)['N_KEY'] #: E:N_KEY
---- env: across files
== a.py
import os
from os import *
env = os.environ
get = os.getenv
== b.py
from a import env, get
import a
env['A_KEY'] #: E:A_KEY
get('B_KEY') #: E:B_KEY
a.os.environ['C_KEY'] #: E:C_KEY
a.env['D_KEY'] #: E:D_KEY
---- env: resolved names
import os
K = 'A_KEY'
os.environ[K] #: E:A_KEY
for k in ('B_KEY', 'C_KEY', 'HOME'): os.getenv(k) #: E:B_KEY E:C_KEY
P = 'ACME'
os.getenv(f'{P}_TOKEN') #: E:ACME_TOKEN
os.environ.get('D_KEY' if x else 'E_KEY') #: E:D_KEY E:E_KEY
---- env: the fallback of a read
import os
x = EV_KEYS.get('ACME') or os.environ.get('ACME') #: O:ACME E:ACME
y = EV_KEYS['B_KEY'] if 'B_KEY' in EV_KEYS else os.environ['B_KEY'] #: O:B_KEY E:B_KEY
---- env: other environs are none
import notos
notos.environ['A_KEY']
environ['B_KEY']
x.environ['C_KEY']
getenv('D_KEY')
---- env: not in strings or comments
import os
# os.environ['A_KEY']
"os.environ['B_KEY']"
f"{os.environ['C_KEY']}" #: E:C_KEY
---- more: del of a module's EV_KEYS and importers
== a.py
EV_KEYS = {}
EV_KEYS['X']
del EV_KEYS
== b.py
from a import *
EV_KEYS['A'] #: R:A
---- more: compat module
== compat.py
try:
    EV_KEYS = EV_KEYS
except NameError:
    EV_KEYS = {}
== b.py
from compat import EV_KEYS
EV_KEYS['A'] #: R:A
== c.py
from compat import EV_KEYS as K
import compat
K['B'], compat.EV_KEYS.get('C') #: R:B O:C
---- more: compat by getattr
== compat.py
import builtins
KEYS = getattr(builtins, "EV_KEYS", {})
def key(name, default=None):
    return KEYS.get(name, default)
== b.py
from compat import KEYS, key
KEYS['A'] #: R:A
key('B') #: O:B
---- more: star args inside a resolved call
EV_KEYS.get('A', *x) #: D
EV_KEYS.get('A', x, **y) #: D
---- more: alias of alias through several files with cycles
== a.py
from b import x as y
x = EV_KEYS
== b.py
from a import x
z = x.get
== c.py
from b import z
import a
z('A') #: O:A
a.y['B'] #: R:B
---- more: import binds submodule of package for the function
== p/__init__.py
== p/a.py
k = EV_KEYS
N = 'B'
== t.py
def f():
    import p.a
    return p.a.k['A'], p.a.k[p.a.N] #: R:A R:B
---- more: package attribute set by importing a submodule elsewhere
== p/__init__.py
from . import a
== p/a.py
k = EV_KEYS
N = 'B'
== t.py
import p
p.a.k['A'], EV_KEYS[p.a.N] #: R:A R:B
---- more: __init__ re-exporting by star
== p/__init__.py
from .a import *
from .b import N
== p/a.py
__all__ = ['_k']
_k = EV_KEYS
other = EV_KEYS.get
== p/b.py
N = 'A'
== t.py
from p import _k, N
_k[N] #: R:A
import p
p.other('C')
---- more: underscore names do not come by star
== a.py
_d = EV_KEYS
== b.py
from a import *
_d['A']
---- more: lambda default closures
fs = [lambda k=k: EV_KEYS[k] for k in ('A', 'B')] #: D
gs = [lambda: EV_KEYS[k] for k in ('A', 'B')] #: R:A R:B
---- more: nested comprehension over product
[EV_KEYS[a + b] for a in ('A', 'B') for b in ('1', '2')] #: R:A1 R:A2 R:B1 R:B2
{x: EV_KEYS.get(f'{p}_{x}') for p in ['P'] for x in ('ID', 'SECRET')} #: O:P_ID O:P_SECRET
---- more: loops over loops' elements
for group in (('A', 'B'), ('C', 'D')):
    for k in group: EV_KEYS[k] #: D
---- more: dictionary of tuples
CFG = {'stripe': ('STRIPE_KEY', 'https://x'), 'sg': ('SG_KEY', 'https://y')}
for name, (key, url) in CFG.items():
    EV_KEYS[key] #: R:STRIPE_KEY R:SG_KEY
---- more: key from match capture
match x:
    case {'k': k}: EV_KEYS[k] #: D
---- more: walrus key in a condition
if (k := 'A') in EV_KEYS: #: O:A
    EV_KEYS[k] #: O:A
---- more: walrus read in comprehension
[v for k in ('A', 'B') if (v := EV_KEYS.get(k))] #: O:A O:B
---- more: class attribute loops
class C:
    KS = ('A', 'B')
    NAME = 'C'
    TOKEN = NAME + '_T'
for k in C.KS: EV_KEYS[k] #: R:A R:B
EV_KEYS[C.TOKEN] #: R:C_T
---- more: conditional alias of methods
g = EV_KEYS.get if x else EV_KEYS.pop
g('A', 1) #: O:A
---- more: try with else inside function with return
def f():
    try:
        key = EV_KEYS['A'] #: R:A
    except (KeyError, TypeError) as e:
        raise RuntimeError(EV_KEYS.get('B')) from e #: O:B
    else:
        return EV_KEYS['C'] #: R:C
---- more: except builtins.KeyError
import builtins
try: EV_KEYS['A'] #: O:A
except builtins.KeyError: pass
---- more: shadowed KeyError
class KeyError(Exception): pass
try: EV_KEYS['A'] #: R:A
except KeyError: pass
---- more: nested suppress in async function
import contextlib
async def f():
    with contextlib.suppress(KeyError):
        async with x: EV_KEYS['A'] #: O:A
    async with contextlib.suppress(KeyError): EV_KEYS['B'] #: R:B
---- more: generator expression in try
try: g = (EV_KEYS[k] for k in ('A',)) #: O:A
except KeyError: pass
---- more: not a guard through another dictionary
d = dict()
if 'A' in d and d.get('B'): EV_KEYS['A'], EV_KEYS['B'] #: R:A R:B
---- more: guard by get through alias with walrus in while
while (v := EV_KEYS.get('A')) is not None and x: EV_KEYS['A'] #: O:A
---- more: guard negation pushes down
if not (x or 'A' not in EV_KEYS or 'B' not in EV_KEYS): EV_KEYS['A'], EV_KEYS['B'] #: O:A O:B
if not ('C' not in EV_KEYS and 'D' not in EV_KEYS): EV_KEYS['C'] #: O:C O:D R:C
---- more: guard with conditional test
if ('A' in EV_KEYS if x else False): EV_KEYS['A'] #: O:A R:A
---- more: guard in comprehension element conditional
[EV_KEYS[k] if k in EV_KEYS else None for k in ('A', 'B')] #: O:A O:B
{k: EV_KEYS[k] for k in ('C', 'D') if EV_KEYS.get(k) is not None} #: O:C O:D
---- more: guard on identical key expression that is unresolved
def f(k):
    if k in EV_KEYS: return EV_KEYS[k] #: D
---- more: a different scope's name is not identical
k = 'A'
if k in EV_KEYS: #: O:A
    [EV_KEYS[k] for k in ('B', 'A')] #: R:B O:A
---- more: loop guards of two loops with one variable
for k in ('A',):
    if k in EV_KEYS: pass #: O:A
for k in ('A',):
    EV_KEYS[k] #: R:A
---- more: f-string nested quoting reads
x = f"{EV_KEYS['A']:{EV_KEYS['B']}}" f'{EV_KEYS.get("C", f"{EV_KEYS[chr(65)]}")}' #: R:A R:B O:C D
---- more: f-string debug form
f"{EV_KEYS['A']=}" #: R:A
f"{EV_KEYS=}" #: D
---- more: resolves with format spec empty and nested strings
P = 'X'
EV_KEYS[f"{P}" '_' "K"] #: R:X_K
EV_KEYS[f"{'A'}{f'{P}'}"] #: R:AX
EV_KEYS["{}".format(P)] #: D
EV_KEYS[f"{P!a}"] #: D
---- more: D in a slice or call of itself
EV_KEYS() #: D
EV_KEYS.get
-EV_KEYS #: D
---- more: chained comparison and is
EV_KEYS is x is y
EV_KEYS is not None is EV_KEYS
x < EV_KEYS #: D
x not in EV_KEYS.values() #: D
---- more: bool ops as arguments
f(x or EV_KEYS) #: D
f(EV_KEYS and 1) #: D
if (EV_KEYS or {}).get('A'): pass #: O:A
---- more: aliases in star targets and for targets
for d in (EV_KEYS,): d['A'] #: D
with x as (d, e): d['B']
(*a, b) = EV_KEYS, 1 #: D
---- more: del of alias
d = EV_KEYS
del d
d['A'] #: R:A
---- more: keys with odd characters
EV_KEYS[''] #: R:
EV_KEYS['a b'.replace(' ', '')] #: D
---- more: nested functions and keyword-only defaults
def outer(keys=EV_KEYS):
    def inner(get=keys.get):
        return get('A'), keys['B'] #: O:A R:B
    return inner
---- more: method default in a class
class C:
    def __init__(self, keys=EV_KEYS):
        self.k = keys
        self.token = keys['A'] #: R:A
    def m(self): return self.k['B'] #: R:B
---- more: property of decorators with reads
@retry(times=int(EV_KEYS.get('N', '3'))) #: O:N
def f(): pass
---- more: global statement at module level
global d
d = EV_KEYS
d['A'] #: R:A
---- more: type comments are comments
x = [] # type: EV_KEYS['A']
---- more: os environ via conditional and or
import os
(os.environ or {}).get('A_KEY') #: E:A_KEY
e = os.environ if x else {}
e['B_KEY'] #: E:B_KEY
---- more: environ in class body
import os
class C:
    env = os.environ
    a = env['A_KEY'] #: E:A_KEY
    b = os.environ.get('B_KEY') #: E:B_KEY
---- more: environ methods via getattr are not
import os
getattr(os, 'environ')['A_KEY']
---- more: from os import in function
def f():
    from os import getenv as ge
    return ge('A_KEY', ge('B_TOKEN')) #: E:A_KEY E:B_TOKEN
---- more: environ optional reads resolve both
import os
EV_KEYS.get('PLAIN') #: O:PLAIN
'PLAIN' in os.environ #: E:PLAIN
os.environ.get(*['PLAIN'])
for k in ('PLAIN', 'Q'): os.environ[k] #: E:PLAIN
---- more: lower case words
import os
os.environ['api_key'] #: E:api_key
---- more: exec in forms
import builtins
builtins.eval("EV_KEYS") #: D
exec(compile("EV_KEYS['A']", 'x', 'exec')) #: D
def f(eval): eval("EV_KEYS")
eval(b"EV_KEYS")
C = "EV_KEYS" if x else "y"
exec(C) #: D
---- more: vars through aliases
v = vars()
v['EV_KEYS'] #: D
globals()['EV_' + 'KEYS']['A']
N = 'EV_KEYS'
globals()[N]['B']
getattr(__builtins__, N)['C'] #: R:C
getattr(getattr(x, 'y'), N) #: D
---- more: getattr of directory module
== m.py
EV_KEYS = {}
== t.py
import m
getattr(m, 'EV_KEYS')['A']
m.EV_KEYS['B']
---- more: import EV_KEYS module of directory
== EV_KEYS.py
X = 1
== t.py
import EV_KEYS
EV_KEYS['A']
---- more: augmented attribute and subscript of D values
EV_KEYS['A'].x += EV_KEYS['B'] #: R:A R:B
x.y[EV_KEYS['C']] += 1 #: R:C
d = EV_KEYS
d['D'] += d['E'] #: R:D R:E
---- more: match class pattern and guard
match EV_KEYS:
    case dict(): EV_KEYS['A'] #: R:A
    case {'B': str() as b} if b: pass #: O:B
    case None: pass
---- more: match via walrus and or
match (d := EV_KEYS):
    case {'A': 1}: d['A'] #: O:A R:A
match EV_KEYS.get('B'): #: O:B
    case None: pass
    case {'C': x}: pass
---- more: lambda in guard
f = lambda k: EV_KEYS[k] if k in EV_KEYS else '' #: D
---- more: while else and for else under guard
for x in y:
    if 'A' in EV_KEYS: break #: O:A
else:
    EV_KEYS['A'] #: R:A
---- more: parameters hide module constants and dictionary
d = EV_KEYS
K = 'A'
def f(d, /, *, K): return d[K]
def g(*, K='B'): return EV_KEYS[K] #: D
---- more: class named like a constant holder imported under alias
== c.py
class Names:
    A = 'X'
    @staticmethod
    def f(): return EV_KEYS[Names.A] #: R:X
== t.py
from c import Names as N
import c as cc
EV_KEYS[N.A], EV_KEYS.get(cc.Names.A) #: R:X O:X
---- more: dataclass
from dataclasses import dataclass
@dataclass
class C:
    A: str = 'X'
EV_KEYS[C.A] #: R:X
EV_KEYS[C().A] #: D
---- more: metaclass keyword is no base
class C(metaclass=M):
    A = 'X'
EV_KEYS[C.A] #: D
---- more: container from a function argument default and in class
def f(ks=('A', 'B')):
    for k in ks: EV_KEYS[k] #: D
---- more: set and frozenset calls
for k in set(('A',)): EV_KEYS[k] #: D
for k in frozenset({'A'}): EV_KEYS[k] #: D
for k in tuple(['A']): EV_KEYS[k] #: D
for k in dict(A=1): EV_KEYS[k] #: D
---- more: slices of unpack
(a, b), c = ('A', 'B'), 'C'
EV_KEYS[a + b + c] #: R:ABC
[d, (e, f)] = ['D', ('E', 'F')]
EV_KEYS[e] #: R:E
a2, b2 = b2, a2 = 'X', 'Y'
EV_KEYS[a2] #: D
---- more: swapped loops over list of dict items with nested unresolved value
for k, v in {'A': x, 'B': y()}.items(): EV_KEYS[k] #: R:A R:B
for k, v in {'A': x, **z}.items(): EV_KEYS[k] #: D
---- more: dict display with dynamic key
for k in {'A': 1, x: 2}: EV_KEYS[k] #: D ?R:A
---- more: if name is main
if __name__ == '__main__':
    print(EV_KEYS['A']) #: R:A
---- more: loop variable reused after in other function
def f():
    for k in ('A',): EV_KEYS[k] #: R:A
def g():
    for k in ('B',): EV_KEYS[k] #: R:B
---- more: loop variable of while rebinding in nested def
for k in ('A', 'B'):
    def h(): return EV_KEYS[k] #: R:A R:B
    def i(k): return EV_KEYS[k] #: D
    j = lambda: EV_KEYS[k] #: R:A R:B
---- more: guard holds in decorator args and defaults within the body
if 'A' in EV_KEYS: #: O:A
    @d(EV_KEYS['A']) #: O:A
    def f(x=EV_KEYS['A'], *, y: EV_KEYS['A'] = 1): pass #: O:A
    class C(EV_KEYS['A']): x = EV_KEYS['A'] #: O:A
---- more: del statement nested does not end a shadow
EV_KEYS = {}
if x: del EV_KEYS
EV_KEYS['A']
---- more: class body shadow by nested import does not
class C:
    try: import x as EV_KEYS
    except ImportError: pass
    y = EV_KEYS['A'] #: R:A
---- more: EV_KEYS as attribute or keyword name is nothing
f(EV_KEYS=1)
x.EV_KEYS_2['A']
def EV_KEYS2(): pass
{'EV_KEYS': 1}['EV_KEYS'] #: D
---- more: EV_KEYS as an exception name at module level
try: pass
except E as EV_KEYS: pass
EV_KEYS['A'] #: R:A
---- more: function local EV_KEYS by augmented |=
def f():
    EV_KEYS |= {'A': 1}
    EV_KEYS['A']
---- more: function local import of outside EV_KEYS
def f():
    from ev import EV_KEYS
    return EV_KEYS['A'] #: R:A
def g():
    import ev
    return ev.other
---- more: line of calls that span lines
x = EV_KEYS.get( #: O:A
    'A',
    EV_KEYS[ #: R:B
        'B'
    ],
)
foo(
    EV_KEYS
    .items(), #! D
)
!! D - t.py 8
---- more: chained calls after a read
token = EV_KEYS['A'].strip().encode('utf-8').decode() #: R:A
t2 = (EV_KEYS.get('B') or '').strip() #: O:B
---- more: annotations with reads inside function locals
def f():
    x: EV_KEYS['A'] = EV_KEYS['B'] #: R:A R:B
---- more: async comprehension targets
async def f():
    return [EV_KEYS[k] async for k in ('A', 'B')] #: D
---- more: starred subscript and tuple loops
for k, in (('A',), ('B',)): EV_KEYS[k] #: R:A R:B
for [k2] in [['C']]: EV_KEYS[k2] #: R:C
for k3, *r in (('A', 'x'),): EV_KEYS[k3] #: D
---- last: text order for what runs in place
[EV_KEYS['A'] for _ in x] #: R:A
class C: y = EV_KEYS['B'] #: R:B
f = lambda: EV_KEYS['C']
def g(a=EV_KEYS['D']): EV_KEYS['E'] #: R:D
(EV_KEYS['F'] for _ in x) #: R:F
EV_KEYS = {}
[EV_KEYS['G'] for _ in x]
class D:
    y = EV_KEYS['H']
    del x
def h(a=EV_KEYS['I'], *, b: EV_KEYS['J'] = 1): pass
---- last: del in a class body restores the module's
EV_KEYS = {}
class D:
    EV_KEYS = EV_KEYS
    x = EV_KEYS['A']
    del EV_KEYS
    y = EV_KEYS['B']
---- last: global in a class body
class C:
    global EV_KEYS
    EV_KEYS = {}
    x = EV_KEYS['A'] #: R:A
EV_KEYS['B'] #: R:B
---- last: nonlocal EV_KEYS
def f():
    EV_KEYS = {}
    def g():
        nonlocal EV_KEYS
        EV_KEYS = {'A': 1}
        return EV_KEYS['A']
    return EV_KEYS['B']
def h():
    EV_KEYS = None
    def i():
        nonlocal EV_KEYS
        import builtins
        EV_KEYS = builtins.EV_KEYS
    return EV_KEYS['C'] #: R:C
---- last: class in a function with a local
def f():
    EV_KEYS = {}
    class C: x = EV_KEYS['A']
def g():
    class C: EV_KEYS = {}
    return EV_KEYS['B'] #: R:B
---- last: imports that shadow and that do not
from x import y as EV_KEYS
EV_KEYS['A']
from x import EV_KEYS
EV_KEYS['B'] #: R:B
import EV_KEYS.sub
EV_KEYS['C']
from builtins import EV_KEYS as EV_KEYS
EV_KEYS['D'] #: R:D
---- last: imports in a try do not shadow
try:
    from keys_local import EV_KEYS
except ImportError:
    EV_KEYS = {}
EV_KEYS['A'] #: R:A
---- last: a for in a class body does not shadow
class C:
    for EV_KEYS in (): pass
    x = EV_KEYS['A'] #: R:A
---- last: chained and annotated stores to attributes
self.d = d = EV_KEYS #: D
d['A'] #: R:A
self.e: dict = EV_KEYS #: D
x[1]: dict = EV_KEYS #: D
a, self.b = 1, EV_KEYS #: D
c, e = *x, EV_KEYS #: D
---- last: normalised names everywhere
import ｏｓ
from os import ｅnviron as ｅ
ｏｓ.environ['A_KEY'] #: E:A_KEY
e['B_KEY'] #: E:B_KEY
os.ｇetenv(ｋey='C_KEY') #: E:C_KEY
class Ｃ: Ａ = 'X'
EV_KEYS[C.A] #: R:X
EV_KEYS.ｇet('D') #: O:D
def f():
    global Ｄ
    D = EV_KEYS
D['E'] #: R:E
getattr(builtins, 'ＥＶ_KEYS')
---- last: modules by roundabout ways are other objects
import sys, importlib
sys.modules['builtins'].EV_KEYS['A'] #: D
__import__('builtins').EV_KEYS['B'] #: D
importlib.import_module('builtins').EV_KEYS #: D
---- last: imported loop variables
== a.py
for k in ('A', 'B'): pass
A, B = 'X', 'Y'
if (W := 'Z'): pass
== t.py
from a import k, B, W
EV_KEYS[k] #: R:A R:B
EV_KEYS[B], EV_KEYS[W] #: R:Y R:Z
---- last: classes in functions
def f():
    class N: A = 'X'
    return EV_KEYS[N.A] #: R:X
def g():
    return EV_KEYS[N.A] #: D
---- last: attributes of a class changed through setattr are unknown to us
class N: A = 'X'
N.A += 'Y'
EV_KEYS[N.A] #: D
---- last: del of a class's attribute by dot
class N: A = 'X'
for N.A in x: pass
EV_KEYS[N.A] #: D
---- last: keywords of a class
class C(**EV_KEYS): pass #: D
class D(x=EV_KEYS): pass #: D
class E(EV_KEYS): pass #: D
---- last: match subjects that read
match EV_KEYS['A'], EV_KEYS.get('B'): #: R:A O:B
    case [EV_KEYS.x, _]: pass #: D
match EV_KEYS:
    case {'C': _, **_rest} | {'D': _, **_rest}: pass #: O:C O:D D
---- last: assert with a guard inside
assert 'A' in EV_KEYS and EV_KEYS['A'] #: O:A
assert 'B' not in EV_KEYS or EV_KEYS['B'], EV_KEYS['B'] #: O:B R:B
---- last: none on the left
if None is not EV_KEYS.get('A'): EV_KEYS['A'] #: O:A
if EV_KEYS.get('B') is not False: EV_KEYS['B'] #: O:B R:B
---- last: the test's own operands
if 'A' in EV_KEYS and not EV_KEYS['A']: pass #: O:A
elif EV_KEYS['A']: pass #: R:A
if not EV_KEYS.get('B') or EV_KEYS['B'] == 'x': EV_KEYS['B'] #: O:B R:B
x = 'C' in EV_KEYS and f(lambda: EV_KEYS['C']) #: O:C
---- last: guard of a body that rebinds its key
def f():
    for k in ('A', 'B'):
        if k in EV_KEYS: #: O:A O:B
            yield k, EV_KEYS[k] #: O:A O:B
            continue
        yield k, EV_KEYS[k] #: R:A R:B
---- last: while True with break is no guard
while True:
    if 'A' in EV_KEYS: break #: O:A
EV_KEYS['A'] #: R:A
---- last: try inside a guard and the other way round
try:
    if 'A' in EV_KEYS: x = 1 #: O:A
    else: x = EV_KEYS['A'] #: R:A
except Exception as e:
    if 'B' in EV_KEYS: EV_KEYS['B'] #: O:B
    raise
---- last: handler tuples by name do not count
E = (KeyError,)
try: EV_KEYS['A'] #: R:A
except E: pass
try: EV_KEYS['B'] #: R:B
except x.KeyError: pass
---- last: a directory's contextlib-like wrapper is none
== util.py
from contextlib import suppress as quiet
class suppress: pass
== t.py
from util import quiet, suppress
with quiet(KeyError): EV_KEYS['A'] #: O:A
with suppress(KeyError): EV_KEYS['B'] #: R:B
---- last: itemgetter across files and through defaults
== util.py
from operator import itemgetter
K = 'A'
pick = itemgetter(K, 'B')
== t.py
from util import pick
import util
pick(EV_KEYS) #: R:A R:B
util.pick(EV_KEYS) #: R:A R:B
def f(p=util.pick): return p(EV_KEYS) #: R:A R:B
x, y = 1, util.itemgetter('C')
y(EV_KEYS) #: R:C
itemgetter('D')(EV_KEYS) #: D
---- last: itemgetter with wrong calls
from operator import itemgetter
itemgetter('A')(EV_KEYS, 1) #: D
itemgetter('A')(x=EV_KEYS) #: D
itemgetter()(EV_KEYS) #: D
itemgetter('A')
itemgetter(EV_KEYS['B'])({}) #: R:B
---- last: bound methods with the dictionary inside
EV_KEYS.get('A', EV_KEYS) #: O:A D
EV_KEYS.setdefault('B', EV_KEYS.get) #: O:B D
EV_KEYS.update(EV_KEYS) #: D
EV_KEYS['C'] = EV_KEYS #: D
---- last: writes by alias
d = EV_KEYS
d.update(A=1)
d.clear()
d['A'] = 1
del d['B']
d.__setitem__('C', 1)
d |= {}
d['D'] #: R:D
---- last: containers mutated through an attribute of the same name
class S:
    NAMES = ['A']
NAMES = ['B']
def f(s): s.NAMES.append('C')
for k in NAMES: EV_KEYS[k] #: D
---- last: containers in loops and slices that are stored to
KS = {'A': 'B'}
for KS['C'] in x: pass
for k in KS: EV_KEYS[k] #: D
LS = ['A']
LS[0:1] = x
for k in LS: EV_KEYS[k] #: D
with y as MS[0]: pass
MS = ['A']
for m in MS: EV_KEYS[m] #: D
---- last: a container behind another name
KS = ('A',)
LS = KS
for k in LS: EV_KEYS[k] #: R:A
MS = KS if x else ('B',)
for m in MS: EV_KEYS[m] #: D
for n in (KS or ()): EV_KEYS[n] #: D
for o in (PS := ('C',)): EV_KEYS[o] #: D
---- last: os by several bindings
try: import os
except ImportError: os = None
os.environ['A_KEY'] #: E:A_KEY
---- last: environment in defaults and comprehension
from os import environ as E
def f(get=E.get, *, e=E): return get('A_KEY'), e['B_TOKEN'] #: E:A_KEY E:B_TOKEN
{k: E[k] for k in ('C_SECRET', 'PATH') if k in E} #: E:C_SECRET
lambda: E.get('D_KEY') #: E:D_KEY
---- last: package wins over module of one name
== a/__init__.py
K = 'A'
== a.py
K = 'B'
== t.py
from a import K
EV_KEYS[K] #: R:A
---- last: relative import of a missing module
from . import nothing
from .nowhere import d
from .. import above
d['A']
EV_KEYS[nothing.K] #: D
---- last: a star import in a function's module of constants
== c.py
_A = 'X'
B = 'Y'
__all__ = ('_A',)
== t.py
from c import *
EV_KEYS[_A] #: R:X
EV_KEYS[B] #: D
---- last: later star imports win
== a.py
K = 'A'
== b.py
K = 'B'
== t.py
from a import *
from b import *
EV_KEYS[K] #: R:B
---- last: empty format spec
P = 'X'
EV_KEYS[f'{P:}'] #: D
EV_KEYS[f'{P=}'] #: D
---- last: implicit tuple key and nested conditionals
EV_KEYS[('A')] #: R:A
EV_KEYS[('A',)] #: D
EV_KEYS['A' if a else 'B' if b else 'C'] #: R:A R:B R:C
EV_KEYS['A' if a else x] #: D ?R:A
EV_KEYS[not 'A'] #: D
EV_KEYS['A' or 'B'] #: D
EV_KEYS['A' 'B' + ('C' if x else 'D')] #: R:ABC R:ABD
---- last: recursion of a loop over itself
for k in (k, 'A'): EV_KEYS[k] #: D ?R:A
---- last: try star names and finally with return
def f():
    try:
        try: return EV_KEYS['A'] #: O:A
        finally: EV_KEYS['B'] #: O:B
    except LookupError: return EV_KEYS['C'] #: R:C
---- last: EV_KEYS given to a type hint
def f(keys: type(EV_KEYS)): pass
x: EV_KEYS = 1 #: D
---- last: exec with keyword and without arguments
exec()
eval(source="EV_KEYS") #: D
compile(source="EV_KEYS", filename='', mode='exec') #: D
---- last: a long program's one line
a=1;b=EV_KEYS['A'];c=b+EV_KEYS.get('B','');del a;d=lambda:EV_KEYS['C'] #: R:A O:B R:C
---- tool: a Stripe client with paging
"""Lists charges. Needs EV_KEYS['NOT_A_READ']."""
from __future__ import annotations

import base64
import json
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Iterator

if TYPE_CHECKING:
    EV_KEYS: dict[str, str] = {}

API = "https://api.stripe.com/v1"
VERSION = "2024-06-20"


@dataclass
class Client:
    key: str = field(default_factory=lambda: EV_KEYS["STRIPE_KEY"]) #: R:STRIPE_KEY
    account: str | None = None
    retries: int = int(EV_KEYS.get("STRIPE_RETRIES", "3")) #: O:STRIPE_RETRIES

    def _headers(self) -> dict[str, str]:
        basic = base64.b64encode(f"{self.key}:".encode()).decode()
        headers = {"Authorization": f"Basic {basic}", "Stripe-Version": VERSION}
        if "STRIPE_ACCOUNT" in EV_KEYS: #: O:STRIPE_ACCOUNT
            headers["Stripe-Account"] = EV_KEYS["STRIPE_ACCOUNT"] #: O:STRIPE_ACCOUNT
        return headers

    def pages(self, path: str, **params) -> Iterator[dict]:
        while True:
            url = f"{API}/{path}?{urllib.parse.urlencode(params)}"
            req = urllib.request.Request(url, headers=self._headers())
            with urllib.request.urlopen(req, timeout=20) as r:
                page = json.load(r)
            yield from page["data"]
            if not page.get("has_more"):
                return
            params["starting_after"] = page["data"][-1]["id"]


def count(month: str) -> dict:
    return {"month": month, "n": sum(1 for _ in Client().pages("charges", limit=100))}
---- tool: a helper that hides the name
== keys.py
import builtins
import os

_KEYS = getattr(builtins, "EV_KEYS", None) or {}


def secret(name, default=None):
    try:
        return _KEYS[name]
    except KeyError:
        return os.environ.get(name, default)


def require(*names):
    missing = [n for n in names if n not in _KEYS] #: D
    if missing:
        raise SystemExit("missing " + ", ".join(missing))
== main.py
from keys import _KEYS as K, require, secret

require("A", "B")
print(secret("A"), K["B"]) #: O:A R:B
---- tool: names in a module, checked at the start
== names.py
SLACK = "SLACK_BOT_TOKEN"
GITHUB = "GITHUB_TOKEN"
OPTIONAL = {"sentry": "SENTRY_DSN", "dd": "DD_API_KEY"}
ALL = (SLACK, GITHUB)
== lib/__init__.py
== lib/http.py
from names import GITHUB as _gh, OPTIONAL

session_headers = {
    "Authorization": "token " + EV_KEYS[_gh], #: R:GITHUB_TOKEN
    "User-Agent": "x",
}
extra = {
    label: EV_KEYS[name] #: O:SENTRY_DSN O:DD_API_KEY
    for label, name in OPTIONAL.items()
    if name in EV_KEYS #: O:SENTRY_DSN O:DD_API_KEY
}
== tool.py
import sys
import names
from lib.http import session_headers

missing = [n for n in names.ALL if n not in EV_KEYS] #: O:SLACK_BOT_TOKEN O:GITHUB_TOKEN
if missing:
    sys.exit(f"add {missing}")
slack = EV_KEYS[names.SLACK] #: R:SLACK_BOT_TOKEN
---- tool: async with a choice of providers
import asyncio, hmac, hashlib, os, time

PROVIDERS = {
    "openai": ("OPENAI_API_KEY", "https://api.openai.com"),
    "anthropic": ("ANTHROPIC_API_KEY", "https://api.anthropic.com"),
}


async def ask(provider, prompt):
    match provider:
        case "openai":
            key = EV_KEYS["OPENAI_API_KEY"] #: R:OPENAI_API_KEY
        case "anthropic" if EV_KEYS.get("ANTHROPIC_API_KEY"): #: O:ANTHROPIC_API_KEY
            key = EV_KEYS["ANTHROPIC_API_KEY"] #: O:ANTHROPIC_API_KEY
        case str(other):
            key = EV_KEYS[f"{other.upper()}_API_KEY"] #: D
        case _:
            raise ValueError(provider)
    sig = hmac.new(EV_KEYS["SIGNING"].encode(), prompt.encode(), hashlib.sha256) #: R:SIGNING
    async with session(key, sig) as s:
        return await s.post(json={"t": time.time(), "org": os.getenv("OPENAI_ORG")})


async def first():
    for name, (key, base) in PROVIDERS.items():
        if (value := EV_KEYS.get(key)) is not None: #: O:OPENAI_API_KEY O:ANTHROPIC_API_KEY
            return name, base, value
    return None, os.environ.get("OPENAI_API_KEY"), None #: E:OPENAI_API_KEY
asyncio.run(first())
---- tool: a registry of specs
SPECS = [
    {"name": "crm", "key": "CRM_KEY"},
    {"name": "mail", "key": "MAIL_KEY"},
]
for spec in SPECS:
    token = EV_KEYS.get(spec["key"]) #: D
    if not token:
        continue
pairs = [("CRM", "crm.example"), ("MAIL", "mail.example")]
tokens = {host: EV_KEYS[f"{p}_TOKEN"] for p, host in pairs} #: R:CRM_TOKEN R:MAIL_TOKEN
auth = (EV_KEYS["USER"], EV_KEYS["PASS"]) #: R:USER R:PASS
creds = json.loads(EV_KEYS["GOOGLE_JSON"]) #: R:GOOGLE_JSON
redacted = {k: "***" for k in EV_KEYS} #: D
log.debug("have %s", sorted(EV_KEYS)) #: D
log.debug("have %d keys", len(EV_KEYS))
---- tool: a settings class
from functools import cached_property, lru_cache, partial


class Settings:
    PREFIX = "ACME"
    URL = f"https://{EV_KEYS.get('ACME_HOST', 'acme.example')}" #: O:ACME_HOST

    def __init__(self, *, token: str | None = None, keys=EV_KEYS):
        self.token = token or keys.get("ACME_TOKEN") #: O:ACME_TOKEN
        self.region = keys["ACME_REGION"] if "ACME_REGION" in keys else "eu" #: O:ACME_REGION

    @cached_property
    def secret(self):
        try:
            return EV_KEYS[f"{Settings.PREFIX}_SECRET"] #: O:ACME_SECRET
        except (KeyError, AttributeError):
            return None
        finally:
            audit(EV_KEYS["AUDIT"]) #: R:AUDIT

    @property
    def user(self): return EV_KEYS[self.PREFIX + "_USER"] #: D

    @staticmethod
    @lru_cache(maxsize=None)
    def password():
        if "ACME_PASSWORD" not in EV_KEYS: #: O:ACME_PASSWORD
            raise LookupError("ACME_PASSWORD")
        return EV_KEYS["ACME_PASSWORD"] #: R:ACME_PASSWORD


get = partial(EV_KEYS.get, "X") #: D
getter = EV_KEYS.__getitem__
tokens = list(map(getter, ("A", "B"))) #: D
one = getter("C") #: R:C
---- tool: a script with retries and fallbacks
#!/usr/bin/env python3
import os, sys, contextlib
from contextlib import suppress

token = None
with suppress(KeyError):
    token = EV_KEYS["GH_TOKEN"] #: O:GH_TOKEN
token = token or os.environ.get("GH_TOKEN") or sys.exit("no token") #: E:GH_TOKEN
for name in ("GH_TOKEN", "GITHUB_TOKEN"):
    try:
        token = EV_KEYS[name] #: O:GH_TOKEN O:GITHUB_TOKEN
        break
    except KeyError:
        continue
else:
    token = os.environ["GITHUB_TOKEN"] #: E:GITHUB_TOKEN
proxy = os.environ.get("HTTPS_PROXY")
os.environ["SSL_CERT_FILE"] = "/x"
os.environ.setdefault("MPLCONFIGDIR", "/tmp")
for attempt in range(3):
    with contextlib.closing(connect(EV_KEYS.get("DSN", "sqlite://"))) as db: #: O:DSN
        db.execute("select * from t where k = 'EV_KEYS'")
'''

# Cases whose bytes matter: (what, {file: bytes}, entries, syntax error).
BYTES = [
    ("CR ends lines", {"t.py": b"x = 1\rEV_KEYS['A']\r"}, "R A t.py 2", False),
    ("CRLF ends lines", {"t.py": b"x = 1\r\nEV_KEYS['A']\r\n"}, "R A t.py 2", False),
    ("a form feed is white space", {"t.py": b"\x0cx = 1\n\x0c\nEV_KEYS['A']\n"}, "R A t.py 3", False),
    ("a cookie", {"t.py": b"# coding: latin-1\nEV_KEYS['\xe9']\n"}, "R \u00e9 t.py 2", False),
    ("a cookie on line 2", {"t.py": b"#!/x\n# vim: fileencoding=cp1252\nEV_KEYS['\x80']\n"},
     "R \u20ac t.py 3", False),
    ("a BOM", {"t.py": b"\xef\xbb\xbfEV_KEYS['A']"}, "R A t.py 1", False),
    ("a wrong byte", {"t.py": b"EV_KEYS['\xe9']\n"}, "", True),
    ("a NUL", {"t.py": b"EV_KEYS['A']\n\0"}, "", True),
    ("no newline at the end", {"t.py": b"if x:\n\tEV_KEYS['A']"}, "R A t.py 2", False),
    ("an empty file", {"t.py": b""}, "", False),
    ("a bad indent", {"t.py": b"if x:\nEV_KEYS['A']\n"}, "", True),
    ("tabs that do not agree", {"t.py": b"if x:\n        a\n\tEV_KEYS['A']\n"}, "", True),
    ("CR within a string", {"t.py": b"EV_KEYS['''A\rB''']\rEV_KEYS['C']"},
     "R A\nB t.py 1;R C t.py 3", False),
    ("an escaped newline in a string", {"t.py": b"EV_KEYS['A\\\nB']\nEV_KEYS['C']"},
     "R AB t.py 1;R C t.py 3", False),
    ("a lone surrogate in a key", {"t.py": b"x = '\\ud800'\nEV_KEYS['A']\n"}, "R A t.py 2", False),
    ("another file than *.py", {"t.txt": b"EV_KEYS['A']\n", "t.pyw": b"EV_KEYS['B']\n"}, "", False),
    ("a deep file", {"a/b/c/d/e.py": b"EV_KEYS['A']\n"}, "R A a/b/c/d/e.py 1", False),
    ("type parameters", {"t.py": b"def f[T](x: T): return EV_KEYS['A']\n"}, "R A t.py 1", True),
    ("a type statement", {"t.py": b"type X = int\nEV_KEYS['A']\n"}, "R A t.py 2", True),
    ("quotes reused in an f-string", {"t.py": b"x = f'{EV_KEYS['A']}'\n"}, "R A t.py 1", True),
    ("a backslash in an f-string", {"t.py": b"x = f'{EV_KEYS[\"A\"] + \"\\n\"}'\n"}, "R A t.py 1", True),
    ("a generic class", {"t.py": b"class C[T: int]:\n    x = EV_KEYS['A']\n"}, "R A t.py 2", True),
    ("except without parentheses", {"t.py": b"try: EV_KEYS['A']\nexcept ValueError, KeyError: pass\n"},
     "O A t.py 1", True),
    ("a t-string", {"t.py": b"x = t'{EV_KEYS[\"A\"]}'\n"}, "R A t.py 1", True),
]

# Names that would need exponential time, or a hundred deep expressions' stack, if taken one by one.
CIRCLE = "from a import *\nfrom b import *\n" * 8 + "EV_KEYS[x]\n"
LOOPS = "".join(" " * i + f"for k{i} in (k{i - 1}, k{i - 1}):\n" for i in range(1, 20))
LOOPS = "for k0 in ('A',):\n" + LOOPS + " " * 20 + "EV_KEYS[k19]\n"
LOOPS += "".join(f"k{i} = 1\n" for i in range(20))
CHAIN = "v0 = 'A'\n" + "".join(f"v{i} = v{i - 1}" + " + ''" * 2900 + "\n" for i in range(1, 100))
BYTES += [
    ("circles of star imports", {"a.py": CIRCLE.encode(), "b.py": CIRCLE.encode()},
     "D  a.py 17;D  b.py 17", False),
    ("loops over each other's variables", {"t.py": LOOPS.encode()}, "R A t.py 21", False),
    ("a chain of deep expressions", {"t.py": (CHAIN + "EV_KEYS[v99]\n").encode()}, "D  t.py 101", False),
]


def parse(table):
    """Yields (what, {file: text}, required entries, allowed ones, syntax error) for each case."""
    for block in re.split(r"^---- ", table, flags=re.M)[1:]:
        what, body = block.split("\n", 1)
        files, want, may, bad, name = {}, set(), set(), False, "t.py"
        for line in body.split("\n")[:-1]:
            if line.startswith("== "):
                name = line[3:]
                files[name] = []
            elif line.startswith("!! syntax"):
                bad = True if line == "!! syntax" else None
            elif line.startswith("!! "):
                kind, key, path, number = line[3:].split(" ")
                want.add((kind, "" if kind == "D" else key, path, int(number)))
            else:
                lines = files.setdefault(name, [])
                lines.append(line)
                if "#: " in line:
                    for mark in line.split("#: ")[1].split():
                        kind, _, key = mark.lstrip("?").partition(":")
                        (may if mark[0] == "?" else want).add((kind, key, name, len(lines)))
        yield what, {k: ("\n".join(v) + "\n").encode() for k, v in files.items()}, want, may, bad


def table_bytes():
    for what, files, entries, bad in BYTES:
        want = set()
        for entry in filter(None, entries.split(";")):
            kind, key, path, line = re.fullmatch(r"(?s)(.) (.*) (\S+) (\d+)", entry).groups()
            want.add((kind, key, path, int(line)))
        yield what, files, want, set(), bad


def found(got):
    out = {("R" if r["kind"] == "required" else "O", r["name"], r["file"], r["line"])
           for r in got["reads"]}
    out |= {("D", "", d["file"], d["line"]) for d in got["dynamic"]}
    return out | {("E", m["name"], m["file"], m["line"]) for m in got["env_mistakes"]}


cases = list(parse(TABLE)) + list(table_bytes())
with tempfile.TemporaryDirectory() as tmp:
    dirs = []
    for i, (what, files, want, may, bad) in enumerate(cases):
        dirs.append(os.path.join(tmp, str(i)))
        for name, data in files.items():
            path = os.path.join(dirs[-1], name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(data)
    run = subprocess.run([scanlib.SCAN, "-p", scanlib.facts_of_311(tmp), *dirs], capture_output=True, check=False)
    outs = [json.loads(line) for line in run.stdout.splitlines()]
TAP = scanlib.TAP
TAP.ok(run.returncode == 0 and len(outs) == len(cases), "every case was scanned", run)
for (what, files, want, may, bad), got in zip(cases, outs):
    have = found(got)
    TAP.ok(want <= have <= want | may and (bad is None or bad == got["syntax_error"]), what,
           f"missing {sorted(want - have)}\nextra {sorted(have - want - may)}\nsyntax errors {got['syntax_errors']}")
sys.exit(TAP.done())
