#!/usr/bin/python3
"""Batches over a real Slurm: many calls, killed tasks and nodes, a controller that is away, limits of arrays, secrets."""
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from slurm import Slurm, missing
from tap import BIN, SANITIZED, T, skip_all
from waiting import until

if missing():
    skip_all(missing())
if SANITIZED:
    skip_all("what engines do is the same under sanitizers; evctl-task has them in the other tests of batches")

YAML = """name: s
tools:
  - {name: add, entry: "m.py:add", input: {type: object, properties: {a: {type: integer}, word: {type: string}}, required: [a]}}
  - {name: slow, entry: "m.py:slow", timeout: 25}
  - {name: key, entry: "m.py:key"}
hosts: [a.example]
"""
CODE = '''
import time
planted = 'word-in-the-code'

def add(a, word=''):
    return a + 1

def slow(s=2):
    time.sleep(s)
    return s

def key():
    return len(EV_KEYS['KEY'])
'''


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def holding(word, where):
    return subprocess.run(["grep", "-rlaF", "-e", word, *map(str, where)], capture_output=True, text=True).stdout.split()


def in_processes(word):
    """Processes that have it in their arguments or environment."""
    found = []
    for p in Path("/proc").iterdir():
        if p.name.isdigit() and int(p.name) != os.getpid():
            try:
                if word.encode() in (p / "cmdline").read_bytes() + (p / "environ").read_bytes():
                    found.append(p.name)
            except OSError:
                pass
    return found


