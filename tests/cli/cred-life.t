#!/usr/bin/python3
"""A credential's life: who uses it, another name for it and its hosts, and the day from which it is not to be relied on."""
import datetime
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T

CODE = "def f():\n    return len(EV_KEYS['CRM_KEY'])\ndef g():\n    return len(EV_KEYS['NEW_KEY'])\n"
YAML = "name: e\ntools: [{name: f, entry: 'm.py:f'}, {name: g, entry: 'm.py:g'}]\nhosts: [crm.example]\n"


def day(n):
    return (datetime.datetime.now(datetime.timezone.utc).date() + datetime.timedelta(days=n)).isoformat()


with T() as t:
    t.init()
    t.cred("CRM_KEY", "value-of-the-crm-key")
    t.good("evctl-host", "add", "crm.example", "--bind", "CRM_KEY")
    t.good("evctl-host", "add", "other.example", "--bind", "CRM_KEY")
    t.good("evctl-expert", "create", "e", "--dir", t.expert("e", {"m.py": CODE}, YAML))
    t.good("evctl-expert", "publish", "e", "--force")
    t.good("evctl-cred", "add", "THEIRS", "--payer", "buyer")
    t.good("evctl-cred", "supply", "THEIRS", "--expert", "e", "--buyer", "acme", "--from-file", "-", stdin="value-of-acme-0123")
    t.good("evctl-conn", "add", "crm", "--host", "crm.example", "--env", "CRM", "--auth", "bearer", "--from-file", "-",
           stdin="value-of-a-connection")

    def shown(name):
        return t.good("evctl-cred", "show", name, "-o", "json").json

    # ---- who uses it
    x = shown("CRM_KEY")
    t.eq([x[k] for k in ("hosts", "experts", "versions", "buyers", "connections")],
         [["crm.example", "other.example"], ["e"], ["version 1 of e"], [], ["crm"]], "show names all that uses it")
    t.eq(shown("THEIRS")["buyers"], ["acme (e)"], "and who supplied it")
    r = t.good("evctl-cred", "show", "CRM_KEY")
    t.ok("version 1 of e" in r.out and "experts\te" in r.out, "in text too", r)
    t.ok(x["last_used"] is None and x["age"] == 0, "never used", x)
    t.good("evctl-run", "e", "f")
    t.ok(shown("CRM_KEY")["last_used"], "a run is its last use")
    t.ok(shown("THEIRS")["last_used"] is None, "of what it had only")

    # ---- another name
    t.fails(5, "a name that is taken", "evctl-cred", "rename", "CRM_KEY", "THEIRS", hint="evctl-cred show THEIRS")
    t.fails(2, "a name that is none", "evctl-cred", "rename", "CRM_KEY", "a b", hint=False)
    t.fails(3, "of nothing", "evctl-cred", "rename", "NOPE", "X")
    t.fails(2, "versions that read it are told of first", "evctl-cred", "rename", "CRM_KEY", "NEW_KEY", says="version 1 of e",
            hint="add --yes")
    t.good("evctl-cred", "rename", "CRM_KEY", "NEW_KEY", "--yes")
    x = shown("NEW_KEY")
    t.eq((x["hosts"], x["hint"]), (["crm.example", "other.example"], "••••••••-key"), "bindings stay")
    r = t.run("evctl-run", "e", "g", "--draft")
    t.ok(r.code == 0 and r.out == "20\n", "and the value: code reads it by its new name", r)
    t.good("evctl-cred", "rename", "THEIRS", "OURS")
    t.eq(shown("OURS")["buyers"], ["acme (e)"], "what buyers supplied stays")
    t.ok(t.run("evctl-log", "audit", "--verify").code == 0 and t.sql("SELECT count(*) FROM audit WHERE action = 'cred rename'") == [(2,)],
         "both are in the audit trail")

    t.fails(5, "a host that is there", "evctl-host", "rename", "crm.example", "other.example", hint="evctl-host show")
    t.fails(2, "an address is no name", "evctl-host", "rename", "crm.example", "127.0.0.1")
    t.good("evctl-host", "set", "crm.example", "--connect-to", "127.0.0.1:99", "--allow-private", "yes")
    t.good("evctl-host", "rename", "crm.example", "crm.test:8443")
    h = t.good("evctl-host", "show", "crm.test:8443", "-o", "json").json
    t.eq((h["credential"], h["experts"], h["connect_to"] if "connect_to" in h else "127.0.0.1:99"), ("NEW_KEY", ["e"], "127.0.0.1:99"),
         "a host keeps binding, experts and route")
    t.ok(t.run("evctl-host", "show", "crm.example").code == 3, "the old name is gone")
    t.ok("crm.example" in str(t.good("evctl-expert", "versions", "e", "-o", "json").json), "a version keeps what it froze")

    # ---- its day
    for bad in ("tomorrow", "2027-02-30", "2027-13-01", "1.2.2027", "", "2027-01-01x"):
        t.fails(2, f"--expires {bad!r}", "evctl-cred", "set", "NEW_KEY", "--expires", bad, hint="")
    t.fails(2, "--remind of nothing", "evctl-cred", "set", "NEW_KEY", "--remind", "-2")

    def flags():
        return [f for f in shown("NEW_KEY")["flags"] if "expire" in f]

    for n, remind, flag, text in ((60, None, [], ""), (14, None, ["! expires"], f"expires in 14 days ({day(14)})"), (15, None, [], ""),
                                  (3, 2, [], ""), (2, 2, ["! expires"], f"expires in 2 days ({day(2)})"),
                                  (1, 2, ["! expires"], f"expires tomorrow ({day(1)})"), (0, 2, ["! expires"], f"expires today ({day(0)})"),
                                  (-1, 2, ["! expired"], f"expired on {day(-1)}"), (-400, 0, ["! expired"], f"expired on {day(-400)}")):
        t.good("evctl-cred", "set", "NEW_KEY", "--expires", day(n), *(["--remind", remind] if remind is not None else []))
        r = t.run("evctl-run", "e", "g", "--draft")
        v = t.run("evctl-verify", "e", "-o", "json").json
        d = [c for c in t.run("evctl-doctor", "-o", "json").json["checks"] if c["check"] == "credentials-due"]
        said = [f for f in v["flags"] if "expire" in f]
        t.ok(flags() == flag and r.code == 0 and r.out == "20\n" and r.err.count("note: NEW_KEY expire") == len(flag) and
             (not text or f"note: NEW_KEY {text}" in r.err), f"{n} days: it works, flagged by {flag}", r)
        t.ok(len(said) == len(flag) and all(text.split(" ", 1)[1] in s and "NEW_KEY" in s for s in said), "verify flags it", v["flags"])
        t.ok(len(d) == len(flag) and all(f"NEW_KEY {text}" in c["is"] and not c["required"] for c in d), "doctor, too", d)
    r = t.good("evctl-cred", "list")
    t.ok(day(-400) in r.out and "! expired" in r.out and "0 d" in r.out, "the list has age and day", r)
    t.good("evctl-host", "rename", "crm.test:8443", "crm.example")
    t.good("evctl-expert", "publish", "e", "--force")
    r = t.run("evctl-run", "e", "g", "--buyer", "acme")
    t.ok(r.code == 0 and "expire" not in r.err, "a buyer is told nothing", r)
    r = t.good("evctl-cred", "rotate", "NEW_KEY", "--from-file", "-", stdin="another-value-of-it")
    t.ok("day is forgotten" in r.err and shown("NEW_KEY")["expires"] is None, "a new value has no old day", r)
    t.good("evctl-cred", "rotate", "NEW_KEY", "--from-file", "-", "--expires", "2999-12-31", stdin="another-value-of-it")
    t.eq(shown("NEW_KEY")["expires"], "2999-12-31", "but its own")
    t.good("evctl-cred", "set", "NEW_KEY", "--expires", "none")
    t.eq(shown("NEW_KEY")["expires"], None, "none takes it away")
    t.cred("DATED", "value-of-a-dated-key", "--expires", "2999-01-31", "--remind", "30")
    x = shown("DATED")
    t.eq((x["expires"], x["remind"]), ("2999-01-31", 30), "add takes both")
