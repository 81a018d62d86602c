#!/usr/bin/python3
"""From the README alone: what it shows is what happens; then a tool of one's own with an API of one's
own, and every wrong turn on the way answered by the program, its hints taken at their word."""
import http.server
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from crm import Crm
from tap import BIN, ROOT, T

README = (ROOT / "README.md").read_text()
KEY = "lk-51c0ffee77d2a94be8"

MANIFEST = """name: lab
description: Samples of the lab
tools:
  - name: mean
    description: The mean of one sample
    entry: lab.py:mean
    input: {type: object, properties: {sample: {type: string}}, required: [sample]}
"""
CODE = """import json
import urllib.request


def ask(sample):
    request = urllib.request.Request("https://api.lab.example/samples?name=" + sample,
                                     headers={"Authorization": "Bearer " + EV_KEYS["LAB_KEY"]})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def mean(sample):
    values = ask(sample)
    return sum(values) / len(values)
"""


def blocks(kind):
    return re.findall(r"^```" + kind + r"\n(.*?)^```$", README, re.M | re.S)


def plain(text):
    """Without what differs from one run, or machine, to the next."""
    return re.sub(r"\br[a-z0-9]{15}\b", "RUN", re.sub(r"127\.0\.0\.1:\d+", "ADDR", text))


class Api(Crm):
    """Crm, but only for who brings the key."""

    def __init__(self, folder, *names):
        folder.mkdir()
        super().__init__(folder, *names)
        api = self
        self.keys = []

        class Handler(self.server.RequestHandlerClass):
            def do_GET(self):
                given = self.headers.get("Authorization", "")
                api.keys.append(given)
                good = given == "Bearer " + KEY
                data = b"[1, 2, 6]" if good else b'{"error": "bad key"}'
                self.send_response(200 if good else 401)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
        self.server.RequestHandlerClass = Handler


class Newcomer(T):
    def shell(self, line, *more, stdin=b""):
        """A line as the README or a hint has it, both outputs as a terminal would mix them."""
        argv = shlex.split(re.sub(r"\s+#.*", "", line)) + [str(m) for m in more]
        argv[0] = str(BIN / argv[0])
        done = subprocess.run(argv, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=self.env, cwd=self.dir, timeout=120)
        return done.returncode, done.stdout.decode()

    def follow(self, text, what, *more, swap=(), code=0):
        """Runs the command that a message ends in; it must be a whole one, and do."""
        found = re.findall(r"\b(evctl-\w+ [^()\n]*)\)?$", text, re.M)
        line = found[-1] if found else "evctl-nothing"
        for a, b in swap:
            line = line.replace(a, b)
        r = self.shell(line, *more) if found else (None, "no command in it")
        self.ok(r[0] == code, what, f"{text}\n-> {line}\n{r[0]}\n{r[1]}")
        return r[1]

    def last(self):
        return self.good("evctl-log", "runs", "--limit", "1", "-o", "name").out.strip()

    def why(self, what, says):
        r = self.run("evctl-log", "show", self.last())
        self.ok(r.code == 0 and says in r.err, what, r)
        return r.err


