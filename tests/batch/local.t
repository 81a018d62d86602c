#!/usr/bin/python3
"""evctl-batch and evctl-run --calls -j on this machine: order, ids, exit codes, resume, retries, cancel, the lock."""
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, T
from waiting import alive, until

YAML = """name: s
tools:
  - {name: add, entry: "m.py:add", input: {type: object, properties: {a: {type: integer}}, required: [a]}}
  - {name: file, entry: "m.py:file"}
  - {name: fail, entry: "m.py:fail"}
  - {name: loop, entry: "m.py:loop", timeout: 1}
  - {name: slow, entry: "m.py:slow", timeout: 25}
  - {name: key, entry: "m.py:key"}
hosts: [a.example]
"""
CODE = '''
import time

def add(a):
    print('in add', a)
    return a + 1

def file(name='x.txt'):
    open('outputs/' + name, 'w').write('made ' + name)
    return name

def fail(word='private'):
    raise ValueError(word)

def loop():
    while True:
        pass

def slow(s=20):
    time.sleep(s)
    return s

def key():
    return len(EV_KEYS['KEY'])
'''


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def children(pid):
    try:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        return [int(c) for t in tasks for c in (t / "children").read_text().split()]
    except OSError:
        return []


with T() as t:
    scratch = t.dir / "tmp"
    scratch.mkdir()
    t.env["TMPDIR"] = str(scratch)
    t.init()
    t.cred("KEY", "value-of-the-builder")
    t.good("evctl-host", "add", "a.example")
    t.good("evctl-bind", "set", "a.example", "KEY")
    t.good("evctl-expert", "create", "s", "--dir", t.expert("s", {"m.py": CODE}, YAML))
    calls = t.dir / "calls.jsonl"

    def write(*items):
        calls.write_text("".join((i if isinstance(i, str) else json.dumps(i)) + "\n" for i in items))
        return calls

    def add(a, **more):
        return {"tool": "add", "input": {"a": a}, **more}

    def started():
        """A batch that goes on: its process and its id."""
        p = subprocess.Popen([BIN / "evctl-batch", "start", "s", "--calls", calls, "-j", "2"], env=t.env,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return p, p.stderr.readline().split()[-1]

    def done_of(batch):
        return t.good("evctl-batch", "show", batch, "-o", "json").json["done"]

    def counted():
        return t.sql("SELECT count(*) FROM runs")[0][0]

    # ---- what is refused, with nothing made
    write(add(1))
    t.fails(3, "an expert never published: exit 3", "evctl-batch", "start", "s", "--calls", calls)
    t.good("evctl-expert", "publish", "s", "--yes", "--force")
    t.fails(3, "no such expert: exit 3", "evctl-batch", "start", "nobody", "--calls", calls)
    t.fails(2, "no calls: exit 2", "evctl-batch", "start", "s", hint="evctl-batch start s --calls FILE")
    t.fails(3, "no such file: exit 3", "evctl-batch", "start", "s", "--calls", t.dir / "none", hint=False)
    t.fails(3, "a spool that is not there: exit 3", "evctl-batch", "start", "s", "--calls", calls, "--spool", t.dir / "none")
    for bad, why in (({"tool": "add", "input": {"a": "x"}}, "the schema"), ({"tool": "nope"}, "no such tool"),
                     ("junk", "no JSON"), ({"tool": "add", "input": {"a": 1}, "more": 1}, "a member too many"),
                     ({"tool": "add", "input": {"a": 1}, "id": [1]}, "an id that is none"), ("[1]", "no object")):
        write(add(1), "", add(2), bad, add(3))
        t.fails(2, f"one bad line ({why}): exit 2 with its number", "evctl-batch", "start", "s", "--calls", calls, says="line 4 of")
    write("", "")
    t.fails(2, "an empty file: exit 2", "evctl-batch", "start", "s", "--calls", calls)
    write(add(1))
    t.fails(2, "a word that is no status", "evctl-batch", "start", "s", "--calls", calls, "--retry-status", "ok")
    t.fails(2, "a share over 100", "evctl-batch", "start", "s", "--calls", calls, "--max-failures", "101%")
    key = t.home / "master.key"
    key.rename(t.dir / "away")
    t.fails(4, "without the private key: exit 4", "evctl-batch", "start", "s", "--calls", calls)
    (t.dir / "away").rename(key)
    t.eq((counted(), t.good("evctl-batch", "list").out, list((t.home / "batches").glob("*"))), (0, "", []),
         "none of these made a run, a batch or a file")

    # ---- order, ids, codes
    some = [add(i, **({"id": f"n{i}"} if i % 3 else {"id": i})) for i in range(60)]
    some[7] = {"tool": "fail", "id": "bad"}
    some[9] = {"tool": "loop"}
    some[11] = {"tool": "file", "input": {"name": "eleven.txt"}}
    some[12] = {"tool": "key"}
    write(*some)
    out = t.dir / "out"
    r = t.run("evctl-batch", "start", "s", "--calls", calls, "-j", "3", "--chunk", "4", "--outputs", out)
    got = lines(r.out)
    t.eq(r.code, 11, "the exit code is the first call's that is not ok")
    t.eq([g["call"] for g in got], list(range(60)), "a line a call, in the order of the calls")
    t.eq([g.get("id") for g in got], [c.get("id") for c in some], "with the calls' own ids")
    t.eq([g["result"] for g in got if g["tool"] == "add"], [c["input"]["a"] + 1 for c in some if c["tool"] == "add"],
         "and each with the result of its own input")
    t.eq((got[7]["status"], got[9]["status"], got[12]["result"]), ("failed", "timeout", 20), "failures, and a key, where they belong")
    t.ok(len({g["run"] for g in got}) == 60 and all(g["attempt"] == 1 and g["node"] == "local" for g in got), "sixty runs")
    t.eq((out / "eleven.txt").read_text(), "made eleven.txt", "artifacts are copied where that is asked for")
    b = t.good("evctl-batch", "list", "-o", "json").json[0]
    t.eq((b["calls"], b["done"], b["failed"], b["status"], b["version"]), (60, 60, 2, "failed", 1), "the list says how it went")
    t.eq(t.good("evctl-batch", "results", b["batch"]).out, r.out, "the results can be had again, byte for byte")
    t.eq([g["call"] for g in lines(t.good("evctl-batch", "results", b["batch"], "--failed").out)], [7, 9], "or those that failed")
    again = t.run("evctl-batch", "wait", b["batch"])
    t.eq((again.code, again.out), (11, r.out), "waiting for what is over says the same")
    shown = t.good("evctl-log", "show", got[7]["run"]).out
    t.ok("ValueError: private" in shown and '"eleven' not in shown, "a run's traceback is there at home", shown)
    t.eq(t.good("evctl-artifact", "get", got[11]["run"], "eleven.txt", "--to", "-").out, "made eleven.txt", "so is its artifact")
    t.eq(t.sql("SELECT batch, call, node FROM runs WHERE id = ?", got[11]["run"]), [(b["batch"], 11, "local")],
         "and whose it is")
    t.eq((list((t.home / "batches").glob("*")), list(scratch.iterdir())), ([], []), "no file of it is left")
    t.ok(not t.holding("value-of-the-builder") and not t.holding("in add"), "nor a key or a log in the clear")
    t.ok("ok\taudit-chain" in t.run("evctl-doctor").out, "the audit chain fits")
    t.fails(2, "rm asks first", "evctl-batch", "rm", b["batch"])
    t.good("evctl-batch", "rm", b["batch"], "--yes")
    t.fails(3, "then it is gone", "evctl-batch", "show", b["batch"])
    t.eq(counted(), 60, "its runs stay")

    r = t.run("evctl-batch", "start", "s", "--calls", "-", "--results", out / "r.jsonl", stdin="".join(json.dumps(add(i)) + "\n" for i in range(5)))
    t.ok(r.code == 0 and r.out == "" and [g["result"] for g in lines((out / "r.jsonl").read_text())] == [1, 2, 3, 4, 5],
         "calls from a pipe, results to a file, exit 0", r)

    # ---- a buyer
    t.good("evctl-cred", "payer", "KEY", "buyer")
    write({"tool": "key"}, {"tool": "fail"})
    t.fails(14, "a buyer who supplied no key: exit 14", "evctl-batch", "start", "s", "--calls", calls, "--buyer", "acme",
            hint="evctl-cred supply KEY --expert s --buyer acme")
    t.good("evctl-cred", "supply", "KEY", "--expert", "s", "--buyer", "acme", "--from-file", "-", stdin="of-acme")
    r = t.run("evctl-batch", "start", "s", "--calls", calls, "--buyer", "acme")
    got = lines(r.out)
    t.ok(got[0]["result"] == 7 and got[1]["status"] == "failed" and "node" not in got[0], "with it, and told what a buyer is", r)
    t.eq(t.sql("SELECT buyer FROM runs WHERE id = ?", got[0]["run"]), [("acme",)], "recorded as that buyer's")

    t.good("evctl-cred", "payer", "KEY", "stored")

    # ---- evctl-run --calls -j
    write(add(1), {"tool": "nope"}, "junk", {"tool": "fail"}, {"tool": "file"}, add(2))

    def told(r):
        return [{k: v for k, v in g.items() if k not in ("run", "ms")} for g in lines(r.out)]

    plain, spread = (t.run("evctl-run", "s", "--calls", calls, *more) for more in ((), ("-j", "3")))
    t.eq((spread.code, told(spread)), (plain.code, told(plain)), "evctl-run --calls -j prints what it prints without")
    draft = t.run("evctl-run", "s", "--draft", "--calls", calls, "-j", "2")
    t.eq([g.get("version") for g in lines(draft.out)], ["draft", None, None, "draft", "draft", "draft"], "drafts too")
    t.fails(2, "-j without --calls", "evctl-run", "s", "add", "-j", "2")
    t.eq([b["engine"] for b in t.good("evctl-batch", "list", "-o", "json").json if b["version"] == "draft"], [], "no batch of it is left")

    # ---- a driver that is killed
    write(*(add(i) for i in range(30)), *({"tool": "slow", "input": {"s": 8}} for _ in range(2)), *(add(i) for i in range(30)))
    p, batch = started()
    until(lambda: done_of(batch) >= 30, "some calls are done", 120)
    tasks = until(lambda: children(p.pid), "tasks are at work", 60)
    t.fails(6, "a second driver is refused, and told of the first", "evctl-batch", "wait", batch, says=f"process {p.pid}")
    t.fails(5, "rm of what goes on: exit 5", "evctl-batch", "rm", batch, "--yes")
    t.fails(5, "and new keys", "evctl-state", "rekey", says=batch)
    p.kill()
    p.communicate()
    until(lambda: not any(map(alive, tasks)), "its tasks end with it", 60)
    was = {i for i, in t.sql("SELECT id FROM runs WHERE batch = ?", batch)}
    r = t.run("evctl-batch", "wait", batch)
    got = lines(r.out)
    t.eq((r.code, [g["call"] for g in got], [g["status"] for g in got]), (0, list(range(62)), ["ok"] * 62),
         "another goes on, and all calls are answered once")
    t.ok(was <= {g["run"] for g in got}, "by the runs that there were before")

    # ---- a task that is killed, again and again
    write(*(add(i) for i in range(6)))
    calls.write_text(calls.read_text() + json.dumps({"tool": "slow"}) + "\n" + "".join(json.dumps(add(i)) + "\n" for i in range(6)))
    p = subprocess.Popen([BIN / "evctl-batch", "start", "s", "--calls", calls, "-j", "1", "--retry", "1", "--chunk", "20"], env=t.env,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    batch = p.stderr.readline().split()[-1]
    killed = set()
    while p.poll() is None and len(killed) < 2:
        task = until(lambda: [c for c in children(p.pid) if c not in killed and children(c)] or p.poll() is not None, "a task", 60)
        if p.poll() is None and until(lambda: done_of(batch) >= 6, "the first six", 60):
            until(lambda: len([c for c in children(task[0]) if len(children(c)) > 0]) > 0, "its sandbox", 60)
            killed.add(task[0])
            os.kill(task[0], signal.SIGKILL)
    got = lines(p.communicate(timeout=120)[0])
    t.eq([g["call"] for g in got], list(range(13)), "a call whose task is killed twice holds up no other")
    t.eq([g["call"] for g in got if "error" in g], [6], "it alone has no result")
    t.eq((p.returncode, got[6]["error"]["kind"]), (1, "lost"), "and is lost: exit 1")

    # ---- cancelling
    write(add(1), *({"tool": "slow"} for _ in range(20)))
    for how in ("INT", "evctl-batch cancel"):
        p, batch = started()
        until(lambda: done_of(batch) >= 1, "the first is done", 60)
        if how == "INT":
            p.send_signal(signal.SIGINT)
        else:
            t.good("evctl-batch", "cancel", batch)
        got = lines(p.communicate(timeout=60)[0])
        b = t.good("evctl-batch", "show", batch, "-o", "json").json
        t.eq((p.returncode, b["status"], got[0]["result"]), (10, "cancelled", 2), f"{how}: exit 10, what was done stays")
        t.ok(len(got) == b["done"] < 10 and all(g["status"] == "failed" for g in got[1:]), "what was being done is failed", got)
    t.fails(5, "what is over cannot be cancelled", "evctl-batch", "cancel", batch)
    p, batch = started()
    until(lambda: done_of(batch) >= 1, "the first is done", 60)
    p.kill()
    p.communicate()
    t.good("evctl-batch", "cancel", batch)
    t.eq(t.good("evctl-batch", "show", batch, "-o", "json").json["status"], "cancelled", "one without a driver is cancelled too")
    t.eq(t.run("evctl-batch", "wait", batch).code, 10, "which its exit code says from then on")

    # ---- failures: how many, and again
    write(*({"tool": "fail"} for _ in range(40)))
    r = t.run("evctl-batch", "start", "s", "--calls", calls, "-j", "1", "--chunk", "1", "--max-failures", "5%")
    t.ok(r.code == 1 and 3 <= len(lines(r.out)) < 40, "more failures than may be: it stops, exit 1", r)
    write({"tool": "fail"}, add(1))
    before = counted()
    r = t.run("evctl-batch", "start", "s", "--calls", calls, "--retry-status", "failed,limit", "--retry", "2")
    got = lines(r.out)
    t.eq((r.code, [g["attempt"] for g in got], counted() - before), (11, [3, 1], 4), "failures are tried again where that is asked for")
    t.eq((list((t.home / "batches").glob("*")), t.good("evctl-batch", "list", "-o", "json").json[0]["status"]), ([], "failed"),
         "and nothing is left")
