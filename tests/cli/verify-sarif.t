#!/usr/bin/python3
"""SARIF 2.1.0: places from the current directory, stable rules, fingerprints without lines."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T

CODE = "import os, sys\nEV_KEYS['A']\nEV_KEYS['A']\nEV_KEYS.get('O')\nEV_KEYS[sys.argv[1]]\n" \
       "os.environ['A_TOKEN']\nimport requests\n"

with T() as t:
    d = t.expert("crm", {"a b.py": CODE, "bad.py": "def f(:\n"},
                 "name: crm\ntools:\n  - {name: one, entry: 'a b.py'}\n")

    def sarif(*args, cwd=t.dir):
        r = t.run("evctl-verify", *args, "-o", "sarif", cwd=cwd)
        return r, json.loads(r.out)

    def prints(results):
        return {(x["ruleId"], x["message"]["text"], i): x["partialFingerprints"]["evctlFinding/v1"]
                for i, x in enumerate(results)}

    r, log = sarif("./crm-src")
    t.ok(r.code == 7 and r.err == "" and log["version"] == "2.1.0" and len(log["runs"]) == 1,
         "one run of version 2.1.0", r)
    run = log["runs"][0]
    ids = [x["id"] for x in run["tool"]["driver"]["rules"]]
    t.ok(ids == ["syntax-error", "module-missing", "missing-key", "optional-key", "dynamic-read",
                 "env-mistake", "unused-key", "flag", "module-optional", "syntax-unreached",
                 "entry-error", "not-in-globals", "host-missing"], "the rules' ids never change", ids)
    res = run["results"]
    t.ok([(x["ruleId"], x["level"], x["locations"][0]["physicalLocation"]["region"]["startLine"])
          for x in res] == [
        ("missing-key", "error", 2), ("missing-key", "error", 3), ("optional-key", "warning", 4),
        ("dynamic-read", "warning", 5), ("env-mistake", "warning", 6), ("module-missing", "error", 7),
        ("syntax-error", "error", 1)], "a result for each finding, at its line", res)
    regions = [x["locations"][0]["physicalLocation"]["region"] for x in res]
    t.ok([x.get("startColumn") for x in regions] == [None] * 6 + [7] and run["columnKind"] == "unicodeCodePoints",
         "a syntax error has its column too, in characters", regions)
    t.ok(all(ids[x["ruleIndex"]] == x["ruleId"] for x in res), "ruleIndex fits ruleId")
    t.ok("evctl-cred add A" in res[0]["message"]["text"], "the mend is in the message")
    uri = res[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    t.ok(uri == "crm-src/a%20b.py", "a place is relative to the current directory, percent-encoded",
         uri)
    _, up = sarif(str(d) + "/", cwd="/")
    uri2 = up["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    t.ok(uri2.startswith("file:///") and uri2.endswith("/crm-src/a%20b.py"),
         "elsewhere it is a file URI", uri2)
    fp = [x["partialFingerprints"]["evctlFinding/v1"] for x in res]
    t.ok(len(set(fp)) == len(fp), "fingerprints differ", fp)
    (d / "a b.py").write_text("\n\n# moved\n" + CODE)
    _, moved = sarif("./crm-src")
    m = moved["runs"][0]["results"]
    t.ok([x["partialFingerprints"]["evctlFinding/v1"] for x in m] == fp and
         m[0]["locations"][0]["physicalLocation"]["region"]["startLine"] == 5,
         "fingerprints stay when lines move")
    (d / "a b.py").write_text(CODE.replace("'A']\nEV", "'B']\nEV", 1))
    _, other = sarif("./crm-src")
    t.ok(other["runs"][0]["results"][0]["partialFingerprints"]["evctlFinding/v1"] not in fp,
         "control: another key has another fingerprint")

    t.init()
    t.cred("K", "0123456789abcdef")
    t.good("evctl-host", "add", "*.x.example", "--bind", "K")
    e = t.expert("ok", {"a.py": "1\n"}, "name: ok\ntools:\n  - {name: one, entry: a.py}\n")
    t.good("evctl-expert", "create", "ok", "--dir", e)
    t.good("evctl-expert", "attach", "ok", "*.x.example")
    r, log = sarif("ok", "./crm-src")
    res = log["runs"][0]["results"]
    t.ok(r.code == 7 and [x["ruleId"] for x in res][:2] == ["unused-key", "flag"] and
         res[0]["level"] == "note" and
         res[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "ok-src/expert.yaml",
         "notes are placed at expert.yaml; several experts are one run", res)
    r, log = sarif("ok")
    t.ok(r.code == 0 and len(log["runs"][0]["results"]) == 2, "notes alone are exit 0", r)
    t.fails(2, "sarif is evctl-verify's alone", "evctl-expert", "list", "-o", "sarif", hint="give")
