#!/usr/bin/python3
"""MCP at the door: tokens, sessions of the older era, requests of the newer, and what bad input gets."""
import json
import socket
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from doorlib import LEGACY, META, MODERN, PATIENCE, Client, Door, T, bearer, buyer, modern, serve_demo, until

INIT = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}

with T() as t:
    serve_demo(t)
    src = t.expert("other", {"t.py": "import os\ndef one():\n    open('/scratch/x', 'a').write('x')\n    open('outputs/a b.txt', 'w').write('made')\n"
                                     "    return len(open('/scratch/x').read())\n"},
                   "name: other\ndescription: Another\ntools:\n  - {name: one, entry: 't.py:one'}\n")
    t.good("evctl-expert", "create", "other", "--dir", src)
    t.good("evctl-expert", "publish", "other")
    acme, zeta = buyer(t, "acme", "demo"), buyer(t, "zeta", "demo", "other")
    pages = buyer(t, "acme", token=("--only", "pages"))
    one = buyer(t, "zeta", token=("--expert", "other"))
    d = Door(t, "--sessions-a-buyer", 50)

    # ---- who gets in
    r = d.ask("POST", "/mcp/demo", INIT, bearer(acme))
    t.ok(r.status == 200 and r.json["result"]["serverInfo"]["name"] == "demo" and
         len(r.headers["Mcp-Session-Id"]) == 32 and int(r.headers["Mcp-Session-Id"], 16) > 0, "a token opens a session", r)
    for what, headers, status in (
            ("no token", {}, 401), ("another scheme", {"Authorization": f"Basic {acme}"}, 401),
            ("a token that is none", {"Authorization": "Bearer evb_x"}, 401),
            ("one with a wrong checksum", {"Authorization": f"Bearer {acme[:-1]}{'a' if acme[-1] != 'a' else 'b'}"}, 401),
            ("one for pages", {"Authorization": f"Bearer {pages}"}, 403),
            ("one for another expert", {"Authorization": f"Bearer {one}"}, 404)):
        r = d.ask("POST", "/mcp/demo", INIT, {**bearer(acme), "Authorization": "x", **headers} if headers else
                  {"Content-Type": "application/json"})
        t.ok(r.status == status and (status != 401 or r.headers["WWW-Authenticate"].startswith("Bearer")) and
             acme.encode() not in r.body, f"{what}: {status}", r)
    r = d.ask("POST", f"/mcp/demo?token={acme}&access_token={acme}", INIT, {"Content-Type": "application/json"})
    t.eq(r.status, 401, "in a query it is none")
    t.ok(acme not in d.log, "and nothing of it is in the log")
    same = [d.ask("POST", f"/mcp/{e}", INIT, bearer(acme)) for e in ("other", "nothing", "no%2Fsuch", "x" * 64, "x" * 300, "..%2f", "demo%20")]
    t.ok({(r.status, r.body) for r in same} == {(404, same[0].body)}, "not granted and not there are the same 404", same[0])
    t.ok(d.ask("POST", "/mcp/other", INIT, bearer(zeta)).status == 200, "control: granted, it is there")

    # ---- the older era
    for version in LEGACY[1:]:
        c = Client(d, acme, version=version)
        r = c.tool("add", {"a": 2, "b": 40})
        t.ok(c.first.json["result"]["protocolVersion"] == version and json.loads(r.json["result"]["content"][0]["text"]) == {"sum": 42} and
             r.json["id"] == c.n, f"{version}: a call", r)
    r = c.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    t.ok(r.status == 202 and r.body == b"", "a notification: 202, no body", r)
    r = c.send({"jsonrpc": "2.0", "id": 5, "result": {}})
    t.ok(r.status == 202 and r.body == b"", "an answer of the client's: 202", r)
    r = c.send({"jsonrpc": "2.0", "id": "text-id", "method": "ping"})
    t.ok(r.json == {"jsonrpc": "2.0", "id": "text-id", "result": {}}, "an id is what it was", r)
    r = c.call("no/such")
    t.ok(r.status == 200 and r.code == -32601, "no such method: 200 and -32601", r)
    mine = {**c.headers}
    for what, headers, status in (("without the session's id", {k: v for k, v in mine.items() if k != "Mcp-Session-Id"}, 400),
                                  ("with one that is none", {**mine, "Mcp-Session-Id": "0" * 32}, 404),
                                  ("another buyer's", {**mine, "Authorization": f"Bearer {zeta}"}, 404)):
        r = d.ask("POST", "/mcp/demo", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers)
        t.ok(r.status == status and r.code == -32600, f"{what}: {status}", r)
    other = Client(d, zeta, "other")
    r = d.ask("POST", "/mcp/demo", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, {**other.headers, "Mcp-Session-Id": other.id})
    t.eq(r.status, 404, "a session of one expert is none of another's")
    t.ok(other.tool("one").json["result"]["content"][0]["text"] == "1", "control: it works where it belongs")
    again = buyer(t, "acme", token=("--label", "second"))
    r = d.ask("POST", "/mcp/demo", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, {**mine, "Authorization": f"Bearer {again}"})
    t.eq(r.status, 404, "nor of another token of the same buyer")
    r = d.ask("GET", "/mcp/demo", None, mine)
    t.ok(r.status == 405 and "POST" in r.headers["Allow"], "GET: 405", r)
    def said(r):
        return r.json["result"]["content"][0]["text"]
    a, b = Client(d, zeta, "other"), Client(d, zeta, "other")
    t.eq([said(a.tool("one")), said(a.tool("one")), said(b.tool("one"))], ["1", "2", "1"], "each session has a sandbox of its own")
    a, b = Client(d, acme), Client(d, acme)
    r = d.ask("DELETE", "/mcp/demo", None, a.headers)
    t.ok(r.status == 204 and a.call("ping").status == 404 and b.call("ping").status == 200, "DELETE ends one, and no other", r)

    # ---- progress, and who waits for it
    r = b.call("tools/call", {"name": "sleep", "arguments": {"s": 2.5}, "_meta": {"progressToken": "mine"}})
    events = r.events
    t.ok(r.headers["Content-Type"] == "text/event-stream" and r.headers["X-Accel-Buffering"] == "no" and len(events) >= 3 and
         all(e["params"]["progressToken"] == "mine" for e in events[:-1]) and events[-1]["id"] == b.n, "progress makes it a stream", r)
    r = b.call("tools/call", {"name": "sleep", "arguments": {"s": 1.5}, "_meta": {"progressToken": 7}}, Accept="application/json")
    t.ok(r.headers["Content-Type"] == "application/json" and r.json["id"] == b.n, "unless JSON is all that is read", r)
    r = b.call("ping", Accept="text/event-stream")
    t.ok(r.headers["Content-Type"] == "text/event-stream" and r.events == [{"jsonrpc": "2.0", "id": b.n, "result": {}}], "or a stream is", r)
    runs = t.sql("SELECT count(*) FROM runs")[0][0]
    s = socket.create_connection(("127.0.0.1", d.port))
    body = json.dumps({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {"name": "sleep", "arguments": {"s": 1}}})
    s.sendall(("POST /mcp/demo HTTP/1.1\r\nHost: localhost\r\n" + "".join(f"{k}: {v}\r\n" for k, v in b.headers.items()) +
               f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
    until(lambda: t.sql("SELECT count(*) FROM runs WHERE status = 'running'")[0][0] == 1, "the call to run", 20)
    s.close()
    until(lambda: t.sql("SELECT count(*) FROM runs WHERE status = 'running'")[0][0] == 0, "the call to end", 20)
    t.eq(t.sql("SELECT status FROM runs ORDER BY started DESC LIMIT 1"), [("ok",)], "a client that drops off cancels nothing")
    done = []
    th = threading.Thread(daemon=True, target=lambda: done.append(b.send({"jsonrpc": "2.0", "id": "slow", "method": "tools/call",
                                                             "params": {"name": "sleep", "arguments": {"s": 20}}})))
    th.start()
    until(lambda: t.sql("SELECT count(*) FROM runs WHERE status = 'running'")[0][0] == 1, "the call to run", 20)
    b.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}})
    until(lambda: t.sql("SELECT count(*) FROM runs WHERE status = 'running'")[0][0] == 0, "the call to end", 10 * PATIENCE)
    t.ok(t.sql("SELECT ms FROM runs ORDER BY started DESC LIMIT 1")[0][0] < 15000, "a cancellation ends what it names")

    # ---- batches
    c = Client(d, acme, version="2025-03-26")
    r = c.send([{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": "b", "method": "tools/call",
                "params": {"name": "add", "arguments": {"a": 1, "b": 2}}}, {"jsonrpc": "2.0", "method": "notifications/x"}])
    t.ok(r.status == 200 and {m["id"] for m in r.json} == {1, "b"}, "2025-03-26 takes a batch", r)
    r = c.send([{"jsonrpc": "2.0", "method": "notifications/x"}])
    t.eq((r.status, r.body), (202, b""), "of notifications: 202")
    for version in ("2025-06-18", "2025-11-25"):
        r = Client(d, acme, version=version).send([{"jsonrpc": "2.0", "id": 1, "method": "ping"}])
        t.ok(r.status == 400 and r.code == -32600, f"{version} takes none", r)

    # ---- the newer era
    def ask(method, params=None, token=acme, expert="demo", drop=(), change=(), **meta):
        body, headers = modern(method, params, **meta)
        headers = {k: v for k, v in {**bearer(token), **headers, **dict(change)}.items() if k not in drop}
        return d.ask("POST", f"/mcp/{expert}", body, headers)
    r = ask("server/discover")
    t.ok(r.status == 200 and MODERN in r.json["result"]["supportedVersions"] and "Mcp-Session-Id" not in r.headers, "2026-07-28: no session", r)
    r = ask("tools/call", {"name": "add", "arguments": {"a": 20, "b": 22}})
    t.ok(r.status == 200 and r.json["result"]["structuredContent"] == {"sum": 42}, "a call", r)
    r = ask("tools/call", {"name": "add", "arguments": {"a": 20, "b": 22}}, change={"Mcp-Name": "=?base64?YWRk?="})
    t.ok(r.status == 200, "a name in base64", r)
    for what, kw in (("no Mcp-Method", dict(drop=["Mcp-Method"])), ("no Mcp-Name", dict(drop=["Mcp-Name"])),
                     ("another method", dict(change={"Mcp-Method": "tools/list"})), ("another name", dict(change={"Mcp-Name": "fail"})),
                     ("a name in another case", dict(change={"Mcp-Name": "Add"})),
                     ("a name in broken base64", dict(change={"Mcp-Name": "=?base64?Y!Rk?="})),
                     ("a marker in another case", dict(change={"Mcp-Name": "=?BASE64?YWRk?="})),
                     ("no revision", dict(drop=["MCP-Protocol-Version"])),
                     ("another revision", dict(change={"MCP-Protocol-Version": "2025-11-25"}))):
        r = ask("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}, **kw)
        t.ok(r.status == 400 and r.code == -32020, f"{what}: 400 and -32020", r)
    body, headers = modern("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
    text = json.dumps(body)
    raw = "POST /mcp/demo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + "".join(
        f"{k}: {v}\r\n" for k, v in {**bearer(acme), **headers}.items()) + "Mcp-Name: fail\r\n" + f"Content-Length: {len(text)}\r\n\r\n{text}"
    r = d.raw(raw.encode())
    t.ok(r.startswith(b"HTTP/1.1 400") and b"-32020" in r, "two headers Mcp-Name: 400", r)
    r = ask("no/such")
    t.ok(r.status == 404 and r.code == -32601, "no such method: 404 and -32601", r)
    r = ask("ping", change={"MCP-Protocol-Version": "2027-01-01"})
    t.ok(r.status == 400 and r.code == -32022 and MODERN in r.json["error"]["data"]["supported"], "an unknown revision: 400, -32022 and the list", r)
    for method in ("GET", "DELETE"):
        t.eq(d.ask(method, "/mcp/demo", None, bearer(acme, MCP_Protocol_Version=MODERN)).status, 405, f"{method}: 405")
    body, headers = modern("ping")
    r = d.ask("POST", "/mcp/demo", [body], {**bearer(acme), **headers})
    t.ok(r.status == 400 and r.code == -32600, "a batch: 400 and -32600", r)
    body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    r = d.ask("POST", "/mcp/demo", body, bearer(acme, MCP_Protocol_Version=MODERN))
    t.ok(r.status == 202 and r.body == b"", "a notification: 202", r)
    r = [ask("tools/call", {"name": "one", "arguments": {}}, zeta, "other") for _ in range(3)]
    t.eq([said(x) for x in r], ["1"] * 3, "no call finds what another left")
    uri = r[0].json["result"]["content"][1]["uri"]
    x = ask("resources/read", {"uri": uri}, zeta, "other")
    t.ok(x.status == 200 and x.json["result"]["contents"][0]["text"] == "made", "an artifact is read by its URI", x)
    t.ok("error" in ask("resources/read", {"uri": uri}, zeta, "demo").json and "error" in ask("resources/read", {"uri": uri}, acme, "demo").json,
         "with another expert, or by another buyer, it is not there")
    body, headers = modern("tools/call", {"name": "sleep", "arguments": {"s": 20}})
    s = socket.create_connection(("127.0.0.1", d.port))
    text = json.dumps(body)
    s.sendall(("POST /mcp/demo HTTP/1.1\r\nHost: localhost\r\n" + "".join(f"{k}: {v}\r\n" for k, v in {**bearer(acme), **headers}.items()) +
               f"Content-Length: {len(text)}\r\n\r\n{text}").encode())
    until(lambda: t.sql("SELECT count(*) FROM runs WHERE status = 'running'")[0][0] == 1, "the call to run", 20)
    s.close()
    until(lambda: t.sql("SELECT count(*) FROM runs WHERE status = 'running'")[0][0] == 0, "the call to end", 10 * PATIENCE)
    t.ok(t.sql("SELECT ms FROM runs ORDER BY started DESC LIMIT 1")[0][0] < 15000, "closing the stream cancels")

    # ---- what bad input gets
    c = Client(d, acme)
    for what, body, more, status, code in (
            ("not JSON", "{", {}, 400, -32700), ("nothing", "", {}, 400, -32700), ("a number", "5", {}, 400, -32600),
            ("no jsonrpc", {"id": 1, "method": "ping"}, {}, 400, -32600), ("a method that is no text", {"jsonrpc": "2.0", "id": 1, "method": 5}, {}, 400, -32600),
            ("a member twice", '{"jsonrpc": "2.0", "id": 1, "method": "ping", "method": "ping"}', {}, 400, -32600),
            ("params that are no object", {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}, {}, 400, -32600),
            ("another type", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"Content-Type": "text/plain"}, 415, None),
            ("an answer that nobody reads", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"Accept": "text/html"}, 406, None),
            ("a revision that is none", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"MCP-Protocol-Version": "1999-01-01"}, 400, -32022)):
        r = d.ask("POST", "/mcp/demo", body, {**c.headers, **more})
        t.ok(r.status == status and (code is None or r.code == code), f"{what}: {status} {code or ''}", r)
    r = d.ask("POST", "/mcp/demo", b" " * 10_000_001, c.headers)
    t.eq(r.status, 413, "a body of 10 MB and a byte: 413")
    r = d.ask("POST", "/mcp/demo", b" " * 9_999_900 + json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode(), c.headers)
    t.eq(r.status, 200, "one of 10 MB is read")
    r = d.ask("POST", "/mcp/demo", INIT, {**bearer(acme), "X-Long": "x" * 33000})
    t.eq(r.status, 431, "a head over 32 KB: 431")
    r = d.ask("POST", "/mcp/demo", INIT, {**bearer(acme), **{f"X-{i}": "x" for i in range(101)}})
    t.eq(r.status, 431, "over 100 headers: 431")
    for host, status in (("evil.example", 421), ("localhost.evil.example", 421), ("127.0.0.1:1", 200), ("[::1]:5", 200), ("localhost", 200)):
        r = d.ask("POST", "/mcp/demo", INIT, bearer(acme, Host=host))
        t.eq(r.status, status, f"Host: {host}: {status}")
    for origin, status in (("https://evil.example", 403), ("null", 403), (f"http://127.0.0.1:{d.port}", 200)):
        r = d.ask("POST", "/mcp/demo", INIT, bearer(acme, Origin=origin))
        t.eq(r.status, status, f"Origin: {origin}: {status}")

    # ---- what ends: a token, a grant, a version
    c = Client(d, acme)
    slow = []
    th = threading.Thread(daemon=True, target=lambda: slow.append(c.tool("sleep", {"s": 20})))
    th.start()
    until(lambda: t.sql("SELECT count(*) FROM runs WHERE status = 'running'")[0][0] == 1, "the call to run", 20)
    ids = [x["token"] for x in t.good("evctl-buyer", "tokens", "acme", "-o", "json").json if x["label"] == "" and not x["only"]]
    begun = time.monotonic()
    t.good("evctl-buyer", "withdraw", *ids)
    th.join(30)
    t.ok(slow and slow[0].status == 200 and slow[0].code == -32603 and time.monotonic() - begun < 6 * PATIENCE, "a running call ends with its token", slow)
    t.eq(c.call("ping").status, 401, "and the next gets 401")
    c = Client(d, zeta)
    t.ok(c.call("ping").status == 200, "another's goes on")
    t.good("evctl-expert", "publish", "demo", "--force", "--yes")
    t.eq(c.call("ping").status, 404, "a new version: the session is over")
    c = Client(d, zeta)
    t.eq(c.call("ping").status, 200, "and a new one begins")
    t.good("evctl-buyer", "revoke", "zeta", "demo")
    t.eq(c.call("ping").status, 404, "a grant that is taken back: no such expert")

    # ---- too many bad tokens
    tries = [d.ask("POST", "/mcp/other", INIT, bearer("evb_" + "x" * 49)).status for _ in range(14)]
    t.ok(tries[-1] == 429 and set(tries) <= {401, 429}, "many bad tokens: 429", tries)
    t.eq(d.ask("POST", "/mcp/other", INIT, bearer(zeta)).status, 200, "a good one is let in all the same")

    # ---- the end
    t.ok(all(set(x) >= {"time", "method", "status", "ms", "bytes"} for x in d.lines) and
         any(x.get("buyer") == "acme" and x.get("method") == "tools/call" and x.get("run", "").startswith("r") for x in d.lines),
         "a line of the log each, with the run", d.lines[-3:])
    t.ok(zeta not in d.log and acme not in d.log, "and no token in there")
    c = Client(d, zeta, "other")
    mcps = d.children("evctl-mcp")
    t.ok(len(mcps) >= 1, "control: sessions are processes")
    t.eq(d.stop(), 0, "SIGTERM ends it")
    until(lambda: not any(Path(f"/proc/{p}").exists() for p in mcps), "all to be gone", 15)
    t.ok(True, "and all that it had started")
