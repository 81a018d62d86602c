#!/usr/bin/python3
"""A buyer's own keys in MCP: what is missing is named, what is supplied reaches that buyer's calls."""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from mcplib import Raw, T

MANIFEST = """name: shop
description: d
tools:
  - {name: paid, description: needs a key, entry: "a.py:paid"}
  - {name: free, description: needs none, entry: "b.py:free"}
hosts: [api.test]
"""
FILES = {"a.py": "def paid():\n    return {'n': len(EV_KEYS['SHOP_KEY']), 'end': EV_KEYS['SHOP_KEY'][-1:]}\n",
         "b.py": "def free():\n    return {'keys': sorted(EV_KEYS)}\n"}


def said(r):
    return "".join(c.get("text", "") for c in r["result"]["content"])


with T() as t:
    t.init()
    t.good("evctl-cred", "add", "SHOP_KEY", "--payer", "buyer")
    t.good("evctl-host", "add", "api.test", "--bind", "SHOP_KEY")
    t.good("evctl-expert", "create", "shop", "--dir", t.expert("shop", FILES, MANIFEST))
    t.good("evctl-expert", "publish", "shop")
    with Raw(t, "shop", "--buyer", "ann") as c, Raw(t, "shop", "--buyer", "bob") as d:
        c.hello()
        d.hello()
        r = c.call("paid")
        t.ok(r["result"]["isError"] and "missing-key" in said(r) and "SHOP_KEY" in said(r),
             "a missing key is named", r)
        r = c.call("free")
        t.ok(r["result"]["structuredContent"] == {"keys": []}, "a tool that does not read it runs", r)
        t.good("evctl-cred", "supply", "SHOP_KEY", "--expert", "shop", "--buyer", "ann", "--from-file",
               "-", stdin="ann-0123456789-A")
        r = c.call("paid")
        t.ok(r["result"].get("structuredContent") == {"n": 16, "end": "A"}, "supplied: the next call", r)
        r = d.call("paid")
        t.ok(r["result"]["isError"] and "missing-key" in said(r), "not for another buyer", r)
        t.good("evctl-cred", "supply", "SHOP_KEY", "--expert", "shop", "--buyer", "bob", "--from-file",
               "-", stdin="bob-0123456789-0123456789-B")
        r = d.call("paid")
        t.ok(r["result"].get("structuredContent") == {"n": 27, "end": "B"}, "who brings their own", r)
        t.good("evctl-cred", "withdraw", "SHOP_KEY", "--expert", "shop", "--buyer", "ann")
        r = c.call("paid")
        t.ok(r["result"]["isError"] and "missing-key" in said(r), "withdrawn: the next call", r)
        t.ok("ann-0123456789" not in json.dumps(c.seen) and "SHOP_KEY" in json.dumps(c.seen),
             "no value was ever shown")
    with Raw(t, "shop") as c:
        c.hello()
        r = c.call("paid")
        t.ok(r["result"]["isError"] and "missing-key" in said(r), "the builder brings one too", r)
        t.good("evctl-cred", "supply", "SHOP_KEY", "--expert", "shop", "--buyer", "builder",
               "--from-file", "-", stdin="builder-0123456789-C")
        t.ok(c.call("paid")["result"].get("structuredContent") == {"n": 20, "end": "C"}, "and uses it")

    # ---- versions
    FILES["b.py"] = "def free():\n    return {'version': 2}\n"
    t.expert("shop", FILES, MANIFEST)
    with Raw(t, "shop", "--buyer", "ann") as c:
        c.hello()
        t.good("evctl-expert", "publish", "shop")
        t.ok("keys" in c.call("free")["result"]["structuredContent"],
             "a session stays with the version that it began with")
    with Raw(t, "shop", "--buyer", "ann") as c, Raw(t, "shop", "--buyer", "ann", "--version", "1") as d:
        c.hello()
        d.hello()
        t.ok(c.call("free")["result"]["structuredContent"] == {"version": 2}, "the next has the new one")
        t.ok("keys" in d.call("free")["result"]["structuredContent"], "--version N has that one")
    t.good("evctl-expert", "unpublish", "shop")
    t.ok(t.run("evctl-mcp", "shop", "--buyer", "ann").code == 3, "unpublished: exit 3")
