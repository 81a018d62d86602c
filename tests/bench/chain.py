"""A cold run against bare bubblewrap, and a list of 10,000 credentials against sqlite3."""
import os
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
sys.path.insert(0, os.path.dirname(__file__))
import tap
from pair import pair

BARE = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--symlink",
        "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev",
        "--tmpfs", "/tmp", "--", "/usr/bin/python3", "-I", "-c", "pass"]


def main():
    t = tap.T().__enter__()
    t.init()
    src = t.expert("e", {"a.py": "def f():\n    return 1\n"},
                   "name: e\ntools: [{name: f, entry: 'a.py:f'}]\n")
    t.good("evctl-expert", "create", "e", "--dir", src)
    run = [str(tap.BIN / "evctl-run"), "e", "f", "--draft"]
    pair("a cold evctl-run, against bare bwrap --unshare-all python3 -I -c pass", run, BARE, env=t.env)
    t.cred("K", "sixteen-byte-key")
    db = sqlite3.connect(t.home / "state.db")
    db.executemany("INSERT INTO credentials (name, payer, tail, length, value, version, created, changed) "
                   "SELECT 'K' || ?, payer, tail, length, value, version, created, changed "
                   "FROM credentials WHERE name = 'K'", ((i,) for i in range(10000)))
    db.commit()
    db.close()
    pair("evctl-cred list of 10,000, against sqlite3 printing the same rows",
         [str(tap.BIN / "evctl-cred"), "list"],
         ["sqlite3", "-readonly", str(t.home / "state.db"),
          "SELECT name, payer, tail, length, created, changed FROM credentials ORDER BY name"], env=t.env)
    import shutil
    shutil.rmtree(t.dir)


main()
