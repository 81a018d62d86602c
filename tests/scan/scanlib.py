# Shared by the scanner's tests: the parser's dump, and what CPython's own ast says.
import ast
import os
import subprocess
import sys
import warnings

warnings.simplefilter("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../lib"))
from tap import Tap  # noqa: E402

TAP = Tap()
TESTBIN = os.environ.get("EVCTL_TESTBIN") or os.path.join(HERE, "../../build/tests")
DUMP = os.path.join(TESTBIN, "scan", "dump")
SCAN = os.path.join(TESTBIN, "scan", "scan_dump")


def say(good, text, notes=()):
    """A check; the notes, a line each, tell why where it fails."""
    TAP.ok(good, text, "\n".join(map(str, notes)))


def expected(data):
    """The dump's lines for a file's bytes, sorted; None if ast.parse refuses them."""
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


def dump(paths):
    """The dump's lines for each path; a missing one means that the dump died."""
    run = subprocess.run([DUMP], input="\n".join(paths) + "\n", capture_output=True,
                         encoding="utf-8", check=False)
    parts = ("\n" + run.stdout).split("\nF ")[1:]
    return [part.split("\n")[1:] for part in parts if run.returncode == 0]


def differs(path, got):
    """None if the dump's lines are what ast.parse gives, else what is wrong."""
    with open(path, "rb") as f:
        want = expected(f.read())
    if want is None:
        return None if got[0].startswith("error") else "parses, but ast.parse refuses it"
    if got[0] != "ok":
        return "refused (" + got[0] + "), but ast.parse takes it"
    have = sorted(line for line in got[1:] if line)
    if have == want:
        return None
    w, h = set(want), set(have)
    return f"missing {sorted(w - h)[:4]} extra {sorted(h - w)[:4]}"
