#!/usr/bin/python3
"""The Debian package and the tarball: the same bytes each time, what is in them, and scripts that parse."""
import hashlib
import os
import re
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, HELPERS, ROOT, T

VERSION = re.search(r"^VERSION := (\S+)", (ROOT / "Makefile").read_text(), re.M).group(1)


def sha(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


with T() as t:
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}

    def run(*argv, **more):
        r = subprocess.run(argv, capture_output=True, text=True, env={**env, **more}, cwd=ROOT)
        if r.returncode:
            raise AssertionError(f"{argv}: {r.stdout}{r.stderr}")
        return r.stdout

    deb = run("packaging/deb", BIN.parent, VERSION, SOURCE_DATE_EPOCH="1700000000").split()[-1]
    first = sha(type(ROOT)(deb))
    t.ok(first == sha(type(ROOT)(run("packaging/deb", BIN.parent, VERSION, SOURCE_DATE_EPOCH="1700000000").split()[-1])),
         "the package is the same bytes each time")
    fields = {k: run("dpkg-deb", "-f", deb, k).strip() for k in ("Package", "Version", "Depends", "Installed-Size")}
    wanted = [line.split()[1] for line in (ROOT / "share/deps").read_text().splitlines() if line.startswith("run ")]
    t.ok(fields["Package"] == "evctl" and fields["Version"] == VERSION, "its name and version", fields)
    t.ok(all(re.search(rf"(^|, ){re.escape(w)}\b", fields["Depends"]) for w in wanted) and "libsqlite3-0" in fields["Depends"],
         "it depends on the libraries and on what runs need", fields)
    rows = [line.split(None, 5) for line in run("dpkg-deb", "-c", deb).splitlines()]
    names = {r[5].split(" -> ")[0] for r in rows}
    programs = sorted(p.name for p in BIN.iterdir() if p.name.startswith("evctl") and p.name not in HELPERS)
    want = [f"./usr/bin/{p}" for p in programs] + [f"./usr/share/man/man1/{p}.1.gz" for p in programs] + [
        f"./usr/share/bash-completion/completions/{p}" for p in programs] + [
        f"./usr/share/fish/vendor_completions.d/{p}.fish" for p in programs] + [
        "./usr/share/zsh/vendor-completions/_evctl", "./usr/libexec/evctl/evctl-egress", "./usr/share/evctl/cell-source/build",
        "./usr/share/doc/evctl/copyright", "./usr/share/doc/evctl/changelog.gz", "./usr/share/doc/evctl/examples/ci/github.yml"]
    t.ok(set(want) <= names, "programs, gate, manuals, completions, examples are in it", set(want) - names)
    t.ok(not any(".pyc" in n or "fontlist" in n for n in names), "what depends on the machine's Python is not")
    t.ok(all(r[1] == "root/root" and r[0][5] != "w" and r[0][8] != "w" and "s" not in r[0] for r in rows
             if r[0][0] != "l"), "all is root's, and nobody else's to write")
    control = t.dir / "control"
    run("dpkg-deb", "-e", deb, control)
    for script in ("postinst", "prerm"):
        run("sh", "-n", control / script)
        t.ok("set -e" in (control / script).read_text(), f"{script} parses, and stops at an error")
    t.ok(len((control / "md5sums").read_text().splitlines()) == sum(r[0][0] == "-" for r in rows), "every file has its sum")
    target = t.dir / "cell"
    run("dpkg-deb", "-x", deb, t.dir / "root")
    source = t.dir / "root/usr/share/evctl/cell-source"
    run(source / "build", source, target)
    t.ok((target / "cell.pyc").exists(), "what postinst runs makes the cell")

    if (ROOT / ".git").exists():
        run("make", "-s", f"O={t.dir}/one", "dist")
        run("make", "-s", f"O={t.dir}/two", "dist")
        one, two = (t.dir / x / f"evctl-{VERSION}.tar.gz" for x in ("one", "two"))
        t.ok(sha(one) == sha(two), "the tarball is the same bytes each time")
        with tarfile.open(one) as tar:
            members = {m.name.removeprefix(f"evctl-{VERSION}/") for m in tar if m.isfile() or m.issym()}
            times = {m.mtime for m in tar}
            tar.extractall(t.dir / "out", filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(t.dir / "out")
        tracked = set(run("git", "ls-tree", "-r", "--name-only", "HEAD").splitlines())
        t.ok(members == tracked and len(times) == 1, "it has what is committed, all of one time", members ^ tracked)
        r = subprocess.run(["make", "-n", f"O={t.dir}/three", "all"], cwd=t.dir / "out" / f"evctl-{VERSION}", env=env,
                           capture_output=True, text=True)
        t.ok(r.returncode == 0 and " -c -o " in r.stdout, "and builds without git", r.stderr + r.stdout[:500])
