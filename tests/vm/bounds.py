#!/usr/bin/python3
"""bounds.py cgroup2|rlimit: how memory and processes are bounded for whoever runs this, and that they are."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T

WANT = sys.argv[1]
YAML = """name: b
tools:
  - {name: add, entry: "m.py:add"}
  - {name: family, entry: "m.py:family"}
  - {name: forks, entry: "m.py:forks"}
"""
# Each of the family is far below the limit of a process, the six of 250 MB together are over that of a run.
CODE = '''
import os, time

def add(a):
    return a + 1

def family(mb, n, watch=True):
    begun, go = os.pipe(), os.pipe()
    for i in range(n):
        if os.fork() == 0:
            os.close(go[1])
            x = bytearray(mb * 1000000)
            for j in range(0, len(x), 4096):
                x[j] = 1
            os.write(begun[1], b'x')
            os.read(go[0], 1)
            os._exit(0)
    os.set_blocking(begun[0], False)
    got = b''
    while len(got) < n:
        dead = watch and os.waitpid(-1, os.WNOHANG)[0]
        if dead:
            raise Exception(dead)
        try:
            got += os.read(begun[0], n)
        except BlockingIOError:
            time.sleep(0.01)
    return len(got)

def forks(n=100):
    for i in range(n):
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
    return n
'''
MEND = "systemd-run --user --scope -p Delegate=yes"

with T() as t:
    found = t.run("evctl-doctor", "-o", "json")
    checks = {c["check"]: c for c in found.json["checks"]}
    group = checks["cgroup"]
    if WANT == "cgroup2":
        t.ok(group["ok"] and group["is"] == "version 2, memory and pids", "doctor: by cgroup version 2", found)
    else:
        t.ok(not group["ok"] and not group["required"] and "each process" in group["is"] and MEND in group["mend"],
             "doctor: for each process alone, and how to mend that", found)
    t.ok(all(c["ok"] for c in checks.values() if c["required"]), "doctor: all that is required", found)
    t.init()
    t.good("evctl-expert", "create", "b", "--dir", t.expert("b", {"m.py": CODE}, YAML))

    def detail():
        run = t.sql("SELECT id FROM runs ORDER BY started DESC, rowid DESC LIMIT 1")[0][0]
        return t.good("evctl-log", "show", run, "-o", "json").json

    def limit(what, word, *args):
        r = t.run("evctl-run", "b", *args, "--draft")
        x = detail()
        t.ok(r.code == 13 and x["status"] == "limit" and x["detail"]["limit"] == word, what, (str(r), x))

    r = t.run("evctl-run", "b", "add", "--draft", "--arg", "a=1")
    t.ok(r.code == 0 and r.out == "2\n", "a run", r)
    t.ok(detail()["detail"]["limits"]["bounds"] == WANT, "its record says the same", detail())
    r = t.run("evctl-run", "b", "family", "--draft", "--arg", "mb=250", "--arg", "n=2")
    t.ok(r.code == 0 and r.out == "2\n", "processes that together are within the limit", r)
    if WANT == "cgroup2":
        for watch in ("true", "false"):
            limit(f"together over the limit, each within it: a memory limit (seen by the tool: {watch})", "memory",
                  "family", "--arg", "mb=250", "--arg", "n=6", "--arg", f"watch={watch}")
    else:
        r = t.run("evctl-run", "b", "family", "--draft", "--arg", "mb=250", "--arg", "n=6")
        t.ok(r.code == 0 and r.out == "6\n", "together over the limit: not bounded, as doctor says", r)
    r = t.run("evctl-run", "b", "forks", "--draft", "--arg", "n=40")
    t.ok(r.code == 0 and r.out == "40\n", "forty processes", r)
    limit("a hundred: a process limit", "processes", "forks")
