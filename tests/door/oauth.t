#!/usr/bin/python3
"""Tokens of an authorization server: what its introspection says of one, and what then happens. And the whole way with a
certified one from npm, by the SDK's own OAuth client."""
import base64
import http.server
import json
import os
import subprocess
import sys
import threading
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from doorlib import BIN, PATIENCE, Client, Door, T, answers, bearer, buyer, free_port, modern, serve_demo, until
from mcplib import forward_tap, node, npm

INIT = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
ISSUER, URL = "https://login.example", "https://experts.example"
said, asked, mood = {}, [], {}


class Server(http.server.BaseHTTPRequestHandler):
    """An introspection endpoint that says what it is told to."""

    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        asked.append((self.path, self.headers["Authorization"], form))
        if mood.get("slow"):
            time.sleep(mood["slow"])
        body = said.get(form["token"][0], {"active": False})
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(mood.get("status", 200))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def good(**more):
    return {k: v for k, v in {"active": True, "iss": ISSUER, "aud": URL, "sub": "ada", "exp": int(time.time()) + 300, **more}.items() if v is not None}


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()

with T() as t:
    serve_demo(t)
    own = buyer(t, "acme", "demo")
    t.good("evctl-buyer", "subject", "acme", "--issuer", ISSUER, "ada")
    secret = t.dir / "secret"
    secret.write_text("s:cret/+\n")
    args = ("--issuer", ISSUER, "--introspect", f"http://localhost:{server.server_port}/introspect?x=1", "--client-id", "the door",
            "--client-secret-file", secret, "--public-url", URL)
    t.fails(2, "all of the options or none", "evctl-serve", "--listen", "127.0.0.1:0", *args[:4], hint="--issuer")
    t.fails(2, "no endpoint in the clear", "evctl-serve", "--listen", "127.0.0.1:0", "--issuer", ISSUER, "--introspect", "http://login.example/i",
            "--client-id", "x", "--client-secret-file", secret, "--public-url", URL, says="without TLS")
    d = Door(t, *args, "--sessions-a-buyer", 40)

    def ask(token, expert="demo"):
        return d.ask("POST", f"/mcp/{expert}", INIT, bearer(token))

    # ---- where to go
    r = d.ask("POST", "/mcp/demo", INIT, {"Content-Type": "application/json"})
    t.ok(r.status == 401 and f'resource_metadata="{URL}/.well-known/oauth-protected-resource/mcp/demo"' in r.headers["WWW-Authenticate"], "401 says where to go", r)
    r = d.ask("GET", "/.well-known/oauth-protected-resource/mcp/demo")
    t.ok(r.status == 200 and r.json["resource"] == f"{URL}/mcp/demo" and r.json["authorization_servers"] == [ISSUER], "the metadata", r)
    t.ok(d.ask("GET", "/.well-known/oauth-protected-resource").json["resource"] == URL, "of the door")
    same = d.ask("GET", "/.well-known/oauth-protected-resource/mcp/nothing")
    t.ok(same.status == 200 and same.json["resource"].endswith("/nothing"), "the same for an expert that is none", same)

    # ---- what is said of a token
    said["good"] = good()
    r = ask("good")
    t.ok(r.status == 200, "active, for the door, tied to a buyer: let in", str(r) + d.log)
    path, auth, form = asked[0]
    t.eq((path, base64.b64decode(auth.split()[1]), form["token"]), ("/introspect?x=1", b"the%20door:s%3Acret%2F%2B", ["good"]), "asked with the client's secret")
    for what, token in (("for this expert", good(aud=f"{URL}/mcp/demo")), ("for several", good(aud=["x", URL])), ("without iss", good(iss=None))):
        key = what.replace(" ", "-")
        said[key] = token
        t.eq(ask(key).status, 200, what)
    for what, token in (("not active", {"active": False}), ("active as a text", good(active="true")), ("no aud", good(aud=None)), ("for another", good(aud="https://other.example")),
                        ("for another expert", good(aud=f"{URL}/mcp/other")), ("of another issuer", good(iss="https://evil.example")), ("without an end", good(exp=None)),
                        ("ended", good(exp=int(time.time()) - 5)), ("without the claim", good(sub=None)), ("a claim that is no text", good(sub=5)),
                        ("a claim with a NUL", good(sub="ada\0x")), ("an end that is no number", good(exp="soon"))):
        key = "t-" + what.replace(" ", "-")
        said[key] = token
        r = ask(key)
        t.ok(r.status in (401, 429), f"{what}: not let in", r)
        time.sleep(0.06)  # so that no more than 20 a second are asked about
    said["bob"] = good(sub="bob")
    t.eq(ask("bob").status, 403, "a subject that is nobody's: 403")
    said["builder"] = good(sub="builder")
    t.eq(ask("builder").status, 403, "'builder' is nobody")
    t.eq(ask("good", "other").status, 404, "an expert that isn't granted: 404")
    said["broken"] = b"<html>"
    t.eq(ask("broken").status, 503, "no sense: 503")
    mood["status"] = 500
    t.eq(ask("unsure").status, 503, "an error: 503, and nobody comes in")
    mood.clear()

    # ---- kept for a minute, few at once
    n = len(asked)
    for _ in range(5):
        ask("good")
    t.eq(len(asked) - n, 0, "what is known is not asked again")
    mood["slow"] = 1.5
    codes = []
    def one(i):
        said[f"slow{i}"] = good()
        codes.append(ask(f"slow{i}").status)
    threads = [threading.Thread(target=one, args=(i,)) for i in range(10)]
    begun = time.monotonic()
    [x.start() for x in threads]
    other = ask(own)
    took = time.monotonic() - begun
    [x.join() for x in threads]
    mood.clear()
    t.ok(codes.count(200) == 4 and codes.count(503) == 6, "four at once, the others 503", codes)
    t.ok(other.status == 200 and took < 1.2 * PATIENCE, "and a token of ours does not wait for it", took)

    # ---- a session ends with its token; pages
    said["short"] = good(exp=int(time.time()) + 4)
    c = Client(d, "short")
    t.eq(c.first.status, 200, "a token that ends soon")
    slow = []
    th = threading.Thread(target=lambda: slow.append(c.tool("sleep", {"s": 20})), daemon=True)
    th.start()
    th.join(15 * PATIENCE)
    t.ok(slow and slow[0].code == -32603, "its call ends with it", slow)
    said["page"] = good()
    r = d.ask("POST", "/", urllib.parse.urlencode({"token": "page"}), {"Origin": URL, "Content-Type": "application/x-www-form-urlencoded"})
    t.ok(r.status == 303 and "__Host-evctl-door=" in r.headers["Set-Cookie"] and "Secure" in r.headers["Set-Cookie"] and
         int(r.headers["Set-Cookie"].split("Max-Age=")[1]) <= 300, "it signs in to the pages, for no longer than it lives", r)
    cookie = r.headers["Set-Cookie"].split(";")[0]
    r = d.ask("GET", "/e/demo", None, {"Cookie": cookie})
    t.ok(r.status == 200 and b"acme" in r.body, "as the buyer", r)
    t.ok("s:cret" not in d.log and "good" not in [x.get("token") for x in d.lines], "no secret and no token is in the log")
    helper = d.children("evctl-introspect")
    t.eq(len(helper), 1, "one process asks")
    if os.geteuid() == 0:
        os.kill(helper[0], 9)
        said["after"] = good()
        until(lambda: ask("after").status == 200, "another one", 20)
        t.ok(True, "it dies: there is another")
    t.eq(d.stop(), 0, "and all ends")

    # ---- a certified authorization server, and the SDK's client all the way
    home = npm()
    port, door_port = free_port(), free_port()
    issuer, url = f"http://localhost:{port}", f"http://localhost:{door_port}"
    t.good("evctl-buyer", "subject", "acme", "--issuer", issuer, "ada")
    node_p = subprocess.Popen([node(home), home / "oauth.mjs", url, "demo", "s:cret/+", str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=t.env)
    ready = node_p.stdout.readline()
    t.eq(ready, "ready\n", "the authorization server is there")
    p = subprocess.Popen([BIN / "evctl-serve", "--listen", f"127.0.0.1:{door_port}", "--public-url", url, "--issuer", issuer,
                          "--introspect", f"{issuer}/token/introspection", "--client-id", "door", "--client-secret-file", secret], env=t.env,
                         stderr=open(t.dir / "last.log", "w"))
    until(lambda: answers(door_port), "the door", 20)
    out, err = node_p.communicate("go\n", timeout=120)
    n = forward_tap(t, out)
    t.ok(node_p.returncode == 0 and n == 5, f"all of it ({n} checks)", err[-3000:] + (t.dir / "last.log").read_text()[-2000:])
    p.terminate()
    p.wait(60)
