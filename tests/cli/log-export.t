#!/usr/bin/python3
"""What goes to a log shipper: the export as JSON lines, the audit chain's check, the state's sizes and counts."""
import json
import os
import signal
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, SANITIZED, T

YAML = """name: g
tools:
  - {name: say, entry: "m.py:say"}
  - {name: fail, entry: "m.py:fail"}
  - {name: many, entry: "m.py:many"}
hosts: [a.example]
"""
CODE = '''
import urllib.error, urllib.request

def say(ask=None):
    print('a line of the log')
    open('outputs/f', 'w').write('twelve bytes')
    if ask:
        try:
            urllib.request.urlopen('https://a.example/path?secret=1')
        except urllib.error.URLError:
            pass
    return 'said'

def many():
    import socket
    s = socket.create_connection(('a.example', 80))
    f = s.makefile('rb')
    for i in range(101):
        s.sendall(b'HEAD /item/%d HTTP/1.1\\r\\nHost: b.example\\r\\n\\r\\n' % i * 100)
        for _ in range(100):
            while f.readline() != b'\\r\\n':
                pass

def fail():
    raise LookupError('why')
'''
SECRET = "sk-live-0123456789-abcd"

with T() as t:
    t.init()
    t.cred("CRM_KEY", SECRET)
    t.good("evctl-host", "add", "a.example", "--connect-to", "127.0.0.1:1", "--allow-private")
    t.good("evctl-expert", "create", "g", "--dir", t.expert("g", {"m.py": CODE}, YAML))
    t.good("evctl-run", "g", "say", "--arg", "ask=yes")
    t.run("evctl-run", "g", "fail")
    db = sqlite3.connect(t.home / "state.db", isolation_level=None)

    def export(*more, code=0):
        r = t.run("evctl-log", "export", *more)
        if r.code != code:
            raise AssertionError(str(r))
        return [json.loads(line) for line in r.out.splitlines()]

    # Too many requests for a list: every reader says so.
    run = t.good("evctl-run", "g", "many", "-o", "json").json["run"]
    r = t.good("evctl-log", "egress", run, "-o", "json")
    t.eq((len(r.json), r.json[-1]["path"], r.json[-1]["counted"], r.json[0]["counted"]), (10001, "/item/*", 100, 0),
         "10,100 requests: what is not listed is counted")
    t.ok("the list was cut: 100 requests" in r.err, "and egress says so", r.err)
    r = t.good("evctl-log", "show", run)
    t.ok("the list was cut: 100 requests" in r.err and "100 more like HEAD b.example:80/item/*, host" in r.out,
         "show too", r.err)
    t.ok("the list was cut" not in t.good("evctl-log", "show", export("--kind", "run")[0]["id"]).err, "but not of another")
    t.eq([x["counted"] for x in export("--kind", "egress") if x["counted"]], [100], "and the export")
    db.execute("DELETE FROM events WHERE run = ?", (run,))
    db.execute("DELETE FROM runs WHERE id = ?", (run,))

    rows = export()
    kinds = [r["kind"] for r in rows]
    count = {k: db.execute(f"SELECT count(*) FROM {x}").fetchone()[0]
             for k, x in (("run", "runs"), ("egress", "events"), ("audit", "audit"))}
    t.ok({k: kinds.count(k) for k in count} == count and count["run"] == 2 and count["egress"] >= 1,
         "every run, request and change is a line", (count, kinds))
    t.ok([r["at"] for r in rows] == sorted(r["at"] for r in rows), "in the order of time", [r["at"] for r in rows])
    t.ok(all(r["at"][10] == "T" and r["at"].endswith("Z") and len(r["at"]) == 24 for r in rows), "in UTC, with milliseconds")
    t.ok(len({(r["kind"], r["id"]) for r in rows}) == len(rows), "kind and id name a line")
    runs = {r["tool"]: r for r in rows if r["kind"] == "run"}
    t.ok(runs["say"]["status"] == "ok" and runs["fail"]["status"] == "failed" and runs["say"]["expert"] == "g" and
         runs["say"]["version"] == 0 and runs["say"]["buyer"] is None and runs["say"]["ms"] >= 0, "a run", runs)
    asked = next(r for r in rows if r["kind"] == "egress")
    t.ok(asked["host"] == "a.example" and asked["path"] == "/path" and asked["run"] == runs["say"]["id"] and
         asked["method"] == "GET" and asked["verdict"], "a request, its path without the query", asked)
    changed = [r for r in rows if r["kind"] == "audit"]
    t.ok(changed[0]["action"] == "state init" and [r["id"] for r in changed] == list(range(1, len(changed) + 1)) and
         any(r["object"] == "CRM_KEY" for r in changed), "the audit trail", changed[0])
    last = db.execute("SELECT lower(hex(hash)) FROM audit ORDER BY seq DESC LIMIT 1").fetchone()[0]
    t.ok(changed[-1]["hash"] == last, "with the chain's links, so that a cut at its end shows elsewhere")
    text = t.run("evctl-log", "export").out
    t.ok(SECRET not in text and "a line of the log" not in text and "LookupError" not in text,
         "nothing that is sealed is in it")
    (t.home / "master.key").rename(t.home / "aside")
    t.ok(export() == rows, "and it needs no private key")
    (t.home / "aside").rename(t.home / "master.key")

    t.ok({r["kind"] for r in export("--kind", "egress")} == {"egress"}, "one kind")
    t.ok({r["kind"] for r in export("--kind", "run", "--kind=audit")} == {"run", "audit"}, "two kinds")
    middle = rows[len(rows) // 2]["at"]
    t.ok(export("--since", middle) == [r for r in rows if r["at"] >= middle], "from a time on")
    t.ok(export("--since", middle[:19] + "Z") == [r for r in rows if r["at"] >= middle[:19]], "by the second")
    t.ok(export("--since", middle[:10]) == [r for r in rows if r["at"] >= middle[:10]], "by the day")
    t.ok(export("--since", "2100-01-01") == [], "nothing of a time to come")
    for bad in ("yesterday", "2026-13-01", "2026-01-31T12:00:05+02:00", "2026-01-31T12:00:05.12Z", ""):
        t.fails(2, f"no time: {bad!r}", "evctl-log", "export", "--since", bad, hint="write 2026-01-31")
    t.fails(2, "no kind", "evctl-log", "export", "--kind", "runs")
    db.execute("INSERT INTO runs (id, expert, version, tool, status, pid, pid_start, started) VALUES "
               "('rlive', 'g', 0, 'say', 'running', ?, (SELECT 1), 1)", (os.getpid(),))
    # This process's start, so that it counts as living.
    start = int(open(f"/proc/{os.getpid()}/stat").read().rpartition(")")[2].split()[19])
    db.execute("UPDATE runs SET pid_start = ? WHERE id = 'rlive'", (start,))
    t.ok("rlive" not in {r["id"] for r in export("--kind", "run")}, "a run that goes on is not there yet")
    db.execute("DELETE FROM runs WHERE id = 'rlive'")

    # many rows go by one at a time
    db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) INSERT INTO events "
               "(run, at, method, host, port, path, status, up, down, ms, verdict) "
               "SELECT 'rx', i, 'GET', 'h.example', 443, '/', 200, 1, 1, 1, 'ok' FROM n")
    proc = subprocess.Popen([BIN / "evctl-log", "export"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=t.env)
    first = json.loads(proc.stdout.readline())
    proc.stdout.close()
    err = proc.stderr.read()
    t.ok(proc.wait() == -signal.SIGPIPE and first["kind"] == "egress" and err == b"", "a reader may leave at any time", err)
    room = "unlimited" if SANITIZED else 200000
    done = subprocess.run(["sh", "-c", f'ulimit -v {room}; exec "$@"', "sh", BIN / "evctl-log", "export", "--kind", "egress"],
                          capture_output=True, env=t.env)
    t.ok(done.returncode == 0 and done.stdout.count(b"\n") == 100000 + count["egress"], "100,000 lines in little memory",
         done.stderr)
    db.execute("DELETE FROM events WHERE run = 'rx'")

    # the chain
    r = t.run("evctl-log", "audit", "--verify")
    t.ok(r.code == 0 and "the chain holds" in r.out, "audit --verify", r)
    for what, sql, undo in (
            ("a field changed", "UPDATE audit SET actor = 'x' WHERE seq = 2", None),
            ("a time changed", "UPDATE audit SET at = at + 1 WHERE seq = 2", None),
            ("two rows swapped", "UPDATE audit SET seq = CASE seq WHEN 2 THEN -3 WHEN 3 THEN -2 ELSE seq END", "x"),
            ("a row dropped", "DELETE FROM audit WHERE seq = 2", None),
            ("a row put in", "INSERT INTO audit SELECT max(seq) + 1, 1, 'a', 'b', 'c', 'null', x'00', x'00' FROM audit", None)):
        saved = db.execute("SELECT * FROM audit").fetchall()
        db.execute(sql)
        if undo:
            db.execute("UPDATE audit SET seq = -seq WHERE seq < 0")
        t.fails(7, f"it shows: {what}", "evctl-log", "audit", "--verify", says="row", hint="compare with a backup")
        db.execute("DELETE FROM audit")
        db.executemany("INSERT INTO audit VALUES (?,?,?,?,?,?,?,?)", saved)
    t.ok(t.run("evctl-log", "audit", "--verify").code == 0, "control: as it was, it holds")

    # sizes and counts
    s = t.run("evctl-state", "status", "-o", "json").json
    want = {k: db.execute(f"SELECT count(*) FROM {x}").fetchone()[0] for k, x in (
        ("credentials", "credentials"), ("hosts", "hosts"), ("experts", "experts"), ("connections", "connections"),
        ("runs", "runs"), ("artifacts", "artifacts"), ("events", "events"), ("audit_rows", "audit"))}
    t.ok({k: s[k] for k in want} == want and s["artifact_bytes"] == 12 and s["artifacts"] == 1, "evctl-state status counts",
         (s, want))
    # The size is the file's and its log's, whichever the last writer left.
    files = sum(p.stat().st_size for p in t.home.glob("state.db*"))
    t.ok(0 < s["bytes"] <= files + 65536 and s["fingerprint"], "and says the size", (s["bytes"], files))
