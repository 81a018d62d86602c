#!/bin/sh
# A model's calls as ratios within one run: a tool in a warm session against evctl-run --session, an
# API through the broker against plain curl. In turn, so that a busy moment weighs on all alike.
exec /usr/bin/python3 - "$(dirname "$0")/../mcp" <<'END'
import os, statistics, subprocess, sys, time

sys.path.insert(0, sys.argv[1])
from api import Api
from certs import Authority
from mcplib import BIN, Raw, T, serve_demo

ROUNDS = int(os.environ.get("EVCTL_BENCH_ROUNDS", 40))
mid = statistics.median


def timed(f):
    begun = time.perf_counter()
    f()
    return time.perf_counter() - begun


def row(what, a, b):
    print(f"{what}: {mid(x / y for x, y in zip(a, b)):.2f}  ({mid(a) * 1e3:.1f} ms against "
          f"{mid(b) * 1e3:.1f} ms)", flush=True)


with T() as t:
    serve_demo(t)
    ca = Authority(t.dir)
    api = Api(ca, "api.test")
    t.good("evctl-conn", "add", "main", "--host", "api.test", "--env", "K", "--auth", "bearer",
           "--allow-private", "--connect-to", api.at, "--ca-file", ca.file, "--from-file", "-",
           stdin="key-0123456789-abcdef")
    t.good("evctl-conn", "grant", "main", "demo", "--payer", "builder")
    session = t.good("evctl-session", "start", "demo", "-o", "json").json["session"]

    def sh(*argv):
        return lambda: subprocess.run([str(a) for a in argv], env=t.env, check=True,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    run = sh(BIN / "evctl-run", "demo", "add", "--session", session, "--input", '{"a": 1, "b": 2}')
    call = sh(BIN / "evctl-conn", "call", "demo", "main", "GET", "https://api.test/json")
    curl = sh("curl", "-sS", "--cacert", ca.file, "--connect-to", f"api.test:443:{api.at}", "-H",
              "Authorization: Bearer key-0123456789-abcdef", "https://api.test/json")
    with Raw(t) as c:
        c.hello()
        mcp = lambda: c.call("add", {"a": 1, "b": 2})
        ask = lambda: c.call("api_call", {"connection": "main", "method": "GET",
                                          "url": "https://api.test/json"})
        for f in (mcp, run, ask, call, curl):
            f()
        got = {f: [] for f in (mcp, run, ask, call, curl)}
        for _ in range(ROUNDS):
            for f in got:
                got[f].append(timed(f))
    row("an MCP tools/call in a warm session / evctl-run --session", got[mcp], got[run])
    row("an MCP api_call in a warm session / plain curl", got[ask], got[curl])
    row("evctl-conn call / plain curl", got[call], got[curl])
    t.good("evctl-session", "end", session)
    what = "a warm MCP call takes less than two of evctl-run's"
    if ROUNDS < 10:
        t.skip(what, "too few rounds to tell")
    else:
        t.ok(mid(got[mcp]) < 2 * mid(got[run]), what)
END
