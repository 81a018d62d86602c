#!/usr/bin/python3
"""The verdict: red, amber, green, what it says, and the command that mends each finding."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T

GREEN = "green: every key the code tools read is supplied by an attached host"
MEMBERS = ["expert", "status", "missing", "reads", "dynamic", "env_mistakes", "modules_missing",
           "unused", "flags", "syntax_error", "syntax_errors"]


def yaml(name, *tools, more=""):
    rows = "".join(f"  - {{name: {n}, entry: '{e}'}}\n" for n, e in tools)
    return f"name: {name}\ntools:\n{rows}{more}"


with T() as t:
    def verify(*args, **kw):
        return t.run("evctl-verify", *args, **kw)

    def judge(files, *tools, more="", name="x"):
        """A directory of its own, judged as JSON."""
        judge.n += 1
        d = t.expert(f"{name}{judge.n}", files, yaml(name, *(tools or [("main", "main.py")]), more=more))
        return verify(f"{d}/", "-o", "json")
    judge.n = 0

    # -- without any state
    src = t.expert("crm-helper", {"leads.py": "x = 1\nk = EV_KEYS['CRM_KEY']\n"},
                   yaml("crm-helper", ("count", "leads.py")))
    r = verify("./crm-helper-src", cwd=t.dir)
    t.ok(r.code == 7 and r.err == "", "a directory needs no state; red is exit 7, no error line", r)
    t.ok("./crm-helper-src/leads.py:2: error: CRM_KEY is required by count" in r.out and
         "run: evctl-cred add CRM_KEY\n" in r.out and GREEN not in r.out and
         r.out.endswith("red: 1 required key is not supplied\n"), "the place, the mend, the verdict", r)
    t.ok(not t.home.exists(), "and makes none")
    r = verify(".", "-o", "json", cwd=src)
    t.ok(r.code == 7 and [k for k in r.json if k in MEMBERS] == MEMBERS, "'.' is a directory", r)
    t.ok(r.json["missing"] == [{"tool": "count", "name": "CRM_KEY", "file": "leads.py", "line": 2,
                                "hint": "evctl-cred add CRM_KEY"}] and
         r.json["reads"] == [{"name": "CRM_KEY", "file": "leads.py", "line": 2, "kind": "required",
                              "tool": "count", "host": None}], "missing and reads", r)
    t.fails(9, "a name needs a state", "evctl-verify", "crm-helper", hint="evctl init")
    t.fails(3, "no such directory", "evctl-verify", "./nothing")
    (t.dir / "empty").mkdir()
    t.fails(3, "an empty directory", "evctl-verify", f"{t.dir}/empty/", says="no expert.yaml",
            hint="printf ")
    r = verify(f"{t.dir}/empty")
    t.ok("the directory is empty" in r.err and r.err.endswith(f" > {t.dir}/empty/expert.yaml\n"),
         "and says that it is empty, and how to begin", r)
    (t.dir / "prose").mkdir()
    (t.dir / "prose" / "notes.txt").write_text("x = EV_KEYS['K']\n")
    t.fails(3, "a directory without Python", "evctl-verify", f"{t.dir}/prose/", says="no Python code",
            hint="give the directory that holds the code")
    (t.dir / "prose" / "t.py").write_text("x = 1\n")
    t.fails(2, "a file by its path", "evctl-verify", f"{t.dir}/prose/t.py", says="is a file",
            hint=f"evctl-verify {t.dir}/prose/")
    r = verify("t.py", cwd=t.dir / "prose")
    t.ok(r.code == 2 and "'t.py' is a file" in r.err and "hint: evctl-verify .\n" in r.err,
         "a file by its name, without a state", r)
    r = verify("prose", cwd=t.dir)
    t.ok(r.code == 9 and "evctl-verify ./prose" in r.err, "a directory's name alone, without a state", r)
    t.good("evctl-verify", f"{t.dir}/prose/")
    t.fails(2, "no argument", "evctl-verify")

    # -- green with nothing to read, and the kinds of findings
    r = verify(f"{t.expert('none', {'main.py': 'print(1)'}, yaml('none', ('a', 'main.py')))}/")
    t.ok(r.code == 0 and r.out == GREEN + "\n", "nothing to read is green", r)
    r = judge({"main.py": "EV_KEYS.get('OPT')\n"})
    t.ok(r.code == 0 and r.json["status"] == "amber" and r.json["missing"] == [] and
         r.json["reads"][0]["kind"] == "optional", "an optional read unsupplied: amber, exit 0", r)
    r = verify(f"{t.dir}/x{judge.n}-src/", "--strict")
    t.ok(r.code == 7 and "OPT is optional for main" in r.out and "evctl-cred add OPT" in r.out,
         "--strict makes amber 7", r)
    r = verify(f"{t.dir}/none-src/", "--strict")
    t.ok(r.code == 0, "control: --strict leaves green alone", r)
    r = judge({"main.py": "import sys\nEV_KEYS[sys.argv[1]]\n"})
    t.ok(r.code == 0 and r.json["status"] == "amber" and
         [(d["file"], d["line"], d["tool"]) for d in r.json["dynamic"]] == [("main.py", 2, "main")],
         "a read that cannot be resolved: amber", r)
    r = judge({"main.py": "# coding: iso2022_jp\n# \x1b(Z\nEV_KEYS['K']\n"})
    t.ok(r.code == 0 and r.json["status"] == "amber" and r.json["reads"] == [] and
         [(d["line"], d["tool"], d["hint"]) for d in r.json["dynamic"]] == [(1, "main", "convert the file to UTF-8")],
         "an encoding that is not known for certain: amber", r)
    r = verify(f"{t.dir}/x{judge.n}-src/")
    t.ok("convert the file to UTF-8" in r.out and "name the key" not in r.out, "and the mend is to convert it", r)
    r = judge({"main.py": "# coding: iso2022_jp\n# \x1b(J\x1b(B\nx = 1\n"})
    t.ok(r.code == 0 and r.json["status"] == "green", "control: with the encoding's own escapes it is green", r)
    r = judge({"main.py": "import os\nos.environ['CRM_API_KEY']\n"})
    t.ok(r.json["status"] == "amber" and r.json["env_mistakes"] ==
         [{"name": "CRM_API_KEY", "file": "main.py", "line": 2}], "an env mistake: amber", r)
    r = judge({"main.py": "def f(:\n"})
    t.ok(r.code == 7 and r.json["status"] == "red" and r.json["syntax_error"] is True and
         r.json["syntax_errors"] ==
         [{"file": "main.py", "line": 1, "column": 7, "message": "invalid syntax"}], "a syntax error: red", r)
    r = judge({"main.py": "x = 'é' + f(1,\ny = 2\n"})
    t.ok(r.json["syntax_errors"] ==
         [{"file": "main.py", "line": 1, "column": 12, "message": "'(' was never closed"}],
         "an unclosed bracket is named, at its place in characters", r)
    for since, new in ((12, "type X = int\n"), (14, "x = t''\n")):
        r = judge({"main.py": new + "EV_KEYS['A']\n"})
        if sys.version_info >= (3, since):
            t.ok(r.json["syntax_errors"] == [], f"syntax of Python 3.{since} is none of a mistake here", r)
        else:
            t.ok(r.code == 7 and f"3.{since}" in r.json["syntax_errors"][0]["message"],
                 f"syntax of Python 3.{since}: red, naming the version", r)
    r = judge({"main.py": "import requests\n", "stray.py": "import boto3\n"})
    t.ok(r.code == 7 and r.json["modules_missing"] == [{"module": "requests", "file": "main.py",
                                                        "line": 1}],
         "a missing module: red, but only in files that a tool reaches", r)
    r = judge({"main.py": "try:\n    import requests\nexcept ImportError:\n    requests = None\n"})
    t.ok(r.code == 0 and r.json["modules_missing"] == [], "guarded: not missing", r)
    r = judge({"main.py": "import requests, json, numpy\n", "requests/__init__.py": ""})
    t.ok(r.code == 0 and r.json["modules_missing"] == [], "brought, stdlib, sandbox: not missing", r)
    r = judge({"lib/main.py": "from . import near\nfrom .near import x\nimport near\n",
               "lib/near.py": "x = 1\n"}, ("one", "lib/main.py"))
    t.ok(r.code == 7 and [x["module"] for x in r.json["modules_missing"]] == [".", ".near"],
         "relative imports of an entry's file, which is in no package, are shown as written", r)
    r = judge({"main.py": "from near import x, gone\nimport pkg.gone\n", "near.py": "x = 1\n",
               "pkg/__init__.py": ""})
    text = verify(f"{t.dir}/x{judge.n}-src/").out
    t.ok(r.code == 7 and "hint: near.py has no 'gone'" in text and
         "hint: no such file: pkg/gone.py" in text, "what the directory's own modules lack: red, "
         "naming the file", text)
    began = time.monotonic()
    r = judge({"main.py": "".join(f"import gone{i}\n" for i in range(40000))})
    t.ok(len(r.json["modules_missing"]) == 40000 and time.monotonic() - began < 5,
         "each of 40,000 missing modules is told, in time that is linear in them",
         time.monotonic() - began)
    r = judge({"main.py": "import shared\n", "other.py": "from shared import k\n",
               "shared.py": "k = EV_KEYS['K']\n", "stray.py": "EV_KEYS['S']\n"},
              ("one", "main.py"), ("two", "other.py"))
    t.ok([(x["name"], x["tool"]) for x in r.json["reads"]] ==
         [("K", "one"), ("K", "two"), ("S", None)] and len(r.json["missing"]) == 3,
         "a shared file gives a row a tool; a file no tool reaches has a null one", r)
    text = verify(f"{t.dir}/x{judge.n}-src/").out
    t.ok("K is required by one, two," in text and
         "S is required by code that no tool reaches" in text and text.count("shared.py:1:") == 1,
         "text says it once, with both tools", text)
    r = judge({"main.py": "EV_KEYS['a\\x1b[31m b']\n"})
    text = verify(f"{t.dir}/x{judge.n}-src/").out
    t.ok("\x1b" not in text and "rename the key" in text, "no control characters reach a terminal",
         repr(text))
    t.fails(2, "expert.yaml is checked too", "evctl-verify",
            f"{t.expert('bad', {'a.py': ''}, 'name: bad' + chr(10) + 'tols: []')}/",
            says="expert.yaml:2:1")
    (t.dir / "loop").mkdir()
    (t.dir / "loop" / "a.py").write_text("")
    (t.dir / "loop" / "expert.yaml").write_text(yaml("loop", ("a", "a.py")))
    (t.dir / "loop" / "self").symlink_to(".")
    t.fails(2, "a directory loop", "evctl-verify", f"{t.dir}/loop/")

    # -- a directory without expert.yaml
    (t.dir / "bare").mkdir()
    (t.dir / "bare" / "a.py").write_text("EV_KEYS['K']\nimport requests\n")
    r = verify(f"{t.dir}/bare/", "-o", "json")
    t.ok(r.code == 7 and r.json["expert"] == "bare" and r.json["reads"][0]["tool"] is None and
         r.json["modules_missing"][0]["module"] == "requests",
         "code that is no expert yet is judged as it is", r)

    # -- with a state: the mending commands, one after the other
    t.init()
    t.good("evctl-host", "add", "api.crm.example")
    t.good("evctl-host", "add", "other.example")
    t.good("evctl-expert", "create", "crm-helper", "--dir", src)

    def hint(*args):
        return verify(*(args or ["crm-helper"]), "-o", "json").json["missing"][0]["hint"]

    t.ok(hint() == "evctl-cred add CRM_KEY", "no such credential: add", hint())
    t.cred("CRM_KEY", "0123456789abcdef")
    t.ok(hint() == "evctl-bind set HOST CRM_KEY", "bound nowhere: bind", hint())
    t.good("evctl-expert", "attach", "crm-helper", "api.crm.example")
    t.ok(hint() == "evctl-bind set api.crm.example CRM_KEY", "one host is free: bind that", hint())
    t.good("evctl-expert", "detach", "crm-helper", "api.crm.example")
    t.good("evctl-bind", "set", "api.crm.example", "CRM_KEY")
    t.ok(hint() == "evctl-expert attach crm-helper api.crm.example", "bound, not attached: attach",
         hint())
    t.good(*hint().split())
    r = verify("crm-helper")
    t.ok(r.code == 0 and r.out == GREEN + "\n", "and green", r)
    r = verify("crm-helper", "-o", "json")
    t.ok(r.json["reads"][0]["host"] == "api.crm.example" and r.json["status"] == "green" and
         r.json["expert"] == "crm-helper", "reads name the host that supplies", r)
    t.ok(verify("crm-helper", "-o", "name").out == "crm-helper\n", "-o name")
    r = verify(f"{src}/", "-o", "json")
    t.ok(r.json["status"] == "green", "the directory of a registered expert is that expert", r)
    r = verify("crm-helper-src", cwd=t.dir)
    t.ok(r.code == 3 and "evctl-verify ./crm-helper-src" in r.err,
         "a directory's name alone is an expert's; the hint says how to name the directory", r)
    r = verify("t.py", cwd=t.dir / "prose")
    t.ok(r.code == 2 and "'t.py' is a file" in r.err and "hint: evctl-verify .\n" in r.err,
         "a file's name alone is a file's", r)
    twin = t.expert("twin", {"leads.py": "k = EV_KEYS['CRM_KEY']\n"},
                    yaml("twin", ("count", "leads.py"), more="hosts: [api.crm.example, gone.example]\n"))
    r = verify(f"{twin}/")
    t.ok(r.code == 0 and GREEN in r.out and "evctl-host add gone.example" in r.err,
         "another directory is judged with its own `hosts:`", r)
    (twin / "expert.yaml").write_text(yaml("twin", ("count", "leads.py")))
    t.ok(hint(f"{twin}/") == "evctl-expert attach twin api.crm.example", "or with none")

    # -- payers, values, unused, flags
    t.good("evctl-cred", "payer", "CRM_KEY", "buyer")
    r = verify("crm-helper")
    t.ok(r.code == 0 and GREEN in r.out and "each buyer brings: CRM_KEY, for api.crm.example" in r.out,
         "a payer-buyer key counts as supplied, and is the buyer's to bring", r)
    r = verify("crm-helper", "-o", "json")
    t.ok(r.json["buyer_keys"] == [{"name": "CRM_KEY", "host": "api.crm.example"}], "as JSON", r)
    t.good("evctl-cred", "payer", "CRM_KEY", "stored")
    t.cred("UNREAD", "short")
    t.good("evctl-bind", "set", "other.example", "UNREAD")
    t.good("evctl-host", "add", "*.wild.example:8443", "--bind", "UNREAD", "--plain",
           "--connect-to", "127.0.0.1:9", "--allow-private")
    t.good("evctl-host", "add", "free.example")
    t.good("evctl-expert", "attach", "crm-helper", "other.example", "*.wild.example:8443",
           "free.example")
    (src / "id_rsa").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    (src / ".env").write_text("A=1\n")
    r = verify("crm-helper", "-o", "json")
    t.ok(r.json["unused"] == [{"name": "UNREAD", "host": "*.wild.example:8443"},
                              {"name": "UNREAD", "host": "other.example"}],
         "unused: bound and read by no code; egress only is not unused", r)
    flags = r.json["flags"]
    t.ok(flags[:5] == ["! wildcard *.wild.example:8443 injects a key",
                       "! allow-private *.wild.example:8443", "! plain *.wild.example:8443",
                       "! connect-to *.wild.example:8443", "! short UNREAD"] and
         any(f.startswith("! file .env: ") for f in flags) and
         any(f.startswith("! file id_rsa: ") for f in flags) and len(flags) == 7, "flags", flags)
    t.ok(r.code == 0 and r.json["status"] == "green", "neither changes the verdict", r)
    r = verify("crm-helper")
    t.ok("! wildcard *.wild.example:8443" in r.out and "unused: UNREAD at other.example" in r.out,
         "text has them too", r)

    # -- several, on every core
    r = verify("crm-helper", f"{twin}/", f"{t.dir}/bare/", "-o", "json")
    t.ok(r.code == 7 and [v["expert"] for v in r.json] == ["crm-helper", "twin", "bare"],
         "several give an array, in their order", r)
    r = verify("crm-helper", f"{t.dir}/none-src/")
    t.ok(r.code == 0 and r.out.count(GREEN) == 2 and "crm-helper:\n" in r.out, "or a part each", r)
    r = verify("crm-helper", "no-such", "-o", "json")
    t.ok(r.code == 3 and [v["expert"] for v in r.json] == ["crm-helper"] and
         r.error["kind"] == "not-found", "one that cannot be judged is the error, after the others", r)
    t.fails(2, "--published takes experts", "evctl-verify", f"{twin}/", "--published")
    many = [f"{t.expert(f'many{i}', {'m.py': f'EV_KEYS[{chr(39)}K{i}{chr(39)}]'}, yaml(f'many{i}', ('a', 'm.py')))}/"
            for i in range(64)]
    r = verify(*many, "-o", "json")
    t.ok([v["missing"][0]["name"] for v in r.json] == [f"K{i}" for i in range(64)],
         "64 directories, each with its own verdict", r)
    r = verify("crm-helper", "--stict")
    t.ok(r.code == 2 and "did you mean '--strict'" in r.err, "did you mean", r)
