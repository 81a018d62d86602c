#!/usr/bin/python3
"""evctl-run on drafts: results, inputs, the envelope, failures by their word, --calls, --debug."""
import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from waiting import until
from tap import BIN, T

YAML = """name: t
tools:
  - name: add
    entry: m.py:add
    input:
      type: object
      properties: {a: {type: integer}, b: {type: [number, "null"]}, s: {type: string}, o: {type: object}}
      required: [a]
      additionalProperties: false
  - {name: free, entry: "m.py:free"}
  - {name: script, entry: s.py}
  - {name: raises, entry: "m.py:raises"}
  - {name: slow, entry: "m.py:slow", timeout: 1}
  - {name: big, entry: "m.py:big"}
  - {name: hungry, entry: "m.py:hungry", memory: 128M}
  - {name: forks, entry: "m.py:forks"}
  - {name: threads, entry: "m.py:threads"}
  - {name: fill, entry: "m.py:fill"}
  - {name: talks, entry: "m.py:talks"}
  - {name: files, entry: "m.py:files"}
  - {name: shaped, entry: "m.py:shaped", output: {type: object, required: [n], properties: {n: {type: integer}}}}
  - {name: keep, entry: "m.py:keep"}
  - {name: wait, entry: "m.py:wait"}
"""
CODE = '''
import os

def add(a, b=0, s='', o=None):
    print('in add')
    return {'sum': a + (b or 0), 's': s, 'o': o, 'tenth': 0.1}

def free(**kw):
    return kw

def raises():
    raise ValueError('a very private reason')

def slow():
    while True:
        pass

def big():
    return 'x' * 2_000_000

def hungry():
    return len(bytearray(900_000_000))

def forks(n=100):
    import time
    for i in range(n):
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
    return n

def threads(n=100):
    import threading, time
    for i in range(n):
        threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
    return n

def fill(mb=70, places=('/scratch', '/tmp')):
    for place in places:
        with open(place + '/x', 'wb') as f:
            for i in range(mb // len(places)):
                f.write(bytes(1000000))
    return mb

def talks(n=1000000):
    print('x' * n, end='')
    return n

def files(n=2, size=10, fail=False, deep=True, also=None):
    for i in range(n):
        name = f'outputs/d/{i}.txt' if deep else f'outputs/{i:02}.txt'
        os.makedirs(os.path.dirname(name), exist_ok=True)
        open(name, 'wb').write(b'y' * size)
    if also:
        open('outputs/' + also, 'w').write('also')
    if fail:
        raise RuntimeError('after the files')
    return n

def shaped(n):
    return {'n': n}

def wait():
    import time
    print('waiting', flush=True)
    time.sleep(20)

def keep(word=None):
    if word:
        open('/scratch/kept', 'w').write(word)
    return open('/scratch/kept').read() if os.path.exists('/scratch/kept') else None
'''
SCRIPT = "import sys\nprint('got', INPUTS['x'], end='')\nprint('aside', file=sys.stderr)\n"
RUN = r"r[a-z2-9]{15}"


def count(t):
    return t.sql("SELECT count(*) FROM runs")[0][0]


