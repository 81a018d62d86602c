#!/usr/bin/python3
"""The broker at the shell: what goes out, what comes back without the key, what is refused."""
import base64
import gzip
import json
import os
import sqlite3
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "mcp")]
sys.dont_write_bytecode = True
from api import PNG, Api, echoes
from certs import Authority
from leaks import holds
from tap import BIN, T

NASTY = 'sk/live+012=&"<>~%wx/Z-_Q?'
PLAIN = "tok0123456789ABCDEFabcdef"
SOURCE = "def one():\n    first = 'alpha'\n    second = first + 'beta'\n    return second * 3\n"
MANIFEST = """name: {0}
description: d
tools:
  - name: one
    description: one
    entry: a.py:one
    input: {{type: object}}
"""


def echo_checks(t, api, call, key, label):
    """Every way in which an API may echo the key; the control is what it really sent."""
    seen = {}
    for name, (status, headers, body) in echoes(key).items():
        if name == "header-name" and key == NASTY:
            continue
        sent = body + json.dumps([list(x) for x in headers.items()]).encode()
        if headers.get("Content-Encoding") == "deflate":
            sent += __import__("zlib").decompress(body)
        if not holds(key, sent):
            t.ok(False, f"control: {label} {name} holds the key", sent[:200])
        r = call("GET", f"https://api.test/echo/{name}", "-o", "json")
        raw = call("GET", f"https://api.test/echo/{name}")
        seen[name] = r
        dirty = [x for x in (r, raw) if holds(key, x.stdout) or holds(key, x.stderr)]
        t.ok(not dirty, f"{label}: nothing left of the key: {name}", (r.stdout, r.stderr, raw.stdout))
    return seen


