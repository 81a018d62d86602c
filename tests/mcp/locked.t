#!/usr/bin/python3
"""A private key that is missing, locked or another's: the owner reads of it on stderr, and a buyer gets one word."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, T

HELLO = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}},
         {"jsonrpc": "2.0", "method": "notifications/initialized"}]
CALL = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "f", "arguments": {}}}


def called(t, *more, env=None):
    """The answer to one call, and what was said on stderr."""
    with subprocess.Popen([BIN / "evctl-mcp", "e", *more], env={**t.env, **(env or {})}, text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        for m in (*HELLO, CALL):
            p.stdin.write(json.dumps(m) + "\n")
        p.stdin.flush()
        for line in p.stdout:
            answer = json.loads(line)
            if answer.get("id") == 2:
                break
        p.stdin.close()
        err = p.stderr.read()
        p.wait(60)
    return answer["result"], err


with T() as t:
    t.init()
    src = t.expert("e", {"m.py": "def f():\n    return 1\n"}, "name: e\ntools: [{name: f, entry: 'm.py:f'}]\n")
    t.good("evctl-expert", "create", "e", "--dir", src)
    t.good("evctl-expert", "publish", "e")
    key, away = t.home / "master.key", t.dir / "away.key"
    locked = t.dir / "locked"
    secret = t.dir / "pass"
    secret.write_text("a long passphrase")
    with open(secret) as f:
        t.good("evctl-state", "init", "--passphrase", "--passphrase-fd", f.fileno(), "--state", locked, pass_fds=(f.fileno(),))
    t.good("evctl-expert", "create", "e", "--dir", src, "--state", locked)
    t.good("evctl-expert", "publish", "e", "--state", locked)
    got, err = called(t, "--buyer", "b")
    t.ok(not got["isError"] and err == "", "control: with its key a call is made, and nothing said", (got, err))
    key.rename(away)
    other = t.dir / "other"
    t.good("evctl-state", "init", "--state", other)
    away.chmod(0o644)
    for what, more, env, path in (("missing", (), {}, ".config/evctl/master.key"), ("locked", ("--state", str(locked)), {}, "passphrase"),
                                  ("another's", (), {"EVCTL_KEY_FILE": str(other / "master.key")}, "by EVCTL_KEY_FILE"),
                                  ("readable by others", (), {"EVCTL_KEY_FILE": str(away)}, "by EVCTL_KEY_FILE")):
        got, err = called(t, *more, env=env)
        t.ok(got["isError"] and "warning: " in err and path in err and "(private-key)" in got["content"][0]["text"],
             f"{what}: the owner's own server says all", (got, err))
        got, err = called(t, "--buyer", "b", *more, env=env)
        t.ok("warning: the private key" in err and "evctl doctor" in err and str(t.dir) not in err,
             f"{what}: a buyer's server warns, and names no path", err)
        t.eq((got["isError"], [c["text"] for c in got["content"]]), (True, ["failed: nothing was run (unavailable)"]),
             f"{what}: the buyer has one word for it")
