#!/usr/bin/python3
"""The gate from inside a sandbox, through evctl-run: brought clients, wildcards, declared ports,
sealed credentials, and a key on its way to the wrong host."""
import os, sys
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)),
                os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib")]
from gatelib import Authority, Upstream, answering, calls_handler, echo, at_end, HERE
from tap import BIN, T
from waiting import alive, until
import base64, json, shutil, subprocess

PACKAGES = ("requests", "urllib3", "idna", "certifi", "charset_normalizer", "chardet", "httpx", "httpcore",
            "h11", "anyio", "sniffio", "rfc3986")
REAL, OPEN = "sk_live_A1b2C3d4E5f6G7h8", "open-key-0123456789abcdef"
TOOL = '''
import json, urllib.error, urllib.request

def get(url, headers={}, data=None):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers, data=data), timeout=15) as r:
            return [r.status, json.loads(r.read())]
    except urllib.error.HTTPError as e:
        return [e.code, e.headers["X-Evctl-Gate"]]
    except urllib.error.URLError as e:
        return [0, type(e.reason).__name__]

def sealed():
    k = EV_KEYS["SEALED"]
    import base64
    basic = base64.b64encode(b"me:" + k.encode()).decode()
    header = get("https://sealed.x.example/?q=" + k, {"X-Key": k})
    get("https://sealed.x.example/", {"Authorization": "Basic " + basic})
    get("https://sealed.x.example/", data=json.dumps({"k": k}).encode())
    # by number: the result is searched for keys on its way out
    return {"seen": [ord(c) for c in k], "echo": any(k in h for h in header[1]["headers"]), "elsewhere": get("https://free.x.example/", {"X-Key": k})}

def stolen():
    k = EV_KEYS["OPEN"]
    import base64
    return {"own": get("https://open.x.example/", {"X-Key": k})[0],
            "raw": get("https://free.x.example/", {"X-Key": k}),
            "hex": get("https://free.x.example/", data=k.encode().hex().encode()),
            "base64": get("https://free.x.example/?" + base64.b64encode(b"ab" + k.encode()).decode()),
            "plain": get("http://open.x.example/", {"X-Key": k})}

def hints():
    k, out = EV_KEYS["OPEN"], []
    for url in ("https://a.wild.x.example/", "https://odd.x.example:8443/", "http://open.x.example/"):
        try:
            urllib.request.urlopen(urllib.request.Request(url, headers={"X-Key": k}), timeout=15)
        except urllib.error.HTTPError as e:
            out.append(json.loads(e.read())["hint"])
    try:
        urllib.request.urlopen("http://odd.x.example:8443/", timeout=15)
    except urllib.error.HTTPError as e:
        out.append(json.loads(e.read())["hint"])
    return out

def crowd():
    import threading
    out = []
    def some(i):
        for j in range(5):
            url = "https://open.x.example/t%d-%d" % (i, j)
            got = get(url, {"X-Key": EV_KEYS["OPEN"], "X-Me": str(i)})
            out.append(got[0] == 200 and "X-Me: %d" % i in got[1]["headers"] and "/t%d-%d " % (i, j) in got[1]["line"])
    threads = [threading.Thread(target=some, args=(i,)) for i in range(60)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    return [len(out), sum(out)]

def held():
    import os, time
    first = get("https://free.x.example/")[0]
    print("begun", flush=True)
    while get("https://free.x.example/")[0] == 200:
        time.sleep(.05)
    late = [get(u)[0] for u in ("https://free.x.example/", "https://a.wild.x.example/", "http://free.x.example/")]
    print("closed" if first == 200 and late == [0, 0, 0] else late, flush=True)

def names():
    return {u: get(u)[0] for u in ("https://free.x.example./", "https://a.wild.x.example./", "https://a.wild.x.example/", "https://a.b.wild.x.example/",
            "https://wild.x.example/", "https://notwild.x.example/", "https://odd.x.example:8443/",
            "https://odd.x.example/", "https://other.example/", "http://bare.x.example:8443/",
            "https://bare.x.example:8443/", "http://bare.x.example/")}
'''



def is_gate(pid, parent):
    try:
        stat = open("/proc/%s/stat" % pid).read()
    except OSError:
        return False
    return "(evctl-egress)" in stat and stat.rpartition(")")[2].split()[1] == str(parent)


