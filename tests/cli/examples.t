#!/usr/bin/python3
"""A first expert.yaml by evctl-expert init; examples: run, reported, shown, and checked at publish."""
import os
import subprocess
import sys
import xml.etree.ElementTree as ET

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T

CODE = '''"""Leads."""
import json
import urllib.request
from typing import Literal

import helpers


def count_leads(month: str, region: Literal["eu", "us"] = "eu") -> dict:
    """How many leads came in a month.

    Args:
        month: as 2026-01: "quoted"
    """
    urllib.request.urlopen("https://api.crm.example/leads?month=" + month)
    return {"month": month}


async def chart(months: list[int], *, wide=False):
    return months


def _private(x):
    return x


def stream():
    yield 1
'''

with T() as t:
    src = t.dir / "My Crm_Helper"
    src.mkdir()
    (src / "leads.py").write_text(CODE)
    (src / "helpers.py").write_text("def helper():\n    return 1\n")
    (src / "test_leads.py").write_text("def test_it():\n    pass\n")
    (src / "report.py").write_text("import sys\n\nif __name__ == '__main__':\n    print('hello')\n")

    # without a state, and without a key: init looks at a directory only
    r = t.run("evctl-expert", "init", src)
    t.ok(r.code == 0 and r.out == f"wrote {src}/expert.yaml: 3 tools\n" and
         f"evctl-expert create my-crm-helper --dir '{src}'" in r.err, "init writes an expert.yaml", r)
    text = (src / "expert.yaml").read_text()
    made = yaml.safe_load(text)
    tools = {x["name"]: x for x in made["tools"]}
    t.ok(made["name"] == "my-crm-helper" and sorted(tools) == ["chart", "count-leads", "report"],
         "the name of the directory, and of the functions; not of helpers, tests, generators and private ones", text)
    count = tools["count-leads"]
    t.ok(count["entry"] == "leads.py:count_leads" and count["description"] == "How many leads came in a month.",
         "its docstring", count)
    t.ok(count["input"]["required"] == ["month"] and
         count["input"]["properties"]["month"] == {"type": "string", "description": 'as 2026-01: "quoted"'} and
         count["input"]["properties"]["region"]["enum"] == ["eu", "us"], "its derived schema", count)
    t.ok(tools["report"] == {"name": "report", "entry": "report.py"}, "a script", tools["report"])
    t.ok("# hosts: [api.crm.example]" in text and "# examples: " in text and "# timeout: " in text and
         "# private: " in text, "what else there is, as comments", text)
    r = t.run("evctl-verify", f"{src}/", "-o", "json")
    t.ok(r.code == 0 and r.json["status"] in ("green", "amber"), "verify takes it", r)
    before = (src / "expert.yaml").read_bytes()
    t.fails(5, "it never writes over one", "evctl-expert", "init", src, says="already")
    t.ok((src / "expert.yaml").read_bytes() == before, "and left it as it was")
    (src / "expert.yaml").unlink()
    (src / "expert.yaml").symlink_to(t.dir / "elsewhere")
    t.fails(5, "nor through a link", "evctl-expert", "init", src, says="already")
    (src / "expert.yaml").unlink()
    r = t.run("evctl-expert", "init", src, "leads.py:chart", f"{src}/helpers.py:helper", "-o", "json")
    t.ok(r.code == 0 and r.json["tools"] == ["chart", "helper"] and r.json["name"] == "my-crm-helper",
         "only what is named, also by its path", r)
    (src / "expert.yaml").unlink()
    t.fails(3, "a function that is not there", "evctl-expert", "init", src, "gone.py:f", hint=False,
            says="no file 'gone.py'")
    t.fails(2, "no such function", "evctl-expert", "init", src, "leads.py:gone", hint=False, says="gone")
    t.fails(2, "no entry", "evctl-expert", "init", src, "leads", hint="write FILE.py:FUNCTION")
    t.fails(3, "no such directory", "evctl-expert", "init", t.dir / "none", hint=False)
    (t.dir / "empty").mkdir()
    t.fails(3, "nothing there", "evctl-expert", "init", t.dir / "empty", hint="write one: def hello")
    t.ok(not list((t.dir / "empty").iterdir()) and not (src / "expert.yaml").exists(), "and nothing was written")
    t.init()
    r = t.fails(3, "create without an expert.yaml says so", "evctl-expert", "create", "x", "--dir", src,
                hint=f"evctl-expert init '{src}'")

    # examples
    code = ("def add(a: int, b: int = 1):\n    return {'sum': a + b, 'list': [a, b]}\n\n\n"
            "def leave():\n    import os\n    open('mark', 'w').close()\n    return os.path.exists('/scratch/mark')\n")
    manifest = """name: sums
tools:
  - name: add
    entry: sums.py:add
    examples:
      - {input: {a: 1, b: 2}, output: {list: [1, 2], sum: 3.0}}
      - {input: {a: 1}}
      - {input: {a: nope}, exit: 2}
  - name: fresh
    entry: fresh.py
    examples: [{output: "was here: False"}, {output: "was here: False"}]
"""
    script = "import os\nprint('was here:', os.path.exists('mark'))\nopen('mark', 'w').close()\n"
    folder = t.expert("sums", {"sums.py": code, "fresh.py": script}, manifest)
    t.good("evctl-expert", "create", "sums", "--dir", folder)
    r = t.run("evctl-run", "sums", "--examples")
    t.ok(r.code == 0 and r.out == "1..5\nok 1 - add, example 1\nok 2 - add, example 2\nok 3 - add, example 3\n"
         "ok 4 - fresh, example 1\nok 5 - fresh, example 2\n", "all examples, each in a sandbox of its own", r)
    t.ok(len(t.run("evctl-log", "runs", "-o", "json").json) == 4, "each that began is a run")
    r = t.run("evctl-run", "sums", "fresh", "--examples", "-o", "tap")
    t.ok(r.out.splitlines()[0] == "1..2", "those of one tool", r)
    (t.dir / "examples.tap").write_text(t.run("evctl-run", "sums", "--examples").out)
    p = subprocess.run(["prove", "-e", "cat", t.dir / "examples.tap"], capture_output=True, text=True)
    t.ok(p.returncode == 0 and "Tests=5" in p.stdout, "prove reads it", p)

    r = t.run("evctl-expert", "publish", "sums", "--examples", "-o", "json")
    t.ok(r.code == 0 and r.json["version"] == 1, "publish --examples, where they hold", r)
    (folder / "sums.py").write_text(code.replace("a + b", "a - b"))
    r = t.run("evctl-run", "sums", "--examples")
    t.ok(r.code == 0, "of what is published", r)
    r = t.run("evctl-run", "sums", "--examples", "--draft")
    t.ok(r.code == 7 and "not ok 1 - add, example 1\n# output {\"sum\":-1,\"list\":[1,2]}\n# expected " in r.out and
         "ok 3 -" in r.out, "one that fails, with what it came to", r)
    r = t.run("evctl-run", "sums", "--examples", "--draft", "-o", "junit")
    suite = ET.fromstring(r.out).find("testsuite")
    cases = suite.findall("testcase")
    t.ok(r.code == 7 and suite.get("tests") == "5" and suite.get("failures") == "1" and len(cases) == 5 and
         cases[0].find("failure") is not None and cases[1].find("failure") is None and
         cases[0].get("classname") == "sums" and float(cases[0].get("time")) > 0, "as JUnit", r)
    r = t.run("evctl-run", "sums", "add", "--examples", "--draft", "-o", "json")
    t.ok(r.code == 7 and [x["ok"] for x in r.json] == [False, True, True] and r.json[2]["run"] is None and
         r.json[2]["exit"] == 2, "as JSON", r)
    r = t.fails(7, "publish --examples refuses", "evctl-expert", "publish", "sums", "--examples",
                hint="evctl-run sums --examples --draft", says="1 of 5 examples fail")
    t.ok(t.run("evctl-expert", "versions", "sums", "-o", "name").out == "1\n", "and nothing was published")
    t.good("evctl-expert", "publish", "sums")
    (folder / "sums.py").write_text("def add(a: int, b: int = 1):\n    raise ValueError('<&\\x07')\n")
    r = t.run("evctl-run", "sums", "--examples", "--draft", "-o", "junit")
    t.ok(r.code == 7 and "exit 11, expected 0" in ET.fromstring(r.out).find(".//failure").text, "one that raises", r)

    # shown to buyers, and kept with a version
    r = t.run("evctl-expert", "listing", "sums")
    t.ok('      example: {"a":1,"b":2} -> {"list":[1,2],"sum":3.0}\n' in r.out and
         '      example: {"a":"nope"} (exit 2)\n' in r.out, "the listing has them", r)
    (folder / "expert.yaml").write_text(manifest.replace("{input: {a: 1}}", "{input: {a: 7}}"))
    r = t.run("evctl-expert", "listing", "sums", "-o", "json")
    t.ok(r.json["tools"][0]["examples"][1] == {"input": {"a": 1}}, "as JSON, of the version", r)
    t.ok("## Tools" in (r := t.run("evctl-expert", "listing", "sums", "--markdown")).out and "\nExamples:" in r.out,
         "as Markdown", r)
    t.ok("examples" in t.run("evctl-expert", "show", "sums", "--diff").out, "and they count as a change")

    # what is no example, and where there is none
    for bad, what in (("[1]", "the example must be a mapping"), ("{}", "examples must be a list"),
                      ("[{input: [1]}]", "input must be a mapping"), ("[{exit: 99}]", "exit must be"),
                      ("[{inptu: {}}]", "unknown field 'inptu'")):
        (folder / "expert.yaml").write_text(f"name: sums\ntools:\n- name: add\n  entry: sums.py:add\n  examples: {bad}\n")
        t.fails(2, f"no example: {bad}", "evctl-run", "sums", "--examples", "--draft", says=what, hint=False)
    (folder / "expert.yaml").write_text("name: sums\ntools: [{name: add, entry: sums.py:add}]\n")
    t.fails(3, "no examples", "evctl-run", "sums", "--examples", "--draft", hint="give a tool in expert.yaml some: examples: [{input")
    t.fails(3, "none to publish by", "evctl-expert", "publish", "sums", "--examples", says="nothing was published")
    t.fails(3, "no such tool", "evctl-run", "sums", "gone", "--examples", "--draft", hint=False)
    t.fails(2, "not with an input", "evctl-run", "sums", "add", "--examples", "--arg", "a=1", says="do not go together")
    t.fails(2, "a report of nothing", "evctl-run", "sums", "add", "-o", "junit", says="is for '--examples'")
