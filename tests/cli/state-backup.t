#!/usr/bin/python3
"""Backups and restores: whole, verified, and never the private key."""
import fcntl
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "archive")]
from fill import add_artifact, add_run, object_path, open_db
from tap import BIN, T


def names(t):
    return sorted(r["name"] for r in t.run("evctl-cred", "list", "-o", "json").json)


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def remake_manifest(folder, **changes):
    m = json.loads((folder / "manifest.json").read_text())
    m.update(changes)
    (folder / "manifest.json").write_text(json.dumps(m))


def resum(folder):
    data = (folder / "state.db").read_bytes()
    remake_manifest(folder, database={"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)})


with T() as t:
    t.fails(9, "no state, no backup", "evctl-state", "backup", t.dir / "none", hint="evctl init")
    t.init()
    t.cred("FIRST", "first-secret-value")
    db = open_db(t.home)
    add_run(db, "r1")
    one = add_artifact(db, t.home, "r1", "a/one.txt", b"one\n")
    two = add_artifact(db, t.home, "r1", "two.bin", bytes(range(256)) * 4000)
    add_artifact(db, t.home, "r1", "two again.bin", bytes(range(256)) * 4000)
    db.close()

    to = t.dir / "deep" / "b1"
    r = t.run("evctl-state", "backup", to, "-o", "json")
    t.ok(r.code == 0 and r.json["objects"] == 2 and r.json["lacking"] == [], "backup", r)
    files = sorted(str(p.relative_to(to)) for p in to.rglob("*") if p.is_file())
    want = sorted(["manifest.json", "state.db", f"objects/{one[:2]}/{one[2:]}",
                   f"objects/{two[:2]}/{two[2:]}"])
    t.ok(files == want, "holds the state file, the manifest and each object once", files)
    key = (t.home / "master.key").read_bytes().split()[1]
    t.ok(not any(key in p.read_bytes() for p in to.rglob("*") if p.is_file()),
         "the private key is in none of it")
    modes = {oct(p.stat().st_mode & 0o777) for p in to.rglob("*")}
    t.ok(modes <= {"0o600", "0o700"} and oct(to.stat().st_mode & 0o777) == "0o700", "private", modes)
    t.ok(object_path(t.home, one).stat().st_ino != object_path(to, one).stat().st_ino,
         "objects are copies, not links")
    t.ok(sorted(p.name for p in to.parent.iterdir()) == ["b1"], "nothing is left beside it")
    t.fails(5, "refuses to overwrite", "evctl-state", "backup", to, says="already")
    (t.dir / "file").write_text("x")
    t.fails(5, "refuses to overwrite a file too", "evctl-state", "backup", t.dir / "file")
    t.ok((t.dir / "file").read_text() == "x", "which is untouched")
    t.fails(2, "'.' is no name", "evctl-state", "backup", ".")
    db = open_db(t.home)
    t.ok(db.execute("SELECT action FROM audit ORDER BY seq DESC").fetchone()[0] == "state backup",
         "one audit row")
    db.close()

    # ---- restore
    t.cred("SECOND", "second-secret-value")
    t.good("evctl-cred", "rm", "FIRST", "--yes")
    db = open_db(t.home)
    add_run(db, "r2")
    late = add_artifact(db, t.home, "r2", "late.txt", b"made after the backup")
    db.close()
    t.fails(2, "asks; without a terminal --yes is needed", "evctl-state", "restore", to, hint="add --yes")
    t.ok(names(t) == ["SECOND"], "and nothing has changed")
    r = t.run("evctl-state", "restore", to, "--yes", "-o", "json")
    t.ok(r.code == 0 and r.json["objects"] == 2 and r.json["key"] is True, "restore", r)
    t.ok(names(t) == ["FIRST"], "what was backed up is there, what came later is not", names(t))
    t.ok(object_path(t.home, one).read_bytes() == b"one\n", "objects are back")
    t.ok(not object_path(t.home, late).exists(), "objects that nothing names are gone")
    left = sorted(p.name for p in t.home.iterdir() if not p.name.startswith("state.db-"))
    t.ok(left == ["master.key", "objects", "state.db"], "nothing is left aside", left)
    db = open_db(t.home)
    t.ok(db.execute("SELECT action FROM audit ORDER BY seq DESC").fetchone()[0] == "state restore",
         "the restore is in the audit trail, after what was backed up")
    db.close()
    t.good("evctl-cred", "rotate", "FIRST", "--from-file", "-", stdin="a-new-value-here")
    t.good("evctl-state", "backup", t.dir / "b2")
    t.ok(True, "the restored state can be written and backed up")

    # ---- onto nothing, and onto rubble
    aside = t.dir / "key"
    shutil.copy(t.home / "master.key", aside)
    shutil.rmtree(t.home)
    r = t.run("evctl-state", "restore", to, "--yes", "--key-file", aside)
    t.ok(r.code == 0 and names(t) == ["FIRST"] and r.err == "", "a missing state is made", r)
    r = t.run("evctl-state", "status", "-o", "json", "--key-file", aside)
    t.ok(r.json["key"] == str(aside), "its key still opens it", r)
    shutil.copy(aside, t.home / "master.key")
    for what, wreck in (
            ("rubbish", lambda p: p.write_bytes(b"rubbish" * 1000)),
            ("an empty file", lambda p: p.write_bytes(b"")),
            ("a torn page", lambda p: p.write_bytes(p.read_bytes()[:4096] + os.urandom(8192))),
            ("another's database", lambda p: p.write_bytes(foreign.read_bytes()))):
        foreign = t.dir / "foreign.db"
        if not foreign.exists():
            with sqlite3.connect(foreign) as f:
                f.execute("CREATE TABLE x (y)")
        for extra in t.home.glob("state.db-*"):
            extra.unlink()
        wreck(t.home / "state.db")
        (t.home / "state.db-wal").write_bytes(os.urandom(5000))
        t.ok(t.run("evctl-cred", "list").code != 0, f"control: {what} is no state")
        r = t.run("evctl-state", "restore", to, "--yes")
        t.ok(r.code == 0 and names(t) == ["FIRST"], f"{what} is replaced", r)
    flip(object_path(t.home, one), 0)
    t.good("evctl-state", "restore", to, "--yes")
    t.ok(object_path(t.home, one).read_bytes() == b"one\n", "a damaged object is mended")

    # ---- a backup that is not what it was
    other = object_path(to, two).relative_to(to)
    breaks = {
        "a flipped bit in an object": lambda b: flip(b / other, 77),
        "a missing object": lambda b: (b / other).unlink(),
        "an object cut short": lambda b: (b / other).write_bytes(b"x"),
        "a link in place of an object": lambda b: ((b / other).unlink(),
                                                   (b / other).symlink_to(to / other)),
        "a flipped bit in the state file": lambda b: flip(b / "state.db", 5000),
        "no state file": lambda b: (b / "state.db").unlink(),
        "a manifest that forgets an object": lambda b: remake_manifest(b, objects=[]),
        "a manifest that names a path": lambda b: remake_manifest(
            b, objects=[{"sha256": "../../../../etc/passwd", "bytes": 1}]),
        "a manifest of another key": lambda b: remake_manifest(b, fingerprint="0000 1111"),
        "a manifest that is no JSON": lambda b: (b / "manifest.json").write_text("{"),
        "a manifest of a newer format": lambda b: remake_manifest(b, format=2),
    }

    def audit_broken(b):
        with open_db(b) as d:
            d.execute("UPDATE audit SET actor = 'nobody' WHERE seq = 1")
        d.close()
        resum(b)

    def newer(b):
        with open_db(b) as d:
            d.execute("PRAGMA user_version = 99")
        d.close()
        resum(b)
    breaks["a broken audit trail, sums made to fit"] = audit_broken
    breaks["a newer schema"] = newer
    for i, (what, break_it) in enumerate(breaks.items()):
        bad = t.dir / f"bad{i}"
        shutil.copytree(to, bad)
        break_it(bad)
        before = (t.home / "state.db").read_bytes()
        r = t.run("evctl-state", "restore", bad, "--yes")
        t.ok(r.code == 9 and "error: " in r.err, f"{what}: exit 9", r)
        t.ok((t.home / "state.db").read_bytes() == before and names(t) == ["FIRST"] and
             not list(t.home.glob(".*")), "and the state is untouched")
    t.fails(3, "no such backup", "evctl-state", "restore", t.dir / "nowhere", "--yes")
    t.fails(3, "a directory that is none", "evctl-state", "restore", t.home, "--yes",
            says="not a backup")

    # ---- artifacts lost before the backup
    flip(object_path(t.home, two), 3)
    r = t.run("evctl-state", "backup", t.dir / "b3", "-o", "json")
    t.ok(r.code == 7 and r.json["objects"] == 1 and len(r.json["lacking"]) == 1 and
         "damaged" in r.err, "a damaged artifact is named, exit 7, the rest is backed up", r)
    r = t.run("evctl-state", "restore", t.dir / "b3", "--yes")
    t.ok(r.code == 0 and names(t) == ["FIRST"], "and such a backup can be restored", r)

    # ---- while it is used
    with open_db(t.home) as user:
        user.execute("SELECT * FROM meta").fetchall()
        r = t.run("evctl-state", "backup", t.dir / "b4")
        t.ok(r.code == 7, "a backup can be made while others read", r)
        user.execute("BEGIN IMMEDIATE")
        holder = subprocess.Popen([BIN / "evctl-state", "restore", to, "--yes"], env=t.env,
                                  stderr=subprocess.PIPE)
        err = holder.communicate(timeout=60)[1].decode()
        t.ok(holder.returncode == 6, "a restore under another program: exit 6 after 10 s", err)
        user.execute("ROLLBACK")
    user.close()
    sleeper = subprocess.Popen(["sleep", "300"])
    start = int(open(f"/proc/{sleeper.pid}/stat").read().rpartition(")")[2].split()[19])
    db = open_db(t.home)
    add_run(db, "rlive", status="running", pid=sleeper.pid, pid_start=start)
    db.close()
    r = t.fails(5, "a restore under a live run: exit 5", "evctl-state", "restore", to, "--yes",
                says="run rlive", hint="evctl-session end")
    t.fails(5, "so is a change of keys", "evctl-state", "rekey", says="run rlive")
    r = t.run("evctl-state", "backup", t.dir / "b5")
    t.ok(r.code == 7, "a backup is not", r)
    sleeper.send_signal(signal.SIGKILL)
    sleeper.wait()
    r = t.run("evctl-state", "restore", t.dir / "b5", "--yes")
    db = open_db(t.home)
    row = db.execute("SELECT status, reason FROM runs WHERE id = 'rlive'").fetchone()
    t.ok(r.code == 0 and row == ("failed", "restored from a backup"),
         "a run that was at work in the backup has ended in the restored state", (r, row))
    db.close()

    # ---- two at once, and what a crash left
    partial = t.dir / ".b6.evctl-partial"
    partial.mkdir()
    (partial / "state.db").write_text("half")
    r = t.run("evctl-state", "backup", t.dir / "b6")
    t.ok(r.code == 7 and not partial.exists(), "what a crash left is taken away", r)
    partial = t.dir / ".b7.evctl-partial"
    partial.mkdir()
    lock = os.open(partial, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    t.fails(6, "two backups to one place: exit 6", "evctl-state", "backup", t.dir / "b7", hint=False)
    os.close(lock)
    t.ok(t.run("evctl-state", "backup", t.dir / "b7").code == 7, "control: unlocked, it goes")
