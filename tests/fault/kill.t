#!/usr/bin/python3
"""SIGKILL of any one process of a run, at any moment: no process stays, no run is half recorded."""
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, T
from waiting import wait_for

YAML = """name: f
tools:
  - {name: slow, entry: "m.py:slow"}
  - {name: quick, entry: "m.py:quick"}
hosts: [a.example]
"""
CODE = '''
import os, time

def slow(s=20):
    if os.fork() == 0:
        os.setsid()
        time.sleep(s)
        os._exit(0)
    print('begun', flush=True)
    time.sleep(s)
    return 'done'

def quick(n):
    print('log', n)
    for i in range(3):
        open(f'outputs/{i}', 'w').write(f'run {n} file {i}')
    return n
'''
ROUNDS = 60


def stat(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            text = f.read()
        name, rest = text[text.index("(") + 1:text.rindex(")")], text.rsplit(")", 1)[1].split()
        return name, rest[0], int(rest[1]), rest[19]
    except (OSError, ValueError):
        return None


def below(root):
    """{(pid, start): name} of a process and all below it."""
    children = {}
    for name in os.listdir("/proc"):
        s = stat(name) if name.isdigit() else None
        if s:
            children.setdefault(s[2], []).append((int(name), s))
    todo, out = [(root, stat(root))], {}
    while todo:
        pid, s = todo.pop()
        if s:
            out[(pid, s[3])] = s[0]
        todo += children.get(pid, [])
    return out


def left(family):
    return [(p, n) for (p, start), n in family.items()
            if (s := stat(p)) and s[3] == start and s[1] not in "ZX"]


with T() as t:
    t.init()
    t.good("evctl-host", "add", "a.example")
    src = t.expert("f", {"m.py": CODE}, YAML)
    t.good("evctl-expert", "create", "f", "--dir", src)

    def start(tool, *args):
        return subprocess.Popen([BIN / "evctl-run", "f", tool, "--draft", *args], env=t.env,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def newest():
        return t.good("evctl-log", "runs", "--limit", "1", "-o", "json").json[0]

    # One by one, in the middle of a call
    def victims(family, main):
        names = {}
        for (pid, _), name in sorted(family.items()):
            if pid != main:
                names.setdefault(name, []).append(pid)
        return names

    p = start("slow", "--debug", "--arg", "s=0.2")
    t.ok(p.stderr.readline() == b"begun\n", "a run that nobody kills")
    family = below(p.pid)
    names = victims(family, p.pid)
    out, err = p.communicate(timeout=30)
    t.ok(p.returncode == 0 and out == b'"done"\n' and wait_for(lambda: not left(family)),
         "ends, and leaves no process", (out, err, left(family)))
    t.ok({"evctl-egress", "bwrap", "evctl-watch"} <= set(names) and "python3" in " ".join(names),
         "it had a gate, a sandbox and Python", names)

    for victim in sorted(names) + ["the supervisor"]:
        p = start("slow", "--debug")
        p.stderr.readline()
        family = below(p.pid)
        pids = victims(family, p.pid).get(victim, [p.pid])
        for pid in pids[:1]:
            os.kill(pid, signal.SIGKILL)
        out, err = p.communicate(timeout=40)
        t.ok(wait_for(lambda: not left(family)), f"{victim} killed: no process stays", left(family))
        x = newest()
        t.ok(out == b"" and x["tool"] == "slow" and x["status"] == "failed" and x["reason"] and
             x["ended"], f"{victim} killed: the run failed, with a reason", (x, err))

    p = start("slow", "--debug", "--arg", "s=1")
    p.stderr.readline()
    for pid in victims(below(p.pid), p.pid)["evctl-egress"]:
        os.kill(pid, signal.SIGKILL)
    out, err = p.communicate(timeout=40)
    t.ok(p.returncode == 11 and newest()["reason"] == "the gate ended during the call",
         "a call whose gate was killed has failed", (out, err, newest()))

    # A supervisor that is stopped: what it began ends in time without it
    for signals, ends in ((False, "in time"), (True, "though its supervisor is stopped")):
        p = start("slow", "--debug", "--timeout", "1")
        p.stderr.readline()
        family = below(p.pid)
        inside = {(pid, began): name for (pid, began), name in family.items() if pid != p.pid and name != "evctl-egress"}
        if signals:
            os.kill(p.pid, signal.SIGSTOP)
        t.ok(left(inside) and wait_for(lambda: not left(inside)), f"a call ends {ends}", left(inside))
        t.ok(not signals or stat(p.pid)[1] == "T", "which it is all the while", stat(p.pid))
        os.kill(p.pid, signal.SIGCONT)
        out, err = p.communicate(timeout=40)
        t.ok(p.returncode == 12 and out == b"" and newest()["status"] == "timeout", "and is a timeout", (out, err, newest()))

    # The supervisor, at any moment
    rng = random.Random(int(os.environ.get("EVCTL_SEED", "1")))
    bad, printed, killed = [], 0, 0
    lengths = []  # the moments are spread over a whole run, however fast this machine is
    for _ in range(3):
        began = time.monotonic()
        start("quick", "-o", "json", "--arg", "n=0").communicate(timeout=40)
        lengths.append(time.monotonic() - began)
    length = sorted(lengths)[1]
    for n in range(ROUNDS):
        p = start("quick", "-o", "json", "--arg", f"n={n}")
        time.sleep(rng.uniform(0, length))
        family = below(p.pid)
        p.kill()
        out, err = p.communicate(timeout=40)
        killed += p.returncode == -9
        if not wait_for(lambda: not left(family)):
            bad.append((n, left(family)))
        if out:
            printed += 1
            x = json.loads(out)
            rows = t.sql("SELECT status FROM runs WHERE id = ?", x["run"])
            files = t.sql("SELECT count(*) FROM artifacts WHERE run = ?", x["run"])[0][0]
            if rows != [("ok",)] or files != 3:
                bad.append((n, "reported, not recorded", rows, files))
    t.ok(not bad and killed > ROUNDS // 3, "killed at any moment: no process stays, and what was "
         "reported is recorded", (bad[:5], killed, printed))
    runs = t.good("evctl-log", "runs", "-o", "json").json
    t.ok(all(x["status"] in ("ok", "failed", "timeout") and x["ended"] for x in runs) and
         all(x["reason"] for x in runs if x["status"] == "failed"),
         "the next command gives each run an end and a reason", [x for x in runs if not x["ended"]])
    whole = [x for x in runs if x["tool"] == "quick" and x["status"] == "ok"]
    t.ok(all(x["artifacts"] == 3 for x in whole) and
         t.sql("SELECT count(*) FROM artifacts a JOIN runs r ON r.id = a.run WHERE r.status != 'ok'") ==
         [(0,)], "a run has all of its artifacts or none", len(whole))
    stored = {sha for (sha,) in t.sql("SELECT DISTINCT sha256 FROM artifacts")}

    def objects():
        return {p.parent.name + p.name: p for p in (t.home / "objects").rglob("*")
                if p.is_file() and not p.name.startswith("tmp-")}
    t.ok(all(sha in objects() and hashlib.sha256(objects()[sha].read_bytes()).hexdigest() == sha
             for sha in stored), "every artifact has its bytes", len(stored))
    t.good("evctl-artifact", "gc", "--older", "1", "--yes")
    t.ok(set(objects()) == stored, "and every object its artifact", set(objects()) ^ stored)
    t.ok(t.sql("PRAGMA integrity_check") == [("ok",)] and
         t.run("evctl-log", "audit", "--verify").code == 0, "the state is whole")

    # What cannot be recorded has failed, and is told by its id
    (t.home / "objects").rename(t.home / "objects-away")
    (t.home / "objects").write_text("")
    r = t.run("evctl-run", "f", "quick", "--draft", "--arg", "n=1")
    x = newest()
    t.ok(r.code == 11 and r.out == "" and f"error: run {x['run']}: failed" in r.err and "could not be recorded" in r.err,
         "no place for artifacts: the run failed, and is named", r)
    t.ok(x["status"] == "failed" and "could not be recorded" in x["reason"] and x["artifacts"] == 0, "so it is recorded", x)
    t.ok("log 1" in t.good("evctl-log", "show", x["run"]).out, "with its log")
    r = t.run("evctl-run", "f", "quick", "--draft", "-o", "json", "--arg", "n=1")
    x = newest()
    t.ok(r.code == 11 and r.json["run"] == x["run"] and r.json["status"] == "failed" and r.json["result"] is None and
         r.json["artifacts"] == [] and "error" not in r.err, "as JSON too", r)
    r = t.run("evctl-run", "f", "--draft", "--calls", "-", stdin='{"tool": "quick", "input": {"n": 1}}\n')
    t.ok(r.code == 11 and r.json["run"] == newest()["run"] and r.json["status"] == "failed", "in a batch", r)
    t.good("evctl-expert", "publish", "f")
    r = t.run("evctl-run", "f", "quick", "--buyer", "acme", "--arg", "n=1")
    t.ok(r.code == 11 and r.err == f"evctl-run: error: run {newest()['run']}: failed\n", "a buyer hears that much", r)
    ask = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
           {"jsonrpc": "2.0", "method": "notifications/initialized"},
           {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "quick", "arguments": {"n": 1}}}]
    with subprocess.Popen([BIN / "evctl-mcp", "f", "--buyer", "acme"], env=t.env, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        p.stdin.write("".join(json.dumps(m) + "\n" for m in ask).encode())
        p.stdin.flush()
        answer = next(a for a in map(json.loads, p.stdout) if a.get("id") == 2)
        p.stdin.close()
    text = json.dumps(answer)
    t.ok(answer["result"]["isError"] and newest()["run"] in text and "nothing was run" not in text, "and so does a model", text)
    (t.home / "objects").unlink()
    (t.home / "objects-away").rename(t.home / "objects")
    t.ok(t.run("evctl-run", "f", "quick", "--draft", "--arg", "n=1").out == "1\n", "with it, it works")
