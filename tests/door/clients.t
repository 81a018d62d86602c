#!/usr/bin/python3
"""The real clients from npm at the door, over HTTPS: the SDK, the client in both eras, the inspector's command line."""
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from doorlib import Door, T, buyer, serve_demo
from certs import Authority
from mcplib import forward_tap, node, npm

home = npm()
with T() as t:
    serve_demo(t)
    acme = buyer(t, "acme", "demo")
    ca = Authority(t.dir)
    both = ca.cert("localhost")
    env = {**t.env, "NODE_EXTRA_CA_CERTS": ca.file}
    with Door(t, "--cert", both, "--key", both, "--sessions-a-buyer", 60) as d:
        url = f"https://localhost:{d.port}/mcp/demo"
        for kind in ("sdk", "legacy", "auto", "pin"):
            r = subprocess.run([node(home), home / "clients.mjs", kind, url, acme], env=env, capture_output=True, text=True, timeout=180)
            n = forward_tap(t, r.stdout)
            t.ok(r.returncode == 0 and n > 20, f"{kind}: all of it ({n} checks)", r.stderr[-2000:] + d.log[-1500:])

        def inspect(*args):
            launcher = home / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
            return subprocess.run([node(home), launcher, "--cli", url, "--transport", "http", "--header", f"Authorization: Bearer {acme}", *args],
                                  env=env, capture_output=True, text=True, timeout=120)
        r = inspect("--method", "tools/list")
        t.ok(r.returncode == 0 and '"add"' in r.stdout, "inspector: tools/list", r)
        r = inspect("--method", "tools/call", "--tool-name", "add", "--tool-arg", "a=20", "b=22")
        t.ok(r.returncode == 0 and "42" in r.stdout, "inspector: tools/call", r)
