#!/usr/bin/python3
# The parser against CPython's own ast: every .py file of the standard library (its tests included),
# numpy, pandas and matplotlib parses or fails as ast.parse(bytes) says, and every name, subscript of a
# name, call of an attribute and constant is at the same place with the same value.
# Other trees or files may be named as arguments.
import os
import sys
import sysconfig

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scanlib  # noqa: E402

TREES = [sysconfig.get_path("stdlib")] + [
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


todo = list(files(sys.argv[1:] or TREES))
dumps = scanlib.dump(todo)
# What newer ones tell of otherwise than 3.11, which the parser follows: of "{x = # why}" they leave out the comment.
OTHERWISE = ("test/test_fstring.py", "test/test_tstring.py") if sys.version_info >= (3, 12) else ()
bad = refused = 0
for path, got in zip(todo, dumps):
    wrong = scanlib.differs(path, got)
    refused += got[0].startswith("error")
    if wrong and not path.endswith(OTHERWISE):
        bad += 1
        print(f"# {path}: {wrong}")
scanlib.TAP.ok(len(dumps) == len(todo), f"{len(dumps)} of {len(todo)} files read")
scanlib.TAP.ok(not bad, f"{bad} differ")
# a control: the trees hold files that must be refused (fewer since lib2to3 and its tests are gone), and most must not
scanlib.TAP.ok(sys.argv[1:] or (len(todo) > 3000 and (5 if sys.version_info < (3, 13) else 3) < refused < 100), f"{refused} refused by both")
sys.exit(scanlib.TAP.done())
