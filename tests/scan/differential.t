#!/usr/bin/python3
# The parser against CPython's own ast: every .py file of the standard library (its tests included),
# numpy, pandas and matplotlib parses or fails as ast.parse(bytes) says, and every name, subscript of a
# name, call of an attribute and constant is at the same place with the same value.
# Other trees or files may be named as arguments.
import ast
import os
import subprocess
import sys
import warnings

warnings.simplefilter("ignore")
BUILD = os.path.join(os.path.dirname(__file__), "../../build")
DUMP = os.path.join(os.environ.get("EVCTL_TESTBIN") or BUILD + "/tests", "scan", "dump")
TREES = ["/usr/lib/python3.11"] + [
    "/usr/lib/python3/dist-packages/" + p for p in ("numpy", "pandas", "matplotlib")
]


def files(paths):
    for path in paths:
        if os.path.isfile(path):
            yield path
        for root, dirs, names in os.walk(path):
            dirs.sort()
            for name in sorted(names):
                if name.endswith(".py"):
                    yield os.path.join(root, name)


def expected(path):
    with open(path, "rb") as f:
        data = f.read()
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    out = []
    for n in ast.walk(tree):
        if isinstance(n, ast.Name):
            out.append(f"N {n.lineno} {n.col_offset} {n.id}")
        elif isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name):
            out.append(f"S {n.lineno} {n.col_offset} {n.value.id}")
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute):
            out.append(f"C {n.lineno} {n.col_offset} {n.func.attr}")
        elif isinstance(n, ast.Constant) and isinstance(n.value, str):
            out.append(f"T {n.lineno} {n.col_offset} "
                       + n.value.encode("utf-8", "surrogatepass").hex())
        elif isinstance(n, ast.Constant) and isinstance(n.value, bytes):
            out.append(f"B {n.lineno} {n.col_offset} {n.value.hex()}")
    return sorted(out)


def compare(path, got):
    want = expected(path)
    if want is None:
        return None if got[0].startswith("error") else "parses, but ast.parse refuses it"
    if got[0] != "ok":
        return "refused (" + got[0] + "), but ast.parse takes it"
    have = sorted(got[1:])
    if have == want:
        return None
    w, h = set(want), set(have)
    return f"missing {sorted(w - h)[:4]} extra {sorted(h - w)[:4]}"


def main():
    todo = list(files(sys.argv[1:] or TREES))
    run = subprocess.run([DUMP], input="\n".join(todo) + "\n", capture_output=True, text=True,
                         encoding="utf-8")
    parts = run.stdout.split("F /")[1:] if run.stdout.startswith("F /") else []
    # names in a dump never hold a slash, so the separator is safe
    bad = refused = 0
    for path, part in zip(todo, parts):
        lines = part.rstrip("\n").split("\n")
        wrong = compare(path, lines[1:])
        refused += lines[1].startswith("error")
        if wrong:
            bad += 1
            print(f"# {path}: {wrong}")
    print("1..3")
    print(("ok" if run.returncode == 0 and len(parts) == len(todo) else "not ok")
          + f" 1 - {len(parts)} of {len(todo)} files read")
    print(("ok" if not bad else "not ok") + f" 2 - {bad} differ")
    # a control: the trees hold files that must be refused, and most must not
    fine = sys.argv[1:] or (len(todo) > 3000 and 5 < refused < 100)
    print(("ok" if fine else "not ok") + f" 3 - {refused} refused by both")


main()
