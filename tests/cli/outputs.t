#!/usr/bin/python3
"""What a run leaves: files beside outputs/ are named, and all artifacts are got at once, in a directory or an archive."""
import io
import json
import os
import subprocess
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, T

CODE = """import os, tempfile
def write(names, text="abc"):
    for n in names:
        os.makedirs(os.path.dirname(os.path.abspath(n)), exist_ok=True)
        with open(n, "w") as f:
            f.write(text)
    return len(names)
def boom(names):
    write(names)
    raise ValueError("boom")
"""
YAML = "name: e\ntools: [{name: write, entry: 'm.py:write'}, {name: boom, entry: 'm.py:boom'}]\n"

with T() as t:
    t.init()
    t.good("evctl-expert", "create", "e", "--dir", t.expert("e", {"m.py": CODE}, YAML))

    def write(names, *more, tool="write", **given):
        return t.run("evctl-run", "e", tool, "--draft", "--input", json.dumps({"names": names, **given}), *more)

    NOTE = "note: no artifact, as these were written outside outputs/: "
    for names, shown in ((["report.csv"], ["report.csv"]), (["out/a.txt"], ["out/a.txt"]), (["/tmp/x.png"], ["/tmp/x.png"]),
                         (["Outputs/a.txt"], ["Outputs/a.txt"]), (["a b\u200b.txt"], ["a b\\xe2\\x80\\x8b.txt"])):
        r = write(names)
        t.ok(r.code == 0 and NOTE in r.err and all(s in r.err for s in shown), f"{names} are named", r)
    r = write([f"f{i:02}.txt" for i in range(30)])
    t.ok(r.code == 0 and " and 25 more" in r.err and r.err.count(".txt") == 5, "five of many", r)
    r = write(["report.csv"], tool="boom")
    t.ok(r.code == 11 and NOTE + "report.csv" in r.err, "also where the run failed", r)
    for names, what in ((["outputs/a.txt", "b.txt"], "one that left an artifact"), ([], "one that wrote nothing"),
                        ([".cache/x", "/tmp/.matplotlib/y"], "one that wrote caches")):
        r = write(names)
        t.ok(r.code == 0 and "outside" not in r.err, f"{what} has no such note", r)
    r = write(["report.csv"], "-o", "json")
    t.ok(r.code == 0 and r.err == "", "nor has JSON", r)
    t.good("evctl-expert", "publish", "e", "--yes")
    r = t.run("evctl-run", "e", "write", "--buyer", "b", "--input", '{"names": ["report.csv"]}')
    t.ok(r.code == 0 and "report.csv" not in r.err, "nor a buyer", r)
    session = t.good("evctl-session", "start", "e", "--draft").out.strip()
    r = write(["first.csv"], "--session", session)
    t.ok(NOTE + "first.csv" in r.err, "in a session too", r)
    t.good("evctl-session", "end", session)

    # ---- all of a run
    FILES = ["outputs/a.txt", "outputs/d/b.txt", "outputs/d/\u00e9.txt", "outputs/-c"]
    NAMES = sorted(f[len("outputs/"):] for f in FILES)
    run = json.loads(write(FILES, "-o", "json", text="abc" * 1000).out)["run"]

    def there(folder):
        return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())

    r = t.run("evctl-artifact", "get", run, "--to", t.dir / "new/all")
    t.ok(r.code == 0 and there(t.dir / "new/all") == NAMES and (t.dir / "new/all/a.txt").read_text() == "abc" * 1000 and
         r.out == f"{t.dir}/new/all: 4 files, 12000 bytes\n", "get RUN gets all, into a directory that it makes", r)
    r = t.fails(5, "and overwrites nothing", "evctl-artifact", "get", run, "--to", t.dir / "new/all", says="exists already",
                hint="add --yes")
    (t.dir / "part/d").mkdir(parents=True)
    (t.dir / "part/d/b.txt").write_text("mine")
    t.fails(5, "nor a part", "evctl-artifact", "get", run, "--to", t.dir / "part")
    t.ok(there(t.dir / "part") == ["d/b.txt"], "and then writes none", there(t.dir / "part"))
    r = t.run("evctl-artifact", "get", run, "--to", t.dir / "part", "--yes")
    t.ok(r.code == 0 and there(t.dir / "part") == NAMES, "unless told to", r)
    (t.dir / "cwd").mkdir()
    r = t.run("evctl-artifact", "get", run, "-o", "json", cwd=t.dir / "cwd")
    t.ok([x["name"] for x in r.json] == NAMES and there(t.dir / "cwd") == NAMES and r.json[0]["bytes"] == 3000,
         "without --to into this one, and JSON names each", r)
    t.fails(2, "stdout takes one", "evctl-artifact", "get", run, "--to", "-", hint="name one, or give --zip -")
    none = json.loads(write([], "-o", "json").out)["run"]
    t.fails(3, "a run without artifacts", "evctl-artifact", "get", none, says="left no artifact", hint="evctl-log show")
    t.fails(3, "a run that is none", "evctl-artifact", "get", "r00000000000000a", hint=False)

    r = t.run("evctl-artifact", "get", run, "--zip", t.dir / "all.zip")
    with zipfile.ZipFile(t.dir / "all.zip") as z:
        t.ok(r.code == 0 and z.testzip() is None and sorted(z.namelist()) == NAMES and z.read("d/\u00e9.txt") == b"abc" * 1000,
             "--zip: an archive of all", (r, z.namelist()))
        t.ok(z.infolist()[0].compress_size < 1000, "compressed")
    t.fails(5, "that overwrites nothing", "evctl-artifact", "get", run, "--zip", t.dir / "all.zip", hint="add --yes")
    done = subprocess.run([BIN / "evctl-artifact", "get", run, "a.txt", "--zip", "-"], env=t.env, capture_output=True)
    with zipfile.ZipFile(io.BytesIO(done.stdout)) as z:
        t.eq((z.namelist(), z.read("a.txt")), (["a.txt"], b"abc" * 1000), "of one, to stdout")
    t.fails(2, "--to and --zip", "evctl-artifact", "get", run, "--zip", "x.zip", "--to", "y")
    run = json.loads(t.run("evctl-run", "e", "write", "--buyer", "b", "--input", json.dumps({"names": FILES}), "-o", "json").out)["run"]
    t.good("evctl-artifact", "get", run, "--zip", t.dir / "own.zip")
    t.eq(t.sql("SELECT count(*) FROM artifacts WHERE run = ? AND fetched IS NOT NULL", run), [(0,)], "the owner's is no fetch")
    t.good("evctl-artifact", "get", run, "--buyer", "b", "--zip", t.dir / "b.zip")
    t.eq(t.sql("SELECT count(*) FROM artifacts WHERE run = ? AND fetched IS NOT NULL", run), [(4,)], "a buyer's is one of each")
    t.fails(3, "another buyer has none of it", "evctl-artifact", "get", run, "--buyer", "c", "--to", t.dir / "c", hint=False)
