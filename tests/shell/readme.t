#!/usr/bin/python3
"""README's words against the programs: the client configuration, the questions, and every command that is named."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, ROOT, T

README = (ROOT / "README.md").read_text()


def section(title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", README, re.M | re.S)[1]


SPECS = {}


def spec(program):
    if program not in SPECS:
        path = BIN / program
        SPECS[program] = json.loads(subprocess.run([path, "--dump-spec"], capture_output=True, check=True).stdout) \
            if path.exists() else None
    return SPECS[program]


def fault(command):
    """What a command names that is not there; None where all is."""
    words = command.replace("|", " ").split()
    program = words.pop(0)
    if program == "evctl" and words and words[0] in ("init", "help"):
        return None
    if program == "evctl" and words and not words[0].startswith("-"):
        program = f"evctl-{words.pop(0)}"
    s = spec(program)
    if not s:
        return f"no program {program}"
    verbs = {v.get("name"): v for v in s["verbs"]}
    named = [v for v in verbs if v]
    verb = verbs.get(words[0]) if named and words else verbs.get(None)
    if named and words and not words[0].startswith("-") and not verb:
        return f"{program} has no verb {words[0]}"
    rows = (verb["options"] if verb else [o for v in verbs.values() for o in v["options"]]) + s["options"] + s["common"]
    known = {f"--{o['name']}" for o in rows} | {f"-{o['letter']}" for o in rows if o["letter"]}
    unknown = [w for w in words if re.fullmatch(r"--?[a-z][a-z-]*", w) and w not in known]
    return f"{command}: {unknown}" if unknown else None


with T() as t:
    # in a desktop client: what it starts, without a shell's PATH
    config = json.loads(re.search(r"```json\n(.*?)```", section("In a desktop client"), re.S)[1])
    (server,) = config["mcpServers"].values()
    prefix = re.search(r"^PREFIX \?= (\S+)", (ROOT / "Makefile").read_text(), re.M)[1]
    t.ok(server["command"] == f"{prefix}/bin/evctl-mcp", "the path is absolute, and where make install puts it", server)
    t.init()
    src = t.expert("crm-helper", {"leads.py": "def chart_leads(month: str):\n    return month\n"},
                   "name: crm-helper\ntools: [{name: chart-leads, entry: leads.py:chart_leads}]\n")
    t.good("evctl-expert", "create", "crm-helper", "--dir", src)
    t.good("evctl-expert", "publish", "crm-helper")
    env = {k: str(t.home) if k == "EVCTL_HOME" else v for k, v in server["env"].items()}
    ask = [{"jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}},
           {"jsonrpc": "2.0", "method": "notifications/initialized"},
           {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "chart-leads", "arguments": {"month": "2026-10"}}}]
    keep = {k: v for k, v in t.env.items() if k in ("HOME", "LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")}
    p = subprocess.run([BIN / os.path.basename(server["command"]), *server["args"]], env={**keep, **env}, cwd="/",
                       input="".join(json.dumps(x) + "\n" for x in ask), capture_output=True, text=True, timeout=120)
    answers = {x.get("id"): x for x in map(json.loads, p.stdout.splitlines())}
    t.ok("2026-10" in json.dumps(answers.get(2, {}).get("result", {})), "a client that starts it so calls the tool", p)

    # the questions
    lines = section("Questions").strip().splitlines()
    questions = [x for x in lines if x.startswith("- **")]
    t.ok(len(questions) >= 20 and all(re.fullmatch(r"- \*\*[^*].*?\?\*\* \S.*[^:]", x) and len(x) <= 141 for x in questions),
         "twenty questions and more, each answered in one line", [x for x in questions if len(x) > 141])

    # every command that is named
    spans = re.findall(r"`(evctl(?:-[a-z]+)?(?: [^`]+)?)`", re.sub(r"```.*?```", "", README, flags=re.S))
    blocks = re.findall(r"^(?:\$ )?(evctl(?:-[a-z]+)? .*?)\s*(?:#.*|>.*|\\)?$", "\n".join(re.findall(r"```(?:sh|console)\n(.*?)```", README, re.S)),
                        re.M)
    commands = [c for c in spans + blocks if "…" not in c and "NOUN" not in c]
    wrong = [x for x in map(fault, commands) if x]
    t.ok(len(commands) > 60 and not wrong, "every command in README is one", (len(commands), wrong))
    for bad in ("evctl-nothing", "evctl-cred frobnicate K", "evctl-run E T --frob", "evctl doctor --mend"):
        t.ok(fault(bad), f"control: {bad} would be seen")
