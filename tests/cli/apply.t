#!/usr/bin/python3
"""evctl-apply: one file made true in one transaction, its plan, what it cannot do, and its export."""
import os
import shlex
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import certs
from tap import BIN, T

MANIFEST = """name: crm-helper
description: Counts leads
tools:
  - name: count
    description: How many
    entry: leads.py:count
    input: {type: object, properties: {month: {type: string}}}
"""
CODE = "def count(month='x'):\n    return {'key': len(EV_KEYS['CRM_KEY'])}\n"
FILE = """credentials:
  - {name: CRM_KEY, payer: stored}
hosts:
  - {host: API.crm.example., bind: CRM_KEY}
  - {host: free.example}
experts:
  - {name: crm-helper, dir: ./crm-helper-src, hosts: [api.crm.example, free.example:443]}
connections:
  - name: maps
    hosts: [maps.example]
    env: MAPS_KEY
    auth: bearer
    grants: [{expert: crm-helper, payer: buyer}]
"""
VALUE = "sk-live-0123456789-abcd"


def contents(home):
    """Every row but the audit's and what differs by time, to see that nothing was changed."""
    db = sqlite3.connect(f"file:{home}/state.db?mode=ro", uri=True)
    tables = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type='table' ORDER BY name")
              if not r[0].startswith("sqlite_")]
    rows = {x: sorted(map(repr, db.execute(f"SELECT * FROM {x}"))) for x in tables}
    db.close()
    return rows


def run_hint(t, hint, value):
    """Runs the very command that a hint gave, the value on a descriptor as a person would type it."""
    words = shlex.split(hint)
    return t.run(words[0], *words[1:], "--from-file", "-", stdin=value)


