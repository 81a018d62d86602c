#!/usr/bin/python3
"""Keys in runs: who gives them, where they may not turn up, what is withheld, exit 14."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, T
from waiting import wait_for

KEY = "sk_live_7Qp+/\"é<>x Zw9"
PLAIN = "hunter-hunter-77"
SHORT = "pin4711"
YAML = """name: k
tools:
  - {name: give, entry: "m.py:give"}
  - {name: names, entry: "m.py:names"}
  - {name: show, entry: "m.py:show"}
  - {name: hold, entry: "m.py:hold"}
  - {name: code, entry: "code.py:code"}
  - {name: needs, entry: "needs.py:needs"}
  - {name: may, entry: "may.py:may"}
  - {name: other, entry: "other.py:other"}
  - {name: text, entry: "text.py"}
hosts: [a.example, b.example]
"""
CODE = '''
import base64, builtins, html, json, os, time, urllib.parse

def keys():
    return getattr(builtins, 'EV_' + 'KEYS')

def give(name, form='raw', where='result', pad=''):
    v = keys()[name]
    v = {'raw': v, 'b64': base64.b64encode((pad + v).encode()).decode(), 'hex': v.encode().hex(),
         'percent': urllib.parse.quote(v, safe=''), 'json': json.dumps(v)[1:-1],
         'html': html.escape(v), 'colons': v.encode().hex(':'), 'turned': v[::-1],
         'mime': base64.encodebytes(('x' * 50 + v).encode()).decode(),
         'utf-16': v}[form]
    if where == 'result':
        return {'before': 1, 'it': 'x' + v + 'y', 'after': 2}
    if where == 'file':
        open('outputs/it', 'wb').write(('x' + v + 'y').encode('utf-16' if form == 'utf-16' else 'utf-8'))
        open('outputs/clean', 'w').write('clean')
    if where == 'name':
        os.makedirs('outputs/' + v, exist_ok=True)
        open('outputs/' + v + '/it', 'w').write('clean')
        open('outputs/clean', 'w').write('clean')
    if where == 'long name':
        os.makedirs('outputs/' + 'x' * 250)
        for end in ('', '\\n'):
            open('outputs/' + 'x' * 250 + '/' + 'y' * 34 + v + end, 'w').write('clean')
    if where == 'log':
        print('log: ' + v + ' :log', flush=True)
    if where == 'split':
        raw = ('log: ' + v + ' :log\\n').encode()
        for i in range(len(raw)):
            os.write(2, raw[i:i + 1])
            time.sleep(0.002)
    if where == 'raise':
        raise ValueError(v)
    if where == 'number':
        return int(v)
    if where == 'keep':
        open('/scratch/kept', 'w').write(v)
    if where == 'kept':
        return open('/scratch/kept').read()
    return len(v)

def names():
    return sorted(keys())

def show(name):
    v = keys()[name]
    return {'length': len(v), 'reversed': v[::-1]}

def hold():
    open('outputs/started', 'w').close()
    print('holding', flush=True)
    time.sleep(3)
    return len(keys())
'''
FILES = {
    "m.py": CODE,
    "code.py": '''
import base64, builtins

def code(how, lines=99):
    text = open('/tool/code.py').read()
    text = '\\n'.join([line for line in text.splitlines() if line.strip()][:lines])
    if how == 'result':
        return text
    if how == 'list':
        return text.splitlines()
    if how == 'part':
        return 'look: ' + text
    if how == 'b64':
        return {'x': 'data:' + base64.b64encode(('pad' + text).encode()).decode()}
    if how == 'mime':
        return base64.encodebytes(text.encode()).decode()
    if how == 'file':
        open('outputs/code', 'w').write(text)
        open('outputs/clean', 'w').write('clean')
    if how == 'escaped':
        open('outputs/code', 'w').write(repr(text))
    return 'no more than this'
''',
    "needs.py": "def needs():\n    return len(EV_KEYS['MINE'])\n",
    "may.py": "def may():\n    return EV_KEYS.get('MINE') is None\n",
    "other.py": "def other():\n    return len(EV_KEYS['OTHER'])\n",
    "text.py": "import builtins\nprint('v', getattr(builtins, 'EV_' + 'KEYS')['LONG'])\n",
}


def last_log(t):
    run = t.sql("SELECT id FROM runs ORDER BY rowid DESC LIMIT 1")[0][0]
    return t.good("evctl-log", "show", run, "-o", "json").json


def process_texts(root):
    """Environments and command lines of a process and all below it."""
    children = {}
    for p in Path("/proc").glob("[0-9]*"):
        try:
            ppid = int((p / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue
        children.setdefault(ppid, []).append(int(p.name))
    todo, found, readable = [root], b"", 0
    seen = 0
    while todo:
        pid = todo.pop()
        todo += children.get(pid, [])
        seen += 1
        for what in ("environ", "cmdline"):
            try:
                found += Path(f"/proc/{pid}/{what}").read_bytes()
                readable += 1
            except OSError:
                pass
    return found, seen, readable


with T() as t:
    t.init()
    t.cred("LONG", KEY)
    t.cred("PLAIN", PLAIN)
    t.good("evctl-host", "add", "a.example", "--bind", "LONG")
    t.good("evctl-host", "add", "b.example")
    src = t.expert("k", FILES, YAML)
    t.good("evctl-expert", "create", "k", "--dir", src)

    def run(tool, *args, **kw):
        more = [x for k, v in kw.items() for x in ("--arg", f"{k}={v}")]
        return t.run("evctl-run", "k", tool, "--draft", *more, *args)

    # Which keys there are
    r = run("names")
    t.ok(r.json == ["LONG"], "the keys bound to attached hosts are there, and no others", r)
    r = run("show", name="LONG")
    t.ok(r.json == {"length": len(KEY), "reversed": KEY[::-1]}, "the value arrives whole", r)
    t.good("evctl-bind", "set", "b.example", "PLAIN")
    t.ok(run("names").json == ["LONG", "PLAIN"], "a binding reaches the draft's next run")

    # Results
    r = run("give", name="LONG")
    t.ok(r.code == 0 and r.json == {"before": 1, "it": "x[EV_KEYS:LONG]y", "after": 2},
         "a value in the result is blanked, by name for the builder", r)
    t.ok("the result held the value of EV_KEYS['LONG']" in last_log(t)["log"],
         "and the owner's log says so")
    r = run("give", "--buyer", "b1", name="LONG")
    t.ok(r.code == 0 and r.json["it"] == "x[withheld]y", "a buyer is told no name", r)
    for form in ("b64", "hex", "percent", "json"):
        r = run("give", name="LONG", form=form)
        t.ok(r.code == 0 and "[EV_KEYS:LONG]" in r.json["it"] and KEY not in r.out,
             f"blanked in the form {form}", r)
    for pad in ("p", "pp"):
        r = run("give", name="PLAIN", form="b64", pad=pad)
        t.ok("[EV_KEYS:PLAIN]" in r.json["it"], f"base64 at another offset ({len(pad)})", r)
    r = run("give", name="LONG", form="turned")
    t.ok(r.code == 0 and KEY[::-1] in r.json["it"], "what the code transforms freely passes", r)
    r = run("text")
    t.ok(r.code == 0 and r.out == "v [EV_KEYS:LONG]\n", "a script's output is searched too", r)
    t.good("evctl-cred", "rotate", "PLAIN", "--from-file", "-", stdin="123456789012345")
    r = run("give", name="PLAIN", where="number")
    t.ok(r.code == 0 and r.json == "[EV_KEYS:PLAIN]", "a value as a number: all of the result goes", r)

    # Artifacts
    r = run("give", "-o", "json", name="LONG", where="file")
    t.ok(r.code == 0 and [a["name"] for a in r.json["artifacts"]] == ["clean"] and
         r.json["withheld"] == [{"name": "it", "why": "key"}], "a value in a file withholds it", r)
    t.ok("an artifact held the value of EV_KEYS['LONG']" in last_log(t)["log"], "the log says so")
    r = run("give", "-o", "json", name="LONG", where="file", form="hex")
    t.ok([w["name"] for w in r.json["withheld"]] == ["it"], "in hex, too", r)
    r = run("give", "-o", "json", name="PLAIN", where="name")
    t.ok([a["name"] for a in r.json["artifacts"]] == ["clean"] and
         r.json["withheld"] == [{"name": "#1", "why": "key"}] and "12345678" not in r.out + r.err,
         "a value in a file's name withholds the name", r)
    r = run("give", "-o", "json", name="PLAIN", where="long name")
    t.ok([w["name"] for w in r.json["withheld"]] == ["#1", "#2"] and "12345" not in r.out + r.err,
         "also where the name is cut before its end", r)
    r = run("give", name="LONG", form="mime")
    t.ok(re.fullmatch(r"x\w+\[EV_KEYS:LONG\]\w?==\ny", r.json["it"]) and r.json["after"] == 2,
         "base64 in lines: cut out over the line's end", r)
    for form in ("utf-16", "html", "colons", "mime"):
        r = run("give", "-o", "json", name="LONG", where="file", form=form)
        t.ok([w["name"] for w in r.json["withheld"]] == ["it"], f"and as {form}", r)
    secrets = (KEY, KEY.encode().hex(), "123456789012345")
    t.ok(t.holding("clean") and not any(map(t.holding, secrets)),
         "no file of the state holds a value in the clear", [t.holding(x) for x in secrets])

    # Logs
    for where in ("log", "split", "raise"):
        r = run("give", "--debug", name="LONG", where=where)
        log = last_log(t)["log"]
        t.ok(KEY not in r.err + log and "****" in r.err and "****" in log,
             f"logs are scrubbed, the streamed one as well ({where})", r)
    t.ok("Traceback" in log, "and the rest of them is there", log)
    t.cred("SHORT", SHORT)
    t.good("evctl-bind", "set", "b.example", "SHORT")
    r = run("give", name="SHORT", where="log")
    t.ok(SHORT not in last_log(t)["log"], "logs are scrubbed of short values too")
    r = run("give", name="SHORT")
    t.ok(SHORT in r.out, "a short value in a result cannot be told from chance", r)
    t.good("evctl-bind", "set", "b.example", "PLAIN")

    # Sealed
    t.good("evctl-cred", "rotate", "PLAIN", "--from-file", "-", stdin=PLAIN)
    t.good("evctl-cred", "set", "PLAIN", "--sealed", "yes")
    r = run("show", name="PLAIN")
    t.ok(r.json["length"] == len(PLAIN) and r.json["reversed"] != PLAIN[::-1],
         "of a sealed credential the code gets a stand-in of the same length", r)
    t.ok(run("show", name="PLAIN").json != r.json, "another one each time")
    r = run("give", name="PLAIN")
    t.ok(r.json["it"] == "x[EV_KEYS:PLAIN]y", "which is blanked as well", r)
    t.good("evctl-cred", "set", "PLAIN", "--sealed", "no")

    # The expert's code
    r = run("code", how="result", lines=2)
    t.ok(r.code == 0 and "import base64" in r.out, "two lines of the code may be in a result", r)
    for how in ("result", "list", "part", "b64", "mime"):
        r = run("code", "-o", "json", how=how)
        t.ok(r.code == 11 and r.json["status"] == "failed" and r.json["result"] is None and
             "import" not in r.out, f"more of it withholds the result ({how})", r)
    r = run("code", how="result", lines=3)
    t.ok(r.code == 11, "three lines are more", r)
    t.ok("code" in last_log(t)["reason"], "the owner is told")
    for how in ("file", "escaped"):
        r = run("code", "-o", "json", how=how)
        t.ok(r.code == 11 and r.json["withheld"] == [{"name": "code", "why": "code"}],
             f"and withholds a file ({how})", r)
        b = run("code", "-o", "json", "--buyer", "b1", how=how)
        t.ok(b.code == 11 and b.json["withheld"] == [] and b.json["artifacts"] == [],
             "of which a buyer is told nothing", b)
    r = run("code", "--buyer", "b1", how="file")
    t.ok(re.fullmatch(r"evctl-run: error: run \w+: failed\n", r.err) and r.out == "",
         "but the word", r)
    r = run("code", how="none")
    t.ok(r.code == 0 and r.json == "no more than this", "the same tool without any of it", r)

    # Where a value must not be while it is used
    p = subprocess.Popen([BIN / "evctl-run", "k", "hold", "--draft", "--debug"], env=t.env,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    t.ok(p.stderr.readline() == b"holding\n", "a run is held open")
    found, seen, readable = process_texts(p.pid)
    t.ok(KEY.encode() not in found and PLAIN.encode() not in found and seen >= 4 and readable >= 4,
         "no environment and no argument of its processes has a value", (seen, readable))
    control = subprocess.Popen(["/bin/sleep", "60"], env={"X": KEY})
    t.ok(wait_for(lambda: KEY.encode() in process_texts(control.pid)[0]), "such a one is seen", "")
    control.kill()
    control.wait()
    t.ok(not t.holding(KEY), "nor has any file of the state")
    out, err = p.communicate(timeout=60)
    t.ok(p.returncode == 0 and out == b"2\n", "and it ended well", (out, err))

    # Rotation, and rebinding, reach the next call of a live sandbox
    p = subprocess.Popen([BIN / "evctl-run", "k", "--draft", "--calls", "-"], env=t.env,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def call(tool, **inputs):
        p.stdin.write((json.dumps({"tool": tool, "input": inputs}) + "\n").encode())
        p.stdin.flush()
        return json.loads(p.stdout.readline())

    x = call("give", name="PLAIN", where="keep")
    t.ok(x["status"] == "ok", "a live sandbox", x)
    t.good("evctl-cred", "rotate", "PLAIN", "--from-file", "-", stdin="another-value-99")
    x = call("show", name="PLAIN")
    t.ok(x["result"]["reversed"] == "another-value-99"[::-1], "a rotation reaches its next call", x)
    x = call("give", name="PLAIN", where="kept")
    t.ok(x["result"] == "[EV_KEYS:PLAIN]", "the value of before is still known to be one", x)
    t.good("evctl-bind", "clear", "b.example")
    x = call("names")
    t.ok(x["result"] == ["LONG"], "a draft's rebinding reaches it too", x)
    p.stdin.close()
    t.ok(p.wait(timeout=60) == 0, "--calls ends with its input")

    # A private key is needed for values, and only for them
    t.fails(4, "no private key", "evctl-run", "k", "names", "--draft", "--key-file",
            t.dir / "none", hint=None)
    n = t.sql("SELECT count(*) FROM runs WHERE status = 'running'")[0][0]
    t.ok(n == 0, "leaves no run")
    t.good("evctl-bind", "clear", "a.example")
    r = run("names", "--key-file", t.dir / "none")
    t.ok(r.code == 0 and r.json == [], "no values, no key needed", r)

    # Who pays
    t.good("evctl-cred", "add", "MINE", "--payer", "buyer")
    t.cred("OTHER", "other-value-123")
    t.good("evctl-bind", "set", "a.example", "MINE")
    t.good("evctl-bind", "set", "b.example", "OTHER")
    r = run("needs")
    t.ok(r.code == 14 and re.search(r"error: run r\w{15}: missing-key: MINE\n", r.err) and r.out == ""
         and "hint: evctl-cred supply MINE --expert k --buyer builder" in r.err,
         "a key that is yet to be brought: exit 14 names it", r)
    t.ok(t.sql("SELECT status FROM runs ORDER BY rowid DESC LIMIT 1") == [("missing-key",)],
         "and the run is recorded")
    r = run("needs", "-o", "json")
    t.ok(r.code == 14 and r.json["status"] == "missing-key" and r.json["missing"] == ["MINE"] and
         r.json["result"] is None, "the envelope names it too", r)
    r = run("other")
    t.ok(r.code == 0 and r.json == 15, "a tool that does not read it runs", r)
    r = run("may")
    t.ok(r.code == 0 and r.json is True, "one that can do without it runs", r)
    t.good("evctl-cred", "supply", "MINE", "--expert", "k", "--buyer", "b1", "--from-file", "-",
           stdin="of-buyer-one-xyz")
    for who in ((), ("--buyer", "b1")):
        r = run("needs", *who)
        t.ok(r.code == 14, f"on a draft another's value does not serve {who}", r)
    t.good("evctl-cred", "supply", "MINE", "--expert", "k", "--buyer", "builder", "--from-file", "-",
           stdin="of-the-builder-1234")
    for who in ((), ("--buyer", "b1")):
        r = run("needs", *who)
        t.ok(r.code == 0 and r.json == 19, f"the builder's own does {who}", r)
    t.good("evctl-cred", "withdraw", "MINE", "--expert", "k", "--buyer", "builder")
    t.ok(run("needs").code == 14, "until it is withdrawn")
    t.good("evctl-cred", "payer", "OTHER", "buyer")
    t.ok(run("other").code == 14, "a stored value is no fallback where the buyer pays")
    t.good("evctl-cred", "payer", "OTHER", "stored")
    t.ok(run("other").code == 0, "and is used again where the builder pays")
    t.good("evctl-bind", "clear", "b.example")
    r = run("other")
    t.ok(r.code == 11 and "EV_KEYS['OTHER'] will be missing: no attached host supplies it" in r.err,
         "the builder is told beforehand which key will be missing", r)
    r = run("other", "--buyer", "b1")
    t.ok(r.code == 11 and "OTHER" not in r.err, "a buyer is not", r)
