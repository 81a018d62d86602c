#!/usr/bin/python3
"""Killed at each write to the disk: the state is always the old one or the new one, whole."""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "archive")]
from fill import add_artifact, add_run, open_db
from tap import BIN, UNDER_STRACE, T

STEPS = ("rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "fsync",
         "fdatasync", "ftruncate", "pwrite64", "mkdirat", "copy_file_range")


def kill_at(t, call, n, *argv):
    """True if the program was killed at its n-th such call, False if it ended by itself."""
    done = subprocess.run(
        ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e",
         f"inject={call}:signal=SIGKILL:when={n}", str(BIN / argv[0]), *map(str, argv[1:])],
        env={**t.env, **UNDER_STRACE}, capture_output=True, timeout=120)
    if done.returncode not in (0, -9, 137):
        raise AssertionError(f"{call} {n}: {done}")
    return done.returncode != 0


def every_kill(t, prepare, check, *argv):
    """Kills at the 1st, 2nd, ... call of each kind, with a fresh state each time."""
    total, wrong = 0, []
    for call in STEPS:
        n = 1
        while True:
            prepare()
            killed = kill_at(t, call, n, *argv)
            total += killed
            why = check()
            if why:
                wrong.append((call, n, why))
            if not killed:
                break
            n += 1 + n // 4  # long rows of the same write are sampled
    return total, wrong


def names(t):
    r = t.run("evctl-cred", "list", "-o", "json")
    return sorted(x["name"] for x in r.json) if r.code == 0 else r.code


def whole(t):
    """Opens, has its key, and all artifacts' bytes are there and right."""
    s = t.run("evctl-state", "status", "-o", "json")
    if s.code or s.json["key"].startswith(("there is", "the private")):
        return f"no state or no key: {s}"
    shutil.rmtree(t.dir / "probe", ignore_errors=True)
    b = t.run("evctl-state", "backup", t.dir / "probe")
    return f"not whole: {b}" if b.code else None


with T() as t:
    t.init()
    t.cred("OLD", "value-of-the-backup")
    db = open_db(t.home)
    add_run(db, "r1")
    for i in range(3):
        add_artifact(db, t.home, "r1", f"{i}.txt", f"number {i}".encode() * 1000)
    db.close()
    t.good("evctl-state", "backup", t.dir / "b")
    t.cred("NEW", "value-of-the-present")
    db = open_db(t.home)
    db.execute("DELETE FROM artifacts WHERE name = '0.txt'")
    add_artifact(db, t.home, "r1", "late.txt", b"late")
    db.close()
    t.good("evctl-state", "backup", t.dir / "unused")  # sweeps nothing, folds nothing
    template = t.dir / "template"
    shutil.copytree(t.home, template)

    def fresh():
        shutil.rmtree(t.home)
        shutil.copytree(template, t.home)

    # ---- restore over a sound state
    def check_restore():
        got = names(t)
        if got not in (["OLD"], ["NEW", "OLD"]):
            return got
        why = whole(t)
        if why:
            return why
        t.good("evctl-state", "restore", t.dir / "b", "--yes")
        left = sorted(p.name for p in t.home.iterdir() if not p.name.startswith("state.db-"))
        if names(t) != ["OLD"] or left != ["master.key", "objects", "state.db"]:
            return f"after it was run again: {names(t)} {left}"
        return whole(t)
    total, wrong = every_kill(t, fresh, check_restore, "evctl-state", "restore", t.dir / "b", "--yes")
    t.ok(total > 30, f"restore was killed at {total} places")
    t.ok(not wrong, "each left the old state or the new one, whole, and it could be run again", wrong[:3])

    # ---- restore over rubble with a log beside it
    def rubble():
        fresh()
        for p in t.home.glob("state.db*"):
            p.unlink()
        (t.home / "state.db").write_bytes(b"rubble" * 3000)
        shutil.copy(template / "state.db", t.home / "state.db-wal")

    def check_rubble():
        got = names(t)
        if got != ["OLD"]:
            if (t.home / "state.db").read_bytes() != b"rubble" * 3000:
                return f"neither: {got}"
            t.good("evctl-state", "restore", t.dir / "b", "--yes")
        return whole(t) if names(t) == ["OLD"] else f"after it was run again: {names(t)}"
    total, wrong = every_kill(t, rubble, check_rubble, "evctl-state", "restore", t.dir / "b", "--yes")
    t.ok(total > 30 and not wrong, f"the same over rubble: {total} places", wrong[:3])

    # ---- backup
    to = t.dir / "made"

    def no_backup():
        fresh()
        shutil.rmtree(to, ignore_errors=True)

    def check_backup():
        if to.exists():
            t.good("evctl-state", "restore", to, "--yes")
            return whole(t)
        t.good("evctl-state", "backup", to)
        left = [p.name for p in t.dir.iterdir() if p.name.startswith(".made")]
        return f"left: {left}" if left else whole(t)
    total, wrong = every_kill(t, no_backup, check_backup, "evctl-state", "backup", to)
    t.ok(total > 15 and not wrong, f"a backup is whole or not there: {total} places", wrong[:3])

    # ---- rekey
    def check_rekey():
        why = whole(t)
        if why:
            return why
        r = t.run("evctl-state", "rekey", "-o", "json")
        if r.code or r.json["records"] != 2:
            return f"afterwards: {r}"
        return whole(t)
    total, wrong = every_kill(t, fresh, check_rekey, "evctl-state", "rekey")
    t.ok(total > 15 and not wrong, f"rekey never loses the key: {total} places", wrong[:3])
