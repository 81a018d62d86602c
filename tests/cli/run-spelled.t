#!/usr/bin/python3
"""Keys in the spellings of encoders, through a real run: in results, artifacts, their names and logs; and the parts of
a stored value that are secrets in themselves."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T

KEYS = {"ODD": "Zx9+vB7/nM5kQ2wE8rT4yU6==", "PATH_KEY": "AbCd+efGh/ijKl0123==mnOp4567",
        "NL": "sk-live-0123456789abcdef\n"}
# What a text has of the key, as somebody's encoder writes it: each holds the whole of it.
SPELLED = [
    ("ODD", "as it is", "Zx9+vB7/nM5kQ2wE8rT4yU6=="),
    ("ODD", "a body, with \\u002B and \\u003d", '{"echo":"Zx9\\u002BvB7/nM5kQ2wE8rT4yU6\\u003d\\u003d"}'),
    ("ODD", "HTML references by number", "Zx9&#x2B;vB7/nM5kQ2wE8rT4yU6&#x3D;&#x3D;"),
    ("ODD", "HTML references by name", "Zx9&plus;vB7&sol;nM5kQ2wE8rT4yU6&equals;&equals;"),
    ("ODD", "a query in Go's path escape", "?next=/a/Zx9+vB7%2FnM5kQ2wE8rT4yU6=="),
    ("ODD", "JSON in JSON", '"{\\"a\\": \\"Zx9\\\\u002BvB7/nM5kQ2wE8rT4yU6\\\\u003d\\\\u003d\\"}"'),
    ("ODD", "quoted-printable", "Zx9+vB7/nM5kQ2wE8rT4yU6=3D=3D"),
    ("PATH_KEY", "a path with %2F beside plain", "/x/AbCd+efGh%2FijKl0123==mnOp4567"),
    ("NL", "a value without its newline", "sk-live-0123456789abcdef"),
]
YAML = """name: s
tools:
  - {name: say, entry: "m.py:say"}
hosts: [odd.example, path.example, nl.example]
"""
CODE = '''
import builtins, os

def say(text, where):
    getattr(builtins, 'EV_' + 'KEYS')
    if where == 'result':
        return {'a': 1, 'it': text}
    if where == 'artifact':
        open('outputs/it', 'w').write(text)
    if where == 'name':
        open('outputs/' + text.replace('/', '%2F')[:200], 'w').write('clean')
    if where == 'log':
        print('log: ' + text + ' :log', flush=True)
    return 'said'
'''

HOSTS = {"ODD": "odd.example", "PATH_KEY": "path.example", "NL": "nl.example"}

with T() as t:
    t.init()
    for name, value in KEYS.items():
        t.cred(name, value)
        t.good("evctl-host", "add", HOSTS[name], "--bind", name)
    t.good("evctl-expert", "create", "s", "--dir", t.expert("s", {"m.py": CODE}, YAML))

    def say(text, where):
        return t.run("evctl-run", "s", "say", "--draft", "--arg", f"text={json.dumps(text)}", "--arg", f"where={where}",
                     "-o", "json")

    def log_of(r):
        return t.run("evctl-log", "show", r.json["run"], "-o", "json").json["log"]

    for key, what, text in SPELLED:
        r = say(text, "result")
        t.ok(r.code == 0 and f"[EV_KEYS:{key}]" in str(r.json["result"]) and text not in str(r.json["result"]),
             f"result: {what}", r)
        r = say(text, "artifact")
        t.ok(r.code == 0 and r.json["withheld"] == [{"name": "it", "why": "key"}] and r.json["artifacts"] == [],
             f"artifact: {what}", r)
        r = say(text, "name")
        t.ok(r.code == 0 and r.json["withheld"] == [{"name": "#1", "why": "key"}] and r.json["artifacts"] == [],
             f"artifact's name: {what}", r)
        r = say(text, "log")
        log = log_of(r)
        t.ok(r.code == 0 and log.startswith("log: ") and " :log" in log and text not in log, f"log: {what}", (r, log))

    OTHER = "Zx9+vB7/nM5kQ2wE8rT4yU7=="
    for where in ("result", "artifact", "name", "log"):
        r = say(OTHER, where)
        t.ok(r.code == 0 and r.json["withheld"] == [] and
             (r.json["result"]["it"] == OTHER if where == "result" else
              len(r.json["artifacts"]) == 1 if where != "log" else OTHER in log_of(r)),
             f"{where}: another value passes", r)
