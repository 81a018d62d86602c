#!/usr/bin/python3
"""The archive in a real browser. SHOTS=DIR keeps screenshots there."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [str(HERE.parent / "lib"), str(HERE)]
sys.dont_write_bytecode = True
from fill import open_db
from sample import HOSTILE, fill_gallery
from serving import Serving
from tap import T, skip_all
from waiting import until


def browser():
    """A Chromium that starts: some systems have a stub of that name, which only tells where it is to be had."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        try:
            if path and b"Chrom" in subprocess.run([path, "--version"], capture_output=True, timeout=60).stdout:
                return path
        except (OSError, subprocess.TimeoutExpired):
            pass
    skip_all("there is no Chromium that starts")


def modules():
    """What package-lock.json names, in a cache outside of the tree."""
    lock = (HERE / "package-lock.json").read_bytes()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    into = cache / "evctl-tests" / hashlib.sha256(lock).hexdigest()[:16]
    done = into / "done"
    if not done.exists():
        into.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, into)
        if not shutil.which("npm"):
            skip_all("npm is not installed")
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=into, check=True,
                       stdout=sys.stderr, timeout=300)
        done.touch()
    return into / "node_modules"


def fetched(t, run, name):
    db = open_db(t.home)
    got = db.execute("SELECT fetched FROM artifacts WHERE run = ? AND name = ?", (run, name)).fetchone()[0]
    db.close()
    return got


chromium = browser()
with T() as t:
    node_path = modules()
    t.init()
    fill_gallery(t.home)
    with Serving(t) as owner, Serving(t, "--buyer", "acme") as buyer:
        cfg = {"owner": owner.link, "buyer": buyer.link, "hostile": HOSTILE,
               "chromium": chromium, "shots": os.environ.get("SHOTS")}
        node = subprocess.Popen(["node", HERE / "browser.cjs", json.dumps(cfg)], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT,
                                env={**os.environ, "NODE_PATH": str(node_path), "HOME": str(t.dir)})
        checks = 0
        for line in node.stdout:
            try:
                c = json.loads(line)
            except ValueError:
                print("#", line.decode(errors="replace").rstrip())
                continue
            checks += 1
            t.ok(c["ok"], c["what"], json.dumps(c["detail"], ensure_ascii=False))
        t.ok(node.wait() == 0 and checks > 80, f"the browser made {checks} checks")
        t.ok(until(lambda: fetched(t, "rchart1", "leads.png"), "the mark", 20),
             "the picture that the buyer looked at is fetched")
        t.ok(fetched(t, "rchart1", "leads.csv") is None and fetched(t, "rheat1", "heat.png") is None,
             "what only the owner took is not")