def readme(t):
    """The README's own expert, word for word, against the demo's CRM."""
    src = t.dir / "crm-helper"
    src.mkdir()
    (src / "expert.yaml").write_text(blocks("yaml")[0])
    (src / "leads.py").write_text(blocks("python")[0])
    (t.dir / "crm").mkdir()
    (t.dir / "key").write_text("demo-key-of-the-crm")
    crm = subprocess.Popen(["/usr/bin/python3", ROOT / "share/demo/server.py", t.dir / "crm"],
                           stdin=subprocess.PIPE)
    try:
        crm.stdin.write(b"demo-key-of-the-crm\n")
        crm.stdin.flush()
        end = time.monotonic() + 30
        while not (t.dir / "crm/port").exists():
            if time.monotonic() > end or crm.poll() is not None:
                raise AssertionError("the CRM did not start")
            time.sleep(0.02)
        port = (t.dir / "crm/port").read_text()
        more = {"evctl-cred add": ["--from-file", t.dir / "key"],
                "evctl-host add": ["--connect-to", f"127.0.0.1:{port}", "--allow-private",
                                   "--ca-file", t.dir / "crm/ca.pem"]}
        steps = re.split(r"^\$ ", blocks("console")[0], flags=re.M)[1:]
        for step in steps:
            line, want = step.split("\n", 1)
            words = " ".join(line.split()[:2])
            code, out = t.shell(line, *more.get(words, []))
            if words != "evctl init":  # shown without what it prints
                out = "".join(s for s in out.splitlines(True) if "! " not in s and "own CA" not in s)
            else:
                out = ""
            t.ok(code == 0 and plain(out) == plain(want.rstrip("\n") + "\n" if want.strip() else ""),
                 f"as the README has it: {words}", f"{code}\n{out}\nbut the README:\n{want}")
        t.ok(len(steps) == 8, "all eight of them", steps)
        r = t.run("evctl-artifact", "get", t.last(), "leads.png", "--to", "-")
        t.ok(r.code == 0 and r.out[1:4] == "PNG", "and the chart is a PNG", r.err)
    finally:
        crm.stdin.close()
        crm.wait(timeout=30)


def start(t, api):
    """Up to the first verdict."""
    t.fails(2, "the key typed as an argument: said so, not repeated", "evctl-cred", "add", "LAB_KEY",
            KEY, hint="a secret is never an argument")
    t.fails(2, "no terminal, no source", "evctl-cred", "add", "LAB_KEY", hint="give --from-file")
    (t.dir / "lab.key").write_text(KEY + "\n")
    r = t.run("evctl-cred", "add", "LAB_KEY", "--from-file", t.dir / "lab.key")
    t.ok(r.code == 0 and "ends in a newline" in r.err and "--trim" in r.err,
         "a file's newline is kept, and warned of", r)
    t.good("evctl-cred", "rotate", "LAB_KEY", "--from-file", t.dir / "lab.key", "--trim")
    t.fails(2, "a URL for a host", "evctl-host", "add", "https://api.lab.example/v1",
            hint="name the host only: api.lab.example")
    t.fails(2, "'*'", "evctl-host", "add", "*", says="a wildcard needs a name")
    t.fails(2, "a wildcard over a public suffix", "evctl-host", "add", "*.com", hint="name the host")
    t.fails(2, "an option misspelt", "evctl-host", "add", "api.lab.example", "--conect-to", "x",
            hint="did you mean '--connect-to'?")
    (t.dir / "ca.pem").write_bytes(api.ca.read_bytes())
    line, want = blocks("console")[1][2:].split("\n", 1)
    code, out = t.shell(line.replace("127.0.0.1:8443", f"127.0.0.1:{api.port}"))
    t.ok(code == 0 and plain(out) == plain(want), "an API of one's own, as the README adds it", out)
    t.good("evctl-host", "rm", "api.lab.example", "--yes")
    r = t.run("evctl-host", "add", "api.lab.example", "--connect-to", f"127.0.0.1:{api.port}")
    t.ok(r.code == 0 and "is a private address, refused until" in r.err, "loopback without leave: noted", r)

    src = t.dir / "lab"
    src.mkdir()
    (src / "lab.py").write_text(CODE.replace("LAB_KEY", "LAB_KYE"))
    (src / "expert.yaml").write_text(MANIFEST.replace("entry:", "entri:"))
    t.fails(2, "a field misspelt: line, column, the right one", "evctl-expert", "create", "lab", "--dir",
            src, says="expert.yaml:6:5: unknown field 'entri'", hint="did you mean 'entry'?")
    (src / "expert.yaml").write_text(MANIFEST)
    t.fails(2, "another name than its own", "evctl-expert", "create", "labs", "--dir", src,
            hint="evctl-expert create lab")
    t.good("evctl-expert", "create", "lab", "--dir", src)
    t.fails(3, "a host misspelt", "evctl-bind", "set", "api.labb.example", "LAB_KEY",
            hint="did you mean 'api.lab.example'?")
    t.fails(3, "a credential misspelt", "evctl-bind", "set", "api.lab.example", "LAB_KYE",
            hint="did you mean 'LAB_KEY'?")
    t.fails(3, "an expert misspelt", "evctl-verify", "labb", hint="did you mean 'lab'?")
    return src


