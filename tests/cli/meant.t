#!/usr/bin/python3
"""What people type in place of what is meant: other words, arguments the other way round, formats, addresses."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T

WORDS = [("evctl-cred", "ls", "evctl-cred list"), ("evctl-cred", "delete", "evctl-cred rm"),
         ("evctl-cred", "remove", "evctl-cred rm"), ("evctl-host", "update", "evctl-host set"),
         ("evctl-host", "edit", "evctl-host set"), ("evctl-bind", "unbind", "evctl-bind clear"),
         ("evctl-host", "unbind", "evctl-bind clear HOST"), ("evctl-host", "bind", "evctl-bind set HOST CRED"),
         ("evctl-cred", "get", "evctl-cred show"), ("evctl-expert", "version", "evctl-expert versions"),
         ("evctl-cred", "version", "evctl-cred --version"), ("evctl", "version", "evctl --version"),
         ("evctl", "secrets", "evctl cred"), ("evctl", "connections", "evctl conn"), ("evctl", "attach",
                                                                                    "evctl-expert attach EXPERT HOST"),
         ("evctl-session", "stop", "evctl-session end"), ("evctl-batch", "kill", "evctl-batch cancel"),
         ("evctl-expert", "delete", "evctl-expert rm"), ("evctl-expert", "deploy", "evctl-expert publish"),
         ("evctl-expert", "new", "evctl-expert create"), ("evctl-artifact", "download", "evctl-artifact get"),
         ("evctl-log", "ls", "evctl-log runs"), ("evctl-conn", "remove", "evctl-conn rm"),
         ("evctl-state", "info", "evctl-state status")]

with T() as t:
    for program, word, meant in WORDS:
        r = t.run(program, word)
        t.ok(r.code == 2 and f"did you mean '{meant}'?" in r.err, f"{program} {word}: {meant}", r)
    t.fails(2, "control: a word that means nothing here", "evctl-cred", "zebra", hint="evctl-cred --help")
    r = t.run("evctl-cred", "list", "--json")
    t.ok(r.code == 2 and "did you mean '-o json'?" in r.err, "--json", r)
    r = t.run("evctl-cred", "add", "K", "--file", "x")
    t.ok(r.code == 2 and "did you mean '--from-file'?" in r.err, "--file", r)

    # what -o takes here
    t.init()
    r = t.run("evctl-cred", "list", "-o", "yaml")
    t.ok(r.code == 2 and "takes text, json or name, not 'yaml'" in r.err and "give '-o json'" in r.err, "formats", r)
    for program, verb, more in (("evctl-verify", "x", "sarif"), ("evctl-run", "x", "junit"),
                                ("evctl-expert", "listing", "markdown")):
        r = t.run(program, verb, "-o", "yaml")
        t.ok(r.code == 2 and more in r.err.split(" takes ")[1].split(", not")[0], f"{program} takes {more} too", r)
        r = t.run(program, *([verb] if program == "evctl-expert" else []), "--help")
        t.ok(re.search(rf"-o takes also: .*\b{more}\b", r.out), f"{program} --help says so", r)
    t.ok("give '-o sarif'" in (r := t.run("evctl-verify", "x", "-o", "sariff")).err, "a near format", r)

    # the other way round
    t.cred("CRM_KEY", "sk-0123456789abcdef")
    t.good("evctl-host", "add", "api.crm.example")
    src = t.expert("crm", {"c.py": "def count():\n    return 1\n"}, "name: crm\ntools: [{name: count, entry: c.py:count}]\n")
    t.good("evctl-expert", "create", "crm", "--dir", src)
    t.good("evctl-conn", "add", "maps", "--host", "m.example", "--env", "M", "--auth", "bearer", "--no-key")
    for words in (("evctl-bind", "set", "CRM_KEY", "api.crm.example"), ("evctl-bind", "set", "NEW_KEY", "new.example"),
                  ("evctl-expert", "attach", "api.crm.example", "crm"), ("evctl-run", "count", "crm"),
                  ("evctl-conn", "revoke", "crm", "maps")):
        program, *rest = words
        args = rest[-2:]
        right = " ".join([program, *rest[:-2], args[1], args[0]])
        r = t.run(*words)
        t.ok(r.code in (2, 3) and f"hint: the other way round: {right}\n" in r.err, f"{' '.join(words)}", r)
    r = t.run("evctl-bind", "set", "api.crm.example", "CRM_KEY")
    t.ok(r.code == 0 and "other way" not in r.err, "control: as it should be", r)
    r = t.run("evctl-bind", "set", "nope.example", "CRM_KEY")
    t.ok(r.code == 3 and "evctl-host add nope.example" in r.err and "other way" not in r.err, "control: no such host", r)

    # addresses
    for text, command in (("127.0.0.1", "NAME --connect-to 127.0.0.1:443 --allow-private"),
                          ("127.0.0.1:8443", "NAME:8443 --connect-to 127.0.0.1:8443 --allow-private"),
                          ("http://10.0.0.7:8000/v1", "NAME:8000 --connect-to 10.0.0.7:8000 --allow-private --plain"),
                          ("https://8.8.8.8/x", "NAME --connect-to 8.8.8.8:443"),
                          ("[::1]:8443", "NAME:8443 --connect-to [::1]:8443 --allow-private"),
                          ("fe80::1", "NAME --connect-to [fe80::1]:443 --allow-private"),
                          ("[fd00::1]", "NAME --connect-to [fd00::1]:443 --allow-private")):
        t.fails(2, f"an address: {text}", "evctl-host", "add", text,
                hint=f"give it a name: evctl-host add {command}\n")
    t.fails(2, "localhost is a name", "evctl-host", "add", "http://localhost:5000/v1",
            hint="evctl-host add localhost:5000 --plain --allow-private\n")
    r = t.run("evctl-host", "add", "localhost:5000", "--plain")
    t.ok(r.code == 0 and "localhost:5000 is a private address, refused until" in r.err, "and is said to be private", r)
    r = t.run("evctl-host", "add", "lab.example:8443", "--connect-to", "127.0.0.1:8443", "--allow-private")
    t.ok(r.code == 0, "and such a command works", r)

    # a wildcard
    r = t.run("evctl-host", "add", "*.cdn.example")
    t.ok(r.code == 0 and "note: *.cdn.example is any name below cdn.example, not cdn.example itself: "
         "evctl-host add cdn.example\n" in r.err, "a wildcard, when added, says what is not in it", r)
    t.good("evctl-host", "add", "img.example")
    r = t.run("evctl-host", "add", "*.img.example")
    t.ok(r.code == 0 and "itself" not in r.err, "where the bare name is declared, it does not", r)
    (t.dir / "evctl.yaml").write_text("hosts: [{host: '*.files.example'}]\n")
    r = t.run("evctl-apply", "-f", t.dir / "evctl.yaml")
    t.ok(r.code == 0 and "not files.example itself" in r.err, "evctl-apply says so too", r)
