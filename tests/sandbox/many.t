#!/usr/bin/python3
"""27: a thousand runs in a row, fifty sessions at once: nothing is left of them, and none hears of another."""
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, T, as_both
from waiting import adopt_orphans, wait_for

# A thousand as whoever runs the tests; fewer as the other of the two, where root is both.
RUNS = int(os.environ.get("EVCTL_RUNS") or (200 if os.environ.get("EVCTL_TEST_AS") == "user" else 1000))
SESSIONS = 50
YAML = """name: m
tools:
  - {name: mark, entry: "m.py:mark"}
hosts: [a.example]
"""
CODE = '''
import os

def mark(word, files=0):
    seen = open('/scratch/w').read() if os.path.exists('/scratch/w') else None
    open('/scratch/w', 'w').write(word)
    for i in range(files):
        open(f'outputs/{i}', 'w').write(word)
    return [seen, word]
'''


def children():
    out = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as f:
                    text = f.read()
                if int(text.rsplit(")", 1)[1].split()[1]) == os.getpid():
                    out.append((int(name), text[text.index("(") + 1:text.rindex(")")],
                                text.rsplit(")", 1)[1].split()[0]))
            except OSError:
                pass
    return out


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def places():
    """What programs could leave about: mounts, and files by their name in the usual places."""
    found = {line.split(" ", 5)[4] for line in open("/proc/self/mountinfo") if "evctl" in line}
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run"):
        if os.path.isdir(folder):
            found |= {f"{folder}/{n}" for n in os.listdir(folder)
                      if "evctl" in n and not re.match("evctl-(test|gate|demo|bench)", n)}
    return found


def cgroups(pids):
    """Control groups of evctl's whose maker is one of these processes, of this process namespace."""
    here = str(os.stat("/proc/self/ns/pid").st_ino)
    return [str(p) for p in Path("/sys/fs/cgroup").rglob("evctl*")
            if p.is_dir() and here in p.name.split("-") and any(part == str(pid) for pid in pids for part in p.name.split("-"))]


as_both(__file__)
with T() as t:
    adopt_orphans()
    t.init()
    t.good("evctl-host", "add", "a.example")
    src = t.expert("m", {"m.py": CODE}, YAML)
    t.good("evctl-expert", "create", "m", "--dir", src)
    # Without a gate, for every second run.
    t.good("evctl-expert", "create", "n", "--dir",
           t.expert("n", {"m.py": CODE}, YAML.replace("name: m\n", "name: n\n", 1).replace("hosts: [a.example]\n", "")))
    before, pids = places(), []

    def one(n):
        argv = [BIN / "evctl-run", "mn"[n % 2], "mark", "--draft", "--arg", f"word=w{n}", "--arg",
                f"files={n % 3}"]
        p = subprocess.Popen(argv, env=t.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        pids.append(p.pid)
        out, err = p.communicate(timeout=120)
        return p.returncode == 0 and json.loads(out) == [None, f"w{n}"] or (n, p.returncode, out, err)

    t.ok(one(0) is True and not children(), "one run, and none of its processes", children())
    fds = len(os.listdir("/proc/self/fd"))
    wrong = [x for x in map(one, range(1, RUNS)) if x is not True]
    t.ok(not wrong, f"{RUNS} runs, all well", (len(wrong), wrong[:3]))
    t.ok(wait_for(lambda: not children(), 30), "no process is left of them", children())
    t.ok(len(os.listdir("/proc/self/fd")) <= fds + 1, "nor a descriptor")
    t.ok(places() <= before, "no mount, no temporary file", places() - before)
    t.ok(not cgroups(pids), "no control group", cgroups(pids)[:5])
    t.ok(sorted(os.listdir(t.home)) == ["master.key", "objects", "state.db"] and
         not [p for p in (t.home / "objects").rglob("tmp-*")], "nothing in the state but the state",
         os.listdir(t.home))
    t.ok(t.sql("SELECT count(*), count(ended) FROM runs WHERE status = 'ok'") == [(RUNS, RUNS)],
         "every run is recorded")

    # Sessions
    def start(n):
        r = t.run("evctl-session", "start", "m", "--draft")
        return r.out.strip() if r.code == 0 else str(r)

    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(start, range(SESSIONS)))
    t.ok(len(set(ids)) == SESSIONS and all(len(i) == 16 for i in ids), f"{SESSIONS} sessions", ids[:3])
    t.ok(len(t.run("evctl-session", "list", "-o", "json").json) == SESSIONS, "all live at once")

    def call(n, word):
        r = t.run("evctl-run", "m", "mark", "--session", ids[n], "--arg", f"word={word}-{n}")
        return r.json if r.code == 0 else str(r)

    for word, old in (("first", None), ("second", "first")):
        with ThreadPoolExecutor(8) as pool:
            got = list(pool.map(lambda n, w=word: call(n, w), range(SESSIONS)))
        want = [[old and f"{old}-{n}", f"{word}-{n}"] for n in range(SESSIONS)]
        t.ok(got == want, f"each knows only its own ({word} call)", [g for g, w in zip(got, want)
                                                                     if g != w][:3])
    keepers = [pid for (pid,) in t.sql("SELECT pid FROM sessions")]
    with ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(lambda i: t.run("evctl-session", "end", i).code, ids))
    t.ok(ended == [0] * SESSIONS, "all ended")

    def gone():
        reap()
        return not children()
    t.ok(wait_for(gone, 30), "no process is left of them", children()[:5])
    t.ok(os.listdir(t.home / "sessions") == [] and places() <= before, "nor a file",
         (os.listdir(t.home / "sessions"), places() - before))
    t.ok(wait_for(lambda: not cgroups(keepers), 5), "nor a control group", cgroups(keepers)[:5])
    t.ok(t.run("evctl-log", "audit", "--verify").code == 0, "the audit chain holds")