with T() as t:
    t.init()
    src = t.expert("t", {"m.py": CODE, "s.py": SCRIPT}, YAML)
    t.good("evctl-expert", "create", "t", "--dir", src)

    # Results
    r = t.run("evctl-run", "t", "add", "--input", '{"a": 1, "b": 2.5}')
    t.ok(r.code == 0 and r.out == '{"sum": 3.5, "s": "", "o": null, "tenth": 0.1}\n',
         "a function's result is its JSON, and stdout holds nothing else", r)
    t.ok("never published" in r.err and "draft" in r.err, "a note says that the draft ran", r)
    r = t.run(*r.argv)
    t.ok("never published" not in r.err, "once", r)
    r = t.run("evctl-run", "t", "add", "--draft", "--input", '{"a": 1}')
    t.ok(r.code == 0 and r.err == "", "no note when the draft was asked for", r)
    r = t.run("evctl-run", "t", "script", "--input", '{"x": "y"}')
    t.ok(r.code == 0 and r.out == "got y", "a script's result is its output, byte by byte", r)

    # Inputs
    r = t.run("evctl-run", "t", "add", "--arg", "a=4", "--arg", "s=12", "--arg", 'o={"k": [1]}',
              "--arg", "b=null")
    t.ok(r.code == 0 and r.json == {"sum": 4, "s": "12", "o": {"k": [1]}, "tenth": 0.1},
         "--arg: text where the schema says string, JSON elsewhere", r)
    r = t.run("evctl-run", "t", "free", "--arg", "n=3", "--arg", "w=plain words", "--arg", "e=")
    t.ok(r.code == 0 and r.json == {"n": 3, "w": "plain words", "e": ""},
         "--arg: JSON or else text where the schema says nothing", r)
    r = t.run("evctl-run", "t", "free", "--arg", "w=a=b")
    t.ok(r.json == {"w": "a=b"}, "--arg: only the first '=' parts", r)
    t.fails(2, "--arg: no JSON where the schema wants a number", "evctl-run", "t", "add", "--arg",
            "a=one", says="a=...")
    t.fails(2, "--arg without '='", "evctl-run", "t", "add", "--arg", "a")
    t.fails(2, "--arg given twice", "evctl-run", "t", "add", "--arg", "a=1", "--arg", "a=2", hint=False)
    r = t.run("evctl-run", "t", "add", "--input-file", "-", stdin='{"a": 7}')
    t.ok(r.code == 0 and r.json["sum"] == 7, "--input-file -", r)
    path = t.dir / "in.json"
    path.write_text('{"a": 8}')
    r = t.run("evctl-run", "t", "add", "--input-file", path)
    t.ok(r.code == 0 and r.json["sum"] == 8, "--input-file F", r)
    t.fails(3, "--input-file that isn't there", "evctl-run", "t", "add", "--input-file",
            t.dir / "none", hint=False)
    t.fails(2, "--input and --arg", "evctl-run", "t", "add", "--input", "{}", "--arg", "a=1")
    r = t.run("evctl-run", "t", "free", "--input", '{"pi": 3.141592653589793, "u": "\\u00e9"}')
    t.ok(r.json == {"pi": 3.141592653589793, "u": "é"}, "numbers and text arrive whole", r)

    before = count(t)
    t.fails(2, "input that lacks a member", "evctl-run", "t", "add", "--input", "{}", says="input.a")
    t.fails(2, "input of the wrong type", "evctl-run", "t", "add", "--input", '{"a": "1"}',
            says="input.a: expected integer, got string")
    t.fails(2, "input with a stranger", "evctl-run", "t", "add", "--input", '{"a": 1, "z": 1}')
    t.fails(2, "input that is no object", "evctl-run", "t", "free", "--input", "[1]")
    t.fails(2, "input that is no JSON", "evctl-run", "t", "free", "--input", '{"a": 1', says="input:1")
    t.fails(2, "input with something behind it", "evctl-run", "t", "free", "--input", "{} {}")
    t.fails(3, "no such tool", "evctl-run", "t", "ad", hint="did you mean 'add'?")
    t.fails(3, "no such expert", "evctl-run", "nope", "add")
    t.fails(2, "no tool named", "evctl-run", "t", hint="its tools: evctl-expert listing t")
    t.fails(2, "a timeout out of range", "evctl-run", "t", "add", "--timeout", "26")
    t.fails(2, "--draft and --version", "evctl-run", "t", "add", "--draft", "--version", "1")
    t.fails(3, "a version that isn't there", "evctl-run", "t", "add", "--version", "1", "--arg", "a=1")
    t.fails(3, "a buyer gets no draft by default", "evctl-run", "t", "add", "--buyer", "b1", "--arg",
            "a=1")
    t.ok(count(t) == before, "none of these left a run", t.sql("SELECT id, tool FROM runs"))
    t.ok(t.run("evctl-run", "--version").out.startswith("evctl-run "), "--version alone")

    # The envelope
    r = t.run("evctl-run", "t", "files", "--draft", "-o", "json")
    x = r.json
    t.ok(r.code == 0 and r.err == "" and r.out.count("\n") == 1 and list(x) == [
        "run", "expert", "version", "tool", "session", "status", "result", "artifacts", "withheld",
        "ms"], "the envelope has its documented members, on one line", r)
    t.ok(re.fullmatch(RUN, x["run"]) and x["expert"] == "t" and x["version"] == "draft" and
         x["tool"] == "files" and x["session"] is None and x["status"] == "ok" and
         x["result"] == 2 and x["withheld"] == [] and 0 < x["ms"] < 60000, "and says what happened", r)
    t.ok(x["artifacts"] == [{"name": f"d/{i}.txt", "bytes": 10, "type": "text/plain",
                             "inline": False} for i in range(2)], "and names the artifacts", r)
    r = t.run("evctl-run", "t", "add", "--draft", "-o", "json", "--input", '{"a": 1, "b": 0.5}')
    t.ok('"result":{"sum": 1.5, "s": "", "o": null, "tenth": 0.1}' in r.out,
         "the result goes in as the tool gave it", r)
    r = t.run("evctl-run", "t", "script", "--draft", "-o", "json", "--arg", "x=1")
    t.ok(r.json["result"] == "got 1", "a script's result is a string", r)
    r = t.run("evctl-run", "t", "files")
    run = t.sql("SELECT id FROM runs ORDER BY started DESC, rowid DESC LIMIT 1")[0][0]
    t.ok(f"d/0.txt available as a run artifact (evctl-artifact get {run} d/0.txt)" in r.err and
         r.out == "2\n", "artifacts are named on stderr", r)

    # Failures: the run's id and the word, for all; a hint for the owner only
    def fails_with(code, word, what, *args, env=None):
        r = t.run("evctl-run", "t", *args)
        ok = r.code == code and r.out == "" and re.search(
            rf"^evctl-run: error: run {RUN}: {word}$", r.err, re.M)
        t.ok(ok and "private" not in r.err and "Traceback" not in r.err and "/tool" not in r.err,
             f"{what}: {word}, exit {code}", r)
        j = t.run("evctl-run", "t", *args, "-o", "json")
        t.ok(j.code == code and "error" not in j.err and j.json["status"] == word and
             j.json["result"] is None and "private" not in j.out + j.err,
             f"{what}: the envelope, and no error line", j)
        return j.json["run"]

    run = fails_with(11, "failed", "an exception", "raises")
    r = t.run("evctl-log", "show", run)
    t.ok(r.code == 0 and "a very private reason" in r.out and "Traceback" in r.out and
         "failed: the tool raised an error" in r.out, "the owner reads the traceback", r)
    t.fails(2, "a member that the function has no parameter for: nothing begins", "evctl-run", "t", "shaped",
            "--arg", "nope=1", says="input.nope: no such member")
    fails_with(11, "failed", "a result that does not fit", "shaped", "--arg", 'n="x"')
    t.ok(t.run("evctl-run", "t", "shaped", "--arg", "n=5").json == {"n": 5}, "one that does")
    fails_with(12, "timeout", "the tool's own deadline", "slow")
    kinds = {"memory": ("hungry", "out of memory", None), "result": ("big", "the result is too long", None),
             "processes": ("forks", "too many processes or threads", 40),
             "threads": ("threads", "too many processes or threads", 40),
             "disk": ("fill", "no space left to write", 50)}
    for kind, (tool, reason, few) in kinds.items():
        if few:
            r = t.run("evctl-run", "t", tool, "--arg", f"{'mb' if kind == 'disk' else 'n'}={few}")
            t.ok(r.code == 0 and r.json == few, f"as much as is allowed: {kind}", r)
        run = fails_with(13, "limit", kind, tool)
        x = t.good("evctl-log", "show", run, "-o", "json").json
        t.ok(x["reason"].startswith(reason) and x["detail"]["limit"] == ("processes" if kind == "threads" else kind),
             f"the owner is told which limit: {kind}", x)
    for n in (1000000, 1000001):
        r = t.run("evctl-run", "t", "talks", "-o", "json", "--arg", f"n={n}")
        x = t.good("evctl-log", "show", r.json["run"], "-o", "json").json
        whole = len(x["log"]) == 1000000 and "left out here" not in x["log"]
        ends = 800000 < len(x["log"]) <= 1000000 and "bytes of the log are left out here\n" in x["log"]
        t.ok(r.code == 0 and (ends if n > 1000000 else whole) and x["detail"]["log_truncated"] is (n > 1000000),
             f"a log of {n} bytes", (r.code, len(x["log"]), x["detail"]))
    fails_with(11, "failed", "files, then an exception", "files", "--arg", "fail=true")
    r = t.run("evctl-run", "t", "raises", "--draft", "--buyer", "b1")
    t.ok(r.code == 11 and re.fullmatch(rf"evctl-run: error: run {RUN}: failed\n", r.err) and
         r.out == "", "a buyer gets that one line", r)
    r = t.run("evctl-run", "t", "files", "--arg", "fail=true", "--draft", "--buyer", "b1", "-o", "json")
    t.ok(r.code == 11 and r.json["artifacts"] == [], "and no artifacts of a failure", r)
    lost = r.json["run"]
    t.ok([a["name"] for a in t.run("evctl-artifact", "list", lost, "-o", "json").json] ==
         ["d/0.txt", "d/1.txt"], "which are the owner's")
    t.ok(t.run("evctl-artifact", "list", lost, "--buyer", "b1", "-o", "json").json == [],
         "and not the buyer's")
    r = t.run("evctl-run", "t", "slow", "--draft", "--timeout", "25")
    ms = t.sql("SELECT ms FROM runs ORDER BY started DESC, rowid DESC LIMIT 1")[0][0]
    t.ok(r.code == 12 and 900 <= ms < 8000, "--timeout never lengthens the tool's own", ms)

    # Too many outputs
    r = t.run("evctl-run", "t", "files", "--draft", "-o", "json", "--input", '{"n": 21, "deep": false}')
    t.ok(r.code == 13 and r.json["status"] == "limit" and r.json["result"] == 21 and
         [a["name"] for a in r.json["artifacts"]] == [f"{i:02}.txt" for i in range(20)] and
         [w["name"] for w in r.json["withheld"]] == ["20.txt"],
         "one file too many: exit 13, the result stands, the first 20 by name are kept", r)
    r = t.run("evctl-run", "t", "files", "--draft", "--input", '{"n": 21, "deep": false}', "--buyer",
              "b1")
    t.ok(r.code == 13 and r.out == "21\n" and "20.txt withheld" in r.err and
         re.search(rf"error: run {RUN}: limit\n$", r.err), "as text", r)
    r = t.run("evctl-run", "t", "files", "--draft", "-o", "json", "--input", '{"n": 20, "deep": false}')
    t.ok(r.code == 0 and len(r.json["artifacts"]) == 20, "exactly as many as allowed", r)
    r = t.run("evctl-run", "t", "files", "--draft", "-o", "json", "--input",
              '{"n": 1, "size": 5000001, "also": "small"}')
    t.ok(r.code == 13 and [a["name"] for a in r.json["artifacts"]] == ["small"] and
         [w["name"] for w in r.json["withheld"]] == ["d/0.txt"], "one byte too many", r)

    # --outputs
    out = t.dir / "out"
    r = t.run("evctl-run", "t", "files", "--draft", "--outputs", out)
    t.ok(r.code == 0 and (out / "d/0.txt").read_bytes() == b"y" * 10, "--outputs copies them", r)
    runs = t.sql("SELECT count(*) FROM runs")
    t.fails(5, "one that holds something is refused", "evctl-run", "t", "files", "--draft", "--outputs", out,
            says="is not empty", hint="give another one, or add --overwrite")
    t.ok(t.sql("SELECT count(*) FROM runs") == runs, "before anything runs")
    for word in ("--overwrite", "--yes"):
        (out / "d/0.txt").write_text("old")
        r = t.run("evctl-run", "t", "files", "--draft", "--outputs", out, word)
        t.ok(r.code == 0 and (out / "d/0.txt").read_bytes() == b"y" * 10, f"unless told to: {word}", r)
    (t.dir / "empty").mkdir()
    r = t.run("evctl-run", "t", "files", "--draft", "--outputs", t.dir / "empty")
    t.ok(r.code == 0 and (t.dir / "empty/d/0.txt").exists(), "an empty one is taken", r)
    t.ok(t.sql("SELECT count(*) FROM artifacts WHERE fetched IS NOT NULL")[0][0] == 0,
         "and that is no fetch")
    (t.dir / "elsewhere").mkdir()
    trap = t.dir / "trap"
    trap.mkdir()
    (trap / "d").symlink_to(t.dir / "elsewhere")
    r = t.run("evctl-run", "t", "files", "--draft", "--outputs", trap, "--overwrite")
    t.ok(r.code == 0 and r.out == "2\n" and "warning: " in r.err and "evctl-artifact get r" in r.err and
         not list((t.dir / "elsewhere").iterdir()), "--outputs does not write through a link, and the run stays good", r)

    runs = t.sql("SELECT count(*) FROM runs")
    t.fails(1, "--outputs that is no directory", "evctl-run", "t", "files", "--draft", "--outputs", out / "d/0.txt",
            hint=False)
    t.ok(t.sql("SELECT count(*) FROM runs") == runs, "is seen before anything runs")

    # --debug
    r = t.run("evctl-run", "t", "add", "--draft", "--debug", "--arg", "a=1")
    t.ok(r.code == 0 and r.err == "in add\n" and r.json["sum"] == 1, "--debug shows the log", r)
    r = t.run("evctl-run", "t", "add", "--draft", "--arg", "a=1")
    t.ok(r.err == "", "which is not shown without it", r)

    # Interrupted
    p = subprocess.Popen([BIN / "evctl-run", "t", "wait", "--draft", "--debug"], env=t.env,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stderr.readline()
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=20)
    t.ok(p.returncode == -signal.SIGINT and out == b"" and re.search(rb"error: run r\w+: interrupted\n", err),
         "SIGINT ends the call, and then the program", (out, err))
    t.ok(t.sql("SELECT status, reason FROM runs ORDER BY started DESC, rowid DESC LIMIT 1") ==
         [("failed", "its caller was interrupted")], "and the run is recorded")
    for sig in (signal.SIGTERM, signal.SIGHUP):
        p = subprocess.Popen([BIN / "evctl-run", "t", "wait", "--draft", "--debug"], env=t.env,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        p.stderr.readline()
        p.send_signal(sig)
        out, err = p.communicate(timeout=20)
        t.ok(p.returncode == 10 and out == b"" and b": failed\n" in err, f"{sig.name} is answered by exit 10", (out, err))
    for more in ((), ("-j", "2")):
        p = subprocess.Popen([BIN / "evctl-run", "t", "--draft", "--calls", "-", *more], env=t.env, text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        p.stdin.write('{"tool": "add", "input": {"a": 1}}\n' + '{"tool": "wait"}\n' * 3)
        p.stdin.close()
        p.stdin = None
        first = p.stdout.readline()
        until(lambda: more or t.sql("SELECT count(*) FROM runs WHERE ended IS NULL") == [(1,)], "the second call is on", 60)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=60)
        t.ok(p.returncode == -signal.SIGINT and '"status":"ok"' in first and "error: interrupted\n" in err, f"--calls {' '.join(more)} too", (p.returncode, out, err))

    # --calls
    lines = [{"tool": "add", "input": {"a": 1}}, {"tool": "raises"}, {"tool": "nope"},
             {"tool": "add", "input": {}}, {"tool": "files"}, {"tool": "keep", "input": {"word": "w1"}},
             {"tool": "keep"}, {"tool": "files", "input": {"n": 0}}]
    text = "\n".join(map(json.dumps, lines)) + "\nnot json\n\n" + json.dumps(lines[0]) + "\n"
    r = t.run("evctl-run", "t", "--draft", "--calls", "-", stdin=text)
    got = [json.loads(line) for line in r.out.splitlines()]
    t.ok(len(got) == 10 and r.code == 11, "--calls: a line out for each, the first failure's code", r)
    t.ok([g.get("status") or g["error"]["code"] for g in got] ==
         ["ok", "failed", 3, 2, "ok", "ok", "ok", "ok", 2, "ok"], "--calls goes on after failures", r)
    t.ok(got[0]["result"]["sum"] == 1 and [a["name"] for a in got[4]["artifacts"]] ==
         ["d/0.txt", "d/1.txt"] and got[7]["artifacts"] == [],
         "outputs/ does not last past a call", got)
    t.ok(got[6]["result"] == "w1", "/scratch lasts through the session", got)
    r = t.run("evctl-run", "t", "keep", "--draft")
    t.ok(r.out == "null\n" and "note: the function returned nothing" in r.err, "and not past it", r)
    path = t.dir / "calls"
    path.write_text(json.dumps({"tool": "keep", "input": {"word": "k"}}) + "\n")
    r = t.run("evctl-run", "t", "--draft", "--calls", path)
    t.ok(r.code == 0 and json.loads(r.out)["result"] == "k", "--calls F", r)
    t.fails(3, "--calls that isn't there", "evctl-run", "t", "--calls", t.dir / "none", hint=False)
    t.fails(1, "--calls that is a directory", "evctl-run", "t", "--draft", "--calls", t.dir, hint=False)
    text = "\n".join(json.dumps({"tool": tool}) for tool in ("files", "files", "add"))
    r = t.run("evctl-run", "t", "--draft", "--calls", "-", "--outputs", t.dir / "calls.out", stdin=text)
    t.ok(r.code == 2 and len(r.out.splitlines()) == 3 and "exists already" in r.err,
         "--calls goes on after outputs that are there already", r)
    t.fails(2, "--calls with a tool", "evctl-run", "t", "add", "--calls", "-")

    # The draft is what is on disk
    (src / "m.py").write_text(CODE.replace("'in add'", "'anew'"))
    r = t.run("evctl-run", "t", "add", "--draft", "--debug", "--arg", "a=1")
    t.ok(r.err == "anew\n", "a draft is read afresh", r)
    (src / "expert.yaml").write_text(YAML + "nonsense: 1\n")
    t.fails(2, "a broken expert.yaml", "evctl-run", "t", "add", "--draft", says="expert.yaml:")

    t.ok(t.sql("SELECT count(*) FROM runs WHERE status = 'running' OR ended IS NULL")[0][0] == 0,
         "every run has an end")
    r = t.run("evctl-log", "audit", "--verify")
    t.ok(r.code == 0, "the audit chain holds", r)
