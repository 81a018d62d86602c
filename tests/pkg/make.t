#!/usr/bin/python3
"""What make builds, and above all what it does not build again."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, ROOT, T

ENV = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CFLAGS")}
LEAST = "CFLAGS=-O0"

with T() as t:
    def make(where, *args):
        r = subprocess.run(["make", *args], cwd=where, env=ENV, capture_output=True, text=True)
        t.ok(r.returncode == 0, f"make {' '.join(args)}", r.stdout + r.stderr)
        return {w for line in r.stdout.splitlines() if " -o " in line for w in [line.split(" -o ")[1].split()[0]]}

    # ---- one program and one folder of the tree, so that it takes seconds
    small = t.dir / "small"
    for part in ("Makefile", "common/base", "common/text", "cmd/evctl.c", "share/deps", "share/install-deps"):
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, small / part)
        elif (ROOT / part).exists():
            (small / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / part, small / part)
    want = ["-j2", "build/bin/evctl"]
    first = make(small, *want, LEAST)
    t.ok({"build/bin/evctl", "build/cmd/evctl.o", "build/common/base/err.o"} <= first, "it compiles and links", first)
    t.ok(make(small, *want, LEAST) == set(), "the second make does neither")
    t.ok(make(small, *want, LEAST + " -DOTHER") == first, "other flags: all again")
    t.ok(make(small, *want, LEAST + " -DOTHER") == set(), "and once")
    os.utime(small / "common/base/program.h")
    some = make(small, *want, LEAST + " -DOTHER")
    t.ok("build/cmd/evctl.o" in some and "build/common/base/buf.o" not in some and "build/bin/evctl" in some,
         "a header: what includes it", some)

    # ---- the tree itself, as it was built for this test, by whatever flags
    built = BIN.parent
    out = built.relative_to(ROOT) if ROOT in built.parents else built
    flags = "-o", f"{out}/flags", f"O={out}"
    left = make(ROOT, "-n", *flags, "all", "check-programs")
    t.ok(left == set(), "nothing of the tree would be built again", left)
    t.ok(len(make(ROOT, "-n", "-W", "common/base/err.h", *flags, "all")) > 100, "control: it says what would be")
