#!/usr/bin/python3
"""Runs of published versions: what is frozen, what is live, what buyers bring and agreed to."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, T

YAML = """name: p
tools:
  - {name: version, entry: "m.py:version"}
  - {name: needs, entry: "needs.py:needs"}
  - {name: leak, entry: "m.py:leak"}
hosts: [a.example]
"""
FILES = {"m.py": '''
def version():
    # a line that nobody else has
    return 'ONE'

def leak():
    return open('/tool/m.py').read()
''', "needs.py": "def needs():\n    return EV_KEYS['BRING'][::-1]\n"}

with T() as t:
    t.init()
    t.good("evctl-cred", "add", "BRING", "--payer", "buyer")
    t.good("evctl-host", "add", "a.example", "--bind", "BRING")
    src = t.expert("p", FILES, YAML)
    t.good("evctl-expert", "create", "p", "--dir", src)

    def run(tool, *args):
        return t.run("evctl-run", "p", tool, *args)

    def supply(buyer, value):
        t.good("evctl-cred", "supply", "BRING", "--expert", "p", "--buyer", buyer, "--from-file", "-",
               stdin=value)

    t.fails(3, "before publishing a buyer gets nothing", "evctl-run", "p", "version", "--buyer", "b1")
    t.good("evctl-expert", "publish", "p", "--yes")
    r = run("version", "--buyer", "b1", "-o", "json")
    t.ok(r.code == 0 and r.json["version"] == 1 and r.json["result"] == "ONE" and r.err == "",
         "a buyer gets what is published", r)
    r = run("version", "-o", "json")
    t.ok(r.code == 0 and r.json["version"] == 1 and r.err == "", "so does the builder", r)

    # Frozen and live
    (src / "m.py").write_text(FILES["m.py"].replace("ONE", "TWO"))
    t.ok(run("version").json == "ONE", "published code is frozen")
    r = run("version", "--draft")
    t.ok(r.json == "TWO" and r.err == "", "the draft is live", r)
    t.good("evctl-expert", "publish", "p", "--yes")
    t.ok(run("version").json == "TWO" and run("version", "--version", "1").json == "ONE",
         "an old version runs by its number")
    t.fails(3, "a version that isn't there", "evctl-run", "p", "version", "--version", "9")
    t.fails(2, "--debug is for drafts", "evctl-run", "p", "version", "--debug", hint="add --draft")
    t.fails(4, "published code needs the private key", "evctl-run", "p", "version", "--key-file",
            t.dir / "none")
    t.ok(not any("objects" not in f for f in t.holding("a line that nobody else has")),
         "published code is nowhere in the state in the clear")
    r = run("leak", "--buyer", "b1")
    t.ok(r.code == 11 and r.out == "" and re.fullmatch(r"evctl-run: error: run \w+: failed\n", r.err),
         "a result that holds the code is withheld", r)

    # What the buyer brings
    r = run("needs", "--buyer", "b1")
    t.ok(r.code == 14 and re.search(r"run \w+: missing-key: BRING\n", r.err) and
         "evctl-cred supply BRING --expert p --buyer b1" in r.err, "missing", r)
    supply("b2", "of-buyer-two-2222")
    t.ok(run("needs", "--buyer", "b1").code == 14, "another's value does not serve")
    t.ok(run("needs").code == 14, "nor does a buyer's serve the builder")
    supply("b1", "of-buyer-one-1111")
    t.ok(run("needs", "--buyer", "b1").json == "of-buyer-one-1111"[::-1] and
         run("needs", "--buyer", "b2").json == "of-buyer-two-2222"[::-1], "each has the own")
    supply("b1", "anew-of-buyer-one")
    t.ok(run("needs", "--buyer", "b1").json == "anew-of-buyer-one"[::-1], "a new one reaches the next run")
    t.ok(run("needs", "--draft", "--buyer", "b1").code == 14, "never a draft")
    supply("builder", "of-the-builder-00")
    t.ok(run("needs").json == "of-the-builder-00"[::-1] and
         run("needs", "--draft").json == "of-the-builder-00"[::-1], "the builder's own")
    t.ok(run("needs", "--buyer", "b1").json == "anew-of-buyer-one"[::-1], "which is no buyer's")

    # What the buyer agreed to
    t.good("evctl-host", "set", "a.example", "--allow-private", "yes")
    t.ok(run("needs", "--buyer", "b1").code == 0, "flags of published hosts are frozen")
    r = t.run("evctl-expert", "publish", "p", "--yes")
    t.ok(r.code == 0 and "note: 2 keys must be supplied again" in r.err and
         ": b1 (BRING), b2 (BRING); evctl-cred supply KEY --expert p --buyer BUYER" in r.err and
         "builder" not in r.err, "publishing says who must supply again", r)
    r = run("needs", "--buyer", "b1")
    t.ok(r.code == 14, "a version that widens them asks again", r)
    t.ok(run("needs", "--buyer", "b1", "--version", "2").code == 0, "the one before does not")
    supply("b1", "anew-of-buyer-one")
    t.ok(run("needs", "--buyer", "b1").code == 0, "supplying is agreeing")
    t.ok(run("needs", "--buyer", "b2").code == 14, "for oneself")
    t.good("evctl-host", "set", "a.example", "--allow-private", "no")
    r = t.run("evctl-expert", "publish", "p", "--yes")
    t.ok(r.code == 0 and "supplied again" not in r.err, "nobody, when it narrows them", r)
    t.ok(run("needs", "--buyer", "b1").code == 0, "a version that narrows them does not ask")
    t.good("evctl-host", "add", "b.example", "--bind", "BRING")
    t.good("evctl-expert", "attach", "p", "b.example")
    t.ok(run("needs", "--buyer", "b1").code == 0, "an attached host is the draft's")
    r = t.good("evctl-expert", "publish", "p", "--yes", "-o", "json")
    t.ok(r.json["supply_again"] == [{"buyer": "b1", "key": "BRING"}, {"buyer": "b2", "key": "BRING"}],
         "publishing says so as JSON", r)
    t.ok(run("needs", "--buyer", "b1").code == 14, "and published it widens")
    t.ok(run("version", "--buyer", "b1").code == 0, "a tool that does not read the key runs")

    # Bindings
    t.cred("STORED", "a-stored-value-77")
    (src / "needs.py").write_text("def needs():\n    return sorted(EV_KEYS)\n")
    t.good("evctl-expert", "publish", "p", "--yes", "--force")
    supply("b1", "anew-of-buyer-one")
    t.ok(run("needs", "--buyer", "b1").json == ["BRING"], "a published binding")
    t.good("evctl-bind", "set", "a.example", "STORED")
    t.good("evctl-bind", "set", "b.example", "STORED")
    t.ok(run("needs", "--draft").json == ["STORED"], "a draft's rebinding")
    t.ok(run("needs", "--buyer", "b1").json == ["BRING"], "does not touch what is published")

    # Sessions of a buyer
    s = t.good("evctl-session", "start", "p", "--buyer", "b1").out.strip()
    r = t.run("evctl-run", "p", "version", "--session", s, "--buyer", "b1", "-o", "json")
    t.ok(r.code == 0 and r.json["version"] == 6 and r.json["session"] == s and
         r.json["result"] == "TWO", "a session of what is published", r)
    r = t.run("evctl-run", "p", "needs", "--session", s, "--buyer", "b1")
    t.ok(r.json == ["BRING"], "with the buyer's key", r)
    r = t.run("evctl-run", "p", "leak", "--session", s, "--buyer", "b1")
    t.ok(r.code == 11 and r.out == "", "and no way for the code", r)
    r = t.run("evctl-run", "p", "version", "--session", s, "--buyer", "b1", "--key-file", t.dir / "none")
    t.ok(r.code == 4, "keys need the private key here too", r)
    t.good("evctl-expert", "publish", "p", "--yes", "--force")
    r = t.run("evctl-run", "p", "version", "--session", s, "--buyer", "b1", "-o", "json")
    t.ok(r.json["version"] == 6, "a session keeps its version", r)
    t.fails(5, "and has no other", "evctl-run", "p", "version", "--session", s, "--buyer", "b1",
            "--version", "7")
    t.good("evctl-session", "end", s)

    t.good("evctl-expert", "unpublish", "p")
    t.fails(3, "unpublished: exit 3", "evctl-run", "p", "version", "--buyer", "b1")
    t.fails(3, "for the builder too", "evctl-run", "p", "version")
    t.ok(run("version", "--draft").json == "TWO", "the draft by --draft only")
    t.ok(run("version", "--version", "2", "--buyer", "b1").code == 0, "an old version by its number")