def verify(t, src):
    """Verify leads to green by its own hints."""
    (src / "lab.py").write_text(CODE)
    r = t.run("evctl-verify", "lab")
    t.ok(r.code == 7 and "lab.py:7: error: LAB_KEY is required by mean" in r.out,
         "the bind and the host forgotten: red, with file and line", r)
    t.follow(r.out, "its first hint does", swap=[("HOST", "api.lab.example")])
    r = t.run("evctl-verify", "lab")
    t.ok(r.code == 7 and "evctl-expert attach lab api.lab.example" in r.out, "still red", r)
    t.follow(r.out[:r.out.index("red:")], "its second hint does")
    (src / "lab.py").write_text(CODE.replace("LAB_KEY", "LAB_KYE"))
    r = t.run("evctl-verify", "lab")
    t.ok(r.code == 7 and "did you mean EV_KEYS['LAB_KEY']?" in r.out, "the key misspelt in the code", r)
    r = t.run("evctl-run", "lab", "mean", "--arg", "sample=a")
    t.ok(r.code == 11 and "EV_KEYS['LAB_KYE'] will be missing" in r.err, "and when run all the same", r)
    (src / "lab.py").write_text("import lab_units\n" + CODE)
    r = t.run("evctl-verify", "lab")
    t.ok(r.code == 7 and "no module 'lab_units'" in r.out and "pip install --target" in r.out,
         "a module not brought: red, and how to bring it", r)
    t.run("evctl-run", "lab", "mean", "--arg", "sample=a")
    t.why("run all the same, the log points to verify", "evctl-verify")
    (src / "lab_units.py").write_text("GRAM = 1\n")
    r = t.run("evctl-verify", "lab")
    t.ok(r.code == 0 and "green: every key" in r.out, "brought: green", r)


def run(t, src, api, other):
    """The call, and what can be wrong about it."""
    def mean(*more, **kw):
        return t.run("evctl-run", "lab", "mean", "--arg", "sample=a", *more, **kw)
    r = mean()
    t.ok(r.code == 11 and "hint: evctl-log show r" in r.err and api.keys == [],
         "loopback is refused, nothing arrives, and the log is named", r)
    said = t.why("the log says why, and what to run", "leads to a private or local address")
    t.follow(said, "which does")
    t.good("evctl-host", "set", "api.lab.example", "--ca-file", other.ca)
    r = mean()
    shown = t.shell("evctl-log show " + t.last())[1]
    t.ok(r.code == 11 and all(s in plain(shown) for s in plain(blocks("console")[2]).splitlines()[2:]
                              if s != "..."),
         "the wrong CA: the log is as the README shows it", shown)
    t.follow(shown[shown.index("evctl-log: note:"):], "the right CA, by the hint", swap=[("PEM", str(api.ca))])
    t.good("evctl-cred", "rotate", "LAB_KEY", "--from-file", "-", stdin="not-the-key-at-all")
    t.ok(mean().code == 11 and api.keys == ["Bearer not-the-key-at-all"], "the wrong key arrives")
    t.follow(t.why("and the host's own answer is told from the gate's", "itself answered 401"),
             "with where to look")
    t.good("evctl-cred", "rotate", "LAB_KEY", "--from-file", "-", stdin=KEY + "\n")
    r = mean()
    t.ok(r.code == 0 and r.out == "3.0\n" and api.keys[-1] == "Bearer " + KEY, "the right one: the result", r)
    t.ok(mean().out == "3.0\n", "and again")

    good = (src / "lab.py").read_text()
    (src / "lab.py").write_text(good.replace("api.lab", "api.lap"))
    t.ok(mean().code == 11, "the host misspelt in the code")
    t.why("only attached hosts have names", "evctl-expert attach")
    (src / "lab.py").write_text(good.replace("example/", "example:9443/"))
    t.ok(mean().code == 11, "a port that nobody declared")
    t.why("only declared ports are there", "evctl-host add HOST:PORT")
    (src / "lab.py").write_text(good.replace("return sum", "print(sum").replace("len(values)", "len(values))"))
    r = mean()
    t.ok(r.code == 0 and r.out == "null\n" and "returned nothing" in r.err, "printed, not returned: noted", r)
    t.ok("log\n3.0\n" in t.follow(r.err, "and where it went"), "is where the hint says")
    (src / "lab.py").write_text(good.replace("    values =", '    open("/tool/mean.txt", "w")\n    values ='))
    t.ok(mean().code == 11, "a file where none can be")
    t.why("where files go", "outputs/")
    (src / "lab.py").write_text(good.replace(
        "    values =", '    open("outputs/mean.txt", "w").write("3")\n    values ='))
    r = mean()
    t.follow(r.err, "an artifact, got by the command that names it")
    t.ok((t.dir / "mean.txt").read_text() == "3", "is what the tool wrote")
    (src / "lab.py").write_text(good)


