#!/usr/bin/python3
"""The protocol by bare lines: both eras, bad input, interleaving, cancellation, and every end."""
import base64
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from mcplib import BIN, LEGACY, META, MODERN, Raw, T, descendants, gone, serve_demo, wait_for


def text(r):
    return "".join(c.get("text", "") for c in r["result"]["content"])


def descriptors(pid):
    """How many; None where only root may look: the server hides its memory from its own user."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except PermissionError:
        return None


def snapshot(folder):
    return {str(p): (p.stat().st_mtime_ns, p.stat().st_size) for p in folder.rglob("*")
            if not p.name.endswith("-shm")}


with T() as t:
    serve_demo(t)
    t.good("evctl-expert", "create", "draft", "--dir",
           t.expert("draft", {"a.py": "def one():\n    return 1\n"},
                    "name: draft\ndescription: d\ntools:\n  - name: one\n    description: one\n"
                    "    entry: a.py:one\n"))

    # ---- starting
    before = snapshot(t.home)
    begun = time.monotonic()
    with Raw(t) as c:
        c.hello()
        took = time.monotonic() - begun
        c.ask("tools/list")
        c.ask("resources/list")
        t.ok(took < 1, "initialize is answered at once", took)
        t.ok(descendants(c.p.pid) == [], "no sandbox before the first call")
        with Raw(t) as twin:
            twin.hello()
            t.ok(len(twin.ask("tools/list")["result"]["tools"]) == 10, "a second one starts beside it")
        r = t.run("evctl-cred", "add", "OTHER", "--from-file", "-", stdin="x" * 20)
        t.ok(r.code == 0, "and the state is not locked meanwhile", r)
        t.good("evctl-cred", "rm", "OTHER", "--yes")
    t.ok({k for k in snapshot(t.home)} <= {k for k in before} | {str(t.home / "state.db-wal")},
         "starting and listing make no file")
    for args, code in ((("draft",), 3), (("nobody",), 3), (("demo", "--version", "7"), 3),
                       (("demo", "--buyer", "No Name"), 2), ((), 2), (("demo", "--version", "x"), 2)):
        r = t.run("evctl-mcp", *args)
        t.ok(r.code == code and r.out == "", f"exit {code}: evctl-mcp {' '.join(args)}", r)

    # ---- the older era, by revision
    for rev in LEGACY:
        with Raw(t) as c:
            r = c.hello(rev)
            t.ok(r["protocolVersion"] == rev and r["serverInfo"]["name"] == "demo" and
                 "tools" in r["capabilities"] and "A demo expert" in r["instructions"],
                 f"{rev}: initialize", r)
            tools = {x["name"]: x for x in c.ask("tools/list")["result"]["tools"]}
            add = tools["add"]
            t.ok(add["inputSchema"]["required"] == ["a", "b"] and
                 add["description"] == "Adds two numbers" and
                 all(x["inputSchema"]["type"] == "object" for x in tools.values()),
                 f"{rev}: tools with their input schemas", add)
            t.ok(("annotations" in add) == (rev >= "2025-03-26") and
                 ("outputSchema" in add) == (rev >= "2025-06-18") and
                 "outputSchema" not in tools["numbers"],
                 f"{rev}: annotations and output schemas as the revision knows them", add)
            r = c.call("add", {"a": 1, "b": 2.5})["result"]
            t.ok(json.loads(r["content"][0]["text"]) == {"sum": 3.5} and r["isError"] is False,
                 f"{rev}: a result as text", r)
            t.ok((r.get("structuredContent") == {"sum": 3.5}) == (rev >= "2025-06-18"),
                 f"{rev}: and structured where the revision knows it", r)
            r = c.call("files")["result"]
            kinds = sorted(x["type"] for x in r["content"])
            want = {"2024-11-05": ["image"] + ["resource"] * 4 + ["text"],
                    "2025-03-26": ["audio", "image"] + ["resource"] * 4 + ["text"]}.get(
                        rev, ["audio", "image"] + ["resource_link"] * 4 + ["text"])
            t.ok(kinds == want, f"{rev}: artifacts as the revision knows them", kinds)
            t.ok("resultType" not in r and META + "serverInfo" not in r.get("_meta", {}), f"{rev}: nothing of the newer era")
            uris = {x["name"]: x["uri"] for x in c.ask("resources/list")["result"]["resources"]}
            t.ok(sorted(uris) == ["beep.wav", "bytes.bin", "note.txt", "sub dir/dot.png"],
                 f"{rev}: resources/list", uris)
            got = c.ask("resources/read", {"uri": uris["note.txt"]})["result"]["contents"]
            t.ok(got == [{"uri": uris["note.txt"], "mimeType": "text/plain", "text": "hello\n"}],
                 f"{rev}: a text is read as text", got)
            got = c.ask("resources/read", {"uri": uris["bytes.bin"]})["result"]["contents"][0]
            t.ok(base64.b64decode(got["blob"]) == bytes(range(256)), f"{rev}: bytes as base64", got)
            got = c.ask("resources/read", {"uri": "evctl://artifact/r000000000000000/x"})
            t.ok(got["error"]["code"] == -32002, f"{rev}: an unknown resource", got)
            t.ok(c.ask("ping")["result"] == {}, f"{rev}: ping")
            t.ok(c.ask("server/discover")["error"]["code"] == -32601, f"{rev}: no discover")
    with Raw(t) as c:
        t.ok(c.hello("1999-01-01")["protocolVersion"] == "2025-11-25", "an unknown one: the latest")
    with Raw(t) as c:
        t.ok(c.ask("ping")["result"] == {}, "ping before initialize")
        for m in ("tools/list", "tools/call", "resources/list"):
            t.ok(c.ask(m, {"name": "add"})["error"]["code"] == -32602, f"{m} before it: an error")

    # ---- the newer era
    with Raw(t) as c:
        r = c.ask("server/discover", rev=MODERN)["result"]
        t.ok(r["supportedVersions"] == [MODERN] and r["resultType"] == "complete" and
             "tools" in r["capabilities"] and isinstance(r["ttlMs"], int) and
             r["_meta"][META + "serverInfo"]["name"] == "demo", "discover", r)
        r = c.ask("tools/list", rev=MODERN)["result"]
        tools = {x["name"]: x for x in r["tools"]}
        t.ok(r["cacheScope"] == "private" and r["ttlMs"] >= 0 and r["resultType"] == "complete" and
             tools["numbers"]["outputSchema"]["type"] == "array", "tools/list without a handshake", r)
        r = c.call("add", {"a": 1, "b": 2}, MODERN)["result"]
        t.ok(r["structuredContent"] == {"sum": 3} and r["resultType"] == "complete", "a call", r)
        r = c.call("numbers", rev=MODERN)["result"]
        t.ok(r["structuredContent"] == [1, 2, 3], "structured content may be an array", r)
        for broken, code in (({META + "protocolVersion": "1900-01-01"}, -32022),
                             ({META + "protocolVersion": 7}, -32602),
                             ({META + "protocolVersion": MODERN}, -32602),
                             ({META + "protocolVersion": MODERN, META + "clientCapabilities": 1},
                              -32602), ({}, -32602)):
            e = c.ask("tools/list", {"_meta": broken})["error"]
            t.ok(e["code"] == code, f"refused: _meta {json.dumps(broken)[:60]}", e)
            if code == -32022:
                t.ok(MODERN in e["data"]["supported"] and e["data"]["requested"] == "1900-01-01",
                     "and says what is supported", e)
        t.ok(c.ask("ping", rev=MODERN)["error"]["code"] == -32601, "ping is no more")
        e = c.ask("resources/read", {"uri": "evctl://artifact/x/y"}, MODERN)["error"]
        t.ok(e["code"] == -32602, "an unknown resource", e)
        c.post("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, MODERN, id="s")
        m = c.next()
        t.ok(m["method"] == "notifications/subscriptions/acknowledged" and
             m["params"]["_meta"][META + "subscriptionId"] == "s" and
             m["params"]["notifications"] == {}, "a subscription is acknowledged with nothing in it", m)
        t.ok(c.ask("subscriptions/listen", {}, MODERN)["error"]["code"] == -32602, "it needs a filter")
        t.ok(c.hello()["protocolVersion"] == "2025-06-18" and
             "resultType" not in c.ask("tools/list")["result"] and
             "resultType" in c.ask("tools/list", rev=MODERN)["result"],
             "both eras on one connection")

    # ---- errors of tools and of requests
    with Raw(t, "demo", "--buyer", "ann") as c:
        c.hello()
        r = c.call("fail")["result"]
        t.ok(r["isError"] is True and text({"result": r}).endswith(": failed") and
             "owner" not in json.dumps(r) and "t.py" not in json.dumps(r),
             "a failure is one word and the run's id", r)
        r = c.call("leak")["result"]
        t.ok(r["isError"] and "def add" not in json.dumps(r), "source is withheld", r)
        r = c.call("add", {"a": 1})["result"]
        t.ok(r["isError"] and "b" in text({"result": r}), "input that does not fit: told so", r)
        r = c.call("add", {"a": 1, "b": "x"})["result"]
        t.ok(r["isError"], "of the wrong type", r)
        r = c.call("many")["result"]
        t.ok(r["isError"] and ": limit" in r["content"][0]["text"] and
             any("done" in x.get("text", "") for x in r["content"]) and
             any(x.get("name") == "kept.txt" for x in r["content"]) and
             any("large.bin withheld" in x.get("text", "") for x in r["content"]),
             "over the cap: the result, what was kept, and what was not", r)
        for params in ({}, {"name": 1}, {"name": "add", "arguments": [1]}, {"name": "add", "arguments": 1}):
            t.ok(c.ask("tools/call", params)["error"]["code"] == -32602, f"malformed call: {params}")
        for name in ("nope", "", "Add", "add\x00", "api_call", "../x"):
            t.ok(c.call(name, {})["error"]["code"] == -32602, f"unknown tool: {name!r}")
        for m in ("nope", "prompts/list", "logging/setLevel", "completion/complete", "sampling/createMessage"):
            t.ok(c.ask(m)["error"]["code"] == -32601, f"no such method: {m}")
        t.ok(c.ask("tools/list", {"cursor": "x"})["error"]["code"] == -32602, "no such cursor")
        t.ok(c.ask("resources/templates/list")["result"] == {"resourceTemplates": []}, "no templates")
        r = c.call("shout", {"x": 1})["result"]
        t.ok(r["content"][0]["text"] == "shouting {'x': 1}\n" and "structuredContent" not in r,
             "a script's text", r)

    # ---- malformed, oversized, odd
    with Raw(t) as c:
        c.hello()
        for bad, code in ((b"garbage", -32700), (b"{", -32700), (b'{"a":1} {"b":2}', -32700),
                          (b"\xff\xfe", -32700), (b"[" * 100000, -32700), (b"1", -32600),
                          (b'"x"', -32600), (b"null", -32600), (b"{}", -32600),
                          (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
                          (b'{"id":1,"method":"ping"}', -32600),
                          (b'{"jsonrpc":"2.0","id":1}', -32600),
                          (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
                          (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                          (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
                          (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}', -32602),
                          (b"[]", -32600), (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600)):
            c.write(bad + b"\n")
            m = c.next()
            t.ok(m.get("error", {}).get("code") == code, f"{code}: {bad[:50]!r}", m)
        for quiet in (b"", b"\r", b'{"jsonrpc":"2.0","method":"nope"}',
                      b'{"jsonrpc":"2.0","id":5,"result":{}}',
                      b'{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"x"}}',
                      b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
                      b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}',
                      b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}'):
            c.write(quiet + b"\n")
        t.ok(c.ask("ping", id="after")["result"] == {} and c.seen[-1]["id"] == "after",
             "what asks nothing is answered by nothing")
        c.write(b'{"jsonrpc":"2.0","id":"crlf","method":"ping"}\r\n')
        t.ok(c.get("crlf")["result"] == {}, "CR LF")
        c.write(b'{"jsonrpc":"2.0","id":"pie')
        c.write(b'ces","method":"ping"}\n{"jsonrpc":"2.0","id":"two","method":"ping"}\n')
        t.ok(c.get("pieces") and c.get("two"), "messages in pieces, and two at once")
        c.write(b"x" * 13000000 + b"\n")
        t.ok(c.next()["error"]["code"] == -32600, "13 MB in one line are refused")
        t.ok(c.ask("ping")["result"] == {}, "and the next line is read")
        r = c.call("add", {"a": 1, "b": 2, "c": "x" * 9000000})["result"]
        t.ok(r["isError"], "9 MB of arguments are taken in, and refused by the schema", str(r)[:200])
        r = c.call("big", {"n": 900000})["result"]
        t.ok(len(r["structuredContent"]["text"]) == 900000, "900 KB come back")
        r = c.call("big", {"n": 2000000})["result"]
        t.ok(r["isError"] and "limit" in text({"result": r}), "2 MB do not", str(r)[:200])
        t.ok(c.ask("ping", id="日本 \" \\ \n")["id"] == "日本 \" \\ \n", "ids come back as they are")
        t.ok(c.ask("ping", id=1.5)["id"] == 1.5, "also odd ones")

    # ---- batches
    with Raw(t) as c:
        c.hello("2025-03-26")
        c.send([{"jsonrpc": "2.0", "id": "a", "method": "tools/call",
                 "params": {"name": "add", "arguments": {"a": 1, "b": 1}}},
                {"jsonrpc": "2.0", "method": "notifications/x"}, 7,
                {"jsonrpc": "2.0", "id": "b", "method": "ping"},
                {"jsonrpc": "2.0", "id": "c", "method": "tools/call",
                 "params": {"name": "add", "arguments": {"a": 2, "b": 2}}}])
        m = c.next()
        t.ok(isinstance(m, list) and sorted(str(x["id"]) for x in m) == ["None", "a", "b", "c"],
             "a batch is answered in one, where the revision has them", m)
        c.send([{"jsonrpc": "2.0", "method": "notifications/x"}])
        t.ok(c.ask("ping", id="z")["id"] == "z" and not isinstance(c.seen[-1], list),
             "one of notifications only by nothing")
        c.send([])
        t.ok(c.next()["error"]["code"] == -32600, "an empty one is refused")
        c.send([{"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {}}])
        m = c.next()
        t.ok("error" in m[0], "initialize is not for batches", m)

    # ---- while a call runs
    with Raw(t) as c:
        c.hello()
        c.call("add", {"a": 1, "b": 1})
        c.post("tools/call", {"name": "sleep", "arguments": {"s": 3}}, id="slow", token="tok")
        c.post("tools/call", {"name": "add", "arguments": {"a": 4, "b": 4}}, id="queued")
        begun = time.monotonic()
        c.ask("ping")
        c.ask("tools/list")
        c.ask("resources/list")
        took = time.monotonic() - begun
        t.ok(took < 1, "pings and lists are answered meanwhile", took)
        t.ok(c.get("slow")["result"]["structuredContent"] == {"slept": 3}, "the call comes to its end")
        t.ok(c.get("queued")["result"]["structuredContent"] == {"sum": 8}, "then the one behind it")
        told = [m["params"] for m in c.seen if m.get("method") == "notifications/progress"]
        steps = [p["progress"] for p in told]
        t.ok(len(told) >= 3 and all(p["progressToken"] == "tok" for p in told) and
             steps == sorted(set(steps)), "progress is told, and grows", told)
        last = max(i for i, m in enumerate(c.seen) if m.get("method") == "notifications/progress")
        done = min(i for i, m in enumerate(c.seen) if m.get("id") == "slow")
        t.ok(last < done, "and never after the reply")
        c.call("add", {"a": 1, "b": 1}, token=7)
        t.ok(any(m.get("params", {}).get("progressToken") == 7 for m in c.seen), "a number as token")

        # cancelled while it runs, while it waits, and too late
        c.post("tools/call", {"name": "sleep", "arguments": {"s": 20}}, id="long", token="t2")
        t.ok(wait_for(lambda: c.next(5).get("params", {}).get("progressToken") == "t2", 10), "it runs")
        c.post("tools/call", {"name": "sleep", "arguments": {"s": 20}}, id="never")
        begun = time.monotonic()
        for id in ("never", "long", "unknown"):
            c.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                    "params": {"requestId": id, "reason": "x"}})
        r = c.call("add", {"a": 5, "b": 5})
        took = time.monotonic() - begun
        t.ok(r["result"]["structuredContent"] == {"sum": 10} and took < 5,
             "a cancelled call ends, and the next one runs", took)
        t.ok(not [m for m in c.seen if m.get("id") in ("long", "never")],
             "and neither of the cancelled is answered")
        runs = t.good("evctl-log", "runs", "-o", "json").json
        t.ok(runs[1]["tool"] == "sleep" and runs[1]["status"] == "failed" and
             runs[2]["tool"] == "add", "it is on record; the one that waited never began", runs[:3])

    # Cancelled at any moment, also before the code has begun: the next result is the next call's.
    with Raw(t) as c:
        c.hello()
        wrong = []
        for i in range(40):
            c.post("tools/call", {"name": "sleep", "arguments": {"s": 20}}, id=f"c{i}")
            time.sleep(i % 8 * 0.002)  # the moment is what is varied here, nothing waits for it
            c.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                    "params": {"requestId": f"c{i}"}})
            r = c.call("add", {"a": i, "b": 1})
            if r["result"].get("structuredContent") != {"sum": i + 1}:
                wrong.append(r)
        t.ok(not wrong, "40 calls cancelled at 8 moments: each next result is its own", wrong[:3])

    # ---- one session, 500 calls
    with Raw(t) as c:
        c.hello()
        c.call("add", {"a": 0, "b": 0})
        inside = descendants(c.p.pid)
        fds = descriptors(c.p.pid)
        begun = time.monotonic()
        wrong = [i for i in range(500)
                 if c.call("add", {"a": i, "b": 1})["result"]["structuredContent"] != {"sum": i + 1}]
        t.ok(not wrong, f"500 calls ({time.monotonic() - begun:.1f} s)", wrong[:5])
        t.ok(set(inside) & set(descendants(c.p.pid)), "in the same sandbox")
        if fds is not None:
            t.ok(descriptors(c.p.pid) <= fds + 1, "and no descriptor is left over")
        ids = [c.post("tools/call", {"name": "add", "arguments": {"a": i, "b": 2}}) for i in range(100)]
        t.ok(all(c.get(i)["result"]["structuredContent"] == {"sum": k + 2} for k, i in enumerate(ids)),
             "100 at once, each with its own reply")
        ids = [c.post("tools/call", {"name": "sleep", "arguments": {"s": 0.01}}) for i in range(400)]
        got = [c.get(i) for i in ids]
        t.ok(sum("error" in g for g in got) > 0 and sum("result" in g for g in got) >= 256,
             "more than can wait are refused, not lost", sum("error" in g for g in got))

    # ---- ends
    def running(c):
        c.hello()
        c.post("tools/call", {"name": "sleep", "arguments": {"s": 24}}, id="x", token="t")
        wait_for(lambda: c.next(10).get("method") == "notifications/progress", 10)
        wait_for(lambda: len(descendants(c.p.pid)) > 1, 10)
        return descendants(c.p.pid)

    with Raw(t) as c:
        c.hello()
        c.call("add", {"a": 1, "b": 1})
        kids = descendants(c.p.pid)
        begun = time.monotonic()
        c.close()
        code = c.p.wait(10)
        t.ok(code == 0 and time.monotonic() - begun < 2 and kids, "end of file: exit 0, at once", code)
        t.ok(all(gone(k) for k in kids), "and the sandbox is gone")
    with Raw(t) as c:
        kids = running(c)
        begun = time.monotonic()
        c.close()
        code = c.p.wait(15)
        t.ok(code == 0 and time.monotonic() - begun < 8, "end of file in mid-call: soon", code)
        t.ok(kids and all(gone(k) for k in kids), "and the sandbox is gone")
    with Raw(t) as c:
        kids = running(c)
        c.p.send_signal(signal.SIGTERM)
        t.ok(c.p.wait(10) == 0 and all(gone(k) for k in kids), "SIGTERM in mid-call")
    with Raw(t) as c:
        kids = running(c)
        c.p.kill()
        c.p.wait()
        t.ok(kids and all(gone(k) for k in kids), "SIGKILL in mid-call: the sandbox dies too")
    # A client that dies, with both of its ends.
    script = ("import os,subprocess,sys,time\n"
              "p=subprocess.Popen(sys.argv[1:],stdin=subprocess.PIPE,stdout=subprocess.PIPE,bufsize=0)\n"
              "p.stdin.write(sys.stdin.buffer.read())\n"
              "while b'progress' not in p.stdout.readline(): pass\n"
              "print(p.pid,flush=True)\ntime.sleep(60)\n")
    lines = "".join(json.dumps(m) + "\n" for m in (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
         "params": {"name": "sleep", "arguments": {"s": 24}, "_meta": {"progressToken": 1}}}))
    client = subprocess.Popen([sys.executable, "-c", script, str(BIN / "evctl-mcp"), "demo"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=t.env)
    client.stdin.write(lines.encode())
    client.stdin.close()
    server = int(client.stdout.readline())
    wait_for(lambda: len(descendants(server)) > 1, 10)
    kids = descendants(server)
    client.kill()
    client.wait()
    t.ok(kids and gone(server, 5), "a client that disappears in mid-call: the server ends")
    t.ok(all(gone(k) for k in kids), "and the sandbox is gone")
    t.ok(wait_for(lambda: t.good("evctl-log", "runs", "-o", "json").json[0]["status"] == "failed", 5),
         "and the run is on record")
    r = subprocess.run([str(BIN / "evctl-mcp"), "demo"], env=t.env, capture_output=True, timeout=30,
                       input=(lines.splitlines()[0] + "\n" + json.dumps(
                           {"jsonrpc": "2.0", "id": 3, "method": "tools/call",
                            "params": {"name": "add", "arguments": {"a": 1, "b": 1}}})).encode())
    t.ok(b'"sum":2' in r.stdout, "what is piped in is answered, the last line without a newline", r)
