#!/usr/bin/python3
"""Each character that makes text seem other than it is, through each way on which text of others reaches
somebody: a terminal, a page, a name."""
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / part) for part in ("lib", "archive", "mcp")]
sys.dont_write_bytecode = True
from fill import add_artifact, add_run, add_withheld, open_db
from mcplib import Raw
from serving import Serving
from tap import BIN, T, on_terminal

RANGES = ((1, 0x1f), (0x7f, 0x9f), (0xad,), (0x34f,), (0x61c,), (0x115f, 0x1160), (0x17b4, 0x17b5),
          (0x180b, 0x180f), (0x200b,), (0x200e, 0x200f), (0x2028, 0x202e), (0x2060, 0x206f), (0x3164,),
          (0xfdd0, 0xfdef), (0xfeff,), (0xffa0,), (0xfff0, 0xfffb), (0xfffe, 0xffff), (0x1bca0, 0x1bca3),
          (0x1d173, 0x1d17a), (0xe0000, 0xe0fff))
ALL = [chr(c) for r in RANGES for c in range(r[0], r[-1] + 1)]
ALL += [chr(plane << 16 | low) for plane in range(1, 17) for low in (0xfffe, 0xffff)]
LINES = {"\n", "\t"}  # what text of several lines may have
HONEST = "größe 日本語 \U0001f468\u200d\U0001f373\ufe0f می\u200cخواهم"
TEXT = "".join(f"<{c}>" for c in ALL if c not in LINES)
YAML = """name: x
tools:
  - {name: say, entry: "m.py:say"}
  - {name: script, entry: s.py}
  - {name: files, entry: "m.py:files"}
"""
CODE = f"""TEXT = {TEXT!a}
HONEST = {HONEST!a}
def say():
    import os
    os.write(1, HONEST.encode()[:2])  # in the middle of a letter
    os.write(1, HONEST.encode()[2:])
    print(TEXT)
    print('bytes', flush=True)
    os.write(1, b'<\\xff><\\x9b31m>\\n')
    return TEXT
def files(chars):
    for i, c in enumerate(chars):
        open(f'outputs/f{{i}}<{{c}}>', 'w').write('x')
"""
SCRIPT = CODE + "\nprint(HONEST, TEXT)\n"


def shown(c):
    return "".join(f"\\x{b:02x}" for b in c.encode())


def held_by(text, may=LINES):
    return [hex(ord(c)) for c in ALL if c in text and c not in may]


