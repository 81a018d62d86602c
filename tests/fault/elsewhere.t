#!/usr/bin/python3
"""Two pid namespaces, and two boots, over one state: nobody ends, kills or calls what another has that lives."""
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, SANITIZED, T, skip_all
from waiting import wait_for

YAML = """name: f
tools:
  - {name: slow, entry: "m.py:slow"}
"""
CODE = '''
import time

def slow(s=0):
    print('begun', flush=True)
    time.sleep(s)
    return 'done'
'''
CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
if os.geteuid():
    CONTAINER += ["--user", "--map-current-user"]
if subprocess.run([*CONTAINER, "true"], capture_output=True).returncode:
    skip_all("no pid namespace can be made here")

with T() as t:
    t.init()
    t.good("evctl-expert", "create", "f", "--dir", t.expert("f", {"m.py": CODE}, YAML))

    def there(program, *args):
        done = subprocess.run([*CONTAINER, BIN / program, *args], env=t.env, capture_output=True, text=True, timeout=60)
        return done

    def start(prefix, s):
        p = subprocess.Popen([*prefix, BIN / "evctl-run", "f", "slow", "--draft", "--debug", "--arg", f"s={s}"],
                             env=t.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        begun = p.stderr.readline()
        if begun != b"begun\n":
            raise AssertionError(f"it did not begin: {begun + p.stderr.read()}")
        return p

    def newest():
        return t.sql("SELECT status, reason FROM runs ORDER BY started DESC, id LIMIT 1")[0]

    def look(see, here):
        """Every program that sweeps, from where `here` says."""
        for args in (("evctl-log", "runs"), ("evctl-artifact", "list"), ("evctl-session", "list"),
                     ("evctl-doctor", "--fix")):
            there(*args) if not here else t.run(*args)

    nested = there("evctl-run", "f", "slow", "--draft")
    if nested.returncode == 8 and os.geteuid():
        skip_all("no sandbox within another user namespace here")
    t.ok(nested.stdout == '"done"\n', "a run in a pid namespace of its own", nested)

    # A live run, seen from elsewhere
    for what, prefix, here in (("here, swept from a container", [], False), ("in a container, swept from here", CONTAINER, True)):
        p = start(prefix, 6 if SANITIZED else 3)
        look(p, here)
        during = newest()
        out, err = p.communicate(timeout=60)
        t.ok(during == ("running", None), f"a live run {what}, goes on", during)
        t.ok(p.returncode == 0 and out == b'"done"\n' and newest()[0] == "ok", "and ends well", (p.returncode, out, err))

    # A dead one: from where it was, at once; from elsewhere when nothing can run any more
    p = start([], 20)
    p.kill()
    p.communicate()
    look(p, False)
    t.ok(newest() == ("running", None), "a killed run, from elsewhere: who knows", newest())
    look(p, True)
    t.ok(newest() == ("failed", "the program that ran it was ended"), "from where it was: it has failed", newest())
    for what, space in (("of a container that is gone", "(SELECT replace(pid_space, '4', '5') FROM runs LIMIT 1)"),
                        ("of before a restart, or of another machine", "'00000000-0000-4000-8000-000000000000 1'")):
        t.sql(f"UPDATE runs SET status = 'running', reason = NULL, ended = NULL, pid_space = {space} WHERE id = "
              "(SELECT id FROM runs ORDER BY started DESC LIMIT 1)")
        look(None, True)
        t.ok(newest() == ("running", None), f"a young run {what} is left alone", newest())
        was = t.sql("SELECT max(started) FROM runs")[0][0]
        t.sql("UPDATE runs SET started = started - 660000 WHERE started = ?", was)
        t.run("evctl-log", "runs")
        t.ok(t.sql("SELECT status FROM runs WHERE started = ?", was - 660000) == [("failed",)], "an old one is ended")
        t.sql("UPDATE runs SET started = ? WHERE started = ?", was, was - 660000)

    # Sessions
    sid = t.good("evctl-session", "start", "f", "--idle", "60").out.strip()
    keeper = t.sql("SELECT pid FROM sessions")[0][0]
    look(None, False)
    listed = json.loads(there("evctl-session", "list", "-o", "json").stdout)
    t.ok([s["session"] for s in listed] == [sid] and t.sql("SELECT ended FROM sessions") == [(None,)],
         "a live session, seen from a container: it is there", listed)
    for args in (("evctl-session", "end", sid), ("evctl-run", "f", "slow", "--draft", "--session", sid),
                 ("evctl-expert", "rm", "f", "--yes")):
        r = there(*args)
        t.ok(r.returncode == 5 and sid in r.stderr and "hint: " in r.stderr, f"{' '.join(args[:2])} there: exit 5", r)
    r = t.run("evctl-run", "f", "slow", "--draft", "--session", sid)
    t.ok(r.code == 0 and r.out == '"done"\n', "and here it serves", r)
    os.kill(keeper, signal.SIGKILL)
    wait_for(lambda: not os.path.exists(f"/proc/{keeper}"))
    look(None, False)
    t.ok(t.sql("SELECT ended FROM sessions") == [(None,)], "its keeper is dead: from elsewhere nobody knows")
    t.sql("UPDATE runs SET started = started - 800000")
    t.sql("UPDATE sessions SET started = started - 800000")
    look(None, False)
    t.ok(t.sql("SELECT reason FROM sessions WHERE ended IS NOT NULL") == [("its keeper was killed",)],
         "until it had to be idle too long")

    # A state of the version before
    sid = t.good("evctl-session", "start", "f").out.strip()
    rows = t.sql("SELECT id, status, started FROM runs ORDER BY id")
    newest = t.good("evctl-state", "status", "-o", "json").json["schema"]

    def be_version_1():
        # SQLite stumbles over commas in the comments before a column that it drops.
        db = sqlite3.connect(t.home / "state.db")
        db.execute("PRAGMA writable_schema = ON")
        for table in ("runs", "experts", "credentials"):
            text = db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
            db.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (re.sub("--.*", "", text), table))
        db.commit()
        db.close()
        t.sql("DROP INDEX runs_buyer")
        for table, columns in (("experts", ("listed", "contact", "told")), ("credentials", ("expires", "remind"))):
            for column in columns:
                t.sql(f"ALTER TABLE {table} DROP COLUMN {column}")
        for table in ("quotas", "subjects", "token_experts", "tokens", "buyer_experts", "buyers", "batch_parts", "batch_streams", "batch_chunks", "batch_calls", "batches", "nodes"):
            t.sql(f"DROP TABLE {table}")
        for column in ("batch", "call", "node"):
            t.sql(f"ALTER TABLE runs DROP COLUMN {column}")
        t.sql("DROP INDEX runs_session")
        t.sql("ALTER TABLE events DROP COLUMN counted")
        for table in ("runs", "sessions"):
            t.sql(f"ALTER TABLE {table} DROP COLUMN pid_space")
        t.sql("PRAGMA user_version = 1")
    be_version_1()
    backup = t.dir / "backup"
    listed = t.good("evctl-session", "list", "-o", "name").out.split()
    t.ok(listed == [sid] and t.good("evctl-state", "status", "-o", "json").json["schema"] == newest,
         "a state of version 1 is brought up to date, and its live session lives", listed)
    t.ok(t.sql("SELECT id, status, started FROM runs ORDER BY id") == rows, "its runs are all there")
    t.good("evctl-state", "backup", backup)
    t.fails(5, "no restore over a live session", "evctl-state", "restore", backup, "--yes", says=sid)
    be_version_1()
    t.fails(5, "nor in a state of version 1", "evctl-state", "restore", backup, "--yes", says=sid)
    t.good("evctl-session", "end", sid)
    t.good("evctl-state", "restore", backup, "--yes")
    t.ok(t.run("evctl-log", "runs").code == 0, "when it has ended, there is")
