#!/usr/bin/python3
"""api_call: an outside API through the MCP server. The key is in nothing that the model receives."""
import base64
import json
import sqlite3
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from api import PNG, Api, echoes
from certs import Authority
from leaks import holds
from mcplib import MODERN, SOURCE, Raw, T, serve_demo

KEY = "sk-live/0123+4567=wxyz\"&<Q"
ANN, BOB = "anns-own-key-0123456", "bobs-own-key-0123456"


def said(r):
    return "".join(c.get("text", "") for c in r["content"])


with T() as t:
    serve_demo(t)
    ca = Authority(t.dir)
    api = Api(ca, "api.test", "two.test")
    for name, host, env in (("main", "api.test", "MAIN_KEY"), ("other", "two.test", "OTHER_KEY"),
                            ("hidden", "two.test", "HIDDEN_KEY")):
        t.good("evctl-conn", "add", name, "--host", host, "--env", env, "--auth", "bearer",
               "--allow-private", "--connect-to", api.at, "--ca-file", ca.file, "--from-file", "-",
               stdin=KEY)
    with Raw(t, "demo", "--buyer", "ann") as c:
        c.hello()
        names = [x["name"] for x in c.ask("tools/list")["result"]["tools"]]
        t.ok("api_call" not in names, "without a grant there is no api_call", names)
        t.ok(c.call("api_call", {"connection": "main", "method": "GET", "url": "https://api.test/"})
             ["error"]["code"] == -32602, "nor can it be called")
        t.good("evctl-conn", "grant", "main", "demo", "--payer", "builder")
        t.good("evctl-conn", "grant", "other", "demo", "--payer", "buyer")
        tool = [x for x in c.ask("tools/list")["result"]["tools"] if x["name"] == "api_call"][0]
        t.ok("main: api.test" in tool["description"] and "OTHER_KEY" in tool["description"] and
             "MAIN_KEY" not in tool["description"] and "hidden" not in json.dumps(tool),
             "granted while it runs: the description lists connections and hosts", tool)
        t.ok(tool["inputSchema"]["properties"]["connection"]["enum"] == ["main", "other"] and
             tool["annotations"]["openWorldHint"] is True, "and the schema the names", tool)

        def call(url, connection="main", method="GET", rev=None, **more):
            return c.call("api_call", {"connection": connection, "method": method, "url": url, **more},
                          rev)["result"]

        r = call("https://api.test/json?x=1", headers={"X-Mine": "1", "Authorization": "Bearer mine"})
        got = r["structuredContent"]
        t.ok(got["status"] == 200 and json.loads(got["body"]) == {"fine": True} and
             got["headers"]["x-a"] == "1" and json.loads(r["content"][0]["text"]) == got,
             "an answer, structured and as text", r)
        seen = api.seen[-1]
        t.ok(seen.one("authorization") == "Bearer " + KEY and seen.one("x-mine") == "1" and
             seen.path == "/json?x=1", "the key is put in on the way", seen.headers)
        r = call("https://api.test/x", method="POST", body={"a": [1, "é"]})
        t.ok(json.loads(api.seen[-1].body) == {"a": [1, "é"]} and
             api.seen[-1].one("content-type") == "application/json", "a body of JSON")
        call("https://api.test/x", method="POST", body="plain")
        t.ok(api.seen[-1].body == b"plain", "a body of text")
        def arrivals(method):
            call("https://api.test/json")
            before = len(api.seen)
            call("https://api.test/once", method=method)
            return len(api.seen) - before
        t.eq(arrivals("POST"), 1, "a kept connection dies under a POST: it arrives once")
        t.ok(arrivals("GET") > 1, "as a GET need not")
        r = call("https://api.test/status/500")
        t.ok(r["isError"] is False and r["structuredContent"]["status"] == 500, "a 500 is an answer", r)
        r = call("https://api.test/bytes")
        t.ok(r["structuredContent"]["encoding"] == "base64" and
             base64.b64decode(r["structuredContent"]["body"]) == bytes(range(256)), "bytes as base64")

        # ---- the key, in whatever way it comes back
        for rev in (None, MODERN):
            for name, (status, headers, body) in echoes(KEY).items():
                if name == "header-name":
                    continue
                if rev is None:
                    sent = body + json.dumps(list(headers.items())).encode()
                    if headers.get("Content-Encoding") == "deflate":
                        sent += __import__("zlib").decompress(body)
                    t.ok(holds(KEY, sent), f"control: it was sent: {name}")
                r = call(f"https://api.test/echo/{name}", rev=rev)
                t.ok(not holds(KEY, json.dumps(r).encode()) and not holds(KEY, said(r).encode()),
                     f"nothing left of the key: {name}{' (newer era)' if rev else ''}", r)

        # ---- refused, in words
        before = len(api.seen)
        for what, args, words in (
                ("a host off the list", {"url": "https://evil.test/"},
                 ("denied", "evil.test", "main", "api.test")),
                ("user information", {"url": "https://api.test@evil.test/"}, ("usage",)),
                ("a double slash", {"url": "https://api.test//evil.test"}, ("usage",)),
                ("plain HTTP", {"url": "http://api.test:443/"}, ("denied", "api.test")),
                ("an address", {"url": "https://127.0.0.1/"}, ("denied", "127.0.0.1")),
                ("TRACE", {"url": "https://api.test/", "method": "TRACE"}, ("usage",)),
                ("CR LF in a header", {"url": "https://api.test/", "headers": {"X": "a\r\nY: b"}},
                 ("usage",)),
                ("a colon in a header's name", {"url": "https://api.test/", "headers": {"X: y": "b"}},
                 ("no header",)),
                ("a NUL", {"url": "https://api.test/\0"}, ("needed",)),
                ("a header that is none", {"url": "https://api.test/", "headers": {"X": 1}},
                 ("no header",)),
                ("headers that are none", {"url": "https://api.test/", "headers": "X: y"}, ("object",)),
                ("an unknown member", {"url": "https://api.test/", "key": "x"}, ("unknown", "key")),
                ("no URL", {"url": None}, ("needed",)),
                ("a large body", {"url": "https://api.test/", "method": "POST", "body": "x" * 256001},
                 ("256 KB",)),
                ("a save that leaves", {"url": "https://api.test/", "save": "../x"}, ("usage",)),
                ("a connection of others", {"url": "https://two.test/", "connection": "hidden"},
                 ("denied", "hidden", "main, other")),
                ("one that there is not", {"url": "https://two.test/", "connection": "nope"},
                 ("denied", "nope", "main, other"))):
            r = call(**{"url": "https://api.test/", **args})
            t.ok(r["isError"] is True and all(w in said(r) for w in words), f"refused: {what}", r)
        t.ok(len(api.seen) == before, "and nothing of these was sent")
        a, b = (call("https://two.test/", connection=n) for n in ("hidden", "nope"))
        t.ok(said(a).replace("hidden", "nope") == said(b), "others' connections look like none", a)
        r = call("https://api.test/size/1000001")
        t.ok(r["isError"] and "limit" in said(r) and "1 MB" in said(r), "an answer over the cap", r)

        # ---- whose key
        r = call("https://two.test/", connection="other")
        t.ok(r["isError"] and "missing-key" in said(r) and "OTHER_KEY" in said(r),
             "the buyer's key is missing: its name is told", r)
        for buyer, key in (("ann", ANN), ("bob", BOB)):
            t.good("evctl-conn", "supply", "other", "--expert", "demo", "--buyer", buyer,
                   "--from-file", "-", stdin=key)
        call("https://two.test/", connection="other")
        t.ok(api.seen[-1].one("authorization") == "Bearer " + ANN, "supplied: the next call has it")
        t.good("evctl-conn", "set", "other", "--host", "two.test", "--host", "api.test")
        r = call("https://two.test/", connection="other")
        t.ok(r["isError"] and "missing-key" in said(r), "a wider list takes it away again", r)
        t.good("evctl-conn", "set", "other", "--host", "two.test")
        t.ok(not call("https://two.test/", connection="other")["isError"], "control: as it was")
        t.good("evctl-conn", "rotate", "main", "--from-file", "-", stdin="rotated-0123456789")
        call("https://api.test/")
        t.ok(api.seen[-1].one("authorization") == "Bearer rotated-0123456789", "rotated: at once")
        t.good("evctl-conn", "set", "main", "--host", "two.test")
        r = call("https://api.test/")
        t.ok(r["isError"] and "two.test" in said(r), "the host list is that of the moment", r)
        t.good("evctl-conn", "set", "main", "--host", "api.test")
        t.good("evctl-conn", "revoke", "main", "demo")
        r = call("https://api.test/")
        t.ok(r["isError"] and "denied" in said(r) and "api.test" not in said(r),
             "a grant that was taken back, also on a kept connection", r)
        t.good("evctl-conn", "grant", "main", "demo", "--payer", "builder")
        t.ok(not call("https://api.test/")["isError"], "control: granted again")

        # ---- source, saving, cancelling
        r = call("https://api.test/source", method="POST", body=SOURCE)
        t.ok(r["isError"] and "def add" not in json.dumps(r), "the expert's source is withheld", r)
        r = call("https://api.test/png", save="pics/dot.png")
        kinds = [x["type"] for x in r["content"]]
        t.ok(kinds == ["text", "image", "resource_link"] and
             base64.b64decode(r["content"][1]["data"]) == PNG and
             r["structuredContent"]["artifact"]["name"] == "pics/dot.png" and
             "body" not in r["structuredContent"], "a picture goes to the archive, and is shown", r)
        uri = r["content"][2]["uri"]
        got = c.ask("resources/read", {"uri": uri})["result"]["contents"][0]
        t.ok(base64.b64decode(got["blob"]) == PNG and got["mimeType"] == "image/png", "and can be read")
        r = call("https://api.test/size/4000000", save="long.bin")
        t.ok(r["structuredContent"]["artifact"]["bytes"] == 4000000 and len(json.dumps(r)) < 5000,
             "a long one is only linked", str(r)[:500])
        c.post("tools/call", {"name": "api_call", "arguments": {
            "connection": "main", "method": "GET", "url": "https://api.test/hang"}}, id="hang")
        t.ok(api.started.wait(10), "control: a call that hangs")
        c.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "hang"}})
        t.ok(api.gone.wait(5), "cancelled: its connection is closed")
        begun = time.monotonic()
        t.ok(not call("https://api.test/")["isError"] and time.monotonic() - begun < 5,
             "and the next call goes")
        t.ok(not [m for m in c.seen if m.get("id") == "hang"], "without an answer to the first")
        t.ok(not any(holds(k, json.dumps(m).encode()) for m in c.seen for k in (KEY, ANN, BOB)),
             "no key in anything that was received")

    with Raw(t, "demo", "--buyer", "bob") as c:
        c.hello()
        r = c.ask("resources/list")["result"]["resources"]
        t.ok(r == [] and c.ask("resources/read", {"uri": uri})["error"]["code"] == -32002,
             "another session sees nothing of it", r)
        c.call("api_call", {"connection": "other", "method": "GET", "url": "https://two.test/"})
        t.ok(api.seen[-1].one("authorization") == "Bearer " + BOB, "another buyer has another key")
    db = sqlite3.connect(t.home / "state.db")
    runs = db.execute("SELECT tool, buyer, status FROM runs WHERE tool LIKE 'api_call%'").fetchall()
    t.ok(("api_call main", "ann", "ok") in runs and ("api_call other", "ann", "missing-key") in runs and
         ("api_call other", "bob", "ok") in runs, "all of it is on record", runs[:5])
    t.ok(db.execute("SELECT fetched IS NOT NULL FROM artifacts WHERE name = 'pics/dot.png'").fetchone()
         == (1,), "what a buyer read counts as fetched")
    t.ok(t.run("evctl-log", "audit", "--verify").code == 0, "the audit chain holds")
