#!/usr/bin/python3
# The parser against CPython's own ast: every .py file of the standard library (its tests included),
# numpy, pandas and matplotlib parses or fails as ast.parse(bytes) says, and every name, subscript of a
# name, call of an attribute and constant is at the same place with the same value.
# Other trees or files may be named as arguments.
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scanlib  # noqa: E402

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


def say(good, number, text):
    print(f"{'ok' if good else 'not ok'} {number} - {text}")


todo = list(files(sys.argv[1:] or TREES))
dumps = scanlib.dump(todo)
bad = refused = 0
for path, got in zip(todo, dumps):
    wrong = scanlib.differs(path, got)
    refused += got[0].startswith("error")
    if wrong:
        bad += 1
        print(f"# {path}: {wrong}")
print("1..3")
say(len(dumps) == len(todo), 1, f"{len(dumps)} of {len(todo)} files read")
say(not bad, 2, f"{bad} differ")
# a control: the trees hold files that must be refused, and most must not
say(sys.argv[1:] or (len(todo) > 3000 and 5 < refused < 100), 3, f"{refused} refused by both")