with T() as t:
    ca = Authority("up")
    calls = calls_handler()
    up = Upstream(ca.cert("*.x.example", "*.wild.x.example", "*.b.wild.x.example"), calls)
    echoes = Upstream(ca.cert("*.x.example", "*.wild.x.example", "*.b.wild.x.example"), answering(echo))
    plain = Upstream(None, calls, tls=False)
    t.init()
    t.cred("SEALED", REAL, "--sealed")
    t.cred("OPEN", OPEN)

    def host(name, to, *more):
        t.good("evctl-host", "add", name, "--connect-to", to.addr, "--allow-private", "--ca-file",
               ca.file, *more)
    host("api.x.example", up)
    host("plain.x.example", plain)
    for name, key in (("sealed.x.example", "SEALED"), ("open.x.example", "OPEN"), ("free.x.example", None),
                      ("*.wild.x.example", None), ("odd.x.example:8443", None)):
        host(name, echoes, *(("--bind", key) if key else ()))
    bare = Upstream(None, answering(echo), tls=False)
    t.good("evctl-host", "add", "bare.x.example:8443", "--plain", "--connect-to", bare.addr, "--allow-private")
    src = t.expert("net", {"net.py": TOOL, "calls.py": open(os.path.join(HERE, "calls.py")).read()},
                   "name: net\ndescription: d\ntools:\n  - {name: calls, entry: calls.py, timeout: 25}\n" +
                   "".join("  - {name: %s, entry: 'net.py:%s', timeout: 25}\n" % (n, n)
                           for n in ("sealed", "stolen", "names", "hints", "crowd", "held")))
    brought = [p for p in PACKAGES if os.path.isdir("/usr/lib/python3/dist-packages/" + p)]
    for p in brought:
        shutil.copytree("/usr/lib/python3/dist-packages/" + p, src / p, symlinks=False,
                        ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    if os.path.exists("/usr/lib/python3/dist-packages/typing_extensions.py"):
        shutil.copy("/usr/lib/python3/dist-packages/typing_extensions.py", src)
    t.good("evctl-expert", "create", "net", "--dir", src)
    t.good("evctl-expert", "attach", "net", "api.x.example", "plain.x.example", "sealed.x.example",
           "open.x.example", "free.x.example", "*.wild.x.example", "odd.x.example:8443", "bare.x.example:8443")

    r = t.run("evctl-run", "net", "names")
    got = json.loads(r.out) if r.code == 0 else {}
    t.ok(got == {"https://free.x.example./": 200, "https://a.wild.x.example./": 200, "https://a.wild.x.example/": 200, "https://a.b.wild.x.example/": 200, "https://wild.x.example/": 0,
                 "https://notwild.x.example/": 0, "https://odd.x.example:8443/": 200, "https://odd.x.example/": 403,
                 "https://other.example/": 0, "http://bare.x.example:8443/": 200, "https://bare.x.example:8443/": 403,
                 "http://bare.x.example/": 403},
         "wildcards at any depth, declared ports, and nothing else", r)

    r = t.run("evctl-run", "net", "sealed")
    got = json.loads(r.out) if r.code == 0 else {}
    stand = "".join(map(chr, got.get("seen", [])))
    t.ok(len(stand) == len(REAL) and stand != REAL and REAL not in r.out, "code sees a stand-in", r)
    sent = echoes.bytes()
    t.ok(b"X-Key: " + REAL.encode() in sent and b"/?q=" + REAL.encode() in sent, "the host sees the value")
    t.ok(base64.b64encode(b"me:" + REAL.encode()) in sent, "inside Basic too")
    t.ok(b'{"k": "' + REAL.encode() + b'"}' in sent, "and in the body")
    t.ok(stand and stand.encode() not in sent and got.get("elsewhere") == [403, "leak"],
         "the stand-in goes nowhere, to another host least of all", r)
    t.ok(got.get("echo") is True, "what comes back has the stand-in again", r)

    r = t.run("evctl-run", "net", "stolen")
    t.ok(r.code == 0 and json.loads(r.out) == {"own": 200, "raw": [403, "leak"], "hex": [403, "leak"],
                                               "base64": [403, "leak"], "plain": [403, "plain"]},
         "a key goes to its own host only", r)

    r = t.run("evctl-run", "net", "hints", "-o", "json")
    t.ok(r.code == 0 and r.json["result"] == [
        "evctl-bind set *.wild.x.example CRED", "evctl-bind set odd.x.example:8443 CRED",
        "evctl-host set open.x.example --plain yes", "evctl-host set odd.x.example:8443 --plain yes"],
         "a refusal's hint names the row that there is", r)
    x = t.good("evctl-log", "show", r.json["run"], "-o", "json").json["detail"]["egress"]
    t.ok((x["requests"], x["refused"], x["failed"]) == (4, 4, 0), "the run's record sums up its egress", x)
    for command in (["evctl-host", "set", "odd.x.example:8443", "--plain", "yes"],
                    ["evctl-host", "set", "odd.x.example:8443", "--plain", "no"],
                    ["evctl-bind", "set", "*.wild.x.example", "OPEN"], ["evctl-bind", "clear", "*.wild.x.example"]):
        r = t.run(*command)
        t.ok(r.code == 0, "and is a command: " + " ".join(command), r)

    r = t.run("evctl-run", "net", "crowd")
    t.ok(r.code == 0 and r.json == [300, 300], "60 threads, each its own answers", r)

    # The gate gone while a call runs: no way out
    p = subprocess.Popen([BIN / "evctl-run", "net", "held", "--debug", "-o", "json"], env=t.env,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while (line := p.stderr.readline()) not in (b"begun\n", b""):
        pass
    gates = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_gate(pid, p.pid)]
    t.ok(line == b"begun\n" and len(gates) == 1, "a run is held, with one gate", (line, gates))
    for pid in gates:
        os.kill(pid, 9)
    out, err = p.communicate(timeout=60)
    r = json.loads(out or b"{}")
    t.ok(r.get("status") == "failed" and r.get("result") is None and p.returncode == 11,
         "its gate is killed: the run fails", (out, err))
    t.ok(r.get("ms", 99999) < 15000, "at once, though it would have gone on", r)
    log = t.good("evctl-log", "show", r["run"], "-o", "json").json
    t.ok(log["reason"] == "the gate ended during the call", "with a word of its own", log)
    t.ok(log["egress"] and {(e["host"], e["verdict"]) for e in log["egress"]} == {("free.x.example", "allowed")} and
         log["detail"]["egress"]["requests"] == len(log["egress"]), "and the events until then are kept", log)

    # So in a session, which ends; and one of a program's own begins anew
    def threads(pid):
        try:
            return len(os.listdir("/proc/%d/task" % pid))
        except OSError:
            return 0

    def kill_gate(parent):
        gates = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_gate(pid, parent)]
        for pid in gates:
            os.kill(pid, 9)
            until(lambda: not alive(pid) and threads(pid) <= 1, "its end", 10)
        return len(gates)

    def keeper_of(sid):
        return t.sql("SELECT pid FROM sessions WHERE id = ?", sid)[0][0]
    for when in ("during a call", "between calls"):
        sid = t.good("evctl-session", "start", "net", "--draft").out.strip()
        t.ok(t.run("evctl-run", "net", "names", "--session", sid).code == 0, "a session, and a call in it")
        keeper = keeper_of(sid)
        if when == "during a call":
            p = subprocess.Popen([BIN / "evctl-run", "net", "held", "--session", sid, "--debug", "-o", "json"], env=t.env,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            while (line := p.stderr.readline()) not in (b"begun\n", b""):
                pass
        t.eq(kill_gate(keeper), 1, "its gate is killed " + when)
        if when == "during a call":
            r = json.loads(p.communicate(timeout=60)[0])
            log = t.good("evctl-log", "show", r["run"], "-o", "json").json
            t.ok(log["status"] == "failed" and log["reason"] == "the gate ended during the call" and log["egress"],
                 "the call ends with that, and its events are kept", log)
        until(lambda: not t.run("evctl-session", "list", "-o", "name").out.split(), "the end of the session", 20)
        t.eq(t.sql("SELECT reason FROM sessions WHERE id = ?", sid), [("its gate died",)], "and the session ends, for that reason")

    p = subprocess.Popen([BIN / "evctl-run", "net", "--calls", "-", "--draft"], env=t.env, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ask(tool):
        p.stdin.write(json.dumps({"tool": tool}).encode() + b"\n")
        p.stdin.flush()
    ask("names")
    first = json.loads(p.stdout.readline())
    t.ok(first["status"] == "ok" and kill_gate(p.pid) == 1, "calls of one program: its gate is killed between two", first)
    ask("names")
    again = json.loads(p.stdout.readline())
    t.ok(again.get("status") == "ok" and again["result"] == first["result"], "and the next call has another", again)
    p.stdin.close()
    t.eq(p.wait(20), 0, "without an error")

    # No gate to start: exit 8, and nothing was run
    if os.geteuid() == 0:
        runs = t.sql("SELECT count(*) FROM runs")
        for cover in ("/dev/null", "/bin/false"):
            script = 'mount --bind %s "$1" && shift && exec "$@"' % cover
            r = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", BIN / "evctl-egress", BIN / "evctl-run",
                                "net", "names"], env=t.env, capture_output=True, text=True)
            t.ok(r.returncode == 8 and r.stdout == "" and "error: " in r.stderr,
                 "%s for a gate: exit 8" % cover, r)
        t.ok(t.sql("SELECT count(*) FROM runs") == runs, "and no run of it")

    r = t.run("evctl-run", "net", "calls", "-o", "json")
    result = r.json.get("result") if r.code == 0 else None
    rows = json.loads(result) if isinstance(result, str) else result or []
    t.ok(r.code == 0 and len(rows) > 10, "real clients in the sandbox", r)
    for name, good, note in rows:
        if good is None:
            t.skip(name, note)
        else:
            t.ok(good, "inside: " + name, note)
    log = t.run("evctl-log", "egress", r.json["run"])
    t.ok(log.code == 0 and "/n99" in log.out and "api.x.example" in log.out and "?" not in log.out,
         "every request is in the log of the run", log.out[:2000])
    for stop in reversed(at_end):
        stop()