with T() as t:
    t.init()
    t.env["TERM"] = "dumb"

    def terminal(*argv, columns=4000):
        return on_terminal([str(BIN / argv[0]), *map(str, argv[1:])], t.env, columns)[0]

    def told(text, what, chars=ALL, form=shown):
        """None of them is there, and what stands for each is."""
        lacks = [hex(ord(c)) for c in chars if c not in LINES and form(c) not in text]
        t.ok(not held_by(text) and not lacks, what, (held_by(text)[:20], lacks[:20], ascii(text[:2000])))

    def escaped(c):
        units = c.encode("utf-16-be").hex()
        return "\\u" + "\\u".join(units[i:i + 4] for i in range(0, len(units), 4))

    # ---- runs
    src = t.expert("x", {"m.py": CODE, "s.py": SCRIPT}, YAML)
    t.good("evctl-expert", "create", "x", "--dir", src)
    s = terminal("evctl-run", "x", "say", "--draft", "--debug")
    log, result = s[:s.index("31m>")], s[s.index("31m>"):]
    told(log, "the log as it streams")
    t.ok(HONEST in log and "<\\xff><\\x9b" in log, "control: letters, emoji and joiners stay, also those cut in two; bytes that are none do not", log)
    t.ok(not held_by(result), "the result of a function", ascii(result[:500]))
    run = t.run("evctl-log", "runs", "-o", "name").out.split()[0]
    r = t.run("evctl-log", "show", run)
    t.ok(TEXT in r.out and HONEST in r.out, "control: a pipe gets the log as it is", r)
    told(terminal("evctl-log", "show", run), "the log of a run")
    s = terminal("evctl-log", "show", run, "-o", "json")
    t.ok(TEXT in json.loads(s)["log"], "JSON on a terminal says the same", s[:500])
    t.ok(not held_by(s), "with none of them in it", held_by(s)[:20])
    told(s, "escaped as JSON has it", [c for c in ALL if c >= "\x7f"], escaped)
    s = terminal("evctl-run", "x", "script", "--draft")
    told(s, "what a script prints")
    s = terminal("evctl-run", "x", "script", "--draft", "-o", "json")
    t.ok(not held_by(s) and TEXT in json.loads(s[s.index("{"):])["result"], "the envelope of a run", ascii(s[:500]))
    with open(t.dir / "calls", "w") as f:
        f.write('{"tool": "script"}\n')
    s = terminal("evctl-run", "x", "--calls", t.dir / "calls", "--draft")
    t.ok(not held_by(s) and "\\u202e" in s, "and of one of many", ascii(s[:500]))

    # ---- names of files
    by_name = [c for c in ALL if ord(c) < 0xe0000 or c in "\U000e0000\U000e0001\U000e007f\U000e0fff\U0010ffff"]
    for i in range(0, len(by_name), 90):
        part = by_name[i:i + 90]
        r = t.run("evctl-run", "x", "files", "--draft", "-o", "json", "--input", json.dumps({"chars": part + ["ü"]}))
        t.ok([a["name"] for a in r.json["artifacts"]] == [f"f{len(part)}<ü>"] and
             sorted(w["name"] for w in r.json["withheld"]) == sorted(f"f{k}<{shown(c)}>" for k, c in enumerate(part)),
             f"no artifact has U+{ord(part[0]):04X} to U+{ord(part[-1]):04X} in its name", r)
    run = t.run("evctl-log", "runs", "-o", "name").out.split()[0]
    told(terminal("evctl-log", "show", run), "what was withheld", part)
    t.good("evctl-conn", "add", "api", "--host", "api.test", "--env", "K", "--auth", "bearer", "--no-key")
    t.good("evctl-conn", "grant", "api", "x", "--payer", "buyer")
    taken = []
    for c in by_name:
        r = t.run("evctl-conn", "call", "x", "api", "GET", "https://api.test/", "--save", f"a{c}b")
        if r.code != 2 or "not a name for an artifact" not in r.err:
            taken.append((hex(ord(c)), r))
    t.ok(not taken, "nor in one that an API's answer is saved by", taken[:3])
    r = t.run("evctl-conn", "call", "x", "api", "GET", "https://api.test/", "--save", HONEST)
    t.ok("not a name for an artifact" not in r.err and r.code != 2, "control: other letters do", r)

    # ---- messages
    for i in range(0, len(by_name), 60):
        part = by_name[i:i + 60]
        name = "".join(f"<{c}>" for c in part)
        r = t.run("evctl-cred", "show", name)
        t.ok(not held_by(r.err, {"\n"}) and len(r.err.splitlines()) == 2, f"an error, U+{ord(part[0]):04X} and on", r)
        s = terminal("evctl-cred", "show", name, "-o", "json")
        t.ok(not held_by(s, {"\n"}) and json.loads(s)["error"]["code"] == 2, "as JSON on a terminal", ascii(s))
    told(r.err, "an error names what it was given", part[:3])
    refused = []
    for c in by_name:
        folder = t.expert("y", {"m.py": "def f():\n    pass\n"},
                          "name: y\ndescription: " + json.dumps(f"a{c}b") + "\ntools: [{name: f, entry: 'm.py:f'}]\n")
        r = t.run("evctl-expert", "create", "y", "--dir", folder)
        if r.code != 2 or held_by(r.err, {"\n"}):
            refused.append((hex(ord(c)), r))
        if c in LINES and r.code == 0:
            t.good("evctl-expert", "rm", "y", "--yes")
    lines = [x for x in refused if x[0] in map(hex, map(ord, LINES))]
    t.ok(len(refused) == len(lines), "no description has one, so that no listing and no offer over MCP does", refused[:3])
    (t.dir / "v").mkdir()
    (t.dir / "v/m.py").write_text("".join(f"EV_KEYS[{'a' + c + 'b'!a}]\n" for c in by_name))
    (t.dir / "v/expert.yaml").write_text("name: v\ntools: [{name: f, entry: m.py}]\n")
    s = terminal("evctl-verify", f"{t.dir}/v")
    t.ok(not held_by(s) and s.count("m.py:") >= len(by_name), "a verdict", ascii(s[:1000]))
    s = terminal("evctl-verify", f"{t.dir}/v", "-o", "sarif")
    t.ok(not held_by(s) and json.loads(s), "as SARIF", ascii(s[:1000]))

    # ---- what an older state, or a hostile one, may hold
    db = open_db(t.home)
    add_run(db, "rold1", expert="x", version=1, tool="say")
    for i, c in enumerate(by_name):
        add_artifact(db, t.home, "rold1", f"old{i}<{c}>.txt", TEXT.encode(), "text/plain")
        add_withheld(db, "rold1", i, f"held<{c}>", "why")
    add_artifact(db, t.home, "rold1", HONEST, b"x")
    db.execute("INSERT INTO audit SELECT max(seq) + 1, 0, ?, ?, ?, ?, prev, hash FROM audit",
               (TEXT, TEXT, TEXT, json.dumps({"what": TEXT})))
    db.close()
    told(terminal("evctl-artifact", "list", "rold1"), "a table", by_name)
    s = terminal("evctl-artifact", "list", "rold1", "-o", "json")
    t.ok(not held_by(s) and len(json.loads(s)) == len(by_name) + 1, "as JSON", ascii(s[:500]))
    told(terminal("evctl-log", "show", "rold1"), "a run's lists", by_name)
    bidi = f"old{by_name.index(chr(0x202e))}<\u202e>.txt"
    told(terminal("evctl-artifact", "show", "rold1", bidi), "one thing", ["\u202e"])
    told(terminal("evctl-artifact", "get", "rold1", bidi, "--to", "-"), "a text file on a terminal")
    told(terminal("evctl-log", "audit"), "the audit trail")
    r = t.run("evctl-artifact", "--complete", "get", "rold1", "")
    t.ok(not held_by(r.out) and HONEST in r.out, "completion", r)
    with Serving(t) as server:
        server.let_in()
        page = server.ask("run/rold1").text
        t.ok(not held_by(page) and page.count("old") >= len(by_name) and
             all(f"U+{ord(c):04X}" in page for c in by_name), "a page", (held_by(page), page[:300]))
        page = server.ask("").text
        t.ok(not held_by(page), "the gallery", held_by(page))

    # ---- over MCP, names are names
    t.good("evctl-expert", "publish", "x")
    with Raw(t, "x") as c:
        c.hello()
        part = by_name[-60:]
        r = c.call("files", {"chars": part + ["ü"]})["result"]
        said = json.dumps(r, ensure_ascii=False)
        t.ok(not held_by(said) and said.count(" withheld: ") == len(part) and f"f{len(part)}<ü>" in said,
             "files over MCP", said)
