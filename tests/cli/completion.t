#!/usr/bin/python3
"""The engine of completion: every verb, option and kind of name, at any size, and never a message."""
import json
import os
import re
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, HELPERS, ROOT, UNDER_STRACE, T

NONE, FILE, DIR, CRED, HOST, EXPERT, TOOL, RUN, ARTIFACT, SESSION, BATCH, CONN, VERSION, BUYER, TOKEN, WORD = range(16)
NAMES = {
    CRED: ["API_KEY", "CRM_KEY"],
    HOST: ["*.w.example", "a.example", "a.example:8443", "b.example:9"],
    EXPERT: ["chart", "crm-helper"],
    TOOL: ["chart-leads", "count-leads"],
    RUN: ["r000000000000001", "r000000000000002"],
    ARTIFACT: ["a b.png", "leads.png", "sub/x.csv"],
    SESSION: ["s000000000000001"],
    BATCH: ["b000000000000001"],
    CONN: ["images", "maps"],
    VERSION: ["1", "2"],
    BUYER: ["acme", "beta", "gamma"],
    TOKEN: ["t000000000000001"],
}
SQL = """
PRAGMA foreign_keys = OFF;
INSERT INTO credentials (id, name, payer, created, changed) VALUES (1,'CRM_KEY','stored',0,0), (2,'API_KEY','buyer',0,0);
INSERT INTO hosts (name, port, created) VALUES ('a.example',443,0), ('a.example',8443,0), ('b.example',9,0),
  ('*.w.example',443,0);
INSERT INTO experts (id, name, dir, published, created) VALUES (1,'crm-helper','/x',2,0), (2,'chart','/y',NULL,0);
INSERT INTO tools VALUES (1,'count-leads','Counts: leads
and more'), (1,'chart-leads',''), (2,'other','');
INSERT INTO snapshots (id, expert, version, manifest, code, reads, verdict, created) VALUES
  (1,1,1,'{}',x'00','[]','green',0), (2,1,2,'{}',x'00','[]','green',0), (3,2,7,'{}',x'00','[]','green',0);
INSERT INTO batches (id, expert, version, engine, spool, settings, public_key, calls, status, started, expires) VALUES
  ('b000000000000001','crm-helper',1,'local','/x','{}',x'00',1,'ok',1,1);
INSERT INTO runs (id, expert, version, tool, status, pid, pid_start, started) VALUES
  ('r000000000000001','crm-helper',1,'count-leads','ok',1,1,1), ('r000000000000002','crm-helper',1,'count-leads','ok',1,1,2);
INSERT INTO artifacts (run, name, bytes, type, inline, sha256, created) VALUES
  ('r000000000000001','leads.png',1,'image/png',1,'ab',0), ('r000000000000001','a b.png',1,'image/png',1,'ab',0),
  ('r000000000000001','sub/x.csv',1,'text/csv',1,'ab',0), ('r000000000000002','other.png',1,'image/png',1,'ab',0);
INSERT INTO sessions (id, expert, version, pid, pid_start, idle_s, started, ended) VALUES
  ('s000000000000001',1,1,1,1,1,0,NULL), ('s000000000000002',1,1,1,1,1,0,5);
INSERT INTO connections (id, name, env, auth, created, changed) VALUES (1,'maps','M','bearer',0,0), (2,'images','I','bearer',0,0);
INSERT INTO buyer_values (credential, expert, buyer, changed) VALUES (1,1,'acme',0), (2,1,'acme',0);
INSERT INTO connection_values (connection, expert, buyer, changed) VALUES (1,1,'beta',0), (2,1,'acme',0);
INSERT INTO buyers (name, added) VALUES ('gamma',0);
INSERT INTO tokens (id, buyer, hash, created, withdrawn) VALUES ('t000000000000001','gamma',x'01',0,NULL),
  ('t000000000000002','gamma',x'02',0,1);
"""
MANY = """
PRAGMA foreign_keys = OFF;
WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 100100)
INSERT INTO credentials (id, name, payer, created, changed) SELECT i, 'K' || i, 'stored', 0, 0 FROM n;
WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 100100)
INSERT INTO hosts (name, port, created) SELECT 'h' || i || '.example', 443, 0 FROM n;
WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 100100)
INSERT INTO experts (id, name, dir, created) SELECT i, 'x' || i, '/x', 0 FROM n;
WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 100100)
INSERT INTO tools SELECT 1, 't' || i, '' FROM n;
WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 100100)
INSERT INTO runs (id, expert, version, tool, status, pid, pid_start, started)
  SELECT printf('r%015d', i), 'e', 1, 't', 'ok', 1, 1, i FROM n;
WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 100100)
INSERT INTO artifacts (run, name, bytes, type, inline, sha256, created)
  SELECT 'r000000000000001', 'z' || i, 1, 't', 0, 'ab', 0 FROM n;
WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 100100)
INSERT INTO sessions (id, expert, version, pid, pid_start, idle_s, started, ended)
  SELECT printf('s%015d', i), 1, 1, 1, 1, 1, 0, 5 FROM n;
WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 100100)
INSERT INTO connections (id, name, env, auth, created, changed) SELECT i, 'c' || i, 'M', 'bearer', 0, 0 FROM n;
WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 100100)
INSERT INTO buyer_values (credential, expert, buyer, changed) SELECT i, 1, 'acme', 0 FROM n;
WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 100100)
INSERT INTO snapshots (expert, version, manifest, code, reads, verdict, created)
  SELECT 2, i, '{}', x'00', '[]', 'green', 0 FROM n;
"""

