#!/usr/bin/python3
"""Credentials, hosts and bindings at the shell, to the letter of what is promised."""
import os
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, T

SECRET = "sk-live-0123456789-abcd"


def every_byte_of(folder):
    return b"".join(p.read_bytes() for p in folder.rglob("*") if p.is_file())


with T() as t:
    t.fails(9, "no state: exit 9 and the command that makes one", "evctl-cred", "list",
            hint="evctl init")
    t.init()
    t.ok(oct(t.home.stat().st_mode)[-3:] == "700", "the state directory is 0700")
    t.ok(oct((t.home / "state.db").stat().st_mode)[-3:] == "600", "the state file is 0600")
    t.ok(oct((t.home / "master.key").stat().st_mode)[-3:] == "600", "the private key is 0600")
    db = sqlite3.connect(t.home / "state.db")
    t.ok(db.execute("PRAGMA journal_mode").fetchone()[0] == "wal", "WAL")
    loose = [r[1] for r in db.execute("PRAGMA table_list") if r[0] == "main" and not r[5]
             and not r[1].startswith("sqlite_")]
    t.ok(loose == [], "every table is STRICT", loose)
    db.close()
    t.fails(5, "a second init changes nothing", "evctl-state", "init", hint="evctl-state status")

    r = t.run("evctl-cred", "add", "CRM_KEY", "--from-file", "-", stdin=SECRET + "\n")
    t.ok(r.code == 0 and "No hosts bound yet" in r.out and r.err == "", "add from stdin", r)
    r = t.run("evctl-cred", "show", "CRM_KEY", "-o", "json")
    t.ok(r.json["hint"] == "••••••••abcd", "the hint is eight bullets and the last four", r)
    t.ok(r.json["note"] == "No hosts bound yet" and r.json["hosts"] == [], "no hosts yet", r)
    t.ok(SECRET.encode() not in every_byte_of(t.home), "the value is nowhere under the state")
    t.ok(b"CRM_KEY" in every_byte_of(t.home), "control: the search finds the name")

    t.cred("PART", "123456789012345")
    t.ok(t.run("evctl-cred", "show", "PART", "-o", "json").json["hint"] == "••••••••",
         "15 bytes: bullets only")
    t.cred("WHOLE", "1234567890123456")
    t.ok(t.run("evctl-cred", "show", "WHOLE", "-o", "json").json["hint"] == "••••••••3456",
         "16 bytes: the last four")

    t.fails(5, "the name is taken", "evctl-cred", "add", "CRM_KEY", "--from-file", "-",
            stdin="x" * 20, hint="evctl-cred rotate CRM_KEY")
    r = t.run("evctl-cred", "add", "CRM_KEY", "--if-missing", "--from-file", "-", stdin="other")
    t.ok(r.code == 0, "--if-missing is content", r)
    t.good("evctl-cred", "add", "CRM_KEY", "--replace", "--from-file", "-", stdin=SECRET)
    t.ok(t.run("evctl-cred", "show", "CRM_KEY", "-o", "json").json["version"] == 2, "--replace")

    for value, why in (("", "empty"), ("a\0b", "NUL"), ("x" * 65537, "over 64 KiB")):
        t.fails(2, f"refused: {why}", "evctl-cred", "add", "BAD", "--from-file", "-", stdin=value,
                hint=False)
    t.good("evctl-cred", "add", "MOST", "--from-file", "-", stdin="x" * 65536)
    t.ok(t.run("evctl-cred", "show", "BAD").code == 3, "and nothing of them was stored")
    r = t.fails(2, "no terminal and no source", "evctl-cred", "add", "NEW", hint="give --from-file")
    r = t.fails(2, "a value as an argument is refused", "evctl-cred", "add", "NEW", SECRET)
    t.ok(SECRET not in r.err, "and not echoed", r)
    t.fails(2, "a value as an option is refused", "evctl-cred", "add", "NEW", "--value", SECRET)

    (t.dir / "nl").write_bytes(b"file-value-with-newline\n")
    r = t.run("evctl-cred", "add", "NL", "--from-file", t.dir / "nl")
    t.ok(r.code == 0 and "newline" in r.err and "--trim" in r.err, "a file's newline is warned of", r)
    r = t.run("evctl-cred", "add", "NL2", "--from-file", t.dir / "nl", "--trim")
    t.ok(r.code == 0 and r.err == "", "--trim drops it", r)
    rd, wr = os.pipe()
    os.write(wr, b"from-a-descriptor-1")
    os.close(wr)
    r = t.run("evctl-cred", "add", "FD", "--from-fd", rd, pass_fds=(rd,))
    t.ok(r.code == 0, "--from-fd", r)
    t.fails(2, "--from-fd of nothing", "evctl-cred", "add", "FD2", "--from-fd", "99")
    t.fails(2, "sealed and short", "evctl-cred", "add", "S", "--sealed", "--from-file", "-",
            stdin="elevenbytes")
    t.fails(2, "sealed with a line break", "evctl-cred", "add", "S", "--sealed", "--from-file", "-",
            stdin="twelve\nbytes-and-more")
    t.good("evctl-cred", "add", "S", "--sealed", "--from-file", "-", stdin="twelve-bytes")
    r = t.run("evctl-cred", "add", "SHORT", "--from-file", "-", stdin="short")
    t.ok(r.code == 0 and "! short" in r.err, "short: taken, and said", r)
    t.ok("! short" in t.run("evctl-cred", "show", "SHORT", "-o", "json").json["flags"], "and flagged")

    for name in ("1X", "a-b", "", "x" * 65, "ü"):
        t.fails(2, f"bad name {name[:8]!r}", "evctl-cred", "add", name, "--from-file", "-", stdin="v" * 12)
    t.good("evctl-cred", "add", "x" * 64, "--from-file", "-", stdin="v" * 12)
    t.fails(3, "no such", "evctl-cred", "show", "CRM_KYE", hint="did you mean 'CRM_KEY'?")
    t.fails(2, "unknown verb", "evctl-cred", "lsit", hint="did you mean 'evctl-cred list'?")
    r = t.fails(2, "a value as an argument", "evctl-cred", "add", "X", "sk-typed-by-mistake",
                says="too many arguments", hint="a secret is never an argument")
    t.ok("sk-typed" not in r.out + r.err, "is not said again", r)
    t.fails(2, "an option's value left out", "evctl-cred", "set", "X", "--sealed",
            says="needs a value: yes|no", hint="evctl-cred set --help")
    t.fails(2, "unknown option", "evctl-cred", "add", "X", "--payr", "buyer", hint="did you mean '--payer'?")
    t.fails(2, "unknown payer", "evctl-cred", "add", "X", "--payer", "me")
    r = t.run("evctl-cred", "show", "NOPE", "-o", "json")
    t.ok(r.out == "" and r.error["code"] == 3 and r.error["kind"] == "not-found" and
         r.error["hint"] == "evctl-cred add NOPE" and r.err.count("\n") == 1, "an error as JSON", r)

    # hosts and bindings
    r = t.run("evctl-host", "add", "API.Crm.Example.", "--bind", "CRM_KEY")
    t.ok(r.code == 0, "host, lower-cased, one dot dropped", r)
    r = t.run("evctl-host", "add", "free.example:443")
    t.ok(r.code == 0 and "egress only" in r.out, "egress only", r)
    t.ok(t.run("evctl-host", "show", "free.example", "-o", "json").json["host"] == "free.example",
         "x:443 is x")
    for bad in ("*", "*.com", "*.co.uk", "127.0.0.1", "2130706433", "0x7f.1", "[::1]", "a b", "a..b",
                "x.example:0", "x.example:70000", "user@x.example", "http://x.example"):
        t.fails(2, f"refused: {bad}", "evctl-host", "add", bad, hint=False)
    for at in ("0x7f000001:443", "127.1:443"):
        t.fails(2, f"refused as the address it is: {at}", "evctl-host", "add", "odd.crm.example", "--connect-to", at,
                says="address 127.0.0.1")
    t.fails(2, "a name that TLS does not take", "evctl-host", "add", "a_b.crm.example", says="over TLS")
    t.fails(2, "nor with another port", "evctl-host", "add", "a_b.crm.example:8443", says="over TLS")
    t.good("evctl-host", "add", "a_b.crm.example:8080", "--plain")
    t.good("evctl-host", "rm", "a_b.crm.example:8080", "--yes")
    t.fails(5, "host taken", "evctl-host", "add", "api.crm.example")
    t.fails(2, "wildcard with --allow-private alone", "evctl-host", "add", "*.w.example", "--allow-private")
    r = t.run("evctl-host", "add", "*.w.example", "--allow-private", "--plain", "--connect-to",
              "127.0.0.1:9")
    t.ok(r.code == 0 and all(f in r.out for f in ("! wildcard", "! allow-private", "! plain",
                                                  "! connect-to 127.0.0.1:9")), "flags are said", r)
    r = t.run("evctl-host", "list", "-o", "json")
    flags = {h["host"]: h["flags"] for h in r.json}
    t.ok("! wildcard" in flags["*.w.example"] and flags["free.example"] == [], "and listed", r)
    r = t.run("evctl-bind", "set", "free.example", "PART")
    t.ok(r.code == 0 and "rebound" not in r.out, "bind", r)
    r = t.run("evctl-bind", "set", "free.example", "WHOLE")
    t.ok(r.code == 0 and "rebound" in r.out, "a rebind says so", r)
    r = t.run("evctl-bind", "list", "-o", "json")
    t.ok({b["host"]: b["credential"] for b in r.json} ==
         {"api.crm.example": "CRM_KEY", "free.example": "WHOLE"}, "bindings", r)
    t.fails(3, "bind to no credential", "evctl-bind", "set", "free.example", "NOPE")
    t.fails(3, "bind no host", "evctl-bind", "set", "none.example", "CRM_KEY",
            hint="evctl-host add none.example")
    t.fails(5, "a credential in use", "evctl-cred", "rm", "CRM_KEY", "--yes", says="api.crm.example")
    t.fails(2, "rm asks", "evctl-cred", "rm", "PART", hint="add --yes")
    t.ok(t.run("evctl-cred", "show", "PART").code == 0, "and nothing was removed")
    r = t.run("evctl-cred", "rm", "PART", "--yes")
    t.ok(r.code == 0 and t.run("evctl-cred", "show", "PART").code == 3, "rm --yes", r)
    r = t.run("evctl-bind", "clear", "free.example")
    t.ok(r.code == 0 and t.run("evctl-bind", "clear", "free.example").code == 0, "clear, twice", r)

    # payers
    t.good("evctl-cred", "add", "BUY", "--payer", "buyer")
    t.fails(5, "buyer to stored without a value", "evctl-cred", "payer", "BUY", "stored",
            hint="evctl-cred rotate BUY")
    t.good("evctl-cred", "payer", "WHOLE", "buyer")
    t.fails(5, "supply what is stored", "evctl-cred", "supply", "CRM_KEY", "--expert", "e", "--buyer",
            "b", "--from-file", "-", stdin="v" * 12, hint="evctl-cred payer CRM_KEY buyer")
    t.fails(3, "supply for no expert", "evctl-cred", "supply", "BUY", "--expert", "e", "--buyer", "b",
            "--from-file", "-", stdin="v" * 12)

    # output forms
    r = t.run("evctl-cred", "list", "-o", "name")
    t.ok(r.out.splitlines() == sorted(r.out.splitlines()) and "CRM_KEY" in r.out.splitlines(),
         "-o name is one a line", r)
    r = t.run("evctl-cred", "list")
    t.ok(all(line.count("\t") == 8 for line in r.out.splitlines()), "text off a terminal has tabs", r)
    r = t.run("evctl", "cred", "list", "-o", "json")
    t.ok(r.code == 0 and isinstance(r.json, list), "evctl NOUN", r)
    t.fails(2, "evctl of no noun", "evctl", "crde", hint="did you mean 'evctl cred'?")
    t.fails(2, "nor of a longer word", "evctl", "credentials", hint="did you mean 'evctl cred'?")
    for p in ("evctl", "evctl-cred", "evctl-host", "evctl-bind", "evctl-state"):
        r = t.run(p, "--help")
        t.ok(r.code == 0 and "Examples" in r.out.splitlines()[2] + r.out and r.err == "", f"{p} --help", r)
        t.ok(t.run(p, "--version").out.startswith(p + " "), f"{p} --version")
    full = subprocess.run([BIN / "evctl-cred", "list"], stdout=open("/dev/full", "w"),
                          stderr=subprocess.PIPE, env=t.env)
    t.ok(full.returncode == 1 and b"cannot write" in full.stderr, "a full disk is noticed", full)

    # many at once: nothing is lost
    jobs = [subprocess.Popen([BIN / "evctl-cred", "add", f"P{i}", "--from-file", "-"], env=t.env,
                             stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) for i in range(20)]
    for j in jobs:
        j.stdin.write(b"parallel-value-1")
        j.stdin.close()
    t.ok([j.wait() for j in jobs] == [0] * 20, "twenty adds at once")
    names = t.run("evctl-cred", "list", "-o", "name").out.split()
    t.ok(all(f"P{i}" in names for i in range(20)), "and all are there")

    db = sqlite3.connect(t.home / "state.db")
    actions = [r[0] for r in db.execute("SELECT action FROM audit ORDER BY seq")]
    t.ok(actions[0] == "state init" and actions.count("cred add") >= 25, "each change has its row")
    text = " ".join(str(r) for r in db.execute("SELECT * FROM audit"))
    t.ok(SECRET not in text and "CRM_KEY" in text, "the audit holds names, never values")
    db.execute("BEGIN IMMEDIATE")
    r = t.run("evctl-cred", "list")
    t.ok(r.code == 0, "reading goes on while another writes", r)
    r = t.run("evctl-cred", "rm", "P1", "--yes")
    t.ok(r.code == 6 and "hint: " in r.err, "writing waits 10 s, then exit 6", r)
    db.rollback()
    db.execute("PRAGMA user_version = 99")
    db.commit()
    db.close()
    t.fails(9, "a newer state is refused", "evctl-cred", "list")
    (t.home / "state.db").write_bytes(b"this is no database at all, not even near" * 100)
    for f in ("state.db-wal", "state.db-shm"):
        (t.home / f).unlink(missing_ok=True)
    t.fails(9, "a damaged state is refused", "evctl-cred", "list")
