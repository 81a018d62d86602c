#!/usr/bin/python3
"""evctl-artifact: list, show, get (verified, overwriting nothing), rm, gc, and what a buyer may see."""
import hashlib
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, T

YAML = """name: a
tools:
  - {name: make, entry: "m.py:make"}
"""
CODE = '''
import os, struct, zlib

def png():
    def chunk(kind, data):
        body = kind + data
        return struct.pack('>I', len(data)) + body + struct.pack('>I', zlib.crc32(body))
    head = struct.pack('>IIBBBBB', 1, 1, 8, 0, 0, 0, 0)
    return (b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(b'\\0\\0')) +
            chunk(b'IEND', b''))

def make(text='hello', fail=False, name='d/t.txt'):
    os.makedirs(os.path.dirname('outputs/' + name), exist_ok=True)
    open('outputs/' + name, 'w').write(text)
    open('outputs/p.png', 'wb').write(png())
    open('outputs/empty', 'w').close()
    if fail:
        raise RuntimeError
'''


with T() as t:
    t.init()
    src = t.expert("a", {"m.py": CODE}, YAML)
    t.good("evctl-expert", "create", "a", "--dir", src)
    t.ok(t.run("evctl-artifact", "list", "-o", "json").json == [], "none yet")

    def make(*args, code=0, **kw):
        more = [x for k, v in kw.items() for x in ("--arg", f"{k}={v}")]
        r = t.run("evctl-run", "a", "make", "--draft", "-o", "json", *more, *args)
        if r.code != code:
            raise AssertionError(str(r))
        return r.json["run"]

    def objects():
        return sorted(str(p.relative_to(t.home / "objects")) for p in
                      (t.home / "objects").rglob("*") if p.is_file())

    run = make()
    r = t.run("evctl-artifact", "list", run, "-o", "json")
    t.ok([(a["name"], a["bytes"], a["type"], a["inline"]) for a in r.json] ==
         [("d/t.txt", 5, "text/plain", False), ("empty", 0, r.json[1]["type"], False),
          ("p.png", r.json[2]["bytes"], "image/png", True)], "list", r)
    t.ok(all(a["run"] == run and a["expert"] == "a" and a["tool"] == "make" and a["buyer"] is None and
             a["fetched"] is None for a in r.json), "list: whose they are", r)
    digest = hashlib.sha256(b"hello").hexdigest()
    t.ok(r.json[0]["sha256"] == digest and f"{digest[:2]}/{digest[2:]}" in objects(),
         "the object is named by its SHA-256", r)
    r = t.run("evctl-artifact", "list")
    t.ok(r.out.splitlines()[0].split("\t")[:4] == [run, "d/t.txt", "5", "text/plain"], "as text", r)
    t.ok(t.run("evctl-artifact", "list", run, "-o", "name").out == "d/t.txt\nempty\np.png\n" and
         t.run("evctl-artifact", "list", "-o", "name").out == f"{run}\n" * 3, "as names")
    r = t.run("evctl-artifact", "show", run, "p.png", "-o", "json")
    t.ok(r.code == 0 and r.json["name"] == "p.png" and
         f"evctl-artifact get {run}" in r.json["preview"], "show, with a way to look at it", r)
    t.fails(3, "show: no such artifact", "evctl-artifact", "show", run, "nope")
    t.fails(3, "list: no such run", "evctl-artifact", "list", "rnope", hint="evctl-log runs")

    # get
    here = t.dir / "here"
    here.mkdir()
    r = t.run("evctl-artifact", "get", run, "d/t.txt", cwd=here)
    t.ok(r.code == 0 and (here / "t.txt").read_text() == "hello" and "t.txt: 5 bytes" in r.out,
         "get to the current directory", r)
    t.fails(5, "get overwrites nothing", "evctl-artifact", "get", run, "d/t.txt", cwd=here,
            hint="add --yes")
    (here / "t.txt").write_text("mine")
    t.ok(t.run("evctl-artifact", "get", run, "d/t.txt", "--yes", cwd=here).code == 0 and
         (here / "t.txt").read_text() == "hello", "unless told to")
    t.ok(t.run("evctl-artifact", "get", run, "d/t.txt", "--to", here / "other").code == 0 and
         (here / "other").read_text() == "hello", "get to a file")
    (here / "sub").mkdir()
    r = t.run("evctl-artifact", "get", run, "d/t.txt", "--to", here / "sub", "-o", "json")
    t.ok(r.code == 0 and (here / "sub/t.txt").read_text() == "hello" and r.json["sha256"] == digest
         and r.json["to"] == str(here / "sub/t.txt"), "get to a directory", r)
    r = t.run("evctl-artifact", "get", run, "d/t.txt", "--to", "-")
    t.ok(r.code == 0 and r.out == "hello" and r.err == "", "get to stdout: the bytes alone", r)
    t.ok(t.run("evctl-artifact", "get", run, "empty", "--to", here / "e").code == 0 and
         (here / "e").read_bytes() == b"", "an empty one")
    t.fails(3, "get to a directory that isn't there", "evctl-artifact", "get", run, "d/t.txt", "--to",
            here / "none" / "x", hint=False)
    (here / "link").symlink_to(here / "target")
    t.fails(5, "get does not write through a link", "evctl-artifact", "get", run, "d/t.txt", "--to",
            here / "link")
    t.ok(not (here / "target").exists() and sorted(os.listdir(here)) ==
         ["e", "link", "other", "sub", "t.txt"], "and leaves nothing half done", os.listdir(here))
    obj = t.home / "objects" / digest[:2] / digest[2:]
    obj.write_text("hellO")
    t.fails(9, "get: damaged bytes are refused", "evctl-artifact", "get", run, "d/t.txt", "--to", "-")
    obj.unlink()
    t.fails(9, "get: missing bytes too", "evctl-artifact", "get", run, "d/t.txt", "--to", "-")
    run2 = make()
    t.ok(t.run("evctl-artifact", "get", run, "d/t.txt", "--to", "-").out == "hello",
         "the same bytes from another run mend it")

    # Buyers
    b1, b2, lost = make("--buyer", "b1"), make("--buyer", "b2"), make("--buyer", "b1", code=11, fail="true")
    r = t.run("evctl-artifact", "list", "--buyer", "b1", "-o", "json")
    t.ok({a["run"] for a in r.json} == {b1} and len(r.json) == 3, "a buyer sees the own ones only", r)
    r = t.run("evctl-artifact", "list", "-o", "json")
    t.ok({a["run"] for a in r.json} == {run, run2, b1, b2, lost} and
         [a["owner_only"] for a in r.json if a["run"] == lost] == [True] * 3, "the owner sees all", r)
    for other, what in ((b2, "another's"), (run, "the builder's"), ("rnope", "none at all")):
        r = t.run("evctl-artifact", "get", other, "p.png", "--to", "-", "--buyer", "b1")
        t.ok(r.code == 3 and f"run '{other}' has no artifact" in r.err, f"to a buyer {what} is not there", r)
        r = t.run("evctl-artifact", "list", other, "--buyer", "b1")
        t.ok(r.code == 3 and f"no run '{other}'" in r.err, "in the same words", r)
    t.fails(3, "nor what a failed run left", "evctl-artifact", "get", lost, "p.png", "--buyer", "b1")
    t.ok(t.run("evctl-artifact", "get", lost, "p.png", "--to", here / "l").code == 0,
         "which the owner gets")

    # Fetched
    def fetched():
        return {(a["run"], a["name"]) for a in t.run("evctl-artifact", "list", "-o", "json").json
                if a["fetched"]}
    t.ok(fetched() == set(), "an owner's get is no fetch")
    t.good("evctl-artifact", "get", b1, "p.png", "--to", here / "b1.png", "--buyer", "b1")
    t.ok(fetched() == {(b1, "p.png")}, "a buyer's is")
    t.ok(t.run("evctl-artifact", "get", b1, "d/t.txt", "--buyer", "b1", "--to", here / "b1.png").code == 5
         and fetched() == {(b1, "p.png")}, "one that went wrong isn't")

    # rm, gc
    t.fails(2, "rm asks", "evctl-artifact", "rm", run, hint="add --yes")
    t.fails(3, "rm: no such run", "evctl-artifact", "rm", "rnope", "--yes")
    before = objects()
    r = t.run("evctl-artifact", "rm", run, "--yes", "-o", "json")
    t.ok(r.code == 0 and r.json == {"removed": 3} and objects() == before,
         "rm leaves objects that others refer to", r)
    t.ok(t.run("evctl-log", "show", run).code == 0, "and the run itself")
    only = make(text="nobody else has this")
    digest = hashlib.sha256(b"nobody else has this").hexdigest()
    t.ok(f"{digest[:2]}/{digest[2:]}" in objects(), "an object of one run")
    t.good("evctl-artifact", "rm", only, "--yes")
    t.ok(objects() == before, "goes with it", objects())
    t.fails(2, "gc wants an age", "evctl-artifact", "gc", "--yes", hint="evctl-artifact gc --older")
    t.fails(2, "a number of days", "evctl-artifact", "gc", "--older", "soon", "--yes")
    t.fails(2, "gc asks", "evctl-artifact", "gc", "--older", "0", hint="add --yes")
    r = t.run("evctl-artifact", "gc", "--older", "1", "--unfetched", "--yes", "-o", "json")
    t.ok(r.code == 0 and r.json == {"removed": 0}, "gc: nothing is that old", r)
    time.sleep(0.01)
    r = t.run("evctl-artifact", "gc", "--older", "0", "--yes", "-o", "json")
    t.ok(r.json == {"removed": 1} and fetched() == set(), "gc takes the fetched ones", r)
    day = 86400000
    t.sql("UPDATE artifacts SET created = created - ? WHERE run = ?", 3 * day, b2)
    r = t.run("evctl-artifact", "gc", "--older", "2", "--yes", "-o", "json")
    t.ok(r.json == {"removed": 0}, "never an unfetched one", r)
    r = t.run("evctl-artifact", "gc", "--older", "2", "--unfetched", "--yes", "-o", "json")
    t.ok(r.json == {"removed": 3}, "unless told to, and then by age", r)
    t.ok({a["run"] for a in t.run("evctl-artifact", "list", "-o", "json").json} == {run2, b1, lost},
         "the younger ones stay")
    r = t.run("evctl-artifact", "gc", "--older", "0", "--unfetched", "--yes", "-o", "json")
    t.ok(r.json["removed"] == 8 and objects() == [], "all gone, and all objects", objects())

    # Hostile names
    run = make(name="-x $(touch y);'\"")
    r = t.run("evctl-artifact", "get", run, "--to", here / "odd", "--", "-x $(touch y);'\"")
    t.ok(r.code == 0 and (here / "odd").read_text() == "hello", "a name like an option", r)
    t.ok(t.run("evctl-log", "audit", "--verify").code == 0, "the audit chain holds")

    # A name is no more than a name in a command to copy.
    path = f"{BIN}:{os.environ['PATH']}"
    for name in ("-n", "it's", "a b; echo", "$(id).txt"):
        said = t.run("evctl-run", "a", "make", "--draft", "--arg", f"name={name}", "--arg", "text=odd").err
        get = next(x for x in re.findall(r"available as a run artifact \((.*)\)$", said, re.M)
                   if not x.endswith(("p.png", "empty")))
        run = get.split()[2]
        look = t.run("evctl-artifact", "show", run, "-o", "json", "--", name).json["preview"]
        for command in (get.replace(run, f"{run} --to -", 1), look):
            got = subprocess.run(["sh", "-c", command], env={**t.env, "PATH": path}, capture_output=True, text=True)
            t.ok(got.stdout == "odd", f"{name!r} in a command to copy", (command, got))