with T() as t:
    programs = sorted(p.name for p in BIN.iterdir() if p.name.startswith("evctl-") and p.name not in HELPERS)
    specs = {p: json.loads(t.run(p, "--dump-spec").out) for p in programs}
    t.init()
    db = sqlite3.connect(t.home / "state.db")
    db.executescript(SQL)

    def ask(program, *words, **kw):
        return t.run(program, "--complete", *words, **kw)

    def names(r):
        return sorted(line.split("\t")[0] for line in r.out.splitlines())

    def expected(spec, verb, thing):
        """What an option or argument takes, or None where anything goes."""
        if thing["choices"]:
            return sorted(thing["choices"].split("|"))
        if thing["name"] == "output" and thing in spec["common"]:
            more = verb["outputs"].split("|") if verb["outputs"] else []
            return sorted(["json", "name", "text"] + more)
        if thing["kind"] in (FILE, DIR):
            return [":file" if thing["kind"] == FILE else ":dir"]
        return NAMES.get(thing["kind"], [])

    def example(thing, done):
        """A word for an argument before the one that is looked at."""
        own = {EXPERT: "crm-helper", RUN: "r000000000000001", TOOL: "count-leads", CONN: "maps"}
        return own.get(thing["kind"]) or (thing["choices"] or "x").split("|")[0]

    # ---- members of a tool's input, of a draft and of what is published
    src = t.expert("made", {"m.py": "def f(month='', n=1): return 1\ndef g(first: str, second: bool = False): return 2\n"}, """name: made
tools:
  - name: f
    entry: 'm.py:f'
    input:
      type: object
      properties: {month: {type: string, enum: [Jan, Feb], description: Which one}, n: {type: integer}}
  - {name: g, entry: 'm.py:g'}
""")
    t.good("evctl-expert", "create", "made", "--dir", src)
    for again in ("draft", "published"):
        for words, want in ((("f", "--arg", ""), ["month=", "n="]), (("f", "--arg", "mo"), ["month="]), (("f", "--arg=m",), ["--arg=month="]),
                            (("f", "--arg", "month="), ["month=Feb", "month=Jan"]), (("f", "--arg", "month=J"), ["month=Jan"]),
                            (("f", "--arg", "n="), []), (("f", "--arg", "x"), []), (("nope", "--arg", ""), []),
                            (("g", "--arg", ""), ["first=", "second="]), (("g", "--arg", "second="), ["second=false", "second=true"]),
                            (("f", "--draft", "--arg", "m"), ["month="])):
            t.eq(names(ask("evctl-run", "made", *words)), want, f"{again}: {' '.join(words)!r}")
        t.ok("month=\tWhich one" in ask("evctl-run", "made", "f", "--arg", "").out, "described")
        t.eq(names(ask("evctl", "run", "made", "f", "--arg", "month=")), ["month=Feb", "month=Jan"], "through evctl, too")
        t.good("evctl-expert", "publish", "made")
    t.good("evctl-expert", "rm", "made", "--yes")

    wrong, looked = [], 0
    for p, spec in specs.items():
        verbs = spec["verbs"]
        named = [v["name"] for v in verbs if v.get("name")]
        if named and names(ask(p, "")) != sorted(named):
            wrong.append((p, "verbs", names(ask(p, ""))))
        if any(x["kind"] in NAMES for v in verbs for x in v["args"] + v["options"]):
            looked += 1
        for v in verbs:
            before = [v["name"]] if v.get("name") else []
            options = v["options"] + spec["options"] + spec["common"]
            got = names(ask(p, *before, "--"))
            if got != sorted("--" + o["name"] for o in options):
                wrong.append((p, before, "options", got))
            for o in filter(lambda o: o["arg"], options):
                context = [example(a, []) for a in v["args"] if a["kind"] in (EXPERT, RUN)]
                want = expected(spec, v, o)
                got = names(ask(p, *before, *context, "--" + o["name"], ""))
                if got != want:
                    wrong.append((p, before, o["name"], got, want))
                lead = [w if w[0] == ":" else f"--{o['name']}={w}" for w in want]
                got = names(ask(p, *before, *context, f"--{o['name']}="))
                if got != lead:
                    wrong.append((p, before, o["name"] + "=", got, lead))
            for i, a in enumerate(v["args"]):
                words = [example(b, []) for b in v["args"][:i]]
                got, want = names(ask(p, *before, *words, "")), expected(spec, v, a)
                if got != want:
                    wrong.append((p, before, words, a["name"], got, want))
                for w in (w for w in want if w[0] != ":"):
                    if names(ask(p, *before, *words, w[:3])) != [x for x in want if x.startswith(w[:3])]:
                        wrong.append((p, before, words, w[:3]))
    t.ok(not wrong, "every verb, option, choice and kind of name of every program", "\n".join(map(str, wrong)))
    t.ok(looked >= 10 and all(s["verbs"] for s in specs.values()), "control: the programs have names to complete",
         looked)
    t.ok(names(ask("evctl-verify", "crm-helper", "-o", "")) == ["github", "gitlab", "json", "name", "sarif", "text"],
         "a verb's own output format")

    r = ask("evctl-host", "show", "a.example:")
    t.ok(names(r) == ["a.example:8443"], "a name with ':'", r)
    t.ok(names(ask("evctl-host", "show", "*.")) == ["*.w.example"], "a wildcard")
    r = ask("evctl-run", "crm-helper", "co")
    t.ok(r.out == "count-leads\tCounts: leads\n", "a description is one line", r)
    t.ok(names(ask("evctl-run", "chart", "")) == ["other"], "a tool is of the expert before it")
    t.ok(names(ask("evctl-run", "chart", "other", "--version", "")) == ["7"], "so is a version")
    t.ok(names(ask("evctl-artifact", "get", "r000000000000002", "")) == ["other.png"],
         "an artifact is of the run before it")
    t.ok(ask("evctl-run", "").out == ask("evctl-run", "--", "").out != "", "after '--' come names")
    t.ok(ask("evctl-run", "--", "--").out == "", "and no options")
    t.ok(ask("evctl-verify", "./").out == ":dir\n", "where an expert is named, a directory may be")
    t.ok(ask("evctl-cred", "show", "--state", t.dir / "none", "").out == "", "--state is heeded")
    t.ok(names(ask("evctl-cred", "--state", t.home, "show", "", env={"EVCTL_HOME": "/none"})) ==
         NAMES[CRED], "also before the verb")
    t.ok(names(ask("evctl-cred", f"--state={t.home}", "show", "", env={"EVCTL_HOME": "/none"})) ==
         NAMES[CRED], "and with '='")
    t.ok(names(ask("evctl-cred", "--payer", "stored", "")) == sorted(
        v["name"] for v in specs["evctl-cred"]["verbs"]), "a verb's option before the verb")

    # the front door
    nouns = [p.removeprefix("evctl-") for p in programs]
    r = ask("evctl", "")
    t.ok(set(names(r)) >= set(nouns) | {"init", "help"} and all("\t" in x for x in r.out.splitlines()),
         "evctl offers every noun, with what it is", (r, nouns))
    for noun in nouns:
        r, own = ask("evctl", noun, ""), ask("evctl-" + noun, "")
        t.ok(r.out == own.out and (r.out or noun in ("doctor", "apply", "serve")), f"evctl {noun}, as evctl-{noun}",
             (r, own))
    t.ok(names(ask("evctl", "--state", t.home, "cred", "show", "", env={"EVCTL_HOME": "/none"})) ==
         NAMES[CRED], "options before the noun are handed on")
    t.ok("--passphrase" in names(ask("evctl", "init", "--")), "evctl init")
    t.ok("contract" in names(ask("evctl", "help", "c")) and "cred" in names(ask("evctl", "help", "c")),
         "evctl help")
    t.ok("--state" in names(ask("evctl", "--")), "evctl's own options")

    # the scripts name every program
    for script, marks in (("completions/_evctl", r"^#compdef (.*)$"), ("completions/evctl.bash", r"^complete .*-F _evctl (.*)"),
                          ("completions/evctl.fish", r"^for program in evctl evctl-\{(.*)\}")):
        text = (ROOT / script).read_text().replace("\\\n", " ")
        listed = set(re.split(r"[\s,]+", re.search(marks, text, re.M).group(1).strip()))
        listed = {x.removeprefix("evctl-") for x in listed} - {"evctl"}
        t.ok(listed == set(nouns), f"{script} is for every program", listed ^ set(nouns))

    # silent whatever happens
    def silent(what, *words, env=None, program="evctl-cred", **kw):
        r = ask(program, *(words or ("show", "")), env=env, **kw)
        t.ok(r.code == 0 and r.err == "" and r.out == "", f"silent: {what}", r)

    silent("no state", env={"EVCTL_HOME": str(t.dir / "none")})
    silent("a verb that is none", "shwo", "")
    silent("too many words", "show", "A", "B", "")
    silent("an option that is none", "show", "--nope=")
    silent("a noun that is none", "crde", "", program="evctl")
    silent("no words at all but a state that is none", "show", "", env={"EVCTL_HOME": "/dev/null/x"})
    silent("a very long word", "show", "x" * 10000)
    silent("bytes that are no text", "show", b"\xff\xfe")
    bare = {k: v for k, v in t.env.items() if k not in ("HOME", "EVCTL_HOME")}
    done = subprocess.run([BIN / "evctl-cred", "--complete", "show", ""], capture_output=True, env=bare)
    t.ok((done.returncode, done.stdout, done.stderr) == (0, b"", b""), "silent: no HOME", done)
    done = subprocess.run([BIN / "evctl-cred", "--complete"], capture_output=True, env=t.env)
    t.ok(done.returncode == 0 and done.stderr == b"", "silent: no words", done)
    done = subprocess.run([BIN / "evctl-cred", "--complete", "show", ""], stdout=open("/dev/full", "w"),
                          stderr=subprocess.PIPE, env=t.env)
    t.ok(done.stderr == b"", "silent: nowhere to write", done)

    broken = t.dir / "broken"
    broken.mkdir(mode=0o700)
    whole = (t.home / "state.db").read_bytes()
    for what, data in (("an empty file", b""), ("no database", b"no" * 5000), ("cut short", whole[:5000]),
                       ("a page overwritten", whole[:8192] + b"\xff" * 4096 + whole[12288:])):
        (broken / "state.db").write_bytes(data)
        for f in broken.glob("state.db-*"):
            f.unlink()
        r = ask("evctl-cred", "show", "", env={"EVCTL_HOME": str(broken)})
        t.ok(r.code == 0 and r.err == "", f"silent: {what}", r)
    (broken / "state.db").unlink()
    (broken / "state.db").mkdir()
    silent("the state file is a directory", env={"EVCTL_HOME": str(broken)})

    # read only, needs no key, waits for nobody, changes nothing
    key = t.home / "master.key"
    kept = key.read_bytes()
    key.unlink()
    t.ok(names(ask("evctl-cred", "show", "")) == NAMES[CRED], "needs no private key")
    key.write_bytes(kept)
    db.commit()
    before = (t.home / "state.db").read_bytes()
    writer = sqlite3.connect(t.home / "state.db", isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    t.ok(names(ask("evctl-cred", "show", "")) == NAMES[CRED], "goes on while another writes")
    writer.execute("ROLLBACK")
    writer.close()
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    db.execute("BEGIN EXCLUSIVE")
    r = subprocess.run(["strace", "-f", "-e", "trace=clock_nanosleep,nanosleep,poll,select,pselect6", "-o",
                        t.dir / "waits", BIN / "evctl-cred", "--complete", "show", ""],
                       env={**t.env, **UNDER_STRACE}, capture_output=True)
    waits = [x for x in (t.dir / "waits").read_text().splitlines() if "sleep(" in x or "select" in x]
    t.ok(r.returncode == 0 and r.stderr == b"" and waits == [], "and never waits for a lock", waits)
    db.execute("ROLLBACK")
    db.close()
    t.ok((t.home / "state.db").read_bytes()[:24] == before[:24], "and the file is as it was")
    ro = ["unshare", "-m", "sh", "-c", 'mount --bind "$EVCTL_HOME" "$EVCTL_HOME" && '
          'mount -o remount,bind,ro "$EVCTL_HOME" && exec "$@"', "sh"]
    done = subprocess.run([*ro, BIN / "evctl-cred", "--complete", "show", ""], capture_output=True, env=t.env)
    if os.geteuid() == 0:
        t.ok(done.returncode == 0 and done.stderr == b"", "silent: a read-only directory", done)

    # 100,000 rows of each kind: pages read, not time, so that it holds on any machine
    db = sqlite3.connect(t.home / "state.db")
    db.executescript(MANY)
    db.commit()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.close()
    t.ok(pages > 10000, "control: the state is big", pages)
    for what, words, program in (
            ("credentials", ("show", "K5"), "evctl-cred"), ("all credentials", ("show", ""), "evctl-cred"),
            ("hosts", ("show", "h9"), "evctl-host"), ("experts", ("show", "x7"), "evctl-expert"),
            ("tools", ("crm-helper", "t99"), "evctl-run"), ("runs, newest first", ("show", ""), "evctl-log"),
            ("runs", ("show", "r000000000099"), "evctl-log"),
            ("artifacts", ("get", "r000000000000001", "z9"), "evctl-artifact"),
            ("sessions", ("crm-helper", "count-leads", "--session", ""), "evctl-run"),
            ("connections", ("show", "c5"), "evctl-conn"), ("buyers", ("crm-helper", "--buyer", ""), "evctl-run"),
            ("versions", ("chart", "other", "--version", ""), "evctl-run")):
        trace = t.dir / "trace"
        done = subprocess.run(["strace", "-y", "-e", "trace=pread64", "-o", trace, BIN / program, "--complete",
                               *words], capture_output=True, env={**t.env, **UNDER_STRACE})
        reads = sum("state.db" in line for line in trace.read_text().splitlines())
        t.ok(done.stdout and done.returncode == 0 and 0 < reads < 400, f"100,000 rows: {what} are found by an index",
             (reads, done.stdout[:200], done.stderr))
    r = ask("evctl-log", "show", "")
    t.ok(r.out.startswith("r000000000100100\t") and len(r.out.splitlines()) == 200, "the newest runs first")
    t.ok(names(ask("evctl-run", "crm-helper", "--buyer", "")) == NAMES[BUYER], "each buyer once")