def inputs(t):
    t.fails(2, "no input", "evctl-run", "lab", "mean", says="input.sample: missing", hint="what 'mean' takes")
    t.fails(2, "an input of the wrong type", "evctl-run", "lab", "mean", "--input", '{"sample": 3}',
            says="expected string, got integer")
    t.fails(2, "an input that is no JSON", "evctl-run", "lab", "mean", "--input", '{"sample": ',
            hint="give one JSON object")
    t.fails(2, "an argument without a name", "evctl-run", "lab", "mean", "--arg", "a", says="NAME=VALUE")
    t.fails(3, "a tool misspelt", "evctl-run", "lab", "meen", "--arg", "sample=a", hint="did you mean 'mean'?")
    r = t.fails(2, "no tool", "evctl-run", "lab", says="missing argument: TOOL")
    t.ok("mean" in t.follow(r.err, "tells how to see which there are"), "and there they are")


def buyers(t, src, api):
    def acme(*more):
        return t.run("evctl-run", "lab", "mean", "--arg", "sample=a", "--buyer", "acme", *more)
    r = acme()
    t.ok(r.code == 3 and "nothing published" in r.err, "for a buyer, not published: exit 3", r)
    t.follow(r.err, "the hint publishes")
    t.ok(acme().out == "3.0\n", "and the buyer has the result")
    r = t.run("evctl-expert", "listing", "lab")
    t.ok("api.lab.example" in r.out and "LAB_KEY" not in r.out and "You bring no keys" in r.out,
         "the listing: hosts, and no name of mine", r)
    good = (src / "lab.py").read_text()
    (src / "lab.py").write_text(good + "\n\ndef spread(sample):\n    return max(ask(sample)) - min(ask(sample))\n")
    (src / "expert.yaml").write_text(MANIFEST + MANIFEST[MANIFEST.index("  - "):].replace("mean", "spread"))
    t.fails(3, "a tool not published yet", "evctl-run", "lab", "spread", "--arg", "sample=a",
            hint="version 1 has: mean; a newer draft runs by --draft")
    r = t.run("evctl-run", "lab", "spread", "--arg", "sample=a", "--draft")
    t.ok(r.out == "5\n", "by --draft it runs", r)
    (src / "lab.py").write_text(good.replace("return sum", "raise ValueError(EV_KEYS) or sum"))
    t.ok(acme().out == "3.0\n", "the buyer's is the version, not the draft")
    t.good("evctl-expert", "publish", "lab", "--force")
    r = acme()
    t.ok(r.code == 11 and re.fullmatch(r"evctl-run: error: run r\w{15}: failed\n", r.err) and r.out == "",
         "when it fails, a buyer gets an id and a word", r)
    r = t.run("evctl-log", "show", t.last())
    t.ok("ValueError" in r.out and KEY not in r.out, "the owner gets the traceback, without the key", r)
    (src / "lab.py").write_text(good)
    (src / "expert.yaml").write_text(MANIFEST)

    t.good("evctl-cred", "payer", "LAB_KEY", "buyer")
    t.good("evctl-expert", "publish", "lab")
    r = acme()
    t.ok(r.code == 14 and "missing-key: LAB_KEY" in r.err, "a key that the buyer must bring: exit 14", r)
    t.follow(r.err, "the hint supplies it", "--from-file", t.dir / "lab.key", "--trim")
    t.ok(acme().out == "3.0\n", "and it is used")
    t.good("evctl-cred", "payer", "LAB_KEY", "stored")
    t.good("evctl-cred", "set", "LAB_KEY", "--sealed", "yes")
    t.ok(acme().out == "3.0\n" and api.keys[-1] == "Bearer " + KEY, "sealed, the API still gets the real key")


