#!/usr/bin/python3
"""Entries and inputs: what the code says of them is checked before anything runs, is what everybody is shown, and
freezes with a version."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T

CODE = '''
import asyncio
from models import Lead


def count(month: str, limit: int = 10, lead: Lead = None):
    """Counts the leads of a month.

    Args:
        month: as YYYY-MM
    """
    return [month, limit]


def by_hand(month, region="all"):
    return [month, region]


def anything(**members):
    return members


async def later(n: int):
    await asyncio.sleep(0)
    return n + 1


def rows(n=3):
    for i in range(n):
        yield i
'''
MODELS = '''
from typing import TypedDict


class Lead(TypedDict):
    name: str
'''
YAML = '''
name: crm
tools:
  - {name: count, entry: 'leads.py:count'}
  - name: by-hand
    entry: leads.py:by_hand
    input: {type: object, properties: {month: {type: string}}, required: [month]}
  - {name: anything, entry: 'leads.py:anything'}
  - {name: later, entry: 'leads.py:later'}
'''
COUNT = {"type": "object",
         "properties": {"month": {"type": "string", "description": "as YYYY-MM"},
                        "limit": {"type": "integer", "default": 10},
                        "lead": {"type": ["object", "null"], "properties": {"name": {"type": "string"}},
                                 "required": ["name"], "default": None}},
         "required": ["month"], "additionalProperties": False}


def mcp(t, *args, calls=()):
    """The tools that are offered, and what calls of them give."""
    def ask(method, **params):
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {}}
        ask.n += 1
        return json.dumps({"jsonrpc": "2.0", "id": ask.n, "method": method, "params": {"_meta": meta, **params}})
    ask.n = 0
    lines = [ask("tools/list"), *(ask("tools/call", name=n, arguments=a) for n, a in calls)]
    r = t.good("evctl-mcp", *args, stdin="\n".join(lines) + "\n")
    got = {m["id"]: m for m in map(json.loads, r.out.splitlines())}
    tools = {tool["name"]: tool for tool in got[1]["result"]["tools"]}
    return tools, [got[i]["result"] for i in range(2, ask.n + 1)]


with T() as t:
    t.init()
    d = t.expert("crm", {"leads.py": CODE, "models.py": MODELS}, YAML)
    t.good("evctl-expert", "create", "crm", "--dir", d)

    def run(*args, **kw):
        return t.run("evctl-run", "crm", *args, **kw)

    def shown(*args):
        tools = t.good("evctl-expert", "show", "crm", "-o", "json").json["tools"]
        return {tool["name"]: tool for tool in tools}

    # -- what is derived, and where it is seen
    tools = shown()
    t.eq(tools["count"]["input"], COUNT, "show prints the schema of the function")
    r = t.good("evctl-expert", "show", "crm")
    t.ok("count(" in r.out and all(name + (":" if name in COUNT["required"] else "?") in r.out for name in COUNT["properties"]),
         "as text: what each tool takes", r)
    t.eq(tools["count"]["description"], "Counts the leads of a month.", "and its docstring describes it")
    t.eq(tools["anything"]["input"], {"type": "object", "properties": {}}, "one with ** takes any member")
    t.eq(tools["by-hand"]["input"], {"type": "object", "properties": {"month": {"type": "string"}, "region": {}},
                                     "required": ["month"], "additionalProperties": False},
         "a schema by hand is closed over the function's parameters")
    listing = t.good("evctl-expert", "listing", "crm", "-o", "json").json
    t.eq(listing["tools"][0]["input"], COUNT, "a listing of the draft has it")
    r = t.good("evctl-expert", "listing", "crm")
    t.ok("      month (string, required): as YYYY-MM\n      limit (integer)\n      lead (object or null)\n" in r.out,
         "in text too", r)
    r = t.good("evctl-verify", "crm")
    t.ok(r.out.startswith("green"), "verify has nothing to say of it", r)

    # -- it is checked before the sandbox starts
    r = run("count", "--arg", "month=2026", "--arg", "limit=5")
    t.eq((r.code, r.out), (0, '["2026", 5]\n'), "--arg takes text and numbers as the annotations say")
    runs = len(t.sql("SELECT 1 FROM runs"))
    for what, tool, given, says in (
            ("a name written wrong", "count", {"Month": "x"}, "input.Month: no such member; did you mean 'month'?"),
            ("one too many", "count", {"month": "x", "nothing-like-it": 1}, "input.nothing-like-it: no such member"),
            ("a wrong type", "count", {"month": 1}, "input.month: expected string, got integer"),
            ("one left out", "count", {}, "input.month: missing, and required"),
            ("one wrong within", "count", {"month": "x", "lead": {}}, "input.lead.name: missing, and required"),
            ("by hand: a name written wrong", "by-hand", {"Month": "x"}, "did you mean 'month'?")):
        t.fails(2, f"{what}: exit 2", "evctl-run", "crm", tool, "--input", json.dumps(given), says=says)
    t.eq(len(t.sql("SELECT 1 FROM runs")), runs, "and none of these was a run")
    t.eq(run("by-hand", "--arg", "month=x", "--arg", "region=north").json, ["x", "north"],
         "a parameter that the schema does not name may be given")
    t.eq(run("anything", "--input", '{"Month": 1}').json, {"Month": 1}, "** takes what it is given")
    t.eq(run("later", "--arg", "n=1").json, 2, "an async function is awaited")

    # -- a buyer, and MCP
    t.good("evctl-expert", "publish", "crm")
    t.fails(2, "a buyer is told too", "evctl-run", "crm", "count", "--buyer", "b", "--input", '{"Month": "x"}',
            says="input.Month: no such member; did you mean 'month'?")
    t.eq(run("count", "--buyer", "b", "--input", '{"month": "x"}').json, ["x", 10], "and may call it right")
    offered, (wrong, right) = mcp(t, "crm", "--buyer", "b",
                                  calls=[("count", {"Month": "x"}), ("count", {"month": "x"})])
    t.eq(offered["count"]["inputSchema"], COUNT, "MCP offers the derived schema")
    t.ok(offered["by-hand"]["inputSchema"]["additionalProperties"] is False, "and a closed one for that by hand")
    t.ok(wrong["isError"] and "input.Month: no such member; did you mean 'month'?" in json.dumps(wrong),
         "a call that is wrong is told what", wrong)
    t.ok(not right.get("isError") and '[\\"x\\", 10]' in json.dumps(right), "one that is right runs", right)

    # -- it freezes with the version, also for a session that is joined
    session = t.good("evctl-session", "start", "crm", "-o", "json").json["session"]
    (d / "leads.py").write_text(CODE.replace("month: str", "mois: str"))
    t.eq(list(shown()["count"]["input"]["properties"])[0], "mois", "the draft follows its code")
    t.eq(t.good("evctl-expert", "listing", "crm", "-o", "json").json["tools"][0]["input"], COUNT,
         "what is published does not")
    t.eq(run("count", "--arg", "month=x").json, ["x", 10], "nor does its check")
    t.eq(run("count", "--session", session, "--arg", "month=x").json, ["x", 10], "nor in a session")
    t.good("evctl-session", "end", session)
    session = t.good("evctl-session", "start", "crm", "--draft", "-o", "json").json["session"]
    t.fails(2, "a session of the draft has the draft's", "evctl-run", "crm", "count", "--session", session,
            "--arg", "month=x", says="input.month: no such member")
    t.good("evctl-session", "end", session)
    r = t.good("evctl-expert", "show", "crm", "--diff")
    t.ok("~ tool count: input" in r.out, "the difference is told", r)

    # -- what can never be called is red
    def judge(name, code, tools):
        rows = "".join(f"  - {json.dumps(tool)}\n" for tool in tools)
        return t.expert(name, {"m.py": code}, f"name: {name}\ntools:\n{rows}")

    bad = judge("bad", "def count_leads(month): pass\n\n\n"
                       "def rows():\n    yield 1\n\n\n"
                       "def first(a, /): pass\n", [
        {"name": "gone", "entry": "m.py:count_lead"}, {"name": "rows", "entry": "m.py:rows"},
        {"name": "first", "entry": "m.py:first"},
        {"name": "lacks", "entry": "m.py:count_leads", "input": {"type": "object"}},
        {"name": "other", "entry": "m.py:count_leads", "input": {"required": ["month", "moth"]}}])
    r = t.run("evctl-verify", f"{bad}/")
    for line in ("expert.yaml:3: error: tool 'gone': m.py has no function 'count_lead'\n"
                 "    hint: did you mean 'count_leads'?",
                 "m.py:4: error: tool 'rows': rows() yields, and a generator is no result",
                 "m.py:8: error: tool 'first': first() takes 'a' by position only",
                 "m.py:1: error: tool 'lacks': count_leads() needs 'month', which 'input:' does not give",
                 "expert.yaml:7: error: tool 'other': 'input:' requires 'moth', and count_leads() has no parameter",
                 "red: 5 entries cannot be called"):
        t.ok(r.code == 7 and line in r.out, f"red: {line.splitlines()[0]}", r)
    r = t.run("evctl-verify", f"{bad}/", "-o", "json")
    t.ok(r.code == 7 and r.json["status"] == "red" and r.json["entry_errors"][0] == {
        "tool": "gone", "file": "expert.yaml", "line": 3, "message": "m.py has no function 'count_lead'",
        "hint": "did you mean 'count_leads'?"}, "entry_errors has them", r)
    r = t.run("evctl-verify", f"{bad}/", "-o", "sarif")
    t.eq([x["level"] for x in r.json["runs"][0]["results"] if x["ruleId"] == "entry-error"], ["error"] * 5,
         "and SARIF, as errors")
    t.good("evctl-expert", "create", "bad", "--dir", bad)
    r = t.run("evctl-expert", "publish", "bad")
    t.ok(r.code == 7 and not t.sql("SELECT 1 FROM snapshots s JOIN experts e ON e.id = s.expert "
                                   "WHERE e.name = 'bad'"), "publish refuses it", r)
    # -- hosts that are named, and that nothing attached covers
    d = t.expert("hosts", {"a.py": '''
import urllib.request


def ask(name):
    """https://docs.example/ says how."""
    svg = "http://www.w3.org/2000/svg"
    own = "http://localhost:8080/", "http://127.0.0.1/", f"https://{name}.example/"
    urls = ["https://API.in-code.example/v1", f"https://with-port.example:8443/{name}",
            "https://attached.example/x", "http://deep.wild.example", f"https://half.exampl{name}", own, svg]
    try:
        urllib.request.urlopen(f"https://{name}.example/")
    except OSError:
        return "none"
