"""Runs and artifacts put straight into a state, for tests that are not about running."""
import hashlib
import sqlite3
from pathlib import Path

BASE = 1_767_225_600_000  # 2026-01-01T00:00:00Z


def open_db(home):
    db = sqlite3.connect(Path(home) / "state.db", timeout=10, isolation_level=None)
    db.execute("PRAGMA foreign_keys = ON")
    return db


def object_path(home, sha256):
    return Path(home) / "objects" / sha256[:2] / sha256[2:]


def put_object(home, data):
    sha256 = hashlib.sha256(data).hexdigest()
    path = object_path(home, sha256)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(data)
    return sha256


def add_run(db, run, *, expert="crm-helper", version=1, tool="count-leads", buyer=None,
            status="ok", started=BASE, ms=420, pid=1, pid_start=1):
    db.execute(
        "INSERT INTO runs (id, expert, version, tool, buyer, status, pid, pid_start, started, ended, "
        "ms) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
        (run, expert, version, tool, buyer, status, pid, pid_start, started,
         None if status == "running" else started + ms, None if status == "running" else ms))


def add_artifact(db, home, run, name, data, kind="application/octet-stream", *, inline=False,
                 owner_only=False, created=BASE):
    sha256 = put_object(home, data)
    db.execute(
        "INSERT INTO artifacts (run, name, bytes, type, inline, sha256, owner_only, created) "
        "VALUES (?,?,?,?,?,?,?,?)",
        (run, name, len(data), kind, int(inline), sha256, int(owner_only), created))
    return sha256


def add_withheld(db, run, position, name, why):
    db.execute("INSERT INTO withheld VALUES (?,?,?,?)", (run, position, name, why))
