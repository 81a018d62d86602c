#!/usr/bin/python3
"""Experts as people write them: what evctl-verify says of each is held against what happens when it is run, with
its keys and with each of them left out. `corpus.t --table` counts it instead; `corpus.t NAME...` takes those only.

A file of experts/ is one expert: what it is, lines "field: value", and its files after lines "--- PATH".
    verdict: green|amber|red [MEMBER WORD]     with all keys; and which member of the verdict has the word in it
    from: MINOR VERDICT...                     the same where the sandbox's Python is 3.MINOR or newer
    lacks: MODULE VERDICT...                   the same where the sandbox has no such module
    tool: NAME ENTRY                           then of this tool:
    input: SCHEMA                                as expert.yaml has it
    call: INPUT                                  what it is called with, each once; {} where none is given
    refused: INPUT                               what is told apart as a wrong input, before anything starts
    required: KEY HOST                         a key, and the host that it is bound to
    optional: KEY HOST                         one that the code goes on without
    spare: KEY HOST                            one that stands behind a value of the code's own
    dynamic: KEY HOST                          one whose name cannot be told from the code
    host: HOST                                 one that needs no key
    bring: MODULE...                           packages of this system, as pip install --target leaves them
    ignore: PATTERN...                         as expert.yaml has it
    answer: JSON                               what its hosts answer, where no file "GET /path" says otherwise
    none: TOOL                                 one that runs with either of its keys, and not without all
    anyone                                     they answer whoever asks; else they want the key of the host
    unsure: KEY HOST                           one that the verdict calls optional, and that more than its read asks for
    stops: TOOL                                one that begins without any of its keys, and then gives up in its own words
    rule: why                                  a rule that people are told of decides, not what this code does
    todo: CASE why                             CASE (`all`, a key, `refused`, `buyer`) is known to disagree
"""
import concurrent.futures
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import sys
from base64 import b64decode
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from crm import Crm
from tap import BIN, T

EXPERTS = Path(__file__).resolve().parent / "experts"
SYSTEM = Path(importlib.util.find_spec("numpy").origin).parents[1]
FACTS = (BIN.parent / "share/evctl/cell/python").read_text()  # what the sandbox has
KINDS = {"required": "red", "optional": "amber", "spare": "green", "dynamic": "amber", "unsure": "amber"}  # and the verdict without the key


def value_of(key):
    return f"value-of-{key}-0123456789"


class Expert:
    def __init__(self, path):
        head, *files = re.split(r"^--- (.+)\n", path.read_text(), flags=re.M)
        self.name, self.files = path.stem, dict(zip(files[::2], files[1::2]))
        self.tools, self.calls, self.refused, self.keys, self.hosts, self.todo = [], [], [], {}, [], {}
        self.bring, self.ignore, self.none, self.stops, self.rule, self.answer, self.anyone = [], [], [], [], None, '{"ok": true}', False
        self.about, *lines = head.splitlines()
        for line in filter(None, lines):
            field, _, text = line.partition(": ")
            getattr(self, "take_" + field)(text)
        called = {tool for tool, _ in self.calls}
        self.calls += [(tool["name"], {}) for tool in self.tools if tool["name"] not in called]

    def take_verdict(self, text):
        self.verdict, self.member, self.word = (text.split(" ", 2) + ["", ""])[:3]

    def take_from(self, text):
        minor, verdict = text.split(" ", 1)
        if sys.version_info >= (3, int(minor)):
            self.take_verdict(verdict)

    def take_lacks(self, text):
        module, verdict = text.split(" ", 1)
        if not re.search(rf"^(?:module|package) {re.escape(module)}$", FACTS, re.M):
            self.take_verdict(verdict)

    def take_tool(self, text):
        name, entry = text.split(" ", 1)
        self.tools.append({"name": name, "description": self.about, "entry": entry})

    def take_input(self, text):
        self.tools[-1]["input"] = json.loads(text)

    def take_call(self, text):
        self.calls.append((self.tools[-1]["name"], json.loads(text)))

    def take_refused(self, text):
        self.refused.append((self.tools[-1]["name"], text))

    def take_key(self, kind, text):
        key, host = text.split()
        self.keys[key] = kind, host
        self.hosts.append(host)

    def take_required(self, text):
        self.take_key("required", text)

    def take_optional(self, text):
        self.take_key("optional", text)

    def take_spare(self, text):
        self.take_key("spare", text)

    def take_dynamic(self, text):
        self.take_key("dynamic", text)

    def take_host(self, text):
        self.hosts.append(text)

    def take_bring(self, text):
        self.bring += text.split()

    def take_ignore(self, text):
        self.ignore += text.split()

    def take_unsure(self, text):
        self.take_key("unsure", text)

    def take_stops(self, text):
        self.stops.append(text)

    def take_rule(self, text):
        self.rule = text

    def take_none(self, text):
        self.none.append(text)

    def take_answer(self, text):
        self.answer = text

    def take_anyone(self, _):
        self.anyone = True

    def take_todo(self, text):
        case, why = text.split(" ", 1)
        self.todo[case] = why

    def lay_out(self, folder):
        for path, text in self.files.items():
            if not path.startswith("GET "):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text)
        for module in self.bring:
            bring(module, folder)
        manifest = {"name": self.name, "description": self.about, "tools": self.tools, "hosts": self.hosts}
        if self.ignore:
            manifest["ignore"] = self.ignore
        (folder / "expert.yaml").write_text(json.dumps(manifest))
        return folder

    def says(self, path):
        """What its hosts answer to GET path."""
        return self.files.get("GET " + path, self.answer).encode()


