#!/usr/bin/python3
"""make install into an empty root, what is there then, that it runs, and that uninstall takes all back."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, HELPERS, ROOT, T

with T() as t:
    root = t.dir / "root"
    # What is built there is what is installed, by whatever flags.
    more = ["-o", f"{BIN.parent}/flags", f"O={BIN.parent}", f"DESTDIR={root}", "PREFIX=/usr/local"]
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}

    def make(target):
        return subprocess.run(["make", "-s", "-C", ROOT, *more, target], capture_output=True, text=True, env=env, umask=0o077)

    def files():
        return sorted(str(p.relative_to(root / "usr/local")) for p in root.rglob("*") if not p.is_dir())

    r = make("install")
    t.ok(r.returncode == 0, "make install", r.stdout + r.stderr)
    there = files()
    programs = sorted(p.name for p in BIN.iterdir() if p.name.startswith("evctl") and p.name not in HELPERS)
    for p in programs:
        want = [f"bin/{p}", f"share/bash-completion/completions/{p}", f"share/fish/vendor_completions.d/{p}.fish",
                f"share/man/man1/{p}.1"]
        t.ok(all(w in there for w in want), f"{p}: program, completions, manual", set(want) - set(there))
    t.ok("bin/evctl-egress" not in there and "libexec/evctl/evctl-egress" in there, "the gate is not for people")
    for w in ("share/zsh/site-functions/_evctl", "share/man/man7/evctl-contract.7", "share/man/man5/expert.yaml.5",
              "share/evctl/cell/cell.py"):
        t.ok(w in there, w, there)
    symbols = lambda p: b".symtab" in p.read_bytes()
    t.ok(symbols(BIN / "evctl") and not any(symbols(p) for p in (root / "usr/local").rglob("bin/evctl*")) and
         not symbols(root / "usr/local/libexec/evctl/evctl-egress"), "programs are stripped; control: as built they are not")
    odd = [p for p in root.rglob("*") if not p.is_symlink() and p.stat().st_mode & 0o022]
    t.ok(not odd, "nothing is writable by others", odd)
    closed = [p for p in (root / "usr/local").rglob("*") if p.stat().st_mode & 0o044 != 0o044]
    t.ok(not closed, "everything is readable by others, whatever the umask", closed)
    dead = [p for p in root.rglob("*") if p.is_symlink() and not p.exists()]
    t.ok(not dead, "no link is dead", dead)
    evctl = root / "usr/local/bin/evctl"

    def run(*args):
        return subprocess.run([evctl, *args], capture_output=True, text=True, env=t.env)

    r = run("init")
    t.ok(r.returncode == 0, "evctl init, where it was installed", r)
    r = run("cred", "list")
    t.ok(r.returncode == 0, "evctl NOUN finds its program", r)
    r = run("doctor", "-o", "json")
    t.ok(r.returncode in (0, 7) and '"gate"' in r.stdout and "not found" not in r.stdout,
         "doctor finds the gate and what runs inside", r)
    # A home that only its owner enters, as root's is, with a name that no shell likes.
    home = t.dir / "it's a höme"
    shutil.copytree(root / "usr/local", home / "local", symlinks=True)
    home.chmod(0o700)
    folder = t.expert("one", {"t.py": "def f(): return 1"}, "name: one\ntools: [{name: f, entry: t.py:f}]\n")
    run("expert", "create", "one", "--dir", folder)
    r = subprocess.run([home / "local/bin/evctl-run", "one", "f"], capture_output=True, text=True, env=t.env)
    t.ok(r.returncode == 0 and r.stdout.strip() == "1", "it runs from where nobody else may read", r)
    r = make("uninstall")
    t.ok(r.returncode == 0 and files() == [], "make uninstall leaves no file", files())
