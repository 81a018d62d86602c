#!/usr/bin/python3
"""What evctl-verify hands to CI: SARIF held against its own schema, GitHub's commands read as its runner reads
them, GitLab's code quality report, and where all of them say that a file is."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from npm import install
from tap import T

home = install(HERE, "npm-schema")
CHECK = """
const Ajv = require('ajv').default || require('ajv');
const ajv = new Ajv({schemaId: 'auto', validateSchema: false, allErrors: true});
ajv.addMetaSchema(require('ajv/lib/refs/json-schema-draft-04.json'));
const check = ajv.compile(require('@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json'));
const log = JSON.parse(require('fs').readFileSync(0));
if (!check(log)) { console.log(JSON.stringify(check.errors, null, 1)); process.exit(1); }
"""
CODE = "import os, sys\nEV_KEYS['A']\nEV_KEYS.get('O')\nEV_KEYS[sys.argv[1]]\nos.environ['A_TOKEN']\nimport requests\n"


def schema_says(text):
    """What SARIF's schema has against a log; nothing where it is one."""
    r = subprocess.run(["node", "-e", CHECK], input=text, capture_output=True, text=True, cwd=home)
    return r.stdout + r.stderr


def commands(text):
    """Workflow commands, undone as GitHub's runner does."""
    out = []
    for line in text.splitlines():
        m = re.fullmatch(r"::(error|warning|notice) ([^:]*(?:=[^,]*)?)::(.*)", line)
        assert m, line
        undo = {"%25": "%", "%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ","}
        props = {k: re.sub("%25|%0D|%0A|%3A|%2C", lambda x: undo[x[0]], v)
                 for k, v in (p.split("=", 1) for p in m[2].split(","))}
        out.append((m[1], props, re.sub("%25|%0D|%0A", lambda x: undo[x[0]], m[3])))
    return out


def quality_fault(report):
    """GitLab's rules of a code quality report; None where all hold."""
    prints = [x.get("fingerprint") for x in report]
    for x in report:
        where = x.get("location", {})
        if set(x) != {"description", "check_name", "fingerprint", "severity", "location"}:
            return x
        if not all(isinstance(x[k], str) and x[k] for k in ("description", "check_name", "fingerprint")):
            return x
        if x["severity"] not in ("info", "minor", "major", "critical", "blocker"):
            return x
        if where["path"].startswith(("/", "./")) or not isinstance(where["lines"]["begin"], int) or where["lines"]["begin"] < 1:
            return x
    return None if len(set(prints)) == len(prints) else prints


with T() as t:
    repo = t.dir / "repo"
    expert = repo / "experts" / "crm"
    expert.mkdir(parents=True)
    (expert / "expert.yaml").write_text("name: crm\ntools:\n  - {name: one, entry: 'a, b.py'}\n")
    (expert / "a, b.py").write_text(CODE)
    (expert / "bad.py").write_text("def f(:\n")

    def verify(*args, cwd=repo):
        return t.run("evctl-verify", *args, cwd=cwd)

    def places(r):
        return {x["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
                for x in json.loads(r.out)["runs"][0]["results"]}

    # where files are said to be
    r = verify("./crm", "-o", "sarif", cwd=expert.parent)
    t.ok(r.code == 7 and places(r) == {"crm/a%2C%20b.py", "crm/bad.py"}, "no work tree: from the current directory", r)
    t.ok(schema_says(r.out) == "", "the log is SARIF 2.1.0 by its schema", schema_says(r.out))
    t.ok(schema_says(r.out.replace('"level"', '"lvel"')) != "", "control: the schema refuses what is none")
    subprocess.run(["git", "init", "-q", repo], check=True)
    for where, arg in ((expert.parent, "./crm"), (repo, "./experts/crm/"), (expert, "."), ("/", str(expert))):
        r = verify(arg, "-o", "sarif", cwd=where)
        t.ok(places(r) == {"experts/crm/a%2C%20b.py", "experts/crm/bad.py"},
             f"a work tree: from its top, wherever evctl-verify is started ({arg})", r)
    r = verify("./crm", cwd=expert.parent)
    t.ok(r.out.startswith("experts/crm/a, b.py:2: ") and "\nexperts/crm/bad.py:1: " in r.out, "text too", r)
    r = verify("./crm", "--root", "..", "-o", "sarif", cwd=expert.parent)
    t.ok(places(r) == {"experts/crm/a%2C%20b.py", "experts/crm/bad.py"}, "--root", r)
    r = verify("./crm", "--root", "crm", cwd=expert.parent)
    t.ok(r.out.startswith("a, b.py:2: "), "--root, over the work tree, in text", r)
    (t.dir / "other").mkdir()
    r = verify("./crm", "--root", t.dir / "other", "-o", "sarif", cwd=expert.parent)
    t.ok(all(x.startswith("file:///") for x in places(r)) and schema_says(r.out) == "",
         "what is not beneath the root is a file URI", r)
    t.fails(3, "a root that is not there", "evctl-verify", "./crm", "--root", "nowhere", cwd=expert.parent, hint=False)
    worktree = t.dir / "linked"
    git = ["git", "-C", repo, "-c", "user.name=x", "-c", "user.email=x@x.example"]
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", worktree], check=True)
    r = verify(worktree / "experts/crm", "-o", "sarif", cwd="/")
    t.ok(places(r) == {"experts/crm/a%2C%20b.py", "experts/crm/bad.py"}, "a linked work tree has a top too", r)

    # annotations
    r = verify("./experts/crm", "-o", "github")
    found = commands(r.out)
    t.ok(r.code == 7 and [(level, p["file"], p["line"], p["title"]) for level, p, _ in found] == [
        ("error", "experts/crm/a, b.py", "2", "missing-key"), ("warning", "experts/crm/a, b.py", "3", "optional-key"),
        ("warning", "experts/crm/a, b.py", "4", "dynamic-read"), ("warning", "experts/crm/a, b.py", "5", "env-mistake"),
        ("error", "experts/crm/a, b.py", "6", "module-missing"), ("error", "experts/crm/bad.py", "1", "syntax-error")],
        "GitHub: an annotation a finding, at its line", r)
    t.ok(found[-1][1]["col"] == "7" and "evctl-cred add A" in found[0][2], "with a column, and the mend")
    r = verify("./experts/crm", "-o", "gitlab")
    report = json.loads(r.out)
    t.ok(r.code == 7 and len(report) == 6 and quality_fault(report) is None, "GitLab: a code quality report", r)
    t.ok([x["severity"] for x in report] == ["major", "minor", "minor", "minor", "major", "major"] and
         report[0]["location"] == {"path": "experts/crm/a, b.py", "lines": {"begin": 2}}, "severities and places", report)
    (expert / "a, b.py").write_text("# moved\n" + CODE)
    moved = json.loads(verify("./experts/crm", "-o", "gitlab").out)
    t.ok([x["fingerprint"] for x in moved] == [x["fingerprint"] for x in report], "fingerprints stay when lines move")

    # what is broken is a finding, not an empty file
    for text, line, column, says in (("name: crm\ntools:\n  - {name: one, entry: 3}\n", 3, 24, "entry must be text"),
                                     ("name: crm\ntools: [\n", 3, None, ""),
                                     ("name: crm\nname: crm\n", 2, 1, "duplicate key"),
                                     ("name: crm\ntools:\n  - {name: one, entry: gone.py}\n", 3, None, "gone.py"),
                                     ("", 1, 1, "empty")):
        (expert / "expert.yaml").write_text(text)
        r = verify("./experts/crm", "-o", "sarif")
        (run,) = json.loads(r.out)["runs"]
        results = run["results"]
        place = results[0]["locations"][0]["physicalLocation"] if results else {}
        t.ok(r.code == 2 and len(results) == 1 and place["artifactLocation"]["uri"] == "experts/crm/expert.yaml" and
             place["region"]["startLine"] == line and (not column or place["region"]["startColumn"] == column) and
             says in results[0]["message"]["text"] and results[0]["level"] == "error" and str(t.dir) not in r.out and
             schema_says(r.out) == "", f"a broken expert.yaml is a finding: {text!r}", r)
        r = verify("./experts/crm", "-o", "gitlab")
        report = json.loads(r.out)
        t.ok(r.code == 2 and len(report) == 1 and quality_fault(report) is None, "in a code quality report too", r)
        r = verify("./experts/crm", "-o", "github")
        ((level, p, _),) = commands(r.out)
        t.ok(r.code == 2 and level == "error" and p["file"] == "experts/crm/expert.yaml" and p["line"] == str(line),
             "and as an annotation", r)
    good = repo / "experts" / "good"
    good.mkdir()
    (good / "expert.yaml").write_text("name: good\ntools: [{name: one, entry: a.py}]\n")
    (good / "a.py").write_text("EV_KEYS['B']\n")
    r = verify("./experts/crm", "./experts/good", "-o", "sarif")
    t.ok(r.code == 2 and places(r) == {"experts/crm/expert.yaml", "experts/good/a.py"} and schema_says(r.out) == "",
         "beside one that can be judged", r)
    r = verify("./experts/nothing", "-o", "sarif")
    (run,) = json.loads(r.out)["runs"]
    t.ok(r.code == 3 and run["results"] == [] and run["invocations"][0]["executionSuccessful"] is False and
         "nothing" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] and
         schema_says(r.out) == "", "what is not there: a log that says that nothing was judged", r)
    (good / "a.py").write_text("1\n")
    r = verify("./experts/good", "-o", "sarif")
    t.ok(r.code == 0 and "invocations" not in json.loads(r.out)["runs"][0] and schema_says(r.out) == "", "control: all is well", r)
    t.ok(verify("./experts/good", "-o", "gitlab").json == [] and verify("./experts/good", "-o", "github").out == "",
         "and nothing to annotate")
