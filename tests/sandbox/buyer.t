#!/usr/bin/python3
"""What a buyer sees of a failure: 38, a key in it; 40, anything of the code. And what the owner sees."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import T, as_both

KEY = "buyer-must-not-see-0123456789"
MARK = "Peculiar"  # in every path, name, type, line and message of the code
RUN = r"r[a-z0-9]{15}"

# How each fails, and what the owner reads of it: the tool's file is NAME.py, its function `call_peculiar`.
RAISES = """
class {mark}Error(Exception):
    pass
def call_peculiar():
    key = EV_KEYS['K']
    {body}
"""
FAILURES = {
    # 38
    "text": ("raise {mark}Error('{mark}: ' + key)", "{mark}Error: {mark}: "),
    "repr": ("raise {mark}Error(EV_KEYS)", "{mark}Error: "),
    "cause": ("raise {mark}Error() from ValueError(key)", "ValueError: "),
    "context": ("try: raise ValueError(key)\n    finally: raise {mark}Error(1)", "ValueError: "),
    "note": ("e = {mark}Error(); e.add_note(key); raise e", "{mark}Error"),
    "group": ("raise ExceptionGroup('{mark}', [{mark}Error(key), ValueError(key)])", "ExceptionGroup"),
    "lookup": ("return {{}}[key]", "KeyError: "),
    "exit": ("raise SystemExit('{mark} ' + key)", "{mark} "),
    "interrupt": ("raise KeyboardInterrupt(key)", "KeyboardInterrupt"),
    "thread": ("import threading\n    t = threading.Thread(target=lambda: 1 / 0 or key, name=key)\n    t.start(); t.join()"
               "\n    raise {mark}Error(t)", "ZeroDivisionError"),
    "thread_hook": ("import sys, threading\n    threading.excepthook = lambda a: print(key, a.exc_type, file=sys.stderr)\n"
                    "    t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join(); raise {mark}Error()",
                    "ZeroDivisionError"),
    "hook": ("import sys\n    sys.excepthook = lambda *a: print(key, a)\n    raise {mark}Error()", "{mark}Error"),
    "unraisable": ("import sys\n    class C:\n        def __del__(self): raise {mark}Error(key)\n    C()\n"
                   "    raise {mark}Error()", "Exception ignored "),
    "class_name": ("raise type('{mark}' + key.replace('-', '_'), (Exception,), {{}})()", "{mark}"),
    "odd_str": ("class E(Exception):\n        def __str__(self): raise {mark}Error(key)\n    raise E()",
                "exception str() failed"),
    # 40
    "warning": ("import warnings\n    warnings.warn('{mark} ' + key, stacklevel=1)\n    raise {mark}Error()",
                "UserWarning: {mark} "),
    "no_json": ("return {{'a': {mark}Error(key)}}", "{mark}Error"),
    "import": ("import no_such_{mark}", "No module named 'no_such_{mark}'"),
    "os_error": ("open('/tool/{mark}/' + key)", "No such file or directory: '/tool/{mark}/"),
    "printed": ("import sys\n    print('{mark} ' + key); print(key, file=sys.stderr); raise {mark}Error()", "{mark} "),
    "descriptors": ("import os\n    for fd in range(3, 20):\n        try: os.write(fd, ('{mark} ' + key).encode())\n"
                    "        except OSError: pass\n    raise {mark}Error()", "{mark}Error"),
    "crash": ("import faulthandler, os, sys\n    faulthandler.enable(sys.stderr); os.abort()", "Fatal Python error"),
}
WHOLE = {
    "syntax": ("def call_peculiar(:\n    return '{mark}'\n", "SyntaxError"),
    "indented": ("def call_peculiar():\n    return 1\n  x = '{mark}'\n", "IndentationError"),
    "at_import": ("raise ValueError('{mark} ' + EV_KEYS['K'])\n", "ValueError: {mark} "),
    "no_function": ("other = '{mark}'\n", "has no attribute 'call_peculiar'"),
}


def tools():
    files = {"fine.py": f"def call_peculiar(word):\n    print('{MARK}')\n    return word + str(len(EV_KEYS['K']))\n"}
    for name, (body, _) in FAILURES.items():
        files[name + ".py"] = RAISES.format(mark=MARK, body=body.format(mark=MARK))
    for name, (text, _) in WHOLE.items():
        files[name + ".py"] = text.format(mark=MARK)
    lines = [f"  - {{name: {n[:-3].replace('_', '-')}, entry: '{n}:call_peculiar'}}" for n in sorted(files)]
    return {"peculiar/" + n: text for n, text in files.items()}, "name: e\ntools:\n" + "\n".join(lines).replace(
        "entry: '", "entry: 'peculiar/") + "\nhosts: [a.example]\n"


def clean(text):
    """Nothing of the code, its paths, its types and lines, or the key."""
    return not re.search(f"(?i){MARK}|{KEY}|Traceback|Error|Exception|/tool|/cell|[.]py|line [0-9]|warn", text)


as_both(__file__)
with T() as t:
    t.init()
    t.good("evctl-host", "add", "a.example")
    t.cred("K", KEY)
    t.good("evctl-bind", "set", "a.example", "K")
    files, yaml = tools()
    src = t.expert("e", files, yaml)
    t.good("evctl-expert", "create", "e", "--dir", src)
    # Red code is published all the same: what fails to parse, or to import, is shown to nobody either.
    t.good("evctl-expert", "publish", "e", "--force")

    ask = ("--buyer", "alice")
    r = t.run("evctl-run", "e", "fine", "--arg", "word=Peculiar", *ask)
    t.ok(r.code == 0 and r.json == f"Peculiar{len(KEY)}" and MARK not in r.err,
         "the control: a call that works gives its result, and keeps what it printed", r)
    session = t.good("evctl-session", "start", "e", *ask).out.strip()
    for name, (_, said) in {**FAILURES, **WHOLE}.items():
        tool = name.replace("_", "-")
        r = t.run("evctl-run", "e", tool, *ask)
        t.ok(r.code == 11 and r.out == "" and re.fullmatch(f"evctl-run: error: run {RUN}: failed\n", r.err),
             f"{name}: the run's id and a word", r)
        for how, more in (("alone", ask), ("in a session", (*ask, "--session", session))):
            r = t.run("evctl-run", "e", tool, *more, "-o", "json")
            x = json.loads(r.out) if r.out else {}
            t.ok(r.code == 11 and r.err == "" and x.pop("tool", None) == tool and x["status"] == "failed" and
                 x["result"] is None and clean(json.dumps(x)), f"{name}, {how}: the envelope says no more", r)
        log = t.good("evctl-log", "show", x["run"], "-o", "json").json["log"]
        t.ok(said.format(mark=MARK) in log and KEY not in log, f"{name}: the owner reads it, without the key", log)
    t.good("evctl-session", "end", session)