with T() as t, Slurm(most_in_array=5) as slurm, tempfile.TemporaryDirectory(prefix="evctl-test-spool.", dir="/var/tmp") as spool:
    spool = Path(spool)
    t.env.update(PATH=slurm.env["PATH"], SLURM_CONF=str(slurm.conf))
    t.init()
    t.cred("KEY", "value-of-the-builder")
    t.good("evctl-host", "add", "a.example")
    t.good("evctl-bind", "set", "a.example", "KEY")
    t.good("evctl-expert", "create", "s", "--dir", t.expert("s", {"m.py": CODE}, YAML))
    t.good("evctl-expert", "publish", "s", "--yes", "--force")
    calls = t.dir / "calls.jsonl"
    home = t.good("evctl-node", "home").out.strip()
    key = slurm.dir / "node.key"
    # a job has none of its submitter's environment: the key is where a node has it
    line = t.good("evctl-node", "init", "--name", "all", "--home", home, "--key-file", key).out

    def write(*items):
        calls.write_text("".join(json.dumps(i) + "\n" for i in items))

    def add(a):
        return {"tool": "add", "input": {"a": a, "word": "word-in-the-input"}}

    def begin(*more, wait=True):
        """A batch whose driver runs; its id."""
        p = subprocess.Popen([BIN / "evctl-batch", "start", "s", "--calls", calls, "--engine", "slurm", "--spool", spool, "--settle", "4",
                              *map(str, more)], env=t.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return p, p.stderr.readline().split()[-1]

    def shown(batch):
        return t.good("evctl-batch", "show", batch, "-o", "json").json

    def jobs(batch):
        out = slurm.run("squeue", "-h", "-r", "-t", "running", "-o", "%i %j %N")
        return [line.split() for line in out.splitlines() if batch in line]

    write(add(1))
    t.fails(2, "no node: exit 2", "evctl-batch", "start", "s", "--calls", calls, "--engine", "slurm", "--spool", spool, hint="evctl-node list")
    t.good("evctl-node", "add", "--from-file", "-", stdin=line)
    t.fails(3, "no Slurm: exit 3", "evctl-batch", "start", "s", "--calls", calls, "--engine", "slurm", "--spool", spool, says="sbatch",
            env={"PATH": "/nowhere"})
    t.eq((t.good("evctl-batch", "list").out, list(spool.iterdir())), ("", []), "neither left anything")

    default = Path("/var/lib/evctl/0/node.key")
    made_here = not default.exists()
    if not made_here:
        skip_all("this machine is a node of somebody's")
    default.parent.mkdir(parents=True, exist_ok=True)
    try:
        default.write_bytes(key.read_bytes())
        default.chmod(0o600)
        Path(f"{default}.homes").write_text(home + "\n")

        # ---- 400 calls, four nodes, arrays of at most five
        write(*(add(i) for i in range(399)), {"tool": "key"})
        p, batch = begin("--chunk", "25")
        spying = until(lambda: in_processes(batch), "control: a process has the batch's id", 60)
        leaked = [w for w in ("value-of-the-builder", "word-in-the-code", "word-in-the-input") if in_processes(w)]
        placed = holding(batch, [slurm.dir / "ctld", *slurm.dir.glob("spool.n*"), spool])
        inside = [w for w in ("value-of-the-builder", "word-in-the-code", "word-in-the-input") if holding(w, [slurm.dir, spool])]
        out, err = p.communicate(timeout=240)
        got = lines(out)
        t.eq((p.returncode, [g["call"] for g in got]), (0, list(range(400))), "400 calls over arrays of five: a line each, in order")
        t.eq([g["result"] for g in got], [*range(1, 400), 20], "each with its own result, and the key was there")
        t.ok(spying and placed and not leaked and not inside, "no key, code or input in a process, in Slurm's state or in the spool",
             (leaked, inside, placed))
        t.eq(list(spool.iterdir()), [], "the spool is empty again")

        # ---- a task is killed by Slurm, and all of them
        write(*({"tool": "slow", "input": {"s": 1}} for _ in range(24)))
        p, batch = begin("--chunk", "6")
        until(lambda: shown(batch)["done"] >= 2, "some are done", 120)
        slurm.run("scancel", jobs(batch)[0][0])
        out, err = p.communicate(timeout=240)
        got = lines(out)
        t.eq((p.returncode, [g["call"] for g in got]), (0, list(range(24))), "a task that Slurm killed: what it lacked comes again")
        t.ok(max(g["attempt"] for g in got) == 2, "as a second attempt")

        # ---- a node dies: its slurmd, and what it started
        write(*({"tool": "slow", "input": {"s": 1}} for _ in range(32)))
        p, batch = begin("--chunk", "8")
        until(lambda: shown(batch)["done"] >= 2, "some are done", 120)
        where = jobs(batch)[0][2]
        slurm.stop(f"slurmd.{where}.pid", signal.SIGKILL)
        for proc in Path("/proc").iterdir():
            if proc.name.isdigit():
                try:
                    if f"SLURMD_NODENAME={where}".encode() in (proc / "environ").read_bytes():
                        os.kill(int(proc.name), signal.SIGKILL)
                except OSError:
                    pass
        slurm.run("scontrol", "update", f"nodename={where}", "state=down", "reason=test")
        out, err = p.communicate(timeout=240)
        got = lines(out)
        t.eq((p.returncode, [g["call"] for g in got]), (0, list(range(32))), "a node that died: no call is lost")
        slurm.start_node(int(where[1:]))
        until(lambda: slurm.idle() == 4, "it is back", 120)

        # ---- a slurmd dies, and its tasks live
        write(*({"tool": "slow", "input": {"s": 1}} for _ in range(24)))
        p, batch = begin("--chunk", "6")
        until(lambda: shown(batch)["done"] >= 2, "some are done", 120)
        where = jobs(batch)[0][2]
        slurm.stop(f"slurmd.{where}.pid", signal.SIGKILL)
        slurm.run("scontrol", "update", f"nodename={where}", "state=down", "reason=test")
        got = lines(p.communicate(timeout=240)[0])
        t.eq((p.returncode, [g["call"] for g in got]), (0, list(range(24))), "a slurmd that died: a line a call, whoever told it first")
        slurm.start_node(int(where[1:]))
        until(lambda: slurm.idle() == 4, "it is back", 120)

        # ---- the controller is away for a while
        write(*({"tool": "slow", "input": {"s": 1}} for _ in range(24)))
        p, batch = begin("--chunk", "6")
        until(lambda: shown(batch)["done"] >= 2, "some are done", 120)
        slurm.stop("ctld.pid")
        said = until(lambda: "does not answer" in (p.stderr.readline() or "x"), "the driver says that it is away", 120)
        slurm.start_controller()
        out, err = p.communicate(timeout=240)
        got = lines(out)
        t.eq((p.returncode, [g["call"] for g in got], {g["attempt"] for g in got}), (0, list(range(24)), {1}),
             "a controller that is away: nothing is lost, nor made twice")

        # ---- the driver is killed
        write(*({"tool": "slow", "input": {"s": 1}} for _ in range(24)))
        p, batch = begin("--chunk", "6")
        until(lambda: shown(batch)["done"] >= 2, "some are done", 120)
        p.kill()
        p.communicate()
        r = t.run("evctl-batch", "wait", batch, timeout=240)
        got = lines(r.out)
        t.eq((r.code, [g["call"] for g in got], {g["attempt"] for g in got}), (0, list(range(24)), {1}),
             "a driver that is killed: its tasks go on, and wait takes all in")

        # ---- cancelled
        write(*({"tool": "slow", "input": {"s": 20}} for _ in range(24)))
        p, batch = begin("--chunk", "6")
        until(lambda: jobs(batch), "it runs", 120)
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=240)
        t.eq((p.returncode, shown(batch)["status"]), (10, "cancelled"), "Ctrl-C: exit 10")
        t.ok(until(lambda: not jobs(batch), "no job of it is left", 60), "no job of it is left")
        t.eq(list(spool.iterdir()), [], "nor anything in the spool")
    finally:
        for f in (default, Path(f"{default}.homes")):
            f.unlink(missing_ok=True)
