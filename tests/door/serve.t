#!/usr/bin/python3
"""Where the door listens, TLS, proxies, what it bears, and what is left of it however it dies."""
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from doorlib import BIN, JSON, PATIENCE, SANITIZED, Client, Door, Nginx, T, bearer, buyer, children_of, free_port, modern, name_of, serve_demo, until
from certs import Authority, certify, key_pem, new_key, write
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

def tls_ask(port, ca, path="/", version=None, name="localhost"):
    ctx = ssl.create_default_context(cafile=ca)
    ctx.check_hostname = name is not None
    if version:
        ctx.minimum_version = ctx.maximum_version = version
    with socket.create_connection(("127.0.0.1", port), 20) as s, ctx.wrap_socket(s, server_hostname=name) as c:
        c.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        out = b""
        while piece := c.recv(65536):
            out += piece
        return c.version(), c.getpeercert(), out

def gone(*pids):
    return all(not Path(f"/proc/{p}").exists() for p in pids)

with T() as t:
    serve_demo(t)
    acme = buyer(t, "acme", "demo")
    ca = Authority(t.dir)
    both = ca.cert("localhost")

    # ---- where it may listen
    t.fails(2, "off loopback without TLS: refused", "evctl-serve", "--listen", "0.0.0.0:0", says="TLS", hint="--cert")
    t.fails(2, "with TLS, but without a name: refused", "evctl-serve", "--listen", "0.0.0.0:0", "--cert", both, "--key", both, hint="--public-url")
    t.fails(2, "a proxy that nobody names: refused", "evctl-serve", "--behind-proxy", hint="--behind-proxy --trust-forwarded")
    t.fails(2, "a certificate without a key: refused", "evctl-serve", "--cert", both, hint="--cert")
    t.fails(2, "another's key: refused", "evctl-serve", "--listen", "127.0.0.1:0", "--cert", both, "--key", ca.cert("other"), says="is not of the certificate")
    for url in ("ftp://x", "https://", "https://x/y", "https://x?y", "x"):
        t.fails(2, f"{url} is no public URL", "evctl-serve", "--listen", "127.0.0.1:0", "--public-url", url)
    t.fails(2, "no socket was handed over", "evctl-serve", "--listen", "fd", hint="by systemd")
    t.fails(3, "an expert that is none", "evctl-serve", "--listen", "127.0.0.1:0", "--expert", "nothing", hint=False)
    with socket.create_server(("127.0.0.1", 0)) as s:
        t.fails(5, "where somebody listens", "evctl-serve", "--listen", "127.0.0.1:%d" % s.getsockname()[1])

    # ---- TLS, with each kind of key, signed by the monitor
    for kind, key in (("ECDSA", new_key()), ("RSA", rsa.generate_private_key(65537, 2048)), ("Ed25519", ed25519.Ed25519PrivateKey.generate())):
        cert = write(t.dir / f"{kind}.pem", certify("localhost", key, ca.name, ca.key, names=["localhost"]))
        pem = write(t.dir / f"{kind}.key", key_pem(key))
        with Door(t, "--cert", cert, "--key", pem) as d:
            got = [tls_ask(d.port, ca.file, version=v) for v in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)]
            t.ok([g[0] for g in got] == ["TLSv1.2", "TLSv1.3"] and all(b"HTTP/1.1 200" in g[2] and b"Strict-Transport-Security" in g[2] for g in got),
                 f"TLS with {kind}", got)
            if kind == "ECDSA":
                nameless = ssl.create_default_context(cafile=ca.file)
                nameless.check_hostname = False
                with socket.create_connection(("127.0.0.1", d.port)) as s, nameless.wrap_socket(s) as c:
                    t.ok(c.version(), "a client that says no name is served too")
                t.ok(d.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") == b"", "plain text is closed")
                front = d.children("evctl-front")[0]

                env = Path(f"/proc/{front}/environ").read_bytes() if os.geteuid() == 0 else b""

                t.eq(env, b"", "the front has no environment")
                before = tls_ask(d.port, ca.file)[1]["serialNumber"]
                write(cert, certify("localhost", key, ca.name, ca.key, names=["localhost"]))
                d.p.send_signal(signal.SIGHUP)
                until(lambda: tls_ask(d.port, ca.file)[1]["serialNumber"] != before, "the new certificate", 10)
                t.ok(True, "SIGHUP reads a new certificate")
                write(cert, b"nonsense")
                d.p.send_signal(signal.SIGHUP)
                until(lambda: "stays as it was" in d.log, "the warning", 10)
                t.ok(b"200" in tls_ask(d.port, ca.file)[2], "what is no certificate leaves the old one")

    # ---- a Unix socket, systemd's socket, and its word
    path = t.dir / "door"
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(str(t.dir / "notify"))
    notify.settimeout(20)
    p = subprocess.Popen([BIN / "evctl-serve", "--listen", f"unix:{path}"], env={**t.env, "NOTIFY_SOCKET": str(t.dir / "notify")}, stderr=subprocess.PIPE)
    t.eq(notify.recv(100), b"READY=1", "it says when it is ready")
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(path))
        s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        t.ok(b"200 OK" in s.recv(65536) and path.stat().st_mode & 0o777 == 0o660, "a Unix socket, 0660")
    p.terminate()
    t.eq(p.wait(60), 0, "and ends")
    activate = shutil.which("systemd-socket-activate")
    if activate:
        port = free_port()
        p = subprocess.Popen([activate, "-l", f"127.0.0.1:{port}", "-E", f"EVCTL_HOME={t.home}", "-E", f"PATH={os.environ['PATH']}",
                              BIN / "evctl-serve", "--listen", "fd"], env=t.env, stderr=subprocess.DEVNULL)
        def served():
            try:
                c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
                c.request("GET", "/")
                return c.getresponse().status == 200
            except OSError:
                return False
        until(served, "the activated door", 20)
        t.ok(True, "systemd's socket activation")
        p.terminate()
        p.wait(60)
    else:
        t.skip("systemd's socket activation", "no systemd-socket-activate here")

    # ---- proxies
    url = "https://experts.example"
    with Door(t, "--behind-proxy", "--trust-forwarded", "127.0.0.1", "--public-url", url, "--sessions-a-buyer", 20) as d:
        text = (Path(__file__).parents[2] / "share/proxy/nginx.conf").read_text()
        text = re.sub(r"listen 443 ssl;", "listen 127.0.0.1:@PORT@ ssl;", text)
        text = re.sub(r"ssl_certificate(_key)? [^;]*;", lambda m: f"ssl_certificate{m.group(1) or ''} {ca.cert('experts.example')};", text)
        with Nginx(t, d.port, config=text.replace("127.0.0.1:8350", "127.0.0.1:@TO@")) as n:
            ctx = ssl.create_default_context(cafile=ca.file)
            def through(method, path, body=None, headers=None):
                with socket.create_connection(("127.0.0.1", n.port)) as s, ctx.wrap_socket(s, server_hostname="experts.example") as c:
                    body = json.dumps(body).encode() if body else b""
                    lines = "".join(f"{k}: {v}\r\n" for k, v in (headers or {}).items())
                    c.sendall(f"{method} {path} HTTP/1.1\r\nHost: experts.example\r\n{lines}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
                    pieces = []
                    while piece := c.recv(65536):
                        pieces.append((time.monotonic(), piece))
                    return pieces
            out = b"".join(x for _, x in through("GET", "/"))
            t.ok(b"200 OK" in out, "nginx, by the configuration that is shipped", out)
            body, headers = modern("tools/call", {"name": "sleep", "arguments": {"s": 3}}, progressToken="p")
            pieces = through("POST", "/mcp/demo", body, {**bearer(acme), **headers})
            t.ok(pieces[-1][0] - pieces[0][0] > 1.5 and b"event-stream" in pieces[0][1], "a stream passes it as it comes", pieces)
            cookie = b"".join(x for _, x in through("POST", "/", None, {"Origin": url, "Content-Type": "application/x-www-form-urlencoded"}))
            t.ok(b" 401 " in cookie or b" 429 " in cookie, "forms come with the public origin", cookie)
            tries = [b"".join(x for _, x in through("POST", "/mcp/demo", PING, bearer("evb_x"))) for _ in range(12)]
            t.ok(b" 429 " in tries[-1], "bad tokens are counted by who the proxy says it is", tries[-1])
            r = d.raw((f"POST /mcp/demo HTTP/1.1\r\nHost: experts.example\r\nX-Forwarded-For: 203.0.113.9, 127.0.0.1\r\nAuthorization: Bearer evb_x\r\n"
                       "Content-Length: 0\r\nConnection: close\r\n\r\n").encode())
            t.ok(b" 401 " in r, "and others are not hit by it", r)
        r = d.ask("GET", "/", None, {"Host": "experts.example", "X-Forwarded-For": "203.0.113.7"})
        t.eq(r.status, 200, "the proxy's own address may connect")
    with Door(t, "--behind-proxy", "--trust-forwarded", "127.0.0.2", "--public-url", url) as d:
        t.eq(d.raw(b"GET / HTTP/1.1\r\nHost: experts.example\r\n\r\n"), b"", "another's may not")
    caddy = shutil.which("caddy")
    if caddy:
        with Door(t, "--behind-proxy", "--trust-forwarded", "127.0.0.1", "--public-url", "http://localhost") as d:
            port = free_port()
            text = (Path(__file__).parents[2] / "share/proxy/Caddyfile").read_text().replace("127.0.0.1:8350", f"127.0.0.1:{d.port}")
            (t.dir / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https off\n}\n" + text.replace("experts.example {", f"http://localhost:{port} {{"))
            p = subprocess.Popen([caddy, "run", "--adapter", "caddyfile", "--config", t.dir / "Caddyfile"], env=t.env, stderr=subprocess.DEVNULL)
            def via():
                try:
                    c = http.client.HTTPConnection("localhost", port, timeout=20)
                    c.request("GET", "/", headers={"Host": f"localhost:{port}"})
                    return c.getresponse().status
                except OSError:
                    return 0
            until(lambda: via() == 200, "caddy", 20)
            t.ok(True, "caddy, by the configuration that is shipped")
            p.terminate()
            p.wait(20)
    else:
        t.skip("caddy", "not installed")

    # ---- figures
    figures = free_port()
    with Door(t, "--metrics", f"127.0.0.1:{figures}", "--sessions", 2, "--sessions-a-buyer", 2, "--idle", 5) as d:
        one, two = Client(d, acme), Client(d, acme)
        r = Client(d, acme).first
        t.ok(r.status == 503 and r.headers["Retry-After"] and one.call("ping").status == 200, "more sessions than may be: 503", r)
        d.ask("POST", "/mcp/demo", PING, bearer("evb_x"))
        c = http.client.HTTPConnection("127.0.0.1", figures, timeout=20)
        c.request("GET", "/metrics")
        text = c.getresponse().read().decode()
        t.ok('evctl_door_requests_total{expert="demo",status="200"}' in text and "evctl_door_sessions 2" in text and
             'evctl_door_refused_total{kind="token"} 1' in text and "acme" not in text, "figures, of no buyer", text)
        t.eq(d.ask("GET", "/metrics").status, 404, "and not on the door's own port")
        until(lambda: not d.children("evctl-mcp"), "idle sessions to end", 20)
        t.eq((one.call("ping").status, Client(d, acme).first.status), (404, 200), "a session ends when it was idle for long, and makes room")

    # ---- crowds
    with Door(t, "--connections", 1024) as d:
        crowd = []
        for _ in range(300):
            s = socket.create_connection(("127.0.0.1", d.port))
            s.sendall(b"GET / HTTP/1.1\r\n")
            crowd.append(s)
        time.sleep(0.2)
        closed = 0
        for s in crowd:
            s.setblocking(False)
            try:
                closed += s.recv(1) == b""
            except ConnectionResetError:
                closed += 1
            except BlockingIOError:
                pass
        t.ok(closed >= 195, "100 connections from one address, and no more", closed)
        for s in crowd:
            s.close()
        until(lambda: d.ask("GET", "/").status == 200 if d.answers() else False, "room again", 20)
        t.ok(True, "then it serves again")
        begun = time.monotonic()
        s = socket.create_connection(("127.0.0.1", d.port))
        s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        s.settimeout(30)
        try:
            end = s.recv(100)
        except ConnectionResetError:
            end = b""
        t.ok(end == b"" and 8 < time.monotonic() - begun < 16 * PATIENCE, "a head that isn't done in 10 s: closed", time.monotonic() - begun)

    # ---- deaths
    def session_tree(d):
        mcps = d.children("evctl-mcp")
        below = [p for m in mcps for p in children_of(m)]
        return mcps + below

    with Door(t, "--sessions-a-buyer", 20) as d:
        c = Client(d, acme)
        c.tool("add", {"a": 1, "b": 2})
        mcp = d.children("evctl-mcp")[0]
        slow = []
        th = threading.Thread(target=lambda: slow.append(c.tool("sleep", {"s": 15})), daemon=True)
        th.start()
        until(lambda: t.sql("SELECT count(*) FROM runs WHERE status = 'running'")[0][0] == 1, "the call to run", 20)
        os.kill(mcp, signal.SIGKILL)
        th.join(20)
        t.ok(slow and slow[0].code == -32603, "evctl-mcp dies: -32603", slow)
        t.eq((c.call("ping").status, Client(d, acme).call("ping").status), (404, 200), "and the next begins anew")
        front = d.children("evctl-front")[0]
        tree = session_tree(d)
        os.kill(front, signal.SIGKILL)
        until(lambda: d.children("evctl-front") and d.children("evctl-front")[0] != front and d.answers(), "another front", 20)
        t.ok(Client(d, acme).call("ping").status == 200, "the front dies: there is another")
        until(lambda: gone(*tree), "the old sessions to be gone", 20)
        t.ok(True, "and its sessions are gone")
        c = Client(d, acme)
        c.tool("add", {"a": 1, "b": 2})
        tree = session_tree(d) + d.children("evctl-front")
        d.p.kill()
        d.p.wait()
        until(lambda: gone(*tree), "all to be gone", 20)
        t.ok(len(tree) >= 3, "the monitor dies: nothing is left")
    t.eq(t.good("evctl-log", "runs", "-o", "json").json[0]["status"] in ("ok", "failed"), True, "and the log knows how each run ended")

    random.seed(4711)
    bad, lost = [], []
    for i in range(int(os.environ.get("EVCTL_KILLS", 6 if SANITIZED else 12))):  # 200 when asked
        with Door(t, "--sessions-a-buyer", 20) as d:
            answered = []
            def work():
                try:
                    c = Client(d, acme)
                    while True:
                        r = c.tool("add", {"a": 1, "b": 2})
                        answered.append(r.json["result"]["_meta"]["evctl/run"])
                except (OSError, KeyError, ValueError, http.client.HTTPException):
                    pass
            th = threading.Thread(target=work, daemon=True)
            th.start()
            time.sleep(random.random() * 0.5)
            victims = {"monitor": [d.p.pid], "front": d.children("evctl-front"), "mcp": d.children("evctl-mcp")}
            who = random.choice([k for k, v in victims.items() if v])
            tree = [p for v in victims.values() for p in v] + session_tree(d)
            for v in victims[who][:1]:
                try:
                    os.kill(v, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if who == "monitor":
                d.p.wait()
            else:
                d.stop()
            th.join(20)
            try:
                until(lambda: gone(*tree), "all to be gone", 20)
            except Exception:
                bad.append((i, who))
            known = {x[0] for x in t.sql("SELECT id FROM runs WHERE status = 'ok'")}
            lost += [(who, x) for x in answered if x not in known]
    t.ok(not bad, "killed at random moments: nothing is left", bad)
    t.ok(not lost, "and nothing that was answered is lost", lost)
