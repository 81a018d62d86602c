#!/usr/bin/python3
"""Quotas wherever a registered buyer's run begins: evctl-run, evctl-mcp, a connection's call, batches; and evctl-log usage."""
import csv
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib"), str(HERE.parent / "mcp")]
from api import Api
from certs import Authority
from mcplib import MODERN, Raw
from tap import BIN, T
from waiting import until

YAML = """name: p
tools:
  - {name: one, entry: "m.py:one"}
  - {name: file, entry: "m.py:file"}
  - {name: fail, entry: "m.py:fail"}
  - {name: slow, entry: "m.py:slow", timeout: 25}
"""
CODE = {"m.py": """
import time

def one():
    return 1

def file():
    open('outputs/a.txt', 'w').write('12345')
    return 1

def fail():
    raise ValueError('private')

def slow(s=22):
    time.sleep(s)
    return s
"""}
DAY = 86400000

with T() as t:
    t.init()
    t.good("evctl-expert", "create", "p", "--dir", t.expert("p", CODE, YAML))
    t.good("evctl-expert", "publish", "p", "--yes", "--force")

    def limit(b, *options):
        return t.good("evctl-buyer", "limit", b, "p", *options, "-o", "json").json

    def left(b):
        return limit(b)["calls_left"]

    def buyer(b, *options):
        t.good("evctl-buyer", "add", b)
        limit(b, *options)

    def counted(b):
        return t.sql("SELECT count(*) FROM runs WHERE buyer = ?", b)[0][0]

    def run(b, tool="one", *args, **more):
        return t.run("evctl-run", "p", tool, "--buyer", b, *args, **more)

    def calls(n, tool="one", **more):
        path = t.dir / "calls.jsonl"
        path.write_text((json.dumps({"tool": tool, **more}) + "\n") * n)
        return path

    def started(b, tool="slow"):
        """A run of a process of its own, that has begun."""
        before = counted(b)
        p = subprocess.Popen([BIN / "evctl-run", "p", tool, "--buyer", b], env=t.env, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        until(lambda: counted(b) > before, "a run to begin", 20)
        return p

    # ---- evctl-run
    buyer("shell", "--calls-a-day", "3")
    codes = [run("shell", tool).code for tool in ("one", "file", "fail")]
    t.eq(codes, [0, 0, 11], "as many as agreed, one that fails among them")
    r = t.fails(15, "one more: exit 15", "evctl-run", "p", "one", "--buyer", "shell", says="00:00 UTC", hint=False)
    r = run("shell", "one", "-o", "json")
    t.ok(r.code == 15 and "quota" in r.out + r.err and '"kind":"quota"' in (r.out + r.err).replace(" ", ""), "kind quota", r)
    t.ok(counted("shell") == 3 and left("shell") == 0, "nothing was recorded of it")
    t.ok(run("somebody").code == 0 and t.run("evctl-run", "p", "one").code == 0, "others go on: not registered, and the builder")
    limit("shell", "--calls-a-day", "4")
    t.ok(run("shell").code == 0 and run("shell").code == 15, "one more is agreed, and is one more")
    limit("shell", "--none")
    t.eq(run("shell").code, 0, "without a limit")
    limit("shell", "--calls-a-day", "0")
    t.eq(run("shell").code, 15, "none at all")
    t.sql("UPDATE runs SET started = started - ? WHERE buyer = 'shell'", DAY)
    limit("shell", "--calls-a-day", "1")
    t.ok(left("shell") == 1 and run("shell").code == 0 and run("shell").code == 15, "yesterday's are not today's")

    # ---- seconds
    buyer("secs", "--seconds-a-day", "5")
    t.eq(run("secs").code, 0, "seconds are left")
    t.sql("UPDATE runs SET ms = 4999 WHERE buyer = 'secs'")
    t.eq(run("secs").code, 0, "some are left still")
    t.sql("UPDATE runs SET ms = 2500 WHERE buyer = 'secs'")
    t.fails(15, "used up: exit 15", "evctl-run", "p", "one", "--buyer", "secs", says="5 seconds", hint=False)

    # ---- many at the same time
    buyer("many", "--calls-a-day", "3")
    ps = [subprocess.Popen([BIN / "evctl-run", "p", "one", "--buyer", "many"], env=t.env, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL) for _ in range(8)]
    t.eq(sorted(p.wait(120) for p in ps), [0] * 3 + [15] * 5, "eight at the same moment: three begin")
    t.eq(counted("many"), 3, "and three are counted")

    # ---- at once
    buyer("once", "--at-once", "1")
    p = started("once")
    begun = time.monotonic()
    r = t.fails(6, "another at once waits, and is exit 6", "evctl-run", "p", "one", "--buyer", "once", hint=False)
    t.ok(9.5 < time.monotonic() - begun < 25, "after ten seconds", time.monotonic() - begun)
    t.eq(counted("once"), 1, "nothing was recorded of it")
    t.sql("UPDATE runs SET started = started - (started % ?) - 1 WHERE buyer = 'once'", DAY)
    with Raw(t, "p", "--buyer", "once") as c:
        r = c.call("one", rev=MODERN).get("result")
        t.ok(r and r["isError"] and "at once" in r["content"][0]["text"],
             "through MCP the same in a sentence; a run from before midnight is one of them", r)
        p.kill()
        p.wait()
        r = c.call("one", rev=MODERN).get("result")
        t.ok(r and not r.get("isError"), "one whose process was killed is in nobody's way", r)
    p = started("once")
    second = subprocess.Popen([BIN / "evctl-run", "p", "one", "--buyer", "once"], env=t.env, stdout=subprocess.PIPE)
    p.terminate()
    p.wait()
    t.ok(second.communicate(timeout=60)[0].strip() == b"1" and second.returncode == 0, "one that waits has its turn")

    # ---- evctl-mcp
    for rev in ("2025-06-18", MODERN):
        b = "m" + rev[:4]
        buyer(b, "--calls-a-day", "1")
        with Raw(t, "p", "--buyer", b) as c:
            if rev != MODERN:
                c.hello(rev)
            r1, r2 = (c.call("one", rev=rev if rev == MODERN else None).get("result") for _ in range(2))
            t.ok(not r1.get("isError") and r2["isError"] and "00:00 UTC" in r2["content"][0]["text"] and len(r2["content"]) == 1,
                 f"{rev}: over the quota an error in one sentence", (r1, r2))
            t.ok("error" not in c.ask("tools/list", rev=rev if rev == MODERN else None) and counted(b) == 1, "and it goes on")

    # ---- a call to a connection
    ca = Authority(t.dir)
    api = Api(ca, "api.test")
    t.good("evctl-conn", "add", "main", "--host", "api.test", "--env", "MAIN_KEY", "--auth", "bearer", "--allow-private",
           "--connect-to", api.at, "--ca-file", ca.file, "--from-file", "-", stdin="key-of-the-builder")
    t.good("evctl-conn", "grant", "main", "p", "--payer", "builder")
    buyer("api", "--calls-a-day", "2")
    with Raw(t, "p", "--buyer", "api") as c:
        c.hello()
        rs = [c.call("api_call", {"connection": "main", "method": "GET", "url": "https://api.test/json"}).get("result")
              for _ in range(3)]
        t.ok([bool(r and r.get("isError")) for r in rs] == [False, False, True] and "00:00 UTC" in rs[2]["content"][0]["text"],
             "a call to a connection counts", rs)
        t.eq(len(api.seen), 2, "the third was never sent")
        r = c.call("one").get("result")
        t.ok(r and r.get("isError"), "and leaves none for a tool", r)

    # ---- batches
    buyer("lots", "--calls-a-day", "5")
    start = ("evctl-batch", "start", "p", "--buyer", "lots", "--calls")
    t.fails(15, "a batch of more than is left: exit 15", *start, calls(6), says="00:00 UTC", hint=False)
    t.ok(counted("lots") == 0 and t.sql("SELECT count(*) FROM batches") == [(0,)] and left("lots") == 5, "nothing of it is there")
    t.good(*start, calls(4))
    t.eq(left("lots"), 1, "four were taken, each once")
    t.fails(15, "two more are too many", *start, calls(2), hint=False)
    t.good(*start, calls(1))
    t.ok(left("lots") == 0 and run("lots").code == 15, "the last one")
    buyer("back", "--calls-a-day", "6")
    path = calls(5, "slow")
    p = subprocess.Popen([BIN / "evctl-batch", "start", "p", "--buyer", "back", "--calls", path, "-j", "1"], env=t.env,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    batch = p.stderr.readline().split()[-1]
    until(lambda: left("back") == 1, "a batch to take its calls", 20)
    t.eq(left("back"), 1, "a batch that goes on has all of its calls")
    t.good("evctl-batch", "cancel", batch)
    p.communicate(timeout=60)
    t.ok(1 < left("back") <= 6, "cancelled, it gives back what it has not run", left("back"))

    # ---- usage
    def usage(*args):
        return t.good("evctl-log", "usage", *args, "-o", "json").json

    t.sql("UPDATE runs SET started = started + ? WHERE buyer = 'shell' AND started < ?", DAY, int(time.time() * 1000) - DAY // 2)
    by = {x["buyer"]: x for x in usage("--by", "buyer") if x["payer"] != "builder" or x["buyer"] == "api"}
    t.ok(by["shell"]["calls"] == 6 and by["shell"]["failed"] == 1 and by["shell"]["ok"] == 5, "calls, ok and failed", by["shell"])
    t.ok((by["shell"]["artifacts"], by["shell"]["artifact_bytes"]) == (1, 5), "artifacts and their bytes", by["shell"])
    t.ok(by["api"]["broker_calls"] == 2 and by["api"]["payer"] == "builder" and by["api"]["requests"] == 2 and by["api"]["bytes"] > 0,
         "calls to a connection, by whose key", by["api"])
    t.ok(isinstance(by["shell"]["seconds"], float), "seconds are a number", by["shell"])
    t.ok("builder" in by, "the builder's own are told", by)
    for kind in ("day", "month", "expert", "tool"):
        rows = usage("--by", kind)
        t.ok(rows and kind in rows[0] and sum(x["calls"] for x in rows) == t.sql("SELECT count(*) FROM runs WHERE status <> 'running'")[0][0],
             f"by {kind}: each call once", rows)
    t.eq([(x["credential"], x["payer"], x["calls"]) for x in usage("--by", "credential")], [("MAIN_KEY", "builder", 2)], "by credential")
    t.ok({x["calls"] for x in usage("--buyer", "many")} == {3} and usage("--buyer", "nobody") == [] and
         usage("--expert", "other") == [], "of one buyer, of one expert")
    t.eq(usage("--since", "2001-01-01", "--until", "2001-01-02"), [], "of a time in which nothing was")
    t.fails(2, "by something else: exit 2", "evctl-log", "usage", "--by", "moon")
    t.fails(2, "a time that is none: exit 2", "evctl-log", "usage", "--since", "yesterweek", hint="")
    rows = list(csv.DictReader(io.StringIO(t.good("evctl-log", "usage", "--by", "buyer", "-o", "csv").out)))
    t.ok([(x["buyer"], int(x["calls"])) for x in rows] == [(x["buyer"], x["calls"]) for x in usage("--by", "buyer")], "as CSV", rows)
    t.ok("shell" in t.good("evctl-log", "usage", "--by", "buyer").out, "as text")
    before = usage("--by", "buyer"), left("many"), left("lots")
    t.sql("UPDATE runs SET ended = ended - ? WHERE ended IS NOT NULL", DAY)
    t.sql("UPDATE artifacts SET created = created - ?", DAY)
    t.ok(int(t.good("evctl-log", "gc", "--older", "0", "--yes", "-o", "json").json["removed"]) > 0, "control: logs go")
    t.good("evctl-artifact", "gc", "--older", "0", "--unfetched", "--yes")
    t.eq(t.sql("SELECT count(*) FROM logs") + t.sql("SELECT count(*) FROM artifacts"), [(0,), (0,)], "with all artifacts")
    t.eq((usage("--by", "buyer"), left("many"), left("lots")), before, "usage and quotas are as they were")
