#!/usr/bin/python3
"""Connections at the shell: one add makes the whole, grants say who pays, removal names the users."""
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T

KEY = "sk-conn-0123456789-wxyz"
MANIFEST = """name: {0}
description: d
tools:
  - name: one
    description: one
    entry: a.py:one
    input: {{type: object}}
"""


def add(t, name, *more, key=KEY, **kw):
    return t.run("evctl-conn", "add", name, "--host", "api.test", "--env", "API_KEY", "--auth",
                 "bearer", "--from-file", "-", *more, stdin=key, **kw)


def show(t, name):
    return t.good("evctl-conn", "show", name, "-o", "json").json


with T() as t:
    t.init()
    for name in ("e1", "e2"):
        folder = t.expert(name, {"a.py": "def one():\n    return 1\n"}, MANIFEST.format(name))
        t.good("evctl-expert", "create", name, "--dir", folder)

    r = t.run("evctl-conn", "add", "images", "--host", "API.Test.", "--host", "b.test:8443",
              "--host", "api.test:443", "--env", "IMAGES_KEY", "--auth", "header:X-Api-Key",
              "--from-file", "-", stdin=KEY + "\n")
    t.ok(r.code == 0 and "granted to nobody yet" in r.out and r.err == "", "one add makes it", r)
    got = show(t, "images")
    t.ok(got["hosts"] == ["api.test", "b.test:8443"], "hosts in their one form, once each", got)
    t.ok((got["env"], got["auth"], got["hint"]) == ("IMAGES_KEY", "header:X-Api-Key", "••••••••wxyz"),
         "env, auth and a masked hint", got)
    blob = b"".join(p.read_bytes() for p in t.home.rglob("*") if p.is_file())
    t.ok(KEY.encode() not in blob and b"IMAGES_KEY" in blob, "the key is nowhere in the clear")

    # ---- what is refused
    for host in ("*.test", "*", "x.*", "127.0.0.1", "[::1]", "a b", "user@api.test", "api.test/x", ""):
        r = t.run("evctl-conn", "add", "w", "--host", host, "--env", "K", "--auth", "bearer",
                  "--no-key")
        t.ok(r.code == 2 and "error: " in r.err, f"refused as a host: {host!r}", r)
    r = t.fails(2, "a wildcard beside a good host", "evctl-conn", "add", "w", "--host", "api.test",
                "--host", "*.test", "--env", "K", "--auth", "bearer", "--no-key", says="'*.test'")
    for auth in ("basic", "header:", "header:a b", "header:Host", "header:content-length", "Bearer",
                 "header:X\r\nY", "header:Transfer-Encoding"):
        r = t.run("evctl-conn", "add", "w", "--host", "api.test", "--env", "K", "--auth", auth,
                  "--no-key")
        t.ok(r.code == 2, f"refused as auth: {auth!r}", r)
    for env in ("9A", "A-B", "A B", ""):
        r = t.run("evctl-conn", "add", "w", "--host", "api.test", "--env", env, "--auth", "bearer",
                  "--no-key")
        t.ok(r.code == 2, f"refused as env: {env!r}", r)
    for name in ("Images", "-x", "a/b", "x" * 65):
        r = t.run("evctl-conn", "add", "--host", "api.test", "--env", "K", "--auth", "bearer",
                  "--no-key", "--", name)
        t.ok(r.code == 2, f"refused as a name: {name[:9]!r}", r)
    for key, why in ((KEY + "\n\n", "LF"), ("a\rb" + KEY, "CR"), ("\x01" + KEY, "control"), ("", "none"),
                     (" " + KEY, "space before"), (KEY + " ", "space behind"), ("a\0b", "NUL")):
        t.ok(add(t, "w", key=key).code == 2, f"refused in a key: {why}")
    t.ok(t.run("evctl-conn", "show", "w").code == 3, "nothing of all these was stored")
    r = t.run("evctl-conn", "add", "w", "--host", "api.test", "--env", "K", "--auth", "bearer")
    t.ok(r.code == 2 and "--from-file" in r.err, "no terminal and no source: not a hang", r)
    t.ok(add(t, "w", "--no-key").code == 2, "a key and --no-key")
    for lacks in ("--host", "--env", "--auth"):
        args = ["--host", "api.test", "--env", "K", "--auth", "bearer"]
        i = args.index(lacks)
        t.fails(2, f"{lacks} is needed", "evctl-conn", "add", "w", *args[:i], *args[i + 2:],
                "--no-key", says=f"'{lacks}'")

    t.fails(5, "the name is taken", "evctl-conn", "add", "images", "--host", "x.test", "--env", "K",
            "--auth", "bearer", "--no-key", hint="evctl-conn set images")
    t.ok(add(t, "images", "--if-missing").code == 0, "--if-missing is content")
    t.ok(show(t, "images")["env"] == "IMAGES_KEY", "and changed nothing")
    r = t.run("evctl-conn", "show", "imagse")
    t.ok(r.code == 3 and "did you mean 'images'" in r.err, "a near name", r)

    # ---- flags and changes
    t.ok(add(t, "tiny", "--allow-private", "--connect-to", "127.0.0.1:9", key="short").code == 0,
         "a short key is taken")
    got = show(t, "tiny")
    t.ok(got["flags"] == ["! allow-private", "! connect-to 127.0.0.1:9", "! short"], "flagged", got)
    r = t.run("evctl-conn", "list")
    t.ok("! allow-private" in r.out and "! short" in r.out, "flagged in the list", r)
    t.good("evctl-conn", "set", "tiny", "--allow-private", "no", "--connect-to", "none", "--host",
           "c.test", "--env", "C_KEY", "--auth", "header:X-C")
    got = show(t, "tiny")
    t.ok((got["hosts"], got["env"], got["auth"], got["flags"]) ==
         (["c.test"], "C_KEY", "header:X-C", ["! short"]), "set changes what is named", got)
    t.good("evctl-conn", "set", "tiny", "--env", "D_KEY")
    t.ok(show(t, "tiny")["hosts"] == ["c.test"], "and nothing else")
    t.fails(2, "set refuses wildcards too", "evctl-conn", "set", "tiny", "--host", "*.test")
    t.ok(show(t, "tiny")["hosts"] == ["c.test"], "and then changes nothing")
    t.good("evctl-conn", "rotate", "tiny", "--from-file", "-", stdin=KEY + "2")
    got = show(t, "tiny")
    t.ok(got["version"] == 2 and got["hint"].endswith("xyz2") and got["flags"] == [], "rotate", got)
    r = t.run("evctl-conn", "rotate", "tiny", "--from-file", "-", stdin="a\nb")
    t.ok(r.code == 2 and show(t, "tiny")["version"] == 2, "rotate refuses a line break", r)

    # ---- grants
    t.fails(2, "the payer is to be chosen", "evctl-conn", "grant", "images", "e1",
            hint="evctl-conn grant images e1 --payer builder|buyer")
    t.ok(t.run("evctl-conn", "grant", "images", "e1", "--payer", "me").code == 2, "a third payer")
    t.fails(3, "no such expert", "evctl-conn", "grant", "images", "nobody", "--payer", "buyer")
    t.good("evctl-conn", "grant", "images", "e1", "--payer", "builder")
    t.good("evctl-conn", "grant", "images", "e2", "--payer", "buyer")
    t.ok(show(t, "images")["grants"] == [{"expert": "e1", "payer": "builder"},
                                         {"expert": "e2", "payer": "buyer"}], "payer by grant")
    db = sqlite3.connect(t.home / "state.db")
    rows = db.execute("SELECT count(*) FROM audit").fetchone()
    t.good("evctl-conn", "grant", "images", "e1", "--payer", "builder")
    t.ok(db.execute("SELECT count(*) FROM audit").fetchone() == rows, "the same grant again: nothing")
    t.good("evctl-conn", "add", "byo", "--host", "api.test", "--env", "BYO_KEY", "--auth", "bearer",
           "--no-key")
    t.fails(5, "the builder cannot pay without a key", "evctl-conn", "grant", "byo", "e1", "--payer",
            "builder", hint="evctl-conn rotate byo")
    t.good("evctl-conn", "grant", "byo", "e1", "--payer", "buyer")

    # ---- buyers' own keys
    sup = lambda verb, name, e, b, **kw: t.run(
        "evctl-conn", verb, name, "--expert", e, "--buyer", b,
        *(["--from-file", "-"] if verb == "supply" else []), **kw)
    t.ok(sup("supply", "byo", "e1", "ann", stdin=KEY + "ann").code == 0, "a buyer supplies")
    t.ok(sup("supply", "images", "e1", "ann", stdin=KEY).code == 5, "not where the builder pays")
    t.ok(sup("supply", "byo", "e2", "ann", stdin=KEY).code == 5, "not where it is not granted")
    t.ok(sup("supply", "byo", "e1", "ann", stdin="a\nb").code == 2, "no line break")
    t.ok(t.run("evctl-conn", "supply", "byo", "--expert", "e1").code == 2, "--buyer is needed")
    t.ok(show(t, "byo")["supplied"] == ["ann for e1"], "show names who supplied", show(t, "byo"))
    t.ok(sup("withdraw", "byo", "e1", "bob").code == 3, "bob has nothing to withdraw")
    t.ok(sup("withdraw", "byo", "e1", "ann").code == 0, "ann has")
    t.ok(show(t, "byo")["supplied"] == [], "and it is gone")

    # ---- ends
    t.fails(2, "rm asks", "evctl-conn", "rm", "images", hint="add --yes")
    r = t.fails(5, "rm names the users", "evctl-conn", "rm", "images", "--yes", says="e1, e2",
                hint="evctl-conn revoke images e1")
    r = t.run("evctl-conn", "rm", "images", "--yes", "-o", "json")
    t.ok(r.code == 5 and r.error["kind"] == "conflict" and r.out == "", "the error as JSON", r)
    t.good("evctl-conn", "revoke", "images", "e1")
    t.ok(t.run("evctl-conn", "revoke", "images", "e1").code == 0, "revoked already: fine")
    t.good("evctl-conn", "revoke", "images", "e2")
    t.good("evctl-conn", "rm", "images", "--yes")
    t.ok(t.run("evctl-conn", "show", "images").code == 3, "gone")

    r = t.run("evctl-conn", "list", "-o", "name")
    t.ok(r.out == "byo\ntiny\n", "-o name", r)
    audit = db.execute("SELECT action, object, detail FROM audit").fetchall()
    t.ok({"conn add", "conn set", "conn rotate", "conn grant", "conn revoke", "conn rm",
          "conn supply", "conn withdraw"} <= {a[0] for a in audit}, "each change has its audit row")
    t.ok(not any(KEY in json.dumps(a) for a in audit), "which holds no key")
