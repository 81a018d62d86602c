#!/usr/bin/python3
"""The real clients from npm: the SDK, the client in both eras, and the inspector's command line."""
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from mcplib import BIN, T, forward_tap, node, npm, serve_demo

home = npm()
with T() as t:
    serve_demo(t)
    for kind in ("sdk", "legacy", "auto", "pin"):
        r = subprocess.run([node(home), home / "clients.mjs", kind, BIN / "evctl-mcp", "demo"],
                           env=t.env, capture_output=True, text=True, timeout=180)
        n = forward_tap(t, r.stdout)
        t.ok(r.returncode == 0 and n > 20, f"{kind}: all of it ({n} checks)", r.stderr[-2000:])

    def inspect(*args, server=("demo",)):
        launcher = home / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
        return subprocess.run([node(home), launcher, "--cli", "-e", f"EVCTL_HOME={t.home}",
                               BIN / "evctl-mcp", *server, *args],
                              env=t.env, capture_output=True, text=True, timeout=120)

    r = inspect("--method", "tools/list")
    t.ok(r.returncode == 0 and '"add"' in r.stdout, "inspector: tools/list", r)
    r = inspect("--method", "tools/call", "--tool-name", "add", "--tool-arg", "a=20", "b=22")
    t.ok(r.returncode == 0 and "42" in r.stdout, "inspector: tools/call", r)
    r = inspect("--method", "resources/list")
    t.ok(r.returncode == 0 and "resources" in r.stdout, "inspector: resources/list", r)
    r = inspect("--method", "tools/call", "--tool-name", "fail")
    t.ok("failed" in r.stdout + r.stderr and "owner only" not in r.stdout + r.stderr,
         "inspector: a failure", r)