with T() as t:
    t.init()
    pub = t.expert("e1", {"a.py": SOURCE}, MANIFEST.format("e1"))
    t.good("evctl-expert", "create", "e1", "--dir", pub)
    t.good("evctl-expert", "create", "e2", "--dir", t.expert("e2", {"a.py": SOURCE},
                                                            MANIFEST.format("e2")))
    ca = Authority(t.dir)
    api = Api(ca, "api.test", "two.test")

    def add(name, key, *more, auth="bearer", host="api.test", env="API_KEY"):
        t.good("evctl-conn", "add", name, "--host", host, "--env", env, "--auth", auth,
               "--allow-private", "--connect-to", api.at, "--ca-file", ca.file, *more,
               *([] if key is None else ["--from-file", "-"]), stdin=key or "")

    def raw(*args, **kw):
        return subprocess.run([str(BIN / "evctl-conn"), *args], env=t.env, capture_output=True,
                              timeout=60, **kw)

    def call(method, url, *more, name="main", expert="e1", **kw):
        return raw("call", expert, name, method, url, *more, **kw)

    add("main", NASTY)
    add("plain", PLAIN, auth="header:X-Api-Key", host="two.test")
    t.good("evctl-conn", "grant", "main", "e1", "--payer", "builder")
    t.good("evctl-conn", "grant", "plain", "e1", "--payer", "builder")

    # ---- what goes out
    r = call("GET", "https://API.Test/a%2Fb?q=1#part", "-o", "json")
    if r.returncode:
        t.ok(False, "the first call", r)
    got, seen = json.loads(r.stdout), api.seen[-1]
    t.ok(r.returncode == 0 and (got["status"], got["body"]) == (200, "hello"), "an answer", r)
    t.ok(seen.path == "/a%2Fb?q=1" and seen.method == "GET", "path and query as they were", seen.path)
    t.ok(seen.one("authorization") == "Bearer " + NASTY, "the key in Authorization", seen.headers)
    t.ok(seen.one("host") == "api.test", "the Host of the URL", seen.headers)
    r = call("GET", "https://api.test/")
    t.ok(r.stdout == b"hello" and r.stderr == b"", "text: the body and nothing else", r)
    r = call("GET", "https://two.test/", name="plain")
    t.ok(api.seen[-1].one("x-api-key") == PLAIN and not api.seen[-1].all("authorization"),
         "the key in the named header", api.seen[-1].headers)

    own = ["Authorization: Bearer mine", "authorization: Basic bWluZQ==", "Host: evil.test",
           "Connection: x-hop, close", "X-Hop: 1", "Keep-Alive: 9", "Proxy-Authorization: Basic eA==",
           "Proxy-Thing: 1", "TE: trailers", "Trailer: X", "Transfer-Encoding: chunked",
           "Upgrade: websocket", "Content-Length: 3", "Cookie: s=1", "X-Forwarded-For: 10.0.0.1",
           "Forwarded: for=1", "Via: 1.1 x", "Expect: 100-continue", "Accept-Encoding: br",
           "X-Api-Key: mine", "X-Mine: kept", "Accept: application/json", "X-Empty:"]
    args = [a for h in own for a in ("--header", h)]
    call("POST", "https://api.test/", *args, "--data", '{"a": 1}')
    seen = api.seen[-1]
    t.ok(seen.all("authorization") == ["Bearer " + NASTY], "the caller's Authorization is replaced",
         seen.headers)
    t.ok(seen.all("host") == ["api.test"], "its Host is dropped", seen.headers)
    gone = ("x-hop", "keep-alive", "proxy-authorization", "proxy-thing", "te", "trailer",
            "transfer-encoding", "upgrade", "cookie", "x-forwarded-for", "forwarded", "via", "expect")
    t.ok(not any(seen.all(n) for n in gone), "hop-by-hop, proxy and cookie headers are dropped",
         seen.headers)
    t.ok("br" not in str(seen.one("accept-encoding")), "only encodings that can be undone are asked for")
    t.ok((seen.one("x-mine"), seen.one("accept"), seen.all("x-empty")) ==
         ("kept", "application/json", [""]), "control: other headers go", seen.headers)
    t.ok(seen.body == b'{"a": 1}' and seen.one("content-type") == "application/json", "the body", seen)
    call("POST", "https://two.test/", *args, "--data", "x", name="plain")
    seen = api.seen[-1]
    t.ok(seen.all("x-api-key") == [PLAIN] and not seen.all("authorization"),
         "header auth: the caller's own is replaced, its Authorization dropped", seen.headers)
    call("PUT", "https://api.test/", "--data", "@-", "--header", "Content-Type: x/y",
         input=bytes(range(256)))
    t.ok(api.seen[-1].body == bytes(range(256)) and api.seen[-1].one("content-type") == "x/y",
         "a body from stdin, byte for byte", api.seen[-1].body)
    (t.dir / "body").write_bytes(b"z" * 256000)
    call("PATCH", "https://api.test/", "--data", f"@{t.dir}/body")
    t.ok(api.seen[-1].body == b"z" * 256000 and api.seen[-1].method == "PATCH", "256 KB go")
    call("DELETE", "https://api.test/x")
    t.ok(api.seen[-1].method == "DELETE" and not api.seen[-1].all("content-length"), "no body: none")
    env = {**t.env, "HTTPS_PROXY": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1"}
    r = subprocess.run([str(BIN / "evctl-conn"), "call", "e1", "main", "GET", "https://api.test/"],
                       env=env, capture_output=True)
    t.ok(r.returncode == 0, "proxies in the environment are ignored", r)

    # ---- what comes back
    r = call("GET", "https://api.test/status/404", "-o", "json")
    t.ok(r.returncode == 0 and json.loads(r.stdout)["status"] == 404, "a 404 is an answer, exit 0", r)
    r = call("GET", "https://api.test/status/500")
    t.ok(r.returncode == 0 and r.stdout == b"status 500" and b"500" in r.stderr, "so is a 500", r)
    before = len(api.seen)
    r = call("GET", "https://api.test/echo/location", "-o", "json")
    t.ok(json.loads(r.stdout)["status"] == 302 and len(api.seen) == before + 1,
         "a redirect is handed back, not followed", r)
    r = call("GET", "https://api.test/json", "-o", "json")
    got = json.loads(r.stdout)
    t.ok(got["headers"].get("x-a") == "1" and json.loads(got["body"]) == {"fine": True} and
         "encoding" not in got, "headers and body", got)
    r = call("GET", "https://api.test/bytes", "-o", "json")
    got = json.loads(r.stdout)
    t.ok(got["encoding"] == "base64" and base64.b64decode(got["body"]) == bytes(range(256)),
         "what is not UTF-8 comes as base64", got)
    t.ok(call("GET", "https://api.test/bytes").stdout == bytes(range(256)), "and as text raw")
    r = call("HEAD", "https://api.test/json", "-o", "json")
    t.ok(json.loads(r.stdout)["body"] == "" and json.loads(r.stdout)["status"] == 200, "HEAD", r)

    got = echo_checks(t, api, call, NASTY, "nasty")
    t.ok(json.loads(got["raw"].stdout)["body"] == "you sent Bearer " + "*" * len(NASTY),
         "stars of the same length stand for it", got["raw"].stdout)
    t.ok(json.loads(got["gzip"].stdout)["body"] == "you sent " + "*" * len(NASTY), "gzipped too")
    t.ok("content-encoding" not in json.loads(got["gzip"].stdout)["headers"], "which is undone")
    t.ok(json.loads(json.loads(got["json"].stdout)["body"]) ==
         {"authorization": "Bearer " + "*" * len(json.dumps(NASTY)[1:-1])}, "JSON stays JSON", got["json"].stdout)
    t.ok(json.loads(got["location"].stdout)["headers"]["location"].startswith("https://api.test/x?k="),
         "the rest of a Location stays", got["location"].stdout)
    call2 = lambda m, u, *a: call(m, u.replace("api.test", "two.test"), *a, name="plain")
    echo_checks(t, api, call2, PLAIN, "plain")

    # ---- caps and time
    def fails(code, what, *args, says="", sent=0, **kw):
        before = len(api.seen)
        r = call(*args, **kw)
        t.ok(r.returncode == code and says.encode() in r.stderr and r.stdout == b"" and
             len(api.seen) - before == sent, what, (r, len(api.seen) - before))
        return r

    t.ok(len(call("GET", "https://api.test/size/1000000").stdout) == 1000000, "1 MB comes back")
    fails(13, "a byte more is refused", "GET", "https://api.test/size/1000001", says="over 1 MB", sent=1)
    t.ok(len(call("GET", "https://api.test/gzsize/1000000").stdout) == 1000000, "counted when decoded")
    fails(13, "also a small one that grows", "GET", "https://api.test/gzsize/9000000",
          says="unpacked", sent=1)
    (t.dir / "body").write_bytes(b"z" * 256001)
    fails(2, "a request of a byte over 256 KB", "POST", "https://api.test/", "--data",
          f"@{t.dir}/body", says="256 KB")
    begun = time.monotonic()
    fails(12, "silence ends after 20 s", "GET", "https://api.test/hang", sent=1)
    t.ok(19 < time.monotonic() - begun < 23, "and not before or long after", time.monotonic() - begun)

    # ---- refused before anything is dialled
    deny = lambda what, url, name="main", expert="e1": fails(
        15, what, "GET", url, says="api.test", name=name, expert=expert)
    r = deny("a host that is not on the list", "https://evil.test/")
    t.ok(b"evil.test" in r.stderr, "names the host as well", r)
    deny("a name below it", "https://x.api.test/")
    deny("a longer name", "https://api.test.evil.test/")
    deny("another port", "https://api.test:8443/")
    deny("an address", "https://127.0.0.1/")
    deny("an address in brackets", "https://[::1]/")
    deny("an address as a number", "https://2130706433/")
    deny("plain HTTP", "http://api.test:443/")
    deny("a connection that was not granted", "https://api.test/", expert="e2")
    for url in ("https://api.test@evil.test/", "https://user:pw@api.test/", "//evil.test/", "@evil.test",
                "https://api.test//evil.test/", "https://api.test\\@evil.test/", "https://api.test/a b",
                "https://api.test/\r\nX: y", "https://api.test/é", "ftp://api.test/", "file:///etc/passwd",
                "https://", "https:///x", "https://api.test:0/", "https://api.test:+443/",
                "https://api.test:44x/", "https://api.test:/", "https://api.test:99999/", "api.test",
                "https://api.test/" + "a" * 9000):
        fails(2, f"malformed: {url[:40]!r}", "GET", url)
    for method in ("GE T", "", "GET\r\nX:", "TRACE", "CONNECT", "x" * 40):
        fails(2, f"not a method: {method[:9]!r}", method, "https://api.test/")
    for header in ("X", "X y: 1", ": 1", "X: a\r\nAuthorization: b", "X: \x01", "X\n: 1"):
        fails(2, f"not a header: {header!r}", "GET", "https://api.test/", "--header", header)
    fails(3, "no such connection", "GET", "https://api.test/", name="nope")
    t.good("evctl-conn", "set", "main", "--allow-private", "no")
    r = fails(15, "a private address that is not allowed", "GET", "https://api.test/", says="address")
    t.good("evctl-conn", "set", "main", "--allow-private", "yes", "--ca-file", "none")
    fails(1, "an unknown CA: no request", "GET", "https://api.test/", says="certificate")
    t.good("evctl-conn", "set", "main", "--ca-file", ca.file)
    t.ok(call("GET", "https://api.test/").returncode == 0, "control: as it was, it goes")

    # ---- live: host list, grant, payer, key
    t.good("evctl-conn", "set", "main", "--host", "two.test")
    fails(15, "the host list is that of the moment", "GET", "https://api.test/", says="two.test")
    t.good("evctl-conn", "set", "main", "--host", "api.test")
    t.good("evctl-conn", "revoke", "main", "e1")
    deny("a grant that was taken back", "https://api.test/")
    t.good("evctl-conn", "grant", "main", "e1", "--payer", "buyer")
    r = fails(14, "the buyer's key is missing", "GET", "https://api.test/", says="API_KEY")
    t.ok(b"evctl-conn supply main --expert e1 --buyer builder" in r.stderr, "and how to bring it", r)
    sup = lambda b, key: t.good("evctl-conn", "supply", "main", "--expert", "e1", "--buyer", b,
                                "--from-file", "-", stdin=key)
    sup("builder", "builders-own-key-0001")
    call("GET", "https://api.test/")
    t.ok(api.seen[-1].one("authorization") == "Bearer builders-own-key-0001",
         "the builder's supplied key, not the stored one", api.seen[-1].headers)
    fails(2, "what is no name, before the state is opened", "GET", "https://api.test/", "--buyer", "-1",
          says="not a name for a buyer")
    fails(3, "a buyer needs a published expert", "GET", "https://api.test/", "--buyer", "ann")
    t.good("evctl-expert", "publish", "e1")
    fails(14, "one buyer's key is not another's", "GET", "https://api.test/", "--buyer", "ann",
          says="API_KEY")
    sup("ann", "anns-own-key-00000001")
    sup("bob", "bobs-own-key-00000002")
    for b, key in (("ann", "anns-own-key-00000001"), ("bob", "bobs-own-key-00000002")):
        call("GET", "https://api.test/", "--buyer", b)
        t.ok(api.seen[-1].one("authorization") == "Bearer " + key, f"{b} pays with {b}'s key")
    t.good("evctl-conn", "set", "main", "--host", "api.test", "--host", "two.test")
    fails(14, "a wider list needs the key again", "GET", "https://api.test/", "--buyer", "ann",
          says="two.test")
    sup("ann", "anns-own-key-00000001")
    t.ok(call("GET", "https://two.test/", "--buyer", "ann").returncode == 0, "supplied again: it goes")
    t.good("evctl-conn", "set", "main", "--host", "api.test")
    t.ok(call("GET", "https://api.test/", "--buyer", "ann").returncode == 0, "a narrower one does not")
    t.good("evctl-conn", "withdraw", "main", "--expert", "e1", "--buyer", "ann")
    fails(14, "withdrawn", "GET", "https://api.test/", "--buyer", "ann", says="API_KEY")
    t.good("evctl-conn", "grant", "main", "e1", "--payer", "builder")
    call("GET", "https://api.test/", "--buyer", "ann")
    t.ok(api.seen[-1].one("authorization") == "Bearer " + NASTY, "the payer is that of the moment")
    t.good("evctl-conn", "rotate", "main", "--from-file", "-", stdin="rotated-key-0123456")
    call("GET", "https://api.test/")
    t.ok(api.seen[-1].one("authorization") == "Bearer rotated-key-0123456", "and so is the key")

    # ---- the expert's source
    lines = SOURCE.splitlines()
    r = call("POST", "https://api.test/source", "--data", "\n".join(lines[1:4]))
    t.ok(r.returncode != 0 and b"first" not in r.stdout + r.stderr, "source is withheld", r)
    r = call("POST", "https://api.test/source", "--data", "\n".join(lines[1:3]))
    t.ok(r.returncode == 0 and b"first" in r.stdout, "control: two lines are not", r)

    # ---- saved
    r = call("GET", "https://api.test/png", "--save", "pics/dot.png", "-o", "json")
    got = json.loads(r.stdout)
    t.ok(got["artifact"]["name"] == "pics/dot.png" and got["artifact"]["type"] == "image/png" and
         "body" not in got, "a saved answer names its artifact", got)
    r = raw("list", "-o", "json")
    db = sqlite3.connect(t.home / "state.db")
    row = db.execute("SELECT bytes, type, inline, sha256 FROM artifacts WHERE run = ?",
                     (got["artifact"]["run"],)).fetchone()
    t.ok(row[:3] == (len(PNG), "image/png", 1), "it is in the archive", row)
    t.ok((t.home / "objects" / row[3][:2] / row[3][2:]).read_bytes() == PNG, "byte for byte")
    r = call("GET", "https://api.test/png", "--save", "dot.png")
    t.ok(b"available as a run artifact" in r.stdout, "said in the words", r)
    r = call("GET", "https://api.test/size/5000000", "--save", "big")
    t.ok(r.returncode == 0, "5 MB are saved", r)
    fails(13, "a byte more is not", "GET", "https://api.test/size/5000001", "--save", "big", sent=1)
    r = call("GET", "https://api.test/status/404", "--save", "no", "-o", "json")
    t.ok(json.loads(r.stdout)["body"] == "status 404", "an error page is shown, not saved", r)
    for name in ("", "/x", "../x", "a/../b", "a//b", ".", "a\nb", "a\\b", "x" * 600, "a/" * 501 + "b", "a/" * 17 + "b", "a\u202eb"):
        fails(2, f"not an artifact's name: {name[:9]!r}", "GET", "https://api.test/", "--save", name)

    t.eq(call("GET", "https://api.test/png", "--save", "a/" * 16 + "b").returncode, 0, "as deep as outputs may be")
    name = "two/" + PLAIN + ".txt"
    r = call("GET", "https://two.test/json", "--save", name, name="plain")
    t.ok(r.returncode == 2 and b"holds the connection's key" in r.stderr and PLAIN.encode() not in r.stderr,
         "a name that holds the key", r)
    t.eq(db.execute("SELECT count(*) FROM artifacts WHERE name = ?", (name,)).fetchone(), (0,), "it is not stored")

    # ---- what is written down
    ev = db.execute("SELECT r.tool, r.status, e.method, e.host, e.path, e.status, e.verdict "
                    "FROM events e JOIN runs r ON r.id = e.run").fetchall()
    t.ok(("api_call main", "ok", "GET", "api.test", "/a%2Fb", 200, "allowed") in ev,
         "an event, without its query", ev[:3])
    verdicts = {e[6] for e in ev}
    t.ok({"allowed", "host", "grant", "address", "certificate", "timeout", "answer-too-large",
          "missing-key", "plain"} <= verdicts, "each refusal has its word", verdicts)
    t.ok(db.execute("SELECT count(*) FROM runs WHERE status = 'running'").fetchone()[0] == 0,
         "no run is left running")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    blob = b"".join(p.read_bytes() for p in t.home.rglob("*") if p.is_file() and p.name != "master.key")
    t.ok(not any(k.encode() in blob for k in (NASTY, PLAIN, "anns-own-key", "rotated-key")),
         "no key is anywhere in the state")
    r = t.run("evctl-log", "audit", "--verify")
    t.ok(r.code == 0, "the audit chain holds", r)

    # ---- test
    r = raw("test", "main", "-o", "json")
    t.ok(r.returncode == 0 and json.loads(r.stdout)[0]["result"] == "reachable", "test: reachable", r)
    t.ok(api.seen[-1].method == "HEAD", "by a harmless request")
    r = raw("test", "main", "--path", "/status/401", "-o", "json")
    t.ok(r.returncode == 7 and json.loads(r.stdout)[0]["result"] == "unauthorised", "unauthorised", r)
    t.good("evctl-conn", "set", "main", "--connect-to", "127.0.0.1:1")
    r = raw("test", "main")
    t.ok(r.returncode == 7 and b"refused" in r.stdout, "refused", r)
    t.ok(not holds("rotated-key-0123456", r.stdout + r.stderr), "and shows no key")