def many(t):
    """Sessions, --calls, and a model by hand."""
    sid = t.good("evctl-session", "start", "lab", "--buyer", "acme").out.strip()
    call = ("evctl-run", "lab", "mean", "--arg", "sample=a", "--session", sid)
    t.fails(5, "another buyer's session", *call, says="of another buyer", hint="evctl-session list")
    t.ok([t.run(*call, "--buyer", "acme").out for _ in "12"] == ["3.0\n"] * 2, "one's own, twice")
    t.good("evctl-session", "end", sid)
    t.fails(3, "one that was ended", *call, "--buyer", "acme", says="has ended",
            hint="evctl-session start")
    r = t.run("evctl-run", "lab", "--calls", "-", stdin='{"tool": "mean", "input": {"sample": "a"}}\n'
              '{"tool": "meen"}\nno call\n{"tool": "mean", "input": {"sample": "b"}}\n')
    rows = [json.loads(s) for s in r.out.splitlines()]
    t.ok(r.code == 3 and [x.get("result") for x in rows] == [3.0, None, None, 3.0] and
         "did you mean 'mean'" in rows[1]["error"]["hint"] and "a call is one line" in rows[2]["error"]["hint"],
         "--calls: each line is answered, the wrong ones too", r)
    asked = [{"id": 1, "method": "initialize",
              "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                         "clientInfo": {"name": "by hand", "version": "1"}}},
             {"method": "notifications/initialized"}, {"id": 2, "method": "tools/list"},
             {"id": 3, "method": "tools/call", "params": {"name": "mean", "arguments": {"sample": "a"}}},
             {"id": 4, "method": "tools/call", "params": {"name": "mean", "arguments": {}}}]
    r = t.run("evctl-mcp", "lab", "--buyer", "acme",
              stdin="".join(json.dumps({"jsonrpc": "2.0", **m}) + "\n" for m in asked))
    got = {m["id"]: m["result"] for m in map(json.loads, r.out.splitlines())}
    t.ok([x["name"] for x in got[2]["tools"]] == ["mean"] and got[3]["content"][0]["text"] == "3.0" and
         got[4]["isError"] and "input.sample: missing" in got[4]["content"][0]["text"],
         "a model sees the tool, calls it, and is told of its mistake", r)
    t.fails(3, "evctl-mcp of no such expert", "evctl-mcp", "labb", hint="did you mean 'lab'?")


def connection(t, api):
    url, add = "https://api.lab.example/samples", ("evctl-conn", "add", "lab-api", "--host", "api.lab.example",
                                                   "--env", "LAB_API_KEY", "--from-file", t.dir / "lab.key")
    t.fails(2, "no style of auth", *add, hint="evctl-conn add lab-api --host")
    t.fails(2, "a newline that no header carries", *add, "--auth", "bearer", hint="add --trim")
    t.good(*add, "--auth", "bearer", "--trim", "--connect-to", f"127.0.0.1:{api.port}")
    r = t.fails(15, "not granted", "evctl-conn", "call", "lab", "lab-api", "GET", url, says="not granted")
    t.follow(r.err, "the hint grants it", swap=[("builder|buyer", "builder")])
    r = t.fails(15, "loopback without leave", "evctl-conn", "call", "lab", "lab-api", "GET", url)
    t.follow(r.err, "the hint gives it")
    r = t.fails(1, "the CA not named", "evctl-conn", "call", "lab", "lab-api", "GET", url)
    t.follow(r.err, "the hint names it", swap=[("PEM", str(api.ca))])
    r = t.run("evctl-conn", "call", "lab", "lab-api", "GET", url)
    t.ok(r.code == 0 and r.out == "[1, 2, 6]", "and the call goes", r)
    t.fails(15, "a host not on the list", "evctl-conn", "call", "lab", "lab-api", "GET",
            "https://api.lap.example/", says="not on the list", hint="evctl-conn show lab-api")


def archive(t):
    serve = subprocess.Popen([str(BIN / "evctl-artifact"), "serve"], env=t.env, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    try:
        url = serve.stdout.readline().decode().strip()
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        opener.open(url, timeout=30).read()
        page = opener.open(url[:url.index("/open?")] + "/", timeout=30).read().decode()
        t.ok("mean.txt" in page, "the archive's page lists what was made", page[:400])
    finally:
        serve.terminate()
        serve.wait(timeout=30)


class Plain:
    """An API on loopback, over HTTP, for who brings the key."""

    def __init__(self):
        api = self
        self.keys = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                api.keys.append((self.path, self.headers.get("Authorization")))
                good = self.headers.get("Authorization") == "Bearer " + KEY
                data = b"[1, 2, 6]" if good else b'{"error": "bad key"}'
                self.send_response(200 if good else 401)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def ten(t):
    """README's ten commands, word for word, on a machine where nothing is: installed, in a home of its own."""
    part = re.search(r"^## Your own API, in ten commands\n(.*?)^## ", README, re.M | re.S)[1]
    code = re.search(r"```python\n# lab/lab.py\n(.*?)```", part, re.S)[1]
    lines = [re.sub(r"\s+#.*", "", x) for x in re.search(r"```sh\n(.*?)```", part, re.S)[1].strip().splitlines()]
    fresh = t.dir / "fresh"
    (fresh / "lab").mkdir(parents=True)
    (fresh / "lab" / "lab.py").write_text(code)
    (fresh / "key").write_text(KEY)
    api = Plain()
    # What is built is what is installed, by whatever flags.
    more = ["-s", "-C", ROOT, "-o", f"{BIN.parent}/flags", f"O={BIN.parent}", f"PREFIX={fresh}/usr"]
    env = {k: v for k, v in t.env.items() if k not in ("EVCTL_HOME", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    env = {k: v for k, v in env.items() if not k.startswith(("XDG_", "EVCTL_"))}
    env.update(HOME=str(fresh / "home"), PATH=f"{fresh}/usr/bin:{os.environ['PATH']}")
    (fresh / "home").mkdir()
    done = None
    for line in lines:
        argv = shlex.split(line.replace("127.0.0.1:8000", f"127.0.0.1:{api.port}"))
        if argv[0] == "make":
            argv[1:1] = map(str, more)
        elif argv[:2] == ["evctl-cred", "add"]:
            argv += ["--from-file", "key"]  # in place of the prompt
        else:
            argv[0] = str(fresh / "usr/bin" / argv[0])
        if argv[0] == "evctl-cred":
            argv[0] = str(fresh / "usr/bin/evctl-cred")
        done = subprocess.run(argv, capture_output=True, text=True, env=env, cwd=fresh, timeout=600)
        t.ok(done.returncode == 0, f"README: {line}", f"{done.returncode}\n{done.stdout}\n{done.stderr}")
    t.ok(len(lines) <= 10 and "publish" in lines[-2] and "--buyer" in lines[-1], "ten commands at most, to a buyer's call", lines)
    t.ok(done.stdout == "3.0\n" and done.stderr == "" and
         api.keys == [("/samples?name=a", "Bearer " + KEY)], "and the buyer has what the API's numbers come to", (done, api.keys))
    t.ok((fresh / "home/.local/share/evctl/state.db").exists(), "all of it in the home that was there")
    api.server.shutdown()


began = time.monotonic()
with Newcomer() as t:
    ten(t)
    t.fails(9, "before anything", "evctl-cred", "list", says="there is no state file", hint="evctl init")
    readme(t)
    api, other = Api(t.dir / "api", "api.lab.example"), Api(t.dir / "other", "other.example")
    src = start(t, api)
    verify(t, src)
    run(t, src, api, other)
    inputs(t)
    buyers(t, src, api)
    many(t)
    connection(t, api)
    archive(t)
    t.ok(time.monotonic() - began < 600, "all of it in under ten minutes")
