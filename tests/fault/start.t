#!/usr/bin/python3
"""What can be in the way of a start: it is exit 8 with a reason, never a signal, and no run is left behind."""
import os
import random
import resource
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, SANITIZED, T
from waiting import wait_for

YAML = """name: f
tools:
  - {name: quick, entry: "m.py:quick"}
hosts: [a.example]
"""
CODE = '''
def quick():
    print('begun', flush=True)
    return 'done'
'''
ROUNDS = 60

with T() as t:
    # A mask that takes everything away takes nothing from the owner
    for mask in (0o777, 0o700, 0):
        home = t.dir / f"mask-{mask:o}"
        for args in (("evctl-state", "init"), ("evctl-cred", "add", "K", "--from-file", "-")):
            r = t.run(*args, stdin="value-of-the-credential", env={"EVCTL_HOME": str(home)},
                      preexec_fn=lambda mask=mask: os.umask(mask))
            t.ok(r.code == 0, f"umask {mask:04o}: {args[1]}", r)
        modes = {p.relative_to(home).as_posix(): oct(p.stat().st_mode & 0o777) for p in [home, *home.rglob("*")]}
        t.ok(all(m == ("0o700" if home.joinpath(p).is_dir() else "0o600") for p, m in modes.items()) and
             {"state.db", "master.key", "objects"} <= set(modes), "all of it is the owner's", modes)

    t.init()
    t.good("evctl-host", "add", "a.example")
    t.good("evctl-expert", "create", "f", "--dir", t.expert("f", {"m.py": CODE}, YAML))

    def rows():
        return t.sql("SELECT status FROM runs")

    def run(limit=None, soft=None, hard=None):
        def set_limit():
            resource.setrlimit(limit, (soft, hard or soft))
        return t.run("evctl-run", "f", "quick", "--draft", preexec_fn=set_limit if limit is not None else None)

    t.ok(run().out == '"done"\n', "control: nothing in the way")

    # Descriptors
    codes, bad = {}, []
    for n in range(12, 64, 8 if SANITIZED else 1):
        before = rows()
        r = run(resource.RLIMIT_NOFILE, n)
        codes[r.code] = codes.get(r.code, 0) + 1
        if r.code == 8:
            fine = "error: " in r.err and "Too many open files" in r.err and rows() == before
        else:
            fine = r.code == 0 and r.out == '"done"\n'
        if not fine:
            bad.append((n, str(r)))
    t.ok(not bad and codes.get(8) and codes.get(0), "few descriptors: it runs, or it is exit 8 with that reason", (codes, bad[:3]))

    # The stack
    if not SANITIZED:
        r = run(resource.RLIMIT_STACK, 64 << 10, resource.getrlimit(resource.RLIMIT_STACK)[1])
        t.ok(r.code == 0 and r.out == '"done"\n', "a small stack that may grow", r)
        r = run(resource.RLIMIT_STACK, 64 << 10)
        t.ok((r.code == 8 and "ulimit -s" in r.err) or r.out == '"done"\n', "one that may not: exit 8, and what to do", r)

    # The helper is killed at any moment
    def child_of(pid):
        try:
            with open(f"/proc/{pid}/task/{pid}/children") as f:
                return [int(c) for c in f.read().split()]
        except OSError:
            return []

    def start():
        return subprocess.Popen([BIN / "evctl-run", "f", "quick", "--draft", "--debug"], env=t.env,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    lengths = []
    for _ in range(5):
        began = time.monotonic()
        start().communicate(timeout=40)
        lengths.append(time.monotonic() - began)
    length, rng = sorted(lengths)[2], random.Random(int(os.environ.get("EVCTL_SEED", "1")))
    seen, bad = {}, []
    for n in range(ROUNDS):
        p = start()
        helper = wait_for(lambda p=p: (child_of(p.pid) or [p.poll()])[0])
        time.sleep(rng.uniform(0, length * .8) if n % 2 else rng.uniform(0, .003))
        try:
            os.kill(helper, signal.SIGKILL)
        except (ProcessLookupError, TypeError):
            pass
        out, err = p.communicate(timeout=40)
        text, last = err.decode(), rows()[-1:]
        seen[p.returncode] = seen.get(p.returncode, 0) + 1
        if p.returncode == 8:
            fine = out == b"" and "error: " in text and "hint: " in text and "begun" not in text
        elif p.returncode == 11:
            fine = out == b"" and "error: run " in text
        else:
            fine = p.returncode == 0 and out == b'"done"\n'
        if not fine or ("running",) in rows():
            bad.append((n, p.returncode, out, text, last))
    t.ok(not bad and seen.get(8, 0) > ROUNDS // 10, "a helper that is killed: exit 8 with a reason before the tool begins",
         (seen, bad[:3]))
    t.ok(len(t.good("evctl-log", "runs", "-o", "json").json) == len(rows()) and ("running",) not in rows(),
         "and no run is left that nobody ran")

    # Somebody's lock on a device is somebody's: on a node of this test's own, as others are running too
    own = ["unshare", "-m", "sh", "-c", 'mkdir "$1" && mount -t tmpfs -o mode=755 none "$1" && mknod -m 666 "$1/full" c 1 7 && '
           'mount --bind "$1/full" /dev/full && shift && exec "$@"', "sh", t.dir / "own-dev"]
    locker = "import fcntl, subprocess, sys\nf = open('/dev/full', 'rb')\nfcntl.flock(f, fcntl.LOCK_EX if sys.argv[1] == 'x' " \
             "else fcntl.LOCK_SH)\nsys.exit(subprocess.run(sys.argv[2:]).returncode)"
    for how, code in (("s", 0), ("x", 8)):
        own[-1] = t.dir / f"own-dev-{how}"
        p = subprocess.Popen([*own, sys.executable, "-c", locker, how, BIN / "evctl-run", "f", "quick", "--draft"],
                             env=t.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, err = p.communicate(timeout=60)
        if how == "s" and p.returncode and "evctl-run: " not in err:
            t.skip("a lock on a device", "no device can be made here")
            break
        t.ok(p.returncode == code and (code == 0 or f"process {p.pid}, python3" in err),
             "an exclusive lock: the message names the holder" if code else "control: a shared one", (p.returncode, out, err))