OWNERS = importlib.metadata.packages_distributions()


def bring(module, folder):
    """A package of this system and what is known of it, where pip would have put it; pure Python only."""
    if (SYSTEM / module).is_dir():
        shutil.copytree(SYSTEM / module, folder / module,
                        ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        paths = [p.relative_to(folder) for p in (folder / module).rglob("*") if p.is_file()]
    elif module in ("rfc3986", "sniffio", "typing_extensions") and not (SYSTEM / f"{module}.py").exists():
        return  # some versions of httpx and anyio need them
    else:
        shutil.copy(SYSTEM / f"{module}.py", folder)
        paths = [Path(f"{module}.py")]
    of = importlib.metadata.distribution(OWNERS.get(module, [module])[0])
    info = folder / f"{of.metadata['Name']}-{of.version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(of.read_text("METADATA") or of.read_text("PKG-INFO"))
    (info / "INSTALLER").write_text("pip\n")
    (info / "top_level.txt").write_text(module + "\n")
    (info / "RECORD").write_text("".join(f"{p},,\n" for p in paths))


class World(Crm):
    """Every host of every expert: answers for the one that is asked, to who brings its key."""

    def __init__(self, folder, experts):
        self.of = {host: (x, None) for x in experts for host in x.hosts}
        self.of.update({host: (x, key) for x in experts for key, (_, host) in x.keys.items()})
        super().__init__(folder, *(self.of or ["nobody.example"]))
        world = self

        class Handler(self.server.RequestHandlerClass):
            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                expert, key = world.of[self.headers["Host"]]
                good = expert.anyone or key is None or world.has(key, self.path, str(self.headers), body)
                data = expert.says(self.path.partition("?")[0]) if good else b'{"error": "no key"}'
                self.send_response(200 if good else 401)
                self.send_header("Content-Type", "application/json" if data[:1] in b"[{" else "text/plain")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_GET
        self.server.RequestHandlerClass = Handler

    @staticmethod
    def has(key, path, headers, body):
        basic = re.search(r"^Authorization: Basic (\S+)", headers, re.M | re.I)
        sent = [path, headers, body.decode(errors="replace"), b64decode(basic[1]).decode() if basic else ""]
        return any(value_of(key) in text for text in sent)


class Case:
    """One expert with all its keys, or with one left out: what was said of it, and what it did."""

    def __init__(self, expert, left_out, verdict, ran, why):
        self.expert, self.left_out, self.verdict, self.ran, self.why = expert, left_out, verdict, ran, why
        self.name = expert.name + (f" without {left_out}" if left_out else "")
        self.todo = expert.todo.get(left_out or "all")
        self.status = verdict["status"]
        self.fails = not all(ran)

    def agrees(self):
        """Red fails, and what is not red runs, unless it says that it cannot tell."""
        if self.expert.rule or (self.left_out and self.expert.keys[self.left_out][0] == "unsure"):
            return True
        if self.status == "red":
            return self.fails
        return not self.fails or bool(self.verdict["dynamic"] or self.verdict["env_mistakes"])

    def wanted(self):
        """Whether the verdict is what the file says."""
        if self.left_out:
            below = KINDS[self.expert.keys[self.left_out][0]]
            return self.status == ("red" if self.expert.verdict == "red" else below)
        x = self.expert
        return self.status == x.verdict and (not x.member or x.word in json.dumps(self.verdict.get(x.member)))

    def __str__(self):
        told = {k: v for k, v in self.verdict.items() if v and k not in ("reads", "flags", "unused", "syntax_error")}
        return f"{json.dumps(told)}\n{self.why}"


class Corpus(T):
    def set_up(self, experts):
        self.init()
        self.world = World(self.dir, experts)
        for key in sorted({key for x in experts for key in x.keys}):
            self.cred(key, value_of(key))
        rows = [{"host": host, "connect_to": f"127.0.0.1:{self.world.port}", "allow_private": True,
                 "ca_file": str(self.world.ca), **({"bind": key} if key else {})}
                for host, (_, key) in self.world.of.items()]
        self.good("evctl-apply", "-f", "-", stdin=json.dumps({"hosts": rows}))

    def create(self, x):
        folder = self.dir / x.name
        folder.mkdir()
        self.good("evctl-expert", "create", x.name, "--dir", x.lay_out(folder))

    def call(self, x):
        """Whether each of its calls does, and why not."""
        lines = "".join(json.dumps({"tool": tool, "input": given}) + "\n" for tool, given in x.calls)
        r = self.run("evctl-run", x.name, "--draft", "--calls", "-", stdin=lines)
        ends = [json.loads(line) for line in r.out.splitlines()]
        if len(ends) != len(x.calls):
            raise AssertionError(r)
        why = r.err
        for end in ends:
            if end.get("status") == "failed":
                why += json.dumps(self.good("evctl-log", "show", end["run"], "-o", "json").json["log"])[-600:]
        return [end.get("status") == "ok" for end in ends], why

    def case(self, x, left_out=None):
        return Case(x, left_out, self.run("evctl-verify", x.name, "-o", "json").json, *self.call(x))

    def cases(self, x):
        """With all keys; with each left out, as if its host were bound to none; and with none supplied by a buyer."""
        self.create(x)
        yield self.case(x)
        for key, (_, host) in x.keys.items():
            self.good("evctl-bind", "clear", host)
            yield self.case(x, key)
            self.good("evctl-bind", "set", host, key)

    def all_cases(self, experts):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for found in pool.map(lambda x: list(self.cases(x)), experts):
                yield from found

    def tell(self, good, what, detail, todo):
        """A disagreement that is known is no failure, and says why it is there."""
        if not good and todo:
            self.n += 1
            print(f"not ok {self.n} - {what} # TODO {todo}", flush=True)
        else:
            self.ok(good, what, detail)

    def refusals(self, x):
        for tool, given in x.refused:
            r = self.run("evctl-run", x.name, tool, "--draft", "--input", given)
            self.tell(r.code == 2, f"{x.name}: {tool} refuses {given} before anything starts", r, x.todo.get("refused"))

    def unsupplied(self, x, lacking):
        """Where the keys are the buyers' to bring and none is: exit 14 for the tools that lack one, before they start."""
        tool, given = next((call for call in x.calls if call[0] in lacking), x.calls[0])
        r = self.run("evctl-run", x.name, tool, "--draft", "--input", json.dumps(given))
        want = 14 if tool in lacking else 11 if tool in x.stops else 0
        return r.code == want, f"{x.name}: no key brought by a buyer: exit {want}", r, x.todo.get("buyer")

    def all_unsupplied(self, cases):
        for key in sorted({key for c in cases for key in c.expert.keys}):
            self.good("evctl-cred", "payer", key, "buyer")
        whole = [c for c in cases if not c.left_out and not c.expert.rule and c.expert.keys and c.status != "red" and c.agrees() and
                 not c.verdict["dynamic"] and not c.verdict["env_mistakes"]]
        lacking = {c.expert.name: {m["tool"] for d in cases if d.expert is c.expert for m in d.verdict["missing"]} | {*c.expert.none}
                   for c in whole}
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for told in pool.map(lambda c: self.unsupplied(c.expert, lacking[c.expert.name]), whole):
                self.tell(*told)


def table(cases):
    print(f"{'verdict':10}{'runs':>8}{'fails':>8}{'agree':>8}")
    for verdict in ("green", "amber", "red"):
        of = [c for c in cases if c.status == verdict]
        fails = sum(c.fails for c in of)
        print(f"{verdict:10}{len(of) - fails:8}{fails:8}{sum(c.agrees() for c in of):8}")
    apart = [c for c in cases if not c.agrees()]
    ruled = sorted({f"{c.expert.name}: {c.status}: {c.expert.rule}" for c in cases if c.expert.rule and not c.left_out})
    print(f"{len({c.expert.name for c in cases})} experts, {len(cases)} times with all keys or without one; "
          f"{len(apart)} disagree")
    for text in ruled:
        print(f"  by a rule, {text}")
    for c in apart:
        print(f"  {c.name}: {c.status}, and {'fails' if c.fails else 'runs'}: {c.todo or 'not known yet'}")


def check(t, experts):
    cases = []
    for c in t.all_cases(experts):
        cases.append(c)
        t.tell(c.agrees(), f"{c.name}: {c.status}, and {'fails' if c.fails else 'runs'}", c, c.todo)
        t.tell(c.wanted(), f"{c.name}: the verdict is as it should be", c, c.todo)
    for x in experts:
        t.refusals(x)
    t.all_unsupplied(cases)


only = [a for a in sys.argv[1:] if a[:2] != "--"]
experts = [Expert(p) for p in sorted(EXPERTS.glob("*.txt")) if not only or p.stem in only]
with Corpus() as t:
    hosts = [h for x in experts for h in x.hosts]
    twice = {h for h in hosts if hosts.count(h) > 1}
    t.ok(not twice, "every expert has hosts of its own", twice)
    t.set_up(experts)
    if "--table" in sys.argv:
        table(list(t.all_cases(experts)))
    else:
        check(t, experts)
