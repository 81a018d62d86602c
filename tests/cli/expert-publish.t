#!/usr/bin/python3
"""Publishing: what is frozen, what stays live, what a buyer sees."""
import json
import os
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, T

YAML = """name: crm-helper
description: Counts *leads* <b>well</b>
tools:
  - name: count-leads
    description: "- How many leads\\ncame in [a](b) month"
    entry: leads.py:count_leads
    input: {type: object, properties: {month: {type: string, description: such as 2026-10}}, required: [month]}
"""
LINE = "    marmalade_is_a_word_that_nothing_else_holds = 7"
CODE = f"def count_leads(month):\n{LINE}\n    return EV_KEYS['CRM_KEY']\n"


def every_byte_of(folder):
    return b"".join(p.read_bytes() for p in folder.rglob("*") if p.is_file())


with T() as t:
    t.init()
    src = t.expert("crm-helper", {"leads.py": CODE}, YAML)
    t.cred("CRM_KEY", "0123456789abcdef")
    t.cred("OTHER", "fedcba9876543210")
    t.good("evctl-host", "add", "api.crm.example")
    t.good("evctl-expert", "create", "crm-helper", "--dir", src)
    t.good("evctl-expert", "attach", "crm-helper", "api.crm.example")

    # -- red is refused
    t.fails(3, "nothing published: no --published verdict", "evctl-verify", "crm-helper",
            "--published", hint="evctl-expert publish crm-helper")
    t.fails(3, "nothing published: no diff", "evctl-expert", "show", "crm-helper", "--diff")
    t.fails(7, "red is refused", "evctl-expert", "publish", "crm-helper",
            says="1 required key is not supplied", hint="evctl-verify crm-helper")
    t.ok(t.run("evctl-expert", "versions", "crm-helper", "-o", "json").json == [], "nothing was made")
    r = t.run("evctl-expert", "publish", "crm-helper", "--force", "-o", "json")
    t.ok(r.code == 0 and r.json["version"] == 1 and r.json["status"] == "red" and
         r.json["flags"] == ["! forced"], "--force publishes it, flagged", r)
    r = t.run("evctl-expert", "versions", "crm-helper", "-o", "json")
    t.ok(r.json[0]["flags"] == ["! forced"] and r.json[0]["forced"] is True, "flagged in versions", r)
    t.ok("! forced" in t.run("evctl-expert", "listing", "crm-helper").out, "flagged in the listing")
    r = t.run("evctl-verify", "crm-helper", "--published", "-o", "json")
    t.ok(r.code == 7 and r.json["flags"] == ["! forced"], "flagged at verify", r)

    # -- green is frozen, without the private key
    t.good("evctl-bind", "set", "api.crm.example", "CRM_KEY")
    (t.home / "master.key").rename(t.dir / "away.key")
    r = t.run("evctl-expert", "publish", "crm-helper", "--force", "-o", "json")
    t.ok(r.code == 0 and r.json["version"] == 2 and r.json["status"] == "green" and
         r.json["flags"] == [], "publish needs no private key; --force on green flags nothing", r)
    r = t.run("evctl-verify", "crm-helper", "--published", "-o", "json")
    t.ok(r.code == 0 and r.json["status"] == "green" and
         r.json["reads"][0]["host"] == "api.crm.example", "nor does judging what is published", r)
    r = t.run("evctl-expert", "versions", "crm-helper", "-o", "json")
    t.ok([(v["version"], v["published"], v["status"], v["hosts"]) for v in r.json] ==
         [(2, True, "green", ["api.crm.example"]), (1, False, "red", ["api.crm.example"])],
         "versions, newest first", r)
    t.ok(t.run("evctl-expert", "versions", "crm-helper", "-o", "name").out == "2\n1\n",
         "versions -o name")
    held = every_byte_of(t.home)
    t.ok(LINE.strip().encode() not in held, "no line of the code is in the clear under the state")
    t.ok(b"leads.py" in held, "control: the search finds what is")
    with sqlite3.connect(t.home / "state.db") as db:
        row = db.execute("SELECT manifest, reads FROM snapshots WHERE version = 2").fetchone()
        n = db.execute("SELECT count(*) FROM audit WHERE action = 'expert publish'").fetchone()[0]
    t.ok("marmalade" not in "".join(row), "nor in what is stored beside it", row)
    t.ok(n == 2, "each publication is one audit row", n)
    (t.dir / "away.key").rename(t.home / "master.key")

    # -- the draft moves on, the snapshot does not
    r = t.run("evctl-expert", "show", "crm-helper", "--diff")
    t.ok(r.code == 0 and r.out == "the draft is as published in version 2\n", "no difference", r)
    t.good("evctl-host", "add", "*.cdn.example")
    t.good("evctl-host", "set", "api.crm.example", "--plain", "yes")
    r = t.run("evctl-expert", "attach", "crm-helper", "*.cdn.example")
    t.ok("version 2 keeps its hosts until: evctl-expert publish crm-helper" in r.err,
         "attach says that the published version keeps its hosts", r)
    t.good("evctl-bind", "set", "api.crm.example", "OTHER")
    (src / "leads.py").write_text(CODE.replace("CRM_KEY", "OTHER") + "def chart():\n    pass\n")
    (src / "expert.yaml").write_text(YAML.replace("type: string", "type: integer") +
                                     "  - name: chart\n    entry: leads.py:chart\n")
    r = t.run("evctl-expert", "show", "crm-helper", "--diff")
    t.ok(r.out.splitlines() == [
        "~ code", "~ file expert.yaml: +3 -1", "~ file leads.py: +3 -1", "+ tool chart", "~ tool count-leads: input", "+ host *.cdn.example",
        "~ host api.crm.example: plain", "~ binding of api.crm.example: CRM_KEY -> OTHER",
        "+ key OTHER", "- key CRM_KEY"], "the difference, and no code", r)
    d = t.run("evctl-expert", "show", "crm-helper", "--diff", "-o", "json").json
    t.ok(d["same"] is False and d["published"] == 2 and d["tools"]["added"] == ["chart"] and
         d["bindings"] == [{"host": "api.crm.example", "published": "CRM_KEY", "draft": "OTHER"}],
         "the same as JSON", d)
    r = t.run("evctl-verify", "crm-helper", "--published", "-o", "json")
    t.ok([(x["name"], x["host"]) for x in r.json["reads"]] == [("CRM_KEY", "api.crm.example")] and
         r.json["flags"] == [], "what is published keeps its code, hosts, flags and bindings", r)
    r = t.run("evctl-verify", "crm-helper", "-o", "json")
    t.ok(r.json["reads"][0]["name"] == "OTHER" and
         r.json["flags"] == ["! wildcard *.cdn.example", "! plain api.crm.example"],
         "the draft sees the change at once", r)

    # -- what a version pins
    t.fails(5, "a published binding keeps its credential", "evctl-cred", "rm", "CRM_KEY", "--yes",
            says="version 2 of expert crm-helper")
    t.good("evctl-expert", "detach", "crm-helper", "api.crm.example")
    t.good("evctl-host", "rm", "api.crm.example", "--yes")
    r = t.run("evctl-verify", "crm-helper", "--published", "-o", "json")
    t.ok(r.json["status"] == "green", "a version outlives the host it froze", r)
    t.fails(5, "the published version cannot be removed", "evctl-expert", "rm-version", "crm-helper",
            "2", "--yes", hint="evctl-expert publish crm-helper, or evctl-expert unpublish")
    r = t.run("evctl-expert", "unpublish", "crm-helper")
    t.ok(r.code == 0 and "version 2" in r.out, "unpublish", r)
    r = t.run("evctl-expert", "unpublish", "crm-helper")
    t.ok(r.code == 0 and "nothing" in r.out, "unpublish is idempotent", r)
    t.fails(3, "nothing is published now", "evctl-verify", "crm-helper", "--published")
    mine = int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19])
    with sqlite3.connect(t.home / "state.db") as db:
        db.execute("INSERT INTO sessions (id, expert, version, pid, pid_start, idle_s, started) "
                   "SELECT 's9', id, 2, ?, ?, 9, 0 FROM experts", (os.getpid(), mine))
    t.fails(5, "a live session keeps its version", "evctl-expert", "rm-version", "crm-helper", "2",
            "--yes", says="session s9")
    with sqlite3.connect(t.home / "state.db") as db:
        db.execute("DELETE FROM sessions")
    t.fails(2, "rm-version asks", "evctl-expert", "rm-version", "crm-helper", "2", hint="add --yes")
    t.fails(3, "no such version", "evctl-expert", "rm-version", "crm-helper", "9", "--yes")
    t.fails(2, "not a version", "evctl-expert", "rm-version", "crm-helper", "two", "--yes")
    t.good("evctl-expert", "rm-version", "crm-helper", "2", "--yes")
    t.good("evctl-cred", "rm", "CRM_KEY", "--yes")
    t.ok(True, "and then the credential is free")
    t.good("evctl-host", "add", "api.crm.example", "--bind", "OTHER")
    t.good("evctl-expert", "attach", "crm-helper", "api.crm.example")
    r = t.run("evctl-expert", "publish", "crm-helper")
    t.ok(r.code == 0 and "version 3" in r.out and "! wildcard *.cdn.example" in r.out,
         "numbers are never used again; flags are shown at publish", r)

    # -- the listing
    t.good("evctl-cred", "payer", "OTHER", "buyer")
    r = t.run("evctl-expert", "listing", "crm-helper", "-o", "json")
    l = r.json
    t.ok(l["keys"] == [{"name": "OTHER", "hosts": ["api.crm.example"]}] and l["version"] == 3 and
         [h["host"] for h in l["hosts"]] == ["*.cdn.example", "api.crm.example"] and
         l["hosts"][0]["flags"] == ["! wildcard"], "listing: payers are live", r)
    t.ok([x["name"] for x in l["tools"]] == ["count-leads", "chart"] and
         l["tools"][0]["input"]["required"] == ["month"] and l["connections"] == [],
         "listing: tools with schemas", r)
    t.ok("leads.py" not in r.out and str(t.dir) not in r.out and "entry" not in r.out,
         "listing: no paths, no entries", r)
    text = t.run("evctl-expert", "listing", "crm-helper").out
    t.ok("month (integer, required): such as 2026-10" in text and "OTHER, for api.crm.example" in text
         and "*.cdn.example  ! wildcard" in text, "listing as text", text)
    for args in (("--markdown",), ("-o", "markdown")):
        md = t.run("evctl-expert", "listing", "crm-helper", *args).out
        t.ok("## Tools" in md and "Counts \\*leads\\* \\<b\\>well\\</b\\>" in md and
             "\\- How many leads came in \\[a\\](b) month" in md and
             "- `*.cdn.example` **! wildcard**" in md and "- `OTHER` for `api.crm.example`" in md,
             f"listing {' '.join(args)}: what the builder wrote is no markup", md)
    t.fails(2, "only listing takes -o markdown", "evctl-expert", "list", "-o", "markdown")
    t.good("evctl-cred", "payer", "OTHER", "stored")
    r = t.run("evctl-expert", "listing", "crm-helper", "-o", "json")
    t.ok(r.json["keys"] == [] and "OTHER" not in r.out, "the builder's own credentials are not named", r)
    t.good("evctl-expert", "unpublish", "crm-helper")
    r = t.run("evctl-expert", "listing", "crm-helper", "-o", "json")
    t.ok(r.code == 0 and r.json["version"] is None and "not published" in r.err,
         "unpublished: the draft's listing, with a note", r)

    # -- no internal address, whoever is told what a version may reach
    t.good("evctl-host", "add", "lab.example:8443", "--connect-to", "10.7.6.5:8443", "--allow-private")
    t.good("evctl-conn", "add", "inner", "--host", "inner.example", "--env", "INNER", "--auth", "bearer", "--no-key",
           "--connect-to", "[fd00::7]:8443", "--allow-private")
    t.good("evctl-expert", "attach", "crm-helper", "lab.example:8443")
    t.good("evctl-conn", "grant", "inner", "crm-helper", "--payer", "buyer")
    t.good("evctl-expert", "publish", "crm-helper")
    for args in ((), ("--markdown",), ("-o", "json")):
        r = t.run("evctl-expert", "listing", "crm-helper", *args)
        t.ok(r.code == 0 and "connect-to" in r.out and "lab.example:8443" in r.out and "inner.example" in r.out and
             "10.7.6.5" not in r.out and "fd00" not in r.out, f"listing {' '.join(args)}: flagged, and no address in it", r)
    t.ok("10.7.6.5" in t.run("evctl-host", "show", "lab.example:8443").out, "control: the owner sees it")
    t.good("evctl-conn", "revoke", "inner", "crm-helper")

    # -- at once
    last = t.run("evctl-expert", "versions", "crm-helper", "-o", "json").json[0]["version"]
    four = [subprocess.Popen([BIN / "evctl-expert", "publish", "crm-helper", "--force", "-o", "json"], env=t.env,
                             stdout=subprocess.PIPE) for _ in range(4)]
    made = sorted(json.loads(p.communicate(timeout=60)[0])["version"] for p in four)
    t.ok(made == [last + 1, last + 2, last + 3, last + 4], "four at once are four versions", made)

    # -- many bytes
    (src / "blob.bin").write_bytes(os.urandom(20_000_000))
    r = t.run("evctl-expert", "publish", "crm-helper")
    t.ok(r.code == 0, "20 MB of code", r)
    (src / "blob.bin").unlink()
    (src / "vendor" / "deep" / "er").mkdir(parents=True)
    (src / "data").mkdir()
    (src / "vendor" / "deep" / "er" / "a").write_bytes(b"x" * 60_000_000)
    (src / "data" / "b").write_bytes(b"x" * 41_000_000)
    t.fails(2, "over 100 MB: what is largest", "evctl-expert", "publish", "crm-helper", hint="list what",
            says="more than 100 MB; most of it: vendor/deep/ 60.0 MB, data/ 41.0 MB, ")
    (src / "data" / "b").unlink()
    for i in range(5000):
        (src / "data" / str(i)).write_text("")
    t.fails(2, "over 5,000 files: where they are", "evctl-expert", "publish", "crm-helper", hint="list what",
            says="more than 5000; most of it: data/ 5000 files, ")
    shutil.rmtree(src / "data")
    shutil.rmtree(src / "vendor")
    t.good("evctl-expert", "rm", "crm-helper", "--yes")
    with sqlite3.connect(t.home / "state.db") as db:
        n = db.execute("SELECT (SELECT count(*) FROM snapshots) + (SELECT count(*) FROM "
                       "snapshot_hosts) + (SELECT count(*) FROM attachments)").fetchone()[0]
    t.ok(n == 0, "rm leaves nothing of it", n)
