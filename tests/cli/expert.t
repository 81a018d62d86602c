#!/usr/bin/python3
"""Experts: create, attach, detach, set, show, list, rm."""
import os
import socket
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T

YAML = """name: crm-helper
description: Counts and charts CRM leads
tools:
  - name: count-leads
    description: How many leads came in a month
    entry: leads.py:count_leads
    input: {type: object, properties: {month: {type: string}}, required: [month]}
    timeout: 20
"""
CODE = "def count_leads(month):\n    return EV_KEYS['CRM_KEY']\n"


def audit(t):
    with sqlite3.connect(t.home / "state.db") as db:
        return [r[0] for r in db.execute("SELECT action FROM audit WHERE action LIKE 'expert%' "
                                         "ORDER BY seq")]


with T() as t:
    src = t.expert("crm-helper", {"leads.py": CODE}, YAML + "hosts: [api.crm.example]\n")
    t.fails(9, "no state", "evctl-expert", "create", "crm-helper", "--dir", src, hint="evctl init")
    t.init()
    r = t.run("evctl-expert", "list")
    t.ok(r.code == 0 and r.out == "", "none yet", r)
    t.ok(t.run("evctl-expert", "list", "-o", "json").json == [], "none yet, as JSON")

    t.fails(3, "a host of expert.yaml must exist", "evctl-expert", "create", "crm-helper", "--dir",
            src, hint="evctl-host add api.crm.example")
    t.fails(3, "and then nothing was made", "evctl-expert", "show", "crm-helper")
    t.good("evctl-host", "add", "api.crm.example")
    r = t.run("evctl-expert", "create", "crm-helper", "--dir", os.path.relpath(src, t.dir),
              cwd=t.dir)
    t.ok(r.code == 0 and "created expert crm-helper" in r.out, "create", r)
    r = t.run("evctl-expert", "show", "crm-helper", "-o", "json")
    x = r.json
    t.ok(x["dir"] == os.path.realpath(src), "the directory is stored real and absolute", r)
    t.ok(x["name"] == "crm-helper" and x["description"] == "Counts and charts CRM leads" and
         x["published"] is None and x["versions"] == [], "show", r)
    t.ok(x["tools"][0]["name"] == "count-leads" and
         x["tools"][0]["entry"] == "leads.py:count_leads" and x["tools"][0]["timeout"] == 20 and
         x["tools"][0]["description"] == "How many leads came in a month", "show: tools", r)
    t.ok(x["hosts"] == [{"host": "api.crm.example", "injects": None, "flags": [],
                         "note": "egress only"}], "show: hosts of expert.yaml are attached", r)
    r = t.run("evctl-expert", "list")
    t.ok(r.out.startswith("crm-helper\t") and "api.crm.example (egress only)" in r.out and
         r.out.count("\n") == 1, "list: tab-separated, without a header", r)
    t.ok(t.run("evctl-expert", "list", "-o", "name").out == "crm-helper\n", "list -o name")
    t.ok(t.run("evctl-expert", "list", "-o", "json").json == [x], "list is what show says")

    t.fails(5, "the name is taken", "evctl-expert", "create", "crm-helper", "--dir", src)
    r = t.run("evctl-expert", "create", "crm-helper", "--dir", src, "--if-missing")
    t.ok(r.code == 0 and "there already" in r.out, "--if-missing is content", r)
    t.fails(2, "expert.yaml names another", "evctl-expert", "create", "other", "--dir", src,
            says="names the expert 'crm-helper', not 'other'")
    t.fails(2, "a bad name", "evctl-expert", "create", "Bad", "--dir", src)
    t.fails(2, "no --dir", "evctl-expert", "create", "other", says="--dir", hint="evctl-expert create")
    t.fails(3, "no such directory", "evctl-expert", "create", "other", "--dir", t.dir / "nothing")
    (t.dir / "empty").mkdir()
    t.fails(3, "no expert.yaml", "evctl-expert", "create", "other", "--dir", t.dir / "empty",
            says="no expert.yaml")
    bad = t.expert("bad", {"a.py": ""}, "name: bad\ntools:\n  - name: x\n    entry: a.py\n    color: red\n")
    t.fails(2, "an unknown field, with line and column", "evctl-expert", "create", "bad", "--dir",
            bad, says="expert.yaml:5:5")
    t.fails(3, "a near name is offered", "evctl-expert", "show", "crm-helpr",
            hint="did you mean 'crm-helper'?")

    # -- what may not be an expert's directory
    holds = t.dir / "holds"
    holds.mkdir()
    (holds / "expert.yaml").write_text("name: holds\ntools: [{name: x, entry: a.py}]\n")
    (holds / "a.py").write_text("")
    env = {"EVCTL_HOME": str(holds / "deep" / "state")}
    t.good("evctl-state", "init", env=env)
    t.fails(2, "a directory that holds the state", "evctl-expert", "create", "holds", "--dir", holds,
            env=env, says="holds the state")
    (t.dir / "key").mkdir()
    (t.dir / "key" / "expert.yaml").write_text("name: key\ntools: [{name: x, entry: a.py}]\n")
    (t.dir / "key" / "a.py").write_text("")
    (t.dir / "key" / "my.key").write_bytes((t.home / "master.key").read_bytes())
    t.fails(2, "a directory that holds the private key", "evctl-expert", "create", "key", "--dir",
            t.dir / "key", env={"EVCTL_KEY_FILE": str(t.dir / "key" / "my.key")},
            says="holds the private key")
    (t.dir / "key" / "my.key").unlink()
    r = t.run("evctl-expert", "create", "key", "--dir", t.dir / "key")
    t.ok(r.code == 0, "control: the same directory without it", r)

    for name, entry in (("up", "../a.py"), ("abs", "/etc/a.py")):
        d = t.expert(name, {"a.py": ""}, f"name: {name}\ntools: [{{name: x, entry: '{entry}'}}]\n")
        t.fails(2, f"an entry that leaves the directory: {entry}", "evctl-expert", "create", name,
                "--dir", d)
    d = t.expert("out", {"a.py": ""}, "name: out\ntools: [{name: x, entry: l.py}]\n")
    (t.dir / "outside.py").write_text("")
    (d / "l.py").symlink_to("../outside.py")
    t.fails(2, "a link that leaves the directory", "evctl-expert", "create", "out", "--dir", d)
    (d / "l.py").unlink()
    (d / "l.py").symlink_to("a.py")
    t.good("evctl-expert", "create", "out", "--dir", d)
    t.ok(True, "control: a link that stays")
    d = t.expert("fifo", {"a.py": ""}, "name: fifo\ntools: [{name: x, entry: a.py}]\n")
    os.mkfifo(d / "pipe")
    t.fails(2, "a pipe", "evctl-expert", "create", "fifo", "--dir", d)
    (d / "pipe").unlink()
    s = socket.socket(socket.AF_UNIX)
    s.bind(str(d / "sock"))
    t.fails(2, "a socket", "evctl-expert", "create", "fifo", "--dir", d)
    (d / "sock").unlink()
    t.good("evctl-expert", "create", "fifo", "--dir", d)
    t.ok(True, "control: without them")

    # -- attach and detach
    t.good("evctl-host", "add", "*.cdn.example")
    t.cred("CRM_KEY", "0123456789abcdef")
    t.good("evctl-host", "add", "in.crm.example:8443", "--bind", "CRM_KEY", "--plain",
           "--connect-to", "127.0.0.1:9", "--allow-private")
    before = audit(t)
    r = t.run("evctl-expert", "attach", "crm-helper", "*.cdn.example", "in.crm.example:8443")
    t.ok(r.code == 0 and "! wildcard" in r.out, "attach several; a wildcard is flagged", r)
    t.ok(audit(t) == before + ["expert attach"], "one audit row", audit(t))
    r = t.run("evctl-expert", "attach", "crm-helper", "*.cdn.example")
    t.ok(r.code == 0 and "already" in r.out, "attach is idempotent", r)
    t.ok(audit(t) == before + ["expert attach"], "and then writes no audit row", audit(t))
    hosts = t.run("evctl-expert", "show", "crm-helper", "-o", "json").json["hosts"]
    t.ok([h["host"] for h in hosts] == ["*.cdn.example", "api.crm.example", "in.crm.example:8443"],
         "all three are attached", hosts)
    t.ok(hosts[0]["flags"] == ["! wildcard"] and hosts[0]["note"] == "egress only", "wildcard", hosts)
    t.ok(hosts[2]["injects"] == "CRM_KEY" and hosts[2]["note"] == "" and
         [f.split(" 127")[0] for f in hosts[2]["flags"]] ==
         ["! allow-private", "! plain", "! connect-to"], "flags", hosts)
    r = t.run("evctl-expert", "show", "crm-helper")
    t.ok("*.cdn.example (egress only, ! wildcard)" in r.out and "! plain" in r.out,
         "flags are there in text too", r)
    t.fails(3, "a host that is not declared", "evctl-expert", "attach", "crm-helper",
            "new.example", "nowhere.example", hint="evctl-host add new.example")
    t.good("evctl-host", "add", "new.example")
    t.fails(3, "all or none", "evctl-expert", "attach", "crm-helper", "new.example",
            "nowhere.example")
    hosts = t.run("evctl-expert", "show", "crm-helper", "-o", "json").json["hosts"]
    t.ok(len(hosts) == 3, "so new.example was not attached", hosts)
    t.fails(2, "no host named", "evctl-expert", "attach", "crm-helper")
    t.fails(5, "an attached host cannot be removed", "evctl-host", "rm", "*.cdn.example", "--yes",
            hint="evctl-expert detach crm-helper *.cdn.example")
    r = t.run("evctl-expert", "detach", "crm-helper", "*.cdn.example", "-o", "json")
    t.ok(r.code == 0 and [h["host"] for h in r.json["hosts"]] ==
         ["api.crm.example", "in.crm.example:8443"], "detach", r)
    r = t.run("evctl-expert", "detach", "crm-helper", "*.cdn.example")
    t.ok(r.code == 0 and "not attached" in r.out, "detach is idempotent", r)
    t.good("evctl-host", "rm", "*.cdn.example", "--yes")
    t.ok(True, "control: and now it can")

    # -- expert.yaml is read afresh, and its absence does not break lists
    (src / "expert.yaml").write_text(YAML.replace("Counts and charts", "Counts"))
    t.ok(t.run("evctl-expert", "show", "crm-helper", "-o", "json").json["description"] ==
         "Counts CRM leads", "expert.yaml is read afresh")
    moved = t.dir / "moved"
    src.rename(moved)
    r = t.run("evctl-expert", "list", "-o", "json")
    row = [x for x in r.json if x["name"] == "crm-helper"][0]
    t.ok(r.code == 0 and row["tools"][0]["name"] == "count-leads" and "cannot open" in row["problem"],
         "a directory that is gone is a problem of one row", r)
    r = t.run("evctl-expert", "show", "crm-helper")
    t.ok(r.code == 0 and "warning: crm-helper: cannot open" in r.err, "and a warning on text", r)
    t.fails(3, "set: no such directory", "evctl-expert", "set", "crm-helper", "--dir", src)
    t.fails(2, "set: another expert's directory", "evctl-expert", "set", "crm-helper", "--dir",
            t.dir / "key")
    t.fails(2, "set: no --dir", "evctl-expert", "set", "crm-helper")
    r = t.run("evctl-expert", "set", "crm-helper", "--dir", moved)
    t.ok(r.code == 0, "set", r)
    row = t.run("evctl-expert", "show", "crm-helper", "-o", "json").json
    t.ok(row["dir"] == str(moved) and row["problem"] is None and len(row["hosts"]) == 2,
         "it lives there, and `hosts:` acts at create only", row)
    (moved / ".env").write_text("X=1\n")
    r = t.run("evctl-expert", "set", "crm-helper", "--dir", moved)
    t.ok(r.code == 0 and "! file .env" in r.err, "a .env is pointed out", r)

    # -- rm
    def live(pid, start, what="session"):
        with sqlite3.connect(t.home / "state.db") as db:
            db.execute("PRAGMA foreign_keys = ON")
            x = db.execute("SELECT id FROM experts WHERE name = 'crm-helper'").fetchone()[0]
            db.execute("DELETE FROM sessions")
            db.execute("DELETE FROM runs")
            if what == "session":
                db.execute("INSERT INTO sessions (id, expert, version, buyer, pid, pid_start, idle_s,"
                           " started) VALUES ('s1', ?, 0, 'ann', ?, ?, 60, 0)", (x, pid, start))
            else:
                db.execute("INSERT INTO runs (id, expert, version, tool, status, pid, pid_start, "
                           "started) VALUES ('r1', 'crm-helper', 0, 'count-leads', 'running', ?, ?, "
                           "0)", (pid, start))

    mine = int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19])
    live(os.getpid(), mine)
    t.fails(5, "a live session keeps it, and is named", "evctl-expert", "rm", "crm-helper", "--yes",
            says="session s1 of buyer ann", hint="evctl-session end")
    live(os.getpid(), mine, "run")
    t.fails(5, "a run under way keeps it", "evctl-expert", "rm", "crm-helper", "--yes", says="run r1")
    live(os.getpid(), mine + 1)
    r = t.fails(2, "asks where there is no terminal", "evctl-expert", "rm", "crm-helper",
                hint="add --yes")
    t.ok(t.run("evctl-expert", "show", "crm-helper").code == 0, "and it is still there")
    r = t.run("evctl-expert", "rm", "crm-helper", "--yes")
    t.ok(r.code == 0, "a session whose process is another now keeps nothing", r)
    t.fails(3, "it is gone", "evctl-expert", "show", "crm-helper")
    t.ok((moved / "leads.py").exists(), "its directory is left alone")
    t.good("evctl-host", "rm", "api.crm.example", "--yes")
    t.ok(audit(t)[-1] == "expert rm", "the removal is in the audit trail", audit(t))
    r = t.run("evctl-expert", "rm", "crm-helper", "--yes", "-o", "json")
    t.ok(r.code == 3 and r.error["code"] == 3 and r.error["kind"] == "not-found" and
         r.error["hint"] and r.err.count("\n") == 1, "an error is one line of JSON on demand", r)