with T() as t:
    file = t.dir / "evctl.yaml"

    def write(text):
        file.write_text(text)

    def apply(*more, **kw):
        return t.run("evctl-apply", "-f", file, *more, **kw)

    def export(env=None):
        return t.good("evctl-apply", "--export", env=env).out

    t.expert("crm-helper", {"leads.py": CODE}, MANIFEST)
    write(FILE)
    t.fails(2, "no file named", "evctl-apply", hint="evctl-apply -f FILE")
    t.fails(9, "no state", "evctl-apply", "-f", file, hint="evctl init")
    t.init()
    t.ok(export() == "credentials: []\nhosts: []\nexperts: []\nconnections: []\n", "a new state's export")

    # what it cannot do: the very command, exit 7, nothing changed
    before = contents(t.home)
    r = apply()
    t.ok(r.code == 7 and r.out == "? credential CRM_KEY (line 2): evctl-cred add CRM_KEY\n" and
         r.err.endswith("hint: evctl-cred add CRM_KEY\n"), "a missing credential: the command, exit 7", r)
    t.ok(contents(t.home) == before, "and nothing was changed")
    r = apply("-n")
    t.ok(r.code == 7 and "evctl-cred add CRM_KEY" in r.err, "the plan says so too", r)
    t.ok(r.out.splitlines()[:2] == ["? credential CRM_KEY (line 2): evctl-cred add CRM_KEY",
                                    "+ host api.crm.example (bind: CRM_KEY)"] and
         r.out.splitlines()[-1] == "+ grant maps (crm-helper, payer buyer)",
         "as an item among what would be changed", r)
    r = apply("-n", "-o", "json")
    t.ok(r.code == 7 and r.json["missing"][0]["name"] == "CRM_KEY" and len(r.json["changes"]) == 7 and
         r.json["changes"][0]["fields"] == [{"field": "bind", "from": None, "to": "CRM_KEY"}],
         "as JSON too, with the fields of each", r)
    t.ok(contents(t.home) == before, "and nothing was changed by a plan")
    write(FILE.replace("./crm-helper-src", "./nowhere"))
    r = apply("-n")
    t.ok(r.code == 7 and r.out.startswith("? credential CRM_KEY") and r.out.splitlines()[-1].startswith("! stops here (")
         and "nowhere" in r.out, "what else is wrong ends the plan", r)
    r = apply("-o", "json")
    t.ok(r.code == 7 and r.err == "" and r.json == {
        "applied": False, "dry_run": False, "changes": [],
        "missing": [{"kind": "credential", "name": "CRM_KEY", "line": 2,
                     "hint": "evctl-cred add CRM_KEY"}]}, "as JSON, one document", r)
    write("hosts:\n  - {host: a.example, bind: NOT_SAID}\n")
    r = apply()
    t.ok(r.code == 7 and "? credential NOT_SAID (line 2): evctl-cred add NOT_SAID\n" == r.out,
         "also where only a host names it", r)
    write("credentials:\n  - {name: B, payer: buyer, sealed: true}\n")
    r = apply()
    t.ok(r.code == 7 and r.err.endswith("hint: evctl-cred add B --payer buyer --sealed\n"),
         "the command has the payer and sealed", r)
    write(FILE)
    r = run_hint(t, apply().err.split("hint: ")[-1], VALUE)
    t.ok(r.code == 0, "the very command works", r)

    # the plan, then the change
    before = contents(t.home)
    r = apply("-n")
    source = os.path.realpath(t.dir / "crm-helper-src")
    plan = ["+ host api.crm.example (bind: CRM_KEY)", "+ host free.example",
            f"+ expert crm-helper ({source})", "+ attach crm-helper (api.crm.example)",
            "+ attach crm-helper (free.example)",
            "+ connection maps (hosts: maps.example, env: MAPS_KEY, auth: bearer)",
            "+ grant maps (crm-helper, payer buyer)"]
    t.ok(r.code == 0 and r.out.splitlines() == plan + ["nothing was changed (-n)"], "-n is the plan", r)
    t.ok(contents(t.home) == before, "and changes nothing, not even the audit")
    r = apply()
    t.ok(r.code == 0 and r.out.splitlines() == plan and r.err == "", "the change says the same", r)
    t.ok(t.run("evctl-host", "show", "api.crm.example", "-o", "json").json["credential"] == "CRM_KEY",
         "the host is bound")
    t.ok(t.run("evctl-conn", "list", "-o", "name").out == "maps\n", "the connection is there")
    db = sqlite3.connect(t.home / "state.db")
    said = [r[0] for r in db.execute("SELECT action FROM audit")]
    t.ok("host add" in said and t.run("evctl-state", "status").code == 0, "each change is in the audit", said)
    db.close()
    before = contents(t.home)
    r = apply()
    t.ok(r.code == 0 and r.out == "nothing to change\n", "again: nothing to change", r)
    t.ok(contents(t.home) == before, "and nothing was")
    r = apply("-o", "json")
    t.ok(r.json == {"applied": True, "dry_run": False, "changes": [], "missing": []}, "as JSON", r)

    # changes of what is there
    write(FILE.replace("{host: free.example}", "{host: free.example, allow_private: true, bind: CRM_KEY}"
                       ).replace(", free.example:443]", "]").replace("payer: buyer", "payer: buyer")
          .replace("hosts: [maps.example]", "hosts: [maps.example, tiles.example:8443]"))
    r = apply("-o", "name")
    t.ok(r.code == 0 and r.out.split() == ["host/free.example", "bind/free.example", "attach/crm-helper",
                                          "connection/maps"], "-o name: what changed, one a line", r)
    t.ok(apply().out == "nothing to change\n", "and again nothing")
    t.ok(t.run("evctl-host", "show", "free.example", "-o", "json").json["flags"] == ["! allow-private"],
         "the flag is set")
    write(FILE.replace("    grants: [{expert: crm-helper, payer: buyer}]", "    grants: []")
          .replace("{host: free.example}", "{host: free.example, allow_private: null, bind: null}"))
    r = apply()
    t.ok(r.code == 0 and "- grant maps (crm-helper)" in r.out and
         "~ host free.example (allow_private: true -> false)" in r.out
         and "~ bind free.example (CRM_KEY -> egress only)" in r.out and
         "~ connection maps (hosts: maps.example, tiles.example:8443 -> maps.example)" in r.out and
         "+ attach crm-helper (free.example)" in r.out, "what the file clears, with values", r)
    write("experts:\n  - {name: crm-helper}\n")
    t.ok(apply().out == "nothing to change\n", "what a file does not mention stays")
    write("credentials:\n  - {name: CRM_KEY, payer: buyer, sealed: true}\n")
    r = apply()
    t.ok(r.code == 0 and r.out == "~ credential CRM_KEY (payer: stored -> buyer, sealed: false -> true)\n",
         "payer and sealed", r)
    write("credentials:\n  - {name: CRM_KEY}\n")
    t.ok(apply().out == "nothing to change\n", "left out, they stay")
    t.ok(t.run("evctl-cred", "show", "CRM_KEY", "-o", "json").json["payer"] == "buyer", "are set")
    write("credentials:\n  - {name: CRM_KEY, payer: null, sealed: ~}\n")
    t.ok(apply().code == 0 and apply().out == "nothing to change\n", "and back, by the value still stored")

    # all or nothing
    def refused(text, code, what, says, *more):
        write(text)
        before = contents(t.home)
        r = t.run("evctl-apply", "-f", file, *more)
        t.ok(r.code == code and says in r.err and "error: " in r.err and r.out == "", what, r)
        t.ok(contents(t.home) == before, "and nothing was changed")

    refused("hosts:\n  - {host: new.example}\n  - {host: 127.0.0.1}\n", 2, "a bad host after a good one",
            f"{file}:3:")
    refused("hosts:\n  - {host: new.example}\nexperts:\n  - {name: crm-helper, hosts: [nope.example]}\n",
            3, "a host that is not there", f"{file}:4:")
    refused("hosts:\n  - {host: new.example}\nexperts:\n  - {name: other}\n", 3, "an expert without dir",
            "no expert 'other'")
    refused("hosts:\n  - {host: new.example}\nexperts:\n  - {name: other, dir: crm-helper-src}\n",
            2, "a directory that holds another expert", "crm-helper")
    refused("hosts:\n  - {host: new.example, bnid: CRM_KEY}\n", 2, "an unknown field", f"{file}:2:")
    refused("hosts:\n  - {host: new.example}\n  - {host: new.example}\n", 2, "one host twice", f"{file}:3:")
    refused("hosts:\n  - {host: new.example}\n  - {host: NEW.example:443}\n", 2,
            "one host twice, spelt differently", f"{file}:3:")
    refused("hosts:\n  - {host: new.example, ca_file: no.pem}\n", 3, "a file that is not there", "no.pem")
    refused("hosts:\n  - {host: new.example}\nconnections:\n  - {name: c, hosts: ['*.w.example'], env: A, "
            "auth: bearer}\n", 2, "a wildcard for a connection", f"{file}:4:")
    refused("hosts:\n  - {host: new.example}\nconnections:\n  - {name: maps, hosts: [maps.example], env: "
            "MAPS_KEY, auth: bearer, grants: [{expert: nobody, payer: buyer}]}\n", 3,
            "a grant to no expert", "nobody")
    refused("hosts: [\n", 2, "no YAML", f"{file}:2:")
    r = t.run("evctl-apply", "-f", file, "-o", "json")
    t.ok(r.code == 2 and r.out == "" and r.error["kind"] == "usage", "an error as JSON", r)
    write("hosts:\n  - {host: new.example}\n")
    t.ok(apply("-n").code == 0, "control: the good line alone passes")
    t.fails(3, "no such file", "evctl-apply", "-f", t.dir / "none.yaml", hint=False)
    r = t.run("evctl-apply", "-f", "-", "-n", stdin="hosts: [{host: new.example}]\n")
    t.ok(r.code == 0 and r.out.startswith("+ host new.example\n"), "from stdin", r)
    r = t.run("evctl", "apply", "-f", file, "-n")
    t.ok(r.code == 0 and r.out.startswith("+ host new.example\n"), "evctl apply", r)

    # connections whose key the builder brings
    write("""connections:
  - name: images
    hosts: [api.images.example, 'cdn.images.example:8443']
    env: IMAGES_KEY
    auth: "header:X-It's"
    allow_private: true
    connect_to: 127.0.0.1:9
    grants: [{expert: crm-helper, payer: builder}]
""")
    r = apply()
    hint = r.err.split("hint: ")[-1].strip()
    t.ok(r.code == 7 and hint.startswith("evctl-conn add images --env IMAGES_KEY"), "a key for a connection", r)
    r = run_hint(t, hint, VALUE)
    t.ok(r.code == 0, "the very command works", (hint, r))
    r = apply()
    t.ok(r.code == 0 and r.out == "+ grant images (crm-helper, payer builder)\n",
         "and made the connection as the file has it", r)

    # what a file leaves out is left alone, null clears it: each field of each entry
    ca = certs.Authority(t.dir)
    whole = {"plain": "true", "allow_private": "true", "connect_to": "127.0.0.1:8443", "ca_file": "ca.pem"}

    def shown():
        r = t.run("evctl-apply", "--export", "-o", "json").json
        return {"host": [h for h in r["hosts"] if h["host"] == "left.example:81"],
                "conn": [c for c in r["connections"] if c["name"] == "left"]}

    write("hosts:\n  - {host: 'left.example:81', bind: CRM_KEY, " +
          ", ".join(f"{k}: {v}" for k, v in whole.items()) + "}\n"
          "connections:\n  - {name: left, hosts: [a.example, b.example], env: LEFT, auth: 'header:X-L', "
          "allow_private: true, connect_to: '127.0.0.1:9', ca_file: ca.pem, "
          "grants: [{expert: crm-helper, payer: buyer}]}\n")
    r = apply()
    t.ok(r.code == 0 and "+ host left.example:81 (bind: CRM_KEY, plain: true, allow_private: true, "
         "connect_to: 127.0.0.1:8443, ca: sha256:" in r.out, "a whole host, its values in the plan", r)
    full = shown()
    write("hosts:\n  - {host: 'left.example:81', bind: CRM_KEY}\n"
          "connections:\n  - {name: left, grants: [{expert: crm-helper}]}\n")
    r = apply()
    t.ok(r.out == "nothing to change\n" and shown() == full, "fields left out are left alone", r)
    write("hosts:\n  - {host: 'left.example:81'}\nconnections:\n  - {name: left}\n")
    r = apply()
    t.ok(r.out == "nothing to change\n" and shown() == full, "binding and grants too", r)
    write("hosts:\n  - {host: 'left.example:81', plain: false}\nconnections:\n  - {name: left, env: OTHER}\n")
    r = apply()
    t.ok(r.out == "~ host left.example:81 (plain: true -> false)\n~ connection left (env: LEFT -> OTHER)\n",
         "one field alone changes", r)
    for field, gone in (("bind", "bind"), ("allow_private", "allow_private"), ("connect_to", "connect_to"),
                        ("ca_file", "ca"), ("ca", "ca")):
        before = shown()["host"][0]
        write("hosts:\n  - {host: 'left.example:81', %s: null}\n" % field)
        r = apply()
        after = shown()["host"][0]
        t.ok(r.code == 0 and not after[gone] and {k: v for k, v in before.items() if k != gone} ==
             {k: v for k, v in after.items() if k != gone},
             f"null clears {field} alone", (r, after))
    for field in ("allow_private", "connect_to", "ca", "grants"):
        before = shown()["conn"][0]
        write("connections:\n  - {name: left, %s: null}\n" % field)
        r = apply()
        after = shown()["conn"][0]
        t.ok(r.code == 0 and not after.get(field) and {k: v for k, v in before.items() if k != field} ==
             {k: v for k, v in after.items() if k != field}, f"null clears a connection's {field} alone", after)
    for lacks in ("hosts", "env", "auth"):
        fields = {"hosts": "[a.example]", "env": "N", "auth": "bearer"}
        del fields[lacks]
        refused("connections:\n  - {name: new, " + ", ".join(f"{k}: {v}" for k, v in fields.items()) + "}\n",
                2, f"a new connection without {lacks}", f"{file}:2:5: the connection lacks '{lacks}'")
        refused("connections:\n  - {name: left, " + lacks + ": null}\n", 2, f"{lacks} cannot be cleared", f"{file}:2:")
    refused("connections:\n  - {name: left, grants: [{expert: crm-helper}]}\n", 2, "a new grant without payer",
            f"{file}:2:27: the grant lacks 'payer'")
    write("experts:\n  - {name: crm-helper, hosts: null}\n")
    r = apply("-n")
    t.ok(r.code == 0 and "- attach crm-helper (api.crm.example)" in r.out, "null detaches all", r)
    t.good("evctl-host", "rm", "left.example:81", "--yes")
    t.good("evctl-conn", "rm", "left", "--yes")

    # publishing
    write("experts:\n  - {name: crm-helper, hosts: [api.crm.example, free.example], published: true}\n")
    r = apply()
    t.ok(r.code == 0 and r.out == "+ publish crm-helper (version 1)\n", "published", r)
    t.ok(apply().out == "nothing to change\n", "once")
    t.ok(t.run("evctl-expert", "versions", "crm-helper", "-o", "name").out.split() == ["1"], "as version 1")
    leads = t.dir / "crm-helper-src" / "leads.py"
    leads.write_text(CODE + "# changed\n")
    t.ok(apply().out == "nothing to change\n", "published: true keeps what is published")
    latest = "experts:\n  - {name: crm-helper, published: latest}\n"
    write(latest)
    r = apply("-n")
    t.ok(r.code == 0 and r.out.splitlines()[0] == "+ publish crm-helper (version 2: changed code)",
         "published: latest: a plan for changed code", r)
    t.ok(apply().code == 0 and apply().out == "nothing to change\n", "once")
    t.cred("OTHER", VALUE + "2")
    leads.write_text(CODE.replace("CRM_KEY", "OTHER") + "# changed\n")
    write("hosts: [{host: api.crm.example, bind: OTHER}]\n" + latest)
    r = apply()
    t.ok(r.code == 0 and r.out.splitlines()[-1] == "+ publish crm-helper (version 3: changed code, bindings, keys)",
         "for changed bindings", r)
    leads.write_text(CODE)
    write("hosts: [{host: api.crm.example, bind: CRM_KEY}]\n" + latest)
    t.ok(apply().out.splitlines()[-1].startswith("+ publish crm-helper (version 4"), "and back")
    manifest = t.dir / "crm-helper-src" / "expert.yaml"
    manifest.write_text(MANIFEST.replace("How many", "How many there are"))
    r = apply()
    t.ok(r.out == "+ publish crm-helper (version 5: changed tools)\n", "for a changed tool", r)
    manifest.write_text(MANIFEST)
    t.ok(apply().code == 0 and apply().out == "nothing to change\n", "and back")
    leads.write_text("def count(month='x'):\n    return EV_KEYS['NOBODYS']\n")
    refused(latest, 7, "a red draft is not published", "is red")
    leads.write_text(CODE)
    write("experts:\n  - {name: crm-helper, published: null}\n")
    t.ok("- publish crm-helper (version 6)" in apply("-n").out, "null takes it back")

    # export, and the same state from it elsewhere
    text = export()
    t.ok(VALUE not in text and "CRM_KEY" in text, "an export holds names, never values", text)
    write(text)
    t.ok(apply().out == "nothing to change\n", "an export applied to its own state changes nothing")
    r = t.run("evctl-apply", "--export", "-o", "json")
    t.ok(list(r.json) == ["credentials", "hosts", "experts", "connections"] and
         r.json["experts"][0]["published"] is True, "the same as JSON", r)
    file.write_text(r.out)
    t.ok(apply().out == "nothing to change\n", "which is such a file too")
    write(text)
    other = {"EVCTL_HOME": str(t.dir / "other")}
    t.good("evctl-state", "init", env=other)
    for _ in range(9):
        r = apply(env=other)
        if r.code != 7:
            break
        run = shlex.split(r.err.split("hint: ")[-1])
        t.good(run[0], *run[1:], "--from-file", "-", stdin=VALUE, env=other)
    t.ok(r.code == 0 and "+ publish crm-helper" in r.out, "applied to a new state, command by command", r)
    t.ok(export(other) == text, "the export of that is the same", export(other))

    # an export says all, so that it brings back what was changed since
    text = export()
    t.good("evctl-host", "set", "api.crm.example", "--connect-to", "127.0.0.1:9", "--allow-private", "yes")
    t.good("evctl-bind", "set", "free.example", "CRM_KEY")
    write(text)
    r = apply()
    t.ok("~ host api.crm.example (allow_private: true -> false, connect_to: 127.0.0.1:9 -> none)" in r.out and
         "~ bind free.example (CRM_KEY -> egress only)" in r.out and export() == text, "an export brings the state back", r)

    # certificates
    certs.write(t.dir / "k.pem", certs.key_pem(ca.key))
    write("hosts:\n  - {host: own.example, ca_file: ca.pem}\n")
    t.ok(apply().code == 0 and apply().out == "nothing to change\n", "ca_file is beside the file, and kept")
    # What is kept of a certificate file is kept in the clear: no key may come along, by any door.
    (t.dir / "both.pem").write_bytes((t.dir / "ca.pem").read_bytes() + (t.dir / "k.pem").read_bytes())
    inline = "".join("      " + line + "\n" for line in (t.dir / "both.pem").read_text().splitlines())
    refused("hosts:\n  - {host: both.example, ca_file: both.pem}\n", 2, "a private key beside the certificate",
            "not a file of PEM certificates")
    refused("hosts:\n  - host: both.example\n    ca: |\n" + inline, 2, "the same in place",
            "not a file of PEM certificates")
    t.fails(2, "the same by evctl-host", "evctl-host", "add", "both.example", "--ca-file", t.dir / "both.pem",
            says="not a file of PEM certificates")
    t.fails(2, "the same by evctl-conn", "evctl-conn", "add", "both", "--host", "both.example", "--env", "B",
            "--auth", "bearer", "--no-key", "--ca-file", t.dir / "both.pem", says="not a file of PEM certificates")
    (t.dir / "nul.pem").write_bytes((t.dir / "ca.pem").read_bytes() + b"\0" + (t.dir / "k.pem").read_bytes())
    t.fails(2, "behind a NUL too", "evctl-host", "add", "nul.example", "--ca-file", t.dir / "nul.pem",
            says="not a file of PEM certificates")
    text = export()
    (t.dir / "ca.pem").unlink()
    write(text)
    t.ok(apply().out == "nothing to change\n", "an export brings the certificates along")
    t.ok("BEGIN CERTIFICATE" in text and "PRIVATE" not in text, "as text")

    # pruning
    write("hosts:\n  - {host: api.crm.example, bind: CRM_KEY}\n")
    before = contents(t.home)
    t.fails(2, "--prune asks", "evctl-apply", "-f", file, "--prune", hint="add --yes")
    r = apply("--prune", "--yes")
    t.ok(r.code == 5 and "free.example" in r.err and r.out == "", "what is in use is not pruned, exit 5", r)
    t.ok(contents(t.home) == before, "and nothing was changed")
    keep = ("credentials: [{name: CRM_KEY}]\nhosts:\n  - {host: api.crm.example, bind: CRM_KEY}\n"
            "experts: [{name: crm-helper, hosts: [api.crm.example]}]\nconnections: []\n")
    t.cred("SPARE", VALUE)
    t.good("evctl-host", "add", "bound.example", "--bind", "SPARE")
    for version in (1, 3, 2, 4, 5):
        t.good("evctl-expert", "rm-version", "crm-helper", version, "--yes")
    t.good("evctl-expert", "create", "second", "--dir",
           t.expert("second", {"leads.py": CODE}, MANIFEST.replace("crm-helper", "second")))
    write(keep)
    r = apply("--prune", "-n")
    t.ok(r.code == 0 and "- expert second" in r.out and contents(t.home) != before, "the plan of pruning", r)
    r = apply("--prune", "--yes")
    for line in ("- bind bound.example (SPARE)", "- host bound.example", "- expert second", "- connection images",
                 "- grant images (crm-helper)", "- connection maps", "- host free.example",
                 "- host own.example", "- credential SPARE"):
        t.ok(line in r.out.splitlines(), f"pruned: {line}", r)
    t.ok(apply("--prune", "--yes").out == "nothing to change\n", "once")
    r = t.run("evctl-apply", "--export", "-o", "json")
    t.ok([h["host"] for h in r.json["hosts"]] == ["api.crm.example"] and r.json["connections"] == [] and
         [x["name"] for x in r.json["experts"]] == ["crm-helper"], "and what the file has is left", r)

    # a binding that the file leaves out goes with the credential that it lacks, where it has the hosts
    t.cred("LOOSE", VALUE)
    t.good("evctl-host", "add", "kept.example", "--bind", "LOOSE")
    write("credentials: [{name: CRM_KEY}]\n")
    r = apply("--prune", "-n")
    t.ok(r.code == 5 and "kept.example" in r.err, "hosts that are no section are left alone", r)
    write("credentials: [{name: CRM_KEY}]\nhosts: [{host: api.crm.example}, {host: kept.example}]\n")
    r = apply("--prune", "-n")
    t.ok(r.out.splitlines() == ["- bind kept.example (LOOSE)", "- credential LOOSE", "nothing was changed (-n)"],
         "the plan says what it would unbind", r)
    r = apply("--prune", "--yes")
    t.ok(r.code == 0 and t.run("evctl-host", "show", "kept.example", "-o", "json").json["credential"] is None, "and it does", r)
    t.cred("LOOSE", VALUE)
    t.good("evctl-bind", "set", "kept.example", "LOOSE")
    write("credentials: [{name: CRM_KEY}]\nhosts: [{host: api.crm.example}, {host: kept.example, bind: LOOSE}]\n")
    r = apply("--prune", "--yes")
    t.ok(r.out == "nothing to change\n", "what a host is bound to is named by that", r)

    # the file is bounded, and an apply that loses the race for the state waits, then says so
    write("hosts: []\n" + "# " + "x" * 1_000_000)
    t.fails(2, "a file over 1 MB", "evctl-apply", "-f", file, hint=False)
    db = sqlite3.connect(t.home / "state.db", isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    write("hosts: [{host: late.example}]\n")
    t.ok(t.run("evctl-apply", "--export").code == 0, "an export goes on while another writes")
    r = apply()
    t.ok(r.code == 6 and "hint: " in r.err and r.out == "", "busy", r)
    db.execute("ROLLBACK")
    t.ok(apply().code == 0, "control: then it passes")
