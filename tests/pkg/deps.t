#!/usr/bin/python3
"""share/deps and what reads it: which packages are missing, by which manager they come, and which brings a library."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import ROOT, T

INSTALL = ROOT / "share/install-deps"
ROWS = [line.split() for line in (ROOT / "share/deps").read_text().splitlines() if line[0] != "#"]
MANAGERS = {"dnf": ("rpm", "dnf install", 2), "apk": ("apk", "apk add", 3), "pacman": ("pacman", "pacman -S", 4)}

with T() as t:
    wrong = [r for r in ROWS if r[0].rstrip("?") in ("build", "run", "test") and len(r) not in (5, 6)]
    t.ok(not wrong, "what builds, runs and tests has a name for each package manager", wrong)
    t.ok(sum(len(r) == 6 for r in ROWS) >= 10, "and libraries have pkg-config's", ROWS)

    def system(name, **scripts):
        """A PATH with the tools of any system, and these programs."""
        place = t.dir / name
        place.mkdir()
        scripts = {program.replace("_", "-"): text for program, text in scripts.items()}
        for program, text in scripts.items():
            (place / program).write_text("#!/bin/sh\n" + text + "\n")
            (place / program).chmod(0o755)
        for tool in {"sh", "awk", "sed", "grep", "id", "dirname", "env", "pkg-config"} - scripts.keys():
            (place / tool).symlink_to(shutil.which(tool))
        return place

    def run(path, *args, **env):
        return subprocess.run([INSTALL, *args], env={"PATH": str(path), **env}, capture_output=True, text=True)

    for manager, (asks, how, column) in MANAGERS.items():
        names = {r[column] for r in ROWS if r[0] == "build"}
        r = run(system(manager, **{manager: "exit 1", asks: "exit 1"}), "build")
        t.ok(r.returncode == 1 and f"run as root: {how} " in r.stderr and names <= set(r.stderr.split()),
             f"{manager}: says what to install, by its names", r)
        # All is there but one.
        one = next(r[column] for r in ROWS if r[1] == "libyaml-dev")
        has = f'for last; do :; done; [ "$last" != {one} ]'
        r = run(system(manager + "-one", **{manager: has, asks: has}), "build")
        t.ok(r.returncode == 1 and r.stderr.strip().endswith(f"run as root: {how} {one}"), f"{manager}: only what is missing", r)
        r = run(system(manager + "-all", **{manager: "exit 0", asks: "exit 0"}), "build")
        t.ok(r.returncode == 0 and r.stderr == "", f"{manager}: nothing is missing", r)
    r = run(system("none"), "build")
    t.ok(r.returncode == 1 and "what Debian calls:" in r.stderr and "libsodium-dev" in r.stderr, "another system: Debian's names", r)
    r = run(system("apt", apt_get="exit 1", apt_cache="echo '  Depends: python3.13'", dpkg_query="exit 1", id="echo 1000"), "test")
    t.ok(r.returncode == 1 and "run as root: apt-get install " in r.stderr and " libpython3.13-testsuite " in r.stderr,
         "the name that has python3's version in it", r)

    # What is extra is a program, looked for where daemons are too: an ordinary user's PATH need not lead there.
    daemon = next((n for n in ("slurmctld", "slurmd") if shutil.which(n, path="/usr/sbin:/sbin")), None)
    there = {r[1] for r in ROWS if r[0] == "test?" and shutil.which(r[1], path="/usr/sbin:/sbin")}
    r = run(system("sbin", apt_get="exit 1", apt_cache="echo '  Candidate: 1'", dpkg_query="echo ok installed", id="echo 1000"), "test")
    t.ok(r.returncode == 1 and " chromium" in r.stderr, "control: an extra program that is on no PATH is asked for", r)
    if daemon:
        t.ok(not there & set(r.stderr.split()), "one that only root's PATH has is not", (there, r))
    else:
        t.skip("one that only root's PATH has is not", "no Slurm is here")

    # a library that is missing
    r = run(os.environ["PATH"], "--libraries")
    t.ok(r.returncode == 0 and r.stderr == "", "here are all libraries", r)
    r = run(system("bare", apt_get="exit 1"), "--libraries", PKG_CONFIG_LIBDIR=str(t.dir))
    t.ok(r.returncode == 1 and all(f"no {x[5]}.pc: install {x[1]}," in r.stderr for x in ROWS if len(x) == 6),
         "each that is not found is told, with its package", r)
    r = subprocess.run(["make", "-C", ROOT, f"O={t.dir}/out"], capture_output=True, text=True,
                       env={**{k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")},
                            "PKG_CONFIG_LIBDIR": str(t.dir)})
    t.ok(r.returncode == 2 and "pkg-config finds no libpsl.pc: install libpsl-dev" in r.stderr and " -c " not in r.stdout,
         "make says so before it compiles", r.stdout[-500:] + r.stderr)
