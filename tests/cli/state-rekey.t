#!/usr/bin/python3
"""New keys: everything sealed is sealed anew, and no key that something needs is lost."""
import os
import shutil
import sqlite3
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "archive")]
from fill import open_db
from tap import T


def fd_with(text):
    f = tempfile.TemporaryFile()
    f.write(text)
    f.seek(0)
    os.set_inheritable(f.fileno(), True)
    return f


def sealed(t):
    db = open_db(t.home)
    rows = db.execute("SELECT name, value FROM credentials ORDER BY name").fetchall()
    rows += db.execute("SELECT 'meta', value FROM meta WHERE key = 'public_key'").fetchall()
    db.close()
    return dict(rows)


def key_status(t, *args, **kw):
    return t.run("evctl-state", "status", "-o", "json", *args, **kw).json


with T() as t:
    t.init()
    key = t.home / "master.key"
    for i in range(3):
        t.cred(f"KEY{i}", f"secret-value-number-{i}")
    before, print0, old = sealed(t), key_status(t)["fingerprint"], key.read_bytes()
    t.good("evctl-state", "backup", t.dir / "b0")
    r = t.run("evctl-state", "rekey", "-o", "json")
    t.ok(r.code == 0 and r.json["records"] == 3 and r.json["key"] == str(key), "rekey", r)
    after = sealed(t)
    t.ok(all(after[k] != before[k] for k in before), "every record and the public key differ")
    t.ok(all(after[f"KEY{i}"][81:] == before[f"KEY{i}"][81:] for i in range(3)),
         "the encrypted values are the same: only their keys were sealed anew")
    kept = t.home / ("master.key." + print0.replace(" ", ""))
    t.ok(key.read_bytes() != old and kept.read_bytes() == old, "the old key is kept by its fingerprint")
    t.ok(oct(key.stat().st_mode & 0o777) == "0o600", "the new one is 0600")
    s = key_status(t)
    t.ok(s["key"] == str(key) and s["fingerprint"] == r.json["fingerprint"] != print0, "and found", s)
    raw = b"".join(p.read_bytes() for p in t.home.glob("state.db*"))
    t.ok(not any(before[f"KEY{i}"][:81] in raw for i in range(3)) and after["KEY0"][:81] in raw,
         "no page or log still holds an old seal (control: the new ones are found)")
    r = t.run("evctl-state", "status", "-o", "json", "--key-file", t.dir / "nokey")
    shutil.copy(kept, t.dir / "nokey")
    r = t.run("evctl-state", "rekey", "--key-file", t.dir / "nokey")
    t.ok(r.code == 4 and "not this state's" in r.err, "the old key opens it no more: exit 4", r)
    db = open_db(t.home)
    t.ok(db.execute("SELECT action FROM audit ORDER BY seq DESC").fetchone()[0] == "state rekey",
         "one audit row")
    db.close()

    # ---- an older backup needs the old key, which is beside
    t.good("evctl-state", "backup", t.dir / "b1")
    r = t.good("evctl-state", "restore", t.dir / "b0", "--yes")
    s = key_status(t)
    t.ok(r.err == "" and s["key"] == str(kept) and s["fingerprint"] == print0,
         "an older backup is opened by the key that was kept", (r, s))
    r = t.good("evctl-state", "rekey", "-o", "json")
    t.ok(r.json["key"] not in (str(key), str(kept)) and r.json["old_key"] == str(kept) and
         key.exists() and kept.exists(), "a change of keys there takes no other state's key away", r)
    t.ok(key_status(t)["key"] == r.json["key"], "and its own new key is found")
    t.good("evctl-state", "restore", t.dir / "b1", "--yes")
    t.ok(key_status(t)["key"] == str(key), "so the newer backup opens too")

    # ---- two states that share a key file
    env = {"XDG_CONFIG_HOME": str(t.dir / "conf"), "XDG_DATA_HOME": str(t.dir / "data")}
    t.env.pop("EVCTL_HOME")
    t.good("evctl-state", "init", env=env)
    shared = t.dir / "conf/evctl/master.key"
    t.ok(shared.exists(), "control: the default key file")
    t.good("evctl-state", "init", "--state", t.dir / "second", "--key-file", shared, env=env)
    t.good("evctl-state", "rekey", "--state", t.dir / "second", "--key-file", shared, env=env)
    s = t.run("evctl-state", "status", "-o", "json", env=env).json
    t.ok(s["key"].startswith(str(shared) + "."), "a state that shares the file still has its key", s)
    t.env["EVCTL_HOME"] = str(t.home)

    # ---- passphrases
    with fd_with(b"open sesame") as f:
        r = t.run("evctl-state", "rekey", "--new-passphrase-fd", f.fileno(), pass_fds=[f.fileno()])
    t.ok(r.code == 0 and key.read_bytes().startswith(b"evctl-key-1-passphrase "), "wrapped", r)
    t.fails(4, "without the passphrase: exit 4", "evctl-state", "rekey", hint="")
    with fd_with(b"open sesame") as f:
        r = t.run("evctl-state", "rekey", "--passphrase-fd", f.fileno(), pass_fds=[f.fileno()])
    t.ok(r.code == 2 and "--no-passphrase" in r.err, "a wrapped key is not followed by a bare one", r)
    with fd_with(b"open sesame") as f, fd_with(b"other words") as g:
        r = t.run("evctl-state", "rekey", "--passphrase-fd", f.fileno(), "--new-passphrase-fd",
                  g.fileno(), pass_fds=[f.fileno(), g.fileno()])
    t.ok(r.code == 0, "from one passphrase to another", r)
    with fd_with(b"open sesame") as f:
        r = t.run("evctl-state", "rekey", "--passphrase-fd", f.fileno(), "--no-passphrase",
                  pass_fds=[f.fileno()])
    t.ok(r.code == 4 and "wrong passphrase" in r.err, "the old passphrase is wrong now", r)
    with fd_with(b"other words") as f:
        r = t.run("evctl-state", "rekey", "--passphrase-fd", f.fileno(), "--no-passphrase",
                  pass_fds=[f.fileno()])
    t.ok(r.code == 0 and key.read_bytes().startswith(b"evctl-key-1 "), "and bare again", r)

    # ---- where the new one goes
    with open(key, "rb") as f:
        os.set_inheritable(f.fileno(), True)
        r = t.run("evctl-state", "rekey", "--key-fd", f.fileno(), pass_fds=[f.fileno()])
        t.ok(r.code == 2 and "--to FILE" in r.err, "from a descriptor: a place must be named", r)
        f.seek(0)
        r = t.run("evctl-state", "rekey", "--key-fd", f.fileno(), "--to", t.dir / "new.key",
                  pass_fds=[f.fileno()])
    t.ok(r.code == 0, "and is used", r)
    t.ok(key_status(t, "--key-file", t.dir / "new.key")["key"] == str(t.dir / "new.key"), "found there")
    t.fails(5, "a file that is there is not overwritten", "evctl-state", "rekey", "--key-file",
            t.dir / "new.key", "--to", key)

    # ---- dropping the old one
    t.env["EVCTL_KEY_FILE"] = str(t.dir / "new.key")
    t.fails(2, "dropping the old key asks", "evctl-state", "rekey", "--drop-old", hint="add --yes")
    n = len(list(t.dir.glob("new.key*")))
    r = t.run("evctl-state", "rekey", "--drop-old", "--yes", "-o", "json")
    t.ok(r.code == 0 and r.json["old_key"] is None and len(list(t.dir.glob("new.key*"))) == n == 1,
         "and does", r)

    # ---- all or nothing
    db = open_db(t.home)
    db.execute("UPDATE credentials SET value = CAST(x'01' || substr(value, 2, 10) AS BLOB) WHERE name = 'KEY1'")
    db.close()
    now, files = sealed(t), {p: p.read_bytes() for p in t.dir.glob("new.key*")}
    t.fails(9, "a record that does not open: exit 9", "evctl-state", "rekey", says="credentials",
            hint=False)
    t.ok(sealed(t) == now and {p: p.read_bytes() for p in t.dir.glob("new.key*")} == files,
         "and nothing has changed")
    db = open_db(t.home)
    db.execute("DELETE FROM credentials WHERE name = 'KEY1'")
    db.execute("CREATE TABLE extra (id INTEGER PRIMARY KEY, stuff BLOB) STRICT")
    db.execute("INSERT INTO extra VALUES (1, x'00')")
    db.close()
    t.fails(9, "an unknown column of bytes stops it", "evctl-state", "rekey", says="extra", hint=False)
    db = open_db(t.home)
    db.execute("DROP TABLE extra")
    db.close()
    t.ok(t.run("evctl-state", "rekey").code == 0, "control: without it, it goes")
