#!/usr/bin/python3
"""The manual against the programs: every verb and option is in it, and nothing that is not there."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, HELPERS, ROOT, T, on_terminal

TEXT = ROOT / "share/man/text"





def shown(path):
    """A page as it is read: no markup, no line breaks within."""
    raw = subprocess.run(["mandoc", "-Tutf8", "-Owidth=300", path], capture_output=True, text=True).stdout
    return re.sub(".\b", "", raw)


with T() as t:
    programs = sorted(p.name for p in BIN.iterdir() if p.name.startswith("evctl"))
    pages = t.dir / "man"
    r = subprocess.run([ROOT / "share/man/build", BIN, TEXT, ROOT / "common/base/limits.h", pages], capture_output=True, text=True)
    t.ok(r.returncode == 0, "the pages are made", r.stderr)
    specs = {p: json.loads(t.run(p, "--dump-spec").out) for p in programs if p not in HELPERS}
    have = {p.name for p in pages.iterdir()}
    for p in programs:
        t.ok(p + (".8" if p in HELPERS else ".1") in have, f"{p} has a page", have)
    t.ok({"evctl-contract.7", "evctl-reads.7", "expert.yaml.5"} <= have, "so have the contract and expert.yaml")
    stray = [p.stem for p in TEXT.glob("*.mdoc") if p.stem not in programs]
    t.ok(not stray, "no page is for a program that is none", stray)

    for p, spec in specs.items():
        text, lost = shown(pages / f"{p}.1"), []
        for v in spec["verbs"]:
            if v.get("name") and not re.search(rf"^ +{re.escape(v['name'])}\b", text, re.M):
                lost.append(v["name"])
            lost += [o["name"] for o in v["options"] if not re.search(rf"--{re.escape(o['name'])}\b", text)]
            lost += [a["name"] for a in v["args"] if a["name"] not in text]
        lost += [o["name"] for o in spec["options"] + spec["common"] if f"--{o['name']}" not in text]
        t.ok(spec["verbs"] and not lost and "SYNOPSIS" in text, f"{p}: every verb, argument and option is in its page", lost)

    # what a person wrote names only what there is
    every = {"--" + o["name"] for s in specs.values() for v in s["verbs"] for o in v["options"] + s["options"] + s["common"]}
    letters = {"-" + o["letter"] for s in specs.values() for v in s["verbs"]
               for o in v["options"] + s["options"] + s["common"] if o["letter"]}
    wrong, looked = [], 0
    for f in sorted(TEXT.iterdir()):
        text = f.read_text().replace("\\-", "-")
        spec = specs.get(f.stem) if f.suffix == ".mdoc" else None
        mine = {"--" + o["name"] for v in spec["verbs"] for o in v["options"] + spec["options"] + spec["common"]} if spec else every
        for flag in re.findall(r"\bFl (-?[A-Za-z][A-Za-z-]*)", text):
            looked += 1
            if "-" + flag not in (mine if flag[0] == "-" else letters):
                wrong.append((f.name, "option", flag))
        verbs = {v.get("name") for v in spec["verbs"]} if spec else None
        for verb in re.findall(r"^\.(?:It )?Cm ([a-z-]+)", text, re.M) if spec else []:
            looked += 1
            if verb not in verbs:
                wrong.append((f.name, "verb", verb))
        for page, section in re.findall(r"\bXr ([a-z.-]+) (\d)", text):
            looked += 1
            if f"{page}.{section}" not in have:
                wrong.append((f.name, "page", page, section))
    t.ok(not wrong, "what a person wrote names only options, verbs and pages that are there", wrong)
    t.ok(looked > 40, "control: it was found", looked)

    faults = []
    for f in sorted(pages.iterdir()):
        r = subprocess.run(["mandoc", "-Tlint", "-Wstyle", f], capture_output=True, text=True)
        faults += [x for x in (r.stdout + r.stderr).splitlines() if "referenced manual not found" not in x]
    t.ok(not faults, "mandoc finds no fault", "\n".join(faults))
    (t.dir / "bad.1").write_text(".Dd x\n.Dt BAD 1\n.Os\n.Sh NAME\n.Nm bad\n.Nd x\n.Sh DESCRIPTION\n.Bl -tag\n.It x\n")
    r = subprocess.run(["mandoc", "-Tlint", "-Wstyle", t.dir / "bad.1"], capture_output=True, text=True)
    t.ok(r.returncode != 0 and r.stdout, "control: it finds one where there is one", r)

    # the contract's page against the code
    contract = shown(pages / "evctl-contract.7")
    t.ok(all(re.search(rf"^ +{n}  +\w", contract, re.M) for n in range(16)), "every exit status is in it", contract)
    codes = re.findall(r"\bERR_\w+ = (\d+),", (ROOT / "common/base/err.h").read_text())
    t.ok(codes and set(map(int, codes)) <= set(range(16)), "and there is no other", codes)
    source = "".join(p.read_text() for d in ("common", "cmd") for p in (ROOT / d).rglob("*.[ch]"))
    variables = set(re.findall(r'getenv\("(\w+)"\)', source)) - {"HOME"}
    t.ok(variables and all(v in contract for v in variables), "every environment variable", variables)

    # evctl-reads(7) against the scanner: the comment at a line's end is what verify says of the line
    page = (TEXT / "evctl-reads.7").read_text().replace("\\-", "-").replace("\\&", "")
    blocks, looked, wrong = re.findall(r"^\.Bd -literal\n(.*?)^\.Ed", page, re.M | re.S), 0, []
    for i, block in enumerate(blocks):
        folder = t.dir / f"reads{i}"
        folder.mkdir()
        (folder / "tool.py").write_text(block)
        (folder / "expert.yaml").write_text("name: x\ndescription: x\ntools: [{name: x, description: x, entry: tool.py}]\n")
        found = t.run("evctl-verify", f"{folder}/", "-o", "json").json
        for n, line in enumerate(block.splitlines(), 1):
            kind, *names = line.partition("#")[2].split() or [None]
            have = {(x["kind"], x["name"]) for x in found["reads"] if x["line"] == n}
            have |= {("dynamic", None) for x in found["dynamic"] if x["line"] == n}
            want = {"dynamic": {("dynamic", None)}, "no": set(), None: set()}.get(kind, {(kind, x) for x in names})
            looked += kind is not None
            if have != want:
                wrong.append((line, have))
    t.ok(not wrong and looked >= 20, "evctl-reads(7): each example is what it says", wrong or looked)

    # the gate's reasons against the gate
    source = "".join(p.read_text() for p in (ROOT / "common/gate").glob("*.c"))
    reasons = {w for call in re.findall(r"\brefuse\w*\((.*?)\);", source, re.S)
               for w in re.findall(r'"([a-z-]+)"', call)} | set(re.findall(r'\{\d{3}, "([a-z-]+)"\}', source))
    listed = {w for line in re.findall(r"^\.It Li (.*)$", (TEXT / "evctl-egress.8").read_text(), re.M)
              for w in line.split(" , ")}
    t.ok("address" in reasons and listed == reasons, "evctl-egress(8) has every reason, and no other", listed ^ reasons)

    # expert.yaml(5) against the parser
    page = (TEXT / "expert.yaml.5").read_text()
    fields = set()
    for table in re.findall(r"const fields\[\] = \{(.*?)NULL", (ROOT / "common/manifest/manifest.c").read_text(), re.S):
        fields |= set(re.findall(r'"(\w+)"', table))
    documented = {w for line in re.findall(r"^\.It Cm (.*)$", page, re.M) for w in line.replace(",", " ").split()}
    t.ok(fields and documented == fields, "expert.yaml(5) has every field, and no other", documented ^ fields)
    example = "\n".join(re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", page, re.M | re.S)[:1]).replace("\\-", "-").replace("\\&", "")
    folder = t.dir / "example"
    folder.mkdir()
    (folder / "expert.yaml").write_text(example)
    for entry in re.findall(r"entry: ([\w.]+)", example):
        (folder / entry).write_text("def count_leads(**k): return {}\n")
    r = t.run("evctl-verify", f"{folder}/", env={"EVCTL_HOME": "/nowhere"})
    t.ok(example and r.code in (0, 7) and "expert.yaml" not in r.err, "its example is one", r)
    example = (TEXT / "evctl-apply.mdoc").read_text().split(".Bd -literal\n")[1].split(".Ed")[0].replace("\\-", "-")
    t.init()
    r = t.run("evctl-apply", "-f", "-", "-n", stdin=example)
    t.ok(r.code == 7 and "evctl-cred add CRM_KEY" in r.err, "the example of evctl-apply(1) is one", r)

    # README's limits against the code
    limits = dict(re.findall(r"^#define LIMIT_(\w+) (\d+)", (ROOT / "common/base/limits.h").read_text(), re.M))
    limits |= dict(re.findall(r"^#define (MAX_SOCKETS) (\d+)", (ROOT / "common/sandbox/sandbox.c").read_text(), re.M))
    QUOTED = {"CALL_S": r"(\d+) s,", "MEMORY_GIB": r"(\d+) GiB,", "PROCESSES": r"(\d+) processes,", "RESULT_MB": r"(\d+) MB of result",
              "LOG_MB": r"(\d+) MB of log", "SCRATCH_MB": r"(\d+) MB of scratch a call|its (\d+) MB with it",
              "OUTPUT_MB": r"outputs of (\d+) MB a file", "OUTPUTS_MB": r"a file, (\d+) MB and", "OUTPUTS": r"(\d+) files a run",
              "OPEN_FILES": r"(\d+) open files a process", "MAX_SOCKETS": r"([\d,]+) TCP sockets",
              "REQUEST_MB": r"request bodies of (\d+) MB", "ANSWER_MB": r"responses of (\d+) MB"}

    def misquoted(section):
        """What README says of limits that are others, and numbers that are none's."""
        quotes = {(m.start(i), name, m[i].replace(",", "")) for name, words in QUOTED.items()
                  for m in re.finditer(words, section) for i in range(1, len(m.groups()) + 1) if m[i]}
        numbers = {m.start() for m in re.finditer(r"\d[\d,]*", section)}
        return [q for q in quotes if limits[q[1]] != q[2]] + sorted(numbers - {q[0] for q in quotes}) + sorted(
            QUOTED.keys() - {q[1] for q in quotes})

    section = " ".join(re.search(r"^## Limits\n(.*?)^## ", (ROOT / "README.md").read_text(), re.M | re.S)[1].split())
    t.ok(misquoted(section) == [], "README's limits are those of the code", (misquoted(section), section))
    for was, to in (("64 MB with", "65 MB with"), ("1,024 TCP", "1,025 TCP"), ("50 MB.", "50 MB, 7 of them red.")):
        t.ok(was in section and misquoted(section.replace(was, to)), f"control: {to} is seen")

    # help on a topic
    env = {**t.env, "PATH": os.environ["PATH"], "TERM": "xterm", "MANPAGER": "cat", "MANWIDTH": "80"}
    for topic, want in [(p.removeprefix("evctl-"), p.upper() + "(1)") for p in specs] + [
            ("contract", "EVCTL-CONTRACT(7)"), ("reads", "EVCTL-READS(7)"), ("expert.yaml", "EXPERT.YAML(5)"), ("evctl-cred", "EVCTL-CRED(1)"),
            ("init", "EVCTL-STATE(1)")]:
        out, code = on_terminal([str(BIN / "evctl"), "help", topic], env)
        t.ok(code == 0 and want in re.sub(r"\033\[[\d;]*m", "", out), f"evctl help {topic}", out[:600])  # newer ones underline it
    r = t.run("evctl", "help", "contract", env={"PATH": os.environ["PATH"]})
    t.ok(r.code == 0 and "EXIT STATUS" in re.sub(".\b", "", r.out) and "\033" not in r.out, "also into a pipe", r)
    r = t.run("evctl", "help", "cred", env={"PATH": "/nowhere"})
    t.ok(r.code == 0 and r.out.startswith("evctl-cred: "), "without man: the program's own help", r)
    t.fails(1, "and for what has none, the mend", "evctl", "help", "contract", env={"PATH": "/nowhere"},
            hint="apt-get install man-db")
    t.fails(3, "no such topic", "evctl", "help", "crde", hint="did you mean 'evctl help cred'?")
    t.fails(3, "nothing near", "evctl", "help", "zzzzzz", hint="evctl --help")
    t.ok(t.run("evctl", "help").out == t.run("evctl", "--help").out != "", "no topic: evctl's own")
