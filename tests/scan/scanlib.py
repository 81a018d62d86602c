# Shared by the scanner's tests: the parser's dump, and what CPython's own ast says.
import ast
import collections
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
DUMP = [os.path.join(TESTBIN, "scan", "dump"), "-p", str(sys.version_info.minor)]
SCAN = os.path.join(TESTBIN, "scan", "scan_dump")


def facts_of_311(folder):
    """A file that says what this machine's sandbox has, as if it were 3.11 with what Debian 12 shows beside it."""
    with open(os.path.join(TESTBIN, "share/evctl/cell/python")) as f:
        rows = [row for row in f if not row.startswith("version ")]
    path = os.path.join(folder, "python")
    with open(path, "w") as f:
        f.writelines(["version 3.11\n", *sorted({*rows, "package six\n", "package lib2to3\n"})])
    return path


def say(good, text, notes=()):
    """A check; the notes, a line each, tell why where it fails."""
    TAP.ok(good, text, "\n".join(map(str, notes)))


STRINGS = tuple(getattr(ast, x) for x in ("JoinedStr", "TemplateStr") if sys.version_info >= (3, 12) and hasattr(ast, x))


def expected(data):
    """
    The dump's lines for a file's bytes, sorted; None if ast.parse refuses them. The dump has the places that 3.11 gives the
    text of an f-string: that between the fields is where the whole string is; where a format's is, newer ones do not say ("?").
    """
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    out, text_at = [], {}
    # What a `type` statement names is no expression here.
    aliases = {n.name for n in ast.walk(tree) if sys.version_info >= (3, 12) and isinstance(n, ast.TypeAlias)}
    for n in ast.walk(tree):
        if isinstance(n, STRINGS):
            place = text_at.setdefault(n, f"{n.lineno} {n.col_offset}")
            text_at.update((v.format_spec, "?") if hasattr(v, "format_spec") else (v, place) for v in n.values)
        if isinstance(n, ast.Name) and n not in aliases:
            out.append(f"N {n.lineno} {n.col_offset} {n.id}")
        elif isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name):
            out.append(f"S {n.lineno} {n.col_offset} {n.value.id}")
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute):
            out.append(f"C {n.lineno} {n.col_offset} {n.func.attr}")
        elif isinstance(n, ast.Constant) and isinstance(n.value, str):
            out.append(f"T {text_at.get(n, f'{n.lineno} {n.col_offset}')} " + n.value.encode("utf-8", "surrogatepass").hex())
        elif isinstance(n, ast.Constant) and isinstance(n.value, bytes):
            out.append(f"B {n.lineno} {n.col_offset} {n.value.hex()}")
    return sorted(out)


def dump(paths):
    """The dump's lines for each path; a missing one means that the dump died."""
    run = subprocess.run(DUMP, input="\n".join(paths) + "\n", capture_output=True,
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
    spare = collections.Counter(have) - collections.Counter(want)
    for line in [x for x in want if x.startswith("T ? ")]:
        there = [x for x in spare.elements() if x.startswith("T ") and x.split(" ")[3] == line[4:]]
        if there:
            want.remove(line)
            have.remove(there[0])
            spare[there[0]] -= 1
    if have == want:
        return None
    w, h = set(want), set(have)
    return f"missing {sorted(w - h)[:4]} extra {sorted(h - w)[:4]}"
