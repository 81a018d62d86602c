#!/usr/bin/python3
"""evctl-log: runs, the whole story of one, inputs, the audit trail, gc."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T

YAML = """name: g
tools:
  - {name: say, entry: "m.py:say"}
  - {name: fail, entry: "m.py:fail"}
hosts: [a.example]
"""
CODE = '''
import urllib.error, urllib.request

def say(what='something', ask=None):
    print(what)
    open('outputs/f', 'w').write('x')
    open('outputs/p', 'w').write('x')
    import os
    os.symlink('/etc/passwd', 'outputs/link')
    if ask:
        try:
            urllib.request.urlopen('https://' + ask + '/path?secret=1')
        except urllib.error.URLError as e:
            return str(e.code)
    return what

def fail(why):
    raise LookupError(why)
'''

with T() as t:
    t.init()
    t.good("evctl-host", "add", "a.example", "--connect-to", "127.0.0.1:1")
    src = t.expert("g", {"m.py": CODE}, YAML)
    t.good("evctl-expert", "create", "g", "--dir", src)
    t.ok(t.run("evctl-log", "runs", "-o", "json").json == [], "no runs yet")

    def run(tool, *args, code=0, **kw):
        more = [x for k, v in kw.items() for x in ("--arg", f"{k}={v}")]
        r = t.run("evctl-run", "g", tool, "--draft", "-o", "json", *more, *args)
        if r.code != code:
            raise AssertionError(str(r))
        return r.json["run"]

    one = run("say", what="the first words")
    two = run("fail", "--buyer", "b1", code=11, why="a buyer's own words")
    three = run("say", ask="a.example")
    r = t.run("evctl-log", "runs", "-o", "json")
    t.ok([x["run"] for x in r.json] == [three, two, one], "runs, newest first", r)
    x = r.json[1]
    t.ok(x["expert"] == "g" and x["version"] == "draft" and x["tool"] == "fail" and x["buyer"] == "b1"
         and x["status"] == "failed" and x["session"] is None and x["ms"] > 0, "what they were", r)
    t.ok(t.run("evctl-log", "runs", "-o", "name").out == f"{three}\n{two}\n{one}\n", "-o name")
    t.ok([x["run"] for x in t.run("evctl-log", "runs", "--buyer", "b1", "-o", "json").json] == [two],
         "--buyer")
    t.ok([x["run"] for x in t.run("evctl-log", "runs", "--limit", "2", "-o", "json").json] ==
         [three, two], "--limit")
    t.ok(t.run("evctl-log", "runs", "--expert", "other", "-o", "json").json == [], "--expert")

    # The whole story
    x = t.run("evctl-log", "show", one, "-o", "json").json
    t.ok(x["status"] == "ok" and x["log"] == "the first words\n" and
         [a["name"] for a in x["artifacts"]] == ["f", "p"] and
         x["withheld"] == [{"name": "link", "why": "link"}], "show", x)
    d = x["detail"]
    t.ok(d["limits"]["timeout_ms"] == 25000 and d["limits"]["memory"] == 1 << 30 and
         d["limits"]["bounds"] in ("cgroup1", "cgroup2", "rlimit") and
         set(d["phases"]) == {"open", "gate", "start", "tool", "collect"} and
         all(isinstance(v, int) and v >= 0 for v in d["phases"].values()),
         "show: limits, and where time went", d)
    t.ok("input" not in x, "the input is shown on demand only")
    r = t.run("evctl-log", "show", one)
    t.ok(r.code == 0 and all(w in r.out for w in (one, "its draft", "the builder", "ok", "25000 ms",
                                                  "withheld   link: link", "the first words")),
         "show as text", r)
    r = t.run("evctl-log", "show", two)
    t.ok("LookupError: a buyer's own words" in r.out and "failed: the tool raised an error" in r.out
         and "b1" in r.out, "show: a failure's traceback", r)
    r = t.run("evctl-log", "show", one, "--input")
    t.ok(r.code == 0 and json.loads(r.out) == {"what": "the first words"}, "show --input", r)
    x = t.run("evctl-log", "show", one, "--input", "-o", "json").json
    t.ok(json.loads(x["input"]) == {"what": "the first words"}, "as JSON", x)

    # Egress
    r = t.run("evctl-log", "egress", three, "-o", "json")
    t.ok(len(r.json) == 1 and r.json[0]["method"] == "GET" and r.json[0]["host"] == "a.example" and
         r.json[0]["path"] == "/path" and r.json[0]["status"] >= 400 and "secret" not in r.out,
         "egress, without the query", r)
    x = t.run("evctl-log", "show", three, "-o", "json").json
    t.ok(x["egress"] == r.json and x["detail"]["egress"]["requests"] == 1, "show has it too", x)
    t.ok(t.run("evctl-log", "egress", one, "-o", "json").json == [], "a run without any")
    t.fails(3, "egress: no such run", "evctl-log", "egress", "rnope", hint="evctl-log runs")
    t.fails(3, "show: no such run", "evctl-log", "show", "rnope", hint="evctl-log runs")

    # What is sealed
    t.ok(not t.holding("the first words") and not t.holding("buyer's own words"),
         "neither log nor input is on disk in the clear")
    t.fails(4, "show needs the private key", "evctl-log", "show", one, "--key-file", t.dir / "none")
    t.ok(t.run("evctl-log", "runs", "--key-file", t.dir / "none").code == 0, "runs does not")

    # The audit trail
    r = t.run("evctl-log", "audit", "-o", "json")
    t.ok([x["seq"] for x in r.json] == list(range(1, len(r.json) + 1)) and
         [x["action"] for x in r.json].count("run") == 3 and r.json[0]["action"] == "state init",
         "audit", r)
    r = t.run("evctl-log", "audit", "--verify", "-o", "json")
    t.ok(r.code == 0 and r.json["ok"] is True and r.json["rows"] > 4, "audit --verify", r)
    t.sql("UPDATE audit SET detail = '{}' WHERE seq = 3")
    t.fails(7, "a row that was changed shows", "evctl-log", "audit", "--verify", says="row 3")

    # gc
    t.fails(2, "gc wants an age", "evctl-log", "gc", "--yes")
    t.fails(2, "gc asks", "evctl-log", "gc", "--older", "0", hint="add --yes")
    r = t.run("evctl-log", "gc", "--older", "1", "--yes", "-o", "json")
    t.ok(r.json == {"removed": 0}, "gc by age", r)
    t.sql("UPDATE runs SET ended = ended - 172800000 WHERE id = ?", one)
    r = t.run("evctl-log", "gc", "--older", "1", "--yes", "-o", "json")
    t.ok(r.json == {"removed": 1}, "gc", r)
    r = t.run("evctl-log", "show", one, "-o", "json")
    t.ok(r.code == 0 and r.json["log"] is None and r.json["status"] == "ok",
         "the run is still told of, without its log", r)
    t.fails(3, "its input is gone too", "evctl-log", "show", one, "--input")
    t.ok(t.run("evctl-log", "show", three, "-o", "json").json["log"] == "something\n", "others keep theirs")