'''}, "name: hosts\ntools: [{name: ask, entry: 'a.py:ask'}]\nhosts: [attached.example]\n")
    for host in ("attached.example", "*.wild.example", "with-port.example:8443"):
        t.good("evctl-host", "add", host)
    t.good("evctl-expert", "create", "hosts", "--dir", d)
    t.good("evctl-expert", "attach", "hosts", "*.wild.example")
    (d / "expert.yaml").write_text((d / "expert.yaml").read_text().replace("[att", "[late.example, att"))
    r = t.good("evctl-verify", "hosts", "-o", "json")
    t.eq([(n["file"], n["line"], n["host"], n["hint"]) for n in r.json["notes"]], [
        ("expert.yaml", 1, "late.example", "evctl-host add late.example && evctl-expert attach hosts late.example"),
        ("a.py", 9, "api.in-code.example",
         "evctl-host add api.in-code.example && evctl-expert attach hosts api.in-code.example"),
        ("a.py", 9, "with-port.example:8443", "evctl-expert attach hosts with-port.example:8443")],
        "notes name the hosts, with the command that mends each")
    t.eq(r.json["status"], "green", "and are no findings")
    r = t.good("evctl-verify", "hosts")
    t.ok("a.py:9: note: a URL names with-port.example:8443, which no attached host covers\n"
         "    run: evctl-expert attach hosts with-port.example:8443\n" in r.out, "in text too", r)
    for name, named in (("asked-for", True), ("deep.wild", False)):
        r = t.good("evctl-run", "hosts", "ask", "--arg", f"name={name}", "-o", "json")
        log = t.good("evctl-log", "show", r.json["run"])
        t.ok((f"no attached host covers {name}.example: evctl-host add --if-missing {name}.example && "
              f"evctl-expert attach hosts {name}.example" in log.err) == named,
             f"a run that asked for {name}.example: {'it is named' if named else 'nothing to name'}", log)

    good = judge("good", "def count_leads(month): pass\n", [{"name": "one", "entry": "m.py:count_leads"}])
    t.ok(t.run("evctl-verify", f"{good}/").code == 0, "one that can be called is green")
