#!/usr/bin/python3
"""Nodes: their keys, batches that are sealed to them, what they tell, and what is not believed."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, ROOT, T
from waiting import until

YAML = """name: s
tools:
  - {name: add, entry: "m.py:add", input: {type: object, properties: {a: {type: integer}, word: {type: string}}, required: [a]}}
  - {name: key, entry: "m.py:key"}
hosts: [a.example]
"""
CODE = '''
planted = 'word-in-the-code'

def add(a, word=''):
    open('outputs/x.txt', 'w').write('word-in-the-artifact')
    print('word-in-the-log')
    return a + 1

def key():
    return len(EV_KEYS['KEY'])
'''


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


with T() as t, tempfile.TemporaryDirectory(prefix="evctl-test-spool.", dir="/var/tmp") as spool:
    spool = Path(spool)
    scratch = t.dir / "tmp"
    scratch.mkdir()
    t.env["TMPDIR"] = str(scratch)
    t.init()
    t.cred("KEY", "value-of-the-builder")
    t.good("evctl-host", "add", "a.example")
    t.good("evctl-bind", "set", "a.example", "KEY")
    t.good("evctl-expert", "create", "s", "--dir", t.expert("s", {"m.py": CODE}, YAML))
    t.good("evctl-expert", "publish", "s", "--yes", "--force")
    home = t.good("evctl-node", "home").out.strip()

    def node(name, *args, **more):
        """A command on a node: with its key, and without home's state."""
        return t.run(*args, env={"EVCTL_NODE_KEY": str(t.dir / name / "node.key"), "EVCTL_HOME": str(t.dir / "nowhere")}, **more)

    # ---- enrolment
    r = node("n1", "evctl-node", "init", "--name", "n1")
    t.ok(r.code == 2 and "--home KEY" in r.err and not (t.dir / "n1").exists(), "without a home no key is made: exit 2", r)
    t.eq(node("n1", "evctl-node", "init", "--home", "00").code, 2, "nor with what is no key")
    made = [node(n, "evctl-node", "init", "--name", n, "--home", home) for n in ("n1", "n2", "n3")]
    t.eq([r.code for r in made], [0, 0, 0], "three nodes make their keys")
    t.eq(oct((t.dir / "n1" / "node.key").stat().st_mode & 0o777), "0o600", "which are their own")
    t.eq(node("n1", "evctl-node", "init", "--home", home).code, 5, "a second key: exit 5")
    t.eq(json.loads(node("n1", "evctl-node", "show").out)["key"], json.loads(made[0].out)["key"], "show has the line again")
    t.eq(t.good("evctl-node", "add", "--from-file", "-", stdin=made[0].out + made[1].out).out, "added 2\n", "home takes two lines at once")
    t.fails(5, "one that is there: exit 5", "evctl-node", "add", "--from-file", "-", stdin=made[0].out)
    t.fails(2, "what is no line: exit 2", "evctl-node", "add", "--from-file", "-", stdin=made[2].out + "{}\n")
    t.eq([n["node"] for n in t.good("evctl-node", "list", "-o", "json").json], ["n1", "n2"], "and then none of them is taken")

    # ---- a batch for them
    calls = t.dir / "calls.jsonl"

    def start(*more, code=0, n=12):
        calls.write_text("".join(json.dumps({"tool": "add", "input": {"a": i, "word": "word-in-the-input"}}) + "\n" for i in range(n)) +
                         json.dumps({"tool": "key"}) + "\n")
        r = t.run("evctl-batch", "start", "s", "--calls", calls, "--engine", "none", "--chunk", "5", "-o", "json", *more)
        t.eq(r.code, code, f"a batch for {' '.join(map(str, more))}: exit {code}")
        return r.json if code == 0 else r

    start("--spool", spool, code=2)
    start("--node", "n1", code=2)
    t.ok("below /tmp" in start("--node", "n1", "--spool", t.dir, code=2).err, "a spool below /tmp is seen by nobody else")
    start("--node", "nobody", "--spool", spool, code=3)
    t.eq((list(spool.iterdir()), t.good("evctl-batch", "list").out), ([], ""), "none of these left anything")
    b = start("--node", "n1", "--node", "n2", "--spool", spool)
    batch, at = b["batch"], spool / b["batch"]
    t.eq((b["chunks"], oct(at.stat().st_mode & 0o777)), (3, "0o700"), "three chunks, in a directory of its own")
    task = b["command"].split()
    t.eq(task, [str(BIN / "evctl-task"), str(at)], "and the command for each")

    r = node("n3", "evctl-task", at, 0)
    t.ok(r.code == 15 and "not sealed to this machine" in r.err, "a node that it is not sealed to: exit 15", r)
    node("n4", "evctl-node", "init", "--name", "n4", "--home", "11" * 32)
    shutil.copy(t.dir / "n1" / "node.key", t.dir / "n4" / "node.key")
    r = node("n4", "evctl-task", at, 0)
    t.ok(r.code == 15 and "evctl-node trust" in r.err, "one that knows another home only: exit 15", r)
    t.eq(node("n5", "evctl-task", at, 0).code, 4, "one without a key: exit 4")
    t.eq(node("n1", "evctl-task", spool / "none", 0).code, 3, "no such spool: exit 3")
    t.eq(node("n1", "evctl-task", at).code, 2, "no index: exit 2")
    sound = (at / "bundle").read_bytes()
    (at / "bundle").write_bytes(sound[:-60] + bytes([sound[-60] ^ 1]) + sound[-59:])
    t.eq(node("n2", "evctl-task", at, 0).code, 9, "its own entry damaged: exit 9")
    for place in (40, len(sound) // 2):
        (at / "bundle").write_bytes(sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1:])
        t.eq(node("n1", "evctl-task", at, 0).code, 9, f"at byte {place}: exit 9")
    (at / "bundle").write_bytes(sound)
    t.eq(list((at / "out").iterdir()), [], "none of these told anything")

    t.eq(node("n1", "evctl-node", "trust", home).code, 0, "trusting a home again is nothing new")
    t.eq(node("n4", "evctl-node", "trust", home).code, 0, "one more home")
    t.eq(node("n4", "evctl-task", at, 0).code, 0, "then its bundles are opened")
    for variable, value, args in (("SLURM_ARRAY_TASK_ID", "1", []), ("SGE_TASK_ID", "2", ["+1"])):
        done = subprocess.run([BIN / "evctl-task", at, *args], capture_output=True,
                              env={**t.env, "EVCTL_NODE_KEY": str(t.dir / "n2" / "node.key"), variable: value})
        t.eq(done.returncode, 0, f"{variable} says which chunk")
    t.eq(sorted(p.name for p in (at / "out").iterdir()), ["000000.1", "000001.1", "000002.1"], "a stream each")
    t.eq(list(scratch.iterdir()), [], "nothing is left where they worked")

    def holding(word):
        return subprocess.run(["grep", "-rlaF", "-e", word, str(at)], capture_output=True, text=True).stdout.split()

    t.ok(holding(batch), "control: a word is found in the spool")
    for word in ("value-of-the-builder", "word-in-the-code", "word-in-the-input", "word-in-the-artifact", "word-in-the-log"):
        t.eq(holding(word), [], f"'{word}' is not")

    r = t.run("evctl-batch", "wait", batch)
    got = lines(r.out)
    t.eq((r.code, [g["call"] for g in got]), (0, list(range(13))), "home has all of the answers, in order")
    t.eq([g["node"] for g in got], ["n1"] * 5 + ["n2"] * 8, "and who gave each")
    t.eq(got[12]["result"], 20, "the key was there where it ran")
    t.eq(got[0]["artifacts"], [{"name": "x.txt", "bytes": 20, "type": "text/plain", "inline": False}], "artifacts are described at home")
    t.eq(t.good("evctl-artifact", "get", got[3]["run"], "x.txt", "--to", "-").out, "word-in-the-artifact", "and can be had")
    t.ok("word-in-the-log" in t.good("evctl-log", "show", got[6]["run"]).out, "the log is opened by home's key")
    t.eq(list(spool.iterdir()), [], "the spool is empty again")

    # ---- what is not believed
    def wait_while(b, then):
        """Waits for a batch, and meanwhile does something."""
        with subprocess.Popen([BIN / "evctl-batch", "wait", b["batch"]], env=t.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as p:
            try:
                then()
                out, err = p.communicate(timeout=120)
            finally:
                if p.poll() is None:
                    p.kill()
        return p.returncode, lines(out), err

    def refused(b):
        return [s for s in t.good("evctl-batch", "show", b["batch"], "-o", "json").json["streams"] if s["refused"]]

    b = start("--node", "n1", "--node", "n2", "--spool", spool)
    at = spool / b["batch"]
    for i in range(3):
        node("n1", "evctl-task", at, i)
    whole = (at / "out" / "000001.1").read_bytes()
    middle = len(whole) // 2
    (at / "out" / "000001.1").write_bytes(whole[:middle] + bytes([whole[middle] ^ 4]) + whole[middle + 1:])  # damaged
    (at / "out" / "000002.1").write_bytes((at / "out" / "000000.1").read_bytes())  # another chunk's

    def redo():
        until(lambda: len(refused(b)) == 2, "both are refused", 60)
        names = until(lambda: len(list((at / "calls").iterdir())) == 5 and [p.name for p in (at / "calls").iterdir()], "two more chunks", 60)
        for name in sorted(names)[3:]:
            t.eq(node("n2", "evctl-task", at, int(name)).code, 0, "what is lacking is a chunk of its own")

    code, got, err = wait_while(b, redo)
    t.eq((code, [g["call"] for g in got], [g.get("result") for g in got]), (0, list(range(13)), [i + 1 for i in range(12)] + [20]),
         "a damaged and a foreign stream are refused, and no call is lost")
    t.ok(len({g["run"] for g in got}) == 13 and {g["node"] for g in got[:5]} == {"n1"} and {g["attempt"] for g in got[10:]} == {2},
         "each by one run", got)
    t.eq(len([r for r in t.good("evctl-log", "audit", "-o", "json").json if r["action"] == "batch refuse"]), 2, "the audit says so")

    b = start("--node", "n1", "--node", "n2", "--spool", spool, n=3)
    at = spool / b["batch"]
    node("n1", "evctl-task", at, 0)
    r = t.good("evctl-node", "rm", "n1")
    t.ok(b["batch"] in r.out, "rm of a node says what it held", r)

    def by_other():
        until(lambda: refused(b), "what it told is refused", 60)
        until(lambda: len(list((at / "calls").iterdir())) == 2, "one more chunk", 60)
        node("n2", "evctl-task", at, 1)

    code, got, err = wait_while(b, by_other)
    t.eq((code, {g["node"] for g in got}), (0, {"n2"}), "a node that was removed is believed nothing any more")

    # ---- cancelled
    b = start("--node", "n2", "--spool", spool)
    at = spool / b["batch"]
    node("n2", "evctl-task", at, 0)
    kept = t.dir / "kept"
    shutil.copytree(at, kept)
    t.good("evctl-batch", "cancel", b["batch"])
    t.eq((t.good("evctl-batch", "show", b["batch"], "-o", "json").json["done"], list(spool.iterdir())), (5, []),
         "what was told counts, and bundle and calls are gone")
    (kept / "cancel").touch()
    t.eq(node("n2", "evctl-task", kept, 1).code, 10, "a task that is told of it ends: exit 10")

    # ---- keys that change meanwhile
    b = start("--node", "n2", "--spool", spool)
    r = t.good("evctl-cred", "rotate", "KEY", "--from-file", "-", stdin="another")
    t.ok(f"evctl-batch cancel {b['batch']}" in r.err, "rotate names the batch that has the old value", r)
    at = spool / b["batch"]
    for i in range(3):
        node("n2", "evctl-task", at, i)
    t.eq(lines(t.run("evctl-batch", "wait", b["batch"]).out)[12]["result"], 20, "which it goes on with")
    r = t.good("evctl-cred", "rotate", "KEY", "--from-file", "-", stdin="another")
    t.ok("batch" not in r.err, "control: then there is none", r)
    t.good("evctl-cred", "payer", "KEY", "buyer")
    t.good("evctl-cred", "supply", "KEY", "--expert", "s", "--buyer", "acme", "--from-file", "-", stdin="of-acme")
    b = start("--node", "n2", "--spool", spool, "--buyer", "acme")
    r = t.good("evctl-cred", "withdraw", "KEY", "--expert", "s", "--buyer", "acme")
    t.eq((b["batch"] in r.err, t.good("evctl-batch", "show", b["batch"], "-o", "json").json["status"]), (True, "cancelled"),
         "what a buyer withdraws ends the batches that used it")
    t.good("evctl-cred", "payer", "KEY", "stored")

    # ---- GNU parallel, by the template
    if shutil.which("parallel"):
        b = start("--node", "n2", "--spool", spool)
        done = subprocess.run([ROOT / "share/batch/parallel.sh", b["command"], str(b["chunks"]), "-j", "2"], capture_output=True, text=True,
                              env={**t.env, "EVCTL_NODE_KEY": str(t.dir / "n2" / "node.key")})
        t.eq(done.returncode, 0, "share/batch/parallel.sh runs all of them")
        t.eq(len(lines(t.run("evctl-batch", "wait", b["batch"]).out)), 13, "and home has every answer")
    else:
        t.skip("GNU parallel", "it is not installed")
    b = start("--node", "n2", "--spool", spool)
    for i in range(1, 4):  # as its tasks are started; Grid Engine itself needs a cell of its own
        subprocess.run([ROOT / "share/batch/gridengine.sh", b["command"]], env={**t.env, "SGE_TASK_ID": str(i),
                       "EVCTL_NODE_KEY": str(t.dir / "n2" / "node.key")}, check=True)
    t.eq(len(lines(t.run("evctl-batch", "wait", b["batch"]).out)), 13, "share/batch/gridengine.sh does what a task of it does")
