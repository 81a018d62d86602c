#!/usr/bin/python3
"""evctl-session and evctl-run --session: one sandbox for many runs, its keeper, its ends."""
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, T
from waiting import alive, wait_for

YAML = """name: s
tools:
  - {name: add, entry: "m.py:add", input: {type: object, properties: {a: {type: integer}}, required: [a]}}
  - {name: keep, entry: "m.py:keep"}
  - {name: files, entry: "m.py:files"}
  - {name: spill, entry: "m.py:spill"}
  - {name: sweep, entry: "m.py:sweep"}
  - {name: raises, entry: "m.py:raises"}
  - {name: slow, entry: "m.py:slow", timeout: 25}
  - {name: loop, entry: "m.py:loop", timeout: 1}
  - {name: give, entry: "g.py:give"}
hosts: [a.example]
"""
CODE = '''
import os, time

def add(a):
    print('in add')
    return a + 1

def keep(word=None):
    if word:
        open('/scratch/kept', 'w').write(word)
    return open('/scratch/kept').read() if os.path.exists('/scratch/kept') else None

def spill(where):
    import tempfile
    with tempfile.NamedTemporaryFile(dir=where, delete=False) as f:
        f.write(bytes(20000000))
    return where

def sweep():
    for name in set(os.listdir('/scratch')) - {'outputs'}:
        os.unlink('/scratch/' + name)

def files(n=1):
    for i in range(n):
        open(f'outputs/{i}', 'w').write('x')
    return n

def raises():
    raise ValueError('private')

def slow(s, mark='slow'):
    print('begun ' + mark, flush=True)
    time.sleep(s)
    return s

def loop():
    while True:
        pass
'''
GIVE = '''
import builtins

def give(what='value'):
    v = getattr(builtins, 'EV_' + 'KEYS')['KEY']
    if what == 'keep':
        open('/scratch/key', 'w').write(v)
    if what == 'kept':
        return open('/scratch/key').read()
    if what == 'log':
        print(v)
    return v[::-1]
'''
KEY = "a-key-of-the-test-1"


def below(root):
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as f:
                    children.setdefault(int(f.read().rsplit(")", 1)[1].split()[1]), []).append(int(name))
            except OSError:
                pass
    todo, out = [root], []
    while todo:
        pid = todo.pop()
        out.append(pid)
        todo += children.get(pid, [])
    return out


def end_now(pid):
    """Sets the absolute end of a keeper that was started with --idle 43000; how many such it holds."""
    first, last = next([int(x, 16) for x in line.split()[0].split("-")]
                       for line in open(f"/proc/{pid}/maps") if "[stack]" in line)
    with open(f"/proc/{pid}/mem", "r+b", 0) as mem:
        mem.seek(first)
        words = struct.unpack(f"{(last - first) // 8}q", mem.read(last - first))
        now = int(time.monotonic() * 1000)
        found = [i for i, w in enumerate(words[:-1]) if now + 43100000 < w <= now + 43200000 and
                 any(abs(w - other - 200000) < 1000 for other in (words[i - 1], words[i + 1]))]
        for i in found:
            mem.seek(first + 8 * i)
            mem.write(struct.pack("q", now))
    return len(found)


