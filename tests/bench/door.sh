#!/bin/sh
# The door, side by side within one run: against stdio, and against the SDK's own server.
exec /usr/bin/python3 - "$(dirname "$0")/../door" <<'END'
import json, os, resource, socket, ssl, statistics, subprocess, sys, threading, time, urllib.request
from pathlib import Path

sys.path.insert(0, sys.argv[1])
from doorlib import BIN, Client, Door, JSON, T, bearer, buyer, modern, serve_demo, until
from certs import Authority
from mcplib import Raw, node, npm

ROUNDS = int(os.environ.get("EVCTL_BENCH_ROUNDS", 20))
LOAD = Path(os.environ.get("EVCTL_TESTBIN", "build/tests")).resolve() / "bench/door_load"
CALLS = 20 * ROUNDS
resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)


def rss(pid):
    return int(next(x for x in Path(f"/proc/{pid}/status").read_text().splitlines() if x.startswith("VmRSS")).split()[1]) / 1000


with T() as t:
    home = npm()
    serve_demo(t)
    src = t.expert("peer", {"t.py": "def add():\n    return 42\n"}, "name: peer\ndescription: As trivial\ntools:\n  - {name: add, description: Adds, entry: 't.py:add'}\n")
    t.good("evctl-expert", "create", "peer", "--dir", src)
    t.good("evctl-expert", "publish", "peer")
    token = buyer(t, "acme", "demo", "peer")
    ca = Authority(t.dir)
    both = ca.cert("localhost")
    ADD = {"name": "add", "arguments": {"a": 2, "b": 40}}

    def load(port, how, clients, calls, path, headers, body):
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items())
        (t.dir / "head").write_text(head)
        (t.dir / "body").write_text(json.dumps(body))
        out = subprocess.run([LOAD, "localhost", str(port), how, str(clients), str(calls), t.dir / "head", t.dir / "body"],
                             capture_output=True, text=True)
        rate, median, worst, cpu, bad = map(float, out.stdout.split())
        if bad:
            raise AssertionError(f"{bad} calls failed: {out}")
        return rate, median, worst, cpu

    with Door(t, "--cert", both, "--key", both, "--sessions-a-buyer", 300, "--sessions", 300) as d, \
            Door(t, "--sessions-a-buyer", 300, "--sessions", 300) as plain:
        call, extra = modern("tools/call", ADD)
        headers = {**bearer(token), **extra}
        load(d.port, "tls", 1, 5, "/mcp/demo", headers, call)
        with Raw(t, "demo", "--buyer", "acme") as c:
            c.hello()
            c.call("add", ADD["arguments"])
            took = []
            for _ in range(CALLS):
                begun = time.perf_counter()
                c.call("add", ADD["arguments"])
                took.append((time.perf_counter() - begun) * 1e3)
        stdio = statistics.median(took)
        rate, median, worst, cpu = load(d.port, "tls", 1, CALLS, "/mcp/demo", headers, call)
        print(f"a warm tools/call over HTTPS, more than over stdio: {median - stdio:.2f} ms ({median:.2f} against {stdio:.2f}; at most 1; 99 in 100 within {worst:.1f})", flush=True)

        # Eight at once
        load(d.port, "tls", 8, 5, "/mcp/demo", headers, call)
        rate, median, worst, cpu = load(d.port, "tls", 8, CALLS // 4, "/mcp/demo", headers, call)
        raws = [Raw(t, "demo", "--buyer", "acme") for _ in range(8)]
        for c in raws:
            c.__enter__()
            c.hello()
            c.call("add", ADD["arguments"])
        def work(c):
            for _ in range(CALLS // 4):
                c.call("add", ADD["arguments"])
        threads = [threading.Thread(target=work, args=(c,)) for c in raws]
        begun = time.perf_counter()
        [x.start() for x in threads]
        [x.join() for x in threads]
        alone = 8 * (CALLS // 4) / (time.perf_counter() - begun)
        for c in raws:
            c.__exit__(None, None, None)
        print(f"calls a second of 8 clients, against 8 stdio servers: {rate / alone:.2f} ({rate:.0f} against {alone:.0f}; at least 0.8; the load took {cpu:.1f} s of processor)", flush=True)

        # The SDK's own server, on plain HTTP as it is
        peer = subprocess.Popen([node(home), home / "peer.mjs"], stdout=subprocess.PIPE, text=True)
        port = int(peer.stdout.readline())
        req = urllib.request.Request(f"http://127.0.0.1:{port}/mcp", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}).encode(), JSON)
        theirs = {**JSON, "Mcp-Session-Id": urllib.request.urlopen(req).headers["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-11-25"}
        ours = Client(plain, token, "peer")
        for method, n in (("ping", 1), ("ping", 8), ("tools/list", 1), ("tools/list", 8)):
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}
            got = []
            for _ in range(3):
                a = load(plain.port, "plain", n, 10 * CALLS // n, "/mcp/peer", ours.headers, body)[0]
                b = load(port, "plain", n, 10 * CALLS // n, "/mcp", theirs, body)[0]
                got.append((a / b, a, b))
            r, a, b = sorted(got)[1]
            print(f"{method} with {n} client{'s' if n > 1 else ''}, against the SDK's server: {r:.2f} ({a:.0f} against {b:.0f} a second; at least 1)", flush=True)
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {}}}
        for n in (1, 8):
            print(f"its trivial tools/call with {n}: {load(port, 'plain', n, 10 * CALLS // n, '/mcp', theirs, body)[0]:.0f} a second; ours, in a sandbox, is above", flush=True)
        peer.kill()

        # Many
        front = d.children("evctl-front")[0]
        ctx = ssl.create_default_context(cafile=ca.file)
        idle = []
        for i in range(1000):
            s = socket.create_connection(("127.0.0.1", d.port), source_address=(f"127.0.0.{2 + i // 90}", 0))
            idle.append(ctx.wrap_socket(s, server_hostname="localhost"))
        idle[0].sendall(b"GET /style.css HTTP/1.1\r\nHost: localhost\r\n\r\n")
        print(f"the front with 1,000 idle connections over TLS: {rss(front):.0f} MB (under 100)", flush=True)
        [s.close() for s in idle]
        many = 20 if ROUNDS < 10 else 200
        begun = time.perf_counter()
        clients = [Client(plain, token) for _ in range(many)]
        answers = [c.call("tools/list").status for c in clients]
        mcps = plain.children("evctl-mcp")
        print(f"{many} sessions at once: {answers.count(200)} answered, in {time.perf_counter() - begun:.1f} s; an idle one has {statistics.median(map(rss, mcps)):.1f} MB", flush=True)
    what = "the door bears it"
    t.ok(answers.count(200) == many, what)
END