with T() as t:
    t.init()
    t.cred("KEY", KEY)
    t.good("evctl-host", "add", "a.example", "--bind", "KEY")
    src = t.expert("s", {"m.py": CODE, "g.py": GIVE}, YAML)
    t.good("evctl-expert", "create", "s", "--dir", src)

    def start(*args):
        return t.good("evctl-session", "start", "s", "--draft", *args).out.strip()

    def run(tool, session, *args, **kw):
        more = [x for k, v in kw.items() for x in ("--arg", f"{k}={v}")]
        return t.run("evctl-run", "s", tool, "--session", session, *more, *args)

    def keeper(session):
        return t.sql("SELECT pid FROM sessions WHERE id = ?", session)[0][0]

    def why(session):
        rows = t.run("evctl-session", "list", "--all", "-o", "json").json
        return [r["reason"] for r in rows if r["session"] == session][0]

    # Start, list
    t.ok(t.run("evctl-session", "list", "-o", "json").json == [], "none yet")
    r = t.run("evctl-session", "start", "s", "-o", "json")
    t.ok(r.code == 0 and re.fullmatch(r"s[a-z2-9]{15}", r.json["session"]) and
         r.json["version"] == "draft" and r.json["idle"] == 900 and "draft" in r.err, "start", r)
    s1 = r.json["session"]
    s2 = start("--idle", "600")
    r = t.run("evctl-session", "list", "-o", "json")
    t.ok([x["session"] for x in r.json] in ([s2, s1], [s1, s2]) and
         {x["idle"] for x in r.json} == {900, 600} and all(x["ended"] is None for x in r.json),
         "list", r)
    t.fails(3, "no such expert", "evctl-session", "start", "nope")
    t.fails(3, "a buyer gets no draft by default", "evctl-session", "start", "s", "--buyer", "b1")
    t.fails(2, "an idle time out of range", "evctl-session", "start", "s", "--idle", "0")
    t.fails(3, "no such session", "evctl-run", "s", "add", "--session", "snope", "--arg", "a=1",
            hint="evctl-session list")
    t.fails(3, "no such session to end", "evctl-session", "end", "snope")
    sock = t.home / "sessions" / f"{s1}.sock"
    t.ok(sock.stat().st_mode & 0o777 == 0o600 and sock.parent.stat().st_mode & 0o777 == 0o700,
         "its socket is the owner's")

    # Calls
    r = run("add", s1, "-o", "json", a=1)
    t.ok(r.code == 0 and r.json["result"] == 2 and r.json["session"] == s1 and r.err == "",
         "a call in a session", r)
    r = run("add", s1, "--debug", a=1)
    t.ok(r.code == 0 and r.err == "in add\n", "--debug shows the log from afar", r)
    r = t.run("evctl-log", "runs", "-o", "json")
    t.ok(all(x["session"] == s1 and x["status"] == "ok" for x in r.json) and len(r.json) == 2,
         "its runs are recorded with it", r)
    t.ok(run("keep", s1, word="w1").json == "w1" and run("keep", s1).json == "w1",
         "/scratch lasts through the session")
    t.ok(run("keep", s2).out == "null\n", "and is not another's")
    s3 = t.good("evctl-session", "start", "s").out.strip()
    done = [run("spill", s3, where="/tmp").code for _ in range(6)]
    t.ok(done == [0] * 6, "what six calls forget in /tmp is in nobody's way", done)
    done = [run("spill", s3, where="/scratch").code for _ in range(4)]
    last = t.good("evctl-log", "runs", "--limit", "1", "-o", "json").json[0]
    shown = t.good("evctl-log", "show", last["run"]).out
    t.ok(done == [0, 0, 0, 13] and "left in /scratch" in last["reason"], "what they leave in /scratch adds up, and is told",
         (done, last))
    t.ok(re.search("have left 6[0-4] of 64 MB in /scratch", shown), "with how much it is", shown)
    t.ok(run("sweep", s3).code == 0 and run("spill", s3, where="/scratch").code == 0 and run("sweep", s3).code == 0,
         "a call can remove it")
    t.good("evctl-session", "end", s3)
    r = run("files", s1, "-o", "json", n=3)
    t.ok([a["name"] for a in r.json["artifacts"]] == ["0", "1", "2"], "artifacts", r)
    r = run("files", s1, "-o", "json", n=1)
    t.ok([a["name"] for a in r.json["artifacts"]] == ["0"], "outputs/ does not last past a call", r)
    r = run("raises", s1)
    t.ok(r.code == 11 and "private" not in r.err, "a failure", r)
    r = run("loop", s1)
    t.ok(r.code == 12, "a timeout", r)
    t.ok(run("keep", s1).json == "w1", "and the session goes on after both")
    r = run("files", s1, n=21)
    t.ok(r.code == 13 and r.out == "21\n", "too many outputs", r)
    t.fails(2, "input is checked", "evctl-run", "s", "add", "--session", s1)
    t.fails(3, "tools too", "evctl-run", "s", "nope", "--session", s1)
    lines = "".join(json.dumps({"tool": "add", "input": {"a": a}}) + "\n" for a in range(3))
    r = t.run("evctl-run", "s", "--calls", "-", "--session", s1, stdin=lines)
    t.ok(r.code == 0 and [json.loads(x)["result"] for x in r.out.splitlines()] == [1, 2, 3],
         "--calls in a session", r)

    # Another's
    t.fails(5, "a buyer in the builder's session", "evctl-run", "s", "add", "--session", s1, "--arg",
            "a=1", "--buyer", "b1")
    t.fails(5, "another version", "evctl-run", "s", "add", "--session", s1, "--arg", "a=1",
            "--version", "1")
    t.expert("o", {"m.py": CODE, "g.py": GIVE}, YAML.replace("name: s", "name: o"))
    t.good("evctl-expert", "create", "o", "--dir", t.dir / "o-src")
    t.fails(5, "another expert", "evctl-run", "o", "add", "--session", s1, "--arg", "a=1")
    r = run("add", s1, "--draft", a=1)
    t.ok(r.code == 0, "its own version may be named", r)
    b1 = start("--buyer", "b1")
    t.fails(5, "the builder in a buyer's session", "evctl-run", "s", "add", "--session", b1, "--arg",
            "a=1")
    t.fails(5, "another buyer in it", "evctl-run", "s", "add", "--session", b1, "--arg", "a=1",
            "--buyer", "b2")
    r = t.run("evctl-run", "s", "raises", "--session", b1, "--buyer", "b1")
    t.ok(r.code == 11 and re.fullmatch(r"evctl-run: error: run \w+: failed\n", r.err),
         "the buyer in it", r)

    # The code is the session's
    (src / "m.py").write_text(CODE.replace("a + 1", "a + 100").replace("in add", "anew"))
    (src / "expert.yaml").write_text("name: broken")
    t.ok(run("add", s1, a=1).json == 2, "a session keeps the code that it was started with")
    (src / "expert.yaml").write_text(YAML)
    s3 = start()
    t.ok(run("add", s3, a=1).json == 101, "a new one has the new")

    # Keys are those of the moment
    t.ok(run("give", s1).json == KEY[::-1], "a key")
    t.ok(run("give", s1, what="keep").code == 0, "which the code keeps")
    t.good("evctl-cred", "rotate", "KEY", "--from-file", "-", stdin="quite-another-value")
    t.ok(run("give", s1).json == "quite-another-value"[::-1], "a rotation reaches the next call")
    r = run("give", s1, what="kept")
    t.ok(r.code == 0 and r.json == "[EV_KEYS:KEY]", "the value of before is still blanked", r)
    r = run("give", s1, "--debug", what="log")
    t.ok("quite-another" not in r.err and "****" in r.err, "the log from afar is scrubbed", r)
    t.good("evctl-bind", "clear", "a.example")
    t.ok(run("give", s1).code == 11, "so does a draft's rebinding")
    t.ok(not t.holding(KEY) and not t.holding("quite-another-value"), "no value is on disk")

    # The queue
    def call(session, tool, **kw):
        more = [x for k, v in kw.items() for x in ("--arg", f"{k}={v}")]
        return subprocess.Popen([BIN / "evctl-run", "s", tool, "--session", session, "--debug", *more],
                                env=t.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    long = call(s2, "slow", s=13)
    line = long.stderr.readline()
    t.ok(line == b"begun slow\n", "a long call", line)
    begun = time.monotonic()
    waiting = [call(s2, "add", a=1) for _ in range(3)]
    short = call(s1, "slow", s=1, mark="one")
    t.ok(short.stderr.readline() == b"begun one\n", "a shorter one in another session")
    after = call(s1, "add", a=5)
    out, err = after.communicate(timeout=30)
    t.ok(after.returncode == 0 and out == b"6\n", "a call waits for the one before", (out, err))
    t.ok(short.wait(timeout=30) == 0, "which ends as well")
    codes = [(p.wait(timeout=60), p.stderr.read()) for p in waiting]
    spent = time.monotonic() - begun
    t.ok(all(c == 6 and b"busy" in e for c, e in codes) and 9 < spent < 13,
         "after 10 s in the queue: exit 6", (codes, spent))
    t.ok(long.wait(timeout=60) == 0, "the long call is none the worse for it")
    t.ok(run("keep", s2).out == "null\n", "and the session goes on")
    t.ok(t.sql("SELECT count(*) FROM runs WHERE session = ?", s2)[0][0] == 3,
         "who did not get in left no run")

    # A caller that dies
    p = call(s1, "slow", s=20, mark="dies")
    t.ok(p.stderr.readline() == b"begun dies\n", "a call whose caller dies")
    p.kill()
    p.wait()
    begun = time.monotonic()
    t.ok(run("keep", s1).json == "w1" and time.monotonic() - begun < 9,
         "ends, and the session goes on")
    r = t.run("evctl-log", "runs", "-o", "json").json
    dead = [x for x in r if x["tool"] == "slow" and x["session"] == s1 and x["status"] == "failed"]
    t.ok(len(dead) == 1 and dead[0]["reason"] == "the program that ran it was ended",
         "and its run has an end and a reason", r)

    # Ends
    pid = keeper(s2)
    family = below(pid)
    t.ok(len(family) > 2 and alive(pid), "a keeper and what is below it", family)
    t.ok(t.run("evctl-session", "end", s2).code == 0 and
         wait_for(lambda: not any(map(alive, family))), "end takes all of it down")
    t.ok(not (t.home / "sessions" / f"{s2}.sock").exists() and why(s2) == "it was ended",
         "and says so")
    t.fails(3, "a call after that", "evctl-run", "s", "add", "--session", s2, "--arg", "a=1",
            says="has ended: it was ended", hint="evctl-session start")
    t.fails(3, "another end", "evctl-session", "end", s2)

    family = below(keeper(s3))
    os.kill(keeper(s3), signal.SIGKILL)
    t.ok(wait_for(lambda: not any(map(alive, family))), "a killed keeper takes its sandbox along",
         [p for p in family if alive(p)])
    t.fails(3, "and is noticed by the next call", "evctl-run", "s", "add", "--session", s3, "--arg",
            "a=1", says="its keeper was killed")
    t.ok(why(s3) == "its keeper was killed", "and recorded")

    idle = start("--idle", "1")
    t.ok(wait_for(lambda: not alive(keeper(idle))), "an idle one ends by itself")
    t.ok(why(idle) == "it was idle" and not (t.home / "sessions" / f"{idle}.end").exists(),
         "with its reason", why(idle))

    # Twelve hours cannot be waited for: a keeper's own note of its end is set to now.
    if os.geteuid() == 0:
        old = start("--idle", "43000")
        t.ok(end_now(keeper(old)) == 1, "a session's absolute end, and its idle one, which is sooner")
        r = t.run("evctl-run", "s", "add", "--session", old, "--arg", "a=1")
        t.ok(r.code in (0, 3) and (r.code == 0 or "has ended" in r.err), "a call at that moment is whole, or none", r)
        t.ok(wait_for(lambda: not alive(keeper(old))), "it ends however little idle it was")
        t.ok(why(old) == "its time was up", "with its reason", why(old))

    p = call(s1, "slow", s=20, mark="lost")
    t.ok(p.stderr.readline() == b"begun lost\n", "a call whose keeper dies")
    os.kill(keeper(s1), signal.SIGKILL)
    out, err = p.communicate(timeout=30)
    t.ok(p.returncode == 11, "fails", (out, err))
    run_id = re.search(rb"run (r\w+): failed", err).group(1).decode()
    r = t.run("evctl-log", "show", run_id, "-o", "json").json
    t.ok(r["reason"] == "the session ended during the call", "with the reason", r)

    family = below(keeper(b1))
    inner = [p for p in family[1:] if p != keeper(b1)]
    bwrap = [p for p in inner if open(f"/proc/{p}/comm").read().strip() == "bwrap"]
    t.ok(bwrap, "a session's sandbox", [open(f"/proc/{p}/comm").read() for p in inner])
    os.kill(bwrap[0], signal.SIGKILL)
    t.ok(wait_for(lambda: not any(map(alive, family))), "a killed sandbox ends the session")
    t.ok(why(b1) in ("its sandbox died", "its sandbox was ended by a call"), "with the reason", why(b1))

    t.ok(os.listdir(t.home / "sessions") == [], "nothing is left of any of them",
         os.listdir(t.home / "sessions"))
    t.ok(t.sql("SELECT count(*) FROM runs WHERE status = 'running'")[0][0] == 0,
         "every run has an end")
    t.ok(t.run("evctl-log", "audit", "--verify").code == 0, "the audit chain holds")
